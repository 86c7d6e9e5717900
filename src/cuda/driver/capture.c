/* Stream capture: what is put into a capturing stream becomes nodes of a graph. A stream joins a capture by waiting for an event
 * that was recorded in it, and must be joined to the first one again before that one ends it.
 *
 * Guarded by the graphs' lock. A call that a capture can record asks bl_cu_capturing and adds its node; all others come to
 * bl_cu_capture_check through bl_cu_stream_enter and invalidate the capture.
 */
#include "cuda/driver/graph.h"
#include "cuda/driver/thread.h"

struct bl_cu_capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    const struct bl_cu_thread *thread; /* that began it */
    struct bl_cu_graph *graph;         /* owned, unless it is the program's */
    bool programs_graph, invalid;
    struct bl_cu_capture_deps left;        /* the last nodes of streams that are gone */
    struct bl_cu_stream *origin, *streams; /* streams: all that take part, by capture_next */
    struct bl_cu_capture *next;
};

atomic_uint bl_cu_captures;
static struct bl_cu_capture *all;
static uint64_t next_id = 1;

/* ---- what a stream's next node will depend on ---------------------------------------------------------- */

static bool deps_set(struct bl_cu_capture_deps *deps, const CUgraphNode *nodes, size_t count)
{
    CUgraphNode *copy = bl_malloc((count + 1) * sizeof(*copy));
    if (!copy)
        return false;
    if (count)
        memcpy(copy, nodes, count * sizeof(*copy));
    bl_free(deps->nodes);
    deps->nodes = copy;
    deps->count = count;
    return true;
}

static bool deps_add(struct bl_cu_capture_deps *deps, const CUgraphNode *nodes, size_t count)
{
    CUgraphNode *more = bl_realloc(deps->nodes, (deps->count + count + 1) * sizeof(*more));
    if (!more)
        return false;
    deps->nodes = more;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < deps->count && more[at] != nodes[i])
            at++;
        more[at] = nodes[i];
        deps->count += at == deps->count;
    }
    return true;
}

void bl_cu_capture_deps_free(struct bl_cu_capture_deps *deps)
{
    bl_free(deps->nodes);
    *deps = (struct bl_cu_capture_deps){0};
}

/* ---- members ---------------------------------------------------------------------------------------------- */

static void join(struct bl_cu_capture *capture, struct bl_cu_stream *stream)
{
    stream->capture_next = capture->streams;
    capture->streams = stream;
    atomic_store(&stream->capture, capture);
}

static void leave(struct bl_cu_stream *stream)
{
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    struct bl_cu_stream **at = &capture->streams;
    while (*at != stream)
        at = &(*at)->capture_next;
    *at = stream->capture_next;
    atomic_store(&stream->capture, NULL);
    bl_cu_capture_deps_free(&stream->capture_deps);
}

/* Ends it; the graph stays where *graph takes it. */
static void capture_end(struct bl_cu_capture *capture, struct bl_cu_graph **graph)
{
    struct bl_cu_capture **at = &all;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    atomic_fetch_sub(&bl_cu_captures, 1);
    while (capture->streams)
        leave(capture->streams);
    capture->graph->capturing = false;
    bl_cu_capture_deps_free(&capture->left);
    if (graph)
        *graph = capture->graph;
    else if (!capture->programs_graph)
        bl_cu_graph_free(capture->graph);
    bl_free(capture);
}

void bl_cu_capture_forget(struct bl_cu_stream *stream)
{
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    if (capture && capture->origin == stream)
        capture_end(capture, NULL);
    else if (capture) { /* what it put in must be joined nevertheless */
        if (!deps_add(&capture->left, stream->capture_deps.nodes, stream->capture_deps.count))
            capture->invalid = true;
        leave(stream);
    }
    bl_cu_graph_leave();
}

/* ---- what a capture forbids ------------------------------------------------------------------------------------ */

