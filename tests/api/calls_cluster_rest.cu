// arch: 90
// What calls_cluster.cu leaves open: directives of kernels, which of two wrongs an answer names, clusters in graphs, what the
// encoder of tensor maps takes of interleaved layouts, what tiles hold by type, what copies fault. One line an answer.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

__global__ void plain(int *p)
{
    if (p)
        p[0] = gridDim.x * 1000 + blockDim.x;
}
__global__ void must(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __cluster_dims__(4) fixed(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __cluster_dims__() needs(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __launch_bounds__(64, 1, 4) ranked(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __block_size__((64, 1, 1), (2, 1, 1)) counted(int *p)
{
    if (p)
        p[0] = gridDim.x * 1000 + blockDim.x;
}
__global__ void __block_size__((64, 1, 1)) sized(int *p)
{
    if (p)
        p[0] = gridDim.x * 1000 + blockDim.x;
}

static const char *n(CUresult r)
{
    const char *s = "?";
    cuGetErrorName(r, &s);
    return s;
}

static CUfunction function(const void *symbol)
{
    cudaFunction_t found = NULL;
    cudaGetFuncBySymbol(&found, symbol);
    return found;
}

struct shape {
    int grid, block, shared, x, y, z, preferred; // x < 0: no attribute
};

static int fill(const shape &s, CUlaunchConfig *c, CUlaunchAttribute a[2])
{
    memset(c, 0, sizeof(*c));
    memset(a, 0, 2 * sizeof(*a));
    c->gridDimX = s.grid;
    c->blockDimX = s.block;
    c->gridDimY = c->gridDimZ = c->blockDimY = c->blockDimZ = 1;
    c->sharedMemBytes = s.shared;
    c->attrs = a;
    if (s.x >= 0) {
        a[0].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        a[0].value.clusterDim.x = s.x;
        a[0].value.clusterDim.y = s.y;
        a[0].value.clusterDim.z = s.z;
        c->numAttrs++;
    }
    if (s.preferred >= 0) {
        CUlaunchAttribute *p = &a[c->numAttrs++];
        p->id = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
        p->value.preferredClusterDim.x = s.preferred;
        p->value.preferredClusterDim.y = p->value.preferredClusterDim.z = 1;
    }
    return c->numAttrs;
}

static void launch(const char *name, CUfunction f, const shape &s)
{
    static int *seen;
    CUlaunchConfig c;
    CUlaunchAttribute a[2];
    if (!seen)
        cudaMallocManaged((void **)&seen, 64);
    *seen = 0;
    void *args[] = {&seen};
    fill(s, &c, a);
    CUresult r = cuLaunchKernelEx(&c, f, args, 0);
    CUresult done = cuCtxSynchronize();
    printf("%s grid %d block %d shared %d cluster %d %d %d preferred %d: %s %s %d\n", name, s.grid, s.block, s.shared, s.x, s.y,
           s.z, s.preferred, n(r), n(done), *seen);
}

static void occupancy(const char *name, CUfunction f, const shape &s)
{
    CUlaunchConfig c;
    CUlaunchAttribute a[2];
    int size = -1, active = -1;
    fill(s, &c, a);
    CUresult r = cuOccupancyMaxPotentialClusterSize(&size, f, &c), q = cuOccupancyMaxActiveClusters(&active, f, &c);
    printf("%s grid %d block %d shared %d cluster %d: potential %s %d active %s %s\n", name, s.grid, s.block, s.shared, s.x, n(r),
           size, n(q),
           active > 0    ? "some"
           : active == 0 ? "none"
                         : "not set");
}

static void attributes(const char *name, CUfunction f)
{
    for (int a = CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET; a <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; a++) {
        int v = -1;
        CUresult r = cuFuncGetAttribute(&v, (CUfunction_attribute)a, f);
        printf("%s attribute %d: %s %d\n", name, a, n(r), v);
    }
}

static void set_sides(CUfunction f, int x, int y, int z)
{
    const CUfunction_attribute first = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    int sides[] = {x, y, z};
    for (int i = 0; i < 3; i++)
        printf("set side %d to %d: %s\n", i, sides[i], n(cuFuncSetAttribute(f, (CUfunction_attribute)(first + i), sides[i])));
}

static void launches()
{
    struct {
        const char *name;
        CUfunction f;
    } all[] = {{"needs", function((void *)needs)}, {"ranked", function((void *)ranked)}, {"counted", function((void *)counted)},
               {"sized", function((void *)sized)}, {"fixed", function((void *)fixed)},   {"plain", function((void *)plain)},
               {"must", function((void *)must)}};
    for (auto &k : all) {
        attributes(k.name, k.f);
        for (int block : {1, 32, 64})
            for (int x : {-1, 1, 2, 4, 8})
                launch(k.name, k.f, {8, block, 0, x, 1, 1, -1});
        for (int x : {-1, 0, 1, 2, 4, 8})
            occupancy(k.name, k.f, {8, 64, 0, x, 1, 1, -1});
        occupancy(k.name, k.f, {7, 64, 0, 2, 1, 1, -1});
    }
    CUfunction p = all[5].f, m = all[6].f;
    static const shape both[] = {{8, 0, 0, 0, 1, 1, -1},    {0, 64, 0, 0, 1, 1, -1},     {0, 64, 0, 3, 1, 1, -1},
                                 {8, 2000, 0, 3, 1, 1, -1}, {8, 64, 99999, 3, 1, 1, -1}, {8, 64, 0, 2, 1, 1, 4},
                                 {8, 64, 0, 2, 1, 1, 3},    {8, 64, 0, 2, 1, 1, 0},      {8, 64, 0, -1, 1, 1, 4},
                                 {6, 64, 0, 2, 1, 1, 4},    {8, 64, 0, 4, 1, 1, 2},      {32, 64, 0, 2, 1, 1, 16},
                                 {8, 64, 0, 2, 0, 1, -1},   {8, 64, 0, 0, 0, 0, -1}};
    for (auto &s : both)
        launch("plain", p, s);
    set_sides(m, 2, 0, 0);
    launch("must 2 0 0", m, {8, 64, 0, -1, 1, 1, -1});
    launch("must 2 0 0", m, {8, 64, 0, 2, 1, 1, -1});
    occupancy("must 2 0 0", m, {8, 64, 0, -1, 1, 1, -1});
    set_sides(m, 16, 1, 1);
    launch("must 16", m, {16, 64, 0, -1, 1, 1, -1});
    occupancy("must 16", m, {16, 64, 0, -1, 1, 1, -1});
    cuFuncSetAttribute(m, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    launch("must 16 allowed", m, {16, 64, 0, -1, 1, 1, -1});
    set_sides(m, 4, 1, 1);
    attributes("must 4", m);
    for (int x : {-1, 2, 4})
        occupancy("must 4", m, {8, 64, 0, x, 1, 1, -1});
    set_sides(m, 0, 0, 0);
    launch("must 0 0 0", m, {7, 64, 0, -1, 1, 1, -1});
}

static void graphs()
{
    CUgraph graph;
    CUgraphExec made;
    CUgraphNode node;
    CUstream stream;
    int *p = NULL;
    void *args[] = {&p};
    cuGraphCreate(&graph, 0);
    for (int grid : {6, 8}) {
        CUDA_KERNEL_NODE_PARAMS k = {};
        k.func = function((void *)fixed);
        k.gridDimX = grid;
        k.blockDimX = 64;
        k.gridDimY = k.gridDimZ = k.blockDimY = k.blockDimZ = 1;
        k.kernelParams = args;
        printf("node of fixed, grid %d: %s\n", grid, n(cuGraphAddKernelNode(&node, graph, NULL, 0, &k)));
        k.func = function((void *)plain);
        printf("node of plain, grid %d: %s\n", grid, n(cuGraphAddKernelNode(&node, graph, NULL, 0, &k)));
        for (int x : {0, 1, 2, 4, 9}) {
            CUlaunchAttributeValue value = {}, got = {};
            value.clusterDim.x = x;
            value.clusterDim.y = value.clusterDim.z = 1;
            CUresult set = cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
            CUresult get = cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &got);
            printf("cluster %d: set %s get %s %u %u %u", x, n(set), n(get), got.clusterDim.x, got.clusterDim.y, got.clusterDim.z);
            CUresult r = cuGraphInstantiate(&made, graph, 0);
            printf(" instantiate %s", n(r));
            if (r == CUDA_SUCCESS) {
                printf(" launch %s", n(cuGraphLaunch(made, 0)));
                printf(" %s", n(cuCtxSynchronize()));
                cuGraphExecDestroy(made);
            }
            puts("");
        }
        cuGraphDestroyNode(node);
    }
    cuGraphDestroy(graph);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    for (int x : {0, 3, 4}) {
        CUlaunchConfig c;
        CUlaunchAttribute a[2];
        fill({8, 64, 0, x, 1, 1, -1}, &c, a);
        c.hStream = stream;
        cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
        printf("captured cluster %d: %s", x, n(cuLaunchKernelEx(&c, function((void *)plain), args, 0)));
        printf(" end %s\n", n(cuStreamEndCapture(stream, &graph)));
    }
}

// ---- tensor maps

struct tensor {
    int type, rank;
    unsigned long long dims[3], strides[2];
    unsigned box[3], steps[3];
    int interleave, swizzle, fill;
};

static CUresult encode(CUtensorMap *map, const tensor &t, void *base)
{
    return cuTensorMapEncodeTiled(map, (CUtensorMapDataType)t.type, t.rank, base, (const cuuint64_t *)t.dims,
                                  (const cuuint64_t *)t.strides, t.box, t.steps, (CUtensorMapInterleave)t.interleave,
                                  (CUtensorMapSwizzle)t.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, (CUtensorMapFloatOOBfill)t.fill);
}

static void encodings()
{
    alignas(128) char raw[512];
    char *base;
    cudaMalloc((void **)&base, 1 << 20);
    tensor plain_map = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, {256, 256, 16}, {256, 65536}, {16, 8, 2}, {1, 1, 1}, 0, 0, 0};
    for (int at : {8, 16, 32, 48, 64})
        printf("map at %d: %s\n", at, n(encode((CUtensorMap *)(raw + at), plain_map, base)));
    static const unsigned boxes[][3] = {{256, 256, 1}, {256, 256, 2}, {256, 256, 3}, {256, 224, 4}, {256, 226, 4},
                                        {256, 227, 4}, {256, 228, 4}, {256, 256, 4}, {256, 256, 8}};
    for (auto &box : boxes) {
        tensor t = plain_map;
        memcpy(t.box, box, sizeof(box));
        printf("box %u %u %u bytes: %s", box[0], box[1], box[2], n(encode((CUtensorMap *)raw, t, base)));
        t.steps[1] = 4;
        printf(" steps of 4 %s\n", n(encode((CUtensorMap *)raw, t, base)));
    }
    for (int interleave = 0; interleave <= 2; interleave++) {
        for (int offset : {0, 16, 32})
            printf("interleave %d base %d: ", interleave, offset),
                plain_map.interleave = interleave, printf("%s\n", n(encode((CUtensorMap *)raw, plain_map, base + offset)));
        for (unsigned inner : {8, 16, 24, 32, 48, 64, 256}) {
            tensor t = plain_map;
            t.box[0] = inner;
            printf("interleave %d row %u: %s", interleave, inner, n(encode((CUtensorMap *)raw, t, base)));
            t.box[0] = 16;
            t.dims[0] = inner;
            printf(" dimension %s", n(encode((CUtensorMap *)raw, t, base)));
            t = plain_map;
            t.strides[0] = inner;
            printf(" stride %s\n", n(encode((CUtensorMap *)raw, t, base)));
        }
        tensor t = plain_map;
        t.steps[0] = 2;
        printf("interleave %d step 2: %s\n", interleave, n(encode((CUtensorMap *)raw, t, base)));
    }
    for (int type = 0; type <= 12; type++) {
        tensor t = {type, 3, {64, 16, 4}, {1024, 16384}, {16, 4, 2}, {1, 1, 1}, 0, 0, 1};
        printf("type %d NaN fill: %s\n", type, n(encode((CUtensorMap *)raw, t, base)));
    }
}

// ---- what tiles hold

__device__ static unsigned window(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

// Tile at x, y (, z) into shared memory, from there to out. What: 0 load, 1 a map of another rank, 2 store, 3 add.
__global__ void tile(const __grid_constant__ CUtensorMap map, int what, int rank, int x, int y, int z, unsigned from,
                     unsigned bytes, unsigned *out, unsigned words)
{
    extern __shared__ __align__(1024) unsigned space[];
    __shared__ __align__(8) unsigned long long object;
    for (unsigned i = 0; i < words; i++)
        space[i] = what >= 2 ? out[i] : 0xcccccccc;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(window(&object)) : "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
    unsigned to = window(space) + from, done = 0;
    if (what == 2)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y),
                     "r"(to)
                     : "memory");
    else if (what == 3)
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                     "r"(x), "r"(y), "r"(to)
                     : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    if (what >= 2)
        return;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(window(&object)), "r"(bytes) : "memory");
    if (rank == 2)
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                to),
            "l"(&map), "r"(x), "r"(y), "r"(window(&object))
            : "memory");
    else
        asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
                     "[%5];" ::"r"(to),
                     "l"(&map), "r"(x), "r"(y), "r"(z), "r"(window(&object))
                     : "memory");
    for (int tries = 0; !done && tries < 1000; tries++) // it may never come
        asm volatile(
            "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, 1000;\n\tselp.u32 %0, 1, 0, p;\n\t}"
            : "=r"(done)
            : "r"(window(&object))
            : "memory");
    for (unsigned i = 0; i < words; i++)
        out[i] = done ? space[i] : 0xdeadbeef;
}

