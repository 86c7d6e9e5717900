/* A kernel and all that it may call, from kir to one LLVM module: which functions, their LLVM functions, the analyses of
 * each, bl_kernel, and what the runtime is told beside the object. Called by compile.c. */
#include <stdio.h>

#include "target/cpu/function.h"

enum { COPIES_LIMIT = 3000 }; /* kir instructions up to which a kernel gets a copy for full warps and one for others */

uint32_t bl_cg_place_in_unit(const struct bl_cg_unit *unit, const struct bl_kir_func *func)
{
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        if (unit->funcs.items[k] == func)
            return k;
    return UINT32_MAX;
}

bool bl_cg_func_may_exit(const struct bl_cg_unit *unit, const struct bl_kir_func *func)
{
    uint32_t place = bl_cg_place_in_unit(unit, func);
    return place != UINT32_MAX && unit->func_may_exit[place];
}

/* ---- which functions -------------------------------------------------------------------------------------- */

static void add_func(struct bl_cg_unit *unit, struct bl_kir_func *func)
{
    if (!func->is_declaration && bl_cg_place_in_unit(unit, func) == UINT32_MAX)
        *BL_PUSH(unit->cg->arena, &unit->funcs) = func;
}

/* An indirect call may reach every function of the slice. */
static void add_all(struct bl_cg_unit *unit)
{
    for (uint32_t k = 0; k < unit->module->funcs.count; k++)
        if (!unit->module->funcs.items[k]->is_kernel)
            add_func(unit, unit->module->funcs.items[k]);
}

#define FOR_EACH_INSTR(func, i)                                                                                                    \
    for (uint32_t block_ = 0; block_ < (func)->blocks.count; block_++)                                                             \
        for (struct bl_kir_instr *i = (func)->blocks.items[block_]->first; i; i = i->next)

static void collect(struct bl_cg_unit *unit)
{
    add_func(unit, unit->kernel);
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        FOR_EACH_INSTR(unit->funcs.items[k], i)
        {
            if (i->op == BL_KIR_OP_call)
                add_func(unit, i->attr->func);
            else if (i->op == BL_KIR_OP_call_indirect)
                add_all(unit);
        }
}

static bool ends_threads(const struct bl_cg_unit *unit, struct bl_kir_func *func)
{
    FOR_EACH_INSTR(func, i)
    {
        if (i->op == BL_KIR_OP_exit || (i->op == BL_KIR_OP_call && bl_cg_func_may_exit(unit, i->attr->func)) ||
            (i->op == BL_KIR_OP_call_indirect && unit->indirect_may_exit))
            return true;
    }
    return false;
}

static void find_exits(struct bl_cg_unit *unit)
{
    bool changed = true;

    unit->func_may_exit = BL_NEW_ARRAY(unit->cg->arena, bool, unit->funcs.count);
    while (changed) {
        changed = false;
        for (uint32_t k = 1; k < unit->funcs.count; k++) { /* 0 is the kernel, which nobody calls */
            if (unit->func_may_exit[k] || !ends_threads(unit, unit->funcs.items[k]))
                continue;
            unit->func_may_exit[k] = unit->indirect_may_exit = changed = true;
        }
    }
}

/* ---- local memory ------------------------------------------------------------------------------------------- */

enum { UNKNOWN, UNDER_WAY, KNOWN };
struct depths {
    struct bl_cg_unit *unit;
    uint8_t *state;
    uint64_t *bytes; /* frame and deepest chain below, where that is known */
    uint32_t level;
};

/* Recursion as deep as the call graph; a cycle counts once and is told to the runtime. */
static uint64_t local_bytes(struct depths *d, uint32_t k)
{
    uint64_t below = 0;

    if (d->state[k] == KNOWN)
        return d->bytes[k];
    if (d->state[k] == UNDER_WAY || d->level > 1000) {
        d->unit->info->flags |= BL_CPU_RECURSION;
        return 0;
    }
    d->state[k] = UNDER_WAY;
    d->level++;
    FOR_EACH_INSTR(d->unit->funcs.items[k], i)
    {
        if (i->op == BL_KIR_OP_call_indirect)
            d->unit->info->flags |= BL_CPU_RECURSION;
        if (i->op == BL_KIR_OP_call && !i->attr->func->is_declaration)
            below = BL_MAX(below, local_bytes(d, bl_cg_place_in_unit(d->unit, i->attr->func)));
    }
    d->level--;
    d->state[k] = KNOWN;
    d->bytes[k] = BL_ALIGN_UP((uint64_t)d->unit->funcs.items[k]->frame_size, 16) + below;
    return d->bytes[k];
}

