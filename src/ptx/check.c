/* Checks one instruction against the table of isa.def: its modifiers and types, its operands, and what PTX version and target it
 * needs. Called by the parser, once for each instruction. A cache in the module maps modifiers and types to rows, so that the
 * common form costs one look-up.
 *
 * Where NVIDIA's document and ptxas disagree this follows ptxas: what that accepts is accepted here. */
#include "ptx/internal.h"
#include "ptx/isa.h"

#include <inttypes.h>
#include <stdio.h>

uint32_t bl_ptx_row_count(void)
{
    return bl_ptx_isa_row_count;
}

const struct bl_ptx_row *bl_ptx_row_at(uint32_t index)
{
    return index < bl_ptx_isa_row_count ? &bl_ptx_isa_rows[index] : NULL;
}

/* ---- words to rows ------------------------------------------------------------------------- */

enum { MAX_CANDIDATES = 4, CACHE_SIZE = 256 };

/* A row that an instruction's words fit. */
struct candidate {
    const struct bl_ptx_row *row;
    uint32_t filled; /* bit k: place k of the row */
    uint16_t needs_version, needs_sm;
    bool available;      /* in the module's version and target */
    uint8_t least, most; /* operands */
};

struct form {
    uint8_t op, mod_count, type_count, candidate_count;
    uint8_t width; /* .v2 .v4 .v8; 1 without */
    uint8_t space; /* enum bl_ptx_space of the first space word; GENERIC without */
    uint8_t types[5];
    uint16_t mods[14];
    struct candidate candidates[MAX_CANDIDATES];
};

static bool place_takes(const struct bl_ptx_isa_place *place, uint16_t word, struct candidate *c)
{
    for (uint32_t w = 0; w < place->word_count; w++) {
        if (place->words[w].word != word)
            continue;
        c->needs_version = BL_MAX(c->needs_version, place->words[w].since_version);
        c->needs_sm = BL_MAX(c->needs_sm, place->words[w].since_sm);
        return true;
    }
    return false;
}

/* The first free place of the row that takes the modifier; -1: none. */
static int place_of(const struct bl_ptx_row *row, uint16_t mod, struct candidate *c)
{
    for (uint32_t k = 0; k < row->place_count; k++)
        if (!row->places[k].is_type && !(c->filled >> k & 1) && place_takes(&row->places[k], mod, c))
            return (int)k;
    return -1;
}

static bool types_fit(const struct bl_ptx_row *row, const struct bl_ptx_instr *instr, struct candidate *c)
{
    uint32_t t = 0;
    if (row->type_count != instr->type_count)
        return false;
    for (uint32_t k = 0; k < row->place_count; k++) {
        if (!row->places[k].is_type)
            continue;
        if (!place_takes(&row->places[k], instr->types[t++], c))
            return false;
        c->filled |= 1u << k;
    }
    return true;
}

/* The first place that must be filled and isn't, or may not be and is; -1: none. */
static int place_missing(const struct bl_ptx_row *row, const struct candidate *c)
{
    for (uint32_t k = 0; k < row->place_count; k++) {
        const struct bl_ptx_isa_place *place = &row->places[k];
        bool filled = c->filled >> k & 1;
        if (!filled && !place->optional)
            return (int)k;
        if (place->condition && filled != (c->filled >> (place->condition - 1) & 1))
            return (int)k;
    }
    return -1;
}

/* A modifier may be repeated: to no effect, as ptxas has it. */
static bool stands_before(const struct bl_ptx_instr *instr, uint32_t m)
{
    for (uint32_t before = 0; before < m; before++)
        if (instr->mods[before] == instr->mods[m])
            return true;
    return false;
}

static bool words_fit(const struct bl_ptx_row *row, const struct bl_ptx_instr *instr, struct candidate *c)
{
    *c = (struct candidate){.row = row, .needs_version = row->since_version, .needs_sm = row->since_sm};
    if (row->is_open || !types_fit(row, instr, c))
        return false;
    for (uint32_t m = 0; m < instr->mod_count; m++) {
        int k = place_of(row, instr->mods[m], c);
        if (k >= 0)
            c->filled |= 1u << k;
        else if (!stands_before(instr, m))
            return false;
    }
    return place_missing(row, c) < 0;
}

static enum bl_ptx_space space_of_mod(uint16_t mod)
{
    switch (mod) {
    case BL_PTX_MOD_const:
        return BL_PTX_CONST;
    case BL_PTX_MOD_global:
        return BL_PTX_GLOBAL;
    case BL_PTX_MOD_local:
        return BL_PTX_LOCAL;
    case BL_PTX_MOD_param:
    case BL_PTX_MOD_param_entry:
    case BL_PTX_MOD_param_func:
        return BL_PTX_PARAM;
    case BL_PTX_MOD_shared:
    case BL_PTX_MOD_shared_cta:
    case BL_PTX_MOD_shared_cluster:
        return BL_PTX_SHARED;
    default:
        return BL_PTX_GENERIC;
    }
}

static bool target_fits(const struct bl_ptx_module *module, const struct candidate *candidate)
{
    const struct bl_ptx_row *row = candidate->row;
    if (module->sm < candidate->needs_sm)
        return false;
    for (uint32_t r = 0; r < row->rule_count; r++) {
        const struct bl_ptx_isa_rule *rule = &row->rules[r];
        if (rule->suffix == ' ' && module->sm >= rule->sm)
            return true;
        if (rule->suffix == 'a' && module->sm == rule->sm && module->sm_suffix == 'a')
            return true;
        if (rule->suffix == 'f' && module->sm / 10 == rule->sm / 10 && module->sm >= rule->sm && module->sm_suffix)
            return true;
    }
    return row->rule_count == 0;
}

static void count_operands(struct candidate *candidate)
{
    for (uint32_t k = 0; k < candidate->row->operand_count; k++) {
        const struct bl_ptx_isa_operand *spec = &candidate->row->operands[k];
        if (spec->condition && !(candidate->filled >> (spec->condition - 1) & 1))
            continue;
        candidate->most++;
        candidate->least += !spec->optional;
    }
}

