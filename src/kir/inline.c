/* Puts the bodies of functions in the place of their calls. Needs SSA of all functions; gives valid kir with blocks and values
 * numbered densely and preds up to date. A whole-module pass; called by bl_kir_prepare.
 *
 * Which: functions at whose ops lanes of a warp meet, or that wait for other threads in a loop: only inside one function does a
 * target see who waits for whom. And small ones, whose parameters are then known. Functions that call themselves, by whatever way,
 * keep those calls; so do callers that have grown large, functions that move the stack, and indirect calls.
 */
#include "kir/kir.h"

enum {
    SMALL = 48,                /* ops of a body that is put in anywhere */
    LARGEST_FOR_SMALL = 20000, /* ops of a caller that takes no more of them */
    LARGEST = 200000,          /* that takes none at all */
    LARGEST_FRAME = 16 << 20,  /* bytes */
};

struct inliner {
    struct bl_kir_module *module;
    struct bl_map places;    /* function -> place in module->funcs, by address; see place_of */
    uint8_t *state;          /* by place */
    uint32_t *size;          /* ops; of those that are done */
    uint8_t *wanted, *fixed; /* of those that are done: meets or waits; can't be put elsewhere */
    uint8_t *recursive;
};

enum state { UNSEEN, UNDER_WAY, DONE };

static bool meets(const struct bl_kir_instr *i)
{
    return bl_kir_ops[i->op].flags & BL_KIR_CONVERGENT && i->op != BL_KIR_OP_activemask && i->op != BL_KIR_OP_call &&
           i->op != BL_KIR_OP_call_indirect;
}

static bool moves_stack(const struct bl_kir_instr *i)
{
    return i->op == BL_KIR_OP_alloca || i->op == BL_KIR_OP_stacksave || i->op == BL_KIR_OP_stackrestore;
}

/* What is known of a function once its own calls have been dealt with. */
static void look_at(struct inliner *in, uint32_t place)
{
    struct bl_kir_func *func = in->module->funcs.items[place];
    struct bl_kir_loops *loops;

    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            in->size[place]++;
            in->wanted[place] |= meets(i);
            in->fixed[place] |= moves_stack(i);
        }
    if (func->is_kernel || in->wanted[place] || in->fixed[place])
        return;
    loops = bl_kir_find_loops(func, bl_kir_dominators(func));
    for (uint32_t l = 0; l < loops->loops.count; l++)
        in->wanted[place] |= loops->loops.items[l]->spins;
}

/* ---- one call ----------------------------------------------------------------------------------------- */

struct copy {
    struct bl_kir_func *caller, *callee;
    struct bl_kir_instr *call;
    struct bl_kir_value **values; /* the caller's, by id in the callee */
    struct bl_kir_block **blocks; /* the caller's, by id in the callee */
    struct bl_kir_block *after;   /* what followed the call */
    uint32_t frame;               /* where the callee's frame lies in the caller's */
    uint32_t returns;
    const struct bl_kir_instr **rets; /* of the callee, in order of blocks */
    struct bl_kir_value **given;      /* by id: what stands for a call's result; see resolve */
};

static struct bl_kir_block *make_block(struct bl_kir_func *func, const char *name)
{
    struct bl_kir_block *block = BL_NEW(func->module->arena, struct bl_kir_block);
    block->name = name;
    block->func = func;
    return block;
}

/* The ops behind the call move to a block of their own. */
static void cut_behind(struct copy *c)
{
    struct bl_kir_block *before = c->call->block;

    c->after = make_block(c->caller, before->name);
    c->after->first = c->call->next;
    c->after->last = before->last;
    c->after->first->prev = NULL;
    before->last = c->call;
    c->call->next = NULL;
    for (struct bl_kir_instr *i = c->after->first; i; i = i->next)
        i->block = c->after;
}

