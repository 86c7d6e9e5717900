/* bl_cg_math against references in plain C: each op becomes a function at width 1 and at 32 lanes, compiled for several CPUs, run
 * over special and random values, and compared bit by bit. The objects must not refer to any symbol. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <math.h>
#include <stdio.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "math_reference.h"
#include "target/cpu/codegen.h"

enum { LANES = 32, ROUNDS = 24, MAX_IN = 4, MAX_OUT = 2, BYTES_PER_WORD = 8 };

struct spec;
typedef void (*reference_function)(const struct spec *spec, const uint64_t *in, uint64_t *out);
/* True where got is good enough. */
typedef bool (*judge_function)(const struct spec *spec, const uint64_t *in, uint64_t got);

struct spec {
    enum bl_kir_op op;
    enum bl_kir_type in[MAX_IN], out[MAX_OUT];
    struct bl_kir_attr attr;
    reference_function reference;
    judge_function judge; /* instead of reference: for approximations */
    bool has_constant;    /* the last operand is this constant */
    uint64_t constant;
};

static BL_ARRAY(struct spec) specs;
static struct bl_arena arena;
static bool fast_math; /* of the code under test */

/* ---- inputs ------------------------------------------------------------------------------------- */

static uint64_t state = 0x9e3779b97f4a7c15;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * UINT64_C(0x2545f4914f6cdd1d);
}

static uint64_t random_integer(unsigned bits)
{
    static const uint64_t specials[] = {0,  1,  2,  3,  7,   8,   15,  16,  24,     31,     32,
                                        33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff};
    uint64_t r = next_random(), mask = bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;

    switch (r % 8) {
    case 0:
        return specials[r / 8 % BL_LEN(specials)] & mask;
    case 1:
        return ~specials[r / 8 % BL_LEN(specials)] & mask;
    case 2: /* near a power of two */
        return ((UINT64_C(1) << (r / 8 % bits)) + r / 1024 % 3 - 1) & mask;
    case 3:
        return r / 8 % 72 & mask;
    case 4:
        return (next_random() >> (r / 8 % 64)) & mask;
    case 5:
        return -(next_random() >> (r / 8 % 64)) & mask;
    default:
        return next_random() & mask;
    }
}

/* A float near another one's exponent, or anywhere. */
static uint64_t random_float(enum bl_kir_type type, uint64_t other)
{
    uint64_t r = next_random(), sign = ref_sign(type), infinity = ref_infinity(type), mask = 2 * sign - 1,
             normal = ref_smallest_normal(type);
    uint64_t one = (infinity >> 1) & ~(normal - 1), value;

    switch (r % 12) {
    case 0:
        value = 0;
        break;
    case 1:
        value = r / 16 % 4 == 0   ? infinity
                : r / 16 % 4 == 1 ? infinity - 1
                : r / 16 % 4 == 2 ? infinity + 1 + r / 64 % (normal - 1)
                                  : normal;
        break;
    case 2:
        value = r / 16 % 4 == 0 ? 1 : r / 16 % 4 == 1 ? normal - 1 : next_random() % normal;
        break;
    case 3:
        value = one + (r / 16 % 5 - 2);
        break;
    case 4: /* a number of few bits */
        value = (next_random() & mask & ~(sign - 1)) | (next_random() & (infinity - 1) & ~(normal / 16 - 1));
        value &= sign - 1;
        break;
    case 5:
    case 6: /* small exponents about one */
        value = one + (r / 16 % 41 - 20) * normal + next_random() % normal;
        break;
    case 7:
    case 8: /* the other's neighbourhood */
        value = (other & (sign - 1)) + (r / 16 % 7 - 3) * (r / 256 % 2 ? normal : 1);
        break;
    case 9: /* exponents that sum near the lowest */
        value = (one / 2 + (r / 16 % 61 - 30) * normal + next_random() % normal);
        break;
    default:
        value = next_random();
        break;
    }
    value &= sign - 1;
    return value | (r >> 60 & 1 ? sign : 0);
}

static uint64_t random_value(enum bl_kir_type type, uint64_t other)
{
    switch (type) {
    case BL_KIR_PRED:
        return next_random() >> 63;
    case BL_KIR_F16:
    case BL_KIR_BF16:
    case BL_KIR_F32:
    case BL_KIR_F64:
        return random_float(type, other);
    case BL_KIR_F16X2:
        return random_float(BL_KIR_F16, other & 0xffff) | random_float(BL_KIR_F16, other >> 16) << 16;
    case BL_KIR_BF16X2:
        return random_float(BL_KIR_BF16, other & 0xffff) | random_float(BL_KIR_BF16, other >> 16) << 16;
    default:
        return random_integer(bl_kir_type_bits(type));
    }
}

/* ---- integer references -------------------------------------------------------------------------- */

