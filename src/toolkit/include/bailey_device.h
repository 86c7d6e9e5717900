/* The device side of CUDA C++ for `bailey nvcc`: built-in variables, synchronisation, warp operations, atomics, bit and float
 * intrinsics, printf, assert, malloc. Included by cuda_runtime.h where clang compiles CUDA. What needs an exact instruction is
 * written as that instruction of PTX. The elementary functions of the math library (sinf, expf, powf ...) are not here yet: device
 * code that calls one is refused by the compiler by name.
 */
#ifndef BAILEY_DEVICE_H
#define BAILEY_DEVICE_H

#include <__clang_cuda_builtin_vars.h>
#include <stddef.h>
#include <time.h>

#define BL_DEVICE static __inline__ __attribute__((device, always_inline, unused))
#define BL_DEVICE_HOST static __inline__ __attribute__((device, host, always_inline, unused))

/* ---- conversions of the built-in variables -------------------------------------------------- */

__attribute__((device)) inline __cuda_builtin_threadIdx_t::operator dim3() const
{
    return dim3(x, y, z);
}
__attribute__((device)) inline __cuda_builtin_threadIdx_t::operator uint3() const
{
    return {x, y, z};
}
__attribute__((device)) inline __cuda_builtin_blockIdx_t::operator dim3() const
{
    return dim3(x, y, z);
}
__attribute__((device)) inline __cuda_builtin_blockIdx_t::operator uint3() const
{
    return {x, y, z};
}
__attribute__((device)) inline __cuda_builtin_blockDim_t::operator dim3() const
{
    return dim3(x, y, z);
}
__attribute__((device)) inline __cuda_builtin_blockDim_t::operator uint3() const
{
    return {x, y, z};
}
__attribute__((device)) inline __cuda_builtin_gridDim_t::operator dim3() const
{
    return dim3(x, y, z);
}
__attribute__((device)) inline __cuda_builtin_gridDim_t::operator uint3() const
{
    return {x, y, z};
}

/* ---- barriers and fences ---------------------------------------------------------------------- */

/* __syncthreads itself is a function that clang knows. */
BL_DEVICE int __syncthreads_count(int predicate)
{
    int result;
    __asm__ volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; barrier.red.popc.u32 %0, 0, p; }"
                     : "=r"(result)
                     : "r"(predicate)
                     : "memory");
    return result;
}
BL_DEVICE int __syncthreads_and(int predicate)
{
    int result;
    __asm__ volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.and.pred q, 0, p; selp.s32 %0, 1, 0, q; }"
                     : "=r"(result)
                     : "r"(predicate)
                     : "memory");
    return result;
}
BL_DEVICE int __syncthreads_or(int predicate)
{
    int result;
    __asm__ volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.red.or.pred q, 0, p; selp.s32 %0, 1, 0, q; }"
                     : "=r"(result)
                     : "r"(predicate)
                     : "memory");
    return result;
}
BL_DEVICE void __syncwarp(unsigned mask = 0xffffffffu)
{
    __asm__ volatile("bar.warp.sync %0;" : : "r"(mask) : "memory");
}
BL_DEVICE void __threadfence_block(void)
{
    __asm__ volatile("membar.cta;" : : : "memory");
}
BL_DEVICE void __threadfence(void)
{
    __asm__ volatile("membar.gl;" : : : "memory");
}
BL_DEVICE void __threadfence_system(void)
{
    __asm__ volatile("membar.sys;" : : : "memory");
}

/* ---- warp operations ----------------------------------------------------------------------------- */

