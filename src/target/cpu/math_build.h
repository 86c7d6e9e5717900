/* Inside the math_*.c files only: one op being generated, and short names for the LLVM instructions that they build. Every
 * helper works on scalars and on vectors of 32 lanes alike; constants take the op's own width. */
#ifndef BAILEY_CPU_MATH_BUILD_H
#define BAILEY_CPU_MATH_BUILD_H

#include "target/cpu/codegen.h"

struct bl_math {
    struct bl_cg *cg;
    const struct bl_kir_instr *instr;
    const struct bl_kir_attr *attr;
    enum bl_kir_type type; /* of the first operand */
    enum bl_kir_type to;   /* of the first result */
    unsigned bits;         /* of the first operand's type */
    unsigned width;        /* 1 or 32 */
    LLVMValueRef *in, *out;
};

/* Each generates one op, or says that it can't. */
typedef bool (*bl_math_function)(struct bl_math *m);

/* ---- types and constants ------------------------------------------------------------------------ */
static inline LLVMTypeRef m_vector(struct bl_math *m, LLVMTypeRef element)
{
    return m->width == 1 ? element : LLVMVectorType(element, m->width);
}

static inline LLVMTypeRef m_int_type(struct bl_math *m, unsigned bits)
{
    return m_vector(m, LLVMIntTypeInContext(m->cg->context, bits));
}

static inline LLVMTypeRef m_f32_type(struct bl_math *m)
{
    return m_vector(m, LLVMFloatTypeInContext(m->cg->context));
}

static inline LLVMTypeRef m_f64_type(struct bl_math *m)
{
    return m_vector(m, LLVMDoubleTypeInContext(m->cg->context));
}

