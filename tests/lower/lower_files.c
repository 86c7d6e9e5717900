/* Lowers PTX files, prepares and validates the result, and fails where anything is unsupported:
 *     lower_files [--print] [--allow] FILE.ptx ...
 * --print writes the prepared kir; --allow only lists what is unsupported. */
#include "lower/lower.h"

#include <stdio.h>

static uint32_t list_unsupported(const char *path, const struct bl_kir_module *module)
{
    uint32_t count = 0;
    for (uint32_t f = 0; f < module->funcs.count; f++)
        for (uint32_t b = 0; b < module->funcs.items[f]->blocks.count; b++)
            for (const struct bl_kir_instr *i = module->funcs.items[f]->blocks.items[b]->first; i; i = i->next)
                if (i->op == BL_KIR_OP_unsupported) {
                    printf("%s:%u: unsupported in %s: %s\n", path, i->line, module->funcs.items[f]->name, i->attr->text);
                    count++;
                }
    return count;
}

static enum bl_status lower_file(struct bl_arena *arena, const char *path, const char *text, size_t size,
                                 struct bl_kir_module **module, struct bl_error *error)
{
    struct bl_ptx_module *ptx;
    enum bl_status status = bl_ptx_parse(arena, (struct bl_sv){text, size}, path, 0, &ptx, error);
    if (status == BL_OK)
        status = bl_lower(arena, ptx, module, error);
    return status;
}

static int check(const char *path, bool print, bool allow)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module = NULL;
    struct bl_arena arena;
    struct bl_buffer out = {0};
    char *text = NULL;
    size_t size;
    int bad = 1;

    bl_arena_init(&arena);
    if (bl_file_read(path, &text, &size, &error) == BL_OK && lower_file(&arena, path, text, size, &module, &error) == BL_OK) {
        bad = list_unsupported(path, module) > 0 && !allow;
        if (bl_kir_prepare(module, &error) != BL_OK || bl_kir_validate(module, &error) != BL_OK)
            bad = 1;
        if (print)
            bl_kir_print(&out, module);
    }
    if (out.data)
        fwrite(out.data, 1, out.size, stdout);
    if (error.status != BL_OK)
        printf("%s: %s: %s\n", path, bl_status_name(error.status), error.message);
    bl_buffer_cleanup(&out);
    bl_free(text);
    bl_arena_cleanup(&arena);
    return bad;
}

int main(int argc, char **argv)
{
    bool print = false, allow = false;
    int bad = 0;
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--print") == 0)
            print = true;
        else if (strcmp(argv[a], "--allow") == 0)
            allow = true;
        else
            bad |= check(argv[a], print, allow);
    }
    return bad;
}
