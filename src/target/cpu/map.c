/* Memory without an address and addresses without memory, and how they come together: reserved ranges, physical memory, mappings
 * between them. Physical memory is a sealed memory file, so that it can be mapped at several places and by other processes. Called
 * through bl_device_ops; bl_cpu_memory_file also by memory.c. */
#include "target/cpu/load.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Its size cannot change any more: nobody who maps it can be made to fault by another process. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
static const char file_name[] = "bailey-memory";

struct bl_physical {
    struct bl_cpu_device *device;
    int file;
    uint64_t size, charged; /* bytes; charged: counted as the device's, 0 where another process made it */
};

int bl_cpu_memory_file(uint64_t size)
{
    int file = bl_fault_due("memfd") ? -1 : memfd_create(file_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (file < 0)
        return -1;
    if (size <= INT64_MAX && ftruncate(file, (off_t)size) == 0 && fcntl(file, F_ADD_SEALS, SEALS) == 0)
        return file;
    close(file);
    return -1;
}

/* Size of a file that bl_cpu_memory_file made, in this process or another; 0: it is something else. */
static uint64_t size_of_ours(int file)
{
    char path[64], target[64];
    struct stat facts;
    ssize_t length;
    int seals = fcntl(file, F_GET_SEALS);

    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    length = readlink(path, target, sizeof(target) - 1);
    if (seals < 0 || (seals & SEALS) != SEALS || length < 0 || fstat(file, &facts) != 0)
        return 0;
    target[length] = 0;
    return strstr(target, file_name) && facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
}

/* ---- addresses -------------------------------------------------------------------------------- */

static void *pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

enum bl_status bl_cpu_reserve(struct bl_device *device, uint64_t size, uint64_t align, uint64_t hint, uint64_t *address,
                              struct bl_error *error)
{
    uint64_t whole, base, start;
    void *map;

    align = BL_MAX(align, (uint64_t)device->props.map_granularity);
    if (size == 0 || align & (align - 1) || __builtin_add_overflow(size, align, &whole))
        return bl_fail(error, BL_INVALID, "addresses for %llu bytes aligned to %llu", (unsigned long long)size,
                       (unsigned long long)align);
    map = bl_fault_due("mmap") ? MAP_FAILED
                               : mmap(pointer(hint), whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return bl_fail(error, BL_NO_MEMORY, "no addresses for %llu bytes", (unsigned long long)size);
    start = (uint64_t)(uintptr_t)map;
    base = BL_ALIGN_UP(start, align);
    if (base > start)
        munmap(map, base - start);
    if (start + whole > base + size)
        munmap(pointer(base + size), start + whole - base - size);
    *address = base;
    return BL_OK;
}

void bl_cpu_unreserve(struct bl_device *device, uint64_t address, uint64_t size)
{
    munmap(pointer(address), size);
}

/* ---- memory ----------------------------------------------------------------------------------- */

static struct bl_physical *physical_new(struct bl_cpu_device *device, int file, uint64_t size)
{
    struct bl_physical *physical = file < 0 ? NULL : bl_calloc(1, sizeof(*physical));

    if (!physical)
        return NULL;
    physical->device = device;
    physical->file = file;
    physical->size = size;
    return physical;
}

enum bl_status bl_cpu_physical_create(struct bl_device *base, uint64_t size, struct bl_physical **physical, struct bl_error *error)
{
    struct bl_cpu_device *device = (struct bl_cpu_device *)base;
    enum bl_status status = bl_cpu_memory_charge(device->memory, size, error);
    int file;

    if (status != BL_OK)
        return status;
    file = bl_cpu_memory_file(size);
    *physical = physical_new(device, file, size);
    if (!*physical) {
        if (file >= 0)
            close(file);
        bl_cpu_memory_discharge(device->memory, size);
        return bl_fail(error, BL_NO_MEMORY, "no memory file of %llu bytes", (unsigned long long)size);
    }
    (*physical)->charged = size;
    return BL_OK;
}

void bl_cpu_physical_destroy(struct bl_physical *physical)
{
    close(physical->file);
    bl_cpu_memory_discharge(physical->device->memory, physical->charged);
    bl_free(physical);
}

enum bl_status bl_cpu_physical_export(struct bl_physical *physical, int *descriptor)
{
    *descriptor = fcntl(physical->file, F_DUPFD_CLOEXEC, 0);
    return *descriptor < 0 ? BL_IO : BL_OK;
}

enum bl_status bl_cpu_physical_import(struct bl_device *device, int descriptor, struct bl_physical **physical, uint64_t *size,
                                      struct bl_error *error)
{
    uint64_t bytes = descriptor < 0 ? 0 : size_of_ours(descriptor);
    int file;

    if (!bytes)
        return bl_fail(error, BL_INVALID, "descriptor %d is none of shared device memory", descriptor);
    file = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    *physical = physical_new((struct bl_cpu_device *)device, file, bytes);
    if (!*physical) {
        if (file >= 0)
            close(file);
        return bl_fail(error, BL_NO_MEMORY, "no memory or descriptor for shared memory");
    }
    *size = bytes;
    return BL_OK;
}

/* ---- both together ---------------------------------------------------------------------------- */

enum bl_status bl_cpu_map(struct bl_device *device, uint64_t address, uint64_t size, struct bl_physical *physical)
{
    if (size > physical->size)
        return BL_INVALID;
    if (mmap(pointer(address), size, PROT_NONE, MAP_SHARED | MAP_FIXED, physical->file, 0) == MAP_FAILED)
        return BL_NO_MEMORY;
    madvise(pointer(address), size, MADV_HUGEPAGE); /* only a wish */
    return BL_OK;
}

enum bl_status bl_cpu_unmap(struct bl_device *device, uint64_t address, uint64_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;

    return mmap(pointer(address), size, PROT_NONE, flags, -1, 0) == MAP_FAILED ? BL_NO_MEMORY : BL_OK;
}

enum bl_status bl_cpu_protect(struct bl_device *device, uint64_t address, uint64_t size, enum bl_access access)
{
    static const int protections[] = {
        [BL_ACCESS_NONE] = PROT_NONE, [BL_ACCESS_READ] = PROT_READ, [BL_ACCESS_READ_WRITE] = PROT_READ | PROT_WRITE};

    return mprotect(pointer(address), size, protections[access]) == 0 ? BL_OK : BL_NO_MEMORY;
}
