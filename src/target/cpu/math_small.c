/* f16, bf16 and pairs of them, which stand in LLVM IR as their bits: every op is done in a wider format and rounded once. Called
 * by math.c; the conversions use the two functions that widen and narrow.
 *
 * f32 has more than twice the precision of both plus two bits, so a sum, product, quotient or root that is rounded to f32 and
 * then again is as if rounded once. A fused multiply-add is not: its sum is rounded to odd on the way. */
#include "target/cpu/math_build.h"

/* ---- f32 and back ------------------------------------------------------------------------------- */

static bool has_half(struct bl_math *m)
{
    return m->cg->features.f16c || m->cg->features.aarch64 || m->cg->features.amdgcn;
}

static LLVMTypeRef half_type(struct bl_math *m)
{
    return m_vector(m, LLVMHalfTypeInContext(m->cg->context));
}

LLVMValueRef bl_math_widen(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type)
{
    LLVMValueRef bits, magnitude, special;

    if (type == BL_KIR_BF16)
        return m_from_bits(m, m_shlc(m, m_zresize(m, x, 32), 16));
    if (has_half(m))
        return LLVMBuildFPExt(m->cg->builder, LLVMBuildBitCast(m->cg->builder, x, half_type(m), ""), m_f32_type(m), "");
    /* the exponent is too small by the difference of the biases: a product puts that right, subnormals included */
    magnitude = m_andc(m, m_zresize(m, x, 32), 0x7fff);
    bits = m_to_bits(m, m_fmul(m, m_from_bits(m, m_shlc(m, magnitude, 13)), m_f32(m, 0x1p112)));
    special = m_icmpc(m, LLVMIntUGE, magnitude, 0x7c00);
    bits = m_select(m, special, m_orc(m, bits, 0x7f800000), bits);
    return m_from_bits(m, m_or(m, bits, m_shlc(m, m_andc(m, m_zresize(m, x, 32), 0x8000), 16)));
}

/* Nearest even by integer arithmetic; the caller's magnitude is in the normal range of the format. */
static LLVMValueRef round_bits(struct bl_math *m, LLVMValueRef magnitude, unsigned drop)
{
    LLVMValueRef odd = m_andc(m, m_lshrc(m, magnitude, drop), 1);
    return m_lshrc(m, m_add(m, m_addc(m, magnitude, (INT64_C(1) << (drop - 1)) - 1), odd), drop);
}

static LLVMValueRef narrow_bf16(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef bits = m_to_bits(m, x), nan = m_fcmp(m, LLVMRealUNO, x, x);
    return m_zresize(m, m_select(m, nan, m_const(m, 32, 0x7fff), round_bits(m, bits, 16)), 16);
}

LLVMValueRef bl_math_to_small(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type)
{
    LLVMValueRef bits, magnitude, normal, small, result;

    if (type == BL_KIR_BF16)
        return narrow_bf16(m, x);
    if (has_half(m))
        return LLVMBuildBitCast(m->cg->builder, LLVMBuildFPTrunc(m->cg->builder, x, half_type(m), ""), m_int_type(m, 16), "");
    bits = m_to_bits(m, x);
    magnitude = m_andc(m, bits, 0x7fffffff);
    /* adding 0.5 leaves a subnormal result in the last bits, rounded */
    small = m_fadd(m, m_from_bits(m, magnitude), m_f32(m, 0.5));
    small = m_addc(m, m_to_bits(m, small), -0x3f000000);
    normal = m_uminc(m, round_bits(m, m_addc(m, magnitude, -(INT64_C(112) << 23)), 13), 0x7c00);
    result = m_select(m, m_icmpc(m, LLVMIntULT, magnitude, 0x38800000), small, normal);
    result = m_select(m, m_icmpc(m, LLVMIntUGT, magnitude, 0x7f800000), m_const(m, 32, 0x7fff), result);
    return m_zresize(m, m_or(m, result, m_andc(m, m_lshrc(m, bits, 16), 0x8000)), 16);
}

/* ---- one element -------------------------------------------------------------------------------- */

/* Subnormal numbers become zeros. */
static LLVMValueRef flush(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type)
{
    LLVMValueRef exponent = m_andc(m, x, type == BL_KIR_F16 ? 0x7c00 : 0x7f80);
    return m_select(m, m_icmpc(m, LLVMIntEQ, exponent, 0), m_andc(m, x, 0x8000), x);
}

