/* Allocation of device, pitched, pinned host and managed memory; registered host memory. */
#include "cuda/driver/driver.h"

enum { PITCH_ALIGN = 512, ALLOC_ALIGN = 512 };

#define HOST_FLAGS (CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED)
#define REGISTER_FLAGS                                                                                                             \
    (CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY)

static CUresult allocate(struct bl_cu_context *context, enum bl_alloc_kind kind, enum bl_cu_memory memory, uint64_t size,
                         unsigned flags, uint64_t *address)
{
    struct bl_device *device = context->device->device;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = device->ops->alloc(device, kind, size, ALLOC_ALIGN, address, &error);
    if (status != BL_OK)
        return bl_cu_result(context, status);
    if (!bl_cu_allocation_add(context, *address, size, memory, flags)) {
        device->ops->free(device, *address);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Gives the memory itself back; its entry is out of the table already. */
CUresult bl_cu_free_now(struct bl_cu_context *context, const struct bl_cu_allocation *allocation)
{
    if (allocation->memory == BL_CU_REGISTERED || allocation->memory == BL_CU_VARIABLE)
        return CUDA_SUCCESS;
    if (allocation->memory == BL_CU_IMPORTED) {
        bl_cu_ipc_forget(allocation->base);
        return CUDA_SUCCESS;
    }
    if (allocation->pool) {
        bl_cu_pool_give(allocation->pool, allocation->base, allocation->size);
        return CUDA_SUCCESS;
    }
    struct bl_device *device = context->device->device;
    return bl_cu_result(context, device->ops->free(device, allocation->base));
}

CUresult bl_cuMemAlloc_v2(CUdeviceptr *address, size_t bytesize)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!address || !bytesize)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t made = 0;
    result = allocate(context, BL_ALLOC_DEVICE, BL_CU_DEVICE_MEMORY, bytesize, 0, &made);
    if (result == CUDA_SUCCESS)
        *address = made;
    return result;
}

CUresult bl_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_in_bytes, size_t height,
                               unsigned int element_size_bytes)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!address || !pitch || !width_in_bytes || !height ||
        (element_size_bytes != 4 && element_size_bytes != 8 && element_size_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = BL_ALIGN_UP(width_in_bytes, (size_t)PITCH_ALIGN), size;
    if (row < width_in_bytes || __builtin_mul_overflow(row, height, &size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = bl_cuMemAlloc_v2(address, size);
    if (result == CUDA_SUCCESS)
        *pitch = row;
    return result;
}

CUresult bl_cuMemFree_v2(CUdeviceptr address)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!address)
        return CUDA_SUCCESS;
    struct bl_cu_allocation found;
    if (!bl_cu_allocation_find(address, &found) || found.base != address ||
        (found.memory != BL_CU_DEVICE_MEMORY && found.memory != BL_CU_MANAGED && !(found.memory == BL_CU_IMPORTED && found.pool)))
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_synchronize(found.context); /* a kernel may still use it: freeing waits, as documented */
    if (result == CUDA_ERROR_NOT_PERMITTED)
        return result;
    if (found.memory == BL_CU_IMPORTED)
        return bl_cu_ipc_close(address) ? result : CUDA_ERROR_INVALID_VALUE;
    if (found.graph)
        return bl_cu_graph_memory_release(found.graph) ? result : CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_allocation_remove(address, found.memory, &found))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult freed = bl_cu_free_now(found.context, &found);
    return result == CUDA_SUCCESS ? freed : result;
}

CUresult bl_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t available, all;
    context->device->device->ops->memory_info(context->device->device, &available, &all);
    if (free_bytes)
        *free_bytes = available;
    if (total)
        *total = all;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!bl_cu_allocation_find(address, &found) || found.memory == BL_CU_REGISTERED)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = found.base;
    if (size)
        *size = found.size;
    return CUDA_SUCCESS;
}

/* ---- host memory ------------------------------------------------------------------------------ */

CUresult bl_cuMemHostAlloc(void **pointer, size_t bytesize, unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!pointer || !bytesize || flags & ~(unsigned)HOST_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t made = 0;
    result = allocate(context, BL_ALLOC_HOST, BL_CU_HOST_MEMORY, bytesize, flags, &made);
    if (result == CUDA_SUCCESS)
        *pointer = (void *)(uintptr_t)made;
    return result;
}

