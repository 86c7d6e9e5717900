/* Queues, their commands, fences and waiting. A command at the head of its queue is either done at once (records, waits that
 * are fulfilled) or makes its queue ready: then any thread may join it. See run.h.
 */
#include "target/cpu/run.h"

#include <sched.h>

enum { SPIN_NS = 20000, WAIT_CHAIN = 64 };
static const uint64_t quiet_ns = 10000000000;

/* ---- lists ------------------------------------------------------------------------------------- */

static void queue_unref(struct bl_queue *queue)
{
    if (--queue->refs)
        return;
    TAILQ_REMOVE(&queue->runner->queues, queue, all);
    TAILQ_INSERT_TAIL(&queue->runner->dead, queue, all);
}

static void fence_unref(struct bl_fence *fence)
{
    if (--fence->refs)
        return;
    if (fence->queue)
        queue_unref(fence->queue);
    bl_free(fence);
}

static void make_unready(struct bl_queue *queue)
{
    if (!queue->is_ready)
        return;
    TAILQ_REMOVE(&queue->runner->ready, queue, ready);
    queue->is_ready = false;
    atomic_fetch_sub_explicit(&queue->runner->ready_count, 1, memory_order_relaxed);
}

/* Behind all queues of its priority. */
static void make_ready(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    struct bl_queue *other;
    if (queue->is_ready)
        return;
    TAILQ_FOREACH(other, &runner->ready, ready)
    {
        if (other->priority > queue->priority)
            break;
    }
    if (other)
        TAILQ_INSERT_BEFORE(other, queue, ready);
    else
        TAILQ_INSERT_TAIL(&runner->ready, queue, ready);
    queue->is_ready = true;
    queue->ready_since = bl_cpu_now();
    atomic_fetch_add_explicit(&runner->ready_count, 1, memory_order_relaxed);
    bl_cpu_call_workers(runner, queue->first->worth);
}

/* ---- the end of a command ------------------------------------------------------------------------ */

static void note_cost(struct bl_cpu_runner *runner, const struct bl_cpu_command *command)
{
    const struct bl_cpu_code *code = command->launch.code;
    uint64_t ns = command->busy / command->total;
    struct bl_cpu_cost *cost = &runner->costs[((uintptr_t)code >> 4) % BL_CPU_COSTS];
    cost->code = code;
    cost->ns = (uint32_t)BL_MIN(ns, (uint64_t)UINT32_MAX);
}

/* Lets go of what a command holds; it becomes BL_CPU_NOTHING. */
static void command_release(struct bl_cpu_runner *runner, struct bl_cpu_command *command)
{
    switch (command->kind) {
    case BL_CPU_LAUNCH:
        if (command->launch.params != command->params)
            bl_free((void *)(uintptr_t)command->launch.params);
        bl_cpu_kernel_drop(command->launch.kernel);
        break;
    case BL_CPU_RECORD:
        fence_unref(command->record);
        break;
    case BL_CPU_WAIT:
        command->wait.queue->watched--;
        queue_unref(command->wait.queue);
        break;
    case BL_CPU_VALUE:
        runner->value_waits -= command->value.counted;
        break;
    case BL_CPU_NOTHING:
    case BL_CPU_TRANSFER:
    case BL_CPU_HOST_CALL:
        break;
    }
    command->kind = BL_CPU_NOTHING;
}

static void wake_sleepers(struct bl_queue *queue)
{
    if (!queue->sleepers || atomic_load_explicit(&queue->completed, memory_order_relaxed) < queue->wake_at)
        return;
    queue->wake_at = UINT64_MAX;
    atomic_fetch_add(&queue->passed, 1);
    bl_cpu_futex_wake(&queue->passed, INT32_MAX);
}

static void pop(struct bl_queue *queue)
{
    struct bl_cpu_command *command = queue->first;
    command_release(queue->runner, command);
    queue->first = command->next;
    if (!queue->first)
        queue->last = &queue->first;
    command->next = queue->runner->spare_commands;
    queue->runner->spare_commands = command;
    queue->count--;
    atomic_fetch_add_explicit(&queue->completed, 1, memory_order_release);
    wake_sleepers(queue);
    if (queue->watched)
        queue->runner->recheck = true;
    if (!queue->first)
        queue_unref(queue);
}

