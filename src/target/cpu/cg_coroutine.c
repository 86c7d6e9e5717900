/* Kernels that return where their warp waits at a barrier, and go on from there when they are called again: coroutines, which LLVM
 * splits at the places that suspend. What is alive there lies in a frame; a warp needs no stack of its own, and to change from
 * one to another is a return and a call. Only for kernels that wait nowhere else, and not in a function that they call.
 *
 * The runtime's side is run_coroutines in launch.c.
 */
#include "target/cpu/function.h"

static LLVMValueRef none(const struct bl_cg *cg)
{
    return LLVMConstNull(LLVMTokenTypeInContext(cg->context));
}

static LLVMValueRef frame_field(struct bl_cg *cg, LLVMValueRef warp)
{
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(cg->context), offsetof(struct bl_cpu_warp, frame), false);
    return LLVMBuildInBoundsGEP2(cg->builder, LLVMInt8TypeInContext(cg->context), warp, &offset, 1, "");
}

/* ---- which kernels ----------------------------------------------------------------------------------------- */

struct waits {
    bool barriers, elsewhere;
    bool partly; /* at a barrier that is not number 0 for all threads, or only arrives or adds up */
};

static bool is_zero(const struct bl_kir_value *value)
{
    return value->def && value->def->op == BL_KIR_OP_const && !value->def->attr->imm;
}

static void note_waits(struct bl_kir_func *func, struct waits *waits)
{
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (const struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            bool barrier = i->op == BL_KIR_OP_barrier;
            waits->barriers |= barrier || i->op == BL_KIR_OP_barrier_red;
            waits->partly |= i->op == BL_KIR_OP_barrier_red ||
                             (barrier && (i->attr->arrive || i->operand_count > 1 || !is_zero(i->operands[0])));
            waits->elsewhere |= i->op == BL_KIR_OP_nanosleep || i->op == BL_KIR_OP_cluster_barrier;
        }
}

static bool has_spins(struct bl_kir_func *func)
{
    bl_kir_renumber(func);
    bl_kir_update_preds(func);
    struct bl_kir_loops *loops = bl_kir_find_loops(func, bl_kir_dominators(func));
    for (uint32_t l = 0; l < loops->loops.count; l++)
        if (loops->loops.items[l]->spins)
            return true;
    return false;
}

uint32_t bl_cg_coroutine_flags(const struct bl_cg_unit *unit)
{
    struct waits waits = {0}, called = {0};

    note_waits(unit->kernel, &waits);
    if (!waits.barriers || waits.elsewhere || has_spins(unit->kernel))
        return 0;
    for (uint32_t k = 1; k < unit->funcs.count; k++) { /* 0 is the kernel */
        note_waits(unit->funcs.items[k], &called);
        if (called.barriers || called.elsewhere || has_spins(unit->funcs.items[k]))
            return 0;
    }
    return BL_CPU_COROUTINE | (waits.partly ? 0 : BL_CPU_ROUNDS);
}

/* ---- the kernel ---------------------------------------------------------------------------------------------- */

/* The frame's start stands in the warp while the warp has not ended. */
void bl_cg_coroutine_begin(struct bl_cg_func *f)
{
    struct bl_cg *cg = f->cg;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(cg->context), pointer = LLVMPointerTypeInContext(cg->context, 0);
    LLVMValueRef null = LLVMConstNull(pointer), begin[2], size;
    LLVMValueRef id[4] = {LLVMConstInt(LLVMInt32TypeInContext(cg->context), BL_CPU_FRAME_ALIGN, false), null, null, null};

    begin[0] = bl_cg_intrinsic(cg, "llvm.coro.id", 0, NULL, 4, id);
    size = bl_cg_intrinsic(cg, "llvm.coro.size", 1, &i64, 0, NULL);
    begin[1] = BL_CG_HELPER(f, frame, pointer, 1, &size);
    f->coroutine = bl_cg_intrinsic(cg, "llvm.coro.begin", 0, NULL, 2, begin);
    LLVMBuildStore(cg->builder, f->coroutine, frame_field(cg, f->warp));
    f->suspended = bl_cg_block(f, "suspended");
}

/* A way to `passed` that is never taken, which LLVM does not know before it splits the coroutine: into a block with one way to it,
 * LLVM would move what comes before the barrier and is used after it, and all that this is made of would have to be kept.
 */
static LLVMBasicBlockRef add_other_way(struct bl_cg_func *f, LLVMBasicBlockRef passed)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef other = bl_cg_block(f, "other");

    LLVMPositionBuilderAtEnd(b, other);
    LLVMSetVolatile(LLVMBuildLoad2(b, LLVMInt8TypeInContext(f->cg->context), f->warp, ""), true);
    LLVMBuildBr(b, passed);
    return other;
}

void bl_cg_suspend(struct bl_cg_func *f, LLVMValueRef wait)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i8 = LLVMInt8TypeInContext(f->cg->context);
    LLVMBasicBlockRef leave = bl_cg_block(f, "wait"), passed = bl_cg_block(f, "passed");
    LLVMValueRef arguments[2] = {none(f->cg), LLVMConstInt(LLVMInt1TypeInContext(f->cg->context), 0, false)}, way;

    if (wait)
        LLVMBuildCondBr(b, wait, leave, passed);
    else
        LLVMBuildBr(b, leave);
    LLVMPositionBuilderAtEnd(b, leave);
    way = bl_cg_intrinsic(f->cg, "llvm.coro.suspend", 0, NULL, 2, arguments);
    way = LLVMBuildSwitch(b, way, f->suspended, 3);
    LLVMAddCase(way, LLVMConstInt(i8, 0, false), passed);
    LLVMAddCase(way, LLVMConstInt(i8, 1, false), f->suspended); /* to be destroyed: nobody does */
    LLVMAddCase(way, LLVMConstInt(i8, 2, false), add_other_way(f, passed));
    LLVMPositionBuilderAtEnd(b, passed);
}

void bl_cg_coroutine_end(struct bl_cg_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef arguments[3] = {f->coroutine, LLVMConstInt(LLVMInt1TypeInContext(f->cg->context), 0, false), none(f->cg)};

    LLVMBuildStore(b, LLVMConstNull(LLVMTypeOf(f->coroutine)), frame_field(f->cg, f->warp));
    LLVMBuildBr(b, f->suspended);
    LLVMPositionBuilderAtEnd(b, f->suspended);
    bl_cg_intrinsic(f->cg, "llvm.coro.end", 0, NULL, 3, arguments);
    LLVMBuildRetVoid(b);
}

void bl_cg_coroutine_resume(struct bl_cg *cg, LLVMValueRef function, LLVMValueRef warp)
{
    LLVMBuilderRef b = cg->builder;
    LLVMBasicBlockRef more = LLVMAppendBasicBlockInContext(cg->context, function, "more");
    LLVMBasicBlockRef begin = LLVMAppendBasicBlockInContext(cg->context, function, "begin");
    LLVMValueRef frame = LLVMBuildLoad2(b, LLVMPointerTypeInContext(cg->context, 0), frame_field(cg, warp), "");

    LLVMBuildCondBr(b, LLVMBuildIsNotNull(b, frame, ""), more, begin);
    LLVMPositionBuilderAtEnd(b, more);
    bl_cg_intrinsic(cg, "llvm.coro.resume", 0, NULL, 1, &frame);
    LLVMBuildRetVoid(b);
    LLVMPositionBuilderAtEnd(b, begin);
}
