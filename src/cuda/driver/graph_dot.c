/* Graphs as text for Graphviz: cuGraphDebugDotPrint. The text is made under the graphs' lock and written after it. */
#include <inttypes.h>
#include <stdio.h>

#include "cuda/driver/graph.h"

struct dot {
    struct bl_buffer out;
    unsigned flags;
    unsigned graphs; /* written so far */
};

static const struct {
    CUgraphNodeType type;
    const char *name;
    unsigned flag; /* that asks for its parameters */
} kinds[] = {
    {CU_GRAPH_NODE_TYPE_KERNEL, "KERNEL", CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY", CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_MEMSET, "MEMSET", CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_HOST, "HOST", CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_GRAPH, "GRAPH", 0},
    {CU_GRAPH_NODE_TYPE_EMPTY, "EMPTY", 0},
    {CU_GRAPH_NODE_TYPE_WAIT_EVENT, "EVENT_WAIT", CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_EVENT_RECORD, "EVENT_RECORD", CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_MEM_ALLOC, "MEM_ALLOC", CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_MEM_FREE, "MEM_FREE", CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "BATCH_MEM_OP", CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS},
    {CU_GRAPH_NODE_TYPE_CONDITIONAL, "CONDITIONAL", CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS},
};

/* A name inside a quoted string. */
static void write_name(struct dot *dot, const char *name)
{
    for (; *name; name++)
        bl_buffer_printf(&dot->out, *name == '"' || *name == '\\' ? "\\%c" : "%c", *name);
}

static void write_kernel(struct dot *dot, const struct bl_cu_params *params)
{
    const CUDA_KERNEL_NODE_PARAMS *given = &params->kernel.given;
    bl_buffer_printf(&dot->out, "\\ngrid %u,%u,%u block %u,%u,%u dynamic shared %u", given->gridDimX, given->gridDimY,
                     given->gridDimZ, given->blockDimX, given->blockDimY, given->blockDimZ, given->sharedMemBytes);
}

static const char *memory_name(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_HOST     ? "host"
           : type == CU_MEMORYTYPE_DEVICE ? "device"
           : type == CU_MEMORYTYPE_ARRAY  ? "array"
                                          : "unified";
}

static void write_memcpy(struct dot *dot, const CUDA_MEMCPY3D *copy)
{
    bl_buffer_printf(&dot->out, "\\n%s to %s, %zu x %zu x %zu bytes", memory_name(copy->srcMemoryType),
                     memory_name(copy->dstMemoryType), copy->WidthInBytes, copy->Height, copy->Depth);
}

static void write_conditional(struct dot *dot, const struct bl_cu_params *params)
{
    static const char *const names[] = {
        [CU_GRAPH_COND_TYPE_IF] = "IF", [CU_GRAPH_COND_TYPE_WHILE] = "WHILE", [CU_GRAPH_COND_TYPE_SWITCH] = "SWITCH"};
    bl_buffer_printf(&dot->out, "\\n%s handle 0x%" PRIx64 " bodies %u", names[params->conditional.type],
                     params->conditional.condition->address, params->conditional.size);
}

static void write_params(struct dot *dot, const struct bl_cu_params *params)
{
    const CUDA_MEMSET_NODE_PARAMS_v2 *fill = &params->memset.fill;
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        write_kernel(dot, params);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        write_memcpy(dot, &params->memcpy.copy);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        bl_buffer_printf(&dot->out, "\\n0x%llx pitch %zu value %u element %u, %zu x %zu", fill->dst, fill->pitch, fill->value,
                         fill->elementSize, fill->width, fill->height);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        bl_buffer_printf(&dot->out, "\\nfunction %p data %p", (void *)(uintptr_t)params->host.fn, params->host.userData);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        bl_buffer_printf(&dot->out, "\\nevent %p", (void *)params->event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        bl_buffer_printf(&dot->out, "\\n0x%llx, %zu bytes", params->alloc.given.dptr, params->alloc.given.bytesize);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        bl_buffer_printf(&dot->out, "\\n0x%llx", params->free.address);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        bl_buffer_printf(&dot->out, "\\n%u operations", params->memops.count);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        write_conditional(dot, params);
        break;
    }
}

static void write_node(struct dot *dot, const struct bl_cu_node *node, unsigned graph)
{
    size_t kind = 0;
    while (kind < BL_LEN(kinds) && kinds[kind].type != node->params.type)
        kind++;
    bl_buffer_printf(&dot->out, "\"graph_%u_node_%zu\"[shape=\"%s\" label=\"%zu\\n%s", graph, node->waits,
                     node->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? "octagon" : "rectangle", node->waits,
                     kind < BL_LEN(kinds) ? kinds[kind].name : "?");
    const struct bl_cu_function *function =
        node->params.type == CU_GRAPH_NODE_TYPE_KERNEL ? bl_cu_params_function(&node->params) : NULL;
    if (function) {
        bl_buffer_printf(&dot->out, "\\n");
        write_name(dot, function->name);
    }
    if (dot->flags & (CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE))
        bl_buffer_printf(&dot->out, "\\nnode handle 0x%" PRIx64, node->object.handle);
    if (kind < BL_LEN(kinds) && dot->flags & (kinds[kind].flag | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE))
        write_params(dot, &node->params);
    bl_buffer_printf(&dot->out, "\"];\n");
}

static void write_graph(struct dot *dot, struct bl_cu_graph *graph);

static void write_inside(struct dot *dot, const struct bl_cu_params *params)
{
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        write_graph(dot, params->child);
    else if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        for (unsigned i = 0; i < params->conditional.size; i++)
            write_graph(dot, params->conditional.bodies[i]);
}

/* No deeper than BL_CU_GRAPH_DEPTH. waits: a node's number. */
static void write_graph(struct dot *dot, struct bl_cu_graph *graph)
{
    unsigned number = dot->graphs++;
    size_t count = 0;
    bl_buffer_printf(&dot->out, "subgraph cluster_%u {\nlabel=\"graph_%u\" graph[style=\"dashed\"];\n", number, number);
    for (struct bl_cu_node *node = graph->first; node; node = node->next) {
        node->waits = count++;
        write_node(dot, node, number);
    }
    for (struct bl_cu_node *node = graph->first; node; node = node->next)
        for (size_t i = 0; i < node->to.count; i++)
            bl_buffer_printf(&dot->out, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\";\n", number, node->waits, number,
                             node->to.items[i].node->waits);
    for (struct bl_cu_node *node = graph->first; node; node = node->next)
        write_inside(dot, &node->params);
    bl_buffer_printf(&dot->out, "}\n");
}

static CUresult write_file(const struct dot *dot, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    bool right = fwrite(dot->out.data, 1, dot->out.size, file) == dot->out.size;
    return fclose(file) == 0 && right ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult bl_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    struct dot dot = {.flags = flags};
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    if (found) {
        bl_buffer_printf(&dot.out, "digraph dot {\n");
        write_graph(&dot, found);
        bl_buffer_printf(&dot.out, "}\n");
    }
    bl_cu_graph_leave();
    CUresult result = !found ? CUDA_ERROR_INVALID_VALUE : dot.out.failed ? CUDA_ERROR_OUT_OF_MEMORY : write_file(&dot, path);
    bl_buffer_cleanup(&dot.out);
    return result;
}
