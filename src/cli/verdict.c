/* Will it run here: one line. */
#include "cli/inspect.h"

#include <elf.h>
#include <stdio.h>

enum { MOST_NAMES = 5, LONGEST_NAME = 80 };

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#else
enum { OWN_MACHINE = EM_AARCH64 };
#endif

struct name_list {
    struct bl_buffer text;
    uint32_t count;
};

static void add_name(struct name_list *list, struct bl_sv name)
{
    list->count++;
    if (list->count > MOST_NAMES)
        return;
    bool is_long = name.size > LONGEST_NAME;
    bl_buffer_printf(&list->text, "%s%.*s%s", list->count > 1 ? ", " : "", is_long ? LONGEST_NAME : (int)name.size, name.data,
                     is_long ? "…" : "");
}

/* The list as text in the file's arena. */
static const char *finish_list(struct bl_cli_file *file, struct name_list *list)
{
    if (list->count > MOST_NAMES)
        bl_buffer_printf(&list->text, " and %u more", list->count - MOST_NAMES);
    const char *text = bl_arena_printf(file->arena, "%s", list->text.data ? list->text.data : "");
    bl_buffer_cleanup(&list->text);
    return text;
}

static bool decide(struct bl_cli_file *file, enum bl_cli_verdict verdict, const char *text)
{
    file->verdict = verdict;
    file->verdict_text = text;
    return true;
}

static bool wrong_program(struct bl_cli_file *file)
{
    if (!file->has_host)
        return false;
    if (file->host.is_32bit)
        return decide(file, BL_CLI_CANNOT, "cannot run because it is a 32-bit program");
    if (file->host.machine != OWN_MACHINE)
        return decide(file, BL_CLI_CANNOT, "cannot run because it is for another processor");
    if (file->host.is_static && (file->codes.count || file->uses.count))
        return decide(file, BL_CLI_CANNOT, "cannot run because it is linked statically and so can't load libcuda.so.1");
    return false;
}

static bool library_missing(struct bl_cli_file *file)
{
    struct name_list list = {0};
    for (uint32_t i = 0; i < file->needed.count; i++)
        if (!file->needed.items[i].here)
            add_name(&list, file->needed.items[i].name);
    const char *names = finish_list(file, &list);
    return list.count &&
           decide(file, BL_CLI_CANNOT,
                  bl_arena_printf(file->arena, "cannot run because it needs %s, which Bailey does not have yet", names));
}

/* A kernel of that name can run from some image. */
static void map_runnable(struct bl_cli_file *file, struct bl_map *runnable)
{
    for (uint32_t i = 0; i < file->kernels.count; i++)
        if (!file->kernels.items[i].fault)
            bl_map_set(file->arena, runnable, file->kernels.items[i].name, &file->kernels.items[i]);
}

static bool code_missing(struct bl_cli_file *file)
{
    uint32_t ptx = 0, cubins = 0, damaged = 0;
    const char *fault = NULL;
    for (uint32_t i = 0; i < file->codes.count; i++) {
        ptx += file->codes.items[i].image.kind == BL_IMAGE_PTX;
        cubins += file->codes.items[i].image.kind == BL_IMAGE_CUBIN;
        damaged += file->codes.items[i].image.kind == BL_IMAGE_PTX && file->codes.items[i].fault;
        fault = file->codes.items[i].fault ? file->codes.items[i].fault : fault;
    }
    if (file->fault)
        return decide(file, BL_CLI_CANNOT,
                      bl_arena_printf(file->arena, "cannot run because it %s: %s",
                                      strcmp(file->kind, "unknown") ? "is damaged" : "holds no known code", file->fault));
    if (file->codes.count && !ptx && file->kernels.count)
        return decide(file, BL_CLI_CANNOT,
                      "cannot run because its kernels are machine code only; build it with PTX "
                      "(nvcc -gencode arch=compute_80,code=compute_80)");
    if (file->codes.count && !ptx && fault)
        return decide(file, BL_CLI_CANNOT, bl_arena_printf(file->arena, "cannot run because of its code: %s", fault));
    if (file->codes.count && !ptx && !cubins)
        return decide(file, BL_CLI_CANNOT,
                      "cannot run because its code is for link-time optimisation only (LTO-IR); build it "
                      "without -dlto");
    if (ptx && damaged == ptx)
        return decide(file, BL_CLI_CANNOT, bl_arena_printf(file->arena, "cannot run because of its PTX: %s", fault));
    return false;
}

/* A static runtime may look up all that it knows; which of it the program calls stands among the called ones. */
static bool may_be_called(const struct bl_cli_file *file, const struct bl_cli_use *use)
{
    return use->how != BL_CLI_LOOKED_UP || !file->host.has_static_cudart;
}

/* What would fail only when it is reached: kernels and functions. */
static bool parts_missing(struct bl_cli_file *file)
{
    struct bl_map runnable = {0}, named = {0};
    struct name_list kernels = {0}, functions = {0};
    map_runnable(file, &runnable);
    for (uint32_t i = 0; i < file->kernels.count; i++) {
        const struct bl_cli_kernel *kernel = &file->kernels.items[i];
        if (kernel->fault && !bl_map_get(&runnable, kernel->name) && !bl_map_set(file->arena, &named, kernel->name, file))
            add_name(&kernels, bl_sv(kernel->demangled));
    }
    for (uint32_t i = 0; i < file->uses.count; i++)
        if (may_be_called(file, &file->uses.items[i]) && file->uses.items[i].works == BL_CLI_NOT_YET)
            add_name(&functions, file->uses.items[i].name);
    const char *kernel_names = finish_list(file, &kernels), *function_names = finish_list(file, &functions);
    if (kernels.count && runnable.count == 0)
        return decide(file, BL_CLI_CANNOT,
                      bl_arena_printf(file->arena, "cannot run because none of its kernels can: %s (%s)", kernel_names,
                                      file->kernels.items[0].fault));
    if (kernels.count && functions.count)
        return decide(file, BL_CLI_RUNS_UNLESS,
                      bl_arena_printf(file->arena, "runs unless %s is called or kernel %s launched", function_names, kernel_names));
    if (kernels.count)
        return decide(file, BL_CLI_RUNS_UNLESS, bl_arena_printf(file->arena, "runs unless kernel %s is launched", kernel_names));
    return functions.count &&
           decide(file, BL_CLI_RUNS_UNLESS, bl_arena_printf(file->arena, "runs unless %s is called", function_names));
}

void bl_cli_decide(struct bl_cli_file *file)
{
    if (wrong_program(file) || library_missing(file) || code_missing(file) || parts_missing(file))
        return;
    if (!file->codes.count && !file->uses.count && !file->needed.count)
        decide(file, BL_CLI_RUNS, "runs (it holds no GPU code and calls no CUDA function)");
    else if (file->host.has_static_cudart && !file->host.calls_cuda.count)
        decide(file, BL_CLI_RUNS, "runs, as far as can be told: without its symbols, which functions it calls can't be seen");
    else
        decide(file, BL_CLI_RUNS, "runs");
}
