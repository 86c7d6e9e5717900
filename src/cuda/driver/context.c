/* Contexts: primary and created ones, the threads' stacks of them, limits and configuration. */
#include "cuda/driver/thread.h"

#include <stdio.h>

__thread struct bl_cu_thread *bl_cu_thread_self;

static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;
static bool thread_key_made;
static atomic_ullong next_context_id = 1;

/* ---- threads ------------------------------------------------------------------------------ */

static void thread_end(void *data)
{
    struct bl_cu_thread *thread = data;
    for (uint32_t i = 0; i < thread->stream_count; i++) {
        struct bl_cu_stream *stream = bl_cu_object((void *)(uintptr_t)thread->streams[i].stream, BL_CU_STREAM);
        if (!stream || !bl_cu_unpublish(stream))
            continue;
        struct bl_cu_context *context = stream->context;
        pthread_mutex_lock(&context->lock);
        if (stream->previous)
            stream->previous->next = stream->next;
        else
            context->streams = stream->next;
        if (stream->next)
            stream->next->previous = stream->previous;
        pthread_mutex_unlock(&context->lock);
        bl_cu_stream_free(stream);
    }
    bl_free(thread->stack);
    bl_free(thread);
    bl_cu_thread_self = NULL;
}

static void make_key(void)
{
    thread_key_made = pthread_key_create(&thread_key, thread_end) == 0;
}

struct bl_cu_thread *bl_cu_thread(void)
{
    if (bl_cu_thread_self)
        return bl_cu_thread_self;
    pthread_once(&thread_once, make_key);
    struct bl_cu_thread *thread = bl_calloc(1, sizeof(*thread));
    if (thread && thread_key_made)
        pthread_setspecific(thread_key, thread);
    return bl_cu_thread_self = thread;
}

static CUcontext top(void)
{
    struct bl_cu_thread *thread = bl_cu_thread_self;
    return thread && thread->depth ? thread->stack[thread->depth - 1] : NULL;
}

static CUresult push(CUcontext context)
{
    struct bl_cu_thread *thread = bl_cu_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (thread->depth == thread->capacity) {
        uint32_t capacity = thread->capacity ? thread->capacity * 2 : 8;
        CUcontext *stack = bl_realloc(thread->stack, capacity * sizeof(*stack));
        if (!stack)
            return CUDA_ERROR_OUT_OF_MEMORY;
        thread->stack = stack;
        thread->capacity = capacity;
    }
    thread->stack[thread->depth++] = context;
    return CUDA_SUCCESS;
}

/* ---- looking one up ------------------------------------------------------------------------ */

