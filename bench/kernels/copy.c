/* Copies an array of floats. */
#include "../harness.h"
#include "copy.h"

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    bench_buffer(bench, BENCH_F32, COUNT, BENCH_OUT);
    for (int i = 0; i < COUNT; i++)
        in[i] = (float)i;
    bench->work = COUNT * 8e-9;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const float *in = p[0];
    float *out = p[1];
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++)
        out[i] = in[i];
}
