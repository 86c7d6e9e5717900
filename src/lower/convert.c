/* cvt in all its pairs, and cvt.pack (PTX ISA, 9.7.9: data movement and conversion). */
#include "lower/internal.h"

/* Rounding: of the integer kind (rni …, sets *integral) or of the float kind. */
static enum bl_kir_round rounding(const struct bl_ptx_instr *i, bool *integral)
{
    *integral = HAS(rni) || HAS(rzi) || HAS(rmi) || HAS(rpi);
    if (HAS(rzi) || HAS(rz))
        return BL_KIR_RZ;
    if (HAS(rmi) || HAS(rm))
        return BL_KIR_RM;
    if (HAS(rpi) || HAS(rp))
        return BL_KIR_RP;
    return HAS(rna) ? BL_KIR_RNA : BL_KIR_RN;
}

/* An integer in the range of another integer type. kir's isat narrows; the other cases are one comparison. */
static struct bl_kir_value *saturate(struct bl_lower *l, struct bl_kir_value *value, bool from_signed, enum bl_kir_type type,
                                     bool to_signed)
{
    struct bl_kir_attr attr = {.a_signed = to_signed};
    uint32_t from = bl_kir_type_bits(value->type), to = bl_kir_type_bits(type);

    if (to < from)
        return bl_lower_op(l, from_signed ? BL_KIR_OP_isat_s : BL_KIR_OP_isat_u, &attr, type, value, NULL, NULL);
    if (from_signed && !to_signed)
        value = bl_lower_op(l, BL_KIR_OP_max_s, NULL, value->type, value, bl_lower_const(l, value->type, 0), NULL);
    if (!from_signed && to_signed && to == from)
        value = bl_lower_op(l, BL_KIR_OP_min_u, NULL, value->type, value,
                            bl_lower_const(l, value->type, (UINT64_C(1) << (to - 1)) - 1), NULL);
    return bl_lower_resize(l, value, type, from_signed && to_signed);
}

static bool integer_to_integer(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool from_signed = bl_lower_is_signed(i->types[1]), to_signed = bl_lower_is_signed(i->types[0]);
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *value = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[1]));

    value = HAS(sat) ? saturate(l, value, from_signed, type, to_signed) : bl_lower_resize(l, value, type, from_signed);
    bl_lower_write(l, &i->operands[0], value, to_signed);
    return true;
}

/* x + (-0) keeps every number, and applies ftz and sat. */
static struct bl_kir_value *apply(struct bl_lower *l, struct bl_kir_value *value, const struct bl_kir_attr *attr)
{
    uint64_t sign = UINT64_C(1) << (bl_kir_type_bits(value->type) - 1);
    return bl_lower_op(l, BL_KIR_OP_fadd, attr, value->type, value, bl_lower_const(l, value->type, sign), NULL);
}

static bool integer_to_float(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = bl_lower_is_signed(i->types[1]), integral;
    struct bl_kir_attr attr = {.round = (uint8_t)rounding(i, &integral)}, sat = {.sat = true};
    struct bl_kir_value *value = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[1]));

    if (bl_kir_type_bits(value->type) < 32)
        value = bl_lower_resize(l, value, BL_KIR_I32, sign);
    value = bl_lower_op(l, sign ? BL_KIR_OP_itof_s : BL_KIR_OP_itof_u, &attr, bl_lower_type(i->types[0]), value, NULL, NULL);
    bl_lower_write(l, &i->operands[0], HAS(sat) ? apply(l, value, &sat) : value, false);
    return true;
}

static bool float_to_integer(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = bl_lower_is_signed(i->types[0]), integral;
    struct bl_kir_attr attr = {.round = (uint8_t)rounding(i, &integral)}, flush = {.ftz = true};
    struct bl_kir_value *value = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[1]));

    /* ftz matters only where a subnormal would round away from zero */
    if (HAS(ftz) && (attr.round == BL_KIR_RM || attr.round == BL_KIR_RP))
        value = apply(l, value, &flush);
    value = bl_lower_op(l, sign ? BL_KIR_OP_ftoi_s : BL_KIR_OP_ftoi_u, &attr, bl_lower_type(i->types[0]), value, NULL, NULL);
    bl_lower_write(l, &i->operands[0], value, sign);
    return true;
}

