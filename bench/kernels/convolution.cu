// A separable convolution of an image with 17 taps a direction: rows, then columns, each through shared memory.
#include "../cuda.h"
#include "convolution.h"

__constant__ float taps[2 * RADIUS + 1];

__global__ void rows(const float *in, float *out, int width)
{
    __shared__ float line[256 + 2 * RADIUS];
    int x = blockIdx.x * 256 + threadIdx.x;
    const float *row = in + blockIdx.y * width;
    line[threadIdx.x + RADIUS] = row[x];
    if (threadIdx.x < RADIUS) {
        line[threadIdx.x] = x >= RADIUS ? row[x - RADIUS] : 0;
        line[threadIdx.x + 256 + RADIUS] = x + 256 < width ? row[x + 256] : 0;
    }
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
        sum += taps[i] * line[threadIdx.x + i];
    out[blockIdx.y * width + x] = sum;
}

__global__ void columns(const float *in, float *out, int width, int height)
{
    __shared__ float tile[16 + 2 * RADIUS][16];
    int x = blockIdx.x * 16 + threadIdx.x;
    int first = blockIdx.y * 16 - RADIUS;
    for (int i = threadIdx.y; i < 16 + 2 * RADIUS; i += 16)
        tile[i][threadIdx.x] = first + i >= 0 && first + i < height ? in[(first + i) * width + x] : 0;
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
        sum += taps[i] * tile[threadIdx.y + i][threadIdx.x];
    out[(blockIdx.y * 16 + threadIdx.y) * width + x] = sum;
}

void bench_run_cuda(void *const *p)
{
    float *between = (float *)p[2];
    CHECK(cudaMemcpyToSymbolAsync(taps, p[1], sizeof taps));
    rows<<<dim3(WIDTH / 256, HEIGHT), 256>>>((const float *)p[0], between, WIDTH);
    columns<<<dim3(WIDTH / 16, HEIGHT / 16), dim3(16, 16)>>>(between, (float *)p[3], WIDTH, HEIGHT);
    FINISH();
}
