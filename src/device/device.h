/* The one way to a device. The driver (src/cuda/driver) knows no target and calls only what stands here; a target
 * (src/target/…) implements struct bl_device_ops and knows no CUDA API.
 *
 * All calls may come from any thread. Device addresses are 64-bit integers (CUdeviceptr); on the CPU device they are
 * ordinary pointers. Work is ordered by queues: what was put into one queue runs in that order; queues are unordered
 * among each other except by fences.
 */
#ifndef BAILEY_DEVICE_H
#define BAILEY_DEVICE_H

#include <stdatomic.h>

#include "base/base.h"
#include "target/cpu/abi.h" /* enum bl_fault_kind */

struct bl_device;
struct bl_queue;
struct bl_fence;
struct bl_device_module;
struct bl_device_kernel;
struct bl_physical;

struct bl_device_props {
    char name[256];        /* says what it is: "Bailey CPU (AMD EPYC 9354, 2 threads)" */
    uint8_t uuid[16];      /* the same from run to run on one machine */
    uint64_t total_memory; /* bytes */
    int compute_major, compute_minor;
    int multiprocessors; /* worker threads, on the CPU */
    int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
    int max_threads_per_block, max_threads_per_multiprocessor, max_blocks_per_multiprocessor;
    int max_block_dim[3], max_grid_dim[3];
    uint64_t shared_per_block, shared_per_block_optin, shared_per_multiprocessor, shared_reserved;
    int registers_per_block, registers_per_multiprocessor;
    int pci_domain, pci_bus, pci_device;
    uint32_t map_granularity; /* bytes; what reserve, physical_create and map count in. 0: the device has none of them */
    bool unified_addressing, managed_memory, concurrent_managed, pageable_access, host_memory_is_device_memory;
    bool clusters; /* of CTAs, and tensor maps */
};

/* A fault that ended a launch. Sticky on the device context until its reset. */
struct bl_fault {
    enum bl_fault_kind kind;
    char kernel[256];
    uint32_t ctaid[3], tid[3];
    uint64_t address;  /* ILLEGAL_ADDRESS, MISALIGNED */
    uint32_t line;     /* of the PTX text, 0 unknown */
    char message[512]; /* one whole line for the log */
};

struct bl_kernel_attr {
    uint32_t max_threads, static_shared, const_bytes, local_bytes, registers, param_bytes;
    uint32_t ptx_version, binary_version; /* 10 * major + minor, as CUDA reports them */
    uint32_t max_dynamic_shared;          /* now allowed; starts at 48 KiB - static */
    uint32_t required_block[3];           /* .reqntid, 0 none */
    uint32_t cluster[3];                  /* .reqnctapercluster, 0 none */
    uint32_t max_cluster;                 /* CTAs; .maxclusterrank, 0 none */
    bool explicit_cluster;                /* no launch without clusters */
    bool blocks_are_clusters;             /* a launch says how many clusters, of blocks that are required_block */
};

struct bl_launch {
    struct bl_device_kernel *kernel;
    uint32_t grid[3], block[3], cluster[3]; /* cluster 0: none */
    uint32_t dynamic_shared;
    bool cooperative;   /* all CTAs must be resident at once */
    const void *params; /* param_bytes bytes in the kernel's own layout; copied by the call */
    uint32_t param_bytes;
};

/* A copy of a box of bytes. Height and depth 1 for a line. Pitches in bytes; addresses are device or host pointers (the
 * driver has resolved which is which; a target that needs to know asks its own allocation table). */
struct bl_copy {
    uint64_t to, from;
    uint64_t width; /* bytes a row */
    uint64_t height, depth;
    uint64_t to_pitch, from_pitch;             /* bytes from row to row */
    uint64_t to_slice_pitch, from_slice_pitch; /* bytes from slice to slice */
};

