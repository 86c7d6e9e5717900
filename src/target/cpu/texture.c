/* Texture and surface objects: the table that handles are numbers in, and what kernels call. Handles are checked; entries are
 * used again but never freed before the device, so that a kernel that races with a destroy reads an entry and not freed memory.
 */
#include "target/cpu/run.h"

#include "kir/kir.h"

enum { CHUNK = 256, CHUNKS = 4096 }; /* 2^20 objects, as many as CUDA allows */

struct entry {
    atomic_bool live;
    uint32_t next; /* free ones, + 1 */
    struct bl_texture texture;
};

struct bl_cpu_textures {
    pthread_mutex_t lock;
    _Atomic(struct entry *) chunks[CHUNKS];
    uint32_t count, free; /* ever used; the first free one + 1 */
};

static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;

static struct bl_cpu_textures *table_of(struct bl_cpu_device *device)
{
    pthread_mutex_lock(&first_lock);
    if (!device->textures) {
        device->textures = bl_calloc(1, sizeof(*device->textures));
        if (device->textures)
            pthread_mutex_init(&device->textures->lock, NULL);
    }
    struct bl_cpu_textures *table = device->textures;
    pthread_mutex_unlock(&first_lock);
    return table;
}

void bl_cpu_textures_free(struct bl_cpu_device *device)
{
    if (!device->textures)
        return;
    for (uint32_t c = 0; c < CHUNKS; c++)
        bl_free(device->textures->chunks[c]);
    pthread_mutex_destroy(&device->textures->lock);
    bl_free(device->textures);
    device->textures = NULL;
}

static struct entry *entry_at(struct bl_cpu_textures *table, uint32_t index)
{
    return &table->chunks[index / CHUNK][index % CHUNK];
}

/* Lock held. UINT32_MAX: no memory, or too many. */
static uint32_t take(struct bl_cpu_textures *table)
{
    uint32_t index = table->free - 1;
    if (table->free) {
        table->free = entry_at(table, index)->next;
        return index;
    }
    index = table->count;
    if (index == CHUNK * CHUNKS)
        return UINT32_MAX;
    if (!table->chunks[index / CHUNK]) {
        struct entry *chunk = bl_calloc(CHUNK, sizeof(*chunk));
        if (!chunk)
            return UINT32_MAX;
        atomic_store_explicit(&table->chunks[index / CHUNK], chunk, memory_order_release);
    }
    table->count++;
    return index;
}

enum bl_status bl_cpu_texture_create(struct bl_device *base, const struct bl_texture *texture, uint64_t *handle,
                                     struct bl_error *error)
{
    struct bl_cpu_textures *table = table_of((struct bl_cpu_device *)base);
    if (!table)
        return bl_fail(error, BL_NO_MEMORY, "no memory for a table of textures");
    if (!texture->level_count || texture->level_count > BL_TEXTURE_LEVELS || !texture->layers || texture->channels > 4)
        return bl_fail(error, BL_INVALID, "a texture of %u levels and %u layers", texture->level_count, texture->layers);
    pthread_mutex_lock(&table->lock);
    uint32_t index = take(table);
    if (index != UINT32_MAX) {
        struct entry *entry = entry_at(table, index);
        entry->texture = *texture;
        atomic_store_explicit(&entry->live, true, memory_order_release);
        *handle = index + UINT64_C(1);
    }
    pthread_mutex_unlock(&table->lock);
    return index == UINT32_MAX ? bl_fail(error, BL_NO_MEMORY, "no place for another texture") : BL_OK;
}

/* A live entry, or NULL. */
static struct entry *find(struct bl_cpu_textures *table, uint64_t handle)
{
    uint64_t index = handle - 1;
    if (!table || index >= (uint64_t)CHUNK * CHUNKS)
        return NULL;
    struct entry *chunk = atomic_load_explicit(&table->chunks[index / CHUNK], memory_order_acquire);
    if (!chunk || !atomic_load_explicit(&chunk[index % CHUNK].live, memory_order_acquire))
        return NULL;
    return &chunk[index % CHUNK];
}