// In a process of its own, since it may end in a fault.
static void show(const char *name, const tensor &t, int what, int rank, int x, int y, int z, unsigned from, unsigned bytes,
                 unsigned words, void (*prepare)(unsigned *data, unsigned *out))
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid) {
        waitpid(pid, NULL, 0);
        return;
    }
    alignas(64) CUtensorMap map;
    unsigned *data, *out;
    cudaMallocManaged((void **)&data, 1 << 16);
    cudaMallocManaged((void **)&out, 1 << 14);
    memset(data, 0, 1 << 16);
    memset(out, 0, 1 << 14);
    prepare(data, out);
    printf("%s: %s", name, n(encode(&map, t, data)));
    tile<<<1, 1, 16384>>>(map, what, rank, x, y, z, from, bytes, out, words);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    printf(" %s", cudaGetErrorName(error));
    for (unsigned i = 0; i < words && error == cudaSuccess; i++)
        printf(" %x", (what >= 2 ? data : out)[i]);
    puts("");
    fflush(stdout);
    _exit(0);
}

static void numbers(unsigned *data, unsigned *)
{
    for (unsigned i = 0; i < 1 << 14; i++)
        data[i] = (2 * i) | (2 * i + 1) << 16;
}

// Halfway cases of a mantissa of 10 bits, denormals, ends of the range, NaNs.
static const unsigned floats[32] = {0x3f800000, 0x3f800fff, 0x3f801000, 0x3f801001, 0x3f802fff, 0x3f803000, 0x3f803001, 0x3f802000,
                                    0xbf801000, 0xbf803000, 0x7f7fffff, 0x7f7fefff, 0x7f7ff000, 0x7f800000, 0xff800000, 0x7f800001,
                                    0x7fc00000, 0xffffffff, 0x7f801fff, 0x00000001, 0x00001000, 0x00001001, 0x00003000, 0x007fffff,
                                    0x007ff000, 0x807fffff, 0x80000000, 0x00800000, 0x00800fff, 0x00801000, 0x3effffff, 0x41234567};

