// Half precision: conversion both ways for every value, arithmetic against float rounded once, packed pairs.
#include "check.h"
#include <cuda_fp16.h>

__global__ void widen(float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = __half2float(__ushort_as_half((unsigned short)i));
}

__global__ void arithmetic(const float *x, const float *y, unsigned short *out, unsigned *packed)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    __half a = __float2half(x[i]), b = __float2half(y[i]);
    out[i * 4] = __half_as_ushort(__hadd(a, b));
    out[i * 4 + 1] = __half_as_ushort(__hmul(a, b));
    out[i * 4 + 2] = __half_as_ushort(__hsub(a, b));
    out[i * 4 + 3] = __half_as_ushort(__hlt(a, b) ? a : b);
    __half2 pair = __hadd2(__halves2half2(a, b), __halves2half2(b, b));
    packed[i] = *(unsigned *)&pair;
}

// The host's own conversion, exact.
static float half_to_float(unsigned short bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                     : ldexpf((float)fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static unsigned short float_to_half(double x) // round to nearest even
{
    unsigned short sign = signbit(x) ? 0x8000 : 0;
    x = fabs(x);
    if (x >= 65520)
        return sign | 0x7c00;
    int exponent;
    frexp(x, &exponent);
    exponent = exponent < -13 ? -13 : exponent;
    double scaled = rint(ldexp(x, 11 - exponent)); // ulp is 2^(exponent - 11)
    if (scaled == 2048) {
        scaled = 1024;
        exponent++;
    }
    if (scaled < 1024)
        return sign | (unsigned short)scaled;
    return sign | (unsigned short)((exponent + 14) << 10 | ((int)scaled - 1024));
}

int main()
{
    const int count = 65536;
    float *wide = managed<float>(count);
    widen<<<count / 256, 256>>>(wide);
    float *x = managed<float>(4096), *y = managed<float>(4096);
    unsigned short *out = managed<unsigned short>(4096 * 4);
    unsigned *packed = managed<unsigned>(4096);
    uint32_t state = 3;
    for (int i = 0; i < 4096; i++) {
        x[i] = half_to_float(next_random(&state) >> 16 & 0xbbff);
        y[i] = half_to_float(next_random(&state) >> 16 & 0xbbff);
    }
    arithmetic<<<16, 256>>>(x, y, out, packed);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        float want = half_to_float((unsigned short)i);
        REQUIRE(isnan(want) ? isnan(wide[i]) : wide[i] == want && signbit(wide[i]) == signbit(want));
    }
    for (int i = 0; i < 4096; i++) {
        double a = x[i], b = y[i];
        REQUIRE(out[i * 4] == float_to_half(a + b));
        REQUIRE(out[i * 4 + 1] == float_to_half(a * b));
        REQUIRE(out[i * 4 + 2] == float_to_half(a - b));
        REQUIRE(out[i * 4 + 3] == float_to_half(a < b ? a : b));
        REQUIRE(packed[i] == ((unsigned)float_to_half(b + b) << 16 | float_to_half(a + b)));
        if (failures > 10)
            break;
    }
    return finish();
}
