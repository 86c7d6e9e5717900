/* kir: the one form of a kernel. Front ends make it, targets consume it; neither knows the other.
 * Per-thread, typed SSA over a control-flow graph. Everything lives in the module's arena; an arena
 * with no_memory set makes every function here safe against memory running out.
 *
 * Addresses are integers in a state space:
 *   global, const   64-bit, the device address
 *   shared          offset from the CTA's shared memory (i32 or i64); dynamic shared memory starts after
 *                   the static variables, aligned to 16
 *                   the static variables, aligned to 16. In a cluster the memory of the CTA with rank r stands
 *                   (r - own rank) << BL_KIR_CLUSTER_SHIFT after the own
 *   local           offset in the thread's local memory (i32 or i64)
 *   generic         64-bit; a target chooses how shared and local stand in it
 *   param           offset in the kernel's parameters
 * Kernel parameters are read with `param`, or with a load in space param where the offset is computed; a kernel that takes a
 * parameter's address uses to_generic of space param on the offset.
 *
 * Function parameters that are scalars are values. One that is an array (a struct by value) is passed as an
 * i64: the local address of the caller's copy; an array result is a first, hidden i64 parameter.
 *
 * A function's address is its number in its module, stable across the module's kernels (kir_func.number).
 */
#ifndef BAILEY_KIR_H
#define BAILEY_KIR_H

#include "base/base.h"

enum bl_kir_type {
    BL_KIR_VOID,
    BL_KIR_PRED,
    BL_KIR_I8,
    BL_KIR_I16,
    BL_KIR_I32,
    BL_KIR_I64,
    BL_KIR_I128,
    BL_KIR_F16,
    BL_KIR_BF16,
    BL_KIR_F32,
    BL_KIR_F64,
    BL_KIR_F16X2,
    BL_KIR_BF16X2,
    BL_KIR_TYPE_COUNT
};

enum bl_kir_op {
#define OP(name, operands, results, flags) BL_KIR_OP_##name,
#include "ops.def"
#undef OP
    BL_KIR_OP_COUNT
};

enum bl_kir_op_flags {
    BL_KIR_READ = 1,
    BL_KIR_WRITE = 2,
    BL_KIR_EFFECT = 4,
    BL_KIR_CONVERGENT = 8,
    BL_KIR_TERM = 16,
    BL_KIR_COMMUTE = 32,
    BL_KIR_UNIFORM = 64,
    BL_KIR_VARYING = 128,
    BL_KIR_WARP_UNIFORM = 256,
};

enum bl_kir_space {
    BL_KIR_GENERIC,
    BL_KIR_GLOBAL,
    BL_KIR_SHARED,
    BL_KIR_LOCAL,
    BL_KIR_CONST,
    BL_KIR_PARAM, /* kernel parameters only */
};

enum { BL_KIR_CLUSTER_SHIFT = 19, BL_KIR_CLUSTER_CTAS = 16 }; /* more than a CTA's shared memory; the most CTAs of a cluster */

enum bl_kir_round { BL_KIR_RN, BL_KIR_RZ, BL_KIR_RM, BL_KIR_RP, BL_KIR_RNA };

enum bl_kir_cmp {
    BL_KIR_EQ,
    BL_KIR_NE,
    BL_KIR_LT,
    BL_KIR_LE,
    BL_KIR_GT,
    BL_KIR_GE, /* signed, or ordered float */
    BL_KIR_LO,
    BL_KIR_LS,
    BL_KIR_HI,
    BL_KIR_HS, /* unsigned */
    BL_KIR_EQU,
    BL_KIR_NEU,
    BL_KIR_LTU,
    BL_KIR_LEU,
    BL_KIR_GTU,
    BL_KIR_GEU, /* or unordered */
    BL_KIR_NUM,
    BL_KIR_NAN,
};

