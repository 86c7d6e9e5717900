/* Relocatable ELF objects into executable memory. Called by module.c with what bailey-cc answered or what stood in the cache;
 * neither is trusted: every offset, size and index is checked before it is used.
 *
 * The sections that take memory are laid out in one mapping as code, constants (with the addresses that code loads through a
 * global offset table) and data, each on pages of its own. All is written and relocated first; then the code is made executable
 * and, with the constants, read-only. Unwind tables are left out. */
#include "target/cpu/load.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum part { CODE, CONSTANTS, DATA, PARTS, NOT_LOADED };
enum {
    LOAD_MAX = 256 << 20,
    ALIGN_MAX = 4096,
    BEFORE_CODE = 64, /* bytes that are there: callers checked by -fsanitize=function read the word before a function */
};

/* An object on its way into memory. */
struct object {
    struct bl_sv bytes;
    unsigned machine;
    const char *name; /* for messages */
    struct bl_error *error;
    uint32_t section_count, symbol_count;
    Elf64_Shdr *sections; /* owned copies, aligned */
    Elf64_Sym *symbols;
    struct bl_sv names;    /* of symbols */
    uint32_t symbol_table; /* its section */
    uint64_t *offsets;     /* owned: of each loaded section in the mapping */
    enum part *parts;      /* owned: of each section */
    uint64_t ends[PARTS];  /* offsets in the mapping; each part begins on a page */
    uint64_t starts[PARTS];
    uint64_t got, got_count, got_used; /* offset of the table, in words */
    uint8_t *map;
};

static enum bl_status broken(struct object *object, const char *what)
{
    return bl_fail(object->error, BL_SYNTAX, "%s: machine code object is damaged: %s", object->name, what);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool inside(const struct object *object, uint64_t offset, uint64_t size)
{
    return offset <= object->bytes.size && size <= object->bytes.size - offset;
}

static void *copy_out(struct object *object, uint64_t offset, uint64_t size)
{
    void *copy = bl_malloc(size);

    if (copy && size)
        memcpy(copy, object->bytes.data + offset, size);
    return copy;
}

static enum bl_status no_memory(struct object *object)
{
    return bl_fail(object->error, BL_NO_MEMORY, "%s: out of memory for its machine code", object->name);
}

static enum bl_status read_header(struct object *object)
{
    Elf64_Ehdr header;

    if (!inside(object, 0, sizeof(header)))
        return broken(object, "shorter than its header");
    memcpy(&header, object->bytes.data, sizeof(header));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_REL)
        return broken(object, "not a relocatable 64-bit ELF file");
    if (header.e_machine != object->machine)
        return broken(object, "made for another processor");
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0)
        return broken(object, "no section table");
    if (!inside(object, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr)))
        return broken(object, "the section table ends outside the file");
    object->section_count = header.e_shnum;
    object->sections = copy_out(object, header.e_shoff, (uint64_t)header.e_shnum * sizeof(Elf64_Shdr));
    object->offsets = bl_calloc(header.e_shnum, sizeof(*object->offsets));
    object->parts = bl_calloc(header.e_shnum, sizeof(*object->parts));
    return object->sections && object->offsets && object->parts ? BL_OK : no_memory(object);
}

static enum bl_status read_symbols(struct object *object)
{
    const Elf64_Shdr *table = NULL, *names;

    for (uint32_t i = 0; i < object->section_count; i++)
        if (object->sections[i].sh_type == SHT_SYMTAB) {
            if (table)
                return broken(object, "two symbol tables");
            table = &object->sections[i];
            object->symbol_table = i;
        }
    if (!table || table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= object->section_count)
        return broken(object, "no symbol table");
    names = &object->sections[table->sh_link];
    if (!inside(object, table->sh_offset, table->sh_size) || !inside(object, names->sh_offset, names->sh_size))
        return broken(object, "the symbol table ends outside the file");
    if (table->sh_size / sizeof(Elf64_Sym) > UINT32_MAX)
        return broken(object, "too many symbols");
    object->symbol_count = (uint32_t)(table->sh_size / sizeof(Elf64_Sym));
    object->symbols = copy_out(object, table->sh_offset, table->sh_size);
    object->names = (struct bl_sv){object->bytes.data + names->sh_offset, names->sh_size};
    return object->symbols ? BL_OK : no_memory(object);
}

