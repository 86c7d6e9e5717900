/* Stream memory operations: a stream writes a word, or waits until a word is so. */
#include "cuda/driver/driver.h"

static CUresult check_word(struct bl_cu_context *context, CUdeviceptr address, bool wide)
{
    uint64_t size = wide ? 8 : 4;
    return address && address % size == 0 && bl_cu_range_valid(context, address, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult resolve_wait(struct bl_cu_context *context, const CUstreamBatchMemOpParams *given, bool wide,
                             struct bl_value_op *op)
{
    static const enum bl_value_kind kinds[] = {
        [CU_STREAM_WAIT_VALUE_GEQ] = BL_VALUE_WAIT_GEQ,
        [CU_STREAM_WAIT_VALUE_EQ] = BL_VALUE_WAIT_EQ,
        [CU_STREAM_WAIT_VALUE_AND] = BL_VALUE_WAIT_AND,
        [CU_STREAM_WAIT_VALUE_NOR] = BL_VALUE_WAIT_NOR,
    };
    unsigned flags = given->waitValue.flags;
    CUresult result = check_word(context, given->waitValue.address, wide);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags & CU_STREAM_WAIT_VALUE_FLUSH) /* CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES says that there is none */
        return CUDA_ERROR_NOT_SUPPORTED;
    if (flags >= BL_LEN(kinds))
        return CUDA_ERROR_INVALID_VALUE;
    op->kind = kinds[flags];
    op->address = given->waitValue.address;
    op->value = wide ? given->waitValue.value64 : given->waitValue.value;
    return CUDA_SUCCESS;
}

CUresult bl_cu_memop_resolve(struct bl_cu_context *context, const CUstreamBatchMemOpParams *given, struct bl_value_op *op,
                             bool *nothing)
{
    *op = (struct bl_value_op){.kind = BL_VALUE_WRITE};
    *nothing = false;
    switch ((int)given->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return resolve_wait(context, given, false, op);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        op->wide = true;
        return resolve_wait(context, given, true, op);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        op->wide = given->operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
        op->address = given->writeValue.address;
        op->value = op->wide ? given->writeValue.value64 : given->writeValue.value;
        /* Only words of 4 bytes may go without a barrier: measured on an H200. */
        if (given->writeValue.flags & ~(op->wide ? 0u : (unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER))
            return CUDA_ERROR_INVALID_VALUE;
        return check_word(context, op->address, op->wide);
    case CU_STREAM_MEM_OP_BARRIER: /* what a stream writes, all see in order */
        *nothing = true;
        return given->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* All or none. */
static CUresult submit(CUstream handle, const CUstreamBatchMemOpParams *given, unsigned count)
{
    struct bl_cu_stream *stream = bl_cu_capturing(handle);
    if (stream) {
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
        params.memOp.ctx = BL_CU_HANDLE(CUcontext, stream->context);
        params.memOp.count = count;
        params.memOp.paramArray = (CUstreamBatchMemOpParams *)(uintptr_t)given;
        return bl_cu_capture_add(stream, &params, NULL);
    }
    CUresult result = bl_cu_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    const struct bl_device_ops *ops = stream->context->device->device->ops;
    if (!ops->value)
        return CUDA_ERROR_NOT_SUPPORTED;
    struct bl_step one, *steps = count > 1 ? bl_calloc(count, sizeof(*steps)) : &one;
    if (!steps)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t used = 0;
    for (unsigned i = 0; i < count && result == CUDA_SUCCESS; i++) {
        bool nothing;
        steps[used].kind = BL_STEP_VALUE;
        result = bl_cu_memop_resolve(stream->context, &given[i], &steps[used].value, &nothing);
        used += !nothing;
    }
    struct bl_error error = BL_ERROR_INIT;
    if (result == CUDA_SUCCESS) {
        result = bl_cu_result(stream->context, ops->batch(stream->queue, steps, used, &error));
        bl_cu_stream_touched(stream);
    }
    if (steps != &one)
        bl_free(steps);
    return result;
}

CUresult bl_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *param_array, unsigned int flags)
{
    if (!param_array || !count || flags)
        return CUDA_ERROR_INVALID_VALUE;
    return submit(stream, param_array, count);
}

static CUresult wait(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams op = {.waitValue = {.operation = operation, .address = address, .value64 = value, .flags = flags}};
    return submit(stream, &op, 1);
}

static CUresult write(CUstream stream, CUstreamBatchMemOpType operation, CUdeviceptr address, cuuint64_t value, unsigned flags)
{
    CUstreamBatchMemOpParams op = {.writeValue = {.operation = operation, .address = address, .value64 = value, .flags = flags}};
    return submit(stream, &op, 1);
}

CUresult bl_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult bl_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult bl_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned int flags)
{
    return write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult bl_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value, unsigned int flags)
{
    return write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}
