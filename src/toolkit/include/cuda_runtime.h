/* The CUDA runtime for C++ and CUDA C++ programs: the API of cuda_runtime_api.h, templates that spare casts, and, where a CUDA
 * front end compiles, the device side (bailey_device.h). C programs get the API alone. */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

#include "crt/host_config.h"
#include "builtin_types.h"
#include "library_types.h"
#include "channel_descriptor.h"
#include "cuda_runtime_api.h"
#include "driver_functions.h"
#include "vector_functions.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#include "crt/host_runtime.h"
#include "bailey_device.h"
#endif

#ifdef __cplusplus

#if __cplusplus >= 201103L
#include <utility>
#endif

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

#define BL_API static __inline__ __host__ cudaError_t

/* ---- launching ----------------------------------------------------------------------------- */

template <class T>
BL_API cudaLaunchKernel(T *kernel, dim3 grid, dim3 block, void **args, size_t shared = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchKernel((const void *)kernel, grid, block, args, shared, stream);
}

template <class T>
BL_API cudaLaunchCooperativeKernel(T *kernel, dim3 grid, dim3 block, void **args, size_t shared = 0, cudaStream_t stream = 0)
{
    return ::cudaLaunchCooperativeKernel((const void *)kernel, grid, block, args, shared, stream);
}

#if __cplusplus >= 201103L
/* The arguments are converted to the kernel's own parameter types before their addresses are taken. */
template <typename... Parameters, typename... Arguments>
BL_API cudaLaunchKernelEx(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...), Arguments &&...arguments)
{
    return [&](Parameters... converted) {
        void *addresses[] = {(void *)&converted..., nullptr};
        return ::cudaLaunchKernelExC(config, (const void *)kernel, addresses);
    }(std::forward<Arguments>(arguments)...);
}

template <typename... Arguments>
BL_API cudaLaunchKernelEx(const cudaLaunchConfig_t *config, const cudaKernel_t kernel, Arguments &&...arguments)
{
    void *addresses[] = {(void *)&arguments..., nullptr};
    return ::cudaLaunchKernelExC(config, (const void *)kernel, addresses);
}
#endif

/* ---- events and graphs ----------------------------------------------------------------------- */

BL_API cudaEventCreate(cudaEvent_t *event, unsigned int flags)
{
    return ::cudaEventCreateWithFlags(event, flags);
}

/* The forms of CUDA 11. */
BL_API cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *error_node, char *log, size_t log_size)
{
    (void)error_node, (void)log, (void)log_size;
    return ::cudaGraphInstantiate(exec, graph, 0);
}

BL_API cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *error_node,
                           enum cudaGraphExecUpdateResult *result)
{
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = ::cudaGraphExecUpdate(exec, graph, &info);
    if (error_node)
        *error_node = info.errorNode;
    if (result)
        *result = info.result;
    return error;
}

#if __cplusplus >= 201103L
template <class T> BL_API cudaUserObjectCreate(cudaUserObject_t *object, T *wrapped, unsigned int references, unsigned int flags)
{
    return ::cudaUserObjectCreate(
        object, wrapped, [](void *pointer) { delete static_cast<T *>(pointer); }, references, flags);
}

template <class T>
BL_API cudaUserObjectCreate(cudaUserObject_t *object, T *wrapped, unsigned int references, cudaUserObjectFlags flags)
{
    return cudaUserObjectCreate(object, wrapped, references, (unsigned int)flags);
}
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

BL_API cudaMallocHost(void **pointer, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc(pointer, size, flags);
}

template <class T> BL_API cudaMallocHost(T **pointer, size_t size, unsigned int flags = 0)
{
    return ::cudaHostAlloc((void **)(void *)pointer, size, flags);
}

template <class T> BL_API cudaHostAlloc(T **pointer, size_t size, unsigned int flags)
{
    return ::cudaHostAlloc((void **)(void *)pointer, size, flags);
}

template <class T> BL_API cudaHostGetDevicePointer(T **device, void *host, unsigned int flags)
{
    return ::cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}

