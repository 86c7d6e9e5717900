/* Integer arithmetic, extended precision, bit fields, logic and shifts. */
#include "lower/internal.h"

typedef struct bl_kir_value *(*part_function)(struct bl_lower *l, bool sign, bool saturate, struct bl_kir_value *a,
                                              struct bl_kir_value *b);

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, struct bl_kir_value *b)
{
    return bl_lower_op(l, op, NULL, a->type, a, b, NULL);
}

static struct bl_kir_value *shift_right(struct bl_lower *l, bool sign, struct bl_kir_value *value, uint32_t count)
{
    return binary(l, sign ? BL_KIR_OP_ashr : BL_KIR_OP_lshr, value, bl_lower_const(l, BL_KIR_I32, count));
}

static bool is_packed(enum bl_ptx_type type)
{
    return type == BL_PTX_U16X2 || type == BL_PTX_S16X2;
}

/* ---- add, sub, min, max on one element -------------------------------------------------------- */

static struct bl_kir_value *add_part(struct bl_lower *l, bool sign, bool saturate, struct bl_kir_value *a, struct bl_kir_value *b)
{
    struct bl_kir_attr attr = {.sat = saturate};
    return bl_lower_op(l, BL_KIR_OP_add, &attr, a->type, a, b, NULL);
}

static struct bl_kir_value *sub_part(struct bl_lower *l, bool sign, bool saturate, struct bl_kir_value *a, struct bl_kir_value *b)
{
    struct bl_kir_attr attr = {.sat = saturate};
    return bl_lower_op(l, BL_KIR_OP_sub, &attr, a->type, a, b, NULL);
}

static struct bl_kir_value *min_part(struct bl_lower *l, bool sign, bool relu, struct bl_kir_value *a, struct bl_kir_value *b)
{
    struct bl_kir_value *d = binary(l, sign ? BL_KIR_OP_min_s : BL_KIR_OP_min_u, a, b);
    return relu ? binary(l, BL_KIR_OP_max_s, d, bl_lower_const(l, d->type, 0)) : d;
}

static struct bl_kir_value *max_part(struct bl_lower *l, bool sign, bool relu, struct bl_kir_value *a, struct bl_kir_value *b)
{
    struct bl_kir_value *d = binary(l, sign ? BL_KIR_OP_max_s : BL_KIR_OP_max_u, a, b);
    return relu ? binary(l, BL_KIR_OP_max_s, d, bl_lower_const(l, d->type, 0)) : d;
}

/* d = a op b, or on both halves of u16x2 and s16x2. Saturation exists for s32 only (the packed forms with it: refused). */
static bool elementwise(struct bl_lower *l, const struct bl_ptx_instr *i, part_function part, bool flag)
{
    enum bl_ptx_type type = i->types[0];
    enum bl_kir_type kir = bl_lower_type(type);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], kir), *b = bl_lower_read(l, &i->operands[2], kir), *halves[2];
    struct bl_kir_instr *as, *bs;

    if (!is_packed(type)) {
        bl_lower_write(l, &i->operands[0], part(l, bl_lower_is_signed(type), flag, a, b), bl_lower_is_signed(type));
        return true;
    }
    if (flag && (part == add_part || part == sub_part))
        return false;
    as = bl_lower_unpack(l, a, BL_KIR_I16);
    bs = bl_lower_unpack(l, b, BL_KIR_I16);
    for (int h = 0; h < 2; h++)
        halves[h] = part(l, bl_lower_is_signed(type), flag, as->results[h], bs->results[h]);
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, BL_KIR_I32, 2, halves), false);
    return true;
}

/* ---- extended precision: add.cc, addc, sub.cc, subc, mad.cc, madc (PTX ISA, 9.7.2) --------------- */

