/* The running half of the CPU device, with kernels written as C functions against abi.h. The other half is replaced by the
 * few functions below. Speeds are printed, not checked: the machine may be busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "target/cpu/run.h"
#include "target/cpu/sanitize.h"

/* ---- in place of the other half ------------------------------------------------------------------------ */

struct bl_device_kernel {
    struct bl_cpu_code code;
    uint32_t max_dynamic_shared, required[3];
    const char *name;
    _Atomic int held;
};

static struct bl_cpu_device device;

enum bl_status bl_cpu_kernel_code(struct bl_device_kernel *kernel, uint32_t shape, const struct bl_cpu_code **code,
                                  struct bl_error *error)
{
    uint32_t flags =
        (kernel->code.info.flags & ~(unsigned)BL_CPU_GENERAL_CTA) | (shape == BL_CPU_CTA_LINEAR ? 0 : BL_CPU_GENERAL_CTA);
    if (flags != kernel->code.info.flags) /* others may read them */
        kernel->code.info.flags = flags;
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

/* Kernels have a section of their own: who runs in it may be stopped at any time. */
#define KERNEL_CODE __attribute__((section("test_kernels")))
extern const char __start_test_kernels[], __stop_test_kernels[];

static struct bl_device_kernel make(const char *name, void (*entry)(struct bl_cpu_warp *), uint32_t flags, uint32_t param_bytes)
{
    return (struct bl_device_kernel){.code = {.entry = entry,
                                              .info = {.flags = flags, .param_bytes = param_bytes},
                                              .begin = (uintptr_t)__start_test_kernels,
                                              .end = (uintptr_t)__stop_test_kernels},
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

__attribute__((always_inline)) static inline uint64_t param(const struct bl_cpu_warp *warp, int i)
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

KERNEL_CODE static void empty(struct bl_cpu_warp *warp)
{
}

/* Each thread adds one at its own place of a grid of ntid * nctaid. */
KERNEL_CODE static void count_threads(struct bl_cpu_warp *warp)
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

KERNEL_CODE static void check_tid(struct bl_cpu_warp *warp)
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

KERNEL_CODE static void sum_params(struct bl_cpu_warp *warp)
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

KERNEL_CODE static void step(struct bl_cpu_warp *warp)
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
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
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

/* A queue waits for another device's. */
static void test_fences_across_devices(void **state)
{
    struct bl_device_kernel kernel = KERNEL(step, 0, 16);
    struct bl_cpu_device second = device;
    struct bl_queue *other;
    struct bl_fence *fence;
    struct step steps = {0};
    assert_int_equal(bl_cpu_runner_create(&second, NULL), BL_OK);
    assert_int_equal(bl_cpu_queue_create(&second.base, 0, &other), BL_OK);
    assert_int_equal(bl_cpu_fence_create(&second.base, &fence), BL_OK);
    assert_int_equal(bl_cpu_fence_wait_queue(queue, fence), BL_OK);
    for (uint64_t i = 0; i < 300; i += 2) {
        steps.at = (uint32_t)i + 1;
        assert_int_equal(bl_cpu_host_call(other, host_step, &steps), BL_OK);
        assert_int_equal(bl_cpu_fence_record(other, fence), BL_OK);
        assert_int_equal(bl_cpu_fence_wait_queue(queue, fence), BL_OK);
        assert_int_equal(launch_on(queue, &kernel, 1, 1, PARAMS(ADDRESS(&steps), i + 2)), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    }
    assert_int_equal(steps.wrong, 0);
    assert_int_equal(bl_cpu_fence_record(queue, fence), BL_INVALID);
    bl_cpu_queue_destroy(other);
    bl_cpu_fence_destroy(fence);
    bl_cpu_runner_destroy(&second);
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

KERNEL_CODE static void add_one(struct bl_cpu_warp *warp)
{
    __atomic_fetch_add(POINTER(uint64_t, warp, 0), 1, __ATOMIC_RELAXED);
}

KERNEL_CODE static void take_time(struct bl_cpu_warp *warp)
{
    uint64_t begun = bl_cpu_now();
    while (bl_cpu_now() - begun < 1000000)
        bl_cpu_pause();
    add_one(warp);
}

/* A small launch gets its turn beside a large one, though nobody helps. */
static void test_turns(void **state)
{
    struct bl_device_kernel slow = KERNEL(take_time, 0, 8), quick = KERNEL(add_one, 0, 8);
    struct bl_queue *other;
    uint64_t slow_count = 0, quick_count = 0, begun = bl_cpu_now(), quickest = 0;
    uint32_t grid = 200 * bl_cpu_worker_count();
    assert_int_equal(bl_cpu_queue_create(&device.base, 0, &other), BL_OK);
    assert_int_equal(launch_on(queue, &slow, grid, 32, PARAMS(ADDRESS(&slow_count))), BL_OK);
    usleep(3000);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(launch_on(other, &quick, 100, 32, PARAMS(ADDRESS(&quick_count))), BL_OK);
        while (bl_cpu_queue_query(other) == BL_NOT_READY)
            usleep(100);
        quickest = bl_cpu_now() - begun;
    }
    assert_true(__atomic_load_n(&slow_count, __ATOMIC_RELAXED) < grid);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    assert_int_equal(slow_count, grid);
    assert_int_equal(quick_count, 500);
    print_message("    5 small launches done after %.1f ms, the large one after %.1f ms\n", (double)quickest / 1e6,
                  (double)(bl_cpu_now() - begun) / 1e6);
    bl_cpu_queue_destroy(other);
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

__attribute__((no_sanitize("undefined"))) KERNEL_CODE static void bad_store(struct bl_cpu_warp *warp)
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

KERNEL_CODE static void bad_helper(struct bl_cpu_warp *warp)
{
    warp->helpers->fault(warp, 0x80, (uint32_t)param(warp, 0), (const char *)(uintptr_t)param(warp, 1));
}

static void test_faults_told_by_code(void **state)
{
    struct bl_device_kernel kernel = KERNEL(bad_helper, 0, 16);
    struct bl_fault fault;
    static const char text[] = "some.op is not there";
    expect_fault(&kernel, 1, 64, PARAMS(BL_FAULT_UNSUPPORTED, ADDRESS(text)), BL_FAULT_UNSUPPORTED, &fault);
    assert_non_null(strstr(fault.message, text));
    assert_non_null(strstr(fault.message, "thread (7,0,0) of block (0,0,0)"));
    expect_fault(&kernel, 1, 64, PARAMS(BL_FAULT_TRAP, 0), BL_FAULT_TRAP, &fault);
}

KERNEL_CODE static void bad_instruction(struct bl_cpu_warp *warp)
{
    __builtin_trap();
}

#ifdef __clang__
__attribute__((no_sanitize("function"))) /* it would look for the function's type first, where there is no memory either */
#endif
KERNEL_CODE static void
bad_call(struct bl_cpu_warp *warp)
{
    void (*function)(void) = (void (*)(void))(uintptr_t)param(warp, 0);
    function();
}

KERNEL_CODE static int deeper(volatile char *above, int n)
{
    volatile char frame[2000];
    frame[0] = above[0];
    return n ? deeper(frame, n - 1) + frame[0] : frame[0];
}

KERNEL_CODE static void bad_recursion(struct bl_cpu_warp *warp)
{
    volatile char frame = 1;
    POINTER(volatile int, warp, 0)[0] = deeper(&frame, (int)param(warp, 1));
}

KERNEL_CODE static void bad_division(struct bl_cpu_warp *warp)
{
#if defined(__x86_64__)
    __asm__ volatile("xorl %%ecx, %%ecx; movl $1, %%eax; cltd; idivl %%ecx" ::: "eax", "ecx", "edx");
#else
    __builtin_trap();
#endif
}

static void test_signals_of_all_kinds(void **state)
{
    struct bl_device_kernel instruction = KERNEL(bad_instruction, 0, 0), division = KERNEL(bad_division, 0, 0);
    struct bl_device_kernel call = KERNEL(bad_call, 0, 8), recursion = KERNEL(bad_recursion, BL_CPU_RECURSION, 16);
    struct bl_device_kernel fibers = KERNEL(bad_recursion, BL_CPU_RECURSION | BL_CPU_BARRIER, 16);
    struct bl_fault fault;
    int out = 0;
    expect_fault(&instruction, 3, 64, NULL, BL_FAULT_ILLEGAL_INSTRUCTION, &fault);
    expect_fault(&division, 3, 64, NULL, BL_FAULT_ILLEGAL_INSTRUCTION, &fault);
    expect_fault(&call, 3, 64, PARAMS(0x5000), BL_FAULT_BAD_FUNCTION, &fault);
    assert_int_equal(run(&recursion, 4, 64, PARAMS(ADDRESS(&out), 3000)), BL_OK);
    assert_int_equal(out, 1 + 3000);
    expect_fault(&recursion, 3, 64, PARAMS(ADDRESS(&out), 10000), BL_FAULT_STACK_OVERFLOW, &fault);
    expect_fault(&fibers, 3, 64, PARAMS(ADDRESS(&out), 10000), BL_FAULT_STACK_OVERFLOW, &fault);
    assert_int_equal(run(&fibers, 4, 64, PARAMS(ADDRESS(&out), 3000)), BL_OK);
}

static void test_bad_copies(void **state)
{
    char memory[16];
    struct bl_copy copy = {.to = 0x4000, .from = ADDRESS(memory), .width = 16, .height = 1, .depth = 1};
    struct bl_fill fill = {.to = 0x4000, .value_size = 4, .width = 16, .height = 1};
    struct bl_fault fault;
    assert_int_equal(bl_cpu_copy(queue, &copy), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_FAULT);
    assert_true(bl_cpu_fault(&device.base, &fault));
    print_message("    %s\n", fault.message);
    bl_cpu_reset(&device.base);
    assert_int_equal(bl_cpu_fill(queue, &fill), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_FAULT);
    bl_cpu_reset(&device.base);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
}

/* What comes after a fault in other queues is dropped; host calls run. */
static void test_fault_drops_the_rest(void **state)
{
    struct bl_device_kernel bad = KERNEL(bad_store, 0, 8), good = KERNEL(add_one, 0, 8);
    uint64_t count = 0;
    _Atomic int calls = 0;
    assert_int_equal(bl_cpu_host_call(queue, slow_host, (void *)(uintptr_t)&calls), BL_OK);
    assert_int_equal(launch_on(queue, &bad, 100, 64, PARAMS(0)), BL_OK);
    for (int i = 0; i < 10; i++)
        assert_int_equal(launch_on(queue, &good, 1, 1, PARAMS(ADDRESS(&count))), BL_OK);
    assert_int_equal(bl_cpu_host_call(queue, slow_host, (void *)(uintptr_t)&calls), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_FAULT);
    assert_int_equal(bl_cpu_queue_query(queue), BL_FAULT);
    assert_int_equal(count, 0);
    assert_int_equal(calls, 2);
    assert_int_equal(good.held + bad.held, 0);
    bl_cpu_reset(&device.base);
    assert_int_equal(run(&good, 1, 1, PARAMS(ADDRESS(&count))), BL_OK);
    assert_int_equal(count, 1);
}

KERNEL_CODE static void endless(struct bl_cpu_warp *warp)
{
    while (!__atomic_load_n(POINTER(int, warp, 0), __ATOMIC_RELAXED)) {
    }
}

KERNEL_CODE static void bad_among_endless(struct bl_cpu_warp *warp)
{
    _Atomic int *begun = POINTER(_Atomic int, warp, 2);
    if (warp->ctaid[0] == 0) {
        while (warp->nsmid > 1 && !*begun)
            sched_yield();
        *POINTER(volatile int, warp, 1) = 1;
    }
    *begun = 1;
    endless(warp);
}

static void bad_after_barrier(struct bl_cpu_warp *warp);
static _Atomic bool storm_over;

struct storm_thread {
    pthread_t thread;
    struct bl_device_kernel *kernels;
    _Atomic bool served; /* a launch of its own ran */
};

static void *launch_in_storm(void *data)
{
    struct storm_thread *self = data;
    struct bl_queue *own;
    struct bl_fence *fence;
    uint64_t count = 0, answered = 0;
    bl_cpu_queue_create(&device.base, 0, &own);
    bl_cpu_fence_create(&device.base, &fence);
    for (uint32_t i = 0; !storm_over; i++) {
        if (launch_on(own, &self->kernels[i % 2], 1 + i % 40, 64, PARAMS(ADDRESS(&count))) == BL_OK)
            answered += bl_cpu_fence_record(own, fence) == BL_OK && bl_cpu_fence_wait_queue(queue, fence) == BL_OK;
        if (i % 5 == 0)
            bl_cpu_queue_wait(own);
        self->served = answered > 0 && __atomic_load_n(&count, __ATOMIC_RELAXED) > 0;
    }
    bl_cpu_queue_wait(own);
    bl_cpu_queue_wait(queue);
    bl_cpu_queue_destroy(own);
    bl_cpu_fence_destroy(fence);
    return NULL;
}

/* Faults and resets while other threads launch. */
static void test_storm_of_faults(void **state)
{
    struct bl_device_kernel good[2] = {KERNEL(add_one, 0, 8), KERNEL(add_one, BL_CPU_BARRIER, 8)};
    struct bl_device_kernel bad[2] = {KERNEL(bad_store, 0, 8), KERNEL(bad_after_barrier, BL_CPU_BARRIER, 8)};
    struct storm_thread threads[3] = {{.kernels = good}, {.kernels = good}, {.kernels = good}};
    storm_over = false;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i].thread, NULL, launch_in_storm, &threads[i]), 0);
    for (int i = 0; i < 300; i++) {
        launch_on(queue, &bad[i % 2], 20, 128, PARAMS(0x3000));
        if (i % 3)
            bl_cpu_queue_wait(queue);
        bl_cpu_reset(&device.base);
    }
    for (int i = 0; i < 3; i++)
        while (!threads[i].served) /* at the latest now, with no more faults */
            usleep(1000);
    storm_over = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i].thread, NULL);
    bl_cpu_device_wait(&device.base);
    bl_cpu_reset(&device.base);
    assert_int_equal(good[0].held + good[1].held + bad[0].held + bad[1].held, 0);
}

