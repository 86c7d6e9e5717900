// Pools of another process: its allocations are opened through the pool that they are of and no other, read and written on both
// sides, and freed in stream order.
#include "check.h"
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POOLS = 2, N = 100000 };

__global__ void add(unsigned *p, unsigned value)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        p[i] += value;
}

static void give(int to, const void *data, size_t size, int descriptor)
{
    char space[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {(void *)data, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
        message.msg_control = space;
        message.msg_controllen = sizeof(space);
        cmsghdr *control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = SOL_SOCKET;
        control->cmsg_type = SCM_RIGHTS;
        control->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
    }
    REQUIRE(sendmsg(to, &message, 0) == (ssize_t)size);
}

static int take(int from, void *data, size_t size)
{
    char space[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {data, size};
    msghdr message = {};
    int descriptor = -1;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    REQUIRE(recvmsg(from, &message, MSG_WAITALL) == (ssize_t)size);
    if (CMSG_FIRSTHDR(&message))
        memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return descriptor;
}

static unsigned element(const unsigned *device, size_t i)
{
    unsigned value = 0;
    CHECK(cudaMemcpy(&value, device + i, 4, cudaMemcpyDeviceToHost));
    return value;
}

static void other_process(int link)
{
    cudaMemPoolPtrExportData data[POOLS];
    cudaMemPool_t pools[POOLS];
    unsigned *memory[POOLS], *none;
    char done = 1;
    for (int i = 0; i < POOLS; i++) {
        int descriptor = take(link, &data[i], sizeof(data[i]));
        CHECK(cudaFree(0));
        CHECK(
            cudaMemPoolImportFromShareableHandle(&pools[i], (void *)(intptr_t)descriptor, cudaMemHandleTypePosixFileDescriptor, 0));
        close(descriptor);
    }
    for (int i = 0; i < POOLS; i++) {
        EXPECT(cudaMemPoolImportPointer((void **)&none, pools[1 - i], &data[i]), cudaErrorInvalidValue);
        CHECK(cudaMemPoolImportPointer((void **)&memory[i], pools[i], &data[i]));
        REQUIRE(element(memory[i], N - 1) == 10u + i);
        add<<<4, 128>>>(memory[i], 100);
        CHECK(cudaFreeAsync(memory[i], 0));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < POOLS; i++)
        CHECK(cudaMemPoolDestroy(pools[i]));
    give(link, &done, 1, -1);
    exit(failures != 0);
}

int main()
{
    int link[2], status;
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, link) == 0);
    if (fork() == 0)
        other_process(link[1]);
    cudaMemPool_t pools[POOLS];
    unsigned *memory[POOLS];
    char done;
    for (int i = 0; i < POOLS; i++) {
        cudaMemPoolProps props = {};
        cudaMemPoolPtrExportData data;
        int descriptor;
        props.allocType = cudaMemAllocationTypePinned;
        props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
        props.location.type = cudaMemLocationTypeDevice;
        CHECK(cudaMemPoolCreate(&pools[i], &props));
        CHECK(cudaMallocFromPoolAsync((void **)&memory[i], N * 4, pools[i], 0));
        CHECK(cudaMemsetAsync(memory[i], 0, N * 4));
        add<<<4, 128>>>(memory[i], 10 + i);
        CHECK(cudaStreamSynchronize(0));
        CHECK(cudaMemPoolExportToShareableHandle(&descriptor, pools[i], cudaMemHandleTypePosixFileDescriptor, 0));
        CHECK(cudaMemPoolExportPointer(&data, memory[i]));
        give(link[0], &data, sizeof(data), descriptor);
        close(descriptor);
    }
    take(link[0], &done, 1);
    wait(&status);
    REQUIRE(status == 0);
    for (int i = 0; i < POOLS; i++) {
        REQUIRE(element(memory[i], 5) == 110u + i);
        CHECK(cudaFreeAsync(memory[i], 0));
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < POOLS; i++)
        CHECK(cudaMemPoolDestroy(pools[i]));
    return finish();
}
