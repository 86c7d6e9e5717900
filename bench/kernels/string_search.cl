/* Where a short string occurs in a long one: each item compares byte by byte at its place. */
#include "string_search.h"
#ifdef __OPENCL_VERSION__
kernel void zero(global uint *total)
{
    *total = 0;
}

kernel void search(global const char *text, int count, global const char *pattern, int length, global uchar *found,
                   global uint *total)
{
    int i = get_global_id(0);
    if (i > count - length)
        return;
    int j = 0;
    while (j < length && text[i + j] == pattern[j])
        j++;
    found[i] = j == length;
    if (j == length)
        atomic_inc(total);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "zero", 1, 1, 1, 1, "b", 3);
    bench_opencl_launch(cl, "search", (COUNT + 255) / 256, 1, 256, 1, "bibibb", 0, COUNT, 1, LENGTH, 2, 3);
    bench_opencl_wait(cl);
}
#endif
