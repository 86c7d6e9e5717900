/* Declarations: registers, variables with their initialisers, parameters. For the parser. */
#include "ptx/parser.h"

/* Larger than any address space; sums of offsets stay far from overflow. */
#define SIZE_LIMIT (UINT64_C(1) << 47)
enum {
    ALIGN_LIMIT = 1 << 20,
    PARAMETER_LIMIT = 1 << 20, /* bytes of all parameters of one function; CUDA allows 32764 */
    PARAMETER_COUNT_LIMIT = 1 << 15,
    RANGE_LIMIT = 1 << 24, /* registers in one declaration */
};

/* What stands before the names of a declaration. */
struct shape {
    enum bl_ptx_space space;
    enum bl_ptx_linking linking;
    enum bl_ptx_type type;
    uint32_t vec, align; /* align 0: the type's own */
    uint32_t ptr_align;
    enum bl_ptx_space ptr_space;
    bool is_managed, is_unified;
};

static enum bl_ptx_space space_of(enum bl_ptx_directive directive)
{
    switch (directive) {
    case BL_PTX_DIRECTIVE_reg:
        return BL_PTX_REG;
    case BL_PTX_DIRECTIVE_param:
        return BL_PTX_PARAM;
    case BL_PTX_DIRECTIVE_local:
        return BL_PTX_LOCAL;
    case BL_PTX_DIRECTIVE_shared:
        return BL_PTX_SHARED;
    case BL_PTX_DIRECTIVE_const:
        return BL_PTX_CONST;
    case BL_PTX_DIRECTIVE_global:
        return BL_PTX_GLOBAL;
    case BL_PTX_DIRECTIVE_tex:
        return BL_PTX_TEX;
    default:
        return BL_PTX_GENERIC;
    }
}

enum bl_ptx_linking bl_ptx_parse_linking(struct bl_ptx_parser *p)
{
    enum bl_ptx_linking linking = BL_PTX_INTERNAL;
    for (;;) {
        switch (bl_ptx_directive(p)) {
        case BL_PTX_DIRECTIVE_visible:
            linking = BL_PTX_VISIBLE;
            break;
        case BL_PTX_DIRECTIVE_extern:
            linking = BL_PTX_EXTERN;
            break;
        case BL_PTX_DIRECTIVE_weak:
            linking = BL_PTX_WEAK;
            break;
        case BL_PTX_DIRECTIVE_common:
            linking = BL_PTX_COMMON;
            break;
        default:
            return linking;
        }
        bl_ptx_next(p);
    }
}

/* ---- what stands before the names ---------------------------------------------------------------- */

static uint32_t parse_align(struct bl_ptx_parser *p)
{
    struct bl_ptx_loc loc = p->token.loc;
    uint32_t align = (uint32_t)bl_ptx_count(p, 1, ALIGN_LIMIT, "an alignment");
    if (align & (align - 1))
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected an alignment that is a power of two, found %u", align);
    return align;
}

/* (.managed), (.unified(id, id)), (.managed, .unified(…)) */
static void parse_attributes(struct bl_ptx_parser *p, bool *is_managed, bool *is_unified)
{
    bl_ptx_expect(p, '(', "'('");
    do {
        enum bl_ptx_directive directive = bl_ptx_directive(p);
        if (directive == BL_PTX_DIRECTIVE_managed) {
            *is_managed = true;
        } else if (directive == BL_PTX_DIRECTIVE_unified) {
            *is_unified = true;
        } else {
            bl_ptx_expected(p, ".managed or .unified");
        }
        bl_ptx_next(p);
        if (directive == BL_PTX_DIRECTIVE_unified && bl_ptx_accept(p, '(')) {
            bl_ptx_constant(p);
            if (bl_ptx_accept(p, ','))
                bl_ptx_constant(p);
            bl_ptx_expect(p, ')', "')'");
        }
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, ')', "')'");
}

