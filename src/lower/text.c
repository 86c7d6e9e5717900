/* A source text, PTX or kir, to a prepared kir module. For the targets' compilers. */
#include "lower/lower.h"

/* kir text starts with its own word; PTX never does. */
static bool is_kir(struct bl_sv text)
{
    while (text.size && strchr(" \t\r\n", text.data[0])) {
        text.data++;
        text.size--;
    }
    return bl_sv_starts(text, "kir") || bl_sv_starts(text, "module") || bl_sv_starts(text, "kernel") || bl_sv_starts(text, "func");
}

enum bl_status bl_lower_text(struct bl_arena *arena, struct bl_sv text, const char *source_name, struct bl_kir_module **module,
                             struct bl_error *error)
{
    struct bl_ptx_module *ptx;
    enum bl_status status;

    if (is_kir(text)) {
        status = bl_kir_parse(arena, text, module, error);
    } else {
        status = bl_ptx_parse(arena, text, source_name, 0, &ptx, error);
        if (status == BL_OK)
            status = bl_lower(arena, ptx, module, error);
    }
    return status == BL_OK ? bl_kir_prepare(*module, error) : status;
}
