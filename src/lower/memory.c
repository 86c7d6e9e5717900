/* Memory: ld, ldu, st, atom, red, fences, prefetch, cp.async. PTX ISA, 9.7.9 (ld, st) and 9.7.13 (atom, red, fence). */
#include "lower/internal.h"

enum bl_kir_space bl_lower_space_of(const struct bl_ptx_instr *i)
{
    for (uint32_t m = 0; m < i->mod_count; m++)
        switch (i->mods[m]) {
        case BL_PTX_MOD_global:
            return BL_KIR_GLOBAL;
        case BL_PTX_MOD_shared:
        case BL_PTX_MOD_shared_cta:
        case BL_PTX_MOD_shared_cluster: /* another CTA's memory lies beside (cluster.c) */
            return BL_KIR_SHARED;
        case BL_PTX_MOD_local:
            return BL_KIR_LOCAL;
        case BL_PTX_MOD_const:
            return BL_KIR_CONST;
        case BL_PTX_MOD_param:
        case BL_PTX_MOD_param_entry:
        case BL_PTX_MOD_param_func:
            return BL_KIR_PARAM;
        default:
            break;
        }
    return BL_KIR_GENERIC;
}

/* ---- what an access says ------------------------------------------------------------------------ */

static enum bl_kir_scope scope_of(const struct bl_ptx_instr *i, enum bl_kir_scope otherwise)
{
    if (HAS(sys))
        return BL_KIR_SCOPE_SYS;
    if (HAS(gpu) || HAS(gl))
        return BL_KIR_SCOPE_GPU;
    if (HAS(cluster))
        return BL_KIR_SCOPE_CLUSTER;
    return HAS(cta) ? BL_KIR_SCOPE_CTA : otherwise;
}

static enum bl_kir_order order_of(const struct bl_ptx_instr *i, enum bl_kir_order otherwise)
{
    if (HAS(volatile) || HAS(mmio) || HAS(cv) || HAS(wt))
        return BL_KIR_VOLATILE;
    if (HAS(acq_rel))
        return BL_KIR_ACQ_REL;
    if (HAS(acquire))
        return BL_KIR_ACQUIRE;
    if (HAS(release))
        return BL_KIR_RELEASE;
    if (HAS(sc))
        return BL_KIR_SEQ_CST;
    return HAS(relaxed) ? BL_KIR_RELAXED : otherwise;
}

static uint32_t vector_count(const struct bl_ptx_instr *i)
{
    return HAS(v8) ? 8 : HAS(v4) ? 4 : HAS(v2) ? 2 : 1;
}

/* attr of a load or store; the whole vector must be aligned to its size (PTX ISA, 6.4.1). */
static struct bl_kir_attr access_attr(const struct bl_ptx_instr *i, enum bl_kir_type type, const struct bl_lower_address *address)
{
    struct bl_kir_attr attr = {.type = (uint8_t)type, .vec = (uint8_t)vector_count(i), .space = (uint8_t)address->space};
    bool streaming = HAS(cs) || HAS(lu) || HAS(L1_no_allocate) || HAS(L1_evict_first);

    attr.imm = (uint64_t)address->offset;
    attr.align = bl_kir_type_bits(type) / 8 * attr.vec;
    attr.order = (uint8_t)order_of(i, BL_KIR_WEAK);
    if (attr.order != BL_KIR_WEAK)
        attr.scope = (uint8_t)scope_of(i, BL_KIR_SCOPE_SYS);
    attr.cache = streaming ? BL_KIR_CACHE_STREAMING : BL_KIR_CACHE_DEFAULT;
    attr.nc = HAS(nc) || i->op == BL_PTX_OP_ldu;
    return attr;
}

/* The n-th element of a vector operand; the operand itself where there is one element. */
static const struct bl_ptx_operand *element(const struct bl_ptx_operand *operand, uint32_t n)
{
    return operand->kind == BL_PTX_VECTOR ? &operand->items[n] : operand;
}

static bool has_elements(const struct bl_ptx_operand *operand, uint32_t count)
{
    return count == 1 ? operand->kind != BL_PTX_VECTOR || operand->item_count == 1
                      : operand->kind == BL_PTX_VECTOR && operand->item_count == count;
}

