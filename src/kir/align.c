/* Alignment: raises attr.align of loads and stores where the address is known to be a multiple of more. Needs SSA and preds up to
 * date; keeps both. Works on low bits that are zero: of symbols, frames and constants, through sums, products and phis. */
#include "kir/kir.h"

enum { MOST = 4 /* 16 bytes: what every target gives the start of a stack frame and of shared memory; no access asks for more */ };

struct align {
    struct bl_kir_func *func;
    uint8_t *zeros; /* by value id, at most MOST; starts there and falls */
};

static uint8_t zeros_of_number(uint64_t bits)
{
    return bits & ((1 << MOST) - 1) ? (uint8_t)__builtin_ctzll(bits) : MOST;
}

static uint8_t at_most(uint64_t zeros)
{
    return (uint8_t)BL_MIN(zeros, (uint64_t)MOST);
}

static uint8_t zeros_of_shift(const struct align *a, const struct bl_kir_instr *i)
{
    const struct bl_kir_instr *count = i->operands[1]->def;
    uint8_t x = a->zeros[i->operands[0]->id];
    return count && count->op == BL_KIR_OP_const ? at_most(x + BL_MIN(count->attr->imm, (uint64_t)MOST)) : x;
}

static uint8_t zeros_of_instr(const struct align *a, const struct bl_kir_instr *i)
{
    uint8_t x = i->operand_count > 0 ? a->zeros[i->operands[0]->id] : 0;
    uint8_t y = i->operand_count > 1 ? a->zeros[i->operands[1]->id] : 0;

    switch (i->op) {
    case BL_KIR_OP_const:
        return zeros_of_number(i->attr->imm);
    case BL_KIR_OP_addrof:
        return BL_MIN(i->attr->symbol->align ? zeros_of_number(i->attr->symbol->align) : 0, zeros_of_number(i->attr->imm));
    case BL_KIR_OP_frame:
        return BL_MIN(a->func->frame_align ? zeros_of_number(a->func->frame_align) : 0, zeros_of_number(i->attr->imm));
    case BL_KIR_OP_add:
    case BL_KIR_OP_sub:
        return i->attr->sat ? 0 : BL_MIN(x, y);
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
        return BL_MIN(x, y);
    case BL_KIR_OP_and:
        return BL_MAX(x, y);
    case BL_KIR_OP_mul:
        return at_most((uint64_t)x + y);
    case BL_KIR_OP_shl:
        return zeros_of_shift(a, i);
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_neg:
        return x;
    case BL_KIR_OP_select:
        return BL_MIN(y, a->zeros[i->operands[2]->id]);
    case BL_KIR_OP_phi:
        for (uint32_t k = 1; k < i->operand_count; k++)
            x = BL_MIN(x, a->zeros[i->operands[k]->id]);
        return x;
    default:
        return 0;
    }
}

static void find_zeros(struct align *a, const struct bl_kir_dom *dom)
{
    bool changed = true;

    while (changed) { /* loops of phis settle in a few rounds: a value falls at most MOST times */
        changed = false;
        for (uint32_t b = 0; b < dom->reachable_count; b++)
            for (struct bl_kir_instr *i = a->func->blocks.items[dom->rpo[b]]->first; i; i = i->next)
                for (uint32_t r = 0; r < i->result_count; r++) {
                    uint8_t *now = &a->zeros[i->results[r]->id];
                    uint8_t next = i->result_count == 1 && bl_kir_type_is_int(i->results[r]->type) ? zeros_of_instr(a, i) : 0;
                    changed = changed || next < *now;
                    *now = BL_MIN(*now, next);
                }
    }
}

void bl_kir_infer_align(struct bl_kir_func *func)
{
    struct align a = {.func = func};

    if (func->blocks.count == 0)
        return;
    a.zeros = BL_NEW_ARRAY(func->module->arena, uint8_t, func->value_count);
    memset(a.zeros, MOST, func->value_count);
    for (uint32_t p = 0; p < func->params.count; p++)
        a.zeros[func->params.items[p]->id] = 0;
    find_zeros(&a, bl_kir_dominators(func));
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            uint32_t known;
            if (i->op != BL_KIR_OP_load && i->op != BL_KIR_OP_store)
                continue;
            known = (uint32_t)1 << BL_MIN(a.zeros[i->operands[0]->id], zeros_of_number(i->attr->imm));
            i->attr->align = BL_MAX(i->attr->align, known);
        }
}
