/* One kir function to an LLVM function: values and their slots, blocks, masks, and the way of control through them. The scheme
 * stands in function.h. Needs preds, dominators, loops and divergence of the function. */
#include "target/cpu/function.h"

/* ---- small tools ------------------------------------------------------------------------------ */

static LLVMTypeRef int_type(const struct bl_cg_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}

static LLVMTypeRef mask_type(const struct bl_cg_func *f)
{
    return LLVMVectorType(int_type(f, 1), BL_WARP);
}

LLVMBasicBlockRef bl_cg_block(struct bl_cg_func *f, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->cg->context, f->function, name);
}

/* Puts the builder into the entry block, which stays open until the function is done; gives where it was. */
static LLVMBasicBlockRef go_to_entry(struct bl_cg_func *f)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(f->cg->builder);
    LLVMPositionBuilderAtEnd(f->cg->builder, f->entry);
    return here;
}

static void go_back(struct bl_cg_func *f, LLVMBasicBlockRef here)
{
    LLVMPositionBuilderAtEnd(f->cg->builder, here);
}

LLVMValueRef bl_cg_slot(struct bl_cg_func *f, LLVMTypeRef type, const char *name)
{
    LLVMBasicBlockRef here = go_to_entry(f);
    LLVMValueRef slot = LLVMBuildAlloca(f->cg->builder, type, name);
    /* An array of lanes is also written and read as a whole vector, which LLVM takes to be aligned to its size: 256 bytes for
     * 32 lanes of 64 bits. */
    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind)
        LLVMSetAlignment(slot, 256);
    go_back(f, here);
    return slot;
}

static LLVMValueRef load_slot(struct bl_cg_func *f, LLVMValueRef slot)
{
    return LLVMBuildLoad2(f->cg->builder, LLVMGetAllocatedType(slot), slot, "");
}

LLVMValueRef bl_cg_mask_bits(struct bl_cg_func *f, LLVMValueRef mask)
{
    return LLVMBuildBitCast(f->cg->builder, mask, int_type(f, 32), "");
}

LLVMValueRef bl_cg_mask_of(struct bl_cg_func *f, LLVMValueRef bits)
{
    return LLVMBuildBitCast(f->cg->builder, bits, mask_type(f), "");
}

static LLVMValueRef any_lane(struct bl_cg_func *f, LLVMValueRef mask)
{
    LLVMValueRef zero = LLVMConstInt(int_type(f, 32), 0, false);
    return LLVMBuildICmp(f->cg->builder, LLVMIntNE, bl_cg_mask_bits(f, mask), zero, "");
}

/* a and b, where b's lanes outside a may be poison. */
static LLVMValueRef mask_and(struct bl_cg_func *f, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(f->cg->builder, a, b, LLVMConstNull(mask_type(f)), "");
}

bool bl_cg_all_lanes(const struct bl_cg_func *f)
{
    return f->full && !f->at->region;
}

LLVMValueRef bl_cg_first_lane(struct bl_cg_func *f, LLVMValueRef bits)
{
    LLVMTypeRef i32 = int_type(f, 32);
    LLVMValueRef arguments[2] = {bits, LLVMConstInt(int_type(f, 1), 1, false)};
    return bl_cg_intrinsic(f->cg, "llvm.cttz", 1, &i32, 2, arguments);
}

LLVMValueRef bl_cg_warp_field(struct bl_cg_func *f, size_t offset, LLVMTypeRef type, bool constant)
{
    LLVMValueRef index = LLVMConstInt(int_type(f, 64), offset, false), load;
    LLVMValueRef pointer = LLVMBuildInBoundsGEP2(f->cg->builder, int_type(f, 8), f->warp, &index, 1, "");

    load = LLVMBuildLoad2(f->cg->builder, type, pointer, "");
    if (constant)
        bl_cg_mark_invariant(f, load);
    return load;
}

void bl_cg_mark_invariant(struct bl_cg_func *f, LLVMValueRef load)
{
    LLVMMetadataRef node = LLVMMDNodeInContext2(f->cg->context, NULL, 0);
    LLVMSetMetadata(load, f->unit->invariant_kind, LLVMMetadataAsValue(f->cg->context, node));
}

LLVMValueRef bl_cg_helper(struct bl_cg_func *f, size_t offset, LLVMTypeRef result, unsigned count, LLVMValueRef *arguments)
{
    LLVMTypeRef types[12], pointer = LLVMPointerTypeInContext(f->cg->context, 0);
    LLVMValueRef all[12], helpers, function, index = LLVMConstInt(int_type(f, 64), offset, false);

    types[0] = pointer;
    all[0] = f->warp;
    for (unsigned i = 0; i < count; i++) {
        all[i + 1] = arguments[i];
        types[i + 1] = LLVMTypeOf(arguments[i]);
    }
    helpers = BL_CG_FIELD(f, helpers, pointer);
    function =
        LLVMBuildLoad2(f->cg->builder, pointer, LLVMBuildInBoundsGEP2(f->cg->builder, int_type(f, 8), helpers, &index, 1, ""), "");
    bl_cg_mark_invariant(f, function);
    return LLVMBuildCall2(f->cg->builder, LLVMFunctionType(result, types, count + 1, false), function, all, count + 1, "");
}

void bl_cg_fault(struct bl_cg_func *f, LLVMValueRef lanes, enum bl_fault_kind kind, const char *text)
{
    LLVMValueRef arguments[3] = {lanes, LLVMConstInt(int_type(f, 32), kind, false), NULL};

    arguments[2] =
        text ? LLVMBuildGlobalStringPtr(f->cg->builder, text, "fault") : LLVMConstNull(LLVMPointerTypeInContext(f->cg->context, 0));
    BL_CG_HELPER(f, fault, LLVMVoidTypeInContext(f->cg->context), 3, arguments);
    LLVMBuildUnreachable(f->cg->builder);
}

/* ---- loops over lanes ---------------------------------------------------------------------------- */

void bl_cg_lanes_begin(struct bl_cg_func *f, LLVMValueRef bits, struct bl_cg_lanes *lanes)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    LLVMValueRef one = LLVMConstInt(int_type(f, 32), 1, false);

    lanes->head = bl_cg_block(f, "lane");
    lanes->after = bl_cg_block(f, "lanes.done");
    LLVMBuildBr(b, lanes->head);
    LLVMPositionBuilderAtEnd(b, lanes->head);
    lanes->bits = LLVMBuildPhi(b, int_type(f, 32), "");
    LLVMAddIncoming(lanes->bits, &bits, &before, 1);
    lanes->lane = bl_cg_first_lane(f, lanes->bits);
    lanes->rest = LLVMBuildAnd(b, lanes->bits, LLVMBuildSub(b, lanes->bits, one, ""), "");
}

