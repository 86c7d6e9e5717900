/* One multiplication of matrices by a warp, bit for bit as an H200 gives it (tests/ptx/record_matrix.py). Kernels call it through
 * abi.h. What the tensor cores do with floats, found from their answers: in a group of products (all of k, at most 16 terms that
 * are not zero) every product is exact; products and addend are cut to 25 bits below the largest exponent among them, where the
 * exponent of a product is the sum of its factors', and of a subnormal number the smallest normal one's; zeros have none. Their sum
 * is exact; it is cut to f32, or rounded to nearest even to f16. A sum of zero is +0; NaN is 0x7fffffff or 0x7fff. */
#include "target/cpu/run.h"

#include "kir/kir.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

enum { ROWS = 16, COLUMNS = 8, MOST_K = 128, EXTRA = 25, NO_EXPONENT = -1000, NEAR = 50 };

typedef float floats __attribute__((vector_size(4 * ROWS)));
typedef int32_t ints __attribute__((vector_size(4 * ROWS)));
typedef uint32_t words __attribute__((vector_size(4 * ROWS)));

/* The same code for wider vectors, chosen when the library is loaded. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(BL_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif
#define INLINE static inline __attribute__((always_inline))

struct format {
    uint32_t bits, mantissa, exponents; /* exponents: mask of the field */
    int32_t bias;
};

static const struct format formats[BL_KIR_MATRIX_TYPES] = {
    [BL_KIR_MATRIX_F16] = {16, 10, 31, 15}, [BL_KIR_MATRIX_BF16] = {16, 7, 255, 127}, [BL_KIR_MATRIX_TF32] = {32, 10, 255, 127},
    [BL_KIR_MATRIX_E4M3] = {8, 3, 15, 7},   [BL_KIR_MATRIX_E5M2] = {8, 2, 31, 15},    [BL_KIR_MATRIX_F32] = {32, 23, 255, 127},
    [BL_KIR_MATRIX_S8] = {.bits = 8},       [BL_KIR_MATRIX_U8] = {.bits = 8},         [BL_KIR_MATRIX_S4] = {.bits = 4},
    [BL_KIR_MATRIX_U4] = {.bits = 4},       [BL_KIR_MATRIX_B1] = {.bits = 1},         [BL_KIR_MATRIX_S32] = {.bits = 32},
    [BL_KIR_MATRIX_F64] = {.bits = 64},
};

/* A number is `value` * 2^exponent with 1 <= |value| < 2 (less of a subnormal one), or, once `near`, value alone. */
struct numbers {
    floats value;
    ints exponent;
    ints special; /* 0 finite, 1 infinite, 2 NaN (value then is a zero of the sign), 4 left out of a sparse matrix */
};

/* Of B only the first 8 of each row are used. */
struct tile {
    struct numbers a[MOST_K], b[MOST_K];
    words c[COLUMNS], d[COLUMNS]; /* by column: the bits of 16 rows */
    uint32_t k;
    bool special, near;
};

/* ---- vectors -------------------------------------------------------------------------------------- */

INLINE ints larger(ints a, ints b)
{
    ints result;
    for (uint32_t n = 0; n < ROWS; n++)
        result[n] = a[n] > b[n] ? a[n] : b[n];
    return result;
}

INLINE ints smaller(ints a, ints b)
{
    ints result;
    for (uint32_t n = 0; n < ROWS; n++)
        result[n] = a[n] < b[n] ? a[n] : b[n];
    return result;
}

/* Masks, all ones where it holds: compilers make comparisons of such wide vectors one lane at a time. a - b must not overflow. */
INLINE ints less(ints a, ints b)
{
    return (a - b) >> 31;
}

INLINE ints nonzero(ints x)
{
    return (x | -x) >> 31;
}

INLINE ints all(int32_t x)
{
    return (ints){0} + x;
}

INLINE ints choose(ints mask, ints yes, ints no)
{
    return (yes & mask) | (no & ~mask);
}

/* 2^(e - 127); e from 0 (gives 0) to 254 */
INLINE floats power(ints e)
{
    return (floats)(e << 23);
}

INLINE bool any(ints mask)
{
    int32_t together = 0;
    for (uint32_t n = 0; n < ROWS; n++)
        together |= mask[n];
    return together != 0;
}

/* ---- numbers ---------------------------------------------------------------------------------------- */