static enum bl_status find_local_bytes(struct bl_cg_unit *unit)
{
    struct depths d = {.unit = unit};
    uint64_t bytes;

    d.state = BL_NEW_ARRAY(unit->cg->arena, uint8_t, unit->funcs.count);
    d.bytes = BL_NEW_ARRAY(unit->cg->arena, uint64_t, unit->funcs.count);
    bytes = local_bytes(&d, 0);
    if (unit->info->flags & BL_CPU_RECURSION)
        for (uint32_t k = 0; k < unit->funcs.count; k++) /* reached by number only */
            bytes = BL_MAX(bytes, local_bytes(&d, k) + BL_ALIGN_UP((uint64_t)unit->kernel->frame_size, 16));
    if (bytes > UINT32_MAX)
        return bl_fail(unit->cg->error, BL_UNSUPPORTED, "%s: needs more than 4 GB of local memory a thread", unit->kernel->name);
    unit->info->local_bytes = (uint32_t)bytes;
    return BL_OK;
}

/* ---- an estimate of registers --------------------------------------------------------------------------------- */

/* The most 32-bit values alive at once, when a value lives from its definition to its last use in program order. */
static uint32_t estimate_registers(struct bl_arena *arena, struct bl_kir_func *func)
{
    uint32_t *last = BL_NEW_ARRAY(arena, uint32_t, func->value_count + 1u), at = 0, alive = 0, most = 0;
    uint32_t *ending;

    FOR_EACH_INSTR(func, i)
    {
        at++;
        for (uint32_t o = 0; o < i->operand_count; o++)
            last[i->operands[o]->id] = at;
    }
    ending = BL_NEW_ARRAY(arena, uint32_t, at + 2u);
    at = 0;
    FOR_EACH_INSTR(func, i)
    {
        alive -= ending[++at];
        for (uint32_t r = 0; r < i->result_count; r++) {
            uint32_t words = (bl_kir_type_bits(i->results[r]->type) + 31) / 32, end = last[i->results[r]->id];
            if (end <= at || i->op == BL_KIR_OP_const)
                continue;
            alive += words;
            ending[end] += words;
        }
        most = BL_MAX(most, alive);
    }
    return BL_MIN(BL_MAX(most, 10u), 255u);
}

/* ---- LLVM functions ---------------------------------------------------------------------------------------------- */

static void add_attribute(struct bl_cg *cg, LLVMValueRef function, const char *name, const char *value)
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

/* No loop may become a call of memcpy or memset: an object refers to nothing outside itself. */
static LLVMValueRef declare(struct bl_cg_unit *unit, const char *name, LLVMTypeRef type, bool internal)
{
    LLVMValueRef function = LLVMAddFunction(unit->cg->module, name, type);
    char probed[16];

    snprintf(probed, sizeof(probed), "%d", BL_CPU_PROBED);
    add_attribute(unit->cg, function, "no-builtins", "");
    add_attribute(unit->cg, function, "warn-stack-size", "0"); /* told to bl_cg_frame_told */
    add_attribute(unit->cg, function, "probe-stack", "inline-asm");
    add_attribute(unit->cg, function, "stack-probe-size", probed);
    if (unit->cg->features.avx512) {
        add_attribute(unit->cg, function, "prefer-vector-width", "512");
        add_attribute(unit->cg, function, "min-legal-vector-width", "512");
    }
    add_flag(unit->cg, function, "nounwind");
    add_flag(unit->cg, function, "null_pointer_is_valid"); /* a fault there is the program's to see */
    LLVMSetLinkage(function, internal ? LLVMInternalLinkage : LLVMExternalLinkage);
    return function;
}

