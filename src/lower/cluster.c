/* The shared memory of other CTAs of a cluster: mapa, getctarank, and shared::cluster addresses (PTX ISA, 9.7.9.22 and 5.1.7.1).
 *
 * A 32-bit address of PTX's shared::cluster window is, here as there, the same for all CTAs of the cluster where it came from mapa:
 * 1 << 24, plus rank << 19, plus the place in that CTA's memory. Any other is a place in the own memory. In kir the others' memory
 * stands before and after the own (kir.h), so that accesses need to know nothing of it; it is changed over where PTX says
 * .shared::cluster, and at conversions from and to generic addresses.
 */
#include "lower/internal.h"

enum { WINDOW = 24 };

static struct bl_kir_value *number(struct bl_lower *l, uint32_t bits)
{
    return bl_lower_const(l, BL_KIR_I32, bits);
}

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *x, struct bl_kir_value *y)
{
    return bl_lower_op(l, op, NULL, x->type, x, y, NULL);
}

static struct bl_kir_value *sreg(struct bl_lower *l, enum bl_kir_sreg which)
{
    struct bl_kir_attr attr = {.sreg = (uint8_t)which};
    return bl_lower_op(l, BL_KIR_OP_sreg, &attr, BL_KIR_I32, NULL, NULL, NULL);
}

/* Where the own memory stands in the window, without its base. */
static struct bl_kir_value *own_start(struct bl_lower *l)
{
    return binary(l, BL_KIR_OP_shl, sreg(l, BL_KIR_SREG_CLUSTER_CTARANK), number(l, BL_KIR_CLUSTER_SHIFT));
}

void bl_lower_find_clusters(struct bl_lower *l)
{
    l->clusters = memmem(l->ptx->text.data, l->ptx->text.size, "mapa", 4) != NULL;
}

struct bl_kir_value *bl_lower_from_window(struct bl_lower *l, struct bl_kir_value *address)
{
    struct bl_kir_value *is = binary(l, BL_KIR_OP_lshr, address, number(l, WINDOW)), *other;

    is = bl_lower_compare(l, BL_KIR_EQ, is, number(l, 1));
    other = binary(l, BL_KIR_OP_sub, binary(l, BL_KIR_OP_and, address, number(l, (1u << WINDOW) - 1)), own_start(l));
    return bl_lower_select(l, is, other, address);
}

struct bl_kir_value *bl_lower_to_window(struct bl_lower *l, struct bl_kir_value *address)
{
    struct bl_kir_value *is = bl_lower_compare(l, BL_KIR_LO, address, number(l, 1u << BL_KIR_CLUSTER_SHIFT)), *other;

    other = binary(l, BL_KIR_OP_add, binary(l, BL_KIR_OP_add, address, own_start(l)), number(l, 1u << WINDOW));
    return bl_lower_select(l, is, address, other);
}

/* The generic address that an operand of a generic form gives, as an offset from the own memory. */
static struct bl_kir_value *offset_of(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    struct bl_kir_attr attr = {.space = BL_KIR_SHARED};
    struct bl_kir_value *value;
    enum bl_kir_space space;

    if (operand->kind == BL_PTX_SYMBOL && operand->symbol->kind != BL_PTX_SYM_REG) {
        value = bl_lower_address_of(l, operand->symbol, operand->offset, &space);
        if (space != BL_KIR_SHARED)
            return bl_lower_refuse(l, BL_KIR_I32, "an address outside shared memory");
        return bl_lower_resize(l, value, BL_KIR_I32, false);
    }
    value = bl_lower_read(l, operand, BL_KIR_I64);
    return bl_lower_resize(l, bl_lower_op(l, BL_KIR_OP_from_generic, &attr, BL_KIR_I64, value, NULL, NULL), BL_KIR_I32, false);
}

static struct bl_kir_value *offset_in_window(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    if (operand->kind == BL_PTX_SYMBOL && operand->symbol->kind != BL_PTX_SYM_REG)
        return offset_of(l, operand);
    return bl_lower_from_window(l,
                                bl_lower_resize(l, bl_lower_read(l, operand, bl_lower_register_type(operand)), BL_KIR_I32, false));
}

/* mapa{.shared::cluster}.type d, a, rank */
bool bl_lower_mapa(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool window = HAS(shared_cluster);
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_attr attr = {.space = BL_KIR_SHARED};
    struct bl_kir_value *at = window ? offset_in_window(l, &i->operands[1]) : offset_of(l, &i->operands[1]);

    at = bl_lower_op(l, BL_KIR_OP_map_rank, NULL, BL_KIR_I32, at, bl_lower_read32(l, &i->operands[2]), NULL);
    if (window)
        at = bl_lower_to_window(l, at);
    else if (type != BL_KIR_I64)
        return false; /* a generic address has 64 bits */
    else
        at = bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, at, NULL, NULL);
    bl_lower_write(l, &i->operands[0], bl_lower_resize(l, at, type, false), false);
    return true;
}

/* getctarank{.shared::cluster}.type d, a: the rank of the CTA in whose memory a is. */
bool bl_lower_getctarank(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *at = HAS(shared_cluster) ? offset_in_window(l, &i->operands[1]) : offset_of(l, &i->operands[1]);

    at = binary(l, BL_KIR_OP_ashr, at, number(l, BL_KIR_CLUSTER_SHIFT));
    at = binary(l, BL_KIR_OP_add, at, sreg(l, BL_KIR_SREG_CLUSTER_CTARANK));
    bl_lower_write(l, &i->operands[0], at, false);
    return true;
}

/* In the own memory, or in that of another CTA: of a cluster of several only. */
bool bl_lower_is_in_cluster(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.space = BL_KIR_SHARED};
    struct bl_kir_value *address = bl_lower_read(l, &i->operands[1], BL_KIR_I64), *own, *place, *size, *several;
    struct bl_kir_value *start = bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, number(l, 0), NULL, NULL);

    own = bl_lower_op(l, BL_KIR_OP_isspacep, &attr, BL_KIR_PRED, address, NULL, NULL);
    place = binary(l, BL_KIR_OP_sub, address, start);
    place = binary(l, BL_KIR_OP_add, place, bl_lower_resize(l, own_start(l), BL_KIR_I64, false));
    size = sreg(l, BL_KIR_SREG_CLUSTER_NCTARANK);
    several = bl_lower_compare(l, BL_KIR_HI, size, number(l, 1));
    size = binary(l, BL_KIR_OP_shl, bl_lower_resize(l, size, BL_KIR_I64, false), number(l, BL_KIR_CLUSTER_SHIFT));
    several = binary(l, BL_KIR_OP_and, several, bl_lower_compare(l, BL_KIR_LO, place, size));
    bl_lower_write(l, &i->operands[0], binary(l, BL_KIR_OP_or, own, several), false);
    return true;
}