/* x: the bits of one element each; of tf32 the upper 19 count. */
INLINE struct numbers decode(words x, enum bl_kir_matrix_type type)
{
    const struct format *f = &formats[type];
    struct numbers n;
    uint32_t mantissa_mask = (1u << f->mantissa) - 1;
    if (type == BL_KIR_MATRIX_TF32)
        x >>= 13;
    ints field = (ints)(x >> f->mantissa & f->exponents), mantissa = (ints)(x & mantissa_mask);
    ints sign = (ints)((x >> (type == BL_KIR_MATRIX_TF32 ? 18 : f->bits - 1)) << 31), normal = nonzero(field);
    ints special = ~nonzero(field - (int32_t)f->exponents);
    if (type == BL_KIR_MATRIX_E4M3)
        special &= ~nonzero(mantissa - 7);
    n.special = special & choose(nonzero(mantissa), all(2), all(1));
    mantissa |= normal & (int32_t)(mantissa_mask + 1);
    ints zero = ~nonzero(mantissa) | special;
    mantissa &= ~special;
    floats whole = __builtin_convertvector(mantissa, floats) * (1.0f / (float)(mantissa_mask + 1));
    ints more = all(0);
    if (type == BL_KIR_MATRIX_E4M3) { /* multiplied as f16, of which these are all normal */
        more = ((ints)whole >> 23) - 127;
        whole = (floats)choose(zero, all(0), ((ints)whole & 0x7fffff) | 0x3f800000);
    }
    n.value = (floats)((ints)whole | sign);
    n.exponent = choose(zero, all(NO_EXPONENT), more + choose(normal, field, all(1)) - f->bias);
    return n;
}

/* magnitude * 2^(top - EXTRA), of these signs, cut to f32. */
INLINE words round_f32(words magnitude, ints top, words sign)
{
    words ones = magnitude | magnitude >> 1;
    ones |= ones >> 2;
    ones |= ones >> 4;
    ones |= ones >> 8;
    ones |= ones >> 16;
    words bits = (words) __builtin_convertvector(magnitude & ~(ones >> 24), floats);
    ints e = (ints)(bits >> 23) + top - EXTRA, low = less(e, all(1)), shift = smaller(larger(1 - e, all(0)), all(31));
    words mantissa = ((bits & 0x7fffff) | 0x800000) >> (words)shift;
    words result = (words)choose(low, (ints)mantissa, (ints)((bits & 0x7fffff) | (words)e << 23));
    result = (words)choose(less(all(254), e), all(0x7f800000), (ints)result);
    ints some = nonzero((ints)magnitude) & nonzero((ints)result);
    return (result | sign) & (words)some;
}

/* The same to f16, to nearest even: cut to 24 bits first, the last of them set where more follows. */
INLINE words round_f16(words magnitude, ints top, words sign)
{
    words ones = magnitude | magnitude >> 1;
    ones |= ones >> 2;
    ones |= ones >> 4;
    ones |= ones >> 8;
    ones |= ones >> 16;
    words lost = ones >> 24, more = (words)nonzero((ints)(magnitude & lost)) & (lost + 1);
    words bits = (words) __builtin_convertvector((magnitude & ~lost) | more, floats);
    ints e = (ints)(bits >> 23) + top - EXTRA - 112, shift = smaller(larger(1 - e, all(0)) + 13, all(30));
    words mantissa = (bits & 0x7fffff) | 0x800000, s = (words)shift;
    mantissa = (mantissa + (((words)all(1) << (s - 1)) - 1) + (mantissa >> s & 1)) >> s;
    ints result = ((larger(e, all(1)) - 1) << 10) + (ints)mantissa;
    result = choose(less(all(30), e), all(0x7c00), smaller(result, all(0x7c00)));
    ints some = nonzero((ints)magnitude) & nonzero(result);
    return ((words)result | sign >> 16) & (words)some;
}

/* ---- a group of products of floats ---------------------------------------------------------------- */

/* Infinite and NaN factors are zeros in the sum: what they make of it. False: nothing. */
static bool special_result(const struct tile *t, uint32_t from, uint32_t to, uint32_t row, uint32_t column, const struct numbers *c,
                           bool f16, uint32_t *result)
{
    uint32_t infinite[2] = {0, 0};
    bool nan = c->special[row] == 2;

    if (c->special[row] == 1)
        infinite[signbit(c->value[row]) != 0] = 1;
    for (uint32_t k = from; k < to && !nan; k++) {
        const struct numbers *a = &t->a[k], *b = &t->b[k];
        int32_t x = a->special[row], y = b->special[column];
        if ((!x && !y) || x == 4)
            continue;
        bool zero = (!x && a->exponent[row] == NO_EXPONENT) || (!y && b->exponent[column] == NO_EXPONENT);
        nan = x == 2 || y == 2 || zero;
        infinite[(signbit(a->value[row]) != 0) != (signbit(b->value[column]) != 0)] = 1;
    }
    nan |= infinite[0] && infinite[1];
    if (!nan && !infinite[0] && !infinite[1])
        return false;
    *result = nan ? (f16 ? 0x7fff : 0x7fffffff) : f16 ? 0x7c00 | infinite[1] << 15 : 0x7f800000 | infinite[1] << 31;
    return true;
}

