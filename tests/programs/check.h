// What the test programs share: a program computes on the device, compares with the host, prints PASSED and exits with 0, or says
// what differs and exits with 1.
#pragma once
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(call)                                                                                                                \
    do {                                                                                                                           \
        cudaError_t check_error = (call);                                                                                          \
        if (check_error != cudaSuccess) {                                                                                          \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(check_error));                                 \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

// The call must answer this error.
#define EXPECT(call, expected)                                                                                                     \
    do {                                                                                                                           \
        cudaError_t check_error = (call);                                                                                          \
        if (check_error != (expected)) {                                                                                           \
            printf("%s:%d: %s: %s, expected %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(check_error),                       \
                   cudaGetErrorName(expected));                                                                                    \
            failures++;                                                                                                            \
        }                                                                                                                          \
    } while (0)

#define REQUIRE(condition)                                                                                                         \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                                       \
            failures++;                                                                                                            \
        }                                                                                                                          \
    } while (0)

// Zeroed managed memory: what the host can read after a synchronisation.
template <class T> static T *managed(size_t count)
{
    T *made;
    CHECK(cudaMallocManaged((void **)&made, count * sizeof(T)));
    memset((void *)made, 0, count * sizeof(T));
    return made;
}

// Bit for bit.
template <class T> static void same(const char *what, const T *got, const T *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof(T)) != 0) {
            printf("%s differs at %zu: %.9g, expected %.9g\n", what, i, (double)got[i], (double)want[i]);
            failures++;
            return;
        }
}

static int finish(void)
{
    CHECK(cudaDeviceSynchronize());
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}

static inline uint32_t next_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}
