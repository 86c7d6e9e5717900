/* What a kernel may call of the CUDA runtime: device-side launches and their helpers. Included by cuda_runtime_api.h; empty for
 * host compilers. */
#ifndef __CUDA_DEVICE_RUNTIME_API_H__
#define __CUDA_DEVICE_RUNTIME_API_H__

#include "crt/host_defines.h"

#if (defined(__CUDACC__) || defined(__CUDA__)) && defined(__cplusplus)

#include "driver_types.h"
#include "device_types.h"

#define cudaStreamGraphTailLaunch ((cudaStream_t)0x0100000000000000)
#define cudaStreamGraphFireAndForget ((cudaStream_t)0x0200000000000000)
#define cudaStreamGraphFireAndForgetAsSibling ((cudaStream_t)0x0300000000000000)
#define cudaStreamTailLaunch ((cudaStream_t)0x3)
#define cudaStreamFireAndForget ((cudaStream_t)0x4)

extern "C" {
extern __device__ unsigned long long CUDARTAPI cudaCGGetIntrinsicHandle(enum cudaCGScope scope);
extern __device__ cudaError_t CUDARTAPI cudaCGGetRank(unsigned int *thread_rank, unsigned int *grid_rank,
                                                      unsigned long long handle);
extern __device__ cudaError_t CUDARTAPI cudaCGGetSize(unsigned int *num_threads, unsigned int *num_grids,
                                                      unsigned long long handle);
extern __device__ cudaError_t CUDARTAPI cudaCGSynchronize(unsigned long long handle, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaCGSynchronizeGrid(unsigned long long handle, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
extern __device__ cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(enum cudaFuncCache *p_cache_config);
extern __device__ cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t *p_value, enum cudaLimit limit);
extern __device__ cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *p_config);
extern __device__ cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event);
extern __device__ cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaFree(void *dev_ptr);
extern __device__ cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
extern __device__ cudaError_t CUDARTAPI cudaGetDevice(int *device);
extern __device__ cudaError_t CUDARTAPI cudaGetDeviceCount(int *count);
extern __device__ const char *CUDARTAPI cudaGetErrorName(cudaError_t error);
extern __device__ const char *CUDARTAPI cudaGetErrorString(cudaError_t error);
extern __device__ cudaError_t CUDARTAPI cudaGetLastError(void);
extern __device__ void *CUDARTAPI cudaGetParameterBuffer(size_t alignment, size_t size);
extern __device__ void *CUDARTAPI cudaGetParameterBufferV2(void *func, dim3 grid_dimension, dim3 block_dimension,
                                                           unsigned int shared_mem_size);
extern __device__ cudaError_t CUDARTAPI cudaGraphKernelNodeSetEnabled(cudaGraphDeviceNode_t node, bool enable);
extern __device__ cudaError_t CUDARTAPI cudaGraphKernelNodeSetGridDim(cudaGraphDeviceNode_t node, dim3 grid_dim);
extern __device__ cudaError_t CUDARTAPI cudaGraphKernelNodeSetParam(cudaGraphDeviceNode_t node, size_t offset, const void *value,
                                                                    size_t size);
extern __device__ cudaError_t CUDARTAPI cudaGraphKernelNodeUpdatesApply(const cudaGraphKernelNodeUpdate *updates,
                                                                        size_t update_count);
