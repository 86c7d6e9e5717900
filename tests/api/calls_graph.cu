// Right, wrong and odd uses of graphs and stream capture: one line for each call with the code that it answered, and values that are the
// same on every machine. What a real GPU's driver printed is in golden/.
// With REST it goes on where the recording in calls_graph.h200.txt ends: calls_graph_rest.cu.
#ifndef REST
#define REST 0
#endif
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALL(call) printf("%s: %s\n", #call, cudaGetErrorName(call))
#define DRIVER(call) printf("%s: %d\n", #call, (int)(call))
#define VALUE(value) printf("  %s = %lld\n", #value, (long long)(value))
#define SECTION(text) printf("== %s\n", text), cudaGetLastError()
#define LAST() printf("  last error: %s\n", cudaGetErrorName(cudaGetLastError()))

__global__ void none() {}
__global__ void add(int *p, int n)
{
    p[threadIdx.x] += n;
}
__global__ void other(int *p, int n)
{
    p[threadIdx.x] *= n;
}
__global__ void set(cudaGraphConditionalHandle handle, unsigned value)
{
    cudaGraphSetConditional(handle, value);
}
static void host_function(void *data) { ++*(int *)data; }

static int *data, *spare;
static cudaStream_t a, b;
static cudaEvent_t event, second_event;
static cudaGraph_t graph, child, copy;
static cudaGraphExec_t exec;
static cudaGraphNode_t node, first, second, third;
static cudaStreamCaptureStatus status;
static size_t count;

static cudaKernelNodeParams kernel(void *function, int threads, void **args)
{
    cudaKernelNodeParams params = {};
    params.func = function;
    params.gridDim = dim3(1);
    params.blockDim = dim3(threads);
    params.kernelParams = args;
    return params;
}

static void making()
{
    cudaGraphNodeType type;
    cudaGraphNode_t nodes[4];
    SECTION("making");
    CALL(cudaGraphCreate(NULL, 0));
    CALL(cudaGraphCreate(&graph, 1));
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    CALL(cudaGraphAddEmptyNode(&second, graph, &first, 1));
    CALL(cudaGraphAddEmptyNode(&third, graph, NULL, 1));
    CALL(cudaGraphAddEmptyNode(NULL, graph, NULL, 0));
    CALL(cudaGraphAddEmptyNode(&third, NULL, NULL, 0));
    nodes[0] = nodes[1] = first;
    CALL(cudaGraphAddEmptyNode(&third, graph, nodes, 2));
    CALL(cudaGraphGetNodes(graph, NULL, &count));
    VALUE(count);
    CALL(cudaGraphGetNodes(graph, nodes, NULL));
    CALL(cudaGraphGetNodes(NULL, nodes, &count));
    count = 4;
    CALL(cudaGraphGetNodes(graph, nodes, &count));
    VALUE(count);
    VALUE(nodes[0] == first);
    VALUE(nodes[3] == NULL);
    count = 1;
    CALL(cudaGraphGetNodes(graph, nodes, &count));
    VALUE(count);
    CALL(cudaGraphGetRootNodes(graph, NULL, &count));
    VALUE(count);
    CALL(cudaGraphNodeGetType(first, &type));
    VALUE(type);
    CALL(cudaGraphNodeGetType(first, NULL));
    CALL(cudaGraphNodeGetType(NULL, &type));
    CALL(cudaGraphAddDependencies(graph, &first, &second, NULL, 1));
    CALL(cudaGraphAddDependencies(graph, &first, &first, NULL, 1));
    CALL(cudaGraphAddDependencies(graph, &second, &first, NULL, 1));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    LAST();
    CALL(cudaGraphRemoveDependencies(graph, &second, &first, NULL, 1));
    CALL(cudaGraphRemoveDependencies(graph, &second, &first, NULL, 1));
    CALL(cudaGraphAddDependencies(graph, NULL, NULL, NULL, 0));
    CALL(cudaGraphAddDependencies(graph, NULL, NULL, NULL, 1));
    CALL(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    VALUE(count);
    CALL(cudaGraphGetEdges(graph, nodes, NULL, NULL, &count));
    CALL(cudaGraphNodeGetDependencies(second, NULL, NULL, &count));
    VALUE(count);
    CALL(cudaGraphNodeGetDependentNodes(first, NULL, NULL, &count));
    VALUE(count);
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphClone(NULL, graph));
    CALL(cudaGraphClone(&copy, NULL));
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphNodeFindInClone(&node, first, copy));
    VALUE(node != first);
    CALL(cudaGraphNodeFindInClone(&node, node, copy));
    CALL(cudaGraphNodeFindInClone(&node, first, graph));
    CALL(cudaGraphDestroyNode(first));
    if (!REST)
        return;
    CALL(cudaGraphDestroyNode(NULL));
    CALL(cudaGraphGetEdges(graph, NULL, NULL, NULL, &count));
    VALUE(count);
    CALL(cudaGraphDestroy(copy));
    CALL(cudaGraphDestroy(NULL));
    CALL(cudaGraphDestroy(graph));
}

