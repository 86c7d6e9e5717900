/* What the lanes of a warp do together, what a thread asks about itself (special registers), and barriers. Member masks may
 * differ by lane: parts of a warp then act in one instruction, each for itself. Lanes named in a mask that are elsewhere, or
 * gone, take no part. PTX ISA, 9.7.9.6 and 9.7.13. */
#include "target/cpu/cg_matrix.h"

static LLVMTypeRef int_type(const struct bl_cg_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}

static LLVMValueRef number32(const struct bl_cg_func *f, uint32_t number)
{
    return LLVMConstInt(int_type(f, 32), number, false);
}

static LLVMValueRef splat32(struct bl_cg_func *f, uint32_t number)
{
    return bl_cg_splat(f->cg, number32(f, number));
}

static LLVMValueRef constant_lanes(const struct bl_cg_func *f, LLVMTypeRef element, const uint32_t *numbers)
{
    LLVMValueRef lanes[BL_WARP];
    for (uint32_t n = 0; n < BL_WARP; n++)
        lanes[n] = LLVMConstInt(element, numbers[n], false);
    return LLVMConstVector(lanes, BL_WARP);
}

static LLVMValueRef lane_numbers(const struct bl_cg_func *f)
{
    uint32_t numbers[BL_WARP];
    for (uint32_t n = 0; n < BL_WARP; n++)
        numbers[n] = n;
    return constant_lanes(f, int_type(f, 32), numbers);
}

/* The current lanes as i32. */
static LLVMValueRef active_bits(struct bl_cg_func *f)
{
    return bl_cg_mask_bits(f, f->at->mask);
}

/* ---- operands and results that may be scalars ------------------------------------------------------- */

/* Ops that work at either width: on scalars when the member mask is one. */
struct either {
    struct bl_cg_func *f;
    bool vector;
};

static LLVMValueRef in_width(const struct either *e, LLVMValueRef scalar)
{
    return e->vector ? bl_cg_splat(e->f->cg, scalar) : scalar;
}

static LLVMValueRef member_mask(struct bl_cg_func *f, const struct bl_kir_value *mask, struct either *e)
{
    *e = (struct either){f, bl_cg_form(f, mask) != BL_KIR_SHAPE_UNIFORM};
    return e->vector ? bl_cg_vector(f, mask) : bl_cg_scalar(f, mask);
}

static void define_either(const struct either *e, const struct bl_kir_value *value, LLVMValueRef llvm)
{
    bl_cg_define(e->f, value, e->vector ? BL_KIR_SHAPE_VARYING : BL_KIR_SHAPE_UNIFORM, 0, llvm);
}

/* ---- special registers ------------------------------------------------------------------------------------ */

static const size_t field_offsets[BL_KIR_SREG_COUNT] = {
#define FIELD(sreg, field) [BL_KIR_SREG_##sreg] = offsetof(struct bl_cpu_warp, field)
    FIELD(NTID_X, ntid[0]),
    FIELD(NTID_Y, ntid[1]),
    FIELD(NTID_Z, ntid[2]),
    FIELD(CTAID_X, ctaid[0]),
    FIELD(CTAID_Y, ctaid[1]),
    FIELD(CTAID_Z, ctaid[2]),
    FIELD(NCTAID_X, nctaid[0]),
    FIELD(NCTAID_Y, nctaid[1]),
    FIELD(NCTAID_Z, nctaid[2]),
    FIELD(WARPID, warpid),
    FIELD(NWARPID, nwarps),
    FIELD(SMID, smid),
    FIELD(NSMID, nsmid),
    FIELD(GRIDID, gridid),
    FIELD(DYNAMIC_SMEM_SIZE, dynamic_shared),
    FIELD(TOTAL_SMEM_SIZE, shared_size),
    FIELD(AGGR_SMEM_SIZE, shared_size),
    FIELD(CLUSTERID_X, clusterid[0]),
    FIELD(CLUSTERID_Y, clusterid[1]),
    FIELD(CLUSTERID_Z, clusterid[2]),
    FIELD(NCLUSTERID_X, nclusterid[0]),
    FIELD(NCLUSTERID_Y, nclusterid[1]),
    FIELD(NCLUSTERID_Z, nclusterid[2]),
    FIELD(CLUSTER_CTAID_X, cluster_ctaid[0]),
    FIELD(CLUSTER_CTAID_Y, cluster_ctaid[1]),
    FIELD(CLUSTER_CTAID_Z, cluster_ctaid[2]),
    FIELD(CLUSTER_NCTAID_X, cluster_nctaid[0]),
    FIELD(CLUSTER_NCTAID_Y, cluster_nctaid[1]),
    FIELD(CLUSTER_NCTAID_Z, cluster_nctaid[2]),
    FIELD(CLUSTER_CTARANK, cluster_ctarank),
    FIELD(CLUSTER_NCTARANK, cluster_nctarank),
#undef FIELD
};

