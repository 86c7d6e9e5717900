/* Launches: their checks, and the CTAs of kernels whose warps need no stacks of their own. CTAs begin in ascending order, so that
 * one that waits for an earlier one gets its answer.
 */
#include "target/cpu/run.h"

#include <sys/mman.h>
#include <unistd.h>

enum {
    CHUNK_NS = 500000,   /* what a claim of CTAs should take */
    TURN_NS = 1000000,   /* a thread's turn when several queues are ready */
    WAKE_NS = 20000,     /* work worth one more thread */
    WARP_GUESS_NS = 300, /* of a kernel that never ran */
    SPARE_CTAS = 128,    /* places that a core keeps for later */
    LOCAL_ALIGN = 64,
    WAY_BYTES = 4096, /* of a first cache: addresses that far apart share a set */
    SMALL_SHARED = 48 * 1024,
};

/* ---- checks --------------------------------------------------------------------------------------- */

static enum bl_status check_shape(const struct bl_launch *launch, struct bl_error *error)
{
    static const uint32_t grid_max[3] = {INT32_MAX, 65535, 65535}, block_max[3] = {1024, 1024, 64};
    for (int i = 0; i < 3; i++) {
        if (!launch->grid[i] || launch->grid[i] > grid_max[i])
            return bl_fail(error, BL_INVALID, "grid of %u x %u x %u CTAs: a side must be 1 to %u, 65535, 65535", launch->grid[0],
                           launch->grid[1], launch->grid[2], grid_max[0]);
        if (!launch->block[i] || launch->block[i] > block_max[i])
            return bl_fail(error, BL_INVALID, "block of %u x %u x %u threads: a side must be 1 to 1024, 1024, 64", launch->block[0],
                           launch->block[1], launch->block[2]);
    }
    if (launch->block[0] * launch->block[1] * launch->block[2] > BL_CPU_MAX_WARPS * BL_WARP)
        return bl_fail(error, BL_INVALID, "block of %u x %u x %u threads: more than 1024", launch->block[0], launch->block[1],
                       launch->block[2]);
    return BL_OK;
}

static enum bl_status check_cluster(const struct bl_launch *launch, const uint32_t *cluster, struct bl_error *error)
{
    uint64_t ctas = cluster[0];

    for (int i = 0; i < 3 && cluster[0]; i++) {
        ctas = i ? BL_MIN(ctas * cluster[i], (uint64_t)UINT32_MAX) : ctas;
        if (!cluster[i] || launch->grid[i] % cluster[i])
            return bl_fail(error, BL_INVALID, "grid of %u x %u x %u CTAs is no multiple of clusters of %u x %u x %u",
                           launch->grid[0], launch->grid[1], launch->grid[2], cluster[0], cluster[1], cluster[2]);
    }
    if (ctas > BL_KIR_CLUSTER_CTAS)
        return bl_fail(error, BL_INVALID, "clusters of %u x %u x %u CTAs: at most %d are possible", cluster[0], cluster[1],
                       cluster[2], BL_KIR_CLUSTER_CTAS);
    return BL_OK;
}

/* What the kernel itself asks for. */
static enum bl_status check_kernel(const struct bl_launch *launch, const struct bl_cpu_kernel_limits *limits,
                                   struct bl_error *error)
{
    const uint32_t *block = launch->block, *required = limits->required_block, *most = limits->max_block;
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];

    if (required[0] && memcmp(required, block, sizeof(launch->block)))
        return bl_fail(error, BL_INVALID, "block of %u x %u x %u threads: the kernel requires %u x %u x %u", block[0], block[1],
                       block[2], required[0], required[1], required[2]);
    if (most[0] && threads > (uint64_t)most[0] * BL_MAX(most[1], 1u) * BL_MAX(most[2], 1u))
        return bl_fail(error, BL_INVALID, "block of %u x %u x %u threads: the kernel allows at most %u x %u x %u", block[0],
                       block[1], block[2], most[0], most[1], most[2]);
    if (launch->dynamic_shared > limits->max_dynamic_shared)
        return bl_fail(error, BL_INVALID, "%u bytes of dynamic shared memory: the kernel is allowed %u", launch->dynamic_shared,
                       limits->max_dynamic_shared);
    if (launch->param_bytes < limits->param_bytes || launch->param_bytes > BL_CPU_MAX_PARAMS)
        return bl_fail(error, BL_INVALID, "%u bytes of parameters: the kernel takes %u, and no kernel more than %d",
                       launch->param_bytes, limits->param_bytes, BL_CPU_MAX_PARAMS);
    if (launch->param_bytes && !launch->params)
        return bl_fail(error, BL_INVALID, "no parameters: the kernel takes %u bytes", limits->param_bytes);
    return BL_OK;
}

