/* c = a b by hand, by tiles of 16x16: the tile of c is sixteen registers, the row of b a seventeenth. */
#include "../harness.h"
#include "matmul_tiled.h"

typedef float vector __attribute__((vector_size(64)));

#define TILE 16

void bench_run(void *const *p)
{
    const float *a = p[0], *b = p[1];
    float *c = p[2];
#pragma omp parallel for collapse(2)
    for (int bx = 0; bx < N; bx += TILE)
        for (int by = 0; by < N; by += TILE) {
            vector sums[TILE] = {{0}};
            for (int k = 0; k < N; k++) {
                vector row = *(const vector *)(b + k * N + bx);
#pragma GCC unroll 16
                for (int y = 0; y < TILE; y++)
                    sums[y] += a[(by + y) * N + k] * row;
            }
            for (int y = 0; y < TILE; y++)
                *(vector *)(c + (by + y) * N + bx) = sums[y];
        }
}
