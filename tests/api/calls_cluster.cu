// arch: 90
// What the driver answers to launches of clusters, good and bad, to questions about their sizes, and to descriptions of tensors:
// one line a call. What a real driver printed is in golden/.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <cstdlib>
__global__ void plain(int *p)
{
    if (p)
        *p = 1;
}
__global__ void __cluster_dims__(4) fixed(int *p)
{
    if (p)
        *p = 1;
}
__global__ void must(int *p)
{
    if (p)
        *p = 1;
}
static const char *n(CUresult r)
{
    const char *s = "?";
    cuGetErrorName(r, &s);
    return s;
}
static CUresult go(CUfunction f, dim3 g, int b, unsigned sm, int x, int y, int z, bool attr = true)
{
    CUlaunchConfig c = {};
    c.gridDimX = g.x;
    c.gridDimY = g.y;
    c.gridDimZ = g.z;
    c.blockDimX = b;
    c.blockDimY = c.blockDimZ = 1;
    c.sharedMemBytes = sm;
    CUlaunchAttribute a = {};
    a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a.value.clusterDim.x = x;
    a.value.clusterDim.y = y;
    a.value.clusterDim.z = z;
    c.attrs = &a;
    c.numAttrs = attr;
    int *p = 0;
    void *args[] = {&p};
    CUresult r = cuLaunchKernelEx(&c, f, args, 0);
    CUresult s = cuCtxSynchronize();
    if (s)
        printf("  sync %s\n", n(s));
    return r;
}
static void occ(CUfunction f, int b, unsigned sm, int x, bool attr = true)
{
    CUlaunchConfig c = {};
    c.gridDimX = x ? x * 4 : 4;
    c.gridDimY = c.gridDimZ = 1;
    c.blockDimX = b;
    c.blockDimY = c.blockDimZ = 1;
    c.sharedMemBytes = sm;
    CUlaunchAttribute a = {};
    a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a.value.clusterDim.x = x;
    a.value.clusterDim.y = a.value.clusterDim.z = 1;
    c.attrs = &a;
    c.numAttrs = attr;
    int s = -1, m = -1;
    CUresult r = cuOccupancyMaxPotentialClusterSize(&s, f, &c), q = cuOccupancyMaxActiveClusters(&m, f, &c);
    printf("occ block %d shared %u cluster %d attr %d: potential %s %d active %s %s\n", b, sm, x, attr, n(r), s, n(q),
           m > 0    ? "some"
           : m == 0 ? "none"
                    : "not set");
}
int main()
{
    cudaFree(0);
    cudaFunction_t t;
    CUfunction fp, ff, fm;
    cudaGetFuncBySymbol(&t, (void *)plain);
    fp = t;
    cudaGetFuncBySymbol(&t, (void *)fixed);
    ff = t;
    cudaGetFuncBySymbol(&t, (void *)must);
    fm = t;
    int v;
    for (int nonportable = 0; nonportable < 2; nonportable++) {
        cuFuncSetAttribute(fp, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, nonportable);
        printf("nonportable %d\n", nonportable);
        static const int sizes[][3] = {{0, 1, 1}, {1, 1, 1}, {1, 0, 1}, {2, 1, 1},  {3, 1, 1},        {5, 1, 1},  {6, 1, 1},
                                       {7, 1, 1}, {8, 1, 1}, {9, 1, 1}, {10, 1, 1}, {12, 1, 1},       {16, 1, 1}, {32, 1, 1},
                                       {2, 2, 2}, {2, 2, 4}, {1, 8, 1}, {1, 1, 8},  {65536, 65536, 1}};
        for (auto &s : sizes) {
            printf("plain grid multiple %d %d %d:", s[0], s[1], s[2]);
            fflush(stdout);
            printf(" %s\n",
                   n(go(fp, dim3(s[0] ? s[0] < 100 ? s[0] * 2 : 64 : 2, s[1] ? s[1] < 100 ? s[1] : 64 : 1, s[2] ? s[2] : 1), 64, 0,
                        s[0], s[1], s[2])));
        }
        printf("plain grid 6 cluster 4: %s\n", n(go(fp, dim3(6), 64, 0, 4, 1, 1)));
        printf("plain grid 2 cluster 4: %s\n", n(go(fp, dim3(2), 64, 0, 4, 1, 1)));
        printf("plain grid 4x3 cluster 2x2: %s\n", n(go(fp, dim3(4, 3), 64, 0, 2, 2, 1)));
        for (int x = 0; x <= 16; x = x ? x * 2 : 1)
            occ(fp, 128, 0, x);
        occ(fp, 128, 0, 2, false);
        occ(fp, 1024, 0, 2);
        occ(fp, 128, 40000, 4);
        occ(fp, 0, 0, 2);
        occ(fp, 1025, 0, 2);
        occ(fp, 128, 100000, 2);
        occ(fp, 128, 0, 32);
        occ(fp, 128, 0, 3);
    }
    printf("fixed grid 8 none: %s\n", n(go(ff, dim3(8), 64, 0, 0, 0, 0, false)));
    printf("fixed grid 6 none: %s\n", n(go(ff, dim3(6), 64, 0, 0, 0, 0, false)));
    printf("fixed grid 8 attr 2: %s\n", n(go(ff, dim3(8), 64, 0, 2, 1, 1)));
    printf("fixed grid 8 attr 4: %s\n", n(go(ff, dim3(8), 64, 0, 4, 1, 1)));
    printf("fixed grid 8 attr 1: %s\n", n(go(ff, dim3(8), 64, 0, 1, 1, 1)));
    {
        int *p = 0;
        void *a[] = {&p};
        printf("fixed cuLaunchKernel 8: %s\n", n(cuLaunchKernel(ff, 8, 1, 1, 64, 1, 1, 0, 0, a, 0)));
        printf("fixed cuLaunchKernel 6: %s\n", n(cuLaunchKernel(ff, 6, 1, 1, 64, 1, 1, 0, 0, a, 0)));
        cuCtxSynchronize();
        fixed<<<6, 64>>>(0);
        printf("fixed<<<6>>>: %s\n", cudaGetErrorName(cudaGetLastError()));
        printf("fixed coop 8: %s\n", n(cuLaunchCooperativeKernel(ff, 8, 1, 1, 64, 1, 1, 0, 0, a)));
    }
    for (int a = CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET; a <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; a++) {
        CUresult r = cuFuncGetAttribute(&v, (CUfunction_attribute)a, fp);
        printf("attr %d plain %s %d", a, n(r), v);
        r = cuFuncGetAttribute(&v, (CUfunction_attribute)a, ff);
        printf(" fixed %s %d\n", n(r), v);
    }
    for (int a = CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH; a <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH; a++)
        for (int x : {-1, 0, 2, 9, 100})
            printf("set fixed %d %d: %s, must %s\n", a, x, n(cuFuncSetAttribute(ff, (CUfunction_attribute)a, x)),
                   n(cuFuncSetAttribute(fm, (CUfunction_attribute)a, x)));
    for (int x : {-1, 0, 1, 2})
        printf("set nonportable %d %s\n", x, n(cuFuncSetAttribute(fp, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, x)));
    for (int x : {-1, 0, 1, 2, 3, 4})
        printf("set policy %d %s\n", x, n(cuFuncSetAttribute(fp, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, x)));
    cuFuncSetAttribute(fm, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2);
    cuFuncSetAttribute(fm, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1);
    cuFuncSetAttribute(fm, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1);
    printf("must 2: none %s", n(go(fm, dim3(4), 64, 0, 0, 0, 0, false)));
    printf(" attr2 %s", n(go(fm, dim3(4), 64, 0, 2, 1, 1)));
    printf(" attr4 %s", n(go(fm, dim3(4), 64, 0, 4, 1, 1)));
    printf(" grid 3 %s\n", n(go(fm, dim3(3), 64, 0, 0, 0, 0, false)));
    cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0);
    printf("device cluster launch %d\n", v);
    // tensor maps
    void *d;
    cudaMalloc(&d, 1 << 22);
    auto enc = [&](const char *what, CUtensorMapDataType ty, unsigned rank, char *base, unsigned long long d0,
                   unsigned long long d1, unsigned long long s0, unsigned b0, unsigned b1, unsigned e0, unsigned e1, int il, int sw,
                   int l2, int oob) {
        alignas(64) CUtensorMap m;
        memset(&m, 0xaa, sizeof m);
        cuuint64_t dims[5] = {d0, d1, 8, 8, 8}, strides[5] = {s0, s0 * d1, s0 * d1 * 8, s0 * d1 * 64};
        cuuint32_t box[5] = {b0, b1, 2, 2, 2}, es[5] = {e0, e1, 1, 1, 1};
        CUresult r = cuTensorMapEncodeTiled(&m, ty, rank, base, dims, strides, box, es, (CUtensorMapInterleave)il,
                                            (CUtensorMapSwizzle)sw, (CUtensorMapL2promotion)l2, (CUtensorMapFloatOOBfill)oob);
        printf("enc %s: %s\n", what, n(r));
    };
    char *b = (char *)d;
    auto F = CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    auto U8 = CU_TENSOR_MAP_DATA_TYPE_UINT8;
    enc("ok", F, 2, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("rank 0", F, 0, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("rank 6", F, 6, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("rank 1", F, 1, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("rank 5", F, 5, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("base 8", F, 2, b + 8, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("base null", F, 2, 0, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("stride 252", F, 2, b, 64, 64, 252, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("stride small 128", F, 2, b, 64, 64, 128, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("stride 0", F, 2, b, 64, 64, 0, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("stride 2^40", F, 2, b, 64, 64, 1ull << 40, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("dim 0", F, 2, b, 0, 64, 256, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("dim 2^32", F, 2, b, 1ull << 32, 64, 1ull << 35, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("dim 2^32+1", F, 2, b, (1ull << 32) + 1, 64, 1ull << 35, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("box 0", F, 2, b, 64, 64, 256, 0, 8, 1, 1, 0, 0, 0, 0);
    enc("box 256", F, 2, b, 1024, 64, 4096, 256, 8, 1, 1, 0, 0, 0, 0);
    enc("box 257", F, 2, b, 1024, 64, 4096, 257, 8, 1, 1, 0, 0, 0, 0);
    enc("box 256x256", F, 2, b, 1024, 1024, 4096, 256, 256, 1, 1, 0, 0, 0, 0);
    enc("box inner 2 floats", F, 2, b, 64, 64, 256, 2, 8, 1, 1, 0, 0, 0, 0);
    enc("u8 box 24", U8, 2, b, 64, 64, 64, 24, 8, 1, 1, 0, 0, 0, 0);
    enc("box > dim", F, 2, b, 4, 4, 16, 8, 8, 1, 1, 0, 0, 0, 0);
    enc("es 0", F, 2, b, 64, 64, 256, 8, 8, 0, 1, 0, 0, 0, 0);
    enc("es 8", F, 2, b, 64, 64, 256, 8, 8, 1, 8, 0, 0, 0, 0);
    enc("es 9", F, 2, b, 64, 64, 256, 8, 8, 1, 9, 0, 0, 0, 0);
    enc("es0 2", F, 2, b, 64, 64, 256, 8, 8, 2, 1, 0, 0, 0, 0);
    enc("es0 9", F, 2, b, 64, 64, 256, 8, 8, 9, 1, 0, 0, 0, 0);
    for (int sw = 0; sw <= 7; sw++) {
        char w[64];
        for (unsigned x : {4, 8, 16, 32, 64}) {
            sprintf(w, "swizzle %d inner %u bytes", sw, x * 4);
            enc(w, F, 2, b, 64, 64, 256, x, 8, 1, 1, 0, sw, 0, 0);
        }
    }
    for (int il = 0; il <= 3; il++)
        for (int sw = 0; sw <= 3; sw++) {
            char w[64];
            sprintf(w, "interleave %d swizzle %d rank 3", il, sw);
            enc(w, U8, 3, b, 64, 64, 64, 16, 8, 1, 1, il, sw, 0, 0);
            sprintf(w, "interleave %d swizzle %d rank 2", il, sw);
            enc(w, U8, 2, b, 64, 64, 64, 16, 8, 1, 1, il, sw, 0, 0);
        }
    for (int l2 = 0; l2 <= 4; l2++) {
        char w[64];
        sprintf(w, "l2 %d", l2);
        enc(w, F, 2, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, l2, 0);
    }
    for (int o = 0; o <= 2; o++) {
        char w[64];
        sprintf(w, "oob %d float", o);
        enc(w, F, 2, b, 64, 64, 256, 8, 8, 1, 1, 0, 0, 0, o);
        sprintf(w, "oob %d u8", o);
        enc(w, U8, 2, b, 64, 64, 64, 16, 8, 1, 1, 0, 0, 0, o);
    }
    for (int t = 0; t <= 17; t++) {
        char w[64];
        sprintf(w, "type %d", t);
        enc(w, (CUtensorMapDataType)t, 2, b, 128, 64, 1024, 128, 8, 1, 1, 0, 0, 0, 0);
    }
    {
        alignas(64) char raw[256];
        cuuint64_t dims[2] = {64, 64}, st[1] = {256};
        cuuint32_t box[2] = {8, 8}, es[2] = {1, 1};
        printf("map at 16: %s\n",
               n(cuTensorMapEncodeTiled((CUtensorMap *)(raw + 16), F, 2, b, dims, st, box, es, (CUtensorMapInterleave)0,
                                        (CUtensorMapSwizzle)0, (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0)));
        printf("map null: %s\n",
               n(cuTensorMapEncodeTiled(0, F, 2, b, dims, st, box, es, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0,
                                        (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0)));
        CUtensorMap m;
        printf("replace: %s",
               n(cuTensorMapEncodeTiled(&m, F, 2, b, dims, st, box, es, (CUtensorMapInterleave)0, (CUtensorMapSwizzle)0,
                                        (CUtensorMapL2promotion)0, (CUtensorMapFloatOOBfill)0)));
        printf(" %s", n(cuTensorMapReplaceAddress(&m, b + 256)));
        printf(" misaligned %s null %s\n", n(cuTensorMapReplaceAddress(&m, b + 8)), n(cuTensorMapReplaceAddress(&m, 0)));
        char host[64];
        printf("host address %s\n", n(cuTensorMapReplaceAddress(&m, (void *)((size_t)(host + 15) / 16 * 16))));
    }
}
