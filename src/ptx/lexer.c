/* Text to tokens, and how the parser tells a fault and goes on after one. For the parser. Spaces, comments and lines that start
 * with # separate tokens. Two comments mean something, both written by bl_ptx_slice: "//bl.line N" (the next line has number
 * N) and "//bl.func NAME NUMBER" (a function's number). */
#include "ptx/parser.h"

#include <stdio.h>

enum { OTHER, SPACE, PUNCTUATION, WORD, DIGIT };
static const uint8_t class_of[256] = {
    [' '] = SPACE,        ['\t'] = SPACE,       ['\r'] = SPACE,      ['\f'] = SPACE,      ['\v'] = SPACE,
    ['a' ... 'z'] = WORD, ['A' ... 'Z'] = WORD, ['_'] = WORD,        ['$'] = WORD,        ['0' ... '9'] = DIGIT,
    ['{'] = PUNCTUATION,  ['}'] = PUNCTUATION,  ['['] = PUNCTUATION, [']'] = PUNCTUATION, ['('] = PUNCTUATION,
    [')'] = PUNCTUATION,  [','] = PUNCTUATION,  [';'] = PUNCTUATION, [':'] = PUNCTUATION, ['+'] = PUNCTUATION,
    ['-'] = PUNCTUATION,  ['*'] = PUNCTUATION,  ['/'] = PUNCTUATION, ['%'] = PUNCTUATION, ['<'] = PUNCTUATION,
    ['>'] = PUNCTUATION,  ['='] = PUNCTUATION,  ['!'] = PUNCTUATION, ['&'] = PUNCTUATION, ['|'] = PUNCTUATION,
    ['^'] = PUNCTUATION,  ['~'] = PUNCTUATION,  ['?'] = PUNCTUATION, ['@'] = PUNCTUATION,
};

static inline uint8_t class_at(const char *at)
{
    return class_of[(unsigned char)*at];
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && class_at(at) >= WORD)
        at++;
    return at;
}

/* ---- what stands between tokens ----------------------------------------------------------------- */

