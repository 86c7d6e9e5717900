/* Calls: of functions of the unit, of runtime functions by name, and by number. A device function is an internal LLVM
 * function (warp, lanes as i32, frame as i64, one vector a parameter); it gives a struct of the lanes that are left (where
 * it may end some) and one vector a result. */
#include "target/cpu/cg_image.h"
#include "target/cpu/function.h"

static LLVMTypeRef int_type(const struct bl_cg_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}

LLVMTypeRef bl_cg_function_type(struct bl_cg *cg, const struct bl_kir_proto *proto, bool may_exit)
{
    LLVMTypeRef *params = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, proto->param_count + 3u);
    LLVMTypeRef *results = BL_NEW_ARRAY(cg->arena, LLVMTypeRef, proto->result_count + 1u);
    uint32_t count = 0;

    params[0] = LLVMPointerTypeInContext(cg->context, 0);
    params[1] = LLVMInt32TypeInContext(cg->context);
    params[2] = LLVMInt64TypeInContext(cg->context);
    for (uint32_t p = 0; p < proto->param_count; p++)
        params[3 + p] = bl_cg_type(cg, proto->params[p], BL_WARP);
    if (may_exit)
        results[count++] = LLVMInt32TypeInContext(cg->context);
    for (uint32_t r = 0; r < proto->result_count; r++)
        results[count++] = bl_cg_type(cg, proto->results[r], BL_WARP);
    return LLVMFunctionType(LLVMStructTypeInContext(cg->context, results, count, false), params, proto->param_count + 3, false);
}

/* Where the callee's frame starts. */
static LLVMValueRef next_frame(struct bl_cg_func *f)
{
    LLVMTypeRef i64 = int_type(f, 64);
    uint64_t size = BL_ALIGN_UP((uint64_t)f->func->frame_size, 16);

    if (f->stack_slot) {
        LLVMValueRef top = LLVMBuildLoad2(f->cg->builder, i64, f->stack_slot, "");
        top = LLVMBuildAdd(f->cg->builder, top, LLVMConstInt(i64, 15, false), "");
        return LLVMBuildAnd(f->cg->builder, top, LLVMConstInt(i64, ~UINT64_C(15), false), "");
    }
    return LLVMBuildAdd(f->cg->builder, f->frame, LLVMConstInt(i64, size, false), "");
}

/* Calls one function of the unit for the lanes (i32). Gives its struct. */
static LLVMValueRef call_function(struct bl_cg_func *f, const struct bl_kir_func *callee, LLVMValueRef lanes, uint32_t count,
                                  struct bl_kir_value *const *operands)
{
    LLVMValueRef *arguments = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, count + 3u);
    LLVMValueRef function = f->unit->functions[bl_cg_place_in_unit(f->unit, callee)];

    arguments[0] = f->warp;
    arguments[1] = lanes;
    arguments[2] = next_frame(f);
    for (uint32_t a = 0; a < count; a++)
        arguments[3 + a] = bl_cg_vector(f, operands[a]);
    LLVMValueRef call = LLVMBuildCall2(f->cg->builder, LLVMGlobalGetValueType(function), function, arguments, count + 3, "");
    LLVMSetInstructionCallConv(call, LLVMFastCallConv);
    return call;
}

static LLVMValueRef part(struct bl_cg_func *f, LLVMValueRef whole, uint32_t n)
{
    return LLVMBuildExtractValue(f->cg->builder, whole, n, "");
}

static void call_direct(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    bool may_exit = bl_cg_func_may_exit(f->unit, i->attr->func);
    LLVMValueRef all = call_function(f, i->attr->func, bl_cg_mask_bits(f, f->at->mask), i->operand_count, i->operands);

    if (may_exit)
        f->call_alive = bl_cg_mask_of(f, part(f, all, 0));
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_cg_define_vector(f, i->results[r], part(f, all, r + may_exit));
}

/* ---- by number ------------------------------------------------------------------------------------------- */

static bool same_shape(const struct bl_kir_proto *a, const struct bl_kir_proto *b)
{
    if (a->param_count != b->param_count || a->result_count != b->result_count)
        return false;
    for (uint32_t p = 0; p < a->param_count; p++)
        if (bl_kir_type_bits(a->params[p]) != bl_kir_type_bits(b->params[p]))
            return false;
    for (uint32_t r = 0; r < a->result_count; r++)
        if (bl_kir_type_bits(a->results[r]) != bl_kir_type_bits(b->results[r]))
            return false;
    return true;
}

struct indirect {
    const struct bl_kir_instr *instr;
    LLVMValueRef lanes;         /* i32: those that call the function at hand */
    LLVMValueRef *result_slots; /* vectors */
    LLVMValueRef alive_slot;    /* i32, or NULL */
    LLVMBasicBlockRef joined;
};

