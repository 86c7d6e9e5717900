/* The video instructions (PTX ISA, 9.7.19 and 9.7.20): one 32-bit lane in 64-bit arithmetic, or two or four lanes of a word in
 * 32-bit arithmetic. Where hardware (an H200: tests/ptx/conform-h200.txt) departs from the document, this follows hardware. */
#include "lower/internal.h"

enum video { ADD, SUB, AVRG, ABSDIFF, MIN, MAX, SHL, SHR, SET };

/* Which part of a register a selector names. */
struct part {
    uint8_t bits, at; /* width, lowest bit */
};

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, struct bl_kir_value *b)
{
    return bl_lower_op(l, op, NULL, a->type, a, b, NULL);
}

static struct bl_kir_value *number(struct bl_lower *l, struct bl_kir_value *like, uint64_t bits)
{
    return bl_lower_const(l, like->type, bits);
}

static enum bl_kir_cmp relation(const struct bl_ptx_instr *i)
{
    return HAS(eq) ? BL_KIR_EQ : HAS(ne) ? BL_KIR_NE : HAS(lt) ? BL_KIR_LT : HAS(le) ? BL_KIR_LE : HAS(gt) ? BL_KIR_GT : BL_KIR_GE;
}

/* a shifted; b, in 32 bits, counts to 32, or modulo 32. */
static struct bl_kir_value *shift(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op, struct bl_kir_value *a,
                                  struct bl_kir_value *b)
{
    b = bl_lower_resize(l, b, BL_KIR_I32, false);
    b = HAS(wrap) ? binary(l, BL_KIR_OP_and, b, number(l, b, 31)) : binary(l, BL_KIR_OP_min_u, b, number(l, b, 32));
    return binary(l, op == SHL ? BL_KIR_OP_shl : BL_KIR_OP_ashr, a, b);
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
    case MAX:
        return binary(l, BL_KIR_OP_max_s, a, b);
    case SET:
        return bl_lower_select(l, bl_lower_compare(l, relation(i), a, b), one, zero);
    default:
        return shift(l, i, op, a, b);
    }
}

/* Into the range of a lane of `bits` bits. */
static struct bl_kir_value *clamp(struct bl_lower *l, struct bl_kir_value *value, uint32_t bits, bool sign)
{
    uint64_t top = (UINT64_C(1) << (sign ? bits - 1 : bits)) - 1;
    value = binary(l, BL_KIR_OP_min_s, value, number(l, value, top));
    return binary(l, BL_KIR_OP_max_s, value, number(l, value, sign ? ~top : 0));
}

/* ---- one lane ------------------------------------------------------------------------------------------ */

static struct part part_of(const struct bl_ptx_operand *operand)
{
    if (operand->component >= 5 && operand->component <= 8)
        return (struct part){8, (uint8_t)(8 * (operand->component - 5))};
    if (operand->component >= 9 && operand->component <= 10)
        return (struct part){16, (uint8_t)(16 * (operand->component - 9))};
    return (struct part){32, 0};
}

/* The operand without its sign and selector. */
static struct bl_ptx_operand plain(const struct bl_ptx_operand *operand)
{
    struct bl_ptx_operand copy = *operand;
    copy.negated = false;
    copy.component = copy.component >= 5 ? 0 : copy.component;
    return copy;
}

static struct bl_kir_value *read_word(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    struct bl_ptx_operand word = plain(operand);
    return bl_lower_read32(l, &word);
}

/* The part of an operand that its selector names, extended to 64 bits. */
static struct bl_kir_value *read_part(struct bl_lower *l, const struct bl_ptx_operand *operand, bool sign)
{
    struct part part = part_of(operand);
    struct bl_kir_value *word = read_word(l, operand);

    if (part.at)
        word = binary(l, BL_KIR_OP_lshr, word, number(l, word, part.at));
    if (part.bits < 32)
        word = bl_lower_resize(l, word, bl_kir_type_int(part.bits), false);
    return bl_lower_resize(l, word, BL_KIR_I64, sign);
}

/* .sat of one lane, 64 bits. Hardware has no upper bound for 32 bits without sign; in a byte or half word of the destination what
 * is negative becomes the largest number; shr then has no bounds but zero without sign. vshl follows the document. */
static struct bl_kir_value *saturate(struct bl_lower *l, enum video op, struct bl_kir_value *value, uint32_t bits, bool sign)
{
    bool narrow = bits < 32;

    if (op == SHL || (sign && !narrow))
        return clamp(l, value, bits, sign);
    if (op == SHR && sign)
        return value;
    if (op == SHR || !narrow)
        return binary(l, BL_KIR_OP_max_s, value, number(l, value, 0));
    return binary(l, BL_KIR_OP_min_u, value, number(l, value, (UINT64_C(1) << (sign ? bits - 1 : bits)) - 1));
}

/* d with the part of c that a selector names replaced by value; of h1 hardware takes value's upper half. */
static struct bl_kir_value *merge(struct bl_lower *l, const struct bl_ptx_operand *d, struct bl_kir_value *value,
                                  struct bl_kir_value *c)
{
    struct part part = part_of(d);
    struct bl_kir_value *operands[4] = {value, c, bl_lower_const(l, BL_KIR_I32, part.at), bl_lower_const(l, BL_KIR_I32, part.bits)};
    enum bl_kir_type type = BL_KIR_I32;