enum bl_kir_order { BL_KIR_WEAK, BL_KIR_VOLATILE, BL_KIR_RELAXED, BL_KIR_ACQUIRE, BL_KIR_RELEASE, BL_KIR_ACQ_REL, BL_KIR_SEQ_CST };
enum bl_kir_scope { BL_KIR_SCOPE_CTA, BL_KIR_SCOPE_CLUSTER, BL_KIR_SCOPE_GPU, BL_KIR_SCOPE_SYS };
enum bl_kir_cache { BL_KIR_CACHE_DEFAULT, BL_KIR_CACHE_STREAMING };

enum bl_kir_atom {
    BL_KIR_ATOM_EXCH,
    BL_KIR_ATOM_CAS,
    BL_KIR_ATOM_ADD,
    BL_KIR_ATOM_FADD,
    BL_KIR_ATOM_INC,
    BL_KIR_ATOM_DEC,
    BL_KIR_ATOM_MIN_S,
    BL_KIR_ATOM_MIN_U,
    BL_KIR_ATOM_MAX_S,
    BL_KIR_ATOM_MAX_U,
    BL_KIR_ATOM_AND,
    BL_KIR_ATOM_OR,
    BL_KIR_ATOM_XOR,
    BL_KIR_ATOM_FMIN,
    BL_KIR_ATOM_FMAX
};
/* What a texture or surface op does: attr.imm is BL_KIR_IMAGE(action, geometry, as_int, part, bytes, outside). */
enum bl_kir_image_action {
    BL_KIR_IMAGE_FETCH,     /* at float coordinates, of the base level */
    BL_KIR_IMAGE_FETCH_INT, /* at integer texels, never filtered */
    BL_KIR_IMAGE_LEVEL,     /* the level follows the coordinates */
    BL_KIR_IMAGE_GRAD,      /* two gradients of as many numbers as coordinates follow */
    BL_KIR_IMAGE_GATHER,    /* `part` of the four texels of a bilinear footprint */
    BL_KIR_IMAGE_QUERY,     /* `part`: which property, enum bl_kir_image_property; of the level that follows, if any */
    BL_KIR_IMAGE_LOAD,      /* the rest are of surfaces: x in bytes; `bytes` in all */
    BL_KIR_IMAGE_STORE,
    BL_KIR_IMAGE_REDUCE,        /* `part`: which, enum bl_kir_image_reduction; of one element of `bytes` */
    BL_KIR_IMAGE_SURFACE_QUERY, /* as QUERY */
};
enum bl_kir_image_geometry {
    BL_KIR_IMAGE_1D,
    BL_KIR_IMAGE_2D,
    BL_KIR_IMAGE_3D,
    BL_KIR_IMAGE_A1D, /* arrays of layers: the layer stands before the coordinates */
    BL_KIR_IMAGE_A2D,
    BL_KIR_IMAGE_CUBE,
    BL_KIR_IMAGE_ACUBE,
};
enum bl_kir_image_property {
    BL_KIR_IMAGE_WIDTH,
    BL_KIR_IMAGE_HEIGHT,
    BL_KIR_IMAGE_DEPTH,
    BL_KIR_IMAGE_LAYERS,
    BL_KIR_IMAGE_LEVELS,
    BL_KIR_IMAGE_NORMALIZED, /* coordinates: 1 or 0 */
};
enum bl_kir_image_reduction {
    BL_KIR_IMAGE_ADD,
    BL_KIR_IMAGE_MIN_S,
    BL_KIR_IMAGE_MIN_U,
    BL_KIR_IMAGE_MAX_S,
    BL_KIR_IMAGE_MAX_U,
    BL_KIR_IMAGE_AND,
    BL_KIR_IMAGE_OR
};
enum bl_kir_image_outside { BL_KIR_IMAGE_TRAP, BL_KIR_IMAGE_CLAMP, BL_KIR_IMAGE_ZERO }; /* surfaces: what lies outside */
#define BL_KIR_IMAGE(action, geometry, as_int, part, bytes, outside)                                                               \
    ((uint64_t)(action) | (uint64_t)(geometry) << 4 | (uint64_t)(as_int) << 8 | (uint64_t)(part) << 12 | (uint64_t)(bytes) << 16 | \
     (uint64_t)(outside) << 24)
