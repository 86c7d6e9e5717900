/* Counts random points within the unit circle: Philox 4x32-10, two points a draw, sums in local memory. */
#include "monte_carlo.h"
#ifdef __OPENCL_VERSION__
uint4 philox(uint counter, uint thread)
{
    uint4 c = (uint4)(counter, 0, thread, 0);
    uint key0 = 0x12345678, key1 = 0x9abcdef0;
#pragma unroll
    for (int i = 0; i < 10; i++) {
        uint high0 = mul_hi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        uint high1 = mul_hi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = (uint4)(high1 ^ c.y ^ key0, low1, high0 ^ c.w ^ key1, low0);
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}

int inside(uint a, uint b)
{
    float x = (a >> 8) * 0x1p-24f, y = (b >> 8) * 0x1p-24f;
    return x * x + y * y < 1;
}

kernel void zero(global uint *out)
{
    *out = 0;
}

kernel void monte_carlo(global uint *out, int draws)
{
    local uint sum;
    uint thread = get_global_id(0), count = 0;
    if (get_local_id(0) == 0)
        sum = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < draws; i++) {
        uint4 r = philox(i, thread);
        count += inside(r.x, r.y) + inside(r.z, r.w);
    }
    atomic_add(&sum, count);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        atomic_add(out, sum);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "zero", 1, 1, 1, 1, "b", 0);
    bench_opencl_launch(cl, "monte_carlo", THREADS / 256, 1, 256, 1, "bi", 0, DRAWS);
    bench_opencl_wait(cl);
}
#endif
