/* Inside bailey-cc only: what the files of the AMD code generator share. A kir function becomes an LLVM function of one thread:
 * kir's values, blocks and branches one to one. LLVM's AMDGPU target makes the wave of it: which registers are scalar, which
 * branches become masks. Values stand in LLVM IR as codegen.h of the CPU target says, at width 1; the ops that only compute are
 * shared with it.
 *
 * A CUDA warp is 32 lanes. On chips of wave32 it is the wave. On chips of wave64 two warps share a wave: lanes 0 to 31 and 32 to
 * 63, and each op at which lanes meet works on the thread's own half.
 *
 * Addresses (kir.h): global and const are the chip's 64-bit addresses, shared an offset in the workgroup's LDS, local an offset in
 * the lane's scratch, param an offset in the kernarg segment, generic a flat address.
 */
#ifndef BAILEY_AMDGPU_CODEGEN_H
#define BAILEY_AMDGPU_CODEGEN_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "kir/kir.h"
#include "target/amdgpu/compile.h"
#include "target/cpu/codegen.h"

enum { BL_AMD_BARRIERS = 16 }; /* that a CTA has (PTX ISA, bar) */

/* LLVM's numbers of AMDGPU's address spaces. */
enum { BL_AMD_FLAT = 0, BL_AMD_GLOBAL = 1, BL_AMD_LDS = 3, BL_AMD_CONST = 4, BL_AMD_SCRATCH = 5 };

/* What all kernels of a code object share. */
struct bl_amd_object {
    struct bl_cg cg; /* LLVM's context, module and builder; arena; error */
    LLVMTargetMachineRef machine;
    const struct bl_amd_chip *chip;
    const struct bl_amd_request *request;
    struct bl_kir_module *module;
    LLVMValueRef *globals; /* by place in module->symbols; NULL: not made yet */
    struct bl_buffer text; /* LLVM text of the functions that the C API can't make: see atomic.c */
    unsigned invariant_kind, nontemporal_kind;
};

/* A kernel and what it may call. Each kernel has its own copies: shared variables lie elsewhere in each. */
struct bl_amd_unit {
    struct bl_amd_object *object;
    struct bl_kir_func *kernel;
    BL_ARRAY(struct bl_kir_func *) funcs; /* the kernel first */
    LLVMValueRef *functions;              /* by place in funcs */
    bool *may_exit;                       /* by place: a call of it may end the thread; then its last result, an i1, says so */
    bool indirect_may_exit;
    uint32_t shared_bytes;   /* static, with what barriers with a reduction need */
    uint32_t reduction_slot; /* place in LDS of that; UINT32_MAX: not used */
    uint32_t barrier_slots;  /* place in LDS of barriers for a part of the CTA; UINT32_MAX: there are none */
};

/* An edge of the control-flow graph that has an LLVM block of its own. */
struct bl_amd_edge {
    const struct bl_kir_block *from;
    uint32_t target; /* which of its targets */
    LLVMBasicBlockRef through;
};

struct bl_amd_func {
    struct bl_cg *cg;
    struct bl_amd_object *object;
    struct bl_amd_unit *unit;
    struct bl_kir_func *func;
    bool may_exit;
    LLVMValueRef function;
    LLVMValueRef *values;      /* by value id */
    LLVMBasicBlockRef *blocks; /* by block id: where it begins */
    LLVMBasicBlockRef *ends;   /* and where its last part is */
    BL_ARRAY(struct bl_amd_edge) edges;
    LLVMBasicBlockRef entry; /* allocas */
    LLVMValueRef frame;      /* alloca of frame_size bytes, or NULL */
};

/* compile.c */
enum bl_status bl_amd_unsupported(struct bl_amd_func *f, const struct bl_kir_instr *i, const char *why);

/* unit.c */
enum bl_status bl_amd_kernel(struct bl_amd_object *object, struct bl_kir_func *kernel);
uint32_t bl_amd_place(const struct bl_amd_unit *unit, const struct bl_kir_func *func); /* UINT32_MAX: not of the unit */
LLVMTypeRef bl_amd_function_type(struct bl_cg *cg, const struct bl_kir_proto *proto, bool may_exit);

