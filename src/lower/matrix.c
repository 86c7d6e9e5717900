/* Matrices of a warp (PTX ISA, 9.7.14): mma, wmma, ldmatrix, stmatrix, movmatrix. Multiplications become the op `matrix`; what only
 * moves becomes loads, stores and shuffles. A lane has a group (lane / 4) and a place in it (lane % 4). Where the document leaves
 * the elements of a wmma fragment open they lie as on an H200 (measured: tests/ptx/record_matrix.py). */
#include "lower/internal.h"

enum { MOST_WORDS = 40 };

struct shape {
    uint32_t m, n, k;
};

static bool shape_of(const struct bl_ptx_instr *i, struct shape *shape)
{
    static const struct {
        enum bl_ptx_mod mod;
        struct shape shape;
    } shapes[] = {
        {BL_PTX_MOD_m8n8k4, {8, 8, 4}},     {BL_PTX_MOD_m8n8k16, {8, 8, 16}},     {BL_PTX_MOD_m8n8k32, {8, 8, 32}},
        {BL_PTX_MOD_m8n8k128, {8, 8, 128}}, {BL_PTX_MOD_m8n32k16, {8, 32, 16}},   {BL_PTX_MOD_m32n8k16, {32, 8, 16}},
        {BL_PTX_MOD_m16n16k8, {16, 16, 8}}, {BL_PTX_MOD_m16n16k16, {16, 16, 16}}, {BL_PTX_MOD_m16n8k4, {16, 8, 4}},
        {BL_PTX_MOD_m16n8k8, {16, 8, 8}},   {BL_PTX_MOD_m16n8k16, {16, 8, 16}},   {BL_PTX_MOD_m16n8k32, {16, 8, 32}},
        {BL_PTX_MOD_m16n8k64, {16, 8, 64}}, {BL_PTX_MOD_m16n8k128, {16, 8, 128}}, {BL_PTX_MOD_m16n8k256, {16, 8, 256}},
    };
    for (uint32_t s = 0; s < BL_LEN(shapes); s++)
        if (bl_ptx_has(i, shapes[s].mod)) {
            *shape = shapes[s].shape;
            return true;
        }
    return false;
}

static enum bl_kir_matrix_type type_of(enum bl_ptx_type type)
{
    switch (type) {
    case BL_PTX_F16:
        return BL_KIR_MATRIX_F16;
    case BL_PTX_BF16:
        return BL_KIR_MATRIX_BF16;
    case BL_PTX_TF32:
        return BL_KIR_MATRIX_TF32;
    case BL_PTX_E4M3:
        return BL_KIR_MATRIX_E4M3;
    case BL_PTX_E5M2:
        return BL_KIR_MATRIX_E5M2;
    case BL_PTX_S8:
        return BL_KIR_MATRIX_S8;
    case BL_PTX_U8:
        return BL_KIR_MATRIX_U8;
    case BL_PTX_S4:
        return BL_KIR_MATRIX_S4;
    case BL_PTX_U4:
        return BL_KIR_MATRIX_U4;
    case BL_PTX_B1:
        return BL_KIR_MATRIX_B1;
    case BL_PTX_F64:
        return BL_KIR_MATRIX_F64;
    case BL_PTX_F32:
        return BL_KIR_MATRIX_F32;
    case BL_PTX_S32:
        return BL_KIR_MATRIX_S32;
    default:
        return BL_KIR_MATRIX_TYPES; /* fp6, fp4 and scales, for sm_100 and later */
    }
}

static uint32_t bits_of(enum bl_kir_matrix_type type)
{
    static const uint8_t bits[BL_KIR_MATRIX_TYPES] = {
        [BL_KIR_MATRIX_F16] = 16, [BL_KIR_MATRIX_BF16] = 16, [BL_KIR_MATRIX_TF32] = 32, [BL_KIR_MATRIX_E4M3] = 8,
        [BL_KIR_MATRIX_E5M2] = 8, [BL_KIR_MATRIX_S8] = 8,    [BL_KIR_MATRIX_U8] = 8,    [BL_KIR_MATRIX_S4] = 4,
        [BL_KIR_MATRIX_U4] = 4,   [BL_KIR_MATRIX_B1] = 1,    [BL_KIR_MATRIX_F64] = 64,  [BL_KIR_MATRIX_F32] = 32,
        [BL_KIR_MATRIX_S32] = 32};
    return bits[type];
}

