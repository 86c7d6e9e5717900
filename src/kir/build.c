/* Making and changing kir: modules, functions, instructions, edges. For front ends and passes. */
#include "kir/kir.h"

struct bl_kir_module *bl_kir_module_new(struct bl_arena *arena, const char *name)
{
    struct bl_kir_module *module = BL_NEW(arena, struct bl_kir_module);
    if (!module)
        return NULL;
    module->arena = arena;
    module->name = name;
    return module;
}

struct bl_kir_func *bl_kir_func_new(struct bl_kir_module *module, const char *name, bool is_kernel)
{
    struct bl_kir_func *func = BL_NEW(module->arena, struct bl_kir_func);
    func->name = name;
    func->module = module;
    func->is_kernel = is_kernel;
    func->proto.name = name;
    *BL_PUSH(module->arena, &module->funcs) = func;
    if (!bl_map_get(&module->func_names, bl_sv(name)))
        bl_map_set(module->arena, &module->func_names, bl_sv(name), func);
    return func;
}

struct bl_kir_symbol *bl_kir_symbol_new(struct bl_kir_module *module, const char *name, enum bl_kir_space space, uint64_t size,
                                        uint32_t align)
{
    struct bl_kir_symbol *symbol = BL_NEW(module->arena, struct bl_kir_symbol);
    symbol->name = name;
    symbol->space = space;
    symbol->size = size;
    symbol->align = align;
    *BL_PUSH(module->arena, &module->symbols) = symbol;
    if (!bl_map_get(&module->symbol_names, bl_sv(name)))
        bl_map_set(module->arena, &module->symbol_names, bl_sv(name), symbol);
    return symbol;
}

static struct bl_kir_value *value_new(struct bl_kir_func *func, enum bl_kir_type type)
{
    struct bl_kir_value *value = BL_NEW(func->module->arena, struct bl_kir_value);
    value->type = type;
    value->id = func->value_count++;
    return value;
}

struct bl_kir_value *bl_kir_param_new(struct bl_kir_func *func, enum bl_kir_type type, const char *name)
{
    struct bl_kir_value *value = value_new(func, type);
    value->name = name;
    value->result = func->params.count;
    *BL_PUSH(func->module->arena, &func->params) = value;
    return value;
}

struct bl_kir_block *bl_kir_block_new(struct bl_kir_func *func, const char *name)
{
    struct bl_kir_block *block = BL_NEW(func->module->arena, struct bl_kir_block);
    block->id = func->blocks.count;
    block->name = name;
    block->func = func;
    *BL_PUSH(func->module->arena, &func->blocks) = block;
    return block;
}

struct bl_kir_var *bl_kir_var_new(struct bl_kir_func *func, enum bl_kir_type type, const char *name)
{
    struct bl_kir_var *var = BL_NEW(func->module->arena, struct bl_kir_var);
    var->type = type;
    var->id = func->vars.count;
    var->name = name;
    *BL_PUSH(func->module->arena, &func->vars) = var;
    return var;
}

static void link_instr(struct bl_kir_builder *b, struct bl_kir_instr *instr)
{
    struct bl_kir_block *block = b->before ? b->before->block : b->block;

    instr->block = block;
    instr->next = b->before;
    instr->prev = b->before ? b->before->prev : block->last;
    if (instr->prev)
        instr->prev->next = instr;
    else
        block->first = instr;
    if (instr->next)
        instr->next->prev = instr;
    else
        block->last = instr;
}

struct bl_kir_instr *bl_kir_emit(struct bl_kir_builder *b, enum bl_kir_op op, const struct bl_kir_attr *attr, uint32_t result_count,
                                 const enum bl_kir_type *result_types, uint32_t operand_count, struct bl_kir_value *const *operands)
{
    struct bl_arena *arena = b->func->module->arena;
    struct bl_kir_instr *instr = BL_NEW(arena, struct bl_kir_instr);

    instr->op = op;
    instr->line = b->line;
    instr->attr = BL_NEW(arena, struct bl_kir_attr);
    if (attr)
        *instr->attr = *attr;
    instr->operand_count = operand_count;
    if (operand_count)
        instr->operands = bl_arena_copy(arena, operands, operand_count * sizeof(struct bl_kir_value *));
    instr->result_count = result_count;
    if (result_count)
        instr->results = BL_NEW_ARRAY(arena, struct bl_kir_value *, result_count);
    for (uint32_t i = 0; i < result_count; i++) {
        instr->results[i] = value_new(b->func, result_types[i]);
        instr->results[i]->def = instr;
        instr->results[i]->result = i;
    }
    link_instr(b, instr);
    return instr;
}

struct bl_kir_value *bl_kir_emit1(struct bl_kir_builder *b, enum bl_kir_op op, const struct bl_kir_attr *attr,
                                  enum bl_kir_type type, struct bl_kir_value *x, struct bl_kir_value *y, struct bl_kir_value *z)
{
    struct bl_kir_value *operands[3] = {x, y, z};
    uint32_t count = !x ? 0 : !y ? 1 : !z ? 2 : 3;
    return bl_kir_emit(b, op, attr, 1, &type, count, operands)->results[0];
}

struct bl_kir_value *bl_kir_const(struct bl_kir_builder *b, enum bl_kir_type type, uint64_t bits)
{
    uint32_t width = bl_kir_type_bits(type);
    struct bl_kir_attr attr = {.imm = width < 64 ? bits & (((uint64_t)1 << width) - 1) : bits};
    return bl_kir_emit1(b, BL_KIR_OP_const, &attr, type, NULL, NULL, NULL);
}

