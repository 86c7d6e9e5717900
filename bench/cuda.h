// What the CUDA side of every benchmark needs. Included by bench/kernels/*.cu.
#pragma once
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                                \
    do {                                                                                                                           \
        cudaError_t check_error = (call);                                                                                          \
        if (check_error != cudaSuccess) {                                                                                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error));                        \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

// Ends a run: what was launched has run without error.
#define FINISH()                                                                                                                   \
    do {                                                                                                                           \
        CHECK(cudaGetLastError());                                                                                                 \
        CHECK(cudaDeviceSynchronize());                                                                                            \
    } while (0)

extern "C" void bench_run_cuda(void *const *p);

// Memory for all sides: the harness calls it.
extern "C" void *bench_allocate(size_t bytes)
{
    void *data = nullptr;
    CHECK(cudaMallocManaged(&data, bytes));
    return data;
}
