/* Memory, events and pools that processes share. Part of libcudart. */
#include "cuda/runtime/runtime.h"

#include <string.h>

cudaError_t bl_rt_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    BL_RT_ENTER();
    return bl_rt_error(cuIpcGetMemHandle((CUipcMemHandle *)handle, (CUdeviceptr)(uintptr_t)pointer));
}

cudaError_t bl_rt_cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags)
{
    CUipcMemHandle given;
    memcpy(&given, &handle, sizeof(given));
    BL_RT_ENTER();
    return bl_rt_error(cuIpcOpenMemHandle((CUdeviceptr *)pointer, given, flags));
}

cudaError_t bl_rt_cudaIpcCloseMemHandle(void *pointer)
{
    BL_RT_ENTER();
    return bl_rt_error(cuIpcCloseMemHandle((CUdeviceptr)(uintptr_t)pointer));
}

cudaError_t bl_rt_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuIpcGetEventHandle((CUipcEventHandle *)handle, event));
}

cudaError_t bl_rt_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    CUipcEventHandle given;
    memcpy(&given, &handle, sizeof(given));
    BL_RT_ENTER();
    return bl_rt_error(cuIpcOpenEventHandle(event, given));
}

/* ---- pools --------------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaMemPoolExportToShareableHandle(void *shareable_handle, cudaMemPool_t pool,
                                                     enum cudaMemAllocationHandleType handle_type, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuMemPoolExportToShareableHandle(shareable_handle, (CUmemoryPool)pool, (CUmemAllocationHandleType)handle_type, flags));
}

cudaError_t bl_rt_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *pool, void *shareable_handle,
                                                       enum cudaMemAllocationHandleType handle_type, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuMemPoolImportFromShareableHandle((CUmemoryPool *)pool, shareable_handle, (CUmemAllocationHandleType)handle_type, flags));
}

cudaError_t bl_rt_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *pointer)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolExportPointer((CUmemPoolPtrExportData *)data, (CUdeviceptr)(uintptr_t)pointer));
}

cudaError_t bl_rt_cudaMemPoolImportPointer(void **pointer, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolImportPointer((CUdeviceptr *)pointer, (CUmemoryPool)pool, (CUmemPoolPtrExportData *)data));
}

cudaError_t bl_rt_cudaMemGetDefaultMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemGetDefaultMemPool((CUmemoryPool *)pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t bl_rt_cudaMemGetMemPool(cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemGetMemPool((CUmemoryPool *)pool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t bl_rt_cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type, cudaMemPool_t pool)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemSetMemPool((CUmemLocation *)location, (CUmemAllocationType)type, (CUmemoryPool)pool));
}
