/* The rules of single ops: the signatures of ops.def, which attributes an op may have and in what range, and what ties the types of
 * operands, results and attributes together. For validate.c. */
#include "kir/validate.h"

static bool is_power_of_two(uint64_t n)
{
    return n && !(n & (n - 1));
}

/* ---- signatures ------------------------------------------------------------------------------------ */

static bool fits_letter(char letter, enum bl_kir_type type, enum bl_kir_type first)
{
    switch (letter) {
    case 'p':
        return type == BL_KIR_PRED;
    case 'i':
        return bl_kir_type_is_int(type);
    case 'f':
        return bl_kir_type_is_float(type);
    case 'v':
        return true;
    case 'l':
        return type == BL_KIR_I32;
    case 'q':
        return type == BL_KIR_I64;
    case 'a':
        return type == BL_KIR_I32 || type == BL_KIR_I64;
    default:
        return type == first;
    }
}

/* signature: letters, '?' before one that may be left out, '*' after the last for any number of it. */
static bool fits(const char *signature, uint32_t count, struct bl_kir_value *const *values, enum bl_kir_type first, uint32_t *wrong)
{
    uint32_t n = 0;

    for (const char *s = signature; *s; s++) {
        bool optional = *s == '?';
        if (optional)
            s++;
        if (s[1] == '*') {
            for (; n < count; n++)
                if (!fits_letter(*s, values[n]->type, first))
                    return *wrong = n, false;
            return true;
        }
        if (n == count && optional)
            continue;
        *wrong = n;
        if (n == count || !fits_letter(*s, values[n]->type, first))
            return false;
        n++;
    }
    *wrong = n;
    return n == count;
}

