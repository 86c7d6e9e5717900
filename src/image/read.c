/* Tells apart what a block of memory or a file holds, and reads it: wrapper, fatbin, PTX, cubin, archive, host program. */
#include "image/internal.h"
#include "image/elf64.h"

#include <sys/mman.h>
#include <unistd.h>

enum { DEEPEST_ARCHIVE = 4 };

enum bl_status bl_image_guard(struct bl_arena *arena, enum bl_status (*work)(void *context), void *context, struct bl_error *error)
{
    jmp_buf *const outer = arena->no_memory;
    jmp_buf here;
    if (setjmp(here)) {
        arena->no_memory = outer;
        return bl_fail(error, BL_NO_MEMORY, "out of memory while reading a code image");
    }
    arena->no_memory = &here;
    enum bl_status status = work(context);
    arena->no_memory = outer;
    return status;
}

/* ---- PTX text ---------------------------------------------------------------------------- */

static struct bl_sv skip(struct bl_sv text, size_t count)
{
    count = BL_MIN(count, text.size);
    return (struct bl_sv){text.data + count, text.size - count};
}

/* Over white space and comments. */
static struct bl_sv skip_space(struct bl_sv text)
{
    for (;;) {
        const char *end = NULL;
        if (text.size && strchr(" \t\r\n\f\v", text.data[0]) && text.data[0]) {
            text = skip(text, 1);
            continue;
        }
        if (bl_sv_starts(text, "//"))
            end = memchr(text.data, '\n', text.size);
        else if (bl_sv_starts(text, "/*") && (end = memmem(text.data + 2, text.size - 2, "*/", 2)))
            end++;
        if (!end)
            return text;
        text = skip(text, (size_t)(end - text.data) + 1);
    }
}

static uint32_t read_number(struct bl_sv *text)
{
    uint32_t number = 0;
    while (text->size && text->data[0] >= '0' && text->data[0] <= '9' && number < 100000) {
        number = number * 10 + (uint32_t)(text->data[0] - '0');
        *text = skip(*text, 1);
    }
    return number;
}

bool bl_ptx_header(struct bl_sv text, struct bl_image *image)
{
    text = skip_space(text);
    if (!bl_sv_starts(text, ".version"))
        return false;
    text = skip_space(skip(text, sizeof(".version") - 1));
    image->ptx_version = 10 * read_number(&text);
    if (bl_sv_starts(text, ".")) {
        text = skip(text, 1);
        image->ptx_version += read_number(&text);
    }
    text = skip_space(text);
    if (!bl_sv_starts(text, ".target"))
        return true;
    text = skip_space(skip(text, sizeof(".target") - 1));
    if (bl_sv_starts(text, "sm_")) {
        text = skip(text, 3);
        image->sm = read_number(&text);
        image->sm_suffix = text.size && (text.data[0] == 'a' || text.data[0] == 'f') ? text.data[0] : 0;
    }
    return true;
}

static bool add_ptx(struct bl_image_reader *reader, struct bl_sv text)
{
    struct bl_image image = {.kind = BL_IMAGE_PTX, .raw_kind = 1, .name = {"", 0}, .options = {"", 0}};
    if (!bl_ptx_header(text, &image))
        return false;
    image.payload = text;
    image.uncompressed_size = text.size;
    image.file_offset = (uint64_t)(text.data - reader->base);
    *BL_PUSH(reader->arena, &reader->images->items) = image;
    return true;
}

/* ---- ELF --------------------------------------------------------------------------------- */

static enum bl_status add_cubin(struct bl_image_reader *reader, struct bl_sv bytes)
{
    struct bl_image image = {.kind = BL_IMAGE_CUBIN, .raw_kind = 2, .name = {"", 0}, .options = {"", 0}};
    enum bl_status status = bl_cubin_architecture(bytes, &image.sm, &image.sm_suffix, reader->error);
    if (status != BL_OK)
        return status;
    image.payload = bytes;
    image.uncompressed_size = bytes.size;
    image.file_offset = (uint64_t)(bytes.data - reader->base);
    *BL_PUSH(reader->arena, &reader->images->items) = image;
    return BL_OK;
}

/* Compilers put fatbins into sections of their own, where damage is an error. Some libraries carry more of them as plain data;
 * there, what only looks like one is passed over. */
