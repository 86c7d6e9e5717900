/* Launches of executable graphs: one batch of steps in the stream's queue. See graph_exec.c. */
#include "cuda/driver/graph.h"

static const struct bl_device_ops *ops_of(const struct bl_cu_context *context)
{
    return context->device->device->ops;
}

/* Steps made for one launch. */
struct build {
    struct bl_cu_exec *exec;
    struct bl_cu_context *context;
    struct bl_step *steps; /* owned */
    size_t count;
    unsigned level; /* conditional nodes around it */
};

static enum bl_status submit(struct bl_cu_context *context, struct bl_queue *queue, const struct bl_step *steps, size_t count)
{
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = ops_of(context)->batch(queue, steps, count, &error);
    if (status != BL_OK && status != BL_FAULT)
        bl_error_log("launch of a graph: %s%s%s", bl_status_name(status), error.message[0] ? ": " : "", error.message);
    return status;
}

/* ---- conditional nodes ---------------------------------------------------------------------------------- */

struct conditional_call {
    struct bl_cu_exec *exec; /* a reference */
    struct bl_cu_node *node;
    unsigned level; /* conditional nodes around it */
};

static CUresult run_plan(struct bl_cu_exec *exec, struct bl_cu_context *context, struct bl_cu_plan *plan, struct bl_queue *queue,
                         unsigned level);

static bool run_body(const struct conditional_call *call, unsigned body)
{
    struct bl_cu_context *context = call->exec->context;
    struct bl_queue *queue = call->exec->queues[call->level];
    return run_plan(call->exec, context, &call->node->bodies[body], queue, call->level + 1) == CUDA_SUCCESS &&
           ops_of(context)->queue_wait(queue) == BL_OK;
}

/* In the stream's turn, on a thread of the device. A failure is the device's fault, which the program learns of at its next wait,
 * or has been logged. */
static void run_conditional(void *data)
{
    struct conditional_call call = *(struct conditional_call *)data;
    const struct bl_cu_params *params = &call.node->params;
    const volatile uint32_t *value = (const volatile uint32_t *)(uintptr_t)params->conditional.condition->address;
    bl_free(data);
    switch (params->conditional.type) {
    case CU_GRAPH_COND_TYPE_IF:
        if (*value)
            run_body(&call, 0);
        else if (params->conditional.size > 1)
            run_body(&call, 1);
        break;
    case CU_GRAPH_COND_TYPE_WHILE:
        while (*value && run_body(&call, 0))
            ;
        break;
    case CU_GRAPH_COND_TYPE_SWITCH:
        if (*value < params->conditional.size)
            run_body(&call, *value);
        break;
    }
    bl_cu_exec_drop(call.exec);
}

static void drop_exec(void *data)
{
    bl_cu_exec_drop(data);
}

/* ---- building ---------------------------------------------------------------------------------------------- */

static struct bl_step *next_step(struct build *build, enum bl_step_kind kind)
{
    struct bl_step *step = &build->steps[build->count++];
    step->kind = kind;
    return step;
}

static CUresult build_host(struct build *build, const struct bl_cu_params *params)
{
    struct bl_step step = {.kind = BL_STEP_HOST_CALL};
    if (!bl_cu_host_function(params->host.fn, params->host.userData, &step.host.function, &step.host.data))
        return CUDA_ERROR_OUT_OF_MEMORY;
    build->steps[build->count++] = step;
    return CUDA_SUCCESS;
}

static CUresult build_memops(struct build *build, const struct bl_cu_params *params)
{
    bool nothing;
    if (!ops_of(build->context)->value)
        return CUDA_ERROR_NOT_SUPPORTED;
    for (unsigned i = 0; i < params->memops.count; i++) {
        struct bl_step *step = &build->steps[build->count];
        step->kind = BL_STEP_VALUE;
        CUresult result = bl_cu_memop_resolve(build->context, &params->memops.ops[i], &step->value, &nothing);
        if (result != CUDA_SUCCESS)
            return result;
        build->count += !nothing;
    }
    return CUDA_SUCCESS;
}

static CUresult build_conditional(struct build *build, struct bl_cu_node *node)
{
    struct conditional_call *call = bl_malloc(sizeof(*call));
    if (!call)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *call = (struct conditional_call){build->exec, node, build->level};
    atomic_fetch_add(&build->exec->refs, 1);
    struct bl_step *step = next_step(build, BL_STEP_HOST_CALL);
    step->host.function = run_conditional;
    step->host.data = call;
    return CUDA_SUCCESS;
}

