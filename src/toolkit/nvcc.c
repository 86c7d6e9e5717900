/* bailey nvcc: takes nvcc's command line and compiles CUDA C++ with clang as the front end, our own headers and our own fatbin
 * writer; links with our libcudart. A program of its own, libexec/bailey/nvcc; everything is found relative to it.
 *
 * One .cu file takes three steps: the device code to PTX (once for each architecture), the PTX into a fatbin, the host code with
 * that fatbin inside to an object file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "toolkit/fatbin.h"

extern char **environ;

enum stage { LINK, OBJECT, PTX, FATBIN, PREPROCESS };

struct args { /* a BL_ARRAY; NULL-terminated when run */
    const char **items;
    uint32_t count, capacity;
};

struct nvcc {
    struct bl_arena arena;
    jmp_buf no_memory;
    const char *include, *library; /* of this installation */
    const char *clang, *clangxx;
    const char *ccbin; /* the host compiler for files without CUDA, and the linker; NULL: clang */
    char folder[PATH_MAX];
    unsigned temporaries;
    enum stage stage;
    const char *output, *language, *cudart;
    bool dry_run, verbose, keep, shared, rdc, compress, device_debug, line_info;
    struct args inputs, both, device, host, link;
    BL_ARRAY(uint32_t) architectures;
    BL_ARRAY(char) suffixes; /* of the architectures: 'a', 'f' or 0 */
};

static int fail(const char *format, ...) BL_PRINTF(1, 2);
static int fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("bailey nvcc: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return 1;
}

static void push(struct nvcc *n, struct args *list, const char *text)
{
    *BL_PUSH(&n->arena, list) = text;
}

/* ---- where things are ------------------------------------------------------------------------ */

static bool executable_in_path(struct nvcc *n, const char *name, const char **found)
{
    const char *path = getenv("PATH");
    for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
        size_t size = strcspn(at, ":");
        const char *candidate = bl_arena_printf(&n->arena, "%.*s/%s", (int)size, at, name);
        if (access(candidate, X_OK) == 0) {
            *found = candidate;
            return true;
        }
        at += size + (at[size] == ':');
    }
    return false;
}

static int find_clang(struct nvcc *n)
{
    const char *named = getenv("BAILEY_CLANG");
    if (named) {
        n->clang = named;
        n->clangxx = bl_arena_printf(&n->arena, "%s", named);
        return access(named, X_OK) == 0 ? 0 : fail("BAILEY_CLANG=%s: no such program", named);
    }
    for (int version = 22; version >= 19; version--)
        if (executable_in_path(n, bl_arena_printf(&n->arena, "clang-%d", version), &n->clang))
            return n->clangxx = n->clang, 0;
    return fail("needs clang 19 to 22 as the CUDA front end; on Debian and Ubuntu: apt-get install clang-19\n"
                "(or set BAILEY_CLANG to one)");
}

