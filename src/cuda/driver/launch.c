/* Kernel launches. The common path takes no lock of ours and no heap memory. */
#include "cuda/driver/driver.h"

enum { PARAMS_ON_STACK = 4096, PARAMS_MAX = 32764 };

/* ---- parameters --------------------------------------------------------------------------------- */

/* The form of an argument list as pairs (CU_LAUNCH_PARAM_BUFFER_POINTER and so on): finds buffer and size. */
static CUresult read_extra(void *const *extra, const void **buffer, size_t *size)
{
    *buffer = NULL;
    *size = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            *buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1])
            *size = *(const size_t *)extra[i + 1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult bl_cu_launch_params(const struct bl_cu_function *function, void *const *params, void *const *extra, uint8_t *out)
{
    if (params) {
        for (uint32_t i = 0; i < function->param_count; i++) {
            if (!params[i])
                return CUDA_ERROR_INVALID_VALUE;
            memcpy(out + function->offsets[i], params[i], function->sizes[i]);
        }
        return CUDA_SUCCESS;
    }
    if (!extra)
        return function->param_count ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    const void *buffer;
    size_t size;
    CUresult result = read_extra(extra, &buffer, &size);
    if (result != CUDA_SUCCESS)
        return result;
    /* Measured on an H200: a size past what the kernel takes is this error; a smaller one is taken as it is. */
    if (size > function->param_bytes)
        return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    if (!size || !buffer)
        return CUDA_ERROR_INVALID_VALUE;
    memset(out, 0, function->param_bytes);
    memcpy(out, buffer, size);
    return CUDA_SUCCESS;
}

/* ---- limits ----------------------------------------------------------------------------------------- */

static CUresult check_shape(const struct bl_device_props *props, const struct bl_launch *launch, uint64_t *threads)
{
    *threads = 1;
    for (int i = 0; i < 3; i++) {
        if (!launch->grid[i] || !launch->block[i] || launch->grid[i] > (uint32_t)props->max_grid_dim[i] ||
            launch->block[i] > (uint32_t)props->max_block_dim[i])
            return CUDA_ERROR_INVALID_VALUE;
        *threads *= launch->block[i];
    }
    return *threads > (uint32_t)props->max_threads_per_block ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult check_function(const struct bl_cu_function *function, const struct bl_launch *launch, uint64_t threads)
{
    const struct bl_kernel_attr *attr = &function->attr;
    if (threads > attr->max_threads) /* .maxntid too: measured on an H200 */
        return CUDA_ERROR_INVALID_VALUE;
    if (launch->dynamic_shared > attr->max_dynamic_shared)
        return CUDA_ERROR_INVALID_VALUE;
    if (attr->required_block[0] && memcmp(attr->required_block, launch->block, sizeof(launch->block)))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

/* All CTAs of a cooperative launch must be resident at once. */
static CUresult check_cooperative(struct bl_cu_function *function, const struct bl_launch *launch, uint64_t threads)
{
    struct bl_device *device = function->module->context->device->device;
    uint32_t each = 0;
    enum bl_status status = device->ops->occupancy(function->kernel, (uint32_t)threads, launch->dynamic_shared, &each);
    if (status != BL_OK)
        return bl_cu_result(function->module->context, status);
    uint64_t ctas = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    return ctas > (uint64_t)each * (unsigned)device->props.multiprocessors ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE : CUDA_SUCCESS;
}

bool bl_cu_required_cluster(const struct bl_cu_function *function, uint32_t required[3])
{
    for (int i = 0; i < 3; i++)
        required[i] = function->attr.cluster[0] ? function->attr.cluster[i] : (uint32_t)function->cluster[i];
    return required[0] || required[1] || required[2];
}

CUresult bl_cu_cluster_check(const struct bl_cu_function *function, const uint32_t sides[3])
{
    uint32_t most = function->nonportable_cluster ? BL_CU_CLUSTER_MOST : BL_CU_CLUSTER_PORTABLE, required[3];

    for (int i = 0; i < 3; i++)
        if (!sides[i] || sides[i] > most)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (bl_cu_required_cluster(function, required) && memcmp(required, sides, sizeof(required)))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (function->attr.max_cluster)
        most = BL_MIN(most, function->attr.max_cluster);
    return sides[0] * sides[1] * sides[2] > most ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

/* Grids of no whole clusters included: measured on an H200, tests/api/calls_cluster.cu. */
static CUresult check_cluster(const struct bl_cu_function *function, const struct bl_launch *launch)
{
    const uint32_t *sides = launch->cluster;
    CUresult result;

    if (!sides[0] && !sides[1] && !sides[2])
        return function->attr.explicit_cluster ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
    result = bl_cu_cluster_check(function, sides);
    for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++)
        if (launch->grid[i] % sides[i])
            result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return result;
}

/* __block_size__ in CUDA C++ (Programming Guide, Blocks as Clusters): the launch's grid counts clusters, its block is 1. */
static CUresult spread_clusters(const struct bl_cu_function *function, struct bl_launch *launch, uint64_t *threads)
{
    static const uint32_t one[3] = {1, 1, 1};
    const struct bl_kernel_attr *attr = &function->attr;

    for (int i = 0; i < 3; i++)
        if (__builtin_mul_overflow(launch->grid[i], attr->cluster[i], &launch->grid[i]))
            return CUDA_ERROR_INVALID_VALUE;
    if (attr->required_block[0] && !memcmp(launch->block, one, sizeof(one)))
        memcpy(launch->block, attr->required_block, sizeof(launch->block));
    return check_shape(&function->module->context->device->device->props, launch, threads);
}

CUresult bl_cu_launch_check(struct bl_cu_function *function, struct bl_launch *launch)
{
    uint64_t threads;
    uint32_t required[3];
    CUresult result = check_shape(&function->module->context->device->device->props, launch, &threads);
    if (result == CUDA_SUCCESS)
        result = bl_cu_function_attr(function);
    if (result == CUDA_SUCCESS && function->attr.blocks_are_clusters && function->attr.cluster[0])
        result = spread_clusters(function, launch, &threads);
    if (result == CUDA_SUCCESS && !launch->cluster[0] && bl_cu_required_cluster(function, required))
        memcpy(launch->cluster, required, sizeof(required));
    if (result == CUDA_SUCCESS)
        result = check_function(function, launch, threads);
    if (result == CUDA_SUCCESS)
        result = check_cluster(function, launch);
    if (result == CUDA_SUCCESS && launch->cooperative)
        result = check_cooperative(function, launch, threads);
    return result;
}

/* ---- the launch ----------------------------------------------------------------------------------------- */

static CUresult submit(struct bl_cu_stream *stream, struct bl_cu_function *function, const struct bl_launch *launch)
{
    struct bl_error error; /* not cleared as a whole: it is large and this is the fast path */
    error.status = BL_OK;
    error.line = error.column = 0;
    error.message[0] = 0;
    enum bl_status status = stream->context->device->device->ops->launch(stream->queue, launch, &error);
    if (__builtin_expect(status == BL_OK, 1)) {
        bl_cu_stream_touched(stream);
        return CUDA_SUCCESS;
    }
    if (status != BL_FAULT)
        bl_error_log("launch of %s: %s%s%s", function->name, bl_status_name(status), error.message[0] ? ": " : "", error.message);
    return bl_cu_result(stream->context, status);
}

static CUresult capture_launch(struct bl_cu_stream *stream, const void *function, const struct bl_launch *launch,
                               void *const *values, void *const *extra)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    CUgraphNode node;
    bool kernel = bl_cu_object(function, BL_CU_KERNEL) != NULL;
    params.kernel = (CUDA_KERNEL_NODE_PARAMS_v3){.func = kernel ? NULL : (CUfunction)(uintptr_t)function,
                                                 .kern = kernel ? (CUkernel)(uintptr_t)function : NULL,
                                                 .gridDimX = launch->grid[0],
                                                 .gridDimY = launch->grid[1],
                                                 .gridDimZ = launch->grid[2],
                                                 .blockDimX = launch->block[0],
                                                 .blockDimY = launch->block[1],
                                                 .blockDimZ = launch->block[2],
                                                 .sharedMemBytes = launch->dynamic_shared,
                                                 .kernelParams = (void **)(uintptr_t)values,
                                                 .extra = (void **)(uintptr_t)extra,
                                                 .ctx = BL_CU_HANDLE(CUcontext, stream->context)};
    CUresult result = bl_cu_capture_add(stream, &params, &node);
    CUlaunchAttributeValue value = {.cooperative = launch->cooperative};
    if (result == CUDA_SUCCESS && launch->cooperative)
        result = bl_cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
    if (result != CUDA_SUCCESS || !launch->cluster[0])
        return result;
    value.clusterDim.x = launch->cluster[0];
    value.clusterDim.y = launch->cluster[1];
    value.clusterDim.z = launch->cluster[2];
    return bl_cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
}

static CUresult launch_with(CUstream handle, const void *function_handle, struct bl_launch *launch, void *const *params,
                            void *const *extra)
{
    struct bl_cu_stream *stream = bl_cu_capturing(handle);
    struct bl_cu_function *function;
    if (__builtin_expect(stream != NULL, 0))
        return capture_launch(stream, function_handle, launch, params, extra);
    CUresult result = bl_cu_stream_enter(handle, &stream);
    if (result == CUDA_SUCCESS)
        result = bl_cu_function_find(function_handle, stream->context, &function);
    if (result != CUDA_SUCCESS)
        return result;
    if (function->module->context != stream->context)
        return CUDA_ERROR_INVALID_CONTEXT;
    result = bl_cu_launch_check(function, launch);
    if (result != CUDA_SUCCESS)
        return result;
    uint8_t space[PARAMS_ON_STACK] __attribute__((aligned(16)));
    uint8_t *buffer = space;
    if (function->param_bytes > sizeof(space) && !(buffer = bl_malloc(function->param_bytes)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = bl_cu_launch_params(function, params, extra, buffer);
    if (result == CUDA_SUCCESS) {
        launch->kernel = function->kernel;
        launch->params = buffer;
        launch->param_bytes = function->param_bytes;
        result = submit(stream, function, launch);
    }
    if (buffer != space)
        bl_free(buffer);
    return result;
}

CUresult bl_cuLaunchKernel(CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y, unsigned int grid_dim_z,
                           unsigned int block_dim_x, unsigned int block_dim_y, unsigned int block_dim_z,
                           unsigned int shared_mem_bytes, CUstream stream, void **kernel_params, void **extra)
{
    if (kernel_params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_launch launch = {.grid = {grid_dim_x, grid_dim_y, grid_dim_z},
                               .block = {block_dim_x, block_dim_y, block_dim_z},
                               .dynamic_shared = shared_mem_bytes};
    return launch_with(stream, function, &launch, kernel_params, extra);
}

CUresult bl_cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y,
                                      unsigned int grid_dim_z, unsigned int block_dim_x, unsigned int block_dim_y,
                                      unsigned int block_dim_z, unsigned int shared_mem_bytes, CUstream stream,
                                      void **kernel_params)
{
    struct bl_launch launch = {.grid = {grid_dim_x, grid_dim_y, grid_dim_z},
                               .block = {block_dim_x, block_dim_y, block_dim_z},
                               .dynamic_shared = shared_mem_bytes,
                               .cooperative = true};
    return launch_with(stream, function, &launch, kernel_params, NULL);
}

/* ---- launches with attributes --------------------------------------------------------------------------- */

/* Reads one attribute; *event: to be recorded after the launch. */
static CUresult read_attribute(const CUlaunchAttribute *attribute, struct bl_launch *launch, CUevent *event)
{
    const CUlaunchAttributeValue *value = &attribute->value;
    switch ((int)attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        launch->cooperative = value->cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        if (!value->clusterDim.x || !value->clusterDim.y || !value->clusterDim.z)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        launch->cluster[0] = value->clusterDim.x;
        launch->cluster[1] = value->clusterDim.y;
        launch->cluster[2] = value->clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
        *event = value->programmaticEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
        *event = value->launchCompletionEvent.event;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return value->deviceUpdatableKernelNode.deviceUpdatable ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_IGNORE: /* the rest are hints about speed, or allow an overlap that need not happen */
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuLaunchKernelEx(CUstream default_stream, const CUlaunchConfig *config, CUfunction function, void **kernel_params,
                             void **extra)
{
    if (!config || (config->numAttrs && !config->attrs) || (kernel_params && extra))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_launch launch = {.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                               .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                               .dynamic_shared = config->sharedMemBytes};
    CUevent event = NULL;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        CUresult result = read_attribute(&config->attrs[i], &launch, &event);
        if (result != CUDA_SUCCESS)
            return result;
    }
    CUstream stream = config->hStream ? config->hStream : default_stream;
    CUresult result = launch_with(stream, function, &launch, kernel_params, extra);
    return result == CUDA_SUCCESS && event ? bl_cuEventRecord(event, stream) : result;
}

CUresult bl_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launch_params_list, unsigned int num_devices,
                                                 unsigned int flags)
{
    if (!launch_params_list || num_devices != 1)
        return num_devices > 1 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    CUDA_LAUNCH_PARAMS *one = launch_params_list;
    return bl_cuLaunchCooperativeKernel(one->function, one->gridDimX, one->gridDimY, one->gridDimZ, one->blockDimX, one->blockDimY,
                                        one->blockDimZ, one->sharedMemBytes, one->hStream, one->kernelParams);
}

/* ---- launches as before CUDA 4: state in the function ---------------------------------------------------- */

void bl_cu_legacy_launch_free(struct bl_cu_function *function)
{
    bl_free(function->legacy);
    function->legacy = NULL;
}

static CUresult legacy_state(CUfunction handle, struct bl_cu_legacy_launch **state, struct bl_cu_function **found)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_function *function = bl_cu_object(handle, BL_CU_FUNCTION);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!function->legacy)
        function->legacy = bl_calloc(1, sizeof(*function->legacy));
    if (!function->legacy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *state = function->legacy;
    if (found)
        *found = function;
    return CUDA_SUCCESS;
}

CUresult bl_cuFuncSetBlockShape(CUfunction function, int x, int y, int z)
{
    struct bl_cu_legacy_launch *state;
    CUresult result = legacy_state(function, &state, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    if (x <= 0 || y <= 0 || z <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    state->block[0] = (uint32_t)x;
    state->block[1] = (uint32_t)y;
    state->block[2] = (uint32_t)z;
    return CUDA_SUCCESS;
}

CUresult bl_cuFuncSetSharedSize(CUfunction function, unsigned int bytes)
{
    struct bl_cu_legacy_launch *state;
    CUresult result = legacy_state(function, &state, NULL);
    if (result == CUDA_SUCCESS)
        state->shared = bytes;
    return result;
}

CUresult bl_cuParamSetSize(CUfunction function, unsigned int numbytes)
{
    struct bl_cu_legacy_launch *state;
    CUresult result = legacy_state(function, &state, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    if (numbytes > sizeof(state->bytes))
        return CUDA_ERROR_INVALID_VALUE;
    state->size = numbytes;
    return CUDA_SUCCESS;
}

CUresult bl_cuParamSetv(CUfunction function, int offset, void *ptr, unsigned int numbytes)
{
    struct bl_cu_legacy_launch *state;
    CUresult result = legacy_state(function, &state, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    if (!ptr || offset < 0 || numbytes > sizeof(state->bytes) || (size_t)offset > sizeof(state->bytes) - numbytes)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(state->bytes + offset, ptr, numbytes);
    return CUDA_SUCCESS;
}

CUresult bl_cuParamSeti(CUfunction function, int offset, unsigned int value)
{
    return bl_cuParamSetv(function, offset, &value, sizeof(value));
}

CUresult bl_cuParamSetf(CUfunction function, int offset, float value)
{
    return bl_cuParamSetv(function, offset, &value, sizeof(value));
}

CUresult bl_cuLaunchGridAsync(CUfunction function, int grid_width, int grid_height, CUstream stream)
{
    struct bl_cu_legacy_launch *state;
    struct bl_cu_function *found;
    CUresult result = legacy_state(function, &state, &found);
    if (result != CUDA_SUCCESS)
        return result;
    if (grid_width <= 0 || grid_height <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    size_t size = BL_MAX(state->size, found->param_bytes);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, state->bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    if (size > sizeof(state->bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_launch launch = {.grid = {(uint32_t)grid_width, (uint32_t)grid_height, 1}, .dynamic_shared = state->shared};
    memcpy(launch.block, state->block, sizeof(launch.block));
    return launch_with(stream, function, &launch, NULL, extra);
}

CUresult bl_cuLaunchGrid(CUfunction function, int grid_width, int grid_height)
{
    return bl_cuLaunchGridAsync(function, grid_width, grid_height, NULL);
}

CUresult bl_cuLaunch(CUfunction function)
{
    return bl_cuLaunchGridAsync(function, 1, 1, NULL);
}
