/* Graphs and stream capture. Part of libcudart. Graphs, their nodes and what else has a handle are the driver's; structs of
 * parameters are the driver's where only names differ. */
#define __CUDA_API_VERSION_INTERNAL
#include "cuda/runtime/runtime.h"

cudaError_t bl_rt_cudaGraphCreate(cudaGraph_t *p_graph, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphCreate((CUgraph *)p_graph, flags));
}

cudaError_t bl_rt_cudaGraphDestroy(cudaGraph_t graph)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphDestroy((CUgraph)graph));
}

cudaError_t bl_rt_cudaGraphClone(cudaGraph_t *clone, cudaGraph_t original)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphClone((CUgraph *)clone, (CUgraph)original));
}

cudaError_t bl_rt_cudaGraphNodeFindInClone(cudaGraphNode_t *node, cudaGraphNode_t original, cudaGraph_t clone)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeFindInClone((CUgraphNode *)node, (CUgraphNode)original, (CUgraph)clone));
}

cudaError_t bl_rt_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetType((CUgraphNode)node, (CUgraphNodeType *)type));
}

cudaError_t bl_rt_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphGetNodes((CUgraph)graph, (CUgraphNode *)nodes, count));
}

cudaError_t bl_rt_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphGetRootNodes((CUgraph)graph, (CUgraphNode *)nodes, count));
}

cudaError_t bl_rt_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
                                    size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphGetEdges_v2((CUgraph)graph, (CUgraphNode *)from, (CUgraphNode *)to, (CUgraphEdgeData *)data, count));
}

cudaError_t bl_rt_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetDependencies_v2((CUgraphNode)node, (CUgraphNode *)nodes, (CUgraphEdgeData *)data, count));
}

cudaError_t bl_rt_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *nodes, cudaGraphEdgeData *data,
                                                 size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetDependentNodes_v2((CUgraphNode)node, (CUgraphNode *)nodes, (CUgraphEdgeData *)data, count));
}

cudaError_t bl_rt_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                           const cudaGraphEdgeData *data, size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddDependencies_v2((CUgraph)graph, (const CUgraphNode *)from, (const CUgraphNode *)to,
                                                 (const CUgraphEdgeData *)data, count));
}

cudaError_t bl_rt_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                              const cudaGraphEdgeData *data, size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphRemoveDependencies_v2((CUgraph)graph, (const CUgraphNode *)from, (const CUgraphNode *)to,
                                                    (const CUgraphEdgeData *)data, count));
}

cudaError_t bl_rt_cudaGraphDestroyNode(cudaGraphNode_t node)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphDestroyNode((CUgraphNode)node));
}

cudaError_t bl_rt_cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, flags));
}

cudaError_t bl_rt_cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphInstantiateWithFlags((CUgraphExec *)exec, (CUgraph)graph, flags));
}

cudaError_t bl_rt_cudaGraphInstantiate_11(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *bad, char *log, size_t size)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphInstantiate_v2((CUgraphExec *)exec, (CUgraph)graph, (CUgraphNode *)bad, log, size));
}

cudaError_t bl_rt_cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long *flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecGetFlags((CUgraphExec)exec, (cuuint64_t *)flags));
}

cudaError_t bl_rt_cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecDestroy((CUgraphExec)exec));
}

cudaError_t bl_rt_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphLaunch((CUgraphExec)exec, (CUstream)stream));
}

cudaError_t bl_rt_cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphUpload((CUgraphExec)exec, (CUstream)stream));
}

cudaError_t bl_rt_cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int enabled)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeSetEnabled((CUgraphExec)exec, (CUgraphNode)node, enabled));
}

cudaError_t bl_rt_cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned int *enabled)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetEnabled((CUgraphExec)exec, (CUgraphNode)node, enabled));
}

cudaError_t bl_rt_cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info)
{
    CUgraphExecUpdateResultInfo unwanted = {0};
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphExecUpdate_v2((CUgraphExec)exec, (CUgraph)graph, info ? (CUgraphExecUpdateResultInfo *)info : &unwanted));
}

