/* Bulk copies, reductions and tiles of tensors, for kernels through bl_cpu_helpers. A tile is moved row by row; in shared memory
 * its rows lie one behind the other, in pieces of 16 bytes that the swizzle changes about by bits of their place in the CTA's
 * memory.
 */
#include "device/tensor_map.h"
#include "target/cpu/run.h"

enum { PIECE = 16, TILE_ALIGN = 128, MOST_ROW = BL_TENSOR_MOST_BOX * 8 };

/* ---- one element ---------------------------------------------------------------------------------------- */

enum element { UNSIGNED, SIGNED, REAL, BRAIN }; /* REAL: a float of the element's size, BRAIN: bf16 */

static double to_double(uint64_t bits, uint32_t size, enum element element)
{
    uint32_t low = (uint32_t)bits;
    _Float16 half;
    double wide;
    float single;

    if (element == BRAIN)
        low <<= 16;
    switch (element == BRAIN ? 4 : size) {
    case 2:
        memcpy(&half, &bits, sizeof(half));
        return (double)half;
    case 4:
        memcpy(&single, &low, sizeof(single));
        return (double)single;
    default:
        memcpy(&wide, &bits, sizeof(wide));
        return wide;
    }
}

/* Rounded once: a sum of two floats in double is exact, or far enough from a tie. */
static uint64_t from_double(double value, uint32_t size, enum element element)
{
    uint64_t bits = 0;
    float single = (float)value;
    _Float16 half = (_Float16)value;
    uint32_t low;

    if (element == BRAIN) {
        memcpy(&low, &single, sizeof(low));
        if (value != value)
            return 0x7fff;
        return (low + 0x7fff + (low >> 16 & 1)) >> 16;
    }
    if (size == 2)
        memcpy(&bits, &half, sizeof(half));
    else if (size == 4)
        memcpy(&bits, &single, sizeof(single));
    else
        memcpy(&bits, &value, sizeof(value));
    return bits;
}

static uint64_t combine_floats(enum bl_kir_atom atom, uint64_t old, uint64_t new, uint32_t size, enum element element)
{
    double a = to_double(old, size, element), b = to_double(new, size, element);
    bool smaller = atom == BL_KIR_ATOM_FMIN || atom == BL_KIR_ATOM_MIN_S || atom == BL_KIR_ATOM_MIN_U;

    if (atom == BL_KIR_ATOM_FADD || atom == BL_KIR_ATOM_ADD)
        return from_double(a + b, size, element);
    if (a != a || b != b)
        return a == a ? old : new;
    if (a == b) /* zeros of two signs */
        return smaller == (old >> (size * 8 - 1) != 0) ? old : new;
    return (a < b) == smaller ? old : new;
}

static uint64_t combine(enum bl_kir_atom atom, uint64_t old, uint64_t new, uint32_t size, enum element element)
{
    int64_t a = (int64_t)(old << (64 - size * 8)),
            b = (int64_t)(new << (64 - size * 8)); /* in the high bits: they compare the same */
    bool is_less = element == SIGNED ? a < b : (uint64_t)a < (uint64_t)b;

    if (element >= REAL)
        return combine_floats(atom, old, new, size, element);
    switch (atom) {
    case BL_KIR_ATOM_ADD:
        return old + new;
    case BL_KIR_ATOM_INC:
        return old >= new ? 0 : old + 1;
    case BL_KIR_ATOM_DEC:
        return old == 0 || old > new ? new : old - 1;
    case BL_KIR_ATOM_MIN_S:
    case BL_KIR_ATOM_MIN_U:
        return is_less ? old : new;
    case BL_KIR_ATOM_MAX_S:
    case BL_KIR_ATOM_MAX_U:
        return is_less ? new : old;
    case BL_KIR_ATOM_AND:
        return old & new;
    case BL_KIR_ATOM_OR:
        return old | new;
    default:
        return old ^ new;
    }
}

