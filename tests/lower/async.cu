// Copies that need not be waited for at once.
#include <cuda_pipeline.h>

__global__ void copies(float *out, const float *in, int n)
{
    __shared__ alignas(16) float tile[256];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_memcpy_async(&tile[2 * (threadIdx.x & 31)], &in[2 * threadIdx.x], 8);
    __pipeline_memcpy_async(&tile[4 * (threadIdx.x & 31)], &in[4 * threadIdx.x], 16);
    __pipeline_memcpy_async(&tile[4 * (threadIdx.x & 31)], &in[4 * threadIdx.x], 16, 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 1];
#if __CUDA_ARCH__ >= 800
    unsigned to = __cvta_generic_to_shared(&tile[threadIdx.x & 31]), bytes = n & 7;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(in), "r"(bytes));
    asm volatile("{ .reg .pred q; setp.eq.u32 q, %2, 1; cp.async.cg.shared.global [%0], [%1], 16, q; }" ::"r"(to & ~15), "l"(in), "r"(bytes));
    asm volatile("cp.async.wait_all;");
#endif
}
