// Graphs and captures, what calls_graph.cu left open: executable graphs during captures of each mode and from another thread, what a
// mode out of range is, graphs while they are captured, sizes of copies of variables, memory operations on each kind of memory, and
// the text for Graphviz (which goes to standard error whole).
#include <cuda.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thread>
#include <unistd.h>

#define CALL(call) printf("%s: %s\n", #call, cudaGetErrorName(call))
#define VALUE(value) printf("  %s = %lld\n", #value, (long long)(value))
#define SECTION(text) printf("== %s\n", text), cudaGetLastError()

__global__ void add(int *p, int n)
{
    p[threadIdx.x] += n;
}
__device__ int variable[4];

static int *data;
static cudaStream_t a, b;
static cudaGraph_t plain;
static cudaGraphExec_t exec;
static cudaGraphNode_t node;
static const char *const modes[] = {"global", "of this thread", "relaxed"};

static void begin(int mode)
{
    cudaError_t error = cudaStreamBeginCapture(a, (cudaStreamCaptureMode)mode);
    if (error != cudaSuccess)
        printf("  begin: %s\n", cudaGetErrorName(error));
}

static void end()
{
    cudaGraph_t graph = NULL;
    cudaStreamCaptureStatus status;
    size_t count = 0;
    cudaGetLastError();
    cudaStreamIsCapturing(a, &status);
    cudaError_t ended = cudaStreamEndCapture(a, &graph);
    if (graph)
        cudaGraphGetNodes(graph, NULL, &count);
    printf("  status %d, end: %s, nodes %d\n", (int)status, cudaGetErrorName(ended), (int)count);
    if (graph)
        cudaGraphDestroy(graph);
    cudaGetLastError();
}

// A call while a stream captures, by the thread that began it or by another, and whether the capture lives.
#define DURING(mode, call)                                                                                                         \
    do {                                                                                                                           \
        begin(mode);                                                                                                               \
        CALL(call);                                                                                                                \
        end();                                                                                                                     \
    } while (0)
#define ELSEWHERE(mode, call)                                                                                                      \
    do {                                                                                                                           \
        begin(mode);                                                                                                               \
        std::thread([&] { CALL(call); }).join();                                                                                   \
        end();                                                                                                                     \
    } while (0)

static void executable_graphs()
{
    cudaGraphExec_t other[12] = {};
    int n = 0;
    cudaGraphExecUpdateResultInfo info;
    for (int mode = 0; mode < 3; mode++) {
        SECTION("executable graphs during a capture");
        puts(modes[mode]);
        DURING(mode, cudaGraphInstantiate(&other[n++], plain, 0));
        VALUE(other[n - 1] != NULL);
        DURING(mode, cudaGraphLaunch(exec, a));
        DURING(mode, cudaGraphLaunch(exec, b));
        cudaDeviceSynchronize();
        DURING(mode, cudaGraphLaunch(exec, 0));
        DURING(mode, cudaGraphLaunch(NULL, a));
        DURING(mode, cudaGraphUpload(exec, a));
        DURING(mode, cudaGraphUpload(exec, b));
        DURING(mode, cudaGraphExecUpdate(exec, plain, &info));
        ELSEWHERE(mode, cudaGraphInstantiate(&other[n++], plain, 0));
        VALUE(other[n - 1] != NULL);
        ELSEWHERE(mode, cudaGraphLaunch(exec, a));
        ELSEWHERE(mode, cudaGraphLaunch(exec, b));
        cudaDeviceSynchronize();
        cudaGraphInstantiate(&other[n++], plain, 0);
        ELSEWHERE(mode, cudaGraphExecDestroy(other[n - 1]));
        cudaGraphInstantiate(&other[n++], plain, 0);
        DURING(mode, cudaGraphExecDestroy(other[n - 1]));
        DURING(mode, cudaGraphExecDestroy(NULL));
    }
}

static void exchange(int wanted)
{
    cudaStreamCaptureMode mode = (cudaStreamCaptureMode)wanted;
    void *p = NULL;
    CALL(cudaThreadExchangeStreamCaptureMode(&mode));
    VALUE(mode);
    DURING(cudaStreamCaptureModeGlobal, cudaMalloc(&p, 64));
    begin(cudaStreamCaptureModeGlobal);
    std::thread([&] {
        cudaStreamCaptureMode other = (cudaStreamCaptureMode)wanted;
        CALL(cudaThreadExchangeStreamCaptureMode(&other));
        CALL(cudaMalloc(&p, 64));
    }).join();
    end();
}

static void being_captured()
{
    SECTION("a graph that is captured");
    cudaGraph_t graph = NULL, copy, holder;
    cudaGraphExec_t made;
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *deps;
    size_t count;
    cudaGraphCreate(&holder, 0);
#define CAPTURED(call)                                                                                                             \
    do {                                                                                                                           \
        begin(cudaStreamCaptureModeRelaxed);                                                                                       \
        cudaMemsetAsync(data, 0, 4, a);                                                                                            \
        cudaStreamGetCaptureInfo(a, &status, NULL, &graph, &deps, NULL, &count);                                                   \
        CALL(call);                                                                                                                \
        end();                                                                                                                     \
    } while (0)
    CAPTURED(cudaGraphDestroy(graph));
    CAPTURED(cudaGraphDestroyNode(deps[0]));
    CAPTURED(cudaGraphInstantiate(&made, graph, 0));
    CAPTURED(cudaGraphClone(&copy, graph));
    CAPTURED(cudaGraphAddChildGraphNode(&node, holder, NULL, 0, graph));
    CAPTURED(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, plain));
    CAPTURED(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    CAPTURED(cudaStreamBeginCaptureToGraph(b, graph, NULL, NULL, 0, cudaStreamCaptureModeRelaxed));
    CAPTURED(cudaStreamUpdateCaptureDependencies(a, NULL, NULL, 1, cudaStreamSetCaptureDependencies));
    cudaGraphDestroy(holder);
}

