// Sums over all earlier blocks by decoupled look-back, as sorting and scanning libraries do it: a thread a bin spins until an
// earlier block's word of its bin is there, and leaves at the first word that holds a whole prefix. Lanes of a warp leave at
// different blocks; a vote names those that are left; a barrier awaits them all before the block reads what it found.
#include "check.h"

enum { BINS = 256, THREADS = 384, BLOCKS = 200, PARTIAL = 1 << 30, PREFIX = 1 << 31, VALUE = PARTIAL - 1 };

__device__ unsigned tickets;

__host__ __device__ static int count_of(int block, int bin)
{
    return (block * 7 + bin) % 5;
}

__device__ static int look_back(volatile int *words, int block, int bin)
{
    int sum = 0;
    unsigned left = 0xffffffffu;

    for (int before = block - 1; before >= 0; before--) {
        int seen;
        do {
            __threadfence_block();
            seen = words[before * BINS + bin];
        } while (seen == 0);
        sum += seen & VALUE;
        left = __ballot_sync(left, (seen & PREFIX) == 0);
        if (seen & PREFIX)
            break;
    }
    return sum;
}

__global__ void prefixes(volatile int *words, int *sums, int work)
{
    __shared__ int ticket, noise, found[BINS];
    int bin = threadIdx.x;

    if (bin == 0) {
        ticket = atomicAdd(&tickets, 1u);
        noise = 0;
    }
    __syncthreads();
    int block = ticket;
    if (bin < BINS) {
        found[bin] = -1;
        words[block * BINS + bin] = count_of(block, bin) | PARTIAL;
        for (int i = 0; i < (block * 13 % 32 + bin % 32) * work; i++)
            atomicAdd(&noise, i); // threads arrive at different times
        int sum = look_back(words, block, bin) + count_of(block, bin);
        words[block * BINS + bin] = sum | PREFIX;
        found[bin] = sum;
    }
    __syncthreads();
    int other = (bin * 37 + 11) % BINS;
    int value = found[other];
    __syncthreads();
    if (bin < BINS)
        found[bin] = -2;
    __syncthreads();
    if (bin < BINS)
        sums[block * BINS + other] = found[bin] == -2 ? value : -3;
}

int main()
{
    int *words = managed<int>(BLOCKS * BINS), *sums = managed<int>(BLOCKS * BINS), *want = (int *)calloc(BLOCKS * BINS, sizeof(int));
    void *ticket_address;

    for (int block = 0; block < BLOCKS; block++)
        for (int bin = 0; bin < BINS; bin++)
            want[block * BINS + bin] = count_of(block, bin) + (block ? want[(block - 1) * BINS + bin] : 0);
    CHECK(cudaGetSymbolAddress(&ticket_address, tickets));
    for (int round = 0; round < 30; round++) {
        CHECK(cudaMemset(words, 0, BLOCKS * BINS * sizeof(int)));
        CHECK(cudaMemset(ticket_address, 0, sizeof(unsigned)));
        prefixes<<<BLOCKS, THREADS>>>(words, sums, round % 3);
        CHECK(cudaDeviceSynchronize());
        same("sums", sums, want, BLOCKS * BINS);
        memset(sums, 0, BLOCKS * BINS * sizeof(int));
    }
    free(want);
    return finish();
}
