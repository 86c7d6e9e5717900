/* Loads, stores, addresses and their spaces, kernel parameters, fences, and the local frame. An access whose addresses follow
 * each other by lane is one vector access, a uniform one is scalar, the others gather and scatter. Lanes that don't run
 * never touch memory.
 *
 * Spaces: global, const and generic addresses are host addresses. Shared and local ones are offsets, 32 bits of which count,
 * with their sign: in lanes that don't run, an offset may lie before the start. Local memory of lane i is at
 * warp->local + i * warp->local_stride.
 */
#include "target/cpu/function.h"

static LLVMTypeRef int_type(const struct bl_cg_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}

static LLVMTypeRef pointer_type(const struct bl_cg_func *f)
{
    return LLVMPointerTypeInContext(f->cg->context, 0);
}

static LLVMTypeRef vector_of(LLVMTypeRef type)
{
    return LLVMVectorType(type, BL_WARP);
}

static LLVMValueRef number64(const struct bl_cg_func *f, int64_t number)
{
    return LLVMConstInt(int_type(f, 64), (uint64_t)number, true);
}

/* ---- what is made once, in the entry block -------------------------------------------------------- */

static LLVMValueRef in_entry(struct bl_cg_func *f, size_t offset, LLVMTypeRef type, LLVMValueRef *cached)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(f->cg->builder);

    if (*cached)
        return *cached;
    LLVMPositionBuilderAtEnd(f->cg->builder, f->entry);
    *cached = bl_cg_warp_field(f, offset, type, true);
    LLVMPositionBuilderAtEnd(f->cg->builder, here);
    return *cached;
}

static LLVMValueRef shared_start(struct bl_cg_func *f)
{
    return in_entry(f, offsetof(struct bl_cpu_warp, shared), pointer_type(f), &f->shared);
}

static LLVMValueRef params_start(struct bl_cg_func *f)
{
    return in_entry(f, offsetof(struct bl_cpu_warp, params), pointer_type(f), &f->params);
}

/* Of a space whose addresses are offsets, the same memory for all lanes. */
static LLVMValueRef offset_start(struct bl_cg_func *f, uint8_t space)
{
    return space == BL_KIR_SHARED ? shared_start(f) : params_start(f);
}

/* <32 x i64>: where each lane's local memory starts. */
static LLVMValueRef local_lanes(struct bl_cg_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMValueRef lanes[BL_WARP], start, stride;

    f->unit->info->flags |= BL_CPU_USES_LOCAL;
    if (f->local_lanes)
        return f->local_lanes;
    LLVMPositionBuilderAtEnd(b, f->entry);
    for (int64_t i = 0; i < BL_WARP; i++)
        lanes[i] = number64(f, i);
    start = BL_CG_FIELD(f, local, int_type(f, 64));
    stride = BL_CG_FIELD(f, local_stride, int_type(f, 64));
    stride = LLVMBuildMul(b, bl_cg_splat(f->cg, stride), LLVMConstVector(lanes, BL_WARP), "");
    f->local_lanes = LLVMBuildAdd(b, bl_cg_splat(f->cg, start), stride, "local");
    LLVMPositionBuilderAtEnd(b, here);
    return f->local_lanes;
}

/* What the processor has for elements of so many bits. */
static bool has_masked(const struct bl_cg_func *f, uint32_t bits)
{
    const struct bl_cg_features *have = &f->cg->features;
    return bits <= 64 && (have->avx512 || (have->avx2 && bits >= 32));
}

/* ---- addresses -------------------------------------------------------------------------------------- */

struct address {
    uint8_t form;         /* of pointer */
    int64_t stride;       /* affine: from lane to lane, bytes */
    LLVMValueRef pointer; /* of this lane, of lane 0, or <32 x ptr> */
    LLVMValueRef guard;   /* affine: i1, whether it is so; NULL: always */
};

/* An offset in shared or local memory at 64 bits, by its low 32. */
static LLVMValueRef widen_offset(struct bl_cg_func *f, LLVMValueRef offset, bool vector)
{
    LLVMTypeRef i32 = int_type(f, 32), i64 = int_type(f, 64);

    offset = LLVMBuildIntCast2(f->cg->builder, offset, vector ? vector_of(i32) : i32, true, "");
    return LLVMBuildSExt(f->cg->builder, offset, vector ? vector_of(i64) : i64, "");
}

static LLVMValueRef add_bytes(struct bl_cg_func *f, LLVMValueRef pointer, int64_t bytes)
{
    LLVMValueRef index = number64(f, bytes);
    return bytes ? LLVMBuildGEP2(f->cg->builder, int_type(f, 8), pointer, &index, 1, "") : pointer;
}

/* A vector address that is the sum of a uniform part and a varying one: kept apart, for the processor adds them in a gather. */
static bool split_sum(struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_kir_value **uniform,
                      const struct bl_kir_value **varying)
{
    const struct bl_kir_instr *def = value->def;

    if (!def || def->op != BL_KIR_OP_add || value->type != BL_KIR_I64 || f->values[value->id].segment != f->at)
        return false;
    for (uint32_t o = 0; o < 2; o++)
        if (bl_cg_form(f, def->operands[o]) == BL_KIR_SHAPE_UNIFORM) {
            *uniform = def->operands[o];
            *varying = def->operands[1 - o];
            return true;
        }
    return false;
}

static LLVMValueRef host_pointers(struct bl_cg_func *f, const struct bl_kir_value *value, int64_t offset)
{
    const struct bl_kir_value *uniform, *varying;
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef base, index;

    if (split_sum(f, value, &uniform, &varying)) {
        base = LLVMBuildIntToPtr(b, bl_cg_scalar(f, uniform), pointer_type(f), "");
        index = bl_cg_vector(f, varying);
        return LLVMBuildGEP2(b, int_type(f, 8), add_bytes(f, base, offset), &index, 1, "");
    }
    base = LLVMBuildIntToPtr(b, bl_cg_vector(f, value), vector_of(pointer_type(f)), "");
    return add_bytes(f, base, offset);
}

static LLVMValueRef vector_pointers(struct bl_cg_func *f, const struct bl_kir_value *value, uint8_t space, int64_t offset)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef index;

    if (space == BL_KIR_SHARED || space == BL_KIR_PARAM) {
        index = LLVMBuildIntCast2(b, bl_cg_vector(f, value), vector_of(int_type(f, 32)), true, "");
        return LLVMBuildGEP2(b, int_type(f, 8), add_bytes(f, offset_start(f, space), offset), &index, 1, "");
    }
    if (space != BL_KIR_LOCAL)
        return host_pointers(f, value, offset);
    index = LLVMBuildAdd(b, widen_offset(f, bl_cg_vector(f, value), true), bl_cg_splat(f->cg, number64(f, offset)), "");
    return LLVMBuildIntToPtr(b, LLVMBuildAdd(b, local_lanes(f), index, ""), vector_of(pointer_type(f)), "");
}

