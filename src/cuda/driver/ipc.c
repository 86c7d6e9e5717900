/* Memory and events of another process. A handle names the process that made it and a descriptor of a memory file there, which the
 * other process opens through /proc: so it works between processes of one user, as long as the maker lives; what is open stays
 * usable when the maker dies. Which calls must fail, and with what, follows an H200 (tests/api/calls_memory.cu).
 *
 * An event is a page that all its processes map: how often it was recorded, and up to which of these streams have come. */
#include "cuda/driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char memory_magic[8] = "baileyM1", event_magic[8] = "baileyE1", block_magic[8] = "baileyB1";

/* What stands in a CUipcMemHandle and a CUipcEventHandle. */
struct name {
    char magic[8];
    int32_t process, descriptor;
    uint64_t started; /* of the process, as /proc says it: its number may be another's by now */
    uint64_t inode;   /* of the file, for the same reason */
    uint64_t offset, size;
    uint64_t pool; /* which pool's, or 0 */
};
_Static_assert(sizeof(struct name) <= sizeof(CUipcMemHandle) && sizeof(struct name) <= sizeof(CUipcEventHandle), "handles");

/* ---- naming files of a process -------------------------------------------------------------------- */

/* When a process was started, in clock ticks since the system's; 0: there is none. */
static uint64_t start_of(int process)
{
    char path[64], text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    if (size <= 0)
        return 0;
    text[size] = 0;
    const char *at = strrchr(text, ')'); /* the name before may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static CUresult name_file(struct name *name, const char magic[8], int descriptor)
{
    struct stat facts;
    if (fstat(descriptor, &facts) != 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(name->magic, magic, sizeof(name->magic));
    name->process = getpid();
    name->descriptor = descriptor;
    name->started = start_of(name->process);
    name->inode = facts.st_ino;
    return CUDA_SUCCESS;
}

/* The file behind a name; -1: there is none such (any more). */
static int open_file(const struct name *name)
{
    char path[64];
    struct stat facts;
    if (start_of(name->process) != name->started)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", name->process, name->descriptor);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file >= 0 && (fstat(file, &facts) != 0 || facts.st_ino != name->inode || !S_ISREG(facts.st_mode))) {
        close(file);
        file = -1;
    }
    return file;
}

/* ---- memory --------------------------------------------------------------------------------------- */

struct opened {
    struct name name;
    struct bl_cu_device *device;
    uint64_t address;    /* what the program was given */
    uint64_t base, size; /* of the mapping */
    unsigned count;      /* how often it was opened */
    struct opened *next;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct opened *all;

/* Makes memory one that others can map, and names it. */
static CUresult name_memory(struct bl_cu_context *context, const struct bl_cu_allocation *memory, const char magic[8],
                            struct name *name)
{
    struct bl_device *device = memory->device->device;
    struct bl_error error = BL_ERROR_INIT;
    int descriptor;
    uint64_t base;
    *name = (struct name){.size = memory->size};
    if (!device->ops->share)
        return CUDA_ERROR_NOT_SUPPORTED;
    enum bl_status status = device->ops->share(device, memory->base, &descriptor, &base, &error);
    if (status != BL_OK) {
        bl_error_log("sharing memory: %s", error.message);
        return bl_cu_result(context, status);
    }
    name->offset = memory->base - base;
    return name_file(name, magic, descriptor);
}

CUresult bl_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!handle || !bl_cu_allocation_find(address, &found) || found.memory != BL_CU_DEVICE_MEMORY || found.pool || found.graph)
        return CUDA_ERROR_INVALID_VALUE;
    struct name name;
    result = name_memory(context, &found, memory_magic, &name);
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &name, sizeof(name));
    return result;
}

/* Maps all of the file. */
static CUresult attach(struct opened *opened, struct bl_cu_context *context, struct bl_cu_pool *pool, int file)
{
    struct bl_device *device = opened->device->device;
    struct bl_physical *physical;
    struct bl_error error = BL_ERROR_INIT;
    if (device->ops->physical_import(device, file, &physical, &opened->size, &error) != BL_OK)
        return CUDA_ERROR_INVALID_VALUE;
    enum bl_status status = BL_INVALID;
    if (opened->name.offset < opened->size && opened->name.size <= opened->size - opened->name.offset)
        status = device->ops->reserve(device, opened->size, 0, 0, &opened->base, &error);
    if (status == BL_OK) {
        status = device->ops->map(device, opened->base, opened->size, physical);
        if (status == BL_OK)
            status = device->ops->protect(device, opened->base, opened->size, BL_ACCESS_READ_WRITE);
        opened->address = opened->base + opened->name.offset;
        struct bl_cu_allocation about = {.base = opened->address,
                                         .size = opened->name.size,
                                         .memory = BL_CU_IMPORTED,
                                         .context = context,
                                         .device = opened->device,
                                         .pool = pool};
        if (status == BL_OK && !bl_cu_allocation_insert(&about))
            status = BL_NO_MEMORY;
        if (status != BL_OK)
            device->ops->unreserve(device, opened->base, opened->size);
    }
    device->ops->physical_destroy(physical);
    return bl_cu_result(context, status);
}