/* tid of dimension d: in a linear CTA lane i's tid.x is lane 0's plus i, and the others are the same in every lane. */
static void emit_tid(struct bl_cg_func *f, const struct bl_kir_value *result, uint32_t d)
{
    size_t offset = offsetof(struct bl_cpu_warp, tid) + sizeof(uint32_t) * BL_WARP * d;
    LLVMTypeRef i32 = int_type(f, 32);
    LLVMValueRef tid;

    if (f->unit->request->cta_shape != BL_CPU_CTA_LINEAR) {
        tid = bl_cg_warp_field(f, offset, LLVMVectorType(i32, BL_WARP), true);
        LLVMSetAlignment(tid, 4);
        tid = LLVMBuildIntCast2(f->cg->builder, tid, bl_cg_type(f->cg, result->type, BL_WARP), false, "");
        bl_cg_define_vector(f, result, tid);
        return;
    }
    tid = bl_cg_warp_field(f, offset, i32, true);
    tid = LLVMBuildIntCast2(f->cg->builder, tid, bl_cg_type(f->cg, result->type, 1), false, "");
    bl_cg_define(f, result, d == 0 ? BL_KIR_SHAPE_AFFINE : BL_KIR_SHAPE_UNIFORM, d == 0, tid);
}

static void emit_lanemask(struct bl_cg_func *f, const struct bl_kir_value *result, uint8_t sreg)
{
    uint32_t numbers[BL_WARP];

    for (uint32_t n = 0; n < BL_WARP; n++) {
        uint32_t below = (1u << n) - 1, self = 1u << n;
        numbers[n] = sreg == BL_KIR_SREG_LANEMASK_EQ   ? self
                     : sreg == BL_KIR_SREG_LANEMASK_LE ? below | self
                     : sreg == BL_KIR_SREG_LANEMASK_LT ? below
                     : sreg == BL_KIR_SREG_LANEMASK_GE ? ~below
                                                       : ~(below | self);
    }
    bl_cg_define_vector(f, result, constant_lanes(f, bl_cg_type(f->cg, result->type, 1), numbers));
}

static void emit_time(struct bl_cg_func *f, const struct bl_kir_value *result, uint8_t sreg)
{
    LLVMTypeRef i64 = int_type(f, 64);
    bool high = sreg == BL_KIR_SREG_CLOCK_HI || sreg == BL_KIR_SREG_GLOBALTIMER_HI;
    LLVMValueRef time =
        sreg <= BL_KIR_SREG_CLOCK64 ? BL_CG_HELPER(f, clock, i64, 0, NULL) : BL_CG_HELPER(f, globaltimer, i64, 0, NULL);

    if (high)
        time = LLVMBuildLShr(f->cg->builder, time, LLVMConstInt(i64, 32, false), "");
    time = LLVMBuildIntCast2(f->cg->builder, time, bl_cg_type(f->cg, result->type, 1), false, "");
    bl_cg_define_scalar(f, result, time);
}

/* %envreg1 and 2 hold the grid's workspace, the others are zero. */
static void emit_envreg(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMTypeRef i64 = int_type(f, 64), type = bl_cg_type(f->cg, i->results[0]->type, 1);
    LLVMValueRef value = LLVMConstNull(type);

    if (i->attr->imm == 1 || i->attr->imm == 2) {
        value = BL_CG_FIELD(f, grid_workspace, i64);
        if (i->attr->imm == 1)
            value = LLVMBuildLShr(f->cg->builder, value, LLVMConstInt(i64, 32, false), "");
        value = LLVMBuildIntCast2(f->cg->builder, value, type, false, "");
    }
    bl_cg_define_scalar(f, i->results[0], value);
}

