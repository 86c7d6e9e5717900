/* For parse_files: compiled by clang alone, without any CUDA header. Tables of functions, packed pointers, a switch, recursion by
 * templates, labels of inline assembly that stand twice. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
typedef unsigned long size_t;
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
__device__ double halves[2][3] = {{0.5, 0.25}, {1}};
struct packed { char c; int *p; } __attribute__((packed));
__device__ struct packed where = {1, &counter};
__device__ const char *text = "text";
__device__ int twice(int x) { return 2 * x; }
__device__ int thrice(int x) { return 3 * x; }
__device__ int (*functions[2])(int) = {twice, thrice};
struct shape { int n; float f[6]; };
extern "C" __global__ void kernel(int *out, struct shape s, int n)
{
    __shared__ float tile[32][33];
    int local[16];
    for (int i = 0; i < 16; i++)
        local[i] = i * n;
    tile[n & 31][3] = s.f[n % 6] * table[n & 3];
    __nvvm_barrier_sync(0);
    out[__nvvm_read_ptx_sreg_tid_x()] = functions[n & 1](local[n & 15]) + (int)tile[3][n & 31] + text[n & 3] + (int)halves[1][n % 3];
    __nvvm_atom_add_gen_i(&counter, *where.p);
}
template <int N> __device__ int pick(int x)
{
    switch (x) {
    case 0: return N;
    case 1: return x * 7;
    case 2: return x ^ N;
    case 3: return x - N;
    case 4: return 99 / N;
    case 5: return x << N;
    default: return pick<N - 1>(x - 1);
    }
}
template <> __device__ int pick<0>(int x) { return x; }
extern "C" __global__ void many(int *out, double d, long long l, short h, unsigned char c, _Float16 f)
{
    out[0] = pick<6>(out[1]);
    out[1] = (int)d + (int)l + h + c + (int)(float)f;
    asm volatile("{ .reg .pred p; LAB_WAIT: setp.ne.s32 p, %0, 0; @p bra DONE; bra LAB_WAIT; DONE: }" ::"r"(out[2]));
    asm volatile("{ .reg .pred p; LAB_WAIT: setp.ne.s32 p, %0, 1; @p bra DONE; bra LAB_WAIT; DONE: }" ::"r"(out[3]));
}