CUresult bl_cuMemAllocHost_v2(void **pointer, size_t bytesize)
{
    if (pointer && !bytesize && bl_cu_current(&(struct bl_cu_context *){NULL}) == CUDA_SUCCESS) {
        *pointer = NULL; /* not an error, unlike cuMemAlloc(0): measured on an H200 */
        return CUDA_SUCCESS;
    }
    return bl_cuMemHostAlloc(pointer, bytesize, 0);
}

CUresult bl_cuMemFreeHost(void *pointer)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    uint64_t address = (uint64_t)(uintptr_t)pointer;
    if (!pointer)
        return CUDA_SUCCESS;
    if (!bl_cu_allocation_find(address, &found) || found.base != address || found.memory != BL_CU_HOST_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_synchronize(found.context);
    if (result == CUDA_ERROR_NOT_PERMITTED)
        return result;
    if (!bl_cu_allocation_remove(address, BL_CU_HOST_MEMORY, &found))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult freed = bl_cu_free_now(found.context, &found);
    return result == CUDA_SUCCESS ? freed : result;
}

CUresult bl_cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *pointer, unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!address || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_allocation_find((uint64_t)(uintptr_t)pointer, &found) || found.memory == BL_CU_DEVICE_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (CUdeviceptr)(uintptr_t)pointer; /* pinned memory has one address on both sides (device.h) */
    return CUDA_SUCCESS;
}

CUresult bl_cuMemHostGetFlags(unsigned int *flags, void *pointer)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!flags || !bl_cu_allocation_find((uint64_t)(uintptr_t)pointer, &found) ||
        (found.memory != BL_CU_HOST_MEMORY && found.memory != BL_CU_REGISTERED))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = found.flags | CU_MEMHOSTALLOC_DEVICEMAP; /* set for all with unified addressing */
    return CUDA_SUCCESS;
}

CUresult bl_cuMemHostRegister_v2(void *pointer, size_t bytesize, unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    uint64_t address = (uint64_t)(uintptr_t)pointer, end;
    if (!pointer || !bytesize || flags & ~(unsigned)REGISTER_FLAGS || __builtin_add_overflow(address, bytesize, &end))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_device *device = context->device->device;
    if (!device->props.host_memory_is_device_memory || flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct bl_cu_allocation found;
    if (bl_cu_allocation_overlap(address, bytesize, &found))
        return found.memory == BL_CU_DEVICE_MEMORY ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (bl_cu_allocation_add(context, address, bytesize, BL_CU_REGISTERED, flags))
        return CUDA_SUCCESS;
    /* Another thread may have been first. */
    return bl_cu_allocation_overlap(address, bytesize, &found) ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                               : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult bl_cuMemHostUnregister(void *pointer)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!pointer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_allocation_remove((uint64_t)(uintptr_t)pointer, BL_CU_REGISTERED, &found))
        return bl_cu_allocation_find((uint64_t)(uintptr_t)pointer, &found) && found.memory == BL_CU_REGISTERED
                   ? CUDA_ERROR_INVALID_VALUE /* inside a registered range */
                   : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    return bl_cu_synchronize(found.context);
}

/* ---- managed memory ------------------------------------------------------------------------------ */

CUresult bl_cuMemAllocManaged(CUdeviceptr *address, size_t bytesize, unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!address || !bytesize || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if (!context->device->device->props.managed_memory)
        return CUDA_ERROR_NOT_SUPPORTED;
    uint64_t made = 0;
    result = allocate(context, BL_ALLOC_MANAGED, BL_CU_MANAGED, bytesize, flags, &made);
    if (result == CUDA_SUCCESS)
        *address = made;
    return result;
}

