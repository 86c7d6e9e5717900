/* Launching kernels; their attributes and occupancy; host functions. Part of libcudart. */
#include "cuda/runtime/runtime.h"

/* ---- <<< >>> ----------------------------------------------------------------------------------- */

struct configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};
enum { MOST_PENDING = 64 };
static __thread struct configuration pending[MOST_PENDING];
static __thread unsigned pending_count;

unsigned bl_rt___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
    if (pending_count == MOST_PENDING)
        return cudaErrorLaunchOutOfResources;
    pending[pending_count++] = (struct configuration){grid, block, shared, stream};
    return 0;
}

cudaError_t bl_rt___cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!pending_count)
        return cudaErrorMissingConfiguration;
    const struct configuration *top = &pending[--pending_count];
    *grid = top->grid;
    *block = top->block;
    *shared = top->shared;
    *(cudaStream_t *)stream = top->stream;
    return cudaSuccess;
}

/* A grid or block that no device takes: before 13 the runtime's own error; since then the driver's, CUDA_ERROR_INVALID_VALUE
 * (measured on an H200: tests/programs/grids.cu). */
static cudaError_t check(dim3 grid, dim3 block, size_t shared)
{
    if (shared > UINT32_MAX) /* what the driver's call can't name */
        return cudaErrorInvalidValue;
    bool right = grid.x && grid.y && grid.z && block.x && block.y && block.z && grid.x <= 0x7fffffffu && grid.y <= 65535 &&
                 grid.z <= 65535 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 &&
                 (uint64_t)block.x * block.y * block.z <= 1024;
    return right ? cudaSuccess : bl_rt_version < 13000 ? cudaErrorInvalidConfiguration : cudaErrorInvalidValue;
}

static cudaError_t launch(CUkernel kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    cudaError_t error = check(grid, block, shared);
    if (error != cudaSuccess)
        return error;
    return bl_rt_error(cuLaunchKernel((CUfunction)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                      (CUstream)stream, args, NULL));
}

cudaError_t bl_rt_cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    CUkernel kernel;
    BL_RT_ENTER();
    cudaError_t error = bl_rt_kernel(function, &kernel);
    return error == cudaSuccess ? launch(kernel, grid, block, args, shared, stream) : error;
}

cudaError_t bl_rt___cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    BL_RT_ENTER();
    return launch((CUkernel)kernel, grid, block, args, shared, stream);
}

cudaError_t bl_rt_cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                              cudaStream_t stream)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    if (error == cudaSuccess)
        error = check(grid, block, shared);
    if (error != cudaSuccess)
        return error;
    return bl_rt_error(cuLaunchCooperativeKernel(made, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared,
                                                 (CUstream)stream, args));
}

/* cudaLaunchConfig_t and CUlaunchConfig differ in nothing but names: the attributes have the same layout. */
static CUlaunchConfig translate(const cudaLaunchConfig_t *config)
{
    return (CUlaunchConfig){.gridDimX = config->gridDim.x,
                            .gridDimY = config->gridDim.y,
                            .gridDimZ = config->gridDim.z,
                            .blockDimX = config->blockDim.x,
                            .blockDimY = config->blockDim.y,
                            .blockDimZ = config->blockDim.z,
                            .sharedMemBytes = (unsigned)config->dynamicSmemBytes,
                            .hStream = (CUstream)config->stream,
                            .attrs = (CUlaunchAttribute *)config->attrs,
                            .numAttrs = config->numAttrs};
}

static cudaError_t launch_ex(const cudaLaunchConfig_t *config, const void *function, void **args, cudaStream_t instead)
{
    CUkernel kernel;
    if (!config)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = bl_rt_kernel(function, &kernel);
    if (error == cudaSuccess)
        error = check(config->gridDim, config->blockDim, config->dynamicSmemBytes);
    if (error != cudaSuccess)
        return error;
    CUlaunchConfig made = translate(config);
    if (!made.hStream)
        made.hStream = (CUstream)instead;
    return bl_rt_error(cuLaunchKernelEx(&made, (CUfunction)kernel, args, NULL));
}

cudaError_t bl_rt_cudaLaunchKernelExC(CUstream default_stream, const cudaLaunchConfig_t *config, const void *function, void **args)
{
    return launch_ex(config, function, args, (cudaStream_t)default_stream);
}

cudaError_t bl_rt_cudaLaunchCooperativeKernelMultiDevice(struct bl_rt_launch_params *list, unsigned int count, unsigned int flags)
{
    if (!list || !count)
        return cudaErrorInvalidValue;
    if (count > 1)
        return cudaErrorNotSupported;
    return bl_rt_cudaLaunchCooperativeKernel(list->func, list->gridDim, list->blockDim, list->args, list->sharedMem, list->stream);
}

cudaError_t bl_rt_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLaunchHostFunc((CUstream)stream, function, data));
}

/* ---- attributes ---------------------------------------------------------------------------------- */

