// Faults of a kernel end the launch with the documented sticky error; the process lives, and a reset makes all well.
#include "check.h"

__device__ int global_value;

__global__ void bad_address(int *p)
{
    p[threadIdx.x] = 1;
}
__global__ void bad_read(const int *p, int *out)
{
    *out = p[threadIdx.x] + 1;
}
__global__ void trap()
{
    asm volatile("trap;");
}
__global__ void fine(int *out)
{
    out[threadIdx.x] = threadIdx.x + global_value;
}

static void check_fine()
{
    int *out, host[32];
    CHECK(cudaMalloc((void **)&out, sizeof(host)));
    fine<<<1, 32>>>(out);
    CHECK(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        REQUIRE(host[i] == i);
    CHECK(cudaFree(out));
}

static void check_sticky(cudaError_t expected)
{
    void *p;
    EXPECT(cudaDeviceSynchronize(), expected);
    EXPECT(cudaMalloc(&p, 16), expected);
    fine<<<1, 32>>>((int *)16);
    EXPECT(cudaGetLastError(), expected);
    cudaDeviceReset();
    check_fine();
}

int main()
{
    check_fine();
    bad_address<<<1, 32>>>((int *)(uintptr_t)64);
    check_sticky(cudaErrorIllegalAddress);
    bad_read<<<4, 64>>>((const int *)(uintptr_t)0x123456789000, (int *)NULL);
    check_sticky(cudaErrorIllegalAddress);
    trap<<<2, 64>>>();
    check_sticky(cudaErrorLaunchFailure);
    bad_address<<<1, 1>>>(NULL);
    check_sticky(cudaErrorIllegalAddress);
    return finish();
}