static uint64_t mask_of(unsigned bits)
{
    return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

static int64_t as_signed(uint64_t x, unsigned bits)
{
    return (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static uint64_t clamp_signed(__int128 x, unsigned bits)
{
    __int128 most = ((__int128)1 << (bits - 1)) - 1;
    return (uint64_t)(x > most ? most : x < -most - 1 ? -most - 1 : x);
}

static uint64_t ref_prmt(uint32_t a, uint32_t b, uint32_t c, enum bl_kir_prmt mode)
{
    uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0, n = c & 3;

    for (uint32_t i = 0; i < 4; i++) {
        uint32_t from, sign = 0, byte;
        switch (mode) {
        case BL_KIR_PRMT_F4E:
            from = n + i;
            break;
        case BL_KIR_PRMT_B4E:
            from = (n - i) & 7;
            break;
        case BL_KIR_PRMT_RC8:
            from = n;
            break;
        case BL_KIR_PRMT_ECL:
            from = BL_MAX(n, i);
            break;
        case BL_KIR_PRMT_ECR:
            from = BL_MIN(n, i);
            break;
        case BL_KIR_PRMT_RC16:
            from = (n & 1) * 2 + (i & 1);
            break;
        default:
            from = c >> (4 * i) & 7;
            sign = c >> (4 * i) & 8;
            break;
        }
        byte = (uint32_t)(bytes >> (8 * from)) & 0xff;
        if (sign)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << (8 * i);
    }
    return result;
}

static uint32_t ref_fns(uint32_t mask, uint32_t base, int32_t offset)
{
    int64_t place = base, step = offset > 0 ? 1 : -1, count = offset < 0 ? -(int64_t)offset : offset;

    if (base > 31)
        return UINT32_MAX;
    if (offset == 0)
        return mask >> base & 1 ? base : UINT32_MAX;
    for (; place >= 0 && place < 32; place += step)
        if (mask >> place & 1 && --count == 0)
            return (uint32_t)place;
    return UINT32_MAX;
}

static uint32_t ref_dot(const struct spec *s, uint32_t a, uint32_t b, uint32_t c)
{
    bool four = s->op == BL_KIR_OP_dp4a;

    for (unsigned i = 0; i < (four ? 4 : 2); i++) {
        int64_t x, y = b >> 8 * (i + (!four && s->attr.hi ? 2 : 0)) & 0xff;
        x = four ? a >> 8 * i & 0xff : a >> 16 * i & 0xffff;
        x = s->attr.a_signed ? as_signed((uint64_t)x, four ? 8 : 16) : x;
        y = s->attr.b_signed ? as_signed((uint64_t)y, 8) : y;
        c += (uint32_t)(x * y);
    }
    return c;
}

/* Of 64 bits more than the low byte counts. */
static unsigned ref_count(uint64_t count, unsigned bits)
{
    return bits == 64 ? (unsigned)BL_MIN(count, UINT64_C(64)) : count & 0xff;
}

/* PTX's own loops over bits. */
static uint64_t ref_bfe(uint64_t a, unsigned position, unsigned length, unsigned bits, bool is_signed)
{
    unsigned top = bits - 1, last = BL_MIN(position + length - 1, top);
    uint64_t fill = is_signed && length ? a >> last & 1 : 0, d = 0;

    for (unsigned i = 0; i < bits; i++)
        d |= (i < length && position + i <= top ? a >> (position + i) & 1 : fill) << i;
    return d;
}

static uint64_t ref_bfi(uint64_t a, uint64_t b, unsigned position, unsigned length, unsigned bits)
{
    for (unsigned i = 0; i < length && position + i < bits; i++)
        b = (b & ~(UINT64_C(1) << (position + i))) | (a >> i & 1) << (position + i);
    return b;
}

static uint64_t ref_find(uint64_t a, unsigned bits, bool is_signed, bool shift)
{
    if (is_signed && a >> (bits - 1))
        a = ~a & mask_of(bits);
    for (unsigned i = bits; i-- > 0;)
        if (a >> i & 1)
            return shift ? bits - 1 - i : i;
    return UINT32_MAX;
}

static uint64_t ref_szext(uint64_t a, uint64_t n, bool wrap, bool is_signed)
{
    n = wrap ? n & 31 : n;
    if (n >= 32)
        return a;
    if (n == 0)
        return 0;
    return is_signed ? (uint64_t)as_signed(a, (unsigned)n) : a & mask_of((unsigned)n);
}

static uint64_t ref_bmsk(uint64_t a, uint64_t b, bool wrap)
{
    uint64_t mask;
    a = wrap ? a & 31 : a;
    b = wrap ? b & 31 : b;
    mask = b >= 32 ? mask_of(32) : mask_of((unsigned)b);
    return a >= 32 ? 0 : mask << a;
}

static bool ref_icmp(enum bl_kir_cmp cmp, uint64_t a, uint64_t b, unsigned bits)
{
    int64_t x = as_signed(a, bits), y = as_signed(b, bits);

    switch (cmp) {
    case BL_KIR_EQ:
        return a == b;
    case BL_KIR_NE:
        return a != b;
    case BL_KIR_LT:
        return x < y;
    case BL_KIR_LE:
        return x <= y;
    case BL_KIR_GT:
        return x > y;
    case BL_KIR_GE:
        return x >= y;
    case BL_KIR_LO:
        return a < b;
    case BL_KIR_LS:
        return a <= b;
    case BL_KIR_HI:
        return a > b;
    default:
        return a >= b;
    }
}

static uint64_t reverse(uint64_t a, unsigned bits)
{
    uint64_t d = 0;
    for (unsigned i = 0; i < bits; i++)
        d |= (a >> i & 1) << (bits - 1 - i);
    return d;
}

static void ref_integer(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    unsigned bits = bl_kir_type_bits(s->in[0]);
    uint64_t a = in[0], b = in[1], c = in[2], x = 0;
    int64_t sa = as_signed(a, bits), sb = as_signed(b, bits);
    unsigned __int128 wide;

    switch (s->op) {
    case BL_KIR_OP_add:
        x = s->attr.sat ? clamp_signed((__int128)sa + sb, bits) : a + b;
        break;
    case BL_KIR_OP_sub:
        x = s->attr.sat ? clamp_signed((__int128)sa - sb, bits) : a - b;
        break;
    case BL_KIR_OP_mul:
        x = a * b;
        break;
    case BL_KIR_OP_mulhi_s:
        x = (uint64_t)(((__int128)sa * sb) >> bits);
        break;
    case BL_KIR_OP_mulhi_u:
        x = (uint64_t)(((unsigned __int128)a * b) >> bits);
        break;
    case BL_KIR_OP_div_s:
        x = sb == 0 ? UINT64_MAX : sb == -1 ? -(uint64_t)sa : (uint64_t)(sa / sb);
        break;
    case BL_KIR_OP_div_u:
        x = b == 0 ? UINT64_MAX : a / b;
        break;
    case BL_KIR_OP_rem_s:
        x = sb == 0 ? UINT64_MAX : sb == -1 ? 0 : (uint64_t)(sa % sb);
        break;
    case BL_KIR_OP_rem_u:
        x = b == 0 ? UINT64_MAX : a % b;
        break;
    case BL_KIR_OP_min_s:
        x = (uint64_t)BL_MIN(sa, sb);
        break;
    case BL_KIR_OP_max_s:
        x = (uint64_t)BL_MAX(sa, sb);
        break;
    case BL_KIR_OP_min_u:
        x = BL_MIN(a, b);
        break;
    case BL_KIR_OP_max_u:
        x = BL_MAX(a, b);
        break;
    case BL_KIR_OP_abs:
        x = sa < 0 ? -a : a;
        break;
    case BL_KIR_OP_neg:
        x = -a;
        break;
    case BL_KIR_OP_add_carry:
        wide = (unsigned __int128)a + b + c;
        x = (uint64_t)wide;
        out[1] = (uint64_t)(wide >> bits) & 1;
        break;
    case BL_KIR_OP_sub_borrow:
        wide = (unsigned __int128)a - b - c;
        x = (uint64_t)wide;
        out[1] = (uint64_t)(wide >> bits) & 1;
        break;
    case BL_KIR_OP_and:
        x = a & b;
        break;
    case BL_KIR_OP_or:
        x = a | b;
        break;
    case BL_KIR_OP_xor:
        x = a ^ b;
        break;
    case BL_KIR_OP_not:
        x = ~a;
        break;
    case BL_KIR_OP_shl:
        x = b >= bits ? 0 : a << b;
        break;
    case BL_KIR_OP_lshr:
        x = b >= bits ? 0 : a >> b;
        break;
    case BL_KIR_OP_ashr:
        x = (uint64_t)(sa >> BL_MIN(b, bits - 1));
        break;
    case BL_KIR_OP_funnel_l:
        c = s->attr.wrap ? c & 31 : BL_MIN(c, 32);
        x = (b << 32 | a) << c >> 32;
        x = c == 32 ? a : x;
        break;
    case BL_KIR_OP_funnel_r:
        c = s->attr.wrap ? c & 31 : BL_MIN(c, 32);
        x = (b << 32 | a) >> c;
        break;
    case BL_KIR_OP_popc:
        x = (uint64_t)__builtin_popcountll(a);
        break;
    case BL_KIR_OP_clz:
        x = a ? (uint64_t)__builtin_clzll(a) - (64 - bits) : bits;
        break;
    case BL_KIR_OP_brev:
        x = reverse(a, bits);
        break;
    case BL_KIR_OP_bfind_s:
    case BL_KIR_OP_bfind_u:
        x = ref_find(a, bits, s->op == BL_KIR_OP_bfind_s, s->attr.shiftamt);
        break;
    case BL_KIR_OP_fns:
        x = ref_fns((uint32_t)a, (uint32_t)b, (int32_t)c);
        break;
    case BL_KIR_OP_bfe_s:
    case BL_KIR_OP_bfe_u:
        x = ref_bfe(a, ref_count(b, bits), ref_count(c, bits), bits, s->op == BL_KIR_OP_bfe_s);
        break;
    case BL_KIR_OP_bfi:
        x = ref_bfi(a, b, ref_count(c, bits), ref_count(in[3], bits), bits);
        break;
    case BL_KIR_OP_bmsk:
        x = ref_bmsk(a, b, s->attr.wrap);
        break;
    case BL_KIR_OP_szext_s:
    case BL_KIR_OP_szext_u:
        x = ref_szext(a, b, s->attr.wrap, s->op == BL_KIR_OP_szext_s);
        break;
    case BL_KIR_OP_prmt:
        x = ref_prmt((uint32_t)a, (uint32_t)b, (uint32_t)c, s->attr.prmt);
        break;
    case BL_KIR_OP_lop3:
        for (unsigned i = 0; i < 32; i++)
            x |= (s->attr.imm >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
        break;
    case BL_KIR_OP_dp4a:
    case BL_KIR_OP_dp2a:
        x = ref_dot(s, (uint32_t)a, (uint32_t)b, (uint32_t)c);
        break;
    case BL_KIR_OP_icmp:
        x = ref_icmp(s->attr.cmp, a, b, bits);
        break;
    case BL_KIR_OP_select:
        x = a ? b : c;
        break;
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_bitcast:
        x = a;
        break;
    case BL_KIR_OP_sext:
        x = (uint64_t)sa;
        break;
    case BL_KIR_OP_isat_s:
    case BL_KIR_OP_isat_u: {
        unsigned to = bl_kir_type_bits(s->out[0]);
        __int128 value = s->op == BL_KIR_OP_isat_s ? (__int128)sa : (__int128)a, most = (__int128)mask_of(to);
        x = s->attr.a_signed ? clamp_signed(value, to) : value < 0 ? 0 : value > most ? (uint64_t)most : (uint64_t)value;
        break;
    }
    default:
        fail_msg("no reference for %s", bl_kir_ops[s->op].name);
    }
    out[0] = x & mask_of(bl_kir_type_bits(s->out[0]));
}

/* ---- float references ----------------------------------------------------------------------------- */

static enum bl_kir_type element_of(enum bl_kir_type type)
{
    return type == BL_KIR_F16X2 ? BL_KIR_F16 : type == BL_KIR_BF16X2 ? BL_KIR_BF16 : type;
}

static uint64_t ref_finish(const struct bl_kir_attr *attr, enum bl_kir_type type, uint64_t x)
{
    if (attr->ftz && type != BL_KIR_F64)
        x = ref_flush(type, x);
    if (attr->sat) {
        double value = ref_double(type, x);
        return !(value > 0) ? 0 : value > 1 ? ref_from_integer(type, BL_KIR_RN, false, 1) : x;
    }
    if (attr->relu && !ref_is_nan(type, x) && x & ref_sign(type))
        return 0;
    return x;
}

/* The smaller or larger of two; NaN as attr says. */
static uint64_t ref_choose(const struct bl_kir_attr *attr, enum bl_kir_type type, bool max, uint64_t a, uint64_t b)
{
    bool nan_a = ref_is_nan(type, a), nan_b = ref_is_nan(type, b), less;
    double x = ref_double(type, a), y = ref_double(type, b);

    if ((nan_a && nan_b) || (attr->nan && (nan_a || nan_b)))
        return ref_nan(type);
    if (nan_a || nan_b)
        return nan_a ? b : a;
    less = x < y || (x == y && signbit(x) && !signbit(y));
    return less != max ? a : b;
}

static uint64_t ref_minimum(const struct spec *s, enum bl_kir_type type, const uint64_t *in, unsigned count)
{
    uint64_t sign = 0, x = 0, y;

    for (unsigned i = 0; i < count; i++) {
        sign ^= in[i] & ref_sign(type);
        y = s->attr.xorsign ? in[i] & ~ref_sign(type) : in[i];
        x = i ? ref_choose(&s->attr, type, s->op == BL_KIR_OP_fmax, x, y) : y;
    }
    if (ref_is_nan(type, x))
        return ref_nan(type);
    x = s->attr.xorsign ? (x & ~ref_sign(type)) | sign : x;
    return s->attr.relu && x & ref_sign(type) ? 0 : x;
}

static bool ref_fcmp(enum bl_kir_cmp cmp, double x, double y)
{
    bool unordered = isnan(x) || isnan(y);

    switch (cmp) {
    case BL_KIR_EQ:
        return !unordered && x == y;
    case BL_KIR_NE:
        return !unordered && x != y;
    case BL_KIR_LT:
        return !unordered && x < y;
    case BL_KIR_LE:
        return !unordered && x <= y;
    case BL_KIR_GT:
        return !unordered && x > y;
    case BL_KIR_GE:
        return !unordered && x >= y;
    case BL_KIR_EQU:
        return unordered || x == y;
    case BL_KIR_NEU:
        return unordered || x != y;
    case BL_KIR_LTU:
        return unordered || x < y;
    case BL_KIR_LEU:
        return unordered || x <= y;
    case BL_KIR_GTU:
        return unordered || x > y;
    case BL_KIR_GEU:
        return unordered || x >= y;
    case BL_KIR_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static bool ref_testp(enum bl_kir_testp test, enum bl_kir_type type, uint64_t bits)
{
    double value = ref_double(type, bits);
    uint64_t magnitude = bits & (ref_sign(type) - 1);

    switch (test) {
    case BL_KIR_TESTP_FINITE:
        return isfinite(value);
    case BL_KIR_TESTP_INFINITE:
        return isinf(value);
    case BL_KIR_TESTP_NUMBER:
        return !isnan(value);
    case BL_KIR_TESTP_NOTANUMBER:
        return isnan(value);
    case BL_KIR_TESTP_NORMAL:
        return isfinite(value) && (magnitude == 0 || magnitude >= ref_smallest_normal(type));
    default:
        return magnitude && magnitude < ref_smallest_normal(type);
    }
}

/* Whether the exact result, with 11 bits and no bound below, stays under f16's normal range (an H200: tests/ptx/conform.py). A
 * double has all bits of a product, and of a sum that is that small. */
static bool ref_is_tiny(enum bl_kir_op op, const uint64_t *in)
{
    double exact = ref_double(BL_KIR_F16, in[0]) * ref_double(BL_KIR_F16, in[1]);
    if (op == BL_KIR_OP_ffma)
        exact += ref_double(BL_KIR_F16, in[2]);
    return (op == BL_KIR_OP_fmul || op == BL_KIR_OP_ffma) && fabs(exact) < 0x1p-14 - 0x1p-26;
}

static uint64_t ref_element(const struct spec *s, enum bl_kir_type type, const uint64_t *operands, unsigned count)
{
    uint64_t in[MAX_IN] = {0}, sign = ref_sign(type), x;

    for (unsigned i = 0; i < count; i++)
        in[i] = s->attr.ftz && type != BL_KIR_F64 ? ref_flush(type, operands[i]) : operands[i];
    switch (s->op) {
    case BL_KIR_OP_fmin:
    case BL_KIR_OP_fmax:
        return ref_minimum(s, type, in, count);
    case BL_KIR_OP_fneg:
        return ref_is_nan(type, in[0]) ? ref_nan(type) : in[0] ^ sign;
    case BL_KIR_OP_fabs:
        return ref_is_nan(type, in[0]) ? ref_nan(type) : in[0] & ~sign;
    case BL_KIR_OP_fcopysign:
        return (in[0] & sign) | (in[1] & ~sign);
    case BL_KIR_OP_ftestp:
        return ref_testp(s->attr.testp, type, in[0]);
    case BL_KIR_OP_fcmp:
    case BL_KIR_OP_fcmp2:
        return ref_fcmp(s->attr.cmp, ref_double(type, in[0]), ref_double(type, in[1]));
    default:
        x = ref_arithmetic(s->op, type, s->attr.round, in);
        if (s->attr.ftz && type == BL_KIR_F16 && ref_is_tiny(s->op, in))
            x &= sign;
        return ref_finish(&s->attr, type, x);
    }
}

static unsigned operand_count(const struct spec *s)
{
    unsigned count = 0;
    while (count < MAX_IN && s->in[count])
        count++;
    return count;
}

static void ref_float(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    enum bl_kir_type type = element_of(s->in[0]);
    uint64_t low[MAX_IN] = {0}, high[MAX_IN] = {0};
    unsigned count = operand_count(s);

    if (type == s->in[0]) {
        out[0] = ref_element(s, type, in, count);
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        low[i] = in[i] & 0xffff;
        high[i] = in[i] >> 16;
    }
    out[0] = ref_element(s, type, low, count);
    out[1] = ref_element(s, type, high, count);
    if (s->op != BL_KIR_OP_fcmp2)
        out[0] |= out[1] << 16;
}

static void ref_itof(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    unsigned bits = bl_kir_type_bits(s->in[0]);
    bool negative = s->op == BL_KIR_OP_itof_s && as_signed(in[0], bits) < 0;
    uint64_t magnitude = negative ? -(uint64_t)as_signed(in[0], bits) : in[0];
    out[0] = ref_finish(&s->attr, s->out[0], ref_from_integer(s->out[0], s->attr.round, negative, magnitude));
}

static void ref_ftoi(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    unsigned bits = bl_kir_type_bits(s->out[0]);
    bool is_signed = s->op == BL_KIR_OP_ftoi_s, negative = in[0] & ref_sign(s->in[0]), large = false;
    uint64_t magnitude, most = is_signed ? mask_of(bits - 1) : mask_of(bits);

    if (ref_is_nan(s->in[0], in[0])) {
        /* measured on an H200: tests/ptx/record_math.py */
        out[0] = bits == 64 || s->in[0] == BL_KIR_F64 ? UINT64_C(1) << (bits - 1) : 0;
        return;
    }
    magnitude = ref_is_infinite(s->in[0], in[0]) ? UINT64_MAX : ref_to_integer(s->in[0], s->attr.round, in[0], &large);
    if (negative)
        out[0] = is_signed ? -BL_MIN(magnitude, most + 1) : 0;
    else
        out[0] = BL_MIN(magnitude, most);
    out[0] &= mask_of(bits);
}

static void ref_ftof(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    uint64_t x = s->attr.ftz && s->in[0] == BL_KIR_F32 ? ref_flush(s->in[0], in[0]) : in[0];
    struct bl_kir_attr attr = s->attr;

    attr.ftz = attr.ftz && s->out[0] == BL_KIR_F32;
    out[0] = ref_finish(&attr, s->out[0], ref_convert(s->out[0], s->in[0], attr.round, x));
    if (!attr.sat && s->out[0] == BL_KIR_F32 && ref_is_nan(s->in[0], x)) { /* kept bits, measured there too */
        if (s->in[0] == BL_KIR_BF16)
            out[0] = x << 16;
        if (s->in[0] == BL_KIR_F64)
            out[0] = (x >> 32 & 0x80000000) | 0x7fc00000 | (x >> 29 & 0x3fffff);
    }
    if (!attr.sat && s->in[0] == BL_KIR_F64 && ref_is_nan(s->in[0], x)) {
        if (s->out[0] == BL_KIR_F16)
            out[0] = (x >> 48 & 0x8000) | 0x7e00 | (x >> 42 & 0x3ff);
        if (s->out[0] == BL_KIR_BF16)
            out[0] = (x >> 48 & 0x8000) | 0x7fc0 | (x >> 45 & 0x7f);
    }
}

static void ref_frint(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    uint64_t x = s->attr.ftz ? ref_flush(s->in[0], in[0]) : in[0];
    out[0] = ref_finish(&s->attr, s->in[0], ref_integral(s->in[0], s->attr.round, x));
}

static void ref_pack(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    unsigned bits = bl_kir_type_bits(s->in[0]);
    out[0] = 0;
    for (unsigned i = 0; i < operand_count(s); i++)
        out[0] |= in[i] << (i * bits);
}

static void ref_unpack(const struct spec *s, const uint64_t *in, uint64_t *out)
{
    unsigned bits = bl_kir_type_bits(s->out[0]);
    out[0] = in[0] & mask_of(bits);
    out[1] = in[0] >> bits & mask_of(bits);
}

/* ---- judges of approximations --------------------------------------------------------------------- */

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Units in the last place of f32 between the result and an exact value; infinities and NaN must agree. */
static double units(double got, double exact)
{
    int exponent;

    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (fabs(exact) >= 0x1.ffffffp127)
        return isinf(got) && signbit(got) == signbit(exact) ? 0 : INFINITY;
    if (got == exact)
        return signbit(got) == signbit(exact) ? 0 : INFINITY;
    frexp(exact, &exponent);
    return fabs(got - exact) / ldexp(1, BL_MAX(exponent - 24, -149));
}

/* Without fast_math the results are the GPU's own. */
static bool is_bit_for_bit(const struct spec *s, uint32_t in, uint32_t got)
{
    uint32_t want = ref_function_unit(s->op, in);

    if (!s->attr.ftz && s->op != BL_KIR_OP_fsin && s->op != BL_KIR_OP_fcos && s->op != BL_KIR_OP_ftanh)
        return true; /* scaled before and after */
    return got == want || ((got & 0x7fffffff) > 0x7f800000 && want == 0x7fffffff);
}

static bool judge_approximation(const struct spec *s, const uint64_t *in, uint64_t got)
{
    double x = as_float(s->attr.ftz ? ref_flush(BL_KIR_F32, in[0]) : in[0]), result = as_float(got), exact, allowed = 2;

    if (!fast_math && !is_bit_for_bit(s, (uint32_t)(s->attr.ftz ? ref_flush(BL_KIR_F32, in[0]) : in[0]), (uint32_t)got))
        return false;
    switch (s->op) {
    case BL_KIR_OP_frcp:
        exact = 1 / x;
        allowed = 1;
        break;
    case BL_KIR_OP_fsqrt:
        exact = sqrt(x);
        break;
    case BL_KIR_OP_frsqrt:
        exact = 1 / sqrt(x);
        break;
    case BL_KIR_OP_fex2:
        exact = exp2(x);
        break;
    case BL_KIR_OP_flg2:
        exact = log2(x);
        if (fabs(x) > 0.5 && fabs(x) < 2 && fabs(result - exact) <= 0x1p-22)
            return true;
        break;
    case BL_KIR_OP_ftanh:
        exact = tanh(x);
        if (fabs(result - exact) <= fabs(exact) * 0x1p-11)
            return true;
        break;
    default:
        exact = s->op == BL_KIR_OP_fsin ? sin(x) : cos(x);
        if (isnan(exact))
            return isnan(result);
        return fabs(x) <= 3.1415927 ? fabs(result - exact) <= 0x1p-20 : fabs(result) <= 1 && !isnan(result);
    }
    if (s->attr.ftz && fabs(exact) < 0x1p-126)
        return result == 0;
    return units(result, exact) <= allowed;
}

static bool judge_division(const struct spec *s, const uint64_t *in, uint64_t got)
{
    double x = as_float(s->attr.ftz ? ref_flush(BL_KIR_F32, in[0]) : in[0]);
    double y = as_float(s->attr.ftz ? ref_flush(BL_KIR_F32, in[1]) : in[1]), result = as_float(got), exact = x / y;

    if (s->attr.approx && fabs(y) < 0x1p-126 && (s->attr.ftz || fabs(x) > 0x1p100))
        return true; /* not documented */
    if (s->attr.approx && fabs(y) > 0x1p126 && !isinf(y))
        return isinf(x) || isnan(x) ? isnan(result) : result == 0;
    if (s->attr.ftz && fabs(exact) < 0x1p-126)
        return fabs(result) <= 0x1p-126;
    /* the two roundings may leave a number just below the largest */
    return units(result, exact) <= 2 || (fabs(exact) > 0x1.fffffcp127 && fabs(result) > 0x1.fffff8p127);
}

/* ---- the table of specs ----------------------------------------------------------------------------- */

#define ADD(...) (*BL_PUSH(&arena, &specs) = (struct spec){__VA_ARGS__})

static void add_integer_specs(void)
{
    static const enum bl_kir_type types[] = {BL_KIR_I16, BL_KIR_I32, BL_KIR_I64};
    static const enum bl_kir_op same[] = {BL_KIR_OP_mul,   BL_KIR_OP_mulhi_s, BL_KIR_OP_mulhi_u, BL_KIR_OP_div_s,
                                          BL_KIR_OP_div_u, BL_KIR_OP_rem_s,   BL_KIR_OP_rem_u,   BL_KIR_OP_min_s,
                                          BL_KIR_OP_min_u, BL_KIR_OP_max_s,   BL_KIR_OP_max_u,   BL_KIR_OP_and,
                                          BL_KIR_OP_or,    BL_KIR_OP_xor,     BL_KIR_OP_add,     BL_KIR_OP_sub};
    static const enum bl_kir_op one[] = {BL_KIR_OP_abs, BL_KIR_OP_neg, BL_KIR_OP_not, BL_KIR_OP_brev};
    static const enum bl_kir_op to_word[] = {BL_KIR_OP_popc, BL_KIR_OP_clz, BL_KIR_OP_bfind_s, BL_KIR_OP_bfind_u};
    static const enum bl_kir_op shifts[] = {BL_KIR_OP_shl, BL_KIR_OP_lshr, BL_KIR_OP_ashr};
    static const enum bl_kir_op fields[] = {BL_KIR_OP_bfe_s, BL_KIR_OP_bfe_u};

    for (size_t t = 0; t < BL_LEN(types); t++) {
        enum bl_kir_type i = types[t];
        for (size_t o = 0; o < BL_LEN(same); o++)
            ADD(.op = same[o], .in = {i, i}, .out = {i}, .reference = ref_integer);
        for (size_t o = 0; o < BL_LEN(one); o++)
            ADD(.op = one[o], .in = {i}, .out = {i}, .reference = ref_integer);
        for (size_t o = 0; o < BL_LEN(shifts); o++)
            ADD(.op = shifts[o], .in = {i, BL_KIR_I32}, .out = {i}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_add_carry, .in = {i, i, BL_KIR_PRED}, .out = {i, BL_KIR_PRED}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_sub_borrow, .in = {i, i, BL_KIR_PRED}, .out = {i, BL_KIR_PRED}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_select, .in = {BL_KIR_PRED, i, i}, .out = {i}, .reference = ref_integer);
        for (int cmp = BL_KIR_EQ; cmp <= BL_KIR_HS; cmp++)
            ADD(.op = BL_KIR_OP_icmp, .in = {i, i}, .out = {BL_KIR_PRED}, .attr = {.cmp = (uint8_t)cmp}, .reference = ref_integer);
        if (i == BL_KIR_I16)
            continue;
        for (size_t o = 0; o < BL_LEN(to_word); o++)
            for (int amount = 0; amount < 2; amount++)
                ADD(.op = to_word[o], .in = {i}, .out = {BL_KIR_I32}, .attr = {.shiftamt = amount}, .reference = ref_integer);
        for (size_t o = 0; o < BL_LEN(fields); o++)
            ADD(.op = fields[o], .in = {i, BL_KIR_I32, BL_KIR_I32}, .out = {i}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_bfi, .in = {i, i, BL_KIR_I32, BL_KIR_I32}, .out = {i}, .reference = ref_integer);
        for (int op = BL_KIR_OP_div_s; op <= BL_KIR_OP_rem_u; op++)
            for (int d = 0; d < 4; d++)
                ADD(.op = (enum bl_kir_op)op, .in = {i, i}, .out = {i}, .reference = ref_integer, .has_constant = true,
                    .constant = (const uint64_t[]){0, 7, mask_of(bl_kir_type_bits(i)), 64}[d]);
    }
}

static void add_word_specs(void)
{
    enum bl_kir_type w = BL_KIR_I32;

    ADD(.op = BL_KIR_OP_add, .in = {w, w}, .out = {w}, .attr = {.sat = true}, .reference = ref_integer);
    ADD(.op = BL_KIR_OP_sub, .in = {w, w}, .out = {w}, .attr = {.sat = true}, .reference = ref_integer);
    ADD(.op = BL_KIR_OP_fns, .in = {w, w, w}, .out = {w}, .reference = ref_integer);
    for (int wrap = 0; wrap < 2; wrap++) {
        ADD(.op = BL_KIR_OP_funnel_l, .in = {w, w, w}, .out = {w}, .attr = {.wrap = wrap}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_funnel_r, .in = {w, w, w}, .out = {w}, .attr = {.wrap = wrap}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_bmsk, .in = {w, w}, .out = {w}, .attr = {.wrap = wrap}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_szext_s, .in = {w, w}, .out = {w}, .attr = {.wrap = wrap}, .reference = ref_integer);
        ADD(.op = BL_KIR_OP_szext_u, .in = {w, w}, .out = {w}, .attr = {.wrap = wrap}, .reference = ref_integer);
    }
    for (int mode = BL_KIR_PRMT_INDEX; mode <= BL_KIR_PRMT_RC16; mode++)
        ADD(.op = BL_KIR_OP_prmt, .in = {w, w, w}, .out = {w}, .attr = {.prmt = (uint8_t)mode}, .reference = ref_integer);
    for (int c = 0; c < 6; c++)
        ADD(.op = BL_KIR_OP_prmt, .in = {w, w, w}, .out = {w}, .reference = ref_integer, .has_constant = true,
            .constant = (const uint64_t[]){0x3210, 0x7654, 0x5410, 0xb3f7, 0x1, 0x8888}[c]);
    ADD(.op = BL_KIR_OP_prmt, .in = {w, w, w}, .out = {w}, .attr = {.prmt = BL_KIR_PRMT_B4E}, .reference = ref_integer,
        .has_constant = true, .constant = 2);
    for (unsigned table = 0; table < 256; table++)
        ADD(.op = BL_KIR_OP_lop3, .in = {w, w, w}, .out = {w}, .attr = {.imm = table}, .reference = ref_integer);
    for (int signs = 0; signs < 8; signs++) {
        struct bl_kir_attr attr = {.a_signed = signs & 1, .b_signed = signs >> 1 & 1, .hi = signs >> 2};
        ADD(.op = BL_KIR_OP_dp2a, .in = {w, w, w}, .out = {w}, .attr = attr, .reference = ref_integer);
        if (!attr.hi)
            ADD(.op = BL_KIR_OP_dp4a, .in = {w, w, w}, .out = {w}, .attr = attr, .reference = ref_integer);
    }
}

static void add_width_specs(void)
{
    static const enum bl_kir_type types[] = {BL_KIR_I8, BL_KIR_I16, BL_KIR_I32, BL_KIR_I64};

    for (size_t from = 0; from < BL_LEN(types); from++)
        for (size_t to = 0; to < from; to++) {
            ADD(.op = BL_KIR_OP_trunc, .in = {types[from]}, .out = {types[to]}, .reference = ref_integer);
            ADD(.op = BL_KIR_OP_zext, .in = {types[to]}, .out = {types[from]}, .reference = ref_integer);
            ADD(.op = BL_KIR_OP_sext, .in = {types[to]}, .out = {types[from]}, .reference = ref_integer);
            for (int s = 0; s < 4; s++)
                ADD(.op = s & 1 ? BL_KIR_OP_isat_s : BL_KIR_OP_isat_u, .in = {types[from]}, .out = {types[to]},
                    .attr = {.a_signed = s >> 1}, .reference = ref_integer);
        }
    ADD(.op = BL_KIR_OP_bitcast, .in = {BL_KIR_I32}, .out = {BL_KIR_F32}, .reference = ref_integer);
    ADD(.op = BL_KIR_OP_bitcast, .in = {BL_KIR_F64}, .out = {BL_KIR_I64}, .reference = ref_integer);
    ADD(.op = BL_KIR_OP_bitcast, .in = {BL_KIR_F16X2}, .out = {BL_KIR_I32}, .reference = ref_integer);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_I32, BL_KIR_I32}, .out = {BL_KIR_I64}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_I32, BL_KIR_I32}, .out = {BL_KIR_F64}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_F32, BL_KIR_F32}, .out = {BL_KIR_I64}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_I16, BL_KIR_I16, BL_KIR_I16, BL_KIR_I16}, .out = {BL_KIR_I64}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_I8, BL_KIR_I8, BL_KIR_I8, BL_KIR_I8}, .out = {BL_KIR_I32}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_pack, .in = {BL_KIR_F16, BL_KIR_F16}, .out = {BL_KIR_F16X2}, .reference = ref_pack);
    ADD(.op = BL_KIR_OP_unpack, .in = {BL_KIR_I64}, .out = {BL_KIR_I32, BL_KIR_I32}, .reference = ref_unpack);
    ADD(.op = BL_KIR_OP_unpack, .in = {BL_KIR_F64}, .out = {BL_KIR_I32, BL_KIR_I32}, .reference = ref_unpack);
    ADD(.op = BL_KIR_OP_unpack, .in = {BL_KIR_I64}, .out = {BL_KIR_F32, BL_KIR_F32}, .reference = ref_unpack);
    ADD(.op = BL_KIR_OP_unpack, .in = {BL_KIR_BF16X2}, .out = {BL_KIR_BF16, BL_KIR_BF16}, .reference = ref_unpack);
}

