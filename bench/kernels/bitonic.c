/* Bitonic sort: the same network. */
#include "bitonic.h"
#include "../harness.h"

void bench_setup(struct bench *bench)
{
    uint32_t *data = bench_buffer(bench, BENCH_U32, COUNT, BENCH_IN_OUT);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++)
        data[i] = bench_random(&random);
    bench->work = 1e-9 * COUNT;
    bench->unit = "Gelement/s";
}

void bench_run(void *const *p)
{
    uint32_t *data = p[0];
    for (int k = 2; k <= COUNT; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
#pragma omp parallel for
            for (int i = 0; i < COUNT; i++) {
                int other = i ^ j;
                if (other <= i)
                    continue;
                uint32_t a = data[i], b = data[other];
                if ((i & k) == 0 ? a > b : a < b) {
                    data[i] = b;
                    data[other] = a;
                }
            }
}