static void kernels()
{
    int three = 3, four = 4;
    void *args[] = {&data, &three}, *args4[] = {&data, &four};
    SECTION("kernel nodes");
    CALL(cudaGraphCreate(&graph, 0));
    cudaKernelNodeParams params = kernel((void *)add, 4, args), got = {};
    CALL(cudaGraphAddKernelNode(&node, graph, NULL, 0, NULL));
    CALL(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    params.blockDim.x = 0;
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params.blockDim.x = 2000;
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params = kernel(NULL, 4, args);
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params = kernel((void *)add, 4, NULL);
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params = kernel((void *)&three, 4, args);
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    params = kernel((void *)add, 4, args);
    params.sharedMemBytes = 1 << 20;
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    LAST();
    CALL(cudaGraphKernelNodeGetParams(node, &got));
    VALUE(got.func == (void *)add);
    VALUE(got.blockDim.x);
    VALUE(got.kernelParams != NULL);
    VALUE(got.extra == NULL);
    VALUE(*(int *)got.kernelParams[1]);
    CALL(cudaGraphKernelNodeGetParams(node, NULL));
    CALL(cudaGraphKernelNodeGetParams(NULL, &got));
    params = kernel((void *)add, 4, args4);
    CALL(cudaGraphKernelNodeSetParams(node, &params));
    CALL(cudaGraphKernelNodeSetParams(node, NULL));
    cudaLaunchAttributeValue value = {};
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    VALUE(value.priority);
    value.priority = -100;
    CALL(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributePriority, &value));
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value));
    VALUE(value.priority);
    CALL(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributeCooperative, &value));
    VALUE(value.cooperative);
    CALL(cudaGraphKernelNodeGetAttribute(node, (cudaLaunchAttributeID)99, &value));
    CALL(cudaGraphKernelNodeSetAttribute(node, (cudaLaunchAttributeID)99, &value));
    value.accessPolicyWindow.hitRatio = 2;
    CALL(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &value));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    params = kernel((void *)other, 4, args4);
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    params.blockDim.x = 5000;
    CALL(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    CALL(cudaGraphExecKernelNodeSetParams(exec, NULL, &params));
    CALL(cudaGraphExecKernelNodeSetParams(NULL, node, &params));
    unsigned enabled = 7;
    CALL(cudaGraphNodeGetEnabled(exec, node, &enabled));
    VALUE(enabled);
    CALL(cudaGraphNodeSetEnabled(exec, node, 0));
    CALL(cudaGraphNodeGetEnabled(exec, node, &enabled));
    VALUE(enabled);
    CALL(cudaGraphNodeGetEnabled(exec, node, NULL));
    CALL(cudaGraphNodeGetEnabled(exec, NULL, &enabled));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphExecDestroy(NULL));
    CALL(cudaGraphDestroy(graph));
}

