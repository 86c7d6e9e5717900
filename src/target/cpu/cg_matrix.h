/* Inside bailey-cc only: multiplications of matrices. For cg_warp.c. */
#ifndef BAILEY_CPU_CG_MATRIX_H
#define BAILEY_CPU_CG_MATRIX_H

#include "target/cpu/function.h"

bool bl_cg_matrix(struct bl_cg_func *f, const struct bl_kir_instr *instr); /* false: more operands than there are */

#endif