/* .ptr{.space}{.align N}; the token stands after .ptr. */
static void parse_pointer(struct bl_ptx_parser *p, struct shape *shape)
{
    enum bl_ptx_space space = space_of(bl_ptx_directive(p));
    shape->ptr_align = 4;
    if (space != BL_PTX_GENERIC) {
        shape->ptr_space = space;
        bl_ptx_next(p);
    }
    if (bl_ptx_directive(p) == BL_PTX_DIRECTIVE_align) {
        bl_ptx_next(p);
        shape->ptr_align = parse_align(p);
    }
}

static uint32_t vector_length(const struct bl_ptx_word *word)
{
    return word->mod == BL_PTX_MOD_v2 ? 2 : word->mod == BL_PTX_MOD_v4 ? 4 : word->mod == BL_PTX_MOD_v8 ? 8 : 0;
}

/* One dotted word of a shape; false where it is none. */
static bool parse_shape_word(struct bl_ptx_parser *p, struct shape *shape)
{
    const struct bl_ptx_word *word = bl_ptx_is(p, BL_PTX_T_DOT) ? bl_ptx_word(p->token.text) : NULL;

    if (!word)
        return false;
    if (word->directive == BL_PTX_DIRECTIVE_align) {
        bl_ptx_next(p);
        shape->align = parse_align(p);
    } else if (word->directive == BL_PTX_DIRECTIVE_attribute) {
        bl_ptx_next(p);
        parse_attributes(p, &shape->is_managed, &shape->is_unified);
    } else if (word->directive == BL_PTX_DIRECTIVE_ptr) {
        bl_ptx_next(p);
        parse_pointer(p, shape);
    } else if (vector_length(word)) {
        shape->vec = vector_length(word);
        bl_ptx_next(p);
    } else if (word->type && shape->type == BL_PTX_NONE) {
        shape->type = (enum bl_ptx_type)word->type;
        bl_ptx_next(p);
    } else {
        return false;
    }
    return true;
}

static void parse_shape(struct bl_ptx_parser *p, struct shape *shape)
{
    shape->space = space_of(bl_ptx_directive(p));
    shape->vec = 1;
    if (shape->space == BL_PTX_GENERIC)
        bl_ptx_expected(p, "a state space");
    bl_ptx_next(p);
    if (shape->space == BL_PTX_CONST && bl_ptx_accept(p, '[')) { /* banks of PTX before 2.2 */
        bl_ptx_count(p, 0, 10, "a bank");
        bl_ptx_expect(p, ']', "']'");
    }
    while (parse_shape_word(p, shape))
        ;
    if (shape->type == BL_PTX_NONE)
        bl_ptx_expected(p, "a type");
    else if (shape->space != BL_PTX_REG && shape->type == BL_PTX_PRED)
        bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected a type that memory can hold, found .pred");
}

static struct bl_ptx_symbol *new_symbol(struct bl_ptx_parser *p, const struct shape *shape, struct bl_sv name,
                                        struct bl_ptx_loc loc)
{
    struct bl_ptx_symbol *symbol = BL_NEW(p->arena, struct bl_ptx_symbol);
    uint32_t bytes = BL_MAX(shape->vec * bl_ptx_type_bits(shape->type) / 8, 1u);

    symbol->kind = shape->space == BL_PTX_REG ? BL_PTX_SYM_REG : BL_PTX_SYM_VAR;
    symbol->name = name;
    symbol->loc = loc;
    symbol->space = shape->space;
    symbol->type = shape->type;
    symbol->vec = (uint8_t)shape->vec;
    symbol->linking = shape->linking;
    symbol->align = BL_MAX(shape->align, 1u);
    while (!shape->align && symbol->align < bytes)
        symbol->align *= 2;
    symbol->elements = 1;
    symbol->size = bytes;
    symbol->ptr_align = shape->ptr_align;
    symbol->ptr_space = shape->ptr_space;
    symbol->is_managed = shape->is_managed;
    symbol->is_unified = shape->is_unified;
    return symbol;
}

/* ---- dimensions -------------------------------------------------------------------------------------- */