/* The scalar, or lane 0's address, as a pointer. */
static LLVMValueRef scalar_pointer(struct bl_cg_func *f, const struct bl_kir_value *value, uint8_t space, int64_t offset)
{
    LLVMValueRef at = bl_cg_scalar(f, value);

    if (space != BL_KIR_SHARED && space != BL_KIR_PARAM)
        return add_bytes(f, LLVMBuildIntToPtr(f->cg->builder, at, pointer_type(f), ""), offset);
    at = widen_offset(f, at, false);
    return LLVMBuildGEP2(f->cg->builder, int_type(f, 8), add_bytes(f, offset_start(f, space), offset), &at, 1, "");
}

LLVMValueRef bl_cg_pointer(struct bl_cg_func *f, const struct bl_kir_value *address, uint8_t space, int64_t offset, bool vector)
{
    return vector ? vector_pointers(f, address, space, offset) : scalar_pointer(f, address, space, offset);
}

/* A strong access of 16 bytes, which other threads must never see half of: one atomic access a lane. */
static bool is_wide(const struct bl_kir_instr *i)
{
    return bl_kir_type_bits(i->attr->type) == 128 && i->attr->order != BL_KIR_WEAK;
}

/* The order stands in the fences beside it. */
static void mark_access(LLVMValueRef access, uint32_t align, bool wide)
{
    LLVMSetAlignment(access, align);
    if (wide)
        LLVMSetOrdering(access, LLVMAtomicOrderingMonotonic);
}

static struct address find_address(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    const struct bl_kir_value *value = i->operands[0];
    struct address a = {.form = bl_cg_form(f, value), .stride = f->values[value->id].stride};

    if (i->attr->space == BL_KIR_LOCAL)
        a.form = BL_KIR_SHAPE_VARYING;
    if (a.form == BL_KIR_SHAPE_AFFINE && a.stride != (int64_t)i->attr->vec * bl_kir_type_bits(i->attr->type) / 8)
        a.form = BL_KIR_SHAPE_VARYING;
    if (a.form == BL_KIR_SHAPE_AFFINE && is_wide(i))
        a.form = BL_KIR_SHAPE_VARYING;
    if (a.form == BL_KIR_SHAPE_AFFINE && !bl_cg_all_lanes(f) && !has_masked(f, bl_kir_type_bits(i->attr->type)))
        a.form = BL_KIR_SHAPE_VARYING;
    a.pointer = bl_cg_pointer(f, value, i->attr->space, (int64_t)i->attr->imm, a.form == BL_KIR_SHAPE_VARYING);
    if (a.form == BL_KIR_SHAPE_AFFINE)
        a.guard = bl_cg_guard(f, value);
    return a;
}

/* ---- order ------------------------------------------------------------------------------------------- */

static LLVMAtomicOrdering order_of(uint8_t order)
{
    switch (order) {
    case BL_KIR_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case BL_KIR_RELEASE:
        return LLVMAtomicOrderingRelease;
    case BL_KIR_ACQ_REL:
        return LLVMAtomicOrderingAcquireRelease;
    default:
        return LLVMAtomicOrderingSequentiallyConsistent;
    }
}

/* A fence beside an access with an order: a vector access can't carry it itself. Volatile and relaxed accesses get one that
 * binds only the compiler. */
static void fence_beside(struct bl_cg_func *f, const struct bl_kir_instr *i, bool before)
{
    uint8_t order = i->attr->order;
    bool single = order == BL_KIR_VOLATILE || order == BL_KIR_RELAXED || (order == BL_KIR_ACQUIRE && before) ||
                  (order == BL_KIR_RELEASE && !before);

    if (order != BL_KIR_WEAK)
        LLVMBuildFence(f->cg->builder, single ? LLVMAtomicOrderingSequentiallyConsistent : order_of(order), single, "");
}

static void note_line(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef index = number64(f, offsetof(struct bl_cpu_warp, current_line)), pointer;

    if (f->line || !i->line)
        return;
    f->line = i->line;
    pointer = LLVMBuildInBoundsGEP2(f->cg->builder, int_type(f, 8), f->warp, &index, 1, "");
    LLVMBuildStore(f->cg->builder, LLVMConstInt(int_type(f, 32), i->line, false), pointer);
}

/* Where a segment's misaligned accesses go. */
static LLVMBasicBlockRef misaligned_block(struct bl_cg_func *f)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(f->cg->builder);

    if (f->misaligned)
        return f->misaligned;
    f->misaligned = bl_cg_block(f, "misaligned");
    LLVMPositionBuilderAtEnd(f->cg->builder, f->misaligned);
    bl_cg_fault(f, bl_cg_mask_bits(f, f->at->mask), BL_FAULT_MISALIGNED, NULL);
    LLVMPositionBuilderAtEnd(f->cg->builder, here);
    return f->misaligned;
}

/* x86 and AArch64 don't mind, a GPU does: each address must be a multiple of the access' size. LLVM takes the check out where
 * it sees that it holds. Lanes of a fixed distance that is such a multiple need one check. */
void bl_cg_check_alignment(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    const struct bl_kir_value *address = i->operands[0];
    uint32_t size = BL_MAX(i->attr->vec, 1) * bl_kir_type_bits(i->attr->type) / 8;
    uint8_t form = bl_cg_form(f, address);
    bool vector = form == BL_KIR_SHAPE_VARYING || (form == BL_KIR_SHAPE_AFFINE && f->values[address->id].stride % size != 0);
    LLVMTypeRef i32 = int_type(f, 32), type = vector ? vector_of(i32) : i32;
    LLVMValueRef low, imm = LLVMConstInt(i32, i->attr->imm & 0xffffffff, false), bits = LLVMConstInt(i32, size - 1, false), wrong;
    LLVMBasicBlockRef good;

    if (size <= 1 || (size & (size - 1)))
        return;
    low = LLVMBuildIntCast2(b, vector ? bl_cg_vector(f, address) : bl_cg_scalar(f, address), type, false, "");
    low = LLVMBuildAdd(b, low, vector ? bl_cg_splat(f->cg, imm) : imm, "");
    low = LLVMBuildAnd(b, low, vector ? bl_cg_splat(f->cg, bits) : bits, "");
    wrong = LLVMBuildICmp(b, LLVMIntNE, low, LLVMConstNull(type), "");
    if (vector) {
        wrong = LLVMBuildSelect(b, f->at->mask, wrong, LLVMConstNull(LLVMTypeOf(wrong)), "");
        wrong = LLVMBuildICmp(b, LLVMIntNE, bl_cg_mask_bits(f, wrong), LLVMConstNull(i32), "");
    }
    good = bl_cg_block(f, "aligned");
    LLVMBuildCondBr(b, wrong, misaligned_block(f), good);
    LLVMPositionBuilderAtEnd(b, good);
}

