/* Roundings that a CPU does not offer per instruction: toward zero, down, up, and everything that f64 needs to be fused or
 * directed without a mode register. With AVX-512 the instruction itself carries the rounding; elsewhere the exact result is
 * formed in two parts and rounded once. For the math_*.c files. */
#include "target/cpu/math_build.h"

/* ---- one step after rounding to nearest --------------------------------------------------------- */

/* t is the exact value rounded to nearest; rest has the sign of (exact - t), and is zero or NaN where t is right. Moves t by one
 * unit where the rounding asks for its other neighbour. Steps through the bits serve overflow and subnormals alike. */
static LLVMValueRef step(struct bl_math *m, LLVMValueRef t, LLVMValueRef rest, enum bl_kir_round round)
{
    LLVMValueRef bits = m_to_bits(m, t), zero = m_real(m, rest, 0), negative, above, below, outward, inward;
    unsigned count = m_bits_of(t);

    negative = m_icmpc(m, LLVMIntSLT, bits, 0);
    above = m_fcmp(m, LLVMRealOGT, rest, zero);
    below = m_fcmp(m, LLVMRealOLT, rest, zero);
    if (round == BL_KIR_RZ) {
        inward = m_select(m, negative, above, below);
        bits = m_select(m, inward, m_addc(m, bits, -1), bits);
        return m_from_bits(m, bits);
    }
    outward = m_select(m, negative, m_const(m, count, round == BL_KIR_RP ? -1 : 1), m_const(m, count, round == BL_KIR_RP ? 1 : -1));
    return m_from_bits(m, m_select(m, round == BL_KIR_RP ? above : below, m_add(m, bits, outward), bits));
}

LLVMValueRef bl_math_narrow(struct bl_math *m, LLVMValueRef x, enum bl_kir_round round)
{
    LLVMValueRef t = m_narrow(m, x);
    return round == BL_KIR_RN ? t : step(m, t, m_fsub(m, x, m_extend(m, t)), round);
}

LLVMValueRef bl_math_narrow_odd(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef t = m_narrow(m, x), rest = m_fsub(m, x, m_extend(m, t)), bits = m_to_bits(m, t), outward, moved, inexact;

    outward = m_icmpc(m, LLVMIntSGE, m_xor(m, bits, m_zresize(m, m_lshrc(m, m_to_bits(m, rest), 32), 32)), 0);
    moved = m_add(m, bits, m_select(m, outward, m_const(m, 32, 1), m_const(m, 32, -1)));
    inexact = m_fcmp(m, LLVMRealONE, rest, m_real(m, rest, 0));
    inexact = m_and(m, inexact, m_icmpc(m, LLVMIntEQ, m_andc(m, bits, 1), 0));
    return m_from_bits(m, m_select(m, inexact, moved, bits));
}

/* ---- numbers put together from integers --------------------------------------------------------- */

LLVMValueRef bl_math_assemble(struct bl_math *m, LLVMValueRef negative, LLVMValueRef exponent, LLVMValueRef mantissa,
                              struct bl_math_format format, enum bl_kir_round round)
{
    unsigned drop = 62 - (format.precision - 1), exponent_bits = format.bits - format.precision;
    int64_t lowest = 2 - (INT64_C(1) << (exponent_bits - 1)), infinity = ((INT64_C(1) << exponent_bits) - 1)
                                                                         << (format.precision - 1);
    LLVMValueRef zero = m_const(m, 64, 0), one = m_const(m, 64, 1), shift, kept, rest, half, up, bits, limit, out_of_reach;

