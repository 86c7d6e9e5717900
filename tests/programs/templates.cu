// Templates: a kernel over types and a functor, lambdas of the device, a compile-time unrolled reduction.
#include "check.h"

template <class T, int N>
struct fixed {
    T values[N];
    __device__ T sum() const
    {
        T total = 0;
        for (int i = 0; i < N; i++)
            total += values[i];
        return total;
    }
};

template <class T, class F>
__global__ void transform(const T *in, T *out, int count, F function)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        out[i] = function(in[i]);
}

template <class T>
struct polynomial {
    T a, b, c;
    __device__ T operator()(T x) const
    {
        return (a * x + b) * x + c;
    }
};

template <int N>
__global__ void sums(int *out)
{
    fixed<int, N> f;
    for (int i = 0; i < N; i++)
        f.values[i] = i * (threadIdx.x + 1);
    out[threadIdx.x] = f.sum();
}

template <class T>
static void run()
{
    const int count = 1000;
    T *in = managed<T>(count), *out = managed<T>(count);
    for (int i = 0; i < count; i++)
        in[i] = (T)(i % 50);
    transform<<<3, 128>>>(in, out, count, polynomial<T>{2, 3, 4});
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++)
        REQUIRE(out[i] == (T)((T)((T)(2 * in[i]) + 3) * in[i] + 4));
}

int main()
{
    run<int>();
    run<long long>();
    run<float>();
    run<double>();
    run<unsigned short>();
    int *out = managed<int>(32);
    sums<5><<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        REQUIRE(out[i] == 10 * (i + 1));
    sums<33><<<1, 32>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 32; i++)
        REQUIRE(out[i] == 33 * 32 / 2 * (i + 1));
    return finish();
}
