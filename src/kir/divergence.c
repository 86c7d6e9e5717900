/* Divergence: which values are the same in all lanes of a warp, which grow by a fixed step from lane to lane, which branches send
 * lanes to different targets, and what follows from that. Needs SSA, dominators, loops, preds up to date.
 *
 * What is claimed holds for a target that runs a warp like this: lanes that meet in a block run it together, once for each
 * iteration of the loops around it; lanes that have left a loop wait until all have left it. "Uniform" then means: the same in all
 * lanes that run the op together. So a value is varying where lanes meet that came over different edges (a phi of a divergent
 * join), and where lanes look from outside at a value of a loop that they left in different iterations.
 *
 * It starts from "nothing known" and only ever goes from there to uniform or affine and then to varying, so it ends; every value
 * changes at most twice. From each divergent branch the search follows the lanes on their ways until all have met again: linear in
 * the blocks between, not in the function. */
#include "kir/divergence.h"

struct source { /* where lanes part: a branch, or a loop that they leave at different times */
    struct bl_kir_block *branch;
    struct bl_kir_loop *loop;
};

struct divergence {
    struct bl_kir_func *func;
    struct bl_arena *arena;
    const struct bl_kir_dom *dom;
    const struct bl_kir_loops *loops;
    struct bl_kir_divergence *result;
    struct bl_kir_shapes shapes;
    /* users of value v: users[first_user[v]] to users[first_user[v + 1] - 1] */
    uint32_t *first_user;
    struct bl_kir_instr **users;
    /* instructions to look at again, a ring; each stands in it at most once */
    struct bl_kir_instr **queue;
    uint32_t queue_size, queue_first, queue_count;
    uint8_t *queued; /* by key */
    BL_ARRAY(struct source) sources;
    struct bl_kir_loop **irreducible_of; /* by block: the outermost irreducible loop around it, or NULL */
    uint8_t *spoiled;                    /* by loop */
    uint8_t *flooded;                    /* by block: lanes may be missing here for good */
    uint32_t *stack;
    uint32_t *inside; /* by block: loop index + 1 of the last stamped loop */
    /* the search from one source; stamped with its number */
    uint32_t number;
    struct bl_kir_loop *region;
    uint32_t *stamp, *label, *pending_stamp; /* by block */
    uint32_t *heap, heap_count;              /* pending blocks by their place in rpo, the least first */
    bool gone;                               /* lanes went to the loop's header or out of the loop */
    bool lost;                               /* lanes ended */
};

/* ---- queue -------------------------------------------------------------------------------------- */

/* Instructions with a result are known by it, others by their block (only block ends matter). */
static uint32_t key_of(const struct divergence *d, const struct bl_kir_instr *instr)
{
    return instr->result_count ? instr->results[0]->id : d->func->value_count + instr->block->id;
}

static void enqueue(struct divergence *d, struct bl_kir_instr *instr)
{
    uint32_t key;

    if (instr->result_count == 0 && instr->target_count < 2)
        return;
    key = key_of(d, instr);
    if (d->queued[key])
        return;
    d->queued[key] = 1;
    d->queue[(d->queue_first + d->queue_count++) % d->queue_size] = instr;
}

static void set_shape(struct divergence *d, const struct bl_kir_value *value, struct bl_kir_shape_of shape)
{
    uint32_t id = value->id;
    struct bl_kir_divergence *r = d->result;

    if (r->shape[id] == BL_KIR_SHAPE_VARYING || shape.kind == BL_KIR_SHAPE_NONE)
        return;
    if (r->shape[id] == shape.kind && r->stride[id] == shape.stride && r->guard[id] == shape.guard)
        return;
    if (r->shape[id] != BL_KIR_SHAPE_NONE) /* it changed its mind: only down */
        shape = (struct bl_kir_shape_of){BL_KIR_SHAPE_VARYING, 0, NULL};
    r->shape[id] = shape.kind;
    r->stride[id] = shape.stride;
    r->guard[id] = shape.guard;
    for (uint32_t u = d->first_user[id]; u < d->first_user[id + 1]; u++)
        enqueue(d, d->users[u]);
}