BL_DEVICE unsigned __activemask(void)
{
    unsigned mask;
    __asm__ volatile("activemask.b32 %0;" : "=r"(mask));
    return mask;
}
BL_DEVICE unsigned __ballot_sync(unsigned mask, int predicate)
{
    unsigned result;
    __asm__ volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                     : "=r"(result)
                     : "r"(predicate), "r"(mask));
    return result;
}
#define BL_VOTE(name, mode)                                                                                                        \
    BL_DEVICE int name(unsigned mask, int predicate)                                                                               \
    {                                                                                                                              \
        int result;                                                                                                                \
        __asm__ volatile("{ .reg .pred p, q; setp.ne.s32 p, %1, 0; vote.sync." mode ".pred q, p, %2; selp.s32 %0, 1, 0, q; }"      \
                         : "=r"(result)                                                                                            \
                         : "r"(predicate), "r"(mask));                                                                             \
        return result;                                                                                                             \
    }
BL_VOTE(__all_sync, "all")
BL_VOTE(__any_sync, "any")
BL_VOTE(__uni_sync, "uni")
#undef BL_VOTE

/* c: the clamp of the lane in bits 0 to 4, the segment in bits 8 to 12 (PTX ISA, shfl.sync). */
#define BL_SHUFFLE(name, mode, argument, clamp)                                                                                    \
    BL_DEVICE unsigned bl##name(unsigned mask, unsigned value, unsigned argument, int width)                                       \
    {                                                                                                                              \
        unsigned result, c = ((32u - (unsigned)width) << 8) | clamp;                                                               \
        __asm__ volatile("shfl.sync." mode ".b32 %0, %1, %2, %3, %4;"                                                              \
                         : "=r"(result)                                                                                            \
                         : "r"(value), "r"(argument), "r"(c), "r"(mask));                                                          \
        return result;                                                                                                             \
    }                                                                                                                              \
    BL_DEVICE int name(unsigned mask, int value, unsigned argument, int width = warpSize)                                          \
    {                                                                                                                              \
        return (int)bl##name(mask, (unsigned)value, argument, width);                                                              \
    }                                                                                                                              \
    BL_DEVICE unsigned name(unsigned mask, unsigned value, unsigned argument, int width = warpSize)                                \
    {                                                                                                                              \
        return bl##name(mask, value, argument, width);                                                                             \
    }                                                                                                                              \
    BL_DEVICE float name(unsigned mask, float value, unsigned argument, int width = warpSize)                                      \
    {                                                                                                                              \
        return __builtin_bit_cast(float, bl##name(mask, __builtin_bit_cast(unsigned, value), argument, width));                    \
    }                                                                                                                              \
    BL_DEVICE unsigned long long name(unsigned mask, unsigned long long value, unsigned argument, int width = warpSize)            \
    {                                                                                                                              \
        unsigned low = bl##name(mask, (unsigned)value, argument, width);                                                           \
        unsigned high = bl##name(mask, (unsigned)(value >> 32), argument, width);                                                  \
        return (unsigned long long)high << 32 | low;                                                                               \
    }                                                                                                                              \
    BL_DEVICE long long name(unsigned mask, long long value, unsigned argument, int width = warpSize)                              \
    {                                                                                                                              \
        return (long long)name(mask, (unsigned long long)value, argument, width);                                                  \
    }                                                                                                                              \
    BL_DEVICE unsigned long name(unsigned mask, unsigned long value, unsigned argument, int width = warpSize)                      \
    {                                                                                                                              \
        return (unsigned long)name(mask, (unsigned long long)value, argument, width);                                              \
    }                                                                                                                              \
    BL_DEVICE long name(unsigned mask, long value, unsigned argument, int width = warpSize)                                        \
    {                                                                                                                              \
        return (long)name(mask, (unsigned long long)value, argument, width);                                                       \
    }                                                                                                                              \
    BL_DEVICE double name(unsigned mask, double value, unsigned argument, int width = warpSize)                                    \
    {                                                                                                                              \
        return __builtin_bit_cast(double, name(mask, __builtin_bit_cast(unsigned long long, value), argument, width));             \
    }
BL_SHUFFLE(__shfl_sync, "idx", source, 31u)
BL_SHUFFLE(__shfl_up_sync, "up", delta, 0u)
BL_SHUFFLE(__shfl_down_sync, "down", delta, 31u)
BL_SHUFFLE(__shfl_xor_sync, "bfly", lane_mask, 31u)
#undef BL_SHUFFLE

BL_DEVICE unsigned bl_match_any32(unsigned mask, unsigned value)
{
    unsigned result;
    __asm__ volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));
    return result;
}
BL_DEVICE unsigned bl_match_any64(unsigned mask, unsigned long long value)
{
    unsigned result;
    __asm__ volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(result) : "l"(value), "r"(mask));
    return result;
}
BL_DEVICE unsigned bl_match_all32(unsigned mask, unsigned value, int *all)
{
    unsigned result;
    __asm__ volatile("{ .reg .pred p; match.all.sync.b32 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
                     : "=r"(result), "=r"(*all)
                     : "r"(value), "r"(mask));
    return result;
}
BL_DEVICE unsigned bl_match_all64(unsigned mask, unsigned long long value, int *all)
{
    unsigned result;
    __asm__ volatile("{ .reg .pred p; match.all.sync.b64 %0|p, %2, %3; selp.s32 %1, 1, 0, p; }"
                     : "=r"(result), "=r"(*all)
                     : "l"(value), "r"(mask));
    return result;
}
#define BL_MATCH(type, bits, cast)                                                                                                 \
    BL_DEVICE unsigned __match_any_sync(unsigned mask, type value)                                                                 \
    {                                                                                                                              \
        return bl_match_any##bits(mask, cast(value));                                                                              \
    }                                                                                                                              \
    BL_DEVICE unsigned __match_all_sync(unsigned mask, type value, int *all)                                                       \
    {                                                                                                                              \
        return bl_match_all##bits(mask, cast(value), all);                                                                         \
    }
