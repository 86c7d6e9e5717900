/* c = a b by tiles of 16x16 in local memory, one element an item. */
#include "matmul_tiled.h"
#define TILE 16
#ifdef __OPENCL_VERSION__
kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    local float as[TILE][TILE], bs[TILE][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int row = get_group_id(1) * TILE + ty;
    int col = get_group_id(0) * TILE + tx;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += as[ty][k] * bs[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "matmul", N / TILE, N / TILE, TILE, TILE, "bbbi", 0, 1, 2, N);
    bench_opencl_wait(cl);
}
#endif
