// Votes, matches and active masks, in whole warps, in loops with different trip counts and in both sides of branches.
#include "check.h"

__global__ void whole(unsigned *out)
{
    int lane = threadIdx.x;
    out[lane * 5] = __ballot_sync(~0u, lane % 3 == 0);
    out[lane * 5 + 1] = __all_sync(~0u, lane < 32) * 4 + __all_sync(~0u, lane < 31) * 2 + __any_sync(~0u, lane == 7);
    int all;
    out[lane * 5 + 2] = __match_any_sync(~0u, lane / 5);
    out[lane * 5 + 3] = __match_all_sync(~0u, 1ull << 40, &all) + all;
    out[lane * 5 + 4] = __match_all_sync(~0u, lane, &all) + all;
}

__global__ void sides(unsigned *out)
{
    int lane = threadIdx.x;
    if (lane & 4) {
        out[lane * 2] = __ballot_sync(0xf0f0f0f0u, lane & 1);
        out[lane * 2 + 1] = __match_any_sync(0xf0f0f0f0u, (unsigned long long)(lane & 3));
    } else {
        out[lane * 2] = __ballot_sync(0x0f0f0f0fu, lane & 2);
        out[lane * 2 + 1] = __any_sync(0x0f0f0f0fu, lane == 31);
    }
}

// Lanes leave the loop one by one; those inside must see each other alone.
__global__ void loop(unsigned *out)
{
    int lane = threadIdx.x;
    unsigned seen = 0, mask = ~0u;
    for (int i = 0; i <= lane; i++) {
        mask = ~0u << i;
        seen += __popc(__ballot_sync(mask, 1));
    }
    out[lane] = seen;
}

__global__ void counts(int *out)
{
    out[0] = __syncthreads_count(threadIdx.x % 5 == 0);
    out[1] = __syncthreads_and(threadIdx.x < 200);
    out[2] = __syncthreads_or(threadIdx.x == 77);
    out[3] = __syncthreads_and(threadIdx.x < 500);
}

int main()
{
    unsigned *out = managed<unsigned>(160);
    whole<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    unsigned thirds = 0;
    for (int i = 0; i < 32; i += 3)
        thirds |= 1u << i;
    for (int lane = 0; lane < 32; lane++) {
        unsigned group = 0;
        for (int i = 0; i < 32; i++)
            group |= (unsigned)(i / 5 == lane / 5) << i;
        REQUIRE(out[lane * 5] == thirds && out[lane * 5 + 1] == 5 && out[lane * 5 + 2] == group);
        REQUIRE(out[lane * 5 + 3] == 0 && out[lane * 5 + 4] == 0); // ~0 + 1; 0 + 0
    }
    sides<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int lane = 0; lane < 32; lane++) {
        REQUIRE(out[lane * 2] == (lane & 4 ? 0xf0f0f0f0u & 0xaaaaaaaau : 0x0f0f0f0fu & 0xccccccccu));
        if (lane & 4)
            REQUIRE(out[lane * 2 + 1] == (0xf0f0f0f0u & 0x11111111u << (lane & 3)));
        else
            REQUIRE(out[lane * 2 + 1] == 0);
    }
    loop<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int lane = 0; lane < 32; lane++) {
        unsigned want = 0;
        for (int i = 0; i <= lane; i++)
            want += 32 - i;
        REQUIRE(out[lane] == want);
    }
    int *c = managed<int>(4);
    counts<<<1, 256>>>(c);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(c[0] == 52 && c[1] == 0 && c[2] != 0 && c[3] != 0);
    return finish();
}