static int find_installation(struct nvcc *n)
{
    char self[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (size <= 0)
        return fail("can't read /proc/self/exe: %s", strerror(errno));
    self[size] = 0;
    /* PREFIX/libexec/bailey/nvcc */
    for (int i = 0; i < 3; i++) {
        char *slash = strrchr(self, '/');
        if (slash)
            *slash = 0;
    }
    n->include = bl_arena_printf(&n->arena, "%s/share/bailey/include", self);
    n->library = bl_arena_printf(&n->arena, "%s/lib/bailey", self);
    return 0;
}

/* ---- running programs -------------------------------------------------------------------------- */

static void show(const struct args *args)
{
    for (uint32_t i = 0; args->items[i]; i++)
        fprintf(stderr, "%s%s", i ? " " : "#$ ", args->items[i]);
    fputc('\n', stderr);
}

static int run(struct nvcc *n, struct args *args)
{
    push(n, args, NULL);
    if (n->dry_run || n->verbose)
        show(args);
    if (n->dry_run)
        return 0;
    pid_t child;
    int status, error = posix_spawnp(&child, args->items[0], NULL, NULL, (char **)(uintptr_t)args->items, environ);
    if (error)
        return fail("can't start %s: %s", args->items[0], strerror(error));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail("waiting for %s: %s", args->items[0], strerror(errno));
    if (WIFSIGNALED(status))
        return fail("%s died of signal %d", args->items[0], WTERMSIG(status));
    return WEXITSTATUS(status);
}

static const char *temporary(struct nvcc *n, const char *suffix)
{
    return bl_arena_printf(&n->arena, "%s/%u%s", n->folder, n->temporaries++, suffix);
}

static int make_folder(struct nvcc *n)
{
    const char *parent = getenv("TMPDIR");
    snprintf(n->folder, sizeof(n->folder), "%s/bailey-nvcc-XXXXXX", parent && *parent ? parent : "/tmp");
    if (n->dry_run)
        return 0;
    return mkdtemp(n->folder) ? 0 : fail("can't make a folder %s: %s", n->folder, strerror(errno));
}

static void drop_folder(struct nvcc *n)
{
    static const char *const suffixes[] = {".ptx", ".fatbin", ".o"};
    if (n->keep && !n->dry_run)
        printf("intermediate files are kept in %s\n", n->folder);
    if (n->dry_run || n->keep)
        return;
    for (unsigned i = 0; i < n->temporaries; i++)
        for (size_t j = 0; j < BL_LEN(suffixes); j++)
            unlink(bl_arena_printf(&n->arena, "%s/%u%s", n->folder, i, suffixes[j]));
    rmdir(n->folder);
}

/* ---- compiling ------------------------------------------------------------------------------------ */

static void add_common(struct nvcc *n, struct args *args)
{
    static const char *const always[] = {"-nocudainc", "-nocudalib", "-D__CUDACC__", "-D__CUDACC_VER_MAJOR__=13",
                                         "-D__CUDACC_VER_MINOR__=0", "-D__CUDACC_VER_BUILD__=0",
                                         /* clang's check of the toolkit's version ends at 12.5; what it turns on is in ours. */
                                         "-Xclang", "-target-sdk-version=12.5", "-Wno-unknown-cuda-version", "-isystem"};
    for (size_t i = 0; i < BL_LEN(always); i++)
        push(n, args, always[i]);
    push(n, args, n->include);
    push(n, args, "-include");
    push(n, args, "cuda_runtime.h");
    for (uint32_t i = 0; i < n->both.count; i++)
        push(n, args, n->both.items[i]);
    if (n->rdc)
        push(n, args, "-fgpu-rdc");
}

static const char *architecture(struct nvcc *n, uint32_t i)
{
    char suffix[2] = {n->suffixes.items[i], 0};
    return bl_arena_printf(&n->arena, "sm_%u%s", n->architectures.items[i], suffix);
}

static int compile_device(struct nvcc *n, const char *input, uint32_t i, const char *output)
{
    struct args args = {0};
    push(n, &args, n->clangxx);
    push(n, &args, "--driver-mode=g++");
    push(n, &args, "-x");
    push(n, &args, "cuda");
    push(n, &args, "--cuda-device-only");
    push(n, &args, bl_arena_printf(&n->arena, "--cuda-gpu-arch=%s", architecture(n, i)));
    push(n, &args, n->architectures.items[i] >= 90 ? "--cuda-feature=+ptx80" : "--cuda-feature=+ptx75");
    add_common(n, &args);
    for (uint32_t j = 0; j < n->device.count; j++)
        push(n, &args, n->device.items[j]);
    push(n, &args, n->device_debug ? "-O0" : "-O3");
    push(n, &args, "-fno-builtin-malloc"); /* a block that nobody uses may still be too large: NULL is an answer */
    if (n->device_debug)
        push(n, &args, "--cuda-noopt-device-debug");
    else if (n->line_info)
        push(n, &args, "-gline-tables-only");
    push(n, &args, "-S");
    push(n, &args, input);
    push(n, &args, "-o");
    push(n, &args, output);
    return run(n, &args);
}

static int write_fatbin(struct nvcc *n, const struct args *texts, const char *output)
{
    BL_ARRAY(struct bl_fatbin_entry) entries = {0};
    struct bl_buffer out = {0};
    struct bl_error error = BL_ERROR_INIT;
    if (n->dry_run)
        return 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        char *data;
        size_t size;
        if (bl_file_read(texts->items[i], &data, &size, &error) != BL_OK)
            return fail("%s", error.message);
        *BL_PUSH(&n->arena, &entries) =
            (struct bl_fatbin_entry){{bl_arena_copy(&n->arena, data, size), size}, n->architectures.items[i]};
        bl_free(data);
    }
    bl_fatbin_write(&out, entries.items, entries.count, n->compress);
    enum bl_status status =
        out.failed ? bl_fail(&error, BL_NO_MEMORY, "out of memory") : bl_file_write(output, out.data, out.size, &error);
    bl_buffer_cleanup(&out);
    return status == BL_OK ? 0 : fail("%s: %s", output, error.message);
}

