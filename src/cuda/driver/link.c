/* Links PTX modules: several texts that refer to each other become one. Called for -rdc=true programs (image.c) and by
 * cuLinkComplete (link_api.c).
 *
 * It works on the text. Each module is cut into its module-scope statements; headers are kept once, declarations of things
 * that another module defines are dropped, names that are private to one module and clash with another's are changed, and the
 * result is put together as: headers, prototypes of all functions, variables, function bodies. So everything is declared
 * before it is used, whatever the order of the modules. Debug sections are left out. Source of the rules: PTX ISA, "Linking
 * Directives" (.extern, .visible, .weak, .common).
 */
#include "cuda/driver/driver.h"

enum statement_kind { VARIABLE, FUNCTION, ALIAS, PRAGMA };
enum linkage { INTERNAL, EXTERN, VISIBLE, WEAK, COMMON };

struct statement {
    enum statement_kind kind;
    enum linkage linkage;
    bool defines, entry, dropped, refers; /* refers: the initialiser names something */
    struct bl_sv name, text;
    struct bl_sv head; /* FUNCTION: up to its body */
    uint32_t module, align;
    struct bl_sv renamed;   /* empty: keeps its name */
    struct statement *same; /* next statement of that name */
};

struct module {
    const char *name;
    struct bl_map renames; /* name → struct statement */
    uint32_t file_base;
};

struct linker {
    struct bl_arena *arena;
    struct bl_error *error;
    BL_ARRAY(struct statement *) statements;
    struct bl_map names; /* → first struct statement of that name */
    struct module *modules;
    uint32_t module_count, version, sm, file_count;
    struct bl_sv version_text, target_text;
    BL_ARRAY(struct bl_sv) files; /* rewritten .file lines */
};

/* ---- tokens --------------------------------------------------------------------------------------- */

struct cursor {
    const char *at, *end;
    uint32_t line;
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end) {
        const char *at = cursor->at;
        if (*at == '\n')
            cursor->line++;
        if (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n' || *at == 0) {
            cursor->at++;
        } else if (at + 1 < cursor->end && at[0] == '/' && at[1] == '/') {
            while (cursor->at < cursor->end && *cursor->at != '\n')
                cursor->at++;
        } else if (at + 1 < cursor->end && at[0] == '/' && at[1] == '*') {
            cursor->at += 2;
            while (cursor->at + 1 < cursor->end && !(cursor->at[0] == '*' && cursor->at[1] == '/'))
                cursor->line += *cursor->at++ == '\n';
            cursor->at = BL_MIN(cursor->at + 2, cursor->end);
        } else {
            return;
        }
    }
}

/* A word (with a leading dot and :: parts for directives), a string with its quotes, or one other character. */
static struct bl_sv next_token(struct cursor *cursor)
{
    skip_space(cursor);
    const char *start = cursor->at;
    if (start == cursor->end)
        return (struct bl_sv){start, 0};
    if (*start == '"') {
        cursor->at++;
        while (cursor->at < cursor->end && *cursor->at != '"') {
            cursor->line += *cursor->at == '\n';
            cursor->at++;
        }
        cursor->at = BL_MIN(cursor->at + 1, cursor->end);
    } else if (is_word(*start) || *start == '.') {
        cursor->at++;
        while (cursor->at < cursor->end && is_word(*cursor->at))
            cursor->at++;
    } else {
        cursor->at++;
    }
    return (struct bl_sv){start, (size_t)(cursor->at - start)};
}

static struct bl_sv peek_token(const struct cursor *cursor)
{
    struct cursor copy = *cursor;
    return next_token(&copy);
}

static uint32_t number_of(struct bl_sv token)
{
    uint64_t value = 0;
    for (size_t i = 0; i < token.size && token.data[i] >= '0' && token.data[i] <= '9' && value < 1000000; i++)
        value = value * 10 + (unsigned)(token.data[i] - '0');
    return (uint32_t)value;
}

/* Moves to after the bracket that closes one that was just read. */
static void skip_group(struct cursor *cursor)
{
    int depth = 1;
    while (depth > 0) {
        struct bl_sv token = next_token(cursor);
        if (!token.size)
            return;
        char c = token.data[0];
        depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
    }
}

/* ---- cutting a module into statements ------------------------------------------------------------------ */

static enum bl_status fault(struct linker *linker, const struct module *module, const struct cursor *cursor, const char *what)
{
    linker->error->line = cursor->line;
    return bl_fail(linker->error, BL_SYNTAX, "%s:%u: %s", module->name, cursor->line, what);
}

static bool is_linkage(struct bl_sv token, enum linkage *linkage)
{
    static const char *const words[] = {[EXTERN] = ".extern", [VISIBLE] = ".visible", [WEAK] = ".weak", [COMMON] = ".common"};
    for (int i = EXTERN; i <= COMMON; i++)
        if (bl_sv_is(token, words[i])) {
            *linkage = (enum linkage)i;
            return true;
        }
    return false;
}

