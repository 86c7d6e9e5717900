/* Executable graphs: instantiation, updates, and launches.
 *
 * An executable graph has a copy of its graph and a plan: one step of the device for each node, in an order that keeps all
 * dependencies, child graphs in their places. A launch hands the steps to the stream's queue as one batch. Only nodes that mean
 * something new in each launch (host functions, events, memory, conditions) make it build its steps first.
 *
 * The body of a conditional node runs in a queue of the executable graph's own, put there by a host call in the stream's queue that
 * looks at the value and waits for the body's end.
 */
#include "cuda/driver/graph.h"

static const struct bl_device_ops *ops_of(const struct bl_cu_context *context)
{
    return context->device->device->ops;
}

/* ---- plans ------------------------------------------------------------------------------------------- */

static void plan_free(struct bl_cu_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct bl_cu_node *node = plan->nodes[i];
        for (unsigned b = 0; node->bodies && b < node->params.conditional.size; b++)
            plan_free(&node->bodies[b]);
        bl_free(node->bodies);
        node->bodies = NULL;
    }
    bl_free(plan->steps);
    bl_free(plan->nodes);
    *plan = (struct bl_cu_plan){0};
}

static bool plan_reserve(struct bl_cu_plan *plan)
{
    if (plan->count < plan->capacity)
        return true;
    size_t capacity = plan->capacity ? plan->capacity * 2 : 16;
    struct bl_step *steps = bl_realloc(plan->steps, capacity * sizeof(*steps));
    if (!steps)
        return false;
    plan->steps = steps;
    struct bl_cu_node **nodes = bl_realloc(plan->nodes, capacity * sizeof(*nodes));
    if (!nodes)
        return false;
    plan->nodes = nodes;
    plan->capacity = capacity;
    return true;
}

static bool is_work(const struct bl_cu_node *node)
{
    return node->params.type == CU_GRAPH_NODE_TYPE_KERNEL || node->params.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
           node->params.type == CU_GRAPH_NODE_TYPE_MEMSET;
}

