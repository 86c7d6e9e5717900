/* Streams, and how the legacy default stream orders itself with the others.
 *
 * Each stream has a queue of the device. The legacy stream (NULL) waits for what was put into blocking streams before, and
 * they wait for what was put into it: fences do that, and only where there is something to wait for. A context without
 * blocking streams, the usual case, pays one load for it. Source: CUDA programming guide, "Default stream".
 */
#include "cuda/driver/thread.h"

static atomic_ullong next_stream_id = 1;

/* ---- making and ending ------------------------------------------------------------------------ */

CUresult bl_cu_stream_new(struct bl_cu_context *context, unsigned flags, int priority, bool legacy, struct bl_cu_stream **made)
{
    const struct bl_device_ops *ops = context->device->device->ops;
    struct bl_cu_stream *stream = bl_cu_new(BL_CU_STREAM);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->context = context;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = atomic_fetch_add(&next_stream_id, 1);
    stream->legacy = legacy;
    stream->blocking = !legacy && !(flags & CU_STREAM_NON_BLOCKING);
    stream->sync_policy = CU_SYNC_POLICY_AUTO;
    stream->sync_domain_map.remote = 1;
    atomic_store(&stream->seen_legacy, 0);
    enum bl_status status = ops->queue_create(context->device->device, priority, &stream->queue);
    if (status == BL_OK) {
        status = ops->fence_create(context->device->device, &stream->fence);
        if (status != BL_OK)
            ops->queue_destroy(stream->queue);
    }
    if (status != BL_OK) {
        bl_cu_recycle(stream);
        return bl_cu_result(context, status);
    }
    *made = stream;
    if (legacy)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&context->lock);
    stream->next = context->streams;
    if (stream->next)
        stream->next->previous = stream;
    context->streams = stream;
    if (stream->blocking)
        atomic_fetch_add(&context->blocking, 1);
    pthread_mutex_unlock(&context->lock);
    bl_cu_publish(stream);
    return CUDA_SUCCESS;
}

void bl_cu_stream_free(struct bl_cu_stream *stream)
{
    const struct bl_device_ops *ops = stream->context->device->device->ops;
    if (atomic_load(&stream->capture))
        bl_cu_capture_forget(stream);
    if (stream->blocking)
        atomic_fetch_sub(&stream->context->blocking, 1);
    ops->queue_destroy(stream->queue);
    ops->fence_destroy(stream->fence);
    bl_cu_recycle(stream);
}

CUresult bl_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    priority = BL_MAX(-5, BL_MIN(0, priority)); /* out of range is clamped (documented) */
    struct bl_cu_stream *made;
    result = bl_cu_stream_new(context, flags, priority, false, &made);
    if (result == CUDA_SUCCESS)
        *stream = BL_CU_HANDLE(CUstream, made);
    return result;
}

CUresult bl_cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return bl_cuStreamCreateWithPriority(stream, flags, 0);
}

static void take_out(struct bl_cu_stream *stream)
{
    struct bl_cu_context *context = stream->context;
    pthread_mutex_lock(&context->lock);
    if (stream->previous)
        stream->previous->next = stream->next;
    else
        context->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    pthread_mutex_unlock(&context->lock);
}

CUresult bl_cuStreamDestroy_v2(CUstream stream)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    struct bl_cu_stream *found = bl_cu_object(stream, BL_CU_STREAM);
    if (!found)
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_HANDLE; /* the default streams included */
    if (found->per_thread || !bl_cu_unpublish(found))
        return CUDA_ERROR_INVALID_HANDLE;
    take_out(found);
    /* Work that is still in it must go on ordering the legacy stream: let legacy wait for it now. */
    if (found->blocking && atomic_load(&found->dirty)) {
        const struct bl_device_ops *ops = found->context->device->device->ops;
        pthread_mutex_lock(&found->context->lock);
        if (ops->queue_query(found->queue) == BL_NOT_READY && ops->fence_record(found->queue, found->fence) == BL_OK)
            ops->fence_wait_queue(found->context->legacy->queue, found->fence);
        pthread_mutex_unlock(&found->context->lock);
    }
    bl_cu_stream_free(found);
    return CUDA_SUCCESS;
}

/* ---- finding ------------------------------------------------------------------------------------- */

