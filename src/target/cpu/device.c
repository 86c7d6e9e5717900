/* The CPU as a device: what it says of itself, and its table of operations. Called by src/device/registry.c. */
#include "target/cpu/load.h"

#include <stdio.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* What differs by compute capability: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". Sizes in
 * KiB; reserved: of shared memory, by the system, a block. */
struct capability {
    int major, minor;
    int threads, blocks; /* a multiprocessor */
    int shared_optin, shared, reserved;
    int registers_per_block;
};
static const struct capability capabilities[] = {
    {5, 0, 2048, 32, 48, 64, 0, 65536},    {5, 2, 2048, 32, 48, 96, 0, 65536},    {5, 3, 2048, 32, 48, 64, 0, 32768},
    {6, 0, 2048, 32, 48, 64, 0, 65536},    {6, 1, 2048, 32, 48, 96, 0, 65536},    {6, 2, 2048, 32, 48, 64, 0, 32768},
    {7, 0, 2048, 32, 96, 96, 0, 65536},    {7, 2, 2048, 32, 96, 96, 0, 65536},    {7, 5, 1024, 16, 64, 64, 0, 65536},
    {8, 0, 2048, 32, 163, 164, 1, 65536},  {8, 6, 1536, 16, 99, 100, 1, 65536},   {8, 7, 1536, 16, 163, 164, 1, 65536},
    {8, 9, 1536, 24, 99, 100, 1, 65536},   {9, 0, 2048, 32, 227, 228, 1, 65536},  {10, 0, 2048, 32, 227, 228, 1, 65536},
    {10, 3, 2048, 32, 227, 228, 1, 65536}, {11, 0, 1536, 24, 227, 228, 1, 65536}, {12, 0, 1536, 24, 99, 100, 1, 65536},
    {12, 1, 1536, 24, 99, 100, 1, 65536},
};

static const struct capability *find_capability(int major, int minor)
{
    for (size_t i = 0; i < BL_LEN(capabilities); i++)
        if (capabilities[i].major == major && capabilities[i].minor == minor)
            return &capabilities[i];
    return NULL;
}

static const struct capability *wanted_capability(void)
{
    const struct capability *usual = find_capability(9, 0), *found;
    const char *text = getenv("BAILEY_COMPUTE");
    int major, minor, end = 0;

    if (!text || !*text)
        return usual;
    if (sscanf(text, "%2d.%1d%n", &major, &minor, &end) == 2 && !text[end] && (found = find_capability(major, minor)))
        return found;
    bl_error_log("BAILEY_COMPUTE=%s: no compute capability that CUDA knows (5.0 to 12.1); 9.0 is used", text);
    return usual;
}

/* ---- what the machine says of itself ---------------------------------------------------------- */

/* A small file of the system's into text; an empty text where there is none. */
static void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, size - 1, file) : 0;

    text[got] = 0;
    if (file)
        fclose(file);
}

/* The value of a "key : value" line of /proc/cpuinfo. */
static bool cpuinfo(const char *text, const char *key, char *value, size_t size)
{
    const char *line = strstr(text, key), *colon = line ? strchr(line, ':') : NULL;
    size_t length;

    if (!colon)
        return false;
    colon += 1 + strspn(colon + 1, " \t");
    length = BL_MIN(strcspn(colon, "\n"), size - 1);
    memcpy(value, colon, length);
    value[length] = 0;
    return length > 0;
}

