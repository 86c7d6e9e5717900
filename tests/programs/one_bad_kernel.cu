// A module in which one kernel holds what no device of Bailey runs yet: that kernel fails at its own launch, or runs where the
// device can; every other kernel of the module runs.
#include "check.h"

__global__ void reads_texture(cudaTextureObject_t texture, float *out)
{
    out[threadIdx.x] = tex2D<float>(texture, threadIdx.x, 0.5f);
}
__global__ void fine(int *out)
{
    out[threadIdx.x] = threadIdx.x * 3;
}

int main()
{
    int *out = managed<int>(32);
    fine<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        REQUIRE(out[i] == i * 3);
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)reads_texture);
    REQUIRE(error == cudaSuccess || error == cudaErrorNotSupported || error == cudaErrorInvalidKernelImage ||
            error == cudaErrorInvalidPtx || error == cudaErrorNoKernelImageForDevice);
    cudaGetLastError();
    fine<<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    return finish();
}
