/* The GPU's function unit, bit for bit: rcp, rsqrt, sqrt, ex2, lg2, sin, cos and tanh as an H200 computes them for each argument
 * that is no subnormal number (all 2^32 arguments of each: tests/ptx/record_approx.py). Called by math_approx.c.
 *
 * The unit cuts the argument's range into pieces, 64 or 128 as a rule, and has a quadratic for each:
 *     c0 + c1 * x + c2 * square(x)
 * in fixed point, where x is the place in the piece, 17 bits (16 for rcp). The square is cut: of the partial products of x's upper
 * 15 bits those of the columns below 2^15 are left out. The sum is cut to 24 bits. All of it is exact in f64, and there it is done.
 */
#include <llvm/Config/llvm-config.h>
#include <stdio.h>

#include "target/cpu/math_build.h"

struct row {
    int32_t constant, slope, curvature;
};
#include "target/cpu/math_tables.def"

struct table {
    const char *name;
    const struct row *rows;
    unsigned count;
    int constant_shift, bias; /* of the constant's unit against the sum's; what all constants have below that */
    int slope_sign, curvature_sign;
};

#define BL_TABLE(of, shift, bias, slope, curvature)                                                                                \
    {                                                                                                                              \
#of, of##_rows, BL_LEN(of##_rows), shift, bias, slope, curvature                                                           \
    }
static const struct table rcp_table = BL_TABLE(rcp, 13, 2023, -1, 1), rsqrt_table = BL_TABLE(rsqrt, 14, 16383, -1, 1),
                          sqrt_table = BL_TABLE(sqrt, 15, 32767, 1, -1), ex2_table = BL_TABLE(ex2, 13, 6114, 1, 1),
                          lg2_table = BL_TABLE(lg2, 12, 837, 1, -1), sin_table = BL_TABLE(sin, 14, 0, 1, -1),
                          tanh_table = BL_TABLE(tanh, 15, 0, 1, -1);

/* ---- looking up --------------------------------------------------------------------------------- */

enum {
    TABLE_LIMIT = 128,
    REGISTER = 16,    /* numbers of 32 bits in 512 */
    INLINE_CALLS = 8, /* of one function in a module */
};

/* Of two registers' numbers those at index mod 32, for 16 lanes. */
static LLVMValueRef permute(struct bl_math *m, const LLVMValueRef *registers, LLVMValueRef index)
{
    return bl_cg_intrinsic(m->cg, "llvm.x86.avx512.vpermi2var.d.512", 0, NULL, 3,
                           (LLVMValueRef[]){registers[0], index, registers[1]});
}

/* The table stands in registers: pairs of them, then a choice by each higher bit of the index. */
static LLVMValueRef look_up_registers(struct bl_math *m, LLVMValueRef *numbers, unsigned count, LLVMValueRef index)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->cg->context);
    LLVMValueRef registers[TABLE_LIMIT / REGISTER], found[TABLE_LIMIT / REGISTER / 2], bits[REGISTER], high;

    for (unsigned i = 0; i < count / REGISTER; i++)
        registers[i] = LLVMConstVector(numbers + i * REGISTER, REGISTER);
    for (unsigned i = 0; i < count / REGISTER / 2; i++)
        found[i] = permute(m, registers + 2 * i, index);
    for (unsigned bit = 32, left = count / 32; left > 1; bit *= 2, left /= 2) {
        for (unsigned i = 0; i < REGISTER; i++)
            bits[i] = LLVMConstInt(i32, bit, false);
        high = LLVMBuildAnd(m->cg->builder, index, LLVMConstVector(bits, REGISTER), "");
        high = LLVMBuildICmp(m->cg->builder, LLVMIntNE, high, LLVMConstNull(LLVMTypeOf(high)), "");
        for (unsigned i = 0; i < left / 2; i++)
            found[i] = m_select(m, high, found[2 * i + 1], found[2 * i]);
    }
    return found[0];
}

/* Lanes from..from+count of a vector. */
static LLVMValueRef part(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, unsigned from, unsigned count)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->cg->context);
    LLVMValueRef lanes[BL_WARP];

    for (unsigned i = 0; i < count; i++)
        lanes[i] = LLVMConstInt(i32, from + i, false);
    return LLVMBuildShuffleVector(m->cg->builder, a, b, LLVMConstVector(lanes, count), "");
}

