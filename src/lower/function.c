/* One function's body: its parameters, declarations, labels and frame; then each instruction by the table, guards
 * included. What can't be lowered becomes `unsupported`, and the rest goes on. */
#include "lower/internal.h"

/* ---- blocks --------------------------------------------------------------------------------- */

void bl_lower_start_block(struct bl_lower *l, struct bl_kir_block *block)
{
    l->b.block = block;
    *BL_PUSH(l->arena, &l->order) = block;
}

bool bl_lower_block_is_open(const struct bl_lower *l)
{
    return !l->b.block->last || !(bl_kir_ops[l->b.block->last->op].flags & BL_KIR_TERM);
}

/* ---- frame and places ----------------------------------------------------------------------- */

enum { FRAME_LIMIT = 512 << 20, FRAME_ALIGN_LIMIT = 1 << 16 }; /* a thread has at most 512 KB in CUDA */

/* False where the frame would grow past what any device offers. */
static bool frame_slot(struct bl_lower *l, uint64_t size, uint32_t align, uint32_t *offset)
{
    uint64_t at = BL_ALIGN_UP(l->frame, (uint64_t)BL_MAX(align, 1u));
    if (size > FRAME_LIMIT || at + size > FRAME_LIMIT || align > FRAME_ALIGN_LIMIT || (align & (align - 1)))
        return false;
    l->frame = at + size;
    l->func->frame_size = (uint32_t)BL_MAX((uint64_t)l->func->frame_size, l->frame);
    l->func->frame_align = BL_MAX(l->func->frame_align, BL_MAX(align, 1u));
    *offset = (uint32_t)at;
    return true;
}

static struct bl_lower_place *new_place(struct bl_lower *l, struct bl_ptx_symbol *symbol, enum bl_lower_place_kind kind)
{
    struct bl_lower_place *place = BL_NEW(l->arena, struct bl_lower_place);
    place->kind = kind;
    symbol->user = place;
    return place;
}

static struct bl_lower_place *place_in_frame(struct bl_lower *l, struct bl_ptx_symbol *symbol)
{
    struct bl_lower_place *place = new_place(l, symbol, BL_LOWER_FRAME);
    if (!frame_slot(l, symbol->size, symbol->align, &place->offset))
        place->kind = BL_LOWER_NOWHERE;
    return place;
}

static char address_taken; /* its address marks a scalar .param until that has its place */

/* A scalar .param: in a variable, or in the frame where the body takes its address. */
static struct bl_lower_place *place_scalar(struct bl_lower *l, struct bl_ptx_symbol *symbol)
{
    struct bl_lower_place *place;
    if (symbol->user == &address_taken)
        return place_in_frame(l, symbol);
    place = new_place(l, symbol, BL_LOWER_VAR);
    place->var = bl_kir_var_new(l->func, bl_lower_type(symbol->type), bl_sv_copy(l->arena, symbol->name));
    return place;
}

static bool is_param(const struct bl_ptx_symbol *symbol)
{
    return symbol && (symbol->kind == BL_PTX_SYM_PARAM || symbol->kind == BL_PTX_SYM_VAR) && symbol->space == BL_PTX_PARAM;
}

static void find_taken_addresses(const struct bl_ptx_func *source)
{
    for (uint32_t s = 0; s < source->statements.count; s++) {
        const struct bl_ptx_instr *i = source->statements.items[s].kind == BL_PTX_INSTR ? source->statements.items[s].instr : NULL;
        if (!i || i->op == BL_PTX_OP_call)
            continue;
        for (uint32_t o = 0; o < i->operand_count; o++)
            if (i->operands[o].kind == BL_PTX_SYMBOL && is_param(i->operands[o].symbol))
                i->operands[o].symbol->user = &address_taken;
    }
}

/* Forgets what an earlier lowering of the same tree left. */
void bl_lower_forget(struct bl_ptx_func *source)
{
    for (uint32_t p = 0; p < source->params.count; p++)
        source->params.items[p]->user = NULL;
    for (uint32_t r = 0; r < source->returns.count; r++)
        source->returns.items[r]->user = NULL;
    for (uint32_t s = 0; s < source->statements.count; s++)
        if (source->statements.items[s].kind == BL_PTX_DECLARATION)
            source->statements.items[s].symbol->user = NULL;
}

