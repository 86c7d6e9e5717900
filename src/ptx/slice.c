/* bl_ptx_slice: the smallest text that defines one kernel. Works from what the parser noted of each body (uses,
 * has_indirect_call) and copies functions as they were written, so that it needs no parsed bodies. */
#include "ptx/internal.h"

struct slice {
    struct bl_arena arena; /* its own */
    const struct bl_ptx_module *module;
    const struct bl_ptx_func *kernel;
    bool *taken_funcs, *taken_variables;             /* by symbol->index */
    const struct bl_ptx_symbol **funcs, **variables; /* what was taken, by name */
    uint32_t func_count, variable_count;
    BL_ARRAY(const struct bl_ptx_func *) work; /* functions whose mentions are still to be followed */
    bool has_indirect_call;
    struct bl_buffer *out;
};

/* ---- what belongs to it --------------------------------------------------------------------------- */

static void take_function(struct slice *s, const struct bl_ptx_func *func)
{
    if (s->taken_funcs[func->symbol->index])
        return;
    s->taken_funcs[func->symbol->index] = true;
    *BL_PUSH(&s->arena, &s->work) = func;
}

/* Other kernels are only declared: their address may be taken, nothing here runs them. */
static bool is_defined(const struct slice *s, const struct bl_ptx_func *func)
{
    return func->has_body && (!func->is_entry || func == s->kernel);
}

static void follow(struct slice *s, const struct bl_ptx_func *func)
{
    if (func->is_alias)
        take_function(s, func->aliasee);
    if (!is_defined(s, func))
        return;
    for (uint32_t u = 0; u < func->uses.count; u++) {
        const struct bl_ptx_symbol *symbol = func->uses.items[u];
        if (symbol->kind == BL_PTX_SYM_FUNC)
            take_function(s, symbol->func);
        else
            s->taken_variables[symbol->index] = true;
    }
    if (!func->has_indirect_call || s->has_indirect_call)
        return;
    s->has_indirect_call = true;
    for (uint32_t f = 0; f < s->module->funcs.count; f++)
        if (s->module->funcs.items[f]->address_taken)
            take_function(s, s->module->funcs.items[f]);
}

static int by_name(const void *a, const void *b)
{
    struct bl_sv x = (*(const struct bl_ptx_symbol *const *)a)->name, y = (*(const struct bl_ptx_symbol *const *)b)->name;
    int order = memcmp(x.data, y.data, BL_MIN(x.size, y.size));
    return order ? order : (x.size > y.size) - (x.size < y.size);
}

/* In an order that does not depend on the rest of the module. */
static void sort(struct slice *s)
{
    for (uint32_t f = 0; f < s->module->funcs.count; f++)
        if (s->taken_funcs[f])
            s->funcs[s->func_count++] = s->module->funcs.items[f]->symbol;
    for (uint32_t v = 0; v < s->module->variables.count; v++)
        if (s->taken_variables[v])
            s->variables[s->variable_count++] = s->module->variables.items[v];
    qsort(s->funcs, s->func_count, sizeof(*s->funcs), by_name);
    qsort(s->variables, s->variable_count, sizeof(*s->variables), by_name);
}

static void collect(struct slice *s)
{
    s->taken_funcs = BL_NEW_ARRAY(&s->arena, bool, s->module->funcs.count);
    s->taken_variables = BL_NEW_ARRAY(&s->arena, bool, s->module->variables.count);
    s->funcs = BL_NEW_ARRAY(&s->arena, const struct bl_ptx_symbol *, s->module->funcs.count);
    s->variables = BL_NEW_ARRAY(&s->arena, const struct bl_ptx_symbol *, s->module->variables.count);
    take_function(s, s->kernel);
    while (s->work.count)
        follow(s, s->work.items[--s->work.count]);
    sort(s);
}

/* ---- text -------------------------------------------------------------------------------------------- */

static void add(struct slice *s, struct bl_sv text)
{
    bl_buffer_add(s->out, text.data, text.size);
}

static const char *linking_text(enum bl_ptx_linking linking)
{
    switch (linking) {
    case BL_PTX_VISIBLE:
        return ".visible ";
    case BL_PTX_EXTERN:
        return ".extern ";
    case BL_PTX_WEAK:
        return ".weak ";
    case BL_PTX_COMMON:
        return ".common ";
    default:
        return "";
    }
}

