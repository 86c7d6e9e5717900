/* One instruction: modifiers and types, operands, the forms of bra and call. For the parser. What an instruction may have of
 * these is the checker's to say; here any operand may stand anywhere. */
#include "ptx/parser.h"

/* ---- modifiers ----------------------------------------------------------------------------------- */

static void parse_modifiers(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    for (; bl_ptx_is(p, BL_PTX_T_DOT); bl_ptx_next(p)) {
        const struct bl_ptx_word *word = bl_ptx_word(p->token.text);
        if (!word || (!word->type && !word->mod)) {
            bl_ptx_expected(p, "a modifier or type of PTX");
        } else if (word->type && instr->type_count < BL_LEN(instr->types)) {
            instr->types[instr->type_count++] = word->type;
        } else if (word->mod && instr->mod_count < BL_LEN(instr->mods)) {
            instr->mods[instr->mod_count++] = word->mod;
        } else {
            bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected fewer modifiers, found '.%.*s'", BL_SV(p->token.text));
        }
    }
}

/* ---- operands -------------------------------------------------------------------------------------- */

/* True where what comes after the token is a name. */
static bool name_follows(const struct bl_ptx_parser *p)
{
    const char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\t'))
        at++;
    if (p->end - at >= 7 && memcmp(at, "WARP_SZ", 7) == 0)
        return false;
    return at < p->end && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '%' || *at == '$' || *at == '_');
}

/* The selector of a video instruction with more than one digit: .h10, .b3210. */
static bool parse_selector(struct bl_sv text, struct bl_ptx_operand *operand)
{
    size_t most = text.data[0] == 'b' ? 5 : text.data[0] == 'h' ? 3 : 0;
    if (text.size < 3 || text.size > most)
        return false;
    for (size_t at = text.size; at-- > 0;) {
        if (at && (text.data[at] < '0' || text.data[at] > '7'))
            return false;
        operand->bits = operand->bits << 8 | (unsigned char)text.data[at];
    }
    operand->component = 11;
    return true;
}

/* .x of a vector, .b0 of a video instruction's operand. */
static void parse_component(struct bl_ptx_parser *p, struct bl_ptx_operand *operand)
{
    static const struct {
        char text[3];
        uint8_t component;
    } components[] = {{"x", 1}, {"y", 2},  {"z", 3},  {"w", 4},  {"r", 1},  {"g", 2},  {"b", 3},
                      {"a", 4}, {"b0", 5}, {"b1", 6}, {"b2", 7}, {"b3", 8}, {"h0", 9}, {"h1", 10}};

    if (!bl_ptx_is(p, BL_PTX_T_DOT))
        return;
    for (size_t n = 0; n < BL_LEN(components); n++)
        if (bl_sv_is(p->token.text, components[n].text))
            operand->component = components[n].component;
    if (!operand->component && !parse_selector(p->token.text, operand))
        bl_ptx_expected(p, "a part of a vector");
    else if (operand->component <= 4 && operand->component > operand->symbol->vec)
        bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected a part that '%.*s' has, found '.%.*s'", BL_SV(operand->symbol->name),
                     BL_SV(p->token.text));
    bl_ptx_next(p);
}

/* +4, -4, +-4; 0 where none stands. */
static int64_t parse_offset(struct bl_ptx_parser *p)
{
    int64_t offset = 0;
    while (bl_ptx_is(p, '+') || bl_ptx_is(p, '-')) {
        struct bl_ptx_operand value = bl_ptx_constant(p);
        if (value.kind != BL_PTX_INT)
            bl_ptx_wrong(p, value.loc, BL_SYNTAX, "expected an integer, found a float");
        offset = (int64_t)((uint64_t)offset + value.bits);
    }
    return offset;
}

/* [n] after an array's name: the n-th element's place in bytes. */
static void parse_index(struct bl_ptx_parser *p, struct bl_ptx_operand *operand, bool is_address)
{
    uint64_t index, size = (uint64_t)operand->symbol->vec * bl_ptx_type_bits(operand->symbol->type) / 8;

    bl_ptx_next(p);
    if (bl_ptx_is(p, BL_PTX_T_WORD) && !bl_ptx_at_constant(p)) {
        bl_ptx_wrong(p, p->token.loc, BL_UNSUPPORTED, "an array indexed by a register is not supported: compute the address");
        return;
    }
    index = bl_ptx_count(p, 0, INT32_MAX, "an index");
    operand->offset += (int64_t)(index * size);
    if (is_address)
        operand->kind = BL_PTX_ADDRESS;
    bl_ptx_expect(p, ']', "']'");
}

