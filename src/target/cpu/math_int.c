/* Integer ops: arithmetic, division, bit fields, logic, comparison and choice (PTX ISA, 9.7.1, 9.7.2 and 9.7.8). Called by
 * math.c. */
#include "target/cpu/math_build.h"

/* ---- shifts ------------------------------------------------------------------------------------- */

/* LLVM leaves a shift by the width or more undefined; PTX clamps. LLVM folds the selection where the hardware clamps. */
static LLVMValueRef shift_out(struct bl_math *m, LLVMValueRef shifted, LLVMValueRef count)
{
    unsigned bits = m_bits_of(shifted);
    return m_select(m, m_icmpc(m, LLVMIntULT, count, bits), shifted, m_const(m, bits, 0));
}

LLVMValueRef bl_math_shl(struct bl_math *m, LLVMValueRef a, LLVMValueRef count)
{
    return shift_out(m, m_shl(m, a, m_zresize(m, count, m_bits_of(a))), count);
}

LLVMValueRef bl_math_lshr(struct bl_math *m, LLVMValueRef a, LLVMValueRef count)
{
    return shift_out(m, m_lshr(m, a, m_zresize(m, count, m_bits_of(a))), count);
}

LLVMValueRef bl_math_ashr(struct bl_math *m, LLVMValueRef a, LLVMValueRef count)
{
    unsigned bits = m_bits_of(a);
    return m_ashr(m, a, m_zresize(m, m_uminc(m, count, bits - 1), bits));
}

/* shf: the middle 32 bits of hi:lo moved by count. */
static LLVMValueRef funnel(struct bl_math *m, bool left)
{
    LLVMValueRef low = m->in[0], high = m->in[1], count = m->in[2];
    LLVMValueRef moved = m_call(m, left ? "llvm.fshl" : "llvm.fshr", 3, high, low, count);

    if (m->attr->wrap)
        return moved;
    return m_select(m, m_icmpc(m, LLVMIntULT, count, 32), moved, left ? low : high);
}

/* ---- division ----------------------------------------------------------------------------------- */

/* A divisor that never traps: 1 for 0, and for -1 under the smallest number (whose quotient is itself). */
static LLVMValueRef safe_divisor(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, bool is_signed)
{
    LLVMValueRef bad = m_icmpc(m, LLVMIntEQ, b, 0), lowest;

    if (is_signed) {
        lowest = m_icmpc(m, LLVMIntEQ, a, (int64_t)(UINT64_C(1) << (m->bits - 1)));
        bad = m_or(m, bad, m_and(m, lowest, m_icmpc(m, LLVMIntEQ, b, -1)));
    }
    return m_select(m, bad, m_const(m, m->bits, 1), b);
}

static LLVMValueRef to_float(struct bl_math *m, LLVMValueRef a, LLVMTypeRef type, bool is_signed)
{
    return is_signed ? LLVMBuildSIToFP(m->cg->builder, a, type, "") : LLVMBuildUIToFP(m->cg->builder, a, type, "");
}

/* Vectors of up to 32 bits divide in a float type with more than twice their bits less one: a quotient that is not integral then
 * lies more than half a unit in the last place from the next integer, so that cutting the rounded one is exact. */
static LLVMValueRef quotient(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, bool is_signed)
{
    LLVMBuilderRef builder = m->cg->builder;
    LLVMTypeRef type = m->bits == 32 ? m_f64_type(m) : m_f32_type(m), integer = m_int_type(m, m->bits);
    LLVMValueRef q;

    if (m->width == 1 || m->bits > 32 || LLVMIsConstant(b))
        return is_signed ? LLVMBuildSDiv(builder, a, b, "") : LLVMBuildUDiv(builder, a, b, "");
    if (m->bits < 32)
        integer = m_int_type(m, 32);
    q = m_fdiv(m, to_float(m, a, type, is_signed), to_float(m, b, type, is_signed));
    q = is_signed ? LLVMBuildFPToSI(builder, q, integer, "") : LLVMBuildFPToUI(builder, q, integer, "");
    return m_zresize(m, q, m->bits);
}

