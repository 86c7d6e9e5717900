/* The CUDA functions that a file uses, and which of them work here. */
#include "cli/inspect.h"

#include <unistd.h>

struct function {
    const char *name;
    enum bl_cli_library library;
    unsigned versions; /* of the runtime: 1 is 11, 2 is 12, 4 is 13; 0: the driver */
    bool works;
};

static const struct function functions[] = {
#include "functions.inc"
};

static const char *const other_prefixes[] = {"cublas", "cufft", "curand", "cusparse", "cusolver", "cudnn",
                                             "nvrtc",  "nvJit", "nvml",   "nccl",     "npp",      "nvjpeg"};

static bool has_prefix(struct bl_sv name, const char *prefix)
{
    size_t length = strlen(prefix);
    return bl_sv_starts(name, prefix) && name.size > length && name.data[length] >= 'A' && name.data[length] <= 'Z';
}

static bool is_other_library(struct bl_sv name)
{
    for (size_t i = 0; i < BL_LEN(other_prefixes); i++)
        if (has_prefix(name, other_prefixes[i]) || (bl_sv_starts(name, "cublasLt") && i == 0))
            return true;
    return false;
}

bool bl_cli_is_cuda_name(struct bl_sv name)
{
    return has_prefix(name, "cuda") || has_prefix(name, "__cuda") || has_prefix(name, "cu") || is_other_library(name);
}

/* The first row of that name; -1 where there is none. */
static ptrdiff_t find_row(struct bl_sv name)
{
    size_t low = 0, high = BL_LEN(functions);
    while (low < high) {
        size_t middle = low + (high - low) / 2, length = strlen(functions[middle].name);
        int order = memcmp(functions[middle].name, name.data, BL_MIN(length, name.size));
        if (order < 0 || (order == 0 && length < name.size))
            low = middle + 1;
        else
            high = middle;
    }
    return low < BL_LEN(functions) && bl_sv_is(name, functions[low].name) ? (ptrdiff_t)low : -1;
}

static void find_status(struct bl_cli_use *use, unsigned versions)
{
    ptrdiff_t row = find_row(use->name);
    use->library = BL_CLI_OTHER;
    use->works = is_other_library(use->name) ? BL_CLI_NOT_YET : BL_CLI_UNKNOWN;
    for (; row >= 0 && (size_t)row < BL_LEN(functions) && bl_sv_is(use->name, functions[row].name); row++) {
        const struct function *function = &functions[row];
        use->library = function->library;
        if (function->versions && !(function->versions & versions))
            continue;
        use->works = function->works ? BL_CLI_WORKS : BL_CLI_NOT_YET;
        return;
    }
}

/* Which runtime libraries the file needs; all where it names none. */
static unsigned runtime_versions(const struct bl_host_elf *host)
{
    static const char *const names[] = {"libcudart.so.11", "libcudart.so.12", "libcudart.so.13"};
    unsigned versions = 0;
    for (uint32_t i = 0; i < host->needed.count; i++)
        for (size_t k = 0; k < BL_LEN(names); k++)
            if (bl_sv_starts(host->needed.items[i], names[k]))
                versions |= 1u << k;
    return versions ? versions : 7;
}

static void add_use(struct bl_cli_file *file, struct bl_sv name, enum bl_cli_how how, unsigned versions)
{
    struct bl_cli_use use = {.name = name, .how = how};
    if (!bl_cli_is_cuda_name(name))
        return;
    find_status(&use, versions);
    /* Texts that only look like a function's name; and of the runtime's own functions a static one knows all names. */
    if (how == BL_CLI_LOOKED_UP && (use.works == BL_CLI_UNKNOWN || (file->host.has_static_cudart && use.library != BL_CLI_DRIVER)))
        return;
    *BL_PUSH(file->arena, &file->uses) = use;
}

static bool is_cuda_library(struct bl_sv name)
{
    return bl_sv_starts(name, "libcu") || bl_sv_starts(name, "libnv") || bl_sv_starts(name, "libnccl");
}

static void find_needed(struct bl_cli_file *file)
{
    char *folder = bl_cli_path("lib/bailey");
    for (uint32_t i = 0; i < file->host.needed.count; i++) {
        struct bl_sv name = file->host.needed.items[i];
        if (!is_cuda_library(name) || bl_sv_starts(name, "libcurl"))
            continue;
        const char *path = bl_arena_printf(file->arena, "%s/%.*s", folder ? folder : "", BL_SV(name));
        *BL_PUSH(file->arena, &file->needed) = (struct bl_cli_needed){name, folder && access(path, F_OK) == 0};
    }
    bl_free(folder);
}

void bl_cli_find_uses(struct bl_cli_file *file)
{
    const struct bl_host_elf *host = &file->host;
    if (!file->has_host)
        return;
    unsigned versions = runtime_versions(host);
    find_needed(file);
    for (uint32_t i = 0; i < host->imports.count; i++)
        add_use(file, host->imports.items[i], BL_CLI_IMPORTED, versions);
    for (uint32_t i = 0; i < host->calls_cuda.count; i++)
        add_use(file, host->calls_cuda.items[i], BL_CLI_CALLED, versions);
    for (uint32_t i = 0; i < host->strings_cuda.count; i++)
        add_use(file, host->strings_cuda.items[i], BL_CLI_LOOKED_UP, versions);
}
