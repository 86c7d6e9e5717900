/* Libraries (CUDA 12): code that is loaded once and gets a module in each context that uses it; kernels that are functions in
 * whatever context is current. NVIDIA's runtime loads everything this way. */
#include "cuda/driver/driver.h"

struct instance {
    struct bl_cu_module *module; /* owned by its context's list as well */
    struct instance *next;
};

struct bl_cu_library {
    struct bl_cu_object object;
    pthread_mutex_t lock; /* recursive: held over bl_cu_library_forget, which unloading calls */
    struct bl_cu_code code;
    char name[64];
    struct instance *instances;   /* owned */
    struct bl_cu_kernel *kernels; /* owned */
};
_Static_assert(sizeof(struct bl_cu_library) <= 256, "handle.c sets aside 256 bytes");

/* ---- instances ------------------------------------------------------------------------------------ */

static CUresult instance_new(struct bl_cu_library *library, struct bl_cu_context *context, struct bl_error *error,
                             struct bl_cu_module **module)
{
    struct instance *made = bl_calloc(1, sizeof(*made));
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = bl_cu_module_new(context, &library->code, library->name, module, error);
    if (result != CUDA_SUCCESS) {
        bl_free(made);
        return result;
    }
    (*module)->library = library;
    made->module = *module;
    made->next = library->instances;
    library->instances = made;
    return CUDA_SUCCESS;
}

/* The library's module in that context, loaded if need be. */
static CUresult instance_of(struct bl_cu_library *library, struct bl_cu_context *context, struct bl_cu_module **module)
{
    CUresult result = CUDA_SUCCESS;
    struct bl_error error = BL_ERROR_INIT;
    pthread_mutex_lock(&library->lock);
    struct instance *at = library->instances;
    while (at && at->module->context != context)
        at = at->next;
    if (at)
        *module = at->module;
    else
        result = instance_new(library, context, &error, module);
    pthread_mutex_unlock(&library->lock);
    return result;
}

/* The current context, or where there is none the first device's primary one, which is then kept. */
static CUresult some_context(struct bl_cu_context **context)
{
    CUresult result = bl_cu_current(context);
    return result == CUDA_ERROR_INVALID_CONTEXT ? bl_cu_primary_retain(&bl_cu_devices[0], context) : result;
}

static CUresult some_instance(CUlibrary handle, struct bl_cu_library **library, struct bl_cu_module **module)
{
    struct bl_cu_context *context;
    *library = bl_cu_object(handle, BL_CU_LIBRARY);
    if (!*library)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = some_context(&context);
    return result == CUDA_SUCCESS ? instance_of(*library, context, module) : result;
}

void bl_cu_library_forget(struct bl_cu_library *library, struct bl_cu_module *module)
{
    pthread_mutex_lock(&library->lock);
    for (struct bl_cu_kernel *kernel = library->kernels; kernel; kernel = kernel->next) {
        struct bl_cu_function *function = atomic_load(&kernel->function);
        if (function && function->module == module)
            atomic_store(&kernel->function, NULL);
    }
    struct instance **at = &library->instances;
    while (*at && (*at)->module != module)
        at = &(*at)->next;
    struct instance *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&library->lock);
    bl_free(found);
}

/* ---- loading -------------------------------------------------------------------------------------------- */

static void lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &kind);
    pthread_mutexattr_destroy(&kind);
}

static void library_free(struct bl_cu_library *library)
{
    while (library->kernels) {
        struct bl_cu_kernel *kernel = library->kernels;
        library->kernels = kernel->next;
        bl_cu_unpublish(kernel);
        bl_free(kernel->name);
        bl_cu_recycle(kernel);
    }
    bl_cu_code_cleanup(&library->code);
    pthread_mutex_destroy(&library->lock);
    bl_cu_recycle(library);
}

static CUresult load(CUlibrary *handle, const void *data, size_t size, const char *name, CUjit_option *options, void **values,
                     unsigned count)
{
    struct bl_cu_jit jit;
    CUresult result = bl_cu_jit_read(&jit, count, options, values);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle || !data)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_library *library = bl_cu_new(BL_CU_LIBRARY);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    lock_init(&library->lock);
    memcpy(library->name, name, BL_MIN(strlen(name), sizeof(library->name) - 1));
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = bl_cu_code_read(data, size, bl_cu_device_sm(&bl_cu_devices[0]), &library->code, &error);
    error.status = status;
    result = bl_cu_load_result(&error, status, name);
    struct bl_cu_context *context;
    struct bl_cu_module *module;
    /* Where a context is current, load there now, so that a fault in the text is this call's answer. */
    if (result == CUDA_SUCCESS && bl_cu_current(&context) == CUDA_SUCCESS)
        result = instance_new(library, context, &error, &module);
    bl_cu_jit_finish(&jit, &error);
    if (result != CUDA_SUCCESS) {
        library_free(library);
        return result;
    }
    bl_cu_publish(library);
    *handle = BL_CU_HANDLE(CUlibrary, library);
    return CUDA_SUCCESS;
}