static bool has_context(const struct bl_cu_node *node)
{
    return is_work(node) || node->params.type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

/* All work of an executable graph is in one context. */
static CUresult note_context(struct bl_cu_exec *exec, const struct bl_cu_params *params)
{
    CUcontext handle = params->type == CU_GRAPH_NODE_TYPE_KERNEL   ? params->kernel.given.ctx
                       : params->type == CU_GRAPH_NODE_TYPE_MEMCPY ? params->memcpy.context
                       : params->type == CU_GRAPH_NODE_TYPE_MEMSET ? params->memset.fill.ctx
                                                                   : params->memops.context;
    struct bl_cu_context *context = bl_cu_object(handle, BL_CU_CONTEXT);
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (exec->context && exec->context != context) {
        bl_error_log("a graph with work of two contexts is not supported");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    exec->context = context;
    return CUDA_SUCCESS;
}

static CUresult plan_graph(struct bl_cu_exec *exec, struct bl_cu_graph *graph, struct bl_cu_plan *plan, struct bl_cu_node **bad);

static CUresult plan_bodies(struct bl_cu_exec *exec, struct bl_cu_node *node, struct bl_cu_node **bad)
{
    CUresult result = exec->level < BL_LEN(exec->queues) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    node->bodies = bl_calloc(node->params.conditional.size, sizeof(*node->bodies));
    if (!node->bodies)
        return CUDA_ERROR_OUT_OF_MEMORY;
    exec->level++;
    exec->levels = BL_MAX(exec->levels, BL_MIN(exec->level, (unsigned)BL_LEN(exec->queues)));
    for (unsigned i = 0; i < node->params.conditional.size && result == CUDA_SUCCESS; i++)
        result = plan_graph(exec, node->params.conditional.bodies[i], &node->bodies[i], bad);
    exec->level--;
    return result;
}

static CUresult plan_node(struct bl_cu_exec *exec, struct bl_cu_node *node, struct bl_cu_plan *plan, struct bl_cu_node **bad)
{
    const struct bl_cu_params *params = &node->params;
    if (params->type == CU_GRAPH_NODE_TYPE_EMPTY)
        return CUDA_SUCCESS;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return plan_graph(exec, params->child, plan, bad);
    if (!plan_reserve(plan))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = has_context(node) ? note_context(exec, params) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = bl_cu_params_step(params, &plan->steps[plan->count]);
    if (result != CUDA_SUCCESS)
        return result;
    node->plan = plan;
    node->step = plan->count;
    plan->nodes[plan->count++] = node;
    plan->built += !is_work(node);
    if (params->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        plan->more += params->memops.count - 1;
    plan->keeps |= params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
    return params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? plan_bodies(exec, node, bad) : CUDA_SUCCESS;
}

/* Appends a graph's steps; *bad: the node that is at fault, where it is one. */
static CUresult plan_graph(struct bl_cu_exec *exec, struct bl_cu_graph *graph, struct bl_cu_plan *plan, struct bl_cu_node **bad)
{
    bool cycle;
    struct bl_cu_node **order = bl_cu_graph_order(graph, &cycle);
    if (!order)
        return cycle ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < graph->count && result == CUDA_SUCCESS; i++) {
        result = plan_node(exec, order[i], plan, bad);
        if (result != CUDA_SUCCESS && !*bad)
            *bad = order[i];
    }
    bl_free(order);
    return result;
}

/* ---- instantiation -------------------------------------------------------------------------------------- */

static void exec_free(struct bl_cu_exec *exec)
{
    bl_cu_graph_enter();
    plan_free(&exec->plan);
    if (exec->graph)
        bl_cu_graph_free(exec->graph);
    bl_cu_graph_leave();
    for (unsigned i = 0; i < exec->levels; i++)
        if (exec->queues[i])
            ops_of(exec->context)->queue_destroy(exec->queues[i]);
    if (exec->fence)
        ops_of(exec->context)->fence_destroy(exec->fence);
    pthread_mutex_destroy(&exec->lock);
    bl_cu_recycle(exec);
}

struct bl_cu_exec *bl_cu_exec_hold(CUgraphExec handle)
{
    bl_cu_graph_enter();
    struct bl_cu_exec *exec = bl_cu_object(handle, BL_CU_EXEC);
    if (exec)
        atomic_fetch_add(&exec->refs, 1);
    bl_cu_graph_leave();
    return exec;
}

void bl_cu_exec_drop(struct bl_cu_exec *exec)
{
    if (atomic_fetch_sub(&exec->refs, 1) == 1)
        exec_free(exec);
}

/* seen: whether a conditional node of it, or of one inside, has the handle. */
static void see_conditions(struct bl_cu_graph *graph)
{
    for (struct bl_cu_node *node = graph->conditional ? graph->first : NULL; node; node = node->next) {
        if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
            see_conditions(node->params.child);
        if (node->params.type != CU_GRAPH_NODE_TYPE_CONDITIONAL)
            continue;
        node->params.conditional.condition->seen = true;
        for (unsigned i = 0; i < node->params.conditional.size; i++)
            see_conditions(node->params.conditional.bodies[i]);
    }
}

static bool conditions_used(struct bl_cu_graph *graph)
{
    bool used = true;
    for (size_t i = 0; i < graph->condition_count; i++)
        graph->conditions[i]->seen = false;
    see_conditions(graph);
    for (size_t i = 0; i < graph->condition_count; i++)
        used &= graph->conditions[i]->seen;
    return used;
}

/* Handles of conditions, those of graphs inside too. */
static size_t count_conditions(const struct bl_cu_graph *graph)
{
    size_t count = graph->condition_count;
    for (const struct bl_cu_node *node = graph->conditional ? graph->first : NULL; node; node = node->next) {
        if (node->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
            count += count_conditions(node->params.child);
        for (unsigned i = 0; node->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL && i < node->params.conditional.size; i++)
            count += count_conditions(node->params.conditional.bodies[i]);
    }
    return count;
}

static CUresult exec_new(struct bl_cu_graph *graph, unsigned long long flags, struct bl_cu_exec **made, struct bl_cu_node **bad)
{
    if (!conditions_used(graph))
        return CUDA_ERROR_INVALID_VALUE;
    if (graph->memory && graph->instantiated) /* documented: one at a time */
        return CUDA_ERROR_NOT_SUPPORTED;
    struct bl_cu_exec *exec = bl_cu_new(BL_CU_EXEC);
    if (!exec)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_store(&exec->refs, 1);
    pthread_mutex_init(&exec->lock, NULL);
    exec->flags = flags;
    exec->modules = atomic_load(&bl_cu_modules_gone);
    *made = exec;
    CUresult result = bl_cu_graph_copy(graph, false, &exec->graph);
    if (result == CUDA_SUCCESS)
        result = plan_graph(exec, exec->graph, &exec->plan, bad);
    if (result != CUDA_SUCCESS)
        return result;
    exec->plan.keeps |= exec->graph->users || exec->graph->conditional;
    exec->conditions = count_conditions(exec->graph);
    exec->plan.built += exec->plan.keeps || exec->conditions;
    if (!exec->graph->conditional)
        return CUDA_SUCCESS;
    if (!exec->context)
        result = bl_cu_current_quiet(&exec->context);
    for (unsigned i = 0; i < exec->levels && result == CUDA_SUCCESS; i++)
        result =
            bl_cu_result(exec->context, ops_of(exec->context)->queue_create(exec->context->device->device, 0, &exec->queues[i]));
    return result;
}

/* *bad: the handle of the program's node that is at fault. */
static CUresult instantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags, CUgraphNode *bad,
                            CUgraphInstantiateResult *why)
{
    struct bl_cu_exec *exec = NULL;
    struct bl_cu_node *node = NULL;
    *bad = NULL;
    *why = CUDA_GRAPH_INSTANTIATE_ERROR;
    CUresult result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!out ||
        flags & ~(unsigned long long)(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                      CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY))
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
        bl_error_log("graphs that kernels launch are not supported: launch this one from the host");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    result = found && !found->capturing ? exec_new(found, flags, &exec, &node) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        found->instantiated = found->memory;
        exec->source = found->memory ? found->object.handle : 0;
        bl_cu_publish(exec);
        *out = BL_CU_HANDLE(CUgraphExec, exec);
    }
    if (node)
        *bad = (CUgraphNode)(uintptr_t)node->original;
    bl_cu_graph_leave();
    *why = result == CUDA_SUCCESS               ? CUDA_GRAPH_INSTANTIATE_SUCCESS
           : result == CUDA_ERROR_INVALID_VALUE ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
                                                : CUDA_GRAPH_INSTANTIATE_ERROR;
    if (result != CUDA_SUCCESS && exec)
        bl_cu_exec_drop(exec);
    return result;
}