static void emit_field(struct bl_cg_func *f, const struct bl_kir_value *result, uint8_t sreg)
{
    bool wide = sreg == BL_KIR_SREG_GRIDID || sreg == BL_KIR_SREG_TOTAL_SMEM_SIZE || sreg == BL_KIR_SREG_AGGR_SMEM_SIZE;
    LLVMTypeRef type = bl_cg_type(f->cg, result->type, 1);
    LLVMValueRef value = LLVMConstNull(type);

    if (sreg == BL_KIR_SREG_IS_EXPLICIT_CLUSTER)
        value = LLVMBuildICmp(f->cg->builder, LLVMIntUGT, BL_CG_FIELD(f, cluster_nctarank, int_type(f, 32)), number32(f, 1), "");
    else if (field_offsets[sreg])
        value = LLVMBuildIntCast2(f->cg->builder, bl_cg_warp_field(f, field_offsets[sreg], int_type(f, wide ? 64 : 32), true), type,
                                  false, "");
    bl_cg_define_scalar(f, result, value);
}

static void emit_sreg(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    uint8_t sreg = i->attr->sreg;

    if (sreg <= BL_KIR_SREG_TID_Z)
        emit_tid(f, i->results[0], sreg - BL_KIR_SREG_TID_X);
    else if (sreg == BL_KIR_SREG_LANEID)
        bl_cg_define(f, i->results[0], BL_KIR_SHAPE_AFFINE, 1, LLVMConstNull(bl_cg_type(f->cg, i->results[0]->type, 1)));
    else if (sreg == BL_KIR_SREG_ENVREG)
        emit_envreg(f, i);
    else if (sreg >= BL_KIR_SREG_LANEMASK_EQ && sreg <= BL_KIR_SREG_LANEMASK_GT)
        emit_lanemask(f, i->results[0], sreg);
    else if (sreg >= BL_KIR_SREG_CLOCK && sreg <= BL_KIR_SREG_GLOBALTIMER_HI)
        emit_time(f, i->results[0], sreg);
    else
        emit_field(f, i->results[0], sreg);
}

/* ---- shfl -------------------------------------------------------------------------------------------------- */

/* PTX ISA, shfl.sync: the source lane, and whether it is in range, from the lane's number, b and c. */
static uint32_t source_lane(uint8_t mode, uint32_t lane, uint32_t b, uint32_t c, bool *in_range)
{
    uint32_t segment = c >> 8 & 31, clamp = c & 31, move = b & 31;
    uint32_t most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    int32_t source = mode == BL_KIR_SHFL_UP     ? (int32_t)lane - (int32_t)move
                     : mode == BL_KIR_SHFL_DOWN ? (int32_t)(lane + move)
                     : mode == BL_KIR_SHFL_BFLY ? (int32_t)(lane ^ move)
                                                : (int32_t)(least | (move & ~segment & 31));

    *in_range = mode == BL_KIR_SHFL_UP ? source >= (int32_t)most : source <= (int32_t)most;
    return *in_range ? (uint32_t)source : lane;
}

static bool constant_operand(struct bl_cg_func *f, const struct bl_kir_value *value, uint32_t *number)
{
    LLVMValueRef llvm;

    if (bl_cg_form(f, value) != BL_KIR_SHAPE_UNIFORM)
        return false;
    llvm = bl_cg_scalar(f, value);
    if (!LLVMIsAConstantInt(llvm))
        return false;
    *number = (uint32_t)LLVMConstIntGetZExtValue(llvm);
    return true;
}

static void shfl_constant(struct bl_cg_func *f, const struct bl_kir_instr *i, uint32_t b, uint32_t c)
{
    uint32_t sources[BL_WARP], good[BL_WARP];
    LLVMValueRef value = bl_cg_vector(f, i->operands[0]);

    for (uint32_t lane = 0; lane < BL_WARP; lane++) {
        bool in_range;
        sources[lane] = source_lane(i->attr->shfl, lane, b, c, &in_range);
        good[lane] = in_range;
    }
    value = LLVMBuildShuffleVector(f->cg->builder, value, LLVMGetUndef(LLVMTypeOf(value)),
                                   constant_lanes(f, int_type(f, 32), sources), "");
    bl_cg_define_vector(f, i->results[0], value);
    bl_cg_define_vector(f, i->results[1], constant_lanes(f, int_type(f, 1), good));
}

