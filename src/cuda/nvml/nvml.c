/* libnvidia-ml.so.1: what programs that watch GPUs ask, answered about Bailey's devices. api.def lists every function of the real
 * library; those that are not here answer NOT_SUPPORTED (stubs made by gen_api.py), which NVML's users expect of devices without
 * the thing asked for. Processes and their memory come from device/presence.h; utilisation is the processors' time that these
 * processes use. */
#include "cuda/nvml/nvml.h"

#include "cuda/nvml/entries.h" /* made by gen_api.py */
#include "device/device.h"
#include "device/presence.h"

#include <pthread.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

/* The oldest driver of CUDA 13.0, since programs compare it with what their CUDA needs. */
static const char driver_version[] = "580.65.06";
enum { CUDA_VERSION = 13000, MOST_PROCESSES = 256, NO_INSTANCE = -1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;

enum bl_nvml_result bl_nvml_ready(void)
{
    pthread_mutex_lock(&lock);
    bool ready = users > 0;
    pthread_mutex_unlock(&lock);
    return ready ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

/* ---- the library itself ---------------------------------------------------------------------------- */

int nvmlInit_v2(void)
{
    struct bl_error error = BL_ERROR_INIT;
    pthread_mutex_lock(&lock);
    enum bl_status status = users ? BL_OK : bl_devices_open(&error);
    if (status == BL_OK)
        users++;
    pthread_mutex_unlock(&lock);
    if (status != BL_OK)
        bl_error_log("nvmlInit: %s", error.message);
    return status == BL_OK ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

int nvmlInit(void)
{
    return nvmlInit_v2();
}

int nvmlInitWithFlags(unsigned flags)
{
    return nvmlInit_v2();
}

int nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    int result = users ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    users -= users > 0;
    pthread_mutex_unlock(&lock);
    return result;
}

const char *nvmlErrorString(int result)
{
    static const struct {
        int result;
        const char *text;
    } texts[] = {
        {NVML_SUCCESS, "Success"},
        {NVML_ERROR_UNINITIALIZED, "Uninitialized"},
        {NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument"},
        {NVML_ERROR_NOT_SUPPORTED, "Not Supported"},
        {NVML_ERROR_NOT_FOUND, "Not Found"},
        {NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size"},
        {NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded"},
        {NVML_ERROR_TIMEOUT, "Timeout"},
        {NVML_ERROR_MEMORY, "Insufficient Memory"},
        {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch"},
    };
    for (size_t i = 0; i < BL_LEN(texts); i++)
        if (texts[i].result == result)
            return texts[i].text;
    return "Unknown Error";
}

/* A text into the caller's buffer, whole or not at all. */
static int give_text(char *to, unsigned size, const char *text)
{
    if (!to)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(to, text, strlen(text) + 1);
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    int result = bl_nvml_ready();
    return result ? result : give_text(version, length, driver_version);
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    char text[32];
    int result = bl_nvml_ready();
    snprintf(text, sizeof(text), "13.%s", driver_version);
    return result ? result : give_text(version, length, text);
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = CUDA_VERSION;
    return NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
    char path[64], text[1024];
    int result = bl_nvml_ready();
    if (result)
        return result;
    if (!name || !length)
        return NVML_ERROR_INVALID_ARGUMENT;
    snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0; /* the words are ended by zeros: the first one is the program */
    if (!size)
        return NVML_ERROR_NOT_FOUND;
    snprintf(name, length, "%s", text);
    return NVML_SUCCESS;
}

/* ---- devices ---------------------------------------------------------------------------------------- */

int nvmlDeviceGetCount_v2(unsigned *count)
{
    int result = bl_nvml_ready();
    if (result)
        return result;
    if (!count)
        return NVML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)bl_device_count();
    return NVML_SUCCESS;
}

int nvmlDeviceGetCount(unsigned *count)
{
    return nvmlDeviceGetCount_v2(count);
}

/* The device behind a handle, which is its own address; NULL: none, and *result says why. */
static struct bl_device *device_of(void *handle, int *result)
{
    *result = bl_nvml_ready();
    for (int i = 0; i < bl_device_count() && *result == NVML_SUCCESS; i++)
        if (bl_device_get(i) == handle)
            return handle;
    if (*result == NVML_SUCCESS)
        *result = NVML_ERROR_INVALID_ARGUMENT;
    return NULL;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    int result = bl_nvml_ready();
    if (result)
        return result;
    if (!device || index >= (unsigned)bl_device_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = bl_device_get((int)index);
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex(unsigned index, void **device)
{
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static void uuid_text(const struct bl_device *device, char text[64])
{
    const uint8_t *u = device->props.uuid;
    snprintf(text, 64, "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2], u[3], u[4],
             u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
    int result = bl_nvml_ready();
    if (result)
        return result;
    if (!uuid || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < bl_device_count(); i++) {
        char text[64];
        uuid_text(bl_device_get(i), text);
        if (strcasecmp(text, uuid) == 0) {
            *device = bl_device_get(i);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    unsigned domain, bus, slot;
    int result = bl_nvml_ready();
    if (result)
        return result;
    if (!bus_id || !device)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (sscanf(bus_id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(bus_id, "%x:%x", &bus, &slot) != 2)
            return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (int i = 0; i < bl_device_count(); i++) {
        const struct bl_device_props *props = &bl_device_get(i)->props;
        if ((unsigned)props->pci_domain == domain && (unsigned)props->pci_bus == bus && (unsigned)props->pci_device == slot) {
            *device = bl_device_get(i);
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId(const char *bus_id, void **device)
{
    return nvmlDeviceGetHandleByPciBusId_v2(bus_id, device);
}

int nvmlDeviceGetIndex(void *handle, unsigned *index)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !index)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *index = (unsigned)device->ordinal;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMinorNumber(void *handle, unsigned *number)
{
    return nvmlDeviceGetIndex(handle, number);
}

int nvmlDeviceGetName(void *handle, char *name, unsigned length)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    return device ? give_text(name, length, device->props.name) : result;
}

int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned length)
{
    int result;
    char text[64];
    struct bl_device *device = device_of(handle, &result);
    if (!device)
        return result;
    uuid_text(device, text);
    return give_text(uuid, length, text);
}

int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !major || !minor)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *major = device->props.compute_major;
    *minor = device->props.compute_minor;
    return NVML_SUCCESS;
}

int nvmlDeviceGetNumGpuCores(void *handle, unsigned *count)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !count)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *count = (unsigned)device->props.multiprocessors;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryBusWidth(void *handle, unsigned *bits)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !bits)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *bits = (unsigned)device->props.memory_bus_bits;
    return NVML_SUCCESS;
}

/* CU_COMPUTEMODE_DEFAULT */
int nvmlDeviceGetComputeMode(void *handle, int *mode)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !mode)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *mode = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(void *handle, struct bl_nvml_pci *pci)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !pci)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    const struct bl_device_props *props = &device->props;
    *pci = (struct bl_nvml_pci){
        .domain = (unsigned)props->pci_domain, .bus = (unsigned)props->pci_bus, .device = (unsigned)props->pci_device};
    snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04X:%02X:%02X.0", pci->domain & 0xffff, pci->bus & 0xff,
             pci->device & 0xff);
    snprintf(pci->busId, sizeof(pci->busId), "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff, pci->device & 0xff);
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v2(void *handle, struct bl_nvml_pci_v2 *pci)
{
    struct bl_nvml_pci now = {0};
    int result = pci ? nvmlDeviceGetPciInfo_v3(handle, &now) : NVML_ERROR_INVALID_ARGUMENT;
    if (result != NVML_SUCCESS)
        return result;
    *pci = (struct bl_nvml_pci_v2){.domain = now.domain, .bus = now.bus, .device = now.device};
    memcpy(pci->busId, now.busIdLegacy, sizeof(pci->busId));
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo(void *handle, struct bl_nvml_pci_v1 *pci)
{
    struct bl_nvml_pci now = {0};
    int result = pci ? nvmlDeviceGetPciInfo_v3(handle, &now) : NVML_ERROR_INVALID_ARGUMENT;
    if (result != NVML_SUCCESS)
        return result;
    *pci = (struct bl_nvml_pci_v1){.domain = now.domain, .bus = now.bus, .device = now.device};
    memcpy(pci->busId, now.busIdLegacy, sizeof(pci->busId));
    return NVML_SUCCESS;
}

/* The processor's clock: now, and at most. */
static int clock_mhz(struct bl_device *device, unsigned type, bool now, unsigned *mhz)
{
    if (!mhz || type > NVML_CLOCK_VIDEO)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (type == NVML_CLOCK_MEM || type == NVML_CLOCK_VIDEO)
        return NVML_ERROR_NOT_SUPPORTED;
    *mhz = (unsigned)device->props.clock_khz / 1000;
    FILE *file = now ? fopen("/proc/cpuinfo", "re") : NULL;
    char line[256];
    double found;
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "cpu MHz : %lf", &found) == 1 && found > 0 && found < 1e6) {
            *mhz = (unsigned)found;
            break;
        }
    if (file)
        fclose(file);
    return NVML_SUCCESS;
}

int nvmlDeviceGetClockInfo(void *handle, unsigned type, unsigned *mhz)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    return device ? clock_mhz(device, type, true, mhz) : result;
}

int nvmlDeviceGetMaxClockInfo(void *handle, unsigned type, unsigned *mhz)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    return device ? clock_mhz(device, type, false, mhz) : result;
}

/* ---- who uses a device ------------------------------------------------------------------------------- */

/* The processes that have opened the device; the caller frees the list. NULL: no memory. */
static struct bl_presence_seen *processes(const struct bl_device *device, size_t *count)
{
    struct bl_presence_seen *seen = bl_calloc(MOST_PROCESSES, sizeof(*seen));
    size_t all = seen ? bl_presence_list(seen, MOST_PROCESSES) : 0, used = 0;
    for (size_t i = 0; i < all; i++)
        if ((uint32_t)device->ordinal < seen[i].device_count)
            seen[used++] = seen[i];
    *count = used;
    return seen;
}

static int memory_of(void *handle, struct bl_nvml_memory *memory)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    size_t count;
    struct bl_presence_seen *seen = device ? processes(device, &count) : NULL;
    if (!seen)
        return device ? NVML_ERROR_MEMORY : result;
    *memory = (struct bl_nvml_memory){.total = device->props.total_memory};
    for (size_t i = 0; i < count; i++)
        memory->used += BL_MIN(seen[i].bytes[device->ordinal], memory->total - memory->used);
    memory->free = memory->total - memory->used;
    bl_free(seen);
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(void *handle, struct bl_nvml_memory *memory)
{
    return memory ? memory_of(handle, memory) : NVML_ERROR_INVALID_ARGUMENT;
}

int nvmlDeviceGetMemoryInfo_v2(void *handle, struct bl_nvml_memory_v2 *memory)
{
    struct bl_nvml_memory plain = {0};
    if (!memory)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != (sizeof(*memory) | 2u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    int result = memory_of(handle, &plain);
    if (result != NVML_SUCCESS)
        return result;
    memory->total = plain.total;
    memory->reserved = 0;
    memory->free = plain.free;
    memory->used = plain.used;
    return NVML_SUCCESS;
}

/* Processor time that processes had used when the device was last asked. */
static struct sample {
    uint64_t nanoseconds;
    struct {
        int32_t process;
        uint64_t started, ticks;
    } processes[MOST_PROCESSES];
    size_t count;
    unsigned percent;
} samples[BL_PRESENCE_DEVICES];

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static uint64_t ticks_before(const struct sample *sample, const struct bl_presence_seen *seen)
{
    for (size_t i = 0; i < sample->count; i++)
        if (sample->processes[i].process == seen->process && sample->processes[i].started == seen->started)
            return sample->processes[i].ticks;
    return seen->ticks;
}

static unsigned percent_of(uint64_t ticks, uint64_t nanoseconds, const struct bl_device *device)
{
    double seconds = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    double share = seconds * 1e9 / (double)nanoseconds / device->props.multiprocessors;
    return (unsigned)(BL_MIN(share, 1.0) * 100 + 0.5);
}

/* The share of the processors that the device's processes took since the last time; the lock is held. */
static unsigned utilization(const struct bl_device *device, const struct bl_presence_seen *seen, size_t count)
{
    enum { SHORTEST_NS = 50000000 }; /* clock ticks are 10 ms */
    struct sample *sample = &samples[device->ordinal];
    uint64_t time = now(), passed = time - sample->nanoseconds, ticks = 0;
    if (sample->nanoseconds && passed < SHORTEST_NS)
        return sample->percent;
    for (size_t i = 0; i < count; i++)
        ticks += seen[i].ticks - BL_MIN(seen[i].ticks, ticks_before(sample, &seen[i]));
    sample->percent = sample->nanoseconds ? percent_of(ticks, passed, device) : 0;
    sample->nanoseconds = time;
    sample->count = count;
    for (size_t i = 0; i < count; i++) {
        sample->processes[i].process = seen[i].process;
        sample->processes[i].started = seen[i].started;
        sample->processes[i].ticks = seen[i].ticks;
    }
    return sample->percent;
}

int nvmlDeviceGetUtilizationRates(void *handle, struct bl_nvml_utilization *rates)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    size_t count;
    if (!device || !rates)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    struct bl_presence_seen *seen = processes(device, &count);
    if (!seen)
        return NVML_ERROR_MEMORY;
    pthread_mutex_lock(&lock);
    rates->gpu = utilization(device, seen, count);
    rates->memory = 0; /* how busy the memory is, nobody can tell without privileges */
    pthread_mutex_unlock(&lock);
    bl_free(seen);
    return NVML_SUCCESS;
}

/* One process into the caller's list, by the version of its struct. */
static void give_process(void *list, size_t i, const struct bl_presence_seen *seen, int ordinal, int version)
{
    if (version == 1)
        ((struct bl_nvml_process_v1 *)list)[i] = (struct bl_nvml_process_v1){(unsigned)seen->process, seen->bytes[ordinal]};
    else
        ((struct bl_nvml_process *)list)[i] =
            (struct bl_nvml_process){(unsigned)seen->process, seen->bytes[ordinal], (unsigned)NO_INSTANCE, (unsigned)NO_INSTANCE};
}

static int running(void *handle, unsigned *count, void *list, int version)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    size_t found;
    if (!device || !count || (*count && !list))
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    struct bl_presence_seen *seen = processes(device, &found);
    if (!seen)
        return NVML_ERROR_MEMORY;
    result = found > *count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
    for (size_t i = 0; i < found && result == NVML_SUCCESS; i++)
        give_process(list, i, &seen[i], device->ordinal, version);
    *count = (unsigned)found;
    bl_free(seen);
    return result;
}

int nvmlDeviceGetComputeRunningProcesses(void *handle, unsigned *count, void *list)
{
    return running(handle, count, list, 1);
}

int nvmlDeviceGetComputeRunningProcesses_v2(void *handle, unsigned *count, void *list)
{
    return running(handle, count, list, 2);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, void *list)
{
    return running(handle, count, list, 3);
}

/* Those that draw, and those of the multi-process service: there are none. */
static int none_running(void *handle, unsigned *count)
{
    int result;
    struct bl_device *device = device_of(handle, &result);
    if (!device || !count)
        return device ? NVML_ERROR_INVALID_ARGUMENT : result;
    *count = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetGraphicsRunningProcesses(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}

int nvmlDeviceGetGraphicsRunningProcesses_v2(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}

int nvmlDeviceGetMPSComputeRunningProcesses(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v2(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}

int nvmlDeviceGetMPSComputeRunningProcesses_v3(void *handle, unsigned *count, void *list)
{
    return none_running(handle, count);
}