/* An address that is no scalar parameter. */
static bool plain_address(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_space space,
                          struct bl_lower_address *address)
{
    return bl_lower_address(l, operand, space, space == BL_KIR_PARAM, address) && address->kind == BL_LOWER_NOWHERE;
}

/* ---- parts of scalar parameters -------------------------------------------------------------------- */

static bool part_fits(struct bl_kir_value *whole, int64_t offset, enum bl_kir_type type)
{
    uint32_t bits = bl_kir_type_bits(whole->type);
    return whole->type != BL_KIR_PRED && offset >= 0 && offset < 16 && (uint32_t)offset * 8 + bl_kir_type_bits(type) <= bits;
}

struct bl_kir_value *bl_lower_part(struct bl_lower *l, struct bl_kir_value *whole, int64_t offset, enum bl_kir_type type)
{
    if (!part_fits(whole, offset, type))
        return bl_lower_refuse(l, type, "an access past the end of a parameter");
    if (offset) {
        whole = bl_lower_resize(l, whole, bl_kir_type_int(bl_kir_type_bits(whole->type)), false);
        whole = bl_lower_op(l, BL_KIR_OP_lshr, NULL, whole->type, whole, bl_lower_const(l, BL_KIR_I32, (uint64_t)offset * 8), NULL);
    }
    return bl_lower_resize(l, whole, type, false);
}

struct bl_kir_value *bl_lower_set_part(struct bl_lower *l, struct bl_kir_value *whole, int64_t offset, struct bl_kir_value *part)
{
    uint32_t bits = bl_kir_type_bits(whole->type), part_bits = bl_kir_type_bits(part->type);
    enum bl_kir_type type = bl_kir_type_int(bits), old = whole->type;
    struct bl_kir_value *mask, *count;

    if (part_bits == bits && offset == 0)
        return bl_lower_resize(l, part, old, false);
    if (bits > 64 || !part_fits(whole, offset, part->type))
        return bl_lower_refuse(l, old, "an access past the end of a parameter");
    count = bl_lower_const(l, BL_KIR_I32, (uint64_t)offset * 8);
    mask = bl_lower_const(l, type, ~(((UINT64_C(1) << part_bits) - 1) << (offset * 8)));
    whole = bl_lower_op(l, BL_KIR_OP_and, NULL, type, bl_lower_resize(l, whole, type, false), mask, NULL);
    part = bl_lower_op(l, BL_KIR_OP_shl, NULL, type, bl_lower_resize(l, part, type, false), count, NULL);
    return bl_lower_resize(l, bl_lower_op(l, BL_KIR_OP_or, NULL, type, whole, part, NULL), old, false);
}

/* ---- ld, st ------------------------------------------------------------------------------------------ */

static bool load_from_var(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_lower_address *address,
                          enum bl_kir_type type)
{
    struct bl_kir_value *whole = bl_kir_getvar(&l->b, address->place->var);
    for (uint32_t n = 0; n < vector_count(i); n++) {
        int64_t offset = address->offset + (int64_t)n * bl_kir_type_bits(type) / 8;
        bl_lower_write(l, element(&i->operands[0], n), bl_lower_part(l, whole, offset, type), bl_lower_is_signed(i->types[0]));
    }
    return true;
}

/* A strong access of a vector of at most 128 bits is one access of an integer: threads that meet in memory by such a pair, a value
 * and its state, count on never seeing half of a store, and a GPU never shows it. Threads of one CTA never see half of anything
 * that a processor stores, so wide ones in its own memory stay as they are. VOID: nothing to join. */
static enum bl_kir_type joined_type(const struct bl_kir_attr *attr)
{
    uint32_t bits = bl_kir_type_bits(attr->type) * attr->vec;
    uint32_t most = attr->space == BL_KIR_SHARED || attr->space == BL_KIR_LOCAL ? 64 : 128;
    return attr->order != BL_KIR_WEAK && attr->vec > 1 && bits <= most ? bl_kir_type_int(bits) : BL_KIR_VOID;
}

