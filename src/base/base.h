/* Ground floor: memory, arrays, maps, string views, errors, log. Uses only the C library; every
 * room may include it, it includes no other room. */
#ifndef BAILEY_BASE_H
#define BAILEY_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define BL_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define BL_MIN(a, b) ((a) < (b) ? (a) : (b))
#define BL_MAX(a, b) ((a) > (b) ? (a) : (b))
/* Rounds x up to a multiple of a, a power of two. */
#define BL_ALIGN_UP(x, a) (((x) + ((a)-1)) & ~((__typeof__(x))(a)-1))

/* ---- status and errors ------------------------------------------------------------------- */

/* What a call of ours answers. Each API layer maps these to its own documented codes. */
enum bl_status {
    BL_OK = 0,
    BL_NO_MEMORY,   /* host or device memory ran out */
    BL_INVALID,     /* an argument is outside what the interface allows */
    BL_SYNTAX,      /* text or file does not follow its format (PTX, fatbin, kir) */
    BL_UNSUPPORTED, /* correct, but this version of Bailey can't do it */
    BL_NOT_FOUND,   /* no such name, file or entry */
    BL_IO,          /* the operating system refused */
    BL_NO_IMAGE,    /* the file holds no code that this device can run */
    BL_COMPILER,    /* the helper process died, hung or answered nonsense */
    BL_NOT_READY,   /* asked without waiting, and not finished yet */
    BL_FAULT,       /* a kernel ended by a fault (see struct bl_fault in device/device.h) */
    BL_TIMEOUT,
};

/* The name of a status in lower case ("no memory"), for messages. Never NULL. */
const char *bl_status_name(enum bl_status status);

/* One context message, set where the fault is known. The caller owns it; zero it before use
 * (BL_ERROR_INIT). The first message stays: a later set on the way up is ignored. */
struct bl_error {
    enum bl_status status;
    uint32_t line, column; /* 1-based place in a source text, 0 where there is none */
    char message[2000];    /* no trailing newline unless it holds a quoted source line */
};
#define BL_ERROR_INIT                                                                                                              \
    {                                                                                                                              \
        .status = BL_OK                                                                                                            \
    }

/* Fills *error (which may be NULL) and returns status, so that a caller can `return bl_fail(...)`. */
enum bl_status bl_fail(struct bl_error *error, enum bl_status status, const char *format, ...) BL_PRINTF(3, 4);

/* ---- memory ------------------------------------------------------------------------------ */

/* As malloc, calloc, realloc, free, and NULL when memory is out. All heap memory of the project
 * comes through these four, so that tests can make the n-th allocation fail (bl_fault_*). */
void *bl_malloc(size_t size);
void *bl_calloc(size_t count, size_t size);
void *bl_realloc(void *block, size_t size);
void bl_free(void *block);
char *bl_strdup(const char *text);

/* Test hook: the call number `nth` (1-based, counted from now) of allocation kind fails; 0 turns
 * it off. Kinds: "alloc", "read", "mmap", "spawn". Also set by BAILEY_TEST_FAULT=kind:nth. */
void bl_fault_inject(const char *kind, uint64_t nth);
/* True when the call that is about to be made must fail. For wrappers of read, mmap and spawn. */
bool bl_fault_due(const char *kind);

/* An arena frees all its blocks at once. A compile works in one. Not for use by two threads. */
struct bl_arena {
    struct bl_arena_chunk *chunks; /* owned, newest first */
    char *next, *end;
    size_t total;       /* bytes taken from the heap */
    size_t limit;       /* an allocation that takes total past this fails; 0: none */
    jmp_buf *no_memory; /* where to jump when memory is out; NULL: bl_arena_alloc returns NULL */
};
void bl_arena_init(struct bl_arena *arena);
void bl_arena_cleanup(struct bl_arena *arena);
/* Zeroed memory, aligned to 16 bytes; lives until cleanup. */
void *bl_arena_alloc(struct bl_arena *arena, size_t size);
void *bl_arena_copy(struct bl_arena *arena, const void *from, size_t size);
char *bl_arena_printf(struct bl_arena *arena, const char *format, ...) BL_PRINTF(2, 3);
#define BL_NEW(arena, type) ((type *)bl_arena_alloc((arena), sizeof(type)))
#define BL_NEW_ARRAY(arena, type, count) ((type *)bl_arena_alloc_array((arena), (count), sizeof(type)))
/* As bl_arena_alloc for count * size bytes; an overflow counts as memory running out. */
void *bl_arena_alloc_array(struct bl_arena *arena, size_t count, size_t size);

