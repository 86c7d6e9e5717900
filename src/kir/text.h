/* What the printer, the parser and the validator share about the text form. Inside src/kir only; docs/kir.md has the grammar. */
#ifndef BAILEY_KIR_TEXT_H
#define BAILEY_KIR_TEXT_H

#include "kir/kir.h"

/* One byte-wide field of struct bl_kir_attr, and the words for its values. A bool has one word, for 1. Words are unique over
 * all fields, so that the parser needs no context. */
struct bl_kir_field {
    uint8_t offset;
    uint8_t first, count; /* values that have words: first to first + count - 1 */
    const char *const *words;
};
enum bl_kir_field_name {
    BL_KIR_FIELD_SPACE,
    BL_KIR_FIELD_ORDER,
    BL_KIR_FIELD_SCOPE,
    BL_KIR_FIELD_CACHE,
    BL_KIR_FIELD_NC,
    BL_KIR_FIELD_ATOM,
    BL_KIR_FIELD_SHFL,
    BL_KIR_FIELD_VOTE,
    BL_KIR_FIELD_PRMT,
    BL_KIR_FIELD_TESTP,
    BL_KIR_FIELD_CMP,
    BL_KIR_FIELD_ROUND,
    BL_KIR_FIELD_APPROX,
    BL_KIR_FIELD_FULL,
    BL_KIR_FIELD_FTZ,
    BL_KIR_FIELD_SAT,
    BL_KIR_FIELD_NAN,
    BL_KIR_FIELD_RELU,
    BL_KIR_FIELD_XORSIGN,
    BL_KIR_FIELD_WRAP,
    BL_KIR_FIELD_SHIFTAMT,
    BL_KIR_FIELD_A_SIGNED,
    BL_KIR_FIELD_B_SIGNED,
    BL_KIR_FIELD_HI,
    BL_KIR_FIELD_ARRIVE,
    BL_KIR_FIELD_ALIGNED,
    BL_KIR_FIELD_TYPE,
    BL_KIR_FIELD_COUNT
};
extern const struct bl_kir_field bl_kir_fields[BL_KIR_FIELD_COUNT];

/* A set of fields, bit by enum bl_kir_field_name, and of the attributes that are no words. */
enum bl_kir_attr_set {
    BL_KIR_HAS_IMM = 1 << 27,
    BL_KIR_HAS_SYMBOL = 1 << 28,
    BL_KIR_HAS_VEC = 1 << 29,
    BL_KIR_HAS_ALIGN = 1 << 30,
};
/* The attributes that mean something for an op, and those of them that the text always says, even zero. */
uint32_t bl_kir_op_attrs(enum bl_kir_op op);
uint32_t bl_kir_op_shown(enum bl_kir_op op);

/* True where attr.vec counts elements, so that 1 is its usual value. */
bool bl_kir_op_has_vec(enum bl_kir_op op);
/* True where the first operand is an address: written [%x + offset]. */
bool bl_kir_op_has_address(enum bl_kir_op op);
/* True for a name that the text form writes without quotes. */
bool bl_kir_is_plain_name(const char *name);

/* One instruction without indentation or newline. Never fails on a form that breaks the rules: it is what messages quote. */
void bl_kir_print_instr(struct bl_buffer *out, const struct bl_kir_instr *instr);

#endif