    if (part.bits == 16 && part.at)
        operands[0] = binary(l, BL_KIR_OP_lshr, value, number(l, value, 16));
    return bl_kir_emit(&l->b, BL_KIR_OP_bfi, NULL, 1, &type, 4, operands)->results[0];
}

/* Whether hardware compares the whole result with c, not its low 32 bits. */
static bool compares_whole(const struct bl_ptx_instr *i, enum video op, bool a_signed, bool b_signed)
{
    switch (op) {
    case ADD:
    case SUB:
        return false;
    case MIN:
        return !a_signed && !b_signed;
    case MAX:
        return !a_signed || !b_signed;
    case SHR:
        return !HAS(sat);
    default:
        return true;
    }
}

/* The second operation, min or max, of value (64 bits) and c. Where hardware compares 32 bits without sign, a value past 2^31 - 1
 * is greater than any c. */
static struct bl_kir_value *second(struct bl_lower *l, const struct bl_ptx_instr *i, bool whole, bool sign,
                                   struct bl_kir_value *value, struct bl_kir_value *c)
{
    struct bl_kir_value *low = bl_lower_resize(l, value, BL_KIR_I32, false), *x = value, *less;
    struct bl_kir_value *y = bl_lower_resize(l, c, BL_KIR_I64, sign);

    if (!whole)
        x = bl_lower_resize(l, low, BL_KIR_I64, true);
    less = bl_lower_compare(l, sign ? BL_KIR_LT : BL_KIR_LO, x, y);
    return HAS(min) ? bl_lower_select(l, less, low, c) : bl_lower_select(l, less, c, low);
}

/* vOP.dtype.atype.btype{.sat}{.add|.min|.max} d, a, b{, c}, with selectors; vset has no dtype: the first source's stands for it. */
static bool scalar(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op)
{
    struct bl_ptx_operand d = plain(&i->operands[0]);
    uint32_t sources = op == SET ? 0 : 1, bits = part_of(&i->operands[0]).bits;
    bool sign = bl_lower_is_signed(i->types[0]), a_signed = bl_lower_is_signed(i->types[sources]);
    bool b_signed = bl_lower_is_signed(i->types[sources + 1]);
    struct bl_kir_value *a = read_part(l, &i->operands[1], a_signed), *b = read_part(l, &i->operands[2], b_signed);
    struct bl_kir_value *value = lane(l, i, op, a, b), *low, *c;

    if (HAS(sat))
        value = saturate(l, op, value, bits, sign);
    low = bl_lower_resize(l, value, BL_KIR_I32, false);
    if (i->operand_count > 3) {
        c = bl_lower_read32(l, &i->operands[3]);
        if (HAS(min) || HAS(max))
            low = second(l, i, compares_whole(i, op, a_signed, b_signed), sign, value, c);
        else
            low = HAS(add) ? binary(l, BL_KIR_OP_add, low, c) : merge(l, &i->operands[0], low, c);
    } else if (bits < 32) {
        return false;
    }
    bl_lower_write(l, &d, low, false);
    return true;
}

/* vmad.dtype.atype.btype{.sat}{.shr7|.shr15} d, {-}a, {-}b, {-}c, and .po: one more. Hardware multiplies signed words, whatever the
 * types; c is signed; with .sat and no sign anywhere the shift is a logical one. */
bool bl_lower_vmad(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool a_signed = bl_lower_is_signed(i->types[1]), b_signed = bl_lower_is_signed(i->types[2]);
    bool opposite = i->operands[1].negated != i->operands[2].negated, minus = i->operands[3].negated;
    bool sign = a_signed || b_signed || opposite || minus;
    struct bl_kir_value *factors[2], *value, *c;

    for (int f = 0; f < 2; f++) {
        value = read_part(l, &i->operands[1 + f], f ? b_signed : a_signed);
        factors[f] = bl_lower_resize(l, bl_lower_resize(l, value, BL_KIR_I32, false), BL_KIR_I64, true);
    }
    value = binary(l, BL_KIR_OP_mul, factors[0], factors[1]);
    c = read_part(l, &i->operands[3], true);
    if (opposite)
        value = bl_lower_op(l, BL_KIR_OP_neg, NULL, BL_KIR_I64, value, NULL, NULL);
    value = binary(l, minus ? BL_KIR_OP_sub : BL_KIR_OP_add, value, c);
    if (HAS(po))
        value = binary(l, BL_KIR_OP_add, value, number(l, value, 1));
    if (HAS(shr7) || HAS(shr15))
        value = binary(l, HAS(sat) && !sign ? BL_KIR_OP_lshr : BL_KIR_OP_ashr, value,
                       bl_lower_const(l, BL_KIR_I32, HAS(shr7) ? 7 : 15));
    if (HAS(sat))
        value = clamp(l, value, 32, sign);
    bl_lower_write(l, &i->operands[0], bl_lower_resize(l, value, BL_KIR_I32, false), false);
    return true;
}

