/* Questions about pointers: cuPointerGetAttribute and kin. */
#include "cuda/driver/driver.h"

/* One attribute of a known range. Sizes as the header's comments on CUpointer_attribute say. */
static CUresult attribute_of(void *data, CUpointer_attribute attribute, uint64_t address, const struct bl_cu_allocation *found)
{
    bool host = found->memory == BL_CU_HOST_MEMORY || found->memory == BL_CU_REGISTERED || found->on_host;
    bool mapped = found->memory == BL_CU_MAPPED;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = found->context ? BL_CU_HANDLE(CUcontext, found->context) : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host && found->memory != BL_CU_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = (void *)(uintptr_t)address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = found->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = found->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = found->memory == BL_CU_MANAGED || (found->memory == BL_CU_VARIABLE && found->flags);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = found->device->ordinal;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(bool *)data = found->memory == BL_CU_DEVICE_MEMORY && !found->pool && !found->graph && found->device->device->ops->share;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(bool *)data = false;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = mapped ? found->range_base : found->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = mapped ? found->range_size : found->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(bool *)data = true;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(uint64_t *)data = found->handle_types;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = !mapped                           ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
                            : found->access == BL_ACCESS_NONE ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE
                            : found->access == BL_ACCESS_READ ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                                              : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = found->pool ? (CUmemoryPool)(uintptr_t)((struct bl_cu_object *)found->pool)->handle : NULL;
        return found->pool || mapped ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = found->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(void **)data = (void *)(uintptr_t)found->base;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = found->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct bl_cu_allocation found;
    if (!data || !ptr || !bl_cu_allocation_find(ptr, &found))
        return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(data, attribute, ptr, &found);
}

/* What an attribute of a pointer that CUDA doesn't know is set to: its zero, in its size. */
static CUresult clear_attribute(void *data, CUpointer_attribute attribute, uint64_t address)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = CU_DEVICE_INVALID;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(bool *)data = false;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: /* plain host memory is its own */
        *(void **)data = (void *)(uintptr_t)address;
        return CUDA_SUCCESS;
    default:
        if (attribute < CU_POINTER_ATTRIBUTE_CONTEXT || attribute > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return CUDA_ERROR_INVALID_VALUE;
        *(uint64_t *)data = 0;
        return CUDA_SUCCESS;
    }
}

CUresult bl_cuPointerGetAttributes(unsigned int num_attributes, CUpointer_attribute *attributes, void **data, CUdeviceptr ptr)
{
    struct bl_cu_allocation found;
    if (!num_attributes || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    bool known = bl_cu_allocation_find(ptr, &found);
    for (unsigned i = 0; i < num_attributes; i++) {
        if (!data[i])
            return CUDA_ERROR_INVALID_VALUE;
        CUresult result = known ? attribute_of(data[i], attributes[i], ptr, &found) : CUDA_ERROR_INVALID_VALUE;
        if (result != CUDA_SUCCESS) /* not an error of this call (documented) */
            result = clear_attribute(data[i], attributes[i], known ? 0 : ptr);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static void set_sync_memops(struct bl_cu_allocation *allocation, const void *value)
{
    allocation->sync_memops = *(const unsigned *)value != 0;
}

CUresult bl_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
    struct bl_cu_allocation found;
    if (value && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS && bl_cu_allocation_find(ptr, &found) &&
        found.memory == BL_CU_MAPPED)
        return CUDA_ERROR_NOT_SUPPORTED; /* measured on an H200 */
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !bl_cu_allocation_update(ptr, set_sync_memops, value))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}
