// c = a b: a block of 16x16 threads computes 64x64 elements, 4x4 a thread in registers, through shared memory.
#include "../cuda.h"
#include "matmul_register.h"

#define TILE 64
#define DEPTH 16

__global__ void matmul(const float *a, const float *b, float *c, int n)
{
    __shared__ float as[DEPTH][TILE], bs[DEPTH][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int thread = ty * 16 + tx;
    int row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    float sums[4][4] = {};
    for (int t = 0; t < n; t += DEPTH) {
        for (int i = thread; i < TILE * DEPTH; i += 256) {
            as[i % DEPTH][i / DEPTH] = a[(row + i / DEPTH) * n + t + i % DEPTH];
            bs[i / TILE][i % TILE] = b[(t + i / TILE) * n + col + i % TILE];
        }
        __syncthreads();
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
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            c[(row + ty * 4 + i) * n + col + tx * 4 + j] = sums[i][j];
}

void bench_run_cuda(void *const *p)
{
    matmul<<<dim3(N / TILE, N / TILE), dim3(16, 16)>>>((const float *)p[0], (const float *)p[1], (float *)p[2], N);
    FINISH();
}
