/* cvt to and from floats of eight bits and fewer, always in pairs (PTX ISA, 9.7.9.21; formats: OCP microscaling document). They
 * become integer arithmetic on f32 and f16: no target has these types. */
#include "lower/internal.h"

struct format {
    enum bl_ptx_type type;
    uint8_t exponent, mantissa, bias; /* bits, bits, excess */
    uint8_t largest, nan;             /* codes without sign; formats that have no NaN give the largest number for it */
};

static const struct format formats[] = {
    {BL_PTX_E4M3X2, 4, 3, 7, 0x7e, 0x7f}, {BL_PTX_E5M2X2, 5, 2, 15, 0x7b, 0x7f}, {BL_PTX_E2M1X2, 2, 1, 1, 0x07, 0x07},
    {BL_PTX_E2M3X2, 2, 3, 1, 0x1f, 0x1f}, {BL_PTX_E3M2X2, 3, 2, 3, 0x1f, 0x1f},
};

static const struct format *find(enum bl_ptx_type type)
{
    for (size_t f = 0; f < BL_LEN(formats); f++)
        if (formats[f].type == type)
            return &formats[f];
    return NULL;
}

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, uint64_t b)
{
    bool shift = op == BL_KIR_OP_shl || op == BL_KIR_OP_lshr;
    return bl_lower_op(l, op, NULL, a->type, a, bl_lower_const(l, shift ? BL_KIR_I32 : a->type, b), NULL);
}

static struct bl_kir_value *both(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, struct bl_kir_value *b)
{
    return bl_lower_op(l, op, NULL, a->type, a, b, NULL);
}

/* f32 to a code in 32 bits: nearest even, what is too large becomes the largest. */
static struct bl_kir_value *encode(struct bl_lower *l, const struct format *to, struct bl_kir_value *value, bool relu)
{
    uint32_t drop = 23u - to->mantissa, smallest = (128u - to->bias) << 23; /* the smallest normal number, in f32 bits */
    struct bl_kir_attr nearest = {.round = BL_KIR_RN};
    struct bl_kir_value *bits = bl_lower_resize(l, value, BL_KIR_I32, false), *magnitude, *normal, *subnormal, *sign, *code, *odd,
                        *zero;

    magnitude = binary(l, BL_KIR_OP_and, bits, 0x7fffffff);
    sign = binary(l, BL_KIR_OP_shl, binary(l, BL_KIR_OP_lshr, bits, 31), to->exponent + to->mantissa);
    odd = binary(l, BL_KIR_OP_and, binary(l, BL_KIR_OP_lshr, magnitude, drop), 1);
    normal = both(l, BL_KIR_OP_add, binary(l, BL_KIR_OP_add, magnitude, (1u << (drop - 1)) - 1), odd);
    normal = binary(l, BL_KIR_OP_sub, binary(l, BL_KIR_OP_lshr, normal, drop), (127u - to->bias) << to->mantissa);
    /* subnormal numbers are multiples of 2^(1 - bias - mantissa) */
    subnormal = bl_lower_float(l, BL_KIR_F32, (double)(1u << (to->bias + to->mantissa - 1)));
    subnormal = both(l, BL_KIR_OP_fmul, bl_lower_resize(l, magnitude, BL_KIR_F32, false), subnormal);
    subnormal = bl_lower_op(l, BL_KIR_OP_ftoi_u, &nearest, BL_KIR_I32, subnormal, NULL, NULL);
    code = bl_lower_compare(l, BL_KIR_LO, magnitude, bl_lower_const(l, BL_KIR_I32, smallest));
    code = binary(l, BL_KIR_OP_min_u, bl_lower_select(l, code, subnormal, normal), to->largest);
    zero = bl_lower_const(l, BL_KIR_I32, 0);
    if (relu)
        code = bl_lower_select(l, bl_lower_compare(l, BL_KIR_LT, bits, zero), zero, code);
    else
        code = both(l, BL_KIR_OP_or, code, sign);
    odd = bl_lower_compare(l, BL_KIR_HI, magnitude, bl_lower_const(l, BL_KIR_I32, 0x7f800000));
    return bl_lower_select(l, odd, bl_lower_const(l, BL_KIR_I32, to->nan), code);
}

