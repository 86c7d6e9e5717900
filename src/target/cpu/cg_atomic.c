/* Atomics. Each running lane does its own, in ascending order; where all address one place and only the sum matters, the
 * warp reduces first and does one. Ops that the processor lacks are loops of compare-and-swap. In shared memory a read and a write
 * do: all warps of a CTA run on one thread, and change over only in calls of the runtime. */
#include "target/cpu/function.h"

static LLVMTypeRef int_type(const struct bl_cg_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}

static LLVMAtomicOrdering order_of(const struct bl_kir_instr *i)
{
    switch (i->attr->order) {
    case BL_KIR_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case BL_KIR_RELEASE:
        return LLVMAtomicOrderingRelease;
    case BL_KIR_ACQ_REL:
        return LLVMAtomicOrderingAcquireRelease;
    case BL_KIR_SEQ_CST:
        return LLVMAtomicOrderingSequentiallyConsistent;
    default:
        return LLVMAtomicOrderingMonotonic;
    }
}

static bool simple_op(uint8_t atom, LLVMAtomicRMWBinOp *op, const char **reduction)
{
    static const struct {
        bool is;
        LLVMAtomicRMWBinOp op;
        const char *reduction;
    } ops[] = {
        [BL_KIR_ATOM_EXCH] = {true, LLVMAtomicRMWBinOpXchg, NULL},
        [BL_KIR_ATOM_ADD] = {true, LLVMAtomicRMWBinOpAdd, "llvm.vector.reduce.add"},
        [BL_KIR_ATOM_MIN_S] = {true, LLVMAtomicRMWBinOpMin, "llvm.vector.reduce.smin"},
        [BL_KIR_ATOM_MIN_U] = {true, LLVMAtomicRMWBinOpUMin, "llvm.vector.reduce.umin"},
        [BL_KIR_ATOM_MAX_S] = {true, LLVMAtomicRMWBinOpMax, "llvm.vector.reduce.smax"},
        [BL_KIR_ATOM_MAX_U] = {true, LLVMAtomicRMWBinOpUMax, "llvm.vector.reduce.umax"},
        [BL_KIR_ATOM_AND] = {true, LLVMAtomicRMWBinOpAnd, "llvm.vector.reduce.and"},
        [BL_KIR_ATOM_OR] = {true, LLVMAtomicRMWBinOpOr, "llvm.vector.reduce.or"},
        [BL_KIR_ATOM_XOR] = {true, LLVMAtomicRMWBinOpXor, "llvm.vector.reduce.xor"},
        [BL_KIR_ATOM_FMAX] = {false, 0, NULL},
    };
    if (atom >= BL_LEN(ops) || !ops[atom].is)
        return false;
    *op = ops[atom].op;
    *reduction = ops[atom].reduction;
    return true;
}

/* ---- one lane --------------------------------------------------------------------------------------- */

/* What the op puts in place of old, where that is no plain read-modify-write of the processor. */
static LLVMValueRef new_value(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef old, LLVMValueRef x)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMTypeOf(old);
    LLVMValueRef one, zero;

    if (i->attr->atom == BL_KIR_ATOM_INC || i->attr->atom == BL_KIR_ATOM_DEC) {
        one = LLVMConstInt(type, 1, false);
        zero = LLVMConstNull(type);
        if (i->attr->atom == BL_KIR_ATOM_INC)
            return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGE, old, x, ""), zero, LLVMBuildAdd(b, old, one, ""), "");
        zero = LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntEQ, old, zero, ""), LLVMBuildICmp(b, LLVMIntUGT, old, x, ""), "");
        return LLVMBuildSelect(b, zero, x, LLVMBuildSub(b, old, one, ""), "");
    }
    struct bl_kir_attr attr = {.round = BL_KIR_RN, .ftz = i->attr->ftz, .type = i->attr->type};
    struct bl_kir_value in = {.type = i->attr->type}, out = in, *operands[2] = {&in, &in}, *results[1] = {&out};
    struct bl_kir_instr op = {.op = i->attr->atom == BL_KIR_ATOM_FMIN   ? BL_KIR_OP_fmin
                                    : i->attr->atom == BL_KIR_ATOM_FMAX ? BL_KIR_OP_fmax
                                                                        : BL_KIR_OP_fadd,
                              .operand_count = 2,
                              .result_count = 1,
                              .operands = operands,
                              .results = results,
                              .attr = &attr};
    LLVMValueRef values[2] = {old, x}, result = NULL;
    bl_cg_math(f->cg, &op, 1, values, &result);
    return result;
}

