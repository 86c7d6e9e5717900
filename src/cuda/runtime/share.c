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
