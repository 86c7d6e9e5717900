/* The ELF64 reader. Counts and offsets come from the file, so each is checked before it is used; what lies outside reads as
 * empty. Format: the System V ABI, chapters 4 and 5. */
#include "image/elf64.h"
#include "image/internal.h"

bool bl_elf_is(struct bl_sv bytes)
{
    return bytes.size >= SELFMAG && !memcmp(bytes.data, ELFMAG, SELFMAG);
}

struct bl_sv bl_elf_part(struct bl_sv bytes, uint64_t offset, uint64_t size)
{
    if (offset > bytes.size || size > bytes.size - offset)
        return (struct bl_sv){"", 0};
    return (struct bl_sv){bytes.data + offset, (size_t)size};
}

struct bl_sv bl_elf_text(struct bl_sv strings, uint64_t offset)
{
    if (offset >= strings.size)
        return (struct bl_sv){"", 0};
    const char *end = memchr(strings.data + offset, 0, strings.size - offset);
    return end ? (struct bl_sv){strings.data + offset, (size_t)(end - strings.data) - offset} : (struct bl_sv){"", 0};
}

static bool read_section_header(const struct bl_elf *elf, uint32_t i, Elf64_Shdr *header)
{
    struct bl_sv bytes = bl_elf_part(elf->bytes, elf->header.e_shoff + (uint64_t)i * sizeof(*header), sizeof(*header));
    if (!bytes.size)
        return false;
    memcpy(header, bytes.data, sizeof(*header));
    return true;
}

/* How many table entries of `size` bytes from offset on lie inside the file, at most `wanted`. */
static uint32_t count_inside(struct bl_sv bytes, uint64_t offset, uint64_t wanted, uint64_t size)
{
    return offset >= bytes.size ? 0 : (uint32_t)BL_MIN(BL_MIN(wanted, (bytes.size - offset) / size), (uint64_t)UINT32_MAX);
}

static enum bl_status check_ident(const unsigned char *ident, struct bl_error *error)
{
    if (ident[EI_CLASS] != ELFCLASS64)
        return bl_fail(error, BL_UNSUPPORTED, "a 32-bit ELF file; only 64-bit ones can be read");
    if (ident[EI_DATA] != ELFDATA2LSB)
        return bl_fail(error, BL_UNSUPPORTED, "a big-endian ELF file; only little-endian ones can be read");
    return BL_OK;
}

enum bl_status bl_elf_open(struct bl_sv bytes, struct bl_elf *elf, struct bl_error *error)
{
    memset(elf, 0, sizeof(*elf));
    elf->bytes = bytes;
    if (!bl_elf_is(bytes) || bytes.size < EI_NIDENT)
        return bl_fail(error, BL_SYNTAX, "not an ELF file");
    enum bl_status status = check_ident((const unsigned char *)bytes.data, error);
    if (status != BL_OK)
        return status;
    if (bytes.size < sizeof(elf->header))
        return bl_fail(error, BL_SYNTAX, "ELF file of %zu bytes: cut short in its header", bytes.size);
    memcpy(&elf->header, bytes.data, sizeof(elf->header));

    uint64_t sections = elf->header.e_shnum, names = elf->header.e_shstrndx;
    Elf64_Shdr first;
    if (elf->header.e_shoff && elf->header.e_shentsize == sizeof(Elf64_Shdr)) {
        /* Past 65279 sections the first header holds the count, and the index of the names. */
        bool has_first = read_section_header(elf, 0, &first);
        if (!sections && has_first)
            sections = first.sh_size;
        if (names == SHN_XINDEX && has_first)
            names = first.sh_link;
        elf->section_count = count_inside(bytes, elf->header.e_shoff, sections, sizeof(Elf64_Shdr));
    }
    if (elf->header.e_phoff && elf->header.e_phentsize == sizeof(Elf64_Phdr))
        elf->segment_count = count_inside(bytes, elf->header.e_phoff, elf->header.e_phnum, sizeof(Elf64_Phdr));
    if (names < elf->section_count)
        elf->section_names = bl_elf_section(elf, (uint32_t)names).bytes;
    return BL_OK;
}