CUresult bl_cu_current_quiet(struct bl_cu_context **context)
{
    CUcontext handle = top();
    if (!handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    *context = bl_cu_object(handle, BL_CU_CONTEXT);
    if (!*context || !atomic_load_explicit(&(*context)->active, memory_order_acquire))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return CUDA_SUCCESS;
}

static CUresult check_faults(struct bl_cu_context *context)
{
    CUresult known = atomic_load_explicit(&context->sticky, memory_order_relaxed);
    if (known != CUDA_SUCCESS)
        return known;
    struct bl_fault fault;
    struct bl_device *device = context->device->device;
    return device->ops->fault(device, &fault) ? bl_cu_result(context, BL_FAULT) : CUDA_SUCCESS;
}

CUresult bl_cu_current(struct bl_cu_context **context)
{
    CUresult result = bl_cu_current_quiet(context);
    return result == CUDA_SUCCESS ? check_faults(*context) : result;
}

CUresult bl_cu_context_of(CUcontext handle, struct bl_cu_context **context)
{
    if (!handle)
        return bl_cu_current_quiet(context);
    *context = bl_cu_object(handle, BL_CU_CONTEXT);
    if (!*context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return atomic_load(&(*context)->active) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- making and ending ---------------------------------------------------------------------- */

static CUresult context_start(struct bl_cu_context *context, unsigned flags)
{
    context->flags = flags;
    context->id = atomic_fetch_add(&next_context_id, 1);
    context->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    context->shared_config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    atomic_store(&context->sticky, CUDA_SUCCESS);
    atomic_store(&context->blocking, 0);
    atomic_store(&context->legacy_work, 0);
    atomic_store(&context->peers, 0);
    CUresult result = bl_cu_stream_new(context, 0, 0, true, &context->legacy);
    if (result != CUDA_SUCCESS)
        return result;
    atomic_store(&context->active, true);
    return CUDA_SUCCESS;
}

static CUresult context_new(struct bl_cu_device *device, unsigned flags, bool primary, struct bl_cu_context **made)
{
    struct bl_cu_context *context = bl_cu_new(BL_CU_CONTEXT);
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->device = device;
    context->primary = primary;
    pthread_mutex_init(&context->lock, NULL);
    CUresult result = context_start(context, flags);
    if (result != CUDA_SUCCESS) {
        pthread_mutex_destroy(&context->lock);
        bl_cu_recycle(context);
        return result;
    }
    bl_cu_publish(context);
    *made = context;
    return CUDA_SUCCESS;
}

CUresult bl_cu_context_new(struct bl_cu_device *device, unsigned flags, struct bl_cu_context **context)
{
    return context_new(device, flags, false, context);
}

static void run_storage_destructors(struct bl_cu_context *context)
{
    for (;;) {
        pthread_mutex_lock(&context->lock);
        struct bl_cu_storage *entry = context->storage;
        if (entry)
            context->storage = entry->next;
        pthread_mutex_unlock(&context->lock);
        if (!entry)
            return;
        if (entry->destructor)
            entry->destructor(BL_CU_HANDLE(CUcontext, context), entry->key, entry->value);
        bl_free(entry);
    }
}

static void drop_streams(struct bl_cu_context *context)
{
    for (;;) {
        pthread_mutex_lock(&context->lock);
        struct bl_cu_stream *stream = context->streams;
        if (stream) {
            context->streams = stream->next;
            if (stream->next)
                stream->next->previous = NULL;
        }
        pthread_mutex_unlock(&context->lock);
        if (!stream)
            break;
        if (bl_cu_unpublish(stream))
            bl_cu_stream_free(stream);
    }
    bl_cu_stream_free(context->legacy);
    context->legacy = NULL;
}

/* Frees everything that the context holds. Its handle stays. */
static void context_stop(struct bl_cu_context *context)
{
    run_storage_destructors(context);
    bl_cu_synchronize(context);
    struct bl_device *device = context->device->device;
    device->ops->flush_printf(device);
    atomic_store(&context->active, false);
    if (atomic_load(&context->sticky) != CUDA_SUCCESS)
        device->ops->reset(device);
    for (;;) {
        pthread_mutex_lock(&context->lock);
        struct bl_cu_module *module = context->modules;
        if (module) {
            context->modules = module->next;
            if (module->next)
                module->next->previous = NULL;
        }
        pthread_mutex_unlock(&context->lock);
        if (!module)
            break;
        bl_cu_unpublish(module);
        bl_cu_module_free(module);
    }
    bl_cu_events_drop(context);
    bl_cu_textures_drop(context);
    drop_streams(context);
    struct bl_cu_allocation allocation;
    while (bl_cu_allocation_take(context, &allocation))
        bl_cu_free_now(context, &allocation);
    if (context->primary)
        bl_cu_pools_release(context->device);
}

/* ---- primary contexts ------------------------------------------------------------------------ */

CUresult bl_cu_primary_retain(struct bl_cu_device *device, struct bl_cu_context **context)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (!device->primary)
        result = context_new(device, device->primary_flags, true, &device->primary);
    else if (!atomic_load(&device->primary->active))
        result = context_start(device->primary, device->primary_flags);
    if (result == CUDA_SUCCESS) {
        device->retained++;
        *context = device->primary;
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

CUresult bl_cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    struct bl_cu_context *context;
    CUresult result = bl_cu_primary_retain(device, &context);
    if (result == CUDA_SUCCESS)
        *ctx = BL_CU_HANDLE(CUcontext, context);
    return result;
}

CUresult bl_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (!device->retained)
        result = CUDA_ERROR_INVALID_CONTEXT;
    bool last = device->retained && --device->retained == 0;
    struct bl_cu_context *context = device->primary;
    pthread_mutex_unlock(&device->lock);
    if (last)
        context_stop(context);
    return result;
}

CUresult bl_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&device->lock);
    struct bl_cu_context *context = device->primary;
    bool live = context && atomic_load(&context->active);
    device->retained = 0;
    device->primary_flags = 0;
    pthread_mutex_unlock(&device->lock);
    if (live)
        context_stop(context);
    return CUDA_SUCCESS;
}

CUresult bl_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK || (sched & (sched - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&device->lock);
    device->primary_flags = flags;
    if (device->primary && atomic_load(&device->primary->active))
        device->primary->flags = flags; /* since CUDA 11 allowed while it is active */
    pthread_mutex_unlock(&device->lock);
    return CUDA_SUCCESS;
}

