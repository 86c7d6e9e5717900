/* A 7-point stencil in three dimensions, f64. */
#include "stencil.h"
#include "../harness.h"

void bench_setup(struct bench *bench)
{
    double *in = bench_buffer(bench, BENCH_F64, N * N * N, BENCH_IN);
    bench_buffer(bench, BENCH_F64, N * N * N, BENCH_IN_OUT); /* its border stays */
    bench_tolerance(bench, 1e-14, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < N * N * N; i++)
        in[i] = (double)bench_random_float(&random);
    bench->work = 16e-9 * N * N * N;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const double *in = p[0];
    double *out = p[1];
#pragma omp parallel for
    for (int z = 1; z < N - 1; z++)
        for (int y = 1; y < N - 1; y++)
            for (int x = 1; x < N - 1; x++) {
                int i = (z * N + y) * N + x;
                out[i] = 0.4 * in[i] + 0.1 * (in[i - 1] + in[i + 1] + in[i - N] + in[i + N] + in[i - N * N] + in[i + N * N]);
            }
}