static bool reached(const struct bl_queue *queue, uint64_t sequence)
{
    return atomic_load_explicit(&queue->completed, memory_order_acquire) >= sequence;
}

static void record_passed(struct bl_queue *queue, struct bl_fence *fence)
{
    uint64_t sequence = atomic_load_explicit(&queue->completed, memory_order_relaxed) + 1;
    if (fence->queue == queue && fence->sequence == sequence)
        fence->time = bl_cpu_now();
}

/* From now on somebody looks at the word. */
static void value_wait(struct bl_cpu_runner *runner, struct bl_cpu_command *command)
{
    if (command->value.counted)
        return;
    command->value.counted = true;
    runner->value_waits++;
    bl_cpu_call_workers(runner, 0);
}

/* Does what needs no thread at the head of a queue; then the queue is empty, blocked or ready. */
static void advance(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    while (queue->first) {
        struct bl_cpu_command *command = queue->first;
        if (command->users)
            return;
        switch (command->kind) {
        case BL_CPU_WAIT:
            if (!reached(command->wait.queue, command->wait.sequence))
                return;
            break;
        case BL_CPU_RECORD:
            record_passed(queue, command->record);
            break;
        case BL_CPU_VALUE:
            if (!bl_cpu_value_done(runner, command)) {
                value_wait(runner, command);
                return;
            }
            break;
        case BL_CPU_NOTHING:
            break;
        case BL_CPU_LAUNCH:
        case BL_CPU_TRANSFER:
            if (atomic_load_explicit(&runner->faulted, memory_order_relaxed))
                break;
            make_ready(queue);
            return;
        case BL_CPU_HOST_CALL: /* also after a fault: it may free what the program lent */
            make_ready(queue);
            return;
        }
        make_unready(queue);
        pop(queue);
    }
}

/* Whether a command that waited need not any more. */
static bool goes_on(struct bl_cpu_runner *runner, struct bl_cpu_command *command)
{
    if (command->kind == BL_CPU_VALUE)
        return bl_cpu_value_done(runner, command);
    return command->kind == BL_CPU_WAIT && reached(command->wait.queue, command->wait.sequence);
}

/* Goes on with queues that waited for one that went on; frees dead queues. */
static void settle(struct bl_cpu_runner *runner)
{
    struct bl_queue *queue;
    while (runner->recheck) {
        runner->recheck = false;
        TAILQ_FOREACH(queue, &runner->queues, all)
        {
            struct bl_cpu_command *command = queue->first;
            if (command && goes_on(runner, command)) {
                advance(queue);
                runner->recheck = true;
                break; /* the list may be another now */
            }
        }
    }
    while ((queue = TAILQ_FIRST(&runner->dead))) {
        TAILQ_REMOVE(&runner->dead, queue, all);
        bl_free(queue);
    }
}

void bl_cpu_values_poll(struct bl_cpu_runner *runner)
{
    if (!runner->value_waits)
        return;
    runner->recheck = true;
    settle(runner);
}

/* ---- running ------------------------------------------------------------------------------------ */

/* Without the lock. False: it stopped for others' sake, and there is more to do. */
static bool execute(struct bl_cpu_command *command, struct bl_cpu_core *core)
{
    bool finished;
    if (command->kind == BL_CPU_HOST_CALL) {
        command->host.function(command->host.data);
        return true;
    }
    core->command = command;
    bl_cpu_thread_ready();
    finished = command->kind == BL_CPU_LAUNCH ? bl_cpu_run_grid(core) : bl_cpu_run_transfer(core);
    core->command = NULL;
    return finished;
}

static void out_of_cores(struct bl_cpu_runner *runner)
{
    if (atomic_exchange(&runner->faulted, true))
        return;
    runner->fault = (struct bl_fault){.kind = BL_FAULT_UNSUPPORTED};
    strcpy(runner->fault.message, "no host memory for a thread that runs kernels");
}

