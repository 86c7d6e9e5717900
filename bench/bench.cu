// Measures what the CPU device costs and reaches, against C loops with OpenMP in the same process on the same memory, one after the
// other in turn. Prints one line a figure: name, median, least and most, unit. Run by bench/run.
#include <algorithm>
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <vector>

extern "C" {
void peer_add(const float *a, const float *b, float *c, size_t count);
void peer_fma(const float *in, float *out, size_t count, float a, float b);
void peer_fma_blocked(const float *in, float *out, size_t count, float a, float b);
}

#define CHECK(call)                                                                                                                \
    do {                                                                                                                           \
        cudaError_t check_error = (call);                                                                                          \
        if (check_error != cudaSuccess) {                                                                                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error));                        \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

__global__ void vector_add(const float *a, const float *b, float *c, int count)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < count)
        c[i] = a[i] + b[i];
}

__global__ void fma_chain(const float *in, float *out, int count, float a, float b)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= count)
        return;
    float x = in[i];
    for (int k = 0; k < 2000; k++)
        x = fmaf(x, a, b);
    out[i] = x;
}

__global__ void empty() {}

static double now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void report(const char *name, std::vector<double> values, const char *unit)
{
    std::sort(values.begin(), values.end());
    printf("  %-44s %10.3f   (%.3f to %.3f) %s\n", name, values[values.size() / 2], values.front(), values.back(), unit);
}

template <class F>
static double timed(F run)
{
    double start = now();
    run();
    return now() - start;
}

static double resident_mb()
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld %ld", &pages, &resident) != 2)
        exit(1);
    fclose(f);
    return resident * 4096e-6;
}

static void add()
{
    const int count = 64 << 20;
    float *a, *b, *c;
    CHECK(cudaMallocManaged(&a, count * sizeof(float)));
    CHECK(cudaMallocManaged(&b, count * sizeof(float)));
    CHECK(cudaMallocManaged(&c, count * sizeof(float)));
    for (int i = 0; i < count; i++) {
        a[i] = i & 1023;
        b[i] = i & 511;
        c[i] = 0;
    }
    std::vector<double> ours, peers, ratios;
    for (int r = 0; r < 17; r++) {
        double mine = timed([&] {
            vector_add<<<count / 256, 256>>>(a, b, c, count);
            CHECK(cudaDeviceSynchronize());
        });
        double other = timed([&] { peer_add(a, b, c, count); });
        if (r < 2)
            continue;
        ours.push_back(count * 12e-9 / mine);
        peers.push_back(count * 12e-9 / other);
        ratios.push_back(other / mine);
    }
    for (int i = 0; i < count; i += 997)
        if (c[i] != a[i] + b[i])
            exit(1);
    report("vectorAdd of 64 Mi floats, Bailey", ours, "GB/s");
    report("vectorAdd of 64 Mi floats, OpenMP", peers, "GB/s");
    report("  ratio (at least 0.95)", ratios, "");
}

static void fma()
{
    const int count = 1 << 18;
    float *in, *out, *want;
    CHECK(cudaMallocManaged(&in, count * sizeof(float)));
    CHECK(cudaMallocManaged(&out, count * sizeof(float)));
    CHECK(cudaMallocManaged(&want, count * sizeof(float)));
    for (int i = 0; i < count; i++)
        in[i] = i * 1e-6f;
    std::vector<double> ours, plain, blocked, ratios, best;
    for (int r = 0; r < 12; r++) {
        double mine = timed([&] {
            fma_chain<<<count / 256, 256>>>(in, out, count, 0.999f, 0.001f);
            CHECK(cudaDeviceSynchronize());
        });
        double other = timed([&] { peer_fma(in, want, count, 0.999f, 0.001f); });
        double other_blocked = timed([&] { peer_fma_blocked(in, want, count, 0.999f, 0.001f); });
        if (r < 2)
            continue;
        ours.push_back(count * 4000e-9 / mine);
        plain.push_back(count * 4000e-9 / other);
        blocked.push_back(count * 4000e-9 / other_blocked);
        ratios.push_back(other / mine);
        best.push_back(other_blocked / mine);
    }
    if (memcmp(out, want, count * sizeof(float)) != 0) {
        fprintf(stderr, "the answers differ\n");
        exit(1);
    }
    report("2000 fused multiply-adds a thread, Bailey", ours, "GFLOP/s");
    report("the same, OpenMP as written", plain, "GFLOP/s");
    report("the same, OpenMP blocked by hand", blocked, "GFLOP/s");
    report("  ratio to OpenMP as written (at least 0.9)", ratios, "");
    report("  ratio to OpenMP blocked by hand", best, "");
}

