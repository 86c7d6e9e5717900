/* Simplification: constants, copies, conversions that undo each other, constant parts of addresses, branches on constants, phis of
 * one value. Needs SSA and preds up to date; keeps both; leaves dead ops for bl_kir_dce. Front ends of CUDA have optimised before:
 * this takes out what lowering itself brings in and what the analyses would stumble over, no more. Two rounds at most, each linear.
 */
#include "kir/fold.h"

enum { MOST_OPERANDS = 8, MOST_ADDS = 8 };

struct simplify {
    struct bl_kir_func *func;
    struct bl_arena *arena;
    struct bl_kir_value **same; /* by value id, < count: what stands for it now; NULL: itself */
    uint32_t count;
    bool changed, edges_changed;
};

static struct bl_kir_value *resolve(struct simplify *s, struct bl_kir_value *value)
{
    struct bl_kir_value *last = value;

    while (last->id < s->count && s->same[last->id])
        last = s->same[last->id];
    while (value != last && s->same[value->id] != last) {
        struct bl_kir_value *next = s->same[value->id];
        s->same[value->id] = last;
        value = next;
    }
    return last;
}

static bool is_const(const struct bl_kir_value *value, uint64_t *bits)
{
    if (!value->def || value->def->op != BL_KIR_OP_const || value->def->attr->imm_hi || bl_kir_type_bits(value->type) > 64)
        return false;
    *bits = value->def->attr->imm;
    return true;
}

/* The instruction becomes a copy of value. In a cycle that an edge taken out has made unreachable, value may be itself. */
static void become(struct simplify *s, struct bl_kir_instr *i, uint32_t result, struct bl_kir_value *value)
{
    if (resolve(s, value) == i->results[result])
        return;
    s->same[i->results[result]->id] = value;
    s->changed = true;
    if (result + 1 == i->result_count)
        bl_kir_remove(i);
}

static void become_const(struct simplify *s, struct bl_kir_instr *i, uint64_t bits)
{
    i->op = BL_KIR_OP_const;
    i->operand_count = 0;
    *i->attr = (struct bl_kir_attr){.imm = bits};
    s->changed = true;
}

static struct bl_kir_value *const_before(struct simplify *s, struct bl_kir_instr *i, enum bl_kir_type type, uint64_t bits)
{
    struct bl_kir_builder b = {.func = s->func, .before = i, .line = i->line};
    return bl_kir_const(&b, type, bits);
}

static struct bl_kir_instr *def_by(const struct bl_kir_value *value, enum bl_kir_op op)
{
    return value->def && value->def->op == op ? value->def : NULL;
}

/* ---- integers ------------------------------------------------------------------------------------- */

static bool fold(struct simplify *s, struct bl_kir_instr *i)
{
    uint64_t x[MOST_OPERANDS] = {0}, result;

    if (i->operand_count > MOST_OPERANDS)
        return false;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (!is_const(i->operands[k], &x[k]))
            return false;
    if (!bl_kir_fold(i, x, &result))
        return false;
    become_const(s, i, result);
    return true;
}

/* Constants stand second where operands may be swapped, and what is subtracted is added. */
static void put_const_second(struct simplify *s, struct bl_kir_instr *i)
{
    uint64_t bits;

    if (bl_kir_ops[i->op].flags & BL_KIR_COMMUTE && is_const(i->operands[0], &bits) && !is_const(i->operands[1], &bits)) {
        struct bl_kir_value *first = i->operands[0];
        i->operands[0] = i->operands[1];
        i->operands[1] = first;
    }
    if (i->op == BL_KIR_OP_sub && !i->attr->sat && is_const(i->operands[1], &bits)) {
        i->op = BL_KIR_OP_add;
        i->operands[1] = const_before(s, i, i->operands[1]->type, 0 - bits);
        s->changed = true;
    }
}

/* x + c1 + c2 */
static void join_adds(struct simplify *s, struct bl_kir_instr *i, uint64_t second)
{
    struct bl_kir_instr *inner = i->op == BL_KIR_OP_add && !i->attr->sat ? def_by(i->operands[0], BL_KIR_OP_add) : NULL;
    uint64_t first;

    if (!inner || inner->attr->sat || !is_const(inner->operands[1], &first))
        return;
    i->operands[1] = const_before(s, i, i->operands[1]->type, first + second);
    i->operands[0] = inner->operands[0];
    s->changed = true;
}