    shift = m_addc(m, m_call(m, "llvm.smax", 2, m_sub(m, m_const(m, 64, lowest), exponent), zero, NULL), drop);
    out_of_reach = m_icmpc(m, LLVMIntUGT, shift, 63); /* less than half of the smallest number */
    mantissa = m_select(m, out_of_reach, one, mantissa);
    shift = m_uminc(m, shift, 63);
    kept = m_lshr(m, mantissa, shift);
    rest = m_sub(m, mantissa, m_shl(m, kept, shift));
    half = m_shl(m, one, m_addc(m, shift, -1));
    limit = m_const(m, 64, infinity);
    switch (round) {
    case BL_KIR_RN:
        up = m_icmpc(m, LLVMIntNE, m_andc(m, kept, 1), 0);
        up = m_or(m, m_icmp(m, LLVMIntUGT, rest, half), m_and(m, up, m_icmp(m, LLVMIntEQ, rest, half)));
        break;
    case BL_KIR_RNA:
        up = m_icmp(m, LLVMIntUGE, rest, half);
        break;
    case BL_KIR_RZ:
        up = m_const(m, 1, 0);
        limit = m_const(m, 64, infinity - 1);
        break;
    default:
        up = round == BL_KIR_RM ? negative : m_not(m, negative);
        limit = m_select(m, up, limit, m_const(m, 64, infinity - 1));
        up = m_and(m, up, m_icmpc(m, LLVMIntNE, rest, 0));
        break;
    }
    bits = m_shlc(m, m_call(m, "llvm.smax", 2, m_addc(m, exponent, -lowest), zero, NULL), format.precision - 1);
    bits = m_umin(m, m_add(m, m_add(m, bits, kept), m_zresize(m, up, 64)), limit);
    bits = m_or(m, bits, m_shlc(m, m_zresize(m, negative, 64), format.bits - 1));
    return m_zresize(m, bits, format.bits);
}

/* Sign, exponent and mantissa of a finite f64 that is not zero. */
struct parts {
    LLVMValueRef mantissa; /* f64, 1 <= |mantissa| < 2 */
    LLVMValueRef exponent; /* i64 */
};

static struct parts take_apart(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef small = m_fcmp(m, LLVMRealOLT, m_fabs(m, x), m_f64(m, 0x1p-1022)), bits;
    struct parts parts;

    bits = m_to_bits(m, m_select(m, small, m_fmul(m, x, m_f64(m, 0x1p54)), x));
    parts.exponent = m_addc(m, m_andc(m, m_lshrc(m, bits, 52), 0x7ff), -1023);
    parts.exponent = m_select(m, small, m_addc(m, parts.exponent, -54), parts.exponent);
    bits = m_andc(m, bits, (int64_t)UINT64_C(0x800fffffffffffff));
    parts.mantissa = m_from_bits(m, m_orc(m, bits, INT64_C(0x3ff0000000000000)));
    return parts;
}

/* (high + low) * 2^exponent in a format; high is an f64 in the middle of its range, not zero, low only a hint: its sign says on
 * which side of high the exact value lies, zero: on it. */
static LLVMValueRef round_sum(struct bl_math *m, LLVMValueRef high, LLVMValueRef low, LLVMValueRef exponent,
                              struct bl_math_format format, enum bl_kir_round round)
{
    LLVMValueRef bits = m_to_bits(m, high), mantissa, inexact, inside, short_by_one;

    exponent = m_add(m, exponent, m_addc(m, m_andc(m, m_lshrc(m, bits, 52), 0x7ff), -1023));
    mantissa = m_orc(m, m_shlc(m, m_andc(m, bits, INT64_C(0xfffffffffffff)), 10), INT64_C(1) << 62);
    if (low) {
        inexact = m_fcmp(m, LLVMRealONE, low, m_f64(m, 0));
        inside = m_icmpc(m, LLVMIntSLT, m_xor(m, bits, m_to_bits(m, low)), 0);
        mantissa =
            m_add(m, mantissa, m_select(m, inexact, m_select(m, inside, m_const(m, 64, -1), m_const(m, 64, 1)), m_const(m, 64, 0)));
        short_by_one = m_icmpc(m, LLVMIntULT, mantissa, INT64_C(1) << 62);
        mantissa = m_select(m, short_by_one, m_shlc(m, mantissa, 1), mantissa);
        exponent = m_select(m, short_by_one, m_addc(m, exponent, -1), exponent);
    }
    return bl_math_assemble(m, m_icmpc(m, LLVMIntSLT, bits, 0), exponent, mantissa, format, round);
}

