/* What graphs refer to and share: memory of allocation nodes, values of conditions, the program's own objects.
 *
 * Memory of an allocation node has its address, and is there, from the making of the node until the last graph that names it is
 * gone and it is not allocated: between its launches nobody else gets it. A GPU's driver gives only the address for so long.
 */
#include "cuda/driver/graph.h"

/* ---- memory ---------------------------------------------------------------------------------------- */

/* Bytes of a device, as cuDeviceGetGraphMemAttribute has them. Memory is in use from its first launch to its end: freed by a graph
 * it stays with it, until a trim. */
struct counts {
    uint64_t used, used_high, reserved, reserved_high;
    struct bl_cu_graph_memory *first; /* by counted_next */
};
static struct counts counts[BL_CU_MAX_DEVICES];
static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER; /* counts and every memory's live; innermost */

static void note_graph(struct bl_cu_allocation *allocation, const void *memory)
{
    allocation->graph = (struct bl_cu_graph_memory *)(uintptr_t)memory;
}

CUresult bl_cu_graph_memory_new(struct bl_cu_context *context, uint64_t bytes, struct bl_cu_graph_memory **made)
{
    struct bl_device *device = context->device->device;
    struct bl_error error = BL_ERROR_INIT;
    uint64_t size = BL_ALIGN_UP(bytes, (uint64_t)512);
    if (size < bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct bl_cu_graph_memory *memory = bl_calloc(1, sizeof(*memory));
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *memory = (struct bl_cu_graph_memory){.refs = 1, .size = size, .context = context};
    enum bl_status status = device->ops->alloc(device, BL_ALLOC_DEVICE, size, 512, &memory->base, &error);
    if (status != BL_OK) {
        bl_free(memory);
        return bl_cu_result(context, status);
    }
    if (!bl_cu_allocation_add(context, memory->base, size, BL_CU_DEVICE_MEMORY, 0)) {
        device->ops->free(device, memory->base);
        bl_free(memory);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    bl_cu_allocation_update(memory->base, note_graph, memory);
    *made = memory;
    return CUDA_SUCCESS;
}

/* Both under counts_lock. */
static void count_in(struct bl_cu_graph_memory *memory)
{
    struct counts *count = &counts[memory->context->device->ordinal];
    memory->counted = true;
    memory->counted_previous = NULL;
    memory->counted_next = count->first;
    if (count->first)
        count->first->counted_previous = memory;
    count->first = memory;
    count->used += memory->size;
    count->reserved = BL_MAX(count->reserved, count->used);
    count->used_high = BL_MAX(count->used_high, count->used);
    count->reserved_high = BL_MAX(count->reserved_high, count->reserved);
}

static void count_out(struct bl_cu_graph_memory *memory)
{
    struct counts *count = &counts[memory->context->device->ordinal];
    if (!memory->counted)
        return;
    memory->counted = false;
    if (memory->counted_next)
        memory->counted_next->counted_previous = memory->counted_previous;
    if (memory->counted_previous)
        memory->counted_previous->counted_next = memory->counted_next;
    else
        count->first = memory->counted_next;
    count->used -= memory->size;
}

static void memory_end(struct bl_cu_graph_memory *memory)
{
    struct bl_cu_allocation found;
    pthread_mutex_lock(&counts_lock);
    count_out(memory);
    pthread_mutex_unlock(&counts_lock);
    /* It is gone already where its context is. */
    if (bl_cu_allocation_find(memory->base, &found) && found.graph == memory &&
        bl_cu_allocation_remove(memory->base, BL_CU_DEVICE_MEMORY, &found))
        bl_cu_free_now(memory->context, &found);
    bl_free(memory);
}

void bl_cu_graph_memory_drop(struct bl_cu_graph_memory *memory)
{
    if (--memory->refs == 0 && !memory->live) /* else the program frees it */
        memory_end(memory);
}

struct bl_cu_graph_memory *bl_cu_graph_memory_find(CUdeviceptr address)
{
    struct bl_cu_allocation found;
    if (!bl_cu_allocation_find(address, &found) || found.base != address || !found.graph || !found.graph->refs)
        return NULL;
    found.graph->refs++;
    return found.graph;
}

void bl_cu_graph_memory_set_live(struct bl_cu_graph_memory *memory, bool live)
{
    pthread_mutex_lock(&counts_lock);
    if (live && !memory->counted)
        count_in(memory);
    memory->live = live;
    pthread_mutex_unlock(&counts_lock);
}

bool bl_cu_graph_memory_release(struct bl_cu_graph_memory *memory)
{
    bl_cu_graph_enter();
    bool live = memory->live;
    if (live) {
        bl_cu_graph_memory_set_live(memory, false);
        if (!memory->refs)
            memory_end(memory);
    }
    bl_cu_graph_leave();
    return live;
}

CUresult bl_cuDeviceGraphMemTrim(CUdevice device)
{
    if (!bl_cu_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    pthread_mutex_lock(&counts_lock);
    for (struct bl_cu_graph_memory *memory = counts[device].first, *next; memory; memory = next) {
        next = memory->counted_next;
        if (!memory->live)
            count_out(memory);
    }
    counts[device].reserved = counts[device].used;
    pthread_mutex_unlock(&counts_lock);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    if (!bl_cu_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || (unsigned)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&counts_lock);
    const struct counts *count = &counts[device];
    uint64_t answers[] = {count->used, count->used_high, count->reserved, count->reserved_high};
    pthread_mutex_unlock(&counts_lock);
    memcpy(value, &answers[attr], sizeof(answers[attr]));
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
    uint64_t wanted;
    if (!bl_cu_device(device))
        return CUDA_ERROR_INVALID_DEVICE;
    if (!value || (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&wanted, value, sizeof(wanted));
    if (wanted) /* high marks may only be set back */
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&counts_lock);
    if (attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
        counts[device].used_high = counts[device].used;
    else
        counts[device].reserved_high = counts[device].reserved;
    pthread_mutex_unlock(&counts_lock);
    return CUDA_SUCCESS;
}

/* ---- conditions --------------------------------------------------------------------------------------- */

CUresult bl_cu_condition_new(struct bl_cu_context *context, uint32_t initial, unsigned flags, struct bl_cu_condition **made)
{
    struct bl_device *device = context->device->device;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cu_condition *condition = bl_calloc(1, sizeof(*condition));
    if (!condition)
        return CUDA_ERROR_OUT_OF_MEMORY;
    condition->refs = 1;
    condition->context = context;
    condition->initial = initial;
    condition->assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    /* Managed: kernels write it, the host reads it. */
    enum bl_status status = device->ops->alloc(device, BL_ALLOC_MANAGED, sizeof(uint32_t), 64, &condition->address, &error);
    if (status != BL_OK) {
        bl_free(condition);
        return bl_cu_result(context, status);
    }
    *(uint32_t *)(uintptr_t)condition->address = 0;
    *made = condition;
    return CUDA_SUCCESS;
}

void bl_cu_condition_drop(struct bl_cu_condition *condition)
{
    if (--condition->refs)
        return;
    struct bl_device *device = condition->context->device->device;
    device->ops->free(device, condition->address);
    bl_free(condition);
}

CUresult bl_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle_out, CUgraph graph, CUcontext ctx,
                                           unsigned int default_launch_value, unsigned int flags)
{
    struct bl_cu_context *context;
    struct bl_cu_condition *condition;
    if (!handle_out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = bl_cu_context_of(ctx, &context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_object(graph, BL_CU_GRAPH) ? bl_cu_condition_new(context, default_launch_value, flags, &condition)
                                                  : CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    bl_cu_graph_enter();
    struct bl_cu_graph *found = bl_cu_object(graph, BL_CU_GRAPH);
    struct bl_cu_condition **list =
        found ? bl_realloc(found->conditions, (found->condition_count + 1) * sizeof(struct bl_cu_condition *)) : NULL;
    if (list) {
        found->conditions = list;
        list[found->condition_count++] = condition;
        *handle_out = condition->address;
    } else {
        result = found ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
        bl_cu_condition_drop(condition);
    }
    bl_cu_graph_leave();
    return result;
}

/* ---- user objects --------------------------------------------------------------------------------------- */

CUresult bl_cuUserObjectCreate(CUuserObject *object_out, void *ptr, CUhostFn destroy, unsigned int initial_refcount,
                               unsigned int flags)
{
    /* The flag says that nobody waits for the destructor, and must be given. */
    if (!object_out || !destroy || !initial_refcount || initial_refcount > INT32_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_user_object *object = bl_cu_new(BL_CU_USER_OBJECT);
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    object->destroy = destroy;
    object->data = ptr;
    atomic_store(&object->refs, initial_refcount);
    bl_cu_publish(object);
    *object_out = BL_CU_HANDLE(CUuserObject, object);
    return CUDA_SUCCESS;
}

void bl_cu_user_object_drop(struct bl_cu_user_object *object, unsigned count)
{
    if (atomic_fetch_sub(&object->refs, count) != count)
        return;
    CUhostFn destroy = object->destroy;
    void *data = object->data;
    bl_cu_unpublish(object);
    bl_cu_recycle(object);
    destroy(data);
}

/* Takes references of a live object. */
static bool user_object_take(CUuserObject handle, unsigned count, struct bl_cu_user_object **object)
{
    *object = bl_cu_object(handle, BL_CU_USER_OBJECT);
    if (!*object || !count || count > INT32_MAX)
        return false;
    unsigned refs = atomic_load(&(*object)->refs);
    while (refs && !atomic_compare_exchange_weak(&(*object)->refs, &refs, refs + count))
        ;
    return refs != 0;
}

CUresult bl_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
    struct bl_cu_user_object *found;
    return user_object_take(object, count, &found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
    struct bl_cu_user_object *found = bl_cu_object(object, BL_CU_USER_OBJECT);
    if (!found || !count || count > atomic_load(&found->refs))
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_user_object_drop(found, count);
    return CUDA_SUCCESS;
}

static struct bl_cu_user_reference **find_user(struct bl_cu_graph *graph, const struct bl_cu_user_object *object)
{
    struct bl_cu_user_reference **at = &graph->users;
    while (*at && (*at)->object != object)
        at = &(*at)->next;
    return at;
}

CUresult bl_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags)
{
    struct bl_cu_user_object *found;
    if (!count || count > INT32_MAX || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_user_reference *made = bl_malloc(sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bl_cu_graph_enter();
    struct bl_cu_graph *target = bl_cu_object(graph, BL_CU_GRAPH);
    bool right = target != NULL;
    if (right && flags) { /* the caller's references become the graph's */
        found = bl_cu_object(object, BL_CU_USER_OBJECT);
        right = found && atomic_load(&found->refs) >= count;
    } else if (right) {
        right = user_object_take(object, count, &found);
    }
    if (right) {
        struct bl_cu_user_reference **at = find_user(target, found);
        if (*at)
            (*at)->count += count;
        else {
            *made = (struct bl_cu_user_reference){found, count, NULL};
            *at = made;
            made = NULL;
        }
    }
    bl_cu_graph_leave();
    bl_free(made);
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count)
{
    bl_cu_graph_enter();
    struct bl_cu_graph *target = bl_cu_object(graph, BL_CU_GRAPH);
    struct bl_cu_user_object *found = bl_cu_object(object, BL_CU_USER_OBJECT);
    struct bl_cu_user_reference **at = target && found ? find_user(target, found) : NULL;
    bool right = at && *at && count && (*at)->count >= count;
    if (right && ((*at)->count -= count) == 0) {
        struct bl_cu_user_reference *gone = *at;
        *at = gone->next;
        bl_free(gone);
    }
    bl_cu_graph_leave();
    if (right)
        bl_cu_user_object_drop(found, count);
    return right ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
