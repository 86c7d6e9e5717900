/* bailey inspect: what GPU code files hold, what they call, and whether they will run here. */
#include "cli/inspect.h"

#include <fcntl.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *file_kind(const struct bl_cli_file *file)
{
    if (file->has_host && file->host.is_executable)
        return "executable";
    if (file->has_host)
        return file->host.needed.count || file->host.has_dynamic ? "shared library" : "object file";
    if (bl_sv_starts(file->bytes, "!<arch>\n"))
        return "archive";
    if (bl_sv_starts(file->bytes, "\x50\xed\x55\xba"))
        return "fatbin";
    if (bl_sv_starts(file->bytes, "\177ELF"))
        return "cubin";
    return file->codes.count ? "PTX" : "unknown";
}

static void read_images(struct bl_cli_file *file)
{
    struct bl_images images = {0};
    struct bl_error error = BL_ERROR_INIT;
    bool foreign = file->has_host && (file->host.is_32bit || file->host.is_big_endian);
    if (!foreign && bl_image_read_file(file->arena, file->bytes, &images, &error) != BL_OK)
        file->fault = bl_arena_printf(file->arena, "%s", error.message);
    for (uint32_t i = 0; i < images.items.count; i++)
        *BL_PUSH(file->arena, &file->codes) = (struct bl_cli_code){.image = images.items.items[i], .number = i + 1};
}

static void inspect(struct bl_cli_file *file)
{
    enum { EM_CUDA_NUMBER = 190 };
    file->has_host = bl_host_elf_read(file->arena, file->bytes, &file->host, NULL) == BL_OK && file->host.machine != EM_CUDA_NUMBER;
    read_images(file);
    file->kind = file_kind(file);
    bl_cli_find_kernels(file);
    bl_cli_find_uses(file);
    bl_cli_decide(file);
}

/* Maps a file; false, with a message, where that can't be. */
static bool map_file(const char *path, struct bl_sv *bytes)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = NULL;
    if (file < 0 || fstat(file, &info) != 0)
        why = strerror(errno);
    else if (!S_ISREG(info.st_mode))
        why = S_ISDIR(info.st_mode) ? "is a folder" : "is no regular file";
    else if (info.st_size == 0)
        why = "is empty";
    if (!why) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (map == MAP_FAILED)
            why = strerror(errno);
        *bytes = (struct bl_sv){map, (size_t)info.st_size};
    }
    if (file >= 0)
        close(file);
    if (why)
        bl_cli_say("%s: %s", path, why);
    return !why;
}

static void report(struct bl_cli_file *file, struct bl_json *json)
{
    inspect(file);
    if (json)
        bl_cli_report_json(json, file);
    else
        bl_cli_report_text(file);
}

static bool inspect_path(const char *path, struct bl_json *json)
{
    struct bl_arena arena;
    struct bl_cli_file file = {.path = path, .arena = &arena};
    jmp_buf no_memory;
    if (!map_file(path, &file.bytes))
        return false;
    bl_arena_init(&arena);
    if (setjmp(no_memory)) {
        bl_cli_say("%s: out of memory", path);
        file.fault = "out of memory";
    } else {
        arena.no_memory = file.work.no_memory = file.unpacked.no_memory = &no_memory;
        report(&file, json);
    }
    bl_buffer_cleanup(&file.slice);
    bl_arena_cleanup(&file.work);
    bl_arena_cleanup(&file.unpacked);
    bl_arena_cleanup(&arena);
    munmap((void *)(uintptr_t)file.bytes.data, file.bytes.size);
    return !file.fault;
}

static int run_inspect(int argc, char **argv)
{
    bool as_json = false, fine = true;
    struct bl_json json = {0};
    int at = 1;
    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        if (!strcmp(argv[at], "--")) {
            at++;
            break;
        }
        if (strcmp(argv[at], "--json") != 0)
            return bl_cli_usage("inspect", "inspect: unknown option %s", argv[at]);
        as_json = true;
    }
    if (at >= argc)
        return bl_cli_usage("inspect", "inspect: no file given");
    if (as_json) {
        bl_json_open(&json, NULL, '{');
        bl_json_open(&json, "files", '[');
    }
    for (; at < argc; at++)
        fine &= inspect_path(argv[at], as_json ? &json : NULL);
    if (as_json) {
        bl_json_close(&json, ']');
        bl_json_close(&json, '}');
        fine &= bl_json_print(&json);
    }
    return fine ? BL_CLI_OK : BL_CLI_FAILED;
}

const struct bl_cli_command bl_cli_inspect = {
    .name = "inspect",
    .summary = "says what GPU code a file holds, what it calls, and whether it will run here",
    .help = "Usage: bailey inspect [--json] FILE…\n"
            "\n"
            "For executables, shared libraries, object files, archives, fatbins, cubins and PTX: each image of GPU code, each\n"
            "kernel, the CUDA functions that the file uses with their state here, and a verdict: runs, runs unless something is\n"
            "called, or cannot run because. A kernel's registers are those that a cubin says, or the most that PTX allows.\n"
            "\n"
            "Exit status: 0, or 1 where a file could not be read or is damaged.\n",
    .run = run_inspect,
};
