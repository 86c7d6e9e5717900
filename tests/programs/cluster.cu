// arch: 90
// Clusters: distributed shared memory, the barrier of a cluster, addresses of other blocks' memory in every form, launches with the
// attribute.
#include "check.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

enum { BINS = 512, VALUES = 1 << 14, ROUNDS = 100 };

// ---- a histogram whose bins are spread over the cluster

__global__ void histogram(int *bins, const int *values, int count)
{
    extern __shared__ int part[];
    cg::cluster_group cluster = cg::this_cluster();
    int each = BINS / cluster.num_blocks();

    for (int i = threadIdx.x; i < each; i += blockDim.x)
        part[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        int bin = min(max(values[i], 0), BINS - 1);
        atomicAdd(cluster.map_shared_rank(part, bin / each) + bin % each, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < each; i += blockDim.x)
        atomicAdd(&bins[cluster.block_rank() * each + i], part[i]);
}

static cudaError_t launch_histogram(int blocks, int size, int *bins, const int *values, bool larger = false)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(96);
    config.dynamicSmemBytes = BINS * sizeof(int);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {(unsigned)size, 1, 1};
    config.attrs = &attribute;
    config.numAttrs = 1;
    CHECK(cudaFuncSetAttribute(histogram, cudaFuncAttributeNonPortableClusterSizeAllowed, larger));
    cudaError_t error = cudaLaunchKernelEx(&config, histogram, bins, values, (int)VALUES);
    return error != cudaSuccess ? error : cudaDeviceSynchronize();
}

static void histograms()
{
    int *bins = managed<int>(BINS), *values = managed<int>(VALUES), want[BINS] = {};
    uint32_t state = 5;
    for (int i = 0; i < VALUES; i++) {
        values[i] = (int)(next_random(&state) >> 20) % (BINS + 40) - 20;
        want[values[i] < 0 ? 0 : values[i] >= BINS ? BINS - 1 : values[i]]++;
    }
    for (int size = 1; size <= 16; size *= 2) {
        memset(bins, 0, BINS * sizeof(int));
        CHECK(launch_histogram(32, size, bins, values, size > 8));
        REQUIRE(memcmp(bins, want, sizeof(want)) == 0);
    }
}

// ---- special registers, in three dimensions

struct place {
    unsigned cluster[3], clusters[3], cta[3], ctas[3], rank, ranks, is, id[3];
};

__global__ void __cluster_dims__(2, 3, 1) places(place *out)
{
    place p;
    asm("mov.u32 %0, %clusterid.x; mov.u32 %1, %clusterid.y; mov.u32 %2, %clusterid.z;"
        : "=r"(p.cluster[0]), "=r"(p.cluster[1]), "=r"(p.cluster[2]));
    asm("mov.u32 %0, %nclusterid.x; mov.u32 %1, %nclusterid.y; mov.u32 %2, %nclusterid.z;"
        : "=r"(p.clusters[0]), "=r"(p.clusters[1]), "=r"(p.clusters[2]));
    asm("mov.u32 %0, %cluster_ctaid.x; mov.u32 %1, %cluster_ctaid.y; mov.u32 %2, %cluster_ctaid.z;"
        : "=r"(p.cta[0]), "=r"(p.cta[1]), "=r"(p.cta[2]));
    asm("mov.u32 %0, %cluster_nctaid.x; mov.u32 %1, %cluster_nctaid.y; mov.u32 %2, %cluster_nctaid.z;"
        : "=r"(p.ctas[0]), "=r"(p.ctas[1]), "=r"(p.ctas[2]));
    asm("{\n\t.reg .pred q;\n\tmov.u32 %0, %cluster_ctarank;\n\tmov.u32 %1, %cluster_nctarank;\n\t"
        "mov.pred q, %is_explicit_cluster;\n\tselp.u32 %2, 1, 0, q;\n\t}"
        : "=r"(p.rank), "=r"(p.ranks), "=r"(p.is));
    p.id[0] = blockIdx.x;
    p.id[1] = blockIdx.y;
    p.id[2] = blockIdx.z;
    if (threadIdx.x == 0)
        out[blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)] = p;
}

