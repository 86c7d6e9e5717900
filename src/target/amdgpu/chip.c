/* The AMD chips that code can be made for. Sources: LLVM's AMDGPU usage guide (processors, code object versions, LDS), AMD's
 * instruction set documents. */
#include "target/amdgpu/compile.h"

#define LDS (64u << 10)
#define WAVE32(name, text)                                                                                                         \
    {                                                                                                                              \
        name, "+wavefrontsize32", 32, 500, LDS, text                                                                               \
    }
#define WAVE64(name, text)                                                                                                         \
    {                                                                                                                              \
        name, "", 64, 500, LDS, text                                                                                               \
    }

const struct bl_amd_chip bl_amd_chips[] = {
    WAVE64("gfx900", "Vega 10: Radeon RX Vega 56 and 64, Instinct MI25"),
    WAVE64("gfx906", "Vega 20: Radeon VII, Instinct MI50 and MI60"),
    WAVE64("gfx908", "Instinct MI100"),
    WAVE64("gfx90a", "Instinct MI210, MI250, MI250X"),
    WAVE64("gfx942", "Instinct MI300A, MI300X, MI325X"),
    WAVE32("gfx1010", "Radeon RX 5600 and 5700"),
    WAVE32("gfx1011", "Radeon Pro V520"),
    WAVE32("gfx1012", "Radeon RX 5300 and 5500"),
    WAVE32("gfx1030", "Radeon RX 6800 and 6900"),
    WAVE32("gfx1031", "Radeon RX 6700"),
    WAVE32("gfx1032", "Radeon RX 6600"),
    WAVE32("gfx1033", "Van Gogh APU"),
    WAVE32("gfx1034", "Radeon RX 6400 and 6500"),
    WAVE32("gfx1035", "Radeon 680M APU"),
    WAVE32("gfx1036", "Raphael APU"),
    WAVE32("gfx1100", "Radeon RX 7900"),
    WAVE32("gfx1101", "Radeon RX 7700 and 7800"),
    WAVE32("gfx1102", "Radeon RX 7600"),
    WAVE32("gfx1103", "Radeon 780M APU"),
    WAVE32("gfx1150", "Radeon 890M APU"),
    WAVE32("gfx1151", "Radeon 8060S APU"),
    WAVE32("gfx1200", "Radeon RX 9060"),
    WAVE32("gfx1201", "Radeon RX 9070"),
    {NULL},
};

const struct bl_amd_chip *bl_amd_find_chip(const char *name)
{
    for (const struct bl_amd_chip *chip = bl_amd_chips; chip->name; chip++)
        if (!strcmp(chip->name, name))
            return chip;
    return NULL;
}
