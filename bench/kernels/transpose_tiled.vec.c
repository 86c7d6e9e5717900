/* Transposes a matrix by hand: blocks of 16x16 in sixteen registers, by four rounds of shuffles; the blocks of one output row
 * band follow each other, so that whole cache lines are written. */
#include "transpose_tiled.h"
#include "../harness.h"
#include <string.h>

typedef float vector __attribute__((vector_size(64)));
typedef float unaligned __attribute__((vector_size(64), aligned(4)));

#define LOW(a, b, s)                                                                                                               \
    __builtin_shufflevector(a, b, P(0, s), P(1, s), P(2, s), P(3, s), P(4, s), P(5, s), P(6, s), P(7, s), P(8, s), P(9, s),        \
                            P(10, s), P(11, s), P(12, s), P(13, s), P(14, s), P(15, s))
#define HIGH(a, b, s)                                                                                                              \
    __builtin_shufflevector(a, b, Q(0, s), Q(1, s), Q(2, s), Q(3, s), Q(4, s), Q(5, s), Q(6, s), Q(7, s), Q(8, s), Q(9, s),        \
                            Q(10, s), Q(11, s), Q(12, s), Q(13, s), Q(14, s), Q(15, s))
/* One round swaps the bit s of the row's number with that of the column's. */
#define P(i, s) (((i) & (s)) ? 16 + (i) - (s) : (i))
#define Q(i, s) (((i) & (s)) ? 16 + (i) : (i) + (s))
#define ROUND(s)                                                                                                                   \
    for (int i = 0; i < 16; i++)                                                                                                   \
        if (!(i & (s))) {                                                                                                          \
            vector a = r[i], b = r[i + (s)];                                                                                       \
            r[i] = LOW(a, b, s);                                                                                                   \
            r[i + (s)] = HIGH(a, b, s);                                                                                            \
        }

static inline __attribute__((always_inline)) void block(const float *in, float *out)
{
    vector r[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        r[i] = *(const unaligned *)(in + i * N);
#pragma GCC unroll 16
    ROUND(1)
#pragma GCC unroll 16
    ROUND(2)
#pragma GCC unroll 16
    ROUND(4)
#pragma GCC unroll 16
    ROUND(8)
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        *(unaligned *)(out + i * N) = r[i];
}

void bench_run(void *const *p)
{
    const float *in = p[0];
    float *out = p[1];
#pragma omp parallel for collapse(2)
    for (int by = 0; by < N; by += 64)
        for (int bx = 0; bx < N; bx += 16)
            for (int y = by; y < by + 64; y += 16)
                block(in + y * N + bx, out + bx * N + y);
}
