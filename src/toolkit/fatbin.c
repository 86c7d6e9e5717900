/* The fatbin writer: a header, then an entry for each PTX text, compressed with Zstandard where that makes it smaller. Only nvcc.c
 * and the tests call it. */
#include "toolkit/fatbin.h"

#include <zstd.h>

struct header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* of all entries */
};

struct entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint32_t payload_size; /* as stored, with padding */
    uint32_t unused0;
    uint32_t compressed_size, unused1;
    uint16_t ptx_minor, ptx_major;
    uint32_t sm;
    uint32_t unused2[2];
    uint64_t flags;
    uint64_t unused3;
    uint64_t uncompressed_size;
};
_Static_assert(sizeof(struct header) == 16 && sizeof(struct entry) == 64, "the layout of the format");

enum { MAGIC = 0xBA55ED50, KIND_PTX = 1, FLAG_64BIT = 0x1, FLAG_LINUX = 0x10, FLAG_ZSTD = 0x8000 };

/* The numbers after ".version". */
static void ptx_version(struct bl_sv ptx, struct entry *entry)
{
    unsigned major = 0, minor = 0;
    const char *end = ptx.data + ptx.size, *at = memmem(ptx.data, ptx.size, ".version", 8);
    for (at = at ? at + 8 : end; at < end && (*at == ' ' || *at == '\t');)
        at++;
    for (; at < end && *at >= '0' && *at <= '9'; at++)
        major = major * 10 + (unsigned)(*at - '0');
    if (at < end && *at == '.')
        for (at++; at < end && *at >= '0' && *at <= '9'; at++)
            minor = minor * 10 + (unsigned)(*at - '0');
    entry->ptx_major = (uint16_t)major;
    entry->ptx_minor = (uint16_t)minor;
}

static void write_entry(struct bl_buffer *out, const struct bl_fatbin_entry *source, bool compress)
{
    static const char zeros[8];
    struct entry entry = {
        .kind = KIND_PTX, .version = 0x101, .header_size = sizeof(entry), .sm = source->sm, .flags = FLAG_64BIT | FLAG_LINUX};
    ptx_version(source->ptx, &entry);
    /* The text ends with a NUL inside the payload. */
    size_t plain_size = source->ptx.size + 1, bound = ZSTD_compressBound(plain_size), packed_size = 0;
    char *plain = bl_calloc(1, plain_size), *packed = bl_malloc(bound);
    if (!plain || !packed) {
        out->failed = true;
        goto done;
    }
    memcpy(plain, source->ptx.data, source->ptx.size);
    if (compress) {
        packed_size = ZSTD_compress(packed, bound, plain, plain_size, 9);
        if (ZSTD_isError(packed_size) || packed_size >= plain_size)
            packed_size = 0;
    }
    size_t stored = packed_size ? packed_size : plain_size;
    entry.payload_size = (uint32_t)BL_ALIGN_UP(stored, (size_t)8);
    if (packed_size) {
        entry.flags |= FLAG_ZSTD;
        entry.compressed_size = (uint32_t)packed_size;
        entry.uncompressed_size = plain_size;
    }
    bl_buffer_add(out, &entry, sizeof(entry));
    bl_buffer_add(out, packed_size ? packed : plain, stored);
    bl_buffer_add(out, zeros, entry.payload_size - stored);
done:
    bl_free(plain);
    bl_free(packed);
}

void bl_fatbin_write(struct bl_buffer *out, const struct bl_fatbin_entry *entries, size_t count, bool compress)
{
    struct bl_buffer body = {0};
    for (size_t i = 0; i < count; i++)
        write_entry(&body, &entries[i], compress);
    struct header header = {.magic = MAGIC, .version = 1, .header_size = sizeof(header), .size = body.size};
    bl_buffer_add(out, &header, sizeof(header));
    bl_buffer_add(out, body.data, body.size);
    out->failed |= body.failed;
    bl_buffer_cleanup(&body);
}
