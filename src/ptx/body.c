/* Function bodies: statement by statement, or skipped with their mentions noted. For the parser. */
#include "ptx/parser.h"

struct bl_ptx_statement *bl_ptx_add_statement(struct bl_ptx_parser *p, enum bl_ptx_statement_kind kind, struct bl_ptx_loc loc)
{
    struct bl_ptx_statement *statement = BL_PUSH(p->arena, &p->statements);
    *statement = (struct bl_ptx_statement){.kind = kind, .loc = loc};
    return statement;
}

void bl_ptx_add_declaration(struct bl_ptx_parser *p, enum bl_ptx_statement_kind kind, struct bl_ptx_symbol *symbol, uint32_t count)
{
    struct bl_ptx_statement *statement = bl_ptx_add_statement(p, kind, symbol->loc);
    statement->symbol = symbol;
    statement->reg_count = count;
}

/* ---- directives inside a body -------------------------------------------------------------------- */

/* .pragma "…", "…"; the token stands after .pragma. In a body each becomes a statement. */
void bl_ptx_parse_pragma(struct bl_ptx_parser *p)
{
    do {
        if (bl_ptx_is(p, BL_PTX_T_STRING) && p->func)
            bl_ptx_add_statement(p, BL_PTX_PRAGMA, p->token.loc)->text = p->token.text;
        bl_ptx_expect(p, BL_PTX_T_STRING, "a string");
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, ';', "';'");
}

/* .loc FILE LINE COLUMN {, function_name LABEL {+ N}, inlined_at FILE LINE COLUMN}; the token stands after .loc. */
static void parse_loc(struct bl_ptx_parser *p, struct bl_ptx_loc loc)
{
    uint32_t place[3];
    struct bl_ptx_statement *statement;

    for (int n = 0; n < 3; n++)
        place[n] = (uint32_t)bl_ptx_count(p, 0, UINT32_MAX, "a file, line and column");
    if (p->panic)
        return;
    statement = bl_ptx_add_statement(p, BL_PTX_LOC, loc);
    statement->file = place[0];
    statement->line = place[1];
    statement->column = place[2];
    while (bl_ptx_accept(p, ',')) {
        bool is_name = BL_PTX_IS(p->token.text, "function_name");
        if (!is_name && !BL_PTX_IS(p->token.text, "inlined_at"))
            bl_ptx_expected(p, "function_name or inlined_at");
        bl_ptx_next(p);
        if (is_name) {
            bl_ptx_expect_name(p, "a label");
            if (bl_ptx_is(p, '+'))
                bl_ptx_constant(p);
        } else {
            for (int n = 0; n < 3; n++)
                bl_ptx_count(p, 0, UINT32_MAX, "a file, line and column");
        }
    }
    bl_ptx_accept(p, ';');
}

static void parse_directive(struct bl_ptx_parser *p)
{
    enum bl_ptx_linking linking = bl_ptx_parse_linking(p);
    struct bl_ptx_loc loc = p->token.loc;

    switch (bl_ptx_directive(p)) {
    case BL_PTX_DIRECTIVE_pragma:
        bl_ptx_next(p);
        bl_ptx_parse_pragma(p);
        break;
    case BL_PTX_DIRECTIVE_loc:
        bl_ptx_next(p);
        parse_loc(p, loc);
        break;
    case BL_PTX_DIRECTIVE_reg:
    case BL_PTX_DIRECTIVE_param:
    case BL_PTX_DIRECTIVE_local:
    case BL_PTX_DIRECTIVE_shared:
    case BL_PTX_DIRECTIVE_const:
    case BL_PTX_DIRECTIVE_global:
    case BL_PTX_DIRECTIVE_tex:
        bl_ptx_parse_variables(p, linking);
        break;
    default:
        bl_ptx_expected(p, "a directive that a body may have");
    }
}

/* ---- labelled directives ----------------------------------------------------------------------------- */

