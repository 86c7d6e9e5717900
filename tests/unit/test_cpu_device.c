/* The CPU device from end to end through device.h: PTX text in, results out. Argument: the path of bailey-cc. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "device/device.h"

static char scratch[] = "/tmp/bailey-device-XXXXXX";
static const char *compiler;
static struct bl_device *device;
static struct bl_queue *queue;

static const char text[] = ".version 8.0\n"
                           ".target sm_80\n"
                           ".address_size 64\n"
                           ".visible .global .align 4 .f32 offset = 0f3F800000;\n"
                           "\n"
                           ".visible .entry add(.param .u64 to, .param .u64 a, .param .u64 b, .param .u32 count)\n"
                           "{\n"
                           "    .reg .pred %p<2>;\n"
                           "    .reg .f32 %f<6>;\n"
                           "    .reg .b32 %r<6>;\n"
                           "    .reg .b64 %rd<12>;\n"
                           "    ld.param.u64 %rd1, [to];\n"
                           "    ld.param.u64 %rd2, [a];\n"
                           "    ld.param.u64 %rd3, [b];\n"
                           "    ld.param.u32 %r1, [count];\n"
                           "    mov.u32 %r2, %ctaid.x;\n"
                           "    mov.u32 %r3, %ntid.x;\n"
                           "    mov.u32 %r4, %tid.x;\n"
                           "    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
                           "    setp.ge.u32 %p1, %r5, %r1;\n"
                           "    @%p1 bra done;\n"
                           "    mul.wide.u32 %rd4, %r5, 4;\n"
                           "    add.s64 %rd5, %rd1, %rd4;\n"
                           "    add.s64 %rd6, %rd2, %rd4;\n"
                           "    add.s64 %rd7, %rd3, %rd4;\n"
                           "    ld.global.f32 %f1, [%rd6];\n"
                           "    ld.global.f32 %f2, [%rd7];\n"
                           "    ld.global.f32 %f3, [offset];\n"
                           "    add.f32 %f4, %f1, %f2;\n"
                           "    add.f32 %f5, %f4, %f3;\n"
                           "    st.global.f32 [%rd5], %f5;\n"
                           "done:\n"
                           "    ret;\n"
                           "}\n"
                           ".visible .entry stray()\n"
                           "{\n"
                           "    .reg .b64 %rd<2>;\n"
                           "    .reg .b32 %r<2>;\n"
                           "    mov.u64 %rd1, 4096;\n"
                           "    mov.u32 %r1, 1;\n"
                           "    st.global.u32 [%rd1], %r1;\n" /* line 41 */
                           "    ret;\n"
                           "}\n";
enum { STRAY_LINE = 41 };

static int set_up(void **state)
{
    struct bl_error error = BL_ERROR_INIT;

    assert_non_null(mkdtemp(scratch));
    setenv("BAILEY_CACHE_DIR", scratch, 1);
    setenv("BAILEY_CC", compiler, 1);
    setenv("BAILEY_LOG", "off", 0);
    if (bl_cpu_device_create(0, &device, &error) != BL_OK)
        fail_msg("%s", error.message);
    return device->ops->queue_create(device, 0, &queue);
}

static int tear_down(void **state)
{
    DIR *folder;
    struct dirent *item;

    device->ops->queue_destroy(queue);
    device->ops->destroy(device);
    folder = opendir(scratch);
    while (folder && (item = readdir(folder)))
        unlinkat(dirfd(folder), item->d_name, 0);
    closedir(folder);
    return rmdir(scratch);
}

static struct bl_device_module *load(const char *before)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_device_module *module;
    struct bl_buffer whole = {0};

    bl_buffer_printf(&whole, "%s%s", before, text);
    struct bl_module_source source = {.ptx = {whole.data, whole.size}, .name = "device.ptx", .check_now = true};
    if (device->ops->module_load(device, &source, &module, &error) != BL_OK)
        fail_msg("%s", error.message);
    bl_buffer_cleanup(&whole);
    return module;
}

static void the_device_describes_itself(void **state)
{
    const struct bl_device_props *props = &device->props;
    struct bl_device *same, *other;

    assert_int_equal(strncmp(props->name, "Bailey CPU (", 12), 0);
    assert_true(props->total_memory > 1 << 20 && props->multiprocessors > 0 && props->clock_khz > 0);
    assert_int_equal(props->compute_major, 9);
    assert_int_equal(props->shared_per_block_optin, 227 << 10);
    assert_int_equal(bl_cpu_device_create(0, &same, NULL), BL_OK);
    assert_memory_equal(same->props.uuid, props->uuid, 16);
    same->ops->destroy(same);
    setenv("BAILEY_COMPUTE", "8.6", 1);
    assert_int_equal(bl_cpu_device_create(1, &other, NULL), BL_OK);
    assert_memory_not_equal(other->props.uuid, props->uuid, 16);
    assert_int_equal(other->props.compute_major * 10 + other->props.compute_minor, 86);
    assert_int_equal(other->props.max_threads_per_multiprocessor, 1536);
    assert_int_equal(other->props.shared_per_block_optin, 99 << 10);
    other->ops->destroy(other);
    setenv("BAILEY_COMPUTE", "8.6x", 1);
    assert_int_equal(bl_cpu_device_create(1, &other, NULL), BL_OK);
    assert_int_equal(other->props.compute_major, 9);
    other->ops->destroy(other);
    unsetenv("BAILEY_COMPUTE");
    (void)state;
}

