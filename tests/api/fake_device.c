/* See fake_device.h. */
#include "fake_device.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

struct fake fake = {.memory = 1u << 30};

struct bl_queue {
    struct bl_device *device;
};
struct bl_fence {
    uint64_t time;
};
struct bl_device_kernel {
    char name[128];
    uint32_t sizes[64], offsets[64], params, bytes, max_dynamic;
    struct bl_device_kernel *next;
};
struct variable {
    char name[128];
    void *memory;
    size_t size;
    bool managed;
    struct variable *next;
};
struct bl_device_module {
    struct bl_device_kernel *kernels;
    struct variable *variables;
};
static struct block {
    uint64_t base, size;
    enum bl_alloc_kind kind;
    struct block *next;
} * blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t used;
static uint64_t limits[3] = {1024, 1 << 20, 8 << 20};

static enum bl_status fake_alloc(struct bl_device *device, enum bl_alloc_kind kind, uint64_t size, uint64_t align,
                                 uint64_t *address, struct bl_error *error)
{
    void *memory = NULL;
    struct block *block = NULL;
    if (bl_fault_due("alloc") || size > fake.memory || used > fake.memory - size || posix_memalign(&memory, 512, size) ||
        !(block = malloc(sizeof(*block)))) {
        free(memory);
        return BL_NO_MEMORY;
    }
    pthread_mutex_lock(&lock);
    *block = (struct block){(uint64_t)(uintptr_t)memory, size, kind, blocks};
    blocks = block;
    used += size;
    fake.allocations++;
    pthread_mutex_unlock(&lock);
    *address = block->base;
    return BL_OK;
}

static enum bl_status fake_free(struct bl_device *device, uint64_t address)
{
    pthread_mutex_lock(&lock);
    struct block **at = &blocks, *found;
    while (*at && (*at)->base != address)
        at = &(*at)->next;
    if ((found = *at)) {
        *at = found->next;
        used -= found->size;
        fake.allocations--;
    }
    pthread_mutex_unlock(&lock);
    if (!found)
        return BL_INVALID;
    free((void *)(uintptr_t)address);
    free(found);
    return BL_OK;
}

static enum bl_status fake_range(struct bl_device *device, uint64_t address, uint64_t *base, uint64_t *size,
                                 enum bl_alloc_kind *kind)
{
    enum bl_status status = BL_NOT_FOUND;
    pthread_mutex_lock(&lock);
    for (struct block *at = blocks; at; at = at->next)
        if (address >= at->base && address - at->base < at->size) {
            *base = at->base;
            *size = at->size;
            *kind = at->kind;
            status = BL_OK;
        }
    pthread_mutex_unlock(&lock);
    return status;
}

static void fake_memory_info(struct bl_device *device, uint64_t *free_bytes, uint64_t *total)
{
    *free_bytes = fake.memory - used;
    *total = fake.memory;
}

/* ---- modules: just enough of PTX to find names ------------------------------------------------------- */

static uint32_t type_size(const char *at)
{
    return strstr(at, "64") && strstr(at, "64") < at + 6 ? 8 : strstr(at, "32") && strstr(at, "32") < at + 6 ? 4 : 1;
}

static void read_kernel(struct bl_device_module *module, const char *at)
{
    struct bl_device_kernel *kernel = calloc(1, sizeof(*kernel));
    if (!kernel || sscanf(at, " %127[A-Za-z0-9_$]", kernel->name) != 1) {
        free(kernel);
        return;
    }
    const char *end = strchr(at, '{');
    for (const char *p = strstr(at, ".param"); p && (!end || p < end); p = strstr(p + 1, ".param")) {
        uint32_t count = 1, align = 0, size;
        const char *type = p + 6, *stop = strpbrk(type, ",)");
        const char *bracket = strchr(type, '[');
        if (strstr(type, ".align") && strstr(type, ".align") < stop)
            sscanf(strstr(type, ".align"), ".align %u", &align);
        size = type_size(strstr(type, ".b8") && strstr(type, ".b8") < stop ? ".b8" : type + strspn(type, " "));
        if (bracket && bracket < stop)
            sscanf(bracket, "[%u", &count);
        align = align ? align : size;
        kernel->bytes = (kernel->bytes + align - 1) / align * align;
        kernel->offsets[kernel->params] = kernel->bytes;
        kernel->sizes[kernel->params++] = size * count;
        kernel->bytes += size * count;
    }
    kernel->max_dynamic = 48 << 10;
    struct bl_device_kernel **tail = &module->kernels;
    while (*tail)
        tail = &(*tail)->next;
    *tail = kernel;
}

