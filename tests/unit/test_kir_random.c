/* Random kernels against plain definitions: dominators and loops against what they mean, and an interpreter that runs one thread at
 * a time against everything else: SSA construction and the passes must not change what is stored, and what divergence claims must
 * hold between all lanes that meet. Usage: test_kir_random [COUNT [FIRST_SEED]]; prints the kernel that fails. */
#include "kir/fold.h"

#include <stdio.h>

enum { VARS = 5, BLOCKS = 12, LANES = 32, STEPS = 300, TABLE = 1 << 15 };

static struct bl_arena arena;
static uint64_t state;
static uint64_t seed_now;
static struct bl_kir_func *func;
static struct bl_kir_module *module;

static uint32_t rnd(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(state >> 33) % below;
}

static void fail(const char *what, uint32_t detail)
{
    struct bl_buffer out = {0};
    bl_kir_print_func(&out, func);
    printf("seed %llu: %s (%u)\n%s", (unsigned long long)seed_now, what, detail, out.data);
    exit(1);
}

/* ---- making a kernel ------------------------------------------------------------------------------ */

static struct bl_kir_builder b;
static struct bl_kir_var *vars[VARS];
static struct bl_kir_block *blocks[BLOCKS];

static struct bl_kir_value *number(uint32_t n)
{
    return bl_kir_const(&b, BL_KIR_I32, n);
}

static struct bl_kir_value *op2(enum bl_kir_op op, struct bl_kir_value *x, struct bl_kir_value *y)
{
    return bl_kir_emit1(&b, op, NULL, x->type, x, y, NULL);
}

static struct bl_kir_value *some(void)
{
    return bl_kir_getvar(&b, vars[rnd(VARS)]);
}

static struct bl_kir_value *condition(void)
{
    static const enum bl_kir_cmp cmps[] = {BL_KIR_EQ, BL_KIR_NE, BL_KIR_LT, BL_KIR_LE, BL_KIR_GT, BL_KIR_LO, BL_KIR_HS, BL_KIR_LS};
    struct bl_kir_attr attr = {.cmp = (uint8_t)cmps[rnd(8)]};
    struct bl_kir_value *x = some(), *y = rnd(2) ? some() : number(rnd(2) ? rnd(4) * 32 : rnd(40));
    return bl_kir_emit1(&b, BL_KIR_OP_icmp, &attr, BL_KIR_PRED, x, y, NULL);
}

static struct bl_kir_value *load(enum bl_kir_space space, struct bl_kir_value *address)
{
    struct bl_kir_attr attr = {.space = (uint8_t)space, .type = BL_KIR_I32, .vec = 1, .align = 4, .imm = rnd(3) * 4};
    return bl_kir_emit1(&b, BL_KIR_OP_load, &attr, BL_KIR_I32, address, NULL, NULL);
}

