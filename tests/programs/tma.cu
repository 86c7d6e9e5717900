// arch: 90
// Tiles by tensor maps: what lies where in shared memory for each rank, size of element and swizzle, with coordinates outside the
// tensor and strides between elements; tiles stored and added back; copies into several blocks of a cluster.
#include "check.h"
#include <cuda.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#define DRIVER(call)                                                                                                               \
    do {                                                                                                                           \
        CUresult driver_result = (call);                                                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                                                       \
            const char *driver_name = "?";                                                                                         \
            cuGetErrorName(driver_result, &driver_name);                                                                           \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, driver_name);                                                     \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

struct coordinates {
    int c[5];
};

enum { SPACE = 32 << 10 };

// ---- one case after the other: a fault ends the process, and a new one goes on with the case behind

enum { BROKEN = 1, AFTER_CASE = 1, DONE = 255 }; // exit status of a process; AFTER_CASE + cases that there were until the fault
static int first_case, cases;                    // where this process begins, how many there were
static int *all_failures;                        // of all processes

static bool is_turn()
{
    return cases++ >= first_case;
}

static void leave(int status)
{
    *all_failures += failures;
    fflush(stdout);
    _exit(status);
}

// Waits for the kernel, which must end with this error.
static void end_case(const char *name, const coordinates &at, cudaError_t expected = cudaSuccess)
{
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    if (error != expected) {
        printf("%s at %d %d %d %d %d: %s, expected %s\n", name, at.c[0], at.c[1], at.c[2], at.c[3], at.c[4],
               cudaGetErrorName(error), cudaGetErrorName(expected));
        failures++;
    }
    if (error != cudaSuccess)
        leave(AFTER_CASE + cases);
}

__device__ static unsigned window(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ static void init(unsigned long long *object, unsigned count)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(window(object)), "r"(count) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ static void expect(unsigned long long *object, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(window(object)), "r"(bytes) : "memory");
}

__device__ static void wait(unsigned long long *object, unsigned parity)
{
    unsigned done = 0;
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(window(object)), "r"(parity)
                     : "memory");
}

#define LOAD(dim, list, ...)                                                                                                       \
    asm volatile("cp.async.bulk.tensor." dim ".shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " list          \
                 "], [%2];" ::"r"(to),                                                                                             \
                 "l"(map), "r"(window(object)), __VA_ARGS__                                                                        \
                 : "memory")

__device__ static void load(const CUtensorMap *map, unsigned to, unsigned long long *object, int rank, const coordinates &at)
{
    const int *c = at.c;
    if (rank == 1)
        LOAD("1d", "{%3}", "r"(c[0]));
    else if (rank == 2)
        LOAD("2d", "{%3, %4}", "r"(c[0]), "r"(c[1]));
    else if (rank == 3)
        LOAD("3d", "{%3, %4, %5}", "r"(c[0]), "r"(c[1]), "r"(c[2]));
    else if (rank == 4)
        LOAD("4d", "{%3, %4, %5, %6}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
    else
        LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]));
}

// from: where in shared memory the tile goes
__global__ void load_tile(const __grid_constant__ CUtensorMap map, int rank, coordinates at, unsigned bytes, unsigned char *out,
                          unsigned from = 0)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) unsigned long long object;
    for (unsigned i = threadIdx.x; i < SPACE; i += blockDim.x)
        tile[i] = 0xcc;
    if (threadIdx.x == 0)
        init(&object, 1);
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
        expect(&object, bytes);
        load(&map, window(tile) + from, &object, rank, at);
    }
    wait(&object, 0);
    for (unsigned i = threadIdx.x; i < SPACE; i += blockDim.x)
        out[i] = tile[i];
}

