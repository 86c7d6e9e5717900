// The driver API under the runtime: contexts, modules from PTX text with its error log, functions by name, launches with packed
// parameters, pointers shared with the runtime.
#include "check.h"
#include <cuda.h>

#define DRIVER(call)                                                                                                               \
    do {                                                                                                                           \
        CUresult driver_result = (call);                                                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                                                       \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, driver_result);                                                   \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

static const char text[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                           ".visible .global .align 4 .u32 scale = 3;\n"
                           ".visible .entry times(.param .u64 out, .param .u32 n)\n{\n"
                           "    .reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p;\n"
                           "    ld.param.u64 %rd1, [out];\n    ld.param.u32 %r1, [n];\n"
                           "    mov.u32 %r2, %tid.x;\n    setp.ge.u32 %p, %r2, %r1;\n    @%p bra done;\n"
                           "    ld.global.u32 %r3, [scale];\n    mul.lo.u32 %r4, %r2, %r3;\n"
                           "    mul.wide.u32 %rd2, %r2, 4;\n    add.u64 %rd3, %rd1, %rd2;\n    st.global.u32 [%rd3], %r4;\n"
                           "done:\n    ret;\n}\n";
static const char wrong[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry broken()\n{\n    frobnicate.u32 %r1;\n}\n";

int main()
{
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr out, variable;
    size_t size;
    int major, host[64];
    DRIVER(cuInit(0));
    DRIVER(cuDeviceGet(&device, 0));
    DRIVER(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    REQUIRE(major >= 5);
    DRIVER(cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(cuCtxSetCurrent(context));
    DRIVER(cuModuleLoadData(&module, text));
    DRIVER(cuModuleGetFunction(&function, module, "times"));
    REQUIRE(cuModuleGetFunction(&function, module, "absent") == CUDA_ERROR_NOT_FOUND);
    DRIVER(cuModuleGetFunction(&function, module, "times"));
    DRIVER(cuModuleGetGlobal(&variable, &size, module, "scale"));
    REQUIRE(size == 4);
    DRIVER(cuMemAlloc(&out, sizeof(host)));
    DRIVER(cuMemsetD32(out, 7, 64));
    unsigned n = 50;
    void *params[] = {&out, &n};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
    DRIVER(cuMemcpyDtoH(host, out, sizeof(host)));
    for (int i = 0; i < 64; i++)
        REQUIRE(host[i] == (i < 50 ? i * 3 : 7));
    int five = 5;
    DRIVER(cuMemcpyHtoD(variable, &five, 4));
    struct {
        CUdeviceptr out;
        unsigned n;
    } packed = {out, 64};
    size_t packed_size = 12; // without the padding: a larger size than the kernel takes is an error
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_size, CU_LAUNCH_PARAM_END};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, extra));
    size_t too_much = 16;
    void *larger[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &too_much, CU_LAUNCH_PARAM_END};
    REQUIRE(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, larger) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CHECK(cudaMemcpy(host, (void *)out, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++)
        REQUIRE(host[i] == i * 5);

    char log[4096] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof(log)};
    CUmodule none;
    REQUIRE(cuModuleLoadDataEx(&none, wrong, 2, options, values) == CUDA_ERROR_INVALID_PTX);
    REQUIRE(strstr(log, "frobnicate") != NULL);
    REQUIRE(cuModuleLoadData(&none, "garbage that is no PTX") == CUDA_ERROR_INVALID_IMAGE ||
            cuModuleLoadData(&none, "garbage that is no PTX") == CUDA_ERROR_INVALID_PTX);
    DRIVER(cuMemFree(out));
    DRIVER(cuModuleUnload(module));
    DRIVER(cuDevicePrimaryCtxRelease(device));
    return finish();
}
