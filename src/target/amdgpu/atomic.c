/* Atomics, accesses with an order or a scope, fences. LLVM 19's C API has no scopes, so each kind of access is a small function
 * whose body is written as LLVM text; all are parsed at once at the end, linked in and inlined. LLVM's memory model for AMDGPU
 * makes the cache instructions and waits of it. */
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdio.h>

#include "target/amdgpu/codegen.h"

/* A cluster's CTAs are in the same agent. */
static const char *scope_name(uint8_t scope)
{
    static const char *const names[] = {
        [BL_KIR_SCOPE_CTA] = "workgroup", [BL_KIR_SCOPE_CLUSTER] = "agent", [BL_KIR_SCOPE_GPU] = "agent", [BL_KIR_SCOPE_SYS] = ""};
    return names[scope];
}

static const char *order_name(uint8_t order)
{
    switch (order) {
    case BL_KIR_ACQUIRE:
        return "acquire";
    case BL_KIR_RELEASE:
        return "release";
    case BL_KIR_ACQ_REL:
        return "acq_rel";
    case BL_KIR_SEQ_CST:
        return "seq_cst";
    default:
        return "monotonic";
    }
}

static const char *scope_text(struct bl_amd_func *f, const char *scope)
{
    return scope[0] ? bl_arena_printf(f->cg->arena, "syncscope(\"%s\") ", scope) : "";
}

static const char *pointer_text(struct bl_amd_func *f, unsigned space)
{
    return space ? bl_arena_printf(f->cg->arena, "ptr addrspace(%u)", space) : "ptr";
}

/* The function of the name, with its text added at its first use. */
static LLVMValueRef text_function(struct bl_amd_func *f, const char *name, LLVMTypeRef type, const char *text)
{
    LLVMValueRef function = LLVMGetNamedFunction(f->cg->module, name);

    if (function)
        return function;
    bl_buffer_printf(&f->object->text, "%s\n", text);
    return LLVMAddFunction(f->cg->module, name, type);
}

static LLVMValueRef call_text(struct bl_amd_func *f, const char *name, LLVMTypeRef result, uint32_t count, LLVMValueRef *arguments,
                              const char *text)
{
    LLVMTypeRef types[3], type;

    for (uint32_t a = 0; a < count; a++)
        types[a] = LLVMTypeOf(arguments[a]);
    type = LLVMFunctionType(result, types, count, false);
    return LLVMBuildCall2(f->cg->builder, type, text_function(f, name, type, text), arguments, count, "");
}

static unsigned space_of(LLVMValueRef pointer)
{
    return LLVMGetPointerAddressSpace(LLVMTypeOf(pointer));
}

/* ---- loads, stores, fences ------------------------------------------------------------------------ */

LLVMValueRef bl_amd_strong_load(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMTypeRef type)
{
    unsigned bits = bl_kir_type_bits(i->attr->type), space = space_of(pointer);
    const char *order = order_name(i->attr->order), *scope = scope_name(i->attr->scope), *at = pointer_text(f, space);
    char *name = bl_arena_printf(f->cg->arena, "bailey.load.%u.p%u.%s.%s", bits, space, order, scope);
    char *text = bl_arena_printf(
        f->cg->arena, "define i%u @%s(%s %%p) alwaysinline { %%r = load atomic i%u, %s %%p %s%s, align %u\n ret i%u %%r }", bits,
        name, at, bits, at, scope_text(f, scope), order, bits / 8, bits);
    LLVMValueRef loaded = call_text(f, name, a_int(f, bits), 1, &pointer, text);

    return LLVMBuildBitCast(f->cg->builder, loaded, type, "");
}

void bl_amd_strong_store(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef value)
{
    unsigned bits = bl_kir_type_bits(i->attr->type), space = space_of(pointer);
    const char *order = order_name(i->attr->order), *scope = scope_name(i->attr->scope), *at = pointer_text(f, space);
    char *name = bl_arena_printf(f->cg->arena, "bailey.store.%u.p%u.%s.%s", bits, space, order, scope);
    char *text = bl_arena_printf(
        f->cg->arena, "define void @%s(%s %%p, i%u %%x) alwaysinline { store atomic i%u %%x, %s %%p %s%s, align %u\n ret void }",
        name, at, bits, bits, at, scope_text(f, scope), order, bits / 8);
    LLVMValueRef arguments[2] = {pointer, LLVMBuildBitCast(f->cg->builder, value, a_int(f, bits), "")};

    call_text(f, name, LLVMVoidTypeInContext(f->cg->context), 2, arguments, text);
}

