/* PTX to a code object for an AMD GPU: the request that bailey-cc serves and its answer. Called by bailey-cc and tests. */
#ifndef BAILEY_AMDGPU_COMPILE_H
#define BAILEY_AMDGPU_COMPILE_H

#include "base/base.h"

enum bl_amd_emit { BL_AMD_EMIT_CODE_OBJECT, BL_AMD_EMIT_ASSEMBLY, BL_AMD_EMIT_LLVM, BL_AMD_EMIT_RELOCATABLE };

struct bl_amd_request {
    struct bl_sv text; /* PTX, or kir text */
    const char *source_name;
    const char *kernel; /* NULL: every kernel of the text */
    const char *chip;   /* "gfx1100" */
    uint32_t optimize;  /* 0 to 3 */
    uint32_t emit;      /* enum bl_amd_emit */
    bool fast_math;     /* approximate functions by the chip's own, within their documented error, not an NVIDIA GPU's bits */
};

struct bl_amd_answer {
    enum bl_status status; /* BL_OK, or why not; error says it */
    struct bl_error error;
    const void *data; /* a linked ELF, or text; in the arena */
    size_t size;
    double seconds;
};

/* Everything in *answer lives in arena. */
void bl_amd_compile(struct bl_arena *arena, const struct bl_amd_request *request, struct bl_amd_answer *answer);

/* ---- chips (chip.c) */
struct bl_amd_chip {
    const char *name;      /* as LLVM and HIP write it */
    const char *features;  /* for LLVM */
    uint32_t wave;         /* lanes of a wave: 32 or 64 */
    uint32_t code_object;  /* version of the ABI, hundreds: 500, 600 */
    uint32_t shared_limit; /* bytes of LDS that a workgroup may have */
    uint32_t machine;      /* EF_AMDGPU_MACH, in the ELF header flags */
    const char *hardware;  /* for people */
};
/* All that are known, a NULL name at the end. */
extern const struct bl_amd_chip bl_amd_chips[];
/* NULL: not known. */
const struct bl_amd_chip *bl_amd_find_chip(const char *name);

#endif
