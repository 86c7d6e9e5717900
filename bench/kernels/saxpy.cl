/* y += a x. */
#include "saxpy.h"
#ifdef __OPENCL_VERSION__
kernel void saxpy(int count, float a, global const float *x, global float *y)
{
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        y[i] = a * x[i] + y[i];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "saxpy", 32 * bench_opencl_units(cl), 1, 256, 1, "ifbb", COUNT, 2.5, 0, 1);
    bench_opencl_wait(cl);
}
#endif