cudaError_t bl_rt_cudaGraphExecUpdate_11(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *bad,
                                         enum cudaGraphExecUpdateResult *why)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecUpdate((CUgraphExec)exec, (CUgraph)graph, (CUgraphNode *)bad, (CUgraphExecUpdateResult *)why));
}

cudaError_t bl_rt_cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddEmptyNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count));
}

cudaError_t bl_rt_cudaGraphAddChildGraphNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                             cudaGraph_t child)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphAddChildGraphNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count, (CUgraph)child));
}

cudaError_t bl_rt_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *graph)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphChildGraphNodeGetGraph((CUgraphNode)node, (CUgraph *)graph));
}

cudaError_t bl_rt_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecChildGraphNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, (CUgraph)child));
}

cudaError_t bl_rt_cudaGraphAddEventRecordNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                              cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphAddEventRecordNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphAddEventWaitNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                            cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphAddEventWaitNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphEventRecordNodeGetEvent((CUgraphNode)node, (CUevent *)event));
}

cudaError_t bl_rt_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphEventWaitNodeGetEvent((CUgraphNode)node, (CUevent *)event));
}

cudaError_t bl_rt_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphEventRecordNodeSetEvent((CUgraphNode)node, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphEventWaitNodeSetEvent((CUgraphNode)node, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecEventRecordNodeSetEvent((CUgraphExec)exec, (CUgraphNode)node, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t exec, cudaGraphNode_t node, cudaEvent_t event)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecEventWaitNodeSetEvent((CUgraphExec)exec, (CUgraphNode)node, (CUevent)event));
}

cudaError_t bl_rt_cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                       const struct cudaHostNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddHostNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count,
                                          (const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphHostNodeGetParams((CUgraphNode)node, (CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphHostNodeSetParams((CUgraphNode)node, (const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                 const struct cudaHostNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphExecHostNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, (const CUDA_HOST_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                         const struct cudaMemsetParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddMemsetNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count,
                                            (const CUDA_MEMSET_NODE_PARAMS *)params, NULL));
}

cudaError_t bl_rt_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphMemsetNodeGetParams((CUgraphNode)node, (CUDA_MEMSET_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphMemsetNodeSetParams((CUgraphNode)node, (const CUDA_MEMSET_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   const struct cudaMemsetParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphExecMemsetNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, (const CUDA_MEMSET_NODE_PARAMS *)params, NULL));
}

cudaError_t bl_rt_cudaGraphAddMemAllocNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                           struct cudaMemAllocNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddMemAllocNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count,
                                              (CUDA_MEM_ALLOC_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphMemAllocNodeGetParams((CUgraphNode)node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphAddMemFreeNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                          void *address)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddMemFreeNode((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count,
                                             (CUdeviceptr)(uintptr_t)address));
}

cudaError_t bl_rt_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *address)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphMemFreeNodeGetParams((CUgraphNode)node, (CUdeviceptr *)address));
}

cudaError_t bl_rt_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attr, cudaLaunchAttributeValue *value)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphKernelNodeGetAttribute((CUgraphNode)node, (CUlaunchAttributeID)attr, (CUlaunchAttributeValue *)value));
}

cudaError_t bl_rt_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attr,
                                                  const cudaLaunchAttributeValue *value)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphKernelNodeSetAttribute((CUgraphNode)node, (CUlaunchAttributeID)attr, (const CUlaunchAttributeValue *)value));
}

cudaError_t bl_rt_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t to, cudaGraphNode_t from)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphKernelNodeCopyAttributes((CUgraphNode)to, (CUgraphNode)from));
}

cudaError_t bl_rt_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned int value,
                                                   unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphConditionalHandleCreate((CUgraphConditionalHandle *)handle, (CUgraph)graph, NULL, value, flags));
}

cudaError_t bl_rt_cudaUserObjectCreate(cudaUserObject_t *object, void *data, cudaHostFn_t destroy, unsigned int count,
                                       unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuUserObjectCreate((CUuserObject *)object, data, destroy, count, flags));
}