/* A symbol's name; of a section symbol or a damaged one, "". */
static struct bl_sv symbol_name(const struct object *object, const Elf64_Sym *symbol)
{
    struct bl_sv rest;

    if (symbol->st_name >= object->names.size)
        return (struct bl_sv){"", 0};
    rest.data = object->names.data + symbol->st_name;
    rest.size = strnlen(rest.data, object->names.size - symbol->st_name);
    return rest;
}

/* ---- layout ----------------------------------------------------------------------------------- */

static enum part part_of(const struct object *object, const Elf64_Shdr *section)
{
    if (!(section->sh_flags & SHF_ALLOC) || (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_NOBITS))
        return NOT_LOADED; /* SHT_X86_64_UNWIND, notes and tables of the linker's with the rest */
    if (section->sh_flags & SHF_EXECINSTR)
        return CODE;
    return section->sh_flags & SHF_WRITE ? DATA : CONSTANTS;
}

/* .eh_frame is SHT_PROGBITS on some targets. */
static bool is_unwind_table(const struct object *object, const Elf64_Shdr *section)
{
    static const char name[] = ".eh_frame";
    Elf64_Ehdr header;
    const Elf64_Shdr *names;

    memcpy(&header, object->bytes.data, sizeof(header));
    if (header.e_shstrndx >= object->section_count)
        return false;
    names = &object->sections[header.e_shstrndx];
    return inside(object, names->sh_offset, names->sh_size) && section->sh_name <= names->sh_size &&
           names->sh_size - section->sh_name >= sizeof(name) &&
           memcmp(object->bytes.data + names->sh_offset + section->sh_name, name, sizeof(name)) == 0;
}

static enum bl_status check_section(struct object *object, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_PROGBITS && !inside(object, section->sh_offset, section->sh_size))
        return broken(object, "a section ends outside the file");
    if (section->sh_size > LOAD_MAX)
        return broken(object, "a section is larger than 256 MB");
    if (section->sh_addralign > ALIGN_MAX || (section->sh_addralign & (section->sh_addralign - 1)))
        return broken(object, "a section's alignment is no power of two up to 4096");
    if (section->sh_flags & SHF_TLS)
        return broken(object, "it has thread-local variables");
    return BL_OK;
}

static bool is_got_relocation(unsigned machine, uint32_t type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
    return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
}

static Elf64_Rela relocation_at(const struct object *object, const Elf64_Shdr *table, uint64_t i)
{
    Elf64_Rela relocation;
    memcpy(&relocation, object->bytes.data + table->sh_offset + i * sizeof(relocation), sizeof(relocation));
    return relocation;
}

/* Checks a table of relocations and counts those that go through the global offset table. */
static enum bl_status check_relocations(struct object *object, const Elf64_Shdr *table)
{
    if (table->sh_info >= object->section_count)
        return broken(object, "relocations of a section that isn't there");
    if (object->parts[table->sh_info] == NOT_LOADED)
        return BL_OK;
    if (table->sh_type == SHT_REL || table->sh_entsize != sizeof(Elf64_Rela) || table->sh_link != object->symbol_table)
        return broken(object, "a table of relocations of an unknown kind");
    if (!inside(object, table->sh_offset, table->sh_size))
        return broken(object, "a table of relocations ends outside the file");
    if (object->sections[table->sh_info].sh_type == SHT_NOBITS)
        return broken(object, "relocations of a section without content");
    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); i++)
        object->got_count += is_got_relocation(object->machine, (uint32_t)ELF64_R_TYPE(relocation_at(object, table, i).r_info));
    return BL_OK;
}

