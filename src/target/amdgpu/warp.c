/* What the lanes of a warp do together, and barriers. Member masks may differ by lane: parts of a warp then act in one instruction,
 * each for itself. Lanes named in a mask that are elsewhere take no part. On chips of wave64 a warp is half of the wave: masks are
 * those of the half, and lane numbers given to the chip those of the wave. PTX ISA, 9.7.9.6 and 9.7.13. */
#include "target/amdgpu/codegen.h"

static bool is_half(const struct bl_amd_func *f)
{
    return f->object->chip->wave == 64;
}

/* The running lanes of the warp in which pred holds, as i32. */
static LLVMValueRef ballot(struct bl_amd_func *f, LLVMValueRef pred)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = a_int(f, f->object->chip->wave);
    LLVMValueRef bits = bl_cg_intrinsic(f->cg, "llvm.amdgcn.ballot", 1, &type, 1, &pred), upper, low, high;

    if (!is_half(f))
        return bits;
    upper = LLVMBuildICmp(b, LLVMIntUGE, bl_amd_wave_lane(f), a_i32(f, 32), "");
    low = LLVMBuildTrunc(b, bits, a_int(f, 32), "");
    high = LLVMBuildTrunc(b, LLVMBuildLShr(b, bits, LLVMConstInt(type, 32, false), ""), a_int(f, 32), "");
    return LLVMBuildSelect(b, upper, high, low, "");
}

static LLVMValueRef active(struct bl_amd_func *f)
{
    return ballot(f, a_i1(f, true));
}

/* The 32-bit value that another lane of the warp has (0 if that lane does not run). */
LLVMValueRef bl_amd_permute(struct bl_amd_func *f, LLVMValueRef value, LLVMValueRef lane)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef arguments[2];

    if (is_half(f))
        lane = LLVMBuildOr(b, lane, LLVMBuildAnd(b, bl_amd_wave_lane(f), a_i32(f, 32), ""), "");
    arguments[0] = LLVMBuildShl(b, lane, a_i32(f, 2), "");
    arguments[1] = value;
    return a_call(f, "llvm.amdgcn.ds.bpermute", 2, arguments);
}

static LLVMValueRef unary(struct bl_amd_func *f, const char *name, LLVMValueRef x)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return bl_cg_intrinsic(f->cg, name, 1, &type, 1, &x);
}

/* The lowest bit that is set; 32 where none is. */
static LLVMValueRef first_of(struct bl_amd_func *f, LLVMValueRef bits)
{
    LLVMTypeRef type = a_int(f, 32);
    LLVMValueRef arguments[2] = {bits, a_i1(f, false)};
    return bl_cg_intrinsic(f->cg, "llvm.cttz", 1, &type, 2, arguments);
}

/* ---- shfl ----------------------------------------------------------------------------------------- */

/* PTX ISA, shfl.sync: from the lane's number, b and c the source lane, and whether it is in range. */
static void build_shfl(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef all = a_i32(f, 31), lane = bl_amd_lane(f), move, c, segment, outside, most, source, in_range;
    uint8_t mode = i->attr->shfl;

    move = LLVMBuildAnd(b, bl_amd_value(f, i->operands[1]), all, "");
    c = bl_amd_value(f, i->operands[2]);
    segment = LLVMBuildAnd(b, LLVMBuildLShr(b, c, a_i32(f, 8), ""), all, "");
    outside = LLVMBuildXor(b, segment, all, "");
    most = LLVMBuildOr(b, LLVMBuildAnd(b, lane, segment, ""), LLVMBuildAnd(b, c, outside, ""), "");
    if (mode == BL_KIR_SHFL_UP)
        source = LLVMBuildSub(b, lane, move, "");
    else if (mode == BL_KIR_SHFL_DOWN)
        source = LLVMBuildAdd(b, lane, move, "");
    else if (mode == BL_KIR_SHFL_BFLY)
        source = LLVMBuildXor(b, lane, move, "");
    else
        source = LLVMBuildOr(b, LLVMBuildAnd(b, lane, segment, ""), LLVMBuildAnd(b, move, outside, ""), "");
    in_range = LLVMBuildICmp(b, mode == BL_KIR_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, source, most, "");
    source = LLVMBuildSelect(b, in_range, source, lane, "");
    bl_amd_define(f, i->results[0], bl_amd_permute(f, bl_amd_value(f, i->operands[0]), source));
    bl_amd_define(f, i->results[1], in_range);
}

