/* Black-Scholes prices by hand: sixteen options a vector, exp and log by polynomials to about one unit in the last place. */
#include "black_scholes.h"
#include "../harness.h"
#ifdef __AVX512F__
#include <immintrin.h>
#else
#include <math.h>
#endif

typedef float vector __attribute__((vector_size(64)));
typedef int ints __attribute__((vector_size(64)));

#define RATE 0.02f
#define VOLATILITY 0.3f

static inline vector root_of(vector x)
{
#ifdef __AVX512F__
    return (vector)_mm512_sqrt_ps((__m512)x);
#else
    for (int i = 0; i < 16; i++)
        x[i] = sqrtf(x[i]);
    return x;
#endif
}

static inline vector choose(ints mask, vector yes, vector no)
{
    return (vector)((mask & (ints)yes) | (~mask & (ints)no));
}

/* For -87 < x < 88; below that it is 0. */
static inline vector exponential(vector x)
{
    const vector magic = (vector){0} + 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
    vector shifted = x * 1.442695041f + magic;
    vector n = shifted - magic;
    vector r = x - n * 0.693359375f + n * 2.12194440e-4f;
    vector q = r * 1.9875691500e-4f + 1.3981999507e-3f;
    q = q * r + 8.3334519073e-3f;
    q = q * r + 4.1665795894e-2f;
    q = q * r + 1.6666665459e-1f;
    q = q * r + 5.0000001201e-1f;
    q = q * r * r + r + 1;
    return choose(x < -87.0f, (vector){0}, (vector)((ints)q + ((ints)shifted << 23)));
}

/* For normal x above 0. */
static inline vector logarithm(vector x)
{
    ints bits = (ints)x - 0x3f3504f3; /* so that the mantissa is in [sqrt(1/2), sqrt(2)) */
    vector n = __builtin_convertvector(bits >> 23, vector);
    vector m = (vector)((bits & 0x7fffff) + 0x3f3504f3) - 1;
    vector q = m * 7.0376836292e-2f - 1.1514610310e-1f;
    q = q * m + 1.1676998740e-1f;
    q = q * m - 1.2420140846e-1f;
    q = q * m + 1.4249322787e-1f;
    q = q * m - 1.6668057665e-1f;
    q = q * m + 2.0000714765e-1f;
    q = q * m - 2.4999993993e-1f;
    q = q * m + 3.3333331174e-1f;
    return q * m * m * m - 0.5f * m * m + m + n * 0.693147181f;
}

static inline vector cumulative_normal(vector d)
{
    vector k = 1.0f / (1.0f + 0.2316419f * (vector)((ints)d & 0x7fffffff));
    vector q = k * 1.330274429f - 1.821255978f;
    q = k * q + 1.781477937f;
    q = k * q - 0.356563782f;
    q = k * q + 0.31938153f;
    vector tail = 0.39894228f * exponential(-0.5f * d * d) * (k * q);
    return choose(d > 0.0f, 1.0f - tail, tail);
}

void bench_run(void *const *p)
{
    const vector *price = p[0], *strike = p[1], *years = p[2];
    vector *call = p[3], *put = p[4];
#pragma omp parallel for
    for (int i = 0; i < COUNT / 16; i++) {
        vector s = price[i], x = strike[i], t = years[i];
        vector root = root_of(t);
        vector d1 = (logarithm(s / x) + (RATE + 0.5f * VOLATILITY * VOLATILITY) * t) / (VOLATILITY * root);
        vector d2 = d1 - VOLATILITY * root;
        vector n1 = cumulative_normal(d1), n2 = cumulative_normal(d2);
        vector discounted = x * exponential(-RATE * t);
        call[i] = s * n1 - discounted * n2;
        put[i] = discounted * (1.0f - n2) - s * (1.0f - n1);
    }
}
