// f16 and bf16, single and packed.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void halves(__half *out, float *real, __half a, __half b, __half c, int n)
{
    int i = 0;
    out[i++] = a + b * c - a / b;
    out[i++] = __hadd_sat(a, b);
    out[i++] = __hfma_relu(a, b, c);
    out[i++] = __hfma_sat(a, b, c);
    out[i++] = __hmin(a, b);
    out[i++] = __hmax_nan(a, b);
    out[i++] = __hneg(__habs(c));
    out[i++] = hsqrt(a) + hrcp(b) + hrsqrt(c) + hexp(a) + hexp2(b) + hlog(c) + hlog2(a) + hsin(b) + hcos(c) + htanh(a);
    out[i++] = htrunc(a) + hfloor(b) + hceil(c) + hrint(a);
    out[i++] = __float2half_rn(real[0]) + __float2half_rz(real[1]) + __int2half_rn(n) + __double2half(real[2]);
    out[i++] = __short2half_rn(n) + __uint2half_ru(n) + __ll2half_rd(n);
    real[i++] = __half2float(a) + __half2int_rz(b) + __half2uint_rn(c) + __half2short_ru(a) + (float)__half2ll_rd(b);
    real[i++] = __hlt(a, b) + __heq(a, c) + __hgeu(b, c) + __hisnan(a) + __hisinf(b);
}

__global__ void pairs(__half2 *out, unsigned *masks, __half2 a, __half2 b, __half2 c, float2 f)
{
    int i = 0;
    out[i++] = a + b * c - a;
    out[i++] = __h2div(a, b);
    out[i++] = __hfma2_relu(a, b, c);
    out[i++] = __hmin2(a, b);
    out[i++] = __hmax2_nan(b, c);
    out[i++] = __hadd2_sat(a, b);
    out[i++] = __heq2(a, b);
    out[i++] = __hltu2(a, b);
    out[i++] = h2exp2(a) + h2sqrt(b) + h2tanh(c) + h2floor(a);
    out[i++] = __floats2half2_rn(f.x, f.y);
    out[i++] = __halves2half2(__low2half(a), __high2half(b));
    out[i++] = __hneg2(__habs2(a));
    masks[0] = __heq2_mask(a, b);
    masks[1] = __hbgt2(a, b) + __hbequ2(b, c);
    out[i++] = __float22half2_rn(__half22float2(a));
}

__global__ void brains(__nv_bfloat16 *out, float *real, __nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c, int n)
{
    int i = 0;
    out[i++] = a + b * c - a / b;
    out[i++] = hsqrt(a) + hrcp(b) + hexp(a) + hlog(c) + hsin(b) + hcos(a);
#if __CUDA_ARCH__ >= 800
    out[i++] = __hfma_relu(a, b, c);
#endif
    out[i++] = __hmin(a, b);
    out[i++] = __hmax_nan(a, b);
    out[i++] = __hneg(__habs(c));
    out[i++] = hsqrt(a) + hrcp(b) + hexp(a) + hlog(c) + hsin(b) + htanh(a);
    out[i++] = __float2bfloat16_rn(real[0]) + __float2bfloat16_rz(real[1]) + __int2bfloat16_rn(n) + __double2bfloat16(real[2]);
    real[i++] = __bfloat162float(a) + __bfloat162int_rz(b) + (__hlt(a, b) ? 1.f : 2.f);
}

__global__ void brain_pairs(__nv_bfloat162 *out, unsigned *masks, __nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c, float2 f)
{
    int i = 0;
    out[i++] = a + b * c - a;
#if __CUDA_ARCH__ >= 800
    out[i++] = __hfma2_relu(a, b, c);
#endif
    out[i++] = __hmin2(a, b);
    out[i++] = __heq2(a, b);
    out[i++] = __floats2bfloat162_rn(f.x, f.y);
    masks[0] = __heq2_mask(a, b) + __hbgt2(a, b);
}

__global__ void atomics(__half *h, __half2 *h2, __nv_bfloat16 *b, __nv_bfloat162 *b2, float2 *f2, float4 *f4)
{
    h[1] = atomicAdd(h, __half(1.f));
    h2[1] = atomicAdd(h2, __half2(1.f, 2.f));
    b[1] = atomicAdd(b, __nv_bfloat16(1.f));
    b2[1] = atomicAdd(b2, __nv_bfloat162(1.f, 2.f));
#if __CUDA_ARCH__ >= 900
    f2[1] = atomicAdd(f2, float2{1, 2});
    atomicAdd(f4, float4{1, 2, 3, 4});
#endif
}
