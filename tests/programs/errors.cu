// Wrong use of the API: the documented code each time, nothing spoilt.
#include "check.h"

__global__ void fine(int *out)
{
    out[threadIdx.x] = threadIdx.x;
}
static void not_a_kernel() {}

int main()
{
    int *p = NULL, host[32];
    EXPECT(cudaSetDevice(99), cudaErrorInvalidDevice);
    EXPECT(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CHECK(cudaMalloc((void **)&p, sizeof(host)));
    EXPECT(cudaMalloc((void **)NULL, 16), cudaErrorInvalidValue);
    int *none = p;
    CHECK(cudaMalloc((void **)&none, 0));
    REQUIRE(none == NULL);
    EXPECT(cudaMalloc((void **)&none, (size_t)1 << 60), cudaErrorMemoryAllocation);
    EXPECT(cudaFree((void *)0x1234560), cudaErrorInvalidValue);
    EXPECT(cudaMemcpy(p, host, sizeof(host), (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    EXPECT(cudaMemcpy2D(p, 4, host, 16, 16, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    EXPECT(cudaStreamSynchronize((cudaStream_t)(uintptr_t)0), cudaSuccess);
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    float ms;
    EXPECT(cudaEventElapsedTime(&ms, start, stop), cudaErrorInvalidResourceHandle);
    CHECK(cudaEventRecord(start));
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    REQUIRE(ms >= 0);
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    fine<<<1, 2000>>>(p);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue); // InvalidConfiguration before CUDA 13
    EXPECT(cudaGetLastError(), cudaSuccess);
    fine<<<1, 32, 1 << 20>>>(p);
    EXPECT(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    void *args[] = {&p};
    EXPECT(cudaLaunchKernel((const void *)not_a_kernel, 1, 32, args, 0, 0), cudaErrorInvalidResourceHandle);
    EXPECT(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    cudaFuncAttributes attributes;
    EXPECT(cudaFuncGetAttributes(&attributes, (const void *)not_a_kernel), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    fine<<<1, 32>>>(p);
    CHECK(cudaMemcpy(host, p, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        REQUIRE(host[i] == i);
    CHECK(cudaFree(p));
    REQUIRE(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
    REQUIRE(strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument") == 0);
    REQUIRE(strcmp(cudaGetErrorString((cudaError_t)12345), "unrecognized error code") == 0);
    return finish();
}