/* An op whose second operand is a constant that makes it a copy or a constant. */
static bool absorb(struct simplify *s, struct bl_kir_instr *i, uint64_t c)
{
    uint64_t ones = bl_kir_ones(bl_kir_type_bits(i->results[0]->type));
    bool copy = false, zero = false;

    switch (i->op) {
    case BL_KIR_OP_add:
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
    case BL_KIR_OP_shl:
    case BL_KIR_OP_lshr:
    case BL_KIR_OP_ashr:
        copy = c == 0;
        break;
    case BL_KIR_OP_mul:
        copy = c == 1;
        zero = c == 0;
        break;
    case BL_KIR_OP_div_u:
    case BL_KIR_OP_div_s:
        copy = c == 1;
        break;
    case BL_KIR_OP_and:
        copy = c == ones;
        zero = c == 0;
        break;
    default:
        break;
    }
    if ((i->op == BL_KIR_OP_shl || i->op == BL_KIR_OP_lshr) && c >= bl_kir_type_bits(i->results[0]->type))
        zero = true;
    if (zero)
        become_const(s, i, 0);
    else if (copy)
        become(s, i, 0, i->operands[0]);
    return copy || zero;
}

static bool same_operands(struct simplify *s, struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_and:
    case BL_KIR_OP_or:
    case BL_KIR_OP_min_s:
    case BL_KIR_OP_min_u:
    case BL_KIR_OP_max_s:
    case BL_KIR_OP_max_u:
        become(s, i, 0, i->operands[0]);
        return true;
    case BL_KIR_OP_sub:
    case BL_KIR_OP_xor:
        become_const(s, i, 0);
        return true;
    case BL_KIR_OP_icmp: {
        enum bl_kir_cmp cmp = i->attr->cmp;
        become_const(s, i, cmp == BL_KIR_EQ || cmp == BL_KIR_LE || cmp == BL_KIR_GE || cmp == BL_KIR_LS || cmp == BL_KIR_HS);
        return true;
    }
    default:
        return false;
    }
}

static void simplify_integer(struct simplify *s, struct bl_kir_instr *i)
{
    uint64_t c;

    put_const_second(s, i);
    if (i->operand_count != 2 || i->result_count != 1)
        return;
    if (i->operands[0] == i->operands[1] && same_operands(s, i))
        return;
    if (!is_const(i->operands[1], &c) || absorb(s, i, c))
        return;
    join_adds(s, i, c);
}

/* ---- conversions ----------------------------------------------------------------------------------- */

static void replace_operand(struct simplify *s, struct bl_kir_instr *i, enum bl_kir_op op, struct bl_kir_value *operand)
{
    i->op = op;
    i->operands[0] = operand;
    s->changed = true;
}

static bool is_extension(const struct bl_kir_instr *i)
{
    return i && (i->op == BL_KIR_OP_zext || i->op == BL_KIR_OP_sext);
}

/* trunc of an extension: the value, a shorter truncation, or a shorter extension. */
static void shorten(struct simplify *s, struct bl_kir_instr *i, struct bl_kir_instr *inner)
{
    struct bl_kir_value *x = inner->operands[0];
    uint32_t have = bl_kir_type_bits(x->type), want = bl_kir_type_bits(i->results[0]->type);

    if (have == want)
        become(s, i, 0, x);
    else
        replace_operand(s, i, have > want ? BL_KIR_OP_trunc : inner->op, x);
}

static void simplify_conversion(struct simplify *s, struct bl_kir_instr *i)
{
    struct bl_kir_instr *inner = i->operands[0]->def;

    if (i->op == BL_KIR_OP_bitcast && i->operands[0]->type == i->results[0]->type)
        become(s, i, 0, i->operands[0]);
    else if (i->op == BL_KIR_OP_bitcast && inner && inner->op == BL_KIR_OP_bitcast &&
             inner->operands[0]->type == i->results[0]->type)
        become(s, i, 0, inner->operands[0]);
    else if (i->op == BL_KIR_OP_bitcast && inner && inner->op == BL_KIR_OP_bitcast)
        replace_operand(s, i, BL_KIR_OP_bitcast, inner->operands[0]);
    else if (i->op == BL_KIR_OP_trunc && is_extension(inner))
        shorten(s, i, inner);
    else if (i->op == BL_KIR_OP_trunc && inner && inner->op == BL_KIR_OP_trunc)
        replace_operand(s, i, BL_KIR_OP_trunc, inner->operands[0]);
    else if (is_extension(i) && is_extension(inner) && (inner->op == i->op || inner->op == BL_KIR_OP_zext))
        replace_operand(s, i, inner->op, inner->operands[0]);
}