static CUresult build_event(struct build *build, const struct bl_cu_params *params)
{
    struct bl_cu_event *event = bl_cu_object(params->event, BL_CU_EVENT);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (params->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
        if (event->context->device != build->context->device)
            return CUDA_ERROR_INVALID_HANDLE;
        next_step(build, BL_STEP_RECORD)->fence = event->fence;
        return CUDA_SUCCESS;
    }
    if (!atomic_load(&event->recorded))
        return CUDA_SUCCESS;
    if (event->context->device != build->context->device) /* two devices: let the host wait */
        return bl_cu_result(event->context, ops_of(event->context)->fence_wait(event->fence));
    next_step(build, BL_STEP_WAIT)->fence = event->fence;
    return CUDA_SUCCESS;
}

/* An allocation must not be made again before it is freed. */
static CUresult check_memory(const struct bl_cu_exec *exec, const struct bl_cu_params *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        return params->alloc.memory->live && !(exec->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_SUCCESS;
    return CUDA_SUCCESS;
}

static CUresult build_node(struct build *build, struct bl_cu_plan *plan, size_t i)
{
    struct bl_cu_node *node = plan->nodes[i];
    if (node->disabled)
        return CUDA_SUCCESS;
    switch ((int)node->params.type) {
    case CU_GRAPH_NODE_TYPE_HOST:
        return build_host(build, &node->params);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return build_event(build, &node->params);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return check_memory(build->exec, &node->params);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return build_memops(build, &node->params);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return build_conditional(build, node);
    default:
        build->steps[build->count++] = plan->steps[i];
        return CUDA_SUCCESS;
    }
}

/* All handles' values, those of graphs inside too. */
static void build_defaults(struct build *build, const struct bl_cu_graph *graph)
{
    for (size_t i = 0; i < graph->condition_count; i++) {
        const struct bl_cu_condition *condition = graph->conditions[i];
        if (condition->assign)
            next_step(build, BL_STEP_FILL)->fill = (struct bl_fill){
                .to = condition->address, .value = condition->initial, .value_size = 4, .width = 1, .height = 1, .pitch = 4};
    }
    for (const struct bl_cu_node *node = graph->conditional ? graph->first : NULL; node; node = node->next) {
        if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
            build_defaults(build, node->params.child);
        for (unsigned i = 0; node->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < node->params.conditional.size; i++)
            build_defaults(build, node->params.conditional.bodies[i]);
    }
}

/* What a launch that failed had made. */
static void build_undo(struct build *build)
{
    for (size_t i = 0; i < build->count; i++) {
        const struct bl_step *step = &build->steps[i];
        if (step->kind != BL_STEP_HOST_CALL)
            continue;
        if (step->host.function == run_conditional)
            bl_cu_exec_drop(((struct conditional_call *)step->host.data)->exec);
        if (step->host.function == drop_exec)
            bl_cu_exec_drop(step->host.data);
        else
            bl_free(step->host.data);
    }
}

static void note_launched(const struct bl_cu_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct bl_cu_params *params = &plan->nodes[i]->params;
        if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            bl_cu_graph_memory_set_live(params->alloc.memory, true);
        else if (params->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
            bl_cu_graph_memory_set_live(params->free.memory, false);
        else if (params->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD) {
            struct bl_cu_event *event = bl_cu_object(params->event, BL_CU_EVENT);
            if (event)
                atomic_store(&event->recorded, true);
        }
    }
}

static CUresult build_all(struct build *build, struct bl_cu_plan *plan)
{
    CUresult result = CUDA_SUCCESS;
    if (!build->level)
        build_defaults(build, build->exec->graph);
    for (size_t i = 0; i < plan->count && result == CUDA_SUCCESS; i++)
        result = build_node(build, plan, i);
    if (result != CUDA_SUCCESS || !plan->keeps)
        return result;
    atomic_fetch_add(&build->exec->refs, 1);
    struct bl_step *step = next_step(build, BL_STEP_HOST_CALL);
    step->host.function = drop_exec;
    step->host.data = build->exec;
    return CUDA_SUCCESS;
}

static CUresult run_plan(struct bl_cu_exec *exec, struct bl_cu_context *context, struct bl_cu_plan *plan, struct bl_queue *queue,
                         unsigned level)
{
    if (!plan->built)
        return plan->count ? bl_cu_result(context, submit(context, queue, plan->steps, plan->count)) : CUDA_SUCCESS;
    struct build build = {.exec = exec, .context = context, .level = level};
    build.steps = bl_malloc((plan->count + plan->more + exec->conditions + 1) * sizeof(*build.steps));
    if (!build.steps)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = build_all(&build, plan);
    if (result == CUDA_SUCCESS && build.count)
        result = bl_cu_result(context, submit(context, queue, build.steps, build.count));
    if (result == CUDA_SUCCESS)
        note_launched(plan);
    else
        build_undo(&build);
    bl_free(build.steps);
    return result;
}

/* ---- launching ----------------------------------------------------------------------------------------------------- */

static bool plan_valid(const struct bl_cu_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct bl_cu_node *node = plan->nodes[i];
        if (node->params.type == CU_GRAPH_NODE_TYPE_KERNEL && !bl_cu_params_function(&node->params))
            return false;
        for (unsigned b = 0; node->bodies && b < node->params.conditional.size; b++)
            if (!plan_valid(&node->bodies[b]))
                return false;
    }
    return true;
}