/* ---- small numbers of lanes -------------------------------------------------------------------------- */

static struct bl_kir_value *with_constant(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *x, uint64_t number)
{
    enum bl_kir_type type = op == BL_KIR_OP_shl || op == BL_KIR_OP_lshr ? BL_KIR_I32 : x->type;
    return bl_lower_op(l, op, NULL, x->type, x, bl_lower_const(l, type, number), NULL);
}

static struct bl_kir_value *lane_number(struct bl_lower *l)
{
    struct bl_kir_attr attr = {.sreg = BL_KIR_SREG_LANEID};
    return bl_lower_op(l, BL_KIR_OP_sreg, &attr, BL_KIR_I32, NULL, NULL, NULL);
}

static struct bl_kir_value *group_of(struct bl_lower *l)
{
    return with_constant(l, BL_KIR_OP_lshr, lane_number(l), 2);
}

static struct bl_kir_value *place_of(struct bl_lower *l)
{
    return with_constant(l, BL_KIR_OP_and, lane_number(l), 3);
}

/* value of the lane that `source` says. */
static struct bl_kir_value *from_lane(struct bl_lower *l, struct bl_kir_value *value, struct bl_kir_value *source)
{
    static const enum bl_kir_type types[2] = {BL_KIR_I32, BL_KIR_PRED};
    struct bl_kir_attr attr = {.shfl = BL_KIR_SHFL_IDX};
    struct bl_kir_value *operands[4] = {value, source, bl_lower_const(l, BL_KIR_I32, 31),
                                        bl_lower_const(l, BL_KIR_I32, UINT32_MAX)};
    return bl_kir_emit(&l->b, BL_KIR_OP_shfl, &attr, 2, types, 4, operands)->results[0];
}

/* ---- registers of an operand ---------------------------------------------------------------------------- */

static uint32_t item_count(const struct bl_ptx_operand *operand)
{
    return operand->kind == BL_PTX_VECTOR ? operand->item_count : 1;
}

static const struct bl_ptx_operand *item(const struct bl_ptx_operand *operand, uint32_t n)
{
    return operand->kind == BL_PTX_VECTOR ? &operand->items[n] : operand;
}

struct words {
    struct bl_kir_value *values[MOST_WORDS];
    uint32_t count;
};

/* All registers of an operand, a 64-bit one as two words. */
static bool read_words(struct bl_lower *l, const struct bl_ptx_operand *operand, bool wide, struct words *words)
{
    for (uint32_t n = 0; n < item_count(operand); n++) {
        if (words->count + 2 > MOST_WORDS)
            return false;
        if (wide) {
            struct bl_kir_value *value = bl_lower_read(l, item(operand, n), BL_KIR_I64);
            struct bl_kir_instr *halves = bl_lower_unpack(l, value, BL_KIR_I32);
            words->values[words->count++] = halves->results[0];
            words->values[words->count++] = halves->results[1];
        } else {
            words->values[words->count++] = bl_lower_read32(l, item(operand, n));
        }
    }
    return true;
}

static bool write_words(struct bl_lower *l, const struct bl_ptx_operand *operand, bool wide, struct bl_kir_value *const *values,
                        uint32_t count)
{
    if (count != item_count(operand) * (wide ? 2 : 1))
        return false;
    for (uint32_t n = 0; n < item_count(operand); n++)
        bl_lower_write(l, item(operand, n), wide ? bl_lower_pack(l, BL_KIR_I64, 2, &values[n * 2]) : values[n], false);
    return true;
}

/* ---- multiplication ---------------------------------------------------------------------------------------- */

struct product {
    enum bl_kir_matrix_type d, a, b, c;
    uint32_t k, flags, selector;
    enum bl_kir_round round;
};

static uint32_t words_of(uint32_t elements, enum bl_kir_matrix_type type)
{
    return elements * bits_of(type) / 1024;
}