static void special_registers()
{
    place *got = managed<place>(4 * 6 * 2);
    places<<<dim3(4, 6, 2), 33>>>(got);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (unsigned i = 0; i < 48; i++) {
        unsigned x = i % 4, y = i / 4 % 6, z = i / 24;
        place want = {{x / 2, y / 3, z}, {2, 2, 2}, {x % 2, y % 3, 0}, {2, 3, 1}, x % 2 + y % 3 * 2, 6, 1, {x, y, z}};
        REQUIRE(memcmp(&want, &got[i], sizeof(want)) == 0);
    }
}

// ---- addresses

__device__ static unsigned window(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

__global__ void __cluster_dims__(4) addresses(unsigned *out, unsigned *wrong)
{
    __shared__ __align__(16) unsigned cells[64];
    __shared__ unsigned table[4];
    unsigned rank, bad = 0, lane = threadIdx.x;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    unsigned next = (rank + 1) % 4, at, from;
    cells[lane] = rank * 100 + lane;
    if (lane < 4)
        table[lane] = 0;
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");

    // 32 bits
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(window(cells)), "r"(next));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(from) : "r"(at));
    bad += from != next;
    unsigned got, two[2];
    asm volatile("ld.shared::cluster.u32 %0, [%1 + 4];" : "=r"(got) : "r"(at) : "memory");
    bad += got != next * 100 + 1;
    asm volatile("ld.shared::cluster.v2.u32 {%0, %1}, [%2];" : "=r"(two[0]), "=r"(two[1]) : "r"(at + lane / 2 * 8) : "memory");
    bad += two[0] != next * 100 + lane / 2 * 2 || two[1] != two[0] + 1;
    // the own memory by the cluster's window
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(window(&cells[lane])) : "memory");
    bad += got != rank * 100 + lane;
    // generic, and which space it is
    unsigned long long wide;
    asm("mapa.u64 %0, %1, %2;" : "=l"(wide) : "l"(&cells[lane]), "r"(next));
    bad += *(unsigned *)wide != next * 100 + lane;
    asm("getctarank.u64 %0, %1;" : "=r"(from) : "l"(wide));
    bad += from != next;
    unsigned here, there;
    asm("{\n\t.reg .pred p, q;\n\tisspacep.shared::cta p, %2;\n\tselp.u32 %0, 1, 0, p;\n\t"
        "isspacep.shared::cluster q, %2;\n\tselp.u32 %1, 1, 0, q;\n\t}"
        : "=r"(here), "=r"(there)
        : "l"(wide));
    bad += here != 0 || there != 1;
    asm("{\n\t.reg .pred p, q;\n\tisspacep.shared::cta p, %2;\n\tselp.u32 %0, 1, 0, p;\n\t"
        "isspacep.shared::cluster q, %2;\n\tselp.u32 %1, 1, 0, q;\n\t}"
        : "=r"(here), "=r"(there)
        : "l"(&cells[lane]));
    bad += here != 1 || there != 1;
    asm("{\n\t.reg .pred q;\n\tisspacep.shared::cluster q, %1;\n\tselp.u32 %0, 1, 0, q;\n\t}" : "=r"(there) : "l"(out));
    bad += there != 0;
    // there and back
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(window((void *)wide)) : "memory");
    bad += got != next * 100 + lane;
    unsigned long long back;
    asm("{\n\t.reg .u64 t;\n\tcvt.u64.u32 t, %1;\n\tcvta.shared::cluster.u64 %0, t;\n\t}" : "=l"(back) : "r"(window((void *)wide)));
    bad += back != wide;
    // an address that another block made: cells of the block two further on, in the words of the next one
    if (lane == 0)
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at + window(table) - window(cells) + rank * 4), "r"(at) : "memory");
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    unsigned before = table[(rank + 3) % 4]; // made by the block before this: means this block's own cells
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(before + lane * 4) : "memory");
    bad += got != rank * 100 + lane;
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
    // atomics and stores of every lane into the next block
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at + lane * 4), "r"(rank * 1000 + lane) : "memory");
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
    asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(at), "r"(lane) : "memory");
    asm volatile("atom.shared::cluster.max.u32 %0, [%1], %2;" : "=r"(got) : "r"(at + 4), "r"(50000 + lane) : "memory");
    asm volatile("atom.relaxed.cluster.shared::cluster.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(got)
                 : "r"(at + 8), "r"(rank * 1000 + 2), "r"(7)
                 : "memory");
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
    out[blockIdx.x * 64 + lane] = cells[lane];
    atomicAdd(wrong, bad);
}

