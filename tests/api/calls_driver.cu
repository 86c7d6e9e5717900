// Right, wrong and odd uses of the driver API: one line for each call with the code that it answered, and values that are the same on
// every machine. What a real driver printed is in golden/. Nothing here passes handles that a real driver would follow blindly.
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *name_of(CUresult result)
{
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "?";
}
#define CALL(call) printf("%s: %s\n", #call, name_of(call))
#define VALUE(value) printf("  %s = %lld\n", #value, (long long)(value))
#define SECTION(text) printf("== %s\n", text)

static const char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                           ".visible .global .align 4 .u32 one = 1;\n.visible .global .align 8 .b8 many[24];\n"
                           ".visible .const .align 4 .u32 fixed = 7;\n"
                           ".visible .entry none()\n{\n ret;\n}\n"
                           ".visible .entry two(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n"
                           ".visible .entry at_most(.param .u64 p) .maxntid 64,1,1\n{\n ret;\n}\n"
                           ".visible .entry exactly(.param .u64 p) .reqntid 32,2,1\n{\n ret;\n}\n"
                           ".visible .entry shares()\n{\n .shared .align 4 .b8 s[1000];\n .reg .b32 %r1;\n mov.u32 %r1, s;\n"
                           " st.shared.u32 [s], %r1;\n ret;\n}\n";

static void before_init()
{
    int count = -1;
    CUdevice device;
    CUcontext context;
    CUdeviceptr p;
    int version;
    SECTION("before cuInit");
    CALL(cuDeviceGetCount(&count));
    CALL(cuDeviceGet(&device, 0));
    CALL(cuCtxGetCurrent(&context));
    CALL(cuMemAlloc(&p, 16));
    CALL(cuDriverGetVersion(&version));
    CALL(cuDriverGetVersion(NULL));
    CALL(cuInit(1));
    CALL(cuInit(0));
    CALL(cuInit(0));
}

static void devices()
{
    int value = -1;
    size_t bytes;
    char name[8];
    CUdevice device = -1;
    CUuuid uuid;
    SECTION("devices");
    CALL(cuDeviceGet(&device, 0));
    VALUE(device);
    CALL(cuDeviceGet(&device, -1));
    CALL(cuDeviceGet(&device, 99));
    CALL(cuDeviceGet(NULL, 0));
    CALL(cuDeviceGetCount(NULL));
    CALL(cuDeviceGetName(name, sizeof(name), 0));
    VALUE(strlen(name));
    CALL(cuDeviceGetName(NULL, 8, 0));
    CALL(cuDeviceGetName(name, 8, 99));
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 0));
    VALUE(value);
    CALL(cuDeviceGetAttribute(&value, (CUdevice_attribute)0, 0));
    CALL(cuDeviceGetAttribute(&value, (CUdevice_attribute)99999, 0));
    CALL(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 7));
    CALL(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    CALL(cuDeviceTotalMem(&bytes, 0));
    CALL(cuDeviceTotalMem(NULL, 0));
    CALL(cuDeviceTotalMem(&bytes, 7));
    CALL(cuDeviceGetUuid(&uuid, 0));
    CALL(cuDeviceGetUuid(&uuid, 7));
    CALL(cuDeviceCanAccessPeer(&value, 0, 0));
    VALUE(value);
    CALL(cuDeviceCanAccessPeer(&value, 0, 7));
}