static void load_joined(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_attr attr, struct bl_kir_value *base)
{
    enum bl_kir_type part = attr.type, whole = joined_type(&attr);
    uint32_t count = attr.vec;

    attr.type = (uint8_t)whole;
    attr.vec = 1;
    struct bl_kir_value *value = bl_lower_op(l, BL_KIR_OP_load, &attr, whole, base, NULL, NULL);
    struct bl_kir_instr *parts = bl_lower_unpack(l, value, part);
    for (uint32_t n = 0; n < count; n++)
        bl_lower_write(l, element(&i->operands[0], n), parts->results[n], bl_lower_is_signed(i->types[0]));
}

bool bl_lower_ld(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]), types[8];
    enum bl_kir_space space = bl_lower_space_of(i);
    struct bl_lower_address address;
    struct bl_kir_instr *load;
    struct bl_kir_attr attr;

    if (type == BL_KIR_VOID || type == BL_KIR_PRED || !has_elements(&i->operands[0], vector_count(i)) ||
        !bl_lower_address(l, &i->operands[1], space, space == BL_KIR_PARAM, &address))
        return false;
    if (address.kind == BL_LOWER_VAR)
        return load_from_var(l, i, &address, type);
    attr = access_attr(i, type, &address);
    for (uint32_t n = 0; n < attr.vec; n++)
        types[n] = type;
    if (address.kind == BL_LOWER_ENTRY) {
        attr = (struct bl_kir_attr){.imm = attr.imm, .type = attr.type, .vec = attr.vec, .align = attr.align};
        load = bl_kir_emit(&l->b, BL_KIR_OP_param, &attr, attr.vec, types, 0, NULL);
    } else if (joined_type(&attr) != BL_KIR_VOID) {
        load_joined(l, i, attr, address.base);
        return true;
    } else {
        load = bl_kir_emit(&l->b, BL_KIR_OP_load, &attr, attr.vec, types, 1, &address.base);
    }
    for (uint32_t n = 0; n < attr.vec; n++)
        bl_lower_write(l, element(&i->operands[0], n), load->results[n], bl_lower_is_signed(i->types[0]));
    return true;
}

static bool store_to_var(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_lower_address *address,
                         enum bl_kir_type type)
{
    struct bl_kir_var *var = address->place->var;
    for (uint32_t n = 0; n < vector_count(i); n++) {
        int64_t offset = address->offset + (int64_t)n * bl_kir_type_bits(type) / 8;
        struct bl_kir_value *part = bl_lower_read(l, element(&i->operands[1], n), type);
        bool whole = bl_kir_type_bits(type) == bl_kir_type_bits(var->type);
        struct bl_kir_value *old = whole && offset == 0 ? bl_lower_const(l, var->type, 0) : bl_kir_getvar(&l->b, var);
        bl_kir_setvar(&l->b, var, bl_lower_set_part(l, old, offset, part));
    }
    return true;
}

bool bl_lower_st(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    enum bl_kir_space space = bl_lower_space_of(i);
    struct bl_lower_address address;
    struct bl_kir_value *operands[9];
    struct bl_kir_attr attr;

    if (HAS(async) && HAS(mbarrier_complete_tx_bytes))
        return bl_lower_st_async(l, i);
    if (HAS(async) || HAS(bulk) || type == BL_KIR_VOID || type == BL_KIR_PRED || !has_elements(&i->operands[1], vector_count(i)) ||
        !bl_lower_address(l, &i->operands[0], space, space == BL_KIR_PARAM, &address) || address.kind == BL_LOWER_ENTRY)
        return false;
    if (address.kind == BL_LOWER_VAR)
        return store_to_var(l, i, &address, type);
    attr = access_attr(i, type, &address);
    operands[0] = address.base;
    for (uint32_t n = 0; n < attr.vec; n++)
        operands[1 + n] = bl_lower_read(l, element(&i->operands[1], n), type);
    if (joined_type(&attr) != BL_KIR_VOID) {
        operands[1] = bl_lower_pack(l, joined_type(&attr), attr.vec, &operands[1]);
        attr.type = (uint8_t)joined_type(&attr);
        attr.vec = 1;
    }
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, attr.vec + 1u, operands);
    return true;
}

/* ---- atom, red ------------------------------------------------------------------------------------------ */

