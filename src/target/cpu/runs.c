/* Rows of 16 or 8 threads in a warp: which values run by a stride inside each row's piece, though they don't over the warp. A load
 * or store by such addresses is a few vector accesses (cg_memory.c). Needs divergence, loops, dominators; gives run and run_stride.
 *
 * What is claimed: in lanes that run the op together, in each group of f->run lanes, the value is that of the group's lane 0 plus
 * lane times stride, but for wraps of narrower integers that it was widened from. So who uses it compares the group's ends when it
 * runs, with all lanes running: ends that fit leave no room for a wrap between them, for strides are small.
 */
#include "target/cpu/function.h"

/* No stride known; nothing known yet. */
#define NONE BL_CG_NO_RUN
#define UNSEEN (INT64_MIN + 1)

enum { LARGEST_STRIDE = 1 << 20 };

static bool is_unknown(int64_t stride)
{
    return stride == NONE || stride == UNSEEN;
}

/* Lanes that left a loop in different rounds keep values of different rounds. */
static bool left_apart(const struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_kir_block *user)
{
    const struct bl_kir_loop *loop = value->def ? f->loops->of_block[value->def->block->id] : NULL;

    for (; loop; loop = loop->parent) {
        const struct bl_kir_loop *around = f->loops->of_block[user->id];
        while (around && around != loop)
            around = around->parent;
        if (!around && f->divergence->divergent_loop[loop->index])
            return true;
    }
    return false;
}

static int64_t of_operand(const struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_kir_block *user)
{
    if (left_apart(f, value, user))
        return NONE;
    switch (f->divergence->shape[value->id]) {
    case BL_KIR_SHAPE_UNIFORM:
        return 0;
    case BL_KIR_SHAPE_AFFINE:
        return f->divergence->stride[value->id];
    default:
        return f->run_stride[value->id];
    }
}

static bool constant(const struct bl_kir_value *value, int64_t *number)
{
    if (!value->def || value->def->op != BL_KIR_OP_const)
        return false;
    *number = (int64_t)value->def->attr->imm;
    if (bl_kir_type_bits(value->type) == 32)
        *number = (int32_t)*number;
    return true;
}

static int64_t in_range(int64_t stride)
{
    return stride > LARGEST_STRIDE || stride < -LARGEST_STRIDE ? NONE : stride;
}

static int64_t product(int64_t stride, const struct bl_kir_value *by)
{
    int64_t number;
    return constant(by, &number) && in_range(number) != NONE && in_range(stride) != NONE ? in_range(stride * number) : NONE;
}

static int64_t of_sreg(const struct bl_kir_instr *i)
{
    switch (i->attr->sreg) {
    case BL_KIR_SREG_TID_X:
        return 1;
    case BL_KIR_SREG_TID_Y:
    case BL_KIR_SREG_TID_Z:
        return 0;
    default:
        return NONE;
    }
}

/* Lanes of a group come over one edge, or it is not said; see bl_kir_divergence. */
static int64_t of_phi(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    int64_t all = UNSEEN;

    if (f->divergence->divergent_join[i->block->id])
        return NONE;
    for (uint32_t o = 0; o < i->operand_count; o++) {
        int64_t stride = of_operand(f, i->operands[o], i->block->preds.items[o]);
        if (stride == UNSEEN)
            continue;
        if (stride == NONE || (all != UNSEEN && all != stride))
            return NONE;
        all = stride;
    }
    return all;
}

/* The same word for all lanes of a group, which nobody changes meanwhile. */
static bool is_plain_load(const struct bl_kir_instr *i)
{
    uint8_t space = i->attr->space;
    return i->op == BL_KIR_OP_load && i->attr->order == BL_KIR_WEAK &&
           (space == BL_KIR_GLOBAL || space == BL_KIR_SHARED || space == BL_KIR_CONST || space == BL_KIR_PARAM);
}

static bool only_computes(const struct bl_kir_instr *i)
{
    uint32_t others = BL_KIR_READ | BL_KIR_WRITE | BL_KIR_EFFECT | BL_KIR_CONVERGENT | BL_KIR_TERM | BL_KIR_VARYING;
    return !(bl_kir_ops[i->op].flags & others);
}