static void vectors_are_added(struct bl_device_module *module, uint32_t count, uint32_t block)
{
    struct {
        uint64_t to, a, b;
        uint32_t count;
    } params = {.count = count};
    struct bl_launch launch = {
        .grid = {(count + block - 1) / block, 1, 1}, .block = {block, 1, 1}, .params = &params, .param_bytes = 28};
    struct bl_error error = BL_ERROR_INIT;
    uint64_t *const places[3] = {&params.to, &params.a, &params.b};

    for (int i = 0; i < 3; i++)
        assert_int_equal(device->ops->alloc(device, BL_ALLOC_DEVICE, count * sizeof(float), 0, places[i], NULL), BL_OK);
    float *to = (float *)(uintptr_t)params.to, *a = (float *)(uintptr_t)params.a, *b = (float *)(uintptr_t)params.b;
    for (uint32_t i = 0; i < count; i++) {
        a[i] = (float)i;
        b[i] = 0.5f;
    }
    assert_int_equal(device->ops->module_kernel(module, "add", &launch.kernel), BL_OK);
    if (device->ops->launch(queue, &launch, &error) != BL_OK)
        fail_msg("%s", error.message);
    assert_int_equal(device->ops->queue_wait(queue), BL_OK);
    for (uint32_t i = 0; i < count; i++)
        assert_true(to[i] == (float)i + 1.5f);
    for (int i = 0; i < 3; i++)
        assert_int_equal(device->ops->free(device, *places[i]), BL_OK);
}

static void a_kernel_computes(void **state)
{
    struct bl_device_module *module = load("");
    struct bl_kernel_attr attr;
    struct bl_device_kernel *kernel;

    vectors_are_added(module, 100000, 256);
    vectors_are_added(module, 1000, 33);
    assert_int_equal(device->ops->module_kernel(module, "add", &kernel), BL_OK);
    assert_int_equal(device->ops->kernel_attr(kernel, &attr, NULL), BL_OK);
    assert_int_equal(attr.max_threads, 1024);
    assert_int_equal(attr.static_shared, 0);
    assert_true(attr.registers > 0);
    device->ops->module_unload(module);
    (void)state;
}

/* Of all cached entries together; an entry that is written again is another file. */
static uint64_t sum_of_inodes(void)
{
    DIR *folder = opendir(scratch);
    struct dirent *item;
    uint64_t sum = 0;

    while ((item = readdir(folder)))
        if (item->d_name[0] != '.')
            sum += item->d_ino;
    closedir(folder);
    return sum;
}

/* The same kernel in another place of another text: its code comes from the cache. */
static void a_cached_kernel_is_not_compiled_again(void **state)
{
    uint64_t before = sum_of_inodes();
    struct bl_device_module *module = load("// a line more\n");

    assert_true(before > 0);
    vectors_are_added(module, 5000, 128);
    assert_int_equal(sum_of_inodes(), before);
    device->ops->module_unload(module);
    (void)state;
}

static void a_fault_names_its_line(void **state)
{
    static const char *const before[] = {"", "// a line more\n\n"};
    struct bl_fault fault;

    for (uint32_t i = 0; i < BL_LEN(before); i++) {
        struct bl_device_module *module = load(before[i]);
        struct bl_launch launch = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
        assert_int_equal(device->ops->module_kernel(module, "stray", &launch.kernel), BL_OK);
        assert_int_equal(device->ops->launch(queue, &launch, NULL), BL_OK);
        assert_int_equal(device->ops->queue_wait(queue), BL_FAULT);
        assert_true(device->ops->fault(device, &fault));
        assert_int_equal(fault.kind, BL_FAULT_ILLEGAL_ADDRESS);
        assert_int_equal(fault.address, 4096);
        assert_string_equal(fault.kernel, "stray");
        assert_int_equal(fault.line, STRAY_LINE + 2 * i);
        device->ops->reset(device);
        device->ops->module_unload(module);
    }
    (void)state;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_describes_itself),
        cmocka_unit_test(a_kernel_computes),
        cmocka_unit_test(a_cached_kernel_is_not_compiled_again),
        cmocka_unit_test(a_fault_names_its_line),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: %s BAILEY_CC\n", argv[0]);
        return 2;
    }
    compiler = argv[1];
    return cmocka_run_group_tests_name("cpu_device", tests, set_up, tear_down);
}