#define SWAP(type)                                                                                                                 \
    {                                                                                                                              \
        type old = __atomic_load_n((type *)at, __ATOMIC_RELAXED);                                                                  \
        while (!__atomic_compare_exchange_n((type *)at, &old, (type)combine(atom, old, value, size, element), true,                \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))                                                   \
            continue;                                                                                                              \
        return;                                                                                                                    \
    }

/* Into memory at a multiple of the element's size. */
static void reduce_one(uint8_t *at, const uint8_t *from, enum bl_kir_atom atom, uint32_t size, enum element element)
{
    uint64_t value = 0;
    memcpy(&value, from, size);
    switch (size) {
    case 1:
        SWAP(uint8_t)
    case 2:
        SWAP(uint16_t)
    case 4:
        SWAP(uint32_t)
    default:
        SWAP(uint64_t)
    }
}

static void reduce_some(uint8_t *at, const uint8_t *from, uint64_t bytes, enum bl_kir_atom atom, uint32_t size,
                        enum element element)
{
    for (uint64_t b = 0; b < bytes; b += size)
        reduce_one(at + b, from + b, atom, size, element);
}

/* ---- plain copies ------------------------------------------------------------------------------------------- */

static enum element element_of(enum bl_kir_type type, enum bl_kir_atom atom)
{
    if (type == BL_KIR_BF16)
        return BRAIN;
    if (type == BL_KIR_F16 || type == BL_KIR_F32 || type == BL_KIR_F64)
        return REAL;
    return atom == BL_KIR_ATOM_MIN_S || atom == BL_KIR_ATOM_MAX_S ? SIGNED : UNSIGNED;
}

static uint32_t size_of(enum bl_kir_type type)
{
    return type == BL_KIR_F16 || type == BL_KIR_BF16 ? 2 : type == BL_KIR_I64 || type == BL_KIR_F64 ? 8 : 4;
}

/* False: not aligned. */
static bool copy(uint32_t code, const uint64_t *operands)
{
    uint8_t *to = (uint8_t *)(uintptr_t)operands[0];
    const uint8_t *from = (const uint8_t *)(uintptr_t)operands[BL_WARP];
    uint64_t bytes = operands[2 * BL_WARP];

    if ((operands[0] | operands[BL_WARP] | bytes) % PIECE)
        return false;
    if (BL_KIR_BULK_ACTION(code) == BL_KIR_BULK_REDUCE) {
        enum bl_kir_type type = BL_KIR_BULK_TYPE(code);
        enum bl_kir_atom atom = BL_KIR_BULK_ATOM(code);
        reduce_some(to, from, bytes, atom, size_of(type), element_of(type, atom));
        return true;
    }
    uint32_t mask = (uint16_t)operands[3 * BL_WARP];
    if (mask == UINT16_MAX) {
        memcpy(to, from, bytes);
        return true;
    }
    for (uint64_t b = 0; b < bytes; b++)
        if (mask >> b % PIECE & 1)
            to[b] = from[b];
    return true;
}

/* ---- tiles ------------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t size, element;
} elements[BL_TENSOR_TYPES] = {
    [BL_TENSOR_U8] = {1, UNSIGNED}, [BL_TENSOR_U16] = {2, UNSIGNED}, [BL_TENSOR_U32] = {4, UNSIGNED},
    [BL_TENSOR_S32] = {4, SIGNED},  [BL_TENSOR_U64] = {8, UNSIGNED}, [BL_TENSOR_S64] = {8, SIGNED},
    [BL_TENSOR_F16] = {2, REAL},    [BL_TENSOR_F32] = {4, REAL},     [BL_TENSOR_F64] = {8, REAL},
    [BL_TENSOR_BF16] = {2, BRAIN},  [BL_TENSOR_F32_FTZ] = {4, REAL},
};

struct tile {
    struct bl_tensor_map map; /* a copy: checked, and not to be changed meanwhile */
    uint32_t size, row;       /* bytes of an element, of a row */
    uint32_t counts[BL_TENSOR_DIMENSIONS], rows;
    int64_t at[BL_TENSOR_DIMENSIONS];
    uint8_t *shared;
    uint32_t place; /* of it in the CTA's memory */
    uint32_t code;
};