/* .satfinite for the 16-bit types: what is past the largest number becomes it; NaN stays. value is f32. */
static struct bl_kir_value *clamp_finite(struct bl_lower *l, struct bl_kir_value *value, enum bl_kir_type type)
{
    struct bl_kir_attr attr = {.nan = true};
    uint32_t largest = type == BL_KIR_F16 ? 0x477fe000 : 0x7f7f0000;
    value = bl_lower_op(l, BL_KIR_OP_fmin, &attr, value->type, value, bl_lower_const(l, value->type, largest), NULL);
    return bl_lower_op(l, BL_KIR_OP_fmax, &attr, value->type, value, bl_lower_const(l, value->type, largest | 0x80000000), NULL);
}

static struct bl_kir_value *to_float(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_value *value,
                                     enum bl_kir_type type)
{
    struct bl_kir_attr attr = {.sat = HAS(sat), .relu = HAS(relu)}, flush = {.ftz = true};
    bool integral;

    attr.ftz = HAS(ftz) && type != BL_KIR_F16; /* hardware does not flush on the way to f16 */
    attr.round = (uint8_t)rounding(i, &integral);
    if (HAS(ftz) && value->type == BL_KIR_F32 && type == BL_KIR_F64)
        value = apply(l, value, &flush);
    if (HAS(satfinite) && value->type == BL_KIR_F32)
        value = clamp_finite(l, value, type);
    if (value->type != type) {
        if (integral) /* f16.f32 and such: to an integral value first, then exactly or by nearest even */
            value = bl_lower_op(l, BL_KIR_OP_frint, &attr, value->type, value, NULL, NULL);
        attr.round = integral ? BL_KIR_RN : attr.round;
        value = bl_lower_op(l, BL_KIR_OP_ftof, &attr, type, value, NULL, NULL);
        return HAS(ftz) && i->types[1] == BL_PTX_BF16 ? apply(l, value, &flush) : value;
    }
    if (integral)
        return bl_lower_op(l, BL_KIR_OP_frint, &attr, type, value, NULL, NULL);
    attr.round = BL_KIR_RN;
    /* in the 16-bit types arithmetic on the way makes a NaN the usual one */
    return attr.ftz || attr.sat || bl_kir_type_bits(type) == 16 ? apply(l, value, &attr) : value;
}

/* cvt.rn.f16x2.f32 d, a, b: a becomes the high half. */
static bool floats_to_packed(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), half = type == BL_KIR_F16X2 ? BL_KIR_F16 : BL_KIR_BF16;
    struct bl_kir_value *halves[2];

    if (i->operand_count != 3 || i->types[1] != BL_PTX_F32 || HAS(rs))
        return false;
    for (uint32_t h = 0; h < 2; h++)
        halves[h] = to_float(l, i, bl_lower_read(l, &i->operands[2 - h], BL_KIR_F32), half);
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, type, 2, halves), false);
    return true;
}

static struct bl_kir_value *with(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *x, uint32_t number)
{
    return bl_lower_op(l, op, NULL, BL_KIR_I32, x, bl_lower_const(l, BL_KIR_I32, number), NULL);
}

/* tf32 is a binary32 whose last 13 bits are dropped: rounded to nearest, ties away (rna) or to even (rn), or cut (rz). rna cuts a
 * NaN too, the others make it 0x7fffe000; .satfinite takes one step back from infinities, rna's also from NaNs (measured on an
 * H200). */
