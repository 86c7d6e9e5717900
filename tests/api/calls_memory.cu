// Right, wrong and odd uses of memory of the driver API: virtual memory, sharing between processes, pools, stream memory
// operations, batches, and the smaller groups beside them. One line for each call with the code that it answered. Each section has
// a process of its own, since some of them end a context. What a real driver printed is in golden/.
#include <cuda.h>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *name_of(CUresult result)
{
    const char *name = NULL;
    return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "?";
}
static const char *name_of(cudaError_t error)
{
    return cudaGetErrorName(error);
}
#define CALL(call) (printf("%s: %s\n", #call, name_of(call)), fflush(stdout))
#define VALUE(value) (printf("  %s = %lld\n", #value, (long long)(value)), fflush(stdout))

enum { MiB = 1 << 20 };

static CUcontext start()
{
    CUcontext context = NULL;
    cuInit(0);
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    return context;
}

static CUmemAllocationProp device_memory(CUmemAllocationHandleType handles)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = handles;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 0;
    return prop;
}

static CUmemAccessDesc access_of(CUmemAccess_flags flags)
{
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = 0;
    access.flags = flags;
    return access;
}

static void granularity()
{
    CUmemAllocationProp prop = device_memory(CU_MEM_HANDLE_TYPE_NONE);
    size_t size = 0;
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    VALUE(size);
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    VALUE(size);
    CALL(cuMemGetAllocationGranularity(NULL, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CALL(cuMemGetAllocationGranularity(&size, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CALL(cuMemGetAllocationGranularity(&size, &prop, (CUmemAllocationGranularity_flags)7));
    prop.location.id = 9;
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    prop.location.id = 0;
    prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    prop = device_memory(CU_MEM_HANDLE_TYPE_NONE);
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    prop = device_memory(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    VALUE(size);
    prop = device_memory(CU_MEM_HANDLE_TYPE_WIN32);
    CALL(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

static void reserving()
{
    CUdeviceptr p = 0, q = 0, r = 0;
    unsigned type = 99;
    CALL(cuMemAddressReserve(&p, 4 * MiB, 0, 0, 0));
    VALUE(p % (2 * MiB));
    CALL(cuMemAddressReserve(NULL, 4 * MiB, 0, 0, 0));
    CALL(cuMemAddressReserve(&q, 0, 0, 0, 0));
    CALL(cuMemAddressReserve(&q, 4096, 0, 0, 0));
    CALL(cuMemAddressReserve(&q, 3 * MiB, 0, 0, 0));
    CALL(cuMemAddressReserve(&q, 4 * MiB, 3, 0, 0));
    CALL(cuMemAddressReserve(&q, 4 * MiB, 4096, 0, 0));
    CALL(cuMemAddressFree(q, 4 * MiB));
    CALL(cuMemAddressReserve(&q, 4 * MiB, 64 * MiB, 0, 0));
    VALUE(q % (64 * MiB));
    CALL(cuMemAddressReserve(&r, 4 * MiB, 0, 0, 1));
    CALL(cuMemAddressReserve(&r, 4 * MiB, 0, p, 0));
    VALUE(r == p);
    CALL(cuMemAddressReserve(&r, (size_t)1 << 60, 0, 0, 0));
    CALL(cuMemAddressFree(q, 2 * MiB));
    CALL(cuMemAddressFree(q + 2 * MiB, 2 * MiB));
    CALL(cuMemAddressFree(q, 8 * MiB));
    CALL(cuMemAddressFree(q, 4 * MiB));
    CALL(cuMemAddressFree(q, 4 * MiB));
    CALL(cuMemAddressFree(0, 4 * MiB));
    CALL(cuMemAddressFree(0x1000, 4 * MiB));
    CALL(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    bool mapped = true;
    CALL(cuPointerGetAttribute(&mapped, CU_POINTER_ATTRIBUTE_MAPPED, p));
    VALUE(mapped);
    CUdeviceptr base = 0;
    size_t size = 0;
    CALL(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 3 * MiB));
    VALUE(base == p);
    CALL(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p));
    VALUE(size);
    CALL(cuMemGetAddressRange(&base, &size, p + MiB));
    CALL(cuMemFree(p));
    CALL(cuMemsetD8(p, 1, 16));
    CALL(cuMemAddressFree(p, 4 * MiB));
}

static void creating()
{
    CUmemAllocationProp prop = device_memory(CU_MEM_HANDLE_TYPE_NONE), got = {};
    CUmemGenericAllocationHandle handle = 0, other = 0;
    CALL(cuMemCreate(&handle, 2 * MiB, &prop, 0));
    CALL(cuMemCreate(NULL, 2 * MiB, &prop, 0));
    CALL(cuMemCreate(&other, 2 * MiB, NULL, 0));
    CALL(cuMemCreate(&other, 0, &prop, 0));
    CALL(cuMemCreate(&other, MiB, &prop, 0));
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 1));
    CALL(cuMemCreate(&other, (size_t)1 << 50, &prop, 0));
    prop.location.id = 9;
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 0));
    prop = device_memory(CU_MEM_HANDLE_TYPE_WIN32);
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 0));
    prop = device_memory((CUmemAllocationHandleType)64);
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 0));
    prop = device_memory(CU_MEM_HANDLE_TYPE_NONE);
    prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 0));
    prop = device_memory(CU_MEM_HANDLE_TYPE_NONE);
    prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    CALL(cuMemCreate(&other, 2 * MiB, &prop, 0));
    CALL(cuMemGetAllocationPropertiesFromHandle(&got, handle));
    VALUE(got.type);
    VALUE(got.location.type);
    VALUE(got.location.id);
    VALUE(got.requestedHandleTypes);
    CALL(cuMemGetAllocationPropertiesFromHandle(NULL, handle));
    CALL(cuMemGetAllocationPropertiesFromHandle(&got, 0));
    int fd = -1;
    CALL(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemRelease(handle));
    CALL(cuMemRelease(0));
}