/* ---- arrays ------------------------------------------------------------------------------ */

/* A growing array in an arena: struct { T *items; uint32_t count, capacity; } of any T.
 *   BL_ARRAY(struct foo) foos = {0};   *BL_PUSH(arena, &foos) = foo;                       */
#define BL_ARRAY(type)                                                                                                             \
    struct {                                                                                                                       \
        type *items;                                                                                                               \
        uint32_t count, capacity;                                                                                                  \
    }
#define BL_PUSH(arena, array)                                                                                                      \
    ((array)->count == (array)->capacity                                                                                           \
         ? ((array)->items = bl_array_grow((arena), (array)->items, &(array)->capacity, sizeof(*(array)->items)))                  \
         : (array)->items,                                                                                                         \
     &(array)->items[(array)->count++])
void *bl_array_grow(struct bl_arena *arena, void *items, uint32_t *capacity, size_t item_size);

/* A growing byte buffer on the heap. Zero it to start. `failed` is sticky: check it once at the end. */
struct bl_buffer {
    char *data; /* owned; NUL-terminated once anything was added */
    size_t size, capacity;
    bool failed;
};
void bl_buffer_add(struct bl_buffer *buffer, const void *bytes, size_t size);
void bl_buffer_printf(struct bl_buffer *buffer, const char *format, ...) BL_PRINTF(2, 3);
void bl_buffer_vprintf(struct bl_buffer *buffer, const char *format, va_list args);
void bl_buffer_cleanup(struct bl_buffer *buffer);

/* ---- string views ------------------------------------------------------------------------ */

/* Bytes that somebody else owns; not NUL-terminated. Print with "%.*s", BL_SV(view). */
struct bl_sv {
    const char *data;
    size_t size;
};
#define BL_SV(view) (int)(view).size, (view).data
#define BL_SV_LITERAL(text) ((struct bl_sv){(text), sizeof(text) - 1})
struct bl_sv bl_sv(const char *text);
bool bl_sv_equal(struct bl_sv a, struct bl_sv b);
bool bl_sv_is(struct bl_sv a, const char *text);
bool bl_sv_starts(struct bl_sv a, const char *prefix);
/* A NUL-terminated copy in the arena. */
char *bl_sv_copy(struct bl_arena *arena, struct bl_sv view);

/* ---- maps -------------------------------------------------------------------------------- */

/* String to pointer, open addressing, in an arena. Keys are views that must outlive the map. */
struct bl_map {
    struct bl_map_entry *entries;
    uint32_t count, capacity;
};
/* NULL where the key is missing. */
void *bl_map_get(const struct bl_map *map, struct bl_sv key);
/* Sets key to value (not NULL); returns the value that stood there before, or NULL. */
void *bl_map_set(struct bl_arena *arena, struct bl_map *map, struct bl_sv key, void *value);

/* A 64-bit hash of bytes (XXH3), stable across runs and machines. */
uint64_t bl_hash(const void *bytes, size_t size, uint64_t seed);

/* ---- files ------------------------------------------------------------------------------- */

/* Reads a whole file into heap memory (bl_free it), with a NUL after its last byte. */
enum bl_status bl_file_read(const char *path, char **data, size_t *size, struct bl_error *error);
/* Writes path by a temporary name in the same folder and a rename; readers see old or new. A device or
 * pipe that stands there is written into. */
enum bl_status bl_file_write(const char *path, const void *data, size_t size, struct bl_error *error);

/* ---- log --------------------------------------------------------------------------------- */

/* To standard error, or to the file that BAILEY_LOG_FILE names. BAILEY_LOG sets the level: off,
 * error (default), warn, info, debug. One line a message: "bailey: error: ...". */
enum bl_log_level { BL_LOG_OFF, BL_LOG_ERROR, BL_LOG_WARN, BL_LOG_INFO, BL_LOG_DEBUG };
enum bl_log_level bl_log_level(void);
void bl_log_set_level(enum bl_log_level level);
void bl_log(enum bl_log_level level, const char *format, ...) BL_PRINTF(2, 3);
/* Errors and warnings are given to this function as well, one line each without its end. One watcher a process. */
void bl_log_watch(void (*watch)(enum bl_log_level level, const char *line));
#define bl_error_log(...) bl_log(BL_LOG_ERROR, __VA_ARGS__)
#define bl_warn(...) bl_log(BL_LOG_WARN, __VA_ARGS__)
#define bl_info(...) bl_log(BL_LOG_INFO, __VA_ARGS__)
#define bl_debug(...) bl_log(BL_LOG_DEBUG, __VA_ARGS__)

#endif