#define BL_FLOAT_BITS(x) __builtin_bit_cast(unsigned, x)
#define BL_DOUBLE_BITS(x) __builtin_bit_cast(unsigned long long, x)
BL_MATCH(int, 32, (unsigned))
BL_MATCH(unsigned, 32, (unsigned))
BL_MATCH(float, 32, BL_FLOAT_BITS)
BL_MATCH(long, 64, (unsigned long long))
BL_MATCH(unsigned long, 64, (unsigned long long))
BL_MATCH(long long, 64, (unsigned long long))
BL_MATCH(unsigned long long, 64, (unsigned long long))
BL_MATCH(double, 64, BL_DOUBLE_BITS)
#undef BL_MATCH

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define BL_REDUCE(name, type, op)                                                                                                  \
    BL_DEVICE type name(unsigned mask, type value)                                                                                 \
    {                                                                                                                              \
        type result;                                                                                                               \
        __asm__ volatile("redux.sync." op " %0, %1, %2;" : "=r"(result) : "r"(value), "r"(mask));                                  \
        return result;                                                                                                             \
    }
BL_REDUCE(__reduce_add_sync, unsigned, "add.u32")
BL_REDUCE(__reduce_min_sync, unsigned, "min.u32")
BL_REDUCE(__reduce_max_sync, unsigned, "max.u32")
BL_REDUCE(__reduce_add_sync, int, "add.s32")
BL_REDUCE(__reduce_min_sync, int, "min.s32")
BL_REDUCE(__reduce_max_sync, int, "max.s32")
BL_REDUCE(__reduce_and_sync, unsigned, "and.b32")
BL_REDUCE(__reduce_or_sync, unsigned, "or.b32")
BL_REDUCE(__reduce_xor_sync, unsigned, "xor.b32")
#undef BL_REDUCE
#endif

/* ---- atomics ------------------------------------------------------------------------------------------ */