static enum bl_status try_function(struct bl_cg_unit *unit, uint32_t k, LLVMValueRef function, bool full, bool guards)
{
    struct bl_cg_func *f = BL_NEW(unit->cg->arena, struct bl_cg_func);
    struct bl_kir_func *func = unit->funcs.items[k];
    struct bl_kir_divergence_options options = {
        .linear_cta = unit->request->cta_shape == BL_CPU_CTA_LINEAR, .params_varying = !func->is_kernel, .guards = guards};

    *f = (struct bl_cg_func){.cg = unit->cg, .unit = unit, .func = func, .full = full, .function = function};
    f->may_exit = unit->func_may_exit[k];
    f->dom = bl_kir_dominators(func);
    f->loops = bl_kir_find_loops(func, f->dom);
    /* Where lanes wait for each other they may stand in different rounds of a loop, each with its own base: no guard is for all. */
    for (uint32_t l = 0; l < f->loops->loops.count; l++)
        options.guards &= !f->loops->loops.items[l]->spins;
    f->divergence = bl_kir_find_divergence(func, f->dom, f->loops, &options);
    return bl_cg_function(f);
}

static enum bl_status make_function(struct bl_cg_unit *unit, uint32_t k, LLVMValueRef function, bool full)
{
    enum bl_status status;

    bl_kir_renumber(unit->funcs.items[k]);
    bl_kir_update_preds(unit->funcs.items[k]);
    status = try_function(unit, k, function, full, true);
    return status == BL_NOT_FOUND ? try_function(unit, k, function, full, false) : status;
}

static uint32_t count_instructions(struct bl_kir_func *func)
{
    uint32_t count = 0;
    FOR_EACH_INSTR(func, i)
    count++;
    return count;
}

static LLVMTypeRef kernel_type(struct bl_cg *cg)
{
    LLVMTypeRef pointer = LLVMPointerTypeInContext(cg->context, 0);
    return LLVMFunctionType(LLVMVoidTypeInContext(cg->context), &pointer, 1, false);
}

/* bl_kernel: full warps and others each go to their copy. */
static void make_entry(struct bl_cg_unit *unit, LLVMValueRef full, LLVMValueRef general)
{
    struct bl_cg *cg = unit->cg;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cg->context), i8 = LLVMInt8TypeInContext(cg->context), type = kernel_type(cg);
    LLVMValueRef function = declare(unit, "bl_kernel", type, false), warp = LLVMGetParam(function, 0), active;
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(cg->context), offsetof(struct bl_cpu_warp, active), false);
    LLVMBasicBlockRef ways[2];

    LLVMPositionBuilderAtEnd(cg->builder, LLVMAppendBasicBlockInContext(cg->context, function, "entry"));
    if (unit->coroutine)
        bl_cg_coroutine_resume(cg, function, warp);
    ways[0] = LLVMAppendBasicBlockInContext(cg->context, function, "full");
    ways[1] = LLVMAppendBasicBlockInContext(cg->context, function, "part");
    active = LLVMBuildLoad2(cg->builder, i32, LLVMBuildInBoundsGEP2(cg->builder, i8, warp, &offset, 1, ""), "");
    LLVMBuildCondBr(cg->builder, LLVMBuildICmp(cg->builder, LLVMIntEQ, active, LLVMConstAllOnes(i32), ""), ways[0], ways[1]);
    for (uint32_t w = 0; w < 2; w++) {
        LLVMPositionBuilderAtEnd(cg->builder, ways[w]);
        LLVMSetTailCall(LLVMBuildCall2(cg->builder, type, w ? general : full, &warp, 1, ""), true);
        LLVMBuildRetVoid(cg->builder);
    }
}

static LLVMValueRef make_copy(struct bl_cg_unit *unit, const char *name)
{
    LLVMValueRef function = declare(unit, name, kernel_type(unit->cg), true);
    add_flag(unit->cg, function, "noinline");
    if (unit->coroutine)
        add_flag(unit->cg, function, "presplitcoroutine");
    return function;
}