static enum bl_status lay_out_part(struct object *object, enum part part, uint64_t *end)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    *end = object->starts[part] = BL_ALIGN_UP(*end, page);
    if (part == CODE)
        *end += BEFORE_CODE;
    for (uint32_t i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        if (object->parts[i] != part)
            continue;
        *end = BL_ALIGN_UP(*end, BL_MAX(section->sh_addralign, (uint64_t)1));
        object->offsets[i] = *end;
        *end += section->sh_size;
        if (*end > LOAD_MAX)
            return broken(object, "it needs more than 256 MB of memory");
    }
    if (part == CONSTANTS) {
        *end = object->got = BL_ALIGN_UP(*end, (uint64_t)8);
        *end += object->got_count * 8;
    }
    object->ends[part] = *end;
    return *end > LOAD_MAX ? broken(object, "it needs more than 256 MB of memory") : BL_OK;
}

static enum bl_status lay_out(struct object *object, uint64_t *size)
{
    enum bl_status status = BL_OK;

    for (uint32_t i = 0; i < object->section_count && status == BL_OK; i++) {
        const Elf64_Shdr *section = &object->sections[i];
        object->parts[i] = part_of(object, section);
        if (object->parts[i] != NOT_LOADED && is_unwind_table(object, section))
            object->parts[i] = NOT_LOADED;
        if (object->parts[i] != NOT_LOADED)
            status = check_section(object, section);
    }
    for (uint32_t i = 0; i < object->section_count && status == BL_OK; i++)
        if (object->sections[i].sh_type == SHT_RELA || object->sections[i].sh_type == SHT_REL)
            status = check_relocations(object, &object->sections[i]);
    *size = 0;
    for (enum part part = CODE; part < PARTS && status == BL_OK; part++)
        status = lay_out_part(object, part, size);
    return status;
}

static enum bl_status map_object(struct object *object, uint64_t size)
{
    void *map = bl_fault_due("mmap") ? (errno = ENOMEM, MAP_FAILED)
                                     : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return bl_fail(object->error, BL_NO_MEMORY, "%s: %llu bytes for its machine code: %s", object->name,
                       (unsigned long long)size, strerror(errno));
    object->map = map;
    for (uint32_t i = 0; i < object->section_count; i++)
        if (object->parts[i] != NOT_LOADED && object->sections[i].sh_type == SHT_PROGBITS && object->sections[i].sh_size)
            memcpy(object->map + object->offsets[i], object->bytes.data + object->sections[i].sh_offset,
                   object->sections[i].sh_size);
    return BL_OK;
}

/* ---- relocation ------------------------------------------------------------------------------- */

static enum bl_status symbol_address(struct object *object, uint64_t index, uint64_t *address)
{
    const Elf64_Sym *symbol;
    struct bl_sv name;

    if (index >= object->symbol_count)
        return broken(object, "a relocation names no symbol");
    symbol = &object->symbols[index];
    name = symbol_name(object, symbol);
    if (symbol->st_shndx == SHN_UNDEF)
        return bl_fail(object->error, BL_COMPILER, "%s: its machine code refers to \"%.*s\", which nothing defines", object->name,
                       BL_SV(name));
    if (symbol->st_shndx == SHN_ABS) {
        *address = symbol->st_value;
        return BL_OK;
    }
    if (symbol->st_shndx >= object->section_count || object->parts[symbol->st_shndx] == NOT_LOADED ||
        ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC || ELF64_ST_TYPE(symbol->st_info) == STT_TLS ||
        symbol->st_value > object->sections[symbol->st_shndx].sh_size)
        return broken(object, "a symbol stands outside its section");
    *address = (uint64_t)(uintptr_t)object->map + object->offsets[symbol->st_shndx] + symbol->st_value;
    return BL_OK;
}

