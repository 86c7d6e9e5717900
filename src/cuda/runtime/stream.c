/* Streams and events. Part of libcudart. A cudaStream_t is the driver's CUstream, the default ones included. */
#include "cuda/runtime/runtime.h"

cudaError_t bl_rt_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    if (!stream)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuStreamCreateWithPriority((CUstream *)stream, flags, priority));
}

cudaError_t bl_rt_cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    if (!stream)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuStreamCreate((CUstream *)stream, flags));
}

cudaError_t bl_rt_cudaStreamCreate(cudaStream_t *stream)
{
    return bl_rt_cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

/* Calls that pass a stream and what else the driver wants. */
#define STREAM_CALL(name, driver, args, passed)                                                                                    \
    cudaError_t bl_rt_##name args                                                                                                  \
    {                                                                                                                              \
        BL_RT_ENTER();                                                                                                             \
        return bl_rt_error(driver passed);                                                                                         \
    }

STREAM_CALL(cudaStreamGetPriority, cuStreamGetPriority, (cudaStream_t stream, int *priority), ((CUstream)stream, priority))
STREAM_CALL(cudaStreamGetFlags, cuStreamGetFlags, (cudaStream_t stream, unsigned int *flags), ((CUstream)stream, flags))
STREAM_CALL(cudaStreamGetId, cuStreamGetId, (cudaStream_t stream, unsigned long long *id), ((CUstream)stream, id))
STREAM_CALL(cudaStreamGetDevice, cuStreamGetDevice, (cudaStream_t stream, int *device), ((CUstream)stream, device))
STREAM_CALL(cudaStreamCopyAttributes, cuStreamCopyAttributes, (cudaStream_t to, cudaStream_t from), ((CUstream)to, (CUstream)from))
STREAM_CALL(cudaStreamGetAttribute, cuStreamGetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, cudaLaunchAttributeValue *value),
            ((CUstream)stream, (CUstreamAttrID)attribute, (CUstreamAttrValue *)value))
STREAM_CALL(cudaStreamSetAttribute, cuStreamSetAttribute,
            (cudaStream_t stream, cudaLaunchAttributeID attribute, const cudaLaunchAttributeValue *value),
            ((CUstream)stream, (CUstreamAttrID)attribute, (const CUstreamAttrValue *)value))
STREAM_CALL(cudaStreamWaitEvent, cuStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
            ((CUstream)stream, (CUevent)event, flags))
STREAM_CALL(cudaStreamSynchronize, cuStreamSynchronize, (cudaStream_t stream), ((CUstream)stream))
STREAM_CALL(cudaStreamQuery, cuStreamQuery, (cudaStream_t stream), ((CUstream)stream))
STREAM_CALL(cudaStreamAttachMemAsync, cuStreamAttachMemAsync,
            (cudaStream_t stream, void *address, size_t length, unsigned int flags),
            ((CUstream)stream, (CUdeviceptr)(uintptr_t)address, length, flags))
STREAM_CALL(cudaStreamIsCapturing, cuStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
            ((CUstream)stream, (CUstreamCaptureStatus *)status))
STREAM_CALL(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (enum cudaStreamCaptureMode * mode),
            ((CUstreamCaptureMode *)mode))

cudaError_t bl_rt_cudaStreamDestroy(cudaStream_t stream)
{
    BL_RT_ENTER();
    /* The default streams can't be destroyed. */
    if ((uintptr_t)stream <= (uintptr_t)cudaStreamPerThread)
        return cudaErrorInvalidResourceHandle;
    return bl_rt_error(cuStreamDestroy((CUstream)stream));
}

cudaError_t bl_rt_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                           cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                           const cudaGraphEdgeData **edges, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamGetCaptureInfo_v3((CUstream)stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id,
                                                 (CUgraph *)graph, (const CUgraphNode **)dependencies,
                                                 (const CUgraphEdgeData **)edges, count));
}

cudaError_t bl_rt_cudaStreamGetCaptureInfo_11(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id)
{
    return bl_rt_cudaStreamGetCaptureInfo(stream, status, id, NULL, NULL, NULL, NULL);
}

cudaError_t bl_rt_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                              cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count)
{
    return bl_rt_cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, NULL, count);
}

/* A callback of the runtime gets the runtime's error code: the same number in the same register. */
cudaError_t bl_rt_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamAddCallback((CUstream)stream, (CUstreamCallback)(void (*)(void))callback, data, flags));
}

/* ---- events ------------------------------------------------------------------------------------ */

cudaError_t bl_rt_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    if (!event)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_error(cuEventCreate((CUevent *)event, flags));
}

cudaError_t bl_rt_cudaEventCreate(cudaEvent_t *event)
{
    return bl_rt_cudaEventCreateWithFlags(event, cudaEventDefault);
}

STREAM_CALL(cudaEventRecord, cuEventRecord, (cudaEvent_t event, cudaStream_t stream), ((CUevent)event, (CUstream)stream))
STREAM_CALL(cudaEventRecordWithFlags, cuEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
            ((CUevent)event, (CUstream)stream, flags))
STREAM_CALL(cudaEventQuery, cuEventQuery, (cudaEvent_t event), ((CUevent)event))
STREAM_CALL(cudaEventSynchronize, cuEventSynchronize, (cudaEvent_t event), ((CUevent)event))
STREAM_CALL(cudaEventDestroy, cuEventDestroy, (cudaEvent_t event), ((CUevent)event))
STREAM_CALL(cudaEventElapsedTime, cuEventElapsedTime, (float *ms, cudaEvent_t start, cudaEvent_t end),
            (ms, (CUevent)start, (CUevent)end))
