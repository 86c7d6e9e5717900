/* Transposes a matrix, straight. */
#include "transpose_naive.h"
#ifdef __OPENCL_VERSION__
kernel void transpose(global const float *in, global float *out, int n)
{
    int x = get_group_id(0) * 32 + get_local_id(0);
    int y = get_group_id(1) * 32 + get_local_id(1);
    for (int j = 0; j < 32; j += 8)
        out[x * n + y + j] = in[(y + j) * n + x];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "transpose", N / 32, N / 32, 32, 8, "bbi", 0, 1, N);
    bench_opencl_wait(cl);
}
#endif
