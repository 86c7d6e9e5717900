/* Reads the text form that print.c writes; docs/kir.md has the grammar. For tests, and for whoever keeps kir in files. What it
 * gives has the shape of kir and not yet its rules: call bl_kir_validate. Names refer forward freely: functions and symbols are
 * looked up when the module has been read, values and blocks when their function has. */
#include "kir/text.h"

#include <stdio.h>

enum token_kind { END, NEWLINE, WORD, NAME, STRING, NUMBER, MARK };

struct token {
    enum token_kind kind;
    struct bl_sv text;      /* of a word, mark, or name after its sigil; a string without quotes, escapes undone */
    char sigil;             /* of a name: % value, @ block, $ variable */
    bool negative, hex;     /* of a number */
    uint64_t number, upper; /* its magnitude; upper is for 128 bits */
    uint32_t line, column;
};

/* What a name stands for in a function; made at its first mention. */
struct name {
    struct name *next;
    void *thing; /* bl_kir_value, bl_kir_block or bl_kir_var */
    bool defined;
    uint32_t id; /* as written; UINT32_MAX: none */
    struct token first;
};

/* A mention of a function or symbol, to be looked up. */
struct mention {
    struct mention *next;
    struct bl_kir_func **func; /* where the answer goes: one of the two */
    struct bl_kir_symbol **symbol;
    struct bl_sv name;
    uint32_t index; /* name#index: which of several of one name; UINT32_MAX: the first */
    struct token token;
};

struct labels { /* a phi whose operands name their edges */
    struct labels *next;
    struct bl_kir_instr *phi;
    struct bl_kir_block **blocks;
    struct token token;
};

struct pending { /* a reloc on its way to its symbol */
    struct pending *next;
    struct bl_kir_symbol *symbol;
    struct bl_kir_reloc reloc;
};

struct parser {
    struct bl_arena *arena;
    struct bl_error *error;
    struct bl_kir_module *module;
    const char *at, *end, *line_start;
    uint32_t line;
    struct token token;
    struct bl_map ops, words;
    struct mention *mentions;
    struct pending *pending, *last_pending;
    /* of the function being read */
    struct bl_kir_func *func;
    struct bl_map values, blocks, vars;
    struct name *names;
    struct labels *labels;
    jmp_buf failed;
};

enum { ID_LIMIT = 1 << 24, WORD_MARK = 1 << 16 };

/* ---- errors and tokens -------------------------------------------------------------------- */

