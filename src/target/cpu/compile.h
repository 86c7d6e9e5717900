/* kir to machine code for the CPU, and the protocol between libcuda and the helper process bailey-cc that does it. */
#ifndef BAILEY_CPU_COMPILE_H
#define BAILEY_CPU_COMPILE_H

#include "base/base.h"
#include "target/cpu/abi.h"

/* Raise it when the same PTX gives other code: it is part of bl_cpu_compiler_version. */
#define BL_CPU_CODEGEN 24

/* How the threads of a CTA lie in its warps: code is made for one of these. */
enum bl_cpu_cta_shape {
    BL_CPU_CTA_ANY,
    BL_CPU_CTA_LINEAR,  /* see bl_kir_divergence_options.linear_cta */
    BL_CPU_CTA_RUNS_16, /* ntid.x is a multiple of 16: each half of a warp is a row's piece; tid.y and tid.z are the same in it */
    BL_CPU_CTA_RUNS_8,  /* the same with 8 and a quarter */
    BL_CPU_CTA_SHAPES,
};

/* A request and an answer, as structs; wire.c turns them into bytes and back (both processes link it). */
struct bl_cpu_request {
    struct bl_sv ptx;           /* a slice (bl_ptx_slice) */
    const char *kernel;         /* its name */
    const char *source_name;    /* for messages */
    const char *cpu, *features; /* LLVM's names; cpu "" or NULL: the host's */
    uint32_t cta_shape;         /* enum bl_cpu_cta_shape */
    bool fast_math;             /* approximate functions by polynomials, within their documented error, not the GPU's bits */
    uint32_t optimize;          /* 0 to 3; 2 is usual */
    uint32_t emit;              /* enum bl_cpu_emit */
};
enum bl_cpu_emit { BL_CPU_EMIT_OBJECT, BL_CPU_EMIT_ASSEMBLY, BL_CPU_EMIT_LLVM, BL_CPU_EMIT_KIR };

struct bl_cpu_kernel_info {
    uint32_t flags;         /* enum bl_cpu_kernel_flags */
    uint32_t static_shared; /* bytes */
    uint32_t local_bytes;   /* local memory of the kernel's frame and its deepest known call chain, a thread */
    uint32_t machine_stack; /* bytes: all frames of its functions together, so no chain without recursion needs more */
    uint32_t param_bytes;
    uint32_t registers; /* an estimate for cuFuncGetAttribute: the most live 32-bit values */
    uint32_t global_count;
    const char **globals; /* names of the module variables in the order of bl_cpu_warp.globals */
};

struct bl_cpu_answer {
    enum bl_status status; /* BL_OK, or why not; error says it */
    struct bl_error error;
    struct bl_cpu_kernel_info info;
    const uint8_t *object; /* ELF relocatable, or text for the other kinds of output */
    size_t object_size;
    double seconds; /* spent in the helper */
};

/* In bailey-cc: PTX slice to answer. Everything in *answer lives in arena. Never crashes on purpose; LLVM may. */
void bl_cpu_compile(struct bl_arena *arena, const struct bl_cpu_request *request, struct bl_cpu_answer *answer);
/* bailey-cc's own version (LLVM's and ours), part of the cache key. `bailey-cc --version` prints it. */
const char *bl_cpu_compiler_version(void);

/* wire.c: frames are u32 magic, u32 version, u64 size, bytes. */
bool bl_cpu_pack_request(struct bl_buffer *out, const struct bl_cpu_request *request);
enum bl_status bl_cpu_unpack_request(struct bl_arena *arena, struct bl_sv bytes, struct bl_cpu_request *request);
bool bl_cpu_pack_answer(struct bl_buffer *out, const struct bl_cpu_answer *answer);
enum bl_status bl_cpu_unpack_answer(struct bl_arena *arena, struct bl_sv bytes, struct bl_cpu_answer *answer);

#endif