CUresult bl_cuGraphInstantiateWithFlags(CUgraphExec *graph_exec, CUgraph graph, unsigned long long flags)
{
    CUgraphNode bad;
    CUgraphInstantiateResult why;
    return instantiate(graph_exec, graph, flags, &bad, &why);
}

CUresult bl_cuGraphInstantiate_v2(CUgraphExec *graph_exec, CUgraph graph, CUgraphNode *error_node, char *log_buffer,
                                  size_t buffer_size)
{
    CUgraphNode bad;
    CUgraphInstantiateResult why;
    CUresult result = instantiate(graph_exec, graph, 0, &bad, &why);
    if (error_node)
        *error_node = bad;
    if (log_buffer && buffer_size)
        *log_buffer = 0;
    return result;
}

CUresult bl_cuGraphInstantiateWithParams(CUstream default_stream, CUgraphExec *graph_exec, CUgraph graph,
                                         CUDA_GRAPH_INSTANTIATE_PARAMS *instantiate_params)
{
    (void)default_stream;
    if (!instantiate_params)
        return CUDA_ERROR_INVALID_VALUE;
    return instantiate(graph_exec, graph, instantiate_params->flags, &instantiate_params->hErrNode_out,
                       &instantiate_params->result_out);
}

CUresult bl_cuGraphExecDestroy(CUgraphExec graph_exec)
{
    CUresult result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    bl_cu_graph_enter();
    struct bl_cu_exec *exec = bl_cu_object(graph_exec, BL_CU_EXEC);
    bool mine = exec && bl_cu_unpublish(exec);
    struct bl_cu_graph *source = mine ? bl_cu_object((void *)(uintptr_t)exec->source, BL_CU_GRAPH) : NULL;
    if (source)
        source->instantiated = false;
    bl_cu_graph_leave();
    if (!mine)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_exec_drop(exec);
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphExecGetFlags(CUgraphExec graph_exec, cuuint64_t *flags)
{
    struct bl_cu_exec *exec = flags ? bl_cu_exec_hold(graph_exec) : NULL;
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    bl_cu_exec_drop(exec);
    return CUDA_SUCCESS;
}

/* ---- changes ------------------------------------------------------------------------------------------------ */

/* Bodies of conditional nodes are read while they run. */
static CUresult wait_for_bodies(struct bl_cu_exec *exec)
{
    return exec->graph->conditional ? bl_cu_synchronize(exec->context) : CUDA_SUCCESS;
}

/* Makes a node's step anew after a change of its parameters. */
static CUresult remake(struct bl_cu_exec *exec, struct bl_cu_node *node)
{
    struct bl_step step;
    if (!node->plan)
        return CUDA_SUCCESS;
    CUresult result = has_context(node) ? note_context(exec, &node->params) : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS)
        result = bl_cu_params_step(&node->params, &step);
    if (result == CUDA_SUCCESS)
        node->plan->steps[node->step] = step;
    return result;
}

