/* Allocation, host memory, managed memory, pools, pointers. Part of libcudart. */
#include "cuda/runtime/runtime.h"

static CUdeviceptr device_pointer(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* size 0 is allowed by the runtime and gives NULL. */
cudaError_t bl_rt_cudaMalloc(void **pointer, size_t size)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    *pointer = NULL;
    return size ? bl_rt_error(cuMemAlloc((CUdeviceptr *)pointer, size)) : cudaSuccess;
}

cudaError_t bl_rt_cudaFree(void *pointer)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemFree(device_pointer(pointer)));
}

cudaError_t bl_rt_cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    *pointer = NULL;
    return size ? bl_rt_error(cuMemHostAlloc(pointer, size, flags)) : cudaSuccess;
}

cudaError_t bl_rt_cudaMallocHost(void **pointer, size_t size)
{
    return bl_rt_cudaHostAlloc(pointer, size, cudaHostAllocDefault);
}

cudaError_t bl_rt_cudaFreeHost(void *pointer)
{
    BL_RT_ENTER();
    return pointer ? bl_rt_error(cuMemFreeHost(pointer)) : cudaSuccess;
}

cudaError_t bl_rt_cudaMallocManaged(void **pointer, size_t size, unsigned int flags)
{
    if (!pointer || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost))
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    *pointer = NULL;
    return size ? bl_rt_error(cuMemAllocManaged((CUdeviceptr *)pointer, size, flags)) : cudaSuccess;
}

cudaError_t bl_rt_cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    if (!pointer || !pitch)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    *pointer = NULL;
    *pitch = 0;
    if (!width || !height)
        return cudaSuccess;
    return bl_rt_error(cuMemAllocPitch((CUdeviceptr *)pointer, pitch, width, height, 4));
}

cudaError_t bl_rt_cudaMalloc3D(struct cudaPitchedPtr *pitched, struct cudaExtent extent)
{
    size_t rows;
    if (!pitched)
        return cudaErrorInvalidValue;
    if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
        return cudaErrorMemoryAllocation;
    cudaError_t error = bl_rt_cudaMallocPitch(&pitched->ptr, &pitched->pitch, extent.width, rows);
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return error;
}

cudaError_t bl_rt_cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemHostRegister(pointer, size, flags));
}

cudaError_t bl_rt_cudaHostUnregister(void *pointer)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemHostUnregister(pointer));
}

cudaError_t bl_rt_cudaHostGetDevicePointer(void **device, void *host, unsigned int flags)
{
    if (!device)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuMemHostGetDevicePointer((CUdeviceptr *)device, host, flags));
}

cudaError_t bl_rt_cudaHostGetFlags(unsigned int *flags, void *host)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemHostGetFlags(flags, host));
}

cudaError_t bl_rt_cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    if (!free_bytes || !total)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuMemGetInfo(free_bytes, total));
}

/* ---- managed memory ------------------------------------------------------------------------------ */

static CUmemLocation location_of(struct cudaMemLocation location)
{
    return (CUmemLocation){.type = (CUmemLocationType)location.type, .id = location.id};
}

/* Before 13 a place was a device number, cudaCpuDeviceId for the host. */
static struct cudaMemLocation place(int device)
{
    if (device == cudaCpuDeviceId)
        return (struct cudaMemLocation){.type = cudaMemLocationTypeHost};
    return (struct cudaMemLocation){.type = cudaMemLocationTypeDevice, .id = device};
}

cudaError_t bl_rt_cudaMemAdvise(const void *pointer, size_t size, enum cudaMemoryAdvise advice, struct cudaMemLocation location)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemAdvise(device_pointer(pointer), size, (CUmem_advise)advice, location_of(location)));
}

cudaError_t bl_rt_cudaMemAdvise_11(const void *pointer, size_t size, enum cudaMemoryAdvise advice, int device)
{
    return bl_rt_cudaMemAdvise(pointer, size, advice, place(device));
}

cudaError_t bl_rt_cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation location, unsigned int flags,
                                       cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPrefetchAsync(device_pointer(pointer), size, location_of(location), flags, (CUstream)stream));
}

