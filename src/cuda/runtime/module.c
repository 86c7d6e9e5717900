/* The program's fat binaries, kernels and variables, as compiler-made host code registers them before main. Nothing is loaded
 * before it is needed. Part of libcudart. */
#include "cuda/runtime/runtime.h"

struct bl_rt_module {
    void *wrapper; /* the program's; also what cuLibraryLoadData gets */
    CUlibrary library;
    bool loaded;
    cudaError_t error; /* of the load; kept */
    bool has_managed, managed_done;
    struct bl_rt_entry *entries; /* newest first */
    struct bl_rt_module *next;
};

/* A kernel or variable by the address of its host side. */
struct bl_rt_entry {
    const void *host;
    const char *name; /* the program's */
    void **pointer;   /* managed: where the host code finds the address */
    bool is_variable, is_managed;
    size_t size;
    CUkernel kernel; /* once looked up */
    struct bl_rt_module *module;
    struct bl_rt_entry *next; /* of the module */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct bl_rt_module *modules;
/* Open addressing by host address. */
static struct bl_rt_entry **table;
static size_t table_size, table_used;

static size_t slot_of(const void *host)
{
    return (size_t)((uintptr_t)host * 0x9e3779b97f4a7c15u >> 20) & (table_size - 1);
}

static struct bl_rt_entry *find(const void *host)
{
    if (!table_size)
        return NULL;
    for (size_t i = slot_of(host);; i = (i + 1) & (table_size - 1))
        if (!table[i] || table[i]->host == host)
            return table[i];
}

static void put(struct bl_rt_entry *entry)
{
    size_t i = slot_of(entry->host);
    while (table[i] && table[i]->host != entry->host)
        i = (i + 1) & (table_size - 1);
    table_used += !table[i];
    table[i] = entry;
}

/* Builds the table anew from all modules, with room for one entry more. */
static bool rebuild(void)
{
    size_t count = 1, size = 64;
    for (struct bl_rt_module *module = modules; module; module = module->next)
        for (struct bl_rt_entry *entry = module->entries; entry; entry = entry->next)
            count++;
    while (size < count * 2)
        size *= 2;
    struct bl_rt_entry **made = bl_calloc(size, sizeof(*made));
    if (!made)
        return false;
    bl_free(table);
    table = made;
    table_size = size;
    table_used = 0;
    for (struct bl_rt_module *module = modules; module; module = module->next)
        for (struct bl_rt_entry *entry = module->entries; entry; entry = entry->next)
            put(entry);
    return true;
}

static struct bl_rt_entry *add(void **handle, const void *host, const char *name)
{
    struct bl_rt_module *module = (struct bl_rt_module *)handle;
    struct bl_rt_entry *entry = module ? bl_calloc(1, sizeof(*entry)) : NULL;
    if (!entry)
        return NULL;
    entry->host = host;
    entry->name = name;
    entry->module = module;
    pthread_mutex_lock(&lock);
    if (table_used * 2 >= table_size && !rebuild()) {
        pthread_mutex_unlock(&lock);
        bl_free(entry);
        bl_error_log("out of memory while the program registered %s", name);
        return NULL;
    }
    entry->next = module->entries;
    module->entries = entry;
    put(entry);
    pthread_mutex_unlock(&lock);
    return entry;
}

/* Loads a module once; the lock is held. */
static cudaError_t load(struct bl_rt_module *module)
{
    if (module->loaded)
        return module->error;
    CUresult result = cuLibraryLoadData(&module->library, module->wrapper, NULL, NULL, 0, NULL, NULL, 0);
    module->error = bl_rt_error(result);
    /* What may go away by itself is tried again. */
    module->loaded = result != CUDA_ERROR_OUT_OF_MEMORY && result != CUDA_ERROR_NOT_INITIALIZED;
    return module->error;
}

/* ---- registration ------------------------------------------------------------------------------- */

void **bl_rt___cudaRegisterFatBinary(void *wrapper)
{
    struct bl_rt_module *module = bl_calloc(1, sizeof(*module));
    if (!module) {
        bl_error_log("out of memory while the program registered its GPU code");
        return NULL;
    }
    module->wrapper = wrapper;
    pthread_mutex_lock(&lock);
    module->next = modules;
    modules = module;
    pthread_mutex_unlock(&lock);
    return (void **)module;
}

void bl_rt___cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit, uint3 *thread,
                                  uint3 *block, dim3 *block_dim, dim3 *grid_dim, int *warp_size)
{
    add(handle, host, name);
}

