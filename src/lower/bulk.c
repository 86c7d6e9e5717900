/* Bulk copies and what counts its bytes at an mbarrier: cp.async.bulk, cp.reduce.async.bulk, their tensor forms, st.async,
 * red.async (PTX ISA, 9.7.9.25 and 9.7.9.27). All are done at once, which they may be at any time before their wait; commit and
 * wait then have nothing to do.
 */
#include "lower/internal.h"

enum { MOST_OPERANDS = 7, MAP_SIZE = 128 };

static struct bl_kir_value *generic_of(struct bl_lower *l, const struct bl_lower_address *address)
{
    struct bl_kir_attr attr = {.space = (uint8_t)address->space};
    struct bl_kir_value *base = address->base;

    if (address->offset)
        base =
            bl_lower_op(l, BL_KIR_OP_add, NULL, base->type, base, bl_lower_const(l, base->type, (uint64_t)address->offset), NULL);
    if (address->space == BL_KIR_GENERIC || address->space == BL_KIR_GLOBAL)
        return base;
    return bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, base, NULL, NULL);
}

static bool find(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_space space,
                 struct bl_lower_address *address)
{
    return bl_lower_address(l, operand, space, false, address) && address->kind == BL_LOWER_NOWHERE;
}

static struct bl_kir_value *emit_bulk(struct bl_lower *l, uint64_t code, uint32_t count, struct bl_kir_value **operands)
{
    static const enum bl_kir_type type = BL_KIR_I32;
    struct bl_kir_attr attr = {.imm = code};

    while (count < 3)
        operands[count++] = bl_lower_const(l, BL_KIR_I64, 0);
    return bl_kir_emit(&l->b, BL_KIR_OP_bulk, &attr, 1, &type, count, operands)->results[0];
}

/* ---- several destinations ------------------------------------------------------------------------------ */

struct bulk {
    uint64_t code;
    struct bl_kir_value *operands[MOST_OPERANDS]; /* the first one is where a load goes to */
    uint32_t count;
    struct bl_lower_address to, object; /* in shared memory */
    struct bl_kir_value *bytes;         /* transactions; NULL: what the op gives */
};

static void load_and_count(struct bl_lower *l, struct bulk *bulk)
{
    struct bl_kir_value *bytes;

    bulk->operands[0] = generic_of(l, &bulk->to);
    bytes = emit_bulk(l, bulk->code, bulk->count, bulk->operands);
    bl_lower_complete_tx(l, &bulk->object, bulk->bytes ? bulk->bytes : bytes);
}

static struct bl_lower_address in_cta(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *rank)
{
    struct bl_lower_address there = *address;
    struct bl_kir_value *at = bl_lower_resize(l, address->base, BL_KIR_I32, false);

    if (address->offset)
        at = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, at,
                         bl_lower_const(l, BL_KIR_I32, (uint64_t)address->offset & UINT32_MAX), NULL);
    there.base = bl_lower_op(l, BL_KIR_OP_map_rank, NULL, BL_KIR_I32, at, rank, NULL);
    there.offset = 0;
    return there;
}

/* .multicast::cluster: to the same place in each CTA of the mask, with the barrier object that stands there. */
static void load_for_several(struct bl_lower *l, struct bulk *bulk, struct bl_kir_value *mask)
{
    struct bl_kir_var *at = bl_kir_var_new(l->func, BL_KIR_I32, "cp.rank");
    struct bl_kir_block *head = bl_kir_block_new(l->func, NULL), *body = bl_kir_block_new(l->func, NULL);
    struct bl_kir_block *one = bl_kir_block_new(l->func, NULL), *next = bl_kir_block_new(l->func, NULL);
    struct bl_kir_block *done = bl_kir_block_new(l->func, NULL);
    struct bl_kir_value *rank, *bit;
    struct bulk there = *bulk;

    bl_kir_setvar(&l->b, at, bl_lower_const(l, BL_KIR_I32, 0));
    bl_kir_jump(&l->b, head);
    bl_lower_start_block(l, head);
    rank = bl_kir_getvar(&l->b, at);
    bl_kir_branch(&l->b, bl_lower_compare(l, BL_KIR_LO, rank, bl_lower_const(l, BL_KIR_I32, BL_KIR_CLUSTER_CTAS)), body, done);
    bl_lower_start_block(l, body);
    bit = bl_lower_op(l, BL_KIR_OP_lshr, NULL, BL_KIR_I32, mask, rank, NULL);
    bit = bl_lower_op(l, BL_KIR_OP_and, NULL, BL_KIR_I32, bit, bl_lower_const(l, BL_KIR_I32, 1), NULL);
    bl_kir_branch(&l->b, bl_lower_compare(l, BL_KIR_NE, bit, bl_lower_const(l, BL_KIR_I32, 0)), one, next);
    bl_lower_start_block(l, one);
    there.to = in_cta(l, &bulk->to, rank);
    there.object = in_cta(l, &bulk->object, rank);
    load_and_count(l, &there);
    bl_kir_jump(&l->b, next);
    bl_lower_start_block(l, next);
    bl_kir_setvar(&l->b, at, bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, rank, bl_lower_const(l, BL_KIR_I32, 1), NULL));
    bl_kir_jump(&l->b, head);
    bl_lower_start_block(l, done);
}

