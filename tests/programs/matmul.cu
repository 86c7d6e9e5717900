// Matrix products: naive and tiled through shared memory in two dimensions, sizes that are no multiple of the tile.
#include "check.h"

__global__ void naive(const float *a, const float *b, float *c, int n)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n)
        return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum = __fmaf_rn(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}

template <int TILE>
__global__ void tiled(const float *a, const float *b, float *c, int n)
{
    __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[threadIdx.y][threadIdx.x] = y < n && k + threadIdx.x < n ? a[y * n + k + threadIdx.x] : 0;
        right[threadIdx.y][threadIdx.x] = x < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + x] : 0;
        __syncthreads();
        for (int i = 0; i < TILE && k + i < n; i++)
            sum = __fmaf_rn(left[threadIdx.y][i], right[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (x < n && y < n)
        c[y * n + x] = sum;
}

int main()
{
    const int sizes[] = {16, 100, 129};
    for (int n : sizes) {
        float *a = managed<float>(n * n), *b = managed<float>(n * n), *c = managed<float>(n * n);
        float *want = (float *)malloc(n * n * sizeof(float));
        for (int i = 0; i < n * n; i++) {
            a[i] = i % 19 * 0.37f;
            b[i] = i % 23 * 0.11f - 1;
        }
        for (int y = 0; y < n; y++)
            for (int x = 0; x < n; x++) {
                float sum = 0;
                for (int k = 0; k < n; k++)
                    sum = fmaf(a[y * n + k], b[k * n + x], sum);
                want[y * n + x] = sum;
            }
        dim3 grid((n + 15) / 16, (n + 15) / 16), wide((n + 31) / 32, (n + 31) / 32);
        naive<<<grid, dim3(16, 16)>>>(a, b, c, n);
        CHECK(cudaDeviceSynchronize());
        same("naive", c, want, n * n);
        memset(c, 0, n * n * sizeof(float));
        tiled<16><<<grid, dim3(16, 16)>>>(a, b, c, n);
        CHECK(cudaDeviceSynchronize());
        same("tiled 16", c, want, n * n);
        memset(c, 0, n * n * sizeof(float));
        tiled<32><<<wide, dim3(32, 32)>>>(a, b, c, n);
        CHECK(cudaDeviceSynchronize());
        same("tiled 32", c, want, n * n);
        CHECK(cudaFree(a));
        CHECK(cudaFree(b));
        CHECK(cudaFree(c));
    }
    return finish();
}
