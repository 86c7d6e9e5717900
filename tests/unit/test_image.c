/* Unit tests of src/image. A writer here makes fatbins of every form; each is then read whole, cut at every byte, and with every
 * byte changed: the answer must be an error or images whose views lie inside of the input. */
#include "image/image.h"
#include "image/elf64.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <lz4.h>
#include <zstd.h>

enum form { PLAIN, LZ4, ZSTD };
enum { FLAGS_64BIT_LINUX = 0x11 };

static const char ptx_text[] = "//\n// a comment\n/* another */ .version 8.3\n.target sm_90a, debug\n.address_size 64\n"
                               ".visible .entry add(.param .u64 a) { ret; }\n.visible .entry add2(.param .u64 a) { ret; }\n";

/* ---- the writer -------------------------------------------------------------------------- */

static void put(struct bl_buffer *out, uint64_t value, size_t size)
{
    bl_buffer_add(out, &value, size);
}

struct entry {
    uint16_t kind;
    enum form form;
    uint32_t header_size;
    uint32_t sm;
    uint64_t flags;
    const char *name, *options;
    const void *data;
    size_t size;
};

static size_t compress_to(enum form form, const void *data, size_t size, char *to, size_t room)
{
    if (form == LZ4)
        return (size_t)LZ4_compress_default(data, to, (int)size, (int)room);
    return ZSTD_compress(to, room, data, size, 3);
}

static void write_entry(struct bl_buffer *out, const struct entry *entry)
{
    char packed[8192];
    size_t start = out->size, stored = entry->size;
    const void *data = entry->data;
    if (entry->form != PLAIN) {
        stored = compress_to(entry->form, entry->data, entry->size, packed, sizeof(packed));
        data = packed;
    }
    size_t payload = BL_ALIGN_UP(stored, (size_t)8), name_at = 64, options_at = 80;
    put(out, entry->kind, 2);
    put(out, 0x101, 2);
    put(out, entry->header_size, 4);
    put(out, payload, 8);
    put(out, entry->form == PLAIN ? 0 : stored, 4);
    put(out, entry->options ? options_at : 0, 4);
    put(out, 2, 2); /* PTX 8.2 */
    put(out, 8, 2);
    put(out, entry->sm, 4);
    put(out, entry->name ? name_at : 0, 4);
    put(out, entry->name ? strlen(entry->name) : 0, 4);
    put(out, entry->flags | FLAGS_64BIT_LINUX | (entry->form == LZ4 ? 0x2000 : entry->form == ZSTD ? 0x8000 : 0), 8);
    put(out, 0, 8);
    put(out, entry->form == PLAIN ? 0 : entry->size, 8);
    if (entry->name)
        bl_buffer_add(out, entry->name, strlen(entry->name) + 1);
    while (out->size - start < options_at && out->size - start < entry->header_size)
        put(out, 0, 1);
    if (entry->options) {
        put(out, options_at + 8, 4);
        put(out, strlen(entry->options), 4);
        bl_buffer_add(out, entry->options, strlen(entry->options));
    }
    while (out->size - start < entry->header_size)
        put(out, 0, 1);
    bl_buffer_add(out, data, stored);
    while (out->size - start < entry->header_size + payload)
        put(out, 0, 1);
}

static void write_fatbin(struct bl_buffer *out, const struct entry *entries, size_t count)
{
    struct bl_buffer body = {0};
    for (size_t i = 0; i < count; i++)
        write_entry(&body, &entries[i]);
    put(out, 0xBA55ED50, 4);
    put(out, 1, 2);
    put(out, 16, 2);
    put(out, body.size, 8);
    bl_buffer_add(out, body.data, body.size);
    bl_buffer_cleanup(&body);
}

static struct bl_sv view(const struct bl_buffer *buffer)
{
    return (struct bl_sv){buffer->data, buffer->size};
}

/* A copy in a block of just its size, so that the address sanitizer sees a read past the end. */
static struct bl_sv exact(struct bl_sv bytes)
{
    char *block = malloc(bytes.size ? bytes.size : 1);
    memcpy(block, bytes.data, bytes.size);
    return (struct bl_sv){block, bytes.size};
}

/* ---- a cubin and a host program ---------------------------------------------------------- */

struct elf_part {
    const char *name;
    uint32_t type;
    uint64_t flags;
    uint32_t link, info;
    const void *bytes;
    size_t size;
};