static void store(struct bl_kir_value *value)
{
    struct bl_kir_attr attr = {.space = BL_KIR_GLOBAL, .type = BL_KIR_I32, .vec = 1, .align = 4};
    struct bl_kir_value *operands[2] = {bl_kir_const(&b, BL_KIR_I64, 4096), value};
    bl_kir_emit(&b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
}

static struct bl_kir_value *wide(void)
{
    return bl_kir_emit1(&b, rnd(2) ? BL_KIR_OP_sext : BL_KIR_OP_zext, NULL, BL_KIR_I64, some(), NULL, NULL);
}

static struct bl_kir_value *compute(void)
{
    static const uint32_t masks[] = {31, 0xffffffe0, 15, 7, 0xff, 1};
    struct bl_kir_value *x;

    switch (rnd(12)) {
    case 0:
        return op2(BL_KIR_OP_mul, some(), number(rnd(6)));
    case 1:
        return op2(BL_KIR_OP_and, some(), number(masks[rnd(6)]));
    case 2:
        return op2(BL_KIR_OP_lshr, some(), number(rnd(8)));
    case 3:
        return op2(BL_KIR_OP_shl, some(), number(rnd(34)));
    case 4:
        return op2(BL_KIR_OP_or, some(), number(rnd(5)));
    case 5:
        return bl_kir_emit1(&b, BL_KIR_OP_select, NULL, BL_KIR_I32, condition(), some(), some());
    case 6:
        return load(BL_KIR_GLOBAL, wide());
    case 7:
        return load(BL_KIR_LOCAL, wide());
    case 8:
        x = op2(BL_KIR_OP_mul, wide(), bl_kir_const(&b, BL_KIR_I64, rnd(9)));
        return bl_kir_emit1(&b, BL_KIR_OP_trunc, NULL, BL_KIR_I32, op2(BL_KIR_OP_add, x, wide()), NULL, NULL);
    case 9:
        return op2(BL_KIR_OP_sub, some(), some());
    case 10:
        return op2(rnd(2) ? BL_KIR_OP_div_u : BL_KIR_OP_rem_u, some(), number(1u << rnd(7)));
    default:
        return op2(BL_KIR_OP_add, some(), rnd(2) ? some() : number(rnd(70)));
    }
}

static struct bl_kir_value *sreg(enum bl_kir_sreg which)
{
    struct bl_kir_attr attr = {.sreg = (uint8_t)which};
    return bl_kir_emit1(&b, BL_KIR_OP_sreg, &attr, BL_KIR_I32, NULL, NULL, NULL);
}

static void end_block(uint32_t block, uint32_t count)
{
    struct bl_kir_block *to[3];

    /* mostly forward, so that kernels end */
    for (uint32_t t = 0; t < 3; t++)
        to[t] = blocks[rnd(3) && block + 1 < count ? block + 1 + rnd(BL_MIN(count - block - 1, 4u)) : 1 + rnd(count - 1)];
    b.block = blocks[block];
    if (block + 1 == count || rnd(14) == 0) {
        store(some());
        bl_kir_emit(&b, rnd(2) ? BL_KIR_OP_ret : BL_KIR_OP_exit, NULL, 0, NULL, 0, NULL);
    } else if (rnd(4) == 0) {
        bl_kir_jump(&b, to[0]);
    } else if (rnd(12) == 0) {
        bl_kir_switch(&b, op2(BL_KIR_OP_and, some(), number(1)), 3, to);
    } else {
        bl_kir_branch(&b, condition(), to[0], to[1]);
    }
}

static void make(uint64_t seed)
{
    uint32_t count = 3 + (uint32_t)(seed % (BLOCKS - 3));

    state = seed * 77777 + 1;
    seed_now = seed;
    bl_arena_init(&arena);
    module = bl_kir_module_new(&arena, "random");
    func = bl_kir_func_new(module, "k", true);
    b = (struct bl_kir_builder){.func = func};
    for (uint32_t v = 0; v < VARS; v++)
        vars[v] = bl_kir_var_new(func, BL_KIR_I32, NULL);
    for (uint32_t n = 0; n < count; n++)
        blocks[n] = bl_kir_block_new(func, NULL);
    b.block = blocks[0];
    bl_kir_setvar(&b, vars[0], sreg(BL_KIR_SREG_TID_X));
    bl_kir_setvar(&b, vars[1], sreg(BL_KIR_SREG_CTAID_X));
    bl_kir_setvar(&b, vars[2], number(rnd(50)));
    bl_kir_setvar(&b, vars[3], rnd(2) ? sreg(BL_KIR_SREG_LANEID) : number(0));
    for (uint32_t n = 0; n < count; n++) {
        b.block = blocks[n];
        for (uint32_t i = rnd(4); i > 0; i--)
            bl_kir_setvar(&b, vars[rnd(VARS)], compute());
        if (rnd(3) == 0)
            store(some());
        end_block(n, count);
    }
}

/* ---- dominators and loops by their definitions --------------------------------------------------------- */

static uint32_t reach(uint32_t from, uint32_t within)
{
    uint32_t seen = 0, now = within >> from & 1 ? 1u << from : 0;
    while (now & ~seen) {
        uint32_t block = (uint32_t)__builtin_ctz(now & ~seen);
        struct bl_kir_instr *last = func->blocks.items[block]->last;
        seen |= 1u << block;
        for (uint32_t t = 0; t < last->target_count; t++)
            now |= 1u << last->targets[t]->id & within;
    }
    return seen;
}

static void check_dominators(const struct bl_kir_dom *dom)
{
    uint32_t count = func->blocks.count, all = (1u << count) - 1;

    for (uint32_t x = 0; x < count; x++)
        for (uint32_t y = 0; y < count; y++) {
            bool expected = x == y || !(reach(0, all & ~(1u << x)) >> y & 1);
            if (expected != bl_kir_dominates(dom, x, y))
                fail("dominates", x * 100 + y);
        }
}

static uint32_t exits(void)
{
    uint32_t set = 0;
    for (uint32_t x = 0; x < func->blocks.count; x++)
        set |= func->blocks.items[x]->last->target_count == 0 ? 1u << x : 0;
    return set;
}

/* Where every block can end, post-dominators are what the removal of a block says. */
static void check_post_dominators(const struct bl_kir_dom *dom)
{
    uint32_t count = func->blocks.count, all = (1u << count) - 1, ends = exits();

    for (uint32_t x = 0; x < count; x++)
        if (!(reach(x, all) & ends))
            return;
    for (uint32_t x = 0; x < count; x++)
        for (uint32_t y = 0; y < count; y++) {
            bool expected = x == y || !(reach(x, all & ~(1u << y)) & ends), found = false;
            for (uint32_t up = x; up != UINT32_MAX && !found; up = dom->ipdom[up])
                found = up == y;
            if (expected != found)
                fail("post-dominates", x * 100 + y);
        }
}

static const struct bl_kir_loop *loop_with(const struct bl_kir_loops *loops, uint32_t set)
{
    for (uint32_t l = 0; l < loops->loops.count; l++) {
        uint32_t have = 0;
        for (uint32_t n = 0; n < loops->loops.items[l]->blocks.count; n++)
            have |= 1u << loops->loops.items[l]->blocks.items[n]->id;
        if (have == set)
            return loops->loops.items[l];
    }
    return NULL;
}

/* Loops are the cyclic components of a set; those inside one are found without its header. Returns how many. */
static uint32_t check_loops(const struct bl_kir_dom *dom, const struct bl_kir_loops *loops, uint32_t within,
                            const struct bl_kir_loop *parent)
{
    uint32_t left = within, found = 0;

    while (left) {
        uint32_t x = (uint32_t)__builtin_ctz(left), component = 0, next = 0, header = 0;
        const struct bl_kir_loop *loop;
        bool dominated = true;
        struct bl_kir_instr *last = func->blocks.items[x]->last;
        for (uint32_t t = 0; t < last->target_count; t++)
            next |= reach(last->targets[t]->id, within);
        left &= ~(1u << x);
        if (!(next >> x & 1))
            continue;
        for (uint32_t y = 0; y < func->blocks.count; y++)
            if (next >> y & 1 && reach(y, within) >> x & 1)
                component |= 1u << y;
        left &= ~component;
        loop = loop_with(loops, component);
        if (!loop || loop->parent != parent)
            fail("a loop is missing, or has another parent", component);
        header = loop->header->id;
        for (uint32_t y = 0; y < func->blocks.count; y++)
            if (component >> y & 1) {
                dominated = dominated && bl_kir_dominates(dom, header, y);
                if (dom->rpo_index[y] < dom->rpo_index[header])
                    fail("a header is not the first of its loop", header);
            }
        if (loop->irreducible == dominated)
            fail("irreducible", header);
        found += 1 + check_loops(dom, loops, component & ~(1u << header), loop);
    }
    return found;
}

/* ---- an interpreter of one lane ----------------------------------------------------------------------------- */

struct visit { /* of a block, by one lane: the first that came in this instance */
    uint64_t key;
    uint32_t lane, lanes, block, from, target;
    uint64_t *operands, *results; /* in order of the instructions */
};

static struct visit table[TABLE];
static const struct bl_kir_divergence *claims; /* NULL: run only */
static const struct bl_kir_loops *loops_now;
static uint64_t values[1 << 14], variables[VARS], prints[LANES];
static bool ended[LANES];

static uint64_t mix(uint64_t h, uint64_t x)
{
    h ^= x + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    return h * UINT64_C(0xff51afd7ed558ccd);
}

static uint64_t evaluate(const struct bl_kir_instr *i, uint32_t lane)
{
    uint64_t x[8] = {0}, r;

    for (uint32_t k = 0; k < i->operand_count && k < 8; k++)
        x[k] = values[i->operands[k]->id];
    switch (i->op) {
    case BL_KIR_OP_const:
        return i->attr->imm;
    case BL_KIR_OP_undef:
        return 0;
    case BL_KIR_OP_getvar:
        return variables[i->attr->var->id];
    case BL_KIR_OP_sreg:
        return i->attr->sreg == BL_KIR_SREG_CTAID_X ? 5 : i->attr->sreg == BL_KIR_SREG_LANEID ? lane : 64 + lane;
    case BL_KIR_OP_load:
        return mix(x[0] + i->attr->imm, i->attr->space == BL_KIR_LOCAL ? lane : 0) & 0x3f;
    default:
        if (!bl_kir_fold(i, x, &r))
            fail("the interpreter does not know an op", i->op);
        return r;
    }
}

static void run_phis(const struct bl_kir_block *block, uint32_t edge)
{
    uint64_t now[256];
    uint32_t n = 0;

    for (const struct bl_kir_instr *i = block->first; i->op == BL_KIR_OP_phi; i = i->next)
        now[n++] = values[i->operands[edge]->id];
    n = 0;
    for (const struct bl_kir_instr *i = block->first; i->op == BL_KIR_OP_phi; i = i->next)
        values[i->results[0]->id] = now[n++];
}

static uint32_t edge_of(const struct bl_kir_block *from, uint32_t target)
{
    const struct bl_kir_block *to = from->last->targets[target];
    uint32_t skip = 0, at = 0;
    for (uint32_t t = 0; t < target; t++)
        skip += from->last->targets[t] == to;
    while (to->preds.items[at] != from || skip-- > 0)
        at++;
    return at;
}

/* ---- do the claims hold? -------------------------------------------------------------------------------------- */

static bool guard_holds(const struct bl_kir_value *guard, uint64_t x, uint32_t lane)
{
    const struct bl_kir_value *narrow = guard->def->operands[0];
    uint32_t bits = bl_kir_type_bits(narrow->type);
    int64_t stride = claims->stride[narrow->id], first, last;
    uint64_t zero = (x - (uint64_t)stride * lane) & bl_kir_ones(bits);

    if (guard->def->op == BL_KIR_OP_sext) {
        first = bl_kir_signed(zero, bits);
        last = first + 31 * stride;
        return last == bl_kir_signed((uint64_t)last, bits);
    }
    last = (int64_t)zero + 31 * stride;
    return last >= 0 && last <= (int64_t)bl_kir_ones(bits);
}

static void check_value(const struct bl_kir_value *value, uint64_t mine, uint32_t lane, uint64_t theirs, uint32_t their_lane,
                        const char *what)
{
    uint64_t step = (uint64_t)claims->stride[value->id] * (uint64_t)((int64_t)lane - (int64_t)their_lane);
    uint64_t ones = bl_kir_ones(bl_kir_type_bits(value->type));

    if (claims->shape[value->id] == BL_KIR_SHAPE_VARYING)
        return;
    if (claims->guard[value->id] &&
        !guard_holds(claims->guard[value->id], values[claims->guard[value->id]->def->operands[0]->id], lane))
        return;
    if ((theirs + step - mine) & ones)
        fail(what, value->id);
}

static void check_visit(const struct visit *mine, const struct visit *theirs)
{
    const struct bl_kir_block *block = func->blocks.items[mine->block];
    uint32_t o = 0, r = 0;

    for (const struct bl_kir_instr *i = block->first; i; i = i->next) {
        for (uint32_t k = 0; k < i->operand_count; k++, o++)
            if (i->op != BL_KIR_OP_phi)
                check_value(i->operands[k], mine->operands[o], mine->lane, theirs->operands[o], theirs->lane,
                            "lanes that meet see another operand than claimed");
        for (uint32_t k = 0; k < i->result_count; k++, r++)
            check_value(i->results[k], mine->results[r], mine->lane, theirs->results[r], theirs->lane,
                        "lanes that meet have another result than claimed");
    }
    if (!claims->divergent_branch[mine->block] && mine->target != theirs->target)
        fail("lanes part at a branch that is not divergent", mine->block);
    if (!claims->divergent_join[mine->block] && mine->from != theirs->from)
        fail("lanes meet over different edges in a block that is no divergent join", mine->block);
}

static void note(struct visit *visit)
{
    uint32_t at = (uint32_t)visit->key & (TABLE - 1);

    while (table[at].lanes && table[at].key != visit->key)
        at = (at + 1) & (TABLE - 1);
    if (!table[at].lanes) {
        table[at] = *visit;
    } else {
        check_visit(visit, &table[at]);
    }
    table[at].lanes |= 1u << visit->lane;
}

/* A block's instance: its number, and how often each loop around it has begun anew since it was entered. */
static uint64_t key_of(uint32_t block, const uint32_t *iterations)
{
    uint64_t key = block + 1;
    for (const struct bl_kir_loop *l = loops_now->of_block[block]; l; l = l->parent)
        key = mix(key, (uint64_t)iterations[l->index] << 16 | l->index);
    return key;
}

static void enter_block(uint32_t block, uint32_t from, uint32_t *iterations)
{
    for (const struct bl_kir_loop *l = loops_now->of_block[block]; l; l = l->parent) {
        bool came_from_inside = false;
        for (const struct bl_kir_loop *f = from == UINT32_MAX ? NULL : loops_now->of_block[from]; f; f = f->parent)
            came_from_inside = came_from_inside || f == l;
        if (!came_from_inside)
            iterations[l->index] = 0;
        else if (l->header->id == block)
            iterations[l->index]++;
    }
}

static void run_lane(uint32_t lane)
{
    const struct bl_kir_block *block = func->blocks.items[0];
    uint32_t iterations[BLOCKS * 2] = {0}, from = UINT32_MAX, edge = UINT32_MAX;

    prints[lane] = 0;
    ended[lane] = false;
    memset(variables, 0, sizeof(variables));
    for (uint32_t step = 0; step < STEPS; step++) {
        struct visit visit = {.lane = lane, .lanes = 1, .block = block->id, .from = edge, .target = UINT32_MAX};
        uint64_t operands[512], results[512];
        uint32_t o = 0, r = 0;
        if (edge != UINT32_MAX)
            run_phis(block, edge);
        for (const struct bl_kir_instr *i = block->first; i; i = i->next) {
            for (uint32_t k = 0; k < i->operand_count; k++)
                operands[o++] = values[i->operands[k]->id];
            if (i->op == BL_KIR_OP_setvar)
                variables[i->attr->var->id] = values[i->operands[0]->id];
            if (i->op == BL_KIR_OP_store)
                prints[lane] = mix(prints[lane], values[i->operands[1]->id]);
            if (i->result_count && i->op != BL_KIR_OP_phi)
                values[i->results[0]->id] = evaluate(i, lane);
            if (i->result_count)
                results[r++] = values[i->results[0]->id];
        }
        if (block->last->target_count)
            visit.target = block->last->op == BL_KIR_OP_jump     ? 0
                           : block->last->op == BL_KIR_OP_branch ? !values[block->last->operands[0]->id]
                                                                 : (uint32_t)values[block->last->operands[0]->id];
        if (claims) {
            enter_block(block->id, from, iterations);
            visit.key = key_of(block->id, iterations);
            visit.operands = bl_arena_copy(&arena, operands, o * sizeof(*operands));
            visit.results = bl_arena_copy(&arena, results, r * sizeof(*results));
            note(&visit);
        }
        if (visit.target == UINT32_MAX) {
            ended[lane] = true;
            return;
        }
        edge = claims ? edge_of(block, visit.target) : func->vars.count ? UINT32_MAX : edge_of(block, visit.target);
        from = block->id;
        block = block->last->targets[visit.target];
    }
}

static void run_lanes(uint64_t *stored, bool *finished)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        run_lane(lane);
    memcpy(stored, prints, sizeof(prints));
    memcpy(finished, ended, sizeof(ended));
}

