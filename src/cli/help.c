/* bailey help and bailey version. */
#include "cli/cli.h"

#include <stdio.h>

static const char environment_help[] =
    "Environment variables that Bailey reads\n"
    "\n"
    "What runs:\n"
    "  BAILEY_DEVICE=cpu         the device to use (run --device)\n"
    "  BAILEY_CPU_DEVICES=N      show the CPU as N devices, 1 to 64 (default 1): to test programs for several GPUs\n"
    "  BAILEY_THREADS=N          worker threads of the CPU device (default: one for each CPU that the process may use)\n"
    "  BAILEY_COMPUTE=X.Y        the compute capability that the device shows (default 9.0)\n"
    "\n"
    "What is said:\n"
    "  BAILEY_LOG=LEVEL          off, error (default), warn, info or debug (run --log)\n"
    "  BAILEY_LOG_FILE=FILE      write the log there and not to standard error\n"
    "  BAILEY_TRACE=1            write every driver call with its arguments and result to standard error (run --trace);\n"
    "                            any other value but 0 is the file to append to\n"
    "  BAILEY_PERF_MAP=1         write /tmp/perf-PID.map, so that perf names compiled kernels\n"
    "\n"
    "Compiled kernels:\n"
    "  BAILEY_CACHE=0            keep no compiled kernels on disk\n"
    "  BAILEY_CACHE_DIR=DIR      where they are kept (default: $XDG_CACHE_HOME/bailey, else ~/.cache/bailey)\n"
    "  BAILEY_CACHE_SIZE=SIZE    bytes that may be kept, K, M or G may follow (default 1G)\n"
    "  BAILEY_CC=FILE            the compiler helper (default: libexec/bailey/bailey-cc beside this program)\n"
    "  BAILEY_OPTIMIZE=0..3      how hard kernels are optimised (default 2)\n"
    "  BAILEY_FAST_MATH=1        sin, ex2, rcp and the other approximate functions by polynomials within the error that PTX\n"
    "                            documents: faster, but not the bits that an NVIDIA GPU gives\n"
    "  BAILEY_CLANG=FILE         the clang that bailey nvcc calls (default: the newest of clang-22 to clang-19 in PATH)\n"
    "  BAILEY_COMPILE_TIMEOUT=S  seconds after which the helper counts as hung (default 120)\n"
    "\n"
    "For tests of Bailey itself:\n"
    "  BAILEY_CPU=NAME           make code for this processor, as LLVM names it: x86-64-v2 (SSE4.2), x86-64-v3 (AVX2) or\n"
    "                            x86-64-v4 (AVX-512); default: the one at hand\n"
    "  BAILEY_VALIDATE=1         every pass over a kernel is checked\n"
    "  BAILEY_TEST_FAULT=KIND:N  the N-th call of KIND (alloc, read, mmap, spawn) fails\n";

static void print_overview(void)
{
    fputs("bailey " BAILEY_VERSION ": CUDA programs on hardware that is not NVIDIA's\n\n"
          "Usage: bailey COMMAND …\n\n",
          stdout);
    for (size_t i = 0; bl_cli_commands[i]; i++)
        printf("  %-9s %s\n", bl_cli_commands[i]->name, bl_cli_commands[i]->summary);
    fputs("\nMore: bailey help COMMAND, bailey help environment\n", stdout);
}

static int run_help(int argc, char **argv)
{
    if (argc < 2) {
        print_overview();
        return BL_CLI_OK;
    }
    if (argc > 2)
        return bl_cli_usage("help", "help takes one word, got %d", argc - 1);
    if (!strcmp(argv[1], "environment")) {
        fputs(environment_help, stdout);
        return BL_CLI_OK;
    }
    for (size_t i = 0; bl_cli_commands[i]; i++)
        if (!strcmp(argv[1], bl_cli_commands[i]->name)) {
            fputs(bl_cli_commands[i]->help, stdout);
            return BL_CLI_OK;
        }
    const char *nearest = bl_cli_nearest(argv[1]);
    return nearest ? bl_cli_usage(NULL, "no help on %s; did you mean %s?", argv[1], nearest)
                   : bl_cli_usage(NULL, "no help on %s", argv[1]);
}

static int run_version(int argc, char **argv)
{
    if (argc > 1)
        return bl_cli_usage("version", "version takes no arguments");
    puts("bailey " BAILEY_VERSION);
    return BL_CLI_OK;
}

const struct bl_cli_command bl_cli_help = {
    .name = "help",
    .summary = "says how to use a command, or lists the environment variables",
    .help = "Usage: bailey help [COMMAND|environment]\n",
    .run = run_help,
};

const struct bl_cli_command bl_cli_version = {
    .name = "version",
    .summary = "prints the version",
    .help = "Usage: bailey version\n",
    .run = run_version,
};
