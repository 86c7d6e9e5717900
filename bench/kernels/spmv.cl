/* y = A x for a sparse matrix in compressed rows, one row an item. */
#include "spmv.h"
#ifdef __OPENCL_VERSION__
kernel void spmv(global const uint *rows, global const uint *columns, global const float *values, global const float *x,
                 global float *y, int count)
{
    int row = get_global_id(0);
    if (row >= count)
        return;
    float sum = 0;
    for (uint i = rows[row]; i < rows[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "spmv", (ROWS + 255) / 256, 1, 256, 1, "bbbbbi", 0, 1, 2, 3, 4, ROWS);
    bench_opencl_wait(cl);
}
#endif