void bl_cg_lanes_end(struct bl_cg_func *f, struct bl_cg_lanes *lanes)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMValueRef zero = LLVMConstInt(int_type(f, 32), 0, false);

    LLVMAddIncoming(lanes->bits, &lanes->rest, &here, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, lanes->rest, zero, ""), lanes->head, lanes->after);
    LLVMPositionBuilderAtEnd(b, lanes->after);
}

LLVMValueRef bl_cg_array(struct bl_cg_func *f, LLVMTypeRef vector_type, const char *name)
{
    return bl_cg_slot(f, vector_type, name); /* not an array: it would be aligned for its elements only */
}

LLVMValueRef bl_cg_element(struct bl_cg_func *f, LLVMTypeRef element, LLVMValueRef array, LLVMValueRef lane)
{
    return LLVMBuildInBoundsGEP2(f->cg->builder, element, array, &lane, 1, "");
}

/* ---- values --------------------------------------------------------------------------------------- */

/* Where a use in the current segment finds the value. */
enum place { HERE, SLOT, OUT_SLOT };

static enum place find_place(const struct bl_cg_func *f, const struct bl_cg_value *v)
{
    if (!v->segment || v->segment == f->at || (!v->segment->region && !f->at->region))
        return HERE;
    return v->out_slot && bl_cg_leaves(f, v->segment, f->at) ? OUT_SLOT : SLOT;
}

uint8_t bl_cg_form(const struct bl_cg_func *f, const struct bl_kir_value *value)
{
    const struct bl_cg_value *v = &f->values[value->id];
    return find_place(f, v) == OUT_SLOT ? (uint8_t)BL_KIR_SHAPE_VARYING : v->form;
}

static LLVMValueRef fetch(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    const struct bl_cg_value *v = &f->values[value->id];
    switch (find_place(f, v)) {
    case SLOT:
        return load_slot(f, v->slot);
    case OUT_SLOT:
        return load_slot(f, v->out_slot);
    default:
        return v->here;
    }
}

/* stride * lane, in each lane. */
static LLVMValueRef steps(struct bl_cg_func *f, enum bl_kir_type type, int64_t stride)
{
    LLVMTypeRef element = bl_cg_type(f->cg, type, 1);
    LLVMValueRef lanes[BL_WARP];
    for (int64_t i = 0; i < BL_WARP; i++)
        lanes[i] = LLVMConstInt(element, (uint64_t)i * (uint64_t)stride, false);
    return LLVMConstVector(lanes, BL_WARP);
}

static LLVMValueRef base_and_steps(struct bl_cg_func *f, enum bl_kir_type type, int64_t stride, LLVMValueRef base)
{
    return LLVMBuildAdd(f->cg->builder, bl_cg_splat(f->cg, base), steps(f, type, stride), "");
}

static const struct bl_kir_value *guard_of(const struct bl_cg_func *f, const struct bl_kir_value *value)
{
    return f->values[value->id].form == BL_KIR_SHAPE_AFFINE ? f->divergence->guard[value->id] : NULL;
}

static LLVMValueRef fetch_narrow(struct bl_cg_func *f, const struct bl_kir_value *guard)
{
    const struct bl_cg_value *g = &f->values[guard->id];
    return find_place(f, g) == HERE ? g->narrow : load_slot(f, g->narrow_slot);
}

/* The guard's value in each lane, whether it holds or not. */
static LLVMValueRef exact_guard(struct bl_cg_func *f, const struct bl_kir_value *guard)
{
    const struct bl_kir_value *from = guard->def->operands[0];
    LLVMValueRef narrow = base_and_steps(f, from->type, f->values[from->id].stride, fetch_narrow(f, guard));
    LLVMTypeRef type = bl_cg_type(f->cg, guard->type, BL_WARP);

    if (guard->def->op == BL_KIR_OP_sext)
        return LLVMBuildSExt(f->cg->builder, narrow, type, "");
    return LLVMBuildZExt(f->cg->builder, narrow, type, "");
}

static LLVMValueRef widen_as(struct bl_cg_func *f, const struct bl_kir_value *guard, LLVMValueRef narrow)
{
    LLVMTypeRef type = bl_cg_type(f->cg, guard->type, 1);
    if (guard->def->op == BL_KIR_OP_sext)
        return LLVMBuildSExt(f->cg->builder, narrow, type, "");
    return LLVMBuildZExt(f->cg->builder, narrow, type, "");
}

/* What a value misses in lanes where its guard has wrapped, in the guard's type. */
static LLVMValueRef correction(struct bl_cg_func *f, const struct bl_kir_value *guard, int64_t factor)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef base = widen_as(f, guard, fetch_narrow(f, guard)), wrapped;

    base = base_and_steps(f, guard->type, f->divergence->stride[guard->id], base);
    wrapped = LLVMBuildSub(b, exact_guard(f, guard), base, "");
    base = LLVMConstInt(bl_cg_type(f->cg, guard->type, 1), (uint64_t)factor, true);
    return LLVMBuildMul(b, wrapped, bl_cg_splat(f->cg, base), "");
}

LLVMValueRef bl_cg_lane_offset(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef lane)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i64 = int_type(f, 64);
    const struct bl_kir_value *guard = guard_of(f, value), *from = guard->def->operands[0];
    int64_t factor = f->values[value->id].factor, rest = f->values[value->id].stride - factor * f->divergence->stride[guard->id];
    LLVMTypeRef type = bl_cg_type(f->cg, from->type, 1);
    LLVMValueRef base = fetch_narrow(f, guard), here, steps_of;

    steps_of = LLVMConstInt(type, (uint64_t)f->values[from->id].stride, true);
    here = LLVMBuildAdd(b, base, LLVMBuildMul(b, LLVMBuildIntCast2(b, lane, type, false, ""), steps_of, ""), "");
    here = LLVMBuildSub(b, widen_as(f, guard, here), widen_as(f, guard, base), "");
    here = LLVMBuildIntCast2(b, here, i64, true, "");
    here = LLVMBuildMul(b, here, LLVMConstInt(i64, (uint64_t)factor, true), "");
    lane = LLVMBuildMul(b, LLVMBuildZExt(b, lane, i64, ""), LLVMConstInt(i64, (uint64_t)rest, true), "");
    return LLVMBuildAdd(b, here, lane, "");
}

