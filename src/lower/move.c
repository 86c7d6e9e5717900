/* Moves and addresses: mov, cvta, isspacep, alloca, stacksave, stackrestore. */
#include "lower/internal.h"

/* mov, with vectors on either side packed or unpacked; a vector register moves part by part. */
bool bl_lower_mov(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_operand *d = &i->operands[0], *a = &i->operands[1];
    enum bl_kir_type type = bl_lower_type(i->types[0]);

    if (HAS(v2) || HAS(v4)) {
        uint32_t count = HAS(v2) ? 2 : 4;
        if (d->kind != BL_PTX_VECTOR || a->kind != BL_PTX_VECTOR || d->item_count != count || a->item_count != count)
            return false;
        for (uint32_t n = 0; n < count; n++)
            bl_lower_write(l, &d->items[n], bl_lower_read(l, &a->items[n], type), false);
        return true;
    }
    bl_lower_write(l, d, bl_lower_read(l, a, type), false);
    return true;
}

bool bl_lower_cvta(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_space space = bl_lower_space_of(i), own;
    const struct bl_ptx_operand *a = &i->operands[1];
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_attr attr = {0};
    struct bl_kir_value *value;

    /* a device function's parameters stand in local memory */
    if (space == BL_KIR_PARAM && !l->source->is_entry)
        space = BL_KIR_LOCAL;
    attr.space = (uint8_t)space;
    if (HAS(to)) {
        value = bl_lower_read(l, a, BL_KIR_I64);
        value = bl_lower_op(l, BL_KIR_OP_from_generic, &attr, BL_KIR_I64, value, NULL, NULL);
        if (space == BL_KIR_SHARED && l->clusters)
            value = bl_lower_to_window(l, bl_lower_resize(l, value, BL_KIR_I32, false));
    } else {
        if (a->kind == BL_PTX_SYMBOL && a->symbol->kind != BL_PTX_SYM_FUNC) {
            value = bl_lower_address_of(l, a->symbol, a->offset, &own);
            attr.space = (uint8_t)own;
        } else {
            value = bl_lower_read(l, a, bl_lower_register_type(a) == BL_KIR_I32 ? BL_KIR_I32 : BL_KIR_I64);
            if (value->type == BL_KIR_I32 && space != BL_KIR_SHARED && space != BL_KIR_LOCAL)
                value = bl_lower_resize(l, value, BL_KIR_I64, false);
            if (space == BL_KIR_SHARED && l->clusters)
                value = bl_lower_from_window(l, bl_lower_resize(l, value, BL_KIR_I32, false));
        }
        value = bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, value, NULL, NULL);
    }
    bl_lower_write(l, &i->operands[0], bl_lower_resize(l, value, type, false), false);
    return true;
}

/* Whether address lies in [start, start + size). */
static struct bl_kir_value *is_within(struct bl_lower *l, struct bl_kir_value *address, struct bl_kir_value *start, uint64_t size)
{
    struct bl_kir_value *distance = bl_lower_op(l, BL_KIR_OP_sub, NULL, BL_KIR_I64, address, start, NULL);
    return bl_lower_compare(l, BL_KIR_LO, distance, bl_lower_const(l, BL_KIR_I64, size));
}

/* Whether address lies in a .const variable of the module: a target need not tell const from global. */
static struct bl_kir_value *is_constant(struct bl_lower *l, struct bl_kir_value *address)
{
    struct bl_kir_value *any = bl_lower_const(l, BL_KIR_PRED, 0), *within;
    struct bl_kir_attr attr = {0};

    for (size_t s = 0; s < l->module->symbols.count; s++) {
        struct bl_kir_symbol *symbol = l->module->symbols.items[s];
        if (symbol->space != BL_KIR_CONST)
            continue;
        attr.symbol = symbol;
        within = is_within(l, address, bl_lower_op(l, BL_KIR_OP_addrof, &attr, BL_KIR_I64, NULL, NULL, NULL), symbol->size);
        any = bl_lower_op(l, BL_KIR_OP_or, NULL, BL_KIR_PRED, any, within, NULL);
    }
    return any;
}

bool bl_lower_isspacep(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.space = (uint8_t)bl_lower_space_of(i)};
    struct bl_kir_value *address = bl_lower_read(l, &i->operands[1], BL_KIR_I64), *value, *start;

    if (HAS(shared_cluster))
        return bl_lower_is_in_cluster(l, i);
    if (attr.space == BL_KIR_PARAM && !l->source->is_entry)
        return false; /* a function does not know where its kernel's parameters end */
    if (attr.space == BL_KIR_PARAM) {
        start = bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, bl_lower_const(l, BL_KIR_I64, 0), NULL, NULL);
        value = is_within(l, address, start, bl_ptx_param_offset(l->source, l->source->params.count));
    } else if (attr.space == BL_KIR_CONST) {
        value = is_constant(l, address);
    } else {
        value = bl_lower_op(l, BL_KIR_OP_isspacep, &attr, BL_KIR_PRED, address, NULL, NULL);
        if (attr.space == BL_KIR_GLOBAL) {
            start = bl_lower_op(l, BL_KIR_OP_not, NULL, BL_KIR_PRED, is_constant(l, address), NULL, NULL);
            value = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_PRED, value, start, NULL);
        }
    }
    bl_lower_write(l, &i->operands[0], value, false);
    return true;
}

/* alloca.u64 pointer, bytes, align */
bool bl_lower_alloca(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.align = 8};
    struct bl_kir_value *bytes = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[0]));

    if (i->operand_count > 2 && i->operands[2].kind == BL_PTX_INT)
        attr.align = (uint32_t)BL_MIN(BL_MAX(i->operands[2].bits, 1u), 4096u);
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_alloca, &attr, BL_KIR_I64, bytes, NULL, NULL), false);
    return true;
}

bool bl_lower_stacksave(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_stacksave, NULL, BL_KIR_I64, NULL, NULL, NULL), false);
    return true;
}

bool bl_lower_stackrestore(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *value = bl_lower_read(l, &i->operands[0], BL_KIR_I64);
    bl_kir_emit(&l->b, BL_KIR_OP_stackrestore, NULL, 0, NULL, 1, &value);
    return true;
}
