/* One texture fetch, as CUDA's programming guide defines it (appendix "Texture Fetching"): coordinates to texels, texels to
 * numbers, filtering. Only texture.c calls it. Weights of a filter have 8 bits, as the guide says of the hardware.
 */
#include "target/cpu/runtime.h"

#include <math.h>

#include "kir/kir.h"

struct texel { /* of words: the bits of floats where the texture reads floats, else integers */
    union {
        float f[4];
        uint32_t i[4];
    };
};

enum { WEIGHT_ONE = 256 };
static const float farthest = 1 << 30; /* coordinates beyond it are as far outside as this */

static float word_float(uint32_t word)
{
    union {
        uint32_t word;
        float number;
    } both = {.word = word};
    return both.number;
}

/* ---- texels to numbers ---------------------------------------------------------------------------------- */

static float half_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
    if (exponent == 31)
        return word_float(sign | 0x7f800000 | fraction << 13);
    if (exponent)
        return word_float(sign | (exponent + 112) << 23 | fraction << 13);
    float small = (float)fraction * 0x1p-24f;
    return sign ? -small : small;
}

static float from_srgb(float x)
{
    return x <= 0.04045f ? x / 12.92f : powf((x + 0.055f) / 1.055f, 2.4f);
}

static bool reads_floats(const struct bl_texture *t)
{
    return t->format >= BL_TEXEL_F16 || (t->normalized_read && t->format <= BL_TEXEL_S16);
}

static uint32_t texel_bytes(enum bl_texel format)
{
    return format <= BL_TEXEL_S8 ? 1 : format <= BL_TEXEL_S16 || format == BL_TEXEL_F16 ? 2 : 4;
}

static uint32_t read_raw(const uint8_t *at, enum bl_texel format)
{
    uint16_t half;
    uint32_t word;
    switch (format) {
    case BL_TEXEL_U8:
        return *at;
    case BL_TEXEL_S8:
        return (uint32_t)(int8_t)*at;
    case BL_TEXEL_U16:
    case BL_TEXEL_F16:
        memcpy(&half, at, sizeof(half));
        return half;
    case BL_TEXEL_S16:
        memcpy(&half, at, sizeof(half));
        return (uint32_t)(int16_t)half;
    default:
        memcpy(&word, at, sizeof(word));
        return word;
    }
}

static float number_of(const struct bl_texture *t, uint32_t raw, uint32_t channel)
{
    switch (t->format) {
    case BL_TEXEL_U8:
        return t->srgb && channel < 3 ? from_srgb((float)raw / 255.0f) : (float)raw / 255.0f;
    case BL_TEXEL_S8:
        return fmaxf((float)(int32_t)raw / 127.0f, -1.0f);
    case BL_TEXEL_U16:
        return (float)raw / 65535.0f;
    case BL_TEXEL_S16:
        return fmaxf((float)(int32_t)raw / 32767.0f, -1.0f);
    case BL_TEXEL_F16:
        return half_float((uint16_t)raw);
    default:
        return word_float(raw);
    }
}

/* Channels that the texture has not: 0, 0, 1. */
static struct texel decode(const struct bl_texture *t, const uint8_t *at)
{
    uint32_t bytes = texel_bytes(t->format);
    struct texel made = {.i = {0}};
    bool floats = reads_floats(t);

    if (floats)
        made.f[3] = 1;
    else
        made.i[3] = 1;
    for (uint32_t c = 0; c < t->channels; c++) {
        uint32_t raw = read_raw(at + (size_t)c * bytes, t->format);
        if (floats)
            made.f[c] = number_of(t, raw, c);
        else
            made.i[c] = raw;
    }
    return made;
}

/* ---- coordinates to texels ---------------------------------------------------------------------------------- */

struct place {
    const struct bl_texture *texture;
    const struct bl_texture_level *level;
    uint32_t dimensions, layer;
    float at[3]; /* texels */
};

/* -1: the border. Wrapping and mirroring need normalised coordinates (the guide's table of addressing modes). */
static int64_t address(const struct place *p, uint32_t d, int64_t index)
{
    const uint32_t sizes[3] = {p->level->width, p->level->height, p->level->depth};
    int64_t size = sizes[d];
    enum bl_texture_address mode = p->texture->address[d];

    if (!p->texture->normalized_coordinates && (mode == BL_TEXTURE_WRAP || mode == BL_TEXTURE_MIRROR))
        mode = BL_TEXTURE_CLAMP;
    if (p->texture->buffer)
        mode = BL_TEXTURE_BORDER;
    if (index >= 0 && index < size)
        return index;
    switch (mode) {
    case BL_TEXTURE_CLAMP:
        return index < 0 ? 0 : size - 1;
    case BL_TEXTURE_BORDER:
        return -1;
    case BL_TEXTURE_WRAP:
        index %= size;
        return index < 0 ? index + size : index;
    default:
        index %= 2 * size;
        index = index < 0 ? index + 2 * size : index;
        return index < size ? index : 2 * size - 1 - index;
    }
}