/* ---- in memory that only this thread sees ----------------------------------------------------------------- */

static bool is_private(const struct bl_kir_instr *i)
{
    return i->attr->space == BL_KIR_SHARED || i->attr->space == BL_KIR_LOCAL;
}

/* Of the ops that one_atomic leaves to the processor. */
static LLVMValueRef new_word(struct bl_cg_func *f, uint8_t atom, LLVMValueRef old, LLVMValueRef x)
{
    static const struct {
        bool is;
        LLVMIntPredicate keeps;
    } choices[] = {
        [BL_KIR_ATOM_MIN_S] = {true, LLVMIntSLT}, [BL_KIR_ATOM_MIN_U] = {true, LLVMIntULT},
        [BL_KIR_ATOM_MAX_S] = {true, LLVMIntSGT}, [BL_KIR_ATOM_MAX_U] = {true, LLVMIntUGT},
        [BL_KIR_ATOM_FMAX] = {false, 0},
    };
    LLVMBuilderRef b = f->cg->builder;

    if (choices[atom].is)
        return LLVMBuildSelect(b, LLVMBuildICmp(b, choices[atom].keeps, old, x, ""), old, x, "");
    switch (atom) {
    case BL_KIR_ATOM_ADD:
        return LLVMBuildAdd(b, old, x, "");
    case BL_KIR_ATOM_AND:
        return LLVMBuildAnd(b, old, x, "");
    case BL_KIR_ATOM_OR:
        return LLVMBuildOr(b, old, x, "");
    case BL_KIR_ATOM_XOR:
        return LLVMBuildXor(b, old, x, "");
    default: /* exch */
        return x;
    }
}

static LLVMValueRef read_and_write(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef x,
                                   LLVMValueRef y)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef word = int_type(f, bl_kir_type_bits(i->attr->type)), type = LLVMTypeOf(x);
    LLVMValueRef old = LLVMBuildLoad2(b, word, pointer, ""), new, store;
    LLVMAtomicRMWBinOp op;
    const char *reduction;

    LLVMSetAlignment(old, bl_kir_type_bits(i->attr->type) / 8);
    if (i->attr->atom == BL_KIR_ATOM_CAS) {
        new = LLVMBuildICmp(b, LLVMIntEQ, old, LLVMBuildBitCast(b, x, word, ""), "");
        new = LLVMBuildSelect(b, new, LLVMBuildBitCast(b, y, word, ""), old, "");
    } else if (simple_op(i->attr->atom, &op, &reduction)) {
        new = new_word(f, i->attr->atom, old, LLVMBuildBitCast(b, x, word, ""));
    } else {
        new = LLVMBuildBitCast(b, new_value(f, i, LLVMBuildBitCast(b, old, type, ""), x), word, "");
    }
    store = LLVMBuildStore(b, new, pointer);
    LLVMSetAlignment(store, bl_kir_type_bits(i->attr->type) / 8);
    return LLVMBuildBitCast(b, old, type, "");
}

/* ---- in memory that others see ------------------------------------------------------------------------------ */

static LLVMValueRef compare_and_swap(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef old,
                                     LLVMValueRef new)
{
    LLVMAtomicOrdering order = order_of(i);
    LLVMAtomicOrdering failed = order == LLVMAtomicOrderingRelease          ? LLVMAtomicOrderingMonotonic
                                : order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire
                                                                            : order;
    return LLVMBuildAtomicCmpXchg(f->cg->builder, pointer, old, new, order, failed, false);
}