/* ---- launching ------------------------------------------------------------------------------------- */

/* How many workers to wake at once for a launch. */
static uint32_t worth_waking(const struct bl_cpu_runner *runner, const struct bl_cpu_code *code, uint64_t ctas, uint32_t nwarps)
{
    const struct bl_cpu_cost *cost = &runner->costs[((uintptr_t)code >> 4) % BL_CPU_COSTS];
    double ns = (double)ctas * (cost->code == code ? (double)cost->ns : (double)nwarps * WARP_GUESS_NS);
    double threads = BL_MIN(ns / WAKE_NS, (double)runner->workers);
    return (uint32_t)BL_MIN((uint64_t)threads, ctas);
}

static void fill(struct bl_cpu_command *command, const struct bl_launch *from, const struct bl_cpu_code *code, uint8_t *params)
{
    struct bl_cpu_grid *launch = &command->launch;
    memcpy(launch->grid, from->grid, sizeof(launch->grid));
    memcpy(launch->block, from->block, sizeof(launch->block));
    launch->code = code;
    launch->kernel = from->kernel;
    launch->dynamic_shared = from->dynamic_shared;
    launch->threads = from->block[0] * from->block[1] * from->block[2];
    launch->nwarps = (launch->threads + BL_WARP - 1) / BL_WARP;
    launch->cooperative = from->cooperative;
    launch->gridid = command->serial;
    launch->workspace[0] = sizeof(launch->workspace);
    launch->workspace[1] = 0;
    launch->params = params ? params : command->params;
    if (!params && from->param_bytes)
        memcpy(command->params, from->params, from->param_bytes);
    command->total = (uint64_t)from->grid[0] * from->grid[1] * from->grid[2];
}

static enum bl_status submit(struct bl_queue *queue, const struct bl_launch *launch, const struct bl_cpu_code *code,
                             const uint32_t *cluster)
{
    struct bl_cpu_command *command;
    uint8_t *params = NULL;
    if (launch->param_bytes > BL_CPU_INLINE_PARAMS) {
        params = bl_malloc(launch->param_bytes);
        if (!params)
            return BL_NO_MEMORY;
        memcpy(params, launch->params, launch->param_bytes);
    }
    bl_cpu_kernel_hold(launch->kernel);
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_LAUNCH, &command);
    if (status != BL_OK) {
        bl_cpu_kernel_drop(launch->kernel);
        bl_free(params);
        return status;
    }
    fill(command, launch, code, params);
    memcpy(command->launch.cluster, cluster, sizeof(command->launch.cluster));
    command->launch.clustered = code->info.flags & BL_CPU_CLUSTER;
    if (command->launch.clustered && cluster[0])
        command->total /= (uint64_t)cluster[0] * cluster[1] * cluster[2];
    command->worth = worth_waking(queue->runner, code, command->total, command->launch.nwarps);
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}

static uint32_t cta_shape(const uint32_t *block)
{
    if (block[0] % BL_WARP == 0 || (block[1] == 1 && block[2] == 1))
        return BL_CPU_CTA_LINEAR;
    return block[0] % 16 == 0 ? BL_CPU_CTA_RUNS_16 : block[0] % 8 == 0 ? BL_CPU_CTA_RUNS_8 : BL_CPU_CTA_ANY;
}