/* Kernels of modules that were unloaded since. */
static CUresult check_modules(struct bl_cu_exec *exec)
{
    unsigned gone = atomic_load(&bl_cu_modules_gone);
    if (exec->modules == gone)
        return CUDA_SUCCESS;
    if (!plan_valid(&exec->plan))
        return CUDA_ERROR_INVALID_HANDLE;
    exec->modules = gone;
    return CUDA_SUCCESS;
}

/* Launches of one executable graph do not overlap: one in another stream than the last waits for that. */
static CUresult order_launches(struct bl_cu_exec *exec, struct bl_cu_stream *stream)
{
    struct bl_cu_stream *last = exec->stream;
    const struct bl_device_ops *ops = ops_of(stream->context);
    enum bl_status status = BL_OK;
    if (last == stream && exec->stream_handle == stream->object.handle)
        return CUDA_SUCCESS;
    bool there =
        last && (last == stream->context->legacy || bl_cu_object((void *)(uintptr_t)exec->stream_handle, BL_CU_STREAM) == last);
    exec->stream = stream;
    exec->stream_handle = stream->object.handle;
    if (!last)
        return CUDA_SUCCESS;
    if (!there) { /* its queue may still hold a launch */
        if (bl_cu_may_wait() != CUDA_SUCCESS)
            return CUDA_ERROR_NOT_PERMITTED;
        return bl_cu_result(stream->context, ops->device_wait(stream->context->device->device));
    }
    if (!exec->fence)
        status = ops->fence_create(stream->context->device->device, &exec->fence);
    if (status == BL_OK)
        status = ops->fence_record(last->queue, exec->fence);
    if (status == BL_OK)
        status = ops->fence_wait_queue(stream->queue, exec->fence);
    return bl_cu_result(stream->context, status);
}

CUresult bl_cu_exec_launch(struct bl_cu_exec *exec, struct bl_cu_stream *stream)
{
    if (exec->context && exec->context != stream->context) {
        bl_error_log("a graph was launched in another context than that of its work, which is not supported");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    pthread_mutex_lock(&exec->lock);
    if (!exec->context)
        exec->context = stream->context;
    CUresult result = check_modules(exec);
    if (result == CUDA_SUCCESS)
        result = order_launches(exec, stream);
    if (result == CUDA_SUCCESS)
        result = run_plan(exec, stream->context, &exec->plan, stream->queue, 0);
    pthread_mutex_unlock(&exec->lock);
    bl_cu_stream_touched(stream);
    return result;
}

/* A capturing stream takes no graph, in any mode, and the capture is asked before the handle is looked at (an H200:
 * tests/api/calls_graph_rest.cu). */
CUresult bl_cuGraphLaunch(CUgraphExec graph_exec, CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_exec *exec = bl_cu_exec_hold(graph_exec);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_exec_launch(exec, found);
    bl_cu_exec_drop(exec);
    return result;
}

/* Everything is in place after the instantiation. */
CUresult bl_cuGraphUpload(CUgraphExec graph_exec, CUstream stream)
{
    struct bl_cu_stream *found;
    CUresult result = bl_cu_stream_enter(stream, &found);
    if (result != CUDA_SUCCESS)
        return result;
    return bl_cu_object(graph_exec, BL_CU_EXEC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
