/* PTX text to a checked syntax tree. Uses base only; may be called by lower, by the driver (lazily, for names,
 * parameters and variables) and by the command line tools. Source: NVIDIA's PTX ISA document, 9.0.
 *
 * The instruction set stands in one table, isa.def; each instruction of a tree points at its row. Names in the tree
 * (struct bl_sv) point into the source text, which must outlive the module.
 */
#ifndef BAILEY_PTX_H
#define BAILEY_PTX_H

#include "base/base.h"

enum bl_ptx_type {
    BL_PTX_NONE,
    BL_PTX_B8,
    BL_PTX_B16,
    BL_PTX_B32,
    BL_PTX_B64,
    BL_PTX_B128,
    BL_PTX_U8,
    BL_PTX_U16,
    BL_PTX_U32,
    BL_PTX_U64,
    BL_PTX_S8,
    BL_PTX_S16,
    BL_PTX_S32,
    BL_PTX_S64,
    BL_PTX_F16,
    BL_PTX_F16X2,
    BL_PTX_BF16,
    BL_PTX_BF16X2,
    BL_PTX_F32,
    BL_PTX_F64,
    BL_PTX_TF32,
    BL_PTX_F32X2,
    BL_PTX_E4M3,
    BL_PTX_E5M2,
    BL_PTX_E4M3X2,
    BL_PTX_E5M2X2,
    BL_PTX_E2M1X2,
    BL_PTX_E2M3X2,
    BL_PTX_E3M2X2,
    BL_PTX_UE8M0X2,
    BL_PTX_U16X2,
    BL_PTX_S16X2,
    BL_PTX_U8X4,
    BL_PTX_S8X4,
    BL_PTX_U4,
    BL_PTX_S4,
    BL_PTX_B1,
    BL_PTX_PRED,
    BL_PTX_TEXREF,
    BL_PTX_SAMPLERREF,
    BL_PTX_SURFREF,
    /* elements of matrices and scales (mma, tcgen05), and four at a time (cvt.rs) */
    BL_PTX_E2M1,
    BL_PTX_E2M3,
    BL_PTX_E3M2,
    BL_PTX_UE8M0,
    BL_PTX_UE4M3,
    BL_PTX_E2M1X4,
    BL_PTX_E2M3X4,
    BL_PTX_E3M2X4,
    BL_PTX_E4M3X4,
    BL_PTX_E5M2X4,
    BL_PTX_TYPE_COUNT
};
uint32_t bl_ptx_type_bits(enum bl_ptx_type type);    /* pred and the opaque ones: 0 (texref..: 64) */
const char *bl_ptx_type_name(enum bl_ptx_type type); /* without the dot */

enum bl_ptx_space {
    BL_PTX_GENERIC,
    BL_PTX_REG,
    BL_PTX_CONST,
    BL_PTX_GLOBAL,
    BL_PTX_LOCAL,
    BL_PTX_PARAM,
    BL_PTX_SHARED,
    BL_PTX_TEX
};

enum bl_ptx_opcode {
    BL_PTX_OP_NONE,
#define OPCODE(name) BL_PTX_OP_##name,
#include "opcodes.def" /* OPCODE(add) OPCODE(addc) … every opcode once; written as identifiers: and_, or_ … never
                          needed in C; "brx", "bar", "barrier", "cp" … are the part before the first dot */
#undef OPCODE
    BL_PTX_OPCODE_COUNT
};
const char *bl_ptx_opcode_name(enum bl_ptx_opcode op);

/* Every modifier word that may follow an opcode, types left out: ftz, rn, sat, lo, wide, eq, v2, global … */
enum bl_ptx_mod {
    BL_PTX_MOD_NONE,
#define MOD(id, text) BL_PTX_MOD_##id,
#include "mods.def" /* MOD(ftz, "ftz") MOD(shared_cta, "shared::cta") … */
#undef MOD
    BL_PTX_MOD_COUNT
};
const char *bl_ptx_mod_name(enum bl_ptx_mod mod); /* as written, without the dot */