static void check_addresses()
{
    unsigned *got = managed<unsigned>(8 * 64), *wrong = managed<unsigned>(1);
    addresses<<<8, 64>>>(got, wrong);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*wrong == 0);
    for (unsigned block = 0; block < 8; block++)
        for (unsigned lane = 0; lane < 64; lane++) {
            unsigned before = (block + 3) % 4, want = before * 1000 + lane;
            want = lane == 0 ? want + 63 * 32 : lane == 1 ? 50063 : lane == 2 ? 7 : want;
            REQUIRE(got[block * 64 + lane] == want);
        }
}

// ---- waiting: values go round the cluster

__global__ void ring(int *out, int rounds)
{
    __shared__ int box[2];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), blocks = cluster.num_blocks();

    if (threadIdx.x == 0)
        box[0] = rank;
    cluster.sync();
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x == 37)
            cluster.map_shared_rank(box, (rank + 1) % blocks)[(i + 1) % 2] = box[i % 2] + 1;
        cluster.sync();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = box[rounds % 2];
    cluster.sync(); // nobody ends while others may look
}

// Some threads and some blocks end early; the others go on meeting.
__global__ void leavers(int *out)
{
    __shared__ int sum;
    unsigned rank = cg::this_cluster().block_rank(), blocks = cg::this_cluster().num_blocks();
    if (threadIdx.x == 0)
        sum = 0;
    cg::this_cluster().sync();
    if (rank % 2 == 1 && threadIdx.x % 3 == 0)
        return;
    if (rank == 2 && threadIdx.x >= 32)
        return;
    asm volatile("barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait;" ::: "memory");
    atomicAdd(cg::this_cluster().map_shared_rank(&sum, 0), 1);
    cg::this_cluster().sync();
    if (rank == 0 && threadIdx.x == 0)
        out[blockIdx.x / blocks] = sum;
    if (rank == blocks - 1 && threadIdx.x < 5)
        return;
    cg::this_cluster().sync();
}

// One thread of each block arrives at a barrier object of block 0; block 0 waits there.
__global__ void __cluster_dims__(8) remote_arrivals(int *out)
{
    __shared__ __align__(8) unsigned long long object;
    __shared__ int cells[8];
    unsigned rank = cg::this_cluster().block_rank(), at, cell, done = 0;
    if (rank == 0 && threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 8;" ::"r"(window(&object)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cg::this_cluster().sync();
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(at) : "r"(window(&object)));
    asm("mapa.shared::cluster.u32 %0, %1, 0;" : "=r"(cell) : "r"(window(&cells[rank])));
    for (int phase = 0; phase < 4; phase++) {
        if (threadIdx.x == 3) {
            asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(cell), "r"(rank * rank + phase) : "memory");
            asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at) : "memory");
        }
        if (rank == 0) {
            for (done = 0; !done;)
                asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n\t"
                             "selp.u32 %0, 1, 0, p;\n\t}"
                             : "=r"(done)
                             : "r"(window(&object)), "r"(phase % 2)
                             : "memory");
            if (threadIdx.x < 8)
                out[(blockIdx.x / 8 * 4 + phase) * 8 + threadIdx.x] = cells[threadIdx.x];
        }
        cg::this_cluster().sync();
    }
}

