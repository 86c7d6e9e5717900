/* The functions that PTX describes by their largest error and their values at special arguments (PTX ISA, 9.7.3: rcp, sqrt, rsqrt,
 * sin, cos, lg2, ex2, tanh, div with .approx or .full). Called by math.c. Polynomials are minimax fits; each is within one or two
 * units in the last place, which is as near as the documented error or nearer. */
#include "target/cpu/math_build.h"

/* a * b + c; fused where that is one instruction. */
static LLVMValueRef multiply_add(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return bl_math_has_fma(m) ? m_call(m, "llvm.fma", 3, a, b, c) : m_fadd(m, m_fmul(m, a, b), c);
}

/* The coefficients with the lowest first. */
static LLVMValueRef polynomial(struct bl_math *m, LLVMValueRef x, unsigned count, const float *coefficients)
{
    LLVMValueRef sum = m_f32(m, coefficients[count - 1]);
    for (unsigned i = count - 1; i-- > 0;)
        sum = multiply_add(m, sum, x, m_f32(m, coefficients[i]));
    return sum;
}

/* 2^n as an f32, for an i32 n of a normal number. */
static LLVMValueRef power_of_two(struct bl_math *m, LLVMValueRef n)
{
    return m_from_bits(m, m_shlc(m, m_addc(m, n, 127), 23));
}

/* 2^x: the integral part goes to the exponent, in two steps so that results may be subnormal or too large. */
static LLVMValueRef exp2_f32(struct bl_math *m, LLVMValueRef x)
{
    static const float terms[] = {0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af6cp-5f, 0x1.3b29e4p-7f, 0x1.5f0896p-10f, 0x1.446c82p-13f};
    LLVMValueRef near, n, half, f, y;

    near = m_select(m, m_fcmp(m, LLVMRealOLT, x, m_f32(m, -160)), m_f32(m, -160), x);
    near = m_select(m, m_fcmp(m, LLVMRealOGT, near, m_f32(m, 160)), m_f32(m, 160), near);
    f = bl_math_integral(m, near, BL_KIR_RN);
    /* a NaN would be undefined here: its result comes from the fraction */
    n = LLVMBuildFPToSI(m->cg->builder, m_select(m, m_fcmp(m, LLVMRealORD, f, f), f, m_f32(m, 0)), m_int_type(m, 32), "");
    f = m_fsub(m, near, f);
    y = multiply_add(m, f, polynomial(m, f, BL_LEN(terms), terms), m_f32(m, 1));
    half = m_ashrc(m, n, 1);
    return m_fmul(m, m_fmul(m, y, power_of_two(m, half)), power_of_two(m, m_sub(m, n, half)));
}

/* log2: the exponent, and a polynomial over [sqrt(1/2), sqrt(2)]. */
static LLVMValueRef log2_f32(struct bl_math *m, LLVMValueRef x)
{
    static const float terms[] = {0x1.715476p+0f,  -0x1.71547p-1f, 0x1.ec708p-2f,   -0x1.715a68p-2f, 0x1.2782e6p-2f,
                                  -0x1.eac696p-3f, 0x1.a265f4p-3f, -0x1.865fecp-3f, 0x1.80ab4ap-3f,  -0x1.cebec6p-4f};
    LLVMValueRef small = m_fcmp(m, LLVMRealOLT, x, m_f32(m, 0x1p-126)), bits, exponent, f, y, infinity = m_f32(m, __builtin_inf());

    bits = m_to_bits(m, m_select(m, small, m_fmul(m, x, m_f32(m, 0x1p23)), x));
    /* sqrt(1/2) and above count to the exponent above */
    exponent = m_ashrc(m, m_addc(m, bits, -0x3f3504f3), 23);
    f = m_fsub(m, m_from_bits(m, m_sub(m, bits, m_shlc(m, exponent, 23))), m_f32(m, 1));
    exponent = m_add(m, exponent, m_select(m, small, m_const(m, 32, -23), m_const(m, 32, 0)));
    y = multiply_add(m, f, polynomial(m, f, BL_LEN(terms), terms), LLVMBuildSIToFP(m->cg->builder, exponent, m_f32_type(m), ""));
    y = m_select(m, m_fcmp(m, LLVMRealOLT, x, infinity), y, x); /* infinity, NaN */
    y = m_select(m, m_fcmp(m, LLVMRealOLT, x, m_f32(m, 0)), m_f32(m, __builtin_nan("")), y);
    return m_select(m, m_fcmp(m, LLVMRealOEQ, x, m_f32(m, 0)), m_fneg(m, infinity), y);
}

