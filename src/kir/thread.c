/* Edges through blocks that hold nothing but a jump: they lead to where the jump goes. Front ends leave such a block at the exit of
 * a loop; with it, what the loop gives is used outside by something that is no phi at the exit, and counts as different in all
 * lanes. Only blocks with one way to them: others are where lanes come together.
 *
 * Needs nothing; keeps SSA form; gives dense block ids and preds.
 */
#include "kir/kir.h"

/* The edges of a block as they were. */
struct edges {
    struct bl_kir_block **targets; /* of its end */
    struct bl_kir_block **preds;
    struct bl_kir_value ***operands; /* by phi */
};

static bool is_jump(const struct bl_kir_block *block)
{
    return block->first == block->last && block->last->op == BL_KIR_OP_jump;
}

/* Both ways of a branch may come to the same place: one of them keeps its block. */
static bool has_other_way(const struct bl_kir_block *from, const struct bl_kir_block *block)
{
    const struct bl_kir_block *to = block->last->targets[0];

    for (uint32_t k = 0; k < from->last->target_count; k++) {
        const struct bl_kir_block *other = from->last->targets[k];
        if (other == to || (other->id < block->id && is_jump(other) && other->last->targets[0] == to))
            return true;
    }
    return false;
}

static bool is_passage(const struct bl_kir_func *func, const struct bl_kir_block *block)
{
    return block != func->blocks.items[0] && is_jump(block) && block->preds.count == 1 && block->preds.items[0] != block &&
           block->last->targets[0] != block && !has_other_way(block->preds.items[0], block);
}

/* Where control comes out that goes into the block; *last: the last passage on the way, or NULL. A ring of passages has no way in.
 */
static struct bl_kir_block *way_out(struct bl_kir_block *block, const bool *passage, struct bl_kir_block **last)
{
    *last = NULL;
    while (passage[block->id]) {
        *last = block;
        block = block->last->targets[0];
    }
    return block;
}

/* The place that edge number k of a block had among its old target's predecessors. */
static uint32_t old_place(const struct edges *edges, const struct bl_kir_block *from, uint32_t k)
{
    const struct bl_kir_block *target = edges[from->id].targets[k];
    uint32_t before = 0, place = 0;

    for (uint32_t n = 0; n < k; n++)
        before += edges[from->id].targets[n] == target;
    while (edges[target->id].preds[place] != from || before-- > 0)
        place++;
    return place;
}

/* Edge number k of a block now enters its target in place `place`. */
static void move_operands(const struct edges *edges, const struct bl_kir_block *from, uint32_t k, const bool *passage,
                          uint32_t place)
{
    struct bl_kir_block *last, *target = way_out(edges[from->id].targets[k], passage, &last);
    uint32_t old = last ? old_place(edges, last, 0) : old_place(edges, from, k), phi = 0;

    for (struct bl_kir_instr *i = target->first; i && i->op == BL_KIR_OP_phi; i = i->next)
        i->operands[place] = edges[target->id].operands[phi++][old];
}

static void note_edges(struct bl_arena *arena, const struct bl_kir_block *block, struct edges *edges)
{
    uint32_t phis = 0;

    edges->targets = bl_arena_copy(arena, block->last->targets, block->last->target_count * sizeof(*block->last->targets));
    edges->preds = bl_arena_copy(arena, block->preds.items, block->preds.count * sizeof(*block->preds.items));
    for (struct bl_kir_instr *i = block->first; i->op == BL_KIR_OP_phi; i = i->next)
        phis++;
    edges->operands = BL_NEW_ARRAY(arena, struct bl_kir_value **, phis + 1u);
    phis = 0;
    for (struct bl_kir_instr *i = block->first; i->op == BL_KIR_OP_phi; i = i->next)
        edges->operands[phis++] = bl_arena_copy(arena, i->operands, i->operand_count * sizeof(*i->operands));
}

static void redirect(struct bl_kir_func *func, const bool *passage)
{
    uint32_t kept = 0;

    for (uint32_t b = 0; b < func->blocks.count; b++) {
        struct bl_kir_block *block = func->blocks.items[b], *last;
        if (passage[b])
            continue;
        for (uint32_t k = 0; k < block->last->target_count; k++)
            block->last->targets[k] = way_out(block->last->targets[k], passage, &last);
    }
    for (uint32_t b = 0; b < func->blocks.count; b++)
        if (!passage[b])
            func->blocks.items[kept++] = func->blocks.items[b];
    func->blocks.count = kept;
}

void bl_kir_thread_jumps(struct bl_kir_func *func)
{
    struct bl_arena *arena = func->module->arena;
    struct edges *edges;
    bool *passage, any = false;
    uint32_t *filled;

    if (func->is_declaration || !func->blocks.count)
        return;
    bl_kir_renumber(func);
    passage = BL_NEW_ARRAY(arena, bool, func->blocks.count);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        any |= passage[b] = is_passage(func, func->blocks.items[b]);
    if (!any)
        return;
    edges = BL_NEW_ARRAY(arena, struct edges, func->blocks.count);
    filled = BL_NEW_ARRAY(arena, uint32_t, func->blocks.count);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        note_edges(arena, func->blocks.items[b], &edges[b]);
    redirect(func, passage);
    for (uint32_t b = 0; b < func->blocks.count; b++) { /* in the order of bl_kir_update_preds */
        struct bl_kir_block *block = func->blocks.items[b];
        for (uint32_t k = 0; k < block->last->target_count; k++)
            move_operands(edges, block, k, passage, filled[block->last->targets[k]->id]++);
    }
    bl_kir_renumber(func);
}