/* The place that a relocation changes. */
struct fixup {
    uint8_t *at;
    uint64_t room;   /* bytes to the end of its section */
    uint64_t place;  /* its address */
    uint64_t target; /* symbol + addend; with a global offset table, address of the entry + addend */
    uint32_t type;
};

static enum bl_status too_far(struct object *object, const struct fixup *fixup)
{
    return bl_fail(object->error, BL_COMPILER, "%s: its machine code can't be relocated: type %u does not reach", object->name,
                   fixup->type);
}

static enum bl_status put(struct object *object, const struct fixup *fixup, uint64_t value, uint64_t size)
{
    if (fixup->room < size)
        return broken(object, "a relocation ends outside its section");
    memcpy(fixup->at, &value, size); /* little endian, as the hosts are */
    return BL_OK;
}

static enum bl_status put_signed32(struct object *object, const struct fixup *fixup, int64_t value)
{
    return value == (int32_t)value ? put(object, fixup, (uint64_t)value, 4) : too_far(object, fixup);
}

static enum bl_status unknown_type(struct object *object, const struct fixup *fixup)
{
    return bl_fail(object->error, BL_COMPILER, "%s: its machine code has a relocation of type %u, which is not supported",
                   object->name, fixup->type);
}

/* System V ABI, AMD64 supplement, "Relocation Types". */
static enum bl_status fix_x86_64(struct object *object, const struct fixup *fixup)
{
    uint64_t distance = fixup->target - fixup->place;

    switch (fixup->type) {
    case R_X86_64_NONE:
        return BL_OK;
    case R_X86_64_64:
        return put(object, fixup, fixup->target, 8);
    case R_X86_64_PC64:
        return put(object, fixup, distance, 8);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
        return put_signed32(object, fixup, (int64_t)distance);
    case R_X86_64_32S:
        return put_signed32(object, fixup, (int64_t)fixup->target);
    case R_X86_64_32:
        return fixup->target <= UINT32_MAX ? put(object, fixup, fixup->target, 4) : too_far(object, fixup);
    default:
        return unknown_type(object, fixup);
    }
}

/* Puts `bits` bits of value into an instruction at bit `shift`. */
static enum bl_status put_field(struct object *object, const struct fixup *fixup, uint64_t value, unsigned bits, unsigned shift)
{
    uint32_t instruction, mask = (uint32_t)((((uint64_t)1 << bits) - 1) << shift);

    if (fixup->room < 4)
        return broken(object, "a relocation ends outside its section");
    memcpy(&instruction, fixup->at, 4);
    instruction = (instruction & ~mask) | ((uint32_t)(value << shift) & mask);
    memcpy(fixup->at, &instruction, 4);
    return BL_OK;
}

/* A branch over `distance` bytes with `bits` bits for the number of instructions. */
static enum bl_status put_branch(struct object *object, const struct fixup *fixup, int64_t distance, unsigned bits, unsigned shift)
{
    int64_t reach = (int64_t)1 << (bits + 1);

    if (distance < -reach || distance >= reach || distance & 3)
        return too_far(object, fixup);
    return put_field(object, fixup, (uint64_t)distance >> 2, bits, shift);
}

/* ADR and ADRP split their 21 bits: the low two at 29, the rest at 5. */
static enum bl_status put_adr(struct object *object, const struct fixup *fixup, int64_t value)
{
    enum bl_status status;

    if (value < -(1 << 20) || value >= 1 << 20)
        return too_far(object, fixup);
    status = put_field(object, fixup, (uint64_t)value & 3, 2, 29);
    return status == BL_OK ? put_field(object, fixup, (uint64_t)value >> 2, 19, 5) : status;
}

/* The low twelve bits of an address, in units of the access's size, at 10. */
static enum bl_status put_low12(struct object *object, const struct fixup *fixup, unsigned log_size)
{
    uint64_t low = fixup->target & 4095;

