/* Numbers and constant expressions (PTX ISA, 4.5). For the parser. Integers are 64 bits wide, signed unless they are written
 * with U or do not fit; floats are doubles, and a single one (0f…) stays one as long as nothing is done with it. */
#include "ptx/parser.h"

#include <stdio.h>

static struct bl_ptx_operand integer(uint64_t bits, bool is_unsigned)
{
    return (struct bl_ptx_operand){.kind = BL_PTX_INT, .bits = bits, .is_unsigned = is_unsigned};
}

static struct bl_ptx_operand real(double number)
{
    struct bl_ptx_operand result = {.kind = BL_PTX_FLOAT, .float_type = BL_PTX_F64};
    memcpy(&result.bits, &number, sizeof(number));
    return result;
}

static double to_real(const struct bl_ptx_operand *value)
{
    double number;
    float single;
    uint32_t low = (uint32_t)value->bits;

    if (value->kind == BL_PTX_INT)
        return value->is_unsigned ? (double)value->bits : (double)(int64_t)value->bits;
    memcpy(&single, &low, sizeof(single));
    memcpy(&number, &value->bits, sizeof(number));
    return value->float_type == BL_PTX_F32 ? single : number;
}

/* ---- one number ------------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* text in a base; false for another character or more than 64 bits. */
static bool read_digits(struct bl_sv text, uint32_t base, uint64_t *number)
{
    *number = 0;
    if (base == 10 && text.size < 20) { /* can't overflow */
        for (size_t at = 0; at < text.size; at++) {
            if (text.data[at] < '0' || text.data[at] > '9')
                return false;
            *number = *number * 10 + (uint64_t)(text.data[at] - '0');
        }
        return text.size > 0;
    }
    for (size_t at = 0; at < text.size; at++) {
        int digit = digit_of(text.data[at]);
        if (digit >= (int)base || __builtin_mul_overflow(*number, (uint64_t)base, number) ||
            __builtin_add_overflow(*number, (uint64_t)digit, number))
            return false;
    }
    return text.size > 0;
}

static bool read_integer(struct bl_sv text, struct bl_ptx_operand *value)
{
    char second = text.size > 1 && text.data[0] == '0' ? text.data[1] : 0;
    bool is_unsigned = text.size > 1 && text.data[text.size - 1] == 'U';
    uint32_t base = 10, prefix = 0;
    uint64_t bits;

    if (second == 'x' || second == 'X')
        base = 16, prefix = 2;
    else if (second == 'b' || second == 'B')
        base = 2, prefix = 2;
    else if (second >= '0' && second <= '9')
        base = 8, prefix = 1;
    text = (struct bl_sv){text.data + prefix, text.size - prefix - is_unsigned};
    if (!read_digits(text, base, &bits))
        return false;
    *value = integer(bits, is_unsigned || bits > INT64_MAX);
    return true;
}

static bool read_decimal(struct bl_ptx_parser *p, struct bl_sv text, struct bl_ptx_operand *value)
{
    char small[64], *copy = text.size < sizeof(small) ? small : bl_arena_alloc(p->arena, text.size + 1);
    double number;

    memcpy(copy, text.data, text.size);
    copy[text.size] = 0;
    if (!bl_ptx_decimal(copy, &number))
        return false;
    *value = real(number);
    return true;
}

/* A number token; false where it is none. */
static bool read_number(struct bl_ptx_parser *p, struct bl_sv text, struct bl_ptx_operand *value)
{
    char second = text.size > 1 && text.data[0] == '0' ? text.data[1] : 0;
    bool is_single = second == 'f' || second == 'F', is_double = second == 'd' || second == 'D';

    if (is_single || is_double) {
        *value = (struct bl_ptx_operand){.kind = BL_PTX_FLOAT, .float_type = is_single ? BL_PTX_F32 : BL_PTX_F64};
        return text.size == (is_single ? 10 : 18) && read_digits((struct bl_sv){text.data + 2, text.size - 2}, 16, &value->bits);
    }
    if (second == 'x' || second == 'X' || second == 'b' || second == 'B')
        return read_integer(text, value);
    if (read_integer(text, value))
        return true;
    if (memchr(text.data, '.', text.size) || memchr(text.data, 'e', text.size) || memchr(text.data, 'E', text.size))
        return read_decimal(p, text, value);
    return false;
}

