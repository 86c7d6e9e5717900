/* Functions: their attributes, parameters and occupancy. */
#include "cuda/driver/driver.h"

CUresult bl_cu_function_find(const void *handle, struct bl_cu_context *context, struct bl_cu_function **function)
{
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    if (kernel)
        return bl_cu_kernel_function(kernel, context, function);
    *function = bl_cu_object(handle, BL_CU_FUNCTION);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* A CUfunction or CUkernel of the program in the current context. */
static CUresult find(const void *handle, struct bl_cu_function **function)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    return result == CUDA_SUCCESS ? bl_cu_function_find(handle, context, function) : result;
}

CUresult bl_cu_function_attr(struct bl_cu_function *function)
{
    if (atomic_load_explicit(&function->attr_ready, memory_order_acquire))
        return CUDA_SUCCESS;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kernel_attr attr;
    enum bl_status status = function->module->context->device->device->ops->kernel_attr(function->kernel, &attr, &error);
    if (status != BL_OK) {
        bl_error_log("kernel %s: %s%s%s", function->name, bl_status_name(status), error.message[0] ? ": " : "", error.message);
        return bl_cu_result(function->module->context, status);
    }
    function->attr = attr;
    atomic_store_explicit(&function->attr_ready, true, memory_order_release);
    return CUDA_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------------------------- */

static CUresult attribute(const struct bl_cu_function *function, CUfunction_attribute attrib, int *value)
{
    const struct bl_kernel_attr *attr = &function->attr;
    switch ((int)attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = (int)attr->max_threads;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)attr->static_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)attr->const_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)attr->local_bytes;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)attr->registers;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = (int)attr->ptx_version;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = (int)attr->binary_version;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)attr->max_dynamic_shared;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = function->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = attr->cluster[0] || attr->explicit_cluster;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
        int i = (int)attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
        *value = function->cluster[i] ? function->cluster[i] : (int)attr->cluster[i];
        return CUDA_SUCCESS;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = function->nonportable_cluster;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = function->cluster_policy;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuFuncGetAttribute(int *value, CUfunction_attribute attrib, CUfunction handle)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_function_attr(function);
    return result == CUDA_SUCCESS ? attribute(function, attrib, value) : result;
}

/* Not where the kernel was compiled for clusters of one shape: measured on an H200, tests/api/calls_cluster.cu. */
static CUresult set_cluster(struct bl_cu_function *function, int side, int value)
{
    CUresult result = bl_cu_function_attr(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (value < 0 || function->attr.cluster[0])
        return CUDA_ERROR_INVALID_VALUE;
    function->cluster[side] = value;
    return CUDA_SUCCESS;
}

static CUresult set_dynamic_shared(struct bl_cu_function *function, int value)
{
    struct bl_device *device = function->module->context->device->device;
    CUresult result = bl_cu_function_attr(function);
    if (result != CUDA_SUCCESS)
        return result;
    if (value < 0 || (uint64_t)value + function->attr.static_shared > device->props.shared_per_block_optin)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_result(function->module->context, device->ops->kernel_set_max_dynamic_shared(function->kernel, (uint32_t)value));
    if (result == CUDA_SUCCESS)
        function->attr.max_dynamic_shared = (uint32_t)value;
    return result;
}

CUresult bl_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attrib, int value)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    switch ((int)attrib) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        return set_dynamic_shared(function, value);
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        function->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        return set_cluster(function, (int)attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, value);
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        function->nonportable_cluster = value != 0;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        if (value < CU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return CUDA_ERROR_INVALID_VALUE;
        function->cluster_policy = value;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult bl_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    return (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult bl_cuFuncGetName(const char **name, CUfunction handle)
{
    struct bl_cu_function *function;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(handle, &function);
    if (result == CUDA_SUCCESS)
        *name = function->name;
    return result;
}

CUresult bl_cuFuncGetModule(CUmodule *module, CUfunction handle)
{
    struct bl_cu_function *function;
    if (!module)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = find(handle, &function);
    if (result == CUDA_SUCCESS)
        *module = BL_CU_HANDLE(CUmodule, function->module);
    return result;
}

CUresult bl_cuFuncGetParamInfo(CUfunction handle, size_t param_index, size_t *param_offset, size_t *param_size)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!param_offset || param_index >= function->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *param_offset = function->offsets[param_index];
    if (param_size)
        *param_size = function->sizes[param_index];
    return CUDA_SUCCESS;
}

CUresult bl_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = atomic_load(&function->attr_ready) ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult bl_cuFuncLoad(CUfunction handle)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    return result == CUDA_SUCCESS ? bl_cu_function_attr(function) : result;
}

/* ---- occupancy ---------------------------------------------------------------------------------------- */

static CUresult occupancy(struct bl_cu_function *function, uint32_t threads, uint32_t shared, int *blocks)
{
    uint32_t found = 0;
    const struct bl_device_ops *ops = function->module->context->device->device->ops;
    CUresult result = bl_cu_result(function->module->context, ops->occupancy(function->kernel, threads, shared, &found));
    *blocks = (int)found;
    return result;
}

CUresult bl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *num_blocks, CUfunction handle, int block_size,
                                                                 size_t dynamic_smem_size, unsigned int flags)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!num_blocks || block_size <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    if (dynamic_smem_size > UINT32_MAX) {
        *num_blocks = 0;
        return CUDA_SUCCESS;
    }
    return occupancy(function, (uint32_t)block_size, (uint32_t)dynamic_smem_size, num_blocks);
}

CUresult bl_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *num_blocks, CUfunction handle, int block_size,
                                                        size_t dynamic_smem_size)
{
    return bl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(num_blocks, handle, block_size, dynamic_smem_size, 0);
}

