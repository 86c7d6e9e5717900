/* Arithmetic and comparison in f32 and f64 (PTX ISA, 9.7.3). Called by math.c; the 16-bit floats are in math_small.c, the
 * approximate functions in math_approx.c.
 *
 * NaN: the GPU's f32 arithmetic answers every NaN with 0x7fffffff, a CPU passes on an operand's bits. Nothing but the bits
 * themselves can tell the difference, so they are put right only where bits become visible: bl_cg_settle_nan. */
#include "target/cpu/math_build.h"

/* ---- flush, saturate ---------------------------------------------------------------------------- */

/* Subnormal numbers become zeros of their sign. */
LLVMValueRef bl_math_flush(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef bits = m_to_bits(m, x), subnormal = m_icmpc(m, LLVMIntEQ, m_andc(m, bits, 0x7f800000), 0);
    return m_select(m, subnormal, m_from_bits(m, m_andc(m, bits, 0x80000000)), x);
}

/* A value that can't be subnormal, as far as a short look tells. */
static bool is_flushed(const struct bl_kir_value *value)
{
    const struct bl_kir_instr *def = value->def;

    while (def && (def->op == BL_KIR_OP_fneg || def->op == BL_KIR_OP_fabs))
        def = def->operands[0]->def;
    if (!def)
        return false;
    if (def->op == BL_KIR_OP_const)
        return (def->attr->imm & 0x7f800000) != 0 || (def->attr->imm & 0x7fffff) == 0;
    if (def->op == BL_KIR_OP_itof_s || def->op == BL_KIR_OP_itof_u)
        return true;
    return def->op >= BL_KIR_OP_fadd && def->op <= BL_KIR_OP_ftanh && def->attr->ftz;
}

/* Operand i, flushed where the op says so. */
LLVMValueRef bl_math_operand(struct bl_math *m, unsigned i)
{
    if (i >= m->instr->operand_count)
        return NULL;
    if (!m->attr->ftz || m->cg->flushes || m->instr->operands[i]->type != BL_KIR_F32 || is_flushed(m->instr->operands[i]))
        return m->in[i];
    return bl_math_flush(m, m->in[i]);
}

/* To [0, 1]; NaN and -0 become +0. */
LLVMValueRef bl_math_saturate(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef zero = m_real(m, x, 0.0), one = m_real(m, x, 1.0);
    x = m_select(m, m_fcmp(m, LLVMRealOGT, x, zero), x, zero);
    return m_select(m, m_fcmp(m, LLVMRealOLT, x, one), x, one);
}

LLVMValueRef bl_math_finish(struct bl_math *m, LLVMValueRef x)
{
    if (m->attr->ftz && !m->cg->flushes && m->to == BL_KIR_F32)
        x = bl_math_flush(m, x);
    return m->attr->sat ? bl_math_saturate(m, x) : x;
}

/* ---- exact sums and products -------------------------------------------------------------------- */

/* s = a + b rounded, and what rounding left out (2Sum; no overflow may happen). */
struct bl_math_pair bl_math_two_sum(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef s = m_fadd(m, a, b), part = m_fsub(m, s, a);
    LLVMValueRef e = m_fadd(m, m_fsub(m, a, m_fsub(m, s, part)), m_fsub(m, b, part));
    return (struct bl_math_pair){s, e};
}

/* The sum rounded to odd: where something was left out, the last bit is set. A later rounding to at least two bits fewer then is
 * as if it were the only one. */
LLVMValueRef bl_math_round_to_odd(struct bl_math *m, struct bl_math_pair sum)
{
    LLVMValueRef bits = m_to_bits(m, sum.high), outward, moved, inexact;

    outward = m_icmpc(m, LLVMIntSGE, m_xor(m, bits, m_to_bits(m, sum.low)), 0);
    moved = m_select(m, outward, m_addc(m, bits, 1), m_addc(m, bits, -1));
    inexact = m_fcmp(m, LLVMRealONE, sum.low, m_real(m, sum.low, 0));
    inexact = m_and(m, inexact, m_icmpc(m, LLVMIntEQ, m_andc(m, bits, 1), 0));
    return m_from_bits(m, m_select(m, inexact, moved, bits));
}

bool bl_math_has_fma(struct bl_math *m)
{
    return m->cg->features.fma || m->cg->features.aarch64 || m->cg->features.amdgcn;
}

/* f32: the product is exact in f64, and the sum rounded to odd there. */
static LLVMValueRef fma_by_double(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef product = m_fmul(m, m_extend(m, a), m_extend(m, b));
    return bl_math_round_to_odd(m, bl_math_two_sum(m, product, m_extend(m, c)));
}

