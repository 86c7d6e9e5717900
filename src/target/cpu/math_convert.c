/* Conversions between integers and floats, packing and unpacking (PTX ISA, 9.7.9). Called by math.c. */
#include "target/cpu/math_build.h"

static LLVMTypeRef result_type(struct bl_math *m)
{
    return bl_cg_type(m->cg, m->to, m->width);
}

/* ---- moving bits -------------------------------------------------------------------------------- */

/* Operand i as bits that an integer op may look at. */
static LLVMValueRef bits_of(struct bl_math *m, unsigned i)
{
    return m_to_bits(m, bl_cg_settle_nan(m->cg, m->instr->operands[i], m->width, m->in[i]));
}

static bool pack(struct bl_math *m)
{
    unsigned bits = bl_kir_type_bits(m->to), place = 0;
    LLVMValueRef whole = NULL, part;

    for (unsigned i = 0; i < m->instr->operand_count; i++) {
        if (place + m->bits > bits)
            return false;
        part = m_zresize(m, bits_of(m, i), bits);
        part = place ? m_shlc(m, part, place) : part;
        whole = whole ? m_or(m, whole, part) : part;
        place += m->bits;
    }
    m->out[0] = m->to == BL_KIR_F32 || m->to == BL_KIR_F64 ? m_from_bits(m, whole) : whole;
    return true;
}

static bool unpack(struct bl_math *m)
{
    LLVMValueRef whole = bits_of(m, 0), part;
    unsigned bits = bl_kir_type_bits(m->to);

    if (bits * m->instr->result_count > m->bits)
        return false;
    for (unsigned i = 0; i < m->instr->result_count; i++) {
        part = m_zresize(m, i ? m_lshrc(m, whole, i * bits) : whole, bits);
        m->out[i] = m->to == BL_KIR_F32 || m->to == BL_KIR_F64 ? m_from_bits(m, part) : part;
    }
    return true;
}

/* To the range of a narrower type, signed (attr.a_signed) or not. */
static bool saturate_integer(struct bl_math *m, bool from_signed)
{
    unsigned to = bl_kir_type_bits(m->to);
    uint64_t most = (UINT64_C(1) << (m->attr->a_signed ? to - 1 : to)) - 1;
    LLVMValueRef x = m->in[0];

    if (to >= m->bits || m->bits > 64)
        return false;
    if (from_signed) {
        x = m_call(m, "llvm.smin", 2, x, m_const(m, m->bits, (int64_t)most), NULL);
        x = m_call(m, "llvm.smax", 2, x, m_const(m, m->bits, m->attr->a_signed ? -(int64_t)most - 1 : 0), NULL);
    } else {
        x = m_uminc(m, x, (int64_t)most);
    }
    m->out[0] = m_zresize(m, x, to);
    return true;
}

/* ---- integers and floats ------------------------------------------------------------------------ */

static struct bl_math_format format_of(enum bl_kir_type type)
{
    switch (type) {
    case BL_KIR_F16:
        return BL_MATH_F16;
    case BL_KIR_BF16:
        return BL_MATH_BF16;
    case BL_KIR_F32:
        return BL_MATH_F32;
    default:
        return BL_MATH_F64;
    }
}

static bool is_small(enum bl_kir_type type)
{
    return type == BL_KIR_F16 || type == BL_KIR_BF16;
}

/* A NaN of f64 in a small format: quiet, with its sign and what fits of its fraction. */
static LLVMValueRef cut_nan(struct bl_math *m, LLVMValueRef x, enum bl_kir_type to)
{
    LLVMValueRef bits = m_to_bits(m, x), sign = m_andc(m, m_lshrc(m, bits, 48), 0x8000);
    unsigned fraction = to == BL_KIR_F16 ? 10 : 7;

    bits = m_andc(m, m_lshrc(m, bits, 52 - fraction), (INT64_C(1) << fraction) - 1);
    bits = m_orc(m, m_or(m, bits, sign), to == BL_KIR_F16 ? 0x7e00 : 0x7fc0);
    return m_zresize(m, bits, 16);
}

/* f64 to any of the four formats. */
static LLVMValueRef from_f64(struct bl_math *m, LLVMValueRef x, enum bl_kir_type to, enum bl_kir_round round)
{
    LLVMValueRef nearest;

    if (to == BL_KIR_F64)
        return x;
    if (to == BL_KIR_F32)
        return round == BL_KIR_RNA ? NULL : bl_math_narrow(m, x, round);
    nearest = bl_math_to_small(m, bl_math_narrow_odd(m, x), to);
    if (round != BL_KIR_RN)
        nearest = bl_math_round_f64(m, x, nearest, format_of(to), round);
    return m_select(m, m_fcmp(m, LLVMRealUNO, x, x), cut_nan(m, x, to), nearest);
}

