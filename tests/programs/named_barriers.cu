// Named barriers: producer and consumer warps hand over a buffer with bar.arrive and bar.sync on part of the CTA.
#include "check.h"

__device__ void arrive(int id, int count)
{
    asm volatile("barrier.arrive %0, %1;" : : "r"(id), "r"(count) : "memory");
}
__device__ void wait(int id, int count)
{
    asm volatile("barrier.sync %0, %1;" : : "r"(id), "r"(count) : "memory");
}

__global__ void pipeline(int *out, int rounds)
{
    __shared__ int buffer[64];
    int full = 1, empty = 2;
    if (threadIdx.x < 64) { // producers
        for (int r = 0; r < rounds; r++) {
            wait(empty, 128);
            buffer[threadIdx.x] = r * 100 + threadIdx.x;
            __threadfence_block();
            arrive(full, 128);
        }
    } else {
        int total = 0, i = threadIdx.x - 64;
        arrive(empty, 128);
        for (int r = 0; r < rounds; r++) {
            wait(full, 128);
            total += buffer[63 - i];
            if (r + 1 < rounds)
                arrive(empty, 128);
        }
        out[blockIdx.x * 64 + i] = total;
    }
}

// Two halves of a CTA synchronise each by itself, a different number of times.
__global__ void halves(int *out)
{
    __shared__ int data[128];
    int half = threadIdx.x / 64, i = threadIdx.x % 64;
    data[threadIdx.x] = i;
    for (int r = 0; r < 3 + half * 4; r++) {
        wait(3 + half, 64);
        int next = data[half * 64 + (i + 1) % 64];
        wait(3 + half, 64);
        data[threadIdx.x] = next;
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
}

int main()
{
    int *out = managed<int>(64 * 4);
    pipeline<<<4, 128>>>(out, 10);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64 * 4; i++)
        REQUIRE(out[i] == 4500 + 10 * (63 - i % 64));
    halves<<<1, 128>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 128; i++)
        REQUIRE(out[i] == (i % 64 + (i < 64 ? 3 : 7)) % 64);
    return finish();
}