LLVMValueRef bl_cg_guard(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    const struct bl_kir_value *guard = guard_of(f, value), *from;
    LLVMTypeRef type;
    LLVMIntPredicate test;
    int64_t reach;
    uint64_t edge;

    if (!guard)
        return NULL;
    from = guard->def->operands[0];
    type = bl_cg_type(f->cg, from->type, 1);
    reach = (BL_WARP - 1) * f->values[from->id].stride; /* strides here are those of 32 bits or fewer */
    if (guard->def->op == BL_KIR_OP_sext) {
        edge = UINT64_C(1) << (bl_kir_type_bits(from->type) - 1);
        edge = reach > 0 ? edge - 1 - (uint64_t)reach : edge - (uint64_t)reach;
        test = reach > 0 ? LLVMIntSLE : LLVMIntSGE;
    } else {
        edge = reach > 0 ? UINT64_MAX - (uint64_t)reach : (uint64_t)-reach;
        test = reach > 0 ? LLVMIntULE : LLVMIntUGE;
    }
    if (reach > INT32_MAX / 2 || reach < -INT32_MAX / 2)
        return LLVMConstInt(int_type(f, 1), 0, false);
    return LLVMBuildICmp(f->cg->builder, test, fetch_narrow(f, guard), LLVMConstInt(type, edge, false), "");
}

static LLVMValueRef spread(struct bl_cg_func *f, const struct bl_kir_value *value, uint8_t form, int64_t stride, LLVMValueRef llvm)
{
    const struct bl_kir_value *guard = form == BL_KIR_SHAPE_AFFINE ? f->divergence->guard[value->id] : NULL;
    LLVMValueRef missing;

    if (form == BL_KIR_SHAPE_VARYING)
        return llvm;
    if (form == BL_KIR_SHAPE_UNIFORM)
        return bl_cg_splat(f->cg, llvm);
    if (guard == value)
        return exact_guard(f, guard);
    llvm = base_and_steps(f, value->type, stride, llvm);
    if (!guard || bl_kir_type_bits(value->type) <= bl_kir_type_bits(guard->def->operands[0]->type))
        return llvm;
    missing = correction(f, guard, f->values[value->id].factor);
    return LLVMBuildAdd(f->cg->builder, llvm, LLVMBuildIntCast2(f->cg->builder, missing, LLVMTypeOf(llvm), true, ""), "");
}

LLVMValueRef bl_cg_vector(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    return spread(f, value, bl_cg_form(f, value), f->values[value->id].stride, fetch(f, value));
}

LLVMValueRef bl_cg_scalar(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    LLVMValueRef llvm = fetch(f, value);
    if (bl_cg_form(f, value) != BL_KIR_SHAPE_VARYING)
        return llvm;
    return LLVMBuildExtractElement(f->cg->builder, llvm, bl_cg_first_lane(f, bl_cg_mask_bits(f, f->at->mask)), "");
}

/* What lane 0 has, or would have, of a value that runs with the stride. */
static LLVMValueRef base_of(struct bl_cg_func *f, const struct bl_kir_value *value, int64_t stride)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef lane, first;
    LLVMTypeRef type = bl_cg_type(f->cg, value->type, 1);

    if (bl_cg_form(f, value) != BL_KIR_SHAPE_VARYING)
        return fetch(f, value);
    lane = bl_cg_first_lane(f, bl_cg_mask_bits(f, f->at->mask));
    first = LLVMBuildExtractElement(b, fetch(f, value), lane, "");
    lane = LLVMBuildIntCast2(b, lane, type, false, "");
    return LLVMBuildSub(b, first, LLVMBuildMul(b, lane, LLVMConstInt(type, (uint64_t)stride, true), ""), "");
}

static void store_blended(struct bl_cg_func *f, LLVMValueRef mask, LLVMValueRef llvm, LLVMValueRef slot)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBuildStore(b, LLVMBuildSelect(b, mask, llvm, load_slot(f, slot), ""), slot);
}

void bl_cg_define(struct bl_cg_func *f, const struct bl_kir_value *value, uint8_t form, int64_t stride, LLVMValueRef llvm)
{
    struct bl_cg_value *v = &f->values[value->id];
    bool vector = form == BL_KIR_SHAPE_VARYING;

    if (vector && f->divergence->shape[value->id] == BL_KIR_SHAPE_UNIFORM && !(f->spins && f->at->region)) {
        llvm = LLVMBuildExtractElement(f->cg->builder, llvm, bl_cg_first_lane(f, bl_cg_mask_bits(f, f->at->mask)), "");
        form = BL_KIR_SHAPE_UNIFORM;
        vector = false;
    }
    if (f->spins && f->at->region && v->crosses && !vector) {
        llvm = spread(f, value, form, stride, llvm);
        form = BL_KIR_SHAPE_VARYING;
        vector = true;
    }
    v->form = form;
    v->stride = stride;
    v->here = llvm;
    if (!v->crosses)
        return;
    if (!v->slot)
        v->slot = bl_cg_slot(f, LLVMTypeOf(llvm), "");
    if (vector && v->leaves)
        store_blended(f, f->at->mask, llvm, v->slot);
    else
        LLVMBuildStore(f->cg->builder, llvm, v->slot);
    if (vector || !v->leaves)
        return;
    llvm = spread(f, value, form, stride, llvm);
    if (!v->out_slot)
        v->out_slot = bl_cg_slot(f, LLVMTypeOf(llvm), "");
    store_blended(f, f->at->mask, llvm, v->out_slot);
}

void bl_cg_define_vector(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef vector)
{
    bl_cg_define(f, value, BL_KIR_SHAPE_VARYING, 0, vector);
}

void bl_cg_define_scalar(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef scalar)
{
    bl_cg_define(f, value, BL_KIR_SHAPE_UNIFORM, 0, scalar);
}

/* ---- which values cross ------------------------------------------------------------------------------ */

static void note_use(struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_cg_segment *user)
{
    struct bl_cg_value *v = &f->values[value->id];
    const struct bl_kir_value *guard = f->divergence->guard[value->id];

    v->used = true;
    if (guard && f->values[guard->id].segment != user && (f->values[guard->id].segment->region || user->region))
        f->values[guard->id].narrow_crosses = true;
    if (!v->segment || v->segment == user || (!v->segment->region && !user->region))
        return;
    v->crosses = true;
    v->leaves |= bl_cg_leaves(f, v->segment, user);
}