static void fail_at(struct parser *p, const struct token *token, const char *format, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

static void fail_at(struct parser *p, const struct token *token, const char *format, ...)
{
    char message[512];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    if (p->error && p->error->status == BL_OK) {
        p->error->line = token->line;
        p->error->column = token->column;
    }
    bl_fail(p->error, BL_SYNTAX, "kir: %u:%u: %s", token->line, token->column, message);
    longjmp(p->failed, 2);
}

static void expected(struct parser *p, const char *what) __attribute__((noreturn));

static void expected(struct parser *p, const char *what)
{
    const struct token *t = &p->token;
    if (t->kind == END)
        fail_at(p, t, "expected %s, found the end of the text", what);
    if (t->kind == NEWLINE)
        fail_at(p, t, "expected %s, found the end of the line", what);
    fail_at(p, t, "expected %s, found '%.*s'", what, (int)BL_MIN(t->text.size, (size_t)60), t->text.data);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$';
}

static int hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char read_escape(struct parser *p)
{
    int high, low;

    if (p->at < p->end && (*p->at == '"' || *p->at == '\\'))
        return *p->at++;
    if (p->end - p->at < 3 || *p->at != 'x' || (high = hex_digit(p->at[1])) < 0 || (low = hex_digit(p->at[2])) < 0 ||
        (high == 0 && low == 0))
        fail_at(p, &p->token, "an escape must be \\\", \\\\ or \\x and two hexadecimal digits that are not 00");
    p->at += 3;
    return (char)(high * 16 + low);
}

static void read_string(struct parser *p)
{
    char *copy;
    size_t size = 0;
    const char *close = ++p->at;

    while (close < p->end && *close != '"' && *close != '\n')
        close += *close == '\\' && p->end - close > 1 ? 2 : 1;
    if (close >= p->end || *close != '"')
        fail_at(p, &p->token, "a string without its closing quote");
    copy = bl_arena_alloc(p->arena, (size_t)(close - p->at) + 1);
    while (p->at < close) {
        char c = *p->at++;
        if (c == 0)
            fail_at(p, &p->token, "a zero byte in a string");
        copy[size++] = c == '\\' ? read_escape(p) : c;
    }
    p->at = close + 1;
    p->token.text = (struct bl_sv){copy, size};
}

static void read_number(struct parser *p)
{
    unsigned __int128 value = 0, limit = ~(unsigned __int128)0;
    unsigned base = 10;
    int digit;

    if (*p->at == '-') {
        p->token.negative = true;
        p->at++;
    }
    if (p->end - p->at > 2 && p->at[0] == '0' && p->at[1] == 'x') {
        base = 16;
        p->token.hex = true;
        p->at += 2;
    }
    if (p->at >= p->end || hex_digit(*p->at) < 0 || hex_digit(*p->at) >= (int)base)
        fail_at(p, &p->token, "a number without digits");
    for (; p->at < p->end && (digit = hex_digit(*p->at)) >= 0 && digit < (int)base; p->at++) {
        if (value > (limit - (unsigned)digit) / base)
            fail_at(p, &p->token, "a number of more than 128 bits");
        value = value * base + (unsigned)digit;
    }
    if (p->at < p->end && is_name(*p->at))
        fail_at(p, &p->token, "a letter in a number");
    p->token.number = (uint64_t)value;
    p->token.upper = (uint64_t)(value >> 64);
}

static void skip_blanks(struct parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
    if (p->at < p->end && *p->at == ';')
        while (p->at < p->end && *p->at != '\n')
            p->at++;
}

static void read_word(struct parser *p)
{
    const char *start = p->at;
    while (p->at < p->end && (is_name(*p->at) || *p->at == '.'))
        p->at++;
    p->token.text = (struct bl_sv){start, (size_t)(p->at - start)};
}

/* The next token into p->token. */
static void advance(struct parser *p)
{
    const char *start;

    skip_blanks(p);
    start = p->at;
    p->token = (struct token){.line = p->line, .column = (uint32_t)(p->at - p->line_start) + 1};
    if (p->at == p->end)
        return;
    if (*p->at == '\n') {
        p->token.kind = NEWLINE;
        p->line_start = ++p->at;
        p->line++;
        return;
    }
    if (*p->at == '"') {
        p->token.kind = STRING;
        read_string(p);
        return;
    }
    if (is_digit(*p->at) || (*p->at == '-' && p->end - p->at > 1 && is_digit(p->at[1]))) {
        p->token.kind = NUMBER;
        read_number(p);
    } else if ((*p->at == '%' || *p->at == '@' || *p->at == '$') && p->end - p->at > 1 && is_name(p->at[1])) {
        p->token.kind = NAME;
        p->token.sigil = *p->at++;
        read_word(p);
        return;
    } else if (is_name(*p->at)) {
        p->token.kind = WORD;
        read_word(p);
        return;
    } else {
        p->token.kind = MARK;
        p->at += p->end - p->at > 1 && p->at[0] == '-' && p->at[1] == '>' ? 2 : 1;
    }
    p->token.text = (struct bl_sv){start, (size_t)(p->at - start)};
}

static bool is_mark(const struct parser *p, const char *mark)
{
    return p->token.kind == MARK && bl_sv_is(p->token.text, mark);
}

static bool is_word(const struct parser *p, const char *word)
{
    return p->token.kind == WORD && bl_sv_is(p->token.text, word);
}

static bool take_mark(struct parser *p, const char *mark)
{
    if (!is_mark(p, mark))
        return false;
    advance(p);
    return true;
}

static bool take_word(struct parser *p, const char *word)
{
    if (!is_word(p, word))
        return false;
    advance(p);
    return true;
}

static void need_mark(struct parser *p, const char *mark)
{
    char what[16];
    snprintf(what, sizeof(what), "'%s'", mark);
    if (!take_mark(p, mark))
        expected(p, what);
}

static void need_word(struct parser *p, const char *word)
{
    char what[32];
    snprintf(what, sizeof(what), "'%s'", word);
    if (!take_word(p, word))
        expected(p, what);
}

static uint64_t need_number(struct parser *p, uint64_t most)
{
    uint64_t number = p->token.number;
    if (p->token.kind != NUMBER)
        expected(p, "a number");
    if (p->token.negative || p->token.upper || number > most)
        fail_at(p, &p->token, "expected a number from 0 to %llu", (unsigned long long)most);
    advance(p);
    return number;
}

/* A module-level name, plain or quoted. */
static struct bl_sv need_name(struct parser *p, const char *what)
{
    struct bl_sv name = p->token.text;
    bool dollar = p->token.kind == NAME && p->token.sigil == '$';
    if (p->token.kind != WORD && p->token.kind != STRING && !dollar)
        expected(p, what);
    if (dollar) /* a name may start so, too */
        name = (struct bl_sv){name.data - 1, name.size + 1};
    advance(p);
    return name;
}

static void need_line_end(struct parser *p)
{
    if (p->token.kind != NEWLINE && p->token.kind != END)
        expected(p, "the end of the line");
    while (p->token.kind == NEWLINE)
        advance(p);
}

/* ---- types, names, mentions ------------------------------------------------------------------ */

static enum bl_kir_type need_type(struct parser *p)
{
    for (enum bl_kir_type type = 0; type < BL_KIR_TYPE_COUNT; type++)
        if (take_word(p, bl_kir_type_name(type)))
            return type;
    expected(p, "a type");
}

static void need_types(struct parser *p, uint32_t *count, enum bl_kir_type **types)
{
    BL_ARRAY(enum bl_kir_type) list = {0};

    need_mark(p, "(");
    while (!is_mark(p, ")")) {
        if (list.count)
            need_mark(p, ",");
        *BL_PUSH(p->arena, &list) = need_type(p);
    }
    advance(p);
    *count = list.count;
    *types = list.items;
}

static struct name *find_name(struct parser *p, struct bl_map *map, char sigil, const char *what)
{
    struct bl_sv text = p->token.text;
    const char *dot = p->token.kind == NAME ? memchr(text.data, '.', text.size) : NULL;
    struct bl_sv key = dot ? (struct bl_sv){dot + 1, text.size - (size_t)(dot + 1 - text.data)} : text;
    struct name *name;
    uint64_t id = 0;
    size_t digits = 0;

    if (p->token.kind != NAME || p->token.sigil != sigil)
        expected(p, what);
    for (; digits < key.size && is_digit(key.data[digits]) && id < ID_LIMIT; digits++)
        id = id * 10 + (uint64_t)(key.data[digits] - '0');
    if (digits < key.size && (dot || digits > 0))
        fail_at(p, &p->token, "expected %s: %cname, %cnumber or %cname.number with a number below %u", what, sigil, sigil, sigil,
                ID_LIMIT);
    if (key.size == 0 || (digits > 1 && key.data[0] == '0') || id >= ID_LIMIT)
        fail_at(p, &p->token, "a number must be below %u, without leading zeros", ID_LIMIT);
    name = bl_map_get(map, key);
    if (!name) {
        name = BL_NEW(p->arena, struct name);
        name->id = digits ? (uint32_t)id : UINT32_MAX;
        name->first = p->token;
        name->next = p->names;
        p->names = name;
        bl_map_set(p->arena, map, key, name);
    }
    return name;
}

/* The part of the token before its number, or NULL. */
static const char *token_name(struct parser *p)
{
    struct bl_sv text = p->token.text;
    const char *dot = memchr(text.data, '.', text.size);
    if (dot)
        text.size = (size_t)(dot - text.data);
    return is_digit(text.data[0]) || text.size == 0 ? NULL : bl_sv_copy(p->arena, text);
}

static struct bl_kir_value *need_value(struct parser *p)
{
    struct name *name = find_name(p, &p->values, '%', "a value");
    if (!name->thing)
        name->thing = BL_NEW(p->arena, struct bl_kir_value);
    advance(p);
    return name->thing;
}

/* %name.id:type at the place that makes it. */
static struct bl_kir_value *define_value(struct parser *p)
{
    struct name *name = find_name(p, &p->values, '%', "a value");
    struct bl_kir_value *value;

    if (name->defined)
        fail_at(p, &p->token, "value %%%.*s is defined twice", BL_SV(p->token.text));
    if (!name->thing)
        name->thing = BL_NEW(p->arena, struct bl_kir_value);
    name->defined = true;
    value = name->thing;
    value->name = token_name(p);
    value->id = name->id;
    if (name->id != UINT32_MAX)
        p->func->value_count = BL_MAX(p->func->value_count, name->id + 1);
    advance(p);
    need_mark(p, ":");
    value->type = need_type(p);
    return value;
}

static struct bl_kir_block *need_block(struct parser *p)
{
    struct name *name = find_name(p, &p->blocks, '@', "a block");
    if (!name->thing)
        name->thing = BL_NEW(p->arena, struct bl_kir_block);
    advance(p);
    return name->thing;
}

static struct bl_kir_var *need_var(struct parser *p)
{
    struct name *name = find_name(p, &p->vars, '$', "a variable");
    if (!name->defined)
        fail_at(p, &p->token, "variable $%.*s is not declared", BL_SV(p->token.text));
    advance(p);
    return name->thing;
}

/* name or name#index; the answer goes to *func or *symbol at the end of the module. */
static void need_mention(struct parser *p, struct bl_kir_func **func, struct bl_kir_symbol **symbol)
{
    struct mention *mention = BL_NEW(p->arena, struct mention);
    mention->token = p->token;
    mention->name = need_name(p, func ? "the name of a function" : "the name of a symbol");
    mention->func = func;
    mention->symbol = symbol;
    mention->index = take_mark(p, "#") ? (uint32_t)need_number(p, UINT32_MAX - 1) : UINT32_MAX;
    mention->next = p->mentions;
    p->mentions = mention;
}

static void resolve_mentions(struct parser *p)
{
    for (struct mention *m = p->mentions; m; m = m->next) {
        struct bl_kir_module *module = p->module;
        if (m->func && m->index == UINT32_MAX)
            *m->func = bl_map_get(&module->func_names, m->name);
        else if (m->func)
            *m->func = m->index < module->funcs.count ? module->funcs.items[m->index] : NULL;
        else if (m->index == UINT32_MAX)
            *m->symbol = bl_map_get(&module->symbol_names, m->name);
        else
            *m->symbol = m->index < module->symbols.count ? module->symbols.items[m->index] : NULL;
        if (m->func ? !*m->func || !bl_sv_is(m->name, (*m->func)->name) : !*m->symbol || !bl_sv_is(m->name, (*m->symbol)->name))
            fail_at(p, &m->token, "no %s of this module has the name '%.*s'", m->func ? "function" : "symbol", BL_SV(m->name));
    }
}

/* ---- instructions ------------------------------------------------------------------------------ */

static void set_word(struct parser *p, const struct token *token, struct bl_kir_attr *attr, struct bl_sv word)
{
    uintptr_t found = (uintptr_t)bl_map_get(&p->words, word);
    uint32_t vec = 0;

    if (found) {
        const struct bl_kir_field *field = &bl_kir_fields[(found & ~(uintptr_t)WORD_MARK) >> 8];
        ((uint8_t *)attr)[field->offset] = (uint8_t)(found & 0xff);
        return;
    }
    if (word.size > 1 && word.size <= 4 && word.data[0] == 'v')
        for (size_t i = 1; i < word.size && vec < 256; i++)
            vec = is_digit(word.data[i]) ? vec * 10 + (uint32_t)(word.data[i] - '0') : 256;
    if (word.size < 2 || word.data[0] != 'v' || word.size > 4 || vec > 255)
        fail_at(p, token, "no attribute is called '.%.*s'", BL_SV(word));
    attr->vec = (uint8_t)vec;
}

/* op.word.word ... */
static enum bl_kir_op need_op(struct parser *p, struct bl_kir_attr *attr)
{
    struct bl_sv text = p->token.text, part = text;
    const char *dot = p->token.kind == WORD ? memchr(text.data, '.', text.size) : NULL;
    uintptr_t op;

    if (p->token.kind != WORD)
        expected(p, "an operation");
    if (dot)
        part.size = (size_t)(dot - text.data);
    op = (uintptr_t)bl_map_get(&p->ops, part);
    if (!op)
        fail_at(p, &p->token, "no operation is called '%.*s'", BL_SV(part));
    attr->vec = bl_kir_op_has_vec((enum bl_kir_op)(op - 1));
    while (dot) {
        const char *word = dot + 1, *end = text.data + text.size;
        dot = memchr(word, '.', (size_t)(end - word));
        set_word(p, &p->token, attr, (struct bl_sv){word, (size_t)((dot ? dot : end) - word)});
    }
    advance(p);
    return (enum bl_kir_op)(op - 1);
}

static void read_const(struct parser *p, struct bl_kir_attr *attr, enum bl_kir_type type)
{
    uint32_t bits = bl_kir_type_bits(type);

    if (is_word(p, "true") || is_word(p, "false")) {
        attr->imm = is_word(p, "true");
        advance(p);
        return;
    }
    if (p->token.kind != NUMBER)
        expected(p, "a number");
    attr->imm = p->token.number;
    attr->imm_hi = p->token.upper;
    if (!p->token.hex && bits && bits < 64 && p->token.number >> (p->token.negative ? bits - 1 : bits) &&
        !(p->token.negative && p->token.number == (uint64_t)1 << (bits - 1)))
        fail_at(p, &p->token, "the number does not fit %s", bl_kir_type_name(type));
    if (p->token.negative) {
        if (p->token.upper)
            fail_at(p, &p->token, "the number does not fit %s", bl_kir_type_name(type));
        attr->imm = 0 - attr->imm;
        if (bits < 64)
            attr->imm &= ((uint64_t)1 << bits) - 1;
        attr->imm_hi = bits == 128 && attr->imm ? UINT64_MAX : 0;
    }
    advance(p);
}

/* "+ 8", "- 8" or nothing. */
static uint64_t read_offset(struct parser *p)
{
    if (take_mark(p, "+"))
        return need_number(p, UINT64_MAX);
    if (take_mark(p, "-"))
        return 0 - need_number(p, UINT64_MAX);
    return 0;
}

static void read_sreg(struct parser *p, struct bl_kir_attr *attr)
{
    for (uint32_t s = 0; s < BL_KIR_SREG_COUNT; s++)
        if (take_word(p, bl_kir_sreg_name((enum bl_kir_sreg)s))) {
            attr->sreg = (uint8_t)s;
            return;
        }
    expected(p, "a special register");
}

/* What stands before the operands. True where operands follow after a comma. attr is the instruction's own. */
static bool read_head(struct parser *p, enum bl_kir_op op, struct bl_kir_attr *attr, enum bl_kir_type type)
{
    switch (op) {
    case BL_KIR_OP_const:
        read_const(p, attr, type);
        return false;
    case BL_KIR_OP_frame:
    case BL_KIR_OP_param:
        attr->imm = need_number(p, UINT64_MAX);
        return false;
    case BL_KIR_OP_addrof:
        need_mention(p, NULL, &attr->symbol);
        attr->imm = read_offset(p);
        return false;
    case BL_KIR_OP_funcaddr:
    case BL_KIR_OP_call:
        need_mention(p, &attr->func, NULL);
        return op == BL_KIR_OP_call;
    case BL_KIR_OP_sreg:
        read_sreg(p, attr);
        return false;
    case BL_KIR_OP_getvar:
    case BL_KIR_OP_setvar:
        attr->var = need_var(p);
        return op == BL_KIR_OP_setvar;
    case BL_KIR_OP_unsupported:
        if (p->token.kind != STRING)
            expected(p, "a string");
        attr->text = bl_sv_copy(p->arena, p->token.text);
        advance(p);
        return true;
    default:
        return false;
    }
}

struct operands {
    BL_ARRAY(struct bl_kir_value *) values;
    BL_ARRAY(struct bl_kir_block *) targets; /* of a phi: its labels */
};

static bool starts_operand(const struct parser *p)
{
    return p->token.kind == NAME || is_mark(p, "[");
}

static void read_operands(struct parser *p, enum bl_kir_op op, struct bl_kir_attr *attr, struct operands *operands, bool comma)
{
    while (comma ? is_mark(p, ",") : starts_operand(p)) {
        if (comma)
            advance(p);
        comma = true;
        if (p->token.kind == NAME && p->token.sigil == '@') {
            *BL_PUSH(p->arena, &operands->targets) = need_block(p);
            if (op != BL_KIR_OP_phi)
                continue;
        }
        if (take_mark(p, "[")) {
            *BL_PUSH(p->arena, &operands->values) = need_value(p);
            attr->imm = read_offset(p);
            need_mark(p, "]");
        } else {
            *BL_PUSH(p->arena, &operands->values) = need_value(p);
        }
    }
}

static void read_tail(struct parser *p, struct bl_kir_instr *instr)
{
    if (take_word(p, "proto")) {
        struct bl_kir_proto *proto = BL_NEW(p->arena, struct bl_kir_proto);
        if (!is_mark(p, "("))
            proto->name = bl_sv_copy(p->arena, need_name(p, "a name or '('"));
        need_types(p, &proto->param_count, &proto->params);
        need_mark(p, "->");
        need_types(p, &proto->result_count, &proto->results);
        instr->attr->proto = proto;
    }
    if (take_word(p, "imm"))
        instr->attr->imm = need_number(p, UINT64_MAX);
    if (take_word(p, "align"))
        instr->attr->align = (uint32_t)need_number(p, UINT32_MAX);
    if (take_mark(p, "!"))
        instr->line = (uint32_t)need_number(p, UINT32_MAX);
}

static void note_labels(struct parser *p, const struct token *start, struct bl_kir_instr *phi, struct operands *operands)
{
    struct labels *labels;

    if (operands->targets.count == 0)
        return;
    if (operands->targets.count != operands->values.count)
        fail_at(p, start, "a phi names the block of each operand or of none");
    labels = BL_NEW(p->arena, struct labels);
    labels->phi = phi;
    labels->blocks = operands->targets.items;
    labels->token = *start;
    labels->next = p->labels;
    p->labels = labels;
}

static void read_instr(struct parser *p, struct bl_kir_block *block)
{
    struct bl_kir_builder b = {.func = p->func, .block = block};
    BL_ARRAY(struct bl_kir_value *) results = {0};
    struct bl_kir_attr attr = {0};
    struct operands operands = {0};
    struct token start = p->token;
    struct bl_kir_instr *instr;
    enum bl_kir_op op;
    bool comma;

    if (p->token.kind == NAME) {
        do
            *BL_PUSH(p->arena, &results) = define_value(p);
        while (take_mark(p, ","));
        need_mark(p, "=");
    }
    op = need_op(p, &attr);
    instr = bl_kir_emit(&b, op, &attr, 0, NULL, 0, NULL);
    comma = read_head(p, op, instr->attr, results.count ? results.items[0]->type : BL_KIR_VOID);
    read_operands(p, op, instr->attr, &operands, comma);
    instr->operands = operands.values.items;
    instr->operand_count = operands.values.count;
    instr->results = results.items;
    instr->result_count = results.count;
    for (uint32_t i = 0; i < results.count; i++) {
        results.items[i]->def = instr;
        results.items[i]->result = i;
    }
    if (op == BL_KIR_OP_phi) {
        note_labels(p, &start, instr, &operands);
    } else {
        instr->targets = operands.targets.items;
        instr->target_count = operands.targets.count;
    }
    read_tail(p, instr);
    need_line_end(p);
}

/* ---- functions ------------------------------------------------------------------------------------ */

static void read_signature(struct parser *p)
{
    struct bl_kir_func *func = p->func;

    if (!is_mark(p, "("))
        return;
    advance(p);
    while (p->token.kind == NAME) {
        struct bl_kir_value *value = define_value(p);
        value->result = func->params.count;
        *BL_PUSH(p->arena, &func->params) = value;
        if (!take_mark(p, ","))
            break;
    }
    func->proto.param_count = func->params.count;
    func->proto.params = BL_NEW_ARRAY(p->arena, enum bl_kir_type, func->params.count);
    for (uint32_t i = 0; i < func->params.count; i++)
        func->proto.params[i] = func->params.items[i]->type;
    if (func->params.count == 0) {
        BL_ARRAY(enum bl_kir_type) types = {0};
        while (!is_mark(p, ")")) {
            if (types.count)
                need_mark(p, ",");
            *BL_PUSH(p->arena, &types) = need_type(p);
        }
        func->proto.param_count = types.count;
        func->proto.params = types.items;
    }
    need_mark(p, ")");
    need_mark(p, "->");
    need_types(p, &func->proto.result_count, &func->proto.results);
}

static void read_kernel_param(struct parser *p)
{
    struct bl_kir_param *param = BL_PUSH(p->arena, &p->func->kernel_params);

    memset(param, 0, sizeof(*param));
    param->name = bl_sv_copy(p->arena, need_name(p, "the name of a parameter"));
    need_word(p, "offset");
    param->offset = (uint32_t)need_number(p, UINT32_MAX);
    need_word(p, "size");
    param->size = (uint32_t)need_number(p, UINT32_MAX);
    need_word(p, "align");
    param->align = (uint32_t)need_number(p, UINT32_MAX);
}

static void read_var(struct parser *p)
{
    struct name *name = find_name(p, &p->vars, '$', "a variable");
    const char *text = token_name(p);

    if (name->defined)
        fail_at(p, &p->token, "variable $%.*s is declared twice", BL_SV(p->token.text));
    advance(p);
    need_mark(p, ":");
    name->thing = bl_kir_var_new(p->func, need_type(p), text);
    name->defined = true;
}

/* A line of a function that is no block and no instruction. */
static bool read_property(struct parser *p)
{
    struct bl_kir_func *f = p->func;
    const struct {
        const char *word;
        uint32_t *place, count;
    } numbers[] = {{"number", &f->number, 1},
                   {"line", &f->line, 1},
                   {"param_bytes", &f->param_bytes, 1},
                   {"frame_size", &f->frame_size, 1},
                   {"frame_align", &f->frame_align, 1},
                   {"max_threads", f->max_threads, 3},
                   {"min_ctas", &f->min_ctas, 1},
                   {"required_threads", f->required_threads, 3},
                   {"max_registers", &f->max_registers, 1}};

    for (uint32_t i = 0; i < BL_LEN(numbers); i++)
        if (take_word(p, numbers[i].word)) {
            for (uint32_t n = 0; n < numbers[i].count; n++)
                numbers[i].place[n] = (uint32_t)need_number(p, UINT32_MAX);
            return true;
        }
    if (take_word(p, "kernel_param"))
        read_kernel_param(p);
    else if (take_word(p, "var"))
        read_var(p);
    else
        return false;
    return true;
}

static void read_block(struct parser *p)
{
    struct name *name = find_name(p, &p->blocks, '@', "a block or '}'");
    struct bl_kir_block *block;

    if (name->defined)
        fail_at(p, &p->token, "block @%.*s is defined twice", BL_SV(p->token.text));
    name->defined = true;
    if (!name->thing)
        name->thing = BL_NEW(p->arena, struct bl_kir_block);
    block = name->thing;
    block->name = token_name(p);
    block->func = p->func;
    block->id = p->func->blocks.count;
    *BL_PUSH(p->arena, &p->func->blocks) = block;
    advance(p);
    need_mark(p, ":");
    need_line_end(p);
    while (!is_mark(p, "}") && !(p->token.kind == NAME && p->token.sigil == '@') && p->token.kind != END)
        read_instr(p, block);
}

static void number_value(struct bl_kir_func *func, struct bl_kir_value *value)
{
    if (value->id == UINT32_MAX)
        value->id = func->value_count++;
}

/* Every name must stand for something; values written without a number get one. */
static void finish_func(struct parser *p)
{
    struct bl_kir_func *func = p->func;

    for (struct name *n = p->names; n; n = n->next)
        if (!n->defined)
            fail_at(p, &n->first, "%s %c%.*s is not defined in %s", n->first.sigil == '@' ? "block" : "value", n->first.sigil,
                    BL_SV(n->first.text), func->name);
    for (uint32_t i = 0; i < func->params.count; i++)
        number_value(func, func->params.items[i]);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t r = 0; r < i->result_count; r++)
                number_value(func, i->results[r]);
    bl_kir_update_preds(func);
    for (struct labels *l = p->labels; l; l = l->next) {
        struct bl_kir_block *block = l->phi->block;
        for (uint32_t i = 0; i < l->phi->operand_count; i++)
            if (i >= block->preds.count || block->preds.items[i] != l->blocks[i])
                fail_at(p, &l->token, "the blocks of this phi are not its block's predecessors in order");
    }
}