void bl_cpu_texture_destroy(struct bl_device *base, uint64_t handle)
{
    struct bl_cpu_textures *table = ((struct bl_cpu_device *)base)->textures;
    if (!table)
        return;
    pthread_mutex_lock(&table->lock);
    struct entry *entry = find(table, handle);
    if (entry) {
        atomic_store(&entry->live, false);
        entry->next = table->free;
        table->free = (uint32_t)handle;
    }
    pthread_mutex_unlock(&table->lock);
}

/* ---- surfaces ----------------------------------------------------------------------------------------- */

static uint32_t texel_size(const struct bl_texture *t)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    return sizes[t->format] * t->channels;
}

/* Where `bytes` bytes at the coordinates lie; 0: outside (*outside). x is in bytes. */
static uint64_t surface_place(const struct bl_texture *t, uint32_t code, const uint32_t *words, uint32_t bytes, bool *outside)
{
    static const uint8_t numbers[] = {1, 2, 3, 1, 2, 2, 2};
    enum bl_kir_image_geometry geometry = BL_KIR_IMAGE_GEOMETRY(code);
    const struct bl_texture_level *level = &t->levels[0];
    int64_t limits[3] = {(int64_t)level->width * texel_size(t) - bytes, (int64_t)level->height - 1, (int64_t)level->depth - 1};
    int64_t at[3] = {0, 0, 0}, layer = 0;
    bool clamp = BL_KIR_IMAGE_OUTSIDE(code) == BL_KIR_IMAGE_CLAMP;

    if (geometry == BL_KIR_IMAGE_A1D || geometry == BL_KIR_IMAGE_A2D) {
        layer = (int32_t)*words;
        words += BL_WARP;
    }
    *outside = layer < 0 || layer >= t->layers || limits[0] < 0;
    if (clamp && limits[0] >= 0) {
        layer = BL_MIN(BL_MAX(layer, (int64_t)0), (int64_t)t->layers - 1);
        *outside = false;
    }
    for (uint32_t d = 0; d < numbers[geometry] && !*outside; d++) {
        at[d] = (int32_t)words[d * BL_WARP];
        if (clamp)
            at[d] = BL_MIN(BL_MAX(at[d], (int64_t)0), limits[d]);
        *outside = at[d] < 0 || at[d] > limits[d];
    }
    uint64_t slice = geometry == BL_KIR_IMAGE_3D ? (uint64_t)at[2] : (uint64_t)layer;
    return level->base + slice * level->slice + (uint64_t)at[1] * level->pitch + (uint64_t)at[0];
}

static uint32_t word_count(uint32_t geometry)
{
    static const uint8_t counts[] = {1, 2, 3, 2, 3, 3, 4};
    return counts[geometry];
}

/* One thread's access; false: outside of a surface that traps there. */
static bool access_surface(const struct bl_texture *t, uint32_t code, const uint32_t *words, uint32_t *results)
{
    uint32_t count = BL_KIR_IMAGE_PART(code), bytes = BL_KIR_IMAGE_BYTES(code), each = BL_MIN(bytes, 4u);
    bool outside, store = BL_KIR_IMAGE_ACTION(code) == BL_KIR_IMAGE_STORE;
    uint8_t *at = (uint8_t *)(uintptr_t)surface_place(t, code, words, count * bytes, &outside);

    words += word_count(BL_KIR_IMAGE_GEOMETRY(code)) * BL_WARP;
    if (outside && BL_KIR_IMAGE_OUTSIDE(code) == BL_KIR_IMAGE_TRAP)
        return false;
    for (uint32_t w = 0; w < count * bytes / each; w++) {
        uint32_t word = 0;
        if (store && !outside) {
            memcpy(at + w * each, &words[w * BL_WARP], each);
        } else if (!store) {
            if (!outside)
                memcpy(&word, at + w * each, each);
            results[w * BL_WARP] = word;
        }
    }
    return true;
}

static uint32_t property_of(const struct bl_texture *t, uint32_t code, uint32_t level)
{
    const struct bl_texture_level *at = &t->levels[BL_MIN(level, t->level_count - 1)];

    switch ((enum bl_kir_image_property)BL_KIR_IMAGE_PART(code)) {
    case BL_KIR_IMAGE_WIDTH:
        return at->width;
    case BL_KIR_IMAGE_HEIGHT:
        return at->height;
    case BL_KIR_IMAGE_DEPTH:
        return at->depth;
    case BL_KIR_IMAGE_LAYERS:
        return t->layers;
    case BL_KIR_IMAGE_LEVELS:
        return t->level_count;
    default:
        return t->normalized_coordinates;
    }
}

