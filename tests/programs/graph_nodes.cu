// Graph nodes through cudaGraphAddNode: kernels, copies, fills, conditions that kernels set (if, else, while, switch), memory
// operations; copies of variables; updates with what they say; the text for Graphviz.
#include "check.h"
#include <cuda.h>
#include <unistd.h>

__device__ int variable[4] = {1, 2, 3, 4};

__global__ void add(int *data, int value)
{
    data[threadIdx.x] += value;
}
__global__ void count_down(cudaGraphConditionalHandle handle, int *left)
{
    *left -= 1;
    cudaGraphSetConditional(handle, *left > 0);
}
__global__ void choose(cudaGraphConditionalHandle handle, const int *value)
{
    cudaGraphSetConditional(handle, *value);
}

#define EQUAL(got, want)                                                                                                           \
    do {                                                                                                                           \
        int equal_got = (got), equal_want = (want);                                                                                \
        if (equal_got != equal_want)                                                                                               \
            printf("%s:%d: %s is %d, expected %d\n", __FILE__, __LINE__, #got, equal_got, equal_want), failures++;                 \
    } while (0)

static cudaGraphNode_t node(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphNodeParams *params)
{
    cudaGraphNode_t made = NULL;
    size_t count = after ? 1 : 0;
#if CUDART_VERSION >= 13000
    CHECK(cudaGraphAddNode(&made, graph, count ? &after : NULL, NULL, count, params));
#else
    CHECK(cudaGraphAddNode(&made, graph, count ? &after : NULL, count, params));
#endif
    return made;
}

static cudaGraphNode_t kernel(cudaGraph_t graph, cudaGraphNode_t after, void *function, int threads, void *first, void *second)
{
    void *args[] = {first, second};
    cudaGraphNodeParams params = {cudaGraphNodeTypeKernel};
    params.kernel.func = function;
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(threads);
    params.kernel.kernelParams = args;
    return node(graph, after, &params);
}

static cudaGraphNode_t conditional(cudaGraph_t graph, cudaGraphNode_t after, cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type, int size, cudaGraph_t *bodies)
{
    cudaGraphNodeParams params = {cudaGraphNodeTypeConditional};
    params.conditional.handle = handle;
    params.conditional.type = type;
    params.conditional.size = size;
    cudaGraphNode_t made = node(graph, after, &params);
    memcpy(bodies, params.conditional.phGraph_out, size * sizeof(cudaGraph_t));
    return made;
}

static void run_at(int line, cudaGraph_t graph, int times)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < times; i++)
        if (cudaGraphLaunch(exec, 0) != cudaSuccess)
            printf("launch %d of line %d: %s\n", i, line, cudaGetErrorName(cudaGetLastError())), failures++;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
}
#define run(graph, times) run_at(__LINE__, graph, times)

