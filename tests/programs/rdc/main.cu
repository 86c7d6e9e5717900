// Relocatable device code: kernels, device functions, variables and constants of three files that use each other.
#include "../check.h"

extern __device__ int shared_counter;
extern __constant__ int factors[4];
__device__ int scaled(int value, int which);
__device__ int twice(int value);
__global__ void from_other(int *out);

__global__ void run(int *out)
{
    out[threadIdx.x] = scaled(threadIdx.x, threadIdx.x % 4) + factors[0];
    atomicAdd(&shared_counter, twice(1));
}

int main()
{
    int *out = managed<int>(64), counter;
    run<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == i * (i % 4 + 1) * 2 + 1);
    CHECK(cudaMemcpyFromSymbol(&counter, shared_counter, sizeof(counter)));
    REQUIRE(counter == 100 + 128);
    from_other<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == 228 + i);
    return finish();
}
