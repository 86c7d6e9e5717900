/* The table of what kernels call in the runtime (abi.h), and its clocks. */
#include "target/cpu/run.h"

#include <time.h>

static uint64_t help_clock(struct bl_cpu_warp *warp)
{
    const struct bl_cpu_cta *cta = warp->runtime;
    bl_cpu_obey_stop(cta->core);
    uint64_t khz = (uint64_t)cta->core->runner->device->base.props.clock_khz;
    return (uint64_t)((unsigned __int128)bl_cpu_now() * khz / 1000000);
}

static uint64_t help_globaltimer(struct bl_cpu_warp *warp)
{
    const struct bl_cpu_cta *cta = warp->runtime;
    struct timespec now;
    bl_cpu_obey_stop(cta->core);
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

const struct bl_cpu_helpers bl_cpu_helpers = {
    .barrier = bl_cpu_help_barrier,
    .barrier_arrive = bl_cpu_help_arrive,
    .barrier_red = bl_cpu_help_red,
    .cluster_arrive = bl_cpu_help_cluster_arrive,
    .cluster_wait = bl_cpu_help_cluster_wait,
    .frame = bl_cpu_help_frame,
    .barrier_begin = bl_cpu_help_barrier_begin,
    .barrier_red_begin = bl_cpu_help_red_begin,
    .barrier_red_end = bl_cpu_help_red_end,
    .yield = bl_cpu_help_yield,
    .fault = bl_cpu_help_fault,
    .vprintf = bl_cpu_help_printf,
    .malloc = bl_cpu_help_malloc,
    .free = bl_cpu_help_free,
    .assertfail = bl_cpu_help_assert,
    .clock = help_clock,
    .globaltimer = help_globaltimer,
    .bulk = bl_cpu_help_bulk,
    .image = bl_cpu_help_image,
    .matrix = bl_cpu_help_matrix,
};
