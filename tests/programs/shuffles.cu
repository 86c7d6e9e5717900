// Warp shuffles: all modes, all widths, 64-bit values, in whole warps and under divergence, against a model on the host.
#include "check.h"

__global__ void all_modes(int *out, double *wide, int width)
{
    int lane = threadIdx.x, value = lane * 3 + 1;
    out[lane * 4] = __shfl_sync(~0u, value, (lane * 5 + 3) % 40, width);
    out[lane * 4 + 1] = __shfl_up_sync(~0u, value, 3, width);
    out[lane * 4 + 2] = __shfl_down_sync(~0u, value, 5, width);
    out[lane * 4 + 3] = __shfl_xor_sync(~0u, value, 6, width);
    wide[lane] = __shfl_xor_sync(~0u, lane * 0.125, 1, width);
}

__global__ void divergent(int *out)
{
    int lane = threadIdx.x % 32, result;
    if (lane < 12)
        result = __shfl_sync(0x00000fffu, lane * 10, 11 - lane);
    else if (lane % 2)
        result = __shfl_up_sync(0xaaaaa000u, lane * 100, 2);
    else
        result = __shfl_sync(0x55555000u, lane * 1000, 14);
    out[threadIdx.x] = result;
}

__global__ void sums(const int *in, int *out)
{
    int value = in[threadIdx.x + blockIdx.x * blockDim.x];
    for (int step = 16; step; step /= 2)
        value += __shfl_down_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, value);
}

__global__ void scan(int *data)
{
    int lane = threadIdx.x % 32, value = data[threadIdx.x];
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(~0u, value, step);
        if (lane >= step)
            value += other;
    }
    data[threadIdx.x] = value;
}

int main()
{
    int *out = managed<int>(128);
    double *wide = managed<double>(32);
    for (int width = 2; width <= 32; width *= 2) {
        all_modes<<<1, 32>>>(out, wide, width);
        CHECK(cudaDeviceSynchronize());
        for (int lane = 0; lane < 32; lane++) {
            int first = lane / width * width, at = lane % width;
            int idx = first + (lane * 5 + 3) % 40 % width;
            int up = at >= 3 ? lane - 3 : lane, down = at + 5 < width ? lane + 5 : lane;
            int other = (lane ^ 6) < first + width ? lane ^ 6 : lane; // an earlier segment may be read, a later one not
            int near = (lane ^ 1) < first + width ? lane ^ 1 : lane;
            REQUIRE(out[lane * 4] == idx * 3 + 1);
            REQUIRE(out[lane * 4 + 1] == up * 3 + 1);
            REQUIRE(out[lane * 4 + 2] == down * 3 + 1);
            REQUIRE(out[lane * 4 + 3] == other * 3 + 1);
            REQUIRE(wide[lane] == near * 0.125);
        }
    }
    divergent<<<1, 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 64; i++) {
        int lane = i % 32;
        int want = lane < 12 ? (11 - lane) * 10 : lane % 2 ? (lane == 13 ? 11 : lane - 2) * 100 : 14000;
        if (lane != 13) // reads a lane that takes no part: undefined
            REQUIRE(out[i] == want);
    }
    int *in = managed<int>(4096), *sum = managed<int>(1), want = 0;
    for (int i = 0; i < 4096; i++)
        want += in[i] = i * i % 777;
    sums<<<16, 256>>>(in, sum);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(*sum == want);
    for (int i = 0; i < 128; i++)
        out[i] = i;
    scan<<<1, 128>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 128; i++) {
        int total = 0;
        for (int j = i / 32 * 32; j <= i; j++)
            total += j;
        REQUIRE(out[i] == total);
    }
    return finish();
}
