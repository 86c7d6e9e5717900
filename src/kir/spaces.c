/* Address spaces: generic accesses whose space is known become accesses of that space. Needs SSA and preds up to date, simplified;
 * keeps both. A space is known where an address comes from to_generic, through sums, phis and choices; and where a kernel's
 * parameter is a pointer that the kernel itself takes for one into global memory (from_generic.global). */
#include "kir/kir.h"

enum { UNKNOWN = 254, NOTHING = 255 }; /* NOTHING: not met yet, or a null pointer, which is as good as in any space */

struct spaces {
    struct bl_kir_func *func;
    uint8_t *space; /* by value id: enum bl_kir_space, UNKNOWN, NOTHING */
    uint32_t count;
    struct bl_map global_params; /* offsets of pointers into global memory, as keys */
};

static uint8_t space_of(const struct spaces *s, const struct bl_kir_value *value)
{
    return value->id < s->count ? s->space[value->id] : UNKNOWN;
}

static uint8_t join(uint8_t a, uint8_t b)
{
    if (a == NOTHING || a == b)
        return b;
    return b == NOTHING ? a : UNKNOWN;
}

static bool is_null(const struct bl_kir_value *value)
{
    return value->def && value->def->op == BL_KIR_OP_const && !value->def->attr->imm && !value->def->attr->imm_hi;
}

static struct bl_sv offset_key(const struct bl_kir_instr *param)
{
    return (struct bl_sv){(const char *)&param->attr->imm, sizeof(param->attr->imm)};
}

static bool is_pointer_param(const struct bl_kir_value *value)
{
    return value->def && value->def->op == BL_KIR_OP_param && value->def->attr->vec == 1 && value->type == BL_KIR_I64;
}

static void find_global_params(struct spaces *s)
{
    for (uint32_t b = 0; b < s->func->blocks.count; b++)
        for (struct bl_kir_instr *i = s->func->blocks.items[b]->first; i; i = i->next)
            if (i->op == BL_KIR_OP_from_generic && i->attr->space == BL_KIR_GLOBAL && is_pointer_param(i->operands[0]))
                bl_map_set(s->func->module->arena, &s->global_params, offset_key(i->operands[0]->def), s);
}

/* In a sum one operand is the address; with a known space on both sides nothing is known. */
static uint8_t space_of_sum(const struct spaces *s, const struct bl_kir_instr *i)
{
    uint8_t a = space_of(s, i->operands[0]), b = space_of(s, i->operands[1]);

    if (i->op == BL_KIR_OP_sub)
        return a;
    if (a == UNKNOWN || b == UNKNOWN)
        return a == UNKNOWN ? b : a;
    return a == NOTHING || b == NOTHING ? join(a, b) : UNKNOWN;
}

static uint8_t space_of_instr(const struct spaces *s, const struct bl_kir_instr *i)
{
    uint8_t all = NOTHING;

    switch (i->op) {
    case BL_KIR_OP_to_generic:
        return i->attr->space;
    case BL_KIR_OP_param:
        return is_pointer_param(i->results[0]) && bl_map_get(&s->global_params, offset_key(i)) ? BL_KIR_GLOBAL : UNKNOWN;
    case BL_KIR_OP_add:
    case BL_KIR_OP_sub:
        return space_of_sum(s, i);
    case BL_KIR_OP_phi:
        for (uint32_t k = 0; k < i->operand_count; k++)
            all = join(all, is_null(i->operands[k]) ? NOTHING : space_of(s, i->operands[k]));
        return all;
    case BL_KIR_OP_select:
        for (uint32_t k = 1; k < 3; k++)
            all = join(all, is_null(i->operands[k]) ? NOTHING : space_of(s, i->operands[k]));
        return all;
    default:
        return UNKNOWN;
    }
}

/* From NOTHING to a space to UNKNOWN: a sum of a phi can change twice, so that few rounds do. */
static void find_spaces(struct spaces *s, const struct bl_kir_dom *dom)
{
    bool changed = true;

    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < dom->reachable_count; b++)
            for (struct bl_kir_instr *i = s->func->blocks.items[dom->rpo[b]]->first; i; i = i->next) {
                uint8_t space;
                if (i->result_count == 0)
                    continue;
                space = i->result_count == 1 && i->results[0]->type == BL_KIR_I64 ? space_of_instr(s, i) : UNKNOWN;
                for (uint32_t r = 0; r < i->result_count; r++) {
                    uint8_t *now = &s->space[i->results[r]->id];
                    uint8_t next = *now == UNKNOWN ? UNKNOWN : *now != NOTHING && *now != space ? UNKNOWN : space;
                    changed = changed || *now != next;
                    *now = next;
                }
            }
    }
}

