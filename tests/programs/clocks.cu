// clock, clock64 and %globaltimer move on, within a thread and from launch to launch; nanosleep sleeps.
#include "check.h"

__global__ void read(long long *out)
{
    long long start = clock64(), first;
    unsigned low = (unsigned)clock();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(first));
    __nanosleep(200000);
    long long second;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(second));
    out[0] = start;
    out[1] = clock64();
    out[2] = first;
    out[3] = second;
    out[4] = (unsigned)clock() != low;
}

int main()
{
    long long *out = managed<long long>(5), before[5];
    read<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    memcpy(before, out, sizeof(before));
    REQUIRE(out[1] > out[0] && out[3] > out[2] && out[4]);
    read<<<1, 1>>>(out);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(out[2] >= before[3]);
    REQUIRE(out[3] - out[2] < 10000000000ll);
    return finish();
}