#define BL_KIR_IMAGE_ACTION(code) ((enum bl_kir_image_action)((code)&15))
#define BL_KIR_IMAGE_GEOMETRY(code) ((enum bl_kir_image_geometry)((code) >> 4 & 15))
#define BL_KIR_IMAGE_AS_INT(code) (((code) >> 8 & 1) != 0)
#define BL_KIR_IMAGE_PART(code) ((uint32_t)((code) >> 12 & 15))
#define BL_KIR_IMAGE_BYTES(code) ((uint32_t)((code) >> 16 & 255))
#define BL_KIR_IMAGE_OUTSIDE(code) ((enum bl_kir_image_outside)((code) >> 24 & 3))

/* What a multiplication of matrices does: attr.imm is made of the fields below. D = A * B + C with m rows (8 or 16), 8 columns; the
 * fragments lie in the lanes as PTX ISA, 9.7.14.5, says of mma.m8n8k* and mma.m16n8k*. */
enum bl_kir_matrix_type {
    BL_KIR_MATRIX_F16,
    BL_KIR_MATRIX_BF16,
    BL_KIR_MATRIX_TF32,
    BL_KIR_MATRIX_E4M3,
    BL_KIR_MATRIX_E5M2,
    BL_KIR_MATRIX_S8,
    BL_KIR_MATRIX_U8,
    BL_KIR_MATRIX_S4,
    BL_KIR_MATRIX_U4,
    BL_KIR_MATRIX_B1,
    BL_KIR_MATRIX_F64, /* two words an element */
    BL_KIR_MATRIX_F32,
    BL_KIR_MATRIX_S32,
    BL_KIR_MATRIX_TYPES
};
enum bl_kir_matrix_flags {
    BL_KIR_MATRIX_M16 = 1,       /* 16 rows, else 8 */
    BL_KIR_MATRIX_SATURATE = 2,  /* integers */
    BL_KIR_MATRIX_AND = 4,       /* b1: popc of and, else of xor */
    BL_KIR_MATRIX_SPARSE = 8,    /* A holds half of its columns; a word more, the last operand, says which */
    BL_KIR_MATRIX_QUADS = 16,    /* m8n8k4 of f16: four products, each by two groups of four lanes */
    BL_KIR_MATRIX_A_COLUMN = 32, /* QUADS alone: how A and B lie in the lanes */
    BL_KIR_MATRIX_B_COLUMN = 64,
};
#define BL_KIR_MATRIX(d, a, b, c, k, flags, selector, round)                                                                       \
    ((uint64_t)(d) | (uint64_t)(a) << 4 | (uint64_t)(b) << 8 | (uint64_t)(c) << 12 | (uint64_t)(k) << 16 |                         \
     (uint64_t)(flags) << 28 | (uint64_t)(selector) << 36 | (uint64_t)(round) << 40)
#define BL_KIR_MATRIX_D(code) ((enum bl_kir_matrix_type)((code)&15))
#define BL_KIR_MATRIX_A(code) ((enum bl_kir_matrix_type)((code) >> 4 & 15))
#define BL_KIR_MATRIX_B(code) ((enum bl_kir_matrix_type)((code) >> 8 & 15))
#define BL_KIR_MATRIX_C(code) ((enum bl_kir_matrix_type)((code) >> 12 & 15))
#define BL_KIR_MATRIX_K(code) ((uint32_t)((code) >> 16 & 0xfff)) /* columns of A */
#define BL_KIR_MATRIX_FLAGS(code) ((uint32_t)((code) >> 28 & 0xff))
#define BL_KIR_MATRIX_SELECTOR(code) ((uint32_t)((code) >> 36 & 3))       /* of the lanes that hold the word more */
#define BL_KIR_MATRIX_ROUND(code) ((enum bl_kir_round)((code) >> 40 & 7)) /* of f64 */

