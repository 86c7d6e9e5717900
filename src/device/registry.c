/* Which devices this process has. Opened once, at the first cuInit. */
#include "device.h"

#include <pthread.h>

enum { MAX_DEVICES = 64 };

static struct bl_device *devices[MAX_DEVICES];
static int device_count;
static enum bl_status open_status;
static struct bl_error open_error;
static pthread_once_t open_once = PTHREAD_ONCE_INIT;

static void open_devices(void)
{
    const char *wanted = getenv("BAILEY_DEVICE");
    const char *count_text = getenv("BAILEY_CPU_DEVICES");
    long count = count_text ? strtol(count_text, NULL, 10) : 1;

    if (wanted && *wanted && strcmp(wanted, "cpu") != 0) {
        open_status =
            bl_fail(&open_error, BL_UNSUPPORTED, "BAILEY_DEVICE=%s: this version of Bailey has the device \"cpu\" only", wanted);
        return;
    }
    if (count < 1 || count > MAX_DEVICES) {
        open_status = bl_fail(&open_error, BL_INVALID, "BAILEY_CPU_DEVICES=%s: expected 1 to %d", count_text, MAX_DEVICES);
        return;
    }
    for (int i = 0; i < (int)count && open_status == BL_OK; i++) {
        open_status = bl_cpu_device_create(i, &devices[i], &open_error);
        if (open_status == BL_OK)
            device_count = i + 1;
    }
}

enum bl_status bl_devices_open(struct bl_error *error)
{
    pthread_once(&open_once, open_devices);
    if (open_status != BL_OK)
        bl_fail(error, open_status, "%s", open_error.message);
    return open_status;
}

int bl_device_count(void)
{
    return device_count;
}

struct bl_device *bl_device_get(int ordinal)
{
    return ordinal >= 0 && ordinal < device_count ? devices[ordinal] : NULL;
}