template <class Kernel, class... Arguments>
static cudaError_t launch(Kernel kernel, int blocks, int threads, dim3 size, Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim = {size.x, size.y, size.z};
    config.attrs = &attribute;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

static void waiting()
{
    int *out = managed<int>(256);
    for (int round = 0; round < ROUNDS && !failures; round++) {
        int size = 1 << round % 4;
        CHECK(launch(ring, 16, 64 + 32 * (round % 3), dim3(size), out, 5));
        CHECK(cudaDeviceSynchronize());
        for (int b = 0; b < 16; b++)
            REQUIRE(out[b] == (b % size + 5 * (size - 1)) % size + 5);
        CHECK(launch(leavers, 12, 96, dim3(4), out));
        CHECK(cudaDeviceSynchronize());
        REQUIRE(out[0] == 96 + 64 + 32 + 64 && out[2] == out[0]);
        remote_arrivals<<<16, 32>>>(out);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        for (int i = 0; i < 64; i++)
            REQUIRE(out[i] == i % 8 * (i % 8) + i / 8 % 4);
    }
}

// ---- a shape that is a function's attribute: of every launch, in graphs too

__global__ void count_ranks(int *out)
{
    out[blockIdx.x] = cg::this_cluster().num_blocks() * 100 + cg::this_cluster().block_rank();
}

static void check_ranks(int *out)
{
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        REQUIRE(out[i] == 400 + i % 4);
    memset(out, 0, 8 * sizeof(int));
}

static void set_by_attribute()
{
    int *out = managed<int>(8);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t made;
    CHECK(cudaFuncSetAttribute(count_ranks, cudaFuncAttributeRequiredClusterWidth, 4));
    CHECK(cudaFuncSetAttribute(count_ranks, cudaFuncAttributeRequiredClusterHeight, 1));
    CHECK(cudaFuncSetAttribute(count_ranks, cudaFuncAttributeRequiredClusterDepth, 1));
    count_ranks<<<8, 32>>>(out);
    CHECK(cudaGetLastError());
    check_ranks(out);
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    count_ranks<<<8, 32, 0, stream>>>(out);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&made, graph, 0));
    CHECK(cudaGraphLaunch(made, stream));
    check_ranks(out);
    count_ranks<<<7, 32>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidClusterSize);
}

// ---- launches that count clusters, of blocks that the kernel says

__global__ void __block_size__((64, 1, 1), (2, 1, 1)) counted(int *out)
{
    if (threadIdx.x == blockDim.x - 1)
        out[blockIdx.x] =
            gridDim.x * 10000 + blockDim.x * 100 + cg::this_cluster().num_blocks() * 10 + cg::this_cluster().block_rank();
}

static void counting_clusters()
{
    int *out = managed<int>(8);
    counted<<<4, 1>>>(out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 8; i++)
        REQUIRE(out[i] == 86420 + i % 2);
}

// ---- what can't be

__global__ void __cluster_dims__() needs_some(int *out)
{
    *out = 1;
}

__global__ void __launch_bounds__(64, 1, 4) at_most_four(int *out)
{
    *out = cg::this_cluster().num_blocks();
}

static void refusals()
{
    int *out = managed<int>(64);
    EXPECT(launch(ring, 18, 64, dim3(9), out, 1), cudaErrorInvalidClusterSize);
    EXPECT(launch(ring, 64, 64, dim3(32), out, 1), cudaErrorInvalidClusterSize);
    cudaGetLastError();
    out[0] = 0;
    REQUIRE(launch(needs_some, 4, 64, dim3(2), out) == cudaSuccess && launch(at_most_four, 4, 64, dim3(4), out) == cudaSuccess);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(out[0] == 4);
    needs_some<<<4, 64>>>(out);
    REQUIRE(cudaGetLastError() != cudaSuccess);
    REQUIRE(launch(at_most_four, 8, 64, dim3(8), out) != cudaSuccess);
    cudaGetLastError();
}

int main()
{
    histograms();
    special_registers();
    check_addresses();
    waiting();
    set_by_attribute();
    counting_clusters();
    refusals();
    return finish();
}