/* What a bulk op does: attr.imm is BL_KIR_BULK(action, atom, type, dimensions); atom and type of the reducing ones. Operands: */
enum bl_kir_bulk_action {
    BL_KIR_BULK_COPY,        /* to, from, bytes, mask of the bytes of each 16 that are copied */
    BL_KIR_BULK_REDUCE,      /* to, from, bytes */
    BL_KIR_BULK_TILE_LOAD,   /* to (shared), tensor map, coordinates */
    BL_KIR_BULK_TILE_STORE,  /* from (shared), tensor map, coordinates */
    BL_KIR_BULK_TILE_REDUCE, /* the same; the map says the type and the sign: atom is add, min_s, max_s, inc, dec, and, or, xor */
};
#define BL_KIR_BULK(action, atom, type, dimensions)                                                                                \
    ((uint64_t)(action) | (uint64_t)(atom) << 4 | (uint64_t)(type) << 8 | (uint64_t)(dimensions) << 16)
#define BL_KIR_BULK_ACTION(code) ((enum bl_kir_bulk_action)((code)&15))
#define BL_KIR_BULK_ATOM(code) ((enum bl_kir_atom)((code) >> 4 & 15))
#define BL_KIR_BULK_TYPE(code) ((enum bl_kir_type)((code) >> 8 & 255))
#define BL_KIR_BULK_DIMENSIONS(code) ((uint32_t)((code) >> 16 & 15))

enum bl_kir_shfl { BL_KIR_SHFL_UP, BL_KIR_SHFL_DOWN, BL_KIR_SHFL_BFLY, BL_KIR_SHFL_IDX };
enum bl_kir_vote { BL_KIR_VOTE_ALL, BL_KIR_VOTE_ANY, BL_KIR_VOTE_UNI, BL_KIR_VOTE_BALLOT, BL_KIR_VOTE_POPC };
enum bl_kir_prmt {
    BL_KIR_PRMT_INDEX,
    BL_KIR_PRMT_F4E,
    BL_KIR_PRMT_B4E,
    BL_KIR_PRMT_RC8,
    BL_KIR_PRMT_ECL,
    BL_KIR_PRMT_ECR,
    BL_KIR_PRMT_RC16
};
enum bl_kir_testp {
    BL_KIR_TESTP_FINITE,
    BL_KIR_TESTP_INFINITE,
    BL_KIR_TESTP_NUMBER,
    BL_KIR_TESTP_NOTANUMBER,
    BL_KIR_TESTP_NORMAL,
    BL_KIR_TESTP_SUBNORMAL
};

/* Special registers. 1-D parts of a vector register follow each other: x, y, z. */
enum bl_kir_sreg {
    BL_KIR_SREG_TID_X,
    BL_KIR_SREG_TID_Y,
    BL_KIR_SREG_TID_Z,
    BL_KIR_SREG_NTID_X,
    BL_KIR_SREG_NTID_Y,
    BL_KIR_SREG_NTID_Z,
    BL_KIR_SREG_CTAID_X,
    BL_KIR_SREG_CTAID_Y,
    BL_KIR_SREG_CTAID_Z,
    BL_KIR_SREG_NCTAID_X,
    BL_KIR_SREG_NCTAID_Y,
    BL_KIR_SREG_NCTAID_Z,
    BL_KIR_SREG_LANEID,
    BL_KIR_SREG_WARPID,
    BL_KIR_SREG_NWARPID,
    BL_KIR_SREG_SMID,
    BL_KIR_SREG_NSMID,
    BL_KIR_SREG_GRIDID, /* i64 */
    BL_KIR_SREG_LANEMASK_EQ,
    BL_KIR_SREG_LANEMASK_LE,
    BL_KIR_SREG_LANEMASK_LT,
    BL_KIR_SREG_LANEMASK_GE,
    BL_KIR_SREG_LANEMASK_GT,
    BL_KIR_SREG_CLOCK,
    BL_KIR_SREG_CLOCK_HI,
    BL_KIR_SREG_CLOCK64,
    BL_KIR_SREG_GLOBALTIMER,
    BL_KIR_SREG_GLOBALTIMER_LO,
    BL_KIR_SREG_GLOBALTIMER_HI,
    BL_KIR_SREG_DYNAMIC_SMEM_SIZE,
    BL_KIR_SREG_TOTAL_SMEM_SIZE,
    BL_KIR_SREG_AGGR_SMEM_SIZE,
    BL_KIR_SREG_CLUSTERID_X,
    BL_KIR_SREG_CLUSTERID_Y,
    BL_KIR_SREG_CLUSTERID_Z,
    BL_KIR_SREG_NCLUSTERID_X,
    BL_KIR_SREG_NCLUSTERID_Y,
    BL_KIR_SREG_NCLUSTERID_Z,
    BL_KIR_SREG_CLUSTER_CTAID_X,
    BL_KIR_SREG_CLUSTER_CTAID_Y,
    BL_KIR_SREG_CLUSTER_CTAID_Z,
    BL_KIR_SREG_CLUSTER_NCTAID_X,
    BL_KIR_SREG_CLUSTER_NCTAID_Y,
    BL_KIR_SREG_CLUSTER_NCTAID_Z,
    BL_KIR_SREG_CLUSTER_CTARANK,
    BL_KIR_SREG_CLUSTER_NCTARANK,
    BL_KIR_SREG_IS_EXPLICIT_CLUSTER, /* pred */
    BL_KIR_SREG_PM,                  /* pm0..: reads zero */
    BL_KIR_SREG_ENVREG, /* envreg0..31: attr.imm says which; 1 and 2 hold the address of a cooperative grid's workspace */
    BL_KIR_SREG_COUNT
};