static void set_varying(struct divergence *d, const struct bl_kir_value *value)
{
    set_shape(d, value, (struct bl_kir_shape_of){BL_KIR_SHAPE_VARYING, 0, NULL});
}

static void set_divergent_block(struct divergence *d, uint32_t block)
{
    if (d->result->divergent_block[block])
        return;
    d->result->divergent_block[block] = 1;
    for (struct bl_kir_instr *i = d->func->blocks.items[block]->first; i; i = i->next)
        if (i->op == BL_KIR_OP_activemask || i->op == BL_KIR_OP_barrier_red)
            enqueue(d, i);
}

/* Lanes arrive over different edges. */
static void set_join(struct divergence *d, uint32_t block)
{
    if (d->result->divergent_join[block])
        return;
    d->result->divergent_join[block] = 1;
    for (struct bl_kir_instr *i = d->func->blocks.items[block]->first; i && i->op == BL_KIR_OP_phi; i = i->next)
        set_varying(d, i->results[0]);
}

/* ---- loops that lanes leave at different times ---------------------------------------------------- */

static void stamp_loop(struct divergence *d, const struct bl_kir_loop *loop)
{
    for (uint32_t b = 0; b < loop->blocks.count; b++)
        d->inside[loop->blocks.items[b]->id] = loop->index + 1;
}

/* A value of the loop as seen from outside. A phi that takes it over an edge out of the loop keeps it apart by lane. */
static void look_from_outside(struct divergence *d, const struct bl_kir_loop *loop, const struct bl_kir_value *value)
{
    uint32_t mark = loop->index + 1;

    for (uint32_t u = d->first_user[value->id]; u < d->first_user[value->id + 1]; u++) {
        struct bl_kir_instr *user = d->users[u];
        if (d->inside[user->block->id] == mark)
            continue;
        if (user->op != BL_KIR_OP_phi) {
            set_varying(d, value);
            continue;
        }
        set_varying(d, user->results[0]);
        for (uint32_t k = 0; k < user->operand_count; k++)
            if (user->operands[k] == value && d->inside[user->block->preds.items[k]->id] != mark)
                set_varying(d, value);
    }
}

static void set_divergent_loop(struct divergence *d, struct bl_kir_loop *loop)
{
    struct source *source;

    if (d->result->divergent_loop[loop->index])
        return;
    d->result->divergent_loop[loop->index] = 1;
    stamp_loop(d, loop);
    for (uint32_t b = 0; b < loop->blocks.count; b++) {
        set_divergent_block(d, loop->blocks.items[b]->id);
        for (struct bl_kir_instr *i = loop->blocks.items[b]->first; i; i = i->next)
            for (uint32_t r = 0; r < i->result_count; r++)
                look_from_outside(d, loop, i->results[r]);
    }
    source = BL_PUSH(d->arena, &d->sources);
    *source = (struct source){.loop = loop};
}

/* An irreducible loop that lanes enter or run apart: nothing is known of where they meet in it. */
static void spoil(struct divergence *d, struct bl_kir_loop *loop)
{
    if (d->spoiled[loop->index])
        return;
    d->spoiled[loop->index] = 1;
    for (uint32_t b = 0; b < loop->blocks.count; b++) {
        struct bl_kir_block *block = loop->blocks.items[b];
        if (block->preds.count > 1)
            set_join(d, block->id);
        if (block->last->target_count > 1)
            d->result->divergent_branch[block->id] = 1;
        for (struct bl_kir_instr *i = block->first; i; i = i->next)
            for (uint32_t r = 0; r < i->result_count; r++)
                if (i->operand_count || !(bl_kir_ops[i->op].flags & BL_KIR_UNIFORM))
                    set_varying(d, i->results[r]);
    }
    for (uint32_t l = 0; l < d->loops->loops.count; l++) {
        struct bl_kir_loop *up = d->loops->loops.items[l];
        while (up && up != loop)
            up = up->parent;
        if (up)
            set_divergent_loop(d, d->loops->loops.items[l]);
    }
}

/* ---- the search from one source --------------------------------------------------------------------- */

