/* See math_reference.h. */
#include "math_reference.h"

#include <math.h>

enum { WORDS = 72, UNIT = 2240 }; /* bit UNIT stands for 1 */

struct format {
    unsigned bits, precision;
    int lowest; /* exponent of the smallest normal number */
};

struct big {
    bool negative;
    uint64_t w[WORDS];
};

static struct format format_of(enum bl_kir_type type)
{
    switch (type) {
    case BL_KIR_F16:
        return (struct format){16, 11, -14};
    case BL_KIR_BF16:
        return (struct format){16, 8, -126};
    case BL_KIR_F32:
        return (struct format){32, 24, -126};
    default:
        return (struct format){64, 53, -1022};
    }
}

uint64_t ref_sign(enum bl_kir_type type)
{
    return UINT64_C(1) << (format_of(type).bits - 1);
}

uint64_t ref_infinity(enum bl_kir_type type)
{
    struct format f = format_of(type);
    return ref_sign(type) - (UINT64_C(1) << (f.precision - 1));
}

uint64_t ref_smallest_normal(enum bl_kir_type type)
{
    return UINT64_C(1) << (format_of(type).precision - 1);
}

uint64_t ref_nan(enum bl_kir_type type)
{
    return ref_sign(type) - 1;
}

bool ref_is_nan(enum bl_kir_type type, uint64_t bits)
{
    return (bits & (ref_sign(type) - 1)) > ref_infinity(type);
}

bool ref_is_infinite(enum bl_kir_type type, uint64_t bits)
{
    return (bits & (ref_sign(type) - 1)) == ref_infinity(type);
}

uint64_t ref_flush(enum bl_kir_type type, uint64_t bits)
{
    return (bits & (ref_sign(type) - 1)) < ref_smallest_normal(type) ? bits & ref_sign(type) : bits;
}

/* ---- fixed point -------------------------------------------------------------------------------- */

static bool test_bit(const struct big *x, int i)
{
    return i >= 0 && i < WORDS * 64 && (x->w[i / 64] >> (i % 64) & 1);
}

/* Adds value * 2^(place - UNIT). */
static void add_at(struct big *x, unsigned __int128 value, int place)
{
    unsigned __int128 carry = 0;
    uint64_t part;

    for (int word = place / 64, n = 0; word < WORDS && n < 60; word++, n++) {
        int shift = 64 * n - place % 64;
        part = shift < 0 ? (uint64_t)(value << -shift) : shift < 128 ? (uint64_t)(value >> shift) : 0;
        carry += (unsigned __int128)x->w[word] + part;
        x->w[word] = (uint64_t)carry;
        carry >>= 64;
        if (shift >= 128 && !carry)
            break;
    }
}

static int highest(const struct big *x)
{
    for (int w = WORDS; w-- > 0;)
        if (x->w[w])
            return 64 * w + 63 - __builtin_clzll(x->w[w]);
    return -1;
}

static int compare(const struct big *a, const struct big *b)
{
    for (int w = WORDS; w-- > 0;)
        if (a->w[w] != b->w[w])
            return a->w[w] < b->w[w] ? -1 : 1;
    return 0;
}

static struct big sum(struct big a, struct big b)
{
    struct big x = a;
    unsigned __int128 carry = 0;
    uint64_t borrow = 0;

    if (a.negative != b.negative) {
        if (compare(&a, &b) < 0) {
            x = b;
            b = a;
        }
        for (int w = 0; w < WORDS; w++) {
            unsigned __int128 d = (unsigned __int128)x.w[w] - b.w[w] - borrow;
            x.w[w] = (uint64_t)d;
            borrow = (uint64_t)(d >> 64) & 1;
        }
        return x;
    }
    for (int w = 0; w < WORDS; w++) {
        carry += (unsigned __int128)x.w[w] + b.w[w];
        x.w[w] = (uint64_t)carry;
        carry >>= 64;
    }
    return x;
}

