/* c = a b: tiles of 64x64, through copies of what they need, as the kernel does. */
#include "../harness.h"
#include "matmul_register.h"

#define TILE 64
#define DEPTH 16

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

/* One step of DEPTH: 4 rows at a time, so that the compiler can keep their sums in registers. */
static void multiply(float as[DEPTH][TILE], float bs[DEPTH][TILE], float sums[TILE][TILE])
{
    for (int y = 0; y < TILE; y += 4)
        for (int k = 0; k < DEPTH; k++)
            for (int i = 0; i < 4; i++)
                for (int x = 0; x < TILE; x++)
                    sums[y + i][x] += as[k][y + i] * bs[k][x];
}

void bench_run(void *const *p)
{
    const float *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for collapse(2)
    for (int row = 0; row < N; row += TILE)
        for (int col = 0; col < N; col += TILE) {
            float as[DEPTH][TILE], bs[DEPTH][TILE], sums[TILE][TILE] = {{0}};
            for (int t = 0; t < N; t += DEPTH) {
                for (int i = 0; i < TILE; i++)
                    for (int k = 0; k < DEPTH; k++)
                        as[k][i] = a[(row + i) * N + t + k];
                for (int k = 0; k < DEPTH; k++)
                    for (int i = 0; i < TILE; i++)
                        bs[k][i] = b[(t + k) * N + col + i];
                multiply(as, bs, sums);
            }
            for (int y = 0; y < TILE; y++)
                for (int x = 0; x < TILE; x++)
                    c[(row + y) * N + col + x] = sums[y][x];
        }
}