static void note_phi_uses(struct bl_cg_func *f, const struct bl_kir_instr *phi)
{
    for (uint32_t o = 0; o < phi->operand_count; o++) {
        struct bl_cg_segment *from = f->last_of_block[phi->block->preds.items[o]->id];
        if (from->order != UINT32_MAX)
            note_use(f, phi->operands[o], from);
    }
}

/* Same in every lane and all through the function: made in the entry block. */
static bool is_hoisted(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_const:
    case BL_KIR_OP_undef:
    case BL_KIR_OP_addrof:
    case BL_KIR_OP_funcaddr:
    case BL_KIR_OP_frame:
    case BL_KIR_OP_param:
        return true;
    case BL_KIR_OP_sreg:
        return i->attr->sreg < BL_KIR_SREG_CLOCK || i->attr->sreg > BL_KIR_SREG_GLOBALTIMER_HI;
    default:
        return false;
    }
}

static void note_segment(struct bl_cg_func *f, struct bl_cg_segment *s, bool definitions)
{
    for (struct bl_kir_instr *i = s->first; i != s->end; i = i->next) {
        for (uint32_t r = 0; r < i->result_count && definitions; r++)
            f->values[i->results[r]->id].segment = is_hoisted(f, i) ? NULL : s;
        if (definitions)
            continue;
        if (i->op == BL_KIR_OP_phi)
            note_phi_uses(f, i);
        for (uint32_t o = 0; o < i->operand_count && i->op != BL_KIR_OP_phi; o++)
            note_use(f, i->operands[o], s);
    }
    for (uint32_t o = 0; !definitions && s->end && !s->ends_lanes && o < s->end->operand_count; o++)
        note_use(f, s->end->operands[o], s);
}

static void find_crossings(struct bl_cg_func *f)
{
    for (uint32_t o = 0; o < f->order.count; o++)
        note_segment(f, f->order.items[o], true);
    for (uint32_t o = 0; o < f->order.count; o++)
        note_segment(f, f->order.items[o], false);
}

/* A phi's form must be known before the edges that fill it. */
static void make_phi_slots(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    for (struct bl_kir_instr *i = s->first; i && i->op == BL_KIR_OP_phi; i = i->next) {
        struct bl_kir_value *value = i->results[0];
        struct bl_cg_value *v = &f->values[value->id];
        v->form = f->spins && s->region ? (uint8_t)BL_KIR_SHAPE_VARYING : f->divergence->shape[value->id];
        v->stride = f->divergence->stride[value->id];
        v->phi_slot = bl_cg_slot(f, bl_cg_type(f->cg, value->type, v->form == BL_KIR_SHAPE_VARYING ? BL_WARP : 1), "phi");
    }
}

/* ---- leaving a segment ----------------------------------------------------------------------------- */

/* mask: the lanes that take the edge, or NULL: all that run the segment. */
static void fill_phi(struct bl_cg_func *f, const struct bl_kir_instr *phi, const struct bl_kir_value *operand, bool first,
                     LLVMValueRef mask)
{
    struct bl_cg_value *v = &f->values[phi->results[0]->id];
    LLVMValueRef llvm;

    if (v->form == BL_KIR_SHAPE_VARYING) {
        llvm = bl_cg_vector(f, operand);
        if (first)
            LLVMBuildStore(f->cg->builder, llvm, v->phi_slot);
        else
            store_blended(f, mask ? mask : f->at->mask, llvm, v->phi_slot);
        return;
    }
    llvm = base_of(f, operand, v->stride);
    if (mask && !first) /* lanes that came over another edge may wait with what it gave */
        llvm = LLVMBuildSelect(f->cg->builder, any_lane(f, mask), llvm, load_slot(f, v->phi_slot), "");
    LLVMBuildStore(f->cg->builder, llvm, v->phi_slot);
}

/* The place of edge number n of s among the target block's predecessors. */
static uint32_t pred_place(const struct bl_cg_segment *s, uint32_t n)
{
    const struct bl_kir_block *target = s->succs[n]->block;
    uint32_t before = 0, p;

    for (uint32_t k = 0; k < n; k++)
        before += s->succs[k] == s->succs[n];
    for (p = 0; p < target->preds.count; p++)
        if (target->preds.items[p] == s->block && before-- == 0)
            break;
    return p;
}

/* Values and waiting lanes for edge number n; no branch. */
static void take_edge(struct bl_cg_func *f, struct bl_cg_segment *s, uint32_t n, LLVMValueRef mask)
{
    struct bl_cg_segment *t = s->succs[n];
    LLVMValueRef lanes = mask ? mask : s->mask;
    bool first = bl_cg_is_first(f, s, n);

    if (!s->end && t->first->op == BL_KIR_OP_phi) {
        uint32_t place = pred_place(s, n);
        for (struct bl_kir_instr *i = t->first; i && i->op == BL_KIR_OP_phi; i = i->next)
            if (place < i->operand_count)
                fill_phi(f, i, i->operands[place], first, mask);
    }
    if (!t->region)
        return;
    if (!first)
        lanes = LLVMBuildOr(f->cg->builder, load_slot(f, t->pending), lanes, "");
    LLVMBuildStore(f->cg->builder, lanes, t->pending);
}

static LLVMBasicBlockRef after(const struct bl_cg_func *f, const struct bl_cg_segment *s)
{
    return s->region ? s->next : f->done;
}

static void yield(struct bl_cg_func *f)
{
    LLVMValueRef none = LLVMConstInt(int_type(f, 32), 0, false);
    BL_CG_HELPER(f, yield, LLVMVoidTypeInContext(f->cg->context), 1, &none);
    f->unit->info->flags |= BL_CPU_YIELDS;
}

/* All lanes of the segment take edge n: the rest of the way. */
static void go_all(struct bl_cg_func *f, struct bl_cg_segment *s, uint32_t n)
{
    struct bl_cg_segment *t = s->succs[n];

    take_edge(f, s, n, NULL);
    if (!s->region && t->order <= s->order && t->loop && t->loop->spins)
        yield(f);
    if (!s->region && t->region && t->joins)
        LLVMBuildBr(f->cg->builder, t->check);
    else if (!s->region || (t->region && bl_cg_may_skip(f, s, t)))
        LLVMBuildBr(f->cg->builder, t->run);
    else
        LLVMBuildBr(f->cg->builder, s->next);
}

/* After a divergent end, from a segment that all lanes ran: to the first segment that may have work. */
static void enter_region(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    struct bl_cg_segment *first = NULL;

    for (uint32_t n = 0; n < s->succ_count; n++) {
        struct bl_cg_segment *t = s->succs[n];
        if (t != s->meet && (!first || t->order < first->order))
            first = t;
    }
    LLVMBuildBr(f->cg->builder, first ? first->check : s->succs[0]->run);
}

