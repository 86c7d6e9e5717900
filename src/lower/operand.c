/* Types, registers, immediates and addresses: how the operands of a PTX instruction are read and written as kir
 * values. For the other files of the room lower. */
#include "lower/internal.h"

enum bl_kir_type bl_lower_type(enum bl_ptx_type type)
{
    switch (type) {
    case BL_PTX_F16:
        return BL_KIR_F16;
    case BL_PTX_BF16:
        return BL_KIR_BF16;
    case BL_PTX_F16X2:
        return BL_KIR_F16X2;
    case BL_PTX_BF16X2:
        return BL_KIR_BF16X2;
    case BL_PTX_F32:
        return BL_KIR_F32;
    case BL_PTX_F64:
        return BL_KIR_F64;
    case BL_PTX_PRED:
        return BL_KIR_PRED;
    case BL_PTX_U4:
    case BL_PTX_S4:
    case BL_PTX_B1:
    case BL_PTX_NONE:
        return BL_KIR_VOID;
    default: {
        uint32_t bits = bl_ptx_type_bits(type);
        return bits >= 8 ? bl_kir_type_int(bits) : BL_KIR_VOID;
    }
    }
}

bool bl_lower_is_signed(enum bl_ptx_type type)
{
    return (type >= BL_PTX_S8 && type <= BL_PTX_S64) || type == BL_PTX_S16X2 || type == BL_PTX_S8X4;
}

bool bl_lower_is_float(enum bl_ptx_type type)
{
    return (type >= BL_PTX_F16 && type <= BL_PTX_F64) || type == BL_PTX_F32X2;
}

bool bl_lower_is_array(const struct bl_ptx_symbol *symbol)
{
    return symbol->is_array || symbol->vec > 1;
}

enum bl_kir_space bl_lower_space(enum bl_ptx_space space)
{
    switch (space) {
    case BL_PTX_GLOBAL:
        return BL_KIR_GLOBAL;
    case BL_PTX_CONST:
        return BL_KIR_CONST;
    case BL_PTX_SHARED:
        return BL_KIR_SHARED;
    case BL_PTX_LOCAL:
        return BL_KIR_LOCAL;
    case BL_PTX_PARAM:
        return BL_KIR_PARAM;
    default:
        return BL_KIR_GENERIC;
    }
}

struct bl_kir_value *bl_lower_const(struct bl_lower *l, enum bl_kir_type type, uint64_t bits)
{
    uint32_t width = bl_kir_type_bits(type);
    return bl_kir_const(&l->b, type, width < 64 ? bits & ((UINT64_C(1) << width) - 1) : bits);
}

struct bl_kir_value *bl_lower_refuse(struct bl_lower *l, enum bl_kir_type type, const char *reason)
{
    if (!l->reason)
        l->reason = reason;
    return bl_kir_emit1(&l->b, BL_KIR_OP_undef, NULL, type == BL_KIR_VOID ? BL_KIR_I32 : type, NULL, NULL, NULL);
}