static void form_fill(struct form *form, const struct bl_ptx_module *module, const struct bl_ptx_instr *instr)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[instr->op];
    memset(form, 0, sizeof(*form));
    form->op = (uint8_t)instr->op;
    form->mod_count = instr->mod_count;
    form->type_count = instr->type_count;
    memcpy(form->mods, instr->mods, instr->mod_count * sizeof(instr->mods[0]));
    memcpy(form->types, instr->types, instr->type_count);
    form->width = 1;
    for (uint32_t m = 0; m < instr->mod_count; m++) {
        if (instr->mods[m] == BL_PTX_MOD_v2 || instr->mods[m] == BL_PTX_MOD_v4 || instr->mods[m] == BL_PTX_MOD_v8)
            form->width = instr->mods[m] == BL_PTX_MOD_v2 ? 2 : instr->mods[m] == BL_PTX_MOD_v4 ? 4 : 8;
        if (!form->space)
            form->space = (uint8_t)space_of_mod(instr->mods[m]);
    }
    for (uint32_t r = 0; r < range.count && form->candidate_count < MAX_CANDIDATES; r++) {
        struct candidate *candidate = &form->candidates[form->candidate_count];
        if (!words_fit(&bl_ptx_isa_rows[range.first + r], instr, candidate))
            continue;
        count_operands(candidate);
        candidate->available = module->version >= candidate->needs_version && target_fits(module, candidate);
        form->candidate_count++;
    }
}

static bool form_is(const struct form *form, const struct bl_ptx_instr *instr)
{
    return form->op == (uint8_t)instr->op && form->mod_count == instr->mod_count && form->type_count == instr->type_count &&
           !memcmp(form->mods, instr->mods, instr->mod_count * sizeof(instr->mods[0])) &&
           !memcmp(form->types, instr->types, instr->type_count);
}

static const struct form *form_of(struct bl_ptx_module *module, const struct bl_ptx_instr *instr)
{
    if (!module->forms) /* not thread-local: that many bytes of static TLS would keep programs from starting */
        module->forms = BL_NEW_ARRAY(module->arena, struct form, CACHE_SIZE);
    struct form *cache = module->forms;
    uint32_t hash = (uint32_t)instr->op;
    for (uint32_t m = 0; m < instr->mod_count; m++)
        hash = hash * 0x9e3779b1u + instr->mods[m];
    for (uint32_t t = 0; t < instr->type_count; t++)
        hash = hash * 0x85ebca6bu + instr->types[t];
    hash ^= hash >> 15;
    struct form *form = &cache[hash % CACHE_SIZE];
    if (!form->op || !form_is(form, instr))
        form_fill(form, module, instr);
    return form;
}

/* ---- operands ------------------------------------------------------------------------------ */

/* The check of one instruction's operands against one row. What doesn't fit is kept: the message of the operand that stands
 * furthest right is the one to tell, because all before it was right. */
struct check {
    struct bl_ptx_module *module;
    struct bl_ptx_func *func;
    const struct bl_ptx_instr *instr;
    const struct form *form;
    const struct candidate *candidate;
    struct bl_ptx_loc fault_loc;
    uint64_t fault_rank;
    char fault[400];
};

static bool fault(struct check *c, const struct bl_ptx_operand *operand, const char *format, ...) BL_PRINTF(3, 4);
static bool fault(struct check *c, const struct bl_ptx_operand *operand, const char *format, ...)
{
    uint64_t rank = ((uint64_t)operand->loc.line << 32 | operand->loc.column) + 1;
    if (rank > c->fault_rank) {
        va_list args;
        va_start(args, format);
        vsnprintf(c->fault, sizeof(c->fault), format, args);
        va_end(args);
        c->fault_rank = rank;
        c->fault_loc = operand->loc;
    }
    return false;
}

enum type_class {
    CLASS_OTHER, /* only untyped registers hold it: bf16, tf32, packed ones */
    CLASS_BITS,
    CLASS_INT,
    CLASS_FLOAT, /* has registers of its own type: f16, f16x2, f32, f64 */
    CLASS_PRED
};

/* A table, because each operand of each instruction asks. */
static const uint8_t classes[BL_PTX_TYPE_COUNT] = {
    [BL_PTX_B8] = CLASS_BITS,   [BL_PTX_B16] = CLASS_BITS,    [BL_PTX_B32] = CLASS_BITS,       [BL_PTX_B64] = CLASS_BITS,
    [BL_PTX_B128] = CLASS_BITS, [BL_PTX_U8] = CLASS_INT,      [BL_PTX_U16] = CLASS_INT,        [BL_PTX_U32] = CLASS_INT,
    [BL_PTX_U64] = CLASS_INT,   [BL_PTX_S8] = CLASS_INT,      [BL_PTX_S16] = CLASS_INT,        [BL_PTX_S32] = CLASS_INT,
    [BL_PTX_S64] = CLASS_INT,   [BL_PTX_TEXREF] = CLASS_INT,  [BL_PTX_SAMPLERREF] = CLASS_INT, [BL_PTX_SURFREF] = CLASS_INT,
    [BL_PTX_F16] = CLASS_FLOAT, [BL_PTX_F16X2] = CLASS_FLOAT, [BL_PTX_F32] = CLASS_FLOAT,      [BL_PTX_F64] = CLASS_FLOAT,
    [BL_PTX_PRED] = CLASS_PRED,
};

static enum type_class class_of(enum bl_ptx_type type)
{
    return (enum type_class)classes[type];
}

/* What the instruction expects of an operand. */
struct wanted {
    const struct bl_ptx_isa_operand *spec;
    enum bl_ptx_type type; /* NONE: an integer register of 32 or 64 bits */
    uint32_t bits;
    uint32_t width; /* elements; 1: no vector */
};

