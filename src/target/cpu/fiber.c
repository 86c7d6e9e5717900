/* Fibers: stacks, the switch between them, and the scheduler that runs a CTA's warps as fibers. Used by the files of
 * run.h only.
 *
 * A core's thread is the scheduler. It switches to a fiber, fibers of a CTA switch to each other, and one comes back to the
 * scheduler when the CTA has ended, is stuck, only yields, or has trapped. A fiber that has done its work may be given more by
 * another thread, when that has taken the core: nothing here keeps what is a thread's own over a switch.
 */
#include "target/cpu/run.h"
#include "target/cpu/sanitize.h"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    /* Stacks' sizes; they are committed as they are touched. */
    PLAIN_STACK = 512 << 10,
    WARP_STACK = 128 << 10,
    RUNTIME_STACK = 64 << 10, /* of it, what a call of the runtime and a signal of the program's there may need */
    HUGE_PAGE = 2 << 20,
    DEEP_STACK = 8 << 20, /* recursion */
    DEEP_PER_LIMIT = 128, /* bytes of machine stack for a byte of the stack limit: 32 lanes and their registers */
    COLOURS = 16,
    COLOUR_BYTES = 256,
    CHUNK_CTAS = 8,       /* a claim */
    RESIDENT_CTAS = 1024, /* a core, but for cooperative launches */
    RESIDENT_WARPS = 2048,
    CALM_ROUNDS = 256, /* rounds in which all CTAs only yielded, before the thread sleeps */
    CALM_NS = 20000,
};

/* ---- stacks -------------------------------------------------------------------------------------------- */

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

bool bl_cpu_stack_map(struct bl_cpu_stack *stack, size_t size)
{
    void *map;
    if (bl_fault_due("mmap"))
        return false;
    size = BL_ALIGN_UP(size, page_size()) + BL_CPU_GUARD;
    map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        return false;
    if (mprotect(map, BL_CPU_GUARD, PROT_NONE)) {
        munmap(map, size);
        return false;
    }
    if (size > HUGE_PAGE)
        madvise(map, size, MADV_NOHUGEPAGE);
    stack->map = map;
    stack->size = size;
    return true;
}

void bl_cpu_stack_unmap(struct bl_cpu_stack *stack)
{
    if (stack->map) {
        bl_cpu_stack_clean(stack);
        munmap(stack->map, stack->size);
    }
    stack->map = NULL;
    stack->size = 0;
}

/* A stack for the core's launch, at least so large. */
static size_t launch_stack(const struct bl_cpu_core *core, size_t least)
{
    const struct bl_cpu_kernel_info *info = &core->command->launch.code->info;
    size_t deep = BL_MAX((size_t)DEEP_STACK, (size_t)core->runner->stack_limit * DEEP_PER_LIMIT);
    size_t needed = (size_t)info->machine_stack + RUNTIME_STACK;

    return info->flags & BL_CPU_RECURSION ? deep + needed : BL_MAX(needed, least);
}

static bool fiber_stack(struct bl_cpu_fiber *fiber, size_t size)
{
    if (fiber->stack.size >= size + BL_CPU_GUARD)
        return true;
    bl_cpu_stack_unmap(&fiber->stack);
    fiber->sp = NULL;
    return bl_cpu_stack_map(&fiber->stack, size);
}

/* ---- the switch ----------------------------------------------------------------------------------------- */

/* A saved stack pointer points at what bl_cpu_switch pushed; bl_cpu_switch_resume pops it. The float unit's modes are the
 * same on all fibers (see enter): to save them would take longer than all the rest.
 */
#if defined(__x86_64__)

enum { DEFAULT_MODE = 0x1f80, FRAME_SKEW = 8 /* so that the stack is aligned once the frame is popped */ };

