// Streams and events: order in a stream, waits across streams, the legacy default stream's rule, queries, host functions.
#include "check.h"
#include <atomic>
#include <pthread.h>

__global__ void append(int *log, int *length, int value)
{
    log[atomicAdd(length, 1)] = value;
}
__global__ void step(int *data, int factor, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = data[i] * factor + add;
}
__global__ void slow(int *flag)
{
    long long start = clock64();
    for (int i = 0; i < 2000000 && clock64() - start < 200000000ll; i++)
        ;
    *flag = 1;
}

static std::atomic<int> host_calls;
static std::atomic<bool> on_the_waiting_thread;
static pthread_t main_thread;
static void host_function(void *data)
{
    if (pthread_equal(pthread_self(), main_thread))
        on_the_waiting_thread = true;
    host_calls += *(int *)data;
}

int main()
{
    const int count = 1024;
    int *data = managed<int>(count), *log = managed<int>(100), *length = managed<int>(1), *flag = managed<int>(2);
    cudaStream_t a, b, free_stream;
    cudaEvent_t event, other;
    CHECK(cudaStreamCreate(&a));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamDefault));
    CHECK(cudaStreamCreateWithFlags(&free_stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventCreateWithFlags(&other, cudaEventDisableTiming));
    for (int i = 1; i <= 20; i++)
        step<<<4, 256, 0, a>>>(data, 3, i);
    CHECK(cudaEventRecord(event, a));
    CHECK(cudaStreamWaitEvent(b, event, 0));
    step<<<4, 256, 0, b>>>(data, 5, 7);
    CHECK(cudaStreamSynchronize(b));
    int want = 0;
    for (int i = 1; i <= 20; i++)
        want = (int)((unsigned)want * 3u + i);
    want = (int)((unsigned)want * 5u + 7);
    for (int i = 0; i < count; i++)
        REQUIRE(data[i] == want);
    CHECK(cudaEventQuery(event));
    CHECK(cudaStreamQuery(a));

    // The legacy default stream waits for the blocking ones, and they for it.
    slow<<<1, 1, 0, a>>>(flag);
    append<<<1, 1, 0, a>>>(log, length, 1);
    append<<<1, 1>>>(log, length, 2);
    append<<<1, 1, 0, b>>>(log, length, 3);
    append<<<1, 1>>>(log, length, 4);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 4; i++)
        REQUIRE(log[i] == i + 1);

    int one = 1, ten = 10;
    main_thread = pthread_self();
    CHECK(cudaLaunchHostFunc(a, host_function, &one));
    CHECK(cudaLaunchHostFunc(free_stream, host_function, &ten));
    CHECK(cudaEventRecord(other, free_stream));
    CHECK(cudaEventSynchronize(other));
    CHECK(cudaStreamSynchronize(a));
    REQUIRE(host_calls == 11 && !on_the_waiting_thread);

    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start, a));
    slow<<<1, 1, 0, a>>>(flag + 1);
    CHECK(cudaEventRecord(stop, a));
    CHECK(cudaEventSynchronize(stop));
    REQUIRE(flag[1] == 1);
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, start, stop));
    REQUIRE(ms > 0);
    int least, greatest;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    REQUIRE(greatest <= least);
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(free_stream));
    return finish();
}