INLINE words sum_column(const struct tile *t, uint32_t from, uint32_t to, uint32_t column, const struct numbers *c, bool f16)
{
    ints top = c->exponent, sum = all(0);
    for (uint32_t k = from; k < to; k++)
        top = larger(top, t->a[k].exponent + t->b[k].exponent[column]);
    ints base = 127 + EXTRA - top;
    if (t->near) {
        floats scale = power(smaller(base, all(254)));
        for (uint32_t k = from; k < to; k++)
            sum += __builtin_convertvector(t->a[k].value * t->b[k].value[column] * scale, ints);
    } else {
        for (uint32_t k = from; k < to; k++) {
            ints e = larger(base + t->a[k].exponent + t->b[k].exponent[column], all(0));
            sum += __builtin_convertvector(t->a[k].value * t->b[k].value[column] * power(e), ints);
        }
    }
    ints addend = __builtin_convertvector(c->value * power(larger(base + c->exponent, all(0))), ints);
    /* 16 products of less than 2^27 and an addend below 2^26: the magnitude fits 32 bits, the sign is that of half the sum */
    ints negative = ((sum >> 1) + (addend >> 1) + (sum & addend & 1)) >> 31;
    words total = (words)sum + (words)addend, magnitude = (total ^ (words)negative) - (words)negative;
    words sign = (words)negative & 0x80000000u;
    return f16 ? round_f16(magnitude, top, sign) : round_f32(magnitude, top, sign);
}

/* d = the sum of products from <= k < to, and c. c_type and d_type: f16 or f32. */
INLINE void multiply_group(struct tile *t, uint32_t from, uint32_t to, const words *c, enum bl_kir_matrix_type c_type, words *d,
                           enum bl_kir_matrix_type d_type)
{
    bool f16 = d_type == BL_KIR_MATRIX_F16;
    for (uint32_t column = 0; column < COLUMNS; column++) {
        struct numbers addend =
            c_type == BL_KIR_MATRIX_F16 ? decode(c[column], BL_KIR_MATRIX_F16) : decode(c[column], BL_KIR_MATRIX_F32);
        words result = f16 ? sum_column(t, from, to, column, &addend, true) : sum_column(t, from, to, column, &addend, false);
        if (t->special || any(addend.special))
            for (uint32_t row = 0; row < ROWS; row++) {
                uint32_t special;
                if (special_result(t, from, to, row, column, &addend, f16, &special))
                    result[row] = special;
            }
        d[column] = result;
    }
}

/* f32 to f16 to nearest even. */
INLINE words f32_to_f16(words bits)
{
    words sign = bits & 0x80000000u;
    ints e = (ints)(bits >> 23 & 255), special = less(all(254), e), nan = special & nonzero((ints)(bits & 0x7fffff));
    words result = round_f16((bits & 0x7fffff) | (words)(nonzero(e) & 0x800000), e - 125, sign) | sign >> 16;
    result = (words)choose(special, (ints)(sign >> 16 | 0x7c00), (ints)result);
    return (words)choose(nan, all(0x7fff), (ints)result);
}

INLINE words f16_to_f32(words bits)
{
    struct numbers n = decode(bits, BL_KIR_MATRIX_F16);
    ints infinity = all(0x7f800000), least = all(-100); /* least: of a zero any exponent will do */
    ints number = (ints)(n.value * power(larger(n.exponent, least) + 127));
    return (words)choose(nonzero(n.special), (ints)n.value | infinity | (n.special & 2) << 20, number);
}

/* x + y to nearest even. A sum of two f16 in f32 is nearer to the exact one than the rounding to f16 can see. */
INLINE words add(words x, words y, bool f16)
{
    floats sum = f16 ? (floats)f16_to_f32(x) + (floats)f16_to_f32(y) : (floats)x + (floats)y;
    words bits = (words)sum;
    ints nan = less(all(0x7f800000), (ints)(bits & 0x7fffffff));
    return f16 ? f32_to_f16(bits) : (words)choose(nan, all(0x7fffffff), (ints)bits);
}