struct frame {
    uint64_t r15, r14, r13, r12, rbx, rbp, pc;
};

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden bl_cpu_switch\n"
        ".globl bl_cpu_switch\n"
        ".type bl_cpu_switch, @function\n"
        "bl_cpu_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        ".hidden bl_cpu_switch_resume\n"
        ".globl bl_cpu_switch_resume\n"
        "bl_cpu_switch_resume:\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size bl_cpu_switch, .-bl_cpu_switch\n"
        ".hidden bl_cpu_fiber_begin\n"
        ".globl bl_cpu_fiber_begin\n"
        ".type bl_cpu_fiber_begin, @function\n"
        "bl_cpu_fiber_begin:\n"
        "    movq %r13, %rdi\n"
        "    xorl %ebp, %ebp\n"
        "    callq *%r12\n"
        "    ud2\n"
        ".size bl_cpu_fiber_begin, .-bl_cpu_fiber_begin\n");

static void frame_fill(struct frame *frame, uintptr_t begin, uintptr_t function, uintptr_t argument)
{
    frame->r12 = function;
    frame->r13 = argument;
    frame->pc = begin;
}

static uint64_t float_mode(void)
{
    return __builtin_ia32_stmxcsr();
}

static void float_mode_set(uint64_t mode)
{
    __builtin_ia32_ldmxcsr((unsigned)mode);
}

#elif defined(__aarch64__)

enum { DEFAULT_MODE = 0, FRAME_SKEW = 0 };

struct frame {
    uint64_t d[8];  /* d8 to d15 */
    uint64_t x[12]; /* x19 to x30 */
};

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden bl_cpu_switch\n"
        ".globl bl_cpu_switch\n"
        ".type bl_cpu_switch, %function\n"
        "bl_cpu_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp d8, d9, [sp]\n"
        "    stp d10, d11, [sp, #16]\n"
        "    stp d12, d13, [sp, #32]\n"
        "    stp d14, d15, [sp, #48]\n"
        "    stp x19, x20, [sp, #64]\n"
        "    stp x21, x22, [sp, #80]\n"
        "    stp x23, x24, [sp, #96]\n"
        "    stp x25, x26, [sp, #112]\n"
        "    stp x27, x28, [sp, #128]\n"
        "    stp x29, x30, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        ".hidden bl_cpu_switch_resume\n"
        ".globl bl_cpu_switch_resume\n"
        "bl_cpu_switch_resume:\n"
        "    ldp d8, d9, [sp]\n"
        "    ldp d10, d11, [sp, #16]\n"
        "    ldp d12, d13, [sp, #32]\n"
        "    ldp d14, d15, [sp, #48]\n"
        "    ldp x19, x20, [sp, #64]\n"
        "    ldp x21, x22, [sp, #80]\n"
        "    ldp x23, x24, [sp, #96]\n"
        "    ldp x25, x26, [sp, #112]\n"
        "    ldp x27, x28, [sp, #128]\n"
        "    ldp x29, x30, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret x30\n"
        ".size bl_cpu_switch, .-bl_cpu_switch\n"
        ".hidden bl_cpu_fiber_begin\n"
        ".globl bl_cpu_fiber_begin\n"
        ".type bl_cpu_fiber_begin, %function\n"
        "bl_cpu_fiber_begin:\n"
        "    mov x0, x20\n"
        "    mov x29, #0\n"
        "    blr x19\n"
        "    brk #1\n"
        ".size bl_cpu_fiber_begin, .-bl_cpu_fiber_begin\n");

static void frame_fill(struct frame *frame, uintptr_t begin, uintptr_t function, uintptr_t argument)
{
    frame->x[0] = function;
    frame->x[1] = argument;
    frame->x[11] = begin;
}

static uint64_t float_mode(void)
{
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}

static void float_mode_set(uint64_t mode)
{
    __asm__ volatile("msr fpcr, %0" ::"r"(mode));
}

#else
#error "the CPU device has no switch of fibers for this architecture: add one here"
#endif

extern const char bl_cpu_fiber_begin[];

/* Above the frame stays some room, for what looks at its caller's. The frame is aligned so that the function begins with the
 * stack aligned as its ABI asks. Stacks of several fibers begin at different places of a page (number), or they would all
 * fall into the same few sets of the cache.
 */