static LLVMValueRef swap_loop(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef x)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef word = int_type(f, bl_kir_type_bits(i->attr->type)), type = LLVMTypeOf(x);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), head = bl_cg_block(f, "swap"), done = bl_cg_block(f, "swapped");
    LLVMValueRef first = LLVMBuildLoad2(b, word, pointer, ""), old, new, pair, seen;

    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(first, bl_kir_type_bits(i->attr->type) / 8);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    old = LLVMBuildPhi(b, word, "");
    LLVMAddIncoming(old, &first, &before, 1);
    new = LLVMBuildBitCast(b, new_value(f, i, LLVMBuildBitCast(b, old, type, ""), x), word, "");
    pair = compare_and_swap(f, i, pointer, old, new);
    seen = LLVMBuildExtractValue(b, pair, 0, "");
    head = LLVMGetInsertBlock(b);
    LLVMAddIncoming(old, &seen, &head, 1);
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, pair, 1, ""), done, LLVMGetInstructionParent(old));
    LLVMPositionBuilderAtEnd(b, done);
    return LLVMBuildBitCast(b, seen, type, "");
}

static LLVMValueRef one_atomic(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef x,
                               LLVMValueRef y)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef word = int_type(f, bl_kir_type_bits(i->attr->type)), type = LLVMTypeOf(x);
    LLVMAtomicRMWBinOp op;
    const char *reduction;
    LLVMValueRef old;

    if (is_private(i))
        return read_and_write(f, i, pointer, x, y);
    if (i->attr->atom == BL_KIR_ATOM_CAS) {
        x = LLVMBuildBitCast(b, x, word, "");
        y = LLVMBuildBitCast(b, y, word, "");
        old = LLVMBuildExtractValue(b, compare_and_swap(f, i, pointer, x, y), 0, "");
        return LLVMBuildBitCast(b, old, type, "");
    }
    if (!simple_op(i->attr->atom, &op, &reduction))
        return swap_loop(f, i, pointer, x);
    old = LLVMBuildAtomicRMW(b, op, pointer, LLVMBuildBitCast(b, x, word, ""), order_of(i), false);
    return LLVMBuildBitCast(b, old, type, "");
}

/* ---- the warp ------------------------------------------------------------------------------------------ */

static bool result_wanted(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    return i->result_count && f->values[i->results[0]->id].used;
}

/* One address for all lanes, and nobody asks what was there: reduce first. */
static bool reduce_then_one(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = bl_cg_type(f->cg, i->attr->type, BL_WARP);
    LLVMValueRef value, neutral, pointer;
    LLVMAtomicRMWBinOp op;
    const char *reduction;
    uint64_t all = UINT64_MAX, high = UINT64_C(1) << (bl_kir_type_bits(i->attr->type) - 1), bits;

    if (!bl_kir_type_is_int(i->attr->type) || !simple_op(i->attr->atom, &op, &reduction) || !reduction ||
        bl_cg_form(f, i->operands[0]) != BL_KIR_SHAPE_UNIFORM || i->attr->space == BL_KIR_LOCAL || result_wanted(f, i))
        return false;
    bits = i->attr->atom == BL_KIR_ATOM_MIN_S                                       ? high - 1
           : i->attr->atom == BL_KIR_ATOM_MAX_S                                     ? high
           : i->attr->atom == BL_KIR_ATOM_MIN_U || i->attr->atom == BL_KIR_ATOM_AND ? all
                                                                                    : 0;
    neutral = bl_cg_bits(f->cg, i->attr->type, BL_WARP, bits, bits == all ? all : 0);
    value = LLVMBuildSelect(b, f->at->mask, bl_cg_vector(f, i->operands[1]), neutral, "");
    value = bl_cg_intrinsic(f->cg, reduction, 1, &type, 1, &value);
    pointer = bl_cg_pointer(f, i->operands[0], i->attr->space, (int64_t)i->attr->imm, false);
    one_atomic(f, i, pointer, value, NULL);
    if (i->result_count)
        bl_cg_define_vector(f, i->results[0], LLVMGetUndef(type));
    return true;
}