/* ---- vectors of several elements ------------------------------------------------------------------------ */

/* Lane numbers of a shuffle: for each place, the element that goes there. */
static LLVMValueRef shuffle_mask(const struct bl_cg_func *f, const uint32_t *places, uint32_t count)
{
    LLVMValueRef *numbers = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, count), mask;

    for (uint32_t n = 0; n < count; n++)
        numbers[n] = LLVMConstInt(int_type(f, 32), places[n], false);
    mask = LLVMConstVector(numbers, count);
    return mask;
}

/* Element e of each of 32 groups of vec. */
static LLVMValueRef take_element(struct bl_cg_func *f, LLVMValueRef whole, uint32_t vec, uint32_t e)
{
    uint32_t places[BL_WARP];
    for (uint32_t n = 0; n < BL_WARP; n++)
        places[n] = n * vec + e;
    return LLVMBuildShuffleVector(f->cg->builder, whole, LLVMGetUndef(LLVMTypeOf(whole)), shuffle_mask(f, places, BL_WARP), "");
}

/* Puts count vectors one behind the other. count is a power of two. */
static LLVMValueRef concatenate(struct bl_cg_func *f, LLVMValueRef *parts, uint32_t count)
{
    uint32_t places[BL_WARP * 8], size = BL_WARP;

    for (; count > 1; count /= 2, size *= 2) {
        for (uint32_t n = 0; n < 2 * size; n++)
            places[n] = n;
        for (uint32_t p = 0; p < count / 2; p++)
            parts[p] =
                LLVMBuildShuffleVector(f->cg->builder, parts[2 * p], parts[2 * p + 1], shuffle_mask(f, places, 2 * size), "");
    }
    return parts[0];
}

static LLVMValueRef interleave(struct bl_cg_func *f, LLVMValueRef *parts, uint32_t vec)
{
    uint32_t places[BL_WARP * 8];
    LLVMValueRef whole = concatenate(f, parts, vec);

    for (uint32_t n = 0; n < BL_WARP * vec; n++)
        places[n] = n % vec * BL_WARP + n / vec;
    return LLVMBuildShuffleVector(f->cg->builder, whole, LLVMGetUndef(LLVMTypeOf(whole)), shuffle_mask(f, places, BL_WARP * vec),
                                  "");
}

/* The mask with each lane's bit vec times. */
static LLVMValueRef widen_mask(struct bl_cg_func *f, uint32_t vec)
{
    uint32_t places[BL_WARP * 8];
    LLVMValueRef mask = f->at->mask;

    if (vec == 1)
        return mask;
    for (uint32_t n = 0; n < BL_WARP * vec; n++)
        places[n] = n / vec;
    return LLVMBuildShuffleVector(f->cg->builder, mask, LLVMGetUndef(LLVMTypeOf(mask)), shuffle_mask(f, places, BL_WARP * vec), "");
}

/* ---- the four kinds of access ------------------------------------------------------------------------------ */

static bool has_gather(const struct bl_cg_func *f, uint32_t bits)
{
    return (f->cg->features.avx512 || f->cg->features.avx2) && (bits == 32 || bits == 64);
}

static bool has_scatter(const struct bl_cg_func *f, uint32_t bits)
{
    return f->cg->features.avx512 && (bits == 32 || bits == 64);
}

/* PTX demands each access to be aligned to its size. */
static uint32_t access_align(const struct bl_kir_instr *i)
{
    uint32_t size = i->attr->vec * bl_kir_type_bits(i->attr->type) / 8;
    return i->attr->align ? i->attr->align : BL_MAX(size, 1u);
}

/* The alignment operand of the masked intrinsics became an attribute of the pointer in LLVM 22. */
static void add_align(struct bl_cg_func *f, LLVMValueRef call, unsigned argument, uint32_t align)
{
    static const char name[] = "align";
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof(name) - 1);
    LLVMAddCallSiteAttribute(call, argument + 1, LLVMCreateEnumAttribute(f->cg->context, kind, align));
}

static LLVMValueRef masked_load(struct bl_cg_func *f, const char *name, LLVMTypeRef type, LLVMValueRef pointer, LLVMValueRef mask,
                                uint32_t align)
{
    LLVMValueRef arguments[4] = {pointer, LLVMConstInt(int_type(f, 32), align, false), mask, LLVMGetUndef(type)}, call;
    LLVMTypeRef types[2] = {type, LLVMTypeOf(pointer)};

    if (LLVM_VERSION_MAJOR >= 22) {
        arguments[1] = arguments[2];
        arguments[2] = arguments[3];
        call = bl_cg_intrinsic(f->cg, name, 2, types, 3, arguments);
        add_align(f, call, 0, align);
        return call;
    }
    return bl_cg_intrinsic(f->cg, name, 2, types, 4, arguments);
}

static void masked_store(struct bl_cg_func *f, const char *name, LLVMValueRef value, LLVMValueRef pointer, LLVMValueRef mask,
                         uint32_t align)
{
    LLVMValueRef arguments[4] = {value, pointer, LLVMConstInt(int_type(f, 32), align, false), mask};
    LLVMTypeRef types[2] = {LLVMTypeOf(value), LLVMTypeOf(pointer)};

    if (LLVM_VERSION_MAJOR >= 22) {
        arguments[2] = mask;
        add_align(f, bl_cg_intrinsic(f->cg, name, 2, types, 3, arguments), 1, align);
        return;
    }
    bl_cg_intrinsic(f->cg, name, 2, types, 4, arguments);
}

static void load_uniform(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a)
{
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8;

    for (uint32_t e = 0; e < i->result_count; e++) {
        LLVMValueRef at = add_bytes(f, a->pointer, (int64_t)e * size);
        LLVMValueRef load = LLVMBuildLoad2(f->cg->builder, bl_cg_type(f->cg, i->attr->type, 1), at, "");
        mark_access(load, size, is_wide(i));
        if (i->attr->nc || i->attr->space == BL_KIR_CONST)
            bl_cg_mark_invariant(f, load);
        bl_cg_define_scalar(f, i->results[e], load);
    }
}

