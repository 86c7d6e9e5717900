// A histogram of bytes: atomics in shared memory, then one a bin and block in global memory.
#include "../cuda.h"
#include "histogram.h"

__global__ void histogram(const unsigned char *in, unsigned *bins, int count)
{
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
        atomicAdd(&mine[in[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

void bench_run_cuda(void *const *p)
{
    CHECK(cudaMemsetAsync(p[1], 0, 256 * sizeof(unsigned)));
    histogram<<<240, 256>>>((const unsigned char *)p[0], (unsigned *)p[1], COUNT);
    FINISH();
}
