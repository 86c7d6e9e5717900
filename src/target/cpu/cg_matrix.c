/* Multiplications of matrices: a call of the runtime for the whole warp, operands and results by way of memory. */
#include "target/cpu/cg_matrix.h"

enum { MOST_WORDS = 32, MOST_RESULTS = 8 };

static LLVMValueRef place(struct bl_cg_func *f, LLVMTypeRef vector, LLVMValueRef array, uint32_t n)
{
    return bl_cg_element(f, vector, array, LLVMConstInt(LLVMInt64TypeInContext(f->cg->context), n, false));
}

bool bl_cg_matrix(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef words = LLVMVectorType(LLVMInt32TypeInContext(f->cg->context), BL_WARP);
    struct bl_cg *cg = f->cg;

    if (i->operand_count > MOST_WORDS || i->result_count > MOST_RESULTS)
        return false;
    if (cg->matrix_function != f->function) { /* one of each for all such ops of a function */
        cg->matrix_function = f->function;
        cg->matrix_words = bl_cg_array(f, LLVMArrayType(words, MOST_WORDS), "matrices");
        cg->matrix_results = bl_cg_array(f, LLVMArrayType(words, MOST_RESULTS), "product");
    }
    LLVMValueRef arguments[3] = {LLVMConstInt(LLVMInt64TypeInContext(cg->context), i->attr->imm, false), cg->matrix_words,
                                 cg->matrix_results};
    for (uint32_t o = 0; o < i->operand_count; o++)
        LLVMBuildStore(b, bl_cg_vector(f, i->operands[o]), place(f, words, arguments[1], o));
    BL_CG_HELPER(f, matrix, LLVMVoidTypeInContext(cg->context), 3, arguments);
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_cg_define_vector(f, i->results[r], LLVMBuildLoad2(b, words, place(f, words, arguments[2], r), ""));
    return true;
}
