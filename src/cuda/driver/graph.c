/* Graphs: making, ending, cloning, their nodes and edges. Nodes' parameters are graph_node.c's. */
#include "cuda/driver/graph.h"

static pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_cu_user_reference *ended_users; /* to be dropped when the lock is given up */

void bl_cu_graph_enter(void)
{
    pthread_mutex_lock(&graph_lock);
}

void bl_cu_graph_leave(void)
{
    struct bl_cu_user_reference *users = ended_users;
    ended_users = NULL;
    pthread_mutex_unlock(&graph_lock);
    while (users) {
        struct bl_cu_user_reference *next = users->next;
        bl_cu_user_object_drop(users->object, users->count);
        bl_free(users);
        users = next;
    }
}

/* ---- edges --------------------------------------------------------------------------------------- */

static bool edges_reserve(struct bl_cu_edges *edges)
{
    if (edges->count < edges->capacity)
        return true;
    size_t capacity = edges->capacity ? edges->capacity * 2 : 4;
    struct bl_cu_edge *items = bl_realloc(edges->items, capacity * sizeof(*items));
    if (!items)
        return false;
    edges->items = items;
    edges->capacity = capacity;
    return true;
}

static bool same_data(const CUgraphEdgeData *a, const CUgraphEdgeData *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* The place of an edge to node; count: none. NULL data: whatever its data are. */
static size_t edges_find(const struct bl_cu_edges *edges, const struct bl_cu_node *node, const CUgraphEdgeData *data)
{
    size_t i = 0;
    while (i < edges->count && !(edges->items[i].node == node && (!data || same_data(&edges->items[i].data, data))))
        i++;
    return i;
}

static void edges_remove(struct bl_cu_edges *edges, const struct bl_cu_node *node)
{
    size_t at = edges_find(edges, node, NULL);
    if (at == edges->count)
        return;
    memmove(&edges->items[at], &edges->items[at + 1], (edges->count - at - 1) * sizeof(*edges->items));
    edges->count--;
}

CUresult bl_cu_edge_add(struct bl_cu_node *from, struct bl_cu_node *to, const CUgraphEdgeData *data)
{
    if (from == to || edges_find(&to->from, from, NULL) < to->from.count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!edges_reserve(&from->to) || !edges_reserve(&to->from))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUgraphEdgeData none = {0};
    from->to.items[from->to.count++] = (struct bl_cu_edge){to, data ? *data : none};
    to->from.items[to->from.count++] = (struct bl_cu_edge){from, data ? *data : none};
    return CUDA_SUCCESS;
}

/* Ports belong to kernels; a programmatic dependency is one between two kernels. */
static bool data_valid(const CUgraphEdgeData *data, const struct bl_cu_node *from)
{
    static const unsigned char zero[sizeof(data->reserved)];
    if (data->type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC || data->to_port || memcmp(data->reserved, zero, sizeof(zero)))
        return false;
    if (from->params.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return !data->from_port && !data->type;
    return data->from_port <= CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER;
}

/* ---- nodes in a graph ------------------------------------------------------------------------------- */

CUresult bl_cu_graph_add(struct bl_cu_graph *graph, struct bl_cu_params *params, struct bl_cu_node *const *from,
                         const CUgraphEdgeData *data, size_t count, struct bl_cu_node **made)
{
    struct bl_cu_node *node = bl_cu_new(BL_CU_NODE);
    if (!node)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->graph = graph;
    for (size_t i = 0; i < count; i++) {
        CUresult result = bl_cu_edge_add(from[i], node, data ? &data[i] : NULL);
        if (result == CUDA_SUCCESS)
            continue;
        while (i-- > 0)
            edges_remove(&from[i]->to, node);
        bl_free(node->from.items);
        bl_cu_recycle(node);
        return result;
    }
    node->params = *params;
    node->previous = graph->last;
    if (graph->last)
        graph->last->next = node;
    else
        graph->first = node;
    graph->last = node;
    graph->count++;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
        params->child->owner = node;
        graph->depth = BL_MAX(graph->depth, params->child->depth + 1);
        graph->memory |= params->child->memory;
        graph->conditional |= params->child->conditional;
    } else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
        graph->depth = BL_MAX(graph->depth, 1);
        graph->conditional = true;
        for (unsigned i = 0; i < params->conditional.size; i++)
            params->conditional.bodies[i]->owner = node;
    } else if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
        graph->memory = true;
    }
    *made = node;
    return CUDA_SUCCESS;
}