static CUresult change(struct bl_cu_exec *exec, CUgraphNode handle, struct bl_cu_params *params)
{
    struct bl_cu_node *node = bl_cu_graph_find(exec->graph, (uint64_t)(uintptr_t)handle);
    if (!node)
        return CUDA_ERROR_INVALID_VALUE;
    if (node->params.type == params->type && !bl_cu_params_fit(&node->params, params))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_params_swap(&node->params, params);
    if (result == CUDA_SUCCESS) {
        result = remake(exec, node);
        if (result != CUDA_SUCCESS)
            bl_cu_params_swap(&node->params, params);
    }
    return result;
}

CUresult bl_cu_exec_change(CUgraphExec handle, CUgraphNode node, struct bl_cu_params *params)
{
    struct bl_cu_exec *exec = bl_cu_exec_hold(handle);
    CUresult result = exec ? wait_for_bodies(exec) : CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    if (result == CUDA_SUCCESS) {
        pthread_mutex_lock(&exec->lock);
        result = change(exec, node, params);
        pthread_mutex_unlock(&exec->lock);
    }
    bl_cu_params_free(params);
    bl_cu_graph_leave();
    if (exec)
        bl_cu_exec_drop(exec);
    return result;
}

/* With a node of the executable graph locked: runs `use` on it. */
static CUresult with_node(CUgraphExec handle, CUgraphNode node, CUresult (*use)(struct bl_cu_node *, void *), void *data)
{
    struct bl_cu_exec *exec = bl_cu_exec_hold(handle);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    pthread_mutex_lock(&exec->lock);
    struct bl_cu_node *found = bl_cu_object(node, BL_CU_NODE) ? bl_cu_graph_find(exec->graph, (uint64_t)(uintptr_t)node) : NULL;
    CUresult result = found && is_work(found) ? use(found, data) : CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&exec->lock);
    bl_cu_graph_leave();
    bl_cu_exec_drop(exec);
    return result;
}

static CUresult set_enabled(struct bl_cu_node *node, void *data)
{
    bool disabled = *(const unsigned *)data == 0;
    if (disabled && !node->disabled)
        node->plan->built++;
    else if (!disabled && node->disabled)
        node->plan->built--;
    node->disabled = disabled;
    return CUDA_SUCCESS;
}

