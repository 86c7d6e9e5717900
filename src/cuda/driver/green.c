/* Green contexts, device resources, and events of whole contexts.
 *
 * The one kind of resource is multiprocessors: worker threads, on the CPU device. A share of them is counted and kept with the
 * context, as programs ask for it; work is not held to it, since all threads serve all queues and results do not depend on it. A
 * green context is a context of the device beside the primary one. */
#include "cuda/driver/driver.h"

/* What we note in the part of a resource that is not the program's. */
struct mark {
    char magic[8];
    int32_t ordinal;
};
static const char magic[8] = "baileyR1";
_Static_assert(sizeof(struct mark) <= sizeof(((CUdevResource *)0)->_internal_padding), "room for the mark");

/* Behind a CUdevResourceDesc. */
struct bl_cu_share {
    struct bl_cu_object object;
    int ordinal;
    unsigned count; /* multiprocessors */
};

struct bl_cu_green {
    struct bl_cu_object object;
    struct bl_cu_context *context; /* owned */
    CUdevResource resource;
};
_Static_assert(sizeof(struct bl_cu_share) <= 256 && sizeof(struct bl_cu_green) <= 512, "what handle.c sets aside");

/* ---- resources ------------------------------------------------------------------------------------ */

static CUdevResource make_resource(int ordinal, unsigned count)
{
    CUdevResource made = {.type = CU_DEV_RESOURCE_TYPE_SM};
    struct mark mark = {.ordinal = ordinal};
    memcpy(mark.magic, magic, sizeof(magic));
    memcpy(made._internal_padding, &mark, sizeof(mark));
    made.sm.smCount = count;
    made.sm.minSmPartitionSize = made.sm.smCoscheduledAlignment = 1;
    return made;
}

/* The device of a resource; -1: we did not make it. */
static int owner_of(const CUdevResource *resource)
{
    struct mark mark;
    memcpy(&mark, resource->_internal_padding, sizeof(mark));
    bool ours = resource->type == CU_DEV_RESOURCE_TYPE_SM && memcmp(mark.magic, magic, sizeof(magic)) == 0;
    return ours && bl_cu_device(mark.ordinal) ? mark.ordinal : -1;
}

static unsigned multiprocessors(int ordinal)
{
    return (unsigned)bl_cu_devices[ordinal].device->props.multiprocessors;
}

CUresult bl_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    if (!bl_cu_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!resource)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = make_resource(device, multiprocessors(device));
    return CUDA_SUCCESS;
}

/* result NULL: only how many groups there would be. */
CUresult bl_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *nb_groups, const CUdevResource *input,
                                        CUdevResource *remaining, unsigned int use_flags, unsigned int min_count)
{
    int ordinal = input ? owner_of(input) : -1;
    if (!nb_groups || !input) /* flags say how groups lie in the chip; unknown ones are taken too: measured on an H200 */
        return CUDA_ERROR_INVALID_VALUE;
    if (ordinal < 0)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    unsigned each = BL_MAX(min_count, 1u), all = input->sm.smCount, possible = all / each;
    if (!possible || (result && !*nb_groups))
        return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    unsigned groups = result ? BL_MIN(*nb_groups, possible) : possible;
    for (unsigned i = 0; result && i < groups; i++)
        result[i] = make_resource(ordinal, each);
    *nb_groups = groups;
    if (remaining) {
        *remaining = make_resource(ordinal, all - groups * each);
        if (groups * each == all)
            remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
    return CUDA_SUCCESS;
}

CUresult bl_cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned int nb_resources)
{
    if (!desc || !resources || !nb_resources)
        return CUDA_ERROR_INVALID_VALUE;
    int ordinal = owner_of(&resources[0]);
    unsigned count = 0;
    for (unsigned i = 0; i < nb_resources; i++) {
        if (owner_of(&resources[i]) < 0)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        if (owner_of(&resources[i]) != ordinal)
            return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
        count += BL_MIN(resources[i].sm.smCount, multiprocessors(ordinal));
    }
    struct bl_cu_share *made = bl_cu_new(BL_CU_SHARE);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->ordinal = ordinal;
    made->count = BL_MIN(count, multiprocessors(ordinal));
    bl_cu_publish(made);
    *desc = BL_CU_HANDLE(CUdevResourceDesc, made);
    return CUDA_SUCCESS;
}

/* ---- green contexts -------------------------------------------------------------------------------- */

CUresult bl_cuGreenCtxCreate(CUgreenCtx *ctx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags)
{
    struct bl_cu_share *share = bl_cu_object(desc, BL_CU_SHARE);
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!ctx || flags != CU_GREEN_CTX_DEFAULT_STREAM || !share)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (share->ordinal != dev)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_green *made = bl_cu_new(BL_CU_GREEN);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = bl_cu_context_new(device, CU_CTX_SCHED_AUTO, &made->context);
    if (result != CUDA_SUCCESS) {
        bl_cu_recycle(made);
        return result;
    }
    made->resource = make_resource(dev, share->count);
    bl_cu_publish(made);
    made->context->green = made->object.handle;
    *ctx = BL_CU_HANDLE(CUgreenCtx, made);
    return CUDA_SUCCESS;
}

