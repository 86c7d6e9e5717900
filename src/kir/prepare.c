/* All passes in order, from what a front end made to what a target takes. Each one's result is checked where NDEBUG is not defined,
 * or where the environment sets BAILEY_VALIDATE. */
#include "kir/kir.h"

static void simplify_again(struct bl_kir_func *func)
{
    bl_kir_simplify(func);
    bl_kir_dce(func);
}

static const struct {
    const char *name;
    void (*run)(struct bl_kir_func *func);
} passes[] = {
    {"dce", bl_kir_dce},
    {"simplify", bl_kir_simplify},
    {"thread_jumps", bl_kir_thread_jumps},
    {"infer_spaces", bl_kir_infer_spaces},
    {"simplify again", simplify_again},
    {"infer_align", bl_kir_infer_align},
};

static bool is_checking(void)
{
#ifdef NDEBUG
    return getenv("BAILEY_VALIDATE") != NULL;
#else
    return true;
#endif
}

static enum bl_status check_after(struct bl_kir_module *module, const char *pass, struct bl_error *error)
{
    struct bl_error found = BL_ERROR_INIT;
    enum bl_status status = bl_kir_validate(module, &found);

    if (status == BL_INVALID && pass)
        return bl_fail(error, BL_INVALID, "after pass %s: %s", pass, found.message);
    return status == BL_OK ? status : bl_fail(error, status, "%s", found.message);
}

static enum bl_status run_passes(struct bl_kir_module *module, struct bl_error *error)
{
    enum bl_status status = BL_OK;

    for (uint32_t f = 0; status == BL_OK && f < module->funcs.count; f++)
        status = bl_kir_ssa(module->funcs.items[f], error);
    if (status == BL_OK && is_checking())
        status = check_after(module, "ssa", error);
    if (status == BL_OK) {
        bl_kir_inline(module);
        if (is_checking())
            status = check_after(module, "inline", error);
    }
    for (uint32_t p = 0; status == BL_OK && p < BL_LEN(passes); p++) {
        for (uint32_t f = 0; f < module->funcs.count; f++)
            passes[p].run(module->funcs.items[f]);
        if (is_checking())
            status = check_after(module, passes[p].name, error);
    }
    return status;
}

enum bl_status bl_kir_prepare(struct bl_kir_module *module, struct bl_error *error)
{
    jmp_buf *outer = module->arena->no_memory, here;
    enum bl_status status;

    module->arena->no_memory = &here;
    if (setjmp(here)) {
        module->arena->no_memory = outer;
        return bl_fail(error, BL_NO_MEMORY, "kir: out of memory");
    }
    status = run_passes(module, error);
    module->arena->no_memory = outer;
    return status;
}
