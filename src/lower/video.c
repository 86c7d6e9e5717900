/* The video instructions (PTX ISA, 9.7.19 and 9.7.20): one 32-bit lane in 64-bit arithmetic, or two or four lanes of a word in
 * 32-bit arithmetic. What compilers emit has no selectors and no masks; those are refused. */
#include "lower/internal.h"

enum video { ADD, SUB, AVRG, ABSDIFF, MIN, MAX };

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, struct bl_kir_value *b)
{
    return bl_lower_op(l, op, NULL, a->type, a, b, NULL);
}

/* One lane. a and b are wider than the lane, so that nothing overflows. */
static struct bl_kir_value *lane(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op, struct bl_kir_value *a,
                                 struct bl_kir_value *b)
{
    struct bl_kir_value *one = bl_lower_const(l, a->type, 1), *zero = bl_lower_const(l, a->type, 0), *sum, *up;

    switch (op) {
    case ADD:
        return binary(l, BL_KIR_OP_add, a, b);
    case SUB:
        return binary(l, BL_KIR_OP_sub, a, b);
    case AVRG: /* rounded away from zero where it is not negative */
        sum = binary(l, BL_KIR_OP_add, a, b);
        up = bl_lower_select(l, bl_lower_compare(l, BL_KIR_GE, sum, zero), one, zero);
        sum = binary(l, BL_KIR_OP_add, sum, up);
        return binary(l, BL_KIR_OP_ashr, sum, bl_lower_const(l, BL_KIR_I32, 1));
    case ABSDIFF:
        return bl_lower_op(l, BL_KIR_OP_abs, NULL, a->type, binary(l, BL_KIR_OP_sub, a, b), NULL, NULL);
    case MIN:
        return binary(l, BL_KIR_OP_min_s, a, b);
    default:
        return binary(l, BL_KIR_OP_max_s, a, b);
    }
}

/* Into the range of a lane of `bits` bits. */
static struct bl_kir_value *clamp(struct bl_lower *l, struct bl_kir_value *value, uint32_t bits, bool sign)
{
    uint64_t top = (UINT64_C(1) << (sign ? bits - 1 : bits)) - 1;
    value = binary(l, BL_KIR_OP_min_s, value, bl_lower_const(l, value->type, top));
    return binary(l, BL_KIR_OP_max_s, value, bl_lower_const(l, value->type, sign ? ~top : 0));
}

/* vOP.dtype.atype.btype{.sat}{.add|.min|.max} d, a, b{, c} */
static bool scalar(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op)
{
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_value *a = bl_lower_resize(l, bl_lower_read32(l, &i->operands[1]), BL_KIR_I64, bl_lower_is_signed(i->types[1]));
    struct bl_kir_value *b = bl_lower_resize(l, bl_lower_read32(l, &i->operands[2]), BL_KIR_I64, bl_lower_is_signed(i->types[2]));
    struct bl_kir_value *d = lane(l, i, op, a, b), *c;
    enum bl_kir_op second = BL_KIR_OP_add;

    d = bl_lower_resize(l, HAS(sat) ? clamp(l, d, 32, sign) : d, BL_KIR_I32, false);
    if (i->operand_count > 3) {
        if (HAS(min))
            second = sign ? BL_KIR_OP_min_s : BL_KIR_OP_min_u;
        else if (HAS(max))
            second = sign ? BL_KIR_OP_max_s : BL_KIR_OP_max_u;
        else if (!HAS(add))
            return false;
        c = bl_lower_read32(l, &i->operands[3]);
        d = binary(l, second, d, c);
    }
    bl_lower_write(l, &i->operands[0], d, sign);
    return true;
}

/* vOP2, vOP4.dtype.atype.btype{.sat|.add} d, a, b, c: with .add the sum of the lanes and c. */
static bool simd(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op, uint32_t lanes)
{
    enum bl_kir_type part = lanes == 2 ? BL_KIR_I16 : BL_KIR_I8;
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_instr *a = bl_lower_unpack(l, bl_lower_read32(l, &i->operands[1]), part);
    struct bl_kir_instr *b = bl_lower_unpack(l, bl_lower_read32(l, &i->operands[2]), part);
    struct bl_kir_value *sum = NULL, *d, *x, *y, *parts[4];

    if (HAS(add))
        sum = bl_lower_read32(l, &i->operands[3]);
    for (uint32_t n = 0; n < lanes; n++) {
        x = bl_lower_resize(l, a->results[n], BL_KIR_I32, bl_lower_is_signed(i->types[1]));
        y = bl_lower_resize(l, b->results[n], BL_KIR_I32, bl_lower_is_signed(i->types[2]));
        d = lane(l, i, op, x, y);
        if (HAS(sat))
            d = clamp(l, d, 32 / lanes, sign);
        if (sum)
            sum = binary(l, BL_KIR_OP_add, sum, d);
        else
            parts[n] = bl_lower_resize(l, d, part, false);
    }
    bl_lower_write(l, &i->operands[0], sum ? sum : bl_lower_pack(l, BL_KIR_I32, lanes, parts), false);
    return true;
}

static bool video(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op, uint32_t lanes)
{
    if (i->type_count != 3)
        return false;
    for (uint32_t o = 0; o < i->operand_count; o++)
        if (i->operands[o].component)
            return false;
    return lanes == 1 ? scalar(l, i, op) : simd(l, i, op, lanes);
}

#define SCALAR(name, op)                                                                                                           \
    bool bl_lower_##name(struct bl_lower *l, const struct bl_ptx_instr *i)                                                         \
    {                                                                                                                              \
        return video(l, i, op, 1);                                                                                                 \
    }
#define LANES(name, count, op)                                                                                                     \
    bool bl_lower_##name##count(struct bl_lower *l, const struct bl_ptx_instr *i)                                                  \
    {                                                                                                                              \
        return video(l, i, op, count);                                                                                             \
    }
SCALAR(vadd, ADD)
SCALAR(vsub, SUB)
SCALAR(vabsdiff, ABSDIFF)
SCALAR(vmin, MIN)
SCALAR(vmax, MAX)
LANES(vadd, 2, ADD)
LANES(vsub, 2, SUB)
LANES(vavrg, 2, AVRG)
LANES(vabsdiff, 2, ABSDIFF)
LANES(vmin, 2, MIN)
LANES(vmax, 2, MAX)
LANES(vadd, 4, ADD)
LANES(vsub, 4, SUB)
LANES(vavrg, 4, AVRG)
LANES(vabsdiff, 4, ABSDIFF)
LANES(vmin, 4, MIN)
LANES(vmax, 4, MAX)
