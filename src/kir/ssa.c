/* SSA construction: front ends write registers with setvar and read them with getvar; this pass puts values and phis in their
 * place. Needs every block ended; drops unreachable blocks. Gives pruned SSA (a phi only where its value may still be read),
 * and an empty func->vars. Cytron et al., "Efficiently Computing Static Single Assignment Form", 1991. */
#include "kir/kir.h"

struct list { /* of block ids; links stand in the arena */
    struct list *next;
    uint32_t block;
};

struct ssa {
    struct bl_kir_func *func;
    struct bl_arena *arena;
    struct bl_kir_dom *dom;
    uint32_t blocks, vars;
    struct list **frontier;     /* by block */
    struct list **defs, **uses; /* by var: blocks that set it; blocks that read it before they set it */
    uint32_t **edge;            /* by block and target: which predecessor of the target this edge is */
    struct bl_kir_value **now;  /* by var: the value where the walk stands; NULL: none yet */
    struct bl_kir_value **same; /* by value id: what a getvar's result became */
    uint32_t same_count;
    struct bl_kir_value *undef[BL_KIR_TYPE_COUNT];
    uint32_t *stamp, *live, *placed; /* by block: the last var that ... */
    uint32_t *work;
};

static void add(struct bl_arena *arena, struct list **list, uint32_t block)
{
    struct list *link = BL_NEW(arena, struct list);
    link->block = block;
    link->next = *list;
    *list = link;
}

static void number_edges(struct ssa *s)
{
    uint32_t *filled = BL_NEW_ARRAY(s->arena, uint32_t, s->blocks);

    s->edge = BL_NEW_ARRAY(s->arena, uint32_t *, s->blocks);
    for (uint32_t b = 0; b < s->blocks; b++) {
        struct bl_kir_instr *last = s->func->blocks.items[b]->last;
        s->edge[b] = BL_NEW_ARRAY(s->arena, uint32_t, last->target_count);
        for (uint32_t t = 0; t < last->target_count; t++)
            s->edge[b][t] = filled[last->targets[t]->id]++;
    }
}

static void find_frontiers(struct ssa *s)
{
    s->frontier = BL_NEW_ARRAY(s->arena, struct list *, s->blocks);
    for (uint32_t b = 0; b < s->blocks; b++) {
        struct bl_kir_block *block = s->func->blocks.items[b];
        for (uint32_t p = 0; block->preds.count > 1 && p < block->preds.count; p++)
            for (uint32_t up = block->preds.items[p]->id; up != s->dom->idom[b]; up = s->dom->idom[up]) {
                if (s->frontier[up] && s->frontier[up]->block == b)
                    break; /* another predecessor came this way */
                add(s->arena, &s->frontier[up], b);
                if (up == 0)
                    break;
            }
    }
}

static void find_reads_and_writes(struct ssa *s)
{
    uint32_t *set = BL_NEW_ARRAY(s->arena, uint32_t, s->vars), *read = BL_NEW_ARRAY(s->arena, uint32_t, s->vars);

    s->defs = BL_NEW_ARRAY(s->arena, struct list *, s->vars);
    s->uses = BL_NEW_ARRAY(s->arena, struct list *, s->vars);
    for (uint32_t b = 0; b < s->blocks; b++)
        for (struct bl_kir_instr *i = s->func->blocks.items[b]->first; i; i = i->next) {
            uint32_t var = i->attr->var ? i->attr->var->id : 0;
            if (i->op == BL_KIR_OP_setvar && set[var] != b + 1) {
                set[var] = b + 1;
                add(s->arena, &s->defs[var], b);
            } else if (i->op == BL_KIR_OP_getvar && set[var] != b + 1 && read[var] != b + 1) {
                read[var] = b + 1;
                add(s->arena, &s->uses[var], b);
            }
        }
}

/* live[b] == mark: the variable's value on entry to b may be read. */
static void find_live(struct ssa *s, uint32_t var, uint32_t mark)
{
    uint32_t depth = 0;

    for (struct list *d = s->defs[var]; d; d = d->next)
        s->stamp[d->block] = mark;
    for (struct list *u = s->uses[var]; u; u = u->next) {
        s->live[u->block] = mark;
        s->work[depth++] = u->block;
    }
    while (depth > 0) {
        struct bl_kir_block *block = s->func->blocks.items[s->work[--depth]];
        for (uint32_t p = 0; p < block->preds.count; p++) {
            uint32_t above = block->preds.items[p]->id;
            if (s->live[above] == mark || s->stamp[above] == mark)
                continue;
            s->live[above] = mark;
            s->work[depth++] = above;
        }
    }
}

