/* Barriers of a CTA and yielding: what kernels call whose warps are fibers or coroutines. Used through bl_cpu_helpers.
 *
 * A warp arrives as a whole: PTX counts threads at barriers in multiples of the warp's size. A warp that has ended counts as
 * arrived where all threads of the CTA are awaited.
 */
#include "target/cpu/run.h"

#include <sched.h>
#include <stdio.h>

enum { SPINS_A_WARP = 4, /* yields before other CTAs get their turn */ NAP_NS = 1000000 /* the longest at once */ };

void bl_cpu_barriers_reset(struct bl_cpu_cta *cta)
{
    if (cta->active_barriers)
        memset(cta->barriers, 0, sizeof(cta->barriers));
    cta->active_barriers = 0;
}

static bool is_full(const struct bl_cpu_cta *cta, const struct bl_cpu_barrier *barrier)
{
    if (barrier->expected)
        return barrier->count >= barrier->expected;
    return (barrier->arrived | cta->ended) == cta->all;
}

/* Ends a round: who waits goes on. */
static void release(struct bl_cpu_cta *cta, struct bl_cpu_barrier *barrier)
{
    for (uint32_t mask = barrier->waiting; mask; mask &= mask - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(mask);
        cta->red_popc[w] = barrier->popc;
        cta->red_participants[w] = barrier->participants;
    }
    cta->runnable |= barrier->waiting;
    memset(barrier, 0, sizeof(*barrier));
    cta->active_barriers &= ~(1u << (barrier - cta->barriers));
    cta->core->spins = 0;
}

void bl_cpu_barriers_warp_ended(struct bl_cpu_cta *cta)
{
    if (cta->cluster)
        bl_cpu_cluster_warp_ended(cta);
    for (uint32_t mask = cta->active_barriers; mask; mask &= mask - 1) {
        struct bl_cpu_barrier *barrier = &cta->barriers[__builtin_ctz(mask)];
        if (!barrier->expected && is_full(cta, barrier))
            release(cta, barrier);
    }
}

/* Counts the warp in. count: threads, 0 all. */
static struct bl_cpu_barrier *arrive(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count)
{
    struct bl_cpu_cta *cta = warp->runtime;
    struct bl_cpu_barrier *barrier;
    uint32_t warps = count / BL_WARP + (count % BL_WARP != 0);

    bl_cpu_obey_stop(cta->core);
    if (id >= BL_CPU_BARRIERS)
        bl_cpu_help_fault(warp, lanes, BL_FAULT_ILLEGAL_INSTRUCTION, "barrier number above 15");
    barrier = &cta->barriers[id];
    if (!(cta->active_barriers >> id & 1))
        barrier->expected = warps == cta->nwarps ? 0 : warps;
    cta->active_barriers |= 1u << id;
    barrier->arrived |= 1u << warp->warpid;
    barrier->count++;
    return barrier;
}

/* The warp is at the barrier. True: it has to wait there. */
static bool must_wait(struct bl_cpu_warp *warp, struct bl_cpu_barrier *barrier)
{
    struct bl_cpu_cta *cta = warp->runtime;
    uint32_t bit = 1u << warp->warpid;

    barrier->waiting |= bit;
    if (is_full(cta, barrier)) {
        release(cta, barrier);
        return false;
    }
    cta->runnable &= ~bit;
    return true;
}

/* Until the barrier's round has ended. */
static void wait_at(struct bl_cpu_warp *warp, struct bl_cpu_barrier *barrier)
{
    struct bl_cpu_cta *cta = warp->runtime;

    if (!must_wait(warp, barrier))
        return;
    if (!cta->fibered) {
        bl_cpu_trap_set(cta->core, BL_FAULT_DEADLOCK, warp->warpid, 0, NULL);
        bl_cpu_escape(cta->core);
    }
    bl_cpu_cta_switch(cta);
}

void bl_cpu_help_barrier(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count)
{
    wait_at(warp, arrive(warp, lanes, id, count));
}

void bl_cpu_help_arrive(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count)
{
    struct bl_cpu_cta *cta = warp->runtime;
    struct bl_cpu_barrier *barrier = arrive(warp, lanes, id, count);
    if (is_full(cta, barrier))
        release(cta, barrier);
}

static struct bl_cpu_barrier *arrive_red(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds)
{
    struct bl_cpu_barrier *barrier = arrive(warp, lanes, id, count);
    barrier->popc += (uint32_t)__builtin_popcount(preds & lanes);
    barrier->participants += (uint32_t)__builtin_popcount(lanes);
    return barrier;
}

uint32_t bl_cpu_help_red(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds,
                         uint32_t *participants)
{
    wait_at(warp, arrive_red(warp, lanes, id, count, preds));
    return bl_cpu_help_red_end(warp, participants);
}

bool bl_cpu_help_barrier_begin(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count)
{
    return must_wait(warp, arrive(warp, lanes, id, count));
}

bool bl_cpu_help_red_begin(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds)
{
    return must_wait(warp, arrive_red(warp, lanes, id, count, preds));
}

uint32_t bl_cpu_help_red_end(struct bl_cpu_warp *warp, uint32_t *participants)
{
    const struct bl_cpu_cta *cta = warp->runtime;
    if (participants)
        *participants = cta->red_participants[warp->warpid];
    return cta->red_popc[warp->warpid];
}

void *bl_cpu_help_frame(struct bl_cpu_warp *warp, uint64_t bytes)
{
    void *frame = bl_cpu_cta_frame(warp->runtime, warp->warpid, bytes);
    if (!frame)
        bl_cpu_help_fault(warp, warp->active, BL_FAULT_UNSUPPORTED, "no host memory for what a CTA keeps at a barrier");
    return frame;
}

void bl_cpu_help_yield(struct bl_cpu_warp *warp, uint32_t ns)
{
    struct bl_cpu_cta *cta = warp->runtime;
    struct bl_cpu_core *core = cta->core;

    bl_cpu_obey_stop(core);
    if (!cta->fibered) {
        ns ? bl_cpu_nap(BL_MIN(ns, (uint32_t)NAP_NS)) : (void)sched_yield();
        return;
    }
    if (++core->spins > SPINS_A_WARP * cta->nwarps)
        bl_cpu_go(core, &cta->fibers[cta->current].sp, NULL);
    else
        bl_cpu_cta_switch(cta);
}

void bl_cpu_barriers_describe(const struct bl_cpu_cta *cta, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    if (cta->cluster_waiting)
        used = (size_t)BL_MAX(snprintf(text, size, "at the cluster's barrier: %d of %u warps of the CTA of rank %u",
                                       __builtin_popcount(cta->cluster_waiting), cta->nwarps, cta->rank),
                              0);
    for (uint32_t i = 0; i < BL_CPU_BARRIERS; i++) {
        const struct bl_cpu_barrier *barrier = &cta->barriers[i];
        if (!barrier->waiting || used >= size)
            continue;
        uint32_t here = (uint32_t)__builtin_popcount(barrier->waiting), first = (uint32_t)__builtin_ctz(barrier->waiting);
        int more = snprintf(text + used, size - used, "%sat barrier %u: %u warps (threads from %u on), ", used ? "; " : "", i, here,
                            first * BL_WARP);
        used += (size_t)BL_MAX(more, 0);
        if (used >= size)
            return;
        more = barrier->expected ? snprintf(text + used, size - used, "arrived %u of %u threads", barrier->count * BL_WARP,
                                            barrier->expected * BL_WARP)
                                 : snprintf(text + used, size - used, "of %u awaited", cta->nwarps);
        used += (size_t)BL_MAX(more, 0);
    }
}
