// Softmax of rows, a block a row: greatest, sum of exponentials, quotient; shuffles and shared memory.
#include "../cuda.h"
#include "softmax.h"

__device__ float warp_max(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    return value;
}

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffff, value, offset);
    return value;
}

__global__ void softmax(const float *in, float *out, int width)
{
    __shared__ float parts[8];
    const float *row = in + (size_t)blockIdx.x * width;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float greatest = -INFINITY;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        greatest = fmaxf(greatest, row[i]);
    greatest = warp_max(greatest);
    if (lane == 0)
        parts[warp] = greatest;
    __syncthreads();
    for (int i = 0; i < 8; i++)
        greatest = fmaxf(greatest, parts[i]);
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float e = expf(row[i] - greatest);
        out[(size_t)blockIdx.x * width + i] = e;
        sum += e;
    }
    sum = warp_sum(sum);
    if (lane == 0)
        parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int i = 0; i < 8; i++)
        sum += parts[i];
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[(size_t)blockIdx.x * width + i] /= sum;
}

void bench_run_cuda(void *const *p)
{
    softmax<<<ROWS, 256>>>((const float *)p[0], (float *)p[1], WIDTH);
    FINISH();
}
