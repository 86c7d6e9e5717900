/* Parses PTX files in every way there is and compares: eager, lazy with each body, and the slice of each kernel, from both
 * trees and parsed again.
 *     parse_files FILE.ptx ...
 */
#include "ptx/ptx.h"

#include <stdio.h>

static int complain(const char *path, const char *what, const struct bl_error *error)
{
    printf("%s: %s%s%s\n", path, what, error && error->status ? ": " : "", error && error->status ? error->message : "");
    return 1;
}

static bool same_uses(const struct bl_ptx_func *a, const struct bl_ptx_func *b)
{
    if (a->uses.count != b->uses.count || a->has_indirect_call != b->has_indirect_call || a->address_taken != b->address_taken)
        return false;
    for (uint32_t u = 0; u < a->uses.count; u++)
        if (!bl_sv_equal(a->uses.items[u]->name, b->uses.items[u]->name))
            return false;
    return true;
}

/* The same function in two trees, bodies parsed. */
static bool same_body(const struct bl_ptx_func *a, const struct bl_ptx_func *b)
{
    if (a->statements.count != b->statements.count || a->reg_count != b->reg_count || a->label_count != b->label_count)
        return false;
    for (uint32_t n = 0; n < a->statements.count; n++) {
        const struct bl_ptx_statement *x = &a->statements.items[n], *y = &b->statements.items[n];
        if (x->kind != y->kind || x->loc.line != y->loc.line)
            return false;
        if (x->kind == BL_PTX_INSTR && (!bl_sv_equal(x->instr->text, y->instr->text) || x->instr->op != y->instr->op))
            return false;
    }
    return true;
}

/* The slice parses by itself, and its kernel is the same, at the same lines. */
static int check_slice_text(const char *path, struct bl_sv text, const struct bl_ptx_func *kernel)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;
    struct bl_ptx_func *again;
    struct bl_arena arena;
    int bad = 0;

    bl_arena_init(&arena);
    if (bl_ptx_parse(&arena, text, path, 0, &module, &error) != BL_OK)
        bad = complain(path, "slice", &error);
    again = bad ? NULL : bl_ptx_find_func(module, kernel->name);
    if (!bad && (!again || !same_body(kernel, again) || again->number != kernel->number))
        bad = complain(path, "the slice's kernel differs", NULL);
    if (bad)
        fwrite(text.data, 1, BL_MIN(text.size, (size_t)4000), stdout);
    bl_arena_cleanup(&arena);
    return bad;
}

static int check_kernel(const char *path, struct bl_ptx_module *eager, struct bl_ptx_func *a, struct bl_ptx_module *lazy,
                        struct bl_ptx_func *b)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer out[2] = {{0}};
    int bad = 0;

    if (bl_ptx_slice(eager, a, &out[0], &error) != BL_OK || bl_ptx_slice(lazy, b, &out[1], &error) != BL_OK)
        bad = complain(path, "slice", &error);
    else if (out[0].size != out[1].size || memcmp(out[0].data, out[1].data, out[0].size) != 0)
        bad = complain(path, "slices of the eager and the lazy tree differ", NULL);
    else
        bad = check_slice_text(path, (struct bl_sv){out[0].data, out[0].size}, a);
    bl_buffer_cleanup(&out[0]);
    bl_buffer_cleanup(&out[1]);
    return bad;
}

static int check_trees(const char *path, struct bl_ptx_module *eager, struct bl_ptx_module *lazy)
{
    struct bl_error error = BL_ERROR_INIT;
    int bad = 0;

    if (eager->funcs.count != lazy->funcs.count)
        return complain(path, "the lazy tree has other functions", NULL);
    for (uint32_t f = 0; f < eager->funcs.count; f++) {
        struct bl_ptx_func *a = eager->funcs.items[f], *b = lazy->funcs.items[f];
        if (!same_uses(a, b))
            bad |= complain(path, "the lazy tree notes other uses", NULL);
        if (a->is_entry && a->has_body)
            bad |= check_kernel(path, eager, a, lazy, b);
        if (b->has_body && bl_ptx_parse_body(lazy, b, &error) != BL_OK)
            return complain(path, "body", &error);
        if (b->has_body && !same_body(a, b))
            bad |= complain(path, "the lazy tree has another body", NULL);
    }
    return bad;
}

static int check(const char *path)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *eager, *lazy;
    struct bl_arena arena;
    char *text = NULL;
    size_t size;
    int bad = 0;

    bl_arena_init(&arena);
    if (bl_file_read(path, &text, &size, &error) != BL_OK)
        bad = complain(path, "reading", &error);
    else if (bl_ptx_parse(&arena, (struct bl_sv){text, size}, path, 0, &eager, &error) != BL_OK)
        bad = complain(path, "eager", &error);
    else if (bl_ptx_parse(&arena, (struct bl_sv){text, size}, path, BL_PTX_LAZY, &lazy, &error) != BL_OK)
        bad = complain(path, "lazy", &error);
    else
        bad = check_trees(path, eager, lazy);
    bl_free(text);
    bl_arena_cleanup(&arena);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;
    for (int a = 1; a < argc; a++)
        bad |= check(argv[a]);
    return bad;
}