/* Appends the words of D to `out`. */
static bool multiply(struct bl_lower *l, const struct product *p, const struct words *in, struct words *out)
{
    enum bl_kir_type types[MOST_WORDS];
    uint32_t rows = p->flags & BL_KIR_MATRIX_M16 ? 16 : 8, count = words_of(rows * 8, p->d);
    struct bl_kir_attr attr = {.imm = BL_KIR_MATRIX(p->d, p->a, p->b, p->c, p->k, p->flags, p->selector, p->round)};

    if (p->flags & BL_KIR_MATRIX_QUADS)
        count = p->d == BL_KIR_MATRIX_F16 ? 4 : 8;
    if (out->count + count > MOST_WORDS)
        return false;
    for (uint32_t n = 0; n < MOST_WORDS; n++)
        types[n] = BL_KIR_I32;
    struct bl_kir_instr *made = bl_kir_emit(&l->b, BL_KIR_OP_matrix, &attr, count, types, in->count, in->values);
    for (uint32_t n = 0; n < count; n++)
        out->values[out->count++] = made->results[n];
    return true;
}

static uint32_t common_flags(const struct bl_ptx_instr *i)
{
    return (HAS(satfinite) ? BL_KIR_MATRIX_SATURATE : 0) | (HAS(and) ? BL_KIR_MATRIX_AND : 0);
}

/* Whether the n-th of the words row and col is col. */
static bool is_column(const struct bl_ptx_instr *i, uint32_t n)
{
    for (uint32_t m = 0; m < i->mod_count; m++)
        if ((i->mods[m] == BL_PTX_MOD_row || i->mods[m] == BL_PTX_MOD_col) && n-- == 0)
            return i->mods[m] == BL_PTX_MOD_col;
    return false;
}

bool bl_lower_mma(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct words in = {.count = 0}, out = {.count = 0};
    bool sparse = HAS(sp) || HAS(sp_ordered_metadata);
    struct product p;
    struct shape shape;

    if (i->type_count != 4 || i->operand_count != (sparse ? 6 : 4) || !shape_of(i, &shape) || shape.n != 8 || HAS(kind_f8f6f4))
        return false;
    p = (struct product){type_of(i->types[0]),
                         type_of(i->types[1]),
                         type_of(i->types[2]),
                         type_of(i->types[3]),
                         shape.k,
                         common_flags(i),
                         0,
                         BL_KIR_RN};
    if (p.d == BL_KIR_MATRIX_TYPES || p.a == BL_KIR_MATRIX_TYPES || p.b == BL_KIR_MATRIX_TYPES || p.c == BL_KIR_MATRIX_TYPES)
        return false;
    bool wide = p.a == BL_KIR_MATRIX_F64;
    p.flags |= (shape.m == 16 ? BL_KIR_MATRIX_M16 : 0) | (sparse ? BL_KIR_MATRIX_SPARSE : 0);
    if (shape.m == 8 && p.a == BL_KIR_MATRIX_F16)
        p.flags |=
            BL_KIR_MATRIX_QUADS | (is_column(i, 0) ? BL_KIR_MATRIX_A_COLUMN : 0) | (is_column(i, 1) ? BL_KIR_MATRIX_B_COLUMN : 0);
    for (uint32_t o = 1; o < (sparse ? 5 : 4); o++)
        if (!read_words(l, &i->operands[o], wide, &in))
            return false;
    if (sparse)
        p.selector = (uint32_t)i->operands[5].bits & 3;
    return multiply(l, &p, &in, &out) && write_words(l, &i->operands[0], wide, out.values, out.count);
}

/* ---- wmma: fragments ------------------------------------------------------------------------------------------ */

struct fragment {
    char part; /* a, b, c (or d) */
    struct shape shape;
    enum bl_kir_matrix_type type;
    bool group_is_row; /* a lane's group is its row, its place its column; else the other way round */
    uint32_t unique;   /* registers after which the same elements come again */
};

static bool fragment_of(const struct bl_ptx_instr *i, char part, enum bl_ptx_type type, struct fragment *f)
{
    *f = (struct fragment){.part = part, .type = type_of(type)};
    if (!shape_of(i, &f->shape) || f->type == BL_KIR_MATRIX_TYPES)
        return false;
    uint32_t elements = part == 'a' ? f->shape.m * f->shape.k : part == 'b' ? f->shape.n * f->shape.k : f->shape.m * f->shape.n;
    f->group_is_row = part == 'a' || (part != 'b' && f->shape.n != 32);
    f->unique = BL_MAX(elements * bits_of(f->type) / 1024, 1u);
    if (f->type == BL_KIR_MATRIX_F64)
        f->unique /= 2; /* registers, not words */
    return true;
}

