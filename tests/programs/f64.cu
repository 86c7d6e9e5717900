// Double precision: arithmetic, division, square root, fused multiply-add, conversions; bit for bit with the host.
#include "check.h"

__global__ void compute(const double *x, const double *y, double *out, long long *integers, float *narrow)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double a = x[i], b = y[i];
    out[i * 6] = a + b;
    out[i * 6 + 1] = __dmul_rn(a, b);
    out[i * 6 + 2] = a / b;
    out[i * 6 + 3] = sqrt(fabs(a));
    out[i * 6 + 4] = fma(a, b, 1.0);
    out[i * 6 + 5] = floor(a) + trunc(b) + rint(a * 0.5);
    integers[i] = (long long)a;
    narrow[i] = (float)b;
}

int main()
{
    const int count = 4096;
    double *x = managed<double>(count), *y = managed<double>(count), *out = managed<double>(count * 6), *want = new double[count * 6];
    long long *integers = managed<long long>(count);
    float *narrow = managed<float>(count);
    uint32_t state = 1;
    for (int i = 0; i < count; i++) {
        x[i] = ((int)next_random(&state)) * 1.37e-3;
        y[i] = ((int)next_random(&state)) * 7.1e-5 + 1e-9;
    }
    compute<<<count / 128, 128>>>(x, y, out, integers, narrow);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        volatile double product = x[i] * y[i];
        want[i * 6] = x[i] + y[i];
        want[i * 6 + 1] = product;
        want[i * 6 + 2] = x[i] / y[i];
        want[i * 6 + 3] = sqrt(fabs(x[i]));
        want[i * 6 + 4] = fma(x[i], y[i], 1.0);
        want[i * 6 + 5] = floor(x[i]) + trunc(y[i]) + rint(x[i] * 0.5);
        REQUIRE(integers[i] == (long long)x[i]);
        REQUIRE(narrow[i] == (float)y[i]);
    }
    same("f64", out, want, count * 6);
    return finish();
}