static struct opened *known(const struct name *name, struct bl_cu_device *device)
{
    struct opened *at = all;
    while (at && (at->device != device || memcmp(&at->name, name, sizeof(*name)) != 0))
        at = at->next;
    return at;
}

/* The lock is held. */
static CUresult open_memory(const struct name *name, struct bl_cu_context *context, struct bl_cu_pool *pool, CUdeviceptr *address)
{
    struct opened *made = known(name, context->device);
    if (made) {
        made->count++;
        *address = made->address;
        return CUDA_SUCCESS;
    }
    int file = open_file(name);
    if (file < 0)
        return CUDA_ERROR_INVALID_VALUE;
    made = bl_calloc(1, sizeof(*made));
    CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
    if (made) {
        *made = (struct opened){.name = *name, .device = context->device, .count = 1};
        result = attach(made, context, pool, file);
    }
    close(file);
    if (result != CUDA_SUCCESS) {
        bl_free(made);
        return result;
    }
    *address = made->address;
    made->next = all;
    all = made;
    return CUDA_SUCCESS;
}

CUresult bl_cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags)
{
    struct bl_cu_context *context;
    struct name name;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    memcpy(&name, &handle, sizeof(name));
    if (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || memcmp(name.magic, memory_magic, sizeof(name.magic)) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context->device->device->ops->share)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (name.process == getpid())
        return CUDA_ERROR_INVALID_CONTEXT; /* one's own: measured on an H200 */
    pthread_mutex_lock(&lock);
    result = open_memory(&name, context, NULL, address);
    pthread_mutex_unlock(&lock);
    return result;
}

/* Takes out one that was opened; all: however often. */
static bool close_memory(uint64_t address, bool entirely)
{
    pthread_mutex_lock(&lock);
    struct opened **at = &all;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    struct opened *found = *at;
    bool gone = found && (entirely || --found->count == 0);
    if (gone) {
        struct bl_device *device = found->device->device;
        struct bl_cu_allocation about;
        *at = found->next;
        bl_cu_allocation_remove(address, BL_CU_IMPORTED, &about);
        device->ops->unreserve(device, found->base, found->size);
        bl_free(found);
    }
    pthread_mutex_unlock(&lock);
    return found != NULL;
}

void bl_cu_ipc_forget(uint64_t address)
{
    close_memory(address, true);
}

bool bl_cu_ipc_close(uint64_t address)
{
    return close_memory(address, false);
}

CUresult bl_cuIpcCloseMemHandle(CUdeviceptr address)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!bl_cu_allocation_find(address, &found) || found.base != address || found.memory != BL_CU_IMPORTED || found.pool)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_synchronize(found.context); /* kernels may still use it */
    if (result == CUDA_ERROR_NOT_PERMITTED)
        return result;
    return close_memory(address, false) ? result : CUDA_ERROR_INVALID_VALUE;
}

/* ---- pools ---------------------------------------------------------------------------------------- */

/* A pool's descriptor says only which one it is: each allocation is named by itself. */
struct pool_page {
    char magic[8];
    uint64_t identity; /* of the pool: no other's on the machine */
};
static const char pool_magic[8] = "baileyQ1";

static uint64_t identity_of(const struct bl_cu_pool *pool)
{
    const uint64_t parts[] = {(uint64_t)getpid(), start_of(getpid()), ((const struct bl_cu_object *)pool)->handle};
    return bl_hash(parts, sizeof(parts), 1);
}

