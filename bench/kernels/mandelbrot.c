/* The Mandelbrot set: iterations a point. */
#include "mandelbrot.h"
#include "../harness.h"

/* Rounding decides near the border. */
void bench_setup(struct bench *bench)
{
    bench_buffer(bench, BENCH_U32, WIDTH * HEIGHT, BENCH_OUT);
    bench_tolerance(bench, 0, 0, 0.005);
    bench->work = 1e-9 * WIDTH * HEIGHT;
    bench->unit = "Gpoint/s";
}

void bench_run(void *const *p)
{
    unsigned *out = p[0];
#pragma omp parallel for schedule(dynamic, 8)
    for (int py = 0; py < HEIGHT; py++)
        for (int px = 0; px < WIDTH; px++) {
            float cx = -2.0f + 3.0f * px / WIDTH, cy = -1.5f + 3.0f * py / HEIGHT;
            float x = 0, y = 0;
            int i = 0;
            while (i < ITERATIONS && x * x + y * y <= 4.0f) {
                float t = x * x - y * y + cx;
                y = 2 * x * y + cy;
                x = t;
                i++;
            }
            out[py * WIDTH + px] = (unsigned)i;
        }
}
