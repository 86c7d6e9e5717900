/* Nodes of graphs whose parameters the runtime has in another form than the driver: kernels, copies, and nodes of any kind. Part of
 * libcudart. */
#define __CUDA_API_VERSION_INTERNAL
#include "cuda/runtime/runtime.h"

/* Where a node goes: the first parameters of every call that adds one. */
struct place {
    cudaGraphNode_t *node;
    cudaGraph_t graph;
    const cudaGraphNode_t *from;
    size_t count;
};

/* ---- kernels ---------------------------------------------------------------------------------- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *given, CUDA_KERNEL_NODE_PARAMS_v2 *made)
{
    CUkernel kernel;
    if (!given)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_kernel(given->func, &kernel);
    if (error != cudaSuccess)
        return error;
    *made = (CUDA_KERNEL_NODE_PARAMS_v2){.kern = kernel,
                                         .gridDimX = given->gridDim.x,
                                         .gridDimY = given->gridDim.y,
                                         .gridDimZ = given->gridDim.z,
                                         .blockDimX = given->blockDim.x,
                                         .blockDimY = given->blockDim.y,
                                         .blockDimZ = given->blockDim.z,
                                         .sharedMemBytes = given->sharedMemBytes,
                                         .kernelParams = given->kernelParams,
                                         .extra = given->extra};
    return cudaSuccess;
}

cudaError_t bl_rt_cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                         const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 made;
    BL_RT_ENTER();
    cudaError_t error = kernel_params(params, &made);
    return error == cudaSuccess
               ? bl_rt_error(cuGraphAddKernelNode_v2((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from, count, &made))
               : error;
}

cudaError_t bl_rt_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 made;
    BL_RT_ENTER();
    cudaError_t error = kernel_params(params, &made);
    return error == cudaSuccess ? bl_rt_error(cuGraphKernelNodeSetParams_v2((CUgraphNode)node, &made)) : error;
}

cudaError_t bl_rt_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   const struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 made;
    BL_RT_ENTER();
    cudaError_t error = kernel_params(params, &made);
    return error == cudaSuccess ? bl_rt_error(cuGraphExecKernelNodeSetParams_v2((CUgraphExec)exec, (CUgraphNode)node, &made))
                                : error;
}

/* func: the host function, or the cudaKernel_t of a kernel that has none. */
cudaError_t bl_rt_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params)
{
    CUDA_KERNEL_NODE_PARAMS_v2 found;
    if (!params)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    CUresult result = cuGraphKernelNodeGetParams_v2((CUgraphNode)node, &found);
    if (result != CUDA_SUCCESS)
        return bl_rt_error(result);
    const void *host = found.kern ? bl_rt_host_function(found.kern) : NULL;
    *params = (struct cudaKernelNodeParams){.func = host         ? (void *)(uintptr_t)host
                                                    : found.func ? (void *)found.func
                                                                 : (void *)found.kern,
                                            .gridDim = {found.gridDimX, found.gridDimY, found.gridDimZ},
                                            .blockDim = {found.blockDimX, found.blockDimY, found.blockDimZ},
                                            .sharedMemBytes = found.sharedMemBytes,
                                            .kernelParams = found.kernelParams,
                                            .extra = found.extra};
    return cudaSuccess;
}

/* ---- copies ------------------------------------------------------------------------------------- */

static cudaError_t add_copy(const struct place *place, cudaError_t error, const CUDA_MEMCPY3D *box)
{
    if (error != cudaSuccess)
        return error;
    return bl_rt_error(cuGraphAddMemcpyNode((CUgraphNode *)place->node, (CUgraph)place->graph, (const CUgraphNode *)place->from,
                                            place->count, box, NULL));
}

static cudaError_t set_copy(cudaGraphNode_t node, cudaError_t error, const CUDA_MEMCPY3D *box)
{
    return error == cudaSuccess ? bl_rt_error(cuGraphMemcpyNodeSetParams((CUgraphNode)node, box)) : error;
}