static void launches()
{
    std::vector<double> single, grid;
    for (int r = 0; r < 20000; r++)
        single.push_back(timed([] {
            empty<<<1, 32>>>();
            cudaDeviceSynchronize();
        }) * 1e6);
    CHECK(cudaGetLastError());
    std::vector<double> settled(single.begin() + 1000, single.end());
    std::sort(settled.begin(), settled.end());
    settled.resize(settled.size() * 99 / 100); // the longest hundredth is the machine's
    report("empty launch and synchronise (under 3)", settled, "us");
    for (int i = 0; i < 100000; i++)
        empty<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    double before = resident_mb(), start = now();
    for (int i = 0; i < 1000000; i++)
        empty<<<1, 32>>>();
    CHECK(cudaDeviceSynchronize());
    double each = (now() - start);
    report("a launch of a million in a row", {each}, "us");
    report("resident memory after it, more than before", {resident_mb() - before}, "MB");
    report("resident memory of the process", {resident_mb()}, "MB");
    for (int r = 0; r < 21; r++)
        grid.push_back(timed([] {
            empty<<<1000000, 32>>>();
            cudaDeviceSynchronize();
        }) * 1e3);
    report("grid of 1,000,000 empty CTAs (under 10)", grid, "ms");
}

/* Calls that a program makes often: each figure is of a thousand in a row, divided. */
template <class F> static std::vector<double> each_ns(F run)
{
    std::vector<double> values;
    for (int r = 0; r < 210; r++) {
        double seconds = timed([&] {
            for (int i = 0; i < 1000; i++)
                run();
        });
        if (r >= 10)
            values.push_back(seconds * 1e6);
    }
    return values;
}

static void calls()
{
    cudaEvent_t event;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    report("stream-ordered allocation and free (under 200)", each_ns([&] {
               void *p;
               cudaMallocAsync(&p, 1 << 16, stream);
               cudaFreeAsync(p, stream);
           }),
           "ns");
    report("event record and query (under 100)", each_ns([&] {
               cudaEventRecord(event, stream);
               cudaEventQuery(event);
           }),
           "ns");
    report("allocation and free of 64 KiB", each_ns([&] {
               void *p;
               cudaMalloc(&p, 1 << 16);
               cudaFree(p);
           }),
           "ns");
    CHECK(cudaGetLastError());
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
}

/* Each size beside the machine's own memcpy, in turn. */
static void copies()
{
    const struct {
        size_t size;
        const char *ours, *ratio;
    } sizes[] = {{64 << 10, "memcpy of 64 KiB, Bailey", "  ratio to memcpy, 64 KiB (at least 0.95)"},
                 {4 << 20, "memcpy of 4 MiB, Bailey", "  ratio to memcpy, 4 MiB (at least 0.95)"},
                 {256 << 20, "memcpy of 256 MiB, Bailey", "  ratio to memcpy, 256 MiB (at least 0.95)"}};
    char *device, *host = (char *)malloc(256 << 20), *other = (char *)malloc(256 << 20);
    CHECK(cudaMalloc(&device, 256 << 20));
    memset(host, 1, 256 << 20);
    memset(other, 2, 256 << 20);
    CHECK(cudaMemcpy(device, host, 256 << 20, cudaMemcpyHostToDevice));
    for (const auto &s : sizes) {
        std::vector<double> ours, ratios;
        size_t turns = std::max<size_t>(1, (8 << 20) / s.size);
        for (int r = 0; r < 23; r++) {
            double mine = timed([&] {
                for (size_t i = 0; i < turns; i++)
                    CHECK(cudaMemcpy(device, host, s.size, cudaMemcpyHostToDevice));
            });
            double plain = timed([&] {
                for (size_t i = 0; i < turns; i++) {
                    memcpy(other, host, s.size);
                    __asm__ volatile("" ::"r"(other) : "memory");
                }
            });
            if (r < 3)
                continue;
            ours.push_back(turns * s.size * 1e-9 / mine);
            ratios.push_back(plain / mine);
        }
        report(s.ours, ours, "GB/s");
        report(s.ratio, ratios, "");
    }
    CHECK(cudaFree(device));
    free(host);
    free(other);
}

// A chain of 100 empty kernels as a graph: what the launch costs the host, and until all of it has run.
static void graphs()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStream_t stream;
    std::vector<double> call, whole;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 100; i++)
        empty<<<1, 32, 0, stream>>>();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int r = 0; r < 5000; r++) {
        double start = now();
        CHECK(cudaGraphLaunch(exec, stream));
        double launched = now();
        CHECK(cudaStreamSynchronize(stream));
        call.push_back((launched - start) * 1e6);
        whole.push_back((now() - start) * 1e6);
    }
    for (auto *list : {&call, &whole}) {
        list->erase(list->begin(), list->begin() + 500);
        std::sort(list->begin(), list->end());
        list->resize(list->size() * 99 / 100); // the longest hundredth is the machine's
    }
    report("launch of a graph of 100 nodes (under 20)", call, "us");
    report("the same until it has run", whole, "us");
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "calls")) {
        calls();
        copies();
        return 0;
    }
    add();
    fma();
    launches();
    graphs();
    calls();
    copies();
    return 0;
}