/* f32 sum rounded to odd. Both fit f32 with room, so nothing overflows. */
static LLVMValueRef sum_to_odd(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    return bl_math_round_to_odd(m, bl_math_two_sum(m, a, b));
}

static LLVMValueRef fused_small(struct bl_math *m, LLVMValueRef *x, enum bl_kir_type type)
{
    LLVMValueRef sum;

    if (type == BL_KIR_F16) /* the product of two is exact in f32 */
        return sum_to_odd(m, m_fmul(m, x[0], x[1]), x[2]);
    sum = sum_to_odd(m, m_fmul(m, m_extend(m, x[0]), m_extend(m, x[1])), m_extend(m, x[2]));
    return bl_math_narrow_odd(m, sum);
}

static LLVMValueRef arithmetic(struct bl_math *m, LLVMValueRef *x, enum bl_kir_type type)
{
    switch (m->instr->op) {
    case BL_KIR_OP_fadd:
        return m_fadd(m, x[0], x[1]);
    case BL_KIR_OP_fsub:
        return m_fsub(m, x[0], x[1]);
    case BL_KIR_OP_fmul:
        return m_fmul(m, x[0], x[1]);
    case BL_KIR_OP_fdiv:
        return m_fdiv(m, x[0], x[1]);
    case BL_KIR_OP_frcp:
        return m_fdiv(m, m_f32(m, 1), x[0]);
    case BL_KIR_OP_fsqrt:
        return m_call(m, "llvm.sqrt", 1, x[0], NULL, NULL);
    case BL_KIR_OP_ffma:
        return fused_small(m, x, type);
    default:
        return bl_math_approximate_f32(m, m->instr->op, x[0]);
    }
}

/* Below zero, or -0: +0. NaN stays. */
LLVMValueRef bl_math_relu(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef zero = m_real(m, x, 0);
    return m_select(m, m_fcmp(m, LLVMRealOLE, x, zero), zero, x);
}

/* Narrows toward zero, as the GPU does for ex2 and tanh (measured on an H200: tests/ptx/record_approx.py): what would be lost is
 * taken away first. */
static LLVMValueRef cut(struct bl_math *m, LLVMValueRef x, enum bl_kir_type type)
{
    LLVMValueRef bits = m_to_bits(m, x), small, kept;

    if (type == BL_KIR_BF16)
        kept = m_andc(m, bits, (int64_t)0xffff0000);
    else
        kept = m_andc(m, bits, (int64_t)0xffffe000);
    kept = m_select(m, m_fcmp(m, LLVMRealORD, x, x), kept, bits);
    if (type == BL_KIR_BF16)
        return bl_math_to_small(m, m_from_bits(m, kept), type);
    small = m_fmul(m, bl_math_integral(m, m_fmul(m, x, m_f32(m, 0x1p24)), BL_KIR_RZ), m_f32(m, 0x1p-24));
    x = m_select(m, m_fcmp(m, LLVMRealOLT, m_fabs(m, x), m_f32(m, 0x1p-14)), small, m_from_bits(m, kept));
    return bl_math_to_small(m, x, type);
}

/* Flushes result, which exact was rounded to. What only the coarse grid of subnormals rounds up to the smallest normal number is
 * flushed too: a GPU looks at the size before that. */
static LLVMValueRef flush_rounded(struct bl_math *m, LLVMValueRef exact, LLVMValueRef result, enum bl_kir_type type)
{
    LLVMValueRef small;

    result = flush(m, result, type);
    if (type == BL_KIR_BF16)
        return result;
    small = m_fcmp(m, LLVMRealOLT, m_fabs(m, exact), m_f32(m, 0x1p-14f - 0x1p-26f));
    return m_select(m, small, m_andc(m, result, 0x8000), result);
}

