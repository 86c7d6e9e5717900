/* Inside the half of the CPU device that gets code and memory in place: device.c, memory.c, module.c, cache.c, client.c,
 * loader.c and their tests. The other half uses runtime.h only. */
#ifndef BAILEY_CPU_LOAD_H
#define BAILEY_CPU_LOAD_H

#include <pthread.h>
#include <sys/stat.h>

#include "ptx/ptx.h"
#include "target/cpu/runtime.h"

/* ---- memory.c ------------------------------------------------------------------------------- */

/* total: bytes that allocations may add up to. */
enum bl_status bl_cpu_memory_create(uint64_t total, struct bl_cpu_memory **memory, struct bl_error *error);
/* What is in use is noted in the device's shown_bytes from now on. */
void bl_cpu_memory_show(struct bl_cpu_memory *memory, const struct bl_device *device);
/* Unmaps all that is left. */
void bl_cpu_memory_destroy(struct bl_cpu_memory *memory);
/* Zeroed memory for a module's variables: found by range and bl_cpu_memory_find like any other, but bl_cpu_free refuses it. */
enum bl_status bl_cpu_memory_take(struct bl_cpu_memory *memory, enum bl_alloc_kind kind, uint64_t size, uint64_t align,
                                  uint64_t *address, struct bl_error *error);
void bl_cpu_memory_give_back(struct bl_cpu_memory *memory, uint64_t address);
/* Counts memory that map.c holds as the device's. */
enum bl_status bl_cpu_memory_charge(struct bl_cpu_memory *memory, uint64_t size, struct bl_error *error);
void bl_cpu_memory_discharge(struct bl_cpu_memory *memory, uint64_t size);
/* A sealed file of that many bytes, all zero, that other processes can map; -1: the system refuses. */
int bl_cpu_memory_file(uint64_t size);

/* A relocated object in executable memory. */
struct bl_cpu_image {
    void *map; /* owned: munmap */
    size_t map_size;
    uintptr_t entry;      /* bl_kernel */
    uintptr_t begin, end; /* its executable part */
};
/* ---- module.c ------------------------------------------------------------------------------- */

/* A variable of module scope; an extern one that nothing defines has address 0. */
struct bl_cpu_variable {
    struct bl_ptx_symbol *symbol; /* its user field points back here */
    const char *name;
    uint64_t address, size; /* bytes */
};

struct bl_device_module {
    struct bl_cpu_device *device;
    struct bl_arena arena; /* tree and names; guarded by lock once the module is loaded */
    pthread_mutex_t lock;
    char *text, *name; /* owned: the PTX, and what messages call it */
    struct bl_ptx_module *ptx;
    struct bl_device_kernel *kernels; /* owned; in the order of the text */
    uint32_t kernel_count;
    struct bl_cpu_variable *variables; /* owned */
    uint32_t variable_count;
    uint64_t blocks[2];         /* where they stand: device ones, managed ones; 0: none */
    _Atomic uint32_t in_flight; /* launches that hold it */
};

/* Code of a kernel, for one shape of CTAs. */
struct bl_cpu_variant {
    pthread_mutex_t lock;                      /* held while it is compiled */
    _Atomic(const struct bl_cpu_code *) ready; /* &code, or NULL */
    struct bl_error *failure;                  /* owned: an error that will not go away */
    struct bl_cpu_code code;
    struct bl_cpu_image image;
    void **globals;     /* owned, and what code points at */
    const char **names; /* owned list, texts the module's */
    struct bl_cpu_line *lines;
};

struct bl_device_kernel {
    struct bl_device_module *module;
    struct bl_ptx_func *func; /* its user field points back here */
    const char *name;
    _Atomic uint32_t max_dynamic_shared; /* UINT32_MAX: never set */
    struct bl_cpu_variant variants[BL_CPU_CTA_SHAPES];
};

/* The variable of that name that a kernel's code uses. Takes the module's lock. */
enum bl_status bl_cpu_module_resolve(struct bl_device_module *module, const char *name, const struct bl_cpu_variable **variable,
                                     struct bl_error *error);

/* ---- code.c --------------------------------------------------------------------------------- */

void bl_cpu_kernel_init(struct bl_device_kernel *kernel, struct bl_device_module *module, struct bl_ptx_func *func,
                        const char *name);
void bl_cpu_kernel_cleanup(struct bl_device_kernel *kernel);
/* A slice (bl_ptx_slice) without what depends on the rest of its module: the numbers of lines, and those of functions where no
 * function can be called by number. The same kernel then gives the same text, and so the same code. lines: on the heap, from
 * lines of that text to lines of the whole. */
enum bl_status bl_cpu_canonical_slice(struct bl_sv slice, struct bl_buffer *text, struct bl_cpu_line **lines, uint32_t *line_count,
                                      struct bl_error *error);

/* ---- loader.c ------------------------------------------------------------------------------- */

/* Maps an ELF relocatable object made for the machine (e_machine), which is this one but in tests. Every number in the object is
 * checked. name: for messages. */
enum bl_status bl_cpu_image_load(struct bl_sv object, unsigned machine, const char *name, struct bl_cpu_image *image,
                                 struct bl_error *error);
unsigned bl_cpu_host_machine(void);
void bl_cpu_image_unload(struct bl_cpu_image *image);

/* ---- cache.c -------------------------------------------------------------------------------- */

struct bl_cpu_cache_key {
    uint64_t low, high;
};
/* All that shapes the code: the slice, the request's settings, this machine's processor, both programs' versions. */
struct bl_cpu_cache_key bl_cpu_cache_make_key(const struct bl_cpu_request *request);
/* The packed answer stored under the key, on the heap; false: none, or a damaged one (which is removed). */
bool bl_cpu_cache_read(struct bl_cpu_cache_key key, char **bytes, size_t *size);
/* Never fails as far as the caller is concerned: a cache that can't be written is told in the log and done without. */
void bl_cpu_cache_write(struct bl_cpu_cache_key key, struct bl_sv bytes);
/* For an entry that was whole but of no use. */
void bl_cpu_cache_remove(struct bl_cpu_cache_key key);
/* Where entries are kept; false: the cache is off. */
bool bl_cpu_cache_folder(char *path, size_t size);

/* ---- client.c ------------------------------------------------------------------------------- */

/* Sends a request to a bailey-cc, which is started if need be. bytes: the packed answer, on the heap. A compile that fails is an
 * answer too: BL_OK here. BL_COMPILER: the helper died, hung, answered nonsense or can't be started. Any thread; as many
 * compile at once as there are processors. */
enum bl_status bl_cpu_client_compile(const struct bl_cpu_request *request, char **bytes, size_t *size, struct bl_error *error);
/* Path of the bailey-cc that would be started. */
bool bl_cpu_client_path(char *path, size_t size);
/* Facts of its file, or where that is missing of the installed one: its cached code still serves. */
bool bl_cpu_client_stat(struct stat *info);
/* Ends the idle helpers. For tests and for a library that is unloaded. */
void bl_cpu_client_stop(void);

#endif
