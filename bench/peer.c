/* The peers that bench.cu compares with: the same loops in C with OpenMP, built by gcc -O3 -march=native -fopenmp. */
#include <stddef.h>

void peer_add(const float *a, const float *b, float *c, size_t count)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        c[i] = a[i] + b[i];
}

/* Two thousand fused multiply-adds an element. */
void peer_fma(const float *in, float *out, size_t count, float a, float b)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        float x = in[i];
        for (int k = 0; k < 2000; k++)
            x = __builtin_fmaf(x, a, b);
        out[i] = x;
    }
}

/* The same, written so that the compiler keeps 64 elements in registers: the best that C reaches here. */
void peer_fma_blocked(const float *in, float *out, size_t count, float a, float b)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count / 64; i++) {
        float x[64];
        for (int j = 0; j < 64; j++)
            x[j] = in[i * 64 + j];
        for (int k = 0; k < 2000; k++)
            for (int j = 0; j < 64; j++)
                x[j] = __builtin_fmaf(x[j], a, b);
        for (int j = 0; j < 64; j++)
            out[i * 64 + j] = x[j];
    }
}