static void set_size(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    uint64_t element = (uint64_t)symbol->vec * bl_ptx_type_bits(symbol->type) / 8;
    bool overflow = false;

    symbol->elements = 1;
    for (uint32_t d = 0; d < symbol->dims.count; d++)
        overflow |= __builtin_mul_overflow(symbol->elements, symbol->dims.items[d], &symbol->elements);
    overflow |= __builtin_mul_overflow(symbol->elements, BL_MAX(element, (uint64_t)1), &symbol->size);
    if (overflow || symbol->size > SIZE_LIMIT)
        bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "expected a size below 2^47 bytes, found a larger one");
}

/* [n][m]…; the first may be empty. */
static void parse_dimensions(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    while (bl_ptx_accept(p, '[')) {
        uint64_t dim = 0;
        symbol->is_array = true;
        if (symbol->dims.count == BL_PTX_DIM_LIMIT)
            bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "expected at most %d dimensions", BL_PTX_DIM_LIMIT);
        if (!bl_ptx_is(p, ']') || symbol->dims.count > 0)
            dim = bl_ptx_count(p, 0, SIZE_LIMIT, "a dimension");
        bl_ptx_expect(p, ']', "']'");
        *BL_PUSH(p->arena, &symbol->dims) = dim;
        if (p->panic)
            return;
    }
    set_size(p, symbol);
}

/* ---- initialisers -------------------------------------------------------------------------------------- */

struct initialiser {
    struct bl_ptx_symbol *symbol;
    uint64_t spans[BL_PTX_DIM_LIMIT + 2]; /* elements below a brace of each level; [levels] is 1 */
    uint32_t levels;
    uint8_t size; /* bytes of an element */
};

/* symbol, symbol+4, generic(symbol), generic(symbol)+4 */
static void parse_init_address(struct bl_ptx_parser *p, struct bl_ptx_init *init)
{
    struct bl_ptx_loc loc = p->token.loc;
    struct bl_sv name = bl_ptx_expect_name(p, "a constant or a name");

    if (!init->generic && BL_PTX_IS(name, "generic") && bl_ptx_accept(p, '(')) {
        init->generic = true;
        parse_init_address(p, init);
        bl_ptx_expect(p, ')', "')'");
    } else if (!p->panic) {
        init->symbol = bl_ptx_resolve(p, name, loc);
    }
    if (init->symbol && init->symbol->kind != BL_PTX_SYM_VAR && init->symbol->kind != BL_PTX_SYM_FUNC)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a variable or function, found '%.*s', which is neither", BL_SV(name));
    if (init->symbol && init->symbol->kind == BL_PTX_SYM_FUNC)
        init->symbol->func->address_taken = true;
    while (bl_ptx_is(p, '+') || bl_ptx_is(p, '-')) {
        struct bl_ptx_operand addend = bl_ptx_constant(p);
        if (addend.kind != BL_PTX_INT)
            bl_ptx_wrong(p, addend.loc, BL_SYNTAX, "expected an integer, found a float");
        init->bits += addend.bits;
    }
}

static void parse_init_number(struct bl_ptx_parser *p, const struct initialiser *state, struct bl_ptx_init *init)
{
    struct bl_ptx_operand value = bl_ptx_constant(p);

    if (value.kind == BL_PTX_INT && bl_ptx_accept(p, '(')) { /* 0xFF00(symbol) */
        init->mask = value.bits;
        if (!init->mask)
            bl_ptx_wrong(p, value.loc, BL_SYNTAX, "expected a mask, found zero");
        parse_init_address(p, init);
        bl_ptx_expect(p, ')', "')'");
    } else if (!p->panic && !bl_ptx_constant_bits(&value, state->symbol->type, &init->bits)) {
        bl_ptx_wrong(p, value.loc, BL_SYNTAX, "expected a constant of type .%s, found a float",
                     bl_ptx_type_name(state->symbol->type));
    }
    if (init->size < 8 && !init->symbol)
        init->bits &= (UINT64_C(1) << (8 * init->size)) - 1;
}

