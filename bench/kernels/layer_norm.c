/* Layer norm of rows. */
#include "layer_norm.h"
#include "../harness.h"
#include <math.h>

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, ROWS * WIDTH, BENCH_IN);
    float *scale = bench_buffer(bench, BENCH_F32, WIDTH, BENCH_IN);
    float *shift = bench_buffer(bench, BENCH_F32, WIDTH, BENCH_IN);
    bench_buffer(bench, BENCH_F32, ROWS * WIDTH, BENCH_OUT);
    bench_tolerance(bench, 1e-4, 1, 0);
    uint64_t random = 1;
    for (int i = 0; i < ROWS * WIDTH; i++)
        in[i] = 8 * bench_random_float(&random);
    for (int i = 0; i < WIDTH; i++) {
        scale[i] = bench_random_float(&random);
        shift[i] = bench_random_float(&random);
    }
    bench->work = 8e-9 * ROWS * WIDTH;
    bench->unit = "GB/s";
}

static void row(const float *in, const float *scale, const float *shift, float *out)
{
    float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < WIDTH; i++)
        sum += in[i];
    float mean = sum / WIDTH;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < WIDTH; i++)
        squares += (in[i] - mean) * (in[i] - mean);
    float inverse = 1 / sqrtf(squares / WIDTH + 1e-5f);
    for (int i = 0; i < WIDTH; i++)
        out[i] = (in[i] - mean) * inverse * scale[i] + shift[i];
}

void bench_run(void *const *p)
{
#pragma omp parallel for
    for (int y = 0; y < ROWS; y++)
        row((const float *)p[0] + y * WIDTH, p[1], p[2], (float *)p[3] + y * WIDTH);
}