static void copy_instruction(struct copy *c, struct bl_kir_builder *b, const struct bl_kir_instr *i)
{
    struct bl_arena *arena = c->caller->module->arena;
    enum bl_kir_type *types = BL_NEW_ARRAY(arena, enum bl_kir_type, i->result_count + 1u);
    struct bl_kir_instr *made;

    for (uint32_t r = 0; r < i->result_count; r++)
        types[r] = i->results[r]->type;
    b->line = i->line;
    made = bl_kir_emit(b, i->op, i->attr, i->result_count, types, i->operand_count, i->operands); /* operands: mapped later */
    for (uint32_t r = 0; r < i->result_count; r++) {
        made->results[r]->name = i->results[r]->name;
        c->values[i->results[r]->id] = made->results[r];
    }
    if (i->op == BL_KIR_OP_frame)
        made->attr->imm += c->frame;
    if (!i->target_count)
        return;
    made->target_count = i->target_count;
    made->targets = BL_NEW_ARRAY(arena, struct bl_kir_block *, i->target_count);
    for (uint32_t t = 0; t < i->target_count; t++)
        made->targets[t] = c->blocks[i->targets[t]->id];
}

static void copy_block(struct copy *c, const struct bl_kir_block *from)
{
    struct bl_kir_block *to = c->blocks[from->id];
    struct bl_kir_builder b = {.func = c->caller, .block = to};

    for (const struct bl_kir_instr *i = from->first; i; i = i->next) {
        if (i->op != BL_KIR_OP_ret) {
            copy_instruction(c, &b, i);
            continue;
        }
        b.line = i->line;
        c->rets[c->returns++] = i;
        bl_kir_jump(&b, c->after);
    }
}

static void map_operands(struct copy *c, uint32_t block)
{
    for (struct bl_kir_instr *i = c->blocks[block]->first; i; i = i->next)
        for (uint32_t o = 0; o < i->operand_count; o++)
            i->operands[o] = c->values[i->operands[o]->id];
}

/* What the call gave: of one return its value, of several a phi, of none anything. */
static void give_results(struct copy *c)
{
    struct bl_arena *arena = c->caller->module->arena;
    struct bl_kir_builder b = {.func = c->caller, .before = c->after->first, .line = c->call->line};
    struct bl_kir_value **ways = BL_NEW_ARRAY(arena, struct bl_kir_value *, c->returns + 1u), *result;

    for (uint32_t r = 0; r < c->call->result_count; r++) {
        for (uint32_t w = 0; w < c->returns; w++)
            ways[w] = c->values[c->rets[w]->operands[r]->id];
        if (c->returns == 1)
            result = ways[0];
        else
            result =
                bl_kir_emit(&b, c->returns ? BL_KIR_OP_phi : BL_KIR_OP_undef, NULL, 1, &c->call->results[r]->type, c->returns, ways)
                    ->results[0];
        c->given[c->call->results[r]->id] = result;
    }
}

/* The callee's blocks and what followed the call stand behind the block of the call: so edges keep their order. */
static void insert_blocks(struct copy *c, const struct bl_kir_block *before)
{
    struct bl_kir_func *func = c->caller;
    uint32_t count = func->blocks.count, more = c->callee->blocks.count + 1, at = before->id + 1;

    for (uint32_t n = 0; n < more; n++)
        *BL_PUSH(func->module->arena, &func->blocks) = NULL;
    memmove(func->blocks.items + at + more, func->blocks.items + at, (count - at) * sizeof(*func->blocks.items));
    for (uint32_t n = 0; n + 1 < more; n++)
        func->blocks.items[at + n] = c->blocks[n];
    func->blocks.items[at + more - 1] = c->after;
    for (uint32_t n = at; n < func->blocks.count; n++)
        func->blocks.items[n]->id = n;
}

static void place_frame(struct copy *c, uint32_t own_frame)
{
    uint32_t align = BL_MAX(c->callee->frame_align, 16u);

    c->frame = c->callee->frame_size ? BL_ALIGN_UP(own_frame, align) : 0;
    if (!c->callee->frame_size)
        return;
    c->caller->frame_size = BL_MAX(c->caller->frame_size, c->frame + c->callee->frame_size);
    c->caller->frame_align = BL_MAX(c->caller->frame_align, c->callee->frame_align);
}

