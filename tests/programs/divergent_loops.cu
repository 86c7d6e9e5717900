// Loops whose trip count differs from lane to lane, nested, with break, continue, return and goto, against the host.
#include "check.h"

__host__ __device__ static int nest(int seed)
{
    int total = 0;
    for (int i = 0; i < seed % 7 + 3; i++) {
        if ((i + seed) % 4 == 1)
            continue;
        for (int j = seed % 5; j < 20; j++) {
            if (j * i % 11 == 7)
                break;
            if ((j ^ seed) % 3 == 0)
                continue;
            total += i * j + seed;
            if (total > 5000)
                return total;
            int k = j;
            while (k > 0) {
                k = k % 2 ? k - 3 : k / 2;
                total ^= k;
                if (k == 5)
                    goto out;
            }
        }
        total += 1;
    }
out:
    switch (seed % 6) {
    case 0:
        total *= 3;
        // fall through
    case 1:
        total += 7;
        break;
    case 4:
        for (int i = 0; i < seed % 9; i++)
            total += i * i;
        break;
    default:
        do {
            total -= 5;
        } while (total % 8 != 0);
    }
    return total;
}

__host__ __device__ static int steps(unsigned n)
{
    int count = 0;
    for (; n != 1; count++)
        n = n & 1 ? 3 * n + 1 : n / 2;
    return count;
}

__host__ __device__ static unsigned gcd(unsigned a, unsigned b)
{
    while (b) {
        unsigned t = a % b;
        a = b;
        b = t;
    }
    return a;
}

__global__ void run(int *out, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    out[i * 3] = nest(i * 13 + 5);
    out[i * 3 + 1] = steps(i + 1);
    out[i * 3 + 2] = gcd(i * 36 + 12, 360);
}

int main()
{
    const int count = 5000;
    int *out = managed<int>(count * 3);
    run<<<(count + 127) / 128, 128>>>(out, count);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        REQUIRE(out[i * 3] == nest(i * 13 + 5));
        REQUIRE(out[i * 3 + 1] == steps(i + 1));
        REQUIRE(out[i * 3 + 2] == (int)gcd(i * 36 + 12, 360));
    }
    return finish();
}