/* The block size with the most resident threads; among equals the largest. */
CUresult bl_cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid_size, int *block_size, CUfunction handle,
                                                      CUoccupancyB2DSize block_size_to_dynamic_smem_size, size_t dynamic_smem_size,
                                                      int block_size_limit, unsigned int flags)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!min_grid_size || !block_size || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_function_attr(function);
    if (result != CUDA_SUCCESS)
        return result;
    const struct bl_device_props *props = &function->module->context->device->device->props;
    int limit = BL_MIN((int)function->attr.max_threads, props->max_threads_per_block), best = 0, best_size = 0, best_blocks = 0;
    if (block_size_limit > 0)
        limit = BL_MIN(limit, block_size_limit);
    for (int rounded = BL_ALIGN_UP(limit, BL_WARP); rounded > 0; rounded -= BL_WARP) {
        int size = BL_MIN(rounded, limit), blocks;
        size_t shared = block_size_to_dynamic_smem_size ? block_size_to_dynamic_smem_size(size) : dynamic_smem_size;
        result = shared > UINT32_MAX ? CUDA_ERROR_INVALID_VALUE : occupancy(function, (uint32_t)size, (uint32_t)shared, &blocks);
        if (result == CUDA_SUCCESS && blocks * size > best) {
            best = blocks * size;
            best_size = size;
            best_blocks = blocks;
        }
        if (best >= props->max_threads_per_multiprocessor)
            break;
    }
    *block_size = best_size;
    *min_grid_size = best_blocks * props->multiprocessors;
    return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuOccupancyMaxPotentialBlockSize(int *min_grid_size, int *block_size, CUfunction handle,
                                             CUoccupancyB2DSize block_size_to_dynamic_smem_size, size_t dynamic_smem_size,
                                             int block_size_limit)
{
    return bl_cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid_size, block_size, handle, block_size_to_dynamic_smem_size,
                                                        dynamic_smem_size, block_size_limit, 0);
}

CUresult bl_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_smem_size, CUfunction handle, int num_blocks, int block_size)
{
    struct bl_cu_function *function;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!dynamic_smem_size || num_blocks <= 0 || block_size <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_function_attr(function);
    if (result != CUDA_SUCCESS)
        return result;
    const struct bl_device_props *props = &function->module->context->device->device->props;
    uint64_t taken = function->attr.static_shared + props->shared_reserved;
    uint64_t share = props->shared_per_multiprocessor / (unsigned)num_blocks;
    share = share > taken ? share - taken : 0;
    *dynamic_smem_size =
        BL_MIN(share, props->shared_per_block_optin - BL_MIN(function->attr.static_shared, props->shared_per_block_optin));
    return CUDA_SUCCESS;
}

/* The shape of its clusters that a launch would have; false: none. */
static bool shape_of(const struct bl_cu_function *function, const CUlaunchConfig *config, uint32_t sides[3])
{
    bool given = bl_cu_required_cluster(function, sides);

    for (unsigned a = 0; a < config->numAttrs; a++) {
        const CUlaunchAttributeValue *value = &config->attrs[a].value;
        if (config->attrs[a].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            continue;
        memcpy(sides, (uint32_t[]){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z}, 3 * sizeof(*sides));
        given = true;
    }
    return given;
}

/* Of a launch: *blocks of it that a multiprocessor holds, 0 where it can't be launched; *ctas of one cluster, 0: no cluster. A
 * cluster too large is an error, but where the function may have large ones: then there is no such cluster. Measured on an H200,
 * tests/api/calls_cluster.cu. */
static CUresult cluster_occupancy(struct bl_cu_function *function, const CUlaunchConfig *config, int *blocks, uint32_t *ctas)
{
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY;
    uint32_t sides[3];
    CUresult result = bl_cu_function_attr(function);

    threads = BL_MIN(threads, (uint64_t)UINT32_MAX) * config->blockDimZ;
    *blocks = 0;
    *ctas = 0;
    if (result != CUDA_SUCCESS)
        return result;
    if (!threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (shape_of(function, config, sides)) {
        bool any = sides[0] && sides[1] && sides[2];
        result = bl_cu_cluster_check(function, sides);
        if (result == CUDA_SUCCESS)
            *ctas = sides[0] * sides[1] * sides[2];
        else if (!any || !function->nonportable_cluster)
            return result;
    }
    if (threads > function->attr.max_threads || config->sharedMemBytes > function->attr.max_dynamic_shared)
        return CUDA_SUCCESS;
    return occupancy(function, (uint32_t)threads, config->sharedMemBytes, blocks);
}

CUresult bl_cuOccupancyMaxPotentialClusterSize(int *cluster_size, CUfunction handle, const CUlaunchConfig *config)
{
    struct bl_cu_function *function;
    uint32_t ctas;
    int blocks;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!cluster_size || !config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    result = cluster_occupancy(function, config, &blocks, &ctas);
    if (result == CUDA_SUCCESS)
        *cluster_size = !blocks ? 0 : function->nonportable_cluster ? BL_CU_CLUSTER_MOST : BL_CU_CLUSTER_PORTABLE;
    return result;
}

CUresult bl_cuOccupancyMaxActiveClusters(int *num_clusters, CUfunction handle, const CUlaunchConfig *config)
{
    struct bl_cu_function *function;
    uint32_t ctas;
    int blocks;
    CUresult result = find(handle, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!num_clusters || !config || (config->numAttrs && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    result = cluster_occupancy(function, config, &blocks, &ctas);
    if (result == CUDA_SUCCESS)
        *num_clusters = ctas ? blocks * function->module->context->device->device->props.multiprocessors / (int)ctas : 0;
    return result;
}