/* A name: register with its part, special register, variable or function with an offset. */
static struct bl_ptx_operand parse_name(struct bl_ptx_parser *p, bool is_address)
{
    struct bl_ptx_operand operand = {.kind = BL_PTX_SYMBOL, .loc = p->token.loc};
    struct bl_sv name = p->token.text;

    if (name.size == 1 && name.data[0] == '_') {
        bl_ptx_next(p);
        operand.kind = BL_PTX_SINK;
        return operand;
    }
    operand.symbol = bl_ptx_resolve(p, name, operand.loc);
    bl_ptx_next(p);
    if (p->panic)
        return operand;
    if (operand.symbol->kind == BL_PTX_SYM_REG || operand.symbol->kind == BL_PTX_SYM_SREG) {
        operand.kind = BL_PTX_REG_OPERAND;
        parse_component(p, &operand);
    } else if (operand.symbol->kind == BL_PTX_SYM_VAR || operand.symbol->kind == BL_PTX_SYM_PARAM ||
               operand.symbol->kind == BL_PTX_SYM_FUNC) {
        operand.offset = parse_offset(p);
        if (bl_ptx_is(p, '[') && operand.symbol->kind != BL_PTX_SYM_FUNC)
            parse_index(p, &operand, is_address);
    }
    return operand;
}

/* A name or constant, with its sign. is_address: var[4] stands for what is there, not for its address. */
static struct bl_ptx_operand parse_simple(struct bl_ptx_parser *p, bool is_address)
{
    struct bl_ptx_operand operand = {.loc = p->token.loc};
    bool negated = (bl_ptx_is(p, '!') || bl_ptx_is(p, '-')) && name_follows(p);

    if (negated)
        bl_ptx_next(p);
    if (!negated && bl_ptx_at_constant(p))
        return bl_ptx_constant(p);
    if (!bl_ptx_is(p, BL_PTX_T_WORD)) {
        bl_ptx_expected(p, "an operand");
        return operand;
    }
    operand = parse_name(p, is_address);
    if (negated && operand.kind != BL_PTX_REG_OPERAND)
        bl_ptx_wrong(p, operand.loc, BL_SYNTAX, "expected a register to negate");
    operand.negated = negated;
    return operand;
}

static void push(struct bl_ptx_parser *p, const struct bl_ptx_operand *operand)
{
    if (p->stack.count >= BL_PTX_OPERAND_LIMIT)
        bl_ptx_wrong(p, operand->loc, BL_SYNTAX, "expected at most %d operands", BL_PTX_OPERAND_LIMIT);
    else
        *BL_PUSH(p->arena, &p->stack) = *operand;
}

/* Takes what was pushed after `from` off the stack, into the arena. */
static struct bl_ptx_operand *pop_to(struct bl_ptx_parser *p, uint32_t from, uint32_t *count)
{
    *count = p->stack.count - from;
    p->stack.count = from;
    if (*count == 0)
        return NULL;
    return bl_arena_copy(p->arena, p->stack.items + from, *count * sizeof(*p->stack.items));
}

/* {a, b, _} */
static struct bl_ptx_operand parse_vector(struct bl_ptx_parser *p)
{
    struct bl_ptx_operand vector = {.kind = BL_PTX_VECTOR, .loc = p->token.loc};
    uint32_t from = p->stack.count;

    bl_ptx_next(p);
    do {
        struct bl_ptx_operand item = parse_simple(p, false);
        push(p, &item);
    } while (bl_ptx_accept(p, ','));
    bl_ptx_expect(p, '}', "'}'");
    vector.items = pop_to(p, from, &vector.item_count);
    return vector;
}

