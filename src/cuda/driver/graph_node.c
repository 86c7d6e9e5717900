/* Nodes of graphs: their parameters, checked and copied, and every call that adds, reads or changes one kind of node. */
#include "cuda/driver/graph.h"

/* ---- kernels --------------------------------------------------------------------------------------- */

static CUresult kernel_copy_values(struct bl_cu_params *params, const uint8_t *values, uint32_t bytes, uint32_t count,
                                   const uint32_t *offsets)
{
    size_t start = BL_ALIGN_UP((size_t)bytes, sizeof(void *));
    uint8_t *block = bl_malloc(start + count * sizeof(void *) + 1);
    if (!block)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(block, values, bytes);
    void **pointers = (void **)(void *)(block + start);
    for (uint32_t i = 0; i < count; i++)
        pointers[i] = block + offsets[i];
    params->kernel.values = block;
    params->kernel.bytes = bytes;
    params->kernel.given.kernelParams = count ? pointers : NULL;
    params->kernel.given.extra = NULL;
    return CUDA_SUCCESS;
}

struct bl_cu_function *bl_cu_params_function(const struct bl_cu_params *params)
{
    const CUDA_KERNEL_NODE_PARAMS *given = &params->kernel.given;
    struct bl_cu_context *context = bl_cu_object(given->ctx, BL_CU_CONTEXT);
    struct bl_cu_function *function;
    const void *handle = given->func ? (const void *)given->func : (const void *)given->kern;
    return context && bl_cu_function_find(handle, context, &function) == CUDA_SUCCESS ? function : NULL;
}

static void kernel_launch(const struct bl_cu_params *params, struct bl_launch *launch)
{
    const CUDA_KERNEL_NODE_PARAMS *given = &params->kernel.given;
    *launch = (struct bl_launch){.grid = {given->gridDimX, given->gridDimY, given->gridDimZ},
                                 .block = {given->blockDimX, given->blockDimY, given->blockDimZ},
                                 .dynamic_shared = given->sharedMemBytes,
                                 .cooperative = params->kernel.attributes.cooperative != 0,
                                 .params = params->kernel.values,
                                 .param_bytes = params->kernel.bytes};
    if (params->kernel.attributes.cluster[0])
        memcpy(launch->cluster, params->kernel.attributes.cluster, sizeof(launch->cluster));
}

