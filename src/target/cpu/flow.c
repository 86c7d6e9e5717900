/* What runs when: a function's segments, their order, its loops, and the regions that lanes run in parts. No LLVM here.
 * Needs divergence; gives all of struct bl_cg_segment but its LLVM parts. */
#include "target/cpu/function.h"

enum { LOOP_DEPTH_LIMIT = 400, SET_BYTES_LIMIT = 256 << 20, MANY = 64 };

static struct bl_arena *arena_of(const struct bl_cg_func *f)
{
    return f->cg->arena;
}

/* ---- segments ------------------------------------------------------------------------------- */

static struct bl_cg_segment *new_segment(struct bl_cg_func *f, struct bl_kir_block *block, struct bl_kir_instr *first)
{
    struct bl_cg_segment *s = BL_NEW(arena_of(f), struct bl_cg_segment);
    *s = (struct bl_cg_segment){
        .block = block, .first = first, .index = f->segments.count, .order = UINT32_MAX, .ipdom = UINT32_MAX};
    *BL_PUSH(arena_of(f), &f->segments) = s;
    return s;
}

/* After this call some lanes may be gone. */
static bool ends_lanes(const struct bl_cg_func *f, const struct bl_kir_instr *instr)
{
    if (instr->op == BL_KIR_OP_call_indirect)
        return f->unit->indirect_may_exit;
    return instr->op == BL_KIR_OP_call && bl_cg_func_may_exit(f->unit, instr->attr->func);
}

/* Where lanes wait for others of their warp. */
static bool meets(const struct bl_kir_instr *instr)
{
    uint32_t flags = bl_kir_ops[instr->op].flags;
    return flags & BL_KIR_CONVERGENT && instr->op != BL_KIR_OP_activemask && instr->op != BL_KIR_OP_call &&
           instr->op != BL_KIR_OP_call_indirect;
}

static struct bl_cg_segment *cut_before(struct bl_cg_func *f, struct bl_cg_segment *s, struct bl_kir_instr *instr)
{
    s->end = instr;
    s->succ_count = 1;
    s->succs = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, 1);
    s->succs[0] = new_segment(f, s->block, instr);
    return s->succs[0];
}

static void cut_block(struct bl_cg_func *f, struct bl_kir_block *block)
{
    struct bl_cg_segment *s = new_segment(f, block, block->first);

    f->first_of_block[block->id] = s;
    for (struct bl_kir_instr *i = block->first; i; i = i->next) {
        if (f->spins && meets(i)) {
            s = cut_before(f, s, i);
            s->joins = true;
        }
        if (!i->next || !ends_lanes(f, i))
            continue;
        s->ends_lanes = s->divergent = true;
        s = cut_before(f, s, i->next);
    }
    s->divergent = block->last->target_count > 1 && f->divergence->divergent_branch[block->id];
    f->last_of_block[block->id] = s;
}

static void make_segments(struct bl_cg_func *f)
{
    uint32_t blocks = f->func->blocks.count;

    f->first_of_block = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, blocks);
    f->last_of_block = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, blocks);
    for (uint32_t b = 0; b < blocks; b++)
        cut_block(f, f->func->blocks.items[b]);
    for (uint32_t b = 0; b < blocks; b++) {
        struct bl_kir_instr *last = f->func->blocks.items[b]->last;
        struct bl_cg_segment *s = f->last_of_block[b];
        s->succ_count = last->target_count;
        s->succs = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, last->target_count + 1u);
        for (uint32_t t = 0; t < last->target_count; t++)
            s->succs[t] = f->first_of_block[last->targets[t]->id];
    }
    for (uint32_t i = 0; i < f->segments.count; i++)
        for (uint32_t t = 0; t < f->segments.items[i]->succ_count; t++)
            *BL_PUSH(arena_of(f), &f->segments.items[i]->succs[t]->preds) = f->segments.items[i];
}

/* ---- order: Bourdoncle's weak topological order ("Efficient chaotic iteration strategies with widenings", 1993) ------ */