/* Not zero, not infinite, not NaN. */
static LLVMValueRef is_ordinary(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef magnitude = m_fabs(m, x);
    return m_and(m, m_fcmp(m, LLVMRealOGT, magnitude, m_f64(m, 0)), m_fcmp(m, LLVMRealOLT, magnitude, m_f64(m, __builtin_inf())));
}

LLVMValueRef bl_math_round_f64(struct bl_math *m, LLVMValueRef x, LLVMValueRef special, struct bl_math_format format,
                               enum bl_kir_round round)
{
    struct parts parts = take_apart(m, x);
    LLVMValueRef bits = round_sum(m, parts.mantissa, NULL, parts.exponent, format, round);
    return m_select(m, is_ordinary(m, x), bits, special);
}

LLVMValueRef bl_math_round_integer(struct bl_math *m, LLVMValueRef x, bool is_signed, struct bl_math_format format,
                                   enum bl_kir_round round)
{
    LLVMValueRef wide = is_signed ? m_sresize(m, x, 64) : m_zresize(m, x, 64), negative, zeros, mantissa, lost, bits;

    negative = is_signed ? m_icmpc(m, LLVMIntSLT, wide, 0) : m_const(m, 1, 0);
    mantissa = is_signed ? m_call_false(m, "llvm.abs", wide) : wide;
    zeros = m_call_false(m, "llvm.ctlz", mantissa);
    mantissa = m_shl(m, mantissa, m_uminc(m, zeros, 63));
    lost = m_andc(m, mantissa, 1);
    mantissa = m_or(m, m_lshrc(m, mantissa, 1), lost);
    bits = bl_math_assemble(m, negative, m_sub(m, m_const(m, 64, 63), zeros), mantissa, format, round);
    return m_select(m, m_icmpc(m, LLVMIntEQ, wide, 0), m_const(m, format.bits, 0), bits);
}

/* ---- exact f64 ---------------------------------------------------------------------------------- */

/* The upper 26 bits of an f64 (Veltkamp), and the rest. */
static struct bl_math_pair split(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef big = m_fmul(m, x, m_f64(m, 134217729.0)), high = m_fsub(m, big, m_fsub(m, big, x));
    return (struct bl_math_pair){high, m_fsub(m, x, high)};
}

/* a * b exactly, for factors whose products stay in range (Dekker where there is no fused instruction). */
static struct bl_math_pair two_product(struct bl_math *m, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef product = m_fmul(m, a, b), low;
    struct bl_math_pair x, y;

    if (bl_math_has_fma(m))
        return (struct bl_math_pair){product, m_call(m, "llvm.fma", 3, a, b, m_fneg(m, product))};
    x = split(m, a);
    y = split(m, b);
    low = m_fsub(m, m_fmul(m, x.high, y.high), product);
    low = m_fadd(m, m_fadd(m, low, m_fmul(m, x.high, y.low)), m_fmul(m, x.low, y.high));
    return (struct bl_math_pair){product, m_fadd(m, low, m_fmul(m, x.low, y.low))};
}

/* 2^n for -1022 <= n <= 1023. */
static LLVMValueRef power_of_two(struct bl_math *m, LLVMValueRef n)
{
    return m_from_bits(m, m_shlc(m, m_addc(m, n, 1023), 52));
}

/* Rounding down, an exact sum of zero is -0 unless both its parts are +0. x: the sum, a and b its parts. */
static LLVMValueRef zero_sign(struct bl_math *m, LLVMValueRef x, LLVMValueRef a, LLVMValueRef b, enum bl_kir_round round)
{
    LLVMValueRef sign;

    if (round != BL_KIR_RM)
        return x;
    sign = m_or(m, m_to_bits(m, a), m_to_bits(m, b));
    sign = m_and(m, sign, m_to_bits(m, m_real(m, x, -0.0)));
    return m_select(m, m_fcmp(m, LLVMRealOEQ, x, m_real(m, x, 0)), m_from_bits(m, sign), x);
}