/* mantissa * 2^exponent of a finite number */
static uint64_t decode(enum bl_kir_type type, uint64_t bits, int *exponent)
{
    struct format f = format_of(type);
    uint64_t magnitude = bits & (ref_sign(type) - 1), field = magnitude >> (f.precision - 1);
    uint64_t fraction = magnitude & ((UINT64_C(1) << (f.precision - 1)) - 1);

    *exponent = f.lowest - (int)f.precision + 1 + (field ? (int)field - 1 : 0);
    return field ? fraction | UINT64_C(1) << (f.precision - 1) : fraction;
}

static struct big number(enum bl_kir_type type, uint64_t bits)
{
    struct big x = {.negative = (bits & ref_sign(type)) != 0};
    int exponent;
    uint64_t mantissa = decode(type, bits, &exponent);
    add_at(&x, mantissa, UNIT + exponent);
    return x;
}

/* Bits from `place` up, and whether to go up by what is below. */
static uint64_t cut(const struct big *x, int place, enum bl_kir_round round)
{
    uint64_t kept = 0;
    bool half = test_bit(x, place - 1), rest = false, up;

    for (int i = 0; i < 64; i++)
        kept |= (uint64_t)test_bit(x, place + i) << i;
    for (int i = 0; i < place - 1 && !rest; i++)
        rest = test_bit(x, i);
    switch (round) {
    case BL_KIR_RN:
        up = half && (rest || (kept & 1));
        break;
    case BL_KIR_RNA:
        up = half;
        break;
    case BL_KIR_RZ:
        up = false;
        break;
    default:
        up = (half || rest) && x->negative == (round == BL_KIR_RM);
        break;
    }
    return kept + up;
}

/* A zero has the big number's sign. */
static uint64_t encode(enum bl_kir_type type, enum bl_kir_round round, const struct big *x)
{
    struct format f = format_of(type);
    uint64_t sign = x->negative ? ref_sign(type) : 0, infinity = ref_infinity(type), bits;
    int top = highest(x) - UNIT, unit;
    bool outward;

    if (top < -UNIT)
        return sign;
    unit = BL_MAX(top, f.lowest) - (int)f.precision + 1;
    bits = cut(x, UNIT + unit, round);
    if (top >= f.lowest) /* its leading one counts one into the exponent */
        bits = top - f.lowest > 4000 ? infinity : bits + ((uint64_t)(top - f.lowest) << (f.precision - 1));
    if (bits >= infinity) {
        outward = round == BL_KIR_RN || round == BL_KIR_RNA || (round != BL_KIR_RZ && x->negative == (round == BL_KIR_RM));
        bits = outward ? infinity : infinity - 1;
    }
    return sign | bits;
}

/* ---- arithmetic --------------------------------------------------------------------------------- */

double ref_double(enum bl_kir_type type, uint64_t bits)
{
    int exponent;
    uint64_t mantissa = decode(type, bits, &exponent);
    double value = ref_is_infinite(type, bits) ? INFINITY : ldexp((double)mantissa, exponent);

    if (ref_is_nan(type, bits))
        return NAN;
    return bits & ref_sign(type) ? -value : value;
}

static uint64_t from_special(enum bl_kir_type type, double value)
{
    if (isnan(value))
        return ref_nan(type);
    return (signbit(value) ? ref_sign(type) : 0) | (isinf(value) ? ref_infinity(type) : 0);
}

/* For operands of which one is infinite or zero: only infinities, zeros and NaN matter. */
static double class_of(enum bl_kir_type type, uint64_t bits)
{
    double value = ref_double(type, bits);
    return isfinite(value) && value != 0 ? copysign(1, value) : value;
}

static uint64_t divide(enum bl_kir_type type, enum bl_kir_round round, uint64_t a, uint64_t b)
{
    struct big x = {.negative = ((a ^ b) & ref_sign(type)) != 0};
    int ea, eb, up;
    uint64_t ma = decode(type, a, &ea), mb = decode(type, b, &eb);
    unsigned __int128 dividend, quotient;

    up = __builtin_clzll(ma) + 63;
    dividend = (unsigned __int128)ma << up;
    quotient = dividend / mb;
    add_at(&x, quotient, UNIT + ea - eb - up);
    if (dividend % mb)
        add_at(&x, 1, 0);
    return encode(type, round, &x);
}

