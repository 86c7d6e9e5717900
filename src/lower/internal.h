/* Inside the room lower only: the state of one lowering, where names stand, and reading and writing of operands. Each
 * file of the room lowers one group of instructions; table.c says which function lowers which opcode. */
#ifndef BAILEY_LOWER_INTERNAL_H
#define BAILEY_LOWER_INTERNAL_H

#include "lower/lower.h"

/* Where a PTX name stands; symbol->user points to one of these while a module is lowered. */
enum bl_lower_place_kind {
    BL_LOWER_NOWHERE, /* a texture, or module-scope .local: using it is unsupported */
    BL_LOWER_SYMBOL,  /* a module-scope or static variable */
    BL_LOWER_ENTRY,   /* a kernel's parameter, at `offset` in the parameter buffer */
    BL_LOWER_FRAME,   /* in this function's local memory, at `offset` */
    BL_LOWER_VAR,     /* a scalar .param that nobody takes the address of */
    BL_LOWER_POINTER, /* an array .param of this function: `value` is the local address of the caller's copy */
};
struct bl_lower_place {
    enum bl_lower_place_kind kind;
    struct bl_kir_symbol *symbol;
    struct bl_kir_var *var;
    struct bl_kir_value *value;
    uint32_t offset;
};

struct bl_lower_scope { /* an open { } */
    uint64_t frame;     /* in use before it */
    bool keep;          /* holds .local variables */
};

struct bl_lower {
    struct bl_arena *arena;
    struct bl_ptx_module *ptx;
    struct bl_kir_module *module;
    struct bl_error *error;

    /* the function at hand */
    struct bl_ptx_func *source;
    struct bl_kir_func *func;
    struct bl_kir_builder b;
    struct bl_kir_var ***registers; /* by symbol->index, then by component */
    struct bl_kir_block **labels;   /* by symbol->index */
    bool clusters;                  /* mapa stands somewhere in the module: a shared address may be another CTA's */
    struct bl_kir_var *carry;       /* CC.CF */
    uint64_t frame;                 /* bytes of local memory in use at this statement */
    BL_ARRAY(struct bl_lower_scope) scopes;
    BL_ARRAY(struct bl_kir_block *) order; /* blocks as the text has them */

    /* the instruction at hand */
    const struct bl_ptx_instr *instr;
    struct bl_kir_value *guard; /* what is written is selected by it; NULL: always written */
    const char *reason;         /* why it can't be lowered; NULL so far it can */
};

/* Lowers one instruction; false (or a call of bl_lower_refuse) makes it `unsupported`. What was built before is undone. */
typedef bool (*bl_lower_function)(struct bl_lower *l, const struct bl_ptx_instr *i);

enum bl_lower_class {
    BL_LOWER_UNSUPPORTED, /* no function: the opcode can't be lowered yet */
    BL_LOWER_PURE,        /* no effect but its results: a guard becomes a select */
    BL_LOWER_EFFECT,      /* a guard becomes a branch around it */
    BL_LOWER_NOTHING,     /* accepted, does nothing here: hints, and waits for what is already done */
    BL_LOWER_CONTROL,     /* sees its guard itself */
};
struct bl_lower_row {
    bl_lower_function function, float_function; /* the second where the first type of the instruction is a float */
    enum bl_lower_class class;
    const char *except; /* for the coverage page: which forms are unsupported; NULL none */
};
extern const struct bl_lower_row bl_lower_rows[BL_PTX_OPCODE_COUNT]; /* table.c, from table.def */

#define HAS(mod) bl_ptx_has(i, BL_PTX_MOD_##mod)

/* ---- operands (operand.c) ---------------------------------------------------------------- */

/* The kir type that holds a PTX type. */
enum bl_kir_type bl_lower_type(enum bl_ptx_type type);
bool bl_lower_is_signed(enum bl_ptx_type type);
bool bl_lower_is_float(enum bl_ptx_type type);
enum bl_kir_space bl_lower_space(enum bl_ptx_space space);
/* The space that an instruction names, GENERIC where it names none. */
enum bl_kir_space bl_lower_space_of(const struct bl_ptx_instr *i);
bool bl_lower_is_array(const struct bl_ptx_symbol *symbol); /* of a .param: passed by address */

