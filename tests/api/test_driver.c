/* The driver API over a device that only notes what it is asked: handles, contexts, ordering of streams, faults, and memory
 * running out at every allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>

#include "toolkit/include/cuda.h"

#include "fake_device.h"

#define OK(call) assert_int_equal((call), CUDA_SUCCESS)
#define ANSWERS(call, code) assert_int_equal((call), (code))

static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 word;\n"
                           ".visible .entry two(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n"
                           ".visible .entry unsupported()\n{\n ret;\n}\n"
                           ".visible .entry fault_illegal_address()\n{\n ret;\n}\n"
                           ".visible .entry fault_misaligned()\n{\n ret;\n}\n"
                           ".visible .entry fault_trap()\n{\n ret;\n}\n"
                           ".visible .entry fault_assert()\n{\n ret;\n}\n"
                           ".visible .entry fault_instruction()\n{\n ret;\n}\n"
                           ".visible .entry fault_function()\n{\n ret;\n}\n";

static const char managed_text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                                   ".visible .global .attribute(.managed) .align 4 .u32 shared;\n";

/* What is alive in the device. */
struct alive {
    long allocations, queues, fences, modules;
};
static struct alive alive(void)
{
    return (struct alive){fake.allocations, fake.queues, fake.fences, fake.modules};
}
static void assert_alive(struct alive before)
{
    assert_int_equal(fake.allocations, before.allocations);
    assert_int_equal(fake.queues, before.queues);
    assert_int_equal(fake.fences, before.fences);
    assert_int_equal(fake.modules, before.modules);
}

static int primary_setup(void **state)
{
    CUcontext context;
    bl_log_set_level(BL_LOG_OFF);
    return cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context);
}

static int primary_teardown(void **state)
{
    cuDevicePrimaryCtxReset(0);
    return cuCtxSetCurrent(NULL) != CUDA_SUCCESS;
}