/* ---- vote, match, redux, elect -------------------------------------------------------------------- */

static void build_vote(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef members = bl_amd_value(f, i->operands[1]), yes, here, all, none, result;

    yes = LLVMBuildAnd(b, ballot(f, bl_amd_value(f, i->operands[0])), members, "");
    here = LLVMBuildAnd(b, active(f), members, "");
    all = LLVMBuildICmp(b, LLVMIntEQ, yes, here, "");
    none = LLVMBuildICmp(b, LLVMIntEQ, yes, a_i32(f, 0), "");
    switch (i->attr->vote) {
    case BL_KIR_VOTE_ALL:
        result = all;
        break;
    case BL_KIR_VOTE_ANY:
        result = LLVMBuildNot(b, none, "");
        break;
    case BL_KIR_VOTE_UNI:
        result = LLVMBuildOr(b, all, none, "");
        break;
    case BL_KIR_VOTE_POPC:
        result = unary(f, "llvm.ctpop", yes);
        break;
    default:
        result = yes;
        break;
    }
    bl_amd_define(f, i->results[0], result);
}

/* The running lanes that agree with this one in each of the value's bits. */
static LLVMValueRef equal_lanes(struct bl_amd_func *f, LLVMValueRef value)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMValueRef same = active(f), bit, have;

    for (unsigned n = 0; n < LLVMGetIntTypeWidth(type); n++) {
        bit = LLVMBuildAnd(b, value, LLVMConstInt(type, UINT64_C(1) << n, false), "");
        bit = LLVMBuildICmp(b, LLVMIntNE, bit, LLVMConstNull(type), "");
        have = ballot(f, bit);
        same = LLVMBuildAnd(b, same, LLVMBuildSelect(b, bit, have, LLVMBuildNot(b, have, ""), ""), "");
    }
    return same;
}

static bool build_match(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef members = bl_amd_value(f, i->operands[1]), same, here, all;

    if (bl_kir_type_bits(i->operands[0]->type) > 64)
        return false;
    same = LLVMBuildAnd(b, equal_lanes(f, bl_amd_value(f, i->operands[0])), members, "");
    if (i->op == BL_KIR_OP_match_any) {
        bl_amd_define(f, i->results[0], same);
        return true;
    }
    here = LLVMBuildAnd(b, active(f), members, "");
    all = LLVMBuildICmp(b, LLVMIntEQ, same, here, "");
    bl_amd_define(f, i->results[0], LLVMBuildSelect(b, all, same, a_i32(f, 0), ""));
    bl_amd_define(f, i->results[1], all);
    return true;
}

static LLVMValueRef combine(struct bl_amd_func *f, uint8_t atom, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMTypeOf(x);
    LLVMValueRef both[2] = {x, y};

    switch (atom) {
    case BL_KIR_ATOM_ADD:
        return LLVMBuildAdd(b, x, y, "");
    case BL_KIR_ATOM_AND:
        return LLVMBuildAnd(b, x, y, "");
    case BL_KIR_ATOM_OR:
        return LLVMBuildOr(b, x, y, "");
    case BL_KIR_ATOM_XOR:
        return LLVMBuildXor(b, x, y, "");
    case BL_KIR_ATOM_MIN_S:
        return bl_cg_intrinsic(f->cg, "llvm.smin", 1, &type, 2, both);
    case BL_KIR_ATOM_MAX_S:
        return bl_cg_intrinsic(f->cg, "llvm.smax", 1, &type, 2, both);
    case BL_KIR_ATOM_MIN_U:
        return bl_cg_intrinsic(f->cg, "llvm.umin", 1, &type, 2, both);
    case BL_KIR_ATOM_MAX_U:
        return bl_cg_intrinsic(f->cg, "llvm.umax", 1, &type, 2, both);
    default:
        return NULL;
    }
}

