/* Where a kernel's shared variables stand. For targets, and for whoever must know a kernel's static shared memory. */
#include "kir/kir.h"

enum { DYNAMIC_ALIGN = 16 };

static uint64_t round_up(uint64_t at, uint32_t align)
{
    uint64_t mask = (uint64_t)BL_MAX(align, 1u) - 1;
    return at > UINT64_MAX - mask ? UINT64_MAX : (at + mask) & ~mask;
}

uint64_t bl_kir_layout_shared(struct bl_kir_module *module)
{
    uint32_t dynamic_align = 0;
    uint64_t end = 0;

    for (uint32_t s = 0; s < module->symbols.count; s++) {
        struct bl_kir_symbol *symbol = module->symbols.items[s];
        if (symbol->space != BL_KIR_SHARED)
            continue;
        if (symbol->is_extern) {
            dynamic_align = BL_MAX(dynamic_align, BL_MAX(symbol->align, (uint32_t)DYNAMIC_ALIGN));
            continue;
        }
        symbol->offset = round_up(end, symbol->align);
        end = symbol->size > UINT64_MAX - symbol->offset ? UINT64_MAX : symbol->offset + symbol->size;
    }
    if (dynamic_align)
        end = round_up(end, dynamic_align);
    for (uint32_t s = 0; s < module->symbols.count; s++)
        if (module->symbols.items[s]->space == BL_KIR_SHARED && module->symbols.items[s]->is_extern)
            module->symbols.items[s]->offset = end;
    return end;
}
