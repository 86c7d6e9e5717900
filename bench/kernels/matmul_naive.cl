/* c = a b, one element an item, groups of 16x16. */
#include "matmul_naive.h"
#ifdef __OPENCL_VERSION__
kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    int row = get_global_id(1);
    int col = get_global_id(0);
    if (row >= n || col >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "matmul", (N + 15) / 16, (N + 15) / 16, 16, 16, "bbbi", 0, 1, 2, N);
    bench_opencl_wait(cl);
}
#endif