static void leave_divergent(struct bl_cg_func *f, struct bl_cg_segment *s, LLVMValueRef *masks)
{
    for (uint32_t n = 0; n < s->succ_count; n++)
        take_edge(f, s, n, masks[n]);
    if (s->region)
        LLVMBuildBr(f->cg->builder, s->next);
    else
        enter_region(f, s);
}

static void emit_branch(struct bl_cg_func *f, struct bl_cg_segment *s, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef ways[2];
    LLVMValueRef condition, masks[2];

    if (s->divergent) {
        condition = bl_cg_vector(f, i->operands[0]);
        masks[0] = mask_and(f, s->mask, condition);
        masks[1] = mask_and(f, s->mask, LLVMBuildNot(b, condition, ""));
        leave_divergent(f, s, masks);
        return;
    }
    condition = bl_cg_scalar(f, i->operands[0]);
    ways[0] = bl_cg_block(f, "then");
    ways[1] = bl_cg_block(f, "else");
    LLVMBuildCondBr(b, condition, ways[0], ways[1]);
    for (uint32_t n = 0; n < 2; n++) {
        LLVMPositionBuilderAtEnd(b, ways[n]);
        go_all(f, s, n);
    }
}

/* An index past the list is undefined in PTX; here it takes the last way. */
static void emit_switch(struct bl_cg_func *f, struct bl_cg_segment *s, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    uint32_t count = s->succ_count;
    LLVMTypeRef i32 = int_type(f, 32);

    if (s->divergent) {
        LLVMValueRef index = bl_cg_vector(f, i->operands[0]), rest = s->mask;
        LLVMValueRef *masks = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, count);
        for (uint32_t n = 0; n + 1 < count; n++) {
            LLVMValueRef number = bl_cg_splat(f->cg, LLVMConstInt(i32, n, false));
            LLVMValueRef taken = LLVMBuildICmp(b, LLVMIntEQ, index, number, "");
            masks[n] = mask_and(f, rest, taken);
            rest = mask_and(f, rest, LLVMBuildNot(b, taken, ""));
        }
        masks[count - 1] = rest;
        leave_divergent(f, s, masks);
        return;
    }
    LLVMBasicBlockRef other = bl_cg_block(f, "case");
    LLVMValueRef choice = LLVMBuildSwitch(b, bl_cg_scalar(f, i->operands[0]), other, count);
    for (uint32_t n = 0; n < count; n++) {
        LLVMBasicBlockRef way = n + 1 == count ? other : bl_cg_block(f, "case");
        if (n + 1 < count)
            LLVMAddCase(choice, LLVMConstInt(i32, n, false), way);
        LLVMPositionBuilderAtEnd(b, way);
        go_all(f, s, n);
    }
}

/* For barriers of the cluster, which await only lanes that have not ended. */
static void note_exited(struct bl_cg_func *f, const struct bl_cg_segment *s)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->cg->context);
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(f->cg->context), offsetof(struct bl_cpu_warp, exited), false), at, old;

    if (!f->unit->clusters)
        return;
    at = LLVMBuildInBoundsGEP2(b, LLVMInt8TypeInContext(f->cg->context), f->warp, &index, 1, "");
    old = LLVMBuildLoad2(b, i32, at, "");
    LLVMBuildStore(b, LLVMBuildOr(b, old, bl_cg_mask_bits(f, s->mask), ""), at);
}

static void emit_return(struct bl_cg_func *f, struct bl_cg_segment *s, const struct bl_kir_instr *i)
{
    if (f->func->is_kernel)
        note_exited(f, s);
    for (uint32_t o = 0; o < i->operand_count && f->result_slots; o++) {
        LLVMValueRef llvm = bl_cg_vector(f, i->operands[o]);
        if (s->region)
            store_blended(f, s->mask, llvm, f->result_slots[o]);
        else
            LLVMBuildStore(f->cg->builder, llvm, f->result_slots[o]);
    }
    LLVMBuildBr(f->cg->builder, after(f, s));
}

static void emit_exit(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    note_exited(f, s);
    if (f->alive_slot) {
        LLVMValueRef left =
            LLVMBuildAnd(f->cg->builder, load_slot(f, f->alive_slot), LLVMBuildNot(f->cg->builder, s->mask, ""), "");
        LLVMBuildStore(f->cg->builder, left, f->alive_slot);
    }
    LLVMBuildBr(f->cg->builder, after(f, s));
}

static void emit_end(struct bl_cg_func *f, struct bl_cg_segment *s, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_jump:
        go_all(f, s, 0);
        break;
    case BL_KIR_OP_branch:
        emit_branch(f, s, i);
        break;
    case BL_KIR_OP_switch:
        emit_switch(f, s, i);
        break;
    case BL_KIR_OP_ret:
        emit_return(f, s, i);
        break;
    case BL_KIR_OP_exit:
        emit_exit(f, s);
        break;
    case BL_KIR_OP_trap:
        bl_cg_fault(f, bl_cg_mask_bits(f, s->mask), BL_FAULT_TRAP, NULL);
        break;
    default:
        bl_cg_fault(f, bl_cg_mask_bits(f, s->mask), BL_FAULT_ILLEGAL_INSTRUCTION, NULL);
        break;
    }
}

/* ---- instructions ------------------------------------------------------------------------------------ */

/* Before a guard is defined: keeps what it widens. */
static void keep_narrow(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    struct bl_cg_value *v = &f->values[i->results[0]->id];

    v->narrow = fetch(f, i->operands[0]);
    if (!v->narrow_crosses)
        return;
    if (!v->narrow_slot)
        v->narrow_slot = bl_cg_slot(f, LLVMTypeOf(v->narrow), "narrow");
    LLVMBuildStore(f->cg->builder, v->narrow, v->narrow_slot);
}

/* The most restrictive form that all operands have. */
static uint8_t common_form(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    uint8_t form = BL_KIR_SHAPE_UNIFORM;
    for (uint32_t o = 0; o < i->operand_count; o++)
        form = BL_MAX(form, bl_cg_form(f, i->operands[o]));
    return form;
}