static uint64_t double_bits(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

static double bits_double(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static uint32_t float_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* Rounds the top bits of a binary32: its last `dropped` bits go, ties to even. For normal results only; the constants
 * that this room makes itself are. */
static uint32_t round_off(uint32_t bits, uint32_t dropped)
{
    uint32_t half = (UINT32_C(1) << (dropped - 1)) - 1;
    return (bits + half + ((bits >> dropped) & 1)) >> dropped;
}

/* The bits of a number in a float type; false where the type can't hold it as a normal number or zero. */
static bool float_constant(enum bl_kir_type type, double number, uint64_t *bits)
{
    uint32_t single = float_bits((float)number), sign = single >> 31, magnitude = single & 0x7fffffff, half;
    switch (type) {
    case BL_KIR_F64:
        *bits = double_bits(number);
        return true;
    case BL_KIR_F32:
        *bits = single;
        return true;
    case BL_KIR_BF16:
    case BL_KIR_BF16X2:
        *bits = magnitude > 0x7f800000 ? 0x7fff : sign << 15 | round_off(magnitude, 16);
        break;
    case BL_KIR_F16:
    case BL_KIR_F16X2:
        if (magnitude > 0x7f800000) {
            half = 0x7fff;
        } else if (magnitude >= 0x477ff000) { /* 65520 and more round to infinity */
            half = 0x7c00;
        } else if (magnitude == 0) {
            half = 0;
        } else if (magnitude < 0x38800000) {
            return false;
        } else {
            half = round_off(magnitude - (UINT32_C(112) << 23), 13);
        }
        *bits = sign << 15 | half;
        break;
    default:
        return false;
    }
    if (bl_kir_type_bits(type) == 32)
        *bits |= *bits << 16;
    return true;
}

struct bl_kir_value *bl_lower_float(struct bl_lower *l, enum bl_kir_type type, double number)
{
    uint64_t bits;
    if (!float_constant(type, number, &bits))
        return bl_lower_refuse(l, type, "a constant of this type");
    return bl_lower_const(l, type, bits);
}

struct bl_kir_value *bl_lower_resize(struct bl_lower *l, struct bl_kir_value *value, enum bl_kir_type type, bool sign)
{
    uint32_t from = bl_kir_type_bits(value->type), to = bl_kir_type_bits(type);

    if (value->type == type)
        return value;
    if (value->type == BL_KIR_PRED || type == BL_KIR_PRED || type == BL_KIR_VOID)
        return bl_lower_refuse(l, type, "a predicate used as a number");
    if (from == to)
        return bl_lower_op(l, BL_KIR_OP_bitcast, NULL, type, value, NULL, NULL);
    value = bl_lower_resize(l, value, bl_kir_type_int(from), false);
    value = bl_lower_op(l,
                        from > to ? BL_KIR_OP_trunc
                        : sign    ? BL_KIR_OP_sext
                                  : BL_KIR_OP_zext,
                        NULL, bl_kir_type_int(to), value, NULL, NULL);
    return bl_lower_resize(l, value, type, false);
}

/* ---- registers ---------------------------------------------------------------------------- */

enum bl_kir_type bl_lower_register_type(const struct bl_ptx_operand *operand)
{
    if (operand->kind != BL_PTX_REG_OPERAND || operand->symbol->kind != BL_PTX_SYM_REG)
        return BL_KIR_VOID;
    return bl_lower_type(operand->symbol->type);
}

struct bl_kir_var *bl_lower_register(struct bl_lower *l, const struct bl_ptx_symbol *symbol, uint32_t component)
{
    struct bl_kir_var ***place = &l->registers[symbol->index];
    uint32_t count = BL_MAX(symbol->vec, 1);
    enum bl_kir_type type = bl_lower_type(symbol->type);

    if (type == BL_KIR_VOID || symbol->index >= l->source->reg_count)
        return NULL;
    if (!*place) {
        const char *name = bl_sv_copy(l->arena, symbol->name);
        *place = BL_NEW_ARRAY(l->arena, struct bl_kir_var *, count);
        for (uint32_t c = 0; c < count; c++)
            (*place)[c] =
                bl_kir_var_new(l->func, type, count == 1 ? name : bl_arena_printf(l->arena, "%s.%c", name, "xyzw4567"[c % 8]));
    }
    component = component ? component - 1 : 0;
    return component < count ? (*place)[component] : NULL;
}

static struct bl_kir_value *read_register(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    struct bl_kir_var *var = bl_lower_register(l, operand->symbol, operand->component);
    if (!var)
        return bl_lower_refuse(l, type, "a register of this type");
    return bl_lower_resize(l, bl_kir_getvar(&l->b, var), type, false);
}

/* Special registers: name, kir register, type. Vector parts are named by the operand's component. */
static const struct special {
    const char *name;
    uint8_t sreg, type;
} specials[] = {
    {"tid", BL_KIR_SREG_TID_X, BL_KIR_I32},
    {"ntid", BL_KIR_SREG_NTID_X, BL_KIR_I32},
    {"ctaid", BL_KIR_SREG_CTAID_X, BL_KIR_I32},
    {"nctaid", BL_KIR_SREG_NCTAID_X, BL_KIR_I32},
    {"laneid", BL_KIR_SREG_LANEID, BL_KIR_I32},
    {"warpid", BL_KIR_SREG_WARPID, BL_KIR_I32},
    {"nwarpid", BL_KIR_SREG_NWARPID, BL_KIR_I32},
    {"smid", BL_KIR_SREG_SMID, BL_KIR_I32},
    {"nsmid", BL_KIR_SREG_NSMID, BL_KIR_I32},
    {"gridid", BL_KIR_SREG_GRIDID, BL_KIR_I64},
    {"lanemask_eq", BL_KIR_SREG_LANEMASK_EQ, BL_KIR_I32},
    {"lanemask_le", BL_KIR_SREG_LANEMASK_LE, BL_KIR_I32},
    {"lanemask_lt", BL_KIR_SREG_LANEMASK_LT, BL_KIR_I32},
    {"lanemask_ge", BL_KIR_SREG_LANEMASK_GE, BL_KIR_I32},
    {"lanemask_gt", BL_KIR_SREG_LANEMASK_GT, BL_KIR_I32},
    {"clock", BL_KIR_SREG_CLOCK, BL_KIR_I32},
    {"clock_hi", BL_KIR_SREG_CLOCK_HI, BL_KIR_I32},
    {"clock64", BL_KIR_SREG_CLOCK64, BL_KIR_I64},
    {"globaltimer", BL_KIR_SREG_GLOBALTIMER, BL_KIR_I64},
    {"globaltimer_lo", BL_KIR_SREG_GLOBALTIMER_LO, BL_KIR_I32},
    {"globaltimer_hi", BL_KIR_SREG_GLOBALTIMER_HI, BL_KIR_I32},
    {"dynamic_smem_size", BL_KIR_SREG_DYNAMIC_SMEM_SIZE, BL_KIR_I32},
    {"total_smem_size", BL_KIR_SREG_TOTAL_SMEM_SIZE, BL_KIR_I32},
    {"aggr_smem_size", BL_KIR_SREG_AGGR_SMEM_SIZE, BL_KIR_I32},
    {"clusterid", BL_KIR_SREG_CLUSTERID_X, BL_KIR_I32},
    {"nclusterid", BL_KIR_SREG_NCLUSTERID_X, BL_KIR_I32},
    {"cluster_ctaid", BL_KIR_SREG_CLUSTER_CTAID_X, BL_KIR_I32},
    {"cluster_nctaid", BL_KIR_SREG_CLUSTER_NCTAID_X, BL_KIR_I32},
    {"cluster_ctarank", BL_KIR_SREG_CLUSTER_CTARANK, BL_KIR_I32},
    {"cluster_nctarank", BL_KIR_SREG_CLUSTER_NCTARANK, BL_KIR_I32},
    {"is_explicit_cluster", BL_KIR_SREG_IS_EXPLICIT_CLUSTER, BL_KIR_PRED},
    {"current_graph_exec", BL_KIR_SREG_COUNT, BL_KIR_I64}, /* 0 outside a graph launched by the device */
};

static struct bl_kir_value *emit_sreg(struct bl_lower *l, uint32_t sreg, enum bl_kir_type type, uint64_t imm)
{
    struct bl_kir_attr attr = {.sreg = (uint8_t)sreg, .imm = imm};
    if (sreg == BL_KIR_SREG_COUNT)
        return bl_lower_const(l, type, 0);
    return bl_lower_op(l, BL_KIR_OP_sreg, &attr, type, NULL, NULL, NULL);
}

/* %pm0..7, %pm0_64..7_64 and %envreg0..31: attr.imm says which. */
static bool numbered_sreg(struct bl_sv name, const char *prefix, uint64_t *number, bool *wide)
{
    size_t at = strlen(prefix);
    if (!bl_sv_starts(name, prefix) || at == name.size)
        return false;
    for (*number = 0; at < name.size && name.data[at] >= '0' && name.data[at] <= '9'; at++)
        *number = *number * 10 + (uint64_t)(name.data[at] - '0');
    *wide = name.size - at == 3 && memcmp(name.data + at, "_64", 3) == 0;
    return at == name.size || *wide;
}

static struct bl_kir_value *read_special(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    struct bl_sv name = operand->symbol->name;
    uint32_t component = operand->component ? operand->component - 1u : 0;
    uint64_t number;
    bool wide;

    if (name.size && name.data[0] == '%')
        name = (struct bl_sv){name.data + 1, name.size - 1};
    /* a parser may leave the part in the name */
    if (name.size > 2 && name.data[name.size - 2] == '.' && name.data[name.size - 1] >= 'w') {
        component = name.data[name.size - 1] == 'w' ? 3 : (uint32_t)(name.data[name.size - 1] - 'x');
        name.size -= 2;
    }
    if (bl_sv_is(name, "WARP_SZ"))
        return bl_lower_const(l, BL_KIR_I32, 32);
    for (size_t s = 0; s < BL_LEN(specials); s++)
        if (bl_sv_is(name, specials[s].name))
            return component == 3 ? bl_lower_const(l, BL_KIR_I32, 0)
                                  : emit_sreg(l, specials[s].sreg + component, specials[s].type, 0);
    if (numbered_sreg(name, "pm", &number, &wide))
        return emit_sreg(l, BL_KIR_SREG_PM, wide ? BL_KIR_I64 : BL_KIR_I32, number);
    if (numbered_sreg(name, "envreg", &number, &wide))
        return emit_sreg(l, BL_KIR_SREG_ENVREG, BL_KIR_I32, number);
    return bl_lower_refuse(l, BL_KIR_I32, "this special register");
}

/* ---- reading ------------------------------------------------------------------------------ */

static struct bl_kir_value *read_number(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    struct bl_kir_attr attr = {.imm = operand->bits};
    uint64_t bits = operand->bits;
    double number;

    if (operand->kind == BL_PTX_FLOAT && operand->float_type == BL_PTX_F32) {
        float single;
        uint32_t low = (uint32_t)bits;
        memcpy(&single, &low, sizeof(single));
        number = single;
    } else {
        number = bits_double(bits);
    }
    if (type == BL_KIR_PRED)
        return bl_kir_const(&l->b, type, bits != 0);
    if (operand->kind == BL_PTX_INT && type == BL_KIR_I128) {
        attr.imm_hi = operand->is_unsigned || (int64_t)bits >= 0 ? 0 : ~UINT64_C(0);
        return bl_lower_op(l, BL_KIR_OP_const, &attr, type, NULL, NULL, NULL);
    }
    if (operand->kind == BL_PTX_INT)
        return bl_lower_const(l, type, operand->negated ? -bits : bits);
    if (bl_kir_type_is_float(type) && !(operand->float_type == BL_PTX_F32 && type == BL_KIR_F32))
        return bl_lower_float(l, type, number);
    /* untyped bits: mov.b32 %r, 0f3F800000; a decimal number takes the operand's size */
    if (operand->float_type == BL_PTX_F64 && bl_kir_type_bits(type) == 32)
        bits = float_bits((float)number);
    if (bl_kir_type_bits(type) < 32)
        return bl_lower_refuse(l, type, "a float constant of this size");
    return bl_lower_const(l, type, bits);
}

static struct bl_kir_value *read_symbol(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    struct bl_kir_attr attr = {0};
    enum bl_kir_space space;

    if (bl_sv_is(operand->symbol->name, "WARP_SZ"))
        return bl_lower_const(l, type, 32);
    if (operand->symbol->kind == BL_PTX_SYM_FUNC) {
        attr.func = bl_lower_func(operand->symbol);
        return bl_lower_resize(l, bl_lower_op(l, BL_KIR_OP_funcaddr, &attr, BL_KIR_I64, NULL, NULL, NULL), type, false);
    }
    return bl_lower_resize(l, bl_lower_address_of(l, operand->symbol, operand->offset, &space), type, false);
}

/* Vector operands of mov and of packed instructions: the parts, lowest first. */
static struct bl_kir_value *read_vector(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    uint32_t bits = operand->item_count ? bl_kir_type_bits(type) / operand->item_count : 0;
    struct bl_kir_value *parts[16];

    if (operand->item_count > BL_LEN(parts) || bits < 8 || bits * operand->item_count != bl_kir_type_bits(type))
        return bl_lower_refuse(l, type, "a vector of this shape");
    for (uint32_t p = 0; p < operand->item_count; p++)
        parts[p] = bl_lower_read(l, &operand->items[p], bl_kir_type_int(bits));
    return bl_lower_resize(l, bl_lower_pack(l, bl_kir_type_int(bl_kir_type_bits(type)), operand->item_count, parts), type, false);
}

static struct bl_kir_value *negate(struct bl_lower *l, struct bl_kir_value *value)
{
    enum bl_kir_op op = value->type == BL_KIR_PRED          ? BL_KIR_OP_not
                        : bl_kir_type_is_float(value->type) ? BL_KIR_OP_fneg
                                                            : BL_KIR_OP_neg;
    return bl_lower_op(l, op, NULL, value->type, value, NULL, NULL);
}

struct bl_kir_value *bl_lower_read(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type)
{
    struct bl_kir_value *value;

    switch (operand->kind) {
    case BL_PTX_REG_OPERAND:
        if (operand->symbol->kind == BL_PTX_SYM_SREG)
            value = bl_lower_resize(l, read_special(l, operand), type, false);
        else
            value = read_register(l, operand, type);
        return operand->negated ? negate(l, value) : value;
    case BL_PTX_INT:
    case BL_PTX_FLOAT:
        return read_number(l, operand, type);
    case BL_PTX_SYMBOL:
        return read_symbol(l, operand, type);
    case BL_PTX_VECTOR:
        return read_vector(l, operand, type);
    default:
        return bl_lower_refuse(l, type, "an operand of this kind");
    }
}

/* ---- writing ------------------------------------------------------------------------------ */

void bl_lower_write(struct bl_lower *l, const struct bl_ptx_operand *operand, struct bl_kir_value *value, bool sign)
{
    struct bl_kir_var *var;

    if (operand->kind == BL_PTX_SINK)
        return;
    if (operand->kind == BL_PTX_VECTOR) {
        uint32_t bits = operand->item_count ? bl_kir_type_bits(value->type) / operand->item_count : 0;
        struct bl_kir_instr *parts;
        if (bits < 8 || bits * operand->item_count != bl_kir_type_bits(value->type)) {
            bl_lower_refuse(l, value->type, "a vector of this shape");
            return;
        }
        parts = bl_lower_unpack(l, value, bl_kir_type_int(bits));
        for (uint32_t p = 0; p < operand->item_count; p++)
            bl_lower_write(l, &operand->items[p], parts->results[p], sign);
        return;
    }
    if (operand->kind != BL_PTX_REG_OPERAND || operand->symbol->kind != BL_PTX_SYM_REG ||
        !(var = bl_lower_register(l, operand->symbol, operand->component))) {
        bl_lower_refuse(l, value->type, "a destination of this kind");
        return;
    }
    value = bl_lower_resize(l, value, var->type, sign);
    if (l->guard)
        value = bl_lower_select(l, l->guard, value, bl_kir_getvar(&l->b, var));
    bl_kir_setvar(&l->b, var, value);
}

static struct bl_kir_var *carry_var(struct bl_lower *l)
{
    if (!l->carry)
        l->carry = bl_kir_var_new(l->func, BL_KIR_PRED, "cc.cf");
    return l->carry;
}

struct bl_kir_value *bl_lower_read_carry(struct bl_lower *l)
{
    return bl_kir_getvar(&l->b, carry_var(l));
}

void bl_lower_write_carry(struct bl_lower *l, struct bl_kir_value *carry)
{
    if (l->guard)
        carry = bl_lower_select(l, l->guard, carry, bl_lower_read_carry(l));
    bl_kir_setvar(&l->b, carry_var(l), carry);
}

/* ---- addresses ---------------------------------------------------------------------------- */

struct bl_lower_place *bl_lower_place(const struct bl_ptx_symbol *symbol)
{
    return symbol->user;
}

struct bl_kir_func *bl_lower_func(const struct bl_ptx_symbol *symbol)
{
    struct bl_ptx_func *func = symbol->func;
    for (uint32_t steps = 0; func->is_alias && func->aliasee && steps < 16; steps++)
        func = func->aliasee;
    return func->user;
}

struct bl_kir_value *bl_lower_address_of(struct bl_lower *l, const struct bl_ptx_symbol *symbol, int64_t offset,
                                         enum bl_kir_space *space)
{
    bool known = symbol->kind == BL_PTX_SYM_VAR || symbol->kind == BL_PTX_SYM_PARAM;
    struct bl_lower_place *place = known ? bl_lower_place(symbol) : NULL;
    struct bl_kir_attr attr = {.imm = (uint64_t)offset};
    struct bl_kir_value *value;

    *space = BL_KIR_LOCAL;
    switch (place ? place->kind : BL_LOWER_NOWHERE) {
    case BL_LOWER_SYMBOL:
        *space = place->symbol->space;
        attr.symbol = place->symbol;
        return bl_lower_op(l, BL_KIR_OP_addrof, &attr, BL_KIR_I64, NULL, NULL, NULL);
    case BL_LOWER_ENTRY:
        *space = BL_KIR_PARAM;
        return bl_lower_const(l, BL_KIR_I64, place->offset + (uint64_t)offset);
    case BL_LOWER_FRAME:
        attr.imm += place->offset;
        return bl_lower_op(l, BL_KIR_OP_frame, &attr, BL_KIR_I64, NULL, NULL, NULL);
    case BL_LOWER_POINTER:
        value = place->value;
        if (offset)
            value = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I64, value, bl_lower_const(l, BL_KIR_I64, (uint64_t)offset), NULL);
        return value;
    default:
        return bl_lower_refuse(l, BL_KIR_I64, "the address of this name");
    }
}

/* An address that a name stands for, in an access that names `space`. */
static bool symbol_address(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_space space,
                           struct bl_lower_address *address)
{
    struct bl_lower_place *place = NULL;
    enum bl_kir_space own;
    struct bl_kir_attr attr = {0};

    if (operand->symbol->kind == BL_PTX_SYM_VAR || operand->symbol->kind == BL_PTX_SYM_PARAM)
        place = bl_lower_place(operand->symbol);
    if (place && (place->kind == BL_LOWER_VAR || place->kind == BL_LOWER_ENTRY)) {
        *address = (struct bl_lower_address){.kind = place->kind, .place = place, .space = BL_KIR_PARAM};
        address->offset = operand->offset + (place->kind == BL_LOWER_ENTRY ? (int64_t)place->offset : 0);
        return true;
    }
    address->base = bl_lower_address_of(l, operand->symbol, 0, &own);
    address->offset = operand->offset;
    address->space = own;
    if (l->reason)
        return false;
    /* A name used with generic addressing stands for its generic address. */
    if (space != BL_KIR_GENERIC || own == BL_KIR_GLOBAL || own == BL_KIR_CONST)
        return true;
    attr.space = (uint8_t)own;
    address->base = bl_lower_op(l, BL_KIR_OP_to_generic, &attr, BL_KIR_I64, address->base, NULL, NULL);
    address->space = BL_KIR_GENERIC;
    return true;
}

bool bl_lower_address(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_space space, bool param,
                      struct bl_lower_address *address)
{
    enum bl_kir_type type;

    *address = (struct bl_lower_address){.kind = BL_LOWER_NOWHERE, .space = space, .offset = operand->offset};
    if (operand->kind != BL_PTX_ADDRESS && operand->kind != BL_PTX_SYMBOL) {
        bl_lower_refuse(l, BL_KIR_I64, "an address of this kind");
        return false;
    }
    /* In a device function .param stands for the caller's copy, in local memory. */
    if (param && !l->source->is_entry)
        address->space = BL_KIR_LOCAL;
    if (operand->symbol && operand->symbol->kind != BL_PTX_SYM_REG)
        return symbol_address(l, operand, space, address);
    if (!operand->symbol) {
        address->base = bl_lower_const(l, BL_KIR_I64, (uint64_t)operand->offset);
        address->offset = 0;
        return true;
    }
    type = bl_lower_type(operand->symbol->type);
    if (type != BL_KIR_I64 && (type != BL_KIR_I32 || address->space == BL_KIR_GENERIC)) {
        bl_lower_refuse(l, BL_KIR_I64, "an address register of this type");
        return false;
    }
    address->base = bl_kir_getvar(&l->b, bl_lower_register(l, operand->symbol, operand->component));
    /* Shared and local addresses may be 32 bits wide; global ones not. */
    if (type == BL_KIR_I32 && address->space != BL_KIR_SHARED && address->space != BL_KIR_LOCAL)
        address->base = bl_lower_resize(l, address->base, BL_KIR_I64, false);
    if (address->space == BL_KIR_SHARED && bl_ptx_has(l->instr, BL_PTX_MOD_shared_cluster)) {
        address->base = bl_lower_resize(l, address->base, BL_KIR_I32, false);
        if (address->offset)
            address->base = bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, address->base,
                                        bl_lower_const(l, BL_KIR_I32, (uint64_t)address->offset & UINT32_MAX), NULL);
        address->base = bl_lower_from_window(l, address->base);
        address->offset = 0;
    }
    return !l->reason;
}

