/* Comparison and choice: setp, set, selp, slct (PTX ISA, 9.7.6 and 9.7.7). */
#include "lower/internal.h"

/* The comparison that the modifiers name; .lt … on unsigned types compare unsigned. */
static bool comparison(const struct bl_ptx_instr *i, enum bl_ptx_type type, enum bl_kir_cmp *cmp)
{
    static const struct {
        uint16_t mod;
        uint8_t signed_cmp, unsigned_cmp;
    } table[] = {
        {BL_PTX_MOD_eq, BL_KIR_EQ, BL_KIR_EQ},    {BL_PTX_MOD_ne, BL_KIR_NE, BL_KIR_NE},
        {BL_PTX_MOD_lt, BL_KIR_LT, BL_KIR_LO},    {BL_PTX_MOD_le, BL_KIR_LE, BL_KIR_LS},
        {BL_PTX_MOD_gt, BL_KIR_GT, BL_KIR_HI},    {BL_PTX_MOD_ge, BL_KIR_GE, BL_KIR_HS},
        {BL_PTX_MOD_lo, BL_KIR_LO, BL_KIR_LO},    {BL_PTX_MOD_ls, BL_KIR_LS, BL_KIR_LS},
        {BL_PTX_MOD_hi, BL_KIR_HI, BL_KIR_HI},    {BL_PTX_MOD_hs, BL_KIR_HS, BL_KIR_HS},
        {BL_PTX_MOD_equ, BL_KIR_EQU, BL_KIR_EQU}, {BL_PTX_MOD_neu, BL_KIR_NEU, BL_KIR_NEU},
        {BL_PTX_MOD_ltu, BL_KIR_LTU, BL_KIR_LTU}, {BL_PTX_MOD_leu, BL_KIR_LEU, BL_KIR_LEU},
        {BL_PTX_MOD_gtu, BL_KIR_GTU, BL_KIR_GTU}, {BL_PTX_MOD_geu, BL_KIR_GEU, BL_KIR_GEU},
        {BL_PTX_MOD_num, BL_KIR_NUM, BL_KIR_NUM}, {BL_PTX_MOD_nan, BL_KIR_NAN, BL_KIR_NAN},
    };
    bool by_sign = bl_lower_is_signed(type) || bl_lower_is_float(type);

    for (uint32_t m = 0; m < i->mod_count; m++)
        for (size_t t = 0; t < BL_LEN(table); t++)
            if (i->mods[m] == table[t].mod) {
                *cmp = by_sign ? table[t].signed_cmp : table[t].unsigned_cmp;
                return true;
            }
    return false;
}

/* pred BoolOp c, where the instruction has a BoolOp; c is operand n. */
static struct bl_kir_value *combine(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_value *pred, uint32_t n)
{
    enum bl_kir_op op = HAS(and) ? BL_KIR_OP_and : HAS(or) ? BL_KIR_OP_or : HAS(xor) ? BL_KIR_OP_xor : BL_KIR_OP_undef;

    if (op == BL_KIR_OP_undef || n >= i->operand_count)
        return pred;
    return bl_lower_op(l, op, NULL, BL_KIR_PRED, pred, bl_lower_read(l, &i->operands[n], BL_KIR_PRED), NULL);
}

