/* What the files of libcuda share: objects behind the handles, the current context, stream ordering, code images. Only
 * src/cuda/driver includes it (and tests of that room). Each API group has its own file; the exported entry points are made
 * from api.def and call the bl_cu… functions declared in api_impl.h.
 *
 * Locks, outermost first: device->lock, context->lock, allocations, handle table. None is held while a program's own
 * function is called.
 */
#ifndef BAILEY_CUDA_DRIVER_H
#define BAILEY_CUDA_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_PUSH_VISIBILITY_DEFAULT
#include "toolkit/include/cuda.h"
#include "toolkit/include/cudaProfiler.h"

#include "base/base.h"
#include "device/device.h"
#include "api_impl.h" /* made by gen_api.py */

/* What cuDriverGetVersion answers, and what this libcuda implements. */
enum { BL_CU_VERSION = 13000 };

/* ---- the gate that every entry point looks at (init.c) -------------------------------------- */

/* 0: initialised and no trace, the fast path. */
enum { BL_CU_GATE_CLOSED = 1, BL_CU_GATE_TRACE = 2 };
extern atomic_uint bl_cu_gate;
CUresult bl_cu_gate_check(void); /* CUDA_SUCCESS once cuInit has been called */
void bl_cu_trace(const char *function, const char *names, const uint64_t *values, CUresult result);
CUresult bl_cu_missing(const char *function, atomic_bool *said);
/* The answer of a function that api.def refuses, with its reason in the log once. */
CUresult bl_cu_refused(const char *function, CUresult code, const char *reason, atomic_bool *said);

/* ---- handles (handle.c) ---------------------------------------------------------------------- */

enum bl_cu_kind {
    BL_CU_CONTEXT = 1,
    BL_CU_MODULE,
    BL_CU_FUNCTION,
    BL_CU_LIBRARY,
    BL_CU_KERNEL,
    BL_CU_STREAM,
    BL_CU_EVENT,
    BL_CU_ARRAY,
    BL_CU_POOL,
    BL_CU_LINK,
    BL_CU_GRAPH,
    BL_CU_NODE,
    BL_CU_EXEC,
    BL_CU_USER_OBJECT,
    BL_CU_PHYSICAL,
    BL_CU_SHARE,
    BL_CU_GREEN,
    BL_CU_MIPMAP,
    BL_CU_KINDS /* at most 32: five bits of a handle */
};

/* First member of every object behind a handle. */
struct bl_cu_object {
    uint64_t handle; /* the value that the program holds */
    enum bl_cu_kind kind;
    uint32_t generation, index;
    struct bl_cu_object *next_free;
};

/* A zeroed object whose handle is not yet valid; NULL when memory is out. An object's memory is never given back to the heap
 * but used again for the same kind, so that a call that races with a destroy reads an object and not freed memory. */
void *bl_cu_new(enum bl_cu_kind kind);
void bl_cu_publish(void *object);   /* its handle is valid from here on */
bool bl_cu_unpublish(void *object); /* false: somebody else was first */
void bl_cu_recycle(void *object);   /* after unpublish (or without publish), when all that it owned is freed */

struct bl_cu_slot {
    atomic_uint_least64_t handle; /* 0: not in use */
    void *object;
};
enum { BL_CU_CHUNK = 4096 };
extern _Atomic(struct bl_cu_slot *) bl_cu_chunks[BL_CU_CHUNK];

/* The object of a handle: NULL for null, stale and foreign values. A handle holds generation, index and kind. */
static inline void *bl_cu_object(const void *handle, enum bl_cu_kind kind)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    if ((value & 0xff) != (uint64_t)kind << 3)
        return NULL;
    uint32_t index = (uint32_t)(value >> 8) & 0xffffff;
    struct bl_cu_slot *chunk = atomic_load_explicit(&bl_cu_chunks[index / BL_CU_CHUNK], memory_order_acquire);
    if (!chunk)
        return NULL;
    struct bl_cu_slot *slot = &chunk[index % BL_CU_CHUNK];
    return atomic_load_explicit(&slot->handle, memory_order_acquire) == value ? slot->object : NULL;
}
#define BL_CU_HANDLE(type, pointer) ((type)(uintptr_t)(pointer)->object.handle)