static bool divide(struct bl_math *m, bool is_signed, bool remainder)
{
    LLVMValueRef a = m->in[0], b = m->in[1], q, zero;

    if (m->bits > 64)
        return false;
    zero = m_icmpc(m, LLVMIntEQ, b, 0);
    b = safe_divisor(m, a, b, is_signed);
    q = quotient(m, a, b, is_signed);
    if (remainder)
        m->out[0] = m_select(m, zero, m_const(m, m->bits, -1), m_sub(m, a, m_mul(m, q, b)));
    else
        m->out[0] = m_select(m, zero, m_const(m, m->bits, -1), q);
    return true;
}

static bool multiply_high(struct bl_math *m, bool is_signed)
{
    LLVMValueRef a = m->in[0], b = m->in[1];

    if (m->bits > 64)
        return false;
    a = is_signed ? m_sresize(m, a, 2 * m->bits) : m_zresize(m, a, 2 * m->bits);
    b = is_signed ? m_sresize(m, b, 2 * m->bits) : m_zresize(m, b, 2 * m->bits);
    m->out[0] = m_zresize(m, m_lshrc(m, m_mul(m, a, b), m->bits), m->bits);
    return true;
}

/* ---- carries ------------------------------------------------------------------------------------ */

static void add_carry(struct bl_math *m)
{
    LLVMValueRef sum = m_add(m, m->in[0], m->in[1]), carried = m_add(m, sum, m_zresize(m, m->in[2], m->bits));
    m->out[1] = m_or(m, m_icmp(m, LLVMIntULT, sum, m->in[0]), m_icmp(m, LLVMIntULT, carried, sum));
    m->out[0] = carried;
}

static void sub_borrow(struct bl_math *m)
{
    LLVMValueRef borrow = m_zresize(m, m->in[2], m->bits), difference = m_sub(m, m->in[0], m->in[1]);
    m->out[1] = m_or(m, m_icmp(m, LLVMIntULT, m->in[0], m->in[1]), m_icmp(m, LLVMIntULT, difference, borrow));
    m->out[0] = m_sub(m, difference, borrow);
}

/* ---- bits and bit fields ------------------------------------------------------------------------ */

/* A constant for a 32-bit operand that is the same constant in every lane. */
static bool constant_word(LLVMValueRef value, uint32_t *word)
{
    if (!LLVMIsConstant(value))
        return false;
    if (LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind) {
        LLVMValueRef first = LLVMGetAggregateElement(value, 0);
        for (unsigned i = 1; i < BL_WARP; i++)
            if (LLVMGetAggregateElement(value, i) != first)
                return false;
        value = first;
    }
    if (!value || !LLVMIsAConstantInt(value))
        return false;
    *word = (uint32_t)LLVMConstIntGetZExtValue(value);
    return true;
}

/* The low `length` bits set. */
static LLVMValueRef low_mask(struct bl_math *m, unsigned bits, LLVMValueRef length)
{
    return m_not(m, bl_math_shl(m, m_const(m, bits, -1), length));
}

static void find_high_bit(struct bl_math *m, bool is_signed)
{
    LLVMValueRef a = m->in[0], zeros, place;

    if (is_signed)
        a = m_xor(m, a, m_ashrc(m, a, m->bits - 1));
    zeros = m_zresize(m, m_call_false(m, "llvm.ctlz", a), 32);
    place = m->attr->shiftamt ? zeros : m_sub(m, m_const(m, 32, m->bits - 1), zeros);
    m->out[0] = m_select(m, m_icmpc(m, LLVMIntEQ, a, 0), m_const(m, 32, -1), place);
}

/* A position or length of a bit field: of 32 bits the low byte, of 64 the whole word (measured on an H200: tests/ptx/conform.py).
 */
static LLVMValueRef field_count(struct bl_math *m, LLVMValueRef count)
{
    return m->bits == 64 ? m_uminc(m, count, 64) : m_andc(m, count, 0xff);
}

static void extract_field(struct bl_math *m, bool is_signed)
{
    LLVMValueRef a = m->in[0], position = field_count(m, m->in[1]), length = field_count(m, m->in[2]), end, field;

    if (!is_signed) {
        m->out[0] = m_and(m, bl_math_lshr(m, a, position), low_mask(m, m->bits, length));
        return;
    }
    /* the field's top bit becomes the sign, then it moves down */
    end = m_sub(m, m_const(m, 32, m->bits), m_uminc(m, m_add(m, position, length), m->bits));
    field = bl_math_ashr(m, bl_math_shl(m, a, end), m_add(m, end, position));
    m->out[0] = m_select(m, m_icmpc(m, LLVMIntEQ, length, 0), m_const(m, m->bits, 0), field);
}

