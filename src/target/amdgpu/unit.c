/* A kernel and all that it may call: which functions, where shared variables lie, the LLVM functions and what they say of
 * themselves. Called by compile.c. */
#include <stdio.h>

#include "target/amdgpu/codegen.h"

uint32_t bl_amd_place(const struct bl_amd_unit *unit, const struct bl_kir_func *func)
{
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        if (unit->funcs.items[k] == func)
            return k;
    return UINT32_MAX;
}

#define FOR_EACH_INSTR(func, i)                                                                                                    \
    for (uint32_t block_ = 0; block_ < (func)->blocks.count; block_++)                                                             \
        for (struct bl_kir_instr *i = (func)->blocks.items[block_]->first; i; i = i->next)

/* ---- which functions ------------------------------------------------------------------------------ */

static void add_func(struct bl_amd_unit *unit, struct bl_kir_func *func)
{
    if (!func->is_declaration && bl_amd_place(unit, func) == UINT32_MAX)
        *BL_PUSH(unit->object->cg.arena, &unit->funcs) = func;
}

/* An indirect call may reach every function that has a number. */
static void add_numbered(struct bl_amd_unit *unit)
{
    for (uint32_t k = 0; k < unit->object->module->funcs.count; k++) {
        struct bl_kir_func *func = unit->object->module->funcs.items[k];
        if (!func->is_kernel && func->number)
            add_func(unit, func);
    }
}

static void collect(struct bl_amd_unit *unit)
{
    add_func(unit, unit->kernel);
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        FOR_EACH_INSTR(unit->funcs.items[k], i)
        {
            if (i->op == BL_KIR_OP_call)
                add_func(unit, i->attr->func);
            else if (i->op == BL_KIR_OP_call_indirect)
                add_numbered(unit);
        }
}

static bool ends_thread(const struct bl_amd_unit *unit, struct bl_kir_func *func)
{
    FOR_EACH_INSTR(func, i)
    {
        uint32_t place = i->op == BL_KIR_OP_call ? bl_amd_place(unit, i->attr->func) : UINT32_MAX;
        if (i->op == BL_KIR_OP_exit || (place != UINT32_MAX && unit->may_exit[place]) ||
            (i->op == BL_KIR_OP_call_indirect && unit->indirect_may_exit))
            return true;
    }
    return false;
}

static void find_exits(struct bl_amd_unit *unit)
{
    bool changed = true;

    unit->may_exit = BL_NEW_ARRAY(unit->object->cg.arena, bool, unit->funcs.count);
    while (changed) {
        changed = false;
        for (uint32_t k = 1; k < unit->funcs.count; k++) { /* 0 is the kernel, which nobody calls */
            if (unit->may_exit[k] || !ends_thread(unit, unit->funcs.items[k]))
                continue;
            unit->may_exit[k] = unit->indirect_may_exit = changed = true;
        }
    }
}

/* ---- shared memory -------------------------------------------------------------------------------- */

/* The variables that the unit's functions name, and no others. Dynamic shared memory starts after them, aligned to 16. */
static enum bl_status place_shared(struct bl_amd_unit *unit)
{
    struct bl_kir_module *module = unit->object->module;
    uint8_t *used = BL_NEW_ARRAY(unit->object->cg.arena, uint8_t, module->symbols.count + 1u);
    uint64_t end = 0, align, limit = unit->object->chip->shared_limit;
    bool reduces = false, parts = false;

    for (uint32_t k = 0; k < unit->funcs.count; k++)
        FOR_EACH_INSTR(unit->funcs.items[k], i)
        {
            if (i->op == BL_KIR_OP_addrof)
                used[i->attr->symbol->index] = 1;
            reduces |= i->op == BL_KIR_OP_barrier_red;
            parts |= i->op == BL_KIR_OP_barrier && i->operand_count > 1;
        }
    for (uint32_t s = 0; s < module->symbols.count; s++) {
        struct bl_kir_symbol *symbol = module->symbols.items[s];
        if (symbol->space != BL_KIR_SHARED || !used[s])
            continue;
        if (symbol->is_extern)
            continue;
        align = BL_MAX(symbol->align, 1u);
        symbol->offset = (end + align - 1) & ~(align - 1);
        end = symbol->offset + BL_MIN(symbol->size, limit + 1);
        if (end > limit)
            break;
    }
    unit->reduction_slot = unit->barrier_slots = UINT32_MAX;
    if (parts) {
        unit->barrier_slots = (uint32_t)BL_ALIGN_UP(end, 4);
        end = unit->barrier_slots + 8 * BL_AMD_BARRIERS;
    }
    if (reduces) {
        unit->reduction_slot = (uint32_t)BL_ALIGN_UP(end, 4);
        end = unit->reduction_slot + 4;
    }
    end = BL_ALIGN_UP(end, 16);
    if (end > limit)
        return bl_fail(unit->object->cg.error, BL_UNSUPPORTED,
                       "kernel %s: its shared variables need more than the %llu bytes of LDS that a workgroup of %s can have",
                       unit->kernel->name, (unsigned long long)limit, unit->object->chip->name);
    for (uint32_t s = 0; s < module->symbols.count; s++)
        if (module->symbols.items[s]->space == BL_KIR_SHARED && module->symbols.items[s]->is_extern)
            module->symbols.items[s]->offset = end;
    unit->shared_bytes = (uint32_t)end;
    return BL_OK;
}