static bool from_integer(struct bl_math *m, bool is_signed)
{
    LLVMBuilderRef builder = m->cg->builder;
    bool direct = m->attr->round == BL_KIR_RN && !is_small(m->to);
    LLVMTypeRef type = direct ? result_type(m) : m_f64_type(m);

    if (m->bits > 64 || (m->attr->sat && is_small(m->to)))
        return false;
    if (m->bits == 64 && !direct) {
        m->out[0] = bl_math_round_integer(m, m->in[0], is_signed, format_of(m->to), m->attr->round);
        m->out[0] = is_small(m->to) ? m->out[0] : m_from_bits(m, m->out[0]);
    } else {
        m->out[0] = is_signed ? LLVMBuildSIToFP(builder, m->in[0], type, "") : LLVMBuildUIToFP(builder, m->in[0], type, "");
        m->out[0] = direct ? m->out[0] : from_f64(m, m->out[0], m->to, m->attr->round);
    }
    if (m->out[0] && m->attr->sat)
        m->out[0] = bl_math_saturate(m, m->out[0]);
    return m->out[0] != NULL;
}

static const char *rounding_intrinsic(enum bl_kir_round round)
{
    switch (round) {
    case BL_KIR_RZ:
        return "llvm.trunc";
    case BL_KIR_RM:
        return "llvm.floor";
    case BL_KIR_RP:
        return "llvm.ceil";
    case BL_KIR_RN:
        return "llvm.rint";
    default:
        return NULL;
    }
}

/* The integral number that round names, of the same float type. Without the hardware's instruction LLVM would call the C
 * library: there a number below 2^mantissa is rounded by adding and taking away 2^mantissa, then moved by one where needed. */
LLVMValueRef bl_math_integral(struct bl_math *m, LLVMValueRef x, enum bl_kir_round round)
{
    bool f64 = m_bits_of(x) == 64;
    LLVMValueRef magnitude, big, near, sign, step;

    if (m->cg->features.sse41 || m->cg->features.aarch64 || m->cg->features.amdgcn)
        return m_call(m, rounding_intrinsic(round), 1, x, NULL, NULL);
    big = m_real(m, x, f64 ? 0x1p52 : 0x1p23);
    sign = m_andc(m, m_to_bits(m, x), (int64_t)(UINT64_C(1) << (m_bits_of(x) - 1)));
    magnitude = m_fabs(m, x);
    near = m_fsub(m, m_fadd(m, magnitude, big), big);
    near = m_from_bits(m, m_or(m, m_to_bits(m, near), sign));
    if (round == BL_KIR_RM || round == BL_KIR_RP) {
        step = m_fcmp(m, round == BL_KIR_RM ? LLVMRealOGT : LLVMRealOLT, near, x);
        step = m_select(m, step, m_real(m, x, round == BL_KIR_RM ? -1.0 : 1.0), m_real(m, x, -0.0));
        near = m_fadd(m, near, step);
    } else if (round == BL_KIR_RZ) {
        step = m_fcmp(m, LLVMRealOGT, m_fabs(m, near), magnitude);
        step = m_select(m, step, m_real(m, x, -1.0), m_real(m, x, 0.0));
        near = m_fadd(m, m_fabs(m, near), step);
    }
    near = m_from_bits(m, m_or(m, m_to_bits(m, m_fabs(m, near)), sign));
    return m_select(m, m_fcmp(m, LLVMRealOLT, magnitude, big), near, x);
}