static void read_func(struct parser *p, bool declaration)
{
    bool kernel = is_word(p, "kernel");
    const char *name;

    if (!take_word(p, "kernel") && !take_word(p, "func"))
        expected(p, "'kernel' or 'func'");
    name = bl_sv_copy(p->arena, need_name(p, "the name of a function"));
    p->func = bl_kir_func_new(p->module, name, kernel);
    p->func->is_declaration = declaration;
    memset(&p->values, 0, sizeof(p->values));
    memset(&p->blocks, 0, sizeof(p->blocks));
    memset(&p->vars, 0, sizeof(p->vars));
    p->names = NULL;
    p->labels = NULL;
    read_signature(p);
    p->func->noreturn = take_word(p, "noreturn");
    need_mark(p, "{");
    need_line_end(p);
    while (read_property(p))
        need_line_end(p);
    while (!is_mark(p, "}"))
        read_block(p);
    advance(p);
    need_line_end(p);
    finish_func(p);
}

/* ---- symbols ------------------------------------------------------------------------------------------ */

struct bytes {
    BL_ARRAY(uint8_t) list;
};

static void read_init(struct parser *p, struct bytes *bytes)
{
    struct bl_sv text = p->token.text;

    if (p->token.kind != STRING)
        expected(p, "a string of hexadecimal digits");
    for (size_t i = 0; i < text.size; i += 2) {
        int high = hex_digit(text.data[i]), low = i + 1 < text.size ? hex_digit(text.data[i + 1]) : -1;
        if (high < 0 || low < 0)
            fail_at(p, &p->token, "expected pairs of hexadecimal digits");
        *BL_PUSH(p->arena, &bytes->list) = (uint8_t)(high * 16 + low);
    }
    advance(p);
}

