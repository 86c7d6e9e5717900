/* What bailey inspect finds in a file. Shared by inspect.c, code.c, functions.c and report.c. */
#ifndef BAILEY_CLI_INSPECT_H
#define BAILEY_CLI_INSPECT_H

#include "cli/cli.h"
#include "image/image.h"

enum bl_cli_library { BL_CLI_DRIVER, BL_CLI_RUNTIME, BL_CLI_OTHER };
enum bl_cli_works { BL_CLI_WORKS, BL_CLI_NOT_YET, BL_CLI_UNKNOWN };
/* How a file comes to a function: it imports it; its own code calls it in a runtime that is linked in; or that runtime may look it
 * up when it needs it. */
enum bl_cli_how { BL_CLI_IMPORTED, BL_CLI_CALLED, BL_CLI_LOOKED_UP };

struct bl_cli_use {
    struct bl_sv name;
    enum bl_cli_library library;
    enum bl_cli_how how;
    enum bl_cli_works works;
};

struct bl_cli_code {
    struct bl_image image;
    uint32_t number;   /* from 1, as printed */
    const char *fault; /* NULL: could be read */
};

struct bl_cli_kernel {
    struct bl_sv name;
    const char *demangled; /* == the name where it can't be had */
    const struct bl_cli_code *code;
    uint32_t parameter_count, parameter_bytes, max_registers, registers, max_threads, min_ctas;
    uint64_t shared_bytes;
    bool counted;      /* parameter_count is known: PTX */
    const char *fault; /* why it can't run here; NULL: it can */
};

struct bl_cli_needed {
    struct bl_sv name;
    bool here;
};

enum bl_cli_verdict { BL_CLI_RUNS, BL_CLI_RUNS_UNLESS, BL_CLI_CANNOT };

struct bl_cli_file {
    const char *path, *kind;
    struct bl_arena *arena;
    struct bl_arena work, unpacked; /* of one kernel and of one image, emptied after each */
    struct bl_buffer slice;
    struct bl_sv bytes;
    struct bl_host_elf host;
    bool has_host;
    const char *fault; /* the file or a part of it is damaged */
    BL_ARRAY(struct bl_cli_code) codes;
    BL_ARRAY(struct bl_cli_kernel) kernels;
    BL_ARRAY(struct bl_cli_use) uses;
    BL_ARRAY(struct bl_cli_needed) needed; /* CUDA libraries only */
    enum bl_cli_verdict verdict;
    const char *verdict_text;
};

/* functions.c: status of each CUDA function, by the tables of the driver and the runtime. */
bool bl_cli_is_cuda_name(struct bl_sv name);
void bl_cli_find_uses(struct bl_cli_file *file);
/* code.c: the kernels of the images. */
void bl_cli_find_kernels(struct bl_cli_file *file);
/* verdict.c */
void bl_cli_decide(struct bl_cli_file *file);
/* report.c */
void bl_cli_report_text(const struct bl_cli_file *file);
void bl_cli_report_json(struct bl_json *json, const struct bl_cli_file *file);

#endif
