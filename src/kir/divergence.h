/* Inside src/kir only: what divergence.c (control flow) and shape.c (what each op makes of its operands) share. */
#ifndef BAILEY_KIR_DIVERGENCE_H
#define BAILEY_KIR_DIVERGENCE_H

#include "kir/kir.h"

enum { BL_KIR_SHAPE_NONE = 255 }; /* not known yet: below all others */

struct bl_kir_shape_of {
    uint8_t kind; /* enum bl_kir_shape or BL_KIR_SHAPE_NONE */
    int64_t stride;
    struct bl_kir_value *guard;
};

struct bl_kir_shapes {
    struct bl_kir_func *func;
    const struct bl_kir_divergence_options *options;
    struct bl_kir_divergence *result;
    /* What is known of each value by id, whatever its shape. Both hold for lane-wise ops of any lanes. */
    uint8_t *zeros; /* low bits that are zero in lane 0 */
    uint64_t *most; /* the largest it can be in any lane, unsigned; UINT64_MAX: not known */
};

/* Fills zeros and most. */
void bl_kir_find_facts(struct bl_kir_shapes *s, const struct bl_kir_dom *dom);
/* The shape of a result from those of the operands. Phis of divergent joins are the caller's. */
struct bl_kir_shape_of bl_kir_shape_of_result(const struct bl_kir_shapes *s, const struct bl_kir_instr *instr, uint32_t result);

#endif
