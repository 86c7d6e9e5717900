// Single precision, bit for bit with the host where IEEE fixes the answer: all four roundings, fused, division, square root,
// denormals, infinities, conversions. And within the documented error for the functions that approximate.
#include "check.h"
#include <fenv.h>

__global__ void exact(const float *x, const float *y, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i], b = y[i], *o = out + i * 16;
    o[0] = __fadd_rn(a, b), o[1] = __fadd_rz(a, b), o[2] = __fadd_rd(a, b), o[3] = __fadd_ru(a, b);
    o[4] = __fmul_rn(a, b), o[5] = __fmul_rz(a, b), o[6] = __fmul_rd(a, b), o[7] = __fmul_ru(a, b);
    o[8] = __fdiv_rn(a, b), o[9] = __fdiv_rz(a, b), o[10] = __fdiv_rd(a, b), o[11] = __fdiv_ru(a, b);
    o[12] = __fsqrt_rn(fabsf(a)), o[13] = __fmaf_rn(a, b, a), o[14] = __fmaf_ru(a, b, b), o[15] = __frcp_rn(a);
}

__global__ void convert(const float *x, int *ints, unsigned *unsigneds, float *back)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    ints[i] = (int)x[i];
    unsigneds[i] = (unsigned)x[i];
    back[i] = (float)(int)(i * 2654435761u);
}

__global__ void approximate(const float *x, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i * 4] = rsqrtf(x[i]);
    out[i * 4 + 1] = __expf(x[i]);
    out[i * 4 + 2] = __logf(x[i]);
    out[i * 4 + 3] = __fdividef(1.0f, x[i]);
}

static float special(uint32_t *state, int i)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x807fffff, 0x00800000, 0x7f7fffff,
                                    0xff7fffff, 0x7f800000, 0xff800000, 0x3f800000, 0xbf800000, 0x3f7fffff};
    uint32_t value = i % 3 == 0 ? bits[next_random(state) >> 8 & 0xff % 12] : next_random(state) ^ next_random(state) >> 16;
    if ((value & 0x7f800000) == 0x7f800000)
        value &= 0xff800000; // no NaN: the host's payloads differ
    float f;
    memcpy(&f, &value, 4);
    return f;
}

static void compare(const char *what, int i, float got, float want)
{
    if (isnan(got) && isnan(want))
        return;
    if (memcmp(&got, &want, 4) != 0 && failures++ < 10)
        printf("%s at %d: %a, expected %a\n", what, i, got, want);
}

int main()
{
    const int count = 16384, modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    float *x = managed<float>(count), *y = managed<float>(count), *out = managed<float>(count * 16), *back = managed<float>(count);
    int *ints = managed<int>(count);
    unsigned *unsigneds = managed<unsigned>(count);
    uint32_t state = 5;
    for (int i = 0; i < count; i++) {
        x[i] = special(&state, i);
        y[i] = special(&state, i / 3);
    }
    exact<<<count / 256, 256>>>(x, y, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        volatile float a = x[i], b = y[i], r;
        for (int m = 0; m < 4; m++) {
            fesetround(modes[m]);
            r = a + b;
            compare("add", i, out[i * 16 + m], r);
            r = a * b;
            compare("mul", i, out[i * 16 + 4 + m], r);
            r = a / b;
            compare("div", i, out[i * 16 + 8 + m], r);
        }
        r = fmaf(a, b, b);
        compare("fma ru", i, out[i * 16 + 14], r);
        fesetround(FE_TONEAREST);
        compare("sqrt", i, out[i * 16 + 12], sqrtf(fabsf(a)));
        compare("fma rn", i, out[i * 16 + 13], fmaf(a, b, a));
        compare("rcp", i, out[i * 16 + 15], 1.0f / a);
    }
    for (int i = 0; i < count; i++)
        x[i] = (float)((int)next_random(&state)) * (i % 7 ? 0.001f : 3.0f);
    convert<<<count / 256, 256>>>(x, ints, unsigneds, back);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        double v = trunc(x[i]);
        REQUIRE(ints[i] == (v > 2147483647.0 ? 2147483647 : v < -2147483648.0 ? (int)0x80000000 : (int)v));
        REQUIRE(unsigneds[i] == (v > 4294967295.0 ? ~0u : v < 0 ? 0u : (unsigned)v));
        REQUIRE(back[i] == (float)(int)(i * 2654435761u));
        x[i] = (i + 1) * 0.003f;
    }
    approximate<<<count / 256, 256>>>(x, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        double want[] = {1 / sqrt((double)x[i]), exp((double)x[i]), log((double)x[i]), 1.0 / x[i]};
        for (int j = 0; j < 4; j++) {
            double tolerance = j == 1 ? (2 + 1.16 * fabs(x[i])) * 1.2e-7 * want[j] : j == 2 ? 4e-7 + fabs(want[j]) * 3e-7 : want[j] * 3e-7;
            if (j == 1 && want[j] > 3e38)
                continue;
            REQUIRE(fabs(out[i * 4 + j] - want[j]) <= tolerance);
        }
    }
    return finish();
}