/* What an op says beyond its operands. Only the fields that its line in ops.def names mean something;
 * the others are zero. */
struct bl_kir_attr {
    uint64_t imm, imm_hi; /* const's bits; offset; table */
    struct bl_kir_symbol *symbol;
    struct bl_kir_func *func;
    struct bl_kir_proto *proto;
    struct bl_kir_var *var;
    const char *text; /* NUL-terminated, in the module's arena */
    uint8_t type;     /* element type of a load, store, param, atomic */
    uint8_t vec;      /* number of elements, at least 1 where it means something */
    uint8_t space, round, cmp, order, scope, cache, atom, shfl, vote, prmt, testp, sreg;
    uint32_t align; /* bytes */
    bool ftz, sat, approx, full, nan, relu, xorsign, wrap, shiftamt, a_signed, b_signed, hi, nc, arrive, aligned;
};

/* One result of an instruction, or a function's parameter. */
struct bl_kir_value {
    enum bl_kir_type type;
    uint32_t id;              /* dense in its function, < func->value_count */
    uint32_t result;          /* which result of def */
    struct bl_kir_instr *def; /* NULL: a parameter of the function */
    const char *name;         /* for the text form; may be NULL */
};

struct bl_kir_instr {
    enum bl_kir_op op;
    uint32_t operand_count, result_count, target_count;
    struct bl_kir_value **operands;
    struct bl_kir_value **results;
    struct bl_kir_block **targets; /* of a block end; each edge counts: the same block may stand twice */
    struct bl_kir_attr *attr;      /* never NULL */
    struct bl_kir_block *block;
    struct bl_kir_instr *prev, *next;
    uint32_t line; /* in the source text, 0 unknown */
};

struct bl_kir_block {
    uint32_t id; /* dense, index in func->blocks */
    const char *name;
    struct bl_kir_func *func;
    struct bl_kir_instr *first, *last;     /* phis first, one block end last */
    BL_ARRAY(struct bl_kir_block *) preds; /* one entry an edge; bl_kir_update_preds makes them */
};

/* A mutable register of a front end; gone after bl_kir_ssa. */
struct bl_kir_var {
    enum bl_kir_type type;
    uint32_t id;
    const char *name;
};

/* Types of a function's parameters and results, for indirect calls. */
struct bl_kir_proto {
    const char *name;
    uint32_t param_count, result_count;
    enum bl_kir_type *params, *results;
};

struct bl_kir_param { /* of a kernel: where it stands in the parameter buffer */
    const char *name;
    uint32_t offset, size, align;
};

