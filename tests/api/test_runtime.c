/* The runtime over the driver over a device that only notes what it is asked: registered code, a thread's last error, resets, and
 * memory running out at every allocation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>

#include "toolkit/include/crt/host_runtime.h"

#include "fake_device.h"

#define OK(call) assert_int_equal((call), cudaSuccess)
#define ANSWERS(call, code) assert_int_equal((call), (code))

static char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 word;\n"
                     ".visible .global .attribute(.managed) .align 4 .u32 shared;\n"
                     ".visible .entry two(.param .u64 p, .param .u32 n)\n{\n ret;\n}\n"
                     ".visible .entry fault_trap()\n{\n ret;\n}\n";

/* The host sides: what is registered is their addresses. */
static char two, fault_trap, absent, word, unknown;
static void *shared;

static void **register_all(void)
{
    void **handle = __cudaRegisterFatBinary(text);
    __cudaRegisterFunction(handle, &two, &two, "two", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &fault_trap, &fault_trap, "fault_trap", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterFunction(handle, &absent, &absent, "absent", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(handle, &word, &word, "word", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    return handle;
}

static const dim3 one = {1, 1, 1};

static void test_registered(void **state)
{
    uint64_t p = 5;
    uint32_t n = 6;
    void *args[] = {&p, &n}, *address;
    size_t size = 0;
    struct cudaFuncAttributes attributes;
    /* Unregistering code that registered nothing, before anything was. */
    __cudaUnregisterFatBinary(__cudaRegisterFatBinary(text));
    ANSWERS(cudaLaunchKernel(&two, one, one, args, 0, NULL), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaGetSymbolAddress(&address, &word), cudaErrorInvalidSymbol);
    void **handle = register_all();
    OK(cudaLaunchKernel(&two, one, one, args, 0, NULL));
    assert_memory_equal(fake.params, &p, 8);
    assert_memory_equal(fake.params + 8, &n, 4);
    OK(cudaGetSymbolSize(&size, &word));
    assert_int_equal(size, 4);
    ANSWERS(cudaGetSymbolSize(&size, &two), cudaErrorInvalidSymbol);
    ANSWERS(cudaLaunchKernel(&word, one, one, args, 0, NULL), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaLaunchKernel(&unknown, one, one, args, 0, NULL), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaLaunchKernel(&absent, one, one, args, 0, NULL), cudaErrorInvalidDeviceFunction);
    OK(cudaFuncGetAttributes(&attributes, &two));
    /* Code outlives a reset of the device. */
    OK(cudaDeviceReset());
    OK(cudaLaunchKernel(&two, one, one, args, 0, NULL));
    __cudaUnregisterFatBinary(handle);
    ANSWERS(cudaLaunchKernel(&two, one, one, args, 0, NULL), cudaErrorInvalidResourceHandle);
    OK(cudaDeviceReset());
}

/* A managed variable has its address before main, and host code names it by that. */
static void test_managed(void **state)
{
    void **handle = __cudaRegisterFatBinary(text), *address;
    __cudaRegisterManagedVar(handle, &shared, "shared", "shared", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(handle);
    assert_non_null(shared);
    OK(cudaGetSymbolAddress(&address, shared));
    assert_ptr_equal(address, shared);
    __cudaUnregisterFatBinary(handle);
    ANSWERS(cudaGetSymbolAddress(&address, shared), cudaErrorInvalidSymbol);
    OK(cudaDeviceReset());
}

/* More shared memory than a launch can name must not be cut to 32 bits. */
static void test_shared(void **state)
{
    void **handle = register_all();
    uint64_t p = 0;
    uint32_t n = 0;
    void *args[] = {&p, &n};
    size_t huge = (size_t)1 << 32;
    cudaLaunchConfig_t config = {.gridDim = one, .blockDim = one, .dynamicSmemBytes = huge};
    unsigned launches = fake.launches;
    ANSWERS(cudaLaunchKernel(&two, one, one, args, huge, NULL), cudaErrorInvalidValue);
    ANSWERS(cudaLaunchCooperativeKernel(&two, one, one, args, huge, NULL), cudaErrorInvalidValue);
    ANSWERS(cudaLaunchKernelExC(&config, &two, args), cudaErrorInvalidValue);
    assert_int_equal(fake.launches, launches);
    __cudaUnregisterFatBinary(handle);
    OK(cudaDeviceReset());
}

static void *other_thread(void *data)
{
    return (void *)(uintptr_t)cudaPeekAtLastError();
}

static void test_last_error(void **state)
{
    void *there, *p;
    pthread_t thread;
    ANSWERS(cudaSetDevice(7), cudaErrorInvalidDevice);
    OK(cudaMalloc(&p, 4)); /* a call that goes well leaves it */
    ANSWERS(cudaPeekAtLastError(), cudaErrorInvalidDevice);
    assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_join(thread, &there);
    assert_null(there); /* each thread has its own */
    ANSWERS(cudaGetLastError(), cudaErrorInvalidDevice);
    ANSWERS(cudaGetLastError(), cudaSuccess);
    ANSWERS(cudaFree((char *)p + 1), cudaErrorInvalidValue);
    ANSWERS(cudaStreamQuery((cudaStream_t)p), cudaErrorInvalidResourceHandle);
    ANSWERS(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    OK(cudaDeviceReset());
}

/* A fault stays until the device is reset. */
static void test_fault(void **state)
{
    void **handle = register_all(), *p;
    OK(cudaLaunchKernel(&fault_trap, one, one, NULL, 0, NULL));
    ANSWERS(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
    ANSWERS(cudaGetLastError(), cudaErrorLaunchFailure);
    ANSWERS(cudaMalloc(&p, 4), cudaErrorLaunchFailure);
    OK(cudaDeviceReset());
    ANSWERS(cudaGetLastError(), cudaSuccess);
    OK(cudaMalloc(&p, 4));
    __cudaUnregisterFatBinary(handle);
    OK(cudaDeviceReset());
}

/* ---- memory running out --------------------------------------------------------------------------- */

static bool short_of_memory, unregistered;
/* What was not registered for lack of memory is not known later on; else nothing but success and lack of memory may come. */
static bool went(cudaError_t error)
{
    if (error != cudaSuccess && !(unregistered && (error == cudaErrorInvalidResourceHandle || error == cudaErrorInvalidSymbol)))
        assert_int_equal(error, cudaErrorMemoryAllocation);
    short_of_memory |= error != cudaSuccess;
    return error == cudaSuccess;
}

static void use_all(uint64_t nth)
{
    uint32_t n = 1, value = 0;
    void *p = NULL, *host, *args[] = {&p, &n};
    cudaStream_t stream;
    cudaEvent_t event;
    bl_fault_inject("alloc", nth);
    void **handle = register_all();
    unregistered = nth && nth < 8;
    if (went(cudaMalloc(&p, 64)) && went(cudaStreamCreate(&stream))) {
        went(cudaMemcpyAsync(p, &n, 4, cudaMemcpyHostToDevice, stream));
        went(cudaLaunchKernel(&two, one, one, args, 0, stream));
        went(cudaMemcpyToSymbol(&word, &n, 4, 0, cudaMemcpyHostToDevice));
        went(cudaMemcpyFromSymbol(&value, &word, 4, 0, cudaMemcpyDeviceToHost));
        if (went(cudaEventCreate(&event))) {
            went(cudaEventRecord(event, stream));
            OK(cudaEventDestroy(event));
        }
        if (went(cudaMallocHost(&host, 100)))
            OK(cudaFreeHost(host));
        if (went(cudaMallocAsync(&host, 100, stream)))
            went(cudaFreeAsync(host, stream));
        went(cudaMemcpy(&value, p, 4, cudaMemcpyDefault));
        OK(cudaStreamDestroy(stream));
    }
    bl_fault_inject("alloc", 0);
    OK(cudaFree(p));
    __cudaUnregisterFatBinary(handle);
    OK(cudaDeviceReset());
}

static void test_out_of_memory(void **state)
{
    uint64_t nth = 1, failed = 0;
    use_all(0);
    assert_false(short_of_memory);
    long queues = fake.queues, fences = fake.fences, modules = fake.modules, allocations = fake.allocations;
    for (unsigned without = 0; without < 8; nth++) {
        short_of_memory = false;
        use_all(nth);
        without = short_of_memory ? 0 : without + 1;
        failed += short_of_memory;
        assert_int_equal(fake.queues, queues);
        assert_int_equal(fake.fences, fences);
        assert_int_equal(fake.modules, modules);
        assert_int_equal(fake.allocations, allocations);
    }
    printf("%lu allocations, of which %lu failed a call\n", (unsigned long)nth - 9, (unsigned long)failed);
    assert_true(failed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registered), cmocka_unit_test(test_managed), cmocka_unit_test(test_shared),
        cmocka_unit_test(test_last_error), cmocka_unit_test(test_fault),   cmocka_unit_test(test_out_of_memory),
    };
    bl_log_set_level(BL_LOG_OFF);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