/* Where a CTA faults, one that began just before the command had to stop would run for ever. */
KERNEL_CODE static void endless_at_the_end(struct bl_cpu_warp *warp)
{
    const struct bl_cpu_cta *cta = warp->runtime;
    if (warp->ctaid[0] == param(warp, 0))
        *POINTER(volatile int, warp, 1) = 1;
    while (atomic_load_explicit(&cta->core->command->stop, memory_order_relaxed)) {
    }
}

static void test_fault_stops_what_just_begins(void **state)
{
    for (uint32_t i = 0; i < 200; i++) {
        struct bl_device_kernel kernel = KERNEL(endless_at_the_end, i % 4 ? 0 : BL_CPU_BARRIER, 16);
        struct bl_fault fault;
        assert_int_equal(run(&kernel, 50000, i % 4 ? 32 : 64, PARAMS(20000 + i * 10, 0x1000)), BL_FAULT);
        assert_true(bl_cpu_fault(&device.base, &fault));
        assert_int_equal(fault.ctaid[0], 20000 + i * 10);
        bl_cpu_reset(&device.base);
    }
}

KERNEL_CODE static void calls_for_ever(struct bl_cpu_warp *warp)
{
    uint64_t size = 100, block, format = ADDRESS("");
    uint32_t result;
    if (warp->ctaid[0] == 0 && warp->warpid == 0 && warp->nsmid > 1)
        usleep(1000);
    if (warp->ctaid[0] == 0 && warp->warpid == 0)
        *POINTER(volatile int, warp, 1) = 1;
    for (;;) {
        if (param(warp, 0) == 0)
            warp->helpers->clock(warp);
        else if (param(warp, 0) == 1)
            warp->helpers->vprintf(warp, 1, &format, &size, &result);
        else if (param(warp, 0) == 2)
            warp->helpers->yield(warp, 0);
        else if (param(warp, 0) == 3)
            warp->helpers->malloc(warp, 1, &size, &block), warp->helpers->free(warp, 1, &block);
        else
            warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
    }
}

