/* Loads, stores, parameters, module variables, addresses and what converts them. */
#include <stdio.h>

#include "target/amdgpu/codegen.h"

/* ---- module variables ----------------------------------------------------------------------------- */

static LLVMValueRef initial_bytes(struct bl_amd_object *object, const uint8_t *bytes, uint64_t size)
{
    return LLVMConstStringInContext2(object->cg.context, (const char *)bytes, size, true);
}

/* What stands at the place of a pointer. Addresses are made by the linker and the loader; a function is its number. */
static LLVMValueRef pointer_value(struct bl_amd_object *object, const struct bl_kir_reloc *reloc)
{
    struct bl_cg *cg = &object->cg;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(cg->context), type = LLVMIntTypeInContext(cg->context, reloc->size * 8);
    LLVMValueRef value, addend = LLVMConstInt(i64, (uint64_t)reloc->addend, true);

    if (reloc->func)
        return LLVMConstInt(type, reloc->func->number + (uint64_t)reloc->addend, false);
    if (reloc->symbol->space != BL_KIR_GLOBAL && reloc->symbol->space != BL_KIR_CONST)
        return NULL;
    if (reloc->size != 8 || !(value = bl_amd_global(object, reloc->symbol)))
        return NULL;
    return LLVMConstAdd(LLVMConstPtrToInt(value, i64), addend);
}

static int by_offset(const void *a, const void *b)
{
    const struct bl_kir_reloc *x = a, *y = b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The variable's pointers in the order of their places. NULL, with the error set, where they don't fit. */
static struct bl_kir_reloc *sorted_relocs(struct bl_amd_object *object, const struct bl_kir_symbol *symbol)
{
    uint32_t count = symbol->relocs.count;
    struct bl_kir_reloc *relocs = BL_NEW_ARRAY(object->cg.arena, struct bl_kir_reloc, count + 1u);
    uint64_t end = 0;
    bool fit = !count || symbol->init;

    if (count)
        memcpy(relocs, symbol->relocs.items, count * sizeof(*relocs));
    qsort(relocs, count, sizeof(*relocs), by_offset);
    for (uint32_t r = 0; r < count; r++) {
        fit &= relocs[r].size && relocs[r].size <= 8 && relocs[r].offset >= end;
        end = (uint64_t)relocs[r].offset + relocs[r].size;
    }
    if (fit && end <= symbol->size)
        return relocs;
    bl_fail(object->cg.error, BL_INVALID, "variable %s: pointers in its initial value that don't fit", symbol->name);
    return NULL;
}

/* Bytes, or with pointers in it a packed struct of bytes and integers. */
static LLVMTypeRef variable_type(struct bl_amd_object *object, const struct bl_kir_symbol *symbol)
{
    struct bl_cg *cg = &object->cg;
    uint32_t count = symbol->relocs.count, parts = 0;
    LLVMTypeRef byte = LLVMInt8TypeInContext(cg->context), *types;
    struct bl_kir_reloc *relocs;
    uint64_t at = 0;

    if (!count)
        return LLVMArrayType2(byte, symbol->size);
    if (!(relocs = sorted_relocs(object, symbol)))
        return NULL;
    types = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, 2 * (uint64_t)count + 1);
    for (uint32_t r = 0; r < count; r++) {
        if (relocs[r].offset > at)
            types[parts++] = LLVMArrayType2(byte, relocs[r].offset - at);
        types[parts++] = LLVMIntTypeInContext(cg->context, relocs[r].size * 8);
        at = (uint64_t)relocs[r].offset + relocs[r].size;
    }
    if (symbol->size > at)
        types[parts++] = LLVMArrayType2(byte, symbol->size - at);
    return LLVMStructTypeInContext(cg->context, types, parts, true);
}