static void test_before_init(void **state)
{
    int count;
    CUdeviceptr p;
    ANSWERS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    ANSWERS(cuInit(2), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    assert_int_equal(count, 1);
}

static void test_contexts(void **state)
{
    struct alive before = alive();
    CUcontext primary, made, found;
    CUdeviceptr p;
    CUstream stream;
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
    OK(cuMemAlloc(&p, 4));
    OK(cuDevicePrimaryCtxRelease(0));
    ANSWERS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ANSWERS(cuMemAlloc(&p, 4), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    ANSWERS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
    assert_alive(before);
    /* A primary context keeps its handle when it comes again. */
    OK(cuDevicePrimaryCtxRetain(&found, 0));
    assert_ptr_equal(found, primary);
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuCtxSetCurrent(NULL));
    /* A destroyed one doesn't. */
    OK(cuCtxCreate(&made, NULL, 0, 0));
    OK(cuStreamCreate(&stream, 0));
    OK(cuCtxPushCurrent(made));
    OK(cuCtxDestroy(made));
    ANSWERS(cuCtxDestroy(made), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(cuCtxSetCurrent(made), CUDA_ERROR_INVALID_CONTEXT);
    ANSWERS(cuCtxPushCurrent((CUcontext)stream), CUDA_ERROR_INVALID_CONTEXT);
    assert_alive(before);
    OK(cuCtxSetCurrent(NULL));
}

/* NVIDIA's static runtime asks for managed variables before it makes a context current. */
static void test_managed_without_context(void **state)
{
    CUlibrary library;
    CUdeviceptr p = 0;
    size_t size;
    OK(cuLibraryLoadData(&library, managed_text, NULL, NULL, 0, NULL, NULL, 0));
    ANSWERS(cuLibraryGetGlobal(&p, &size, library, "shared"), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuLibraryGetManaged(&p, NULL, library, "shared"));
    assert_int_not_equal(p, 0);
    ANSWERS(cuLibraryGetManaged(&p, NULL, library, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(cuLibraryUnload(library));
    OK(cuDevicePrimaryCtxReset(0));
}

/* Stale, foreign and null handles: each kind. */
static void test_handles(void **state)
{
    CUstream stream, again;
    CUevent event, reused;
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr p;
    size_t size;
    float ms;
    int value;
    OK(cuStreamCreate(&stream, 0));
    OK(cuEventCreate(&event, 0));
    ANSWERS(cuStreamQuery((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventQuery((CUevent)stream), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventQuery(NULL), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventRecord((CUevent)(uintptr_t)0xdeadbeef00, stream), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamDestroy(stream));
    OK(cuEventDestroy(event));
    ANSWERS(cuStreamDestroy(stream), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuStreamSynchronize(stream), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuMemsetD8Async(4096, 0, 1, stream), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventDestroy(event), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    /* Memory that is used again answers to the new handle only. */
    OK(cuStreamCreate(&again, 0));
    OK(cuEventCreate(&reused, 0));
    assert_ptr_not_equal(again, stream);
    assert_ptr_not_equal(reused, event);
    ANSWERS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuEventRecord(event, again), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventRecord(reused, again));
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "two"));
    OK(cuModuleUnload(module));
    ANSWERS(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuModuleGetFunction(&function, module, "two"), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuModuleGetGlobal(&p, &size, module, "word"), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function), CUDA_ERROR_INVALID_HANDLE);
    OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "two"));
    OK(cuLibraryUnload(library));
    ANSWERS(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuLibraryGetKernel(&kernel, library, "two"), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuKernelGetFunction(&function, kernel), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void test_pointers(void **state)
{
    CUdeviceptr p;
    char here[16];
    OK(cuMemAlloc(&p, 16));
    ANSWERS(cuMemFree(p + 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemFree((CUdeviceptr)(uintptr_t)here), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemFreeHost((void *)(uintptr_t)p), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyHtoD(p, here, 17), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemcpyHtoD(p + 8, here, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuMemsetD32(p, 0, (size_t)1 << 62), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree(p));
    ANSWERS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
    fake.memory = 1000;
    ANSWERS(cuMemAlloc(&p, 1001), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAlloc(&p, 1000));
    fake.memory = 1u << 30;
}

/* The legacy stream and blocking streams wait for each other, others don't (programming guide, "Default Stream"). */
static void test_order(void **state)
{
    CUstream blocking, free_running;
    CUdeviceptr p;
    OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&free_running, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc(&p, 64));
    fake.hold = true;
    unsigned waits = fake.fence_waits;
    OK(cuMemsetD8Async(p, 1, 64, free_running));
    OK(cuMemsetD8Async(p, 1, 64, NULL));
    assert_int_equal(fake.fence_waits, waits);
    OK(cuMemsetD8Async(p, 1, 64, blocking)); /* after legacy's */
    assert_int_equal(fake.fence_waits, waits + 1);
    OK(cuMemsetD8Async(p, 1, 64, blocking)); /* nothing new in legacy */
    OK(cuMemsetD8Async(p, 1, 64, free_running));
    assert_int_equal(fake.fence_waits, waits + 1);
    OK(cuMemsetD8Async(p, 1, 64, CU_STREAM_LEGACY)); /* after blocking's */
    assert_int_equal(fake.fence_waits, waits + 2);
    OK(cuMemsetD8Async(p, 1, 64, CU_STREAM_PER_THREAD)); /* blocking too */
    assert_int_equal(fake.fence_waits, waits + 3);
    ANSWERS(cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    fake.hold = false;
    OK(cuStreamQuery(blocking));
    OK(cuMemFree(p));
}

static void test_events(void **state)
{
    CUevent event, untimed;
    float ms = -1;
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
    ANSWERS(cuEventCreate(&event, 0x80), CUDA_ERROR_INVALID_VALUE);
    OK(cuEventQuery(event)); /* one that was never recorded is done */
    ANSWERS(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
    fake.hold = true;
    OK(cuEventRecord(event, NULL));
    OK(cuEventRecord(untimed, NULL));
    ANSWERS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    ANSWERS(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_NOT_READY);
    fake.hold = false;
    OK(cuEventElapsedTime(&ms, event, event));
    assert_true(ms == 0);
    ANSWERS(cuEventElapsedTime(&ms, event, untimed), CUDA_ERROR_INVALID_HANDLE);
}

static void test_parameters(void **state)
{
    CUmodule module;
    CUfunction function;
    uint64_t p = 0x1122334455667788;
    uint32_t n = 9;
    void *params[] = {&p, &n};
    size_t size = 8;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "two"));
    OK(cuLaunchKernel(function, 3, 2, 1, 32, 4, 2, 100, NULL, params, NULL));
    assert_int_equal(fake.last.param_bytes, 12);
    assert_memory_equal(fake.params, &p, 8);
    assert_memory_equal(fake.params + 8, &n, 4);
    assert_int_equal(fake.last.grid[0], 3);
    assert_int_equal(fake.last.block[2], 2);
    assert_int_equal(fake.last.dynamic_shared, 100);
    unsigned launches = fake.launches;
    ANSWERS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    params[1] = NULL;
    ANSWERS(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(fake.launches, launches);
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    assert_memory_equal(fake.params, &p, 8);
    assert_memory_equal(fake.params + 8, "\0\0\0", 4);
    OK(cuModuleGetFunction(&function, module, "unsupported"));
    assert_int_not_equal(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_SUCCESS);
    OK(cuCtxSynchronize()); /* a kernel that can't be compiled leaves the context as it was */
}

/* Each fault has its code, stays until the context is made anew, and then is gone. */
static void test_faults(void **state)
{
    static const struct {
        const char *kernel;
        CUresult code;
    } faults[] = {
        {"fault_illegal_address", CUDA_ERROR_ILLEGAL_ADDRESS},
        {"fault_misaligned", CUDA_ERROR_MISALIGNED_ADDRESS},
        {"fault_trap", CUDA_ERROR_LAUNCH_FAILED},
        {"fault_assert", CUDA_ERROR_ASSERT},
        {"fault_instruction", CUDA_ERROR_ILLEGAL_INSTRUCTION},
    };
    for (size_t i = 0; i < BL_LEN(faults); i++) {
        CUmodule module;
        CUfunction function;
        CUdeviceptr p;
        CUcontext context;
        unsigned resets = fake.resets;
        OK(cuModuleLoadData(&module, text));
        OK(cuModuleGetFunction(&function, module, faults[i].kernel));
        OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        ANSWERS(cuCtxSynchronize(), faults[i].code);
        ANSWERS(cuMemAlloc(&p, 4), faults[i].code);
        ANSWERS(cuStreamSynchronize(NULL), faults[i].code);
        OK(cuDevicePrimaryCtxReset(0));
        assert_int_equal(fake.resets, resets + 1);
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSynchronize());
    }
}

static void *use_own_stream(void *data)
{
    CUcontext context = data;
    CUdeviceptr p;
    return (void *)(uintptr_t)(cuCtxSetCurrent(context) || cuMemAlloc(&p, 4) || cuMemsetD8Async(p, 0, 4, CU_STREAM_PER_THREAD) ||
                               cuMemFree(p));
}

static void test_threads(void **state)
{
    struct alive before = alive();
    CUcontext context;
    OK(cuCtxGetCurrent(&context));
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        void *failed;
        assert_int_equal(pthread_create(&thread, NULL, use_own_stream, context), 0);
        pthread_join(thread, &failed);
        assert_null(failed);
    }
    assert_alive(before); /* a thread's stream ends with it */
}

/* ---- memory running out --------------------------------------------------------------------------- */

static bool short_of_memory;
/* Notes the code of a call; false where what follows can't go on. Nothing but success and lack of memory may come. */
static bool went(CUresult result)
{
    if (result != CUDA_SUCCESS)
        assert_int_equal(result, CUDA_ERROR_OUT_OF_MEMORY);
    short_of_memory |= result != CUDA_SUCCESS;
    return result == CUDA_SUCCESS;
}

static void use_module(CUstream stream, CUdeviceptr p)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr word;
    size_t size;
    uint32_t n = 1;
    void *params[] = {&p, &n};
    if (!went(cuModuleLoadData(&module, text)))
        return;
    if (went(cuModuleGetFunction(&function, module, "two")))
        went(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    went(cuModuleGetGlobal(&word, &size, module, "word"));
    OK(cuModuleUnload(module));
}

static void use_library(CUstream stream, CUdeviceptr p)
{
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr word;
    size_t size;
    uint32_t n = 1;
    void *params[] = {&p, &n};
    if (!went(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0)))
        return;
    if (went(cuLibraryGetKernel(&kernel, library, "two")))
        went(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    went(cuLibraryGetGlobal(&word, &size, library, "word"));
    OK(cuLibraryUnload(library));
}

static const char caller[] = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func helper(.param .b32 p);\n"
                             ".visible .entry calls()\n{\n ret;\n}\n";
static const char helper[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func helper(.param .b32 p)\n{\n ret;\n}\n";

static void use_linker(void)
{
    CUlinkState link;
    CUmodule module;
    void *image;
    size_t size;
    char info[100], faults[100];
    CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER,
                              CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {info, (void *)sizeof(info), faults, (void *)sizeof(faults)};
    if (!went(cuLinkCreate(BL_LEN(options), options, values, &link)))
        return;
    if (went(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof(caller), "caller", 0, NULL, NULL)) &&
        went(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)helper, sizeof(helper), "helper", 0, NULL, NULL)) &&
        went(cuLinkComplete(link, &image, &size)) && went(cuModuleLoadDataEx(&module, image, 4, options, values)))
        OK(cuModuleUnload(module));
    OK(cuLinkDestroy(link));
}

static void use_rarer_memory(CUstream stream)
{
    CUmemoryPool pool;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUDA_ARRAY_DESCRIPTOR description = {.Width = 16, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUarray array;
    CUdeviceptr p;
    size_t pitch;
    if (went(cuArrayCreate(&array, &description)))
        OK(cuArrayDestroy(array));
    if (went(cuMemAllocPitch(&p, &pitch, 100, 10, 4)))
        OK(cuMemFree(p));
    if (!went(cuMemPoolCreate(&pool, &props)))
        return;
    if (went(cuMemAllocFromPoolAsync(&p, 1000, pool, stream)))
        went(cuMemFreeAsync(p, stream));
    OK(cuMemPoolDestroy(pool));
}

static void use_memory(CUstream stream)
{
    CUdeviceptr p, managed, pooled;
    void *host;
    static char here[8192];
    if (went(cuMemAllocHost(&host, 100)))
        OK(cuMemFreeHost(host));
    if (went(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL)))
        OK(cuMemFree(managed));
    if (went(cuMemHostRegister(here, sizeof(here), 0)))
        OK(cuMemHostUnregister(here));
    if (went(cuMemAllocAsync(&pooled, 1000, stream)))
        went(cuMemFreeAsync(pooled, stream));
    if (!went(cuMemAlloc(&p, 100)))
        return;
    went(cuMemcpyHtoDAsync(p, here, 100, stream));
    use_module(stream, p);
    use_library(stream, p);
    use_linker();
    use_rarer_memory(stream);
    OK(cuMemFree(p));
}

static void called(void *data)
{
}
static void called_back(CUstream stream, CUresult status, void *data)
{
}

static void use_stream(void)
{
    CUstream stream;
    CUevent event;
    if (!went(cuStreamCreate(&stream, CU_STREAM_DEFAULT)))
        return;
    if (went(cuEventCreate(&event, CU_EVENT_DEFAULT))) {
        went(cuEventRecord(event, stream));
        went(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        OK(cuEventDestroy(event));
    }
    went(cuLaunchHostFunc(stream, called, NULL));
    went(cuStreamAddCallback(stream, called_back, NULL, 0));
    use_memory(stream);
    OK(cuStreamDestroy(stream));
}

static void use_all(void)
{
    CUcontext primary, made;
    if (!went(cuDevicePrimaryCtxRetain(&primary, 0)))
        return;
    if (went(cuCtxPushCurrent(primary))) {
        use_stream();
        if (went(cuCtxCreate(&made, NULL, 0, 0)))
            OK(cuCtxDestroy(made));
    }
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRelease(0));
}

static void test_out_of_memory(void **state)
{
    struct alive before = alive();
    uint64_t nth = 1, failed = 0;
    use_all(); /* what is made once a process is made here */
    assert_false(short_of_memory);
    assert_alive(before);
    for (unsigned without = 0; without < 8; nth++) {
        short_of_memory = false;
        bl_fault_inject("alloc", nth);
        use_all();
        bl_fault_inject("alloc", 0);
        assert_alive(before);
        without = short_of_memory ? 0 : without + 1;
        failed += short_of_memory;
    }
    printf("%lu allocations, of which %lu failed a call\n", (unsigned long)nth - 9, (unsigned long)failed);
    assert_true(failed > 20);
    use_all();
    assert_false(short_of_memory);
}

/* ---- any handle anywhere ------------------------------------------------------------------------------ */

/* Handles and addresses of all kinds that were ever given out, stale ones too. */
static struct {
    uint64_t values[256];
    uint32_t count, seed;
    CUcontext contexts[1500]; /* made, to be ended */
    uint32_t context_count;
} known;

static uint32_t chance(uint32_t below)
{
    known.seed = known.seed * 1664525 + 1013904223;
    return (known.seed >> 8) % below;
}

static void *any(void)
{
    uint32_t kind = chance(16);
    if (kind == 0)
        return NULL;
    if (kind == 1)
        return (void *)(uintptr_t)chance(5);
    if (kind == 2)
        return (void *)(uintptr_t)((uint64_t)chance(1u << 24) << 40 | (uint64_t)chance(1u << 24) << 8 | chance(16) << 4);
    return known.count ? (void *)(uintptr_t)known.values[chance(known.count)] : NULL;
}

static void note(CUresult result, const void *handle)
{
    if (result != CUDA_SUCCESS)
        return;
    known.values[known.count < BL_LEN(known.values) ? known.count++ : chance(known.count)] = (uint64_t)(uintptr_t)handle;
}

static void make_something(void)
{
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUfunction function;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr p;
    CUcontext context;
    CUlinkState link;
    switch (chance(11)) {
    case 0:
        note(cuStreamCreate(&stream, chance(2)), stream);
        break;
    case 1:
        note(cuEventCreate(&event, chance(4)), event);
        break;
    case 2:
        note(cuModuleLoadData(&module, text), module);
        break;
    case 3:
        note(cuModuleGetFunction(&function, any(), "two"), function);
        break;
    case 4:
        note(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0), library);
        break;
    case 5:
        note(cuLibraryGetKernel(&kernel, any(), "two"), kernel);
        break;
    case 6:
        note(cuMemAlloc(&p, 1 + chance(1000)), (void *)(uintptr_t)p);
        break;
    case 7:
        note(cuMemAllocAsync(&p, 1 + chance(1000), any()), (void *)(uintptr_t)p);
        break;
    case 8:
        if (chance(4) == 0 && known.context_count < BL_LEN(known.contexts) && cuCtxCreate(&context, NULL, 0, 0) == CUDA_SUCCESS)
            note(CUDA_SUCCESS, known.contexts[known.context_count++] = context);
        break;
    case 9:
        note(cuKernelGetFunction(&function, any()), function);
        break;
    default:
        note(cuLinkCreate(0, NULL, NULL, &link), link);
        break;
    }
}