CUresult bl_cuGreenCtxDestroy(CUgreenCtx ctx)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    if (!found || !bl_cu_unpublish(found))
        return ctx ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
    bl_cuCtxDestroy_v2(BL_CU_HANDLE(CUcontext, found->context));
    bl_cu_recycle(found);
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx ctx)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    if (!context || !found)
        return CUDA_ERROR_INVALID_VALUE;
    *context = BL_CU_HANDLE(CUcontext, found->context);
    return CUDA_SUCCESS;
}

CUresult bl_cuGreenCtxGetDevResource(CUgreenCtx ctx, CUdevResource *resource, CUdevResourceType type)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    if (!resource || !found)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_RESOURCE_TYPE;
    *resource = found->resource;
    return CUDA_SUCCESS;
}

CUresult bl_cuCtxGetDevResource(CUcontext ctx, CUdevResource *resource, CUdevResourceType type)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (context->green)
        return bl_cuGreenCtxGetDevResource((CUgreenCtx)(uintptr_t)context->green, resource, type);
    return bl_cuDeviceGetDevResource(context->device->ordinal, resource, type);
}

CUresult bl_cuGreenCtxGetId(CUgreenCtx ctx, unsigned long long *id)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    if (!id || !found)
        return CUDA_ERROR_INVALID_VALUE;
    *id = found->context->id;
    return CUDA_SUCCESS;
}

CUresult bl_cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx ctx, unsigned int flags, int priority)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    if (!stream || !found || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_stream *made;
    CUresult result = bl_cu_stream_new(found->context, flags, BL_MAX(-5, BL_MIN(0, priority)), false, &made);
    if (result == CUDA_SUCCESS)
        *stream = BL_CU_HANDLE(CUstream, made);
    return result;
}

CUresult bl_cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *ctx)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_find(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    *ctx = (CUgreenCtx)(uintptr_t)found->context->green;
    return CUDA_SUCCESS;
}

/* ---- events of contexts ----------------------------------------------------------------------------- */

/* The event is recorded behind all that the context's streams hold now. */
static CUresult record(struct bl_cu_context *context, CUevent handle)
{
    struct bl_cu_event *event = bl_cu_object(handle, BL_CU_EVENT);
    const struct bl_device_ops *ops = context->device->device->ops;
    if (!event || event->context->device != context->device)
        return CUDA_ERROR_INVALID_HANDLE;
    enum bl_status status = BL_OK;
    pthread_mutex_lock(&context->lock);
    for (struct bl_cu_stream *at = context->streams; at && status == BL_OK; at = at->next) {
        status = ops->fence_record(at->queue, at->fence);
        if (status == BL_OK)
            status = ops->fence_wait_queue(context->legacy->queue, at->fence);
    }
    if (status == BL_OK)
        status = ops->fence_record(context->legacy->queue, event->fence);
    if (status == BL_OK)
        atomic_store(&event->recorded, true);
    pthread_mutex_unlock(&context->lock);
    bl_cu_stream_touched(context->legacy);
    return bl_cu_result(context, status);
}

/* What is put into the context's streams from now on waits for the event. */
static CUresult wait(struct bl_cu_context *context, CUevent handle)
{
    struct bl_cu_event *event = bl_cu_object(handle, BL_CU_EVENT);
    const struct bl_device_ops *ops = context->device->device->ops;
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!atomic_load(&event->recorded))
        return CUDA_SUCCESS;
    if (event->context->device->device->ops != ops)
        return bl_cu_result(event->context, event->context->device->device->ops->fence_wait(event->fence));
    pthread_mutex_lock(&context->lock);
    enum bl_status status = ops->fence_wait_queue(context->legacy->queue, event->fence);
    for (struct bl_cu_stream *at = context->streams; at && status == BL_OK; at = at->next)
        status = ops->fence_wait_queue(at->queue, event->fence);
    pthread_mutex_unlock(&context->lock);
    bl_cu_stream_touched(context->legacy);
    return bl_cu_result(context, status);
}

CUresult bl_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(ctx, &context);
    return result == CUDA_SUCCESS ? record(context, event) : result;
}

CUresult bl_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(ctx, &context);
    return result == CUDA_SUCCESS ? wait(context, event) : result;
}

CUresult bl_cuGreenCtxRecordEvent(CUgreenCtx ctx, CUevent event)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    return found ? record(found->context, event) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGreenCtxWaitEvent(CUgreenCtx ctx, CUevent event)
{
    struct bl_cu_green *found = bl_cu_object(ctx, BL_CU_GREEN);
    return found ? wait(found->context, event) : CUDA_ERROR_INVALID_VALUE;
}