struct bl_fill {
    uint64_t to;
    uint32_t value, value_size; /* 1, 2 or 4 bytes */
    uint64_t width;             /* elements a row */
    uint64_t height, pitch;     /* pitch in bytes */
};

/* A word of 4 or 8 bytes, aligned, that a queue writes or waits for. GEQ compares as CUDA does, by the sign of the difference. */
enum bl_value_kind {
    BL_VALUE_WRITE,
    BL_VALUE_RAISE, /* write, unless the word is greater already (8 bytes, unsigned) */
    BL_VALUE_WAIT_GEQ,
    BL_VALUE_WAIT_EQ,
    BL_VALUE_WAIT_AND, /* until (word & value) != 0 */
    BL_VALUE_WAIT_NOR, /* until ~(word | value) != 0 */
};
struct bl_value_op {
    enum bl_value_kind kind;
    bool wide; /* 8 bytes */
    uint64_t address, value;
};

/* One piece of work of a batch. */
enum bl_step_kind {
    BL_STEP_LAUNCH,
    BL_STEP_COPY,
    BL_STEP_FILL,
    BL_STEP_HOST_CALL,
    BL_STEP_RECORD,
    BL_STEP_WAIT,
    BL_STEP_VALUE,
};
struct bl_step {
    enum bl_step_kind kind;
    union {
        struct bl_launch launch;
        struct bl_copy copy;
        struct bl_fill fill;
        struct {
            void (*function)(void *);
            void *data;
        } host;
        struct bl_fence *fence; /* of the queue's own device */
        struct bl_value_op value;
    };
};

enum bl_alloc_kind {
    BL_ALLOC_DEVICE,
    BL_ALLOC_HOST, /* pinned host memory that the device can reach at the same address where the target can */
    BL_ALLOC_MANAGED,
};

enum bl_access { BL_ACCESS_NONE, BL_ACCESS_READ, BL_ACCESS_READ_WRITE };

struct bl_module_source {
    struct bl_sv ptx; /* whole text; copied if the module needs it longer */
    const char *name; /* for messages: file or "cuModuleLoadData" */
    bool check_now;   /* parse every body at once (text given by a program) rather than at first use (a fatbin) */
    /* extern variables and functions of other modules are not resolved here (linking comes before) */
};

/* What a texture or surface object reads and writes: texels in device memory. */
enum bl_texel { BL_TEXEL_U8, BL_TEXEL_S8, BL_TEXEL_U16, BL_TEXEL_S16, BL_TEXEL_U32, BL_TEXEL_S32, BL_TEXEL_F16, BL_TEXEL_F32 };
enum bl_texture_address { BL_TEXTURE_WRAP, BL_TEXTURE_CLAMP, BL_TEXTURE_MIRROR, BL_TEXTURE_BORDER };
enum { BL_TEXTURE_LEVELS = 16 };
struct bl_texture_level {
    uint64_t base, pitch, slice;   /* bytes from row to row, from slice (or layer, or face) to slice */
    uint32_t width, height, depth; /* texels; at least 1 each */
};
struct bl_texture {
    bool surface;
    bool buffer; /* linear memory: a fetch outside gives zeros */
    enum bl_texel format;
    uint32_t channels; /* 1, 2 or 4 */
    uint32_t layers;   /* at least 1; of a cube map six a cube */
    uint32_t level_count;
    struct bl_texture_level levels[BL_TEXTURE_LEVELS];
    enum bl_texture_address address[3];
    bool linear, level_linear; /* filters in a level, between two levels */
    bool normalized_coordinates;
    bool normalized_read; /* 8- and 16-bit integers read as 0 to 1 or -1 to 1 */
    bool srgb;
    float border[4], level_bias, level_min, level_max;
};

/* Bytes of stack a thread, of the printf FIFO, of the device malloc heap. */
enum bl_device_limit { BL_LIMIT_STACK, BL_LIMIT_PRINTF, BL_LIMIT_HEAP };