bool bl_lower_atom_of(const struct bl_ptx_instr *i, enum bl_kir_atom *atom)
{
    enum bl_ptx_type type = i->types[0];
    bool real = bl_lower_is_float(type), sign = bl_lower_is_signed(type);

    if (HAS(exch))
        *atom = BL_KIR_ATOM_EXCH;
    else if (HAS(cas))
        *atom = BL_KIR_ATOM_CAS;
    else if (HAS(add))
        *atom = real ? BL_KIR_ATOM_FADD : BL_KIR_ATOM_ADD;
    else if (HAS(inc))
        *atom = BL_KIR_ATOM_INC;
    else if (HAS(dec))
        *atom = BL_KIR_ATOM_DEC;
    else if (HAS(min))
        *atom = real ? BL_KIR_ATOM_FMIN : sign ? BL_KIR_ATOM_MIN_S : BL_KIR_ATOM_MIN_U;
    else if (HAS(max))
        *atom = real ? BL_KIR_ATOM_FMAX : sign ? BL_KIR_ATOM_MAX_S : BL_KIR_ATOM_MAX_U;
    else if (HAS(and))
        *atom = BL_KIR_ATOM_AND;
    else if (HAS(or))
        *atom = BL_KIR_ATOM_OR;
    else if (HAS(xor))
        *atom = BL_KIR_ATOM_XOR;
    else
        return false;
    return true;
}

static struct bl_kir_attr atomic_attr(const struct bl_ptx_instr *i, enum bl_kir_type type, enum bl_kir_atom atom,
                                      const struct bl_lower_address *address)
{
    struct bl_kir_attr attr = {.type = (uint8_t)type, .space = (uint8_t)address->space, .atom = (uint8_t)atom};
    attr.imm = (uint64_t)address->offset;
    attr.align = bl_kir_type_bits(type) / 8;
    attr.order = (uint8_t)order_of(i, BL_KIR_RELAXED);
    attr.scope = (uint8_t)scope_of(i, BL_KIR_SCOPE_GPU);
    return attr;
}

/* Vector forms are one atomic an element: PTX promises no more. */
static bool atomic(struct bl_lower *l, const struct bl_ptx_instr *i, bool result)
{
    enum bl_kir_type type = bl_lower_type(i->types[0]);
    uint32_t count = vector_count(i), first = result ? 1 : 0;
    struct bl_lower_address address;
    enum bl_kir_atom atom;
    struct bl_kir_attr attr;
    struct bl_kir_value *operands[3], *old;

    if (HAS(async) || type == BL_KIR_VOID || !bl_lower_atom_of(i, &atom) ||
        i->operand_count < first + (atom == BL_KIR_ATOM_CAS ? 3 : 2) || !has_elements(&i->operands[first + 1], count) ||
        (result && count > 1 && !has_elements(&i->operands[0], count)) ||
        !plain_address(l, &i->operands[first], bl_lower_space_of(i), &address))
        return false;
    attr = atomic_attr(i, type, atom, &address);
    operands[0] = address.base;
    for (uint32_t n = 0; n < count; n++) {
        operands[1] = bl_lower_read(l, element(&i->operands[first + 1], n), type);
        if (atom == BL_KIR_ATOM_CAS)
            operands[2] = bl_lower_read(l, &i->operands[first + 2], type);
        if (result) {
            old = bl_kir_emit(&l->b, BL_KIR_OP_atomic, &attr, 1, &type, atom == BL_KIR_ATOM_CAS ? 3 : 2, operands)->results[0];
            bl_lower_write(l, count > 1 ? element(&i->operands[0], n) : &i->operands[0], old, bl_lower_is_signed(i->types[0]));
        } else {
            bl_kir_emit(&l->b, BL_KIR_OP_reduce, &attr, 0, NULL, 2, operands);
        }
        attr.imm += bl_kir_type_bits(type) / 8;
    }
    return true;
}

bool bl_lower_atom(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    return atomic(l, i, true);
}

bool bl_lower_red(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    if (HAS(async) && HAS(mbarrier_complete_tx_bytes))
        return bl_lower_st_async(l, i);
    return atomic(l, i, false);
}