extern __device__ cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graph_exec, cudaStream_t stream);
extern __device__ void CUDARTAPI cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned int value);
extern __device__ cudaError_t CUDARTAPI cudaLaunchDevice(void *func, void *parameter_buffer, dim3 grid_dimension,
                                                         dim3 block_dimension, unsigned int shared_mem_size, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaLaunchDeviceV2(void *parameter_buffer, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaLaunchDeviceV2_ptsz(void *parameter_buffer, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaLaunchDevice_ptsz(void *func, void *parameter_buffer, dim3 grid_dimension,
                                                              dim3 block_dimension, unsigned int shared_mem_size,
                                                              cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMalloc(void **dev_ptr, size_t size);
extern __device__ cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                                          size_t height, enum cudaMemcpyKind kind, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemcpy2DAsync_ptsz(void *dst, size_t dpitch, const void *src, size_t spitch,
                                                               size_t width, size_t height, enum cudaMemcpyKind kind,
                                                               cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                                        cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemcpyAsync_ptsz(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                                             cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemset2DAsync(void *dev_ptr, size_t pitch, int value, size_t width, size_t height,
                                                          cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemset2DAsync_ptsz(void *dev_ptr, size_t pitch, int value, size_t width, size_t height,
                                                               cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitched_dev_ptr, int value,
                                                          struct cudaExtent extent, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemset3DAsync_ptsz(struct cudaPitchedPtr pitched_dev_ptr, int value,
                                                               struct cudaExtent extent, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemsetAsync(void *dev_ptr, int value, size_t count, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaMemsetAsync_ptsz(void *dev_ptr, int value, size_t count, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, const void *func,
                                                                                      int block_size, size_t dynamic_smem_size);
extern __device__ cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *num_blocks, const void *func,
                                                                                               int block_size,
                                                                                               size_t dynamic_smem_size,
                                                                                               unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaPeekAtLastError(void);
extern __device__ cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *runtime_version);
extern __device__ cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t *p_stream, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2DeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2DeviceGetCacheConfig(enum cudaFuncCache *p_cache_config);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2DeviceGetLimit(size_t *p_value, enum cudaLimit limit);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2DeviceGetSharedMemConfig(enum cudaSharedMemConfig *p_config);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventDestroy(cudaEvent_t event);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventRecord(cudaEvent_t event, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                                                            unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2EventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Free(void *dev_ptr);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2FuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2GetDevice(int *device);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2GetDeviceCount(int *count);
extern __device__ const char *CUDARTAPI __cudaCDP2GetErrorName(cudaError_t error);
extern __device__ const char *CUDARTAPI __cudaCDP2GetErrorString(cudaError_t error);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2GetLastError(void);
extern __device__ void *CUDARTAPI __cudaCDP2GetParameterBuffer(size_t alignment, size_t size);
extern __device__ void *CUDARTAPI __cudaCDP2GetParameterBufferV2(void *func, dim3 grid_dimension, dim3 block_dimension,
                                                                 unsigned int shared_mem_size);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2LaunchDevice(void *func, void *parameter_buffer, dim3 grid_dimension,
                                                               dim3 block_dimension, unsigned int shared_mem_size,
                                                               cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2LaunchDeviceV2(void *parameter_buffer, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2LaunchDeviceV2_ptsz(void *parameter_buffer, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2LaunchDevice_ptsz(void *func, void *parameter_buffer, dim3 grid_dimension,
                                                                    dim3 block_dimension, unsigned int shared_mem_size,
                                                                    cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Malloc(void **dev_ptr, size_t size);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                                                size_t width, size_t height, enum cudaMemcpyKind kind,
                                                                cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memcpy2DAsync_ptsz(void *dst, size_t dpitch, const void *src, size_t spitch,
                                                                     size_t width, size_t height, enum cudaMemcpyKind kind,
                                                                     cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memcpy3DAsync_ptsz(const struct cudaMemcpy3DParms *p, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2MemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                                              cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2MemcpyAsync_ptsz(void *dst, const void *src, size_t count,
                                                                   enum cudaMemcpyKind kind, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memset2DAsync(void *dev_ptr, size_t pitch, int value, size_t width, size_t height,
                                                                cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memset2DAsync_ptsz(void *dev_ptr, size_t pitch, int value, size_t width,
                                                                     size_t height, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memset3DAsync(struct cudaPitchedPtr pitched_dev_ptr, int value,
                                                                struct cudaExtent extent, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2Memset3DAsync_ptsz(struct cudaPitchedPtr pitched_dev_ptr, int value,
                                                                     struct cudaExtent extent, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2MemsetAsync(void *dev_ptr, int value, size_t count, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2MemsetAsync_ptsz(void *dev_ptr, int value, size_t count, cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, const void *func,
                                                                                            int block_size,
                                                                                            size_t dynamic_smem_size);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *num_blocks, const void *func, int block_size, size_t dynamic_smem_size, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2PeekAtLastError(void);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2RuntimeGetVersion(int *runtime_version);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2StreamCreateWithFlags(cudaStream_t *p_stream, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2StreamDestroy(cudaStream_t stream);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2StreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
extern __device__ cudaError_t CUDARTAPI __cudaCDP2StreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
}

#endif
#endif