/* ---- fragments (PTX ISA, 9.7.14.5): a lane is a group (of 8) and a place (of 4) in it ------------------- */

/* 32-bit words of A by column of words: rows of groups, the second half of them from every other word. */
INLINE void gather_a(const uint32_t *in, uint32_t count, bool m16, words *out)
{
    uint32_t halves = m16 ? 2 : 1;
    for (uint32_t w = 0; w < count; w++)
        for (uint32_t place = 0; place < 4; place++) {
            if (!m16)
                out[w * 4 + place] = (words){0};
            for (uint32_t group = 0; group < 8; group++)
                out[w / halves * 4 + place][w % halves * 8 + group] = in[w * BL_WARP + group * 4 + place];
        }
}

INLINE void gather_c(const uint32_t *in, bool f16, bool m16, words *out)
{
    uint32_t halves = m16 ? 2 : 1;
    for (uint32_t half = 0; half < halves; half++)
        for (uint32_t column = 0; column < COLUMNS; column++)
            for (uint32_t group = 0; group < 8; group++) {
                uint32_t lane = group * 4 + column / 2;
                out[column][half * 8 + group] =
                    f16 ? in[half * BL_WARP + lane] >> column % 2 * 16 & 0xffff : in[(half * 2 + column % 2) * BL_WARP + lane];
            }
}

INLINE void scatter_d(const words *in, bool f16, bool m16, uint32_t *out)
{
    uint32_t halves = m16 ? 2 : 1;
    for (uint32_t half = 0; half < halves; half++)
        for (uint32_t column = 0; column < COLUMNS; column += 2)
            for (uint32_t group = 0; group < 8; group++) {
                uint32_t lane = group * 4 + column / 2, low = in[column][half * 8 + group], high = in[column + 1][half * 8 + group];
                if (f16) {
                    out[half * BL_WARP + lane] = low | high << 16;
                } else {
                    out[half * 2 * BL_WARP + lane] = low;
                    out[(half * 2 + 1) * BL_WARP + lane] = high;
                }
            }
}

/* Where column `column` of the kept half of A stands in A: metadata has 4 bits for two that are kept (of tf32: one), 16 bits of
 * them in a lane for a row of the first eight, then for one of the others. A place here is an element, of 4-bit types a pair. */
static uint32_t sparse_place(const uint32_t *metadata, uint64_t code, uint32_t row, uint32_t column)
{
    enum bl_kir_matrix_type type = BL_KIR_MATRIX_A(code);
    uint32_t pairs = formats[type].bits == 4 ? 2 : 1, unit = column / pairs, kept = type == BL_KIR_MATRIX_TF32 ? 1 : 2;
    uint32_t chunk = unit / kept, chunks = BL_KIR_MATRIX_K(code) / pairs / kept / 2, lanes = BL_MAX(chunks / 4, 1u);
    uint32_t lane = row % 8 * 4 + BL_KIR_MATRIX_SELECTOR(code) * lanes, shift;
    if (formats[type].bits < 16) {
        lane += lanes == 4 ? chunk / 8 * 2 + row / 8 : row / 8;
        shift = chunk % 8 * 4;
    } else {
        lane += chunk / 4;
        shift = row / 8 * 16 + chunk % 4 * 4;
    }
    uint32_t bits = metadata[lane % BL_WARP] >> shift & 15;
    if (kept == 1)
        return chunk * 2 + (bits >> 1 & 1);
    return (chunk * 4 + (bits >> unit % 2 * 2 & 3)) * pairs + column % pairs;
}

/* ---- floats -------------------------------------------------------------------------------------------- */

/* Where column k of the operands stands. An H200 makes fp8 products by instructions for f16, in two groups: of each four columns
 * the first two, then the others; of a sparse matrix of each eight the first four, then the others. */
INLINE uint32_t place_of(uint32_t k, uint32_t count, uint32_t bits, bool sparse)
{
    if (bits != 8)
        return k;
    return sparse ? (k >> 2 & 1) * count / 2 + k / 8 * 4 + k % 4 : (k >> 1 & 1) * count / 2 + k / 4 * 2 + k % 2;
}

