/* Structs and functions of the CUDA runtime 11 and 12 that differ from 13's or are gone from it. Layouts as in NVIDIA's headers of
 * those versions; read by gen_api.py too. Only for src/cuda/runtime. */
#ifndef BAILEY_CUDA_RUNTIME_LEGACY_H
#define BAILEY_CUDA_RUNTIME_LEGACY_H

#include "toolkit/include/cuda_runtime_api.h"

/* struct cudaDeviceProp of 11 and 12: 12 appended fields, 13 took some out. */
struct bl_rt_prop_11 {
    char name[256];
    cudaUUID_t uuid;
    char luid[8];
    unsigned int luidDeviceNodeMask;
    size_t totalGlobalMem;
    size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    size_t memPitch;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int clockRate;
    size_t totalConstMem;
    int major;
    int minor;
    size_t textureAlignment;
    size_t texturePitchAlignment;
    int deviceOverlap;
    int multiProcessorCount;
    int kernelExecTimeoutEnabled;
    int integrated;
    int canMapHostMemory;
    int computeMode;
    int maxTexture1D;
    int maxTexture1DMipmap;
    int maxTexture1DLinear;
    int maxTexture2D[2];
    int maxTexture2DMipmap[2];
    int maxTexture2DLinear[3];
    int maxTexture2DGather[2];
    int maxTexture3D[3];
    int maxTexture3DAlt[3];
    int maxTextureCubemap;
    int maxTexture1DLayered[2];
    int maxTexture2DLayered[3];
    int maxTextureCubemapLayered[2];
    int maxSurface1D;
    int maxSurface2D[2];
    int maxSurface3D[3];
    int maxSurface1DLayered[2];
    int maxSurface2DLayered[3];
    int maxSurfaceCubemap;
    int maxSurfaceCubemapLayered[2];
    size_t surfaceAlignment;
    int concurrentKernels;
    int ECCEnabled;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int tccDriver;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryClockRate;
    int memoryBusWidth;
    int l2CacheSize;
    int persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor;
    int streamPrioritiesSupported;
    int globalL1CacheSupported;
    int localL1CacheSupported;
    size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int isMultiGpuBoard;
    int multiGpuBoardGroupID;
    int hostNativeAtomicSupported;
    int singleToDoublePrecisionPerfRatio;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int computePreemptionSupported;
    int canUseHostPointerForRegisteredMem;
    int cooperativeLaunch;
    int cooperativeMultiDeviceLaunch;
    size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables;
    int directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor;
    int accessPolicyMaxWindowSize;
    size_t reservedSharedMemPerBlock;
};
struct bl_rt_prop_12 {
    struct bl_rt_prop_11 base;
    int hostRegisterSupported;
    int sparseCudaArraySupported;
    int hostRegisterReadOnlySupported;
    int timelineSemaphoreInteropSupported;
    int memoryPoolsSupported;
    int gpuDirectRDMASupported;
    unsigned int gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned int memoryPoolSupportedHandleTypes;
    int deferredMappingCudaArraySupported;
    int ipcEventSupported;
    int clusterLaunch;
    int unifiedFunctionPointers;
    int reserved[63];
};

/* One device of cudaLaunchCooperativeKernelMultiDevice. */
struct bl_rt_launch_params {
    void *func;
    dim3 gridDim, blockDim;
    void **args;
    size_t sharedMem;
    cudaStream_t stream;
};

extern cudaError_t CUDARTAPI cudaGetDeviceProperties_11(struct bl_rt_prop_11 *prop, int device);
extern cudaError_t CUDARTAPI cudaGetDeviceProperties_v2(struct bl_rt_prop_12 *prop, int device);
extern cudaError_t CUDARTAPI cudaChooseDevice_11(int *device, const struct bl_rt_prop_11 *prop);
extern cudaError_t CUDARTAPI cudaFuncGetAttributes_11(struct cudaFuncAttributes *attr, const void *func);
extern cudaError_t CUDARTAPI cudaMemAdvise_11(const void *dev_ptr, size_t count, enum cudaMemoryAdvise advice, int device);
extern cudaError_t CUDARTAPI cudaMemPrefetchAsync_11(const void *dev_ptr, size_t count, int device, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_11(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                         unsigned long long *id);
extern cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                                         unsigned long long *id, cudaGraph_t *graph,
                                                         const cudaGraphNode_t **dependencies, size_t *count);
extern cudaError_t CUDARTAPI cudaLaunchCooperativeKernelMultiDevice(struct bl_rt_launch_params *list, unsigned int count,
                                                                    unsigned int flags);
extern cudaError_t CUDARTAPI cudaGraphInstantiate_11(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *bad, char *log,
                                                     size_t size);
extern cudaError_t CUDARTAPI cudaGraphExecUpdate_11(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphNode_t *bad,
                                                    enum cudaGraphExecUpdateResult *why);
extern cudaError_t CUDARTAPI cudaGraphGetEdges_11(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count);
extern cudaError_t CUDARTAPI cudaGraphNodeGetDependencies_11(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count);
extern cudaError_t CUDARTAPI cudaGraphNodeGetDependentNodes_11(cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *count);
extern cudaError_t CUDARTAPI cudaGraphAddDependencies_11(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                                         size_t count);
extern cudaError_t CUDARTAPI cudaGraphRemoveDependencies_11(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                            const cudaGraphNode_t *to, size_t count);
extern cudaError_t CUDARTAPI cudaStreamUpdateCaptureDependencies_11(cudaStream_t stream, cudaGraphNode_t *nodes, size_t count,
                                                                    unsigned int flags);
extern cudaError_t CUDARTAPI cudaMemcpyBatchAsync_12(void **dsts, void **srcs, size_t *sizes, size_t count,
                                                     struct cudaMemcpyAttributes *attrs, size_t *attrs_idxs, size_t num_attrs,
                                                     size_t *fail_idx, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaMemcpy3DBatchAsync_12(size_t num_ops, struct cudaMemcpy3DBatchOp *op_list, size_t *fail_idx,
                                                       unsigned long long flags, cudaStream_t stream);
extern cudaError_t CUDARTAPI cudaGraphAddNode_12(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                                 size_t count, struct cudaGraphNodeParams *params);
extern cudaError_t CUDARTAPI cudaThreadExit(void);
extern cudaError_t CUDARTAPI cudaThreadSynchronize(void);
extern cudaError_t CUDARTAPI cudaThreadSetLimit(enum cudaLimit limit, size_t value);
extern cudaError_t CUDARTAPI cudaThreadGetLimit(size_t *value, enum cudaLimit limit);
extern cudaError_t CUDARTAPI cudaThreadGetCacheConfig(enum cudaFuncCache *config);
extern cudaError_t CUDARTAPI cudaThreadSetCacheConfig(enum cudaFuncCache config);
extern cudaError_t CUDARTAPI cudaSetDoubleForDevice(double *value);
extern cudaError_t CUDARTAPI cudaSetDoubleForHost(double *value);
extern cudaError_t CUDARTAPI cudaProfilerInitialize(const char *config, const char *output, int mode);
extern void **CUDARTAPI __cudaRegisterUnifiedTable(void *table);
extern void CUDARTAPI __cudaRegisterHostVar(void **handle, const char *name, char *address, size_t size);
extern void CUDARTAPI __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim,
                                            int norm, int ext);
extern void CUDARTAPI __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dim,
                                            int ext);
extern cudaError_t CUDARTAPI __cudaGetProcAddress(const char *symbol, void **function, unsigned int version,
                                                  unsigned long long flags, int *status);

#endif