static int64_t of_equals(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    for (uint32_t o = 0; o < i->operand_count; o++) {
        int64_t stride = of_operand(f, i->operands[o], i->block);
        if (stride != 0)
            return stride == UNSEEN ? UNSEEN : NONE;
    }
    return 0;
}

/* Ops that carry strides on, of operands that are known. */
static int64_t of_strides(const struct bl_cg_func *f, const struct bl_kir_instr *i, int64_t x, int64_t y)
{
    switch (i->op) {
    case BL_KIR_OP_add:
        return in_range(x + y);
    case BL_KIR_OP_sub:
        return in_range(x - y);
    case BL_KIR_OP_mul:
        return y == 0 && product(x, i->operands[1]) != NONE ? product(x, i->operands[1])
               : x == 0                                     ? product(y, i->operands[0])
                                                            : NONE;
    case BL_KIR_OP_shl: {
        int64_t number;
        return constant(i->operands[1], &number) && number >= 0 && number < 20 ? in_range(x * (INT64_C(1) << number)) : NONE;
    }
    case BL_KIR_OP_sext:
    case BL_KIR_OP_zext:
    case BL_KIR_OP_trunc:
    case BL_KIR_OP_to_generic:
    case BL_KIR_OP_from_generic:
        return bl_kir_type_bits(i->operands[0]->type) >= 32 ? x : NONE;
    case BL_KIR_OP_select:
        return x == 0 && y == of_operand(f, i->operands[2], i->block) ? y : NONE;
    default:
        return NONE;
    }
}

static int64_t of_result(const struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    int64_t x, y = 0, equal;

    if (i->op == BL_KIR_OP_sreg)
        return of_sreg(i);
    if (i->op == BL_KIR_OP_phi)
        return of_phi(f, i);
    if (!i->operand_count || (!only_computes(i) && !is_plain_load(i)))
        return NONE;
    equal = of_equals(f, i);
    if (equal != NONE || i->op == BL_KIR_OP_load)
        return equal;
    x = of_operand(f, i->operands[0], i->block);
    if (i->operand_count > 1)
        y = of_operand(f, i->operands[1], i->block);
    if (x == UNSEEN || y == UNSEEN)
        return UNSEEN;
    if (is_unknown(x) || is_unknown(y) || in_range(x) == NONE || in_range(y) == NONE)
        return NONE;
    return of_strides(f, i, x, y);
}

/* A stride once found is kept, or lost for good. */
static bool update(struct bl_cg_func *f, const struct bl_kir_instr *i, const struct bl_kir_value *result)
{
    int64_t *at = &f->run_stride[result->id], stride;

    if (*at == NONE || f->divergence->shape[result->id] != BL_KIR_SHAPE_VARYING)
        return false;
    stride = of_result(f, i);
    if (stride == *at || stride == UNSEEN)
        return false;
    *at = *at == UNSEEN ? stride : NONE;
    return true;
}

void bl_cg_find_runs(struct bl_cg_func *f)
{
    uint32_t shape = f->unit->request->cta_shape;
    bool changed = true;

    if (shape != BL_CPU_CTA_RUNS_16 && shape != BL_CPU_CTA_RUNS_8)
        return;
    for (uint32_t l = 0; l < f->loops->loops.count; l++)
        if (f->loops->loops.items[l]->spins) /* lanes come in several goes */
            return;
    f->run = shape == BL_CPU_CTA_RUNS_16 ? 16 : 8;
    f->run_stride = BL_NEW_ARRAY(f->cg->arena, int64_t, f->func->value_count + 1u);
    for (uint32_t v = 0; v < f->func->value_count; v++)
        f->run_stride[v] = UNSEEN;
    for (uint32_t p = 0; p < f->func->params.count; p++)
        f->run_stride[f->func->params.items[p]->id] = NONE;
    while (changed) {
        changed = false;
        for (uint32_t r = 0; r < f->dom->reachable_count; r++) {
            const struct bl_kir_block *block = f->func->blocks.items[f->dom->rpo[r]];
            for (const struct bl_kir_instr *i = block->first; i; i = i->next)
                for (uint32_t n = 0; n < i->result_count; n++)
                    changed |= update(f, i, i->results[n]);
        }
    }
}

int64_t bl_cg_run_stride(const struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_kir_block *user)
{
    int64_t stride = f->run ? of_operand(f, value, user) : NONE;
    return is_unknown(stride) ? NONE : stride;
}
