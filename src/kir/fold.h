/* Inside src/kir only. The value of an op whose operands are known: fold.c, for simplify.c. */
#ifndef BAILEY_KIR_FOLD_H
#define BAILEY_KIR_FOLD_H

#include "kir/kir.h"

/* True where the op's one result follows from its operands' bits (x[k] of operand k, no bits past its width). Integers, preds,
 * choices and bit casts up to 64 bits; never floats' arithmetic. */
bool bl_kir_fold(const struct bl_kir_instr *instr, const uint64_t *x, uint64_t *result);
/* Sign-extends the low `bits` bits. */
int64_t bl_kir_signed(uint64_t x, uint32_t bits);
/* All ones in the low `bits` bits. */
uint64_t bl_kir_ones(uint32_t bits);

#endif
