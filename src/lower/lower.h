/* PTX tree to kir. Needs a parsed, checked module (bodies parsed); gives a kir module that bl_kir_prepare can take. */
#ifndef BAILEY_LOWER_H
#define BAILEY_LOWER_H

#include "kir/kir.h"
#include "ptx/ptx.h"

/* Lowers every function of the PTX module that has a body, and its variables. An instruction that kir has no op for becomes
 * `unsupported` with its text and line. The kir module lives in arena. kir_func.number is the PTX function's number. */
enum bl_status bl_lower(struct bl_arena *arena, struct bl_ptx_module *ptx, struct bl_kir_module **module, struct bl_error *error);

/* All the way for a target: kir text or PTX is parsed, PTX lowered, and the module prepared (bl_kir_prepare). */
enum bl_status bl_lower_text(struct bl_arena *arena, struct bl_sv text, const char *source_name, struct bl_kir_module **module,
                             struct bl_error *error);

#endif