void bl_amd_fence(struct bl_amd_func *f, const char *order, const char *scope)
{
    char *name = bl_arena_printf(f->cg->arena, "bailey.fence.%s.%s", order, scope);
    char *text = bl_arena_printf(f->cg->arena, "define void @%s() alwaysinline { fence %s%s\n ret void }", name,
                                 scope_text(f, scope), order);

    call_text(f, name, LLVMVoidTypeInContext(f->cg->context), 0, NULL, text);
}

/* ---- atomics -------------------------------------------------------------------------------------- */

static const char *operation(uint8_t atom)
{
    static const char *const names[] = {
        [BL_KIR_ATOM_EXCH] = "xchg",     [BL_KIR_ATOM_CAS] = NULL,        [BL_KIR_ATOM_ADD] = "add",   [BL_KIR_ATOM_FADD] = "fadd",
        [BL_KIR_ATOM_INC] = "uinc_wrap", [BL_KIR_ATOM_DEC] = "udec_wrap", [BL_KIR_ATOM_MIN_S] = "min", [BL_KIR_ATOM_MIN_U] = "umin",
        [BL_KIR_ATOM_MAX_S] = "max",     [BL_KIR_ATOM_MAX_U] = "umax",    [BL_KIR_ATOM_AND] = "and",   [BL_KIR_ATOM_OR] = "or",
        [BL_KIR_ATOM_XOR] = "xor",       [BL_KIR_ATOM_FMIN] = "fmin",     [BL_KIR_ATOM_FMAX] = "fmax",
    };
    return atom < BL_LEN(names) ? names[atom] : NULL;
}

/* The type that LLVM's instruction works on; NULL: none has it. */
static const char *element_text(const struct bl_kir_instr *i)
{
    bool floats = i->attr->atom == BL_KIR_ATOM_FADD || i->attr->atom == BL_KIR_ATOM_FMIN || i->attr->atom == BL_KIR_ATOM_FMAX;
    enum bl_kir_type type = floats ? i->attr->type : bl_kir_type_int(bl_kir_type_bits(i->attr->type));

    switch (type) {
    case BL_KIR_I16:
        return "i16";
    case BL_KIR_I32:
        return "i32";
    case BL_KIR_I64:
        return "i64";
    case BL_KIR_F16:
        return "half";
    case BL_KIR_BF16:
        return "bfloat";
    case BL_KIR_F32:
        return "float";
    case BL_KIR_F64:
        return "double";
    case BL_KIR_F16X2:
        return "<2 x half>";
    case BL_KIR_BF16X2:
        return "<2 x bfloat>";
    default:
        return NULL;
    }
}

static LLVMValueRef compare_and_swap(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef *arguments, unsigned bits)
{
    const char *order = order_name(i->attr->order), *scope = scope_name(i->attr->scope), *at;
    const char *failed = i->attr->order == BL_KIR_ACQ_REL || i->attr->order == BL_KIR_ACQUIRE ? "acquire"
                         : i->attr->order == BL_KIR_SEQ_CST                                   ? "seq_cst"
                                                                                              : "monotonic";
    unsigned space = space_of(arguments[0]);
    char *name = bl_arena_printf(f->cg->arena, "bailey.cas.%u.p%u.%s.%s", bits, space, order, scope), *text;

    at = pointer_text(f, space);
    text = bl_arena_printf(
        f->cg->arena,
        "define i%u @%s(%s %%p, i%u %%x, i%u %%y) alwaysinline { %%r = cmpxchg %s %%p, i%u %%x, i%u %%y %s%s %s, align %u\n"
        " %%v = extractvalue { i%u, i1 } %%r, 0\n ret i%u %%v }",
        bits, name, at, bits, bits, at, bits, bits, scope_text(f, scope), order, failed, bits / 8, bits, bits);
    return call_text(f, name, a_int(f, bits), 3, arguments, text);
}