/* One op in a type, with the modifiers that it may have there. */
static void add_arithmetic(enum bl_kir_op op, enum bl_kir_type t, unsigned count)
{
    enum bl_kir_type b = count > 1 ? t : BL_KIR_VOID, c = count > 2 ? t : BL_KIR_VOID;
    bool wide = t == BL_KIR_F32 || t == BL_KIR_F64;

    for (int round = BL_KIR_RN; round <= (wide ? BL_KIR_RP : BL_KIR_RN); round++)
        for (int modifiers = 0; modifiers < 8; modifiers++) {
            struct bl_kir_attr attr = {.round = (uint8_t)round, .ftz = modifiers & 1, .sat = modifiers & 2, .relu = modifiers & 4};
            if ((t == BL_KIR_F64 && modifiers) || (attr.relu && (wide || attr.sat || op != BL_KIR_OP_ffma)))
                continue;
            ADD(.op = op, .in = {t, b, c}, .out = {t}, .attr = attr, .reference = ref_float);
        }
}

static void add_float_specs(void)
{
    static const enum bl_kir_type types[] = {BL_KIR_F32, BL_KIR_F64, BL_KIR_F16, BL_KIR_BF16, BL_KIR_F16X2, BL_KIR_BF16X2};

    for (size_t i = 0; i < BL_LEN(types); i++) {
        enum bl_kir_type t = types[i];
        bool wide = t == BL_KIR_F32 || t == BL_KIR_F64, packed = element_of(t) != t;

        add_arithmetic(BL_KIR_OP_fadd, t, 2);
        add_arithmetic(BL_KIR_OP_fsub, t, 2);
        add_arithmetic(BL_KIR_OP_fmul, t, 2);
        add_arithmetic(BL_KIR_OP_ffma, t, 3);
        if (wide) {
            add_arithmetic(BL_KIR_OP_fdiv, t, 2);
            add_arithmetic(BL_KIR_OP_frcp, t, 1);
            add_arithmetic(BL_KIR_OP_fsqrt, t, 1);
        }
        for (int m = 0; m < 8; m++) {
            struct bl_kir_attr attr = {.ftz = m & 1, .nan = m & 2, .xorsign = m & 4};
            if (t == BL_KIR_F64 && m)
                continue;
            ADD(.op = BL_KIR_OP_fmin, .in = {t, t}, .out = {t}, .attr = attr, .reference = ref_float);
            ADD(.op = BL_KIR_OP_fmax, .in = {t, t}, .out = {t}, .attr = attr, .reference = ref_float);
            if (t == BL_KIR_F32) {
                ADD(.op = BL_KIR_OP_fmin, .in = {t, t, t}, .out = {t}, .attr = attr, .reference = ref_float);
                ADD(.op = BL_KIR_OP_fmax, .in = {t, t, t}, .out = {t}, .attr = attr, .reference = ref_float);
            }
        }
        for (int c = 0; wide && c < 5; c++)
            for (int op = BL_KIR_OP_fmin; op <= BL_KIR_OP_fmax; op++)
                ADD(.op = (enum bl_kir_op)op, .in = {t, t}, .out = {t}, .reference = ref_float, .has_constant = true,
                    .constant = (const uint64_t[]){0, ref_sign(t), ref_from_integer(t, BL_KIR_RN, true, 3), ref_nan(t),
                                                   ref_infinity(t)}[c]);
        ADD(.op = BL_KIR_OP_fneg, .in = {t}, .out = {t}, .reference = ref_float);
        ADD(.op = BL_KIR_OP_fabs, .in = {t}, .out = {t}, .reference = ref_float);
        if (t == BL_KIR_F32) {
            ADD(.op = BL_KIR_OP_fneg, .in = {t}, .out = {t}, .attr = {.ftz = true}, .reference = ref_float);
            ADD(.op = BL_KIR_OP_fabs, .in = {t}, .out = {t}, .attr = {.ftz = true}, .reference = ref_float);
        }
        if (wide)
            ADD(.op = BL_KIR_OP_fcopysign, .in = {t, t}, .out = {t}, .reference = ref_float);
        for (int test = BL_KIR_TESTP_FINITE; wide && test <= BL_KIR_TESTP_SUBNORMAL; test++)
            ADD(.op = BL_KIR_OP_ftestp, .in = {t}, .out = {BL_KIR_PRED}, .attr = {.testp = (uint8_t)test}, .reference = ref_float);
        for (int cmp = BL_KIR_EQ; cmp <= BL_KIR_NAN; cmp++)
            for (int ftz = 0; ftz < (t == BL_KIR_F64 ? 1 : 2); ftz++)
                if (cmp < BL_KIR_LO || cmp > BL_KIR_HS)
                    ADD(.op = packed ? BL_KIR_OP_fcmp2 : BL_KIR_OP_fcmp, .in = {t, t},
                        .out = {BL_KIR_PRED, packed ? BL_KIR_PRED : BL_KIR_VOID}, .attr = {.cmp = (uint8_t)cmp, .ftz = ftz},
                        .reference = ref_float);
    }
}