static void use_something(void)
{
    float ms;
    int value;
    unsigned flags;
    size_t size, offset;
    void *image;
    CUdeviceptr p = (CUdeviceptr)(uintptr_t)any();
    CUcontext context;
    const char *name;
    uint64_t zero[2] = {0};
    void *params[] = {&zero[0], &zero[1]};
    switch (chance(22)) {
    case 0:
        cuStreamQuery(any());
        break;
    case 1:
        cuStreamSynchronize(any());
        break;
    case 2:
        cuStreamWaitEvent(any(), any(), 0);
        break;
    case 3:
        cuEventRecord(any(), any());
        break;
    case 4:
        cuEventElapsedTime(&ms, any(), any());
        break;
    case 5:
        cuEventQuery(any());
        break;
    case 6:
        cuLaunchKernel(any(), 1, 1, 1, 1, 1, 1, 0, any(), params, NULL);
        break;
    case 7:
        cuFuncGetAttribute(&value, (CUfunction_attribute)chance(12), any());
        break;
    case 8:
        cuFuncGetParamInfo(any(), chance(3), &offset, &size);
        break;
    case 9:
        cuModuleGetGlobal(&p, &size, any(), "word");
        break;
    case 10:
        cuLibraryGetGlobal(&p, &size, any(), "word");
        break;
    case 11:
        cuKernelGetName(&name, any());
        break;
    case 12:
        cuLinkAddData(any(), CU_JIT_INPUT_PTX, (void *)helper, sizeof(helper), "helper", 0, NULL, NULL);
        break;
    case 13:
        cuLinkComplete(any(), &image, &size);
        break;
    case 14:
        cuMemGetAddressRange(&p, &size, p);
        break;
    case 15:
        cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p);
        break;
    case 16:
        cuStreamGetCtx(any(), &context);
        break;
    case 17:
        cuStreamGetFlags(any(), &flags);
        break;
    case 18:
        cuCtxSetCurrent(any());
        break;
    case 19:
        cuMemPoolTrimTo(any(), 0);
        break;
    case 20:
        cuLaunchHostFunc(any(), called, NULL);
        break;
    default:
        cuCtxGetApiVersion(any(), &flags);
        break;
    }
}