struct arranger {
    struct bl_cg_func *f;
    uint32_t *set;           /* by segment: number of the set being arranged that it belongs to */
    uint32_t sets, numbered; /* how many there were */
    uint32_t *number, *low, *place;
    bool *on_stack;
    struct bl_cg_segment **stack, **path;
    bool too_deep;
};

struct component {
    struct bl_cg_segment **items;
    uint32_t count;
};
struct component_list {
    BL_ARRAY(struct component) parts; /* strongly connected, successors before predecessors */
};

static void visit(struct arranger *a, struct bl_cg_segment *s, uint32_t *stacked, uint32_t *depth)
{
    a->number[s->index] = a->low[s->index] = ++a->numbered;
    a->place[s->index] = s->succ_count;
    a->stack[(*stacked)++] = s;
    a->on_stack[s->index] = true;
    a->path[(*depth)++] = s;
}

static void take_component(struct arranger *a, struct bl_cg_segment *root, uint32_t *stacked, struct component_list *list)
{
    struct component part = {0};
    uint32_t from = *stacked;

    while (a->stack[--from] != root)
        ;
    part.count = *stacked - from;
    part.items = bl_arena_copy(arena_of(a->f), a->stack + from, part.count * sizeof(*part.items)); /* the root first */
    for (uint32_t i = from; i < *stacked; i++)
        a->on_stack[a->stack[i]->index] = false;
    *stacked = from;
    *BL_PUSH(arena_of(a->f), &list->parts) = part;
}

/* Tarjan's components of what is reached from root inside set number `set`. Successors are tried from the last to the first,
 * so that the first stands first in the order. */
static void find_components(struct arranger *a, struct bl_cg_segment *root, uint32_t set, struct component_list *list)
{
    uint32_t stacked = 0, depth = 0;

    visit(a, root, &stacked, &depth);
    while (depth > 0) {
        struct bl_cg_segment *s = a->path[depth - 1];
        if (a->place[s->index] > 0) {
            struct bl_cg_segment *t = s->succs[--a->place[s->index]];
            if (a->set[t->index] != set)
                continue;
            if (!a->number[t->index])
                visit(a, t, &stacked, &depth);
            else if (a->on_stack[t->index])
                a->low[s->index] = BL_MIN(a->low[s->index], a->number[t->index]);
            continue;
        }
        depth--;
        if (depth > 0)
            a->low[a->path[depth - 1]->index] = BL_MIN(a->low[a->path[depth - 1]->index], a->low[s->index]);
        if (a->low[s->index] == a->number[s->index])
            take_component(a, s, &stacked, list);
    }
}

static bool has_self_edge(const struct bl_cg_segment *s)
{
    for (uint32_t t = 0; t < s->succ_count; t++)
        if (s->succs[t] == s)
            return true;
    return false;
}

static void put_in_order(struct bl_cg_func *f, struct bl_cg_segment *s, struct bl_cg_loop *loop)
{
    s->order = f->order.count;
    s->loop = loop;
    *BL_PUSH(arena_of(f), &f->order) = s;
}

static void arrange_list(struct arranger *a, struct component_list *list, struct bl_cg_loop *parent, uint32_t depth);

static void arrange_loop(struct arranger *a, struct component *part, struct bl_cg_loop *parent, uint32_t depth)
{
    struct component_list inner = {0};
    struct bl_cg_loop *loop = BL_NEW(arena_of(a->f), struct bl_cg_loop);
    uint32_t set = ++a->sets;

    *loop = (struct bl_cg_loop){.parent = parent, .head = part->items[0], .first = a->f->order.count};
    *BL_PUSH(arena_of(a->f), &a->f->all_loops) = loop;
    put_in_order(a->f, loop->head, loop);
    for (uint32_t i = 1; i < part->count; i++) {
        a->set[part->items[i]->index] = set;
        a->number[part->items[i]->index] = 0;
    }
    a->set[loop->head->index] = 0;
    for (uint32_t t = loop->head->succ_count; t-- > 0;) {
        struct bl_cg_segment *s = loop->head->succs[t];
        if (a->set[s->index] == set && !a->number[s->index])
            find_components(a, s, set, &inner);
    }
    for (uint32_t i = 1; i < part->count; i++)
        if (!a->number[part->items[i]->index])
            find_components(a, part->items[i], set, &inner);
    arrange_list(a, &inner, loop, depth + 1);
    loop->last = a->f->order.count - 1;
}