static void add_conversion_specs(void)
{
    static const enum bl_kir_type floats[] = {BL_KIR_F16, BL_KIR_BF16, BL_KIR_F32, BL_KIR_F64};
    static const enum bl_kir_type integers[] = {BL_KIR_I8, BL_KIR_I16, BL_KIR_I32, BL_KIR_I64};

    for (size_t f = 0; f < BL_LEN(floats); f++) {
        enum bl_kir_type t = floats[f];
        for (int round = BL_KIR_RN; round <= BL_KIR_RP; round++) {
            struct bl_kir_attr attr = {.round = (uint8_t)round};
            for (size_t i = 0; i < BL_LEN(integers); i++) {
                ADD(.op = BL_KIR_OP_ftoi_s, .in = {t}, .out = {integers[i]}, .attr = attr, .reference = ref_ftoi);
                ADD(.op = BL_KIR_OP_ftoi_u, .in = {t}, .out = {integers[i]}, .attr = attr, .reference = ref_ftoi);
                if (integers[i] == BL_KIR_I8)
                    continue;
                ADD(.op = BL_KIR_OP_itof_s, .in = {integers[i]}, .out = {t}, .attr = attr, .reference = ref_itof);
                ADD(.op = BL_KIR_OP_itof_u, .in = {integers[i]}, .out = {t}, .attr = attr, .reference = ref_itof);
            }
            for (size_t to = 0; to < BL_LEN(floats); to++)
                for (int m = 0; m < 4; m++) {
                    attr.ftz = m == 1 && (t == BL_KIR_F32 || floats[to] == BL_KIR_F32);
                    attr.sat = m == 2;
                    attr.relu = m == 3 && t == BL_KIR_F32 && floats[to] < BL_KIR_F32;
                    if (floats[to] != t && (m == 0 || attr.ftz || attr.sat || attr.relu))
                        ADD(.op = BL_KIR_OP_ftof, .in = {t}, .out = {floats[to]}, .attr = attr, .reference = ref_ftof);
                }
            attr = (struct bl_kir_attr){.round = (uint8_t)round};
            ADD(.op = BL_KIR_OP_frint, .in = {t}, .out = {t}, .attr = attr, .reference = ref_frint);
            if (t == BL_KIR_F32) {
                attr.ftz = true;
                ADD(.op = BL_KIR_OP_frint, .in = {t}, .out = {t}, .attr = attr, .reference = ref_frint);
                attr.sat = true;
                ADD(.op = BL_KIR_OP_frint, .in = {t}, .out = {t}, .attr = attr, .reference = ref_frint);
            }
        }
    }
}