static bool finish_load(struct bl_lower *l, const struct bl_ptx_instr *i, struct bulk *bulk, uint32_t next)
{
    if (!HAS(multicast_cluster)) {
        load_and_count(l, bulk);
        return true;
    }
    if (next >= i->operand_count)
        return false;
    load_for_several(l, bulk, bl_lower_resize(l, bl_lower_read(l, &i->operands[next], BL_KIR_I16), BL_KIR_I32, false));
    return true;
}

/* ---- plain copies ------------------------------------------------------------------------------------------ */

/* [to], [from], bytes{, [object]}{, mask or cache policy}; a reduction has type and operation */
static bool bulk_copy(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool counted = HAS(mbarrier_complete_tx_bytes), from_global = counted && HAS(global);
    struct bulk bulk = {.code = BL_KIR_BULK(BL_KIR_BULK_COPY, 0, 0, 0), .count = 3};
    struct bl_lower_address from;
    enum bl_kir_atom atom;

    if (HAS(reduce)) {
        if (!bl_lower_atom_of(i, &atom))
            return false;
        bulk.code = BL_KIR_BULK(BL_KIR_BULK_REDUCE, atom, bl_lower_type(i->types[0]), 0);
    }
    if (i->operand_count < (counted ? 4 : 3) || !find(l, &i->operands[0], counted ? BL_KIR_SHARED : BL_KIR_GLOBAL, &bulk.to) ||
        !find(l, &i->operands[1], from_global ? BL_KIR_GLOBAL : BL_KIR_SHARED, &from))
        return false;
    bulk.operands[1] = generic_of(l, &from);
    bulk.bytes = bl_lower_read32(l, &i->operands[2]);
    bulk.operands[2] = bl_lower_resize(l, bulk.bytes, BL_KIR_I64, false);
    if (!HAS(reduce)) {
        const struct bl_ptx_operand *last = &i->operands[i->operand_count - 1];
        bulk.operands[bulk.count++] = HAS(cp_mask) ? bl_lower_resize(l, bl_lower_read(l, last, BL_KIR_I16), BL_KIR_I64, false)
                                                   : bl_lower_const(l, BL_KIR_I64, UINT16_MAX);
    }
    if (counted)
        return find(l, &i->operands[3], BL_KIR_SHARED, &bulk.object) && finish_load(l, i, &bulk, 4);
    bulk.operands[0] = generic_of(l, &bulk.to);
    emit_bulk(l, bulk.code, bulk.count, bulk.operands);
    return true;
}

/* tensormap.cp_fenceproxy [to], [from], 128: all lanes copy the same. */
bool bl_lower_copy_map(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bulk bulk = {.code = BL_KIR_BULK(BL_KIR_BULK_COPY, 0, 0, 0), .count = 4};
    struct bl_lower_address from;

    if (i->operand_count < 3 || !find(l, &i->operands[0], BL_KIR_GLOBAL, &bulk.to) ||
        !find(l, &i->operands[1], BL_KIR_SHARED, &from))
        return false;
    bulk.operands[0] = generic_of(l, &bulk.to);
    bulk.operands[1] = generic_of(l, &from);
    bulk.operands[2] = bl_lower_const(l, BL_KIR_I64, MAP_SIZE);
    bulk.operands[3] = bl_lower_const(l, BL_KIR_I64, UINT16_MAX);
    emit_bulk(l, bulk.code, bulk.count, bulk.operands);
    return true;
}

/* ---- tiles of tensors ---------------------------------------------------------------------------------------- */

/* [map, {coordinates}]: the map's address is generic. */
static bool add_place(struct bl_lower *l, struct bulk *bulk, const struct bl_ptx_operand *operand, uint32_t dimensions)
{
    const struct bl_ptx_operand *list;
    enum bl_kir_space space;

    if (operand->kind != BL_PTX_TEX_ADDRESS || operand->item_count != 2)
        return false;
    list = &operand->items[1];
    if (operand->items[0].kind == BL_PTX_SYMBOL) {
        struct bl_lower_address map = {.base = bl_lower_address_of(l, operand->items[0].symbol, operand->items[0].offset, &space)};
        map.space = space;
        bulk->operands[1] = generic_of(l, &map);
    } else {
        bulk->operands[1] = bl_lower_read(l, &operand->items[0], BL_KIR_I64);
    }
    if (list->kind != BL_PTX_VECTOR ? dimensions != 1 : list->item_count < dimensions)
        return false;
    for (uint32_t d = 0; d < dimensions; d++)
        bulk->operands[2 + d] =
            bl_lower_resize(l, bl_lower_read32(l, list->kind == BL_PTX_VECTOR ? &list->items[d] : list), BL_KIR_I64, true);
    bulk->count = 2 + dimensions;
    return true;
}

