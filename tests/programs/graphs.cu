// Graphs made by hand: kernels, copies, fills, host functions, child graphs, memory nodes; order by dependencies, clones, updates, errors.
#include "check.h"

__global__ void add(int *data, int value)
{
    data[threadIdx.x] += value;
}
__global__ void twice(int *data)
{
    data[threadIdx.x] *= 2;
}
static void host_add(void *data)
{
    ((int *)data)[0] += 1000;
}

static cudaKernelNodeParams kernel(void *function, void **args)
{
    cudaKernelNodeParams params = {};
    params.func = function;
    params.gridDim = dim3(1);
    params.blockDim = dim3(32);
    params.kernelParams = args;
    return params;
}

int main()
{
    int *data = managed<int>(32), *out = managed<int>(32);
    int three = 3, five = 5;
    void *add3[] = {&data, &three}, *add5[] = {&data, &five}, *both[] = {&data};
    cudaGraph_t graph, clone;
    cudaGraphNode_t fill, first, second, host, copy, found;
    cudaStream_t stream, other;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamCreate(&other));
    CHECK(cudaGraphCreate(&graph, 0));
    EXPECT(cudaGraphCreate(&graph, 1), cudaErrorInvalidValue);
    cudaGetLastError();

    // (0 + 3) * 2 + 1000 in the order of the edges, not of the making.
    cudaMemsetParams zero = {};
    zero.dst = data;
    zero.elementSize = 4;
    zero.width = 32;
    zero.height = 1;
    cudaKernelNodeParams params = kernel((void *)twice, both);
    CHECK(cudaGraphAddKernelNode(&second, graph, NULL, 0, &params));
    params = kernel((void *)add, add3);
    CHECK(cudaGraphAddKernelNode(&first, graph, NULL, 0, &params));
    CHECK(cudaGraphAddMemsetNode(&fill, graph, NULL, 0, &zero));
    cudaHostNodeParams call = {host_add, data};
    CHECK(cudaGraphAddHostNode(&host, graph, &second, 1, &call));
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, &host, 1, out, data, 32 * sizeof(int), cudaMemcpyDefault));
    cudaGraphNode_t from[] = {fill, first}, to[] = {first, second};
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddDependencies(graph, from, to, NULL, 2));
#else
    CHECK(cudaGraphAddDependencies(graph, from, to, 2));
#endif
    three = -1; // parameters were copied
    size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &count));
    REQUIRE(count == 5);
    CHECK(cudaGraphGetRootNodes(graph, NULL, &count));
    REQUIRE(count == 1);
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(host, &type));
    REQUIRE(type == cudaGraphNodeTypeHost);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        REQUIRE(data[0] == 1006 && data[1] == 6 && out[0] == 1006 && out[31] == 6);
    }
    // Launches of one graph do not overlap, whatever the stream.
    for (int i = 0; i < 50; i++)
        CHECK(cudaGraphLaunch(exec, i % 2 ? stream : other));
    CHECK(cudaDeviceSynchronize());
    REQUIRE(out[0] == 1006 && out[31] == 6);

    params = kernel((void *)add, add5);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, first, &params));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(out[31] == 10);
    CHECK(cudaGraphNodeSetEnabled(exec, second, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(out[31] == 5);

    // A clone is a graph of its own; an update takes another graph's parameters.
    CHECK(cudaGraphClone(&clone, graph));
    CHECK(cudaGraphNodeFindInClone(&found, first, clone));
    int seven = 7;
    void *add7[] = {&data, &seven};
    params = kernel((void *)add, add7);
    CHECK(cudaGraphKernelNodeSetParams(found, &params));
    cudaGraphExec_t changed;
    CHECK(cudaGraphInstantiate(&changed, graph, 0));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(changed, clone, &info));
    REQUIRE(info.result == cudaGraphExecUpdateSuccess);
    CHECK(cudaGraphLaunch(changed, stream));
    CHECK(cudaGraphExecDestroy(changed)); // what is launched still runs
    CHECK(cudaGraphDestroy(clone));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(out[31] == 14);

    // A graph in a graph, twice.
    cudaGraph_t outer;
    cudaGraphNode_t a, b;
    CHECK(cudaGraphCreate(&outer, 0));
    CHECK(cudaGraphAddChildGraphNode(&a, outer, NULL, 0, graph));
    CHECK(cudaGraphAddChildGraphNode(&b, outer, &a, 1, graph));
    CHECK(cudaGraphInstantiate(&changed, outer, 0));
    out[0] = 0;
    CHECK(cudaGraphLaunch(changed, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(out[0] == 1006 && out[31] == 6);
    CHECK(cudaGraphExecDestroy(changed));
    CHECK(cudaGraphDestroy(outer));

    // Many small nodes.
    cudaGraph_t chain;
    cudaGraphNode_t last = NULL;
    CHECK(cudaGraphCreate(&chain, 0));
    int one = 1;
    void *add1[] = {&data, &one};
    params = kernel((void *)add, add1);
    for (int i = 0; i < 1500; i++)
        CHECK(cudaGraphAddKernelNode(&last, chain, last ? &last : NULL, last ? 1 : 0, &params));
    CHECK(cudaGraphInstantiate(&changed, chain, 0));
    memset(data, 0, 32 * sizeof(int));
    for (int i = 0; i < 4; i++)
        CHECK(cudaGraphLaunch(changed, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(data[0] == 6000 && data[31] == 6000);
    CHECK(cudaGraphExecDestroy(changed));
    CHECK(cudaGraphDestroy(chain));

    // Memory that a graph allocates and frees.
    cudaGraph_t memory;
    cudaGraphNode_t allocation, use, back, release;
    CHECK(cudaGraphCreate(&memory, 0));
    cudaMemAllocNodeParams wanted = {};
    wanted.poolProps.allocType = cudaMemAllocationTypePinned;
    wanted.poolProps.location.type = cudaMemLocationTypeDevice;
    wanted.bytesize = 32 * sizeof(int);
    CHECK(cudaGraphAddMemAllocNode(&allocation, memory, NULL, 0, &wanted));
    zero.dst = wanted.dptr;
    zero.value = 9;
    CHECK(cudaGraphAddMemsetNode(&use, memory, &allocation, 1, &zero));
    CHECK(cudaGraphAddMemcpyNode1D(&back, memory, &use, 1, out, wanted.dptr, 32 * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaGraphAddMemFreeNode(&release, memory, &back, 1, wanted.dptr));
    CHECK(cudaGraphInstantiate(&changed, memory, 0));
    CHECK(cudaGraphLaunch(changed, stream));
    CHECK(cudaGraphLaunch(changed, stream));
    CHECK(cudaGraphExecDestroy(changed));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(out[0] == 9 && out[31] == 9);
    CHECK(cudaGraphDestroy(memory));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return finish();
}
