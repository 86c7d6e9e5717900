/* Inside src/kir only: what validate.c and validate_op.c share. */
#ifndef BAILEY_KIR_VALIDATE_H
#define BAILEY_KIR_VALIDATE_H

#include "kir/text.h"

struct bl_kir_check {
    const struct bl_kir_module *module;
    struct bl_error *error;
    struct bl_kir_func *func;
    const struct bl_kir_value **values; /* by id: the function's values */
    uint8_t *defined;                   /* by id: its instruction has been passed */
    struct bl_kir_dom *dom;
};

/* Sets the error: which rule, which function, which op. False, always. */
bool bl_kir_broken(struct bl_kir_check *c, const struct bl_kir_instr *instr, const char *format, ...) BL_PRINTF(3, 4);
/* The rules of one op: signature, attributes, and what its line in ops.def says. */
bool bl_kir_check_op(struct bl_kir_check *c, const struct bl_kir_instr *instr);

#endif