/* A counter: all lanes add the same to one place. One addition for all, and each lane gets what it would have met. */
static bool count_once(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = int_type(f, 32), lanes = LLVMVectorType(i32, BL_WARP), type = bl_cg_type(f->cg, i->attr->type, 1);
    LLVMValueRef bits, below[BL_WARP], before, count, x, old;

    if (i->attr->atom != BL_KIR_ATOM_ADD || !i->result_count || bl_cg_form(f, i->operands[0]) != BL_KIR_SHAPE_UNIFORM ||
        bl_cg_form(f, i->operands[1]) != BL_KIR_SHAPE_UNIFORM || i->attr->space == BL_KIR_LOCAL)
        return false;
    bits = bl_cg_mask_bits(f, f->at->mask);
    count = bl_cg_intrinsic(f->cg, "llvm.ctpop", 1, &i32, 1, &bits);
    for (uint32_t n = 0; n < BL_WARP; n++)
        below[n] = LLVMConstInt(i32, (1u << n) - 1, false);
    before = LLVMBuildAnd(b, bl_cg_splat(f->cg, bits), LLVMConstVector(below, BL_WARP), "");
    before = bl_cg_intrinsic(f->cg, "llvm.ctpop", 1, &lanes, 1, &before);
    before = LLVMBuildIntCast2(b, before, bl_cg_type(f->cg, i->attr->type, BL_WARP), false, "");
    x = bl_cg_scalar(f, i->operands[1]);
    old = bl_cg_pointer(f, i->operands[0], i->attr->space, (int64_t)i->attr->imm, false);
    old = one_atomic(f, i, old, LLVMBuildMul(b, x, LLVMBuildIntCast2(b, count, type, false, ""), ""), NULL);
    before = LLVMBuildMul(b, before, bl_cg_splat(f->cg, x), "");
    bl_cg_define_vector(f, i->results[0], LLVMBuildAdd(b, bl_cg_splat(f->cg, old), before, ""));
    return true;
}

static LLVMValueRef to_array(struct bl_cg_func *f, LLVMValueRef vector, const char *name)
{
    LLVMValueRef array = bl_cg_array(f, LLVMTypeOf(vector), name);
    LLVMBuildStore(f->cg->builder, vector, array);
    return array;
}

static LLVMValueRef from_array(struct bl_cg_func *f, LLVMTypeRef type, LLVMValueRef array, LLVMValueRef lane)
{
    return LLVMBuildLoad2(f->cg->builder, type, bl_cg_element(f, type, array, lane), "");
}

static void each_lane(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(f->cg->context, 0), type = bl_cg_type(f->cg, i->attr->type, 1);
    LLVMTypeRef vector = bl_cg_type(f->cg, i->attr->type, BL_WARP);
    LLVMValueRef arrays[3], results = bl_cg_array(f, vector, "old"), operands[2] = {NULL, NULL}, old;
    struct bl_cg_lanes lanes;

    arrays[0] = to_array(f, bl_cg_pointer(f, i->operands[0], i->attr->space, (int64_t)i->attr->imm, true), "at");
    for (uint32_t o = 1; o < i->operand_count && o < 3; o++)
        arrays[o] = to_array(f, bl_cg_vector(f, i->operands[o]), "operand");
    bl_cg_lanes_begin(f, bl_cg_mask_bits(f, f->at->mask), &lanes);
    for (uint32_t o = 1; o < i->operand_count && o < 3; o++)
        operands[o - 1] = from_array(f, type, arrays[o], lanes.lane);
    old = one_atomic(f, i, from_array(f, pointer, arrays[0], lanes.lane), operands[0], operands[1]);
    LLVMBuildStore(b, old, bl_cg_element(f, type, results, lanes.lane));
    bl_cg_lanes_end(f, &lanes);
    if (i->result_count)
        bl_cg_define_vector(f, i->results[0], LLVMBuildLoad2(b, vector, results, ""));
}

bool bl_cg_atomic(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    if (i->op != BL_KIR_OP_atomic && i->op != BL_KIR_OP_reduce)
        return false;
    if (bl_kir_type_bits(i->attr->type) == 128 && !f->cg->features.cx16)
        return false;
    bl_cg_check_alignment(f, i);
    if (!reduce_then_one(f, i) && !count_once(f, i))
        each_lane(f, i);
    return true;
}
