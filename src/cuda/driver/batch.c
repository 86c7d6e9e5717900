/* Calls for many ranges at once: copies, prefetches, discards. All arguments are checked before anything is done. What is refused
 * follows an H200 (tests/api/calls_memory.cu). */
#include "cuda/driver/driver.h"

/* The legacy stream is not allowed for these. */
static bool stream_allowed(CUstream stream)
{
    return stream && stream != CU_STREAM_LEGACY;
}

/* Whether indices begin with 0 and ascend below count. */
static bool indices_valid(const size_t *indices, size_t indices_count, size_t count)
{
    if (!indices || !indices_count || indices_count > count || indices[0] != 0)
        return false;
    for (size_t i = 1; i < indices_count; i++)
        if (indices[i] <= indices[i - 1] || indices[i] >= count)
            return false;
    return true;
}

static bool order_valid(CUmemcpySrcAccessOrder order)
{
    return order >= CU_MEMCPY_SRC_ACCESS_ORDER_STREAM && order <= CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
}

/* ---- copies ------------------------------------------------------------------------------------- */

/* As cuMemcpyAsync looks at it: known ranges must be long enough, other addresses are the host's. */
static bool end_valid(CUdeviceptr address, size_t size)
{
    struct bl_cu_allocation found;
    return address &&
           (!bl_cu_allocation_find(address, &found) || found.memory == BL_CU_MAPPED || size <= found.size - (address - found.base));
}

static CUresult check_copies(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count,
                             const CUmemcpyAttributes *attributes, const size_t *indices, size_t attribute_count, CUstream stream,
                             size_t *failed)
{
    *failed = SIZE_MAX;
    if (!to || !from || !sizes || !count || !attributes || !indices_valid(indices, attribute_count, count) ||
        !stream_allowed(stream))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < attribute_count; i++)
        if (!order_valid(attributes[i].srcAccessOrder))
            return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!sizes[i] || !end_valid(to[i], sizes[i]) || !end_valid(from[i], sizes[i])) {
            *failed = i;
            return CUDA_ERROR_INVALID_VALUE;
        }
    return CUDA_SUCCESS;
}

CUresult bl_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
                               size_t *attrs_idxs, size_t num_attrs, size_t *fail_idx, CUstream stream)
{
    size_t failed;
    CUresult result = check_copies(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream, &failed);
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        result = bl_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
        if (result != CUDA_SUCCESS)
            failed = i;
    }
    if (fail_idx && result != CUDA_SUCCESS)
        *fail_idx = failed;
    return result;
}

CUresult bl_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, CUmemcpyAttributes *attrs,
                                  size_t *attrs_idxs, size_t num_attrs, CUstream stream)
{
    return bl_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrs_idxs, num_attrs, NULL, stream);
}

/* Bytes of an element: copies with an array count in its elements, others in bytes. 0: no such array. */
static size_t element_of(const CUmemcpy3DOperand *operand)
{
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return 1;
    struct bl_cu_array *array = bl_cu_object(operand->op.array.array, BL_CU_ARRAY);
    return array ? array->element : 0;
}

/* One side of a box, in the terms of a 3D copy. */
struct end {
    CUmemorytype type;
    CUdeviceptr address;
    CUarray array;
    size_t x, y, z, pitch, rows;
};

static bool make_end(struct end *end, const CUmemcpy3DOperand *operand, const CUextent3D *extent, size_t element)
{
    *end = (struct end){.type = CU_MEMORYTYPE_UNIFIED};
    if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        end->type = CU_MEMORYTYPE_ARRAY;
        end->array = operand->op.array.array;
        end->y = operand->op.array.offset.y;
        end->z = operand->op.array.offset.z;
        return !__builtin_mul_overflow(operand->op.array.offset.x, element, &end->x);
    }
    if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER || !operand->op.ptr.ptr)
        return false;
    size_t row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    end->rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    end->address = operand->op.ptr.ptr;
    return row >= extent->width && end->rows >= extent->height && !__builtin_mul_overflow(row, element, &end->pitch);
}