static void call_one_target(struct bl_cg_func *f, const struct indirect *call, const struct bl_kir_func *callee)
{
    LLVMBuilderRef b = f->cg->builder;
    const struct bl_kir_instr *i = call->instr;
    bool may_exit = bl_cg_func_may_exit(f->unit, callee);
    LLVMValueRef all = call_function(f, callee, call->lanes, i->operand_count - 1, i->operands + 1), left = call->lanes, old;

    if (may_exit)
        left = part(f, all, 0);
    if (call->alive_slot) {
        old = LLVMBuildLoad2(b, int_type(f, 32), call->alive_slot, "");
        LLVMBuildStore(b, LLVMBuildOr(b, old, left, ""), call->alive_slot);
    }
    for (uint32_t r = 0; r < i->result_count; r++) {
        LLVMTypeRef type = bl_cg_type(f->cg, i->results[r]->type, BL_WARP);
        LLVMValueRef result = LLVMBuildBitCast(b, part(f, all, r + may_exit), type, "");
        old = LLVMBuildLoad2(b, type, call->result_slots[r], "");
        LLVMBuildStore(b, LLVMBuildSelect(b, bl_cg_mask_of(f, call->lanes), result, old, ""), call->result_slots[r]);
    }
    LLVMBuildBr(b, call->joined);
}

static void switch_targets(struct bl_cg_func *f, const struct indirect *call, LLVMValueRef number)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef bad = bl_cg_block(f, "no.function");
    LLVMValueRef choice = LLVMBuildSwitch(b, number, bad, f->unit->funcs.count);

    for (uint32_t k = 0; k < f->unit->funcs.count; k++) {
        struct bl_kir_func *callee = f->unit->funcs.items[k];
        if (callee->is_kernel || !callee->number || !same_shape(&callee->proto, call->instr->attr->proto))
            continue;
        LLVMBasicBlockRef block = bl_cg_block(f, "target");
        LLVMAddCase(choice, LLVMConstInt(int_type(f, 64), callee->number, false), block);
        LLVMPositionBuilderAtEnd(b, block);
        call_one_target(f, call, callee);
    }
    LLVMPositionBuilderAtEnd(b, bad);
    bl_cg_fault(f, call->lanes, BL_FAULT_BAD_FUNCTION, NULL);
}

/* A turn for each different function that the lanes call. */
static void call_indirect(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    struct indirect call = {.instr = i, .joined = bl_cg_block(f, "called")};
    LLVMValueRef numbers = bl_cg_vector(f, i->operands[0]), zero = LLVMConstInt(int_type(f, 32), 0, false), all, left, rest, number;
    LLVMBasicBlockRef before, head = bl_cg_block(f, "call"), done = bl_cg_block(f, "calls.done");

    call.result_slots = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->result_count + 1u);
    for (uint32_t r = 0; r < i->result_count; r++)
        call.result_slots[r] = bl_cg_slot(f, bl_cg_type(f->cg, i->results[r]->type, BL_WARP), "");
    if (f->unit->indirect_may_exit) {
        call.alive_slot = bl_cg_slot(f, int_type(f, 32), "");
        LLVMBuildStore(b, zero, call.alive_slot);
    }
    all = bl_cg_mask_bits(f, f->at->mask);
    before = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    left = LLVMBuildPhi(b, int_type(f, 32), "");
    LLVMAddIncoming(left, &all, &before, 1);
    number = LLVMBuildExtractElement(b, numbers, bl_cg_first_lane(f, left), "");
    rest = bl_cg_mask_bits(f, LLVMBuildICmp(b, LLVMIntEQ, numbers, bl_cg_splat(f->cg, number), ""));
    call.lanes = LLVMBuildAnd(b, rest, left, "");
    switch_targets(f, &call, number);
    LLVMPositionBuilderAtEnd(b, call.joined);
    rest = LLVMBuildAnd(b, left, LLVMBuildNot(b, call.lanes, ""), "");
    LLVMAddIncoming(left, &rest, &call.joined, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, zero, ""), head, done);
    LLVMPositionBuilderAtEnd(b, done);
    if (call.alive_slot)
        f->call_alive = bl_cg_mask_of(f, LLVMBuildLoad2(b, int_type(f, 32), call.alive_slot, ""));
    for (uint32_t r = 0; r < i->result_count; r++) {
        LLVMTypeRef type = bl_cg_type(f->cg, i->results[r]->type, BL_WARP);
        bl_cg_define_vector(f, i->results[r], LLVMBuildLoad2(b, type, call.result_slots[r], ""));
    }
}

/* ---- runtime functions -------------------------------------------------------------------------------------- */

/* Which operands a runtime function gets as arrays of 32, and whether it gives one. */
static const struct runtime_function {
    const char *name;
    size_t helper;
    uint32_t operands; /* how many of them */
    bool result, returns;
} runtime_functions[] = {
    {"vprintf", offsetof(struct bl_cpu_helpers, vprintf), 2, true, true},
    {"malloc", offsetof(struct bl_cpu_helpers, malloc), 1, true, true},
    {"free", offsetof(struct bl_cpu_helpers, free), 1, false, true},
    {"__assertfail", offsetof(struct bl_cpu_helpers, assertfail), 4, false, false},
};