/* What a target implements. Each returns a status and sets *error (may be NULL) where it can say more. */
struct bl_device_ops {
    const char *name; /* "cpu" */
    void (*destroy)(struct bl_device *device);

    enum bl_status (*alloc)(struct bl_device *device, enum bl_alloc_kind kind, uint64_t size, uint64_t align, uint64_t *address,
                            struct bl_error *error);
    enum bl_status (*free)(struct bl_device *device, uint64_t address);
    /* Base and size of the allocation (device, host, managed or a module's variables) that holds address. */
    enum bl_status (*range)(struct bl_device *device, uint64_t address, uint64_t *base, uint64_t *size, enum bl_alloc_kind *kind);
    void (*memory_info)(struct bl_device *device, uint64_t *free_bytes, uint64_t *total_bytes);

    /* Addresses without memory, and memory without an address (zeroed), joined by map. Sizes, addresses and alignments are
     * multiples of props.map_granularity, except that imported memory may end at any page. */
    enum bl_status (*reserve)(struct bl_device *device, uint64_t size, uint64_t align, uint64_t hint, uint64_t *address,
                              struct bl_error *error);
    void (*unreserve)(struct bl_device *device, uint64_t address, uint64_t size); /* nothing is mapped there any more */
    enum bl_status (*physical_create)(struct bl_device *device, uint64_t size, struct bl_physical **physical,
                                      struct bl_error *error);
    void (*physical_destroy)(struct bl_physical *physical); /* what is mapped stays usable */
    /* A descriptor that another process can import; the caller closes it. */
    enum bl_status (*physical_export)(struct bl_physical *physical, int *descriptor);
    enum bl_status (*physical_import)(struct bl_device *device, int descriptor, struct bl_physical **physical, uint64_t *size,
                                      struct bl_error *error);
    enum bl_status (*map)(struct bl_device *device, uint64_t address, uint64_t size, struct bl_physical *physical); /* no access */
    enum bl_status (*unmap)(struct bl_device *device, uint64_t address, uint64_t size);
    enum bl_status (*protect)(struct bl_device *device, uint64_t address, uint64_t size, enum bl_access access);
    /* Makes the memory that holds an address, given out by alloc, one that other processes can import, without moving it. The
     * descriptor stays the device's; *base is the address of its first byte. */
    enum bl_status (*share)(struct bl_device *device, uint64_t address, int *descriptor, uint64_t *base, struct bl_error *error);

    enum bl_status (*module_load)(struct bl_device *device, const struct bl_module_source *source, struct bl_device_module **module,
                                  struct bl_error *error);
    void (*module_unload)(struct bl_device_module *module); /* waits for launches that use it */
    /* Names in order; NULL past the end. Live as long as the module. */
    const char *(*module_kernel_name)(struct bl_device_module *module, uint32_t i);
    enum bl_status (*module_kernel)(struct bl_device_module *module, const char *name, struct bl_device_kernel **kernel);
    enum bl_status (*module_variable)(struct bl_device_module *module, const char *name, uint64_t *address, uint64_t *size,
                                      bool *managed);
    /* Parameter i of a kernel: offset and size in the parameter buffer; BL_NOT_FOUND past the last. Compiles nothing. */
    enum bl_status (*kernel_param)(struct bl_device_kernel *kernel, uint32_t i, uint32_t *offset, uint32_t *size);
    /* Compiles the kernel if need be (registers and local memory are known only then). */
    enum bl_status (*kernel_attr)(struct bl_device_kernel *kernel, struct bl_kernel_attr *attr, struct bl_error *error);
    enum bl_status (*kernel_set_max_dynamic_shared)(struct bl_device_kernel *kernel, uint32_t bytes);
    const char *(*kernel_name)(struct bl_device_kernel *kernel);