static uint64_t root(enum bl_kir_type type, enum bl_kir_round round, uint64_t a)
{
    struct big x = {.negative = false};
    int exponent, up;
    unsigned __int128 mantissa = decode(type, a, &exponent), result = 0;

    up = __builtin_clzll((uint64_t)mantissa) + 62;
    up -= (exponent - up) & 1;
    mantissa <<= up;
    for (int bit = 63; bit >= 0; bit--) {
        unsigned __int128 tried = result | (unsigned __int128)1 << bit;
        if (tried * tried <= mantissa)
            result = tried;
    }
    add_at(&x, result, UNIT + (exponent - up) / 2);
    if (result * result != mantissa)
        add_at(&x, 1, 0);
    return encode(type, round, &x);
}

/* a * b + c; product only: c NULL */
static uint64_t multiply_add(enum bl_kir_type type, enum bl_kir_round round, uint64_t a, uint64_t b, const uint64_t *c)
{
    struct big x = {.negative = ((a ^ b) & ref_sign(type)) != 0}, y;
    int ea, eb;
    uint64_t ma = decode(type, a, &ea), mb = decode(type, b, &eb);
    bool same;

    add_at(&x, (unsigned __int128)ma * mb, UNIT + ea + eb);
    if (!c)
        return encode(type, round, &x);
    y = number(type, *c);
    same = x.negative == y.negative;
    x = sum(x, y);
    if (highest(&x) < 0 && !same)
        x.negative = round == BL_KIR_RM;
    return encode(type, round, &x);
}

static uint64_t one(enum bl_kir_type type)
{
    struct format f = format_of(type);
    return (uint64_t)(1 - f.lowest) << (f.precision - 1);
}

uint64_t ref_arithmetic(enum bl_kir_op op, enum bl_kir_type type, enum bl_kir_round round, const uint64_t *in)
{
    uint64_t a = in[0], b = in[1], c = in[2];
    double x, y, z;

    if (op == BL_KIR_OP_frcp) {
        b = a;
        a = one(type);
        op = BL_KIR_OP_fdiv;
    } else if (op == BL_KIR_OP_fsub) {
        b ^= ref_sign(type);
        op = BL_KIR_OP_fadd;
    }
    x = class_of(type, a);
    y = op == BL_KIR_OP_fsqrt ? 1 : class_of(type, b);
    z = op == BL_KIR_OP_ffma ? class_of(type, c) : 1;
    if (isnan(x) || isnan(y) || isnan(z))
        return ref_nan(type);
    switch (op) {
    case BL_KIR_OP_fadd:
        if (isinf(x) || isinf(y))
            return from_special(type, x + y);
        c = b;
        b = one(type);
        return multiply_add(type, round, a, b, &c);
    case BL_KIR_OP_fmul:
        return isinf(x) || isinf(y) ? from_special(type, x * y) : multiply_add(type, round, a, b, NULL);
    case BL_KIR_OP_ffma:
        if (isinf(x) || isinf(y) || isinf(z))
            return from_special(type, x * y + z);
        return multiply_add(type, round, a, b, &c);
    case BL_KIR_OP_fdiv:
        return isinf(x) || isinf(y) || x == 0 || y == 0 ? from_special(type, x / y) : divide(type, round, a, b);
    default:
        return x == 0 || isinf(x) || x < 0 ? from_special(type, sqrt(x)) : root(type, round, a);
    }
}

uint64_t ref_convert(enum bl_kir_type to, enum bl_kir_type from, enum bl_kir_round round, uint64_t bits)
{
    struct big x;

    if (ref_is_nan(from, bits) || ref_is_infinite(from, bits))
        return from_special(to, ref_double(from, bits));
    x = number(from, bits);
    return encode(to, round, &x);
}

uint64_t ref_from_integer(enum bl_kir_type to, enum bl_kir_round round, bool is_negative, uint64_t magnitude)
{
    struct big x = {.negative = is_negative};
    add_at(&x, magnitude, UNIT);
    return encode(to, round, &x);
}