/* ---- devices (init.c, device.c) -------------------------------------------------------------- */

struct bl_cu_context;
struct bl_cu_pool;

struct bl_cu_device {
    struct bl_device *device;
    int ordinal;
    pthread_mutex_t lock; /* the fields below */
    struct bl_cu_context *primary;
    unsigned retained, primary_flags;
    struct bl_cu_pool *default_pool, *pool; /* pool: the current one */
};
enum { BL_CU_MAX_DEVICES = 64 };
extern struct bl_cu_device bl_cu_devices[BL_CU_MAX_DEVICES];
extern int bl_cu_device_count;
struct bl_cu_device *bl_cu_device(CUdevice ordinal); /* NULL: no such device */
bool bl_cu_can_access_peer(const struct bl_cu_device *device, const struct bl_cu_device *peer);
int bl_cu_device_attribute(const struct bl_cu_device *device, CUdevice_attribute attribute, bool *known);

/* ---- contexts (context.c) -------------------------------------------------------------------- */

struct bl_cu_stream;
struct bl_cu_module;

/* Context-local storage of the runtime (export_table.c). */
struct bl_cu_storage {
    void *key, *value;
    void (*destructor)(CUcontext, void *, void *);
    struct bl_cu_storage *next;
};

struct bl_cu_context {
    struct bl_cu_object object;
    struct bl_cu_device *device;
    bool primary;
    atomic_bool active; /* a primary context keeps its handle when it is reset */
    unsigned flags;
    uint64_t id;
    _Atomic(CUresult) sticky;
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    atomic_uint persisting_l2;
    pthread_mutex_t lock;         /* the lists, and ordering between streams */
    struct bl_cu_stream *legacy;  /* owned */
    struct bl_cu_stream *streams; /* all but legacy; owned */
    atomic_uint blocking;         /* how many of them order themselves with legacy */
    atomic_ullong legacy_work;    /* counts what was put into legacy */
    uint64_t green;               /* the handle of the green context that owns it, or 0 */
    _Atomic uint64_t peers;       /* devices that peer access was enabled to, by ordinal */
    struct bl_cu_module *modules; /* owned */
    struct bl_cu_storage *storage;
};

/* A context beside the primary one, not current; cuCtxDestroy ends it. */
CUresult bl_cu_context_new(struct bl_cu_device *device, unsigned flags, struct bl_cu_context **context);
/* The calling thread's context, ready for use: 201 none, 709 destroyed, or the sticky error. */
CUresult bl_cu_current(struct bl_cu_context **context);
/* The same without asking for sticky errors: for queries that go on working. */
CUresult bl_cu_current_quiet(struct bl_cu_context **context);
/* A context handle, NULL meaning the current one. */
CUresult bl_cu_context_of(CUcontext handle, struct bl_cu_context **context);
/* Creates what an active context holds; device->lock is held for a primary one. */
CUresult bl_cu_primary_retain(struct bl_cu_device *device, struct bl_cu_context **context);
/* A status of the device as CUresult; BL_FAULT becomes the context's sticky error, logged once. */
CUresult bl_cu_result(struct bl_cu_context *context, enum bl_status status);
CUresult bl_cu_may_wait(void);                             /* CUDA_ERROR_NOT_PERMITTED in a host function, which must not wait */
CUresult bl_cu_synchronize(struct bl_cu_context *context); /* all streams of it */

/* ---- streams (stream.c) ---------------------------------------------------------------------- */

/* Nodes that the next one of a capturing stream will depend on. */
struct bl_cu_capture_deps {
    CUgraphNode *nodes; /* owned */
    size_t count;
};

struct bl_cu_stream {
    struct bl_cu_object object;
    struct bl_cu_context *context;
    struct bl_queue *queue;
    struct bl_fence *fence; /* for ordering with legacy; used under context->lock */
    unsigned flags;
    int priority;
    uint64_t id;
    bool legacy, per_thread, blocking;
    atomic_bool dirty;         /* something was put in since legacy last ordered itself after it */
    atomic_ullong seen_legacy; /* legacy_work that this stream is ordered after */
    CUstreamAttrValue access_policy;
    CUsynchronizationPolicy sync_policy;
    CUlaunchMemSyncDomain sync_domain;
    CUlaunchMemSyncDomainMap sync_domain_map;
    struct bl_cu_stream *previous, *next;    /* of the context */
    _Atomic(struct bl_cu_capture *) capture; /* that it takes part in, or NULL (graphs' lock) */
    struct bl_cu_stream *capture_next;
    struct bl_cu_capture_deps capture_deps;
};

