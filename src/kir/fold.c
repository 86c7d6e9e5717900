/* Constant folding of integer ops, exactly as PTX defines them (PTX ISA, 9.7.1 to 9.7.8); for simplify.c. */
#include "kir/fold.h"

uint64_t bl_kir_ones(uint32_t bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

int64_t bl_kir_signed(uint64_t x, uint32_t bits)
{
    return bits >= 64 ? (int64_t)x : (int64_t)(x << (64 - bits)) >> (64 - bits);
}

static uint64_t saturate(__int128 sum)
{
    return (uint64_t)(sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : (int64_t)sum);
}

static uint64_t high_product(uint64_t a, uint64_t b, uint32_t bits, bool is_signed)
{
    if (is_signed)
        return (uint64_t)(((__int128)bl_kir_signed(a, bits) * bl_kir_signed(b, bits)) >> bits);
    return (uint64_t)(((unsigned __int128)a * b) >> bits);
}

/* By zero: all ones, and the dividend as remainder; the least number by -1: itself, and 0 (measured on an H200). */
static uint64_t divide(uint64_t a, uint64_t b, uint32_t bits, bool is_signed, bool remainder)
{
    int64_t x = bl_kir_signed(a, bits), y = bl_kir_signed(b, bits);

    if (b == 0)
        return UINT64_MAX;
    if (!is_signed)
        return remainder ? a % b : a / b;
    if (y == -1)
        return remainder ? 0 : 0 - (uint64_t)x;
    return (uint64_t)(remainder ? x % y : x / y);
}

static uint64_t shift(enum bl_kir_op op, uint64_t a, uint64_t count, uint32_t bits)
{
    if (op == BL_KIR_OP_ashr)
        return (uint64_t)(bl_kir_signed(a, bits) >> BL_MIN(count, (uint64_t)BL_MIN(bits, 64u) - 1));
    if (count >= bits)
        return 0;
    return op == BL_KIR_OP_shl ? a << count : a >> count;
}

static uint64_t funnel(const struct bl_kir_instr *i, uint64_t low, uint64_t high, uint64_t count)
{
    uint64_t both = high << 32 | low;
    count = i->attr->wrap ? count & 31 : BL_MIN(count, (uint64_t)32);
    if (i->op == BL_KIR_OP_funnel_r)
        return both >> count;
    return count == 32 ? low : both << count >> 32;
}

static uint64_t reverse(uint64_t a, uint32_t bits)
{
    uint64_t r = 0;
    for (uint32_t b = 0; b < bits; b++)
        r |= (a >> b & 1) << (bits - 1 - b);
    return r;
}

static uint64_t find_bit(const struct bl_kir_instr *i, uint64_t a, uint32_t bits)
{
    uint64_t at;
    if (i->op == BL_KIR_OP_bfind_s && bl_kir_signed(a, bits) < 0)
        a = ~a & bl_kir_ones(bits);
    if (a == 0)
        return UINT32_MAX;
    at = 63 - (uint64_t)__builtin_clzll(a);
    return i->attr->shiftamt ? bits - 1 - at : at;
}

/* A position or length of a bit field: of 32 bits the low byte, of 64 the whole word (measured on an H200: tests/ptx/conform.py).
 */
static uint64_t field_count(uint64_t count, uint32_t bits)
{
    return bits == 64 ? BL_MIN(count, UINT64_C(64)) : count & 0xff;
}

static uint64_t extract(uint64_t a, uint64_t at, uint64_t length, uint32_t bits, bool is_signed)
{
    uint64_t sign, r = 0;
    at = field_count(at, bits);
    length = field_count(length, bits);
    sign = is_signed && length ? a >> BL_MIN(at + length - 1, (uint64_t)bits - 1) & 1 : 0;
    for (uint64_t b = 0; b < bits; b++)
        r |= (b < length && at + b < bits ? a >> (at + b) & 1 : sign) << b;
    return r;
}

static uint64_t insert(uint64_t a, uint64_t into, uint64_t at, uint64_t length, uint32_t bits)
{
    at = field_count(at, bits);
    length = field_count(length, bits);
    for (uint64_t b = 0; b < length && at + b < bits; b++)
        into = (into & ~((uint64_t)1 << (at + b))) | (a >> b & 1) << (at + b);
    return into;
}

/* The selectors of the modes, by the low two bits of the third operand; PTX ISA, prmt. */
static const uint16_t prmt_modes[][4] = {
    [BL_KIR_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [BL_KIR_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [BL_KIR_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [BL_KIR_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [BL_KIR_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [BL_KIR_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};

static uint64_t permute(const struct bl_kir_instr *i, const uint64_t *x)
{
    uint64_t bytes = x[1] << 32 | x[0], selectors = x[2], r = 0;

    if (i->attr->prmt != BL_KIR_PRMT_INDEX)
        selectors = prmt_modes[i->attr->prmt][x[2] & 3];
    for (uint32_t b = 0; b < 4; b++) {
        uint64_t selector = selectors >> (4 * b) & 15, byte = bytes >> (8 * (selector & 7)) & 0xff;
        if (selector & 8)
            byte = byte & 0x80 ? 0xff : 0;
        r |= byte << (8 * b);
    }
    return r;
}

static uint64_t logic3(uint64_t table, const uint64_t *x)
{
    uint64_t r = 0;
    for (uint32_t n = 0; n < 8; n++)
        if (table >> n & 1)
            r |= (n & 4 ? x[0] : ~x[0]) & (n & 2 ? x[1] : ~x[1]) & (n & 1 ? x[2] : ~x[2]);
    return r;
}

static bool compare(enum bl_kir_cmp cmp, uint64_t a, uint64_t b, uint32_t bits)
{
    int64_t x = bl_kir_signed(a, bits), y = bl_kir_signed(b, bits);

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

static uint64_t pack(const struct bl_kir_instr *i, const uint64_t *x)
{
    uint32_t bits = bl_kir_type_bits(i->operands[0]->type);
    uint64_t r = 0;
    for (uint32_t k = 0; k < i->operand_count; k++)
        r |= k * bits < 64 ? x[k] << (k * bits) : 0;
    return r;
}

static bool fold_arithmetic(const struct bl_kir_instr *i, const uint64_t *x, uint32_t bits, uint64_t *r)
{
    int64_t a = bl_kir_signed(x[0], bits), b = bl_kir_signed(x[1], bits);

    switch (i->op) {
    case BL_KIR_OP_add:
        *r = i->attr->sat ? saturate((__int128)a + b) : x[0] + x[1];
        return true;
    case BL_KIR_OP_sub:
        *r = i->attr->sat ? saturate((__int128)a - b) : x[0] - x[1];
        return true;
    case BL_KIR_OP_mul:
        *r = x[0] * x[1];
        return true;
    case BL_KIR_OP_mulhi_s:
    case BL_KIR_OP_mulhi_u:
        *r = high_product(x[0], x[1], bits, i->op == BL_KIR_OP_mulhi_s);
        return true;
    case BL_KIR_OP_div_s:
    case BL_KIR_OP_div_u:
        *r = divide(x[0], x[1], bits, i->op == BL_KIR_OP_div_s, false);
        return true;
    case BL_KIR_OP_rem_s:
    case BL_KIR_OP_rem_u:
        *r = divide(x[0], x[1], bits, i->op == BL_KIR_OP_rem_s, true);
        return true;
    case BL_KIR_OP_min_s:
        *r = a < b ? x[0] : x[1];
        return true;
    case BL_KIR_OP_max_s:
        *r = a > b ? x[0] : x[1];
        return true;
    case BL_KIR_OP_min_u:
        *r = BL_MIN(x[0], x[1]);
        return true;
    case BL_KIR_OP_max_u:
        *r = BL_MAX(x[0], x[1]);
        return true;
    case BL_KIR_OP_abs:
        *r = a < 0 ? 0 - x[0] : x[0];
        return true;
    case BL_KIR_OP_neg:
        *r = 0 - x[0];
        return true;
    default:
        return false;
    }
}

static bool fold_bits(const struct bl_kir_instr *i, const uint64_t *x, uint32_t bits, uint64_t *r)
{
    switch (i->op) {
    case BL_KIR_OP_and:
        *r = x[0] & x[1];
        return true;
    case BL_KIR_OP_or:
        *r = x[0] | x[1];
        return true;
    case BL_KIR_OP_xor:
        *r = x[0] ^ x[1];
        return true;
    case BL_KIR_OP_not:
        *r = ~x[0];
        return true;
    case BL_KIR_OP_shl:
    case BL_KIR_OP_lshr:
    case BL_KIR_OP_ashr:
        *r = shift(i->op, x[0], x[1], bits);
        return true;
    case BL_KIR_OP_funnel_l:
    case BL_KIR_OP_funnel_r:
        *r = funnel(i, x[0], x[1], x[2]);
        return true;
    case BL_KIR_OP_popc:
        *r = (uint64_t)__builtin_popcountll(x[0]);
        return true;
    case BL_KIR_OP_clz:
        *r = x[0] ? (uint64_t)__builtin_clzll(x[0]) - (64 - bits) : bits;
        return true;
    case BL_KIR_OP_brev:
        *r = reverse(x[0], bits);
        return true;
    case BL_KIR_OP_bfind_s:
    case BL_KIR_OP_bfind_u:
        *r = find_bit(i, x[0], bits);
        return true;
    case BL_KIR_OP_bfe_s:
    case BL_KIR_OP_bfe_u:
        *r = extract(x[0], x[1], x[2], bits, i->op == BL_KIR_OP_bfe_s);
        return true;
    case BL_KIR_OP_bfi:
        *r = insert(x[0], x[1], x[2], x[3], bits);
        return true;
    case BL_KIR_OP_prmt:
        *r = permute(i, x);
        return true;
    case BL_KIR_OP_lop3:
        *r = logic3(i->attr->imm, x);
        return true;
    default:
        return false;
    }
}

static bool fold_choice(const struct bl_kir_instr *i, const uint64_t *x, uint32_t bits, uint64_t *r)
{
    switch (i->op) {
    case BL_KIR_OP_icmp:
        *r = compare(i->attr->cmp, x[0], x[1], bits);
        return true;
    case BL_KIR_OP_select:
        *r = x[0] ? x[1] : x[2];
        return true;
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_bitcast:
        *r = x[0];
        return true;
    case BL_KIR_OP_sext:
        *r = (uint64_t)bl_kir_signed(x[0], bits);
        return true;
    case BL_KIR_OP_pack:
        *r = pack(i, x);
        return true;
    default:
        return false;
    }
}

bool bl_kir_fold(const struct bl_kir_instr *i, const uint64_t *x, uint64_t *result)
{
    uint32_t bits, out;

    if (i->operand_count == 0 || i->result_count != 1)
        return false;
    bits = bl_kir_type_bits(i->operands[0]->type);
    out = bl_kir_type_bits(i->results[0]->type);
    if (bits > 64 || out > 64)
        return false;
    if (!fold_arithmetic(i, x, bits, result) && !fold_bits(i, x, bits, result) && !fold_choice(i, x, bits, result))
        return false;
    *result &= bl_kir_ones(out);
    return true;
}