/* To a space and back, or from it and back. What is not in the space has no address there, so that it may be taken for one. */
static void simplify_space(struct simplify *s, struct bl_kir_instr *i)
{
    enum bl_kir_op other = i->op == BL_KIR_OP_to_generic ? BL_KIR_OP_from_generic : BL_KIR_OP_to_generic;
    struct bl_kir_instr *inner = def_by(i->operands[0], other);

    if (inner && inner->attr->space == i->attr->space && inner->operands[0]->type == BL_KIR_I64 &&
        i->results[0]->type == BL_KIR_I64 && i->operands[0]->type == BL_KIR_I64)
        become(s, i, 0, inner->operands[0]);
}

static bool same_parts(const struct bl_kir_instr *pack, const struct bl_kir_instr *unpack)
{
    if (pack->operand_count != unpack->result_count)
        return false;
    for (uint32_t k = 0; k < pack->operand_count; k++)
        if (pack->operands[k]->type != unpack->results[k]->type)
            return false;
    return true;
}

static void simplify_unpack(struct simplify *s, struct bl_kir_instr *i)
{
    struct bl_kir_instr *pack = def_by(i->operands[0], BL_KIR_OP_pack);
    uint32_t count = i->result_count, bits;
    uint64_t c;

    if (pack && same_parts(pack, i)) {
        for (uint32_t r = 0; r < count; r++)
            become(s, i, r, pack->operands[r]);
        return;
    }
    if (!is_const(i->operands[0], &c) || bl_kir_type_bits(i->operands[0]->type) > 64)
        return;
    bits = bl_kir_type_bits(i->results[0]->type);
    for (uint32_t r = 0; r < count; r++)
        become(s, i, r, const_before(s, i, i->results[r]->type, c >> (r * bits)));
}

static void simplify_pack(struct simplify *s, struct bl_kir_instr *i)
{
    struct bl_kir_instr *unpack = def_by(i->operands[0], BL_KIR_OP_unpack);

    if (!unpack || !same_parts(i, unpack) || unpack->operands[0]->type != i->results[0]->type)
        return;
    for (uint32_t k = 0; k < i->operand_count; k++)
        if (i->operands[k] != unpack->results[k])
            return;
    become(s, i, 0, unpack->operands[0]);
}

/* ---- choices, addresses, phis ------------------------------------------------------------------------ */

static void simplify_select(struct simplify *s, struct bl_kir_instr *i)
{
    uint64_t c;

    if (i->operands[1] == i->operands[2])
        become(s, i, 0, i->operands[1]);
    else if (is_const(i->operands[0], &c))
        become(s, i, 0, i->operands[c ? 1 : 2]);
}

/* [x + c] + offset: addresses of 64 bits wrap as one sum. Narrower ones may wrap before the offset is added. */
static void simplify_address(struct simplify *s, struct bl_kir_instr *i)
{
    for (uint32_t steps = 0; steps < MOST_ADDS; steps++) { /* sums were joined before: one step, but in unreachable cycles */
        struct bl_kir_instr *add = i->operands[0]->type == BL_KIR_I64 ? def_by(i->operands[0], BL_KIR_OP_add) : NULL;
        uint64_t c;
        if (!add || !is_const(add->operands[1], &c))
            return;
        i->attr->imm += c;
        i->operands[0] = add->operands[0];
        s->changed = true;
    }
}

static void simplify_phi(struct simplify *s, struct bl_kir_instr *phi)
{
    struct bl_kir_value *only = NULL;

    for (uint32_t k = 0; k < phi->operand_count; k++) {
        struct bl_kir_value *x = phi->operands[k];
        if (x == phi->results[0] || x == only)
            continue;
        if (only)
            return;
        only = x;
    }
    if (only)
        become(s, phi, 0, only);
}

/* ---- edges ------------------------------------------------------------------------------------------- */

