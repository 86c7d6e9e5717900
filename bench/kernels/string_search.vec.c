/* Where a short string occurs in a long one, by hand: 64 places a vector, until none of them can be one any more. */
#include "string_search.h"
#include "../harness.h"

typedef signed char vector __attribute__((vector_size(64)));
typedef signed char unaligned __attribute__((vector_size(64), aligned(1)));
typedef long long words __attribute__((vector_size(64)));

static inline int any(vector mask)
{
    words w = (words)mask;
    return ((w[0] | w[1]) | (w[2] | w[3]) | (w[4] | w[5]) | (w[6] | w[7])) != 0;
}

void bench_run(void *const *p)
{
    const signed char *text = p[0], *pattern = p[1];
    signed char *found = p[2];
    unsigned total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < COUNT - LENGTH + 1 - 63; i += 64) {
        vector same = *(const unaligned *)(text + i) == pattern[0];
        for (int j = 1; j < LENGTH && any(same); j++)
            same &= *(const unaligned *)(text + i + j) == pattern[j];
        *(unaligned *)(found + i) = same & 1;
        if (any(same))
            for (int l = 0; l < 64; l++)
                total += (unsigned)(same[l] & 1);
    }
    for (int i = (COUNT - LENGTH + 1) / 64 * 64; i <= COUNT - LENGTH; i++) {
        int j = 0;
        while (j < LENGTH && text[i + j] == pattern[j])
            j++;
        found[i] = j == LENGTH;
        total += j == LENGTH;
    }
    *(uint32_t *)p[3] = total;
}
