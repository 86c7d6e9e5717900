/* The running half of the CPU device, with kernels written as C functions against abi.h. The other half is replaced by the
 * few functions below. Speeds are printed, not checked: the machine may be busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/cpu/run.h"

/* ---- in place of the other half ------------------------------------------------------------------------ */

struct bl_device_kernel {
    struct bl_cpu_code code;
    uint32_t max_dynamic_shared, required[3];
    const char *name;
    _Atomic int held;
};

static struct bl_cpu_device device;

enum bl_status bl_cpu_kernel_code(struct bl_device_kernel *kernel, bool linear, const struct bl_cpu_code **code,
                                  struct bl_error *error)
{
    if (linear)
        kernel->code.info.flags &= ~(unsigned)BL_CPU_GENERAL_CTA;
    else
        kernel->code.info.flags |= BL_CPU_GENERAL_CTA;
    *code = &kernel->code;
    return BL_OK;
}

struct bl_cpu_device *bl_cpu_kernel_device(const struct bl_device_kernel *kernel)
{
    return &device;
}

void bl_cpu_kernel_hold(struct bl_device_kernel *kernel)
{
    kernel->held++;
}

void bl_cpu_kernel_drop(struct bl_device_kernel *kernel)
{
    kernel->held--;
}

void bl_cpu_kernel_get_limits(const struct bl_device_kernel *kernel, struct bl_cpu_kernel_limits *limits)
{
    *limits = (struct bl_cpu_kernel_limits){.param_bytes = kernel->code.info.param_bytes,
                                            .max_dynamic_shared = kernel->max_dynamic_shared};
    memcpy(limits->required_block, kernel->required, sizeof(kernel->required));
}

const char *bl_cpu_kernel_name(struct bl_device_kernel *kernel)
{
    return kernel->name;
}

enum bl_status bl_cpu_kernel_attr(struct bl_device_kernel *kernel, struct bl_kernel_attr *attr, struct bl_error *error)
{
    *attr = (struct bl_kernel_attr){.max_threads = 1024, .static_shared = kernel->code.info.static_shared};
    return BL_OK;
}

/* ---- tools ------------------------------------------------------------------------------------------------ */

/* Whole of this program's code: a C kernel may call anything in it. */
extern const char __executable_start[], etext[];

static struct bl_device_kernel make(const char *name, void (*entry)(struct bl_cpu_warp *), uint32_t flags, uint32_t param_bytes)
{
    return (struct bl_device_kernel){.code = {.entry = entry,
                                              .info = {.flags = flags, .param_bytes = param_bytes},
                                              .begin = (uintptr_t)__executable_start,
                                              .end = (uintptr_t)etext},
                                     .name = name,
                                     .max_dynamic_shared = 48 << 10};
}
#define KERNEL(function, flags, param_bytes) make(#function, function, flags, param_bytes)

static struct bl_queue *queue;

static enum bl_status launch_on(struct bl_queue *on, struct bl_device_kernel *kernel, uint32_t grid, uint32_t block,
                                const void *params)
{
    struct bl_launch launch = {.kernel = kernel,
                               .grid = {grid, 1, 1},
                               .block = {block, 1, 1},
                               .params = params,
                               .param_bytes = kernel->code.info.param_bytes};
    return bl_cpu_launch(on, &launch, NULL);
}

static enum bl_status run(struct bl_device_kernel *kernel, uint32_t grid, uint32_t block, const void *params)
{
    enum bl_status status = launch_on(queue, kernel, grid, block, params);
    return status == BL_OK ? bl_cpu_queue_wait(queue) : status;
}

static uint64_t param(const struct bl_cpu_warp *warp, int i)
{
    uint64_t value;
    memcpy(&value, warp->params + 8 * i, 8);
    return value;
}

#define POINTER(type, warp, i) ((type *)(uintptr_t)param(warp, i))
#define PARAMS(...)                                                                                                                \
    (uint64_t[])                                                                                                                   \
    {                                                                                                                              \
        __VA_ARGS__                                                                                                                \
    }
#define ADDRESS(pointer) (uint64_t)(uintptr_t)(pointer)

