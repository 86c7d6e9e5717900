// An inclusive scan in one pass: each block scans a tile and looks back at what the blocks before it have published.
#include "../cuda.h"
#include "scan.h"

#define ITEMS (TILE / 256)
#define AGGREGATE 1
#define PREFIX 2

// A tile's state and value in one word, so that both are read and written at once.
__device__ unsigned look_back(volatile unsigned long long *states, int tile)
{
    unsigned sum = 0;
    for (int before = tile - 1; before >= 0;) {
        unsigned long long state = states[before];
        unsigned flag = state >> 32;
        if (flag == 0)
            continue;
        sum += (unsigned)state;
        if (flag == PREFIX)
            break;
        before--;
    }
    return sum;
}

__global__ void scan(const unsigned *in, unsigned *out, unsigned long long *states, unsigned *next)
{
    __shared__ unsigned sums[8], prefix, tile_shared;
    if (threadIdx.x == 0)
        tile_shared = atomicAdd(next, 1);
    __syncthreads();
    int tile = tile_shared;
    unsigned values[ITEMS], sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        sum += in[tile * TILE + threadIdx.x * ITEMS + i];
        values[i] = sum;
    }
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned inclusive = sum;
    for (int offset = 1; offset < 32; offset *= 2) {
        unsigned other = __shfl_up_sync(0xffffffff, inclusive, offset);
        if (lane >= offset)
            inclusive += other;
    }
    if (lane == 31)
        sums[warp] = inclusive;
    __syncthreads();
    unsigned before = inclusive - sum, total = 0;
    for (int i = 0; i < 8; i++) {
        if (i < warp)
            before += sums[i];
        total += sums[i];
    }
    if (threadIdx.x == 0) {
        volatile unsigned long long *mine = states + tile;
        *mine = ((unsigned long long)(tile ? AGGREGATE : PREFIX) << 32) | total;
        prefix = look_back(states, tile);
        *mine = ((unsigned long long)PREFIX << 32) | (prefix + total);
    }
    __syncthreads();
    before += prefix;
    for (int i = 0; i < ITEMS; i++)
        out[tile * TILE + threadIdx.x * ITEMS + i] = before + values[i];
}

void bench_run_cuda(void *const *p)
{
    CHECK(cudaMemsetAsync(p[2], 0, TILES * 8 + 8));
    unsigned long long *states = (unsigned long long *)p[2];
    scan<<<TILES, 256>>>((const unsigned *)p[0], (unsigned *)p[1], states, (unsigned *)(states + TILES));
    FINISH();
}
