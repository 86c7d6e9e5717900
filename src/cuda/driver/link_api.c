/* cuLinkCreate and kin: collects PTX and joins it. The "cubin" that cuLinkComplete gives out is PTX text, which all load
 * functions take. */
#include "cuda/driver/driver.h"
#include "image/image.h"

struct input {
    struct bl_cu_code code;
    char *name; /* owned */
};

struct link {
    struct bl_cu_object object;
    struct bl_cu_jit jit;
    struct bl_cu_context *context;
    struct input *inputs; /* owned */
    uint32_t count, capacity;
    struct bl_buffer result;
};
_Static_assert(sizeof(struct link) <= 256, "handle.c sets aside 256 bytes");

CUresult bl_cuLinkCreate_v2(unsigned int num_options, CUjit_option *options, void **option_values, CUlinkState *state_out)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!state_out)
        return CUDA_ERROR_INVALID_VALUE;
    struct link *link = bl_cu_new(BL_CU_LINK);
    if (!link)
        return CUDA_ERROR_OUT_OF_MEMORY;
    result = bl_cu_jit_read(&link->jit, num_options, options, option_values);
    if (result != CUDA_SUCCESS) {
        bl_cu_recycle(link);
        return result;
    }
    link->context = context;
    bl_cu_publish(link);
    *state_out = BL_CU_HANDLE(CUlinkState, link);
    return CUDA_SUCCESS;
}

static CUresult add(struct link *link, const void *data, size_t size, const char *name)
{
    if (link->count == link->capacity) {
        uint32_t capacity = link->capacity ? link->capacity * 2 : 4;
        struct input *inputs = bl_realloc(link->inputs, capacity * sizeof(*inputs));
        if (!inputs)
            return CUDA_ERROR_OUT_OF_MEMORY;
        link->inputs = inputs;
        link->capacity = capacity;
    }
    struct input *input = &link->inputs[link->count];
    struct bl_error error = BL_ERROR_INIT;
    input->name = bl_strdup(name ? name : "PTX");
    if (!input->name)
        return CUDA_ERROR_OUT_OF_MEMORY;
    enum bl_status status = bl_cu_code_read(data, size, bl_cu_device_sm(link->context->device), &input->code, &error);
    if (status != BL_OK) {
        bl_free(input->name);
        error.status = status;
        bl_cu_jit_finish(&link->jit, &error);
        return bl_cu_load_result(&error, status, "cuLinkAddData");
    }
    link->count++;
    return CUDA_SUCCESS;
}

static CUresult check_type(CUjitInputType type)
{
    switch ((int)type) {
    case CU_JIT_INPUT_PTX:
    case CU_JIT_INPUT_FATBINARY:
    case CU_JIT_INPUT_OBJECT:
    case CU_JIT_INPUT_LIBRARY:
        return CUDA_SUCCESS;
    case CU_JIT_INPUT_CUBIN:
        return CUDA_ERROR_NO_BINARY_FOR_GPU; /* machine code */
    default:
        return type >= CU_JIT_NUM_INPUT_TYPES ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult bl_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                             unsigned int num_options, CUjit_option *options, void **option_values)
{
    struct link *link = bl_cu_object(state, BL_CU_LINK);
    if (!link)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!data || !size || (num_options && (!options || !option_values)))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_type(type);
    return result == CUDA_SUCCESS ? add(link, data, size, name) : result;
}

CUresult bl_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int num_options,
                             CUjit_option *options, void **option_values)
{
    struct link *link = bl_cu_object(state, BL_CU_LINK);
    char *data = NULL;
    size_t size = 0;
    if (!link)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!path || (num_options && (!options || !option_values)))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_type(type);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_error error = BL_ERROR_INIT;
    enum bl_status status = bl_file_read(path, &data, &size, &error);
    if (status != BL_OK)
        return status == BL_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
    result = size ? add(link, data, size, path) : CUDA_ERROR_INVALID_IMAGE;
    bl_free(data);
    return result;
}

CUresult bl_cuLinkComplete(CUlinkState state, void **cubin_out, size_t *size_out)
{
    struct link *link = bl_cu_object(state, BL_CU_LINK);
    if (!link)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!cubin_out || !link->count)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cu_link_input *inputs = bl_calloc(link->count, sizeof(*inputs));
    if (!inputs)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < link->count; i++)
        inputs[i] = (struct bl_cu_link_input){{link->inputs[i].code.ptx, link->inputs[i].code.size}, link->inputs[i].name};
    bl_buffer_cleanup(&link->result);
    memset(&link->result, 0, sizeof(link->result));
    enum bl_status status = bl_cu_link(inputs, link->count, &link->result, &error);
    bl_free(inputs);
    error.status = status;
    bl_cu_jit_finish(&link->jit, &error);
    if (status != BL_OK)
        return bl_cu_load_result(&error, status, "cuLinkComplete");
    *cubin_out = link->result.data; /* lives until cuLinkDestroy */
    if (size_out)
        *size_out = link->result.size + 1;
    return CUDA_SUCCESS;
}

CUresult bl_cuLinkDestroy(CUlinkState state)
{
    struct link *link = bl_cu_object(state, BL_CU_LINK);
    if (!link || !bl_cu_unpublish(link))
        return CUDA_ERROR_INVALID_HANDLE;
    for (uint32_t i = 0; i < link->count; i++) {
        bl_cu_code_cleanup(&link->inputs[i].code);
        bl_free(link->inputs[i].name);
    }
    bl_free(link->inputs);
    bl_buffer_cleanup(&link->result);
    bl_cu_recycle(link);
    return CUDA_SUCCESS;
}