static CUresult make_kernel(struct bl_cu_params *params, const CUDA_KERNEL_NODE_PARAMS_v3 *given)
{
    _Static_assert(sizeof(*given) == sizeof(params->kernel.given), "the two versions differ in nothing but their names");
    memcpy(&params->kernel.given, given, sizeof(*given));
    params->kernel.attributes.sync_domain_map.remote = 1;
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(given->ctx, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (given->kernelParams && given->extra)
        return CUDA_ERROR_INVALID_VALUE;
    params->kernel.given.ctx = BL_CU_HANDLE(CUcontext, context);
    struct bl_cu_function *function = bl_cu_params_function(params);
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_launch launch;
    kernel_launch(params, &launch);
    result = bl_cu_launch_check(function, &launch);
    if (result != CUDA_SUCCESS)
        return result;
    uint8_t *buffer = bl_calloc(1, function->param_bytes + 1);
    if (!buffer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = bl_cu_launch_params(function, given->kernelParams, given->extra, buffer);
    if (result == CUDA_SUCCESS)
        result = kernel_copy_values(params, buffer, function->param_bytes, function->param_count, function->offsets);
    bl_free(buffer);
    return result;
}

static CUresult copy_kernel(struct bl_cu_params *to, const struct bl_cu_params *from)
{
    const CUDA_KERNEL_NODE_PARAMS *given = &from->kernel.given;
    uint32_t count = 0;
    struct bl_cu_function *function = bl_cu_params_function(from);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    count = given->kernelParams ? function->param_count : 0;
    return kernel_copy_values(to, from->kernel.values, from->kernel.bytes, count, function->offsets);
}

/* ---- copies and fills ---------------------------------------------------------------------------------- */

static CUresult make_memcpy(struct bl_cu_params *params, const CUDA_MEMCPY_NODE_PARAMS *given)
{
    struct bl_cu_context *context;
    struct bl_copy copy;
    CUresult result = bl_cu_context_of(given->copyCtx, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!given->copyParams.WidthInBytes || !given->copyParams.Height || !given->copyParams.Depth) /* here and for fills: measured,
                                                                                                   tests/api/calls_graph.cu */
        return CUDA_ERROR_INVALID_VALUE;
    params->memcpy.copy = given->copyParams;
    params->memcpy.context = BL_CU_HANDLE(CUcontext, context);
    return bl_cu_copy_resolve(context, &given->copyParams, &copy);
}

static CUresult make_memset(struct bl_cu_params *params, const CUDA_MEMSET_NODE_PARAMS_v2 *given)
{
    struct bl_cu_context *context;
    struct bl_fill fill;
    CUresult result = bl_cu_context_of(given->ctx, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!given->width || !given->height)
        return CUDA_ERROR_INVALID_VALUE;
    params->memset.fill = *given;
    params->memset.fill.ctx = BL_CU_HANDLE(CUcontext, context);
    return bl_cu_fill_resolve(context, given, &fill);
}

/* ---- memory ------------------------------------------------------------------------------------------------ */

static CUresult make_alloc(struct bl_cu_params *params, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *given)
{
    const CUmemPoolProps *props = &given->poolProps;
    if (!given->bytesize || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED || (given->accessDescCount && !given->accessDescs))
        return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE || props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < given->accessDescCount; i++)
        if (given->accessDescs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !bl_cu_device(given->accessDescs[i].location.id))
            return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (bl_cu_device(props->location.id) != context->device)
        return bl_cu_device(props->location.id) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_graph_memory_new(context, given->bytesize, &params->alloc.memory);
    if (result != CUDA_SUCCESS)
        return result;
    given->dptr = params->alloc.memory->base;
    memcpy(&params->alloc.given, given, sizeof(params->alloc.given));
    params->alloc.given.accessDescs = NULL;
    params->alloc.given.accessDescCount = 0;
    return CUDA_SUCCESS;
}

static CUresult make_free(struct bl_cu_params *params, const CUDA_MEM_FREE_NODE_PARAMS *given)
{
    bl_cu_graph_enter();
    params->free.address = given->dptr;
    params->free.memory = bl_cu_graph_memory_find(given->dptr);
    bl_cu_graph_leave();
    return params->free.memory ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- graphs inside graphs ---------------------------------------------------------------------------------------- */

static CUresult make_child(struct bl_cu_params *params, const CUDA_CHILD_GRAPH_NODE_PARAMS *given)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *child = bl_cu_object(given->graph, BL_CU_GRAPH);
    bool move = given->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    if (!child || (move && (child->owner || child->capturing)))
        result = CUDA_ERROR_INVALID_VALUE;
    else if (!move && (child->memory || child->conditional)) /* they can't be cloned */
        result = CUDA_ERROR_NOT_SUPPORTED;
    else if (move) {
        params->child = child;
        result = CUDA_SUCCESS;
    } else
        result = bl_cu_graph_copy(child, true, &params->child);
    bl_cu_graph_leave();
    return result;
}

static void free_bodies(struct bl_cu_params *params)
{
    for (unsigned i = 0; i < params->conditional.size; i++)
        if (params->conditional.bodies && params->conditional.bodies[i])
            bl_cu_graph_free(params->conditional.bodies[i]);
    bl_free(params->conditional.bodies);
    bl_free(params->conditional.handles);
}

static CUresult new_bodies(struct bl_cu_params *params, unsigned size)
{
    params->conditional.size = size;
    params->conditional.bodies = bl_calloc(size, sizeof(struct bl_cu_graph *));
    params->conditional.handles = bl_calloc(size, sizeof(CUgraph));
    if (!params->conditional.bodies || !params->conditional.handles)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult make_conditional(struct bl_cu_params *params, CUDA_CONDITIONAL_NODE_PARAMS *given, struct bl_cu_graph *graph)
{
    static const unsigned most[] = {
        [CU_GRAPH_COND_TYPE_IF] = 2, [CU_GRAPH_COND_TYPE_WHILE] = 1, [CU_GRAPH_COND_TYPE_SWITCH] = 1 << 16};
    if ((unsigned)given->type > CU_GRAPH_COND_TYPE_SWITCH || !given->size || given->size > most[given->type])
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_condition *condition = NULL;
    for (; graph && !condition; graph = graph->owner ? graph->owner->graph : NULL) /* its own, or one of a graph around it */
        for (size_t i = 0; i < graph->condition_count; i++)
            if (graph->conditions[i]->address == given->handle)
                condition = graph->conditions[i];
    CUresult result = condition && !condition->used ? new_bodies(params, given->size) : CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < given->size && result == CUDA_SUCCESS; i++) {
        struct bl_cu_graph *body = params->conditional.bodies[i] = bl_cu_graph_new();
        if (!body)
            result = CUDA_ERROR_OUT_OF_MEMORY;
        else {
            bl_cu_publish(body);
            params->conditional.handles[i] = BL_CU_HANDLE(CUgraph, body);
        }
    }
    if (result == CUDA_SUCCESS) {
        condition->used = true;
        condition->refs++;
        params->conditional.condition = condition;
        params->conditional.type = given->type;
        given->phGraph_out = params->conditional.handles;
    }
    bl_cu_graph_leave();
    return result;
}

static CUresult copy_conditional(struct bl_cu_params *to, const struct bl_cu_params *from, bool publish)
{
    CUresult result = new_bodies(to, from->conditional.size);
    to->conditional.condition->refs++;
    for (unsigned i = 0; i < from->conditional.size && result == CUDA_SUCCESS; i++)
        result = bl_cu_graph_copy(from->conditional.bodies[i], publish, &to->conditional.bodies[i]);
    return result;
}

/* ---- parameters of any kind ------------------------------------------------------------------------------------------ */

static CUresult make_event(struct bl_cu_params *params, CUevent event)
{
    params->event = event;
    return bl_cu_object(event, BL_CU_EVENT) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_memops(struct bl_cu_params *params, const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *given)
{
    struct bl_cu_context *context;
    struct bl_value_op op;
    bool nothing;
    if (!given->count || given->count > 256 || !given->paramArray || given->flags) /* 256: cuStreamBatchMemOp's limit */
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_context_of(given->ctx, &context);
    for (unsigned i = 0; i < given->count && result == CUDA_SUCCESS; i++)
        result = bl_cu_memop_resolve(context, &given->paramArray[i], &op, &nothing);
    if (result != CUDA_SUCCESS)
        return result;
    params->memops.ops = bl_malloc(given->count * sizeof(*params->memops.ops));
    if (!params->memops.ops)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(params->memops.ops, given->paramArray, given->count * sizeof(*params->memops.ops));
    params->memops.context = BL_CU_HANDLE(CUcontext, context);
    params->memops.count = given->count;
    return CUDA_SUCCESS;
}

static CUresult copy_memops(struct bl_cu_params *to, const struct bl_cu_params *from)
{
    to->memops.ops = bl_malloc(from->memops.count * sizeof(*to->memops.ops));
    if (!to->memops.ops)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(to->memops.ops, from->memops.ops, from->memops.count * sizeof(*to->memops.ops));
    return CUDA_SUCCESS;
}

bool bl_cu_params_fit(const struct bl_cu_params *now, const struct bl_cu_params *wanted)
{
    if (now->type != CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        return true;
    bool same = now->memops.count == wanted->memops.count && now->memops.context == wanted->memops.context;
    for (unsigned i = 0; same && i < now->memops.count; i++)
        same = now->memops.ops[i].operation == wanted->memops.ops[i].operation;
    return same;
}

static CUresult missing_kind(CUgraphNodeType type)
{
    bl_error_log("graph nodes of type %d (external semaphores) are not supported", (int)type);
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult make(struct bl_cu_params *params, CUgraphNodeParams *given, struct bl_cu_graph *graph)
{
    switch ((int)given->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return make_kernel(params, &given->kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return make_memcpy(params, &given->memcpy);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return make_memset(params, &given->memset);
    case CU_GRAPH_NODE_TYPE_HOST:
        params->host = (CUDA_HOST_NODE_PARAMS){given->host.fn, given->host.userData};
        return given->host.fn ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return make_child(params, &given->graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return make_event(params, given->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return make_event(params, given->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return make_alloc(params, &given->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return make_free(params, &given->free);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return graph ? make_conditional(params, &given->conditional, graph) : CUDA_ERROR_INVALID_VALUE;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return make_memops(params, &given->memOp);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return missing_kind(given->type);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cu_params_make(struct bl_cu_params *params, CUgraphNodeParams *given, struct bl_cu_graph *graph)
{
    memset(params, 0, sizeof(*params));
    params->type = given->type;
    CUresult result = make(params, given, graph);
    if (result != CUDA_SUCCESS) {
        bl_cu_graph_enter();
        bl_cu_params_free(params);
        bl_cu_graph_leave();
    }
    return result;
}

void bl_cu_params_free(struct bl_cu_params *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_KERNEL)
        bl_free(params->kernel.values);
    else if (params->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        bl_free(params->memops.ops);
    else if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->child)
        bl_cu_graph_free(params->child);
    else if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && params->alloc.memory)
        bl_cu_graph_memory_drop(params->alloc.memory);
    else if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE && params->free.memory)
        bl_cu_graph_memory_drop(params->free.memory);
    else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        free_bodies(params);
        if (params->conditional.condition)
            bl_cu_condition_drop(params->conditional.condition);
    }
    params->type = CU_GRAPH_NODE_TYPE_EMPTY;
}

CUresult bl_cu_params_copy(struct bl_cu_params *to, const struct bl_cu_params *from, bool publish)
{
    CUresult result = CUDA_SUCCESS;
    *to = *from;
    switch ((int)from->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        to->kernel.values = NULL;
        result = copy_kernel(to, from);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        to->child = NULL;
        result = bl_cu_graph_copy(from->child, publish, &to->child);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        to->alloc.memory->refs++;
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        to->free.memory->refs++;
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        result = copy_memops(to, from);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        to->conditional.bodies = NULL;
        to->conditional.handles = NULL;
        result = copy_conditional(to, from, publish);
        break;
    default:
        break;
    }
    if (result != CUDA_SUCCESS)
        bl_cu_params_free(to);
    return result;
}

static CUresult step_kernel(const struct bl_cu_params *params, struct bl_step *step)
{
    struct bl_cu_function *function = bl_cu_params_function(params);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    step->kind = BL_STEP_LAUNCH;
    kernel_launch(params, &step->launch);
    step->launch.kernel = function->kernel;
    return bl_cu_launch_check(function, &step->launch);
}

CUresult bl_cu_params_step(const struct bl_cu_params *params, struct bl_step *step)
{
    struct bl_cu_context *context;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return step_kernel(params, step);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        step->kind = BL_STEP_COPY;
        context = bl_cu_object(params->memcpy.context, BL_CU_CONTEXT);
        return context ? bl_cu_copy_resolve(context, &params->memcpy.copy, &step->copy) : CUDA_ERROR_INVALID_CONTEXT;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        step->kind = BL_STEP_FILL;
        context = bl_cu_object(params->memset.fill.ctx, BL_CU_CONTEXT);
        return context ? bl_cu_fill_resolve(context, &params->memset.fill, &step->fill) : CUDA_ERROR_INVALID_CONTEXT;
    default: /* host functions, events, memory and conditions are looked at in each launch */
        step->kind = BL_STEP_HOST_CALL;
        return CUDA_SUCCESS;
    }
}

/* ---- adding ------------------------------------------------------------------------------------------------------------- */

/* How many graphs a graph stands in. */
static unsigned owners(const struct bl_cu_graph *graph)
{
    unsigned count = 0;
    for (; graph->owner; graph = graph->owner->graph)
        count++;
    return count;
}

static CUresult add(struct bl_cu_graph *graph, struct bl_cu_params *params, const CUgraphNode *dependencies,
                    const CUgraphEdgeData *data, size_t count, struct bl_cu_node **made)
{
    struct bl_cu_node **from;
    unsigned depth = params->type == CU_GRAPH_NODE_TYPE_GRAPH         ? params->child->depth + 1
                     : params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? 1
                                                                      : 0;
    if (owners(graph) + depth > BL_CU_GRAPH_DEPTH) {
        bl_error_log("a graph stands in more than %d others", BL_CU_GRAPH_DEPTH);
        return CUDA_ERROR_INVALID_VALUE;
    }
    CUresult result = bl_cu_nodes_of(graph, dependencies, data, count, &from);
    if (result != CUDA_SUCCESS)
        return result;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE && params->free.memory->freed_in == graph->object.handle) {
        bl_free(from);
        return CUDA_ERROR_INVALID_VALUE;
    }
    result = bl_cu_graph_add(graph, params, from, data, count, made);
    bl_free(from);
    if (result != CUDA_SUCCESS)
        return result;
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
        params->free.memory->freed_in = graph->object.handle;
    while (graph->owner) {
        struct bl_cu_graph *outer = graph->owner->graph;
        outer->memory |= graph->memory;
        outer->conditional |= graph->conditional;
        outer->depth = BL_MAX(outer->depth, graph->depth + 1);
        graph = outer;
    }
    bl_cu_publish(*made);
    return CUDA_SUCCESS;
}

CUresult bl_cu_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *data, size_t count,
                        CUgraphNodeParams *given)
{
    struct bl_cu_params params;
    struct bl_cu_node *made;
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    if (!out || !found || (count && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_params_make(&params, given, found);
    if (result != CUDA_SUCCESS)
        return result;
    bl_cu_graph_enter();
    found = bl_cu_object(graph, BL_CU_GRAPH);
    result = found ? add(found, &params, dependencies, data, count, &made) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *out = BL_CU_HANDLE(CUgraphNode, made);
    } else {
        bool moved = params.type == CU_GRAPH_NODE_TYPE_GRAPH && given->graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
        if (moved) /* stays the program's */
            params.child = NULL;
        if (params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            params.conditional.condition->used = false;
        bl_cu_params_free(&params);
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphAddNode_v2(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                              const CUgraphEdgeData *dependency_data, size_t num_dependencies, CUgraphNodeParams *node_params)
{
    if (!node_params || node_params->reserved0[0] || node_params->reserved0[1] || node_params->reserved0[2] ||
        node_params->reserved2)
        return CUDA_ERROR_INVALID_VALUE;
    return bl_cu_node_add(graph_node, graph, dependencies, dependency_data, num_dependencies, node_params);
}

CUresult bl_cuGraphAddNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                           CUgraphNodeParams *node_params)
{
    return bl_cuGraphAddNode_v2(graph_node, graph, dependencies, NULL, num_dependencies, node_params);
}

/* The forms of parameters that older calls have, as the newest. */
static CUgraphNodeParams of_kernel(const CUDA_KERNEL_NODE_PARAMS *given)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&params.kernel, given, sizeof(*given));
    return params;
}

static CUgraphNodeParams of_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *given)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&params.kernel, given, sizeof(*given)); /* the fields up to extra are the same */
    return params;
}

static CUgraphNodeParams of_memcpy(const CUDA_MEMCPY3D *given, CUcontext context)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    params.memcpy.copyCtx = context;
    params.memcpy.copyParams = *given;
    return params;
}

static CUgraphNodeParams of_memset(const CUDA_MEMSET_NODE_PARAMS *given, CUcontext context)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    memcpy(&params.memset, given, sizeof(*given));
    params.memset.ctx = context;
    return params;
}

