// Black-Scholes prices of European options, one a thread.
#include "../cuda.h"
#include "black_scholes.h"

#define RATE 0.02f
#define VOLATILITY 0.3f

__device__ float cumulative_normal(float d)
{
    const float a1 = 0.31938153f, a2 = -0.356563782f, a3 = 1.781477937f, a4 = -1.821255978f, a5 = 1.330274429f;
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float tail = 0.39894228f * expf(-0.5f * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
    return d > 0 ? 1.0f - tail : tail;
}

__global__ void black_scholes(const float *price, const float *strike, const float *years, float *call, float *put, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float s = price[i], x = strike[i], t = years[i];
    float root = sqrtf(t);
    float d1 = (logf(s / x) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root);
    float d2 = d1 - VOLATILITY * root;
    float n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
    float discounted = x * expf(-RATE * t);
    call[i] = s * n1 - discounted * n2;
    put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
}

void bench_run_cuda(void *const *p)
{
    black_scholes<<<(COUNT + 255) / 256, 256>>>((const float *)p[0], (const float *)p[1], (const float *)p[2], (float *)p[3],
                                                (float *)p[4], COUNT);
    FINISH();
}
