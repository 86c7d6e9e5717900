/* Transposes a matrix by tiles that fit the cache. */
#include "../harness.h"
#include "transpose_tiled.h"

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
#pragma omp parallel for collapse(2)
    for (int by = 0; by < N; by += 32)
        for (int bx = 0; bx < N; bx += 32) {
            float tile[32][33];
            for (int j = 0; j < 32; j++)
                for (int i = 0; i < 32; i++)
                    tile[j][i] = in[(by + j) * N + bx + i];
            for (int j = 0; j < 32; j++)
                for (int i = 0; i < 32; i++)
                    out[(bx + j) * N + by + i] = tile[i][j];
        }
}
