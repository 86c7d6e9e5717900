/* The PTX instruction set as a table, made from isa.def by gen_isa.py at build time: one row a form. For check.c, the coverage page
 * and test generators; lower may look at a checked instruction's row. */
#ifndef BAILEY_PTX_ISA_H
#define BAILEY_PTX_ISA_H

#include "ptx/ptx.h"

/* One word of a choice: a bl_ptx_mod, or in a type place a bl_ptx_type; and what it needs beyond its row (0: nothing). */
struct bl_ptx_isa_word {
    uint16_t word, since_version, since_sm;
};

struct bl_ptx_isa_place {
    const struct bl_ptx_isa_word *words;
    uint8_t word_count;
    bool is_type, optional;
    uint8_t condition; /* 0: none; else filled if and only if place condition - 1 is */
};

enum {
    BL_PTX_ISA_NO_PLACE = 255,  /* type says it, or the operand has none */
    BL_PTX_ISA_ANY_INT = 254,   /* an integer or untyped register of 32 or 64 bits */
    BL_PTX_ISA_MOD_WIDTH = 255, /* as the modifier .v2, .v4 or .v8 says, 1 without */
    BL_PTX_ISA_ANY_WIDTH = 254, /* any vector, or none */
};

/* One operand of a signature; the letters stand at the head of isa.def. */
struct bl_ptx_isa_operand {
    char letter;
    uint8_t type_place;    /* number of the type place that gives the type */
    enum bl_ptx_type type; /* with BL_PTX_ISA_NO_PLACE */
    uint8_t width;         /* 0: no vector; elements of { } */
    uint8_t condition;     /* 0: none; else the operand stands there if and only if place condition - 1 is filled */
    bool is_double, wider, sink, pair, pair_always, negation, selector, optional;
    enum bl_ptx_space space; /* of an address; GENERIC: as the instruction says */
    bool has_range;
    int32_t low, high; /* of an immediate, both allowed */
};

struct bl_ptx_isa_rule {
    uint16_t sm;
    char suffix; /* ' ' this or newer, 'a' this one exactly, 'f' its family */
};

struct bl_ptx_row {
    enum bl_ptx_opcode op;
    const char *section; /* heading of the document's chapter */
    const char *form;    /* as the document writes it: "add{.sat}.s32  d, a, b" */
    bool is_open;        /* stands for every form of an opcode that the table doesn't know yet; accepted without checks */
    uint16_t since_version, since_sm; /* 10 * major + minor; the lowest sm */
    uint8_t rule_count;               /* 0: since_sm or newer */
    struct bl_ptx_isa_rule rules[6];
    const struct bl_ptx_isa_place *places; /* in the document's order */
    uint8_t place_count, type_count;
    const struct bl_ptx_isa_operand *operands;
    uint8_t operand_count;
};

/* All rows, grouped by opcode in the order of opcodes.def; NULL past the end. */
uint32_t bl_ptx_row_count(void);
const struct bl_ptx_row *bl_ptx_row_at(uint32_t index);

/* For check.c: the rows of one opcode. */
struct bl_ptx_isa_range {
    uint16_t first, count;
};
extern const struct bl_ptx_row bl_ptx_isa_rows[];
extern const uint32_t bl_ptx_isa_row_count;
extern const struct bl_ptx_isa_range bl_ptx_isa_ranges[BL_PTX_OPCODE_COUNT];

#endif
