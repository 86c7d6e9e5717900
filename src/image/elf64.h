/* A small ELF64 reader: sections, segments, symbols, each checked against the file's size. For this room only. */
#ifndef BAILEY_IMAGE_ELF_H
#define BAILEY_IMAGE_ELF_H

#include "base/base.h"

#include <elf.h>

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

/* A view of a file. Made by bl_elf_open, holds nothing of its own. */
struct bl_elf {
    struct bl_sv bytes;
    Elf64_Ehdr header;
    uint32_t section_count, segment_count; /* as many as lie inside the file */
    struct bl_sv section_names;
};

struct bl_elf_section {
    struct bl_sv name;
    struct bl_sv bytes; /* empty for SHT_NOBITS, and where it lies outside of the file */
    uint64_t size;      /* as the header says, NOBITS too */
    uint64_t flags, address;
    uint32_t type, link, info;
};

struct bl_elf_symbol {
    struct bl_sv name;
    uint8_t bind, type, other;
    uint16_t section; /* SHN_UNDEF … */
    uint64_t value, size;
};

bool bl_elf_is(struct bl_sv bytes);
/* BL_SYNTAX where the header is cut short, BL_UNSUPPORTED for 32-bit and big-endian files. */
enum bl_status bl_elf_open(struct bl_sv bytes, struct bl_elf *elf, struct bl_error *error);
/* The size of an ELF file that stands in memory, by its own headers: the end of its last table or section. */
enum bl_status bl_elf_extent(const void *data, size_t *size, struct bl_error *error);

/* Section i < section_count. */
struct bl_elf_section bl_elf_section(const struct bl_elf *elf, uint32_t i);
/* False where there is none of that type. */
bool bl_elf_find_type(const struct bl_elf *elf, uint32_t type, struct bl_elf_section *section);

/* Segment i < segment_count. */
Elf64_Phdr bl_elf_segment(const struct bl_elf *elf, uint32_t i);
/* The file's bytes from virtual address on, to the end of its segment; empty where nothing of the file stands there. */
struct bl_sv bl_elf_at(const struct bl_elf *elf, uint64_t address);

/* Part of a view; empty where it does not lie inside. */
struct bl_sv bl_elf_part(struct bl_sv bytes, uint64_t offset, uint64_t size);
/* The NUL-terminated text at offset; empty where there is none. */
struct bl_sv bl_elf_text(struct bl_sv strings, uint64_t offset);
/* Symbol i of a table; false past its end. */
bool bl_elf_symbol(struct bl_sv table, struct bl_sv strings, uint64_t i, struct bl_elf_symbol *symbol);

#endif