struct bl_ptx_loc {
    uint32_t line, column; /* 1-based, in the PTX text */
};

/* What a name stands for. */
enum bl_ptx_symbol_kind {
    BL_PTX_SYM_REG,
    BL_PTX_SYM_VAR,
    BL_PTX_SYM_PARAM,
    BL_PTX_SYM_FUNC,
    BL_PTX_SYM_LABEL,
    BL_PTX_SYM_PROTO,
    BL_PTX_SYM_TARGETS,
    BL_PTX_SYM_BRANCH_TARGETS,
    BL_PTX_SYM_SREG
};

enum bl_ptx_linking { BL_PTX_INTERNAL, BL_PTX_VISIBLE, BL_PTX_EXTERN, BL_PTX_WEAK, BL_PTX_COMMON };

/* One element of an initialiser, flattened; nested braces are resolved to offsets. */
struct bl_ptx_init {
    uint32_t offset;              /* bytes in the variable */
    uint8_t size;                 /* bytes */
    bool generic;                 /* generic(symbol) */
    uint64_t bits;                /* a number's bits (or the addend, with a symbol) */
    struct bl_ptx_symbol *symbol; /* address of a variable or function, or NULL */
    uint64_t mask;                /* mask operator 0xFF00(symbol); 0: none */
};

struct bl_ptx_symbol {
    enum bl_ptx_symbol_kind kind : 8;
    enum bl_ptx_space space : 8;
    enum bl_ptx_type type : 8; /* of one element */
    uint8_t vec;               /* 1, 2, 4, 8 */
    enum bl_ptx_linking linking : 8;
    enum bl_ptx_space ptr_space : 8; /* .ptr.space of a kernel parameter */
    bool is_array;                   /* declared with [] */
    bool has_init;
    bool is_managed, is_unified; /* .attribute(.managed), .attribute(.unified(...)) */
    uint32_t align;              /* bytes, never 0 for a variable or parameter */
    uint32_t ptr_align;          /* .ptr .align of a kernel parameter */
    uint32_t index;              /* dense by kind within its function (registers, labels) or its module */
    struct bl_sv name;
    struct bl_ptx_loc loc;
    uint64_t elements; /* product of the dimensions; 1 for a scalar; 0 for x[] */
    uint64_t size;     /* bytes: elements * vec * type; 0 for x[] */
    BL_ARRAY(uint64_t) dims;
    BL_ARRAY(struct bl_ptx_init) inits;
    union {
        struct bl_ptx_func *func;                 /* of SYM_FUNC: itself (after a redeclaration: the definition) */
        struct bl_ptx_func *proto;                /* of SYM_PROTO: returns and params */
        BL_ARRAY(struct bl_ptx_symbol *) targets; /* of SYM_TARGETS (.calltargets) and SYM_BRANCH_TARGETS */
    };
    void *user;    /* free for whoever walks the tree (lower) */
    uint32_t mark; /* private to the parser */
};

enum bl_ptx_operand_kind {
    BL_PTX_REG_OPERAND, /* symbol, with component 0 none, 1 x, 2 y, 3 z, 4 w; or a special register (SYM_SREG) */
    BL_PTX_INT,         /* bits; is_unsigned where written U or past the signed range */
    BL_PTX_FLOAT,       /* bits of the type in float_type: f32 (0f) or f64 (0d and decimals) */
    BL_PTX_SYMBOL,      /* name of a variable, function, or label, with offset: var+4 */
    BL_PTX_ADDRESS,     /* [base + offset]; base: operand `base` symbol register or variable, or none: absolute */
    BL_PTX_VECTOR,      /* {a, b, …} in items */
    BL_PTX_PAIR,        /* d|p in items, two of them (the second may be SINK) */
    BL_PTX_SINK,        /* _ */
    BL_PTX_TEX_ADDRESS, /* [tex, sampler, {coordinates}] in items */
};

