/* Loops: their nest, and which of them wait for another thread. Needs dominators, and preds up to date.
 * The nest is Havlak's ("Nesting of Reducible and Irreducible Loops", 1997): headers from the last to the first in depth-first
 * order, each loop's blocks found backwards from the edges that return to it and then taken together as one. */
#include "kir/kir.h"

struct link { /* of block ids, in the arena */
    struct link *next;
    uint32_t block;
};

struct nest {
    struct bl_kir_func *func;
    struct bl_arena *arena;
    const struct bl_kir_dom *dom;
    struct bl_kir_loops *result;
    uint32_t count;
    uint32_t *order, *number, *last; /* depth-first: number -> block, block -> number, last number below a block */
    uint32_t *above;                 /* union-find: the block that a block was taken into */
    uint32_t *header_of;             /* by block: the header of the innermost loop around it, not its own; UINT32_MAX: none */
    uint32_t *stamp;                 /* by block: in the loop being found when equal to its header's number + 1 */
    uint32_t *work;
    struct link **entering; /* by block: other ways into the loop that was taken into it */
    uint8_t *is_header, *irreducible;
};

/* ---- the nest ------------------------------------------------------------------------------- */

/* The same order as bl_kir_dominators', so that the first in it is the first in reverse post-order, too. */
static void number_blocks(struct nest *n)
{
    uint32_t *position = BL_NEW_ARRAY(n->arena, uint32_t, n->count), depth = 1, next = 1;

    memset(n->number, 0xff, n->count * sizeof(uint32_t));
    n->number[0] = 0;
    n->order[0] = 0;
    n->work[0] = 0;
    while (depth > 0) {
        uint32_t b = n->work[depth - 1];
        struct bl_kir_instr *last = n->func->blocks.items[b]->last;
        uint32_t out = last ? last->target_count : 0, to;
        if (position[b] == out) {
            n->last[b] = next - 1;
            depth--;
            continue;
        }
        to = last->targets[out - 1 - position[b]++]->id;
        if (n->number[to] != UINT32_MAX)
            continue;
        n->order[next] = to;
        n->number[to] = next++;
        n->work[depth++] = to;
    }
}

static bool is_below(const struct nest *n, uint32_t above, uint32_t block)
{
    return n->number[above] <= n->number[block] && n->number[block] <= n->last[above];
}

static uint32_t find(struct nest *n, uint32_t block)
{
    uint32_t root = block;
    while (n->above[root] != root)
        root = n->above[root];
    while (n->above[block] != root) {
        uint32_t next = n->above[block];
        n->above[block] = root;
        block = next;
    }
    return root;
}

/* Block (as far as it is taken into another, that one) belongs to the loop of `header`, unless it comes from outside. */
static void reach(struct nest *n, uint32_t header, uint32_t block, uint32_t *depth)
{
    uint32_t mark = n->number[header] + 1, root = find(n, block);

    if (root == header || n->stamp[root] == mark)
        return;
    n->stamp[root] = mark;
    if (is_below(n, header, root)) {
        n->work[(*depth)++] = root;
        return;
    }
    struct link *link = BL_NEW(n->arena, struct link);
    n->irreducible[header] = 1;
    link->block = root;
    link->next = n->entering[header];
    n->entering[header] = link;
}

static void find_loop(struct nest *n, uint32_t header)
{
    struct bl_kir_block *block = n->func->blocks.items[header];
    uint32_t depth = 0, done = 0;

    for (uint32_t p = 0; p < block->preds.count; p++) {
        uint32_t from = block->preds.items[p]->id;
        if (n->number[from] == UINT32_MAX || !is_below(n, header, from))
            continue;
        n->is_header[header] = 1;
        reach(n, header, from, &depth);
    }
    for (; done < depth; done++) {
        struct bl_kir_block *inside = n->func->blocks.items[n->work[done]];
        for (uint32_t p = 0; p < inside->preds.count; p++) {
            uint32_t from = inside->preds.items[p]->id;
            if (n->number[from] != UINT32_MAX && !is_below(n, inside->id, from))
                reach(n, header, from, &depth);
        }
        for (struct link *l = n->entering[inside->id]; l; l = l->next)
            reach(n, header, l->block, &depth);
    }
    for (uint32_t i = 0; i < depth; i++) {
        n->above[n->work[i]] = header;
        n->header_of[n->work[i]] = header;
    }
}

