/* What the graph files of libcuda share (graph.c, graph_node.c, graph_exec.c, graph_launch.c, graph_memory.c, graph_dot.c,
 * capture.c).
 *
 * One lock guards the structure of all graphs, bl_cu_graph_lock: outside every lock of driver.h, never held while a kernel is
 * compiled, work is put into a queue or a program's function runs. Parameters of a node are made without it and then swapped in.
 */
#ifndef BAILEY_CUDA_DRIVER_GRAPH_H
#define BAILEY_CUDA_DRIVER_GRAPH_H

#include "cuda/driver/driver.h"

enum { BL_CU_GRAPH_DEPTH = 64 }; /* graphs inside graphs */

struct bl_cu_node;
struct bl_cu_graph;
struct bl_cu_exec;

/* ---- what nodes hold ------------------------------------------------------------------------- */

struct bl_cu_edge {
    struct bl_cu_node *node;
    CUgraphEdgeData data;
};
struct bl_cu_edges {
    struct bl_cu_edge *items; /* owned */
    size_t count, capacity;
};

/* Launch attributes that a kernel node keeps. */
struct bl_cu_node_attributes {
    CUaccessPolicyWindow access_policy;
    int cooperative, priority, cluster_policy;
    unsigned cluster[3], carveout;
    CUlaunchMemSyncDomain sync_domain;
    CUlaunchMemSyncDomainMap sync_domain_map;
};

/* Memory of an allocation node. It has its address from the node's making to the end of the last graph that names it. */
struct bl_cu_graph_memory {
    unsigned refs; /* bl_cu_graph_lock */
    bool live;     /* between the launch of its allocation and that of its free */
    bool counted;  /* in the device's list of what is in use */
    struct bl_cu_graph_memory *counted_next, *counted_previous;
    uint64_t freed_in; /* handle of the graph that has its free node; 0: none */
    uint64_t base, size;
    struct bl_cu_context *context;
};

/* A conditional handle: the device address of its value. */
struct bl_cu_condition {
    unsigned refs; /* bl_cu_graph_lock */
    uint64_t address;
    uint32_t initial;
    bool assign, used; /* used: a conditional node has it */
    bool seen;         /* scratch */
    struct bl_cu_context *context;
};

/* A node's parameters, checked and copied. */
struct bl_cu_params {
    CUgraphNodeType type;
    union {
        struct {
            CUDA_KERNEL_NODE_PARAMS given; /* kernelParams points into values, extra is NULL */
            uint8_t *values;               /* owned: the parameter buffer, then the pointers into it */
            uint32_t bytes;
            struct bl_cu_node_attributes attributes;
        } kernel;
        struct {
            CUDA_MEMCPY3D copy;
            CUcontext context;
        } memcpy;
        struct {
            CUDA_MEMSET_NODE_PARAMS_v2 fill;
        } memset;
        CUDA_HOST_NODE_PARAMS host;
        struct bl_cu_graph *child; /* owned */
        CUevent event;
        struct {
            CUDA_MEM_ALLOC_NODE_PARAMS given;  /* no accessDescs */
            struct bl_cu_graph_memory *memory; /* a reference */
        } alloc;
        struct {
            CUdeviceptr address;
            struct bl_cu_graph_memory *memory; /* a reference */
        } free;
        struct {
            struct bl_cu_condition *condition; /* a reference */
            CUgraphConditionalNodeType type;
            unsigned size;
            struct bl_cu_graph **bodies; /* owned, each */
            CUgraph *handles;            /* owned: what phGraph_out shows */
        } conditional;
        struct {
            CUcontext context;
            CUstreamBatchMemOpParams *ops; /* owned */
            unsigned count;
        } memops;
    };
};

