/* Products of integer matrices over the lanes of a warp (mma, wmma): each lane fetches the words of A's row and B's column that its
 * elements of D need, and sums their products. Where the fragments lie: PTX ISA, 9.7.14.5; with four lanes a row, a word of A or B
 * holds as many neighbouring elements as fit. Floats are not here: an NVIDIA GPU sums their products in a way of its own. */
#include "target/amdgpu/codegen.h"

struct product {
    struct bl_amd_func *f;
    enum bl_kir_matrix_type a, b;
    uint32_t flags;
    unsigned bits; /* of an element of A and B */
};

static unsigned element_bits(enum bl_kir_matrix_type type)
{
    switch (type) {
    case BL_KIR_MATRIX_S8:
    case BL_KIR_MATRIX_U8:
        return 8;
    case BL_KIR_MATRIX_S4:
    case BL_KIR_MATRIX_U4:
        return 4;
    case BL_KIR_MATRIX_B1:
        return 1;
    default:
        return 0;
    }
}

/* Element n of a word as i32. */
static LLVMValueRef element(const struct product *p, LLVMValueRef word, unsigned n, enum bl_kir_matrix_type type)
{
    LLVMBuilderRef b = p->f->cg->builder;
    bool is_signed = type == BL_KIR_MATRIX_S8 || type == BL_KIR_MATRIX_S4;

    word = LLVMBuildShl(b, word, a_i32(p->f, 32 - p->bits * (n + 1)), "");
    return is_signed ? LLVMBuildAShr(b, word, a_i32(p->f, 32 - p->bits), "")
                     : LLVMBuildLShr(b, word, a_i32(p->f, 32 - p->bits), "");
}

/* The sum of the products of two words' elements, as i32: at most 2^19. */
static LLVMValueRef dot(const struct product *p, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = p->f->cg->builder;
    LLVMTypeRef type = a_int(p->f, 32);
    LLVMValueRef sum = NULL, part;

    if (p->bits == 1) {
        part = p->flags & BL_KIR_MATRIX_AND ? LLVMBuildAnd(b, x, y, "") : LLVMBuildXor(b, x, y, "");
        return bl_cg_intrinsic(p->f->cg, "llvm.ctpop", 1, &type, 1, &part);
    }
    for (unsigned n = 0; n < 32 / p->bits; n++) {
        part = LLVMBuildMul(b, element(p, x, n, p->a), element(p, y, n, p->b), "");
        sum = sum ? LLVMBuildAdd(b, sum, part, "") : part;
    }
    return sum;
}

/* To i32, by clamping or by cutting. */
static LLVMValueRef narrow(const struct product *p, LLVMValueRef sum)
{
    LLVMTypeRef i64 = a_int(p->f, 64);
    LLVMValueRef most[2] = {sum, LLVMConstInt(i64, INT32_MAX, true)},
                 least[2] = {NULL, LLVMConstInt(i64, (uint64_t)INT32_MIN, true)};

    if (p->flags & BL_KIR_MATRIX_SATURATE) {
        least[0] = bl_cg_intrinsic(p->f->cg, "llvm.smin", 1, &i64, 2, most);
        sum = bl_cg_intrinsic(p->f->cg, "llvm.smax", 1, &i64, 2, least);
    }
    return LLVMBuildTrunc(p->f->cg->builder, sum, a_int(p->f, 32), "");
}

/* D's element of row half r and column c of two: C's plus the products along k. a, b: the words by block of columns, lane of four.
 */
static void multiply(const struct product *p, const struct bl_kir_instr *i, uint32_t blocks)
{
    struct bl_amd_func *f = p->f;
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i64 = a_int(f, 64);
    uint32_t halves = p->flags & BL_KIR_MATRIX_M16 ? 2 : 1, a_words = halves * blocks;
    LLVMValueRef lane = bl_amd_lane(f), row = LLVMBuildAnd(b, lane, a_i32(f, 28), ""), column, sums[4], x[2], y[2], from;

    column = LLVMBuildShl(b, LLVMBuildAnd(b, lane, a_i32(f, 3), ""), a_i32(f, 3), "");
    for (uint32_t e = 0; e < 2 * halves; e++)
        sums[e] = LLVMBuildSExt(b, bl_amd_value(f, i->operands[a_words + blocks + e]), i64, "");
    for (uint32_t block = 0; block < blocks; block++)
        for (uint32_t t = 0; t < 4; t++) {
            for (uint32_t r = 0; r < halves; r++)
                x[r] = bl_amd_permute(f, bl_amd_value(f, i->operands[halves * block + r]), LLVMBuildOr(b, row, a_i32(f, t), ""));
            for (uint32_t c = 0; c < 2; c++) {
                from = LLVMBuildOr(b, column, a_i32(f, 4 * c + t), "");
                y[c] = bl_amd_permute(f, bl_amd_value(f, i->operands[a_words + block]), from);
            }
            for (uint32_t e = 0; e < 2 * halves; e++)
                sums[e] = LLVMBuildAdd(b, sums[e], LLVMBuildSExt(b, dot(p, x[e / 2], y[e % 2]), i64, ""), "");
        }
    for (uint32_t e = 0; e < 2 * halves; e++)
        bl_amd_define(f, i->results[e], narrow(p, sums[e]));
}

bool bl_amd_matrix(struct bl_amd_func *f, const struct bl_kir_instr *i)
{
    struct product p = {.f = f};
    uint64_t code = i->attr->imm;
    uint32_t halves, blocks;

    if (i->op != BL_KIR_OP_matrix)
        return false;
    p.a = BL_KIR_MATRIX_A(code);
    p.b = BL_KIR_MATRIX_B(code);
    p.flags = BL_KIR_MATRIX_FLAGS(code);
    p.bits = element_bits(p.a);
    halves = p.flags & BL_KIR_MATRIX_M16 ? 2 : 1;
    blocks = p.bits ? BL_KIR_MATRIX_K(code) * p.bits / 128 : 0;
    if (!p.bits || element_bits(p.b) != p.bits || BL_KIR_MATRIX_D(code) != BL_KIR_MATRIX_S32 || (p.flags & BL_KIR_MATRIX_SPARSE) ||
        !blocks || BL_KIR_MATRIX_K(code) * p.bits != 128 * blocks || i->operand_count != halves * blocks + blocks + 2 * halves ||
        i->result_count != 2 * halves) {
        bl_amd_unsupported(f, i, "products of matrices of floats and sparse ones are not supported on AMD GPUs yet");
        return true;
    }
    multiply(&p, i, blocks);
    return true;
}
