/* What a thread asks about itself and its grid: from the chip's registers and the implicit arguments that a launch through HIP
 * passes (LLVM's AMDGPU usage guide, "Code Object V5 Metadata": hidden_block_count_x and so on). */
#include "target/amdgpu/codegen.h"

/* Offsets in bytes from llvm.amdgcn.implicitarg.ptr. */
enum { HIDDEN_BLOCK_COUNT = 0, HIDDEN_GROUP_SIZE = 12, HIDDEN_DYNAMIC_LDS_SIZE = 120 };

/* As i32. */
static LLVMValueRef hidden(struct bl_amd_func *f, uint32_t offset, unsigned bits)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef at = a_i32(f, offset), pointer = a_call(f, "llvm.amdgcn.implicitarg.ptr", 0, NULL), loaded;

    pointer = LLVMBuildGEP2(b, a_int(f, 8), pointer, &at, 1, "");
    loaded = LLVMBuildLoad2(b, a_int(f, bits), pointer, "");
    LLVMSetAlignment(loaded, bits / 8);
    bl_amd_mark(f, loaded, f->object->invariant_kind);
    return LLVMBuildIntCast2(b, loaded, a_int(f, 32), false, "");
}

static LLVMValueRef tid(struct bl_amd_func *f, uint32_t d)
{
    static const char *const names[] = {"llvm.amdgcn.workitem.id.x", "llvm.amdgcn.workitem.id.y", "llvm.amdgcn.workitem.id.z"};
    return a_call(f, names[d], 0, NULL);
}

static LLVMValueRef ctaid(struct bl_amd_func *f, uint32_t d)
{
    static const char *const names[] = {"llvm.amdgcn.workgroup.id.x", "llvm.amdgcn.workgroup.id.y", "llvm.amdgcn.workgroup.id.z"};
    return a_call(f, names[d], 0, NULL);
}

static LLVMValueRef ntid(struct bl_amd_func *f, uint32_t d)
{
    if (f->unit->kernel->required_threads[0])
        return a_i32(f, BL_MAX(f->unit->kernel->required_threads[d], 1u));
    return hidden(f, HIDDEN_GROUP_SIZE + 2 * d, 16);
}

LLVMValueRef bl_amd_linear_tid(struct bl_amd_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef sum = LLVMBuildMul(b, tid(f, 2), ntid(f, 1), "");

    sum = LLVMBuildMul(b, LLVMBuildAdd(b, sum, tid(f, 1), ""), ntid(f, 0), "");
    return LLVMBuildAdd(b, sum, tid(f, 0), "");
}

LLVMValueRef bl_amd_wave_lane(struct bl_amd_func *f)
{
    LLVMValueRef arguments[2] = {a_i32(f, UINT32_MAX), a_i32(f, 0)};

    arguments[1] = a_call(f, "llvm.amdgcn.mbcnt.lo", 2, arguments);
    return f->object->chip->wave == 32 ? arguments[1] : a_call(f, "llvm.amdgcn.mbcnt.hi", 2, arguments);
}

LLVMValueRef bl_amd_lane(struct bl_amd_func *f)
{
    LLVMValueRef lane = bl_amd_wave_lane(f);
    return f->object->chip->wave == 32 ? lane : LLVMBuildAnd(f->cg->builder, lane, a_i32(f, 31), "");
}

static LLVMValueRef lanemask(struct bl_amd_func *f, uint8_t sreg)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef self = LLVMBuildShl(b, a_i32(f, 1), bl_amd_lane(f), ""), below = LLVMBuildSub(b, self, a_i32(f, 1), "");

    switch (sreg) {
    case BL_KIR_SREG_LANEMASK_EQ:
        return self;
    case BL_KIR_SREG_LANEMASK_LT:
        return below;
    case BL_KIR_SREG_LANEMASK_LE:
        return LLVMBuildOr(b, below, self, "");
    case BL_KIR_SREG_LANEMASK_GE:
        return LLVMBuildNot(b, below, "");
    default:
        return LLVMBuildNot(b, LLVMBuildOr(b, below, self, ""), "");
    }
}

static LLVMValueRef warp_count(struct bl_amd_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef threads = LLVMBuildMul(b, LLVMBuildMul(b, ntid(f, 0), ntid(f, 1), ""), ntid(f, 2), "");
    return LLVMBuildLShr(b, LLVMBuildAdd(b, threads, a_i32(f, 31), ""), a_i32(f, 5), "");
}

static LLVMValueRef clock_value(struct bl_amd_func *f, uint8_t sreg)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef time;

    if (sreg <= BL_KIR_SREG_CLOCK64) {
        time = a_call(f, "llvm.readcyclecounter", 0, NULL);
    } else { /* the steady counter runs at 100 MHz on all of these chips: nanoseconds are tens */
        time = a_call(f, "llvm.readsteadycounter", 0, NULL);
        time = LLVMBuildMul(b, time, LLVMConstInt(a_int(f, 64), 10, false), "");
    }
    if (sreg == BL_KIR_SREG_CLOCK_HI || sreg == BL_KIR_SREG_GLOBALTIMER_HI)
        time = LLVMBuildLShr(b, time, LLVMConstInt(a_int(f, 64), 32, false), "");
    return time;
}

static LLVMValueRef shared_size(struct bl_amd_func *f, uint8_t sreg)
{
    LLVMValueRef dynamic = hidden(f, HIDDEN_DYNAMIC_LDS_SIZE, 32);

    if (sreg == BL_KIR_SREG_DYNAMIC_SMEM_SIZE)
        return dynamic;
    return LLVMBuildAdd(f->cg->builder, dynamic, a_i32(f, f->unit->shared_bytes), "");
}

static LLVMValueRef value_of(struct bl_amd_func *f, uint8_t sreg)
{
    if (sreg <= BL_KIR_SREG_TID_Z)
        return tid(f, sreg - BL_KIR_SREG_TID_X);
    if (sreg <= BL_KIR_SREG_NTID_Z)
        return ntid(f, sreg - BL_KIR_SREG_NTID_X);
    if (sreg <= BL_KIR_SREG_CTAID_Z)
        return ctaid(f, sreg - BL_KIR_SREG_CTAID_X);
    if (sreg <= BL_KIR_SREG_NCTAID_Z)
        return hidden(f, HIDDEN_BLOCK_COUNT + 4 * (sreg - BL_KIR_SREG_NCTAID_X), 32);
    if (sreg >= BL_KIR_SREG_LANEMASK_EQ && sreg <= BL_KIR_SREG_LANEMASK_GT)
        return lanemask(f, sreg);
    if (sreg >= BL_KIR_SREG_CLOCK && sreg <= BL_KIR_SREG_GLOBALTIMER_HI)
        return clock_value(f, sreg);
    if (sreg >= BL_KIR_SREG_DYNAMIC_SMEM_SIZE && sreg <= BL_KIR_SREG_AGGR_SMEM_SIZE)
        return shared_size(f, sreg);
    switch (sreg) {
    case BL_KIR_SREG_LANEID:
        return bl_amd_lane(f);
    case BL_KIR_SREG_WARPID:
        return LLVMBuildLShr(f->cg->builder, bl_amd_linear_tid(f), a_i32(f, 5), "");
    case BL_KIR_SREG_NWARPID:
        return warp_count(f);
    case BL_KIR_SREG_PM:
        return a_i32(f, 0);
    default:
        return NULL;
    }
}

bool bl_amd_sreg(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef value = value_of(f, i->attr->sreg);

    if (value)
        bl_amd_define(f, i->results[0], value);
    return value != NULL;
}