/* Elements of `count` columns of words. plain: in their order. */
INLINE void decode_side(const words *in, uint32_t count, enum bl_kir_matrix_type type, bool plain, bool sparse, struct numbers *out)
{
    uint32_t bits = formats[type].bits, each = 32 / bits;
    for (uint32_t w = 0; w < count; w++)
        for (uint32_t n = 0; n < each; n++) {
            uint32_t k = w * each + n;
            words x = bits == 32 ? in[w] : (in[w] >> n * bits) & ((1u << bits % 32) - 1);
            out[plain ? k : place_of(k, count * each, bits, sparse)] = decode(x, type);
        }
}

INLINE void decode_any(const words *in, uint32_t count, enum bl_kir_matrix_type type, bool plain, bool sparse, struct numbers *out)
{
    switch (type) {
    case BL_KIR_MATRIX_F16:
        decode_side(in, count, BL_KIR_MATRIX_F16, true, sparse, out);
        break;
    case BL_KIR_MATRIX_BF16:
        decode_side(in, count, BL_KIR_MATRIX_BF16, true, sparse, out);
        break;
    case BL_KIR_MATRIX_TF32:
        decode_side(in, count, BL_KIR_MATRIX_TF32, true, sparse, out);
        break;
    case BL_KIR_MATRIX_E4M3:
        decode_side(in, count, BL_KIR_MATRIX_E4M3, plain, sparse, out);
        break;
    default:
        decode_side(in, count, BL_KIR_MATRIX_E5M2, plain, sparse, out);
        break;
    }
}

INLINE ints is_far(ints exponent)
{
    return less(all(NEAR), exponent) | (less(exponent, all(-NEAR)) & nonzero(exponent - NO_EXPONENT));
}

/* Whether all numbers are so near 1 that products stay in the range of float; makes `value` the whole number then. */
INLINE void find_range(struct tile *t)
{
    ints special = {0}, far = {0};
    for (uint32_t k = 0; k < t->k; k++) {
        special |= (t->a[k].special | t->b[k].special) & 3;
        far |= is_far(t->a[k].exponent) | is_far(t->b[k].exponent);
    }
    t->special = any(special);
    t->near = !any(far);
    for (uint32_t k = 0; k < t->k && t->near; k++) {
        ints least = all(-126);
        t->a[k].value *= power(larger(t->a[k].exponent, least) + 127);
        t->b[k].value *= power(larger(t->b[k].exponent, least) + 127);
    }
}

static void expand(struct tile *t, uint64_t code, const uint32_t *metadata)
{
    struct numbers kept[MOST_K / 2], none = {.exponent = all(NO_EXPONENT), .special = all(4)};
    uint32_t count = t->k / 2;

    memcpy(kept, t->a, count * sizeof(kept[0]));
    for (uint32_t k = 0; k < t->k; k++)
        t->a[k] = none;
    for (uint32_t column = 0; column < count; column++)
        for (uint32_t row = 0; row < ROWS; row++) {
            uint32_t k = sparse_place(metadata, code, row, column);
            struct numbers *to = &t->a[place_of(k, t->k, formats[BL_KIR_MATRIX_A(code)].bits, true)];
            to->value[row] = kept[column].value[row];
            to->exponent[row] = kept[column].exponent[row];
            to->special[row] = kept[column].special[row];
        }
}

struct operands {
    const uint32_t *a, *b, *c, *metadata;
    uint32_t a_words, b_words;
};

INLINE void multiply_floats(uint64_t code, const struct operands *o, uint32_t *results)
{
    enum bl_kir_matrix_type a = BL_KIR_MATRIX_A(code), b = BL_KIR_MATRIX_B(code), c = BL_KIR_MATRIX_C(code),
                            d = BL_KIR_MATRIX_D(code);
    bool sparse = BL_KIR_MATRIX_FLAGS(code) & BL_KIR_MATRIX_SPARSE;
    struct tile t;
    words gathered[MOST_K / 2];

    t.k = BL_KIR_MATRIX_K(code);
    gather_a(o->a, o->a_words, true, gathered);
    decode_any(gathered, o->a_words * 2, a, sparse, sparse, t.a);
    if (sparse)
        expand(&t, code, o->metadata);
    gather_a(o->b, o->b_words, false, gathered);
    decode_any(gathered, o->b_words * 4, b, false, sparse, t.b);
    find_range(&t);
    gather_c(o->c, c == BL_KIR_MATRIX_F16, true, t.c);
    for (uint32_t column = 0; column < COLUMNS && c == BL_KIR_MATRIX_F16 && d == BL_KIR_MATRIX_F32; column++)
        t.c[column] = f16_to_f32(t.c[column]); /* subnormal numbers become normal ones before the sum */
    if (d == BL_KIR_MATRIX_F32)
        c = d;
    if (formats[a].bits == 8) {
        /* the addend comes last, by a plain addition */
        words zero[COLUMNS] = {{0}};
        multiply_group(&t, 0, t.k / 2, zero, d, t.d, d);
        multiply_group(&t, t.k / 2, t.k, t.d, d, t.d, d);
        for (uint32_t column = 0; column < COLUMNS; column++)
            t.d[column] = add(t.d[column], t.c[column], d == BL_KIR_MATRIX_F16);
    } else if (c == BL_KIR_MATRIX_F32 && d == BL_KIR_MATRIX_F16) { /* a product in f32, then a conversion */
        multiply_group(&t, 0, t.k, t.c, c, t.d, BL_KIR_MATRIX_F32);
        for (uint32_t column = 0; column < COLUMNS; column++)
            t.d[column] = f32_to_f16(t.d[column]);
    } else {
        multiply_group(&t, 0, t.k, t.c, c, t.d, d);
    }
    scatter_d(t.d, d == BL_KIR_MATRIX_F16, true, results);
}