static void parse_init_element(struct bl_ptx_parser *p, const struct initialiser *state, uint64_t element)
{
    struct bl_ptx_init init = {.size = state->size};

    if (element > UINT32_MAX / state->size - 1) {
        bl_ptx_wrong(p, p->token.loc, BL_UNSUPPORTED, "initialisers past 4 GB are not supported");
        return;
    }
    init.offset = (uint32_t)element * state->size;
    if (bl_ptx_at_constant(p))
        parse_init_number(p, state, &init);
    else
        parse_init_address(p, &init);
    if (!p->panic)
        *BL_PUSH(p->arena, &state->symbol->inits) = init;
}

/* A list in braces whose first element has that number; gives the number of elements up to its last. */
static uint64_t parse_init_list(struct bl_ptx_parser *p, const struct initialiser *state, uint32_t level, uint64_t first)
{
    uint64_t inner = BL_MAX(state->spans[level + 1], (uint64_t)1), count = 0, most = 0;

    bl_ptx_expect(p, '{', "'{'");
    while (!p->panic && !bl_ptx_is(p, '}')) {
        if (count >= state->spans[level]) {
            bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected at most %llu initialisers here, found more",
                         (unsigned long long)state->spans[level]);
        } else if (bl_ptx_is(p, '{')) {
            if (level + 1 >= state->levels || count % inner != 0)
                bl_ptx_expected(p, "a constant or a name");
            else
                parse_init_list(p, state, level + 1, first + count);
            count += inner;
        } else {
            parse_init_element(p, state, first + count++);
        }
        most = BL_MAX(most, count);
        if (!bl_ptx_accept(p, ','))
            break;
    }
    bl_ptx_expect(p, '}', "'}'");
    return most;
}

/* Room for the elements at once, by the commas up to the closing brace: growing step by step would take twice as much. The
 * token is the opening one. */
static void reserve_inits(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    uint32_t count = 1, depth = 1;
    for (const char *at = p->at; at < p->end && depth > 0; at++) {
        count += *at == ',';
        depth += *at == '{';
        depth -= *at == '}';
    }
    symbol->inits.items = BL_NEW_ARRAY(p->arena, struct bl_ptx_init, count);
    symbol->inits.capacity = count;
}

/* = …; the token stands after the =. */
static void parse_initialiser(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    struct initialiser state = {
        .symbol = symbol, .size = (uint8_t)(bl_ptx_type_bits(symbol->type) / 8), .levels = symbol->dims.count};
    bool is_open = symbol->dims.count && symbol->dims.items[0] == 0;
    uint64_t count;

    symbol->has_init = true;
    if (state.size == 0 || state.size > 8) {
        bl_ptx_wrong(p, p->token.loc, BL_UNSUPPORTED, "initialisers of type .%s are not supported", bl_ptx_type_name(symbol->type));
        return;
    }
    state.levels += symbol->vec > 1;
    state.spans[state.levels] = 1;
    for (uint32_t level = state.levels; level-- > 0;)
        state.spans[level] = state.spans[level + 1] * (level == symbol->dims.count ? symbol->vec : symbol->dims.items[level]);
    if (is_open)
        state.spans[0] = SIZE_LIMIT;
    if (!bl_ptx_is(p, '{')) {
        if (state.levels)
            bl_ptx_expected(p, "'{'");
        parse_init_element(p, &state, 0);
        return;
    }
    if (state.levels == 0)
        state.spans[0] = state.spans[1] = state.levels = 1;
    reserve_inits(p, symbol);
    count = parse_init_list(p, &state, 0, 0);
    if (is_open && !p->panic) {
        if (state.spans[1] == 0)
            bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "expected dimensions above zero where there is an initialiser");
        else
            symbol->dims.items[0] = (count + state.spans[1] - 1) / state.spans[1];
        set_size(p, symbol);
    }
}

