/* Functions: declarations, definitions, what belongs to them; one body of a lazy module. For the parser, and
 * bl_ptx_parse_body. */
#include "ptx/parser.h"

/* ---- performance and other directives ------------------------------------------------------------ */

static void parse_dims(struct bl_ptx_parser *p, uint32_t dims[3])
{
    dims[1] = dims[2] = 1;
    for (int d = 0; d < 3; d++) {
        dims[d] = (uint32_t)bl_ptx_count(p, 1, INT32_MAX, "a number");
        if (d == 2 || !bl_ptx_accept(p, ','))
            return;
    }
}

static uint32_t parse_number(struct bl_ptx_parser *p)
{
    return (uint32_t)bl_ptx_count(p, 0, INT32_MAX, "a number");
}

/* False where no directive of a function stands. */
static bool parse_function_directive(struct bl_ptx_parser *p, struct bl_ptx_func *func)
{
    enum bl_ptx_directive directive = bl_ptx_directive(p);

    if (directive < BL_PTX_DIRECTIVE_maxntid || directive > BL_PTX_DIRECTIVE_pragma)
        return false;
    bl_ptx_next(p);
    switch (directive) {
    case BL_PTX_DIRECTIVE_maxntid:
        parse_dims(p, func->maxntid);
        break;
    case BL_PTX_DIRECTIVE_reqntid:
        parse_dims(p, func->reqntid);
        break;
    case BL_PTX_DIRECTIVE_reqnctapercluster:
        parse_dims(p, func->reqnctapercluster);
        break;
    case BL_PTX_DIRECTIVE_minnctapersm:
        func->minnctapersm = parse_number(p);
        break;
    case BL_PTX_DIRECTIVE_maxnctapersm:
        func->maxnctapersm = parse_number(p);
        break;
    case BL_PTX_DIRECTIVE_maxnreg:
        func->maxnreg = parse_number(p);
        break;
    case BL_PTX_DIRECTIVE_maxclusterrank:
        func->maxclusterrank = parse_number(p);
        break;
    case BL_PTX_DIRECTIVE_blocksareclusters:
        func->blocks_are_clusters = true;
        func->explicit_cluster = true;
        break;
    case BL_PTX_DIRECTIVE_explicitcluster:
        func->explicit_cluster = true;
        break;
    case BL_PTX_DIRECTIVE_noreturn:
        func->noreturn = true;
        break;
    case BL_PTX_DIRECTIVE_pragma:
        bl_ptx_parse_pragma(p);
        break;
    case BL_PTX_DIRECTIVE_language:
        bl_ptx_next(p);
        break;
    default: /* how registers are kept over calls: nothing for us */
        if (bl_ptx_at_constant(p))
            parse_number(p);
        break;
    }
    return true;
}

void bl_ptx_parse_function_directives(struct bl_ptx_parser *p, struct bl_ptx_func *func)
{
    while (parse_function_directive(p, func))
        ;
}

/* ---- the function's entry in the module ------------------------------------------------------------ */

static struct bl_ptx_func *new_function(struct bl_ptx_parser *p, const struct bl_ptx_func *parsed)
{
    struct bl_ptx_func *func = bl_arena_copy(p->arena, parsed, sizeof(*parsed));
    struct bl_ptx_symbol *symbol = func->symbol = BL_NEW(p->arena, struct bl_ptx_symbol);
    uintptr_t number = (uintptr_t)bl_map_get(&p->module->numbers, func->name);

    *symbol = (struct bl_ptx_symbol){.kind = BL_PTX_SYM_FUNC,
                                     .name = func->name,
                                     .loc = func->loc,
                                     .linking = func->linking,
                                     .elements = 1,
                                     .align = 1,
                                     .index = p->module->funcs.count,
                                     .func = func};
    func->module = p->module;
    func->number = number ? (uint32_t)number : p->module->funcs.count + 1;
    *BL_PUSH(p->arena, &p->module->funcs) = func;
    p->module->percent_names |= func->name.data[0] == '%';
    bl_map_set(p->arena, &p->module->names, func->name, symbol);
    return func;
}