static void words(unsigned *data, unsigned *out)
{
    memcpy(data, floats, sizeof(floats));
    for (int i = 0; i < 32; i++)
        out[i] = floats[(i + 1) % 32];
}

static void tiles()
{
    static const struct {
        int type;
        unsigned bytes;
    } types[] = {{CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4},  {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4},
                 {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4}, {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4},
                 {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2},  {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2},
                 {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8}};
    char name[100];
    for (auto &k : types) {
        unsigned row = 128 / k.bytes;
        tensor t = {k.type, 2, {row, 1}, {128}, {row, 1}, {1, 1}, 0, 0, 0}, nan = t;
        nan.fill = 1;
        for (int what : {0, 2, 3}) {
            snprintf(name, sizeof(name), "type %d %s", k.type, what == 0 ? "load" : what == 2 ? "store" : "add");
            show(name, t, what, 2, 0, 0, 0, 0, 128, 32, words);
        }
        snprintf(name, sizeof(name), "type %d outside", k.type);
        show(name, nan, 0, 2, 0, 1, 0, 0, 128, 4, words);
    }
    for (int interleave : {1, 2})
        for (int swizzle = 0; swizzle <= 1; swizzle++) {
            // channels of 16 or 32 bytes, width 4, slices
            unsigned inner = interleave * 8;
            tensor t = {CU_TENSOR_MAP_DATA_TYPE_UINT16,
                        3,
                        {inner * 4, 8, 4},
                        {inner * 2, inner * 16},
                        {inner, 4, 2},
                        {1, 1, 1},
                        interleave,
                        swizzle,
                        0};
            for (int x : {0, 8, 16})
                for (int z : {0, 1}) {
                    snprintf(name, sizeof(name), "interleave %d swizzle %d at %d 1 %d", interleave, swizzle, x, z);
                    show(name, t, 0, 3, x, 1, z, 0, inner * 16, 64, numbers);
                }
        }
    tensor t = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, {64, 16}, {128}, {32, 4}, {1, 1}, 0, 0, 0};
    for (int x : {0, 1, 4, 64, 65, -33})
        for (int what : {0, 2}) {
            snprintf(name, sizeof(name), "first coordinate %d what %d", x, what);
            show(name, t, what, 2, x, 0, 0, 0, 256, 8, numbers);
        }
    for (unsigned from : {16, 64, 128})
        for (int what : {0, 2}) {
            snprintf(name, sizeof(name), "shared memory at %u what %d", from, what);
            show(name, t, what, 2, 0, 0, 0, from, 256, 8, numbers);
        }
    show("another rank", t, 0, 3, 0, 0, 0, 0, 256, 8, numbers);
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    for (unsigned from : {0, 128, 256, 384})
        snprintf(name, sizeof(name), "swizzle 64 at %u", from), show(name, t, 0, 2, 0, 0, 0, from, 256, 192, numbers);
}

int main()
{
    tiles(); // first: processes are made before this one has a context
    cudaFree(0);
    launches();
    graphs();
    encodings();
}