/* Element source[lane] of value for each lane, by way of memory. */
static LLVMValueRef permute(struct bl_cg_func *f, LLVMValueRef value, LLVMValueRef source)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMTypeOf(value), element = LLVMGetElementType(type);
    LLVMValueRef array = bl_cg_array(f, type, "lanes"), result = LLVMGetUndef(type);

    LLVMBuildStore(b, value, array);
    for (uint32_t lane = 0; lane < BL_WARP; lane++) {
        LLVMValueRef from = LLVMBuildExtractElement(b, source, number32(f, lane), "");
        LLVMValueRef one = LLVMBuildLoad2(b, element, bl_cg_element(f, element, array, from), "");
        result = LLVMBuildInsertElement(b, result, one, number32(f, lane), "");
    }
    return result;
}

/* <32 x i32> by two registers of 16: one instruction for each half of the answer. */
static LLVMValueRef permute_avx512(struct bl_cg_func *f, LLVMValueRef value, LLVMValueRef source)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef halves[2], indices[2], results[2], numbers[BL_WARP], mask, undef = LLVMGetUndef(LLVMTypeOf(value));

    for (uint32_t n = 0; n < BL_WARP; n++)
        numbers[n] = number32(f, n);
    for (uint32_t h = 0; h < 2; h++) {
        mask = LLVMConstVector(numbers + 16 * h, 16);
        halves[h] = LLVMBuildShuffleVector(b, value, undef, mask, "");
        indices[h] = LLVMBuildShuffleVector(b, source, undef, mask, "");
    }
    for (uint32_t h = 0; h < 2; h++) {
        LLVMValueRef arguments[3] = {halves[0], indices[h], halves[1]};
        results[h] = bl_cg_intrinsic(f->cg, "llvm.x86.avx512.vpermi2var.d.512", 0, NULL, 3, arguments);
    }
    return LLVMBuildShuffleVector(b, results[0], results[1], LLVMConstVector(numbers, BL_WARP), "");
}

static LLVMValueRef variable_source(struct bl_cg_func *f, const struct bl_kir_instr *i, LLVMValueRef *in_range)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef lane = lane_numbers(f), all = splat32(f, 31), move, c, segment, outside, most, source;
    uint8_t mode = i->attr->shfl;

    move = LLVMBuildAnd(b, bl_cg_vector(f, i->operands[1]), all, "");
    c = bl_cg_vector(f, i->operands[2]);
    segment = LLVMBuildAnd(b, LLVMBuildLShr(b, c, splat32(f, 8), ""), all, "");
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
    *in_range = LLVMBuildICmp(b, mode == BL_KIR_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, source, most, "");
    return LLVMBuildSelect(b, *in_range, source, lane, "");
}

static void emit_shfl(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef value, source, in_range;
    uint32_t b, c;

    if (constant_operand(f, i->operands[1], &b) && constant_operand(f, i->operands[2], &c)) {
        shfl_constant(f, i, b, c);
        return;
    }
    value = bl_cg_vector(f, i->operands[0]);
    source = variable_source(f, i, &in_range);
    source = LLVMBuildAnd(f->cg->builder, source, splat32(f, 31), "");
    value = f->cg->features.avx512 ? permute_avx512(f, value, source) : permute(f, value, source);
    bl_cg_define_vector(f, i->results[0], value);
    bl_cg_define_vector(f, i->results[1], in_range);
}

/* ---- vote, match, redux, elect -------------------------------------------------------------------------------- */

static LLVMValueRef true_bits(struct bl_cg_func *f, const struct bl_kir_value *pred)
{
    LLVMValueRef holds = bl_cg_vector(f, pred);
    holds = LLVMBuildSelect(f->cg->builder, f->at->mask, holds, LLVMConstNull(LLVMTypeOf(holds)), "");
    return bl_cg_mask_bits(f, holds);
}

