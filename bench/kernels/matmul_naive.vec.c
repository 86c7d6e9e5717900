/* c = a b by hand, without packing or blocking for the caches: 8 rows by 32 columns in registers. */
#include "../harness.h"
#include "matmul_naive.h"

typedef float vector __attribute__((vector_size(64)));

void bench_run(void *const *p)
{
    const float *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for collapse(2)
    for (int col = 0; col < N; col += 32)
        for (int row = 0; row < N; row += 8) {
            vector sums[8][2] = {{{0}}};
            for (int k = 0; k < N; k++) {
                vector low = *(const vector *)(b + k * N + col), high = *(const vector *)(b + k * N + col + 16);
#pragma GCC unroll 8
                for (int i = 0; i < 8; i++) {
                    sums[i][0] += a[(row + i) * N + k] * low;
                    sums[i][1] += a[(row + i) * N + k] * high;
                }
            }
            for (int i = 0; i < 8; i++) {
                *(vector *)(c + (row + i) * N + col) = sums[i][0];
                *(vector *)(c + (row + i) * N + col + 16) = sums[i][1];
            }
        }
}