/* A message, or NULL. */
static const char *open_tile(struct tile *tile, const struct bl_cpu_warp *warp, uint32_t code, const uint64_t *operands)
{
    struct bl_tensor_map *map = &tile->map;
    uint32_t dimensions = BL_KIR_BULK_DIMENSIONS(code);

    memcpy(map, (const void *)(uintptr_t)operands[BL_WARP], sizeof(*map));
    if (map->magic != BL_TENSOR_MAP_MAGIC || map->type >= BL_TENSOR_TYPES || map->swizzle > 3)
        return "no tensor map at the address: make it by cuTensorMapEncodeTiled, pass it as a __grid_constant__ parameter or in "
               "memory";
    if (map->interleave)
        return "a tile of an interleaved tensor map is not supported: use CU_TENSOR_MAP_INTERLEAVE_NONE";
    if (map->type == BL_TENSOR_TF32 || map->type == BL_TENSOR_TF32_FTZ)
        return "a tile of TFLOAT32 is not supported, since how it is rounded is not documented: use "
               "CU_TENSOR_MAP_DATA_TYPE_FLOAT32";
    if (map->dimensions != dimensions || dimensions < 1 || dimensions > BL_TENSOR_DIMENSIONS)
        return "a tensor map of another number of dimensions";
    tile->size = elements[map->type].size;
    tile->row = (map->box_last[0] + 1u) * tile->size;
    tile->rows = 1;
    tile->code = code;
    for (uint32_t d = 0; d < dimensions; d++) {
        uint32_t step = d ? BL_MAX(map->steps[d], (uint8_t)1) : 1;
        tile->counts[d] = map->box_last[d] / step + 1;
        tile->rows *= d ? tile->counts[d] : 1;
        tile->at[d] = (int64_t)operands[(2 + d) * BL_WARP];
    }
    /* PTX ISA, 5.5.3.1: the address of the bounding box is a multiple of 16; else hardware, too, has an illegal instruction. */
    if ((map->base + (uint64_t)tile->at[0] * tile->size) % PIECE)
        return "a tile begins at no multiple of 16 bytes in the tensor: its first coordinate is at fault, or the tensor's address; "
               "begin the tile earlier, or copy by threads";
    for (uint32_t d = 0; d + 1 < dimensions; d++)
        if (map->strides[d] % PIECE)
            return "a tensor map with a stride that is no multiple of 16 bytes";
    tile->shared = (uint8_t *)(uintptr_t)operands[0];
    tile->place = (uint32_t)(operands[0] - (uint64_t)(uintptr_t)warp->shared) & ((1u << BL_KIR_CLUSTER_SHIFT) - 1);
    if ((uint64_t)tile->rows * tile->row > 1u << BL_KIR_CLUSTER_SHIFT || tile->row % PIECE)
        return "a tensor map with a tile larger than shared memory, or with rows that are no multiple of 16 bytes";
    return NULL;
}

/* Where row number `row` lies in the tensor; false: outside. *first, *end: its bytes that are inside, of those in the tile. */
static bool row_of(const struct tile *tile, uint32_t row, uint8_t **at, uint32_t *first, uint32_t *end)
{
    const struct bl_tensor_map *map = &tile->map;
    int64_t count = (int64_t)map->last[0] + 1, from = BL_MAX(tile->at[0], (int64_t)0);
    int64_t to = BL_MIN(tile->at[0] + (int64_t)map->box_last[0] + 1, count);
    uint64_t address = map->base + (uint64_t)from * tile->size;

    for (uint32_t d = 1; d < map->dimensions; d++) {
        int64_t place = tile->at[d] + (int64_t)(row % tile->counts[d]) * BL_MAX(map->steps[d], (uint8_t)1);
        row /= tile->counts[d];
        if (place < 0 || place > (int64_t)map->last[d])
            return false;
        address += (uint64_t)place * map->strides[d - 1];
    }
    if (from >= to)
        return false;
    *at = (uint8_t *)(uintptr_t)address;
    *first = (uint32_t)(from - tile->at[0]) * tile->size;
    *end = (uint32_t)(to - tile->at[0]) * tile->size;
    return true;
}

