// Counts random points within the unit circle: Philox 4x32-10, two points a draw, sums by shuffles and an atomic.
#include "../cuda.h"
#include "monte_carlo.h"

__device__ uint4 philox(unsigned counter, unsigned thread)
{
    uint4 c = make_uint4(counter, 0, thread, 0);
    unsigned key0 = 0x12345678, key1 = 0x9abcdef0;
#pragma unroll
    for (int i = 0; i < 10; i++) {
        unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

__device__ int inside(unsigned a, unsigned b)
{
    float x = (a >> 8) * 0x1p-24f, y = (b >> 8) * 0x1p-24f;
    return x * x + y * y < 1;
}

__global__ void monte_carlo(unsigned *out, int draws)
{
    unsigned thread = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
    for (int i = 0; i < draws; i++) {
        uint4 r = philox(i, thread);
        count += inside(r.x, r.y) + inside(r.z, r.w);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        count += __shfl_down_sync(0xffffffff, count, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, count);
}

void bench_run_cuda(void *const *p)
{
    CHECK(cudaMemsetAsync(p[0], 0, sizeof(unsigned)));
    monte_carlo<<<THREADS / 256, 256>>>((unsigned *)p[0], DRAWS);
    FINISH();
}
