/* Inside the parser of the room ptx: words, tokens, local names, and what its files call of each other.
 *
 * Faults: bl_ptx_expected and bl_ptx_wrong tell one and make the parser panic: from then on the token is STOP, which nothing
 * expects, so that every function returns by itself; whoever reads a list of statements then recovers (bl_ptx_recover).
 * Memory running out jumps (arena->no_memory) to the public function. */
#ifndef BAILEY_PTX_PARSER_H
#define BAILEY_PTX_PARSER_H

#include "ptx/internal.h"

/* ---- words (words.c) ------------------------------------------------------------------------- */

enum bl_ptx_directive {
    BL_PTX_DIRECTIVE_NONE,
#define DIRECTIVE(name) BL_PTX_DIRECTIVE_##name,
#include "directives.def"
#undef DIRECTIVE
    BL_PTX_DIRECTIVE_COUNT
};

/* What a word may be: several at once ("add" is an opcode and a modifier, "global" a modifier and a directive). */
struct bl_ptx_word {
    const char *text;
    uint8_t size;
    uint8_t type;      /* enum bl_ptx_type */
    uint8_t directive; /* enum bl_ptx_directive */
    uint16_t opcode;   /* enum bl_ptx_opcode */
    uint16_t mod;      /* enum bl_ptx_mod */
};
/* Once before the first look-up; any thread. */
void bl_ptx_words_init(void);
/* NULL for a word that PTX does not have. */
const struct bl_ptx_word *bl_ptx_word(struct bl_sv text);
/* A number in C's notation, whatever the program's locale is; false where the text is none. */
bool bl_ptx_decimal(const char *text, double *number);

/* A hash of short names, cheaper than bl_hash; not for storing. */
static inline uint64_t bl_ptx_eight(const char *data, size_t size)
{
    uint64_t eight = 0;
    if (size >= 8) {
        memcpy(&eight, data, 8);
    } else if (size >= 4) {
        uint32_t low, high;
        memcpy(&low, data, 4);
        memcpy(&high, data + size - 4, 4);
        eight = (uint64_t)high << 32 | low;
    } else if (size) {
        eight =
            (uint64_t)(unsigned char)data[0] << 16 | (uint64_t)(unsigned char)data[size / 2] << 8 | (unsigned char)data[size - 1];
    }
    return eight;
}
static inline uint32_t bl_ptx_hash(struct bl_sv name)
{
    uint64_t hash = (bl_ptx_eight(name.data, name.size) + name.size) * UINT64_C(0x9E3779B97F4A7C15);
    for (size_t at = 8; at < name.size; at += 8) {
        size_t from = name.size - at < 8 ? name.size - 8 : at;
        hash = (hash ^ (hash >> 29) ^ bl_ptx_eight(name.data + from, 8)) * UINT64_C(0xBF58476D1CE4E5B9);
    }
    return (uint32_t)(hash >> 32);
}

static inline bool bl_ptx_same(struct bl_sv a, struct bl_sv b)
{
    if (a.size != b.size)
        return false;
    if (a.size > 16)
        return memcmp(a.data, b.data, a.size) == 0;
    return bl_ptx_eight(a.data, a.size) == bl_ptx_eight(b.data, b.size) &&
           (a.size <= 8 || bl_ptx_eight(a.data + a.size - 8, 8) == bl_ptx_eight(b.data + b.size - 8, 8));
}
/* As bl_sv_is, for a literal: no call where the sizes differ. */
#define BL_PTX_IS(view, literal) ((view).size == sizeof(literal) - 1 && memcmp((view).data, literal, sizeof(literal) - 1) == 0)

/* ---- tokens (lexer.c) ------------------------------------------------------------------------- */

enum { /* a token's kind: one of these, or the character */
       BL_PTX_T_END = 256,
       BL_PTX_T_STOP,   /* after a fault */
       BL_PTX_T_WORD,   /* a name or an opcode */
       BL_PTX_T_DOT,    /* .word, .word::word; the text leaves the first dot out */
       BL_PTX_T_NUMBER, /* any number */
       BL_PTX_T_STRING, /* the text is the inside */
       BL_PTX_T_SHL,
       BL_PTX_T_SHR,
       BL_PTX_T_LE,
       BL_PTX_T_GE,
       BL_PTX_T_EQ,
       BL_PTX_T_NE,
       BL_PTX_T_AND,
       BL_PTX_T_OR,
       BL_PTX_T_BAD, /* a character that PTX does not have, an unfinished string or comment */
};
struct bl_ptx_token {
    int kind;
    struct bl_ptx_loc loc;
    struct bl_sv text;
    const char *start; /* of the token, a dot or quote included */
};