/* The comparison of operands 1 and 2 in `type`; packed types give two predicates, low half first. */
static bool compare(struct bl_lower *l, const struct bl_ptx_instr *i, enum bl_ptx_type type, struct bl_kir_value *preds[2])
{
    static const enum bl_kir_type two[2] = {BL_KIR_PRED, BL_KIR_PRED};
    struct bl_kir_attr attr = {.ftz = HAS(ftz)};
    enum bl_kir_type kir = bl_lower_type(type);
    struct bl_kir_value *operands[2];
    struct bl_kir_instr *both;
    enum bl_kir_cmp cmp;

    if (!comparison(i, type, &cmp))
        return false;
    attr.cmp = (uint8_t)cmp;
    operands[0] = bl_lower_read(l, &i->operands[1], kir);
    operands[1] = bl_lower_read(l, &i->operands[2], kir);
    preds[1] = NULL;
    if (kir == BL_KIR_F16X2 || kir == BL_KIR_BF16X2) {
        both = bl_kir_emit(&l->b, BL_KIR_OP_fcmp2, &attr, 2, two, 2, operands);
        preds[0] = both->results[0];
        preds[1] = both->results[1];
    } else {
        preds[0] = bl_lower_op(l, bl_kir_type_is_float(kir) ? BL_KIR_OP_fcmp : BL_KIR_OP_icmp, &attr, BL_KIR_PRED, operands[0],
                               operands[1], NULL);
    }
    return true;
}

bool bl_lower_setp(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    const struct bl_ptx_operand *d = &i->operands[0];
    bool pair = d->kind == BL_PTX_PAIR;
    struct bl_kir_value *preds[2], *first;

    if (!compare(l, i, i->types[0], preds))
        return false;
    first = combine(l, i, preds[0], 3);
    if (pair && !preds[1]) /* the second destination gets the opposite */
        preds[1] = bl_lower_op(l, BL_KIR_OP_not, NULL, BL_KIR_PRED, preds[0], NULL, NULL);
    if (pair)
        preds[1] = combine(l, i, preds[1], 3);
    bl_lower_write(l, pair ? &d->items[0] : d, first, false);
    if (pair)
        bl_lower_write(l, &d->items[1], preds[1], false);
    return true;
}

/* What set gives for true: 1.0 in a float type, all ones in an integer one. */
static struct bl_kir_value *one_or_zero(struct bl_lower *l, struct bl_kir_value *pred, enum bl_kir_type type)
{
    struct bl_kir_value *zero = bl_lower_const(l, type, 0);
    struct bl_kir_value *one = bl_kir_type_is_float(type) ? bl_lower_float(l, type, 1.0) : bl_lower_const(l, type, ~UINT64_C(0));
    return bl_lower_select(l, pred, one, zero);
}

bool bl_lower_set(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), part;
    struct bl_kir_value *preds[2], *halves[2];

    if (i->type_count < 2 || !compare(l, i, i->types[1], preds))
        return false;
    if (!preds[1]) {
        bl_lower_write(l, &i->operands[0], one_or_zero(l, combine(l, i, preds[0], 3), type), false);
        return true;
    }
    part = type == BL_KIR_F16X2 ? BL_KIR_F16 : type == BL_KIR_BF16X2 ? BL_KIR_BF16 : BL_KIR_I16;
    for (int h = 0; h < 2; h++)
        halves[h] = one_or_zero(l, combine(l, i, preds[h], 3), part);
    bl_lower_write(l, &i->operands[0], bl_lower_pack(l, type, 2, halves), false);
    return true;
}

bool bl_lower_selp(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);
    bl_lower_write(l, &i->operands[0], bl_lower_select(l, bl_lower_read(l, &i->operands[3], BL_KIR_PRED), a, b), false);
    return true;
}

/* d = c >= 0 ? a : b; a NaN chooses b, -0.0 chooses a. */
bool bl_lower_slct(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), chooser = bl_lower_type(i->types[i->type_count - 1]);
    struct bl_kir_attr attr = {.cmp = BL_KIR_GE, .ftz = HAS(ftz)};
    struct bl_kir_value *a = bl_lower_read(l, &i->operands[1], type), *b = bl_lower_read(l, &i->operands[2], type);
    struct bl_kir_value *c = bl_lower_read(l, &i->operands[3], chooser);

    c = bl_lower_op(l, bl_kir_type_is_float(chooser) ? BL_KIR_OP_fcmp : BL_KIR_OP_icmp, &attr, BL_KIR_PRED, c,
                    bl_lower_const(l, chooser, 0), NULL);
    bl_lower_write(l, &i->operands[0], bl_lower_select(l, c, a, b), false);
    return true;
}