struct bl_kir_func {
    const char *name;
    struct bl_kir_module *module;
    bool is_kernel, is_declaration, noreturn;
    uint32_t number;           /* 1-based in its PTX module, given by the front end; 0: not known */
    struct bl_kir_proto proto; /* of a kernel: no parameters, no results */
    BL_ARRAY(struct bl_kir_value *) params;
    BL_ARRAY(struct bl_kir_param) kernel_params;
    uint32_t param_bytes;
    BL_ARRAY(struct bl_kir_block *) blocks; /* the entry first */
    BL_ARRAY(struct bl_kir_var *) vars;
    uint32_t value_count;
    uint32_t frame_size, frame_align;                                      /* local memory of one activation, bytes a thread */
    uint32_t max_threads[3], required_threads[3], min_ctas, max_registers; /* .maxntid and kin; 0 unset */
    uint32_t line;
};

/* A pointer in a variable's initial bytes. */
struct bl_kir_reloc {
    uint32_t offset, size;        /* bytes */
    struct bl_kir_symbol *symbol; /* one of the two */
    struct bl_kir_func *func;
    int64_t addend;
    bool generic; /* generic(symbol) rather than its address in its space */
};

/* A module-scope variable, or a function's static one. */
struct bl_kir_symbol {
    const char *name;
    enum bl_kir_space space;
    uint64_t size; /* bytes; 0 for extern .shared x[] */
    uint32_t align;
    bool is_extern;
    uint8_t *init; /* size bytes, or NULL: zero */
    BL_ARRAY(struct bl_kir_reloc) relocs;
    uint64_t offset; /* shared: place in the CTA's memory, once laid out by bl_kir_layout_shared */
    uint32_t index;  /* free for the target's use */
};

struct bl_kir_module {
    struct bl_arena *arena; /* the caller's */
    const char *name;
    BL_ARRAY(struct bl_kir_func *) funcs;
    BL_ARRAY(struct bl_kir_symbol *) symbols;
    struct bl_map func_names, symbol_names;
};

/* ---- tables (types.c) -------------------------------------------------------------------- */
struct bl_kir_op_info {
    const char *name, *operands, *results;
    uint32_t flags;
};
extern const struct bl_kir_op_info bl_kir_ops[BL_KIR_OP_COUNT];
uint32_t bl_kir_type_bits(enum bl_kir_type type); /* pred: 1, void: 0 */
const char *bl_kir_type_name(enum bl_kir_type type);
bool bl_kir_type_is_float(enum bl_kir_type type);
bool bl_kir_type_is_int(enum bl_kir_type type);
/* The integer type of as many bits; pred stays pred. */
enum bl_kir_type bl_kir_type_int(uint32_t bits);
const char *bl_kir_sreg_name(enum bl_kir_sreg sreg); /* as PTX writes it, without the % */

/* ---- building (build.c) ------------------------------------------------------------------ */
struct bl_kir_module *bl_kir_module_new(struct bl_arena *arena, const char *name);
struct bl_kir_func *bl_kir_func_new(struct bl_kir_module *module, const char *name, bool is_kernel);
/* The name maps keep the first of two symbols or functions of one name. */
struct bl_kir_symbol *bl_kir_symbol_new(struct bl_kir_module *module, const char *name, enum bl_kir_space space, uint64_t size,
                                        uint32_t align);
struct bl_kir_value *bl_kir_param_new(struct bl_kir_func *func, enum bl_kir_type type, const char *name);
struct bl_kir_block *bl_kir_block_new(struct bl_kir_func *func, const char *name);
struct bl_kir_var *bl_kir_var_new(struct bl_kir_func *func, enum bl_kir_type type, const char *name);

/* Where the next instruction goes: at the end of a block, or before an instruction. */
struct bl_kir_builder {
    struct bl_kir_func *func;
    struct bl_kir_block *block;
    struct bl_kir_instr *before; /* NULL: at the end */
    uint32_t line;               /* given to what is built */
};
/* Any op. attr may be NULL (all zero) and is copied. result_types has result_count entries.
 * The results are instr->results[]. */
