// Jacobi steps of the 2-D Laplace equation in one cooperative launch: the grid meets after every step.
#include "../cuda.h"
#include "jacobi.h"
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void jacobi(float *a, float *b, int width, int height, int steps)
{
    cg::grid_group grid = cg::this_grid();
    for (int step = 0; step < steps; step++) {
        for (int y = blockIdx.y * blockDim.y + threadIdx.y; y < height; y += gridDim.y * blockDim.y)
            for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < width; x += gridDim.x * blockDim.x)
                if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
                    int i = y * width + x;
                    b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width]);
                }
        grid.sync();
        float *t = a;
        a = b;
        b = t;
    }
}

void bench_run_cuda(void *const *p)
{
    int processors = 0, blocks = 0, width = WIDTH, height = HEIGHT, steps = STEPS;
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, jacobi, 256, 0));
    void *args[] = {(void *)&p[0], (void *)&p[1], &width, &height, &steps};
    CHECK(cudaLaunchCooperativeKernel((void *)jacobi, dim3(1, blocks * processors), dim3(32, 8), args, 0, 0));
    FINISH();
}