cudaError_t bl_rt_cudaUserObjectRetain(cudaUserObject_t object, unsigned int count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuUserObjectRetain((CUuserObject)object, count));
}

cudaError_t bl_rt_cudaUserObjectRelease(cudaUserObject_t object, unsigned int count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuUserObjectRelease((CUuserObject)object, count));
}

cudaError_t bl_rt_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphRetainUserObject((CUgraph)graph, (CUuserObject)object, count, flags));
}

cudaError_t bl_rt_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphReleaseUserObject((CUgraph)graph, (CUuserObject)object, count));
}

cudaError_t bl_rt_cudaDeviceGraphMemTrim(int device)
{
    BL_RT_ENTER();
    return bl_rt_error(cuDeviceGraphMemTrim(device));
}

cudaError_t bl_rt_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    BL_RT_ENTER();
    return bl_rt_error(cuDeviceGetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t bl_rt_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
    BL_RT_ENTER();
    return bl_rt_error(cuDeviceSetGraphMemAttribute(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t bl_rt_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamBeginCapture_v2((CUstream)stream, (CUstreamCaptureMode)mode));
}

cudaError_t bl_rt_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *nodes,
                                                const cudaGraphEdgeData *data, size_t count, enum cudaStreamCaptureMode mode)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamBeginCaptureToGraph((CUstream)stream, (CUgraph)graph, (const CUgraphNode *)nodes,
                                                   (const CUgraphEdgeData *)data, count, (CUstreamCaptureMode)mode));
}

cudaError_t bl_rt_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamEndCapture((CUstream)stream, (CUgraph *)graph));
}

cudaError_t bl_rt_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *nodes, const cudaGraphEdgeData *data,
                                                      size_t count, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuStreamUpdateCaptureDependencies_v2((CUstream)stream, (CUgraphNode *)nodes, (const CUgraphEdgeData *)data, count, flags));
}

cudaError_t bl_rt_cudaGraphGetEdges_11(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphGetEdges_v2((CUgraph)graph, (CUgraphNode *)from, (CUgraphNode *)to, NULL, count));
}

cudaError_t bl_rt_cudaGraphNodeGetDependencies_11(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetDependencies_v2((CUgraphNode)node, (CUgraphNode *)nodes, NULL, count));
}

cudaError_t bl_rt_cudaGraphNodeGetDependentNodes_11(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphNodeGetDependentNodes_v2((CUgraphNode)node, (CUgraphNode *)nodes, NULL, count));
}

cudaError_t bl_rt_cudaGraphAddDependencies_11(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                              size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphAddDependencies_v2((CUgraph)graph, (const CUgraphNode *)from, (const CUgraphNode *)to, NULL, count));
}

cudaError_t bl_rt_cudaGraphRemoveDependencies_11(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                                 size_t count)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuGraphRemoveDependencies_v2((CUgraph)graph, (const CUgraphNode *)from, (const CUgraphNode *)to, NULL, count));
}

cudaError_t bl_rt_cudaStreamUpdateCaptureDependencies_11(cudaStream_t stream, cudaGraphNode_t *nodes, size_t count,
                                                         unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuStreamUpdateCaptureDependencies_v2((CUstream)stream, (CUgraphNode *)nodes, NULL, count, flags));
}

/* ---- instantiation with parameters ------------------------------------------------------------ */

cudaError_t bl_rt_cudaGraphInstantiateWithParams(CUstream default_stream, cudaGraphExec_t *exec, cudaGraph_t graph,
                                                 cudaGraphInstantiateParams *params)
{
    (void)default_stream;
    BL_RT_ENTER();
    return bl_rt_error(cuGraphInstantiateWithParams((CUgraphExec *)exec, (CUgraph)graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)params));
}

cudaError_t bl_rt_cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    BL_RT_ENTER();
    return bl_rt_error(cuGraphDebugDotPrint((CUgraph)graph, path, flags));
}