/* Finds the stream (NULL and 1: legacy; 2: the thread's own) and orders what comes next in it after what CUDA's rules for the
 * legacy stream say. Follow it by the submission and bl_cu_stream_touched. *context is the stream's. */
CUresult bl_cu_stream_enter(CUstream handle, struct bl_cu_stream **stream);
static inline void bl_cu_stream_touched(struct bl_cu_stream *stream)
{
    if (stream->legacy)
        atomic_fetch_add_explicit(&stream->context->legacy_work, 1, memory_order_release);
    else if (stream->blocking)
        atomic_store_explicit(&stream->dirty, true, memory_order_release);
}
/* The stream itself, without ordering. */
CUresult bl_cu_stream_find(CUstream handle, struct bl_cu_stream **stream);
CUresult bl_cu_stream_new(struct bl_cu_context *context, unsigned flags, int priority, bool legacy, struct bl_cu_stream **stream);
void bl_cu_stream_free(struct bl_cu_stream *stream); /* out of its context's list already */
CUresult bl_cu_stream_wait(struct bl_cu_stream *stream);

/* ---- capture (capture.c) ------------------------------------------------------------------------ */

struct bl_cu_event;
extern atomic_uint bl_cu_captures; /* how many go on */
/* For calls that a capture records: the stream if it is being captured, else NULL. */
struct bl_cu_stream *bl_cu_capturing_slow(CUstream handle);
static inline struct bl_cu_stream *bl_cu_capturing(CUstream handle)
{
    return __builtin_expect(atomic_load_explicit(&bl_cu_captures, memory_order_relaxed) != 0, 0) ? bl_cu_capturing_slow(handle)
                                                                                                 : NULL;
}
/* Adds a node behind what the stream did so far; node may be NULL. */
CUresult bl_cu_capture_add(struct bl_cu_stream *stream, CUgraphNodeParams *params, CUgraphNode *node);
CUresult bl_cu_capture_record(struct bl_cu_stream *stream, struct bl_cu_event *event);
/* A wait of the stream for the event; false: no capture is concerned. */
bool bl_cu_capture_wait(struct bl_cu_stream *stream, struct bl_cu_event *event, CUresult *result);
/* For calls that can't be recorded: an error, and the capture is invalid. */
CUresult bl_cu_capture_check(struct bl_cu_stream *stream);
/* For calls that may wait for or disturb other streams: whether a capture forbids them now. */
CUresult bl_cu_capture_unsafe_slow(void);
static inline CUresult bl_cu_capture_unsafe(void)
{
    return __builtin_expect(atomic_load_explicit(&bl_cu_captures, memory_order_relaxed) != 0, 0) ? bl_cu_capture_unsafe_slow()
                                                                                                 : CUDA_SUCCESS;
}
bool bl_cu_capture_invalidate(uint64_t id); /* false: it has ended */
/* For calls that wait for a whole context. */
CUresult bl_cu_capture_context(const struct bl_cu_context *context);
void bl_cu_capture_forget(struct bl_cu_stream *stream); /* the stream goes away */
void bl_cu_capture_deps_free(struct bl_cu_capture_deps *deps);

/* A host function as a call for the device: *call with *data, which frees the data. false: no memory. */
bool bl_cu_host_function(CUhostFn function, void *user, void (**call)(void *), void **data);

/* ---- memory (allocation.c, memory.c, copy.c, pool.c, array.c) -------------------------------- */

enum bl_cu_memory {
    BL_CU_DEVICE_MEMORY,
    BL_CU_HOST_MEMORY,
    BL_CU_REGISTERED,
    BL_CU_MANAGED,
    BL_CU_VARIABLE, /* of a module */
    BL_CU_ARRAY_MEMORY,
    BL_CU_MAPPED,   /* of virtual.c: no context's */
    BL_CU_IMPORTED, /* another process's (ipc.c) */
};

