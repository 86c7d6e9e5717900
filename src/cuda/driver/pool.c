/* Stream-ordered allocation: memory pools, cuMemAllocAsync and cuMemFreeAsync.
 *
 * An allocation is made at once; a free takes effect when its stream gets there. What is freed stays in the pool up to the
 * release threshold (cut back at the synchronisations that the program makes through cuMemPoolTrimTo, or when a request finds
 * no block) and is handed out again by size, which is what makes an allocate and free pair cheap.
 */
#include "cuda/driver/driver.h"

enum { POOL_BLOCKS = 64 };

struct bl_cu_pool {
    struct bl_cu_object object;
    struct bl_cu_device *device;
    bool is_default;
    bool shareable, on_host;
    uint64_t imported;                 /* another process's pool: its identity (ipc.c); 0: ours */
    uint64_t largest;                  /* bytes that may be in use at once; 0: any */
    uint8_t access[BL_CU_MAX_DEVICES]; /* CUmemAccess_flags of the other devices */
    pthread_mutex_t lock;
    uint64_t threshold, used, used_high, reserved, reserved_high;
    int reuse_event, reuse_opportunistic, reuse_internal;
    uint32_t kept; /* blocks that are free and kept */
    struct {
        uint64_t base, size;
    } * blocks; /* owned, POOL_BLOCKS of them */
};
_Static_assert(sizeof(struct bl_cu_pool) <= 512, "handle.c sets aside 512 bytes");

static struct bl_cu_pool *pool_new(struct bl_cu_device *device, bool is_default)
{
    struct bl_cu_pool *pool = bl_cu_new(BL_CU_POOL);
    if (!pool)
        return NULL;
    pool->blocks = bl_calloc(POOL_BLOCKS, sizeof(*pool->blocks));
    if (!pool->blocks) {
        bl_cu_recycle(pool);
        return NULL;
    }
    pool->device = device;
    pool->is_default = is_default;
    pool->reuse_event = pool->reuse_opportunistic = pool->reuse_internal = 1;
    pthread_mutex_init(&pool->lock, NULL);
    bl_cu_publish(pool);
    return pool;
}

/* The default pool, made when first asked for. */
static struct bl_cu_pool *default_pool(struct bl_cu_device *device)
{
    pthread_mutex_lock(&device->lock);
    if (!device->default_pool) {
        device->default_pool = pool_new(device, true);
        if (!device->pool)
            device->pool = device->default_pool;
    }
    struct bl_cu_pool *pool = device->default_pool;
    pthread_mutex_unlock(&device->lock);
    return pool;
}

static struct bl_cu_pool *current_pool(struct bl_cu_device *device)
{
    struct bl_cu_pool *pool = device->pool;
    return pool ? pool : default_pool(device);
}

/* Gives kept blocks back until no more than `keep` bytes are reserved; the lock is held. */
static void trim(struct bl_cu_pool *pool, uint64_t keep)
{
    const struct bl_device_ops *ops = pool->device->device->ops;
    while (pool->kept && pool->reserved > keep) {
        pool->kept--;
        ops->free(pool->device->device, pool->blocks[pool->kept].base);
        pool->reserved -= pool->blocks[pool->kept].size;
    }
}

void bl_cu_pools_release(struct bl_cu_device *device)
{
    struct bl_cu_pool *pool = device->default_pool;
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    trim(pool, 0);
    pthread_mutex_unlock(&pool->lock);
}

/* A block of that size; the lock is held. */
static enum bl_status take_block(struct bl_cu_pool *pool, uint64_t size, uint64_t *base)
{
    for (uint32_t i = 0; i < pool->kept; i++)
        if (pool->blocks[i].size == size) {
            *base = pool->blocks[i].base;
            pool->blocks[i] = pool->blocks[--pool->kept];
            return BL_OK;
        }
    struct bl_device *device = pool->device->device;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_alloc_kind kind = pool->on_host ? BL_ALLOC_HOST : BL_ALLOC_DEVICE;
    enum bl_status status = device->ops->alloc(device, kind, size, 512, base, &error);
    if (status == BL_NO_MEMORY && pool->kept) {
        trim(pool, 0);
        status = device->ops->alloc(device, kind, size, 512, base, &error);
    }
    if (status == BL_OK) {
        pool->reserved += size;
        pool->reserved_high = BL_MAX(pool->reserved_high, pool->reserved);
    }
    return status;
}