static struct texel border(const struct bl_texture *t)
{
    struct texel made = {.i = {0}};
    for (uint32_t c = 0; c < 4 && !t->buffer; c++)
        if (reads_floats(t))
            made.f[c] = t->border[c];
        else
            made.i[c] = (uint32_t)(int64_t)fminf(fmaxf(t->border[c], -0x1p31f), 0x1p32f);
    return made;
}

static struct texel texel_at(const struct place *p, const int64_t index[3])
{
    const struct bl_texture *t = p->texture;
    int64_t found[3] = {0, 0, 0};
    for (uint32_t d = 0; d < p->dimensions; d++) {
        found[d] = address(p, d, index[d]);
        if (found[d] < 0)
            return border(t);
    }
    uint64_t slice = p->dimensions == 3 ? (uint64_t)found[2] : p->layer;
    uint64_t at = p->level->base + slice * p->level->slice + (uint64_t)found[1] * p->level->pitch +
                  (uint64_t)found[0] * texel_bytes(t->format) * t->channels;
    return decode(t, (const uint8_t *)(uintptr_t)at);
}

static struct texel nearest(const struct place *p)
{
    int64_t index[3] = {0, 0, 0};
    for (uint32_t d = 0; d < p->dimensions; d++)
        index[d] = (int64_t)floorf(p->at[d]);
    return texel_at(p, index);
}

/* The lower texel of the footprint, and the weight of the upper one in 256ths. */
static int64_t footprint(float at, uint32_t *weight)
{
    int64_t fixed = (int64_t)floorf((at - 0.5f) * WEIGHT_ONE + 0.5f);
    *weight = (uint32_t)(fixed & (WEIGHT_ONE - 1));
    return fixed >> 8;
}

static struct texel filtered(const struct place *p)
{
    struct texel sum = {.f = {0}};
    int64_t low[3] = {0, 0, 0};
    uint32_t weight[3] = {0, 0, 0};

    for (uint32_t d = 0; d < p->dimensions; d++)
        low[d] = footprint(p->at[d], &weight[d]);
    for (uint32_t corner = 0; corner < 1u << p->dimensions; corner++) {
        int64_t index[3];
        float share = 1;
        for (uint32_t d = 0; d < 3; d++) {
            bool upper = corner >> d & 1;
            index[d] = low[d] + upper;
            if (d < p->dimensions)
                share *= (float)(upper ? weight[d] : WEIGHT_ONE - weight[d]) / WEIGHT_ONE;
        }
        if (share == 0)
            continue;
        struct texel one = texel_at(p, index);
        for (uint32_t c = 0; c < 4; c++)
            sum.f[c] += share * one.f[c];
    }
    return sum;
}

/* Texels (0,1) (1,1) (1,0) (0,0) of the footprint, one channel of each. */
static struct texel gathered(const struct place *p, uint32_t channel)
{
    static const uint8_t right[4] = {0, 1, 1, 0}, down[4] = {1, 1, 0, 0};
    struct texel made = {.i = {0}};
    uint32_t weight;
    int64_t x = footprint(p->at[0], &weight), y = footprint(p->at[1], &weight);

    for (uint32_t n = 0; n < 4; n++) {
        const int64_t index[3] = {x + right[n], y + down[n], 0};
        made.i[n] = texel_at(p, index).i[channel & 3];
    }
    return made;
}

/* ---- a fetch -------------------------------------------------------------------------------------------------- */

static float within(float x)
{
    return x != x ? 0 : fminf(fmaxf(x, -farthest), farthest);
}

/* The coordinate in texels of a level. */
static float scaled(const struct bl_texture *t, uint32_t d, float x, uint32_t size)
{
    if (!t->normalized_coordinates)
        return within(x);
    if (t->address[d] == BL_TEXTURE_WRAP && x - x == 0)
        x -= floorf(x);
    else if (t->address[d] == BL_TEXTURE_MIRROR && x - x == 0)
        x -= 2 * floorf(x / 2);
    return within(x * (float)size);
}

/* The face of a cube and the place on it, 0 to 1: the table in the guide's section "Cubemap Textures". */
static uint32_t face_of(const float c[3], float at[2])
{
    float x = fabsf(c[0]), y = fabsf(c[1]), z = fabsf(c[2]), m, s, t;
    uint32_t face;

    if (x >= y && x >= z) {
        face = c[0] < 0;
        m = x;
        s = c[0] < 0 ? c[2] : -c[2];
        t = -c[1];
    } else if (y >= z) {
        face = 2 + (c[1] < 0);
        m = y;
        s = c[0];
        t = c[1] < 0 ? -c[2] : c[2];
    } else {
        face = 4 + (c[2] < 0);
        m = z;
        s = c[2] < 0 ? -c[0] : c[0];
        t = -c[1];
    }
    at[0] = m > 0 ? (s / m + 1) / 2 : 0.5f;
    at[1] = m > 0 ? (t / m + 1) / 2 : 0.5f;
    return face;
}

struct fetch {
    struct place place;
    float coordinates[3];
    uint32_t action, part;
};

static struct texel fetch_level(struct fetch *f, uint32_t level)
{
    struct place *p = &f->place;
    const struct bl_texture *t = p->texture;

