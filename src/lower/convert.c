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
    struct bl_kir_attr attr = {.ftz = HAS(ftz), .sat = HAS(sat), .relu = HAS(relu)};
    bool integral;

    attr.round = (uint8_t)rounding(i, &integral);
    if (HAS(satfinite) && value->type == BL_KIR_F32)
        value = clamp_finite(l, value, type);
    if (value->type != type) {
        if (integral) /* f16.f32 and such: to an integral value first, then exactly or by nearest even */
            value = bl_lower_op(l, BL_KIR_OP_frint, &attr, value->type, value, NULL, NULL);
        attr.round = integral ? BL_KIR_RN : attr.round;
        return bl_lower_op(l, BL_KIR_OP_ftof, &attr, type, value, NULL, NULL);
    }
    if (integral)
        return bl_lower_op(l, BL_KIR_OP_frint, &attr, type, value, NULL, NULL);
    attr.round = BL_KIR_RN;
    return attr.ftz || attr.sat ? apply(l, value, &attr) : value;
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

/* tf32 is a binary32 whose last 13 bits are dropped: rounded to nearest, ties away (rna) or to even (rn), or cut (rz).
 * Infinities stay; a NaN becomes 0x7fffffff. */
static bool float_to_tf32(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *bits = bl_lower_read(l, &i->operands[1], BL_KIR_I32), *magnitude, *rounded, *odd, *infinity;

    if (HAS(relu) || HAS(satfinite))
        return false;
    magnitude = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_I32, bits, bl_lower_const(l, BL_KIR_I32, 0x7fffffff), NULL);
    rounded = bits;
    if (HAS(rna)) {
        rounded = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, bits, bl_lower_const(l, BL_KIR_I32, 0x1000), NULL);
    } else if (!HAS(rz)) {
        odd = bl_lower_op(l, BL_KIR_OP_lshr, NULL, BL_KIR_I32, bits, bl_lower_const(l, BL_KIR_I32, 13), NULL);
        odd = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_I32, odd, bl_lower_const(l, BL_KIR_I32, 1), NULL);
        rounded = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, bits, bl_lower_const(l, BL_KIR_I32, 0xfff), NULL);
        rounded = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, rounded, odd, NULL);
    }
    rounded = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_I32, rounded, bl_lower_const(l, BL_KIR_I32, 0xffffe000), NULL);
    infinity = bl_lower_const(l, BL_KIR_I32, 0x7f800000);
    odd = bl_lower_const(l, BL_KIR_I32, 0x7fffffff);
    bits = bl_lower_select(l, bl_lower_compare(l, BL_KIR_EQ, magnitude, infinity), bits, odd);
    rounded = bl_lower_select(l, bl_lower_compare(l, BL_KIR_LO, magnitude, infinity), rounded, bits);
    bl_lower_write(l, &i->operands[0], rounded, false);
    return true;
}

/* cvt.pack.sat.u16.s32 d, a, b: a above b. Bytes go below the low half of c, where there is one. */
static bool pack_saturated(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool to_signed = bl_lower_is_signed(i->types[0]);
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *parts[4];

    if (i->type_count < 2 || i->types[1] != BL_PTX_S32 || (type != BL_KIR_I16 && type != BL_KIR_I8))
        return false;
    for (uint32_t p = 0; p < 2; p++)
        parts[p] = saturate(l, bl_lower_read32(l, &i->operands[2 - p]), true, type, to_signed);
    if (type == BL_KIR_I16) {
        bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I32, 2, parts), false);
        return true;
    }
    parts[0] = bl_lower_pack(l, BL_KIR_I16, 2, parts);
    parts[1] = i->operand_count > 3 ? bl_lower_resize(l, bl_lower_read32(l, &i->operands[3]), BL_KIR_I16, false)
                                    : bl_lower_const(l, BL_KIR_I16, 0);
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I32, 2, parts), false);
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
