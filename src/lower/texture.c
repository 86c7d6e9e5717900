/* Textures and surfaces by object handle (PTX ISA, 9.7.10 and 9.7.11): tex, tld4, txq, suld, sust, sured, suq. Everything but the
 * handle becomes 32-bit words. A module-scope .texref or .surfref, or a sampler beside the texture, is refused. */
#include "lower/internal.h"

enum { MOST_WORDS = 16 };

struct words {
    struct bl_kir_value *operands[1 + MOST_WORDS]; /* the handle first */
    uint32_t count;
};

static bool geometry_of(const struct bl_ptx_instr *i, enum bl_kir_image_geometry *geometry, uint32_t *layer, uint32_t *coordinates)
{
    static const struct {
        enum bl_ptx_mod mod;
        uint8_t layer, coordinates;
    } geometries[] = {
        [BL_KIR_IMAGE_1D] = {BL_PTX_MOD_1d, 0, 1},       [BL_KIR_IMAGE_2D] = {BL_PTX_MOD_2d, 0, 2},
        [BL_KIR_IMAGE_3D] = {BL_PTX_MOD_3d, 0, 3},       [BL_KIR_IMAGE_A1D] = {BL_PTX_MOD_a1d, 1, 1},
        [BL_KIR_IMAGE_A2D] = {BL_PTX_MOD_a2d, 1, 2},     [BL_KIR_IMAGE_CUBE] = {BL_PTX_MOD_cube, 0, 3},
        [BL_KIR_IMAGE_ACUBE] = {BL_PTX_MOD_acube, 1, 3},
    };
    for (uint32_t g = 0; g < BL_LEN(geometries); g++)
        if (bl_ptx_has(i, geometries[g].mod)) {
            *geometry = (enum bl_kir_image_geometry)g;
            *layer = geometries[g].layer;
            *coordinates = geometries[g].coordinates;
            return true;
        }
    return false;
}

static const struct bl_ptx_operand *item(const struct bl_ptx_operand *operand, uint32_t n)
{
    if (operand->kind == BL_PTX_VECTOR)
        return n < operand->item_count ? &operand->items[n] : NULL;
    return n == 0 ? operand : NULL;
}

/* The first `count` of a vector's items, 32 bits each. */
static bool add_words(struct bl_lower *l, struct words *words, const struct bl_ptx_operand *operand, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        const struct bl_ptx_operand *one = item(operand, n);
        if (!one || words->count > MOST_WORDS)
            return false;
        words->operands[words->count++] = bl_lower_read32(l, one);
    }
    return true;
}

/* [handle, {coordinates}] */
static bool add_place(struct bl_lower *l, struct words *words, const struct bl_ptx_operand *operand, uint32_t count)
{
    if (operand->kind != BL_PTX_TEX_ADDRESS || operand->item_count != 2 || bl_lower_register_type(&operand->items[0]) != BL_KIR_I64)
        return false;
    words->operands[0] = bl_lower_read(l, &operand->items[0], BL_KIR_I64);
    words->count = 1;
    return add_words(l, words, &operand->items[1], count);
}

static struct bl_kir_instr *emit(struct bl_lower *l, enum bl_kir_op op, uint64_t code, const struct words *words, uint32_t results)
{
    static const enum bl_kir_type types[4] = {BL_KIR_I32, BL_KIR_I32, BL_KIR_I32, BL_KIR_I32};
    struct bl_kir_attr attr = {.imm = code};
    return bl_kir_emit(&l->b, op, &attr, results, types, words->count, words->operands);
}

/* ---- textures ------------------------------------------------------------------------------------ */

static bool fetch(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_image_action action, uint32_t part)
{
    const struct bl_ptx_operand *to = &i->operands[0];
    enum bl_kir_image_geometry geometry;
    uint32_t layer, coordinates, more = action == BL_KIR_IMAGE_LEVEL ? 1 : action == BL_KIR_IMAGE_GRAD ? 2 : 0;
    struct words words;

    if (i->operand_count != 2 + more || to->kind != BL_PTX_VECTOR || to->item_count != 4)
        return false;
    if (!geometry_of(i, &geometry, &layer, &coordinates) || !add_place(l, &words, &i->operands[1], layer + coordinates))
        return false;
    for (uint32_t o = 0; o < more; o++)
        if (!add_words(l, &words, &i->operands[2 + o], action == BL_KIR_IMAGE_GRAD ? coordinates : 1))
            return false;
    bool as_int = !bl_lower_is_float(i->types[0]);
    struct bl_kir_instr *made =
        emit(l, BL_KIR_OP_texture, BL_KIR_IMAGE(action, geometry, as_int, part, 0, BL_KIR_IMAGE_TRAP), &words, 4);
    for (uint32_t r = 0; r < 4; r++)
        bl_lower_write(l, &to->items[r], made->results[r], false);
    return true;
}

