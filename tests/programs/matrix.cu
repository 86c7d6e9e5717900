// arch: 80
// nvcuda::wmma: one tile a warp of each type and of several shapes and layouts, against the host. All numbers are small integers, so
// that every order of summation gives the same.
#include "check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// a: m by k, b: k by n, as the layouts say; D = A * B + C, plus one for each element, by fragment elements.
template <int M, int N, int K, typename T, typename Storage, typename Sum, typename LayoutA, typename LayoutB>
__global__ void multiply(const Storage *a, const Storage *b, const Sum *c, Sum *d, wmma::layout_t layout)
{
    wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
    __shared__ Sum tile[M * N];
    int lda = __is_same(LayoutA, wmma::row_major) ? K : M;
    int ldb = __is_same(LayoutB, wmma::row_major) ? N : K;
    int ldc = layout == wmma::mem_row_major ? N : M;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, layout);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++)
        fc.x[i] = fc.x[i] + Sum(1);
    wmma::store_matrix_sync(tile, fc, ldc, layout);
    __syncwarp();
    for (int i = threadIdx.x; i < M * N; i += 32)
        d[i] = tile[i];
}

template <int M, int N, int K, typename T, typename Storage, typename Sum, typename LayoutA, typename LayoutB>
static void test(const char *name, wmma::layout_t layout)
{
    bool row_a = __is_same(LayoutA, wmma::row_major), row_b = __is_same(LayoutB, wmma::row_major), row_c = layout == wmma::mem_row_major;
    Storage *a, *b;
    Sum *c, *d;
    double x[M][K], y[K][N];
    CHECK(cudaMallocManaged(&a, M * K * sizeof(Storage)));
    CHECK(cudaMallocManaged(&b, K * N * sizeof(Storage)));
    CHECK(cudaMallocManaged(&c, M * N * sizeof(Sum)));
    CHECK(cudaMallocManaged(&d, M * N * sizeof(Sum)));
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            a[row_a ? m * K + k : k * M + m] = Storage(float(x[m][k] = (m * 7 + k * 3) % 11 - 5));
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            b[row_b ? k * N + n : n * K + k] = Storage(float(y[k][n] = (k * 5 + n * 2) % 13 - 6));
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++)
            c[row_c ? m * N + n : n * M + m] = Sum(m - n);
    multiply<M, N, K, T, Storage, Sum, LayoutA, LayoutB><<<1, 32>>>(a, b, c, d, layout);
    CHECK(cudaDeviceSynchronize());
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = m - n + 1, got = double(float(d[row_c ? m * N + n : n * M + m]));
            for (int k = 0; k < K; k++)
                sum += x[m][k] * y[k][n];
            if (sum != got && failures++ < 10)
                printf("%s %dx%dx%d: element %d, %d is %g, not %g\n", name, M, N, K, m, n, got, sum);
        }
    cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
}

template <int M, int N, int K, typename T, typename Storage, typename Sum> static void layouts(const char *name)
{
    using wmma::row_major, wmma::col_major;
    test<M, N, K, T, Storage, Sum, row_major, col_major>(name, wmma::mem_row_major);
    test<M, N, K, T, Storage, Sum, col_major, row_major>(name, wmma::mem_col_major);
    test<M, N, K, T, Storage, Sum, row_major, row_major>(name, wmma::mem_col_major);
    test<M, N, K, T, Storage, Sum, col_major, col_major>(name, wmma::mem_row_major);
}

template <typename T, typename Sum> static void shapes(const char *name)
{
    layouts<16, 16, 16, T, T, Sum>(name);
    layouts<8, 32, 16, T, T, Sum>(name);
    layouts<32, 8, 16, T, T, Sum>(name);
}

int main()
{
    shapes<__half, float>("f16, f32");
    shapes<__half, __half>("f16, f16");
    shapes<__nv_bfloat16, float>("bf16");
    shapes<signed char, int>("s8");
    layouts<16, 16, 8, wmma::precision::tf32, float, float>("tf32");
    layouts<8, 8, 4, double, double, double>("f64");
    return finish();
}