static struct wanted wanted_of(const struct check *c, const struct bl_ptx_isa_operand *spec)
{
    struct wanted w = {.spec = spec, .type = spec->type, .width = 1};
    if (spec->letter == 'p' || spec->letter == 'q')
        w.type = BL_PTX_PRED;
    else if (spec->type_place < c->instr->type_count)
        w.type = (enum bl_ptx_type)c->instr->types[spec->type_place];
    w.bits = bl_ptx_type_bits(w.type);
    if (spec->is_double)
        w.bits *= 2;
    if (spec->width == BL_PTX_ISA_ANY_WIDTH)
        w.width = 1;
    else if (spec->width)
        w.width = spec->width == BL_PTX_ISA_MOD_WIDTH ? c->form->width : spec->width;
    return w;
}

static const char *wanted_name(const struct wanted *w, char *buffer, size_t size)
{
    if (w->spec->type_place == BL_PTX_ISA_ANY_INT)
        return "an integer register of 32 or 64 bits";
    if (w->type == BL_PTX_PRED)
        return "a predicate";
    if (w->spec->is_double)
        snprintf(buffer, size, "%c%u", bl_ptx_type_name(w->type)[0], w->bits);
    else if (class_of(w->type) == CLASS_OTHER)
        snprintf(buffer, size, "b%u for .%s", w->bits, bl_ptx_type_name(w->type));
    else
        snprintf(buffer, size, "%s%s", bl_ptx_type_name(w->type), w->spec->wider ? " or wider" : "");
    return buffer;
}

/* PTX's rule: the same size and a compatible class; ld, st and cvt take wider registers. */
static bool register_fits(enum bl_ptx_type have, const struct wanted *w)
{
    enum type_class class = class_of(have), want = class_of(w->type);
    uint32_t bits = bl_ptx_type_bits(have);
    if (w->spec->type_place == BL_PTX_ISA_ANY_INT)
        return (class == CLASS_INT || class == CLASS_BITS) && (bits == 32 || bits == 64);
    if (class == CLASS_PRED || want == CLASS_PRED)
        return class == want;
    if (bits != w->bits && !(w->spec->wider && bits > w->bits))
        return false;
    if (class == CLASS_BITS || want == CLASS_BITS)
        return true;
    if (want == CLASS_INT)
        return class == CLASS_INT;
    return have == w->type;
}

/* mov reads special registers; ptxas also takes them in cvt and in what a vector store writes. */
static bool takes_special(const struct check *c, const struct wanted *w)
{
    if (w->spec->letter == 'd' || w->spec->letter == 'p')
        return false;
    return c->instr->op == BL_PTX_OP_mov || c->instr->op == BL_PTX_OP_cvt || (c->instr->op == BL_PTX_OP_st && w->width > 1);
}

static bool check_register(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    const struct bl_ptx_symbol *s = o->symbol;
    char name[64];
    if (s->kind == BL_PTX_SYM_SREG && !takes_special(c, w))
        return fault(c, o, "special register %.*s can't stand here: mov it to a register first", BL_SV(s->name));
    if (s->vec > 1 && !o->component)
        return fault(c, o, "%.*s is a vector: expected one element", BL_SV(s->name));
    if (!register_fits(s->type, w))
        return fault(c, o, "register %.*s has type .%s: expected %s", BL_SV(s->name), bl_ptx_type_name(s->type),
                     wanted_name(w, name, sizeof(name)));
    if (o->negated && w->type != BL_PTX_PRED && !w->spec->negation)
        return fault(c, o, "an operand of %s can't be negated", bl_ptx_opcode_name(c->instr->op));
    if (o->negated && w->spec->letter == 'p')
        return fault(c, o, "a destination can't be negated");
    if (o->component > 4 && !w->spec->selector)
        return fault(c, o, "an operand of %s has no selector", bl_ptx_opcode_name(c->instr->op));
    return true;
}

static bool check_immediate(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    enum type_class want = w->spec->type_place == BL_PTX_ISA_ANY_INT ? CLASS_INT : class_of(w->type);
    char name[64];
    if (w->spec->letter == 'q' && o->kind == BL_PTX_INT)
        return true;
    if (w->spec->letter == 'd' || w->spec->letter == 'p')
        return fault(c, o, "expected a register to write to");
    if (w->spec->letter != 'i' &&
        (w->spec->letter == 'r' || want == CLASS_OTHER || w->type == BL_PTX_F16 || w->type == BL_PTX_F16X2))
        return fault(c, o, "expected a register (%s), not a constant", wanted_name(w, name, sizeof(name)));
    if (o->kind == BL_PTX_FLOAT) {
        if (w->spec->letter == 'i')
            return fault(c, o, "expected an integer constant");
        if (want == CLASS_FLOAT || (want == CLASS_BITS && bl_ptx_type_bits(o->float_type) == w->bits))
            return true;
        return fault(c, o, "a floating point constant where %s is expected", wanted_name(w, name, sizeof(name)));
    }
    if (w->spec->letter != 'i' && want != CLASS_INT && want != CLASS_BITS)
        return fault(c, o, "an integer constant where %s is expected: write it with a point, or as 0f or 0d and its bits",
                     wanted_name(w, name, sizeof(name)));
    if (w->spec->has_range && ((int64_t)o->bits < w->spec->low || (int64_t)o->bits > w->spec->high)) {
        if (w->spec->low == w->spec->high)
            return fault(c, o, "value %" PRId64 ": expected %d", (int64_t)o->bits, w->spec->low);
        return fault(c, o, "value %" PRId64 " is out of range: expected %d to %d", (int64_t)o->bits, w->spec->low, w->spec->high);
    }
    return true;
}

static const char *space_name(enum bl_ptx_space space)
{
    static const char *const names[] = {
        [BL_PTX_GENERIC] = "generic", [BL_PTX_REG] = ".reg",     [BL_PTX_CONST] = ".const",   [BL_PTX_GLOBAL] = ".global",
        [BL_PTX_LOCAL] = ".local",    [BL_PTX_PARAM] = ".param", [BL_PTX_SHARED] = ".shared", [BL_PTX_TEX] = ".tex"};
    return (uint32_t)space < BL_LEN(names) ? names[space] : "?";
}