template <class T> BL_API cudaMalloc(T **pointer, size_t size)
{
    return ::cudaMalloc((void **)(void *)pointer, size);
}

template <class T> BL_API cudaMallocManaged(T **pointer, size_t size, unsigned int flags = cudaMemAttachGlobal)
{
    return ::cudaMallocManaged((void **)(void *)pointer, size, flags);
}

template <class T> BL_API cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    return ::cudaMallocPitch((void **)(void *)pointer, pitch, width, height);
}

template <class T> BL_API cudaMallocAsync(T **pointer, size_t size, cudaStream_t stream)
{
    return ::cudaMallocAsync((void **)(void *)pointer, size, stream);
}

BL_API cudaMallocAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync(pointer, size, pool, stream);
}

template <class T> BL_API cudaMallocAsync(T **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)pointer, size, pool, stream);
}

template <class T> BL_API cudaMallocFromPoolAsync(T **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    return ::cudaMallocFromPoolAsync((void **)(void *)pointer, size, pool, stream);
}

template <class T>
BL_API cudaStreamAttachMemAsync(cudaStream_t stream, T *pointer, size_t size = 0, unsigned int flags = cudaMemAttachSingle)
{
    return ::cudaStreamAttachMemAsync(stream, (void *)pointer, size, flags);
}

template <class T>
BL_API cudaMemPrefetchBatchAsync(T **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
                                 size_t *location_indices, size_t location_count, unsigned long long flags, cudaStream_t stream)
{
    return ::cudaMemPrefetchBatchAsync((void **)pointers, sizes, count, locations, location_indices, location_count, flags, stream);
}

template <class T>
BL_API cudaMemPrefetchBatchAsync(T **pointers, size_t *sizes, size_t count, struct cudaMemLocation location,
                                 unsigned long long flags, cudaStream_t stream)
{
    size_t first = 0;
    return ::cudaMemPrefetchBatchAsync((void **)pointers, sizes, count, &location, &first, 1, flags, stream);
}

template <class T>
BL_API cudaMemDiscardAndPrefetchBatchAsync(T **pointers, size_t *sizes, size_t count, struct cudaMemLocation *locations,
                                           size_t *location_indices, size_t location_count, unsigned long long flags,
                                           cudaStream_t stream)
{
    return ::cudaMemDiscardAndPrefetchBatchAsync((void **)pointers, sizes, count, locations, location_indices, location_count,
                                                 flags, stream);
}

template <class T>
BL_API cudaMemDiscardAndPrefetchBatchAsync(T **pointers, size_t *sizes, size_t count, struct cudaMemLocation location,
                                           unsigned long long flags, cudaStream_t stream)
{
    size_t first = 0;
    return ::cudaMemDiscardAndPrefetchBatchAsync((void **)pointers, sizes, count, &location, &first, 1, flags, stream);
}

template <class T, class U>
BL_API cudaMemcpyBatchAsync(T *const *to, U *const *from, const size_t *sizes, size_t count,
                            struct cudaMemcpyAttributes *attributes, size_t *attribute_indices, size_t attribute_count,
                            cudaStream_t stream)
{
    return ::cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, sizes, count, attributes, attribute_indices,
                                  attribute_count, stream);
}

template <class T, class U>
BL_API cudaMemcpyBatchAsync(T *const *to, U *const *from, const size_t *sizes, size_t count, struct cudaMemcpyAttributes attributes,
                            cudaStream_t stream)
{
    size_t first = 0;
    return ::cudaMemcpyBatchAsync((void *const *)to, (const void *const *)from, sizes, count, &attributes, &first, 1, stream);
}

/* ---- occupancy ------------------------------------------------------------------------------- */

template <class T>
BL_API cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, T kernel, int block_size, size_t dynamic_shared,
                                                              unsigned int flags)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)kernel, block_size, dynamic_shared,
                                                                    flags);
}

template <class T>
BL_API cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, T kernel, int block_size, size_t dynamic_shared)
{
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, (const void *)kernel, block_size, dynamic_shared,
                                                                    cudaOccupancyDefault);
}

