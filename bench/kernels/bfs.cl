/* Breadth-first search of a graph in compressed rows, level by level. */
#include "bfs.h"
#ifdef __OPENCL_VERSION__
kernel void zero(global uint *changed)
{
    *changed = 0;
}

kernel void expand(global const uint *rows, global const uint *edges, global uint *levels, uint level, global uint *changed,
                 int count)
{
    int node = get_global_id(0);
    if (node >= count || levels[node] != level)
        return;
    for (uint e = rows[node]; e < rows[node + 1]; e++) {
        uint other = edges[e];
        if (levels[other] == FAR) {
            levels[other] = level + 1;
            *changed = 1;
        }
    }
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    const volatile uint32_t *changed = p[3]; /* the buffer is the host's memory */
    uint32_t more = 1;
    for (unsigned level = 0; more; level++) {
        bench_opencl_launch(cl, "zero", 1, 1, 1, 1, "b", 3);
        bench_opencl_launch(cl, "expand", (NODES + 255) / 256, 1, 256, 1, "bbbubi", 0, 1, 2, level, 3, NODES);
        bench_opencl_wait(cl);
        more = *changed;
    }
}
#endif
