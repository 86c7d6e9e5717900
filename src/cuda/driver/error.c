/* Names and texts of CUresult, and the way from a status of ours to one. */
#include "cuda/driver/driver.h"

static const struct {
    CUresult code;
    const char *name, *text;
} errors[] = {
#define ERROR(name, text) {name, #name, text},
#include "cuda/driver/errors.def"
#undef ERROR
};

CUresult bl_cuGetErrorName(CUresult error, const char **str)
{
    if (!str)
        return CUDA_ERROR_INVALID_VALUE;
    *str = NULL;
    for (size_t i = 0; i < BL_LEN(errors); i++)
        if (errors[i].code == error) {
            *str = errors[i].name;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGetErrorString(CUresult error, const char **str)
{
    if (!str)
        return CUDA_ERROR_INVALID_VALUE;
    *str = NULL;
    for (size_t i = 0; i < BL_LEN(errors); i++)
        if (errors[i].code == error) {
            *str = errors[i].text;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* What CUDA calls the fault that ended a kernel. */
static CUresult fault_result(enum bl_fault_kind kind)
{
    switch (kind) {
    case BL_FAULT_ILLEGAL_ADDRESS:
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    case BL_FAULT_MISALIGNED:
        return CUDA_ERROR_MISALIGNED_ADDRESS;
    case BL_FAULT_ASSERT:
        return CUDA_ERROR_ASSERT;
    case BL_FAULT_STACK_OVERFLOW:
        return CUDA_ERROR_HARDWARE_STACK_ERROR;
    case BL_FAULT_ILLEGAL_INSTRUCTION:
    case BL_FAULT_UNSUPPORTED:
        return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    case BL_FAULT_BAD_FUNCTION:
        return CUDA_ERROR_INVALID_PC;
    case BL_FAULT_DEADLOCK:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    case BL_FAULT_TRAP: /* CUDA 12 and newer report a trap as an unspecified launch failure */
    case BL_FAULT_NONE:
        break;
    }
    return CUDA_ERROR_LAUNCH_FAILED;
}

static CUresult sticky(struct bl_cu_context *context)
{
    CUresult known = atomic_load(&context->sticky);
    if (known != CUDA_SUCCESS)
        return known;
    struct bl_fault fault;
    struct bl_device *device = context->device->device;
    CUresult result = CUDA_ERROR_LAUNCH_FAILED;
    if (device->ops->fault(device, &fault)) {
        result = fault_result(fault.kind);
        if (atomic_compare_exchange_strong(&context->sticky, &known, result))
            bl_error_log("%s", fault.message);
        return result;
    }
    atomic_store(&context->sticky, result);
    return result;
}

CUresult bl_cu_result(struct bl_cu_context *context, enum bl_status status)
{
    switch (status) {
    case BL_OK:
        return CUDA_SUCCESS;
    case BL_NO_MEMORY:
        return CUDA_ERROR_OUT_OF_MEMORY;
    case BL_INVALID:
        return CUDA_ERROR_INVALID_VALUE;
    case BL_SYNTAX:
        return CUDA_ERROR_INVALID_PTX;
    case BL_UNSUPPORTED:
        return CUDA_ERROR_NOT_SUPPORTED;
    case BL_NOT_FOUND:
        return CUDA_ERROR_NOT_FOUND;
    case BL_IO:
        return CUDA_ERROR_OPERATING_SYSTEM;
    case BL_NO_IMAGE:
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    case BL_COMPILER:
        return CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case BL_NOT_READY:
        return CUDA_ERROR_NOT_READY;
    case BL_FAULT:
        return context ? sticky(context) : CUDA_ERROR_LAUNCH_FAILED;
    case BL_TIMEOUT:
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    return CUDA_ERROR_UNKNOWN;
}