    enum bl_status (*queue_create)(struct bl_device *device, int priority, struct bl_queue **queue);
    void (*queue_destroy)(struct bl_queue *queue); /* returns at once; what is in it still runs */
    /* Compiles the kernel if need be; a compile error is the answer here. */
    enum bl_status (*launch)(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error);
    enum bl_status (*copy)(struct bl_queue *queue, const struct bl_copy *copy);
    enum bl_status (*fill)(struct bl_queue *queue, const struct bl_fill *fill);
    enum bl_status (*host_call)(struct bl_queue *queue, void (*function)(void *), void *data);
    /* Anyone may write the word that is waited for: kernels, the host, other processes. */
    enum bl_status (*value)(struct bl_queue *queue, const struct bl_value_op *op);
    /* Puts all steps into the queue as the calls for one would, with nothing of other threads between them. On an error none
     * is in it. */
    enum bl_status (*batch)(struct bl_queue *queue, const struct bl_step *steps, size_t count, struct bl_error *error);
    enum bl_status (*queue_wait)(struct bl_queue *queue);  /* until all that is in it has run; helps with the work; BL_FAULT */
    enum bl_status (*queue_query)(struct bl_queue *queue); /* BL_OK or BL_NOT_READY or BL_FAULT */

    /* A fence is a point in a queue. Recording again moves it. A wait for a fence that was never recorded passes. */
    enum bl_status (*fence_create)(struct bl_device *device, struct bl_fence **fence);
    void (*fence_destroy)(struct bl_fence *fence);
    enum bl_status (*fence_record)(struct bl_queue *queue, struct bl_fence *fence);
    enum bl_status (*fence_wait_queue)(struct bl_queue *queue, struct bl_fence *fence); /* later work waits for its latest record */
    enum bl_status (*fence_wait)(struct bl_fence *fence);
    enum bl_status (*fence_query)(struct bl_fence *fence);
    uint64_t (*fence_time)(struct bl_fence *fence); /* ns, when it was passed; 0 not yet */

    enum bl_status (*device_wait)(struct bl_device *device); /* all queues */
    /* The first fault since the last reset; false: none. */
    bool (*fault)(struct bl_device *device, struct bl_fault *fault);
    void (*reset)(struct bl_device *device); /* drops faults, and work not yet begun */

    /* NULL: the device has no textures. The handle is what kernels are given; never 0. The texels stay the caller's. */
    enum bl_status (*texture_create)(struct bl_device *device, const struct bl_texture *texture, uint64_t *handle,
                                     struct bl_error *error);
    void (*texture_destroy)(struct bl_device *device, uint64_t handle);

    enum bl_status (*occupancy)(struct bl_device_kernel *kernel, uint32_t block_threads, uint32_t dynamic_shared,
                                uint32_t *ctas_per_multiprocessor);
    enum bl_status (*set_limit)(struct bl_device *device, enum bl_device_limit limit, uint64_t bytes);
    uint64_t (*get_limit)(struct bl_device *device, enum bl_device_limit limit);
    /* Writes what kernels printed so far to standard output. Also done by every wait. */
    void (*flush_printf)(struct bl_device *device);
};

struct bl_device {
    const struct bl_device_ops *ops;
    struct bl_device_props props;
    int ordinal;
    /* Where the device notes how many bytes are allocated, for those who watch (presence.h); NULL: nowhere. Set before the first
     * allocation. */
    _Atomic uint64_t *shown_bytes;
};

/* ---- registry.c -------------------------------------------------------------------------- */

/* Opens the devices that BAILEY_DEVICE asks for (cpu, the default; later vulkan, hip), BAILEY_CPU_DEVICES of the CPU's
 * (default 1). Once per process; later calls return the first answer. */
enum bl_status bl_devices_open(struct bl_error *error);
int bl_device_count(void);
struct bl_device *bl_device_get(int ordinal); /* NULL past the end */

/* Each target's way in. */
enum bl_status bl_cpu_device_create(int ordinal, struct bl_device **device, struct bl_error *error);

#endif