void bl_cpu_run_some(struct bl_cpu_runner *runner, struct bl_queue *queue)
{
    struct bl_cpu_command *command = queue->first;
    struct bl_cpu_core *core = NULL;
    bool finished = true;

    command->users++;
    runner->running++;
    if (command->users >= command->total - BL_MIN(command->total, atomic_load(&command->next_piece)))
        make_unready(queue);
    if (runner->value_waits || (runner->running >= runner->workers && !TAILQ_EMPTY(&runner->ready)))
        bl_cpu_call_workers(runner, 0); /* somebody has to see what gets overdue, and values that come */
    if (command->kind != BL_CPU_HOST_CALL && !(core = bl_cpu_core_take(runner)))
        out_of_cores(runner);
    if (core || command->kind == BL_CPU_HOST_CALL) {
        bl_cpu_unlock(runner);
        uint64_t begun = bl_cpu_now();
        if (core)
            core->begun = begun;
        finished = execute(command, core);
        uint64_t spent = bl_cpu_now() - begun;
        bl_cpu_lock(runner);
        command->busy += spent;
        if (core)
            bl_cpu_core_give(core);
    }
    runner->running--;
    command->users--;
    make_unready(queue);
    if (!finished)
        make_ready(queue);
    if (finished && !command->users) {
        if (command->kind == BL_CPU_LAUNCH && !atomic_load_explicit(&command->stop, memory_order_relaxed))
            note_cost(runner, command);
        pop(queue);
        if (queue->first)
            advance(queue);
    }
    settle(runner);
}

/* The queue whose head command keeps `queue` from going on, if the waiting thread may join it; else NULL. A program's function is
 * left to a worker: it would change the waiting thread's own state, its last error for one. Only where no worker can be had it is
 * not. */
static struct bl_queue *joinable(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    for (int i = 0; queue->first && queue->first->kind == BL_CPU_WAIT && i < WAIT_CHAIN; i++)
        queue = queue->first->wait.queue;
    if (!queue->is_ready || (runner->running >= runner->workers && queue->first->users))
        return NULL;
    if (queue->first->kind == BL_CPU_HOST_CALL) {
        bl_cpu_call_workers(runner, 1);
        if (runner->threads)
            return NULL;
    }
    return queue;
}

static void spin_until(struct bl_queue *queue, uint64_t sequence)
{
    uint64_t end = bl_cpu_now() + SPIN_NS;
    if (queue->runner->workers == 1) {
        sched_yield();
        return;
    }
    do {
        for (int i = 0; i < 32 && !reached(queue, sequence); i++)
            bl_cpu_pause();
    } while (!reached(queue, sequence) && bl_cpu_now() < end);
}

/* Helps or sleeps until a queue has come to `sequence`. Lock held before and after. The queue must have a reference. */
static void wait_for(struct bl_queue *queue, uint64_t sequence)
{
    struct bl_cpu_runner *runner = queue->runner;
    while (!reached(queue, sequence)) {
        struct bl_queue *work = joinable(queue);
        if (work) {
            bl_cpu_run_some(runner, work);
            continue;
        }
        bl_cpu_unlock(runner);
        spin_until(queue, sequence);
        bl_cpu_lock(runner);
        bl_cpu_values_poll(runner);
        if (reached(queue, sequence) || joinable(queue))
            continue;
        queue->wake_at = BL_MIN(queue->wake_at, sequence);
        queue->sleepers++;
        uint32_t seen = atomic_load(&queue->passed);
        bl_cpu_unlock(runner);
        bl_cpu_futex_wait(&queue->passed, seen, 0);
        bl_cpu_lock(runner);
        queue->sleepers--;
    }
}

/* ---- commands ----------------------------------------------------------------------------------- */

enum bl_status bl_cpu_command_begin(struct bl_queue *queue, enum bl_cpu_command_kind kind, struct bl_cpu_command **result)
{
    struct bl_cpu_runner *runner = queue->runner;
    struct bl_cpu_command *command;

    if (bl_cpu_forked)
        return BL_IO;
    bl_cpu_lock(runner);
    while (queue->count >= BL_CPU_QUEUE_DEPTH)
        wait_for(queue, queue->submitted - BL_CPU_QUEUE_DEPTH / 2);
    if (atomic_load_explicit(&runner->faulted, memory_order_relaxed)) {
        bl_cpu_unlock(runner);
        return BL_FAULT;
    }
    command = runner->spare_commands;
    if (command)
        runner->spare_commands = command->next;
    else
        command = bl_malloc(sizeof(*command));
    if (!command) {
        bl_cpu_unlock(runner);
        return BL_NO_MEMORY;
    }
    command->next = NULL;
    command->kind = kind;
    command->users = 0;
    command->total = 1;
    command->busy = 0;
    command->worth = 0;
    command->serial = ++runner->serial;
    atomic_store_explicit(&command->next_piece, 0, memory_order_relaxed);
    atomic_store_explicit(&command->stop, false, memory_order_relaxed);
    *result = command;
    return BL_OK;
}

