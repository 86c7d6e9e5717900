// Static shared memory: each CTA reverses its part of an array, and a tree reduction over two arrays of different types.
#include "check.h"

__global__ void reverse(const int *in, int *out)
{
    __shared__ int part[256];
    int base = blockIdx.x * 256;
    part[threadIdx.x] = in[base + threadIdx.x];
    __syncthreads();
    out[base + threadIdx.x] = part[255 - threadIdx.x];
}

__global__ void sum(const int *in, double *out)
{
    __shared__ double values[256];
    __shared__ char marks[256];
    values[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    marks[threadIdx.x] = (char)(threadIdx.x & 1);
    for (int step = 128; step; step /= 2) {
        __syncthreads();
        if (threadIdx.x < step) {
            values[threadIdx.x] += values[threadIdx.x + step];
            marks[threadIdx.x] += marks[threadIdx.x + step];
        }
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = values[0] * 1000 + (unsigned char)marks[0];
}

int main()
{
    const int blocks = 37, count = blocks * 256;
    int *in = managed<int>(count), *out = managed<int>(count);
    double *sums = managed<double>(blocks);
    for (int i = 0; i < count; i++)
        in[i] = i * 7 % 1001;
    reverse<<<blocks, 256>>>(in, out);
    sum<<<blocks, 256>>>(in, sums);
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < blocks; b++) {
        double want = 0;
        for (int i = 0; i < 256; i++) {
            REQUIRE(out[b * 256 + i] == in[b * 256 + 255 - i]);
            want += in[b * 256 + i];
        }
        REQUIRE(sums[b] == want * 1000 + 128);
    }
    return finish();
}