/* Takes it out and frees all that it owns. */
static void node_free(struct bl_cu_node *node)
{
    struct bl_cu_graph *graph = node->graph;
    for (size_t i = 0; i < node->from.count; i++)
        edges_remove(&node->from.items[i].node->to, node);
    for (size_t i = 0; i < node->to.count; i++)
        edges_remove(&node->to.items[i].node->from, node);
    bl_free(node->from.items);
    bl_free(node->to.items);
    if (node->previous)
        node->previous->next = node->next;
    else
        graph->first = node->next;
    if (node->next)
        node->next->previous = node->previous;
    else
        graph->last = node->previous;
    graph->count--;
    bl_cu_params_free(&node->params);
    bl_cu_unpublish(node);
    bl_cu_recycle(node);
}

static struct bl_cu_node *find_node(CUgraphNode handle)
{
    return bl_cu_object(handle, BL_CU_NODE);
}

CUresult bl_cu_nodes_of(struct bl_cu_graph *graph, const CUgraphNode *handles, const CUgraphEdgeData *data, size_t count,
                        struct bl_cu_node ***found)
{
    *found = NULL;
    if (!count)
        return CUDA_SUCCESS;
    if (!handles || count > graph->count)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_node **nodes = bl_malloc(count * sizeof(*nodes));
    if (!nodes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) {
        nodes[i] = find_node(handles[i]);
        if (!nodes[i] || nodes[i]->graph != graph || (data && !data_valid(&data[i], nodes[i])))
            result = CUDA_ERROR_INVALID_VALUE;
        else
            nodes[i]->twin = NULL;
    }
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++) { /* twin: seen already */
        if (nodes[i]->twin)
            result = CUDA_ERROR_INVALID_VALUE;
        nodes[i]->twin = nodes[i];
    }
    if (result != CUDA_SUCCESS) {
        bl_free(nodes);
        nodes = NULL;
    }
    *found = nodes;
    return result;
}

struct bl_cu_node **bl_cu_graph_order(struct bl_cu_graph *graph, bool *cycle)
{
    struct bl_cu_node **order = bl_malloc((graph->count + 1) * sizeof(*order));
    size_t filled = 0;
    *cycle = false;
    if (!order)
        return NULL;
    for (struct bl_cu_node *node = graph->first; node; node = node->next) {
        node->waits = node->from.count;
        if (!node->waits)
            order[filled++] = node;
    }
    for (size_t done = 0; done < filled; done++)
        for (size_t i = 0; i < order[done]->to.count; i++) {
            struct bl_cu_node *next = order[done]->to.items[i].node;
            if (--next->waits == 0)
                order[filled++] = next;
        }
    if (filled == graph->count)
        return order;
    *cycle = true;
    bl_free(order);
    return NULL;
}

/* ---- graphs ------------------------------------------------------------------------------------------- */

struct bl_cu_graph *bl_cu_graph_new(void)
{
    return bl_cu_new(BL_CU_GRAPH);
}

void bl_cu_graph_free(struct bl_cu_graph *graph)
{
    while (graph->last)
        node_free(graph->last);
    while (graph->users) {
        struct bl_cu_user_reference *user = graph->users;
        graph->users = user->next;
        user->next = ended_users;
        ended_users = user;
    }
    for (size_t i = 0; i < graph->condition_count; i++)
        bl_cu_condition_drop(graph->conditions[i]);
    bl_free(graph->conditions);
    bl_cu_unpublish(graph);
    bl_cu_recycle(graph);
}

static CUresult copy_users(const struct bl_cu_graph *graph, struct bl_cu_graph *copy)
{
    for (const struct bl_cu_user_reference *user = graph->users; user; user = user->next) {
        struct bl_cu_user_reference *made = bl_malloc(sizeof(*made));
        if (!made)
            return CUDA_ERROR_OUT_OF_MEMORY;
        *made = (struct bl_cu_user_reference){user->object, 1, copy->users};
        atomic_fetch_add(&user->object->refs, 1);
        copy->users = made;
    }
    if (!graph->condition_count)
        return CUDA_SUCCESS;
    copy->conditions = bl_malloc(graph->condition_count * sizeof(*copy->conditions));
    if (!copy->conditions)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < graph->condition_count; i++) {
        copy->conditions[i] = graph->conditions[i];
        copy->conditions[i]->refs++;
    }
    copy->condition_count = graph->condition_count;
    return CUDA_SUCCESS;
}

static CUresult copy_nodes(struct bl_cu_graph *graph, bool publish, struct bl_cu_graph *copy)
{
    for (struct bl_cu_node *node = graph->first; node; node = node->next) {
        struct bl_cu_params params;
        struct bl_cu_node *made;
        CUresult result = bl_cu_params_copy(&params, &node->params, publish);
        if (result != CUDA_SUCCESS)
            return result;
        result = bl_cu_graph_add(copy, &params, NULL, NULL, 0, &made);
        if (result != CUDA_SUCCESS) {
            bl_cu_params_free(&params);
            return result;
        }
        made->original = node->object.handle;
        node->twin = made;
        if (publish)
            bl_cu_publish(made);
    }
    for (struct bl_cu_node *node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->from.count; i++) {
            CUresult result = bl_cu_edge_add(node->from.items[i].node->twin, node->twin, &node->from.items[i].data);
            if (result != CUDA_SUCCESS)
                return result;
        }
    return CUDA_SUCCESS;
}