#define REDUCE(type, at, value)                                                                                                    \
    do {                                                                                                                           \
        type old = __atomic_load_n((type *)(at), __ATOMIC_RELAXED), made;                                                          \
        do                                                                                                                         \
            made = (type)reduced(reduction, (int64_t)old, (int64_t)(value));                                                       \
        while (!__atomic_compare_exchange_n((type *)(at), &old, made, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));                  \
    } while (0)

/* Of numbers extended as their sign says: of 32 bits both kinds compare right in 64. */
static uint64_t reduced(enum bl_kir_image_reduction reduction, int64_t a, int64_t b)
{
    switch (reduction) {
    case BL_KIR_IMAGE_ADD:
        return (uint64_t)a + (uint64_t)b;
    case BL_KIR_IMAGE_MIN_S:
        return (uint64_t)BL_MIN(a, b);
    case BL_KIR_IMAGE_MIN_U:
        return BL_MIN((uint64_t)a, (uint64_t)b);
    case BL_KIR_IMAGE_MAX_S:
        return (uint64_t)BL_MAX(a, b);
    case BL_KIR_IMAGE_MAX_U:
        return BL_MAX((uint64_t)a, (uint64_t)b);
    case BL_KIR_IMAGE_AND:
        return (uint64_t)(a & b);
    default:
        return (uint64_t)(a | b);
    }
}

/* One thread's; false: outside of a surface that traps there, or an address that no atomic takes. */
static bool reduce_surface(const struct bl_texture *t, uint32_t code, const uint32_t *words)
{
    uint32_t bytes = BL_KIR_IMAGE_BYTES(code);
    enum bl_kir_image_reduction reduction = (enum bl_kir_image_reduction)BL_KIR_IMAGE_PART(code);
    bool outside;
    uint64_t at = surface_place(t, code, words, bytes, &outside);

    words += word_count(BL_KIR_IMAGE_GEOMETRY(code)) * BL_WARP;
    if (outside)
        return BL_KIR_IMAGE_OUTSIDE(code) != BL_KIR_IMAGE_TRAP;
    if (at % bytes)
        return false;
    if (bytes == 8)
        REDUCE(int64_t, (uintptr_t)at, (uint64_t)words[BL_WARP] << 32 | words[0]);
    else
        REDUCE(int32_t, (uintptr_t)at, (int32_t)words[0]);
    return true;
}

/* ---- what kernels call ---------------------------------------------------------------------------------- */

static bool serve(const struct bl_texture *texture, uint32_t code, const uint32_t *words, uint32_t *results)
{
    uint32_t four[4];
    enum bl_kir_image_action action = BL_KIR_IMAGE_ACTION(code);

    if (action == BL_KIR_IMAGE_QUERY || action == BL_KIR_IMAGE_SURFACE_QUERY) {
        *results = property_of(texture, code, *words);
        return true;
    }
    if (action == BL_KIR_IMAGE_REDUCE)
        return reduce_surface(texture, code, words);
    if (texture->surface)
        return access_surface(texture, code, words, results);
    bl_cpu_texture_fetch(texture, code, words, four);
    for (uint32_t r = 0; r < 4; r++)
        results[r * BL_WARP] = four[r];
    return true;
}

void bl_cpu_help_image(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *objects, const uint32_t *words,
                       uint32_t *results)
{
    struct bl_cpu_core *core = ((struct bl_cpu_cta *)warp->runtime)->core;
    struct bl_cpu_textures *table = core->runner->device->textures;
    bool surface = BL_KIR_IMAGE_ACTION(code) >= BL_KIR_IMAGE_LOAD;

    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        struct entry *entry = find(table, objects[lane]);
        if (!entry || entry->texture.surface != surface)
            bl_cpu_help_fault(warp, 1u << lane, BL_FAULT_ILLEGAL_INSTRUCTION, surface ? "no surface object" : "no texture object");
        core->helping++;
        bool done = serve(&entry->texture, code, words + lane, results + lane);
        core->helping--;
        if (!done)
            bl_cpu_help_fault(warp, 1u << lane, BL_FAULT_ILLEGAL_ADDRESS, "an access outside a surface that traps there");
    }
}