/* a * b + c, rounded once. The mantissas are multiplied exactly; c is brought to their scale, no further away than where it (or
 * the product) can matter only as "a little more" or "a little less". The three parts are summed by an algorithm of Boldo and
 * Melquiond: the lesser ones rounded to odd. */
LLVMValueRef bl_math_fma_f64(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c, enum bl_kir_round round)
{
    struct parts x = take_apart(m, a), y = take_apart(m, b), z = take_apart(m, c);
    struct bl_math_pair product = two_product(m, x.mantissa, y.mantissa), t, v;
    LLVMValueRef exponent = m_add(m, x.exponent, y.exponent), distance = m_sub(m, z.exponent, exponent), far, near, addend, special;
    LLVMValueRef zero = m_f64(m, 0), usual;

    far = m_icmpc(m, LLVMIntSGT, distance, 120);
    exponent = m_select(m, far, m_addc(m, z.exponent, -120), exponent);
    near = m_call(m, "llvm.smax", 2, distance, m_const(m, 64, -200), NULL);
    near = m_call(m, "llvm.smin", 2, near, m_const(m, 64, 120), NULL);
    addend = m_fmul(m, z.mantissa, power_of_two(m, near));
    addend = m_select(m, m_fcmp(m, LLVMRealOEQ, c, zero), zero, addend);
    t = bl_math_two_sum(m, addend, product.low);
    v = bl_math_two_sum(m, product.high, t.high);
    v.low = bl_math_round_to_odd(m, bl_math_two_sum(m, t.low, v.low));
    v = bl_math_two_sum(m, v.high, v.low);
    usual = m_from_bits(m, round_sum(m, v.high, v.low, exponent, BL_MATH_F64, round));
    usual = m_select(m, m_fcmp(m, LLVMRealOEQ, v.high, zero), m_f64(m, round == BL_KIR_RM ? -0.0 : 0.0), usual);
    special = m_fmul(m, a, b);
    special = zero_sign(m, m_fadd(m, special, c), special, c, round);
    near = m_and(m, is_ordinary(m, a), is_ordinary(m, b));
    special = m_select(m, near, c, special); /* c is infinite or NaN then */
    near = m_and(m, near, m_fcmp(m, LLVMRealOLT, m_fabs(m, c), m_f64(m, __builtin_inf())));
    return m_select(m, near, usual, special);
}

static LLVMValueRef multiply_f64(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, enum bl_kir_round round)
{
    struct parts x = take_apart(m, a), y = take_apart(m, b);
    struct bl_math_pair product = two_product(m, x.mantissa, y.mantissa);
    LLVMValueRef usual = round_sum(m, product.high, product.low, m_add(m, x.exponent, y.exponent), BL_MATH_F64, round);
    return m_select(m, m_and(m, is_ordinary(m, a), is_ordinary(m, b)), m_from_bits(m, usual), m_fmul(m, a, b));
}

static LLVMValueRef divide_f64(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, enum bl_kir_round round)
{
    struct parts x = take_apart(m, a), y = take_apart(m, b);
    LLVMValueRef q = m_fdiv(m, x.mantissa, y.mantissa), rest, usual;
    struct bl_math_pair back = two_product(m, q, y.mantissa);

    rest = m_fmul(m, m_fsub(m, m_fsub(m, x.mantissa, back.high), back.low), y.mantissa);
    usual = round_sum(m, q, rest, m_sub(m, x.exponent, y.exponent), BL_MATH_F64, round);
    return m_select(m, m_and(m, is_ordinary(m, a), is_ordinary(m, b)), m_from_bits(m, usual), m_fdiv(m, a, b));
}

