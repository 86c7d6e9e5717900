/* Modules: loading, unloading, functions and variables in them. */
#include "cuda/driver/driver.h"

/* ---- making and ending -------------------------------------------------------------------------- */

CUresult bl_cu_module_new(struct bl_cu_context *context, const struct bl_cu_code *code, const char *name,
                          struct bl_cu_module **made, struct bl_error *error)
{
    struct bl_device *device = context->device->device;
    struct bl_cu_module *module = bl_cu_new(BL_CU_MODULE);
    if (!module) {
        bl_fail(error, BL_NO_MEMORY, "out of memory");
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module->context = context;
    struct bl_module_source source = {.ptx = {code->ptx, code->size}, .name = name, .check_now = code->check_now};
    enum bl_status status = device->ops->module_load(device, &source, &module->module, error);
    if (status != BL_OK) {
        bl_cu_recycle(module);
        error->status = status;
        return bl_cu_load_result(error, status, name);
    }
    pthread_mutex_lock(&context->lock);
    module->next = context->modules;
    if (module->next)
        module->next->previous = module;
    context->modules = module;
    pthread_mutex_unlock(&context->lock);
    bl_cu_publish(module);
    *made = module;
    return CUDA_SUCCESS;
}

atomic_uint bl_cu_modules_gone;

void bl_cu_module_free(struct bl_cu_module *module)
{
    atomic_fetch_add(&bl_cu_modules_gone, 1);
    if (module->library)
        bl_cu_library_forget(module->library, module);
    while (module->functions) {
        struct bl_cu_function *function = module->functions;
        module->functions = function->next;
        bl_cu_unpublish(function);
        bl_free(function->offsets);
        bl_cu_legacy_launch_free(function);
        bl_cu_recycle(function);
    }
    while (module->variables) {
        struct bl_cu_variable *variable = module->variables;
        struct bl_cu_allocation gone;
        module->variables = variable->next;
        bl_cu_allocation_remove(variable->address, BL_CU_VARIABLE, &gone);
        bl_free(variable->name);
        bl_free(variable);
    }
    module->context->device->device->ops->module_unload(module->module);
    bl_cu_recycle(module);
}

static void take_out(struct bl_cu_module *module)
{
    struct bl_cu_context *context = module->context;
    pthread_mutex_lock(&context->lock);
    if (module->previous)
        module->previous->next = module->next;
    else
        context->modules = module->next;
    if (module->next)
        module->next->previous = module->previous;
    pthread_mutex_unlock(&context->lock);
}

static CUresult load(CUmodule *module, const void *data, size_t size, const char *name, struct bl_cu_jit *jit)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!module || !data)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cu_code code;
    struct bl_cu_module *made;
    enum bl_status status = bl_cu_code_read(data, size, bl_cu_device_sm(context->device), &code, &error);
    error.status = status;
    if (status == BL_OK) {
        result = bl_cu_module_new(context, &code, name, &made, &error);
        bl_cu_code_cleanup(&code);
    } else {
        result = bl_cu_load_result(&error, status, name);
    }
    if (jit)
        bl_cu_jit_finish(jit, &error);
    if (result == CUDA_SUCCESS)
        *module = BL_CU_HANDLE(CUmodule, made);
    return result;
}

CUresult bl_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(module, image, 0, "cuModuleLoadData", NULL);
}

CUresult bl_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int num_options, CUjit_option *options,
                               void **option_values)
{
    struct bl_cu_jit jit;
    CUresult result = bl_cu_jit_read(&jit, num_options, options, option_values);
    return result == CUDA_SUCCESS ? load(module, image, 0, "cuModuleLoadDataEx", &jit) : result;
}

CUresult bl_cuModuleLoadFatBinary(CUmodule *module, const void *fatbin)
{
    return load(module, fatbin, 0, "cuModuleLoadFatBinary", NULL);
}

CUresult bl_cuModuleLoad(CUmodule *module, const char *path)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!module || !path)
        return CUDA_ERROR_INVALID_VALUE;
    char *data = NULL;
    size_t size = 0;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = bl_file_read(path, &data, &size, &error);
    if (status != BL_OK) {
        bl_error_log("cuModuleLoad: %s", error.message);
        return status == BL_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    }
    result = size ? load(module, data, size, path, NULL) : CUDA_ERROR_INVALID_IMAGE;
    bl_free(data);
    return result;
}