static void write_elf(struct bl_buffer *out, uint16_t type, uint16_t machine, uint8_t abi, uint32_t flags,
                      const struct elf_part *parts, uint32_t count)
{
    struct bl_buffer names = {0}, body = {0}, table = {0};
    Elf64_Shdr section = {0};
    put(&names, 0, 1);
    bl_buffer_add(&table, &section, sizeof(section));
    for (uint32_t i = 0; i <= count; i++) {
        struct elf_part last = {".shstrtab", SHT_STRTAB, 0, 0, 0, NULL, 0};
        const struct elf_part *part = i < count ? &parts[i] : &last;
        section = (Elf64_Shdr){.sh_name = (Elf64_Word)names.size,
                               .sh_type = part->type,
                               .sh_flags = part->flags,
                               .sh_link = part->link,
                               .sh_info = part->info,
                               .sh_size = part->size,
                               .sh_offset = sizeof(Elf64_Ehdr) + body.size};
        bl_buffer_add(&names, part->name, strlen(part->name) + 1);
        if (i == count) {
            section.sh_size = names.size;
            bl_buffer_add(&body, names.data, names.size);
        } else if (part->type != SHT_NOBITS) {
            bl_buffer_add(&body, part->bytes, part->size);
        }
        bl_buffer_add(&table, &section, sizeof(section));
    }
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, abi},
                         .e_type = type,
                         .e_machine = machine,
                         .e_version = 1,
                         .e_shoff = sizeof(header) + body.size,
                         .e_flags = flags,
                         .e_ehsize = sizeof(header),
                         .e_shentsize = sizeof(section),
                         .e_shnum = (Elf64_Half)(count + 2),
                         .e_shstrndx = (Elf64_Half)(count + 1)};
    bl_buffer_add(out, &header, sizeof(header));
    bl_buffer_add(out, body.data, body.size);
    bl_buffer_add(out, table.data, table.size);
    bl_buffer_cleanup(&names);
    bl_buffer_cleanup(&body);
    bl_buffer_cleanup(&table);
}

static void write_cubin(struct bl_buffer *out)
{
    static const char names[] = "\0kern\0helper";
    const Elf64_Sym symbols[3] = {
        {0},
        {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_other = 0x10, .st_shndx = 5},
        {.st_name = 6, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 5},
    };
    /* registers 37 and stack 512 of symbol 1, registers 9 of symbol 2 */
    static const unsigned char info[] = {4, 0x2f, 8, 0, 1, 0, 0, 0,    37, 0, 0, 0, 4, 0x12, 8, 0, 1, 0,
                                         0, 0,    0, 2, 0, 0, 4, 0x2f, 8,  0, 2, 0, 0, 0,    9, 0, 0, 0};
    /* parameters of 300 bytes, at most 8 * 4 * 2 threads */
    static const unsigned char kernel_info[] = {1, 0x35, 0, 0, 3, 0x19, 0x2c, 1, 4, 5, 12, 0, 8, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0};
    static const char note[] = "\0\0\0\0-arch sm_100f -m 64 ";
    const struct elf_part parts[] = {
        {".strtab", SHT_STRTAB, 0, 0, 0, names, sizeof(names)},
        {".symtab", SHT_SYMTAB, 0, 1, 0, symbols, sizeof(symbols)},
        {".nv.info", 0x70000000, 0, 2, 0, info, sizeof(info)},
        {".nv.info.kern", 0x70000000, 0, 2, 5, kernel_info, sizeof(kernel_info)},
        {".text.kern", SHT_PROGBITS, 6, 2, 1, "code", 4},
        {".nv.shared.kern", SHT_NOBITS, 3, 0, 5, NULL, 1280},
        {".note.nv.tkinfo", SHT_NOTE, 0, 0, 0, note, sizeof(note)},
    };
    write_elf(out, ET_EXEC, EM_CUDA, 8, 0x06006402, parts, BL_LEN(parts));
}

/* ---- what every answer must keep --------------------------------------------------------- */

static void check_inside(struct bl_sv part, struct bl_sv whole)
{
    if (part.size == 0)
        return;
    assert_true(part.data >= whole.data && part.data + part.size <= whole.data + whole.size);
}

