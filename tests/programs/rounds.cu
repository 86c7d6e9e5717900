// Lanes of one warp that wait each for its own flag get into different rounds of the loop around the wait: what is the same for
// all of them in one round (the counter, a branch on it, a call chosen by it) is not the same for all that run together.
#include "check.h"

enum { ROUNDS = 24, LANES = 32 };

__device__ __noinline__ unsigned odd_step(unsigned x, unsigned i)
{
    return x * 5 + i;
}

__host__ __device__ static unsigned step(unsigned x, unsigned i, const unsigned *table)
{
    if (i % 3 == 1) {
        for (unsigned k = 0; k < i; k++)
            x = x * 3 + table[k];
    } else if (i % 3 == 2) {
#ifdef __CUDA_ARCH__
        x = odd_step(x, i);
#else
        x = x * 5 + i;
#endif
    } else {
        x ^= table[i] + (x >> 3);
    }
    return x;
}

__global__ void wait_in_rounds(volatile unsigned *flags, volatile unsigned *turn, const unsigned *table, unsigned *results,
                               unsigned *rounds)
{
    unsigned lane = threadIdx.x;

    if (blockIdx.x == 0) { // one thread sets the flags, lane by lane, each lane's rounds at its own pace
        if (lane == 0)
            for (unsigned n = 0; n < ROUNDS * LANES; n++) {
                unsigned who = n * 11 % LANES, i = n / LANES;
                if (who % 2)
                    i = ROUNDS - 1 - i; // from the last to the first
                flags[i * LANES + who] = 1 + n;
                __threadfence();
                for (unsigned wait = 0; wait < n % 7 * 50; wait++)
                    *turn = wait;
            }
        return;
    }
    unsigned x = lane, done = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        while (flags[i * LANES + lane] == 0)
            ;
        x = step(x, i, table);
        done++;
        if (i == 17)
            x += lane;
    }
    results[lane] = x;
    rounds[lane] = done;
}

int main()
{
    unsigned *flags = managed<unsigned>(ROUNDS * LANES), *turn = managed<unsigned>(1), *table = managed<unsigned>(ROUNDS);
    unsigned *results = managed<unsigned>(LANES), *rounds = managed<unsigned>(LANES), want[LANES], all[LANES];

    for (unsigned i = 0; i < ROUNDS; i++)
        table[i] = i * 2654435761u;
    for (unsigned lane = 0; lane < LANES; lane++) {
        want[lane] = lane;
        all[lane] = ROUNDS;
        for (unsigned i = 0; i < ROUNDS; i++)
            want[lane] = step(want[lane], i, table) + (i == 17 ? lane : 0);
    }
    for (int run = 0; run < 20; run++) {
        memset(flags, 0, ROUNDS * LANES * sizeof(unsigned));
        wait_in_rounds<<<2, LANES>>>(flags, turn, table, results, rounds);
        CHECK(cudaDeviceSynchronize());
        same("rounds", rounds, all, LANES);
        same("results", results, want, LANES);
        memset(results, 0, LANES * sizeof(unsigned));
    }
    return finish();
}