static long resident_kb(void)
{
    long pages = 0, all;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%ld %ld", &all, &pages) != 2)
            pages = 0;
        fclose(file);
    }
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static int setup(void **state)
{
    device.base.props = (struct bl_device_props){.clock_khz = 1000000,
                                                 .max_threads_per_multiprocessor = 2048,
                                                 .max_blocks_per_multiprocessor = 32,
                                                 .shared_per_multiprocessor = 228 << 10,
                                                 .shared_per_block_optin = 227 << 10,
                                                 .shared_reserved = 1024};
    return bl_cpu_runner_create(&device, NULL) != BL_OK || bl_cpu_queue_create(&device.base, 0, &queue) != BL_OK;
}

static int teardown(void **state)
{
    bl_cpu_queue_destroy(queue);
    bl_cpu_runner_destroy(&device);
    return 0;
}

static void expect_fault(struct bl_device_kernel *kernel, uint32_t grid, uint32_t block, const void *params,
                         enum bl_fault_kind kind, struct bl_fault *fault)
{
    assert_int_equal(run(kernel, grid, block, params), BL_FAULT);
    assert_true(bl_cpu_fault(&device.base, fault));
    print_message("    %s\n", fault->message);
    assert_int_equal(fault->kind, kind);
    assert_non_null(strstr(fault->message, kernel->name));
    assert_int_equal(run(kernel, grid, block, params), BL_FAULT);
    bl_cpu_reset(&device.base);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    assert_int_equal(kernel->held, 0);
}

/* ---- launches ---------------------------------------------------------------------------------------------- */

static void empty(struct bl_cpu_warp *warp)
{
}

/* Each thread adds one at its own place of a grid of ntid * nctaid. */
static void count_threads(struct bl_cpu_warp *warp)
{
    uint32_t *out = POINTER(uint32_t, warp, 0);
    uint64_t cta = warp->ctaid[0] + (uint64_t)warp->nctaid[0] * (warp->ctaid[1] + (uint64_t)warp->nctaid[1] * warp->ctaid[2]);
    uint32_t threads = warp->ntid[0] * warp->ntid[1] * warp->ntid[2];
    for (uint32_t i = 0; i < BL_WARP; i++)
        if (warp->active >> i & 1)
            out[cta * threads + warp->warpid * BL_WARP + i]++;
}

static void test_every_thread_once(void **state)
{
    static const uint32_t shapes[][6] = {{1, 1, 1, 1, 1, 1},   {7, 3, 2, 33, 1, 1},    {100, 1, 1, 1024, 1, 1}, {1, 1, 50, 5, 7, 3},
                                         {3, 70, 1, 32, 2, 4}, {1000, 1, 1, 31, 1, 1}, {13, 17, 19, 8, 8, 1}};
    struct bl_device_kernel kernel = KERNEL(count_threads, 0, 8);
    for (size_t s = 0; s < BL_LEN(shapes); s++) {
        const uint32_t *shape = shapes[s];
        size_t threads = (size_t)shape[0] * shape[1] * shape[2] * shape[3] * shape[4] * shape[5];
        uint32_t *out = bl_calloc(threads, 4);
        struct bl_launch launch = {.kernel = &kernel, .params = PARAMS(ADDRESS(out)), .param_bytes = 8};
        memcpy(launch.grid, shape, 12);
        memcpy(launch.block, shape + 3, 12);
        assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
        for (size_t i = 0; i < threads; i++)
            assert_int_equal(out[i], 1);
        bl_free(out);
    }
    assert_int_equal(kernel.held, 0);
}

static void check_tid(struct bl_cpu_warp *warp)
{
    uint32_t *bad = POINTER(uint32_t, warp, 0);
    for (uint32_t i = 0; i < BL_WARP; i++) {
        uint32_t linear = warp->warpid * BL_WARP + i, x = linear % warp->ntid[0], y = linear / warp->ntid[0];
        bool same = warp->tid[0][i] == x && warp->tid[1][i] == y % warp->ntid[1] && warp->tid[2][i] == y / warp->ntid[1];
        if ((warp->active >> i & 1) && !same)
            __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
    }
}