/* A loop over the members that run, lowest first: each lane fetches the next one's value. Lanes of other masks loop for themselves;
 * all lanes of one mask make the same rounds, so none is asked that has left. */
static bool build_redux(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = a_int(f, 32);
    LLVMValueRef value = bl_amd_value(f, i->operands[0]), members, sum, left, rest, first, next, start;
    LLVMBasicBlockRef before, head, done;

    if (i->operands[0]->type != BL_KIR_I32 || !combine(f, i->attr->atom, a_i32(f, 0), a_i32(f, 0)))
        return false;
    members = LLVMBuildAnd(b, active(f), bl_amd_value(f, i->operands[1]), "");
    start = bl_amd_permute(f, value, first_of(f, members));
    rest = LLVMBuildAnd(b, members, LLVMBuildSub(b, members, a_i32(f, 1), ""), "");
    before = LLVMGetInsertBlock(b);
    head = bl_amd_block(f, "redux");
    done = bl_amd_block(f, "reduced");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, a_i32(f, 0), ""), head, done);
    LLVMPositionBuilderAtEnd(b, head);
    left = LLVMBuildPhi(b, type, "");
    sum = LLVMBuildPhi(b, type, "");
    first = first_of(f, left);
    next = combine(f, i->attr->atom, sum, bl_amd_permute(f, value, first));
    LLVMAddIncoming(left, &rest, &before, 1);
    LLVMAddIncoming(sum, &start, &before, 1);
    rest = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, a_i32(f, 1), ""), "");
    LLVMAddIncoming(left, &rest, &head, 1);
    LLVMAddIncoming(sum, &next, &head, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, rest, a_i32(f, 0), ""), head, done);
    LLVMPositionBuilderAtEnd(b, done);
    sum = LLVMBuildPhi(b, type, "");
    LLVMAddIncoming(sum, (LLVMValueRef[]){start, next}, (LLVMBasicBlockRef[]){before, head}, 2);
    bl_amd_define(f, i->results[0], sum);
    return true;
}

static void build_elect(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef leader = first_of(f, LLVMBuildAnd(b, active(f), bl_amd_value(f, i->operands[0]), ""));

    bl_amd_define(f, i->results[0], leader);
    bl_amd_define(f, i->results[1], LLVMBuildICmp(b, LLVMIntEQ, leader, bl_amd_lane(f), ""));
}

/* ---- barriers and pauses -------------------------------------------------------------------------- */

/* All threads of the CTA, and what they wrote. */
static void whole_barrier(struct bl_amd_func *f)
{
    bl_amd_fence(f, "release", "workgroup");
    a_call(f, "llvm.amdgcn.s.barrier", 0, NULL);
    bl_amd_fence(f, "acquire", "workgroup");
}

/* ---- a barrier for a part of the CTA ----
 * The chip has one barrier, for all waves of the workgroup. Others are pairs of words in LDS: how many threads have come, and how
 * often it has opened. A warp counts as 32 threads that come together (PTX ISA, bar). One lane counts and waits for the others of
 * its warp. */

static LLVMValueRef barrier_word(struct bl_amd_func *f, LLVMValueRef id, uint32_t word)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef place = LLVMBuildAnd(b, id, a_i32(f, BL_AMD_BARRIERS - 1), "");

    place = LLVMBuildAdd(b, LLVMBuildShl(b, place, a_i32(f, 3), ""), a_i32(f, f->unit->barrier_slots + 4 * word), "");
    return LLVMBuildIntToPtr(b, place, a_pointer(f, BL_AMD_LDS), "");
}

static LLVMValueRef read_word(struct bl_amd_func *f, LLVMValueRef pointer)
{
    LLVMValueRef word = LLVMBuildLoad2(f->cg->builder, a_int(f, 32), pointer, "");

    LLVMSetAlignment(word, 4);
    LLVMSetOrdering(word, LLVMAtomicOrderingMonotonic);
    return word;
}

