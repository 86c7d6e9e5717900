// arch: 80
// A tiled product of matrices by PTX: cp.async in two stages, ldmatrix with and without .trans, mma.m16n8k16, as libraries write it.
// C (f32) = A (f16, rows) * B (f16, rows). The numbers are small integers: the answer is exact. With an argument: that size, timed.
#include "check.h"
#include <cuda_fp16.h>

enum { TILE_M = 64, TILE_N = 64, TILE_K = 32, WARPS = 4, PAD = 8 };

struct stage {
    __half a[TILE_M][TILE_K + PAD];
    __half b[TILE_K][TILE_N + PAD];
};

__device__ static unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ static void copy16(void *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

__device__ static void begin(struct stage *s, const __half *a, const __half *b, int n, int k)
{
    for (int i = threadIdx.x; i < TILE_M * TILE_K / 8; i += WARPS * 32)
        copy16(&s->a[i / (TILE_K / 8)][i % (TILE_K / 8) * 8], a + (size_t)(i / (TILE_K / 8)) * n + k + i % (TILE_K / 8) * 8);
    for (int i = threadIdx.x; i < TILE_K * TILE_N / 8; i += WARPS * 32)
        copy16(&s->b[i / (TILE_N / 8)][i % (TILE_N / 8) * 8], b + (size_t)(k + i / (TILE_N / 8)) * n + i % (TILE_N / 8) * 8);
    asm volatile("cp.async.commit_group;");
}

// A warp makes 16 rows by 64 columns.
__global__ void __launch_bounds__(WARPS * 32) multiply(const __half *a, const __half *b, float *c, int n)
{
    __shared__ __align__(16) struct stage stages[2];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum[TILE_N / 8][4] = {};

    a += (size_t)blockIdx.y * TILE_M * n;
    b += blockIdx.x * TILE_N;
    begin(&stages[0], a, b, n, 0);
    for (int k = 0; k < n; k += TILE_K) {
        struct stage *s = &stages[k / TILE_K % 2];
        if (k + TILE_K < n) {
            begin(&stages[(k / TILE_K + 1) % 2], a, b, n, k + TILE_K);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        for (int kk = 0; kk < TILE_K; kk += 16) {
            unsigned x[4];
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                         : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "r"(shared_address(&s->a[warp * 16 + lane % 16][kk + lane / 16 * 8])));
            for (int j = 0; j < TILE_N / 16; j++) {
                unsigned y[4];
                asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                             : "=r"(y[0]), "=r"(y[1]), "=r"(y[2]), "=r"(y[3])
                             : "r"(shared_address(&s->b[kk + lane % 16][j * 16 + lane / 16 * 8])));
                for (int h = 0; h < 2; h++)
                    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                                 "{%0, %1, %2, %3};"
                                 : "+f"(sum[j * 2 + h][0]), "+f"(sum[j * 2 + h][1]), "+f"(sum[j * 2 + h][2]), "+f"(sum[j * 2 + h][3])
                                 : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[h * 2]), "r"(y[h * 2 + 1]));
            }
        }
        __syncthreads();
    }
    c += ((size_t)blockIdx.y * TILE_M + warp * 16 + lane / 4) * n + blockIdx.x * TILE_N + lane % 4 * 2;
    for (int j = 0; j < TILE_N / 8; j++)
        for (int h = 0; h < 2; h++)
            *(float2 *)(c + (size_t)h * 8 * n + j * 8) = make_float2(sum[j][h * 2], sum[j][h * 2 + 1]);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) / TILE_M * TILE_M : 128;
    __half *a, *b;
    float *c, time;
    cudaEvent_t start, stop;
    CHECK(cudaMallocManaged(&a, sizeof(*a) * n * n));
    CHECK(cudaMallocManaged(&b, sizeof(*b) * n * n));
    CHECK(cudaMallocManaged(&c, sizeof(*c) * n * n));
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    for (int i = 0; i < n * n; i++) {
        a[i] = __float2half((float)(i / n * 7 + i % n * 3) - (float)((i / n * 7 + i % n * 3) / 11 * 11) - 5);
        b[i] = __float2half((float)((i / n * 5 + i % n * 2) % 13 - 6));
    }
    for (int run = 0; run < (argc > 1 ? 2 : 1); run++) {
        CHECK(cudaEventRecord(start));
        multiply<<<dim3(n / TILE_N, n / TILE_M), WARPS * 32>>>(a, b, c, n);
        CHECK(cudaEventRecord(stop));
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaEventElapsedTime(&time, start, stop));
    if (argc > 1)
        printf("%d: %.1f ms, %.2f GFLOP/s\n", n, time, 2e-6 * n * n * n / time);
    for (int row = 0; row < n; row += argc > 1 ? 61 : 1)
        for (int column = 0; column < n; column++) {
            float sum = 0;
            for (int k = 0; k < n; k++)
                sum += __half2float(a[row * n + k]) * __half2float(b[k * n + column]);
            if (sum != c[row * n + column] && failures++ < 10)
                printf("element %d, %d is %g, not %g\n", row, column, c[row * n + column], sum);
        }
    return finish();
}