/* Register w begins at group + *group, place * *scale + *place; its elements follow in the second direction. */
static void position(const struct fragment *f, uint32_t w, uint32_t *group, uint32_t *place, uint32_t *scale)
{
    uint32_t bits = bits_of(f->type), each = bits < 32 ? 32 / bits : 1, across = f->part == 'a' ? f->shape.m : f->shape.n;

    w %= f->unique;
    if (f->part == 'a' || f->part == 'b') {
        /* 16 rows of A go in pairs of registers 8 rows apart, and so do 32 columns of B; 16 columns of B in two halves */
        uint32_t block = across == 8 || (f->part == 'b' && across == 16) ? 8 : 16, words = f->unique * block / across;
        uint32_t in_block = w % words;
        *group = w / words * block + (block == 16 ? in_block % 2 * 8 : 0);
        *place = (block == 16 ? in_block / 2 : in_block) * 4 * each;
        *scale = each;
        return;
    }
    uint32_t pair = f->type == BL_KIR_MATRIX_F16 ? w : w / 2;
    bool square = f->shape.m == 16 && f->shape.n == 16;
    *group = square ? pair % 2 * 8 : pair * 8;
    *place = (square ? pair / 2 * 8 : 0) + (f->type == BL_KIR_MATRIX_F16 ? 0 : w % 2);
    *scale = 2;
}

struct access {
    struct fragment fragment;
    struct bl_lower_address address;
    struct bl_kir_value *group_offset, *place_offset, *stride; /* bytes: of this lane, and of a step in the major direction */
    bool group_is_major;
};

/* operand: the address; stride: in elements, or NULL. */
static bool begin_access(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_ptx_operand *operand,
                         const struct bl_ptx_operand *stride, struct access *a)
{
    const struct fragment *f = &a->fragment;
    uint32_t bits = bits_of(f->type), group, place, scale;
    uint32_t rows = f->part == 'b' ? f->shape.k : f->shape.m, columns = f->part == 'a' ? f->shape.k : f->shape.n;
    bool column = is_column(i, 0);

    if (!bl_lower_address(l, operand, bl_lower_space_of(i), false, &a->address) || a->address.kind != BL_LOWER_NOWHERE)
        return false;
    a->group_is_major = f->group_is_row != column;
    if (bits < 8 && !a->group_is_major)
        return false; /* parts of bytes go along the rows of A and the columns of B only */
    position(f, 0, &group, &place, &scale);
    enum bl_kir_type type = a->address.base->type;
    a->stride = stride ? bl_lower_read32(l, stride) : bl_lower_const(l, BL_KIR_I32, column ? rows : columns);
    a->stride = bl_lower_resize(l, a->stride, type, false);
    if (bits < 8)
        a->stride = with_constant(l, BL_KIR_OP_lshr, a->stride, bits == 4 ? 1 : 3);
    else
        a->stride = with_constant(l, BL_KIR_OP_mul, a->stride, bits / 8);
    struct bl_kir_value *g = bl_lower_resize(l, group_of(l), type, false);
    struct bl_kir_value *p = bl_lower_resize(l, with_constant(l, BL_KIR_OP_mul, place_of(l), scale), type, false);
    struct bl_kir_value **major = a->group_is_major ? &g : &p, **minor = a->group_is_major ? &p : &g;
    *major = bl_lower_op(l, BL_KIR_OP_mul, NULL, type, *major, a->stride, NULL);
    *minor =
        bits < 8 ? with_constant(l, BL_KIR_OP_lshr, *minor, bits == 4 ? 1 : 3) : with_constant(l, BL_KIR_OP_mul, *minor, bits / 8);
    a->address.base = bl_lower_op(l, BL_KIR_OP_add, NULL, type, a->address.base, g, NULL);
    a->address.base = bl_lower_op(l, BL_KIR_OP_add, NULL, type, a->address.base, p, NULL);
    return true;
}

/* The address of element `element` of register w, and attributes for `size` bytes there. */
static struct bl_kir_value *element_address(struct bl_lower *l, const struct access *a, uint32_t w, uint32_t element, uint32_t size,
                                            struct bl_kir_attr *attr)
{
    uint32_t group, place, scale, bits = bits_of(a->fragment.type);
    position(&a->fragment, w, &group, &place, &scale);
    place += element;
    uint32_t major = a->group_is_major ? group : place, minor = a->group_is_major ? place : group;
    *attr = (struct bl_kir_attr){
        .type = (uint8_t)bl_kir_type_int(size * 8), .vec = 1, .space = (uint8_t)a->address.space, .align = size};
    attr->imm = (uint64_t)(a->address.offset + (int64_t)minor * bits / 8);
    if (!major)
        return a->address.base;
    struct bl_kir_value *step = with_constant(l, BL_KIR_OP_mul, a->stride, major);
    return bl_lower_op(l, BL_KIR_OP_add, NULL, step->type, a->address.base, step, NULL);
}

