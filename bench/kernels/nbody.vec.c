/* Accelerations of bodies by all others, by hand: 64 bodies in registers against one after the other; the inverse root from the
 * processor's estimate and one step of Newton's method. */
#include "nbody.h"
#include "../harness.h"
#include <math.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef float vector __attribute__((vector_size(64)));

#define SOFTENING 1e-3f
enum {
    VECTORS = 4,
};

static inline vector inverse_root(vector x)
{
#ifdef __AVX512F__
    vector y = (vector)_mm512_rsqrt14_ps((__m512)x);
    return y * (1.5f - 0.5f * x * y * y);
#else
    vector y;
    for (int i = 0; i < 16; i++)
        y[i] = 1 / sqrtf(x[i]);
    return y;
#endif
}

void bench_run(void *const *p)
{
    const float(*bodies)[4] = p[0];
    float(*out)[4] = p[1];
#pragma omp parallel for
    for (int i = 0; i < BODIES; i += 16 * VECTORS) {
        vector me[3][VECTORS], sum[3][VECTORS] = {{{0}}};
        for (int l = 0; l < 16 * VECTORS; l++)
            for (int d = 0; d < 3; d++)
                me[d][l / 16][l % 16] = bodies[i + l][d];
        for (int j = 0; j < BODIES; j++)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++) {
                vector dx = bodies[j][0] - me[0][v], dy = bodies[j][1] - me[1][v], dz = bodies[j][2] - me[2][v];
                vector inverse = inverse_root(dx * dx + dy * dy + dz * dz + SOFTENING);
                vector force = bodies[j][3] * inverse * inverse * inverse;
                sum[0][v] += dx * force;
                sum[1][v] += dy * force;
                sum[2][v] += dz * force;
            }
        for (int l = 0; l < 16 * VECTORS; l++) {
            for (int d = 0; d < 3; d++)
                out[i + l][d] = sum[d][l / 16][l % 16];
            out[i + l][3] = 0;
        }
    }
}
