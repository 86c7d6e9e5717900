/* bailey: picks the command, and what all commands share. */
#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

const struct bl_cli_command *const bl_cli_commands[] = {&bl_cli_run, &bl_cli_inspect, &bl_cli_doctor,  &bl_cli_nvcc, &bl_cli_cc,
                                                        &bl_cli_top, &bl_cli_help,    &bl_cli_version, NULL};

void bl_cli_say(const char *format, ...)
{
    va_list args;
    fputs("bailey: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

int bl_cli_usage(const char *command, const char *format, ...)
{
    va_list args;
    fputs("bailey: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nSee: bailey help%s%s\n", command ? " " : "", command ? command : "");
    return BL_CLI_USAGE;
}

char *bl_cli_path(const char *part)
{
    char program[4096];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (size <= 0) {
        bl_cli_say("cannot read /proc/self/exe, by which Bailey finds its own files; is /proc mounted?");
        return NULL;
    }
    program[size] = 0;
    /* PREFIX/bin/bailey */
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(program, '/');
        if (slash)
            *slash = 0;
    }
    struct bl_buffer path = {0};
    bl_buffer_printf(&path, "%s/%s", program, part);
    if (path.failed) {
        bl_cli_say("out of memory");
        return NULL;
    }
    return path.data;
}

const char *bl_cli_option(int argc, char **argv, int *at, const char *name)
{
    const char *word = argv[*at];
    size_t length = strlen(name);
    if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, length) != 0)
        return NULL;
    if (word[2 + length] == '=')
        return word + 3 + length;
    if (word[2 + length])
        return NULL;
    if (*at + 1 >= argc)
        return "";
    return argv[++*at];
}

enum { LONGEST_WORD = 24 };

/* Edits (one letter more, less or other) between two words. */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST_WORD + 1], width = strlen(b);
    if (strlen(a) > LONGEST_WORD || width > LONGEST_WORD)
        return SIZE_MAX;
    for (size_t k = 0; k <= width; k++)
        row[k] = k;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t before = row[0];
        row[0] = i;
        for (size_t k = 1; k <= width; k++) {
            size_t changed = before + (a[i - 1] != b[k - 1]);
            before = row[k];
            row[k] = BL_MIN(changed, BL_MIN(row[k], row[k - 1]) + 1);
        }
    }
    return row[width];
}

const char *bl_cli_nearest(const char *word)
{
    const char *nearest = NULL;
    size_t best = 3; /* more edits than two: another word */
    for (size_t i = 0; bl_cli_commands[i]; i++) {
        size_t edits = distance(word, bl_cli_commands[i]->name);
        if (edits < best && edits < strlen(word)) {
            best = edits;
            nearest = bl_cli_commands[i]->name;
        }
    }
    return nearest;
}

static int unknown(const char *word)
{
    const char *nearest = bl_cli_nearest(word);
    if (word[0] == '-')
        return bl_cli_usage(NULL, "unknown option %s", word);
    if (nearest)
        return bl_cli_usage(NULL, "no command %s; did you mean %s?", word, nearest);
    if (strchr(word, '/') || access(word, X_OK) == 0)
        return bl_cli_usage(NULL, "no command %s; to run a program: bailey run %s", word, word);
    return bl_cli_usage(NULL, "no command %s", word);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) {
        bl_cli_help.run(1, argv);
        return BL_CLI_USAGE;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        word = "help";
    if (!strcmp(word, "--version") || !strcmp(word, "-V"))
        word = "version";
    for (size_t i = 0; bl_cli_commands[i]; i++) {
        const struct bl_cli_command *command = bl_cli_commands[i];
        if (strcmp(command->name, word) != 0)
            continue;
        bool help = argc > 2 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h"));
        if (help && command != &bl_cli_nvcc) /* which has its own */
            fputs(command->help, stdout);
        int status = help && command != &bl_cli_nvcc ? BL_CLI_OK : command->run(argc - 1, argv + 1);
        if (fflush(stdout) != 0 && status == BL_CLI_OK) {
            bl_cli_say("cannot write to standard output");
            status = BL_CLI_FAILED;
        }
        return status;
    }
    return unknown(word);
}