static void cut_out(char *text, const char *word)
{
    char *at;
    while ((at = strstr(text, word)))
        memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

/* "Intel(R) Xeon(R) Gold 6430 CPU @ 2.10GHz" to "Intel Xeon Gold 6430", "AMD EPYC 9354 32-Core Processor" to "AMD EPYC 9354". */
static void tidy_model(char *model)
{
    static const char *const noise[] = {"(R)", "(r)", "(TM)", "(tm)", " Processor", " CPU"};
    char *at = strstr(model, " @"), *core = strstr(model, "-Core");

    if (at)
        *at = 0;
    if (core) {
        char *word = core;
        while (word > model && word[-1] >= '0' && word[-1] <= '9')
            word--;
        memmove(word, core + strlen("-Core"), strlen(core + strlen("-Core")) + 1);
    }
    for (size_t i = 0; i < BL_LEN(noise); i++)
        cut_out(model, noise[i]);
    for (size_t end = strlen(model); end > 0 && model[end - 1] == ' '; end--)
        model[end - 1] = 0;
    while ((at = strstr(model, "  ")))
        memmove(at, at + 1, strlen(at + 1) + 1);
}

static void describe_processor(struct bl_device_props *props)
{
    char text[4096], model[160], value[64];
    struct utsname names;
    double mhz = 0;
    long khz;

    read_text("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", value, sizeof(value));
    khz = strtol(value, NULL, 10);
    props->clock_khz = (int)BL_MIN(khz, 100000000l);
    read_text("/proc/cpuinfo", text, sizeof(text));
    if (props->clock_khz <= 0 && cpuinfo(text, "cpu MHz", value, sizeof(value)))
        mhz = strtod(value, NULL);
    if (props->clock_khz <= 0)
        props->clock_khz = mhz > 0 && mhz < 100000 ? (int)(mhz * 1000) : 1000000;
    if (cpuinfo(text, "model name", model, sizeof(model)))
        tidy_model(model);
    else
        snprintf(model, sizeof(model), "%s", uname(&names) == 0 ? names.machine : "unknown");
    snprintf(props->name, sizeof(props->name), "Bailey CPU (%s, %d thread%s)", model, props->multiprocessors,
             props->multiprocessors == 1 ? "" : "s");
}

/* The same from run to run: made from the machine's id, or its host name where it has none. */
static void make_uuid(struct bl_device_props *props, int ordinal)
{
    char id[128];
    uint64_t halves[2];
    struct utsname names;

    read_text("/etc/machine-id", id, sizeof(id));
    if (!id[0] && uname(&names) == 0)
        snprintf(id, sizeof(id), "%s", names.nodename);
    halves[0] = bl_hash(id, strlen(id), (uint64_t)ordinal * 2 + 1);
    halves[1] = bl_hash(id, strlen(id), (uint64_t)ordinal * 2 + 2);
    memcpy(props->uuid, halves, sizeof(props->uuid));
}

/* ---- how much memory there is ----------------------------------------------------------------- */

static uint64_t read_limit(const char *path)
{
    char text[64];
    uint64_t limit;

    read_text(path, text, sizeof(text));
    limit = text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : 0; /* "max": none */
    return limit ? limit : UINT64_MAX;
}

/* The lowest limit of a control group and the groups above it. */
static uint64_t lowest_limit(const char *mount, const char *group, const char *file)
{
    char path[4096];
    uint64_t lowest = UINT64_MAX;
    int size = snprintf(path, sizeof(path) - 64, "%s%s", mount, group);

    if (size < 0 || (size_t)size >= sizeof(path) - 64)
        return lowest;
    for (char *end = path + size; end >= path + strlen(mount); end--) {
        if (*end && *end != '/')
            continue;
        snprintf(end, 64, "/%s", file);
        uint64_t limit = read_limit(path);
        lowest = BL_MIN(lowest, limit);
        *end = 0;
    }
    return lowest;
}

/* Version 2 of control groups has a line "0::/group", version 1 "7:memory:/group". */
static uint64_t group_limit(void)
{
    char text[4096], *rest = text, *line;
    uint64_t lowest = UINT64_MAX;

    read_text("/proc/self/cgroup", text, sizeof(text));
    while ((line = strsep(&rest, "\n"))) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        uint64_t limit = UINT64_MAX;
        if (!group)
            continue;
        *group++ = 0;
        if (strcmp(names, ":") == 0)
            limit = lowest_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strstr(names, "memory"))
            limit = lowest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        lowest = BL_MIN(lowest, limit);
    }
    return lowest;
}

static uint64_t total_memory(void)
{
    struct sysinfo info;
    uint64_t physical = sysinfo(&info) == 0 ? (uint64_t)info.totalram * info.mem_unit : (uint64_t)1 << 30;
    uint64_t limit = group_limit();

    return BL_MIN(physical, limit);
}

/* ---- the device ------------------------------------------------------------------------------- */

static int last_level_cache(void)
{
    long size = sysconf(_SC_LEVEL3_CACHE_SIZE);

    if (size <= 0)
        size = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return size > 0 ? (int)BL_MIN(size, (long)INT32_MAX) : 1 << 20;
}

