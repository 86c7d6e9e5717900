// c = a b by tiles of 16x16 in shared memory, one element a thread.
#include "../cuda.h"
#include "matmul_tiled.h"

#define TILE 16

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty;
    int col = blockIdx.x * TILE + tx;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        as[ty][tx] = a[row * n + t + tx];
        bs[ty][tx] = b[(t + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

void bench_run_cuda(void *const *p)
{
    matmul<<<dim3(N / TILE, N / TILE), dim3(TILE, TILE)>>>((const float *)p[0], (const float *)p[1], (float *)p[2], N);
    FINISH();
}
