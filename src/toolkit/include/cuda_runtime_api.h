/* The CUDA runtime API, 13.0, as Bailey's libcudart.so.13 offers it: for C and C++ programs, and for src/cuda/runtime. Names,
 * values, layouts and signatures are those of NVIDIA's interface, so that a program compiled with either header links with either
 * library; the test abi_cudart compares the two where NVIDIA's header is installed. The text is our own. C++ templates over these
 * functions: cuda_runtime.h. */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

#define CUDART_VERSION 13000
#define __CUDART_API_VERSION CUDART_VERSION

#include "crt/host_defines.h"
#include "builtin_types.h"
#include "cuda_device_runtime_api.h"

#ifdef __cplusplus
#define BL_DEFAULT(value) = value
#else
#define BL_DEFAULT(value)
#endif

#ifndef CUDART_CB
#define CUDART_CB
#endif
#define CUDART_DEVICE __device__

/* ---- names: the flavour of the default stream ---------------------------------------------- */

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_VERSION_INTERNAL)
#define __CUDART_API_PER_THREAD_DEFAULT_STREAM
#define __CUDART_API_PTDS(api) api##_ptds
#define __CUDART_API_PTSZ(api) api##_ptsz
#else
#define __CUDART_API_PTDS(api) api
#define __CUDART_API_PTSZ(api) api
#endif

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cudaMemcpy2DArrayToArray cudaMemcpy2DArrayToArray_ptds
#define cudaMemcpy2DFromArray cudaMemcpy2DFromArray_ptds
#define cudaMemcpy2DToArray cudaMemcpy2DToArray_ptds
#define cudaMemcpy2D cudaMemcpy2D_ptds
#define cudaMemcpy3DPeer cudaMemcpy3DPeer_ptds
#define cudaMemcpy3D cudaMemcpy3D_ptds
#define cudaMemcpyArrayToArray cudaMemcpyArrayToArray_ptds
#define cudaMemcpyFromArray cudaMemcpyFromArray_ptds
#define cudaMemcpyFromSymbol cudaMemcpyFromSymbol_ptds
#define cudaMemcpyToArray cudaMemcpyToArray_ptds
#define cudaMemcpyToSymbol cudaMemcpyToSymbol_ptds
#define cudaMemcpy cudaMemcpy_ptds
#define cudaMemset2D cudaMemset2D_ptds
#define cudaMemset3D cudaMemset3D_ptds
#define cudaMemset cudaMemset_ptds
#define cudaEventRecordWithFlags cudaEventRecordWithFlags_ptsz
#define cudaEventRecord cudaEventRecord_ptsz
#define cudaFreeAsync cudaFreeAsync_ptsz
#define cudaGetDriverEntryPointByVersion cudaGetDriverEntryPointByVersion_ptsz
#define cudaGetDriverEntryPoint cudaGetDriverEntryPoint_ptsz
#define cudaGraphInstantiateWithParams cudaGraphInstantiateWithParams_ptsz
#define cudaGraphLaunch cudaGraphLaunch_ptsz
#define cudaGraphUpload cudaGraphUpload_ptsz
#define cudaLaunchCooperativeKernel cudaLaunchCooperativeKernel_ptsz
#define cudaLaunchHostFunc cudaLaunchHostFunc_ptsz
#define cudaLaunchKernelExC cudaLaunchKernelExC_ptsz
#define cudaLaunchKernel cudaLaunchKernel_ptsz
#define cudaMallocAsync cudaMallocAsync_ptsz
#define cudaMallocFromPoolAsync cudaMallocFromPoolAsync_ptsz
#define cudaMemDiscardAndPrefetchBatchAsync cudaMemDiscardAndPrefetchBatchAsync_ptsz
#define cudaMemDiscardBatchAsync cudaMemDiscardBatchAsync_ptsz
#define cudaMemPrefetchAsync cudaMemPrefetchAsync_ptsz
#define cudaMemPrefetchBatchAsync cudaMemPrefetchBatchAsync_ptsz
#define cudaMemcpy2DAsync cudaMemcpy2DAsync_ptsz
#define cudaMemcpy2DFromArrayAsync cudaMemcpy2DFromArrayAsync_ptsz
#define cudaMemcpy2DToArrayAsync cudaMemcpy2DToArrayAsync_ptsz
#define cudaMemcpy3DAsync cudaMemcpy3DAsync_ptsz
#define cudaMemcpy3DBatchAsync cudaMemcpy3DBatchAsync_ptsz
#define cudaMemcpy3DPeerAsync cudaMemcpy3DPeerAsync_ptsz
#define cudaMemcpyAsync cudaMemcpyAsync_ptsz
#define cudaMemcpyBatchAsync cudaMemcpyBatchAsync_ptsz
#define cudaMemcpyFromArrayAsync cudaMemcpyFromArrayAsync_ptsz
#define cudaMemcpyFromSymbolAsync cudaMemcpyFromSymbolAsync_ptsz
#define cudaMemcpyToArrayAsync cudaMemcpyToArrayAsync_ptsz
#define cudaMemcpyToSymbolAsync cudaMemcpyToSymbolAsync_ptsz
#define cudaMemset2DAsync cudaMemset2DAsync_ptsz
#define cudaMemset3DAsync cudaMemset3DAsync_ptsz
#define cudaMemsetAsync cudaMemsetAsync_ptsz
#define cudaSignalExternalSemaphoresAsync cudaSignalExternalSemaphoresAsync_ptsz
#define cudaStreamAddCallback cudaStreamAddCallback_ptsz
#define cudaStreamAttachMemAsync cudaStreamAttachMemAsync_ptsz
#define cudaStreamBeginCaptureToGraph cudaStreamBeginCaptureToGraph_ptsz
#define cudaStreamBeginCapture cudaStreamBeginCapture_ptsz
#define cudaStreamCopyAttributes cudaStreamCopyAttributes_ptsz
#define cudaStreamEndCapture cudaStreamEndCapture_ptsz
#define cudaStreamGetAttribute cudaStreamGetAttribute_ptsz
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_ptsz
#define cudaStreamGetDevice cudaStreamGetDevice_ptsz
#define cudaStreamGetFlags cudaStreamGetFlags_ptsz
#define cudaStreamGetId cudaStreamGetId_ptsz
#define cudaStreamGetPriority cudaStreamGetPriority_ptsz
#define cudaStreamIsCapturing cudaStreamIsCapturing_ptsz
#define cudaStreamQuery cudaStreamQuery_ptsz
#define cudaStreamSetAttribute cudaStreamSetAttribute_ptsz
#define cudaStreamSynchronize cudaStreamSynchronize_ptsz
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_ptsz
#define cudaStreamWaitEvent cudaStreamWaitEvent_ptsz
#define cudaWaitExternalSemaphoresAsync cudaWaitExternalSemaphoresAsync_ptsz
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);
typedef void (*cudaLogsCallback_t)(void *data, cudaLogLevel logLevel, char *message, size_t length);
/* ---- version, errors, limits of the whole library ---------------------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaGetLastError(void);
extern __host__ cudaError_t CUDARTAPI cudaPeekAtLastError(void);
extern __host__ const char *CUDARTAPI cudaGetErrorName(cudaError_t error);
extern __host__ const char *CUDARTAPI cudaGetErrorString(cudaError_t error);
extern __host__ cudaError_t CUDARTAPI cudaDriverGetVersion(int *driver_version);
extern __host__ cudaError_t CUDARTAPI cudaRuntimeGetVersion(int *runtime_version);
extern __host__ cudaError_t CUDARTAPI cudaLogsRegisterCallback(cudaLogsCallback_t callback_func, void *user_data,
                                                               cudaLogsCallbackHandle *callback_out);
extern __host__ cudaError_t CUDARTAPI cudaLogsUnregisterCallback(cudaLogsCallbackHandle callback);
extern __host__ cudaError_t CUDARTAPI cudaLogsCurrent(cudaLogIterator *iterator_out, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaLogsDumpToFile(cudaLogIterator *iterator, const char *path_to_file, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaLogsDumpToMemory(cudaLogIterator *iterator, char *buffer, size_t *size,
                                                           unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *symbol, void **func_ptr, unsigned long long flags,
                                                              enum cudaDriverEntryPointQueryResult *driver_status BL_DEFAULT(NULL));
extern __host__ cudaError_t CUDARTAPI
cudaGetDriverEntryPointByVersion(const char *symbol, void **func_ptr, unsigned int cuda_version, unsigned long long flags,
                                 enum cudaDriverEntryPointQueryResult *driver_status BL_DEFAULT(NULL));
extern __host__ cudaError_t CUDARTAPI cudaGetExportTable(const void **pp_export_table, const cudaUUID_t *p_export_table_id);

/* ---- devices ----------------------------------------------------------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaDeviceReset(void);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSynchronize(void);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSetLimit(enum cudaLimit limit, size_t value);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetLimit(size_t *p_value, enum cudaLimit limit);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetTexture1DLinearMaxWidth(size_t *max_width_in_elements,
                                                                           const struct cudaChannelFormatDesc *fmt_desc,
                                                                           int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetCacheConfig(enum cudaFuncCache *p_cache_config);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetStreamPriorityRange(int *least_priority, int *greatest_priority);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSetCacheConfig(enum cudaFuncCache cache_config);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetByPCIBusId(int *device, const char *pci_bus_id);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char *pci_bus_id, int len, int device);
extern __host__ cudaError_t CUDARTAPI cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle);
extern __host__ cudaError_t CUDARTAPI cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *dev_ptr);
extern __host__ cudaError_t CUDARTAPI cudaIpcOpenMemHandle(void **dev_ptr, cudaIpcMemHandle_t handle, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaIpcCloseMemHandle(void *dev_ptr);
extern __host__ cudaError_t CUDARTAPI cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                                                         enum cudaFlushGPUDirectRDMAWritesScope scope);
extern __host__ cudaError_t CUDARTAPI cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callback_func,
                                                                          void *user_data, cudaAsyncCallbackHandle_t *callback);
extern __host__ cudaError_t CUDARTAPI cudaDeviceUnregisterAsyncNotification(int device, cudaAsyncCallbackHandle_t callback);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *p_config);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config);
extern __host__ cudaError_t CUDARTAPI cudaGetDeviceCount(int *count);
extern __host__ cudaError_t CUDARTAPI cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                                                          const enum cudaAtomicOperation *operations,
                                                                          unsigned int count, int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetDefaultMemPool(cudaMemPool_t *mem_pool, int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSetMemPool(int device, cudaMemPool_t mem_pool);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetMemPool(cudaMemPool_t *mem_pool, int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetNvSciSyncAttributes(void *nv_sci_sync_attr_list, int device, int flags);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int src_device,
                                                                int dst_device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                                                         const enum cudaAtomicOperation *operations,
                                                                         unsigned int count, int src_device, int dst_device);
extern __host__ cudaError_t CUDARTAPI cudaChooseDevice(int *device, const struct cudaDeviceProp *prop);
extern __host__ cudaError_t CUDARTAPI cudaInitDevice(int device, unsigned int device_flags, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaSetDevice(int device);
extern __host__ cudaError_t CUDARTAPI cudaGetDevice(int *device);
extern __host__ cudaError_t CUDARTAPI cudaSetValidDevices(int *device_arr, int len);
extern __host__ cudaError_t CUDARTAPI cudaSetDeviceFlags(unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaGetDeviceFlags(unsigned int *flags);
extern __host__ cudaError_t CUDARTAPI cudaCtxResetPersistingL2Cache(void);
extern __host__ cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int *can_access_peer, int device, int peer_device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceEnablePeerAccess(int peer_device, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaDeviceDisablePeerAccess(int peer_device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGraphMemTrim(int device);
extern __host__ cudaError_t CUDARTAPI cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value);
extern __host__ cudaError_t CUDARTAPI cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value);

/* ---- streams ----------------------------------------------------------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaStreamCreate(cudaStream_t *p_stream);
extern __host__ cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t *p_stream, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaStreamCreateWithPriority(cudaStream_t *p_stream, unsigned int flags, int priority);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetPriority(cudaStream_t h_stream, int *priority);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetFlags(cudaStream_t h_stream, unsigned int *flags);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t h_stream, unsigned long long *stream_id);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetDevice(cudaStream_t h_stream, int *device);
extern __host__ cudaError_t CUDARTAPI cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetAttribute(cudaStream_t h_stream, cudaLaunchAttributeID attr,
                                                             cudaLaunchAttributeValue *value_out);
extern __host__ cudaError_t CUDARTAPI cudaStreamSetAttribute(cudaStream_t h_stream, cudaLaunchAttributeID attr,
                                                             const cudaLaunchAttributeValue *value);
extern __host__ cudaError_t CUDARTAPI cudaStreamDestroy(cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *user_data,
                                                            unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaStreamQuery(cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaStreamAttachMemAsync(cudaStream_t stream, void *dev_ptr, size_t length BL_DEFAULT(0),
                                                               unsigned int flags BL_DEFAULT(0x04));
extern __host__ cudaError_t CUDARTAPI cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
extern __host__ cudaError_t CUDARTAPI cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                                    const cudaGraphNode_t *dependencies,
                                                                    const cudaGraphEdgeData *dependency_data,
                                                                    size_t num_dependencies, enum cudaStreamCaptureMode mode);
extern __host__ cudaError_t CUDARTAPI cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode);
extern __host__ cudaError_t CUDARTAPI cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *p_graph);
extern __host__ cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *p_capture_status);
extern __host__ cudaError_t CUDARTAPI cudaStreamGetCaptureInfo(
    cudaStream_t stream, enum cudaStreamCaptureStatus *capture_status_out, unsigned long long *id_out BL_DEFAULT(0),
    cudaGraph_t *graph_out BL_DEFAULT(0), const cudaGraphNode_t **dependencies_out BL_DEFAULT(0),
    const cudaGraphEdgeData **edge_data_out BL_DEFAULT(0), size_t *num_dependencies_out BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
                                                                          const cudaGraphEdgeData *dependency_data,
                                                                          size_t num_dependencies,
                                                                          unsigned int flags BL_DEFAULT(0));

/* ---- events ------------------------------------------------------------------------------------ */