/* d = x op y with the carry: read where `reads`, written where the instruction says .cc */
static bool with_carry(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op, bool reads, struct bl_kir_value *x,
                       struct bl_kir_value *y)
{
    struct bl_kir_value *operands[3] = {x, y, reads ? bl_lower_read_carry(l) : bl_lower_const(l, BL_KIR_PRED, 0)};
    enum bl_kir_type types[2] = {x->type, BL_KIR_PRED};
    struct bl_kir_instr *sum = bl_kir_emit(&l->b, op, NULL, 2, types, 3, operands);

    bl_lower_write(l, &i->operands[0], sum->results[0], false);
    if (HAS(cc))
        bl_lower_write_carry(l, sum->results[1]);
    return true;
}

static bool carry_op(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op, bool reads)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);
    return with_carry(l, i, op, reads, a, b);
}

bool bl_lower_add(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return HAS(cc) ? carry_op(l, i, BL_KIR_OP_add_carry, false) : elementwise(l, i, add_part, HAS(sat));
}

bool bl_lower_sub(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return HAS(cc) ? carry_op(l, i, BL_KIR_OP_sub_borrow, false) : elementwise(l, i, sub_part, HAS(sat));
}

bool bl_lower_addc(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return carry_op(l, i, BL_KIR_OP_add_carry, true);
}

bool bl_lower_subc(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return carry_op(l, i, BL_KIR_OP_sub_borrow, true);
}

bool bl_lower_min(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return elementwise(l, i, min_part, HAS(relu));
}

bool bl_lower_max(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return elementwise(l, i, max_part, HAS(relu));
}

/* ---- products ------------------------------------------------------------------------------------- */

/* The product that .lo, .hi or .wide names. */
static struct bl_kir_value *product(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), wide = bl_kir_type_int(2 * bl_kir_type_bits(type));
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);

    if (HAS(wide)) {
        a = bl_lower_resize(l, a, wide, sign);
        b = bl_lower_resize(l, b, wide, sign);
        return binary(l, BL_KIR_OP_mul, a, b);
    }
    return binary(l, HAS(hi) ? (sign ? BL_KIR_OP_mulhi_s : BL_KIR_OP_mulhi_u) : BL_KIR_OP_mul, a, b);
}

bool bl_lower_mul(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_lower_write(l, &i->operands[0], product(l, i), bl_lower_is_signed(i->types[0]));
    return true;
}

static bool multiply_add(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_value *t)
{
    struct bl_kir_attr attr = {.sat = HAS(sat)};
    struct bl_kir_value *c = bl_lower_read(l, &i->operands[3], t->type);
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_add, &attr, t->type, t, c, NULL), bl_lower_is_signed(i->types[0]));
    return true;
}

bool bl_lower_mad(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *t = product(l, i);
    if (HAS(cc))
        return with_carry(l, i, BL_KIR_OP_add_carry, false, t, bl_lower_read(l, &i->operands[3], t->type));
    return multiply_add(l, i, t);
}

bool bl_lower_madc(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *t = product(l, i);
    return with_carry(l, i, BL_KIR_OP_add_carry, true, t, bl_lower_read(l, &i->operands[3], t->type));
}

/* The low 24 bits of both; of the 48-bit product the low 32 bits, or bits 47..16 (PTX ISA, mul24). */
static struct bl_kir_value *product24(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_value *factors[2], *t;

    for (int f = 0; f < 2; f++) {
        t = bl_lower_read32(l, &i->operands[1 + f]);
        t = binary(l, BL_KIR_OP_shl, t, bl_lower_const(l, BL_KIR_I32, 8));
        factors[f] = shift_right(l, sign, t, 8);
        if (HAS(hi))
            factors[f] = bl_lower_resize(l, factors[f], BL_KIR_I64, sign);
    }
    t = binary(l, BL_KIR_OP_mul, factors[0], factors[1]);
    return HAS(hi) ? bl_lower_resize(l, shift_right(l, false, t, 16), BL_KIR_I32, false) : t;
}

bool bl_lower_mul24(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_lower_write(l, &i->operands[0], product24(l, i), false);
    return true;
}

bool bl_lower_mad24(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return multiply_add(l, i, product24(l, i));
}

