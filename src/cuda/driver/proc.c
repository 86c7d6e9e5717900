/* cuGetProcAddress: the newest variant of a name that a program built for a given version may be given. */
#include "cuda/driver/driver.h"

#define FLAGS (CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)

/* A version past this is not one: measured on an H200, 99000 is refused. */
enum { BL_CU_VERSION_LIMIT = 20000 };

/* First entry of a name; SIZE_MAX: none. The table is sorted by name. */
static size_t first_entry(const char *name)
{
    size_t low = 0, high = bl_cu_proc_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (strcmp(bl_cu_procs[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < bl_cu_proc_count && !strcmp(bl_cu_procs[low].name, name) ? low : SIZE_MAX;
}

CUresult bl_cuGetProcAddress_v2(const char *symbol, void **function, int cuda_version, cuuint64_t flags,
                                CUdriverProcAddressQueryResult *symbol_status)
{
    if (!symbol || !function || flags & ~(cuuint64_t)FLAGS || (flags & FLAGS) == FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    if (cuda_version > BL_CU_VERSION_LIMIT)
        return CUDA_ERROR_INVALID_VALUE;
    size_t at = first_entry(symbol);
    if (at == SIZE_MAX) {
        if (symbol_status)
            *symbol_status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        return symbol_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    }
    const struct bl_cu_proc *best = NULL;
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    for (; at < bl_cu_proc_count && !strcmp(bl_cu_procs[at].name, symbol); at++) {
        const struct bl_cu_proc *proc = &bl_cu_procs[at];
        if (proc->version > cuda_version || (proc->per_thread && !per_thread))
            continue;
        if (!best || proc->per_thread > best->per_thread || proc->version > best->version)
            best = proc;
    }
    if (symbol_status)
        *symbol_status = best ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    if (!best) /* what is wrong is told by the status where the caller asks for it: measured on an H200 */
        return symbol_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    memcpy(function, &best->function, sizeof(*function)); /* a function pointer in a data pointer, as POSIX allows */
    return CUDA_SUCCESS;
}

CUresult bl_cuGetProcAddress(const char *symbol, void **function, int cuda_version, cuuint64_t flags)
{
    return bl_cuGetProcAddress_v2(symbol, function, cuda_version, flags, NULL);
}
