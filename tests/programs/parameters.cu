// Kernel parameters: every scalar type, structs by value with padding, and more than 4 KB of them.
#include "check.h"

struct inner {
    char tag;
    double value;
};
struct outer {
    short a;
    inner parts[3];
    int *target;
    unsigned char tail[5];
};
struct huge {
    int words[2000]; // 8,000 bytes
};

__global__ void scalars(char a, short b, int c, long long d, unsigned char e, float f, double g, bool h, double *out)
{
    out[0] = a + b + c + (double)d + e + f + g + h;
}

__global__ void by_value(outer o, int scale)
{
    int i = threadIdx.x;
    o.target[i] = (int)(o.parts[i % 3].value * scale) + o.parts[i % 3].tag + o.a + o.tail[i % 5];
}

struct medium {
    int words[64];
};
__device__ __noinline__ int pick(medium h, int i)
{
    h.words[i] += 1;
    return h.words[i];
}

__global__ void large(const __grid_constant__ huge h, int *out, int last)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < 2000)
        out[i] = h.words[i] + h.words[1999 - i] + last;
}

__global__ void passes_on(medium h, int *out)
{
    out[threadIdx.x] = pick(h, threadIdx.x * 7 % 64);
}

int main()
{
    double *out = managed<double>(1);
    scalars<<<1, 1>>>(-3, 1000, 1 << 20, 1ll << 40, 200, 0.5f, 0.25, true, out);
    outer o = {};
    o.a = 5;
    for (int i = 0; i < 3; i++)
        o.parts[i] = {(char)('a' + i), i + 0.5};
    for (int i = 0; i < 5; i++)
        o.tail[i] = (unsigned char)(250 + i);
    o.target = managed<int>(64);
    by_value<<<1, 64>>>(o, 10);
    static huge h;
    for (int i = 0; i < 2000; i++)
        h.words[i] = i * i;
    int *words = managed<int>(2000), *picked = managed<int>(64);
    large<<<8, 256>>>(h, words, 9);
    medium m;
    memcpy(&m, &h, sizeof(m));
    passes_on<<<1, 64>>>(m, picked);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(out[0] == -3.0 + 1000 + (1 << 20) + (double)(1ll << 40) + 200 + 0.5 + 0.25 + 1);
    for (int i = 0; i < 64; i++) {
        REQUIRE(o.target[i] == (int)((i % 3 + 0.5) * 10) + 'a' + i % 3 + 5 + 250 + i % 5);
        REQUIRE(picked[i] == h.words[i * 7 % 64] + 1);
    }
    for (int i = 0; i < 2000; i++)
        REQUIRE(words[i] == i * i + (1999 - i) * (1999 - i) + 9);
    return finish();
}
