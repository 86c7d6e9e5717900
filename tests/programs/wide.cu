// arch: 90
// Strong accesses of 16 bytes: nobody sees half of one. Blocks store words whose parts agree and look whether they still do while
// others store there too. Then compare-and-swap and exchange of 128 bits.
#include "check.h"

enum { CELLS = 64, BLOCKS = 64, ROUNDS = 1000 };

struct alignas(16) pair {
    unsigned long long low, high;
};
struct alignas(16) quad {
    unsigned parts[4];
};

__device__ static pair load_pair(const pair *at)
{
    pair got;
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(got.low), "=l"(got.high) : "l"(at) : "memory");
    return got;
}

__device__ static void store_pair(pair *at, unsigned long long value)
{
    asm volatile("st.release.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(value), "l"(~value) : "memory");
}

// All blocks write and read: each lane its own cell, and all of a block's lanes one.
__global__ void pairs(pair *cells, pair *one, unsigned *torn, unsigned *others)
{
    unsigned bad = 0, changed = 0;
    for (unsigned long long i = 0; i < ROUNDS; i++) {
        unsigned long long mine = (blockIdx.x + 1) * 0x100000001ull * ROUNDS + i;
        store_pair(&cells[threadIdx.x], mine);
        pair got = load_pair(&cells[threadIdx.x]);
        bad += got.low != ~got.high;
        changed += got.low != mine;
        store_pair(one, mine);
        got = load_pair(one);
        bad += got.low != ~got.high;
        changed += got.low != mine;
    }
    atomicAdd(torn, bad);
    atomicAdd(others, changed);
}

__global__ void quads(quad *cells, unsigned *torn)
{
    quad *at = &cells[threadIdx.x * 7 % CELLS]; // no stride
    unsigned bad = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned mine = blockIdx.x * ROUNDS + i;
        quad got;
        asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(mine), "r"(mine + 1), "r"(mine + 2),
                     "r"(mine + 3)
                     : "memory");
        asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(got.parts[0]), "=r"(got.parts[1]), "=r"(got.parts[2]), "=r"(got.parts[3])
                     : "l"(at)
                     : "memory");
        for (unsigned p = 1; p < 4; p++)
            bad += got.parts[p] != got.parts[0] + p;
    }
    atomicAdd(torn, bad);
}

// A 128-bit counter: its halves move together.
__global__ void count(pair *counter, pair *swapped, unsigned *torn)
{
    unsigned bad = 0;
    for (int i = 0; i < 100; i++) {
        pair old = load_pair(counter), seen;
        for (;;) {
            asm volatile("{\n\t.reg .b128 o, n, s;\n\t"
                         "mov.b128 o, {%2, %3};\n\tmov.b128 n, {%4, %5};\n\t"
                         "atom.relaxed.gpu.global.cas.b128 s, [%6], o, n;\n\tmov.b128 {%0, %1}, s;\n\t}"
                         : "=l"(seen.low), "=l"(seen.high)
                         : "l"(old.low), "l"(old.high), "l"(old.low + 1), "l"(old.high + 3), "l"(counter)
                         : "memory");
            if (seen.low == old.low && seen.high == old.high)
                break;
            old = seen;
        }
        unsigned long long mine = threadIdx.x + 1000ull * blockIdx.x + 100000ull * i;
        asm volatile("{\n\t.reg .b128 n, s;\n\tmov.b128 n, {%2, %3};\n\t"
                     "atom.relaxed.gpu.global.exch.b128 s, [%4], n;\n\tmov.b128 {%0, %1}, s;\n\t}"
                     : "=l"(seen.low), "=l"(seen.high)
                     : "l"(mine), "l"(~mine), "l"(swapped)
                     : "memory");
        bad += seen.low != ~seen.high;
    }
    atomicAdd(torn, bad);
}

int main()
{
    pair *cells = managed<pair>(CELLS), *one = managed<pair>(3);
    quad *parts = managed<quad>(CELLS);
    unsigned *counts = managed<unsigned>(8);

    for (int i = 0; i < CELLS; i++) {
        cells[i].high = ~0ull;
        parts[i] = {{0, 1, 2, 3}};
    }
    one[0].high = one[2].high = ~0ull;
    pairs<<<BLOCKS, CELLS>>>(cells, one, counts, counts + 1);
    CHECK(cudaDeviceSynchronize());
    printf("%u halves of pairs; a thread met %u words of others\n", counts[0], counts[1]);
    REQUIRE(counts[0] == 0);
    quads<<<BLOCKS, CELLS>>>(parts, counts + 3);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(counts[3] == 0);
    count<<<4, 64>>>(one + 1, one + 2, counts + 5);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(one[1].low == 25600 && one[1].high == 3 * 25600);
    REQUIRE(counts[5] == 0 && one[2].low == ~one[2].high);
    return finish();
}
