/* Bitonic sort: one launch a step, one compared element an item. */
#include "bitonic.h"
#ifdef __OPENCL_VERSION__
kernel void exchange(global uint *data, int j, int k)
{
    int i = get_global_id(0);
    int other = i ^ j;
    if (other <= i)
        return;
    uint a = data[i], b = data[other];
    if ((i & k) == 0 ? a > b : a < b) {
        data[i] = b;
        data[other] = a;
    }
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    for (int k = 2; k <= COUNT; k *= 2)
        for (int j = k / 2; j > 0; j /= 2)
            bench_opencl_launch(cl, "exchange", COUNT / 256, 1, 256, 1, "bii", 0, j, k);
    bench_opencl_wait(cl);
}
#endif