/* The calling thread's own default stream in the context, made at its first use. */
static CUresult per_thread_stream(struct bl_cu_context *context, struct bl_cu_stream **stream)
{
    struct bl_cu_thread *thread = bl_cu_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uint32_t at = thread->stream_count;
    for (uint32_t i = 0; i < thread->stream_count; i++) {
        struct bl_cu_stream *found = bl_cu_object((void *)(uintptr_t)thread->streams[i].stream, BL_CU_STREAM);
        if (!found)
            at = i; /* its context is gone: use the place again */
        else if (thread->streams[i].context == context->object.handle) {
            *stream = found;
            return CUDA_SUCCESS;
        }
    }
    if (at == BL_LEN(thread->streams))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = bl_cu_stream_new(context, CU_STREAM_DEFAULT, 0, false, stream);
    if (result != CUDA_SUCCESS)
        return result;
    (*stream)->per_thread = true;
    thread->streams[at].context = context->object.handle;
    thread->streams[at].stream = (*stream)->object.handle;
    thread->stream_count = BL_MAX(thread->stream_count, at + 1);
    return CUDA_SUCCESS;
}

CUresult bl_cu_stream_find(CUstream handle, struct bl_cu_stream **stream)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle || handle == CU_STREAM_LEGACY) {
        *stream = context->legacy;
        return CUDA_SUCCESS;
    }
    if (handle == CU_STREAM_PER_THREAD)
        return per_thread_stream(context, stream);
    *stream = bl_cu_object(handle, BL_CU_STREAM);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- ordering --------------------------------------------------------------------------------------- */

/* What comes next in legacy must wait for the blocking streams. */
static enum bl_status order_legacy(struct bl_cu_context *context)
{
    const struct bl_device_ops *ops = context->device->device->ops;
    enum bl_status status = BL_OK;
    pthread_mutex_lock(&context->lock);
    for (struct bl_cu_stream *stream = context->streams; stream && status == BL_OK; stream = stream->next) {
        if (!stream->blocking || !atomic_exchange(&stream->dirty, false))
            continue;
        status = ops->queue_query(stream->queue);
        if (status != BL_NOT_READY)
            continue;
        status = ops->fence_record(stream->queue, stream->fence);
        if (status == BL_OK)
            status = ops->fence_wait_queue(context->legacy->queue, stream->fence);
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}

/* What comes next in a blocking stream must wait for legacy. */
static enum bl_status order_blocking(struct bl_cu_stream *stream, unsigned long long work)
{
    struct bl_cu_context *context = stream->context;
    const struct bl_device_ops *ops = context->device->device->ops;
    pthread_mutex_lock(&context->lock);
    enum bl_status status = ops->queue_query(context->legacy->queue);
    if (status == BL_NOT_READY) {
        status = ops->fence_record(context->legacy->queue, context->legacy->fence);
        if (status == BL_OK)
            status = ops->fence_wait_queue(stream->queue, context->legacy->fence);
    }
    if (status == BL_OK)
        atomic_store(&stream->seen_legacy, work);
    pthread_mutex_unlock(&context->lock);
    return status;
}

CUresult bl_cu_stream_enter(CUstream handle, struct bl_cu_stream **found)
{
    CUresult result = bl_cu_stream_find(handle, found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_stream *stream = *found;
    struct bl_cu_context *context = stream->context;
    if (__builtin_expect(atomic_load_explicit(&bl_cu_captures, memory_order_relaxed) != 0, 0)) {
        result = bl_cu_capture_check(stream);
        if (result != CUDA_SUCCESS)
            return result;
    }
    enum bl_status status = BL_OK;
    if (stream->legacy) {
        if (atomic_load_explicit(&context->blocking, memory_order_relaxed))
            status = order_legacy(context);
    } else if (stream->blocking) {
        unsigned long long work = atomic_load_explicit(&context->legacy_work, memory_order_acquire);
        if (work != atomic_load_explicit(&stream->seen_legacy, memory_order_relaxed))
            status = order_blocking(stream, work);
    }
    return status == BL_OK ? CUDA_SUCCESS : bl_cu_result(context, status);
}

/* ---- waiting ------------------------------------------------------------------------------------------ */

/* Whether this thread runs a host function of the program's. */
static __thread bool in_host_function __attribute__((tls_model("initial-exec")));

/* A host function that waited for its own stream would wait for ever. CUDA allows none of them any call. */
CUresult bl_cu_may_wait(void)
{
    return in_host_function ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

CUresult bl_cu_stream_wait(struct bl_cu_stream *stream)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    const struct bl_device_ops *ops = stream->context->device->device->ops;
    return bl_cu_result(stream->context, ops->queue_wait(stream->queue));
}

CUresult bl_cuStreamSynchronize(CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    return result == CUDA_SUCCESS ? bl_cu_stream_wait(found) : result;
}

CUresult bl_cuStreamQuery(CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result == CUDA_SUCCESS)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    return bl_cu_result(found->context, found->context->device->device->ops->queue_query(found->queue));
}

/* ---- host functions -------------------------------------------------------------------------------------- */

struct callback {
    CUstream stream;
    CUstreamCallback function; /* this or the next */
    CUhostFn host_function;
    void *data;
};

static void run_callback(void *data)
{
    struct callback callback = *(struct callback *)data;

    bl_free(data);
    in_host_function = true;
    if (callback.function)
        callback.function(callback.stream, CUDA_SUCCESS, callback.data);
    else
        callback.host_function(callback.data);
    in_host_function = false;
}

bool bl_cu_host_function(CUhostFn function, void *user, void (**call)(void *), void **data)
{
    struct callback *callback = bl_calloc(1, sizeof(*callback));
    if (!callback)
        return false;
    callback->host_function = function;
    callback->data = user;
    *call = run_callback;
    *data = callback;
    return true;
}

static CUresult add_callback(const struct callback *what)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(what->stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!what->function && !what->host_function)
        return CUDA_ERROR_INVALID_VALUE;
    struct callback *callback = bl_malloc(sizeof(*callback));
    if (!callback)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *callback = *what;
    enum bl_status status = found->context->device->device->ops->host_call(found->queue, run_callback, callback);
    if (status != BL_OK)
        bl_free(callback);
    bl_cu_stream_touched(found);
    return bl_cu_result(found->context, status);
}