static bool bulk_tensor(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    static const enum bl_ptx_mod forms[] = {BL_PTX_MOD_1d, BL_PTX_MOD_2d, BL_PTX_MOD_3d, BL_PTX_MOD_4d, BL_PTX_MOD_5d};
    bool load = HAS(mbarrier_complete_tx_bytes);
    enum bl_kir_bulk_action action = load ? BL_KIR_BULK_TILE_LOAD : HAS(reduce) ? BL_KIR_BULK_TILE_REDUCE : BL_KIR_BULK_TILE_STORE;
    uint32_t dimensions = 0;
    struct bulk bulk = {0};
    enum bl_kir_atom atom = BL_KIR_ATOM_ADD;

    if (HAS(im2col) || HAS(im2col_w) || HAS(im2col_w_128) || HAS(im2col_no_offs) || HAS(tile_gather4) || HAS(tile_scatter4) ||
        HAS(cta_group_2))
        return false;
    while (dimensions < BL_LEN(forms) && !bl_ptx_has(i, forms[dimensions]))
        dimensions++;
    if (dimensions++ == BL_LEN(forms))
        return false;
    if (HAS(reduce)) /* the map has the type */
        atom = HAS(min)   ? BL_KIR_ATOM_MIN_S
               : HAS(max) ? BL_KIR_ATOM_MAX_S
               : HAS(inc) ? BL_KIR_ATOM_INC
               : HAS(dec) ? BL_KIR_ATOM_DEC
               : HAS(and) ? BL_KIR_ATOM_AND
               : HAS(or)  ? BL_KIR_ATOM_OR
               : HAS(xor) ? BL_KIR_ATOM_XOR
                          : BL_KIR_ATOM_ADD;
    bulk.code = BL_KIR_BULK(action, atom, 0, dimensions);
    if (i->operand_count < (load ? 3 : 2) || !add_place(l, &bulk, &i->operands[load ? 1 : 0], dimensions) ||
        !find(l, &i->operands[load ? 0 : 1], BL_KIR_SHARED, &bulk.to))
        return false;
    if (load)
        return find(l, &i->operands[2], BL_KIR_SHARED, &bulk.object) && finish_load(l, i, &bulk, 3);
    bulk.operands[0] = generic_of(l, &bulk.to);
    emit_bulk(l, bulk.code, bulk.count, bulk.operands);
    return true;
}

bool bl_lower_bulk(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    if (HAS(prefetch) || HAS(commit_group) || HAS(wait_group))
        return true;
    return HAS(tensor) ? bulk_tensor(l, i) : bulk_copy(l, i);
}

/* ---- st.async, red.async -------------------------------------------------------------------------------------- */

/* [a], value, [object] */
bool bl_lower_st_async(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_attr attr = {.type = (uint8_t)type, .space = BL_KIR_SHARED};
    struct bl_lower_address address, object;
    struct bl_kir_value *operands[5];
    uint32_t count = HAS(v4) ? 4 : HAS(v2) ? 2 : 1;
    enum bl_kir_atom atom;

    if (i->operand_count < 3 || type == BL_KIR_VOID || !find(l, &i->operands[0], BL_KIR_SHARED, &address) ||
        !find(l, &i->operands[2], BL_KIR_SHARED, &object))
        return false;
    if (count > 1 && (i->operands[1].kind != BL_PTX_VECTOR || i->operands[1].item_count != count))
        return false;
    operands[0] = address.base;
    attr.imm = (uint64_t)address.offset;
    attr.align = bl_kir_type_bits(type) / 8 * count;
    for (uint32_t n = 0; n < count; n++)
        operands[1 + n] = bl_lower_read(l, count > 1 ? &i->operands[1].items[n] : &i->operands[1], type);
    if (i->op == BL_PTX_OP_st) {
        attr.vec = (uint8_t)count;
        bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, count + 1, operands);
    } else {
        if (!bl_lower_atom_of(i, &atom))
            return false;
        attr.atom = (uint8_t)atom;
        attr.order = BL_KIR_RELAXED;
        attr.scope = BL_KIR_SCOPE_CLUSTER;
        bl_kir_emit(&l->b, BL_KIR_OP_reduce, &attr, 0, NULL, 2, operands);
    }
    bl_lower_complete_tx(l, &object, bl_lower_const(l, BL_KIR_I32, attr.align));
    return true;
}