/* Counts this warp; the last one takes the count back and opens the barrier. The builder then stands where both ways meet. */
static void come(struct bl_amd_func *f, LLVMValueRef id, LLVMValueRef count)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef last = bl_amd_block(f, "last"), came = bl_amd_block(f, "came");
    LLVMValueRef threads = barrier_word(f, id, 0), before;

    before = LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpAdd, threads, a_i32(f, BL_WARP), LLVMAtomicOrderingMonotonic, false);
    before = LLVMBuildAdd(b, before, a_i32(f, BL_WARP), "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, before, count, ""), last, came);
    LLVMPositionBuilderAtEnd(b, last);
    LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpSub, threads, count, LLVMAtomicOrderingMonotonic, false);
    bl_amd_fence(f, "release", "workgroup");
    LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpAdd, barrier_word(f, id, 1), a_i32(f, 1), LLVMAtomicOrderingMonotonic, false);
    LLVMBuildBr(b, came);
    LLVMPositionBuilderAtEnd(b, came);
}

static void wait_for_opening(struct bl_amd_func *f, LLVMValueRef opened, LLVMValueRef before)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef again = bl_amd_block(f, "wait"), rest = bl_amd_block(f, "rest"), open = bl_amd_block(f, "open");
    LLVMValueRef shortest = a_i32(f, 1);

    LLVMBuildBr(b, again);
    LLVMPositionBuilderAtEnd(b, again);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, read_word(f, opened), before, ""), rest, open);
    LLVMPositionBuilderAtEnd(b, rest);
    a_call(f, "llvm.amdgcn.s.sleep", 1, &shortest);
    LLVMBuildBr(b, again);
    LLVMPositionBuilderAtEnd(b, open);
}

static bool part_barrier(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef leads = bl_amd_block(f, "leads"), done = bl_amd_block(f, "together");
    LLVMValueRef id = bl_amd_value(f, i->operands[0]), count = bl_amd_value(f, i->operands[1]), leader, before;

    if (is_half(f)) {
        bl_amd_unsupported(f, i,
                           "a barrier for a part of the CTA is not supported on chips with waves of 64 lanes: the two warps of a "
                           "wave cannot wait for each other");
        return true;
    }
    bl_amd_fence(f, "release", "workgroup");
    leader = LLVMBuildICmp(b, LLVMIntEQ, first_of(f, active(f)), bl_amd_lane(f), "");
    LLVMBuildCondBr(b, leader, leads, done);
    LLVMPositionBuilderAtEnd(b, leads);
    before = i->attr->arrive ? NULL : read_word(f, barrier_word(f, id, 1));
    come(f, id, count);
    if (before)
        wait_for_opening(f, barrier_word(f, id, 1), before);
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    a_call(f, "llvm.amdgcn.wave.barrier", 0, NULL);
    bl_amd_fence(f, "acquire", "workgroup");
    return true;
}

/* A barrier of any number that all threads come to is the chip's. */
static bool build_barrier(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    if (i->operand_count > 1)
        return part_barrier(f, i);
    if (i->attr->arrive)
        return false;
    whole_barrier(f);
    return true;
}

void bl_amd_clear_barriers(struct bl_amd_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef clear = bl_amd_block(f, "clear"), cleared = bl_amd_block(f, "cleared");
    LLVMValueRef tid = bl_amd_linear_tid(f);

    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, tid, a_i32(f, 0), ""), clear, cleared);
    LLVMPositionBuilderAtEnd(b, clear);
    for (uint32_t n = 0; n < 2 * BL_AMD_BARRIERS; n++)
        LLVMBuildStore(b, a_i32(f, 0), LLVMConstIntToPtr(a_i32(f, f->unit->barrier_slots + 4 * n), a_pointer(f, BL_AMD_LDS)));
    LLVMBuildBr(b, cleared);
    LLVMPositionBuilderAtEnd(b, cleared);
    whole_barrier(f);
}

static LLVMValueRef reduction_pointer(struct bl_amd_func *f)
{
    return LLVMConstIntToPtr(a_i32(f, f->unit->reduction_slot), a_pointer(f, BL_AMD_LDS));
}