static cudaError_t exec_set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error, const CUDA_MEMCPY3D *box)
{
    return error == cudaSuccess ? bl_rt_error(cuGraphExecMemcpyNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, box, NULL))
                                : error;
}

/* A line of bytes as a box. */
static cudaError_t line(CUDA_MEMCPY3D *box, void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    struct cudaMemcpy3DParms params = {
        .srcPtr = {.ptr = (void *)(uintptr_t)from}, .dstPtr = {.ptr = to}, .extent = {size, 1, 1}, .kind = kind};
    return bl_rt_box(&params, box);
}

static cudaError_t line_to(CUDA_MEMCPY3D *box, const void *symbol, const void *from, size_t count, size_t offset,
                           enum cudaMemcpyKind kind)
{
    void *address;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = bl_rt_symbol_part(symbol, count, offset, &address);
    return error == cudaSuccess ? line(box, address, from, count, kind) : error;
}

static cudaError_t line_from(CUDA_MEMCPY3D *box, void *to, const void *symbol, size_t count, size_t offset,
                             enum cudaMemcpyKind kind)
{
    void *address;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = bl_rt_symbol_part(symbol, count, offset, &address);
    return error == cudaSuccess ? line(box, to, address, count, kind) : error;
}

cudaError_t bl_rt_cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                         const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D box;
    struct place place = {node, graph, from, count};
    BL_RT_ENTER();
    return add_copy(&place, bl_rt_box(params, &box), &box);
}

cudaError_t bl_rt_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                           void *to, const void *source, size_t size, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    struct place place = {node, graph, from, count};
    BL_RT_ENTER();
    return add_copy(&place, line(&box, to, source, size, kind), &box);
}

