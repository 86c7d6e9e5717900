// A 7-point stencil in three dimensions, f64: blocks of 32x8, each thread goes up a column.
#include "../cuda.h"
#include "stencil.h"

__global__ void stencil(const double *in, double *out, int n, double center, double side)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    for (int z = 1; z < n - 1; z++) {
        int i = (z * n + y) * n + x;
        out[i] = center * in[i] + side * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
    }
}

void bench_run_cuda(void *const *p)
{
    stencil<<<dim3(N / 32, N / 8), dim3(32, 8)>>>((const double *)p[0], (double *)p[1], N, 0.4, 0.1);
    FINISH();
}
