/* Softmax of rows, a group a row: greatest, sum of exponentials, quotient; trees in local memory. */
#include "softmax.h"
#ifdef __OPENCL_VERSION__
kernel void softmax(global const float *in, global float *out, int width)
{
    local float parts[256];
    int item = get_local_id(0);
    global const float *row = in + get_group_id(0) * width;
    global float *result = out + get_group_id(0) * width;
    float greatest = -INFINITY;
    for (int i = item; i < width; i += 256)
        greatest = fmax(greatest, row[i]);
    parts[item] = greatest;
    for (int offset = 128; offset > 0; offset /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < offset)
            parts[item] = fmax(parts[item], parts[item + offset]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    greatest = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (int i = item; i < width; i += 256) {
        float e = exp(row[i] - greatest);
        result[i] = e;
        sum += e;
    }
    parts[item] = sum;
    for (int offset = 128; offset > 0; offset /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < offset)
            parts[item] += parts[item + offset];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = parts[0];
    for (int i = item; i < width; i += 256)
        result[i] /= sum;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "softmax", ROWS, 1, 256, 1, "bbi", 0, 1, WIDTH);
    bench_opencl_wait(cl);
}
#endif