/* sin and cos as the GPU reduces their argument (measured on an H200: tests/ptx/record_math.py): in turns, by one product rounded
 * toward zero, so that large arguments lose what they lose there, and then cut to multiples of 2^-25 turn. Half turns change the
 * sign, the rest is a polynomial over a quarter turn each way. */
static LLVMValueRef turn_f32(struct bl_math *m, LLVMValueRef x, bool cosine)
{
    static const float sine_terms[] = {0x1.921fb6p+2f, -0x1.4abbc4p+5f, 0x1.4668f2p+6f, -0x1.32535ap+6f, 0x1.3e17cap+5f};
    static const float cosine_terms[] = {-0x1.3bd3ccp+4f, 0x1.03c1e6p+6f, -0x1.55d0b8p+6f, 0x1.e12f86p+5f, -0x1.901bd6p+4f};
    LLVMValueRef turns = bl_math_directed(m, BL_KIR_OP_fmul, x, m_f32(m, 0x1.45f306p-3), NULL, BL_KIR_RZ), halves, r, z, y, odd;

    /* below half a turn as it is, which keeps the sign of zero */
    r = m_fsub(m, turns, bl_math_integral(m, turns, BL_KIR_RN));
    r = m_select(m, m_fcmp(m, LLVMRealOLT, m_fabs(m, turns), m_f32(m, 0.5)), turns, r);
    r = m_fmul(m, bl_math_integral(m, m_fmul(m, r, m_f32(m, 0x1p25)), BL_KIR_RZ), m_f32(m, 0x1p-25));
    halves = bl_math_integral(m, m_fadd(m, r, r), BL_KIR_RN); /* -1, 0, 1 */
    /* exact; no half turn: r stays, and with it the sign of zero */
    r = m_select(m, m_fcmp(m, LLVMRealONE, halves, m_f32(m, 0)), multiply_add(m, halves, m_f32(m, -0.5), r), r);
    z = m_fmul(m, r, r);
    y = cosine ? multiply_add(m, z, polynomial(m, z, BL_LEN(cosine_terms), cosine_terms), m_f32(m, 1))
               : m_fmul(m, r, polynomial(m, z, BL_LEN(sine_terms), sine_terms));
    odd = m_fcmp(m, LLVMRealONE, halves, m_f32(m, 0));
    return m_select(m, odd, m_fneg(m, y), y);
}

/* A polynomial near zero, 1 - 2 / (e^2x + 1) beyond. */
static LLVMValueRef tanh_f32(struct bl_math *m, LLVMValueRef x)
{
    static const float terms[] = {-0x1.555552p-2f, 0x1.111026p-3f, -0x1.b9e1ap-5f, 0x1.62fbcep-6f, -0x1.092a9cp-7f, 0x1.0ea58cp-9f};
    LLVMValueRef magnitude = m_fabs(m, x), z = m_fmul(m, x, x), near, far;

    near = multiply_add(m, m_fmul(m, z, x), polynomial(m, z, BL_LEN(terms), terms), x);
    far = exp2_f32(m, m_fmul(m, magnitude, m_f32(m, 0x1.715476p+1)));
    far = m_fsub(m, m_f32(m, 1), m_fdiv(m, m_f32(m, 2), m_fadd(m, far, m_f32(m, 1))));
    far = m_select(m, m_fcmp(m, LLVMRealOLT, magnitude, m_f32(m, 0.65)), near, far);
    return m_call(m, "llvm.copysign", 2, far, x, NULL);
}