uint64_t ref_to_integer(enum bl_kir_type from, enum bl_kir_round round, uint64_t bits, bool *large)
{
    struct big x = number(from, bits);
    uint64_t magnitude = cut(&x, UNIT, round);

    *large = highest(&x) - UNIT > 63 || (magnitude == 0 && highest(&x) - UNIT == 63);
    return *large ? UINT64_MAX : magnitude;
}

uint64_t ref_integral(enum bl_kir_type type, enum bl_kir_round round, uint64_t bits)
{
    struct big x, y;

    if (ref_is_nan(type, bits))
        return ref_nan(type);
    if (ref_is_infinite(type, bits))
        return bits;
    x = number(type, bits);
    if (highest(&x) - UNIT >= 60)
        return bits;
    y = (struct big){.negative = x.negative};
    add_at(&y, cut(&x, UNIT, round), UNIT);
    return encode(type, BL_KIR_RN, &y);
}

/* ---- the function unit ------------------------------------------------------------------------------- */

struct row {
    int32_t constant, slope, curvature;
};
#include "target/cpu/math_tables.def"

/* A square of 17 bits by its partial products, without those of columns below 19; in units of 2^19. */
static int64_t cut_square(uint32_t x)
{
    int64_t sum = 0;

    for (int i = 0; i < 17; i++)
        for (int j = 0; j <= i; j++)
            if ((x >> i & 1) && (x >> j & 1) && i + j + (i != j) >= 19)
                sum += INT64_C(1) << (i + j + (i != j) - 19);
    return sum;
}

/* x has 17 bits, of which slopes of rcp's table see the upper 16. */
static int64_t sum_of(const struct row *row, int shift, int bias, int slope_sign, int curvature_sign, uint32_t x, bool narrow)
{
    return row->constant * (INT64_C(1) << shift) + bias + slope_sign * (int64_t)row->slope * (narrow ? x >> 1 : x) +
           curvature_sign * row->curvature * cut_square(x);
}

/* sum * 2^exponent toward zero; neither too large nor too small. */
static uint32_t cut_sum(int64_t sum, int exponent, uint32_t sign)
{
    int top = sum > 0 ? 63 - __builtin_clzll((uint64_t)sum) : 0;

    if (sum <= 0)
        return sign;
    sum = top > 23 ? sum >> (top - 23) : sum << (23 - top);
    return sign | ((uint32_t)(top + exponent + 127) << 23) | ((uint32_t)sum & 0x7fffff);
}

static uint32_t unit_reciprocal(uint32_t magnitude, uint32_t sign)
{
    uint32_t fraction = magnitude & 0x7fffff;
    int64_t y = sum_of(&rcp_rows[fraction >> 16], 13, 2023, -1, 1, (fraction & 0xffff) << 1, true) >> 15;

    if (magnitude < 0x800000)
        return sign | 0x7f800000;
    y += INT64_C(0x7e000000) - (magnitude & 0x7f800000);
    return y < 0x800000 ? sign : sign | (uint32_t)y;
}

static uint32_t unit_root(uint32_t magnitude, uint32_t sign, bool reciprocal)
{
    int64_t offset = (int64_t)magnitude - 0x3f800000, half = offset >> 24, y;
    uint32_t fraction = (uint32_t)offset & 0xffffff;

    if (magnitude < 0x800000)
        return sign | (reciprocal ? 0x7f800000 : 0);
    if (sign)
        return 0x7fffffff;
    if (magnitude == 0x7f800000)
        return reciprocal ? 0 : magnitude;
    if (!reciprocal)
        return (uint32_t)((sum_of(&sqrt_rows[fraction >> 17], 15, 32767, 1, -1, fraction & 0x1ffff, false) >> 17) + 0x3f000000 +
                          half * 0x800000);
    y = sum_of(&rsqrt_rows[fraction >> 17], 14, 16383, -1, 1, fraction & 0x1ffff, false) >> 16;
    return (uint32_t)((fraction ? y : 0x1000000) + 0x3e800000 - half * 0x800000);
}