static void emit_vote(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    struct either e;
    LLVMValueRef members = member_mask(f, i->operands[1], &e), yes, here, all, none, popc, result;
    LLVMTypeRef type;

    if (f->at->region && f->at->joins) { /* lanes may have met here from several places */
        yes = bl_cg_mask_bits(f, LLVMBuildLoad2(b, LLVMTypeOf(f->at->mask), f->frozen_pred, ""));
        here = bl_cg_mask_bits(f, LLVMBuildLoad2(b, LLVMTypeOf(f->at->mask), f->frozen_lanes, ""));
        yes = LLVMBuildAnd(b, yes, here, "");
    } else {
        yes = true_bits(f, i->operands[0]);
        here = active_bits(f);
    }
    yes = LLVMBuildAnd(b, in_width(&e, yes), members, "");
    here = LLVMBuildAnd(b, in_width(&e, here), members, "");
    all = LLVMBuildICmp(b, LLVMIntEQ, yes, here, "");
    none = LLVMBuildICmp(b, LLVMIntEQ, yes, LLVMConstNull(LLVMTypeOf(yes)), "");
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
        type = LLVMTypeOf(yes);
        popc = yes;
        result = bl_cg_intrinsic(f->cg, "llvm.ctpop", 1, &type, 1, &popc);
        break;
    default:
        result = yes;
        break;
    }
    define_either(&e, i->results[0], result);
}

/* A loop over groups of lanes that agree on something. Between begin and end, `leader` is the lowest lane that is left; end
 * takes its group (i32), which must hold it. */
struct groups {
    LLVMBasicBlockRef head, after;
    LLVMValueRef left, leader;
};

static void groups_begin(struct bl_cg_func *f, struct groups *g)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef all = active_bits(f);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);

    g->head = bl_cg_block(f, "group");
    g->after = bl_cg_block(f, "groups.done");
    LLVMBuildBr(b, g->head);
    LLVMPositionBuilderAtEnd(b, g->head);
    g->left = LLVMBuildPhi(b, int_type(f, 32), "");
    LLVMAddIncoming(g->left, &all, &before, 1);
    g->leader = bl_cg_first_lane(f, g->left);
}

static void groups_end(struct bl_cg_func *f, struct groups *g, LLVMValueRef group)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMValueRef left = LLVMBuildAnd(b, g->left, LLVMBuildNot(b, group, ""), "");

    LLVMAddIncoming(g->left, &left, &here, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, left, number32(f, 0), ""), g->head, g->after);
    LLVMPositionBuilderAtEnd(b, g->after);
}

/* For the lanes of group: slot = value. */
static void set_group(struct bl_cg_func *f, LLVMValueRef slot, LLVMValueRef group, LLVMValueRef scalar)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef value = bl_cg_splat(f->cg, scalar), old = LLVMBuildLoad2(b, LLVMTypeOf(value), slot, "");
    LLVMBuildStore(b, LLVMBuildSelect(b, bl_cg_mask_of(f, group), value, old, ""), slot);
}

/* For each lane: the running lanes whose value is the same. */
static LLVMValueRef equal_lanes(struct bl_cg_func *f, const struct bl_kir_value *operand)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef type = LLVMVectorType(int_type(f, 32), BL_WARP);
    LLVMValueRef slot = bl_cg_slot(f, type, "equal"), value = bl_cg_vector(f, operand), one, same;
    struct groups g;

    groups_begin(f, &g);
    one = bl_cg_splat(f->cg, LLVMBuildExtractElement(b, value, g.leader, ""));
    same = LLVMBuildAnd(b, bl_cg_mask_bits(f, LLVMBuildICmp(b, LLVMIntEQ, value, one, "")), active_bits(f), "");
    set_group(f, slot, same, same);
    groups_end(f, &g, same);
    return LLVMBuildLoad2(b, type, slot, "");
}

