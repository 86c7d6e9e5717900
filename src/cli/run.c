/* bailey run: sets the environment in which the loader finds Bailey's CUDA libraries, then becomes the program. Signals, exit
 * status and arguments thus need no passing on, and children inherit the environment.
 *
 * LD_LIBRARY_PATH alone loses against an RPATH in the program and against dlopen by path; the audit library (audit.c) wins. */
#include "cli/cli.h"
#include "image/image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct run_options {
    const char *device, *log;
    bool trace;
};

static const char *const log_levels[] = {"off", "error", "warn", "info", "debug"};

static bool is_log_level(const char *word)
{
    for (size_t i = 0; i < BL_LEN(log_levels); i++)
        if (!strcmp(word, log_levels[i]))
            return true;
    return false;
}

/* Reads the options; *at becomes the program's place in argv. */
static int read_options(int argc, char **argv, struct run_options *options, int *at)
{
    for (*at = 1; *at < argc && argv[*at][0] == '-'; ++*at) {
        const char *word = argv[*at], *value;
        if (!strcmp(word, "--")) {
            ++*at;
            break;
        }
        if (!strcmp(word, "--trace"))
            options->trace = true;
        else if ((value = bl_cli_option(argc, argv, at, "device")))
            options->device = value;
        else if ((value = bl_cli_option(argc, argv, at, "log")))
            options->log = value;
        else
            return bl_cli_usage("run", "run: unknown option %s (the program's own options go behind its name)", word);
    }
    if (options->device && strcmp(options->device, "cpu") != 0)
        return bl_cli_usage("run", "run: no device \"%s\"; this version of Bailey has: cpu", options->device);
    if (options->log && !is_log_level(options->log))
        return bl_cli_usage("run", "run: no log level \"%s\"; there are: off, error, warn, info, debug", options->log);
    if (*at >= argc)
        return bl_cli_usage("run", "run: no program given");
    return BL_CLI_OK;
}

/* ---- the environment --------------------------------------------------------------------- */

/* Puts item in front of a list of paths, once. */
static bool put_first(const char *name, const char *item)
{
    const char *old = getenv(name);
    size_t length = strlen(item);
    if (old && !strncmp(old, item, length) && (!old[length] || old[length] == ':'))
        return true;
    struct bl_buffer list = {0};
    bl_buffer_printf(&list, "%s%s%s", item, old && *old ? ":" : "", old ? old : "");
    bool fine = !list.failed && setenv(name, list.data, 1) == 0;
    bl_buffer_cleanup(&list);
    return fine;
}

static bool set_environment(const char *libraries, const char *audit, const struct run_options *options)
{
    bool fine = put_first("LD_LIBRARY_PATH", libraries) && put_first("LD_AUDIT", audit);
    if (options->device)
        fine = fine && setenv("BAILEY_DEVICE", options->device, 1) == 0;
    if (options->log)
        fine = fine && setenv("BAILEY_LOG", options->log, 1) == 0;
    if (options->trace)
        fine = fine && setenv("BAILEY_TRACE", "1", 1) == 0;
    return fine;
}

static int prepare(const struct run_options *options)
{
    char *libraries = bl_cli_path("lib/bailey");
    char *audit = bl_cli_path("lib/bailey/bailey-audit.so");
    int status = BL_CLI_FAILED;
    if (!libraries || !audit)
        ;
    else if (access(audit, R_OK) != 0)
        bl_cli_say("%s: %s; Bailey's files have been moved apart", audit, strerror(errno));
    else if (strchr(libraries, ':') || strchr(libraries, ';'))
        bl_cli_say("%s: the loader's lists of folders can't hold a path with ':' or ';'; move Bailey elsewhere", libraries);
    else if (!set_environment(libraries, audit, options))
        bl_cli_say("out of memory");
    else
        status = BL_CLI_OK;
    bl_free(libraries);
    bl_free(audit);
    return status;
}

/* ---- the program ------------------------------------------------------------------------- */

/* Its path by PATH, as execvp would find it; on the heap. *found is set where something stands there that can't be executed. */
static char *find_program(const char *name, bool *found)
{
    const char *path = getenv("PATH");
    if (strchr(name, '/')) {
        *found = access(name, F_OK) == 0;
        return bl_strdup(name);
    }
    for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name; path++) {
        size_t length = strcspn(path, ":");
        struct bl_buffer candidate = {0};
        struct stat info;
        bl_buffer_printf(&candidate, "%.*s%s/%s", (int)length, path, length ? "" : ".", name);
        if (candidate.failed)
            return NULL;
        bool is_file = stat(candidate.data, &info) == 0 && S_ISREG(info.st_mode);
        if (is_file && access(candidate.data, X_OK) == 0)
            return candidate.data;
        *found |= is_file;
        bl_buffer_cleanup(&candidate);
        path += length;
        if (!*path)
            break;
    }
    return NULL;
}

