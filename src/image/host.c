/* What a host program or library needs: its machine, the libraries it names, what it imports, and the names of CUDA functions that
 * it holds as text because a runtime inside of it looks them up. Linked files are read by their segments, as the loader does;
 * object files by their symbol table. */
#include "image/internal.h"
#include "image/elf64.h"

struct host_call {
    struct bl_arena *arena;
    struct bl_sv bytes;
    struct bl_host_elf *host;
    struct bl_error *error;
    struct bl_elf elf;
    struct bl_map seen; /* texts of strings_cuda */
};

struct dynamic {
    struct bl_sv strings;   /* from DT_STRTAB on */
    struct bl_sv symbols;   /* from DT_SYMTAB on */
    struct bl_sv hash, gnu; /* from DT_HASH and DT_GNU_HASH on */
    bool present;
};

static bool dynamic_entry(struct bl_sv table, uint64_t i, Elf64_Dyn *entry)
{
    if (i >= table.size / sizeof(*entry))
        return false;
    memcpy(entry, table.data + i * sizeof(*entry), sizeof(*entry));
    return entry->d_tag != DT_NULL;
}

static struct bl_sv dynamic_table(const struct bl_elf *elf)
{
    for (uint32_t i = 0; i < elf->segment_count; i++) {
        Elf64_Phdr segment = bl_elf_segment(elf, i);
        if (segment.p_type == PT_DYNAMIC)
            return bl_elf_part(elf->bytes, segment.p_offset, segment.p_filesz);
    }
    return (struct bl_sv){"", 0};
}

static struct dynamic read_tables(const struct bl_elf *elf, struct bl_sv table)
{
    struct dynamic dynamic = {0};
    Elf64_Dyn entry;
    for (uint64_t i = 0; dynamic_entry(table, i, &entry); i++) {
        dynamic.present = true;
        if (entry.d_tag == DT_STRTAB)
            dynamic.strings = bl_elf_at(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_SYMTAB)
            dynamic.symbols = bl_elf_at(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_HASH)
            dynamic.hash = bl_elf_at(elf, entry.d_un.d_ptr);
        else if (entry.d_tag == DT_GNU_HASH)
            dynamic.gnu = bl_elf_at(elf, entry.d_un.d_ptr);
    }
    return dynamic;
}

static uint32_t word(struct bl_sv bytes, size_t i)
{
    uint32_t value = 0;
    if (i < bytes.size / sizeof(value))
        memcpy(&value, bytes.data + i * sizeof(value), sizeof(value));
    return value;
}

/* No header says how many dynamic symbols there are. DT_HASH counts them (second word); of DT_GNU_HASH the second word is the first
 * symbol that can be found by name: undefined ones all stand before it. */
static uint64_t symbol_limit(const struct dynamic *dynamic)
{
    return dynamic->hash.size ? word(dynamic->hash, 1) : word(dynamic->gnu, 1);
}

static void read_needs(struct host_call *call, struct bl_sv table, const struct dynamic *dynamic)
{
    Elf64_Dyn entry;
    for (uint64_t i = 0; dynamic_entry(table, i, &entry); i++) {
        if (entry.d_tag == DT_NEEDED)
            *BL_PUSH(call->arena, &call->host->needed) = bl_elf_text(dynamic->strings, entry.d_un.d_val);
        else if (entry.d_tag == DT_RPATH)
            *BL_PUSH(call->arena, &call->host->rpath) = bl_elf_text(dynamic->strings, entry.d_un.d_val);
        else if (entry.d_tag == DT_RUNPATH)
            *BL_PUSH(call->arena, &call->host->runpath) = bl_elf_text(dynamic->strings, entry.d_un.d_val);
    }
}

static void read_imports(struct host_call *call, struct bl_sv symbols, struct bl_sv names, uint64_t limit)
{
    struct bl_elf_symbol symbol;
    for (uint64_t i = 1; i < limit && bl_elf_symbol(symbols, names, i, &symbol); i++)
        if (symbol.section == SHN_UNDEF && symbol.name.size)
            *BL_PUSH(call->arena, &call->host->imports) = symbol.name;
}