static void heap_push(struct divergence *d, uint32_t block)
{
    uint32_t place = d->heap_count++, key = d->dom->rpo_index[block];

    d->pending_stamp[block] = d->number;
    for (; place > 0 && d->heap[(place - 1) / 2] > key; place = (place - 1) / 2)
        d->heap[place] = d->heap[(place - 1) / 2];
    d->heap[place] = key;
}

static uint32_t heap_pop(struct divergence *d)
{
    uint32_t block = d->dom->rpo[d->heap[0]], key = d->heap[--d->heap_count], place = 0;

    for (;;) {
        uint32_t child = place * 2 + 1;
        if (child >= d->heap_count)
            break;
        if (child + 1 < d->heap_count && d->heap[child + 1] < d->heap[child])
            child++;
        if (d->heap[child] >= key)
            break;
        d->heap[place] = d->heap[child];
        place = child;
    }
    d->heap[place] = key;
    d->pending_stamp[block] = 0;
    return block;
}

static bool contains(const struct bl_kir_loop *loop, const struct bl_kir_loop *inner)
{
    while (inner && inner->depth > loop->depth)
        inner = inner->parent;
    return inner == loop;
}

/* Lanes with a label (UINT32_MAX: a new one, told from all others by this target) go over an edge. */
static void follow_edge(struct divergence *d, struct bl_kir_block *target, uint32_t label)
{
    uint32_t to = target->id;
    bool fresh = label == UINT32_MAX, sink = d->region && target == d->region->header;

    if (d->region && !contains(d->region, d->loops->of_block[to])) {
        d->gone = true;
        set_divergent_loop(d, d->region);
        return;
    }
    if (d->irreducible_of[to]) {
        spoil(d, d->irreducible_of[to]);
        to = d->irreducible_of[to]->header->id;
    }
    d->gone = d->gone || sink;
    if (fresh)
        label = to;
    if (d->stamp[to] != d->number) {
        d->stamp[to] = d->number;
        d->label[to] = label;
    } else if (d->label[to] != label || fresh) {
        set_join(d, to);
        if (d->label[to] == to)
            return;
        d->label[to] = to;
    } else {
        return;
    }
    if (!sink && d->pending_stamp[to] != d->number)
        heap_push(d, to);
}

static void follow_exits(struct divergence *d, const struct bl_kir_loop *loop)
{
    for (uint32_t b = 0; b < loop->blocks.count; b++) {
        struct bl_kir_instr *last = loop->blocks.items[b]->last;
        for (uint32_t t = 0; t < last->target_count; t++)
            if (!contains(loop, d->loops->of_block[last->targets[t]->id]))
                follow_edge(d, last->targets[t], UINT32_MAX);
    }
}

static void follow_block(struct divergence *d, uint32_t block)
{
    struct bl_kir_instr *last = d->func->blocks.items[block]->last;

    set_divergent_block(d, block);
    if (d->irreducible_of[block]) {
        follow_exits(d, d->irreducible_of[block]);
        return;
    }
    if (last->op == BL_KIR_OP_ret || last->op == BL_KIR_OP_exit)
        d->lost = true;
    for (uint32_t t = 0; t < last->target_count; t++)
        follow_edge(d, last->targets[t], d->label[block]);
}

/* Every block that can follow may miss lanes that have ended. */
static void flood(struct divergence *d, struct bl_kir_block *from)
{
    uint32_t depth = 0;

    if (d->flooded[from->id])
        return;
    d->flooded[from->id] = 1;
    d->stack[depth++] = from->id;
    while (depth > 0) {
        uint32_t block = d->stack[--depth];
        struct bl_kir_instr *last = d->func->blocks.items[block]->last;
        set_divergent_block(d, block);
        for (uint32_t t = 0; t < last->target_count; t++) {
            uint32_t to = last->targets[t]->id;
            if (d->flooded[to])
                continue;
            d->flooded[to] = 1;
            d->stack[depth++] = to;
        }
    }
}