/* The fatbin of one file. */
static int make_fatbin(struct nvcc *n, const char *input, const char *output)
{
    struct args texts = {0};
    for (uint32_t i = 0; i < n->architectures.count; i++) {
        const char *text = temporary(n, ".ptx");
        int status = compile_device(n, input, i, text);
        if (status)
            return status;
        push(n, &texts, text);
    }
    return write_fatbin(n, &texts, output);
}

/* The host side, or what a preprocessor makes of it. */
static int compile_host(struct nvcc *n, const char *input, const char *fatbin, const char *output)
{
    struct args args = {0};
    push(n, &args, n->clangxx);
    push(n, &args, "--driver-mode=g++");
    push(n, &args, "-x");
    push(n, &args, "cuda");
    push(n, &args, "--cuda-host-only");
    add_common(n, &args);
    for (uint32_t i = 0; i < n->host.count; i++)
        push(n, &args, n->host.items[i]);
    if (fatbin) {
        push(n, &args, "-Xclang");
        push(n, &args, "-fcuda-include-gpubinary");
        push(n, &args, "-Xclang");
        push(n, &args, fatbin);
    }
    push(n, &args, n->stage == PREPROCESS ? "-E" : "-c");
    push(n, &args, input);
    if (output) {
        push(n, &args, "-o");
        push(n, &args, output);
    }
    return run(n, &args);
}

static int compile_plain(struct nvcc *n, const char *input, const char *output)
{
    struct args args = {0};
    push(n, &args, n->ccbin ? n->ccbin : n->clang);
    if (n->language && strcmp(n->language, "cu") != 0) {
        push(n, &args, "-x");
        push(n, &args, n->language);
    }
    push(n, &args, "-isystem");
    push(n, &args, n->include);
    for (uint32_t i = 0; i < n->both.count; i++)
        push(n, &args, n->both.items[i]);
    for (uint32_t i = 0; i < n->host.count; i++)
        push(n, &args, n->host.items[i]);
    push(n, &args, n->stage == PREPROCESS ? "-E" : "-c");
    push(n, &args, input);
    if (output) {
        push(n, &args, "-o");
        push(n, &args, output);
    }
    return run(n, &args);
}

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : "";
}

static bool has_suffix(const char *path, const char *list)
{
    const char *suffix = suffix_of(path);
    size_t size = strlen(suffix);
    for (const char *at = list; size && (at = strstr(at, suffix)); at += size)
        if (at[size] == ' ' || !at[size])
            return true;
    return false;
}

static bool is_cuda(const struct nvcc *n, const char *path)
{
    return n->language ? !strcmp(n->language, "cu") : has_suffix(path, ".cu");
}

static bool is_source(const struct nvcc *n, const char *path)
{
    return is_cuda(n, path) || n->language || has_suffix(path, ".c .cc .cxx .cpp .C");
}