static LLVMValueRef read_modify_write(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef *arguments, unsigned bits)
{
    const char *order = order_name(i->attr->order), *scope = scope_name(i->attr->scope), *element = element_text(i), *at;
    unsigned space = space_of(arguments[0]);
    char *name, *text;

    at = pointer_text(f, space);
    name = bl_arena_printf(f->cg->arena, "bailey.%s.%s.p%u.%s.%s", operation(i->attr->atom), bl_kir_type_name(i->attr->type), space,
                           order, scope);
    text = bl_arena_printf(f->cg->arena,
                           "define i%u @%s(%s %%p, i%u %%x) alwaysinline { %%e = bitcast i%u %%x to %s\n"
                           " %%o = atomicrmw %s %s %%p, %s %%e %s%s, align %u\n"
                           " %%r = bitcast %s %%o to i%u\n ret i%u %%r }",
                           bits, name, at, bits, bits, element, operation(i->attr->atom), at, element, scope_text(f, scope), order,
                           bits / 8, element, bits, bits);
    return call_text(f, name, a_int(f, bits), 2, arguments, text);
}

static bool build_atomic(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    unsigned bits = bl_kir_type_bits(i->attr->type);
    LLVMValueRef arguments[3] = {bl_amd_pointer(f, i->operands[0], i->attr->space, (int64_t)i->attr->imm)}, old;

    if (bits > 64 || !element_text(i) || (i->attr->atom != BL_KIR_ATOM_CAS && !operation(i->attr->atom)))
        return false;
    for (uint32_t o = 1; o < i->operand_count && o < 3; o++) {
        LLVMValueRef x = bl_cg_settle_nan(f->cg, i->operands[o], 1, bl_amd_value(f, i->operands[o]));
        arguments[o] = LLVMBuildBitCast(b, x, a_int(f, bits), "");
    }
    old = i->attr->atom == BL_KIR_ATOM_CAS ? compare_and_swap(f, i, arguments, bits) : read_modify_write(f, i, arguments, bits);
    if (i->result_count)
        bl_amd_define(f, i->results[0], LLVMBuildBitCast(b, old, bl_cg_type(f->cg, i->results[0]->type, 1), ""));
    return true;
}

bool bl_amd_atomic(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_atomic:
    case BL_KIR_OP_reduce:
        return build_atomic(f, i);
    case BL_KIR_OP_fence: /* a weaker one than both ways does not exist in PTX but for acquire and release */
        bl_amd_fence(f, i->attr->order < BL_KIR_ACQUIRE ? "acq_rel" : order_name(i->attr->order), scope_name(i->attr->scope));
        return true;
    default:
        return false;
    }
}

/* ---- the text ------------------------------------------------------------------------------------- */

enum bl_status bl_amd_link_text(struct bl_amd_object *object)
{
    struct bl_cg *cg = &object->cg;
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef added = NULL;
    char *message = NULL;

    if (object->text.failed)
        return bl_fail(cg->error, BL_NO_MEMORY, "no memory for atomics");
    if (!object->text.size)
        return BL_OK;
    buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object->text.data, object->text.size, "atomics");
    if (LLVMParseIRInContext(cg->context, buffer, &added, &message)) { /* takes the buffer */
        bl_fail(cg->error, BL_COMPILER, "the code generator made wrong LLVM text: %.1000s", message);
        LLVMDisposeMessage(message);
        return cg->error->status;
    }
    LLVMSetDataLayout(added, LLVMGetDataLayoutStr(cg->module));
    LLVMSetTarget(added, LLVMGetTarget(cg->module));
    if (LLVMLinkModules2(cg->module, added)) /* takes the module */
        return bl_fail(cg->error, BL_COMPILER, "LLVM: atomics don't link");
    for (LLVMValueRef function = LLVMGetFirstFunction(cg->module); function; function = LLVMGetNextFunction(function)) {
        size_t size;
        if (!strncmp(LLVMGetValueName2(function, &size), "bailey.", 7) && !LLVMIsDeclaration(function))
            LLVMSetLinkage(function, LLVMInternalLinkage);
    }
    return cg->error->status;
}
