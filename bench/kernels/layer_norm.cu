// Layer norm of rows, a block a row: mean, variance, scale and shift; shuffles and shared memory.
#include "../cuda.h"
#include "layer_norm.h"

// The sum over a block of 256 threads; all of them get it.
__device__ float block_sum(float value, float *parts)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
    for (int i = 0; i < 8; i++)
        value += parts[i];
    __syncthreads();
    return value;
}

__global__ void layer_norm(const float *in, const float *scale, const float *shift, float *out, int width)
{
    __shared__ float parts[8];
    const float *row = in + (size_t)blockIdx.x * width;
    float sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += row[i];
    float mean = block_sum(sum, parts) / width;
    sum = 0;
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        sum += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrtf(block_sum(sum, parts) / width + 1e-5f);
    for (int i = threadIdx.x; i < width; i += blockDim.x)
        out[(size_t)blockIdx.x * width + i] = (row[i] - mean) * inverse * scale[i] + shift[i];
}

void bench_run_cuda(void *const *p)
{
    layer_norm<<<ROWS, 256>>>((const float *)p[0], (const float *)p[1], (const float *)p[2], (float *)p[3], WIDTH);
    FINISH();
}
