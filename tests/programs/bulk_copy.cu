// arch: 90
// Bulk copies and their barriers: from and to global memory, into other blocks of a cluster, to several at once, with sums on the
// way; st.async and red.async; cuda::barrier with transactions.
#include "check.h"
#include <cuda/barrier>

enum { WORDS = 1024, CLUSTER = 4 };

__device__ static unsigned window(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ static unsigned rank_of()
{
    unsigned rank;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ static unsigned of_rank(const void *at, unsigned rank)
{
    unsigned there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(window(at)), "r"(rank));
    return there;
}

__device__ static void init(unsigned long long *object, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(window(object)), "r"(count) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
}

__device__ static void expect(unsigned long long *object, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(window(object)), "r"(bytes) : "memory");
}

__device__ static void wait(unsigned long long *object, unsigned parity)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(window(object)), "r"(parity)
                     : "memory");
}

__device__ static void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release;\n\tbarrier.cluster.wait.acquire;" ::: "memory");
}

// Stages of a pipeline: two buffers, one barrier each.
__global__ void pipeline(int *out, const int *in, int steps)
{
    __shared__ __align__(128) int buffers[2][256];
    __shared__ __align__(128) int result[256];
    __shared__ __align__(8) unsigned long long full[2];

    if (threadIdx.x == 0) {
        init(&full[0], 1);
        init(&full[1], 1);
    }
    __syncthreads();
    auto fetch = [&](int step) {
        if (threadIdx.x == 0) {
            expect(&full[step % 2], 1024);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];" ::"r"(
                             window(buffers[step % 2])),
                         "l"(in + (blockIdx.x * steps + step) * 256), "r"(window(&full[step % 2]))
                         : "memory");
        }
    };
    fetch(0);
    for (int step = 0; step < steps; step++) {
        if (step + 1 < steps)
            fetch(step + 1);
        wait(&full[step % 2], step / 2 % 2);
        for (int i = threadIdx.x; i < 256; i += blockDim.x)
            result[i] = buffers[step % 2][i] * 2 + step;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.prefetch.L2.global [%0], 1024;" ::"l"(in) : "memory");
            asm volatile(
                "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + (blockIdx.x * steps + step) * 256),
                "r"(window(result)), "r"(1024)
                : "memory");
            asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Each block sends its words to the next one, and block 1 sends to all but 2.
__global__ void __cluster_dims__(CLUSTER) around(int *out, const int *in)
{
    __shared__ __align__(16) int mine[64], got[64], all[64];
    __shared__ __align__(8) unsigned long long object, second;
    unsigned rank = rank_of(), next = (rank + 1) % CLUSTER;

    mine[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
    all[threadIdx.x] = -1;
    if (threadIdx.x == 0) {
        init(&object, 1);
        init(&second, 1);
        expect(&object, 256);
        if (rank != 2)
            expect(&second, 256);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_sync();
    if (threadIdx.x == 5)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         of_rank(got, next)),
                     "r"(window(mine)), "r"(256), "r"(of_rank(&object, next))
                     : "memory");
    if (threadIdx.x == 6 && rank == 1)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(
                window(all)),
            "l"(in), "r"(256), "r"(window(&second)), "h"((unsigned short)0xb)
            : "memory");
    wait(&object, 0);
    if (rank != 2)
        wait(&second, 0);
    out[blockIdx.x * 128 + threadIdx.x] = got[threadIdx.x];
    out[blockIdx.x * 128 + 64 + threadIdx.x] = all[threadIdx.x];
    cluster_sync();
}

// Stores and additions that count as transactions at a barrier of the next block.
__global__ void __cluster_dims__(CLUSTER) asynchronous(unsigned *out)
{
    __shared__ __align__(16) unsigned words[64], sums[8];
    __shared__ __align__(16) unsigned long long wide[2];
    __shared__ __align__(8) unsigned long long object;
    unsigned rank = rank_of(), next = (rank + 1) % CLUSTER, lane = threadIdx.x;

    if (lane < 8)
        sums[lane] = lane == 1 ? 1000 : lane == 3 ? 0xffff : 0;
    if (lane < 2)
        wide[lane] = 0;
    if (lane == 0) {
        init(&object, 1);
        expect(&object, 32 * 4 + 32 * 4 * 5 + 32 * 8);
    }
    cluster_sync();
    unsigned there = of_rank(&object, next);
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(of_rank(&words[lane], next)),
        "r"(rank * 100 + lane), "r"(there)
        : "memory");