static LLVMValueRef initial_struct(struct bl_amd_object *object, const struct bl_kir_symbol *symbol)
{
    struct bl_cg *cg = &object->cg;
    uint32_t count = symbol->relocs.count, parts = 0;
    LLVMValueRef *values = BL_NEW_ARRAY(cg->arena, LLVMValueRef, 2 * (uint64_t)count + 1);
    struct bl_kir_reloc *relocs = sorted_relocs(object, symbol);
    uint64_t at = 0;

    for (uint32_t r = 0; relocs && r < count; r++) {
        if (relocs[r].offset > at)
            values[parts++] = initial_bytes(object, symbol->init + at, relocs[r].offset - at);
        if (!(values[parts++] = pointer_value(object, &relocs[r])))
            return NULL;
        at = (uint64_t)relocs[r].offset + relocs[r].size;
    }
    if (symbol->size > at)
        values[parts++] = initial_bytes(object, symbol->init + at, symbol->size - at);
    return relocs ? LLVMConstStructInContext(cg->context, values, parts, true) : NULL;
}

LLVMValueRef bl_amd_global(struct bl_amd_object *object, struct bl_kir_symbol *symbol)
{
    struct bl_cg *cg = &object->cg;
    LLVMValueRef *global = &object->globals[symbol->index];
    LLVMTypeRef type;

    if (symbol->is_extern) {
        bl_fail(cg->error, BL_UNSUPPORTED, "%s: an extern variable that this text does not define", symbol->name);
        return NULL;
    }
    if (*global || !(type = variable_type(object, symbol)))
        return *global;
    *global = LLVMAddGlobalInAddressSpace(cg->module, type, symbol->name, BL_AMD_GLOBAL);
    LLVMSetExternallyInitialized(*global, true); /* the host may write it between launches */
    LLVMSetVisibility(*global, LLVMProtectedVisibility);
    LLVMSetAlignment(*global, BL_MAX(symbol->align, 1u));
    return *global;
}

static bool define_global(struct bl_amd_object *object, struct bl_kir_symbol *symbol)
{
    LLVMValueRef global = bl_amd_global(object, symbol), value;

    if (!global)
        return false;
    value = !symbol->init          ? LLVMConstNull(LLVMGlobalGetValueType(global))
            : symbol->relocs.count ? initial_struct(object, symbol)
                                   : initial_bytes(object, symbol->init, symbol->size);
    if (value)
        LLVMSetInitializer(global, value);
    else
        bl_fail(object->cg.error, BL_UNSUPPORTED, "variable %s: holds an address that AMD GPUs have not before a kernel runs",
                symbol->name);
    return value != NULL;
}

enum bl_status bl_amd_variables(struct bl_amd_object *object)
{
    struct bl_kir_module *module = object->module;

    object->globals = BL_NEW_ARRAY(object->cg.arena, LLVMValueRef, module->symbols.count + 1u);
    for (uint32_t s = 0; s < module->symbols.count; s++)
        module->symbols.items[s]->index = s;
    for (uint32_t s = 0; s < module->symbols.count; s++) {
        struct bl_kir_symbol *symbol = module->symbols.items[s];
        bool is_variable = symbol->space == BL_KIR_GLOBAL || symbol->space == BL_KIR_CONST;
        if (is_variable && !symbol->is_extern && !define_global(object, symbol))
            return object->cg.error->status;
    }
    return BL_OK;
}

/* ---- addresses ------------------------------------------------------------------------------------ */

unsigned bl_amd_space(uint8_t space)
{
    static const unsigned spaces[] = {
        [BL_KIR_GENERIC] = BL_AMD_FLAT,  [BL_KIR_GLOBAL] = BL_AMD_GLOBAL, [BL_KIR_SHARED] = BL_AMD_LDS,
        [BL_KIR_LOCAL] = BL_AMD_SCRATCH, [BL_KIR_CONST] = BL_AMD_CONST,   [BL_KIR_PARAM] = BL_AMD_CONST,
    };
    return spaces[space];
}

void bl_amd_mark(struct bl_amd_func *f, LLVMValueRef load, unsigned kind)
{
    LLVMMetadataRef one = LLVMValueAsMetadata(a_i32(f, 1));
    LLVMMetadataRef node = LLVMMDNodeInContext2(f->cg->context, &one, kind == f->object->nontemporal_kind);
    LLVMSetMetadata(load, kind, LLVMMetadataAsValue(f->cg->context, node));
}

static LLVMValueRef move_pointer(struct bl_amd_func *f, LLVMValueRef pointer, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(f->cg->builder, a_int(f, 8), pointer, &bytes, 1, "");
}

