/* Accelerations of bodies by all others. */
#include "nbody.h"
#include "../harness.h"
#include <math.h>

#define SOFTENING 1e-3f

void bench_setup(struct bench *bench)
{
    float *bodies = bench_buffer(bench, BENCH_F32, 4 * BODIES, BENCH_IN);
    bench_buffer(bench, BENCH_F32, 4 * BODIES, BENCH_OUT);
    bench_tolerance(bench, 1e-3, 10, 0);
    uint64_t random = 1;
    for (int i = 0; i < 4 * BODIES; i++)
        bodies[i] = bench_random_float(&random);
    bench->work = 20e-9 * BODIES * BODIES;
    bench->unit = "GFLOP/s (20 an interaction)";
}

void bench_run(void *const *p)
{
    const float(*bodies)[4] = p[0];
    float(*out)[4] = p[1];
#pragma omp parallel for
    for (int i = 0; i < BODIES; i++) {
        float x = 0, y = 0, z = 0;
#pragma omp simd reduction(+ : x, y, z)
        for (int j = 0; j < BODIES; j++) {
            float dx = bodies[j][0] - bodies[i][0], dy = bodies[j][1] - bodies[i][1], dz = bodies[j][2] - bodies[i][2];
            float inverse = 1 / sqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            float force = bodies[j][3] * inverse * inverse * inverse;
            x += dx * force;
            y += dy * force;
            z += dz * force;
        }
        out[i][0] = x;
        out[i][1] = y;
        out[i][2] = z;
        out[i][3] = 0;
    }
}
