/* Fatbins: what nvcc puts into a program. Called through image.h and by read.c.
 *
 * A wrapper (24 bytes, in .nvFatBinSegment) points at a fatbin, or in version 2, which -rdc linking makes, at a list of them:
 *   u32 magic 0x466243B1; u32 version; void *data; void **list
 * A fatbin is a header and entries one behind the other:
 *   u32 magic 0xBA55ED50; u16 version 1; u16 header size 16; u64 size of all entries
 * An entry, offsets in bytes:
 *   0x00 u16 kind: 1 PTX, 2 ELF, 8 the intermediate form of link-time optimisation      0x02 u16 version 0x101
 *   0x04 u32 header size: 64, 72, 80, 96, 112, 120, 152 occur                            0x08 u64 payload size
 *   0x10 u32 compressed size, 0 where plain       0x14 u32 offset of an options record: u32 text offset, u32 text size
 *   0x18 u16 minor, 0x1A u16 major version of the PTX language    0x1C u32 compute capability
 *   0x20 u32 offset, 0x24 u32 size of the source's name           0x28 u64 flags, see below
 *   0x38 u64 size when decompressed, 0 where plain
 * The next entry stands at header size + payload size. All measured on the output of nvcc 13.0; fields that it leaves zero
 * are not known. */
#include "image/internal.h"

enum { ENTRY_FIELDS = 64, KIND_PTX = 1, KIND_ELF = 2 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000, FLAG_ARCHITECTURE_SPECIFIC = 0x100000, FLAG_FAMILY_SPECIFIC = 0x200000 };

struct entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t payload_size;
    uint32_t compressed_size, options_offset;
    uint16_t minor, major;
    uint32_t sm, name_offset, name_size;
    uint64_t flags, unknown, uncompressed_size;
};
_Static_assert(sizeof(struct entry) == ENTRY_FIELDS, "an entry's fixed part");

static struct bl_sv part(struct bl_sv bytes, uint64_t offset, uint64_t size)
{
    if (!offset || offset > bytes.size || size > bytes.size - offset)
        return (struct bl_sv){"", 0};
    return (struct bl_sv){bytes.data + offset, (size_t)size};
}

static struct bl_sv without_padding(struct bl_sv text)
{
    while (text.size && (!text.data[text.size - 1] || text.data[text.size - 1] == ' '))
        text.size--;
    while (text.size && text.data[0] == ' ')
        text.data++, text.size--;
    return text;
}

static struct bl_sv entry_options(const struct entry *entry, struct bl_sv header)
{
    uint32_t record[2]; /* offset and size */
    struct bl_sv bytes = part(header, entry->options_offset, sizeof(record));
    if (!bytes.size || entry->kind == KIND_ELF)
        return (struct bl_sv){"", 0};
    memcpy(record, bytes.data, sizeof(record));
    return without_padding(part(header, record[0], record[1]));
}

static void set_compression(struct bl_image *image, const struct entry *entry)
{
    image->compression = BL_IMAGE_PLAIN;
    image->uncompressed_size = image->payload.size;
    if (!entry->compressed_size && !entry->uncompressed_size)
        return;
    if (entry->flags & FLAG_ZSTD)
        image->compression = BL_IMAGE_ZSTD;
    else if (entry->flags & FLAG_LZ4)
        image->compression = BL_IMAGE_LZ4;
    image->uncompressed_size = entry->uncompressed_size;
}