static bool is_parameter_of(const struct bl_ptx_func *func, const struct bl_ptx_symbol *symbol)
{
    for (uint32_t p = 0; func && p < func->params.count; p++)
        if (func->params.items[p] == symbol)
            return true;
    return false;
}

static bool writes_address(const struct bl_ptx_instr *instr)
{
    return instr->op == BL_PTX_OP_st || instr->op == BL_PTX_OP_red || instr->op == BL_PTX_OP_atom;
}

static bool check_address(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    /* an instruction that names no space takes generic addresses */
    bool named = w->spec->space && c->form->space;
    enum bl_ptx_space space = named ? w->spec->space : (enum bl_ptx_space)c->form->space;
    const struct bl_ptx_symbol *s = o->symbol;
    if (o->kind != BL_PTX_ADDRESS)
        return fault(c, o, "expected an address: [register + offset] or [variable + offset]");
    if (!s)
        return true;
    if (s->kind == BL_PTX_SYM_REG) {
        enum type_class class = class_of(s->type);
        if (class != CLASS_INT && class != CLASS_BITS)
            return fault(c, o, "register %.*s has type .%s: an address needs an integer or untyped register", BL_SV(s->name),
                         bl_ptx_type_name(s->type));
        return true;
    }
    if (s->kind == BL_PTX_SYM_SREG)
        return fault(c, o, "special register %.*s can't be an address: mov it to a register first", BL_SV(s->name));
    if (s->kind != BL_PTX_SYM_VAR && s->kind != BL_PTX_SYM_PARAM)
        return true;
    /* several spaces in one instruction (cp.async.bulk): which address is which isn't known here */
    if (c->instr->op == BL_PTX_OP_cp && !w->spec->space)
        return true;
    if (space != s->space && space != BL_PTX_GENERIC && s->space != BL_PTX_TEX)
        return fault(c, o, "%.*s stands in %s, the instruction accesses %s", BL_SV(s->name), space_name(s->space),
                     space_name(space));
    if (space == BL_PTX_PARAM && writes_address(c->instr) && is_parameter_of(c->func, s))
        return fault(c, o, "%.*s is a parameter of this function: it can only be read", BL_SV(s->name));
    return true;
}

static bool check_scalar(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    char name[64];
    switch (o->kind) {
    case BL_PTX_REG_OPERAND:
        if (w->spec->letter == 'i')
            return fault(c, o, "expected a constant, not a register");
        return check_register(c, o, w);
    case BL_PTX_INT:
    case BL_PTX_FLOAT:
        return check_immediate(c, o, w);
    case BL_PTX_SYMBOL:
        /* a bare name needs mov; with an offset ptxas takes it anywhere */
        if (w->spec->letter == 'a' && o->offset && (class_of(w->type) == CLASS_INT || class_of(w->type) == CLASS_BITS))
            return true;
        break;
    case BL_PTX_SINK:
        if (w->spec->sink || w->spec->letter == 's')
            return true;
        return fault(c, o, "the result of %s can't be dropped with _", bl_ptx_opcode_name(c->instr->op));
    default:
        break;
    }
    return fault(c, o, "expected %s", w->spec->letter == 'i' ? "a constant" : wanted_name(w, name, sizeof(name)));
}

static bool check_elements(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    const struct bl_ptx_isa_operand *spec = w->spec;
    if (o->kind == BL_PTX_REG_OPERAND && o->symbol->vec == w->width && !o->component) {
        struct bl_ptx_symbol element = *o->symbol;
        struct bl_ptx_operand one = *o;
        element.vec = 1;
        one.symbol = &element;
        return check_register(c, &one, w);
    }
    if (o->kind != BL_PTX_VECTOR)
        return fault(c, o, "expected a vector of %u: {a, b, …}", w->width);
    if (o->item_count != w->width)
        return fault(c, o, "a vector of %u elements: expected %u", o->item_count, w->width);
    for (uint32_t e = 0; e < o->item_count; e++) {
        if (o->items[e].kind == BL_PTX_SINK && spec->letter == 'd')
            continue;
        if (!check_scalar(c, &o->items[e], w))
            return false;
    }
    return true;
}

/* More than 128 bits: only ld and st of global memory, 256 bits, since PTX 8.8 on sm_100. */
static bool check_vector_size(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    uint32_t bits = w->width * w->bits;
    bool wide = bits == 256 && (c->instr->op == BL_PTX_OP_ld || c->instr->op == BL_PTX_OP_st) &&
                (c->form->space == BL_PTX_GENERIC || c->form->space == BL_PTX_GLOBAL);
    if (bits > 128 && !wide)
        return fault(c, o, "a vector of %u bits: at most 128 are allowed here", bits);
    if (bits > 128 && (c->module->version < 88 || c->module->sm < 100))
        return fault(c, o, "a vector of 256 bits needs PTX 8.8 and sm_100");
    return true;
}

static bool check_pair(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    static const struct bl_ptx_isa_operand predicate = {.letter = 'p', .type_place = BL_PTX_ISA_NO_PLACE, .sink = true};
    struct wanted second = {.spec = &predicate, .type = BL_PTX_PRED, .width = 1};
    if (!w->spec->pair)
        return fault(c, o, "%s has no second result", bl_ptx_opcode_name(c->instr->op));
    if (o->item_count != 2)
        return fault(c, o, "expected two results: d|p");
    if (w->width > 1 ? !check_elements(c, &o->items[0], w) : !check_scalar(c, &o->items[0], w))
        return false;
    return check_scalar(c, &o->items[1], &second);
}

static bool check_label(struct check *c, const struct bl_ptx_operand *o)
{
    bool table = c->instr->op == BL_PTX_OP_brx;
    if (o->kind == BL_PTX_SYMBOL && o->symbol->kind == (table ? BL_PTX_SYM_BRANCH_TARGETS : BL_PTX_SYM_LABEL))
        return true;
    return fault(c, o, table ? "expected the name of a .branchtargets list" : "expected a label");
}