static LLVMValueRef root_f64(struct bl_math *m, LLVMValueRef a, enum bl_kir_round round)
{
    struct parts x = take_apart(m, a);
    LLVMValueRef odd = m_icmpc(m, LLVMIntNE, m_andc(m, x.exponent, 1), 0), root, rest, usual;
    struct bl_math_pair back;

    x.mantissa = m_select(m, odd, m_fadd(m, x.mantissa, x.mantissa), x.mantissa);
    root = m_call(m, "llvm.sqrt", 1, x.mantissa, NULL, NULL);
    back = two_product(m, root, root);
    rest = m_fsub(m, m_fsub(m, x.mantissa, back.high), back.low);
    usual = round_sum(m, root, rest, m_ashrc(m, x.exponent, 1), BL_MATH_F64, round);
    odd = m_and(m, is_ordinary(m, a), m_fcmp(m, LLVMRealOGT, a, m_f64(m, 0)));
    return m_select(m, odd, m_from_bits(m, usual), m_call(m, "llvm.sqrt", 1, a, NULL, NULL));
}

/* ---- roundings in the instruction (AVX-512) ----------------------------------------------------- */

/* Sixteen f32 or eight f64 from lane `first` on; a scalar stands in lane 0 over zeros. */
static LLVMValueRef take(struct bl_math *m, LLVMValueRef x, unsigned first, unsigned count)
{
    LLVMBuilderRef builder = m->cg->builder;
    LLVMTypeRef word = LLVMInt32TypeInContext(m->cg->context);
    LLVMValueRef lanes[16];

    if (m->width == 1)
        return LLVMBuildInsertElement(builder, LLVMConstNull(LLVMVectorType(LLVMTypeOf(x), count)), x, LLVMConstInt(word, 0, false),
                                      "");
    for (unsigned i = 0; i < count; i++)
        lanes[i] = LLVMConstInt(word, first + i, false);
    return LLVMBuildShuffleVector(builder, x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstVector(lanes, count), "");
}

static LLVMValueRef join(struct bl_math *m, LLVMValueRef *parts, unsigned part_count, unsigned count)
{
    LLVMBuilderRef builder = m->cg->builder;
    LLVMTypeRef word = LLVMInt32TypeInContext(m->cg->context);
    LLVMValueRef lanes[BL_WARP];

    if (m->width == 1)
        return LLVMBuildExtractElement(builder, parts[0], LLVMConstInt(word, 0, false), "");
    for (; part_count > 1; part_count /= 2, count *= 2) {
        for (unsigned i = 0; i < 2 * count; i++)
            lanes[i] = LLVMConstInt(word, i, false);
        for (unsigned i = 0; i < part_count / 2; i++)
            parts[i] = LLVMBuildShuffleVector(builder, parts[2 * i], parts[2 * i + 1], LLVMConstVector(lanes, 2 * count), "");
    }
    return parts[0];
}

/* NULL where the compiler has no such intrinsic. */
static LLVMValueRef embedded(struct bl_math *m, const char *operation, unsigned operand_count, LLVMValueRef *operands,
                             enum bl_kir_round round)
{
    static const uint8_t codes[] = {[BL_KIR_RN] = 8, [BL_KIR_RM] = 9, [BL_KIR_RP] = 10, [BL_KIR_RZ] = 11};
    bool f64 = m_bits_of(operands[0]) == 64;
    unsigned count = f64 ? 8 : 16, part_count = m->width == 1 ? 1 : m->width / count;
    LLVMValueRef arguments[4], parts[4];
    char *name = bl_arena_printf(m->cg->arena, "llvm.x86.avx512.%s.%s.512", operation, f64 ? "pd" : "ps");

    if (!m->cg->features.avx512 || !name || !LLVMLookupIntrinsicID(name, strlen(name)))
        return NULL;
    for (unsigned p = 0; p < part_count; p++) {
        for (unsigned i = 0; i < operand_count; i++)
            arguments[i] = take(m, operands[i], p * count, count);
        arguments[operand_count] = LLVMConstInt(LLVMInt32TypeInContext(m->cg->context), codes[round], false);
        parts[p] = bl_cg_intrinsic(m->cg, name, 0, NULL, operand_count + 1, arguments);
    }
    return join(m, parts, part_count, count);
}

