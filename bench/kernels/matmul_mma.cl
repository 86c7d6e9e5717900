/* c = a b for f16 with f32 sums, b transposed: OpenCL has no mma, so tiles of 16x16 in local memory, converted as they are read. */
#include "matmul_mma.h"
#define TILE 16
#ifdef __OPENCL_VERSION__
kernel void matmul(global const half *a, global const half *b, global float *c, int n)
{
    local float as[TILE][TILE], bs[TILE][TILE + 1];
    int tx = get_local_id(0), ty = get_local_id(1);
    int row = get_group_id(1) * TILE, col = get_group_id(0) * TILE;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[ty][tx] = vload_half((row + ty) * n + t + tx, a);
        bs[tx][ty] = vload_half((col + ty) * n + t + tx, b);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum += as[ty][k] * bs[k][tx];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[(row + ty) * n + col + tx] = sum;
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
