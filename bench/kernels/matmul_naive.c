/* c = a b, three plain loops. */
#include "../harness.h"
#include "matmul_naive.h"

void bench_setup(struct bench *bench)
{
    float *a = bench_buffer(bench, BENCH_F32, N * N, BENCH_IN);
    float *b = bench_buffer(bench, BENCH_F32, N * N, BENCH_IN);
    bench_buffer(bench, BENCH_F32, N * N, BENCH_OUT);
    bench_tolerance(bench, 1e-4, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < N * N; i++) {
        a[i] = bench_random_float(&random);
        b[i] = bench_random_float(&random);
    }
    bench->work = 2e-9 * N * N * N;
    bench->unit = "GFLOP/s";
}

void bench_run(void *const *p)
{
    const float *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for
    for (int row = 0; row < N; row++)
        for (int col = 0; col < N; col++) {
            float sum = 0;
            for (int k = 0; k < N; k++)
                sum += a[row * N + k] * b[k * N + col];
            c[row * N + col] = sum;
        }
}