/* texref, samplerref and surfref take { name = value, … }: what it says is the driver's, and is left out. */
static void skip_opaque_initialiser(struct bl_ptx_parser *p)
{
    bl_ptx_expect(p, '{', "'{'");
    while (!p->panic && !bl_ptx_is(p, '}')) {
        bl_ptx_expect_name(p, "a field's name");
        bl_ptx_expect(p, '=', "'='");
        if (bl_ptx_at_constant(p))
            bl_ptx_constant(p);
        else
            bl_ptx_expect_name(p, "a field's value");
        if (!bl_ptx_accept(p, ','))
            break;
    }
    bl_ptx_expect(p, '}', "'}'");
}

/* ---- variables and registers ------------------------------------------------------------------------------ */

/* A variable that the module has already: a declaration and the definition become one. */
static void merge_variable(struct bl_ptx_parser *p, struct bl_ptx_symbol *before, struct bl_ptx_symbol *symbol)
{
    bool both = before->linking != BL_PTX_EXTERN && symbol->linking != BL_PTX_EXTERN && symbol->linking != BL_PTX_COMMON &&
                before->linking != BL_PTX_COMMON;
    struct bl_ptx_symbol merged = symbol->linking == BL_PTX_EXTERN ? *before : *symbol;

    if (before->kind != BL_PTX_SYM_VAR || both) {
        bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "'%.*s' is declared twice, first in line %u", BL_SV(symbol->name),
                     before->loc.line);
        return;
    }
    if (before->space != symbol->space || before->type != symbol->type || before->vec != symbol->vec ||
        (before->size && symbol->size && before->size != symbol->size)) {
        bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "'%.*s' is declared otherwise in line %u", BL_SV(symbol->name), before->loc.line);
        return;
    }
    merged.name = before->name; /* the first: what stands after it may mention it */
    merged.index = before->index;
    merged.mark = before->mark;
    *before = merged;
}

static void add_variable(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    bool is_static = symbol->space != BL_PTX_PARAM && symbol->space != BL_PTX_LOCAL;
    struct bl_ptx_symbol *before = p->func ? NULL : bl_map_get(&p->module->names, symbol->name);

    if (before) {
        merge_variable(p, before, symbol);
        return;
    }
    if (!p->func || is_static) {
        symbol->index = p->module->variables.count;
        *BL_PUSH(p->arena, &p->module->variables) = symbol;
    }
    if (p->func) {
        bl_ptx_declare(p, symbol);
        return;
    }
    p->module->percent_names |= symbol->name.data[0] == '%';
    bl_map_set(p->arena, &p->module->names, symbol->name, symbol);
}

static void parse_variable(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    bool opaque = symbol->type == BL_PTX_TEXREF || symbol->type == BL_PTX_SAMPLERREF || symbol->type == BL_PTX_SURFREF;

    parse_dimensions(p, symbol);
    if (!p->panic && bl_ptx_is(p, '=') && symbol->space != BL_PTX_GLOBAL && symbol->space != BL_PTX_CONST)
        bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected an initialiser in .global and .const only");
    if (bl_ptx_accept(p, '=')) {
        if (opaque)
            skip_opaque_initialiser(p);
        else
            parse_initialiser(p, symbol);
    }
    if (!p->panic)
        add_variable(p, symbol);
    if (!p->panic && p->func)
        bl_ptx_add_declaration(p, BL_PTX_DECLARATION, symbol, 1);
}

