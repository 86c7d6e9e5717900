// Pinned, mapped and registered host memory, managed memory, and what a pointer's attributes say of each.
#include "check.h"

__global__ void double_all(int *data, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        data[i] *= 2;
}

static void check(int *host, int count)
{
    int *device;
    for (int i = 0; i < count; i++)
        host[i] = i;
    CHECK(cudaHostGetDevicePointer((void **)&device, host, 0));
    double_all<<<(count + 255) / 256, 256>>>(device, count);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++)
        REQUIRE(host[i] == i * 2);
}

static void check_type(const void *pointer, cudaMemoryType type)
{
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, pointer));
    REQUIRE(attributes.type == type);
    if (type == cudaMemoryTypeDevice || type == cudaMemoryTypeManaged)
        REQUIRE(attributes.devicePointer == pointer && attributes.device == 0);
}

int main()
{
    const int count = 5000;
    int *pinned, *plain = (int *)aligned_alloc(4096, 20480), *managed_memory, *device, local;
    CHECK(cudaHostAlloc((void **)&pinned, count * 4, cudaHostAllocMapped | cudaHostAllocPortable));
    check(pinned, count);
    check_type(pinned, cudaMemoryTypeHost);
    check_type(pinned + 100, cudaMemoryTypeHost);
    unsigned flags;
    CHECK(cudaHostGetFlags(&flags, pinned));
    REQUIRE(flags & cudaHostAllocMapped);
    check_type(plain, cudaMemoryTypeUnregistered);
    CHECK(cudaHostRegister(plain, 20480, cudaHostRegisterMapped));
    check(plain, count);
    check_type(plain, cudaMemoryTypeHost);
    EXPECT(cudaHostRegister(plain, 20480, 0), cudaErrorHostMemoryAlreadyRegistered);
    CHECK(cudaHostUnregister(plain));
    EXPECT(cudaHostUnregister(plain), cudaErrorHostMemoryNotRegistered);
    check_type(plain, cudaMemoryTypeUnregistered);
    check_type(&local, cudaMemoryTypeUnregistered);
    CHECK(cudaMallocManaged((void **)&managed_memory, count * 4));
    check_type(managed_memory, cudaMemoryTypeManaged);
    for (int i = 0; i < count; i++)
        managed_memory[i] = i;
    double_all<<<20, 256>>>(managed_memory, count);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++)
        REQUIRE(managed_memory[i] == i * 2);
    CHECK(cudaMalloc((void **)&device, 64));
    check_type(device, cudaMemoryTypeDevice);
    size_t before, after, total;
    void *block;
    CHECK(cudaMemGetInfo(&before, &total));
    CHECK(cudaMalloc(&block, 64 << 20));
    CHECK(cudaMemGetInfo(&after, &total));
    REQUIRE(before <= total && after < before);
    CHECK(cudaFree(block));
    CHECK(cudaFreeHost(pinned));
    return finish();
}