/* Marks the instruction at hand as not lowered; gives an undefined value of the type, so that the caller can go on. */
struct bl_kir_value *bl_lower_refuse(struct bl_lower *l, enum bl_kir_type type, const char *reason);

/* value as type: the same bits where the sizes agree, else truncated, or extended (by sign where `sign`). */
struct bl_kir_value *bl_lower_resize(struct bl_lower *l, struct bl_kir_value *value, enum bl_kir_type type, bool sign);
struct bl_kir_value *bl_lower_read(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_type type);
/* Writes a destination: a register or `_`; a wider register gets the value extended. */
void bl_lower_write(struct bl_lower *l, const struct bl_ptx_operand *operand, struct bl_kir_value *value, bool sign);
/* The register's own kir type; VOID for anything else. */
enum bl_kir_type bl_lower_register_type(const struct bl_ptx_operand *operand);
struct bl_kir_var *bl_lower_register(struct bl_lower *l, const struct bl_ptx_symbol *symbol, uint32_t component);
struct bl_lower_place *bl_lower_place(const struct bl_ptx_symbol *symbol);
struct bl_kir_func *bl_lower_func(const struct bl_ptx_symbol *symbol);
/* A 32-bit count, index or mask: a register or a number. */
static inline struct bl_kir_value *bl_lower_read32(struct bl_lower *l, const struct bl_ptx_operand *operand)
{
    return bl_lower_read(l, operand, BL_KIR_I32);
}
/* CC.CF, the carry flag of the extended-precision instructions. */
struct bl_kir_value *bl_lower_read_carry(struct bl_lower *l);
void bl_lower_write_carry(struct bl_lower *l, struct bl_kir_value *carry);

/* An address: what an access needs to know. Accesses to scalar .params have kind VAR (then there is no base). */
struct bl_lower_address {
    enum bl_lower_place_kind kind; /* VAR, ENTRY (base NULL), or NOWHERE for a plain address in a value */
    struct bl_lower_place *place;
    struct bl_kir_value *base;
    int64_t offset;
    enum bl_kir_space space;
};
/* operand: ADDRESS (or SYMBOL); space: as the instruction says. False: refused. */
bool bl_lower_address(struct bl_lower *l, const struct bl_ptx_operand *operand, enum bl_kir_space space, bool param,
                      struct bl_lower_address *address);
/* cluster.c: a shared::cluster address (i32) as kir has it, and back. */
struct bl_kir_value *bl_lower_from_window(struct bl_lower *l, struct bl_kir_value *address);
struct bl_kir_value *bl_lower_to_window(struct bl_lower *l, struct bl_kir_value *address);
bool bl_lower_is_in_cluster(struct bl_lower *l, const struct bl_ptx_instr *i); /* isspacep.shared::cluster */
void bl_lower_find_clusters(struct bl_lower *l);
/* The address of a symbol in its own space (*space). */
struct bl_kir_value *bl_lower_address_of(struct bl_lower *l, const struct bl_ptx_symbol *symbol, int64_t offset,
                                         enum bl_kir_space *space);

/* ---- building, in short ------------------------------------------------------------------- */
static inline struct bl_kir_value *bl_lower_op(struct bl_lower *l, enum bl_kir_op op, const struct bl_kir_attr *attr,
                                               enum bl_kir_type type, struct bl_kir_value *x, struct bl_kir_value *y,
                                               struct bl_kir_value *z)
{
    return bl_kir_emit1(&l->b, op, attr, type, x, y, z);
}
struct bl_kir_value *bl_lower_const(struct bl_lower *l, enum bl_kir_type type, uint64_t bits);
struct bl_kir_value *bl_lower_float(struct bl_lower *l, enum bl_kir_type type, double number);
static inline struct bl_kir_value *bl_lower_select(struct bl_lower *l, struct bl_kir_value *pred, struct bl_kir_value *yes,
                                                   struct bl_kir_value *no)
{
    return bl_kir_emit1(&l->b, BL_KIR_OP_select, NULL, yes->type, pred, yes, no);
}
struct bl_kir_value *bl_lower_compare(struct bl_lower *l, enum bl_kir_cmp cmp, struct bl_kir_value *x, struct bl_kir_value *y);
/* One op of `count` results of one type. */
struct bl_kir_instr *bl_lower_unpack(struct bl_lower *l, struct bl_kir_value *value, enum bl_kir_type part);
struct bl_kir_value *bl_lower_pack(struct bl_lower *l, enum bl_kir_type type, uint32_t count, struct bl_kir_value *const *parts);
/* attr.round, ftz, sat, relu, nan, xorsign, approx, full as the instruction's modifiers say. */
struct bl_kir_attr bl_lower_float_attr(const struct bl_ptx_instr *i);

