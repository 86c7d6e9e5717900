/* Inside libcuda only: what the files of the CPU device share. One half gets code into memory (device.c, memory.c, module.c,
 * cache.c, client.c, loader.c), the other runs it (queue.c, pool.c, launch.c, fiber.c, barrier.c, fault.c, print.c, heap.c).
 */
#ifndef BAILEY_CPU_RUNTIME_H
#define BAILEY_CPU_RUNTIME_H

#include <stdatomic.h>

#include "device/device.h"
#include "target/cpu/abi.h"
#include "target/cpu/compile.h"

struct bl_cpu_device {
    struct bl_device base; /* first */
    struct bl_cpu_memory *memory;
    struct bl_cpu_runner *runner;     /* queues, workers, limits, printf FIFO, heap */
    struct bl_cpu_textures *textures; /* texture.c; NULL until the first */
};

/* ---- textures (texture.c, texel.c) ------------------------------------------------------------ */

enum bl_status bl_cpu_texture_create(struct bl_device *device, const struct bl_texture *texture, uint64_t *handle,
                                     struct bl_error *error);
void bl_cpu_texture_destroy(struct bl_device *device, uint64_t handle);
void bl_cpu_textures_free(struct bl_cpu_device *device);
/* One thread's fetch. code: BL_KIR_IMAGE of kir.h. words: coordinates and the like, each BL_WARP after the one before. */
void bl_cpu_texture_fetch(const struct bl_texture *texture, uint32_t code, const uint32_t *words, uint32_t result[4]);

/* ---- code (module.c, loader.c, client.c, cache.c) ------------------------------------------- */

/* Code is compiled from a text of its own, with lines of its own: from code_line on they are line, line + 1, … of the PTX. */
struct bl_cpu_line {
    uint32_t code_line, line;
};

/* Machine code of one kernel, mapped. Lives as long as its kernel. */
struct bl_cpu_code {
    void (*entry)(struct bl_cpu_warp *warp);
    struct bl_cpu_kernel_info info;
    void *const *globals; /* for bl_cpu_warp.globals */
    uintptr_t begin, end; /* executable bytes: a fault signal with its program counter here is the kernel's */
    struct bl_device_kernel *kernel;
    const struct bl_cpu_line *lines; /* ascending */
    uint32_t line_count;
};

/* The line of the PTX for bl_cpu_warp.current_line; 0 unknown. Without a table the lines are the same. Async-signal-safe. */
static inline uint32_t bl_cpu_code_line(const struct bl_cpu_code *code, uint32_t code_line)
{
    uint32_t i = code->line_count;

    if (i == 0)
        return code_line;
    while (i > 0 && code->lines[i - 1].code_line > code_line)
        i--;
    return i > 0 && code_line ? code->lines[i - 1].line + (code_line - code->lines[i - 1].code_line) : 0;
}

/* The code of a kernel, compiled or read from the cache if need be. cta_shape: enum bl_cpu_cta_shape. Any thread; two that
 * ask for the same get the same. */
enum bl_status bl_cpu_kernel_code(struct bl_device_kernel *kernel, uint32_t cta_shape, const struct bl_cpu_code **code,
                                  struct bl_error *error);
struct bl_cpu_device *bl_cpu_kernel_device(const struct bl_device_kernel *kernel);
/* A launch in flight holds its kernel's module; module_unload waits until none does. */
void bl_cpu_kernel_hold(struct bl_device_kernel *kernel);
void bl_cpu_kernel_drop(struct bl_device_kernel *kernel);
/* For launch checks: static facts from the PTX, compiles nothing. */
struct bl_cpu_kernel_limits {
    uint32_t param_bytes, required_block[3], max_block[3], cluster[3];
    uint32_t max_dynamic_shared; /* set by kernel_set_max_dynamic_shared */
};
void bl_cpu_kernel_get_limits(const struct bl_device_kernel *kernel, struct bl_cpu_kernel_limits *limits);

/* ---- memory (memory.c) ---------------------------------------------------------------------- */

/* Whether [address, address + size) lies in one allocation of ours. Async-signal-safe, for the fault handler's message. */
bool bl_cpu_memory_find(struct bl_cpu_device *device, uint64_t address, uint64_t *base, uint64_t *size);

/* ---- running: the other half ------------------------------------------------------------------ */
enum bl_status bl_cpu_runner_create(struct bl_cpu_device *device, struct bl_error *error);
void bl_cpu_runner_destroy(struct bl_cpu_device *device);
/* How many worker threads there are (BAILEY_THREADS, else the processors that this process may use). No thread is started
 * before the first work. */
uint32_t bl_cpu_worker_count(void);
/* Until bl_cpu_quiet_end no thread runs work of the device. False: work went on for too long; then no end is to follow. */
bool bl_cpu_quiet_begin(struct bl_cpu_device *device);
void bl_cpu_quiet_end(struct bl_cpu_device *device);

/* The device operations, by who implements them. */
/* memory.c */
enum bl_status bl_cpu_alloc(struct bl_device *device, enum bl_alloc_kind kind, uint64_t size, uint64_t align, uint64_t *address,
                            struct bl_error *error);