static void contexts()
{
    CUcontext primary, again, made, found, popped;
    unsigned flags = 99, version = 0;
    int active = 9;
    size_t limit = 0;
    CUdevice device = 9;
    SECTION("contexts");
    CALL(cuCtxGetCurrent(&found));
    VALUE(found == NULL);
    CALL(cuCtxGetDevice(&device));
    CALL(cuCtxSynchronize());
    CALL(cuCtxPopCurrent(&popped));
    CALL(cuDevicePrimaryCtxGetState(0, &flags, &active));
    VALUE(flags);
    VALUE(active);
    CALL(cuDevicePrimaryCtxRelease(0));
    CALL(cuDevicePrimaryCtxSetFlags(0, 0x1000));
    CALL(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
    CALL(cuDevicePrimaryCtxRetain(&primary, 0));
    CALL(cuDevicePrimaryCtxRetain(&again, 0));
    VALUE(primary == again);
    CALL(cuDevicePrimaryCtxRetain(&again, 9));
    CALL(cuDevicePrimaryCtxRetain(NULL, 0));
    CALL(cuDevicePrimaryCtxGetState(0, &flags, &active));
    VALUE(flags);
    VALUE(active);
    CALL(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_AUTO));
    CALL(cuDevicePrimaryCtxRelease(0));
    CALL(cuCtxSetCurrent(primary));
    CALL(cuCtxGetCurrent(&found));
    VALUE(found == primary);
    CALL(cuCtxGetCurrent(NULL));
    CALL(cuCtxGetDevice(&device));
    VALUE(device);
    CALL(cuCtxGetDevice(NULL));
    CALL(cuCtxGetFlags(&flags));
    CALL(cuCtxGetApiVersion(primary, &version));
    CALL(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    VALUE(limit);
    CALL(cuCtxGetLimit(&limit, CU_LIMIT_PRINTF_FIFO_SIZE));
    CALL(cuCtxGetLimit(&limit, CU_LIMIT_MALLOC_HEAP_SIZE));
    VALUE(limit);
    CALL(cuCtxGetLimit(&limit, (CUlimit)77));
    CALL(cuCtxGetLimit(NULL, CU_LIMIT_STACK_SIZE));
    CALL(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    CALL(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    VALUE(limit);
    CALL(cuCtxSetLimit((CUlimit)77, 1));
    CALL(cuCtxPushCurrent(primary));
    CALL(cuCtxPopCurrent(&popped));
    VALUE(popped == primary);
    CALL(cuCtxCreate(&made, NULL, 0x8000, 0));
    CALL(cuCtxCreate(&made, NULL, 0, 9));
    CALL(cuCtxCreate(&made, NULL, 0, 0));
    CALL(cuCtxGetCurrent(&found));
    VALUE(found == made);
    CALL(cuCtxDestroy(made));
    CALL(cuCtxGetCurrent(&found));
    VALUE(found == primary);
    CALL(cuCtxSetCurrent(NULL));
    CALL(cuCtxSynchronize());
    CALL(cuCtxSetCurrent(primary));
    CALL(cuCtxDestroy(NULL));
    CALL(cuCtxSynchronize());
    int least, greatest;
    CALL(cuCtxGetStreamPriorityRange(&least, &greatest));
    VALUE(least);
    VALUE(greatest < least);
    CALL(cuCtxGetStreamPriorityRange(NULL, NULL));
}

static void memory()
{
    CUdeviceptr p = 0, q = 0, base;
    size_t size, pitch;
    void *host = NULL;
    unsigned flags;
    static char plain[64], other[64];
    alignas(4096) static char pages[8192];
    SECTION("memory");
    CALL(cuMemAlloc(&p, 0));
    CALL(cuMemAlloc(NULL, 16));
    CALL(cuMemAlloc(&p, (size_t)1 << 60));
    CALL(cuMemAlloc(&p, 100));
    VALUE(p % 256);
    CALL(cuMemGetAddressRange(&base, &size, p + 50));
    VALUE(base == p);
    VALUE(size);
    CALL(cuMemGetAddressRange(&base, &size, 16));
    CALL(cuMemGetAddressRange(NULL, NULL, p));
    CALL(cuMemFree(p + 4));
    CALL(cuMemFree(p));
    CALL(cuMemFree(p));
    CALL(cuMemFree(0));
    CALL(cuMemFree(12345));
    CALL(cuMemAllocPitch(&p, &pitch, 100, 10, 4));
    VALUE(pitch % 32);
    CALL(cuMemFree(p));
    CALL(cuMemAllocPitch(&p, &pitch, 100, 10, 3));
    CALL(cuMemAllocPitch(&p, &pitch, 0, 10, 4));
    CALL(cuMemAllocHost(&host, 0));
    CALL(cuMemAllocHost(&host, 100));
    CALL(cuMemFreeHost(host));
    CALL(cuMemFreeHost(host));
    CALL(cuMemFreeHost(NULL));
    CALL(cuMemFreeHost(plain));
    CALL(cuMemHostAlloc(&host, 100, 0x100));
    CALL(cuMemHostAlloc(&host, 100, CU_MEMHOSTALLOC_DEVICEMAP));
    CALL(cuMemHostGetFlags(&flags, host));
    VALUE(flags & CU_MEMHOSTALLOC_DEVICEMAP);
    CALL(cuMemHostGetFlags(&flags, plain));
    CALL(cuMemHostGetDevicePointer(&p, host, 0));
    CALL(cuMemHostGetDevicePointer(&p, host, 1));
    CALL(cuMemHostGetDevicePointer(&p, plain, 0));
    CALL(cuMemFree((CUdeviceptr)(uintptr_t)host));
    CALL(cuMemFreeHost(host));
    CALL(cuMemHostRegister(pages, 8192, 0));
    CALL(cuMemHostRegister(pages, 8192, 0));
    CALL(cuMemHostRegister(pages + 4096, 100, 0));
    CALL(cuMemHostUnregister(pages + 4096));
    CALL(cuMemHostUnregister(pages));
    CALL(cuMemHostUnregister(pages));
    CALL(cuMemHostRegister(NULL, 100, 0));
    CALL(cuMemHostRegister(pages, 0, 0));
    CALL(cuMemAllocManaged(&p, 100, 0));
    CALL(cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL));
    CALL(cuMemAllocManaged(&p, 100, CU_MEM_ATTACH_GLOBAL));
    CALL(cuMemFree(p));
    SECTION("copies");
    CALL(cuMemAlloc(&p, 64));
    CALL(cuMemAlloc(&q, 64));
    CALL(cuMemcpyHtoD(p, plain, 64));
    CALL(cuMemcpyHtoD(p, plain, 0));
    CALL(cuMemcpyHtoD(p, NULL, 16));
    CALL(cuMemcpyHtoD(0, plain, 16));
    CALL(cuMemcpyHtoD(16, plain, 16));
    CALL(cuMemcpyDtoH(other, p, 64));
    CALL(cuMemcpyDtoH(NULL, p, 64));
    CALL(cuMemcpyDtoH(other, 0, 64));
    CALL(cuMemcpyDtoD(q, p, 64));
    CALL(cuMemcpyDtoD(q, 0, 64));
    CALL(cuMemcpy(q, (CUdeviceptr)(uintptr_t)plain, 64));
    CALL(cuMemcpy((CUdeviceptr)(uintptr_t)other, q, 64));
    CALL(cuMemcpyDtoD(q, p, 100000000));
    CALL(cuMemsetD8(p, 7, 64));
    CALL(cuMemsetD8(p, 7, 0));
    CALL(cuMemsetD8(0, 7, 4));
    CALL(cuMemsetD16(p + 1, 7, 4));
    CALL(cuMemsetD32(p, 0x01020304, 16));
    CALL(cuMemsetD32(p + 2, 7, 4));
    CALL(cuMemsetD2D8(p, 16, 1, 8, 4));
    CALL(cuMemsetD2D8(p, 4, 1, 8, 4));
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = plain;
    copy.srcPitch = 16;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = p;
    copy.dstPitch = 16;
    copy.WidthInBytes = 8;
    copy.Height = 4;
    CALL(cuMemcpy2D(&copy));
    copy.WidthInBytes = 20;
    CALL(cuMemcpy2D(&copy));
    copy.WidthInBytes = 0;
    CALL(cuMemcpy2D(&copy));
    copy.WidthInBytes = 8;
    copy.srcMemoryType = (CUmemorytype)9;
    CALL(cuMemcpy2D(&copy));
    CALL(cuMemcpy2D(NULL));
    SECTION("pointers");
    unsigned type = 0;
    int ordinal = -1;
    CALL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    VALUE(type);
    CALL(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p + 8));
    VALUE(ordinal);
    CALL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)plain));
    CALL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0));
    CALL(cuPointerGetAttribute(&type, (CUpointer_attribute)99, p));
    CALL(cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    CALL(cuMemFree(p));
    CALL(cuMemFree(q));
    CALL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
}

