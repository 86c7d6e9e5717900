/* Events: a fence of the device with CUDA's rules about timing and states around it. */
#include "cuda/driver/driver.h"

#define EVENT_FLAGS (CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS)

/* Events of a context that goes away must go too, so each context's are in a list under one lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct node {
    struct bl_cu_event *event;
    struct node *previous, *next;
} * all;

static const struct bl_device_ops *ops_of(const struct bl_cu_event *event)
{
    return event->context->device->device->ops;
}

/* Whatever else the event needs before it can be used. */
static CUresult event_fill(struct bl_cu_event *made, struct bl_cu_shared_event *shared, int file)
{
    struct bl_device *device = made->context->device->device;
    enum bl_status status = device->ops->fence_create(device, &made->fence);
    if (status != BL_OK)
        return bl_cu_result(made->context, status);
    struct node *node = bl_calloc(1, sizeof(*node));
    CUresult result = node ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    if (node && made->flags & CU_EVENT_INTERPROCESS && !shared)
        result = bl_cu_event_share(made);
    if (result != CUDA_SUCCESS) {
        ops_of(made)->fence_destroy(made->fence);
        bl_free(node);
        return result;
    }
    if (shared) {
        made->shared = shared;
        made->file = file;
        made->imported = true;
    }
    node->event = made;
    made->node = node;
    return CUDA_SUCCESS;
}

CUresult bl_cu_event_new(struct bl_cu_context *context, unsigned flags, struct bl_cu_shared_event *shared, int file, CUevent *event)
{
    struct bl_cu_event *made = bl_cu_new(BL_CU_EVENT);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->context = context;
    made->flags = flags;
    CUresult result = event_fill(made, shared, file);
    if (result != CUDA_SUCCESS) {
        bl_cu_recycle(made);
        return result;
    }
    struct node *node = made->node;
    pthread_mutex_lock(&lock);
    node->next = all;
    if (all)
        all->previous = node;
    all = node;
    pthread_mutex_unlock(&lock);
    bl_cu_publish(made);
    *event = BL_CU_HANDLE(CUevent, made);
    return CUDA_SUCCESS;
}

CUresult bl_cuEventCreate(CUevent *event, unsigned int flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!event || flags & ~(unsigned)EVENT_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_EVENT_INTERPROCESS && !context->device->device->ops->value)
        return CUDA_ERROR_NOT_SUPPORTED;
    return bl_cu_event_new(context, flags, NULL, -1, event);
}

static void event_free(struct bl_cu_event *event)
{
    struct node *node = event->node;
    pthread_mutex_lock(&lock);
    if (node->previous)
        node->previous->next = node->next;
    else
        all = node->next;
    if (node->next)
        node->next->previous = node->previous;
    pthread_mutex_unlock(&lock);
    bl_free(node);
    bl_cu_capture_deps_free(&event->capture_deps);
    ops_of(event)->fence_destroy(event->fence);
    if (event->shared)
        bl_cu_event_unshare(event);
    bl_cu_recycle(event);
}

CUresult bl_cuEventDestroy_v2(CUevent event)
{
    struct bl_cu_event *found = bl_cu_object(event, BL_CU_EVENT);
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (!found || !bl_cu_unpublish(found))
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_HANDLE;
    event_free(found);
    return CUDA_SUCCESS;
}

void bl_cu_events_drop(struct bl_cu_context *context)
{
    for (;;) {
        struct bl_cu_event *event = NULL;
        pthread_mutex_lock(&lock);
        for (struct node *node = all; node && !event; node = node->next)
            if (node->event->context == context && bl_cu_unpublish(node->event))
                event = node->event;
        pthread_mutex_unlock(&lock);
        if (!event)
            return;
        event_free(event);
    }
}

/* In a capturing stream an event marks a place in the graph; with the flag it is a node of it. */
static CUresult capture_record(struct bl_cu_stream *stream, CUevent event, unsigned int flags)
{
    struct bl_cu_event *object = bl_cu_object(event, BL_CU_EVENT);
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (!flags)
        return bl_cu_capture_record(stream, object);
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EVENT_RECORD};
    params.eventRecord.event = event;
    return bl_cu_capture_add(stream, &params, NULL);
}

static CUresult capture_wait_external(struct bl_cu_stream *stream, CUevent event)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT};
    params.eventWait.event = event;
    struct bl_cu_event *object = bl_cu_object(event, BL_CU_EVENT);
    if (object && atomic_load(&object->capture)) { /* it marks a place in a graph */
        bl_cu_capture_check(stream);
        return CUDA_ERROR_INVALID_VALUE;
    }
    return bl_cu_capture_add(stream, &params, NULL);
}

