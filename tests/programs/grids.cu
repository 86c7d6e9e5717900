// Grids and blocks in three dimensions, to the documented limits, and what lies past them.
#include "check.h"

__global__ void count(unsigned long long *sum)
{
    unsigned long long id = blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    atomicAdd(&sum[0], 1ull);
    atomicAdd(&sum[1], id);
    atomicAdd(&sum[2], (unsigned long long)thread);
}

__global__ void last(unsigned *out)
{
    if (blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1 && blockIdx.z == gridDim.z - 1) {
        out[0] = blockIdx.x;
        out[1] = blockIdx.y;
        out[2] = blockIdx.z;
    }
}

__global__ void shape(unsigned *out)
{
    unsigned i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[i] = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
}

static void check_count(dim3 grid, dim3 block)
{
    unsigned long long *sum = managed<unsigned long long>(3);
    count<<<grid, block>>>(sum);
    CHECK(cudaDeviceSynchronize());
    unsigned long long blocks = (unsigned long long)grid.x * grid.y * grid.z, threads = block.x * block.y * block.z;
    REQUIRE(sum[0] == blocks * threads);
    REQUIRE(sum[1] == blocks * (blocks - 1) / 2 * threads);
    REQUIRE(sum[2] == threads * (threads - 1) / 2 * blocks);
    CHECK(cudaFree(sum));
}

static void check_shape(dim3 block)
{
    unsigned *out = managed<unsigned>(1024), i = 0;
    shape<<<1, block>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned z = 0; z < block.z; z++)
        for (unsigned y = 0; y < block.y; y++)
            for (unsigned x = 0; x < block.x; x++)
                REQUIRE(out[i++] == (x | y << 10 | z << 20));
    CHECK(cudaFree(out));
}

static void check_last(dim3 grid)
{
    unsigned *out = managed<unsigned>(3);
    last<<<grid, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(out[0] == grid.x - 1 && out[1] == grid.y - 1 && out[2] == grid.z - 1);
    CHECK(cudaFree(out));
}

int main()
{
    check_count(dim3(7, 5, 3), dim3(4, 3, 5));
    check_count(dim3(100, 1, 1), dim3(1, 1, 64));
    check_count(dim3(1, 13, 2), dim3(33, 7, 1));
    check_shape(dim3(1024));
    check_shape(dim3(1, 1024));
    check_shape(dim3(16, 1, 64));
    check_shape(dim3(17, 5, 3));
    check_shape(dim3(5, 5, 5));
    check_last(dim3(1, 65535, 1));
    check_last(dim3(1, 1, 65535));
    check_last(dim3(3000000, 1, 1));
    unsigned *out = managed<unsigned>(1024);
    shape<<<1, dim3(1025)>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    shape<<<1, dim3(1, 1, 65)>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    shape<<<dim3(1, 65536), 1>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    shape<<<0, 1>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    shape<<<1, dim3(1, 0)>>>(out);
    EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaDeviceSynchronize());
    return finish();
}