void bl_cpu_command_cancel(struct bl_queue *queue, struct bl_cpu_command *command)
{
    command->next = queue->runner->spare_commands;
    queue->runner->spare_commands = command;
    bl_cpu_unlock(queue->runner);
}

void bl_cpu_command_commit(struct bl_queue *queue, struct bl_cpu_command *command)
{
    struct bl_cpu_runner *runner = queue->runner;
    bool first = !queue->first;
    if (first)
        queue->refs++;
    *queue->last = command;
    queue->last = &command->next;
    queue->count++;
    queue->submitted++;
    if (first)
        advance(queue);
    settle(runner);
    bl_cpu_unlock(runner);
}

enum bl_status bl_cpu_host_call(struct bl_queue *queue, void (*function)(void *), void *data)
{
    struct bl_cpu_command *command;
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_HOST_CALL, &command);
    if (status != BL_OK)
        return status;
    command->host.function = function;
    command->host.data = data;
    command->worth = 1;
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}

static enum bl_status one_step(struct bl_queue *queue, const struct bl_step *step, struct bl_error *error)
{
    switch (step->kind) {
    case BL_STEP_LAUNCH:
        return bl_cpu_put_launch(queue, &step->launch, error);
    case BL_STEP_COPY:
        return bl_cpu_put_copy(queue, &step->copy);
    case BL_STEP_FILL:
        return bl_cpu_put_fill(queue, &step->fill);
    case BL_STEP_HOST_CALL:
        return bl_cpu_host_call(queue, step->host.function, step->host.data);
    case BL_STEP_RECORD:
        return bl_cpu_fence_record(queue, step->fence);
    case BL_STEP_WAIT:
        return bl_cpu_fence_wait_queue(queue, step->fence);
    case BL_STEP_VALUE:
        return bl_cpu_value(queue, &step->value);
    }
    return BL_INVALID;
}

enum bl_status bl_cpu_batch(struct bl_queue *queue, const struct bl_step *steps, size_t count, struct bl_error *error)
{
    enum bl_status status = BL_OK;
    bl_cpu_signals_check();
    for (size_t i = 0; i < count && status == BL_OK; i++)
        status = one_step(queue, &steps[i], error);
    return status;
}

/* ---- queues ------------------------------------------------------------------------------------- */

enum bl_status bl_cpu_queue_create(struct bl_device *device, int priority, struct bl_queue **result)
{
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    struct bl_queue *queue = bl_calloc(1, sizeof(*queue));
    if (!queue)
        return BL_NO_MEMORY;
    queue->runner = runner;
    queue->last = &queue->first;
    queue->refs = 1;
    queue->priority = priority;
    queue->wake_at = UINT64_MAX;
    bl_cpu_lock(runner);
    TAILQ_INSERT_TAIL(&runner->queues, queue, all);
    bl_cpu_unlock(runner);
    *result = queue;
    return BL_OK;
}

void bl_cpu_queue_destroy(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    if (bl_cpu_forked)
        return;
    bl_cpu_lock(runner);
    queue_unref(queue);
    settle(runner);
    bl_cpu_unlock(runner);
}

/* What a wait answers, once it is over. */
static enum bl_status wait_result(struct bl_cpu_runner *runner)
{
    if (atomic_load_explicit(&runner->print_size, memory_order_relaxed))
        bl_cpu_print_flush(runner);
    return atomic_load(&runner->faulted) ? BL_FAULT : BL_OK;
}

enum bl_status bl_cpu_queue_wait(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    if (bl_cpu_forked)
        return BL_IO;
    bl_cpu_lock(runner);
    wait_for(queue, queue->submitted);
    bl_cpu_unlock(runner);
    return wait_result(runner);
}

