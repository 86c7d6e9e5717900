/* Parses many small programs and prints a verdict for each, for cases.py.
 *     check_lines FRAME.ptx <LINES
 * FRAME holds @VERSION@, @TARGET@ and @BODY@. A line of standard input is "VERSION TARGET BODY", a newline in BODY written \n. It
 * gives one line of output: "ok", or "LINE:COLUMN message" with the place counted within BODY. */
#include "ptx/ptx.h"

#include <stdio.h>

static char *replace(struct bl_arena *arena, const char *text, const char *mark, const char *with)
{
    const char *at = strstr(text, mark);
    return at ? bl_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, with, at + strlen(mark))
              : bl_arena_printf(arena, "%s", text);
}

static char *unescape(struct bl_arena *arena, const char *text)
{
    char *copy = bl_arena_printf(arena, "%s", text), *to = copy;
    for (; *text; text++) {
        bool newline = text[0] == '\\' && text[1] == 'n';
        *to++ = newline ? '\n' : *text;
        text += newline;
    }
    *to = 0;
    return copy;
}

static uint32_t lines_before(const char *text, const char *mark)
{
    uint32_t lines = 0;
    for (const char *end = strstr(text, mark); end && text < end; text++)
        lines += *text == '\n';
    return lines;
}

static void verdict(const char *frame, const char *version, const char *target, const char *body)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;
    struct bl_arena arena;
    const char *text, *message;

    bl_arena_init(&arena);
    text = replace(&arena, replace(&arena, frame, "@VERSION@", version), "@TARGET@", target);
    text = replace(&arena, text, "@BODY@", unescape(&arena, body));
    if (bl_ptx_parse(&arena, bl_sv(text), "t", 0, &module, &error) == BL_OK) {
        puts("ok");
    } else {
        message = strstr(error.message, ": ");
        message = message ? message + 2 : error.message;
        /* forms follow on lines of their own, before the quoted source line: keep all on one */
        printf("%d:%u ", (int)error.line - (int)lines_before(frame, "@BODY@"), error.column);
        for (; *message; message++)
            putchar(*message == '\n' ? '~' : *message);
        putchar('\n');
    }
    bl_arena_cleanup(&arena);
}

int main(int argc, char **argv)
{
    struct bl_error error = BL_ERROR_INIT;
    char *frame = NULL, *line = NULL, *version, *target, *body;
    size_t size = 0, capacity = 0;

    if (argc != 2 || bl_file_read(argv[1], &frame, &size, &error) != BL_OK) {
        fprintf(stderr, "usage: check_lines FRAME.ptx <LINES %s\n", error.message);
        return 2;
    }
    while (getline(&line, &capacity, stdin) > 0) {
        line[strcspn(line, "\n")] = 0;
        version = line;
        target = strchr(version, ' ');
        body = target ? strchr(target + 1, ' ') : NULL;
        if (!body) {
            puts("0:0 not a case");
            continue;
        }
        *target++ = 0;
        *body++ = 0;
        verdict(frame, version, target, body);
    }
    free(line);
    bl_free(frame);
    return 0;
}