static void mapping()
{
    CUmemAllocationProp prop = device_memory(CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle a = 0, b = 0, kept = 0;
    CUmemAccessDesc access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemLocation here = access.location;
    unsigned long long flags = 99;
    CUdeviceptr p = 0, q = 0, base = 0;
    size_t size = 0;
    unsigned char bytes[4] = {};
    CALL(cuMemCreate(&a, 4 * MiB, &prop, 0));
    CALL(cuMemCreate(&b, 2 * MiB, &prop, 0));
    CALL(cuMemAddressReserve(&p, 8 * MiB, 0, 0, 0));
    CALL(cuMemAddressReserve(&q, 8 * MiB, 0, 0, 0));
    CALL(cuMemMap(0, 4 * MiB, 0, a, 0));
    CALL(cuMemMap(p, 0, 0, a, 0));
    CALL(cuMemMap(p, 4 * MiB, 2 * MiB, a, 0));
    CALL(cuMemMap(p, 4 * MiB, 0, a, 1));
    CALL(cuMemMap(p, MiB, 0, a, 0));
    CALL(cuMemMap(p, 2 * MiB, 0, a, 0));
    CALL(cuMemMap(p + 4096, 4 * MiB, 0, a, 0));
    CALL(cuMemMap(p, 8 * MiB, 0, a, 0));
    CALL(cuMemUnmap(p, 8 * MiB));
    CALL(cuMemMap(p, 4 * MiB, 0, a, 0));
    CALL(cuMemMap(p, 4 * MiB, 0, a, 0));
    CALL(cuMemsetD8(p, 1, 16));
    CALL(cuMemGetAccess(&flags, &here, p));
    VALUE(flags);
    CALL(cuMemSetAccess(p, 4 * MiB, &access, 0));
    CALL(cuMemSetAccess(p, 4 * MiB, NULL, 1));
    CALL(cuMemSetAccess(p, 0, &access, 1));
    CALL(cuMemSetAccess(p, 8 * MiB, &access, 1));
    CALL(cuMemSetAccess(p, 2 * MiB, &access, 1));
    CALL(cuMemSetAccess(p, 4 * MiB, &access, 1));
    access.flags = (CUmemAccess_flags)2;
    CALL(cuMemSetAccess(p, 4 * MiB, &access, 1));
    access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.location.id = 9;
    CALL(cuMemSetAccess(p, 4 * MiB, &access, 1));
    access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CALL(cuMemGetAccess(&flags, &here, p));
    VALUE(flags);
    CALL(cuMemGetAccess(NULL, &here, p));
    CALL(cuMemGetAccess(&flags, NULL, p));
    CALL(cuMemGetAccess(&flags, &here, p + 4 * MiB));
    CALL(cuMemMap(p + 4 * MiB, 2 * MiB, 0, b, 0));
    CALL(cuMemSetAccess(p + 4 * MiB, 2 * MiB, &access, 1));
    CALL(cuMemsetD8(p, 7, 6 * MiB));
    CALL(cuMemsetD8(p, 7, 6 * MiB + 1));
    CALL(cuMemMap(q, 4 * MiB, 0, a, 0));
    CALL(cuMemSetAccess(q, 4 * MiB, &access, 1));
    CALL(cuMemsetD8(p + 4 * MiB - 2, 9, 4));
    CALL(cuMemcpyDtoH(bytes, q + 4 * MiB - 4, 4));
    VALUE(bytes[1]);
    VALUE(bytes[3]);
    CALL(cuMemGetAddressRange(&base, &size, p + 3 * MiB));
    VALUE(base == p);
    VALUE(size);
    CALL(cuMemGetAddressRange(&base, &size, p + 5 * MiB));
    VALUE(base - p);
    VALUE(size);
    CALL(cuMemRetainAllocationHandle(&kept, (void *)(p + 3 * MiB)));
    VALUE(kept == a);
    CALL(cuMemRelease(kept));
    CALL(cuMemRetainAllocationHandle(&kept, (void *)(p + 7 * MiB)));
    CALL(cuMemRetainAllocationHandle(&kept, NULL));
    CALL(cuMemRetainAllocationHandle(NULL, (void *)p));
    CALL(cuMemRelease(a));
    CALL(cuMemcpyDtoH(bytes, q, 4));
    VALUE(bytes[0]);
    CALL(cuMemFree(p));
    CALL(cuMemAddressFree(p, 8 * MiB));
    CALL(cuMemUnmap(p + 2 * MiB, 2 * MiB));
    CALL(cuMemUnmap(p, 2 * MiB));
    CALL(cuMemUnmap(p, 0));
    CALL(cuMemUnmap(p, 6 * MiB));
    CALL(cuMemUnmap(p, 6 * MiB));
    CALL(cuMemUnmap(q, 4 * MiB));
    CALL(cuMemRelease(b));
    CALL(cuMemAddressFree(p, 8 * MiB));
    CALL(cuMemAddressFree(q, 8 * MiB));
}

static void mapped_attributes()
{
    CUmemAllocationProp prop = device_memory(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle a = 0;
    CUmemAccessDesc access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUdeviceptr p = 0, address = 0;
    unsigned value = 99;
    unsigned long long wide = 99;
    size_t size = 0;
    CUcontext context = (CUcontext)1;
    CUmemoryPool pool = (CUmemoryPool)1;
    bool is = false;
    int ordinal = -5;
    void *host = NULL;
    CALL(cuMemCreate(&a, 2 * MiB, &prop, 0));
    CALL(cuMemAddressReserve(&p, 4 * MiB, 0, 0, 0));
    CALL(cuMemMap(p + 2 * MiB, 2 * MiB, 0, a, 0));
    CALL(cuMemSetAccess(p + 2 * MiB, 2 * MiB, &access, 1));
    CALL(cuMemGetAccess(&wide, &access.location, p + 2 * MiB));
    VALUE(wide);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CALL(cuMemSetAccess(p + 2 * MiB, 2 * MiB, &access, 1));
    CUdeviceptr at = p + 3 * MiB;
    CALL(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, at));
    VALUE(context == NULL);
    CALL(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at));
    VALUE(value);
    CALL(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at));
    VALUE(address == at);
    CALL(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
    CALL(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_IS_MANAGED, at));
    VALUE(value);
    CALL(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at));
    VALUE(ordinal);
    CALL(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at));
    VALUE(is);
    CALL(cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at));
    VALUE(address - p);
    CALL(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, at));
    VALUE(size);
    CALL(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_MAPPED, at));
    VALUE(is);
    CALL(cuPointerGetAttribute(&wide, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, at));
    VALUE(wide);
    CALL(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at));
    VALUE(value);
    CALL(cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    VALUE(pool == NULL);
    CALL(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at));
    VALUE(size);
    CALL(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, at));
    VALUE((CUdeviceptr)host - p);
    CALL(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    VALUE(value);
    value = 1;
    CALL(cuPointerSetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    cudaPointerAttributes attributes;
    CALL(cudaPointerGetAttributes(&attributes, (void *)at));
    VALUE(attributes.type);
    VALUE(attributes.device);
    VALUE(attributes.devicePointer == (void *)at);
    VALUE(attributes.hostPointer == NULL);
    CALL(cudaPointerGetAttributes(&attributes, (void *)p));
    VALUE(attributes.type);
    CALL(cuMemUnmap(p + 2 * MiB, 2 * MiB));
    CALL(cuMemRelease(a));
    CALL(cuMemAddressFree(p, 4 * MiB));
    CALL(cuMemAlloc(&p, 1000));
    CALL(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    VALUE(is);
    CALL(cuPointerGetAttribute(&wide, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p));
    VALUE(wide);
    CALL(cuMemRetainAllocationHandle(&a, (void *)p));
    CALL(cuMemUnmap(p, 2 * MiB));
    CALL(cuMemFree(p));
}

static void exporting()
{
    CUmemAllocationProp prop = device_memory(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), got = {};
    CUmemGenericAllocationHandle a = 0, b = 0;
    CUmemAccessDesc access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr p = 0, q = 0;
    unsigned value = 0;
    int fd = -1;
    CALL(cuMemCreate(&a, 2 * MiB, &prop, 0));
    CALL(cuMemExportToShareableHandle(&fd, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    VALUE(fd >= 0);
    CALL(cuMemExportToShareableHandle(NULL, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemExportToShareableHandle(&value, a, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
    CALL(cuMemExportToShareableHandle(&value, a, CU_MEM_HANDLE_TYPE_WIN32, 0));
    CALL(cuMemExportToShareableHandle(&value, a, CU_MEM_HANDLE_TYPE_NONE, 0));
    CALL(cuMemImportFromShareableHandle(&b, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    VALUE(a == b);
    CALL(cuMemImportFromShareableHandle(NULL, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CALL(cuMemImportFromShareableHandle(&a, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CALL(cuMemImportFromShareableHandle(&a, (void *)(intptr_t)0, CU_MEM_HANDLE_TYPE_WIN32));
    int other = memfd_create("other", 0);
    CALL(cuMemImportFromShareableHandle(&a, (void *)(intptr_t)other, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CALL(cuMemGetAllocationPropertiesFromHandle(&got, b));
    VALUE(got.requestedHandleTypes);
    CALL(cuMemAddressReserve(&p, 4 * MiB, 0, 0, 0));
    q = p + 2 * MiB;
    CALL(cuMemMap(p, 2 * MiB, 0, a, 0));
    CALL(cuMemMap(q, 2 * MiB, 0, b, 0));
    CALL(cuMemSetAccess(p, 4 * MiB, &access, 1));
    CALL(cuMemsetD32(p, 77, 4));
    CALL(cuMemcpyDtoH(&value, q, 4));
    VALUE(value);
    CALL(cuMemUnmap(p, 4 * MiB));
    CALL(cuMemRelease(a));
    CALL(cuMemRelease(b));
    CALL(cuMemAddressFree(p, 4 * MiB));
}

static void ipc()
{
    CUipcMemHandle handle, mapped;
    CUipcEventHandle event_handle;
    CUdeviceptr p = 0, q = 0, managed = 0;
    CUevent event = NULL, plain = NULL, opened = NULL;
    void *host = NULL;
    CALL(cuMemAlloc(&p, 100000));
    CALL(cuMemHostAlloc(&host, 4096, 0));
    CALL(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    CALL(cuIpcGetMemHandle(&handle, p));
    CALL(cuIpcGetMemHandle(NULL, p));
    CALL(cuIpcGetMemHandle(&handle, p + 16));
    CALL(cuIpcGetMemHandle(&mapped, (CUdeviceptr)host));
    CALL(cuIpcGetMemHandle(&mapped, managed));
    CALL(cuIpcGetMemHandle(&mapped, 0));
    CALL(cuIpcOpenMemHandle(&q, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CALL(cuIpcOpenMemHandle(&q, handle, 0));
    CALL(cuIpcOpenMemHandle(&q, handle, 2));
    CALL(cuIpcOpenMemHandle(NULL, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    memset(&mapped, 0, sizeof(mapped));
    CALL(cuIpcOpenMemHandle(&q, mapped, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    CALL(cuIpcCloseMemHandle(p));
    CALL(cuIpcCloseMemHandle(0));
    CALL(cuEventCreate(&event, CU_EVENT_INTERPROCESS));
    CALL(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    CALL(cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING));
    CALL(cuIpcGetEventHandle(&event_handle, event));
    CALL(cuIpcGetEventHandle(NULL, event));
    CALL(cuIpcGetEventHandle(&event_handle, plain));
    CALL(cuIpcOpenEventHandle(NULL, event_handle));
    CALL(cuIpcOpenEventHandle(&opened, event_handle));
    memset(&event_handle, 0, sizeof(event_handle));
    CALL(cuIpcOpenEventHandle(&opened, event_handle));
    CALL(cuEventQuery(event));
    CALL(cuEventRecord(event, NULL));
    CALL(cuEventSynchronize(event));
    CALL(cuEventQuery(event));
    float ms = 0;
    CALL(cuEventElapsedTime(&ms, event, event));
    CALL(cuEventDestroy(event));
    CALL(cuMemFree(p));
    cudaIpcMemHandle_t runtime_handle;
    cudaIpcEventHandle_t runtime_event;
    cudaEvent_t made;
    CALL(cudaIpcGetMemHandle(&runtime_handle, NULL));
    CALL(cudaIpcGetMemHandle(NULL, (void *)managed));
    memset(&runtime_handle, 0, sizeof(runtime_handle));
    CALL(cudaIpcOpenMemHandle(&host, runtime_handle, cudaIpcMemLazyEnablePeerAccess));
    CALL(cudaIpcCloseMemHandle(NULL));
    CALL(cudaEventCreateWithFlags(&made, cudaEventInterprocess));
    CALL(cudaEventCreateWithFlags(&made, cudaEventInterprocess | cudaEventDisableTiming));
    CALL(cudaIpcGetEventHandle(&runtime_event, made));
}

/* Two processes: the child opens what the parent made. */
static void ipc_pair()
{
    struct {
        CUipcMemHandle memory, inside;
        CUipcEventHandle event;
    } sent;
    int to[2], back[2];
    char token = 0;
    unsigned value = 0;
    CUdeviceptr p = 0, q = 0, again = 0, base = 0;
    size_t size = 0;
    CUevent event = NULL;
    if (pipe(to) || pipe(back))
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        start();
        if (read(to[0], &sent, sizeof(sent)) != sizeof(sent))
            _exit(1);
        CALL(cuIpcOpenMemHandle(&q, sent.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        CALL(cuIpcOpenMemHandle(&again, sent.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
        VALUE(again == q);
        CALL(cuMemGetAddressRange(&base, &size, q));
        VALUE(base == q);
        VALUE(size);
        CALL(cuMemcpyDtoH(&value, q, 4));
        VALUE(value);
        CALL(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, q));
        VALUE(value);
        bool is = false;
        CALL(cuPointerGetAttribute(&is, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, q));
        VALUE(is);
        CUipcMemHandle forward;
        CALL(cuIpcGetMemHandle(&forward, q));
        CALL(cuMemFree(q));
        CALL(cuMemsetD32(q, 5, 25000));
        CALL(cuMemsetD32(q, 5, 25001));
        CALL(cuIpcOpenEventHandle(&event, sent.event));
        CALL(cuEventQuery(event));
        CALL(cuStreamWaitEvent(NULL, event, 0));
        CALL(cuEventRecord(event, NULL));
        CALL(cuEventSynchronize(event));
        CUipcEventHandle again_event;
        CALL(cuIpcGetEventHandle(&again_event, event));
        CALL(cuEventDestroy(event));
        CALL(cuIpcCloseMemHandle(q + 4));
        CALL(cuIpcCloseMemHandle(q));
        CALL(cuIpcCloseMemHandle(q));
        CALL(cuIpcCloseMemHandle(q));
        fflush(stdout);
        token = 1;
        if (write(back[1], &token, 1) != 1)
            _exit(1);
        _exit(0);
    }
    start();
    cuMemAlloc(&p, 100000);
    cuMemsetD32(p, 4321, 25000);
    cuIpcGetMemHandle(&sent.memory, p);
    cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    cuIpcGetEventHandle(&sent.event, event);
    cuEventRecord(event, NULL);
    cuCtxSynchronize();
    if (write(to[1], &sent, sizeof(sent)) != sizeof(sent) || read(back[0], &token, 1) != 1)
        printf("the child did not answer\n");
    CALL(cuMemcpyDtoH(&value, p + 4, 4));
    VALUE(value);
    CALL(cuEventQuery(event));
    CALL(cuMemFree(p));
    waitpid(child, NULL, 0);
}

static void pools()
{
    CUmemPoolProps props = {};
    CUmemoryPool pool = NULL, shared = NULL, imported = NULL;
    CUmemPoolPtrExportData exported;
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemAccessDesc access = access_of(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemLocation here = access.location;
    CUdeviceptr p = 0, q = 0;
    cuuint64_t wide = 99;
    int fd = -1, number = -1;
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    props.location = here;
    CALL(cuMemPoolCreate(&pool, &props));
    CALL(cuMemPoolExportToShareableHandle(&fd, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CALL(cuMemPoolCreate(&shared, &props));
    CALL(cuMemPoolExportToShareableHandle(&fd, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    VALUE(fd >= 0);
    CALL(cuMemPoolExportToShareableHandle(NULL, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemPoolExportToShareableHandle(&number, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1));
    CALL(cuMemPoolExportToShareableHandle(&number, shared, CU_MEM_HANDLE_TYPE_WIN32, 0));
    CALL(cuMemAllocFromPoolAsync(&p, 4096, shared, NULL));
    CALL(cuMemAllocFromPoolAsync(&q, 4096, pool, NULL));
    CALL(cuMemPoolExportPointer(&exported, q));
    CALL(cuMemPoolExportPointer(NULL, p));
    CALL(cuMemPoolExportPointer(&exported, p + 16));
    CALL(cuMemPoolExportPointer(&exported, 0));
    CALL(cuMemPoolExportPointer(&exported, p));
    CALL(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemPoolImportFromShareableHandle(NULL, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemFreeAsync(p, NULL));
    CALL(cuMemFreeAsync(q, NULL));
    CALL(cuStreamSynchronize(NULL));
    CALL(cuMemPoolGetAccess(&flags, pool, &here));
    VALUE(flags);
    CALL(cuMemPoolGetAccess(NULL, pool, &here));
    CALL(cuMemPoolSetAccess(pool, &access, 1));
    CALL(cuMemPoolSetAccess(pool, &access, 0));
    CALL(cuMemPoolSetAccess(pool, NULL, 1));
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CALL(cuMemPoolSetAccess(pool, &access, 1));
    access.location.id = 9;
    CALL(cuMemPoolSetAccess(pool, &access, 1));
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &wide));
    VALUE(wide);
    wide = 1 << 20;
    CALL(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &wide));
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, &number));
    VALUE(number);
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &wide));
    VALUE(wide);
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &wide));
    VALUE(wide);
    wide = 5;
    CALL(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &wide));
    wide = 0;
    CALL(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &wide));
    CALL(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &wide));
    CALL(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &wide));
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL));
    CALL(cuMemPoolTrimTo(pool, 0));
    CALL(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &wide));
    VALUE(wide);
    CALL(cuMemPoolDestroy(pool));
    CALL(cuMemPoolDestroy(shared));
    CUmemoryPool standard = NULL, got = NULL;
    CALL(cuDeviceGetDefaultMemPool(&standard, 0));
    CALL(cuMemPoolDestroy(standard));
    CALL(cuMemPoolExportToShareableHandle(&fd, standard, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CALL(cuMemGetDefaultMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(got == standard);
    CALL(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    VALUE(got == standard);
    CALL(cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, standard));
    CALL(cuMemGetMemPool(NULL, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    here.id = 9;
    CALL(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    here = access_of(CU_MEM_ACCESS_FLAGS_PROT_READ).location;
    CALL(cuMemGetMemPool(&got, &here, CU_MEM_ALLOCATION_TYPE_INVALID));
    props.location.type = CU_MEM_LOCATION_TYPE_HOST;
    props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
    CALL(cuMemPoolCreate(&pool, &props));
    props.location = here;
    props.maxSize = 4 * MiB;
    CALL(cuMemPoolCreate(&pool, &props));
    CALL(cuMemAllocFromPoolAsync(&p, MiB, pool, NULL));
    CALL(cuMemAllocFromPoolAsync(&q, 64 * MiB, pool, NULL));
    CALL(cuMemFree(p));
    CALL(cuMemPoolDestroy(pool));
}

static void memory_operations()
{
    CUdeviceptr p = 0;
    CUstream stream = NULL;
    int can = -1;
    CALL(cuMemAlloc(&p, 4096));
    CALL(cuMemsetD8(p, 0, 4096));
    CALL(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CALL(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
    VALUE(can);
    CALL(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
    VALUE(can);
    CALL(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0));
    VALUE(can);
    CALL(cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 0));
    VALUE(can);
    CALL(cuStreamWriteValue32(stream, p, 7, CU_STREAM_WRITE_VALUE_DEFAULT));
    CALL(cuStreamWaitValue32(stream, p, 7, CU_STREAM_WAIT_VALUE_EQ));
    CALL(cuStreamWaitValue32(stream, p, 5, CU_STREAM_WAIT_VALUE_GEQ));
    CALL(cuStreamWaitValue32(stream, p, 2, CU_STREAM_WAIT_VALUE_AND));
    CALL(cuStreamWaitValue32(stream, p, 8, CU_STREAM_WAIT_VALUE_NOR));
    CALL(cuStreamWriteValue64(stream, p + 8, 9, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    CALL(cuStreamSynchronize(stream));
    CALL(cuMemFree(p));
}

static void managed()
{
    CUdeviceptr p = 0, plain = 0;
    CUmemLocation here = access_of(CU_MEM_ACCESS_FLAGS_PROT_READ).location, host = {};
    int value = -9, values[4] = {-9, -9, -9, -9};
    host.type = CU_MEM_LOCATION_TYPE_HOST;
    CALL(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_GLOBAL));
    CALL(cuMemAlloc(&plain, 8192));
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8192));
    VALUE(value);
    CALL(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    CALL(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
    CALL(cuMemAdvise(p, 8192, CU_MEM_ADVISE_SET_ACCESSED_BY, here));
    CALL(cuMemAdvise(p, 8192, (CUmem_advise)99, here));
    CALL(cuMemAdvise(plain, 8192, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    CALL(cuMemAdvise(p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    CALL(cuMemAdvise(p, 1 << 30, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(values, 16, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, 8192));
    VALUE(values[0]);
    VALUE(values[1]);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, p, 8192));
    VALUE(value);
    CALL(cuMemPrefetchAsync(p, 8192, here, 0, NULL));
    CALL(cuMemPrefetchAsync(p, 8192, here, 1, NULL));
    CALL(cuMemPrefetchAsync(plain, 8192, here, 0, NULL));
    CALL(cuMemPrefetchAsync(p, 0, here, 0, NULL));
    CALL(cuCtxSynchronize());
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID, p, 8192));
    VALUE(value);
    CALL(cuMemPrefetchAsync(p, 8192, host, 0, NULL));
    CALL(cuCtxSynchronize());
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, p, 8192));
    VALUE(value);
    CALL(cuMemRangeGetAttribute(&value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, p, 8192));
    CALL(cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, plain, 8192));
    CALL(cuMemRangeGetAttribute(&value, 4, (CUmem_range_attribute)99, p, 8192));
    size_t sizes[1] = {8192}, first[1] = {0};
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 1, &here, first, 1, 0, NULL));
    CUstream stream = NULL;
    CALL(cuStreamCreate(&stream, 0));
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 1, &here, first, 1, 0, stream));
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 0, &here, first, 1, 0, stream));
    CALL(cuMemPrefetchBatchAsync(NULL, sizes, 1, &here, first, 1, 0, stream));
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 1, &here, first, 0, 0, stream));
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 1, &here, first, 2, 0, stream));
    CALL(cuMemPrefetchBatchAsync(&p, sizes, 1, &here, first, 1, 1, stream));
    CALL(cuMemPrefetchBatchAsync(&plain, sizes, 1, &here, first, 1, 0, stream));
    CALL(cuMemDiscardBatchAsync(&p, sizes, 1, 0, stream));
    CALL(cuMemDiscardBatchAsync(&plain, sizes, 1, 0, stream));
    CALL(cuMemDiscardBatchAsync(&p, sizes, 0, 0, stream));
    CALL(cuMemDiscardAndPrefetchBatchAsync(&p, sizes, 1, &here, first, 1, 0, stream));
    CALL(cuStreamAttachMemAsync(stream, p, 0, CU_MEM_ATTACH_SINGLE));
    CALL(cuStreamAttachMemAsync(stream, p, 8192, CU_MEM_ATTACH_GLOBAL));
    CALL(cuStreamAttachMemAsync(stream, p, 4096, CU_MEM_ATTACH_GLOBAL));
    CALL(cuStreamAttachMemAsync(stream, plain, 0, CU_MEM_ATTACH_GLOBAL));
    CALL(cuStreamAttachMemAsync(NULL, p, 0, CU_MEM_ATTACH_SINGLE));
    CALL(cuStreamAttachMemAsync(stream, p, 0, 7));
    CALL(cuStreamSynchronize(stream));
}

static void batches()
{
    CUdeviceptr a = 0, b = 0, from[2], to[2];
    size_t sizes[2] = {100, 200}, first[2] = {0, 1};
    unsigned char bytes[4] = {};
    CUmemcpyAttributes attributes[2];
    CUstream stream = NULL;
    CALL(cuMemAlloc(&a, 4096));
    CALL(cuMemAlloc(&b, 4096));
    CALL(cuMemsetD8(a, 5, 4096));
    CALL(cuMemsetD8(b, 0, 4096));
    CALL(cuStreamCreate(&stream, 0));
    from[0] = a;
    from[1] = a + 1000;
    to[0] = b;
    to[1] = b + 2000;
    memset(attributes, 0, sizeof(attributes));
    attributes[0].srcAccessOrder = attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 2, stream));
    CALL(cuStreamSynchronize(stream));
    CALL(cuMemcpyDtoH(bytes, b + 2198, 4));
    VALUE(bytes[1]);
    VALUE(bytes[2]);
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, NULL));
    CALL(cuMemcpyBatchAsync(to, from, sizes, 0, attributes, first, 1, stream));
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 0, stream));
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, NULL, first, 1, stream));
    CALL(cuMemcpyBatchAsync(NULL, from, sizes, 2, attributes, first, 1, stream));
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 3, stream));
    first[0] = 1;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    first[0] = 0;
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    sizes[1] = 0;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    sizes[1] = 8192;
    CALL(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, stream));
    CUDA_MEMCPY3D_BATCH_OP op;
    memset(&op, 0, sizeof(op));
    op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    op.src.op.ptr.ptr = a;
    op.dst.op.ptr.ptr = b;
    op.src.op.ptr.rowLength = op.dst.op.ptr.rowLength = 64;
    op.src.op.ptr.layerHeight = op.dst.op.ptr.layerHeight = 4;
    op.extent.width = 32;
    op.extent.height = 4;
    op.extent.depth = 2;
    op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    CALL(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    CALL(cuMemcpy3DBatchAsync(1, &op, 0, NULL));
    CALL(cuMemcpy3DBatchAsync(0, &op, 0, stream));
    CALL(cuMemcpy3DBatchAsync(1, NULL, 0, stream));
    CALL(cuMemcpy3DBatchAsync(1, &op, 1, stream));
    op.src.op.ptr.rowLength = 16;
    CALL(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    op.src.op.ptr.rowLength = 0;
    CALL(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    op.extent.depth = 0;
    CALL(cuMemcpy3DBatchAsync(1, &op, 0, stream));
    CALL(cuStreamSynchronize(stream));
}

static void peers()
{
    CUcontext context = NULL;
    CUdeviceptr p = 0, q = 0;
    int value = 9;
    CALL(cuCtxGetCurrent(&context));
    CALL(cuMemAlloc(&p, 4096));
    CALL(cuMemAlloc(&q, 4096));
    CALL(cuCtxEnablePeerAccess(context, 0));
    CALL(cuCtxEnablePeerAccess(context, 1));
    CALL(cuCtxDisablePeerAccess(context));
    CALL(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
    CALL(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 9));
    CALL(cuDeviceGetP2PAttribute(&value, (CUdevice_P2PAttribute)99, 0, 0));
    CALL(cuMemcpyPeer(p, context, q, context, 4096));
    CALL(cuMemcpyPeer(p, context, q, context, 0));
    CALL(cuMemcpyPeer(p, context, q, context, 4097));
    CALL(cuMemcpyPeerAsync(p, context, q, context, 4096, NULL));
    CALL(cudaDeviceEnablePeerAccess(0, 0));
    CALL(cudaDeviceEnablePeerAccess(9, 0));
    CALL(cudaDeviceDisablePeerAccess(0));
    CALL(cudaDeviceCanAccessPeer(&value, 0, 0));
    VALUE(value);
    CALL(cudaDeviceCanAccessPeer(&value, 0, 9));
    CALL(cudaMemcpyPeer((void *)p, 0, (void *)q, 0, 4096));
    CALL(cudaMemcpyPeer((void *)p, 0, (void *)q, 9, 4096));
    int list[2] = {0, 9};
    CALL(cudaSetValidDevices(list, 1));
    CALL(cudaSetValidDevices(list, 2));
    CALL(cudaSetValidDevices(NULL, 1));
    CALL(cudaSetValidDevices(NULL, 0));
}

static void green_contexts()
{
    CUdevResource all, groups[4], rest, got;
    CUdevResourceDesc description = NULL;
    unsigned count = 1;
    memset(&all, 0, sizeof(all));
    CALL(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    VALUE(all.type);
    VALUE(all.sm.smCount > 0);
    CALL(cuDeviceGetDevResource(0, NULL, CU_DEV_RESOURCE_TYPE_SM));
    CALL(cuDeviceGetDevResource(9, &got, CU_DEV_RESOURCE_TYPE_SM));
    CALL(cuDeviceGetDevResource(0, &got, CU_DEV_RESOURCE_TYPE_INVALID));
    count = 1;
    CALL(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 16, 1));
    count = 1;
    CALL(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 100000));
    count = 1;
    CALL(cuDevSmResourceSplitByCount(groups, &count, &all, &rest, 0, 1));
    VALUE(count);
    VALUE(groups[0].sm.smCount > 0);
    CALL(cuDevResourceGenerateDesc(&description, groups, 1));
    CALL(cuDevResourceGenerateDesc(NULL, groups, 1));
    CALL(cuDevResourceGenerateDesc(&description, NULL, 1));
}

static void context_events()
{
    CUcontext context = NULL;
    CUevent event = NULL;
    CALL(cuCtxGetCurrent(&context));
    CALL(cuEventCreate(&event, 0));
    CALL(cuCtxRecordEvent(context, event));
    CALL(cuCtxWaitEvent(context, event));
    CALL(cuCtxSynchronize());
    CALL(cuEventQuery(event));
    CUdevResource got;
    CALL(cuCtxGetDevResource(context, &got, CU_DEV_RESOURCE_TYPE_SM));
    VALUE(got.sm.smCount > 0);
    CALL(cuCtxGetDevResource(context, NULL, CU_DEV_RESOURCE_TYPE_SM));
}

static void log_callback(void *data, CUlogLevel level, char *message, size_t length)
{
}

static void logs()
{
    CUlogIterator at = 0;
    CUlogsCallbackHandle handle = NULL;
    char text[4096];
    size_t size = sizeof(text);
    CALL(cuLogsCurrent(&at, 0));
    CALL(cuLogsCurrent(NULL, 0));
    CALL(cuLogsCurrent(&at, 1));
    CALL(cuLogsDumpToMemory(NULL, text, &size, 0));
    size = sizeof(text);
    CALL(cuLogsDumpToMemory(&at, text, &size, 0));
    CALL(cuLogsDumpToMemory(&at, NULL, &size, 0));
    CALL(cuLogsDumpToMemory(&at, text, NULL, 0));
    size = sizeof(text);
    CALL(cuLogsDumpToMemory(&at, text, &size, 1));
    size = 4;
    CALL(cuLogsDumpToMemory(&at, text, &size, 0));
    CALL(cuLogsDumpToFile(&at, "/dev/null", 0));
    CALL(cuLogsDumpToFile(NULL, "/dev/null", 0));
    CALL(cuLogsDumpToFile(&at, NULL, 0));
    CALL(cuLogsDumpToFile(&at, "/nowhere/at/all", 0));
    CALL(cuLogsDumpToFile(&at, "/dev/null", 1));
    CALL(cuLogsRegisterCallback(NULL, NULL, &handle));
    CALL(cuLogsRegisterCallback(log_callback, NULL, NULL));
    CALL(cuLogsRegisterCallback(log_callback, NULL, &handle));
    CALL(cuLogsUnregisterCallback(NULL));
    CALL(cuLogsUnregisterCallback(handle));
}

static void core_dumps()
{
    char text[1024];
    bool is = true;
    size_t size = sizeof(is);
    CALL(cuCoredumpGetAttribute(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &size));
    VALUE(is);
    VALUE(size);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &size));
    VALUE(is);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_LIGHTWEIGHT, &is, &size));
    VALUE(is);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &is, &size));
    VALUE(is);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_USER_TRIGGER, &is, &size));
    VALUE(is);
    size = sizeof(text);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, text, &size));
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, NULL, &size));
    VALUE(size);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, NULL));
    size = 0;
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_ENABLE_ON_EXCEPTION, &is, &size));
    size = 1;
    CALL(cuCoredumpGetAttributeGlobal((CUcoredumpSettings)99, &is, &size));
    is = false;
    size = 1;
    CALL(cuCoredumpSetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &is, &size));
    size = 1;
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, &is, &size));
    VALUE(is);
    CALL(cuCoredumpSetAttributeGlobal(CU_COREDUMP_TRIGGER_HOST, NULL, &size));
    CALL(cuCoredumpSetAttribute(CU_COREDUMP_ENABLE_USER_TRIGGER, &is, &size));
    char file[] = "dump.%p";
    size = sizeof(file);
    CALL(cuCoredumpSetAttributeGlobal(CU_COREDUMP_FILE, file, &size));
    size = sizeof(text);
    CALL(cuCoredumpGetAttributeGlobal(CU_COREDUMP_FILE, text, &size));
    printf("  %.5s\n", text);
}

