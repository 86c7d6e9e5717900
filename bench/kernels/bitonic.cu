// Bitonic sort: one launch a step, one compared element a thread.
#include "../cuda.h"
#include "bitonic.h"

__global__ void step(unsigned *data, int j, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int other = i ^ j;
    if (other <= i)
        return;
    unsigned a = data[i], b = data[other];
    if ((i & k) == 0 ? a > b : a < b) {
        data[i] = b;
        data[other] = a;
    }
}

void bench_run_cuda(void *const *p)
{
    for (int k = 2; k <= COUNT; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
            step<<<COUNT / 256, 256>>>((unsigned *)p[0], j, k);
    FINISH();
}