static void test_tids_of_general_code(void **state)
{
    struct bl_device_kernel kernel = KERNEL(check_tid, 0, 8);
    uint32_t bad = 0;
    for (uint32_t x = 1; x <= 12; x++) {
        struct bl_launch launch = {
            .kernel = &kernel, .grid = {3, 1, 1}, .block = {x, 5, 3}, .params = PARAMS(ADDRESS(&bad)), .param_bytes = 8};
        assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_OK);
    }
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    assert_int_equal(bad, 0);
}

static void test_limits_of_launches(void **state)
{
    struct bl_device_kernel kernel = KERNEL(empty, 0, 8);
    static const struct bl_launch bad[] = {
        {.grid = {0, 1, 1}, .block = {1, 1, 1}},
        {.grid = {1, 65536, 1}, .block = {1, 1, 1}},
        {.grid = {1, 1, 65536}, .block = {1, 1, 1}},
        {.grid = {0x80000000u, 1, 1}, .block = {1, 1, 1}},
        {.grid = {1, 1, 1}, .block = {1025, 1, 1}},
        {.grid = {1, 1, 1}, .block = {0, 1, 1}},
        {.grid = {1, 1, 1}, .block = {1, 1, 65}},
        {.grid = {1, 1, 1}, .block = {32, 33, 1}},
        {.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared = 64 << 10},
        {.grid = {3, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}},
    };
    for (size_t i = 0; i < BL_LEN(bad); i++) {
        struct bl_launch launch = bad[i];
        struct bl_error error = BL_ERROR_INIT;
        launch.kernel = &kernel;
        launch.params = PARAMS(0);
        launch.param_bytes = 8;
        assert_int_equal(bl_cpu_launch(queue, &launch, &error), BL_INVALID);
        assert_int_not_equal(error.message[0], 0);
    }
    struct bl_launch launch = {.kernel = &kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = PARAMS(0), .param_bytes = 4};
    assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_INVALID);
    kernel.required[0] = 64, kernel.required[1] = kernel.required[2] = 1;
    launch.param_bytes = 8;
    assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_INVALID);
    assert_int_equal(run(&kernel, 1, 64, PARAMS(0)), BL_OK);
}

static void sum_params(struct bl_cpu_warp *warp)
{
    uint64_t sum = 0, *out = POINTER(uint64_t, warp, 0);
    for (uint32_t i = 1; i < 32760 / 8; i++)
        sum += param(warp, (int)i);
    *out = sum;
}

static void test_large_params(void **state)
{
    struct bl_device_kernel kernel = KERNEL(sum_params, 0, 32760);
    uint64_t params[32760 / 8], sum = 0, out = 0;
    for (size_t i = 1; i < BL_LEN(params); i++)
        sum += params[i] = i * i;
    params[0] = ADDRESS(&out);
    assert_int_equal(launch_on(queue, &kernel, 1, 1, params), BL_OK);
    memset(params, 0, sizeof(params)); /* they were copied */
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    assert_int_equal(out, sum);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void test_speed(void **state)
{
    enum { ROUNDS = 20000 };
    struct bl_device_kernel kernel = KERNEL(empty, 0, 0);
    static double each[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t begun = bl_cpu_now();
        assert_int_equal(run(&kernel, 1, 1, NULL), BL_OK);
        each[i] = (double)(bl_cpu_now() - begun);
    }
    qsort(each, ROUNDS, sizeof(double), by_value);
    print_message("    empty launch + wait: median %.0f ns, 99%% %.0f ns\n", each[ROUNDS / 2], each[ROUNDS * 99 / 100]);
    for (uint32_t block = 32; block <= 256; block *= 8) {
        double best = 1e18;
        for (int i = 0; i < 10; i++) {
            uint64_t begun = bl_cpu_now();
            assert_int_equal(run(&kernel, 1000000, block, NULL), BL_OK);
            best = BL_MIN(best, (double)(bl_cpu_now() - begun));
        }
        print_message("    1,000,000 empty CTAs of %u threads: %.2f ms\n", block, best / 1e6);
    }
}

static void test_resident_size(void **state)
{
    struct bl_device_kernel kernel = KERNEL(empty, 0, 8);
    long before = 0;
    uint64_t begun = 0;
    for (int i = 0; i < 1100000; i++) {
        if (i == 100000) {
            before = resident_kb();
            begun = bl_cpu_now();
        }
        assert_int_equal(launch_on(queue, &kernel, 1, 32, PARAMS(1)), BL_OK);
    }
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    print_message("    launch without waiting: %.0f ns\n", (double)(bl_cpu_now() - begun) / 1e6);
    assert_true(resident_kb() - before < 1024);
}

/* ---- order ------------------------------------------------------------------------------------------------- */

struct step {
    _Atomic uint32_t at;
    uint32_t wrong;
};

static void step(struct bl_cpu_warp *warp)
{
    struct step *steps = POINTER(struct step, warp, 0);
    if (steps->at != param(warp, 1))
        steps->wrong++;
    steps->at++;
}

static void host_step(void *data)
{
    struct step *steps = data;
    if (steps->at % 2 == 0)
        steps->wrong++;
    steps->at++;
}

static void test_order_in_a_queue(void **state)
{
    struct bl_device_kernel kernel = KERNEL(step, 0, 16);
    struct step steps = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(launch_on(queue, &kernel, 1, 1, PARAMS(ADDRESS(&steps), 2 * i)), BL_OK);
        assert_int_equal(bl_cpu_host_call(queue, host_step, &steps), BL_OK);
    }
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    assert_int_equal(steps.at, 10000);
    assert_int_equal(steps.wrong, 0);
    assert_int_equal(bl_cpu_queue_query(queue), BL_OK);
}

