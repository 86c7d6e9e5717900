/* Breadth-first search of a random graph in compressed rows, level by level. */
#include "bfs.h"
#include "../harness.h"
#include <string.h>

void bench_setup(struct bench *bench)
{
    uint32_t *rows = bench_buffer(bench, BENCH_U32, NODES + 1, BENCH_IN);
    uint32_t *edges = bench_buffer(bench, BENCH_U32, NODES * DEGREE, BENCH_IN);
    uint32_t *levels = bench_buffer(bench, BENCH_U32, NODES, BENCH_IN_OUT);
    bench_buffer(bench, BENCH_U32, 1, BENCH_SPARE);
    uint64_t random = 1;
    for (int i = 0; i < NODES * DEGREE; i++) {
        rows[1 + bench_random(&random) % NODES]++;
        edges[i] = bench_random(&random) % NODES;
    }
    for (int i = 0; i < NODES; i++)
        rows[i + 1] += rows[i];
    memset(levels, 0xff, NODES * sizeof *levels);
    levels[0] = 0;
    bench->work = 1e-9 * NODES * DEGREE;
    bench->unit = "Gedge/s";
}

void bench_run(void *const *p)
{
    const uint32_t *rows = p[0], *edges = p[1];
    uint32_t *levels = p[2], more = 1;
    for (uint32_t level = 0; more; level++) {
        more = 0;
#pragma omp parallel for schedule(dynamic, 4096) reduction(| : more)
        for (int node = 0; node < NODES; node++) {
            if (levels[node] != level)
                continue;
            for (uint32_t e = rows[node]; e < rows[node + 1]; e++)
                if (levels[edges[e]] == FAR) {
                    levels[edges[e]] = level + 1;
                    more = 1;
                }
        }
    }
}