/* cvta, mapa, getctarank: a register, or the address of a variable. */
static bool check_address_value(struct check *c, const struct bl_ptx_operand *o, const struct wanted *w)
{
    if (o->kind != BL_PTX_SYMBOL)
        return check_scalar(c, o, w);
    if (o->symbol->kind == BL_PTX_SYM_LABEL)
        return fault(c, o, "expected a register or a variable, not a label");
    if ((o->symbol->kind == BL_PTX_SYM_VAR || o->symbol->kind == BL_PTX_SYM_PARAM) && c->form->space != BL_PTX_GENERIC &&
        c->form->space != o->symbol->space && o->symbol->space != BL_PTX_TEX)
        return fault(c, o, "%.*s stands in %s, the instruction names %s", BL_SV(o->symbol->name), space_name(o->symbol->space),
                     space_name((enum bl_ptx_space)c->form->space));
    return true;
}

static bool check_operand(struct check *c, const struct bl_ptx_isa_operand *spec, const struct bl_ptx_operand *o)
{
    struct wanted w = wanted_of(c, spec);
    switch (spec->letter) {
    case 'm':
        return check_address(c, o, &w);
    case 'l':
        return check_label(c, o);
    case 'f':
        return check_address_value(c, o, &w);
    case 't':
        return o->kind == BL_PTX_TEX_ADDRESS || o->kind == BL_PTX_ADDRESS || fault(c, o, "expected [texture, coordinates]");
    case 's':
        return o->kind == BL_PTX_SINK || fault(c, o, "expected _: this form gives no result");
    default:
        break;
    }
    if (o->kind == BL_PTX_PAIR)
        return check_pair(c, o, &w);
    if (spec->pair_always)
        return fault(c, o, "expected a second result: d|p");
    /* {a} is a itself */
    if (o->kind == BL_PTX_VECTOR && (w.width == 1 || spec->width == BL_PTX_ISA_ANY_WIDTH)) {
        if (spec->width == BL_PTX_ISA_ANY_WIDTH)
            w.width = o->item_count;
        return check_elements(c, o, &w);
    }
    if (w.width == 1)
        return check_scalar(c, o, &w);
    if (spec->sink && o->kind == BL_PTX_SINK)
        return true;
    if (spec->width == BL_PTX_ISA_MOD_WIDTH && !check_vector_size(c, o, &w))
        return false;
    return check_elements(c, o, &w);
}

/* ---- mov: a register, a constant, an address, a special register, or a vector in one register --- */

static const struct bl_ptx_isa_operand mov_to = {.letter = 'd', .type_place = 0}, mov_from = {.letter = 'a', .type_place = 0};

static bool check_mov_special(struct check *c, const struct bl_ptx_operand *o, enum bl_ptx_type type)
{
    const struct bl_ptx_symbol *s = o->symbol;
    enum type_class class = class_of(type);
    uint32_t have = bl_ptx_type_bits(s->type), bits = bl_ptx_type_bits(type);
    /* .u16 of a 32-bit one is what PTX 1.x programs wrote; still accepted */
    if ((class == CLASS_INT || class == CLASS_BITS) && (have == bits || (have == 32 && bits == 16)))
        return true;
    return fault(c, o, "special register %.*s has type .%s, the instruction .%s", BL_SV(s->name), bl_ptx_type_name(s->type),
                 bl_ptx_type_name(type));
}

static bool check_mov_from(struct check *c, const struct bl_ptx_operand *o, enum bl_ptx_type type)
{
    struct wanted w = wanted_of(c, &mov_from);
    if (o->kind == BL_PTX_REG_OPERAND && o->symbol->kind == BL_PTX_SYM_SREG)
        return check_mov_special(c, o, type);
    if (o->kind == BL_PTX_SYMBOL) {
        enum type_class class = class_of(type);
        if (o->symbol->kind == BL_PTX_SYM_LABEL)
            return fault(c, o, "the address of a label can't be taken");
        if ((class == CLASS_INT || class == CLASS_BITS) && (w.bits == 32 || w.bits == 64))
            return true;
        return fault(c, o, "an address where .%s is expected", bl_ptx_type_name(type));
    }
    return check_scalar(c, o, &w);
}

/* {a, b, …} as one value: elements of one size that make up the instruction's. */
static bool check_mov_vector(struct check *c, const struct bl_ptx_operand *o, enum bl_ptx_type type, bool destination)
{
    uint32_t bits = bl_ptx_type_bits(type) / BL_MAX(o->item_count, 1u);
    if (class_of(type) != CLASS_BITS)
        return fault(c, o, "a vector needs an untyped mov: .b16 to .b128, not .%s", bl_ptx_type_name(type));
    if ((o->item_count != 2 && o->item_count != 4) || bits < 8)
        return fault(c, o, "a vector of %u elements in .%s", o->item_count, bl_ptx_type_name(type));
    for (uint32_t e = 0; e < o->item_count; e++) {
        const struct bl_ptx_operand *item = &o->items[e];
        if (item->kind == BL_PTX_SINK && destination)
            continue;
        if (item->kind == BL_PTX_INT || item->kind == BL_PTX_FLOAT) {
            if (!destination)
                continue;
            return fault(c, item, "expected a register to write to");
        }
        if (item->kind != BL_PTX_REG_OPERAND || item->symbol->kind != BL_PTX_SYM_REG)
            return fault(c, item, "expected a register");
        if (class_of(item->symbol->type) == CLASS_PRED || bl_ptx_type_bits(item->symbol->type) != bits)
            return fault(c, item, "register %.*s has type .%s: expected one of %u bits, a part of .%s", BL_SV(item->symbol->name),
                         bl_ptx_type_name(item->symbol->type), bits, bl_ptx_type_name(type));
    }
    return true;
}

