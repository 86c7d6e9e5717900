// Integer arithmetic, bit fields, shifts, extended precision: each kernel gives one group to the compiler.
#include <cstdint>

template <typename T> __device__ T arithmetic(T a, T b, T c)
{
    T d = a + b * c - (a / (b | 1)) + (c % (b | 1));
    d ^= (a & b) | ~c;
    d += a < b ? c : a;
    d += a > c ? b : T(-a);
    return d;
}

template <typename T> __global__ void all(T *out, T a, T b, T c)
{
    out[threadIdx.x] = arithmetic<T>(a + threadIdx.x, b, c);
}
template __global__ void all<int8_t>(int8_t *, int8_t, int8_t, int8_t);
template __global__ void all<uint8_t>(uint8_t *, uint8_t, uint8_t, uint8_t);
template __global__ void all<int16_t>(int16_t *, int16_t, int16_t, int16_t);
template __global__ void all<uint16_t>(uint16_t *, uint16_t, uint16_t, uint16_t);
template __global__ void all<int32_t>(int32_t *, int32_t, int32_t, int32_t);
template __global__ void all<uint32_t>(uint32_t *, uint32_t, uint32_t, uint32_t);
template __global__ void all<int64_t>(int64_t *, int64_t, int64_t, int64_t);
template __global__ void all<uint64_t>(uint64_t *, uint64_t, uint64_t, uint64_t);
template __global__ void all<__int128>(__int128 *, __int128, __int128, __int128);
template __global__ void all<unsigned __int128>(unsigned __int128 *, unsigned __int128, unsigned __int128, unsigned __int128);

__global__ void intrinsics(unsigned *out, int *sout, unsigned long long *wide, unsigned a, unsigned b, unsigned c, int s, int t,
                           unsigned long long w)
{
    unsigned i = 0;
    out[i++] = __umulhi(a, b);
    out[i++] = __umul24(a, b);
    out[i++] = __usad(a, b, c);
    out[i++] = __popc(a) + __clz(b) + __ffs(c) + __brev(a);
    out[i++] = __popcll(w) + __clzll(w) + __ffsll(w);
    out[i++] = __funnelshift_l(a, b, c) + __funnelshift_lc(a, b, c) + __funnelshift_r(a, b, c) + __funnelshift_rc(a, b, c);
    out[i++] = __byte_perm(a, b, c);
    out[i++] = __fns(a, b & 31, s);
    out[i++] = __dp4a(a, b, c) + __dp2a_lo(a, b, c) + __dp2a_hi(a, b, c);
    out[i++] = __uhadd(a, b) + __urhadd(a, b);
    out[i++] = min(a, b) + max(b, c) + (a << (b & 31)) + (a >> (c & 31));
    out[i++] = __vadd2(a, b) + __vsub4(a, b) + __vmaxs2(a, b) + __vcmpeq4(a, b) + __vabsdiffu4(a, b) + __vavgu2(a, b);
    out[i++] = __viaddmax_u32(a, b, c) + __vimax3_u32(a, b, c) + __vimin3_s16x2(a, b, c) + __vibmax_u16x2(a, b, nullptr, nullptr);
    i = 0;
    sout[i++] = __mulhi(s, t);
    sout[i++] = __mul24(s, t);
    sout[i++] = __sad(s, t, a);
    sout[i++] = __dp4a(s, t, s) + __hadd(s, t) + __rhadd(s, t) + abs(s) + min(s, t) + max(s, t) + (s >> (t & 31));
    i = 0;
    wide[i++] = __umul64hi(w, w + 1) + __mul64hi(w, w + 3) + __brevll(w) + (w << (a & 63)) + (w >> (b & 63));
    wide[i++] = (unsigned long long)a * b + (long long)s * t + llabs((long long)w) + min(w, 5ull) + max((long long)w, 7ll);
}

// What the compiler has no intrinsic for, written as PTX.
__global__ void by_hand(unsigned *out, unsigned long long *wide, unsigned a, unsigned b, unsigned c, unsigned long long w)
{
    unsigned d, e, p;
    unsigned long long x, y;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm("bfe.s32 %0, %1, 4, 8;" : "=r"(e) : "r"(a));
    out[0] = d + e;
    asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(d) : "r"(a), "r"(b), "r"(c), "r"(7));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(e) : "r"(a));
    out[1] = d + e;
    asm("bfind.s64 %0, %1;" : "=r"(d) : "l"(w));
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(e) : "r"(a), "r"(b));
    out[2] = d + e;
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    asm("mad.hi.sat.s32 %0, %1, %2, %3;" : "=r"(e) : "r"(a), "r"(b), "r"(c));
    out[3] = d + e;
    asm("mad24.hi.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm("add.sat.s32 %0, %1, %2;" : "=r"(e) : "r"(a), "r"(b));
    out[4] = d + e;
    asm("sub.sat.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
    asm("cnot.b32 %0, %1;" : "=r"(e) : "r"(a));
    out[5] = d + e;
    asm("{ .reg .pred q; setp.ne.u32 q, %1, 0; lop3.or.b32 %0|q, %1, %2, %3, 0x96, q; selp.u32 %0, %0, 1, q; }" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(e) : "r"(a), "r"(b), "r"(c));
    out[6] = d + e;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
    asm("{ .reg .pred q; setp.eq.u32 q, %3, 3; set.lt.and.u32.s32 %0, %1, %2, q; }" : "=r"(e) : "r"(a), "r"(b), "r"(c));
    out[7] = d + e;
    asm("{ .reg .pred q, r; setp.lt.or.s32 q|r, %2, %3, !q; selp.u32 %0, 1, 2, q; selp.u32 %1, 3, 4, r; }" : "=r"(d), "=r"(p) : "r"(a), "r"(b));
    out[8] = d + p;
    asm("{ add.cc.u64 %0, %2, %3; addc.cc.u64 %1, %3, %2; addc.u64 %0, %0, 0; }" : "=&l"(x), "=&l"(y) : "l"(w), "l"(w * 3));
    wide[0] = x + y;
    asm("{ sub.cc.u32 %0, %2, %3; subc.cc.u32 %1, %3, %2; subc.u32 %0, %0, 0; }" : "=&r"(d), "=&r"(e) : "r"(a), "r"(b));
    out[9] = d + e;
    asm("{ mad.lo.cc.u32 %0, %2, %3, %4; madc.hi.cc.u32 %1, %2, %3, %4; madc.lo.u32 %0, %0, 1, 0; }" : "=&r"(d), "=&r"(e) : "r"(a), "r"(b), "r"(c));
    out[10] = d + e;
    asm("{ .reg .pred q; setp.gt.u32 q, %1, %2; mov.u32 %0, 5; @q add.u32 %0, %0, %1; @!q sub.u32 %0, %0, %2; }" : "=r"(d) : "r"(a), "r"(b));
    out[11] = d;
}