/* What is left of [a, b, {c, d}] from its first comma on: the address becomes the first item. */
static void parse_texture_address(struct bl_ptx_parser *p, struct bl_ptx_operand *address)
{
    struct bl_ptx_operand first = *address;
    uint32_t from = p->stack.count;

    if (!first.symbol) {
        bl_ptx_expected(p, "']'");
        return;
    }
    first.kind = first.symbol->kind == BL_PTX_SYM_REG ? BL_PTX_REG_OPERAND : BL_PTX_SYMBOL;
    push(p, &first);
    while (bl_ptx_accept(p, ',')) {
        struct bl_ptx_operand item = bl_ptx_is(p, '{') ? parse_vector(p) : parse_simple(p, false);
        push(p, &item);
    }
    *address = (struct bl_ptx_operand){.kind = BL_PTX_TEX_ADDRESS, .loc = first.loc};
    address->items = pop_to(p, from, &address->item_count);
}

/* [register + 4], [variable + 4], [variable[4]], [4], [texture, {a, b}] */
static struct bl_ptx_operand parse_address(struct bl_ptx_parser *p)
{
    struct bl_ptx_operand address = {.loc = p->token.loc};

    bl_ptx_next(p);
    if (bl_ptx_at_constant(p)) {
        struct bl_ptx_operand value = bl_ptx_constant(p);
        if (value.kind != BL_PTX_INT)
            bl_ptx_wrong(p, value.loc, BL_SYNTAX, "expected an address, found a float");
        address.offset = (int64_t)value.bits;
    } else if (bl_ptx_is(p, BL_PTX_T_WORD)) {
        address = parse_name(p, false);
        if (p->panic)
            return address;
        if (!address.symbol || address.symbol->kind == BL_PTX_SYM_SREG || address.symbol->kind >= BL_PTX_SYM_LABEL)
            bl_ptx_wrong(p, address.loc, BL_SYNTAX, "expected a register or variable as address");
        else if (address.kind == BL_PTX_REG_OPERAND)
            address.offset = parse_offset(p);
    } else {
        bl_ptx_expected(p, "an address");
    }
    address.kind = BL_PTX_ADDRESS;
    if (bl_ptx_is(p, ','))
        parse_texture_address(p, &address);
    bl_ptx_expect(p, ']', "']'");
    if (bl_ptx_is(p, BL_PTX_T_DOT) && bl_sv_is(p->token.text, "unified")) /* ld: a promise about the variable */
        bl_ptx_next(p);
    return address;
}

static struct bl_ptx_operand parse_operand(struct bl_ptx_parser *p, bool is_address)
{
    struct bl_ptx_operand operand, pair = {.kind = BL_PTX_PAIR, .loc = p->token.loc};
    uint32_t from = p->stack.count;

    if (bl_ptx_is(p, '{'))
        operand = parse_vector(p);
    else if (bl_ptx_is(p, '['))
        operand = parse_address(p);
    else
        operand = parse_simple(p, is_address);
    if (!bl_ptx_accept(p, '|'))
        return operand;
    push(p, &operand);
    operand = parse_simple(p, false);
    push(p, &operand);
    pair.items = pop_to(p, from, &pair.item_count);
    return pair;
}

/* ---- bra, call ------------------------------------------------------------------------------------------- */

static void parse_branch(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    struct bl_ptx_loc loc = p->token.loc;
    struct bl_sv name = bl_ptx_expect_name(p, "a label");

    if (p->panic)
        return;
    instr->operands = BL_NEW(p->arena, struct bl_ptx_operand);
    instr->operand_count = 1;
    instr->operands->kind = BL_PTX_SYMBOL;
    instr->operands->loc = loc;
    bl_ptx_refer_label(p, name, loc, &instr->operands->symbol);
}

/* (a, b); the token is the parenthesis. */
static struct bl_ptx_operand *parse_list(struct bl_ptx_parser *p, uint32_t *count)
{
    uint32_t from = p->stack.count;

    bl_ptx_expect(p, '(', "'('");
    while (!p->panic && !bl_ptx_is(p, ')')) {
        struct bl_ptx_operand item = parse_simple(p, false);
        push(p, &item);
        if (!bl_ptx_accept(p, ','))
            break;
    }
    bl_ptx_expect(p, ')', "')'");
    return pop_to(p, from, count);
}