CUresult bl_cuMemPoolExportToShareableHandle(void *handle_out, CUmemoryPool pool, CUmemAllocationHandleType handle_type,
                                             unsigned long long flags)
{
    struct bl_cu_pool *found = bl_cu_object(pool, BL_CU_POOL);
    if (!handle_out || !found || flags || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !bl_cu_pool_shareable(found))
        return CUDA_ERROR_INVALID_VALUE;
    int file = memfd_create("bailey-pool", MFD_CLOEXEC);
    struct pool_page page = {.identity = identity_of(found)};
    memcpy(page.magic, pool_magic, sizeof(page.magic));
    if (file >= 0 && write(file, &page, sizeof(page)) != sizeof(page)) {
        close(file);
        file = -1;
    }
    if (file < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    memcpy(handle_out, &file, sizeof(file));
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolImportFromShareableHandle(CUmemoryPool *pool_out, void *handle, CUmemAllocationHandleType handle_type,
                                               unsigned long long flags)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!pool_out || flags || handle_type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    struct pool_page page;
    if (pread((int)(intptr_t)handle, &page, sizeof(page), 0) != sizeof(page) ||
        memcmp(page.magic, pool_magic, sizeof(page.magic)) != 0)
        return CUDA_ERROR_UNKNOWN; /* as measured */
    struct bl_cu_pool *made = bl_cu_pool_import(context->device, page.identity);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *pool_out = (CUmemoryPool)(uintptr_t)((struct bl_cu_object *)made)->handle;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemPoolExportPointer(CUmemPoolPtrExportData *share_data_out, CUdeviceptr ptr)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_allocation found;
    if (!share_data_out || !bl_cu_allocation_find(ptr, &found) || found.base != ptr || found.memory != BL_CU_DEVICE_MEMORY ||
        !found.pool || !bl_cu_pool_shareable(found.pool))
        return CUDA_ERROR_INVALID_VALUE;
    struct name name;
    result = name_memory(context, &found, block_magic, &name);
    name.pool = identity_of(found.pool);
    memset(share_data_out, 0, sizeof(*share_data_out));
    memcpy(share_data_out, &name, sizeof(name));
    return result;
}

CUresult bl_cuMemPoolImportPointer(CUdeviceptr *ptr_out, CUmemoryPool pool, CUmemPoolPtrExportData *share_data)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_pool *found = bl_cu_object(pool, BL_CU_POOL);
    struct name name;
    if (!ptr_out || !share_data || !found || !bl_cu_pool_imported(found))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&name, share_data, sizeof(name));
    /* One of another pool is refused: programs look for the right pair that way. */
    if (memcmp(name.magic, block_magic, sizeof(name.magic)) != 0 || name.pool != bl_cu_pool_imported(found))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    result = open_memory(&name, context, found, ptr_out);
    pthread_mutex_unlock(&lock);
    return result;
}

/* ---- events --------------------------------------------------------------------------------------- */

/* The page. */
struct bl_cu_shared_event {
    _Atomic uint64_t recorded; /* how often */
    _Atomic uint64_t passed;   /* which record a stream has come to */
    _Atomic int32_t process;   /* that recorded last, and when it was started */
    _Atomic uint64_t started;
};