/* Recursion as deep as loops nest. */
static void arrange_list(struct arranger *a, struct component_list *list, struct bl_cg_loop *parent, uint32_t depth)
{
    if (depth > LOOP_DEPTH_LIMIT) {
        a->too_deep = true;
        return;
    }
    for (uint32_t p = list->parts.count; p-- > 0;) {
        struct component *part = &list->parts.items[p];
        if (part->count == 1 && !has_self_edge(part->items[0]))
            put_in_order(a->f, part->items[0], parent);
        else
            arrange_loop(a, part, parent, depth);
    }
}

static enum bl_status arrange(struct bl_cg_func *f)
{
    struct arranger a = {.f = f, .sets = 1};
    struct component_list list = {0};
    uint32_t count = f->segments.count;

    a.set = BL_NEW_ARRAY(arena_of(f), uint32_t, count);
    a.number = BL_NEW_ARRAY(arena_of(f), uint32_t, count);
    a.low = BL_NEW_ARRAY(arena_of(f), uint32_t, count);
    a.place = BL_NEW_ARRAY(arena_of(f), uint32_t, count);
    a.on_stack = BL_NEW_ARRAY(arena_of(f), bool, count);
    a.stack = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, count);
    a.path = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, count);
    for (uint32_t i = 0; i < count; i++)
        a.set[i] = 1;
    find_components(&a, f->segments.items[0], 1, &list);
    arrange_list(&a, &list, NULL, 0);
    if (a.too_deep)
        return bl_fail(f->cg->error, BL_UNSUPPORTED, "%s: loops nest deeper than %d", f->func->name, LOOP_DEPTH_LIMIT);
    return BL_OK;
}

bool bl_cg_loop_holds(const struct bl_cg_loop *loop, const struct bl_cg_segment *s)
{
    return s->order >= loop->first && s->order <= loop->last;
}

static void find_entries(struct bl_cg_loop *loop, struct bl_cg_func *f)
{
    for (uint32_t o = loop->first + 1; o <= loop->last; o++) {
        struct bl_cg_segment *s = f->order.items[o];
        for (uint32_t p = 0; p < s->preds.count; p++)
            if (s->preds.items[p]->order != UINT32_MAX && !bl_cg_loop_holds(loop, s->preds.items[p]))
                loop->many_entries = true;
    }
}

/* ---- post-dominators. Traps and loops without a way out don't count as ways to the end: no lane comes back from there. ------ */

struct backwards {
    uint32_t *number; /* post-order number in the reversed graph, 0: no way to the end; the end itself is the highest */
    struct bl_cg_segment **post;
    uint32_t count;
};

static bool is_end(const struct bl_cg_segment *s)
{
    enum bl_kir_op op = s->block->last->op;
    return s->ends_lanes || (!s->end && (op == BL_KIR_OP_ret || op == BL_KIR_OP_exit));
}

static void walk_back(struct bl_cg_func *f, struct backwards *w, struct bl_cg_segment *root)
{
    struct bl_cg_segment **path = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, f->segments.count);
    uint32_t *place = BL_NEW_ARRAY(arena_of(f), uint32_t, f->segments.count), depth = 1;

    path[0] = root;
    root->reaches_end = true;
    while (depth > 0) {
        struct bl_cg_segment *s = path[depth - 1];
        if (place[depth - 1] == s->preds.count) {
            w->post[w->count++] = s;
            w->number[s->index] = w->count;
            depth--;
            continue;
        }
        struct bl_cg_segment *p = s->preds.items[place[depth - 1]++];
        if (p->reaches_end || p->order == UINT32_MAX)
            continue;
        p->reaches_end = true;
        path[depth] = p;
        place[depth++] = 0;
    }
}