static uint32_t number_at(const char **at, const char *end)
{
    uint64_t number = 0;
    while (*at < end && class_at(*at) == DIGIT && number < UINT32_MAX)
        number = number * 10 + (uint64_t)(*(*at)++ - '0');
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

/* The inside of "//bl.…", up to the line's end. */
static void read_note(struct bl_ptx_parser *p, const char *at, const char *end)
{
    struct bl_sv rest = {at, (size_t)(end - at)};
    uint32_t number;

    if (bl_sv_starts(rest, "line ")) {
        at += 5;
        number = number_at(&at, end);
        if (number)
            p->line = number - 1;
    } else if (bl_sv_starts(rest, "func ")) {
        struct bl_sv name = {at + 5, 0};
        for (at += 5; at < end && *at != ' '; at++)
            name.size++;
        at += at < end;
        number = number_at(&at, end);
        if (number && name.size)
            bl_map_set(p->arena, &p->module->numbers, name, (void *)(uintptr_t)number);
    }
}

static void skip_line(struct bl_ptx_parser *p)
{
    const char *stop = memchr(p->at, '\n', (size_t)(p->end - p->at));
    p->at = stop ? stop : p->end;
}

static void skip_line_comment(struct bl_ptx_parser *p)
{
    const char *from = p->at + 2;
    skip_line(p);
    if (p->at - from > 3 && memcmp(from, "bl.", 3) == 0)
        read_note(p, from + 3, p->at);
}

/* False: it does not end. */
static bool skip_block_comment(struct bl_ptx_parser *p)
{
    for (p->at += 2; p->at + 1 < p->end; p->at++) {
        if (*p->at == '*' && p->at[1] == '/') {
            p->at += 2;
            return true;
        }
        if (*p->at == '\n') {
            p->line++;
            p->line_start = p->at + 1;
        }
    }
    p->at = p->end;
    return false;
}

/* False at an unfinished comment. */
static bool skip_space(struct bl_ptx_parser *p)
{
    const char *at = p->at, *end = p->end;
    for (;;) {
        while (at < end && class_at(at) == SPACE)
            at++;
        if (at < end && *at == '\n') {
            p->line++;
            p->line_start = ++at;
            continue;
        }
        p->at = at;
        if (at == end)
            return true;
        if (*at == '/' && at + 1 < end && at[1] == '/')
            skip_line_comment(p);
        else if (*at == '#' && at == p->line_start)
            skip_line(p);
        else if (*at == '/' && at + 1 < end && at[1] == '*') {
            if (!skip_block_comment(p))
                return false;
        } else
            return true;
        at = p->at;
    }
}

/* ---- tokens --------------------------------------------------------------------------------------- */

static const char *skip_dotted(const char *at, const char *end)
{
    at = skip_word(at, end);
    while (end - at > 2 && at[0] == ':' && at[1] == ':' && class_at(at + 2) >= WORD)
        at = skip_word(at + 2, end);
    return at;
}

/* Digits, letters; in decimals also a point, and a sign after e. */
static const char *skip_number(const char *at, const char *end)
{
    bool special = end - at > 1 && at[0] == '0' && memchr("xXbBfFdD", at[1], 8);
    if (special)
        return skip_word(at, end);
    while (at < end && class_at(at) == DIGIT)
        at++;
    if (at < end && *at == '.')
        for (at++; at < end && class_at(at) == DIGIT;)
            at++;
    if (end - at > 1 && (*at == 'e' || *at == 'E') && (class_at(at + 1) == DIGIT || at[1] == '+' || at[1] == '-'))
        at += 2;
    return skip_word(at, end);
}

static int two_characters(const char *at)
{
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {
        {"<<", BL_PTX_T_SHL}, {">>", BL_PTX_T_SHR}, {"<=", BL_PTX_T_LE},  {">=", BL_PTX_T_GE},
        {"==", BL_PTX_T_EQ},  {"!=", BL_PTX_T_NE},  {"&&", BL_PTX_T_AND}, {"||", BL_PTX_T_OR},
    };
    for (size_t n = 0; n < BL_LEN(pairs); n++)
        if (at[0] == pairs[n].text[0] && at[1] == pairs[n].text[1])
            return pairs[n].kind;
    return 0;
}

static const char *scan_string(struct bl_ptx_token *token, const char *at, const char *end)
{
    const char *from = ++at;
    while (at < end && *at != '"' && *at != '\n')
        at += *at == '\\' && at + 1 < end && at[1] != '\n' ? 2 : 1;
    token->kind = at < end && *at == '"' ? BL_PTX_T_STRING : BL_PTX_T_BAD;
    token->text = (struct bl_sv){from, (size_t)(at - from)};
    return at + (token->kind == BL_PTX_T_STRING);
}

static const char *scan_other(struct bl_ptx_token *token, const char *at, const char *end)
{
    bool known = class_at(at) == PUNCTUATION;

    if (*at == '"')
        return scan_string(token, at, end);
    token->kind = known && end - at > 1 && class_at(at + 1) == PUNCTUATION ? two_characters(at) : 0;
    token->text = (struct bl_sv){at, token->kind ? 2 : 1};
    if (!token->kind)
        token->kind = known ? *at : BL_PTX_T_BAD;
    return at + token->text.size;
}

static void scan(struct bl_ptx_parser *p)
{
    struct bl_ptx_token *token = &p->token;
    bool finished = skip_space(p);
    const char *at = p->at, *end = p->end;

    token->start = at;
    token->loc = (struct bl_ptx_loc){p->line, (uint32_t)(at - p->line_start) + 1};
    token->text = (struct bl_sv){at, 0};
    if (at == end) {
        token->kind = finished ? BL_PTX_T_END : BL_PTX_T_BAD;
    } else if (class_at(at) == WORD || (*at == '%' && end - at > 1 && class_at(at + 1) >= WORD)) {
        at = skip_word(at + 1, end);
        token->kind = BL_PTX_T_WORD;
    } else if (*at == '.' && end - at > 1 && class_at(at + 1) >= WORD) {
        at = skip_dotted(at + 1, end);
        token->kind = BL_PTX_T_DOT;
        token->text.data++;
    } else if (class_at(at) == DIGIT) {
        at = skip_number(at, end);
        token->kind = BL_PTX_T_NUMBER;
    } else {
        p->at = scan_other(token, at, end);
        return;
    }
    token->text.size = (size_t)(at - token->text.data);
    p->at = at;
}

void bl_ptx_rescan_decimal(struct bl_ptx_parser *p)
{
    p->token.kind = BL_PTX_T_NUMBER;
    p->at = skip_number(p->token.start, p->end);
    p->token.text = (struct bl_sv){p->token.start, (size_t)(p->at - p->token.start)};
}

void bl_ptx_start(struct bl_ptx_parser *p, const char *at, struct bl_ptx_loc loc)
{
    p->at = at;
    p->line = loc.line;
    p->line_start = at - (loc.column - 1);
    scan(p);
}

void bl_ptx_next_unnoted(struct bl_ptx_parser *p)
{
    if (!p->panic)
        scan(p);
}

void bl_ptx_next(struct bl_ptx_parser *p)
{
    if (p->panic)
        return;
    if (p->mentions && p->token.kind == BL_PTX_T_WORD)
        bl_ptx_mention(p, p->token.text);
    scan(p);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

void bl_ptx_wrong(struct bl_ptx_parser *p, struct bl_ptx_loc loc, enum bl_status status, const char *format, ...)
{
    char message[1000];
    va_list args;

    if (p->panic)
        return;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    bl_ptx_fail(p->module, loc, p->error, status, "%s", message);
    if (p->faults++ == 0)
        p->status = status;
    p->panic = true;
    p->token.kind = BL_PTX_T_STOP;
}

void bl_ptx_expected(struct bl_ptx_parser *p, const char *what)
{
    struct bl_ptx_token *token = &p->token;
    int size = (int)BL_MIN((size_t)(p->at - token->start), (size_t)60);

    if (token->kind == BL_PTX_T_END)
        bl_ptx_wrong(p, token->loc, BL_SYNTAX, "expected %s, found the end of the text", what);
    else if (token->kind == BL_PTX_T_BAD && token->start == p->end)
        bl_ptx_wrong(p, token->loc, BL_SYNTAX, "expected %s, found a comment without an end", what);
    else if (token->kind == BL_PTX_T_BAD && token->start[0] == '"')
        bl_ptx_wrong(p, token->loc, BL_SYNTAX, "expected %s, found a string without an end", what);
    else if (token->kind == BL_PTX_T_BAD)
        bl_ptx_wrong(p, token->loc, BL_SYNTAX, "expected %s, found character 0x%02x", what, (unsigned char)token->start[0]);
    else
        bl_ptx_wrong(p, token->loc, BL_SYNTAX, "expected %s, found '%.*s'", what, size, token->start);
}

bool bl_ptx_recover(struct bl_ptx_parser *p)
{
    bool noting = p->mentions;

    if (p->faults >= BL_PTX_FAULT_LIMIT)
        return false;
    p->panic = p->mentions = false;
    bl_ptx_start(p, p->token.start, p->token.loc);
    while (!bl_ptx_is(p, ';') && !bl_ptx_is(p, '}') && !bl_ptx_is(p, '{') && !bl_ptx_is(p, BL_PTX_T_END))
        scan(p);
    if (bl_ptx_is(p, ';'))
        scan(p);
    p->mentions = noting;
    return !bl_ptx_is(p, BL_PTX_T_END);
}

struct bl_sv bl_ptx_expect_name(struct bl_ptx_parser *p, const char *what)
{
    struct bl_sv name = p->token.text;
    if (!bl_ptx_is(p, BL_PTX_T_WORD)) {
        bl_ptx_expected(p, what);
        return (struct bl_sv){"", 0};
    }
    bl_ptx_next(p);
    return name;
}

enum bl_ptx_directive bl_ptx_directive(const struct bl_ptx_parser *p)
{
    const struct bl_ptx_word *word = bl_ptx_is(p, BL_PTX_T_DOT) ? bl_ptx_word(p->token.text) : NULL;
    return word ? (enum bl_ptx_directive)word->directive : BL_PTX_DIRECTIVE_NONE;
}