static void end_something(void)
{
    switch (chance(10)) {
    case 0:
        cuStreamDestroy(any());
        break;
    case 1:
        cuEventDestroy(any());
        break;
    case 2:
        cuModuleUnload(any());
        break;
    case 3:
        cuLibraryUnload(any());
        break;
    case 4:
        cuMemFree((CUdeviceptr)(uintptr_t)any());
        break;
    case 5:
        cuMemFreeAsync((CUdeviceptr)(uintptr_t)any(), any());
        break;
    case 6:
        cuLinkDestroy(any());
        break;
    case 7:
        cuMemPoolDestroy(any());
        break;
    case 8:
        if (chance(4) == 0)
            cuCtxDestroy(any());
        break;
    default:
        if (chance(40) == 0)
            cuDevicePrimaryCtxReset(0);
        break;
    }
}

/* No use of any handle in any place may do more than answer an error, and all that was made must go with its context. */
static void test_any_handle(void **state)
{
    struct alive before = alive();
    CUcontext context, top;
    for (uint32_t round = 0; round < 40; round++) {
        known.seed = round;
        known.count = 0;
        OK(cuDevicePrimaryCtxRetain(&context, 0));
        OK(cuCtxSetCurrent(context));
        note(CUDA_SUCCESS, context);
        for (uint32_t step = 0; step < 1500; step++) {
            if (cuCtxGetCurrent(&top) != CUDA_SUCCESS || !top || cuCtxSynchronize() != CUDA_SUCCESS) {
                bl_fault_inject("alloc", 0);
                OK(cuDevicePrimaryCtxRetain(&context, 0));
                OK(cuCtxSetCurrent(context));
            }
            bl_fault_inject("alloc", round % 2 && chance(20) == 0 ? 1 + chance(10) : 0);
            uint32_t kind = chance(10);
            kind < 4 ? make_something() : kind < 8 ? use_something() : end_something();
        }
        bl_fault_inject("alloc", 0);
        for (uint32_t i = 0; i < known.count; i++) {
            cuLibraryUnload((CUlibrary)(uintptr_t)known.values[i]);
            cuLinkDestroy((CUlinkState)(uintptr_t)known.values[i]);
        }
        while (known.context_count > 0)
            cuCtxDestroy(known.contexts[--known.context_count]);
        OK(cuDevicePrimaryCtxReset(0));
        while (cuCtxPopCurrent(&top) == CUDA_SUCCESS)
            continue;
    }
    assert_alive(before);
}

int main(void)
{
#define WITH_PRIMARY(test) cmocka_unit_test_setup_teardown(test, primary_setup, primary_teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_init), cmocka_unit_test(test_contexts),      cmocka_unit_test(test_managed_without_context),
        WITH_PRIMARY(test_handles),         WITH_PRIMARY(test_pointers),          WITH_PRIMARY(test_order),
        WITH_PRIMARY(test_events),          WITH_PRIMARY(test_parameters),        WITH_PRIMARY(test_faults),
        WITH_PRIMARY(test_threads),         cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_any_handle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
