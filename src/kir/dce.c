/* Dead code: takes out ops that nobody uses and that have no effect, and blocks that nothing reaches. Needs SSA; keeps it. */
#include "kir/kir.h"

static bool is_root(const struct bl_kir_instr *instr)
{
    return bl_kir_ops[instr->op].flags & (BL_KIR_EFFECT | BL_KIR_TERM) ||
           (instr->op == BL_KIR_OP_load && instr->attr->order != BL_KIR_WEAK);
}

/* A value's definition is needed; its operands follow when it is taken from the stack. */
static void need(struct bl_kir_value *value, uint8_t *needed, struct bl_kir_instr **stack, uint32_t *depth)
{
    struct bl_kir_instr *def = value->def;
    if (!def || def->result_count == 0 || needed[def->results[0]->id])
        return;
    needed[def->results[0]->id] = 1;
    stack[(*depth)++] = def;
}

static void mark(struct bl_kir_func *func, uint8_t *needed, struct bl_kir_instr **stack)
{
    uint32_t depth = 0;

    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            if (!is_root(i))
                continue;
            if (i->result_count)
                needed[i->results[0]->id] = 1;
            for (uint32_t k = 0; k < i->operand_count; k++)
                need(i->operands[k], needed, stack, &depth);
            while (depth > 0) {
                struct bl_kir_instr *def = stack[--depth];
                for (uint32_t k = 0; k < def->operand_count; k++)
                    need(def->operands[k], needed, stack, &depth);
            }
        }
}

void bl_kir_dce(struct bl_kir_func *func)
{
    uint8_t *needed;
    struct bl_kir_instr **stack;

    if (func->blocks.count == 0)
        return;
    bl_kir_renumber(func);
    needed = BL_NEW_ARRAY(func->module->arena, uint8_t, func->value_count);
    stack = BL_NEW_ARRAY(func->module->arena, struct bl_kir_instr *, func->value_count);
    mark(func, needed, stack);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first, *next; i; i = next) {
            next = i->next;
            if (!is_root(i) && (i->result_count == 0 || !needed[i->results[0]->id]))
                bl_kir_remove(i);
        }
    bl_kir_renumber(func);
}