extern __host__ cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t *event);
extern __host__ cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaEventRecord(cudaEvent_t event, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream BL_DEFAULT(0),
                                                               unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaEventQuery(cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaEventSynchronize(cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaEventDestroy(cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

/* ---- kernels: launching, attributes, occupancy ------------------------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaLaunchKernel(const void *func, dim3 grid_dim, dim3 block_dim, void **args,
                                                       size_t shared_mem, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args);
extern __host__ cudaError_t CUDARTAPI cudaLaunchCooperativeKernel(const void *func, dim3 grid_dim, dim3 block_dim, void **args,
                                                                  size_t shared_mem, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cache_config);
extern __host__ cudaError_t CUDARTAPI cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func);
extern __host__ cudaError_t CUDARTAPI cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value);
extern __host__ cudaError_t CUDARTAPI cudaFuncGetName(const char **name, const void *func);
extern __host__ cudaError_t CUDARTAPI cudaFuncGetParamInfo(const void *func, size_t param_index, size_t *param_offset,
                                                           size_t *param_size);
extern __host__ cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *user_data);
extern __host__ cudaError_t CUDARTAPI cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config);
extern __host__ cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, const void *func,
                                                                                    int block_size, size_t dynamic_s_mem_size);
extern __host__ cudaError_t CUDARTAPI cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_smem_size, const void *func,
                                                                                int num_blocks, int block_size);
extern __host__ cudaError_t CUDARTAPI cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *num_blocks, const void *func,
                                                                                             int block_size,
                                                                                             size_t dynamic_s_mem_size,
                                                                                             unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaOccupancyMaxPotentialClusterSize(int *cluster_size, const void *func,
                                                                           const cudaLaunchConfig_t *launch_config);
extern __host__ cudaError_t CUDARTAPI cudaOccupancyMaxActiveClusters(int *num_clusters, const void *func,
                                                                     const cudaLaunchConfig_t *launch_config);
extern __host__ cudaError_t CUDARTAPI cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options,
                                                          void **jit_options_values, unsigned int num_jit_options,
                                                          enum cudaLibraryOption *library_options, void **library_option_values,
                                                          unsigned int num_library_options);
extern __host__ cudaError_t CUDARTAPI cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *file_name,
                                                              enum cudaJitOption *jit_options, void **jit_options_values,
                                                              unsigned int num_jit_options, enum cudaLibraryOption *library_options,
                                                              void **library_option_values, unsigned int num_library_options);
extern __host__ cudaError_t CUDARTAPI cudaLibraryUnload(cudaLibrary_t library);
extern __host__ cudaError_t CUDARTAPI cudaLibraryGetKernel(cudaKernel_t *p_kernel, cudaLibrary_t library, const char *name);
extern __host__ cudaError_t CUDARTAPI cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name);
extern __host__ cudaError_t CUDARTAPI cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name);
extern __host__ cudaError_t CUDARTAPI cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library, const char *symbol);
extern __host__ cudaError_t CUDARTAPI cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib);
extern __host__ cudaError_t CUDARTAPI cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int num_kernels,
                                                                  cudaLibrary_t lib);
extern __host__ cudaError_t CUDARTAPI cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
                                                                      int device);
extern __host__ cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t *function_ptr, const void *symbol_ptr);
extern __host__ cudaError_t CUDARTAPI cudaGetKernel(cudaKernel_t *kernel_ptr, const void *entry_func_addr);

/* ---- arrays, textures, surfaces ---------------------------------------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmap, cudaExternalMemory_t ext_mem, const struct cudaExternalMemoryMipmappedArrayDesc *mipmap_desc);
extern __host__ cudaError_t CUDARTAPI cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width,
                                                      size_t height BL_DEFAULT(0), unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaFreeArray(cudaArray_t array);
extern __host__ cudaError_t CUDARTAPI cudaFreeMipmappedArray(cudaMipmappedArray_t mipmapped_array);
extern __host__ cudaError_t CUDARTAPI cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                                        struct cudaExtent extent, unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmapped_array,
                                                               const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                                               unsigned int num_levels, unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGetMipmappedArrayLevel(cudaArray_t *level_array,
                                                                 cudaMipmappedArray_const_t mipmapped_array, unsigned int level);
extern __host__ cudaError_t CUDARTAPI cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                                       unsigned int *flags, cudaArray_t array);
extern __host__ cudaError_t CUDARTAPI cudaArrayGetPlane(cudaArray_t *p_plane_array, cudaArray_t h_array, unsigned int plane_idx);
extern __host__ cudaError_t CUDARTAPI cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memory_requirements,
                                                                     cudaArray_t array, int device);
extern __host__ cudaError_t CUDARTAPI cudaMipmappedArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memory_requirements, cudaMipmappedArray_t mipmap, int device);
extern __host__ cudaError_t CUDARTAPI cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparse_properties,
                                                                   cudaArray_t array);
extern __host__ cudaError_t CUDARTAPI cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparse_properties,
                                                                            cudaMipmappedArray_t mipmap);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DToArray(cudaArray_t dst, size_t w_offset, size_t h_offset, const void *src,
                                                          size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src, size_t w_offset,
                                                            size_t h_offset, size_t width, size_t height, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t w_offset_dst, size_t h_offset_dst,
                                                               cudaArray_const_t src, size_t w_offset_src, size_t h_offset_src,
                                                               size_t width, size_t height,
                                                               enum cudaMemcpyKind kind BL_DEFAULT(cudaMemcpyDeviceToDevice));
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t w_offset, size_t h_offset, const void *src,
                                                               size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                                                               cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src, size_t w_offset,
                                                                 size_t h_offset, size_t width, size_t height,
                                                                 enum cudaMemcpyKind kind, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyToArray(cudaArray_t dst, size_t w_offset, size_t h_offset, const void *src,
                                                        size_t count, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t w_offset, size_t h_offset,
                                                          size_t count, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpyArrayToArray(cudaArray_t dst, size_t w_offset_dst, size_t h_offset_dst,
                                                             cudaArray_const_t src, size_t w_offset_src, size_t h_offset_src,
                                                             size_t count,
                                                             enum cudaMemcpyKind kind BL_DEFAULT(cudaMemcpyDeviceToDevice));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyToArrayAsync(cudaArray_t dst, size_t w_offset, size_t h_offset, const void *src,
                                                             size_t count, enum cudaMemcpyKind kind,
                                                             cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t w_offset, size_t h_offset,
                                                               size_t count, enum cudaMemcpyKind kind,
                                                               cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphicsSubResourceGetMappedArray(cudaArray_t *array, cudaGraphicsResource_t resource,
                                                                            unsigned int array_index, unsigned int mip_level);
extern __host__ cudaError_t CUDARTAPI cudaGraphicsResourceGetMappedMipmappedArray(cudaMipmappedArray_t *mipmapped_array,
                                                                                  cudaGraphicsResource_t resource);
extern __host__ cudaError_t CUDARTAPI cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array);
extern __host__ struct cudaChannelFormatDesc CUDARTAPI cudaCreateChannelDesc(int x, int y, int z, int w,
                                                                             enum cudaChannelFormatKind f);
extern __host__ cudaError_t CUDARTAPI cudaCreateTextureObject(cudaTextureObject_t *p_tex_object,
                                                              const struct cudaResourceDesc *p_res_desc,
                                                              const struct cudaTextureDesc *p_tex_desc,
                                                              const struct cudaResourceViewDesc *p_res_view_desc);
extern __host__ cudaError_t CUDARTAPI cudaDestroyTextureObject(cudaTextureObject_t tex_object);
extern __host__ cudaError_t CUDARTAPI cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *p_res_desc,
                                                                       cudaTextureObject_t tex_object);
extern __host__ cudaError_t CUDARTAPI cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *p_tex_desc,
                                                                      cudaTextureObject_t tex_object);
extern __host__ cudaError_t CUDARTAPI cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *p_res_view_desc,
                                                                           cudaTextureObject_t tex_object);
extern __host__ cudaError_t CUDARTAPI cudaCreateSurfaceObject(cudaSurfaceObject_t *p_surf_object,
                                                              const struct cudaResourceDesc *p_res_desc);
extern __host__ cudaError_t CUDARTAPI cudaDestroySurfaceObject(cudaSurfaceObject_t surf_object);
extern __host__ cudaError_t CUDARTAPI cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *p_res_desc,
                                                                       cudaSurfaceObject_t surf_object);

/* ---- graphs ------------------------------------------------------------------------------------ */

extern __host__ cudaError_t CUDARTAPI cudaGraphCreate(cudaGraph_t *p_graph, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddKernelNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                             const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                             const struct cudaKernelNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                                   struct cudaKernelNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                                   const struct cudaKernelNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t h_dst, cudaGraphNode_t h_src);
extern __host__ cudaError_t CUDARTAPI cudaGraphKernelNodeGetAttribute(cudaGraphNode_t h_node, cudaLaunchAttributeID attr,
                                                                      cudaLaunchAttributeValue *value_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphKernelNodeSetAttribute(cudaGraphNode_t h_node, cudaLaunchAttributeID attr,
                                                                      const cudaLaunchAttributeValue *value);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemcpyNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                             const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                             const struct cudaMemcpy3DParms *p_copy_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                                     const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                                     const void *symbol, const void *src, size_t count,
                                                                     size_t offset, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                                       const cudaGraphNode_t *p_dependencies,
                                                                       size_t num_dependencies, void *dst, const void *symbol,
                                                                       size_t count, size_t offset, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemcpyNode1D(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                               const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                               void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                                   const struct cudaMemcpy3DParms *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                                           const void *src, size_t count, size_t offset,
                                                                           enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst, const void *symbol,
                                                                             size_t count, size_t offset, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst, const void *src, size_t count,
                                                                     enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemsetNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                             const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                             const struct cudaMemsetParams *p_memset_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                                   const struct cudaMemsetParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddHostNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                           const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                           const struct cudaHostNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                                 const struct cudaHostNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddChildGraphNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                                 const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                                 cudaGraph_t child_graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *p_graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddEmptyNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                            const cudaGraphNode_t *p_dependencies, size_t num_dependencies);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddEventRecordNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                                  const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                                  cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddEventWaitNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                                const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                                cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI
cudaGraphAddExternalSemaphoresSignalNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph, const cudaGraphNode_t *p_dependencies,
                                         size_t num_dependencies, const struct cudaExternalSemaphoreSignalNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI
cudaGraphExternalSemaphoresSignalNodeGetParams(cudaGraphNode_t h_node, struct cudaExternalSemaphoreSignalNodeParams *params_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t h_node, const struct cudaExternalSemaphoreSignalNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI
cudaGraphAddExternalSemaphoresWaitNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph, const cudaGraphNode_t *p_dependencies,
                                       size_t num_dependencies, const struct cudaExternalSemaphoreWaitNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI
cudaGraphExternalSemaphoresWaitNodeGetParams(cudaGraphNode_t h_node, struct cudaExternalSemaphoreWaitNodeParams *params_out);
extern __host__ cudaError_t CUDARTAPI
cudaGraphExternalSemaphoresWaitNodeSetParams(cudaGraphNode_t h_node, const struct cudaExternalSemaphoreWaitNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemAllocNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                               const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                               struct cudaMemAllocNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                                     struct cudaMemAllocNodeParams *params_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddMemFreeNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                              const cudaGraphNode_t *p_dependencies, size_t num_dependencies,
                                                              void *dptr);
extern __host__ cudaError_t CUDARTAPI cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out);
extern __host__ cudaError_t CUDARTAPI cudaGraphClone(cudaGraph_t *p_graph_clone, cudaGraph_t original_graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeFindInClone(cudaGraphNode_t *p_node, cudaGraphNode_t original_node,
                                                               cudaGraph_t cloned_graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *p_type);
extern __host__ cudaError_t CUDARTAPI cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *num_nodes);
extern __host__ cudaError_t CUDARTAPI cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *p_root_nodes,
                                                            size_t *p_num_root_nodes);
extern __host__ cudaError_t CUDARTAPI cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                                        cudaGraphEdgeData *edge_data, size_t *num_edges);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *p_dependencies,
                                                                   cudaGraphEdgeData *edge_data, size_t *p_num_dependencies);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *p_dependent_nodes,
                                                                     cudaGraphEdgeData *edge_data, size_t *p_num_dependent_nodes);
extern __host__ cudaError_t CUDARTAPI cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                               const cudaGraphNode_t *to, const cudaGraphEdgeData *edge_data,
                                                               size_t num_dependencies);