enum bl_status bl_cpu_put_launch(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error)
{
    struct bl_cpu_kernel_limits limits;
    const struct bl_cpu_code *code;
    const uint32_t *cluster;

    if (bl_cpu_kernel_device(launch->kernel) != queue->runner->device)
        return bl_fail(error, BL_INVALID, "the kernel was loaded on another device");
    enum bl_status status = check_shape(launch, error);
    if (status != BL_OK)
        return status;
    bl_cpu_kernel_get_limits(launch->kernel, &limits);
    cluster = limits.cluster[0] ? limits.cluster : launch->cluster;
    status = check_kernel(launch, &limits, error);
    if (status == BL_OK)
        status = check_cluster(launch, cluster, error);
    if (status != BL_OK)
        return status;
    if (atomic_load_explicit(&queue->runner->faulted, memory_order_relaxed))
        return BL_FAULT;
    status = bl_cpu_kernel_code(launch->kernel, cta_shape(launch->block), &code, error);
    if (status != BL_OK)
        return status;
    if ((uint64_t)code->info.static_shared + launch->dynamic_shared > BL_CPU_MAX_SHARED)
        return bl_fail(error, BL_INVALID, "%u + %u bytes of static and dynamic shared memory: a CTA can have %d",
                       code->info.static_shared, launch->dynamic_shared, BL_CPU_MAX_SHARED);
    return submit(queue, launch, code, cluster);
}

enum bl_status bl_cpu_launch(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error)
{
    bl_cpu_signals_check();
    return bl_cpu_put_launch(queue, launch, error);
}

/* ---- a CTA's place ----------------------------------------------------------------------------------- */

/* Memory with a page after it that can't be touched. */
static uint8_t *map_guarded(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *map;
    if (bl_fault_due("mmap"))
        return NULL;
    map = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map + size, page, PROT_NONE)) {
        munmap(map, size + page);
        return NULL;
    }
    return map;
}

static bool grow(uint8_t **map, size_t *size, size_t wanted, size_t least)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (wanted <= *size)
        return true;
    if (*map)
        munmap(*map, *size + page);
    *size = BL_ALIGN_UP(BL_MAX(wanted, least), page);
    *map = map_guarded(*size);
    if (!*map)
        *size = 0;
    return *map != NULL;
}

void bl_cpu_cta_free(struct bl_cpu_cta *cta)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (cta->shared_map)
        munmap(cta->shared_map, cta->shared_size + page);
    if (cta->local_map)
        munmap(cta->local_map, cta->local_size + page);
    if (cta->frame_map)
        munmap(cta->frame_map, cta->frame_size + page);
    for (int i = 0; i < BL_CPU_MAX_WARPS; i++)
        bl_cpu_stack_unmap(&cta->fibers[i].stack);
    bl_free(cta);
}

struct bl_cpu_cta *bl_cpu_cta_take(struct bl_cpu_core *core)
{
    struct bl_cpu_cta *cta = core->spare;
    if (cta) {
        core->spare = cta->next;
        core->spare_count--;
        return cta;
    }
    cta = bl_calloc(1, sizeof(*cta));
    if (cta)
        cta->core = core;
    return cta;
}

void bl_cpu_cta_put(struct bl_cpu_core *core, struct bl_cpu_cta *cta)
{
    if (core->spare_count == SPARE_CTAS) {
        bl_cpu_cta_free(cta);
        return;
    }
    cta->next = core->spare;
    core->spare = cta;
    core->spare_count++;
}

void bl_cpu_thread_of(const struct bl_cpu_grid *launch, uint32_t warp, uint32_t lane, uint32_t tid[3])
{
    uint32_t linear = warp * BL_WARP + lane;
    tid[0] = linear % launch->block[0];
    linear /= launch->block[0];
    tid[1] = linear % launch->block[1];
    tid[2] = linear / launch->block[1];
}