/* Others are within the runtime most of the time. */
static void test_fault_stops_calls(void **state)
{
    struct bl_fault fault;
    for (uint64_t which = 0; which < 5; which++)
        for (uint32_t flags = which == 4 ? BL_CPU_BARRIER : 0; flags <= BL_CPU_BARRIER; flags++) {
            struct bl_device_kernel kernel = KERNEL(calls_for_ever, flags, 16);
            expect_fault(&kernel, 2, 64, PARAMS(which, 0x1000), BL_FAULT_ILLEGAL_ADDRESS, &fault);
            for (int i = 0; i < 5; i++) { /* on the same fibers */
                struct bl_device_kernel good = KERNEL(add_one, flags, 8);
                uint64_t count = 0;
                assert_int_equal(run(&good, 20, 64, PARAMS(ADDRESS(&count))), BL_OK);
                assert_int_equal(count, 40);
            }
        }
}

/* One CTA faults, the others would run for ever. */
static void test_fault_stops_endless_kernels(void **state)
{
    struct bl_device_kernel kernel = KERNEL(bad_among_endless, 0, 24);
    struct bl_fault fault;
    int never = 0, begun = 0;
    expect_fault(&kernel, 2, 32, PARAMS(ADDRESS(&never), 0x1000, ADDRESS(&begun)), BL_FAULT_ILLEGAL_ADDRESS, &fault);
}

static void test_reset_stops_endless_kernels(void **state)
{
    struct bl_device_kernel kernel = KERNEL(endless, 0, 8), good = KERNEL(add_one, 0, 8);
    int never = 0;
    uint64_t count = 0;
    assert_int_equal(launch_on(queue, &kernel, 10, 64, PARAMS(ADDRESS(&never))), BL_OK);
    assert_int_equal(launch_on(queue, &good, 1, 1, PARAMS(ADDRESS(&count))), BL_OK);
    usleep(10000);
    assert_int_equal(bl_cpu_queue_query(queue), BL_NOT_READY);
    bl_cpu_reset(&device.base);
    assert_int_equal(bl_cpu_queue_query(queue), BL_OK);
    assert_int_equal(kernel.held + good.held, 0);
    assert_int_equal(count, 0);
    assert_int_equal(run(&good, 1, 1, PARAMS(ADDRESS(&count))), BL_OK);
}

static volatile int *volatile nowhere = (volatile int *)0x10;
static sigjmp_buf out_of_handler;

static void own_handler(int signal)
{
    siglongjmp(out_of_handler, 1);
}

/* A handler that the program installs after ours gets the program's faults, ours the kernels'. */
static void test_handlers_of_the_program(void **state)
{
    struct bl_device_kernel kernel = KERNEL(bad_store, 0, 8), good = KERNEL(empty, 0, 0);
    struct sigaction own = {.sa_handler = own_handler}, before;
    struct bl_fault fault;
    assert_int_equal(run(&good, 1, 1, NULL), BL_OK);
    sigaction(SIGSEGV, &own, &before);
    expect_fault(&kernel, 100, 64, PARAMS(0x1230), BL_FAULT_ILLEGAL_ADDRESS, &fault);
    if (sigsetjmp(out_of_handler, 1) == 0) {
        *nowhere = 1;
        fail();
    }
    sigaction(SIGSEGV, &before, NULL);
    expect_fault(&kernel, 100, 64, PARAMS(0x1230), BL_FAULT_ILLEGAL_ADDRESS, &fault);
}

