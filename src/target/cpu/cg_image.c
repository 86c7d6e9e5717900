/* Textures and surfaces, bulk copies: a call of the runtime for all lanes, operands and results by way of memory. */
#include "target/cpu/cg_image.h"

enum { MOST_WORDS = 16, MOST_RESULTS = 4, MOST_OPERANDS = 8 };

static LLVMValueRef place(struct bl_cg_func *f, LLVMTypeRef vector, LLVMValueRef array, uint32_t n)
{
    return bl_cg_element(f, vector, array, LLVMConstInt(LLVMInt64TypeInContext(f->cg->context), n, false));
}

/* One for all such ops of a function. */
static void find_arrays(struct bl_cg_func *f, LLVMTypeRef words)
{
    struct bl_cg *cg = f->cg;
    if (cg->image_function == f->function)
        return;
    cg->image_function = f->function;
    cg->image_objects = bl_cg_array(f, LLVMVectorType(LLVMInt64TypeInContext(cg->context), BL_WARP), "objects");
    cg->image_words = bl_cg_array(f, LLVMArrayType(words, MOST_WORDS), "words");
    cg->image_results = bl_cg_array(f, LLVMArrayType(words, MOST_RESULTS), "results");
}

bool bl_cg_image(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    if (i->op != BL_KIR_OP_texture && i->op != BL_KIR_OP_surface)
        return false;
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->cg->context), words = LLVMVectorType(i32, BL_WARP);
    LLVMValueRef objects = bl_cg_vector(f, i->operands[0]);
    if (i->operand_count - 1 > MOST_WORDS || i->result_count > MOST_RESULTS)
        return false;
    find_arrays(f, words);
    LLVMValueRef arguments[5] = {bl_cg_mask_bits(f, f->at->mask), LLVMConstInt(i32, i->attr->imm, false), f->cg->image_objects,
                                 f->cg->image_words, f->cg->image_results};
    LLVMBuildStore(b, objects, arguments[2]);
    for (uint32_t o = 1; o < i->operand_count; o++)
        LLVMBuildStore(b, bl_cg_vector(f, i->operands[o]), place(f, words, arguments[3], o - 1));
    BL_CG_HELPER(f, image, LLVMVoidTypeInContext(f->cg->context), 5, arguments);
    for (uint32_t r = 0; r < i->result_count; r++)
        bl_cg_define_vector(f, i->results[r], LLVMBuildLoad2(b, words, place(f, words, arguments[4], r), ""));
    return true;
}

bool bl_cg_bulk(struct bl_cg_func *f, const struct bl_kir_instr *i)
{
    if (i->op != BL_KIR_OP_bulk || i->operand_count > MOST_OPERANDS)
        return false;
    LLVMBuilderRef b = f->cg->builder;
    LLVMTypeRef i32 = LLVMInt32TypeInContext(f->cg->context), words = LLVMVectorType(i32, BL_WARP);
    LLVMTypeRef wide = LLVMVectorType(LLVMInt64TypeInContext(f->cg->context), BL_WARP);
    LLVMValueRef arguments[4] = {bl_cg_mask_bits(f, f->at->mask), LLVMConstInt(i32, i->attr->imm, false),
                                 bl_cg_array(f, LLVMArrayType(wide, MOST_OPERANDS), "operands"), bl_cg_array(f, words, "results")};
    for (uint32_t o = 0; o < i->operand_count; o++)
        LLVMBuildStore(b, bl_cg_vector(f, i->operands[o]), place(f, wide, arguments[2], o));
    LLVMBuildStore(b, LLVMConstNull(words), arguments[3]);
    BL_CG_HELPER(f, bulk, LLVMVoidTypeInContext(f->cg->context), 4, arguments);
    bl_cg_define_vector(f, i->results[0], LLVMBuildLoad2(b, words, arguments[3], ""));
    return true;
}