static bool emit_math(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef *operands = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->operand_count + 1u);
    LLVMValueRef *results = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->result_count + 1u);
    uint8_t form = common_form(f, i);

    if (form == BL_KIR_SHAPE_AFFINE)
        for (uint32_t r = 0; r < i->result_count; r++)
            if (f->divergence->shape[i->results[r]->id] == BL_KIR_SHAPE_VARYING)
                form = BL_KIR_SHAPE_VARYING;
    for (uint32_t o = 0; o < i->operand_count; o++)
        operands[o] = form == BL_KIR_SHAPE_VARYING ? bl_cg_vector(f, i->operands[o]) : fetch(f, i->operands[o]);
    if (!bl_cg_math(f->cg, i, form == BL_KIR_SHAPE_VARYING ? BL_WARP : 1, operands, results))
        return false;
    if (form == BL_KIR_SHAPE_AFFINE && i->result_count == 1 && f->divergence->guard[i->results[0]->id] == i->results[0])
        keep_narrow(f, i);
    for (uint32_t r = 0; r < i->result_count; r++) {
        uint32_t id = i->results[r]->id;
        bool affine = form == BL_KIR_SHAPE_AFFINE && f->divergence->shape[id] == BL_KIR_SHAPE_AFFINE;
        uint8_t result = form == BL_KIR_SHAPE_AFFINE && !affine ? (uint8_t)BL_KIR_SHAPE_UNIFORM : form;
        bl_cg_define(f, i->results[r], result, affine ? f->divergence->stride[id] : 0, results[r]);
    }
    return true;
}

static void emit_hoisted(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBasicBlockRef here = go_to_entry(f);

    if (i->op == BL_KIR_OP_const || i->op == BL_KIR_OP_undef)
        bl_cg_define_scalar(f, i->results[0], bl_cg_bits(f->cg, i->results[0]->type, 1, i->attr->imm, i->attr->imm_hi));
    else if (!bl_cg_memory(f, i))
        bl_cg_warp(f, i);
    go_back(f, here);
}

/* The error stands; the results get some value, so that what uses them can still be gone through. */
static void refuse(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    const char *what = i->op == BL_KIR_OP_unsupported && i->attr->text ? i->attr->text : bl_kir_ops[i->op].name;

    if (f->cg->error->status == BL_OK)
        f->cg->error->line = i->line;
    bl_fail(f->cg->error, BL_UNSUPPORTED, "%s: line %u: %s: not supported by the CPU device yet", f->func->name, i->line, what);
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_cg_define_scalar(f, i->results[r], bl_cg_bits(f->cg, i->results[r]->type, 1, 0, 0));
}

static void emit_instruction(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    if (i->op == BL_KIR_OP_phi) {
        struct bl_cg_value *v = &f->values[i->results[0]->id];
        bl_cg_define(f, i->results[0], v->form, v->stride, load_slot(f, v->phi_slot));
        return;
    }
    if (is_hoisted(f, i))
        emit_hoisted(f, i);
    else if (!bl_cg_memory(f, i) && !bl_cg_atomic(f, i) && !bl_cg_warp(f, i) && !bl_cg_call(f, i) && !emit_math(f, i))
        refuse(f, i);
}

/* ---- segments and regions --------------------------------------------------------------------------- */

/* The lanes that wait in the region's segments that are joins, or in the others; NULL: there are none such. */
static LLVMValueRef waiting_lanes(struct bl_cg_func *f, const struct bl_cg_region *region, bool joins)
{
    LLVMValueRef all = NULL, lanes;

    for (uint32_t i = 0; i < region->segments.count; i++) {
        if (region->segments.items[i]->joins != joins)
            continue;
        lanes = load_slot(f, region->segments.items[i]->pending);
        all = all ? LLVMBuildOr(f->cg->builder, all, lanes, "") : lanes;
    }
    return all;
}

const struct bl_kir_value *bl_cg_members_of(const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_shfl:
        return i->operands[3];
    case BL_KIR_OP_vote:
    case BL_KIR_OP_match_any:
    case BL_KIR_OP_match_all:
    case BL_KIR_OP_redux:
        return i->operands[1];
    case BL_KIR_OP_elect:
    case BL_KIR_OP_warpsync:
        return i->operands[0];
    default:
        return NULL;
    }
}

static void emit_check(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    LLVMValueRef pending, runs;

    LLVMPositionBuilderAtEnd(f->cg->builder, s->check);
    pending = load_slot(f, s->pending);
    runs = any_lane(f, pending);
    if (s->joins)
        runs = any_lane(f, mask_and(f, pending, load_slot(f, f->ready)));
    LLVMBuildCondBr(f->cg->builder, runs, s->run, s->next);
}

/* Of the lanes that wait at a join, those run that may. */
static void take_ready(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef ready = load_slot(f, f->ready), runs = mask_and(f, s->mask, ready), rest = LLVMBuildNot(b, runs, "");

    LLVMBuildStore(b, LLVMBuildAnd(b, s->mask, rest, ""), s->pending);
    LLVMBuildStore(b, LLVMBuildAnd(b, ready, rest, ""), f->ready);
    s->mask = runs;
}

/* Lanes come to the join behind s: what they bring. */
static void arrive(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    const struct bl_kir_instr *op = s->end;
    const struct bl_kir_value *members = bl_cg_members_of(op);
    LLVMValueRef mask = LLVMConstAllOnes(LLVMVectorType(int_type(f, 32), BL_WARP));

    if (!s->succs[0]->region)
        return;
    if (op->op == BL_KIR_OP_vote)
        store_blended(f, s->mask, bl_cg_vector(f, op->operands[0]), f->met_pred);
    store_blended(f, s->mask, members ? bl_cg_vector(f, members) : mask, f->met_mask);
}

/* Of the lanes at joins, those that named the same lanes as `leader`, if none of these is elsewhere: on its way (others), or at a
 * join that awaits other lanes, from which it will come here. As i32; *group: all that named the same. */
static LLVMValueRef release_group(struct bl_cg_func *f, LLVMValueRef leader, LLVMValueRef joined, LLVMValueRef others,
                                  LLVMValueRef *group)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef all_named = load_slot(f, f->met_mask), zero = LLVMConstInt(int_type(f, 32), 0, false), named, elsewhere;

    named = LLVMBuildExtractElement(b, all_named, leader, "");
    *group = bl_cg_mask_bits(f, LLVMBuildICmp(b, LLVMIntEQ, all_named, bl_cg_splat(f->cg, named), ""));
    *group = LLVMBuildAnd(b, *group, joined, "");
    elsewhere = LLVMBuildOr(b, others, LLVMBuildXor(b, joined, *group, ""), "");
    elsewhere = LLVMBuildAnd(b, elsewhere, named, "");
    return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, elsewhere, zero, ""), *group, zero, "");
}

/* At a region's end: lanes at joins go on that have met all that they name. Where all wait and none may go on, as happens to
 * programs whose lanes don't name each other, all go on. */