static void test_child_of_fork(void **state)
{
    struct bl_device_kernel kernel = KERNEL(empty, 0, 0);
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(launch_on(queue, &kernel, 1, 1, NULL) == BL_IO && bl_cpu_queue_wait(queue) == BL_IO ? 7 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

/* In a program of its own (a child of fork has no device): exit() while a kernel runs for ever, or a crash of the program
 * once our handlers stand.
 */
static int run_and_end(const char *how)
{
    static int never;
    struct bl_device_kernel kernel = KERNEL(endless, 0, 8);
    if (setup(NULL) || launch_on(queue, &kernel, 10, 64, PARAMS(ADDRESS(&never))) != BL_OK)
        return 3;
    usleep(2000);
    if (!strcmp(how, "crash"))
        *nowhere = 1;
    exit(9);
}

static int status_of(const char *how)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        execl("/proc/self/exe", "test_cpu_run", how, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_ends_while_running(void **state)
{
    int status = status_of("exit");
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 9);
    status = status_of("crash");
    assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) ||
                (WIFEXITED(status) && WEXITSTATUS(status) == 1)); /* that is AddressSanitizer's way */
}

/* ---- barriers ------------------------------------------------------------------------------------------------ */

/* Each warp adds up what all others wrote in the round before; shared memory holds two rounds. */
KERNEL_CODE static void rounds(struct bl_cpu_warp *warp)
{
    uint32_t *out = POINTER(uint32_t, warp, 0), n = warp->nwarps;
    uint32_t(*values)[32] = (uint32_t(*)[32])(void *)warp->shared;
    values[0][warp->warpid] = warp->warpid + warp->ctaid[0];
    for (uint32_t round = 0; round < 10; round++) {
        uint32_t sum = 0;
        warp->helpers->barrier(warp, warp->active, 0, 0);
        for (uint32_t i = 0; i < n; i++)
            sum += values[round % 2][i];
        values[(round + 1) % 2][warp->warpid] = sum % 1000 + warp->warpid;
    }
    out[warp->ctaid[0] * n + warp->warpid] = values[0][warp->warpid];
}

static uint32_t rounds_answer(uint32_t cta, uint32_t n, uint32_t warp)
{
    uint32_t values[32], sum = 0;
    for (uint32_t i = 0; i < n; i++)
        values[i] = i + cta;
    for (uint32_t round = 0; round < 10; round++) {
        sum = 0;
        for (uint32_t i = 0; i < n; i++)
            sum += values[i];
        for (uint32_t i = 0; i < n; i++)
            values[i] = sum % 1000 + i;
    }
    return values[warp];
}

static void test_barriers(void **state)
{
    struct bl_device_kernel kernel = KERNEL(rounds, BL_CPU_BARRIER, 8);
    kernel.code.info.static_shared = 256;
    for (uint32_t threads = 1; threads <= 1024; threads = threads * 3 + 1) {
        uint32_t n = (threads + 31) / 32, *out = bl_calloc(500 * n, 4);
        assert_int_equal(run(&kernel, 500, threads, PARAMS(ADDRESS(out))), BL_OK);
        for (uint32_t i = 0; i < 500 * n; i++)
            assert_int_equal(out[i], rounds_answer(i / n, n, i % n));
        bl_free(out);
    }
    double best = 1e18;
    uint32_t *out = bl_calloc(10000 * 8, 4);
    for (int i = 0; i < 5; i++) {
        uint64_t begun = bl_cpu_now();
        assert_int_equal(run(&kernel, 10000, 256, PARAMS(ADDRESS(out))), BL_OK);
        best = BL_MIN(best, (double)(bl_cpu_now() - begun));
    }
    bl_free(out);
    print_message("    10,000 CTAs of 256 threads, 10 barriers: %.2f ms, %.1f ns a warp and barrier\n", best / 1e6, best / 800000);
}

/* Pairs of warps with a barrier each; producer arrives, consumer waits; warp 0 leaves at once. */
KERNEL_CODE static void named(struct bl_cpu_warp *warp)
{
    uint32_t *shared = (uint32_t *)(void *)warp->shared, *out = POINTER(uint32_t, warp, 0), pair = warp->warpid / 2;
    if (warp->warpid < 2)
        return;
    for (uint32_t i = 0; i < 100; i++) {
        if (warp->warpid % 2) {
            warp->helpers->barrier(warp, UINT32_MAX, 2 * pair, 64);
            out[pair] += shared[pair];
            warp->helpers->barrier_arrive(warp, UINT32_MAX, 2 * pair + 1, 64);
        } else {
            shared[pair] = i;
            warp->helpers->barrier_arrive(warp, UINT32_MAX, 2 * pair, 64);
            warp->helpers->barrier(warp, UINT32_MAX, 2 * pair + 1, 64);
        }
    }
    warp->helpers->barrier(warp, UINT32_MAX, 0, 0); /* those that ended are not awaited */
    warp->helpers->barrier(warp, UINT32_MAX, 15, warp->ntid[0]);
}

static void test_named_barriers(void **state)
{
    struct bl_device_kernel kernel = KERNEL(named, BL_CPU_BARRIER, 8);
    uint32_t out[8] = {0};
    kernel.code.info.static_shared = 64;
    assert_int_equal(run(&kernel, 1, 512, PARAMS(ADDRESS(out))), BL_OK);
    for (int i = 1; i < 8; i++)
        assert_int_equal(out[i], 4950);
}

KERNEL_CODE static void reduce(struct bl_cpu_warp *warp)
{
    uint32_t *bad = POINTER(uint32_t, warp, 0);
    for (uint32_t i = 0; i < 50; i++) {
        uint32_t n = 0, preds = i % 3 ? 0x3 : UINT32_MAX;
        uint32_t popc = warp->helpers->barrier_red(warp, warp->active, i % 16, 0, preds, &n);
        uint32_t wanted = i % 3 ? 2 * (warp->nwarps - 1) + 1 : warp->ntid[0];
        if (n != warp->ntid[0] || popc != wanted)
            __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
    }
}

static void test_reductions(void **state)
{
    struct bl_device_kernel kernel = KERNEL(reduce, BL_CPU_BARRIER, 8);
    uint32_t bad = 0;
    assert_int_equal(run(&kernel, 20, 97, PARAMS(ADDRESS(&bad))), BL_OK);
    assert_int_equal(bad, 0);
}

KERNEL_CODE static void stuck(struct bl_cpu_warp *warp)
{
    if (warp->warpid >= 2)
        warp->helpers->barrier(warp, UINT32_MAX, warp->warpid, 96);
    else
        warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
}

static void test_deadlock(void **state)
{
    struct bl_device_kernel kernel = KERNEL(stuck, BL_CPU_BARRIER, 0);
    struct bl_fault fault;
    expect_fault(&kernel, 10, 128, NULL, BL_FAULT_DEADLOCK, &fault);
    assert_non_null(strstr(fault.message, "barrier 2"));
}

KERNEL_CODE static void bad_after_barrier(struct bl_cpu_warp *warp)
{
    warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
    if (warp->warpid == 3 && warp->ctaid[0] == 7)
        *(volatile int *)(uintptr_t)param(warp, 0) = 0;
    warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
}