static void make_loops(struct nest *n)
{
    struct bl_kir_loop **loop_of = BL_NEW_ARRAY(n->arena, struct bl_kir_loop *, n->count); /* by header */

    n->result->of_block = BL_NEW_ARRAY(n->arena, struct bl_kir_loop *, n->count);
    for (uint32_t i = 0; i < n->dom->reachable_count; i++) {
        uint32_t b = n->dom->rpo[i], header = n->header_of[b];
        struct bl_kir_loop *loop = header == UINT32_MAX ? NULL : loop_of[header];
        if (n->is_header[b]) {
            struct bl_kir_loop *inner = BL_NEW(n->arena, struct bl_kir_loop);
            inner->parent = loop;
            inner->header = n->func->blocks.items[b];
            inner->depth = loop ? loop->depth + 1 : 1;
            inner->irreducible = n->irreducible[b];
            inner->index = n->result->loops.count;
            *BL_PUSH(n->arena, &n->result->loops) = inner;
            loop = loop_of[b] = inner;
        }
        n->result->of_block[b] = loop;
        for (; loop; loop = loop->parent)
            *BL_PUSH(n->arena, &loop->blocks) = n->func->blocks.items[b];
    }
}

static void find_nest(struct bl_kir_func *func, const struct bl_kir_dom *dom, struct bl_kir_loops *result)
{
    struct bl_arena *arena = func->module->arena;
    struct nest n = {.func = func, .arena = arena, .dom = dom, .result = result, .count = func->blocks.count};
    uint32_t **arrays[] = {&n.order, &n.number, &n.last, &n.above, &n.header_of, &n.stamp, &n.work};

    for (uint32_t i = 0; i < BL_LEN(arrays); i++)
        *arrays[i] = BL_NEW_ARRAY(arena, uint32_t, n.count);
    n.entering = BL_NEW_ARRAY(arena, struct link *, n.count);
    n.is_header = BL_NEW_ARRAY(arena, uint8_t, n.count);
    n.irreducible = BL_NEW_ARRAY(arena, uint8_t, n.count);
    memset(n.header_of, 0xff, n.count * sizeof(uint32_t));
    for (uint32_t b = 0; b < n.count; b++)
        n.above[b] = b;
    number_blocks(&n);
    for (uint32_t i = dom->reachable_count; i-- > 0;)
        find_loop(&n, n.order[i]);
    make_loops(&n);
}

/* ---- waiting ----------------------------------------------------------------------------------- */

/* Which loops wait. The exits of a loop are traced back through the values and branches inside it that decide them: a loop waits
 * if that meets memory which another thread must change. Three kinds of atomics don't count, since a thread that runs alone gets
 * through: a counter (add of a constant, its address used by no other atomic of the loop), a compare-and-swap whose expected value
 * is what memory held before (the retry of a lock-free update), and those that decide no exit. */
struct trace {
    struct bl_kir_func *func;
    struct bl_arena *arena;
    const struct bl_kir_dom *dom;
    const struct bl_kir_loops *loops;
    struct link **controls; /* by block: the branches that decide whether it runs (control dependence) */
    /* of the loop being traced; stamps are its index + 1 */
    const struct bl_kir_loop *loop;
    uint32_t *in_loop, *value_met, *block_met; /* by block, value, block */
    struct bl_kir_value **work;
    uint32_t depth;
    bool locals_met;
    bool has_barrier, has_fence, has_write; /* any of these ops inside */
};

static bool is_inside(const struct trace *t, const struct bl_kir_block *block)
{
    return block && t->in_loop[block->id] == t->loop->index + 1;
}

/* A branch decides the blocks between its targets and its post-dominator (Ferrante, Ottenstein, Warren, 1987). */
static void find_controls(struct trace *t)
{
    t->controls = BL_NEW_ARRAY(t->arena, struct link *, t->func->blocks.count);
    for (uint32_t b = 0; b < t->func->blocks.count; b++) {
        struct bl_kir_instr *last = t->func->blocks.items[b]->last;
        if (!last || last->target_count < 2 || !t->loops->of_block[b])
            continue;
        for (uint32_t k = 0; k < last->target_count; k++)
            for (uint32_t up = last->targets[k]->id; up != t->dom->ipdom[b] && up != UINT32_MAX; up = t->dom->ipdom[up]) {
                struct link *link;
                if (t->controls[up] && t->controls[up]->block == b)
                    break;
                link = BL_NEW(t->arena, struct link);
                link->block = b;
                link->next = t->controls[up];
                t->controls[up] = link;
            }
    }
}

static void meet_value(struct trace *t, struct bl_kir_value *value)
{
    if (!value->def || !is_inside(t, value->def->block) || t->value_met[value->id] == t->loop->index + 1)
        return;
    t->value_met[value->id] = t->loop->index + 1;
    t->work[t->depth++] = value;
}

static void meet_operands(struct trace *t, const struct bl_kir_instr *instr)
{
    for (uint32_t k = 0; k < instr->operand_count; k++)
        meet_value(t, instr->operands[k]);
}