static uint32_t meet(const struct bl_cg_func *f, const struct backwards *w, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (a == UINT32_MAX || b == UINT32_MAX)
            return UINT32_MAX;
        if (w->number[a] < w->number[b])
            a = f->segments.items[a]->ipdom;
        else
            b = f->segments.items[b]->ipdom;
    }
    return a;
}

/* One look at all ways out of s. Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", 2001. */
static bool update_ipdom(struct bl_cg_func *f, const struct backwards *w, bool *known, struct bl_cg_segment *s)
{
    bool any = is_end(s);
    uint32_t new = UINT32_MAX;

    for (uint32_t t = 0; t < s->succ_count && !is_end(s); t++) {
        uint32_t to = s->succs[t]->index;
        if (!known[to])
            continue;
        new = any ? meet(f, w, new, to) : to;
        any = true;
    }
    if (!any || (known[s->index] && s->ipdom == new))
        return false;
    known[s->index] = true;
    s->ipdom = new;
    return true;
}

static void find_ipdoms(struct bl_cg_func *f)
{
    struct backwards w = {0};
    bool *known = BL_NEW_ARRAY(arena_of(f), bool, f->segments.count), changed = true;

    w.number = BL_NEW_ARRAY(arena_of(f), uint32_t, f->segments.count);
    w.post = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, f->segments.count);
    for (uint32_t i = 0; i < f->order.count; i++)
        if (is_end(f->order.items[i]) && !f->order.items[i]->reaches_end)
            walk_back(f, &w, f->order.items[i]);
    while (changed) {
        changed = false;
        for (uint32_t i = w.count; i-- > 0;)
            changed |= update_ipdom(f, &w, known, w.post[i]);
    }
}

/* ---- regions --------------------------------------------------------------------------------- */

