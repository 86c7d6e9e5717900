// printf in a kernel: every conversion, read back through a pipe and compared with the host's printf.
#include "check.h"
#include <unistd.h>

#define CASES(F)                                                                                                                   \
    F("%d %i %u %x %X %o\n", -5, 7, 4000000000u, 255, 255, 8)                                                                      \
    F("%5d|%-5d|%05d|%+d|% d\n", 42, 42, 42, 42, 42)                                                                               \
    F("%ld %lld %llu %llx\n", -1l, -2ll, 18446744073709551615ull, 0x123456789abcdefull)                                           \
    F("%f %e %g %a %.3f %10.2f|\n", 1.5, 12345.678, 0.0001, 1.0, 3.14159, 2.5)                                                     \
    F("%c%c%c %s|%10s|%-10s|%.2s|\n", 'a', 'b', 'c', "text", "right", "left", "cut")                                              \
    F("%% %5.1f%%\n", 99.5)                                                                                                        \
    F("%hd %p\n", (short)-3, (void *)0x1234)                                                                                       \
    F("%#x %#o\n", 255, 8)                                                                                                         \
    F("plain\n%s", "")

__global__ void print()
{
#define DEVICE(...) printf(__VA_ARGS__);
    CASES(DEVICE)
}

__global__ void count(int *results)
{
    results[0] = printf("%d %d\n", 1, 2);
    results[1] = printf("none\n");
}

__global__ void each()
{
    if (threadIdx.x % 2)
        printf("thread %d of block %d\n", threadIdx.x, blockIdx.x);
}

static char got[1 << 16], want[1 << 16];

static void capture(void (*run)(), char *text)
{
    int ends[2], saved = dup(1);
    fflush(stdout);
    if (pipe(ends) != 0)
        exit(1);
    dup2(ends[1], 1);
    run();
    fflush(stdout);
    dup2(saved, 1);
    close(ends[1]);
    close(saved);
    size_t size = 0;
    for (ssize_t n; (n = read(ends[0], text + size, (1 << 16) - 1 - size)) > 0;)
        size += n;
    text[size] = 0;
    close(ends[0]);
}

static void on_device()
{
    print<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
}

static void on_host()
{
#define HOST(...) printf(__VA_ARGS__);
    CASES(HOST)
}

static void many()
{
    each<<<3, 64>>>();
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    capture(on_device, got);
    capture(on_host, want);
    if (strcmp(got, want) != 0) {
        printf("got:\n%s\nexpected:\n%s\n", got, want);
        failures++;
    }
    capture(many, got);
    int lines = 0;
    for (char *at = got; *at; at++)
        lines += *at == '\n';
    REQUIRE(lines == 96);
    for (int block = 0; block < 3; block++)
        for (int thread = 1; thread < 64; thread += 2) {
            char line[64];
            snprintf(line, sizeof(line), "thread %d of block %d\n", thread, block);
            REQUIRE(strstr(got, line));
        }
    int *results = managed<int>(2);
    count<<<1, 1>>>(results);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(results[0] == 2 && results[1] == 0);
    return finish();
}