/* ---- operators ----------------------------------------------------------------------------------------- */

static bool need_integers(struct bl_ptx_parser *p, struct bl_ptx_loc loc, const struct bl_ptx_operand *a,
                          const struct bl_ptx_operand *b)
{
    if (a->kind == BL_PTX_INT && b->kind == BL_PTX_INT)
        return true;
    bl_ptx_wrong(p, loc, BL_SYNTAX, "expected integers on both sides of this operator, found a float");
    return false;
}

static struct bl_ptx_operand real_operation(struct bl_ptx_parser *p, int op, struct bl_ptx_loc loc, double a, double b)
{
    switch (op) {
    case '+':
        return real(a + b);
    case '-':
        return real(a - b);
    case '*':
        return real(a * b);
    case '/':
        return real(a / b);
    case '<':
        return integer(a < b, false);
    case '>':
        return integer(a > b, false);
    case BL_PTX_T_LE:
        return integer(a <= b, false);
    case BL_PTX_T_GE:
        return integer(a >= b, false);
    case BL_PTX_T_EQ:
        return integer(a == b, false);
    case BL_PTX_T_NE:
        return integer(a != b, false);
    default:
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected integers on both sides of this operator, found a float");
        return integer(0, false);
    }
}

static struct bl_ptx_operand divide(struct bl_ptx_parser *p, int op, struct bl_ptx_loc loc, uint64_t a, uint64_t b,
                                    bool is_unsigned)
{
    if (b == 0) {
        bl_ptx_wrong(p, loc, BL_SYNTAX, "expected a divisor, found zero");
        return integer(0, false);
    }
    if (is_unsigned)
        return integer(op == '/' ? a / b : a % b, true);
    if (b == UINT64_MAX) /* -1: the one that can overflow */
        return integer(op == '/' ? -a : 0, false);
    return integer((uint64_t)(op == '/' ? (int64_t)a / (int64_t)b : (int64_t)a % (int64_t)b), false);
}

/* `less` of the two as their signedness has it. */
static bool is_less(uint64_t a, uint64_t b, bool is_unsigned)
{
    return is_unsigned ? a < b : (int64_t)a < (int64_t)b;
}

static struct bl_ptx_operand integer_operation(struct bl_ptx_parser *p, int op, struct bl_ptx_loc loc,
                                               const struct bl_ptx_operand *left, const struct bl_ptx_operand *right)
{
    bool either = left->is_unsigned || right->is_unsigned;
    uint64_t a = left->bits, b = right->bits;

    switch (op) {
    case '+':
        return integer(a + b, either);
    case '-':
        return integer(a - b, either);
    case '*':
        return integer(a * b, either);
    case '/':
    case '%':
        return divide(p, op, loc, a, b, either);
    case '&':
        return integer(a & b, either);
    case '|':
        return integer(a | b, either);
    case '^':
        return integer(a ^ b, either);
    case BL_PTX_T_SHL:
        return integer(b < 64 ? a << b : 0, left->is_unsigned);
    case BL_PTX_T_SHR:
        if (left->is_unsigned)
            return integer(b < 64 ? a >> b : 0, true);
        return integer((uint64_t)((int64_t)a >> (b < 64 ? b : 63)), false);
    case '<':
        return integer(is_less(a, b, either), false);
    case '>':
        return integer(is_less(b, a, either), false);
    case BL_PTX_T_LE:
        return integer(!is_less(b, a, either), false);
    case BL_PTX_T_GE:
        return integer(!is_less(a, b, either), false);
    case BL_PTX_T_EQ:
        return integer(a == b, false);
    case BL_PTX_T_NE:
        return integer(a != b, false);
    case BL_PTX_T_AND:
        return integer(a && b, false);
    default: /* || */
        return integer(a || b, false);
    }
}

static struct bl_ptx_operand operation(struct bl_ptx_parser *p, int op, struct bl_ptx_loc loc, const struct bl_ptx_operand *a,
                                       const struct bl_ptx_operand *b)
{
    if (a->kind == BL_PTX_FLOAT || b->kind == BL_PTX_FLOAT)
        return real_operation(p, op, loc, to_real(a), to_real(b));
    return integer_operation(p, op, loc, a, b);
}

