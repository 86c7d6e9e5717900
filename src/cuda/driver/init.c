/* cuInit, the gate of the entry points, the trace, and the errors of what is missing. */
#include "cuda/driver/driver.h"
#include "device/presence.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

atomic_uint bl_cu_gate = BL_CU_GATE_CLOSED;
struct bl_cu_device bl_cu_devices[BL_CU_MAX_DEVICES];
int bl_cu_device_count;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static bool initialised;
static bool forked;
static atomic_bool ending;
static FILE *trace_file;

__attribute__((constructor)) static void open_trace(void)
{
    const char *where = getenv("BAILEY_TRACE");
    if (!where || !*where || !strcmp(where, "0"))
        return;
    trace_file = !strcmp(where, "1") ? stderr : fopen(where, "ae");
    if (!trace_file) {
        bl_error_log("cannot open the trace file %s", where);
        return;
    }
    setvbuf(trace_file, NULL, _IOLBF, 0);
    atomic_fetch_or(&bl_cu_gate, BL_CU_GATE_TRACE);
}

/* A forked child has no worker threads and no helper: as with NVIDIA's driver, it can't go on using CUDA. */
static void in_child(void)
{
    if (initialised) {
        forked = true;
        atomic_fetch_or(&bl_cu_gate, BL_CU_GATE_CLOSED);
    }
}

/* When the program exits, nothing waits for kernels that still run, which may never end: from here on every call answers
 * DEINITIALIZED, as with NVIDIA's driver, and the runtime's own clean-up does nothing. */
static void at_exit(void)
{
    atomic_store(&ending, true);
    atomic_fetch_or(&bl_cu_gate, BL_CU_GATE_CLOSED);
}

static CUresult open_devices(void)
{
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = bl_devices_open(&error);
    if (status != BL_OK) {
        bl_error_log("cuInit: %s: %s", bl_status_name(status), error.message);
        return status == BL_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_DEVICE;
    }
    int count = BL_MIN(bl_device_count(), BL_CU_MAX_DEVICES);
    struct bl_presence *presence = bl_presence_enter((uint32_t)count);
    for (int i = 0; i < count; i++) {
        struct bl_cu_device *device = &bl_cu_devices[i];
        device->device = bl_device_get(i);
        device->ordinal = i;
        device->device->shown_bytes = &presence->bytes[i];
        pthread_mutex_init(&device->lock, NULL);
    }
    bl_cu_device_count = count;
    return count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult bl_cuInit(unsigned int flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&init_lock);
    CUresult result = CUDA_SUCCESS;
    if (atomic_load(&ending))
        result = CUDA_ERROR_DEINITIALIZED;
    else if (forked)
        result = CUDA_ERROR_NOT_INITIALIZED;
    else if (!initialised) {
        result = open_devices();
        if (result == CUDA_SUCCESS) {
            initialised = true;
            pthread_atfork(NULL, NULL, in_child);
            atexit(at_exit);
            atomic_fetch_and(&bl_cu_gate, ~(unsigned)BL_CU_GATE_CLOSED);
        }
    }
    pthread_mutex_unlock(&init_lock);
    return result;
}

CUresult bl_cu_gate_check(void)
{
    if (!(atomic_load(&bl_cu_gate) & BL_CU_GATE_CLOSED))
        return CUDA_SUCCESS;
    return atomic_load(&ending) ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult bl_cuDriverGetVersion(int *driver_version)
{
    if (!driver_version)
        return CUDA_ERROR_INVALID_VALUE;
    *driver_version = BL_CU_VERSION;
    return CUDA_SUCCESS;
}

void bl_cu_trace(const char *function, const char *names, const uint64_t *values, CUresult result)
{
    FILE *file = trace_file;
    if (!file)
        return;
    char line[1024];
    size_t used = (size_t)snprintf(line, sizeof(line), "%s(", function);
    for (int i = 0; *names && used < sizeof(line); i++) {
        size_t length = strcspn(names, " ");
        used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.*s=0x%llx", i ? ", " : "", (int)length, names,
                                 (unsigned long long)values[i]);
        names += length + (names[length] == ' ');
    }
    const char *name = "?";
    bl_cuGetErrorName(result, &name);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(file, "%ld.%06ld %s) = %d %s\n", (long)now.tv_sec, now.tv_nsec / 1000, line, (int)result, name ? name : "?");
}

CUresult bl_cu_missing(const char *function, atomic_bool *said)
{
    CUresult result = bl_cu_gate_check();
    if (result == CUDA_SUCCESS)
        result = CUDA_ERROR_NOT_SUPPORTED;
    if (!atomic_exchange(said, true))
        bl_error_log("%s is not supported yet; it answers CUDA_ERROR_NOT_SUPPORTED", function);
    if (atomic_load(&bl_cu_gate) & BL_CU_GATE_TRACE)
        bl_cu_trace(function, "", NULL, result);
    return result;
}

CUresult bl_cu_refused(const char *function, CUresult code, const char *reason, atomic_bool *said)
{
    CUresult result = bl_cu_gate_check();
    if (result == CUDA_SUCCESS)
        result = code;
    if (!atomic_exchange(said, true))
        bl_warn("%s is refused: %s", function, reason);
    if (atomic_load(&bl_cu_gate) & BL_CU_GATE_TRACE)
        bl_cu_trace(function, "", NULL, result);
    return result;
}