void bl_rt___cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size, int constant,
                             int global)
{
    struct bl_rt_entry *entry = add(handle, host, name);
    if (entry) {
        entry->is_variable = true;
        entry->size = size;
    }
}

void bl_rt___cudaRegisterManagedVar(void **handle, void **pointer, char *device, const char *name, int external, size_t size,
                                    int constant, int global)
{
    struct bl_rt_entry *entry = add(handle, pointer, name);
    if (!entry)
        return;
    entry->is_variable = entry->is_managed = true;
    entry->size = size;
    entry->pointer = pointer;
    entry->module->has_managed = true;
}

void bl_rt___cudaRegisterHostVar(void **handle, const char *name, char *address, size_t size)
{
    static atomic_bool said;
    bl_rt_missing("__cudaRegisterHostVar", &said);
}

void bl_rt___cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name, int dim, int norm, int ext)
{
    static atomic_bool said;
    bl_rt_missing("__cudaRegisterTexture (a texture reference)", &said);
}

void bl_rt___cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name, int dim, int ext)
{
    static atomic_bool said;
    bl_rt_missing("__cudaRegisterSurface (a surface reference)", &said);
}

void **bl_rt___cudaRegisterUnifiedTable(void *entries)
{
    static atomic_bool said;
    bl_rt_missing("__cudaRegisterUnifiedTable", &said);
    return NULL;
}

/* Gives the host code the addresses of its managed variables. */
static cudaError_t place_managed(struct bl_rt_module *module)
{
    cudaError_t error = bl_rt_enter();
    pthread_mutex_lock(&lock);
    if (error == cudaSuccess && !module->managed_done)
        error = load(module);
    for (struct bl_rt_entry *entry = module->entries; entry && error == cudaSuccess && !module->managed_done; entry = entry->next) {
        CUdeviceptr address;
        size_t size;
        if (!entry->is_managed)
            continue;
        error = bl_rt_error(cuLibraryGetManaged(&address, &size, module->library, entry->name));
        if (error == cudaSuccess)
            *entry->pointer = (void *)(uintptr_t)address;
    }
    module->managed_done |= error == cudaSuccess;
    pthread_mutex_unlock(&lock);
    return error;
}

char bl_rt___cudaInitModule(void **handle)
{
    struct bl_rt_module *module = (struct bl_rt_module *)handle;
    if (module && module->has_managed)
        bl_rt_record(place_managed(module));
    return 1;
}

void bl_rt___cudaRegisterFatBinaryEnd(void **handle)
{
    /* Host code of clang reads the pointer of a managed variable without asking first. */
    bl_rt___cudaInitModule(handle);
}

void bl_rt___cudaUnregisterFatBinary(void **handle)
{
    struct bl_rt_module *module = (struct bl_rt_module *)handle;
    if (!module)
        return;
    pthread_mutex_lock(&lock);
    struct bl_rt_module **place = &modules;
    while (*place && *place != module)
        place = &(*place)->next;
    if (!*place) {
        pthread_mutex_unlock(&lock);
        return;
    }
    *place = module->next;
    if (table)
        memset(table, 0, table_size * sizeof(*table));
    table_used = 0;
    for (struct bl_rt_module *other = modules; other; other = other->next)
        for (struct bl_rt_entry *entry = other->entries; entry; entry = entry->next)
            put(entry);
    pthread_mutex_unlock(&lock);
    if (module->loaded && module->error == cudaSuccess)
        cuLibraryUnload(module->library);
    for (struct bl_rt_entry *entry = module->entries, *next; entry; entry = next) {
        next = entry->next;
        bl_free(entry);
    }
    bl_free(module);
}

/* ---- looking up ----------------------------------------------------------------------------------- */

cudaError_t bl_rt_kernel(const void *function, CUkernel *kernel)
{
    if (!function)
        return cudaErrorInvalidDeviceFunction;
    pthread_mutex_lock(&lock);
    struct bl_rt_entry *entry = find(function);
    cudaError_t error = cudaSuccess;
    if (entry && !entry->is_variable) {
        if (!entry->kernel && (error = load(entry->module)) == cudaSuccess) {
            CUresult result = cuLibraryGetKernel(&entry->kernel, entry->module->library, entry->name);
            error = result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : bl_rt_error(result);
        }
        *kernel = entry->kernel;
        pthread_mutex_unlock(&lock);
        return error;
    }
    pthread_mutex_unlock(&lock);
    /* From cudaLibraryGetKernel or __cudaGetKernel. */
    const char *name;
    *kernel = (CUkernel)function;
    if (cuKernelGetName(&name, *kernel) == CUDA_SUCCESS)
        return cudaSuccess;
    return bl_rt_version < 13000 ? cudaErrorInvalidDeviceFunction
                                 : cudaErrorInvalidResourceHandle; /* measured: tests/programs/errors.cu */
}