/* A code in 16 bits to f16, which holds every number of these formats: the magnitude's bits, read as f16, are the number but
 * for the difference in bias. */
static struct bl_kir_value *decode(struct bl_lower *l, const struct format *from, struct bl_kir_value *code, bool relu)
{
    uint32_t bits = from->exponent + from->mantissa;
    struct bl_kir_attr keep_nan = {.nan = true};
    struct bl_kir_value *magnitude = binary(l, BL_KIR_OP_and, code, (1u << bits) - 1), *value, *sign;

    value = bl_lower_resize(l, binary(l, BL_KIR_OP_shl, magnitude, 10u - from->mantissa), BL_KIR_F16, false);
    if (from->bias != 15)
        value = both(l, BL_KIR_OP_fmul, value, bl_lower_float(l, BL_KIR_F16, (double)(1u << (15 - from->bias))));
    sign = binary(l, BL_KIR_OP_shl, binary(l, BL_KIR_OP_and, code, 1u << bits), 15 - bits);
    value = both(l, BL_KIR_OP_or, bl_lower_resize(l, value, BL_KIR_I16, false), sign);
    if (from->nan != from->largest)
        value = bl_lower_select(l,
                                bl_lower_compare(l, BL_KIR_HI, magnitude,
                                                 bl_lower_const(l, BL_KIR_I16, from->type == BL_PTX_E5M2X2 ? 0x7c : from->largest)),
                                bl_lower_const(l, BL_KIR_I16, 0x7fff), value);
    value = bl_lower_resize(l, value, BL_KIR_F16, false);
    return relu ? bl_lower_op(l, BL_KIR_OP_fmax, &keep_nan, BL_KIR_F16, value, bl_lower_const(l, BL_KIR_F16, 0), NULL) : value;
}

/* Two codes as a register has them: nibbles of a byte, or bytes of 16 bits. */
static struct bl_kir_value *join(struct bl_lower *l, const struct format *format, struct bl_kir_value *const codes[2])
{
    uint32_t step = format->type == BL_PTX_E2M1X2 ? 4 : 8;
    struct bl_kir_value *pair = both(l, BL_KIR_OP_or, binary(l, BL_KIR_OP_shl, codes[1], step), codes[0]);
    return bl_lower_resize(l, pair, bl_lower_type(format->type), false);
}

/* cvt.rn.satfinite{.relu}.FORMAT.f32 d, a, b and cvt.rn.satfinite{.relu}.FORMAT.f16x2 d, a: a, or its high half, goes high. */
static bool to_small(struct bl_lower *l, const struct bl_ptx_instr *i, const struct format *to)
{
    struct bl_kir_value *codes[2], *part;
    struct bl_kir_instr *halves = NULL;

    if (HAS(rs) || !HAS(satfinite))
        return false;
    if (i->types[1] == BL_PTX_F16X2 && i->operand_count == 2)
        halves = bl_lower_unpack(l, bl_lower_read(l, &i->operands[1], BL_KIR_F16X2), BL_KIR_F16);
    else if (i->types[1] != BL_PTX_F32 || i->operand_count != 3)
        return false;
    for (uint32_t h = 0; h < 2; h++) {
        part = halves ? bl_lower_op(l, BL_KIR_OP_ftof, NULL, BL_KIR_F32, halves->results[h], NULL, NULL)
                      : bl_lower_read(l, &i->operands[2 - h], BL_KIR_F32);
        codes[h] = encode(l, to, part, HAS(relu));
    }
    bl_lower_write(l, &i->operands[0], join(l, to, codes), false);
    return true;
}

/* ue8m0 is a power of two: its code is the exponent field of an f32, 0xff NaN. rz cuts a magnitude to one, rp raises it; with
 * .satfinite what is past the largest becomes it. */
static struct bl_kir_value *encode_power(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_value *value)
{
    struct bl_kir_value *bits = binary(l, BL_KIR_OP_and, bl_lower_resize(l, value, BL_KIR_I32, false), 0x7fffffff), *code, *up,
                        *more;