/* ---- m8n8k4 of f16: lanes 4q to 4q+3 and 16+4q to 19+4q make product q. An H200 has no unit for it. ------ */

INLINE float number_of(uint32_t f16)
{
    words bits = {f16};
    struct numbers n = decode(bits, BL_KIR_MATRIX_F16);
    if (n.special[0])
        return copysignf(n.special[0] == 1 ? INFINITY : NAN, n.value[0]);
    return n.exponent[0] == NO_EXPONENT ? n.value[0] : ldexpf(n.value[0], n.exponent[0]);
}

/* Row and column in its product of element n of C or D in a lane. */
INLINE void quad_place(uint32_t lane, uint32_t n, bool f16, uint32_t *row, uint32_t *column)
{
    *row = (f16 ? lane & 3 : (lane & 1) + (n & 2)) + lane / 16 * 4;
    *column = f16 ? n : (n & 4) + (lane & 2) + (n & 1);
}

/* One element: of f32 a chain of products and then the addend; of f16 the addend with two products, then with the two others. */
INLINE words quad_sum(const float *a, const float *b, float c, bool f16)
{
    float low = fmaf(a[1], b[COLUMNS], a[0] * b[0]);
    if (!f16)
        return add((words)((floats){0} + fmaf(a[3], b[3 * COLUMNS], fmaf(a[2], b[2 * COLUMNS], low))), (words)((floats){0} + c),
                   false);
    return f32_to_f16((words)((floats){0} + (c + low + fmaf(a[3], b[3 * COLUMNS], a[2] * b[2 * COLUMNS]))));
}

static void multiply_quads(uint64_t code, const struct operands *o, uint32_t *results)
{
    bool a_column = BL_KIR_MATRIX_FLAGS(code) & BL_KIR_MATRIX_A_COLUMN,
         b_column = BL_KIR_MATRIX_FLAGS(code) & BL_KIR_MATRIX_B_COLUMN;
    bool c16 = BL_KIR_MATRIX_C(code) == BL_KIR_MATRIX_F16, d16 = BL_KIR_MATRIX_D(code) == BL_KIR_MATRIX_F16;
    float a[4][8][4], b[4][4][8], c[4][8][8];
    uint32_t row, column;

    for (uint32_t lane = 0; lane < BL_WARP; lane++) {
        uint32_t quad = lane / 4 % 4, place = lane % 4, half = lane / 16 * 4;
        for (uint32_t n = 0; n < 4; n++) {
            float x = number_of(o->a[n / 2 * BL_WARP + lane] >> n % 2 * 16 & 0xffff);
            float y = number_of(o->b[n / 2 * BL_WARP + lane] >> n % 2 * 16 & 0xffff);
            a[quad][a_column ? n + half : place + half][a_column ? place : n] = x;
            b[quad][b_column ? n : place][b_column ? place + half : n + half] = y;
        }
        for (uint32_t n = 0; n < 8; n++) {
            quad_place(lane, n, c16, &row, &column);
            if (c16)
                c[quad][row][column] = number_of(o->c[n / 2 * BL_WARP + lane] >> n % 2 * 16 & 0xffff);
            else
                memcpy(&c[quad][row][column], &o->c[n * BL_WARP + lane], sizeof(float));
        }
    }
    for (uint32_t lane = 0; lane < BL_WARP; lane++)
        for (uint32_t n = 0; n < 8; n++) {
            uint32_t quad = lane / 4 % 4;
            quad_place(lane, n, d16, &row, &column);
            words sum = quad_sum(a[quad][row], &b[quad][0][column], c[quad][row][column], d16);
            if (!d16)
                results[n * BL_WARP + lane] = sum[0];
            else if (n % 2 == 0)
                results[n / 2 * BL_WARP + lane] = sum[0];
            else
                results[n / 2 * BL_WARP + lane] |= sum[0] << 16;
        }
}