static LLVMValueRef table_global(struct bl_math *m, const char *table, const char *column, LLVMValueRef *numbers, unsigned count)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->cg->context), type = LLVMArrayType2(i32, count);
    LLVMValueRef global;
    char name[48];

    snprintf(name, sizeof(name), "bailey.table.%s.%s", table, column);
    global = LLVMGetNamedGlobal(m->cg->module, name);
    if (global)
        return global;
    global = LLVMAddGlobalInAddressSpace(m->cg->module, type, name, m->cg->features.amdgcn ? 4 : 0); /* 4: constant memory */
    LLVMSetInitializer(global, LLVMConstArray2(i32, numbers, count));
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 4);
    return global;
}

/* By a gather. */
static LLVMValueRef look_up_memory(struct bl_math *m, LLVMValueRef global, LLVMValueRef index)
{
    LLVMBuilderRef b = m->cg->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->cg->context), types[2];
    LLVMValueRef at, arguments[4], align = LLVMConstInt(i32, 4, false), all;

    if (m->width == BL_WARP && m->cg->features.avx2 && !m->cg->features.avx512)
        return bl_cg_gather_avx2(m->cg, m_int_type(m, 32), global, index, 4, NULL);
    index = m_zresize(m, index, 64);
    at = LLVMBuildInBoundsGEP2(b, i32, global, &index, 1, "");
    if (m->width == 1)
        return LLVMBuildLoad2(b, i32, at, "");
    all = LLVMConstAllOnes(m_int_type(m, 1));
    types[0] = m_int_type(m, 32);
    types[1] = LLVMTypeOf(at);
    arguments[0] = at;
    arguments[1] = LLVM_VERSION_MAJOR >= 22 ? all : align;
    arguments[2] = LLVM_VERSION_MAJOR >= 22 ? LLVMGetUndef(types[0]) : all;
    arguments[3] = LLVMGetUndef(types[0]);
    return bl_cg_intrinsic(m->cg, "llvm.masked.gather", 2, types, LLVM_VERSION_MAJOR >= 22 ? 3 : 4, arguments);
}

/* numbers[index]; count is at most TABLE_LIMIT, and above every index. */
static LLVMValueRef look_up(struct bl_math *m, const char *table, const char *column, const int32_t *numbers, unsigned count,
                            LLVMValueRef index)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(m->cg->context);
    LLVMValueRef constants[TABLE_LIMIT], low, high;
    unsigned size = count <= 32 ? 32 : count <= 64 ? 64 : TABLE_LIMIT;

    for (unsigned i = 0; i < size; i++)
        constants[i] = LLVMConstInt(i32, i < count ? (uint32_t)numbers[i] : 0, false);
    if (m->width == 1 || !m->cg->features.avx512)
        return look_up_memory(m, table_global(m, table, column, constants, size), index);
    low = look_up_registers(m, constants, size, part(m, index, index, 0, BL_WARP / 2));
    high = look_up_registers(m, constants, size, part(m, index, index, BL_WARP / 2, BL_WARP / 2));
    return part(m, low, high, 0, BL_WARP);
}

/* ---- the quadratic ------------------------------------------------------------------------------ */

/* Bytes table[index mod 64], where what is above the lowest byte of the result means nothing. */
static LLVMValueRef look_up_bytes(struct bl_math *m, const uint8_t *table, LLVMValueRef index)
{
    LLVMTypeRef i8 = LLVMInt8TypeInContext(m->cg->context), bytes = LLVMVectorType(i8, 64);
    LLVMTypeRef words = LLVMVectorType(LLVMInt32TypeInContext(m->cg->context), REGISTER);
    LLVMValueRef numbers[64], halves[2], at;

    for (unsigned i = 0; i < 64; i++)
        numbers[i] = LLVMConstInt(i8, table[i], false);
    for (unsigned h = 0; h < 2; h++) {
        at = LLVMBuildBitCast(m->cg->builder, part(m, index, index, h * REGISTER, REGISTER), bytes, "");
        at = bl_cg_intrinsic(m->cg, "llvm.x86.avx512.permvar.qi.512", 0, NULL, 2,
                             (LLVMValueRef[]){LLVMConstVector(numbers, 64), at});
        halves[h] = LLVMBuildBitCast(m->cg->builder, at, words, "");
    }
    return part(m, halves[0], halves[1], 0, BL_WARP);
}