    p->level = &t->levels[level];
    const uint32_t sizes[3] = {p->level->width, p->level->height, p->level->depth};
    for (uint32_t d = 0; d < p->dimensions; d++)
        p->at[d] = scaled(t, d, f->coordinates[d], sizes[d]);
    if (f->action == BL_KIR_IMAGE_GATHER)
        return gathered(p, f->part);
    return t->linear && reads_floats(t) ? filtered(p) : nearest(p);
}

static float level_of_gradients(const struct fetch *f, const uint32_t *words)
{
    const struct bl_texture_level *level = &f->place.texture->levels[0];
    const uint32_t sizes[3] = {level->width, level->height, level->depth};
    float longest = 0;

    for (uint32_t g = 0; g < 2; g++) {
        float length = 0;
        for (uint32_t d = 0; d < f->place.dimensions; d++, words += BL_WARP) {
            float step = word_float(*words) * (f->place.texture->normalized_coordinates ? (float)sizes[d] : 1);
            length += step * step;
        }
        longest = fmaxf(longest, sqrtf(length));
    }
    return longest > 0 ? log2f(longest) : 0;
}

static struct texel fetch_between(struct fetch *f, float level)
{
    const struct bl_texture *t = f->place.texture;
    float last = (float)(t->level_count - 1);

    level = fminf(fmaxf(within(level + t->level_bias), t->level_min), BL_MIN(t->level_max, last));
    level = fmaxf(level, 0);
    if (!t->level_linear || !reads_floats(t))
        return fetch_level(f, (uint32_t)fminf(floorf(level + 0.5f), last));
    uint32_t low = (uint32_t)level, weight = (uint32_t)((level - (float)low) * WEIGHT_ONE);
    struct texel made = fetch_level(f, low);
    if (!weight)
        return made;
    struct texel above = fetch_level(f, low + 1);
    for (uint32_t c = 0; c < 4; c++)
        made.f[c] += (above.f[c] - made.f[c]) * (float)weight / WEIGHT_ONE;
    return made;
}

/* At integer coordinates: what lies outside is 0 of a buffer, else as the addressing mode says. */
static struct texel fetch_int(struct place *p, const uint32_t *words)
{
    int64_t index[3] = {0, 0, 0};
    p->level = &p->texture->levels[0];
    for (uint32_t d = 0; d < p->dimensions; d++)
        index[d] = (int32_t)words[d * BL_WARP];
    return texel_at(p, index);
}

static uint32_t clamp_layer(int64_t layer, uint32_t layers)
{
    return (uint32_t)BL_MIN(BL_MAX(layer, (int64_t)0), (int64_t)layers - 1);
}

/* Takes the layer and coordinates from the words; gives what follows them. */
static const uint32_t *read_place(struct fetch *f, enum bl_kir_image_geometry geometry, const uint32_t *words)
{
    static const uint8_t numbers[] = {1, 2, 3, 1, 2, 3, 3};
    bool layered = geometry == BL_KIR_IMAGE_A1D || geometry == BL_KIR_IMAGE_A2D || geometry == BL_KIR_IMAGE_ACUBE;
    bool cube = geometry == BL_KIR_IMAGE_CUBE || geometry == BL_KIR_IMAGE_ACUBE;
    int64_t layer = 0;

    if (layered) {
        layer = (int32_t)*words;
        words += BL_WARP;
    }
    f->place.dimensions = cube ? 2 : numbers[geometry];
    if (f->action == BL_KIR_IMAGE_FETCH_INT) {
        f->place.layer = clamp_layer(layer, f->place.texture->layers);
        return words;
    }
    for (uint32_t c = 0; c < numbers[geometry]; c++, words += BL_WARP)
        f->coordinates[c] = word_float(*words);
    if (cube) {
        float at[2];
        uint32_t cubes = BL_MAX(f->place.texture->layers / 6, 1u), face = face_of(f->coordinates, at);
        layer = (int64_t)clamp_layer(layer, cubes) * 6 + face;
        f->coordinates[0] = at[0];
        f->coordinates[1] = at[1];
    }
    f->place.layer = clamp_layer(layer, f->place.texture->layers);
    return words;
}

void bl_cpu_texture_fetch(const struct bl_texture *texture, uint32_t code, const uint32_t *words, uint32_t result[4])
{
    struct fetch f = {.place.texture = texture, .action = BL_KIR_IMAGE_ACTION(code), .part = BL_KIR_IMAGE_PART(code)};
    const uint32_t *rest = read_place(&f, BL_KIR_IMAGE_GEOMETRY(code), words);
    struct texel made;

    if (f.action == BL_KIR_IMAGE_FETCH_INT)
        made = fetch_int(&f.place, rest);
    else if (f.action == BL_KIR_IMAGE_LEVEL)
        made = fetch_between(&f, word_float(*rest));
    else if (f.action == BL_KIR_IMAGE_GRAD)
        made = fetch_between(&f, level_of_gradients(&f, rest));
    else
        made = fetch_level(&f, 0);
    memcpy(result, made.i, sizeof(made.i));
}