#define BL_ATOMIC(name, type, constraint, op)                                                                                      \
    BL_DEVICE type name(type *address, type value)                                                                                 \
    {                                                                                                                              \
        type old;                                                                                                                  \
        __asm__ volatile("atom." op " %0, [%1], %2;" : "=" constraint(old) : "l"(address), constraint(value) : "memory");          \
        return old;                                                                                                                \
    }                                                                                                                              \
    BL_DEVICE type name##_block(type *address, type value)                                                                         \
    {                                                                                                                              \
        type old;                                                                                                                  \
        __asm__ volatile("atom.cta." op " %0, [%1], %2;" : "=" constraint(old) : "l"(address), constraint(value) : "memory");      \
        return old;                                                                                                                \
    }                                                                                                                              \
    BL_DEVICE type name##_system(type *address, type value)                                                                        \
    {                                                                                                                              \
        type old;                                                                                                                  \
        __asm__ volatile("atom.sys." op " %0, [%1], %2;" : "=" constraint(old) : "l"(address), constraint(value) : "memory");      \
        return old;                                                                                                                \
    }
BL_ATOMIC(atomicAdd, int, "r", "add.s32")
BL_ATOMIC(atomicAdd, unsigned, "r", "add.u32")
BL_ATOMIC(atomicAdd, unsigned long long, "l", "add.u64")
BL_ATOMIC(atomicAdd, float, "f", "add.f32")
BL_ATOMIC(atomicAdd, double, "d", "add.f64")
BL_ATOMIC(atomicExch, int, "r", "exch.b32")
BL_ATOMIC(atomicExch, unsigned, "r", "exch.b32")
BL_ATOMIC(atomicExch, unsigned long long, "l", "exch.b64")
BL_ATOMIC(atomicExch, float, "f", "exch.b32")
BL_ATOMIC(atomicMin, int, "r", "min.s32")
BL_ATOMIC(atomicMin, unsigned, "r", "min.u32")
BL_ATOMIC(atomicMin, long long, "l", "min.s64")
BL_ATOMIC(atomicMin, unsigned long long, "l", "min.u64")
BL_ATOMIC(atomicMax, int, "r", "max.s32")
BL_ATOMIC(atomicMax, unsigned, "r", "max.u32")
BL_ATOMIC(atomicMax, long long, "l", "max.s64")
BL_ATOMIC(atomicMax, unsigned long long, "l", "max.u64")
BL_ATOMIC(atomicInc, unsigned, "r", "inc.u32")
BL_ATOMIC(atomicDec, unsigned, "r", "dec.u32")
BL_ATOMIC(atomicAnd, int, "r", "and.b32")
BL_ATOMIC(atomicAnd, unsigned, "r", "and.b32")
BL_ATOMIC(atomicAnd, unsigned long long, "l", "and.b64")
BL_ATOMIC(atomicOr, int, "r", "or.b32")
BL_ATOMIC(atomicOr, unsigned, "r", "or.b32")
BL_ATOMIC(atomicOr, unsigned long long, "l", "or.b64")
BL_ATOMIC(atomicXor, int, "r", "xor.b32")
BL_ATOMIC(atomicXor, unsigned, "r", "xor.b32")
BL_ATOMIC(atomicXor, unsigned long long, "l", "xor.b64")
#undef BL_ATOMIC
BL_DEVICE int atomicSub(int *address, int value)
{
    return atomicAdd(address, -value);
}
BL_DEVICE unsigned atomicSub(unsigned *address, unsigned value)
{
    return atomicAdd(address, 0u - value);
}
#define BL_CAS(name, scope, type, constraint, bits)                                                                                \
    BL_DEVICE type name(type *address, type compare, type value)                                                                   \
    {                                                                                                                              \
        type old;                                                                                                                  \
        __asm__ volatile("atom" scope ".cas." bits " %0, [%1], %2, %3;"                                                            \
                         : "=" constraint(old)                                                                                     \
                         : "l"(address), constraint(compare), constraint(value)                                                    \
                         : "memory");                                                                                              \
        return old;                                                                                                                \
    }
