/* How affine values depend on their guards (struct bl_kir_divergence): by which factor. A load or store that finds its guard
 * broken needs it to say where each lane's address is. Needs divergence and f->values; gives their factors. */
#include "target/cpu/function.h"

static const struct bl_kir_value *guard_of(const struct bl_cg_func *f, const struct bl_kir_value *value)
{
    return f->divergence->shape[value->id] == BL_KIR_SHAPE_AFFINE ? f->divergence->guard[value->id] : NULL;
}

static int64_t factor_of(const struct bl_cg_func *f, const struct bl_kir_value *value)
{
    return guard_of(f, value) ? f->values[value->id].factor : 0;
}

static bool constant(const struct bl_kir_value *value, int64_t *number)
{
    if (!value->def || value->def->op != BL_KIR_OP_const)
        return false;
    *number = (int64_t)value->def->attr->imm;
    return true;
}

/* The factor of a result from those of the operands. */
static bool combine(const struct bl_cg_func *f, const struct bl_kir_instr *i, int64_t *factor)
{
    int64_t x = factor_of(f, i->operands[0]), y = i->operand_count > 1 ? factor_of(f, i->operands[1]) : 0, number;

    switch (i->op) {
    case BL_KIR_OP_add:
    case BL_KIR_OP_or: /* of bits that are zero in the other: the same as add */
    case BL_KIR_OP_xor:
        return !__builtin_add_overflow(x, y, factor);
    case BL_KIR_OP_sub:
        return !__builtin_sub_overflow(x, y, factor);
    case BL_KIR_OP_neg:
    case BL_KIR_OP_not:
        return !__builtin_sub_overflow(0, x, factor);
    case BL_KIR_OP_mul:
        if (constant(i->operands[1], &number))
            return !__builtin_mul_overflow(x, number, factor);
        return constant(i->operands[0], &number) && !__builtin_mul_overflow(y, number, factor);
    case BL_KIR_OP_shl:
        return constant(i->operands[1], &number) && number >= 0 && number < 62 &&
               !__builtin_mul_overflow(x, INT64_C(1) << number, factor);
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_bitcast:
    case BL_KIR_OP_to_generic:
    case BL_KIR_OP_from_generic:
        *factor = x;
        return true;
    case BL_KIR_OP_select:
        *factor = y;
        return y == factor_of(f, i->operands[2]);
    default:
        return false;
    }
}

/* Phis take the factor of what comes first; that the others agree is checked when all are known. */
static bool take_factor(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    const struct bl_kir_value *value = i->results[0], *guard = guard_of(f, value);
    struct bl_cg_value *v = &f->values[value->id];

    if (!guard)
        return true;
    if (guard == value) {
        v->factor = 1;
        return true;
    }
    if (i->op != BL_KIR_OP_phi)
        return combine(f, i, &v->factor);
    for (uint32_t o = 0; o < i->operand_count && !v->factor; o++)
        v->factor = factor_of(f, i->operands[o]);
    return v->factor != 0;
}

static bool check_phi(const struct bl_cg_func *f, const struct bl_kir_instr *phi)
{
    if (!guard_of(f, phi->results[0]))
        return true;
    for (uint32_t o = 0; o < phi->operand_count; o++)
        if (factor_of(f, phi->operands[o]) != f->values[phi->results[0]->id].factor)
            return false;
    return true;
}

bool bl_cg_find_factors(struct bl_cg_func *f)
{
    for (uint32_t o = 0; o < f->order.count; o++)
        for (struct bl_kir_instr *i = f->order.items[o]->first; i != f->order.items[o]->end; i = i->next)
            if (i->result_count == 1 && !take_factor(f, i))
                return false;
    for (uint32_t o = 0; o < f->order.count; o++)
        for (struct bl_kir_instr *i = f->order.items[o]->first; i && i->op == BL_KIR_OP_phi; i = i->next)
            if (!check_phi(f, i))
                return false;
    return true;
}
