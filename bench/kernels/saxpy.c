/* y += a x. */
#include "../harness.h"
#include "saxpy.h"

void bench_setup(struct bench *bench)
{
    float *x = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    float *y = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN_OUT);
    bench_tolerance(bench, 1e-6, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        x[i] = bench_random_float(&random);
        y[i] = bench_random_float(&random);
    }
    bench->work = COUNT * 12e-9;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const float *x = p[0];
    float *y = p[1];
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        y[i] = 2.5f * x[i] + y[i];
}
