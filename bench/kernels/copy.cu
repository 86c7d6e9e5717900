// Copies an array of floats, one a thread.
#include "../cuda.h"
#include "copy.h"

__global__ void copy(const float *in, float *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i];
}

void bench_run_cuda(void *const *p)
{
    copy<<<(COUNT + 255) / 256, 256>>>((const float *)p[0], (float *)p[1], COUNT);
    FINISH();
}
