/* What a cubin says of itself: architecture, kernels, and what each needs. For inspect and for messages; nothing is run by it.
 *
 * An ELF file of machine 190. Its flags hold the compute capability: in bits 8 to 15 where the ABI version is 8 (CUDA 13), else
 * in bits 0 to 7, with 0x800 for the architecture's own features. A kernel is a function symbol with bit 0x10 in st_other. Section
 * .nv.info holds attributes: u8 format, u8 number, then u16 value (format 3), u16 size and bytes (format 4), else two bytes.
 * Attributes of .nv.info, by symbol index: 0x2f registers, 0x12 stack, 0x11 frame. Of .nv.info.KERNEL: 0x19 size of the parameters,
 * 0x05 three u32, the block's largest size. Measured on the output of ptxas 13.0. */
#include "image/internal.h"
#include "image/elf64.h"

enum {
    SYMBOL_IS_KERNEL = 0x10,
    INFO_VALUE = 3,
    INFO_BYTES = 4,
    INFO_MAX_THREADS = 0x05,
    INFO_FRAME_SIZE = 0x11,
    INFO_STACK_SIZE = 0x12,
    INFO_PARAM_SIZE = 0x19,
    INFO_REGISTERS = 0x2f
};

bool bl_cubin_is(struct bl_sv bytes)
{
    uint16_t machine;
    if (!bl_elf_is(bytes) || bytes.size < 20)
        return false;
    memcpy(&machine, bytes.data + offsetof(Elf64_Ehdr, e_machine), sizeof(machine));
    return machine == EM_CUDA;
}

/* ptxas notes its command line; -arch there holds the suffix that the flags of a newer cubin leave out. */
static char suffix_of_notes(const struct bl_elf *elf)
{
    for (uint32_t i = 0; i < elf->section_count; i++) {
        struct bl_elf_section section = bl_elf_section(elf, i);
        if (!bl_sv_is(section.name, ".note.nv.tkinfo"))
            continue;
        const char *end = section.bytes.data + section.bytes.size;
        const char *at = memmem(section.bytes.data, section.bytes.size, "-arch sm_", 9);
        for (at = at ? at + 9 : end; at < end && *at >= '0' && *at <= '9'; at++)
            ;
        return at < end && (*at == 'a' || *at == 'f') ? *at : 0;
    }
    return 0;
}

static enum bl_status open_cubin(struct bl_sv bytes, struct bl_elf *elf, uint32_t *sm, char *suffix, struct bl_error *error)
{
    enum bl_status status = bl_elf_open(bytes, elf, error);
    if (status != BL_OK)
        return status;
    if (elf->header.e_machine != EM_CUDA)
        return bl_fail(error, BL_SYNTAX, "an ELF file of machine %u, not a cubin", elf->header.e_machine);
    bool newer = elf->header.e_ident[EI_ABIVERSION] >= 8;
    *sm = newer ? elf->header.e_flags >> 8 & 0xff : elf->header.e_flags & 0xff;
    *suffix = newer ? suffix_of_notes(elf) : elf->header.e_flags & 0x800 ? 'a' : 0;
    return BL_OK;
}

enum bl_status bl_cubin_architecture(struct bl_sv bytes, uint32_t *sm, char *suffix, struct bl_error *error)
{
    struct bl_elf elf;
    return open_cubin(bytes, &elf, sm, suffix, error);
}

struct cubin_call {
    struct bl_arena *arena;
    struct bl_sv bytes;
    struct bl_cubin *cubin;
    struct bl_error *error;
    struct bl_elf elf;
    struct bl_sv symbols, names;
    struct bl_map by_name; /* kernel's name → (its index + 1) */
    uint32_t *by_symbol;   /* symbol's index → kernel's index + 1 */
    uint64_t symbol_count;
};

static struct bl_cubin_kernel *kernel_named(const struct cubin_call *call, struct bl_sv section, const char *prefix)
{
    size_t length = strlen(prefix);
    if (!bl_sv_starts(section, prefix))
        return NULL;
    uintptr_t index = (uintptr_t)bl_map_get(&call->by_name, (struct bl_sv){section.data + length, section.size - length});
    return index ? &call->cubin->kernels.items[index - 1] : NULL;
}

