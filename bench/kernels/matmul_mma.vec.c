/* c = a b for f16 with f32 sums by hand: 12 rows by 32 columns in 24 registers, over panels of b that are converted to f32. */
#include "matmul_mma.h"
#include "../harness.h"
#include <string.h>

typedef float vector __attribute__((vector_size(64)));
typedef _Float16 halves __attribute__((vector_size(32)));

enum {
    ROWS = 12,
    COLUMNS = 32,
    DEPTH = 256,
};

/* rows: how many of ROWS are there. a: DEPTH f32 a row. */
static inline __attribute__((always_inline)) void tile(const float *a, const vector *panel, float *c, int rows)
{
    vector sums[ROWS][2];
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        sums[i][0] = *(vector *)(c + i * N);
        sums[i][1] = *(vector *)(c + i * N + 16);
    }
    for (int k = 0; k < DEPTH; k++) {
        vector low = panel[2 * k], high = panel[2 * k + 1];
#pragma GCC unroll 12
        for (int i = 0; i < rows; i++) {
            sums[i][0] += a[i * DEPTH + k] * low;
            sums[i][1] += a[i * DEPTH + k] * high;
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        *(vector *)(c + i * N) = sums[i][0];
        *(vector *)(c + i * N + 16) = sums[i][1];
    }
}

/* Part of a in f32, DEPTH columns from t, row after row. */
static void convert(const _Float16 *a, int t, float *out)
{
#pragma omp parallel for
    for (int y = 0; y < N; y++)
        for (int k = 0; k < DEPTH; k += 16) {
            halves h;
            memcpy(&h, a + y * N + t + k, sizeof h);
            *(vector *)(out + y * DEPTH + k) = __builtin_convertvector(h, vector);
        }
}

void bench_run(void *const *p)
{
    static float part[N * DEPTH] __attribute__((aligned(64)));
    const _Float16 *a = p[0], *b = p[1];
    float *c = p[2];
    memset(c, 0, N * N * sizeof *c);
    for (int t = 0; t < N; t += DEPTH) {
        convert(a, t, part);
#pragma omp parallel for
        for (int col = 0; col < N; col += COLUMNS) {
            vector panel[DEPTH * 2];
            for (int x = 0; x < COLUMNS; x++)
                for (int k = 0; k < DEPTH; k++)
                    ((float *)panel)[k * COLUMNS + x] = (float)b[(col + x) * N + t + k];
            int row = 0;
            for (; row + ROWS <= N; row += ROWS)
                tile(part + row * DEPTH, panel, c + row * N + col, ROWS);
            tile(part + row * DEPTH, panel, c + row * N + col, N % ROWS);
        }
    }
}