/* What decides whether the block runs in an iteration: one step; the conditions' own blocks follow when they are met. */
static void meet_block(struct trace *t, const struct bl_kir_block *block)
{
    if (t->block_met[block->id] == t->loop->index + 1)
        return;
    t->block_met[block->id] = t->loop->index + 1;
    for (struct link *l = t->controls[block->id]; l; l = l->next)
        if (is_inside(t, t->func->blocks.items[l->block]))
            meet_operands(t, t->func->blocks.items[l->block]->last);
}

static void meet_phi(struct trace *t, const struct bl_kir_instr *phi)
{
    struct bl_kir_value *only = NULL;
    bool differ = false;

    for (uint32_t k = 0; k < phi->operand_count; k++) {
        meet_value(t, phi->operands[k]);
        if (!is_inside(t, phi->block->preds.items[k]))
            continue;
        differ = differ || (only && only != phi->operands[k]);
        only = phi->operands[k];
    }
    for (uint32_t k = 0; differ && k < phi->operand_count; k++) {
        const struct bl_kir_block *from = phi->block->preds.items[k];
        if (!is_inside(t, from))
            continue;
        meet_block(t, from);
        meet_operands(t, from->last);
    }
}

static bool same_address(const struct bl_kir_instr *a, const struct bl_kir_instr *b)
{
    return a->operands[0] == b->operands[0] && a->attr->imm == b->attr->imm;
}

static bool is_atomic(const struct bl_kir_instr *instr)
{
    return instr->op == BL_KIR_OP_atomic || instr->op == BL_KIR_OP_reduce;
}

static bool has_other_atomic(const struct trace *t, const struct bl_kir_instr *instr)
{
    for (uint32_t b = 0; b < t->loop->blocks.count; b++)
        for (const struct bl_kir_instr *i = t->loop->blocks.items[b]->first; i; i = i->next)
            if (i != instr && is_atomic(i) && same_address(i, instr))
                return true;
    return false;
}

/* The value behind changes of type. */
static const struct bl_kir_value *strip(const struct bl_kir_value *value)
{
    for (uint32_t steps = 0; steps < 16 && value->def; steps++) {
        enum bl_kir_op op = value->def->op;
        if (op != BL_KIR_OP_bitcast && op != BL_KIR_OP_trunc && op != BL_KIR_OP_zext && op != BL_KIR_OP_sext)
            break;
        value = value->def->operands[0];
    }
    return value;
}

/* The expected value is read anew before each try. */
static bool is_retry(const struct trace *t, const struct bl_kir_instr *cas)
{
    const struct bl_kir_value *expected = cas->operand_count == 3 ? strip(cas->operands[1]) : NULL;
    const struct bl_kir_instr *def = expected ? expected->def : NULL;

    if (!def || !is_inside(t, def->block))
        return false;
    if (def->op == BL_KIR_OP_load)
        return def->attr->order == BL_KIR_WEAK;
    if (def->op != BL_KIR_OP_phi)
        return false;
    for (uint32_t k = 0; k < def->operand_count; k++)
        if (strip(def->operands[k])->def == cas)
            return true;
    return false;
}

static bool is_nonzero_const(const struct bl_kir_value *value)
{
    return value->def && value->def->op == BL_KIR_OP_const && (value->def->attr->imm || value->def->attr->imm_hi);
}

static bool atomic_waits(const struct trace *t, const struct bl_kir_instr *instr)
{
    if (instr->attr->atom == BL_KIR_ATOM_ADD && instr->operand_count == 2 && is_nonzero_const(instr->operands[1]))
        return has_other_atomic(t, instr);
    if (instr->attr->atom == BL_KIR_ATOM_CAS)
        return !is_retry(t, instr);
    return true;
}

/* A plain load waits if it reads one place again and again and nothing in the loop suggests that the thread itself changes it. */
static bool load_waits(const struct trace *t, const struct bl_kir_instr *load)
{
    const struct bl_kir_value *address = load->operands[0];

    if (load->attr->order != BL_KIR_WEAK)
        return true;
    if (load->attr->space == BL_KIR_LOCAL || load->attr->space == BL_KIR_CONST || load->attr->space == BL_KIR_PARAM ||
        load->attr->nc)
        return false;
    if (address->def && is_inside(t, address->def->block) && address->def->operand_count > 0)
        return false;
    return !t->has_barrier && (t->has_fence || !t->has_write || has_other_atomic(t, load));
}

static bool instr_may_wait(const struct bl_kir_instr *i)
{
    return i->op == BL_KIR_OP_atomic || i->op == BL_KIR_OP_call_indirect ||
           (i->op == BL_KIR_OP_load && i->attr->order != BL_KIR_WEAK);
}