static void fill_first_tids(struct bl_cpu_cta *cta, const struct bl_cpu_grid *launch)
{
    uint32_t tid[3];
    cta->tid_block[0] = 0;
    for (uint32_t w = 0; w < launch->nwarps; w++) {
        bl_cpu_thread_of(launch, w, 0, tid);
        for (int i = 0; i < 3; i++)
            cta->warps[w].tid[i][0] = tid[i];
    }
}

static void fill_tids(struct bl_cpu_cta *cta, const struct bl_cpu_grid *launch)
{
    uint32_t x = 0, y = 0, z = 0;
    if (!memcmp(cta->tid_block, launch->block, sizeof(cta->tid_block)))
        return;
    for (uint32_t i = 0; i < launch->nwarps * BL_WARP; i++) {
        struct bl_cpu_warp *warp = &cta->warps[i / BL_WARP];
        warp->tid[0][i % BL_WARP] = x;
        warp->tid[1][i % BL_WARP] = y;
        warp->tid[2][i % BL_WARP] = z;
        if (++x == launch->block[0]) {
            x = 0;
            if (++y == launch->block[1]) {
                y = 0;
                z++;
            }
        }
    }
    memcpy(cta->tid_block, launch->block, sizeof(cta->tid_block));
}

static void fill_cluster(struct bl_cpu_warp *warp, const struct bl_cpu_grid *launch)
{
    warp->cluster_ctarank = 0;
    warp->cluster_nctarank = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t size = launch->cluster[0] ? launch->cluster[i] : 1;
        warp->cluster_nctaid[i] = size;
        warp->cluster_ctaid[i] = 0;
        warp->nclusterid[i] = launch->grid[i] / size;
        warp->cluster_nctarank *= size;
    }
}

/* What all warps of all CTAs have in common. */
static void fill_warp(struct bl_cpu_warp *warp, const struct bl_cpu_cta *cta)
{
    const struct bl_cpu_core *core = cta->core;
    const struct bl_cpu_grid *launch = &core->command->launch;
    uint32_t shared = launch->code->info.static_shared + launch->dynamic_shared;
    uint8_t *end = cta->cluster ? bl_cpu_cluster_shared_end(cta) : cta->shared_map + cta->shared_size;

    warp->params = launch->params;
    warp->globals = launch->code->globals;
    warp->helpers = &bl_cpu_helpers;
    warp->shared = end - BL_ALIGN_UP(shared, 128u); /* at the guard page */
    warp->shared_size = shared;
    warp->gridid = launch->gridid;
    warp->grid_workspace = launch->cooperative ? (uint64_t)(uintptr_t)launch->workspace : 0;
    warp->dynamic_shared = launch->dynamic_shared;
    warp->nwarps = launch->nwarps;
    memcpy(warp->ntid, launch->block, sizeof(warp->ntid));
    memcpy(warp->nctaid, launch->grid, sizeof(warp->nctaid));
    warp->nsmid = core->runner->workers;
    warp->smid = core->index % warp->nsmid;
    fill_cluster(warp, launch);
    warp->current_line = 0;
    warp->runtime = (void *)(uintptr_t)cta;
}

/* together: all warps run before the first has ended. */
static void fill_warps(struct bl_cpu_cta *cta, uint64_t stride, bool together)
{
    const struct bl_cpu_grid *launch = &cta->core->command->launch;
    struct bl_cpu_warp *first = &cta->warps[0];
    uint32_t tail = offsetof(struct bl_cpu_warp, cluster_nctaid);

    fill_warp(first, cta);
    first->local_stride = stride;
    for (uint32_t w = 0; w < launch->nwarps; w++) {
        struct bl_cpu_warp *warp = &cta->warps[w];
        uint32_t left = launch->threads - w * BL_WARP;
        if (w) {
            memcpy(warp, first, offsetof(struct bl_cpu_warp, tid));
            memcpy((char *)warp + tail, (char *)first + tail, sizeof(*warp) - tail);
        }
        warp->warpid = w;
        warp->active = left >= BL_WARP ? UINT32_MAX : (1u << left) - 1;
        warp->local = cta->local_map ? cta->local_map + (together ? w : 0) * stride * BL_WARP : NULL;
    }
    if (launch->code->info.flags & BL_CPU_GENERAL_CTA)
        fill_tids(cta, launch);
    else
        fill_first_tids(cta, launch);
}