/* ---- in short ------------------------------------------------------------------------------ */

struct bl_kir_value *bl_lower_compare(struct bl_lower *l, enum bl_kir_cmp cmp, struct bl_kir_value *x, struct bl_kir_value *y)
{
    struct bl_kir_attr attr = {.cmp = (uint8_t)cmp};
    return bl_lower_op(l, bl_kir_type_is_float(x->type) ? BL_KIR_OP_fcmp : BL_KIR_OP_icmp, &attr, BL_KIR_PRED, x, y, NULL);
}

struct bl_kir_instr *bl_lower_unpack(struct bl_lower *l, struct bl_kir_value *value, enum bl_kir_type part)
{
    enum bl_kir_type types[16];
    uint32_t count = BL_MIN(bl_kir_type_bits(value->type) / bl_kir_type_bits(part), (uint32_t)BL_LEN(types));

    for (uint32_t p = 0; p < count; p++)
        types[p] = part;
    return bl_kir_emit(&l->b, BL_KIR_OP_unpack, NULL, count, types, 1, &value);
}

struct bl_kir_value *bl_lower_pack(struct bl_lower *l, enum bl_kir_type type, uint32_t count, struct bl_kir_value *const *parts)
{
    return bl_kir_emit(&l->b, BL_KIR_OP_pack, NULL, 1, &type, count, parts)->results[0];
}
