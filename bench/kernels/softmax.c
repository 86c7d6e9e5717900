/* Softmax of rows. */
#include "softmax.h"
#include "../harness.h"
#include <math.h>

void bench_setup(struct bench *bench)
{
    float *in = bench_buffer(bench, BENCH_F32, ROWS * WIDTH, BENCH_IN);
    bench_buffer(bench, BENCH_F32, ROWS * WIDTH, BENCH_OUT);
    bench_tolerance(bench, 1e-5, 1e-3, 0);
    uint64_t random = 1;
    for (int i = 0; i < ROWS * WIDTH; i++)
        in[i] = 8 * bench_random_float(&random);
    bench->work = 1e-9 * ROWS * WIDTH;
    bench->unit = "Gelement/s";
}

static void row(const float *in, float *out)
{
    float greatest = -INFINITY, sum = 0;
#pragma omp simd reduction(max : greatest)
    for (int i = 0; i < WIDTH; i++)
        greatest = in[i] > greatest ? in[i] : greatest;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < WIDTH; i++) {
        out[i] = expf(in[i] - greatest);
        sum += out[i];
    }
    for (int i = 0; i < WIDTH; i++)
        out[i] /= sum;
}

void bench_run(void *const *p)
{
#pragma omp parallel for
    for (int y = 0; y < ROWS; y++)
        row((const float *)p[0] + y * WIDTH, (float *)p[1] + y * WIDTH);
}