template <class T> BL_API cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_shared, T *kernel, int blocks, int block_size)
{
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(dynamic_shared, (const void *)kernel, blocks, block_size);
}

template <class T> BL_API cudaOccupancyMaxPotentialClusterSize(int *size, T *kernel, const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxPotentialClusterSize(size, (const void *)kernel, config);
}

template <class T> BL_API cudaOccupancyMaxActiveClusters(int *clusters, T *kernel, const cudaLaunchConfig_t *config)
{
    return ::cudaOccupancyMaxActiveClusters(clusters, (const void *)kernel, config);
}

/* Tries block sizes from the largest down, a warp at a time, and keeps the first that puts the most threads on a multiprocessor. */
template <typename SharedForBlock, class T>
BL_API cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int *min_grid_size, int *block_size, T kernel,
                                                               SharedForBlock shared_for_block, int block_size_limit = 0,
                                                               unsigned int flags = 0)
{
    if (!min_grid_size || !block_size || !kernel)
        return cudaErrorInvalidValue;
    static const enum cudaDeviceAttr asked[] = {cudaDevAttrMaxThreadsPerMultiProcessor, cudaDevAttrWarpSize,
                                                cudaDevAttrMaxThreadsPerBlock, cudaDevAttrMultiProcessorCount};
    int device, answer[4];
    cudaError_t error = ::cudaGetDevice(&device);
    for (int i = 0; i < 4 && error == cudaSuccess; i++)
        error = ::cudaDeviceGetAttribute(&answer[i], asked[i], device);
    struct cudaFuncAttributes attributes;
    if (error == cudaSuccess)
        error = ::cudaFuncGetAttributes(&attributes, (const void *)kernel);
    if (error != cudaSuccess)
        return error;

    int warp = answer[1], limit = block_size_limit > 0 && block_size_limit < answer[2] ? block_size_limit : answer[2];
    if (attributes.maxThreadsPerBlock < limit)
        limit = attributes.maxThreadsPerBlock;
    int best_threads = 0, best_size = 0, best_blocks = 0;
    for (int top = (limit + warp - 1) / warp * warp; top > 0 && best_threads != answer[0]; top -= warp) {
        int size = top < limit ? top : limit, blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void *)kernel, size,
                                                                         shared_for_block(size), flags);
        if (error != cudaSuccess)
            return error;
        if (blocks * size > best_threads) {
            best_threads = blocks * size;
            best_size = size;
            best_blocks = blocks;
        }
    }
    *min_grid_size = best_blocks * answer[3];
    *block_size = best_size;
    return cudaSuccess;
}

template <typename SharedForBlock, class T>
BL_API cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *min_grid_size, int *block_size, T kernel,
                                                      SharedForBlock shared_for_block, int block_size_limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid_size, block_size, kernel, shared_for_block,
                                                                   block_size_limit, cudaOccupancyDefault);
}

struct bl_same_shared {
    size_t bytes;
    __host__ size_t operator()(int) const
    {
        return bytes;
    }
};

template <class T>
BL_API cudaOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid_size, int *block_size, T kernel, size_t dynamic_shared = 0,
                                                   int block_size_limit = 0, unsigned int flags = 0)
{
    struct bl_same_shared shared = {dynamic_shared};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(min_grid_size, block_size, kernel, shared, block_size_limit,
                                                                   flags);
}

template <class T>
BL_API cudaOccupancyMaxPotentialBlockSize(int *min_grid_size, int *block_size, T kernel, size_t dynamic_shared = 0,
                                          int block_size_limit = 0)
{
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(min_grid_size, block_size, kernel, dynamic_shared, block_size_limit,
                                                       cudaOccupancyDefault);
}

/* ---- where kernels and device variables can be named ----------------------------------------- */

#if defined(__CUDACC__) || defined(__CUDA__)

template <class T>
BL_API cudaMemcpyToSymbol(const T &symbol, const void *from, size_t size, size_t offset = 0,
                          enum cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return ::cudaMemcpyToSymbol((const void *)&symbol, from, size, offset, kind);
}

