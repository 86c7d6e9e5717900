// A pair of 32-bit words that one thread stores at once and others read at once (a value and its state, as a scan's look-back
// has it): nobody may see one word of an old store and one of a new.
#include "check.h"

enum { WRITES = 200000 };

__device__ void write_pair(unsigned *at, unsigned x, unsigned y)
{
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(x), "r"(y) : "memory");
}

__device__ void read_pair(const unsigned *at, unsigned *x, unsigned *y)
{
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(*x), "=r"(*y) : "l"(at) : "memory");
}

__device__ void write_volatile(unsigned *at, unsigned x, unsigned y)
{
    asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(at), "r"(x), "r"(y) : "memory");
}

__device__ void read_volatile(const unsigned *at, unsigned *x, unsigned *y)
{
    asm volatile("ld.volatile.global.v2.u32 {%0, %1}, [%2];" : "=r"(*x), "=r"(*y) : "l"(at) : "memory");
}

// CTA 0 writes, the others read until they see the last pair of their lane.
__global__ void exchange(unsigned *pairs, unsigned *torn, bool relaxed)
{
    unsigned place = threadIdx.x * (threadIdx.x + 1) / 2 % 32; // a permutation: no lane's pair is its neighbour's neighbour
    unsigned *own = pairs + 2 * place, x = 0, y = 0, bad = 0;
    if (blockIdx.x == 0) {
        for (unsigned n = 1; n <= WRITES; n++)
            relaxed ? write_pair(own, n, ~n) : write_volatile(own, n, ~n);
        return;
    }
    while (x != WRITES) {
        relaxed ? read_pair(own, &x, &y) : read_volatile(own, &x, &y);
        bad += y != ~x;
    }
    if (bad)
        atomicAdd(torn, bad);
}

int main()
{
    unsigned *pairs = managed<unsigned>(64), *torn = managed<unsigned>(1);
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        for (int n = 0; n < 64; n += 2) {
            pairs[n] = 0;
            pairs[n + 1] = ~0u;
        }
        exchange<<<2, 32>>>(pairs, torn, relaxed);
        CHECK(cudaDeviceSynchronize());
    }
    if (*torn)
        printf("%u pairs were half old, half new\n", *torn);
    REQUIRE(*torn == 0);
    return finish();
}