static void parse_call_target(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    struct bl_ptx_operand target = {0};

    p->is_call = true;
    if (bl_ptx_is(p, BL_PTX_T_WORD))
        target = parse_name(p, false);
    else
        bl_ptx_expected(p, "a function");
    p->is_call = false;
    if (p->panic)
        return;
    if (!target.symbol || target.offset || (target.symbol->kind != BL_PTX_SYM_FUNC && target.symbol->kind != BL_PTX_SYM_REG))
        bl_ptx_wrong(p, target.loc, BL_SYNTAX, "expected a function, or a register that holds its address");
    else if (target.symbol->kind == BL_PTX_SYM_REG)
        p->func->has_indirect_call = true;
    instr->operands = bl_arena_copy(p->arena, &target, sizeof(target));
    instr->operand_count = 1;
}

/* call (returns), target, (arguments), prototype; */
static void parse_call(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    struct bl_ptx_loc loc;
    struct bl_sv name;

    if (bl_ptx_is(p, '(')) {
        instr->returns = parse_list(p, &instr->return_count);
        bl_ptx_expect(p, ',', "','");
    }
    parse_call_target(p, instr);
    if (!bl_ptx_accept(p, ','))
        return;
    if (bl_ptx_is(p, '(')) {
        instr->args = parse_list(p, &instr->arg_count);
        if (!bl_ptx_accept(p, ','))
            return;
    }
    loc = p->token.loc;
    name = bl_ptx_expect_name(p, "a prototype or a list of targets");
    if (p->panic)
        return;
    instr->prototype = bl_ptx_resolve(p, name, loc);
    if (instr->prototype && instr->prototype->kind != BL_PTX_SYM_PROTO && instr->prototype->kind != BL_PTX_SYM_TARGETS)
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a prototype or a list of targets, found '%.*s'", BL_SV(name));
}

/* ---- the instruction ---------------------------------------------------------------------------------------- */

static void parse_operands(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    /* mov takes the address of an element, everything else what stands there */
    bool is_address = instr->op != BL_PTX_OP_mov;

    p->stack.count = 0;
    if (bl_ptx_is(p, ';'))
        return;
    do {
        struct bl_ptx_operand operand = parse_operand(p, is_address);
        push(p, &operand);
    } while (bl_ptx_accept(p, ','));
    instr->operands = pop_to(p, 0, &instr->operand_count);
}

static void check(struct bl_ptx_parser *p, struct bl_ptx_instr *instr)
{
    enum bl_status status = bl_ptx_check_instr(p->module, p->func, instr, p->error);
    if (status == BL_OK)
        return;
    if (p->faults++ == 0)
        p->status = status;
    p->panic = true;
    p->token.kind = BL_PTX_T_STOP;
}

void bl_ptx_parse_instruction(struct bl_ptx_parser *p, const struct bl_ptx_token *opcode, struct bl_ptx_symbol *guard,
                              bool guard_negated)
{
    const struct bl_ptx_word *word = bl_ptx_word(opcode->text);
    struct bl_ptx_instr *instr;

    if (!word || !word->opcode) {
        bl_ptx_wrong(p, opcode->loc, BL_SYNTAX, "expected an instruction of PTX, found '%.*s'",
                     (int)BL_MIN(opcode->text.size, (size_t)60), opcode->text.data);
        return;
    }
    instr = BL_NEW(p->arena, struct bl_ptx_instr);
    instr->loc = opcode->loc;
    instr->op = (enum bl_ptx_opcode)word->opcode;
    instr->guard = guard;
    instr->guard_negated = guard_negated;
    parse_modifiers(p, instr);
    p->stack.count = 0;
    if (instr->op == BL_PTX_OP_bra)
        parse_branch(p, instr);
    else if (instr->op == BL_PTX_OP_call)
        parse_call(p, instr);
    else
        parse_operands(p, instr);
    if (!p->panic && !bl_ptx_is(p, ';'))
        bl_ptx_expected(p, instr->operand_count ? "',' or ';'" : "an operand or ';'");
    if (p->panic)
        return;
    instr->text = (struct bl_sv){opcode->start, (size_t)(p->token.start - opcode->start)};
    while (instr->text.size && (unsigned char)instr->text.data[instr->text.size - 1] <= ' ')
        instr->text.size--;
    bl_ptx_add_statement(p, BL_PTX_INSTR, instr->loc)->instr = instr;
    check(p, instr);
    if (!p->panic)
        bl_ptx_next(p);
}
