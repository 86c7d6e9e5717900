// Stream memory operations: streams that wait for words which the host, another stream or a kernel writes, in every way of
// comparing; many streams that wait at once; a chain that only goes on if nobody who waits keeps a thread.
#include "check.h"
#include <cuda.h>
#include <unistd.h>

#define DRIVER(call)                                                                                                               \
    do {                                                                                                                           \
        CUresult driver_result = (call);                                                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                                                       \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, driver_result);                                                   \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

__global__ void add(unsigned *p, unsigned value)
{
    atomicAdd(p, value);
}

/* Goes on only once another stream has written the word. */
__global__ void spin(volatile unsigned *word, unsigned value)
{
    while (*word != value) {
    }
}

static void by_the_host()
{
    volatile unsigned *word;
    CUstream stream;
    CHECK(cudaHostAlloc((void **)&word, 64, cudaHostAllocMapped));
    word[0] = word[1] = 0;
    DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)word, 5, CU_STREAM_WAIT_VALUE_GEQ));
    DRIVER(cuStreamWriteValue32(stream, (CUdeviceptr)(word + 1), 77, 0));
    usleep(20000);
    REQUIRE(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    REQUIRE(word[1] == 0);
    word[0] = 4;
    usleep(2000);
    REQUIRE(word[1] == 0);
    word[0] = 6;
    DRIVER(cuStreamSynchronize(stream));
    REQUIRE(word[1] == 77);
    /* Greater by the sign of the difference: 0x80000004 is less than 5 + 2^31. */
    word[0] = 0xfffffff0;
    DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)word, 5, CU_STREAM_WAIT_VALUE_GEQ));
    usleep(2000);
    REQUIRE(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    word[0] = 5;
    DRIVER(cuStreamSynchronize(stream));
    DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)word, 8, CU_STREAM_WAIT_VALUE_AND));
    usleep(2000);
    REQUIRE(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    word[0] = 12;
    DRIVER(cuStreamSynchronize(stream));
    word[0] = ~0u;
    DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)word, 1, CU_STREAM_WAIT_VALUE_NOR));
    usleep(2000);
    REQUIRE(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    word[0] = 1;
    DRIVER(cuStreamSynchronize(stream));
    DRIVER(cuStreamDestroy(stream));
    CHECK(cudaFreeHost((void *)word));
}

/* Stream i waits for i and writes i + 1; the host starts the first. Nothing else is asked of the device meanwhile: on a GPU,
 * streams share a few queues, and it could stand behind one that waits. */
static void chain()
{
    enum { STREAMS = 100 };
    volatile unsigned long long *words;
    CUdeviceptr sum;
    CUstream streams[STREAMS];
    unsigned total = 0;
    CHECK(cudaHostAlloc((void **)&words, 8 * (STREAMS + 1), cudaHostAllocMapped));
    memset((void *)words, 0, 8 * (STREAMS + 1));
    DRIVER(cuMemAlloc(&sum, 4));
    DRIVER(cuMemsetD8(sum, 0, 4));
    for (int i = 0; i < STREAMS; i++)
        DRIVER(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    add<<<1, 1>>>((unsigned *)sum, 0); /* loaded now */
    DRIVER(cuCtxSynchronize());
    for (int i = 0; i < STREAMS; i++) {
        DRIVER(cuStreamWaitValue64(streams[i], (CUdeviceptr)(words + i), (1ull << 40) + i, CU_STREAM_WAIT_VALUE_EQ));
        add<<<1, 32, 0, streams[i]>>>((unsigned *)sum, 1);
        DRIVER(cuStreamWriteValue64(streams[i], (CUdeviceptr)(words + i + 1), (1ull << 40) + i + 1, 0));
    }
    usleep(5000);
    REQUIRE(cuStreamQuery(streams[0]) == CUDA_ERROR_NOT_READY && words[1] == 0);
    words[0] = 1ull << 40;
    DRIVER(cuStreamSynchronize(streams[STREAMS - 1]));
    DRIVER(cuMemcpyDtoH(&total, sum, 4));
    REQUIRE(total == 32 * STREAMS);
    for (int i = 0; i < STREAMS; i++)
        DRIVER(cuStreamDestroy(streams[i]));
    CHECK(cudaFreeHost((void *)words));
    DRIVER(cuMemFree(sum));
}

/* A kernel that spins until a stream writes, which waits for a kernel's word. */
static void with_kernels()
{
    CUdeviceptr words;
    CUstream a, b;
    DRIVER(cuMemAlloc(&words, 256));
    DRIVER(cuMemsetD8(words, 0, 256));
    DRIVER(cuCtxSynchronize());
    DRIVER(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
    DRIVER(cuStreamWaitValue32(b, words, 1, CU_STREAM_WAIT_VALUE_EQ));
    DRIVER(cuStreamWriteValue32(b, words + 128, 1, 0));
    add<<<1, 1, 0, a>>>((unsigned *)words, 1);
    spin<<<1, 1, 0, a>>>((unsigned *)(words + 128), 1);
    DRIVER(cuStreamSynchronize(a));
    DRIVER(cuStreamSynchronize(b));
    DRIVER(cuStreamDestroy(a));
    DRIVER(cuStreamDestroy(b));
    DRIVER(cuMemFree(words));
}

static void batch()
{
    CUdeviceptr words;
    unsigned values[2] = {};
    CUstreamBatchMemOpParams ops[4] = {};
    DRIVER(cuMemAlloc(&words, 256));
    DRIVER(cuMemsetD8(words, 0, 256));
    ops[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].writeValue.address = words;
    ops[0].writeValue.value = 3;
    ops[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    ops[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[2].waitValue.address = words;
    ops[2].waitValue.value = 3;
    ops[2].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    ops[3] = ops[0];
    ops[3].writeValue.address = words + 4;
    ops[3].writeValue.value = 4;
    DRIVER(cuStreamBatchMemOp(NULL, 4, ops, 0));
    DRIVER(cuMemcpyDtoH(values, words, 8));
    REQUIRE(values[0] == 3 && values[1] == 4);
    ops[3].writeValue.address = 0;
    ops[0].writeValue.value = 99;
    REQUIRE(cuStreamBatchMemOp(NULL, 4, ops, 0) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuMemcpyDtoH(values, words, 8));
    REQUIRE(values[0] == 3); /* none of them */
    DRIVER(cuMemFree(words));
}

/* Captured: the words change only when the graph is launched. */
static void captured()
{
    volatile unsigned *words;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaHostAlloc((void **)&words, 64, cudaHostAllocMapped));
    words[0] = words[1] = 0;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    DRIVER(cuStreamWriteValue32(stream, (CUdeviceptr)words, 9, 0));
    DRIVER(cuStreamWaitValue32(stream, (CUdeviceptr)words, 9, CU_STREAM_WAIT_VALUE_EQ));
    DRIVER(cuStreamWriteValue32(stream, (CUdeviceptr)(words + 1), 10, 0));
    CHECK(cudaStreamEndCapture(stream, &graph));
    REQUIRE(words[0] == 0);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(words[0] == 9 && words[1] == 10);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost((void *)words));
}

int main()
{
    CHECK(cudaFree(0));
    by_the_host();
    chain();
    with_kernels();
    batch();
    captured();
    return finish();
}