static void read_variable(struct bl_device_module *module, const char *at, bool managed)
{
    struct variable *variable = calloc(1, sizeof(*variable));
    char line[256], *name, *bracket;
    snprintf(line, sizeof(line), "%.*s", (int)strcspn(at, ";=\n"), at);
    uint32_t count = 1, size = strstr(line, ".b8") ? 1 : strstr(line, "64") ? 8 : 4;
    if ((bracket = strchr(line, '['))) {
        sscanf(bracket, "[%u", &count);
        *bracket = 0;
    }
    while (*line && line[strlen(line) - 1] == ' ')
        line[strlen(line) - 1] = 0;
    name = strrchr(line, ' ');
    variable->size = (size_t)size * count;
    variable->managed = managed;
    variable->memory = calloc(1, variable->size + 1);
    snprintf(variable->name, sizeof(variable->name), "%.127s", name ? name + 1 : line);
    variable->next = module->variables;
    module->variables = variable;
}

static enum bl_status fake_module_load(struct bl_device *device, const struct bl_module_source *source,
                                       struct bl_device_module **module, struct bl_error *error)
{
    unsigned major = 0, minor = 0;
    char *text = strndup(source->ptx.data, source->ptx.size);
    const char *version = text ? strstr(text, ".version") : NULL;
    if (bl_fault_due("alloc")) {
        free(text);
        return bl_fail(error, BL_NO_MEMORY, "out of memory");
    }
    if (!version || sscanf(version, ".version %u.%u", &major, &minor) != 2 || strstr(text, "syntax error")) {
        free(text);
        error->line = 1;
        return bl_fail(error, BL_SYNTAX, "%s:1:1: expected .version", source->name);
    }
    if (major > 9) {
        free(text);
        error->line = 1;
        return bl_fail(error, BL_UNSUPPORTED, "PTX version %u.%u", major, minor);
    }
    *module = calloc(1, sizeof(**module));
    for (const char *at = strstr(text, ".entry"); at; at = strstr(at + 6, ".entry"))
        read_kernel(*module, at + 6);
    for (const char *at = strstr(text, "\n.visible .global"); at; at = strstr(at + 6, "\n.visible .global"))
        read_variable(*module, at + 17, false);
    for (const char *at = strstr(text, ".attribute(.managed)"); at; at = strstr(at + 6, ".attribute(.managed)"))
        read_variable(*module, at + 20, true);
    free(text);
    fake.modules++;
    return BL_OK;
}

static void fake_module_unload(struct bl_device_module *module)
{
    while (module->kernels) {
        struct bl_device_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        free(kernel);
    }
    while (module->variables) {
        struct variable *variable = module->variables;
        module->variables = variable->next;
        free(variable->memory);
        free(variable);
    }
    free(module);
    fake.modules--;
}

static const char *fake_module_kernel_name(struct bl_device_module *module, uint32_t i)
{
    struct bl_device_kernel *kernel = module->kernels;
    while (kernel && i--)
        kernel = kernel->next;
    return kernel ? kernel->name : NULL;
}

static enum bl_status fake_module_kernel(struct bl_device_module *module, const char *name, struct bl_device_kernel **found)
{
    struct bl_device_kernel *kernel = module->kernels;
    while (kernel && strcmp(kernel->name, name))
        kernel = kernel->next;
    *found = kernel;
    return kernel ? BL_OK : BL_NOT_FOUND;
}