/* Work that nobody waits for runs all the same. */
static void test_runs_without_a_wait(void **state)
{
    struct bl_device_kernel kernel = KERNEL(step, 0, 16);
    for (uint64_t i = 0; i < 3; i++) {
        struct step steps = {0};
        usleep(i == 1 ? 50000 : 100); /* the watcher sleeps by then */
        assert_int_equal(launch_on(queue, &kernel, 1, 1, PARAMS(ADDRESS(&steps), 0)), BL_OK);
        uint64_t begun = bl_cpu_now();
        while (!steps.at && bl_cpu_now() - begun < 2000000000)
            sched_yield();
        assert_int_equal(steps.at, 1);
        print_message("    seen after %.0f us\n", (double)(bl_cpu_now() - begun) / 1000);
    }
}

static void test_fences_across_queues(void **state)
{
    enum { QUEUES = 4 };
    struct bl_device_kernel kernel = KERNEL(step, 0, 16);
    struct bl_queue *queues[QUEUES];
    struct bl_fence *fences[QUEUES];
    struct step steps = {0};
    for (int i = 0; i < QUEUES; i++) {
        assert_int_equal(bl_cpu_queue_create(&device.base, i % 2, &queues[i]), BL_OK);
        assert_int_equal(bl_cpu_fence_create(&device.base, &fences[i]), BL_OK);
        assert_int_equal(bl_cpu_fence_query(fences[i]), BL_OK);
    }
    for (uint64_t i = 0; i < 4000; i++) {
        assert_int_equal(bl_cpu_fence_wait_queue(queues[i % QUEUES], fences[(i + QUEUES - 1) % QUEUES]), BL_OK);
        assert_int_equal(launch_on(queues[i % QUEUES], &kernel, 1, 1, PARAMS(ADDRESS(&steps), i)), BL_OK);
        assert_int_equal(bl_cpu_fence_record(queues[i % QUEUES], fences[i % QUEUES]), BL_OK);
    }
    assert_int_equal(bl_cpu_fence_wait(fences[3]), BL_OK);
    assert_int_equal(steps.at, 4000);
    assert_int_equal(steps.wrong, 0);
    assert_true(bl_cpu_fence_time(fences[3]) >= bl_cpu_fence_time(fences[2]));
    assert_true(bl_cpu_fence_time(fences[2]) > 0);
    for (int i = 0; i < QUEUES; i++) {
        bl_cpu_queue_destroy(queues[i]); /* before its fence */
        bl_cpu_fence_destroy(fences[i]);
    }
    assert_int_equal(bl_cpu_device_wait(&device.base), BL_OK);
}

static void slow_host(void *data)
{
    usleep(30000);
    (*(_Atomic int *)data)++;
}

