/* The functions that PTX describes by their largest error and their values at special arguments (PTX ISA, 9.7.3: rcp, sqrt, rsqrt,
 * sin, cos, lg2, ex2, tanh, div with .approx or .full). Called by math.c. They are what the GPU gives, by its function unit's
 * tables (math_table.c), or with fast_math polynomials: minimax fits, each within one or two units in the last place, which is as
 * near as the documented error or nearer. */
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

static LLVMValueRef polynomial_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    switch (op) {
    case BL_KIR_OP_frcp:
        return m_fdiv(m, m_f32(m, 1), x);
    case BL_KIR_OP_fsqrt:
        return m_call(m, "llvm.sqrt", 1, x, NULL, NULL);
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

/* By an AMD chip's own unit, which takes subnormal numbers for zeros as NVIDIA's does. NULL: it has none. Sine and cosine take
 * turns. */
static LLVMValueRef native_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    static const struct {
        enum bl_kir_op op;
        const char *name;
    } units[] = {{BL_KIR_OP_frcp, "llvm.amdgcn.rcp"},  {BL_KIR_OP_fsqrt, "llvm.amdgcn.sqrt"}, {BL_KIR_OP_frsqrt, "llvm.amdgcn.rsq"},
                 {BL_KIR_OP_fex2, "llvm.amdgcn.exp2"}, {BL_KIR_OP_flg2, "llvm.amdgcn.log"},   {BL_KIR_OP_fsin, "llvm.amdgcn.sin"},
                 {BL_KIR_OP_fcos, "llvm.amdgcn.cos"}};

    if (op == BL_KIR_OP_fsin || op == BL_KIR_OP_fcos)
        x = m_call(m, "llvm.amdgcn.fract", 1, m_fmul(m, x, m_f32(m, 0x1.45f306p-3)), NULL, NULL);
    for (size_t i = 0; i < BL_LEN(units); i++)
        if (units[i].op == op)
            return m_call(m, units[i].name, 1, x, NULL, NULL);
    return NULL;
}

/* Whether the op is made of arithmetic, and not by a unit or what gives the same bits. */
static bool by_polynomial(const struct bl_math *m, enum bl_kir_op op)
{
    return m->cg->fast_math && !(m->cg->features.amdgcn && op != BL_KIR_OP_ftanh);
}

static LLVMValueRef unit_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    LLVMValueRef native = m->cg->fast_math && m->cg->features.amdgcn ? native_f32(m, op, x) : NULL;
    return native ? native : bl_math_table_f32(m, op, x);
}

LLVMValueRef bl_math_approximate_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    return by_polynomial(m, op) ? polynomial_f32(m, op, x) : unit_f32(m, op, x);
}

/* ---- arguments and results that are subnormal ---------------------------------------------------- */

static LLVMValueRef is_subnormal(struct bl_math *m, LLVMValueRef x)
{
    return m_fcmp(m, LLVMRealOLT, m_fabs(m, x), m_f32(m, 0x1p-126));
}

/* x * factor where condition is true. */
static LLVMValueRef scale_if(struct bl_math *m, LLVMValueRef condition, LLVMValueRef x, double factor)
{
    return m_select(m, condition, m_fmul(m, x, m_f32(m, factor)), x);
}

/* Without ftz the argument is scaled to where the unit is at home, and the result back (read off what NVIDIA's assembler makes of
 * the instructions for sm_90). */
static LLVMValueRef scaled(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    LLVMValueRef small = is_subnormal(m, x), large, y;

    switch (op) {
    case BL_KIR_OP_frcp:
        large = m_fcmp(m, LLVMRealOGT, m_fabs(m, x), m_f32(m, 0x1p126));
        y = unit_f32(m, op, scale_if(m, large, scale_if(m, small, x, 0x1p24), 0.25));
        return scale_if(m, large, scale_if(m, small, y, 0x1p24), 0.25);
    case BL_KIR_OP_frsqrt:
        return scale_if(m, small, unit_f32(m, op, scale_if(m, small, x, 0x1p24)), 0x1p12);
    case BL_KIR_OP_fsqrt:
        return scale_if(m, small, unit_f32(m, op, scale_if(m, small, x, 0x1p24)), 0x1p-12);
    case BL_KIR_OP_flg2:
        y = unit_f32(m, op, scale_if(m, small, x, 0x1p24));
        return m_select(m, small, m_fsub(m, y, m_f32(m, 24)), y);
    case BL_KIR_OP_fex2:
        small = m_fcmp(m, LLVMRealOLT, x, m_f32(m, -126));
        y = unit_f32(m, op, scale_if(m, small, x, 0.5));
        return m_select(m, small, m_fmul(m, y, y), y);
    default:
        return unit_f32(m, op, x);
    }
}

/* a * (1 / b) with a reciprocal that has no subnormal values: from 2^126 on a divisor gives zero, and a NaN under infinity. Without
 * ftz both operands are scaled first where the divisor is subnormal, and for .full where it is large (measured on an H200:
 * tests/ptx/record_math.py). */
static LLVMValueRef divide_approx(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef small = is_subnormal(m, b), large;

    if (m->attr->full) {
        large = m_fcmp(m, LLVMRealOGT, m_fabs(m, b), m_f32(m, 0x1p126));
        a = scale_if(m, large, a, 0.25);
        b = scale_if(m, large, b, 0.25);
        if (m->attr->ftz)
            a = bl_math_flush(m, a);
    }
    if (!m->attr->ftz) {
        a = scale_if(m, small, a, 0x1p24);
        b = scale_if(m, small, b, 0x1p24);
    }
    b = bl_math_approximate_f32(m, BL_KIR_OP_frcp, b);
    return m_fmul(m, a, by_polynomial(m, BL_KIR_OP_frcp) ? bl_math_flush(m, b) : b);
}