/* The guard of an affine address in code, or another choice of two ways: the builder goes to the first. */
struct ways {
    LLVMBasicBlockRef first, second, done;
};

static struct ways open_ways(struct bl_cg_func *f, LLVMValueRef condition)
{
    struct ways w = {bl_cg_block(f, "way"), bl_cg_block(f, "way"), bl_cg_block(f, "done")};
    LLVMBuildCondBr(f->cg->builder, condition, w.first, w.second);
    LLVMPositionBuilderAtEnd(f->cg->builder, w.first);
    return w;
}

static LLVMBasicBlockRef close_way(struct bl_cg_func *f, const struct ways *w, LLVMBasicBlockRef next)
{
    LLVMBasicBlockRef here = LLVMGetInsertBlock(f->cg->builder);
    LLVMBuildBr(f->cg->builder, w->done);
    LLVMPositionBuilderAtEnd(f->cg->builder, next);
    return here;
}

static LLVMValueRef choose(struct bl_cg_func *f, const LLVMBasicBlockRef *from, LLVMValueRef first, LLVMValueRef second)
{
    LLVMValueRef both[2] = {first, second}, value = LLVMBuildPhi(f->cg->builder, LLVMTypeOf(first), "");
    LLVMBasicBlockRef blocks[2] = {from[0], from[1]};
    LLVMAddIncoming(value, both, blocks, 2);
    return value;
}

/* Whether all 32 lanes run the segment, found when it runs. Plain accesses are worth a branch: masked ones, though all lanes
 * take part, move less than half as much from memory (measured: 37 ns against 16 for 32 lanes of a vector addition). */
static LLVMValueRef all_run(struct bl_cg_func *f)
{
    LLVMValueRef bits = bl_cg_mask_bits(f, f->at->mask);
    return LLVMBuildICmp(f->cg->builder, LLVMIntEQ, bits, LLVMConstAllOnes(int_type(f, 32)), "");
}

static LLVMValueRef plain_load(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMTypeRef type, LLVMValueRef pointer)
{
    LLVMValueRef whole = LLVMBuildLoad2(f->cg->builder, type, pointer, "");
    LLVMSetAlignment(whole, access_align(i));
    return whole;
}

static void load_contiguous(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, LLVMValueRef *values)
{
    uint32_t vec = i->attr->vec;
    LLVMTypeRef type = LLVMVectorType(bl_cg_type(f->cg, i->attr->type, 1), BL_WARP * vec);
    LLVMBasicBlockRef from[2];
    LLVMValueRef whole, some;
    struct ways w;

    if (bl_cg_all_lanes(f)) {
        whole = plain_load(f, i, type, a->pointer);
    } else {
        w = open_ways(f, all_run(f));
        whole = plain_load(f, i, type, a->pointer);
        from[0] = close_way(f, &w, w.second);
        some = masked_load(f, "llvm.masked.load", type, a->pointer, widen_mask(f, vec), access_align(i));
        from[1] = close_way(f, &w, w.done);
        whole = choose(f, from, whole, some);
    }
    for (uint32_t e = 0; e < vec; e++)
        values[e] = vec == 1 ? whole : take_element(f, whole, vec, e);
}

/* 32 or 64 bits a lane. */
static LLVMValueRef gather(struct bl_cg_func *f, LLVMTypeRef type, LLVMValueRef pointers, uint32_t align)
{
    LLVMValueRef index;
    if (f->cg->features.avx512)
        return masked_load(f, "llvm.masked.gather", type, pointers, f->at->mask, align);
    index = LLVMBuildPtrToInt(f->cg->builder, pointers, vector_of(int_type(f, 64)), "");
    return bl_cg_gather_avx2(f->cg, type, LLVMConstNull(pointer_type(f)), index, 1, f->at->mask);
}

/* 8 or 16 bits by a gather of the aligned 32 that hold them. */
static LLVMValueRef gather_small(struct bl_cg_func *f, LLVMValueRef pointers, uint32_t bits)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = int_type(f, 32), i64 = int_type(f, 64);
    LLVMValueRef at = LLVMBuildPtrToInt(b, pointers, vector_of(i64), ""), shift, words;

    shift = LLVMBuildTrunc(b, LLVMBuildAnd(b, at, bl_cg_splat(f->cg, number64(f, 3)), ""), vector_of(i32), "");
    shift = LLVMBuildShl(b, shift, bl_cg_splat(f->cg, LLVMConstInt(i32, 3, false)), "");
    at = LLVMBuildAnd(b, at, bl_cg_splat(f->cg, number64(f, -4)), "");
    at = LLVMBuildIntToPtr(b, at, vector_of(pointer_type(f)), "");
    words = gather(f, vector_of(i32), at, 4);
    return LLVMBuildTrunc(b, LLVMBuildLShr(b, words, shift, ""), vector_of(int_type(f, bits)), "");
}

static LLVMValueRef load_lanes(struct bl_cg_func *f, LLVMTypeRef type, LLVMValueRef pointers, uint32_t align, bool wide)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef from = bl_cg_array(f, vector_of(pointer_type(f)), "from"), to = bl_cg_array(f, type, "to"), pointer, load;
    LLVMTypeRef element = LLVMGetElementType(type);
    struct bl_cg_lanes lanes;

    LLVMBuildStore(b, pointers, from);
    bl_cg_lanes_begin(f, bl_cg_mask_bits(f, f->at->mask), &lanes);
    pointer = LLVMBuildLoad2(b, pointer_type(f), bl_cg_element(f, pointer_type(f), from, lanes.lane), "");
    load = LLVMBuildLoad2(b, element, pointer, "");
    mark_access(load, align, wide);
    LLVMBuildStore(b, load, bl_cg_element(f, element, to, lanes.lane));
    bl_cg_lanes_end(f, &lanes);
    return LLVMBuildLoad2(b, type, to, "");
}

static void load_gathered(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointers, LLVMValueRef *values)
{
    uint32_t bits = bl_kir_type_bits(i->attr->type);
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, BL_WARP);

    for (uint32_t e = 0; e < i->result_count; e++) {
        LLVMValueRef at = add_bytes(f, pointers, (int64_t)e * bits / 8);
        if (has_gather(f, bits))
            values[e] = gather(f, type, at, bits / 8);
        else if (bits < 32 && has_gather(f, 32))
            values[e] = gather_small(f, at, bits);
        else
            values[e] = load_lanes(f, type, at, bits / 8, is_wide(i));
    }
}