static void find_kernels(struct cubin_call *call)
{
    struct bl_elf_section table;
    struct bl_elf_symbol symbol;
    if (!bl_elf_find_type(&call->elf, SHT_SYMTAB, &table))
        return;
    call->symbols = table.bytes;
    call->names = bl_elf_section(&call->elf, table.link).bytes;
    call->symbol_count = table.bytes.size / sizeof(Elf64_Sym);
    call->by_symbol = BL_NEW_ARRAY(call->arena, uint32_t, call->symbol_count);
    for (uint64_t i = 0; bl_elf_symbol(call->symbols, call->names, i, &symbol); i++) {
        if (symbol.type != STT_FUNC || !(symbol.other & SYMBOL_IS_KERNEL) || !symbol.name.size ||
            bl_map_get(&call->by_name, symbol.name))
            continue;
        *BL_PUSH(call->arena, &call->cubin->kernels) = (struct bl_cubin_kernel){.name = symbol.name};
        call->by_symbol[i] = call->cubin->kernels.count;
        bl_map_set(call->arena, &call->by_name, symbol.name, (void *)(uintptr_t)call->cubin->kernels.count);
    }
}

/* One attribute: its number and value bytes. False at the end, or where it is cut short. */
static bool next_attribute(struct bl_sv *info, uint8_t *number, struct bl_sv *value)
{
    uint16_t size;
    if (info->size < 4)
        return false;
    *number = (uint8_t)info->data[1];
    *value = (struct bl_sv){info->data + 2, 2};
    if (info->data[0] == INFO_BYTES) {
        memcpy(&size, info->data + 2, sizeof(size));
        if (size > info->size - 4)
            return false;
        *value = (struct bl_sv){info->data + 4, size};
    }
    size_t used = (size_t)(value->data - info->data) + value->size;
    *info = (struct bl_sv){info->data + used, info->size - used};
    return true;
}

static void read_global_info(struct cubin_call *call, struct bl_sv info)
{
    uint8_t number;
    struct bl_sv value;
    uint32_t pair[2]; /* symbol, number */
    while (next_attribute(&info, &number, &value)) {
        if (value.size < sizeof(pair))
            continue;
        memcpy(pair, value.data, sizeof(pair));
        if (pair[0] >= call->symbol_count || !call->by_symbol[pair[0]])
            continue;
        struct bl_cubin_kernel *kernel = &call->cubin->kernels.items[call->by_symbol[pair[0]] - 1];
        if (number == INFO_REGISTERS)
            kernel->registers = pair[1];
        else if (number == INFO_STACK_SIZE || number == INFO_FRAME_SIZE)
            kernel->stack_bytes = BL_MAX(kernel->stack_bytes, pair[1]);
    }
}

static void read_kernel_info(struct bl_cubin_kernel *kernel, struct bl_sv info)
{
    uint8_t number;
    struct bl_sv value;
    uint32_t sizes[3];
    while (next_attribute(&info, &number, &value)) {
        if (number == INFO_PARAM_SIZE && value.size == 2)
            kernel->param_bytes = (uint32_t)(uint8_t)value.data[0] | (uint32_t)(uint8_t)value.data[1] << 8;
        if (number == INFO_MAX_THREADS && value.size == sizeof(sizes)) {
            memcpy(sizes, value.data, sizeof(sizes));
            kernel->max_threads = sizes[0] * sizes[1] * sizes[2];
        }
    }
}

static void read_section(struct cubin_call *call, const struct bl_elf_section *section)
{
    struct bl_cubin_kernel *kernel;
    if (bl_sv_is(section->name, ".nv.info"))
        read_global_info(call, section->bytes);
    else if ((kernel = kernel_named(call, section->name, ".nv.info.")))
        read_kernel_info(kernel, section->bytes);
    else if ((kernel = kernel_named(call, section->name, ".nv.shared.")))
        kernel->shared_bytes = (uint32_t)BL_MIN(section->size, (uint64_t)UINT32_MAX);
    else if ((kernel = kernel_named(call, section->name, ".text.")) && !kernel->registers)
        kernel->registers = section->info >> 24; /* older cubins; zero in newer ones */
}

static enum bl_status cubin_work(void *context)
{
    struct cubin_call *call = context;
    enum bl_status status = open_cubin(call->bytes, &call->elf, &call->cubin->sm, &call->cubin->sm_suffix, call->error);
    if (status != BL_OK)
        return status;
    find_kernels(call);
    for (uint32_t i = 0; call->cubin->kernels.count && i < call->elf.section_count; i++) {
        struct bl_elf_section section = bl_elf_section(&call->elf, i);
        read_section(call, &section);
    }
    return BL_OK;
}

enum bl_status bl_cubin_read(struct bl_arena *arena, struct bl_sv bytes, struct bl_cubin *cubin, struct bl_error *error)
{
    struct cubin_call call = {.arena = arena, .bytes = bytes, .cubin = cubin, .error = error};
    memset(cubin, 0, sizeof(*cubin));
    return bl_image_guard(arena, cubin_work, &call, error);
}