void bl_cpu_fiber_reset(struct bl_cpu_fiber *fiber, void (*function)(void *), void *argument, uint32_t number)
{
    uintptr_t top = (uintptr_t)(fiber->stack.map + fiber->stack.size) - 64 - number % COLOURS * COLOUR_BYTES;
    struct frame *frame = (struct frame *)(((top - sizeof(struct frame)) & ~(uintptr_t)15) - FRAME_SKEW);
    bl_cpu_stack_clean(&fiber->stack);
    memset(frame, 0, sizeof(*frame));
    frame_fill(frame, (uintptr_t)bl_cpu_fiber_begin, (uintptr_t)function, (uintptr_t)argument);
    fiber->sp = frame;
}

void bl_cpu_go(struct bl_cpu_core *core, void **save, struct bl_cpu_fiber *to)
{
    void *fake = NULL;
    if (to)
        core->fiber = to;
    bl_cpu_leaving(to, &fake);
    bl_cpu_switch(save, to ? to->sp : core->scheduler);
    bl_cpu_arrived(fake);
}

void bl_cpu_escape(struct bl_cpu_core *core)
{
    void *nowhere;
    bl_cpu_go(core, &nowhere, NULL);
    __builtin_unreachable();
}

/* Runs a fiber until something switches back here. Kernels round to nearest and keep subnormals, whatever the program has set
 * for its own thread; generated code does not change the mode.
 */
static void enter(struct bl_cpu_core *core, struct bl_cpu_fiber *fiber)
{
    uint64_t mode = float_mode();
    float_mode_set(DEFAULT_MODE);
    core->inside = true;
    core->helping = 0;
    if (atomic_load(&core->command->stop)) /* from here on, who stops the command sees this core and interrupts it */
        bl_cpu_trap_set(core, BL_FAULT_NONE, 0, 0, NULL);
    else
        bl_cpu_go(core, &core->scheduler, fiber);
    core->inside = false;
    float_mode_set(mode);
}

/* ---- work without barriers -------------------------------------------------------------------------------- */

static void plain_main(void *data)
{
    struct bl_cpu_core *core = data;
    bl_cpu_arrived(NULL);
    for (;;) {
        if (core->job == BL_CPU_JOB_CTAS) {
            bl_cpu_run_ctas(core);
        } else {
            core->helping++;
            bl_cpu_transfer_rows(core);
            core->helping--;
        }
        bl_cpu_go(core, &core->fiber->sp, NULL);
    }
}

bool bl_cpu_run_plain(struct bl_cpu_core *core, bool deep)
{
    struct bl_cpu_fiber *fiber = deep ? &core->deep : &core->plain;
    if (!fiber_stack(fiber, core->job == BL_CPU_JOB_CTAS ? launch_stack(core, PLAIN_STACK) : PLAIN_STACK)) {
        bl_cpu_out_of_memory(core, "a stack");
        return false;
    }
    if (!fiber->sp)
        bl_cpu_fiber_reset(fiber, plain_main, core, 0);
    enter(core, fiber);
    if (!core->trap.set)
        return true;
    fiber->sp = NULL;
    bl_cpu_trap_report(core);
    return false;
}

/* ---- warps as fibers ---------------------------------------------------------------------------------------- */

static uint32_t next_warp(uint32_t mask, uint32_t after)
{
    uint32_t higher = after == 31 ? 0 : mask & (UINT32_MAX << (after + 1));
    return (uint32_t)__builtin_ctz(higher ? higher : mask);
}

void bl_cpu_cta_switch(struct bl_cpu_cta *cta)
{
    uint32_t from = cta->current, to;
    if (!cta->runnable) {
        bl_cpu_go(cta->core, &cta->fibers[from].sp, NULL);
        return;
    }
    to = next_warp(cta->runnable, from);
    if (to == from)
        return;
    cta->current = to;
    bl_cpu_go(cta->core, &cta->fibers[from].sp, &cta->fibers[to]);
}

static void warp_main(void *data)
{
    struct bl_cpu_warp *warp = data;
    struct bl_cpu_cta *cta = warp->runtime;
    bl_cpu_arrived(NULL);
    for (;;) {
        cta->core->command->launch.code->entry(warp);
        uint32_t bit = 1u << warp->warpid;
        cta->ended |= bit;
        cta->runnable &= ~bit;
        cta->core->spins = 0;
        bl_cpu_barriers_warp_ended(cta);
        bl_cpu_cta_switch(cta);
    }
}

