// Indirect calls: a table of functions in device memory, another function in each lane, a pointer through memcpy from symbol.
#include "check.h"

typedef int (*operation)(int, int);
__device__ int add(int a, int b)
{
    return a + b;
}
__device__ int subtract(int a, int b)
{
    return a - b;
}
__device__ int multiply(int a, int b)
{
    return a * b;
}
__device__ int collatz(int a, int b)
{
    int steps = 0;
    for (a += b + 1; a != 1; steps++)
        a = a % 2 ? 3 * a + 1 : a / 2;
    return steps;
}
__device__ operation table[] = {add, subtract, multiply, collatz};
__device__ operation chosen = multiply;

__global__ void apply(int *out)
{
    int i = threadIdx.x;
    out[i] = table[i % 4](i, 3);
}

__global__ void apply_one(operation function, int *out)
{
    out[threadIdx.x] = function(threadIdx.x, 10);
}

int main()
{
    int *out = managed<int>(64);
    apply<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int steps = 0;
        for (int a = i + 4; a != 1; steps++)
            a = a % 2 ? 3 * a + 1 : a / 2;
        int want[] = {i + 3, i - 3, i * 3, steps};
        REQUIRE(out[i] == want[i % 4]);
    }
    operation function;
    CHECK(cudaMemcpyFromSymbol(&function, chosen, sizeof(function)));
    apply_one<<<1, 64>>>(function, out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++)
        REQUIRE(out[i] == i * 10);
    return finish();
}