/* a/b.cu with the suffix .o: b.o in this folder. */
static const char *default_output(struct nvcc *n, const char *input, const char *suffix)
{
    const char *slash = strrchr(input, '/'), *name = slash ? slash + 1 : input;
    return bl_arena_printf(&n->arena, "%.*s%s", (int)(strlen(name) - strlen(suffix_of(name))), name, suffix);
}

static int compile(struct nvcc *n, const char *input, const char *output)
{
    if (!is_cuda(n, input))
        return n->stage == PTX || n->stage == FATBIN ? fail("%s holds no CUDA code", input) : compile_plain(n, input, output);
    if (n->stage == PREPROCESS)
        return compile_host(n, input, NULL, output);
    if (n->stage == PTX)
        return n->architectures.count > 1 ? fail("-ptx takes one architecture, not %u", n->architectures.count)
                                          : compile_device(n, input, 0, output);
    if (n->stage == FATBIN)
        return make_fatbin(n, input, output);
    const char *fatbin = temporary(n, ".fatbin");
    int status = make_fatbin(n, input, fatbin);
    return status ? status : compile_host(n, input, fatbin, output);
}

static int link_all(struct nvcc *n, const struct args *objects)
{
    struct args args = {0};
    push(n, &args, n->ccbin ? n->ccbin : n->clangxx);
    if (!n->ccbin)
        push(n, &args, "--driver-mode=g++");
    if (n->shared)
        push(n, &args, "-shared");
    for (uint32_t i = 0; i < objects->count; i++)
        push(n, &args, objects->items[i]);
    for (uint32_t i = 0; i < n->link.count; i++)
        push(n, &args, n->link.items[i]);
    push(n, &args, bl_arena_printf(&n->arena, "-L%s", n->library));
    push(n, &args, bl_arena_printf(&n->arena, "-Wl,-rpath,%s", n->library));
    if (strcmp(n->cudart, "none") != 0)
        push(n, &args, "-l:libcudart.so.13");
    push(n, &args, "-ldl");
    push(n, &args, "-lpthread");
    push(n, &args, "-o");
    push(n, &args, n->output ? n->output : "a.out");
    return run(n, &args);
}

static int work(struct nvcc *n)
{
    static const char *const suffixes[] = {[OBJECT] = ".o", [PTX] = ".ptx", [FATBIN] = ".fatbin"};
    struct args objects = {0};
    uint32_t sources = 0;
    for (uint32_t i = 0; i < n->inputs.count; i++)
        sources += is_source(n, n->inputs.items[i]);
    if (n->output && n->stage != LINK && sources > 1)
        return fail("one output, %s, for %u files", n->output, sources);
    for (uint32_t i = 0; i < n->inputs.count; i++) {
        const char *input = n->inputs.items[i], *output = n->output;
        if (access(input, R_OK) != 0)
            return fail("%s: %s", input, strerror(errno));
        if (!is_source(n, input)) {
            push(n, &objects, input);
            continue;
        }
        if (n->stage == LINK)
            output = temporary(n, ".o");
        else if (!output && n->stage != PREPROCESS)
            output = default_output(n, input, suffixes[n->stage]);
        int status = compile(n, input, output);
        if (status)
            return status;
        push(n, &objects, output);
    }
    return n->stage == LINK ? link_all(n, &objects) : 0;
}

/* ---- the command line --------------------------------------------------------------------------------- */

static bool add_architecture(struct nvcc *n, const char *text)
{
    const char *digits = !strncmp(text, "compute_", 8) ? text + 8 : !strncmp(text, "sm_", 3) ? text + 3 : NULL;
    char *end = NULL;
    unsigned long sm = digits ? strtoul(digits, &end, 10) : 0;
    if (!digits || end == digits || (*end && *end != 'a' && *end != 'f') || (*end && end[1]) || sm < 50 || sm > 999)
        return false;
    for (uint32_t i = 0; i < n->architectures.count; i++)
        if (n->architectures.items[i] == sm && n->suffixes.items[i] == *end)
            return true;
    *BL_PUSH(&n->arena, &n->architectures) = (uint32_t)sm;
    *BL_PUSH(&n->arena, &n->suffixes) = *end;
    return true;
}