static const char *space_text(enum bl_ptx_space space)
{
    switch (space) {
    case BL_PTX_CONST:
        return ".const";
    case BL_PTX_SHARED:
        return ".shared";
    case BL_PTX_LOCAL:
        return ".local";
    case BL_PTX_TEX:
        return ".tex";
    default:
        return ".global";
    }
}

static void add_variable(struct slice *s, const struct bl_ptx_symbol *symbol)
{
    bool as_it_is = symbol->space == BL_PTX_SHARED || symbol->space == BL_PTX_TEX;

    bl_buffer_printf(s->out, "%s%s%s .align %u ", linking_text(as_it_is ? symbol->linking : BL_PTX_EXTERN),
                     space_text(symbol->space), symbol->is_managed ? " .attribute(.managed)" : "", symbol->align);
    if (symbol->vec > 1)
        bl_buffer_printf(s->out, ".v%u ", symbol->vec);
    bl_buffer_printf(s->out, ".%s ", bl_ptx_type_name(symbol->type));
    add(s, symbol->name);
    for (uint32_t d = 0; d < symbol->dims.count; d++) {
        if (symbol->dims.items[d] || d > 0)
            bl_buffer_printf(s->out, "[%llu]", (unsigned long long)symbol->dims.items[d]);
        else
            bl_buffer_add(s->out, "[]", 2);
    }
    bl_buffer_add(s->out, ";\n", 2);
}

/* The line where a function's text starts. */
static uint32_t first_line(const struct bl_ptx_func *func)
{
    uint32_t line = func->has_body ? func->body_loc.line : func->loc.line, lines = 0;
    const char *end = func->has_body ? func->body.data : func->name.data;

    for (const char *at = func->whole.data; at < end; at++)
        lines += *at == '\n';
    return line > lines ? line - lines : 1;
}

/* Every function but the kernel comes first without its body, so that any may call any. */
static void declare_function(struct slice *s, const struct bl_ptx_func *func)
{
    if (!func->has_body) {
        bl_buffer_printf(s->out, "//bl.line %u\n", first_line(func));
        add(s, func->whole);
        bl_buffer_add(s->out, "\n", 1);
        return;
    }
    add(s, (struct bl_sv){func->whole.data, (size_t)(func->body.data - func->whole.data)});
    bl_buffer_add(s->out, ";\n", 2);
}

static void define_function(struct slice *s, const struct bl_ptx_func *func)
{
    if (func->is_alias) {
        bl_buffer_printf(s->out, ".alias %.*s, %.*s;\n", BL_SV(func->name), BL_SV(func->aliasee->name));
        return;
    }
    if (!is_defined(s, func))
        return;
    bl_buffer_printf(s->out, "//bl.line %u\n", first_line(func));
    add(s, func->whole);
    bl_buffer_add(s->out, "\n", 1);
}

static void write_out(struct slice *s)
{
    const struct bl_ptx_module *module = s->module;

    for (uint32_t f = 0; f < s->func_count; f++)
        bl_buffer_printf(s->out, "//bl.func %.*s %u\n", BL_SV(s->funcs[f]->name), s->funcs[f]->func->number);
    bl_buffer_printf(s->out, ".version %u.%u\n.target %.*s\n.address_size 64\n", module->version / 10, module->version % 10,
                     BL_SV(module->target));
    for (uint32_t v = 0; v < s->variable_count; v++)
        add_variable(s, s->variables[v]);
    for (uint32_t f = 0; f < s->func_count; f++)
        if (s->funcs[f]->func != s->kernel)
            declare_function(s, s->funcs[f]->func);
    for (uint32_t f = 0; f < s->func_count; f++)
        define_function(s, s->funcs[f]->func);
}

enum bl_status bl_ptx_slice(struct bl_ptx_module *module, struct bl_ptx_func *kernel, struct bl_buffer *out, struct bl_error *error)
{
    struct slice s = {.module = module, .kernel = kernel, .out = out};
    jmp_buf no_memory;

    if (!kernel->has_body)
        return bl_fail(error, BL_INVALID, "kernel %.*s has no body", BL_SV(kernel->name));
    bl_arena_init(&s.arena);
    if (setjmp(no_memory)) {
        bl_arena_cleanup(&s.arena);
        return bl_fail(error, BL_NO_MEMORY, "out of memory while slicing %.*s", BL_SV(kernel->name));
    }
    s.arena.no_memory = &no_memory;
    collect(&s);
    write_out(&s);
    bl_arena_cleanup(&s.arena);
    return out->failed ? bl_fail(error, BL_NO_MEMORY, "out of memory while slicing %.*s", BL_SV(kernel->name)) : BL_OK;
}