static CUgraphNodeParams of_host(const CUDA_HOST_NODE_PARAMS *given)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_HOST};
    params.host.fn = given->fn;
    params.host.userData = given->userData;
    return params;
}

static CUgraphNodeParams of_event(CUgraphNodeType type, CUevent event)
{
    CUgraphNodeParams params = {.type = type};
    params.eventWait.event = event; /* the same place in both */
    return params;
}

static CUgraphNodeParams of_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *given)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    memcpy(&params.memOp, given, sizeof(*given));
    return params;
}

CUresult bl_cuGraphAddKernelNode_v2(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                                    size_t num_dependencies, const CUDA_KERNEL_NODE_PARAMS *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_kernel(node_params);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddKernelNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                                 const CUDA_KERNEL_NODE_PARAMS_v1 *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_kernel_v1(node_params);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddMemcpyNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                                 const CUDA_MEMCPY3D *copy_params, CUcontext ctx)
{
    if (!copy_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_memcpy(copy_params, ctx);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddMemsetNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                                 const CUDA_MEMSET_NODE_PARAMS *memset_params, CUcontext ctx)
{
    if (!memset_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_memset(memset_params, ctx);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddHostNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                               const CUDA_HOST_NODE_PARAMS *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_host(node_params);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddChildGraphNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t num_dependencies, CUgraph child_graph)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    params.graph.graph = child_graph;
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddEmptyNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddEventRecordNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                                      size_t num_dependencies, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddEventWaitNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                                    size_t num_dependencies, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddMemAllocNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                                   CUDA_MEM_ALLOC_NODE_PARAMS *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    _Static_assert(sizeof(*node_params) == sizeof(params.alloc), "the two versions differ in nothing but their names");
    memcpy(&params.alloc, node_params, sizeof(*node_params));
    CUresult result = bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
    if (result == CUDA_SUCCESS)
        node_params->dptr = params.alloc.dptr;
    return result;
}

CUresult bl_cuGraphAddMemFreeNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies, size_t num_dependencies,
                                  CUdeviceptr address)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    params.free.dptr = address;
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