/* Puts a block back; the lock is held. */
static void give_block(struct bl_cu_pool *pool, uint64_t base, uint64_t size)
{
    /* At least 64 MiB are kept whatever the threshold: giving memory to the system and asking for it again costs more here
     * than on a GPU, and nobody else is short of it. */
    uint64_t limit = BL_MAX(pool->threshold, (uint64_t)64 << 20);
    if (pool->kept < POOL_BLOCKS && pool->reserved <= limit) {
        pool->blocks[pool->kept].base = base;
        pool->blocks[pool->kept++].size = size;
        return;
    }
    pool->device->device->ops->free(pool->device->device, base);
    pool->reserved -= size;
}

static CUresult allocate(CUdeviceptr *address, size_t bytesize, struct bl_cu_pool *pool, struct bl_cu_stream *stream)
{
    uint64_t size = BL_ALIGN_UP((uint64_t)bytesize, 512), base = 0;
    if (size < bytesize)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&pool->lock);
    bool full = pool->imported || (pool->largest && size > pool->largest - BL_MIN(pool->used, pool->largest));
    enum bl_status status = full ? BL_NO_MEMORY : take_block(pool, size, &base);
    if (status == BL_OK) {
        pool->used += size;
        pool->used_high = BL_MAX(pool->used_high, pool->used);
    }
    pthread_mutex_unlock(&pool->lock);
    if (status != BL_OK)
        return bl_cu_result(stream->context, status);
    struct bl_cu_allocation about = {.base = base,
                                     .size = size,
                                     .memory = BL_CU_DEVICE_MEMORY,
                                     .context = stream->context,
                                     .device = pool->device,
                                     .pool = pool,
                                     .handle_types = pool->shareable ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0,
                                     .on_host = pool->on_host};
    if (!bl_cu_allocation_insert(&about)) {
        pthread_mutex_lock(&pool->lock);
        pool->used -= size;
        give_block(pool, base, size);
        pthread_mutex_unlock(&pool->lock);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = base;
    return CUDA_SUCCESS;
}

static CUresult capture_alloc(struct bl_cu_stream *stream, CUdeviceptr *address, size_t bytes)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    params.alloc.poolProps.location.id = stream->context->device->ordinal;
    params.alloc.bytesize = bytes;
    CUresult result = bl_cu_capture_add(stream, &params, NULL);
    if (result == CUDA_SUCCESS)
        *address = params.alloc.dptr;
    return result;
}

CUresult bl_cuMemAllocAsync(CUdeviceptr *address, size_t bytesize, CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bytesize) { /* unlike cuMemAlloc(0): measured on an H200 */
        *address = 0;
        return CUDA_SUCCESS;
    }
    if (bl_cu_capturing(stream))
        return capture_alloc(found, address, bytesize);
    struct bl_cu_pool *pool = current_pool(found->context->device);
    return pool ? allocate(address, bytesize, pool, found) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult bl_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytesize, CUmemoryPool pool, CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!address || !bytesize || !object)
        return CUDA_ERROR_INVALID_VALUE;
    if (bl_cu_capturing(stream))
        return capture_alloc(found, address, bytesize);
    return allocate(address, bytesize, object, found);
}

struct pending {
    struct bl_cu_pool *pool;
    uint64_t base, size;
};

void bl_cu_pool_give(struct bl_cu_pool *pool, uint64_t base, uint64_t size)
{
    pthread_mutex_lock(&pool->lock);
    pool->used -= size;
    give_block(pool, base, size);
    pthread_mutex_unlock(&pool->lock);
}

static void run_free(void *data)
{
    struct pending pending = *(struct pending *)data;
    bl_free(data);
    bl_cu_pool_give(pending.pool, pending.base, pending.size);
}