static void emit_match(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMValueRef members = bl_cg_vector(f, i->operands[1]), same, here, all;

    same = LLVMBuildAnd(b, equal_lanes(f, i->operands[0]), members, "");
    if (i->op == BL_KIR_OP_match_any) {
        bl_cg_define_vector(f, i->results[0], same);
        return;
    }
    here = LLVMBuildAnd(b, bl_cg_splat(f->cg, active_bits(f)), members, "");
    all = LLVMBuildICmp(b, LLVMIntEQ, same, here, "");
    bl_cg_define_vector(f, i->results[0], LLVMBuildSelect(b, all, same, LLVMConstNull(LLVMTypeOf(same)), ""));
    bl_cg_define_vector(f, i->results[1], all);
}

static const char *reduction_name(uint8_t atom, uint32_t *neutral)
{
    switch (atom) {
    case BL_KIR_ATOM_ADD:
        *neutral = 0;
        return "llvm.vector.reduce.add";
    case BL_KIR_ATOM_MIN_S:
        *neutral = INT32_MAX;
        return "llvm.vector.reduce.smin";
    case BL_KIR_ATOM_MAX_S:
        *neutral = 0x80000000u;
        return "llvm.vector.reduce.smax";
    case BL_KIR_ATOM_MIN_U:
        *neutral = UINT32_MAX;
        return "llvm.vector.reduce.umin";
    case BL_KIR_ATOM_MAX_U:
        *neutral = 0;
        return "llvm.vector.reduce.umax";
    case BL_KIR_ATOM_AND:
        *neutral = UINT32_MAX;
        return "llvm.vector.reduce.and";
    case BL_KIR_ATOM_OR:
        *neutral = 0;
        return "llvm.vector.reduce.or";
    case BL_KIR_ATOM_XOR:
        *neutral = 0;
        return "llvm.vector.reduce.xor";
    default:
        return NULL;
    }
}

static LLVMValueRef reduce_group(struct bl_cg_func *f, const char *name, uint32_t neutral, LLVMValueRef value, LLVMValueRef group)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    value = LLVMBuildSelect(f->cg->builder, bl_cg_mask_of(f, group), value, splat32(f, neutral), "");
    return bl_cg_intrinsic(f->cg, name, 1, &type, 1, &value);
}

static bool emit_redux(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    uint32_t neutral = 0;
    const char *name = i->operands[0]->type == BL_KIR_I32 ? reduction_name(i->attr->atom, &neutral) : NULL;
    struct either e;
    struct groups g;
    LLVMValueRef members, value, slot, group;

    if (!name)
        return false;
    members = member_mask(f, i->operands[1], &e);
    value = bl_cg_vector(f, i->operands[0]);
    if (!e.vector) {
        group = LLVMBuildAnd(b, members, active_bits(f), "");
        bl_cg_define_scalar(f, i->results[0], reduce_group(f, name, neutral, value, group));
        return true;
    }
    slot = bl_cg_slot(f, LLVMTypeOf(value), "reduced");
    groups_begin(f, &g);
    group = LLVMBuildExtractElement(b, members, g.leader, "");
    group = LLVMBuildOr(b, group, LLVMBuildShl(b, number32(f, 1), g.leader, ""), "");
    group = LLVMBuildAnd(b, group, active_bits(f), "");
    set_group(f, slot, group, reduce_group(f, name, neutral, value, group));
    groups_end(f, &g, group);
    bl_cg_define_vector(f, i->results[0], LLVMBuildLoad2(b, LLVMTypeOf(value), slot, ""));
    return true;
}

static void emit_elect(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    struct either e;
    LLVMValueRef members = member_mask(f, i->operands[0], &e), arguments[2], leader;
    LLVMTypeRef type = LLVMTypeOf(members);

    arguments[0] = LLVMBuildAnd(b, in_width(&e, active_bits(f)), members, "");
    arguments[1] = LLVMConstInt(int_type(f, 1), 0, false);
    leader = bl_cg_intrinsic(f->cg, "llvm.cttz", 1, &type, 2, arguments);
    define_either(&e, i->results[0], leader);
    leader = e.vector ? leader : bl_cg_splat(f->cg, leader);
    bl_cg_define_vector(f, i->results[1], LLVMBuildICmp(b, LLVMIntEQ, leader, lane_numbers(f), ""));
}

/* ---- barriers and pauses ------------------------------------------------------------------------------------------ */