static void test_slow_host_calls(void **state)
{
    enum { QUEUES = 8 };
    struct bl_queue *queues[QUEUES];
    struct bl_device_kernel kernel = KERNEL(empty, 0, 0);
    _Atomic int calls = 0;
    for (int i = 0; i < QUEUES; i++) {
        assert_int_equal(bl_cpu_queue_create(&device.base, 0, &queues[i]), BL_OK);
        assert_int_equal(bl_cpu_host_call(queues[i], slow_host, (void *)(uintptr_t)&calls), BL_OK);
    }
    uint64_t begun = bl_cpu_now();
    assert_int_equal(run(&kernel, 1, 1, NULL), BL_OK);
    print_message("    launch + wait beside %d slow host calls: %.1f us\n", QUEUES, (double)(bl_cpu_now() - begun) / 1000);
    for (int i = 0; i < QUEUES; i++)
        bl_cpu_queue_destroy(queues[i]); /* they still run */
    assert_int_equal(bl_cpu_device_wait(&device.base), BL_OK);
    assert_int_equal(calls, QUEUES);
}

static void wait_for_flag(void *data)
{
    while (!*(_Atomic int *)data)
        sched_yield();
}

static void set_flag(void *data)
{
    *(_Atomic int *)data = 1;
}

/* Host calls of more queues than there are threads wait for one of a later queue. */
static void test_host_calls_that_wait(void **state)
{
    struct bl_queue *queues[9];
    _Atomic int flag = 0;
    for (int i = 0; i < 9; i++) {
        assert_int_equal(bl_cpu_queue_create(&device.base, 0, &queues[i]), BL_OK);
        assert_int_equal(bl_cpu_host_call(queues[i], i < 8 ? wait_for_flag : set_flag, (void *)(uintptr_t)&flag), BL_OK);
    }
    for (int i = 0; i < 9; i++) {
        assert_int_equal(bl_cpu_queue_wait(queues[i]), BL_OK);
        bl_cpu_queue_destroy(queues[i]);
    }
}

static void add_one(struct bl_cpu_warp *warp)
{
    __atomic_fetch_add(POINTER(uint64_t, warp, 0), 1, __ATOMIC_RELAXED);
}

static void *many_launches(void *data)
{
    struct bl_device_kernel *kernel = data;
    struct bl_queue *own;
    uint64_t count = 0;
    bl_cpu_queue_create(&device.base, 0, &own);
    for (int i = 0; i < 2000; i++) {
        launch_on(i % 3 ? own : queue, kernel, 1 + (uint32_t)i % 5, 32, PARAMS(ADDRESS(&count)));
        if (i % 7 == 0)
            bl_cpu_queue_wait(own);
    }
    bl_cpu_queue_wait(own);
    bl_cpu_queue_wait(queue);
    bl_cpu_queue_destroy(own);
    uint64_t wanted = 0;
    for (int i = 0; i < 2000; i++)
        wanted += 1 + (uint64_t)i % 5;
    return (void *)(uintptr_t)(count == wanted);
}

static void test_many_host_threads(void **state)
{
    struct bl_device_kernel kernel = KERNEL(add_one, 0, 8);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, many_launches, &kernel), 0);
    for (int i = 0; i < 8; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        assert_true(right != NULL);
    }
    assert_int_equal(bl_cpu_device_wait(&device.base), BL_OK);
    assert_int_equal(kernel.held, 0);
}

/* ---- copies -------------------------------------------------------------------------------------------------- */