cudaError_t bl_rt_cudaMemPrefetchAsync_11(const void *pointer, size_t size, int device, cudaStream_t stream)
{
    return bl_rt_cudaMemPrefetchAsync(pointer, size, place(device), 0, stream);
}

cudaError_t bl_rt_cudaMemRangeGetAttribute(void *data, size_t size, enum cudaMemRangeAttribute attribute, const void *pointer,
                                           size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemRangeGetAttribute(data, size, (CUmem_range_attribute)attribute, device_pointer(pointer), count));
}

cudaError_t bl_rt_cudaMemRangeGetAttributes(void **data, size_t *sizes, enum cudaMemRangeAttribute *attributes,
                                            size_t attribute_count, const void *pointer, size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuMemRangeGetAttributes(data, sizes, (CUmem_range_attribute *)attributes, attribute_count, device_pointer(pointer), count));
}

cudaError_t bl_rt_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    if (!attributes)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    unsigned int type = 0, managed = 0;
    int device = -2;
    CUdeviceptr on_device = 0;
    void *on_host = NULL;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *places[] = {&type, &managed, &device, &on_device, &on_host};
    CUresult result = cuPointerGetAttributes(BL_LEN(names), names, places, device_pointer(pointer));
    if (result != CUDA_SUCCESS)
        return bl_rt_error(result);
    attributes->type = managed                        ? cudaMemoryTypeManaged
                       : type == CU_MEMORYTYPE_HOST   ? cudaMemoryTypeHost
                       : type == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                                                      : cudaMemoryTypeUnregistered;
    attributes->device = attributes->type == cudaMemoryTypeUnregistered ? -2 : device;
    attributes->devicePointer = (void *)(uintptr_t)on_device;
    attributes->hostPointer = attributes->type == cudaMemoryTypeUnregistered ? (void *)(uintptr_t)pointer : on_host;
    return cudaSuccess;
}

/* ---- stream-ordered allocation -------------------------------------------------------------------- */

cudaError_t bl_rt_cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    *pointer = NULL;
    return size ? bl_rt_error(cuMemAllocAsync((CUdeviceptr *)pointer, size, (CUstream)stream)) : cudaSuccess;
}

cudaError_t bl_rt_cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    if (!pointer)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuMemAllocFromPoolAsync((CUdeviceptr *)pointer, size, (CUmemoryPool)pool, (CUstream)stream));
}

cudaError_t bl_rt_cudaFreeAsync(void *pointer, cudaStream_t stream)
{
    BL_RT_ENTER();
    return pointer ? bl_rt_error(cuMemFreeAsync(device_pointer(pointer), (CUstream)stream)) : cudaSuccess;
}

cudaError_t bl_rt_cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolCreate((CUmemoryPool *)pool, (const CUmemPoolProps *)props));
}

cudaError_t bl_rt_cudaMemPoolDestroy(cudaMemPool_t pool)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolDestroy((CUmemoryPool)pool));
}

cudaError_t bl_rt_cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolTrimTo((CUmemoryPool)pool, keep));
}

cudaError_t bl_rt_cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolSetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t bl_rt_cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolGetAttribute((CUmemoryPool)pool, (CUmemPool_attribute)attribute, value));
}

cudaError_t bl_rt_cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *list, size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolSetAccess((CUmemoryPool)pool, (const CUmemAccessDesc *)list, count));
}

cudaError_t bl_rt_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t pool, struct cudaMemLocation *location)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPoolGetAccess((CUmemAccess_flags *)flags, (CUmemoryPool)pool, (CUmemLocation *)location));
}

cudaError_t bl_rt_cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device)
{
    cudaError_t error = bl_rt_check_device(device);
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetDefaultMemPool((CUmemoryPool *)pool, device)) : error;
}

cudaError_t bl_rt_cudaDeviceGetMemPool(cudaMemPool_t *pool, int device)
{
    cudaError_t error = bl_rt_check_device(device);
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetMemPool((CUmemoryPool *)pool, device)) : error;
}

cudaError_t bl_rt_cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
    cudaError_t error = bl_rt_check_device(device);
    return error == cudaSuccess ? bl_rt_error(cuDeviceSetMemPool(device, (CUmemoryPool)pool)) : error;
}
