/* The three libcudart, opened by dlopen as a program would that was linked with each: symbol versions, the version that each
 * answers, and that no struct is written past the size it had in that version. Usage: runtimes FOLDER-OF-THE-LIBRARIES */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cuda/runtime/legacy.h"

static int failures;
#define REQUIRE(condition)                                                                                                         \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                                       \
            failures++;                                                                                                            \
        }                                                                                                                          \
    } while (0)

enum { GUARD = 0x5a, ROOM = 4096 };

static bool untouched(const unsigned char *bytes, size_t from)
{
    for (size_t i = from; i < ROOM; i++)
        if (bytes[i] != GUARD)
            return false;
    return true;
}

/* A call that fills a struct for a device. */
static void check_struct(void *library, const char *version, const char *name, size_t size)
{
    static unsigned char bytes[ROOM];
    int (*call)(void *, int) = (int (*)(void *, int))(uintptr_t)dlvsym(library, name, version);
    REQUIRE(call);
    if (!call)
        return;
    memset(bytes, GUARD, sizeof(bytes));
    REQUIRE(call(bytes, 0) == 0);
    REQUIRE(untouched(bytes, size));
    REQUIRE(memcmp(bytes, "Bailey CPU", 10) == 0);
}

static void check(const char *folder, const char *name, int number)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        printf("%s\n", dlerror());
        failures++;
        return;
    }
    int version = 0, count = 0;
    int (*get_version)(int *) = (int (*)(int *))(uintptr_t)dlvsym(library, "cudaRuntimeGetVersion", name);
    int (*get_count)(int *) = (int (*)(int *))(uintptr_t)dlvsym(library, "cudaGetDeviceCount", name);
    const char *(*get_name)(int) = (const char *(*)(int))(uintptr_t)dlvsym(library, "cudaGetErrorName", name);
    REQUIRE(get_version && get_version(&version) == 0 && version == number);
    REQUIRE(get_count && get_count(&count) == 0 && count == 1);
    REQUIRE(get_name && strcmp(get_name(700), "cudaErrorIllegalAddress") == 0);
    REQUIRE(dlvsym(library, "cudaLaunchKernel", name) && dlvsym(library, "__cudaRegisterFatBinary", name));
    REQUIRE(!dlvsym(library, "cudaRuntimeGetVersion", "libcudart.so.9"));
    if (number == 13000) {
        check_struct(library, name, "cudaGetDeviceProperties", sizeof(struct cudaDeviceProp));
        REQUIRE(!dlsym(library, "cudaThreadSynchronize"));
    } else {
        check_struct(library, name, "cudaGetDeviceProperties", sizeof(struct bl_rt_prop_11));
        REQUIRE(dlsym(library, "cudaThreadSynchronize") != NULL);
    }
    if (number == 12000)
        check_struct(library, name, "cudaGetDeviceProperties_v2", sizeof(struct bl_rt_prop_12));
    REQUIRE((number == 11000) == (dlsym(library, "cudaBindTexture") != NULL));
    /* Legacy forms whose arguments changed. */
    int (*allocate)(void **, size_t, unsigned) = (int (*)(void **, size_t, unsigned))(uintptr_t)dlsym(library, "cudaMallocManaged");
    void *block = NULL;
    REQUIRE(allocate && allocate(&block, 100, 1) == 0);
    if (number < 13000) {
        int (*advise)(const void *, size_t, int, int) =
            (int (*)(const void *, size_t, int, int))(uintptr_t)dlsym(library, "cudaMemAdvise");
        int (*prefetch)(const void *, size_t, int, void *) =
            (int (*)(const void *, size_t, int, void *))(uintptr_t)dlsym(library, "cudaMemPrefetchAsync");
        REQUIRE(advise && advise(block, 100, 3, -1) == 0);
        REQUIRE(advise && advise(block, 100, 3, 55) == 101);
        REQUIRE(prefetch && prefetch(block, 100, 0, NULL) == 0);
    }
}

int main(int argc, char **argv)
{
    _Static_assert(sizeof(struct bl_rt_prop_12) == 1032, "cudaDeviceProp of CUDA 12");
    if (argc != 2)
        return 2;
    check(argv[1], "libcudart.so.11.0", 11000);
    check(argv[1], "libcudart.so.12", 12000);
    check(argv[1], "libcudart.so.13", 13000);
    puts(failures ? "FAILED" : "PASSED");
    return failures != 0;
}
