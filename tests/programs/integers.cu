// Integer arithmetic of every width: division and remainder by zero aside, shifts past the width, high products, bit counts,
// narrow types; against the host.
#include "check.h"

__host__ __device__ static unsigned mix(unsigned a, unsigned b)
{
    unsigned char c = (unsigned char)(a * b);
    short s = (short)(a - b);
    signed char t = (signed char)(b >> 3);
    return (unsigned)(c * 3 + s * t) ^ (a % (b | 1)) ^ (unsigned)((int)a / (int)(b | 1)) ^ (a << b % 32) ^ (unsigned)((int)a >> b % 32);
}

__host__ __device__ static unsigned long long wide(unsigned long long a, unsigned long long b)
{
    return a * b ^ a / (b | 1) ^ (unsigned long long)((long long)a % (long long)(b | 1)) ^ a << b % 64 ^ (a >> b % 64) + b;
}

__global__ void run(const unsigned *a, const unsigned *b, unsigned *out, unsigned long long *out64, unsigned *bits)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long x = (unsigned long long)a[i] << 32 | b[i], y = (unsigned long long)b[i] << 20 | a[i] % 4096;
    out[i] = mix(a[i], b[i]);
    out64[i * 2] = wide(x, y);
    out64[i * 2 + 1] = __umul64hi(x, y);
    bits[i * 6] = __popc(a[i]) * 64 + __popcll(x);
    bits[i * 6 + 1] = __clz(a[i]) * 128 + __clzll(x);
    bits[i * 6 + 2] = __brev(a[i]);
    bits[i * 6 + 3] = __ffs(b[i]) * 128 + __ffsll(y);
    bits[i * 6 + 4] = __byte_perm(a[i], b[i], b[i]);
    bits[i * 6 + 5] = __umulhi(a[i], b[i]) ^ __funnelshift_l(a[i], b[i], a[i]) ^ __mulhi((int)a[i], (int)b[i]);
}

__device__ unsigned device_shift(unsigned x, unsigned n)
{
    unsigned result;
    asm("shl.b32 %0, %1, %2;" : "=r"(result) : "r"(x), "r"(n));
    return result;
}
__global__ void shifts(unsigned *out)
{
    out[threadIdx.x] = device_shift(0xdeadbeef, threadIdx.x);
}

int main()
{
    const int count = 8192;
    unsigned *a = managed<unsigned>(count), *b = managed<unsigned>(count), *out = managed<unsigned>(count), *bits = managed<unsigned>(count * 6);
    unsigned long long *out64 = managed<unsigned long long>(count * 2);
    uint32_t state = 77;
    for (int i = 0; i < count; i++) {
        a[i] = next_random(&state) >> i % 29;
        b[i] = next_random(&state) >> i % 31;
    }
    a[0] = b[0] = 0;
    a[1] = b[1] = ~0u;
    run<<<count / 256, 256>>>(a, b, out, out64, bits);
    unsigned *shifted = managed<unsigned>(64);
    shifts<<<1, 64>>>(shifted);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count && failures < 5; i++) {
        unsigned long long x = (unsigned long long)a[i] << 32 | b[i], y = (unsigned long long)b[i] << 20 | a[i] % 4096;
        REQUIRE(out[i] == mix(a[i], b[i]));
        REQUIRE(out64[i * 2] == wide(x, y));
        REQUIRE(out64[i * 2 + 1] == (unsigned long long)((unsigned __int128)x * y >> 64));
        REQUIRE(bits[i * 6] == (unsigned)(__builtin_popcount(a[i]) * 64 + __builtin_popcountll(x)));
        unsigned clz = a[i] ? __builtin_clz(a[i]) : 32, clzll = x ? __builtin_clzll(x) : 64;
        REQUIRE(bits[i * 6 + 1] == clz * 128 + clzll);
        unsigned reversed = 0, permuted = 0;
        for (int j = 0; j < 32; j++)
            reversed |= (a[i] >> j & 1) << (31 - j);
        REQUIRE(bits[i * 6 + 2] == reversed);
        REQUIRE(bits[i * 6 + 3] == (unsigned)(__builtin_ffs((int)b[i]) * 128 + __builtin_ffsll((long long)y)));
        for (int j = 0; j < 4; j++) {
            unsigned selector = b[i] >> j * 4 & 7, byte = (unsigned)(((unsigned long long)b[i] << 32 | a[i]) >> selector * 8) & 255;
            permuted |= byte << j * 8; // __byte_perm uses three bits of each selector
        }
        REQUIRE(bits[i * 6 + 4] == permuted);
        unsigned shift = a[i] & 31;
        unsigned funnel = (unsigned)(((unsigned long long)b[i] << 32 | a[i]) << shift >> 32);
        unsigned high = (unsigned)((unsigned long long)a[i] * b[i] >> 32) ^ (unsigned)((long long)(int)a[i] * (int)b[i] >> 32);
        REQUIRE(bits[i * 6 + 5] == (high ^ funnel));
    }
    for (unsigned i = 0; i < 64; i++)
        REQUIRE(shifted[i] == (i < 32 ? 0xdeadbeef << i : 0));
    return finish();
}
