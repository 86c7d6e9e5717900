/* The Mandelbrot set: iterations a point. */
#include "mandelbrot.h"
#ifdef __OPENCL_VERSION__
kernel void mandelbrot(global uint *out, int width, int height, int iterations)
{
    int px = get_global_id(0), py = get_global_id(1);
    if (px >= width || py >= height)
        return;
    float cx = -2.0f + 3.0f * px / width, cy = -1.5f + 3.0f * py / height;
    float x = 0, y = 0;
    int i = 0;
    while (i < iterations && x * x + y * y <= 4.0f) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        i++;
    }
    out[py * width + px] = i;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "mandelbrot", WIDTH / 16, HEIGHT / 16, 16, 16, "biii", 0, WIDTH, HEIGHT, ITERATIONS);
    bench_opencl_wait(cl);
}
#endif
