/* tensormap: changes of tensor maps on the device (PTX ISA, 9.7.9.28 and 9.7.9.29), as stores into what the driver makes of a map
 * (device/tensor_map.h). What a map may hold is checked where it is used.
 */
#include "device/tensor_map.h"
#include "lower/internal.h"

enum {
    WHOLE_STRIDES = 85, /* PTX version; before, a stride is given without its four low bits (CUTLASS, for CUDA before 12.5) */
    NOT_A_VALUE = 255,
};

/* Where a field is stored, and how. */
struct field {
    size_t offset;
    uint32_t each, count; /* bytes from one dimension's to the next, dimensions; 0: one for all */
    enum bl_kir_type type;
    int add;
    const uint8_t *values; /* what is stored for an immediate */
    uint32_t value_count;
};

#define AT(name) .offset = offsetof(struct bl_tensor_map, name)
#define VALUES(list) .type = BL_KIR_I8, .values = list, .value_count = BL_LEN(list)

static bool find_field(const struct bl_ptx_instr *i, struct field *field)
{
    /* The numbers of the PTX ISA's table "Tensormap new_val validity". */
    static const uint8_t types[] = {BL_TENSOR_U8,   BL_TENSOR_U16,  BL_TENSOR_U32,     BL_TENSOR_S32,     BL_TENSOR_U64,
                                    BL_TENSOR_S64,  BL_TENSOR_F16,  BL_TENSOR_F32,     BL_TENSOR_F32_FTZ, BL_TENSOR_F64,
                                    BL_TENSOR_BF16, BL_TENSOR_TF32, BL_TENSOR_TF32_FTZ};
    static const uint8_t interleaves[] = {0, 1, 2}, swizzles[] = {0, 1, 2, 3}, fills[] = {0, 1};

    if (HAS(global_address))
        *field = (struct field){AT(base), .type = BL_KIR_I64};
    else if (HAS(rank))
        *field = (struct field){AT(dimensions), .type = BL_KIR_I8, .add = 1};
    else if (HAS(box_dim))
        *field = (struct field){AT(box_last), .each = 1, .count = BL_TENSOR_DIMENSIONS, .type = BL_KIR_I8, .add = -1};
    else if (HAS(global_dim))
        *field = (struct field){AT(last), .each = 4, .count = BL_TENSOR_DIMENSIONS, .type = BL_KIR_I32, .add = -1};
    else if (HAS(global_stride))
        *field = (struct field){AT(strides), .each = 8, .count = BL_TENSOR_DIMENSIONS - 1, .type = BL_KIR_I64};
    else if (HAS(element_stride))
        *field = (struct field){AT(steps), .each = 1, .count = BL_TENSOR_DIMENSIONS, .type = BL_KIR_I8};
    else if (HAS(elemtype))
        *field = (struct field){AT(type), VALUES(types)};
    else if (HAS(interleave_layout))
        *field = (struct field){AT(interleave), VALUES(interleaves)};
    else if (HAS(swizzle_mode))
        *field = (struct field){AT(swizzle), VALUES(swizzles)};
    else if (HAS(fill_mode))
        *field = (struct field){AT(nan_outside), VALUES(fills)};
    else
        return false;
    return true;
}

static struct bl_kir_value *new_value(struct bl_lower *l, const struct bl_ptx_operand *operand, const struct field *field)
{
    struct bl_kir_value *value;

    if (field->values) {
        if (operand->kind != BL_PTX_INT || operand->bits >= field->value_count)
            return NULL;
        return bl_lower_const(l, field->type, field->values[operand->bits]);
    }
    value = bl_lower_read(l, operand, field->type == BL_KIR_I64 ? BL_KIR_I64 : BL_KIR_I32);
    if (field->add)
        value = bl_lower_op(l, BL_KIR_OP_add, NULL, value->type, value,
                            bl_lower_const(l, value->type, (uint64_t)(int64_t)field->add), NULL);
    return bl_lower_resize(l, value, field->type, false);
}

/* tensormap.replace.tile.field [map], {dimension,} value */
static bool replace(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_lower_address address;
    struct bl_kir_value *operands[2];
    struct bl_kir_attr attr = {.vec = 1};
    struct field field;
    uint64_t dimension = 0;

    if (HAS(swizzle_atomicity))
        return i->operands[1].kind == BL_PTX_INT && i->operands[1].bits == 0; /* 16 bytes: all that there is */
    if (!find_field(i, &field) || i->operand_count < (field.count ? 3u : 2u) ||
        (HAS(global_stride) && l->ptx->version < WHOLE_STRIDES))
        return false;
    if (field.count) {
        dimension = i->operands[1].bits;
        if (i->operands[1].kind != BL_PTX_INT || dimension >= field.count)
            return false;
    }
    if (!bl_lower_address(l, &i->operands[0], bl_lower_space_of(i), false, &address) || address.kind != BL_LOWER_NOWHERE)
        return false;
    operands[0] = address.base;
    operands[1] = new_value(l, &i->operands[field.count ? 2 : 1], &field);
    attr.space = (uint8_t)address.space;
    attr.type = (uint8_t)field.type;
    attr.align = bl_kir_type_bits(field.type) / 8;
    attr.imm = (uint64_t)address.offset + field.offset + dimension * field.each;
    if (!operands[1])
        return false;
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
    return true;
}

bool bl_lower_tensormap(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return HAS(replace) ? replace(l, i) : bl_lower_copy_map(l, i);
}