/* From .func or .entry on. */
static enum bl_status read_function(struct linker *linker, const struct module *module, struct cursor *cursor,
                                    struct statement *statement)
{
    struct bl_sv token = next_token(cursor);
    statement->kind = FUNCTION;
    for (; token.size; token = next_token(cursor)) {
        char c = token.data[0];
        if (c == '(') {
            skip_group(cursor);
        } else if (c == ';') {
            statement->head = (struct bl_sv){statement->text.data, (size_t)(token.data - statement->text.data)};
            break;
        } else if (c == '{') {
            statement->head = (struct bl_sv){statement->text.data, (size_t)(token.data - statement->text.data)};
            statement->defines = true;
            skip_group(cursor);
            break;
        } else if (is_word(c) && !(c >= '0' && c <= '9') && !statement->name.size) {
            statement->name = token;
        }
    }
    if (!token.size || !statement->name.size)
        return fault(linker, module, cursor, "a function that does not end, or has no name");
    statement->text.size = (size_t)(cursor->at - statement->text.data);
    return BL_OK;
}

/* From a state space on. */
static enum bl_status read_variable(struct linker *linker, const struct module *module, struct cursor *cursor,
                                    struct statement *statement)
{
    struct bl_sv token = next_token(cursor);
    bool initialiser = false;
    statement->kind = VARIABLE;
    statement->defines = statement->linkage != EXTERN;
    for (; token.size && token.data[0] != ';'; token = next_token(cursor)) {
        char c = token.data[0];
        if (bl_sv_is(token, ".align"))
            statement->align = number_of(peek_token(cursor));
        else if (c == '(' && !initialiser)
            skip_group(cursor);
        else if (c == '=')
            initialiser = true;
        else if (is_word(c) && !(c >= '0' && c <= '9')) {
            if (!statement->name.size)
                statement->name = token;
            else if (initialiser)
                statement->refers = true;
        }
    }
    if (!token.size || !statement->name.size)
        return fault(linker, module, cursor, "a variable that does not end, or has no name");
    statement->text.size = (size_t)(cursor->at - statement->text.data);
    return BL_OK;
}

static void add_statement(struct linker *linker, struct statement *statement)
{
    *BL_PUSH(linker->arena, &linker->statements) = statement;
    if (statement->kind == PRAGMA || statement->kind == ALIAS)
        return;
    struct statement *first = bl_map_get(&linker->names, statement->name);
    if (first) {
        statement->same = first->same;
        first->same = statement;
    } else {
        bl_map_set(linker->arena, &linker->names, statement->name, statement);
    }
}

static struct bl_sv rest_of_line(struct cursor *cursor)
{
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '\n')
        cursor->at++;
    return (struct bl_sv){start, (size_t)(cursor->at - start)};
}

/* .version 8.0, .target sm_80, …: the greatest of all modules is kept. */
static enum bl_status read_header(struct linker *linker, const struct module *module, struct cursor *cursor, struct bl_sv token)
{
    if (bl_sv_is(token, ".version")) {
        struct bl_sv major = next_token(cursor), minor = next_token(cursor);
        uint32_t version = number_of(major) * 10;
        if (minor.size > 1 && minor.data[0] == '.')
            version += number_of((struct bl_sv){minor.data + 1, minor.size - 1});
        if (version > linker->version) {
            linker->version = version;
            linker->version_text = (struct bl_sv){major.data, (size_t)(cursor->at - major.data)};
        }
        return BL_OK;
    }
    if (bl_sv_is(token, ".target")) {
        struct bl_sv name = next_token(cursor);
        uint32_t sm = name.size > 3 ? number_of((struct bl_sv){name.data + 3, name.size - 3}) : 0;
        if (sm >= linker->sm) {
            linker->sm = sm;
            linker->target_text = name;
        }
        rest_of_line(cursor); /* options: debug, texmode_… */
        return BL_OK;
    }
    if (number_of(next_token(cursor)) != 64)
        return fault(linker, module, cursor, "only 64-bit addresses are supported");
    return BL_OK;
}

static void read_file_line(struct linker *linker, struct module *module, struct cursor *cursor)
{
    uint32_t number = number_of(next_token(cursor)) + module->file_base;
    struct bl_sv name = next_token(cursor);
    rest_of_line(cursor);
    linker->file_count = BL_MAX(linker->file_count, number);
    char *line = bl_arena_printf(linker->arena, ".file %u %.*s", number, BL_SV(name));
    *BL_PUSH(linker->arena, &linker->files) = bl_sv(line);
}