static void set_bit(uint64_t *set, uint32_t bit)
{
    set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static struct bl_cg_region *representative(struct bl_cg_region *region)
{
    while (region && region->joined)
        region = region->joined;
    return region;
}

static void join_region(struct bl_cg_segment *s, struct bl_cg_region *region)
{
    struct bl_cg_region *old = representative(s->region);

    region = representative(region);
    if (old && old != region)
        old->joined = region;
    s->region = region;
}

/* One search from a divergent segment. Lanes that come to the head of the loop that they are in wait there for the next
 * turn; lanes that have left a loop wait until all have. */
struct walker {
    struct bl_cg_func *f;
    uint32_t *seen; /* by segment: number of the walk that saw it */
    uint32_t walks;
    struct bl_cg_segment **stack, **found;
    uint32_t depth, count;
    struct bl_cg_loop *loop;    /* the walk stays in it, and stops at its head */
    struct bl_cg_segment *meet; /* and stops here */
    bool at_head, left;         /* lanes came to the head; lanes went out of the loop */
};

static void walk_to(struct walker *w, struct bl_cg_segment *s)
{
    if (s == w->meet || w->seen[s->index] == w->walks)
        return;
    if (w->loop && s == w->loop->head) {
        w->at_head = true;
        return;
    }
    if (w->loop && s->reaches_end && !bl_cg_loop_holds(w->loop, s)) { /* a trap is no way out */
        w->left = true;
        return;
    }
    w->seen[s->index] = w->walks;
    w->found[w->count++] = s;
    w->stack[w->depth++] = s;
}

static void walk_on(struct walker *w)
{
    while (w->depth > 0) {
        struct bl_cg_segment *s = w->stack[--w->depth];
        for (uint32_t t = 0; t < s->succ_count; t++)
            walk_to(w, s->succs[t]);
    }
}

/* Takes a loop whole, and goes on from its ways out, in the loop around it. */
static void leave_loop(struct walker *w)
{
    struct bl_cg_loop *loop = w->loop;

    loop->parts = true;
    if (loop->spins) /* who has left it must not wait for the others */
        w->meet = NULL;
    for (uint32_t o = loop->first; o <= loop->last; o++) {
        struct bl_cg_segment *s = w->f->order.items[o];
        if (w->seen[s->index] == w->walks)
            continue;
        w->seen[s->index] = w->walks;
        w->found[w->count++] = s;
    }
    while (w->meet && bl_cg_loop_holds(loop, w->meet))
        w->meet = w->meet->ipdom == UINT32_MAX ? NULL : w->f->segments.items[w->meet->ipdom];
    w->loop = loop->parent;
    w->left = w->at_head = false;
    for (uint32_t o = loop->first; o <= loop->last; o++)
        for (uint32_t t = 0; t < w->f->order.items[o]->succ_count; t++)
            if (!bl_cg_loop_holds(loop, w->f->order.items[o]->succs[t]))
                walk_to(w, w->f->order.items[o]->succs[t]);
    walk_on(w);
}

/* What lanes run between u and the place where all meet again, which becomes w->meet; NULL: they don't. */
static void walk_region(struct walker *w, struct bl_cg_segment *u)
{
    w->walks++;
    w->count = 0;
    w->loop = u->loop;
    w->meet = u->ipdom == UINT32_MAX ? NULL : w->f->segments.items[u->ipdom];
    w->at_head = w->left = false;
    for (uint32_t t = 0; t < u->succ_count; t++)
        walk_to(w, u->succs[t]);
    walk_on(w);
    while (w->loop) {
        if (w->left || !w->meet) {
            leave_loop(w);
        } else if (w->at_head && w->meet != w->loop->head) {
            struct bl_cg_segment *old = w->meet;
            w->meet = w->loop->head;
            walk_to(w, old);
            walk_on(w);
        } else {
            return;
        }
    }
}

static void find_region(struct bl_cg_func *f, struct walker *w, struct bl_cg_segment *u)
{
    struct bl_cg_region *region = BL_NEW(arena_of(f), struct bl_cg_region);

    walk_region(w, u);
    u->meet = w->meet;
    if (w->count)
        *BL_PUSH(arena_of(f), &f->regions) = region;
    for (uint32_t i = 0; i < w->count; i++) {
        join_region(w->found[i], region);
        set_bit(w->found[i]->splits, u->split);
        if (w->seen[u->index] != w->walks && w->found[i]->order < u->order)
            f->entangled = true;
    }
}

/* Of the places where lanes of a region's parts meet, one is not in the region. */
static void find_exits(struct bl_cg_func *f)
{
    for (uint32_t i = 0; i < f->order.count; i++) {
        struct bl_cg_segment *u = f->order.items[i], *some = NULL;
        for (uint32_t t = 0; u->divergent && t < u->succ_count; t++)
            if (u->succs[t] != u->meet)
                some = u->succs[t];
        if (some && u->meet && some->region && u->meet->region != some->region)
            some->region->exit = u->meet;
    }
}

static void number_splits(struct bl_cg_func *f)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < f->order.count; i++)
        if (f->order.items[i]->divergent)
            f->order.items[i]->split = count++;
    f->split_words = count / 64 + 1;
}

static enum bl_status allocate_sets(struct bl_cg_func *f)
{
    uint64_t sets = (uint64_t)f->order.count + f->all_loops.count, next = 0;
    uint64_t *words;

    if (sets * f->split_words * 8 > SET_BYTES_LIMIT)
        return bl_fail(f->cg->error, BL_UNSUPPORTED, "%s: too many divergent branches (%u blocks)", f->func->name, f->order.count);
    words = BL_NEW_ARRAY(arena_of(f), uint64_t, sets * f->split_words);
    for (uint32_t i = 0; i < f->order.count; i++, next++)
        f->order.items[i]->splits = words + next * f->split_words;
    for (uint32_t i = 0; i < f->all_loops.count; i++, next++)
        f->all_loops.items[i]->splits = words + next * f->split_words;
    return BL_OK;
}

static enum bl_status find_regions(struct bl_cg_func *f)
{
    struct walker w = {.f = f};
    enum bl_status status;