template <class T>
BL_API cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t size, size_t offset = 0,
                               enum cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0)
{
    return ::cudaMemcpyToSymbolAsync((const void *)&symbol, from, size, offset, kind, stream);
}

template <class T>
BL_API cudaMemcpyFromSymbol(void *to, const T &symbol, size_t size, size_t offset = 0,
                            enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return ::cudaMemcpyFromSymbol(to, (const void *)&symbol, size, offset, kind);
}

template <class T>
BL_API cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t size, size_t offset = 0,
                                 enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0)
{
    return ::cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, size, offset, kind, stream);
}

template <class T> BL_API cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    return ::cudaGetSymbolAddress(pointer, (const void *)&symbol);
}

template <class T> BL_API cudaGetSymbolSize(size_t *size, const T &symbol)
{
    return ::cudaGetSymbolSize(size, (const void *)&symbol);
}

template <class T>
BL_API cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                      size_t dependency_count, const T &symbol, const void *from, size_t size, size_t offset,
                                      enum cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, dependency_count, (const void *)&symbol, from, size, offset,
                                            kind);
}

template <class T>
BL_API cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                        size_t dependency_count, void *to, const T &symbol, size_t size, size_t offset,
                                        enum cudaMemcpyKind kind)
{
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, dependency_count, to, (const void *)&symbol, size, offset,
                                              kind);
}

template <class T>
BL_API cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T &symbol, const void *from, size_t size, size_t offset,
                                            enum cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, (const void *)&symbol, from, size, offset, kind);
}

template <class T>
BL_API cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const T &symbol, size_t size, size_t offset,
                                              enum cudaMemcpyKind kind)
{
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, to, (const void *)&symbol, size, offset, kind);
}

template <class T>
BL_API cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const T &symbol, const void *from,
                                                size_t size, size_t offset, enum cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, node, (const void *)&symbol, from, size, offset, kind);
}

template <class T>
BL_API cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const T &symbol,
                                                  size_t size, size_t offset, enum cudaMemcpyKind kind)
{
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, node, to, (const void *)&symbol, size, offset, kind);
}

template <class T> BL_API cudaFuncSetCacheConfig(T *kernel, enum cudaFuncCache config)
{
    return ::cudaFuncSetCacheConfig((const void *)kernel, config);
}

template <class T> BL_API cudaFuncSetSharedMemConfig(T *kernel, enum cudaSharedMemConfig config)
{
    return ::cudaFuncSetSharedMemConfig((const void *)kernel, config);
}

template <class T> BL_API cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, T *kernel)
{
    return ::cudaFuncGetAttributes(attributes, (const void *)kernel);
}

template <class T> BL_API cudaFuncSetAttribute(T *kernel, enum cudaFuncAttribute attribute, int value)
{
    return ::cudaFuncSetAttribute((const void *)kernel, attribute, value);
}

template <class T> BL_API cudaFuncGetName(const char **name, T *kernel)
{
    return ::cudaFuncGetName(name, (const void *)kernel);
}

template <class T> BL_API cudaGetKernel(cudaKernel_t *result, T *kernel)
{
    return ::cudaGetKernel(result, (const void *)kernel);
}

#endif

template <class T> BL_API cudaLibraryGetGlobal(T **pointer, size_t *size, cudaLibrary_t library, const char *name)
{
    return ::cudaLibraryGetGlobal((void **)(void *)pointer, size, library, name);
}

template <class T> BL_API cudaLibraryGetManaged(T **pointer, size_t *size, cudaLibrary_t library, const char *name)
{
    return ::cudaLibraryGetManaged((void **)(void *)pointer, size, library, name);
}

template <class T> BL_API cudaLibraryGetUnifiedFunction(T **pointer, cudaLibrary_t library, const char *symbol)
{
    return ::cudaLibraryGetUnifiedFunction((void **)(void *)pointer, library, symbol);
}

#undef BL_API
#pragma GCC diagnostic pop

#endif /* __cplusplus */
#endif