static cudaError_t get_attributes(struct cudaFuncAttributes *attr, const void *function, bool whole)
{
    CUfunction made;
    if (!attr)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_function(function, &made);
    if (error != cudaSuccess)
        return error;
    struct {
        CUfunction_attribute attribute;
        size_t offset;
        bool wide, later;
    } fields[] = {
#define FIELD(attribute, field, wide, later)                                                                                       \
    {CU_FUNC_ATTRIBUTE_##attribute, offsetof(struct cudaFuncAttributes, field), wide, later}
        FIELD(SHARED_SIZE_BYTES, sharedSizeBytes, true, false),
        FIELD(CONST_SIZE_BYTES, constSizeBytes, true, false),
        FIELD(LOCAL_SIZE_BYTES, localSizeBytes, true, false),
        FIELD(MAX_THREADS_PER_BLOCK, maxThreadsPerBlock, false, false),
        FIELD(NUM_REGS, numRegs, false, false),
        FIELD(PTX_VERSION, ptxVersion, false, false),
        FIELD(BINARY_VERSION, binaryVersion, false, false),
        FIELD(CACHE_MODE_CA, cacheModeCA, false, false),
        FIELD(MAX_DYNAMIC_SHARED_SIZE_BYTES, maxDynamicSharedSizeBytes, false, false),
        FIELD(PREFERRED_SHARED_MEMORY_CARVEOUT, preferredShmemCarveout, false, false),
        FIELD(CLUSTER_SIZE_MUST_BE_SET, clusterDimMustBeSet, false, true),
        FIELD(REQUIRED_CLUSTER_WIDTH, requiredClusterWidth, false, true),
        FIELD(REQUIRED_CLUSTER_HEIGHT, requiredClusterHeight, false, true),
        FIELD(REQUIRED_CLUSTER_DEPTH, requiredClusterDepth, false, true),
        FIELD(CLUSTER_SCHEDULING_POLICY_PREFERENCE, clusterSchedulingPolicyPreference, false, true),
        FIELD(NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nonPortableClusterSizeAllowed, false, true),
#undef FIELD
    };
    for (size_t i = 0; i < BL_LEN(fields); i++) {
        int value = 0;
        if (fields[i].later && !whole)
            continue;
        CUresult result = cuFuncGetAttribute(&value, fields[i].attribute, made);
        if (result != CUDA_SUCCESS)
            return bl_rt_error(result);
        if (fields[i].wide)
            *(size_t *)((char *)attr + fields[i].offset) = (size_t)value;
        else
            *(int *)((char *)attr + fields[i].offset) = value;
    }
    if (whole)
        memset(attr->reserved, 0, sizeof(attr->reserved));
    return cudaSuccess;
}

/* A NULL struct is an error that is not kept as the last one (measured on an H200: tests/api). */
static cudaError_t record_attributes(const struct cudaFuncAttributes *attr, cudaError_t error)
{
    return attr ? bl_rt_record(error) : error;
}

cudaError_t bl_rt_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *function)
{
    return record_attributes(attr, get_attributes(attr, function, true));
}

/* Before 11.8 the struct ended at preferredShmemCarveout. */
cudaError_t bl_rt_cudaFuncGetAttributes_11(struct cudaFuncAttributes *attr, const void *function)
{
    return record_attributes(attr, get_attributes(attr, function, false));
}

cudaError_t bl_rt_cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuFuncSetAttribute(made, (CUfunction_attribute)attribute, value)) : error;
}

cudaError_t bl_rt_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device)
{
    BL_RT_ENTER();
    return bl_rt_error(cuKernelSetAttribute((CUfunction_attribute)attribute, value, (CUkernel)kernel, device));
}

cudaError_t bl_rt_cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuFuncSetCacheConfig(made, (CUfunc_cache)config)) : error;
}

cudaError_t bl_rt_cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuFuncSetSharedMemConfig(made, (CUsharedconfig)config)) : error;
}

cudaError_t bl_rt_cudaFuncGetName(const char **name, const void *function)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuFuncGetName(name, made)) : error;
}

cudaError_t bl_rt_cudaFuncGetParamInfo(const void *function, size_t index, size_t *offset, size_t *size)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuFuncGetParamInfo(made, index, offset, size)) : error;
}

/* ---- occupancy ------------------------------------------------------------------------------------ */

cudaError_t bl_rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *count, const void *function, int block, size_t shared,
                                                                         unsigned int flags)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    if (error != cudaSuccess)
        return error;
    return bl_rt_error(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, made, block, shared, flags));
}

cudaError_t bl_rt_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *count, const void *function, int block, size_t shared)
{
    return bl_rt_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(count, function, block, shared, 0);
}

cudaError_t bl_rt_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *function, int count, int block)
{
    CUfunction made;
    cudaError_t error = bl_rt_function(function, &made);
    return error == cudaSuccess ? bl_rt_error(cuOccupancyAvailableDynamicSMemPerBlock(shared, made, count, block)) : error;
}

cudaError_t bl_rt_cudaOccupancyMaxPotentialClusterSize(int *size, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction made;
    cudaError_t error = config ? bl_rt_function(function, &made) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    CUlaunchConfig translated = translate(config);
    return bl_rt_error(cuOccupancyMaxPotentialClusterSize(size, made, &translated));
}

cudaError_t bl_rt_cudaOccupancyMaxActiveClusters(int *count, const void *function, const cudaLaunchConfig_t *config)
{
    CUfunction made;
    cudaError_t error = config ? bl_rt_function(function, &made) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    CUlaunchConfig translated = translate(config);
    return bl_rt_error(cuOccupancyMaxActiveClusters(count, made, &translated));
}