/* ---- grammar --------------------------------------------------------------------------------------------- */

static struct bl_ptx_operand expression(struct bl_ptx_parser *p);
static struct bl_ptx_operand unary(struct bl_ptx_parser *p);

static struct bl_ptx_operand negate(const struct bl_ptx_operand *value)
{
    struct bl_ptx_operand result = *value;
    if (value->kind == BL_PTX_INT)
        result = integer(-value->bits, value->is_unsigned && value->bits != UINT64_C(1) << 63);
    else
        result.bits ^= value->float_type == BL_PTX_F32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    return result;
}

/* (.s64) or (.u64), whose parenthesis is past; then what it applies to. */
static struct bl_ptx_operand cast(struct bl_ptx_parser *p)
{
    bool to_signed = BL_PTX_IS(p->token.text, "s64");
    struct bl_ptx_operand value;

    if (!to_signed && !BL_PTX_IS(p->token.text, "u64"))
        bl_ptx_expected(p, ".s64 or .u64");
    bl_ptx_next(p);
    bl_ptx_expect(p, ')', "')'");
    value = unary(p);
    if (value.kind == BL_PTX_INT)
        return integer(value.bits, !to_signed);
    bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected an integer to convert, found a float");
    return value;
}

/* .5 */
static bool is_pointed(const struct bl_ptx_parser *p)
{
    return bl_ptx_is(p, BL_PTX_T_DOT) && p->token.text.data[0] >= '0' && p->token.text.data[0] <= '9';
}

static struct bl_ptx_operand primary(struct bl_ptx_parser *p)
{
    struct bl_ptx_operand value = integer(0, false);

    if (is_pointed(p))
        bl_ptx_rescan_decimal(p);
    if (bl_ptx_is(p, BL_PTX_T_NUMBER)) {
        if (!read_number(p, p->token.text, &value))
            bl_ptx_expected(p, "a number");
        bl_ptx_next(p);
    } else if (bl_ptx_accept(p, '(')) {
        if (bl_ptx_is(p, BL_PTX_T_DOT))
            return cast(p);
        value = expression(p);
        bl_ptx_expect(p, ')', "')'");
    } else if (bl_ptx_is(p, BL_PTX_T_WORD) && BL_PTX_IS(p->token.text, "WARP_SZ")) {
        bl_ptx_next(p);
        value = integer(32, false);
    } else {
        bl_ptx_expected(p, "a constant");
    }
    return value;
}

/* Counts levels, so that no text makes the parser run out of stack. */
static bool go_deeper(struct bl_ptx_parser *p)
{
    if (p->depth++ < BL_PTX_EXPRESSION_LIMIT)
        return true;
    bl_ptx_wrong(p, p->token.loc, BL_SYNTAX, "expected an expression of at most %d levels, found a deeper one",
                 BL_PTX_EXPRESSION_LIMIT);
    return false;
}

static struct bl_ptx_operand unary(struct bl_ptx_parser *p)
{
    struct bl_ptx_operand value = integer(0, false);
    int op = p->token.kind;

    if (!go_deeper(p)) {
        p->depth--;
        return value;
    }
    if (op == '+' || op == '-' || op == '!' || op == '~') {
        struct bl_ptx_loc loc = p->token.loc;
        bl_ptx_next(p);
        value = unary(p);
        if (op == '-')
            value = negate(&value);
        else if (op == '~' && need_integers(p, loc, &value, &value))
            value.bits = ~value.bits;
        else if (op == '!' && need_integers(p, loc, &value, &value))
            value = integer(!value.bits, false);
    } else {
        value = primary(p);
    }
    p->depth--;
    return value;
}