struct bl_ptx_operand {
    enum bl_ptx_operand_kind kind : 8;
    bool negated; /* !p, or -register where the syntax allows */
    bool is_unsigned;
    uint8_t component; /* of a video instruction also 5 b0 … 8 b3, 9 h0, 10 h1, 11 other selectors, named by bits: see below */
    enum bl_ptx_type float_type : 8;
    uint32_t item_count;
    struct bl_ptx_loc loc;
    struct bl_ptx_symbol *symbol;
    int64_t offset; /* SYMBOL, ADDRESS */
    union {
        uint64_t bits; /* INT, FLOAT; component 11: the selector's characters, the first one lowest ("b3210", "h32") */
        struct bl_ptx_operand *items; /* VECTOR, PAIR, TEX_ADDRESS */
    };
};

struct bl_ptx_instr {
    struct bl_ptx_loc loc;
    enum bl_ptx_opcode op : 16;
    bool guard_negated;
    uint8_t mod_count, type_count;
    uint8_t types[5];  /* enum bl_ptx_type, in source order */
    uint16_t mods[14]; /* enum bl_ptx_mod, in source order */
    uint32_t operand_count;
    uint32_t return_count, arg_count; /* call only */
    struct bl_sv text;                /* from the opcode to before the semicolon */
    const struct bl_ptx_row *row;     /* of isa.def; never NULL in a checked tree */
    struct bl_ptx_symbol *guard;      /* @p, or NULL */
    struct bl_ptx_operand *operands;  /* in source order; for call: target (SYMBOL or REG), see below */
    /* call only */
    struct bl_ptx_operand *returns, *args;
    struct bl_ptx_symbol *prototype; /* SYM_PROTO or SYM_TARGETS of an indirect call */
};
/* True when the modifier stands in the instruction. */
bool bl_ptx_has(const struct bl_ptx_instr *instr, enum bl_ptx_mod mod);

enum bl_ptx_statement_kind {
    BL_PTX_INSTR,
    BL_PTX_LABEL,
    BL_PTX_DECLARATION,
    BL_PTX_BLOCK_BEGIN,
    BL_PTX_BLOCK_END,
    BL_PTX_LOC,
    BL_PTX_PRAGMA
};
struct bl_ptx_statement {
    enum bl_ptx_statement_kind kind;
    struct bl_ptx_loc loc;
    union {
        struct bl_ptx_instr *instr; /* INSTR */
        struct {
            struct bl_ptx_symbol *symbol; /* LABEL; DECLARATION: register, variable, .param, prototype, target list */
            /* DECLARATION .reg %r<N>: N, and symbol holds what they have in common (type, vec; its name is %r). The registers
             * have symbols of their own, and an index, from where they are first mentioned. For others 1. */
            uint32_t reg_count;
        };
        struct {
            uint32_t file, line, column; /* LOC: where the source code stands; file is a .file number */
        };
        struct bl_sv text; /* PRAGMA: the string's inside */
    };
};

struct bl_ptx_func {
    struct bl_sv name;
    struct bl_ptx_loc loc;
    struct bl_ptx_symbol *symbol;
    struct bl_ptx_module *module;
    bool is_entry, has_body, noreturn, is_alias;
    struct bl_ptx_func *aliasee; /* .alias name, aliasee */
    enum bl_ptx_linking linking;
    uint32_t number;                          /* 1-based, in order of first appearance in the module */
    BL_ARRAY(struct bl_ptx_symbol *) returns; /* SYM_PARAM (.param) or SYM_REG (.reg) */
    BL_ARRAY(struct bl_ptx_symbol *) params;
    /* performance directives; 0: not given */
    uint32_t maxntid[3], reqntid[3], minnctapersm, maxnctapersm, maxnreg, reqnctapercluster[3], maxclusterrank;
    bool explicit_cluster, blocks_are_clusters;
    struct bl_sv body;  /* from { to }, both in; empty where there is none */
    struct bl_sv whole; /* the declaration and body as written */
    bool body_parsed;
    BL_ARRAY(struct bl_ptx_statement) statements; /* once body_parsed */
    uint32_t reg_count, label_count;              /* registers that are mentioned, labels */
    /* names of the module that the body mentions: functions and variables; found also when lazy */
    BL_ARRAY(struct bl_ptx_symbol *) uses;
    bool has_indirect_call; /* found also when lazy */
    bool address_taken;     /* mentioned other than as the target of a call, so far as the module was read */
    void *user;
    struct bl_ptx_loc body_loc; /* private to the parser */
};

