/* bl_ptx_parse: the directives of module scope, one after the other. */
#include "ptx/parser.h"

enum { NEWEST_SM = 121 };

/* ---- version, target, address size ----------------------------------------------------------------- */

/* .version 9.0 */
static void parse_version(struct bl_ptx_parser *p)
{
    struct bl_sv text = p->token.text;
    uint32_t parts[2] = {0, 0}, part = 0;
    bool good = bl_ptx_is(p, BL_PTX_T_NUMBER);

    for (size_t at = 0; at < text.size && good; at++) {
        if (text.data[at] == '.')
            good = ++part == 1;
        else
            good = text.data[at] >= '0' && text.data[at] <= '9' && parts[part] < 1000;
        if (good && text.data[at] != '.')
            parts[part] = parts[part] * 10 + (uint32_t)(text.data[at] - '0');
    }
    if (!good || part != 1 || parts[0] == 0 || parts[1] > 9)
        bl_ptx_expected(p, "a version such as 9.0");
    else if (parts[0] > 9)
        bl_ptx_wrong(p, p->token.loc, BL_UNSUPPORTED, "PTX version %u.%u is not supported, the newest known is 9", parts[0],
                     parts[1]);
    p->module->version = 10 * parts[0] + parts[1];
    bl_ptx_next(p);
}

/* sm_90a; false where it is no name of that form. */
static bool parse_sm(struct bl_ptx_module *module, struct bl_sv name)
{
    uint32_t sm = 0;
    size_t at = 3;

    if (!bl_sv_starts(name, "sm_") || name.size > 8)
        return false;
    for (; at < name.size && name.data[at] >= '0' && name.data[at] <= '9'; at++)
        sm = sm * 10 + (uint32_t)(name.data[at] - '0');
    module->sm = sm;
    module->sm_suffix = at < name.size ? name.data[at] : 0;
    module->target = name;
    return sm >= 10 && at + 1 >= name.size && (!module->sm_suffix || module->sm_suffix == 'a' || module->sm_suffix == 'f');
}

/* .target sm_90a, texmode_independent, debug */
static void parse_target(struct bl_ptx_parser *p)
{
    static const char *const options[] = {"texmode_unified", "texmode_independent", "map_f64_to_f32", "debug"};

    do {
        bool known = false;
        if (!bl_ptx_is(p, BL_PTX_T_WORD))
            bl_ptx_expected(p, "a target such as sm_80");
        for (size_t n = 0; n < BL_LEN(options); n++)
            known |= bl_sv_is(p->token.text, options[n]);
        p->module->debug |= bl_sv_is(p->token.text, "debug");
        if (!known && !parse_sm(p->module, p->token.text))
            bl_ptx_expected(p, "a target such as sm_80");
        if (p->module->sm > NEWEST_SM)
            bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "target %.*s is not supported, the newest known is sm_%d",
                         BL_SV(p->token.text), NEWEST_SM);
        bl_ptx_next(p);
    } while (bl_ptx_accept(p, ','));
}

static void parse_address_size(struct bl_ptx_parser *p)
{
    struct bl_ptx_loc loc = p->token.loc;
    p->module->address_size = (uint32_t)bl_ptx_count(p, 32, 64, "an address size");
    if (p->module->address_size == 32)
        bl_ptx_wrong(p, loc, BL_UNSUPPORTED, "32-bit addresses are not supported: compile the program for 64 bits");
    else if (p->module->address_size != 64)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected an address size of 32 or 64");
}

/* What everything else builds on; a text without it is not read further. */
static bool has_header(struct bl_ptx_parser *p)
{
    if (!p->module->version)
        bl_ptx_expected(p, ".version");
    else if (!p->module->target.size)
        bl_ptx_expected(p, ".target");
    else if (!p->module->address_size && p->module->version < 23)
        p->module->address_size = 64; /* there was no such directive yet: addresses are as wide as the program's */
    else if (!p->module->address_size)
        bl_ptx_wrong(p, p->token.loc, BL_UNSUPPORTED,
                     "expected .address_size 64 before this: without it addresses have 32 bits, which are not supported");
    return !p->panic;
}

/* ---- files and sections ------------------------------------------------------------------------------ */

/* .file NUMBER "name" {, timestamp, size} */
static void parse_file(struct bl_ptx_parser *p)
{
    struct bl_ptx_file file = {.number = (uint32_t)bl_ptx_count(p, 0, UINT32_MAX, "a file's number")};

    file.name = p->token.text;
    bl_ptx_expect(p, BL_PTX_T_STRING, "a file's name");
    while (bl_ptx_accept(p, ','))
        bl_ptx_count(p, 0, UINT64_MAX, "a time or size");
    bl_ptx_accept(p, ';');
    if (!p->panic)
        *BL_PUSH(p->arena, &p->module->files) = file;
}

/* From { to what follows its }. */
static void skip_braces(struct bl_ptx_parser *p)
{
    uint32_t depth = 0;
    do {
        depth += bl_ptx_is(p, '{');
        depth -= bl_ptx_is(p, '}');
        if (bl_ptx_is(p, BL_PTX_T_END) || bl_ptx_is(p, BL_PTX_T_BAD))
            bl_ptx_expected(p, "'}'");
        bl_ptx_next(p);
    } while (depth && !p->panic);
}

