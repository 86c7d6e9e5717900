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

/* ---- gathers of AVX2 -------------------------------------------------------------------------------------- */

/* Lanes first to first + count of a vector. */
static LLVMValueRef lanes_of(struct bl_cg *cg, LLVMValueRef vector, unsigned first, unsigned count)
{
    LLVMValueRef places[BL_WARP];
    for (unsigned i = 0; i < count; i++)
        places[i] = LLVMConstInt(LLVMInt32TypeInContext(cg->context), first + i, false);
    return LLVMBuildShuffleVector(cg->builder, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(places, count), "");
}

/* The parts, a power of two of them, one after the other. */
static LLVMValueRef join(struct bl_cg *cg, LLVMValueRef *parts, unsigned count, unsigned size)
{
    LLVMValueRef places[BL_WARP];
    for (; count > 1; count /= 2, size *= 2) {
        for (unsigned i = 0; i < 2 * size; i++)
            places[i] = LLVMConstInt(LLVMInt32TypeInContext(cg->context), i, false);
        for (unsigned k = 0; k < count / 2; k++)
            parts[k] = LLVMBuildShuffleVector(cg->builder, parts[2 * k], parts[2 * k + 1], LLVMConstVector(places, 2 * size), "");
    }
    return parts[0];
}

LLVMValueRef bl_cg_gather_avx2(struct bl_cg *cg, LLVMTypeRef type, LLVMValueRef base, LLVMValueRef index, unsigned scale,
                               LLVMValueRef mask)
{
    LLVMBuilderRef b = cg->builder;
    LLVMTypeRef element = LLVMGetElementType(type);
    bool wide = LLVMGetTypeKind(element) == LLVMDoubleTypeKind ||
                (LLVMGetTypeKind(element) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(element) == 64);
    bool wide_index = LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(index))) == 64;
    const char *name = wide ? (wide_index ? "llvm.x86.avx2.gather.q.q.256" : "llvm.x86.avx2.gather.d.q.256")
                            : (wide_index ? "llvm.x86.avx2.gather.q.d.256" : "llvm.x86.avx2.gather.d.d.256");
    unsigned count = wide || wide_index ? 4 : 8;
    LLVMTypeRef part = LLVMVectorType(LLVMIntTypeInContext(cg->context, wide ? 64 : 32), count);
    LLVMValueRef parts[BL_WARP], arguments[5];

    for (unsigned k = 0; k < BL_WARP / count; k++) {
        arguments[0] = LLVMConstNull(part);
        arguments[1] = base;
        arguments[2] = lanes_of(cg, index, k * count, count);
        arguments[3] = mask ? LLVMBuildSExt(b, lanes_of(cg, mask, k * count, count), part, "") : LLVMConstAllOnes(part);
        arguments[4] = LLVMConstInt(LLVMInt8TypeInContext(cg->context), scale, false);
        parts[k] = bl_cg_intrinsic(cg, name, 0, NULL, 5, arguments);
    }
    return LLVMBuildBitCast(b, join(cg, parts, BL_WARP / count, count), type, "");
}
