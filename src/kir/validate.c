/* The rules of kir: what every pass may rely on and must keep. Called after each pass where checking is on, and by tests.
 * validate_op.c has the rules of single ops. */
#include "kir/validate.h"

#include <stdio.h>

bool bl_kir_broken(struct bl_kir_check *c, const struct bl_kir_instr *instr, const char *format, ...)
{
    struct bl_buffer text = {0};
    char rule[300];
    va_list args;

    va_start(args, format);
    vsnprintf(rule, sizeof(rule), format, args);
    va_end(args);
    if (instr)
        bl_kir_print_instr(&text, instr);
    if (c->error && c->error->status == BL_OK && instr)
        c->error->line = instr->line;
    bl_fail(c->error, BL_INVALID, "kir: %s: %s%s%.1000s", c->func ? c->func->name : c->module->name, rule, instr ? ": " : "",
            text.data ? text.data : "");
    bl_buffer_cleanup(&text);
    return false;
}

/* ---- module -------------------------------------------------------------------------------------- */

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

static bool check_reloc(struct bl_kir_check *c, const struct bl_kir_symbol *symbol, const struct bl_kir_reloc *reloc)
{
    if (!symbol->init)
        return bl_kir_broken(c, NULL, "symbol %s has relocs and no initial bytes", symbol->name);
    if (!reloc->symbol == !reloc->func)
        return bl_kir_broken(c, NULL, "a reloc of symbol %s must name one of symbol and function", symbol->name);
    if (reloc->size == 0 || reloc->size > 8 || reloc->offset > symbol->size || reloc->size > symbol->size - reloc->offset)
        return bl_kir_broken(c, NULL, "a reloc of symbol %s lies outside it", symbol->name);
    return true;
}

static bool check_symbol(struct bl_kir_check *c, const struct bl_kir_symbol *symbol)
{
    if (!symbol->name)
        return bl_kir_broken(c, NULL, "a symbol without a name");
    if (symbol->space != BL_KIR_GLOBAL && symbol->space != BL_KIR_SHARED && symbol->space != BL_KIR_CONST &&
        symbol->space != BL_KIR_LOCAL)
        return bl_kir_broken(c, NULL, "symbol %s is in no space for variables", symbol->name);
    if (symbol->align && !is_power_of_two(symbol->align))
        return bl_kir_broken(c, NULL, "symbol %s: its alignment must be a power of two", symbol->name);
    for (uint32_t r = 0; r < symbol->relocs.count; r++)
        if (!check_reloc(c, symbol, &symbol->relocs.items[r]))
            return false;
    return true;
}

/* ---- function: its outside ------------------------------------------------------------------------ */

static bool is_value_type(enum bl_kir_type type)
{
    return type > BL_KIR_VOID && type < BL_KIR_TYPE_COUNT;
}

static bool check_types(struct bl_kir_check *c, const char *what, uint32_t count, const enum bl_kir_type *types)
{
    for (uint32_t i = 0; i < count; i++)
        if (!is_value_type(types[i]))
            return bl_kir_broken(c, NULL, "%s %u has no type of a value", what, i);
    return true;
}

static bool check_header(struct bl_kir_check *c, const struct bl_kir_func *func)
{
    if (!check_types(c, "parameter", func->proto.param_count, func->proto.params) ||
        !check_types(c, "result", func->proto.result_count, func->proto.results))
        return false;
    if (func->is_kernel && (func->proto.param_count || func->proto.result_count || func->params.count))
        return bl_kir_broken(c, NULL, "a kernel has no parameters and results of its own");
    if (func->is_declaration != (func->blocks.count == 0))
        return bl_kir_broken(c, NULL, func->is_declaration ? "a declaration has blocks" : "a definition has no block");
    if (func->blocks.count && func->params.count != func->proto.param_count)
        return bl_kir_broken(c, NULL, "its parameters are not those of its prototype");
    for (uint32_t p = 0; p < func->params.count; p++)
        if (func->params.items[p]->type != func->proto.params[p] || func->params.items[p]->def ||
            func->params.items[p]->result != p)
            return bl_kir_broken(c, NULL, "parameter %u is not that of its prototype", p);
    if (func->frame_align && !is_power_of_two(func->frame_align))
        return bl_kir_broken(c, NULL, "frame_align must be a power of two");
    for (uint32_t v = 0; v < func->vars.count; v++)
        if (func->vars.items[v]->id != v || !is_value_type(func->vars.items[v]->type))
            return bl_kir_broken(c, NULL, "variable %u has another number, or no type", v);
    return true;
}