static void set_place(struct bl_lower *l, const struct bl_lower_place *place, struct bl_kir_value *value)
{
    struct bl_kir_attr attr = {.imm = place->offset};
    struct bl_kir_value *operands[2];

    if (place->kind == BL_LOWER_VAR)
        bl_kir_setvar(&l->b, place->var, value);
    if (place->kind != BL_LOWER_FRAME)
        return;
    operands[0] = bl_lower_op(l, BL_KIR_OP_frame, &attr, BL_KIR_I64, NULL, NULL, NULL);
    operands[1] = value;
    attr = (struct bl_kir_attr){.space = BL_KIR_LOCAL, .type = (uint8_t)value->type, .vec = 1};
    attr.align = BL_MAX(bl_kir_type_bits(value->type) / 8, 1u);
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
}

static struct bl_kir_value *get_place(struct bl_lower *l, const struct bl_lower_place *place, enum bl_kir_type type)
{
    struct bl_kir_attr attr = {.imm = place->offset};
    struct bl_kir_value *base;

    if (place->kind == BL_LOWER_VAR)
        return bl_lower_resize(l, bl_kir_getvar(&l->b, place->var), type, false);
    if (place->kind != BL_LOWER_FRAME)
        return bl_lower_refuse(l, type, "a parameter that has no place");
    base = bl_lower_op(l, BL_KIR_OP_frame, &attr, BL_KIR_I64, NULL, NULL, NULL);
    attr = (struct bl_kir_attr){.space = BL_KIR_LOCAL, .type = (uint8_t)type, .vec = 1};
    attr.align = BL_MAX(bl_kir_type_bits(type) / 8, 1u);
    return bl_lower_op(l, BL_KIR_OP_load, &attr, type, base, NULL, NULL);
}

/* ---- parameters and results ------------------------------------------------------------------ */

static void place_kernel_params(struct bl_lower *l)
{
    for (uint32_t p = 0; p < l->source->params.count; p++)
        new_place(l, l->source->params.items[p], BL_LOWER_ENTRY)->offset = bl_ptx_param_offset(l->source, p);
}

static void place_array(struct bl_lower *l, struct bl_ptx_symbol *symbol, struct bl_kir_value *value)
{
    new_place(l, symbol, BL_LOWER_POINTER)->value = value;
}

static void place_function_params(struct bl_lower *l)
{
    uint32_t next = 0;

    for (uint32_t r = 0; r < l->source->returns.count; r++) {
        struct bl_ptx_symbol *symbol = l->source->returns.items[r];
        if (bl_lower_is_array(symbol))
            place_array(l, symbol, l->func->params.items[next++]);
        else if (symbol->kind != BL_PTX_SYM_REG)
            place_scalar(l, symbol);
    }
    for (uint32_t p = 0; p < l->source->params.count; p++) {
        struct bl_ptx_symbol *symbol = l->source->params.items[p];
        struct bl_kir_value *value = l->func->params.items[next++];
        struct bl_kir_var *reg;
        if (bl_lower_is_array(symbol))
            place_array(l, symbol, value);
        else if (symbol->kind != BL_PTX_SYM_REG)
            set_place(l, place_scalar(l, symbol), value);
        else if ((reg = bl_lower_register(l, symbol, 0)))
            bl_kir_setvar(&l->b, reg, value);
    }
}