#define RED(op, type, n, value)                                                                                                    \
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." op "." type                             \
                 " [%0], %1, [%2];" ::"r"(of_rank(&sums[n], next)),                                                                \
                 "r"(value), "r"(there)                                                                                            \
                 : "memory")
    RED("add", "u32", 0, lane);
    RED("min", "u32", 1, lane + 5);
    RED("max", "s32", 2, lane * 3);
    RED("and", "b32", 3, ~(1u << lane % 16));
    RED("inc", "u32", 4, 20u);
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%0], %1, [%2];" ::"r"(
                     of_rank(&wide[0], next)),
                 "l"(0x100000001ull * lane), "r"(there)
                 : "memory");
    wait(&object, 0);
    unsigned *to = out + blockIdx.x * 64;
    to[lane] = words[lane];
    if (lane < 5)
        to[32 + lane] = sums[lane];
    if (lane == 0) {
        to[40] = (unsigned)wide[0];
        to[41] = (unsigned)(wide[0] >> 32);
    }
    cluster_sync();
}

// A block's shared words are combined with words in global memory.
#define REDUCE(text)                                                                                                               \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." text " [%0], [%1], 64;" ::"l"(to), "r"(window(words))       \
                 : "memory")

__global__ void combine(int kind, void *to, const unsigned *from)
{
    __shared__ __align__(16) unsigned words[16];
    if (threadIdx.x < 16)
        words[threadIdx.x] = from[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x)
        return;
    switch (kind) {
    case 0:
        REDUCE("add.u32");
        break;
    case 1:
        REDUCE("add.s32");
        break;
    case 2:
        REDUCE("add.u64");
        break;
    case 3:
        REDUCE("inc.u32");
        break;
    case 4:
        REDUCE("dec.u32");
        break;
    case 5:
        REDUCE("min.u32");
        break;
    case 6:
        REDUCE("max.s32");
        break;
    case 7:
        REDUCE("min.s64");
        break;
    case 8:
        REDUCE("max.u64");
        break;
    case 9:
        REDUCE("and.b32");
        break;
    case 10:
        REDUCE("or.b64");
        break;
    case 11:
        REDUCE("xor.b32");
        break;
    case 12:
        REDUCE("add.f32");
        break;
    case 13:
        REDUCE("add.f64");
        break;
    case 14:
        REDUCE("add.noftz.f16");
        break;
    case 15:
        REDUCE("add.noftz.bf16");
        break;
    case 16:
        REDUCE("min.f16");
        break;
    case 17:
        REDUCE("max.bf16");
        break;
    }
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

// Sums of shared memory of other blocks, with transactions.
__global__ void __cluster_dims__(2) combine_there(int *out)
{
    __shared__ __align__(16) int mine[32], sums[32];
    __shared__ __align__(8) unsigned long long object;
    unsigned rank = rank_of();
    mine[threadIdx.x] = (int)(rank * 1000 + threadIdx.x);
    sums[threadIdx.x] = (int)threadIdx.x * 7;
    if (threadIdx.x == 0) {
        init(&object, 1);
        expect(&object, 128);
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    cluster_sync();
    if (threadIdx.x == 9)
        asm volatile(
            "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s32 [%0], [%1], %2, [%3];" ::"r"(
                of_rank(sums, rank ^ 1)),
            "r"(window(mine)), "r"(128), "r"(of_rank(&object, rank ^ 1))
            : "memory");
    wait(&object, 0);
    out[blockIdx.x * 32 + threadIdx.x] = sums[threadIdx.x];
    cluster_sync();
}

// The same by CUDA's library.
__global__ void by_library(int *out, const int *in)
{
    using barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ __align__(16) int words[WORDS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier object;
    if (threadIdx.x == 0) {
        init(&object, blockDim.x);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(words, in + blockIdx.x * WORDS, cuda::aligned_size_t<16>(sizeof(words)), object);
        token = object.arrive();
    } else {
        token = object.arrive();
    }
    object.wait(std::move(token));
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
        out[blockIdx.x * WORDS + i] = words[i] + 1;
}

static float as_float(unsigned bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

// Small halves, exact in all formats: 0 to 15.
static unsigned packed(unsigned n, bool brain)
{
    float value = (float)n;
    unsigned bits;
    memcpy(&bits, &value, 4);
    if (brain)
        return bits >> 16;
    return n ? ((bits >> 23) - 112) << 10 | (bits >> 13 & 0x3ff) : 0;
}

static void combinations()
{
    unsigned *to = managed<unsigned>(16), *from = managed<unsigned>(16);
    for (int kind = 0; kind < 18; kind++) {
        unsigned want[16];
        for (unsigned i = 0; i < 16; i++) {
            unsigned a = kind == 3 || kind == 4 ? i * 3 % 7 : 0x70000000u * i + i,
                     b = kind == 3 || kind == 4 ? i % 5 : 0x9100fff1u * (i + 1);
            bool brain = kind == 15 || kind == 17;
            if (kind == 12)
                a = 0x3f800000u + i * 0x400000, b = 0x40490fdbu + i;
            if (kind == 13)
                a = i % 2 ? 0x3ff00000u + i * 0x10000 : i, b = i % 2 ? 0x40090000u + i : 12345 * i;
            if (kind >= 14)
                a = packed(i % 7, brain) | packed(i % 3, brain) << 16, b = packed(i % 5, brain) | packed(i % 8, brain) << 16;
            to[i] = a;
            from[i] = b;
        }
        for (int i = 0; i < 16; i++) {
            unsigned a = to[i], b = from[i];
            unsigned long long wa, wb, w;
            memcpy(&wa, &to[i / 2 * 2], 8);
            memcpy(&wb, &from[i / 2 * 2], 8);
            double da, db;
            memcpy(&da, &wa, 8);
            memcpy(&db, &wb, 8);
            float sum = as_float(a) + as_float(b);
            bool wide = false, brain = kind == 15 || kind == 17;
            auto pairs = [&](unsigned x, unsigned y, int shift) {
                unsigned best = 0;
                for (unsigned n = 0; n < 16; n++) {
                    unsigned m = 0, k = 0;
                    for (unsigned c = 0; c < 16; c++) {
                        if (packed(c, brain) == (x >> shift & 0xffff))
                            m = c;
                        if (packed(c, brain) == (y >> shift & 0xffff))
                            k = c;
                    }
                    best = kind < 16 ? m + k : kind == 16 ? (m < k ? m : k) : (m > k ? m : k);
                }
                return packed(best, brain) << shift;
            };
            switch (kind) {
            case 0:
            case 1:
                want[i] = a + b;
                break;
            case 2:
                w = wa + wb;
                wide = true;
                break;
            case 3:
                want[i] = a >= b ? 0 : a + 1;
                break;
            case 4:
                want[i] = a == 0 || a > b ? b : a - 1;
                break;
            case 5:
                want[i] = a < b ? a : b;
                break;
            case 6:
                want[i] = (int)a > (int)b ? a : b;
                break;
            case 7:
                w = (long long)wa < (long long)wb ? wa : wb;
                wide = true;
                break;
            case 8:
                w = wa > wb ? wa : wb;
                wide = true;
                break;
            case 9:
                want[i] = a & b;
                break;
            case 10:
                w = wa | wb;
                wide = true;
                break;
            case 11:
                want[i] = a ^ b;
                break;
            case 12:
                memcpy(&want[i], &sum, 4);
                break;
            case 13:
                da += db;
                memcpy(&w, &da, 8);
                wide = true;
                break;
            default:
                want[i] = pairs(a, b, 0) | pairs(a, b, 16);
                break;
            }
            if (wide)
                want[i] = (unsigned)(w >> i % 2 * 32);
        }
        combine<<<1, 32>>>(kind, to, from);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 16; i++)
            if (to[i] != want[i]) {
                printf("kind %d word %d: %08x, expected %08x\n", kind, i, to[i], want[i]);
                failures++;
                break;
            }
    }
}

int main()
{
    const int blocks = 6, steps = 5;
    int *in = managed<int>(blocks * steps * 256), *out = managed<int>(blocks * steps * 256);
    for (int i = 0; i < blocks * steps * 256; i++)
        in[i] = i * 17 - 9;
    pipeline<<<blocks, 64>>>(out, in, steps);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < blocks * steps * 256; i++)
        REQUIRE(out[i] == in[i] * 2 + i / 256 % steps);
    around<<<8, 64>>>(out, in);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < 8; b++)
        for (int i = 0; i < 64; i++) {
            REQUIRE(out[b * 128 + i] == (b / 4 * 4 + (b + 3) % 4) * 100 + i);
            REQUIRE(out[b * 128 + 64 + i] == (b % 4 == 2 ? -1 : in[i]));
        }
    unsigned *words = (unsigned *)out;
    asynchronous<<<8, 32>>>(words);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int b = 0; b < 8; b++) {
        unsigned *got = words + b * 64;
        for (unsigned i = 0; i < 32; i++)
            REQUIRE(got[i] == (b + 3) % 4 * 100 + i);
        REQUIRE(got[32] == 496 && got[33] == 5 && got[34] == 93 && got[35] == 0 && got[36] == 32 % 21);
        REQUIRE(got[40] == 496 && got[41] == 496);
    }
    combinations();
    combine_there<<<2, 32>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == (1 - i / 32) * 1000 + i % 32 * 8);
    by_library<<<4, 128>>>(out, in);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 4 * WORDS; i++)
        REQUIRE(out[i] == in[i] + 1);
    return finish();
}
