/* bailey nvcc: hands over to the compiler driver, which is a program of its own so that build systems can call it as nvcc. */
#include "cli/cli.h"

#include <errno.h>
#include <unistd.h>

static int run_nvcc(int argc, char **argv)
{
    char *path = bl_cli_path("libexec/bailey/nvcc");
    if (!path)
        return BL_CLI_FAILED;
    argv[0] = path;
    execv(path, argv);
    int why = errno;
    if (why == ENOENT)
        bl_cli_say("this build has no CUDA compiler: %s is missing", path);
    else
        bl_cli_say("%s: %s", path, strerror(why));
    bl_free(path);
    return why == ENOENT ? BL_CLI_NOT_FOUND : BL_CLI_CANNOT_RUN;
}

const struct bl_cli_command bl_cli_nvcc = {
    .name = "nvcc",
    .summary = "compiles CUDA C++; takes nvcc's options",
    .help = "Usage: bailey nvcc [OPTION…] FILE…\n"
            "\n"
            "Compiles and links CUDA C++ with clang, Bailey's own headers and no NVIDIA software. Takes nvcc's options:\n"
            "bailey nvcc --help lists them, and what can't be compiled yet.\n"
            "The result runs with bailey run, and by itself as long as Bailey stays where it is (RUNPATH).\n",
    .run = run_nvcc,
};
