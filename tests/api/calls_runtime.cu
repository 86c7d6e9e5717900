// Right, wrong and odd uses of the runtime API: one line for each call with the code that it answered, and values that are the same on
// every machine. What a real GPU's runtime 13.0 printed is in golden/.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CALL(call) printf("%s: %s\n", #call, cudaGetErrorName(call))
#define VALUE(value) printf("  %s = %lld\n", #value, (long long)(value))
#define SECTION(text) printf("== %s\n", text)
#define LAST() printf("  last error: %s\n", cudaGetErrorName(cudaGetLastError()))

__device__ int variable = 5;
__constant__ double constants[4];
__global__ void none() {}
__global__ void two(int *p, int n)
{
    if (p)
        p[threadIdx.x] = n;
}
__global__ void __launch_bounds__(64) bounded() {}
__global__ void shares(int *out)
{
    __shared__ int s[300];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    *out = s[blockDim.x - 1 - threadIdx.x];
}

static void devices()
{
    int count = -1, device = -1, value = -1;
    cudaDeviceProp prop;
    SECTION("devices");
    CALL(cudaGetDeviceCount(&count));
    VALUE(count >= 1);
    CALL(cudaGetDeviceCount(NULL));
    CALL(cudaGetDevice(&device));
    VALUE(device);
    CALL(cudaGetDevice(NULL));
    CALL(cudaSetDevice(-1));
    LAST();
    CALL(cudaSetDevice(99));
    CALL(cudaPeekAtLastError());
    LAST();
    LAST();
    CALL(cudaSetDevice(0));
    CALL(cudaGetDeviceProperties(&prop, 0));
    VALUE(prop.warpSize);
    VALUE(prop.major);
    VALUE(prop.maxThreadsPerBlock);
    VALUE(prop.maxThreadsDim[2]);
    VALUE(prop.maxGridSize[0]);
    VALUE(prop.maxGridSize[1]);
    VALUE(prop.sharedMemPerBlock);
    VALUE(prop.regsPerBlock);
    VALUE(prop.totalConstMem);
    VALUE(prop.unifiedAddressing);
    VALUE(prop.managedMemory);
    VALUE(prop.cooperativeLaunch);
    CALL(cudaGetDeviceProperties(&prop, 99));
    LAST();
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    VALUE(value);
    CALL(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)99999, 0));
    CALL(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
    CALL(cudaRuntimeGetVersion(&value));
    VALUE(value);
    CALL(cudaRuntimeGetVersion(NULL));
    CALL(cudaDriverGetVersion(NULL));
    CALL(cudaDeviceCanAccessPeer(&value, 0, 0));
    CALL(cudaDeviceEnablePeerAccess(0, 0));
    CALL(cudaSetDeviceFlags(0x4000));
    CALL(cudaSetDeviceFlags(cudaDeviceScheduleYield));
    unsigned flags = 0;
    CALL(cudaGetDeviceFlags(&flags));
    VALUE(flags);
    size_t limit;
    CALL(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
    VALUE(limit);
    CALL(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
    VALUE(limit);
    CALL(cudaDeviceGetLimit(&limit, (cudaLimit)77));
    CALL(cudaDeviceSetLimit((cudaLimit)77, 1));
    CALL(cudaGetLastError());
    CALL(cudaDeviceSynchronize());
}

static void memory()
{
    int *p = NULL, *q = NULL, *host = NULL, plain[16] = {}, back[16];
    size_t pitch, free_bytes, total;
    SECTION("memory");
    CALL(cudaMalloc((void **)&p, 0));
    VALUE(p == NULL);
    CALL(cudaMalloc((void **)NULL, 4));
    CALL(cudaMalloc((void **)&p, (size_t)1 << 60));
    VALUE(p == NULL);
    LAST();
    CALL(cudaMalloc((void **)&p, 64));
    CALL(cudaMalloc((void **)&q, 64));
    CALL(cudaFree((char *)p + 4));
    CALL(cudaFree((void *)(uintptr_t)0x12345670));
    CALL(cudaFree(NULL));
    LAST();
    CALL(cudaMallocPitch((void **)&host, &pitch, 0, 5));
    CALL(cudaMallocPitch((void **)&host, NULL, 8, 5));
    CALL(cudaMallocHost((void **)&host, 0));
    CALL(cudaMallocHost((void **)&host, 64));
    CALL(cudaFree(host));
    CALL(cudaFreeHost(plain));
    CALL(cudaFreeHost(NULL));
    CALL(cudaHostAlloc((void **)&host, 64, 0x100));
    CALL(cudaMallocManaged((void **)&host, 0));
    CALL(cudaMallocManaged((void **)&host, 64, 9));
    CALL(cudaMemGetInfo(&free_bytes, &total));
    VALUE(free_bytes <= total);
    SECTION("copies");
    CALL(cudaMemcpy(p, plain, 64, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p, plain, 0, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(NULL, plain, 0, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(NULL, plain, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p, NULL, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p, plain, 64, (cudaMemcpyKind)7));
    CALL(cudaMemcpy(p, plain, 64, (cudaMemcpyKind)-1));
    CALL(cudaMemcpy(q, p, 64, cudaMemcpyDeviceToDevice));
    CALL(cudaMemcpy(back, q, 64, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(back, q, 64, cudaMemcpyDefault));
    CALL(cudaMemcpy(back, plain, 64, cudaMemcpyDefault));
    CALL(cudaMemcpy(back, plain, 64, cudaMemcpyHostToHost));
    CALL(cudaMemcpy(plain, back, 64, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(back, plain, 64, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(q, p, 64, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(p, 16, plain, 16, 8, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(p, 4, plain, 16, 8, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(p, 16, plain, 4, 8, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(p, 16, plain, 16, 0, 4, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(p, 16, plain, 16, 8, 4, (cudaMemcpyKind)9));
    CALL(cudaMemcpyAsync(p, plain, 64, cudaMemcpyHostToDevice, 0));
    CALL(cudaMemset(p, 1, 64));
    CALL(cudaMemset(NULL, 1, 64));
    CALL(cudaMemset(p, 1, 0));
    CALL(cudaMemset2D(p, 16, 1, 8, 4));
    CALL(cudaMemset2D(p, 4, 1, 8, 4));
    CALL(cudaMemcpy3D(NULL));
    cudaMemcpy3DParms copy = {};
    CALL(cudaMemcpy3D(&copy));
    LAST();
    SECTION("symbols");
    void *address;
    size_t size = 0;
    int value = 0;
    CALL(cudaGetSymbolSize(&size, variable));
    VALUE(size);
    CALL(cudaGetSymbolSize(&size, constants));
    VALUE(size);
    CALL(cudaGetSymbolAddress(&address, variable));
    CALL(cudaGetSymbolAddress(&address, (const void *)plain));
    CALL(cudaMemcpyFromSymbol(&value, variable, 4));
    VALUE(value);
    CALL(cudaMemcpyFromSymbol(&value, variable, 4, 4));
    CALL(cudaMemcpyToSymbol(variable, plain, 8));
    CALL(cudaMemcpyToSymbol(constants, plain, 8, 24));
    CALL(cudaMemcpyToSymbol(constants, plain, 8, 25));
    CALL(cudaMemcpyToSymbol(variable, plain, 4, 0, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpyFromSymbol(&value, variable, 4, 0, cudaMemcpyHostToDevice));
    LAST();
    SECTION("pointers");
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, p));
    VALUE(attributes.type);
    VALUE(attributes.device);
    VALUE(attributes.devicePointer == p);
    VALUE(attributes.hostPointer == NULL);
    CALL(cudaPointerGetAttributes(&attributes, plain));
    VALUE(attributes.type);
    VALUE(attributes.device);
    VALUE(attributes.devicePointer == NULL);
    VALUE(attributes.hostPointer == plain);
    CALL(cudaPointerGetAttributes(&attributes, NULL));
    VALUE(attributes.type);
    CALL(cudaPointerGetAttributes(NULL, p));
    CALL(cudaFree(p));
    CALL(cudaFree(p));
    CALL(cudaFree(q));
    LAST();
}

static void streams()
{
    cudaStream_t stream;
    cudaEvent_t event, second;
    unsigned flags = 9;
    int priority = 9, least, greatest;
    float ms;
    SECTION("streams and events");
    CALL(cudaStreamCreate(NULL));
    CALL(cudaStreamCreateWithFlags(&stream, 99));
    CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CALL(cudaStreamGetFlags(stream, &flags));
    VALUE(flags);
    CALL(cudaStreamGetPriority(stream, &priority));
    VALUE(priority);
    CALL(cudaStreamQuery(stream));
    CALL(cudaStreamQuery(0));
    CALL(cudaStreamQuery(cudaStreamLegacy));
    CALL(cudaStreamQuery(cudaStreamPerThread));
    CALL(cudaStreamSynchronize(stream));
    CALL(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    VALUE(least);
    CALL(cudaStreamDestroy(0));
    CALL(cudaLaunchHostFunc(stream, NULL, NULL));
    CALL(cudaEventCreate(NULL));
    CALL(cudaEventCreateWithFlags(&event, 0x80));
    CALL(cudaEventCreate(&event));
    CALL(cudaEventCreateWithFlags(&second, cudaEventDisableTiming));
    CALL(cudaEventQuery(event));
    CALL(cudaEventSynchronize(event));
    CALL(cudaEventElapsedTime(&ms, event, event));
    CALL(cudaEventRecord(event, stream));
    CALL(cudaEventRecord(second, 0));
    CALL(cudaEventSynchronize(event));
    CALL(cudaEventElapsedTime(&ms, event, event));
    CALL(cudaEventElapsedTime(&ms, event, second));
    CALL(cudaStreamWaitEvent(stream, event, 0));
    CALL(cudaStreamWaitEvent(stream, event, 0x100));
    CALL(cudaEventDestroy(event));
    CALL(cudaEventDestroy(second));
    CALL(cudaStreamDestroy(stream));
    LAST();
}

static void launch(const char *what, dim3 grid, dim3 block, size_t shared)
{
    none<<<grid, block, shared>>>();
    printf("%s: %s\n", what, cudaGetErrorName(cudaGetLastError()));
}

static void kernels()
{
    cudaFuncAttributes attributes;
    int blocks = -1, *p = NULL, n = 3;
    void *args[] = {&p, &n};
    SECTION("kernels");
    launch("one thread", 1, 1, 0);
    launch("1024 threads", 1, 1024, 0);
    launch("1025 threads", 1, 1025, 0);
    launch("32 x 33 threads", 1, dim3(32, 33), 0);
    launch("65 in z", 1, dim3(1, 1, 65), 0);
    launch("no block", 0, 1, 0);
    launch("no thread", 1, 0, 0);
    launch("65535 in y", dim3(1, 65535), 1, 0);
    launch("65536 in y", dim3(1, 65536), 1, 0);
    launch("65536 in z", dim3(1, 1, 65536), 1, 0);
    launch("48 KiB shared", 1, 1, 49152);
    launch("48 KiB and one", 1, 1, 49153);
    bounded<<<1, 65>>>();
    LAST();
    CALL(cudaLaunchKernel((const void *)two, 1, 32, args, 0, 0));
    CALL(cudaLaunchKernel((const void *)two, 1, 2048, args, 0, 0));
    CALL(cudaLaunchKernel(NULL, 1, 32, args, 0, 0));
    LAST();
    CALL(cudaFuncGetAttributes(&attributes, (const void *)shares));
    VALUE(attributes.sharedSizeBytes);
    VALUE(attributes.maxThreadsPerBlock);
    CALL(cudaFuncGetAttributes(&attributes, (const void *)bounded));
    VALUE(attributes.maxThreadsPerBlock);
    CALL(cudaFuncGetAttributes(NULL, (const void *)shares));
    CALL(cudaFuncSetAttribute((const void *)none, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
    launch("100,000 shared", 1, 1, 100000);
    CALL(cudaFuncSetAttribute((const void *)none, cudaFuncAttributeMaxDynamicSharedMemorySize, 10000000));
    CALL(cudaFuncSetAttribute((const void *)none, (cudaFuncAttribute)99, 1));
    CALL(cudaFuncSetCacheConfig((const void *)none, cudaFuncCachePreferL1));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 1024, 0));
    VALUE(blocks);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 0, 0));
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, none, 4096, 0));
    CALL(cudaLaunchCooperativeKernel((const void *)none, 1, 32, NULL, 0, 0));
    CALL(cudaLaunchCooperativeKernel((const void *)none, 10000000, 32, NULL, 0, 0));
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = dim3(1);
    CALL(cudaLaunchKernelExC(&config, (const void *)none, NULL));
    config.blockDim = dim3(2000);
    CALL(cudaLaunchKernelExC(&config, (const void *)none, NULL));
    LAST();
    CALL(cudaDeviceSynchronize());
}

static void errors()
{
    SECTION("errors");
    for (int i = 0; i <= 1000; i++)
        if (strcmp(cudaGetErrorName((cudaError_t)i), "unrecognized error code") != 0)
            printf("%d %s: %s\n", i, cudaGetErrorName((cudaError_t)i), cudaGetErrorString((cudaError_t)i));
    printf("%s, %s\n", cudaGetErrorName((cudaError_t)12345), cudaGetErrorString((cudaError_t)12345));
    cudaDriverEntryPointQueryResult status;
    void *function = NULL;
    CALL(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &status));
    VALUE(status);
    VALUE(function != NULL);
    CALL(cudaGetDriverEntryPointByVersion("cuNothing", &function, 12000, cudaEnableDefault, &status));
    VALUE(status);
    CALL(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 1000, cudaEnableDefault, &status));
    VALUE(status);
    CALL(cudaGetDriverEntryPointByVersion("", &function, 12000, cudaEnableDefault, &status));
}

int main()
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    devices();
    memory();
    streams();
    kernels();
    errors();
    return 0;
}
