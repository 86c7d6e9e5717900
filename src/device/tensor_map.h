/* What a CUtensorMap holds here: the driver writes it, programs carry it about as 128 opaque bytes, devices read it. Hostile: a
 * program may put anything there. */
#ifndef BAILEY_TENSOR_MAP_H
#define BAILEY_TENSOR_MAP_H

#include <stdint.h>

enum { BL_TENSOR_MAP_MAGIC = 0x50414d54, BL_TENSOR_DIMENSIONS = 5, BL_TENSOR_MOST_BOX = 256 };

enum bl_tensor_type {
    BL_TENSOR_U8,
    BL_TENSOR_U16,
    BL_TENSOR_U32,
    BL_TENSOR_S32,
    BL_TENSOR_U64,
    BL_TENSOR_S64,
    BL_TENSOR_F16,
    BL_TENSOR_F32,
    BL_TENSOR_F64,
    BL_TENSOR_BF16,
    BL_TENSOR_F32_FTZ, /* denormals read as zero */
    BL_TENSOR_TF32,    /* rounded on the way in a manner that NVIDIA does not say: no device takes it */
    BL_TENSOR_TF32_FTZ,
    BL_TENSOR_TYPES
};

struct bl_tensor_map {
    uint32_t magic;
    uint8_t type;                               /* enum bl_tensor_type */
    uint8_t dimensions;                         /* 1 to 5 */
    uint8_t swizzle;                            /* 0 none, 1, 2, 3: over 32, 64, 128 bytes */
    uint8_t nan_outside;                        /* what lies outside the tensor reads as NaN, else 0 */
    uint64_t base;                              /* generic address */
    uint64_t strides[BL_TENSOR_DIMENSIONS - 1]; /* bytes, from dimension 1 on */
    uint32_t last[BL_TENSOR_DIMENSIONS];        /* elements of each dimension - 1 */
    uint8_t box_last[BL_TENSOR_DIMENSIONS];     /* elements that a tile spans - 1 */
    uint8_t steps[BL_TENSOR_DIMENSIONS];        /* from one element of a tile to the next; 1 in dimension 0 */
    uint8_t interleave;                         /* 0; 1, 2: slices of 16, 32 bytes, which no device takes */
    uint8_t rest[49];
};

_Static_assert(sizeof(struct bl_tensor_map) == 128, "a CUtensorMap's size");

#endif
