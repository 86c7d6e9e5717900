// y += a x, in a grid-stride loop.
#include "../cuda.h"
#include "saxpy.h"

__global__ void saxpy(int count, float a, const float *x, float *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
        y[i] = a * x[i] + y[i];
}

void bench_run_cuda(void *const *p)
{
    int processors = 0;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    saxpy<<<32 * processors, 256>>>(COUNT, 2.5f, (const float *)p[0], (float *)p[1]);
    FINISH();
}
