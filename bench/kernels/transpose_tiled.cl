/* Transposes a matrix through a tile in local memory. */
#include "transpose_tiled.h"
#ifdef __OPENCL_VERSION__
kernel void transpose(global const float *in, global float *out, int n)
{
    local float tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 32 + tx;
    int y = get_group_id(1) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        tile[ty + j][tx] = in[(y + j) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[tx][ty + j];
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
