/* Jacobi steps of the 2-D Laplace equation, one launch a step: OpenCL has no way for groups to wait for each other. */
#include "jacobi.h"
#ifdef __OPENCL_VERSION__
kernel void jacobi(global const float *a, global float *b, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        int i = y * width + x;
        b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width]);
    }
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    for (unsigned step = 0; step < STEPS; step++)
        bench_opencl_launch(cl, "jacobi", WIDTH / 32, HEIGHT / 8, 32, 8, "bbii", step % 2, 1 - step % 2, WIDTH, HEIGHT);
    bench_opencl_wait(cl);
}
#endif