CUresult bl_cu_graph_copy(struct bl_cu_graph *graph, bool publish, struct bl_cu_graph **copy)
{
    struct bl_cu_graph *made = bl_cu_graph_new();
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = copy_users(graph, made);
    if (result == CUDA_SUCCESS)
        result = copy_nodes(graph, publish, made);
    if (result != CUDA_SUCCESS) {
        bl_cu_graph_free(made);
        return result;
    }
    if (publish)
        bl_cu_publish(made);
    *copy = made;
    return CUDA_SUCCESS;
}

static struct bl_cu_node *find_inside(struct bl_cu_node *node, uint64_t original)
{
    const struct bl_cu_params *params = &node->params;
    struct bl_cu_node *found = NULL;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return bl_cu_graph_find(params->child, original);
    if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        for (unsigned i = 0; i < params->conditional.size && !found; i++)
            found = bl_cu_graph_find(params->conditional.bodies[i], original);
    return found;
}

struct bl_cu_node *bl_cu_graph_find(struct bl_cu_graph *copy, uint64_t original)
{
    for (struct bl_cu_node *node = copy->first; node; node = node->next) {
        if (node->original == original)
            return node;
        struct bl_cu_node *inside = find_inside(node, original);
        if (inside)
            return inside;
    }
    return NULL;
}

CUresult bl_cuGraphCreate(CUgraph *graph, unsigned int flags)
{
    if (!graph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_graph *made = bl_cu_graph_new();
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bl_cu_publish(made);
    *graph = BL_CU_HANDLE(CUgraph, made);
    return CUDA_SUCCESS;
}

CUresult bl_cuGraphDestroy(CUgraph graph)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    if (found && found->capturing)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (found && !found->owner) {
        bl_cu_graph_free(found);
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphClone(CUgraph *graph_clone, CUgraph original_graph)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_graph *copy;
    if (!graph_clone)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(original_graph, BL_CU_GRAPH);
    if (found && (found->memory || found->conditional)) /* as documented: such graphs are one of a kind */
        result = CUDA_ERROR_NOT_SUPPORTED;
    else if (found)
        result = bl_cu_graph_copy(found, true, &copy);
    if (result == CUDA_SUCCESS)
        *graph_clone = BL_CU_HANDLE(CUgraph, copy);
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original_node, CUgraph cloned_graph)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *clone = bl_cu_object(cloned_graph, BL_CU_GRAPH);
    struct bl_cu_node *found =
        clone && node && find_node(original_node) ? bl_cu_graph_find(clone, (uint64_t)(uintptr_t)original_node) : NULL;
    if (found) {
        *node = BL_CU_HANDLE(CUgraphNode, found);
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphDestroyNode(CUgraphNode node)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *found = find_node(node);
    if (found && found->graph->capturing)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (found && (found->params.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || found->params.type == CU_GRAPH_NODE_TYPE_MEM_FREE))
        result = CUDA_ERROR_NOT_SUPPORTED; /* as documented */
    else if (found) {
        if (found->params.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            found->params.conditional.condition->used = false;
        node_free(found);
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}

/* ---- what is in it --------------------------------------------------------------------------------------- */

/* Nodes as a list: all of *count places are written, the ones past the end with NULL. */
static CUresult list_nodes(CUgraph graph, CUgraphNode *nodes, size_t *count, bool roots)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    if (found && count) {
        size_t filled = 0;
        for (struct bl_cu_node *node = found->first; node; node = node->next) {
            if (roots && node->from.count)
                continue;
            if (nodes && filled == *count)
                break;
            if (nodes)
                nodes[filled] = BL_CU_HANDLE(CUgraphNode, node);
            filled++;
        }
        for (size_t i = filled; nodes && i < *count; i++)
            nodes[i] = NULL;
        *count = filled;
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *num_nodes)
{
    return list_nodes(graph, nodes, num_nodes, false);
}

CUresult bl_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *root_nodes, size_t *num_root_nodes)
{
    return list_nodes(graph, root_nodes, num_root_nodes, true);
}

struct edge_list {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t capacity, filled;
    bool lossy; /* data would be needed and there is no place for them */
};

static void list_edge(struct edge_list *list, struct bl_cu_node *from, struct bl_cu_node *to, const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData none;
    bool asked = list->from || list->to;
    if (asked && list->filled == list->capacity)
        return;
    if (list->from)
        list->from[list->filled] = BL_CU_HANDLE(CUgraphNode, from);
    if (list->to)
        list->to[list->filled] = BL_CU_HANDLE(CUgraphNode, to);
    if (asked && list->data)
        list->data[list->filled] = *data;
    else if (asked && !same_data(data, &none))
        list->lossy = true;
    list->filled++;
}

static CUresult list_end(struct edge_list *list, size_t *count)
{
    for (size_t i = list->filled; (list->from || list->to) && i < list->capacity; i++) {
        if (list->from)
            list->from[i] = NULL;
        if (list->to)
            list->to[i] = NULL;
    }
    *count = list->filled;
    return list->lossy ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

CUresult bl_cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edge_data, size_t *num_edges)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    if (found && num_edges && !from == !to && (from || !edge_data)) {
        struct edge_list list = {.from = from, .to = to, .data = edge_data, .capacity = *num_edges};
        for (struct bl_cu_node *node = found->first; node; node = node->next)
            for (size_t i = 0; i < node->to.count; i++)
                list_edge(&list, node, node->to.items[i].node, &node->to.items[i].data);
        result = list_end(&list, num_edges);
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *num_edges)
{
    return bl_cuGraphGetEdges_v2(graph, from, to, NULL, num_edges);
}

CUresult bl_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *dependencies, CUgraphEdgeData *edge_data,
                                          size_t *num_dependencies)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *found = find_node(node);
    if (found && num_dependencies && (dependencies || !edge_data)) {
        struct edge_list list = {.from = dependencies, .data = edge_data, .capacity = *num_dependencies};
        for (size_t i = 0; i < found->from.count; i++)
            list_edge(&list, found->from.items[i].node, found, &found->from.items[i].data);
        result = list_end(&list, num_dependencies);
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies, size_t *num_dependencies)
{
    return bl_cuGraphNodeGetDependencies_v2(node, dependencies, NULL, num_dependencies);
}

CUresult bl_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *dependent_nodes, CUgraphEdgeData *edge_data,
                                            size_t *num_dependent_nodes)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *found = find_node(node);
    if (found && num_dependent_nodes && (dependent_nodes || !edge_data)) {
        struct edge_list list = {.to = dependent_nodes, .data = edge_data, .capacity = *num_dependent_nodes};
        for (size_t i = 0; i < found->to.count; i++)
            list_edge(&list, found, found->to.items[i].node, &found->to.items[i].data);
        result = list_end(&list, num_dependent_nodes);
    }
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *dependent_nodes, size_t *num_dependent_nodes)
{
    return bl_cuGraphNodeGetDependentNodes_v2(node, dependent_nodes, NULL, num_dependent_nodes);
}

