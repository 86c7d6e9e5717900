/* The threads of the CPU device and what puts them to sleep and wakes them.
 *
 * Waking a thread costs more than a small kernel, and whoever launches a small kernel mostly waits for it at once and then
 * runs it himself. So small work wakes nobody: one idle worker, the watcher, looks round every 200 us while there is
 * traffic, and takes what nobody took.
 */
#include "target/cpu/run.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    WATCH_NS = 200000,
    VALUE_NS = 20000,     /* the same, while a queue waits for a value */
    WATCH_ROUNDS = 50,    /* without any work, then the watcher sleeps too */
    IDLE_SPIN_NS = 10000, /* before a worker sleeps */
    OVERDUE_NS = 5000000, /* a queue that waited so long gets a thread over the limit: those that run may wait for it */
    MAX_WORKERS = 1024,
};

bool bl_cpu_forked;

/* ---- time, futexes --------------------------------------------------------------------------------- */

uint64_t bl_cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void bl_cpu_nap(uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    nanosleep(&time, NULL);
}

void bl_cpu_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
    struct timespec time = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, ns ? &time : NULL, NULL, 0);
}

void bl_cpu_futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

void bl_cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

void bl_cpu_unlock(struct bl_cpu_runner *runner)
{
    uint32_t ring = runner->ring;
    runner->ring = 0;
    pthread_mutex_unlock(&runner->lock);
    if (ring)
        bl_cpu_futex_wake(&runner->bell, (int)ring);
}

/* ---- workers ---------------------------------------------------------------------------------------- */

/* A queue that this worker may join. */
static struct bl_queue *find_work(struct bl_cpu_runner *runner)
{
    struct bl_queue *queue = TAILQ_FIRST(&runner->ready);
    if (!queue || runner->running < runner->workers)
        return queue;
    uint64_t now = bl_cpu_now();
    for (; queue; queue = TAILQ_NEXT(queue, ready))
        if (!queue->first->users && now - queue->ready_since > OVERDUE_NS)
            return queue;
    return NULL;
}

static void spin_for_bell(struct bl_cpu_runner *runner, uint32_t seen)
{
    uint64_t end = bl_cpu_now() + IDLE_SPIN_NS;
    while (runner->workers > 1 && atomic_load_explicit(&runner->bell, memory_order_relaxed) == seen && bl_cpu_now() < end)
        for (int i = 0; i < 16; i++)
            bl_cpu_pause();
}

/* Lock held before and after. */
static void idle(struct bl_cpu_runner *runner, uint32_t *rounds, uint64_t *serial)
{
    bool watcher = false;
    uint32_t seen = atomic_load_explicit(&runner->bell, memory_order_relaxed);

    if (*serial != runner->serial || !TAILQ_EMPTY(&runner->ready) || runner->value_waits)
        *rounds = 0;
    uint64_t pause = runner->value_waits ? VALUE_NS : WATCH_NS;
    *serial = runner->serial;
    if (!runner->watching && (*rounds)++ < WATCH_ROUNDS)
        runner->watching = watcher = true;
    runner->idle++;
    bl_cpu_unlock(runner);
    if (!watcher)
        spin_for_bell(runner, seen);
    bl_cpu_futex_wait(&runner->bell, seen, watcher ? pause : 0);
    bl_cpu_lock(runner);
    runner->idle--;
    if (watcher)
        runner->watching = false;
}

static void *worker(void *data)
{
    struct bl_cpu_runner *runner = data;
    uint32_t rounds = 0;
    uint64_t serial = 0;

    bl_cpu_lock(runner);
    runner->starting--;
    while (!runner->quit) {
        bl_cpu_values_poll(runner);
        struct bl_queue *queue = find_work(runner);
        if (!queue) {
            idle(runner, &rounds, &serial);
            continue;
        }
        rounds = 0;
        bl_cpu_run_some(runner, queue);
    }
    bl_cpu_unlock(runner);
    return NULL;
}

static bool spawn(struct bl_cpu_runner *runner)
{
    sigset_t blocked, old;
    char name[16];

    if (runner->threads == runner->workers + BL_CPU_EXTRA_THREADS || runner->quit || bl_fault_due("spawn"))
        return false;
    bl_cpu_worker_signals(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    bool done = pthread_create(&runner->handles[runner->threads], NULL, worker, runner) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!done)
        return false;
    snprintf(name, sizeof(name), "bailey-cpu-%u", runner->threads % 1000);
    pthread_setname_np(runner->handles[runner->threads], name);
    runner->threads++;
    runner->starting++;
    return true;
}

