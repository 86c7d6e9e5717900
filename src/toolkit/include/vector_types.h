/* char1 to double4, and dim3, for programs. Sizes and alignments are part of the ABI between host and device code. */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

#include "crt/host_defines.h"

/* The four vectors of one element type: align2 and align4 are the alignments of those of 2 and 4 elements; 1 and 3 have the
 * element's. */
#define BL_VECTORS(name, element, align2, align4)                                                                                  \
    struct name##1                                                                                                                 \
    {                                                                                                                              \
        element x;                                                                                                                 \
    };                                                                                                                             \
    struct __align__(align2) name##2                                                                                               \
    {                                                                                                                              \
        element x, y;                                                                                                              \
    };                                                                                                                             \
    struct name##3                                                                                                                 \
    {                                                                                                                              \
        element x, y, z;                                                                                                           \
    };                                                                                                                             \
    struct __align__(align4) name##4                                                                                               \
    {                                                                                                                              \
        element x, y, z, w;                                                                                                        \
    };                                                                                                                             \
    typedef struct name##1 name##1;                                                                                                \
    typedef struct name##2 name##2;                                                                                                \
    typedef struct name##3 name##3;                                                                                                \
    typedef struct name##4 name##4

/* Four elements of 8 bytes with the alignment in the name. */
#define BL_VECTOR_ALIGNED(name, element)                                                                                           \
    struct __align__(16) name##4_16a                                                                                               \
    {                                                                                                                              \
        element x, y, z, w;                                                                                                        \
    };                                                                                                                             \
    struct __align__(32) name##4_32a                                                                                               \
    {                                                                                                                              \
        element x, y, z, w;                                                                                                        \
    };                                                                                                                             \
    typedef struct name##4_16a name##4_16a;                                                                                        \
    typedef struct name##4_32a name##4_32a

BL_VECTORS(char, signed char, 2, 4);
BL_VECTORS(uchar, unsigned char, 2, 4);
BL_VECTORS(short, short, 4, 8);
BL_VECTORS(ushort, unsigned short, 4, 8);
BL_VECTORS(int, int, 8, 16);
BL_VECTORS(uint, unsigned int, 8, 16);
BL_VECTORS(long, long, 16, 16);
BL_VECTORS(ulong, unsigned long, 16, 16);
BL_VECTORS(longlong, long long, 16, 16);
BL_VECTORS(ulonglong, unsigned long long, 16, 16);
BL_VECTORS(float, float, 8, 16);
BL_VECTORS(double, double, 16, 16);
BL_VECTOR_ALIGNED(long, long);
BL_VECTOR_ALIGNED(ulong, unsigned long);
BL_VECTOR_ALIGNED(longlong, long long);
BL_VECTOR_ALIGNED(ulonglong, unsigned long long);
BL_VECTOR_ALIGNED(double, double);

#undef BL_VECTORS
#undef BL_VECTOR_ALIGNED

/* Extents of a grid or a block; what is left out is 1. */
struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
#if __cplusplus >= 201103L
#define BL_CONSTEXPR constexpr
#else
#define BL_CONSTEXPR
#endif
    __host__ __device__ BL_CONSTEXPR dim3(unsigned int in_x = 1, unsigned int in_y = 1, unsigned int in_z = 1)
        : x(in_x), y(in_y), z(in_z)
    {
    }
    __host__ __device__ BL_CONSTEXPR dim3(uint3 from) : x(from.x), y(from.y), z(from.z)
    {
    }
#if __cplusplus >= 201103L
    __host__ __device__ constexpr operator uint3() const
    {
        return uint3{x, y, z};
    }
#else
    __host__ __device__ operator uint3() const
    {
        uint3 result;
        result.x = x;
        result.y = y;
        result.z = z;
        return result;
    }
#endif
#undef BL_CONSTEXPR
#endif
};
typedef struct dim3 dim3;

#endif
