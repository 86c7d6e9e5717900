/* What lanes and threads do together: shfl, vote, match, redux, elect, barriers, and the pauses. The forms without .sync
 * (before Volta) act on the lanes that are there. */
#include "lower/internal.h"

/* Operand n, or, where the instruction has no member mask, the lanes that run it. */
static struct bl_kir_value *member_mask(struct bl_lower *l, const struct bl_ptx_instr *i, uint32_t n)
{
    if (HAS(sync) && n < i->operand_count)
        return bl_lower_read32(l, &i->operands[n]);
    return bl_lower_op(l, BL_KIR_OP_activemask, NULL, BL_KIR_I32, NULL, NULL, NULL);
}

static const struct bl_ptx_operand *half(const struct bl_ptx_operand *operand, uint32_t n)
{
    static const struct bl_ptx_operand none = {.kind = BL_PTX_SINK};
    if (operand->kind == BL_PTX_PAIR && n < operand->item_count)
        return &operand->items[n];
    return n == 0 ? operand : &none;
}

bool bl_lower_shfl(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    static const enum bl_kir_type types[2] = {BL_KIR_I32, BL_KIR_PRED};
    struct bl_kir_attr attr = {.shfl = HAS(up)     ? BL_KIR_SHFL_UP
                                       : HAS(down) ? BL_KIR_SHFL_DOWN
                                       : HAS(bfly) ? BL_KIR_SHFL_BFLY
                                                   : BL_KIR_SHFL_IDX};
    struct bl_kir_value *operands[4];
    struct bl_kir_instr *shfl;

    for (uint32_t o = 0; o < 3; o++)
        operands[o] = bl_lower_read32(l, &i->operands[1 + o]);
    operands[3] = member_mask(l, i, 4);
    shfl = bl_kir_emit(&l->b, BL_KIR_OP_shfl, &attr, 2, types, 4, operands);
    bl_lower_write(l, half(&i->operands[0], 0), shfl->results[0], false);
    bl_lower_write(l, half(&i->operands[0], 1), shfl->results[1], false);
    return true;
}

bool bl_lower_vote(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.vote = HAS(all)   ? BL_KIR_VOTE_ALL
                                       : HAS(any) ? BL_KIR_VOTE_ANY
                                       : HAS(uni) ? BL_KIR_VOTE_UNI
                                                  : BL_KIR_VOTE_BALLOT};
    struct bl_kir_value *pred = bl_lower_read(l, &i->operands[1], BL_KIR_PRED);
    struct bl_kir_value *mask = member_mask(l, i, 2);
    enum bl_kir_type type = attr.vote == BL_KIR_VOTE_BALLOT ? BL_KIR_I32 : BL_KIR_PRED;

    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_vote, &attr, type, pred, mask, NULL), false);
    return true;
}

bool bl_lower_match(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    static const enum bl_kir_type types[2] = {BL_KIR_I32, BL_KIR_PRED};
    struct bl_kir_value *operands[2];
    struct bl_kir_instr *match;

    operands[0] = bl_lower_read(l, &i->operands[1], bl_lower_type(i->types[0]));
    operands[1] = member_mask(l, i, 2);
    if (HAS(any)) {
        match = bl_kir_emit(&l->b, BL_KIR_OP_match_any, NULL, 1, types, 2, operands);
    } else {
        match = bl_kir_emit(&l->b, BL_KIR_OP_match_all, NULL, 2, types, 2, operands);
        bl_lower_write(l, half(&i->operands[0], 1), match->results[1], false);
    }
    bl_lower_write(l, half(&i->operands[0], 0), match->results[0], false);
    return true;
}

bool bl_lower_activemask(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *mask = bl_lower_op(l, BL_KIR_OP_activemask, NULL, BL_KIR_I32, NULL, NULL, NULL);
    bl_lower_write(l, &i->operands[0], mask, false);
    return true;
}