static bool check_mov(struct check *c)
{
    const struct bl_ptx_instr *i = c->instr;
    enum bl_ptx_type type = (enum bl_ptx_type)i->types[0];
    const struct bl_ptx_operand *to = &i->operands[0], *from = &i->operands[1];
    struct wanted w = wanted_of(c, &mov_to);
    if (i->operand_count != 2)
        return fault(c, to, "mov needs two operands, here are %u", i->operand_count);
    if (to->kind == BL_PTX_VECTOR && from->kind == BL_PTX_VECTOR)
        return fault(c, to, "a vector on both sides needs .v2 or .v4");
    if (to->kind == BL_PTX_VECTOR)
        return check_mov_vector(c, to, type, true) && check_mov_from(c, from, type);
    if (!check_scalar(c, to, &w))
        return false;
    return from->kind == BL_PTX_VECTOR ? check_mov_vector(c, from, type, false) : check_mov_from(c, from, type);
}

/* ---- call ------------------------------------------------------------------------------------ */

static uint64_t value_size(const struct bl_ptx_symbol *s)
{
    return s->kind == BL_PTX_SYM_REG ? bl_ptx_type_bits(s->type) / 8 * BL_MAX(s->vec, 1) : s->size;
}

static bool check_call_list(struct check *c, const struct bl_ptx_operand *given, uint32_t count,
                            struct bl_ptx_symbol *const *formal, uint32_t formal_count, const char *what)
{
    const struct bl_ptx_operand *target = &c->instr->operands[0];
    if (count != formal_count)
        return fault(c, target, "the call has %u %s%s, the function %u", count, what, count == 1 ? "" : "s", formal_count);
    for (uint32_t a = 0; a < count; a++) {
        const struct bl_ptx_symbol *s = given[a].symbol;
        bool sized = (given[a].kind == BL_PTX_REG_OPERAND || given[a].kind == BL_PTX_SYMBOL) && s &&
                     (s->kind == BL_PTX_SYM_REG || s->kind == BL_PTX_SYM_PARAM);
        if (!sized || given[a].component || !value_size(formal[a]) || !value_size(s))
            continue;
        if (value_size(s) != value_size(formal[a]))
            return fault(c, &given[a], "%.*s has %" PRIu64 " bytes, the function's %s %u has %" PRIu64, BL_SV(s->name),
                         value_size(s), what, a + 1, value_size(formal[a]));
    }
    return true;
}

static bool check_call(struct check *c)
{
    const struct bl_ptx_instr *i = c->instr;
    const struct bl_ptx_func *callee = NULL;
    if (!i->operand_count)
        return true;
    if (i->operands[0].kind == BL_PTX_SYMBOL && i->operands[0].symbol && i->operands[0].symbol->kind == BL_PTX_SYM_FUNC)
        callee = i->operands[0].symbol->func;
    else if (i->prototype && i->prototype->kind == BL_PTX_SYM_PROTO)
        callee = i->prototype->proto;
    if (!callee)
        return true;
    if (callee->is_entry)
        return fault(c, &i->operands[0], "%.*s is a kernel: only a function can be called", BL_SV(callee->name));
    return check_call_list(c, i->returns, i->return_count, callee->returns.items, callee->returns.count, "result") &&
           check_call_list(c, i->args, i->arg_count, callee->params.items, callee->params.count, "argument");
}

/* ---- one row ----------------------------------------------------------------------------------- */

/* Operands from `o` on against the signature from `k` on; depth is bounded by the signature's length (at most 12). */
static bool match_operands(struct check *c, uint32_t k, uint32_t o)
{
    const struct bl_ptx_row *row = c->candidate->row;
    const struct bl_ptx_instr *i = c->instr;
    for (; k < row->operand_count; k++) {
        const struct bl_ptx_isa_operand *spec = &row->operands[k];
        if (spec->condition && !(c->candidate->filled >> (spec->condition - 1) & 1))
            continue;
        if (o == i->operand_count) {
            if (spec->optional)
                continue;
            return false;
        }
        if (spec->optional && match_operands(c, k + 1, o))
            return true;
        if (!check_operand(c, spec, &i->operands[o++]))
            return false;
    }
    return o == i->operand_count;
}

/* What the values of constants must be beyond a range. */
static bool check_values(struct check *c)
{
    const struct bl_ptx_instr *i = c->instr;
    uint32_t threads = i->operand_count > 1 ? 1 : 0;
    if (i->op == BL_PTX_OP_setmaxnreg && i->operands[0].bits % 8)
        return fault(c, &i->operands[0], "expected a multiple of 8");
    if ((i->op != BL_PTX_OP_bar && i->op != BL_PTX_OP_barrier) || !threads || c->candidate->row->operand_count < 2)
        return true;
    if (bl_ptx_has(i, BL_PTX_MOD_red))
        threads = i->operand_count > 3 ? 2 : 0;
    if (threads && i->operands[threads].kind == BL_PTX_INT && i->operands[threads].bits % 32)
        return fault(c, &i->operands[threads], "the number of threads at a barrier must be a multiple of 32");
    return true;
}

static bool row_fits(struct check *c, const struct candidate *candidate)
{
    const struct bl_ptx_row *row = candidate->row;
    c->candidate = candidate;
    if (row->operand_count && row->operands[0].letter == 'x')
        return c->instr->operand_count ? check_mov(c) : false;
    if (row->operand_count && row->operands[0].letter == 'c')
        return check_call(c);
    if (c->instr->operand_count < candidate->least || c->instr->operand_count > candidate->most)
        return false;
    return match_operands(c, 0, 0) && check_values(c);
}

/* ---- faults -------------------------------------------------------------------------------------- */

/* Where word number n of the instruction (opcode: 0) stands in the text. */
static struct bl_ptx_loc word_place(const struct bl_ptx_instr *i, const char *word)
{
    struct bl_ptx_loc loc = i->loc;
    size_t size = strlen(word);
    for (size_t at = 0; at < i->text.size && i->text.data[at] != '\n'; at++) {
        if (i->text.data[at] != '.' || i->text.size - at - 1 < size || memcmp(i->text.data + at + 1, word, size))
            continue;
        char next = at + 1 + size < i->text.size ? i->text.data[at + 1 + size] : ' ';
        if (next != '.' && next != ' ' && next != '\t')
            continue;
        loc.column += (uint32_t)at;
        break;
    }
    return loc;
}