static enum bl_status fake_module_variable(struct bl_device_module *module, const char *name, uint64_t *address, uint64_t *size,
                                           bool *managed)
{
    for (struct variable *at = module->variables; at; at = at->next)
        if (!strcmp(at->name, name)) {
            *address = (uint64_t)(uintptr_t)at->memory;
            *size = at->size;
            *managed = at->managed;
            return BL_OK;
        }
    return BL_NOT_FOUND;
}

static enum bl_status fake_kernel_param(struct bl_device_kernel *kernel, uint32_t i, uint32_t *offset, uint32_t *size)
{
    if (i >= kernel->params)
        return BL_NOT_FOUND;
    *offset = kernel->offsets[i];
    *size = kernel->sizes[i];
    return BL_OK;
}

static enum bl_status fake_kernel_attr(struct bl_device_kernel *kernel, struct bl_kernel_attr *attr, struct bl_error *error)
{
    if (!strncmp(kernel->name, "unsupported", 11))
        return bl_fail(error, BL_UNSUPPORTED, "tcgen05.mma at line 7");
    *attr = (struct bl_kernel_attr){.max_threads = strstr(kernel->name, "small") ? 128 : 1024,
                                    .static_shared = 256,
                                    .registers = 32,
                                    .param_bytes = kernel->bytes,
                                    .ptx_version = 80,
                                    .binary_version = 80,
                                    .max_dynamic_shared = kernel->max_dynamic};
    return BL_OK;
}

static enum bl_status fake_set_max_dynamic_shared(struct bl_device_kernel *kernel, uint32_t bytes)
{
    kernel->max_dynamic = bytes;
    return BL_OK;
}

static const char *fake_kernel_name(struct bl_device_kernel *kernel)
{
    return kernel->name;
}

/* ---- queues ----------------------------------------------------------------------------------------------- */

static enum bl_status fake_queue_create(struct bl_device *device, int priority, struct bl_queue **queue)
{
    *queue = bl_fault_due("alloc") ? NULL : calloc(1, sizeof(**queue));
    if (!*queue)
        return BL_NO_MEMORY;
    __atomic_add_fetch(&fake.queues, 1, __ATOMIC_RELAXED);
    return BL_OK;
}

static void fake_queue_destroy(struct bl_queue *queue)
{
    __atomic_sub_fetch(&fake.queues, 1, __ATOMIC_RELAXED);
    free(queue);
}

static const struct {
    const char *name;
    enum bl_fault_kind kind;
} faults[] = {{"fault_illegal_address", BL_FAULT_ILLEGAL_ADDRESS},
              {"fault_misaligned", BL_FAULT_MISALIGNED},
              {"fault_trap", BL_FAULT_TRAP},
              {"fault_assert", BL_FAULT_ASSERT},
              {"fault_stack", BL_FAULT_STACK_OVERFLOW},
              {"fault_instruction", BL_FAULT_ILLEGAL_INSTRUCTION},
              {"fault_function", BL_FAULT_BAD_FUNCTION},
              {"fault_deadlock", BL_FAULT_DEADLOCK}};

static enum bl_status fake_launch(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error)
{
    fake.launches++;
    fake.last = *launch;
    memcpy(fake.params, launch->params, BL_MIN(launch->param_bytes, sizeof(fake.params)));
    for (size_t i = 0; i < BL_LEN(faults); i++)
        if (!strcmp(launch->kernel->name, faults[i].name) && !fake.faulted) {
            fake.faulted = true;
            fake.fault = (struct bl_fault){.kind = faults[i].kind};
            snprintf(fake.fault.message, sizeof(fake.fault.message), "kernel %s ended by a fault (test)", launch->kernel->name);
        }
    return BL_OK;
}