static void called(void *data)
{
    ++*(int *)data;
}

static void streams()
{
    CUstream stream, other;
    CUevent event, second;
    unsigned flags = 9;
    int priority = 9, count = 0;
    float ms = -1;
    SECTION("streams");
    CALL(cuStreamCreate(&stream, 99));
    CALL(cuStreamCreate(NULL, 0));
    CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(cuStreamGetFlags(stream, &flags));
    VALUE(flags);
    CALL(cuStreamGetPriority(stream, &priority));
    VALUE(priority);
    CALL(cuStreamGetFlags(NULL, &flags));
    VALUE(flags);
    CALL(cuStreamQuery(stream));
    CALL(cuStreamQuery(NULL));
    CALL(cuStreamQuery(CU_STREAM_LEGACY));
    CALL(cuStreamQuery(CU_STREAM_PER_THREAD));
    CALL(cuStreamSynchronize(stream));
    CALL(cuStreamSynchronize(NULL));
    CALL(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, -100));
    CALL(cuStreamGetPriority(other, &priority));
    CALL(cuStreamDestroy(other));
    CALL(cuStreamCreateWithPriority(&other, CU_STREAM_DEFAULT, 100));
    CALL(cuStreamGetPriority(other, &priority));
    VALUE(priority);
    CALL(cuLaunchHostFunc(stream, called, &count));
    CALL(cuLaunchHostFunc(stream, NULL, &count));
    CALL(cuStreamSynchronize(stream));
    VALUE(count);
    CALL(cuStreamDestroy(NULL));
    CALL(cuStreamDestroy(CU_STREAM_LEGACY));
    SECTION("events");
    CALL(cuEventCreate(&event, 0x40));
    CALL(cuEventCreate(NULL, 0));
    CALL(cuEventCreate(&event, CU_EVENT_DEFAULT));
    CALL(cuEventCreate(&second, CU_EVENT_DISABLE_TIMING));
    CALL(cuEventQuery(event));
    CALL(cuEventSynchronize(event));
    CALL(cuEventElapsedTime(&ms, event, event));
    CALL(cuEventRecord(event, stream));
    CALL(cuEventSynchronize(event));
    CALL(cuEventQuery(event));
    CALL(cuEventElapsedTime(&ms, event, event));
    VALUE(ms == 0);
    CALL(cuEventRecord(second, stream));
    CALL(cuEventElapsedTime(&ms, event, second));
    CALL(cuEventElapsedTime(NULL, event, event));
    CALL(cuStreamWaitEvent(other, event, 0));
    CALL(cuStreamWaitEvent(other, event, 0x100));
    CALL(cuStreamWaitEvent(NULL, second, 0));
    CALL(cuEventRecord(event, NULL));
    CALL(cuEventDestroy(event));
    CALL(cuEventDestroy(second));
    CALL(cuStreamDestroy(stream));
    CALL(cuStreamDestroy(other));
}

