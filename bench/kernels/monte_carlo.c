/* Counts random points within the unit circle: Philox 4x32-10, two points a draw. */
#include "monte_carlo.h"
#include "../harness.h"

/* Whether a product is fused with the sum decides about points on the circle itself. */
void bench_setup(struct bench *bench)
{
    bench_buffer(bench, BENCH_U32, 1, BENCH_OUT);
    bench_tolerance(bench, 1e-6, 1, 0);
    bench->work = 4e-9 * THREADS * DRAWS;
    bench->unit = "Gnumber/s";
}

static unsigned inside(uint32_t a, uint32_t b)
{
    float x = (float)(a >> 8) * 0x1p-24f, y = (float)(b >> 8) * 0x1p-24f;
    return x * x + y * y < 1;
}

static unsigned draw(uint32_t counter, uint32_t thread)
{
    uint32_t x = counter, y = 0, z = thread, w = 0, key0 = 0x12345678, key1 = 0x9abcdef0;
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * x, p1 = (uint64_t)0xCD9E8D57u * z;
        x = (uint32_t)(p1 >> 32) ^ y ^ key0;
        y = (uint32_t)p1;
        z = (uint32_t)(p0 >> 32) ^ w ^ key1;
        w = (uint32_t)p0;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return inside(x, y) + inside(z, w);
}

void bench_run(void *const *p)
{
    unsigned count = 0;
#pragma omp parallel for reduction(+ : count)
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < DRAWS; i++)
            count += draw(i, thread);
    *(uint32_t *)p[0] = count;
}