static LLVMValueRef compute(struct bl_math *m, LLVMValueRef *in, enum bl_kir_type type)
{
    LLVMValueRef operands[3] = {0}, x, result;

    for (unsigned i = 0; i < m->instr->operand_count; i++)
        operands[i] = bl_math_widen(m, in[i], type);
    if (m->attr->round != BL_KIR_RN)
        return NULL;
    x = arithmetic(m, operands, type);
    if (!x)
        return NULL;
    if (m->attr->sat)
        x = bl_math_saturate(m, x);
    else if (m->attr->relu)
        x = bl_math_relu(m, x);
    if (m->instr->op == BL_KIR_OP_fex2 || (m->instr->op == BL_KIR_OP_ftanh && !m->cg->fast_math))
        result = cut(m, x, type);
    else
        result = bl_math_to_small(m, x, type);
    return m->attr->ftz ? flush_rounded(m, x, result, type) : result;
}

static LLVMValueRef choose(struct bl_math *m, LLVMValueRef *in, enum bl_kir_type type, bool max)
{
    LLVMValueRef x, y, result = in[0], sign = in[0], nan;

    for (unsigned i = 1; i < m->instr->operand_count; i++) {
        x = bl_math_widen(m, m->attr->xorsign ? m_andc(m, result, 0x7fff) : result, type);
        y = bl_math_widen(m, m->attr->xorsign ? m_andc(m, in[i], 0x7fff) : in[i], type);
        result = bl_math_to_small(m, bl_math_min_max(m, x, y, max), type);
        nan = m_fcmp(m, LLVMRealUNO, x, y);
        if (m->attr->nan)
            result = m_select(m, nan, m_const(m, 16, 0x7fff), result);
        sign = m_xor(m, sign, in[i]);
    }
    if (m->attr->xorsign)
        result = m_or(m, m_andc(m, result, 0x7fff), m_andc(m, sign, 0x8000));
    if (m->attr->relu) /* a NaN has no sign that counts */
        result = bl_math_to_small(m, bl_math_relu(m, bl_math_widen(m, result, type)), type);
    return result;
}

static LLVMValueRef element(struct bl_math *m, LLVMValueRef *operands, enum bl_kir_type type)
{
    LLVMValueRef in[3] = {0}, x;

    for (unsigned i = 0; i < m->instr->operand_count; i++)
        in[i] = m->attr->ftz ? flush(m, operands[i], type) : operands[i];
    switch (m->instr->op) {
    case BL_KIR_OP_fneg:
        return m_xorc(m, in[0], 0x8000);
    case BL_KIR_OP_fabs:
        return m_andc(m, in[0], 0x7fff);
    case BL_KIR_OP_fcopysign:
        return m_or(m, m_andc(m, in[0], 0x8000), m_andc(m, in[1], 0x7fff));
    case BL_KIR_OP_ftestp:
        return bl_math_test(m, in[0], type == BL_KIR_F16 ? 0x7c00 : 0x7f80, type == BL_KIR_F16 ? 0x0400 : 0x0080);
    case BL_KIR_OP_fcmp:
    case BL_KIR_OP_fcmp2:
        x = bl_math_widen(m, in[0], type);
        return bl_math_compare(m, x, bl_math_widen(m, in[1], type));
    case BL_KIR_OP_fmin:
        return choose(m, in, type, false);
    case BL_KIR_OP_fmax:
        return choose(m, in, type, true);
    default:
        return compute(m, in, type);
    }
}

bool bl_math_small(struct bl_math *m)
{
    bool packed = m->type == BL_KIR_F16X2 || m->type == BL_KIR_BF16X2;
    enum bl_kir_type type = m->type == BL_KIR_F16X2 ? BL_KIR_F16 : m->type == BL_KIR_BF16X2 ? BL_KIR_BF16 : m->type;
    LLVMValueRef in[2][3], results[2] = {0};

    if (m->instr->op < BL_KIR_OP_fadd || m->instr->op > BL_KIR_OP_fcmp2 || m->instr->op == BL_KIR_OP_icmp ||
        m->instr->operand_count > 3)
        return false;
    for (unsigned half = 0; half <= packed; half++) {
        for (unsigned i = 0; i < m->instr->operand_count; i++)
            in[half][i] = m_zresize(m, half ? m_lshrc(m, m->in[i], 16) : m->in[i], 16);
        results[half] = element(m, in[half], type);
        if (!results[half])
            return false;
    }
    m->out[0] = results[0];
    if (m->instr->result_count == 2)
        m->out[1] = results[1];
    else if (packed)
        m->out[0] = m_or(m, m_zresize(m, results[0], 32), m_shlc(m, m_zresize(m, results[1], 32), 16));
    return true;
}