static enum bl_status read_module(struct linker *linker, uint32_t index, struct bl_sv text)
{
    struct module *module = &linker->modules[index];
    struct cursor cursor = {text.data, text.data + text.size, 1};
    enum bl_status status = BL_OK;
    module->file_base = linker->file_count;
    while (status == BL_OK) {
        skip_space(&cursor);
        struct statement *statement = BL_NEW(linker->arena, struct statement);
        statement->module = index;
        statement->text.data = cursor.at;
        struct bl_sv token = next_token(&cursor);
        if (is_linkage(token, &statement->linkage))
            token = next_token(&cursor);
        if (!token.size)
            break;
        if (bl_sv_is(token, ".version") || bl_sv_is(token, ".target") || bl_sv_is(token, ".address_size")) {
            status = read_header(linker, module, &cursor, token);
        } else if (bl_sv_is(token, ".file")) {
            read_file_line(linker, module, &cursor);
        } else if (bl_sv_is(token, ".section")) {
            while (token.size && token.data[0] != '{')
                token = next_token(&cursor);
            skip_group(&cursor);
        } else if (bl_sv_is(token, ".func") || bl_sv_is(token, ".entry")) {
            statement->entry = bl_sv_is(token, ".entry");
            status = read_function(linker, module, &cursor, statement);
            add_statement(linker, statement);
        } else if (bl_sv_is(token, ".alias") || bl_sv_is(token, ".pragma")) {
            statement->kind = bl_sv_is(token, ".alias") ? ALIAS : PRAGMA;
            statement->name = peek_token(&cursor);
            while (token.size && token.data[0] != ';')
                token = next_token(&cursor);
            statement->text.size = (size_t)(cursor.at - statement->text.data);
            add_statement(linker, statement);
        } else if (token.data[0] == '.') {
            status = read_variable(linker, module, &cursor, statement);
            if (status == BL_OK)
                add_statement(linker, statement);
        } else {
            status = fault(linker, module, &cursor, "expected a directive");
        }
    }
    return status;
}

/* ---- which statement stands for a name ------------------------------------------------------------------- */

/* Gives a private statement a name that is its module's own. */
static void rename_statement(struct linker *linker, struct statement *statement)
{
    struct module *module = &linker->modules[statement->module];
    struct statement *known = bl_map_get(&module->renames, statement->name);
    if (known) { /* its prototype came before */
        statement->renamed = known->renamed;
        return;
    }
    char *name = bl_arena_printf(linker->arena, "%.*s$m%u", BL_SV(statement->name), statement->module);
    statement->renamed = bl_sv(name);
    bl_map_set(linker->arena, &module->renames, statement->name, statement);
}

/* Whether a is to be kept rather than b, both of one public name. */
static bool stronger(const struct statement *a, const struct statement *b)
{
    static const int rank[] = {[INTERNAL] = 0, [EXTERN] = 0, [COMMON] = 1, [WEAK] = 2, [VISIBLE] = 3};
    if (a->defines != b->defines)
        return a->defines;
    if (a->defines && rank[a->linkage] != rank[b->linkage])
        return rank[a->linkage] > rank[b->linkage];
    return a->align > b->align; /* extern __shared__ arrays of several files: the strictest */
}

/* A prototype of a function in the module that defines it: the definition's linkage may stand there only. */
static bool same_module_internal(const struct statement *first, const struct statement *other)
{
    return first->module == other->module && (first->linkage == INTERNAL || other->linkage == INTERNAL);
}

static enum bl_status resolve_name(struct linker *linker, struct statement *first)
{
    bool many = false;
    for (struct statement *at = first->same; at; at = at->same)
        many |= at->module != first->module;
    struct statement *best = NULL;
    for (struct statement *at = first; at; at = at->same) {
        if (at->linkage == INTERNAL && !at->entry) { /* private to its module */
            if (many)
                rename_statement(linker, at);
            for (struct statement *twin = first; twin; twin = twin->same)
                if (twin != at && same_module_internal(at, twin) && at->defines && !twin->defines)
                    twin->dropped = true;
            continue;
        }
        if (!best) {
            best = at;
            continue;
        }
        bool both = best->defines && at->defines;
        if (both && at->module != best->module && (at->linkage == VISIBLE || at->entry) &&
            (best->linkage == VISIBLE || best->entry))
            return bl_fail(linker->error, BL_SYNTAX, "%.*s is defined in %s and in %s", BL_SV(at->name),
                           linker->modules[best->module].name, linker->modules[at->module].name);
        struct statement *loser = stronger(at, best) ? best : at;
        best = loser == best ? at : best;
        loser->dropped = true;
    }
    return BL_OK;
}