/* own_frame: the caller's without those of what was put in: these share the place behind it, as activations would. */
static void put_in(struct bl_kir_instr *call, uint32_t own_frame, struct bl_kir_value **given)
{
    struct copy c = {.caller = call->block->func, .callee = call->attr->func, .call = call, .given = given};
    struct bl_arena *arena = c.caller->module->arena;
    struct bl_kir_block *before = call->block;
    uint32_t blocks = c.callee->blocks.count;
    struct bl_kir_builder end = {.func = c.caller, .block = before, .line = call->line};

    c.values = BL_NEW_ARRAY(arena, struct bl_kir_value *, c.callee->value_count + 1u);
    c.blocks = BL_NEW_ARRAY(arena, struct bl_kir_block *, blocks);
    c.rets = BL_NEW_ARRAY(arena, const struct bl_kir_instr *, blocks);
    place_frame(&c, own_frame);
    cut_behind(&c);
    for (uint32_t p = 0; p < c.callee->params.count; p++)
        c.values[c.callee->params.items[p]->id] = call->operands[p];
    for (uint32_t n = 0; n < blocks; n++)
        c.blocks[n] = make_block(c.caller, c.callee->blocks.items[n]->name);
    for (uint32_t n = 0; n < blocks; n++)
        copy_block(&c, c.callee->blocks.items[n]);
    for (uint32_t n = 0; n < blocks; n++)
        map_operands(&c, n);
    insert_blocks(&c, before);
    give_results(&c);
    bl_kir_remove(call);
    bl_kir_jump(&end, c.blocks[0]);
}

/* ---- all calls -------------------------------------------------------------------------------------------- */

static uint32_t place_of(const struct inliner *in, const struct bl_kir_func *func)
{
    return (uint32_t)(uintptr_t)bl_map_get(&in->places, (struct bl_sv){(const char *)&func, sizeof(func)}) - 1;
}

static bool fits(const struct bl_kir_instr *call)
{
    const struct bl_kir_func *callee = call->attr->func;

    if (callee->is_declaration || callee->is_kernel || !callee->blocks.count || call->operand_count != callee->params.count ||
        call->result_count != callee->proto.result_count)
        return false;
    for (uint32_t p = 0; p < call->operand_count; p++)
        if (call->operands[p]->type != callee->params.items[p]->type)
            return false;
    return true;
}

static bool wants(const struct inliner *in, uint32_t caller_size, const struct bl_kir_instr *call)
{
    uint32_t callee = place_of(in, call->attr->func);

    if (!fits(call) || in->state[callee] != DONE || in->fixed[callee] || caller_size + in->size[callee] > LARGEST ||
        (uint64_t)call->block->func->frame_size + call->attr->func->frame_size > LARGEST_FRAME)
        return false;
    return in->wanted[callee] ||
           (!in->recursive[callee] && in->size[callee] <= SMALL && caller_size + in->size[callee] <= LARGEST_FOR_SMALL);
}

/* Uses of calls' results become uses of what stands for them, which may be the result of another call. */
static void resolve(struct bl_kir_func *func, uint32_t count, struct bl_kir_value *const *given)
{
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t o = 0; o < i->operand_count; o++)
                while (i->operands[o]->id < count && given[i->operands[o]->id])
                    i->operands[o] = given[i->operands[o]->id];
}

/* A block and the next one in order, where control comes to it from nowhere else, become one. Needs preds. */
static void merge_neighbours(struct bl_kir_func *func)
{
    struct bl_kir_block *to = func->blocks.items[0];

    for (uint32_t b = 1; b < func->blocks.count; b++) {
        struct bl_kir_block *from = func->blocks.items[b];
        if (to->last->op != BL_KIR_OP_jump || to->last->targets[0] != from || from->preds.count != 1 ||
            from->first->op == BL_KIR_OP_phi) {
            to = from;
            continue;
        }
        bl_kir_remove(to->last);
        for (struct bl_kir_instr *i = from->first; i; i = i->next)
            i->block = to;
        from->first->prev = to->last;
        if (to->last)
            to->last->next = from->first;
        else
            to->first = from->first;
        to->last = from->last;
        from->first = from->last = NULL; /* nothing leads here: bl_kir_renumber drops it */
    }
    bl_kir_renumber(func);
}