static void others()
{
    int host[4] = {};
    cudaMemsetParams fill = {}, fill_got = {};
    cudaMemcpy3DParms box = {}, box_got = {};
    cudaHostNodeParams call = {host_function, host}, call_got = {};
    SECTION("fills");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    fill.dst = data;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    CALL(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    CALL(cudaGraphMemsetNodeGetParams(node, &fill_got));
    VALUE(fill_got.dst == data);
    VALUE(fill_got.width);
    VALUE(fill_got.pitch);
    fill.elementSize = 3;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    fill.elementSize = 1;
    fill.value = 0x1234;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    fill.value = 0;
    fill.width = 0;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    fill.width = 4;
    fill.height = 2;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    fill.pitch = 8;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    fill.height = 1;
    fill.dst = host;
    CALL(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &fill));
    CALL(cudaGraphMemsetNodeSetParams(node, NULL));
    CALL(cudaGraphHostNodeGetParams(node, &call_got));
    SECTION("copies");
    CALL(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &box));
    CALL(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, NULL));
    box.srcPtr = make_cudaPitchedPtr(host, 16, 16, 1);
    box.dstPtr = make_cudaPitchedPtr(data, 16, 16, 1);
    box.extent = make_cudaExtent(16, 1, 1);
    box.kind = cudaMemcpyHostToDevice;
    CALL(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &box));
    CALL(cudaGraphMemcpyNodeGetParams(node, &box_got));
    VALUE(box_got.srcPtr.ptr == host);
    VALUE(box_got.dstPtr.ptr == data);
    VALUE(box_got.srcPtr.pitch);
    VALUE(box_got.srcPtr.xsize);
    VALUE(box_got.srcPtr.ysize);
    VALUE(box_got.extent.width);
    VALUE(box_got.kind);
    box.extent = make_cudaExtent(0, 1, 1);
    CALL(cudaGraphAddMemcpyNode(&first, graph, NULL, 0, &box));
    CALL(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, data, host, 16, cudaMemcpyHostToDevice));
    CALL(cudaGraphMemcpyNodeGetParams(first, &box_got));
    VALUE(box_got.srcPtr.pitch);
    VALUE(box_got.srcPtr.xsize);
    VALUE(box_got.srcPtr.ysize);
    VALUE(box_got.kind);
    CALL(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, data, host, 0, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, data, host, 16, (cudaMemcpyKind)9));
    CALL(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, NULL, host, 16, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNode1D(&first, graph, NULL, 0, data, host, 16, cudaMemcpyDefault));
    CALL(cudaGraphMemcpyNodeGetParams(first, &box_got));
    VALUE(box_got.kind);
    SECTION("host functions, events, children");
    CALL(cudaGraphAddHostNode(&node, graph, NULL, 0, &call));
    CALL(cudaGraphHostNodeGetParams(node, &call_got));
    VALUE(call_got.fn == host_function);
    call.fn = NULL;
    CALL(cudaGraphAddHostNode(&node, graph, NULL, 0, &call));
    CALL(cudaGraphAddHostNode(&node, graph, NULL, 0, NULL));
    cudaEvent_t event_got;
    CALL(cudaGraphAddEventRecordNode(&first, graph, NULL, 0, event));
    CALL(cudaGraphAddEventWaitNode(&second, graph, NULL, 0, event));
    CALL(cudaGraphAddEventRecordNode(&node, graph, NULL, 0, NULL));
    CALL(cudaGraphEventRecordNodeGetEvent(first, &event_got));
    VALUE(event_got == event);
    CALL(cudaGraphEventRecordNodeGetEvent(second, &event_got));
    CALL(cudaGraphEventWaitNodeSetEvent(second, second_event));
    CALL(cudaGraphCreate(&child, 0));
    CALL(cudaGraphAddEmptyNode(&third, child, NULL, 0));
    CALL(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    CALL(cudaGraphAddChildGraphNode(&first, graph, NULL, 0, NULL));
    if (!REST)
        return;
    CALL(cudaGraphChildGraphNodeGetGraph(node, &copy));
    VALUE(copy != child);
    CALL(cudaGraphGetNodes(copy, NULL, &count));
    VALUE(count);
    CALL(cudaGraphDestroy(child));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphNodeSetEnabled(exec, second, 0));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

static void memory()
{
    cudaMemAllocNodeParams params = {}, got = {};
    unsigned long long used = 0;
    void *address = NULL;
    SECTION("memory nodes");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    params.poolProps.allocType = cudaMemAllocationTypePinned;
    params.poolProps.location.type = cudaMemLocationTypeDevice;
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    params.bytesize = 100;
    params.poolProps.location.id = 99;
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    params.poolProps.location.id = 0;
    params.poolProps.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    params.poolProps.handleTypes = cudaMemHandleTypeNone;
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    VALUE(params.dptr != NULL);
    CALL(cudaGraphMemAllocNodeGetParams(node, &got));
    VALUE(got.dptr == params.dptr);
    VALUE(got.bytesize);
    CALL(cudaGraphAddMemFreeNode(&first, graph, NULL, 0, params.dptr));
    CALL(cudaGraphAddMemFreeNode(&first, graph, &node, 1, params.dptr));
    CALL(cudaGraphAddMemFreeNode(&second, graph, &node, 1, params.dptr));
    CALL(cudaGraphAddMemFreeNode(&second, graph, NULL, 0, data));
    CALL(cudaGraphAddMemFreeNode(&second, graph, NULL, 0, NULL));
    CALL(cudaGraphMemFreeNodeGetParams(first, &address));
    VALUE(address == params.dptr);
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphDestroyNode(node));
    CALL(cudaGraphCreate(&child, 0));
    CALL(cudaGraphAddChildGraphNode(&second, child, NULL, 0, graph));
    CALL(cudaGraphDestroy(child));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    cudaGraphExec_t twice;
    CALL(cudaGraphInstantiate(&twice, graph, 0));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaStreamSynchronize(a));
    CALL(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    VALUE(used > 0);
    CALL(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    VALUE(used > 0);
    CALL(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &used));
    VALUE(used > 0);
    CALL(cudaDeviceGetGraphMemAttribute(0, (cudaGraphMemAttributeType)9, &used));
    CALL(cudaDeviceGetGraphMemAttribute(99, cudaGraphMemAttrUsedMemHigh, &used));
    used = 5;
    CALL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    used = 0;
    CALL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
    CALL(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
    CALL(cudaDeviceGraphMemTrim(0));
    CALL(cudaDeviceGraphMemTrim(99));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
    SECTION("memory that stays");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaFree(params.dptr));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaStreamSynchronize(a));
    CALL(cudaFreeAsync(params.dptr, a));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaFree(params.dptr));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphInstantiate(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaStreamSynchronize(a));
    unsigned long long flags = 0;
    CALL(cudaGraphExecGetFlags(exec, &flags));
    VALUE(flags);
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
    CALL(cudaFree(params.dptr));
}

