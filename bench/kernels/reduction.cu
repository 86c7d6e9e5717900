// The sum of an array: grid-stride loop, shuffles within warps, shared memory between them, one atomic a block.
#include "../cuda.h"
#include "reduction.h"

__inline__ __device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__global__ void reduce(const float *in, float *out, int count)
{
    __shared__ float sums[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = threadIdx.x < blockDim.x / 32 ? sums[threadIdx.x] : 0;
    if (threadIdx.x < 32)
        sum = warp_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}

void bench_run_cuda(void *const *p)
{
    CHECK(cudaMemsetAsync(p[1], 0, sizeof(float)));
    reduce<<<1024, 256>>>((const float *)p[0], (float *)p[1], COUNT);
    FINISH();
}