cudaError_t bl_rt_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                                 size_t count, const void *symbol, const void *source, size_t size, size_t offset,
                                                 enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    struct place place = {node, graph, from, count};
    BL_RT_ENTER();
    return add_copy(&place, line_to(&box, symbol, source, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                                   size_t count, void *to, const void *symbol, size_t size, size_t offset,
                                                   enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    struct place place = {node, graph, from, count};
    BL_RT_ENTER();
    return add_copy(&place, line_from(&box, to, symbol, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return set_copy(node, bl_rt_box(params, &box), &box);
}

cudaError_t bl_rt_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *to, const void *from, size_t size,
                                                 enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return set_copy(node, line(&box, to, from, size, kind), &box);
}

cudaError_t bl_rt_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol, const void *from, size_t size,
                                                       size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return set_copy(node, line_to(&box, symbol, from, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *to, const void *symbol, size_t size,
                                                         size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return set_copy(node, line_from(&box, to, symbol, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                                   const struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return exec_set_copy(exec, node, bl_rt_box(params, &box), &box);
}

cudaError_t bl_rt_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void *to, const void *from,
                                                     size_t size, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return exec_set_copy(exec, node, line(&box, to, from, size, kind), &box);
}

cudaError_t bl_rt_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void *symbol,
                                                           const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return exec_set_copy(exec, node, line_to(&box, symbol, from, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t exec, cudaGraphNode_t node, void *to,
                                                             const void *symbol, size_t size, size_t offset,
                                                             enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY3D box;
    BL_RT_ENTER();
    return exec_set_copy(exec, node, line_from(&box, to, symbol, size, offset, kind), &box);
}

cudaError_t bl_rt_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *params)
{
    CUDA_MEMCPY3D box;
    if (!params)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    CUresult result = cuGraphMemcpyNodeGetParams((CUgraphNode)node, &box);
    return result == CUDA_SUCCESS ? bl_rt_box_params(&box, params) : bl_rt_error(result);
}

/* ---- nodes of any kind ------------------------------------------------------------------------------ */

static cudaError_t any_kernel(const struct cudaKernelNodeParamsV2 *given, CUDA_KERNEL_NODE_PARAMS_v3 *made)
{
    CUDA_KERNEL_NODE_PARAMS_v2 kernel;
    struct cudaKernelNodeParams plain;
    _Static_assert(sizeof(plain) == sizeof(*given) && sizeof(kernel) == sizeof(*made), "versions that differ in their names alone");
    memcpy(&plain, given, sizeof(plain));
    cudaError_t error = kernel_params(&plain, &kernel);
    if (error == cudaSuccess)
        memcpy(made, &kernel, sizeof(*made));
    return error;
}

/* A kernel's function and a copy's box differ; all other parameters have one layout in both, without the driver's contexts. */
static cudaError_t any_params(const struct cudaGraphNodeParams *given, CUgraphNodeParams *made)
{
    _Static_assert(sizeof(*given) == sizeof(*made), "the two forms are of one size");
    _Static_assert(sizeof(given->alloc) == sizeof(made->alloc) && sizeof(given->memset) <= sizeof(made->memset),
                   "the driver's forms begin as the runtime's");
    *made = (CUgraphNodeParams){.type = (CUgraphNodeType)given->type, .reserved2 = given->reserved2};
    memcpy(made->reserved0, given->reserved0, sizeof(made->reserved0));
    switch (given->type) {
    case cudaGraphNodeTypeKernel:
        return any_kernel(&given->kernel, &made->kernel);
    case cudaGraphNodeTypeMemcpy:
        made->memcpy.flags = given->memcpy.flags;
        if (given->memcpy.reserved[0] || given->memcpy.reserved[1] || given->memcpy.reserved[2])
            return cudaErrorInvalidValue;
        return bl_rt_box(&given->memcpy.copyParams, &made->memcpy.copyParams);
    case cudaGraphNodeTypeMemset:
        memcpy(&made->memset, &given->memset, sizeof(given->memset));
        return cudaSuccess;
    case cudaGraphNodeTypeConditional:
        memcpy(&made->conditional, &given->conditional, sizeof(given->conditional));
        return cudaSuccess;
    default:
        memcpy(made->reserved1, given->reserved1, sizeof(made->reserved1));
        return cudaSuccess;
    }
}

cudaError_t bl_rt_cudaGraphAddNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from,
                                   const cudaGraphEdgeData *data, size_t count, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams made;
    if (!params)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = any_params(params, &made);
    if (error != cudaSuccess)
        return error;
    CUresult result = cuGraphAddNode_v2((CUgraphNode *)node, (CUgraph)graph, (const CUgraphNode *)from,
                                        (const CUgraphEdgeData *)data, count, &made);
    if (result == CUDA_SUCCESS && params->type == cudaGraphNodeTypeMemAlloc)
        params->alloc.dptr = (void *)(uintptr_t)made.alloc.dptr;
    if (result == CUDA_SUCCESS && params->type == cudaGraphNodeTypeConditional)
        params->conditional.phGraph_out = (cudaGraph_t *)made.conditional.phGraph_out;
    return bl_rt_error(result);
}

cudaError_t bl_rt_cudaGraphAddNode_12(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *from, size_t count,
                                      struct cudaGraphNodeParams *params)
{
    return bl_rt_cudaGraphAddNode(node, graph, from, NULL, count, params);
}

cudaError_t bl_rt_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams made;
    if (!params)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = any_params(params, &made);
    return error == cudaSuccess ? bl_rt_error(cuGraphNodeSetParams((CUgraphNode)node, &made)) : error;
}

cudaError_t bl_rt_cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, struct cudaGraphNodeParams *params)
{
    CUgraphNodeParams made;
    if (!params)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = any_params(params, &made);
    return error == cudaSuccess ? bl_rt_error(cuGraphExecNodeSetParams((CUgraphExec)exec, (CUgraphNode)node, &made)) : error;
}