static void conditions()
{
    cudaGraphConditionalHandle handle, unused;
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    SECTION("conditions");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphConditionalHandleCreate(NULL, graph, 0, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, NULL, 0, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 0, 2));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeIf;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.conditional.size = 3;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.conditional.size = 2;
    params.conditional.type = cudaGraphCondTypeWhile;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.conditional.size = 1;
    params.conditional.type = (cudaGraphConditionalNodeType)9;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.conditional.type = cudaGraphCondTypeIf;
    params.conditional.handle = 12345;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    params.conditional.handle = handle;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    VALUE(params.conditional.phGraph_out != NULL);
    child = params.conditional.phGraph_out[0];
    CALL(cudaGraphAddNode(&first, graph, NULL, NULL, 0, &params));
    CALL(cudaGraphAddEmptyNode(&first, child, NULL, 0));
    CALL(cudaGraphAddEventRecordNode(&first, child, NULL, 0, event));
    cudaHostNodeParams call = {host_function, data};
    CALL(cudaGraphAddHostNode(&first, child, NULL, 0, &call));
    CALL(cudaGraphDestroy(child));
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphDestroyNode(node));
    CALL(cudaGraphConditionalHandleCreate(&unused, graph, 0, 0));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    LAST();
    CALL(cudaGraphDestroy(graph));
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    params.conditional.handle = handle;
    CALL(cudaGraphAddNode(&node, graph, NULL, NULL, 0, &params));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphNodeSetEnabled(exec, node, 0));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaStreamSynchronize(a));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

static void updating()
{
    int three = 3;
    void *args[] = {&data, &three};
    cudaKernelNodeParams params = kernel((void *)add, 4, args);
    cudaGraphExecUpdateResultInfo info = {};
    cudaGraphNode_t kept;
    cudaMemsetParams fill = {};
    fill.dst = data;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    SECTION("updating");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    CALL(cudaGraphAddMemsetNode(&second, graph, &first, 1, &fill));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphExecUpdate(exec, graph, NULL));
    CALL(cudaGraphExecUpdate(exec, NULL, &info));
    CALL(cudaGraphExecUpdate(NULL, graph, &info));
    CALL(cudaGraphExecUpdate(exec, graph, &info));
    VALUE(info.result);
    VALUE(info.errorNode == NULL);
    // One node more.
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphAddEmptyNode(&kept, copy, NULL, 0));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    VALUE(info.errorNode == kept);
    VALUE(info.errorNode == NULL);
    VALUE(info.errorFromNode == NULL);
    CALL(cudaGraphDestroy(copy));
    // One node less.
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphNodeFindInClone(&kept, second, copy));
    CALL(cudaGraphDestroyNode(kept));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    VALUE(info.errorNode == NULL);
    CALL(cudaGraphDestroy(copy));
    // An edge less.
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphNodeFindInClone(&kept, second, copy));
    CALL(cudaGraphNodeFindInClone(&third, first, copy));
    CALL(cudaGraphRemoveDependencies(copy, &third, &kept, NULL, 1));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    VALUE(info.errorNode == kept);
    VALUE(info.errorNode == third);
    VALUE(info.errorNode == NULL);
    VALUE(info.errorFromNode == NULL);
    CALL(cudaGraphDestroy(copy));
    // Another kind.
    CALL(cudaGraphCreate(&copy, 0));
    CALL(cudaGraphAddKernelNode(&third, copy, NULL, 0, &params));
    CALL(cudaGraphAddKernelNode(&kept, copy, &third, 1, &params));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    VALUE(info.errorNode == kept);
    VALUE(info.errorNode == NULL);
    VALUE(info.errorFromNode == NULL);
    CALL(cudaGraphDestroy(copy));
    // Another function.
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphNodeFindInClone(&third, first, copy));
    params = kernel((void *)other, 4, args);
    CALL(cudaGraphKernelNodeSetParams(third, &params));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    CALL(cudaGraphDestroy(copy));
    // A fill of another size.
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphNodeFindInClone(&third, second, copy));
    fill.width = 2;
    CALL(cudaGraphMemsetNodeSetParams(third, &fill));
    CALL(cudaGraphExecUpdate(exec, copy, &info));
    VALUE(info.result);
    CALL(cudaGraphExecMemsetNodeSetParams(exec, second, &fill));
    CALL(cudaGraphExecMemsetNodeSetParams(exec, first, &fill));
    CALL(cudaGraphDestroy(copy));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphDestroy(graph));
}