/* ---- integers: sums below 2^24, so floats are exact ------------------------------------------------------------- */

INLINE void decode_integers(const words *in, uint32_t count, enum bl_kir_matrix_type type, floats *out)
{
    uint32_t bits = formats[type].bits, each = 32 / bits;
    bool is_signed = type == BL_KIR_MATRIX_S8 || type == BL_KIR_MATRIX_S4;
    for (uint32_t w = 0; w < count; w++)
        for (uint32_t n = 0; n < each; n++) {
            words top = in[w] << (32 - bits * (n + 1));
            out[w * each + n] = is_signed ? __builtin_convertvector((ints)top >> (32 - bits), floats)
                                          : __builtin_convertvector((ints)(top >> (32 - bits)), floats);
        }
}

INLINE words add_integers(words x, words y, bool saturate)
{
    words sum = x + y;
    ints over = (ints)((sum ^ x) & (sum ^ y)) >> 31, limit = ((ints)x >> 31) ^ 0x7fffffff;
    return saturate ? (words)choose(over, limit, (ints)sum) : sum;
}

INLINE void multiply_integers(uint64_t code, const struct operands *o, uint32_t *results)
{
    uint32_t flags = BL_KIR_MATRIX_FLAGS(code), k_count = BL_KIR_MATRIX_K(code);
    bool m16 = flags & BL_KIR_MATRIX_M16, sparse = flags & BL_KIR_MATRIX_SPARSE;
    floats a[MOST_K] = {{0}}, b[MOST_K];
    words gathered[MOST_K / 4] = {{0}}, c[COLUMNS] = {{0}};

    gather_a(o->a, o->a_words, m16, gathered);
    decode_integers(gathered, o->a_words * (m16 ? 2 : 4), BL_KIR_MATRIX_A(code), a);
    if (sparse) {
        floats kept[MOST_K / 2];
        memcpy(kept, a, k_count / 2 * sizeof(a[0]));
        memset(a, 0, sizeof(a));
        for (uint32_t column = 0; column < k_count / 2; column++)
            for (uint32_t row = 0; row < ROWS; row++)
                a[sparse_place(o->metadata, code, row, column)][row] = kept[column][row];
    }
    gather_a(o->b, o->b_words, false, gathered);
    decode_integers(gathered, o->b_words * 4, BL_KIR_MATRIX_B(code), b);
    gather_c(o->c, false, m16, c);
    for (uint32_t column = 0; column < COLUMNS; column++) {
        floats sum = {0};
        for (uint32_t k = 0; k < k_count; k++)
            sum += a[k] * b[k][column];
        c[column] = add_integers((words) __builtin_convertvector(sum, ints), c[column], flags & BL_KIR_MATRIX_SATURATE);
    }
    scatter_d(c, false, m16, results);
}

