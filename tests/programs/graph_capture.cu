// Stream capture: work of one stream and of several becomes a graph; what a capture forbids says so and ends it.
#include "check.h"

__global__ void add(int *data, int value)
{
    data[threadIdx.x] += value;
}
__global__ void sum(int *to, const int *a, const int *b)
{
    to[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
static void host_add(void *data)
{
    ((int *)data)[0] += 1000;
}

int main()
{
    int *a = managed<int>(32), *b = managed<int>(32), *c = managed<int>(32), *spare;
    cudaStream_t first, second;
    cudaEvent_t fork, join, outside;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamCreate(&first));
    CHECK(cudaStreamCreate(&second));
    CHECK(cudaEventCreate(&fork));
    CHECK(cudaEventCreate(&join));
    CHECK(cudaEventCreate(&outside));
    CHECK(cudaStreamIsCapturing(first, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone);

    // Two streams that fork and join; nothing runs before the launch.
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaStreamIsCapturing(first, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive);
    CHECK(cudaMemsetAsync(a, 0, 32 * sizeof(int), first));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    CHECK(cudaStreamIsCapturing(second, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive);
    add<<<1, 32, 0, first>>>(a, 3);
    CHECK(cudaMemsetAsync(b, 0, 32 * sizeof(int), second));
    add<<<1, 32, 0, second>>>(b, 4);
    CHECK(cudaEventRecord(join, second));
    CHECK(cudaStreamWaitEvent(first, join, 0));
    sum<<<1, 32, 0, first>>>(c, a, b);
    CHECK(cudaLaunchHostFunc(first, host_add, c));
    CHECK(cudaMemcpyAsync(a, c, 32 * sizeof(int), cudaMemcpyDefault, first));
    CHECK(cudaStreamEndCapture(first, &graph));
    CHECK(cudaStreamIsCapturing(second, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone);
    REQUIRE(a[1] == 0 && c[0] == 0);
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes));
    REQUIRE(nodes == 7);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 3; i++) {
        CHECK(cudaGraphLaunch(exec, first));
        CHECK(cudaStreamSynchronize(first));
        REQUIRE(a[0] == 1007 && a[31] == 7 && c[31] == 7);
    }

    // A graph is not launched into a capturing stream; as a child graph it goes into the capture by hand.
    cudaGraph_t outer, captured;
    cudaGraphExec_t twice;
    cudaGraphNode_t child;
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    EXPECT(cudaGraphLaunch(exec, first), cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamIsCapturing(first, &status));
    REQUIRE(status == cudaStreamCaptureStatusInvalidated);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    EXPECT(cudaGraphInstantiate(&twice, graph, 0), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaStreamGetCaptureInfo(first, &status, NULL, &captured, NULL, NULL, NULL));
    CHECK(cudaGraphAddChildGraphNode(&child, captured, NULL, 0, graph));
    CHECK(cudaStreamUpdateCaptureDependencies(first, &child, NULL, 1, cudaStreamSetCaptureDependencies));
    add<<<1, 32, 0, first>>>(a, 1);
    CHECK(cudaStreamEndCapture(first, &outer));
    cudaGetLastError();
    CHECK(cudaGraphInstantiate(&twice, outer, 0));
    CHECK(cudaGraphLaunch(twice, second));
    CHECK(cudaStreamSynchronize(second));
    REQUIRE(a[0] == 1008 && a[31] == 8);
    CHECK(cudaGraphExecDestroy(twice));
    CHECK(cudaGraphDestroy(outer));

    // Memory of the stream's order.
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync((void **)&spare, 32 * sizeof(int), first));
    CHECK(cudaMemsetAsync(spare, 0, 32 * sizeof(int), first));
    add<<<1, 32, 0, first>>>(spare, 11);
    CHECK(cudaMemcpyAsync(b, spare, 32 * sizeof(int), cudaMemcpyDefault, first));
    CHECK(cudaFreeAsync(spare, first));
    CHECK(cudaStreamEndCapture(first, &outer));
    CHECK(cudaGraphInstantiate(&twice, outer, 0));
    CHECK(cudaGraphLaunch(twice, first));
    CHECK(cudaGraphLaunch(twice, first));
    CHECK(cudaStreamSynchronize(first));
    REQUIRE(b[0] == 11 && b[31] == 11);
    CHECK(cudaGraphExecDestroy(twice));
    CHECK(cudaGraphDestroy(outer));

    // Forbidden calls.
    EXPECT(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorIllegalState);
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    EXPECT(cudaStreamSynchronize(first), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaMemsetAsync(a, 0, 4, first), cudaErrorStreamCaptureInvalidated);
    CHECK(cudaStreamIsCapturing(first, &status));
    REQUIRE(status == cudaStreamCaptureStatusInvalidated);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);
    REQUIRE(outer == NULL);

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
    EXPECT(cudaMalloc((void **)&spare, 64), cudaErrorStreamCaptureUnsupported);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    CHECK(cudaMalloc((void **)&spare, 64));
    CHECK(cudaFree(spare));
    EXPECT(cudaMemsetAsync(a, 0, 4, 0), cudaErrorStreamCaptureImplicit);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    CHECK(cudaMemsetAsync(a, 0, 4, second));
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureUnjoined);

    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(fork, first));
    CHECK(cudaStreamWaitEvent(second, fork, 0));
    EXPECT(cudaStreamEndCapture(second, &outer), cudaErrorStreamCaptureUnmatched);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);

    CHECK(cudaEventRecord(outside, second));
    CHECK(cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaStreamWaitEvent(first, outside, 0), cudaErrorStreamCaptureIsolation);
    EXPECT(cudaStreamEndCapture(first, &outer), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();

    // Afterwards the streams are as before.
    add<<<1, 32, 0, first>>>(a, 1);
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    return finish();
}