CUresult bl_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user_data)
{
    struct bl_cu_stream *capturing = bl_cu_capturing(stream);
    if (capturing) {
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};
        params.host.fn = fn;
        params.host.userData = user_data;
        return bl_cu_capture_add(capturing, &params, NULL);
    }
    return add_callback(&(struct callback){.stream = stream, .host_function = fn, .data = user_data});
}

CUresult bl_cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *user_data, unsigned int flags)
{
    if (!function || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return add_callback(&(struct callback){.stream = stream, .function = function, .data = user_data});
}

/* ---- facts about a stream ----------------------------------------------------------------------------------- */

CUresult bl_cuStreamGetPriority(CUstream stream, int *priority)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = found->priority;
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamGetFlags(CUstream stream, unsigned int *flags)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamGetId(CUstream stream, unsigned long long *stream_id)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!stream_id)
        return CUDA_ERROR_INVALID_VALUE;
    *stream_id = found->id;
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    *ctx = BL_CU_HANDLE(CUcontext, found->context);
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green_ctx)
{
    CUresult result = bl_cuStreamGetCtx(stream, ctx);
    if (result == CUDA_SUCCESS && green_ctx)
        *green_ctx = NULL;
    return result;
}

CUresult bl_cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = found->context->device->ordinal;
    return CUDA_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

CUresult bl_cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value_out)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!value_out)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value_out->accessPolicyWindow = found->access_policy.accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value_out->syncPolicy = found->sync_policy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value_out->priority = found->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value_out->memSyncDomain = found->sync_domain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value_out->memSyncDomainMap = found->sync_domain_map;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr, const CUstreamAttrValue *value)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: /* a hint for caches */
        if (value->accessPolicyWindow.hitRatio < 0 || value->accessPolicyWindow.hitRatio > 1)
            return CUDA_ERROR_INVALID_VALUE;
        found->access_policy.accessPolicyWindow = value->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        if (value->syncPolicy < CU_SYNC_POLICY_AUTO || value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC)
            return CUDA_ERROR_INVALID_VALUE;
        found->sync_policy = value->syncPolicy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        found->priority = BL_MAX(-5, BL_MIN(0, value->priority));
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        found->sync_domain = value->memSyncDomain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        found->sync_domain_map = value->memSyncDomainMap;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct bl_cu_stream *to, *from;
    CUresult result = bl_cu_stream_find(dst, &to);
    if (result == CUDA_SUCCESS)
        result = bl_cu_stream_find(src, &from);
    if (result != CUDA_SUCCESS)
        return result;
    to->access_policy = from->access_policy;
    to->sync_policy = from->sync_policy;
    to->sync_domain = from->sync_domain;
    to->sync_domain_map = from->sync_domain_map;
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length, unsigned int flags)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation allocation;
    if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE) ||
        !bl_cu_allocation_find(address, &allocation) || allocation.memory != BL_CU_MANAGED ||
        (flags == CU_MEM_ATTACH_SINGLE && found->legacy) || (length && length != allocation.size))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS; /* host and kernels may always use managed memory at the same time */
}