/* ---- function: blocks, and which value is whose ------------------------------------------------------ */

static bool is_own_block(const struct bl_kir_check *c, const struct bl_kir_block *block)
{
    return block && block->id < c->func->blocks.count && c->func->blocks.items[block->id] == block;
}

static bool note_value(struct bl_kir_check *c, const struct bl_kir_instr *instr, const struct bl_kir_value *value)
{
    if (value->id >= c->func->value_count)
        return bl_kir_broken(c, instr, "value number %u is not below value_count", value->id);
    if (c->values[value->id])
        return bl_kir_broken(c, instr, "two values have number %u", value->id);
    c->values[value->id] = value;
    return true;
}

static bool note_results(struct bl_kir_check *c, const struct bl_kir_instr *instr)
{
    for (uint32_t r = 0; r < instr->result_count; r++) {
        const struct bl_kir_value *value = instr->results[r];
        if (!value || value->def != instr || value->result != r)
            return bl_kir_broken(c, instr, "result %u does not know its instruction", r);
        if (!is_value_type(value->type))
            return bl_kir_broken(c, instr, "result %u has no type of a value", r);
        if (!note_value(c, instr, value))
            return false;
    }
    return true;
}

static bool check_targets(struct bl_kir_check *c, const struct bl_kir_instr *instr)
{
    uint32_t least = instr->op == BL_KIR_OP_jump || instr->op == BL_KIR_OP_switch ? 1 : instr->op == BL_KIR_OP_branch ? 2 : 0;

    if (instr->op == BL_KIR_OP_switch ? instr->target_count < least : instr->target_count != least)
        return bl_kir_broken(c, instr, "the number of targets is wrong");
    for (uint32_t t = 0; t < instr->target_count; t++)
        if (!is_own_block(c, instr->targets[t]))
            return bl_kir_broken(c, instr, "target %u is no block of this function", t);
    return true;
}

static bool check_place(struct bl_kir_check *c, const struct bl_kir_block *block, const struct bl_kir_instr *instr)
{
    bool ends = bl_kir_ops[instr->op].flags & BL_KIR_TERM;

    if (instr->block != block || (instr->prev ? instr->prev->next : block->first) != instr ||
        (!instr->next && block->last != instr))
        return bl_kir_broken(c, instr, "an instruction is not linked into its block");
    if (ends != !instr->next)
        return bl_kir_broken(c, instr, ends ? "a block end stands inside a block" : "a block has no end");
    if (instr->op == BL_KIR_OP_phi && instr->prev && instr->prev->op != BL_KIR_OP_phi)
        return bl_kir_broken(c, instr, "a phi stands after another op");
    if (instr->op == BL_KIR_OP_phi && block->id == 0)
        return bl_kir_broken(c, instr, "a phi in the entry");
    return true;
}

static bool note_block(struct bl_kir_check *c, const struct bl_kir_block *block, uint32_t id)
{
    if (block->id != id || block->func != c->func)
        return bl_kir_broken(c, NULL, "block %u has number %u, or another function", id, block->id);
    if (!block->first)
        return bl_kir_broken(c, NULL, "block %u is empty", id);
    for (const struct bl_kir_instr *i = block->first; i; i = i->next) {
        if (i->op >= BL_KIR_OP_COUNT || !i->attr)
            return bl_kir_broken(c, NULL, "block %u holds no op", id);
        if (!check_place(c, block, i) || !note_results(c, i))
            return false;
    }
    return check_targets(c, block->last);
}

/* The edges as bl_kir_update_preds would list them. */
static bool check_preds(struct bl_kir_check *c)
{
    uint32_t *seen = BL_NEW_ARRAY(c->module->arena, uint32_t, c->func->blocks.count);

    for (uint32_t b = 0; b < c->func->blocks.count; b++) {
        const struct bl_kir_block *block = c->func->blocks.items[b];
        for (uint32_t t = 0; t < block->last->target_count; t++) {
            const struct bl_kir_block *to = block->last->targets[t];
            uint32_t at = seen[to->id]++;
            if (at >= to->preds.count || to->preds.items[at] != block)
                return bl_kir_broken(c, block->last, "the predecessors of block %u are not up to date", to->id);
        }
    }
    for (uint32_t b = 0; b < c->func->blocks.count; b++)
        if (seen[b] != c->func->blocks.items[b]->preds.count)
            return bl_kir_broken(c, NULL, "the predecessors of block %u are not up to date", b);
    if (c->func->blocks.items[0]->preds.count)
        return bl_kir_broken(c, NULL, "the entry is jumped to");
    return true;
}