static bool cta_fibers(struct bl_cpu_cta *cta)
{
    size_t size = launch_stack(cta->core, WARP_STACK);
    for (uint32_t w = 0; w < cta->nwarps; w++) {
        struct bl_cpu_fiber *fiber = &cta->fibers[w];
        if (!fiber_stack(fiber, size))
            return false;
        if (!fiber->sp)
            bl_cpu_fiber_reset(fiber, warp_main, &cta->warps[w], w);
    }
    return true;
}

/* The CTAs that a core has begun and not ended: a ring, `at` the one before the next to run. */
struct residents {
    struct bl_cpu_cta *at;
    uint32_t count, warps;
    uint32_t idle; /* of them, one after the other, only yielded */
    uint32_t calm; /* rounds of that kind */
};

static void add_resident(struct residents *residents, struct bl_cpu_cta *cta)
{
    if (residents->at) {
        cta->next = residents->at->next;
        residents->at->next = cta;
    } else {
        cta->next = cta;
        residents->at = cta;
    }
    residents->count++;
    residents->warps += cta->nwarps;
}

static void give_cta_back(struct bl_cpu_core *core, struct bl_cpu_cta *cta)
{
    if (!cta->cluster)
        bl_cpu_cta_put(core, cta);
    else if (!--cta->cluster->running)
        bl_cpu_cluster_put(core, cta->cluster);
}

/* Takes out the one after `at`. Its fibers may be anywhere: broken says so. */
static void drop_resident(struct bl_cpu_core *core, struct residents *residents, bool broken)
{
    struct bl_cpu_cta *cta = residents->at->next;
    residents->at->next = cta->next;
    residents->count--;
    residents->warps -= cta->nwarps;
    if (!residents->count)
        residents->at = NULL;
    for (uint32_t w = 0; w < cta->nwarps && broken; w++)
        cta->fibers[w].sp = NULL;
    give_cta_back(core, cta);
}

/* Large stacks aren't kept from launch to launch: they may have been used to the end. */
static void drop_large_stacks(struct bl_cpu_core *core)
{
    if (launch_stack(core, WARP_STACK) <= WARP_STACK)
        return;
    while (core->spare_clusters) {
        struct bl_cpu_cluster *cluster = core->spare_clusters;
        core->spare_clusters = cluster->next;
        core->spare_cluster_count--;
        bl_cpu_cluster_free(cluster);
    }
    for (struct bl_cpu_cta *cta = core->spare; cta; cta = cta->next)
        for (uint32_t w = 0; w < BL_CPU_MAX_WARPS; w++) {
            if (cta->fibers[w].stack.size <= WARP_STACK + BL_CPU_GUARD)
                continue;
            bl_cpu_stack_unmap(&cta->fibers[w].stack);
            cta->fibers[w].sp = NULL;
        }
}

enum begun { BEGUN, NONE_LEFT, NO_ROOM };

static void start_cta(struct bl_cpu_cta *cta, uint64_t linear, struct residents *residents)
{
    bl_cpu_cta_place(cta, linear);
    cta->runnable = cta->all;
    cta->ended = 0;
    cta->current = cta->nwarps - 1; /* the first is next */
    bl_cpu_barriers_reset(cta);
    add_resident(residents, cta);
}

static enum begun begin_cluster(struct bl_cpu_core *core, struct residents *residents)
{
    struct bl_cpu_cluster *cluster = bl_cpu_cluster_take(core);
    bool room = cluster != NULL;

    for (uint32_t r = 0; room && r < cluster->size; r++)
        room = cta_fibers(cluster->ctas[r]);
    if (!room) {
        if (cluster)
            bl_cpu_cluster_put(core, cluster);
        return NO_ROOM;
    }
    bl_cpu_cluster_begin(cluster);
    for (uint32_t r = cluster->size; r-- > 0;) /* each goes before the others: rank 0 runs first */
        start_cta(cluster->ctas[r], core->first, residents);
    core->first++;
    return BEGUN;
}