static CUresult get_enabled(struct bl_cu_node *node, void *data)
{
    *(unsigned *)data = !node->disabled;
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphNodeSetEnabled(CUgraphExec graph_exec, CUgraphNode node, unsigned int is_enabled)
{
    return with_node(graph_exec, node, set_enabled, &is_enabled);
}

CUresult bl_cuGraphNodeGetEnabled(CUgraphExec graph_exec, CUgraphNode node, unsigned int *is_enabled)
{
    return is_enabled ? with_node(graph_exec, node, get_enabled, is_enabled) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- whole-graph updates ----------------------------------------------------------------------------------------- */

struct update {
    struct bl_cu_exec *exec;
    CUgraphExecUpdateResult why;
    uint64_t node, from; /* handles of the nodes at fault */
};

/* The nodes are of the new graph. */
static bool update_fails(struct update *update, CUgraphExecUpdateResult why, const struct bl_cu_node *node,
                         const struct bl_cu_node *from)
{
    update->why = why;
    update->node = node ? node->object.handle : 0;
    update->from = from ? from->object.handle : 0;
    return false;
}

static bool pair_graphs(struct update *update, struct bl_cu_graph *now, struct bl_cu_graph *wanted);

/* Whether one node's parameters can take the place of the other's. */
static bool pair_params(struct update *update, struct bl_cu_node *now, struct bl_cu_node *wanted)
{
    if (now->params.type != wanted->params.type)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, wanted, NULL);
    if (now->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
        return pair_graphs(update, now->params.child, wanted->params.child);
    if (now->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        if (now->params.conditional.condition != wanted->params.conditional.condition ||
            now->params.conditional.size != wanted->params.conditional.size)
            return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, wanted, NULL);
        for (unsigned i = 0; i < now->params.conditional.size; i++)
            if (!pair_graphs(update, now->params.conditional.bodies[i], wanted->params.conditional.bodies[i]))
                return false;
    }
    if ((now->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC && now->params.alloc.memory != wanted->params.alloc.memory) ||
        (now->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE && now->params.free.memory != wanted->params.free.memory))
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, wanted, NULL);
    if (!bl_cu_params_fit(&now->params, &wanted->params))
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, wanted, NULL);
    return true;
}

/* Notes that two nodes are one another's; to: the node of the new graph that depends on `wanted`, or NULL; stack: those whose
 * dependencies are still to be looked at. */
static bool pair_nodes(struct update *update, struct bl_cu_node *now, struct bl_cu_node *wanted, struct bl_cu_node *to,
                       struct bl_cu_node **stack, size_t *depth)
{
    if (wanted->twin || now->twin) {
        if (wanted->twin == now && now->twin == wanted)
            return true;
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, to, wanted);
    }
    if (now->from.count != wanted->from.count)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, wanted, NULL);
    now->twin = wanted;
    wanted->twin = now;
    stack[(*depth)++] = wanted;
    return pair_params(update, now, wanted);
}

/* The next one that nothing depends on, in the order of their making. */
static struct bl_cu_node *exit_node(struct bl_cu_node *node)
{
    while (node && node->to.count)
        node = node->next;
    return node;
}

static bool pair_all(struct update *update, struct bl_cu_graph *now, struct bl_cu_graph *wanted, struct bl_cu_node **stack)
{
    struct bl_cu_node *a = now->first, *b = wanted->first;
    size_t depth = 0;
    for (a = exit_node(a), b = exit_node(b); a && b; a = exit_node(a->next), b = exit_node(b->next))
        ;
    if (a || b)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, b, NULL);
    for (a = exit_node(now->first), b = exit_node(wanted->first); a; a = exit_node(a->next), b = exit_node(b->next))
        if (!pair_nodes(update, a, b, NULL, stack, &depth))
            return false;
    for (size_t done = 0; done < depth; done++) {
        struct bl_cu_node *node = stack[done];
        for (size_t i = 0; i < node->from.count; i++)
            if (!pair_nodes(update, node->twin->from.items[i].node, node->from.items[i].node, node, stack, &depth))
                return false;
    }
    return true;
}

/* Pairs nodes from the last ones back along their dependencies, in the order of those, as cuGraphExecUpdate is documented to. */
static bool pair_graphs(struct update *update, struct bl_cu_graph *now, struct bl_cu_graph *wanted)
{
    if (now->count != wanted->count)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, NULL, NULL);
    for (struct bl_cu_node *node = now->first; node; node = node->next)
        node->twin = NULL;
    for (struct bl_cu_node *node = wanted->first; node; node = node->next)
        node->twin = NULL;
    struct bl_cu_node **stack = bl_malloc((wanted->count + 1) * sizeof(*stack));
    if (!stack)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR, NULL, NULL);
    bool right = pair_all(update, now, wanted, stack);
    bl_free(stack);
    return right;
}

