/* What each op makes of the shapes of its operands: for divergence.c. A claim of UNIFORM or AFFINE must hold for every lane that
 * runs the op together with others; whatever is not known here to give one is VARYING. */
#include "kir/divergence.h"

enum { LAST_LANE = 31 };

static const struct bl_kir_shape_of uniform = {BL_KIR_SHAPE_UNIFORM, 0, NULL}, varying = {BL_KIR_SHAPE_VARYING, 0, NULL},
                                    none = {BL_KIR_SHAPE_NONE, 0, NULL};

static struct bl_kir_shape_of shape_of(const struct bl_kir_shapes *s, const struct bl_kir_value *value)
{
    uint32_t id = value->id;
    return (struct bl_kir_shape_of){s->result->shape[id], s->result->stride[id], s->result->guard[id]};
}

static bool is_const(const struct bl_kir_value *value, uint64_t *bits)
{
    if (!value->def || value->def->op != BL_KIR_OP_const || value->def->attr->imm_hi)
        return false;
    *bits = value->def->attr->imm;
    return true;
}

static uint64_t width_mask(uint32_t bits)
{
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* ---- facts ------------------------------------------------------------------------------------ */

static uint8_t zeros_of_bits(uint64_t bits)
{
    return bits ? (uint8_t)__builtin_ctzll(bits) : 64;
}

static uint8_t sum_zeros(uint8_t a, uint64_t b)
{
    return (uint8_t)BL_MIN((uint64_t)a + b, (uint64_t)64);
}

/* Limits of the programming guide's table of compute capabilities, all generations. */
static uint64_t most_of_sreg(enum bl_kir_sreg sreg)
{
    switch (sreg) {
    case BL_KIR_SREG_TID_X:
    case BL_KIR_SREG_TID_Y:
        return 1023;
    case BL_KIR_SREG_TID_Z:
        return 63;
    case BL_KIR_SREG_NTID_X:
    case BL_KIR_SREG_NTID_Y:
        return 1024;
    case BL_KIR_SREG_NTID_Z:
        return 64;
    case BL_KIR_SREG_CTAID_X:
        return INT32_MAX - 1;
    case BL_KIR_SREG_NCTAID_X:
        return INT32_MAX;
    case BL_KIR_SREG_CTAID_Y:
    case BL_KIR_SREG_CTAID_Z:
    case BL_KIR_SREG_NCTAID_Y:
    case BL_KIR_SREG_NCTAID_Z:
        return 65535;
    case BL_KIR_SREG_LANEID:
    case BL_KIR_SREG_WARPID:
        return LAST_LANE;
    default:
        return UINT64_MAX;
    }
}

static uint64_t most_of(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    uint64_t mask = width_mask(bl_kir_type_bits(i->results[0]->type)), x, y, r;

    if (i->op == BL_KIR_OP_const)
        return i->attr->imm_hi ? UINT64_MAX : i->attr->imm;
    if (i->op == BL_KIR_OP_sreg)
        return most_of_sreg(i->attr->sreg) & mask;
    if (i->operand_count == 0)
        return UINT64_MAX;
    x = s->most[i->operands[0]->id];
    y = i->operand_count > 1 ? s->most[i->operands[1]->id] : UINT64_MAX;
    switch (i->op) {
    case BL_KIR_OP_zext:
        return x;
    case BL_KIR_OP_sext:
        return x <= width_mask(bl_kir_type_bits(i->operands[0]->type)) >> 1 ? x : UINT64_MAX;
    case BL_KIR_OP_trunc:
        return x <= mask ? x : UINT64_MAX;
    case BL_KIR_OP_add:
        return !i->attr->sat && !__builtin_add_overflow(x, y, &r) && r <= mask ? r : UINT64_MAX;
    case BL_KIR_OP_mul:
        return !__builtin_mul_overflow(x, y, &r) && r <= mask ? r : UINT64_MAX;
    case BL_KIR_OP_shl:
        return is_const(i->operands[1], &y) && y < 64 && x <= mask >> y ? x << y : UINT64_MAX;
    case BL_KIR_OP_lshr:
        return is_const(i->operands[1], &y) && x != UINT64_MAX ? (y < 64 ? x >> y : 0) : UINT64_MAX;
    case BL_KIR_OP_and:
        return BL_MIN(x, y);
    default:
        return UINT64_MAX;
    }
}

static uint8_t zeros_of(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    uint64_t count;
    uint8_t x, y;

    if (i->op == BL_KIR_OP_const)
        return i->attr->imm_hi ? 0 : zeros_of_bits(i->attr->imm);
    if (i->op == BL_KIR_OP_sreg) /* a warp starts at a multiple of 32 in the row */
        return i->attr->sreg == BL_KIR_SREG_LANEID ? 64 : i->attr->sreg == BL_KIR_SREG_TID_X && s->options->linear_cta ? 5 : 0;
    if (i->operand_count == 0)
        return 0;
    x = s->zeros[i->operands[0]->id];
    y = i->operand_count > 1 ? s->zeros[i->operands[1]->id] : 0;
    switch (i->op) {
    case BL_KIR_OP_add:
    case BL_KIR_OP_sub:
        return i->attr->sat ? 0 : BL_MIN(x, y);
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
        return BL_MIN(x, y);
    case BL_KIR_OP_and:
        if (is_const(i->operands[1], &count) && x < 64 && count >> x == 0)
            return 64;
        return BL_MAX(x, y);
    case BL_KIR_OP_mul:
        return sum_zeros(x, y);
    case BL_KIR_OP_shl:
        return is_const(i->operands[1], &count) ? sum_zeros(x, count) : x;
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_neg:
        return x;
    default:
        return 0;
    }
}

void bl_kir_find_facts(struct bl_kir_shapes *s, const struct bl_kir_dom *dom)
{
    s->zeros = BL_NEW_ARRAY(s->func->module->arena, uint8_t, s->func->value_count);
    s->most = BL_NEW_ARRAY(s->func->module->arena, uint64_t, s->func->value_count);
    memset(s->most, 0xff, s->func->value_count * sizeof(uint64_t));
    for (uint32_t b = 0; b < dom->reachable_count; b++)
        for (struct bl_kir_instr *i = s->func->blocks.items[dom->rpo[b]]->first; i; i = i->next) {
            if (i->result_count != 1 || !bl_kir_type_is_int(i->results[0]->type) || i->op == BL_KIR_OP_phi)
                continue;
            s->zeros[i->results[0]->id] = zeros_of(s, i);
            s->most[i->results[0]->id] = most_of(s, i);
        }
}

/* ---- affine values ------------------------------------------------------------------------------ */

/* A stride is a number of the type's width; the same everywhere is uniform, if it holds without a check. */
static struct bl_kir_shape_of affine(enum bl_kir_type type, uint64_t stride, struct bl_kir_value *guard)
{
    uint32_t bits = bl_kir_type_bits(type);
    struct bl_kir_shape_of shape = {BL_KIR_SHAPE_AFFINE, 0, guard};

    if (!bl_kir_type_is_int(type) || bits > 64)
        return varying;
    shape.stride = (int64_t)(stride << (64 - bits)) >> (64 - bits);
    if (shape.stride == 0)
        return guard ? varying : uniform;
    return shape;
}

/* The lanes' values lie together in an aligned row of 2^row: adding the lane's part touches no bit from `row` on. */
static bool in_row(const struct bl_kir_shapes *s, const struct bl_kir_value *value, uint32_t row)
{
    struct bl_kir_shape_of x = shape_of(s, value);
    return row < 63 && !x.guard && x.stride > 0 && x.stride <= INT32_MAX && x.stride * LAST_LANE < (int64_t)1 << row &&
           s->zeros[value->id] >= row && row < bl_kir_type_bits(value->type);
}

static struct bl_kir_shape_of sum(const struct bl_kir_shapes *s, const struct bl_kir_instr *i, bool minus)
{
    struct bl_kir_shape_of x = shape_of(s, i->operands[0]), y = shape_of(s, i->operands[1]);
    uint64_t stride = minus ? (uint64_t)x.stride - (uint64_t)y.stride : (uint64_t)x.stride + (uint64_t)y.stride;

    if (i->attr->sat || (x.guard && y.guard && x.guard != y.guard))
        return varying;
    return affine(i->results[0]->type, stride, x.guard ? x.guard : y.guard);
}

static struct bl_kir_shape_of product(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    for (uint32_t k = 0; k < 2; k++) {
        struct bl_kir_shape_of x = shape_of(s, i->operands[1 - k]);
        uint64_t factor;
        if (is_const(i->operands[k], &factor))
            return affine(i->results[0]->type, (uint64_t)x.stride * factor, x.guard);
    }
    return varying;
}

static struct bl_kir_shape_of left_shift(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    struct bl_kir_shape_of x = shape_of(s, i->operands[0]);
    uint64_t count;

    if (!is_const(i->operands[1], &count))
        return varying;
    return affine(i->results[0]->type, count < 64 ? (uint64_t)x.stride << count : 0, x.guard);
}

/* Division by a power of two, rounding down: the same for all lanes of an aligned row. */
static struct bl_kir_shape_of right_shift(const struct bl_kir_shapes *s, const struct bl_kir_instr *i, uint64_t count)
{
    uint64_t most = s->most[i->operands[0]->id], half = width_mask(bl_kir_type_bits(i->operands[0]->type)) >> 1;

    if (most <= half && (count >= 64 || most >> count == 0))
        return uniform;
    return count < 63 && in_row(s, i->operands[0], (uint32_t)count) ? uniform : varying;
}

/* and with a constant: the place in the row, or the row's start. */
static struct bl_kir_shape_of mask(const struct bl_kir_shapes *s, const struct bl_kir_value *value, uint64_t bits)
{
    uint32_t width = bl_kir_type_bits(value->type);
    uint64_t all = width_mask(width);

    if (width > 64)
        return varying;
    if (bits != all && (bits & (bits + 1)) == 0 && in_row(s, value, zeros_of_bits(bits + 1)))
        return affine(value->type, (uint64_t)s->result->stride[value->id], NULL);
    if (bits && ((bits ^ all) & ((bits ^ all) + 1)) == 0 && in_row(s, value, zeros_of_bits(bits)))
        return uniform;
    return varying;
}

static struct bl_kir_shape_of bit_and(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    uint64_t bits;
    if (is_const(i->operands[1], &bits))
        return mask(s, i->operands[0], bits);
    return is_const(i->operands[0], &bits) ? mask(s, i->operands[1], bits) : varying;
}

/* or and xor of bits that are zero in every lane: the same as add. */
static struct bl_kir_shape_of bit_or(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    for (uint32_t k = 0; k < 2; k++) {
        const struct bl_kir_value *x = i->operands[1 - k];
        uint32_t low = BL_MIN(s->zeros[x->id], zeros_of_bits((uint64_t)s->result->stride[x->id]));
        uint64_t bits;
        if (is_const(i->operands[k], &bits) && low < 64 && bits >> low == 0)
            return sum(s, i, false);
    }
    return varying;
}

static struct bl_kir_shape_of divide(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    uint64_t by;
    if (!is_const(i->operands[1], &by) || by == 0 || (by & (by - 1)))
        return varying;
    return i->op == BL_KIR_OP_div_u ? right_shift(s, i, zeros_of_bits(by)) : mask(s, i->operands[0], by - 1);
}

/* A wider value is affine only where the narrow one does not wrap between the lanes. */
static bool never_wraps(const struct bl_kir_shapes *s, const struct bl_kir_value *value)
{
    struct bl_kir_shape_of x = shape_of(s, value);
    uint64_t half = width_mask(bl_kir_type_bits(value->type)) >> 1, length;

    if (x.stride > INT32_MAX || x.stride < -INT32_MAX)
        return false;
    length = (uint64_t)(x.stride < 0 ? -x.stride : x.stride) * LAST_LANE;
    if (s->most[value->id] <= half && length <= half)
        return true;
    return length > 0 && in_row(s, value, 64 - (uint32_t)__builtin_clzll(length));
}

static struct bl_kir_shape_of widen(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    struct bl_kir_shape_of x = shape_of(s, i->operands[0]);

    if (x.guard)
        return varying;
    if (never_wraps(s, i->operands[0]))
        return affine(i->results[0]->type, (uint64_t)x.stride, NULL);
    return s->options->guards ? affine(i->results[0]->type, (uint64_t)x.stride, i->results[0]) : varying;
}

/* x < c and kin, where all lanes lie in a row that c does not cut. */
static struct bl_kir_shape_of order(const struct bl_kir_shapes *s, const struct bl_kir_value *x, const struct bl_kir_value *c,
                                    bool strict)
{
    struct bl_kir_shape_of shape = shape_of(s, x);
    uint32_t row, zeros = s->zeros[c->id];
    uint64_t bits;

    if (s->result->shape[c->id] != BL_KIR_SHAPE_UNIFORM || shape.stride <= 0 || shape.stride > INT32_MAX)
        return varying;
    row = 64 - (uint32_t)__builtin_clzll((uint64_t)shape.stride * LAST_LANE);
    if (!strict) { /* x <= c is x < c + 1, and so long as c ends a row, c + 1 needs no place in the type */
        if (!is_const(c, &bits))
            return varying;
        zeros = zeros_of_bits(bits + 1);
    }
    return zeros >= row && in_row(s, x, row) ? uniform : varying;
}

static struct bl_kir_shape_of compare(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    struct bl_kir_value *x = i->operands[0], *y = i->operands[1];
    bool swapped = s->result->shape[x->id] == BL_KIR_SHAPE_UNIFORM;

    switch (i->attr->cmp) {
    case BL_KIR_EQ:
    case BL_KIR_NE: {
        struct bl_kir_shape_of a = shape_of(s, x), b = shape_of(s, y);
        return !a.guard && !b.guard && a.stride == b.stride ? uniform : varying;
    }
    case BL_KIR_LT:
    case BL_KIR_GE:
    case BL_KIR_LO:
    case BL_KIR_HS:
        return swapped ? order(s, y, x, false) : order(s, x, y, true);
    case BL_KIR_LE:
    case BL_KIR_GT:
    case BL_KIR_LS:
    case BL_KIR_HI:
        return swapped ? order(s, y, x, true) : order(s, x, y, false);
    default:
        return varying;
    }
}

/* ---- by op ----------------------------------------------------------------------------------------- */

static bool is_uniform(const struct bl_kir_shapes *s, const struct bl_kir_instr *i, uint32_t operand)
{
    return operand < i->operand_count && s->result->shape[i->operands[operand]->id] == BL_KIR_SHAPE_UNIFORM;
}

static struct bl_kir_shape_of shape_of_sreg(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    switch ((enum bl_kir_sreg)i->attr->sreg) {
    case BL_KIR_SREG_TID_X:
        return s->options->linear_cta ? affine(i->results[0]->type, 1, NULL) : varying;
    case BL_KIR_SREG_TID_Y:
    case BL_KIR_SREG_TID_Z:
        return s->options->linear_cta ? uniform : varying;
    case BL_KIR_SREG_LANEID:
        return affine(i->results[0]->type, 1, NULL);
    case BL_KIR_SREG_LANEMASK_EQ:
    case BL_KIR_SREG_LANEMASK_LE:
    case BL_KIR_SREG_LANEMASK_LT:
    case BL_KIR_SREG_LANEMASK_GE:
    case BL_KIR_SREG_LANEMASK_GT:
        return varying;
    default:
        return i->attr->sreg < BL_KIR_SREG_COUNT ? uniform : varying;
    }
}

/* All lanes read from one lane, and the lanes that PTX's c keeps apart are not. PTX ISA, shfl.sync. */
static bool is_broadcast(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    uint64_t c;
    return i->attr->shfl == BL_KIR_SHFL_IDX && is_uniform(s, i, 1) && is_uniform(s, i, 3) && is_const(i->operands[2], &c) &&
           (c & 0x1f1f) == 0x1f;
}

static bool is_lane_of_warp(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    return s->result->divergent_block[i->block->id] == 0;
}

static struct bl_kir_shape_of merge(const struct bl_kir_shapes *s, const struct bl_kir_instr *phi, uint32_t first)
{
    struct bl_kir_shape_of all = none;

    for (uint32_t k = first; k < phi->operand_count; k++) {
        struct bl_kir_shape_of x = shape_of(s, phi->operands[k]);
        if (x.kind == BL_KIR_SHAPE_NONE)
            continue;
        if (x.kind == BL_KIR_SHAPE_VARYING ||
            (all.kind != BL_KIR_SHAPE_NONE && (all.kind != x.kind || all.stride != x.stride || all.guard != x.guard)))
            return varying;
        all = x;
    }
    return all;
}

/* Ops whose operands are uniform or affine, one at least affine, none varying. */
static struct bl_kir_shape_of shape_of_affine_op(const struct bl_kir_shapes *s, const struct bl_kir_instr *i)
{
    struct bl_kir_shape_of x = shape_of(s, i->operands[0]);
    enum bl_kir_type type = i->results[0]->type;
    uint64_t count;

    switch (i->op) {
    case BL_KIR_OP_add:
        return sum(s, i, false);
    case BL_KIR_OP_sub:
        return sum(s, i, true);
    case BL_KIR_OP_neg:
    case BL_KIR_OP_not:
        return affine(type, 0 - (uint64_t)x.stride, x.guard);
    case BL_KIR_OP_mul:
        return product(s, i);
    case BL_KIR_OP_shl:
        return left_shift(s, i);
    case BL_KIR_OP_lshr:
    case BL_KIR_OP_ashr:
        return is_const(i->operands[1], &count) ? right_shift(s, i, count) : varying;
    case BL_KIR_OP_and:
        return bit_and(s, i);
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
        return bit_or(s, i);
    case BL_KIR_OP_div_u:
    case BL_KIR_OP_rem_u:
        return divide(s, i);
    case BL_KIR_OP_icmp:
        return compare(s, i);
    case BL_KIR_OP_select:
        return is_uniform(s, i, 0) ? merge(s, i, 1) : varying;
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
        return widen(s, i);
    case BL_KIR_OP_trunc:
        return affine(type, (uint64_t)x.stride, x.guard);
    case BL_KIR_OP_bitcast:
        return type == i->operands[0]->type ? x : varying;
    case BL_KIR_OP_to_generic:
        return i->operands[0]->type == BL_KIR_I64 || never_wraps(s, i->operands[0]) ? affine(type, (uint64_t)x.stride, x.guard)
                                                                                    : varying;
    case BL_KIR_OP_from_generic:
        return affine(type, (uint64_t)x.stride, x.guard);
    default:
        return varying;
    }
}

/* Ops that are not lane by lane, or whose answer depends on more than the operands. */
static struct bl_kir_shape_of shape_of_special_op(const struct bl_kir_shapes *s, const struct bl_kir_instr *i, uint32_t result)
{
    switch (i->op) {
    case BL_KIR_OP_sreg:
        return shape_of_sreg(s, i);
    case BL_KIR_OP_load: /* one address is one place, but in local memory, where each lane has its own */
        return i->attr->space != BL_KIR_LOCAL && is_uniform(s, i, 0) ? uniform : varying;
    case BL_KIR_OP_shfl:
        return is_broadcast(s, i) ? uniform : varying;
    case BL_KIR_OP_vote: /* lanes with different member masks get different answers */
    case BL_KIR_OP_redux:
        return is_uniform(s, i, 1) ? uniform : varying;
    case BL_KIR_OP_match_all:
        return is_uniform(s, i, 1) ? uniform : varying;
    case BL_KIR_OP_elect:
        return result == 0 && is_uniform(s, i, 0) ? uniform : varying;
    case BL_KIR_OP_activemask:
        return is_lane_of_warp(s, i) ? uniform : varying;
    case BL_KIR_OP_barrier_red:
        return is_lane_of_warp(s, i) && is_uniform(s, i, 1) && (i->operand_count < 3 || is_uniform(s, i, 2)) ? uniform : varying;
    default:
        return varying;
    }
}

/* A local address means another place in each lane, so that its generic address differs; and back. */
static bool is_local_window(const struct bl_kir_instr *i)
{
    return (i->op == BL_KIR_OP_to_generic || i->op == BL_KIR_OP_from_generic || i->op == BL_KIR_OP_isspacep) &&
           i->attr->space == BL_KIR_LOCAL;
}

struct bl_kir_shape_of bl_kir_shape_of_result(const struct bl_kir_shapes *s, const struct bl_kir_instr *i, uint32_t result)
{
    uint8_t worst = BL_KIR_SHAPE_UNIFORM;

    if (i->op == BL_KIR_OP_phi)
        return merge(s, i, 0);
    for (uint32_t k = 0; k < i->operand_count; k++) {
        uint8_t kind = s->result->shape[i->operands[k]->id];
        if (kind == BL_KIR_SHAPE_NONE)
            return none;
        worst = BL_MAX(worst, kind);
    }
    if (!(bl_kir_ops[i->op].flags & BL_KIR_UNIFORM))
        return shape_of_special_op(s, i, result);
    if (is_local_window(i) || worst == BL_KIR_SHAPE_VARYING)
        return varying;
    if (worst == BL_KIR_SHAPE_UNIFORM)
        return uniform;
    return i->result_count == 1 ? shape_of_affine_op(s, i) : varying;
}