/* Reads in every way, unpacks and reads what comes out. Nothing is known of the input. */
static void read_everything(struct bl_sv bytes)
{
    struct bl_arena arena;
    struct bl_images images = {0};
    struct bl_error error = BL_ERROR_INIT;
    bl_arena_init(&arena);
    enum bl_status status = bl_image_read_file(&arena, bytes, &images, &error);
    assert_int_equal(status, error.status);
    assert_true(status == BL_OK || error.message[0]);
    for (uint32_t i = 0; i < images.items.count; i++) {
        const struct bl_image *image = &images.items.items[i];
        struct bl_cubin cubin;
        struct bl_sv code;
        check_inside(image->payload, bytes);
        check_inside(image->name, bytes);
        check_inside(image->options, bytes);
        assert_true(image->file_offset <= bytes.size);
        if (bl_image_unpack(&arena, image, &code, NULL) == BL_OK && image->kind == BL_IMAGE_CUBIN)
            bl_cubin_read(&arena, code, &cubin, NULL);
    }
    struct bl_host_elf host;
    bl_host_elf_read(&arena, bytes, &host, NULL);
    bl_arena_cleanup(&arena);
}

static void cut_everywhere(struct bl_sv whole)
{
    for (size_t size = 0; size <= whole.size; size++) {
        struct bl_sv part = exact((struct bl_sv){whole.data, size});
        read_everything(part);
        free((void *)part.data);
    }
}

static void change_everywhere(struct bl_sv whole)
{
    static const unsigned char changes[] = {0x01, 0x80, 0xff};
    struct bl_sv copy = exact(whole);
    char *bytes = (char *)copy.data;
    for (size_t i = 0; i < whole.size; i++)
        for (size_t change = 0; change < BL_LEN(changes); change++) {
            bytes[i] = (char)(bytes[i] ^ changes[change]);
            read_everything(copy);
            bytes[i] = whole.data[i];
        }
    free(bytes);
}

/* ---- tests ------------------------------------------------------------------------------- */

static const struct entry three_forms[] = {
    {2, PLAIN, 64, 75, 0, NULL, NULL, "\177ELFsomething", 13},
    {1, PLAIN, 80, 70, 0, "a.cu", NULL, ptx_text, sizeof(ptx_text)},
    {1, LZ4, 112, 80, 0, "file.cu", "-g --fmad", ptx_text, sizeof(ptx_text)},
    {1, ZSTD, 152, 90, 0x100000, NULL, "--compile-only  ", ptx_text, sizeof(ptx_text)},
    {8, PLAIN, 88, 90, 0, NULL, NULL, "bitcode", 7},
    {2, ZSTD, 72, 100, 0x200000, "b.cu", NULL, ptx_text, sizeof(ptx_text)},
};

static void check_three_forms(const struct bl_images *images)
{
    static const enum bl_image_compression compressions[] = {BL_IMAGE_PLAIN, BL_IMAGE_PLAIN, BL_IMAGE_LZ4,
                                                             BL_IMAGE_ZSTD,  BL_IMAGE_PLAIN, BL_IMAGE_ZSTD};
    struct bl_arena arena;
    bl_arena_init(&arena);
    assert_int_equal(images->items.count, BL_LEN(three_forms));
    for (uint32_t i = 0; i < images->items.count; i++) {
        const struct bl_image *image = &images->items.items[i];
        const struct entry *entry = &three_forms[i];
        struct bl_sv code;
        assert_int_equal(image->raw_kind, entry->kind);
        assert_int_equal(image->sm, entry->sm);
        assert_int_equal(image->compression, compressions[i]);
        assert_true(bl_sv_is(image->name, entry->name ? entry->name : ""));
        assert_int_equal(image->sm_suffix, entry->flags & 0x100000 ? 'a' : entry->flags & 0x200000 ? 'f' : 0);
        assert_int_equal(image->ptx_version, entry->kind == 1 ? 82 : 0);
        assert_int_equal(bl_image_unpack(&arena, image, &code, NULL), BL_OK);
        size_t size = entry->size - (entry->kind == 1); /* PTX comes without its NUL */
        assert_true(code.size >= size && !memcmp(code.data, entry->data, size));
        if (entry->kind == 1)
            assert_int_equal(code.size, size);
    }
    assert_true(bl_sv_is(images->items.items[2].options, "-g --fmad"));
    assert_true(bl_sv_is(images->items.items[3].options, "--compile-only"));
    bl_arena_cleanup(&arena);
}

static void fatbin_forms(void **state)
{
    struct bl_buffer out = {0};
    struct bl_arena arena;
    write_fatbin(&out, three_forms, BL_LEN(three_forms));
    bl_arena_init(&arena);
    for (int with_size = 0; with_size < 2; with_size++) {
        struct bl_images images = {0}, any = {0};
        struct bl_sv bytes = {out.data, with_size ? out.size : 0};
        assert_int_equal(bl_image_read_fatbin(&arena, bytes, &images, NULL), BL_OK);
        check_three_forms(&images);
        assert_int_equal(bl_image_read_any(&arena, bytes.data, bytes.size, &any, NULL), BL_OK);
        check_three_forms(&any);
    }
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
}