// op 0: stores the tile; else adds it
__global__ void store_tile(const __grid_constant__ CUtensorMap map, coordinates at, int op, const unsigned char *from,
                           unsigned bytes)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
        tile[i] = from[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        if (op)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                         "r"(at.c[0]), "r"(at.c[1]), "r"(window(tile))
                         : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
                         "r"(at.c[0]), "r"(at.c[1]), "r"(window(tile))
                         : "memory");
        asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// Block 0 of a cluster loads for all of them.
__global__ void __cluster_dims__(4) load_for_all(const __grid_constant__ CUtensorMap map, unsigned char *out, unsigned bytes)
{
    extern __shared__ __align__(1024) unsigned char tile[];
    __shared__ __align__(8) unsigned long long object;
    unsigned rank;
    asm("mov.u32 %0, %cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        init(&object, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        if (rank != 2)
            expect(&object, bytes);
    }
    asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0 && rank == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(window(tile)),
                     "l"(&map), "r"(4), "r"(2), "r"(window(&object)), "h"((unsigned short)0xb)
                     : "memory");
    if (rank != 2) {
        wait(&object, 0);
        for (unsigned i = threadIdx.x; i < bytes; i += blockDim.x)
            out[blockIdx.x * bytes + i] = tile[i];
    }
    asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

// ---- what is right, by the rules of the documents

struct shape {
    CUtensorMapDataType type;
    int size, rank;
    int dims[5], box[5], steps[5];
    int swizzle; // 0, 32, 64, 128
    int fill;    // NaNs outside
};

static int inside(const shape &s, int d)
{
    return d == 0 ? s.box[0] : (s.box[d] + s.steps[d] - 1) / s.steps[d];
}

static unsigned tile_bytes(const shape &s)
{
    unsigned bytes = s.size;
    for (int d = 0; d < s.rank; d++)
        bytes *= inside(s, d);
    return bytes;
}

static unsigned swizzled(const shape &s, unsigned at)
{
    unsigned bits = s.swizzle == 128 ? 7 : s.swizzle == 64 ? 3 : s.swizzle == 32 ? 1 : 0;
    return at ^ ((at >> 7 & bits) << 4);
}