static enum bl_status read_entry(struct bl_image_reader *reader, struct bl_sv bytes, uint32_t number, size_t *used)
{
    struct entry entry;
    if (bytes.size < sizeof(entry))
        return bl_fail(reader->error, BL_SYNTAX, "fatbin entry %u: cut short, %zu bytes are left of at least 64", number,
                       bytes.size);
    memcpy(&entry, bytes.data, sizeof(entry));
    if (entry.header_size < sizeof(entry) || entry.header_size > bytes.size)
        return bl_fail(reader->error, BL_SYNTAX, "fatbin entry %u: header of %u bytes, with %zu left", number, entry.header_size,
                       bytes.size);
    if (entry.payload_size > bytes.size - entry.header_size)
        return bl_fail(reader->error, BL_SYNTAX, "fatbin entry %u: payload of %llu bytes, with %zu left", number,
                       (unsigned long long)entry.payload_size, bytes.size - entry.header_size);
    if (entry.compressed_size > entry.payload_size)
        return bl_fail(reader->error, BL_SYNTAX, "fatbin entry %u: compressed size %u is above the payload's, %llu", number,
                       entry.compressed_size, (unsigned long long)entry.payload_size);
    struct bl_sv header = {bytes.data, entry.header_size};
    struct bl_image image = {
        .kind = entry.kind == KIND_PTX   ? BL_IMAGE_PTX
                : entry.kind == KIND_ELF ? BL_IMAGE_CUBIN
                                         : BL_IMAGE_OTHER,
        .raw_kind = entry.kind,
        .sm = entry.sm,
        .sm_suffix = entry.flags & FLAG_ARCHITECTURE_SPECIFIC ? 'a'
                     : entry.flags & FLAG_FAMILY_SPECIFIC     ? 'f'
                                                              : 0,
        .ptx_version = entry.kind == KIND_PTX ? entry.major * 10u + entry.minor : 0,
        .flags = entry.flags,
        .payload = {bytes.data + entry.header_size, entry.compressed_size ? entry.compressed_size : (size_t)entry.payload_size},
        .name = without_padding(part(header, entry.name_offset, entry.name_size)),
        .options = entry_options(&entry, header),
    };
    image.file_offset = (uint64_t)(image.payload.data - reader->base);
    set_compression(&image, &entry);
    *BL_PUSH(reader->arena, &reader->images->items) = image;
    *used = entry.header_size + (size_t)entry.payload_size;
    return BL_OK;
}

static uint64_t entries_size(const void *header)
{
    uint64_t size;
    memcpy(&size, (const char *)header + 8, sizeof(size));
    return size;
}

size_t bl_fatbin_extent(const void *data)
{
    uint64_t size;
    if (memcmp(data, BL_FATBIN_MAGIC, sizeof(BL_FATBIN_MAGIC) - 1) != 0)
        return 0;
    size = entries_size(data);
    return size > SIZE_MAX / 2 ? 0 : BL_FATBIN_HEADER_SIZE + (size_t)size;
}

enum bl_status bl_fatbin_read_one(struct bl_image_reader *reader, struct bl_sv bytes, size_t *used)
{
    if (bytes.size < BL_FATBIN_HEADER_SIZE)
        return bl_fail(reader->error, BL_SYNTAX, "fatbin cut short: %zu bytes", bytes.size);
    if (memcmp(bytes.data, BL_FATBIN_MAGIC, 4) != 0)
        return bl_fail(reader->error, BL_SYNTAX, "not a fatbin: it does not start with 0xBA55ED50");
    if (memcmp(bytes.data, BL_FATBIN_MAGIC, sizeof(BL_FATBIN_MAGIC) - 1) != 0)
        return bl_fail(reader->error, BL_UNSUPPORTED,
                       "fatbin of an unknown version; version 1 with a header of 16 bytes can be read");
    uint64_t size = entries_size(bytes.data);
    if (size > bytes.size - BL_FATBIN_HEADER_SIZE)
        return bl_fail(reader->error, BL_SYNTAX, "fatbin cut short: %llu bytes of entries, %zu are there", (unsigned long long)size,
                       bytes.size - BL_FATBIN_HEADER_SIZE);
    struct bl_sv rest = {bytes.data + BL_FATBIN_HEADER_SIZE, (size_t)size};
    for (uint32_t number = 0; rest.size; number++) {
        size_t entry = 0;
        enum bl_status status = read_entry(reader, rest, number, &entry);
        if (status != BL_OK)
            return status;
        rest.data += entry;
        rest.size -= entry;
    }
    *used = BL_FATBIN_HEADER_SIZE + (size_t)size;
    return BL_OK;
}