struct bl_cu_allocation {
    uint64_t base, size, id;
    enum bl_cu_memory memory;
    unsigned flags; /* as given to the call that made it */
    struct bl_cu_context *context;
    struct bl_cu_device *device;
    struct bl_cu_pool *pool;
    struct bl_cu_graph_memory *graph; /* of an allocation node, or NULL */
    uint64_t range_base, range_size;  /* BL_CU_MAPPED: of the reservation */
    enum bl_access access;            /* BL_CU_MAPPED: what any device may do */
    unsigned handle_types;            /* that it can be exported as */
    bool on_host;                     /* BL_CU_MAPPED: memory asked for on the host's side */
    bool sync_memops;
    int read_mostly;
    uint64_t accessed_by; /* devices that were advised, by ordinal */
    bool accessed_by_host;
    CUmemLocation preferred, last_prefetch;
    uint32_t rank; /* of the treap */
    struct bl_cu_allocation *left, *right;
};

/* allocation.c: all ranges that the driver knows, by address. */
struct bl_cu_allocation *bl_cu_allocation_add(struct bl_cu_context *context, uint64_t base, uint64_t size, enum bl_cu_memory memory,
                                              unsigned flags); /* NULL: no memory, or it overlaps one */
/* The same for one whose fields the caller has filled in; false: no memory, or it overlaps one. */
bool bl_cu_allocation_insert(const struct bl_cu_allocation *about);
bool bl_cu_allocation_find(uint64_t address, struct bl_cu_allocation *copy);
bool bl_cu_allocation_overlap(uint64_t base, uint64_t size, struct bl_cu_allocation *copy); /* one that has bytes of the range */
/* Takes out the one that starts at base (and is of that memory); false: none. */
bool bl_cu_allocation_remove(uint64_t base, enum bl_cu_memory memory, struct bl_cu_allocation *copy);
bool bl_cu_allocation_update(uint64_t base, void (*change)(struct bl_cu_allocation *, const void *), const void *data);
/* Takes out one of the context's, any; false: none left. */
bool bl_cu_allocation_take(struct bl_cu_context *context, struct bl_cu_allocation *copy);
/* Whether [address, address + size) may be given as device memory. */
bool bl_cu_range_valid(struct bl_cu_context *context, uint64_t address, uint64_t size);

struct bl_cu_array {
    struct bl_cu_object object;
    struct bl_cu_context *context;
    CUDA_ARRAY3D_DESCRIPTOR description;
    uint64_t base, pitch, slice; /* bytes */
    unsigned element;            /* bytes */
};

struct bl_cu_mipmap {
    struct bl_cu_object object;
    uint32_t count;
    CUarray levels[BL_TEXTURE_LEVELS]; /* owned, unless the program destroyed one */
};

void bl_cu_textures_drop(struct bl_cu_context *context); /* texture.c: those of a context that is going away */

void bl_cu_pools_release(struct bl_cu_device *device); /* gives back what pools keep */
CUresult bl_cu_free_now(struct bl_cu_context *context, const struct bl_cu_allocation *allocation);
void bl_cu_pool_give(struct bl_cu_pool *pool, uint64_t base, uint64_t size); /* an allocation of the pool ends */
/* Whether other processes may have memory of the pool. */
bool bl_cu_pool_shareable(const struct bl_cu_pool *pool);
/* An empty pool that stands for another process's of that identity. NULL: no memory. */
struct bl_cu_pool *bl_cu_pool_import(struct bl_cu_device *device, uint64_t identity);
uint64_t bl_cu_pool_imported(const struct bl_cu_pool *pool); /* its identity; 0: a pool of this process */

/* What a copy or fill of a graph asks of the device, checked as the calls are. */
CUresult bl_cu_copy_resolve(struct bl_cu_context *context, const CUDA_MEMCPY3D *box, struct bl_copy *copy);
CUresult bl_cu_fill_resolve(struct bl_cu_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *given, struct bl_fill *fill);
/* The same for a stream memory operation (memop.c). *nothing: it is a barrier, which needs no step. */
CUresult bl_cu_memop_resolve(struct bl_cu_context *context, const CUstreamBatchMemOpParams *given, struct bl_value_op *op,
                             bool *nothing);
/* The program frees memory of an allocation node (graph_memory.c); false: it is not allocated now. */
bool bl_cu_graph_memory_release(struct bl_cu_graph_memory *memory);