CUresult bl_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    struct bl_cu_stream *found = bl_cu_capturing(stream);
    if (found) {
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
        params.free.dptr = address;
        return bl_cu_capture_add(found, &params, NULL);
    }
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation allocation;
    if (!address)
        return CUDA_SUCCESS;
    if (!bl_cu_allocation_find(address, &allocation) || allocation.base != address)
        return CUDA_ERROR_INVALID_VALUE;
    if (allocation.memory == BL_CU_IMPORTED && allocation.pool) {
        result = bl_cu_stream_wait(found);
        return bl_cu_ipc_close(address) ? result : CUDA_ERROR_INVALID_VALUE;
    }
    if (allocation.memory != BL_CU_DEVICE_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    if (!allocation.pool) /* of cuMemAlloc, or of a graph */
        return bl_cuMemFree_v2(address);
    if (!bl_cu_allocation_remove(address, BL_CU_DEVICE_MEMORY, &allocation))
        return CUDA_ERROR_INVALID_VALUE;
    const struct bl_device_ops *ops = found->context->device->device->ops;
    struct pending *pending = NULL;
    if (ops->queue_query(found->queue) == BL_NOT_READY && (pending = bl_malloc(sizeof(*pending)))) {
        *pending = (struct pending){allocation.pool, allocation.base, allocation.size};
        if (ops->host_call(found->queue, run_free, pending) == BL_OK) {
            bl_cu_stream_touched(found);
            return CUDA_SUCCESS;
        }
        bl_free(pending);
    }
    result = bl_cu_stream_wait(found);
    bl_cu_pool_give(allocation.pool, allocation.base, allocation.size);
    return result;
}

/* ---- pools themselves ---------------------------------------------------------------------------- */

CUresult bl_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    struct bl_cu_pool *pool = default_pool(device);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool_out = BL_CU_HANDLE(CUmemoryPool, pool);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!pool_out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    struct bl_cu_pool *pool = current_pool(device);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool_out = BL_CU_HANDLE(CUmemoryPool, pool);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!object || object->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    device->pool = object;
    return CUDA_SUCCESS;
}

static bool is_host(const CUmemLocation *location)
{
    return location->type == CU_MEM_LOCATION_TYPE_HOST || location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

CUresult bl_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *pool_props)
{
    if (!pool || !pool_props || pool_props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    bool shareable = pool_props->handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, host = is_host(&pool_props->location);
    struct bl_cu_device *device = host ? &bl_cu_devices[0] : bl_cu_device(pool_props->location.id);
    if (pool_props->handleTypes != CU_MEM_HANDLE_TYPE_NONE && !shareable)
        return CUDA_ERROR_NOT_SUPPORTED;
    if ((!host && pool_props->location.type != CU_MEM_LOCATION_TYPE_DEVICE) || !device)
        return CUDA_ERROR_INVALID_VALUE;
    if (shareable && (host || !device->device->ops->share))
        return CUDA_ERROR_NOT_SUPPORTED;
    struct bl_cu_pool *made = pool_new(device, false);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->shareable = shareable;
    made->on_host = host;
    made->largest = pool_props->maxSize;
    *pool = BL_CU_HANDLE(CUmemoryPool, made);
    return CUDA_SUCCESS;
}

bool bl_cu_pool_shareable(const struct bl_cu_pool *pool)
{
    return pool->shareable;
}

struct bl_cu_pool *bl_cu_pool_import(struct bl_cu_device *device, uint64_t identity)
{
    struct bl_cu_pool *made = pool_new(device, false);
    if (made)
        made->imported = identity;
    return made;
}

uint64_t bl_cu_pool_imported(const struct bl_cu_pool *pool)
{
    return pool->imported;
}

/* ---- pools by place ------------------------------------------------------------------------------- */

static struct bl_cu_pool *host_pools[2]; /* the default one, the current one (the first device's lock) */

static CUresult host_pool(bool current, CUmemoryPool *pool)
{
    struct bl_cu_device *device = &bl_cu_devices[0];
    pthread_mutex_lock(&device->lock);
    if (!host_pools[0] && (host_pools[0] = pool_new(device, true)))
        host_pools[0]->on_host = true;
    struct bl_cu_pool *found = current && host_pools[1] ? host_pools[1] : host_pools[0];
    pthread_mutex_unlock(&device->lock);
    if (!found)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool = BL_CU_HANDLE(CUmemoryPool, found);
    return CUDA_SUCCESS;
}

/* Whether pools of the type at the place can be asked for. */
static CUresult check_place(const CUmemLocation *location, CUmemAllocationType type)
{
    if (!location || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_host(location))
        return CUDA_SUCCESS;
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && bl_cu_device(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = pool_out ? check_place(location, type) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    return is_host(location) ? host_pool(false, pool_out) : bl_cuDeviceGetDefaultMemPool(pool_out, location->id);
}

CUresult bl_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
    CUresult result = pool ? check_place(location, type) : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    return is_host(location) ? host_pool(true, pool) : bl_cuDeviceGetMemPool(pool, location->id);
}

CUresult bl_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult result = check_place(location, type);
    if (result != CUDA_SUCCESS)
        return result;
    if (!is_host(location))
        return bl_cuDeviceSetMemPool(location->id, pool);
    struct bl_cu_pool *found = bl_cu_object(pool, BL_CU_POOL);
    if (!found || !found->on_host)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&bl_cu_devices[0].lock);
    host_pools[1] = found;
    pthread_mutex_unlock(&bl_cu_devices[0].lock);
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolDestroy(CUmemoryPool pool)
{
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!object || object->is_default || !bl_cu_unpublish(object))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_device *device = object->device;
    pthread_mutex_lock(&device->lock);
    if (device->pool == object)
        device->pool = device->default_pool;
    if (host_pools[1] == object)
        host_pools[1] = NULL;
    pthread_mutex_unlock(&device->lock);
    pthread_mutex_lock(&object->lock);
    trim(object, 0);
    bool idle = object->used == 0;
    pthread_mutex_unlock(&object->lock);
    if (idle) { /* else its last allocations are still out: the object stays for them */
        bl_free(object->blocks);
        pthread_mutex_destroy(&object->lock);
        bl_cu_recycle(object);
    }
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolTrimTo(CUmemoryPool pool, size_t min_bytes_to_keep)
{
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&object->lock);
    trim(object, min_bytes_to_keep);
    pthread_mutex_unlock(&object->lock);
    return CUDA_SUCCESS;
}