static uint32_t unit_power(uint32_t magnitude, uint32_t sign, double x)
{
    int64_t fixed = (int64_t)(BL_MIN(fabs(x), 200) * 0x1p23), y;

    if (x >= 128)
        return 0x7f800000;
    if (sign)
        fixed = fixed & 0x7fffff ? ~fixed : -fixed;
    y = sum_of(&ex2_rows[fixed >> 17 & 63], 13, 6114, 1, 1, fixed & 0x1ffff, false) >> 15;
    y += 0x3f000000 + (fixed & ~INT64_C(0x7fffff));
    return y < 0x800000 || magnitude == 0x7f800000 ? 0 : (uint32_t)y;
}

static uint32_t unit_logarithm(uint32_t magnitude, uint32_t sign)
{
    int64_t sum = sum_of(&lg2_rows[magnitude >> 17 & 63], 12, 837, 1, -1, magnitude & 0x1ffff, false);

    if (magnitude < 0x800000)
        return 0xff800000;
    if (sign)
        return 0x7fffffff;
    if (magnitude == 0x7f800000 || magnitude == 0x3f800000)
        return magnitude == 0x3f800000 ? 0 : magnitude;
    sum += ((int64_t)(magnitude >> 23) - 127) * (INT64_C(1) << 38);
    return cut_sum((sum < 0 ? ~sum : sum) & ~INT64_C(3), -38, sum < 0 ? 0x80000000 : 0);
}

static uint32_t unit_turn(uint32_t sign, double x, bool cosine)
{
    double turns = fabs(x) * (double)0x1.45f306p-3f;
    uint64_t bits;
    uint32_t place;

    if (isinf(x))
        return 0x7fffffff;
    memcpy(&bits, &turns, sizeof(bits));
    bits &= ~UINT64_C(0x1fffffff);
    memcpy(&turns, &bits, sizeof(bits));
    place = (uint32_t)((turns - floor(turns)) * 0x1p25) + (cosine ? 1u << 23 : 0);
    sign = (cosine ? 0 : sign) ^ ((place & 1u << 24) ? 0x80000000 : 0);
    if (place & 1u << 23)
        place = ~place;
    return cut_sum(sum_of(&sin_rows[place >> 17 & 63], 14, 0, 1, -1, place & 0x1ffff, false), -39, sign);
}

static uint32_t unit_tangent(uint32_t magnitude, uint32_t sign)
{
    static const uint32_t piece_bits[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
    uint32_t binade = (magnitude >> 23) - 119, first = 0, fraction = magnitude & 0x7fffff, place;

    if (magnitude < 0x3b800000)
        return sign | magnitude;
    if (magnitude >= 0x41000000)
        return sign | 0x3f800000;
    for (uint32_t i = 0; i < binade; i++)
        first += 1u << piece_bits[i];
    place = 23 - piece_bits[binade];
    return cut_sum(sum_of(&tanh_rows[first + (fraction >> place)], 15, 0, 1, -1, fraction >> (place - 17) & 0x1ffff, false), -39,
                   sign);
}

uint32_t ref_function_unit(enum bl_kir_op op, uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fffffff, sign = bits & 0x80000000;
    float x;

    memcpy(&x, &bits, sizeof(x));
    if (magnitude > 0x7f800000)
        return 0x7fffffff;
    switch (op) {
    case BL_KIR_OP_frcp:
        return unit_reciprocal(magnitude, sign);
    case BL_KIR_OP_frsqrt:
    case BL_KIR_OP_fsqrt:
        return unit_root(magnitude, sign, op == BL_KIR_OP_frsqrt);
    case BL_KIR_OP_fex2:
        return unit_power(magnitude, sign, x);
    case BL_KIR_OP_flg2:
        return unit_logarithm(magnitude, sign);
    case BL_KIR_OP_ftanh:
        return unit_tangent(magnitude, sign);
    default:
        return unit_turn(sign, x, op == BL_KIR_OP_fcos);
    }
}