static enum bl_status fake_copy(struct bl_queue *queue, const struct bl_copy *copy)
{
    fake.copies++;
    for (uint64_t z = 0; z < copy->depth; z++)
        for (uint64_t y = 0; y < copy->height; y++)
            memmove((char *)(uintptr_t)copy->to + z * copy->to_slice_pitch + y * copy->to_pitch,
                    (char *)(uintptr_t)copy->from + z * copy->from_slice_pitch + y * copy->from_pitch, copy->width);
    return BL_OK;
}

static enum bl_status fake_fill(struct bl_queue *queue, const struct bl_fill *fill)
{
    fake.fills++;
    for (uint64_t y = 0; y < fill->height; y++)
        for (uint64_t x = 0; x < fill->width; x++)
            memcpy((char *)(uintptr_t)fill->to + y * fill->pitch + x * fill->value_size, &fill->value, fill->value_size);
    return BL_OK;
}

static enum bl_status fake_host_call(struct bl_queue *queue, void (*function)(void *), void *data)
{
    fake.host_calls++;
    function(data);
    return BL_OK;
}

static enum bl_status fake_fence_record(struct bl_queue *queue, struct bl_fence *fence);

static enum bl_status fake_batch(struct bl_queue *queue, const struct bl_step *steps, size_t count, struct bl_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (steps[i].kind == BL_STEP_LAUNCH)
            fake_launch(queue, &steps[i].launch, error);
        else if (steps[i].kind == BL_STEP_COPY)
            fake_copy(queue, &steps[i].copy);
        else if (steps[i].kind == BL_STEP_FILL)
            fake_fill(queue, &steps[i].fill);
        else if (steps[i].kind == BL_STEP_HOST_CALL)
            fake_host_call(queue, steps[i].host.function, steps[i].host.data);
        else if (steps[i].kind == BL_STEP_RECORD)
            fake_fence_record(queue, steps[i].fence);
    }
    return fake.faulted ? BL_FAULT : BL_OK;
}

static enum bl_status fake_queue_wait(struct bl_queue *queue)
{
    fake.queue_waits++;
    return fake.faulted ? BL_FAULT : BL_OK;
}

static enum bl_status fake_queue_query(struct bl_queue *queue)
{
    return fake.faulted ? BL_FAULT : fake.hold ? BL_NOT_READY : BL_OK;
}

static enum bl_status fake_fence_create(struct bl_device *device, struct bl_fence **fence)
{
    *fence = bl_fault_due("alloc") ? NULL : calloc(1, sizeof(**fence));
    if (!*fence)
        return BL_NO_MEMORY;
    __atomic_add_fetch(&fake.fences, 1, __ATOMIC_RELAXED);
    return BL_OK;
}

static void fake_fence_destroy(struct bl_fence *fence)
{
    __atomic_sub_fetch(&fake.fences, 1, __ATOMIC_RELAXED);
    free(fence);
}

static enum bl_status fake_fence_record(struct bl_queue *queue, struct bl_fence *fence)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fence->time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    fake.fence_records++;
    return BL_OK;
}

static enum bl_status fake_fence_wait_queue(struct bl_queue *queue, struct bl_fence *fence)
{
    fake.fence_waits++;
    return BL_OK;
}

static enum bl_status fake_fence_wait(struct bl_fence *fence)
{
    return fake.faulted ? BL_FAULT : BL_OK;
}

static enum bl_status fake_fence_query(struct bl_fence *fence)
{
    return fake.hold ? BL_NOT_READY : BL_OK;
}

static uint64_t fake_fence_time(struct bl_fence *fence)
{
    return fence->time;
}

static enum bl_status fake_device_wait(struct bl_device *device)
{
    fake.queue_waits++;
    return fake.faulted ? BL_FAULT : BL_OK;
}

static bool fake_fault(struct bl_device *device, struct bl_fault *fault)
{
    if (fake.faulted)
        *fault = fake.fault;
    return fake.faulted;
}