BL_CAS(atomicCAS, "", int, "r", "b32")
BL_CAS(atomicCAS, "", unsigned, "r", "b32")
BL_CAS(atomicCAS, "", unsigned long long, "l", "b64")
BL_CAS(atomicCAS, "", unsigned short, "h", "b16")
BL_CAS(atomicCAS_block, ".cta", int, "r", "b32")
BL_CAS(atomicCAS_block, ".cta", unsigned, "r", "b32")
BL_CAS(atomicCAS_block, ".cta", unsigned long long, "l", "b64")
BL_CAS(atomicCAS_system, ".sys", int, "r", "b32")
BL_CAS(atomicCAS_system, ".sys", unsigned, "r", "b32")
BL_CAS(atomicCAS_system, ".sys", unsigned long long, "l", "b64")
#undef BL_CAS

/* ---- bits ----------------------------------------------------------------------------------------------- */

BL_DEVICE int __popc(unsigned x)
{
    return __builtin_popcount(x);
}
BL_DEVICE int __popcll(unsigned long long x)
{
    return __builtin_popcountll(x);
}
BL_DEVICE int __clz(int x)
{
    int result;
    __asm__("clz.b32 %0, %1;" : "=r"(result) : "r"(x));
    return result;
}
BL_DEVICE int __clzll(long long x)
{
    int result;
    __asm__("clz.b64 %0, %1;" : "=r"(result) : "l"(x));
    return result;
}
BL_DEVICE unsigned __brev(unsigned x)
{
    unsigned result;
    __asm__("brev.b32 %0, %1;" : "=r"(result) : "r"(x));
    return result;
}
BL_DEVICE unsigned long long __brevll(unsigned long long x)
{
    unsigned long long result;
    __asm__("brev.b64 %0, %1;" : "=l"(result) : "l"(x));
    return result;
}
BL_DEVICE int __ffs(int x)
{
    return x ? 32 - __clz((int)((unsigned)x & (0u - (unsigned)x))) : 0;
}
BL_DEVICE int __ffsll(long long x)
{
    return x ? 64 - __clzll((long long)((unsigned long long)x & (0ull - (unsigned long long)x))) : 0;
}
BL_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector)
{
    unsigned result;
    __asm__("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(x), "r"(y), "r"(selector & 0x7777));
    return result;
}
#define BL_FUNNEL(name, op)                                                                                                        \
    BL_DEVICE unsigned name(unsigned low, unsigned high, unsigned shift)                                                           \
    {                                                                                                                              \
        unsigned result;                                                                                                           \
        __asm__("shf." op ".b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(shift));                                \
        return result;                                                                                                             \
    }
BL_FUNNEL(__funnelshift_l, "l.wrap")
BL_FUNNEL(__funnelshift_lc, "l.clamp")
BL_FUNNEL(__funnelshift_r, "r.wrap")
BL_FUNNEL(__funnelshift_rc, "r.clamp")
#undef BL_FUNNEL
BL_DEVICE int __mulhi(int x, int y)
{
    return (int)(((long long)x * y) >> 32);
}
BL_DEVICE unsigned __umulhi(unsigned x, unsigned y)
{
    return (unsigned)(((unsigned long long)x * y) >> 32);
}
BL_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y)
{
    unsigned long long result;
    __asm__("mul.hi.u64 %0, %1, %2;" : "=l"(result) : "l"(x), "l"(y));
    return result;
}
BL_DEVICE long long __mul64hi(long long x, long long y)
{
    long long result;
    __asm__("mul.hi.s64 %0, %1, %2;" : "=l"(result) : "l"(x), "l"(y));
    return result;
}
BL_DEVICE int __dp4a(int a, int b, int c)
{
    int result;
    __asm__("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}
BL_DEVICE unsigned __dp4a(unsigned a, unsigned b, unsigned c)
{
    unsigned result;
    __asm__("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
    return result;
}

/* ---- reinterpretation ----------------------------------------------------------------------------------- */

BL_DEVICE int __float_as_int(float x)
{
    return __builtin_bit_cast(int, x);
}
BL_DEVICE unsigned __float_as_uint(float x)
{
    return __builtin_bit_cast(unsigned, x);
}
BL_DEVICE float __int_as_float(int x)
{
    return __builtin_bit_cast(float, x);
}
BL_DEVICE float __uint_as_float(unsigned x)
{
    return __builtin_bit_cast(float, x);
}
BL_DEVICE long long __double_as_longlong(double x)
{
    return __builtin_bit_cast(long long, x);
}
BL_DEVICE double __longlong_as_double(long long x)
{
    return __builtin_bit_cast(double, x);
}

/* ---- float operations with a stated rounding, and approximate ones ---------------------------------------- */

#define BL_FLOAT2(name, type, c, op)                                                                                               \
    BL_DEVICE type name(type x, type y)                                                                                            \
    {                                                                                                                              \
        type result;                                                                                                               \
        __asm__(op " %0, %1, %2;" : "=" c(result) : c(x), c(y));                                                                   \
        return result;                                                                                                             \
    }
#define BL_FLOAT1(name, type, c, op)                                                                                               \
    BL_DEVICE type name(type x)                                                                                                    \
    {                                                                                                                              \
        type result;                                                                                                               \
        __asm__(op " %0, %1;" : "=" c(result) : c(x));                                                                             \
        return result;                                                                                                             \
    }
#define BL_FLOAT3(name, type, c, op)                                                                                               \
    BL_DEVICE type name(type x, type y, type z)                                                                                    \
    {                                                                                                                              \
        type result;                                                                                                               \
        __asm__(op " %0, %1, %2, %3;" : "=" c(result) : c(x), c(y), c(z));                                                         \
        return result;                                                                                                             \
    }
#define BL_ROUNDINGS(mode, suffix)                                                                                                 \
    BL_FLOAT2(__fadd_##suffix, float, "f", "add." mode ".f32")                                                                     \
    BL_FLOAT2(__fsub_##suffix, float, "f", "sub." mode ".f32")                                                                     \
    BL_FLOAT2(__fmul_##suffix, float, "f", "mul." mode ".f32")                                                                     \
    BL_FLOAT2(__fdiv_##suffix, float, "f", "div." mode ".f32")                                                                     \
    BL_FLOAT3(__fmaf_##suffix, float, "f", "fma." mode ".f32")                                                                     \
    BL_FLOAT1(__frcp_##suffix, float, "f", "rcp." mode ".f32")                                                                     \
    BL_FLOAT1(__fsqrt_##suffix, float, "f", "sqrt." mode ".f32")                                                                   \
    BL_FLOAT2(__dadd_##suffix, double, "d", "add." mode ".f64")                                                                    \
    BL_FLOAT2(__dsub_##suffix, double, "d", "sub." mode ".f64")                                                                    \
    BL_FLOAT2(__dmul_##suffix, double, "d", "mul." mode ".f64")                                                                    \
    BL_FLOAT2(__ddiv_##suffix, double, "d", "div." mode ".f64")                                                                    \
    BL_FLOAT3(__fma_##suffix, double, "d", "fma." mode ".f64")                                                                     \
    BL_FLOAT1(__drcp_##suffix, double, "d", "rcp." mode ".f64")                                                                    \
    BL_FLOAT1(__dsqrt_##suffix, double, "d", "sqrt." mode ".f64")
BL_ROUNDINGS("rn", rn)
BL_ROUNDINGS("rz", rz)
BL_ROUNDINGS("rm", rd)
BL_ROUNDINGS("rp", ru)
#undef BL_ROUNDINGS
BL_FLOAT1(__frsqrt_rn, float, "f", "rsqrt.approx.f32")
BL_FLOAT1(rsqrtf, float, "f", "rsqrt.approx.f32")
BL_FLOAT1(__saturatef, float, "f", "cvt.sat.f32.f32")
BL_FLOAT1(__sinf, float, "f", "sin.approx.f32")
BL_FLOAT1(__cosf, float, "f", "cos.approx.f32")
BL_FLOAT1(bl_ex2f, float, "f", "ex2.approx.f32")
BL_FLOAT1(bl_lg2f, float, "f", "lg2.approx.f32")
BL_FLOAT2(__fdividef, float, "f", "div.approx.f32")
BL_DEVICE float __expf(float x)
{
    return bl_ex2f(x * 1.44269504f);
}
BL_DEVICE float __exp10f(float x)
{
    return bl_ex2f(x * 3.32192809f);
}
BL_DEVICE float __logf(float x)
{
    return bl_lg2f(x) * 0.693147181f;
}
BL_DEVICE float __log2f(float x)
{
    return bl_lg2f(x);
}
BL_DEVICE float __log10f(float x)
{
    return bl_lg2f(x) * 0.301029996f;
}
BL_DEVICE float __powf(float x, float y)
{
    return bl_ex2f(y * bl_lg2f(x));
}
#undef BL_FLOAT1
#undef BL_FLOAT2
#undef BL_FLOAT3

/* The functions of <math.h> that are one instruction. The host's declarations stay for host code: overloads by target. */
#define BL_MATH1(name, type, builtin)                                                                                              \
    extern "C" __attribute__((device, always_inline)) inline type name(type x)                                                     \
    {                                                                                                                              \
        return builtin(x);                                                                                                         \
    }
#define BL_MATH2(name, type, builtin)                                                                                              \
    extern "C" __attribute__((device, always_inline)) inline type name(type x, type y)                                             \
    {                                                                                                                              \
        return builtin(x, y);                                                                                                      \
    }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wexceptions"
BL_MATH1(sqrtf, float, __fsqrt_rn)
BL_MATH1(sqrt, double, __dsqrt_rn)
BL_MATH1(fabsf, float, __builtin_fabsf)
BL_MATH1(fabs, double, __builtin_fabs)
BL_MATH1(floorf, float, __builtin_floorf)
BL_MATH1(floor, double, __builtin_floor)
BL_MATH1(ceilf, float, __builtin_ceilf)
BL_MATH1(ceil, double, __builtin_ceil)
BL_MATH1(truncf, float, __builtin_truncf)
BL_MATH1(trunc, double, __builtin_trunc)
BL_MATH1(rintf, float, __builtin_rintf)
BL_MATH1(rint, double, __builtin_rint)
BL_MATH1(nearbyintf, float, __builtin_rintf)
BL_MATH1(nearbyint, double, __builtin_rint)
BL_MATH2(fminf, float, __builtin_fminf)
BL_MATH2(fmin, double, __builtin_fmin)
BL_MATH2(fmaxf, float, __builtin_fmaxf)
BL_MATH2(fmax, double, __builtin_fmax)
BL_MATH2(copysignf, float, __builtin_copysignf)
BL_MATH2(copysign, double, __builtin_copysign)
extern "C" __attribute__((device, always_inline)) inline float fmaf(float x, float y, float z)
{
    return __builtin_fmaf(x, y, z);
}
extern "C" __attribute__((device, always_inline)) inline double fma(double x, double y, double z)
{
    return __builtin_fma(x, y, z);
}
#undef BL_MATH1
#undef BL_MATH2

#define BL_MINMAX(type)                                                                                                            \
    BL_DEVICE_HOST type min(type x, type y)                                                                                        \
    {                                                                                                                              \
        return y < x ? y : x;                                                                                                      \
    }                                                                                                                              \
    BL_DEVICE_HOST type max(type x, type y)                                                                                        \
    {                                                                                                                              \
        return x < y ? y : x;                                                                                                      \
    }
BL_MINMAX(int)
BL_MINMAX(unsigned)
BL_MINMAX(long)
BL_MINMAX(unsigned long)
BL_MINMAX(long long)
BL_MINMAX(unsigned long long)
#undef BL_MINMAX
BL_DEVICE float min(float x, float y)
{
    return __builtin_fminf(x, y);
}
BL_DEVICE float max(float x, float y)
{
    return __builtin_fmaxf(x, y);
}
BL_DEVICE double min(double x, double y)
{
    return __builtin_fmin(x, y);
}
BL_DEVICE double max(double x, double y)
{
    return __builtin_fmax(x, y);
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

/* A load through the read-only path: an ordinary load is the same answer. */
template <class T> BL_DEVICE T __ldg(const T *pointer)
{
    return *pointer;
}
template <class T> BL_DEVICE T __ldcs(const T *pointer)
{
    return *pointer;
}
template <class T> BL_DEVICE T __ldcg(const T *pointer)
{
    return *pointer;
}
template <class T> BL_DEVICE void __stcs(T *pointer, T value)
{
    *pointer = value;
}
#define BL_IS_SPACE(name, space)                                                                                                   \
    BL_DEVICE unsigned name(const void *pointer)                                                                                   \
    {                                                                                                                              \
        unsigned result;                                                                                                           \
        __asm__("{ .reg .pred p; isspacep." space " p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(result) : "l"(pointer));                \
        return result;                                                                                                             \
    }
BL_IS_SPACE(__isGlobal, "global")
BL_IS_SPACE(__isShared, "shared")
BL_IS_SPACE(__isConstant, "const")
BL_IS_SPACE(__isLocal, "local")
#undef BL_IS_SPACE
BL_DEVICE size_t __cvta_generic_to_shared(const void *pointer)
{
    size_t result;
    __asm__("cvta.to.shared.u64 %0, %1;" : "=l"(result) : "l"(pointer));
    return result;
}
BL_DEVICE size_t __cvta_generic_to_global(const void *pointer)
{
    size_t result;
    __asm__("cvta.to.global.u64 %0, %1;" : "=l"(result) : "l"(pointer));
    return result;
}

/* ---- time and control ------------------------------------------------------------------------------------------ */

BL_DEVICE long long clock64(void)
{
    long long result;
    __asm__ volatile("mov.u64 %0, %%clock64;" : "=l"(result));
    return result;
}
extern "C" __attribute__((device, always_inline)) inline clock_t clock(void)
{
    int result;
    __asm__ volatile("mov.u32 %0, %%clock;" : "=r"(result));
    return result;
}
BL_DEVICE unsigned long long bl_globaltimer(void)
{
    unsigned long long result;
    __asm__ volatile("mov.u64 %0, %%globaltimer;" : "=l"(result));
    return result;
}
BL_DEVICE void __nanosleep(unsigned nanoseconds)
{
    __asm__ volatile("nanosleep.u32 %0;" : : "r"(nanoseconds));
}
BL_DEVICE void __trap(void)
{
    __asm__ volatile("trap;");
}
BL_DEVICE void __brkpt(void)
{
    __asm__ volatile("brkpt;");
}

/* ---- the device's own library: what the driver supplies --------------------------------------------------------- */

extern "C" {
__attribute__((device)) int printf(const char *format, ...); /* clang turns a call into one of vprintf */
__attribute__((device)) int vprintf(const char *format, const char *arguments);
__attribute__((device)) void *malloc(size_t size);
__attribute__((device)) void free(void *block);
__attribute__((device, noreturn)) void __assertfail(const char *message, const char *file, unsigned line, const char *function,
                                                    size_t char_size);
__attribute__((device, noreturn, always_inline)) inline void __assert_fail(const char *message, const char *file, unsigned line,
                                                                           const char *function)
{
    __assertfail(message, file, line, function, 1);
}
}
#pragma GCC diagnostic pop

/* clang's own wrapper of <new> has the device's operators new and delete. */
#include <new>

/* Pure and deleted virtual functions. */
extern "C" __attribute__((device)) inline void __cxa_pure_virtual(void)
{
    __trap();
}
extern "C" __attribute__((device)) inline void __cxa_deleted_virtual(void)
{
    __trap();
}

#undef BL_FLOAT_BITS
#undef BL_DOUBLE_BITS
#endif