struct bl_cu_node {
    struct bl_cu_object object;
    struct bl_cu_graph *graph;
    struct bl_cu_node *previous, *next; /* of the graph, in the order of their making */
    struct bl_cu_edges from, to;
    uint64_t original;       /* handle of the node that this is a copy of; 0: none */
    struct bl_cu_node *twin; /* scratch for walks under the lock */
    size_t waits;            /* the same */
    /* Of an executable graph: */
    struct bl_cu_plan *plan;   /* that has its step; NULL: none has */
    size_t step;               /* its place in it */
    struct bl_cu_plan *bodies; /* of a conditional node; owned */
    bool disabled;
    struct bl_cu_params params;
};

struct bl_cu_user_reference {
    struct bl_cu_user_object *object;
    unsigned count;
    struct bl_cu_user_reference *next;
};

struct bl_cu_graph {
    struct bl_cu_object object;
    struct bl_cu_node *first, *last;
    size_t count;
    unsigned depth; /* of graphs inside it */
    bool owned;     /* by a node of another graph, or by an executable graph */
    bool memory;    /* has nodes that allocate or free */
    bool conditional, capturing;
    bool instantiated; /* has memory, and an executable graph that is still there */
    struct bl_cu_user_reference *users;
    struct bl_cu_condition **conditions; /* made for it; references */
    size_t condition_count;
    struct bl_cu_node *owner; /* the node that owns it, or NULL */
};

void bl_cu_graph_enter(void); /* takes bl_cu_graph_lock */
/* Gives it up, then ends the user objects whose last reference went meanwhile. */
void bl_cu_graph_leave(void);

/* ---- graph.c: all under the lock -------------------------------------------------------------- */

struct bl_cu_graph *bl_cu_graph_new(void); /* unpublished; NULL: no memory */
void bl_cu_graph_free(struct bl_cu_graph *graph);
/* A copy, its nodes with `original` set; publish: with handles of their own. */
CUresult bl_cu_graph_copy(struct bl_cu_graph *graph, bool publish, struct bl_cu_graph **copy);
/* The node of the copy (or of graphs inside it) that is the copy of the handle's; NULL: none. */
struct bl_cu_node *bl_cu_graph_find(struct bl_cu_graph *copy, uint64_t original);
/* Adds a node with these parameters, which become its own; unpublished. The dependencies are checked already. */
CUresult bl_cu_graph_add(struct bl_cu_graph *graph, struct bl_cu_params *params, struct bl_cu_node *const *from,
                         const CUgraphEdgeData *data, size_t count, struct bl_cu_node **made);
CUresult bl_cu_edge_add(struct bl_cu_node *from, struct bl_cu_node *to, const CUgraphEdgeData *data);
/* Its nodes, each after all that it depends on; NULL with *cycle true: there is none, or false: no memory. bl_free it. */
struct bl_cu_node **bl_cu_graph_order(struct bl_cu_graph *graph, bool *cycle);
/* The nodes of the graph behind the handles, without repeats; *found NULL for none. bl_free it. */
CUresult bl_cu_nodes_of(struct bl_cu_graph *graph, const CUgraphNode *handles, const CUgraphEdgeData *data, size_t count,
                        struct bl_cu_node ***found);

/* ---- graph_node.c: without the lock ------------------------------------------------------------- */

/* Checks what the program gave and copies it. */
CUresult bl_cu_params_make(struct bl_cu_params *params, CUgraphNodeParams *given, struct bl_cu_graph *graph);
void bl_cu_params_free(struct bl_cu_params *params);                                                /* under the lock */
CUresult bl_cu_params_copy(struct bl_cu_params *to, const struct bl_cu_params *from, bool publish); /* under the lock */
/* What the device will be asked to do. */
CUresult bl_cu_params_step(const struct bl_cu_params *params, struct bl_step *step);
/* Makes the node that was given into a published one of the graph; the whole of cuGraphAdd…Node. */
CUresult bl_cu_node_add(CUgraphNode *out, CUgraph graph, const CUgraphNode *dependencies, const CUgraphEdgeData *data, size_t count,
                        CUgraphNodeParams *given);