static void flood_after(struct divergence *d, const struct source *source)
{
    struct bl_kir_block *block = source->branch ? source->branch : source->loop->header;
    struct bl_kir_instr *last = block->last;

    if (source->loop) {
        flood(d, block);
        return;
    }
    for (uint32_t t = 0; t < last->target_count; t++)
        flood(d, last->targets[t]);
}

static void search(struct divergence *d, struct source source)
{
    struct bl_kir_loop *around = source.branch ? d->loops->of_block[source.branch->id] : source.loop->parent;

    for (struct bl_kir_loop *up = around; up; up = up->parent)
        if (up->irreducible) {
            spoil(d, d->irreducible_of[up->header->id]);
            return;
        }
    d->number++;
    d->region = around;
    d->gone = d->lost = false;
    d->heap_count = 0;
    if (source.loop)
        follow_exits(d, source.loop);
    else
        for (uint32_t t = 0; t < source.branch->last->target_count; t++)
            follow_edge(d, source.branch->last->targets[t], UINT32_MAX);
    while (d->heap_count > 1 || (d->heap_count == 1 && d->gone))
        follow_block(d, heap_pop(d));
    if (d->lost)
        flood_after(d, &source);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static void look_at(struct divergence *d, struct bl_kir_instr *instr)
{
    uint32_t block = instr->block->id;

    if (instr->op == BL_KIR_OP_phi && d->result->divergent_join[block]) {
        set_varying(d, instr->results[0]);
        return;
    }
    for (uint32_t r = 0; r < instr->result_count; r++)
        set_shape(d, instr->results[r], bl_kir_shape_of_result(&d->shapes, instr, r));
    if (instr->target_count > 1 && !d->result->divergent_branch[block] && instr->operand_count > 0) {
        uint8_t shape = d->result->shape[instr->operands[0]->id];
        if (shape == BL_KIR_SHAPE_UNIFORM || shape == BL_KIR_SHAPE_NONE)
            return;
        d->result->divergent_branch[block] = 1;
        *BL_PUSH(d->arena, &d->sources) = (struct source){.branch = instr->block};
    }
}

static void collect_users(struct divergence *d)
{
    uint32_t values = d->func->value_count, *filled = BL_NEW_ARRAY(d->arena, uint32_t, values);

    d->first_user = BL_NEW_ARRAY(d->arena, uint32_t, (size_t)values + 1);
    for (uint32_t b = 0; b < d->func->blocks.count; b++)
        for (struct bl_kir_instr *i = d->func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t k = 0; k < i->operand_count; k++)
                d->first_user[i->operands[k]->id + 1]++;
    for (uint32_t v = 0; v < values; v++)
        d->first_user[v + 1] += d->first_user[v];
    d->users = BL_NEW_ARRAY(d->arena, struct bl_kir_instr *, d->first_user[values]);
    for (uint32_t b = 0; b < d->func->blocks.count; b++)
        for (struct bl_kir_instr *i = d->func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t k = 0; k < i->operand_count; k++) {
                uint32_t id = i->operands[k]->id;
                d->users[d->first_user[id] + filled[id]++] = i;
            }
}

static void find_irreducible(struct divergence *d)
{
    for (uint32_t l = d->loops->loops.count; l-- > 0;) /* inner before outer: the outermost stays */
        for (uint32_t b = 0; d->loops->loops.items[l]->irreducible && b < d->loops->loops.items[l]->blocks.count; b++)
            d->irreducible_of[d->loops->loops.items[l]->blocks.items[b]->id] = d->loops->loops.items[l];
}

static bool func_may_exit(const struct bl_kir_func *func)
{
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (func->blocks.items[b]->last && func->blocks.items[b]->last->op == BL_KIR_OP_exit)
            return true;
    return false;
}

/* A function that ends its thread takes lanes away from whoever called it, or called its caller. */
static void flood_after_calls(struct divergence *d)
{
    bool may_exit = false;

    for (uint32_t f = 0; f < d->func->module->funcs.count; f++)
        may_exit = may_exit || (!d->func->module->funcs.items[f]->is_kernel && func_may_exit(d->func->module->funcs.items[f]));
    for (uint32_t b = 0; may_exit && b < d->func->blocks.count; b++)
        for (struct bl_kir_instr *i = d->func->blocks.items[b]->first; i; i = i->next)
            if (i->op == BL_KIR_OP_call || i->op == BL_KIR_OP_call_indirect)
                flood(d, d->func->blocks.items[b]);
}

static void allocate(struct divergence *d)
{
    uint32_t blocks = d->func->blocks.count, values = d->func->value_count, loops = d->loops->loops.count;
    struct bl_kir_divergence *r = d->result;
    uint8_t **by_block[] = {&r->divergent_branch, &r->divergent_block, &r->divergent_join, &d->flooded};
    uint32_t **numbers[] = {&d->stamp, &d->label, &d->pending_stamp, &d->heap, &d->stack, &d->inside};

    for (uint32_t i = 0; i < BL_LEN(by_block); i++)
        *by_block[i] = BL_NEW_ARRAY(d->arena, uint8_t, blocks);
    for (uint32_t i = 0; i < BL_LEN(numbers); i++)
        *numbers[i] = BL_NEW_ARRAY(d->arena, uint32_t, blocks);
    r->shape = BL_NEW_ARRAY(d->arena, uint8_t, values);
    r->stride = BL_NEW_ARRAY(d->arena, int64_t, values);
    r->guard = BL_NEW_ARRAY(d->arena, struct bl_kir_value *, values);
    r->divergent_loop = BL_NEW_ARRAY(d->arena, uint8_t, loops);
    d->spoiled = BL_NEW_ARRAY(d->arena, uint8_t, loops);
    d->irreducible_of = BL_NEW_ARRAY(d->arena, struct bl_kir_loop *, blocks);
    d->queue_size = values + blocks;
    d->queue = BL_NEW_ARRAY(d->arena, struct bl_kir_instr *, d->queue_size);
    d->queued = BL_NEW_ARRAY(d->arena, uint8_t, d->queue_size);
    memset(r->shape, BL_KIR_SHAPE_NONE, values);
}

static void start(struct divergence *d, const struct bl_kir_divergence_options *options)
{
    struct bl_kir_shape_of uniform = {BL_KIR_SHAPE_UNIFORM, 0, NULL};

    collect_users(d);
    find_irreducible(d);
    d->shapes = (struct bl_kir_shapes){.func = d->func, .options = options, .result = d->result};
    bl_kir_find_facts(&d->shapes, d->dom);
    for (uint32_t p = 0; p < d->func->params.count; p++) {
        if (options->params_varying)
            set_varying(d, d->func->params.items[p]);
        else
            set_shape(d, d->func->params.items[p], uniform);
    }
    flood_after_calls(d);
    for (uint32_t b = 0; b < d->dom->reachable_count; b++)
        for (struct bl_kir_instr *i = d->func->blocks.items[d->dom->rpo[b]]->first; i; i = i->next)
            enqueue(d, i);
}

struct bl_kir_divergence *bl_kir_find_divergence(struct bl_kir_func *func, const struct bl_kir_dom *dom,
                                                 const struct bl_kir_loops *loops, const struct bl_kir_divergence_options *options)
{
    struct bl_arena *arena = func->module->arena;
    struct divergence d = {.func = func, .arena = arena, .dom = dom, .loops = loops};

    d.result = BL_NEW(arena, struct bl_kir_divergence);
    allocate(&d);
    if (func->blocks.count == 0)
        return d.result;
    start(&d, options);
    while (d.queue_count > 0 || d.sources.count > 0) {
        struct bl_kir_instr *instr;
        if (d.queue_count == 0) {
            search(&d, d.sources.items[--d.sources.count]);
            continue;
        }
        instr = d.queue[d.queue_first];
        d.queue_first = (d.queue_first + 1) % d.queue_size;
        d.queue_count--;
        d.queued[key_of(&d, instr)] = 0;
        look_at(&d, instr);
    }
    for (uint32_t v = 0; v < func->value_count; v++) /* of unreachable blocks, or of phis that meet only themselves */
        if (d.result->shape[v] == BL_KIR_SHAPE_NONE)
            d.result->shape[v] = BL_KIR_SHAPE_VARYING;
    return d.result;
}
