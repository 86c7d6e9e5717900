/* Layer norm of rows, a group a row: mean, variance, scale and shift; trees in local memory. */
#include "layer_norm.h"
#ifdef __OPENCL_VERSION__
/* The sum over a group of 256 items; all of them get it. */
float group_sum(float value, local float *parts)
{
    int item = get_local_id(0);
    parts[item] = value;
    for (int offset = 128; offset > 0; offset /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < offset)
            parts[item] += parts[item + offset];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    value = parts[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return value;
}

kernel void layer_norm(global const float *in, global const float *scale, global const float *shift, global float *out, int width)
{
    local float parts[256];
    int item = get_local_id(0);
    global const float *row = in + get_group_id(0) * width;
    float sum = 0;
    for (int i = item; i < width; i += 256)
        sum += row[i];
    float mean = group_sum(sum, parts) / width;
    sum = 0;
    for (int i = item; i < width; i += 256)
        sum += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrt(group_sum(sum, parts) / width + 1e-5f);
    for (int i = item; i < width; i += 256)
        out[get_group_id(0) * width + i] = (row[i] - mean) * inverse * scale[i] + shift[i];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "layer_norm", ROWS, 1, 256, 1, "bbbbi", 0, 1, 2, 3, WIDTH);
    bench_opencl_wait(cl);
}
#endif