static void modules()
{
    CUmodule module, bad;
    CUfunction function;
    CUdeviceptr p;
    size_t size;
    int value = -1;
    static const char version[] = ".version 99.0\n.target sm_52\n.address_size 64\n";
    static const char target[] = ".version 7.0\n.target sm_999\n.address_size 64\n";
    static const char syntax[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k()\n{\n frob.u32 %r1;\n}\n";
    static const char undeclared[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry k()\n{\n mov.u32 %r1, 0;\n ret;\n}\n";
    static const char old[] = ".version 7.0\n.target sm_20\n.address_size 64\n";
    SECTION("modules");
    CALL(cuModuleLoadData(&bad, "garbage"));
    CALL(cuModuleLoadData(&bad, ""));
    CALL(cuModuleLoadData(&bad, version));
    CALL(cuModuleLoadData(&bad, target));
    CALL(cuModuleLoadData(&bad, syntax));
    CALL(cuModuleLoadData(&bad, undeclared));
    CALL(cuModuleLoadData(&bad, old));
    CALL(cuModuleLoadData(&bad, NULL));
    CALL(cuModuleLoad(&bad, "/nonexistent/file.ptx"));
    CALL(cuModuleLoadData(&module, text));
    CALL(cuModuleGetFunction(&function, module, "absent"));
    CALL(cuModuleGetFunction(&function, module, ""));
    CALL(cuModuleGetFunction(NULL, module, "none"));
    CALL(cuModuleGetGlobal(&p, &size, module, "one"));
    VALUE(size);
    CALL(cuModuleGetGlobal(&p, &size, module, "many"));
    VALUE(size);
    CALL(cuModuleGetGlobal(&p, NULL, module, "fixed"));
    CALL(cuModuleGetGlobal(NULL, &size, module, "fixed"));
    VALUE(size);
    CALL(cuModuleGetGlobal(&p, &size, module, "none"));
    CALL(cuModuleGetGlobal(&p, &size, module, "absent"));
    SECTION("functions");
    CALL(cuModuleGetFunction(&function, module, "at_most"));
    CALL(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    VALUE(value);
    CALL(cuModuleGetFunction(&function, module, "exactly"));
    CALL(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
    VALUE(value);
    CALL(cuModuleGetFunction(&function, module, "shares"));
    CALL(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function));
    VALUE(value);
    CALL(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    VALUE(value);
    CALL(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    VALUE(value);
    CALL(cuFuncGetAttribute(&value, (CUfunction_attribute)99, function));
    CALL(cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_PTX_VERSION, function));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 10000000));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_NUM_REGS, 1));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
    CALL(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 200));
    size_t offset;
    CALL(cuModuleGetFunction(&function, module, "two"));
    CALL(cuFuncGetParamInfo(function, 1, &offset, &size));
    VALUE(offset);
    VALUE(size);
    CALL(cuFuncGetParamInfo(function, 2, &offset, &size));
    int blocks = -1;
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 1024, 0));
    VALUE(blocks);
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 2000, 0));
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 0, 0));
    CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, function, 32, 0));
    SECTION("launches");
    CUfunction none, at_most, exactly;
    static char buffer[64];
    void *pointer = NULL;
    unsigned n = 0;
    void *params[] = {&pointer, &n};
    cuModuleGetFunction(&none, module, "none");
    cuModuleGetFunction(&at_most, module, "at_most");
    cuModuleGetFunction(&exactly, module, "exactly");
    CALL(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1024, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 32, 33, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1, 1, 65, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1, 0, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 65535, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 65536, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 65536, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 49152, NULL, NULL, NULL));
    CALL(cuLaunchKernel(none, 1, 1, 1, 1, 1, 1, 49153, NULL, NULL, NULL));
    CALL(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    CALL(cuLaunchKernel(at_most, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(at_most, 1, 1, 1, 65, 1, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(at_most, 1, 1, 1, 8, 8, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(exactly, 1, 1, 1, 32, 2, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(exactly, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    CALL(cuLaunchKernel(exactly, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
    const size_t sizes[] = {0, 8, 12, 13, 16};
    for (size_t s : sizes) {
        void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &s, CU_LAUNCH_PARAM_END};
        VALUE(s);
        CALL(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    }
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    CALL(cuLaunchKernelEx(&config, none, NULL, NULL));
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    CALL(cuLaunchKernelEx(&config, none, NULL, NULL));
    config.gridDimX = 10000000;
    CALL(cuLaunchKernelEx(&config, none, NULL, NULL));
    config.gridDimX = 1;
    attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
    CALL(cuLaunchKernelEx(&config, none, NULL, NULL));
    CALL(cuLaunchKernelEx(NULL, none, NULL, NULL));
    CALL(cuLaunchCooperativeKernel(none, 1, 1, 1, 32, 1, 1, 0, NULL, NULL));
    CALL(cuCtxSynchronize());
    CALL(cuModuleUnload(module));
    SECTION("libraries");
    CUlibrary library;
    CUkernel kernel;
    const char *name;
    unsigned count = 0;
    CALL(cuLibraryLoadData(&library, "garbage", NULL, NULL, 0, NULL, NULL, 0));
    CALL(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    CALL(cuLibraryGetKernel(&kernel, library, "absent"));
    CALL(cuLibraryGetKernel(&kernel, library, "two"));
    CALL(cuLibraryGetKernelCount(&count, library));
    VALUE(count);
    CALL(cuKernelGetName(&name, kernel));
    printf("  %s\n", name);
    CALL(cuKernelGetFunction(&function, kernel));
    CALL(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CALL(cuLibraryGetGlobal(&p, &size, library, "many"));
    VALUE(size);
    CALL(cuLibraryGetGlobal(&p, &size, library, "absent"));
    CALL(cuLibraryGetManaged(&p, &size, library, "many"));
    CALL(cuLibraryUnload(library));
}

static void entry_points()
{
    void *function;
    CUdriverProcAddressQueryResult status;
    SECTION("entry points");
#define PROC(name, version, flags)                                                                                                 \
    do {                                                                                                                           \
        status = (CUdriverProcAddressQueryResult)9;                                                                                \
        function = NULL;                                                                                                           \
        CALL(cuGetProcAddress(name, &function, version, flags, &status));                                                          \
        VALUE(status);                                                                                                             \
        VALUE(function != NULL);                                                                                                   \
    } while (0)
    PROC("cuMemAlloc", 3020, 0);
    PROC("cuMemAlloc", 2000, 0);
    PROC("cuMemAlloc", 13000, 0);
    PROC("cuMemAlloc_v2", 13000, 0);
    PROC("cuLibraryLoadData", 11000, 0);
    PROC("cuLibraryLoadData", 12000, 0);
    PROC("cuMemcpyAsync", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
    PROC("cuMemcpyAsync", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
    PROC("cuMemcpyAsync", 12000, 99);
    PROC("cuNothing", 12000, 0);
    PROC("", 12000, 0);
    PROC("cuInit", 99000, 0);
    PROC("cuInit", 0, 0);
}

static void errors()
{
    SECTION("errors");
    for (int i = 0; i <= 1000; i++) {
        const char *name = NULL, *string = NULL;
        CUresult a = cuGetErrorName((CUresult)i, &name), b = cuGetErrorString((CUresult)i, &string);
        if (a == CUDA_SUCCESS || b == CUDA_SUCCESS)
            printf("%d %s: %s\n", i, name, string);
    }
    const char *name = "";
    VALUE(cuGetErrorName((CUresult)12345, &name));
    VALUE(name == NULL);
}

static void pools()
{
    CUmemoryPool pool, made;
    CUdeviceptr p;
    CUmemPoolProps props = {};
    cuuint64_t value = 9;
    int number = 9;
    SECTION("pools");
    CALL(cuDeviceGetDefaultMemPool(&pool, 0));
    CALL(cuDeviceGetDefaultMemPool(&pool, 9));
    CALL(cuMemAllocAsync(&p, 100, NULL));
    CALL(cuMemFreeAsync(p, NULL));
    CALL(cuStreamSynchronize(NULL));
    CALL(cuMemAllocAsync(&p, 0, NULL));
    CALL(cuMemFreeAsync(0, NULL));
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &value));
    VALUE(value);
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &number));
    VALUE(number);
    CALL(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &value));
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CALL(cuMemPoolCreate(&made, &props));
    CALL(cuMemAllocFromPoolAsync(&p, 1000, made, NULL));
    CALL(cuMemFree(p));
    CALL(cuMemPoolTrimTo(made, 0));
    CALL(cuMemPoolDestroy(made));
    CALL(cuMemPoolDestroy(pool));
    props.location.id = 9;
    CALL(cuMemPoolCreate(&made, &props));
}

int main()
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    before_init();
    devices();
    contexts();
    memory();
    streams();
    modules();
    pools();
    entry_points();
    errors();
    return 0;
}