bool bl_lower_redux(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool sign = bl_lower_is_signed(i->types[0]);
    struct bl_kir_attr attr = {.atom = HAS(add)   ? BL_KIR_ATOM_ADD
                                       : HAS(min) ? (sign ? BL_KIR_ATOM_MIN_S : BL_KIR_ATOM_MIN_U)
                                       : HAS(max) ? (sign ? BL_KIR_ATOM_MAX_S : BL_KIR_ATOM_MAX_U)
                                       : HAS(and) ? BL_KIR_ATOM_AND
                                       : HAS(or)  ? BL_KIR_ATOM_OR
                                                  : BL_KIR_ATOM_XOR};
    struct bl_kir_value *value = bl_lower_read32(l, &i->operands[1]), *mask = member_mask(l, i, 2);

    if (bl_lower_is_float(i->types[0]))
        return false;
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_redux, &attr, BL_KIR_I32, value, mask, NULL), false);
    return true;
}

bool bl_lower_elect(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    static const enum bl_kir_type types[2] = {BL_KIR_I32, BL_KIR_PRED};
    struct bl_kir_value *mask = member_mask(l, i, 1);
    struct bl_kir_instr *elect = bl_kir_emit(&l->b, BL_KIR_OP_elect, NULL, 2, types, 1, &mask);

    bl_lower_write(l, half(&i->operands[0], 0), elect->results[0], false);
    bl_lower_write(l, half(&i->operands[0], 1), elect->results[1], false);
    return true;
}

/* ---- barriers ----------------------------------------------------------------------------------- */

/* bar.red.OP d, id{, count}, {!}p */
static bool barrier_red(struct bl_lower *l, const struct bl_ptx_instr *i, struct bl_kir_attr *attr)
{
    uint32_t last = i->operand_count - 1;
    struct bl_kir_value *pred, *id, *count = NULL;
    enum bl_kir_type type;

    if (i->operand_count != 3 && i->operand_count != 4)
        return false;
    attr->vote = HAS(popc) ? BL_KIR_VOTE_POPC : HAS(and) ? BL_KIR_VOTE_ALL : BL_KIR_VOTE_ANY;
    type = HAS(popc) ? BL_KIR_I32 : BL_KIR_PRED;
    pred = bl_lower_read(l, &i->operands[last], BL_KIR_PRED);
    id = bl_lower_read32(l, &i->operands[1]);
    if (i->operand_count == 4)
        count = bl_lower_read32(l, &i->operands[2]);
    bl_lower_write(l, &i->operands[0], bl_lower_op(l, BL_KIR_OP_barrier_red, attr, type, pred, id, count), false);
    return true;
}

/* bar and barrier. `bar` is `barrier.aligned`; bar.warp.sync is another thing. */
bool bl_lower_bar(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_attr attr = {.aligned = i->op == BL_PTX_OP_bar || HAS(aligned), .arrive = HAS(arrive)};
    struct bl_kir_value *operands[2];

    if (HAS(cluster)) { /* its order holds anyway: the helper is a call, and the threads of a cluster take turns */
        bl_kir_emit(&l->b, BL_KIR_OP_cluster_barrier, &attr, 0, NULL, 0, NULL);
        return true;
    }
    if (i->operand_count < 1)
        return false;
    if (HAS(red))
        return barrier_red(l, i, &attr);
    for (uint32_t o = 0; o < 2 && o < i->operand_count; o++)
        operands[o] = bl_lower_read32(l, &i->operands[o]);
    if (HAS(warp))
        bl_kir_emit(&l->b, BL_KIR_OP_warpsync, NULL, 0, NULL, 1, operands);
    else
        bl_kir_emit(&l->b, BL_KIR_OP_barrier, &attr, 0, NULL, BL_MIN(i->operand_count, 2u), operands);
    return true;
}

bool bl_lower_nanosleep(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_kir_value *time = bl_lower_read32(l, &i->operands[0]);
    bl_kir_emit(&l->b, BL_KIR_OP_nanosleep, NULL, 0, NULL, 1, &time);
    return true;
}

bool bl_lower_griddepcontrol(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bl_kir_emit(&l->b, BL_KIR_OP_grid_dependency, NULL, 0, NULL, 0, NULL);
    return true;
}
