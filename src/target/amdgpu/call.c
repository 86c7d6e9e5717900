/* Calls: of functions of the unit, and by number. A device function is an internal LLVM function that gives a struct of its results
 * and, where it may end the thread, whether it has. A function's address is its number in the module, so an indirect call is a
 * switch over the functions of its shape: threads of a wave that call different ones part there and meet again behind. */
#include "target/amdgpu/codegen.h"

static LLVMValueRef call_one(struct bl_amd_func *f, const struct bl_kir_func *callee, uint32_t count,
                             struct bl_kir_value *const *operands)
{
    LLVMValueRef function = f->unit->functions[bl_amd_place(f->unit, callee)];
    LLVMValueRef *arguments = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, count + 1u);

    for (uint32_t a = 0; a < count; a++) {
        LLVMTypeRef type = bl_cg_type(f->cg, callee->proto.params[a], 1);
        LLVMValueRef value = bl_cg_settle_nan(f->cg, operands[a], 1, bl_amd_value(f, operands[a]));
        arguments[a] = LLVMBuildBitCast(f->cg->builder, value, type, "");
    }
    return LLVMBuildCall2(f->cg->builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

static LLVMValueRef part(struct bl_amd_func *f, LLVMValueRef whole, uint32_t n)
{
    return LLVMBuildExtractValue(f->cg->builder, whole, n, "");
}

static bool call_direct(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    uint32_t place = bl_amd_place(f->unit, i->attr->func);
    LLVMValueRef whole;

    if (place == UINT32_MAX) {
        bl_amd_unsupported(f, i, bl_arena_printf(f->cg->arena, "%s is not supported on AMD GPUs yet", i->attr->func->name));
        return true;
    }
    whole = call_one(f, i->attr->func, i->operand_count, i->operands);
    if (f->unit->may_exit[place])
        bl_amd_exit_if(f, part(f, whole, i->attr->func->proto.result_count));
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_amd_define(f, i->results[r], part(f, whole, r));
    return true;
}

/* ---- by number ------------------------------------------------------------------------------------ */

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
    LLVMBasicBlockRef joined;
    LLVMValueRef *results; /* phis in joined */
    LLVMValueRef exited;   /* another, or NULL */
};

static void call_target(struct bl_amd_func *f, const struct indirect *call, const struct bl_kir_func *callee)
{
    LLVMBuilderRef b = f->cg->builder;
    const struct bl_kir_instr *i = call->instr;
    LLVMValueRef whole = call_one(f, callee, i->operand_count - 1, i->operands + 1), value;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);

    for (uint32_t r = 0; r < i->result_count; r++) {
        value = LLVMBuildBitCast(b, part(f, whole, r), bl_cg_type(f->cg, i->results[r]->type, 1), "");
        LLVMAddIncoming(call->results[r], &value, &here, 1);
    }
    if (call->exited) {
        value = f->unit->may_exit[bl_amd_place(f->unit, callee)] ? part(f, whole, callee->proto.result_count) : a_i1(f, false);
        LLVMAddIncoming(call->exited, &value, &here, 1);
    }
    LLVMBuildBr(b, call->joined);
}

static void call_indirect(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b), bad = bl_amd_block(f, "no.function");
    struct indirect call = {.instr = i, .joined = bl_amd_block(f, "called")};
    LLVMValueRef choice;

    call.results = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->result_count + 1u);
    LLVMPositionBuilderAtEnd(b, call.joined);
    for (uint32_t r = 0; r < i->result_count; r++)
        call.results[r] = LLVMBuildPhi(b, bl_cg_type(f->cg, i->results[r]->type, 1), "");
    if (f->unit->indirect_may_exit)
        call.exited = LLVMBuildPhi(b, a_int(f, 1), "");
    LLVMPositionBuilderAtEnd(b, bad);
    a_call(f, "llvm.trap", 0, NULL);
    LLVMBuildUnreachable(b);
    LLVMPositionBuilderAtEnd(b, here);
    choice = LLVMBuildSwitch(b, bl_amd_value(f, i->operands[0]), bad, f->unit->funcs.count);
    for (uint32_t k = 0; k < f->unit->funcs.count; k++) {
        struct bl_kir_func *callee = f->unit->funcs.items[k];
        if (callee->is_kernel || !callee->number || !same_shape(&callee->proto, i->attr->proto))
            continue;
        LLVMBasicBlockRef block = bl_amd_block(f, "target");
        LLVMAddCase(choice, LLVMConstInt(a_int(f, 64), callee->number, false), block);
        LLVMPositionBuilderAtEnd(b, block);
        call_target(f, &call, callee);
    }
    LLVMPositionBuilderAtEnd(b, call.joined);
    if (LLVMGetFirstUse(LLVMBasicBlockAsValue(call.joined)) == NULL) /* nothing that it could call */
        for (uint32_t r = 0; r < i->result_count; r++)
            call.results[r] = LLVMGetPoison(LLVMTypeOf(call.results[r]));
    if (call.exited)
        bl_amd_exit_if(f, call.exited);
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_amd_define(f, i->results[r], call.results[r]);
}

bool bl_amd_call(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    if (i->op == BL_KIR_OP_call)
        return call_direct(f, i);
    if (i->op != BL_KIR_OP_call_indirect)
        return false;
    call_indirect(f, i);
    return true;
}
