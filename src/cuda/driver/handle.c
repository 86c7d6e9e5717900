/* The table of handles: a value that a program gives is looked up here and never followed as a pointer, so null, stale and
 * foreign handles are found out. Called by all files of libcuda. */
#include "cuda/driver/graph.h"

_Atomic(struct bl_cu_slot *) bl_cu_chunks[BL_CU_CHUNK];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_cu_object *unused[BL_CU_KINDS];
static uint32_t slots_used;

static const size_t sizes[BL_CU_KINDS] = {
    [BL_CU_CONTEXT] = sizeof(struct bl_cu_context),
    [BL_CU_MODULE] = sizeof(struct bl_cu_module),
    [BL_CU_FUNCTION] = sizeof(struct bl_cu_function),
    [BL_CU_LIBRARY] = 256, /* checked in library.c */
    [BL_CU_KERNEL] = sizeof(struct bl_cu_kernel),
    [BL_CU_STREAM] = sizeof(struct bl_cu_stream),
    [BL_CU_EVENT] = sizeof(struct bl_cu_event),
    [BL_CU_ARRAY] = sizeof(struct bl_cu_array),
    [BL_CU_POOL] = 512, /* checked in pool.c */
    [BL_CU_LINK] = 256, /* checked in link_api.c */
    [BL_CU_GRAPH] = sizeof(struct bl_cu_graph),
    [BL_CU_NODE] = sizeof(struct bl_cu_node),
    [BL_CU_EXEC] = sizeof(struct bl_cu_exec),
    [BL_CU_USER_OBJECT] = sizeof(struct bl_cu_user_object),
    [BL_CU_PHYSICAL] = 256, /* checked in virtual.c */
    [BL_CU_SHARE] = 256,    /* checked in green.c */
    [BL_CU_GREEN] = 512,    /* the same */
    [BL_CU_MIPMAP] = sizeof(struct bl_cu_mipmap),
};

static struct bl_cu_slot *slot_of(uint32_t index)
{
    struct bl_cu_slot *chunk = atomic_load_explicit(&bl_cu_chunks[index / BL_CU_CHUNK], memory_order_acquire);
    return &chunk[index % BL_CU_CHUNK];
}

/* A new slot with a new object of the kind; the lock is held. */
static struct bl_cu_object *grow(enum bl_cu_kind kind)
{
    uint32_t index = slots_used;
    if (index == BL_CU_CHUNK * BL_CU_CHUNK)
        return NULL;
    if (!atomic_load(&bl_cu_chunks[index / BL_CU_CHUNK])) {
        struct bl_cu_slot *chunk = bl_calloc(BL_CU_CHUNK, sizeof(*chunk));
        if (!chunk)
            return NULL;
        atomic_store(&bl_cu_chunks[index / BL_CU_CHUNK], chunk);
    }
    struct bl_cu_object *object = bl_calloc(1, sizes[kind]);
    if (!object)
        return NULL;
    slots_used++;
    object->kind = kind;
    object->index = index;
    slot_of(index)->object = object;
    return object;
}

void *bl_cu_new(enum bl_cu_kind kind)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_object *object = unused[kind];
    if (object)
        unused[kind] = object->next_free;
    else
        object = grow(kind);
    pthread_mutex_unlock(&lock);
    if (!object)
        return NULL;
    uint32_t generation = (object->generation + 1) & 0x3fffff, index = object->index;
    memset(object, 0, sizes[kind]);
    object->kind = kind;
    object->index = index;
    object->generation = generation ? generation : 1;
    /* 22 bits of generation keep a handle below 2^54 and above every small number; user addresses end at 2^47, so most
     * handles are not even possible pointers. */
    object->handle = (uint64_t)object->generation << 32 | (uint64_t)index << 8 | (uint64_t)kind << 3;
    return object;
}

void bl_cu_publish(void *object)
{
    struct bl_cu_object *head = object;
    atomic_store_explicit(&slot_of(head->index)->handle, head->handle, memory_order_release);
}

bool bl_cu_unpublish(void *object)
{
    struct bl_cu_object *head = object;
    uint_least64_t expected = head->handle;
    return atomic_compare_exchange_strong(&slot_of(head->index)->handle, &expected, 0);
}

void bl_cu_recycle(void *object)
{
    struct bl_cu_object *head = object;
    pthread_mutex_lock(&lock);
    head->next_free = unused[head->kind];
    unused[head->kind] = head;
    pthread_mutex_unlock(&lock);
}