/* A reloc waits in memory of its own, since its name is looked up at the end and the symbol's array moves while it grows. */
static struct pending *new_pending(struct parser *p, struct bl_kir_symbol *symbol)
{
    struct pending *pending = BL_NEW(p->arena, struct pending);
    pending->symbol = symbol;
    if (p->last_pending)
        p->last_pending->next = pending;
    else
        p->pending = pending;
    return p->last_pending = pending;
}

static void read_reloc(struct parser *p, struct bl_kir_symbol *symbol)
{
    struct bl_kir_reloc *reloc = &new_pending(p, symbol)->reloc;

    reloc->offset = (uint32_t)need_number(p, UINT32_MAX);
    need_word(p, "size");
    reloc->size = (uint32_t)need_number(p, UINT32_MAX);
    if (take_word(p, "func")) {
        need_mention(p, &reloc->func, NULL);
    } else {
        need_word(p, "symbol");
        need_mention(p, NULL, &reloc->symbol);
    }
    reloc->addend = (int64_t)read_offset(p);
    reloc->generic = take_word(p, "generic");
}

static enum bl_kir_space need_space(struct parser *p)
{
    const struct bl_kir_field *spaces = &bl_kir_fields[BL_KIR_FIELD_SPACE];
    for (uint32_t s = 0; s < spaces->count; s++)
        if (take_word(p, spaces->words[s]))
            return (enum bl_kir_space)s;
    expected(p, "a state space");
}