static bool float_to_tf32(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *bits = bl_lower_read(l, &i->operands[1], BL_KIR_I32), *magnitude, *rounded = bits, *odd, *nan, *below;

    magnitude = with(l, BL_KIR_OP_and, bits, 0x7fffffff);
    if (HAS(rna)) {
        rounded = with(l, BL_KIR_OP_add, bits, 0x1000);
    } else if (!HAS(rz)) {
        odd = with(l, BL_KIR_OP_and, with(l, BL_KIR_OP_lshr, bits, 13), 1);
        rounded = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, with(l, BL_KIR_OP_add, bits, 0xfff), odd, NULL);
    }
    nan = bl_lower_compare(l, BL_KIR_HI, magnitude, bl_lower_const(l, BL_KIR_I32, 0x7f800000));
    if (HAS(relu)) {
        below = bl_lower_compare(l, BL_KIR_LT, bits, bl_lower_const(l, BL_KIR_I32, 0));
        rounded = bl_lower_select(l, below, bl_lower_const(l, BL_KIR_I32, 0), rounded);
    }
    rounded = bl_lower_select(l, nan, HAS(rna) ? bits : bl_lower_const(l, BL_KIR_I32, 0x7fffffff), rounded);
    rounded = with(l, BL_KIR_OP_and, rounded, 0xffffe000);
    if (HAS(satfinite)) {
        below = bl_lower_compare(l, HAS(rna) ? BL_KIR_HS : BL_KIR_EQ, with(l, BL_KIR_OP_and, rounded, 0x7fffffff),
                                 bl_lower_const(l, BL_KIR_I32, 0x7f800000));
        rounded = bl_lower_select(l, below, with(l, BL_KIR_OP_sub, rounded, 0x2000), rounded);
    }
    bl_lower_write(l, &i->operands[0], rounded, false);
    return true;
}

/* cvt.pack.sat.u16.s32 d, a, b: a above b. Smaller ones go below the low bits of c, where there is one. */
static bool pack_saturated(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = i->types[0] == BL_PTX_S16 || i->types[0] == BL_PTX_S8 || i->types[0] == BL_PTX_S4;
    uint32_t bits = i->types[0] == BL_PTX_U4 || i->types[0] == BL_PTX_S4 ? 4 : bl_kir_type_bits(bl_lower_type(i->types[0]));
    uint32_t top = (1u << (sign ? bits - 1 : bits)) - 1, mask = (1u << bits) - 1;
    struct bl_kir_value *parts[2], *pair;

    if (i->type_count < 2 || i->types[1] != BL_PTX_S32)
        return false;
    for (uint32_t p = 0; p < 2; p++) {
        parts[p] = with(l, BL_KIR_OP_min_s, bl_lower_read32(l, &i->operands[2 - p]), top);
        parts[p] = with(l, BL_KIR_OP_and, with(l, BL_KIR_OP_max_s, parts[p], sign ? ~top : 0), mask);
    }
    pair = bl_lower_op(l, BL_KIR_OP_or, NULL, BL_KIR_I32, with(l, BL_KIR_OP_shl, parts[1], bits), parts[0], NULL);
    if (i->operand_count > 3)
        pair = bl_lower_op(l, BL_KIR_OP_or, NULL, BL_KIR_I32, pair,
                           with(l, BL_KIR_OP_shl, bl_lower_read32(l, &i->operands[3]), 2 * bits), NULL);
    bl_lower_write(l, &i->operands[0], pair, false);
    return true;
}

static bool is_plain_float(enum bl_ptx_type type)
{
    return type == BL_PTX_F16 || type == BL_PTX_BF16 || type == BL_PTX_F32 || type == BL_PTX_F64;
}

static bool is_plain_integer(enum bl_ptx_type type)
{
    return (type >= BL_PTX_B8 && type <= BL_PTX_B64) || (type >= BL_PTX_U8 && type <= BL_PTX_S64);
}

bool bl_lower_cvt(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_ptx_type to = i->types[0], from = i->types[1];

    if (i->type_count < 2)
        return false;
    if (HAS(pack))
        return pack_saturated(l, i);
    if (bl_lower_is_small(to) || bl_lower_is_small(from))
        return bl_lower_cvt_small(l, i);
    if (to == BL_PTX_F16X2 || to == BL_PTX_BF16X2)
        return floats_to_packed(l, i);
    if (to == BL_PTX_TF32)
        return float_to_tf32(l, i);
    if (i->operand_count != 2 || i->type_count != 2)
        return false;
    if (is_plain_integer(to) && is_plain_integer(from))
        return integer_to_integer(l, i);
    if (is_plain_float(to) && is_plain_integer(from))
        return integer_to_float(l, i);
    if (is_plain_integer(to) && is_plain_float(from))
        return float_to_integer(l, i);
    if (!is_plain_float(to) || !is_plain_float(from))
        return false;
    bl_lower_write(l, &i->operands[0], to_float(l, i, bl_lower_read(l, &i->operands[1], bl_lower_type(from)), bl_lower_type(to)),
                   false);
    return true;
}