static LLVMValueRef kernarg(struct bl_amd_func *f)
{
    return a_call(f, "llvm.amdgcn.kernarg.segment.ptr", 0, NULL);
}

/* A local address that comes from the frame by sums, as a pointer into the alloca, by which LLVM can put small arrays into
 * registers; NULL: not such a one. */
static LLVMValueRef frame_pointer(struct bl_amd_func *f, const struct bl_kir_value *value, uint32_t depth)
{
    const struct bl_kir_instr *def = value->def;
    LLVMValueRef base, rest;

    if (!def || !depth || !f->frame)
        return NULL;
    if (def->op == BL_KIR_OP_frame)
        return move_pointer(f, f->frame, a_i32(f, (uint32_t)def->attr->imm));
    if (def->op != BL_KIR_OP_add || def->attr->sat)
        return NULL;
    for (uint32_t o = 0; o < 2; o++) {
        base = frame_pointer(f, def->operands[o], depth - 1);
        if (!base)
            continue;
        rest = LLVMBuildIntCast2(f->cg->builder, bl_amd_value(f, def->operands[!o]), a_int(f, 32), true, "");
        return move_pointer(f, base, rest);
    }
    return NULL;
}

LLVMValueRef bl_amd_pointer(struct bl_amd_func *f, const struct bl_kir_value *address, uint8_t space, int64_t offset)
{
    LLVMBuilderRef b = f->cg->builder;
    unsigned number = bl_amd_space(space), bits = number == BL_AMD_LDS || number == BL_AMD_SCRATCH ? 32 : 64;
    LLVMValueRef pointer = space == BL_KIR_LOCAL ? frame_pointer(f, address, 8) : NULL, integer;

    if (!pointer) {
        integer = LLVMBuildIntCast2(b, bl_amd_value(f, address), a_int(f, bits), false, "");
        pointer =
            space == BL_KIR_PARAM ? move_pointer(f, kernarg(f), integer) : LLVMBuildIntToPtr(b, integer, a_pointer(f, number), "");
    }
    return offset ? move_pointer(f, pointer, LLVMConstInt(a_int(f, bits), (uint64_t)offset, true)) : pointer;
}

static bool build_addrof(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    struct bl_kir_symbol *symbol = i->attr->symbol;
    LLVMTypeRef i64 = a_int(f, 64);
    LLVMValueRef global;

    if (symbol->space == BL_KIR_SHARED) {
        bl_amd_define(f, i->results[0], LLVMConstInt(i64, symbol->offset + i->attr->imm, false));
        return true;
    }
    if (symbol->space != BL_KIR_GLOBAL && symbol->space != BL_KIR_CONST)
        return false;
    global = bl_amd_global(f->object, symbol);
    if (!global)
        return true;
    global = LLVMConstPtrToInt(global, i64);
    bl_amd_define(f, i->results[0], LLVMBuildAdd(f->cg->builder, global, LLVMConstInt(i64, i->attr->imm, true), ""));
    return true;
}

static bool build_frame(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef address;

    if (!f->frame)
        return false;
    address = LLVMBuildPtrToInt(f->cg->builder, f->frame, a_int(f, 32), "");
    address = LLVMBuildAdd(f->cg->builder, address, a_i32(f, (uint32_t)i->attr->imm), "");
    bl_amd_define(f, i->results[0], LLVMBuildZExt(f->cg->builder, address, a_int(f, 64), ""));
    return true;
}

/* Flat addresses: shared and scratch stand in windows of 4 GB whose upper half the chip knows (the apertures). The lower half is
 * the address in its space. */
static bool build_convert(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i64 = a_int(f, 64);
    LLVMValueRef value = bl_amd_value(f, i->operands[0]);
    uint8_t space = i->attr->space;

    if (space == BL_KIR_PARAM && !f->func->is_kernel)
        return false;
    if (i->op == BL_KIR_OP_from_generic) {
        if (space == BL_KIR_PARAM)
            value = LLVMBuildSub(b, value, LLVMBuildPtrToInt(b, kernarg(f), i64, ""), "");
        else if (space == BL_KIR_SHARED || space == BL_KIR_LOCAL)
            value = LLVMBuildTrunc(b, value, a_int(f, 32), "");
        bl_amd_define(f, i->results[0], value);
        return true;
    }
    if (space == BL_KIR_SHARED || space == BL_KIR_LOCAL) {
        value = bl_amd_pointer(f, i->operands[0], space, 0);
        value = LLVMBuildAddrSpaceCast(b, value, a_pointer(f, BL_AMD_FLAT), "");
        value = LLVMBuildPtrToInt(b, value, i64, "");
    } else if (space == BL_KIR_PARAM) {
        value = LLVMBuildPtrToInt(b, bl_amd_pointer(f, i->operands[0], space, 0), i64, "");
    }
    bl_amd_define(f, i->results[0], value);
    return true;
}