static void plain_nodes(int *a, int *b)
{
    cudaGraph_t graph;
    int host[4] = {10, 20, 30, 40}, back[4] = {}, five = 5;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNodeParams fill = {cudaGraphNodeTypeMemset};
    fill.memset.dst = a;
    fill.memset.value = 7;
    fill.memset.elementSize = 4;
    fill.memset.width = 32;
    fill.memset.height = 1;
    cudaGraphNode_t last = node(graph, NULL, &fill);
    last = kernel(graph, last, (void *)add, 32, &a, &five);
    cudaGraphNodeParams copy = {cudaGraphNodeTypeMemcpy};
    copy.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(a, 32, 8, 4);
    copy.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(b, 64, 8, 4);
    copy.memcpy.copyParams.extent = make_cudaExtent(16, 4, 1);
    copy.memcpy.copyParams.kind = cudaMemcpyDefault;
    last = node(graph, last, &copy);
    cudaMemcpy3DParms found = {};
    CHECK(cudaGraphMemcpyNodeGetParams(last, &found));
    REQUIRE(found.srcPtr.ptr == a && found.dstPtr.ptr == b);
    REQUIRE(found.dstPtr.pitch == 64);
    REQUIRE(found.extent.width == 16 && found.extent.height == 4);
    CHECK(cudaGraphAddMemcpyNodeToSymbol(&last, graph, &last, 1, variable, host, 3 * sizeof(int), sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemcpyNodeFromSymbol(&last, graph, &last, 1, back, variable, 4 * sizeof(int), 0, cudaMemcpyDeviceToHost));
    run(graph, 1);
    REQUIRE(a[0] == 12 && a[31] == 12);
    REQUIRE(b[0] == 12 && b[3] == 12 && b[4] == 0 && b[16] == 12 && b[48] == 12);
    REQUIRE(back[0] == 1 && back[1] == 10 && back[3] == 30);
}

static void conditions(int *data, int *value)
{
    cudaGraph_t graph, bodies[3];
    cudaGraphConditionalHandle handle;
    int one = 1, ten = 10, hundred = 100;

    for (int answer = 0; answer < 2; answer++) { // if and else
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
        cudaGraphNode_t last = kernel(graph, NULL, (void *)choose, 1, &handle, &value);
        last = conditional(graph, last, handle, cudaGraphCondTypeIf, 2, bodies);
        kernel(bodies[0], NULL, (void *)add, 1, &data, &ten);
        kernel(bodies[1], NULL, (void *)add, 1, &data, &hundred);
        kernel(graph, last, (void *)add, 1, &data, &one);
        *value = answer;
        *data = 0;
        run(graph, 2);
        EQUAL(*data, answer ? 22 : 202);
    }

    // A loop whose handle begins with 1 in each launch.
    int *left = value + 1;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    conditional(graph, NULL, handle, cudaGraphCondTypeWhile, 1, bodies);
    cudaGraphNode_t last = kernel(bodies[0], NULL, (void *)add, 1, &data, &one);
    kernel(bodies[0], last, (void *)count_down, 1, &handle, &left);
    *left = 50;
    *data = 0;
    run(graph, 2);
    EQUAL(*data, 51);
    EQUAL(*left, -1);

    for (int answer = 0; answer < 4; answer++) { // a choice of three
        CHECK(cudaGraphCreate(&graph, 0));
        CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
        last = kernel(graph, NULL, (void *)choose, 1, &handle, &value);
        conditional(graph, last, handle, cudaGraphCondTypeSwitch, 3, bodies);
        kernel(bodies[0], NULL, (void *)add, 1, &data, &one);
        kernel(bodies[1], NULL, (void *)add, 1, &data, &ten);
        kernel(bodies[2], NULL, (void *)add, 1, &data, &hundred);
        *value = answer;
        *data = 0;
        run(graph, 1);
        EQUAL(*data, answer == 0 ? 1 : answer == 1 ? 10 : answer == 2 ? 100 : 0);
    }

    // A loop in a branch.
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle inner;
    CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    CHECK(cudaGraphConditionalHandleCreate(&inner, graph, 1, cudaGraphCondAssignDefault));
    conditional(graph, NULL, handle, cudaGraphCondTypeIf, 1, bodies);
    conditional(bodies[0], NULL, inner, cudaGraphCondTypeWhile, 1, bodies + 1);
    last = kernel(bodies[1], NULL, (void *)add, 1, &data, &one);
    kernel(bodies[1], last, (void *)count_down, 1, &inner, &left);
    *left = 5;
    *data = 0;
    run(graph, 1);
    EQUAL(*data, 5);
    EQUAL(*left, 0);
}

// Of memory that is not managed: CUDA driver API, stream memory operations.
static void memory_operations()
{
    cudaGraph_t graph;
    unsigned *words, result = 0;
    CUstreamBatchMemOpParams ops[2] = {};
    CHECK(cudaMalloc(&words, 256));
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = (CUdeviceptr)(uintptr_t)words;
    ops[0].writeValue.value = 77;
    ops[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[1].waitValue.address = (CUdeviceptr)(uintptr_t)words;
    ops[1].waitValue.value = 77;
    ops[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {}, found = {};
    CHECK((cudaError_t)cuCtxGetCurrent(&params.ctx));
    params.count = 2;
    params.paramArray = ops;
    cudaGraphNode_t made;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK((cudaError_t)cuGraphAddBatchMemOpNode((CUgraphNode *)&made, (CUgraph)graph, NULL, 0, &params));
    CHECK((cudaError_t)cuGraphBatchMemOpNodeGetParams((CUgraphNode)made, &found));
    EQUAL(found.count, 2);
    EQUAL(found.paramArray[0].writeValue.value, 77);
    int one = 1;
    kernel(graph, made, (void *)add, 1, &words, &one);
    run(graph, 3);
    CHECK(cudaMemcpy(&result, words, sizeof(result), cudaMemcpyDeviceToHost));
    EQUAL(result, 78);
    CHECK(cudaFree(words));
}

static void updates(int *data)
{
    cudaGraph_t graph, other;
    cudaGraphExec_t exec;
    int one = 1, two = 2;
    cudaGraphExecUpdateResultInfo info = {};
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t last = kernel(graph, NULL, (void *)add, 1, &data, &one);
    kernel(graph, last, (void *)add, 1, &data, &one);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphCreate(&other, 0));
    last = kernel(other, NULL, (void *)add, 1, &data, &two);
    cudaGraphNode_t second = kernel(other, last, (void *)add, 1, &data, &two);
    CHECK(cudaGraphExecUpdate(exec, other, &info));
    EQUAL(info.result, cudaGraphExecUpdateSuccess);
    *data = 0;
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EQUAL(*data, 4);
    kernel(other, second, (void *)add, 1, &data, &two);
    EXPECT(cudaGraphExecUpdate(exec, other, &info), cudaErrorGraphExecUpdateFailure);
    EQUAL(info.result, cudaGraphExecUpdateErrorTopologyChanged);
    cudaGetLastError();
    CHECK(cudaGraphLaunch(exec, 0));
    CHECK(cudaDeviceSynchronize());
    EQUAL(*data, 8);

    char path[] = "/tmp/graph_nodes_XXXXXX", text[4096] = {};
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    close(file);
    CHECK(cudaGraphDebugDotPrint(other, path, 0));
    FILE *dot = fopen(path, "r");
    REQUIRE(dot && fread(text, 1, sizeof(text) - 1, dot) > 0);
    if (dot)
        fclose(dot);
    remove(path);
    for (const char *word : {"digraph", "->", "add"}) // how nodes are described is the driver's affair
        if (!strstr(text, word))
            printf("no %s in the text for Graphviz:\n%s\n", word, text), failures++;
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(other));
}

int main()
{
    int *a = managed<int>(64), *b = managed<int>(64);
    plain_nodes(a, b);
    conditions(a, b);
    memory_operations();
    updates(a);
    return finish();
}