static bool take_graph(struct update *update, struct bl_cu_graph *wanted);

static bool take_node(struct update *update, struct bl_cu_node *wanted)
{
    struct bl_cu_node *now = wanted->twin;
    struct bl_cu_params params;
    if (wanted->params.type == CU_GRAPH_NODE_TYPE_GRAPH)
        return take_graph(update, wanted->params.child);
    if (wanted->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        for (unsigned i = 0; i < wanted->params.conditional.size; i++)
            if (!take_graph(update, wanted->params.conditional.bodies[i]))
                return false;
        return true;
    }
    if (bl_cu_params_copy(&params, &wanted->params, false) != CUDA_SUCCESS)
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR, wanted, NULL);
    struct bl_cu_params old = now->params;
    now->params = params;
    if (remake(update->exec, now) != CUDA_SUCCESS) {
        now->params = old;
        bl_cu_params_free(&params);
        return update_fails(update, CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, wanted, NULL);
    }
    bl_cu_params_free(&old);
    return true;
}

static bool take_graph(struct update *update, struct bl_cu_graph *wanted)
{
    for (struct bl_cu_node *node = wanted->first; node; node = node->next)
        if (!take_node(update, node))
            return false;
    return true;
}

CUresult bl_cuGraphExecUpdate_v2(CUgraphExec graph_exec, CUgraph graph, CUgraphExecUpdateResultInfo *result_info)
{
    struct bl_cu_exec *exec = result_info ? bl_cu_exec_hold(graph_exec) : NULL;
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    struct update update = {.exec = exec};
    CUresult result = wait_for_bodies(exec);
    bl_cu_graph_enter();
    struct bl_cu_graph *wanted = bl_cu_object(graph, BL_CU_GRAPH);
    if (result == CUDA_SUCCESS && !wanted)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        pthread_mutex_lock(&exec->lock);
        if (!pair_graphs(&update, exec->graph, wanted) || !take_graph(&update, wanted))
            result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
        pthread_mutex_unlock(&exec->lock);
        *result_info =
            (CUgraphExecUpdateResultInfo){update.why, (CUgraphNode)(uintptr_t)update.node, (CUgraphNode)(uintptr_t)update.from};
    }
    bl_cu_graph_leave();
    bl_cu_exec_drop(exec);
    return result;
}

CUresult bl_cuGraphExecUpdate(CUgraphExec graph_exec, CUgraph graph, CUgraphNode *error_node_out,
                              CUgraphExecUpdateResult *update_result_out)
{
    CUgraphExecUpdateResultInfo info = {0};
    if (!update_result_out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cuGraphExecUpdate_v2(graph_exec, graph, &info);
    if (error_node_out)
        *error_node_out = info.errorNode;
    *update_result_out = info.result;
    return result;
}

CUresult bl_cuGraphExecChildGraphNodeSetParams(CUgraphExec graph_exec, CUgraphNode node, CUgraph child_graph)
{
    struct bl_cu_exec *exec = bl_cu_exec_hold(graph_exec);
    if (!exec)
        return CUDA_ERROR_INVALID_VALUE;
    struct update update = {.exec = exec};
    CUresult result = wait_for_bodies(exec);
    bl_cu_graph_enter();
    pthread_mutex_lock(&exec->lock);
    struct bl_cu_graph *wanted = bl_cu_object(child_graph, BL_CU_GRAPH);
    struct bl_cu_node *found = bl_cu_graph_find(exec->graph, (uint64_t)(uintptr_t)node);
    if (result == CUDA_SUCCESS && (!wanted || !found || found->params.type != CU_GRAPH_NODE_TYPE_GRAPH ||
                                   !pair_graphs(&update, found->params.child, wanted) || !take_graph(&update, wanted)))
        result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_unlock(&exec->lock);
    bl_cu_graph_leave();
    bl_cu_exec_drop(exec);
    return result;
}