enum bl_status bl_fatbin_read_all(struct bl_image_reader *reader, struct bl_sv bytes)
{
    size_t at = 0, used;
    while (at < bytes.size) {
        if (!bytes.data[at]) {
            at++;
            continue;
        }
        enum bl_status status = bl_fatbin_read_one(reader, (struct bl_sv){bytes.data + at, bytes.size - at}, &used);
        if (status != BL_OK)
            return status;
        at += used;
    }
    return BL_OK;
}

void bl_fatbin_scan(struct bl_image_reader *reader, struct bl_sv bytes)
{
    struct bl_error ignored = BL_ERROR_INIT;
    struct bl_image_reader quiet = *reader;
    quiet.error = &ignored;
    const char *end = bytes.data + bytes.size, *at = bytes.data;
    while ((at = memmem(at, (size_t)(end - at), BL_FATBIN_MAGIC, sizeof(BL_FATBIN_MAGIC) - 1))) {
        uint32_t before = reader->images->items.count;
        size_t used = 0;
        if (bl_fatbin_read_one(&quiet, (struct bl_sv){at, (size_t)(end - at)}, &used) != BL_OK) {
            reader->images->items.count = before;
            used = 1;
        }
        at += used;
    }
}

struct fatbin_call {
    struct bl_image_reader reader;
    struct bl_sv bytes;
    const void *wrapper;
};

static enum bl_status fatbin_work(void *context)
{
    struct fatbin_call *call = context;
    if (call->bytes.size)
        return bl_fatbin_read_all(&call->reader, call->bytes);
    size_t used;
    call->bytes.size = bl_fatbin_extent(call->bytes.data);
    if (!call->bytes.size)
        return bl_fail(call->reader.error, BL_SYNTAX, "not a fatbin: its header is damaged");
    enum bl_status status = bl_image_mapped(call->bytes, call->reader.error);
    if (status != BL_OK)
        return status;
    return bl_fatbin_read_one(&call->reader, call->bytes, &used);
}

enum bl_status bl_image_read_fatbin(struct bl_arena *arena, struct bl_sv bytes, struct bl_images *images, struct bl_error *error)
{
    struct fatbin_call call = {.reader = {arena, images, error, bytes.data}, .bytes = bytes};
    if (!bytes.data)
        return bl_fail(error, BL_INVALID, "no fatbin: its address is NULL");
    return bl_image_guard(arena, fatbin_work, &call, error);
}

/* As nvcc's host code lays it out. */
struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *list; /* version 2: headers of further fatbins, then a NULL */
};

static enum bl_status wrapper_work(void *context)
{
    struct fatbin_call *call = context;
    const struct wrapper *wrapper = call->wrapper;
    if (wrapper->data) {
        call->reader.base = wrapper->data;
        call->bytes = (struct bl_sv){wrapper->data, 0};
        enum bl_status status = fatbin_work(call);
        if (status != BL_OK)
            return status;
    }
    for (uint32_t i = 0; wrapper->version == 2 && wrapper->list && wrapper->list[i]; i++) {
        call->reader.base = wrapper->list[i];
        call->bytes = (struct bl_sv){wrapper->list[i], 0};
        enum bl_status status = fatbin_work(call);
        if (status != BL_OK)
            return status;
    }
    return BL_OK;
}

enum bl_status bl_image_read_wrapper(struct bl_arena *arena, const void *address, struct bl_images *images, struct bl_error *error)
{
    const struct wrapper *wrapper = address;
    if (!wrapper || wrapper->magic != BL_FATBIN_WRAPPER_MAGIC)
        return bl_fail(error, BL_SYNTAX, "not a fatbin wrapper: it does not start with 0x466243B1");
    if (wrapper->version != 1 && wrapper->version != 2)
        return bl_fail(error, BL_UNSUPPORTED, "fatbin wrapper of version %u; 1 and 2 can be read", wrapper->version);
    struct fatbin_call call = {.reader = {arena, images, error, NULL}, .wrapper = wrapper};
    return bl_image_guard(arena, wrapper_work, &call, error);
}
