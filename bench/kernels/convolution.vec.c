/* A separable convolution by hand: bands of rows whose intermediate rows stay in the cache, four vectors at a time. */
#include "convolution.h"
#include "../harness.h"
#include <string.h>

typedef float vector __attribute__((vector_size(64)));
typedef float unaligned __attribute__((vector_size(64), aligned(4)));

enum {
    BAND = 32,
    TAPS = 2 * RADIUS + 1,
};

static void row(const float *taps, const float *in, float *out)
{
    float line[WIDTH + 2 * RADIUS];
    memset(line, 0, RADIUS * sizeof *line);
    memcpy(line + RADIUS, in, WIDTH * sizeof *line);
    memset(line + RADIUS + WIDTH, 0, RADIUS * sizeof *line);
    for (int x = 0; x < WIDTH; x += 64) {
        vector sums[4] = {{0}};
#pragma GCC unroll 17
        for (int i = 0; i < TAPS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
                sums[v] += taps[i] * *(const unaligned *)(line + x + i + 16 * v);
        memcpy(out + x, sums, sizeof sums);
    }
}

/* One row from the 2 * RADIUS + 1 rows around it. */
static void column(const float *taps, const float *rows, float *out)
{
    for (int x = 0; x < WIDTH; x += 64) {
        vector sums[4] = {{0}};
#pragma GCC unroll 17
        for (int i = 0; i < TAPS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < 4; v++)
                sums[v] += taps[i] * *(const unaligned *)(rows + i * WIDTH + x + 16 * v);
        memcpy(out + x, sums, sizeof sums);
    }
}

void bench_run(void *const *p)
{
    const float *in = p[0], *taps = p[1];
    float *out = p[3];
#pragma omp parallel for
    for (int band = 0; band < HEIGHT; band += BAND) {
        static _Thread_local float rows[(BAND + 2 * RADIUS) * WIDTH];
        for (int i = 0; i < BAND + 2 * RADIUS; i++) {
            int y = band + i - RADIUS;
            if (y < 0 || y >= HEIGHT)
                memset(rows + i * WIDTH, 0, WIDTH * sizeof *rows);
            else
                row(taps, in + y * WIDTH, rows + i * WIDTH);
        }
        for (int i = 0; i < BAND; i++)
            column(taps, rows + i * WIDTH, out + (band + i) * WIDTH);
    }
}