static void fake_reset(struct bl_device *device)
{
    fake.faulted = false;
    fake.resets++;
}

static enum bl_status fake_occupancy(struct bl_device_kernel *kernel, uint32_t threads, uint32_t shared, uint32_t *ctas)
{
    *ctas = threads > 1024 || shared > (100u << 10) ? 0 : BL_MIN(2048 / BL_MAX(threads, 1), 32);
    if (shared)
        *ctas = BL_MIN(*ctas, (100u << 10) / shared);
    return BL_OK;
}

static enum bl_status fake_set_limit(struct bl_device *device, enum bl_device_limit limit, uint64_t bytes)
{
    limits[limit] = bytes;
    return BL_OK;
}

static uint64_t fake_get_limit(struct bl_device *device, enum bl_device_limit limit)
{
    return limits[limit];
}

static void fake_flush_printf(struct bl_device *device)
{
}

static void fake_destroy(struct bl_device *device)
{
}

static const struct bl_device_ops ops = {
    .name = "fake",
    .destroy = fake_destroy,
    .alloc = fake_alloc,
    .free = fake_free,
    .range = fake_range,
    .memory_info = fake_memory_info,
    .module_load = fake_module_load,
    .module_unload = fake_module_unload,
    .module_kernel_name = fake_module_kernel_name,
    .module_kernel = fake_module_kernel,
    .module_variable = fake_module_variable,
    .kernel_param = fake_kernel_param,
    .kernel_attr = fake_kernel_attr,
    .kernel_set_max_dynamic_shared = fake_set_max_dynamic_shared,
    .kernel_name = fake_kernel_name,
    .queue_create = fake_queue_create,
    .queue_destroy = fake_queue_destroy,
    .launch = fake_launch,
    .copy = fake_copy,
    .fill = fake_fill,
    .host_call = fake_host_call,
    .batch = fake_batch,
    .queue_wait = fake_queue_wait,
    .queue_query = fake_queue_query,
    .fence_create = fake_fence_create,
    .fence_destroy = fake_fence_destroy,
    .fence_record = fake_fence_record,
    .fence_wait_queue = fake_fence_wait_queue,
    .fence_wait = fake_fence_wait,
    .fence_query = fake_fence_query,
    .fence_time = fake_fence_time,
    .device_wait = fake_device_wait,
    .fault = fake_fault,
    .reset = fake_reset,
    .occupancy = fake_occupancy,
    .set_limit = fake_set_limit,
    .get_limit = fake_get_limit,
    .flush_printf = fake_flush_printf,
};

static struct bl_device device = {
    .ops = &ops,
    .props = {.name = "fake device",
              .uuid = {1, 2, 3},
              .total_memory = 1u << 30,
              .compute_major = 8,
              .multiprocessors = 4,
              .clock_khz = 1000000,
              .memory_clock_khz = 1000000,
              .memory_bus_bits = 64,
              .l2_bytes = 1 << 20,
              .max_threads_per_block = 1024,
              .max_threads_per_multiprocessor = 2048,
              .max_blocks_per_multiprocessor = 32,
              .max_block_dim = {1024, 1024, 64},
              .max_grid_dim = {0x7fffffff, 65535, 65535},
              .shared_per_block = 48 << 10,
              .shared_per_block_optin = 99 << 10,
              .shared_per_multiprocessor = 100 << 10,
              .shared_reserved = 1 << 10,
              .registers_per_block = 65536,
              .registers_per_multiprocessor = 65536,
              .pci_bus = 1,
              .unified_addressing = true,
              .managed_memory = true,
              .concurrent_managed = true,
              .host_memory_is_device_memory = true},
};

enum bl_status bl_devices_open(struct bl_error *error)
{
    return BL_OK;
}

int bl_device_count(void)
{
    return 1;
}

struct bl_device *bl_device_get(int ordinal)
{
    return ordinal == 0 ? &device : NULL;
}
