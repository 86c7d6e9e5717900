// Breadth-first search of a graph in compressed rows, level by level: every node of the last level looks at its neighbours.
#include "../cuda.h"
#include "bfs.h"

__global__ void step(const unsigned *rows, const unsigned *edges, unsigned *levels, unsigned level, unsigned *changed, int count)
{
    int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= count || levels[node] != level)
        return;
    for (unsigned e = rows[node]; e < rows[node + 1]; e++) {
        unsigned other = edges[e];
        if (levels[other] == FAR) {
            levels[other] = level + 1;
            *changed = 1;
        }
    }
}

void bench_run_cuda(void *const *p)
{
    unsigned *changed = (unsigned *)p[3], more = 1;
    for (unsigned level = 0; more; level++) {
        CHECK(cudaMemsetAsync(changed, 0, sizeof more));
        step<<<(NODES + 255) / 256, 256>>>((const unsigned *)p[0], (const unsigned *)p[1], (unsigned *)p[2], level, changed,
                                           NODES);
        CHECK(cudaMemcpy(&more, changed, sizeof more, cudaMemcpyDeviceToHost));
    }
    FINISH();
}