    w.seen = BL_NEW_ARRAY(arena_of(f), uint32_t, f->segments.count);
    w.stack = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, f->segments.count + 1);
    w.found = BL_NEW_ARRAY(arena_of(f), struct bl_cg_segment *, f->segments.count);
    number_splits(f);
    if ((status = allocate_sets(f)) != BL_OK)
        return status;
    for (uint32_t i = 0; i < f->order.count; i++) {
        if (!f->order.items[i]->divergent)
            continue;
        for (struct bl_cg_loop *loop = f->order.items[i]->loop; loop; loop = loop->parent)
            set_bit(loop->splits, f->order.items[i]->split);
        find_region(f, &w, f->order.items[i]);
    }
    for (uint32_t i = 0; i < f->order.count; i++) {
        struct bl_cg_segment *s = f->order.items[i];
        s->region = representative(s->region);
        if (s->region)
            *BL_PUSH(arena_of(f), &s->region->segments) = s;
    }
    find_exits(f);
    return BL_OK;
}

/* Whether lanes that run s together may be in different rounds of a loop: of one that lanes leave, or wait in, in several goes. */
static bool mixes_rounds(const struct bl_cg_func *f, const struct bl_cg_segment *s)
{
    for (const struct bl_cg_loop *loop = s->loop; loop; loop = loop->parent) {
        if (loop->spins)
            return true;
        for (uint32_t o = loop->first; o <= loop->last; o++)
            if (f->order.items[o]->joins && f->order.items[o]->region)
                return true;
    }
    return false;
}

/* What is the same in every lane of one round is not in lanes of several: such branches are divergent too. False: there are none
 * that were not. */
static bool split_mixed_branches(struct bl_cg_func *f)
{
    bool any = false;

    for (uint32_t i = 0; i < f->order.count; i++) {
        struct bl_cg_segment *s = f->order.items[i];
        if (s->divergent || s->succ_count < 2 || !s->region || !mixes_rounds(f, s))
            continue;
        s->divergent = any = true;
    }
    return any;
}

static void forget_regions(struct bl_cg_func *f)
{
    f->regions.count = 0;
    f->entangled = false;
    for (uint32_t i = 0; i < f->all_loops.count; i++)
        f->all_loops.items[i]->parts = false;
    for (uint32_t i = 0; i < f->order.count; i++) {
        f->order.items[i]->region = NULL;
        f->order.items[i]->meet = NULL;
    }
}

/* A loop that waits for another thread can't be left to turn while lanes that have left it stand still. */
static void find_spins(struct bl_cg_func *f)
{
    for (uint32_t i = 0; i < f->order.count; i++) {
        struct bl_kir_loop *kir = f->loops->of_block[f->order.items[i]->block->id];
        for (; kir && !kir->spins; kir = kir->parent)
            ;
        for (struct bl_cg_loop *loop = f->order.items[i]->loop; kir && loop; loop = loop->parent)
            loop->spins = true;
    }
}

/* A vote among lanes that are named when it runs, in a loop: some may come to it in another copy of the loop's body, so that
 * it must wait as a loop does that waits for memory. The lanes that are there, asked for by activemask, are there. */
static bool names_lanes(const struct bl_kir_instr *i)
{
    enum bl_kir_op op = i->op == BL_KIR_OP_vote && i->operands[1]->def ? i->operands[1]->def->op : BL_KIR_OP_const;
    return op != BL_KIR_OP_const && op != BL_KIR_OP_activemask && op != BL_KIR_OP_param;
}

static void mark_naming_loops(struct bl_cg_func *f)
{
    for (uint32_t b = 0; b < f->func->blocks.count; b++) {
        struct bl_kir_loop *loop = f->loops->of_block[b];
        for (struct bl_kir_instr *i = f->func->blocks.items[b]->first; i && loop; i = i->next)
            if (names_lanes(i) && f->divergence->divergent_loop[loop->index])
                loop->spins = true;
    }
}

static bool has_spins(struct bl_cg_func *f)
{
    mark_naming_loops(f);
    for (uint32_t l = 0; l < f->loops->loops.count; l++)
        if (f->loops->loops.items[l]->spins)
            return true;
    return false;
}

enum bl_status bl_cg_flow(struct bl_cg_func *f)
{
    enum bl_status status;

