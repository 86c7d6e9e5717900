/* bailey top: devices and the processes that use them, as any NVML client sees them: it asks our own libnvidia-ml.so.1. */
#include "cli/cli.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_PROCESSES = 256 };

struct memory {
    unsigned long long total, free, used;
};
struct rates {
    unsigned gpu, memory;
};
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned instances[2];
};

/* The functions of the library, by NVML's names for them. */
struct nvml {
    int (*init)(void);
    int (*count)(unsigned *count);
    int (*handle)(unsigned index, void **device);
    int (*name)(void *device, char *name, unsigned size);
    int (*memory)(void *device, struct memory *memory);
    int (*rates)(void *device, struct rates *rates);
    int (*processes)(void *device, unsigned *count, struct process *list);
    int (*process_name)(unsigned pid, char *name, unsigned size);
};

static bool open_library(struct nvml *nvml)
{
    char *path = bl_cli_path("lib/bailey/libnvidia-ml.so.1");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    bool whole = true;
    if (path && !library)
        bl_cli_say("top: %s", dlerror());
    bl_free(path);
    if (!library)
        return false;
    const struct {
        const char *name;
        void *to;
    } wanted[] = {{"nvmlInit_v2", &nvml->init},
                  {"nvmlDeviceGetCount_v2", &nvml->count},
                  {"nvmlDeviceGetHandleByIndex_v2", &nvml->handle},
                  {"nvmlDeviceGetName", &nvml->name},
                  {"nvmlDeviceGetMemoryInfo", &nvml->memory},
                  {"nvmlDeviceGetUtilizationRates", &nvml->rates},
                  {"nvmlDeviceGetComputeRunningProcesses_v3", &nvml->processes},
                  {"nvmlSystemGetProcessName", &nvml->process_name}};
    for (size_t i = 0; i < BL_LEN(wanted); i++) {
        void *function = dlsym(library, wanted[i].name);
        whole &= function != NULL;
        memcpy(wanted[i].to, &function, sizeof(function));
    }
    if (!whole || nvml->init() != 0)
        bl_cli_say("top: there is no device to show");
    return whole;
}

static void print_processes(const struct nvml *nvml, void *device)
{
    static struct process list[MOST_PROCESSES];
    unsigned count = MOST_PROCESSES;
    if (nvml->processes(device, &count, list) != 0)
        return;
    for (unsigned i = 0; i < count; i++) {
        char name[256] = "?";
        nvml->process_name(list[i].pid, name, sizeof(name));
        printf("  %8u %8llu MiB  %s\n", list[i].pid, list[i].bytes >> 20, name);
    }
    if (!count)
        puts("  no process uses it");
}

static void print_all(const struct nvml *nvml, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *device;
        char name[256] = "?";
        struct memory memory = {0};
        struct rates rates = {0};
        if (nvml->handle(i, &device) != 0)
            continue;
        nvml->name(device, name, sizeof(name));
        nvml->memory(device, &memory);
        nvml->rates(device, &rates);
        printf("%u  %s  %u%%  %llu of %llu MiB\n", i, name, rates.gpu, memory.used >> 20, memory.total >> 20);
        print_processes(nvml, device);
    }
    fflush(stdout);
}

static int run_top(int argc, char **argv)
{
    struct nvml nvml;
    unsigned count = 0;
    bool once = argc == 2 && !strcmp(argv[1], "--once");
    if (argc > 1 && !once)
        return bl_cli_usage("top", "top: unknown argument %s", argv[1]);
    if (!open_library(&nvml) || nvml.count(&count) != 0)
        return BL_CLI_FAILED;
    for (unsigned i = 0; i < count; i++) { /* utilisation is since the last time that it was asked for */
        void *device;
        struct rates rates;
        if (nvml.handle(i, &device) == 0)
            nvml.rates(device, &rates);
    }
    usleep(once ? 300000 : 100000);
    for (;;) {
        if (!once && isatty(1))
            fputs("\033[H\033[2J", stdout);
        print_all(&nvml, count);
        if (once || ferror(stdout))
            return BL_CLI_OK;
        sleep(1);
    }
}

const struct bl_cli_command bl_cli_top = {
    .name = "top",
    .summary = "shows the devices, how busy they are, and who uses how much of their memory",
    .help =
        "Usage: bailey top [--once]\n"
        "\n"
        "The devices of Bailey, how busy the processes that use them keep the processors, and each of these processes with the\n"
        "memory that it has allocated; again every second.\n"
        "\n"
        "  --once   once, and end\n"
        "\n"
        "Only processes of the same user are seen. Programs that watch GPUs through NVML show the same: bailey run nvtop\n",
    .run = run_top,
};