static enum bl_status read_host_section(struct bl_image_reader *reader, const struct bl_elf_section *section)
{
    if (!bl_sv_is(section->name, ".nv_fatbin") && !bl_sv_is(section->name, "__nv_relfatbin")) {
        if (section->type == SHT_PROGBITS && section->flags & SHF_ALLOC)
            bl_fatbin_scan(reader, section->bytes);
        return BL_OK;
    }
    if (section->size != section->bytes.size)
        return bl_fail(reader->error, BL_SYNTAX, "section %.*s of %llu bytes reaches past the file's end", BL_SV(section->name),
                       (unsigned long long)section->size);
    return bl_fatbin_read_all(reader, section->bytes);
}

static enum bl_status read_host_elf(struct bl_image_reader *reader, struct bl_sv bytes)
{
    struct bl_elf elf;
    enum bl_status status = bl_elf_open(bytes, &elf, reader->error);
    for (uint32_t i = 0; status == BL_OK && i < elf.section_count; i++) {
        struct bl_elf_section section = bl_elf_section(&elf, i);
        status = read_host_section(reader, &section);
    }
    if (status == BL_OK && !elf.section_count)
        bl_fatbin_scan(reader, bytes);
    return status;
}

/* ---- archives ---------------------------------------------------------------------------- */

static enum bl_status read_block(struct bl_image_reader *reader, struct bl_sv bytes, uint32_t depth, bool is_member);

/* A member's header: name 16 bytes, then date, owner, group, mode, then at 48 the size in decimal, 10 bytes, then "`\n". */
enum { MEMBER_HEADER = 60, MEMBER_SIZE_AT = 48, MEMBER_SIZE_DIGITS = 10 };

static enum bl_status read_archive(struct bl_image_reader *reader, struct bl_sv bytes, uint32_t depth)
{
    if (depth >= DEEPEST_ARCHIVE)
        return bl_fail(reader->error, BL_UNSUPPORTED, "archives inside of each other more than %d deep", DEEPEST_ARCHIVE);
    struct bl_sv rest = skip(bytes, sizeof(BL_ARCHIVE_MAGIC) - 1);
    while (rest.size) {
        if (rest.size < MEMBER_HEADER || rest.data[58] != '`' || rest.data[59] != '\n')
            return bl_fail(reader->error, BL_SYNTAX, "archive damaged at offset %zu: no member header",
                           (size_t)(rest.data - bytes.data));
        struct bl_sv digits = {rest.data + MEMBER_SIZE_AT, MEMBER_SIZE_DIGITS};
        uint64_t size = 0;
        for (; digits.size && digits.data[0] >= '0' && digits.data[0] <= '9'; digits = skip(digits, 1))
            size = size * 10 + (uint64_t)(digits.data[0] - '0');
        struct bl_sv name = {rest.data, 16};
        rest = skip(rest, MEMBER_HEADER);
        if (size > rest.size)
            return bl_fail(reader->error, BL_SYNTAX, "archive member %.*s of %llu bytes, with %zu left", BL_SV(name),
                           (unsigned long long)size, rest.size);
        enum bl_status status = read_block(reader, (struct bl_sv){rest.data, (size_t)size}, depth + 1, true);
        if (status != BL_OK)
            return status;
        rest = skip(rest, (size_t)(size + (size & 1)));
    }
    return BL_OK;
}

/* ---- the choice -------------------------------------------------------------------------- */