static void instantiation()
{
    cudaGraphInstantiateParams params = {};
    SECTION("instantiation");
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphInstantiate(NULL, graph, 0));
    CALL(cudaGraphInstantiate(&exec, NULL, 0));
    CALL(cudaGraphInstantiate(&exec, graph, 0x100));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphLaunch(exec, a));
    CALL(cudaGraphLaunch(NULL, a));
    CALL(cudaGraphUpload(exec, a));
    CALL(cudaGraphUpload(NULL, a));
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphInstantiateWithParams(&exec, graph, NULL));
    CALL(cudaGraphInstantiateWithParams(&exec, graph, &params));
    VALUE(params.result_out);
    VALUE(params.errNode_out == NULL);
    CALL(cudaGraphExecDestroy(exec));
    CALL(cudaGraphAddEmptyNode(&first, graph, NULL, 0));
    CALL(cudaGraphAddEmptyNode(&second, graph, &first, 1));
    CALL(cudaGraphAddDependencies(graph, &second, &first, NULL, 1));
    CALL(cudaGraphInstantiateWithParams(&exec, graph, &params));
    VALUE(params.result_out);
    CALL(cudaGraphDestroy(graph));
    CALL(cudaGraphDebugDotPrint(NULL, "/tmp/none.dot", 0));
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphDebugDotPrint(graph, NULL, 0));
    CALL(cudaGraphDebugDotPrint(graph, "/no/such/folder/none.dot", 0));
    CALL(cudaGraphDestroy(graph));
}

static void destroyed(void *p) { ++*(int *)p; }