/* Elements that one access moves: a whole register where they lie side by side. */
static uint32_t accesses_of(const struct access *a, uint32_t *size)
{
    uint32_t bits = bits_of(a->fragment.type);
    bool whole = bits >= 32 || a->group_is_major;
    *size = bits == 64 ? 8 : whole ? 4 : bits / 8;
    return whole ? 1 : 32 / bits;
}

static struct bl_kir_value *load_register(struct bl_lower *l, const struct access *a, uint32_t w)
{
    struct bl_kir_value *parts[4];
    uint32_t size, count = accesses_of(a, &size);
    for (uint32_t n = 0; n < count; n++) {
        struct bl_kir_attr attr;
        struct bl_kir_value *at = element_address(l, a, w, n, size, &attr);
        parts[n] = bl_lower_op(l, BL_KIR_OP_load, &attr, attr.type, at, NULL, NULL);
    }
    return count == 1 ? parts[0] : bl_lower_pack(l, BL_KIR_I32, count, parts);
}

static void store_register(struct bl_lower *l, const struct access *a, uint32_t w, struct bl_kir_value *value)
{
    uint32_t size, count = accesses_of(a, &size);
    struct bl_kir_instr *parts = count > 1 ? bl_lower_unpack(l, value, bl_kir_type_int(size * 8)) : NULL;
    for (uint32_t n = 0; n < count; n++) {
        struct bl_kir_attr attr;
        struct bl_kir_value *operands[2] = {element_address(l, a, w, n, size, &attr), parts ? parts->results[n] : value};
        bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
    }
}

static bool wmma_load(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    char part = HAS(a) ? 'a' : HAS(b) ? 'b' : 'c';
    const struct bl_ptx_operand *to = &i->operands[0];
    struct bl_kir_value *values[8];
    struct access a;

    if (i->operand_count < 2 || !fragment_of(i, part, i->types[0], &a.fragment) || item_count(to) > 8 ||
        !begin_access(l, i, &i->operands[1], i->operand_count > 2 ? &i->operands[2] : NULL, &a))
        return false;
    for (uint32_t w = 0; w < item_count(to); w++)
        values[w] = w < a.fragment.unique ? load_register(l, &a, w) : values[w % a.fragment.unique];
    for (uint32_t w = 0; w < item_count(to); w++) /* the address may be one of these registers */
        bl_lower_write(l, item(to, w), values[w], false);
    return true;
}

static bool wmma_store(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_operand *from = &i->operands[1];
    struct access a;

    if (i->operand_count < 2 || !fragment_of(i, 'd', i->types[0], &a.fragment) || item_count(from) != a.fragment.unique ||
        !begin_access(l, i, &i->operands[0], i->operand_count > 2 ? &i->operands[2] : NULL, &a))
        return false;
    for (uint32_t w = 0; w < item_count(from); w++)
        store_register(l, &a, w, bl_lower_read(l, item(from, w), a.fragment.type == BL_KIR_MATRIX_F64 ? BL_KIR_I64 : BL_KIR_I32));
    return true;
}

/* ---- wmma: multiplication: one or two products of 16 (or 8) by 8 ------------------------------------------------ */

static void add_some(struct words *to, const struct words *from, uint32_t first, uint32_t count)
{
    for (uint32_t n = 0; n < count; n++)
        to->values[to->count++] = from->values[first + n];
}

/* A of m32n8k16 in two halves; B of m16n16k* in two halves; of m8n32k16 B's columns take the place of rows: D^T = B^T * A^T. An
 * H200 multiplies tf32 four columns of A at a time (mma.m16n8k8, of the same numbers, is one step). */
static bool multiply_halves(struct bl_lower *l, const struct product *p, const struct shape *shape, const struct words in[3],
                            struct words *out)
{
    struct product half = *p;
    bool transposed = shape->n == 32, tall = shape->m == 32;
    const struct words *rows = transposed ? &in[1] : &in[0], *columns = transposed ? &in[0] : &in[1];
    uint32_t steps = p->a == BL_KIR_MATRIX_TF32 ? 2 : 1, c_words = words_of(16 * 8, p->c);

