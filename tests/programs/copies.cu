// Copies of every kind: lines, boxes with pitch, three dimensions, between host and device, asynchronous, and fills.
#include "check.h"

int main()
{
    const int count = 10000;
    int *host = (int *)malloc(count * 4), *back = (int *)malloc(count * 4), *a, *b;
    for (int i = 0; i < count; i++)
        host[i] = i * 17;
    CHECK(cudaMalloc((void **)&a, count * 4));
    CHECK(cudaMalloc((void **)&b, count * 4));
    CHECK(cudaMemcpy(a, host, count * 4, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(b, a, count * 4, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy(back, b, count * 4, cudaMemcpyDeviceToHost));
    same("line", back, host, count);
    memset(back, 0, count * 4);
    CHECK(cudaMemcpy(back, host, count * 4, cudaMemcpyHostToHost));
    CHECK(cudaMemcpy(a, back, count * 4, cudaMemcpyDefault));
    memset(back, 0, count * 4);
    CHECK(cudaMemcpy(back, a, count * 4, cudaMemcpyDefault));
    same("default", back, host, count);

    size_t pitch;
    char *pitched;
    CHECK(cudaMallocPitch((void **)&pitched, &pitch, 100, 50));
    REQUIRE(pitch >= 100 && pitch % 32 == 0);
    CHECK(cudaMemset2D(pitched, pitch, 0x5a, 100, 50));
    CHECK(cudaMemcpy2D(pitched + 2 * pitch + 4, pitch, host, 64, 40, 20, cudaMemcpyHostToDevice));
    char *flat = (char *)malloc(5000);
    CHECK(cudaMemcpy2D(flat, 100, pitched, pitch, 100, 50, cudaMemcpyDeviceToHost));
    for (int y = 0; y < 50; y++)
        for (int x = 0; x < 100; x++) {
            bool inside = y >= 2 && y < 22 && x >= 4 && x < 44;
            REQUIRE(flat[y * 100 + x] == (inside ? ((char *)host)[(y - 2) * 64 + x - 4] : 0x5a));
        }

    cudaPitchedPtr box;
    CHECK(cudaMalloc3D(&box, make_cudaExtent(60, 10, 5)));
    CHECK(cudaMemset3D(box, 7, make_cudaExtent(60, 10, 5)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host, 40, 40, 8);
    copy.dstPtr = box;
    copy.dstPos = make_cudaPos(8, 1, 2);
    copy.extent = make_cudaExtent(32, 6, 3);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    char *cube = (char *)malloc(3000);
    cudaMemcpy3DParms whole = {};
    whole.srcPtr = box;
    whole.dstPtr = make_cudaPitchedPtr(cube, 60, 60, 10);
    whole.extent = make_cudaExtent(60, 10, 5);
    whole.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&whole));
    for (int z = 0; z < 5; z++)
        for (int y = 0; y < 10; y++)
            for (int x = 0; x < 60; x++) {
                bool inside = x >= 8 && x < 40 && y >= 1 && y < 7 && z >= 2;
                char want = inside ? ((char *)host)[(z - 2) * 320 + (y - 1) * 40 + x - 8] : 7;
                REQUIRE(cube[z * 600 + y * 60 + x] == want);
            }

    CHECK(cudaMemset(a, 0x11, count * 4));
    CHECK(cudaMemset(a + 10, 0xff, 8));
    CHECK(cudaMemcpy(back, a, count * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < count; i++)
        REQUIRE(back[i] == (i == 10 || i == 11 ? -1 : 0x11111111));

    cudaStream_t stream;
    int *pinned;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMallocHost((void **)&pinned, count * 4));
    memcpy(pinned, host, count * 4);
    CHECK(cudaMemcpyAsync(a, pinned, count * 4, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemsetAsync(a, 0, 400, stream));
    CHECK(cudaMemcpyAsync(b, a, count * 4, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaMemcpyAsync(pinned, b, count * 4, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++)
        REQUIRE(pinned[i] == (i < 100 ? 0 : host[i]));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(pinned));
    return finish();
}
