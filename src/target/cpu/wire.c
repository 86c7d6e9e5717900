/* The protocol between libcuda and bailey-cc: requests and answers as bytes. Both processes link this file. A frame is
 * u32 magic, u32 version, u64 size, then size bytes: numbers little-endian, texts and blocks with a u64 length before them.
 * Unpacked texts and blocks point into the arena (a copy of the bytes), and every length is checked against what is there. */
#include "target/cpu/compile.h"

enum { WIRE_VERSION = 2, HEADER_SIZE = 16 };
static const uint32_t request_magic = 0x71524c42, answer_magic = 0x61524c42; /* "BLRq", "BLRa" */

/* ---- writing -------------------------------------------------------------------------------- */

static void put(struct bl_buffer *out, uint64_t value, uint32_t bytes)
{
    uint8_t raw[8];
    for (uint32_t i = 0; i < bytes; i++)
        raw[i] = (uint8_t)(value >> (8 * i));
    bl_buffer_add(out, raw, bytes);
}

static void put_block(struct bl_buffer *out, const void *data, size_t size)
{
    put(out, size, 8);
    if (size)
        bl_buffer_add(out, data, size);
}

/* NULL stays NULL on the other side: a flag goes first. */
static void put_text(struct bl_buffer *out, const char *text)
{
    put(out, text != NULL, 1);
    if (text)
        put_block(out, text, strlen(text));
}

static size_t begin_frame(struct bl_buffer *out, uint32_t magic)
{
    size_t start = out->size;
    put(out, magic, 4);
    put(out, WIRE_VERSION, 4);
    put(out, 0, 8);
    return start;
}

static bool end_frame(struct bl_buffer *out, size_t start)
{
    uint64_t size;

    if (out->failed)
        return false;
    size = out->size - start - HEADER_SIZE;
    for (uint32_t i = 0; i < 8; i++)
        out->data[start + 8 + i] = (char)(size >> (8 * i));
    return true;
}

bool bl_cpu_pack_request(struct bl_buffer *out, const struct bl_cpu_request *request)
{
    size_t start = begin_frame(out, request_magic);

    put_block(out, request->ptx.data, request->ptx.size);
    put_text(out, request->kernel);
    put_text(out, request->source_name);
    put_text(out, request->cpu);
    put_text(out, request->features);
    put(out, request->cta_shape, 1);
    put(out, request->fast_math, 1);
    put(out, request->optimize, 4);
    put(out, request->emit, 4);
    return end_frame(out, start);
}

bool bl_cpu_pack_answer(struct bl_buffer *out, const struct bl_cpu_answer *answer)
{
    const struct bl_cpu_kernel_info *info = &answer->info;
    const uint32_t numbers[] = {info->flags,         info->static_shared, info->local_bytes,
                                info->machine_stack, info->param_bytes,   info->registers};
    size_t start = begin_frame(out, answer_magic);
    uint64_t seconds;

    put(out, (uint32_t)answer->status, 4);
    put(out, (uint32_t)answer->error.status, 4);
    put(out, answer->error.line, 4);
    put(out, answer->error.column, 4);
    put_text(out, answer->error.message);
    for (uint32_t i = 0; i < BL_LEN(numbers); i++)
        put(out, numbers[i], 4);
    put(out, info->global_count, 4);
    for (uint32_t i = 0; i < info->global_count; i++)
        put_text(out, info->globals[i]);
    put_block(out, answer->object, answer->object_size);
    memcpy(&seconds, &answer->seconds, 8);
    put(out, seconds, 8);
    return end_frame(out, start);
}

/* ---- reading -------------------------------------------------------------------------------- */

struct reader {
    struct bl_arena *arena;
    const uint8_t *next, *end;
    bool failed;
};

static uint64_t get(struct reader *r, uint32_t bytes)
{
    uint64_t value = 0;

    if ((size_t)(r->end - r->next) < bytes) {
        r->failed = true;
        r->next = r->end;
        return 0;
    }
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)r->next[i] << (8 * i);
    r->next += bytes;
    return value;
}