static void checkpoints()
{
    CUprocessState state = (CUprocessState)9;
    int thread = -1;
    CALL(cuCheckpointProcessGetState(-1, &state));
    CALL(cuCheckpointProcessGetState(getpid(), NULL));
    CALL(cuCheckpointProcessGetState(getpid(), &state));
    VALUE(state);
    CALL(cuCheckpointProcessGetRestoreThreadId(-1, &thread));
    CALL(cuCheckpointProcessLock(-1, NULL));
    CALL(cuCheckpointProcessCheckpoint(-1, NULL));
    CALL(cuCheckpointProcessRestore(-1, NULL));
    CALL(cuCheckpointProcessUnlock(-1, NULL));
}

static void mipmaps()
{
    CUmipmappedArray mipmap = NULL, none = NULL;
    CUarray level = NULL;
    CUDA_ARRAY3D_DESCRIPTOR description = {}, got = {};
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs = {};
    CUDA_ARRAY_SPARSE_PROPERTIES sparse = {};
    description.Width = 64;
    description.Height = 32;
    description.Format = CU_AD_FORMAT_FLOAT;
    description.NumChannels = 1;
    CALL(cuMipmappedArrayCreate(&mipmap, &description, 4));
    CALL(cuMipmappedArrayCreate(NULL, &description, 4));
    CALL(cuMipmappedArrayCreate(&none, NULL, 4));
    CALL(cuMipmappedArrayCreate(&none, &description, 0));
    CALL(cuMipmappedArrayCreate(&none, &description, 99));
    CALL(cuMipmappedArrayGetLevel(&level, mipmap, 2));
    CALL(cuArray3DGetDescriptor(&got, level));
    VALUE(got.Width);
    VALUE(got.Height);
    VALUE(got.Depth);
    CALL(cuMipmappedArrayGetLevel(&level, mipmap, 0));
    CALL(cuArray3DGetDescriptor(&got, level));
    VALUE(got.Width);
    CALL(cuMipmappedArrayGetLevel(&level, mipmap, 4));
    CALL(cuMipmappedArrayGetLevel(NULL, mipmap, 0));
    CALL(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0));
    CALL(cuMipmappedArrayGetSparseProperties(&sparse, mipmap));
    CALL(cuArrayDestroy(level));
    CALL(cuMipmappedArrayDestroy(mipmap));
    CUarray array = NULL, plane = NULL;
    CALL(cuArray3DCreate(&array, &description));
    CALL(cuArrayGetPlane(&plane, array, 0));
    CALL(cuArrayGetMemoryRequirements(&needs, array, 0));
    CALL(cuArrayGetSparseProperties(&sparse, array));
    CALL(cuArrayDestroy(array));
}

