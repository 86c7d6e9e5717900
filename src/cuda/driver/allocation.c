/* Every range of memory that the driver gave out or was told of, by address: a treap under one lock. Used to tell device
 * memory from the host's, to answer questions about pointers, and to free what a dying context leaves behind. */
#include "cuda/driver/driver.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_cu_allocation *root;
static uint64_t next_id = 1;

static uint32_t random_rank(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* The node with the greatest base not above address. */
static struct bl_cu_allocation *floor_of(uint64_t address)
{
    struct bl_cu_allocation *best = NULL, *at = root;
    while (at) {
        if (at->base <= address) {
            best = at;
            at = at->right;
        } else {
            at = at->left;
        }
    }
    return best;
}

static struct bl_cu_allocation *holder(uint64_t address)
{
    struct bl_cu_allocation *at = floor_of(address);
    return at && address - at->base < at->size ? at : NULL;
}

/* Splits a tree into bases below and not below the key. */
static void split(struct bl_cu_allocation *tree, uint64_t key, struct bl_cu_allocation **below, struct bl_cu_allocation **rest)
{
    while (tree) {
        if (tree->base < key) {
            *below = tree;
            below = &tree->right;
            tree = tree->right;
        } else {
            *rest = tree;
            rest = &tree->left;
            tree = tree->left;
        }
    }
    *below = *rest = NULL;
}

static void insert(struct bl_cu_allocation *node)
{
    struct bl_cu_allocation **at = &root;
    while (*at && (*at)->rank >= node->rank)
        at = node->base < (*at)->base ? &(*at)->left : &(*at)->right;
    struct bl_cu_allocation *tree = *at;
    *at = node;
    split(tree, node->base, &node->left, &node->right);
}

static struct bl_cu_allocation *join(struct bl_cu_allocation *left, struct bl_cu_allocation *right)
{
    struct bl_cu_allocation *joined = NULL, **at = &joined;
    while (left && right) {
        if (left->rank > right->rank) {
            *at = left;
            at = &left->right;
            left = left->right;
        } else {
            *at = right;
            at = &right->left;
            right = right->left;
        }
    }
    *at = left ? left : right;
    return joined;
}

static struct bl_cu_allocation *take_out(uint64_t base)
{
    struct bl_cu_allocation **at = &root;
    while (*at && (*at)->base != base)
        at = base < (*at)->base ? &(*at)->left : &(*at)->right;
    struct bl_cu_allocation *found = *at;
    if (found)
        *at = join(found->left, found->right);
    return found;
}

static struct bl_cu_allocation *overlapping(uint64_t base, uint64_t size)
{
    struct bl_cu_allocation *at = floor_of(base + (size ? size - 1 : 0));
    return at && (at->base >= base || base - at->base < at->size) ? at : NULL;
}

/* Puts a node in; false: it overlaps one. */
static bool enter(struct bl_cu_allocation *node)
{
    node->preferred.type = node->last_prefetch.type = CU_MEM_LOCATION_TYPE_INVALID;
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *other = overlapping(node->base, node->size);
    /* Host memory that was freed without being unregistered may come back as something else. */
    while (other && other->memory == BL_CU_REGISTERED && node->memory != BL_CU_REGISTERED) {
        bl_free(take_out(other->base));
        other = overlapping(node->base, node->size);
    }
    if (!other) {
        node->id = next_id++;
        node->rank = random_rank();
        insert(node);
    }
    pthread_mutex_unlock(&lock);
    return !other;
}

struct bl_cu_allocation *bl_cu_allocation_add(struct bl_cu_context *context, uint64_t base, uint64_t size, enum bl_cu_memory memory,
                                              unsigned flags)
{
    struct bl_cu_allocation *node = bl_calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->base = base;
    node->size = size;
    node->memory = memory;
    node->flags = flags;
    node->context = context;
    node->device = context->device;
    if (enter(node))
        return node;
    bl_free(node);
    return NULL;
}

bool bl_cu_allocation_insert(const struct bl_cu_allocation *about)
{
    struct bl_cu_allocation *node = bl_malloc(sizeof(*node));
    if (!node)
        return false;
    *node = *about;
    if (enter(node))
        return true;
    bl_free(node);
    return false;
}

bool bl_cu_allocation_find(uint64_t address, struct bl_cu_allocation *copy)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *found = holder(address);
    if (found)
        *copy = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

bool bl_cu_allocation_overlap(uint64_t base, uint64_t size, struct bl_cu_allocation *copy)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *found = overlapping(base, size);
    if (found)
        *copy = *found;
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

bool bl_cu_allocation_remove(uint64_t base, enum bl_cu_memory memory, struct bl_cu_allocation *copy)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *found = floor_of(base);
    if (found && (found->base != base || found->memory != memory))
        found = NULL;
    if (found) {
        take_out(base);
        *copy = *found;
    }
    pthread_mutex_unlock(&lock);
    bl_free(found);
    return found != NULL;
}

bool bl_cu_allocation_update(uint64_t base, void (*change)(struct bl_cu_allocation *, const void *), const void *data)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *found = holder(base);
    if (found)
        change(found, data);
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

static struct bl_cu_allocation *first_of(struct bl_cu_allocation *tree, const struct bl_cu_context *context)
{
    if (!tree || tree->context == context)
        return tree;
    struct bl_cu_allocation *found = first_of(tree->left, context);
    return found ? found : first_of(tree->right, context);
}

bool bl_cu_allocation_take(struct bl_cu_context *context, struct bl_cu_allocation *copy)
{
    pthread_mutex_lock(&lock);
    struct bl_cu_allocation *found = first_of(root, context);
    if (found) {
        take_out(found->base);
        *copy = *found;
    }
    pthread_mutex_unlock(&lock);
    bl_free(found);
    return found != NULL;
}

bool bl_cu_range_valid(struct bl_cu_context *context, uint64_t address, uint64_t size)
{
    struct bl_cu_allocation found;
    if (size == 0)
        return true;
    while (bl_cu_allocation_find(address, &found)) {
        if (found.memory == BL_CU_MAPPED && found.access == BL_ACCESS_NONE)
            return false;
        uint64_t here = found.size - (address - found.base);
        if (size <= here)
            return true;
        if (found.memory != BL_CU_MAPPED) /* mappings that follow each other are one range */
            return false;
        address += here;
        size -= here;
    }
    /* Not one of ours: a module's variable whose address the program got from a kernel. Plain host memory is none, although kernels
     * can read it (measured on an H200: tests/api). */
    struct bl_device *device = context->device->device;
    uint64_t base, length;
    enum bl_alloc_kind kind;
    if (device->ops->range(device, address, &base, &length, &kind) == BL_OK)
        return size <= length - (address - base);
    return false;
}
