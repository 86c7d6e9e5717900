/* Floating point: f16, bf16, both packed, f32, f64. Mixed forms (add.f32.f16) widen their narrow operands first. */
#include "lower/internal.h"

struct bl_kir_attr bl_lower_float_attr(const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.ftz = HAS(ftz), .sat = HAS(sat), .relu = HAS(relu), .nan = HAS(NaN), .xorsign = HAS(xorsign)};

    attr.approx = HAS(approx);
    attr.full = HAS(full);
    attr.round = HAS(rz) ? BL_KIR_RZ : HAS(rm) ? BL_KIR_RM : HAS(rp) ? BL_KIR_RP : HAS(rna) ? BL_KIR_RNA : BL_KIR_RN;
    return attr;
}

/* What an operand of the instruction is read as: its type; in a mixed form (types f32, f16) the operands before the last
 * have the second type and are widened, which is exact. */
static struct bl_kir_value *operand(struct bl_lower *l, const struct bl_ptx_instr *i, uint32_t n)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), narrow;
    bool last = n + 1 == i->operand_count;

    if (i->type_count < 2 || last || i->types[1] == i->types[0])
        return bl_lower_read(l, &i->operands[n], type);
    narrow = bl_lower_type(i->types[1]);
    return bl_lower_op(l, BL_KIR_OP_ftof, NULL, type, bl_lower_read(l, &i->operands[n], narrow), NULL, NULL);
}

/* add.f32x2 and its kin: two f32 in 64 bits. */
static bool pairs(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op, uint32_t count)
{
    struct bl_kir_attr attr = bl_lower_float_attr(i);
    struct bl_kir_instr *parts[3] = {0};
    struct bl_kir_value *halves[2];

    for (uint32_t o = 0; o < count; o++)
        parts[o] = bl_lower_unpack(l, bl_lower_read(l, &i->operands[1 + o], BL_KIR_I64), BL_KIR_F32);
    for (int h = 0; h < 2; h++)
        halves[h] = bl_lower_op(l, op, &attr, BL_KIR_F32, parts[0]->results[h], count > 1 ? parts[1]->results[h] : NULL,
                                count > 2 ? parts[2]->results[h] : NULL);
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I64, 2, halves), false);
    return true;
}

/* fma.oob: zero where a factor is 0x7ff7 or 0xfff7, what a bulk copy puts outside of a tensor (found on an H200). */
static struct bl_kir_value *fma_in_bounds(struct bl_lower *l, const struct bl_kir_attr *attr, enum bl_kir_type type,
                                          struct bl_kir_value *const x[3])
{
    struct bl_kir_value *value = bl_lower_op(l, BL_KIR_OP_ffma, attr, type, x[0], x[1], x[2]), *bits, *outside;

    for (int f = 0; f < 2; f++) {
        bits = bl_lower_resize(l, x[f], BL_KIR_I16, false);
        bits = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_I16, bits, bl_lower_const(l, BL_KIR_I16, 0x7fff), NULL);
        outside = bl_lower_compare(l, BL_KIR_EQ, bits, bl_lower_const(l, BL_KIR_I16, 0x7ff7));
        value = bl_lower_select(l, outside, bl_lower_const(l, type, 0), value);
    }
    return value;
}

static bool fma_oob(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = bl_lower_float_attr(i);
    enum bl_kir_type type = bl_lower_type(i->types[0]), part = type;
    struct bl_kir_value *x[3], *parts[3], *halves[2];
    struct bl_kir_instr *pairs[3];

    for (uint32_t o = 0; o < 3; o++)
        x[o] = bl_lower_read(l, &i->operands[1 + o], type);
    if (bl_kir_type_bits(type) == 16) {
        bl_lower_write(l, &i->operands[0], fma_in_bounds(l, &attr, type, x), false);
        return true;
    }
    part = type == BL_KIR_F16X2 ? BL_KIR_F16 : BL_KIR_BF16;
    for (uint32_t o = 0; o < 3; o++)
        pairs[o] = bl_lower_unpack(l, x[o], part);
    for (int h = 0; h < 2; h++) {
        for (uint32_t o = 0; o < 3; o++)
            parts[o] = pairs[o]->results[h];
        halves[h] = fma_in_bounds(l, &attr, part, parts);
    }
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, type, 2, halves), false);
    return true;
}

static bool arithmetic(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op)
{
    struct bl_kir_attr attr = bl_lower_float_attr(i);
    struct bl_kir_value *operands[3] = {0};
    uint32_t count = i->operand_count - 1;

    if (count < 1 || count > 3)
        return false;
    if (HAS(oob))
        return fma_oob(l, i);
    if (i->types[0] == BL_PTX_F32X2)
        return pairs(l, i, op, count);
    for (uint32_t o = 0; o < count; o++) {
        operands[o] = operand(l, i, 1 + o);
        if (HAS(abs) && !HAS(xorsign)) /* min and max of three */
            operands[o] = bl_lower_op(l, BL_KIR_OP_fabs, NULL, operands[o]->type, operands[o], NULL, NULL);
    }
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, op, &attr, bl_lower_type(i->types[0]), operands[0], operands[1], operands[2]),
                   false);
    return true;
}

bool bl_lower_fadd(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fadd);
}

bool bl_lower_fsub(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fsub);
}

bool bl_lower_fmul(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fmul);
}

/* fma; mad.f32 and mad.f64 are the same since sm_20. */
bool bl_lower_ffma(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_ffma);
}

bool bl_lower_fdiv(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fdiv);
}

bool bl_lower_fmin(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fmin);
}

bool bl_lower_fmax(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fmax);
}

bool bl_lower_fneg(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fneg);
}

bool bl_lower_fabs(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fabs);
}

bool bl_lower_sqrt(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fsqrt);
}

bool bl_lower_rcp(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_frcp);
}

bool bl_lower_rsqrt(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_frsqrt);
}

bool bl_lower_sin(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fsin);
}

bool bl_lower_cos(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fcos);
}

bool bl_lower_lg2(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_flg2);
}

bool bl_lower_ex2(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fex2);
}

bool bl_lower_tanh(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_ftanh);
}

bool bl_lower_copysign(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return arithmetic(l, i, BL_KIR_OP_fcopysign);
}

bool bl_lower_testp(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {0};
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[0]));

    attr.testp = HAS(finite)       ? BL_KIR_TESTP_FINITE
                 : HAS(infinite)   ? BL_KIR_TESTP_INFINITE
                 : HAS(number)     ? BL_KIR_TESTP_NUMBER
                 : HAS(notanumber) ? BL_KIR_TESTP_NOTANUMBER
                 : HAS(normal)     ? BL_KIR_TESTP_NORMAL
                                   : BL_KIR_TESTP_SUBNORMAL;
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_ftestp, &attr, BL_KIR_PRED, a, NULL, NULL), false);
    return true;
}