CUresult bl_cuGraphAddBatchMemOpNode(CUgraphNode *graph_node, CUgraph graph, const CUgraphNode *dependencies,
                                     size_t num_dependencies, const CUDA_BATCH_MEM_OP_NODE_PARAMS *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNodeParams params = of_memops(node_params);
    return bl_cu_node_add(graph_node, graph, dependencies, NULL, num_dependencies, &params);
}

/* ---- reading ---------------------------------------------------------------------------------------------------------------- */

/* Copies the parameters of a node of that type, not to be freed; false: no such node. */
static bool read_params(CUgraphNode node, CUgraphNodeType type, struct bl_cu_params *params)
{
    bl_cu_graph_enter();
    struct bl_cu_node *found = bl_cu_object(node, BL_CU_NODE);
    bool right = found && found->params.type == type;
    if (right)
        *params = found->params;
    bl_cu_graph_leave();
    return right;
}

CUresult bl_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *node_params)
{
    struct bl_cu_params params;
    if (!node_params || !read_params(node, CU_GRAPH_NODE_TYPE_KERNEL, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *node_params = params.kernel.given;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *node_params)
{
    struct bl_cu_params params;
    if (!node_params || !read_params(node, CU_GRAPH_NODE_TYPE_KERNEL, &params))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_function *function = bl_cu_params_function(&params);
    if (!params.kernel.given.func && function) /* this form has no place for a CUkernel */
        params.kernel.given.func = BL_CU_HANDLE(CUfunction, function);
    memcpy(node_params, &params.kernel.given, sizeof(*node_params));
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *node_params)
{
    struct bl_cu_params params;
    if (!node_params || !read_params(node, CU_GRAPH_NODE_TYPE_MEMCPY, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *node_params = params.memcpy.copy;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *node_params)
{
    struct bl_cu_params params;
    if (!node_params || !read_params(node, CU_GRAPH_NODE_TYPE_MEMSET, &params))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(node_params, &params.memset.fill, sizeof(*node_params));
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *node_params)
{
    struct bl_cu_params params;
    if (!node_params || !read_params(node, CU_GRAPH_NODE_TYPE_HOST, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *node_params = params.host;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph)
{
    struct bl_cu_params params;
    if (!graph || !read_params(node, CU_GRAPH_NODE_TYPE_GRAPH, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *graph = BL_CU_HANDLE(CUgraph, params.child);
    return CUDA_SUCCESS;
}

static CUresult get_event(CUgraphNode node, CUgraphNodeType type, CUevent *event)
{
    struct bl_cu_params params;
    if (!event || !read_params(node, type, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *event = params.event;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event_out)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult bl_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event_out)
{
    return get_event(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult bl_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
    struct bl_cu_params params;
    if (!params_out || !read_params(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *params_out = params.alloc.given;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address)
{
    struct bl_cu_params params;
    if (!address || !read_params(node, CU_GRAPH_NODE_TYPE_MEM_FREE, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *address = params.free.address;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *node_params_out)
{
    struct bl_cu_params params;
    if (!node_params_out || !read_params(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, &params))
        return CUDA_ERROR_INVALID_VALUE;
    *node_params_out = (CUDA_BATCH_MEM_OP_NODE_PARAMS){params.memops.context, params.memops.count, params.memops.ops, 0};
    return CUDA_SUCCESS;
}

/* ---- changing --------------------------------------------------------------------------------------------------------------- */

static bool may_change(CUgraphNodeType type)
{
    return type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET ||
           type == CU_GRAPH_NODE_TYPE_HOST || type == CU_GRAPH_NODE_TYPE_WAIT_EVENT || type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ||
           type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

CUresult bl_cu_params_swap(struct bl_cu_params *now, struct bl_cu_params *wanted)
{
    if (now->type != wanted->type)
        return CUDA_ERROR_INVALID_VALUE;
    if (now->type == CU_GRAPH_NODE_TYPE_KERNEL)
        wanted->kernel.attributes = now->kernel.attributes;
    struct bl_cu_params old = *now;
    *now = *wanted;
    *wanted = old;
    return CUDA_SUCCESS;
}

static CUresult set(CUgraphNode node, CUgraphNodeParams *given)
{
    struct bl_cu_params params;
    struct bl_cu_node *found = bl_cu_object(node, BL_CU_NODE);
    if (!found)
        return CUDA_ERROR_INVALID_VALUE;
    if (!may_change(given->type))
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = bl_cu_params_make(&params, given, NULL);
    if (result != CUDA_SUCCESS)
        return result;
    bl_cu_graph_enter();
    found = bl_cu_object(node, BL_CU_NODE);
    result = found ? bl_cu_params_swap(&found->params, &params) : CUDA_ERROR_INVALID_VALUE;
    bl_cu_params_free(&params);
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *node_params)
{
    return node_params ? set(node, node_params) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_kernel(node_params), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_kernel_v1(node_params), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_memcpy(node_params, NULL), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_memset(node_params, NULL), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_host(node_params), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return set(node, &params);
}

CUresult bl_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return set(node, &params);
}

CUresult bl_cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_memops(node_params), set(node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

/* The same for an executable graph: graph_exec.c does it. */

static CUresult exec_set(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *given)
{
    struct bl_cu_params params;
    if (!bl_cu_object(exec, BL_CU_EXEC) || !bl_cu_object(node, BL_CU_NODE))
        return CUDA_ERROR_INVALID_VALUE;
    if (!may_change(given->type))
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult result = bl_cu_params_make(&params, given, NULL);
    return result == CUDA_SUCCESS ? bl_cu_exec_change(exec, node, &params) : result;
}

CUresult bl_cuGraphExecNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, CUgraphNodeParams *node_params)
{
    if (!node_params)
        return CUDA_ERROR_INVALID_VALUE;
    if (node_params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return bl_cuGraphExecChildGraphNodeSetParams(graph_exec, node, node_params->graph.graph);
    return exec_set(graph_exec, node, node_params);
}

CUresult bl_cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph_exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_kernel(node_params), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphExecKernelNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_kernel_v1(node_params), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphExecMemcpyNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, const CUDA_MEMCPY3D *copy_params,
                                           CUcontext ctx)
{
    CUgraphNodeParams params;
    return copy_params ? (params = of_memcpy(copy_params, ctx), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphExecMemsetNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *memset_params,
                                           CUcontext ctx)
{
    CUgraphNodeParams params;
    return memset_params ? (params = of_memset(memset_params, ctx), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphExecHostNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_host(node_params), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphExecEventRecordNodeSetEvent(CUgraphExec graph_exec, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
    return exec_set(graph_exec, node, &params);
}

CUresult bl_cuGraphExecEventWaitNodeSetEvent(CUgraphExec graph_exec, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams params = of_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
    return exec_set(graph_exec, node, &params);
}

CUresult bl_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                               const CUDA_BATCH_MEM_OP_NODE_PARAMS *node_params)
{
    CUgraphNodeParams params;
    return node_params ? (params = of_memops(node_params), exec_set(graph_exec, node, &params)) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- attributes of kernel nodes ------------------------------------------------------------------------------------------------
 */

static CUresult get_attribute(const struct bl_cu_node_attributes *kept, CUlaunchAttributeID attr, CUlaunchAttributeValue *value)
{
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value->accessPolicyWindow = kept->access_policy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        value->cooperative = kept->cooperative;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        value->priority = kept->priority;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        value->clusterDim.x = kept->cluster[0];
        value->clusterDim.y = kept->cluster[1];
        value->clusterDim.z = kept->cluster[2];
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        value->clusterSchedulingPolicyPreference = (CUclusterSchedulingPolicy)kept->cluster_policy;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value->memSyncDomain = kept->sync_domain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value->memSyncDomainMap = kept->sync_domain_map;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        value->sharedMemCarveout = kept->carveout;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cu_attribute_keep(struct bl_cu_node_attributes *kept, CUlaunchAttributeID attr, const CUlaunchAttributeValue *value)
{
    switch ((int)attr) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        if (value->accessPolicyWindow.hitRatio < 0 || value->accessPolicyWindow.hitRatio > 1)
            return CUDA_ERROR_INVALID_VALUE;
        kept->access_policy = value->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        kept->cooperative = value->cooperative;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        kept->priority = BL_MAX(-5, BL_MIN(0, value->priority));
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        kept->cluster[0] = value->clusterDim.x;
        kept->cluster[1] = value->clusterDim.y;
        kept->cluster[2] = value->clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        kept->cluster_policy = (int)value->clusterSchedulingPolicyPreference;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        kept->sync_domain = value->memSyncDomain;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        kept->sync_domain_map = value->memSyncDomainMap;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        kept->carveout = value->sharedMemCarveout;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult bl_cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value_out)
{
    struct bl_cu_params params;
    if (!value_out || !read_params(node, CU_GRAPH_NODE_TYPE_KERNEL, &params))
        return CUDA_ERROR_INVALID_VALUE;
    return get_attribute(&params.kernel.attributes, attr, value_out);
}

CUresult bl_cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *found = bl_cu_object(node, BL_CU_NODE);
    if (found && value && found->params.type == CU_GRAPH_NODE_TYPE_KERNEL)
        result = bl_cu_attribute_keep(&found->params.kernel.attributes, attr, value);
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *to = bl_cu_object(dst, BL_CU_NODE), *from = bl_cu_object(src, BL_CU_NODE);
    if (to && from && to->params.type == CU_GRAPH_NODE_TYPE_KERNEL && from->params.type == CU_GRAPH_NODE_TYPE_KERNEL) {
        to->params.kernel.attributes = from->params.kernel.attributes;
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}
