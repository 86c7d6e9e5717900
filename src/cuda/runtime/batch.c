/* Calls for many ranges at once. Part of libcudart. The structs are the driver's, field by field. */
#include "cuda/runtime/runtime.h"

_Static_assert(sizeof(struct cudaMemcpyAttributes) == sizeof(CUmemcpyAttributes), "the same fields");
_Static_assert(sizeof(struct cudaMemcpy3DBatchOp) == sizeof(CUDA_MEMCPY3D_BATCH_OP), "the same fields");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "the same fields");

cudaError_t bl_rt_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
                                       struct cudaMemcpyAttributes *attrs, size_t *attrs_idxs, size_t num_attrs,
                                       cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemcpyBatchAsync((CUdeviceptr *)(uintptr_t)dsts, (CUdeviceptr *)(uintptr_t)srcs,
                                          (size_t *)(uintptr_t)sizes, count, (CUmemcpyAttributes *)attrs, attrs_idxs, num_attrs,
                                          (CUstream)stream));
}

/* What failed is told by the driver's older call, which the header of 13 no longer has a name for. */
cudaError_t bl_rt_cudaMemcpyBatchAsync_12(void **dsts, void **srcs, size_t *sizes, size_t count, struct cudaMemcpyAttributes *attrs,
                                          size_t *attrs_idxs, size_t num_attrs, size_t *fail_idx, cudaStream_t stream)
{
    cudaError_t error =
        bl_rt_cudaMemcpyBatchAsync(dsts, (const void *const *)srcs, sizes, count, attrs, attrs_idxs, num_attrs, stream);
    if (error != cudaSuccess && fail_idx)
        *fail_idx = SIZE_MAX; /* allowed: not one of them */
    return error;
}

cudaError_t bl_rt_cudaMemcpy3DBatchAsync(size_t num_ops, struct cudaMemcpy3DBatchOp *op_list, unsigned long long flags,
                                         cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemcpy3DBatchAsync(num_ops, (CUDA_MEMCPY3D_BATCH_OP *)op_list, flags, (CUstream)stream));
}

cudaError_t bl_rt_cudaMemcpy3DBatchAsync_12(size_t num_ops, struct cudaMemcpy3DBatchOp *op_list, size_t *fail_idx,
                                            unsigned long long flags, cudaStream_t stream)
{
    cudaError_t error = bl_rt_cudaMemcpy3DBatchAsync(num_ops, op_list, flags, stream);
    if (error != cudaSuccess && fail_idx)
        *fail_idx = SIZE_MAX;
    return error;
}

cudaError_t bl_rt_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetch_locs,
                                            size_t *prefetch_loc_idxs, size_t num_prefetch_locs, unsigned long long flags,
                                            cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count, (CUmemLocation *)prefetch_locs,
                                               prefetch_loc_idxs, num_prefetch_locs, flags, (CUstream)stream));
}

cudaError_t bl_rt_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count, unsigned long long flags, cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemDiscardBatchAsync((CUdeviceptr *)dptrs, sizes, count, flags, (CUstream)stream));
}

cudaError_t bl_rt_cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                      struct cudaMemLocation *prefetch_locs, size_t *prefetch_loc_idxs,
                                                      size_t num_prefetch_locs, unsigned long long flags, cudaStream_t stream)
{
    BL_RT_ENTER();
    return bl_rt_error(cuMemDiscardAndPrefetchBatchAsync((CUdeviceptr *)dptrs, sizes, count, (CUmemLocation *)prefetch_locs,
                                                         prefetch_loc_idxs, num_prefetch_locs, flags, (CUstream)stream));
}