/* For square: the sum of the products of h's and l's bits in the columns below 6, by their octal digits. */
static LLVMValueRef low_columns(struct bl_math *m, LLVMValueRef x, LLVMValueRef h)
{
    LLVMValueRef products, corners, low = m_andc(m, x, 7);
    uint8_t product[64], corner[64]; /* corner: of two digits, the columns below 3 */

    for (unsigned i = 0; i < 64; i++) {
        unsigned a = i & 7, b = i >> 3;
        product[i] = (uint8_t)(a * b);
        corner[i] = (uint8_t)((a & 1) * b + (a & 2) * (b & 3) + (a & 4) * (b & 1));
    }
    products = look_up_bytes(m, product, m_or(m, m_andc(m, m_lshrc(m, x, 5), 0x38), low));
    corners = look_up_bytes(m, corner, m_or(m, m_andc(m, x, 0x38), m_andc(m, h, 7)));
    corners = m_add(m, corners, look_up_bytes(m, corner, m_or(m, m_andc(m, h, 0x38), low)));
    return m_add(m, m_andc(m, products, 255), m_shlc(m, m_andc(m, corners, 255), 3));
}

/* The square of 15 bits, in units of 2^15, without the partial products of lower columns. With x = 256 * h + l nothing of l * l is
 * left, all of h * h, and of h * l what bit a of h has of l >> (6 - a). */
static LLVMValueRef square(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef h = m_lshrc(m, x, 8), l = m_andc(m, x, 255), sum, zero = m_const(m, 32, 0), bit;

    if (m->width != 1 && m->cg->features.avx512_vbmi) {
        sum = m_mul(m, h, m_sub(m, x, m_shlc(m, h, 7)));
        return m_lshrc(m, m_sub(m, sum, low_columns(m, x, h)), 6);
    }
    sum = m_shlc(m, m_mul(m, h, h), 1);
    for (unsigned a = 0; a < 7; a++) {
        bit = m_icmpc(m, LLVMIntNE, m_andc(m, x, INT64_C(256) << a), 0);
        sum = m_add(m, sum, m_select(m, bit, m_lshrc(m, l, 6 - a), zero));
    }
    return sum;
}

static LLVMValueRef to_f64(struct bl_math *m, LLVMValueRef i32)
{
    return LLVMBuildSIToFP(m->cg->builder, i32, m_f64_type(m), "");
}

/* a * b + c where that is exact, fused or not. */
static LLVMValueRef exact(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    return bl_math_has_fma(m) ? m_call(m, "llvm.fma", 3, a, b, c) : m_fadd(m, m_fmul(m, a, b), c);
}

static LLVMValueRef look_up_column(struct bl_math *m, const struct table *table, unsigned column, LLVMValueRef piece)
{
    static const char *const names[] = {"constant", "slope", "curvature", "both"};
    int32_t numbers[TABLE_LIMIT];

    for (unsigned i = 0; i < table->count; i++) {
        const struct row *row = &table->rows[i];
        const int32_t columns[] = {row->constant, row->slope, row->curvature,
                                   (int32_t)((uint32_t)row->slope << 13 | (uint32_t)row->curvature)};
        numbers[i] = columns[column];
    }
    return look_up(m, table->name, names[column], numbers, table->count, piece);
}

struct piece { /* of a quadratic, and where in it: x of 17 bits (rcp: 16), and what square makes of it */
    LLVMValueRef constant, slope, curvature, x, square;
};

static struct piece find_piece(struct bl_math *m, const struct table *table, LLVMValueRef number, LLVMValueRef x)
{
    struct piece p = {.constant = look_up_column(m, table, 0, number), .x = x};

    p.square = square(m, m_lshrc(m, x, table == &rcp_table ? 1 : 2));
    if (table == &tanh_table) { /* its numbers are wider */
        p.slope = look_up_column(m, table, 1, number);
        p.curvature = look_up_column(m, table, 2, number);
        return p;
    }
    p.curvature = look_up_column(m, table, 3, number);
    p.slope = m_lshrc(m, p.curvature, 13);
    p.curvature = m_andc(m, p.curvature, (1 << 13) - 1);
    return p;
}