CUresult bl_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options, void **jit_options_values,
                              unsigned int num_jit_options, CUlibraryOption *library_options, void **library_option_values,
                              unsigned int num_library_options)
{
    if (num_library_options && !library_options)
        return CUDA_ERROR_INVALID_VALUE;
    return load(library, code, 0, "cuLibraryLoadData", jit_options, jit_options_values, num_jit_options);
}

CUresult bl_cuLibraryLoadFromFile(CUlibrary *library, const char *file_name, CUjit_option *jit_options, void **jit_options_values,
                                  unsigned int num_jit_options, CUlibraryOption *library_options, void **library_option_values,
                                  unsigned int num_library_options)
{
    char *data = NULL;
    size_t size = 0;
    struct bl_error error = BL_ERROR_INIT;
    if (!library || !file_name || (num_library_options && !library_options))
        return CUDA_ERROR_INVALID_VALUE;
    enum bl_status status = bl_file_read(file_name, &data, &size, &error);
    if (status != BL_OK) {
        bl_error_log("cuLibraryLoadFromFile: %s", error.message);
        return status == BL_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    CUresult result =
        size ? load(library, data, size, file_name, jit_options, jit_options_values, num_jit_options) : CUDA_ERROR_INVALID_IMAGE;
    bl_free(data);
    return result;
}

/* Takes a module out of its context's list, so that only the caller frees it; false: the context did it first. */
static bool claim_module(struct bl_cu_module *module)
{
    struct bl_cu_context *context = module->context;
    if (!bl_cu_unpublish(module))
        return false;
    pthread_mutex_lock(&context->lock);
    if (module->previous)
        module->previous->next = module->next;
    else if (context->modules == module)
        context->modules = module->next;
    if (module->next)
        module->next->previous = module->previous;
    pthread_mutex_unlock(&context->lock);
    return true;
}

CUresult bl_cuLibraryUnload(CUlibrary handle)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_library *library = bl_cu_object(handle, BL_CU_LIBRARY);
    if (!library || !bl_cu_unpublish(library))
        return CUDA_ERROR_INVALID_HANDLE;
    for (;;) {
        pthread_mutex_lock(&library->lock);
        struct bl_cu_module *module = library->instances ? library->instances->module : NULL;
        bool ours = module && claim_module(module);
        pthread_mutex_unlock(&library->lock);
        if (!module)
            break;
        if (ours)
            bl_cu_module_free(module);
        else
            bl_cu_library_forget(library, module);
    }
    library_free(library);
    return CUDA_SUCCESS;
}

/* ---- kernels ------------------------------------------------------------------------------------------------ */

/* The library's kernel of that name, which is known to exist; the lock is held. */
static struct bl_cu_kernel *kernel_of(struct bl_cu_library *library, const char *name)
{
    for (struct bl_cu_kernel *kernel = library->kernels; kernel; kernel = kernel->next)
        if (!strcmp(kernel->name, name))
            return kernel;
    struct bl_cu_kernel *kernel = bl_cu_new(BL_CU_KERNEL);
    if (!kernel)
        return NULL;
    kernel->name = bl_strdup(name);
    if (!kernel->name) {
        bl_cu_recycle(kernel);
        return NULL;
    }
    kernel->library = library;
    kernel->next = library->kernels;
    library->kernels = kernel;
    bl_cu_publish(kernel);
    return kernel;
}

CUresult bl_cuLibraryGetKernel(CUkernel *handle, CUlibrary library_handle, const char *name)
{
    struct bl_cu_library *library;
    struct bl_cu_module *module;
    struct bl_cu_function *function;
    if (!handle || !name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = some_instance(library_handle, &library, &module);
    if (result == CUDA_SUCCESS)
        result = bl_cu_module_function(module, name, &function);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&library->lock);
    struct bl_cu_kernel *kernel = kernel_of(library, name);
    pthread_mutex_unlock(&library->lock);
    if (!kernel)
        return CUDA_ERROR_OUT_OF_MEMORY;
    atomic_store(&kernel->function, function);
    *handle = BL_CU_HANDLE(CUkernel, kernel);
    return CUDA_SUCCESS;
}

CUresult bl_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
    struct bl_cu_library *library;
    struct bl_cu_module *module;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = some_instance(lib, &library, &module);
    if (result == CUDA_SUCCESS)
        *count = bl_cu_module_kernel_count(module);
    return result;
}

CUresult bl_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int num_kernels, CUlibrary lib)
{
    struct bl_cu_library *library;
    struct bl_cu_module *module;
    if (!kernels || !num_kernels)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = some_instance(lib, &library, &module);
    for (unsigned i = 0; i < num_kernels && result == CUDA_SUCCESS; i++) {
        const char *name = module->context->device->device->ops->module_kernel_name(module->module, i);
        if (!name)
            break;
        result = bl_cuLibraryGetKernel(&kernels[i], lib, name);
    }
    return result;
}

