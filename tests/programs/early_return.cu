// Threads that return before a barrier do not hold up the others, in any pattern of lanes and whole warps.
#include "check.h"

__global__ void some_leave(int *out, int keep_below, int stride)
{
    __shared__ int data[256];
    int i = threadIdx.x;
    data[i] = 0;
    __syncthreads();
    if (i >= keep_below)
        return;
    data[i] = i * stride;
    __syncthreads();
    int next = data[(i + 1) % keep_below];
    __syncthreads();
    if (i % stride == 0)
        return;
    data[i] = next;
    __syncthreads();
    out[i] = data[i];
}

__global__ void whole_warps(int *sum)
{
    __shared__ int total;
    if (threadIdx.x == 0)
        total = 0;
    __syncthreads();
    if (threadIdx.x / 32 % 2)
        return;
    for (int r = 0; r < 5; r++) {
        atomicAdd(&total, 1);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *sum = total;
}

int main()
{
    int *out = managed<int>(256), *sum = managed<int>(1);
    const int keeps[] = {256, 128, 100, 33, 7};
    for (int keep : keeps) {
        memset(out, 0, 256 * sizeof(int));
        some_leave<<<1, 256>>>(out, keep, 3);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 256; i++)
            REQUIRE(out[i] == (i < keep && i % 3 ? (i + 1) % keep * 3 : 0));
    }
    whole_warps<<<1, 256>>>(sum);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*sum == 128 * 5);
    return finish();
}