    if (low & (((uint64_t)1 << log_size) - 1))
        return too_far(object, fixup);
    return put_field(object, fixup, low >> log_size, 12, 10);
}

/* ELF for the Arm 64-bit Architecture, "Relocation". */
static enum bl_status fix_aarch64(struct object *object, const struct fixup *fixup)
{
    int64_t distance = (int64_t)(fixup->target - fixup->place);
    int64_t pages = (int64_t)((fixup->target & ~(uint64_t)4095) - (fixup->place & ~(uint64_t)4095)) >> 12;

    switch (fixup->type) {
    case R_AARCH64_NONE:
        return BL_OK;
    case R_AARCH64_ABS64:
        return put(object, fixup, fixup->target, 8);
    case R_AARCH64_ABS32:
        return fixup->target <= UINT32_MAX ? put(object, fixup, fixup->target, 4) : too_far(object, fixup);
    case R_AARCH64_PREL64:
        return put(object, fixup, (uint64_t)distance, 8);
    case R_AARCH64_PREL32:
        return put_signed32(object, fixup, distance);
    case R_AARCH64_ADR_PREL_LO21:
        return put_adr(object, fixup, distance);
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADR_GOT_PAGE:
        return put_adr(object, fixup, pages);
    case R_AARCH64_LD_PREL_LO19:
    case R_AARCH64_CONDBR19:
        return put_branch(object, fixup, distance, 19, 5);
    case R_AARCH64_TSTBR14:
        return put_branch(object, fixup, distance, 14, 5);
    case R_AARCH64_JUMP26:
    case R_AARCH64_CALL26:
        return put_branch(object, fixup, distance, 26, 0);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
        return put_low12(object, fixup, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
        return put_low12(object, fixup, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
        return put_low12(object, fixup, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LD64_GOT_LO12_NC:
        return put_low12(object, fixup, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
        return put_low12(object, fixup, 4);
    default:
        return unknown_type(object, fixup);
    }
}

/* A fresh entry of the global offset table, which check_relocations has counted. */
static uint64_t got_entry(struct object *object, uint64_t value)
{
    uint8_t *entry = object->map + object->got + 8 * object->got_used++;

    memcpy(entry, &value, 8);
    return (uint64_t)(uintptr_t)entry;
}

static enum bl_status relocate_one(struct object *object, uint32_t section, Elf64_Rela relocation)
{
    uint64_t size = object->sections[section].sh_size, symbol;
    enum bl_status status;
    struct fixup fixup;

    if (relocation.r_offset > size)
        return broken(object, "a relocation stands outside its section");
    status = symbol_address(object, ELF64_R_SYM(relocation.r_info), &symbol);
    if (status != BL_OK)
        return status;
    fixup.type = (uint32_t)ELF64_R_TYPE(relocation.r_info);
    fixup.at = object->map + object->offsets[section] + relocation.r_offset;
    fixup.room = size - relocation.r_offset;
    fixup.place = (uint64_t)(uintptr_t)fixup.at;
    if (is_got_relocation(object->machine, fixup.type))
        symbol = got_entry(object, symbol);
    fixup.target = symbol + (uint64_t)relocation.r_addend;
    return object->machine == EM_X86_64 ? fix_x86_64(object, &fixup) : fix_aarch64(object, &fixup);
}

static enum bl_status relocate(struct object *object)
{
    enum bl_status status = BL_OK;

    for (uint32_t i = 0; i < object->section_count; i++) {
        const Elf64_Shdr *table = &object->sections[i];
        if (table->sh_type != SHT_RELA || object->parts[table->sh_info] == NOT_LOADED)
            continue;
        for (uint64_t k = 0; k < table->sh_size / sizeof(Elf64_Rela) && status == BL_OK; k++)
            status = relocate_one(object, table->sh_info, relocation_at(object, table, k));
    }
    return status;
}

/* ---- the end ---------------------------------------------------------------------------------- */

static enum bl_status find_entry(struct object *object, uintptr_t *entry)
{
    for (uint32_t i = 0; i < object->symbol_count; i++) {
        const Elf64_Sym *symbol = &object->symbols[i];
        uint64_t address;
        enum bl_status status;
        if (symbol->st_shndx == SHN_UNDEF || !bl_sv_is(symbol_name(object, symbol), "bl_kernel"))
            continue;
        if (symbol->st_shndx >= object->section_count || object->parts[symbol->st_shndx] != CODE ||
            symbol->st_value >= object->sections[symbol->st_shndx].sh_size)
            return broken(object, "bl_kernel is no function");
        status = symbol_address(object, i, &address);
        *entry = (uintptr_t)address;
        return status;
    }
    return broken(object, "it defines no bl_kernel");
}

static enum bl_status protect(struct object *object)
{
    uint64_t code = object->ends[CODE] - object->starts[CODE], constants = object->ends[CONSTANTS] - object->starts[CONSTANTS];
    char *begin = (char *)object->map + object->starts[CODE];

    __builtin___clear_cache(begin, begin + code);
    if (mprotect(begin, code, PROT_READ | PROT_EXEC) != 0 ||
        (constants && mprotect(object->map + object->starts[CONSTANTS], constants, PROT_READ) != 0))
        return bl_fail(object->error, BL_IO, "%s: the system does not let machine code be made executable: %s", object->name,
                       strerror(errno));
    return BL_OK;
}

/* For profilers: perf reads /tmp/perf-PID.map. */
static void tell_perf(const struct object *object, const struct bl_cpu_image *image)
{
    const char *wanted = getenv("BAILEY_PERF_MAP");
    char path[64];
    FILE *file;

    if (!wanted || strcmp(wanted, "1") != 0)
        return;
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    file = fopen(path, "ae");
    if (!file)
        return;
    fprintf(file, "%lx %lx %s\n", (unsigned long)image->begin, (unsigned long)(image->end - image->begin), object->name);
    fclose(file);
}

static enum bl_status load(struct object *object, struct bl_cpu_image *image)
{
    enum bl_status status = read_header(object);

    if (status == BL_OK)
        status = read_symbols(object);
    if (status == BL_OK)
        status = lay_out(object, &image->map_size);
    if (status == BL_OK && object->ends[CODE] == object->starts[CODE] + BEFORE_CODE)
        status = broken(object, "it holds no code");
    if (status == BL_OK)
        status = map_object(object, image->map_size);
    if (status == BL_OK)
        status = relocate(object);
    if (status == BL_OK)
        status = find_entry(object, &image->entry);
    if (status == BL_OK)
        status = protect(object);
    image->map = object->map;
    image->begin = (uintptr_t)object->map + object->starts[CODE];
    image->end = (uintptr_t)object->map + object->ends[CODE];
    return status;
}

enum bl_status bl_cpu_image_load(struct bl_sv bytes, unsigned machine, const char *name, struct bl_cpu_image *image,
                                 struct bl_error *error)
{
    struct object object = {.bytes = bytes, .machine = machine, .name = name, .error = error};
    enum bl_status status;

    memset(image, 0, sizeof(*image));
    if (machine != EM_X86_64 && machine != EM_AARCH64)
        return bl_fail(error, BL_UNSUPPORTED, "%s: no loader for machine code of this processor", name);
    status = load(&object, image);
    bl_free(object.sections);
    bl_free(object.symbols);
    bl_free(object.offsets);
    bl_free(object.parts);
    if (status != BL_OK)
        bl_cpu_image_unload(image);
    else
        tell_perf(&object, image);
    return status;
}

unsigned bl_cpu_host_machine(void)
{
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#else
#error "no loader for this processor"
#endif
}

void bl_cpu_image_unload(struct bl_cpu_image *image)
{
    if (image->map)
        munmap(image->map, image->map_size);
    memset(image, 0, sizeof(*image));
}
