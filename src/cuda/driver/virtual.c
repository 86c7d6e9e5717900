/* Virtual memory management: reserved addresses, memory behind handles, mappings of it, access, and handles for other processes.
 *
 * Which calls must fail, and with what, follows an H200 (tests/api/calls_memory.cu). A mapping is always a whole allocation: parts
 * of one are refused there too. All devices of a process share one address space, so what one of them may do with a mapping, all
 * may; cuMemGetAccess answers what was set for each.
 */
#include "cuda/driver/driver.h"

#include <unistd.h>

enum { HOST_PLACE = BL_CU_MAX_DEVICES, PLACES };

struct bl_cu_physical {
    struct bl_cu_object object;
    struct bl_cu_device *device;
    struct bl_physical *physical; /* owned */
    CUmemAllocationProp prop;
    uint64_t size;
    uint32_t held, mapped; /* by handles that the program has; by mappings */
};
_Static_assert(sizeof(struct bl_cu_physical) <= 256, "handle.c sets aside 256 bytes");

struct mapping {
    uint64_t base, size;
    struct bl_cu_physical *physical;
    uint8_t access[PLACES]; /* CUmemAccess_flags by device; the last: the host */
    struct mapping *next;   /* by address */
};

struct reservation {
    uint64_t base, size;
    struct bl_cu_device *device; /* whose call unreserve is */
    struct mapping *mappings;    /* owned */
    struct reservation *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the lists, and the counts of struct bl_cu_physical */
static struct reservation *reservations;

/* ---- places ------------------------------------------------------------------------------------ */

/* Index of a location in struct mapping; -1: none. */
static int place_of(const CUmemLocation *location)
{
    if (location->type == CU_MEM_LOCATION_TYPE_DEVICE)
        return bl_cu_device(location->id) ? location->id : -1;
    return location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                   location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT
               ? HOST_PLACE
               : -1;
}

/* The device whose operations serve a place. */
static struct bl_cu_device *device_of(int place)
{
    return &bl_cu_devices[place == HOST_PLACE ? 0 : place];
}

static uint64_t granularity(void)
{
    return bl_cu_device_count ? bl_cu_devices[0].device->props.map_granularity : 0;
}

CUresult bl_cuMemGetAllocationGranularity(size_t *size, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
    if (!size || !prop || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return CUDA_ERROR_INVALID_VALUE;
    if (!granularity())
        return CUDA_ERROR_NOT_SUPPORTED;
    *size = granularity();
    return CUDA_SUCCESS;
}

/* ---- addresses --------------------------------------------------------------------------------- */

/* The reservation that holds all of the range; the lock is held. */
static struct reservation *reservation_of(uint64_t base, uint64_t size)
{
    struct reservation *at = reservations;
    while (at && (base < at->base || base - at->base >= at->size))
        at = at->next;
    return at && size <= at->size - (base - at->base) ? at : NULL;
}

CUresult bl_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags)
{
    uint64_t unit = granularity();
    if (!ptr || !size || flags || alignment & (alignment - 1) || (unit && size % unit))
        return CUDA_ERROR_INVALID_VALUE;
    if (!unit)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct reservation *made = bl_calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct bl_error error = BL_ERROR_INIT;
    made->device = &bl_cu_devices[0];
    made->size = size;
    struct bl_device *device = made->device->device;
    enum bl_status status = device->ops->reserve(device, size, alignment, addr, &made->base, &error);
    if (status != BL_OK) {
        bl_free(made);
        return bl_cu_result(NULL, status);
    }
    *ptr = made->base;
    pthread_mutex_lock(&lock);
    made->next = reservations;
    reservations = made;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult bl_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    pthread_mutex_lock(&lock);
    struct reservation **at = &reservations;
    while (*at && (*at)->base != ptr)
        at = &(*at)->next;
    struct reservation *found = *at;
    if (found && (found->size != size || found->mappings))
        found = NULL;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    found->device->device->ops->unreserve(found->device->device, found->base, found->size);
    bl_free(found);
    return CUDA_SUCCESS;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static struct bl_cu_physical *physical_new(struct bl_cu_device *device, struct bl_physical *physical, uint64_t size)
{
    struct bl_cu_physical *made = bl_cu_new(BL_CU_PHYSICAL);
    if (!made)
        return NULL;
    made->device = device;
    made->physical = physical;
    made->size = size;
    made->held = 1;
    return made;
}

/* The object of a handle that the program holds; the lock is held. */
static struct bl_cu_physical *physical_of(CUmemGenericAllocationHandle handle)
{
    struct bl_cu_physical *found = bl_cu_object((void *)(uintptr_t)handle, BL_CU_PHYSICAL);
    return found && found->held ? found : NULL;
}

/* Frees it when nothing uses it any more; the lock is held. */
static void physical_drop(struct bl_cu_physical *physical)
{
    if (physical->held || physical->mapped)
        return;
    bl_cu_unpublish(physical);
    physical->device->device->ops->physical_destroy(physical->physical);
    bl_cu_recycle(physical);
}

static CUresult check_prop(const CUmemAllocationProp *prop, uint64_t size)
{
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED && prop->type != CU_MEM_ALLOCATION_TYPE_MANAGED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->requestedHandleTypes & (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT))
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (place_of(&prop->location) < 0)
        return prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    if (!granularity())
        return CUDA_ERROR_NOT_SUPPORTED;
    return size && size % granularity() == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
                        unsigned long long flags)
{
    if (!handle || !prop || flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_prop(prop, size);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_device *device = device_of(place_of(&prop->location));
    const struct bl_device_ops *ops = device->device->ops;
    struct bl_physical *physical;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = ops->physical_create(device->device, size, &physical, &error);
    if (status != BL_OK)
        return bl_cu_result(NULL, status);
    struct bl_cu_physical *made = physical_new(device, physical, size);
    if (!made) {
        ops->physical_destroy(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->prop = *prop;
    made->prop.win32HandleMetaData = NULL;
    bl_cu_publish(made);
    *handle = made->object.handle;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_physical *found = physical_of(handle);
    if (found) {
        found->held--;
        physical_drop(found);
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_physical *found = physical_of(handle);
    if (found && prop)
        *prop = found->prop;
    pthread_mutex_unlock(&lock);
    return found && prop ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- other processes ---------------------------------------------------------------------------- */

CUresult bl_cuMemExportToShareableHandle(void *shareable_handle, CUmemGenericAllocationHandle handle,
                                         CUmemAllocationHandleType handle_type, unsigned long long flags)
{
    if (!shareable_handle || flags || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    int descriptor = -1;
    pthread_mutex_lock(&lock);
    struct bl_cu_physical *found = physical_of(handle);
    if (found && found->prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        result = bl_cu_result(NULL, found->device->device->ops->physical_export(found->physical, &descriptor));
    pthread_mutex_unlock(&lock);
    if (result == CUDA_SUCCESS)
        memcpy(shareable_handle, &descriptor, sizeof(descriptor));
    return result;
}

CUresult bl_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
                                           CUmemAllocationHandleType handle_type)
{
    if (!handle || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    if (!granularity())
        return CUDA_ERROR_NOT_SUPPORTED;
    struct bl_cu_context *context;
    struct bl_cu_device *device = bl_cu_current_quiet(&context) == CUDA_SUCCESS ? context->device : &bl_cu_devices[0];
    const struct bl_device_ops *ops = device->device->ops;
    struct bl_physical *physical;
    uint64_t size;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = ops->physical_import(device->device, (int)(intptr_t)os_handle, &physical, &size, &error);
    if (status != BL_OK)
        return status == BL_INVALID ? CUDA_ERROR_UNKNOWN : bl_cu_result(NULL, status); /* as measured */
    struct bl_cu_physical *made = physical_new(device, physical, size);
    if (!made) {
        ops->physical_destroy(physical);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->prop = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal}};
    bl_cu_publish(made);
    *handle = made->object.handle;
    return CUDA_SUCCESS;
}

/* ---- mappings ------------------------------------------------------------------------------------ */

/* The first mapping that ends behind the address, at its place in the list. */
static struct mapping **mapping_at(struct reservation *reservation, uint64_t address)
{
    struct mapping **at = &reservation->mappings;
    while (*at && (*at)->base + (*at)->size <= address)
        at = &(*at)->next;
    return at;
}

/* Whether no mapping stands partly in the range. */
static bool whole_mappings(struct reservation *reservation, uint64_t base, uint64_t size)
{
    for (struct mapping *at = *mapping_at(reservation, base); at && at->base < base + size; at = at->next)
        if (at->base < base || at->base + at->size > base + size)
            return false;
    return true;
}

static enum bl_status map_it(struct reservation *reservation, struct mapping *made)
{
    struct bl_device *device = reservation->device->device;
    enum bl_status status = device->ops->map(device, made->base, made->size, made->physical->physical);
    if (status != BL_OK)
        return status;
    struct bl_cu_allocation about = {.base = made->base,
                                     .size = made->size,
                                     .memory = BL_CU_MAPPED,
                                     .device = made->physical->device,
                                     .range_base = reservation->base,
                                     .range_size = reservation->size,
                                     .handle_types = made->physical->prop.requestedHandleTypes,
                                     .on_host = place_of(&made->physical->prop.location) == HOST_PLACE};
    if (bl_cu_allocation_insert(&about))
        return BL_OK;
    device->ops->unmap(device, made->base, made->size);
    return BL_NO_MEMORY;
}

/* The lock is held. */
static CUresult map(uint64_t base, uint64_t size, uint64_t offset, struct bl_cu_physical *physical)
{
    struct reservation *reservation = reservation_of(base, size);
    if (!physical || !reservation)
        return CUDA_ERROR_INVALID_VALUE;
    if (offset || size != physical->size)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct mapping **at = mapping_at(reservation, base);
    if (*at && (*at)->base < base + size)
        return CUDA_ERROR_INVALID_VALUE;
    struct mapping *made = bl_calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->base = base;
    made->size = size;
    made->physical = physical;
    enum bl_status status = map_it(reservation, made);
    if (status != BL_OK) {
        bl_free(made);
        return bl_cu_result(NULL, status);
    }
    physical->mapped++;
    made->next = *at;
    *at = made;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    uint64_t unit = granularity();
    if (!ptr || !size || flags || (unit && ptr % unit))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    CUresult result = map(ptr, size, offset, physical_of(handle));
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult bl_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    if (!ptr || !size)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct reservation *reservation = reservation_of(ptr, size);
    if (reservation && whole_mappings(reservation, ptr, size)) {
        struct bl_device *device = reservation->device->device;
        struct mapping **at = mapping_at(reservation, ptr), *gone;
        result = CUDA_SUCCESS;
        while (result == CUDA_SUCCESS && (gone = *at) && gone->base < ptr + size) {
            struct bl_cu_allocation about;
            result = bl_cu_result(NULL, device->ops->unmap(device, gone->base, gone->size));
            if (result != CUDA_SUCCESS)
                break;
            bl_cu_allocation_remove(gone->base, BL_CU_MAPPED, &about);
            *at = gone->next;
            gone->physical->mapped--;
            physical_drop(gone->physical);
            bl_free(gone);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- access --------------------------------------------------------------------------------------- */

/* The most that any place may do. */
static enum bl_access access_of(const struct mapping *mapping)
{
    enum bl_access access = BL_ACCESS_NONE;
    for (int i = 0; i < PLACES; i++)
        if (mapping->access[i] == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return BL_ACCESS_READ_WRITE;
        else if (mapping->access[i] == CU_MEM_ACCESS_FLAGS_PROT_READ)
            access = BL_ACCESS_READ;
    return access;
}

static void note_access(struct bl_cu_allocation *allocation, const void *access)
{
    allocation->access = *(const enum bl_access *)access;
}

static CUresult set_access(struct reservation *reservation, struct mapping *mapping, const CUmemAccessDesc *list, size_t count)
{
    struct bl_device *device = reservation->device->device;
    for (size_t i = 0; i < count; i++)
        mapping->access[place_of(&list[i].location)] = (uint8_t)list[i].flags;
    enum bl_access access = access_of(mapping);
    enum bl_status status = device->ops->protect(device, mapping->base, mapping->size, access);
    if (status == BL_OK)
        bl_cu_allocation_update(mapping->base, note_access, &access);
    return bl_cu_result(NULL, status);
}

static bool access_valid(const CUmemAccessDesc *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (place_of(&list[i].location) < 0 ||
            (list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
             list[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE))
            return false;
    return true;
}

/* Whether mappings, none of them partly, fill the range. */
static bool filled(struct reservation *reservation, uint64_t base, uint64_t size)
{
    uint64_t reached = base;
    for (struct mapping *at = *mapping_at(reservation, base); at && at->base < base + size; at = at->next) {
        if (at->base != reached)
            return false;
        reached = at->base + at->size;
    }
    return reached == base + size;
}

CUresult bl_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count)
{
    if (!ptr || !size || !desc || !count || !access_valid(desc, count))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct reservation *reservation = reservation_of(ptr, size);
    if (reservation && filled(reservation, ptr, size)) {
        result = CUDA_SUCCESS;
        struct mapping *at = *mapping_at(reservation, ptr);
        for (; at && at->base < ptr + size && result == CUDA_SUCCESS; at = at->next)
            result = set_access(reservation, at, desc, count);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* The mapping that holds the address; the lock is held. */
static struct mapping *mapping_of(uint64_t address)
{
    struct reservation *reservation = reservation_of(address, 1);
    struct mapping *found = reservation ? *mapping_at(reservation, address) : NULL;
    return found && found->base <= address ? found : NULL;
}

CUresult bl_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr)
{
    int place = location ? place_of(location) : -1;
    if (!flags || place < 0)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct mapping *found = mapping_of(ptr);
    if (found)
        *flags = found->access[place];
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (!handle || !addr)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct mapping *found = mapping_of((uint64_t)(uintptr_t)addr);
    if (found) {
        found->physical->held++;
        *handle = found->physical->object.handle;
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
