/* One kir function to an LLVM function: values, blocks, branches, phis. Called by unit.c. */
#include "target/amdgpu/codegen.h"

LLVMBasicBlockRef bl_amd_block(struct bl_amd_func *f, const char *name)
{
    return LLVMAppendBasicBlockInContext(f->cg->context, f->function, name);
}

LLVMValueRef bl_amd_value(struct bl_amd_func *f, const struct bl_kir_value *value)
{
    return f->values[value->id];
}

void bl_amd_define(struct bl_amd_func *f, const struct bl_kir_value *value, LLVMValueRef llvm)
{
    LLVMTypeRef type = bl_cg_type(f->cg, value->type, 1);
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(llvm));

    /* special registers are asked for in more than one width */
    if (LLVMTypeOf(llvm) != type && kind == LLVMIntegerTypeKind && LLVMGetTypeKind(type) == LLVMIntegerTypeKind)
        llvm = LLVMBuildIntCast2(f->cg->builder, llvm, type, false, "");
    f->values[value->id] = llvm;
}

/* ---- ends of blocks ------------------------------------------------------------------------------- */

/* What a function gives: its results, and whether the thread has ended. */
static void build_return(struct bl_amd_func *f, const struct bl_kir_instr *i, bool exited)
{
    LLVMTypeRef type = LLVMGetReturnType(LLVMGlobalGetValueType(f->function));
    LLVMValueRef whole;
    uint32_t count = f->func->proto.result_count;

    if (f->func->is_kernel) {
        LLVMBuildRetVoid(f->cg->builder);
        return;
    }
    whole = LLVMGetPoison(type);
    for (uint32_t r = 0; r < count && !exited && r < i->operand_count; r++)
        whole = LLVMBuildInsertValue(f->cg->builder, whole, bl_amd_value(f, i->operands[r]), r, "");
    if (f->may_exit)
        whole = LLVMBuildInsertValue(f->cg->builder, whole, a_i1(f, exited), count, "");
    LLVMBuildRet(f->cg->builder, whole);
}

void bl_amd_exit_if(struct bl_amd_func *f, LLVMValueRef exited)
{
    LLVMBasicBlockRef gone = bl_amd_block(f, "exited"), on = bl_amd_block(f, "alive");

    LLVMBuildCondBr(f->cg->builder, exited, gone, on);
    LLVMPositionBuilderAtEnd(f->cg->builder, gone);
    build_return(f, NULL, true);
    LLVMPositionBuilderAtEnd(f->cg->builder, on);
}

/* Where the branch goes for its target number t. LLVM wants the edges from one block to another to bring the same values, which
 * kir's need not: a second one goes through a block of its own. */
static LLVMBasicBlockRef way(struct bl_amd_func *f, const struct bl_kir_instr *i, uint32_t t)
{
    LLVMBasicBlockRef through, target = f->blocks[i->targets[t]->id], here = LLVMGetInsertBlock(f->cg->builder);
    bool repeated = false;

    for (uint32_t before = 0; before < t; before++)
        repeated |= i->targets[before] == i->targets[t];
    if (!repeated || i->targets[t]->first->op != BL_KIR_OP_phi)
        return target;
    through = bl_amd_block(f, "edge");
    LLVMPositionBuilderAtEnd(f->cg->builder, through);
    LLVMBuildBr(f->cg->builder, target);
    LLVMPositionBuilderAtEnd(f->cg->builder, here);
    *BL_PUSH(f->cg->arena, &f->edges) = (struct bl_amd_edge){i->block, t, through};
    return through;
}

/* An index past the list is undefined in PTX; here it takes the last way. */
static void build_switch(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    uint32_t last = i->target_count - 1;
    LLVMValueRef choice = LLVMBuildSwitch(f->cg->builder, bl_amd_value(f, i->operands[0]), way(f, i, last), i->target_count);

    for (uint32_t t = 0; t < last; t++)
        LLVMAddCase(choice, a_i32(f, t), way(f, i, t));
}

static void build_end(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;

    switch (i->op) {
    case BL_KIR_OP_jump:
        LLVMBuildBr(b, f->blocks[i->targets[0]->id]);
        break;
    case BL_KIR_OP_branch:
        LLVMBuildCondBr(b, bl_amd_value(f, i->operands[0]), way(f, i, 0), way(f, i, 1));
        break;
    case BL_KIR_OP_switch:
        build_switch(f, i);
        break;
    case BL_KIR_OP_ret:
        build_return(f, i, false);
        break;
    case BL_KIR_OP_exit:
        build_return(f, i, true);
        break;
    case BL_KIR_OP_trap:
        a_call(f, "llvm.trap", 0, NULL);
        LLVMBuildUnreachable(b);
        break;
    default:
        LLVMBuildUnreachable(b);
        break;
    }
}

/* ---- instructions --------------------------------------------------------------------------------- */

static bool build_math(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef *operands = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->operand_count + 1u);
    LLVMValueRef *results = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, i->result_count + 1u);

    for (uint32_t o = 0; o < i->operand_count; o++)
        operands[o] = bl_amd_value(f, i->operands[o]);
    if (!bl_cg_math(f->cg, i, 1, operands, results))
        return false;
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_amd_define(f, i->results[r], results[r]);
    return true;
}