struct bl_ptx_file {
    uint32_t number;
    struct bl_sv name;
};

struct bl_ptx_module {
    struct bl_arena *arena; /* the caller's */
    struct bl_sv text;
    const char *source_name;                    /* for messages */
    uint32_t version;                           /* 10 * major + minor */
    struct bl_sv target;                        /* "sm_80" */
    uint32_t sm;                                /* 80 */
    char sm_suffix;                             /* 'a', 'f' or 0 */
    uint32_t address_size;                      /* 64 (32 is refused as unsupported) */
    bool debug;                                 /* .target …, debug */
    BL_ARRAY(struct bl_ptx_func *) funcs;       /* definitions and declarations, one a name */
    BL_ARRAY(struct bl_ptx_symbol *) variables; /* module scope; in a lazy module those of bodies are missing */
    BL_ARRAY(struct bl_ptx_file) files;
    struct bl_map names; /* → struct bl_ptx_symbol */
    /* private to the parser */
    struct bl_map special_registers; /* those mentioned so far */
    struct bl_map numbers;           /* of "//bl.func" lines */
    uint32_t body_count, error_count;
    void *forms;        /* the checker's: forms of instructions seen so far */
    bool percent_names; /* a name of module scope starts with % */
};

enum bl_ptx_flags {
    BL_PTX_LAZY = 1, /* bodies are skipped (braces matched, `uses` filled); bl_ptx_parse_body parses one */
};

/* Parses and checks a text (it need not end with a NUL; one at the end is ignored). The module and everything in it live
 * in arena. On a fault: BL_SYNTAX, or BL_UNSUPPORTED (a version or target past what we know); error holds line, column and
 * "NAME:LINE:COL: expected …" followed by the source line and a caret. Several faults may be listed, the first one sets
 * line and column. Memory running out gives BL_NO_MEMORY. */
enum bl_status bl_ptx_parse(struct bl_arena *arena, struct bl_sv text, const char *source_name, uint32_t flags,
                            struct bl_ptx_module **module, struct bl_error *error);
enum bl_status bl_ptx_parse_body(struct bl_ptx_module *module, struct bl_ptx_func *func, struct bl_error *error);

/* The smallest PTX text that defines one kernel: header, the functions of its call graph (with an indirect call: every
 * function whose address is taken anywhere in the module), and declarations of the variables that they use (initialisers
 * left out: variables other than .shared become .extern). First come comment lines "//bl.func NAME NUMBER" for functions of the
 * slice and "//bl.line N" before each function, so that messages keep the numbers of the whole text. The same kernel gives the
 * same text whatever else its module holds, up to those comment lines. Works on lazy modules. */
enum bl_status bl_ptx_slice(struct bl_ptx_module *module, struct bl_ptx_func *kernel, struct bl_buffer *out,
                            struct bl_error *error);

struct bl_ptx_func *bl_ptx_find_func(const struct bl_ptx_module *module, struct bl_sv name);
struct bl_ptx_symbol *bl_ptx_find_variable(const struct bl_ptx_module *module, struct bl_sv name);

/* A kernel's parameter buffer: offset of parameter i, by alignment in order. Returns the buffer's size for i = count. */
uint32_t bl_ptx_param_offset(const struct bl_ptx_func *kernel, uint32_t i);

#endif