static struct bl_ptx_symbol *declare_labelled(struct bl_ptx_parser *p, enum bl_ptx_symbol_kind kind, struct bl_sv name,
                                              struct bl_ptx_loc loc)
{
    struct bl_ptx_symbol *symbol = BL_NEW(p->arena, struct bl_ptx_symbol);
    symbol->kind = kind;
    symbol->name = name;
    symbol->loc = loc;
    return symbol;
}

/* name: .callprototype (returns) _ (parameters); */
static void parse_prototype(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    struct bl_ptx_func *proto = symbol->proto = BL_NEW(p->arena, struct bl_ptx_func);

    proto->name = symbol->name;
    proto->loc = symbol->loc;
    proto->symbol = symbol;
    proto->module = p->module;
    if (bl_ptx_is(p, '('))
        bl_ptx_parse_parameters(p, proto, true);
    bl_ptx_expect_name(p, "'_'");
    if (bl_ptx_is(p, '('))
        bl_ptx_parse_parameters(p, proto, false);
    bl_ptx_parse_function_directives(p, proto);
    bl_ptx_expect(p, ';', "';'");
}

static void parse_call_targets(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    do {
        struct bl_ptx_loc loc = p->token.loc;
        struct bl_sv name = bl_ptx_expect_name(p, "a function");
        struct bl_ptx_symbol *target = p->panic ? NULL : bl_ptx_resolve(p, name, loc);
        if (target && target->kind != BL_PTX_SYM_FUNC)
            bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a function, found '%.*s', which is none", BL_SV(name));
        if (!p->panic)
            *BL_PUSH(p->arena, &symbol->targets) = target;
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, ';', "';'");
}

static void parse_branch_targets(struct bl_ptx_parser *p, struct bl_ptx_symbol *symbol)
{
    BL_ARRAY(struct bl_sv) names = {0};
    BL_ARRAY(struct bl_ptx_loc) locs = {0};

    do {
        *BL_PUSH(p->arena, &locs) = p->token.loc;
        *BL_PUSH(p->arena, &names) = bl_ptx_expect_name(p, "a label");
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, ';', "';'");
    if (p->panic)
        return;
    /* in place before any label refers into it */
    symbol->targets.items = BL_NEW_ARRAY(p->arena, struct bl_ptx_symbol *, names.count);
    symbol->targets.count = symbol->targets.capacity = names.count;
    for (uint32_t n = 0; n < names.count; n++)
        bl_ptx_refer_label(p, names.items[n], locs.items[n], &symbol->targets.items[n]);
}

/* What stands after "name:". */
static void parse_labelled(struct bl_ptx_parser *p, struct bl_sv name, struct bl_ptx_loc loc)
{
    enum bl_ptx_directive directive = bl_ptx_directive(p);
    struct bl_ptx_symbol *symbol;
    bool is_proto = directive == BL_PTX_DIRECTIVE_callprototype, is_calls = directive == BL_PTX_DIRECTIVE_calltargets;

    if (!is_proto && !is_calls && directive != BL_PTX_DIRECTIVE_branchtargets) {
        symbol = bl_ptx_define_label(p, name, loc);
        bl_ptx_add_declaration(p, BL_PTX_LABEL, symbol, 1);
        return;
    }
    bl_ptx_next(p);
    symbol = declare_labelled(p,
                              is_proto   ? BL_PTX_SYM_PROTO
                              : is_calls ? BL_PTX_SYM_TARGETS
                                         : BL_PTX_SYM_BRANCH_TARGETS,
                              name, loc);
    if (is_proto)
        parse_prototype(p, symbol);
    else if (is_calls)
        parse_call_targets(p, symbol);
    else
        parse_branch_targets(p, symbol);
    bl_ptx_declare(p, symbol);
    if (!p->panic)
        bl_ptx_add_declaration(p, BL_PTX_DECLARATION, symbol, 1);
}

/* ---- statements ------------------------------------------------------------------------------------------ */

/* A label, or an instruction without a guard. */
static void parse_word(struct bl_ptx_parser *p)
{
    struct bl_ptx_token word = p->token;

    bl_ptx_next_unnoted(p);
    if (bl_ptx_accept(p, ':'))
        parse_labelled(p, word.text, word.loc);
    else
        bl_ptx_parse_instruction(p, &word, NULL, false);
}