static bool same_shape(const struct bl_ptx_func *a, const struct bl_ptx_func *b)
{
    if (a->is_entry != b->is_entry || a->returns.count != b->returns.count || a->params.count != b->params.count)
        return false;
    for (uint32_t n = 0; n < a->returns.count; n++)
        if (a->returns.items[n]->size != b->returns.items[n]->size)
            return false;
    for (uint32_t n = 0; n < a->params.count; n++)
        if (a->params.items[n]->size != b->params.items[n]->size)
            return false;
    return true;
}

/* What a later declaration or the definition says replaces what an earlier declaration said. */
static void merge_function(struct bl_ptx_func *func, const struct bl_ptx_func *parsed)
{
    struct bl_ptx_func before = *func;

    *func = *parsed;
    func->name = before.name; /* the first: what stands after it may mention it */
    func->symbol = before.symbol;
    func->module = before.module;
    func->number = before.number;
    func->address_taken = before.address_taken;
    func->noreturn |= before.noreturn;
    if (parsed->linking == BL_PTX_INTERNAL || parsed->linking == BL_PTX_EXTERN)
        func->linking = before.linking == BL_PTX_EXTERN ? parsed->linking : before.linking;
    func->symbol->linking = func->linking;
    func->symbol->loc = func->loc;
}

static struct bl_ptx_func *enter_function(struct bl_ptx_parser *p, const struct bl_ptx_func *parsed, bool is_definition)
{
    struct bl_ptx_symbol *symbol = bl_map_get(&p->module->names, parsed->name);

    if (!symbol)
        return new_function(p, parsed);
    if (symbol->kind != BL_PTX_SYM_FUNC || (symbol->func->has_body && is_definition)) {
        bl_ptx_wrong(p, parsed->loc, BL_SYNTAX, "'%.*s' is declared twice, first in line %u", BL_SV(parsed->name),
                     symbol->loc.line);
        return NULL;
    }
    if (!same_shape(symbol->func, parsed)) {
        bl_ptx_wrong(p, parsed->loc, BL_SYNTAX, "'%.*s' is declared otherwise in line %u", BL_SV(parsed->name), symbol->loc.line);
        return NULL;
    }
    if (!symbol->func->has_body && !symbol->func->is_alias)
        merge_function(symbol->func, parsed);
    return symbol->func;
}

/* ---- bodies --------------------------------------------------------------------------------------------- */

/* The token is the body's {. */
static void parse_function_body(struct bl_ptx_parser *p, struct bl_ptx_func *func)
{
    func->has_body = true;
    func->body = (struct bl_sv){p->token.start, 1};
    func->body_loc = p->token.loc;
    p->module->body_count++;
    p->func = func;
    p->mentions = true;
    if (p->lazy)
        bl_ptx_skip_body(p);
    else
        bl_ptx_parse_statements(p);
    p->func = NULL;
    func->body_parsed = !p->lazy;
    func->body.size = (size_t)(p->token.start + 1 - func->body.data);
}

/* What stands before the body or semicolon. */
static void parse_head(struct bl_ptx_parser *p, struct bl_ptx_func *func)
{
    func->is_entry = bl_ptx_directive(p) == BL_PTX_DIRECTIVE_entry;
    bl_ptx_next(p);
    if (bl_ptx_directive(p) == BL_PTX_DIRECTIVE_attribute) { /* (.unified(id, id)) */
        bl_ptx_next(p);
        while (!p->panic && !bl_ptx_is(p, BL_PTX_T_WORD) && !bl_ptx_is(p, BL_PTX_T_END) && !bl_ptx_is(p, ';'))
            bl_ptx_next(p);
    }
    if (bl_ptx_is(p, '(') && !func->is_entry)
        bl_ptx_parse_parameters(p, func, true);
    func->loc = p->token.loc;
    func->name = bl_ptx_expect_name(p, "a function's name");
    if (bl_ptx_is(p, '('))
        bl_ptx_parse_parameters(p, func, false);
    bl_ptx_parse_function_directives(p, func);
}

void bl_ptx_parse_function(struct bl_ptx_parser *p, enum bl_ptx_linking linking, const char *start)
{
    struct bl_ptx_func parsed = {.linking = linking}, *func;

    parse_head(p, &parsed);
    if (!p->panic && !bl_ptx_is(p, '{') && !bl_ptx_is(p, ';'))
        bl_ptx_expected(p, "'{' or ';'");
    if (p->panic)
        return;
    parsed.whole = (struct bl_sv){start, (size_t)(p->token.start + 1 - start)};
    func = enter_function(p, &parsed, bl_ptx_is(p, '{'));
    if (!func)
        return;
    if (bl_ptx_is(p, '{')) {
        parse_function_body(p, func);
        func->whole.size = (size_t)(p->token.start + 1 - start);
        bl_ptx_expect(p, '}', "'}'");
    } else {
        bl_ptx_next(p);
    }
}

