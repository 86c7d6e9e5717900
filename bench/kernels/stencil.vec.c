/* A 7-point stencil in three dimensions by hand: whole rows of vectors, in slabs of rows whose planes stay in the cache. */
#include "stencil.h"
#include "../harness.h"

typedef double vector __attribute__((vector_size(64)));
typedef double unaligned __attribute__((vector_size(64), aligned(8)));

enum {
    SLAB = 32,
};

static double one(const double *in)
{
    return 0.4 * in[0] + 0.1 * (in[-1] + in[1] + in[-N] + in[N] + in[-N * N] + in[N * N]);
}

static void row(const double *in, double *out)
{
    int x = 1;
    for (; x < 8; x++)
        out[x] = one(in + x);
    for (; x + 8 < N; x += 8) {
        const double *at = in + x;
        vector sum = *(const unaligned *)(at - 1) + *(const unaligned *)(at + 1) + *(const vector *)(at - N) +
                     *(const vector *)(at + N) + *(const vector *)(at - N * N) + *(const vector *)(at + N * N);
        *(vector *)(out + x) = 0.4 * *(const vector *)at + 0.1 * sum;
    }
    for (; x < N - 1; x++)
        out[x] = one(in + x);
}

void bench_run(void *const *p)
{
    const double *in = p[0];
    double *out = p[1];
#pragma omp parallel for
    for (int slab = 0; slab < N; slab += SLAB)
        for (int z = 1; z < N - 1; z++)
            for (int y = slab ? slab : 1; y < slab + SLAB && y < N - 1; y++)
                row(in + (z * N + y) * N, out + (z * N + y) * N);
}