/* @p instruction, @!p instruction */
static void parse_guarded(struct bl_ptx_parser *p)
{
    struct bl_ptx_symbol *guard = NULL;
    struct bl_ptx_token word;
    struct bl_ptx_loc loc;
    struct bl_sv name;
    bool negated;

    bl_ptx_next(p);
    negated = bl_ptx_accept(p, '!');
    loc = p->token.loc;
    name = bl_ptx_expect_name(p, "a predicate register");
    if (!p->panic)
        guard = bl_ptx_resolve(p, name, loc);
    if (guard && (guard->kind != BL_PTX_SYM_REG || guard->type != BL_PTX_PRED))
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a predicate register, found '%.*s', which is none", BL_SV(name));
    word = p->token;
    if (!bl_ptx_is(p, BL_PTX_T_WORD))
        bl_ptx_expected(p, "an instruction");
    bl_ptx_next_unnoted(p);
    if (!p->panic)
        bl_ptx_parse_instruction(p, &word, guard, negated);
}

static void parse_statement(struct bl_ptx_parser *p)
{
    switch (p->token.kind) {
    case BL_PTX_T_WORD:
        parse_word(p);
        break;
    case BL_PTX_T_DOT:
        parse_directive(p);
        break;
    case '@':
        parse_guarded(p);
        break;
    case ';':
        bl_ptx_next(p);
        break;
    default:
        bl_ptx_expected(p, "a statement");
    }
}

static void open_block(struct bl_ptx_parser *p)
{
    if (p->block > BL_PTX_BLOCK_LIMIT) {
        bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected at most %d blocks in each other", BL_PTX_BLOCK_LIMIT);
        p->faults = BL_PTX_FAULT_LIMIT;
        return;
    }
    bl_ptx_add_statement(p, BL_PTX_BLOCK_BEGIN, p->token.loc);
    bl_ptx_scope_begin(p);
    bl_ptx_next(p);
}

static void close_block(struct bl_ptx_parser *p)
{
    bl_ptx_add_statement(p, BL_PTX_BLOCK_END, p->token.loc);
    bl_ptx_scope_end(p);
    bl_ptx_next(p);
}

static void declare_parameters(struct bl_ptx_parser *p, struct bl_ptx_func *func)
{
    for (uint32_t n = 0; n < func->returns.count + func->params.count; n++) {
        struct bl_ptx_symbol *symbol =
            n < func->returns.count ? func->returns.items[n] : func->params.items[n - func->returns.count];
        if (symbol->kind == BL_PTX_SYM_REG)
            symbol->index = func->reg_count++;
        else
            symbol->index = n;
        if (!BL_PTX_IS(symbol->name, "_"))
            bl_ptx_declare(p, symbol);
    }
}

/* The statements up to the body's own }, blocks in it included. */
static void parse_list_of_statements(struct bl_ptx_parser *p)
{
    bool go_on = true;

    while (go_on && (p->block > 1 || !bl_ptx_is(p, '}'))) {
        if (bl_ptx_is(p, '{'))
            open_block(p);
        else if (bl_ptx_is(p, '}'))
            close_block(p);
        else
            parse_statement(p);
        if (p->panic)
            go_on = bl_ptx_recover(p);
    }
}

void bl_ptx_parse_statements(struct bl_ptx_parser *p)
{
    struct bl_ptx_func *func = p->func;

    p->statements.count = p->patches.count = p->entries.count = p->block = 0;
    if (p->bucket_count)
        memset(p->buckets, 0, p->bucket_count * sizeof(*p->buckets));
    p->digit_prefix = false;
    func->reg_count = func->label_count = 0;
    declare_parameters(p, func);
    bl_ptx_scope_begin(p);
    bl_ptx_next(p);
    parse_list_of_statements(p);
    while (p->block > 0)
        bl_ptx_scope_end(p);
    bl_ptx_patch_labels(p);
    p->mentions = false;
    if (p->panic && p->faults < BL_PTX_FAULT_LIMIT) { /* labels that are missing: go on behind the body */
        p->panic = false;
        bl_ptx_start(p, p->token.start, p->token.loc);
    }
    func->statements.items = bl_arena_copy(p->arena, p->statements.items, p->statements.count * sizeof(*p->statements.items));
    func->statements.count = func->statements.capacity = p->statements.count;
}