/* 0 for what is no binary operator. */
static int precedence(int op)
{
    switch (op) {
    case '*':
    case '/':
    case '%':
        return 10;
    case '+':
    case '-':
        return 9;
    case BL_PTX_T_SHL:
    case BL_PTX_T_SHR:
        return 8;
    case '<':
    case '>':
    case BL_PTX_T_LE:
    case BL_PTX_T_GE:
        return 7;
    case BL_PTX_T_EQ:
    case BL_PTX_T_NE:
        return 6;
    case '&':
        return 5;
    case '^':
        return 4;
    case '|':
        return 3;
    case BL_PTX_T_AND:
        return 2;
    case BL_PTX_T_OR:
        return 1;
    default:
        return 0;
    }
}

/* Operators of at least that precedence; at most ten levels deep between two operands. */
static struct bl_ptx_operand binary(struct bl_ptx_parser *p, int least)
{
    struct bl_ptx_operand left = unary(p);

    while (precedence(p->token.kind) >= least) {
        struct bl_ptx_operand right;
        struct bl_ptx_loc loc = p->token.loc;
        int op = p->token.kind;
        bl_ptx_next(p);
        right = binary(p, precedence(op) + 1);
        left = operation(p, op, loc, &left, &right);
    }
    return left;
}

static struct bl_ptx_operand expression(struct bl_ptx_parser *p)
{
    struct bl_ptx_operand condition = integer(0, false), yes, no;

    if (!go_deeper(p)) {
        p->depth--;
        return condition;
    }
    condition = binary(p, 1);
    if (bl_ptx_accept(p, '?')) {
        yes = expression(p);
        bl_ptx_expect(p, ':', "':'");
        no = expression(p);
        if (need_integers(p, p->token.loc, &condition, &condition))
            condition = condition.bits ? yes : no;
    }
    p->depth--;
    return condition;
}

/* A number by itself, as nearly all are: no operator can come before what stands behind it. */
static bool is_plain(const struct bl_ptx_parser *p)
{
    char next = p->at < p->end ? *p->at : 0;
    return bl_ptx_is(p, BL_PTX_T_NUMBER) && (next == ',' || next == ';' || next == ']' || next == '}' || next == ')');
}

struct bl_ptx_operand bl_ptx_constant(struct bl_ptx_parser *p)
{
    struct bl_ptx_loc loc = p->token.loc;
    struct bl_ptx_operand value = is_plain(p) ? primary(p) : expression(p);
    value.loc = loc;
    return value;
}

bool bl_ptx_at_constant(const struct bl_ptx_parser *p)
{
    int kind = p->token.kind;
    return kind == BL_PTX_T_NUMBER || kind == '(' || kind == '-' || kind == '+' || kind == '~' || kind == '!' || is_pointed(p) ||
           (kind == BL_PTX_T_WORD && BL_PTX_IS(p->token.text, "WARP_SZ"));
}

uint64_t bl_ptx_count(struct bl_ptx_parser *p, uint64_t least, uint64_t most, const char *what)
{
    struct bl_ptx_operand value;

    if (!bl_ptx_at_constant(p)) {
        bl_ptx_expected(p, what);
        return least;
    }
    value = bl_ptx_constant(p);
    if (p->panic)
        return least;
    if (value.kind == BL_PTX_INT && (value.is_unsigned || (int64_t)value.bits >= 0) && value.bits >= least && value.bits <= most)
        return value.bits;
    bl_ptx_wrong(p, value.loc, BL_SYNTAX, "expected %s from %llu to %llu", what, (unsigned long long)least,
                 (unsigned long long)most);
    return least;
}

bool bl_ptx_constant_bits(const struct bl_ptx_operand *constant, enum bl_ptx_type type, uint64_t *bits)
{
    double number = to_real(constant);
    float single = (float)number;
    uint32_t low;

    if (type == BL_PTX_F64) {
        memcpy(bits, &number, sizeof(number));
        return true;
    }
    if (type == BL_PTX_F32) {
        memcpy(&low, &single, sizeof(low));
        *bits = constant->kind == BL_PTX_FLOAT && constant->float_type == BL_PTX_F32 ? constant->bits : low;
        return true;
    }
    *bits = constant->bits;
    /* a float in an untyped place: the bits that it was written with */
    if (constant->kind == BL_PTX_FLOAT)
        return (type == BL_PTX_B32 && constant->float_type == BL_PTX_F32) ||
               (type == BL_PTX_B64 && constant->float_type == BL_PTX_F64);
    return true;
}