CUresult bl_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&device->lock);
    *flags = device->primary_flags;
    *active = device->primary && atomic_load(&device->primary->active);
    pthread_mutex_unlock(&device->lock);
    return CUDA_SUCCESS;
}

/* ---- created contexts ------------------------------------------------------------------------- */

CUresult bl_cuCtxCreate_v2(CUcontext *ctx, unsigned int flags, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    if (!ctx || flags & ~(unsigned)CU_CTX_FLAGS_MASK || (sched & (sched - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    struct bl_cu_context *context;
    CUresult result = context_new(device, flags, false, &context);
    if (result != CUDA_SUCCESS)
        return result;
    result = push(BL_CU_HANDLE(CUcontext, context));
    if (result != CUDA_SUCCESS) {
        bl_cu_unpublish(context);
        context_stop(context);
        pthread_mutex_destroy(&context->lock);
        bl_cu_recycle(context);
        return result;
    }
    *ctx = BL_CU_HANDLE(CUcontext, context);
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params_array, int num_params, unsigned int flags, CUdevice dev)
{
    if (num_params < 0 || (num_params > 0 && !params_array))
        return CUDA_ERROR_INVALID_VALUE;
    if (num_params > 0) /* shares of an MPS device */
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return bl_cuCtxCreate_v2(ctx, flags, dev);
}

CUresult bl_cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params, unsigned int flags, CUdevice dev)
{
    if (params && params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params)
        return bl_cuCtxCreate_v3(ctx, params->execAffinityParams, params->numExecAffinityParams, flags, dev);
    return bl_cuCtxCreate_v2(ctx, flags, dev);
}

CUresult bl_cuCtxDestroy_v2(CUcontext ctx)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_context *context = bl_cu_object(ctx, BL_CU_CONTEXT);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary || !bl_cu_unpublish(context))
        return CUDA_ERROR_INVALID_CONTEXT;
    struct bl_cu_thread *thread = bl_cu_thread_self;
    if (thread && thread->depth && thread->stack[thread->depth - 1] == ctx)
        thread->depth--;
    context_stop(context);
    pthread_mutex_destroy(&context->lock);
    bl_cu_recycle(context);
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxAttach(CUcontext *ctx, unsigned int flags)
{
    if (!ctx || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_ERROR_NOT_SUPPORTED; /* use counts of created contexts went away with CUDA 4 */
}

CUresult bl_cuCtxDetach(CUcontext ctx)
{
    return bl_cuCtxDestroy_v2(ctx);
}

/* ---- the current context ------------------------------------------------------------------------ */

CUresult bl_cuCtxPushCurrent_v2(CUcontext ctx)
{
    if (!bl_cu_object(ctx, BL_CU_CONTEXT))
        return ctx ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    return push(ctx);
}

CUresult bl_cuCtxPopCurrent_v2(CUcontext *ctx)
{
    struct bl_cu_thread *thread = bl_cu_thread_self;
    if (!thread || !thread->depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext popped = thread->stack[--thread->depth];
    if (ctx)
        *ctx = popped;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxSetCurrent(CUcontext ctx)
{
    struct bl_cu_thread *thread = bl_cu_thread_self;
    if (!ctx) {
        if (thread && thread->depth)
            thread->depth--;
        return CUDA_SUCCESS;
    }
    if (!bl_cu_object(ctx, BL_CU_CONTEXT))
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread && thread->depth) {
        thread->stack[thread->depth - 1] = ctx;
        return CUDA_SUCCESS;
    }
    return push(ctx);
}

CUresult bl_cuCtxGetCurrent(CUcontext *ctx)
{
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    *ctx = top();
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetDevice(CUdevice *device)
{
    struct bl_cu_context *context;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    CUcontext handle = top();
    if (!handle)
        return CUDA_ERROR_INVALID_CONTEXT;
    context = bl_cu_object(handle, BL_CU_CONTEXT); /* also of a primary context that was reset */
    if (!context)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *device = context->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct bl_cu_context *context;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result == CUDA_SUCCESS)
        *device = context->device->ordinal;
    return result;
}

CUresult bl_cuCtxGetFlags(unsigned int *flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags | CU_CTX_MAP_HOST; /* always so on 64-bit systems */
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxSetFlags(unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    if (flags & ~(unsigned)CU_CTX_FLAGS_MASK || (sched & (sched - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    struct bl_cu_context *context;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result == CUDA_SUCCESS)
        *id = context->id;
    return result;
}

CUresult bl_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    struct bl_cu_context *context;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result == CUDA_SUCCESS)
        *version = 3020; /* what every context since 3.2 reports */
    return result;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

CUresult bl_cu_synchronize(struct bl_cu_context *context)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_device *device = context->device->device;
    CUresult result = bl_cu_result(context, device->ops->queue_wait(context->legacy->queue));
    bool others;
    pthread_mutex_lock(&context->lock);
    others = context->streams != NULL;
    pthread_mutex_unlock(&context->lock);
    if (!others)
        return result;
    CUresult second = bl_cu_result(context, device->ops->device_wait(device));
    return result == CUDA_SUCCESS ? second : result;
}

CUresult bl_cuCtxSynchronize(void)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_context(context);
    return result == CUDA_SUCCESS ? bl_cu_synchronize(context) : result;
}

CUresult bl_cuCtxSynchronize_v2(CUcontext ctx)
{
    if (!ctx)
        return bl_cuCtxSynchronize();
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_context(context);
    return result == CUDA_SUCCESS ? bl_cu_synchronize(context) : result;
}

/* ---- limits and configuration ------------------------------------------------------------------------- */

static bool device_limit(CUlimit limit, enum bl_device_limit *found)
{
    if (limit == CU_LIMIT_STACK_SIZE)
        *found = BL_LIMIT_STACK;
    else if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
        *found = BL_LIMIT_PRINTF;
    else if (limit == CU_LIMIT_MALLOC_HEAP_SIZE)
        *found = BL_LIMIT_HEAP;
    else
        return false;
    return true;
}

CUresult bl_cuCtxSetLimit(CUlimit limit, size_t value)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    enum bl_device_limit found;
    struct bl_device *device = context->device->device;
    if (device_limit(limit, &found))
        return bl_cu_result(context, device->ops->set_limit(device, found, value));
    if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) {
        atomic_store(&context->persisting_l2, (unsigned)BL_MIN(value, (size_t)device->props.l2_bytes));
        return CUDA_SUCCESS;
    }
    if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY)
        return value > 128 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS; /* a hint */
    if (limit == CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH || limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT)
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    enum bl_device_limit found;
    struct bl_device *device = context->device->device;
    if (device_limit(limit, &found))
        *value = device->ops->get_limit(device, found);
    else if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
        *value = atomic_load(&context->persisting_l2);
    else if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY)
        *value = 64;
    else
        return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = context->cache_config;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxSetCacheConfig(CUfunc_cache config)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    context->cache_config = config;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = context->shared_config;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    /* Devices since Maxwell have banks of four bytes and take any wish without following it. */
    return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult bl_cuCtxGetStreamPriorityRange(int *least_priority, int *greatest_priority)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (least_priority)
        *least_priority = 0;
    if (greatest_priority)
        *greatest_priority = -5; /* measured on an H200 of driver 580 */
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxResetPersistingL2Cache(void)
{
    struct bl_cu_context *context;
    return bl_cu_current_quiet(&context);
}