enum bl_status bl_elf_extent(const void *data, size_t *size, struct bl_error *error)
{
    Elf64_Ehdr header;
    Elf64_Shdr section;
    enum bl_status status = check_ident(data, error);
    if (status != BL_OK)
        return status;
    memcpy(&header, data, sizeof(header));
    uint64_t end = sizeof(header);
    if (header.e_phoff)
        end = BL_MAX(end, header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize);
    if (header.e_shoff)
        end = BL_MAX(end, header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize);
    if (header.e_shentsize != sizeof(section) || header.e_shoff > SIZE_MAX / 4 || header.e_phoff > SIZE_MAX / 4)
        return bl_fail(error, BL_SYNTAX, "ELF image in memory without a section table: its size is not known");
    if ((status = bl_image_mapped((struct bl_sv){data, end}, error)) != BL_OK)
        return status;
    for (uint32_t i = 0; i < header.e_shnum; i++) {
        memcpy(&section, (const char *)data + header.e_shoff + i * sizeof(section), sizeof(section));
        if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL)
            continue;
        if (section.sh_offset > SIZE_MAX / 4 || section.sh_size > SIZE_MAX / 4)
            return bl_fail(error, BL_SYNTAX, "ELF image in memory: section %u lies outside of any file", i);
        end = BL_MAX(end, section.sh_offset + section.sh_size);
    }
    *size = end;
    return bl_image_mapped((struct bl_sv){data, end}, error);
}

struct bl_elf_section bl_elf_section(const struct bl_elf *elf, uint32_t i)
{
    struct bl_elf_section section = {.name = {"", 0}, .bytes = {"", 0}};
    Elf64_Shdr header;
    if (i >= elf->section_count || !read_section_header(elf, i, &header))
        return section;
    section.name = bl_elf_text(elf->section_names, header.sh_name);
    if (header.sh_type != SHT_NOBITS)
        section.bytes = bl_elf_part(elf->bytes, header.sh_offset, header.sh_size);
    section.size = header.sh_size;
    section.flags = header.sh_flags;
    section.address = header.sh_addr;
    section.type = header.sh_type;
    section.link = header.sh_link;
    section.info = header.sh_info;
    return section;
}

bool bl_elf_find_type(const struct bl_elf *elf, uint32_t type, struct bl_elf_section *section)
{
    for (uint32_t i = 0; i < elf->section_count; i++) {
        *section = bl_elf_section(elf, i);
        if (section->type == type)
            return true;
    }
    return false;
}

Elf64_Phdr bl_elf_segment(const struct bl_elf *elf, uint32_t i)
{
    Elf64_Phdr segment = {0};
    struct bl_sv bytes = bl_elf_part(elf->bytes, elf->header.e_phoff + (uint64_t)i * sizeof(segment), sizeof(segment));
    if (i < elf->segment_count && bytes.size)
        memcpy(&segment, bytes.data, sizeof(segment));
    return segment;
}

struct bl_sv bl_elf_at(const struct bl_elf *elf, uint64_t address)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        Elf64_Phdr segment = bl_elf_segment(elf, i);
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        struct bl_sv bytes = bl_elf_part(elf->bytes, segment.p_offset, segment.p_filesz);
        return bl_elf_part(bytes, address - segment.p_vaddr, segment.p_filesz - (address - segment.p_vaddr));
    }
    return (struct bl_sv){"", 0};
}

bool bl_elf_symbol(struct bl_sv table, struct bl_sv strings, uint64_t i, struct bl_elf_symbol *symbol)
{
    Elf64_Sym raw;
    if (i >= table.size / sizeof(raw))
        return false;
    memcpy(&raw, table.data + i * sizeof(raw), sizeof(raw));
    symbol->name = bl_elf_text(strings, raw.st_name);
    symbol->bind = ELF64_ST_BIND(raw.st_info);
    symbol->type = ELF64_ST_TYPE(raw.st_info);
    symbol->other = raw.st_other;
    symbol->section = raw.st_shndx;
    symbol->value = raw.st_value;
    symbol->size = raw.st_size;
    return true;
}