/* ---- rows of 16 or 8 threads (runs.c) ----------------------------------------------------------------------- */

/* How a varying address runs in each row's piece, in bytes: by the access' size, or not at all. Anything else is BL_CG_NO_RUN. */
static int64_t row_stride(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    int64_t size = (int64_t)i->attr->vec * bl_kir_type_bits(i->attr->type) / 8, stride;

    if (!f->run || i->attr->space == BL_KIR_LOCAL || bl_kir_type_bits(i->attr->type) > 64 || size > 16)
        return BL_CG_NO_RUN;
    stride = bl_cg_run_stride(f, i->operands[0], f->at->block);
    return stride == size || (stride == 0 && i->op == BL_KIR_OP_load) ? stride : BL_CG_NO_RUN;
}

/* Whether all lanes run, and the ends of each piece are as far apart as its stride says: i1. */
static LLVMValueRef rows_hold(struct bl_cg_func *f, const struct bl_kir_instr *i, int64_t stride)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef at = bl_cg_vector(f, i->operands[0]), first, last, holds, undef = LLVMGetUndef(LLVMTypeOf(at));
    uint32_t firsts[BL_WARP], lasts[BL_WARP], rows = BL_WARP / f->run;
    LLVMTypeRef bits = int_type(f, rows);

    for (uint32_t r = 0; r < rows; r++) {
        firsts[r] = r * f->run;
        lasts[r] = firsts[r] + f->run - 1;
    }
    first = LLVMBuildShuffleVector(b, at, undef, shuffle_mask(f, firsts, rows), "");
    last = LLVMBuildShuffleVector(b, at, undef, shuffle_mask(f, lasts, rows), "");
    last = LLVMBuildSub(b, last, first, "");
    first = LLVMConstInt(LLVMGetElementType(LLVMTypeOf(at)), (uint64_t)(stride * (f->run - 1)), true);
    for (uint32_t r = 0; r < rows; r++)
        lasts[r] = 0;
    holds = LLVMBuildInsertElement(b, LLVMGetUndef(LLVMTypeOf(last)), first, LLVMConstInt(int_type(f, 32), 0, false), "");
    holds = LLVMBuildShuffleVector(b, holds, LLVMGetUndef(LLVMTypeOf(last)), shuffle_mask(f, lasts, rows), "");
    holds = LLVMBuildBitCast(b, LLVMBuildICmp(b, LLVMIntEQ, last, holds, ""), bits, "");
    holds = LLVMBuildICmp(b, LLVMIntEQ, holds, LLVMConstAllOnes(bits), "");
    return bl_cg_all_lanes(f) ? holds : LLVMBuildAnd(b, all_run(f), holds, "");
}

/* Where row r's piece starts. */
static LLVMValueRef row_pointer(struct bl_cg_func *f, const struct bl_kir_instr *i, uint32_t r)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef lane = LLVMConstInt(int_type(f, 32), r * f->run, false);
    LLVMValueRef at = LLVMBuildExtractElement(b, bl_cg_vector(f, i->operands[0]), lane, "");
    int64_t offset = (int64_t)i->attr->imm;

    if (i->attr->space != BL_KIR_SHARED && i->attr->space != BL_KIR_PARAM)
        return add_bytes(f, LLVMBuildIntToPtr(b, at, pointer_type(f), ""), offset);
    at = widen_offset(f, at, false);
    return LLVMBuildGEP2(b, int_type(f, 8), add_bytes(f, offset_start(f, i->attr->space), offset), &at, 1, "");
}

/* Vectors of `size` elements each, one behind the other. count is a power of two. */
static LLVMValueRef join_rows(struct bl_cg_func *f, LLVMValueRef *parts, uint32_t count, uint32_t size)
{
    uint32_t places[BL_WARP * 8];

    for (; count > 1; count /= 2, size *= 2) {
        for (uint32_t n = 0; n < 2 * size; n++)
            places[n] = n;
        for (uint32_t p = 0; p < count / 2; p++)
            parts[p] =
                LLVMBuildShuffleVector(f->cg->builder, parts[2 * p], parts[2 * p + 1], shuffle_mask(f, places, 2 * size), "");
    }
    return parts[0];
}

static void load_row_pieces(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef *values)
{
    uint32_t vec = i->attr->vec, rows = BL_WARP / f->run;
    LLVMTypeRef type = LLVMVectorType(bl_cg_type(f->cg, i->attr->type, 1), f->run * vec);
    LLVMValueRef parts[4], whole;

    for (uint32_t r = 0; r < rows; r++)
        parts[r] = plain_load(f, i, type, row_pointer(f, i, r));
    whole = join_rows(f, parts, rows, f->run * vec);
    for (uint32_t e = 0; e < vec; e++)
        values[e] = vec == 1 ? whole : take_element(f, whole, vec, e);
}

/* One word a row. */
static void load_row_words(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef *values)
{
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8, rows = BL_WARP / f->run, none[BL_WARP] = {0};
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, 1), piece = LLVMVectorType(type, f->run);
    LLVMValueRef parts[4], load;

    for (uint32_t e = 0; e < i->result_count; e++) {
        for (uint32_t r = 0; r < rows; r++) {
            load = LLVMBuildLoad2(f->cg->builder, type, add_bytes(f, row_pointer(f, i, r), (int64_t)e * size), "");
            LLVMSetAlignment(load, size);
            load = LLVMBuildInsertElement(f->cg->builder, LLVMGetUndef(piece), load, LLVMConstInt(int_type(f, 32), 0, false), "");
            parts[r] = LLVMBuildShuffleVector(f->cg->builder, load, LLVMGetUndef(piece), shuffle_mask(f, none, f->run), "");
        }
        values[e] = join_rows(f, parts, rows, f->run);
    }
}

static void load_rows(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, int64_t stride,
                      LLVMValueRef *values)
{
    struct ways w = open_ways(f, rows_hold(f, i, stride));
    LLVMBasicBlockRef from[2];
    LLVMValueRef others[8];

    if (stride)
        load_row_pieces(f, i, values);
    else
        load_row_words(f, i, values);
    from[0] = close_way(f, &w, w.second);
    load_gathered(f, i, a->pointer, others);
    from[1] = close_way(f, &w, w.done);
    for (uint32_t e = 0; e < i->result_count; e++)
        values[e] = choose(f, from, values[e], others[e]);
}