CUresult bl_cu_capture_check(struct bl_cu_stream *stream)
{
    CUresult result = CUDA_SUCCESS;
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    if (capture) {
        result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        capture->invalid = true;
    }
    for (capture = stream->legacy ? all : NULL; capture; capture = capture->next)
        for (struct bl_cu_stream *other = capture->streams; other; other = other->capture_next)
            if (other->blocking && other->context == stream->context) { /* the legacy stream would have to wait for it */
                capture->invalid = true;
                result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            }
    bl_cu_graph_leave();
    return result;
}

/* CUDA driver API, cuThreadExchangeStreamCaptureMode. */
CUresult bl_cu_capture_unsafe_slow(void)
{
    struct bl_cu_thread *thread = bl_cu_thread();
    CUresult result = CUDA_SUCCESS;
    if (!thread || thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    bl_cu_graph_enter();
    for (struct bl_cu_capture *capture = all; capture; capture = capture->next) {
        bool own = capture->thread == thread && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
        if (own || global) {
            capture->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    bl_cu_graph_leave();
    return result;
}

/* ---- recording ------------------------------------------------------------------------------------------------------ */

struct bl_cu_stream *bl_cu_capturing_slow(CUstream handle)
{
    struct bl_cu_stream *stream;
    return bl_cu_stream_find(handle, &stream) == CUDA_SUCCESS && atomic_load(&stream->capture) ? stream : NULL;
}

CUresult bl_cu_capture_add(struct bl_cu_stream *stream, CUgraphNodeParams *params, CUgraphNode *node)
{
    CUgraph graph = NULL;
    CUgraphNode made;
    struct bl_cu_capture_deps deps = {0};
    CUresult result = CUDA_SUCCESS;
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    if (!capture || capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!deps_set(&deps, stream->capture_deps.nodes, stream->capture_deps.count))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    else
        graph = BL_CU_HANDLE(CUgraph, capture->graph);
    bl_cu_graph_leave();
    if (result == CUDA_SUCCESS)
        result = bl_cu_node_add(&made, graph, deps.nodes, NULL, deps.count, params);
    if (result == CUDA_SUCCESS) {
        bl_cu_graph_enter();
        if (atomic_load(&stream->capture) == capture && !deps_set(&stream->capture_deps, &made, 1))
            capture->invalid = true;
        bl_cu_graph_leave();
        if (node)
            *node = made;
    }
    bl_cu_capture_deps_free(&deps);
    return result;
}

CUresult bl_cu_capture_record(struct bl_cu_stream *stream, struct bl_cu_event *event)
{
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    CUresult result = !capture || capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    if (result == CUDA_SUCCESS && !deps_set(&event->capture_deps, stream->capture_deps.nodes, stream->capture_deps.count))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        atomic_store(&event->capture, capture->id);
    bl_cu_graph_leave();
    return result;
}

bool bl_cu_capture_wait(struct bl_cu_stream *stream, struct bl_cu_event *event, CUresult *result)
{
    uint64_t id = atomic_load(&event->capture);
    bl_cu_graph_enter();
    struct bl_cu_capture *here = atomic_load(&stream->capture), *there = all;
    while (there && there->id != id)
        there = there->next;
    bool concerned = here || id;
    *result = CUDA_SUCCESS;
    if (here && here->invalid)
        *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (here && !id)
        *result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    else if (here && there != here)
        *result = CUDA_ERROR_STREAM_CAPTURE_MERGE;
    else if (id && !there) /* of a capture that has ended */
        *result = CUDA_ERROR_INVALID_VALUE;
    else if (id && there->invalid)
        *result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (id && stream->legacy)
        *result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    else if (concerned) {
        if (!deps_add(&stream->capture_deps, event->capture_deps.nodes, event->capture_deps.count))
            *result = CUDA_ERROR_OUT_OF_MEMORY;
        else if (!here)
            join(there, stream);
    }
    if (*result != CUDA_SUCCESS) {
        if (here)
            here->invalid = true;
        if (there)
            there->invalid = true;
    }
    bl_cu_graph_leave();
    return concerned;
}

bool bl_cu_capture_invalidate(uint64_t id)
{
    bool found = false;
    bl_cu_graph_enter();
    for (struct bl_cu_capture *capture = all; capture; capture = capture->next)
        if (capture->id == id)
            found = capture->invalid = true;
    bl_cu_graph_leave();
    return found;
}

CUresult bl_cu_capture_context(const struct bl_cu_context *context)
{
    CUresult result = CUDA_SUCCESS;
    bl_cu_graph_enter();
    for (struct bl_cu_capture *capture = all; capture; capture = capture->next)
        if (capture->origin->context == context) {
            capture->invalid = true;
            result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    bl_cu_graph_leave();
    return result;
}

/* ---- beginning and ending ------------------------------------------------------------------------------------------------ */

static CUresult begin(CUstream handle, CUgraph graph, const CUgraphNode *nodes, const CUgraphEdgeData *data, size_t count,
                      CUstreamCaptureMode mode)
{
    struct bl_cu_stream *stream;
    struct bl_cu_node **found = NULL;
    struct bl_cu_thread *thread = bl_cu_thread();
    CUresult result = bl_cu_stream_find(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (stream->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || !thread)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_capture *capture = bl_calloc(1, sizeof(*capture));
    if (!capture)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bl_cu_graph_enter();
    struct bl_cu_graph *target = graph ? bl_cu_object(graph, BL_CU_GRAPH) : bl_cu_graph_new();
    if (atomic_load(&stream->capture))
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (!target || (graph && target->capturing))
        result = graph ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
    else
        result = bl_cu_nodes_of(target, nodes, data, count, &found);
    if (result == CUDA_SUCCESS && !deps_set(&stream->capture_deps, nodes, count))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    bl_free(found);
    if (result == CUDA_SUCCESS) {
        *capture = (struct bl_cu_capture){.id = next_id++,
                                          .mode = mode,
                                          .thread = thread,
                                          .graph = target,
                                          .programs_graph = graph != NULL,
                                          .origin = stream,
                                          .next = all};
        target->capturing = true;
        if (!graph)
            bl_cu_publish(target);
        all = capture;
        atomic_fetch_add(&bl_cu_captures, 1);
        join(capture, stream);
        capture = NULL;
    } else if (!graph && target) {
        bl_cu_graph_free(target);
    }
    bl_cu_graph_leave();
    bl_free(capture);
    return result;
}

CUresult bl_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begin(stream, NULL, NULL, NULL, 0, mode);
}

CUresult bl_cuStreamBeginCapture(CUstream stream)
{
    return begin(stream, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult bl_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
                                        const CUgraphEdgeData *dependency_data, size_t num_dependencies, CUstreamCaptureMode mode)
{
    if (!graph)
        return CUDA_ERROR_INVALID_VALUE;
    return begin(stream, graph, dependencies, dependency_data, num_dependencies, mode);
}

static bool marked(const struct bl_cu_capture_deps *deps)
{
    for (size_t i = 0; i < deps->count; i++) {
        struct bl_cu_node *node = bl_cu_object(deps->nodes[i], BL_CU_NODE);
        if (node && !node->twin)
            return false;
    }
    return true;
}

/* Whether all that other streams put in comes before what the first one put in last. */
static bool joined(struct bl_cu_capture *capture)
{
    struct bl_cu_graph *graph = capture->graph;
    struct bl_cu_node **stack = bl_malloc((graph->count + 1) * sizeof(*stack));
    size_t depth = 0;
    if (!stack)
        return false;
    for (struct bl_cu_node *node = graph->first; node; node = node->next)
        node->twin = NULL;
    for (size_t i = 0; i < capture->origin->capture_deps.count; i++) {
        struct bl_cu_node *node = bl_cu_object(capture->origin->capture_deps.nodes[i], BL_CU_NODE);
        if (node && !node->twin)
            node->twin = stack[depth++] = node;
    }
    for (size_t done = 0; done < depth; done++)
        for (size_t i = 0; i < stack[done]->from.count; i++) {
            struct bl_cu_node *node = stack[done]->from.items[i].node;
            if (!node->twin)
                node->twin = stack[depth++] = node;
        }
    bl_free(stack);
    bool all_marked = marked(&capture->left);
    for (struct bl_cu_stream *stream = capture->streams; stream; stream = stream->capture_next)
        all_marked &= marked(&stream->capture_deps);
    return all_marked;
}

CUresult bl_cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    struct bl_cu_stream *stream;
    struct bl_cu_graph *made;
    CUresult result = bl_cu_stream_find(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (graph)
        *graph = NULL;
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    if (!capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (capture->origin != stream) {
        capture->invalid = true;
        result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    } else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != bl_cu_thread())
        result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    else if (capture->invalid || !joined(capture)) {
        result = capture->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
        capture_end(capture, NULL);
    } else {
        capture_end(capture, graph ? &made : NULL);
        if (graph)
            *graph = BL_CU_HANDLE(CUgraph, made);
    }
    bl_cu_graph_leave();
    return result;
}

/* ---- asking ------------------------------------------------------------------------------------------------------------------ */

CUresult bl_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                      const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count)
{
    struct bl_cu_stream *stream;
    CUresult result = bl_cu_stream_find(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    const struct bl_cu_capture *capture = atomic_load(&stream->capture);
    bool active = capture && !capture->invalid;
    for (const struct bl_cu_capture *other = stream->legacy ? all : NULL; other; other = other->next)
        if (other->origin->blocking && other->origin->context == stream->context)
            result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    *status = !capture ? CU_STREAM_CAPTURE_STATUS_NONE
              : active ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                       : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    if (id)
        *id = active ? capture->id : 0;
    if (graph)
        *graph = active ? BL_CU_HANDLE(CUgraph, capture->graph) : NULL;
    if (dependencies)
        *dependencies = active ? stream->capture_deps.nodes : NULL;
    if (edges) /* captured dependencies have no data */
        *edges = NULL;
    if (count)
        *count = active ? stream->capture_deps.count : 0;
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                      const CUgraphNode **dependencies, size_t *count)
{
    return bl_cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, NULL, count);
}

CUresult bl_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return bl_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult bl_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *capture_status)
{
    return bl_cuStreamGetCaptureInfo_v3(stream, capture_status, NULL, NULL, NULL, NULL, NULL);
}

CUresult bl_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *dependencies, const CUgraphEdgeData *dependency_data,
                                                 size_t num_dependencies, unsigned int flags)
{
    struct bl_cu_stream *stream;
    struct bl_cu_node **found = NULL;
    CUresult result = bl_cu_stream_find(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (num_dependencies && !dependencies))
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_graph_enter();
    struct bl_cu_capture *capture = atomic_load(&stream->capture);
    if (!capture)
        result = CUDA_ERROR_ILLEGAL_STATE;
    else if (capture->invalid)
        result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else
        result = bl_cu_nodes_of(capture->graph, dependencies, dependency_data, num_dependencies, &found);
    bl_free(found);
    if (result == CUDA_SUCCESS && !(flags ? deps_set : deps_add)(&stream->capture_deps, dependencies, num_dependencies))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    bl_cu_graph_leave();
    return result;
}

CUresult bl_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t num_dependencies,
                                              unsigned int flags)
{
    return bl_cuStreamUpdateCaptureDependencies_v2(stream, dependencies, NULL, num_dependencies, flags);
}

CUresult bl_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode) /* any value is taken, as an H200's driver does: tests/api/calls_graph_rest.cu */
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_thread *thread = bl_cu_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUstreamCaptureMode previous = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = previous;
    return CUDA_SUCCESS;
}