/* Managed ranges, and any range where the device reads all of the host's memory. */
static CUresult check_managed(struct bl_cu_context *context, CUdeviceptr address, size_t count)
{
    struct bl_cu_allocation found;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (bl_cu_allocation_find(address, &found)) {
        bool managed = found.memory == BL_CU_MANAGED || (found.memory == BL_CU_VARIABLE && found.flags);
        return managed && count <= found.size - (address - found.base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    return context->device->device->props.pageable_access && address ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static bool location_valid(CUmemLocation location)
{
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return bl_cu_device(location.id) != NULL;
    return location.type == CU_MEM_LOCATION_TYPE_HOST || location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

struct advice {
    CUmem_advise advice;
    CUmemLocation location;
};

static void note_advice(struct bl_cu_allocation *allocation, const void *data)
{
    const struct advice *advice = data;
    if (advice->advice == CU_MEM_ADVISE_SET_READ_MOSTLY)
        allocation->read_mostly = 1;
    else if (advice->advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY)
        allocation->read_mostly = 0;
    else if (advice->advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION)
        allocation->preferred = advice->location;
    else if (advice->advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION)
        allocation->preferred.type = CU_MEM_LOCATION_TYPE_INVALID;
    else if (advice->location.type == CU_MEM_LOCATION_TYPE_DEVICE && advice->advice == CU_MEM_ADVISE_SET_ACCESSED_BY)
        allocation->accessed_by |= (uint64_t)1 << advice->location.id;
    else if (advice->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        allocation->accessed_by &= ~((uint64_t)1 << advice->location.id);
    else
        allocation->accessed_by_host = advice->advice == CU_MEM_ADVISE_SET_ACCESSED_BY;
}

static void note_prefetch(struct bl_cu_allocation *allocation, const void *data)
{
    allocation->last_prefetch = *(const CUmemLocation *)data;
}

/* Advice is remembered and otherwise has no effect: there is one memory. */
CUresult bl_cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice, CUmemLocation location)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = check_managed(context, address, count);
    if (result != CUDA_SUCCESS)
        return result;
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
        return CUDA_ERROR_INVALID_VALUE;
    bool uses_location = advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
                         advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (uses_location && !location_valid(location))
        return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    struct advice noted = {advice, location};
    bl_cu_allocation_update(address, note_advice, &noted);
    return CUDA_SUCCESS;
}

static CUmemLocation old_location(CUdevice device)
{
    CUmemLocation location = {.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE};
    location.id = device;
    return location;
}

CUresult bl_cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device)
{
    return bl_cuMemAdvise_v2(address, count, advice, old_location(device));
}

CUresult bl_cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location, unsigned int flags, CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result == CUDA_SUCCESS)
        result = check_managed(found->context, address, count);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (!location_valid(location))
        return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    bl_cu_allocation_update(address, note_prefetch, &location);
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice device, CUstream stream)
{
    return bl_cuMemPrefetchAsync_v2(address, count, old_location(device), 0, stream);
}

/* The devices' numbers, the rest of the list filled up. */
static CUresult accessed_by(int32_t *list, size_t count, const struct bl_cu_allocation *found)
{
    size_t used = 0;
    for (int i = 0; i < bl_cu_device_count && used < count; i++)
        if (found->accessed_by >> i & 1)
            list[used++] = i;
    if (found->accessed_by_host && used < count)
        list[used++] = CU_DEVICE_CPU;
    while (used < count)
        list[used++] = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
}

static CUresult range_attribute(void *data, size_t size, CUmem_range_attribute attribute, const struct bl_cu_allocation *found)
{
    int32_t value;
    bool located;
    const CUmemLocation *location =
        attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ? &found->preferred : &found->last_prefetch;
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        value = found->read_mostly;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        located = location->type == CU_MEM_LOCATION_TYPE_DEVICE;
        value = located ? location->id : location->type == CU_MEM_LOCATION_TYPE_HOST ? CU_DEVICE_CPU : CU_DEVICE_INVALID;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        return size % sizeof(int32_t) ? CUDA_ERROR_INVALID_VALUE : accessed_by(data, size / sizeof(int32_t), found);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        value = (int32_t)found->preferred.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        value = found->preferred.id;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        value = (int32_t)found->last_prefetch.type;
        break;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        value = found->last_prefetch.id;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (size != sizeof(value))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, sizeof(value));
    return CUDA_SUCCESS;
}

CUresult bl_cuMemRangeGetAttribute(void *data, size_t data_size, CUmem_range_attribute attribute, CUdeviceptr address, size_t count)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!data || !data_size || !count || !bl_cu_allocation_find(address, &found) || found.memory != BL_CU_MANAGED ||
        count > found.size - (address - found.base))
        return CUDA_ERROR_INVALID_VALUE;
    return range_attribute(data, data_size, attribute, &found);
}

CUresult bl_cuMemRangeGetAttributes(void **data, size_t *data_sizes, CUmem_range_attribute *attributes, size_t num_attributes,
                                    CUdeviceptr address, size_t count)
{
    if (!data || !data_sizes || !attributes || !num_attributes)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < num_attributes && result == CUDA_SUCCESS; i++)
        result = bl_cuMemRangeGetAttribute(data[i], data_sizes[i], attributes[i], address, count);
    return result;
}
