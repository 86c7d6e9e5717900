/* c = a b: a group of 16x16 items computes 64x64 elements, 4x4 an item, through local memory. */
#include "matmul_register.h"
#define TILE 64
#define DEPTH 16
#ifdef __OPENCL_VERSION__
kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    local float as[DEPTH][TILE], bs[DEPTH][TILE];
    int tx = get_local_id(0), ty = get_local_id(1);
    int item = ty * 16 + tx;
    int row = get_group_id(1) * TILE, col = get_group_id(0) * TILE;
    float sums[4][4] = {{0}};
    for (int t = 0; t < n; t += DEPTH) {
        for (int i = item; i < TILE * DEPTH; i += 256) {
            as[i % DEPTH][i / DEPTH] = a[(row + i / DEPTH) * n + t + i % DEPTH];
            bs[i / TILE][i % TILE] = b[(t + i / TILE) * n + col + i % TILE];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int k = 0; k < DEPTH; k++) {
            float x[4], y[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                y[i] = as[k][ty * 4 + i];
                x[i] = bs[k][tx * 4 + i];
            }
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sums[i][j] += y[i] * x[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(row + ty * 4 + i) * n + col + tx * 4 + j] = sums[i][j];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "matmul", N / TILE, N / TILE, 16, 16, "bbbi", 0, 1, 2, N);
    bench_opencl_wait(cl);
}
#endif