/* One thread clears a word of LDS, each thread for which pred holds adds to it, all read it. Barriers between. */
static LLVMValueRef count_threads(struct bl_amd_func *f, LLVMValueRef pred)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef word = reduction_pointer(f), bits, leader;
    LLVMBasicBlockRef clear = bl_amd_block(f, "clear"), cleared = bl_amd_block(f, "cleared"), add = bl_amd_block(f, "count"),
                      added = bl_amd_block(f, "counted");

    whole_barrier(f);
    leader = LLVMBuildICmp(b, LLVMIntEQ, bl_amd_linear_tid(f), a_i32(f, 0), "");
    LLVMBuildCondBr(b, leader, clear, cleared);
    LLVMPositionBuilderAtEnd(b, clear);
    LLVMBuildStore(b, a_i32(f, 0), word);
    LLVMBuildBr(b, cleared);
    LLVMPositionBuilderAtEnd(b, cleared);
    whole_barrier(f);
    bits = ballot(f, pred);
    leader = LLVMBuildICmp(b, LLVMIntEQ, first_of(f, bits), bl_amd_lane(f), ""); /* none where no bit is set */
    LLVMBuildCondBr(b, leader, add, added);
    LLVMPositionBuilderAtEnd(b, add);
    LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpAdd, word, unary(f, "llvm.ctpop", bits), LLVMAtomicOrderingMonotonic, false);
    LLVMBuildBr(b, added);
    LLVMPositionBuilderAtEnd(b, added);
    whole_barrier(f);
    return LLVMBuildLoad2(b, a_int(f, 32), word, "");
}

/* All: no thread for which pred does not hold. */
static bool build_barrier_red(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef pred = bl_amd_value(f, i->operands[0]), count;
    bool all = i->attr->vote == BL_KIR_VOTE_ALL;

    if (i->operand_count > 2) {
        bl_amd_unsupported(f, i, "a barrier for a part of the CTA is not supported on AMD GPUs yet");
        return true;
    }
    count = count_threads(f, all ? LLVMBuildNot(b, pred, "") : pred);
    if (i->attr->vote != BL_KIR_VOTE_POPC)
        count = LLVMBuildICmp(b, all ? LLVMIntEQ : LLVMIntNE, count, a_i32(f, 0), "");
    bl_amd_define(f, i->results[0], count);
    return true;
}

/* The lanes of a wave run in step; memory accesses must not move across, neither here nor in the compiler. */
static void build_warpsync(struct bl_amd_func *f)
{
    bl_amd_fence(f, "acq_rel", "workgroup");
    a_call(f, "llvm.amdgcn.wave.barrier", 0, NULL);
}

/* s_sleep N waits for about 64 * N clocks, N a constant up to 127: from a microsecond on as long as one goes. PTX asks for no more
 * than twice the time given. */
static void build_nanosleep(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef time = bl_amd_value(f, i->operands[0]), units = a_i32(f, 1);

    if (LLVMIsAConstantInt(time))
        units = a_i32(f, (uint32_t)BL_MIN(BL_MAX(LLVMConstIntGetZExtValue(time) / 32, 1u), 127u));
    a_call(f, "llvm.amdgcn.s.sleep", 1, &units);
}

bool bl_amd_warp(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_shfl:
        build_shfl(f, i);
        return true;
    case BL_KIR_OP_vote:
        build_vote(f, i);
        return true;
    case BL_KIR_OP_match_any:
    case BL_KIR_OP_match_all:
        return build_match(f, i);
    case BL_KIR_OP_activemask:
        bl_amd_define(f, i->results[0], active(f));
        return true;
    case BL_KIR_OP_redux:
        return build_redux(f, i);
    case BL_KIR_OP_elect:
        build_elect(f, i);
        return true;
    case BL_KIR_OP_warpsync:
        build_warpsync(f);
        return true;
    case BL_KIR_OP_barrier:
        return build_barrier(f, i);
    case BL_KIR_OP_barrier_red:
        return build_barrier_red(f, i);
    case BL_KIR_OP_nanosleep:
        build_nanosleep(f, i);
        return true;
    case BL_KIR_OP_grid_dependency: /* launches are in order */
        return true;
    case BL_KIR_OP_breakpoint:
        a_call(f, "llvm.debugtrap", 0, NULL);
        return true;
    default:
        return false;
    }
}
