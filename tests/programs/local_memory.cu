// Arrays of a thread that are indexed by what only the run knows: local memory, also passed by address and through recursion.
#include "check.h"

__device__ __noinline__ void sort(int *values, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && values[j - 1] > values[j]; j--) {
            int t = values[j];
            values[j] = values[j - 1];
            values[j - 1] = t;
        }
}

__device__ __noinline__ int walk(int depth, int *trail)
{
    int here[4] = {depth, depth * 2, depth * 3, depth * 4};
    trail[depth % 16] += here[(depth + trail[0]) & 3];
    return depth == 0 ? here[trail[1] & 3] : walk(depth - 1, trail) + here[trail[2] & 3];
}

__global__ void run(const int *in, int *out, int *walked)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, values[33], trail[16];
    unsigned char bytes[64];
    for (int j = 0; j < 33; j++)
        values[j] = in[(i * 7 + j * 13) % 1000];
    sort(values, 33);
    for (int j = 0; j < 64; j++)
        bytes[(j * 5 + i) % 64] = (unsigned char)(j + i);
    for (int j = 0; j < 16; j++)
        trail[j] = i + j;
    out[i * 2] = values[i % 33];
    out[i * 2 + 1] = bytes[i % 64] * 256 + bytes[values[0] & 63];
    walked[i] = walk(i % 20, trail);
}

static int host_walk(int depth, int *trail)
{
    int here[4] = {depth, depth * 2, depth * 3, depth * 4};
    trail[depth % 16] += here[(depth + trail[0]) & 3];
    return depth == 0 ? here[trail[1] & 3] : host_walk(depth - 1, trail) + here[trail[2] & 3];
}

static int order(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

int main()
{
    const int count = 1024;
    int *in = managed<int>(1000), *out = managed<int>(count * 2), *walked = managed<int>(count);
    for (int i = 0; i < 1000; i++)
        in[i] = i * 7919 % 1009;
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
    run<<<count / 128, 128>>>(in, out, walked);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        int values[33], trail[16];
        unsigned char bytes[64];
        for (int j = 0; j < 33; j++)
            values[j] = in[(i * 7 + j * 13) % 1000];
        qsort(values, 33, sizeof(int), order);
        for (int j = 0; j < 64; j++)
            bytes[(j * 5 + i) % 64] = (unsigned char)(j + i);
        for (int j = 0; j < 16; j++)
            trail[j] = i + j;
        REQUIRE(out[i * 2] == values[i % 33]);
        REQUIRE(out[i * 2 + 1] == bytes[i % 64] * 256 + bytes[values[0] & 63]);
        REQUIRE(walked[i] == host_walk(i % 20, trail));
    }
    return finish();
}
