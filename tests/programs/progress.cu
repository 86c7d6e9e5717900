// What the independent scheduling of threads promises: threads that wait for each other get on, in one warp, in one block and
// between blocks. Each case many times; none may hang, with one worker thread or many.
#include "check.h"

enum { ROUNDS = 100 };

// Every lane of every warp takes the same lock; who holds it is in the middle of a branch.
__global__ void lock_between_lanes(int *lock, volatile int *count)
{
    for (bool done = false; !done;) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            *count = *count + 1;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// First come, first served.
__global__ void ticket_lock(unsigned *next, volatile unsigned *serving, volatile int *count)
{
    unsigned mine = atomicAdd(next, 1u);
    while (*serving != mine)
        ;
    __threadfence();
    *count = *count + (int)(mine % 7);
    __threadfence();
    *serving = mine + 1;
}

// A ring that half of the lanes fill and the others empty.
enum { RING = 4, ITEMS = 6 };
__global__ void queue_in_a_warp(int *sum)
{
    __shared__ volatile int slots[RING];
    __shared__ unsigned head, tail;
    __shared__ volatile unsigned full[RING];
    int lane = threadIdx.x;

    if (lane == 0)
        head = tail = 0;
    if (lane < RING)
        full[lane] = 0;
    __syncthreads();
    if (lane % 2) {
        for (int i = 0; i < ITEMS; i++) {
            unsigned at = atomicAdd(&head, 1u);
            while (full[at % RING] != at / RING * 2)
                ;
            slots[at % RING] = lane * 100 + i;
            __threadfence_block();
            full[at % RING] = at / RING * 2 + 1;
        }
    } else {
        for (int i = 0; i < ITEMS; i++) {
            unsigned at = atomicAdd(&tail, 1u);
            while (full[at % RING] != at / RING * 2 + 1)
                ;
            __threadfence_block();
            int got = slots[at % RING];
            __threadfence_block();
            full[at % RING] = at / RING * 2 + 2;
            atomicAdd(sum, got);
        }
    }
}

// Warp 0 makes, the others use, by named barriers in pairs.
__global__ void named_barriers(int *out, int steps)
{
    __shared__ int box;
    int warp = threadIdx.x / 32, threads = blockDim.x, sum = 0;

    for (int i = 0; i < steps; i++) {
        if (warp == 0) {
            if (threadIdx.x == 0)
                box = i * i;
            __threadfence_block();
            asm volatile("bar.arrive 1, %0;" ::"r"(threads) : "memory");
            asm volatile("bar.sync 2, %0;" ::"r"(threads) : "memory");
        } else {
            asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
            sum += box;
            asm volatile("bar.arrive 2, %0;" ::"r"(threads) : "memory");
        }
    }
    out[threadIdx.x] = sum;
}

// Warps hand a value round by flags, each the last one's.
__global__ void flags_between_warps(int *out)
{
    __shared__ volatile int flag[33], value[33];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;

    if (threadIdx.x < 33)
        flag[threadIdx.x] = value[threadIdx.x] = 0;
    __syncthreads();
    if (lane == 5) {
        if (warp > 0)
            while (!flag[warp - 1])
                ;
        __threadfence_block();
        value[warp] = (warp > 0 ? value[warp - 1] : 0) + warp + 1;
        __threadfence_block();
        flag[warp] = 1;
    }
    if (lane == 9 && warp == 0) {
        while (!flag[warps - 1])
            ;
        __threadfence_block();
        *out = value[warps - 1];
    }
}

// A block waits for the sum of the one before it; blocks take their numbers as they come.
__global__ void look_back(unsigned *tickets, volatile int *sums, volatile int *ready)
{
    __shared__ int block;
    if (threadIdx.x == 0)
        block = (int)atomicAdd(tickets, 1u);
    __syncthreads();
    if (threadIdx.x == 17) {
        int before = 0;
        if (block > 0) {
            while (!ready[block - 1])
                ;
            __threadfence();
            before = sums[block - 1];
        }
        sums[block] = before + block;
        __threadfence();
        ready[block] = 1;
    }
}

// A few blocks work off a list that grows while they do: an item makes two, down to size one.
__global__ void persistent(unsigned *head, unsigned *tail, volatile int *items, int most, int *leaves, int wanted)
{
    __shared__ int item;
    for (;;) {
        if (threadIdx.x == 0) {
            item = 0;
            unsigned at = atomicAdd(head, 1u);
            if (at < (unsigned)most) {
                while ((item = items[at]) == 0 && atomicAdd(leaves, 0) < wanted)
                    ;
            }
        }
        __syncthreads();
        int size = item;
        __syncthreads();
        if (size == 0)
            return;
        if (size == 1) {
            if (threadIdx.x == 40)
                atomicAdd(leaves, 1);
            continue;
        }
        if (threadIdx.x < 2) {
            unsigned at = atomicAdd(tail, 1u);
            items[at] = threadIdx.x ? size / 2 : size - size / 2;
        }
    }
}

// All blocks of a cooperative launch, by a barrier made of atomics.
__global__ void grid_barrier(unsigned *arrived, volatile int *cells, int steps)
{
    for (int i = 0; i < steps; i++) {
        int left = cells[(blockIdx.x + gridDim.x - 1) % gridDim.x * 2 + i % 2];
        if (threadIdx.x == 0)
            cells[blockIdx.x * 2 + (i + 1) % 2] = left + (int)blockIdx.x;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1u);
            while (atomicAdd(arrived, 0u) < gridDim.x * (i + 1u))
                ;
        }
        __syncthreads();
    }
}