static void test_copies(void **state)
{
    static const size_t sizes[] = {1, 100, 4096, (1 << 20) + 1, (1 << 20) + 4097, (37 << 20) + 5};
    for (size_t s = 0; s < BL_LEN(sizes); s++) {
        uint8_t *from = bl_malloc(sizes[s]), *to = bl_calloc(sizes[s] + 1, 1);
        for (size_t i = 0; i < sizes[s]; i++)
            from[i] = (uint8_t)(i * 7 + (i >> 9));
        struct bl_copy copy = {.to = ADDRESS(to), .from = ADDRESS(from), .width = sizes[s], .height = 1, .depth = 1};
        assert_int_equal(bl_cpu_copy(queue, &copy), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
        assert_memory_equal(from, to, sizes[s]);
        assert_int_equal(to[sizes[s]], 0);
        bl_free(from);
        bl_free(to);
    }
}

static void test_boxes(void **state)
{
    static uint8_t from[20][50][100], to[20][60][90];
    for (size_t i = 0; i < sizeof(from); i++)
        ((uint8_t *)from)[i] = (uint8_t)(i * 13 + 1);
    struct bl_copy copy = {.to = ADDRESS(&to[2][3][4]),
                           .from = ADDRESS(&from[1][2][3]),
                           .width = 80,
                           .height = 40,
                           .depth = 15,
                           .to_pitch = 90,
                           .from_pitch = 100,
                           .to_slice_pitch = 60 * 90,
                           .from_slice_pitch = 50 * 100};
    assert_int_equal(bl_cpu_copy(queue, &copy), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    for (int z = 0; z < 20; z++)
        for (int y = 0; y < 60; y++)
            for (int x = 0; x < 90; x++) {
                bool inside = z >= 2 && z < 17 && y >= 3 && y < 43 && x >= 4 && x < 84;
                assert_int_equal(to[z][y][x], inside ? from[z - 1][y - 1][x - 1] : 0);
            }
}

static void test_fills(void **state)
{
    enum { BYTES = 3 << 20 };
    uint8_t *memory = bl_calloc(BYTES + 16, 1);
    for (uint32_t size = 1; size <= 4; size *= 2) {
        uint32_t value = 0x81726354u;
        struct bl_fill fill = {.to = ADDRESS(memory), .value = value, .value_size = size, .width = BYTES / size, .height = 1};
        assert_int_equal(bl_cpu_fill(queue, &fill), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
        for (size_t i = 0; i < BYTES; i++)
            assert_int_equal(memory[i], (value >> 8 * (i % size)) & 0xff);
        assert_int_equal(memory[BYTES], 0);
    }
    struct bl_fill rows = {.to = ADDRESS(memory + 8), .value = 7, .value_size = 2, .width = 3, .height = 4, .pitch = 16};
    assert_int_equal(bl_cpu_fill(queue, &rows), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    for (int y = 0; y < 4; y++) {
        assert_memory_equal(memory + 8 + 16 * y, ((uint16_t[]){7, 7, 7}), 6);
        assert_int_equal(memory[8 + 16 * y + 6], 0x72);
    }
    struct bl_fill odd = {.to = ADDRESS(memory + 1), .value_size = 4, .width = 1, .height = 1};
    assert_int_equal(bl_cpu_fill(queue, &odd), BL_INVALID);
    bl_free(memory);
}

/* ---- faults --------------------------------------------------------------------------------------------------- */

static void bad_store(struct bl_cpu_warp *warp)
{
    warp->current_line = 17;
    if (warp->ctaid[0] == 5 && warp->warpid == 1)
        *POINTER(volatile uint32_t, warp, 0) = 1;
}

static void test_illegal_address(void **state)
{
    struct bl_device_kernel kernel = KERNEL(bad_store, 0, 8);
    struct bl_fault fault;
    expect_fault(&kernel, 100, 64, PARAMS(0x1230), BL_FAULT_ILLEGAL_ADDRESS, &fault);
    assert_int_equal(fault.address, 0x1230);
    assert_int_equal(fault.ctaid[0], 5);
    assert_int_equal(fault.tid[0], 32);
    assert_int_equal(fault.line, 17);
    expect_fault(&kernel, 100, 64, PARAMS(0xdead000000001230), BL_FAULT_ILLEGAL_ADDRESS, &fault);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_thread_once),
        cmocka_unit_test(test_tids_of_general_code),
        cmocka_unit_test(test_limits_of_launches),
        cmocka_unit_test(test_large_params),
        cmocka_unit_test(test_speed),
        cmocka_unit_test(test_resident_size),
        cmocka_unit_test(test_order_in_a_queue),
        cmocka_unit_test(test_runs_without_a_wait),
        cmocka_unit_test(test_fences_across_queues),
        cmocka_unit_test(test_slow_host_calls),
        cmocka_unit_test(test_host_calls_that_wait),
        cmocka_unit_test(test_many_host_threads),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_illegal_address),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
