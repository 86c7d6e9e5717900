/* Two kernels for the tests of src/image and of bailey inspect. */
#include <cstdio>

__global__ void add(float *to, const float *from, int n)
{
    __shared__ float part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x & 63] = from[i < n ? i : 0];
    __syncthreads();
    if (i < n)
        to[i] += part[threadIdx.x & 63];
}

__global__ void __launch_bounds__(128) scale(float *to, float factor)
{
    to[threadIdx.x] *= factor;
}

int main()
{
    float *values, sum = 0, host[64];
    for (float &value : host)
        value = 1;
    cudaMalloc(&values, sizeof(host));
    cudaMemcpy(values, host, sizeof(host), cudaMemcpyHostToDevice);
    add<<<1, 64>>>(values, values, 64);
    scale<<<1, 64>>>(values, 2);
    cudaMemcpy(host, values, sizeof(host), cudaMemcpyDeviceToHost);
    for (float value : host)
        sum += value;
    printf("%g %s\n", sum, cudaGetErrorName(cudaGetLastError()));
    cudaFree(values);
    return sum != 256;
}
