/* Softmax of rows by hand: the exponential by a polynomial to about one unit in the last place, one division a row. */
#include "softmax.h"
#include "../harness.h"
#include <math.h>

typedef float vector __attribute__((vector_size(64)));
typedef int ints __attribute__((vector_size(64)));

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
    return (vector)((x > -87.0f) & ((ints)q + ((ints)shifted << 23)));
}

static inline vector greater(vector a, vector b)
{
    ints mask = a > b;
    return (vector)((mask & (ints)a) | (~mask & (ints)b));
}

static void row(const vector *in, vector *out)
{
    vector most[4], sums[4] = {{0}};
    for (int v = 0; v < 4; v++)
        most[v] = in[v];
    for (int i = 4; i < WIDTH / 16; i += 4)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            most[v] = greater(most[v], in[i + v]);
    vector all = greater(greater(most[0], most[1]), greater(most[2], most[3]));
    float greatest = all[0];
    for (int l = 1; l < 16; l++)
        greatest = all[l] > greatest ? all[l] : greatest;
    for (int i = 0; i < WIDTH / 16; i += 4)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) {
            vector e = exponential(in[i + v] - greatest);
            out[i + v] = e;
            sums[v] += e;
        }
    all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    float sum = 0;
    for (int l = 0; l < 16; l++)
        sum += all[l];
    float inverse = 1 / sum;
    for (int i = 0; i < WIDTH / 16; i++)
        out[i] *= inverse;
}

void bench_run(void *const *p)
{
#pragma omp parallel for
    for (int y = 0; y < ROWS; y++)
        row((const vector *)((const float *)p[0] + y * WIDTH), (vector *)((float *)p[1] + y * WIDTH));
}
