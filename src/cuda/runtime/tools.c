/* Mipmapped arrays and the error log. Part of libcudart. */
#include "cuda/runtime/runtime.h"

/* ---- mipmapped arrays ------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaMallocMipmappedArray(cudaMipmappedArray_t *array, const struct cudaChannelFormatDesc *desc,
                                           struct cudaExtent extent, unsigned int levels, unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR description = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    if (!array || !desc)
        return cudaErrorInvalidValue;
    if (!bl_rt_array_format(desc, &description))
        return cudaErrorInvalidChannelDescriptor;
    BL_RT_ENTER();
    return bl_rt_error(cuMipmappedArrayCreate((CUmipmappedArray *)array, &description, levels));
}

cudaError_t bl_rt_cudaFreeMipmappedArray(cudaMipmappedArray_t array)
{
    BL_RT_ENTER();
    return array ? bl_rt_error(cuMipmappedArrayDestroy((CUmipmappedArray)array)) : cudaSuccess;
}

cudaError_t bl_rt_cudaGetMipmappedArrayLevel(cudaArray_t *level_array, cudaMipmappedArray_const_t array, unsigned int level)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMipmappedArrayGetLevel((CUarray *)level_array, (CUmipmappedArray)(uintptr_t)array, level));
}

cudaError_t bl_rt_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *needs, cudaArray_t array, int device)
{
    BL_RT_ENTER();
    return bl_rt_error(cuArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)needs, (CUarray)array, device));
}

cudaError_t bl_rt_cudaArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaArray_t array)
{
    BL_RT_ENTER();
    return bl_rt_error(cuArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUarray)array));
}

cudaError_t bl_rt_cudaArrayGetPlane(cudaArray_t *plane, cudaArray_t array, unsigned int index)
{
    BL_RT_ENTER();
    return bl_rt_error(cuArrayGetPlane((CUarray *)plane, (CUarray)array, index));
}

cudaError_t bl_rt_cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *needs, cudaMipmappedArray_t array,
                                                          int device)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuMipmappedArrayGetMemoryRequirements((CUDA_ARRAY_MEMORY_REQUIREMENTS *)needs, (CUmipmappedArray)array, device));
}

cudaError_t bl_rt_cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *properties, cudaMipmappedArray_t array)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMipmappedArrayGetSparseProperties((CUDA_ARRAY_SPARSE_PROPERTIES *)properties, (CUmipmappedArray)array));
}

/* ---- the error log ----------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaLogsRegisterCallback(cudaLogsCallback_t function, void *data, cudaLogsCallbackHandle *handle)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess
               ? bl_rt_error(cuLogsRegisterCallback((CUlogsCallback)(void (*)(void))function, data, (CUlogsCallbackHandle *)handle))
               : error;
}

cudaError_t bl_rt_cudaLogsUnregisterCallback(cudaLogsCallbackHandle handle)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuLogsUnregisterCallback((CUlogsCallbackHandle)handle)) : error;
}

cudaError_t bl_rt_cudaLogsCurrent(cudaLogIterator *iterator, unsigned int flags)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuLogsCurrent(iterator, flags)) : error;
}

cudaError_t bl_rt_cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path, unsigned int flags)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuLogsDumpToFile(iterator, path, flags)) : error;
}

cudaError_t bl_rt_cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuLogsDumpToMemory(iterator, buffer, size, flags)) : error;
}

/* ---- what old programs call --------------------------------------------------------------------------- */

/* Devices before 1.3 had no doubles, and these made floats of them. */
cudaError_t bl_rt_cudaSetDoubleForDevice(double *value)
{
    return cudaSuccess;
}

cudaError_t bl_rt_cudaSetDoubleForHost(double *value)
{
    return cudaSuccess;
}
