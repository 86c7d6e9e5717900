/* c = a b by tiles of 16x16, copied out as the kernel does. */
#include "../harness.h"
#include "matmul_tiled.h"

#define TILE 16

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
#pragma omp parallel for collapse(2)
    for (int by = 0; by < N; by += TILE)
        for (int bx = 0; bx < N; bx += TILE) {
            float as[TILE][TILE], bs[TILE][TILE], sums[TILE][TILE] = {{0}};
            for (int t = 0; t < N; t += TILE) {
                for (int y = 0; y < TILE; y++)
                    for (int x = 0; x < TILE; x++) {
                        as[y][x] = a[(by + y) * N + t + x];
                        bs[y][x] = b[(t + y) * N + bx + x];
                    }
                for (int y = 0; y < TILE; y++)
                    for (int k = 0; k < TILE; k++)
                        for (int x = 0; x < TILE; x++)
                            sums[y][x] += as[y][k] * bs[k][x];
            }
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x++)
                    c[(by + y) * N + bx + x] = sums[y][x];
        }
}
