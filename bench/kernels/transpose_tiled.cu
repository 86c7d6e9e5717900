// Transposes a matrix through a tile in shared memory, padded against bank conflicts.
#include "../cuda.h"
#include "transpose_tiled.h"

__global__ void transpose(const float *in, float *out, int n)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

void bench_run_cuda(void *const *p)
{
    transpose<<<dim3(N / 32, N / 32), dim3(32, 8)>>>((const float *)p[0], (float *)p[1], N);
    FINISH();
}
