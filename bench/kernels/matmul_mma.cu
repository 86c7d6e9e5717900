// c = a b for f16 with f32 sums, by mma: a warp computes 32x32 elements, a block of eight warps 64x128. b comes transposed.
#include "../cuda.h"
#include "matmul_mma.h"

__device__ void mma(float *c, const unsigned *a, const unsigned *b)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// a, b: pairs of f16 along k.
__global__ void matmul(const unsigned *a, const unsigned *b, float *c, int n)
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
    int row = blockIdx.y * 64 + warp / 4 * 32, col = blockIdx.x * 128 + warp % 4 * 32;
    float sums[2][4][4] = {};
    for (int k = 0; k < n / 2; k += 8) {
        unsigned as[2][4], bs[4][2];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                as[i][j] = a[(row + i * 16 + group + j % 2 * 8) * (n / 2) + k + pair + j / 2 * 4];
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 2; j++)
                bs[i][j] = b[(col + i * 8 + group) * (n / 2) + k + pair + j * 4];
#pragma unroll
        for (int i = 0; i < 2; i++)
#pragma unroll
            for (int j = 0; j < 4; j++)
                mma(sums[i][j], as[i], bs[j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int e = 0; e < 4; e++)
                c[(row + i * 16 + group + e / 2 * 8) * n + col + j * 8 + pair * 2 + e % 2] = sums[i][j][e];
}

void bench_run_cuda(void *const *p)
{
    matmul<<<dim3(N / 128, N / 64), 256>>>((const unsigned *)p[0], (const unsigned *)p[1], (float *)p[2], N);
    FINISH();
}