/* cuXxx and cudaXxx. */
static bool is_cuda_name(struct bl_sv text)
{
    if (text.size < 5 || text.size > 96 || text.data[0] != 'c' || text.data[1] != 'u')
        return false;
    size_t head = bl_sv_starts(text, "cuda") ? 4 : 2;
    if (text.data[head] < 'A' || text.data[head] > 'Z')
        return false;
    for (size_t i = head; i < text.size; i++) {
        char c = text.data[i];
        if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

static void collect_strings(struct host_call *call, struct bl_sv bytes)
{
    const char *end = bytes.data + bytes.size, *at = bytes.data, *stop;
    for (; at < end && (at = memmem(at, (size_t)(end - at), "cu", 2)); at = stop) {
        stop = at + 2;
        if (at > bytes.data && at[-1])
            continue;
        const char *nul = memchr(at, 0, BL_MIN((size_t)(end - at), (size_t)100));
        struct bl_sv text = {at, nul ? (size_t)(nul - at) : 0};
        if (!is_cuda_name(text) || bl_map_get(&call->seen, text))
            continue;
        bl_map_set(call->arena, &call->seen, text, (void *)(uintptr_t)1);
        *BL_PUSH(call->arena, &call->host->strings_cuda) = text;
        stop = nul;
    }
}

static bool holds_text(struct bl_sv bytes, const char *text)
{
    return memmem(bytes.data, bytes.size, text, strlen(text) + 1) != NULL;
}

/* Read-only data: by sections, or where those were stripped by segments that can't be written. */
static void read_strings(struct host_call *call)
{
    bool opens_driver = false, asks_addresses = false;
    for (uint32_t i = 0; i < call->elf.section_count; i++) {
        struct bl_elf_section section = bl_elf_section(&call->elf, i);
        if (section.type != SHT_PROGBITS || !(section.flags & SHF_ALLOC) || section.flags & (SHF_WRITE | SHF_EXECINSTR) ||
            !bl_sv_starts(section.name, ".rodata"))
            continue;
        collect_strings(call, section.bytes);
        opens_driver |= holds_text(section.bytes, "libcuda.so.1");
        asks_addresses |= holds_text(section.bytes, "cuGetProcAddress") || holds_text(section.bytes, "cuGetProcAddress_v2");
    }
    for (uint32_t i = 0; !call->elf.section_count && i < call->elf.segment_count; i++) {
        Elf64_Phdr segment = bl_elf_segment(&call->elf, i);
        struct bl_sv bytes = bl_elf_part(call->elf.bytes, segment.p_offset, segment.p_filesz);
        if (segment.p_type != PT_LOAD || segment.p_flags & PF_W)
            continue;
        collect_strings(call, bytes);
        opens_driver |= holds_text(bytes, "libcuda.so.1");
        asks_addresses |= holds_text(bytes, "cuGetProcAddress") || holds_text(bytes, "cuGetProcAddress_v2");
    }
    /* The runtime opens the driver by name and knows its own functions' names for its tracing. */
    call->host->has_static_cudart = opens_driver && asks_addresses && bl_map_get(&call->seen, BL_SV_LITERAL("cudaMalloc")) &&
                                    bl_map_get(&call->seen, BL_SV_LITERAL("cudaLaunchKernel"));
}

static bool is_pie(struct bl_sv table)
{
    Elf64_Dyn entry;
    for (uint64_t i = 0; dynamic_entry(table, i, &entry); i++)
        if (entry.d_tag == DT_FLAGS_1)
            return entry.d_un.d_val & DF_1_PIE;
    return false;
}

static void read_kind(const struct bl_elf *elf, struct bl_host_elf *host)
{
    for (uint32_t i = 0; i < elf->segment_count; i++)
        host->has_interpreter |= bl_elf_segment(elf, i).p_type == PT_INTERP;
    host->is_executable =
        elf->header.e_type == ET_EXEC || (elf->header.e_type == ET_DYN && (host->has_interpreter || is_pie(dynamic_table(elf))));
    /* A position-independent static program has a dynamic segment too, but names no interpreter. */
    host->is_static = host->is_executable && !host->has_interpreter;
}

static enum bl_status open_host(struct bl_sv bytes, struct bl_elf *elf, struct bl_host_elf *host, struct bl_error *error)
{
    Elf64_Ehdr header;
    memset(elf, 0, sizeof(*elf));
    memset(host, 0, sizeof(*host));
    if (bl_elf_is(bytes) && bytes.size >= 20) {
        memcpy(&header, bytes.data, 20);
        host->machine = header.e_machine;
        host->is_32bit = header.e_ident[EI_CLASS] == ELFCLASS32;
        host->is_big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
        if (host->is_big_endian)
            host->machine = __builtin_bswap16(host->machine);
        if (host->is_32bit || host->is_big_endian)
            return BL_OK;
    }
    enum bl_status status = bl_elf_open(bytes, elf, error);
    if (status == BL_OK)
        read_kind(elf, host);
    return status;
}

static enum bl_status host_work(void *context)
{
    struct host_call *call = context;
    struct bl_elf_section symbols;
    enum bl_status status = open_host(call->bytes, &call->elf, call->host, call->error);
    if (status != BL_OK || !call->elf.bytes.size)
        return status;
    struct bl_sv table = dynamic_table(&call->elf);
    struct dynamic dynamic = read_tables(&call->elf, table);
    call->host->has_dynamic = dynamic.present;
    read_needs(call, table, &dynamic);
    if (dynamic.present)
        read_imports(call, dynamic.symbols, dynamic.strings, symbol_limit(&dynamic));
    else if (call->elf.header.e_type == ET_REL && bl_elf_find_type(&call->elf, SHT_SYMTAB, &symbols))
        read_imports(call, symbols.bytes, bl_elf_section(&call->elf, symbols.link).bytes, UINT64_MAX);
    read_strings(call);
    if (call->host->has_static_cudart)
        bl_host_find_calls(call->arena, &call->elf, call->host);
    return BL_OK;
}

enum bl_status bl_host_elf_read_head(struct bl_sv bytes, struct bl_host_elf *elf, struct bl_error *error)
{
    struct bl_elf file;
    return open_host(bytes, &file, elf, error);
}

enum bl_status bl_host_elf_read(struct bl_arena *arena, struct bl_sv bytes, struct bl_host_elf *elf, struct bl_error *error)
{
    struct host_call call = {.arena = arena, .bytes = bytes, .host = elf, .error = error};
    return bl_image_guard(arena, host_work, &call, error);
}