const void *bl_rt_host_function(CUkernel kernel)
{
    const void *host = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < table_size && !host; i++)
        if (table[i] && !table[i]->is_variable && table[i]->kernel == kernel)
            host = table[i]->host;
    pthread_mutex_unlock(&lock);
    return host;
}

cudaError_t bl_rt_function(const void *function, CUfunction *made)
{
    CUkernel kernel;
    BL_RT_ENTER();
    cudaError_t error = bl_rt_kernel(function, &kernel);
    return error == cudaSuccess ? bl_rt_error(cuKernelGetFunction(made, kernel)) : error;
}

/* Host code names a managed variable by where it is; the lock is held. */
static struct bl_rt_entry *find_managed(const void *address)
{
    for (struct bl_rt_module *module = modules; module; module = module->next)
        for (struct bl_rt_entry *entry = module->has_managed ? module->entries : NULL; entry; entry = entry->next)
            if (entry->is_managed && *entry->pointer == address)
                return entry;
    return NULL;
}

cudaError_t bl_rt_symbol(const void *symbol, CUdeviceptr *address, size_t *size)
{
    BL_RT_ENTER();
    pthread_mutex_lock(&lock);
    struct bl_rt_entry *entry = symbol ? find(symbol) : NULL;
    if (!entry && symbol)
        entry = find_managed(symbol);
    cudaError_t error = entry && entry->is_variable ? load(entry->module) : cudaErrorInvalidSymbol;
    if (error == cudaSuccess) {
        CUresult result = entry->is_managed ? cuLibraryGetManaged(address, size, entry->module->library, entry->name)
                                            : cuLibraryGetGlobal(address, size, entry->module->library, entry->name);
        error = result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : bl_rt_error(result);
    }
    pthread_mutex_unlock(&lock);
    return error;
}

cudaError_t bl_rt_cudaGetSymbolAddress(void **pointer, const void *symbol)
{
    CUdeviceptr address = 0;
    size_t size;
    if (!pointer)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_symbol(symbol, &address, &size);
    if (error == cudaSuccess)
        *pointer = (void *)(uintptr_t)address;
    return error;
}

cudaError_t bl_rt_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    CUdeviceptr address;
    return size ? bl_rt_symbol(symbol, &address, size) : cudaErrorInvalidValue;
}

cudaError_t bl_rt___cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    if (!kernel)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    return bl_rt_kernel(function, (CUkernel *)kernel);
}

cudaError_t bl_rt_cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
    return bl_rt___cudaGetKernel(kernel, function);
}

cudaError_t bl_rt_cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
    return function ? bl_rt_function(symbol, (CUfunction *)function) : cudaErrorInvalidValue;
}

/* ---- libraries ------------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jit_options, void **jit_values,
                                      unsigned int jit_count, enum cudaLibraryOption *options, void **values, unsigned int count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryLoadData((CUlibrary *)library, code, (CUjit_option *)jit_options, jit_values, jit_count,
                                         (CUlibraryOption *)options, values, count));
}

cudaError_t bl_rt_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *file, enum cudaJitOption *jit_options,
                                          void **jit_values, unsigned int jit_count, enum cudaLibraryOption *options, void **values,
                                          unsigned int count)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryLoadFromFile((CUlibrary *)library, file, (CUjit_option *)jit_options, jit_values, jit_count,
                                             (CUlibraryOption *)options, values, count));
}

cudaError_t bl_rt_cudaLibraryUnload(cudaLibrary_t library)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryUnload((CUlibrary)library));
}

cudaError_t bl_rt_cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryGetKernel((CUkernel *)kernel, (CUlibrary)library, name));
}

cudaError_t bl_rt_cudaLibraryGetGlobal(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryGetGlobal((CUdeviceptr *)address, size, (CUlibrary)library, name));
}

cudaError_t bl_rt_cudaLibraryGetManaged(void **address, size_t *size, cudaLibrary_t library, const char *name)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryGetManaged((CUdeviceptr *)address, size, (CUlibrary)library, name));
}

cudaError_t bl_rt_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t library)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryGetKernelCount(count, (CUlibrary)library));
}

cudaError_t bl_rt_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int count, cudaLibrary_t library)
{
    BL_RT_ENTER();
    return bl_rt_error(cuLibraryEnumerateKernels((CUkernel *)kernels, count, (CUlibrary)library));
}
