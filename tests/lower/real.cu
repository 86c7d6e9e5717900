// f32 and f64: operators, rounding intrinsics, the approximate functions and the math library.
#include <cstdint>

__global__ void single(float *out, float a, float b, float c)
{
    int i = 0;
    out[i++] = a + b * c - a / b;
    out[i++] = __fadd_rz(a, b) + __fsub_ru(a, b) + __fmul_rd(a, b) + __fmaf_rz(a, b, c) + __fdiv_ru(a, b);
    out[i++] = __frcp_rn(a) + __fsqrt_rz(b) + __frsqrt_rn(c) + __fdividef(a, b) + __saturatef(a);
    out[i++] = __sinf(a) + __cosf(b) + __log2f(c) + exp2f(a) + __expf(b) + __powf(a, b) + __tanf(c);
    out[i++] = sinf(a) + cosf(b) + tanf(c) + expf(a) + logf(b) + powf(a, c) + sqrtf(a) + rsqrtf(b) + cbrtf(c);
    out[i++] = fminf(a, b) + fmaxf(b, c) + fabsf(a) + copysignf(a, b) + truncf(a) + floorf(b) + ceilf(c) + rintf(a) + roundf(b);
    out[i++] = fmodf(a, b) + remainderf(a, b) + erff(a) + tgammaf(b) + lgammaf(c) + atan2f(a, b) + sinhf(a) + tanhf(b) + j0f(c);
    out[i++] = ldexpf(a, 3) + (float)ilogbf(b) + hypotf(a, b) + nextafterf(a, b) + norm3df(a, b, c) + normcdff(a) + erfinvf(b);
    out[i++] = isnan(a) ? 1.f : isinf(b) ? 2.f : signbit(c) ? 3.f : isfinite(a) ? 4.f : 5.f;
    out[i++] = a < b ? c : a <= c ? b : a == b ? 1.f : a != c ? 2.f : !(a > b) ? 3.f : 4.f;
}

__global__ void twice(double *out, double a, double b, double c)
{
    int i = 0;
    out[i++] = a + b * c - a / b;
    out[i++] = __dadd_rz(a, b) + __dsub_ru(a, b) + __dmul_rd(a, b) + __fma_rz(a, b, c) + __ddiv_ru(a, b);
    out[i++] = __drcp_rn(a) + __dsqrt_rz(b) + rsqrt(c);
    out[i++] = sin(a) + cos(b) + tan(c) + exp(a) + log(b) + pow(a, c) + sqrt(a) + cbrt(c);
    out[i++] = fmin(a, b) + fmax(b, c) + fabs(a) + copysign(a, b) + trunc(a) + floor(b) + ceil(c) + rint(a) + round(b);
    out[i++] = fmod(a, b) + erf(a) + tgamma(b) + lgamma(c) + atan2(a, b) + sinh(a) + tanh(b) + j0(c);
    out[i++] = a < b ? c : a <= c ? b : a == b ? 1. : a != c ? 2. : !(a > b) ? 3. : 4.;
}

__global__ void by_hand(float *out, unsigned *bits, float a, float b, double w)
{
    float d;
    double x;
    unsigned e;
    asm("tanh.approx.f32 %0, %1;" : "=f"(d) : "f"(a));
    out[0] = d;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(w));
    out[1] = x;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(w));
    out[2] = x;
    asm("div.full.ftz.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    out[3] = d;
#if __CUDA_ARCH__ >= 860
    asm("min.xorsign.abs.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    out[4] = d;
#endif
#if __CUDA_ARCH__ >= 800
    asm("max.ftz.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    out[5] = d;
#endif
    asm("{ .reg .pred q; testp.subnormal.f32 q, %1; selp.u32 %0, 1, 0, q; }" : "=r"(e) : "f"(a));
    bits[0] = e;
    asm("{ .reg .pred q; setp.geu.ftz.f32 q, %1, %2; selp.u32 %0, 1, 0, q; }" : "=r"(e) : "f"(a), "f"(b));
    bits[1] = e;
    asm("set.nan.f32.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    out[6] = d;
    asm("slct.ftz.f32.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(a));
    out[7] = d;
    asm("copysign.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
    out[8] = d;
    asm("fma.rn.ftz.sat.f32 %0, %1, %2, %3;" : "=f"(d) : "f"(a), "f"(b), "f"(a));
    out[9] = d;
    asm("mul.rp.sat.f32 %0, %1, 0f3F000000;" : "=f"(d) : "f"(a));
    out[10] = d;
}
