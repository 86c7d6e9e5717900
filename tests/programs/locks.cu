// Locks behind functions that are not inlined: lanes of one warp want the same lock, and who has it must go on while the others
// wait in the function. And functions at which lanes meet, called by lanes that come at different times.
#include "check.h"

enum { LANES = 64, BLOCKS = 8, TURNS = 20 };

struct lock {
    int taken;
};

__device__ __noinline__ void acquire(lock *l)
{
    while (atomicCAS(&l->taken, 0, 1) != 0)
        ;
    __threadfence();
}

__device__ __noinline__ void release(lock *l)
{
    __threadfence();
    atomicExch(&l->taken, 0);
}

__device__ __noinline__ int sum_of_warp(int x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

__device__ __noinline__ void take_turn(lock *l, volatile int *count)
{
    acquire(l);
    *count = *count + 1; // not atomic: the lock must hold
    release(l);
}

__global__ void turns(lock *l, volatile int *count, int *sums)
{
    __shared__ int arrived;
    int mine = 0;

    if (threadIdx.x == 0)
        arrived = 0;
    __syncthreads();
    for (int i = 0; i < TURNS; i++) {
        take_turn(l, count);
        mine += i * (int)threadIdx.x;
    }
    atomicAdd(&arrived, 1);
    int sum = sum_of_warp(mine);
    __syncthreads();
    sums[blockIdx.x * LANES + threadIdx.x] = arrived == LANES ? sum : -1;
}

int main()
{
    lock *l = managed<lock>(1);
    int *count = managed<int>(1), *sums = managed<int>(BLOCKS * LANES), want[BLOCKS * LANES];

    for (int t = 0; t < BLOCKS * LANES; t++) {
        int warp = t % LANES / 32, lanes = 0;
        for (int lane = 0; lane < 32; lane++)
            lanes += warp * 32 + lane;
        want[t] = lanes * (TURNS * (TURNS - 1) / 2);
    }
    for (int round = 0; round < 5; round++) {
        *count = 0;
        turns<<<BLOCKS, LANES>>>(l, count, sums);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(*count == BLOCKS * LANES * TURNS);
        same("sums", sums, want, BLOCKS * LANES);
    }
    return finish();
}
