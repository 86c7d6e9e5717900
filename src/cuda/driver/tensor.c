/* Tensor maps: CUDA's descriptions of tensors and tiles to what the device reads (device/tensor_map.h). */
#include "device/tensor_map.h"

#include "cuda/driver/driver.h"

enum {
    MAP_ALIGN =
        16, /* not the 64 of the document: an H200's driver takes these, as all that is accepted here; tests/api/calls_cluster.cu */
    BASE_ALIGN = 16,
    STRIDE_ALIGN = 16,
    ROW_ALIGN = 16, /* bytes of a tile's row */
    MOST_STEP = 8,
    MOST_TILE = 227 << 10, /* bytes: shared memory of a CTA of capability 9.0 */
    SLICED_DIMENSIONS = 3, /* that an interleaved layout has at least */
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

/* By the elements of each dimension that a tile has. */
static bool fits(const struct bl_tensor_map *map, uint32_t size)
{
    uint64_t bytes = size;

    for (uint32_t d = 0; d < map->dimensions && bytes <= MOST_TILE; d++)
        bytes *= map->box_last[d] / map->steps[d] + 1u;
    return bytes <= MOST_TILE;
}

/* Alignments; an interleaved layout's are those of its slices. */
static bool fill_places(struct bl_tensor_map *map, const void *base, const cuuint64_t *strides)
{
    uint64_t align = map->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ? 32 : BASE_ALIGN;

    map->base = (uint64_t)(uintptr_t)base;
    for (uint32_t d = 0; d + 1 < map->dimensions; d++) {
        if (strides[d] % align || strides[d] >= most_stride)
            return false;
        map->strides[d] = strides[d];
    }
    return map->base % align == 0;
}

CUresult bl_cuTensorMapEncodeTiled(CUtensorMap *tensor_map, CUtensorMapDataType type, cuuint32_t rank, void *global_address,
                                   const cuuint64_t *global_dim, const cuuint64_t *global_strides, const cuuint32_t *box_dim,
                                   const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                   CUtensorMapL2promotion l2_promotion, CUtensorMapFloatOOBfill oob_fill)
{
    static const uint32_t spans[] = {UINT32_MAX, 32, 64, 128};
    struct bl_tensor_map map = {.magic = BL_TENSOR_MAP_MAGIC,
                                .type = (uint8_t)type,
                                .dimensions = (uint8_t)rank,
                                .swizzle = (uint8_t)swizzle,
                                .interleave = (uint8_t)interleave,
                                .nan_outside = oob_fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA};
    uint32_t size = size_of(type);

    if (!tensor_map || (uintptr_t)tensor_map % MAP_ALIGN || !size || !rank || rank > BL_TENSOR_DIMENSIONS || !global_dim ||
        (rank > 1 && !global_strides) || !box_dim || !element_strides || (unsigned)interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (interleave && rank < SLICED_DIMENSIONS) || (unsigned)l2_promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)oob_fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA || (oob_fill && !is_float(type)))
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)swizzle >= BL_LEN(spans)) {
        if ((unsigned)swizzle <= CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B)
            bl_error_log(
                "cuTensorMapEncodeTiled: swizzle %d: atoms other than of 16 bytes are not supported, nor are they on devices of "
                "capability 9.0; use CU_TENSOR_MAP_SWIZZLE_128B",
                (int)swizzle);
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (uint32_t d = 0; d < rank; d++)
        if (!fill_dimension(&map, d, global_dim[d], box_dim[d], element_strides[d]))
            return CUDA_ERROR_INVALID_VALUE;
    if (!fill_places(&map, global_address, global_strides) || !fits(&map, size) ||
        (!interleave && (box_dim[0] * size % ROW_ALIGN || box_dim[0] * size > spans[swizzle])))
        return CUDA_ERROR_INVALID_VALUE;
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