static void test_fault_between_barriers(void **state)
{
    struct bl_device_kernel kernel = KERNEL(bad_after_barrier, BL_CPU_BARRIER, 8);
    struct bl_fault fault;
    int good = 1;
    for (int i = 0; i < 3; i++) {
        expect_fault(&kernel, 100, 128, PARAMS(0x3000), BL_FAULT_ILLEGAL_ADDRESS, &fault);
        assert_int_equal(fault.tid[0], 96);
        assert_int_equal(fault.ctaid[0], 7);
        assert_int_equal(run(&kernel, 100, 128, PARAMS(ADDRESS(&good))), BL_OK);
    }
}

/* ---- yielding ------------------------------------------------------------------------------------------------- */

/* Each warp waits for the flag of its neighbour: upwards or downwards over the whole grid. */
KERNEL_CODE static void relay(struct bl_cpu_warp *warp)
{
    _Atomic uint32_t *flags = POINTER(_Atomic uint32_t, warp, 0);
    uint32_t all = warp->nctaid[0] * warp->nwarps, at = warp->ctaid[0] * warp->nwarps + warp->warpid;
    bool upwards = param(warp, 1);
    uint32_t from = upwards ? at - 1 : at + 1;
    if (upwards ? at > 0 : at + 1 < all)
        while (!flags[from])
            warp->helpers->yield(warp, 0);
    flags[at] = 1;
}

static void test_yields(void **state)
{
    struct bl_device_kernel kernel = KERNEL(relay, BL_CPU_YIELDS, 16);
    static const uint32_t shapes[][2] = {{1, 1024}, {100, 32}, {64, 256}, {500, 64}};
    for (size_t s = 0; s < BL_LEN(shapes); s++)
        for (uint64_t upwards = 0; upwards < 2; upwards++) {
            _Atomic uint32_t *flags = bl_calloc(shapes[s][0] * shapes[s][1], 4);
            uint64_t begun = bl_cpu_now();
            assert_int_equal(run(&kernel, shapes[s][0], shapes[s][1], PARAMS(ADDRESS(flags), upwards)), BL_OK);
            print_message("    %u CTAs of %u, each waits for a %s warp: %.2f ms\n", shapes[s][0], shapes[s][1],
                          upwards ? "lower" : "higher", (double)(bl_cpu_now() - begun) / 1e6);
            bl_free((void *)(uintptr_t)flags);
        }
}

/* A grid-wide barrier as cooperative groups make it. */
KERNEL_CODE static void grid_sync(struct bl_cpu_warp *warp)
{
    _Atomic uint32_t *arrived = POINTER(_Atomic uint32_t, warp, 0);
    uint32_t *bad = POINTER(uint32_t, warp, 1);
    for (uint32_t round = 1; round <= 20; round++) {
        warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
        if (!warp->warpid) {
            (*arrived)++;
            while (*arrived < round * warp->nctaid[0])
                warp->helpers->yield(warp, 0);
        }
        warp->helpers->barrier(warp, UINT32_MAX, 0, 0);
        if (*arrived < round * warp->nctaid[0])
            __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
    }
}

static void test_cooperative(void **state)
{
    struct bl_device_kernel kernel = KERNEL(grid_sync, BL_CPU_YIELDS | BL_CPU_BARRIER, 16);
    uint32_t each = 0;
    assert_int_equal(bl_cpu_occupancy(&kernel, 256, 0, &each), BL_OK);
    assert_int_equal(each, 8);
    for (uint32_t grid = 1; grid <= 64; grid *= 4) {
        uint32_t arrived = 0, bad = 0;
        struct bl_launch launch = {.kernel = &kernel,
                                   .grid = {grid, 1, 1},
                                   .block = {256, 1, 1},
                                   .cooperative = true,
                                   .params = PARAMS(ADDRESS(&arrived), ADDRESS(&bad)),
                                   .param_bytes = 16};
        uint64_t begun = bl_cpu_now();
        assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
        print_message("    20 grid syncs of %u CTAs: %.2f ms\n", grid, (double)(bl_cpu_now() - begun) / 1e6);
        assert_int_equal(arrived, 20 * grid);
        assert_int_equal(bad, 0);
    }
}

KERNEL_CODE static void set_by_kernel(struct bl_cpu_warp *warp)
{
    *POINTER(_Atomic uint32_t, warp, 0) = 1;
}

KERNEL_CODE static void wait_for_kernel(struct bl_cpu_warp *warp)
{
    while (!*POINTER(_Atomic uint32_t, warp, 0))
        warp->helpers->yield(warp, 1000);
}

/* A kernel on all threads waits for one of another queue, or for the program. */
static void test_kernels_that_wait_for_each_other(void **state)
{
    struct bl_device_kernel waits = KERNEL(wait_for_kernel, BL_CPU_YIELDS, 8), sets = KERNEL(set_by_kernel, 0, 8);
    struct bl_queue *other;
    _Atomic uint32_t flag = 0;
    assert_int_equal(bl_cpu_queue_create(&device.base, 0, &other), BL_OK);
    assert_int_equal(launch_on(queue, &waits, 300, 64, PARAMS(ADDRESS(&flag))), BL_OK);
    assert_int_equal(launch_on(other, &sets, 1, 1, PARAMS(ADDRESS(&flag))), BL_OK);
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    flag = 0;
    assert_int_equal(launch_on(queue, &waits, 300, 64, PARAMS(ADDRESS(&flag))), BL_OK);
    usleep(20000);
    assert_int_equal(bl_cpu_queue_query(queue), BL_NOT_READY);
    flag = 1;
    assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    bl_cpu_queue_destroy(other);
}

/* ---- memory of threads ------------------------------------------------------------------------------------------- */

/* Fills its local and shared memory to the last byte. */
KERNEL_CODE static void use_memory(struct bl_cpu_warp *warp)
{
    uint32_t *bad = POINTER(uint32_t, warp, 0), wrong = 0, bytes = (uint32_t)param(warp, 1);
    for (uint32_t i = 0; i < BL_WARP; i++)
        memset(warp->local + i * warp->local_stride, (int)(warp->warpid * 32 + i), bytes);
    if (!warp->warpid)
        memset(warp->shared, (int)warp->ctaid[0], warp->shared_size);
    warp->helpers->barrier(warp, warp->active, 0, 0);
    for (uint32_t i = 0; i < BL_WARP; i++)
        for (uint32_t b = 0; b < bytes; b++)
            wrong += warp->local[i * warp->local_stride + b] != (uint8_t)(warp->warpid * 32 + i);
    for (uint64_t b = 0; b < warp->shared_size; b++)
        wrong += warp->shared[b] != (uint8_t)warp->ctaid[0];
    if (wrong || (uintptr_t)warp->shared % 128 || warp->local_stride < bytes)
        __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
}