/* ---- fences and hints -------------------------------------------------------------------------------------- */

/* membar.LEVEL is fence.sc at that scope; a proxy fence orders accesses that all take one path here. */
bool bl_lower_fence(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sc = HAS(sc) || (i->op == BL_PTX_OP_membar && !HAS(proxy));
    struct bl_kir_attr attr = {.order = sc ? BL_KIR_SEQ_CST : (uint8_t)order_of(i, BL_KIR_ACQ_REL)};

    attr.scope = (uint8_t)scope_of(i, BL_KIR_SCOPE_SYS);
    bl_kir_emit(&l->b, BL_KIR_OP_fence, &attr, 0, NULL, 0, NULL);
    return true;
}

bool bl_lower_prefetch(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_lower_address address;
    struct bl_kir_attr attr = {0};

    if (HAS(tensormap))
        return true;
    if (!plain_address(l, &i->operands[0], bl_lower_space_of(i), &address))
        return false;
    attr.space = (uint8_t)address.space;
    attr.imm = (uint64_t)address.offset;
    bl_kir_emit(&l->b, BL_KIR_OP_prefetch, &attr, 0, NULL, 1, &address.base);
    return true;
}

/* createpolicy: a hint for caches; any value will do. */
bool bl_lower_zero(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_lower_write(l, &i->operands[0], bl_lower_const(l, bl_lower_register_type(&i->operands[0]), 0), false);
    return true;
}

/* ---- cp.async ------------------------------------------------------------------------------------------------- */

/* Copies are done at once: an asynchronous copy may complete at any time before its wait. */
struct copy {
    struct bl_lower_address to, from;
    uint32_t size; /* 4, 8 or 16 */
};

static struct bl_kir_value *copy_load(struct bl_lower *l, const struct copy *copy, enum bl_kir_type type, struct bl_kir_value *base,
                                      uint32_t offset, uint32_t align)
{
    struct bl_kir_attr attr = {.type = (uint8_t)type, .vec = 1, .space = (uint8_t)copy->from.space, .align = align};
    attr.imm = (uint64_t)copy->from.offset + offset;
    return bl_kir_emit(&l->b, BL_KIR_OP_load, &attr, 1, &type, 1, &base)->results[0];
}

static void copy_store(struct bl_lower *l, const struct copy *copy, struct bl_kir_value *base, uint32_t offset, uint32_t align,
                       struct bl_kir_value *value)
{
    struct bl_kir_attr attr = {.type = (uint8_t)value->type, .vec = 1, .space = (uint8_t)copy->to.space, .align = align};
    struct bl_kir_value *operands[2] = {base, value};
    attr.imm = (uint64_t)copy->to.offset + offset;
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
}

/* All of it: one or two words; zeros where `zero`. */
static void copy_whole(struct bl_lower *l, const struct copy *copy, bool zero)
{
    enum bl_kir_type type = copy->size == 4 ? BL_KIR_I32 : BL_KIR_I64, types[2] = {type, type};
    struct bl_kir_attr attr = {.type = (uint8_t)type, .vec = copy->size == 16 ? 2 : 1, .align = copy->size};
    struct bl_kir_value *operands[3] = {copy->to.base};
    struct bl_kir_instr *load = NULL;

    if (!zero) {
        attr.space = (uint8_t)copy->from.space;
        attr.imm = (uint64_t)copy->from.offset;
        load = bl_kir_emit(&l->b, BL_KIR_OP_load, &attr, attr.vec, types, 1, &copy->from.base);
    }
    for (uint32_t n = 0; n < attr.vec; n++)
        operands[1 + n] = load ? load->results[n] : bl_lower_const(l, type, 0);
    attr.space = (uint8_t)copy->to.space;
    attr.imm = (uint64_t)copy->to.offset;
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, attr.vec + 1u, operands);
}

static struct bl_kir_value *moved(struct bl_lower *l, struct bl_kir_value *base, struct bl_kir_value *by)
{
    return bl_lower_op(l, BL_KIR_OP_add, NULL, base->type, base, bl_lower_resize(l, by, base->type, false), NULL);
}