/* The sum: an integer as f64. */
static LLVMValueRef interpolate(struct bl_math *m, const struct table *table, LLVMValueRef number, LLVMValueRef x)
{
    struct piece p = find_piece(m, table, number, x);
    LLVMValueRef sum, bent;

    sum = exact(m, to_f64(m, p.constant), m_f64(m, (double)(1 << table->constant_shift)), m_f64(m, table->bias));
    bent = LLVMBuildUIToFP(m->cg->builder, m_mul(m, p.curvature, p.square), m_f64_type(m), "");
    sum = table->curvature_sign < 0 ? m_fsub(m, sum, bent) : m_fadd(m, sum, bent);
    p.slope = to_f64(m, p.slope);
    return exact(m, table->slope_sign < 0 ? m_fneg(m, p.slope) : p.slope, to_f64(m, x), sum);
}

static LLVMValueRef add_signed(struct bl_math *m, LLVMValueRef a, LLVMValueRef b, int sign)
{
    return sign < 0 ? m_sub(m, a, b) : m_add(m, a, b);
}

/* The sum in units of four of the constants', cut, as i32: for the tables whose slopes have 17 bits and curvatures 12. The slope's
 * product is made in two parts, so that nothing overflows. */
static LLVMValueRef interpolate_integer(struct bl_math *m, const struct table *table, LLVMValueRef number, LLVMValueRef x)
{
    struct piece p = find_piece(m, table, number, x);
    LLVMValueRef small = m_addc(m, m_shlc(m, m_andc(m, p.constant, 3), (unsigned)table->constant_shift), table->bias);
    LLVMValueRef large = m_mul(m, p.slope, m_lshrc(m, x, 3));

    small = add_signed(m, small, m_mul(m, p.curvature, p.square), table->curvature_sign);
    small = add_signed(m, small, m_mul(m, p.slope, m_andc(m, x, 7)), table->slope_sign);
    small = add_signed(m, m_ashrc(m, small, 3), large, table->slope_sign);
    return m_add(m, m_lshrc(m, p.constant, 2), m_ashrc(m, small, (unsigned)table->constant_shift - 1));
}

/* An f64 to f32 toward zero; neither is subnormal. */
static LLVMValueRef narrow_down(struct bl_math *m, LLVMValueRef x)
{
    return m_narrow(m, m_from_bits(m, m_andc(m, m_to_bits(m, x), ~INT64_C(0x1fffffff))));
}

/* ---- the functions ------------------------------------------------------------------------------ */

/* Of an f32, or of an f64's upper half: the bits below the sign. */
struct format {
    unsigned mantissa;
    int64_t bias, infinity;
};
static const struct format single = {23, 127, 0x7f800000}, upper_double = {20, 1023, 0x7ff00000};

static LLVMValueRef reciprocal_bits(struct bl_math *m, LLVMValueRef magnitude, struct format f)
{
    unsigned drop = 23 - f.mantissa;
    LLVMValueRef fraction = m_shlc(m, m_andc(m, magnitude, (1 << f.mantissa) - 1), drop), y;

    y = interpolate_integer(m, &rcp_table, m_lshrc(m, fraction, 16), m_andc(m, fraction, 0xffff));
    y = m_lshrc(m, y, drop);
    return m_sub(m, m_addc(m, y, (2 * f.bias - 2) << f.mantissa), m_andc(m, magnitude, f.infinity));
}

/* 1 / sqrt(x) and sqrt(x): x = 4^half * fraction, where fraction is in [1, 4). */
static LLVMValueRef root_bits(struct bl_math *m, LLVMValueRef magnitude, struct format f, bool reciprocal)
{
    unsigned drop = 23 - f.mantissa;
    LLVMValueRef offset = m_addc(m, magnitude, -(f.bias << f.mantissa)), half = m_ashrc(m, offset, f.mantissa + 1), fraction, y,
                 one;

    fraction = m_shlc(m, m_andc(m, offset, (2 << f.mantissa) - 1), drop);
    y = interpolate_integer(m, reciprocal ? &rsqrt_table : &sqrt_table, m_lshrc(m, fraction, 17), m_andc(m, fraction, 0x1ffff));
    one = m_icmpc(m, LLVMIntEQ, fraction, 0);
    if (reciprocal) /* powers of four are exact, beside the quadratic */
        y = m_select(m, one, m_const(m, 32, 0x1000000), y);
    y = m_addc(m, m_lshrc(m, y, drop), (f.bias - (reciprocal ? 2 : 1)) << f.mantissa);
    half = m_shlc(m, half, f.mantissa);
    return reciprocal ? m_sub(m, y, half) : m_add(m, y, half);
}