CUresult bl_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_node *found = find_node(node);
    if (found && type) {
        *type = found->params.type;
        result = CUDA_SUCCESS;
    }
    bl_cu_graph_leave();
    return result;
}

/* ---- changing edges ------------------------------------------------------------------------------------------ */

static CUresult add_edge(struct bl_cu_graph *graph, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
    struct bl_cu_node *first = find_node(from), *second = find_node(to);
    if (!first || !second || first->graph != graph || second->graph != graph || (data && !data_valid(data, first)))
        return CUDA_ERROR_INVALID_VALUE;
    return bl_cu_edge_add(first, second, data);
}

static CUresult remove_edge(struct bl_cu_graph *graph, CUgraphNode from, CUgraphNode to, const CUgraphEdgeData *data)
{
    static const CUgraphEdgeData none;
    struct bl_cu_node *first = find_node(from), *second = find_node(to);
    if (!first || !second || first->graph != graph || second->graph != graph ||
        edges_find(&second->from, first, data ? data : &none) == second->from.count)
        return CUDA_ERROR_INVALID_VALUE;
    edges_remove(&first->to, second);
    edges_remove(&second->from, first);
    return CUDA_SUCCESS;
}

static CUresult change_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data,
                             size_t count,
                             CUresult (*change)(struct bl_cu_graph *, CUgraphNode, CUgraphNode, const CUgraphEdgeData *))
{
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    CUresult result = found && (!count || (from && to)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = change(found, from[i], to[i], data ? &data[i] : NULL);
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edge_data, size_t num_dependencies)
{
    return change_edges(graph, from, to, edge_data, num_dependencies, add_edge);
}

CUresult bl_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t num_dependencies)
{
    return change_edges(graph, from, to, NULL, num_dependencies, add_edge);
}

CUresult bl_cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                         const CUgraphEdgeData *edge_data, size_t num_dependencies)
{
    return change_edges(graph, from, to, edge_data, num_dependencies, remove_edge);
}

CUresult bl_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t num_dependencies)
{
    return change_edges(graph, from, to, NULL, num_dependencies, remove_edge);
}