/* ---- subnormal numbers ---------------------------------------------------------------------------- */

static bool has_type(const struct bl_kir_instr *i, enum bl_kir_type type)
{
    return (i->operand_count && i->operands[0]->type == type) || (i->result_count && i->results[0]->type == type);
}

/* Whether the op's meaning allows that f32 arithmetic takes subnormal numbers for zeros. bf16 is computed in f32. */
static bool may_flush(const struct bl_kir_instr *i)
{
    if (has_type(i, BL_KIR_BF16) || has_type(i, BL_KIR_BF16X2))
        return i->op < BL_KIR_OP_fadd || i->op > BL_KIR_OP_frint;
    if (!has_type(i, BL_KIR_F32) || i->attr->ftz)
        return true;
    switch (i->op) {
    case BL_KIR_OP_fneg:
    case BL_KIR_OP_fabs:
    case BL_KIR_OP_fcopysign:
    case BL_KIR_OP_ftestp:
        return true; /* on bits */
    case BL_KIR_OP_ftof:
        return !has_type(i, BL_KIR_F64); /* what is subnormal in f32 is zero in f16 */
    case BL_KIR_OP_fcmp:
    case BL_KIR_OP_ftoi_s:
    case BL_KIR_OP_ftoi_u:
    case BL_KIR_OP_frint:
        return false;
    default:
        return i->op < BL_KIR_OP_fadd || i->op > BL_KIR_OP_ftanh;
    }
}

/* With fast math a kernel whose f32 ops are all ftz runs in the chip's mode that flushes. Not otherwise: LLVM drops a product with
 * 1, whose only effect is the flush. */
static bool flushes(const struct bl_amd_unit *unit)
{
    if (!unit->object->request->fast_math)
        return false;
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        FOR_EACH_INSTR(unit->funcs.items[k], i)
        {
            if (!may_flush(i))
                return false;
        }
    return true;
}

/* ---- LLVM functions ------------------------------------------------------------------------------- */

static void add_text(struct bl_cg *cg, LLVMValueRef function, const char *name, const char *value)
{
    LLVMAttributeRef attribute =
        LLVMCreateStringAttribute(cg->context, name, (unsigned)strlen(name), value, (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

static void add_flag(struct bl_cg *cg, LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(cg->context, kind, 0));
}

LLVMTypeRef bl_amd_function_type(struct bl_cg *cg, const struct bl_kir_proto *proto, bool may_exit)
{
    LLVMTypeRef *params = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, proto->param_count + 1u);
    LLVMTypeRef *results = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, proto->result_count + 1u);
    uint32_t count = 0;

    for (uint32_t p = 0; p < proto->param_count; p++)
        params[p] = bl_cg_type(cg, proto->params[p], 1);
    for (uint32_t r = 0; r < proto->result_count; r++)
        results[count++] = bl_cg_type(cg, proto->results[r], 1);
    if (may_exit)
        results[count++] = LLVMInt1TypeInContext(cg->context);
    return LLVMFunctionType(LLVMStructTypeInContext(cg->context, results, count, false), params, proto->param_count, false);
}

/* The kernel's arguments as metadata tells them to who launches it: each parameter at its PTX offset, which is where LLVM puts an
 * argument of its size and alignment. The code reads the kernarg segment by offset. */
static enum bl_status kernel_type(struct bl_amd_unit *unit, LLVMTypeRef *type)
{
    struct bl_cg *cg = &unit->object->cg;
    struct bl_kir_func *kernel = unit->kernel;
    LLVMTypeRef *params = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, kernel->kernel_params.count + 1u);
    uint64_t end = 0;

    for (uint32_t p = 0; p < kernel->kernel_params.count; p++) {
        const struct bl_kir_param *param = &kernel->kernel_params.items[p];
        uint64_t align = BL_MAX(param->align, 1u);
        bool scalar = param->size == align && (param->size & (param->size - 1)) == 0 && param->size <= 8 && param->size;
        end = (end + align - 1) & ~(align - 1);
        if (end != param->offset)
            return bl_fail(cg->error, BL_UNSUPPORTED, "kernel %s: parameter %u lies at %u, where the ABI of AMD GPUs has %llu",
                           kernel->name, p, param->offset, (unsigned long long)end);
        end += param->size;
        params[p] =
            scalar ? LLVMIntTypeInContext(cg->context, param->size * 8) : LLVMPointerTypeInContext(cg->context, BL_AMD_CONST);
    }
    *type = LLVMFunctionType(LLVMVoidTypeInContext(cg->context), params, kernel->kernel_params.count, false);
    return BL_OK;
}

