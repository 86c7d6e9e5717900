/* A 7-point stencil in three dimensions, f64: groups of 32x8, each item goes up a column. */
#include "stencil.h"
#ifdef __OPENCL_VERSION__
kernel void stencil(global const double *in, global double *out, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1)
        return;
    for (int z = 1; z < n - 1; z++) {
        int i = (z * n + y) * n + x;
        out[i] = 0.4 * in[i] + 0.1 * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n] + in[i - n * n] + in[i + n * n]);
    }
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "stencil", N / 32, N / 8, 32, 8, "bbi", 0, 1, N);
    bench_opencl_wait(cl);
}
#endif
