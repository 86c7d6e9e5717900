// Atomics: every operation in 32 and 64 bits on global and shared memory, contended and not; floats; compare and swap loops.
#include "check.h"

__global__ void global_all(unsigned *u, int *s, unsigned long long *l, float *f, double *d)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&u[0], 1u);
    atomicSub(&u[1], 2u);
    atomicMin(&u[2], (unsigned)i);
    atomicMax(&u[3], (unsigned)i);
    atomicAnd(&u[4], ~(1u << i % 31));
    atomicOr(&u[5], 1u << i % 31);
    atomicXor(&u[6], (unsigned)i);
    atomicInc(&u[7], 99u);
    atomicDec(&u[8], 99u);
    atomicMin(&s[0], 5 - i);
    atomicMax(&s[1], i - 5);
    atomicAdd(&s[2], -i);
    atomicAdd(&l[0], 1ull << 32);
    atomicMin(&l[1], (1ull << 40) - i);
    atomicMax(&l[2], (1ull << 40) + i);
    atomicOr(&l[3], 1ull << i % 64);
    atomicXor(&l[4], (unsigned long long)i << 32);
    atomicAnd(&l[5], ~(1ull << i % 63));
    atomicAdd(&f[0], 1.0f);
    atomicAdd(&d[0], 0.5);
    unsigned old, seen = u[9];
    do {
        old = seen;
        seen = atomicCAS(&u[9], old, old * 3 + 1 & 0xffff);
    } while (seen != old);
    unsigned long long wide = l[6], was;
    do {
        was = wide;
        wide = atomicCAS(&l[6], was, was + (1ull << 33));
    } while (wide != was);
    if (atomicExch(&u[10 + i % 7], (unsigned)i) == 0)
        atomicAdd(&u[20], 1u);
}

__global__ void histogram(const unsigned char *data, int count, int *bins)
{
    __shared__ int local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        atomicAdd(&local[data[i]], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void tickets(int *slots, int *next)
{
    int mine = atomicAdd(next, 1);
    slots[mine] = 1;
}

int main()
{
    const int n = 40 * 256;
    unsigned *u = managed<unsigned>(32);
    int *s = managed<int>(4);
    unsigned long long *l = managed<unsigned long long>(8);
    float *f = managed<float>(1);
    double *d = managed<double>(1);
    u[2] = u[4] = ~0u;
    u[1] = 2 * n;
    u[8] = 50;
    l[1] = l[5] = ~0ull;
    global_all<<<40, 256>>>(u, s, l, f, d);
    CHECK(cudaDeviceSynchronize());
    unsigned x = 0, inc = 0, dec = 50, cas = 0;
    unsigned long long lx = 0;
    for (int i = 0; i < n; i++) {
        x ^= i;
        lx ^= (unsigned long long)i << 32;
        inc = inc >= 99 ? 0 : inc + 1;
        dec = dec == 0 || dec > 99 ? 99 : dec - 1;
        cas = cas * 3 + 1 & 0xffff;
    }
    REQUIRE(u[0] == n && u[1] == 0 && u[2] == 0 && u[3] == n - 1 && u[4] == 0x80000000u && u[5] == 0x7fffffff && u[6] == x);
    REQUIRE(u[7] == inc && u[8] == dec && u[9] == cas);
    REQUIRE(s[0] == 5 - (n - 1) && s[1] == n - 6 && s[2] == -(n * (n - 1) / 2));
    REQUIRE(l[0] == (unsigned long long)n << 32 && l[1] == (1ull << 40) - (n - 1) && l[2] == (1ull << 40) + n - 1);
    REQUIRE(l[3] == ~0ull && l[4] == lx && l[5] == 1ull << 63 && l[6] == (unsigned long long)n << 33);
    REQUIRE(f[0] == n && d[0] == n * 0.5);
    REQUIRE(u[20] == 7 || u[20] == 8); // thread 0 puts a zero into slot 10

    const int count = 100000;
    unsigned char *data = managed<unsigned char>(count);
    int *bins = managed<int>(256), want[256] = {0};
    uint32_t state = 9;
    for (int i = 0; i < count; i++) {
        data[i] = next_random(&state) >> 24;
        want[data[i]]++;
    }
    histogram<<<8, 256>>>(data, count, bins);
    CHECK(cudaDeviceSynchronize());
    same("histogram", bins, want, 256);
    int *slots = managed<int>(n), *next = managed<int>(1);
    tickets<<<40, 256>>>(slots, next);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < n; i++)
        REQUIRE(slots[i] == 1);
    return finish();
}