/* ---- f64 ------------------------------------------------------------------------------------------ */

/* The upper half by the unit, or by division. */
static LLVMValueRef upper_half(struct bl_math *m, LLVMValueRef bits)
{
    LLVMValueRef x = m_from_bits(m, bits), y, special, upper;

    y = m_fdiv(m, m_f64(m, 1), m->instr->op == BL_KIR_OP_frsqrt ? m_call(m, "llvm.sqrt", 1, x, NULL, NULL) : x);
    if (m->cg->fast_math)
        return y;
    upper = m_zresize(m, m_lshrc(m, bits, 32), 32);
    special = m_icmpc(m, LLVMIntUGE, m_addc(m, m_andc(m, upper, 0x7fffffff), -0x100000), 0x7fe00000);
    if (m->instr->op == BL_KIR_OP_frsqrt)
        special = m_or(m, special, m_icmpc(m, LLVMIntSLT, upper, 0));
    x = bl_math_table_f64(m, m->instr->op, m_andc(m, upper, 0x7fffffff));
    x = m_or(m, x, m_andc(m, upper, 0x80000000));
    x = m_from_bits(m, m_shlc(m, m_zresize(m, x, 64), 32));
    return m_select(m, special, y, x);
}

/* The f64 forms, rcp.approx.ftz and rsqrt.approx.ftz, see and give the upper 32 bits only. */
static LLVMValueRef approximate_upper(struct bl_math *m, LLVMValueRef x)
{
    int64_t upper = (int64_t)UINT64_C(0xffffffff00000000);
    LLVMValueRef bits = m_andc(m, m_to_bits(m, x), upper), small;

    small = m_icmpc(m, LLVMIntEQ, m_andc(m, bits, INT64_C(0x7ff0000000000000)), 0);
    x = upper_half(m, m_select(m, small, m_andc(m, bits, INT64_MIN), bits));
    bits = m_select(m, m_fcmp(m, LLVMRealUNO, x, x), m_const(m, 64, INT64_MAX), m_to_bits(m, x));
    bits = m_andc(m, bits, upper);
    small = m_icmpc(m, LLVMIntEQ, m_andc(m, bits, INT64_C(0x7ff0000000000000)), 0);
    return m_from_bits(m, m_select(m, small, m_andc(m, bits, INT64_MIN), bits));
}

/* rsqrt.approx.f64: one step from the upper half's answer, as NVIDIA's assembler makes it for sm_90. */
static LLVMValueRef improved_root(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef small = m_fcmp(m, LLVMRealOLT, x, m_f64(m, 0x1p-1022)), y, e, h, special, exact;

    exact = m_fdiv(m, m_f64(m, 1), m_call(m, "llvm.sqrt", 1, x, NULL, NULL));
    if (m->cg->fast_math)
        return exact;
    special = m_fcmp(m, LLVMRealULE, x, m_f64(m, 0));
    special = m_or(m, special, m_fcmp(m, LLVMRealOEQ, x, m_f64(m, __builtin_inf())));
    x = m_select(m, small, m_fmul(m, x, m_f64(m, 0x1p54)), x);
    y = approximate_upper(m, x);
    e = bl_math_fused(m, m_fneg(m, m_fmul(m, y, y)), x, m_f64(m, 1));
    h = bl_math_fused(m, e, m_f64(m, 0.375), m_f64(m, 0.5));
    y = bl_math_fused(m, h, m_fmul(m, y, e), y);
    y = m_select(m, small, m_fmul(m, y, m_f64(m, 0x1p27)), y);
    return m_select(m, special, exact, y);
}

static bool approximate_f64(struct bl_math *m)
{
    if (m->instr->op != BL_KIR_OP_frcp && m->instr->op != BL_KIR_OP_frsqrt)
        return false;
    if (m->instr->op == BL_KIR_OP_frsqrt && !m->attr->ftz)
        m->out[0] = improved_root(m, m->in[0]);
    else
        m->out[0] = approximate_upper(m, m->in[0]);
    return true;
}

bool bl_math_approximate(struct bl_math *m)
{
    enum bl_kir_op op = m->instr->op;
    LLVMValueRef x, y;

    if (m->type == BL_KIR_F64)
        return approximate_f64(m);
    if (op == BL_KIR_OP_fdiv) {
        x = bl_math_operand(m, 0);
        y = bl_math_operand(m, 1);
        x = m->cg->fast_math && m->attr->full ? m_fdiv(m, x, y) : divide_approx(m, x, y);
        m->out[0] = bl_math_finish(m, x);
        return true;
    }
    if (by_polynomial(m, op))
        x = polynomial_f32(m, op, bl_math_operand(m, 0));
    else /* the unit itself takes subnormal numbers for zeros */
        x = m->attr->ftz ? unit_f32(m, op, m->in[0]) : scaled(m, op, m->in[0]);
    if (!x)
        return false;
    m->out[0] = by_polynomial(m, op) ? bl_math_finish(m, x) : m->attr->sat ? bl_math_saturate(m, x) : x;
    return true;
}