/* ---- uses ---------------------------------------------------------------------------------------------- */

static bool is_own_value(const struct bl_kir_check *c, const struct bl_kir_value *value)
{
    return value && value->id < c->func->value_count && c->values[value->id] == value;
}

/* A phi uses its operand at the end of the predecessor. */
static bool check_phi(struct bl_kir_check *c, const struct bl_kir_instr *phi)
{
    if (phi->operand_count != phi->block->preds.count)
        return bl_kir_broken(c, phi, "a phi has an operand for each predecessor");
    for (uint32_t k = 0; k < phi->operand_count; k++) {
        const struct bl_kir_instr *def = phi->operands[k]->def;
        uint32_t from = phi->block->preds.items[k]->id;
        if (phi->operands[k]->type != phi->results[0]->type)
            return bl_kir_broken(c, phi, "operand %u has not the type of the result", k);
        if (def && c->dom->idom[from] != UINT32_MAX && !bl_kir_dominates(c->dom, def->block->id, from))
            return bl_kir_broken(c, phi, "operand %u is not defined on every way to its edge", k);
    }
    return true;
}

static bool check_uses(struct bl_kir_check *c, const struct bl_kir_block *block)
{
    for (const struct bl_kir_instr *i = block->first; i; i = i->next) {
        for (uint32_t k = 0; k < i->operand_count; k++) {
            const struct bl_kir_instr *def;
            if (!is_own_value(c, i->operands[k]))
                return bl_kir_broken(c, i, "operand %u is no value of this function", k);
            def = i->operands[k]->def;
            if (!def || i->op == BL_KIR_OP_phi || c->dom->idom[block->id] == UINT32_MAX)
                continue;
            if (def->block == block ? !c->defined[def->results[0]->id] : !bl_kir_dominates(c->dom, def->block->id, block->id))
                return bl_kir_broken(c, i, "operand %u is not defined on every way here", k);
        }
        for (uint32_t r = 0; r < i->result_count; r++)
            c->defined[i->results[r]->id] = 1;
        if (!bl_kir_check_op(c, i) || (i->op == BL_KIR_OP_phi && !check_phi(c, i)))
            return false;
    }
    return true;
}

static bool check_body(struct bl_kir_check *c, struct bl_kir_func *func)
{
    c->values = BL_NEW_ARRAY(c->module->arena, const struct bl_kir_value *, func->value_count);
    c->defined = BL_NEW_ARRAY(c->module->arena, uint8_t, func->value_count);
    for (uint32_t p = 0; p < func->params.count; p++)
        if (!note_value(c, NULL, func->params.items[p]))
            return false;
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (!note_block(c, func->blocks.items[b], b))
            return false;
    if (!check_preds(c))
        return false;
    c->dom = bl_kir_dominators(func);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (!check_uses(c, func->blocks.items[b]))
            return false;
    return true;
}

static bool check_module(struct bl_kir_check *c)
{
    for (uint32_t s = 0; s < c->module->symbols.count; s++)
        if (!check_symbol(c, c->module->symbols.items[s]))
            return false;
    for (uint32_t f = 0; f < c->module->funcs.count; f++) {
        struct bl_kir_func *func = c->module->funcs.items[f];
        c->func = func;
        if (!func->name || func->module != c->module)
            return bl_kir_broken(c, NULL, "function %u has no name, or another module", f);
        if (!check_header(c, func) || (func->blocks.count && !check_body(c, func)))
            return false;
    }
    return true;
}

enum bl_status bl_kir_validate(const struct bl_kir_module *module, struct bl_error *error)
{
    struct bl_kir_check c = {.module = module, .error = error};
    jmp_buf *outer = module->arena->no_memory, here;
    bool good;

    module->arena->no_memory = &here;
    if (setjmp(here)) {
        module->arena->no_memory = outer;
        return bl_fail(error, BL_NO_MEMORY, "kir: out of memory");
    }
    good = check_module(&c);
    module->arena->no_memory = outer;
    return good ? BL_OK : BL_INVALID;
}