/* Takes out the edge by which target number t of the block's end goes; the phis lose its operand. */
static void remove_edge(struct bl_kir_block *from, uint32_t t)
{
    struct bl_kir_block *to = from->last->targets[t];
    uint32_t skip = 0, at = 0;

    for (uint32_t before = 0; before < t; before++)
        skip += from->last->targets[before] == to;
    while (to->preds.items[at] != from || skip-- > 0)
        at++;
    for (struct bl_kir_instr *phi = to->first; phi && phi->op == BL_KIR_OP_phi; phi = phi->next) {
        memmove(phi->operands + at, phi->operands + at + 1, (phi->operand_count - at - 1) * sizeof(*phi->operands));
        phi->operand_count--;
    }
    memmove(to->preds.items + at, to->preds.items + at + 1, (to->preds.count - at - 1) * sizeof(*to->preds.items));
    to->preds.count--;
}

static void simplify_end(struct simplify *s, struct bl_kir_instr *end)
{
    uint64_t c = 0;
    uint32_t kept;

    if (end->target_count == 0 || end->operand_count == 0)
        return;
    if (end->target_count > 1 && !is_const(end->operands[0], &c))
        return;
    if (end->op == BL_KIR_OP_switch && c >= end->target_count) /* undefined: it is left to the target */
        return;
    kept = end->op == BL_KIR_OP_branch ? !c : (uint32_t)c;
    for (uint32_t t = end->target_count; t-- > 0;) /* from the last, so that earlier edges keep their places */
        if (t != kept)
            remove_edge(end->block, t);
    end->targets[0] = end->targets[kept];
    end->target_count = 1;
    end->op = BL_KIR_OP_jump;
    end->operand_count = 0;
    s->changed = s->edges_changed = true;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static void simplify_instr(struct simplify *s, struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_phi:
        simplify_phi(s, i);
        return;
    case BL_KIR_OP_branch:
    case BL_KIR_OP_switch:
        simplify_end(s, i);
        return;
    case BL_KIR_OP_load:
    case BL_KIR_OP_store:
    case BL_KIR_OP_atomic:
    case BL_KIR_OP_reduce:
    case BL_KIR_OP_prefetch:
        simplify_address(s, i);
        return;
    case BL_KIR_OP_unpack:
        simplify_unpack(s, i);
        return;
    default:
        break;
    }
    if (i->op == BL_KIR_OP_const || bl_kir_ops[i->op].flags & (BL_KIR_EFFECT | BL_KIR_READ) || fold(s, i))
        return;
    switch (i->op) {
    case BL_KIR_OP_bitcast:
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
        simplify_conversion(s, i);
        return;
    case BL_KIR_OP_to_generic:
    case BL_KIR_OP_from_generic:
        simplify_space(s, i);
        return;
    case BL_KIR_OP_pack:
        simplify_pack(s, i);
        return;
    case BL_KIR_OP_select:
        simplify_select(s, i);
        return;
    default:
        if (i->operand_count >= 2 && bl_kir_type_is_int(i->operands[0]->type))
            simplify_integer(s, i);
        return;
    }
}

static void simplify_block(struct simplify *s, struct bl_kir_block *block)
{
    for (struct bl_kir_instr *i = block->first, *next; i; i = next) {
        next = i->next;
        for (uint32_t k = 0; k < i->operand_count; k++)
            i->operands[k] = resolve(s, i->operands[k]);
        simplify_instr(s, i);
    }
}

static void resolve_all(struct simplify *s)
{
    for (uint32_t b = 0; b < s->func->blocks.count; b++)
        for (struct bl_kir_instr *i = s->func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t k = 0; k < i->operand_count; k++)
                i->operands[k] = resolve(s, i->operands[k]);
}

void bl_kir_simplify(struct bl_kir_func *func)
{
    enum { ROUNDS = 2 };

    for (uint32_t round = 0; round < ROUNDS && func->blocks.count; round++) {
        struct simplify s = {.func = func, .arena = func->module->arena};
        struct bl_kir_dom *dom = bl_kir_dominators(func);
        s.count = func->value_count;
        s.same = BL_NEW_ARRAY(s.arena, struct bl_kir_value *, s.count);
        for (uint32_t b = 0; b < dom->reachable_count; b++)
            simplify_block(&s, func->blocks.items[dom->rpo[b]]);
        resolve_all(&s);
        if (s.edges_changed)
            bl_kir_renumber(func);
        if (!s.changed)
            return;
    }
}
