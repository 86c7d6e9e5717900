/* c = a b by hand: 12 rows by 32 columns in 24 registers, over panels of b that are packed to fit the first cache. */
#include "../harness.h"
#include "matmul_register.h"

typedef float vector __attribute__((vector_size(64)));

enum {
    ROWS = 12,
    COLUMNS = 32,
    DEPTH = 256,
};

/* rows: how many of ROWS are there. */
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
            sums[i][0] += a[i * N + k] * low;
            sums[i][1] += a[i * N + k] * high;
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < rows; i++) {
        *(vector *)(c + i * N) = sums[i][0];
        *(vector *)(c + i * N + 16) = sums[i][1];
    }
}

void bench_run(void *const *p)
{
    const float *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for
    for (int col = 0; col < N; col += COLUMNS) {
        vector panel[DEPTH * 2];
        for (int y = 0; y < N; y++)
            *(vector *)(c + y * N + col) = *(vector *)(c + y * N + col + 16) = (vector){0};
        for (int t = 0; t < N; t += DEPTH) {
            for (int k = 0; k < DEPTH; k++) {
                panel[2 * k] = *(const vector *)(b + (t + k) * N + col);
                panel[2 * k + 1] = *(const vector *)(b + (t + k) * N + col + 16);
            }
            int row = 0;
            for (; row + ROWS <= N; row += ROWS)
                tile(a + row * N + t, panel, c + row * N + col, ROWS);
            tile(a + row * N + t, panel, c + row * N + col, N % ROWS);
        }
    }
}