static void fill_props(struct bl_device_props *props, int ordinal)
{
    const struct capability *capability = wanted_capability();

    props->multiprocessors = (int)bl_cpu_worker_count();
    describe_processor(props);
    make_uuid(props, ordinal);
    props->total_memory = total_memory();
    props->compute_major = capability->major;
    props->compute_minor = capability->minor;
    props->clusters = capability->major >= 9;
    props->memory_clock_khz = 2400000; /* two channels of DDR5-4800; nothing tells without privileges */
    props->memory_bus_bits = 128;
    props->l2_bytes = last_level_cache();
    props->max_threads_per_block = 1024;
    props->max_threads_per_multiprocessor = capability->threads;
    props->max_blocks_per_multiprocessor = capability->blocks;
    memcpy(props->max_block_dim, (int[]){1024, 1024, 64}, sizeof(props->max_block_dim));
    memcpy(props->max_grid_dim, (int[]){INT32_MAX, 65535, 65535}, sizeof(props->max_grid_dim));
    props->shared_per_block = 48 << 10;
    props->shared_per_block_optin = (uint64_t)capability->shared_optin << 10;
    props->shared_per_multiprocessor = (uint64_t)capability->shared << 10;
    props->shared_reserved = (uint64_t)capability->reserved << 10;
    props->registers_per_block = capability->registers_per_block;
    props->registers_per_multiprocessor = 65536;
    props->map_granularity = 2 << 20; /* as NVIDIA's devices have it */
    props->pci_domain = 0;
    props->pci_bus = 0xb0 + ordinal / 32; /* no such card exists; unlike any other device's */
    props->pci_device = ordinal % 32;
    props->unified_addressing = true;
    props->managed_memory = true;
    props->concurrent_managed = true;
    props->pageable_access = true;
    props->host_memory_is_device_memory = true;
}

static void destroy(struct bl_device *base)
{
    struct bl_cpu_device *device = (struct bl_cpu_device *)base;

    bl_cpu_runner_destroy(device);
    bl_cpu_textures_free(device);
    bl_cpu_memory_destroy(device->memory);
    bl_free(device);
}

static const struct bl_device_ops ops = {
    .name = "cpu",
    .destroy = destroy,
    .alloc = bl_cpu_alloc,
    .free = bl_cpu_free,
    .range = bl_cpu_range,
    .memory_info = bl_cpu_memory_info,
    .reserve = bl_cpu_reserve,
    .unreserve = bl_cpu_unreserve,
    .physical_create = bl_cpu_physical_create,
    .physical_destroy = bl_cpu_physical_destroy,
    .physical_export = bl_cpu_physical_export,
    .physical_import = bl_cpu_physical_import,
    .map = bl_cpu_map,
    .unmap = bl_cpu_unmap,
    .protect = bl_cpu_protect,
    .share = bl_cpu_share,
    .module_load = bl_cpu_module_load,
    .module_unload = bl_cpu_module_unload,
    .module_kernel_name = bl_cpu_module_kernel_name,
    .module_kernel = bl_cpu_module_kernel,
    .module_variable = bl_cpu_module_variable,
    .kernel_param = bl_cpu_kernel_param,
    .kernel_attr = bl_cpu_kernel_attr,
    .kernel_set_max_dynamic_shared = bl_cpu_kernel_set_max_dynamic_shared,
    .kernel_name = bl_cpu_kernel_name,
    .queue_create = bl_cpu_queue_create,
    .queue_destroy = bl_cpu_queue_destroy,
    .launch = bl_cpu_launch,
    .copy = bl_cpu_copy,
    .fill = bl_cpu_fill,
    .host_call = bl_cpu_host_call,
    .value = bl_cpu_value,
    .batch = bl_cpu_batch,
    .queue_wait = bl_cpu_queue_wait,
    .queue_query = bl_cpu_queue_query,
    .fence_create = bl_cpu_fence_create,
    .fence_destroy = bl_cpu_fence_destroy,
    .fence_record = bl_cpu_fence_record,
    .fence_wait_queue = bl_cpu_fence_wait_queue,
    .fence_wait = bl_cpu_fence_wait,
    .fence_query = bl_cpu_fence_query,
    .fence_time = bl_cpu_fence_time,
    .device_wait = bl_cpu_device_wait,
    .fault = bl_cpu_fault,
    .reset = bl_cpu_reset,
    .texture_create = bl_cpu_texture_create,
    .texture_destroy = bl_cpu_texture_destroy,
    .occupancy = bl_cpu_occupancy,
    .set_limit = bl_cpu_set_limit,
    .get_limit = bl_cpu_get_limit,
    .flush_printf = bl_cpu_flush_printf,
};

enum bl_status bl_cpu_device_create(int ordinal, struct bl_device **result, struct bl_error *error)
{
    struct bl_cpu_device *device = bl_calloc(1, sizeof(*device));
    enum bl_status status;

    if (!device)
        return bl_fail(error, BL_NO_MEMORY, "CPU device %d: out of memory", ordinal);
    device->base.ops = &ops;
    device->base.ordinal = ordinal;
    fill_props(&device->base.props, ordinal);
    status = bl_cpu_memory_create(device->base.props.total_memory, &device->memory, error);
    if (status == BL_OK) {
        bl_cpu_memory_show(device->memory, &device->base);
        status = bl_cpu_runner_create(device, error);
    }
    if (status != BL_OK) {
        bl_cpu_memory_destroy(device->memory);
        bl_free(device);
        return status;
    }
    *result = &device->base;
    return BL_OK;
}
