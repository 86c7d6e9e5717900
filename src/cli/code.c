/* The kernels of a file's images. A PTX kernel is read as it is at its first launch: its own slice of the text, parsed, lowered; so
 * one that can't run here is named with the reason, and spoils no other. */
#include "cli/inspect.h"
#include "lower/lower.h"

#include <dlfcn.h>
#include <stdio.h>

typedef char *(*demangle_function)(const char *name, char *buffer, size_t *size, int *status);

static demangle_function find_demangler(void)
{
    static demangle_function demangle;
    static bool looked;
    if (!looked) {
        void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
        looked = true;
        if (library)
            *(void **)&demangle = dlsym(library, "__cxa_demangle");
    }
    return demangle;
}

static const char *demangle(struct bl_arena *arena, struct bl_sv name)
{
    char *plain = bl_sv_copy(arena, name);
    demangle_function function = bl_sv_starts(name, "_Z") ? find_demangler() : NULL;
    int status = -1;
    char *readable = function ? function(plain, NULL, NULL, &status) : NULL;
    if (!readable || status != 0)
        return plain;
    const char *copy = bl_arena_printf(arena, "%s", readable);
    free(readable); /* the C++ library's own malloc */
    return copy;
}

/* The first line of a message: what follows quotes the source. */
static const char *first_line(struct bl_arena *arena, const char *text)
{
    return bl_arena_printf(arena, "%.*s", (int)strcspn(text, "\n"), text);
}

static uint64_t shared_size(const struct bl_kir_module *module)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < module->symbols.count; i++) {
        const struct bl_kir_symbol *symbol = module->symbols.items[i];
        if (symbol->space == BL_KIR_SHARED && !symbol->is_extern)
            size = BL_ALIGN_UP(size, (uint64_t)BL_MAX(symbol->align, 1u)) + symbol->size;
    }
    return size;
}

static const char *find_unsupported(struct bl_arena *arena, const struct bl_kir_module *module)
{
    for (uint32_t f = 0; f < module->funcs.count; f++) {
        const struct bl_kir_func *func = module->funcs.items[f];
        for (uint32_t b = 0; b < func->blocks.count; b++)
            for (const struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next)
                if (i->op == BL_KIR_OP_unsupported)
                    return bl_arena_printf(arena, "PTX line %u: %.200s", i->line, i->attr->text);
    }
    return NULL;
}

/* Sets shared_bytes and fault of a kernel from its slice. */
static void read_slice(struct bl_cli_file *file, struct bl_cli_kernel *kernel, struct bl_arena *work, struct bl_sv text)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *ptx;
    struct bl_kir_module *kir = NULL;
    enum bl_status status = bl_ptx_parse(work, text, "PTX", 0, &ptx, &error);
    if (status == BL_OK)
        status = bl_lower(work, ptx, &kir, &error);
    if (status != BL_OK) {
        kernel->fault = first_line(file->arena, error.message);
        return;
    }
    kernel->shared_bytes = shared_size(kir);
    kernel->fault = find_unsupported(file->arena, kir);
}

static struct bl_sv keep(struct bl_cli_file *file, struct bl_sv name)
{
    return (struct bl_sv){bl_sv_copy(file->arena, name), name.size};
}

static void empty(struct bl_arena *arena)
{
    jmp_buf *no_memory = arena->no_memory;
    bl_arena_cleanup(arena);
    arena->no_memory = no_memory;
}

static void read_kernel(struct bl_cli_file *file, const struct bl_cli_code *code, struct bl_ptx_module *module,
                        struct bl_ptx_func *func)
{
    struct bl_cli_kernel kernel = {
        .name = keep(file, func->name),
        .demangled = demangle(file->arena, func->name),
        .code = code,
        .counted = true,
        .parameter_count = func->params.count,
        .parameter_bytes = bl_ptx_param_offset(func, func->params.count),
        .max_registers = func->maxnreg,
        .min_ctas = func->minnctapersm,
    };
    const uint32_t *threads = func->reqntid[0] ? func->reqntid : func->maxntid;
    if (threads[0])
        kernel.max_threads = threads[0] * BL_MAX(threads[1], 1u) * BL_MAX(threads[2], 1u);
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer *slice = &file->slice;
    if (bl_ptx_slice(module, func, slice, &error) != BL_OK || slice->failed)
        kernel.fault = first_line(file->arena, error.message[0] ? error.message : "out of memory");
    else
        read_slice(file, &kernel, &file->work, (struct bl_sv){slice->data, slice->size});
    bl_buffer_cleanup(slice);
    empty(&file->work);
    *BL_PUSH(file->arena, &file->kernels) = kernel;
}

static void read_ptx(struct bl_cli_file *file, struct bl_cli_code *code, struct bl_sv text)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;
    if (bl_ptx_parse(&file->unpacked, text, "PTX", BL_PTX_LAZY, &module, &error) != BL_OK) {
        code->fault = first_line(file->arena, error.message);
        return;
    }
    for (uint32_t i = 0; i < module->funcs.count; i++)
        if (module->funcs.items[i]->is_entry && module->funcs.items[i]->has_body)
            read_kernel(file, code, module, module->funcs.items[i]);
}

static void read_cubin(struct bl_cli_file *file, struct bl_cli_code *code, struct bl_sv bytes)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cubin cubin;
    if (bl_cubin_read(&file->unpacked, bytes, &cubin, &error) != BL_OK) {
        code->fault = first_line(file->arena, error.message);
        return;
    }
    for (uint32_t i = 0; i < cubin.kernels.count; i++) {
        const struct bl_cubin_kernel *kernel = &cubin.kernels.items[i];
        *BL_PUSH(file->arena, &file->kernels) = (struct bl_cli_kernel){
            .name = keep(file, kernel->name),
            .demangled = demangle(file->arena, kernel->name),
            .code = code,
            .parameter_bytes = kernel->param_bytes,
            .registers = kernel->registers,
            .max_threads = kernel->max_threads,
            .shared_bytes = kernel->shared_bytes,
            .fault = "machine code; only PTX can run yet",
        };
    }
}

void bl_cli_find_kernels(struct bl_cli_file *file)
{
    for (uint32_t i = 0; i < file->codes.count; i++) {
        struct bl_cli_code *code = &file->codes.items[i];
        struct bl_error error = BL_ERROR_INIT;
        if (code->image.kind == BL_IMAGE_OTHER)
            continue;
        struct bl_sv bytes;
        if (bl_image_unpack(&file->unpacked, &code->image, &bytes, &error) != BL_OK)
            code->fault = first_line(file->arena, error.message);
        else if (code->image.kind == BL_IMAGE_PTX)
            read_ptx(file, code, bytes);
        else
            read_cubin(file, code, bytes);
        empty(&file->unpacked);
    }
}
