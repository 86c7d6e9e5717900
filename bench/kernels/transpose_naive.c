/* Transposes a matrix: two plain loops. */
#include "../harness.h"
#include "transpose_naive.h"

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, N * N, BENCH_IN);
    bench_buffer(bench, BENCH_F32, N * N, BENCH_OUT);
    for (int i = 0; i < N * N; i++)
        in[i] = (float)i;
    bench->work = N * N * 8e-9;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const float *in = p[0];
    float *out = p[1];
#pragma omp parallel for
    for (int y = 0; y < N; y++)
        for (int x = 0; x < N; x++)
            out[x * N + y] = in[y * N + x];
}