/* The first `bytes` bytes, then zeros: zeros first, then a loop over single bytes, which may not touch what lies after them. */
static void copy_some(struct bl_lower *l, const struct copy *copy, struct bl_kir_value *bytes)
{
    struct bl_kir_var *at = bl_kir_var_new(l->func, BL_KIR_I32, "cp.at");
    struct bl_kir_block *head = bl_kir_block_new(l->func, NULL), *body = bl_kir_block_new(l->func, NULL);
    struct bl_kir_block *done = bl_kir_block_new(l->func, NULL);
    struct bl_kir_value *index, *byte;

    copy_whole(l, copy, true);
    bl_kir_setvar(&l->b, at, bl_lower_const(l, BL_KIR_I32, 0));
    bl_kir_jump(&l->b, head);
    bl_lower_start_block(l, head);
    index = bl_kir_getvar(&l->b, at);
    bl_kir_branch(&l->b, bl_lower_compare(l, BL_KIR_LO, index, bytes), body, done);
    bl_lower_start_block(l, body);
    byte = copy_load(l, copy, BL_KIR_I8, moved(l, copy->from.base, index), 0, 1);
    copy_store(l, copy, moved(l, copy->to.base, index), 0, 1, byte);
    bl_kir_setvar(&l->b, at, bl_lower_op(l, BL_KIR_OP_add, NULL, BL_KIR_I32, index, bl_lower_const(l, BL_KIR_I32, 1), NULL));
    bl_kir_jump(&l->b, head);
    bl_lower_start_block(l, done);
}

static void copy_guarded(struct bl_lower *l, const struct copy *copy, struct bl_kir_value *whole, struct bl_kir_value *bytes)
{
    struct bl_kir_block *all = bl_kir_block_new(l->func, NULL), *less = bl_kir_block_new(l->func, NULL);
    struct bl_kir_block *after = bl_kir_block_new(l->func, NULL);

    bl_kir_branch(&l->b, whole, all, less);
    bl_lower_start_block(l, all);
    copy_whole(l, copy, false);
    bl_kir_jump(&l->b, after);
    bl_lower_start_block(l, less);
    if (bytes)
        copy_some(l, copy, bytes);
    else
        copy_whole(l, copy, true);
    bl_kir_jump(&l->b, after);
    bl_lower_start_block(l, after);
}

/* cp.async.ca.shared.global [to], [from], size{, src-size}{, cache-policy}  or  {, ignore-src} */
static bool copy_async(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    uint32_t extra = i->operand_count - (HAS(L2_cache_hint) ? 1 : 0);
    const struct bl_ptx_operand *last = &i->operands[3];
    struct copy copy = {.size = (uint32_t)i->operands[2].bits};
    struct bl_kir_value *value, *full;

    if (i->operand_count < 3 || i->operands[2].kind != BL_PTX_INT || (copy.size != 4 && copy.size != 8 && copy.size != 16) ||
        !plain_address(l, &i->operands[0], BL_KIR_SHARED, &copy.to) ||
        !plain_address(l, &i->operands[1], BL_KIR_GLOBAL, &copy.from))
        return false;
    if (extra == 3 || (last->kind == BL_PTX_INT && last->bits >= copy.size)) {
        copy_whole(l, &copy, false);
        return true;
    }
    if (bl_lower_register_type(last) == BL_KIR_PRED) {
        value = bl_lower_read(l, last, BL_KIR_PRED);
        copy_guarded(l, &copy, bl_lower_op(l, BL_KIR_OP_not, NULL, BL_KIR_PRED, value, NULL, NULL), NULL);
        return true;
    }
    value = bl_lower_read32(l, last);
    full = bl_lower_compare(l, BL_KIR_HS, value, bl_lower_const(l, BL_KIR_I32, copy.size));
    copy_guarded(l, &copy, full, value);
    return true;
}

bool bl_lower_cp(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    if (HAS(bulk))
        return bl_lower_bulk(l, i);
    if (!HAS(async) || HAS(reduce))
        return false;
    if (HAS(mbarrier))
        return bl_lower_copy_arrive(l, i);
    if (HAS(commit_group) || HAS(wait_group) || HAS(wait_all))
        return true;
    return copy_async(l, i);
}
