/* Tensor maps: CUDA's descriptions of tensors and tiles to what the device reads (device/tensor_map.h). */
#include "device/tensor_map.h"

#include "cuda/driver/driver.h"

enum {
    MAP_ALIGN = 64,
    BASE_ALIGN = 16,
    STRIDE_ALIGN = 16,
    ROW_ALIGN = 16, /* bytes of a tile's row */
    MOST_STEP = 8,
};
static const uint64_t most_elements = UINT64_C(1) << 32, most_stride = UINT64_C(1) << 40;

/* Bytes; 0: not a type. */
static uint32_t size_of(CUtensorMapDataType type)
{
    static const uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    return (unsigned)type < BL_LEN(sizes) ? sizes[type] : 0;
}

static bool is_float(CUtensorMapDataType type)
{
    return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

static bool fill_dimension(struct bl_tensor_map *map, uint32_t d, uint64_t elements, uint32_t box, uint32_t step)
{
    if (!elements || elements > most_elements || !box || box > BL_TENSOR_MOST_BOX || !step || step > MOST_STEP)
        return false;
    map->last[d] = (uint32_t)(elements - 1);
    map->box_last[d] = (uint8_t)(box - 1);
    map->steps[d] = d ? (uint8_t)step : 1; /* there are no steps inside a row */
    return true;
}

CUresult bl_cuTensorMapEncodeTiled(CUtensorMap *tensor_map, CUtensorMapDataType type, cuuint32_t rank, void *global_address,
                                   const cuuint64_t *global_dim, const cuuint64_t *global_strides, const cuuint32_t *box_dim,
                                   const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill)
{
    static const uint32_t spans[] = {UINT32_MAX, 32, 64, 128};
    struct bl_tensor_map map = {.magic = BL_TENSOR_MAP_MAGIC, .type = (uint8_t)type, .dimensions = (uint8_t)rank};
    uint32_t size = size_of(type);

    if (!tensor_map || (uintptr_t)tensor_map % MAP_ALIGN || !size || !rank || rank > BL_TENSOR_DIMENSIONS || !global_address ||
        (uintptr_t)global_address % BASE_ALIGN || !global_dim || (rank > 1 && !global_strides) || !box_dim || !element_strides ||
        (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B || (unsigned)swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        (unsigned)l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)oob_fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA || (oob_fill && !is_float(type)))
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d < rank; d++)
        if (!fill_dimension(&map, d, global_dim[d], box_dim[d], element_strides[d]))
            return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t d = 0; d + 1 < rank; d++) {
        if (global_strides[d] % STRIDE_ALIGN || global_strides[d] >= most_stride)
            return CUDA_ERROR_INVALID_VALUE;
        map.strides[d] = global_strides[d];
    }
    if (type > CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ || interleave || (unsigned)swizzle >= BL_LEN(spans)) {
        bl_error_log("cuTensorMapEncodeTiled: no interleaved layouts, no TFLOAT32 and no swizzle atoms but of 16 bytes here yet");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (box_dim[0] * size % ROW_ALIGN || box_dim[0] * size > spans[swizzle])
        return CUDA_ERROR_INVALID_VALUE;
    map.base = (uint64_t)(uintptr_t)global_address;
    map.swizzle = (uint8_t)swizzle;
    map.nan_outside = oob_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    memcpy(tensor_map, &map, sizeof(map));
    return CUDA_SUCCESS;
}

CUresult bl_cuTensorMapReplaceAddress(CUtensorMap *tensor_map, void *global_address)
{
    struct bl_tensor_map map;

    if (!tensor_map || !global_address || (uintptr_t)global_address % BASE_ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&map, tensor_map, sizeof(map));
    if (map.magic != BL_TENSOR_MAP_MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    map.base = (uint64_t)(uintptr_t)global_address;
    memcpy(tensor_map, &map, sizeof(map));
    return CUDA_SUCCESS;
}