CUresult bl_cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!affinity)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    affinity->type = type;
    affinity->param.smCount.val = (unsigned)context->device->device->props.multiprocessors;
    return CUDA_SUCCESS;
}

/* ---- peers ----------------------------------------------------------------------------------------------- */

/* What can be reached needs no enabling here: devices that use the host's memory reach all of it. But the state is kept, since
 * programs ask for it and rely on its errors. */
static CUresult peer_bit(CUcontext handle, struct bl_cu_context **context, uint64_t *bit)
{
    CUresult result = bl_cu_current(context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_context *peer = bl_cu_object(handle, BL_CU_CONTEXT);
    if (!peer)
        return CUDA_ERROR_INVALID_CONTEXT;
    *bit = bl_cu_can_access_peer((*context)->device, peer->device) ? (uint64_t)1 << peer->device->ordinal : 0;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxEnablePeerAccess(CUcontext peer_context, unsigned int flags)
{
    struct bl_cu_context *context;
    uint64_t bit;
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = peer_bit(peer_context, &context, &bit);
    if (result != CUDA_SUCCESS)
        return result;
    if (!bit)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; /* to itself too: measured on an H200 */
    return atomic_fetch_or(&context->peers, bit) & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult bl_cuCtxDisablePeerAccess(CUcontext peer_context)
{
    struct bl_cu_context *context;
    uint64_t bit;
    CUresult result = peer_bit(peer_context, &context, &bit);
    if (result != CUDA_SUCCESS)
        return result;
    return atomic_fetch_and(&context->peers, ~bit) & bit ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
