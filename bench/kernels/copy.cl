/* Copies an array of floats, one an item. */
#include "copy.h"
#ifdef __OPENCL_VERSION__
kernel void copy(global const float *in, global float *out, int count)
{
    int i = get_global_id(0);
    if (i < count)
        out[i] = in[i];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "copy", (COUNT + 255) / 256, 1, 256, 1, "bbi", 0, 1, COUNT);
    bench_opencl_wait(cl);
}
#endif