/* An event that stands in a graph has no time and no state. */
static CUresult check_captured(struct bl_cu_event *event)
{
    uint64_t capture = atomic_load_explicit(&event->capture, memory_order_relaxed);
    if (!capture)
        return bl_cu_capture_unsafe();
    return bl_cu_capture_invalidate(capture) ? CUDA_ERROR_CAPTURED_EVENT : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    struct bl_cu_stream *found = bl_cu_capturing(stream);
    if (found)
        return capture_record(found, event, flags);
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_event *object = bl_cu_object(event, BL_CU_EVENT);
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags) /* external recording is for captured streams */
        return CUDA_ERROR_ILLEGAL_STATE;
    if (object->context != found->context)
        return CUDA_ERROR_INVALID_HANDLE;
    enum bl_status status = ops_of(object)->fence_record(found->queue, object->fence);
    if (status == BL_OK) {
        atomic_store(&object->recorded, true);
        atomic_store(&object->capture, 0);
    }
    CUresult shared = status == BL_OK && object->shared ? bl_cu_event_shared_record(object, found) : CUDA_SUCCESS;
    bl_cu_stream_touched(found);
    if (shared != CUDA_SUCCESS)
        return shared;
    return bl_cu_result(found->context, status);
}

CUresult bl_cuEventRecord(CUevent event, CUstream stream)
{
    return bl_cuEventRecordWithFlags(event, stream, 0);
}

CUresult bl_cuEventQuery(CUevent event)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_event *found = bl_cu_object(event, BL_CU_EVENT);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    result = check_captured(found);
    if (result != CUDA_SUCCESS)
        return result;
    if (found->shared)
        return bl_cu_event_shared_passed(found) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    if (!atomic_load(&found->recorded))
        return CUDA_SUCCESS;
    return bl_cu_result(found->context, ops_of(found)->fence_query(found->fence));
}

CUresult bl_cuEventSynchronize(CUevent event)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_event *found = bl_cu_object(event, BL_CU_EVENT);
    if (!found)
        return CUDA_ERROR_INVALID_HANDLE;
    result = check_captured(found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!atomic_load(&found->recorded) && !found->shared)
        return CUDA_SUCCESS;
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    result = atomic_load(&found->recorded) ? bl_cu_result(found->context, ops_of(found)->fence_wait(found->fence)) : CUDA_SUCCESS;
    if (found->shared && result == CUDA_SUCCESS)
        bl_cu_event_shared_wait(found);
    return result;
}

CUresult bl_cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_event *first = bl_cu_object(start, BL_CU_EVENT), *second = bl_cu_object(end, BL_CU_EVENT);
    if (!first || !second)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!milliseconds) /* measured on an H200: tests/api */
        return CUDA_ERROR_INVALID_HANDLE;
    if (!atomic_load(&first->recorded) || !atomic_load(&second->recorded) ||
        (first->flags | second->flags) & CU_EVENT_DISABLE_TIMING)
        return CUDA_ERROR_INVALID_HANDLE;
    if (first->context != second->context)
        return CUDA_ERROR_INVALID_HANDLE;
    enum bl_status status = ops_of(first)->fence_query(first->fence);
    if (status == BL_OK)
        status = ops_of(second)->fence_query(second->fence);
    if (status != BL_OK)
        return bl_cu_result(first->context, status);
    uint64_t from = ops_of(first)->fence_time(first->fence), to = ops_of(second)->fence_time(second->fence);
    *milliseconds = (float)((double)(int64_t)(to - from) * 1e-6);
    return CUDA_SUCCESS;
}

CUresult bl_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct bl_cu_stream *found;
    struct bl_cu_event *object = bl_cu_object(event, BL_CU_EVENT);
    CUresult result = bl_cu_stream_find(stream, &found);
    bool capturing = result == CUDA_SUCCESS && object && atomic_load(&bl_cu_captures);
    if (capturing && flags == CU_EVENT_WAIT_EXTERNAL && bl_cu_capturing(stream))
        return capture_wait_external(found, event);
    if (capturing && !flags && bl_cu_capture_wait(found, object, &result))
        return result;
    if (result == CUDA_SUCCESS)
        result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL || atomic_load(&object->capture)) /* it marks a place in a graph */
        return CUDA_ERROR_INVALID_VALUE;
    if (object->shared) {
        result = bl_cu_event_shared_stream_wait(object, found);
        bl_cu_stream_touched(found);
        return result;
    }
    if (!atomic_load(&object->recorded))
        return CUDA_SUCCESS;
    if (ops_of(object) != found->context->device->device->ops) /* two kinds of device: let the host wait */
        return bl_cu_result(object->context, ops_of(object)->fence_wait(object->fence));
    enum bl_status status = ops_of(object)->fence_wait_queue(found->queue, object->fence);
    bl_cu_stream_touched(found);
    return bl_cu_result(found->context, status);
}
