// Dynamic shared memory beside static, of several sizes up to past 48 KB, with a base aligned for double.
#include "check.h"

extern __shared__ double pool[];

__global__ void rotate(const double *in, double *out, int shift)
{
    __shared__ int extra;
    int n = blockDim.x;
    if (threadIdx.x == 0)
        extra = blockIdx.x;
    pool[threadIdx.x] = in[blockIdx.x * n + threadIdx.x];
    __syncthreads();
    out[blockIdx.x * n + threadIdx.x] = pool[(threadIdx.x + shift) % n] + extra;
}

__global__ void big(int *out, int words)
{
    int *data = (int *)pool;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        data[i] = i ^ blockIdx.x;
    __syncthreads();
    int sum = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x)
        sum += data[words - 1 - i];
    atomicAdd(&out[blockIdx.x], sum);
}

int main()
{
    const int blocks = 5;
    for (int n = 32; n <= 1024; n *= 2) {
        double *in = managed<double>(blocks * n), *out = managed<double>(blocks * n);
        for (int i = 0; i < blocks * n; i++)
            in[i] = i * 0.25;
        rotate<<<blocks, n, n * sizeof(double)>>>(in, out, 7);
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < blocks * n; i++)
            REQUIRE(out[i] == in[i / n * n + (i % n + 7) % n] + i / n);
        CHECK(cudaFree(in));
        CHECK(cudaFree(out));
    }
    int *sums = managed<int>(blocks);
    const int words = 16000; // 64,000 bytes: more than a kernel may have unasked
    big<<<blocks, 256, words * 4>>>(sums, words);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute((const void *)big, cudaFuncAttributeMaxDynamicSharedMemorySize, words * 4));
    big<<<blocks, 256, words * 4>>>(sums, words);
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < blocks; b++) {
        int want = 0;
        for (int i = 0; i < words; i++)
            want += i ^ b;
        REQUIRE(sums[b] == want);
    }
    return finish();
}