/* Global and const are whatever is neither shared nor scratch; const is not told from global, as on the CPU device. */
static bool build_isspacep(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef pointer = LLVMBuildIntToPtr(b, bl_amd_value(f, i->operands[0]), a_pointer(f, BL_AMD_FLAT), ""), shared, local;

    if (i->attr->space != BL_KIR_SHARED && i->attr->space != BL_KIR_LOCAL && i->attr->space != BL_KIR_GLOBAL) {
        bl_amd_define(f, i->results[0], a_i1(f, false));
        return true;
    }
    shared = a_call(f, "llvm.amdgcn.is.shared", 1, &pointer);
    local = a_call(f, "llvm.amdgcn.is.private", 1, &pointer);
    bl_amd_define(f, i->results[0],
                  i->attr->space == BL_KIR_SHARED  ? shared
                  : i->attr->space == BL_KIR_LOCAL ? local
                                                   : LLVMBuildNot(b, LLVMBuildOr(b, shared, local, ""), ""));
    return true;
}

/* ---- loads and stores ----------------------------------------------------------------------------- */

/* A pred has no place in memory: the front end makes bytes of it. */
static LLVMTypeRef access_type(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, 1);
    return i->attr->vec > 1 ? LLVMVectorType(type, i->attr->vec) : type;
}

static unsigned access_align(const struct bl_kir_instr *i)
{
    unsigned size = bl_kir_type_bits(i->attr->type) / 8;
    return i->attr->align ? i->attr->align : BL_MAX(size, 1u);
}

static bool is_strong(const struct bl_kir_instr *i)
{
    return i->attr->order >= BL_KIR_RELAXED && i->attr->space != BL_KIR_LOCAL && i->attr->space != BL_KIR_PARAM;
}

static void define_elements(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef loaded)
{
    if (i->result_count == 1 && i->attr->vec <= 1) {
        bl_amd_define(f, i->results[0], loaded);
        return;
    }
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_amd_define(f, i->results[r], LLVMBuildExtractElement(f->cg->builder, loaded, a_i32(f, r), ""));
}

static void mark_access(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef access)
{
    LLVMSetAlignment(access, access_align(i));
    if (i->attr->order == BL_KIR_VOLATILE)
        LLVMSetVolatile(access, true);
    else if (i->attr->cache == BL_KIR_CACHE_STREAMING)
        bl_amd_mark(f, access, f->object->nontemporal_kind);
}

static bool build_load(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    uint8_t space = i->attr->space;
    LLVMValueRef pointer = bl_amd_pointer(f, i->operands[0], space, (int64_t)i->attr->imm), loaded;

    if (is_strong(i)) { /* each element by itself, as PTX has it */
        LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, 1);
        for (uint32_t r = 0; r < i->result_count; r++) {
            LLVMValueRef place = a_i32(f, r), at = LLVMBuildGEP2(b, type, pointer, &place, 1, "");
            bl_amd_define(f, i->results[r], bl_amd_strong_load(f, i, at, type));
        }
        return true;
    }
    loaded = LLVMBuildLoad2(b, access_type(f, i), pointer, "");
    mark_access(f, i, loaded);
    if (space == BL_KIR_CONST || space == BL_KIR_PARAM || (i->attr->nc && i->attr->order == BL_KIR_WEAK))
        bl_amd_mark(f, loaded, f->object->invariant_kind);
    define_elements(f, i, loaded);
    return true;
}