/* Exchanges parameters of the same type; a kernel node keeps its attributes. Under the lock. */
CUresult bl_cu_params_swap(struct bl_cu_params *now, struct bl_cu_params *wanted);
/* Whether an executable graph's node may take these in the place of its own, types being equal: memory operations stay what they
 * are. */
bool bl_cu_params_fit(const struct bl_cu_params *now, const struct bl_cu_params *wanted);
CUresult bl_cu_attribute_keep(struct bl_cu_node_attributes *kept, CUlaunchAttributeID attr, const CUlaunchAttributeValue *value);
/* The function of a kernel node; NULL: its module is gone. */
struct bl_cu_function *bl_cu_params_function(const struct bl_cu_params *params);

/* ---- graph_exec.c, graph_launch.c --------------------------------------------------------------- */

/* The steps of a graph, child graphs in their places. */
struct bl_cu_plan {
    struct bl_step *steps;     /* owned */
    struct bl_cu_node **nodes; /* owned; whose step it is */
    size_t count, capacity;
    size_t built; /* nodes whose step is made in each launch; 0: the steps can be given to the device as they are */
    size_t more;  /* steps that a launch makes beyond one a node */
    bool keeps;   /* a launch keeps the executable graph until it has run */
};

struct bl_cu_exec {
    struct bl_cu_object object;
    atomic_uint refs;     /* the handle, and launches that need it */
    pthread_mutex_t lock; /* plan, nodes and what follows; inside bl_cu_graph_lock */
    struct bl_cu_graph *graph;
    struct bl_cu_context *context; /* of its kernels, copies and fills; NULL: it has none */
    unsigned long long flags;
    struct bl_cu_plan plan;
    size_t conditions;           /* handles in it */
    uint64_t source;             /* handle of the program\'s graph, where that has memory; else 0 */
    unsigned modules;            /* bl_cu_modules_gone when its kernels were last known to be there */
    struct bl_cu_stream *stream; /* of the last launch, if its handle is still stream_handle */
    uint64_t stream_handle;
    /* For the bodies of conditional nodes: one for each level of those inside others. levels: how many there are. */
    struct bl_queue *queues[BL_CU_GRAPH_DEPTH + 1];
    unsigned levels, level; /* level: while it is planned */
    struct bl_fence *fence; /* orders launches into different streams; NULL: not yet needed */
};
struct bl_cu_exec *bl_cu_exec_hold(CUgraphExec handle); /* NULL: no such; drop it again */
void bl_cu_exec_drop(struct bl_cu_exec *exec);          /* not under the lock */
/* Gives a node of it other parameters, which become its own or are freed. */
CUresult bl_cu_exec_change(CUgraphExec exec, CUgraphNode node, struct bl_cu_params *params);
CUresult bl_cu_exec_launch(struct bl_cu_exec *exec, struct bl_cu_stream *stream);

/* ---- graph_memory.c -------------------------------------------------------------------------------- */

CUresult bl_cu_graph_memory_new(struct bl_cu_context *context, uint64_t size, struct bl_cu_graph_memory **memory);
void bl_cu_graph_memory_drop(struct bl_cu_graph_memory *memory);         /* under the lock */
struct bl_cu_graph_memory *bl_cu_graph_memory_find(CUdeviceptr address); /* under the lock; a new reference, or NULL */
void bl_cu_graph_memory_set_live(struct bl_cu_graph_memory *memory, bool live);

struct bl_cu_user_object {
    struct bl_cu_object object;
    atomic_uint refs;
    CUhostFn destroy;
    void *data;
};
void bl_cu_user_object_drop(struct bl_cu_user_object *object, unsigned count);

CUresult bl_cu_condition_new(struct bl_cu_context *context, uint32_t initial, unsigned flags, struct bl_cu_condition **condition);
void bl_cu_condition_drop(struct bl_cu_condition *condition); /* under the lock */

#endif