static const char *machine_name(uint16_t machine, char *buffer, size_t size)
{
    switch (machine) {
    case EM_386:
        return "x86, 32-bit";
    case EM_X86_64:
        return "x86-64";
    case EM_ARM:
        return "Arm, 32-bit";
    case EM_AARCH64:
        return "Arm, 64-bit";
    case EM_PPC64:
        return "PowerPC, 64-bit";
    case EM_RISCV:
        return "RISC-V";
    default:
        snprintf(buffer, size, "ELF machine %u", machine);
        return buffer;
    }
}

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#error "this processor is not known here"
#endif

/* Names what keeps an ELF program from using our libraries. BL_CLI_OK: it may run. */
static int check_elf(const char *path, const struct bl_host_elf *elf, mode_t mode)
{
    char name[32];
    if (elf->machine != OWN_MACHINE || elf->is_32bit || elf->is_big_endian) {
        bl_cli_say("%s is a program for another processor (%s%s); Bailey's libraries here are for %s", path,
                   machine_name(elf->machine, name, sizeof(name)), elf->is_32bit && elf->machine == EM_X86_64 ? ", 32-bit" : "",
                   OWN_MACHINE == EM_X86_64 ? "x86-64" : "Arm, 64-bit");
        return BL_CLI_CANNOT_RUN;
    }
    if (elf->is_static)
        bl_cli_say("%s is linked statically: it can't load libcuda.so.1, so it finds no CUDA device; programs that it starts can",
                   path);
    if (mode & (S_ISUID | S_ISGID))
        bl_cli_say("%s changes its user or group when it starts: the system then ignores LD_LIBRARY_PATH and LD_AUDIT", path);
    return BL_CLI_OK;
}

static int check_program(const char *path)
{
    struct bl_host_elf elf;
    struct stat info;
    int status = BL_CLI_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return BL_CLI_OK; /* may be executable without being readable; exec says what is wrong */
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 20) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        struct bl_sv bytes = {map, (size_t)info.st_size};
        if (map != MAP_FAILED) {
            if (bl_host_elf_read_head(bytes, &elf, NULL) == BL_OK)
                status = check_elf(path, &elf, info.st_mode);
            munmap(map, (size_t)info.st_size);
        }
    }
    close(file);
    return status;
}

static int run_program(int argc, char **argv)
{
    struct run_options options = {0};
    bool found = false;
    int at;
    int status = read_options(argc, argv, &options, &at);
    if (status)
        return status;
    char *path = find_program(argv[at], &found);
    if (!path) {
        if (found)
            bl_cli_say("%s: permission denied", argv[at]);
        else if (*argv[at] && access(argv[at], X_OK) == 0)
            bl_cli_say("%s: not found in PATH; did you mean ./%s?", argv[at], argv[at]);
        else
            bl_cli_say("%s: not found in PATH", argv[at]);
        return found ? BL_CLI_CANNOT_RUN : BL_CLI_NOT_FOUND;
    }
    status = check_program(path);
    if (status == BL_CLI_OK)
        status = prepare(&options);
    if (status == BL_CLI_OK) {
        execvp(path, argv + at);
        int why = errno;
        status = why == ENOENT && !found && strchr(argv[at], '/') ? BL_CLI_NOT_FOUND : BL_CLI_CANNOT_RUN;
        bl_cli_say("%s: %s%s", path, strerror(why), why == ENOENT && found ? " (its loader or interpreter)" : "");
    }
    bl_free(path);
    return status;
}

const struct bl_cli_command bl_cli_run = {
    .name = "run",
    .summary = "runs an unmodified CUDA program",
    .help = "Usage: bailey run [--device cpu] [--log LEVEL] [--trace] [--] PROGRAM [ARGUMENT…]\n"
            "\n"
            "Runs a program that was built for CUDA, as it is: it finds a CUDA device and works. Scripts and the programs that\n"
            "they start are served too.\n"
            "\n"
            "  --device cpu    the device to use\n"
            "  --log LEVEL     off, error, warn, info or debug\n"
            "  --trace         write each CUDA driver call to standard error\n"
            "\n"
            "Exit status: the program's own; 127 not found, 126 found but not executable, 2 wrong usage.\n"
            "Without this command: LD_LIBRARY_PATH=PREFIX/lib/bailey PROGRAM, which an RPATH in the program can beat.\n",
    .run = run_program,
};
