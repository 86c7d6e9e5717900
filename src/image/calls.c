/* Which functions of a runtime that is linked into a program the program itself calls: direct calls whose target is a function of
 * that name and whose place is outside of the runtime. Needs the symbol table; of a stripped program nothing is found. */
#include "image/internal.h"
#include "image/elf64.h"

struct place {
    uint64_t address;
    struct bl_sv name;
    bool is_runtime; /* one of the runtime's own functions */
};

struct call_finder {
    struct bl_arena *arena;
    const struct bl_elf *elf;
    struct bl_host_elf *host;
    struct bl_map seen;
    BL_ARRAY(struct place) places; /* sorted by address */
};

static bool is_runtime_name(struct bl_sv name)
{
    return bl_sv_starts(name, "cuda") || bl_sv_starts(name, "__cuda") || bl_sv_starts(name, "libcudart_static_");
}

static int by_address(const void *left, const void *right)
{
    const struct place *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void find_places(struct call_finder *finder)
{
    struct bl_elf_section table;
    struct bl_elf_symbol symbol;
    if (!bl_elf_find_type(finder->elf, SHT_SYMTAB, &table))
        return;
    struct bl_sv names = bl_elf_section(finder->elf, table.link).bytes;
    for (uint64_t i = 0; bl_elf_symbol(table.bytes, names, i, &symbol); i++)
        if (symbol.type == STT_FUNC && symbol.section != SHN_UNDEF)
            *BL_PUSH(finder->arena, &finder->places) = (struct place){symbol.value, symbol.name, is_runtime_name(symbol.name)};
    if (finder->places.count)
        qsort(finder->places.items, finder->places.count, sizeof(struct place), by_address);
}

/* The last place that does not stand behind address; NULL where there is none. */
static const struct place *place_of(const struct call_finder *finder, uint64_t address)
{
    uint32_t low = 0, high = finder->places.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (finder->places.items[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &finder->places.items[low - 1] : NULL;
}

static void note_call(struct call_finder *finder, uint64_t from, uint64_t to)
{
    const struct place *target = place_of(finder, to);
    if (!target || target->address != to || !target->is_runtime || bl_sv_starts(target->name, "libcudart_static_"))
        return;
    const struct place *caller = place_of(finder, from);
    if ((caller && caller->is_runtime) || bl_map_get(&finder->seen, target->name))
        return;
    bl_map_set(finder->arena, &finder->seen, target->name, (void *)(uintptr_t)1);
    *BL_PUSH(finder->arena, &finder->host->calls_cuda) = target->name;
}

/* call and jmp with a 32-bit distance from the next instruction. A byte inside of another instruction may look like one; that its
 * distance then hits the first byte of a runtime function is as good as impossible. */
static void scan_x86(struct call_finder *finder, const struct bl_elf_section *section)
{
    int32_t distance;
    for (size_t i = 0; i + 5 <= section->bytes.size; i++) {
        unsigned char code = (unsigned char)section->bytes.data[i];
        if (code != 0xe8 && code != 0xe9)
            continue;
        memcpy(&distance, section->bytes.data + i + 1, sizeof(distance));
        uint64_t from = section->address + i;
        note_call(finder, from, from + 5 + (uint64_t)(int64_t)distance);
    }
}

/* B and BL: 26 bits, in words from the instruction itself. */
static void scan_arm(struct call_finder *finder, const struct bl_elf_section *section)
{
    uint32_t code;
    for (size_t i = 0; i + 4 <= section->bytes.size; i += 4) {
        memcpy(&code, section->bytes.data + i, sizeof(code));
        if ((code & 0x7c000000) != 0x14000000)
            continue;
        int64_t words = (int64_t)(code & 0x3ffffff) - (code & 0x2000000 ? 0x4000000 : 0);
        uint64_t from = section->address + i;
        note_call(finder, from, from + (uint64_t)(words * 4));
    }
}

void bl_host_find_calls(struct bl_arena *arena, const struct bl_elf *elf, struct bl_host_elf *host)
{
    struct call_finder finder = {.arena = arena, .elf = elf, .host = host};
    find_places(&finder);
    for (uint32_t i = 0; finder.places.count && i < elf->section_count; i++) {
        struct bl_elf_section section = bl_elf_section(elf, i);
        if (section.type != SHT_PROGBITS || !(section.flags & SHF_EXECINSTR))
            continue;
        if (elf->header.e_machine == EM_X86_64)
            scan_x86(&finder, &section);
        else if (elf->header.e_machine == EM_AARCH64)
            scan_arm(&finder, &section);
    }
}