static void user_objects()
{
    cudaUserObject_t object;
    static int ended;
    SECTION("user objects");
    CALL(cudaUserObjectCreate(&object, &ended, destroyed, 1, 0));
    CALL(cudaUserObjectCreate(&object, &ended, destroyed, 0, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&object, &ended, NULL, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(NULL, &ended, destroyed, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectCreate(&object, &ended, destroyed, 1, cudaUserObjectNoDestructorSync));
    CALL(cudaUserObjectRetain(object, 0));
    CALL(cudaUserObjectRetain(object, 1));
    CALL(cudaUserObjectRelease(object, 0));
    CALL(cudaUserObjectRelease(object, 1));
    CALL(cudaGraphCreate(&graph, 0));
    CALL(cudaGraphRetainUserObject(graph, object, 0, 0));
    CALL(cudaGraphRetainUserObject(graph, object, 1, 5));
    CALL(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CALL(cudaGraphReleaseUserObject(graph, object, 0));
    VALUE(ended);
    CALL(cudaGraphClone(&copy, graph));
    CALL(cudaGraphDestroy(graph));
    VALUE(ended);
    CALL(cudaGraphDestroy(copy));
    CALL(cudaDeviceSynchronize());
}

static void begin(cudaStreamCaptureMode mode)
{
    cudaError_t error = cudaStreamBeginCapture(a, mode);
    if (error != cudaSuccess)
        printf("  begin: %s\n", cudaGetErrorName(error));
}

static void end()
{
    graph = NULL;
    CALL(cudaStreamEndCapture(a, &graph));
    VALUE(graph != NULL);
    if (graph) {
        cudaGraphGetNodes(graph, NULL, &count);
        VALUE(count);
        cudaGraphDestroy(graph);
    }
    CALL(cudaStreamIsCapturing(a, &status));
    VALUE(status);
    LAST();
}

// A call while a stream captures, and whether the capture lives.
#define DURING(mode, call)                                                                                                         \
    do {                                                                                                                           \
        begin(mode);                                                                                                               \
        CALL(call);                                                                                                                \
        cudaGetLastError();                                                                                                        \
        cudaStreamIsCapturing(a, &status);                                                                                         \
        VALUE(status);                                                                                                             \
        cudaError_t ended = cudaStreamEndCapture(a, &graph);                                                                       \
        printf("  end: %s\n", cudaGetErrorName(ended));                                                                            \
        if (ended == cudaSuccess)                                                                                                  \
            cudaGraphDestroy(graph);                                                                                               \
        cudaGetLastError();                                                                                                        \
    } while (0)

static void capturing()
{
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    unsigned long long id = 0;
    const cudaGraphNode_t *deps;
    const cudaGraphEdgeData *edges;
    SECTION("capture");
    CALL(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal));
    CALL(cudaStreamBeginCapture(a, (cudaStreamCaptureMode)7));
    CALL(cudaStreamEndCapture(a, &graph));
    CALL(cudaStreamEndCapture(0, &graph));
    CALL(cudaStreamIsCapturing(a, NULL));
    CALL(cudaStreamIsCapturing(0, &status));
    VALUE(status);
    if (!REST)
        return;
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    VALUE(mode);
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    VALUE(mode);
    mode = (cudaStreamCaptureMode)7;
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    end();
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaStreamGetCaptureInfo(a, &status, &id, &graph, &deps, &edges, &count));
    VALUE(status);
    VALUE(id != 0);
    VALUE(graph != NULL);
    VALUE(count);
    CALL(cudaMemsetAsync(data, 0, 4, a));
    CALL(cudaStreamGetCaptureInfo(a, &status, &id, &graph, &deps, NULL, &count));
    VALUE(count);
    cudaGraphNode_t last = count == 1 ? deps[0] : NULL;
    CALL(cudaStreamGetCaptureInfo(a, NULL, NULL, NULL, NULL, NULL, NULL));
    CALL(cudaStreamUpdateCaptureDependencies(a, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    CALL(cudaStreamGetCaptureInfo(a, &status, NULL, NULL, NULL, NULL, &count));
    VALUE(count);
    CALL(cudaStreamUpdateCaptureDependencies(a, &last, NULL, 1, cudaStreamAddCaptureDependencies));
    CALL(cudaStreamUpdateCaptureDependencies(a, &last, NULL, 1, 9));
    CALL(cudaStreamUpdateCaptureDependencies(b, &last, NULL, 1, cudaStreamAddCaptureDependencies));
    CALL(cudaGraphDestroy(graph));
    CALL(cudaGraphDestroyNode(last));
    CALL(cudaGraphInstantiate(&exec, graph, 0));
    CALL(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    end();
    begin(cudaStreamCaptureModeGlobal);
    none<<<1, 1, 0, a>>>();
    LAST();
    add<<<1, 4, 0, a>>>(data, 1);
    CALL(cudaLaunchHostFunc(a, host_function, data));
    CALL(cudaMemcpyAsync(data, spare, 16, cudaMemcpyDeviceToDevice, a));
    end();
    CALL(cudaStreamBeginCaptureToGraph(a, NULL, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    CALL(cudaGraphCreate(&child, 0));
    CALL(cudaStreamBeginCaptureToGraph(a, child, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
    CALL(cudaMemsetAsync(data, 0, 4, a));
    CALL(cudaStreamEndCapture(a, &graph));
    VALUE(graph == child);
    CALL(cudaGraphDestroy(child));
}

static void graphs_in_capture()
{
    SECTION("graphs during a capture");
    cudaGraph_t plain_graph;
    cudaGraphExec_t plain_exec = NULL; // which a capture keeps from being made
    int one = 1;
    void *args[] = {&data, &one};
    cudaKernelNodeParams params = kernel((void *)add, 4, args);
    cudaGraphExecUpdateResultInfo info;
    CALL(cudaGraphCreate(&plain_graph, 0));
    CALL(cudaGraphAddKernelNode(&node, plain_graph, NULL, 0, &params));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphInstantiate(&plain_exec, plain_graph, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphLaunch(plain_exec, a));
    DURING(cudaStreamCaptureModeRelaxed, cudaGraphLaunch(plain_exec, a));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphLaunch(plain_exec, b));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphUpload(plain_exec, a));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphExecUpdate(plain_exec, plain_graph, &info));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphExecDestroy(plain_exec));
    DURING(cudaStreamCaptureModeGlobal, cudaGraphDestroy(plain_graph));
}

static void forbidden()
{
    float ms;
    void *p = NULL;
    int plain[4] = {};
    cudaStream_t made;
    cudaEvent_t made_event;
    SECTION("calls during a capture, global");
    DURING(cudaStreamCaptureModeGlobal, cudaMalloc(&p, 64));
    DURING(cudaStreamCaptureModeGlobal, cudaFree(p));
    DURING(cudaStreamCaptureModeGlobal, cudaFree(NULL));
    DURING(cudaStreamCaptureModeGlobal, cudaMallocManaged(&p, 64));
    DURING(cudaStreamCaptureModeGlobal, cudaMallocHost(&p, 64));
    DURING(cudaStreamCaptureModeGlobal, cudaMemcpy(data, plain, 16, cudaMemcpyHostToDevice));
    DURING(cudaStreamCaptureModeGlobal, cudaMemset(data, 0, 16));
    DURING(cudaStreamCaptureModeGlobal, cudaMemcpyAsync(data, plain, 16, cudaMemcpyHostToDevice, a));
    DURING(cudaStreamCaptureModeGlobal, cudaMemcpyAsync(data, plain, 16, cudaMemcpyHostToDevice, b));
    DURING(cudaStreamCaptureModeGlobal, cudaMemcpyAsync(data, plain, 16, cudaMemcpyHostToDevice, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaMemsetAsync(data, 0, 16, cudaStreamPerThread));
    DURING(cudaStreamCaptureModeGlobal, cudaDeviceSynchronize());
    DURING(cudaStreamCaptureModeGlobal, cudaStreamSynchronize(a));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamSynchronize(b));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamSynchronize(0));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamQuery(a));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamQuery(b));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamQuery(0));
    DURING(cudaStreamCaptureModeGlobal, cudaEventQuery(event));
    DURING(cudaStreamCaptureModeGlobal, cudaEventSynchronize(event));
    DURING(cudaStreamCaptureModeGlobal, cudaEventElapsedTime(&ms, event, second_event));
    DURING(cudaStreamCaptureModeGlobal, cudaEventRecord(event, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaEventRecord(event, b));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamWaitEvent(0, event, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamWaitEvent(b, event, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaEventCreate(&made_event));
    DURING(cudaStreamCaptureModeGlobal, cudaEventDestroy(made_event));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamCreate(&made));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamDestroy(made));
    DURING(cudaStreamCaptureModeGlobal, cudaMemGetInfo(&count, &count));
    DURING(cudaStreamCaptureModeGlobal, cudaHostRegister(plain, 16, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaHostUnregister(plain));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamAddCallback(a, NULL, NULL, 0));
    DURING(cudaStreamCaptureModeGlobal, cudaStreamAttachMemAsync(a, data, 0, cudaMemAttachGlobal));
    DURING(cudaStreamCaptureModeGlobal, cudaLaunchHostFunc(b, host_function, plain));
    DURING(cudaStreamCaptureModeGlobal, cudaGetLastError());
    SECTION("calls during a capture, of this thread");
    DURING(cudaStreamCaptureModeThreadLocal, cudaMalloc(&p, 64));
    DURING(cudaStreamCaptureModeThreadLocal, cudaMemcpy(data, plain, 16, cudaMemcpyHostToDevice));
    DURING(cudaStreamCaptureModeThreadLocal, cudaDeviceSynchronize());
    DURING(cudaStreamCaptureModeThreadLocal, cudaEventQuery(second_event));
    SECTION("calls during a capture, relaxed");
    DURING(cudaStreamCaptureModeRelaxed, cudaMalloc(&p, 64));
    DURING(cudaStreamCaptureModeRelaxed, cudaFree(p));
    DURING(cudaStreamCaptureModeRelaxed, cudaMemcpy(data, plain, 16, cudaMemcpyHostToDevice));
    DURING(cudaStreamCaptureModeRelaxed, cudaMemset(data, 0, 16));
    DURING(cudaStreamCaptureModeRelaxed, cudaDeviceSynchronize());
    DURING(cudaStreamCaptureModeRelaxed, cudaStreamSynchronize(b));
    DURING(cudaStreamCaptureModeRelaxed, cudaStreamSynchronize(0));
    DURING(cudaStreamCaptureModeRelaxed, cudaStreamQuery(a));
    DURING(cudaStreamCaptureModeRelaxed, cudaEventQuery(second_event));
    DURING(cudaStreamCaptureModeRelaxed, cudaEventSynchronize(second_event));
    cudaStream_t apart;
    cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking);
    SECTION("a capture in a stream apart");
    CALL(cudaStreamBeginCapture(apart, cudaStreamCaptureModeGlobal));
    CALL(cudaMemsetAsync(data, 0, 16, 0));
    CALL(cudaStreamSynchronize(0));
    CALL(cudaMemsetAsync(data, 0, 16, b));
    CALL(cudaStreamIsCapturing(0, &status));
    VALUE(status);
    CALL(cudaStreamIsCapturing(apart, &status));
    VALUE(status);
    CALL(cudaStreamEndCapture(apart, &graph));
    CALL(cudaStreamDestroy(apart));
    CALL(cudaDeviceSynchronize());
}