CUresult bl_cuModuleUnload(CUmodule handle)
{
    if (bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_module *module = bl_cu_object(handle, BL_CU_MODULE);
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    if (module->library || !bl_cu_unpublish(module)) /* a library's modules go with the library */
        return module->library ? CUDA_ERROR_NOT_PERMITTED : CUDA_ERROR_INVALID_HANDLE;
    take_out(module);
    bl_cu_module_free(module);
    return CUDA_SUCCESS;
}

CUresult bl_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

/* ---- functions -------------------------------------------------------------------------------------- */

/* Reads the layout of the parameters into one block. */
static bool read_params(struct bl_cu_function *function, const struct bl_device_ops *ops)
{
    uint32_t offset, size, count = 0;
    while (ops->kernel_param(function->kernel, count, &offset, &size) == BL_OK)
        count++;
    function->param_count = count;
    function->offsets = bl_malloc((size_t)(count + 1) * 2 * sizeof(uint32_t));
    if (!function->offsets)
        return false;
    function->sizes = function->offsets + count + 1;
    for (uint32_t i = 0; i < count; i++) {
        ops->kernel_param(function->kernel, i, &function->offsets[i], &function->sizes[i]);
        function->param_bytes = BL_MAX(function->param_bytes, function->offsets[i] + function->sizes[i]);
    }
    return true;
}

static CUresult function_new(struct bl_cu_module *module, const char *name, struct bl_cu_function **made)
{
    const struct bl_device_ops *ops = module->context->device->device->ops;
    struct bl_device_kernel *kernel;
    enum bl_status status = ops->module_kernel(module->module, name, &kernel);
    if (status != BL_OK)
        return bl_cu_result(module->context, status);
    struct bl_cu_function *function = bl_cu_new(BL_CU_FUNCTION);
    if (!function)
        return CUDA_ERROR_OUT_OF_MEMORY;
    function->module = module;
    function->kernel = kernel;
    function->name = ops->kernel_name(kernel);
    function->carveout = -1;
    atomic_store(&function->attr_ready, false);
    if (!read_params(function, ops)) {
        bl_cu_recycle(function);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    function->next = module->functions;
    module->functions = function;
    bl_cu_publish(function);
    *made = function;
    return CUDA_SUCCESS;
}

CUresult bl_cu_module_function(struct bl_cu_module *module, const char *name, struct bl_cu_function **function)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&module->context->lock);
    struct bl_cu_function *found = module->functions;
    while (found && strcmp(found->name, name))
        found = found->next;
    if (!found)
        result = function_new(module, name, &found);
    pthread_mutex_unlock(&module->context->lock);
    *function = found;
    return result;
}

uint32_t bl_cu_module_kernel_count(struct bl_cu_module *module)
{
    uint32_t count = 0;
    while (module->context->device->device->ops->module_kernel_name(module->module, count))
        count++;
    return count;
}

CUresult bl_cuModuleGetFunction(CUfunction *handle, CUmodule module, const char *name)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!handle || !name || !*name)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_module *object = bl_cu_object(module, BL_CU_MODULE);
    struct bl_cu_function *function;
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    result = bl_cu_module_function(object, name, &function);
    if (result == CUDA_SUCCESS)
        *handle = BL_CU_HANDLE(CUfunction, function);
    return result;
}

CUresult bl_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
    struct bl_cu_module *module = bl_cu_object(mod, BL_CU_MODULE);
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    *count = bl_cu_module_kernel_count(module);
    return CUDA_SUCCESS;
}

CUresult bl_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int num_functions, CUmodule mod)
{
    struct bl_cu_module *module = bl_cu_object(mod, BL_CU_MODULE);
    if (!functions || !num_functions)
        return CUDA_ERROR_INVALID_VALUE;
    if (!module)
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned i = 0; i < num_functions; i++) {
        const char *name = module->context->device->device->ops->module_kernel_name(module->module, i);
        struct bl_cu_function *function;
        if (!name)
            break;
        CUresult result = bl_cu_module_function(module, name, &function);
        if (result != CUDA_SUCCESS)
            return result;
        functions[i] = BL_CU_HANDLE(CUfunction, function);
    }
    return CUDA_SUCCESS;
}

/* ---- variables ------------------------------------------------------------------------------------------ */

static CUresult variable_new(struct bl_cu_module *module, const char *name, struct bl_cu_variable **made)
{
    struct bl_cu_variable *variable = bl_calloc(1, sizeof(*variable));
    if (!variable)
        return CUDA_ERROR_OUT_OF_MEMORY;
    enum bl_status status = module->context->device->device->ops->module_variable(module->module, name, &variable->address,
                                                                                  &variable->size, &variable->managed);
    if (status == BL_OK && !(variable->name = bl_strdup(name)))
        status = BL_NO_MEMORY;
    if (status == BL_OK && variable->size &&
        !bl_cu_allocation_add(module->context, variable->address, variable->size, BL_CU_VARIABLE, variable->managed))
        status = BL_NO_MEMORY;
    if (status != BL_OK) {
        bl_free(variable->name);
        bl_free(variable);
        return bl_cu_result(module->context, status);
    }
    variable->next = module->variables;
    module->variables = variable;
    *made = variable;
    return CUDA_SUCCESS;
}

CUresult bl_cu_module_variable(struct bl_cu_module *module, const char *name, struct bl_cu_variable *copy)
{
    CUresult result = CUDA_SUCCESS;
    pthread_mutex_lock(&module->context->lock);
    struct bl_cu_variable *found = module->variables;
    while (found && strcmp(found->name, name))
        found = found->next;
    if (!found)
        result = variable_new(module, name, &found);
    if (result == CUDA_SUCCESS)
        *copy = *found;
    pthread_mutex_unlock(&module->context->lock);
    return result;
}

CUresult bl_cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!name || (!address && !bytes))
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_cu_module *object = bl_cu_object(module, BL_CU_MODULE);
    struct bl_cu_variable found;
    if (!object)
        return CUDA_ERROR_INVALID_HANDLE;
    result = bl_cu_module_variable(object, name, &found);
    struct bl_cu_function *function;
    if (result == CUDA_ERROR_NOT_FOUND && bl_cu_module_function(object, name, &function) == CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_VALUE; /* a kernel's name: measured on an H200 */
    if (result != CUDA_SUCCESS)
        return result;
    if (address)
        *address = found.address;
    if (bytes)
        *bytes = found.size;
    return CUDA_SUCCESS;
}
