// __constant__ and __device__ variables: initial values, copies to and from them, their addresses and sizes, pointers in them.
#include "check.h"

__constant__ float table[256];
__constant__ int small_constant = 42;
__device__ int counter = 5;
__device__ double grid_values[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ int target_a = 11, target_b = 22;
__device__ int *pointers[2] = {&target_a, &target_b};
__device__ const char *message = "bytes";
struct pair {
    char tag;
    long long value;
};
__device__ pair pairs[2] = {{'a', 1ll << 40}, {'b', -2}};

__global__ void use(float *out, long long *extra)
{
    int i = threadIdx.x;
    out[i] = table[i] * small_constant + table[255 - i];
    atomicAdd(&counter, 1);
    if (i < 6)
        grid_values[i / 3][i % 3] *= 2;
    if (i == 0) {
        extra[0] = *pointers[0] + *pointers[1];
        extra[1] = message[0] + message[4];
        extra[2] = pairs[0].value + pairs[1].value + pairs[1].tag;
        pointers[0] = pointers[1];
    }
    if (i == 1)
        extra[3] = small_constant;
}

int main()
{
    float host[256], *out = managed<float>(256);
    long long *extra = managed<long long>(4);
    for (int i = 0; i < 256; i++)
        host[i] = i * 0.5f;
    CHECK(cudaMemcpyToSymbol(table, host, sizeof(host)));
    use<<<1, 256>>>(out, extra);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 256; i++)
        REQUIRE(out[i] == host[i] * 42 + host[255 - i]);
    REQUIRE(extra[0] == 33 && extra[1] == 'b' + 's' && extra[2] == (1ll << 40) - 2 + 'b' && extra[3] == 42);
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    REQUIRE(value == 261);
    double values[6];
    CHECK(cudaMemcpyFromSymbol(values, grid_values, sizeof(values)));
    for (int i = 0; i < 6; i++)
        REQUIRE(values[i] == (i + 1) * 2);
    CHECK(cudaMemcpyFromSymbol(values, grid_values, 16, 32));
    REQUIRE(values[0] == 10 && values[1] == 12);
    value = 7;
    CHECK(cudaMemcpyToSymbol(small_constant, &value, sizeof(value)));
    use<<<1, 256>>>(out, extra);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(extra[0] == 44 && extra[3] == 7);
    void *address;
    size_t size;
    CHECK(cudaGetSymbolAddress(&address, grid_values));
    CHECK(cudaGetSymbolSize(&size, grid_values));
    REQUIRE(size == 48);
    CHECK(cudaMemcpy(values, address, 48, cudaMemcpyDeviceToHost));
    REQUIRE(values[5] == 24);
    EXPECT(cudaMemcpyToSymbol(counter, host, 8), cudaErrorInvalidValue);
    EXPECT(cudaGetSymbolSize(&size, (const void *)host), cudaErrorInvalidSymbol);
    return finish();
}
