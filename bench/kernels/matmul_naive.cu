// c = a b, one element a thread, blocks of 16x16.
#include "../cuda.h"
#include "matmul_naive.h"

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

void bench_run_cuda(void *const *p)
{
    dim3 block(16, 16), grid((N + 15) / 16, (N + 15) / 16);
    matmul<<<grid, block>>>((const float *)p[0], (const float *)p[1], (float *)p[2], N);
    FINISH();
}