bool bl_lower_tex(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool by_int = i->type_count == 2 && !bl_lower_is_float(i->types[1]);

    if (i->type_count != 2 || bl_lower_type(i->types[0]) == BL_KIR_F16 || bl_lower_type(i->types[0]) == BL_KIR_F16X2)
        return false;
    if (HAS(base) || HAS(2dms) || HAS(a2dms) || (by_int && (HAS(level) || HAS(grad))))
        return false;
    return fetch(l, i,
                 HAS(level)  ? BL_KIR_IMAGE_LEVEL
                 : HAS(grad) ? BL_KIR_IMAGE_GRAD
                 : by_int    ? BL_KIR_IMAGE_FETCH_INT
                             : BL_KIR_IMAGE_FETCH,
                 0);
}

bool bl_lower_tld4(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return fetch(l, i, BL_KIR_IMAGE_GATHER, HAS(r) ? 0 : HAS(g) ? 1 : HAS(b) ? 2 : 3);
}

/* ---- surfaces ------------------------------------------------------------------------------------- */

static enum bl_kir_image_outside outside_of(const struct bl_ptx_instr *i)
{
    return HAS(trap) ? BL_KIR_IMAGE_TRAP : HAS(clamp) ? BL_KIR_IMAGE_CLAMP : BL_KIR_IMAGE_ZERO;
}

/* Elements narrower than a word have a word each: the target is told their bytes. */
static bool surface(struct bl_lower *l, const struct bl_ptx_instr *i, bool store)
{
    const struct bl_ptx_operand *place = &i->operands[store ? 0 : 1], *data = &i->operands[store ? 1 : 0];
    enum bl_kir_type type = i->type_count == 1 ? bl_lower_type(i->types[0]) : BL_KIR_VOID;
    uint32_t layer, coordinates, bytes = bl_kir_type_bits(type) / 8, count = HAS(v4) ? 4 : HAS(v2) ? 2 : 1;
    enum bl_kir_image_geometry geometry;
    struct words words;

    if (i->operand_count != 2 || !HAS(b) || !bytes || bytes * count > 16)
        return false;
    if (!geometry_of(i, &geometry, &layer, &coordinates) || !add_place(l, &words, place, layer + coordinates))
        return false;
    uint32_t each = BL_MAX(bytes / 4, 1u);
    for (uint32_t n = 0; store && n < count; n++) {
        const struct bl_ptx_operand *one = item(data, n);
        struct bl_kir_value *value = one ? bl_lower_read(l, one, bl_kir_type_int(bytes * 8)) : NULL;
        if (!value)
            return false;
        struct bl_kir_instr *halves = bytes == 8 ? bl_lower_unpack(l, value, BL_KIR_I32) : NULL;
        for (uint32_t h = 0; h < each; h++)
            words.operands[words.count++] = halves ? halves->results[h] : bl_lower_resize(l, value, BL_KIR_I32, false);
    }
    uint64_t code = BL_KIR_IMAGE(store ? BL_KIR_IMAGE_STORE : BL_KIR_IMAGE_LOAD, geometry, true, count, bytes, outside_of(i));
    struct bl_kir_instr *made = emit(l, BL_KIR_OP_surface, code, &words, store ? 0 : count * each);
    for (uint32_t n = 0; !store && n < count; n++) {
        const struct bl_ptx_operand *one = item(data, n);
        struct bl_kir_value *value = made->results[n * each];
        if (!one)
            return false;
        if (bytes == 8)
            value = bl_lower_pack(l, BL_KIR_I64, 2, &made->results[n * 2]);
        else
            value = bl_lower_resize(l, value, bl_kir_type_int(bytes * 8), false);
        bl_lower_write(l, one, value, false);
    }
    return true;
}

