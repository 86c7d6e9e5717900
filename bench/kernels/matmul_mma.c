/* c = a b for f16 with f32 sums, b transposed: tiles of 32x32, converted to f32 as they are copied. */
#include "matmul_mma.h"
#include "../harness.h"

#define TILE 32
#define DEPTH 16

void bench_setup(struct bench *bench)
{
    _Float16 *a = bench_buffer(bench, BENCH_U16, N * N, BENCH_IN);
    _Float16 *b = bench_buffer(bench, BENCH_U16, N * N, BENCH_IN);
    bench_buffer(bench, BENCH_F32, N * N, BENCH_OUT);
    bench_tolerance(bench, 1e-4, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < N * N; i++) {
        a[i] = (_Float16)bench_random_float(&random);
        b[i] = (_Float16)bench_random_float(&random);
    }
    bench->work = 2e-9 * N * N * N;
    bench->unit = "GFLOP/s";
}

void bench_run(void *const *p)
{
    const _Float16 *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for collapse(2)
    for (int row = 0; row < N; row += TILE)
        for (int col = 0; col < N; col += TILE) {
            float as[TILE][DEPTH], bs[DEPTH][TILE], sums[TILE][TILE] = {{0}};
            for (int t = 0; t < N; t += DEPTH) {
                for (int i = 0; i < TILE; i++)
                    for (int k = 0; k < DEPTH; k++) {
                        as[i][k] = (float)a[(row + i) * N + t + k];
                        bs[k][i] = (float)b[(col + i) * N + t + k];
                    }
                for (int y = 0; y < TILE; y++)
                    for (int k = 0; k < DEPTH; k++)
                        for (int x = 0; x < TILE; x++)
                            sums[y][x] += as[y][k] * bs[k][x];
            }
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x++)
                    c[(row + y) * N + col + x] = sums[y][x];
        }
}