/* Local memory a thread. Never a multiple of a cache way's size, so that the lanes' equal offsets fall into different sets. */
static uint64_t local_stride(const struct bl_cpu_core *core)
{
    const struct bl_cpu_kernel_info *info = &core->command->launch.code->info;
    uint64_t bytes = info->local_bytes;
    if (info->flags & BL_CPU_RECURSION)
        bytes = BL_MAX(bytes, core->runner->stack_limit);
    return bytes ? BL_ALIGN_UP(bytes, (uint64_t)LOCAL_ALIGN) | LOCAL_ALIGN : 0;
}

bool bl_cpu_cta_prepare(struct bl_cpu_cta *cta, bool fibers)
{
    const struct bl_cpu_command *command = cta->core->command;
    const struct bl_cpu_grid *launch = &command->launch;
    bool together = fibers || launch->code->info.flags & BL_CPU_COROUTINE;
    uint64_t stride = local_stride(cta->core);
    size_t shared = BL_ALIGN_UP(launch->code->info.static_shared + launch->dynamic_shared, 128u);

    if (cta->serial == command->serial)
        return true;
    cta->serial = 0;
    if (!cta->cluster && !grow(&cta->shared_map, &cta->shared_size, BL_MAX(shared, (size_t)1),
                               shared <= SMALL_SHARED ? SMALL_SHARED : BL_CPU_MAX_SHARED))
        return false;
    if (stride && !grow(&cta->local_map, &cta->local_size, stride * BL_WARP * (together ? launch->nwarps : 1), 0))
        return false;
    fill_warps(cta, stride, together);
    bl_cpu_barriers_reset(cta);
    cta->ended = 0;
    cta->fibered = fibers;
    cta->frame_stride = 0;
    cta->nwarps = launch->nwarps;
    cta->all = launch->nwarps == BL_CPU_MAX_WARPS ? UINT32_MAX : (1u << launch->nwarps) - 1;
    cta->serial = command->serial;
    return true;
}

void *bl_cpu_cta_frame(struct bl_cpu_cta *cta, uint32_t warp, uint64_t bytes)
{
    if (!cta->frame_stride) {
        uint64_t stride = BL_ALIGN_UP(bytes, (uint64_t)BL_CPU_FRAME_ALIGN);
        stride += stride % WAY_BYTES ? 0 : BL_CPU_FRAME_ALIGN;
        if (!grow(&cta->frame_map, &cta->frame_size, stride * cta->nwarps, 0))
            return NULL;
        cta->frame_stride = stride;
    }
    return bytes <= cta->frame_stride ? cta->frame_map + warp * cta->frame_stride : NULL;
}

/* ---- which CTA ---------------------------------------------------------------------------------------- */

static void place_cluster(struct bl_cpu_warp *warp, const uint32_t *cluster)
{
    for (int i = 0; i < 3; i++) {
        warp->cluster_ctaid[i] = warp->ctaid[i] % cluster[i];
        warp->clusterid[i] = warp->ctaid[i] / cluster[i];
    }
    warp->cluster_ctarank = warp->cluster_ctaid[0] + cluster[0] * (warp->cluster_ctaid[1] + cluster[1] * warp->cluster_ctaid[2]);
}

static inline void place_warp(struct bl_cpu_warp *warp, const struct bl_cpu_grid *launch, const uint32_t ctaid[3])
{
    for (int i = 0; i < 3; i++)
        warp->ctaid[i] = warp->clusterid[i] = ctaid[i];
    warp->exited = 0;
    if (launch->cluster[0])
        place_cluster(warp, launch->cluster);
}

static void ctaid_of(const struct bl_cpu_grid *launch, uint64_t linear, uint32_t ctaid[3])
{
    ctaid[0] = (uint32_t)(linear % launch->grid[0]);
    linear /= launch->grid[0];
    ctaid[1] = (uint32_t)(linear % launch->grid[1]);
    ctaid[2] = (uint32_t)(linear / launch->grid[1]);
}

