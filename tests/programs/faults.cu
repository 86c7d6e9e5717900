// Faults of a kernel end the launch with the documented sticky error, and the process lives. Each in a child process, since CUDA
// promises nothing for a process that goes on.
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

__device__ int global_value;

__global__ void bad_address(int *p)
{
    p[threadIdx.x] = 1;
}
__global__ void bad_read(const int *p, int *out)
{
    *out = p[threadIdx.x] + 1;
}
__global__ void trap()
{
    asm volatile("trap;");
}
__global__ void overrun(int *p, long long far)
{
    p[far * (threadIdx.x + 1)] = 1;
}
__global__ void misaligned(char *p)
{
    *(volatile long long *)(p + 4 * threadIdx.x + 4) = 1;
}
__device__ __noinline__ int deep(int n)
{
    volatile int here[64];
    here[n & 63] = n;
    return n == 0 ? 0 : deep(n - 1) + here[n & 63];
}
__global__ void endless(int *out, int n)
{
    *out = deep(n);
}
__global__ void fine(int *out)
{
    out[threadIdx.x] = threadIdx.x + global_value;
}

static int *good;

static void run_bad_address()
{
    bad_address<<<1, 32>>>((int *)(uintptr_t)64);
}
static void run_null()
{
    bad_address<<<1, 1>>>(NULL);
}
static void run_bad_read()
{
    bad_read<<<4, 64>>>((const int *)(uintptr_t)0x123456789000, good);
}
static void run_trap()
{
    trap<<<2, 64>>>();
}
static void run_overrun()
{
    overrun<<<1, 32>>>(good, 1ll << 40);
}
static void run_misaligned()
{
    misaligned<<<1, 1>>>((char *)good);
}
static void run_endless()
{
    endless<<<1, 32>>>(good, 100000000);
}

static int child(void (*run)(), bool any, cudaError_t expected)
{
    int host[32];
    void *p;
    CHECK(cudaMalloc((void **)&good, 1024));
    fine<<<1, 32>>>(good);
    CHECK(cudaMemcpy(host, good, sizeof(host), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++)
        REQUIRE(host[i] == i);
    run();
    cudaError_t error = cudaDeviceSynchronize();
    if (any && error != cudaSuccess)
        expected = error;
    REQUIRE(error == expected);
    if (error != expected)
        printf("%s\n", cudaGetErrorName(error));
    EXPECT(cudaMalloc(&p, 16), expected);
    fine<<<1, 32>>>(good);
    EXPECT(cudaGetLastError(), expected);
    EXPECT(cudaMemcpy(host, good, sizeof(host), cudaMemcpyDeviceToHost), expected);
    return failures != 0;
}

static void check(const char *name, void (*run)(), cudaError_t expected, bool any = false)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        exit(child(run, any, expected));
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        printf("%s: wait status %#x\n", name, status);
        failures++;
    }
}

int main()
{
    check("bad address", run_bad_address, cudaErrorIllegalAddress);
    check("null", run_null, cudaErrorIllegalAddress);
    check("bad read", run_bad_read, cudaErrorIllegalAddress);
    check("trap", run_trap, cudaErrorLaunchFailure);
    check("overrun", run_overrun, cudaErrorIllegalAddress);
    check("misaligned", run_misaligned, cudaErrorMisalignedAddress);
    check("endless recursion", run_endless, cudaErrorIllegalAddress, true);
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}
