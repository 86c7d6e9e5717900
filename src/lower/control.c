/* Where control goes: bra, brx.idx, ret, exit, trap. They see their guards themselves. */
#include "lower/internal.h"

/* Where this instruction is guarded: opens a block that holding threads enter, and gives the one for the others. */
static struct bl_kir_block *enter(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return i->guard ? bl_lower_branch_around(l, i) : NULL;
}

static struct bl_kir_block *label_block(struct bl_lower *l, const struct bl_ptx_symbol *symbol)
{
    if (!symbol || symbol->kind != BL_PTX_SYM_LABEL || symbol->index >= l->source->label_count)
        return NULL;
    return l->labels[symbol->index];
}

bool bl_lower_bra(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_block *target = label_block(l, i->operands[0].symbol), *next;
    struct bl_kir_value *pred;

    if (!target)
        return false;
    if (!i->guard) {
        bl_kir_jump(&l->b, target);
        return true;
    }
    pred = bl_lower_guard(l, i);
    next = bl_kir_block_new(l->func, NULL);
    bl_kir_branch(&l->b, pred, i->guard_negated ? next : target, i->guard_negated ? target : next);
    bl_lower_start_block(l, next);
    return true;
}

bool bl_lower_brx(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_symbol *list = i->operand_count == 2 ? i->operands[1].symbol : NULL;
    struct bl_kir_block **targets, *after;
    struct bl_kir_value *index;

    if (!list || list->kind != BL_PTX_SYM_BRANCH_TARGETS || list->targets.count == 0)
        return false;
    targets = BL_NEW_ARRAY(l->arena, struct bl_kir_block *, list->targets.count);
    for (uint32_t t = 0; t < list->targets.count; t++)
        if (!(targets[t] = label_block(l, list->targets.items[t])))
            return false;
    after = enter(l, i);
    index = bl_lower_read32(l, &i->operands[0]);
    bl_kir_switch(&l->b, index, list->targets.count, targets);
    if (after)
        bl_lower_start_block(l, after);
    return true;
}

bool bl_lower_ret(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_block *after = enter(l, i);
    bl_lower_return(l);
    if (after)
        bl_lower_start_block(l, after);
    return true;
}

bool bl_lower_exit(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_block *after = enter(l, i);
    bl_kir_emit(&l->b, BL_KIR_OP_exit, NULL, 0, NULL, 0, NULL);
    if (after)
        bl_lower_start_block(l, after);
    return true;
}

bool bl_lower_trap(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_kir_emit(&l->b, BL_KIR_OP_trap, NULL, 0, NULL, 0, NULL);
    return true;
}

bool bl_lower_brkpt(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_kir_emit(&l->b, BL_KIR_OP_breakpoint, NULL, 0, NULL, 0, NULL);
    return true;
}