static void add_approximate_specs(void)
{
    static const enum bl_kir_op ops[] = {BL_KIR_OP_frcp, BL_KIR_OP_fsqrt, BL_KIR_OP_frsqrt, BL_KIR_OP_fsin,
                                         BL_KIR_OP_fcos, BL_KIR_OP_flg2,  BL_KIR_OP_fex2,   BL_KIR_OP_ftanh};
    enum bl_kir_type t = BL_KIR_F32;

    for (int ftz = 0; ftz < 2; ftz++) {
        for (size_t o = 0; o < BL_LEN(ops); o++)
            if (!ftz || ops[o] != BL_KIR_OP_ftanh)
                ADD(.op = ops[o], .in = {t}, .out = {t}, .attr = {.approx = true, .ftz = ftz}, .judge = judge_approximation);
        ADD(.op = BL_KIR_OP_fdiv, .in = {t, t}, .out = {t}, .attr = {.approx = true, .ftz = ftz}, .judge = judge_division);
        ADD(.op = BL_KIR_OP_fdiv, .in = {t, t}, .out = {t}, .attr = {.full = true, .ftz = ftz}, .judge = judge_division);
    }
}

/* ---- code ------------------------------------------------------------------------------------------- */

static const char *describe(const struct spec *s)
{
    static char text[300];
    const struct bl_kir_attr *a = &s->attr;
    static const char *const rounds[] = {"rn", "rz", "rm", "rp", "rna"};
    snprintf(text, sizeof text, "%s %s->%s %s%s%s%s%s%s%s%s%s%s cmp %d prmt %d imm %llx%s%llx", bl_kir_ops[s->op].name,
             bl_kir_type_name(s->in[0]), bl_kir_type_name(s->out[0]), rounds[a->round], a->ftz ? " ftz" : "", a->sat ? " sat" : "",
             a->relu ? " relu" : "", a->nan ? " nan" : "", a->xorsign ? " xorsign" : "", a->approx ? " approx" : "",
             a->full ? " full" : "", a->wrap ? " wrap" : "", a->a_signed ? " a_signed" : "", a->cmp, a->prmt,
             (unsigned long long)a->imm, s->has_constant ? " constant " : " ", (unsigned long long)s->constant);
    return text;
}

