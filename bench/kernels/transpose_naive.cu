// Transposes a matrix, 32x8 threads a block, four elements a thread, straight.
#include "../cuda.h"
#include "transpose_naive.h"

__global__ void transpose(const float *in, float *out, int n)
{
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        out[x * n + y + j] = in[(y + j) * n + x];
}

void bench_run_cuda(void *const *p)
{
    transpose<<<dim3(N / 32, N / 32), dim3(32, 8)>>>((const float *)p[0], (float *)p[1], N);
    FINISH();
}
