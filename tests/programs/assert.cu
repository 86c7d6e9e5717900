// assert in a kernel: the sticky error, from then on for every call; the process lives.
#include "check.h"
#include <assert.h>

__global__ void picky(const int *in, int *out)
{
    int i = threadIdx.x;
    assert(in[i] >= 0 && "no negative numbers");
    out[i] = in[i] * 2;
}

int main()
{
    int host[64], *in, *out;
    for (int i = 0; i < 64; i++)
        host[i] = i;
    CHECK(cudaMalloc((void **)&in, sizeof(host)));
    CHECK(cudaMalloc((void **)&out, sizeof(host)));
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    picky<<<1, 64>>>(in, out);
    CHECK(cudaDeviceSynchronize());
    host[33] = -1;
    CHECK(cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice));
    picky<<<1, 64>>>(in, out);
    EXPECT(cudaDeviceSynchronize(), cudaErrorAssert);
    EXPECT(cudaMemcpy(host, out, sizeof(host), cudaMemcpyDeviceToHost), cudaErrorAssert);
    EXPECT(cudaGetLastError(), cudaErrorAssert);
    EXPECT(cudaStreamSynchronize(0), cudaErrorAssert);
    picky<<<1, 64>>>(in, out);
    EXPECT(cudaGetLastError(), cudaErrorAssert);
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}