static LLVMValueRef barrier_count(struct bl_cg_func *f, const struct bl_kir_instr *i, uint32_t n)
{
    return n < i->operand_count ? bl_cg_scalar(f, i->operands[n]) : number32(f, 0);
}

static void emit_barrier(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef arguments[3] = {active_bits(f), bl_cg_scalar(f, i->operands[0]), barrier_count(f, i, 1)};
    LLVMTypeRef none = LLVMVoidTypeInContext(f->cg->context);

    f->unit->info->flags |= BL_CPU_BARRIER;
    if (f->unit->info->flags & BL_CPU_ROUNDS)
        bl_cg_suspend(f, NULL);
    else if (i->attr->arrive)
        BL_CG_HELPER(f, barrier_arrive, none, 3, arguments);
    else if (f->coroutine)
        bl_cg_suspend(f, BL_CG_HELPER(f, barrier_begin, int_type(f, 1), 3, arguments));
    else
        BL_CG_HELPER(f, barrier, none, 3, arguments);
}

static void emit_barrier_red(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = int_type(f, 32);
    LLVMValueRef participants = bl_cg_slot(f, i32, "participants"), count;
    LLVMValueRef arguments[5] = {active_bits(f), bl_cg_scalar(f, i->operands[1]), barrier_count(f, i, 2),
                                 true_bits(f, i->operands[0]), participants};

    f->unit->info->flags |= BL_CPU_BARRIER;
    if (f->coroutine) {
        bl_cg_suspend(f, BL_CG_HELPER(f, barrier_red_begin, int_type(f, 1), 4, arguments));
        count = BL_CG_HELPER(f, barrier_red_end, i32, 1, &participants);
    } else {
        count = BL_CG_HELPER(f, barrier_red, i32, 5, arguments);
    }
    if (i->attr->vote == BL_KIR_VOTE_ALL)
        count = LLVMBuildICmp(b, LLVMIntEQ, count, LLVMBuildLoad2(b, i32, participants, ""), "");
    else if (i->attr->vote == BL_KIR_VOTE_ANY)
        count = LLVMBuildICmp(b, LLVMIntNE, count, number32(f, 0), "");
    bl_cg_define_scalar(f, i->results[0], count);
}

static bool ends(const struct bl_cg_func *f, const struct bl_cg_segment *s)
{
    for (uint32_t steps = 0; steps < 8 && s->first->op == BL_KIR_OP_jump; steps++)
        s = s->succs[0];
    return s->first->op == BL_KIR_OP_exit || (s->first->op == BL_KIR_OP_ret && f->func->is_kernel);
}

/* Lanes that wait where they will end: ends of lanes stand behind all else, so that these have not done so. Where lanes meet after
 * the region only to end, all are such that are not here and wait nowhere else. */
static LLVMValueRef ending_lanes(struct bl_cg_func *f)
{
    LLVMBuilderRef b = f->cg->builder;
    const struct bl_cg_region *region = f->at->region;
    LLVMTypeRef type = LLVMTypeOf(f->at->mask);
    LLVMValueRef ending = LLVMConstNull(type), others = f->at->mask, waiting;
    bool all = region && f->func->is_kernel && (!region->exit || ends(f, region->exit));

    for (uint32_t n = 0; region && n < region->segments.count; n++) {
        const struct bl_cg_segment *s = region->segments.items[n];
        waiting = LLVMBuildLoad2(b, type, s->pending, "");
        if (ends(f, s))
            ending = LLVMBuildOr(b, ending, waiting, "");
        else
            others = LLVMBuildOr(b, others, waiting, "");
    }
    return bl_cg_mask_bits(f, all ? LLVMBuildNot(b, others, "") : ending);
}

static void emit_cluster_barrier(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMValueRef arguments[2] = {active_bits(f), ending_lanes(f)};
    LLVMTypeRef none = LLVMVoidTypeInContext(f->cg->context);

    if (i->attr->arrive)
        BL_CG_HELPER(f, cluster_arrive, none, 2, arguments);
    else
        BL_CG_HELPER(f, cluster_wait, none, 2, arguments);
}