static void build_instruction(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_phi:
        bl_amd_define(f, i->results[0], LLVMBuildPhi(f->cg->builder, bl_cg_type(f->cg, i->results[0]->type, 1), ""));
        return;
    case BL_KIR_OP_const:
    case BL_KIR_OP_undef:
        bl_amd_define(f, i->results[0], bl_cg_bits(f->cg, i->results[0]->type, 1, i->attr->imm, i->attr->imm_hi));
        return;
    case BL_KIR_OP_sreg:
        if (!bl_amd_sreg(f, i))
            bl_amd_unsupported(
                f, i, bl_arena_printf(f->cg->arena, "%%%s is not supported on AMD GPUs yet", bl_kir_sreg_name(i->attr->sreg)));
        return;
    default:
        break;
    }
    if (!bl_amd_memory(f, i) && !bl_amd_atomic(f, i) && !bl_amd_warp(f, i) && !bl_amd_call(f, i) && !bl_amd_matrix(f, i) &&
        !build_math(f, i))
        bl_amd_unsupported(f, i, NULL);
}

static enum bl_status build_block(struct bl_amd_func *f, struct bl_kir_block *block)
{
    LLVMPositionBuilderAtEnd(f->cg->builder, f->blocks[block->id]);
    for (struct bl_kir_instr *i = block->first; i && i != block->last; i = i->next) {
        build_instruction(f, i);
        if (f->cg->error->status != BL_OK)
            return f->cg->error->status;
    }
    build_end(f, block->last);
    f->ends[block->id] = LLVMGetInsertBlock(f->cg->builder);
    return f->cg->error->status;
}

/* The LLVM block that the edge comes from by which pred number p goes into the block. */
static LLVMBasicBlockRef edge_source(const struct bl_amd_func *f, const struct bl_kir_block *block, uint32_t p)
{
    const struct bl_kir_block *from = block->preds.items[p];
    uint32_t repeats = 0, target = 0;

    for (uint32_t before = 0; before < p; before++)
        repeats += block->preds.items[before] == from;
    if (!repeats)
        return f->ends[from->id];
    for (target = 0; target < from->last->target_count; target++)
        if (from->last->targets[target] == block && repeats-- == 0)
            break;
    for (uint32_t e = 0; e < f->edges.count; e++)
        if (f->edges.items[e].from == from && f->edges.items[e].target == target)
            return f->edges.items[e].through;
    return f->ends[from->id];
}

static void fill_phis(struct bl_amd_func *f, struct bl_kir_block *block)
{
    for (struct bl_kir_instr *i = block->first; i && i->op == BL_KIR_OP_phi; i = i->next)
        for (uint32_t p = 0; p < block->preds.count && p < i->operand_count; p++) {
            LLVMValueRef value = bl_amd_value(f, i->operands[p]);
            LLVMBasicBlockRef from = edge_source(f, block, p);
            LLVMAddIncoming(f->values[i->results[0]->id], &value, &from, 1);
        }
}

enum bl_status bl_amd_function(struct bl_amd_func *f)
{
    struct bl_kir_func *func = f->func;
    struct bl_kir_dom *dom;
    enum bl_status status = BL_OK;

    bl_kir_renumber(func);
    bl_kir_update_preds(func);
    dom = bl_kir_dominators(func);
    f->values = BL_NEW_ARRAY(f->cg->arena, LLVMValueRef, func->value_count + 1u);
    f->blocks = BL_NEW_ARRAY(f->cg->arena, LLVMBasicBlockRef, func->blocks.count);
    f->ends = BL_NEW_ARRAY(f->cg->arena, LLVMBasicBlockRef, func->blocks.count);
    f->entry = bl_amd_block(f, "entry");
    for (uint32_t n = 0; n < func->blocks.count; n++)
        f->blocks[n] = bl_amd_block(f, func->blocks.items[n]->name ? func->blocks.items[n]->name : "block");
    LLVMPositionBuilderAtEnd(f->cg->builder, f->entry);
    if (func->frame_size) {
        LLVMTypeRef bytes = LLVMArrayType2(a_int(f, 8), func->frame_size);
        f->frame = LLVMBuildAlloca(f->cg->builder, bytes, "frame");
        LLVMSetAlignment(f->frame, BL_MAX(func->frame_align, 4u));
    }
    if (func->is_kernel && f->unit->barrier_slots != UINT32_MAX)
        bl_amd_clear_barriers(f);
    LLVMBuildBr(f->cg->builder, f->blocks[0]);
    for (uint32_t p = 0; p < func->params.count; p++)
        f->values[func->params.items[p]->id] = LLVMGetParam(f->function, p);
    for (uint32_t n = 0; n < dom->reachable_count && status == BL_OK; n++)
        status = build_block(f, func->blocks.items[dom->rpo[n]]);
    for (uint32_t n = 0; n < func->blocks.count && status == BL_OK; n++)
        fill_phis(f, func->blocks.items[n]);
    return status;
}
