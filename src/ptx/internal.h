/* Inside the room ptx only: what the parser and the instruction checker share. */
#ifndef BAILEY_PTX_INTERNAL_H
#define BAILEY_PTX_INTERNAL_H

#include "ptx/ptx.h"

/* Checks one instruction against isa.def (modifiers, types, operands, what version and target it needs) and sets
 * instr->row. Called by the parser once for each instruction, with every operand resolved. Branch targets and target lists
 * of labels that stand later in the text have their symbol already (its statement comes later). On a fault: what
 * bl_ptx_fail returned. */
enum bl_status bl_ptx_check_instr(struct bl_ptx_module *module, struct bl_ptx_func *func, struct bl_ptx_instr *instr,
                                  struct bl_error *error);

/* Fills *error with "NAME:LINE:COL: message", the source line and a caret. A second and later fault of the same parse is
 * appended while there is room. Returns status. */
enum bl_status bl_ptx_fail(struct bl_ptx_module *module, struct bl_ptx_loc loc, struct bl_error *error, enum bl_status status,
                           const char *format, ...) BL_PRINTF(5, 6);

#endif
