/* A histogram of bytes: atomics in local memory, then one a bin and group in global memory. */
#include "histogram.h"
#ifdef __OPENCL_VERSION__
kernel void zero(global uint *bins)
{
    bins[get_global_id(0)] = 0;
}

kernel void histogram(global const uchar *in, global uint *bins, int count)
{
    local uint mine[256];
    int item = get_local_id(0);
    mine[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        atomic_inc(&mine[in[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[item], mine[item]);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "zero", 1, 1, 256, 1, "b", 1);
    bench_opencl_launch(cl, "histogram", 240, 1, 256, 1, "bbi", 0, 1, COUNT);
    bench_opencl_wait(cl);
}
#endif