static void external()
{
    CUexternalMemory memory = NULL;
    CUexternalSemaphore semaphore = NULL;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC wanted = {};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.size = 4096;
    description.handle.fd = -1;
    CALL(cuImportExternalMemory(&memory, &description));
    CALL(cuImportExternalMemory(NULL, &description));
    CALL(cuImportExternalMemory(&memory, NULL));
    description.handle.fd = memfd_create("plain", 0);
    CALL(ftruncate(description.handle.fd, 1 << 21) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS);
    CALL(cuImportExternalMemory(&memory, &description));
    description.size = 0;
    CALL(cuImportExternalMemory(&memory, &description));
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32;
    CALL(cuImportExternalMemory(&memory, &description));
    wanted.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
    wanted.handle.fd = -1;
    CALL(cuImportExternalSemaphore(&semaphore, &wanted));
    CALL(cuImportExternalSemaphore(NULL, &wanted));
    CALL(cuImportExternalSemaphore(&semaphore, NULL));
    wanted.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    CALL(cuImportExternalSemaphore(&semaphore, &wanted));
}

static void texture_references()
{
    CUtexref reference = NULL;
    CUdeviceptr p = 0, got = 0;
    CUarray_format format = CU_AD_FORMAT_HALF;
    CUaddress_mode mode = CU_TR_ADDRESS_MODE_BORDER;
    CUfilter_mode filter = CU_TR_FILTER_MODE_LINEAR;
    int channels = 9, anisotropy = 9;
    unsigned flags = 9;
    size_t offset = 9;
    float border[4] = {9, 9, 9, 9}, bias = 9, low = 9, high = 9;
    CALL(cuMemAlloc(&p, 4096));
    CALL(cuTexRefCreate(&reference));
    CALL(cuTexRefCreate(NULL));
    CALL(cuTexRefGetFormat(&format, &channels, reference));
    VALUE(format);
    VALUE(channels);
    CALL(cuTexRefGetAddressMode(&mode, reference, 0));
    VALUE(mode);
    CALL(cuTexRefGetFilterMode(&filter, reference));
    VALUE(filter);
    CALL(cuTexRefGetFlags(&flags, reference));
    VALUE(flags);
    CALL(cuTexRefGetMaxAnisotropy(&anisotropy, reference));
    VALUE(anisotropy);
    CALL(cuTexRefGetBorderColor(border, reference));
    VALUE(border[0]);
    CALL(cuTexRefGetMipmapLevelBias(&bias, reference));
    VALUE(bias);
    CALL(cuTexRefGetMipmapLevelClamp(&low, &high, reference));
    VALUE(low);
    VALUE(high);
    CALL(cuTexRefGetAddress(&got, reference));
    CALL(cuTexRefSetFormat(reference, CU_AD_FORMAT_UNSIGNED_INT8, 3));
    CALL(cuTexRefSetFormat(reference, CU_AD_FORMAT_UNSIGNED_INT8, 2));
    CALL(cuTexRefSetFormat(reference, (CUarray_format)0x77, 2));
    CALL(cuTexRefSetAddressMode(reference, 0, CU_TR_ADDRESS_MODE_CLAMP));
    CALL(cuTexRefSetAddressMode(reference, 3, CU_TR_ADDRESS_MODE_CLAMP));
    CALL(cuTexRefSetAddressMode(reference, 0, (CUaddress_mode)9));
    CALL(cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR));
    CALL(cuTexRefSetFilterMode(reference, (CUfilter_mode)9));
    CALL(cuTexRefSetFlags(reference, CU_TRSF_READ_AS_INTEGER));
    CALL(cuTexRefSetFlags(reference, 0x1000));
    CALL(cuTexRefSetMaxAnisotropy(reference, 8));
    CALL(cuTexRefSetBorderColor(reference, border));
    CALL(cuTexRefSetAddress(&offset, reference, p, 4096));
    VALUE(offset);
    CALL(cuTexRefSetAddress(&offset, reference, p + 64, 256));
    VALUE(offset);
    CALL(cuTexRefSetAddress(NULL, reference, p + 64, 256));
    CALL(cuTexRefSetAddress(&offset, reference, p, 8192));
    CALL(cuTexRefGetAddress(&got, reference));
    VALUE(got == p);
    CALL(cuTexRefSetArray(reference, NULL, CU_TRSA_OVERRIDE_FORMAT));
    CALL(cuTexRefDestroy(reference));
}

