/* Names of types, opcodes and modifiers, sizes of types, and how a fault in a PTX text is told. */
#include "ptx/internal.h"

#include <stdio.h>

static const struct {
    const char *name;
    uint8_t bits;
} types[BL_PTX_TYPE_COUNT] = {
    [BL_PTX_NONE] = {"none", 0},
    [BL_PTX_B8] = {"b8", 8},
    [BL_PTX_B16] = {"b16", 16},
    [BL_PTX_B32] = {"b32", 32},
    [BL_PTX_B64] = {"b64", 64},
    [BL_PTX_B128] = {"b128", 128},
    [BL_PTX_U8] = {"u8", 8},
    [BL_PTX_U16] = {"u16", 16},
    [BL_PTX_U32] = {"u32", 32},
    [BL_PTX_U64] = {"u64", 64},
    [BL_PTX_S8] = {"s8", 8},
    [BL_PTX_S16] = {"s16", 16},
    [BL_PTX_S32] = {"s32", 32},
    [BL_PTX_S64] = {"s64", 64},
    [BL_PTX_F16] = {"f16", 16},
    [BL_PTX_F16X2] = {"f16x2", 32},
    [BL_PTX_BF16] = {"bf16", 16},
    [BL_PTX_BF16X2] = {"bf16x2", 32},
    [BL_PTX_F32] = {"f32", 32},
    [BL_PTX_F64] = {"f64", 64},
    [BL_PTX_TF32] = {"tf32", 32},
    [BL_PTX_F32X2] = {"f32x2", 64},
    [BL_PTX_E4M3] = {"e4m3", 8},
    [BL_PTX_E5M2] = {"e5m2", 8},
    [BL_PTX_E4M3X2] = {"e4m3x2", 16},
    [BL_PTX_E5M2X2] = {"e5m2x2", 16},
    [BL_PTX_E2M1X2] = {"e2m1x2", 8},
    [BL_PTX_E2M3X2] = {"e2m3x2", 16},
    [BL_PTX_E3M2X2] = {"e3m2x2", 16},
    [BL_PTX_UE8M0X2] = {"ue8m0x2", 16},
    [BL_PTX_U16X2] = {"u16x2", 32},
    [BL_PTX_S16X2] = {"s16x2", 32},
    [BL_PTX_U8X4] = {"u8x4", 32},
    [BL_PTX_S8X4] = {"s8x4", 32},
    [BL_PTX_U4] = {"u4", 4},
    [BL_PTX_S4] = {"s4", 4},
    [BL_PTX_B1] = {"b1", 1},
    [BL_PTX_PRED] = {"pred", 0},
    [BL_PTX_TEXREF] = {"texref", 64},
    [BL_PTX_SAMPLERREF] = {"samplerref", 64},
    [BL_PTX_SURFREF] = {"surfref", 64},
    [BL_PTX_E2M1] = {"e2m1", 4},
    [BL_PTX_E2M3] = {"e2m3", 6},
    [BL_PTX_E3M2] = {"e3m2", 6},
    [BL_PTX_UE8M0] = {"ue8m0", 8},
    [BL_PTX_UE4M3] = {"ue4m3", 8},
    [BL_PTX_E2M1X4] = {"e2m1x4", 16},
    [BL_PTX_E2M3X4] = {"e2m3x4", 32},
    [BL_PTX_E3M2X4] = {"e3m2x4", 32},
    [BL_PTX_E4M3X4] = {"e4m3x4", 32},
    [BL_PTX_E5M2X4] = {"e5m2x4", 32},
};

uint32_t bl_ptx_type_bits(enum bl_ptx_type type)
{
    return (uint32_t)type < BL_PTX_TYPE_COUNT ? types[type].bits : 0;
}

const char *bl_ptx_type_name(enum bl_ptx_type type)
{
    return (uint32_t)type < BL_PTX_TYPE_COUNT ? types[type].name : "?";
}