/* .section .debug_info { … }: for debuggers, which read the text themselves. */
static void parse_section(struct bl_ptx_parser *p)
{
    if (!bl_ptx_is(p, BL_PTX_T_DOT) && !bl_ptx_is(p, BL_PTX_T_WORD))
        bl_ptx_expected(p, "a section's name");
    bl_ptx_next(p);
    if (!bl_ptx_is(p, '{'))
        bl_ptx_expected(p, "'{'");
    skip_braces(p);
}

/* ---- the list of directives ----------------------------------------------------------------------------- */

/* What may stand before or after the header; false for anything else. */
static bool parse_small_directive(struct bl_ptx_parser *p, enum bl_ptx_directive directive)
{
    static void (*const parsers[BL_PTX_DIRECTIVE_COUNT])(struct bl_ptx_parser *) = {
        [BL_PTX_DIRECTIVE_version] = parse_version,    [BL_PTX_DIRECTIVE_target] = parse_target,
        [BL_PTX_DIRECTIVE_file] = parse_file,          [BL_PTX_DIRECTIVE_address_size] = parse_address_size,
        [BL_PTX_DIRECTIVE_section] = parse_section,    [BL_PTX_DIRECTIVE_pragma] = bl_ptx_parse_pragma,
        [BL_PTX_DIRECTIVE_alias] = bl_ptx_parse_alias,
    };
    if (!parsers[directive])
        return false;
    bl_ptx_next(p);
    parsers[directive](p);
    return true;
}

static void parse_item(struct bl_ptx_parser *p)
{
    const char *start = p->token.start;
    enum bl_ptx_directive directive = bl_ptx_directive(p);
    enum bl_ptx_linking linking;

    if (bl_ptx_accept(p, ';'))
        return;
    if (directive != BL_PTX_DIRECTIVE_version && !p->module->version)
        bl_ptx_expected(p, ".version");
    if (parse_small_directive(p, directive))
        return;
    if (!has_header(p)) {
        p->faults = BL_PTX_FAULT_LIMIT;
        return;
    }
    linking = bl_ptx_parse_linking(p);
    switch (bl_ptx_directive(p)) {
    case BL_PTX_DIRECTIVE_entry:
    case BL_PTX_DIRECTIVE_func:
        bl_ptx_parse_function(p, linking, start);
        break;
    case BL_PTX_DIRECTIVE_local:
    case BL_PTX_DIRECTIVE_shared:
    case BL_PTX_DIRECTIVE_const:
    case BL_PTX_DIRECTIVE_global:
    case BL_PTX_DIRECTIVE_reg:
    case BL_PTX_DIRECTIVE_tex:
        bl_ptx_parse_variables(p, linking);
        break;
    default:
        bl_ptx_expected(p, "a directive of module scope");
    }
}

/* After a fault: to the next item. False: no further. */
static bool recover(struct bl_ptx_parser *p)
{
    if (p->module->version == 0 || !bl_ptx_recover(p))
        return false;
    if (bl_ptx_is(p, '{'))
        skip_braces(p);
    else
        bl_ptx_accept(p, '}');
    return !p->panic;
}

static enum bl_status parse_module(struct bl_ptx_parser *p)
{
    bool go_on = true;

    bl_ptx_start(p, p->module->text.data, (struct bl_ptx_loc){1, 1});
    while (go_on && !bl_ptx_is(p, BL_PTX_T_END)) {
        parse_item(p);
        if (p->panic)
            go_on = recover(p);
    }
    if (p->faults == 0 && (!p->module->version || !p->module->target.size))
        bl_ptx_expected(p, p->module->version ? ".target" : ".version");
    return p->faults ? p->status : BL_OK;
}

enum bl_status bl_ptx_parse(struct bl_arena *arena, struct bl_sv text, const char *source_name, uint32_t flags,
                            struct bl_ptx_module **module, struct bl_error *error)
{
    jmp_buf out, *before = arena->no_memory;
    struct bl_ptx_parser *volatile parser = NULL;
    enum bl_status status;

    *module = NULL;
    while (text.size && text.data[text.size - 1] == 0)
        text.size--;
    if (text.size >= UINT32_MAX)
        return bl_fail(error, BL_UNSUPPORTED, "a PTX text of 4 GB and more is not supported");
    bl_ptx_words_init();
    if (setjmp(out)) {
        arena->no_memory = before;
        return bl_fail(error, BL_NO_MEMORY, "out of memory while parsing %s", source_name ? source_name : "PTX");
    }
    arena->no_memory = &out;
    parser = BL_NEW(arena, struct bl_ptx_parser);
    parser->arena = arena;
    parser->module = BL_NEW(arena, struct bl_ptx_module);
    parser->module->arena = arena;
    parser->module->text = text.size ? text : (struct bl_sv){"", 0};
    parser->module->source_name = source_name;
    parser->error = error;
    parser->lazy = flags & BL_PTX_LAZY;
    parser->end = parser->module->text.data + text.size;
    status = parse_module(parser);
    arena->no_memory = before;
    if (status == BL_OK)
        *module = parser->module;
    return status;
}