/* function.c */
enum bl_status bl_amd_function(struct bl_amd_func *f);
LLVMValueRef bl_amd_value(struct bl_amd_func *f, const struct bl_kir_value *value);
void bl_amd_define(struct bl_amd_func *f, const struct bl_kir_value *value, LLVMValueRef llvm);
LLVMBasicBlockRef bl_amd_block(struct bl_amd_func *f, const char *name);
/* The thread ends here if `exited` (i1) holds; the builder then stands where it goes on. */
void bl_amd_exit_if(struct bl_amd_func *f, LLVMValueRef exited);

/* Ops by group; false: not an op of this file. The error may be set where one can't be made. */
bool bl_amd_memory(struct bl_amd_func *f, const struct bl_kir_instr *i);
bool bl_amd_atomic(struct bl_amd_func *f, const struct bl_kir_instr *i);
bool bl_amd_warp(struct bl_amd_func *f, const struct bl_kir_instr *i);
bool bl_amd_sreg(struct bl_amd_func *f, const struct bl_kir_instr *i);
bool bl_amd_matrix(struct bl_amd_func *f, const struct bl_kir_instr *i);
bool bl_amd_call(struct bl_amd_func *f, const struct bl_kir_instr *i);

/* memory.c */
LLVMValueRef bl_amd_pointer(struct bl_amd_func *f, const struct bl_kir_value *address, uint8_t space, int64_t offset);
unsigned bl_amd_space(uint8_t space); /* enum bl_kir_space to LLVM's number */
void bl_amd_mark(struct bl_amd_func *f, LLVMValueRef load, unsigned kind);
/* All module variables: those too that no kernel names can be set and read by the host. */
enum bl_status bl_amd_variables(struct bl_amd_object *object);
/* A module variable as an LLVM global, NULL with the error set: it is defined elsewhere. */
LLVMValueRef bl_amd_global(struct bl_amd_object *object, struct bl_kir_symbol *symbol);

/* atomic.c: accesses with an order or a scope */
LLVMValueRef bl_amd_strong_load(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMTypeRef type);
void bl_amd_strong_store(struct bl_amd_func *f, const struct bl_kir_instr *i, LLVMValueRef pointer, LLVMValueRef value);
void bl_amd_fence(struct bl_amd_func *f, const char *order, const char *scope);
/* Gives the object's module the functions that the calls need. */
enum bl_status bl_amd_link_text(struct bl_amd_object *object);

/* warp.c. The 32-bit value that another lane of the warp has; 0 if that lane does not run. */
LLVMValueRef bl_amd_permute(struct bl_amd_func *f, LLVMValueRef value, LLVMValueRef lane);
/* At the start of a kernel that has barriers for a part of the CTA */
void bl_amd_clear_barriers(struct bl_amd_func *f);

/* sreg.c */
LLVMValueRef bl_amd_lane(struct bl_amd_func *f);      /* i32: 0 to 31 */
LLVMValueRef bl_amd_wave_lane(struct bl_amd_func *f); /* i32: in the wave */
LLVMValueRef bl_amd_linear_tid(struct bl_amd_func *f);

/* machine.c */
enum bl_status bl_amd_machine_open(struct bl_amd_object *object);
enum bl_status bl_amd_emit(struct bl_amd_object *object, struct bl_amd_answer *answer);

/* link.c: a relocatable object to a loadable one, in the arena. */
enum bl_status bl_amd_link(struct bl_arena *arena, const void *object, size_t size, struct bl_amd_answer *answer);

/* ---- short names */
static inline LLVMTypeRef a_int(const struct bl_amd_func *f, unsigned bits)
{
    return LLVMIntTypeInContext(f->cg->context, bits);
}
static inline LLVMValueRef a_i32(const struct bl_amd_func *f, uint32_t number)
{
    return LLVMConstInt(a_int(f, 32), number, false);
}
static inline LLVMValueRef a_i1(const struct bl_amd_func *f, bool holds)
{
    return LLVMConstInt(a_int(f, 1), holds, false);
}
static inline LLVMTypeRef a_pointer(const struct bl_amd_func *f, unsigned space)
{
    return LLVMPointerTypeInContext(f->cg->context, space);
}
/* An intrinsic that is not overloaded. */
static inline LLVMValueRef a_call(struct bl_amd_func *f, const char *name, unsigned count, LLVMValueRef *arguments)
{
    return bl_cg_intrinsic(f->cg, name, 0, NULL, count, arguments);
}

#endif