    code = binary(l, BL_KIR_OP_lshr, bits, 23);
    if (HAS(rp)) { /* 2^-127, the least power, is a subnormal f32 */
        up = bl_lower_compare(l, BL_KIR_NE, binary(l, BL_KIR_OP_and, bits, 0x7fffff), bl_lower_const(l, BL_KIR_I32, 0));
        more = bl_lower_compare(l, BL_KIR_HI, bits, bl_lower_const(l, BL_KIR_I32, 0x400000));
        up = both(l, BL_KIR_OP_and, up, more);
        code = bl_lower_select(l, up, binary(l, BL_KIR_OP_min_u, binary(l, BL_KIR_OP_add, code, 1), 0xff), code);
    }
    if (!HAS(satfinite))
        return code;
    more = bl_lower_compare(l, BL_KIR_HI, bits, bl_lower_const(l, BL_KIR_I32, 0x7f800000));
    return bl_lower_select(l, more, code, binary(l, BL_KIR_OP_min_u, code, 0xfe));
}

/* cvt.rn.bf16x2.ue8m0x2: exact; a NaN becomes 0x7fff. */
static struct bl_kir_value *decode_power(struct bl_lower *l, struct bl_kir_value *code)
{
    struct bl_kir_value *value = binary(l, BL_KIR_OP_shl, binary(l, BL_KIR_OP_and, code, 0xff), 7), *least, *nan;

    least = bl_lower_compare(l, BL_KIR_EQ, value, bl_lower_const(l, BL_KIR_I16, 0));
    nan = bl_lower_compare(l, BL_KIR_EQ, value, bl_lower_const(l, BL_KIR_I16, 0x7f80));
    value = bl_lower_select(l, least, bl_lower_const(l, BL_KIR_I16, 0x0040), value);
    return bl_lower_select(l, nan, bl_lower_const(l, BL_KIR_I16, 0x7fff), value);
}

/* cvt.rz|rp{.satfinite}.ue8m0x2.f32 d, a, b and .bf16x2 d, a; cvt.rn.bf16x2.ue8m0x2 d, a: a, or its high half, goes high. */
static bool powers(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *codes[2], *part;
    struct bl_kir_instr *halves = NULL;

    if (i->types[0] == BL_PTX_BF16X2) {
        part = bl_lower_read(l, &i->operands[1], BL_KIR_I16);
        for (uint32_t h = 0; h < 2; h++)
            codes[h] = decode_power(l, h ? binary(l, BL_KIR_OP_lshr, part, 8) : part);
        bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I32, 2, codes), false);
        return true;
    }
    if (i->types[0] != BL_PTX_UE8M0X2)
        return false;
    if (i->types[1] == BL_PTX_BF16X2)
        halves = bl_lower_unpack(l, bl_lower_read(l, &i->operands[1], BL_KIR_BF16X2), BL_KIR_I16);
    for (uint32_t h = 0; h < 2; h++) {
        part = halves ? binary(l, BL_KIR_OP_shl, bl_lower_resize(l, halves->results[h], BL_KIR_I32, false), 16)
                      : bl_lower_read32(l, &i->operands[2 - h]);
        codes[h] = encode_power(l, i, part);
    }
    part = both(l, BL_KIR_OP_or, binary(l, BL_KIR_OP_shl, codes[1], 8), codes[0]);
    bl_lower_write(l, &i->operands[0], bl_lower_resize(l, part, BL_KIR_I16, false), false);
    return true;
}

bool bl_lower_cvt_small(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct format *to = find(i->types[0]), *from = find(i->types[1]);
    struct bl_kir_value *pair, *halves[2];

    if (i->type_count != 2)
        return false;
    if (i->types[0] == BL_PTX_UE8M0X2 || i->types[1] == BL_PTX_UE8M0X2)
        return powers(l, i);
    if (to)
        return to_small(l, i, to);
    if (!from || i->types[0] != BL_PTX_F16X2 || i->operand_count != 2)
        return false;
    pair = bl_lower_resize(l, bl_lower_read(l, &i->operands[1], bl_lower_type(from->type)), BL_KIR_I16, false);
    for (uint32_t h = 0; h < 2; h++) {
        uint32_t step = from->type == BL_PTX_E2M1X2 ? 4 : 8;
        halves[h] = decode(l, from, h ? binary(l, BL_KIR_OP_lshr, pair, step) : pair, HAS(relu));
    }
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_F16X2, 2, halves), false);
    return true;
}

bool bl_lower_is_small(enum bl_ptx_type type)
{
    return type == BL_PTX_UE8M0X2 || find(type) != NULL;
}