static struct bl_sv get_block(struct reader *r)
{
    uint64_t size = get(r, 8);
    struct bl_sv block = {"", 0};
    char *copy;

    if (r->failed || size > (size_t)(r->end - r->next)) {
        r->failed = true;
        return block;
    }
    copy = bl_arena_alloc(r->arena, (size_t)size + 1);
    if (!copy) {
        r->failed = true;
        return block;
    }
    memcpy(copy, r->next, (size_t)size);
    r->next += size;
    return (struct bl_sv){copy, (size_t)size};
}

static const char *get_text(struct reader *r)
{
    return get(r, 1) ? get_block(r).data : NULL;
}

/* Opens a frame of the whole of bytes, header included. */
static bool open_frame(struct reader *r, struct bl_arena *arena, struct bl_sv bytes, uint32_t magic)
{
    *r = (struct reader){arena, (const uint8_t *)bytes.data, (const uint8_t *)bytes.data + bytes.size, false};
    return get(r, 4) == magic && get(r, 4) == WIRE_VERSION && get(r, 8) == bytes.size - HEADER_SIZE && !r->failed;
}

enum bl_status bl_cpu_unpack_request(struct bl_arena *arena, struct bl_sv bytes, struct bl_cpu_request *request)
{
    struct reader r;

    *request = (struct bl_cpu_request){0};
    if (!open_frame(&r, arena, bytes, request_magic))
        return BL_SYNTAX;
    request->ptx = get_block(&r);
    request->kernel = get_text(&r);
    request->source_name = get_text(&r);
    request->cpu = get_text(&r);
    request->features = get_text(&r);
    request->cta_shape = (uint32_t)get(&r, 1);
    request->fast_math = get(&r, 1) != 0;
    request->optimize = (uint32_t)get(&r, 4);
    request->emit = (uint32_t)get(&r, 4);
    return r.failed || r.next != r.end ? BL_SYNTAX : BL_OK;
}

static void get_info(struct reader *r, struct bl_cpu_kernel_info *info)
{
    info->flags = (uint32_t)get(r, 4);
    info->static_shared = (uint32_t)get(r, 4);
    info->local_bytes = (uint32_t)get(r, 4);
    info->machine_stack = (uint32_t)get(r, 4);
    info->param_bytes = (uint32_t)get(r, 4);
    info->registers = (uint32_t)get(r, 4);
    info->global_count = (uint32_t)get(r, 4);
    if (r->failed || info->global_count > (size_t)(r->end - r->next)) { /* a name takes a byte at least */
        r->failed = true;
        info->global_count = 0;
        return;
    }
    info->globals = BL_NEW_ARRAY(r->arena, const char *, info->global_count + 1u);
    if (!info->globals) {
        r->failed = true;
        info->global_count = 0;
        return;
    }
    for (uint32_t i = 0; i < info->global_count; i++)
        if (!(info->globals[i] = get_text(r)))
            r->failed = true;
}

enum bl_status bl_cpu_unpack_answer(struct bl_arena *arena, struct bl_sv bytes, struct bl_cpu_answer *answer)
{
    struct reader r;
    const char *message;
    struct bl_sv object;
    uint64_t seconds;

    *answer = (struct bl_cpu_answer){0};
    if (!open_frame(&r, arena, bytes, answer_magic))
        return BL_SYNTAX;
    answer->status = (enum bl_status)get(&r, 4);
    answer->error.status = (enum bl_status)get(&r, 4);
    answer->error.line = (uint32_t)get(&r, 4);
    answer->error.column = (uint32_t)get(&r, 4);
    message = get_text(&r);
    if (message) {
        strncpy(answer->error.message, message, sizeof(answer->error.message) - 1);
        answer->error.message[sizeof(answer->error.message) - 1] = 0;
    }
    get_info(&r, &answer->info);
    object = get_block(&r);
    answer->object = (const uint8_t *)object.data;
    answer->object_size = object.size;
    seconds = get(&r, 8);
    memcpy(&answer->seconds, &seconds, 8);
    return r.failed || r.next != r.end || answer->status < BL_OK || answer->status > BL_TIMEOUT ? BL_SYNTAX : BL_OK;
}