static struct bl_cu_shared_event *map_event(int file)
{
    void *map = mmap(NULL, sizeof(struct bl_cu_shared_event), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return map == MAP_FAILED ? NULL : map;
}

CUresult bl_cu_event_share(struct bl_cu_event *event)
{
    enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
    int file = memfd_create("bailey-event", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool sized = ftruncate(file, sizeof(struct bl_cu_shared_event)) == 0 && fcntl(file, F_ADD_SEALS, SEALS) == 0;
    event->shared = sized ? map_event(file) : NULL;
    event->file = file;
    if (event->shared)
        return CUDA_SUCCESS;
    close(file);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Pages that a queue will still write although their event was destroyed. */
static struct retired {
    struct bl_cu_shared_event *shared;
    uint64_t record;
    struct retired *next;
} * retired;

static bool passed(const struct bl_cu_shared_event *shared, uint64_t record)
{
    return atomic_load(&shared->passed) >= record;
}

static void sweep(void)
{
    pthread_mutex_lock(&lock);
    for (struct retired **at = &retired; *at;) {
        struct retired *page = *at;
        if (!passed(page->shared, page->record)) {
            at = &page->next;
            continue;
        }
        *at = page->next;
        munmap(page->shared, sizeof(*page->shared));
        bl_free(page);
    }
    pthread_mutex_unlock(&lock);
}

void bl_cu_event_unshare(struct bl_cu_event *event)
{
    sweep();
    close(event->file);
    if (passed(event->shared, event->own_record)) {
        munmap(event->shared, sizeof(*event->shared));
        return;
    }
    struct retired *page = bl_malloc(sizeof(*page));
    if (!page)
        return; /* the page stays */
    pthread_mutex_lock(&lock);
    *page = (struct retired){event->shared, event->own_record, retired};
    retired = page;
    pthread_mutex_unlock(&lock);
}

CUresult bl_cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_event *found = bl_cu_object(event, BL_CU_EVENT);
    if (!found || !found->shared || found->imported)
        return CUDA_ERROR_INVALID_HANDLE;
    struct name name = {.size = sizeof(*found->shared)};
    result = name_file(&name, event_magic, found->file);
    memset(handle, 0, sizeof(*handle));
    memcpy(handle, &name, sizeof(name));
    return result;
}

CUresult bl_cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    struct bl_cu_context *context;
    struct name name;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&name, &handle, sizeof(name));
    if (memcmp(name.magic, event_magic, sizeof(name.magic)) != 0 || name.process == getpid())
        return CUDA_ERROR_MAP_FAILED;
    int file = open_file(&name);
    struct stat facts;
    bool fits = file >= 0 && fstat(file, &facts) == 0 && facts.st_size == sizeof(struct bl_cu_shared_event) &&
                fcntl(file, F_GET_SEALS) >= F_SEAL_SHRINK;
    struct bl_cu_shared_event *shared = fits ? map_event(file) : NULL;
    if (!shared) {
        if (file >= 0)
            close(file);
        return CUDA_ERROR_MAP_FAILED;
    }
    result = bl_cu_event_new(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING, shared, file, event);
    if (result != CUDA_SUCCESS) {
        munmap(shared, sizeof(*shared));
        close(file);
    }
    return result;
}

CUresult bl_cu_event_shared_record(struct bl_cu_event *event, struct bl_cu_stream *stream)
{
    struct bl_cu_shared_event *shared = event->shared;
    atomic_store(&shared->started, start_of(getpid()));
    atomic_store(&shared->process, getpid());
    struct bl_value_op op = {.kind = BL_VALUE_RAISE,
                             .wide = true,
                             .address = (uint64_t)(uintptr_t)&shared->passed,
                             .value = atomic_fetch_add(&shared->recorded, 1) + 1};
    event->own_record = op.value;
    return bl_cu_result(stream->context, stream->context->device->device->ops->value(stream->queue, &op));
}

bool bl_cu_event_shared_passed(const struct bl_cu_event *event)
{
    return passed(event->shared, atomic_load(&event->shared->recorded));
}

/* A process that dies never comes to what it recorded: then nothing is waited for. */
static void wait_for(struct bl_cu_shared_event *shared, uint64_t record)
{
    for (unsigned round = 0; !passed(shared, record); round++) {
        struct timespec pause = {.tv_nsec = round < 100 ? 20000 : 500000};
        nanosleep(&pause, NULL);
        if (round % 64 == 63 && start_of(atomic_load(&shared->process)) != atomic_load(&shared->started))
            return;
    }
}

void bl_cu_event_shared_wait(const struct bl_cu_event *event)
{
    wait_for(event->shared, atomic_load(&event->shared->recorded));
}

struct waiting {
    struct bl_cu_shared_event *shared; /* a mapping of its own: the event may be destroyed meanwhile */
    uint64_t record;
};

static void run_wait(void *data)
{
    struct waiting *waiting = data;
    wait_for(waiting->shared, waiting->record);
    munmap(waiting->shared, sizeof(*waiting->shared));
    bl_free(waiting);
}

CUresult bl_cu_event_shared_stream_wait(const struct bl_cu_event *event, struct bl_cu_stream *stream)
{
    uint64_t record = atomic_load(&event->shared->recorded);
    if (passed(event->shared, record))
        return CUDA_SUCCESS;
    struct waiting *waiting = bl_malloc(sizeof(*waiting));
    if (!waiting)
        return CUDA_ERROR_OUT_OF_MEMORY;
    waiting->record = record;
    waiting->shared = map_event(event->file);
    enum bl_status status =
        waiting->shared ? stream->context->device->device->ops->host_call(stream->queue, run_wait, waiting) : BL_NO_MEMORY;
    if (status != BL_OK) {
        if (waiting->shared)
            munmap(waiting->shared, sizeof(*waiting->shared));
        bl_free(waiting);
    }
    return bl_cu_result(stream->context, status);
}
