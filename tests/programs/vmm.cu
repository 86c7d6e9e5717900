// Virtual memory management: an array that grows in place, two addresses of the same memory, a kernel over both, and memory that
// another process maps through a file descriptor.
#include "check.h"
#include <cuda.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DRIVER(call)                                                                                                               \
    do {                                                                                                                           \
        CUresult driver_result = (call);                                                                                           \
        if (driver_result != CUDA_SUCCESS) {                                                                                       \
            printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, driver_result);                                                   \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

__global__ void fill(unsigned *p, size_t n, unsigned start)
{
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i] = start + (unsigned)i;
}

static CUmemAllocationProp prop;
static CUmemAccessDesc access_here;
static size_t unit;

static void setup()
{
    int supported = 0;
    CHECK(cudaFree(0));
    DRIVER(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    REQUIRE(supported == 1);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access_here.location = prop.location;
    access_here.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

/* Adds a block behind what there is: the address stays, and so do the contents. */
static void growing()
{
    enum { BLOCKS = 16 };
    CUdeviceptr base;
    CUmemGenericAllocationHandle blocks[BLOCKS];
    size_t before, after, total;
    static unsigned host[4];
    DRIVER(cuMemAddressReserve(&base, 32 * unit, 0, 0, 0));
    DRIVER(cuMemGetInfo(&before, &total));
    for (int i = 0; i < BLOCKS; i++) {
        DRIVER(cuMemCreate(&blocks[i], unit, &prop, 0));
        DRIVER(cuMemMap(base + i * unit, unit, 0, blocks[i], 0));
        DRIVER(cuMemSetAccess(base + i * unit, unit, &access_here, 1));
        fill<<<8, 128>>>((unsigned *)(base + i * unit), unit / 4, (unsigned)(i * unit / 4));
        CHECK(cudaGetLastError());
    }
    DRIVER(cuMemGetInfo(&after, &total));
    REQUIRE(before - after >= BLOCKS * unit);
    fill<<<8, 128>>>((unsigned *)base, BLOCKS * unit / 4, 1000);
    /* Across a border. */
    DRIVER(cuMemcpyDtoH(host, base + 2 * unit - 8, 16));
    for (unsigned i = 0; i < 4; i++)
        REQUIRE(host[i] == 1000 + 2 * unit / 4 - 2 + i);
    DRIVER(cuMemsetD32(base, 5, BLOCKS * unit / 4));
    REQUIRE(cuMemsetD32(base, 5, BLOCKS * unit / 4 + 1) == CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < BLOCKS; i++)
        DRIVER(cuMemRelease(blocks[i]));
    CHECK(cudaMemcpy(host, (void *)(base + BLOCKS * unit - 16), 16, cudaMemcpyDeviceToHost));
    REQUIRE(host[3] == 5);
    DRIVER(cuMemUnmap(base, BLOCKS * unit));
    DRIVER(cuMemAddressFree(base, 32 * unit));
    DRIVER(cuMemGetInfo(&after, &total));
    REQUIRE(after + 8 * unit > before); /* a driver may keep a little for itself */
}

static void two_addresses()
{
    CUdeviceptr one, two;
    CUmemGenericAllocationHandle memory, again;
    unsigned value = 0;
    DRIVER(cuMemCreate(&memory, 2 * unit, &prop, 0));
    DRIVER(cuMemAddressReserve(&one, 2 * unit, 0, 0, 0));
    DRIVER(cuMemAddressReserve(&two, 2 * unit, 0, 0, 0));
    DRIVER(cuMemMap(one, 2 * unit, 0, memory, 0));
    DRIVER(cuMemMap(two, 2 * unit, 0, memory, 0));
    DRIVER(cuMemSetAccess(one, 2 * unit, &access_here, 1));
    DRIVER(cuMemSetAccess(two, 2 * unit, &access_here, 1));
    fill<<<8, 128>>>((unsigned *)one, 2 * unit / 4, 7);
    CHECK(cudaDeviceSynchronize());
    DRIVER(cuMemcpyDtoH(&value, two + 400, 4));
    REQUIRE(value == 107);
    DRIVER(cuMemRetainAllocationHandle(&again, (void *)(two + 12)));
    REQUIRE(again == memory);
    DRIVER(cuMemRelease(again));
    DRIVER(cuMemRelease(memory));
    DRIVER(cuMemUnmap(one, 2 * unit));
    DRIVER(cuMemcpyDtoH(&value, two + 800, 4));
    REQUIRE(value == 207);
    DRIVER(cuMemUnmap(two, 2 * unit));
    DRIVER(cuMemAddressFree(one, 2 * unit));
    DRIVER(cuMemAddressFree(two, 2 * unit));
}

static void send_descriptor(int to, int descriptor)
{
    char space[CMSG_SPACE(sizeof(int))] = {}, byte = 1;
    iovec part = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    cmsghdr *control = CMSG_FIRSTHDR(&message);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
    REQUIRE(sendmsg(to, &message, 0) == 1);
}

static int receive_descriptor(int from)
{
    char space[CMSG_SPACE(sizeof(int))] = {}, byte;
    iovec part = {&byte, 1};
    msghdr message = {};
    int descriptor;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    REQUIRE(recvmsg(from, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return descriptor;
}

static CUdeviceptr map_all(CUmemGenericAllocationHandle memory)
{
    CUdeviceptr p;
    DRIVER(cuMemAddressReserve(&p, unit, 0, 0, 0));
    DRIVER(cuMemMap(p, unit, 0, memory, 0));
    DRIVER(cuMemSetAccess(p, unit, &access_here, 1));
    return p;
}

/* The other process: adds to what it was given, and answers. */
static void other_process(int link)
{
    CUmemGenericAllocationHandle memory;
    unsigned value = 0;
    setup();
    int descriptor = receive_descriptor(link);
    DRIVER(cuMemImportFromShareableHandle(&memory, (void *)(intptr_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(descriptor);
    CUdeviceptr p = map_all(memory);
    DRIVER(cuMemcpyDtoH(&value, p + 4000, 4));
    REQUIRE(value == 1000);
    fill<<<8, 128>>>((unsigned *)p, unit / 4, 5000);
    CHECK(cudaDeviceSynchronize());
    char done = 1;
    REQUIRE(write(link, &done, 1) == 1);
    exit(failures != 0);
}

static void sharing(int link)
{
    CUmemGenericAllocationHandle memory;
    int descriptor, status;
    unsigned value = 0;
    char done;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    DRIVER(cuMemCreate(&memory, unit, &prop, 0));
    CUdeviceptr p = map_all(memory);
    fill<<<8, 128>>>((unsigned *)p, unit / 4, 0);
    CHECK(cudaDeviceSynchronize());
    DRIVER(cuMemExportToShareableHandle(&descriptor, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    send_descriptor(link, descriptor);
    close(descriptor);
    REQUIRE(read(link, &done, 1) == 1);
    wait(&status);
    REQUIRE(status == 0);
    DRIVER(cuMemcpyDtoH(&value, p + 4000, 4));
    REQUIRE(value == 6000);
    DRIVER(cuMemUnmap(p, unit));
    DRIVER(cuMemRelease(memory));
    DRIVER(cuMemAddressFree(p, unit));
}

int main()
{
    int link[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, link) == 0);
    if (fork() == 0)
        other_process(link[1]);
    setup();
    growing();
    two_addresses();
    sharing(link[0]);
    return finish();
}