bool bl_lower_sad(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);
    struct bl_kir_value *less = bl_lower_compare(l, bl_lower_is_signed(i->types[0]) ? BL_KIR_LT : BL_KIR_LO, a, b);
    struct bl_kir_value *up = binary(l, BL_KIR_OP_sub, b, a), *down = binary(l, BL_KIR_OP_sub, a, b);
    struct bl_kir_value *distance = bl_lower_select(l, less, up, down);
    bl_lower_write(l, &i->operands[0], binary(l, BL_KIR_OP_add, bl_lower_read(l, &i->operands[3], type), distance), false);
    return true;
}

static bool by_sign(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op with, enum bl_kir_op without)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);
    bl_lower_write(l, &i->operands[0], binary(l, sign ? with : without, a, b), sign);
    return true;
}

bool bl_lower_div(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return by_sign(l, i, BL_KIR_OP_div_s, BL_KIR_OP_div_u);
}

bool bl_lower_rem(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return by_sign(l, i, BL_KIR_OP_rem_s, BL_KIR_OP_rem_u);
}

/* ---- one operand ------------------------------------------------------------------------------------ */

static bool unary(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op, enum bl_kir_type result)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type);
    struct bl_kir_attr attr = {.shiftamt = HAS(shiftamt)};
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, op, &attr, result == BL_KIR_VOID ? type : result, a, NULL, NULL), false);
    return true;
}

bool bl_lower_abs(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_abs, BL_KIR_VOID);
}

bool bl_lower_neg(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_neg, BL_KIR_VOID);
}

bool bl_lower_not(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_not, BL_KIR_VOID);
}

bool bl_lower_popc(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_popc, BL_KIR_I32);
}

bool bl_lower_clz(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_clz, BL_KIR_I32);
}

bool bl_lower_brev(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, BL_KIR_OP_brev, BL_KIR_VOID);
}

bool bl_lower_bfind(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return unary(l, i, bl_lower_is_signed(i->types[0]) ? BL_KIR_OP_bfind_s : BL_KIR_OP_bfind_u, BL_KIR_I32);
}

bool bl_lower_cnot(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *zero = bl_lower_const(l, type, 0);
    struct bl_kir_value *is_zero = bl_lower_compare(l, BL_KIR_EQ, bl_lower_read(l, &i->operands[1], type), zero);
    bl_lower_write(l, &i->operands[0], bl_lower_select(l, is_zero, bl_lower_const(l, type, 1), zero), false);
    return true;
}

/* ---- bit fields ---------------------------------------------------------------------------------------- */

bool bl_lower_bfe(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *position = bl_lower_read32(l, &i->operands[2]);
    struct bl_kir_value *length = bl_lower_read32(l, &i->operands[3]);
    a = bl_lower_op(l, sign ? BL_KIR_OP_bfe_s : BL_KIR_OP_bfe_u, NULL, type, a, position, length);
    bl_lower_write(l, &i->operands[0], a, sign);
    return true;
}

bool bl_lower_bfi(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *operands[4];
    for (uint32_t o = 0; o < 4; o++)
        operands[o] = bl_lower_read(l, &i->operands[1 + o], o < 2 ? type : BL_KIR_I32);
    bl_lower_write(l, &i->operands[0], bl_kir_emit(&l->b, BL_KIR_OP_bfi, NULL, 1, &type, 4, operands)->results[0], false);
    return true;
}

/* Two or three 32-bit operands, 32-bit result. */
static bool words(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op, const struct bl_kir_attr *attr,
                  uint32_t count)
{
    struct bl_kir_value *operands[3] = {0};
    for (uint32_t o = 0; o < count; o++)
        operands[o] = bl_lower_read32(l, &i->operands[1 + o]);
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, op, attr, BL_KIR_I32, operands[0], operands[1], operands[2]), false);
    return true;
}

bool bl_lower_bmsk(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.wrap = HAS(wrap)};
    return words(l, i, BL_KIR_OP_bmsk, &attr, 2);
}