/* The address of one lane whose guard is broken. */
static LLVMValueRef wrapped_pointer(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, LLVMValueRef lane)
{
    LLVMValueRef offset = bl_cg_lane_offset(f, i->operands[0], lane);

    if (i->attr->space == BL_KIR_SHARED || i->attr->space == BL_KIR_PARAM) { /* offsets of 32 bits, with their sign */
        LLVMValueRef start = LLVMBuildPtrToInt(f->cg->builder, add_bytes(f, offset_start(f, i->attr->space), (int64_t)i->attr->imm),
                                               int_type(f, 64), "");
        LLVMValueRef base =
            LLVMBuildSub(f->cg->builder, LLVMBuildPtrToInt(f->cg->builder, a->pointer, int_type(f, 64), ""), start, "");
        offset = LLVMBuildAdd(f->cg->builder, offset, base, "");
        offset = widen_offset(f, offset, false);
        return LLVMBuildIntToPtr(f->cg->builder, LLVMBuildAdd(f->cg->builder, offset, start, ""), pointer_type(f), "");
    }
    return LLVMBuildGEP2(f->cg->builder, int_type(f, 8), a->pointer, &offset, 1, "");
}

/* So rare that small code is better. */
static void load_wrapped(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, LLVMValueRef *values)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, BL_WARP), element = LLVMGetElementType(type);
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8;
    LLVMValueRef arrays[8], pointer, load;
    struct bl_cg_lanes lanes;

    for (uint32_t e = 0; e < i->result_count; e++)
        arrays[e] = bl_cg_array(f, type, "to");
    bl_cg_lanes_begin(f, bl_cg_mask_bits(f, f->at->mask), &lanes);
    pointer = wrapped_pointer(f, i, a, lanes.lane);
    for (uint32_t e = 0; e < i->result_count; e++) {
        load = LLVMBuildLoad2(b, element, add_bytes(f, pointer, (int64_t)e * size), "");
        LLVMSetAlignment(load, size);
        LLVMBuildStore(b, load, bl_cg_element(f, element, arrays[e], lanes.lane));
    }
    bl_cg_lanes_end(f, &lanes);
    for (uint32_t e = 0; e < i->result_count; e++)
        values[e] = LLVMBuildLoad2(b, type, arrays[e], "");
}

static void load_guarded(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, LLVMValueRef *values)
{
    struct ways w = open_ways(f, a->guard);
    LLVMBasicBlockRef from[2];
    LLVMValueRef others[8];

    load_contiguous(f, i, a, values);
    from[0] = close_way(f, &w, w.second);
    load_wrapped(f, i, a, others);
    from[1] = close_way(f, &w, w.done);
    for (uint32_t e = 0; e < i->result_count; e++)
        values[e] = choose(f, from, values[e], others[e]);
}

static void emit_load(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef values[8];
    struct address a;

    note_line(f, i);
    bl_cg_check_alignment(f, i);
    fence_beside(f, i, true);
    a = find_address(f, i);
    if (a.form == BL_KIR_SHAPE_UNIFORM)
        load_uniform(f, i, &a);
    else if (a.form == BL_KIR_SHAPE_VARYING && row_stride(f, i) != BL_CG_NO_RUN)
        load_rows(f, i, &a, row_stride(f, i), values);
    else if (a.form == BL_KIR_SHAPE_VARYING)
        load_gathered(f, i, a.pointer, values);
    else if (a.guard)
        load_guarded(f, i, &a, values);
    else
        load_contiguous(f, i, &a, values);
    fence_beside(f, i, false);
    for (uint32_t e = 0; e < i->result_count && a.form != BL_KIR_SHAPE_UNIFORM; e++)
        bl_cg_define_vector(f, i->results[e], values[e]);
}

/* The vector that a store shows to the world: its NaNs as the GPU has them. */
static LLVMValueRef stored_vector(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    return bl_cg_settle_nan(f->cg, value, BL_WARP, bl_cg_vector(f, value));
}

/* Lanes that store to one place: the last one stays. */
static void store_uniform(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = int_type(f, 32);
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8;
    LLVMValueRef arguments[2] = {bl_cg_mask_bits(f, f->at->mask), LLVMConstInt(int_type(f, 1), 1, false)}, last, value;

    last = LLVMBuildSub(b, LLVMConstInt(i32, 31, false), bl_cg_intrinsic(f->cg, "llvm.ctlz", 1, &i32, 2, arguments), "");
    for (uint32_t e = 0; e + 1 < i->operand_count; e++) {
        if (bl_cg_form(f, i->operands[1 + e]) == BL_KIR_SHAPE_UNIFORM)
            value = bl_cg_scalar(f, i->operands[1 + e]);
        else
            value = LLVMBuildExtractElement(b, bl_cg_vector(f, i->operands[1 + e]), last, "");
        value = bl_cg_settle_nan(f->cg, i->operands[1 + e], 1, value);
        mark_access(LLVMBuildStore(b, value, add_bytes(f, a->pointer, (int64_t)e * size)), size, is_wide(i));
    }
}

static void store_contiguous(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a)
{
    uint32_t vec = i->attr->vec;
    LLVMValueRef parts[8], whole;
    struct ways w;

    for (uint32_t e = 0; e < vec; e++)
        parts[e] = stored_vector(f, i->operands[1 + e]);
    whole = vec == 1 ? parts[0] : interleave(f, parts, vec);
    if (bl_cg_all_lanes(f)) {
        LLVMSetAlignment(LLVMBuildStore(f->cg->builder, whole, a->pointer), access_align(i));
        return;
    }
    w = open_ways(f, all_run(f));
    LLVMSetAlignment(LLVMBuildStore(f->cg->builder, whole, a->pointer), access_align(i));
    close_way(f, &w, w.second);
    masked_store(f, "llvm.masked.store", whole, a->pointer, widen_mask(f, vec), access_align(i));
    close_way(f, &w, w.done);
}

static void store_lanes(struct bl_cg_func *f, LLVMValueRef value, LLVMValueRef pointers, uint32_t align, bool wide)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef to = bl_cg_array(f, vector_of(pointer_type(f)), "to"), from = bl_cg_array(f, LLVMTypeOf(value), "from"), pointer;
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(value));
    struct bl_cg_lanes lanes;

    LLVMBuildStore(b, pointers, to);
    LLVMBuildStore(b, value, from);
    bl_cg_lanes_begin(f, bl_cg_mask_bits(f, f->at->mask), &lanes);
    pointer = LLVMBuildLoad2(b, pointer_type(f), bl_cg_element(f, pointer_type(f), to, lanes.lane), "");
    value = LLVMBuildLoad2(b, element, bl_cg_element(f, element, from, lanes.lane), "");
    mark_access(LLVMBuildStore(b, value, pointer), align, wide);
    bl_cg_lanes_end(f, &lanes);
}