LLVMValueRef bl_math_approximate_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    switch (op) {
    case BL_KIR_OP_frsqrt:
        return m_fdiv(m, m_f32(m, 1), m_call(m, "llvm.sqrt", 1, x, NULL, NULL));
    case BL_KIR_OP_fsin:
        return turn_f32(m, x, false);
    case BL_KIR_OP_fcos:
        return turn_f32(m, x, true);
    case BL_KIR_OP_flg2:
        return log2_f32(m, x);
    case BL_KIR_OP_fex2:
        return exp2_f32(m, x);
    case BL_KIR_OP_ftanh:
        return tanh_f32(m, x);
    default:
        return NULL;
    }
}

/* a * (1 / b) with a reciprocal that has no subnormal values: from 2^126 on a divisor gives zero, and a NaN under infinity. Without
 * ftz both operands are scaled first where the divisor is subnormal (measured on an H200: tests/ptx/record_math.py). */
static LLVMValueRef divide_approx(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef small;

    if (!m->attr->ftz) {
        small = m_fcmp(m, LLVMRealOLT, m_fabs(m, b), m_f32(m, 0x1p-126));
        a = m_select(m, small, m_fmul(m, a, m_f32(m, 0x1p24)), a);
        b = m_select(m, small, m_fmul(m, b, m_f32(m, 0x1p24)), b);
    }
    return m_fmul(m, a, bl_math_flush(m, m_fdiv(m, m_f32(m, 1), b)));
}

/* The f64 forms, rcp.approx.ftz and rsqrt.approx.ftz, see and give the upper 32 bits only. */
static bool approximate_f64(struct bl_math *m)
{
    int64_t upper = (int64_t)UINT64_C(0xffffffff00000000);
    LLVMValueRef x = m->in[0], bits, small;

    if (m->instr->op != BL_KIR_OP_frcp && m->instr->op != BL_KIR_OP_frsqrt)
        return false;
    if (m->instr->op == BL_KIR_OP_frsqrt && !m->attr->ftz) {
        m->out[0] = m_fdiv(m, m_f64(m, 1), m_call(m, "llvm.sqrt", 1, x, NULL, NULL));
        return true;
    }
    bits = m_andc(m, m_to_bits(m, x), upper);
    small = m_icmpc(m, LLVMIntEQ, m_andc(m, bits, INT64_C(0x7ff0000000000000)), 0);
    bits = m_select(m, small, m_andc(m, bits, INT64_MIN), bits);
    x = m_from_bits(m, bits);
    if (m->instr->op == BL_KIR_OP_frsqrt)
        x = m_call(m, "llvm.sqrt", 1, x, NULL, NULL);
    x = m_fdiv(m, m_f64(m, 1), x);
    bits = m_select(m, m_fcmp(m, LLVMRealUNO, x, x), m_const(m, 64, INT64_MAX), m_to_bits(m, x));
    bits = m_andc(m, bits, upper);
    small = m_icmpc(m, LLVMIntEQ, m_andc(m, bits, INT64_C(0x7ff0000000000000)), 0);
    m->out[0] = m_from_bits(m, m_select(m, small, m_andc(m, bits, INT64_MIN), bits));
    return true;
}

bool bl_math_approximate(struct bl_math *m)
{
    LLVMValueRef x, y;

    if (m->type == BL_KIR_F64)
        return approximate_f64(m);
    x = bl_math_operand(m, 0);
    y = bl_math_operand(m, 1);
    switch (m->instr->op) {
    case BL_KIR_OP_fdiv:
        x = m->attr->full ? m_fdiv(m, x, y) : divide_approx(m, x, y);
        break;
    case BL_KIR_OP_frcp:
        x = m_fdiv(m, m_f32(m, 1), x);
        break;
    case BL_KIR_OP_fsqrt:
        x = m_call(m, "llvm.sqrt", 1, x, NULL, NULL);
        break;
    default:
        x = bl_math_approximate_f32(m, m->instr->op, x);
        break;
    }
    if (!x)
        return false;
    m->out[0] = bl_math_finish(m, x);
    return true;
}