static void several_fatbins(void **state)
{
    struct bl_buffer out = {0};
    struct bl_arena arena;
    struct bl_images images = {0};
    write_fatbin(&out, three_forms, 2);
    put(&out, 0, 8);
    write_fatbin(&out, NULL, 0);
    write_fatbin(&out, three_forms + 2, 3);
    bl_arena_init(&arena);
    assert_int_equal(bl_image_read_fatbin(&arena, view(&out), &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 5);
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
}

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *list;
};

static void wrappers(void **state)
{
    struct bl_buffer first = {0}, second = {0};
    struct bl_arena arena;
    write_fatbin(&first, three_forms, 1);
    write_fatbin(&second, three_forms + 1, 2);
    const void *list[] = {second.data, second.data, NULL};
    struct wrapper one = {0x466243B1, 1, first.data, list}, two = {0x466243B1, 2, first.data, list};
    struct bl_images images = {0}, linked = {0}, any = {0};
    bl_arena_init(&arena);
    assert_int_equal(bl_image_read_wrapper(&arena, &one, &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 1);
    assert_int_equal(bl_image_read_wrapper(&arena, &two, &linked, NULL), BL_OK);
    assert_int_equal(linked.items.count, 5);
    assert_int_equal(bl_image_read_any(&arena, &two, 0, &any, NULL), BL_OK);
    assert_int_equal(any.items.count, 5);
    two.list = NULL;
    assert_int_equal(bl_image_read_any(&arena, &two, sizeof(two), &any, NULL), BL_OK);
    two.version = 3;
    assert_int_equal(bl_image_read_wrapper(&arena, &two, &any, NULL), BL_UNSUPPORTED);
    two.magic++;
    assert_int_equal(bl_image_read_wrapper(&arena, &two, &any, NULL), BL_SYNTAX);
    assert_int_equal(bl_image_read_wrapper(&arena, NULL, &any, NULL), BL_SYNTAX);
    assert_int_equal(bl_image_read_any(&arena, &one, 8, &any, NULL), BL_SYNTAX);
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&first);
    bl_buffer_cleanup(&second);
}

static void ptx(void **state)
{
    struct bl_arena arena;
    bl_arena_init(&arena);
    for (int with_size = 0; with_size < 2; with_size++) {
        struct bl_images images = {0};
        struct bl_sv code;
        assert_int_equal(bl_image_read_any(&arena, ptx_text, with_size ? sizeof(ptx_text) : 0, &images, NULL), BL_OK);
        assert_int_equal(images.items.count, 1);
        assert_int_equal(images.items.items[0].kind, BL_IMAGE_PTX);
        assert_int_equal(images.items.items[0].ptx_version, 83);
        assert_int_equal(images.items.items[0].sm, 90);
        assert_int_equal(images.items.items[0].sm_suffix, 'a');
        assert_int_equal(bl_image_unpack(&arena, &images.items.items[0], &code, NULL), BL_OK);
        assert_int_equal(code.size, strlen(ptx_text));
        assert_ptr_equal(code.data, ptx_text);
    }
    bl_arena_cleanup(&arena);
}

static void refusals(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum bl_status status;
        const char *says;
    } cases[] = {
        {"", 0, BL_SYNTAX, "empty"},
        {"int main() {}", 13, BL_SYNTAX, "no fatbin"},
        {"// only a comment", 17, BL_SYNTAX, "no fatbin"},
        {"/* open", 7, BL_SYNTAX, "no fatbin"},
        {"BC\xc0\xde....", 8, BL_UNSUPPORTED, "bitcode"},
        {"!<thin>\n", 8, BL_UNSUPPORTED, "thin"},
        {"!<arch>\nshort", 13, BL_SYNTAX, "archive"},
        {"\x50\xed\x55\xba\x02\x00\x10\x00\0\0\0\0\0\0\0\0", 16, BL_UNSUPPORTED, "version"},
        {"\x50\xed\x55\xba\x01\x00\x10\x00\xff\0\0\0\0\0\0\0", 16, BL_SYNTAX, "cut short"},
        {"\x50\xed\x55\xba\x01\x00\x10\x00\x04\0\0\0\0\0\0\0ABCD", 20, BL_SYNTAX, "entry 0"},
        {"\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0", 20, BL_UNSUPPORTED, "32-bit"},
        {"\177ELF\2\2\1\0\0\0\0\0\0\0\0\0\2\0\3\0", 20, BL_UNSUPPORTED, "big-endian"},
    };
    for (size_t i = 0; i < BL_LEN(cases); i++) {
        struct bl_arena arena;
        struct bl_images images = {0};
        struct bl_error error = BL_ERROR_INIT;
        bl_arena_init(&arena);
        assert_int_equal(bl_image_read_file(&arena, (struct bl_sv){cases[i].bytes, cases[i].size}, &images, &error),
                         cases[i].status);
        assert_non_null(strstr(error.message, cases[i].says));
        bl_arena_cleanup(&arena);
    }
    struct bl_images images = {0};
    assert_int_equal(bl_image_read_any(NULL, NULL, 0, &images, NULL), BL_INVALID);
    assert_int_equal(bl_image_read_any(NULL, "", 0, &images, NULL), BL_SYNTAX);
    assert_int_equal(bl_image_read_any(NULL, "!<arch>\n", 0, &images, NULL), BL_UNSUPPORTED);
}