static void read_symbol(struct parser *p)
{
    struct token start = p->token;
    const char *name = bl_sv_copy(p->arena, need_name(p, "the name of a symbol"));
    enum bl_kir_space space = need_space(p);
    struct bl_kir_symbol *symbol = bl_kir_symbol_new(p->module, name, space, 0, 0);
    struct bytes bytes = {0};

    need_word(p, "size");
    symbol->size = need_number(p, UINT64_MAX);
    need_word(p, "align");
    symbol->align = (uint32_t)need_number(p, UINT32_MAX);
    symbol->is_extern = take_word(p, "extern");
    if (take_word(p, "at"))
        symbol->offset = need_number(p, UINT64_MAX);
    need_line_end(p);
    for (;; need_line_end(p)) {
        if (take_word(p, "init"))
            read_init(p, &bytes);
        else if (take_word(p, "reloc"))
            read_reloc(p, symbol);
        else
            break;
    }
    if (bytes.list.count && bytes.list.count != symbol->size)
        fail_at(p, &start, "symbol %s has %llu bytes and %u initial ones", name, (unsigned long long)symbol->size,
                bytes.list.count);
    symbol->init = bytes.list.items;
}

static void place_relocs(struct parser *p)
{
    for (struct pending *pending = p->pending; pending; pending = pending->next)
        *BL_PUSH(p->arena, &pending->symbol->relocs) = pending->reloc;
}