static void several()
{
    SECTION("several streams");
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaStreamIsCapturing(0, &status));
    CALL(cudaEventRecord(event, a));
    CALL(cudaEventQuery(event));
    end();
    CALL(cudaEventQuery(event));
    CALL(cudaEventSynchronize(event));
    CALL(cudaStreamWaitEvent(b, event, 0));
    LAST();
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaEventRecord(event, a));
    CALL(cudaStreamWaitEvent(b, event, 0));
    CALL(cudaStreamIsCapturing(b, &status));
    VALUE(status);
    CALL(cudaStreamEndCapture(b, &graph));
    end();
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaEventRecord(event, a));
    CALL(cudaStreamWaitEvent(b, event, 0));
    CALL(cudaMemsetAsync(data, 0, 16, b));
    end();
    CALL(cudaStreamIsCapturing(b, &status));
    VALUE(status);
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaEventRecord(event, a));
    CALL(cudaStreamWaitEvent(b, event, 0));
    CALL(cudaMemsetAsync(data, 0, 16, b));
    CALL(cudaEventRecord(second_event, b));
    CALL(cudaStreamWaitEvent(a, second_event, 0));
    end();
    CALL(cudaEventRecord(event, b));
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaStreamWaitEvent(a, event, 0));
    end();
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaStreamBeginCapture(b, cudaStreamCaptureModeGlobal));
    CALL(cudaEventRecord(event, b));
    CALL(cudaStreamWaitEvent(a, event, 0));
    CALL(cudaStreamIsCapturing(b, &status));
    VALUE(status);
    CALL(cudaStreamEndCapture(b, &graph));
    end();
    // A stream that ends while it captures.
    cudaStream_t made;
    cudaStreamCreate(&made);
    begin(cudaStreamCaptureModeRelaxed);
    CALL(cudaEventRecord(event, a));
    CALL(cudaStreamWaitEvent(made, event, 0));
    CALL(cudaStreamDestroy(made));
    end();
    cudaStreamCreate(&made);
    CALL(cudaStreamBeginCapture(made, cudaStreamCaptureModeRelaxed));
    CALL(cudaStreamDestroy(made));
    // Memory.
    void *p = NULL;
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaMallocAsync(&p, 64, a));
    VALUE(p != NULL);
    CALL(cudaFreeAsync(data, a));
    CALL(cudaStreamIsCapturing(a, &status));
    VALUE(status);
    CALL(cudaFreeAsync(p, a));
    CALL(cudaFreeAsync(p, a));
    end();
    // External events.
    begin(cudaStreamCaptureModeGlobal);
    CALL(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal));
    CALL(cudaStreamWaitEvent(a, event, cudaEventWaitExternal));
    end();
    CALL(cudaEventRecordWithFlags(event, a, cudaEventRecordExternal));
    CALL(cudaStreamWaitEvent(a, event, cudaEventWaitExternal));
    CALL(cudaDeviceSynchronize());
    LAST();
}

static void (*const sections[])() = {making,        kernels,      others,    memory,    conditions, updating,
                                      instantiation, user_objects, capturing, forbidden, several,
#if REST
                                      graphs_in_capture
#endif
};

// Each section is a process of its own, so that one that the driver does not survive leaves the others.
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    int all = sizeof(sections) / sizeof(sections[0]);
    for (int i = 0; argc == 1 && i < all; i++) {
        char number[16];
        int ended = 0;
        snprintf(number, sizeof(number), "%d", i);
        pid_t process = fork();
        if (process == 0) {
            execl("/proc/self/exe", argv[0], number, (char *)NULL);
            _exit(1);
        }
        waitpid(process, &ended, 0);
        if (ended)
            printf("section %d ended with status %d\n", i, ended);
    }
    if (argc == 1)
        return 0;
    cudaMalloc((void **)&data, 4096);
    cudaMalloc((void **)&spare, 4096);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    cudaEventCreate(&event);
    cudaEventCreate(&second_event);
    sections[atoi(argv[1]) % all]();
    return 0;
}