KERNEL_CODE static void past_shared(struct bl_cpu_warp *warp)
{
    ((volatile uint8_t *)warp->shared)[warp->shared_size] = 1;
}

static void test_memory_of_threads(void **state)
{
    struct bl_device_kernel kernel = KERNEL(use_memory, BL_CPU_BARRIER | BL_CPU_USES_LOCAL, 16), past = KERNEL(past_shared, 0, 0);
    struct bl_fault fault;
    uint32_t bad = 0;
    kernel.max_dynamic_shared = 200 << 10;
    kernel.code.info.static_shared = 1000;
    for (uint32_t bytes = 4; bytes <= 8192; bytes *= 8) {
        kernel.code.info.local_bytes = bytes;
        struct bl_launch launch = {.kernel = &kernel,
                                   .grid = {30, 1, 1},
                                   .block = {100, 1, 1},
                                   .dynamic_shared = bytes * 25,
                                   .params = PARAMS(ADDRESS(&bad), bytes),
                                   .param_bytes = 16};
        assert_int_equal(bl_cpu_launch(queue, &launch, NULL), BL_OK);
        assert_int_equal(bl_cpu_queue_wait(queue), BL_OK);
    }
    assert_int_equal(bad, 0);
    past.code.info.static_shared = 256;
    expect_fault(&past, 1, 32, NULL, BL_FAULT_ILLEGAL_ADDRESS, &fault);
}

/* Blocks of all sizes, written to the last byte, freed by other warps. */
KERNEL_CODE static void use_heap(struct bl_cpu_warp *warp)
{
    uint32_t *bad = POINTER(uint32_t, warp, 0);
    for (uint64_t round = 0; round < 20; round++) {
        uint64_t sizes[BL_WARP], blocks[BL_WARP];
        for (uint32_t i = 0; i < BL_WARP; i++)
            sizes[i] = (warp->ctaid[0] * 977 + round * 131 + i * i * 7) % 6000;
        warp->helpers->malloc(warp, UINT32_MAX, sizes, blocks);
        for (uint32_t i = 0; i < BL_WARP; i++)
            if (blocks[i] && blocks[i] % 16 == 0)
                memset((void *)(uintptr_t)blocks[i], (int)(i + warp->ctaid[0]), sizes[i]);
            else
                __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < BL_WARP; i++)
            for (uint64_t b = 0; blocks[i] && b < sizes[i]; b += 61)
                if (((uint8_t *)(uintptr_t)blocks[i])[b] != (uint8_t)(i + warp->ctaid[0]))
                    __atomic_fetch_add(bad, 1, __ATOMIC_RELAXED);
        warp->helpers->free(warp, UINT32_MAX, blocks);
    }
}

KERNEL_CODE static void fill_heap(struct bl_cpu_warp *warp)
{
    uint64_t *out = POINTER(uint64_t, warp, 0), size = param(warp, 1), block = 0, last = 0;
    while (warp->helpers->malloc(warp, 1, &size, &block), block) {
        *(uint64_t *)(uintptr_t)block = last;
        last = block;
        out[0]++;
    }
    out[1] = last; /* for the next kernel */
}

KERNEL_CODE static void empty_heap(struct bl_cpu_warp *warp)
{
    uint64_t *out = POINTER(uint64_t, warp, 0);
    while (out[1]) {
        uint64_t block = out[1];
        out[1] = *(uint64_t *)(uintptr_t)block;
        warp->helpers->free(warp, 1, &block);
        out[2]++;
    }
    warp->helpers->free(warp, 1, PARAMS(0));
}

KERNEL_CODE static void free_badly(struct bl_cpu_warp *warp)
{
    uint64_t block, size = 100;
    warp->helpers->malloc(warp, 1, &size, &block);
    warp->helpers->free(warp, 1, &block);
    warp->helpers->free(warp, 1, &block);
}

static void test_heap(void **state)
{
    struct bl_device_kernel use = KERNEL(use_heap, 0, 8), fill = KERNEL(fill_heap, 0, 16), drain = KERNEL(empty_heap, 0, 16);
    struct bl_device_kernel twice = KERNEL(free_badly, 0, 0);
    struct bl_fault fault;
    uint32_t bad = 0;
    assert_int_equal(run(&use, 200, 32, PARAMS(ADDRESS(&bad))), BL_OK);
    assert_int_equal(bad, 0);
    for (uint64_t size = 8; size <= 4 << 20; size *= 8) {
        uint64_t out[3] = {0};
        assert_int_equal(run(&fill, 1, 1, PARAMS(ADDRESS(out), size)), BL_OK);
        assert_int_equal(run(&drain, 1, 1, PARAMS(ADDRESS(out), size)), BL_OK);
        assert_int_equal(out[0], (8 << 20) / BL_MAX(size, 16u));
        assert_int_equal(out[2], out[0]);
    }
    assert_int_equal(bl_cpu_set_limit(&device.base, BL_LIMIT_HEAP, 1 << 20), BL_INVALID);
    expect_fault(&twice, 1, 1, NULL, BL_FAULT_ILLEGAL_ADDRESS, &fault);
    assert_int_equal(bl_cpu_set_limit(&device.base, BL_LIMIT_HEAP, 8 << 20), BL_OK);
    assert_int_equal(bl_cpu_get_limit(&device.base, BL_LIMIT_HEAP), 8 << 20);
}

/* ---- printf -------------------------------------------------------------------------------------------------------- */

KERNEL_CODE static void print(struct bl_cpu_warp *warp)
{
    uint64_t formats[BL_WARP], args[BL_WARP];
    uint32_t results[BL_WARP], *out = POINTER(uint32_t, warp, 2);
    for (uint32_t i = 0; i < BL_WARP; i++) {
        formats[i] = param(warp, 0);
        args[i] = param(warp, 1);
    }
    warp->helpers->vprintf(warp, warp->active, formats, args, results);
    *out = results[0];
}

KERNEL_CODE static void fail_assert(struct bl_cpu_warp *warp)
{
    uint64_t texts[3][BL_WARP];
    uint32_t lines[BL_WARP];
    for (uint32_t i = 0; i < BL_WARP; i++) {
        texts[0][i] = ADDRESS("i < n");
        texts[1][i] = ADDRESS("kernel.cu");
        texts[2][i] = param(warp, 0);
        lines[i] = 12;
    }
    warp->helpers->assertfail(warp, 6, texts[0], texts[1], lines, texts[2]);
}

/* What the function writes to a stream's descriptor. */
static char *captured(int fd, FILE *stream, void (*function)(void *), void *data)
{
    static char text[4 << 20];
    char name[] = "/tmp/test_cpu_run.XXXXXX";
    int file = mkstemp(name), saved = dup(fd);
    unlink(name);
    fflush(stream);
    dup2(file, fd);
    function(data);
    fflush(stream);
    dup2(saved, fd);
    close(saved);
    ssize_t size = pread(file, text, sizeof(text) - 1, 0);
    text[BL_MAX(size, 0)] = 0;
    close(file);
    return text;
}