/* ---- the module ------------------------------------------------------------------------------------------ */

/* Maps hold what a word means as a number that is never 0. */
static void fill_tables(struct parser *p)
{
    for (uintptr_t op = 0; op < BL_KIR_OP_COUNT; op++)
        bl_map_set(p->arena, &p->ops, bl_sv(bl_kir_ops[op].name), (void *)(op + 1));
    for (uintptr_t f = 0; f < BL_KIR_FIELD_COUNT; f++)
        for (uintptr_t w = 0; w < bl_kir_fields[f].count; w++)
            bl_map_set(p->arena, &p->words, bl_sv(bl_kir_fields[f].words[w]),
                       (void *)(WORD_MARK | f << 8 | (bl_kir_fields[f].first + w)));
}

static void read_module(struct parser *p)
{
    fill_tables(p);
    advance(p);
    while (p->token.kind == NEWLINE)
        advance(p);
    need_word(p, "module");
    if (p->token.kind != STRING)
        expected(p, "the module's name in quotes");
    p->module = bl_kir_module_new(p->arena, bl_sv_copy(p->arena, p->token.text));
    advance(p);
    need_line_end(p);
    while (p->token.kind != END) {
        if (take_word(p, "symbol"))
            read_symbol(p);
        else
            read_func(p, take_word(p, "declare"));
    }
    resolve_mentions(p);
    place_relocs(p);
}

enum bl_status bl_kir_parse(struct bl_arena *arena, struct bl_sv text, struct bl_kir_module **module, struct bl_error *error)
{
    struct parser p = {.arena = arena, .error = error, .line = 1};
    jmp_buf *outer = arena->no_memory;
    int why;

    p.at = p.line_start = text.data;
    p.end = text.data + text.size;
    arena->no_memory = &p.failed;
    why = setjmp(p.failed);
    if (why == 0)
        read_module(&p);
    arena->no_memory = outer;
    if (why == 1)
        return bl_fail(error, BL_NO_MEMORY, "kir: out of memory");
    if (why)
        return BL_SYNTAX;
    *module = p.module;
    return BL_OK;
}