bool bl_lower_szext(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.wrap = HAS(wrap)};
    return words(l, i, bl_lower_is_signed(i->types[0]) ? BL_KIR_OP_szext_s : BL_KIR_OP_szext_u, &attr, 2);
}

bool bl_lower_fns(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return words(l, i, BL_KIR_OP_fns, NULL, 3);
}

bool bl_lower_dp4a(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.a_signed = bl_lower_is_signed(i->types[0]), .b_signed = bl_lower_is_signed(i->types[1])};
    return words(l, i, BL_KIR_OP_dp4a, &attr, 3);
}

bool bl_lower_dp2a(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.a_signed = bl_lower_is_signed(i->types[0]), .b_signed = bl_lower_is_signed(i->types[1])};
    attr.hi = HAS(hi);
    return words(l, i, BL_KIR_OP_dp2a, &attr, 3);
}

bool bl_lower_prmt(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.prmt = BL_KIR_PRMT_INDEX};
    attr.prmt = HAS(f4e)    ? BL_KIR_PRMT_F4E
                : HAS(b4e)  ? BL_KIR_PRMT_B4E
                : HAS(rc8)  ? BL_KIR_PRMT_RC8
                : HAS(ecl)  ? BL_KIR_PRMT_ECL
                : HAS(ecr)  ? BL_KIR_PRMT_ECR
                : HAS(rc16) ? BL_KIR_PRMT_RC16
                            : BL_KIR_PRMT_INDEX;
    return words(l, i, BL_KIR_OP_prmt, &attr, 3);
}

bool bl_lower_shf(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.wrap = HAS(wrap)};
    return words(l, i, HAS(l) ? BL_KIR_OP_funnel_l : BL_KIR_OP_funnel_r, &attr, 3);
}

/* ---- logic and shifts ------------------------------------------------------------------------------------ */

static bool logic(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op)
{
    return by_sign(l, i, op, op);
}

bool bl_lower_and(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return logic(l, i, BL_KIR_OP_and);
}

bool bl_lower_or(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return logic(l, i, BL_KIR_OP_or);
}

bool bl_lower_xor(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return logic(l, i, BL_KIR_OP_xor);
}

/* lop3.b32 d, a, b, c, table; and lop3.BoolOp.b32 d|p, a, b, c, table, q: p = (d != 0) BoolOp q. */
bool bl_lower_lop3(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_operand *d = &i->operands[0];
    struct bl_kir_attr attr = {.imm = i->operands[4].bits & 0xff};
    struct bl_kir_value *operands[3], *value, *pred;

    if (i->operands[4].kind != BL_PTX_INT)
        return false;
    for (int o = 0; o < 3; o++)
        operands[o] = bl_lower_read32(l, &i->operands[1 + o]);
    value = bl_lower_op(l, BL_KIR_OP_lop3, &attr, BL_KIR_I32, operands[0], operands[1], operands[2]);
    if (i->operand_count == 5) {
        bl_lower_write(l, d, value, false);
        return true;
    }
    if (i->operand_count != 6 || d->kind != BL_PTX_PAIR)
        return false;
    pred = bl_lower_compare(l, BL_KIR_NE, value, bl_lower_const(l, BL_KIR_I32, 0));
    pred = binary(l, HAS(and) ? BL_KIR_OP_and : BL_KIR_OP_or, pred, bl_lower_read(l, &i->operands[5], BL_KIR_PRED));
    bl_lower_write(l, &d->items[0], value, false);
    bl_lower_write(l, &d->items[1], pred, false);
    return true;
}

static bool shift(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_kir_op op)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *count = bl_lower_read32(l, &i->operands[2]);
    bl_lower_write(l, &i->operands[0], binary(l, op, a, count), false);
    return true;
}

bool bl_lower_shl(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return shift(l, i, BL_KIR_OP_shl);
}

bool bl_lower_shr(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return shift(l, i, bl_lower_is_signed(i->types[0]) ? BL_KIR_OP_ashr : BL_KIR_OP_lshr);
}
