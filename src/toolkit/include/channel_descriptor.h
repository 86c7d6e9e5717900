/* cudaCreateChannelDesc<T>, for C++ programs. Included by cuda_runtime.h. */
#ifndef __CHANNEL_DESCRIPTOR_H__
#define __CHANNEL_DESCRIPTOR_H__

#ifdef __cplusplus

#include "cuda_runtime_api.h"

/* A texel of `channels` elements of `bytes` bytes each. */
static __inline__ __host__ cudaChannelFormatDesc bl_channel_desc(int bytes, int channels, enum cudaChannelFormatKind kind)
{
    int bits = bytes * 8;
    return cudaCreateChannelDesc(bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0, kind);
}

template <class T> __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define BL_CHANNEL(type, element, channels, kind)                                                                                  \
    template <> __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDesc<type>()                                            \
    {                                                                                                                              \
        return bl_channel_desc((int)sizeof(element), channels, cudaChannelFormatKind##kind);                                       \
    }
#define BL_CHANNELS(name, element, kind)                                                                                           \
    BL_CHANNEL(name##1, element, 1, kind)                                                                                          \
    BL_CHANNEL(name##2, element, 2, kind)                                                                                          \
    BL_CHANNEL(name##4, element, 4, kind)

#ifdef __CHAR_UNSIGNED__
BL_CHANNEL(char, char, 1, Unsigned)
#else
BL_CHANNEL(char, char, 1, Signed)
#endif
BL_CHANNEL(signed char, signed char, 1, Signed)
BL_CHANNEL(unsigned char, unsigned char, 1, Unsigned)
BL_CHANNELS(char, signed char, Signed)
BL_CHANNELS(uchar, unsigned char, Unsigned)
BL_CHANNEL(short, short, 1, Signed)
BL_CHANNEL(unsigned short, unsigned short, 1, Unsigned)
BL_CHANNELS(short, short, Signed)
BL_CHANNELS(ushort, unsigned short, Unsigned)
BL_CHANNEL(int, int, 1, Signed)
BL_CHANNEL(unsigned int, unsigned int, 1, Unsigned)
BL_CHANNELS(int, int, Signed)
BL_CHANNELS(uint, unsigned int, Unsigned)
#if !defined(__LP64__)
BL_CHANNEL(long, long, 1, Signed)
BL_CHANNEL(unsigned long, unsigned long, 1, Unsigned)
BL_CHANNELS(long, long, Signed)
BL_CHANNELS(ulong, unsigned long, Unsigned)
#endif
BL_CHANNEL(float, float, 1, Float)
BL_CHANNELS(float, float, Float)

#undef BL_CHANNELS
#undef BL_CHANNEL

static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf()
{
    return bl_channel_desc(2, 1, cudaChannelFormatKindFloat);
}

static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf1()
{
    return bl_channel_desc(2, 1, cudaChannelFormatKindFloat);
}

static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf2()
{
    return bl_channel_desc(2, 2, cudaChannelFormatKindFloat);
}

static __inline__ __host__ cudaChannelFormatDesc cudaCreateChannelDescHalf4()
{
    return bl_channel_desc(2, 4, cudaChannelFormatKindFloat);
}

#endif
#endif
