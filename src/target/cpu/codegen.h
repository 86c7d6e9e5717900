/* Inside bailey-cc only: what the files of the CPU code generator share. Uses kir and LLVM's C API.
 *
 * A kir value stands in LLVM IR either as a scalar (width 1: the same in every lane) or as a vector of 32 lanes:
 *   pred i1   i8..i128 iN   f16, bf16 i16   f16x2, bf16x2 i32 (element 0 in the low half)   f32 float   f64 double
 * Small floats are their bits, so that no code depends on what LLVM's half and bfloat become on a CPU without them: an
 * object must not refer to a symbol outside itself.
 */
#ifndef BAILEY_CPU_CODEGEN_H
#define BAILEY_CPU_CODEGEN_H

#include <llvm-c/Core.h>

#include "kir/kir.h"
#include "target/cpu/abi.h"
#include "target/cpu/compile.h"

/* What the target has; found from LLVM's feature string (+avx512f, …). */
struct bl_cg_features {
    bool x86, aarch64, amdgcn;
    bool avx2, fma, f16c, avx512; /* avx512: f, bw, dq and vl together */
    bool avx512_vnni, avx512_bf16, avx512_vbmi;
    bool sse41, cx16;
};

/* What LLVM says of the frames of the functions that it makes code for. */
struct bl_cg_frames {
    uint64_t bytes;         /* together, but for copies */
    uint64_t copy_bytes;    /* the larger of the copies' */
    uint32_t known;         /* functions */
    LLVMValueRef copies[2]; /* functions of which one call runs only one */
};

struct bl_cg {
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder; /* stands where the next instruction goes */
    struct bl_cg_features features;
    struct bl_cg_frames frames;
    bool fast_math; /* see bl_cpu_request */
    bool flushes;   /* f32 arithmetic itself takes subnormal numbers for zeros: the machine is set so */
    struct bl_arena *arena;
    struct bl_error *error;
    /* cg_image.c: what texture ops give to the runtime and get, in image_function's frame; NULL: none yet */
    LLVMValueRef image_function, image_objects, image_words, image_results;
    LLVMValueRef matrix_function, matrix_words, matrix_results; /* cg_matrix.c, likewise */
};

/* The LLVM type of a kir type at width 1 or 32. */
LLVMTypeRef bl_cg_type(struct bl_cg *cg, enum bl_kir_type type, unsigned width);
/* A constant of the type with these bits in each lane. */
LLVMValueRef bl_cg_bits(struct bl_cg *cg, enum bl_kir_type type, unsigned width, uint64_t low, uint64_t high);
/* A call of an LLVM intrinsic by name ("llvm.fma"), overloaded on the given types. */
LLVMValueRef bl_cg_intrinsic(struct bl_cg *cg, const char *name, unsigned type_count, LLVMTypeRef *types, unsigned count,
                             LLVMValueRef *arguments);
/* A scalar in all lanes. */
LLVMValueRef bl_cg_splat(struct bl_cg *cg, LLVMValueRef scalar);

/* By the gather instructions of AVX2, which LLVM by itself takes only for processors on which it knows them to be fast; for others
 * it makes a branch a lane. base + scale * index[lane] in the lanes of mask (NULL: all); type: a vector of 32 elements of 32 or 64
 * bits; index: of i64, or of i32, signed. */
LLVMValueRef bl_cg_gather_avx2(struct bl_cg *cg, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index, unsigned scale,
                               LLVMValueRef mask);

/* math_*.c: the ops that only compute: all of ops.def from add to unpack (integers, floats, comparison and choice,
 * conversion, pack and unpack), exactly as PTX defines them. Operands come with the given width, each; results are made with
 * the same. Straight code only: no new basic block, and no memory access but constant tables of this module. Nothing traps
 * (division in lanes that are not active may meet zero). False: not an op of these files. */
bool bl_cg_math(struct bl_cg *cg, const struct bl_kir_instr *instr, unsigned width, LLVMValueRef *operands, LLVMValueRef *results);

/* The value's bits as the GPU has them, for an op that shows them: a store, an exchange between lanes or with memory, a call's
 * argument. bl_cg_math leaves a NaN that it made with whatever bits the CPU gave it (see math_float.c); nothing but bits can
 * tell. Costs nothing for values that no float arithmetic made. */
LLVMValueRef bl_cg_settle_nan(struct bl_cg *cg, const struct bl_kir_value *value, unsigned width, LLVMValueRef of);

#endif