/* A list of words for a message, each once. */
struct words {
    char text[1200];
    size_t size;
    uint8_t seen[BL_MAX((int)BL_PTX_MOD_COUNT, (int)BL_PTX_TYPE_COUNT) / 8 + 1];
};

static const char *word_text(uint16_t word, bool type)
{
    return type ? bl_ptx_type_name((enum bl_ptx_type)word) : bl_ptx_mod_name((enum bl_ptx_mod)word);
}

static void words_add(struct words *words, const char *word)
{
    if (words->size + strlen(word) + 3 <= sizeof(words->text))
        words->size +=
            (size_t)snprintf(words->text + words->size, sizeof(words->text) - words->size, "%s.%s", words->size ? " " : "", word);
}

static void words_add_place(struct words *words, const struct bl_ptx_isa_place *place)
{
    for (uint32_t w = 0; w < place->word_count; w++) {
        uint16_t word = place->words[w].word;
        if (!(words->seen[word / 8] >> (word % 8) & 1))
            words_add(words, word_text(word, place->is_type));
        words->seen[word / 8] |= (uint8_t)(1u << (word % 8));
    }
}

/* Every word that some row of the opcode takes: modifiers or types. */
static void words_of_opcode(enum bl_ptx_opcode op, bool types, struct words *words)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[op];
    for (uint32_t r = 0; r < range.count; r++) {
        const struct bl_ptx_row *row = &bl_ptx_isa_rows[range.first + r];
        for (uint32_t k = 0; k < row->place_count; k++)
            if (row->places[k].is_type == types)
                words_add_place(words, &row->places[k]);
    }
}

static bool opcode_takes(enum bl_ptx_opcode op, uint16_t word, bool type)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[op];
    struct candidate unused = {0};
    for (uint32_t r = 0; r < range.count; r++) {
        const struct bl_ptx_row *row = &bl_ptx_isa_rows[range.first + r];
        for (uint32_t k = 0; k < row->place_count; k++)
            if (row->places[k].is_type == type && place_takes(&row->places[k], word, &unused))
                return true;
    }
    return false;
}

/* The place of the row that is missing where all words of the instruction fit; -1: none. */
static int missing_of(const struct bl_ptx_row *row, const struct bl_ptx_instr *i)
{
    struct candidate c = {.row = row};
    if (row->is_open || !types_fit(row, i, &c))
        return -1;
    for (uint32_t m = 0; m < i->mod_count; m++) {
        int k = place_of(row, i->mods[m], &c);
        if (k < 0)
            return -1;
        c.filled |= 1u << k;
    }
    return place_missing(row, &c);
}

/* Rows that all words of the instruction fit, but that ask for one more: says which. */
static bool fail_missing(struct bl_ptx_module *module, const struct bl_ptx_instr *i, struct bl_error *error)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[i->op];
    struct words words = {.size = 0};
    const char *form = NULL;
    for (uint32_t r = 0; r < range.count; r++) {
        const struct bl_ptx_row *row = &bl_ptx_isa_rows[range.first + r];
        int missing = missing_of(row, i);
        if (missing >= 0)
            words_add_place(&words, &row->places[missing]);
        if (missing >= 0 && !form)
            form = row->form;
    }
    if (form)
        bl_ptx_fail(module, i->loc, error, BL_SYNTAX, "%s with these types needs %s%s, as in %s", bl_ptx_opcode_name(i->op),
                    strchr(words.text, ' ') ? "one of " : "", words.text, form);
    return form != NULL;
}

/* The forms of the opcode that take these types, or all of them. */
static void forms_of(const struct bl_ptx_instr *i, char *buffer, size_t size)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[i->op];
    size_t at = 0;
    buffer[0] = 0;
    for (uint32_t pass = 0; pass < 2 && !at; pass++) {
        for (uint32_t r = 0; r < range.count; r++) {
            const struct bl_ptx_row *row = &bl_ptx_isa_rows[range.first + r];
            struct candidate c = {.row = row};
            if (row->is_open || (!pass && !types_fit(row, i, &c)) || at + strlen(row->form) + 8 > size)
                continue;
            at += (size_t)snprintf(buffer + at, size - at, "\n    %s", row->form);
        }
    }
}

static enum bl_status fail_form(struct bl_ptx_module *module, const struct bl_ptx_instr *i, struct bl_error *error)
{
    const char *name = bl_ptx_opcode_name(i->op);
    struct words words = {.size = 0}, given = {.size = 0};
    char forms[1000];
    for (uint32_t m = 0; m < i->mod_count; m++) {
        const char *word = bl_ptx_mod_name((enum bl_ptx_mod)i->mods[m]);
        words_add(&given, word);
        if (opcode_takes(i->op, i->mods[m], false))
            continue;
        words_of_opcode(i->op, false, &words);
        return bl_ptx_fail(module, word_place(i, word), error, BL_SYNTAX, "%s takes no modifier .%s; allowed: %s", name, word,
                           words.size ? words.text : "none");
    }
    for (uint32_t t = 0; t < i->type_count; t++) {
        const char *word = bl_ptx_type_name((enum bl_ptx_type)i->types[t]);
        words_add(&given, word);
        if (opcode_takes(i->op, i->types[t], true))
            continue;
        words_of_opcode(i->op, true, &words);
        return bl_ptx_fail(module, word_place(i, word), error, BL_SYNTAX, "%s takes no type .%s; allowed: %s", name, word,
                           words.size ? words.text : "none");
    }
    if (fail_missing(module, i, error))
        return BL_SYNTAX;
    forms_of(i, forms, sizeof(forms));
    return bl_ptx_fail(module, i->loc, error, BL_SYNTAX, "no such form of %s: %s; allowed:%s", name,
                       given.size ? given.text : "no modifier, no type", forms);
}

