// Forward progress: a lock that lanes of one warp fight for, flags between warps and between CTAs, a scan by look-back.
#include "check.h"

__device__ int lock_word;
__global__ void locked(int *counter)
{
    bool done = false;
    while (!done) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            int value = *(volatile int *)counter;
            *(volatile int *)counter = value + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}

// The lock in its shortest form: the lanes that spin must not keep out the one that would release.
__global__ void naive_lock(int *counter)
{
    while (atomicCAS(&lock_word, 0, 1) != 0)
        ;
    *(volatile int *)counter += 1;
    __threadfence();
    atomicExch(&lock_word, 0);
}

__global__ void between_warps(int *out)
{
    __shared__ volatile int turn;
    if (threadIdx.x == 0)
        turn = 0;
    __syncthreads();
    int warp = threadIdx.x / 32, warps = blockDim.x / 32;
    if (threadIdx.x % 32 == 0) {
        while (turn != warp)
            ;
        out[warp] = warp * 2 + 1;
        __threadfence_block();
        turn = warp + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[warps] = turn;
}

__global__ void look_back(const int *in, int *out, volatile int *sums, volatile int *ready)
{
    __shared__ int before;
    int total = in[blockIdx.x];
    if (threadIdx.x == 0) {
        int sum = 0;
        if (blockIdx.x > 0) {
            while (ready[blockIdx.x - 1] == 0)
                ;
            __threadfence();
            sum = sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = sum + total;
        __threadfence();
        ready[blockIdx.x] = 1;
        before = sum;
    }
    __syncthreads();
    if (threadIdx.x == 31)
        out[blockIdx.x] = before;
}

int main()
{
    int *counter = managed<int>(1), *out = managed<int>(33);
    locked<<<4, 64>>>(counter);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*counter == 256);
    *counter = 0;
    naive_lock<<<2, 48>>>(counter);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*counter == 96);
    between_warps<<<1, 1024>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        REQUIRE(out[i] == i * 2 + 1);
    REQUIRE(out[32] == 32);
    const int blocks = 500;
    int *in = managed<int>(blocks), *prefix = managed<int>(blocks), *sums = managed<int>(blocks), *ready = managed<int>(blocks);
    for (int i = 0; i < blocks; i++)
        in[i] = i % 13;
    look_back<<<blocks, 32>>>(in, prefix, sums, ready);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0, sum = 0; i < blocks; sum += in[i++])
        REQUIRE(prefix[i] == sum);
    return finish();
}