static void new_phi(struct ssa *s, uint32_t block_id, uint32_t var)
{
    struct bl_kir_block *block = s->func->blocks.items[block_id];
    struct bl_kir_builder b = {.func = s->func, .block = block, .before = block->first, .line = block->first->line};
    struct bl_kir_attr attr = {.var = s->func->vars.items[var]};
    struct bl_kir_instr *phi = bl_kir_emit(&b, BL_KIR_OP_phi, &attr, 1, &attr.var->type, 0, NULL);
    phi->operand_count = block->preds.count;
    phi->operands = BL_NEW_ARRAY(s->arena, struct bl_kir_value *, block->preds.count);
    phi->results[0]->name = attr.var->name;
}

static void place_phis(struct ssa *s, uint32_t var)
{
    uint32_t mark = var + 1, depth = 0;

    if (!s->uses[var] || !s->defs[var])
        return;
    find_live(s, var, mark);
    for (struct list *d = s->defs[var]; d; d = d->next)
        s->work[depth++] = d->block;
    while (depth > 0)
        for (struct list *f = s->frontier[s->work[--depth]]; f; f = f->next) {
            if (s->placed[f->block] == mark || s->live[f->block] != mark)
                continue;
            s->placed[f->block] = mark;
            new_phi(s, f->block, var);
            if (s->stamp[f->block] != mark)
                s->work[depth++] = f->block;
        }
}

static struct bl_kir_value *undef_of(struct ssa *s, enum bl_kir_type type)
{
    struct bl_kir_block *entry = s->func->blocks.items[0];
    if (!s->undef[type]) {
        struct bl_kir_builder b = {.func = s->func, .block = entry, .before = entry->first};
        s->undef[type] = bl_kir_emit1(&b, BL_KIR_OP_undef, NULL, type, NULL, NULL, NULL);
    }
    return s->undef[type];
}

static struct bl_kir_value *resolve(struct ssa *s, struct bl_kir_value *value)
{
    return value && value->id < s->same_count && s->same[value->id] ? s->same[value->id] : value;
}

static struct bl_kir_value *value_of(struct ssa *s, struct bl_kir_var *var)
{
    return s->now[var->id] ? s->now[var->id] : undef_of(s, var->type);
}

struct undo {
    struct undo *next;
    uint32_t var;
    struct bl_kir_value *before;
};

static void set_now(struct ssa *s, struct undo **undo, uint32_t var, struct bl_kir_value *value)
{
    struct undo *u = BL_NEW(s->arena, struct undo);
    u->var = var;
    u->before = s->now[var];
    u->next = *undo;
    *undo = u;
    s->now[var] = value;
}

static void rename_block(struct ssa *s, struct bl_kir_block *block, struct undo **undo)
{
    for (struct bl_kir_instr *i = block->first, *next; i; i = next) {
        next = i->next;
        if (i->op == BL_KIR_OP_phi) {
            if (i->attr->var)
                set_now(s, undo, i->attr->var->id, i->results[0]);
            continue;
        }
        for (uint32_t k = 0; k < i->operand_count; k++)
            i->operands[k] = resolve(s, i->operands[k]);
        if (i->op == BL_KIR_OP_setvar) {
            if (!i->operands[0]->name)
                i->operands[0]->name = i->attr->var->name;
            set_now(s, undo, i->attr->var->id, i->operands[0]);
            bl_kir_remove(i);
        } else if (i->op == BL_KIR_OP_getvar) {
            s->same[i->results[0]->id] = value_of(s, i->attr->var);
            bl_kir_remove(i);
        }
    }
    for (uint32_t t = 0; t < block->last->target_count; t++)
        for (struct bl_kir_instr *phi = block->last->targets[t]->first; phi && phi->op == BL_KIR_OP_phi; phi = phi->next)
            if (phi->attr->var)
                phi->operands[s->edge[block->id][t]] = value_of(s, phi->attr->var);
}

/* Down the dominator tree without recursion: each block is met twice, to go in and to undo what it set. */
static void rename_all(struct ssa *s)
{
    uint32_t *child = BL_NEW_ARRAY(s->arena, uint32_t, s->blocks), *sibling = BL_NEW_ARRAY(s->arena, uint32_t, s->blocks);
    struct undo **undo = BL_NEW_ARRAY(s->arena, struct undo *, s->blocks);
    uint32_t b = 0;

    for (uint32_t i = s->dom->reachable_count; i-- > 1;) { /* 0 means none: the entry is nobody's child */
        uint32_t block = s->dom->rpo[i];
        sibling[block] = child[s->dom->idom[block]];
        child[s->dom->idom[block]] = block;
    }
    rename_block(s, s->func->blocks.items[0], &undo[0]);
    for (;;) {
        uint32_t down = child[b];
        if (down) {
            child[b] = sibling[down];
            b = down;
            rename_block(s, s->func->blocks.items[b], &undo[b]);
            continue;
        }
        for (struct undo *u = undo[b]; u; u = u->next)
            s->now[u->var] = u->before;
        if (b == 0)
            return;
        b = s->dom->idom[b];
    }
}