/* ---- events (event.c) ------------------------------------------------------------------------ */

struct bl_cu_event {
    struct bl_cu_object object;
    struct bl_cu_context *context;
    struct bl_fence *fence;
    unsigned flags;
    atomic_bool recorded;
    atomic_uint_least64_t capture; /* id of the capture in which it was recorded last; 0: none */
    struct bl_cu_capture_deps capture_deps;
    void *node; /* event.c: its place in the list of all */
    /* Between processes (ipc.c): a page that all of them map, and its file. */
    struct bl_cu_shared_event *shared; /* NULL: an ordinary event */
    int file;
    bool imported;
    uint64_t own_record; /* the last record of this process */
};
/* An event; shared and file: of another process's event, which becomes the new one's, or NULL and -1. */
CUresult bl_cu_event_new(struct bl_cu_context *context, unsigned flags, struct bl_cu_shared_event *shared, int file,
                         CUevent *event);
/* ipc.c: what the calls do for such an event. */
CUresult bl_cu_event_share(struct bl_cu_event *event);
void bl_cu_event_unshare(struct bl_cu_event *event);
CUresult bl_cu_event_shared_record(struct bl_cu_event *event, struct bl_cu_stream *stream);
bool bl_cu_event_shared_passed(const struct bl_cu_event *event);
void bl_cu_event_shared_wait(const struct bl_cu_event *event);
CUresult bl_cu_event_shared_stream_wait(const struct bl_cu_event *event, struct bl_cu_stream *stream);
void bl_cu_ipc_forget(uint64_t address); /* memory of another process, whose context goes away */
bool bl_cu_ipc_close(uint64_t address);  /* one that opened it lets go */
/* Frees the events of a context that is going away. */
void bl_cu_events_drop(struct bl_cu_context *context);

/* ---- code (image.c, link.c, jit.c, module.c, library.c, function.c) --------------------------- */

/* PTX as it will be given to the device. */
struct bl_cu_code {
    char *ptx; /* owned, bl_free */
    size_t size;
    bool check_now;
};
void bl_cu_code_cleanup(struct bl_cu_code *code);

/* JIT options of a call. */
struct bl_cu_jit {
    char *info, *error; /* the program's buffers, or NULL */
    size_t info_size, error_size;
    void **info_written, **error_written; /* where the option's value goes back */
    float *wall_time;
    uint64_t started;
};
CUresult bl_cu_jit_read(struct bl_cu_jit *jit, unsigned count, CUjit_option *options, void **values);
void bl_cu_jit_finish(struct bl_cu_jit *jit, const struct bl_error *error);
/* The result for a load that failed, with the log line. */
CUresult bl_cu_load_result(const struct bl_error *error, enum bl_status status, const char *what);

/* Chooses, unpacks and, where it is several objects, links what the program gave: wrapper, fatbin, PTX text. size 0: not
 * known; sm: 80 for a device of capability 8.0. */
enum bl_status bl_cu_code_read(const void *data, size_t size, uint32_t sm, struct bl_cu_code *code, struct bl_error *error);
uint32_t bl_cu_device_sm(const struct bl_cu_device *device); /* 80 for 8.0 */

/* Joins PTX modules that refer to each other into one text. */
struct bl_cu_link_input {
    struct bl_sv text;
    const char *name;
};
enum bl_status bl_cu_link(const struct bl_cu_link_input *inputs, size_t count, struct bl_buffer *out, struct bl_error *error);

struct bl_cu_function;
struct bl_cu_library;

struct bl_cu_module {
    struct bl_cu_object object;
    struct bl_cu_context *context;
    struct bl_device_module *module;
    struct bl_cu_library *library;    /* it is an instance of, or NULL */
    struct bl_cu_function *functions; /* found so far; owned */
    struct bl_cu_variable *variables; /* found so far; owned */
    struct bl_cu_module *previous, *next;
};
struct bl_cu_variable {
    char *name;
    uint64_t address, size;
    bool managed;
    struct bl_cu_variable *next;
};
CUresult bl_cu_module_new(struct bl_cu_context *context, const struct bl_cu_code *code, const char *name,
                          struct bl_cu_module **module, struct bl_error *error);