static inline LLVMTypeRef m_element(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

/* Bits of an integer or float value's element. */
static inline unsigned m_bits_of(LLVMValueRef value)
{
    LLVMTypeRef type = m_element(value);
    switch (LLVMGetTypeKind(type)) {
    case LLVMFloatTypeKind:
        return 32;
    case LLVMDoubleTypeKind:
        return 64;
    default:
        return LLVMGetIntTypeWidth(type);
    }
}

static inline bool m_is_float(LLVMValueRef value)
{
    LLVMTypeKind kind = LLVMGetTypeKind(m_element(value));
    return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

static inline LLVMValueRef m_each(struct bl_math *m, LLVMValueRef scalar)
{
    LLVMValueRef lanes[BL_WARP];
    if (m->width == 1)
        return scalar;
    for (unsigned i = 0; i < m->width; i++)
        lanes[i] = scalar;
    return LLVMConstVector(lanes, m->width);
}

/* An integer constant; negative values are sign-extended to more than 64 bits. */
static inline LLVMValueRef m_const(struct bl_math *m, unsigned bits, int64_t value)
{
    uint64_t mask = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
    return m_each(m, LLVMConstInt(LLVMIntTypeInContext(m->cg->context, bits), (uint64_t)value & mask, bits > 64 && value < 0));
}

static inline LLVMValueRef m_f32(struct bl_math *m, double value)
{
    return m_each(m, LLVMConstReal(LLVMFloatTypeInContext(m->cg->context), value));
}

static inline LLVMValueRef m_f64(struct bl_math *m, double value)
{
    return m_each(m, LLVMConstReal(LLVMDoubleTypeInContext(m->cg->context), value));
}

/* A constant of x's type, f32 or f64. */
static inline LLVMValueRef m_real(struct bl_math *m, LLVMValueRef x, double value)
{
    return m_each(m, LLVMConstReal(m_element(x), value));
}

/* ---- integer instructions ----------------------------------------------------------------------- */
#define BL_MATH_BINARY(name, build)                                                                                                \
    static inline LLVMValueRef name(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)                                             \
    {                                                                                                                              \
        return build(m->cg->builder, a, b, "");                                                                                    \
    }
BL_MATH_BINARY(m_add, LLVMBuildAdd)
BL_MATH_BINARY(m_sub, LLVMBuildSub)
BL_MATH_BINARY(m_mul, LLVMBuildMul)
BL_MATH_BINARY(m_and, LLVMBuildAnd)
BL_MATH_BINARY(m_or, LLVMBuildOr)
BL_MATH_BINARY(m_xor, LLVMBuildXor)
BL_MATH_BINARY(m_fadd, LLVMBuildFAdd)
BL_MATH_BINARY(m_fsub, LLVMBuildFSub)
BL_MATH_BINARY(m_fmul, LLVMBuildFMul)
BL_MATH_BINARY(m_fdiv, LLVMBuildFDiv)
/* shifts with a count below the width: anything else is undefined */
BL_MATH_BINARY(m_shl, LLVMBuildShl)
BL_MATH_BINARY(m_lshr, LLVMBuildLShr)
BL_MATH_BINARY(m_ashr, LLVMBuildAShr)

static inline LLVMValueRef m_not(struct bl_math *m, LLVMValueRef a)
{
    return LLVMBuildNot(m->cg->builder, a, "");
}

static inline LLVMValueRef m_neg(struct bl_math *m, LLVMValueRef a)
{
    return LLVMBuildNeg(m->cg->builder, a, "");
}

static inline LLVMValueRef m_fneg(struct bl_math *m, LLVMValueRef a)
{
    return LLVMBuildFNeg(m->cg->builder, a, "");
}

/* The same with a constant. */
static inline LLVMValueRef m_addc(struct bl_math *m, LLVMValueRef a, int64_t c)
{
    return m_add(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_andc(struct bl_math *m, LLVMValueRef a, int64_t c)
{
    return m_and(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_orc(struct bl_math *m, LLVMValueRef a, int64_t c)
{
    return m_or(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_xorc(struct bl_math *m, LLVMValueRef a, int64_t c)
{
    return m_xor(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_shlc(struct bl_math *m, LLVMValueRef a, unsigned c)
{
    return m_shl(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_lshrc(struct bl_math *m, LLVMValueRef a, unsigned c)
{
    return m_lshr(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_ashrc(struct bl_math *m, LLVMValueRef a, unsigned c)
{
    return m_ashr(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_icmp(struct bl_math *m, LLVMIntPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(m->cg->builder, predicate, a, b, "");
}

static inline LLVMValueRef m_icmpc(struct bl_math *m, LLVMIntPredicate predicate, LLVMValueRef a, int64_t c)
{
    return m_icmp(m, predicate, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_fcmp(struct bl_math *m, LLVMRealPredicate predicate, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(m->cg->builder, predicate, a, b, "");
}

static inline LLVMValueRef m_select(struct bl_math *m, LLVMValueRef condition, LLVMValueRef yes, LLVMValueRef no)
{
    return LLVMBuildSelect(m->cg->builder, condition, yes, no, "");
}

/* To an integer of so many bits, wider or narrower. */
static inline LLVMValueRef m_zresize(struct bl_math *m, LLVMValueRef a, unsigned bits)
{
    unsigned from = m_bits_of(a);
    if (from == bits)
        return a;
    return from < bits ? LLVMBuildZExt(m->cg->builder, a, m_int_type(m, bits), "")
                       : LLVMBuildTrunc(m->cg->builder, a, m_int_type(m, bits), "");
}

static inline LLVMValueRef m_sresize(struct bl_math *m, LLVMValueRef a, unsigned bits)
{
    return m_bits_of(a) < bits ? LLVMBuildSExt(m->cg->builder, a, m_int_type(m, bits), "") : m_zresize(m, a, bits);
}

/* A float's bits, and back. Integers stay. */
static inline LLVMValueRef m_to_bits(struct bl_math *m, LLVMValueRef a)
{
    return m_is_float(a) ? LLVMBuildBitCast(m->cg->builder, a, m_int_type(m, m_bits_of(a)), "") : a;
}

static inline LLVMValueRef m_from_bits(struct bl_math *m, LLVMValueRef a)
{
    return LLVMBuildBitCast(m->cg->builder, a, m_bits_of(a) == 32 ? m_f32_type(m) : m_f64_type(m), "");
}

static inline LLVMValueRef m_extend(struct bl_math *m, LLVMValueRef f32)
{
    return LLVMBuildFPExt(m->cg->builder, f32, m_f64_type(m), "");
}

static inline LLVMValueRef m_narrow(struct bl_math *m, LLVMValueRef f64)
{
    return LLVMBuildFPTrunc(m->cg->builder, f64, m_f32_type(m), "");
}

/* Intrinsics overloaded on their first operand's type. */
static inline LLVMValueRef m_call(struct bl_math *m, const char *name, unsigned count, LLVMValueRef a, LLVMValueRef b,
                                  LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    return bl_cg_intrinsic(m->cg, name, 1, &type, count, (LLVMValueRef[]){a, b, c});
}

/* Intrinsics with a last argument i1 false (ctlz, abs). */
static inline LLVMValueRef m_call_false(struct bl_math *m, const char *name, LLVMValueRef a)
{
    return m_call(m, name, 2, a, LLVMConstInt(LLVMInt1TypeInContext(m->cg->context), 0, false), NULL);
}

static inline LLVMValueRef m_umin(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    return m_call(m, "llvm.umin", 2, a, b, NULL);
}

static inline LLVMValueRef m_uminc(struct bl_math *m, LLVMValueRef a, int64_t c)
{
    return m_umin(m, a, m_const(m, m_bits_of(a), c));
}

static inline LLVMValueRef m_fabs(struct bl_math *m, LLVMValueRef a)
{
    return m_call(m, "llvm.fabs", 1, a, NULL, NULL);
}

/* Shifts by an i32 count of any size: what is shifted out is gone (zero, or the sign for ashr). */
LLVMValueRef bl_math_shl(struct bl_math *m, LLVMValueRef a, LLVMValueRef count);
LLVMValueRef bl_math_lshr(struct bl_math *m, LLVMValueRef a, LLVMValueRef count);
LLVMValueRef bl_math_ashr(struct bl_math *m, LLVMValueRef a, LLVMValueRef count);

/* ---- shared by the float files (math_float.c) --------------------------------------------------- */
struct bl_math_pair { /* an exact sum of two f64: high is the sum rounded */
    LLVMValueRef high, low;
};
/* Operand i, flushed where the op says ftz; NULL where there is none. */
LLVMValueRef bl_math_operand(struct bl_math *m, unsigned i);
/* A result, flushed and saturated as the op says. */
LLVMValueRef bl_math_finish(struct bl_math *m, LLVMValueRef x);
LLVMValueRef bl_math_flush(struct bl_math *m, LLVMValueRef x);
LLVMValueRef bl_math_saturate(struct bl_math *m, LLVMValueRef x);
struct bl_math_pair bl_math_two_sum(struct bl_math *m, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef bl_math_round_to_odd(struct bl_math *m, struct bl_math_pair sum);
LLVMValueRef bl_math_min_max(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, bool max);
LLVMValueRef bl_math_test(struct bl_math *m, LLVMValueRef bits, int64_t infinity, int64_t smallest);
LLVMValueRef bl_math_compare(struct bl_math *m, LLVMValueRef a, LLVMValueRef b);

bool bl_math_has_fma(struct bl_math *m);
/* As an instruction rounded to nearest; NULL: not such an op. */
LLVMValueRef bl_math_fused(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);

/* ---- roundings by hand (math_round.c) ----------------------------------------------------------- */
struct bl_math_format { /* a binary float format; precision counts the leading one */
    unsigned bits, precision;
};
#define BL_MATH_F16 ((struct bl_math_format){16, 11})
#define BL_MATH_BF16 ((struct bl_math_format){16, 8})
#define BL_MATH_F32 ((struct bl_math_format){32, 24})
#define BL_MATH_F64 ((struct bl_math_format){64, 53})
/* f64 to f32; _odd: rounded to odd, for a later rounding to at least two bits fewer. */
LLVMValueRef bl_math_narrow(struct bl_math *m, LLVMValueRef x, enum bl_kir_round round);
LLVMValueRef bl_math_narrow_odd(struct bl_math *m, LLVMValueRef x);
/* mantissa * 2^(exponent - 62) as bits; mantissa is an i64 whose leading one is bit 62, its last bit set where more follows. */
LLVMValueRef bl_math_assemble(struct bl_math *m, LLVMValueRef negative, LLVMValueRef exponent, LLVMValueRef mantissa,
                              struct bl_math_format format, enum bl_kir_round round);
/* The bits of an f64 in a format; `special` where it is zero, infinite or NaN. */
LLVMValueRef bl_math_round_f64(struct bl_math *m, LLVMValueRef x, LLVMValueRef special, struct bl_math_format format,
                               enum bl_kir_round round);
LLVMValueRef bl_math_round_integer(struct bl_math *m, LLVMValueRef x, bool is_signed, struct bl_math_format format,
                                   enum bl_kir_round round);
LLVMValueRef bl_math_fma_f64(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, enum bl_kir_round round);
/* fadd, fsub, fmul, ffma, fdiv, frcp, fsqrt toward zero, down or up; NULL: not one of them. */
LLVMValueRef bl_math_directed(struct bl_math *m, enum bl_kir_op op, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                              enum bl_kir_round round);

/* ---- shared by the small floats and the approximate functions ------------------------------------ */
/* f16 or bf16 to f32, exactly; and back to nearest even. */
LLVMValueRef bl_math_widen(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type);
LLVMValueRef bl_math_to_small(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type);
LLVMValueRef bl_math_relu(struct bl_math *m, LLVMValueRef x);
/* frcp, fsqrt, frsqrt, fsin, fcos, flg2, fex2, ftanh of an f32 that is no subnormal number, as the GPU's function unit gives them,
 * or (fast_math) within their documented error; NULL: not one of them. */
LLVMValueRef bl_math_approximate_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x);
/* The same always as the unit gives them (math_table.c). */
LLVMValueRef bl_math_table_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x);
/* frcp and frsqrt of an f64 whose upper half without the sign is given, normal and finite: the upper half of the result,
 * zero where that would be subnormal. */
LLVMValueRef bl_math_table_f64(struct bl_math *m, enum bl_kir_op op, LLVMValueRef magnitude);

/* ---- shared by the conversions (math_convert.c) ------------------------------------------------- */
LLVMValueRef bl_math_integral(struct bl_math *m, LLVMValueRef x, enum bl_kir_round round);

/* ---- the ops, by file --------------------------------------------------------------------------- */
/* math_int.c */
bool bl_math_integer(struct bl_math *m);
/* math_float.c */
bool bl_math_float(struct bl_math *m);
/* math_small.c: f16, bf16 and packed */
bool bl_math_small(struct bl_math *m);
/* math_approx.c: the functions that PTX gives by their largest error, and those marked approx or full */
bool bl_math_approximate(struct bl_math *m);
/* math_convert.c */
bool bl_math_convert(struct bl_math *m);

#endif
