/* make_char1 to make_double4, for programs, on host and device. */
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

#define BL_MAKE static __inline__ __host__ __device__
#define BL_MAKE4(name, element)                                                                                                    \
    BL_MAKE name make_##name(element x, element y, element z, element w)                                                           \
    {                                                                                                                              \
        name result;                                                                                                               \
        result.x = x;                                                                                                              \
        result.y = y;                                                                                                              \
        result.z = z;                                                                                                              \
        result.w = w;                                                                                                              \
        return result;                                                                                                             \
    }
#define BL_MAKE_ALL(name, element)                                                                                                 \
    BL_MAKE name##1 make_##name##1(element x)                                                                                      \
    {                                                                                                                              \
        name##1 result;                                                                                                            \
        result.x = x;                                                                                                              \
        return result;                                                                                                             \
    }                                                                                                                              \
    BL_MAKE name##2 make_##name##2(element x, element y)                                                                           \
    {                                                                                                                              \
        name##2 result;                                                                                                            \
        result.x = x;                                                                                                              \
        result.y = y;                                                                                                              \
        return result;                                                                                                             \
    }                                                                                                                              \
    BL_MAKE name##3 make_##name##3(element x, element y, element z)                                                                \
    {                                                                                                                              \
        name##3 result;                                                                                                            \
        result.x = x;                                                                                                              \
        result.y = y;                                                                                                              \
        result.z = z;                                                                                                              \
        return result;                                                                                                             \
    }                                                                                                                              \
    BL_MAKE4(name##4, element)

BL_MAKE_ALL(char, signed char)
BL_MAKE_ALL(uchar, unsigned char)
BL_MAKE_ALL(short, short)
BL_MAKE_ALL(ushort, unsigned short)
BL_MAKE_ALL(int, int)
BL_MAKE_ALL(uint, unsigned int)
BL_MAKE_ALL(long, long)
BL_MAKE_ALL(ulong, unsigned long)
BL_MAKE_ALL(longlong, long long)
BL_MAKE_ALL(ulonglong, unsigned long long)
BL_MAKE_ALL(float, float)
BL_MAKE_ALL(double, double)
BL_MAKE4(long4_16a, long)
BL_MAKE4(long4_32a, long)
BL_MAKE4(ulong4_16a, unsigned long)
BL_MAKE4(ulong4_32a, unsigned long)
BL_MAKE4(longlong4_16a, long long)
BL_MAKE4(longlong4_32a, long long)
BL_MAKE4(ulonglong4_16a, unsigned long long)
BL_MAKE4(ulonglong4_32a, unsigned long long)
BL_MAKE4(double4_16a, double)
BL_MAKE4(double4_32a, double)

#undef BL_MAKE_ALL
#undef BL_MAKE4
#undef BL_MAKE

#endif
