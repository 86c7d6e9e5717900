/* A separable convolution of an image with 17 taps a direction: rows, then columns, each through local memory. */
#include "convolution.h"
#ifdef __OPENCL_VERSION__
kernel void rows(global const float *in, constant float *taps, global float *out, int width)
{
    local float line[256 + 2 * RADIUS];
    int item = get_local_id(0), x = get_global_id(0);
    global const float *row = in + get_group_id(1) * width;
    line[item + RADIUS] = row[x];
    if (item < RADIUS) {
        line[item] = x >= RADIUS ? row[x - RADIUS] : 0;
        line[item + 256 + RADIUS] = x + 256 < width ? row[x + 256] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
        sum += taps[i] * line[item + i];
    out[get_group_id(1) * width + x] = sum;
}

kernel void columns(global const float *in, constant float *taps, global float *out, int width, int height)
{
    local float tile[16 + 2 * RADIUS][16];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_global_id(0);
    int first = (int)get_group_id(1) * 16 - RADIUS;
    for (int i = ty; i < 16 + 2 * RADIUS; i += 16)
        tile[i][tx] = first + i >= 0 && first + i < height ? in[(first + i) * width + x] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
#pragma unroll
    for (int i = 0; i <= 2 * RADIUS; i++)
        sum += taps[i] * tile[ty + i][tx];
    out[get_global_id(1) * width + x] = sum;
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "rows", WIDTH / 256, HEIGHT, 256, 1, "bbbi", 0, 1, 2, WIDTH);
    bench_opencl_launch(cl, "columns", WIDTH / 16, HEIGHT / 16, 16, 16, "bbbii", 2, 1, 3, WIDTH, HEIGHT);
    bench_opencl_wait(cl);
}
#endif