// Parts of a warp meet by masks, and the two sides of a branch do warp operations of their own.
__global__ void parts_of_a_warp(int *out)
{
    __shared__ volatile int cells[32];
    int lane = threadIdx.x % 32, got;
    unsigned half = lane < 16 ? 0x0000ffffu : 0xffff0000u;

    cells[lane] = lane;
    __syncwarp(half);
    got = cells[lane ^ 1];
    __syncwarp(half);
    if (lane % 4 == 1) {
        cells[lane] = got * 2;
        __syncwarp(0x22222222u);
        got += cells[lane ^ 4];
        got += __shfl_sync(0x22222222u, got, 5) + __popc(__ballot_sync(0x22222222u, lane > 16));
    } else if (lane % 4 == 3) {
        for (int i = 0; i < lane; i++)
            got ^= i;
        __syncwarp(0x88888888u);
        got += __shfl_sync(0x88888888u, got, 7) + __any_sync(0x88888888u, lane == 31);
    }
    __syncwarp();
    out[threadIdx.x] = got;
}

static int part_of_a_warp(int lane)
{
    auto value = [](int l) {
        int got = l ^ 1;
        if (l % 4 == 1)
            got += ((l ^ 4) ^ 1) * 2;
        if (l % 4 == 3)
            for (int i = 0; i < l; i++)
                got ^= i;
        return got;
    };
    if (lane % 4 == 1)
        return value(lane) + value(5) + 4;
    return lane % 4 == 3 ? value(lane) + value(7) + 1 : value(lane);
}

// Lanes of one warp wait for each other in a chain, from the last to the first.
__global__ void chain_of_lanes(int *out)
{
    __shared__ volatile int done[33];
    int lane = threadIdx.x;

    done[lane] = 0;
    if (lane == 0)
        done[32] = 1;
    __syncwarp();
    while (!done[lane + 1])
        ;
    __threadfence_block();
    done[lane] = done[lane + 1] + 1;
    __syncwarp();
    out[lane] = done[lane];
}

int main()
{
    int *ints = managed<int>(1024), *more = managed<int>(4096);
    unsigned *counters = managed<unsigned>(4);
    const int bytes = 1024 * sizeof(int);

    for (int round = 0; round < ROUNDS; round++) {
        auto again = [&] {
            CHECK(cudaDeviceSynchronize());
            memset(ints, 0, bytes);
            memset(more, 0, 4 * bytes);
            memset(counters, 0, 4 * sizeof(unsigned));
        };
        again();
        lock_between_lanes<<<3, 64>>>(ints, ints + 1);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[1] == 192);
        again();
        ticket_lock<<<3, 64>>>(counters, counters + 1, ints);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[0] == 192 / 7 * 21 + 0 + 1 + 2);
        again();
        queue_in_a_warp<<<1, 32>>>(ints);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[0] == 16 * 16 * ITEMS * 100 + 16 * (ITEMS - 1) * ITEMS / 2);
        again();
        named_barriers<<<1, 128>>>(ints, 10);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[0] == 0 && ints[32] == 285 && ints[127] == 285);
        again();
        flags_between_warps<<<1, 1024>>>(ints);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[0] == 33 * 16);
        again();
        look_back<<<200, 32>>>(counters, more, more + 1024);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(more[199] == 199 * 100);
        again();
        more[0] = 64;
        counters[1] = 1;
        persistent<<<5, 64>>>(counters, counters + 1, more, 4096, ints, 64);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(ints[0] == 64 && counters[1] == 127);
        again();
        int steps = 8;
        unsigned *arrived = counters;
        volatile int *cells = more;
        void *arguments[] = {&arrived, &cells, &steps};
        CHECK(cudaLaunchCooperativeKernel((void *)grid_barrier, dim3(8), dim3(64), arguments, 0, 0));
        CHECK(cudaDeviceSynchronize());
        REQUIRE(counters[0] == 64 && more[0] == 28);
        again();
        parts_of_a_warp<<<1, 64>>>(ints);
        CHECK(cudaDeviceSynchronize());
        for (int t = 0; t < 64; t++)
            REQUIRE(ints[t] == part_of_a_warp(t % 32));
        again();
        chain_of_lanes<<<1, 32>>>(ints);
        CHECK(cudaDeviceSynchronize());
        for (int t = 0; t < 32; t++)
            REQUIRE(ints[t] == 33 - t);
        if (failures)
            break;
    }
    return finish();
}