/* The CTA of a rank in a cluster. */
static void ctaid_in_cluster(const struct bl_cpu_grid *launch, uint64_t linear, uint32_t rank, uint32_t ctaid[3])
{
    for (int i = 0; i < 3; i++) {
        uint32_t size = launch->cluster[0] ? launch->cluster[i] : 1, count = launch->grid[i] / size;
        ctaid[i] = (uint32_t)(linear % count) * size + rank % size;
        linear /= count;
        rank /= size;
    }
}

void bl_cpu_cta_place(struct bl_cpu_cta *cta, uint64_t linear)
{
    const struct bl_cpu_grid *launch = &cta->core->command->launch;
    uint32_t ctaid[3];
    if (cta->cluster)
        ctaid_in_cluster(launch, linear, cta->rank, ctaid);
    else
        ctaid_of(launch, linear, ctaid);
    for (uint32_t w = 0; w < cta->nwarps; w++)
        place_warp(&cta->warps[w], launch, ctaid);
}

/* ---- kernels whose warps need no stacks --------------------------------------------------------------------------- */

bool bl_cpu_claim(struct bl_cpu_core *core, uint64_t count)
{
    struct bl_cpu_command *command = core->command;
    uint64_t left = command->total - BL_MIN(command->total, atomic_load_explicit(&command->next_piece, memory_order_relaxed));
    count = BL_MIN(count, left / (2 * core->runner->workers) + 1); /* smaller at the end, so that all end together */
    core->first = atomic_fetch_add_explicit(&command->next_piece, count, memory_order_relaxed);
    core->end = BL_MIN(core->first + count, command->total);
    return core->first < command->total;
}

bool bl_cpu_turn_over(struct bl_cpu_core *core)
{
    return atomic_load_explicit(&core->runner->ready_count, memory_order_relaxed) > 1 && bl_cpu_now() - core->begun > TURN_NS;
}

/* Warps that return at each barrier, all of which are for all warps that have not ended. */
static void run_rounds(struct bl_cpu_cta *cta, void (*entry)(struct bl_cpu_warp *))
{
    uint32_t alive = cta->all;
    while (alive) {
        bl_cpu_obey_stop(cta->core);
        for (uint32_t mask = alive; mask; mask &= mask - 1) {
            uint32_t w = (uint32_t)__builtin_ctz(mask);
            cta->current = w;
            entry(&cta->warps[w]);
            if (!cta->warps[w].frame)
                alive &= ~(1u << w);
        }
    }
}

/* Warps that return where they wait: each has its turn until all have ended. */
static void run_coroutines(struct bl_cpu_cta *cta, void (*entry)(struct bl_cpu_warp *))
{
    cta->ended = 0;
    cta->runnable = cta->all;
    bl_cpu_barriers_reset(cta);
    while (cta->ended != cta->all) {
        if (!cta->runnable) {
            bl_cpu_trap_set(cta->core, BL_FAULT_DEADLOCK, cta->current, 0, NULL);
            bl_cpu_escape(cta->core);
        }
        for (uint32_t mask = cta->runnable; mask; mask &= mask - 1) {
            uint32_t w = (uint32_t)__builtin_ctz(mask);
            cta->current = w;
            entry(&cta->warps[w]);
            if (cta->warps[w].frame)
                continue;
            cta->ended |= 1u << w;
            cta->runnable &= ~(1u << w);
            bl_cpu_barriers_warp_ended(cta);
        }
    }
}