enum bl_status bl_cpu_free(struct bl_device *device, uint64_t address);
enum bl_status bl_cpu_range(struct bl_device *device, uint64_t address, uint64_t *base, uint64_t *size, enum bl_alloc_kind *kind);
void bl_cpu_memory_info(struct bl_device *device, uint64_t *free_bytes, uint64_t *total_bytes);
/* map.c */
enum bl_status bl_cpu_reserve(struct bl_device *device, uint64_t size, uint64_t align, uint64_t hint, uint64_t *address,
                              struct bl_error *error);
void bl_cpu_unreserve(struct bl_device *device, uint64_t address, uint64_t size);
enum bl_status bl_cpu_physical_create(struct bl_device *device, uint64_t size, struct bl_physical **physical,
                                      struct bl_error *error);
void bl_cpu_physical_destroy(struct bl_physical *physical);
enum bl_status bl_cpu_physical_export(struct bl_physical *physical, int *descriptor);
enum bl_status bl_cpu_physical_import(struct bl_device *device, int descriptor, struct bl_physical **physical, uint64_t *size,
                                      struct bl_error *error);
enum bl_status bl_cpu_map(struct bl_device *device, uint64_t address, uint64_t size, struct bl_physical *physical);
enum bl_status bl_cpu_unmap(struct bl_device *device, uint64_t address, uint64_t size);
enum bl_status bl_cpu_protect(struct bl_device *device, uint64_t address, uint64_t size, enum bl_access access);
enum bl_status bl_cpu_share(struct bl_device *device, uint64_t address, int *descriptor, uint64_t *base, struct bl_error *error);
/* module.c */
enum bl_status bl_cpu_module_load(struct bl_device *device, const struct bl_module_source *source, struct bl_device_module **module,
                                  struct bl_error *error);
void bl_cpu_module_unload(struct bl_device_module *module);
const char *bl_cpu_module_kernel_name(struct bl_device_module *module, uint32_t i);
enum bl_status bl_cpu_module_kernel(struct bl_device_module *module, const char *name, struct bl_device_kernel **kernel);
enum bl_status bl_cpu_module_variable(struct bl_device_module *module, const char *name, uint64_t *address, uint64_t *size,
                                      bool *managed);
enum bl_status bl_cpu_kernel_param(struct bl_device_kernel *kernel, uint32_t i, uint32_t *offset, uint32_t *size);
enum bl_status bl_cpu_kernel_attr(struct bl_device_kernel *kernel, struct bl_kernel_attr *attr, struct bl_error *error);
enum bl_status bl_cpu_kernel_set_max_dynamic_shared(struct bl_device_kernel *kernel, uint32_t bytes);
const char *bl_cpu_kernel_name(struct bl_device_kernel *kernel);
/* queue.c, launch.c and their neighbours: signatures as in struct bl_device_ops */
enum bl_status bl_cpu_queue_create(struct bl_device *device, int priority, struct bl_queue **queue);
void bl_cpu_queue_destroy(struct bl_queue *queue);
enum bl_status bl_cpu_launch(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error);
enum bl_status bl_cpu_copy(struct bl_queue *queue, const struct bl_copy *copy);
enum bl_status bl_cpu_fill(struct bl_queue *queue, const struct bl_fill *fill);
enum bl_status bl_cpu_host_call(struct bl_queue *queue, void (*function)(void *), void *data);
enum bl_status bl_cpu_value(struct bl_queue *queue, const struct bl_value_op *op);
enum bl_status bl_cpu_batch(struct bl_queue *queue, const struct bl_step *steps, size_t count, struct bl_error *error);
enum bl_status bl_cpu_queue_wait(struct bl_queue *queue);
enum bl_status bl_cpu_queue_query(struct bl_queue *queue);
enum bl_status bl_cpu_fence_create(struct bl_device *device, struct bl_fence **fence);
void bl_cpu_fence_destroy(struct bl_fence *fence);
enum bl_status bl_cpu_fence_record(struct bl_queue *queue, struct bl_fence *fence);
enum bl_status bl_cpu_fence_wait_queue(struct bl_queue *queue, struct bl_fence *fence);
enum bl_status bl_cpu_fence_wait(struct bl_fence *fence);
enum bl_status bl_cpu_fence_query(struct bl_fence *fence);
uint64_t bl_cpu_fence_time(struct bl_fence *fence);
enum bl_status bl_cpu_device_wait(struct bl_device *device);
bool bl_cpu_fault(struct bl_device *device, struct bl_fault *fault);
void bl_cpu_reset(struct bl_device *device);
enum bl_status bl_cpu_occupancy(struct bl_device_kernel *kernel, uint32_t block_threads, uint32_t dynamic_shared,
                                uint32_t *ctas_per_multiprocessor);
enum bl_status bl_cpu_set_limit(struct bl_device *device, enum bl_device_limit limit, uint64_t bytes);
uint64_t bl_cpu_get_limit(struct bl_device *device, enum bl_device_limit limit);
void bl_cpu_flush_printf(struct bl_device *device);

#endif
