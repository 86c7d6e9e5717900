/* Mipmapped arrays: a list of arrays, each level half as large as the one before. Textures of them are in texture.c. */
#include "cuda/driver/driver.h"

static uint32_t most_levels(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t largest = BL_MAX(BL_MAX(d->Width, d->Height), layered ? 0 : d->Depth);
    uint32_t levels = 64 - (uint32_t)__builtin_clzll(largest | 1);
    return BL_MIN(levels, (uint32_t)BL_TEXTURE_LEVELS);
}

/* 0 stays 0: there is no such dimension. */
static size_t half(size_t size)
{
    return size > 1 ? size / 2 : size;
}

static void destroy_levels(struct bl_cu_mipmap *mipmap)
{
    for (uint32_t i = 0; i < mipmap->count; i++)
        bl_cuArrayDestroy(mipmap->levels[i]); /* the program may have done it already */
}

CUresult bl_cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *mipmapped_array_desc,
                                   unsigned int num_mipmap_levels)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle || !mipmapped_array_desc)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR level = *mipmapped_array_desc;
    struct bl_cu_mipmap *made = bl_cu_new(BL_CU_MIPMAP);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    /* Too many and none at all are corrected: measured on an H200. */
    uint32_t count = BL_MAX(1u, BL_MIN(num_mipmap_levels, most_levels(&level)));
    for (; made->count < count && result == CUDA_SUCCESS; made->count += result == CUDA_SUCCESS) {
        result = bl_cuArray3DCreate_v2(&made->levels[made->count], &level);
        level.Width = half(level.Width);
        level.Height = half(level.Height);
        if (!(level.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)))
            level.Depth = half(level.Depth);
    }
    if (result != CUDA_SUCCESS) {
        destroy_levels(made);
        bl_cu_recycle(made);
        return result;
    }
    bl_cu_publish(made);
    *handle = BL_CU_HANDLE(CUmipmappedArray, made);
    return CUDA_SUCCESS;
}

CUresult bl_cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_mipmap *found = bl_cu_object(handle, BL_CU_MIPMAP);
    if (!found || !bl_cu_unpublish(found))
        return CUDA_ERROR_INVALID_HANDLE;
    destroy_levels(found);
    bl_cu_recycle(found);
    return CUDA_SUCCESS;
}

CUresult bl_cuMipmappedArrayGetLevel(CUarray *level_array, CUmipmappedArray handle, unsigned int level)
{
    struct bl_cu_mipmap *found = bl_cu_object(handle, BL_CU_MIPMAP);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!level_array || level >= found->count)
        return CUDA_ERROR_INVALID_VALUE;
    *level_array = found->levels[level];
    return CUDA_SUCCESS;
}

/* ---- what only special arrays have --------------------------------------------------------------------- */

/* Only arrays that are mapped later have requirements, only sparse ones tiles, only those of several planes planes: no array of
 * ours is any of these. */
static CUresult none_such(const void *array)
{
    return array ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

CUresult bl_cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memory_requirements, CUarray array, CUdevice device)
{
    return none_such(bl_cu_object(array, BL_CU_ARRAY));
}

CUresult bl_cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparse_properties, CUarray array)
{
    return none_such(bl_cu_object(array, BL_CU_ARRAY));
}

CUresult bl_cuArrayGetPlane(CUarray *plane_array, CUarray array, unsigned int plane_idx)
{
    return none_such(bl_cu_object(array, BL_CU_ARRAY));
}

CUresult bl_cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memory_requirements, CUmipmappedArray mipmap,
                                                  CUdevice device)
{
    return none_such(bl_cu_object(mipmap, BL_CU_MIPMAP));
}

CUresult bl_cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparse_properties, CUmipmappedArray mipmap)
{
    return none_such(bl_cu_object(mipmap, BL_CU_MIPMAP));
}