struct bl_kir_instr *bl_kir_emit(struct bl_kir_builder *b, enum bl_kir_op op, const struct bl_kir_attr *attr, uint32_t result_count,
                                 const enum bl_kir_type *result_types, uint32_t operand_count,
                                 struct bl_kir_value *const *operands);
/* Ops of one result and up to three operands (NULL ends them). */
struct bl_kir_value *bl_kir_emit1(struct bl_kir_builder *b, enum bl_kir_op op, const struct bl_kir_attr *attr,
                                  enum bl_kir_type type, struct bl_kir_value *x, struct bl_kir_value *y, struct bl_kir_value *z);
struct bl_kir_value *bl_kir_const(struct bl_kir_builder *b, enum bl_kir_type type, uint64_t bits);
struct bl_kir_value *bl_kir_getvar(struct bl_kir_builder *b, struct bl_kir_var *var);
void bl_kir_setvar(struct bl_kir_builder *b, struct bl_kir_var *var, struct bl_kir_value *value);
void bl_kir_jump(struct bl_kir_builder *b, struct bl_kir_block *target);
void bl_kir_branch(struct bl_kir_builder *b, struct bl_kir_value *pred, struct bl_kir_block *yes, struct bl_kir_block *no);
void bl_kir_switch(struct bl_kir_builder *b, struct bl_kir_value *index, uint32_t count, struct bl_kir_block *const *targets);
void bl_kir_remove(struct bl_kir_instr *instr);
void bl_kir_replace_uses(struct bl_kir_func *func, struct bl_kir_value *old, struct bl_kir_value *by);
/* Predecessors in one order: by block, then by target. Phi operands follow it, so a pass that adds an edge adds
 * the operand at that place, and one that removes an edge removes it. */
void bl_kir_update_preds(struct bl_kir_func *func);
/* Renumbers blocks and values densely, in order; drops unreachable blocks and their phi operands. */
void bl_kir_renumber(struct bl_kir_func *func);

/* ---- text (print.c, parse.c) ------------------------------------------------------------- */
void bl_kir_print(struct bl_buffer *out, const struct bl_kir_module *module);
void bl_kir_print_func(struct bl_buffer *out, const struct bl_kir_func *func);
/* BL_SYNTAX with line and column. The module lives in arena. */
enum bl_status bl_kir_parse(struct bl_arena *arena, struct bl_sv text, struct bl_kir_module **module, struct bl_error *error);

/* ---- rules (validate.c) ------------------------------------------------------------------ */
/* BL_INVALID and a message that names the rule, the function, and the op in text form. */
enum bl_status bl_kir_validate(const struct bl_kir_module *module, struct bl_error *error);

/* ---- analyses: each allocates its answer in the module's arena ------------------------------ */
struct bl_kir_dom { /* dominators.c; needs preds */
    uint32_t block_count, reachable_count;
    uint32_t *idom;                   /* by block id; the entry's is itself; UINT32_MAX unreachable */
    uint32_t *ipdom;                  /* immediate post-dominator, UINT32_MAX: the exit */
    uint32_t *rpo, *rpo_index;        /* order -> block, block -> order; UINT32_MAX unreachable */
    uint32_t *tree_first, *tree_last; /* preorder number in the dominator tree; the last one below the block */
};
struct bl_kir_dom *bl_kir_dominators(struct bl_kir_func *func);
bool bl_kir_dominates(const struct bl_kir_dom *dom, uint32_t a, uint32_t b);

