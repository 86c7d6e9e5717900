/* How kir values stand in LLVM IR: types, constants, intrinsics by name. For all files of the CPU code generator. */
#include "target/cpu/codegen.h"

LLVMTypeRef bl_cg_type(struct bl_cg *cg, enum bl_kir_type type, unsigned width)
{
    LLVMTypeRef element;

    switch (type) {
    case BL_KIR_VOID:
        return LLVMVoidTypeInContext(cg->context);
    case BL_KIR_F32:
        element = LLVMFloatTypeInContext(cg->context);
        break;
    case BL_KIR_F64:
        element = LLVMDoubleTypeInContext(cg->context);
        break;
    default:
        element = LLVMIntTypeInContext(cg->context, bl_kir_type_bits(type));
        break;
    }
    return width == 1 ? element : LLVMVectorType(element, width);
}

LLVMValueRef bl_cg_bits(struct bl_cg *cg, enum bl_kir_type type, unsigned width, uint64_t low, uint64_t high)
{
    LLVMTypeRef element = bl_cg_type(cg, type, 1);
    LLVMTypeRef integer = LLVMIntTypeInContext(cg->context, bl_kir_type_bits(type));
    LLVMValueRef value, lanes[BL_WARP];

    value = type == BL_KIR_I128 ? LLVMConstIntOfArbitraryPrecision(integer, 2, (uint64_t[]){low, high})
                                : LLVMConstInt(integer, low, false);
    if (element != integer)
        value = LLVMConstBitCast(value, element);
    if (width == 1)
        return value;
    for (unsigned i = 0; i < width; i++)
        lanes[i] = value;
    return LLVMConstVector(lanes, width);
}

LLVMValueRef bl_cg_intrinsic(struct bl_cg *cg, const char *name, unsigned type_count, LLVMTypeRef *types, unsigned count,
                             LLVMValueRef *arguments)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(cg->module, id, types, type_count);
    return LLVMBuildCall2(cg->builder, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

LLVMValueRef bl_cg_splat(struct bl_cg *cg, LLVMValueRef scalar)
{
    LLVMTypeRef vector = LLVMVectorType(LLVMTypeOf(scalar), BL_WARP);
    LLVMTypeRef mask = LLVMVectorType(LLVMInt32TypeInContext(cg->context), BL_WARP);
    LLVMValueRef lanes[BL_WARP], first;

    if (LLVMIsConstant(scalar)) {
        for (unsigned i = 0; i < BL_WARP; i++)
            lanes[i] = scalar;
        return LLVMConstVector(lanes, BL_WARP);
    }
    first = LLVMBuildInsertElement(cg->builder, LLVMGetPoison(vector), scalar,
                                   LLVMConstInt(LLVMInt32TypeInContext(cg->context), 0, false), "");
    return LLVMBuildShuffleVector(cg->builder, first, LLVMGetPoison(vector), LLVMConstNull(mask), "");
}