    half.flags |= BL_KIR_MATRIX_M16;
    half.k = p->k / steps;
    half.a = transposed ? p->b : p->a;
    half.b = transposed ? p->a : p->b;
    uint32_t row_words = words_of(16 * half.k, half.a), column_words = words_of(8 * half.k, half.b);
    for (uint32_t h = 0; h < 2; h++) {
        struct words sum = {.count = 0}, result;
        add_some(&sum, &in[2], h * c_words, c_words);
        for (uint32_t step = 0; step < steps; step++) {
            struct words operands = {.count = 0};
            add_some(&operands, rows, (tall || transposed ? h * steps : 0) * row_words + step * row_words, row_words);
            add_some(&operands, columns, (tall || transposed ? 0 : h * steps) * column_words + step * column_words, column_words);
            add_some(&operands, &sum, 0, sum.count);
            result.count = 0;
            if (!multiply(l, &half, &operands, &result))
                return false;
            sum = result;
        }
        if (out->count + sum.count > MOST_WORDS)
            return false;
        add_some(out, &sum, 0, sum.count);
    }
    return true;
}

static bool wmma_multiply(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct words in[3] = {{.count = 0}, {.count = 0}, {.count = 0}}, out = {.count = 0};
    bool half = i->type_count == 2; /* the types of D and C; A and B are f16 */
    struct product p = {.flags = common_flags(i),
                        .round = HAS(rz)   ? BL_KIR_RZ
                                 : HAS(rm) ? BL_KIR_RM
                                 : HAS(rp) ? BL_KIR_RP
                                           : BL_KIR_RN};
    struct shape shape;

    if ((!half && i->type_count != 4) || i->operand_count != 4 || !shape_of(i, &shape))
        return false;
    p.d = type_of(i->types[0]);
    p.a = half ? BL_KIR_MATRIX_F16 : type_of(i->types[1]);
    p.b = half ? BL_KIR_MATRIX_F16 : type_of(i->types[2]);
    p.c = type_of(i->types[half ? 1 : 3]);
    p.k = shape.k;
    if (p.d == BL_KIR_MATRIX_TYPES || p.a == BL_KIR_MATRIX_TYPES || p.b == BL_KIR_MATRIX_TYPES || p.c == BL_KIR_MATRIX_TYPES)
        return false;
    if (half && HAS(satfinite))
        return false; /* before PTX 6.5 only; what it gave is not known */
    bool wide = p.a == BL_KIR_MATRIX_F64;
    for (uint32_t o = 0; o < 3; o++)
        if (!read_words(l, &i->operands[1 + o], wide, &in[o]))
            return false;
    if (in[0].count < words_of(shape.m * shape.k, p.a) || in[1].count < words_of(shape.n * shape.k, p.b) ||
        in[2].count < words_of(shape.m * shape.n, p.c))
        return false;
    if (shape.m * shape.n > 64)
        return multiply_halves(l, &p, &shape, in, &out) && write_words(l, &i->operands[0], wide, out.values, out.count);
    add_some(&in[0], &in[1], 0, in[1].count);
    add_some(&in[0], &in[2], 0, in[2].count);
    return multiply(l, &p, &in[0], &out) && write_words(l, &i->operands[0], wide, out.values, out.count);
}

bool bl_lower_wmma(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return HAS(load) ? wmma_load(l, i) : HAS(store) ? wmma_store(l, i) : wmma_multiply(l, i);
}

/* ---- ldmatrix, stmatrix, movmatrix: matrices of 8 by 8 elements of 16 bits ------------------------------------------ */

/* The address of this lane's row, 32 bits in the shared window. */
static struct bl_kir_value *row_address(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_ptx_operand *operand)
{
    enum bl_kir_space space = bl_lower_space_of(i);
    struct bl_lower_address address;

    if (!bl_lower_address(l, operand, space, false, &address) || address.kind != BL_LOWER_NOWHERE)
        return NULL;
    struct bl_kir_value *base = with_constant(l, BL_KIR_OP_add, address.base, (uint64_t)address.offset);
    if (space == BL_KIR_GENERIC) {
        struct bl_kir_attr attr = {.space = BL_KIR_SHARED};
        base = bl_lower_op(l, BL_KIR_OP_from_generic, &attr, BL_KIR_I64, base, NULL, NULL);
    }
    return bl_lower_resize(l, base, BL_KIR_I32, false);
}