bool bl_lower_suld(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return surface(l, i, false);
}

bool bl_lower_sust(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return surface(l, i, true);
}

/* sured.b: x in bytes; the type says how min and max compare. sured.p is refused: it depends on the surface's format. */
bool bl_lower_sured(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = bl_lower_is_signed(i->types[0]);
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    enum bl_kir_image_geometry geometry;
    enum bl_kir_image_reduction reduction;
    uint32_t layer, coordinates;
    struct words words;
    struct bl_kir_instr *halves;

    if (i->operand_count != 2 || !HAS(b) || !geometry_of(i, &geometry, &layer, &coordinates))
        return false;
    if (!add_place(l, &words, &i->operands[0], layer + coordinates))
        return false;
    reduction = HAS(add)   ? BL_KIR_IMAGE_ADD
                : HAS(min) ? (sign ? BL_KIR_IMAGE_MIN_S : BL_KIR_IMAGE_MIN_U)
                : HAS(max) ? (sign ? BL_KIR_IMAGE_MAX_S : BL_KIR_IMAGE_MAX_U)
                : HAS(and) ? BL_KIR_IMAGE_AND
                           : BL_KIR_IMAGE_OR;
    halves = type == BL_KIR_I64 ? bl_lower_unpack(l, bl_lower_read(l, &i->operands[1], type), BL_KIR_I32) : NULL;
    words.operands[words.count++] = halves ? halves->results[0] : bl_lower_read32(l, &i->operands[1]);
    if (halves)
        words.operands[words.count++] = halves->results[1];
    emit(l, BL_KIR_OP_surface,
         BL_KIR_IMAGE(BL_KIR_IMAGE_REDUCE, geometry, true, reduction, bl_kir_type_bits(type) / 8, outside_of(i)), &words, 0);
    return true;
}

/* ---- queries ---------------------------------------------------------------------------------------- */

/* txq{.level}.property.b32 d, [handle]{, level} and suq.property.b32 d, [handle] */
static bool query(struct bl_lower *l, const struct bl_ptx_instr *i, bool surface)
{
    static const struct {
        enum bl_ptx_mod mod;
        enum bl_kir_image_property property;
    } properties[] = {
        {BL_PTX_MOD_width, BL_KIR_IMAGE_WIDTH},
        {BL_PTX_MOD_height, BL_KIR_IMAGE_HEIGHT},
        {BL_PTX_MOD_depth, BL_KIR_IMAGE_DEPTH},
        {BL_PTX_MOD_array_size, BL_KIR_IMAGE_LAYERS},
        {BL_PTX_MOD_num_mipmap_levels, BL_KIR_IMAGE_LEVELS},
        {BL_PTX_MOD_normalized_coords, BL_KIR_IMAGE_NORMALIZED},
    };
    const struct bl_ptx_operand *handle = &i->operands[1];
    enum bl_kir_image_action action = surface ? BL_KIR_IMAGE_SURFACE_QUERY : BL_KIR_IMAGE_QUERY;
    struct words words = {.count = 1};
    struct bl_kir_instr *made;
    uint64_t code;

    if (handle->kind != BL_PTX_ADDRESS || !handle->symbol || handle->offset || handle->symbol->kind != BL_PTX_SYM_REG)
        return false;
    struct bl_ptx_operand base = {.kind = BL_PTX_REG_OPERAND, .symbol = handle->symbol, .loc = handle->loc};
    words.operands[0] = bl_lower_read(l, &base, BL_KIR_I64);
    words.operands[words.count++] = HAS(level) ? bl_lower_read32(l, &i->operands[2]) : bl_lower_const(l, BL_KIR_I32, 0);
    for (uint32_t p = 0; p < BL_LEN(properties); p++) {
        if (!bl_ptx_has(i, properties[p].mod))
            continue;
        code = BL_KIR_IMAGE(action, BL_KIR_IMAGE_1D, true, properties[p].property, 4, BL_KIR_IMAGE_ZERO);
        made = emit(l, surface ? BL_KIR_OP_surface : BL_KIR_OP_texture, code, &words, surface ? 1 : 4);
        bl_lower_write(l, &i->operands[0], made->results[0], false);
        return true;
    }
    return false;
}

bool bl_lower_txq(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return query(l, i, false);
}

bool bl_lower_suq(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return query(l, i, true);
}