/* ---- local names (scope.c) --------------------------------------------------------------------- */

struct bl_ptx_range { /* .reg %r<count> */
    struct bl_ptx_symbol *pattern;
    uint32_t count;
    struct bl_ptx_symbol ***pages; /* by number / 256, then number % 256; NULL where none was mentioned */
};
struct bl_ptx_label {
    struct bl_ptx_symbol symbol; /* first, so that a symbol of this kind is one of these */
    bool defined;
    struct bl_ptx_label *forward; /* what it turned out to be, in an outer block */
};
struct bl_ptx_entry {
    struct bl_sv name;
    uint32_t hash, next; /* next + 1 of the same bucket, 0: none */
    uint32_t depth;
    bool is_label;
    struct bl_ptx_symbol *symbol;
    struct bl_ptx_range *range; /* or this */
};

enum {
    BL_PTX_BLOCK_LIMIT = 64,      /* nested { } */
    BL_PTX_EXPRESSION_LIMIT = 64, /* nested operators and parentheses */
    BL_PTX_FAULT_LIMIT = 5,       /* faults that are listed */
    BL_PTX_OPERAND_LIMIT = 1024,  /* in one instruction or list */
    BL_PTX_DIM_LIMIT = 16,
};

struct bl_ptx_parser {
    struct bl_arena *arena;
    struct bl_ptx_module *module;
    struct bl_error *error;
    enum bl_status status; /* of the first fault */
    uint32_t faults;
    bool panic;
    bool lazy;

    const char *at, *end, *line_start;
    uint32_t line;
    struct bl_ptx_token token;
    uint32_t depth; /* of an expression, or of a list */

    /* the function at hand */
    struct bl_ptx_func *func;
    bool mentions; /* words that go by are noted in func->uses */
    bool is_call;  /* the word that goes by is the target of a call */
    BL_ARRAY(struct bl_ptx_statement) statements;
    BL_ARRAY(struct bl_ptx_operand) stack;
    BL_ARRAY(struct bl_ptx_entry) entries;
    uint32_t *buckets, bucket_count, block;
    bool digit_prefix;                         /* a range's name ends in a digit: %r1<4> */
    BL_ARRAY(struct bl_ptx_symbol **) patches; /* where labels of inner blocks are mentioned */
    uint64_t registers;                        /* declared by ranges so far, in the whole text */
};

void bl_ptx_start(struct bl_ptx_parser *p, const char *at, struct bl_ptx_loc loc);
void bl_ptx_next(struct bl_ptx_parser *p);
/* As next, and what goes by is not noted as mentioned: opcodes, labels. */
void bl_ptx_next_unnoted(struct bl_ptx_parser *p);
/* The token, .5 or the like, as a number where a constant can stand. */
void bl_ptx_rescan_decimal(struct bl_ptx_parser *p);
void bl_ptx_expected(struct bl_ptx_parser *p, const char *what);
void bl_ptx_wrong(struct bl_ptx_parser *p, struct bl_ptx_loc loc, enum bl_status status, const char *format, ...) BL_PRINTF(4, 5);
/* Goes past the next semicolon, or to a brace that stands before one. False when there is nothing to go on with. */
bool bl_ptx_recover(struct bl_ptx_parser *p);
static inline bool bl_ptx_is(const struct bl_ptx_parser *p, int kind)
{
    return p->token.kind == kind;
}
static inline bool bl_ptx_accept(struct bl_ptx_parser *p, int kind)
{
    if (p->token.kind != kind)
        return false;
    bl_ptx_next(p);
    return true;
}
/* kind must come; what: its name in a message. */
static inline void bl_ptx_expect(struct bl_ptx_parser *p, int kind, const char *what)
{
    if (!bl_ptx_accept(p, kind))
        bl_ptx_expected(p, what);
}
struct bl_sv bl_ptx_expect_name(struct bl_ptx_parser *p, const char *what);
/* The directive that the token is, NONE for anything else. */
enum bl_ptx_directive bl_ptx_directive(const struct bl_ptx_parser *p);