struct print_call {
    const char *format;
    const void *args;
    uint32_t grid, threads, result;
    enum bl_status status;
};

static void call_print(void *data)
{
    struct print_call *call = data;
    struct bl_device_kernel kernel = KERNEL(print, 0, 24);
    call->status =
        run(&kernel, call->grid, call->threads, PARAMS(ADDRESS(call->format), ADDRESS(call->args), ADDRESS(&call->result)));
}

static void check_print(const char *wanted, int count, const char *format, const void *args)
{
    struct print_call call = {.format = format, .args = args, .grid = 1, .threads = 1};
    assert_string_equal(captured(1, stdout, call_print, &call), wanted);
    assert_int_equal(call.status, BL_OK);
    assert_int_equal((int)call.result, count);
}

static void test_printf(void **state)
{
    struct {
        int32_t i, j;
        double d, e;
        uint64_t text;
        int32_t width, k;
        int64_t l;
        uint64_t pointer;
    } args = {-42, 255, 3.14159265, -1e300, ADDRESS("words"), -7, 65, -1234567890123, 0xabcd};
    char wanted[400];
    check_print("none 100%\n", 0, "none 100%%\n", NULL);
    snprintf(wanted, sizeof(wanted), "%+5d|%#x|%8.3f|%g|%10.3s|%*c|%lld|%p", args.i, (unsigned)args.j, args.d, args.e, "words",
             args.width, args.k, (long long)args.l, (void *)(uintptr_t)args.pointer);
    check_print(wanted, 9, "%+5d|%#x|%8.3f|%g|%10.3s|%*c|%lld|%p", &args);
    snprintf(wanted, sizeof(wanted), "%i|%-6o|%a|%E|%-9s|%.*d|%lX|%zu", args.i, (unsigned)args.j, args.d, args.e, "words",
             args.width, args.k, (unsigned long)args.l, (size_t)args.pointer);
    check_print(wanted, 9, "%i|%-6o|%a|%E|%-9s|%.*d|%lX|%zu", &args);
    snprintf(wanted, sizeof(wanted), "%hd %hhu % 08.2F", (short)args.i, (unsigned char)args.j, args.d);
    check_print(wanted, 3, "%hd %hhu % 08.2F", &args);
    check_print("(null)|%y|%", 1, "%s|%y|%", ((uint64_t[]){0}));
    check_print("[]", 1, "[%n]", ((uint64_t[]){5}));
    check_print("", -1, NULL, NULL);
}

static void test_printf_of_many(void **state)
{
    struct print_call call = {.format = "%d-%s\n", .grid = 1000, .threads = 100};
    struct {
        int32_t i;
        uint64_t text;
    } args = {7, ADDRESS("a text")};
    call.args = &args;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(bl_cpu_set_limit(&device.base, BL_LIMIT_PRINTF, i ? 3 : 1 << 20), BL_OK);
        const char *text = captured(1, stdout, call_print, &call);
        assert_int_equal(strlen(text), 100000 * strlen("7-a text\n"));
        for (const char *at = text; *at; at += 9)
            assert_memory_equal(at, "7-a text\n", 9);
    }
    assert_int_equal(bl_cpu_set_limit(&device.base, BL_LIMIT_PRINTF, 1 << 20), BL_OK);
}

static void test_hostile_printf(void **state)
{
    const struct print_call bad[] = {{.format = "%s", .args = (uint64_t[]){0x123}},
                                     {.format = "%d", .args = NULL},
                                     {.format = (const char *)0x77},
                                     {.format = "%f", .args = (void *)0xdeaddeaddead0000}};
    for (size_t i = 0; i < BL_LEN(bad); i++) {
        struct print_call call = bad[i];
        struct bl_fault fault;
        call.grid = call.threads = 1;
        call_print(&call);
        assert_int_equal(call.status, BL_FAULT);
        assert_true(bl_cpu_fault(&device.base, &fault));
        print_message("    %s\n", fault.message);
        bl_cpu_reset(&device.base);
    }
    static const char *const odd[] = {"%99999999999999d", "%.99999999999f", "%*.*s", "%-+ #0-+ #0lllllhhhhd", "%l", "%", "%5"};
    for (size_t i = 0; i < BL_LEN(odd); i++) {
        uint64_t args[4] = {0x7fffffff80000000, 0, 0, 0};
        struct print_call call = {.format = odd[i], .args = args, .grid = 1, .threads = 1};
        captured(1, stdout, call_print, &call);
        assert_int_equal(call.status, BL_OK);
    }
}

static void call_assert(void *data)
{
    struct print_call *call = data;
    struct bl_device_kernel kernel = KERNEL(fail_assert, 0, 8);
    call->status = run(&kernel, 1, 40, PARAMS(ADDRESS(call->format)));
}

static void test_assert(void **state)
{
    struct print_call call = {.format = "f(int)"};
    struct bl_fault fault;
    const char *text = captured(2, stderr, call_assert, &call);
    assert_non_null(strstr(text, "kernel.cu:12: f(int): block: [0,0,0], thread: [1,0,0] Assertion `i < n` failed.\n"
                                 "kernel.cu:12: f(int): block: [0,0,0], thread: [2,0,0] Assertion `i < n` failed.\n"));
    assert_int_equal(call.status, BL_FAULT);
    assert_true(bl_cpu_fault(&device.base, &fault));
    assert_int_equal(fault.kind, BL_FAULT_ASSERT);
    bl_cpu_reset(&device.base);
}

/* ---- large frames ---------------------------------------------------------------------------------------------------- */

enum { LARGE_FRAME = 1 << 20 };

/* Fills a large frame, lets the other warps do the same, and looks whether it is as it was. */
KERNEL_CODE static void large_frame(struct bl_cpu_warp *warp)
{
    volatile uint32_t frame[LARGE_FRAME / 4];
    for (uint32_t i = LARGE_FRAME / 4; i-- > 0;) /* from above, as generated code does */
        frame[i] = i * 7 + warp->warpid + warp->ctaid[0];
    warp->helpers->barrier(warp, UINT32_MAX, 0, warp->nwarps > 1 ? 0 : BL_WARP);
    for (uint32_t i = 0; i < LARGE_FRAME / 4; i += 61)
        if (frame[i] != i * 7 + warp->warpid + warp->ctaid[0])
            return;
    __atomic_fetch_add(POINTER(uint32_t, warp, 0), 1, __ATOMIC_RELAXED);
}