static bool check_signature(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    const struct bl_kir_op_info *info = &bl_kir_ops[i->op];
    enum bl_kir_type first = i->operand_count ? i->operands[0]->type : i->result_count ? i->results[0]->type : BL_KIR_VOID;
    uint32_t wrong;

    if (!fits(info->operands, i->operand_count, i->operands, first, &wrong))
        return bl_kir_broken(c, i, "operand %u does not fit '%s'", wrong, info->operands);
    if (!fits(info->results, i->result_count, i->results, first, &wrong))
        return bl_kir_broken(c, i, "result %u does not fit '%s'", wrong, info->results);
    return true;
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

static bool check_fields(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    uint32_t allowed = bl_kir_op_attrs(i->op);

    for (uint32_t f = 0; f < BL_KIR_FIELD_COUNT; f++) {
        const struct bl_kir_field *field = &bl_kir_fields[f];
        uint8_t value = ((const uint8_t *)i->attr)[field->offset];
        if (value && !(allowed & (uint32_t)1 << f))
            return bl_kir_broken(c, i, "this op has no attribute of the kind of '%s'", field->words[field->count - 1]);
        if (value && (value < field->first || value - field->first >= field->count))
            return bl_kir_broken(c, i, "%u is no attribute of the kind of '%s'", value, field->words[field->count - 1]);
    }
    return true;
}

static bool check_others(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    const struct bl_kir_attr *a = i->attr;
    uint32_t allowed = bl_kir_op_attrs(i->op);
    bool var = i->op == BL_KIR_OP_getvar || i->op == BL_KIR_OP_setvar;

    if ((a->imm && !(allowed & BL_KIR_HAS_IMM)) || (a->imm_hi && i->op != BL_KIR_OP_const))
        return bl_kir_broken(c, i, "this op has no number");
    if (!a->symbol != !(allowed & BL_KIR_HAS_SYMBOL))
        return bl_kir_broken(c, i, "a symbol stands where none may, or is missing");
    if (!a->func != (i->op != BL_KIR_OP_call && i->op != BL_KIR_OP_funcaddr))
        return bl_kir_broken(c, i, "a function stands where none may, or is missing");
    if (!a->proto && i->op == BL_KIR_OP_call_indirect)
        return bl_kir_broken(c, i, "an indirect call has a prototype");
    if (a->proto && i->op != BL_KIR_OP_call_indirect && i->op != BL_KIR_OP_call)
        return bl_kir_broken(c, i, "only calls have a prototype");
    if (!a->var != !var)
        return bl_kir_broken(c, i, "a variable stands where none may, or is missing");
    if (!a->text != (i->op != BL_KIR_OP_unsupported))
        return bl_kir_broken(c, i, "a text stands where none may, or is missing");
    if (a->align && (!(allowed & BL_KIR_HAS_ALIGN) || !is_power_of_two(a->align)))
        return bl_kir_broken(c, i, "the alignment must be a power of two, of an access or alloca");
    if (a->vec > 1 && !(allowed & BL_KIR_HAS_VEC))
        return bl_kir_broken(c, i, "this op has no elements");
    if (a->sreg && i->op != BL_KIR_OP_sreg)
        return bl_kir_broken(c, i, "only sreg reads a special register");
    return true;
}

/* ---- by op ------------------------------------------------------------------------------------------------ */

static bool check_const(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    uint32_t bits = bl_kir_type_bits(i->results[0]->type);

    if ((bits < 128 && i->attr->imm_hi) || (bits < 64 && i->attr->imm >> bits))
        return bl_kir_broken(c, i, "the number has bits past its type's width");
    return true;
}

static bool check_sreg(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    if (i->attr->sreg >= BL_KIR_SREG_COUNT)
        return bl_kir_broken(c, i, "%u is no special register", i->attr->sreg);
    return true;
}

static bool check_var(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    const struct bl_kir_var *var = i->attr->var;
    enum bl_kir_type type = i->op == BL_KIR_OP_getvar ? i->results[0]->type : i->operands[0]->type;

    if (var->id >= c->func->vars.count || c->func->vars.items[var->id] != var)
        return bl_kir_broken(c, i, "the variable is not this function's");
    if (type != var->type)
        return bl_kir_broken(c, i, "the variable has another type");
    return true;
}

static bool check_conversion(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    uint32_t from = bl_kir_type_bits(i->operands[0]->type), to = bl_kir_type_bits(i->results[0]->type);

    if (i->op == BL_KIR_OP_trunc && to >= from)
        return bl_kir_broken(c, i, "trunc goes to fewer bits");
    if ((i->op == BL_KIR_OP_sext || i->op == BL_KIR_OP_zext) && to <= from)
        return bl_kir_broken(c, i, "an extension goes to more bits");
    if (i->op == BL_KIR_OP_bitcast && to != from)
        return bl_kir_broken(c, i, "bitcast keeps the number of bits");
    return true;
}

static bool check_parts(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    bool pack = i->op == BL_KIR_OP_pack;
    uint32_t count = pack ? i->operand_count : i->result_count;
    struct bl_kir_value **parts = pack ? i->operands : i->results;
    const struct bl_kir_value *whole = pack ? i->results[0] : i->operands[0];

    if (count == 0)
        return bl_kir_broken(c, i, "parts are missing");
    for (uint32_t p = 0; p < count; p++)
        if (parts[p]->type != parts[0]->type)
            return bl_kir_broken(c, i, "the parts have one type");
    if ((uint64_t)count * bl_kir_type_bits(parts[0]->type) != bl_kir_type_bits(whole->type))
        return bl_kir_broken(c, i, "the parts have as many bits as the whole");
    return true;
}

static bool check_compare(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_cmp cmp = i->attr->cmp;
    enum bl_kir_type type = i->operands[0]->type;
    bool packed = type == BL_KIR_F16X2 || type == BL_KIR_BF16X2;

    if (i->op == BL_KIR_OP_icmp && cmp > BL_KIR_HS)
        return bl_kir_broken(c, i, "not a comparison of integers");
    if (i->op != BL_KIR_OP_icmp && cmp >= BL_KIR_LO && cmp <= BL_KIR_HS)
        return bl_kir_broken(c, i, "not a comparison of floats");
    if (i->op != BL_KIR_OP_icmp && packed != (i->op == BL_KIR_OP_fcmp2))
        return bl_kir_broken(c, i, "fcmp2 compares packed floats, fcmp the others");
    return true;
}

static bool check_logic(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_type type = i->operands[0]->type;
    if (type != BL_KIR_PRED && !bl_kir_type_is_int(type))
        return bl_kir_broken(c, i, "logic is for integers and preds");
    return true;
}

/* ---- memory ------------------------------------------------------------------------------------------------- */

static bool check_address(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_space space = i->attr->space;

    if (space == BL_KIR_PARAM && (i->op != BL_KIR_OP_load || !c->func->is_kernel))
        return bl_kir_broken(c, i, "only a kernel has parameters in memory, and only reads them");
    if (space == BL_KIR_CONST && (bl_kir_ops[i->op].flags & BL_KIR_WRITE))
        return bl_kir_broken(c, i, "constant memory is only read");
    if (i->operands[0]->type == BL_KIR_I32 && space != BL_KIR_SHARED && space != BL_KIR_LOCAL && space != BL_KIR_PARAM)
        return bl_kir_broken(c, i, "an address in this space has 64 bits");
    return true;
}

static bool check_elements(struct bl_kir_check *c, const struct bl_kir_instr *i, uint32_t count, struct bl_kir_value *const *values)
{
    uint32_t vec = i->attr->vec;

    if (vec != 1 && vec != 2 && vec != 4 && vec != 8)
        return bl_kir_broken(c, i, "a vector has 1, 2, 4 or 8 elements");
    if (count != vec)
        return bl_kir_broken(c, i, "there are %u values for %u elements", count, vec);
    for (uint32_t n = 0; n < count; n++)
        if (values[n]->type != (enum bl_kir_type)i->attr->type)
            return bl_kir_broken(c, i, "element %u has not the type that the op names", n);
    if (i->attr->type == BL_KIR_PRED)
        return bl_kir_broken(c, i, "memory holds no preds");
    return true;
}

static bool check_load_order(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_order order = i->attr->order;
    if (order == BL_KIR_ACQ_REL || order == (i->op == BL_KIR_OP_load ? BL_KIR_RELEASE : BL_KIR_ACQUIRE))
        return bl_kir_broken(c, i, "a load has no release, a store no acquire");
    return true;
}

static bool check_access(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    bool load = i->op == BL_KIR_OP_load;

    if (!check_address(c, i) || !check_load_order(c, i))
        return false;
    return load ? check_elements(c, i, i->result_count, i->results) : check_elements(c, i, i->operand_count - 1, i->operands + 1);
}

static bool check_param(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    uint64_t size = (uint64_t)i->attr->vec * (bl_kir_type_bits(i->attr->type) / 8);

    if (!c->func->is_kernel)
        return bl_kir_broken(c, i, "param is for kernels");
    if (!check_elements(c, i, i->result_count, i->results))
        return false;
    if (i->attr->imm > UINT32_MAX || (c->func->param_bytes && i->attr->imm + size > c->func->param_bytes))
        return bl_kir_broken(c, i, "the offset is past the parameters");
    return true;
}

static bool check_atomic(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_type type = i->attr->type;
    uint32_t wanted = i->attr->atom == BL_KIR_ATOM_CAS ? 3 : 2;
    bool real = i->attr->atom == BL_KIR_ATOM_FADD || i->attr->atom == BL_KIR_ATOM_FMIN || i->attr->atom == BL_KIR_ATOM_FMAX;
    bool any = i->attr->atom == BL_KIR_ATOM_EXCH || i->attr->atom == BL_KIR_ATOM_CAS;

    if (!check_address(c, i))
        return false;
    if (i->attr->space == BL_KIR_LOCAL)
        return bl_kir_broken(c, i, "local memory has no atomics");
    if (i->operand_count != wanted)
        return bl_kir_broken(c, i, "this atomic has %u operands", wanted);
    for (uint32_t k = 1; k < i->operand_count; k++)
        if (i->operands[k]->type != type)
            return bl_kir_broken(c, i, "operand %u has not the type that the op names", k);
    if (i->result_count && i->results[0]->type != type)
        return bl_kir_broken(c, i, "the result has not the type that the op names");
    if (!any && real != bl_kir_type_is_float(type))
        return bl_kir_broken(c, i, "fadd, fmin and fmax are for floats, the others for integers");
    return true;
}

/* ---- warps, calls, ends --------------------------------------------------------------------------------------- */

static bool check_vote(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    enum bl_kir_vote vote = i->attr->vote;
    bool number = vote == BL_KIR_VOTE_BALLOT || vote == BL_KIR_VOTE_POPC;

    if (i->results[0]->type != (number ? BL_KIR_I32 : BL_KIR_PRED))
        return bl_kir_broken(c, i, "ballot and popc give i32, the others pred");
    if (vote == (i->op == BL_KIR_OP_vote ? BL_KIR_VOTE_POPC : BL_KIR_VOTE_BALLOT) ||
        (i->op == BL_KIR_OP_barrier_red && vote == BL_KIR_VOTE_UNI))
        return bl_kir_broken(c, i, "not a vote of this op");
    return true;
}

static bool check_values(struct bl_kir_check *c, const struct bl_kir_instr *i, const char *what, uint32_t count,
                         struct bl_kir_value *const *values, uint32_t wanted, const enum bl_kir_type *types)
{
    if (count != wanted)
        return bl_kir_broken(c, i, "there are %u %s, the prototype says %u", count, what, wanted);
    for (uint32_t n = 0; n < count; n++)
        if (values[n]->type != types[n])
            return bl_kir_broken(c, i, "%s: number %u has not the type of the prototype", what, n);
    return true;
}

static bool check_call(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    const struct bl_kir_proto *proto = i->op == BL_KIR_OP_call ? &i->attr->func->proto : i->attr->proto;
    uint32_t skip = i->op == BL_KIR_OP_call ? 0 : 1;

    if (i->op == BL_KIR_OP_call && i->attr->func->is_kernel)
        return bl_kir_broken(c, i, "a kernel is not called");
    if (i->op == BL_KIR_OP_call && i->attr->func->module != c->module)
        return bl_kir_broken(c, i, "the function is of another module");
    return check_values(c, i, "arguments", i->operand_count - skip, i->operands + skip, proto->param_count, proto->params) &&
           check_values(c, i, "results", i->result_count, i->results, proto->result_count, proto->results);
}

static bool check_ret(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    const struct bl_kir_proto *proto = &c->func->proto;
    return check_values(c, i, "results", i->operand_count, i->operands, proto->result_count, proto->results);
}

static bool check_select(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    if (i->operands[1]->type != i->results[0]->type || i->operands[2]->type != i->results[0]->type)
        return bl_kir_broken(c, i, "both choices have the type of the result");
    return true;
}

static bool check_frame(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    if (i->attr->imm > c->func->frame_size)
        return bl_kir_broken(c, i, "the offset is past the frame");
    return true;
}

static bool check_lop3(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    return i->attr->imm <= 0xff || bl_kir_broken(c, i, "the table has 8 bits");
}

static bool check_saturation(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    return !i->attr->sat || i->results[0]->type == BL_KIR_I32 || bl_kir_broken(c, i, "only i32 saturates");
}

static bool check_redux(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    switch (i->attr->atom) {
    case BL_KIR_ATOM_ADD:
    case BL_KIR_ATOM_MIN_S:
    case BL_KIR_ATOM_MIN_U:
    case BL_KIR_ATOM_MAX_S:
    case BL_KIR_ATOM_MAX_U:
    case BL_KIR_ATOM_AND:
    case BL_KIR_ATOM_OR:
    case BL_KIR_ATOM_XOR:
        return true;
    default:
        return bl_kir_broken(c, i, "redux reduces with add, min, max, and, or, xor");
    }
}

static bool check_by_op(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_const:
        return check_const(c, i);
    case BL_KIR_OP_sreg:
        return check_sreg(c, i);
    case BL_KIR_OP_frame:
        return check_frame(c, i);
    case BL_KIR_OP_getvar:
    case BL_KIR_OP_setvar:
        return check_var(c, i);
    case BL_KIR_OP_add:
    case BL_KIR_OP_sub:
        return check_saturation(c, i);
    case BL_KIR_OP_and:
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
    case BL_KIR_OP_not:
        return check_logic(c, i);
    case BL_KIR_OP_lop3:
        return check_lop3(c, i);
    case BL_KIR_OP_icmp:
    case BL_KIR_OP_fcmp:
    case BL_KIR_OP_fcmp2:
        return check_compare(c, i);
    case BL_KIR_OP_select:
        return check_select(c, i);
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_bitcast:
        return check_conversion(c, i);
    case BL_KIR_OP_pack:
    case BL_KIR_OP_unpack:
        return check_parts(c, i);
    case BL_KIR_OP_load:
    case BL_KIR_OP_store:
        return check_access(c, i);
    case BL_KIR_OP_param:
        return check_param(c, i);
    case BL_KIR_OP_atomic:
    case BL_KIR_OP_reduce:
        return check_atomic(c, i);
    case BL_KIR_OP_vote:
    case BL_KIR_OP_barrier_red:
        return check_vote(c, i);
    case BL_KIR_OP_redux:
        return check_redux(c, i);
    case BL_KIR_OP_call:
    case BL_KIR_OP_call_indirect:
        return check_call(c, i);
    case BL_KIR_OP_ret:
        return check_ret(c, i);
    default:
        return true;
    }
}

bool bl_kir_check_op(struct bl_kir_check *c, const struct bl_kir_instr *i)
{
    return check_signature(c, i) && check_fields(c, i) && check_others(c, i) && check_by_op(c, i);
}