struct bl_kir_loop { /* loops.c; needs dominators. Natural loops; irreducible cycles are
                        given as loops with irreducible set and the first block in rpo as header */
    struct bl_kir_loop *parent;
    struct bl_kir_block *header;
    BL_ARRAY(struct bl_kir_block *) blocks; /* with those of inner loops */
    uint32_t depth;                         /* outermost 1 */
    uint32_t index;                         /* in bl_kir_loops.loops */
    bool irreducible;
    bool spins; /* its exit depends on memory that it also reads inside (volatile, atomic or
                   relaxed loads, atomics) and may wait for another thread */
};
struct bl_kir_loops {
    BL_ARRAY(struct bl_kir_loop *) loops; /* outer before inner */
    struct bl_kir_loop **of_block;        /* innermost, by block id; NULL none */
};
struct bl_kir_loops *bl_kir_find_loops(struct bl_kir_func *func, const struct bl_kir_dom *dom);

enum bl_kir_shape { BL_KIR_SHAPE_UNIFORM, BL_KIR_SHAPE_AFFINE, BL_KIR_SHAPE_VARYING };
/* What is claimed holds for a target that runs a warp like this: lanes that meet in a block run it together, once for each
 * iteration of the loops around it, and lanes that have left a loop wait until all have left it. UNIFORM: the same in all lanes
 * that run the op together. A value of a divergent loop that an op outside the loop uses (not through a phi at the loop's exit)
 * is VARYING, and each lane must see its value of the iteration in which it left. */
struct bl_kir_divergence { /* divergence.c; needs dominators, loops */
    uint8_t *shape;        /* enum bl_kir_shape by value id */
    int64_t *stride;       /* AFFINE: the value in lane i is the value in lane 0 + i * stride, modulo 2^width of its type (no wrap
                              inside a warp can be assumed only for addresses). Lane 0 counts even if it does not run */
    struct bl_kir_value **guard; /* by value id, with options.guards only. Not NULL: the result of a sext or zext that this AFFINE
                                    value comes from (or is). The claim holds only where the operand x of that op does not wrap
                                    between lanes 0 and 31: for sext, (x in lane 0) + 31 * stride[x] as i64 still fits x's type,
                                    signed; for zext, unsigned. One check of a scalar, where the guard is defined */
    uint8_t *divergent_branch;   /* by block id: its lanes may leave to different targets */
    uint8_t *divergent_block;    /* by block id: may run with a part of the lanes that entered the function */
    uint8_t *divergent_join;     /* by block id: lanes that run it together may have come over different edges */
    uint8_t *divergent_loop;     /* by loop index: lanes may leave it in different iterations or over different edges */
};
struct bl_kir_divergence_options {
    bool linear_cta;     /* the launch has ntid.x a multiple of 32, or ntid.y = ntid.z = 1: tid.x is affine with
                            stride 1 and tid.y, tid.z are uniform in a warp */
    bool params_varying; /* a device function called from divergent code: parameters vary by lane */
    bool guards;         /* claim AFFINE under a guard; without it such values are VARYING */
};
struct bl_kir_divergence *bl_kir_find_divergence(struct bl_kir_func *func, const struct bl_kir_dom *dom,
                                                 const struct bl_kir_loops *loops, const struct bl_kir_divergence_options *options);

/* ---- passes: run in this order after lowering (bl_kir_prepare does all) ---------------------- */
enum bl_status bl_kir_ssa(struct bl_kir_func *func, struct bl_error *error); /* getvar, setvar -> phis */
/* Bodies in the place of calls: of functions at which lanes meet or that wait for other threads, and of small ones. */
void bl_kir_inline(struct bl_kir_module *module);
void bl_kir_simplify(struct bl_kir_func *func);     /* constants, copies, bitcast pairs, shift-add addresses */
void bl_kir_thread_jumps(struct bl_kir_func *func); /* edges through blocks that hold nothing but a jump */
void bl_kir_dce(struct bl_kir_func *func);          /* ops without effect or use, unreachable blocks */
void bl_kir_infer_spaces(struct bl_kir_func *func); /* generic loads and stores whose space is known */
void bl_kir_infer_align(struct bl_kir_func *func);  /* raises attr.align where provable */
/* Gives each shared symbol its offset; returns the static size in bytes. Extern arrays start after it. */
uint64_t bl_kir_layout_shared(struct bl_kir_module *module);
enum bl_status bl_kir_prepare(struct bl_kir_module *module, struct bl_error *error);

#endif