static uint32_t matrix_count(const struct bl_ptx_instr *i)
{
    return HAS(x4) ? 4 : HAS(x2) ? 2 : 1;
}

/* Where access n of this lane's part of a matrix lies: of its word, or of one of two elements below each other. */
static struct bl_kir_value *part_address(struct bl_lower *l, struct bl_kir_value *rows, uint32_t matrix, bool trans, uint32_t n)
{
    struct bl_kir_value *row, *offset;
    if (trans) {
        row = with_constant(l, BL_KIR_OP_add, with_constant(l, BL_KIR_OP_shl, place_of(l), 1), matrix * 8 + n);
        offset = with_constant(l, BL_KIR_OP_shl, group_of(l), 1);
    } else {
        row = with_constant(l, BL_KIR_OP_add, group_of(l), (uint64_t)matrix * 8);
        offset = with_constant(l, BL_KIR_OP_shl, place_of(l), 2);
    }
    return bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, from_lane(l, rows, row), offset, NULL);
}

static struct bl_kir_attr shared_attr(enum bl_kir_type type)
{
    return (struct bl_kir_attr){.type = (uint8_t)type, .vec = 1, .space = BL_KIR_SHARED, .align = bl_kir_type_bits(type) / 8};
}

bool bl_lower_ldmatrix(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    uint32_t count = matrix_count(i);
    struct bl_kir_value *rows, *values[4], *halves[2];
    struct bl_kir_attr attr = shared_attr(HAS(trans) ? BL_KIR_I16 : BL_KIR_I32);

    if (!HAS(m8n8) || i->types[0] != BL_PTX_B16 || i->operand_count != 2 || item_count(&i->operands[0]) != count)
        return false;
    rows = row_address(l, i, &i->operands[1]);
    for (uint32_t m = 0; m < count && rows; m++) {
        for (uint32_t n = 0; n < (HAS(trans) ? 2 : 1); n++)
            halves[n] = bl_lower_op(l, BL_KIR_OP_load, &attr, attr.type, part_address(l, rows, m, HAS(trans), n), NULL, NULL);
        values[m] = HAS(trans) ? bl_lower_pack(l, BL_KIR_I32, 2, halves) : halves[0];
    }
    return rows && write_words(l, &i->operands[0], false, values, count);
}

bool bl_lower_stmatrix(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    uint32_t count = matrix_count(i);
    struct bl_kir_attr attr = shared_attr(HAS(trans) ? BL_KIR_I16 : BL_KIR_I32);

    if (!HAS(m8n8) || i->types[0] != BL_PTX_B16 || i->operand_count != 2 || item_count(&i->operands[1]) != count)
        return false;
    struct bl_kir_value *rows = row_address(l, i, &i->operands[0]);
    for (uint32_t m = 0; m < count && rows; m++) {
        struct bl_kir_value *value = bl_lower_read32(l, item(&i->operands[1], m));
        struct bl_kir_instr *halves = HAS(trans) ? bl_lower_unpack(l, value, BL_KIR_I16) : NULL;
        for (uint32_t n = 0; n < (HAS(trans) ? 2 : 1); n++) {
            struct bl_kir_value *operands[2] = {part_address(l, rows, m, HAS(trans), n), halves ? halves->results[n] : value};
            bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
        }
    }
    return rows != NULL;
}

bool bl_lower_movmatrix(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *value = bl_lower_read32(l, &i->operands[1]), *halves[2];
    for (uint32_t n = 0; n < 2; n++) {
        /* element (2 * place + n, group) stands in the half `group % 2` of a word */
        struct bl_kir_value *row = with_constant(l, BL_KIR_OP_add, with_constant(l, BL_KIR_OP_shl, place_of(l), 1), n);
        struct bl_kir_value *lane = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, with_constant(l, BL_KIR_OP_shl, row, 2),
                                                with_constant(l, BL_KIR_OP_lshr, group_of(l), 1), NULL);
        struct bl_kir_value *shift = with_constant(l, BL_KIR_OP_shl, with_constant(l, BL_KIR_OP_and, group_of(l), 1), 4);
        struct bl_kir_value *word = bl_lower_op(l, BL_KIR_OP_lshr, NULL, BL_KIR_I32, from_lane(l, value, lane), shift, NULL);
        halves[n] = bl_lower_resize(l, word, BL_KIR_I16, false);
    }
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I32, 2, halves), false);
    return true;
}