LLVMValueRef bl_math_table_f64(struct bl_math *m, enum bl_kir_op op, LLVMValueRef magnitude)
{
    LLVMValueRef y;

    if (op == BL_KIR_OP_frsqrt)
        return root_bits(m, magnitude, upper_double, true);
    y = reciprocal_bits(m, magnitude, upper_double);
    return m_select(m, m_icmpc(m, LLVMIntSLT, y, 0x100000), m_const(m, 32, 0), y);
}

static LLVMValueRef with_sign(struct bl_math *m, LLVMValueRef bits, LLVMValueRef of)
{
    return m_or(m, bits, m_andc(m, of, 0x80000000));
}

static LLVMValueRef is_zero(struct bl_math *m, LLVMValueRef magnitude)
{
    return m_icmpc(m, LLVMIntULT, magnitude, 0x800000);
}

static LLVMValueRef reciprocal(struct bl_math *m, LLVMValueRef bits, LLVMValueRef magnitude)
{
    LLVMValueRef y = reciprocal_bits(m, magnitude, single), zero = m_const(m, 32, 0);

    /* what would be subnormal: zero; infinity comes to that too */
    y = m_select(m, m_icmpc(m, LLVMIntSLT, y, 0x800000), zero, y);
    y = m_select(m, is_zero(m, magnitude), m_const(m, 32, 0x7f800000), y);
    return m_from_bits(m, with_sign(m, y, bits));
}

static LLVMValueRef root(struct bl_math *m, LLVMValueRef bits, LLVMValueRef magnitude, bool reciprocal)
{
    LLVMValueRef y = root_bits(m, magnitude, single, reciprocal), infinite = m_icmpc(m, LLVMIntEQ, magnitude, 0x7f800000), small;

    y = m_select(m, infinite, reciprocal ? m_const(m, 32, 0) : magnitude, y);
    y = m_select(m, m_icmpc(m, LLVMIntSLT, bits, 0), m_const(m, 32, 0x7fffffff), y);
    small = with_sign(m, m_const(m, 32, reciprocal ? 0x7f800000 : 0), bits);
    return m_from_bits(m, m_select(m, is_zero(m, magnitude), small, y));
}

/* |x| is cut to 23 bits behind the point; a negative number's bits are then inverted, where there are any. */
static LLVMValueRef power(struct bl_math *m, LLVMValueRef x)
{
    LLVMValueRef size = m_fabs(m, x), fixed, inverted, y, negative = m_icmpc(m, LLVMIntSLT, m_to_bits(m, x), 0), whole;

    /* NaN: anything */
    size = m_select(m, m_fcmp(m, LLVMRealOLT, size, m_f32(m, 160)), size, m_f32(m, 160));
    fixed = LLVMBuildFPToSI(m->cg->builder, m_fmul(m, size, m_f32(m, 0x1p23)), m_int_type(m, 32), "");
    whole = m_icmpc(m, LLVMIntEQ, m_andc(m, fixed, 0x7fffff), 0);
    inverted = m_select(m, whole, m_neg(m, fixed), m_not(m, fixed));
    fixed = m_select(m, negative, inverted, fixed);
    y = interpolate_integer(m, &ex2_table, m_andc(m, m_lshrc(m, fixed, 17), 63), m_andc(m, fixed, 0x1ffff));
    y = m_add(m, m_addc(m, y, 0x3f000000), m_andc(m, fixed, ~INT64_C(0x7fffff)));
    y = m_select(m, m_icmpc(m, LLVMIntSLT, y, 0x800000), m_const(m, 32, 0), y);
    return m_select(m, m_fcmp(m, LLVMRealOGE, x, m_f32(m, 128)), m_f32(m, __builtin_inf()), m_from_bits(m, y));
}