static void others()
{
    int fd = -1;
    CUdeviceptr p = 0;
    size_t size = 0;
    CALL(cuMemAlloc(&p, 2 * MiB));
    CALL(cuMemGetHandleForAddressRange(&fd, 0, 4096, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    CALL(cuMemGetHandleForAddressRange(NULL, p, 2 * MiB, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    CALL(cuMemGetHandleForAddressRange(&fd, p, 2 * MiB, (CUmemRangeHandleType)9, 0));
    unsigned capabilities[2] = {9, 9};
    CUatomicOperation operations[2] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_FLOAT_ADD};
    CALL(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 0));
    CALL(cuDeviceGetHostAtomicCapabilities(NULL, operations, 2, 0));
    CALL(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 0, 0));
    CALL(cuDeviceGetHostAtomicCapabilities(capabilities, operations, 2, 9));
    CALL(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 9));
    CALL(cuDeviceGetP2PAtomicCapabilities(capabilities, operations, 2, 0, 0));
    CUmulticastObjectProp prop = {};
    prop.numDevices = 1;
    prop.size = 2 * MiB;
    prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CALL(cuMulticastGetGranularity(NULL, &prop, CU_MULTICAST_GRANULARITY_MINIMUM));
    CALL(cuMulticastGetGranularity(&size, NULL, CU_MULTICAST_GRANULARITY_MINIMUM));
    int support = 9;
    CALL(cuDeviceGetExecAffinitySupport(&support, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    VALUE(support);
    CALL(cuDeviceGetExecAffinitySupport(NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
    CALL(cuDeviceGetExecAffinitySupport(&support, (CUexecAffinityType)9, 0));
    CALL(cuDeviceGetNvSciSyncAttributes(NULL, 0, 1));
    CALL(cuDeviceRegisterAsyncNotification(0, NULL, NULL, NULL));
    CALL(cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

static const struct {
    const char *name;
    void (*run)();
    bool alone; /* makes its own contexts */
} sections[] = {
    {"granularity", granularity},
    {"reserving", reserving},
    {"creating", creating},
    {"mapping", mapping},
    {"attributes of mapped memory", mapped_attributes},
    {"exporting", exporting},
    {"ipc", ipc},
    {"ipc, two processes", ipc_pair, true},
    {"pools", pools},
    {"memory operations", memory_operations},
    {"managed", managed},
    {"batches", batches},
    {"peers", peers},
    {"green contexts", green_contexts},
    {"events of contexts", context_events},
    {"logs", logs},
    {"core dumps", core_dumps},
    {"checkpoints", checkpoints},
    {"mipmaps", mipmaps},
    {"external", external},
    {"texture references", texture_references},
    {"others", others},
};

int main()
{
    for (const auto &section : sections) {
        printf("== %s\n", section.name);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            if (!section.alone)
                start();
            section.run();
            fflush(stdout);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFSIGNALED(status))
            printf("ended by signal %d\n", WTERMSIG(status));
        fflush(stdout);
    }
    return 0;
}