/* A struct passed by value. */
static void describe_parameters(struct bl_amd_unit *unit, LLVMValueRef function)
{
    struct bl_cg *cg = &unit->object->cg;
    unsigned byref = LLVMGetEnumAttributeKindForName("byref", 5), align = LLVMGetEnumAttributeKindForName("align", 5);

    for (uint32_t p = 0; p < unit->kernel->kernel_params.count; p++) {
        const struct bl_kir_param *param = &unit->kernel->kernel_params.items[p];
        LLVMValueRef value = LLVMGetParam(function, p);
        if (param->name)
            LLVMSetValueName2(value, param->name, strlen(param->name));
        if (LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMPointerTypeKind)
            continue;
        LLVMTypeRef bytes = LLVMArrayType2(LLVMInt8TypeInContext(cg->context), param->size);
        LLVMAddAttributeAtIndex(function, p + 1, LLVMCreateTypeAttribute(cg->context, byref, bytes));
        LLVMAddAttributeAtIndex(function, p + 1, LLVMCreateEnumAttribute(cg->context, align, BL_MAX(param->align, 1u)));
    }
}

static void describe_workgroup(struct bl_amd_unit *unit, LLVMValueRef function)
{
    struct bl_cg *cg = &unit->object->cg;
    const uint32_t *required = unit->kernel->required_threads, *most = unit->kernel->max_threads;
    uint64_t low = 1, high = 1024, product;
    char text[64];

    for (uint32_t d = 0, given = 0; d < 3; d++) {
        product = given ? high : 1;
        if (required[d] || most[d]) {
            high = BL_MIN(product * (required[d] ? required[d] : most[d]), 1024u);
            given = 1;
        }
    }
    if (required[0]) {
        LLVMMetadataRef sizes[3];
        low = high;
        for (uint32_t d = 0; d < 3; d++)
            sizes[d] = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(cg->context), BL_MAX(required[d], 1u), false));
        LLVMGlobalSetMetadata(function, LLVMGetMDKindIDInContext(cg->context, "reqd_work_group_size", 20),
                              LLVMMDNodeInContext2(cg->context, sizes, 3));
    }
    snprintf(text, sizeof(text), "%llu,%llu", (unsigned long long)low, (unsigned long long)high);
    add_text(cg, function, "amdgpu-flat-work-group-size", text);
    add_text(cg, function, "uniform-work-group-size", "true"); /* CUDA's grids are whole blocks */
    if (unit->shared_bytes) {
        snprintf(text, sizeof(text), "%u", unit->shared_bytes);
        add_text(cg, function, "amdgpu-lds-size", text);
    }
}

static LLVMValueRef declare(struct bl_amd_unit *unit, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMAddFunction(unit->object->cg.module, name, type);

    add_flag(&unit->object->cg, function, "nounwind");
    add_flag(&unit->object->cg, function, "convergent");
    if (unit->object->cg.flushes)
        add_text(&unit->object->cg, function, "denormal-fp-math-f32", "preserve-sign,preserve-sign");
    return function;
}

static enum bl_status declare_all(struct bl_amd_unit *unit)
{
    struct bl_cg *cg = &unit->object->cg;
    LLVMTypeRef type = NULL;
    enum bl_status status = kernel_type(unit, &type);

    if (status != BL_OK)
        return status;
    unit->functions = BL_NEW_ARRAY(cg->arena, LLVMValueRef, unit->funcs.count);
    unit->functions[0] = declare(unit, unit->kernel->name, type);
    LLVMSetFunctionCallConv(unit->functions[0], LLVMAMDGPUKERNELCallConv);
    LLVMSetVisibility(unit->functions[0], LLVMProtectedVisibility);
    describe_parameters(unit, unit->functions[0]);
    describe_workgroup(unit, unit->functions[0]);
    for (uint32_t k = 1; k < unit->funcs.count; k++) {
        struct bl_kir_func *func = unit->funcs.items[k];
        const char *name = bl_arena_printf(cg->arena, "%s.%s", unit->kernel->name, func->name);
        unit->functions[k] = declare(unit, name, bl_amd_function_type(cg, &func->proto, unit->may_exit[k]));
        LLVMSetLinkage(unit->functions[k], LLVMInternalLinkage);
    }
    return BL_OK;
}

enum bl_status bl_amd_kernel(struct bl_amd_object *object, struct bl_kir_func *kernel)
{
    struct bl_amd_unit unit = {.object = object, .kernel = kernel};
    enum bl_status status;

    collect(&unit);
    find_exits(&unit);
    object->cg.flushes = flushes(&unit);
    if ((status = place_shared(&unit)) != BL_OK || (status = declare_all(&unit)) != BL_OK)
        return status;
    for (uint32_t k = 0; k < unit.funcs.count && status == BL_OK; k++) {
        struct bl_amd_func *f = BL_NEW(object->cg.arena, struct bl_amd_func);
        *f = (struct bl_amd_func){.cg = &object->cg,
                                  .object = object,
                                  .unit = &unit,
                                  .func = unit.funcs.items[k],
                                  .may_exit = unit.may_exit[k],
                                  .function = unit.functions[k]};
        status = bl_amd_function(f);
    }
    return status;
}