/* The exponent and the fraction's logarithm in fixed point; a negative sum's bits are inverted, then the last two are cleared. */
static LLVMValueRef logarithm(struct bl_math *m, LLVMValueRef x, LLVMValueRef bits, LLVMValueRef magnitude)
{
    LLVMValueRef y, sign, exponent = m_addc(m, m_lshrc(m, magnitude, 23), -127), infinity = m_f32(m, __builtin_inf());

    y = interpolate(m, &lg2_table, m_andc(m, m_lshrc(m, magnitude, 17), 63), m_andc(m, magnitude, 0x1ffff));
    y = exact(m, to_f64(m, exponent), m_f64(m, 0x1p38), y);
    y = m_select(m, m_fcmp(m, LLVMRealOLT, y, m_f64(m, 0)), m_fsub(m, m_f64(m, -1), y), y);
    y = bl_math_integral(m, m_fmul(m, y, m_f64(m, 0.25)), BL_KIR_RZ);
    sign = m_select(m, m_icmpc(m, LLVMIntULT, magnitude, 0x3f800000), m_const(m, 32, INT32_MIN), m_const(m, 32, 0));
    y = m_from_bits(m, m_or(m, m_to_bits(m, m_fmul(m, narrow_down(m, y), m_f32(m, 0x1p-36))), sign));
    y = m_select(m, m_icmpc(m, LLVMIntEQ, magnitude, 0x3f800000), m_f32(m, 0), y);
    y = m_select(m, m_icmpc(m, LLVMIntEQ, magnitude, 0x7f800000), x, y);
    y = m_select(m, m_icmpc(m, LLVMIntSLT, bits, 0), m_f32(m, __builtin_nan("")), y);
    return m_select(m, is_zero(m, magnitude), m_fneg(m, infinity), y);
}

/* In turns: a product that is cut to f32 and then to 25 bits behind the point. A quarter turn is 23 bits; every other quarter is
 * gone through backwards, by inverted bits. */
static LLVMValueRef turn(struct bl_math *m, LLVMValueRef x, LLVMValueRef bits, bool cosine)
{
    LLVMValueRef turns, place, odd, y, sign, finite = m_fcmp(m, LLVMRealOLT, m_fabs(m, x), m_f32(m, __builtin_inf()));

    turns = m_fabs(m, m_select(m, finite, x, m_f32(m, 0)));
    turns = bl_math_directed(m, BL_KIR_OP_fmul, turns, m_f32(m, 0x1.45f306p-3), NULL, BL_KIR_RZ);
    turns = m_fmul(m, m_fsub(m, turns, bl_math_integral(m, turns, BL_KIR_RZ)), m_f32(m, 0x1p25));
    place = LLVMBuildFPToSI(m->cg->builder, turns, m_int_type(m, 32), "");
    if (cosine)
        place = m_addc(m, place, 1 << 23);
    sign = m_shlc(m, place, 7);
    if (!cosine)
        sign = m_xor(m, sign, bits);
    odd = m_icmpc(m, LLVMIntNE, m_andc(m, place, 1 << 23), 0);
    place = m_select(m, odd, m_not(m, place), place);
    y = interpolate(m, &sin_table, m_andc(m, m_lshrc(m, place, 17), 63), m_andc(m, place, 0x1ffff));
    y = m_from_bits(m, with_sign(m, m_to_bits(m, m_fmul(m, narrow_down(m, y), m_f32(m, 0x1p-39))), sign));
    return m_select(m, finite, y, m_f32(m, __builtin_nan("")));
}

/* From 2^-8 to 8 each binade has its own number of pieces. */
static LLVMValueRef hyperbolic_tangent(struct bl_math *m, LLVMValueRef x, LLVMValueRef bits, LLVMValueRef magnitude)
{
    static const uint8_t piece_bits[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3};
    int32_t binades[16] = {0}; /* by exponent: the first piece << 8 | the place's bits */
    LLVMValueRef binade, place, fraction = m_andc(m, magnitude, 0x7fffff), piece, y, inside;

    for (int32_t i = 0, first = 0; i < (int32_t)BL_LEN(piece_bits); first += 1 << piece_bits[i++])
        binades[i] = first << 8 | (23 - piece_bits[i]);
    for (unsigned i = BL_LEN(piece_bits); i < BL_LEN(binades); i++)
        binades[i] = 23;
    inside = m_andc(m, m_addc(m, m_lshrc(m, magnitude, 23), -119), 15);
    binade = look_up(m, "tanh", "binade", binades, BL_LEN(binades), inside);
    place = m_andc(m, binade, 31);
    piece = m_add(m, m_lshrc(m, binade, 8), m_lshr(m, fraction, place));
    place = m_andc(m, m_lshr(m, fraction, m_addc(m, place, -17)), 0x1ffff);
    y = interpolate(m, &tanh_table, piece, place);
    y = m_fmul(m, narrow_down(m, y), m_f32(m, 0x1p-39));
    y = m_select(m, m_icmpc(m, LLVMIntUGE, magnitude, 0x41000000), m_f32(m, 1), y);
    y = m_from_bits(m, with_sign(m, m_to_bits(m, y), bits));
    return m_select(m, m_icmpc(m, LLVMIntULT, magnitude, 0x3b800000), x, y);
}