/* On the core's fiber: the CTAs that it has claimed, warp by warp. */
void bl_cpu_run_ctas(struct bl_cpu_core *core)
{
    uint32_t flags = core->command->launch.code->info.flags;
    bool coroutines = flags & BL_CPU_COROUTINE;
    struct bl_cpu_command *command = core->command;
    const struct bl_cpu_grid *launch = &command->launch;
    struct bl_cpu_cta *cta = core->cta;
    void (*entry)(struct bl_cpu_warp *) = launch->code->entry;
    uint32_t ctaid[3];

    ctaid_of(launch, core->first, ctaid);
    for (uint64_t i = core->first; i < core->end; i++) {
        if (atomic_load_explicit(&command->stop, memory_order_relaxed))
            return;
        for (uint32_t w = 0; w < cta->nwarps; w++) {
            place_warp(&cta->warps[w], launch, ctaid);
            if (coroutines) {
                cta->warps[w].frame = NULL;
                continue;
            }
            cta->current = w;
            entry(&cta->warps[w]);
        }
        if (flags & BL_CPU_ROUNDS)
            run_rounds(cta, entry);
        else if (coroutines)
            run_coroutines(cta, entry);
        if (++ctaid[0] < launch->grid[0])
            continue;
        ctaid[0] = 0;
        if (++ctaid[1] < launch->grid[1])
            continue;
        ctaid[1] = 0;
        ctaid[2]++;
    }
}

/* True: the launch has no more CTAs to begin. */
static bool run_chunks(struct bl_cpu_core *core)
{
    struct bl_cpu_command *command = core->command;
    bool deep = command->launch.code->info.flags & BL_CPU_RECURSION;
    uint64_t before = core->begun, chunk = 1;

    while (!atomic_load_explicit(&command->stop, memory_order_relaxed) && bl_cpu_claim(core, chunk)) {
        core->job = BL_CPU_JOB_CTAS;
        if (!bl_cpu_run_plain(core, deep))
            return true;
        if (core->end == command->total)
            return true;
        uint64_t now = bl_cpu_now();
        if (now - before < CHUNK_NS / 2)
            chunk *= 2;
        else if (now - before > CHUNK_NS * 2)
            chunk = BL_MAX(chunk / 2, (uint64_t)1);
        before = now;
        if (bl_cpu_turn_over(core))
            return false;
    }
    return true;
}

bool bl_cpu_run_grid(struct bl_cpu_core *core)
{
    const struct bl_cpu_grid *launch = &core->command->launch;
    uint32_t flags = launch->code->info.flags;
    if (flags & (BL_CPU_YIELDS | BL_CPU_CLUSTER) || (flags & BL_CPU_BARRIER && !(flags & BL_CPU_COROUTINE) && launch->nwarps > 1))
        return bl_cpu_run_fibers(core);
    struct bl_cpu_cta *cta = bl_cpu_cta_take(core);
    bool finished = true;
    if (cta && bl_cpu_cta_prepare(cta, false)) {
        core->cta = cta;
        finished = run_chunks(core);
        core->cta = NULL;
    } else {
        bl_cpu_out_of_memory(core, "shared and local memory");
    }
    if (cta)
        bl_cpu_cta_put(core, cta);
    return finished;
}

/* ---- occupancy ---------------------------------------------------------------------------------------- */

enum bl_status bl_cpu_occupancy(struct bl_device_kernel *kernel, uint32_t block_threads, uint32_t dynamic_shared, uint32_t *ctas)
{
    const struct bl_device_props *props = &bl_cpu_kernel_device(kernel)->base.props;
    struct bl_kernel_attr attr;
    enum bl_status status = bl_cpu_kernel_attr(kernel, &attr, NULL);
    if (status != BL_OK)
        return status;
    *ctas = 0;
    uint64_t shared = (uint64_t)attr.static_shared + dynamic_shared;
    if (!block_threads)
        return BL_INVALID;
    if (block_threads > attr.max_threads || shared > props->shared_per_block_optin)
        return BL_OK;
    uint32_t threads = BL_ALIGN_UP(block_threads, (uint32_t)BL_WARP);
    uint64_t most =
        BL_MIN((uint32_t)props->max_threads_per_multiprocessor / threads, (uint32_t)props->max_blocks_per_multiprocessor);
    shared += props->shared_reserved;
    if (shared)
        most = BL_MIN(most, props->shared_per_multiprocessor / shared);
    *ctas = (uint32_t)most;
    return BL_OK;
}