static bool make_box(const CUDA_MEMCPY3D_BATCH_OP *op, CUDA_MEMCPY3D *box)
{
    size_t from_element = element_of(&op->src), to_element = element_of(&op->dst);
    size_t element = BL_MAX(from_element, to_element), width;
    struct end from, to;
    if (!from_element || !to_element || !op->extent.width || !op->extent.height || !op->extent.depth ||
        !order_valid(op->srcAccessOrder) || __builtin_mul_overflow(op->extent.width, element, &width) ||
        !make_end(&from, &op->src, &op->extent, element) || !make_end(&to, &op->dst, &op->extent, element))
        return false;
    *box = (CUDA_MEMCPY3D){.srcMemoryType = from.type,
                           .srcDevice = from.address,
                           .srcArray = from.array,
                           .srcXInBytes = from.x,
                           .srcY = from.y,
                           .srcZ = from.z,
                           .srcPitch = from.pitch,
                           .srcHeight = from.rows,
                           .dstMemoryType = to.type,
                           .dstDevice = to.address,
                           .dstArray = to.array,
                           .dstXInBytes = to.x,
                           .dstY = to.y,
                           .dstZ = to.z,
                           .dstPitch = to.pitch,
                           .dstHeight = to.rows,
                           .WidthInBytes = width,
                           .Height = op->extent.height,
                           .Depth = op->extent.depth};
    return true;
}

CUresult bl_cuMemcpy3DBatchAsync(size_t num_ops, CUDA_MEMCPY3D_BATCH_OP *op_list, size_t *fail_idx, unsigned long long flags,
                                 CUstream stream)
{
    CUDA_MEMCPY3D box;
    size_t failed = SIZE_MAX;
    bool valid = num_ops && op_list && !flags && stream_allowed(stream);
    for (size_t i = 0; i < num_ops && valid; i++)
        if (!make_box(&op_list[i], &box)) {
            valid = false;
            failed = i;
        }
    CUresult result = valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < num_ops && result == CUDA_SUCCESS; i++) {
        make_box(&op_list[i], &box);
        result = bl_cuMemcpy3DAsync_v2(&box, stream);
        if (result != CUDA_SUCCESS)
            failed = i;
    }
    if (fail_idx && result != CUDA_SUCCESS)
        *fail_idx = failed;
    return result;
}

CUresult bl_cuMemcpy3DBatchAsync_v2(size_t num_ops, CUDA_MEMCPY3D_BATCH_OP *op_list, unsigned long long flags, CUstream stream)
{
    return bl_cuMemcpy3DBatchAsync(num_ops, op_list, NULL, flags, stream);
}

/* ---- managed memory ------------------------------------------------------------------------------ */

static CUresult check_ranges(const CUdeviceptr *addresses, const size_t *sizes, size_t count, unsigned long long flags,
                             CUstream stream)
{
    if (!addresses || !sizes || !count || flags || !stream_allowed(stream))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct bl_cu_allocation found;
        if (!sizes[i] || !bl_cu_allocation_find(addresses[i], &found) ||
            (found.memory != BL_CU_MANAGED && !(found.memory == BL_CU_VARIABLE && found.flags)) ||
            sizes[i] > found.size - (addresses[i] - found.base))
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetch_locs,
                                    size_t *prefetch_loc_idxs, size_t num_prefetch_locs, unsigned long long flags, CUstream stream)
{
    CUresult result = check_ranges(dptrs, sizes, count, flags, stream);
    if (result == CUDA_SUCCESS && (!prefetch_locs || !indices_valid(prefetch_loc_idxs, num_prefetch_locs, count)))
        result = CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0, at = 0; i < count && result == CUDA_SUCCESS; i++) {
        while (at + 1 < num_prefetch_locs && prefetch_loc_idxs[at + 1] <= i)
            at++;
        result = bl_cuMemPrefetchAsync_v2(dptrs[i], sizes[i], prefetch_locs[at], 0, stream);
    }
    return result;
}

/* What is discarded may be anything from now on; here it stays what it was. */
CUresult bl_cuMemDiscardBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, unsigned long long flags, CUstream stream)
{
    CUresult result = check_ranges(dptrs, sizes, count, flags, stream);
    struct bl_cu_stream *found;
    return result == CUDA_SUCCESS ? bl_cu_stream_enter(stream, &found) : result;
}

CUresult bl_cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *dptrs, size_t *sizes, size_t count, CUmemLocation *prefetch_locs,
                                              size_t *prefetch_loc_idxs, size_t num_prefetch_locs, unsigned long long flags,
                                              CUstream stream)
{
    return bl_cuMemPrefetchBatchAsync(dptrs, sizes, count, prefetch_locs, prefetch_loc_idxs, num_prefetch_locs, flags, stream);
}