void bl_cpu_call_workers(struct bl_cpu_runner *runner, uint32_t count)
{
    uint32_t places = runner->workers - BL_MIN(runner->running, runner->workers);
    count = BL_MIN(count, places);
    if (!count && (runner->watching || runner->starting))
        return;
    count = BL_MAX(count, 1u);
    while (count > runner->idle + runner->starting && spawn(runner)) {
    }
    if (count <= runner->starting || !runner->idle)
        return;
    atomic_fetch_add_explicit(&runner->bell, 1, memory_order_relaxed);
    runner->ring = BL_MAX(runner->ring, BL_MIN(count - runner->starting, runner->idle));
}

/* ---- cores -------------------------------------------------------------------------------------------- */

struct bl_cpu_core *bl_cpu_core_take(struct bl_cpu_runner *runner)
{
    struct bl_cpu_core *core = runner->spare_cores;
    if (core) {
        runner->spare_cores = core->next;
    } else {
        core = bl_calloc(1, sizeof(*core));
        if (!core)
            return NULL;
        core->runner = runner;
        core->index = runner->core_count++;
        core->all = runner->cores;
        runner->cores = core;
        bl_cpu_core_known(core);
    }
    core->taken = true;
    core->thread = pthread_self();
    return core;
}

void bl_cpu_core_give(struct bl_cpu_core *core)
{
    core->taken = false;
    core->next = core->runner->spare_cores;
    core->runner->spare_cores = core;
}

static void core_free(struct bl_cpu_core *core)
{
    bl_cpu_core_forget(core);
    while (core->spare) {
        struct bl_cpu_cta *cta = core->spare;
        core->spare = cta->next;
        bl_cpu_cta_free(cta);
    }
    while (core->spare_clusters) {
        struct bl_cpu_cluster *cluster = core->spare_clusters;
        core->spare_clusters = cluster->next;
        bl_cpu_cluster_free(cluster);
    }
    bl_cpu_stack_unmap(&core->plain.stack);
    bl_cpu_stack_unmap(&core->deep.stack);
    bl_buffer_cleanup(&core->text);
    bl_free(core);
}

/* ---- the runner ----------------------------------------------------------------------------------------- */

/* Processors' worth of time that a control group allows (cgroup v2, cpu.max: "quota period" or "max period"); 0: no limit. */
static long quota_of(const char *group)
{
    char path[512], text[64];
    long quota, period = 0;
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    bool limited = fgets(text, sizeof(text), file) && sscanf(text, "%ld %ld", &quota, &period) == 2;
    fclose(file);
    return limited && period > 0 ? (quota + period - 1) / period : 0;
}

static long cgroup_quota(void)
{
    char line[400], *end;
    long own = 0, outer = quota_of("");
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file && fgets(line, sizeof(line), file))
        if (!strncmp(line, "0::", 3) && (end = strchr(line, '\n'))) {
            *end = 0;
            own = quota_of(line + 3);
        }
    if (file)
        fclose(file);
    return own && outer ? BL_MIN(own, outer) : own + outer;
}

static uint32_t count_workers(void)
{
    const char *wanted = getenv("BAILEY_THREADS");
    char *end = NULL;
    long count = wanted ? strtol(wanted, &end, 10) : 0;
    cpu_set_t *set;
    size_t size = CPU_ALLOC_SIZE(8192);

    if (count >= 1 && !*end)
        return (uint32_t)BL_MIN(count, (long)MAX_WORKERS);
    if (wanted && *wanted)
        bl_error_log("BAILEY_THREADS=%s: expected 1 to %d; all processors are used", wanted, MAX_WORKERS);
    set = CPU_ALLOC(8192);
    if (set && sched_getaffinity(0, size, set) == 0)
        count = CPU_COUNT_S(size, set);
    else
        count = sysconf(_SC_NPROCESSORS_ONLN);
    CPU_FREE(set);
    long quota = cgroup_quota();
    if (quota)
        count = BL_MIN(count, quota);
    return (uint32_t)BL_MAX(1l, BL_MIN(count, (long)MAX_WORKERS));
}