static CUtensorMap encode(const shape &s, void *base)
{
    alignas(64) CUtensorMap map;
    cuuint64_t dims[5], strides[5];
    cuuint32_t box[5], steps[5];
    for (int d = 0; d < 5; d++) {
        dims[d] = d < s.rank ? s.dims[d] : 1;
        box[d] = d < s.rank ? s.box[d] : 1;
        steps[d] = d < s.rank ? s.steps[d] : 1;
        strides[d] = d ? strides[d - 1] * dims[d] : dims[0] * s.size; // strides[d]: of dimension d + 1
    }
    CUtensorMapSwizzle swizzle = s.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                                 : s.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                 : s.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                                   : CU_TENSOR_MAP_SWIZZLE_NONE;
    DRIVER(cuTensorMapEncodeTiled(&map, s.type, s.rank, base, dims, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                                  s.fill ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    return map;
}

// Byte b of what a place outside the tensor reads as.
static unsigned char outside(const shape &s, int b)
{
    if (!s.fill)
        return 0;
    static const unsigned char nan[] = {0xff, 0x7f}; // half
    return s.size == 2 && s.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT16 ? nan[b] : b == s.size - 1 ? 0x7f : 0xff;
}

static void check_loads(const char *name, const shape &s, const std::vector<coordinates> &places)
{
    size_t count = s.size;
    for (int d = 0; d < s.rank; d++)
        count *= s.dims[d];
    unsigned char *data = managed<unsigned char>(count), *got = managed<unsigned char>(SPACE);
    std::vector<unsigned char> want(SPACE);
    uint32_t state = 77;
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned char)(next_random(&state) >> 24) & 0x3f; // no NaN, no denormal word
    CUtensorMap map = encode(s, data);
    unsigned bytes = tile_bytes(s);
    for (const coordinates &at : places) {
        if (!is_turn())
            continue;
        memset(want.data(), 0xcc, SPACE);
        for (unsigned i = 0; i < bytes / s.size; i++) {
            unsigned left = i;
            size_t index = 0, stride = 1;
            bool out = false;
            for (int d = 0; d < s.rank; d++) {
                int place = at.c[d] + (int)(left % inside(s, d)) * (d ? s.steps[d] : 1);
                left /= inside(s, d);
                out |= place < 0 || place >= s.dims[d];
                index += place * stride;
                stride *= s.dims[d];
            }
            for (int b = 0; b < s.size; b++)
                want[swizzled(s, i * s.size + b)] = out ? outside(s, b) : data[index * s.size + b];
        }
        load_tile<<<1, 128, SPACE>>>(map, s.rank, at, bytes, got);
        end_case(name, at);
        for (unsigned i = 0; i < SPACE; i++)
            if (got[i] != want[i]) {
                printf("%s at %d %d %d: byte %u is %02x, expected %02x\n", name, at.c[0], at.c[1], at.c[2], i, got[i], want[i]);
                failures++;
                break;
            }
    }
    CHECK(cudaFree(data));
    CHECK(cudaFree(got));
}

// The first coordinate, in bytes, is a multiple of 16 (PTX ISA, 5.5.3.1).
static void loads()
{
    const CUtensorMapDataType u8 = CU_TENSOR_MAP_DATA_TYPE_UINT8, u16 = CU_TENSOR_MAP_DATA_TYPE_UINT16,
                              f16 = CU_TENSOR_MAP_DATA_TYPE_FLOAT16, f32 = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
                              f64 = CU_TENSOR_MAP_DATA_TYPE_FLOAT64, i64 = CU_TENSOR_MAP_DATA_TYPE_INT64,
                              bf16 = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    check_loads("1d u8", {u8, 1, 1, {4096}, {256}, {1}, 0}, {{{0}}, {{512}}, {{-96}}, {{4000}}, {{5008}}, {{16}}});
    check_loads("2d f32", {f32, 4, 2, {64, 40}, {16, 8}, {1, 1}, 0},
                {{{0, 0}}, {{32, 16}}, {{-4, -3}}, {{56, 36}}, {{100, 0}}, {{4, 7}}});
    check_loads("3d u16", {u16, 2, 3, {64, 12, 9}, {32, 4, 3}, {1, 1, 1}, 0}, {{{0, 0, 0}}, {{8, 5, 7}}, {{-8, 10, -1}}});
    check_loads("4d f64", {f64, 8, 4, {8, 6, 5, 4}, {4, 3, 2, 2}, {1, 1, 1, 1}, 0}, {{{0, 0, 0, 0}}, {{2, 4, 4, 3}}});
    check_loads("5d i64", {i64, 8, 5, {8, 6, 5, 4, 3}, {2, 3, 2, 2, 2}, {1, 1, 1, 1, 1}, 0},
                {{{0, 0, 0, 0, 0}}, {{2, 4, -1, 3, 2}}});
    for (int swizzle = 32; swizzle <= 128; swizzle *= 2) {
        check_loads("swizzled f32", {f32, 4, 2, {64, 40}, {swizzle / 4, 24}, {1, 1}, swizzle}, {{{0, 0}}, {{16, 20}}, {{-8, -2}}});
        check_loads("swizzled u8", {u8, 1, 2, {256, 40}, {swizzle, 32}, {1, 1}, swizzle}, {{{64, 3}}});
        check_loads("swizzled 3d", {bf16, 2, 3, {64, 9, 7}, {swizzle / 2, 5, 3}, {1, 1, 1}, swizzle}, {{{8, 2, 1}}});
    }
    check_loads("steps", {f32, 4, 2, {64, 40}, {16, 16}, {1, 2}, 0}, {{{0, 0}}, {{8, 5}}, {{0, 30}}});
    check_loads("steps of 3", {u16, 2, 3, {64, 40, 10}, {32, 8, 4}, {1, 3, 2}, 0}, {{{0, 0, 0}}, {{8, 35, 7}}});
    check_loads("NaNs", {f32, 4, 2, {64, 40}, {16, 8}, {1, 1}, 0, 1}, {{{56, 36}}});
    check_loads("half NaNs", {f16, 2, 2, {64, 40}, {16, 8}, {1, 1}, 0, 1}, {{{56, 36}}});
}

static void stores()
{
    shape s = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {32, 20}, {16, 8}, {1, 1}, 64};
    int *data = managed<int>(32 * 20), *tile = managed<int>(128), want[32 * 20];
    CUtensorMap map = encode(s, data);
    static const coordinates places[] = {{{8, 4}}, {{24, 15}}, {{-4, -2}}};
    for (int op = 0; op < 2; op++)
        for (const coordinates &at : places) {
            if (!is_turn())
                continue;
            for (int i = 0; i < 32 * 20; i++)
                want[i] = data[i] = i * 3;
            for (unsigned i = 0; i < 128; i++) {
                int x = at.c[0] + (int)i % 16, y = at.c[1] + (int)i / 16, value = (int)i * 1000 - 5;
                tile[swizzled(s, i * 4) / 4] = value;
                if (x >= 0 && x < 32 && y >= 0 && y < 20)
                    want[y * 32 + x] = value + (op ? want[y * 32 + x] : 0);
            }
            store_tile<<<1, 64, SPACE>>>(map, at, op, (unsigned char *)tile, 512);
            end_case(op ? "added" : "stored", at);
            same(op ? "added" : "stored", data, want, 32 * 20);
        }
}