static LLVMValueRef function_of_unit(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    LLVMValueRef bits = m_to_bits(m, x), magnitude = m_andc(m, bits, 0x7fffffff);

    switch (op) {
    case BL_KIR_OP_frcp:
        return reciprocal(m, bits, magnitude);
    case BL_KIR_OP_frsqrt:
    case BL_KIR_OP_fsqrt:
        return root(m, bits, magnitude, op == BL_KIR_OP_frsqrt);
    case BL_KIR_OP_fex2:
        return power(m, x);
    case BL_KIR_OP_flg2:
        return logarithm(m, x, bits, magnitude);
    case BL_KIR_OP_fsin:
    case BL_KIR_OP_fcos:
        return turn(m, x, bits, op == BL_KIR_OP_fcos);
    default:
        return hyperbolic_tangent(m, x, bits, magnitude);
    }
}

/* An LLVM function of the module, made when first needed. It has the attributes of the function that is being generated. */
static LLVMValueRef new_function(struct bl_math *m, enum bl_kir_op op, const char *name, LLVMTypeRef type)
{
    LLVMBuilderRef outer = m->cg->builder;
    LLVMValueRef caller = LLVMGetBasicBlockParent(LLVMGetInsertBlock(outer)), x, y;
    LLVMValueRef function = LLVMAddFunction(m->cg->module, name, type);
    unsigned noinline_kind = LLVMGetEnumAttributeKindForName("noinline", strlen("noinline"));
    unsigned count = LLVMGetAttributeCountAtIndex(caller, LLVMAttributeFunctionIndex);
    LLVMAttributeRef *attributes = BL_NEW_ARRAY(m->cg->arena, LLVMAttributeRef, count + 1);

    LLVMGetAttributesAtIndex(caller, LLVMAttributeFunctionIndex, attributes);
    for (unsigned i = 0; i < count; i++)
        if (!LLVMIsEnumAttribute(attributes[i]) || LLVMGetEnumAttributeKind(attributes[i]) != noinline_kind)
            LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attributes[i]);
    LLVMSetLinkage(function, LLVMInternalLinkage);
    m->cg->builder = LLVMCreateBuilderInContext(m->cg->context);
    LLVMPositionBuilderAtEnd(m->cg->builder, LLVMAppendBasicBlockInContext(m->cg->context, function, "entry"));
    x = LLVMGetParam(function, 0);
    y = function_of_unit(m, op, x);
    LLVMBuildRet(m->cg->builder, m_select(m, m_fcmp(m, LLVMRealUNO, x, x), m_f32(m, __builtin_nan("")), y));
    LLVMDisposeBuilder(m->cg->builder);
    m->cg->builder = outer;
    return function;
}

/* A kernel that calls often compiles faster and is smaller without copies of some 200 instructions in each place. */
static void limit_copies(struct bl_math *m, LLVMValueRef function)
{
    unsigned calls = 0, kind = LLVMGetEnumAttributeKindForName("noinline", strlen("noinline"));

    for (LLVMUseRef use = LLVMGetFirstUse(function); use && calls <= INLINE_CALLS; use = LLVMGetNextUse(use))
        calls++;
    if (calls > INLINE_CALLS)
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(m->cg->context, kind, 0));
}

LLVMValueRef bl_math_table_f32(struct bl_math *m, enum bl_kir_op op, LLVMValueRef x)
{
    LLVMTypeRef argument = m_f32_type(m), type = LLVMFunctionType(argument, &argument, 1, false);
    LLVMValueRef function, call;
    char name[48];

    if (op != BL_KIR_OP_frcp && op != BL_KIR_OP_fsqrt && (op < BL_KIR_OP_frsqrt || op > BL_KIR_OP_ftanh))
        return NULL;
    snprintf(name, sizeof(name), "bailey.unit.%s.%u", bl_kir_ops[op].name, m->width);
    function = LLVMGetNamedFunction(m->cg->module, name);
    if (!function)
        function = new_function(m, op, name, type);
    call = LLVMBuildCall2(m->cg->builder, type, function, &x, 1, "");
    limit_copies(m, function);
    return call;
}