struct bl_kir_value *bl_kir_getvar(struct bl_kir_builder *b, struct bl_kir_var *var)
{
    struct bl_kir_attr attr = {.var = var};
    return bl_kir_emit1(b, BL_KIR_OP_getvar, &attr, var->type, NULL, NULL, NULL);
}

void bl_kir_setvar(struct bl_kir_builder *b, struct bl_kir_var *var, struct bl_kir_value *value)
{
    struct bl_kir_attr attr = {.var = var};
    bl_kir_emit(b, BL_KIR_OP_setvar, &attr, 0, NULL, 1, &value);
}

static void set_targets(struct bl_kir_builder *b, struct bl_kir_instr *instr, uint32_t count, struct bl_kir_block *const *targets)
{
    instr->target_count = count;
    instr->targets = bl_arena_copy(b->func->module->arena, targets, count * sizeof(struct bl_kir_block *));
}

void bl_kir_jump(struct bl_kir_builder *b, struct bl_kir_block *target)
{
    set_targets(b, bl_kir_emit(b, BL_KIR_OP_jump, NULL, 0, NULL, 0, NULL), 1, &target);
}

void bl_kir_branch(struct bl_kir_builder *b, struct bl_kir_value *pred, struct bl_kir_block *yes, struct bl_kir_block *no)
{
    struct bl_kir_block *targets[2] = {yes, no};
    set_targets(b, bl_kir_emit(b, BL_KIR_OP_branch, NULL, 0, NULL, 1, &pred), 2, targets);
}

void bl_kir_switch(struct bl_kir_builder *b, struct bl_kir_value *index, uint32_t count, struct bl_kir_block *const *targets)
{
    set_targets(b, bl_kir_emit(b, BL_KIR_OP_switch, NULL, 0, NULL, 1, &index), count, targets);
}

void bl_kir_remove(struct bl_kir_instr *instr)
{
    if (instr->prev)
        instr->prev->next = instr->next;
    else
        instr->block->first = instr->next;
    if (instr->next)
        instr->next->prev = instr->prev;
    else
        instr->block->last = instr->prev;
    instr->prev = instr->next = NULL;
    instr->block = NULL;
}

void bl_kir_replace_uses(struct bl_kir_func *func, struct bl_kir_value *old, struct bl_kir_value *by)
{
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *instr = func->blocks.items[b]->first; instr; instr = instr->next)
            for (uint32_t i = 0; i < instr->operand_count; i++)
                if (instr->operands[i] == old)
                    instr->operands[i] = by;
}

void bl_kir_update_preds(struct bl_kir_func *func)
{
    for (uint32_t b = 0; b < func->blocks.count; b++)
        func->blocks.items[b]->preds.count = 0;
    for (uint32_t b = 0; b < func->blocks.count; b++) {
        struct bl_kir_instr *last = func->blocks.items[b]->last;
        for (uint32_t t = 0; last && t < last->target_count; t++)
            *BL_PUSH(func->module->arena, &last->targets[t]->preds) = func->blocks.items[b];
    }
}

/* Marks what the entry reaches, by block id. Ids must be the places in func->blocks. */
static uint8_t *find_reachable(struct bl_kir_func *func)
{
    uint32_t count = func->blocks.count, depth = 0;
    uint8_t *reached = BL_NEW_ARRAY(func->module->arena, uint8_t, count);
    struct bl_kir_block **stack = BL_NEW_ARRAY(func->module->arena, struct bl_kir_block *, count);

    if (count > 0) {
        reached[0] = 1;
        stack[depth++] = func->blocks.items[0];
    }
    while (depth > 0) {
        struct bl_kir_instr *last = stack[--depth]->last;
        for (uint32_t t = 0; last && t < last->target_count; t++)
            if (!reached[last->targets[t]->id]) {
                reached[last->targets[t]->id] = 1;
                stack[depth++] = last->targets[t];
            }
    }
    return reached;
}

/* Takes out the phi operands of edges that come from blocks no longer reached. Needs preds as the phis know them. */
static void drop_phi_operands(struct bl_kir_block *block, const uint8_t *reached)
{
    for (struct bl_kir_instr *phi = block->first; phi && phi->op == BL_KIR_OP_phi; phi = phi->next) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < phi->operand_count && i < block->preds.count; i++)
            if (reached[block->preds.items[i]->id])
                phi->operands[kept++] = phi->operands[i];
        phi->operand_count = kept;
    }
}

void bl_kir_renumber(struct bl_kir_func *func)
{
    uint32_t kept = 0, next = 0;
    uint8_t *reached;

    for (uint32_t b = 0; b < func->blocks.count; b++)
        func->blocks.items[b]->id = b;
    reached = find_reachable(func);
    bl_kir_update_preds(func);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (reached[b])
            drop_phi_operands(func->blocks.items[b], reached);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (reached[b])
            func->blocks.items[kept++] = func->blocks.items[b];
    func->blocks.count = kept;
    for (uint32_t i = 0; i < func->params.count; i++)
        func->params.items[i]->id = next++;
    for (uint32_t b = 0; b < kept; b++) {
        func->blocks.items[b]->id = b;
        for (struct bl_kir_instr *instr = func->blocks.items[b]->first; instr; instr = instr->next)
            for (uint32_t i = 0; i < instr->result_count; i++)
                instr->results[i]->id = next++;
    }
    func->value_count = next;
    bl_kir_update_preds(func);
}