static uint8_t *piece_at(const struct tile *tile, uint32_t offset)
{
    uint32_t bits = (1u << tile->map.swizzle) - 1, place = tile->place + offset;
    return tile->shared + ((place ^ (place >> 7 & bits) << 4) - tile->place);
}

static void flush_denormals(uint8_t *row, uint32_t bytes)
{
    for (uint32_t b = 0; b < bytes; b += 4) {
        uint32_t word;
        memcpy(&word, row + b, 4);
        if (!(word & 0x7f800000))
            word &= 0x80000000;
        memcpy(row + b, &word, 4);
    }
}

static void fill_outside(const struct tile *tile, uint8_t *row)
{
    static const uint64_t nans[9] = {[2] = 0x7fff, [4] = 0x7fffffff, [8] = 0x7fffffffffffffff};

    memset(row, 0, tile->row);
    for (uint32_t b = 0; tile->map.nan_outside && b < tile->row; b += tile->size)
        memcpy(row + b, &nans[tile->size], tile->size);
}

static void load_row(const struct tile *tile, uint32_t number)
{
    uint8_t row[MOST_ROW], *at;
    uint32_t first, end;

    fill_outside(tile, row);
    if (row_of(tile, number, &at, &first, &end)) {
        memcpy(row + first, at, end - first);
        if (tile->map.type == BL_TENSOR_F32_FTZ)
            flush_denormals(row + first, end - first);
    }
    for (uint32_t b = 0; b < tile->row; b += PIECE)
        memcpy(piece_at(tile, number * tile->row + b), row + b, PIECE);
}

static void store_row(const struct tile *tile, uint32_t number)
{
    uint8_t row[MOST_ROW], *at;
    uint32_t first, end;

    if (!row_of(tile, number, &at, &first, &end))
        return;
    for (uint32_t b = 0; b < tile->row; b += PIECE)
        memcpy(row + b, piece_at(tile, number * tile->row + b), PIECE);
    if (BL_KIR_BULK_ACTION(tile->code) == BL_KIR_BULK_TILE_STORE)
        memcpy(at, row + first, end - first);
    else
        reduce_some(at, row + first, end - first, BL_KIR_BULK_ATOM(tile->code), tile->size,
                    (enum element)elements[tile->map.type].element);
}

static const char *move_tile(const struct bl_cpu_warp *warp, uint32_t code, const uint64_t *operands, uint32_t *bytes)
{
    struct tile tile;
    const char *wrong = open_tile(&tile, warp, code, operands);

    if (wrong)
        return wrong;
    for (uint32_t r = 0; r < tile.rows; r++)
        BL_KIR_BULK_ACTION(code) == BL_KIR_BULK_TILE_LOAD ? load_row(&tile, r) : store_row(&tile, r);
    *bytes = tile.rows * tile.row;
    return NULL;
}

/* ---- what kernels call ---------------------------------------------------------------------------------- */

void bl_cpu_help_bulk(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *operands, uint32_t *results)
{
    struct bl_cpu_core *core = ((struct bl_cpu_cta *)warp->runtime)->core;
    bool tile = BL_KIR_BULK_ACTION(code) >= BL_KIR_BULK_TILE_LOAD;

    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        const char *wrong = NULL;
        bool aligned = !tile || operands[lane] % TILE_ALIGN == 0;
        bl_cpu_obey_stop(core);
        core->helping++;
        if (tile && aligned)
            wrong = move_tile(warp, code, operands + lane, results + lane);
        else if (aligned)
            aligned = copy(code, operands + lane);
        core->helping--;
        if (!aligned)
            bl_cpu_help_fault(warp, 1u << lane, BL_FAULT_MISALIGNED,
                              tile ? "a tile at no multiple of 128 bytes of shared memory"
                                   : "addresses and size of a bulk copy are multiples of 16");
        if (wrong)
            bl_cpu_help_fault(warp, 1u << lane, BL_FAULT_ILLEGAL_INSTRUCTION, wrong);
    }
}
