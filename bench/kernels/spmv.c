/* y = A x for a sparse matrix in compressed rows: a band, whose columns are random within some thousands. */
#include "spmv.h"
#include "../harness.h"

void bench_setup(struct bench *bench)
{
    uint32_t *rows = bench_buffer(bench, BENCH_U32, ROWS + 1, BENCH_IN);
    uint64_t random = 1;
    for (int i = 0; i < ROWS; i++)
        rows[i + 1] = rows[i] + LEAST + bench_random(&random) % (MOST - LEAST + 1);
    uint32_t *columns = bench_buffer(bench, BENCH_U32, rows[ROWS], BENCH_IN);
    float *values = bench_buffer(bench, BENCH_F32, rows[ROWS], BENCH_IN);
    float *x = bench_buffer(bench, BENCH_F32, ROWS, BENCH_IN);
    bench_buffer(bench, BENCH_F32, ROWS, BENCH_OUT);
    bench_tolerance(bench, 1e-5, 1, 0);
    for (int i = 0; i < ROWS; i++) {
        x[i] = bench_random_float(&random);
        for (uint32_t j = rows[i]; j < rows[i + 1]; j++) {
            columns[j] = ((uint32_t)i + bench_random(&random) % 8192) % ROWS;
            values[j] = bench_random_float(&random);
        }
    }
    bench->work = 8e-9 * rows[ROWS];
    bench->unit = "GB/s";
}

void bench_run(void *const *p)
{
    const uint32_t *rows = p[0], *columns = p[1];
    const float *values = p[2], *x = p[3];
    float *y = p[4];
#pragma omp parallel for
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (uint32_t i = rows[row]; i < rows[row + 1]; i++)
            sum += values[i] * x[columns[i]];
        y[row] = sum;
    }
}