static void insert_field(struct bl_math *m)
{
    LLVMValueRef position = field_count(m, m->in[2]), length = field_count(m, m->in[3]);
    LLVMValueRef mask = bl_math_shl(m, low_mask(m, m->bits, length), position);
    LLVMValueRef moved = bl_math_shl(m, m->in[0], position);
    m->out[0] = m_or(m, m_and(m, moved, mask), m_and(m, m->in[1], m_not(m, mask)));
}

static void make_mask(struct bl_math *m)
{
    LLVMValueRef position = m->in[0], length = m->in[1];
    if (m->attr->wrap) {
        position = m_andc(m, position, 31);
        length = m_andc(m, length, 31);
    }
    m->out[0] = bl_math_shl(m, low_mask(m, 32, length), position);
}

/* The low `count` bits, extended by the highest of them, or by zeros; none of them: zero. */
static void extend_low(struct bl_math *m, bool is_signed)
{
    LLVMValueRef a = m->in[0], count = m->attr->wrap ? m_andc(m, m->in[1], 31) : m_uminc(m, m->in[1], 32), up, low;

    if (!is_signed) {
        m->out[0] = m_and(m, a, low_mask(m, 32, count));
        return;
    }
    up = m_sub(m, m_const(m, 32, 32), count);
    low = bl_math_ashr(m, bl_math_shl(m, a, up), up);
    m->out[0] = m_select(m, m_icmpc(m, LLVMIntEQ, count, 0), m_const(m, 32, 0), low);
}

/* The place of the n-th set bit of mask (n from 1); -1 where there are fewer. Halves the field by counting. */
static LLVMValueRef nth_set_bit(struct bl_math *m, LLVMValueRef mask, LLVMValueRef n)
{
    LLVMValueRef place = m_const(m, 32, 0), rest = mask, total = m_call(m, "llvm.ctpop", 1, mask, NULL, NULL), count, above;
    LLVMValueRef wanted = n;

    for (unsigned half = 16; half; half /= 2) {
        count = m_call(m, "llvm.ctpop", 1, m_andc(m, rest, (int64_t)((1u << half) - 1)), NULL, NULL);
        above = m_icmp(m, LLVMIntUGT, wanted, count);
        wanted = m_select(m, above, m_sub(m, wanted, count), wanted);
        rest = m_select(m, above, m_lshrc(m, rest, half), rest);
        place = m_select(m, above, m_addc(m, place, half), place);
    }
    return m_select(m, m_icmp(m, LLVMIntUGT, n, total), m_const(m, 32, -1), place);
}

/* fns: from base upwards the offset-th set bit, downwards for a negative offset, base itself for zero. */
static void find_nth_set(struct bl_math *m)
{
    LLVMValueRef mask = m->in[0], base = m->in[1], offset = m->in[2], down, here, found, bit;

    down = m_icmpc(m, LLVMIntSLT, offset, 0);
    here = m_icmpc(m, LLVMIntEQ, offset, 0);
    /* downwards is upwards in the mirrored mask */
    mask = m_select(m, down, m_call(m, "llvm.bitreverse", 1, mask, NULL, NULL), mask);
    bit = m_select(m, down, m_sub(m, m_const(m, 32, 31), base), base);
    found = m_and(m, mask, bl_math_shl(m, m_const(m, 32, -1), bit));
    offset = m_select(m, here, m_const(m, 32, 1), m_call_false(m, "llvm.abs", offset));
    found = nth_set_bit(m, found, offset);
    found = m_select(m, m_and(m, here, m_icmp(m, LLVMIntNE, found, base)), m_const(m, 32, -1), found);
    found = m_select(m, m_and(m, down, m_icmpc(m, LLVMIntNE, found, -1)), m_sub(m, m_const(m, 32, 31), found), found);
    m->out[0] = m_select(m, m_icmpc(m, LLVMIntULT, base, 32), found, m_const(m, 32, -1));
}

/* ---- prmt --------------------------------------------------------------------------------------- */