static void several()
{
    if (!is_turn())
        return;
    shape s = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 2, {32, 20}, {16, 8}, {1, 1}, 0};
    int *data = managed<int>(32 * 20), *got = managed<int>(8 * 128);
    for (int i = 0; i < 32 * 20; i++)
        data[i] = i;
    load_for_all<<<8, 32, SPACE>>>(encode(s, data), (unsigned char *)got, 512);
    end_case("for several blocks", {{4, 2}});
    for (int i = 0; i < 8 * 128; i++)
        if (got[i] != (i / 128 % 4 == 2 ? 0 : (i / 16 % 8 + 2) * 32 + i % 16 + 4)) {
            printf("for several blocks: word %d is %d\n", i, got[i]);
            failures++;
            break;
        }
}

// What the hardware ends with a fault.
static void refused()
{
    static const struct {
        const char *name;
        coordinates at;
        unsigned from;
        cudaError_t error;
    } wrong[] = {
        {"first coordinate of 7 bytes", {{7}}, 0, cudaErrorIllegalInstruction},
        {"first coordinate of -100 bytes", {{-100}}, 0, cudaErrorIllegalInstruction},
        {"tile at 64 in shared memory", {{0}}, 64, cudaErrorMisalignedAddress},
    };
    shape s = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 1, {4096}, {256}, {1}, 0};
    unsigned char *data = managed<unsigned char>(4096), *got = managed<unsigned char>(SPACE);
    for (const auto &w : wrong)
        if (is_turn()) {
            load_tile<<<1, 128, SPACE>>>(encode(s, data), 1, w.at, 256, got, w.from);
            end_case(w.name, w.at, w.error);
        }
}

static void run()
{
    CHECK(cudaFree(0));
    CHECK(cudaFuncSetAttribute(load_tile, cudaFuncAttributeMaxDynamicSharedMemorySize, SPACE));
    loads();
    stores();
    several();
    refused();
    leave(DONE);
}

int main()
{
    int status = 0;
    all_failures = (int *)mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (status != DONE) {
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            run();
        } else if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) == BROKEN) {
            printf("wait status %#x after case %d\n", status, first_case);
            return 1;
        }
        status = WEXITSTATUS(status);
        first_case = status - AFTER_CASE;
    }
    puts(*all_failures ? "FAILED" : "PASSED");
    return *all_failures != 0;
}
