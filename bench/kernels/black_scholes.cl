/* Black-Scholes prices of European options, one an item. */
#include "black_scholes.h"
#ifdef __OPENCL_VERSION__
#define RATE 0.02f
#define VOLATILITY 0.3f

float cumulative_normal(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    float tail = 0.39894228f * exp(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - tail : tail;
}

kernel void black_scholes(global const float *price, global const float *strike, global const float *years, global float *call,
                          global float *put, int count)
{
    int i = get_global_id(0);
    if (i >= count)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrt(t);
    float d1 = (log(s / x) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root);
    float d2 = d1 - VOLATILITY * root;
    float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
    float discounted = x * exp(-RATE * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "black_scholes", (COUNT + 255) / 256, 1, 256, 1, "bbbbbi", 0, 1, 2, 3, 4, COUNT);
    bench_opencl_wait(cl);
}
#endif