/* The place in the own memory, and how far the other CTA's lies behind it. */
static void emit_map_rank(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    bool vector = bl_cg_form(f, i->operands[0]) != BL_KIR_SHAPE_UNIFORM || bl_cg_form(f, i->operands[1]) != BL_KIR_SHAPE_UNIFORM;
    LLVMValueRef at, rank, own = BL_CG_FIELD(f, cluster_ctarank, int_type(f, 32));
    LLVMValueRef inside = number32(f, (1 << BL_KIR_CLUSTER_SHIFT) - 1), most = number32(f, BL_KIR_CLUSTER_CTAS - 1);
    LLVMValueRef shift = number32(f, BL_KIR_CLUSTER_SHIFT);

    at = vector ? bl_cg_vector(f, i->operands[0]) : bl_cg_scalar(f, i->operands[0]);
    rank = vector ? bl_cg_vector(f, i->operands[1]) : bl_cg_scalar(f, i->operands[1]);
    if (vector) {
        own = bl_cg_splat(f->cg, own);
        inside = bl_cg_splat(f->cg, inside);
        most = bl_cg_splat(f->cg, most);
        shift = bl_cg_splat(f->cg, shift);
    }
    rank = LLVMBuildSub(b, LLVMBuildAnd(b, rank, most, ""), own, "");
    at = LLVMBuildAdd(b, LLVMBuildAnd(b, at, inside, ""), LLVMBuildShl(b, rank, shift, ""), "");
    bl_cg_define(f, i->results[0], vector ? BL_KIR_SHAPE_VARYING : BL_KIR_SHAPE_UNIFORM, 0, at);
}

static void emit_nanosleep(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMTypeRef type = LLVMVectorType(int_type(f, 32), BL_WARP);
    LLVMValueRef time = bl_cg_vector(f, i->operands[0]);

    time = LLVMBuildSelect(f->cg->builder, f->at->mask, time, LLVMConstNull(type), "");
    time = bl_cg_intrinsic(f->cg, "llvm.vector.reduce.umax", 1, &type, 1, &time);
    BL_CG_HELPER(f, yield, LLVMVoidTypeInContext(f->cg->context), 1, &time);
    f->unit->info->flags |= BL_CPU_YIELDS;
}

static void emit_breakpoint(struct bl_cg_func *f)
{
    bl_cg_fault(f, active_bits(f), BL_FAULT_TRAP, NULL);
    LLVMPositionBuilderAtEnd(f->cg->builder, bl_cg_block(f, "after.breakpoint"));
}

bool bl_cg_warp(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    switch (i->op) {
    case BL_KIR_OP_sreg:
        emit_sreg(f, i);
        return true;
    case BL_KIR_OP_shfl:
        emit_shfl(f, i);
        return true;
    case BL_KIR_OP_vote:
        emit_vote(f, i);
        return true;
    case BL_KIR_OP_match_any:
    case BL_KIR_OP_match_all:
        emit_match(f, i);
        return true;
    case BL_KIR_OP_activemask:
        bl_cg_define_scalar(f, i->results[0], active_bits(f));
        return true;
    case BL_KIR_OP_redux:
        return emit_redux(f, i);
    case BL_KIR_OP_elect:
        emit_elect(f, i);
        return true;
    case BL_KIR_OP_matrix:
        return bl_cg_matrix(f, i);
    case BL_KIR_OP_warpsync: /* the lanes are together; their memory accesses must not move across */
        LLVMBuildFence(f->cg->builder, LLVMAtomicOrderingSequentiallyConsistent, true, "");
        return true;
    case BL_KIR_OP_barrier:
        emit_barrier(f, i);
        return true;
    case BL_KIR_OP_barrier_red:
        emit_barrier_red(f, i);
        return true;
    case BL_KIR_OP_cluster_barrier:
        emit_cluster_barrier(f, i);
        return true;
    case BL_KIR_OP_map_rank:
        emit_map_rank(f, i);
        return true;
    case BL_KIR_OP_nanosleep:
        emit_nanosleep(f, i);
        return true;
    case BL_KIR_OP_grid_dependency: /* launches run in order */
        return true;
    case BL_KIR_OP_breakpoint:
        emit_breakpoint(f);
        return true;
    default:
        return false;
    }
}
