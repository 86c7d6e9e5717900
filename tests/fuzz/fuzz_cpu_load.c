/* Fuzzer of what the CPU device takes in: answers of the compiler helper (or the cache), objects, and the variables of PTX texts.
 * The first byte says which. Run: build-fuzz/tests/fuzz/fuzz_cpu_load SEEDS. */
#include "target/cpu/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEVICE_MEMORY = 64 << 20 };

/* In the place of the half that runs kernels: nothing runs here. */
bool bl_cpu_quiet_begin(struct bl_cpu_device *device)
{
    return true;
}

void bl_cpu_quiet_end(struct bl_cpu_device *device)
{
}

static void load_object(struct bl_sv object, unsigned machine)
{
    struct bl_cpu_image image;

    bl_cpu_image_load(object, machine, "fuzz", &image, NULL);
    bl_cpu_image_unload(&image);
}

static void read_answer(struct bl_sv bytes)
{
    struct bl_cpu_answer answer;
    struct bl_arena arena;

    bl_arena_init(&arena);
    if (bl_cpu_unpack_answer(&arena, bytes, &answer) == BL_OK)
        load_object((struct bl_sv){(const char *)answer.object, answer.object_size}, bl_cpu_host_machine());
    bl_arena_cleanup(&arena);
}

static void load_module(struct bl_sv text)
{
    struct bl_module_source source = {.ptx = text, .name = "fuzz"};
    struct bl_cpu_device device = {0};
    struct bl_device_module *module;
    struct bl_device_kernel *kernel;
    struct bl_cpu_kernel_limits limits;
    uint32_t offset, size;

    if (bl_cpu_memory_create(DEVICE_MEMORY, &device.memory, NULL) != BL_OK)
        return;
    if (bl_cpu_module_load(&device.base, &source, &module, NULL) == BL_OK) {
        for (uint32_t i = 0; bl_cpu_module_kernel_name(module, i); i++) {
            if (bl_cpu_module_kernel(module, bl_cpu_module_kernel_name(module, i), &kernel) != BL_OK)
                continue;
            bl_cpu_kernel_get_limits(kernel, &limits);
            for (uint32_t p = 0; bl_cpu_kernel_param(kernel, p, &offset, &size) == BL_OK; p++)
                ;
        }
        bl_cpu_module_unload(module);
    }
    bl_cpu_memory_destroy(device.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_sv rest = {(const char *)data + 1, size - 1};

    if (size == 0)
        return 0;
    switch (data[0] % 4) {
    case 0:
        load_object(rest, 62);
        break;
    case 1:
        load_object(rest, 183);
        break;
    case 2:
        read_answer(rest);
        break;
    default:
        load_module(rest);
    }
    return 0;
}
