/* The sum of an array: a tree in local memory, as OpenCL 1.2 has no shuffles; one atomic a group. */
#include "reduction.h"
#ifdef __OPENCL_VERSION__
void add(volatile global uint *out, float value)
{
    uint seen = *out, was;
    do {
        was = seen;
        seen = atomic_cmpxchg(out, was, as_uint(as_float(was) + value));
    } while (seen != was);
}

kernel void zero(global float *out)
{
    *out = 0;
}

kernel void reduce(global const float *in, global uint *out, int count)
{
    local float sums[256];
    int item = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < count; i += get_global_size(0))
        sum += in[i];
    sums[item] = sum;
    for (int offset = 128; offset > 0; offset /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < offset)
            sums[item] += sums[item + offset];
    }
    if (item == 0)
        add(out, sums[0]);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "zero", 1, 1, 1, 1, "b", 1);
    bench_opencl_launch(cl, "reduce", 1024, 1, 256, 1, "bbi", 0, 1, COUNT);
    bench_opencl_wait(cl);
}
#endif