static void release_joins(struct bl_cg_func *f, LLVMValueRef joined, LLVMValueRef others)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = int_type(f, 32);
    LLVMValueRef zero = LLVMConstInt(i32, 0, false), ready, group, left, bits = bl_cg_mask_bits(f, joined), stuck, head[2];
    LLVMBasicBlockRef from[3] = {LLVMGetInsertBlock(b), bl_cg_block(f, "meeting"), bl_cg_block(f, "met")};
    LLVMBasicBlockRef over = bl_cg_block(f, "release");

    others = others ? bl_cg_mask_bits(f, others) : zero;
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, bits, zero, ""), from[1], over);
    LLVMPositionBuilderAtEnd(b, from[1]);
    head[0] = LLVMBuildPhi(b, i32, ""); /* who is left to be looked at; who may go on */
    head[1] = LLVMBuildPhi(b, i32, "");
    ready = release_group(f, bl_cg_first_lane(f, head[0]), bits, others, &group);
    ready = LLVMBuildOr(b, ready, head[1], "");
    left = LLVMBuildAnd(b, head[0], LLVMBuildNot(b, group, ""), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, left, zero, ""), from[1], from[2]);
    LLVMAddIncoming(head[0], (LLVMValueRef[]){bits, left}, from, 2);
    LLVMAddIncoming(head[1], (LLVMValueRef[]){zero, ready}, from, 2);
    LLVMPositionBuilderAtEnd(b, from[2]);
    stuck = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildOr(b, ready, others, ""), zero, "");
    ready = LLVMBuildSelect(b, stuck, bits, ready, "");
    LLVMBuildBr(b, over);
    LLVMPositionBuilderAtEnd(b, over);
    head[0] = LLVMBuildPhi(b, i32, "");
    LLVMAddIncoming(head[0], (LLVMValueRef[]){zero, ready}, (LLVMBasicBlockRef[]){from[0], from[2]}, 2);
    LLVMBuildStore(b, bl_cg_mask_of(f, head[0]), f->ready);
    LLVMBuildStore(b, joined, f->frozen_lanes);
    LLVMBuildStore(b, load_slot(f, f->met_pred), f->frozen_pred);
}

static void begin_segment(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    f->at = s;
    f->line = 0;
    f->misaligned = NULL;
    s->mask = f->entry_mask;
    if (s->region)
        emit_check(f, s);
    LLVMPositionBuilderAtEnd(f->cg->builder, s->run);
    if (!s->region)
        return;
    s->mask = load_slot(f, s->pending);
    if (s->joins) {
        take_ready(f, s);
        return;
    }
    LLVMBuildStore(f->cg->builder, LLVMConstNull(mask_type(f)), s->pending);
}

/* A block of many thousand instructions takes LLVM's schedulers time that grows with the square. A branch that is never taken,
 * which LLVM can't know, cuts it: a warp has lanes. */
static void cut_long_block(struct bl_cg_func *f)
{
    LLVMBasicBlockRef more = bl_cg_block(f, "more");
    LLVMValueRef zero = LLVMConstInt(int_type(f, 32), 0, false);
    LLVMValueRef active = bl_cg_warp_field(f, offsetof(struct bl_cpu_warp, active), int_type(f, 32), false);

    LLVMSetVolatile(active, true);
    LLVMBuildCondBr(f->cg->builder, LLVMBuildICmp(f->cg->builder, LLVMIntEQ, active, zero, ""), f->done, more);
    LLVMPositionBuilderAtEnd(f->cg->builder, more);
}

static void emit_segment(struct bl_cg_func *f, struct bl_cg_segment *s)
{
    enum { LONG = 256 };
    struct bl_kir_instr *i;
    uint32_t count = 0;

    begin_segment(f, s);
    for (i = s->first; i != s->end && (s->end || i != s->block->last); i = i->next) {
        emit_instruction(f, i);
        if (f->cg->error->status != BL_OK)
            return;
        if (++count % LONG == 0)
            cut_long_block(f);
    }
    if (!s->end) {
        emit_end(f, s, s->block->last);
        return;
    }
    if (!s->ends_lanes) {
        arrive(f, s);
        go_all(f, s, 0);
        return;
    }
    LLVMValueRef mask = mask_and(f, s->mask, f->call_alive);
    leave_divergent(f, s, &mask);
}

/* Behind a region's last segment: where a loop waits for other threads, lanes that left it have now moved on, and the others
 * get their next turn. */
static void emit_region_end(struct bl_cg_func *f, struct bl_cg_region *region)
{
    struct bl_cg_segment *last = region->segments.items[region->segments.count - 1];
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef waiting;

    LLVMPositionBuilderAtEnd(b, region->end);
    waiting = f->spins ? waiting_lanes(f, region, true) : NULL;
    if (waiting)
        release_joins(f, waiting, waiting_lanes(f, region, false));
    for (uint32_t i = 0; i < f->all_loops.count && f->spins; i++) {
        struct bl_cg_loop *loop = f->all_loops.items[i];
        if (!loop->spins || loop->head->region != region)
            continue;
        LLVMValueRef lanes = load_slot(f, loop->head->pending);
        waiting = waiting ? LLVMBuildOr(b, waiting, lanes, "") : lanes;
    }
    if (waiting) {
        LLVMBasicBlockRef again = bl_cg_block(f, "again"), out = bl_cg_block(f, "together");
        LLVMBuildCondBr(b, any_lane(f, waiting), again, out);
        LLVMPositionBuilderAtEnd(b, again);
        yield(f);
        LLVMBuildBr(b, region->segments.items[0]->check);
        LLVMPositionBuilderAtEnd(b, out);
    }
    if (region->exit && region->exit->order < last->order && region->exit->loop && region->exit->loop->spins)
        yield(f);
    LLVMBuildBr(b, region->exit ? region->exit->run : f->done);
}

/* The last segment of the region in the loop. */
static struct bl_cg_segment *last_in_loop(const struct bl_cg_region *region, const struct bl_cg_loop *loop)
{
    uint32_t low = 0, high = region->segments.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (region->segments.items[middle]->order <= loop->last)
            low = middle;
        else
            high = middle;
    }
    return region->segments.items[low];
}

/* Where control goes on behind each segment of a region. */
static void link_region(struct bl_cg_func *f, struct bl_cg_region *region)
{
    region->end = bl_cg_block(f, "region.end");
    for (uint32_t i = 0; i < region->segments.count; i++)
        region->segments.items[i]->next = i + 1 < region->segments.count ? region->segments.items[i + 1]->check : region->end;
}

