// A cooperative launch: the whole grid meets at a barrier several times (hand-written over atomics, as grid.sync is).
#include "check.h"

__device__ unsigned arrived;
__device__ volatile unsigned generation;

__device__ void grid_sync()
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned mine = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            generation = mine + 1;
        } else {
            while (generation == mine)
                ;
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void steps(int *a, int *b, int count, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
    for (int r = 0; r < rounds; r++) {
        for (int j = i; j < count; j += n)
            b[j] = a[(j + 1) % count] + a[j];
        grid_sync();
        int *t = a;
        a = b;
        b = t;
    }
}

int main()
{
    int supported = 0, per_sm = 0, sms = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, steps, 128, 0));
    REQUIRE(supported && per_sm > 0 && sms > 0);
    int count = 3001, rounds = 9, blocks = per_sm * sms < 12 ? per_sm * sms : 12;
    int *a = managed<int>(count), *b = managed<int>(count), *x = (int *)calloc(count, 4), *y = (int *)calloc(count, 4);
    for (int i = 0; i < count; i++)
        a[i] = x[i] = i % 10;
    void *args[] = {&a, &b, &count, &rounds};
    CHECK(cudaLaunchCooperativeKernel((const void *)steps, blocks, 128, args, 0, 0));
    CHECK(cudaDeviceSynchronize());
    for (int r = 0; r < rounds; r++) {
        for (int i = 0; i < count; i++)
            y[i] = x[(i + 1) % count] + x[i];
        int *t = x;
        x = y;
        y = t;
    }
    same("steps", b, x, count);
    EXPECT(cudaLaunchCooperativeKernel((const void *)steps, per_sm * sms + 1, 128, args, 0, 0), cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();
    return finish();
}