static void test_large_frames(void **state)
{
    static const uint32_t flags[] = {0, BL_CPU_BARRIER, BL_CPU_BARRIER | BL_CPU_RECURSION, BL_CPU_RECURSION};
    for (size_t i = 0; i < BL_LEN(flags); i++) {
        struct bl_device_kernel large = KERNEL(large_frame, flags[i], 8), small = KERNEL(add_one, flags[i], 8);
        uint32_t threads = flags[i] & BL_CPU_BARRIER ? 128 : 32, right = 0;
        uint64_t count = 0;
        assert_int_equal(run(&small, 10, threads, PARAMS(ADDRESS(&count))), BL_OK);
        large.code.info.machine_stack = LARGE_FRAME + 4096;
        assert_int_equal(run(&large, 10, threads, PARAMS(ADDRESS(&right))), BL_OK);
        assert_int_equal(right, 10 * threads / BL_WARP);
        assert_int_equal(run(&small, 10, threads, PARAMS(ADDRESS(&count))), BL_OK);
        assert_int_equal(count, 20 * threads / BL_WARP);
    }
}

/* ---- the float unit's modes ------------------------------------------------------------------------------------------ */

KERNEL_CODE static void subnormals(struct bl_cpu_warp *warp)
{
    volatile float tiny = 1e-38f, third = 1.0f;
    tiny *= 0.01f;
    third /= 3;
    if (tiny == 0 || third != 0x1.555556p-2f)
        __atomic_fetch_add(POINTER(uint32_t, warp, 0), 1, __ATOMIC_RELAXED);
}

/* A program may flush subnormals and round down in its threads; kernels don't see it, and the program finds it as it was. */
static void test_float_modes(void **state)
{
    uint32_t bad = 0;
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr(), mode = 0x9fc0 | 0x2000;
    __builtin_ia32_ldmxcsr(mode);
#else
    uint64_t before, mode = 3 << 22 | 1 << 24;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
#endif
    for (uint32_t flags = 0; flags <= BL_CPU_BARRIER; flags++) {
        struct bl_device_kernel kernel = KERNEL(subnormals, flags, 8);
        assert_int_equal(run(&kernel, 100, 64, PARAMS(ADDRESS(&bad))), BL_OK);
    }
#if defined(__x86_64__)
    assert_int_equal(__builtin_ia32_stmxcsr() & ~0x3fu, mode & ~0x3fu);
    __builtin_ia32_ldmxcsr(before);
#else
    uint64_t after;
    __asm__ volatile("mrs %0, fpcr" : "=r"(after));
    assert_int_equal(after, mode);
    __asm__ volatile("msr fpcr, %0" ::"r"(before));
#endif
    assert_int_equal(bad, 0);
}

/* ---- clocks, memory that runs out -------------------------------------------------------------------------------- */

KERNEL_CODE static void read_clocks(struct bl_cpu_warp *warp)
{
    uint64_t *out = POINTER(uint64_t, warp, 0);
    out[0] = warp->helpers->clock(warp);
    out[1] = warp->helpers->globaltimer(warp);
    usleep(1000);
    out[2] = warp->helpers->clock(warp);
    out[3] = warp->helpers->globaltimer(warp);
}

static void test_clocks(void **state)
{
    struct bl_device_kernel kernel = KERNEL(read_clocks, 0, 8);
    uint64_t out[4] = {0};
    assert_int_equal(run(&kernel, 1, 1, PARAMS(ADDRESS(out))), BL_OK);
    assert_true(out[2] - out[0] >= 1000000 && out[3] - out[1] >= 1000000); /* at 1 GHz */
    assert_true(out[1] / 1000000000 >= (uint64_t)time(NULL) - 5 && out[1] / 1000000000 <= (uint64_t)time(NULL));
}

/* Each of the first allocations and mappings of a fresh device fails in its turn. */
static void test_memory_runs_out(void **state)
{
    struct bl_cpu_runner *kept = device.runner;
    static const char *const kinds[] = {"alloc", "mmap", "spawn"};
    struct bl_device_kernel kernel = KERNEL(rounds, BL_CPU_BARRIER, 8);
    static uint32_t out[400];
    kernel.code.info.static_shared = 256;
    kernel.code.info.local_bytes = 8;
    for (size_t k = 0; k < BL_LEN(kinds); k++)
        for (uint64_t nth = 1; nth < 24; nth++) {
            struct bl_queue *own = NULL;
            enum bl_status status;
            bl_fault_inject(kinds[k], nth);
            status = bl_cpu_runner_create(&device, NULL);
            if (status == BL_OK)
                status = bl_cpu_queue_create(&device.base, 0, &own);
            if (status == BL_OK)
                status = launch_on(own, &kernel, 50, 256, PARAMS(ADDRESS(out)));
            if (status == BL_OK)
                status = bl_cpu_queue_wait(own);
            assert_true(status == BL_OK || status == BL_NO_MEMORY || status == BL_FAULT);
            bl_fault_inject(kinds[k], 0);
            if (own)
                bl_cpu_queue_destroy(own);
            if (device.runner != kept)
                bl_cpu_runner_destroy(&device);
            device.runner = kept;
            assert_int_equal(kernel.held, 0);
        }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return run_and_end(argv[1]);
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
        cmocka_unit_test(test_fences_across_devices),
        cmocka_unit_test(test_slow_host_calls),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_host_calls_that_wait),
        cmocka_unit_test(test_many_host_threads),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_boxes),
        cmocka_unit_test(test_fills),
        cmocka_unit_test(test_illegal_address),
        cmocka_unit_test(test_faults_told_by_code),
        cmocka_unit_test(test_signals_of_all_kinds),
        cmocka_unit_test(test_bad_copies),
        cmocka_unit_test(test_fault_drops_the_rest),
        cmocka_unit_test(test_fault_stops_endless_kernels),
        cmocka_unit_test(test_fault_stops_what_just_begins),
        cmocka_unit_test(test_fault_stops_calls),
        cmocka_unit_test(test_storm_of_faults),
        cmocka_unit_test(test_reset_stops_endless_kernels),
        cmocka_unit_test(test_handlers_of_the_program),
        cmocka_unit_test(test_child_of_fork),
        cmocka_unit_test(test_ends_while_running),
        cmocka_unit_test(test_barriers),
        cmocka_unit_test(test_named_barriers),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_fault_between_barriers),
        cmocka_unit_test(test_yields),
        cmocka_unit_test(test_cooperative),
        cmocka_unit_test(test_kernels_that_wait_for_each_other),
        cmocka_unit_test(test_memory_of_threads),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_printf),
        cmocka_unit_test(test_printf_of_many),
        cmocka_unit_test(test_hostile_printf),
        cmocka_unit_test(test_assert),
        cmocka_unit_test(test_large_frames),
        cmocka_unit_test(test_float_modes),
        cmocka_unit_test(test_clocks),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