/* A kir instruction over the function's parameters. */
static struct bl_kir_instr *make_instr(struct bl_kir_module *module, const struct spec *s)
{
    struct bl_kir_func *func = bl_kir_func_new(module, "f", false);
    struct bl_kir_builder b = {.func = func, .block = bl_kir_block_new(func, "entry")};
    struct bl_kir_value *operands[MAX_IN];
    unsigned count = operand_count(s);

    for (unsigned i = 0; i < count; i++)
        operands[i] =
            s->has_constant && i + 1 == count ? bl_kir_const(&b, s->in[i], s->constant) : bl_kir_param_new(func, s->in[i], "x");
    return bl_kir_emit(&b, s->op, &s->attr, s->out[1] ? 2 : 1, s->out, count, operands);
}

static LLVMValueRef lane_pointer(struct bl_cg *cg, LLVMValueRef base, unsigned array)
{
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(cg->context), array * LANES, false);
    return LLVMBuildGEP2(cg->builder, LLVMInt64TypeInContext(cg->context), base, &index, 1, "");
}

/* void f(const uint64_t in[][32], uint64_t out[][32]): reads and writes lane 0, or all. False: no such op. */
static bool make_function(struct bl_cg *cg, struct bl_kir_module *module, const struct spec *s, unsigned width, const char *name)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(cg->context, 0), word = bl_cg_type(cg, BL_KIR_I64, width);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(cg->context), (LLVMTypeRef[]){pointer, pointer}, 2, false);
    LLVMValueRef function = LLVMAddFunction(cg->module, name, type), operands[MAX_IN], results[MAX_OUT], value;
    struct bl_kir_instr *instr = make_instr(module, s);

    LLVMPositionBuilderAtEnd(cg->builder, LLVMAppendBasicBlockInContext(cg->context, function, "entry"));
    for (unsigned i = 0; i < instr->operand_count; i++) {
        LLVMTypeRef bits = bl_cg_type(cg, bl_kir_type_int(bl_kir_type_bits(s->in[i])), width);
        value = LLVMBuildLoad2(cg->builder, word, lane_pointer(cg, LLVMGetParam(function, 0), i), "");
        LLVMSetAlignment(value, BYTES_PER_WORD);
        value = LLVMBuildTruncOrBitCast(cg->builder, value, bits, "");
        operands[i] = LLVMBuildBitCast(cg->builder, value, bl_cg_type(cg, s->in[i], width), "");
        if (s->has_constant && i + 1 == instr->operand_count)
            operands[i] = bl_cg_bits(cg, s->in[i], width, s->constant, 0);
    }
    if (!bl_cg_math(cg, instr, width, operands, results))
        return false;
    for (unsigned i = 0; i < instr->result_count; i++) {
        LLVMTypeRef bits = bl_cg_type(cg, bl_kir_type_int(bl_kir_type_bits(s->out[i])), width);
        value = bl_cg_settle_nan(cg, instr->results[i], width, results[i]);
        value = LLVMBuildZExtOrBitCast(cg->builder, LLVMBuildBitCast(cg->builder, value, bits, ""), word, "");
        value = LLVMBuildStore(cg->builder, value, lane_pointer(cg, LLVMGetParam(function, 1), i));
        LLVMSetAlignment(value, BYTES_PER_WORD);
    }
    LLVMBuildRetVoid(cg->builder);
    return true;
}