/* "arch=compute_80,code=[sm_80,compute_80]": only PTX is made, for the virtual architecture. */
static bool add_gencode(struct nvcc *n, const char *text)
{
    const char *arch = strstr(text, "arch=");
    if (!arch)
        return false;
    arch += 5;
    return add_architecture(n, bl_arena_printf(&n->arena, "%.*s", (int)strcspn(arch, ","), arch));
}

/* Splits at commas into list, each with `before` in front where that is given. */
static void push_split(struct nvcc *n, struct args *list, const char *text, const char *before)
{
    while (*text) {
        size_t size = strcspn(text, ",");
        if (before)
            push(n, list, before);
        push(n, list, bl_arena_printf(&n->arena, "%.*s", (int)size, text));
        text += size + (text[size] == ',');
    }
}

enum option_kind {
    FLAG,    /* takes nothing */
    VALUE,   /* takes a value: -o x, -ox where short, --output-file=x */
    IGNORED, /* accepted, changes nothing here */
    IGNORED_VALUE,
    REFUSED, /* named, with the reason in `note` */
};
struct option {
    const char *names; /* space-separated */
    enum option_kind kind;
    char id;
    const char *note;
};

static const struct option options[] = {
    {"-o --output-file", VALUE, 'o', "FILE"},
    {"-c --compile", FLAG, 'c', "to object files"},
    {"-ptx --ptx", FLAG, 'p', "to PTX"},
    {"-fatbin --fatbin", FLAG, 'f', "to a fatbin"},
    {"-E --preprocess", FLAG, 'E', "to preprocessed text"},
    {"-link --link", FLAG, 'k', "compile and link (the default)"},
    {"-arch --gpu-architecture", VALUE, 'a', "compute_NN or sm_NN: PTX for it (default compute_75)"},
    {"-gencode --generate-code", VALUE, 'g', "arch=compute_NN,…: PTX for it too; may be given again"},
    {"-code --gpu-code", IGNORED_VALUE, 0, NULL},
    {"-x", VALUE, 'x', "cu, c or c++: what the input files hold"},
    {"-std --std", VALUE, 's', "c++11 to c++20"},
    {"-O --optimize", VALUE, 'O', "0 to 3"},
    {"-g --debug", FLAG, 'd', "debug information of the host code"},
    {"-G --device-debug", FLAG, 'G', "debug information of the device code, no optimisation"},
    {"-lineinfo --generate-line-info", FLAG, 'i', "line numbers of the device code"},
    {"-I --include-path", VALUE, 'I', "DIR"},
    {"-isystem --system-include", VALUE, 'y', "DIR"},
    {"-include --pre-include", VALUE, 'n', "FILE"},
    {"-D --define-macro", VALUE, 'D', "NAME[=VALUE]"},
    {"-U --undefine-macro", VALUE, 'U', "NAME"},
    {"-L --library-path", VALUE, 'L', "DIR"},
    {"-l --library", VALUE, 'l', "NAME"},
    {"-cudart --cudart", VALUE, 'r', "none, shared or static (all but none: our shared libcudart)"},
    {"-ccbin --compiler-bindir", VALUE, 'b', "host compiler for files without CUDA, and linker (default clang)"},
    {"-Xcompiler --compiler-options", VALUE, 'h', "OPTION,…: to the host compiler"},
    {"-Xlinker --linker-options", VALUE, 'w', "OPTION,…: to the linker"},
    {"-shared --shared", FLAG, 'S', "make a shared library"},
    {"-w --disable-warnings", FLAG, 'W', "no warnings"},
    {"-use_fast_math --use_fast_math", FLAG, 'F', "-ftz=true -prec-div=false -prec-sqrt=false -fmad=true"},
    {"-ftz --ftz", VALUE, 'z', "true: denormal floats are zero"},
    {"-fmad --fmad", VALUE, 'm', "false: never fuse a multiplication and an addition"},
    {"-default-stream --default-stream", VALUE, 't', "legacy or per-thread"},
    {"-M --generate-dependencies", FLAG, 'M', "dependencies for make"},
    {"-MM --generate-nonsystem-dependencies", FLAG, 'N', "the same without system headers"},
    {"-MD --generate-dependencies-with-compile", FLAG, 'P', "the same beside compiling"},
    {"-MMD --generate-nonsystem-dependencies-with-compile", FLAG, 'Q', "the same without system headers"},
    {"-MF --dependency-output", VALUE, 'u', "FILE"},
    {"-MT --dependency-target-name", VALUE, 'T', "NAME"},
    {"-compress-mode --compress-mode", VALUE, 'C', "none: store PTX uncompressed"},
    {"-no-compress --no-compress", FLAG, 'Z', "store PTX uncompressed"},
    {"-v --verbose", FLAG, 'v', "show the commands"},
    {"-dryrun --dryrun", FLAG, 'R', "show the commands, run none"},
    {"-keep --keep", FLAG, 'K', "keep intermediate files"},
    {"-V --version", FLAG, 'V', "the version"},
    {"-h --help", FLAG, '?', "this text"},
    {"-rdc --relocatable-device-code", VALUE, 'e', "false (true is not supported yet)"},
    {"-m64 --m64 -m", IGNORED, 0, NULL},
    {"-forward-unknown-to-host-compiler --forward-unknown-to-host-compiler", IGNORED, 0, NULL},
    {"--expt-relaxed-constexpr -expt-relaxed-constexpr --expt-extended-lambda -expt-extended-lambda --extended-lambda "
     "-extended-lambda -allow-unsupported-compiler --allow-unsupported-compiler -res-usage --resource-usage -lto -dlto "
     "-restrict --restrict --clean-targets -Wno-deprecated-gpu-targets --source-in-ptx -src-in-ptx",
     IGNORED, 0, NULL},
    {"-Xptxas --ptxas-options -Xcudafe --cudafe-options -Xnvlink --nvlink-options -Xfatbin --fatbin-options -Xarchive "
     "--archive-options -maxrregcount --maxrregcount -prec-div --prec-div -prec-sqrt --prec-sqrt -diag-suppress --diag-suppress "
     "-threads --threads -t -split-compile --split-compile --machine -ewp -Werror --Werror -keep-dir --keep-dir "
     "-minimal -cudadevrt --cudadevrt",
     IGNORED_VALUE, 0, NULL},
    {"-dc --device-c -dw --device-w -dlink --device-link", REFUSED, 0,
     "relocatable device code can't be made yet; put kernels and the device functions that they call into one file"},
    {"-cubin --cubin", REFUSED, 0, "machine code is NVIDIA's; -ptx or -fatbin give what Bailey runs"},
};

