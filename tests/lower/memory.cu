// Spaces, vectors, volatile, caches, atomics, fences, static and dynamic shared memory, constants, local arrays.
#include <cstdint>

struct point {
    double x;
    char tag;
    const int *next;
};
__constant__ float table[64] = {1.5f, -2.0f, 3.25f};
__constant__ const float *inside = &table[1];
__device__ int counter = 42;
__device__ int *where = &counter;
__device__ point origin = {1.0, 'o', &counter};
__device__ unsigned short shorts[5] = {1, 2, 3};
__device__ __managed__ long long shared_with_host = -7;
__device__ char text[] = "hello";

__global__ void spaces(float *out, int n)
{
    __shared__ float tile[32][33];
    extern __shared__ double dynamic[];
    float local[40];
    for (int i = 0; i < 40; i++)
        local[i] = i * n;
    tile[threadIdx.y][threadIdx.x] = table[threadIdx.x & 63] + inside[2];
    dynamic[threadIdx.x] = origin.x + *origin.next + *where + text[n & 3] + shorts[n & 3];
    __syncthreads();
    shared_with_host += counter;
    out[threadIdx.x] = tile[threadIdx.x & 31][threadIdx.y] + dynamic[n & 15] + local[n & 31];
}

__global__ void vectors(float4 *a, double2 *b, char4 *c, short2 *d, longlong2 *e, uchar2 *f, const float4 *__restrict__ g)
{
    int i = threadIdx.x;
    a[i] = a[i + 1];
    b[i] = b[i + 1];
    c[i] = c[i + 1];
    d[i] = d[i + 1];
    e[i] = e[i + 1];
    f[i] = f[i + 1];
    a[i + 2] = __ldg(&g[i]);
    a[i + 3] = __ldcs(&a[i + 4]);
    __stwt(&a[i + 5], __ldcg(&a[i + 6]));
    a[i + 7] = __ldca(&a[i + 8]);
    a[i + 7] = __ldcv(&a[i + 9]);
    __stcg(&d[i], __ldlu(&d[i + 3]));
}

__global__ void ordered(volatile int *a, int *b, unsigned long long *c)
{
    a[0] = a[1] + 1;
    __threadfence();
    b[0] = 1;
    __threadfence_block();
    b[1] = 2;
    __threadfence_system();
    c[0] = 3;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(b[3]) : "l"(b) : "memory");
    asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(b), "r"(4) : "memory");
    asm volatile("ld.relaxed.cta.u32 %0, [%1];" : "=r"(b[3]) : "l"(b) : "memory");
    asm volatile("fence.sc.gpu;" ::: "memory");
    asm volatile("fence.acq_rel.cta;" ::: "memory");
    asm volatile("prefetch.global.L2 [%0];" ::"l"(b));
    asm volatile("prefetchu.L1 [%0];" ::"l"(b));
}

template <typename T> __device__ void some(T *p)
{
    p[1] = atomicAdd(p, T(1)) + atomicExch(p, T(2)) + atomicMin(p, T(3)) + atomicMax(p, T(4)) + atomicAnd(p, T(5)) +
           atomicOr(p, T(6)) + atomicXor(p, T(7)) + atomicCAS(p, T(8), T(9));
}
__global__ void atomics(int *i, unsigned *u, unsigned long long *l, long long *s, float *f, double *d, unsigned short *h, int *stay)
{
    __shared__ unsigned cell;
    some(i);
    some(u);
    some(l);
    f[1] = atomicAdd(f, 1.f) + atomicExch(f, 2.f);
    d[1] = atomicAdd(d, 1.0) + atomicAdd_block(d, 2.0) + atomicAdd_system(d, 2.0);
    s[1] = atomicMin(s, -1ll) + atomicMax(s, 1ll);
    u[2] = atomicInc(u, 5) + atomicDec(u, 6) + atomicSub(u, 1u);
    h[1] = atomicCAS(h, (unsigned short)1, (unsigned short)2);
    atomicAdd(&cell, 1u);
    atomicAdd(stay, 1);
    atomicMax(stay + 1, 1);
    __syncthreads();
    stay[2] = cell;
}