/* No symbol of the object may be undefined. */
static void check_symbols(const char *object, size_t size)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(object + header->e_shoff);

    assert_true(size > sizeof *header);
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Sym *symbols = (const Elf64_Sym *)(object + sections[i].sh_offset);
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        for (size_t s = 1; s < sections[i].sh_size / sizeof *symbols; s++)
            if (symbols[s].st_shndx == SHN_UNDEF)
                fail_msg("the object refers to %s", object + sections[sections[i].sh_link].sh_offset + symbols[s].st_name);
    }
}

/* ---- running ------------------------------------------------------------------------------------------ */

static bool same(const struct spec *s, unsigned i, uint64_t got, uint64_t wanted)
{
    if (s->out[i] == BL_KIR_F64 && ref_is_nan(BL_KIR_F64, got) && ref_is_nan(BL_KIR_F64, wanted))
        return true;
    return got == wanted;
}

/* Some ops give back an operand that is a NaN: its own bits are fine there. Such results arrive settled. */
static unsigned run_spec(const struct spec *s, void (*function)(const uint64_t *in, uint64_t *out), unsigned width, const char *cpu)
{
    static uint64_t in[MAX_IN][LANES], out[MAX_OUT][LANES];
    unsigned count = operand_count(s), wrong = 0;

    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned lane = 0; lane < LANES; lane++)
            for (unsigned i = 0; i < count; i++)
                in[i][lane] = s->has_constant && i + 1 == count
                                  ? s->constant
                                  : random_value(s->in[i], i ? in[next_random() % i][lane] : next_random());
        for (unsigned lane = 0; lane < LANES; lane += width)
            function(&in[0][lane], &out[0][lane]);
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t operands[MAX_IN] = {in[0][lane], in[1][lane], in[2][lane], in[3][lane]}, wanted[MAX_OUT] = {0};
            bool good = true;
            if (s->judge) {
                good = s->judge(s, operands, out[0][lane]);
            } else {
                s->reference(s, operands, wanted);
                for (unsigned i = 0; i < MAX_OUT && s->out[i]; i++)
                    good = good && same(s, i, out[i][lane], wanted[i]);
            }
            if (!good && wrong++ < 3)
                print_message("%s width %u %s: (%llx, %llx, %llx, %llx) gave %llx, %llx; wanted %llx, %llx\n", cpu, width,
                              describe(s), (unsigned long long)operands[0], (unsigned long long)operands[1],
                              (unsigned long long)operands[2], (unsigned long long)operands[3], (unsigned long long)out[0][lane],
                              (unsigned long long)out[1][lane], (unsigned long long)wanted[0], (unsigned long long)wanted[1]);
        }
    }
    return wrong != 0;
}