static enum bl_status resolve(struct linker *linker)
{
    for (uint32_t i = 0; i < linker->statements.count; i++) {
        struct statement *statement = linker->statements.items[i];
        if (statement->kind == PRAGMA || statement->kind == ALIAS || bl_map_get(&linker->names, statement->name) != statement)
            continue;
        enum bl_status status = resolve_name(linker, statement);
        if (status != BL_OK)
            return status;
    }
    return BL_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* A piece of a module's text with its names and file numbers changed. */
static void write_text(struct linker *linker, const struct module *module, struct bl_sv text, struct bl_buffer *out)
{
    if (!module->renames.count && !module->file_base) {
        bl_buffer_add(out, text.data, text.size);
        return;
    }
    struct cursor cursor = {text.data, text.data + text.size, 1};
    const char *copied = text.data;
    bool number_follows = false;
    for (;;) {
        struct bl_sv token = next_token(&cursor);
        if (!token.size)
            break;
        struct statement *renamed = is_word(token.data[0]) ? bl_map_get(&module->renames, token) : NULL;
        bool file_number = number_follows && token.data[0] >= '0' && token.data[0] <= '9';
        if (renamed || file_number) {
            bl_buffer_add(out, copied, (size_t)(token.data - copied));
            if (renamed)
                bl_buffer_add(out, renamed->renamed.data, renamed->renamed.size);
            else
                bl_buffer_printf(out, "%u", number_of(token) + module->file_base);
            copied = token.data + token.size;
        }
        number_follows = bl_sv_is(token, ".loc") || bl_sv_is(token, "inlined_at");
    }
    bl_buffer_add(out, copied, (size_t)(text.data + text.size - copied));
}

static void write_kind(struct linker *linker, enum statement_kind kind, bool refers, struct bl_buffer *out)
{
    for (uint32_t i = 0; i < linker->statements.count; i++) {
        struct statement *statement = linker->statements.items[i];
        if (statement->kind != kind || statement->dropped || (kind == VARIABLE && statement->refers != refers))
            continue;
        write_text(linker, &linker->modules[statement->module], statement->text, out);
        bl_buffer_add(out, "\n", 1);
    }
}

static void write_prototypes(struct linker *linker, struct bl_buffer *out)
{
    for (uint32_t i = 0; i < linker->statements.count; i++) {
        struct statement *statement = linker->statements.items[i];
        if (statement->kind != FUNCTION || statement->dropped)
            continue;
        write_text(linker, &linker->modules[statement->module], statement->head, out);
        bl_buffer_printf(out, ";\n");
        if (!statement->defines)
            statement->dropped = true; /* written */
    }
}

static void write_all(struct linker *linker, struct bl_buffer *out)
{
    bl_buffer_printf(out, ".version %.*s\n.target %.*s\n.address_size 64\n", BL_SV(linker->version_text),
                     BL_SV(linker->target_text));
    for (uint32_t i = 0; i < linker->files.count; i++)
        bl_buffer_printf(out, "%.*s\n", BL_SV(linker->files.items[i]));
    write_kind(linker, PRAGMA, false, out);
    write_prototypes(linker, out);
    write_kind(linker, VARIABLE, false, out);
    write_kind(linker, VARIABLE, true, out);
    write_kind(linker, FUNCTION, false, out);
    write_kind(linker, ALIAS, false, out);
}

enum bl_status bl_cu_link(const struct bl_cu_link_input *inputs, size_t count, struct bl_buffer *out, struct bl_error *error)
{
    struct bl_arena arena;
    jmp_buf no_memory;
    struct bl_error own = BL_ERROR_INIT;
    struct linker linker = {.arena = &arena, .error = error ? error : &own, .module_count = (uint32_t)count};
    bl_arena_init(&arena);
    if (setjmp(no_memory)) {
        bl_arena_cleanup(&arena);
        return bl_fail(error, BL_NO_MEMORY, "out of memory while linking PTX");
    }
    arena.no_memory = &no_memory;
    linker.modules = BL_NEW_ARRAY(&arena, struct module, count);
    enum bl_status status = count ? BL_OK : bl_fail(error, BL_INVALID, "nothing to link");
    for (uint32_t i = 0; i < count && status == BL_OK; i++) {
        linker.modules[i].name = inputs[i].name ? inputs[i].name : "PTX";
        status = read_module(&linker, i, inputs[i].text);
    }
    if (status == BL_OK && (!linker.version_text.size || !linker.target_text.size))
        status = bl_fail(error, BL_SYNTAX, "%s: no .version or .target", linker.modules[0].name);
    if (status == BL_OK)
        status = resolve(&linker);
    if (status == BL_OK)
        write_all(&linker, out);
    if (status == BL_OK && out->failed)
        status = bl_fail(error, BL_NO_MEMORY, "out of memory while linking PTX");
    bl_arena_cleanup(&arena);
    return status;
}