/* Each field of an entry that holds a size set to hostile values. */
static void hostile_sizes(void **state)
{
    static const uint64_t values[] = {0, 1, 63, 65, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, UINT64_MAX, UINT64_MAX - 63};
    static const struct {
        size_t at, size;
    } fields[] = {{8, 8}, {16 + 4, 4}, {16 + 8, 8}, {16 + 0x10, 4}, {16 + 0x14, 4}, {16 + 0x20, 4}, {16 + 0x24, 4}, {16 + 0x38, 8}};
    for (size_t entry = 1; entry < 4; entry++) {
        struct bl_buffer out = {0};
        write_fatbin(&out, three_forms + entry, 1);
        for (size_t field = 0; field < BL_LEN(fields); field++)
            for (size_t value = 0; value < BL_LEN(values); value++) {
                struct bl_sv copy = exact(view(&out));
                memcpy((char *)copy.data + fields[field].at, &values[value], fields[field].size);
                read_everything(copy);
                free((void *)copy.data);
            }
        bl_buffer_cleanup(&out);
    }
}

static enum bl_status unpack_with_size(enum bl_image_compression compression, uint64_t size)
{
    struct bl_image image = {
        .kind = BL_IMAGE_PTX, .compression = compression, .payload = {"0123456789", 10}, .uncompressed_size = size};
    struct bl_arena arena;
    struct bl_sv code;
    bl_arena_init(&arena);
    arena.limit = 1 << 20; /* what cannot be true must be refused without asking for its memory */
    enum bl_status status = bl_image_unpack(&arena, &image, &code, NULL);
    bl_arena_cleanup(&arena);
    return status;
}

static void unpack_refusals(void **state)
{
    assert_int_equal(unpack_with_size(BL_IMAGE_PLAIN, 10), BL_OK);
    assert_int_equal(unpack_with_size(BL_IMAGE_PLAIN, 20), BL_UNSUPPORTED);
    for (enum bl_image_compression compression = BL_IMAGE_LZ4; compression <= BL_IMAGE_ZSTD; compression++) {
        assert_int_equal(unpack_with_size(compression, 100), BL_SYNTAX);
        assert_int_equal(unpack_with_size(compression, 0), BL_SYNTAX);
        assert_int_equal(unpack_with_size(compression, 1 << 29), BL_SYNTAX);
        assert_int_equal(unpack_with_size(compression, (1u << 30) + 1), BL_SYNTAX);
        assert_int_equal(unpack_with_size(compression, UINT64_MAX), BL_SYNTAX);
    }
}

/* The longest runs: what a payload declares must be believed where the format can hold it. */
static void unpack_runs(void **state)
{
    static char zeros[1 << 20];
    static char packed[8192];
    for (enum form form = LZ4; form <= ZSTD; form++) {
        size_t size = compress_to(form, zeros, sizeof(zeros), packed, sizeof(packed));
        struct bl_image image = {.kind = BL_IMAGE_CUBIN,
                                 .compression = form == LZ4 ? BL_IMAGE_LZ4 : BL_IMAGE_ZSTD,
                                 .payload = {packed, size},
                                 .uncompressed_size = sizeof(zeros)};
        struct bl_arena arena;
        struct bl_sv code;
        bl_arena_init(&arena);
        assert_true(size > 0 && size < 8192);
        assert_int_equal(bl_image_unpack(&arena, &image, &code, NULL), BL_OK);
        assert_int_equal(code.size, sizeof(zeros));
        image.uncompressed_size++;
        assert_int_equal(bl_image_unpack(&arena, &image, &code, NULL), BL_SYNTAX);
        image.uncompressed_size -= 2;
        assert_int_equal(bl_image_unpack(&arena, &image, &code, NULL), BL_SYNTAX);
        bl_arena_cleanup(&arena);
    }
}