/* Its callees are done, or under way: a call of one of these leads back here. */
static void finish(struct inliner *in, uint32_t place)
{
    struct bl_kir_func *func = in->module->funcs.items[place];
    uint32_t size = 0, own_frame = func->frame_size, values;
    struct bl_kir_value **given;
    BL_ARRAY(struct bl_kir_instr *) calls = {0};

    if (!func->blocks.count) {
        in->state[place] = DONE;
        return;
    }
    bl_kir_renumber(func); /* what is not reached may use itself */
    values = func->value_count;
    given = BL_NEW_ARRAY(in->module->arena, struct bl_kir_value *, values + 1u);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            size++;
            if (i->op == BL_KIR_OP_call)
                *BL_PUSH(in->module->arena, &calls) = i;
        }
    for (uint32_t n = 0; n < calls.count; n++) {
        if (!wants(in, size, calls.items[n]))
            continue;
        size += in->size[place_of(in, calls.items[n]->attr->func)];
        put_in(calls.items[n], own_frame, given);
    }
    resolve(func, values, given);
    bl_kir_renumber(func);
    merge_neighbours(func);
    look_at(in, place);
    in->state[place] = DONE;
}

/* Callees before callers, without recursion: a chain of calls may be as long as the module. */
static void walk(struct inliner *in, uint32_t root)
{
    struct bl_arena *arena = in->module->arena;
    struct frame {
        uint32_t place, next;
        struct bl_kir_func **callees;
        uint32_t count;
    } *stack = BL_NEW_ARRAY(arena, struct frame, in->module->funcs.count + 1u);
    uint32_t depth = 0;

    stack[depth++] = (struct frame){.place = root};
    while (depth > 0) {
        struct frame *top = &stack[depth - 1];
        struct bl_kir_func *func = in->module->funcs.items[top->place];
        if (in->state[top->place] == UNSEEN) {
            BL_ARRAY(struct bl_kir_func *) callees = {0};
            in->state[top->place] = UNDER_WAY;
            for (uint32_t b = 0; b < func->blocks.count; b++)
                for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next)
                    if (i->op == BL_KIR_OP_call)
                        *BL_PUSH(arena, &callees) = i->attr->func;
            top->callees = callees.items;
            top->count = callees.count;
        }
        if (top->next == top->count) {
            finish(in, top->place);
            depth--;
            continue;
        }
        uint32_t callee = place_of(in, top->callees[top->next++]);
        if (in->state[callee] == UNSEEN)
            stack[depth++] = (struct frame){.place = callee};
        else
            in->recursive[callee] |= in->state[callee] == UNDER_WAY;
    }
}

void bl_kir_inline(struct bl_kir_module *module)
{
    struct inliner in = {.module = module};
    uint32_t count = module->funcs.count;

    in.state = BL_NEW_ARRAY(module->arena, uint8_t, count + 1u);
    in.wanted = BL_NEW_ARRAY(module->arena, uint8_t, count + 1u);
    in.fixed = BL_NEW_ARRAY(module->arena, uint8_t, count + 1u);
    in.recursive = BL_NEW_ARRAY(module->arena, uint8_t, count + 1u);
    in.size = BL_NEW_ARRAY(module->arena, uint32_t, count + 1u);
    for (uint32_t n = 0; n < count; n++) {
        struct bl_kir_func **key = BL_NEW(module->arena, struct bl_kir_func *);
        *key = module->funcs.items[n];
        bl_map_set(module->arena, &in.places, (struct bl_sv){(const char *)key, sizeof(*key)}, (void *)(uintptr_t)(n + 1));
    }
    for (uint32_t n = 0; n < count; n++)
        if (in.state[n] == UNSEEN)
            walk(&in, n);
}