void bl_ptx_parse_alias(struct bl_ptx_parser *p)
{
    struct bl_ptx_func *funcs[2] = {NULL, NULL};

    for (int n = 0; n < 2; n++) {
        struct bl_ptx_loc loc = p->token.loc;
        struct bl_sv name = bl_ptx_expect_name(p, "a function");
        struct bl_ptx_symbol *symbol = p->panic ? NULL : bl_map_get(&p->module->names, name);
        if (!symbol || symbol->kind != BL_PTX_SYM_FUNC || symbol->func->is_alias || (n == 0 && symbol->func->has_body))
            bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a declared function%s, found '%.*s'", n ? "" : " without a body",
                         BL_SV(name));
        else
            funcs[n] = symbol->func;
        if (n == 0)
            bl_ptx_expect(p, ',', "','");
    }
    bl_ptx_expect(p, ';', "';'");
    if (p->panic || funcs[0] == funcs[1])
        return;
    funcs[0]->is_alias = true;
    funcs[0]->aliasee = funcs[1];
}

/* ---- one body of a lazy module --------------------------------------------------------------------------- */

static enum bl_status parse_body(struct bl_arena *arena, struct bl_ptx_module *module, struct bl_ptx_func *func,
                                 struct bl_error *error)
{
    struct bl_ptx_parser *p = BL_NEW(arena, struct bl_ptx_parser);
    uint32_t variables = module->variables.count;

    p->arena = arena;
    p->module = module;
    p->error = error;
    p->func = func;
    p->end = func->body.data + func->body.size;
    module->error_count = 0;
    bl_ptx_start(p, func->body.data, func->body_loc);
    bl_ptx_parse_statements(p);
    if (p->faults == 0 && !bl_ptx_is(p, '}'))
        bl_ptx_expected(p, "'}'");
    func->body_parsed = p->faults == 0;
    if (!func->body_parsed) {
        func->statements.count = 0;
        module->variables.count = variables;
    }
    return p->faults ? p->status : BL_OK;
}

enum bl_status bl_ptx_parse_body(struct bl_ptx_module *module, struct bl_ptx_func *func, struct bl_error *error)
{
    struct bl_arena *arena = module->arena;
    jmp_buf out, *before = arena->no_memory;
    uint32_t variables = module->variables.count;
    enum bl_status status;

    if (func->body_parsed)
        return BL_OK;
    if (!func->has_body)
        return bl_fail(error, BL_INVALID, "function %.*s has no body", BL_SV(func->name));
    if (setjmp(out)) {
        arena->no_memory = before;
        func->statements.count = 0;
        module->variables.count = variables;
        return bl_fail(error, BL_NO_MEMORY, "out of memory while parsing %.*s", BL_SV(func->name));
    }
    arena->no_memory = &out;
    status = parse_body(arena, module, func, error);
    arena->no_memory = before;
    return status;
}

/* ---- questions ---------------------------------------------------------------------------------------------- */

struct bl_ptx_func *bl_ptx_find_func(const struct bl_ptx_module *module, struct bl_sv name)
{
    struct bl_ptx_symbol *symbol = bl_map_get(&module->names, name);
    return symbol && symbol->kind == BL_PTX_SYM_FUNC ? symbol->func : NULL;
}

struct bl_ptx_symbol *bl_ptx_find_variable(const struct bl_ptx_module *module, struct bl_sv name)
{
    struct bl_ptx_symbol *symbol = bl_map_get(&module->names, name);
    return symbol && symbol->kind == BL_PTX_SYM_VAR ? symbol : NULL;
}

uint32_t bl_ptx_param_offset(const struct bl_ptx_func *kernel, uint32_t i)
{
    uint32_t offset = 0;
    for (uint32_t n = 0; n < kernel->params.count; n++) {
        offset = BL_ALIGN_UP(offset, kernel->params.items[n]->align);
        if (n == i)
            return offset;
        offset += (uint32_t)kernel->params.items[n]->size;
    }
    return offset;
}
