/* Inside bailey-cc only: one kir function on its way to LLVM IR. Shared by flow.c (what runs when), function.c (blocks, masks,
 * values), cg_memory.c, cg_atomic.c, cg_warp.c and cg_call.c (ops).
 *
 * The scheme. A function is cut into segments (a block, or the parts of one that a warp operation splits). Where all lanes
 * that entered the function are surely together, a segment is an LLVM block and its branches are branches. The others are
 * masked: they belong to a region, the segments between a divergent branch and its post-dominator. Each masked segment has a
 * set of pending lanes; who leaves for it adds its lanes there. A region's segments lie in one order, all predecessors first
 * and each loop in one piece, and control walks down this order past segments for which no lane waits; at a loop's end it
 * walks back to the head if lanes wait there. So lanes come together again at the first place where their ways meet.
 *
 * In a function with a loop that waits for other threads, lanes that left the loop must not stand still: the loop's lanes get one
 * turn for each walk down the whole region. Lanes then come to a block in several goes, so every value that crosses segments
 * is kept by lane, and ops at which lanes meet (barriers, votes, ...) start segments of their own, joins, whose lanes wait
 * until none that they name is on the way.
 */
#ifndef BAILEY_CPU_FUNCTION_H
#define BAILEY_CPU_FUNCTION_H

#include <llvm-c/TargetMachine.h>

#include "target/cpu/codegen.h"

struct bl_cg_region {           /* of segments that may run with a part of the lanes; the whole is entered and left by all */
    struct bl_cg_segment *exit; /* where all lanes meet after it; NULL: the function ends in it */
    BL_ARRAY(struct bl_cg_segment *) segments; /* in order */
    LLVMBasicBlockRef end;                     /* behind its last segment */
    struct bl_cg_region *joined;               /* while regions are being found: the one this became a part of */
};

struct bl_cg_loop { /* a cycle, reducible or not: all ways back lead to the head of one that holds both ends */
    struct bl_cg_loop *parent;
    struct bl_cg_segment *head;
    uint32_t first, last; /* its segments are those of this order */
    bool spins, many_entries;
    bool parts;            /* lanes may leave it in different turns */
    uint64_t *splits;      /* the divergent segments in it */
    LLVMBasicBlockRef end; /* of a masked loop: behind its last segment */
};

struct bl_cg_segment {
    struct bl_kir_block *block;
    struct bl_kir_instr *first, *end; /* end: the first one not in it, NULL: to the block's end */
    uint32_t index, order;            /* in func->segments; in func->order, UINT32_MAX unreachable */
    uint32_t succ_count;
    struct bl_cg_segment **succs; /* of the block end's targets, in their order */
    BL_ARRAY(struct bl_cg_segment *) preds;
    uint32_t ipdom;             /* index; UINT32_MAX: the function's end */
    struct bl_cg_segment *meet; /* divergent: where its lanes are together again; NULL: never */
    bool reaches_end;
    bool ends_lanes;              /* ends with a call after which some lanes may be gone */
    bool joins;                   /* starts with an op at which lanes of the warp meet; in functions that spin */
    bool divergent;               /* its lanes may leave to different successors */
    struct bl_cg_region *region;  /* masked: where it belongs; NULL: all lanes run it */
    struct bl_cg_loop *loop;      /* the innermost */
    uint32_t split;               /* divergent: its bit in the sets that follow */
    uint64_t *splits;             /* the divergent segments in whose region it is */
    LLVMBasicBlockRef next;       /* masked: where control walks on to, behind it */
    LLVMBasicBlockRef check, run; /* check: of a masked one; goes to run if lanes wait */
    LLVMValueRef pending;         /* a slot for a mask */
    LLVMValueRef mask;            /* while its body is made: the lanes that run, <32 x i1> */
};

/* A value, in one of three forms: a scalar (every lane the same), base and stride, a vector. */
struct bl_cg_value {
    uint8_t form; /* enum bl_kir_shape */
    bool crosses; /* used in another segment, where it comes from the slot */
    bool used;    /* anywhere */
    bool leaves;  /* used outside a masked loop that holds its definition: lanes that left keep theirs */
    int64_t stride;
    struct bl_cg_segment *segment; /* of its definition */
    LLVMValueRef here;             /* scalar, base or vector; NULL before its definition */
    LLVMValueRef slot;             /* for uses elsewhere, in its form */
    LLVMValueRef out_slot;         /* a scalar or base that leaves: a vector, by lane */
    LLVMValueRef phi_slot;         /* of a phi: filled by the edges */
    /* of a guard (struct bl_kir_divergence): the base of what it widens, for the check and for exact values */
    LLVMValueRef narrow, narrow_slot;
    bool narrow_crosses;
    int64_t factor; /* of a value with a guard: how much it grows when the guard's value grows by one */
};