/* NaN becomes 0; but from f64, or to 64 bits, the highest bit alone (measured on an H200: tests/ptx/record_math.py). */
static bool to_integer(struct bl_math *m, bool is_signed)
{
    unsigned bits = bl_kir_type_bits(m->to), room = bits < 32 ? 32 : bits;
    LLVMTypeRef types[2] = {m_int_type(m, room), NULL};
    LLVMValueRef x = is_small(m->type) ? bl_math_widen(m, m->in[0], m->type) : m->in[0];

    if (bl_kir_type_bits(m->type) == 128 || bits > 64 || m->attr->round == BL_KIR_RNA)
        return false;
    if (m->attr->ftz && m->type == BL_KIR_F32)
        x = bl_math_flush(m, x);
    if (m->attr->round != BL_KIR_RZ)
        x = bl_math_integral(m, x, m->attr->round);
    types[1] = LLVMTypeOf(x);
    m->out[0] = bl_cg_intrinsic(m->cg, is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat", 2, types, 1, &x);
    if (bits < 32) {
        uint64_t most = (UINT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
        m->out[0] = m_call(m, is_signed ? "llvm.smin" : "llvm.umin", 2, m->out[0], m_const(m, 32, (int64_t)most), NULL);
        if (is_signed)
            m->out[0] = m_call(m, "llvm.smax", 2, m->out[0], m_const(m, 32, -(int64_t)most - 1), NULL);
        m->out[0] = m_zresize(m, m->out[0], bits);
    }
    if (bits == 64 || m->type == BL_KIR_F64)
        m->out[0] = m_select(m, m_fcmp(m, LLVMRealUNO, x, x), m_const(m, bits, (int64_t)(UINT64_C(1) << (bits - 1))), m->out[0]);
    return true;
}

/* ---- between floats ----------------------------------------------------------------------------- */

static bool is_packed(enum bl_kir_type type)
{
    return type == BL_KIR_F16X2 || type == BL_KIR_BF16X2;
}

/* f32 or a small float to any format. */
static LLVMValueRef from_f32(struct bl_math *m, LLVMValueRef x, enum bl_kir_type to, enum bl_kir_round round)
{
    if (to == BL_KIR_F32)
        return x;
    if (is_small(to) && round == BL_KIR_RN)
        return bl_math_to_small(m, x, to);
    return from_f64(m, m_extend(m, x), to, round);
}

static bool between_floats(struct bl_math *m)
{
    LLVMValueRef x = m->to == BL_KIR_F64 ? bl_cg_settle_nan(m->cg, m->instr->operands[0], m->width, m->in[0]) : m->in[0];
    bool f64 = m->type == BL_KIR_F64;

    if (is_packed(m->type) || is_packed(m->to))
        return false;
    if (is_small(m->type))
        x = bl_math_widen(m, x, m->type);
    if (m->attr->ftz && !f64)
        x = bl_math_flush(m, x);
    /* zero and one are numbers of every format, so that clamping may come before rounding */
    if (m->attr->sat)
        x = bl_math_saturate(m, x);
    else if (m->attr->relu)
        x = bl_math_relu(m, x);
    x = f64 ? from_f64(m, x, m->to, m->attr->round) : from_f32(m, x, m->to, m->attr->round);
    if (!x)
        return false;
    m->out[0] = m->attr->ftz && m->to == BL_KIR_F32 && m->type != BL_KIR_F32 ? bl_math_flush(m, x) : x;
    return true;
}

static bool to_integral(struct bl_math *m)
{
    LLVMValueRef x = is_small(m->type) ? bl_math_widen(m, m->in[0], m->type) : m->in[0];

    if (is_packed(m->type) || m->attr->round == BL_KIR_RNA)
        return false;
    if (m->attr->ftz && m->type == BL_KIR_F32)
        x = bl_math_flush(m, x);
    x = bl_math_integral(m, x, m->attr->round);
    x = m->attr->sat ? bl_math_saturate(m, x) : x;
    m->out[0] = is_small(m->type) ? bl_math_to_small(m, x, m->type) : x;
    return true;
}

bool bl_math_convert(struct bl_math *m)
{
    switch (m->instr->op) {
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_zext:
        m->out[0] = m_zresize(m, m->in[0], bl_kir_type_bits(m->to));
        return true;
    case BL_KIR_OP_sext:
        m->out[0] = m_sresize(m, m->in[0], bl_kir_type_bits(m->to));
        return true;
    case BL_KIR_OP_bitcast:
        m->out[0] = LLVMBuildBitCast(m->cg->builder, bits_of(m, 0), result_type(m), "");
        return true;
    case BL_KIR_OP_itof_s:
        return from_integer(m, true);
    case BL_KIR_OP_itof_u:
        return from_integer(m, false);
    case BL_KIR_OP_ftoi_s:
        return to_integer(m, true);
    case BL_KIR_OP_ftoi_u:
        return to_integer(m, false);
    case BL_KIR_OP_ftof:
        return between_floats(m);
    case BL_KIR_OP_frint:
        return to_integral(m);
    case BL_KIR_OP_isat_s:
        return saturate_integer(m, true);
    case BL_KIR_OP_isat_u:
        return saturate_integer(m, false);
    case BL_KIR_OP_pack:
        return pack(m);
    case BL_KIR_OP_unpack:
        return unpack(m);
    default:
        return false;
    }
}
