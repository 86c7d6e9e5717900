/* Black-Scholes prices of European options. */
#include "black_scholes.h"
#include "../harness.h"
#include <math.h>

#define RATE 0.02f
#define VOLATILITY 0.3f

void bench_setup(struct bench *bench)
{
    float *price = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    float *strike = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    float *years = bench_buffer(bench, BENCH_F32, COUNT, BENCH_IN);
    bench_buffer(bench, BENCH_F32, COUNT, BENCH_OUT);
    bench_tolerance(bench, 1e-5, 100, 0);
    bench_buffer(bench, BENCH_F32, COUNT, BENCH_OUT);
    bench_tolerance(bench, 1e-5, 100, 0);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++) {
        price[i] = 5 + 25 * bench_random_float(&random);
        strike[i] = 1 + 99 * bench_random_float(&random);
        years[i] = 0.25f + 9.75f * bench_random_float(&random);
    }
    bench->work = 1e-9 * COUNT;
    bench->unit = "Goption/s";
}

static float cumulative_normal(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - tail : tail;
}

void bench_run(void *const *p)
{
    const float *price = p[0], *strike = p[1], *years = p[2];
    float *call = p[3], *put = p[4];
#pragma omp parallel for
    for (int i = 0; i < COUNT; i++) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root);
        float d2 = d1 - VOLATILITY * root;
        float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
        float discounted = x * expf(-RATE * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