extern atomic_uint bl_cu_modules_gone;               /* counts modules that went away */
void bl_cu_module_free(struct bl_cu_module *module); /* unpublished, out of its context's list */
CUresult bl_cu_module_function(struct bl_cu_module *module, const char *name, struct bl_cu_function **function);
CUresult bl_cu_module_variable(struct bl_cu_module *module, const char *name, struct bl_cu_variable *copy);
uint32_t bl_cu_module_kernel_count(struct bl_cu_module *module);

struct bl_cu_function {
    struct bl_cu_object object;
    struct bl_cu_module *module;
    struct bl_device_kernel *kernel;
    const char *name; /* lives as long as the module */
    uint32_t param_count, param_bytes;
    uint32_t *offsets, *sizes; /* owned, one block */
    atomic_bool attr_ready;
    struct bl_kernel_attr attr;
    int carveout, cluster[3], nonportable_cluster, cluster_policy;
    struct bl_cu_legacy_launch *legacy; /* cuFuncSetBlockShape and friends; owned */
    struct bl_cu_function *next;
};
/* The function's attributes; compiles the kernel the first time. */
CUresult bl_cu_function_attr(struct bl_cu_function *function);
/* A CUfunction or CUkernel handle, for the given context. */
CUresult bl_cu_function_find(const void *handle, struct bl_cu_context *context, struct bl_cu_function **function);

struct bl_cu_kernel {
    struct bl_cu_object object;
    struct bl_cu_library *library;
    char *name;                                /* owned */
    _Atomic(struct bl_cu_function *) function; /* in the context that used it last */
    struct bl_cu_kernel *next;
};
/* library.c: the kernel's function in that context, loading the library there if need be. */
CUresult bl_cu_kernel_function(struct bl_cu_kernel *kernel, struct bl_cu_context *context, struct bl_cu_function **function);
/* The module instance is going away: forget it. */
void bl_cu_library_forget(struct bl_cu_library *library, struct bl_cu_module *module);

/* ---- launches (launch.c) ----------------------------------------------------------------------- */

/* Whether the device takes a launch of this shape; compiles the kernel the first time. A launch without clusters gets those that
 * the function asks for; one that counts clusters gets the grid in CTAs. */
CUresult bl_cu_launch_check(struct bl_cu_function *function, struct bl_launch *launch);
/* CTAs of a cluster that any device of capability 9.0 takes, and that a function may be allowed (CUDA C++ Programming Guide, thread
 * block clusters). */
enum { BL_CU_CLUSTER_PORTABLE = 8, BL_CU_CLUSTER_MOST = 16 };
/* Clusters that the kernel was compiled for, or that cuFuncSetAttribute set; false: none. Here and below: after
 * bl_cu_function_attr. */
bool bl_cu_required_cluster(const struct bl_cu_function *function, uint32_t required[3]);
/* Whether the function may be launched in clusters of this shape. */
CUresult bl_cu_cluster_check(const struct bl_cu_function *function, const uint32_t sides[3]);
/* Fills a parameter buffer of function->param_bytes as cuLaunchKernel's last two arguments say. */
CUresult bl_cu_launch_params(const struct bl_cu_function *function, void *const *params, void *const *extra, uint8_t *out);

struct bl_cu_legacy_launch {
    uint32_t block[3], shared, size;
    uint8_t bytes[4096]; /* parameter space of the old launch functions */
};
void bl_cu_legacy_launch_free(struct bl_cu_function *function);

/* ---- cuGetProcAddress (proc.c; the table is made from api.def) ------------------------------- */

struct bl_cu_proc {
    const char *name;
    int version;
    int per_thread;
    void (*function)(void);
};
extern const struct bl_cu_proc bl_cu_procs[]; /* by name, flavour, version */
extern const size_t bl_cu_proc_count;

/* ---- md2.c ------------------------------------------------------------------------------------- */

/* HMAC with MD2 (RFC 2104, RFC 1319) under a key of 16 bytes. */
struct bl_md2 {
    uint8_t state[48], checksum[16], block[16];
    unsigned filled;
};
void bl_md2_start(struct bl_md2 *md2);
void bl_md2_add(struct bl_md2 *md2, const void *bytes, size_t size);
void bl_md2_finish(struct bl_md2 *md2, uint8_t digest[16]);

#endif