const char *bl_ptx_opcode_name(enum bl_ptx_opcode op)
{
    static const char *const names[BL_PTX_OPCODE_COUNT] = {
        [BL_PTX_OP_NONE] = "?",
#define OPCODE(name) [BL_PTX_OP_##name] = #name,
#include "opcodes.def"
#undef OPCODE
    };
    return (uint32_t)op < BL_PTX_OPCODE_COUNT ? names[op] : "?";
}

const char *bl_ptx_mod_name(enum bl_ptx_mod mod)
{
    static const char *const names[BL_PTX_MOD_COUNT] = {
        [BL_PTX_MOD_NONE] = "?",
#define MOD(id, text) [BL_PTX_MOD_##id] = text,
#include "mods.def"
#undef MOD
    };
    return (uint32_t)mod < BL_PTX_MOD_COUNT ? names[mod] : "?";
}

bool bl_ptx_has(const struct bl_ptx_instr *instr, enum bl_ptx_mod mod)
{
    for (uint32_t m = 0; m < instr->mod_count; m++)
        if (instr->mods[m] == mod)
            return true;
    return false;
}

/* ---- faults ---------------------------------------------------------------------------------- */

enum { SHOWN_WIDTH = 120 }; /* characters of a source line in a message */

/* What a "//bl.line N" says is the number of the line after it; 0 for any other line. */
static uint32_t noted_number(struct bl_sv line)
{
    static const char note[] = "//bl.line ";
    uint64_t number = 0;
    if (!bl_sv_starts(line, note))
        return 0;
    for (size_t at = sizeof(note) - 1; at < line.size && line.data[at] >= '0' && line.data[at] <= '9' && number < UINT32_MAX; at++)
        number = number * 10 + (uint64_t)(line.data[at] - '0');
    return number < UINT32_MAX ? (uint32_t)number : 0;
}

/* The line with that number, 1-based; the last one where notes give it to several; empty where the text has none. */
static struct bl_sv source_line(struct bl_sv text, uint32_t number)
{
    const char *at = text.data, *end = text.data + text.size;
    struct bl_sv found = {text.data, 0};
    uint32_t n = 1;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        struct bl_sv line = {at, (size_t)((stop ? stop : end) - at)};
        uint32_t noted = noted_number(line);
        if (n == number)
            found = line;
        n = noted ? noted : n + 1;
        at = line.data + line.size + 1;
    }
    return found;
}

/* The source line around the column, tabs and control characters as spaces, and a caret below. */
static void show_line(char *out, size_t size, struct bl_sv line, uint32_t column)
{
    size_t at = column ? column - 1 : 0, from = at > SHOWN_WIDTH / 2 ? at - SHOWN_WIDTH / 2 : 0, used = 0;
    size_t to = BL_MIN(line.size, from + SHOWN_WIDTH);

    if (size < 2 * SHOWN_WIDTH + 16)
        return;
    for (size_t c = from; c < to; c++)
        out[used++] = (unsigned char)line.data[c] < ' ' || line.data[c] == 127 ? ' ' : line.data[c];
    out[used++] = '\n';
    for (size_t c = from; c < at && c < from + SHOWN_WIDTH; c++)
        out[used++] = ' ';
    out[used++] = '^';
    out[used] = 0;
}

enum bl_status bl_ptx_fail(struct bl_ptx_module *module, struct bl_ptx_loc loc, struct bl_error *error, enum bl_status status,
                           const char *format, ...)
{
    char message[1000], shown[2 * SHOWN_WIDTH + 16] = "";
    size_t used;
    va_list args;

    if (!error || (error->status != BL_OK && module->error_count == 0))
        return status;
    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    show_line(shown, sizeof(shown), source_line(module->text, loc.line), loc.column);
    if (module->error_count++ == 0) {
        error->status = status;
        error->line = loc.line;
        error->column = loc.column;
        error->message[0] = 0;
    }
    used = strlen(error->message);
    if (used && sizeof(error->message) - used < strlen(message) + strlen(shown) + 100)
        return status;
    snprintf(error->message + used, sizeof(error->message) - used, "%s%s:%u:%u: %s\n%s", used ? "\n" : "",
             module->source_name ? module->source_name : "ptx", loc.line, loc.column, message, shown);
    return status;
}