static int *reuse_flag(struct bl_cu_pool *pool, CUmemPool_attribute attr)
{
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return &pool->reuse_event;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return &pool->reuse_opportunistic;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return &pool->reuse_internal;
    default:
        return NULL;
    }
}

static uint64_t *counter(struct bl_cu_pool *pool, CUmemPool_attribute attr)
{
    switch ((int)attr) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high;
    default:
        return NULL;
    }
}

CUresult bl_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!object || !value)
        return CUDA_ERROR_INVALID_VALUE;
    int *flag = reuse_flag(object, attr);
    uint64_t *count = counter(object, attr);
    if (!flag && !count)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&object->lock);
    if (flag)
        memcpy(value, flag, sizeof(*flag));
    else
        memcpy(value, count, sizeof(*count));
    pthread_mutex_unlock(&object->lock);
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!object || !value)
        return CUDA_ERROR_INVALID_VALUE;
    int *flag = reuse_flag(object, attr);
    uint64_t wanted = 0;
    if (!flag)
        memcpy(&wanted, value, sizeof(wanted));
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&object->lock);
    if (flag)
        memcpy(flag, value, sizeof(*flag));
    else if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        object->threshold = wanted;
    else if (attr == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH && wanted == 0) /* high marks may only be set back */
        object->reserved_high = object->reserved;
    else if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH && wanted == 0)
        object->used_high = object->used;
    else
        result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&object->lock);
    return result;
}

/* Kept for those who ask: all devices reach all pools. */
CUresult bl_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
    struct bl_cu_pool *object = bl_cu_object(pool, BL_CU_POOL);
    if (!object || (count && !map))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct bl_cu_device *device = bl_cu_device(map[i].location.id);
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || map[i].flags < CU_MEM_ACCESS_FLAGS_PROT_NONE ||
            map[i].flags > CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
        bool own = device == object->device && !object->on_host;
        if (!device || (own && map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)) /* measured on an H200 */
            return CUDA_ERROR_INVALID_DEVICE;
        if (device != object->device && !bl_cu_can_access_peer(device, object->device))
            return CUDA_ERROR_INVALID_DEVICE;
    }
    for (size_t i = 0; i < count; i++)
        object->access[map[i].location.id] = (uint8_t)map[i].flags;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool mem_pool, CUmemLocation *location)
{
    struct bl_cu_pool *object = bl_cu_object(mem_pool, BL_CU_POOL);
    if (!object || !flags || !location)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_host(location)) {
        *flags = object->on_host ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
        return CUDA_SUCCESS;
    }
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || !bl_cu_device(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    bool own = location->id == object->device->ordinal && !object->on_host;
    *flags = own ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : (CUmemAccess_flags)object->access[location->id];
    return CUDA_SUCCESS;
}