enum bl_status bl_cpu_queue_query(struct bl_queue *queue)
{
    struct bl_cpu_runner *runner = queue->runner;
    if (bl_cpu_forked)
        return BL_IO;
    if (atomic_load(&runner->faulted))
        return BL_FAULT;
    bl_cpu_lock(runner);
    bool done = !queue->first;
    bl_cpu_unlock(runner);
    return done ? BL_OK : BL_NOT_READY;
}

enum bl_status bl_cpu_device_wait(struct bl_device *device)
{
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    struct bl_queue *queue, *next;
    if (bl_cpu_forked)
        return BL_IO;
    bl_cpu_lock(runner);
    queue = TAILQ_FIRST(&runner->queues);
    if (queue)
        queue->refs++;
    for (; queue; queue = next) { /* a reference keeps it in the list */
        wait_for(queue, queue->submitted);
        next = TAILQ_NEXT(queue, all);
        if (next)
            next->refs++;
        queue_unref(queue);
    }
    settle(runner);
    bl_cpu_unlock(runner);
    return wait_result(runner);
}

/* ---- fences ------------------------------------------------------------------------------------- */

enum bl_status bl_cpu_fence_create(struct bl_device *device, struct bl_fence **result)
{
    struct bl_fence *fence = bl_calloc(1, sizeof(*fence));
    if (!fence)
        return BL_NO_MEMORY;
    fence->runner = ((struct bl_cpu_device *)device)->runner;
    fence->refs = 1;
    *result = fence;
    return BL_OK;
}

void bl_cpu_fence_destroy(struct bl_fence *fence)
{
    struct bl_cpu_runner *runner = fence->runner;
    if (bl_cpu_forked)
        return;
    bl_cpu_lock(runner);
    fence_unref(fence);
    settle(runner);
    bl_cpu_unlock(runner);
}

enum bl_status bl_cpu_fence_record(struct bl_queue *queue, struct bl_fence *fence)
{
    struct bl_cpu_command *command;
    if (fence->runner != queue->runner)
        return BL_INVALID;
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_RECORD, &command);
    if (status != BL_OK)
        return status;
    command->record = fence;
    fence->refs++;
    queue->refs++;
    if (fence->queue)
        queue_unref(fence->queue);
    fence->queue = queue;
    fence->sequence = queue->submitted + 1;
    fence->time = 0;
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}

/* A point of another device's queue, for a host call that waits for it: the two have different locks. */
struct foreign_point {
    struct bl_queue *queue; /* a reference */
    uint64_t sequence;
};

static void wait_for_foreign(void *data)
{
    struct foreign_point *point = data;
    struct bl_cpu_runner *runner = point->queue->runner;
    bl_cpu_lock(runner);
    wait_for(point->queue, point->sequence);
    queue_unref(point->queue);
    settle(runner);
    bl_cpu_unlock(runner);
    bl_free(point);
}

static enum bl_status wait_queue_foreign(struct bl_queue *queue, struct bl_fence *fence)
{
    struct foreign_point *point = bl_malloc(sizeof(*point));
    if (!point)
        return BL_NO_MEMORY;
    bl_cpu_lock(fence->runner);
    struct bl_queue *behind = fence->queue;
    *point = (struct foreign_point){.queue = behind, .sequence = fence->sequence};
    if (behind)
        behind->refs++;
    bl_cpu_unlock(fence->runner);
    enum bl_status status = behind ? bl_cpu_host_call(queue, wait_for_foreign, point) : BL_OK;
    if (behind && status == BL_OK)
        return BL_OK; /* the point is the call's */
    bl_free(point);
    if (!behind)
        return status;
    bl_cpu_lock(fence->runner);
    queue_unref(behind);
    settle(fence->runner);
    bl_cpu_unlock(fence->runner);
    return status;
}

enum bl_status bl_cpu_fence_wait_queue(struct bl_queue *queue, struct bl_fence *fence)
{
    struct bl_cpu_command *command;
    if (fence->runner != queue->runner)
        return wait_queue_foreign(queue, fence);
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_WAIT, &command);
    if (status != BL_OK)
        return status;
    if (!fence->queue || fence->queue == queue || reached(fence->queue, fence->sequence)) {
        bl_cpu_command_cancel(queue, command);
        return BL_OK;
    }
    command->wait.queue = fence->queue;
    command->wait.sequence = fence->sequence;
    fence->queue->refs++;
    fence->queue->watched++;
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}