struct bl_cg_func {
    struct bl_cg *cg;
    struct bl_cg_unit *unit;
    struct bl_kir_func *func;
    struct bl_kir_dom *dom;
    struct bl_kir_loops *loops;
    struct bl_kir_divergence *divergence;
    BL_ARRAY(struct bl_cg_segment *) segments; /* the entry first */
    BL_ARRAY(struct bl_cg_segment *) order;
    BL_ARRAY(struct bl_cg_loop *) all_loops;
    BL_ARRAY(struct bl_cg_region *) regions;
    struct bl_cg_segment **first_of_block, **last_of_block; /* by block id */
    bool spins;           /* has loops that wait for another thread: lanes come to a block in several goes */
    bool entangled;       /* a region leads back to before its start: nothing is known of who waits where */
    uint32_t split_words; /* of a set of divergent segments */
    bool may_exit;        /* an exit in it or below it: gives back the lanes that are left */
    bool full;            /* this copy runs with all 32 lanes at entry */

    uint32_t run;               /* lanes of a row's piece (runs.c); 0: nothing is known of such */
    int64_t *run_stride;        /* by value id; ask by bl_cg_run_stride */
    struct bl_cg_value *values; /* by value id */
    LLVMValueRef function;
    LLVMBasicBlockRef entry, done, start; /* allocas and what is loaded once; where lanes end */
    LLVMValueRef warp;                    /* struct bl_cpu_warp * */
    LLVMValueRef entry_mask;              /* <32 x i1> */
    LLVMValueRef frame;                   /* i64: offset of this activation's frame in local memory; NULL: no local memory used */
    LLVMValueRef stack_slot;              /* i64: end of what alloca took; NULL: no alloca */
    LLVMValueRef alive_slot;              /* may_exit: the lanes that have not */
    LLVMValueRef *result_slots;
    /* in functions that spin: what lanes that wait at joins bring (preds and member masks by lane); those that may go on, as
     * found at the last end of their region; and what was brought by whom then */
    LLVMValueRef met_pred, met_mask, ready, frozen_pred, frozen_lanes;
    LLVMValueRef coroutine;       /* the handle, in a kernel that is one; else NULL */
    LLVMBasicBlockRef suspended;  /* of a coroutine: it returns, to be called again or not */
    LLVMValueRef call_alive;      /* <32 x i1>: after a call that may end lanes, those that came back */
    LLVMValueRef params;          /* ptr, as shared */
    LLVMValueRef shared;          /* ptr, loaded in the entry block at the first use */
    LLVMValueRef local_lanes;     /* <32 x i64>: each lane's start of local memory; made at the first use */
    struct bl_cg_segment *at;     /* whose body is being made */
    LLVMBasicBlockRef misaligned; /* of this segment, once there is one */
    uint32_t line;                /* last stored in warp->current_line in this segment */
};

/* What all functions of a kernel share. */
struct bl_cg_unit {
    struct bl_cg *cg;
    struct bl_kir_module *module;
    struct bl_kir_func *kernel;
    const struct bl_cpu_request *request;
    struct bl_cpu_kernel_info *info;
    BL_ARRAY(struct bl_kir_func *) funcs; /* the kernel and what it may call */
    BL_ARRAY(struct bl_kir_symbol *) globals;
    LLVMValueRef *functions; /* by place in funcs */
    bool *func_may_exit;     /* by place in funcs */
    bool clusters;           /* BL_CPU_CLUSTER: lanes that end are noted in the warp */
    bool coroutine;          /* the kernel returns where a warp waits at a barrier */
    bool indirect_may_exit;  /* of the functions that an indirect call may reach, any */
    unsigned invariant_kind; /* metadata kind !invariant.load */
};

/* cg_call.c */
LLVMTypeRef bl_cg_function_type(struct bl_cg *cg, const struct bl_kir_proto *proto, bool may_exit);
/* codegen.c. UINT32_MAX for a function outside the unit. */
uint32_t bl_cg_place_in_unit(const struct bl_cg_unit *unit, const struct bl_kir_func *func);
/* False for a function outside the unit: a runtime function. */
bool bl_cg_func_may_exit(const struct bl_cg_unit *unit, const struct bl_kir_func *func);