static void store_scattered(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointers)
{
    uint32_t bits = bl_kir_type_bits(i->attr->type);

    for (uint32_t e = 0; e + 1 < i->operand_count; e++) {
        LLVMValueRef at = add_bytes(f, pointers, (int64_t)e * bits / 8), value = stored_vector(f, i->operands[1 + e]);
        if (has_scatter(f, bits))
            masked_store(f, "llvm.masked.scatter", value, at, f->at->mask, bits / 8);
        else
            store_lanes(f, value, at, bits / 8, is_wide(i));
    }
}

static void store_rows(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a, int64_t stride)
{
    uint32_t vec = i->attr->vec, places[BL_WARP * 8];
    LLVMValueRef parts[8], whole, piece;
    struct ways w;

    for (uint32_t e = 0; e < vec; e++)
        parts[e] = stored_vector(f, i->operands[1 + e]);
    whole = vec == 1 ? parts[0] : interleave(f, parts, vec);
    w = open_ways(f, rows_hold(f, i, stride));
    for (uint32_t r = 0; r < BL_WARP / f->run; r++) {
        for (uint32_t n = 0; n < f->run * vec; n++)
            places[n] = r * f->run * vec + n;
        piece = LLVMBuildShuffleVector(f->cg->builder, whole, LLVMGetUndef(LLVMTypeOf(whole)),
                                       shuffle_mask(f, places, f->run * vec), "");
        LLVMSetAlignment(LLVMBuildStore(f->cg->builder, piece, row_pointer(f, i, r)), access_align(i));
    }
    close_way(f, &w, w.second);
    store_scattered(f, i, a->pointer);
    close_way(f, &w, w.done);
}

static void store_wrapped(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, BL_WARP), element = LLVMGetElementType(type);
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8;
    LLVMValueRef arrays[8], pointer, value;
    struct bl_cg_lanes lanes;

    for (uint32_t e = 0; e + 1 < i->operand_count; e++) {
        arrays[e] = bl_cg_array(f, type, "from");
        LLVMBuildStore(b, bl_cg_vector(f, i->operands[1 + e]), arrays[e]);
    }
    bl_cg_lanes_begin(f, bl_cg_mask_bits(f, f->at->mask), &lanes);
    pointer = wrapped_pointer(f, i, a, lanes.lane);
    for (uint32_t e = 0; e + 1 < i->operand_count; e++) {
        value = LLVMBuildLoad2(b, element, bl_cg_element(f, element, arrays[e], lanes.lane), "");
        LLVMSetAlignment(LLVMBuildStore(b, value, add_bytes(f, pointer, (int64_t)e * size)), size);
    }
    bl_cg_lanes_end(f, &lanes);
}

static void store_guarded(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct address *a)
{
    struct ways w = open_ways(f, a->guard);

    store_contiguous(f, i, a);
    close_way(f, &w, w.second);
    store_wrapped(f, i, a);
    close_way(f, &w, w.done);
}

static void emit_store(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    struct address a;

    note_line(f, i);
    bl_cg_check_alignment(f, i);
    fence_beside(f, i, true);
    a = find_address(f, i);
    if (a.form == BL_KIR_SHAPE_UNIFORM)
        store_uniform(f, i, &a);
    else if (a.form == BL_KIR_SHAPE_VARYING && row_stride(f, i) != BL_CG_NO_RUN)
        store_rows(f, i, &a, row_stride(f, i));
    else if (a.form == BL_KIR_SHAPE_VARYING)
        store_scattered(f, i, a.pointer);
    else if (a.guard)
        store_guarded(f, i, &a);
    else
        store_contiguous(f, i, &a);
    fence_beside(f, i, false);
}

/* ---- names and parameters: the same in every lane, made in the entry block -------------------------------------- */

static void emit_param(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef params = params_start(f);
    uint32_t size = bl_kir_type_bits(i->attr->type) / 8;

    for (uint32_t e = 0; e < i->result_count; e++) {
        LLVMValueRef at = add_bytes(f, params, (int64_t)i->attr->imm + (int64_t)e * size);
        LLVMValueRef load = LLVMBuildLoad2(f->cg->builder, bl_cg_type(f->cg, i->attr->type, 1), at, "");
        LLVMSetAlignment(load, 1);
        bl_cg_mark_invariant(f, load);
        bl_cg_define_scalar(f, i->results[e], load);
    }
}

static uint32_t global_number(struct bl_cg_func *f, struct bl_kir_symbol *symbol)
{
    if (!symbol->index) {
        *BL_PUSH(f->cg->arena, &f->unit->globals) = symbol;
        symbol->index = f->unit->globals.count;
    }
    return symbol->index - 1;
}

static void emit_addrof(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    struct bl_kir_symbol *symbol = i->attr->symbol;
    LLVMValueRef value;

    if (symbol->space == BL_KIR_SHARED) {
        value = number64(f, (int64_t)(symbol->offset + i->attr->imm));
    } else {
        LLVMValueRef globals = BL_CG_FIELD(f, globals, pointer_type(f));
        LLVMValueRef at = add_bytes(f, globals, (int64_t)global_number(f, symbol) * 8);
        value = LLVMBuildLoad2(f->cg->builder, int_type(f, 64), at, "");
        bl_cg_mark_invariant(f, value);
        value = LLVMBuildAdd(f->cg->builder, value, number64(f, (int64_t)i->attr->imm), "");
    }
    bl_cg_define_scalar(f, i->results[0], value);
}

static void emit_frame(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    bl_cg_define_scalar(f, i->results[0], LLVMBuildAdd(f->cg->builder, f->frame, number64(f, (int64_t)i->attr->imm), ""));
}

/* ---- spaces ------------------------------------------------------------------------------------------------ */

/* The start of a space as i64: the same in every lane (scalar), or by lane. */
static LLVMValueRef space_start(struct bl_cg_func *f, uint8_t space)
{
    LLVMTypeRef i64 = int_type(f, 64);

    switch (space) {
    case BL_KIR_SHARED:
        return LLVMBuildPtrToInt(f->cg->builder, shared_start(f), i64, "");
    case BL_KIR_PARAM:
        return BL_CG_FIELD(f, params, i64);
    case BL_KIR_LOCAL:
        return local_lanes(f);
    default:
        return number64(f, 0);
    }
}