/* ---- directed arithmetic ------------------------------------------------------------------------ */

static LLVMValueRef directed_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                                 enum bl_kir_round round)
{
    LLVMValueRef x = m_extend(m, a), y = b ? m_extend(m, b) : NULL, t, back;

    switch (op) {
    case BL_KIR_OP_fadd:
        t = bl_math_narrow(m, bl_math_round_to_odd(m, bl_math_two_sum(m, x, y)), round);
        return zero_sign(m, t, a, b, round);
    case BL_KIR_OP_fmul:
        return bl_math_narrow(m, m_fmul(m, x, y), round);
    case BL_KIR_OP_ffma:
        x = m_fmul(m, x, y);
        y = bl_math_two_sum(m, x, m_extend(m, c)).high;
        t = bl_math_narrow(m, bl_math_round_to_odd(m, bl_math_two_sum(m, x, m_extend(m, c))), round);
        /* only an exact zero has its sign chosen: a tiny sum that was rounded to zero keeps its own */
        return round == BL_KIR_RM
                   ? m_select(m, m_fcmp(m, LLVMRealOEQ, y, m_f64(m, 0)), m_narrow(m, zero_sign(m, y, x, m_extend(m, c), round)), t)
                   : t;
    case BL_KIR_OP_fdiv:
        t = m_fdiv(m, a, b);
        back = m_fsub(m, x, m_fmul(m, m_extend(m, t), y));
        return step(m, t, m_fmul(m, back, m_call(m, "llvm.copysign", 2, m_f64(m, 1), y, NULL)), round);
    default: /* fsqrt */
        t = m_call(m, "llvm.sqrt", 1, a, NULL, NULL);
        back = m_extend(m, t);
        return step(m, t, m_fsub(m, x, m_fmul(m, back, back)), round);
    }
}

static LLVMValueRef directed_f64(struct bl_math *m, enum bl_kir_op op, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                                 enum bl_kir_round round)
{
    switch (op) {
    case BL_KIR_OP_fadd:
        return bl_math_fma_f64(m, a, m_f64(m, 1), b, round);
    case BL_KIR_OP_fmul:
        return multiply_f64(m, a, b, round);
    case BL_KIR_OP_ffma:
        return bl_math_fma_f64(m, a, b, c, round);
    case BL_KIR_OP_fdiv:
        return divide_f64(m, a, b, round);
    default: /* fsqrt */
        return root_f64(m, a, round);
    }
}

LLVMValueRef bl_math_directed(struct bl_math *m, enum bl_kir_op op, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c,
                              enum bl_kir_round round)
{
    LLVMValueRef operands[3] = {a, b, c}, x = NULL;

    if (op == BL_KIR_OP_fsub) {
        operands[1] = b = m_fneg(m, b);
        op = BL_KIR_OP_fadd;
    } else if (op == BL_KIR_OP_frcp) {
        operands[0] = m_real(m, a, 1);
        operands[1] = b = a;
        a = operands[0];
        op = BL_KIR_OP_fdiv;
    }
    switch (op) {
    case BL_KIR_OP_fadd:
        x = embedded(m, "add", 2, operands, round);
        break;
    case BL_KIR_OP_fmul:
        x = embedded(m, "mul", 2, operands, round);
        break;
    case BL_KIR_OP_ffma:
        x = embedded(m, "vfmadd", 3, operands, round);
        break;
    case BL_KIR_OP_fdiv:
        x = embedded(m, "div", 2, operands, round);
        break;
    case BL_KIR_OP_fsqrt:
        x = embedded(m, "sqrt", 1, operands, round);
        break;
    default:
        return NULL;
    }
    if (x)
        return x;
    return m_bits_of(a) == 32 ? directed_f32(m, op, a, b, c, round) : directed_f64(m, op, a, b, c, round);
}