CUresult bl_cu_kernel_function(struct bl_cu_kernel *kernel, struct bl_cu_context *context, struct bl_cu_function **function)
{
    struct bl_cu_function *last = atomic_load_explicit(&kernel->function, memory_order_acquire);
    if (last && last->module->context == context) {
        *function = last;
        return CUDA_SUCCESS;
    }
    struct bl_cu_module *module;
    CUresult result = instance_of(kernel->library, context, &module);
    if (result == CUDA_SUCCESS)
        result = bl_cu_module_function(module, kernel->name, function);
    if (result == CUDA_SUCCESS)
        atomic_store(&kernel->function, *function);
    return result;
}

CUresult bl_cuKernelGetFunction(CUfunction *function, CUkernel handle)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    struct bl_cu_function *found;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    result = bl_cu_kernel_function(kernel, context, &found);
    if (result == CUDA_SUCCESS)
        *function = BL_CU_HANDLE(CUfunction, found);
    return result;
}

CUresult bl_cuKernelGetName(const char **name, CUkernel handle)
{
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = kernel->name;
    return CUDA_SUCCESS;
}

CUresult bl_cuKernelGetLibrary(CUlibrary *lib, CUkernel handle)
{
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!lib)
        return CUDA_ERROR_INVALID_VALUE;
    *lib = BL_CU_HANDLE(CUlibrary, kernel->library);
    return CUDA_SUCCESS;
}

/* The kernel's function on a device: in the current context if that is the device's, else in its primary one. */
static CUresult function_on(CUkernel handle, CUdevice dev, struct bl_cu_function **function)
{
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    struct bl_cu_device *device = bl_cu_device(dev);
    struct bl_cu_context *context;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (bl_cu_current(&context) != CUDA_SUCCESS || context->device != device) {
        CUresult result = bl_cu_primary_retain(device, &context);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return bl_cu_kernel_function(kernel, context, function);
}

CUresult bl_cuKernelGetAttribute(int *value, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
    struct bl_cu_function *function;
    CUresult result = function_on(kernel, dev, &function);
    return result == CUDA_SUCCESS ? bl_cuFuncGetAttribute(value, attrib, BL_CU_HANDLE(CUfunction, function)) : result;
}

CUresult bl_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
    struct bl_cu_function *function;
    CUresult result = function_on(kernel, dev, &function);
    return result == CUDA_SUCCESS ? bl_cuFuncSetAttribute(BL_CU_HANDLE(CUfunction, function), attrib, val) : result;
}

CUresult bl_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct bl_cu_function *function;
    CUresult result = function_on(kernel, dev, &function);
    return result == CUDA_SUCCESS ? bl_cuFuncSetCacheConfig(BL_CU_HANDLE(CUfunction, function), config) : result;
}

CUresult bl_cuKernelGetParamInfo(CUkernel handle, size_t param_index, size_t *param_offset, size_t *param_size)
{
    struct bl_cu_kernel *kernel = bl_cu_object(handle, BL_CU_KERNEL);
    struct bl_cu_context *context;
    struct bl_cu_function *function;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = some_context(&context);
    if (result == CUDA_SUCCESS)
        result = bl_cu_kernel_function(kernel, context, &function);
    return result == CUDA_SUCCESS ? bl_cuFuncGetParamInfo(BL_CU_HANDLE(CUfunction, function), param_index, param_offset, param_size)
                                  : result;
}

/* ---- modules and variables --------------------------------------------------------------------------------------- */

CUresult bl_cuLibraryGetModule(CUmodule *handle, CUlibrary library_handle)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_library *library = bl_cu_object(library_handle, BL_CU_LIBRARY);
    struct bl_cu_module *module;
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    result = instance_of(library, context, &module);
    if (result == CUDA_SUCCESS)
        *handle = BL_CU_HANDLE(CUmodule, module);
    return result;
}

static CUresult library_variable(CUlibrary library_handle, const char *name, CUdeviceptr *address, size_t *bytes, bool managed_only)
{
    struct bl_cu_context *context;
    /* NVIDIA's static runtime asks for managed variables before it makes any context current. */
    CUresult result = managed_only ? some_context(&context) : bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_library *library = bl_cu_object(library_handle, BL_CU_LIBRARY);
    struct bl_cu_module *module;
    struct bl_cu_variable found;
    if (!library)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!name || (!address && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    result = instance_of(library, context, &module);
    if (result == CUDA_SUCCESS)
        result = bl_cu_module_variable(module, name, &found);
    if (result == CUDA_SUCCESS && managed_only && !found.managed)
        result = CUDA_ERROR_NOT_FOUND;
    if (result != CUDA_SUCCESS)
        return result;
    if (address)
        *address = found.address;
    if (bytes)
        *bytes = found.size;
    return CUDA_SUCCESS;
}

CUresult bl_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return library_variable(library, name, address, bytes, false);
}

CUresult bl_cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    return library_variable(library, name, address, bytes, true);
}