/* A stored NaN has the bits that an NVIDIA GPU gives it, but for fast math. */
static LLVMValueRef stored(struct bl_amd_func *f, const struct bl_kir_value *value)
{
    if (f->cg->fast_math)
        return bl_amd_value(f, value);
    return bl_cg_settle_nan(f->cg, value, 1, bl_amd_value(f, value));
}

static bool build_store(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef pointer = bl_amd_pointer(f, i->operands[0], i->attr->space, (int64_t)i->attr->imm), whole;
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, 1);

    if (is_strong(i)) {
        for (uint32_t o = 1; o < i->operand_count; o++) {
            LLVMValueRef place = a_i32(f, o - 1), at = LLVMBuildGEP2(b, type, pointer, &place, 1, "");
            bl_amd_strong_store(f, i, at, stored(f, i->operands[o]));
        }
        return true;
    }
    if (i->attr->vec <= 1) {
        whole = stored(f, i->operands[1]);
    } else {
        whole = LLVMGetPoison(access_type(f, i));
        for (uint32_t o = 1; o < i->operand_count; o++)
            whole = LLVMBuildInsertElement(b, whole, stored(f, i->operands[o]), a_i32(f, o - 1), "");
    }
    mark_access(f, i, LLVMBuildStore(b, whole, pointer));
    return true;
}

static bool build_param(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef loaded;

    if (!f->func->is_kernel)
        return false;
    loaded = move_pointer(f, kernarg(f), LLVMConstInt(a_int(f, 64), i->attr->imm, false));
    loaded = LLVMBuildLoad2(f->cg->builder, access_type(f, i), loaded, "");
    LLVMSetAlignment(loaded, access_align(i));
    bl_amd_mark(f, loaded, f->object->invariant_kind);
    define_elements(f, i, loaded);
    return true;
}

/* ---- the stack ------------------------------------------------------------------------------------ */

static bool build_alloca(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef bytes = LLVMBuildIntCast2(b, bl_amd_value(f, i->operands[0]), a_int(f, 32), false, "");
    LLVMValueRef slot = LLVMBuildArrayAlloca(b, a_int(f, 8), bytes, "");

    LLVMSetAlignment(slot, BL_MAX(i->attr->align, 16u));
    slot = LLVMBuildPtrToInt(b, slot, a_int(f, 32), "");
    bl_amd_define(f, i->results[0], LLVMBuildZExt(b, slot, a_int(f, 64), ""));
    return true;
}

static bool build_stack_mark(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef pointer = a_pointer(f, BL_AMD_SCRATCH);
    LLVMValueRef mark;

    if (i->op == BL_KIR_OP_stacksave) {
        mark = LLVMBuildPtrToInt(b, bl_cg_intrinsic(f->cg, "llvm.stacksave", 1, &pointer, 0, NULL), a_int(f, 32), "");
        bl_amd_define(f, i->results[0], LLVMBuildZExt(b, mark, a_int(f, 64), ""));
        return true;
    }
    mark = LLVMBuildIntToPtr(b, LLVMBuildTrunc(b, bl_amd_value(f, i->operands[0]), a_int(f, 32), ""), pointer, "");
    bl_cg_intrinsic(f->cg, "llvm.stackrestore", 1, &pointer, 1, &mark);
    return true;
}

bool bl_amd_memory(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_load:
        return build_load(f, i);
    case BL_KIR_OP_store:
        return build_store(f, i);
    case BL_KIR_OP_param:
        return build_param(f, i);
    case BL_KIR_OP_addrof:
        return build_addrof(f, i);
    case BL_KIR_OP_funcaddr:
        bl_amd_define(f, i->results[0], LLVMConstInt(a_int(f, 64), i->attr->func->number, false));
        return true;
    case BL_KIR_OP_frame:
        return build_frame(f, i);
    case BL_KIR_OP_to_generic:
    case BL_KIR_OP_from_generic:
        return build_convert(f, i);
    case BL_KIR_OP_isspacep:
        return build_isspacep(f, i);
    case BL_KIR_OP_prefetch: /* a hint */
        return true;
    case BL_KIR_OP_alloca:
        return build_alloca(f, i);
    case BL_KIR_OP_stacksave:
    case BL_KIR_OP_stackrestore:
        return build_stack_mark(f, i);
    default:
        return false;
    }
}