/* Outer loops come first in all_loops, so that an inner one's end stands before an outer one's. */
static void link_loops(struct bl_cg_func *f)
{
    for (uint32_t i = 0; i < f->all_loops.count; i++) {
        struct bl_cg_loop *loop = f->all_loops.items[i];
        struct bl_cg_segment *head = loop->head, *last;
        if (!head->region || (f->spins && loop->spins))
            continue;
        last = last_in_loop(head->region, loop);
        loop->end = bl_cg_block(f, "loop.end");
        LLVMPositionBuilderAtEnd(f->cg->builder, loop->end);
        LLVMBuildCondBr(f->cg->builder, any_lane(f, load_slot(f, head->pending)), head->run, last->next);
        last->next = loop->end;
    }
}

static LLVMValueRef empty_slot(struct bl_cg_func *f, LLVMTypeRef type, const char *name)
{
    LLVMValueRef slot = bl_cg_slot(f, type, name);
    LLVMBasicBlockRef here = go_to_entry(f);

    LLVMBuildStore(f->cg->builder, LLVMConstNull(type), slot);
    go_back(f, here);
    return slot;
}

static void make_meeting_slots(struct bl_cg_func *f)
{
    f->met_pred = empty_slot(f, mask_type(f), "met.pred");
    f->met_mask = empty_slot(f, LLVMVectorType(int_type(f, 32), BL_WARP), "met.mask");
    f->ready = empty_slot(f, mask_type(f), "ready");
    f->frozen_pred = empty_slot(f, mask_type(f), "frozen.pred");
    f->frozen_lanes = empty_slot(f, mask_type(f), "frozen.lanes");
}

static void make_blocks(struct bl_cg_func *f)
{
    if (f->spins)
        make_meeting_slots(f);
    for (uint32_t o = 0; o < f->order.count; o++) {
        struct bl_cg_segment *s = f->order.items[o];
        if (s->region) {
            s->check = bl_cg_block(f, "check");
            s->pending = bl_cg_slot(f, mask_type(f), "pending");
            LLVMBasicBlockRef here = go_to_entry(f);
            LLVMBuildStore(f->cg->builder, LLVMConstNull(mask_type(f)), s->pending);
            go_back(f, here);
        }
        s->run = bl_cg_block(f, s->block->name ? s->block->name : "block");
        make_phi_slots(f, s);
    }
    for (uint32_t r = 0; r < f->regions.count; r++)
        if (!f->regions.items[r]->joined)
            link_region(f, f->regions.items[r]);
    link_loops(f);
    for (uint32_t r = 0; r < f->regions.count; r++)
        if (!f->regions.items[r]->joined)
            emit_region_end(f, f->regions.items[r]);
}

/* ---- the function -------------------------------------------------------------------------------------- */

static void begin_kernel(struct bl_cg_func *f)
{
    if (f->full)
        f->entry_mask = LLVMConstAllOnes(mask_type(f));
    else
        f->entry_mask = bl_cg_mask_of(f, BL_CG_FIELD(f, active, int_type(f, 32)));
    if (f->unit->coroutine)
        bl_cg_coroutine_begin(f);
    f->frame = LLVMConstInt(int_type(f, 64), 0, false);
}

/* Parameters: the warp, the lanes (i32), the frame's offset (i64), then one vector a kir parameter. */
static void begin_device_function(struct bl_cg_func *f)
{
    const struct bl_kir_proto *proto = &f->func->proto;

    f->entry_mask = bl_cg_mask_of(f, LLVMGetParam(f->function, 1));
    f->frame = LLVMGetParam(f->function, 2);
    f->result_slots = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, proto->result_count + 1u);
    for (uint32_t r = 0; r < proto->result_count; r++)
        f->result_slots[r] = bl_cg_slot(f, bl_cg_type(f->cg, proto->results[r], BL_WARP), "result");
    if (f->may_exit) {
        f->alive_slot = bl_cg_slot(f, mask_type(f), "alive");
        LLVMBuildStore(f->cg->builder, f->entry_mask, f->alive_slot);
    }
}

static void begin_function(struct bl_cg_func *f)
{
    f->entry = bl_cg_block(f, "entry");
    LLVMPositionBuilderAtEnd(f->cg->builder, f->entry);
    f->warp = LLVMGetParam(f->function, 0);
    if (f->func->is_kernel)
        begin_kernel(f);
    else
        begin_device_function(f);
    f->done = bl_cg_block(f, "done");
    for (uint32_t p = 0; p < f->func->params.count; p++) {
        struct bl_cg_value *v = &f->values[f->func->params.items[p]->id];
        v->form = BL_KIR_SHAPE_VARYING;
        v->here = LLVMGetParam(f->function, 3 + p);
    }
}

static void end_function(struct bl_cg_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(f->function));
    LLVMValueRef result = LLVMGetUndef(type);
    uint32_t at = 0;

    LLVMPositionBuilderAtEnd(b, f->done);
    if (f->coroutine) {
        bl_cg_coroutine_end(f);
        return;
    }
    if (f->func->is_kernel) {
        LLVMBuildRetVoid(b);
        return;
    }
    if (f->alive_slot)
        result = LLVMBuildInsertValue(b, result, bl_cg_mask_bits(f, load_slot(f, f->alive_slot)), at++, "");
    for (uint32_t r = 0; r < f->func->proto.result_count; r++)
        result = LLVMBuildInsertValue(b, result, load_slot(f, f->result_slots[r]), at++, "");
    LLVMBuildRet(b, result);
}

enum bl_status bl_cg_function(struct bl_cg_func *f)
{
    enum bl_status status = bl_cg_flow(f);

    if (status != BL_OK)
        return status;
    f->values = BL_NEW_ARRAY(f->cg->arena, struct bl_cg_value, f->func->value_count + 1u);
    if (!bl_cg_find_factors(f))
        return BL_NOT_FOUND;
    bl_cg_find_runs(f);
    find_crossings(f);
    begin_function(f);
    make_blocks(f);
    bl_cg_call_prologue(f);
    for (uint32_t o = 0; o < f->order.count && f->cg->error->status == BL_OK; o++)
        emit_segment(f, f->order.items[o]);
    if (f->cg->error->status != BL_OK)
        return f->cg->error->status;
    end_function(f);
    LLVMPositionBuilderAtEnd(f->cg->builder, f->entry);
    LLVMBuildBr(f->cg->builder, f->start ? f->start : f->order.items[0]->run);
    return BL_OK;
}