/* A scalar of `bits` that is a part of a wider integer, at a byte offset; and the whole with that part replaced. */
struct bl_kir_value *bl_lower_part(struct bl_lower *l, struct bl_kir_value *whole, int64_t offset, enum bl_kir_type type);
struct bl_kir_value *bl_lower_set_part(struct bl_lower *l, struct bl_kir_value *whole, int64_t offset, struct bl_kir_value *part);

bool bl_lower_is_small(enum bl_ptx_type type); /* smallfloat.c: a pair of at most 8-bit floats */
bool bl_lower_cvt_small(struct bl_lower *l, const struct bl_ptx_instr *i);
/* Transactions of `bytes` are done at the barrier object. */
void bl_lower_complete_tx(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *bytes);
bool bl_lower_copy_map(struct bl_lower *l, const struct bl_ptx_instr *i); /* bulk.c: tensormap.cp_fenceproxy */
bool bl_lower_bulk(struct bl_lower *l, const struct bl_ptx_instr *i);     /* bulk.c: cp.async.bulk, cp.reduce.async.bulk */
bool bl_lower_st_async(struct bl_lower *l, const struct bl_ptx_instr *i); /* with a barrier object */
bool bl_lower_atom_of(const struct bl_ptx_instr *i, enum bl_kir_atom *atom);
bool bl_lower_copy_arrive(struct bl_lower *l, const struct bl_ptx_instr *i); /* mbarrier.c */

/* ---- variables (lower.c), functions and instructions (function.c) ----------------------------- */
void bl_lower_variable(struct bl_lower *l, struct bl_ptx_symbol *source);
enum bl_status bl_lower_initialise(struct bl_lower *l, const struct bl_ptx_symbol *source);
void bl_lower_proto(struct bl_lower *l, const struct bl_ptx_func *source, struct bl_kir_proto *proto);
/* Forgets what an earlier lowering of the same tree left in it. */
void bl_lower_forget(struct bl_ptx_func *source);
enum bl_status bl_lower_body(struct bl_lower *l, struct bl_ptx_func *source);
void bl_lower_instruction(struct bl_lower *l, const struct bl_ptx_instr *i);
/* What follows goes into block, which stands next in the text. */
void bl_lower_start_block(struct bl_lower *l, struct bl_kir_block *block);
bool bl_lower_block_is_open(const struct bl_lower *l); /* no block end yet */
/* The guard's register, not negated. */
struct bl_kir_value *bl_lower_guard(struct bl_lower *l, const struct bl_ptx_instr *i);
/* Opens a block that only threads for which the guard holds enter; gives the one that comes after it. */
struct bl_kir_block *bl_lower_branch_around(struct bl_lower *l, const struct bl_ptx_instr *i);
void bl_lower_return(struct bl_lower *l);
/* Whether the first operand is written. */
bool bl_lower_has_destination(const struct bl_ptx_instr *i);
/* What the user can do where this instruction is refused, or NULL. */
const char *bl_lower_advice(const struct bl_ptx_instr *i);

/* ---- the functions that table.def names, each in its group's file ----------------------------- */
#define NOTHING(opcode)
#define ROW(opcode, function, float_function, class, except)                                                                       \
    bool bl_lower_##function(struct bl_lower *l, const struct bl_ptx_instr *i);                                                    \
    bool bl_lower_##float_function(struct bl_lower *l, const struct bl_ptx_instr *i);
#include "table.def"
#undef NOTHING
#undef ROW

#endif