static const struct runtime_function *find_runtime_function(const struct bl_kir_instr *i)
{
    const struct runtime_function *found = NULL;

    for (uint32_t n = 0; n < BL_LEN(runtime_functions); n++)
        if (!strcmp(i->attr->func->name, runtime_functions[n].name))
            found = &runtime_functions[n];
    if (!found || i->operand_count < found->operands || (found->result && i->result_count != 1))
        return NULL;
    return found;
}

static void call_runtime(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct runtime_function *function)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef arguments[8] = {bl_cg_mask_bits(f, f->at->mask)}, result = NULL;
    LLVMTypeRef type = NULL;
    uint32_t count = 1;

    for (uint32_t o = 0; o < function->operands; o++, count++) {
        LLVMValueRef vector = bl_cg_vector(f, i->operands[o]);
        arguments[count] = bl_cg_array(f, LLVMTypeOf(vector), "argument");
        LLVMBuildStore(b, vector, arguments[count]);
    }
    if (function->result) {
        type = bl_cg_type(f->cg, i->results[0]->type, BL_WARP);
        result = arguments[count++] = bl_cg_array(f, type, "result");
    }
    bl_cg_helper(f, function->helper, LLVMVoidTypeInContext(f->cg->context), count, arguments);
    if (result)
        bl_cg_define_vector(f, i->results[0], LLVMBuildLoad2(b, type, result, ""));
    if (!function->returns) {
        LLVMBuildUnreachable(b);
        LLVMPositionBuilderAtEnd(b, bl_cg_block(f, "after.assert"));
    }
}

/* A function that nobody defines: only lanes that come here fault. */
static void call_unknown(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    bl_cg_fault(f, bl_cg_mask_bits(f, f->at->mask), BL_FAULT_UNSUPPORTED, i->attr->func->name);
    LLVMPositionBuilderAtEnd(f->cg->builder, bl_cg_block(f, "after.unknown"));
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_cg_define_vector(f, i->results[r], LLVMGetUndef(bl_cg_type(f->cg, i->results[r]->type, BL_WARP)));
}

bool bl_cg_call(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    const struct runtime_function *function;

    if (i->op == BL_KIR_OP_call_indirect) {
        call_indirect(f, i);
        return true;
    }
    if (i->op != BL_KIR_OP_call)
        return bl_cg_image(f, i) || bl_cg_bulk(f, i);
    function = i->attr->func->is_declaration ? find_runtime_function(i) : NULL;
    if (function)
        call_runtime(f, i, function);
    else if (i->attr->func->is_declaration)
        call_unknown(f, i);
    else
        call_direct(f, i);
    return true;
}

/* ---- the frame ------------------------------------------------------------------------------------------------ */

static bool has_alloca(const struct bl_cg_func *f)
{
    for (uint32_t o = 0; o < f->order.count; o++)
        for (struct bl_kir_instr *i = f->order.items[o]->first; i != f->order.items[o]->end; i = i->next)
            if (i->op == BL_KIR_OP_alloca || i->op == BL_KIR_OP_stacksave || i->op == BL_KIR_OP_stackrestore)
                return true;
    return false;
}

/* The runtime makes local memory large enough for the kernel's own frame and its known calls; a callee asks nevertheless, for
 * recursion has no known depth. */
void bl_cg_call_prologue(struct bl_cg_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i64 = int_type(f, 64);
    LLVMBasicBlockRef full;
    LLVMValueRef end, fits;

    LLVMPositionBuilderAtEnd(b, f->entry);
    end = LLVMBuildAdd(b, f->frame, LLVMConstInt(i64, BL_ALIGN_UP((uint64_t)f->func->frame_size, 16), false), "");
    if (has_alloca(f)) {
        f->stack_slot = bl_cg_slot(f, i64, "stack");
        LLVMBuildStore(b, end, f->stack_slot);
    }
    if (f->func->is_kernel || (!f->func->frame_size && !(f->unit->info->flags & BL_CPU_RECURSION)))
        return;
    f->start = bl_cg_block(f, "frame");
    full = bl_cg_block(f, "overflow");
    LLVMPositionBuilderAtEnd(b, f->start);
    fits = LLVMBuildICmp(b, LLVMIntULE, end, BL_CG_FIELD(f, local_stride, i64), "");
    LLVMBuildCondBr(b, fits, f->order.items[0]->run, full);
    LLVMPositionBuilderAtEnd(b, full);
    bl_cg_fault(f, bl_cg_mask_bits(f, f->entry_mask), BL_FAULT_STACK_OVERFLOW, NULL);
}
