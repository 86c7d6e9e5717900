/* The AMD chips that code can be made for. Sources: LLVM's AMDGPU usage guide (processors, code object versions, LDS), AMD's
 * instruction set documents. */
#include "target/amdgpu/compile.h"

#define LDS (64u << 10)
#define WAVE32(name, number, text)                                                                                                 \
    {                                                                                                                              \
        name, "+wavefrontsize32", 32, 500, LDS, number, text                                                                       \
    }
#define WAVE64(name, number, text)                                                                                                 \
    {                                                                                                                              \
        name, "", 64, 500, LDS, number, text                                                                                       \
    }

/* Code for all chips of a family, which ABI version 6 brought (ROCm 6.3 and newer load it). */
#define GENERIC32(name, number, text)                                                                                              \
    {                                                                                                                              \
        name, "+wavefrontsize32", 32, 600, LDS, number, text                                                                       \
    }
#define GENERIC64(name, number, text)                                                                                              \
    {                                                                                                                              \
        name, "", 64, 600, LDS, number, text                                                                                       \
    }

const struct bl_amd_chip bl_amd_chips[] = {
    WAVE64("gfx900", 0x2c, "Vega 10: Radeon RX Vega 56 and 64, Instinct MI25"),
    WAVE64("gfx906", 0x2f, "Vega 20: Radeon VII, Instinct MI50 and MI60"),
    WAVE64("gfx908", 0x30, "Instinct MI100"),
    WAVE64("gfx90a", 0x3f, "Instinct MI210, MI250, MI250X"),
    WAVE64("gfx940", 0x40, "early Instinct MI300A"),
    WAVE64("gfx942", 0x4c, "Instinct MI300A, MI300X, MI325X"),
    WAVE32("gfx1010", 0x33, "Radeon RX 5600 and 5700"),
    WAVE32("gfx1011", 0x34, "Radeon Pro V520"),
    WAVE32("gfx1012", 0x35, "Radeon RX 5300 and 5500"),
    WAVE32("gfx1030", 0x36, "Radeon RX 6800 and 6900"),
    WAVE32("gfx1031", 0x37, "Radeon RX 6700"),
    WAVE32("gfx1032", 0x38, "Radeon RX 6600"),
    WAVE32("gfx1033", 0x39, "Van Gogh APU"),
    WAVE32("gfx1034", 0x3e, "Radeon RX 6400 and 6500"),
    WAVE32("gfx1035", 0x3d, "Radeon 680M APU"),
    WAVE32("gfx1036", 0x45, "Raphael APU"),
    WAVE32("gfx1100", 0x41, "Radeon RX 7900"),
    WAVE32("gfx1101", 0x46, "Radeon RX 7700 and 7800"),
    WAVE32("gfx1102", 0x47, "Radeon RX 7600"),
    WAVE32("gfx1103", 0x44, "Radeon 780M APU"),
    WAVE32("gfx1150", 0x43, "Radeon 890M APU"),
    WAVE32("gfx1151", 0x4a, "Radeon 8060S APU"),
    WAVE32("gfx1152", 0x55, "Radeon 820M APU"),
    WAVE32("gfx1200", 0x48, "Radeon RX 9060"),
    WAVE32("gfx1201", 0x4e, "Radeon RX 9070"),
    GENERIC64("gfx9-generic", 0x51, "gfx900, gfx902, gfx904, gfx906, gfx909, gfx90c"),
    GENERIC32("gfx10-1-generic", 0x52, "gfx1010 to gfx1013"),
    GENERIC32("gfx10-3-generic", 0x53, "gfx1030 to gfx1036"),
    GENERIC32("gfx11-generic", 0x54, "gfx1100 to gfx1103, gfx1150 to gfx1152"),
    GENERIC32("gfx12-generic", 0x59, "gfx1200 and gfx1201"),
    {NULL},
};

const struct bl_amd_chip *bl_amd_find_chip(const char *name)
{
    for (const struct bl_amd_chip *chip = bl_amd_chips; chip->name; chip++)
        if (!strcmp(chip->name, name))
            return chip;
    return NULL;
}