/* to_generic and from_generic: plus or minus the space's start. Keeps the operand's form but in local space. */
static void emit_convert_space(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    uint8_t space = i->attr->space, form = bl_cg_form(f, i->operands[0]);
    bool to = i->op == BL_KIR_OP_to_generic, local = space == BL_KIR_LOCAL;
    bool affine = form == BL_KIR_SHAPE_AFFINE && f->divergence->shape[i->results[0]->id] == BL_KIR_SHAPE_AFFINE;
    bool vector = local || (form != BL_KIR_SHAPE_UNIFORM && !affine);
    LLVMValueRef start = space_start(f, space), value;
    LLVMTypeRef type = bl_cg_type(f->cg, i->results[0]->type, vector ? BL_WARP : 1);

    value = vector ? bl_cg_vector(f, i->operands[0]) : bl_cg_scalar(f, i->operands[0]);
    if (vector && !local)
        start = bl_cg_splat(f->cg, start);
    if (to && (local || space == BL_KIR_SHARED))
        value = widen_offset(f, value, vector);
    value = LLVMBuildIntCast2(b, value, LLVMTypeOf(start), false, "");
    value = to ? LLVMBuildAdd(b, value, start, "") : LLVMBuildSub(b, value, start, "");
    value = LLVMBuildIntCast2(b, value, type, false, "");
    bl_cg_define(f, i->results[0], vector ? (uint8_t)BL_KIR_SHAPE_VARYING : form, f->values[i->operands[0]->id].stride, value);
}

static LLVMValueRef is_within(struct bl_cg_func *f, LLVMValueRef address, LLVMValueRef start, LLVMValueRef size)
{
    LLVMBuilderRef b = f->cg->builder;
    return LLVMBuildICmp(b, LLVMIntULT, LLVMBuildSub(b, address, start, ""), size, "");
}

/* Global and const are whatever is neither shared nor the thread's own local memory; const is not told from global. */
static void emit_isspacep(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i64 = int_type(f, 64);
    LLVMValueRef address = bl_cg_vector(f, i->operands[0]), shared, local, result;

    shared = is_within(f, address, bl_cg_splat(f->cg, space_start(f, BL_KIR_SHARED)),
                       bl_cg_splat(f->cg, BL_CG_FIELD(f, shared_size, i64)));
    local = is_within(f, address, local_lanes(f), bl_cg_splat(f->cg, BL_CG_FIELD(f, local_stride, i64)));
    switch (i->attr->space) {
    case BL_KIR_SHARED:
        result = shared;
        break;
    case BL_KIR_LOCAL:
        result = local;
        break;
    case BL_KIR_GLOBAL:
        result = LLVMBuildNot(b, LLVMBuildOr(b, shared, local, ""), "");
        break;
    default:
        result = LLVMConstNull(LLVMTypeOf(shared));
        break;
    }
    bl_cg_define_vector(f, i->results[0], result);
}

/* ---- alloca --------------------------------------------------------------------------------------------------- */

static LLVMValueRef largest_of_lanes(struct bl_cg_func *f, const struct bl_kir_value *value)
{
    LLVMTypeRef i64 = int_type(f, 64), type = vector_of(i64);
    LLVMValueRef wide;

    if (bl_cg_form(f, value) == BL_KIR_SHAPE_UNIFORM)
        return LLVMBuildIntCast2(f->cg->builder, bl_cg_scalar(f, value), i64, false, "");
    wide = LLVMBuildIntCast2(f->cg->builder, bl_cg_vector(f, value), type, false, "");
    wide = LLVMBuildSelect(f->cg->builder, f->at->mask, wide, LLVMConstNull(type), "");
    return bl_cg_intrinsic(f->cg, "llvm.vector.reduce.umax", 1, &type, 1, &wide);
}

/* All lanes take the same piece, as large as the largest wish. */
static void emit_alloca(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef fits = bl_cg_block(f, "fits"), full = bl_cg_block(f, "full");
    int64_t align = BL_MAX((int64_t)i->attr->align, 16);
    LLVMValueRef at, end, bytes = largest_of_lanes(f, i->operands[0]), stride = BL_CG_FIELD(f, local_stride, int_type(f, 64));

    at = LLVMBuildLoad2(b, int_type(f, 64), f->stack_slot, "");
    at = LLVMBuildAnd(b, LLVMBuildAdd(b, at, number64(f, align - 1), ""), number64(f, -align), "");
    end = LLVMBuildAdd(b, at, bytes, "");
    at = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, end, at, ""), number64(f, -1), at, "");
    LLVMBuildCondBr(b,
                    LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntULE, at, end, ""), LLVMBuildICmp(b, LLVMIntULE, end, stride, ""), ""),
                    fits, full);
    LLVMPositionBuilderAtEnd(b, full);
    bl_cg_fault(f, bl_cg_mask_bits(f, f->at->mask), BL_FAULT_STACK_OVERFLOW, NULL);
    LLVMPositionBuilderAtEnd(b, fits);
    LLVMBuildStore(b, end, f->stack_slot);
    bl_cg_define_scalar(f, i->results[0], at);
}

bool bl_cg_memory(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_load:
    case BL_KIR_OP_store:
        if (is_wide(i) && !f->cg->features.cx16)
            return false;
        i->op == BL_KIR_OP_load ? emit_load(f, i) : emit_store(f, i);
        return true;
    case BL_KIR_OP_param:
        emit_param(f, i);
        return true;
    case BL_KIR_OP_addrof:
        emit_addrof(f, i);
        return true;
    case BL_KIR_OP_funcaddr:
        bl_cg_define_scalar(f, i->results[0], number64(f, i->attr->func->number));
        return true;
    case BL_KIR_OP_frame:
        emit_frame(f, i);
        return true;
    case BL_KIR_OP_to_generic:
    case BL_KIR_OP_from_generic:
        emit_convert_space(f, i);
        return true;
    case BL_KIR_OP_isspacep:
        emit_isspacep(f, i);
        return true;
    case BL_KIR_OP_fence:
        LLVMBuildFence(f->cg->builder, order_of(i->attr->order), false, "");
        return true;
    case BL_KIR_OP_prefetch: /* a hint */
        return true;
    case BL_KIR_OP_alloca:
        emit_alloca(f, i);
        return true;
    case BL_KIR_OP_stacksave:
        bl_cg_define_scalar(f, i->results[0], LLVMBuildLoad2(f->cg->builder, int_type(f, 64), f->stack_slot, ""));
        return true;
    case BL_KIR_OP_stackrestore:
        LLVMBuildStore(f->cg->builder, bl_cg_scalar(f, i->operands[0]), f->stack_slot);
        return true;
    default:
        return false;
    }
}