static LLVMTargetMachineRef machine_for(const char *cpu, const char *features)
{
    LLVMTargetRef target;
    char *triple = LLVMGetDefaultTargetTriple(), *message = NULL;
    LLVMTargetMachineRef machine;

    assert_false(LLVMGetTargetFromTriple(triple, &target, &message));
    machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelLess, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(triple);
    assert_non_null(machine);
    return machine;
}

static unsigned run_object(LLVMMemoryBufferRef object, unsigned width, const char *cpu)
{
    LLVMOrcLLJITRef jit;
    LLVMOrcExecutorAddress address;
    unsigned wrong = 0;
    char name[32];

    assert_null(LLVMOrcCreateLLJIT(&jit, NULL));
    assert_null(LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), object));
    for (uint32_t i = 0; i < specs.count; i++) {
        snprintf(name, sizeof name, "f%u", i);
        assert_null(LLVMOrcLLJITLookup(jit, &address, name));
        wrong += run_spec(&specs.items[i], (void (*)(const uint64_t *, uint64_t *))(uintptr_t)address, width, cpu);
    }
    LLVMOrcDisposeLLJIT(jit);
    return wrong;
}

static void check_cpu(const char *cpu, const char *feature_text, struct bl_cg_features features, unsigned width)
{
    struct bl_arena work;
    struct bl_cg cg = {.context = LLVMContextCreate(), .features = features, .fast_math = fast_math, .arena = &work};
    LLVMTargetMachineRef machine = machine_for(cpu, feature_text);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMMemoryBufferRef object = NULL;
    struct bl_kir_module *kir;
    char name[32], *message = NULL;

    bl_arena_init(&work);
    kir = bl_kir_module_new(&work, "test");
    cg.module = LLVMModuleCreateWithNameInContext("test", cg.context);
    LLVMSetModuleDataLayout(cg.module, layout);
    cg.builder = LLVMCreateBuilderInContext(cg.context);
    for (uint32_t i = 0; i < specs.count; i++) {
        snprintf(name, sizeof name, "f%u", i);
        if (!make_function(&cg, kir, &specs.items[i], width, name))
            fail_msg("not generated: %s", describe(&specs.items[i]));
    }
    if (LLVMVerifyModule(cg.module, LLVMReturnStatusAction, &message))
        fail_msg("%s", message);
    LLVMDisposeMessage(message);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, cg.module, LLVMObjectFile, &message, &object))
        fail_msg("%s", message);
    check_symbols(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    assert_int_equal(run_object(object, width, cpu), 0);
    LLVMDisposeBuilder(cg.builder);
    LLVMDisposeModule(cg.module);
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(machine);
    LLVMContextDispose(cg.context);
    bl_arena_cleanup(&work);
}

static bool host_has(const char *feature)
{
    char *all = LLVMGetHostCPUFeatures();
    bool found = strstr(all, feature) != NULL;
    LLVMDisposeMessage(all);
    return found;
}

static struct bl_cg_features host_features(void)
{
    struct bl_cg_features f = {0};
#ifdef __x86_64__
    f.x86 = true;
#else
    f.aarch64 = true;
#endif
    f.avx2 = host_has("+avx2");
    f.fma = host_has("+fma");
    f.f16c = host_has("+f16c");
    f.sse41 = host_has("+sse4.1");
    f.avx512 = host_has("+avx512f") && host_has("+avx512bw") && host_has("+avx512dq") && host_has("+avx512vl");
    f.avx512_vbmi = f.avx512 && host_has("+avx512vbmi,");
    return f;
}

static void check_host(unsigned width)
{
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    check_cpu(cpu, features, host_features(), width);
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
}

static void test_host_fast(void **unused)
{
    fast_math = true;
    check_host(LANES);
    fast_math = false;
}

static void test_host_vector(void **unused)
{
    check_host(LANES);
}

static void test_host_scalar(void **unused)
{
    check_host(1);
}

static void check_avx2(unsigned width)
{
    struct bl_cg_features features = {.x86 = true, .avx2 = true, .fma = true, .f16c = true, .sse41 = true};
    if (!host_features().avx2 || !host_features().fma)
        skip();
    check_cpu("haswell", "", features, width);
}

static void test_avx2_vector(void **unused)
{
    check_avx2(LANES);
}

static void test_avx2_scalar(void **unused)
{
    check_avx2(1);
}

static void check_sse2(unsigned width)
{
    struct bl_cg_features features = {.x86 = true};
    if (!host_features().x86)
        skip();
    check_cpu("x86-64", "", features, width);
}

static void test_sse2_vector(void **unused)
{
    check_sse2(LANES);
}

static void test_sse2_scalar(void **unused)
{
    check_sse2(1);
}

static int set_up(void **unused)
{
    bl_arena_init(&arena);
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    add_integer_specs();
    add_word_specs();
    add_width_specs();
    add_float_specs();
    add_conversion_specs();
    add_approximate_specs();
    return 0;
}

static int tear_down(void **unused)
{
    bl_arena_cleanup(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_vector), cmocka_unit_test(test_host_fast),   cmocka_unit_test(test_host_scalar),
        cmocka_unit_test(test_avx2_vector), cmocka_unit_test(test_avx2_scalar), cmocka_unit_test(test_sse2_vector),
        cmocka_unit_test(test_sse2_scalar),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