static void variables()
{
    SECTION("copies of variables");
    cudaGraph_t graph;
    static int host[8];
    cudaGraphCreate(&graph, 0);
    CALL(cudaGraphAddMemcpyNodeFromSymbol(&node, graph, NULL, 0, host, variable, 16, 0, cudaMemcpyDeviceToHost));
    CALL(cudaGraphAddMemcpyNodeFromSymbol(&node, graph, NULL, 0, host, variable, 20, 0, cudaMemcpyDeviceToHost));
    CALL(cudaGraphAddMemcpyNodeFromSymbol(&node, graph, NULL, 0, host, variable, 16, 4, cudaMemcpyDeviceToHost));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, variable, host, 20, 0, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, variable, host, 4, 12, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, variable, host, 4, 16, cudaMemcpyHostToDevice));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, variable, host, 4, 0, cudaMemcpyDeviceToHost));
    CALL(cudaGraphAddMemcpyNodeToSymbol(&node, graph, NULL, 0, host, host, 4, 0, cudaMemcpyHostToDevice));
    CALL(cudaGraphDestroy(graph));
}

static void write_word(const char *what, void *word)
{
    cudaGraph_t graph;
    cudaGraphExec_t made = NULL;
    CUstreamBatchMemOpParams op = {};
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = (CUdeviceptr)(uintptr_t)word;
    op.writeValue.value = 5;
    CUDA_BATCH_MEM_OP_NODE_PARAMS params = {};
    cuCtxGetCurrent(&params.ctx);
    params.count = 1;
    params.paramArray = &op;
    puts(what);
    CALL((cudaError_t)cuStreamWriteValue32((CUstream)a, op.writeValue.address, 5, 0));
    CALL(cudaStreamSynchronize(a));
    cudaGraphCreate(&graph, 0);
    CALL((cudaError_t)cuGraphAddBatchMemOpNode((CUgraphNode *)&node, (CUgraph)graph, NULL, 0, &params));
    CALL(cudaGraphInstantiate(&made, graph, 0));
    if (made) {
        CALL(cudaGraphLaunch(made, a));
        CALL(cudaStreamSynchronize(a));
        CALL(cudaGraphExecDestroy(made));
    }
    CALL(cudaGraphDestroy(graph));
}

static void memory_operations()
{
    SECTION("memory operations");
    int *pinned, *managed;
    cudaHostAlloc((void **)&pinned, 64, cudaHostAllocMapped);
    cudaMallocManaged(&managed, 64);
    write_word("device memory", data);
    write_word("pinned memory", pinned);
    write_word("managed memory", managed);
}

static void dot(unsigned flags)
{
    static char text[1 << 16];
    char path[] = "/tmp/calls_graph_XXXXXX";
    close(mkstemp(path));
    printf("flags %u\n", flags);
    CALL(cudaGraphDebugDotPrint(plain, path, flags));
    FILE *file = fopen(path, "r");
    memset(text, 0, sizeof(text));
    fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    remove(path);
    fprintf(stderr, "flags %u:\n%s\n", flags, text);
    for (const char *word : {"digraph dot {", "subgraph cluster_", "label=\"graph_", "graph_1_node_0", "graph_0_node_0", "->", "KERNEL",
                             "_Z3addPii", "MEMSET", "octagon", "rectangle", "EMPTY"})
        printf("  %s: %s\n", word, strstr(text, word) ? "yes" : "no");
}

int main()
{
    int one = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    cudaMalloc(&data, 64);
    cudaMemset(data, 0, 64);
    cudaStreamCreate(&a);
    cudaStreamCreate(&b);
    void *args[] = {&data, &one};
    cudaKernelNodeParams params = {};
    params.func = (void *)add;
    params.gridDim = dim3(1);
    params.blockDim = dim3(4);
    params.kernelParams = args;
    cudaMemsetParams fill = {};
    fill.dst = data;
    fill.elementSize = 4;
    fill.width = 4;
    fill.height = 1;
    cudaGraphNode_t first;
    CALL(cudaGraphCreate(&plain, 0));
    CALL(cudaGraphAddKernelNode(&first, plain, NULL, 0, &params));
    CALL(cudaGraphAddMemsetNode(&node, plain, &first, 1, &fill));
    CALL(cudaGraphAddEmptyNode(&node, plain, &first, 1));
    CALL(cudaGraphInstantiate(&exec, plain, 0));
    executable_graphs();
    being_captured();
    variables();
    SECTION("modes");
    for (int wanted : {2, 1, 0, 7, -1, 0})
        exchange(wanted);
    SECTION("text for Graphviz");
    dot(0);
    dot(cudaGraphDebugDotFlagsVerbose);
    memory_operations(); // last: it may end in an error that stays
    return 0;
}