static void check_same(const char *what, const uint64_t *stored, const bool *finished)
{
    for (uint32_t lane = 0; lane < LANES; lane++)
        if (finished[lane] && ended[lane] && stored[lane] != prints[lane])
            fail(what, lane);
}

/* A block that is not divergent is run by all lanes, or by none. Lanes that were cut off count as there. */
static void check_blocks(void)
{
    uint32_t cut = 0;
    for (uint32_t lane = 0; lane < LANES; lane++)
        cut |= ended[lane] ? 0 : 1u << lane;
    for (uint32_t n = 0; n < TABLE; n++)
        if (table[n].lanes && !claims->divergent_block[table[n].block] && (table[n].lanes | cut) != UINT32_MAX)
            fail("a block that is not divergent runs with a part of the lanes", table[n].block);
}

static void check_claims(bool guards)
{
    struct bl_kir_divergence_options options = {.linear_cta = true, .guards = guards};
    struct bl_kir_dom *dom = bl_kir_dominators(func);

    loops_now = bl_kir_find_loops(func, dom);
    claims = bl_kir_find_divergence(func, dom, loops_now, &options);
    memset(table, 0, sizeof(table));
    for (uint32_t lane = 0; lane < LANES; lane++)
        run_lane(lane);
    check_blocks();
    claims = NULL;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static void check_valid(const char *when)
{
    struct bl_error error = BL_ERROR_INIT;
    if (bl_kir_validate(module, &error) != BL_OK) {
        printf("%s: %s\n", when, error.message);
        fail("not valid", 0);
    }
}

static void check_kernel(uint64_t seed)
{
    struct bl_error error = BL_ERROR_INIT;
    uint64_t stored[LANES];
    bool finished[LANES];
    struct bl_kir_dom *dom;
    struct bl_kir_loops *loops;

    make(seed);
    run_lanes(stored, finished);
    if (bl_kir_ssa(func, &error) != BL_OK)
        fail(error.message, 0);
    check_valid("ssa");
    dom = bl_kir_dominators(func);
    loops = bl_kir_find_loops(func, dom);
    check_dominators(dom);
    check_post_dominators(dom);
    if (check_loops(dom, loops, (1u << func->blocks.count) - 1, NULL) != loops->loops.count)
        fail("loops that are none", loops->loops.count);
    for (uint32_t lane = 0; lane < LANES; lane++)
        run_lane(lane);
    check_same("SSA construction changes what is stored", stored, finished);
    check_claims(seed % 2);
    if (bl_kir_prepare(module, &error) != BL_OK)
        fail(error.message, 0);
    for (uint32_t lane = 0; lane < LANES; lane++)
        run_lane(lane);
    check_same("the passes change what is stored", stored, finished);
    check_claims(seed % 2);
    bl_arena_cleanup(&arena);
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 3000, first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;

    for (uint64_t seed = first; seed < first + count; seed++)
        check_kernel(seed);
    printf("%llu kernels\n", (unsigned long long)count);
    return 0;
}