static void add_member(struct bl_buffer *out, const char *name, struct bl_sv bytes)
{
    bl_buffer_printf(out, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, bytes.size);
    bl_buffer_add(out, bytes.data, bytes.size);
    if (bytes.size & 1)
        bl_buffer_add(out, "\n", 1);
}

static void archives(void **state)
{
    struct bl_buffer fatbin = {0}, cubin = {0}, inner = {0}, outer = {0};
    struct bl_arena arena;
    struct bl_images images = {0};
    write_fatbin(&fatbin, three_forms, 2);
    write_cubin(&cubin);
    bl_buffer_printf(&inner, "!<arch>\n");
    add_member(&inner, "/", bl_sv("symbols"));
    add_member(&inner, "a.fatbin/", view(&fatbin));
    add_member(&inner, "b.ptx/", bl_sv(ptx_text));
    bl_buffer_printf(&outer, "!<arch>\n");
    add_member(&outer, "in.a/", view(&inner));
    add_member(&outer, "c.cubin/", view(&cubin));
    bl_arena_init(&arena);
    assert_int_equal(bl_image_read_any(&arena, outer.data, outer.size, &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 4);
    assert_int_equal(images.items.items[3].sm, 100);
    assert_int_equal(images.items.items[3].file_offset, outer.size - cubin.size - (cubin.size & 1));
    cut_everywhere(view(&outer));
    for (int depth = 0; depth < 8; depth++) {
        struct bl_buffer next = {0};
        bl_buffer_printf(&next, "!<arch>\n");
        add_member(&next, "x.a/", view(&outer));
        bl_buffer_cleanup(&outer);
        outer = next;
    }
    assert_int_equal(bl_image_read_file(&arena, view(&outer), &images, NULL), BL_UNSUPPORTED);
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&fatbin);
    bl_buffer_cleanup(&cubin);
    bl_buffer_cleanup(&inner);
    bl_buffer_cleanup(&outer);
}

