// Adds two vectors on the device and checks the answer on the host.
#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void vector_add(const float *a, const float *b, float *c, int count)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < count)
        c[i] = a[i] + b[i];
}

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "[CUDA] %s failed: %s\n", what, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

int main(void)
{
    const int count = 50000;
    const size_t bytes = count * sizeof(float);
    const int threads = 256;
    const int blocks = (count + threads - 1) / threads;
    float *a = (float *)malloc(bytes), *b = (float *)malloc(bytes), *c = (float *)malloc(bytes);
    float *device_a, *device_b, *device_c;

    printf("[CUDA] Vector addition of %d elements.\n", count);
    for (int i = 0; i < count; i++) {
        a[i] = rand() / (float)RAND_MAX;
        b[i] = rand() / (float)RAND_MAX;
    }
    check(cudaMalloc((void **)&device_a, bytes), "cudaMalloc");
    check(cudaMalloc((void **)&device_b, bytes), "cudaMalloc");
    check(cudaMalloc((void **)&device_c, bytes), "cudaMalloc");
    check(cudaMemcpy(device_a, a, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(device_b, b, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    printf("[CUDA] Launching kernel with %d blocks of %d threads.\n", blocks, threads);
    vector_add<<<blocks, threads>>>(device_a, device_b, device_c, count);
    check(cudaGetLastError(), "launch");
    check(cudaMemcpy(c, device_c, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (int i = 0; i < count; i++)
        if (fabsf(a[i] + b[i] - c[i]) > 1e-5f) {
            fprintf(stderr, "[CUDA] Wrong answer at element %d.\n", i);
            return EXIT_FAILURE;
        }
    printf("[CUDA] Test PASSED\n");
    cudaFree(device_a);
    cudaFree(device_b);
    cudaFree(device_c);
    free(a);
    free(b);
    free(c);
    return EXIT_SUCCESS;
}
