/* Jacobi steps of the 2-D Laplace equation. */
#include "jacobi.h"
#include "../harness.h"
#include <string.h>

void bench_setup(struct bench *bench)
{
    float *a = bench_buffer(bench, BENCH_F32, WIDTH * HEIGHT, BENCH_IN_OUT);
    bench_tolerance(bench, 1e-5, 1, 0);
    float *b = bench_buffer(bench, BENCH_F32, WIDTH * HEIGHT, BENCH_IN_OUT);
    bench_tolerance(bench, 1e-5, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        a[i] = bench_random_float(&random);
    memcpy(b, a, WIDTH * HEIGHT * sizeof *a);
    bench->work = 8e-9 * WIDTH * HEIGHT * STEPS;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    float *a = p[0], *b = p[1];
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for
        for (int y = 1; y < HEIGHT - 1; y++)
            for (int x = 1; x < WIDTH - 1; x++) {
                int i = y * WIDTH + x;
                b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - WIDTH] + a[i + WIDTH]);
            }
        float *t = a;
        a = b;
        b = t;
    }
}
