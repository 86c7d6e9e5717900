// Recursion, single and mutual, with a depth that differs from lane to lane.
#include "check.h"

__device__ __noinline__ int fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ int ackermann(int m, int n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ bool is_odd(int n);
__device__ __noinline__ bool is_even(int n)
{
    return n == 0 ? true : is_odd(n - 1);
}
__device__ __noinline__ bool is_odd(int n)
{
    return n == 0 ? false : is_even(n - 1);
}

__device__ __noinline__ void hanoi(int n, int from, int to, int by, int *moves)
{
    if (n == 0)
        return;
    hanoi(n - 1, from, by, to, moves);
    moves[0]++;
    moves[1] = moves[1] * 31 + from * 3 + to;
    hanoi(n - 1, by, to, from, moves);
}

__global__ void run(int *out)
{
    int i = threadIdx.x, moves[2] = {0, 0};
    out[i * 4] = fibonacci(i % 16);
    out[i * 4 + 1] = ackermann(i % 3, i % 4);
    out[i * 4 + 2] = is_even(i) ? 1 : 0;
    hanoi(i % 7, 0, 1, 2, moves);
    out[i * 4 + 3] = moves[0] * 1000 + (moves[1] & 0xff);
}

static int host_fibonacci(int n)
{
    return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2);
}
static int host_ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? host_ackermann(m - 1, 1) : host_ackermann(m - 1, host_ackermann(m, n - 1));
}
static void host_hanoi(int n, int from, int to, int by, int *moves)
{
    if (n == 0)
        return;
    host_hanoi(n - 1, from, by, to, moves);
    moves[0]++;
    moves[1] = moves[1] * 31 + from * 3 + to;
    host_hanoi(n - 1, by, to, from, moves);
}

int main()
{
    int *out = managed<int>(64 * 4);
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
    run<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int moves[2] = {0, 0};
        host_hanoi(i % 7, 0, 1, 2, moves);
        REQUIRE(out[i * 4] == host_fibonacci(i % 16));
        REQUIRE(out[i * 4 + 1] == host_ackermann(i % 3, i % 4));
        REQUIRE(out[i * 4 + 2] == (i % 2 == 0));
        REQUIRE(out[i * 4 + 3] == moves[0] * 1000 + (moves[1] & 0xff));
    }
    return finish();
}
