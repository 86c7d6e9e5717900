/* Inside bailey-cc only: texture, surface and bulk ops. For cg_call.c. */
#ifndef BAILEY_CPU_CG_IMAGE_H
#define BAILEY_CPU_CG_IMAGE_H

#include "target/cpu/function.h"

bool bl_cg_image(struct bl_cg_func *f, const struct bl_kir_instr *instr); /* false: another op */
bool bl_cg_bulk(struct bl_cg_func *f, const struct bl_kir_instr *instr);

#endif