static void finish_phis(struct ssa *s)
{
    for (uint32_t b = 0; b < s->blocks; b++)
        for (struct bl_kir_instr *phi = s->func->blocks.items[b]->first; phi && phi->op == BL_KIR_OP_phi; phi = phi->next) {
            phi->attr->var = NULL;
            for (uint32_t k = 0; k < phi->operand_count; k++)
                phi->operands[k] = resolve(s, phi->operands[k]);
        }
}

static void construct(struct bl_kir_func *func)
{
    struct ssa s = {.func = func, .arena = func->module->arena, .blocks = func->blocks.count, .vars = func->vars.count};
    uint32_t **arrays[] = {&s.stamp, &s.live, &s.placed, &s.work};

    s.dom = bl_kir_dominators(func);
    for (uint32_t i = 0; i < BL_LEN(arrays); i++)
        *arrays[i] = BL_NEW_ARRAY(s.arena, uint32_t, s.blocks);
    number_edges(&s);
    find_frontiers(&s);
    find_reads_and_writes(&s);
    s.now = BL_NEW_ARRAY(s.arena, struct bl_kir_value *, s.vars);
    s.same_count = func->value_count;
    s.same = BL_NEW_ARRAY(s.arena, struct bl_kir_value *, s.same_count);
    for (uint32_t var = 0; var < s.vars; var++)
        place_phis(&s, var);
    rename_all(&s);
    finish_phis(&s);
    func->vars.count = 0;
    bl_kir_renumber(func);
}

/* Vars must be the function's own, and blocks ended, before anything is indexed by them. */
static enum bl_status check(struct bl_kir_func *func, struct bl_error *error)
{
    for (uint32_t b = 0; b < func->blocks.count; b++) {
        struct bl_kir_block *block = func->blocks.items[b];
        if (!block->last || !(bl_kir_ops[block->last->op].flags & BL_KIR_TERM))
            return bl_fail(error, BL_INVALID, "%s: block %u has no end", func->name, b);
        for (struct bl_kir_instr *i = block->first; i; i = i->next) {
            struct bl_kir_var *var = i->attr->var;
            bool wanted = i->op == BL_KIR_OP_getvar || i->op == BL_KIR_OP_setvar;
            if (wanted && (!var || var->id >= func->vars.count || func->vars.items[var->id] != var))
                return bl_fail(error, BL_INVALID, "%s: line %u: a variable of another function", func->name, i->line);
            if (!wanted && var)
                return bl_fail(error, BL_INVALID, "%s: line %u: %s names a variable", func->name, i->line, bl_kir_ops[i->op].name);
        }
        if (b == 0 && block->first->op == BL_KIR_OP_phi)
            return bl_fail(error, BL_INVALID, "%s: a phi in the entry", func->name);
    }
    return BL_OK;
}

/* An entry that is jumped to gets a block before it, since values can't merge in an entry. */
static void split_entry(struct bl_kir_func *func)
{
    struct bl_kir_block *entry = func->blocks.items[0], *first;
    struct bl_kir_builder b = {.func = func};

    if (entry->preds.count == 0)
        return;
    first = bl_kir_block_new(func, NULL);
    memmove(func->blocks.items + 1, func->blocks.items, (func->blocks.count - 1) * sizeof(struct bl_kir_block *));
    func->blocks.items[0] = first;
    b.block = first;
    bl_kir_jump(&b, entry);
    bl_kir_renumber(func);
}

enum bl_status bl_kir_ssa(struct bl_kir_func *func, struct bl_error *error)
{
    struct bl_arena *arena = func->module->arena;
    jmp_buf *outer = arena->no_memory, here;
    enum bl_status status;

    if (func->is_declaration || func->blocks.count == 0)
        return BL_OK;
    arena->no_memory = &here;
    if (setjmp(here)) {
        arena->no_memory = outer;
        return bl_fail(error, BL_NO_MEMORY, "%s: out of memory", func->name);
    }
    status = check(func, error);
    if (status == BL_OK) {
        bl_kir_renumber(func);
        split_entry(func);
        construct(func);
    }
    arena->no_memory = outer;
    return status;
}