/* ---- scope.c -------------------------------------------------------------------------------------- */
void bl_ptx_scope_begin(struct bl_ptx_parser *p);
/* Closes a block: its names are forgotten, its missing labels are looked for outside. */
void bl_ptx_scope_end(struct bl_ptx_parser *p);
void bl_ptx_declare(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol);
void bl_ptx_declare_range(struct bl_ptx_parser *p, struct bl_ptx_symbol *pattern, uint32_t count);
/* The symbol of a name, or NULL. */
struct bl_ptx_symbol *bl_ptx_find_local(struct bl_ptx_parser *p, struct bl_sv name);
/* As find_local, then the module's names that stand before, then special registers; a fault where there is none. */
struct bl_ptx_symbol *bl_ptx_resolve(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc);
struct bl_ptx_symbol *bl_ptx_define_label(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc);
/* Sets *place to the label; it may be set again at the end of a block, so that place must stay. */
void bl_ptx_refer_label(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc, struct bl_ptx_symbol **place);
void bl_ptx_patch_labels(struct bl_ptx_parser *p);
/* A name of the module that the function at hand may mention. */
struct bl_ptx_symbol *bl_ptx_module_symbol(const struct bl_ptx_parser *p, struct bl_sv name);
/* Notes that the body mentions a word. */
void bl_ptx_mention(struct bl_ptx_parser *p, struct bl_sv word);

/* ---- constant.c ------------------------------------------------------------------------------------ */
/* An expression of constants. Makes an INT or FLOAT operand. */
struct bl_ptx_operand bl_ptx_constant(struct bl_ptx_parser *p);
/* One that must be an integer within limits. */
uint64_t bl_ptx_count(struct bl_ptx_parser *p, uint64_t least, uint64_t most, const char *what);
/* True where a constant can start. */
bool bl_ptx_at_constant(const struct bl_ptx_parser *p);
/* Bits of a constant as a type; false where it can't be. */
bool bl_ptx_constant_bits(const struct bl_ptx_operand *constant, enum bl_ptx_type type, uint64_t *bits);

/* ---- declare.c -------------------------------------------------------------------------------------- */
/* .global .align 8 .v2 .f32 a[4] = {…}, b; the token is the space's directive. In a body: a declaration of it. */
void bl_ptx_parse_variables(struct bl_ptx_parser *p, enum bl_ptx_linking linking);
/* (.param .b32 r) or (…, …); the token is the opening parenthesis. */
void bl_ptx_parse_parameters(struct bl_ptx_parser *p, struct bl_ptx_func *func, bool returns);
/* Gives the linking directives that stand here, .extern … */
enum bl_ptx_linking bl_ptx_parse_linking(struct bl_ptx_parser *p);

/* ---- instruction.c ----------------------------------------------------------------------------------- */
/* The token stands after the opcode's word. */
void bl_ptx_parse_instruction(struct bl_ptx_parser *p, const struct bl_ptx_token *opcode, struct bl_ptx_symbol *guard,
                              bool guard_negated);

/* ---- body.c ------------------------------------------------------------------------------------------- */
/* The token is the body's { ; afterwards it is its }. */
void bl_ptx_parse_statements(struct bl_ptx_parser *p);
void bl_ptx_skip_body(struct bl_ptx_parser *p);
struct bl_ptx_statement *bl_ptx_add_statement(struct bl_ptx_parser *p, enum bl_ptx_statement_kind kind, struct bl_ptx_loc loc);
void bl_ptx_add_declaration(struct bl_ptx_parser *p, enum bl_ptx_statement_kind kind, struct bl_ptx_symbol *symbol, uint32_t count);
void bl_ptx_parse_pragma(struct bl_ptx_parser *p);

/* ---- function.c ---------------------------------------------------------------------------------------- */
/* .maxntid 128 …: what may stand after a function's parameters. */
void bl_ptx_parse_function_directives(struct bl_ptx_parser *p, struct bl_ptx_func *func);
/* The token is .entry or .func; start: where its linking directives begin. */
void bl_ptx_parse_function(struct bl_ptx_parser *p, enum bl_ptx_linking linking, const char *start);
/* .alias name, function; the token stands after .alias. */
void bl_ptx_parse_alias(struct bl_ptx_parser *p);

#endif
