/* Fuzzer of src/ptx: no text may crash it, hang it, or make it read outside. Run: build-fuzz/tests/fuzz/fuzz_ptx SEEDS. */
#include "ptx/ptx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_LIMIT = 256 << 20 };

/* A slice of what parsed parses as well. */
static void slice_kernel(struct bl_ptx_module *module, struct bl_ptx_func *kernel, bool whole_is_good)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer out = {0};
    struct bl_ptx_module *again;
    struct bl_arena arena;
    enum bl_status status = bl_ptx_slice(module, kernel, &out, &error);

    bl_arena_init(&arena);
    arena.limit = MEMORY_LIMIT;
    if (status == BL_OK)
        status = bl_ptx_parse(&arena, (struct bl_sv){out.data, out.size}, "slice", 0, &again, &error);
    if (whole_is_good && status != BL_OK && status != BL_NO_MEMORY)
        __builtin_trap();
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
}

static void use_module(struct bl_ptx_module *module, bool whole_is_good)
{
    for (uint32_t f = 0; f < module->funcs.count && f < 16; f++) {
        struct bl_ptx_func *func = module->funcs.items[f];
        struct bl_error error = BL_ERROR_INIT;
        enum bl_status status = BL_OK;
        bl_ptx_param_offset(func, func->params.count);
        if (func->has_body)
            slice_kernel(module, func, whole_is_good);
        if (func->has_body)
            status = bl_ptx_parse_body(module, func, &error);
        if (whole_is_good && status != BL_OK && status != BL_NO_MEMORY)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_arena arena;
    struct bl_ptx_module *eager, *lazy;
    struct bl_sv text = {(const char *)data, size};
    bool good;

    bl_arena_init(&arena);
    arena.limit = MEMORY_LIMIT;
    good = bl_ptx_parse(&arena, text, "fuzz", 0, &eager, NULL) == BL_OK;
    if (good)
        use_module(eager, true);
    if (bl_ptx_parse(&arena, text, "fuzz", BL_PTX_LAZY, &lazy, NULL) == BL_OK)
        use_module(lazy, good);
    bl_arena_cleanup(&arena);
    return 0;
}