uint32_t bl_cpu_worker_count(void)
{
    static _Atomic uint32_t known;
    uint32_t count = atomic_load(&known);
    if (!count)
        atomic_store(&known, count = count_workers());
    return count;
}

static void forked(void)
{
    bl_cpu_forked = true;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

enum bl_status bl_cpu_runner_create(struct bl_cpu_device *device, struct bl_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct bl_cpu_runner *runner = bl_calloc(1, sizeof(*runner));
    pthread_mutexattr_t attr;

    if (runner)
        runner->handles = bl_calloc(bl_cpu_worker_count() + BL_CPU_EXTRA_THREADS, sizeof(pthread_t));
    if (!runner || !runner->handles) {
        bl_free(runner);
        return bl_fail(error, BL_NO_MEMORY, "no memory for the CPU device's queues");
    }
    pthread_once(&once, watch_forks);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&runner->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_mutex_init(&runner->print_lock, NULL);
    TAILQ_INIT(&runner->queues);
    TAILQ_INIT(&runner->ready);
    TAILQ_INIT(&runner->dead);
    runner->device = device;
    runner->workers = bl_cpu_worker_count();
    runner->stack_limit = 1024;
    runner->printf_limit = 1 << 20;
    runner->heap_limit = 8 << 20;
    device->runner = runner;
    return BL_OK;
}

static void runner_free(struct bl_cpu_runner *runner)
{
    struct bl_queue *queue;
    while (runner->cores) {
        struct bl_cpu_core *core = runner->cores;
        runner->cores = core->all;
        core_free(core);
    }
    while (runner->spare_commands) {
        struct bl_cpu_command *command = runner->spare_commands;
        runner->spare_commands = command->next;
        bl_free(command);
    }
    while ((queue = TAILQ_FIRST(&runner->queues))) {
        TAILQ_REMOVE(&runner->queues, queue, all);
        bl_free(queue);
    }
    bl_cpu_heap_free_all(runner);
    pthread_mutex_destroy(&runner->lock);
    pthread_mutex_destroy(&runner->print_lock);
    bl_free(runner->print_text);
    bl_free(runner->handles);
    bl_free(runner);
}

/* Drops work not begun, stops what runs. The program has let go of all queues and fences. */
void bl_cpu_runner_destroy(struct bl_cpu_device *device)
{
    struct bl_cpu_runner *runner = device->runner;
    if (!runner || bl_cpu_forked)
        return;
    bl_cpu_reset(&device->base);
    bl_cpu_lock(runner);
    runner->quit = true;
    atomic_fetch_add(&runner->bell, 1);
    runner->ring = INT32_MAX;
    uint32_t threads = runner->threads;
    bl_cpu_unlock(runner);
    for (uint32_t i = 0; i < threads; i++)
        pthread_join(runner->handles[i], NULL);
    runner_free(runner);
    device->runner = NULL;
}

/* ---- limits ------------------------------------------------------------------------------------------- */

enum bl_status bl_cpu_set_limit(struct bl_device *device, enum bl_device_limit limit, uint64_t bytes)
{
    static const uint64_t largest[] = {[BL_LIMIT_STACK] = 512 << 10, [BL_LIMIT_PRINTF] = 1ull << 30, [BL_LIMIT_HEAP] = 1ull << 40};
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    enum bl_status status = BL_OK;

    if ((unsigned)limit >= BL_LEN(largest) || bytes > largest[limit])
        return BL_INVALID;
    if (bl_cpu_forked)
        return BL_IO;
    bl_cpu_lock(runner);
    if (limit == BL_LIMIT_STACK)
        runner->stack_limit = bytes;
    else if (limit == BL_LIMIT_PRINTF)
        runner->printf_limit = bytes;
    else if (runner->heap && bytes != runner->heap_limit)
        status = BL_INVALID; /* as CUDA: not once a kernel has used the heap */
    else
        runner->heap_limit = bytes;
    bl_cpu_unlock(runner);
    return status;
}

uint64_t bl_cpu_get_limit(struct bl_device *device, enum bl_device_limit limit)
{
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    switch (limit) {
    case BL_LIMIT_STACK:
        return runner->stack_limit;
    case BL_LIMIT_PRINTF:
        return runner->printf_limit;
    case BL_LIMIT_HEAP:
        return runner->heap_limit;
    }
    return 0;
}