/* Begins the next CTA, or cluster. */
static enum begun begin_next(struct bl_cpu_core *core, struct residents *residents)
{
    struct bl_cpu_cta *cta;
    if (atomic_load_explicit(&core->command->stop, memory_order_relaxed))
        return NONE_LEFT;
    if (core->first >= core->end && !bl_cpu_claim(core, CHUNK_CTAS))
        return NONE_LEFT;
    if (core->command->launch.clustered)
        return begin_cluster(core, residents);
    cta = bl_cpu_cta_take(core);
    if (!cta || !bl_cpu_cta_prepare(cta, true) || !cta_fibers(cta)) {
        if (cta)
            bl_cpu_cta_put(core, cta);
        return NO_ROOM;
    }
    start_cta(cta, core->first++, residents);
    return BEGUN;
}

/* All CTAs only yield: they may wait for one not yet begun, for another thread, or for the program. */
static void all_yield(struct bl_cpu_core *core, struct residents *residents)
{
    bool room = core->command->launch.cooperative ||
                (residents->count < RESIDENT_CTAS && residents->warps + core->command->launch.nwarps <= RESIDENT_WARPS);
    residents->idle = 0;
    if (room && begin_next(core, residents) == BEGUN) {
        residents->calm = 0;
        return;
    }
    if (residents->calm++ < CALM_ROUNDS)
        sched_yield();
    else
        bl_cpu_nap(CALM_NS);
}

/* None of its warps can go on by itself. */
static bool is_stuck(const struct bl_cpu_cta *cta)
{
    return !cta->runnable && cta->ended != cta->all && (!cta->cluster || bl_cpu_cluster_is_stuck(cta->cluster));
}

/* The CTA had its turn and has not ended. */
static void go_round(struct bl_cpu_core *core, struct residents *residents, struct bl_cpu_cta *cta, bool moved)
{
    residents->at = cta;
    residents->idle = moved ? 0 : residents->idle + 1;
    if (moved)
        residents->calm = 0;
    if (residents->idle >= residents->count)
        all_yield(core, residents);
}

/* Runs the CTA after `at`. False: the command is over. */
static bool run_resident(struct bl_cpu_core *core, struct residents *residents)
{
    struct bl_cpu_cta *cta = residents->at->next;
    uint32_t ended = cta->ended, warp;

    if (!cta->runnable) { /* it waits for others of its cluster */
        go_round(core, residents, cta, false);
        return true;
    }
    warp = next_warp(cta->runnable, cta->current);
    core->moved = false;

    cta->current = warp;
    core->cta = cta;
    core->spins = 0;
    enter(core, &cta->fibers[warp]);
    if (!core->trap.set && is_stuck(cta))
        bl_cpu_trap_set(core, BL_FAULT_DEADLOCK, cta->current, 0, NULL);
    if (core->trap.set) {
        bl_cpu_trap_report(core);
        return false;
    }
    if (atomic_load_explicit(&core->command->stop, memory_order_relaxed))
        return false;
    if (cta->ended == cta->all) {
        drop_resident(core, residents, false);
        residents->idle = residents->calm = 0;
        return true;
    }
    go_round(core, residents, cta, core->moved || cta->ended != ended);
    return true;
}

bool bl_cpu_run_fibers(struct bl_cpu_core *core)
{
    struct bl_cpu_command *command = core->command;
    struct residents residents = {0};
    bool more = true, finished = true;

    core->first = core->end = 0;
    while (more || residents.count) {
        if (!residents.count) {
            enum begun result = begin_next(core, &residents);
            if (result == NO_ROOM)
                bl_cpu_out_of_memory(core, "a CTA's memory and stacks");
            more = result == BEGUN;
            continue;
        }
        if (!run_resident(core, &residents))
            break;
        if (!residents.count && core->first >= core->end && bl_cpu_turn_over(core)) {
            finished = atomic_load(&command->next_piece) >= command->total;
            break;
        }
    }
    while (residents.count)
        drop_resident(core, &residents, true);
    drop_large_stacks(core);
    core->cta = NULL;
    return finished;
}