/* ---- flow.c: segments, order, loops, regions. BL_UNSUPPORTED where loops nest too deeply. */
enum bl_status bl_cg_flow(struct bl_cg_func *f);
/* When all lanes of s leave for t: whether no lanes can wait where control, walking on from s, would look for them. */
bool bl_cg_may_skip(const struct bl_cg_func *f, const struct bl_cg_segment *s, const struct bl_cg_segment *t);
/* Whether no lanes can wait at t when lanes of s leave for it by its successor number n. */
bool bl_cg_is_first(const struct bl_cg_func *f, const struct bl_cg_segment *s, uint32_t n);
/* Whether the value that lanes got in d must outlive later runs of d, for a use in c. */
bool bl_cg_leaves(const struct bl_cg_func *f, const struct bl_cg_segment *d, const struct bl_cg_segment *c);
bool bl_cg_loop_holds(const struct bl_cg_loop *loop, const struct bl_cg_segment *s);

/* ---- guard.c: how values depend on their guards. False: not as this code generator needs it. */
bool bl_cg_find_factors(struct bl_cg_func *f);

/* ---- runs.c: values that run by a stride in each group of f->run lanes. */
#define BL_CG_NO_RUN INT64_MIN
void bl_cg_find_runs(struct bl_cg_func *f);
int64_t bl_cg_run_stride(const struct bl_cg_func *f, const struct bl_kir_value *value, const struct bl_kir_block *user);

/* ---- function.c: one function */
/* BL_NOT_FOUND, with nothing made: the guards of its divergence are of no use; to be tried again without. */
enum bl_status bl_cg_function(struct bl_cg_func *f);
/* An operand's value in the current segment: as a vector of 32, as a scalar (only if bl_cg_form is uniform), as lane 0's
 * base (uniform or affine). */
uint8_t bl_cg_form(const struct bl_cg_func *f, const struct bl_kir_value *value);
LLVMValueRef bl_cg_vector(struct bl_cg_func *f, const struct bl_kir_value *value);
LLVMValueRef bl_cg_scalar(struct bl_cg_func *f, const struct bl_kir_value *value);
/* An affine value that is so only while its guard holds: the check, a scalar. NULL: it always is. And what one lane (i32)
 * has more than lane 0, guard or not, as i64. */
LLVMValueRef bl_cg_guard(struct bl_cg_func *f, const struct bl_kir_value *value);
LLVMValueRef bl_cg_lane_offset(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef lane);
/* Sets an instruction's result. */
void bl_cg_define(struct bl_cg_func *f, const struct bl_kir_value *value, uint8_t form, int64_t stride, LLVMValueRef llvm);
void bl_cg_define_vector(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef vector);
void bl_cg_define_scalar(struct bl_cg_func *f, const struct bl_kir_value *value, LLVMValueRef scalar);
/* The mask of the current segment is known to be all ones. */
bool bl_cg_all_lanes(const struct bl_cg_func *f);
LLVMValueRef bl_cg_mask_bits(struct bl_cg_func *f, LLVMValueRef mask); /* as i32 */
LLVMValueRef bl_cg_mask_of(struct bl_cg_func *f, LLVMValueRef bits);   /* i32 as <32 x i1> */
LLVMValueRef bl_cg_slot(struct bl_cg_func *f, LLVMTypeRef type, const char *name);
LLVMBasicBlockRef bl_cg_block(struct bl_cg_func *f, const char *name);
/* The lowest lane of a mask as i32 bits, which is not empty. */
LLVMValueRef bl_cg_first_lane(struct bl_cg_func *f, LLVMValueRef bits);

/* The operand of an op at which lanes meet that names them; NULL: all. */
const struct bl_kir_value *bl_cg_members_of(const struct bl_kir_instr *i);
void bl_cg_mark_invariant(struct bl_cg_func *f, LLVMValueRef load);
/* A field of the running warp. */
LLVMValueRef bl_cg_warp_field(struct bl_cg_func *f, size_t offset, LLVMTypeRef type, bool constant);
#define BL_CG_FIELD(f, name, type) bl_cg_warp_field(f, offsetof(struct bl_cpu_warp, name), type, true)
/* Calls a runtime function of struct bl_cpu_helpers. */
LLVMValueRef bl_cg_helper(struct bl_cg_func *f, size_t offset, LLVMTypeRef result, unsigned count, LLVMValueRef *arguments);
#define BL_CG_HELPER(f, name, result, count, arguments)                                                                            \
    bl_cg_helper(f, offsetof(struct bl_cpu_helpers, name), result, count, arguments)