extern __host__ cudaError_t CUDARTAPI cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                                  const cudaGraphNode_t *to, const cudaGraphEdgeData *edge_data,
                                                                  size_t num_dependencies);
extern __host__ cudaError_t CUDARTAPI cudaGraphDestroyNode(cudaGraphNode_t node);
extern __host__ cudaError_t CUDARTAPI cudaGraphInstantiate(cudaGraphExec_t *p_graph_exec, cudaGraph_t graph,
                                                           unsigned long long flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphInstantiateWithFlags(cudaGraphExec_t *p_graph_exec, cudaGraph_t graph,
                                                                    unsigned long long flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphInstantiateWithParams(cudaGraphExec_t *p_graph_exec, cudaGraph_t graph,
                                                                     cudaGraphInstantiateParams *instantiate_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecGetFlags(cudaGraphExec_t graph_exec, unsigned long long *flags);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecKernelNodeSetParams(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                       const struct cudaKernelNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                       const struct cudaMemcpy3DParms *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                               const void *symbol, const void *src, size_t count,
                                                                               size_t offset, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                                 void *dst, const void *symbol, size_t count,
                                                                                 size_t offset, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                         void *dst, const void *src, size_t count,
                                                                         enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                       const struct cudaMemsetParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecHostNodeSetParams(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                     const struct cudaHostNodeParams *p_node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t h_graph_exec, cudaGraphNode_t node,
                                                                           cudaGraph_t child_graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node,
                                                                           cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node,
                                                                         cudaEvent_t event);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node, const struct cudaExternalSemaphoreSignalNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node, const struct cudaExternalSemaphoreWaitNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeSetEnabled(cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node,
                                                              unsigned int is_enabled);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeGetEnabled(cudaGraphExec_t h_graph_exec, cudaGraphNode_t h_node,
                                                              unsigned int *is_enabled);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecUpdate(cudaGraphExec_t h_graph_exec, cudaGraph_t h_graph,
                                                          cudaGraphExecUpdateResultInfo *result_info);
extern __host__ cudaError_t CUDARTAPI cudaGraphUpload(cudaGraphExec_t graph_exec, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaGraphLaunch(cudaGraphExec_t graph_exec, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecDestroy(cudaGraphExec_t graph_exec);
extern __host__ cudaError_t CUDARTAPI cudaGraphDestroy(cudaGraph_t graph);
extern __host__ cudaError_t CUDARTAPI cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
                                                           unsigned int initial_refcount, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaUserObjectRetain(cudaUserObject_t object, unsigned int count BL_DEFAULT(1));
extern __host__ cudaError_t CUDARTAPI cudaUserObjectRelease(cudaUserObject_t object, unsigned int count BL_DEFAULT(1));
extern __host__ cudaError_t CUDARTAPI cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                                unsigned int count BL_DEFAULT(1), unsigned int flags BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                                 unsigned int count BL_DEFAULT(1));
extern __host__ cudaError_t CUDARTAPI cudaGraphAddNode(cudaGraphNode_t *p_graph_node, cudaGraph_t graph,
                                                       const cudaGraphNode_t *p_dependencies,
                                                       const cudaGraphEdgeData *dependency_data, size_t num_dependencies,
                                                       struct cudaGraphNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphExecNodeSetParams(cudaGraphExec_t graph_exec, cudaGraphNode_t node,
                                                                 struct cudaGraphNodeParams *node_params);
extern __host__ cudaError_t CUDARTAPI cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *p_handle_out, cudaGraph_t graph,
                                                                       unsigned int default_launch_value BL_DEFAULT(0),
                                                                       unsigned int flags BL_DEFAULT(0));

/* ---- interoperation: graphics, external memory and semaphores ---------------------------------- */

extern __host__ cudaError_t CUDARTAPI cudaImportExternalMemory(cudaExternalMemory_t *ext_mem_out,
                                                               const struct cudaExternalMemoryHandleDesc *mem_handle_desc);
extern __host__ cudaError_t CUDARTAPI cudaExternalMemoryGetMappedBuffer(void **dev_ptr, cudaExternalMemory_t ext_mem,
                                                                        const struct cudaExternalMemoryBufferDesc *buffer_desc);
extern __host__ cudaError_t CUDARTAPI cudaDestroyExternalMemory(cudaExternalMemory_t ext_mem);
extern __host__ cudaError_t CUDARTAPI cudaImportExternalSemaphore(cudaExternalSemaphore_t *ext_sem_out,
                                                                  const struct cudaExternalSemaphoreHandleDesc *sem_handle_desc);
extern __host__ cudaError_t CUDARTAPI cudaSignalExternalSemaphoresAsync(
    const cudaExternalSemaphore_t *ext_sem_array, const struct cudaExternalSemaphoreSignalParams *params_array,
    unsigned int num_ext_sems, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *ext_sem_array,
                                                                      const struct cudaExternalSemaphoreWaitParams *params_array,
                                                                      unsigned int num_ext_sems, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaDestroyExternalSemaphore(cudaExternalSemaphore_t ext_sem);
extern __host__ cudaError_t CUDARTAPI cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
extern __host__ cudaError_t CUDARTAPI cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources,
                                                               cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphicsUnmapResources(int count, cudaGraphicsResource_t *resources,
                                                                 cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGraphicsResourceGetMappedPointer(void **dev_ptr, size_t *size,
                                                                           cudaGraphicsResource_t resource);

/* ---- memory ------------------------------------------------------------------------------------ */

extern __host__ cudaError_t CUDARTAPI cudaMallocManaged(void **dev_ptr, size_t size, unsigned int flags BL_DEFAULT(0x01));
extern __host__ cudaError_t CUDARTAPI cudaMalloc(void **dev_ptr, size_t size);
extern __host__ cudaError_t CUDARTAPI cudaMallocHost(void **ptr, size_t size);
extern __host__ cudaError_t CUDARTAPI cudaMallocPitch(void **dev_ptr, size_t *pitch, size_t width, size_t height);
extern __host__ cudaError_t CUDARTAPI cudaFree(void *dev_ptr);
extern __host__ cudaError_t CUDARTAPI cudaFreeHost(void *ptr);
extern __host__ cudaError_t CUDARTAPI cudaHostAlloc(void **p_host, size_t size, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaHostRegister(void *ptr, size_t size, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaHostUnregister(void *ptr);
extern __host__ cudaError_t CUDARTAPI cudaHostGetDevicePointer(void **p_device, void *p_host, unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaHostGetFlags(unsigned int *p_flags, void *p_host);
extern __host__ cudaError_t CUDARTAPI cudaMalloc3D(struct cudaPitchedPtr *pitched_dev_ptr, struct cudaExtent extent);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy3D(const struct cudaMemcpy3DParms *p);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                                            cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemGetInfo(size_t *free, size_t *total);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t count);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                                   size_t height, enum cudaMemcpyKind kind);
extern __host__ cudaError_t CUDARTAPI cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                                         size_t offset BL_DEFAULT(0),
                                                         enum cudaMemcpyKind kind BL_DEFAULT(cudaMemcpyHostToDevice));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset BL_DEFAULT(0),
                                                           enum cudaMemcpyKind kind BL_DEFAULT(cudaMemcpyDeviceToHost));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                                      cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t count,
                                                          cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes,
                                                           size_t count, struct cudaMemcpyAttributes *attrs, size_t *attrs_idxs,
                                                           size_t num_attrs, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync(size_t num_ops, struct cudaMemcpy3DBatchOp *op_list,
                                                             unsigned long long flags, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                                                        size_t height, enum cudaMemcpyKind kind, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
                                                              enum cudaMemcpyKind kind, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
                                                                enum cudaMemcpyKind kind, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemset(void *dev_ptr, int value, size_t count);
extern __host__ cudaError_t CUDARTAPI cudaMemset2D(void *dev_ptr, size_t pitch, int value, size_t width, size_t height);
extern __host__ cudaError_t CUDARTAPI cudaMemset3D(struct cudaPitchedPtr pitched_dev_ptr, int value, struct cudaExtent extent);
extern __host__ cudaError_t CUDARTAPI cudaMemsetAsync(void *dev_ptr, int value, size_t count, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemset2DAsync(void *dev_ptr, size_t pitch, int value, size_t width, size_t height,
                                                        cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemset3DAsync(struct cudaPitchedPtr pitched_dev_ptr, int value, struct cudaExtent extent,
                                                        cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaGetSymbolAddress(void **dev_ptr, const void *symbol);
extern __host__ cudaError_t CUDARTAPI cudaGetSymbolSize(size_t *size, const void *symbol);
extern __host__ cudaError_t CUDARTAPI cudaMemPrefetchAsync(const void *dev_ptr, size_t count, struct cudaMemLocation location,
                                                           unsigned int flags, cudaStream_t stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                                struct cudaMemLocation *prefetch_locs, size_t *prefetch_loc_idxs,
                                                                size_t num_prefetch_locs, unsigned long long flags,
                                                                cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count, unsigned long long flags,
                                                               cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemDiscardAndPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                                                          struct cudaMemLocation *prefetch_locs,
                                                                          size_t *prefetch_loc_idxs, size_t num_prefetch_locs,
                                                                          unsigned long long flags, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemAdvise(const void *dev_ptr, size_t count, enum cudaMemoryAdvise advice,
                                                    struct cudaMemLocation location);
extern __host__ cudaError_t CUDARTAPI cudaMemRangeGetAttribute(void *data, size_t data_size, enum cudaMemRangeAttribute attribute,
                                                               const void *dev_ptr, size_t count);
extern __host__ cudaError_t CUDARTAPI cudaMemRangeGetAttributes(void **data, size_t *data_sizes,
                                                                enum cudaMemRangeAttribute *attributes, size_t num_attributes,
                                                                const void *dev_ptr, size_t count);
extern __host__ cudaError_t CUDARTAPI cudaMallocAsync(void **dev_ptr, size_t size, cudaStream_t h_stream);
extern __host__ cudaError_t CUDARTAPI cudaFreeAsync(void *dev_ptr, cudaStream_t h_stream);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolTrimTo(cudaMemPool_t mem_pool, size_t min_bytes_to_keep);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolSetAttribute(cudaMemPool_t mem_pool, enum cudaMemPoolAttr attr, void *value);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolGetAttribute(cudaMemPool_t mem_pool, enum cudaMemPoolAttr attr, void *value);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolSetAccess(cudaMemPool_t mem_pool, const struct cudaMemAccessDesc *desc_list,
                                                           size_t count);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t mem_pool,
                                                           struct cudaMemLocation *location);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t *mem_pool, const struct cudaMemPoolProps *pool_props);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolDestroy(cudaMemPool_t mem_pool);
extern __host__ cudaError_t CUDARTAPI cudaMemGetDefaultMemPool(cudaMemPool_t *mem_pool, struct cudaMemLocation *location,
                                                               enum cudaMemAllocationType type);
extern __host__ cudaError_t CUDARTAPI cudaMemGetMemPool(cudaMemPool_t *mem_pool, struct cudaMemLocation *location,
                                                        enum cudaMemAllocationType type);
extern __host__ cudaError_t CUDARTAPI cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
                                                        cudaMemPool_t mem_pool);
extern __host__ cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t mem_pool, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolExportToShareableHandle(void *shareable_handle, cudaMemPool_t mem_pool,
                                                                         enum cudaMemAllocationHandleType handle_type,
                                                                         unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolImportFromShareableHandle(cudaMemPool_t *mem_pool, void *shareable_handle,
                                                                           enum cudaMemAllocationHandleType handle_type,
                                                                           unsigned int flags);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *export_data, void *ptr);
extern __host__ cudaError_t CUDARTAPI cudaMemPoolImportPointer(void **ptr, cudaMemPool_t mem_pool,
                                                               struct cudaMemPoolPtrExportData *export_data);
extern __host__ cudaError_t CUDARTAPI cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr);

#ifdef __cplusplus
}
#endif

#endif
