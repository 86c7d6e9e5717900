/* bailey cc: kernels to code for a GPU ahead of time. Hands each chip's compile to the helper bailey-cc, which alone opens LLVM and
 * may die of it. */
#include "cli/cli.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/amdgpu/compile.h"

extern char **environ;

struct cc {
    const char *file, *output, *kernel, *target;
    char *helper; /* owned */
    bool assembly, all, fast_math;
    const char *level; /* "-O2" */
};

static int list_targets(void)
{
    for (const struct bl_amd_chip *chip = bl_amd_chips; chip->name; chip++)
        printf("%-15s  %s\n", chip->name, chip->hardware);
    return BL_CLI_OK;
}

static int run_helper(const struct cc *c, const char *chip, const char *output)
{
    const char *arguments[16] = {"bailey-cc", c->file, "--target", chip, "-o", output, "--emit", c->assembly ? "asm" : "object",
                                 c->level};
    uint32_t count = 9;
    int failed, status = 0;
    pid_t child;

    if (c->kernel) {
        arguments[count++] = "--kernel";
        arguments[count++] = c->kernel;
    }
    if (c->fast_math)
        arguments[count++] = "--fast-math";
    failed = posix_spawn(&child, c->helper, NULL, NULL, (char *const *)(uintptr_t)arguments, environ);
    if (failed) {
        bl_cli_say("%s: %s", c->helper, strerror(failed));
        return BL_CLI_CANNOT_RUN;
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFSIGNALED(status))
        bl_cli_say("%s: LLVM ended the compiler by signal %d", chip, WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? BL_CLI_OK : BL_CLI_FAILED;
}

/* The output's name: what -o says, else the input's with another ending. With --all the chip stands before the ending. */
static int compile_one(const struct cc *c, const char *chip)
{
    const char *from = c->output ? c->output : c->file, *dot = strrchr(from, '.'), *slash = strrchr(from, '/');
    const char *ending = c->assembly ? "s" : "hsaco";
    struct bl_buffer name = {0};
    int length, status;

    if (!dot || (slash && dot < slash))
        dot = from + strlen(from);
    length = (int)BL_MIN(dot - from, 4096);
    if (c->all)
        bl_buffer_printf(&name, "%.*s.%s.%s", length, from, chip, ending);
    else if (c->output)
        bl_buffer_printf(&name, "%s", c->output);
    else
        bl_buffer_printf(&name, "%.*s.%s", length, from, ending);
    if (name.failed) {
        bl_cli_say("out of memory");
        return BL_CLI_FAILED;
    }
    status = run_helper(c, chip, name.data);
    bl_buffer_cleanup(&name);
    return status;
}

static int parse(struct cc *c, int argc, char **argv)
{
    const char *value;

    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if ((value = bl_cli_option(argc, argv, &at, "target")))
            c->target = value;
        else if ((value = bl_cli_option(argc, argv, &at, "kernel")))
            c->kernel = value;
        else if (!strcmp(word, "-o"))
            c->output = at + 1 < argc ? argv[++at] : "";
        else if (!strcmp(word, "-S"))
            c->assembly = true;
        else if (!strcmp(word, "--all"))
            c->all = true;
        else if (!strcmp(word, "--fast-math"))
            c->fast_math = true;
        else if (word[0] == '-' && word[1] == 'O' && word[2] >= '0' && word[2] <= '3' && !word[3])
            c->level = word;
        else if (word[0] == '-')
            return bl_cli_usage("cc", "unknown option %s", word);
        else if (c->file)
            return bl_cli_usage("cc", "one file at a time: %s and %s", c->file, word);
        else
            c->file = word;
    }
    if (!c->file)
        return bl_cli_usage("cc", "cc wants a file with PTX");
    if (!c->target == !c->all)
        return bl_cli_usage("cc", "cc wants --target CHIP, or --all");
    if ((c->output && !c->output[0]) || (c->kernel && !c->kernel[0]))
        return bl_cli_usage("cc", "-o and --kernel want a name");
    if (c->target && !bl_amd_find_chip(c->target))
        return bl_cli_usage("cc", "no target %s that is known; bailey cc --targets lists them", c->target);
    return BL_CLI_OK;
}

static int run_cc(int argc, char **argv)
{
    struct cc c = {.level = "-O2"};
    int status = BL_CLI_OK;

    if (argc == 2 && !strcmp(argv[1], "--targets"))
        return list_targets();
    if ((status = parse(&c, argc, argv)) != BL_CLI_OK)
        return status;
    if (access(c.file, R_OK) != 0) {
        bl_cli_say("%s: %s", c.file, strerror(errno));
        return BL_CLI_NOT_FOUND;
    }
    if (!(c.helper = bl_cli_path("libexec/bailey/bailey-cc")))
        return BL_CLI_FAILED;
    if (!c.all) {
        status = compile_one(&c, c.target);
    } else {
        for (const struct bl_amd_chip *chip = bl_amd_chips; chip->name; chip++)
            if (compile_one(&c, chip->name) != BL_CLI_OK)
                status = BL_CLI_FAILED;
    }
    bl_free(c.helper);
    return status;
}

const struct bl_cli_command bl_cli_cc = {
    .name = "cc",
    .summary = "compiles PTX to code objects for AMD GPUs",
    .help = "Usage: bailey cc --target CHIP FILE.ptx [-o FILE.hsaco] [OPTION…]\n"
            "       bailey cc --all FILE.ptx [-o NAME]\n"
            "       bailey cc --targets\n"
            "\n"
            "Compiles the kernels of a PTX file ahead of time to a code object that a HIP program loads (hipModuleLoad). Shared "
            "memory,\n"
            "arguments and grids are as the CUDA kernel has them. What can't be compiled is named with its line.\n"
            "\n"
            "  --target CHIP   the chip, as gfx1100; --targets lists those that are known\n"
            "  --all           every chip that is known: writes NAME.CHIP.hsaco for each\n"
            "  --kernel NAME   only this kernel\n"
            "  -o FILE         where to (default: the input's name, ending in .hsaco or .s)\n"
            "  -S              write assembly\n"
            "  -O0 to -O3      how hard to try (-O2)\n"
            "  --fast-math     sin, ex2, rcp and the other approximate functions by the chip's own, and NaNs as they come, not the "
            "bits\n"
            "                  that an NVIDIA GPU gives\n",
    .run = run_cc,
};