static void note_clusters(struct bl_cg_unit *unit)
{
    for (uint32_t k = 0; k < unit->funcs.count; k++)
        for (uint32_t b = 0; b < unit->funcs.items[k]->blocks.count; b++)
            for (const struct bl_kir_instr *i = unit->funcs.items[k]->blocks.items[b]->first; i; i = i->next)
                unit->clusters |= i->op == BL_KIR_OP_cluster_barrier || i->op == BL_KIR_OP_map_rank;
    if (unit->clusters)
        unit->info->flags |= BL_CPU_CLUSTER;
}

static enum bl_status make_kernel(struct bl_cg_unit *unit)
{
    LLVMTypeRef type = kernel_type(unit->cg);
    bool copies = count_instructions(unit->kernel) <= COPIES_LIMIT;
    LLVMValueRef full, general;
    enum bl_status status;

    note_clusters(unit);
    unit->info->flags |= bl_cg_coroutine_flags(unit);
    unit->coroutine = unit->info->flags & BL_CPU_COROUTINE;
    if (!unit->coroutine && !copies)
        return make_function(unit, 0, declare(unit, "bl_kernel", type, false), false);
    general = make_copy(unit, "kernel.part");
    full = copies ? make_copy(unit, "kernel.full") : general;
    unit->cg->frames.copies[0] = full;
    unit->cg->frames.copies[1] = general;
    if (copies && (status = make_function(unit, 0, full, true)) != BL_OK)
        return status;
    if ((status = make_function(unit, 0, general, false)) != BL_OK)
        return status;
    make_entry(unit, full, general);
    return BL_OK;
}

static enum bl_status make_functions(struct bl_cg_unit *unit)
{
    unit->functions = BL_NEW_ARRAY(unit->cg->arena, LLVMValueRef, unit->funcs.count);
    for (uint32_t k = 1; k < unit->funcs.count; k++) {
        LLVMTypeRef type = bl_cg_function_type(unit->cg, &unit->funcs.items[k]->proto, unit->func_may_exit[k]);
        unit->functions[k] = declare(unit, unit->funcs.items[k]->name, type, true);
        LLVMSetFunctionCallConv(unit->functions[k], LLVMFastCallConv);
    }
    for (uint32_t k = 1; k < unit->funcs.count; k++) {
        enum bl_status status = make_function(unit, k, unit->functions[k], false);
        if (status != BL_OK)
            return status;
    }
    return make_kernel(unit);
}

/* ---- the unit ------------------------------------------------------------------------------------------------------ */

static void fill_info(struct bl_cg_unit *unit)
{
    struct bl_cpu_kernel_info *info = unit->info;

    info->param_bytes = unit->kernel->param_bytes;
    info->registers = estimate_registers(unit->cg->arena, unit->kernel);
    if (unit->request->cta_shape != BL_CPU_CTA_LINEAR)
        info->flags |= BL_CPU_GENERAL_CTA;
    info->global_count = unit->globals.count;
    info->globals = BL_NEW_ARRAY(unit->cg->arena, const char *, unit->globals.count + 1u);
    for (uint32_t g = 0; g < unit->globals.count; g++)
        info->globals[g] = unit->globals.items[g]->name;
}

enum bl_status bl_cg_unit(struct bl_cg *cg, struct bl_kir_module *module, const char *kernel, const struct bl_cpu_request *request,
                          struct bl_cpu_kernel_info *info)
{
    struct bl_cg_unit unit = {.cg = cg, .module = module, .request = request, .info = info};
    enum bl_status status;

    unit.kernel = bl_map_get(&module->func_names, bl_sv(kernel));
    if (!unit.kernel || !unit.kernel->is_kernel || unit.kernel->is_declaration)
        return bl_fail(cg->error, BL_NOT_FOUND, "no kernel named %s", kernel);
    info->static_shared = (uint32_t)bl_kir_layout_shared(module);
    unit.invariant_kind = LLVMGetMDKindIDInContext(cg->context, "invariant.load", 14);
    collect(&unit);
    find_exits(&unit);
    if ((status = find_local_bytes(&unit)) != BL_OK || (status = make_functions(&unit)) != BL_OK)
        return status;
    fill_info(&unit);
    return BL_OK;
}