/* ---- skipping ------------------------------------------------------------------------------------------------ */

/* Where in a statement the scan of a skipped body is. It must note exactly what the parser notes: every name but opcodes,
 * labels before a colon, and what stands after a dot. LOC…: in a .loc, which ends without a semicolon. */
enum place { START, INSIDE, CALL, CALL_LIST, CALL_COMMA, LOC, LOC_COMMA, LOC_NAME };

/* A word in a skipped body; gives where the scan is after it. */
static enum place skip_word(struct bl_ptx_parser *p, enum place place, bool is_guard)
{
    struct bl_ptx_symbol *symbol;
    bool is_call = BL_PTX_IS(p->token.text, "call"), is_name = BL_PTX_IS(p->token.text, "function_name");

    if (place == START && !is_guard) {
        bl_ptx_next_unnoted(p);
        return bl_ptx_is(p, ':') ? START : is_call ? CALL : INSIDE;
    }
    if (place == CALL) {
        symbol = bl_ptx_module_symbol(p, p->token.text);
        p->func->has_indirect_call |= !symbol || symbol->kind != BL_PTX_SYM_FUNC;
        p->is_call = true;
    }
    bl_ptx_next(p);
    p->is_call = false;
    if (place == LOC_COMMA)
        return is_name ? LOC_NAME : LOC;
    return place == CALL ? INSIDE : place == LOC_NAME ? LOC : place;
}

/* Any other token; *vectors counts the braces of operands that are open. */
static enum place skip_other(struct bl_ptx_parser *p, enum place place, uint32_t *vectors)
{
    int kind = p->token.kind;
    bool is_loc = kind == BL_PTX_T_DOT && BL_PTX_IS(p->token.text, "loc");

    bl_ptx_next(p);
    if (kind == ';')
        return *vectors = 0, START;
    if (kind == '{' && place != START)
        return ++*vectors, place;
    if (kind == '}' && *vectors)
        return --*vectors, place;
    if (kind == '{' || kind == '}')
        return START;
    if (kind == '(' && place == CALL)
        return CALL_LIST;
    if (kind == ')' && place == CALL_LIST)
        return CALL_COMMA;
    if (kind == ',' && place == CALL_COMMA)
        return CALL;
    if (kind == ',' && place == LOC)
        return LOC_COMMA;
    if (kind == BL_PTX_T_DOT && place == START)
        return is_loc ? LOC : INSIDE;
    return place;
}

static bool ends_loc(const struct bl_ptx_parser *p)
{
    int kind = p->token.kind;
    return kind == BL_PTX_T_WORD || kind == BL_PTX_T_DOT || kind == '@' || kind == '{' || kind == '}';
}

void bl_ptx_skip_body(struct bl_ptx_parser *p)
{
    enum place place = START;
    uint32_t depth = 0, vectors = 0;
    bool after_at = false;

    do {
        depth += bl_ptx_is(p, '{');
        depth -= bl_ptx_is(p, '}');
        if (depth == 0)
            break;
        if (place == LOC && ends_loc(p))
            place = START;
        if (bl_ptx_is(p, BL_PTX_T_END) || bl_ptx_is(p, BL_PTX_T_BAD)) {
            bl_ptx_expected(p, "'}'");
        } else if (bl_ptx_is(p, BL_PTX_T_WORD)) {
            place = skip_word(p, place, after_at);
            after_at = false;
        } else {
            after_at = bl_ptx_is(p, '@') || (after_at && bl_ptx_is(p, '!'));
            place = skip_other(p, place, &vectors);
        }
    } while (!p->panic);
    p->mentions = false;
}