/* Round to nearest. */
LLVMValueRef bl_math_fused(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    if (bl_math_has_fma(m))
        return m_call(m, "llvm.fma", 3, a, b, c);
    return m_bits_of(a) == 32 ? m_narrow(m, fma_by_double(m, a, b, c)) : bl_math_fma_f64(m, a, b, c, BL_KIR_RN);
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

static LLVMValueRef nearest(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    switch (m->instr->op) {
    case BL_KIR_OP_fadd:
        return m_fadd(m, a, b);
    case BL_KIR_OP_fsub:
        return m_fsub(m, a, b);
    case BL_KIR_OP_fmul:
        return m_fmul(m, a, b);
    case BL_KIR_OP_fdiv:
        return m_fdiv(m, a, b);
    case BL_KIR_OP_frcp:
        return m_fdiv(m, m_real(m, a, 1.0), a);
    case BL_KIR_OP_fsqrt:
        return m_call(m, "llvm.sqrt", 1, a, NULL, NULL);
    default:
        return bl_math_fused(m, a, b, c);
    }
}

/* An f64 NaN. */
static LLVMValueRef quiet(struct bl_math *m, LLVMValueRef x)
{
    return m_from_bits(m, m_orc(m, m_to_bits(m, x), INT64_C(0x0008000000000000)));
}

static bool arithmetic(struct bl_math *m)
{
    LLVMValueRef a = bl_math_operand(m, 0), b = bl_math_operand(m, 1), c = bl_math_operand(m, 2), x;

    if (m->attr->round == BL_KIR_RNA)
        return false;
    x = m->attr->round == BL_KIR_RN ? nearest(m, a, b, c) : bl_math_directed(m, m->instr->op, a, b, c, m->attr->round);
    if (!x)
        return false;
    if (m->instr->op == BL_KIR_OP_fsub && m->type == BL_KIR_F64 && m->attr->round != BL_KIR_RN) /* is a + -b there */
        x = m_select(m, m_fcmp(m, LLVMRealUNO, b, b), quiet(m, b), x);
    m->out[0] = bl_math_finish(m, x);
    return true;
}

/* ---- min, max ----------------------------------------------------------------------------------- */

/* The constant that value holds in every lane. */
static bool constant_number(const struct bl_kir_value *value, double *number)
{
    union {
        uint64_t bits;
        double f64;
        float f32;
    } u;

    if (!value->def || value->def->op != BL_KIR_OP_const)
        return false;
    u.bits = value->def->attr->imm;
    *number = value->type == BL_KIR_F64 ? u.f64 : (double)u.f32;
    return true;
}

/* What a plain "a before b ? a : b" leaves wrong is only: a NaN in b, and zeros of two signs. A constant b often rules both
 * out. */
static bool plain_is_right(const struct bl_kir_value *b, bool max)
{
    double number;
    if (!constant_number(b, &number) || __builtin_isnan(number))
        return false;
    return number != 0 || (__builtin_signbit(number) != 0) != max;
}

/* The smaller or larger number, -0 before +0; a NaN only where both are, then b. */
LLVMValueRef bl_math_min_max(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, bool max)
{
    LLVMValueRef x = m_select(m, m_fcmp(m, max ? LLVMRealOGT : LLVMRealOLT, b, a), b, a), zero;

    zero = max ? m_and(m, m_to_bits(m, a), m_to_bits(m, b)) : m_or(m, m_to_bits(m, a), m_to_bits(m, b));
    x = m_select(m, m_fcmp(m, LLVMRealOEQ, a, b), m_from_bits(m, zero), x);
    return m_select(m, m_fcmp(m, LLVMRealUNO, a, a), b, x);
}

static LLVMValueRef choose(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, unsigned second, bool max)
{
    LLVMValueRef x;

    if (!m->attr->xorsign && plain_is_right(m->instr->operands[second], max))
        x = m_select(m, m_fcmp(m, max ? LLVMRealOGT : LLVMRealOLT, a, b), a, b);
    else
        x = bl_math_min_max(m, a, b, max);
    if (m->attr->nan)
        x = m_select(m, m_fcmp(m, LLVMRealUNO, a, b), m_fadd(m, a, b), x);
    return x;
}

static bool minimum(struct bl_math *m, bool max)
{
    unsigned count = m->instr->operand_count;
    LLVMValueRef x[3] = {0}, sign = NULL;

    for (unsigned i = 0; i < count; i++) {
        x[i] = bl_math_operand(m, i);
        if (!m->attr->xorsign)
            continue;
        sign = sign ? m_xor(m, sign, m_to_bits(m, x[i])) : m_to_bits(m, x[i]);
        x[i] = m_fabs(m, x[i]);
    }
    x[0] = choose(m, x[0], x[1], 1, max);
    if (count == 3)
        x[0] = choose(m, x[0], x[2], 2, max);
    if (sign) {
        sign = m_andc(m, sign, (int64_t)(UINT64_C(1) << (m->bits - 1)));
        x[0] = m_from_bits(m, m_or(m, m_to_bits(m, x[0]), sign));
    }
    m->out[0] = x[0];
    return true;
}

/* ---- sign, class, comparison -------------------------------------------------------------------- */

static void copy_sign(struct bl_math *m)
{
    int64_t sign = (int64_t)(UINT64_C(1) << (m->bits - 1));
    LLVMValueRef bits = m_andc(m, m_to_bits(m, m->in[0]), sign), magnitude = m_andc(m, m_to_bits(m, m->in[1]), ~sign);
    m->out[0] = m_from_bits(m, m_or(m, bits, magnitude));
}

/* Works on the bits, so for the 16-bit types too. infinity: the bits of +infinity; smallest: of the smallest normal number. */
LLVMValueRef bl_math_test(struct bl_math *m, LLVMValueRef bits, int64_t infinity, int64_t smallest)
{
    LLVMValueRef magnitude = m_andc(m, bits, (int64_t)((UINT64_C(1) << (m_bits_of(bits) - 1)) - 1));

    switch (m->attr->testp) {
    case BL_KIR_TESTP_FINITE:
        return m_icmpc(m, LLVMIntULT, magnitude, infinity);
    case BL_KIR_TESTP_INFINITE:
        return m_icmpc(m, LLVMIntEQ, magnitude, infinity);
    case BL_KIR_TESTP_NUMBER:
        return m_icmpc(m, LLVMIntULE, magnitude, infinity);
    case BL_KIR_TESTP_NOTANUMBER:
        return m_icmpc(m, LLVMIntUGT, magnitude, infinity);
    case BL_KIR_TESTP_NORMAL: /* zero is; the unsigned difference is too large for zero and subnormals */
        return m_or(m, m_icmpc(m, LLVMIntEQ, magnitude, 0),
                    m_icmpc(m, LLVMIntULT, m_addc(m, magnitude, -smallest), infinity - smallest));
    default:
        return m_icmpc(m, LLVMIntULT, m_addc(m, magnitude, -1), smallest - 1);
    }
}

LLVMValueRef bl_math_compare(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    static const LLVMRealPredicate predicates[] = {
        [BL_KIR_EQ] = LLVMRealOEQ,  [BL_KIR_NE] = LLVMRealONE,  [BL_KIR_LT] = LLVMRealOLT,  [BL_KIR_LE] = LLVMRealOLE,
        [BL_KIR_GT] = LLVMRealOGT,  [BL_KIR_GE] = LLVMRealOGE,  [BL_KIR_LO] = LLVMRealOLT,  [BL_KIR_LS] = LLVMRealOLE,
        [BL_KIR_HI] = LLVMRealOGT,  [BL_KIR_HS] = LLVMRealOGE,  [BL_KIR_EQU] = LLVMRealUEQ, [BL_KIR_NEU] = LLVMRealUNE,
        [BL_KIR_LTU] = LLVMRealULT, [BL_KIR_LEU] = LLVMRealULE, [BL_KIR_GTU] = LLVMRealUGT, [BL_KIR_GEU] = LLVMRealUGE,
        [BL_KIR_NUM] = LLVMRealORD, [BL_KIR_NAN] = LLVMRealUNO,
    };
    return m->attr->cmp < BL_LEN(predicates) ? m_fcmp(m, predicates[m->attr->cmp], a, b) : NULL;
}

static bool wide_float(struct bl_math *m)
{
    bool f64 = m->type == BL_KIR_F64;

    if (m->attr->approx || m->attr->full)
        return bl_math_approximate(m);
    switch (m->instr->op) {
    case BL_KIR_OP_fadd:
    case BL_KIR_OP_fsub:
    case BL_KIR_OP_fmul:
    case BL_KIR_OP_ffma:
    case BL_KIR_OP_fdiv:
    case BL_KIR_OP_frcp:
    case BL_KIR_OP_fsqrt:
        return arithmetic(m);
    case BL_KIR_OP_fmin:
        return minimum(m, false);
    case BL_KIR_OP_fmax:
        return minimum(m, true);
    case BL_KIR_OP_fneg:
        m->out[0] = m_fneg(m, bl_math_operand(m, 0));
        return true;
    case BL_KIR_OP_fabs:
        m->out[0] = m_fabs(m, bl_math_operand(m, 0));
        if (f64) /* a NaN keeps its sign */
            m->out[0] = m_select(m, m_fcmp(m, LLVMRealUNO, m->in[0], m->in[0]), quiet(m, m->in[0]), m->out[0]);
        return true;
    case BL_KIR_OP_fcopysign:
        copy_sign(m);
        return true;
    case BL_KIR_OP_ftestp:
        m->out[0] = bl_math_test(m, m_to_bits(m, m->in[0]), f64 ? INT64_C(0x7ff0000000000000) : 0x7f800000,
                                 f64 ? INT64_C(0x0010000000000000) : 0x00800000);
        return true;
    case BL_KIR_OP_fcmp:
        m->out[0] = bl_math_compare(m, bl_math_operand(m, 0), bl_math_operand(m, 1));
        return m->out[0] != NULL;
    default:
        return bl_math_approximate(m);
    }
}

bool bl_math_float(struct bl_math *m)
{
    if (m->type == BL_KIR_F32 || m->type == BL_KIR_F64)
        return wide_float(m);
    return bl_kir_type_is_float(m->type) && bl_math_small(m);
}

/* ---- NaN bits ----------------------------------------------------------------------------------- */

/* Whether arithmetic made the value: looked for through choices, a few steps deep. */
static bool is_computed(const struct bl_kir_value *value, unsigned depth)
{
    const struct bl_kir_instr *def = value->def;

    if (!def || !depth)
        return false;
    if (def->op == BL_KIR_OP_phi || def->op == BL_KIR_OP_select) {
        for (uint32_t i = def->op == BL_KIR_OP_select; i < def->operand_count; i++)
            if (is_computed(def->operands[i], depth - 1))
                return true;
        return false;
    }
    /* bf16 keeps a NaN's bits on its way to f32, f64 to any type, as the CPU does (measured on an H200: tests/ptx/conform.py) */
    if (def->op == BL_KIR_OP_ftof)
        return def->operands[0]->type == BL_KIR_F16 || def->operands[0]->type == BL_KIR_F32 ||
               (def->operands[0]->type == BL_KIR_BF16 && value->type != BL_KIR_F32);
    /* from fadd on the table has arithmetic up to ftanh; fcopysign only moves bits */
    return (def->op >= BL_KIR_OP_fadd && def->op <= BL_KIR_OP_ftanh) || def->op == BL_KIR_OP_frint;
}

/* The 16-bit float under mask. */
static LLVMValueRef settle_small(struct bl_math *m, LLVMValueRef bits, int64_t mask, enum bl_kir_type type)
{
    int64_t infinity = type == BL_KIR_F16 || type == BL_KIR_F16X2 ? 0x7c007c00 : 0x7f807f80;
    LLVMValueRef nan = m_icmpc(m, LLVMIntUGT, m_andc(m, bits, mask), infinity & mask);
    return m_select(m, nan, m_orc(m, m_andc(m, bits, ~(mask * 2 + (mask & 1))), mask), bits);
}

/* By its bits: LLVM takes a choice between a NaN and a computed float that is one for no choice at all. */
static LLVMValueRef settle_single(struct bl_math *m, LLVMValueRef of)
{
    LLVMValueRef bits = m_to_bits(m, of), nan = m_icmpc(m, LLVMIntUGT, m_andc(m, bits, 0x7fffffff), 0x7f800000);
    return m_from_bits(m, m_select(m, nan, m_const(m, 32, 0x7fffffff), bits));
}

/* f64 NaNs are quiet; neg leaves their sign. Of what the op made itself. */
static LLVMValueRef settle_double(struct bl_math *m, const struct bl_kir_value *value, LLVMValueRef of)
{
    enum bl_kir_op op = value->def ? value->def->op : BL_KIR_OP_undef;
    LLVMValueRef bits = m_to_bits(m, of), right;

    if (op != BL_KIR_OP_fneg && op != BL_KIR_OP_fmin && op != BL_KIR_OP_fmax)
        return of;
    right = m_orc(m, op == BL_KIR_OP_fneg ? m_xorc(m, bits, INT64_MIN) : bits, INT64_C(0x0008000000000000));
    return m_from_bits(m,
                       m_select(m, m_icmpc(m, LLVMIntUGT, m_andc(m, bits, INT64_MAX), INT64_C(0x7ff0000000000000)), right, bits));
}

LLVMValueRef bl_cg_settle_nan(struct bl_cg *cg, const struct bl_kir_value *value, unsigned width, LLVMValueRef of)
{
    struct bl_math m = {.cg = cg, .width = width};

    if (!bl_kir_type_is_float(value->type) || LLVMIsConstant(of) || !is_computed(value, 4))
        return of;
    switch (value->type) {
    case BL_KIR_F32:
        return settle_single(&m, of);
    case BL_KIR_F16:
    case BL_KIR_BF16:
        return settle_small(&m, of, 0x7fff, value->type);
    case BL_KIR_F16X2:
    case BL_KIR_BF16X2:
        of = settle_small(&m, of, 0x7fff, value->type);
        return settle_small(&m, of, 0x7fff0000, value->type);
    case BL_KIR_F64:
        return settle_double(&m, value, of);
    default:
        return of;
    }
}
