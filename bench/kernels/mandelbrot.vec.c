/* The Mandelbrot set by hand: four vectors of points side by side, until all of them have left. */
#include "mandelbrot.h"
#include "../harness.h"

typedef float vector __attribute__((vector_size(64)));
typedef int ints __attribute__((vector_size(64)));

enum {
    VECTORS = 4,
};

static inline int any(ints mask)
{
    typedef long long words __attribute__((vector_size(64)));
    words w = (words)mask;
    return ((w[0] | w[1]) | (w[2] | w[3]) | (w[4] | w[5]) | (w[6] | w[7])) != 0;
}

void bench_run(void *const *p)
{
    unsigned *out = p[0];
    ints steps;
    for (int i = 0; i < 16; i++)
        steps[i] = i;
#pragma omp parallel for schedule(dynamic, 8)
    for (int py = 0; py < HEIGHT; py++)
        for (int px = 0; px < WIDTH; px += 16 * VECTORS) {
            float cy = -1.5f + 3.0f * py / HEIGHT;
            vector cx[VECTORS], x[VECTORS] = {{0}}, y[VECTORS] = {{0}};
            ints counts[VECTORS] = {{0}};
            for (int v = 0; v < VECTORS; v++)
                cx[v] = -2.0f + 3.0f * __builtin_convertvector(steps + (px + 16 * v), vector) / (float)WIDTH;
            for (int i = 0; i < ITERATIONS; i++) {
                ints inside = {0};
#pragma GCC unroll 4
                for (int v = 0; v < VECTORS; v++) {
                    vector xx = x[v] * x[v], yy = y[v] * y[v];
                    ints in = xx + yy <= 4.0f;
                    y[v] = 2 * x[v] * y[v] + cy;
                    x[v] = xx - yy + cx[v];
                    counts[v] -= in;
                    inside |= in;
                }
                if (!any(inside))
                    break;
            }
            for (int v = 0; v < VECTORS; v++)
                *(ints *)(out + py * WIDTH + px + 16 * v) = counts[v];
        }
}