static enum bl_status read_block(struct bl_image_reader *reader, struct bl_sv bytes, uint32_t depth, bool is_member)
{
    if (bl_sv_starts(bytes, "\x50\xed\x55\xba"))
        return bl_fatbin_read_all(reader, bytes);
    if (bl_elf_is(bytes))
        return bl_cubin_is(bytes) ? add_cubin(reader, bytes) : read_host_elf(reader, bytes);
    if (bl_sv_starts(bytes, BL_ARCHIVE_MAGIC))
        return read_archive(reader, bytes, depth);
    if (bl_sv_starts(bytes, "!<thin>\n"))
        return bl_fail(reader->error, BL_UNSUPPORTED, "a thin archive: it only names its members; give those");
    /* Archives hold symbol tables and other members that are no code; those are passed over. */
    if (add_ptx(reader, bytes) || is_member)
        return BL_OK;
    if (bl_sv_starts(bytes, "BC\xc0\xde"))
        return bl_fail(reader->error, BL_UNSUPPORTED, "LLVM bitcode, not PTX: compile it to PTX first");
    if (bytes.size >= 4 && !memcmp(bytes.data, "\xed\x43\x4e\x7f", 4))
        return bl_fail(reader->error, BL_UNSUPPORTED, "link-time optimisation code (LTO-IR), not PTX: build without -dlto");
    return bl_fail(reader->error, BL_SYNTAX, "no fatbin, cubin, PTX text, archive or ELF file (first bytes %02x %02x %02x %02x)",
                   bytes.size > 0 ? (unsigned char)bytes.data[0] : 0, bytes.size > 1 ? (unsigned char)bytes.data[1] : 0,
                   bytes.size > 2 ? (unsigned char)bytes.data[2] : 0, bytes.size > 3 ? (unsigned char)bytes.data[3] : 0);
}

struct block_call {
    struct bl_image_reader reader;
    struct bl_sv bytes;
};

static enum bl_status block_work(void *context)
{
    struct block_call *call = context;
    return read_block(&call->reader, call->bytes, 0, false);
}

enum bl_status bl_image_read_file(struct bl_arena *arena, struct bl_sv bytes, struct bl_images *images, struct bl_error *error)
{
    struct block_call call = {{arena, images, error, bytes.data}, bytes};
    if (!bytes.size)
        return bl_fail(error, BL_SYNTAX, "an empty file");
    return bl_image_guard(arena, block_work, &call, error);
}

/* A program hands over an address, and only the image itself says how long it is. msync tells without reading; MS_ASYNC does
 * nothing else. */
enum bl_status bl_image_mapped(struct bl_sv bytes, struct bl_error *error)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)bytes.data & ~(page - 1), end;
    if (!__builtin_add_overflow((uintptr_t)bytes.data, bytes.size, &end) && msync((void *)first, end - first, MS_ASYNC) == 0)
        return BL_OK;
    return bl_fail(error, BL_SYNTAX, "an image of %zu bytes, as its header says: memory ends before", bytes.size);
}

/* How far the image at data goes, where the caller did not say. Only bytes that the image itself vouches for are read. */
static enum bl_status find_size(const char *data, size_t *size, struct bl_error *error)
{
    size_t known = strnlen(data, sizeof(BL_ARCHIVE_MAGIC) - 1);
    if (known >= 4 && !memcmp(data, "\x50\xed\x55\xba", 4)) {
        *size = bl_fatbin_extent(data);
        return *size ? bl_image_mapped((struct bl_sv){data, *size}, error)
                     : bl_fail(error, BL_SYNTAX, "fatbin with a damaged header");
    }
    if (known >= 4 && !memcmp(data, ELFMAG, SELFMAG))
        return bl_elf_extent(data, size, error);
    if (known == sizeof(BL_ARCHIVE_MAGIC) - 1 && !memcmp(data, BL_ARCHIVE_MAGIC, known))
        return bl_fail(error, BL_UNSUPPORTED, "an archive in memory whose size is not given");
    *size = strlen(data);
    return *size ? BL_OK : bl_fail(error, BL_SYNTAX, "an empty image");
}

enum bl_status bl_image_read_any(struct bl_arena *arena, const void *data, size_t size, struct bl_images *images,
                                 struct bl_error *error)
{
    static const unsigned char wrapper_magic[4] = {0xb1, 0x43, 0x62, 0x46};
    if (!data)
        return bl_fail(error, BL_INVALID, "no image: its address is NULL");
    if ((size ? size : strnlen(data, 4)) >= 4 && !memcmp(data, wrapper_magic, 4)) {
        if (size && size < 24)
            return bl_fail(error, BL_SYNTAX, "fatbin wrapper cut short: %zu bytes of 24", size);
        return bl_image_read_wrapper(arena, data, images, error);
    }
    if (!size) {
        enum bl_status status = find_size(data, &size, error);
        if (status != BL_OK)
            return status;
    }
    return bl_image_read_file(arena, (struct bl_sv){data, size}, images, error);
}