/* A fault of the current lanes; ends the current LLVM block. text may be NULL. */
void bl_cg_fault(struct bl_cg_func *f, LLVMValueRef lanes, enum bl_fault_kind kind, const char *text);

/* A loop over the lanes of a mask, in ascending order: between begin and end, `lane` is an i32. */
struct bl_cg_lanes {
    LLVMBasicBlockRef head, after;
    LLVMValueRef lane, bits, rest;
};
void bl_cg_lanes_begin(struct bl_cg_func *f, LLVMValueRef bits, struct bl_cg_lanes *lanes);
void bl_cg_lanes_end(struct bl_cg_func *f, struct bl_cg_lanes *lanes);
/* A vector in memory, one element a lane. */
LLVMValueRef bl_cg_array(struct bl_cg_func *f, LLVMTypeRef vector_type, const char *name);
LLVMValueRef bl_cg_element(struct bl_cg_func *f, LLVMTypeRef element, LLVMValueRef array, LLVMValueRef lane);

/* ---- cg_coroutine.c: a kernel that returns where its warp waits at a barrier, by LLVM's coroutines */
/* BL_CPU_COROUTINE and BL_CPU_ROUNDS, what holds of them for the kernel. */
uint32_t bl_cg_coroutine_flags(const struct bl_cg_unit *unit);
void bl_cg_coroutine_begin(struct bl_cg_func *f);
void bl_cg_coroutine_end(struct bl_cg_func *f); /* the builder stands where the kernel ends */
/* Leaves the kernel if `wait` (i1; NULL: true) holds; goes on here at the next call. */
void bl_cg_suspend(struct bl_cg_func *f, LLVMValueRef wait);
/* In the place of a call of a kernel that is a coroutine: its next part, if the warp waits. Ends the block; the builder then stands
 * where the warp begins. */
void bl_cg_coroutine_resume(struct bl_cg *cg, LLVMValueRef function, LLVMValueRef warp);

/* ---- ops by group; false: not an op of this file */
bool bl_cg_memory(struct bl_cg_func *f, const struct bl_kir_instr *instr);
bool bl_cg_atomic(struct bl_cg_func *f, const struct bl_kir_instr *instr);
bool bl_cg_warp(struct bl_cg_func *f, const struct bl_kir_instr *instr);
bool bl_cg_call(struct bl_cg_func *f, const struct bl_kir_instr *instr);
void bl_cg_call_prologue(struct bl_cg_func *f); /* a device function's check that its frame fits */
/* The address of an access as a pointer (scalar form) or 32 of them. */
LLVMValueRef bl_cg_pointer(struct bl_cg_func *f, const struct bl_kir_value *address, uint8_t space, int64_t offset, bool vector);

/* A fault where a lane's address is no multiple of the access' size. */
void bl_cg_check_alignment(struct bl_cg_func *f, const struct bl_kir_instr *i);

/* ---- llvm_target.c */
struct bl_cg_machine {
    LLVMTargetMachineRef machine;
    struct bl_cg_features features;
    char *cpu, *feature_text; /* owned by the arena */
};
enum bl_status bl_cg_machine_open(struct bl_arena *arena, const struct bl_cpu_request *request, struct bl_cg_machine *machine,
                                  struct bl_error *error);
void bl_cg_machine_close(struct bl_cg_machine *machine);
/* Verified IR through the passes and out as object, assembly or LLVM's text, in the arena. */
enum bl_status bl_cg_emit(struct bl_cg *cg, const struct bl_cg_machine *machine, const struct bl_cpu_request *request,
                          struct bl_cpu_answer *answer);
/* Takes down what LLVM says of a function with the attribute warn-stack-size. */
void bl_cg_frame_told(struct bl_cg_frames *frames, const char *text);

/* ---- compile.c: LLVM's context, an empty module for the machine, and where LLVM's messages go. cg has its arena and error. */
void bl_cg_open(struct bl_cg *cg, const struct bl_cg_machine *machine);
void bl_cg_close(struct bl_cg *cg);

/* ---- codegen.c: a prepared kir module and a kernel of it to an LLVM module */
enum bl_status bl_cg_unit(struct bl_cg *cg, struct bl_kir_module *module, const char *kernel, const struct bl_cpu_request *request,
                          struct bl_cpu_kernel_info *info);

#endif
