/* An inclusive scan: each thread sums its part, then scans it from the sum of the parts before. */
#include "scan.h"
#include "../harness.h"

enum {
    PARTS = 256,
};

void bench_setup(struct bench *bench)
{
    uint32_t *in = bench_buffer(bench, BENCH_U32, COUNT, BENCH_IN);
    bench_buffer(bench, BENCH_U32, COUNT, BENCH_OUT);
    bench_buffer(bench, BENCH_U32, 2 * TILES + 512, BENCH_SPARE);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++)
        in[i] = bench_random(&random);
    bench->work = COUNT * 8e-9;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const uint32_t *in = p[0];
    uint32_t *out = p[1], sums[PARTS];
#pragma omp parallel for
    for (int part = 0; part < PARTS; part++) {
        uint32_t sum = 0;
        for (int i = 0; i < COUNT / PARTS; i++)
            sum += in[part * (COUNT / PARTS) + i];
        sums[part] = sum;
    }
    uint32_t before = 0;
    for (int part = 0; part < PARTS; part++) {
        uint32_t sum = sums[part];
        sums[part] = before;
        before += sum;
    }
#pragma omp parallel for
    for (int part = 0; part < PARTS; part++) {
        uint32_t sum = sums[part];
        for (int i = 0; i < COUNT / PARTS; i++) {
            sum += in[part * (COUNT / PARTS) + i];
            out[part * (COUNT / PARTS) + i] = sum;
        }
    }
}
