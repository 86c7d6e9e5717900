// Every conversion that the language has, with each rounding.
#include <cstdint>

template <typename D, typename S> __device__ void one(char *out, S s, int n)
{
    reinterpret_cast<D *>(out)[n] = static_cast<D>(s);
}
template <typename S> __global__ void from(char *out, const S *in)
{
    S s = in[threadIdx.x];
    one<int8_t>(out, s, 0), one<uint8_t>(out, s, 1), one<int16_t>(out, s, 2), one<uint16_t>(out, s, 3);
    one<int32_t>(out, s, 4), one<uint32_t>(out, s, 5), one<int64_t>(out, s, 6), one<uint64_t>(out, s, 7);
    one<float>(out, s, 8), one<double>(out, s, 9), one<bool>(out, s, 100);
}
template __global__ void from<int8_t>(char *, const int8_t *);
template __global__ void from<uint8_t>(char *, const uint8_t *);
template __global__ void from<int16_t>(char *, const int16_t *);
template __global__ void from<uint16_t>(char *, const uint16_t *);
template __global__ void from<int32_t>(char *, const int32_t *);
template __global__ void from<uint32_t>(char *, const uint32_t *);
template __global__ void from<int64_t>(char *, const int64_t *);
template __global__ void from<uint64_t>(char *, const uint64_t *);
template __global__ void from<float>(char *, const float *);
template __global__ void from<double>(char *, const double *);

__global__ void rounded(int *i, unsigned *u, long long *l, unsigned long long *ul, float *f, double *d)
{
    i[0] = __float2int_rn(f[0]) + __float2int_rz(f[1]) + __float2int_ru(f[2]) + __float2int_rd(f[3]);
    u[0] = __float2uint_rn(f[0]) + __float2uint_rz(f[1]) + __float2uint_ru(f[2]) + __float2uint_rd(f[3]);
    l[0] = __float2ll_rn(f[0]) + __double2ll_rz(d[1]) + __double2ll_ru(d[2]) + __float2ll_rd(f[3]);
    ul[0] = __float2ull_rn(f[0]) + __double2ull_rz(d[1]) + __double2ull_ru(d[2]) + __float2ull_rd(f[3]);
    f[4] = __int2float_rn(i[1]) + __int2float_rz(i[2]) + __uint2float_ru(u[3]) + __ll2float_rd(l[4]) + __ull2float_rn(ul[5]);
    d[4] = __int2double_rn(i[1]) + __uint2double_rn(u[3]) + __ll2double_rd(l[4]) + __ull2double_rz(ul[5]);
    f[5] = __double2float_rn(d[0]) + __double2float_rz(d[1]) + __double2float_ru(d[2]) + __double2float_rd(d[3]);
    i[5] = __float_as_int(f[6]) + __double2hiint(d[5]) + __double2loint(d[6]);
    d[7] = __hiloint2double(i[6], i[7]) + __longlong_as_double(l[7]);
}

__global__ void by_hand(unsigned *out, int a, unsigned b, long long w, float f, double d)
{
    unsigned e;
    short h;
    float g;
    asm("cvt.sat.u8.s32 %0, %1;" : "=r"(e) : "r"(a));
    out[0] = e;
    asm("cvt.sat.s16.u32 %0, %1;" : "=h"(h) : "r"(b));
    out[1] = h;
    asm("cvt.sat.u32.s64 %0, %1;" : "=r"(e) : "l"(w));
    out[2] = e;
    asm("cvt.sat.u32.s32 %0, %1;" : "=r"(e) : "r"(a));
    out[3] = e;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(e) : "r"(a), "r"(b), "r"(a));
    out[4] = e;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(e) : "r"(a), "r"(b));
    out[5] = e;
    asm("cvt.rni.ftz.sat.f32.f32 %0, %1;" : "=f"(g) : "f"(f));
    out[6] = g;
    asm("cvt.sat.f32.f32 %0, %1;" : "=f"(g) : "f"(f));
    out[7] = g;
    asm("cvt.rm.ftz.f32.f64 %0, %1;" : "=f"(g) : "d"(d));
    out[8] = g;
    asm("cvt.rpi.ftz.s32.f32 %0, %1;" : "=r"(e) : "f"(f));
    out[9] = e;
    asm("cvt.s32.s8 %0, %1;" : "=r"(e) : "r"(b));
    out[10] = e;
}
