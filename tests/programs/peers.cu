// Several devices in one process: kernels on each with memory of the others, peer access and its errors, copies between devices and
// their order, events across devices. With one device only what can be asked of one is.
#include "check.h"

__global__ void fill(unsigned *p, unsigned n, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        p[i] = value + i;
}

__global__ void add(unsigned *to, const unsigned *from, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        to[i] += from[i];
}

/* Long enough for the host to be ahead. */
__global__ void slow_fill(unsigned *p, unsigned n, unsigned value)
{
    long long start = clock64();
    while (clock64() - start < 20000000) {
    }
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = value;
}

__device__ unsigned own; /* each device has its own */

enum { N = 100000 };

static unsigned element(const unsigned *device, size_t i)
{
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, device + i, 4, cudaMemcpyDefault));
    return value;
}

static void access_rights()
{
    int can = -1, value = -1;
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
    CHECK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
    REQUIRE(can == value);
    if (!can)
        return;
    CHECK(cudaSetDevice(0));
    EXPECT(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    CHECK(cudaDeviceDisablePeerAccess(1));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaSetDevice(1));
    CHECK(cudaDeviceEnablePeerAccess(0, 0));
    cudaGetLastError();
}

static void two_devices()
{
    unsigned *memory[2], value = 0;
    cudaPointerAttributes about;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc((void **)&memory[i], N * 4));
        fill<<<8, 128>>>(memory[i], N, 1000 * (i + 1));
        value = 7 + i;
        CHECK(cudaMemcpyToSymbol(own, &value, 4));
        CHECK(cudaPointerGetAttributes(&about, memory[i]));
        REQUIRE(about.device == i);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaMemcpyFromSymbol(&value, own, 4));
        REQUIRE(value == 7u + i);
    }
    int can;
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (can) {
        CHECK(cudaSetDevice(0));
        add<<<8, 128>>>(memory[0], memory[1], N);
        CHECK(cudaDeviceSynchronize());
        REQUIRE(element(memory[0], 500) == 1500 + 2500);
    }
    /* A copy that is not asynchronous comes after both devices' work. */
    CHECK(cudaSetDevice(1));
    slow_fill<<<1, 128>>>(memory[1], N, 5);
    CHECK(cudaSetDevice(0));
    CHECK(cudaMemcpyPeer(memory[0], 0, memory[1], 1, N * 4));
    REQUIRE(element(memory[0], N - 1) == 5);
    EXPECT(cudaMemcpyPeer(memory[0], 0, memory[1], 99, 4), cudaErrorInvalidDevice);
    cudaGetLastError();
    /* An asynchronous one after an event of the other device. */
    cudaEvent_t event;
    cudaStream_t stream;
    CHECK(cudaSetDevice(1));
    CHECK(cudaEventCreate(&event));
    slow_fill<<<1, 128>>>(memory[1], N, 6);
    CHECK(cudaEventRecord(event));
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamWaitEvent(stream, event, 0));
    CHECK(cudaMemcpyPeerAsync(memory[0], 0, memory[1], 1, N * 4, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(element(memory[0], N / 2) == 6);
    EXPECT(cudaEventRecord(event, stream), cudaErrorInvalidResourceHandle);
    cudaGetLastError();
    cudaMemcpy3DPeerParms box = {};
    box.srcDevice = 1;
    box.srcPtr = make_cudaPitchedPtr(memory[1], 400, 400, 10);
    box.dstPtr = make_cudaPitchedPtr(memory[0], 800, 400, 10);
    box.extent = make_cudaExtent(400, 10, 1);
    CHECK(cudaMemset(memory[0], 0, N * 4));
    CHECK(cudaMemcpy3DPeer(&box));
    REQUIRE(element(memory[0], 200 * 9 + 99) == 6 && element(memory[0], 200 * 9 + 100) == 0);
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(event));
    for (int i = 0; i < 2; i++)
        CHECK(cudaFree(memory[i]));
}

/* A fault of one device leaves the others. */
static void all_devices(int count)
{
    unsigned *memory[64];
    for (int i = 0; i < count; i++) {
        CHECK(cudaSetDevice(i));
        CHECK(cudaMalloc((void **)&memory[i], N * 4));
        fill<<<4, 128>>>(memory[i], N, i);
    }
    for (int i = 0; i < count; i++) {
        int now = -1;
        CHECK(cudaSetDevice(i));
        CHECK(cudaGetDevice(&now));
        REQUIRE(now == i);
        REQUIRE(element(memory[i], 100) == 100u + i);
        CHECK(cudaFree(memory[i]));
    }
    EXPECT(cudaSetDevice(count), cudaErrorInvalidDevice);
    cudaGetLastError();
}

int main()
{
    int count = 0, list[2] = {1, 0};
    CHECK(cudaGetDeviceCount(&count));
    if (count > 1) {
        CHECK(cudaSetValidDevices(list, 2));
        access_rights();
        two_devices();
    }
    all_devices(count);
    CHECK(cudaSetDevice(0));
    return finish();
}
