// y = A x for a sparse matrix in compressed rows, one row a thread.
#include "../cuda.h"
#include "spmv.h"

__global__ void spmv(const unsigned *rows, const unsigned *columns, const float *values, const float *x, float *y, int count)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= count)
        return;
    float sum = 0;
    for (unsigned i = rows[row]; i < rows[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}

void bench_run_cuda(void *const *p)
{
    spmv<<<(ROWS + 255) / 256, 256>>>((const unsigned *)p[0], (const unsigned *)p[1], (const float *)p[2], (const float *)p[3],
                                      (float *)p[4], ROWS);
    FINISH();
}