    f->spins = has_spins(f);
    make_segments(f);
    if ((status = arrange(f)) != BL_OK)
        return status;
    for (uint32_t i = 0; i < f->all_loops.count; i++)
        find_entries(f->all_loops.items[i], f);
    find_ipdoms(f);
    find_spins(f);
    status = find_regions(f);
    while (status == BL_OK && f->spins && split_mixed_branches(f)) {
        forget_regions(f);
        status = find_regions(f);
    }
    return status;
}

/* ---- questions -------------------------------------------------------------------------------- */

/* The innermost loop that holds both and that lanes enter together. */
static const struct bl_cg_loop *common_loop(const struct bl_cg_segment *a, const struct bl_cg_segment *b)
{
    const struct bl_cg_loop *loop = a->loop;
    while (loop && (loop->many_entries || !bl_cg_loop_holds(loop, b)))
        loop = loop->parent;
    return loop;
}

/* Whether lanes may be under way to or in x while others run s: they parted at a segment in whose region both are. Inside a
 * loop that all enter together only its own segments count. */
static bool may_wait(const struct bl_cg_func *f, const struct bl_cg_segment *x, const struct bl_cg_segment *s)
{
    const struct bl_cg_loop *loop = common_loop(x, s);

    for (uint32_t w = 0; w < f->split_words; w++) {
        uint64_t of_x = x->splits[w], of_s = s->splits[w];
        if (x->divergent && x->split / 64 == w)
            of_x |= UINT64_C(1) << (x->split % 64);
        if (s->divergent && s->split / 64 == w)
            of_s |= UINT64_C(1) << (s->split % 64);
        if (of_x & of_s & (loop ? loop->splits[w] : UINT64_MAX))
            return true;
    }
    return false;
}

static bool none_waits_between(const struct bl_cg_func *f, const struct bl_cg_segment *s, uint32_t from, uint32_t to)
{
    if (to > from + MANY)
        return false;
    for (uint32_t o = from; o < to; o++)
        if (f->order.items[o]->region && may_wait(f, f->order.items[o], s))
            return false;
    return true;
}

bool bl_cg_may_skip(const struct bl_cg_func *f, const struct bl_cg_segment *s, const struct bl_cg_segment *t)
{
    if (f->entangled || f->spins || s->divergent)
        return false;
    for (const struct bl_cg_loop *loop = s->loop; loop && !bl_cg_loop_holds(loop, t); loop = loop->parent)
        if (may_wait(f, loop->head, s) || loop->many_entries)
            return false;
    if (t->order > s->order)
        return none_waits_between(f, s, s->order + 1, t->order);
    for (const struct bl_cg_loop *loop = s->loop; loop; loop = loop->parent)
        if (loop->head == t)
            return !loop->many_entries && none_waits_between(f, s, s->order + 1, loop->last + 1);
    return false;
}

bool bl_cg_leaves(const struct bl_cg_func *f, const struct bl_cg_segment *d, const struct bl_cg_segment *c)
{
    if (!d->region)
        return false;
    if (f->entangled || f->spins)
        return true;
    for (const struct bl_cg_loop *loop = d->loop; loop && !bl_cg_loop_holds(loop, c); loop = loop->parent)
        if (loop->parts)
            return true;
    return false;
}

bool bl_cg_is_first(const struct bl_cg_func *f, const struct bl_cg_segment *s, uint32_t n)
{
    const struct bl_cg_segment *t = s->succs[n];

    if (!s->region && !s->divergent)
        return true;
    if (f->entangled || f->spins || t->preds.count > MANY || bl_cg_leaves(f, s, t))
        return false;
    for (uint32_t k = 0; k < n; k++)
        if (s->succs[k] == t)
            return false;
    for (uint32_t p = 0; p < t->preds.count; p++) {
        const struct bl_cg_segment *other = t->preds.items[p];
        bool same_way = (other->order < t->order) == (s->order < t->order);
        if (other != s && same_way && other->order < s->order && may_wait(f, other, s))
            return false;
    }
    return true;
}