/* The address in its space: what to_generic was given, with what was added since; else from_generic. */
static struct bl_kir_value *address_in(struct spaces *s, struct bl_kir_instr *access, enum bl_kir_space space)
{
    struct bl_kir_builder b = {.func = s->func, .before = access, .line = access->line};
    struct bl_kir_attr attr = {.space = (uint8_t)space};
    struct bl_kir_value *address = access->operands[0], *added[8];
    uint32_t count = 0;

    while (count < BL_LEN(added) && address->def && address->def->op == BL_KIR_OP_add) {
        uint32_t base = space_of(s, address->def->operands[0]) == space ? 0 : 1;
        added[count++] = address->def->operands[1 - base];
        address = address->def->operands[base];
    }
    if (!address->def || address->def->op != BL_KIR_OP_to_generic || address->def->attr->space != space ||
        address->def->operands[0]->type != BL_KIR_I64)
        return bl_kir_emit1(&b, BL_KIR_OP_from_generic, &attr, BL_KIR_I64, access->operands[0], NULL, NULL);
    address = address->def->operands[0];
    while (count > 0)
        address = bl_kir_emit1(&b, BL_KIR_OP_add, NULL, BL_KIR_I64, address, added[--count], NULL);
    return address;
}

static bool may_access(enum bl_kir_op op, enum bl_kir_space space)
{
    if (op == BL_KIR_OP_load)
        return true;
    if (space == BL_KIR_CONST || space == BL_KIR_PARAM)
        return false;
    return op == BL_KIR_OP_store || ((op == BL_KIR_OP_atomic || op == BL_KIR_OP_reduce) && space != BL_KIR_LOCAL);
}

/* A shared address that may lie in the memory of another CTA of the cluster, which is not in the own window. */
static bool may_be_of_others(const struct bl_kir_value *offset)
{
    while (offset->def && (offset->def->op == BL_KIR_OP_add || offset->def->op == BL_KIR_OP_zext))
        offset = offset->def->operands[0];
    return offset->def && (offset->def->op == BL_KIR_OP_map_rank || offset->def->op == BL_KIR_OP_select);
}

/* isspacep of what to_generic gave, and of sums with it; a phi may hold a null pointer, which is in no space. Global memory's
 * window holds constants, too: of those nothing is said. */
static void answer(const struct spaces *s, struct bl_kir_instr *i)
{
    const struct bl_kir_value *address = i->operands[0];
    uint8_t space = space_of(s, address);

    while (address->def && address->def->op == BL_KIR_OP_add)
        address = address->def->operands[space_of(s, address->def->operands[0]) == space ? 0 : 1];
    if (!address->def || address->def->op != BL_KIR_OP_to_generic || address->def->attr->space != space)
        return;
    if (space != BL_KIR_GLOBAL && space != BL_KIR_SHARED && space != BL_KIR_LOCAL)
        return;
    if (may_be_of_others(address->def->operands[0]))
        return;
    if (i->attr->space != BL_KIR_GLOBAL && i->attr->space != BL_KIR_SHARED && i->attr->space != BL_KIR_LOCAL)
        return;
    *i->attr = (struct bl_kir_attr){.imm = space == i->attr->space};
    i->op = BL_KIR_OP_const;
    i->operand_count = 0;
}

void bl_kir_infer_spaces(struct bl_kir_func *func)
{
    struct spaces s = {.func = func, .count = func->value_count};

    if (func->blocks.count == 0)
        return;
    s.space = BL_NEW_ARRAY(func->module->arena, uint8_t, s.count);
    memset(s.space, NOTHING, s.count);
    for (uint32_t p = 0; p < func->params.count; p++)
        s.space[func->params.items[p]->id] = UNKNOWN;
    find_global_params(&s);
    find_spaces(&s, bl_kir_dominators(func));
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next) {
            uint8_t space = i->operand_count ? space_of(&s, i->operands[0]) : UNKNOWN;
            if (i->op == BL_KIR_OP_isspacep)
                answer(&s, i);
            if (i->attr->space != BL_KIR_GENERIC || space >= UNKNOWN || !may_access(i->op, space))
                continue;
            i->operands[0] = address_in(&s, i, space);
            i->attr->space = space;
        }
}