/* A call's result may come from memory that another thread changes. Calls below the first are not followed: they count. */
static bool call_waits(struct trace *t, const struct bl_kir_instr *call)
{
    const struct bl_kir_func *callee = call->attr->func;

    if (call->op == BL_KIR_OP_call_indirect || !callee)
        return true;
    for (uint32_t b = 0; b < callee->blocks.count; b++)
        for (const struct bl_kir_instr *i = callee->blocks.items[b]->first; i; i = i->next)
            if (instr_may_wait(i) || (i->op == BL_KIR_OP_call && i->attr->func && i->attr->func->blocks.count > 0))
                return true;
    return false;
}

/* A variable that stands in local memory: what the loop stores there decides. */
static void meet_local_stores(struct trace *t)
{
    if (t->locals_met)
        return;
    t->locals_met = true;
    for (uint32_t b = 0; b < t->loop->blocks.count; b++)
        for (const struct bl_kir_instr *i = t->loop->blocks.items[b]->first; i; i = i->next)
            if (i->op == BL_KIR_OP_store && (i->attr->space == BL_KIR_LOCAL || i->attr->space == BL_KIR_GENERIC)) {
                meet_operands(t, i);
                meet_block(t, i->block);
            }
}

/* True where the value itself waits; else its operands are met. */
static bool value_waits(struct trace *t, const struct bl_kir_value *value)
{
    const struct bl_kir_instr *def = value->def;

    switch (def->op) {
    case BL_KIR_OP_phi:
        meet_phi(t, def);
        return false;
    case BL_KIR_OP_atomic:
        if (atomic_waits(t, def))
            return true;
        break;
    case BL_KIR_OP_load:
        if (load_waits(t, def))
            return true;
        if (def->attr->space == BL_KIR_LOCAL || def->attr->space == BL_KIR_GENERIC)
            meet_local_stores(t);
        break;
    case BL_KIR_OP_call:
    case BL_KIR_OP_call_indirect:
        if (call_waits(t, def))
            return true;
        break;
    default:
        break;
    }
    meet_operands(t, def);
    return false;
}

static void look_inside(struct trace *t)
{
    for (uint32_t b = 0; b < t->loop->blocks.count; b++) {
        t->in_loop[t->loop->blocks.items[b]->id] = t->loop->index + 1;
        for (const struct bl_kir_instr *i = t->loop->blocks.items[b]->first; i; i = i->next) {
            t->has_barrier = t->has_barrier || i->op == BL_KIR_OP_barrier || i->op == BL_KIR_OP_barrier_red;
            t->has_fence = t->has_fence || i->op == BL_KIR_OP_fence;
            t->has_write = t->has_write || i->op == BL_KIR_OP_call || i->op == BL_KIR_OP_call_indirect ||
                           (bl_kir_ops[i->op].flags & BL_KIR_WRITE && i->op != BL_KIR_OP_fence);
        }
    }
}

static bool loop_waits(struct trace *t, const struct bl_kir_loop *loop)
{
    t->loop = loop;
    t->depth = 0;
    t->locals_met = t->has_barrier = t->has_fence = t->has_write = false;
    look_inside(t);
    for (uint32_t b = 0; b < loop->blocks.count; b++) {
        struct bl_kir_block *block = loop->blocks.items[b];
        bool leaves = false;
        for (uint32_t k = 0; k < block->last->target_count; k++)
            leaves = leaves || !is_inside(t, block->last->targets[k]);
        if (!leaves)
            continue;
        meet_operands(t, block->last);
        meet_block(t, block);
    }
    while (t->depth > 0)
        if (value_waits(t, t->work[--t->depth]))
            return true;
    return false;
}

static void find_waits(struct bl_kir_func *func, const struct bl_kir_dom *dom, struct bl_kir_loops *loops)
{
    struct bl_arena *arena = func->module->arena;
    struct trace t = {.func = func, .arena = arena, .dom = dom, .loops = loops};

    if (loops->loops.count == 0)
        return;
    t.in_loop = BL_NEW_ARRAY(arena, uint32_t, func->blocks.count);
    t.block_met = BL_NEW_ARRAY(arena, uint32_t, func->blocks.count);
    t.value_met = BL_NEW_ARRAY(arena, uint32_t, func->value_count);
    t.work = BL_NEW_ARRAY(arena, struct bl_kir_value *, func->value_count);
    find_controls(&t);
    for (uint32_t l = 0; l < loops->loops.count; l++)
        loops->loops.items[l]->spins = loop_waits(&t, loops->loops.items[l]);
}

struct bl_kir_loops *bl_kir_find_loops(struct bl_kir_func *func, const struct bl_kir_dom *dom)
{
    struct bl_kir_loops *loops = BL_NEW(func->module->arena, struct bl_kir_loops);

    if (func->blocks.count == 0)
        return loops;
    find_nest(func, dom, loops);
    find_waits(func, dom, loops);
    return loops;
}
