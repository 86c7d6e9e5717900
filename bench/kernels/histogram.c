/* A histogram of bytes: one a thread, then their sum. */
#include "histogram.h"
#include "../harness.h"
#include <string.h>

void bench_setup(struct bench *bench)
{
    uint8_t *in = bench_buffer(bench, BENCH_U8, COUNT, BENCH_IN);
    bench_buffer(bench, BENCH_U32, 256, BENCH_OUT);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++)
        in[i] = (uint8_t)((bench_random(&random) >> 24) & (bench_random(&random) >> 24));
    bench->work = 1e-9 * COUNT;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const uint8_t *in = p[0];
    uint32_t *bins = p[1];
    memset(bins, 0, 256 * sizeof *bins);
#pragma omp parallel
    {
        uint32_t mine[256] = {0};
#pragma omp for
        for (int i = 0; i < COUNT; i++)
            mine[in[i]]++;
#pragma omp critical
        for (int i = 0; i < 256; i++)
            bins[i] += mine[i];
    }
}
