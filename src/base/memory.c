/* Heap wrappers with fault injection, the arena, and arrays in it. */
#include "base.h"

#include <stdio.h>
#include <sys/mman.h>

static uint64_t fault_left[4]; /* calls until the failing one, by kind; 0: off */
static const char *const fault_kinds[4] = {"alloc", "read", "mmap", "spawn"};

static int fault_kind(const char *kind)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(kind, fault_kinds[i]) == 0)
            return i;
    return -1;
}

void bl_fault_inject(const char *kind, uint64_t nth)
{
    int i = fault_kind(kind);
    if (i >= 0)
        __atomic_store_n(&fault_left[i], nth, __ATOMIC_RELAXED);
}

static bool fault_tick(int i)
{
    uint64_t left = __atomic_load_n(&fault_left[i], __ATOMIC_RELAXED);
    while (left > 0)
        if (__atomic_compare_exchange_n(&fault_left[i], &left, left - 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return left == 1;
    return false;
}

bool bl_fault_due(const char *kind)
{
    int i = fault_kind(kind);
    return i >= 0 && fault_tick(i);
}

__attribute__((constructor)) static void fault_from_environment(void)
{
    const char *spec = getenv("BAILEY_TEST_FAULT");
    const char *colon = spec ? strchr(spec, ':') : NULL;
    char kind[16];
    if (!colon || (size_t)(colon - spec) >= sizeof(kind))
        return;
    memcpy(kind, spec, (size_t)(colon - spec));
    kind[colon - spec] = 0;
    bl_fault_inject(kind, strtoull(colon + 1, NULL, 10));
}

void *bl_malloc(size_t size)
{
    return fault_tick(0) ? NULL : malloc(size ? size : 1);
}

void *bl_calloc(size_t count, size_t size)
{
    return fault_tick(0) ? NULL : calloc(count ? count : 1, size ? size : 1);
}

void *bl_realloc(void *block, size_t size)
{
    return fault_tick(0) ? NULL : realloc(block, size ? size : 1);
}

void bl_free(void *block)
{
    free(block);
}

char *bl_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = bl_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

struct bl_arena_chunk {
    struct bl_arena_chunk *older;
    size_t size;
};

enum { ARENA_FIRST_CHUNK = 16 << 10, ARENA_LARGEST_CHUNK = 16 << 20, ARENA_ALIGN = 16 };

void bl_arena_init(struct bl_arena *arena)
{
    memset(arena, 0, sizeof(*arena));
}

void bl_arena_cleanup(struct bl_arena *arena)
{
    struct bl_arena_chunk *older;
    for (struct bl_arena_chunk *chunk = arena->chunks; chunk; chunk = older) {
        older = chunk->older;
        bl_free(chunk);
    }
    bl_arena_init(arena);
}

static void *arena_out(struct bl_arena *arena)
{
    if (arena->no_memory)
        longjmp(*arena->no_memory, 1);
    return NULL;
}

/* Half the time of a large parse goes into page faults of 4 KB (bench/ptx_parse.c): asks for pages of 2 MB. */
static void ask_for_large_pages(void *block, size_t size)
{
    const size_t page = 2 << 20;
    uintptr_t from = BL_ALIGN_UP((uintptr_t)block, page), to = ((uintptr_t)block + size) & ~(page - 1);
    if (to > from)
        madvise((void *)from, to - from, MADV_HUGEPAGE);
}

static bool arena_new_chunk(struct bl_arena *arena, size_t size)
{
    size_t wanted = BL_MIN(BL_MAX(arena->total, (size_t)ARENA_FIRST_CHUNK), (size_t)ARENA_LARGEST_CHUNK);
    size_t bytes = BL_MAX(wanted, size + sizeof(struct bl_arena_chunk) + ARENA_ALIGN);
    struct bl_arena_chunk *chunk;

    if (arena->limit && arena->total + bytes > arena->limit)
        return false;
    chunk = bl_malloc(bytes);
    if (!chunk)
        return false;
    ask_for_large_pages(chunk, bytes);
    chunk->older = arena->chunks;
    chunk->size = bytes;
    arena->chunks = chunk;
    arena->total += bytes;
    arena->next = (char *)BL_ALIGN_UP((uintptr_t)(chunk + 1), ARENA_ALIGN);
    arena->end = (char *)chunk + bytes;
    return true;
}

void *bl_arena_alloc(struct bl_arena *arena, size_t size)
{
    char *block;

    if (size > SIZE_MAX / 2)
        return arena_out(arena);
    size = BL_ALIGN_UP(size ? size : 1, (size_t)ARENA_ALIGN);
    if ((size_t)(arena->end - arena->next) < size && !arena_new_chunk(arena, size))
        return arena_out(arena);
    block = arena->next;
    arena->next += size;
    return memset(block, 0, size);
}

void *bl_arena_alloc_array(struct bl_arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return arena_out(arena);
    return bl_arena_alloc(arena, bytes);
}

void *bl_arena_copy(struct bl_arena *arena, const void *from, size_t size)
{
    void *block = bl_arena_alloc(arena, size);
    if (block && size)
        memcpy(block, from, size);
    return block;
}

char *bl_arena_printf(struct bl_arena *arena, const char *format, ...)
{
    va_list args;
    int size;
    char *text;

    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0)
        return arena_out(arena);
    text = bl_arena_alloc(arena, (size_t)size + 1);
    if (!text)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

void *bl_array_grow(struct bl_arena *arena, void *items, uint32_t *capacity, size_t item_size)
{
    uint32_t larger = *capacity ? *capacity * 2 : 8;
    void *moved;

    if (larger < *capacity)
        return arena_out(arena);
    moved = bl_arena_alloc_array(arena, larger, item_size);
    if (moved && *capacity)
        memcpy(moved, items, *capacity * item_size);
    *capacity = larger;
    return moved;
}