INLINE words count_ones(words x)
{
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

INLINE void multiply_bits(uint64_t code, const struct operands *o, uint32_t *results)
{
    uint32_t flags = BL_KIR_MATRIX_FLAGS(code), count = BL_KIR_MATRIX_K(code) / 32;
    bool m16 = flags & BL_KIR_MATRIX_M16, both = flags & BL_KIR_MATRIX_AND;
    words a[8] = {{0}}, b[8] = {{0}}, c[COLUMNS] = {{0}};

    gather_a(o->a, o->a_words, m16, a);
    gather_a(o->b, o->b_words, false, b);
    gather_c(o->c, false, m16, c);
    for (uint32_t column = 0; column < COLUMNS; column++)
        for (uint32_t w = 0; w < count; w++)
            c[column] += count_ones(both ? a[w] & b[w][column] : a[w] ^ b[w][column]);
    scatter_d(c, false, m16, results);
}

/* ---- f64: fused multiply-additions in the order of k -------------------------------------------------------------- */

static double wide(const uint32_t *in, uint32_t n, uint32_t lane)
{
    uint64_t bits = in[n * 2 * BL_WARP + lane] | (uint64_t)in[(n * 2 + 1) * BL_WARP + lane] << 32;
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Of NaN factors and addends b's goes on before the addend's before a's, quiet. */
INLINE double fused(double a, double b, double c)
{
    double sum = fma(a, b, c), nan = isnan(b) ? b : isnan(c) ? c : a;
    uint64_t bits = 0xfff8000000000000;
    if (!isnan(sum))
        return sum;
    if (isnan(nan)) {
        memcpy(&bits, &nan, sizeof(bits));
        bits |= 0x0008000000000000;
    }
    memcpy(&sum, &bits, sizeof(sum));
    return sum;
}

INLINE void multiply_doubles(uint64_t code, const struct operands *o, uint32_t *results)
{
    uint32_t halves = BL_KIR_MATRIX_FLAGS(code) & BL_KIR_MATRIX_M16 ? 2 : 1, k_count = BL_KIR_MATRIX_K(code);
    for (uint32_t half = 0; half < halves; half++)
        for (uint32_t lane = 0; lane < BL_WARP; lane++)
            for (uint32_t side = 0; side < 2; side++) {
                double sum = wide(o->c, half * 2 + side, lane);
                uint32_t column = lane % 4 * 2 + side;
                uint64_t bits;
                for (uint32_t k = 0; k < k_count; k++)
                    sum =
                        fused(wide(o->a, k / 4 * halves + half, lane / 4 * 4 + k % 4), wide(o->b, k / 4, column * 4 + k % 4), sum);
                memcpy(&bits, &sum, sizeof(bits));
                results[(half * 2 + side) * 2 * BL_WARP + lane] = (uint32_t)bits;
                results[((half * 2 + side) * 2 + 1) * BL_WARP + lane] = (uint32_t)(bits >> 32);
            }
}

CLONES static void doubles(uint64_t code, const struct operands *o, uint32_t *results)
{
    static const int modes[] = {
        [BL_KIR_RN] = FE_TONEAREST, [BL_KIR_RZ] = FE_TOWARDZERO, [BL_KIR_RM] = FE_DOWNWARD, [BL_KIR_RP] = FE_UPWARD};
    fesetround(modes[BL_KIR_MATRIX_ROUND(code) & 3]);
    multiply_doubles(code, o, results);
    fesetround(FE_TONEAREST);
}

/* ---- what kernels call ----------------------------------------------------------------------------------------------- */

CLONES static void all_but_doubles(uint64_t code, const struct operands *o, uint32_t *results)
{
    switch (BL_KIR_MATRIX_A(code)) {
    case BL_KIR_MATRIX_F16:
    case BL_KIR_MATRIX_BF16:
    case BL_KIR_MATRIX_TF32:
    case BL_KIR_MATRIX_E4M3:
    case BL_KIR_MATRIX_E5M2:
        if (BL_KIR_MATRIX_FLAGS(code) & BL_KIR_MATRIX_QUADS)
            multiply_quads(code, o, results);
        else
            multiply_floats(code, o, results);
        break;
    case BL_KIR_MATRIX_B1:
        multiply_bits(code, o, results);
        break;
    default:
        multiply_integers(code, o, results);
    }
}

/* in, results: the words of a, b, c (and metadata), each 32 lanes, one after another. */
void bl_cpu_help_matrix(struct bl_cpu_warp *warp, uint64_t code, const uint32_t *in, uint32_t *results)
{
    uint32_t flags = BL_KIR_MATRIX_FLAGS(code), k = BL_KIR_MATRIX_K(code), rows = flags & BL_KIR_MATRIX_M16 ? 16 : 8;
    struct operands o = {.a = in};
    uint32_t c_words;

    (void)warp; /* every helper takes it */
    if (flags & BL_KIR_MATRIX_QUADS) {
        o.a_words = o.b_words = 2;
        c_words = BL_KIR_MATRIX_C(code) == BL_KIR_MATRIX_F16 ? 4 : 8;
    } else {
        o.a_words = rows * k * formats[BL_KIR_MATRIX_A(code)].bits / 1024 / (flags & BL_KIR_MATRIX_SPARSE ? 2 : 1);
        o.b_words = COLUMNS * k * formats[BL_KIR_MATRIX_B(code)].bits / 1024;
        c_words = rows * COLUMNS * formats[BL_KIR_MATRIX_C(code)].bits / 1024;
    }
    o.b = in + o.a_words * BL_WARP;
    o.c = o.b + o.b_words * BL_WARP;
    o.metadata = o.c + c_words * BL_WARP;
    if (BL_KIR_MATRIX_A(code) == BL_KIR_MATRIX_F64)
        doubles(code, &o, results);
    else
        all_but_doubles(code, &o, results);
}