/* <N> after the name of registers; false where it is not there. */
static bool parse_range(struct bl_ptx_parser *p, struct bl_ptx_symbol *pattern, uint32_t *count)
{
    struct bl_ptx_loc loc = p->token.loc;

    if (!bl_ptx_accept(p, '<'))
        return false;
    /* not an expression: its > would be an operator */
    if (bl_ptx_is(p, BL_PTX_T_NUMBER)) {
        uint64_t number = 0;
        loc = p->token.loc;
        for (size_t at = 0; at < p->token.text.size && number <= RANGE_LIMIT; at++)
            number = p->token.text.data[at] < '0' || p->token.text.data[at] > '9'
                         ? RANGE_LIMIT + 1
                         : number * 10 + (uint64_t)(p->token.text.data[at] - '0');
        if (number == 0 || number > RANGE_LIMIT)
            bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a number of registers from 1 to %d", RANGE_LIMIT);
        *count = (uint32_t)number;
    }
    bl_ptx_expect(p, BL_PTX_T_NUMBER, "a number of registers");
    bl_ptx_expect(p, '>', "'>'");
    p->registers += *count;
    if (p->registers > RANGE_LIMIT + 64 * (uint64_t)p->module->text.size)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected fewer registers: the text declares more than it can use");
    if (!p->panic)
        bl_ptx_declare_range(p, pattern, *count);
    return true;
}

static void parse_register(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    uint32_t count = 1;

    if (!p->func) {
        bl_ptx_wrong(p, symbol->loc, BL_UNSUPPORTED, "registers outside a function are not supported");
        return;
    }
    if (!parse_range(p, symbol, &count)) {
        symbol->index = p->func->reg_count++;
        bl_ptx_declare(p, symbol);
    }
    if (!p->panic)
        bl_ptx_add_declaration(p, BL_PTX_DECLARATION, symbol, count);
}

void bl_ptx_parse_variables(struct bl_ptx_parser *p, enum bl_ptx_linking linking)
{
    struct shape shape = {.linking = linking};

    parse_shape(p, &shape);
    do {
        struct bl_ptx_loc loc = p->token.loc;
        struct bl_sv name = bl_ptx_expect_name(p, "a name");
        struct bl_ptx_symbol *symbol;
        if (p->panic)
            return;
        symbol = new_symbol(p, &shape, name, loc);
        if (shape.space == BL_PTX_REG)
            parse_register(p, symbol);
        else
            parse_variable(p, symbol);
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, ';', "';'");
}

/* ---- parameters ---------------------------------------------------------------------------------------------- */

static struct bl_ptx_symbol *parse_parameter(struct bl_ptx_parser *p, bool is_entry)
{
    struct shape shape = {.linking = BL_PTX_INTERNAL};
    struct bl_ptx_loc loc;
    struct bl_sv name;
    struct bl_ptx_symbol *symbol;

    parse_shape(p, &shape);
    if (shape.space != BL_PTX_PARAM && (shape.space != BL_PTX_REG || is_entry))
        bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected a parameter in .param%s", is_entry ? "" : " or .reg");
    loc = p->token.loc;
    name = bl_ptx_expect_name(p, "a parameter's name");
    if (p->panic)
        return NULL;
    symbol = new_symbol(p, &shape, name, loc);
    if (shape.space == BL_PTX_PARAM) {
        symbol->kind = BL_PTX_SYM_PARAM;
        parse_dimensions(p, symbol);
        if (is_entry && symbol->size == 0)
            bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a kernel's parameter to have a size");
    }
    return symbol;
}

void bl_ptx_parse_parameters(struct bl_ptx_parser *p, struct bl_ptx_func *func, bool returns)
{
    uint64_t bytes = 0;
    uint32_t count = 0;

    bl_ptx_expect(p, '(', "'('");
    while (!p->panic && !bl_ptx_is(p, ')')) {
        struct bl_ptx_symbol *symbol = parse_parameter(p, func->is_entry);
        if (!symbol)
            return;
        bytes = BL_ALIGN_UP(bytes, (uint64_t)symbol->align) + symbol->size;
        if (bytes > PARAMETER_LIMIT || ++count > PARAMETER_COUNT_LIMIT)
            bl_ptx_wrong(p, symbol->loc, BL_SYNTAX, "expected at most %d bytes of parameters", PARAMETER_LIMIT);
        if (returns)
            *BL_PUSH(p->arena, &func->returns) = symbol;
        else
            *BL_PUSH(p->arena, &func->params) = symbol;
        if (!bl_ptx_accept(p, ','))
            break;
    }
    bl_ptx_expect(p, ')', "')'");
}
