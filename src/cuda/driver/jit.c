/* Options of cuModuleLoadDataEx, cuLibraryLoadData and cuLinkCreate: log buffers and times; and what a failed load says. */
#include "cuda/driver/driver.h"

#include <time.h>

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

CUresult bl_cu_jit_read(struct bl_cu_jit *jit, unsigned count, CUjit_option *options, void **values)
{
    memset(jit, 0, sizeof(*jit));
    jit->started = now();
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        switch ((int)options[i]) {
        case CU_JIT_INFO_LOG_BUFFER:
            jit->info = values[i];
            break;
        case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
            jit->info_size = (unsigned)(uintptr_t)values[i];
            jit->info_written = &values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER:
            jit->error = values[i];
            break;
        case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
            jit->error_size = (unsigned)(uintptr_t)values[i];
            jit->error_written = &values[i];
            break;
        case CU_JIT_WALL_TIME: /* the option's value becomes the time */
            jit->wall_time = (float *)(void *)&values[i];
            break;
        default: /* registers, optimisation, target …: the code generator decides */
            if (options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
                return CUDA_ERROR_INVALID_VALUE;
        }
    }
    if (jit->info && jit->info_size)
        jit->info[0] = 0;
    if (jit->error && jit->error_size)
        jit->error[0] = 0;
    return CUDA_SUCCESS;
}

static void fill_log(char *buffer, size_t size, void **written, const char *text)
{
    size_t length = 0;
    if (buffer && size) {
        length = BL_MIN(strlen(text), size - 1);
        memcpy(buffer, text, length);
        buffer[length] = 0;
    }
    if (written)
        *written = (void *)(uintptr_t)length;
}

void bl_cu_jit_finish(struct bl_cu_jit *jit, const struct bl_error *error)
{
    fill_log(jit->info, jit->info_size, jit->info_written, "");
    fill_log(jit->error, jit->error_size, jit->error_written, error->status == BL_OK ? "" : error->message);
    if (jit->wall_time)
        *jit->wall_time = (float)((double)(now() - jit->started) * 1e-6);
}

CUresult bl_cu_load_result(const struct bl_error *error, enum bl_status status, const char *what)
{
    if (status == BL_OK)
        return CUDA_SUCCESS;
    bl_error_log("%s: %s%s%s", what, bl_status_name(status), error->message[0] ? ": " : "", error->message);
    if (status == BL_NO_IMAGE)
        bl_error_log("%s: only PTX can run yet, not machine code; build with PTX (nvcc -gencode arch=compute_XX,code=compute_XX)",
                     what);
    switch (status) {
    case BL_SYNTAX: /* of PTX where a line is known, else of the container around it */
        return error->line ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
    case BL_UNSUPPORTED:
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    case BL_NOT_FOUND:
        return CUDA_ERROR_NOT_FOUND;
    default:
        return bl_cu_result(NULL, status);
    }
}
