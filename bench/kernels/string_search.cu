// Where a short string occurs in a long one: each thread compares byte by byte at its place.
#include "../cuda.h"
#include "string_search.h"

__global__ void search(const char *text, int count, const char *pattern, int length, unsigned char *found, unsigned *total)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > count - length)
        return;
    int j = 0;
    while (j < length && text[i + j] == pattern[j])
        j++;
    found[i] = j == length;
    if (j == length)
        atomicAdd(total, 1);
}

void bench_run_cuda(void *const *p)
{
    CHECK(cudaMemsetAsync(p[3], 0, sizeof(unsigned)));
    search<<<(COUNT + 255) / 256, 256>>>((const char *)p[0], COUNT, (const char *)p[1], LENGTH, (unsigned char *)p[2],
                                         (unsigned *)p[3]);
    FINISH();
}