/* ---- two or four lanes ------------------------------------------------------------------------------------ */

/* The digits of a selector or mask, the last one written first; the number of them, 0 where there is none. */
static uint32_t digits(const struct bl_ptx_operand *operand, uint8_t digit[4])
{
    uint32_t count = 0;

    if (operand->component >= 5 && operand->component <= 10) {
        digit[0] = operand->component >= 9 ? operand->component - 9 : operand->component - 5;
        return 1;
    }
    if (operand->component != 11)
        return 0;
    for (uint64_t bits = operand->bits >> 8; bits & 0xff && count < 4; bits >>= 8)
        count++;
    for (uint32_t n = 0; n < count; n++)
        digit[n] = (uint8_t)((operand->bits >> 8 * (count - n) & 0xff) - '0');
    return count;
}

/* The lanes of {b, a} that operand n's selector names, in 32 bits; by default those of a, or of b, in order. */
static bool read_lanes(struct bl_lower *l, const struct bl_ptx_instr *i, uint32_t n, uint32_t lanes, bool sign,
                       struct bl_kir_instr *const words[2], struct bl_kir_value *out[4])
{
    uint8_t digit[4];
    uint32_t count = digits(&i->operands[n], digit);

    if (count && count != lanes)
        return false;
    for (uint32_t k = 0; k < lanes; k++) {
        uint32_t lane = count ? digit[k] : k + (n - 1) * lanes;
        if (lane >= 2 * lanes)
            return false;
        out[k] = bl_lower_resize(l, words[lane / lanes]->results[lane % lanes], BL_KIR_I32, sign);
    }
    return true;
}

/* vOP2, vOP4.dtype.atype.btype{.sat|.add} d, a, b, c: lanes in d's mask get the result, the others those of c; with .add d is
 * c and the sum of the results in the mask. */
static bool simd(struct bl_lower *l, const struct bl_ptx_instr *i, enum video op, uint32_t lanes)
{
    enum bl_kir_type part = lanes == 2 ? BL_KIR_I16 : BL_KIR_I8;
    uint32_t sources = op == SET ? 0 : 1, mask = 0;
    bool sign = op != SET && bl_lower_is_signed(i->types[0]);
    struct bl_ptx_operand destination = plain(&i->operands[0]);
    struct bl_kir_value *c = read_word(l, &i->operands[3]), *a[4], *b[4], *value, *parts[4];
    struct bl_kir_instr *words[2], *old = bl_lower_unpack(l, c, part);
    uint8_t digit[4];

    for (uint32_t n = 0; n < 2; n++)
        words[n] = bl_lower_unpack(l, read_word(l, &i->operands[1 + n]), part);
    if (!read_lanes(l, i, 1, lanes, bl_lower_is_signed(i->types[sources]), words, a) ||
        !read_lanes(l, i, 2, lanes, bl_lower_is_signed(i->types[sources + 1]), words, b))
        return false;
    for (uint32_t n = digits(&i->operands[0], digit); n-- > 0;)
        mask |= 1u << (digit[n] & 3);
    mask = mask ? mask : 0xf;
    for (uint32_t n = 0; n < lanes; n++) {
        parts[n] = old->results[n];
        if (!(mask >> n & 1))
            continue;
        value = lane(l, i, op, a[n], b[n]);
        if (HAS(sat))
            value = clamp(l, value, 32 / lanes, sign);
        if (HAS(add))
            c = binary(l, BL_KIR_OP_add, c, value);
        else
            parts[n] = bl_lower_resize(l, value, part, false);
    }
    bl_lower_write(l, &destination, HAS(add) ? c : bl_lower_pack(l, BL_KIR_I32, lanes, parts), false);
    return true;
}

#define SCALAR(name, op)                                                                                                           \
    bool bl_lower_##name(struct bl_lower *l, const struct bl_ptx_instr *i)                                                         \
    {                                                                                                                              \
        return scalar(l, i, op);                                                                                                   \
    }
#define LANES(name, count, op)                                                                                                     \
    bool bl_lower_##name##count(struct bl_lower *l, const struct bl_ptx_instr *i)                                                  \
    {                                                                                                                              \
        return simd(l, i, op, count);                                                                                              \
    }
SCALAR(vadd, ADD)
SCALAR(vsub, SUB)
SCALAR(vabsdiff, ABSDIFF)
SCALAR(vmin, MIN)
SCALAR(vmax, MAX)
SCALAR(vshl, SHL)
SCALAR(vshr, SHR)
SCALAR(vset, SET)
LANES(vadd, 2, ADD)
LANES(vsub, 2, SUB)
LANES(vavrg, 2, AVRG)
LANES(vabsdiff, 2, ABSDIFF)
LANES(vmin, 2, MIN)
LANES(vmax, 2, MAX)
LANES(vset, 2, SET)
LANES(vadd, 4, ADD)
LANES(vsub, 4, SUB)
LANES(vavrg, 4, AVRG)
LANES(vabsdiff, 4, ABSDIFF)
LANES(vmin, 4, MIN)
LANES(vmax, 4, MAX)
LANES(vset, 4, SET)
