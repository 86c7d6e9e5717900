/* The sum of an array. */
#include "../harness.h"
#include "reduction.h"

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    bench_buffer(bench, BENCH_F32, 1, BENCH_OUT);
    bench_tolerance(bench, 1e-3, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++)
        in[i] = bench_random_float(&random);
    bench->work = COUNT * 4e-9;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const float *in = p[0];
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int i = 0; i < COUNT; i++)
        sum += in[i];
    *(float *)p[1] = sum;
}
