/* The sum of an array, by hand: eight vectors at a time. */
#include "../harness.h"
#include "reduction.h"

typedef float vector __attribute__((vector_size(64)));

void bench_run(void *const *p)
{
    const vector *in = p[0];
    float sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int block = 0; block < COUNT / (1 << 16); block++) {
        const vector *at = in + (size_t)block * (1 << 12);
        vector sums[8] = {{0}};
        for (int i = 0; i < 1 << 12; i += 8)
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++)
                sums[j] += at[i + j];
        vector all = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        for (int j = 0; j < 16; j++)
            sum += all[j];
    }
    *(float *)p[1] = sum;
}
