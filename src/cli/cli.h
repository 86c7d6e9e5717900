/* What the commands of bailey share. For this folder only. */
#ifndef BAILEY_CLI_CLI_H
#define BAILEY_CLI_CLI_H

#include "base/base.h"

/* Exit statuses, as shells and coreutils give them. */
enum {
    BL_CLI_OK = 0,
    BL_CLI_FAILED = 1,
    BL_CLI_USAGE = 2,
    BL_CLI_CANNOT_RUN = 126, /* found, but it can't be run */
    BL_CLI_NOT_FOUND = 127,
};

struct bl_cli_command {
    const char *name, *summary;
    const char *help;                  /* the whole text of `bailey help NAME` */
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};
extern const struct bl_cli_command bl_cli_run, bl_cli_inspect, bl_cli_doctor, bl_cli_nvcc, bl_cli_cc, bl_cli_top, bl_cli_help,
    bl_cli_version;
/* In the order of the help; NULL ends it. */
extern const struct bl_cli_command *const bl_cli_commands[];

/* "bailey: …" on standard error. */
void bl_cli_say(const char *format, ...) BL_PRINTF(1, 2);
/* As bl_cli_say, and where help is; returns BL_CLI_USAGE. */
int bl_cli_usage(const char *command, const char *format, ...) BL_PRINTF(2, 3);

/* The path of a file of the tree that this program stands in (PREFIX/bin/bailey): part "lib/bailey" gives PREFIX/lib/bailey. On the
 * heap (bl_free); NULL, with a message, where it can't be told. */
char *bl_cli_path(const char *part);

/* If argv[*at] is the option --name: its value (from --name=VALUE, or the next argument, and *at moves on), else NULL. A missing
 * value gives "". */
const char *bl_cli_option(int argc, char **argv, int *at, const char *name);
/* The bytes of the well-formed UTF-8 character at text (the Unicode standard, table 3-7); 0 where there is none. */
size_t bl_cli_utf8_length(const unsigned char *text, size_t size);
/* The nearest command or NULL. */
const char *bl_cli_nearest(const char *word);

/* ---- JSON -------------------------------------------------------------------------------- */

/* Writes JSON into out: commas and indentation are its own. name NULL inside of arrays. */
struct bl_json {
    struct bl_buffer out;
    uint32_t depth;
    bool filled[32]; /* by depth: something stands there */
};
void bl_json_open(struct bl_json *json, const char *name, char bracket);
void bl_json_close(struct bl_json *json, char bracket);
void bl_json_text(struct bl_json *json, const char *name, struct bl_sv text);
void bl_json_number(struct bl_json *json, const char *name, uint64_t number);
void bl_json_bool(struct bl_json *json, const char *name, bool value);
/* Prints and frees; false where memory or the output ran out. */
bool bl_json_print(struct bl_json *json);

#endif