enum bl_status bl_cpu_fence_wait(struct bl_fence *fence)
{
    struct bl_cpu_runner *runner = fence->runner;
    if (bl_cpu_forked)
        return BL_IO;
    bl_cpu_lock(runner);
    struct bl_queue *queue = fence->queue;
    if (queue) {
        queue->refs++;
        wait_for(queue, fence->sequence);
        queue_unref(queue);
        settle(runner);
    }
    bl_cpu_unlock(runner);
    return wait_result(runner);
}

enum bl_status bl_cpu_fence_query(struct bl_fence *fence)
{
    struct bl_cpu_runner *runner = fence->runner;
    if (bl_cpu_forked)
        return BL_IO;
    if (atomic_load(&runner->faulted))
        return BL_FAULT;
    bl_cpu_lock(runner);
    bool done = !fence->queue || reached(fence->queue, fence->sequence);
    bl_cpu_unlock(runner);
    return done ? BL_OK : BL_NOT_READY;
}

uint64_t bl_cpu_fence_time(struct bl_fence *fence)
{
    if (bl_cpu_forked)
        return 0;
    bl_cpu_lock(fence->runner);
    uint64_t time = fence->time;
    bl_cpu_unlock(fence->runner);
    return time;
}

/* ---- a pause ------------------------------------------------------------------------------------- */

bool bl_cpu_quiet_begin(struct bl_cpu_device *device)
{
    struct bl_cpu_runner *runner = device->runner;
    uint64_t end = bl_cpu_now() + quiet_ns;
    if (bl_cpu_forked)
        return false;
    bl_cpu_lock(runner);
    while (runner->running && bl_cpu_now() < end) {
        bl_cpu_unlock(runner);
        bl_cpu_nap(20000);
        bl_cpu_lock(runner);
    }
    if (!runner->running)
        return true;
    bl_cpu_unlock(runner);
    return false;
}

void bl_cpu_quiet_end(struct bl_cpu_device *device)
{
    bl_cpu_unlock(device->runner);
}

/* ---- faults and reset ------------------------------------------------------------------------------ */

bool bl_cpu_fault(struct bl_device *device, struct bl_fault *fault)
{
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    if (!atomic_load(&runner->faulted) || bl_cpu_forked)
        return false;
    bl_cpu_lock(runner);
    *fault = runner->fault;
    bl_cpu_unlock(runner);
    return fault->kind != BL_FAULT_NONE;
}

/* Drops what has not begun; tells what has to stop. True: something still runs. */
static bool queue_drop(struct bl_queue *queue)
{
    bool runs = false;
    for (struct bl_cpu_command *command = queue->first; command; command = command->next) {
        bool work = command->kind == BL_CPU_LAUNCH || command->kind == BL_CPU_TRANSFER || command->kind == BL_CPU_VALUE;
        if (work && command->users) {
            atomic_store(&command->stop, true);
            runs = true;
        } else if (work) {
            make_unready(queue);
            command_release(queue->runner, command);
        }
    }
    if (!runs && queue->first)
        advance(queue);
    return runs;
}

static bool drop_all(struct bl_cpu_runner *runner)
{
    struct bl_queue *queue, *next;
    bool runs = false;
    queue = TAILQ_FIRST(&runner->queues);
    if (queue)
        queue->refs++;
    for (; queue; queue = next) {
        runs |= queue_drop(queue);
        next = TAILQ_NEXT(queue, all);
        if (next)
            next->refs++;
        queue_unref(queue);
    }
    settle(runner);
    return runs;
}

void bl_cpu_reset(struct bl_device *device)
{
    struct bl_cpu_runner *runner = ((struct bl_cpu_device *)device)->runner;
    if (bl_cpu_forked)
        return;
    bl_cpu_signals_check();
    bl_cpu_lock(runner);
    while (drop_all(runner)) {
        bl_cpu_stop_cores(runner);
        bl_cpu_unlock(runner);
        bl_cpu_nap(200000);
        bl_cpu_lock(runner);
    }
    bl_cpu_heap_free_all(runner);
    runner->fault.kind = BL_FAULT_NONE;
    atomic_store(&runner->faulted, false);
    bl_cpu_unlock(runner);
    bl_cpu_print_flush(runner);
}
