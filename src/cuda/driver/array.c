/* CUDA arrays as pitched device memory: creating, describing, destroying. Copies are in copy.c, textures and
 * surfaces in texture.c. */
#include "cuda/driver/driver.h"

enum { ROW_ALIGN = 512 };

static unsigned format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0; /* block-compressed and video formats */
    }
}

CUresult bl_cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *allocate_array)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    const CUDA_ARRAY3D_DESCRIPTOR *wanted = allocate_array;
    if (!handle || !wanted || !wanted->Width || (wanted->Depth && !wanted->Height && !(wanted->Flags & CUDA_ARRAY3D_LAYERED)))
        return CUDA_ERROR_INVALID_VALUE;
    if (wanted->NumChannels != 1 && wanted->NumChannels != 2 && wanted->NumChannels != 4)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned element = format_bytes(wanted->Format) * wanted->NumChannels;
    if (!element || wanted->Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING))
        return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t row, slice, size;
    if (__builtin_mul_overflow((uint64_t)wanted->Width, element, &row) || row > UINT64_MAX - ROW_ALIGN)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t pitch = BL_ALIGN_UP(row, (uint64_t)ROW_ALIGN);
    if (__builtin_mul_overflow(pitch, BL_MAX(wanted->Height, 1), &slice) ||
        __builtin_mul_overflow(slice, BL_MAX(wanted->Depth, 1), &size))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_array *array = bl_cu_new(BL_CU_ARRAY);
    if (!array)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct bl_device *device = context->device->device;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = device->ops->alloc(device, BL_ALLOC_DEVICE, size, ROW_ALIGN, &array->base, &error);
    if (status == BL_OK && !bl_cu_allocation_add(context, array->base, size, BL_CU_ARRAY_MEMORY, 0)) {
        device->ops->free(device, array->base);
        status = BL_NO_MEMORY;
    }
    if (status != BL_OK) {
        bl_cu_recycle(array);
        return bl_cu_result(context, status);
    }
    array->context = context;
    array->description = *wanted;
    array->pitch = pitch;
    array->slice = slice;
    array->element = element;
    bl_cu_publish(array);
    *handle = BL_CU_HANDLE(CUarray, array);
    return CUDA_SUCCESS;
}

CUresult bl_cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *allocate_array)
{
    if (!allocate_array)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR wanted = {.Width = allocate_array->Width,
                                      .Height = allocate_array->Height,
                                      .Format = allocate_array->Format,
                                      .NumChannels = allocate_array->NumChannels};
    return bl_cuArray3DCreate_v2(handle, &wanted);
}

CUresult bl_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *array_descriptor, CUarray handle)
{
    struct bl_cu_array *array = bl_cu_object(handle, BL_CU_ARRAY);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!array_descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    *array_descriptor = array->description;
    return CUDA_SUCCESS;
}

CUresult bl_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *array_descriptor, CUarray handle)
{
    struct bl_cu_array *array = bl_cu_object(handle, BL_CU_ARRAY);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!array_descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    array_descriptor->Width = array->description.Width;
    array_descriptor->Height = array->description.Height;
    array_descriptor->Format = array->description.Format;
    array_descriptor->NumChannels = array->description.NumChannels;
    return CUDA_SUCCESS;
}

CUresult bl_cuArrayDestroy(CUarray handle)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_array *array = bl_cu_object(handle, BL_CU_ARRAY);
    if (!array || !bl_cu_unpublish(array))
        return CUDA_ERROR_INVALID_HANDLE;
    struct bl_cu_allocation found;
    CUresult result = CUDA_SUCCESS;
    if (bl_cu_allocation_find(array->base, &found) && found.memory == BL_CU_ARRAY_MEMORY) { /* else its context is gone */
        result = bl_cu_synchronize(found.context);
        if (bl_cu_allocation_remove(array->base, BL_CU_ARRAY_MEMORY, &found))
            bl_cu_free_now(found.context, &found);
    }
    bl_cu_recycle(array);
    return result;
}
