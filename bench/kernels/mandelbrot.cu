// The Mandelbrot set: iterations a point, blocks of 16x16.
#include "../cuda.h"
#include "mandelbrot.h"

__global__ void mandelbrot(unsigned *out, int width, int height, int iterations)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
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

void bench_run_cuda(void *const *p)
{
    mandelbrot<<<dim3(WIDTH / 16, HEIGHT / 16), dim3(16, 16)>>>((unsigned *)p[0], WIDTH, HEIGHT, ITERATIONS);
    FINISH();
}