/* ret: the scalar results, in order. */
void bl_lower_return(struct bl_lower *l)
{
    struct bl_kir_value **values = BL_NEW_ARRAY(l->arena, struct bl_kir_value *, l->source->returns.count);
    uint32_t count = 0;

    for (uint32_t r = 0; r < l->source->returns.count; r++) {
        const struct bl_ptx_symbol *symbol = l->source->returns.items[r];
        enum bl_kir_type type = bl_lower_type(symbol->type);
        struct bl_kir_var *reg;
        if (bl_lower_is_array(symbol))
            continue;
        if (symbol->kind != BL_PTX_SYM_REG)
            values[count++] = get_place(l, bl_lower_place(symbol), type);
        else if ((reg = bl_lower_register(l, symbol, 0)))
            values[count++] = bl_kir_getvar(&l->b, reg);
    }
    bl_kir_emit(&l->b, BL_KIR_OP_ret, NULL, 0, NULL, count, values);
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* An argument as a value of the callee's type. */
static struct bl_kir_value *read_argument(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    if (is_param(operand->symbol) && operand->kind != BL_PTX_REG_OPERAND)
        return get_place(l, bl_lower_place(operand->symbol), type);
    return bl_lower_read(l, operand, type);
}

/* An array argument or result: the local address of its place in this frame. */
static struct bl_kir_value *argument_address(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    enum bl_kir_space space;
    struct bl_kir_value *value;

    if (!is_param(operand->symbol))
        return bl_lower_refuse(l, BL_KIR_I64, "an array argument that is no .param variable");
    value = bl_lower_address_of(l, operand->symbol, operand->offset, &space);
    return space == BL_KIR_LOCAL ? value : bl_lower_refuse(l, BL_KIR_I64, "an array argument outside local memory");
}

static void write_result(struct bl_lower *l, const struct bl_ptx_operand *operand, struct bl_kir_value *value)
{
    struct bl_lower_place *place;

    if (!is_param(operand->symbol) || operand->kind == BL_PTX_REG_OPERAND) {
        bl_lower_write(l, operand, value, false);
        return;
    }
    place = bl_lower_place(operand->symbol);
    if (place->kind == BL_LOWER_VAR)
        value = bl_lower_resize(l, value, place->var->type, false);
    set_place(l, place, value);
}

/* Whose parameters and results the call follows: the callee, or the prototype of an indirect call. */
static const struct bl_ptx_func *called_shape(const struct bl_ptx_instr *i)
{
    const struct bl_ptx_symbol *target = i->operand_count ? i->operands[0].symbol : NULL;

    if (target && target->kind == BL_PTX_SYM_FUNC)
        return target->func;
    if (i->prototype && i->prototype->kind == BL_PTX_SYM_PROTO)
        return i->prototype->proto;
    if (i->prototype && i->prototype->kind == BL_PTX_SYM_TARGETS && i->prototype->targets.count)
        return i->prototype->targets.items[0]->func;
    return NULL;
}

static struct bl_kir_instr *emit_call(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_kir_proto *proto,
                                      uint32_t count, struct bl_kir_value **operands)
{
    struct bl_kir_attr attr = {0};

    if (i->operands[0].symbol->kind == BL_PTX_SYM_FUNC) {
        attr.func = bl_lower_func(i->operands[0].symbol);
        return bl_kir_emit(&l->b, BL_KIR_OP_call, &attr, proto->result_count, proto->results, count, operands + 1);
    }
    attr.proto = bl_arena_copy(l->arena, proto, sizeof(*proto));
    operands[0] = bl_lower_read(l, &i->operands[0], BL_KIR_I64);
    return bl_kir_emit(&l->b, BL_KIR_OP_call_indirect, &attr, proto->result_count, proto->results, count + 1, operands);
}

/* cudaGraphSetConditional(handle, value) that no module defines: a handle is the address of the value. */
static bool is_set_conditional(const struct bl_ptx_func *shape, const struct bl_kir_proto *proto)
{
    return !shape->has_body && bl_sv_is(shape->name, "cudaGraphSetConditional") && !proto->result_count &&
           proto->param_count == 2 && proto->params[0] == BL_KIR_I64 && proto->params[1] == BL_KIR_I32;
}

static void set_conditional(struct bl_lower *l, struct bl_kir_value **operands)
{
    struct bl_kir_attr attr = {.type = BL_KIR_I32, .vec = 1, .space = BL_KIR_GLOBAL, .align = 4};
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
}

bool bl_lower_call(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_func *shape = called_shape(i);
    struct bl_kir_proto proto = {0};
    struct bl_kir_value **operands;
    struct bl_kir_instr *call;
    uint32_t count = 0, result = 0;

    if (!shape || shape->is_entry || shape->returns.count != i->return_count || shape->params.count != i->arg_count)
        return false;
    bl_lower_proto(l, shape, &proto);
    if (i->prototype && i->prototype->kind == BL_PTX_SYM_PROTO)
        proto.name = bl_sv_copy(l->arena, i->prototype->name);
    operands = BL_NEW_ARRAY(l->arena, struct bl_kir_value *, proto.param_count + 1);
    for (uint32_t r = 0; r < i->return_count; r++)
        if (bl_lower_is_array(shape->returns.items[r]))
            operands[1 + count++] = argument_address(l, &i->returns[r]);
    for (uint32_t a = 0; a < i->arg_count; a++, count++)
        operands[1 + count] = bl_lower_is_array(shape->params.items[a]) ? argument_address(l, &i->args[a])
                                                                        : read_argument(l, &i->args[a], proto.params[count]);
    if (is_set_conditional(shape, &proto)) {
        set_conditional(l, operands + 1);
        return true;
    }
    call = emit_call(l, i, &proto, count, operands);
    for (uint32_t r = 0; r < i->return_count; r++)
        if (!bl_lower_is_array(shape->returns.items[r]))
            write_result(l, &i->returns[r], call->results[result++]);
    return true;
}

/* ---- instructions -------------------------------------------------------------------------------- */

struct mark {
    struct bl_kir_block *block;
    struct bl_kir_instr *last;
    uint32_t blocks, order;
};

static struct mark mark_here(const struct bl_lower *l)
{
    return (struct mark){l->b.block, l->b.block->last, l->func->blocks.count, l->order.count};
}

static void undo_to(struct bl_lower *l, const struct mark *mark)
{
    l->func->blocks.count = mark->blocks;
    l->order.count = mark->order;
    l->b.block = mark->block;
    mark->block->last = mark->last;
    if (mark->last)
        mark->last->next = NULL;
    else
        mark->block->first = NULL;
}

/* Results of an unsupported instruction: its destination gets something, so that what follows still lowers. */
static void collect_destinations(const struct bl_ptx_operand *operand, uint32_t *count, const struct bl_ptx_operand **found)
{
    if (bl_lower_register_type(operand) != BL_KIR_VOID && *count < 64)
        found[(*count)++] = operand;
    if (operand->kind == BL_PTX_VECTOR || operand->kind == BL_PTX_PAIR)
        for (uint32_t n = 0; n < operand->item_count; n++)
            collect_destinations(&operand->items[n], count, found);
}

static const char *instruction_text(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    char *text = bl_sv_copy(l->arena, (struct bl_sv){i->text.data, BL_MIN(i->text.size, (size_t)300)});
    size_t out = 0;
    for (size_t at = 0; text[at]; at++) {
        bool space = strchr(" \t\r\n", text[at]) != NULL;
        if (!space || (out && text[out - 1] != ' '))
            text[out++] = space ? ' ' : text[at];
    }
    text[out] = 0;
    return text;
}

static void emit_unsupported(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_operand *found[64];
    enum bl_kir_type types[64];
    const char *text = instruction_text(l, i), *advice = bl_lower_advice(i);
    struct bl_kir_attr attr = {.text = advice ? bl_arena_printf(l->arena, "%s (%s)", text, advice) : text};
    struct bl_kir_instr *instr;
    uint32_t count = 0;

    if (i->operand_count && bl_lower_has_destination(i))
        collect_destinations(&i->operands[0], &count, found);
    for (uint32_t n = 0; n < count; n++)
        types[n] = bl_lower_register_type(found[n]);
    bl_debug("%.*s: line %u: %s: not supported (%s)", BL_SV(l->source->name), i->loc.line, attr.text,
             l->reason ? l->reason : "no rule");
    instr = bl_kir_emit(&l->b, BL_KIR_OP_unsupported, &attr, count, types, 0, NULL);
    l->reason = NULL;
    for (uint32_t n = 0; n < count; n++)
        bl_lower_write(l, found[n], instr->results[n], false);
    l->reason = NULL;
}

static void lower_or_refuse(struct bl_lower *l, const struct bl_ptx_instr *i, bl_lower_function function)
{
    struct mark mark = mark_here(l);

    l->reason = NULL;
    if (function && function(l, i) && !l->reason)
        return;
    undo_to(l, &mark);
    l->guard = NULL;
    emit_unsupported(l, i);
}

struct bl_kir_value *bl_lower_guard(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return bl_kir_getvar(&l->b, bl_lower_register(l, i->guard, 0));
}

/* Opens a block that only threads for which the guard holds enter; gives the block after it. */
struct bl_kir_block *bl_lower_branch_around(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *pred = bl_lower_guard(l, i);
    struct bl_kir_block *inside = bl_kir_block_new(l->func, NULL), *after = bl_kir_block_new(l->func, NULL);

    bl_kir_branch(&l->b, pred, i->guard_negated ? after : inside, i->guard_negated ? inside : after);
    bl_lower_start_block(l, inside);
    return after;
}

/* Pure: the results are selected by the guard. False where that is not possible. */
static bool lower_selected(struct bl_lower *l, const struct bl_ptx_instr *i, bl_lower_function function)
{
    struct mark mark = mark_here(l);
    bool done;

    l->reason = NULL;
    l->guard = NULL;
    if (i->guard) {
        l->guard = bl_lower_guard(l, i);
        if (i->guard_negated)
            l->guard = bl_lower_op(l, BL_KIR_OP_not, NULL, BL_KIR_PRED, l->guard, NULL, NULL);
    }
    done = function(l, i) && !l->reason;
    l->guard = NULL;
    if (!done)
        undo_to(l, &mark);
    return done;
}

void bl_lower_instruction(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_lower_row *row = &bl_lower_rows[i->op];
    bool is_float = i->type_count && bl_lower_is_float(i->types[0]);
    bl_lower_function function = is_float ? row->float_function : row->function;
    struct bl_kir_block *after = NULL;

    l->instr = i;
    l->b.line = i->loc.line;
    if (!bl_lower_block_is_open(l)) /* nothing comes here but by a label */
        bl_lower_start_block(l, bl_kir_block_new(l->func, NULL));
    if (row->class == BL_LOWER_NOTHING)
        return;
    if (row->class == BL_LOWER_PURE && lower_selected(l, i, function))
        return;
    if (i->guard && row->class != BL_LOWER_CONTROL)
        after = bl_lower_branch_around(l, i);
    lower_or_refuse(l, i, row->class == BL_LOWER_PURE ? NULL : function);
    if (!after)
        return;
    if (bl_lower_block_is_open(l))
        bl_kir_jump(&l->b, after);
    bl_lower_start_block(l, after);
}

/* ---- statements ------------------------------------------------------------------------------------ */

static enum bl_status declare(struct bl_lower *l, struct bl_ptx_symbol *symbol)
{
    if (symbol->kind != BL_PTX_SYM_VAR && symbol->kind != BL_PTX_SYM_PARAM)
        return BL_OK;
    if (symbol->space == BL_PTX_PARAM) {
        if (bl_lower_is_array(symbol))
            place_in_frame(l, symbol);
        else
            place_scalar(l, symbol);
    } else if (symbol->space == BL_PTX_LOCAL) {
        place_in_frame(l, symbol);
        for (uint32_t s = 0; s < l->scopes.count; s++)
            l->scopes.items[s].keep = true;
    } else if (!symbol->user) {
        bl_lower_variable(l, symbol);
        return bl_lower_initialise(l, symbol);
    }
    return BL_OK;
}

/* .param variables of a call sequence live to the end of their { }, so that calls share their space in the frame. Scopes
 * with .local variables keep theirs: their addresses may have gone anywhere. */
static void leave_scope(struct bl_lower *l)
{
    if (l->scopes.count == 0)
        return;
    l->scopes.count--;
    if (!l->scopes.items[l->scopes.count].keep)
        l->frame = l->scopes.items[l->scopes.count].frame;
}

static enum bl_status lower_statement(struct bl_lower *l, const struct bl_ptx_statement *s)
{
    switch (s->kind) {
    case BL_PTX_INSTR:
        bl_lower_instruction(l, s->instr);
        break;
    case BL_PTX_LABEL:
        if (bl_lower_block_is_open(l))
            bl_kir_jump(&l->b, l->labels[s->symbol->index]);
        bl_lower_start_block(l, l->labels[s->symbol->index]);
        break;
    case BL_PTX_DECLARATION:
        return declare(l, s->symbol);
    case BL_PTX_BLOCK_BEGIN:
        *BL_PUSH(l->arena, &l->scopes) = (struct bl_lower_scope){.frame = l->frame};
        break;
    case BL_PTX_BLOCK_END:
        leave_scope(l);
        break;
    default:
        break;
    }
    return BL_OK;
}

static void start_body(struct bl_lower *l, struct bl_ptx_func *source)
{
    l->source = source;
    l->func = source->user;
    l->registers = BL_NEW_ARRAY(l->arena, struct bl_kir_var **, source->reg_count);
    l->labels = BL_NEW_ARRAY(l->arena, struct bl_kir_block *, source->label_count);
    l->carry = NULL;
    l->frame = 0;
    l->scopes.count = l->order.count = 0;
    l->b = (struct bl_kir_builder){.func = l->func, .line = source->loc.line};
    bl_lower_start_block(l, bl_kir_block_new(l->func, "entry"));
    for (uint32_t s = 0; s < source->statements.count; s++)
        if (source->statements.items[s].kind == BL_PTX_LABEL) {
            const struct bl_ptx_symbol *label = source->statements.items[s].symbol;
            l->labels[label->index] = bl_kir_block_new(l->func, bl_sv_copy(l->arena, label->name));
        }
}

enum bl_status bl_lower_body(struct bl_lower *l, struct bl_ptx_func *source)
{
    enum bl_status status = BL_OK;

    start_body(l, source);
    if (source->is_entry) {
        place_kernel_params(l);
    } else {
        find_taken_addresses(source);
        place_function_params(l);
    }
    for (uint32_t s = 0; s < source->statements.count && status == BL_OK; s++)
        status = lower_statement(l, &source->statements.items[s]);
    if (bl_lower_block_is_open(l))
        bl_lower_return(l);
    l->func->blocks.count = 0;
    for (uint32_t b = 0; b < l->order.count; b++) {
        l->order.items[b]->id = b;
        *BL_PUSH(l->arena, &l->func->blocks) = l->order.items[b];
    }
    l->source = NULL;
    return status;
}
