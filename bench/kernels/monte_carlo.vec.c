/* Counts random points within the unit circle, by hand: eight draws a vector of 64-bit lanes, four vectors at a time. */
#include "monte_carlo.h"
#include "../harness.h"

typedef uint64_t vector __attribute__((vector_size(64)));
typedef uint32_t words __attribute__((vector_size(32)));
typedef int32_t ints __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(32)));

enum {
    VECTORS = 4,
};

static inline ints inside(vector a, vector b)
{
    floats x = __builtin_convertvector(__builtin_convertvector(a, ints), floats) * 0x1p-24f;
    floats y = __builtin_convertvector(__builtin_convertvector(b, ints), floats) * 0x1p-24f;
    return x * x + y * y < 1.0f;
}

void bench_run(void *const *p)
{
    unsigned count = 0;
#pragma omp parallel for reduction(+ : count)
    for (unsigned thread = 0; thread < THREADS; thread++) {
        ints sums = {0};
        for (unsigned i = 0; i < DRAWS; i += 8 * VECTORS) {
            /* 32 bits in each 64-bit lane; what is above them is not looked at by the products. */
            vector x[VECTORS], y[VECTORS], z[VECTORS], w[VECTORS];
            for (int v = 0; v < VECTORS; v++) {
                x[v] = (vector){0, 1, 2, 3, 4, 5, 6, 7} + (i + 8 * (unsigned)v);
                y[v] = w[v] = (vector){0};
                z[v] = (vector){0} + thread;
            }
            uint32_t key0 = 0x12345678, key1 = 0x9abcdef0;
#pragma GCC unroll 10
            for (int round = 0; round < 10; round++) {
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++) {
                    vector p0 = (x[v] & 0xffffffff) * 0xD2511F53u, p1 = (z[v] & 0xffffffff) * 0xCD9E8D57u;
                    x[v] = (p1 >> 32) ^ y[v] ^ key0;
                    y[v] = p1;
                    z[v] = (p0 >> 32) ^ w[v] ^ key1;
                    w[v] = p0;
                }
                key0 += 0x9E3779B9u;
                key1 += 0xBB67AE85u;
            }
            for (int v = 0; v < VECTORS; v++)
                sums += inside((x[v] & 0xffffffff) >> 8, (y[v] & 0xffffffff) >> 8) +
                        inside((z[v] & 0xffffffff) >> 8, (w[v] & 0xffffffff) >> 8);
        }
        for (int l = 0; l < 8; l++)
            count -= (unsigned)sums[l];
    }
    *(uint32_t *)p[0] = count;
}
