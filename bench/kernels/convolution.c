/* A separable convolution of an image with 17 taps a direction: rows, then columns. */
#include "convolution.h"
#include "../harness.h"
#include <string.h>

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, WIDTH * HEIGHT, BENCH_IN);
    float *taps = bench_buffer(bench, BENCH_F32, 2 * RADIUS + 1, BENCH_IN);
    bench_buffer(bench, BENCH_F32, WIDTH * HEIGHT, BENCH_SPARE);
    bench_buffer(bench, BENCH_F32, WIDTH * HEIGHT, BENCH_OUT);
    bench_tolerance(bench, 1e-5, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        in[i] = bench_random_float(&random);
    for (int i = 0; i <= 2 * RADIUS; i++)
        taps[i] = 1.0f / (float)(3 + (i - RADIUS) * (i - RADIUS));
    bench->work = 1e-9 * WIDTH * HEIGHT * 4 * (2 * RADIUS + 1);
    bench->unit = "GFLOP/s";
}

static void row(const float *taps, const float *in, float *out)
{
    float line[WIDTH + 2 * RADIUS] = {0};
    memcpy(line + RADIUS, in, WIDTH * sizeof *in);
    for (int x = 0; x < WIDTH; x++) {
        float sum = 0;
        for (int i = 0; i <= 2 * RADIUS; i++)
            sum += taps[i] * line[x + i];
        out[x] = sum;
    }
}

void bench_run(void *const *p)
{
    const float *in = p[0], *taps = p[1];
    float *between = p[2], *out = p[3];
#pragma omp parallel for
    for (int y = 0; y < HEIGHT; y++)
        row(taps, in + y * WIDTH, between + y * WIDTH);
#pragma omp parallel for
    for (int y = 0; y < HEIGHT; y++) {
        float sums[WIDTH] = {0};
        for (int i = 0; i <= 2 * RADIUS; i++) {
            int from = y + i - RADIUS;
            if (from < 0 || from >= HEIGHT)
                continue;
            for (int x = 0; x < WIDTH; x++)
                sums[x] += taps[i] * between[from * WIDTH + x];
        }
        memcpy(out + y * WIDTH, sums, sizeof sums);
    }
}
