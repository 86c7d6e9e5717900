/* String views, the map keyed by them, byte buffers, errors, and the hash. */
#include "base.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

const char *bl_status_name(enum bl_status status)
{
    static const char *const names[] = {
        [BL_OK] = "ok",
        [BL_NO_MEMORY] = "out of memory",
        [BL_INVALID] = "invalid argument",
        [BL_SYNTAX] = "syntax error",
        [BL_UNSUPPORTED] = "not supported",
        [BL_NOT_FOUND] = "not found",
        [BL_IO] = "input/output error",
        [BL_NO_IMAGE] = "no code for this device",
        [BL_COMPILER] = "the compiler process failed",
        [BL_NOT_READY] = "not ready",
        [BL_FAULT] = "kernel fault",
        [BL_TIMEOUT] = "timed out",
    };
    return (size_t)status < BL_LEN(names) && names[status] ? names[status] : "unknown status";
}

enum bl_status bl_fail(struct bl_error *error, enum bl_status status, const char *format, ...)
{
    va_list args;
    if (!error || error->status != BL_OK)
        return status;
    error->status = status;
    va_start(args, format);
    vsnprintf(error->message, sizeof(error->message), format, args);
    va_end(args);
    return status;
}

struct bl_sv bl_sv(const char *text)
{
    return (struct bl_sv){text, text ? strlen(text) : 0};
}

bool bl_sv_equal(struct bl_sv a, struct bl_sv b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool bl_sv_is(struct bl_sv a, const char *text)
{
    return bl_sv_equal(a, bl_sv(text));
}

bool bl_sv_starts(struct bl_sv a, const char *prefix)
{
    size_t size = strlen(prefix);
    return a.size >= size && memcmp(a.data, prefix, size) == 0;
}

char *bl_sv_copy(struct bl_arena *arena, struct bl_sv view)
{
    char *copy = bl_arena_alloc(arena, view.size + 1);
    if (copy && view.size)
        memcpy(copy, view.data, view.size);
    return copy;
}

uint64_t bl_hash(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

struct bl_map_entry {
    struct bl_sv key;
    void *value; /* NULL: the place is free */
};

static struct bl_map_entry *map_place(struct bl_map_entry *entries, uint32_t capacity, struct bl_sv key)
{
    uint32_t i = (uint32_t)bl_hash(key.data, key.size, 0) & (capacity - 1);
    while (entries[i].value && !bl_sv_equal(entries[i].key, key))
        i = (i + 1) & (capacity - 1);
    return &entries[i];
}

void *bl_map_get(const struct bl_map *map, struct bl_sv key)
{
    return map->capacity ? map_place(map->entries, map->capacity, key)->value : NULL;
}

static bool map_grow(struct bl_arena *arena, struct bl_map *map)
{
    uint32_t capacity = map->capacity ? map->capacity * 2 : 16;
    struct bl_map_entry *entries = BL_NEW_ARRAY(arena, struct bl_map_entry, capacity);
    if (!entries)
        return false;
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->entries[i].value)
            *map_place(entries, capacity, map->entries[i].key) = map->entries[i];
    map->entries = entries;
    map->capacity = capacity;
    return true;
}

void *bl_map_set(struct bl_arena *arena, struct bl_map *map, struct bl_sv key, void *value)
{
    struct bl_map_entry *place;
    void *before;

    if ((map->count + 1) * 4 > map->capacity * 3 && !map_grow(arena, map))
        return NULL;
    place = map_place(map->entries, map->capacity, key);
    before = place->value;
    if (!before) {
        place->key = key;
        map->count++;
    }
    place->value = value;
    return before;
}

void bl_buffer_add(struct bl_buffer *buffer, const void *bytes, size_t size)
{
    if (buffer->failed)
        return;
    if (buffer->size + size + 1 > buffer->capacity) {
        size_t capacity = BL_MAX(buffer->capacity * 2, buffer->size + size + 1);
        char *data = bl_realloc(buffer->data, BL_MAX(capacity, (size_t)256));
        if (!data) {
            buffer->failed = true;
            return;
        }
        buffer->data = data;
        buffer->capacity = BL_MAX(capacity, (size_t)256);
    }
    if (size)
        memcpy(buffer->data + buffer->size, bytes, size);
    buffer->size += size;
    buffer->data[buffer->size] = 0;
}

void bl_buffer_vprintf(struct bl_buffer *buffer, const char *format, va_list args)
{
    char small[512];
    va_list again;
    int size;

    va_copy(again, args);
    size = vsnprintf(small, sizeof(small), format, args);
    if (size >= 0 && (size_t)size < sizeof(small)) {
        bl_buffer_add(buffer, small, (size_t)size);
    } else if (size >= 0) {
        char *large = bl_malloc((size_t)size + 1);
        if (large) {
            vsnprintf(large, (size_t)size + 1, format, again);
            bl_buffer_add(buffer, large, (size_t)size);
        } else {
            buffer->failed = true;
        }
        bl_free(large);
    }
    va_end(again);
}

void bl_buffer_printf(struct bl_buffer *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    bl_buffer_vprintf(buffer, format, args);
    va_end(args);
}

void bl_buffer_cleanup(struct bl_buffer *buffer)
{
    bl_free(buffer->data);
    memset(buffer, 0, sizeof(*buffer));
}