static int help(void)
{
    puts("Usage: bailey nvcc [options] file…\n\nCompiles CUDA C++ with clang and Bailey's own headers; no NVIDIA software is "
         "needed.\n");
    for (size_t i = 0; i < BL_LEN(options); i++)
        if (options[i].id)
            printf("  %-52s %s\n", options[i].names, options[i].note);
    puts("\nOther options of nvcc that make no difference here are accepted. Environment: BAILEY_CLANG, a clang 19 to 22.\n"
         "Not yet: the device math library (sinf, pow, ...), cuda_fp16.h, textures, __managed__, -rdc=true.");
    return 0;
}

static bool named(const struct option *option, const char *text, size_t size)
{
    for (const char *at = option->names; *at;) {
        size_t length = strcspn(at, " ");
        if (length == size && !strncmp(at, text, size))
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

/* The option that `text` names, and its value where it is a part of it: --name=value, -name=value, -Idir. */
static const struct option *find_option(const char *text, const char **value)
{
    size_t whole = strlen(text), name = strcspn(text, "=");
    *value = NULL;
    for (size_t i = 0; i < BL_LEN(options); i++)
        if (named(&options[i], text, whole))
            return &options[i];
    for (size_t i = 0; i < BL_LEN(options); i++)
        if (name < whole && named(&options[i], text, name)) {
            *value = text + name + 1;
            return &options[i];
        }
    for (size_t i = 0; i < BL_LEN(options); i++)
        if (text[1] && strchr("IDULlOox", text[1]) && options[i].kind == VALUE && named(&options[i], text, 2)) {
            *value = text + 2;
            return &options[i];
        }
    return NULL;
}

static const char *join(struct nvcc *n, const char *before, const char *value)
{
    return bl_arena_printf(&n->arena, "%s%s", before, value);
}

static void push_host_and_device(struct nvcc *n, const char *text)
{
    push(n, &n->both, text);
}

static int version(void)
{
    puts("bailey nvcc " BAILEY_VERSION ": a compiler driver for CUDA C++ over clang; the CUDA interface is 13.0's.\n"
         "Cuda compilation tools, release 13.0, V13.0.0");
    return 0;
}

/* -1: go on; else the exit status. */
static int take_option(struct nvcc *n, const struct option *option, const char *text, const char *value)
{
    switch (option->id) {
    case 'o':
        n->output = value;
        break;
    case 'c':
        n->stage = OBJECT;
        break;
    case 'p':
        n->stage = PTX;
        break;
    case 'f':
        n->stage = FATBIN;
        break;
    case 'E':
        n->stage = PREPROCESS;
        break;
    case 'k':
        n->stage = LINK;
        break;
    case 'a':
        if (!add_architecture(n, !strcmp(value, "native") || !strncmp(value, "all", 3) ? "compute_90" : value))
            return fail("no architecture %s; there are compute_50 (sm_50) and newer", value);
        break;
    case 'g':
        if (!add_gencode(n, value))
            return fail("%s %s: expected arch=compute_NN,code=…", text, value);
        break;
    case 'x':
        n->language = value;
        break;
    case 's':
        push_host_and_device(n, join(n, "-std=", value));
        break;
    case 'O':
        push(n, &n->host, join(n, "-O", value)); /* as nvcc's: of the host code only */
        break;
    case 'd':
        push(n, &n->host, "-g");
        break;
    case 'G':
        n->device_debug = true;
        break;
    case 'i':
        n->line_info = true;
        break;
    case 'I':
        push_host_and_device(n, join(n, "-I", value));
        break;
    case 'y':
        push_host_and_device(n, "-isystem"), push_host_and_device(n, value);
        break;
    case 'n':
        push_host_and_device(n, "-include"), push_host_and_device(n, value);
        break;
    case 'D':
        push_host_and_device(n, join(n, "-D", value));
        break;
    case 'U':
        push_host_and_device(n, join(n, "-U", value));
        break;
    case 'L':
        push(n, &n->link, join(n, "-L", value));
        break;
    case 'l':
        /* Our own stand for NVIDIA's. */
        if (strcmp(value, "cudart") && strcmp(value, "cudart_static") && strcmp(value, "cuda") && strcmp(value, "cudadevrt"))
            push(n, &n->link, join(n, "-l", value));
        else if (!strcmp(value, "cuda"))
            push(n, &n->link, "-l:libcuda.so.1");
        break;
    case 'r':
        n->cudart = value;
        break;
    case 'b':
        n->ccbin = value;
        break;
    case 'h':
        push_split(n, &n->host, value, NULL);
        push_split(n, &n->link, value, NULL);
        break;
    case 'w':
        push_split(n, &n->link, value, "-Xlinker");
        break;
    case 'S':
        n->shared = true;
        break;
    case 'W':
        push_host_and_device(n, "-w");
        break;
    case 'F':
        push(n, &n->device, "-fgpu-flush-denormals-to-zero");
        push(n, &n->device, "-fgpu-approx-transcendentals");
        push(n, &n->device, "-D__USE_FAST_MATH__");
        break;
    case 'z':
        if (!strcmp(value, "true"))
            push(n, &n->device, "-fgpu-flush-denormals-to-zero");
        break;
    case 'm':
        if (!strcmp(value, "false"))
            push(n, &n->device, "-ffp-contract=off");
        break;
    case 't':
        if (!strcmp(value, "per-thread"))
            push_host_and_device(n, "-DCUDA_API_PER_THREAD_DEFAULT_STREAM");
        else if (strcmp(value, "legacy") != 0 && strcmp(value, "null") != 0)
            return fail("%s takes legacy or per-thread", text);
        break;
    case 'M':
        n->stage = PREPROCESS, push(n, &n->host, "-M");
        break;
    case 'N':
        n->stage = PREPROCESS, push(n, &n->host, "-MM");
        break;
    case 'P':
        push(n, &n->host, "-MD");
        break;
    case 'Q':
        push(n, &n->host, "-MMD");
        break;
    case 'u':
        push(n, &n->host, "-MF"), push(n, &n->host, value);
        break;
    case 'T':
        push(n, &n->host, "-MT"), push(n, &n->host, value);
        break;
    case 'C':
        n->compress = strcmp(value, "none") != 0;
        break;
    case 'Z':
        n->compress = false;
        break;
    case 'v':
        n->verbose = true;
        break;
    case 'R':
        n->dry_run = true;
        break;
    case 'K':
        n->keep = true;
        break;
    case 'V':
        return version();
    case '?':
        return help();
    case 'e':
        if (!strcmp(value, "true"))
            return fail("-rdc=true: relocatable device code can't be made yet; put kernels and the device functions that they\n"
                        "call into one file");
        break;
    }
    return -1;
}

static int parse(struct nvcc *n, int count, char **words)
{
    for (int i = 1; i < count; i++) {
        const char *text = words[i], *value;
        if (text[0] != '-' || !text[1]) {
            push(n, &n->inputs, text);
            continue;
        }
        const struct option *option = find_option(text, &value);
        if (!option) {
            /* As nvcc's --forward-unknown-to-host-compiler: -fPIC, -Wall, -pthread … */
            if (!strncmp(text, "-f", 2) || !strncmp(text, "-W", 2) || !strncmp(text, "-m", 2) || !strcmp(text, "-pthread") ||
                !strcmp(text, "-pipe")) {
                push(n, &n->host, text);
                if (!strncmp(text, "-Wl,", 4) || !strcmp(text, "-pthread"))
                    push(n, &n->link, text);
                continue;
            }
            return fail("unknown option %s (bailey nvcc --help lists them)", text);
        }
        if (option->kind == REFUSED)
            return fail("%s: %s", text, option->note);
        bool takes = option->kind == VALUE || option->kind == IGNORED_VALUE;
        if (takes && !value) {
            if (i + 1 == count)
                return fail("%s needs a value", text);
            value = words[++i];
        }
        int status = take_option(n, option, text, value);
        if (status >= 0)
            return status;
    }
    return -1;
}

static int nvcc_main(struct nvcc *n, int count, char **words)
{
    int status = parse(n, count, words);
    if (status >= 0)
        return status;
    if (!n->inputs.count)
        return fail("no input file (bailey nvcc --help)");
    if (!n->architectures.count)
        add_architecture(n, "compute_75");
    if (find_installation(n) || find_clang(n) || make_folder(n))
        return 1;
    status = work(n);
    drop_folder(n);
    return status;
}

int main(int count, char **words)
{
    static struct nvcc n = {.cudart = "shared", .compress = true};
    bl_arena_init(&n.arena);
    n.arena.no_memory = &n.no_memory;
    if (setjmp(n.no_memory))
        return fail("out of memory");
    int status = nvcc_main(&n, count, words);
    bl_arena_cleanup(&n.arena);
    return status;
}