static void cubin(void **state)
{
    struct bl_buffer out = {0};
    struct bl_arena arena;
    struct bl_cubin read;
    struct bl_images images = {0};
    write_cubin(&out);
    bl_arena_init(&arena);
    assert_int_equal(bl_cubin_read(&arena, view(&out), &read, NULL), BL_OK);
    assert_int_equal(read.sm, 100);
    assert_int_equal(read.sm_suffix, 'f');
    assert_int_equal(read.kernels.count, 1);
    assert_true(bl_sv_is(read.kernels.items[0].name, "kern"));
    assert_int_equal(read.kernels.items[0].registers, 37);
    assert_int_equal(read.kernels.items[0].stack_bytes, 512);
    assert_int_equal(read.kernels.items[0].param_bytes, 300);
    assert_int_equal(read.kernels.items[0].shared_bytes, 1280);
    assert_int_equal(read.kernels.items[0].max_threads, 64);
    /* as a program hands it over, without a size */
    assert_int_equal(bl_image_read_any(&arena, out.data, 0, &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 1);
    assert_int_equal(images.items.items[0].kind, BL_IMAGE_CUBIN);
    assert_int_equal(images.items.items[0].payload.size, out.size);
    assert_int_equal(bl_cubin_read(&arena, bl_sv(ptx_text), &read, NULL), BL_SYNTAX);
    cut_everywhere(view(&out));
    change_everywhere(view(&out));
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
}

static void host_object(void **state)
{
    static const char names[] = "\0cudaMalloc\0main\0cuInit";
    static const char text[] = "cuMemAlloc\0xcuda\0cudaFree\0cudaFree\0cuda lower\0cuBLAS\0current\0cudaX-y\0cuDeviceGet";
    const Elf64_Sym symbols[] = {{0}, {.st_name = 1}, {.st_name = 12, .st_shndx = 1}, {.st_name = 17}, {.st_name = 5000}};
    struct bl_buffer out = {0}, fatbin = {0};
    struct bl_arena arena;
    struct bl_host_elf host;
    struct bl_images images = {0};
    write_fatbin(&fatbin, three_forms, 3);
    const struct elf_part parts[] = {
        {".strtab", SHT_STRTAB, 0, 0, 0, names, sizeof(names)},
        {".symtab", SHT_SYMTAB, 0, 1, 0, symbols, sizeof(symbols)},
        {".rodata", SHT_PROGBITS, SHF_ALLOC, 0, 0, text, sizeof(text)},
        {"__nv_relfatbin", SHT_PROGBITS, SHF_ALLOC, 0, 0, fatbin.data, fatbin.size},
    };
    write_elf(&out, ET_REL, EM_X86_64, 0, 0, parts, BL_LEN(parts));
    bl_arena_init(&arena);
    assert_int_equal(bl_host_elf_read(&arena, view(&out), &host, NULL), BL_OK);
    assert_int_equal(host.machine, EM_X86_64);
    assert_false(host.is_executable);
    assert_int_equal(host.imports.count, 2);
    assert_true(bl_sv_is(host.imports.items[0], "cudaMalloc"));
    assert_true(bl_sv_is(host.imports.items[1], "cuInit"));
    assert_int_equal(host.strings_cuda.count, 4);
    assert_true(bl_sv_is(host.strings_cuda.items[0], "cuMemAlloc"));
    assert_true(bl_sv_is(host.strings_cuda.items[1], "cudaFree"));
    assert_true(bl_sv_is(host.strings_cuda.items[2], "cuBLAS"));
    assert_true(bl_sv_is(host.strings_cuda.items[3], "cuDeviceGet"));
    assert_false(host.has_static_cudart);
    assert_int_equal(bl_image_read_file(&arena, view(&out), &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 3);
    cut_everywhere(view(&out));
    change_everywhere(view(&out));
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
    bl_buffer_cleanup(&fatbin);
}

/* Fatbins as plain data, behind bytes that look like one and are none; damage in a section made for fatbins is an error. */
static void host_data(void **state)
{
    struct bl_buffer out = {0}, data = {0}, damaged = {0};
    struct bl_arena arena;
    struct bl_images images = {0};
    bl_buffer_add(&data, "xyz\x50\xed\x55\xba\x01\x00\x10\x00\xff\xff\xff\xff\xff\xff\xff\xff", 19);
    write_fatbin(&data, three_forms, 2);
    bl_buffer_add(&data, "between", 7);
    write_fatbin(&data, three_forms + 2, 1);
    struct elf_part parts[] = {{".lrodata", SHT_PROGBITS, SHF_ALLOC, 0, 0, data.data, data.size}};
    write_elf(&out, ET_REL, EM_X86_64, 0, 0, parts, BL_LEN(parts));
    parts[0].name = ".nv_fatbin";
    write_elf(&damaged, ET_REL, EM_X86_64, 0, 0, parts, BL_LEN(parts));
    bl_arena_init(&arena);
    assert_int_equal(bl_image_read_file(&arena, view(&out), &images, NULL), BL_OK);
    assert_int_equal(images.items.count, 3);
    assert_int_equal(images.items.items[2].compression, BL_IMAGE_LZ4);
    assert_int_equal(bl_image_read_file(&arena, view(&damaged), &images, NULL), BL_SYNTAX);
    bl_arena_cleanup(&arena);
    bl_buffer_cleanup(&out);
    bl_buffer_cleanup(&data);
    bl_buffer_cleanup(&damaged);
}

/* This very program, as the loader sees it. */
static void host_program(void **state)
{
    struct bl_arena arena;
    struct bl_host_elf host;
    char *data;
    size_t size;
    bool libc = false, imports_start = false;
    bl_arena_init(&arena);
    assert_int_equal(bl_file_read("/proc/self/exe", &data, &size, NULL), BL_OK);
    assert_int_equal(bl_host_elf_read(&arena, (struct bl_sv){data, size}, &host, NULL), BL_OK);
    assert_true(host.is_executable && host.has_interpreter && !host.is_static && !host.is_32bit);
    for (uint32_t i = 0; i < host.needed.count; i++)
        libc |= bl_sv_starts(host.needed.items[i], "libc.so");
    for (uint32_t i = 0; i < host.imports.count; i++)
        imports_start |= bl_sv_is(host.imports.items[i], "__libc_start_main");
    assert_true(libc && imports_start);
    /* without its section headers, as stripped by some */
    memset(data + offsetof(Elf64_Ehdr, e_shoff), 0, 8);
    uint32_t before = host.imports.count;
    assert_int_equal(bl_host_elf_read(&arena, (struct bl_sv){data, size}, &host, NULL), BL_OK);
    assert_int_equal(host.imports.count, before);
    bl_free(data);
    bl_arena_cleanup(&arena);
}

static void choice(void **state)
{
    static const struct {
        uint32_t sm[4]; /* of PTX; 0 ends; + 1000: with suffix a */
        uint32_t device, chosen;
    } cases[] = {
        {{50, 80, 90}, 80, 80},  {{50, 75, 90}, 80, 75}, {{90, 86}, 80, 86},      {{1090, 90}, 90, 90}, {{90, 1090}, 90, 90},
        {{1090, 80}, 100, 1090}, {{120}, 80, 120},       {{1090, 100}, 80, 1090}, {{70, 70}, 70, 70},
    };
    for (size_t i = 0; i < BL_LEN(cases); i++) {
        struct bl_arena arena;
        struct bl_images images = {0};
        const struct bl_image *chosen;
        bl_arena_init(&arena);
        *BL_PUSH(&arena, &images.items) = (struct bl_image){.kind = BL_IMAGE_CUBIN, .sm = cases[i].device};
        for (int k = 0; k < 4 && cases[i].sm[k]; k++)
            *BL_PUSH(&arena, &images.items) =
                (struct bl_image){.kind = BL_IMAGE_PTX, .sm = cases[i].sm[k] % 1000, .sm_suffix = cases[i].sm[k] > 1000 ? 'a' : 0};
        assert_int_equal(bl_image_choose(&images, cases[i].device, &chosen, NULL), BL_OK);
        assert_int_equal(chosen->kind, BL_IMAGE_PTX);
        assert_int_equal(chosen->sm, cases[i].chosen % 1000);
        assert_int_equal(chosen->sm_suffix, cases[i].chosen > 1000 ? 'a' : 0);
        bl_arena_cleanup(&arena);
    }
}

static void choice_without_ptx(void **state)
{
    struct bl_arena arena;
    struct bl_images images = {0};
    const struct bl_image *chosen;
    struct bl_error error = BL_ERROR_INIT, empty = BL_ERROR_INIT;
    bl_arena_init(&arena);
    assert_int_equal(bl_image_choose(&images, 80, &chosen, &empty), BL_NO_IMAGE);
    for (uint32_t i = 0; i < 1000; i++)
        *BL_PUSH(&arena, &images.items) =
            (struct bl_image){.kind = BL_IMAGE_CUBIN, .sm = i < 3 ? 75 : i, .sm_suffix = i == 10 ? 'a' : 0};
    assert_int_equal(bl_image_choose(&images, 80, &chosen, &error), BL_NO_IMAGE);
    assert_null(chosen);
    assert_non_null(strstr(error.message, "machine code: sm_75, sm_3, sm_4"));
    assert_non_null(strstr(error.message, "sm_10a"));
    bl_arena_cleanup(&arena);
}

static void damage(void **state)
{
    struct bl_buffer out = {0};
    write_fatbin(&out, three_forms, BL_LEN(three_forms));
    cut_everywhere(view(&out));
    change_everywhere(view(&out));
    bl_buffer_cleanup(&out);
}

/* Every allocation fails once; the answer is BL_NO_MEMORY, and the arena's owner keeps its own way out. */
static void out_of_memory(void **state)
{
    struct bl_buffer out = {0};
    write_fatbin(&out, three_forms, BL_LEN(three_forms));
    for (uint64_t nth = 1;; nth++) {
        struct bl_arena arena;
        struct bl_images images = {0};
        struct bl_sv code;
        bl_arena_init(&arena);
        bl_fault_inject("alloc", nth);
        enum bl_status status = bl_image_read_file(&arena, view(&out), &images, NULL);
        if (status == BL_OK)
            status = bl_image_unpack(&arena, &images.items.items[3], &code, NULL);
        bool whole = status == BL_OK;
        bl_fault_inject("alloc", 0);
        assert_null(arena.no_memory);
        bl_arena_cleanup(&arena);
        if (whole)
            break;
        assert_int_equal(status, BL_NO_MEMORY);
    }
    bl_buffer_cleanup(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fatbin_forms),       cmocka_unit_test(several_fatbins),
        cmocka_unit_test(wrappers),           cmocka_unit_test(ptx),
        cmocka_unit_test(refusals),           cmocka_unit_test(hostile_sizes),
        cmocka_unit_test(unpack_refusals),    cmocka_unit_test(unpack_runs),
        cmocka_unit_test(archives),           cmocka_unit_test(cubin),
        cmocka_unit_test(host_object),        cmocka_unit_test(host_data),
        cmocka_unit_test(host_program),       cmocka_unit_test(choice),
        cmocka_unit_test(choice_without_ptx), cmocka_unit_test(damage),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
