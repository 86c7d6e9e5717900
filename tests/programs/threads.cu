// Many host threads launch, copy and allocate at once, each with its own stream; all share the kernels.
#include "check.h"
#include <pthread.h>

__global__ void fill(int *out, int count, int seed)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = i * 31 + seed;
}

static void *work(void *data)
{
    int seed = (int)(intptr_t)data;
    const int count = 3000;
    int *host = (int *)malloc(count * 4), *device;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int round = 0; round < 30; round++) {
        CHECK(cudaMalloc((void **)&device, count * 4));
        fill<<<5, 96, 0, stream>>>(device, count, seed + round);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host, device, count * 4, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < count; i++)
            if (host[i] != i * 31 + seed + round)
                return (void *)1;
        CHECK(cudaFree(device));
    }
    CHECK(cudaStreamDestroy(stream));
    free(host);
    return NULL;
}

int main()
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        REQUIRE(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)(i * 1000)) == 0);
    for (int i = 0; i < 8; i++) {
        void *result;
        pthread_join(threads[i], &result);
        REQUIRE(result == NULL);
    }
    return finish();
}