static enum bl_status fail_operands(struct check *c, struct bl_error *error)
{
    const struct bl_ptx_instr *i = c->instr;
    uint32_t least = UINT32_MAX, most = 0;
    if (c->fault_rank)
        return bl_ptx_fail(c->module, c->fault_loc, error, BL_SYNTAX, "%s", c->fault);
    for (uint32_t r = 0; r < c->form->candidate_count; r++) {
        least = BL_MIN(least, (uint32_t)c->form->candidates[r].least);
        most = BL_MAX(most, (uint32_t)c->form->candidates[r].most);
    }
    if (least == most)
        return bl_ptx_fail(c->module, i->loc, error, BL_SYNTAX, "%s needs %u operand%s, here %s %u: %s", bl_ptx_opcode_name(i->op),
                           least, least == 1 ? "" : "s", i->operand_count == 1 ? "is" : "are", i->operand_count,
                           c->form->candidates[0].row->form);
    return bl_ptx_fail(c->module, i->loc, error, BL_SYNTAX, "%s needs %u to %u operands, here %s %u: %s", bl_ptx_opcode_name(i->op),
                       least, most, i->operand_count == 1 ? "is" : "are", i->operand_count, c->form->candidates[0].row->form);
}

/* The name of an instruction up to its types, as messages show it: "shfl.sync.bfly". */
static void name_of(const struct bl_ptx_instr *i, char *buffer, size_t size)
{
    size_t at = (size_t)snprintf(buffer, size, "%s", bl_ptx_opcode_name(i->op));
    for (uint32_t m = 0; m < i->mod_count && at < size; m++)
        at += (size_t)snprintf(buffer + at, size - at, ".%s", bl_ptx_mod_name((enum bl_ptx_mod)i->mods[m]));
    for (uint32_t t = 0; t < i->type_count && at < size; t++)
        at += (size_t)snprintf(buffer + at, size - at, ".%s", bl_ptx_type_name((enum bl_ptx_type)i->types[t]));
}

static enum bl_status fail_since(struct check *c, const struct candidate *candidate, struct bl_error *error)
{
    const struct bl_ptx_module *module = c->module;
    char name[200], rules[80] = "";
    name_of(c->instr, name, sizeof(name));
    if (module->version < candidate->needs_version)
        return bl_ptx_fail(c->module, c->instr->loc, error, BL_SYNTAX, "%s needs PTX %u.%u, this module has .version %u.%u", name,
                           candidate->needs_version / 10, candidate->needs_version % 10, module->version / 10,
                           module->version % 10);
    for (uint32_t r = 0; r < candidate->row->rule_count; r++) {
        const struct bl_ptx_isa_rule *rule = &candidate->row->rules[r];
        size_t at = strlen(rules);
        snprintf(rules + at, sizeof(rules) - at, "%ssm_%u%.1s", r ? " or " : "", rule->sm,
                 rule->suffix == ' ' ? "" : &rule->suffix);
    }
    if (!candidate->row->rule_count)
        snprintf(rules, sizeof(rules), "sm_%u or newer", candidate->needs_sm);
    return bl_ptx_fail(c->module, c->instr->loc, error, BL_SYNTAX, "%s needs %s, this module has .target %.*s", name, rules,
                       BL_SV(module->target));
}

/* ---- the one public function ---------------------------------------------------------------------- */

/* The row that stands for what the table doesn't know; NULL where the opcode's rows are complete. */
static const struct bl_ptx_row *open_row(enum bl_ptx_opcode op)
{
    const struct bl_ptx_isa_range range = bl_ptx_isa_ranges[op];
    const struct bl_ptx_row *last = range.count ? &bl_ptx_isa_rows[range.first + range.count - 1] : NULL;
    return last && last->is_open ? last : NULL;
}

/* Rules that hold for a form by module version and target, not by row. */
static const char *withdrawn(const struct bl_ptx_module *module, const struct bl_ptx_instr *i)
{
    if ((i->op == BL_PTX_OP_shfl || i->op == BL_PTX_OP_vote) && !bl_ptx_has(i, BL_PTX_MOD_sync) && module->version >= 64 &&
        module->sm >= 70)
        return "without .sync it is gone since PTX 6.4 on sm_70 and newer";
    return NULL;
}

enum bl_status bl_ptx_check_instr(struct bl_ptx_module *module, struct bl_ptx_func *func, struct bl_ptx_instr *instr,
                                  struct bl_error *error)
{
    const struct form *form;
    struct check c;
    if (instr->guard && instr->guard->type != BL_PTX_PRED)
        return bl_ptx_fail(module, instr->loc, error, BL_SYNTAX, "the guard %.*s has type .%s: expected a predicate",
                           BL_SV(instr->guard->name), bl_ptx_type_name(instr->guard->type));
    form = form_of(module, instr);
    c.module = module; /* one by one: the text of the fault stays as it is, clearing it costs more than the check */
    c.func = func;
    c.instr = instr;
    c.form = form;
    c.fault_rank = 0;
    for (uint32_t r = 0; r < form->candidate_count; r++) {
        const struct candidate *candidate = &form->candidates[r];
        if (!candidate->available || !row_fits(&c, candidate))
            continue;
        if (withdrawn(module, instr))
            return bl_ptx_fail(module, instr->loc, error, BL_SYNTAX, "%s: %s", bl_ptx_opcode_name(instr->op),
                               withdrawn(module, instr));
        instr->row = candidate->row;
        return BL_OK;
    }
    instr->row = form->candidate_count ? NULL : open_row(instr->op);
    if (instr->row)
        return BL_OK;
    for (uint32_t r = 0; r < form->candidate_count; r++)
        if (row_fits(&c, &form->candidates[r]))
            return fail_since(&c, &form->candidates[r], error);
    return form->candidate_count ? fail_operands(&c, error) : fail_form(module, instr, error);
}
