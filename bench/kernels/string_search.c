/* Where a short string occurs in a long one: byte by byte at each place. */
#include "string_search.h"
#include "../harness.h"
#include <string.h>

void bench_setup(struct bench *bench)
{
    uint8_t *text = bench_buffer(bench, BENCH_U8, COUNT, BENCH_IN);
    uint8_t *pattern = bench_buffer(bench, BENCH_U8, LENGTH, BENCH_IN);
    bench_buffer(bench, BENCH_U8, COUNT, BENCH_IN_OUT);
    bench_buffer(bench, BENCH_U32, 1, BENCH_OUT);
    uint64_t random = 1;
    for (int i = 0; i < COUNT; i++)
        text[i] = "acgt"[bench_random(&random) >> 30];
    memcpy(pattern, text + COUNT / 2, LENGTH);
    bench->work = 1e-9 * COUNT;
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const uint8_t *text = p[0], *pattern = p[1];
    uint8_t *found = p[2];
    unsigned total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i <= COUNT - LENGTH; i++) {
        int j = 0;
        while (j < LENGTH && text[i + j] == pattern[j])
            j++;
        found[i] = j == LENGTH;
        total += j == LENGTH;
    }
    *(uint32_t *)p[3] = total;
}