/* The selector of each mode by c's low two bits (PTX ISA, prmt). */
static LLVMValueRef prmt_selector(struct bl_math *m)
{
    static const uint16_t modes[][4] = {
        [BL_KIR_PRMT_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [BL_KIR_PRMT_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
        [BL_KIR_PRMT_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [BL_KIR_PRMT_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
        [BL_KIR_PRMT_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [BL_KIR_PRMT_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
    };
    const uint16_t *row = modes[m->attr->prmt];
    LLVMValueRef mode = m_andc(m, m->in[2], 3), selector = m_const(m, 32, row[3]);

    for (int i = 2; i >= 0; i--)
        selector = m_select(m, m_icmpc(m, LLVMIntEQ, mode, i), m_const(m, 32, row[i]), selector);
    return selector;
}

/* Byte moves that are known: one shuffle of bytes for a vector. */
static LLVMValueRef shuffle_bytes(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, uint32_t selector)
{
    LLVMBuilderRef builder = m->cg->builder;
    LLVMTypeRef byte = LLVMInt8TypeInContext(m->cg->context), word = LLVMInt32TypeInContext(m->cg->context);
    unsigned count = 4 * m->width;
    LLVMTypeRef bytes = LLVMVectorType(byte, count);
    LLVMValueRef mask[4 * BL_WARP], sevens[4 * BL_WARP], signs[4 * BL_WARP], moved;

    for (unsigned i = 0; i < count; i++) {
        uint32_t nibble = selector >> (4 * (i % 4)) & 15;
        mask[i] = LLVMConstInt(word, (nibble & 4 ? count : 0) + (i & ~3u) + (nibble & 3), false);
        signs[i] = LLVMConstInt(LLVMInt1TypeInContext(m->cg->context), nibble >> 3, false);
        sevens[i] = LLVMConstInt(byte, 7, false);
    }
    a = LLVMBuildBitCast(builder, a, bytes, "");
    b = LLVMBuildBitCast(builder, b, bytes, "");
    moved = LLVMBuildShuffleVector(builder, a, b, LLVMConstVector(mask, count), "");
    if (selector & 0x8888)
        moved = LLVMBuildSelect(builder, LLVMConstVector(signs, count),
                                LLVMBuildAShr(builder, moved, LLVMConstVector(sevens, count), ""), moved, "");
    return LLVMBuildBitCast(builder, moved, m_int_type(m, 32), "");
}

static LLVMValueRef select_byte(struct bl_math *m, LLVMValueRef pair, LLVMValueRef selector, unsigned i)
{
    LLVMValueRef nibble = m_lshrc(m, selector, 4 * i), byte, sign;

    byte = m_zresize(m, m_shlc(m, m_andc(m, nibble, 7), 3), 64);
    byte = m_shlc(m, m_zresize(m, m_lshr(m, pair, byte), 32), 24);
    sign = m_icmpc(m, LLVMIntNE, m_andc(m, nibble, 8), 0);
    byte = m_select(m, sign, m_ashrc(m, byte, 7), byte);
    return m_shlc(m, m_lshrc(m, byte, 24), 8 * i);
}

static void permute_bytes(struct bl_math *m)
{
    LLVMValueRef selector = m->attr->prmt == BL_KIR_PRMT_INDEX ? m->in[2] : prmt_selector(m), pair, result;
    uint32_t known;

    if (constant_word(selector, &known)) {
        m->out[0] = shuffle_bytes(m, m->in[0], m->in[1], known);
        return;
    }
    pair = m_or(m, m_zresize(m, m->in[0], 64), m_shlc(m, m_zresize(m, m->in[1], 64), 32));
    result = select_byte(m, pair, selector, 0);
    for (unsigned i = 1; i < 4; i++)
        result = m_or(m, result, select_byte(m, pair, selector, i));
    m->out[0] = result;
}

/* ---- lop3 --------------------------------------------------------------------------------------- */

/* Any function of two words by its table of four bits, indexed b * 2 + c. */
static LLVMValueRef logic2(struct bl_math *m, LLVMValueRef b, LLVMValueRef c, unsigned table)
{
    switch (table) {
    case 0x0:
        return m_const(m, 32, 0);
    case 0x1:
        return m_not(m, m_or(m, b, c));
    case 0x2:
        return m_and(m, m_not(m, b), c);
    case 0x3:
        return m_not(m, b);
    case 0x4:
        return m_and(m, b, m_not(m, c));
    case 0x5:
        return m_not(m, c);
    case 0x6:
        return m_xor(m, b, c);
    case 0x7:
        return m_not(m, m_and(m, b, c));
    default: /* the others are these inverted, or plain */
        return table == 0x8   ? m_and(m, b, c)
               : table == 0xa ? c
               : table == 0xc ? b
               : table == 0xe ? m_or(m, b, c)
                              : m_not(m, logic2(m, b, c, ~table & 0xf));
    }
}

/* a chooses between two functions of b and c. */
static LLVMValueRef logic3(struct bl_math *m, unsigned table)
{
    LLVMValueRef a = m->in[0], b = m->in[1], c = m->in[2];
    unsigned off = table & 0xf, on = table >> 4 & 0xf;

    if (on == off)
        return logic2(m, b, c, on);
    if (on == (~off & 0xf))
        return m_xor(m, a, logic2(m, b, c, off));
    if (off == 0)
        return m_and(m, a, logic2(m, b, c, on));
    if (on == 0)
        return m_and(m, m_not(m, a), logic2(m, b, c, off));
    if (on == 0xf)
        return m_or(m, a, logic2(m, b, c, off));
    if (off == 0xf)
        return m_or(m, m_not(m, a), logic2(m, b, c, on));
    return m_or(m, m_and(m, a, logic2(m, b, c, on)), m_and(m, m_not(m, a), logic2(m, b, c, off)));
}

/* ---- dot products ------------------------------------------------------------------------------- */

/* Part i of so many bits, as a number of 32 bits. */
static LLVMValueRef part(struct bl_math *m, LLVMValueRef word, unsigned i, unsigned bits, bool is_signed)
{
    word = m_shlc(m, word, 32 - bits * (i + 1));
    return is_signed ? m_ashrc(m, word, 32 - bits) : m_lshrc(m, word, 32 - bits);
}

/* dp4a: four bytes by four bytes; dp2a: two halves by the lower or upper two bytes. */
static void dot_product(struct bl_math *m, unsigned count)
{
    LLVMValueRef sum = m->in[2], a, b;

    for (unsigned i = 0; i < count; i++) {
        a = part(m, m->in[0], i, 32 / count, m->attr->a_signed);
        b = part(m, m->in[1], count == 2 && m->attr->hi ? i + 2 : i, 8, m->attr->b_signed);
        sum = m_add(m, sum, m_mul(m, a, b));
    }
    m->out[0] = sum;
}

/* ---- comparison and choice ---------------------------------------------------------------------- */

static bool compare(struct bl_math *m)
{
    static const struct {
        enum bl_kir_cmp cmp;
        LLVMIntPredicate predicate;
    } table[] = {
        {BL_KIR_EQ, LLVMIntEQ},  {BL_KIR_NE, LLVMIntNE},  {BL_KIR_LT, LLVMIntSLT}, {BL_KIR_LE, LLVMIntSLE}, {BL_KIR_GT, LLVMIntSGT},
        {BL_KIR_GE, LLVMIntSGE}, {BL_KIR_LO, LLVMIntULT}, {BL_KIR_LS, LLVMIntULE}, {BL_KIR_HI, LLVMIntUGT}, {BL_KIR_HS, LLVMIntUGE},
    };
    for (size_t i = 0; i < BL_LEN(table); i++)
        if (m->attr->cmp == table[i].cmp) {
            m->out[0] = m_icmp(m, table[i].predicate, m->in[0], m->in[1]);
            return true;
        }
    return false;
}

/* and, or, xor, not are for any type: they work on its bits. */
static void logic(struct bl_math *m)
{
    LLVMValueRef a = m_to_bits(m, m->in[0]), b = m->instr->operand_count > 1 ? m_to_bits(m, m->in[1]) : NULL;

    switch (m->instr->op) {
    case BL_KIR_OP_and:
        a = m_and(m, a, b);
        break;
    case BL_KIR_OP_or:
        a = m_or(m, a, b);
        break;
    case BL_KIR_OP_xor:
        a = m_xor(m, a, b);
        break;
    default:
        a = m_not(m, a);
        break;
    }
    m->out[0] = m_is_float(m->in[0]) ? m_from_bits(m, a) : a;
}

static void add_or_subtract(struct bl_math *m, LLVMOpcode opcode, const char *saturating)
{
    m->out[0] = m->attr->sat ? m_call(m, saturating, 2, m->in[0], m->in[1], NULL)
                             : LLVMBuildBinOp(m->cg->builder, opcode, m->in[0], m->in[1], "");
}

bool bl_math_integer(struct bl_math *m)
{
    LLVMValueRef a = m->in[0], b = m->instr->operand_count > 1 ? m->in[1] : NULL;

    switch (m->instr->op) {
    case BL_KIR_OP_add:
        add_or_subtract(m, LLVMAdd, "llvm.sadd.sat");
        return true;
    case BL_KIR_OP_sub:
        add_or_subtract(m, LLVMSub, "llvm.ssub.sat");
        return true;
    case BL_KIR_OP_mul:
        m->out[0] = m_mul(m, a, b);
        return true;
    case BL_KIR_OP_mulhi_s:
        return multiply_high(m, true);
    case BL_KIR_OP_mulhi_u:
        return multiply_high(m, false);
    case BL_KIR_OP_div_s:
        return divide(m, true, false);
    case BL_KIR_OP_div_u:
        return divide(m, false, false);
    case BL_KIR_OP_rem_s:
        return divide(m, true, true);
    case BL_KIR_OP_rem_u:
        return divide(m, false, true);
    case BL_KIR_OP_min_s:
        m->out[0] = m_call(m, "llvm.smin", 2, a, b, NULL);
        return true;
    case BL_KIR_OP_min_u:
        m->out[0] = m_umin(m, a, b);
        return true;
    case BL_KIR_OP_max_s:
        m->out[0] = m_call(m, "llvm.smax", 2, a, b, NULL);
        return true;
    case BL_KIR_OP_max_u:
        m->out[0] = m_call(m, "llvm.umax", 2, a, b, NULL);
        return true;
    case BL_KIR_OP_abs:
        m->out[0] = m_call_false(m, "llvm.abs", a);
        return true;
    case BL_KIR_OP_neg:
        m->out[0] = m_neg(m, a);
        return true;
    case BL_KIR_OP_add_carry:
        add_carry(m);
        return true;
    case BL_KIR_OP_sub_borrow:
        sub_borrow(m);
        return true;
    case BL_KIR_OP_and:
    case BL_KIR_OP_or:
    case BL_KIR_OP_xor:
    case BL_KIR_OP_not:
        logic(m);
        return true;
    case BL_KIR_OP_shl:
        m->out[0] = bl_math_shl(m, a, b);
        return true;
    case BL_KIR_OP_lshr:
        m->out[0] = bl_math_lshr(m, a, b);
        return true;
    case BL_KIR_OP_ashr:
        m->out[0] = bl_math_ashr(m, a, b);
        return true;
    case BL_KIR_OP_funnel_l:
        m->out[0] = funnel(m, true);
        return true;
    case BL_KIR_OP_funnel_r:
        m->out[0] = funnel(m, false);
        return true;
    case BL_KIR_OP_popc:
        m->out[0] = m_zresize(m, m_call(m, "llvm.ctpop", 1, a, NULL, NULL), 32);
        return true;
    case BL_KIR_OP_clz:
        m->out[0] = m_zresize(m, m_call_false(m, "llvm.ctlz", a), 32);
        return true;
    case BL_KIR_OP_brev:
        m->out[0] = m_call(m, "llvm.bitreverse", 1, a, NULL, NULL);
        return true;
    case BL_KIR_OP_bfind_s:
        find_high_bit(m, true);
        return true;
    case BL_KIR_OP_bfind_u:
        find_high_bit(m, false);
        return true;
    case BL_KIR_OP_fns:
        find_nth_set(m);
        return true;
    case BL_KIR_OP_bfe_s:
        extract_field(m, true);
        return true;
    case BL_KIR_OP_bfe_u:
        extract_field(m, false);
        return true;
    case BL_KIR_OP_bfi:
        insert_field(m);
        return true;
    case BL_KIR_OP_bmsk:
        make_mask(m);
        return true;
    case BL_KIR_OP_szext_s:
        extend_low(m, true);
        return true;
    case BL_KIR_OP_szext_u:
        extend_low(m, false);
        return true;
    case BL_KIR_OP_prmt:
        permute_bytes(m);
        return true;
    case BL_KIR_OP_lop3:
        m->out[0] = logic3(m, (unsigned)m->attr->imm & 0xff);
        return true;
    case BL_KIR_OP_dp4a:
        dot_product(m, 4);
        return true;
    case BL_KIR_OP_dp2a:
        dot_product(m, 2);
        return true;
    case BL_KIR_OP_icmp:
        return compare(m);
    case BL_KIR_OP_select:
        m->out[0] = m_select(m, a, b, m->in[2]);
        return true;
    default:
        return false;
    }
}
