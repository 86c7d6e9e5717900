/* A thread's state, the way into a context, errors. Part of libcudart. */
#include "cuda/runtime/runtime.h"

__thread cudaError_t bl_rt_last_error;

static __thread int thread_device;     /* cudaSetDevice's choice */
static __thread unsigned thread_epoch; /* the epoch at which this thread last attached */
static atomic_uint epoch = 1;          /* raised by every device reset */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[64]; /* retained once a process, until the device's reset */

cudaError_t bl_rt_missing(const char *function, atomic_bool *said)
{
    if (!atomic_exchange(said, true))
        bl_error_log("%s is not supported yet; it answers cudaErrorNotSupported", function);
    return cudaErrorNotSupported;
}

cudaError_t bl_rt_refused(const char *function, cudaError_t code, const char *reason, atomic_bool *said)
{
    if (!atomic_exchange(said, true))
        bl_warn("%s is refused: %s", function, reason);
    return code;
}

cudaError_t bl_rt_init(void)
{
    return bl_rt_error(cuInit(0));
}

static cudaError_t attach(int device)
{
    cudaError_t error = bl_rt_check_device(device);
    if (error != cudaSuccess)
        return error;
    unsigned now = atomic_load(&epoch);
    pthread_mutex_lock(&lock);
    CUresult result = CUDA_SUCCESS;
    if (!primary[device])
        result = cuDevicePrimaryCtxRetain(&primary[device], device);
    CUcontext context = primary[device];
    pthread_mutex_unlock(&lock);
    if (result == CUDA_SUCCESS)
        result = cuCtxSetCurrent(context);
    if (result == CUDA_SUCCESS)
        thread_epoch = now;
    return bl_rt_error(result);
}

/* The current context is one that the program made current itself, or a primary one from before a reset. Of an active primary one
 * the runtime takes its own share, so that it outlives the program's release. False: attach anew. */
static bool adopt(CUcontext context)
{
    CUdevice device;
    CUcontext found = NULL;
    unsigned flags;
    int active = 0;
    unsigned now = atomic_load(&epoch);
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS || device < 0 || device >= (int)BL_LEN(primary))
        return false;
    bool kept = true;
    pthread_mutex_lock(&lock);
    if (!primary[device] && cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active &&
        cuDevicePrimaryCtxRetain(&found, device) == CUDA_SUCCESS) {
        if (found == context)
            primary[device] = found;
        else
            cuDevicePrimaryCtxRelease(device);
    } else if (!primary[device]) {
        kept = cuCtxGetFlags(&flags) == CUDA_SUCCESS; /* made by cuCtxCreate and alive */
    }
    pthread_mutex_unlock(&lock);
    if (kept)
        thread_epoch = now;
    return kept;
}

cudaError_t bl_rt_enter(void)
{
    CUcontext context = NULL;
    if (__builtin_expect(cuCtxGetCurrent(&context) == CUDA_SUCCESS && context, 1)) {
        if (__builtin_expect(thread_epoch == atomic_load_explicit(&epoch, memory_order_relaxed), 1) || adopt(context))
            return cudaSuccess;
    }
    return attach(thread_device);
}

int bl_rt_device(void)
{
    CUdevice device;
    CUcontext context = NULL;
    if (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context && cuCtxGetDevice(&device) == CUDA_SUCCESS)
        return device;
    return thread_device;
}

cudaError_t bl_rt_check_device(int device)
{
    int count = 0;
    cudaError_t error = bl_rt_init();
    if (error != cudaSuccess)
        return error;
    CUresult result = cuDeviceGetCount(&count);
    if (result != CUDA_SUCCESS)
        return bl_rt_error(result);
    if (count == 0)
        return cudaErrorNoDevice;
    return device < 0 || device >= count || device >= (int)BL_LEN(primary) ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t bl_rt_cudaSetDevice(int device)
{
    cudaError_t error = bl_rt_check_device(device);
    if (error != cudaSuccess)
        return error;
    thread_device = device;
    return attach(device);
}

cudaError_t bl_rt_cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
    cudaError_t error = bl_rt_check_device(device);
    if (error != cudaSuccess)
        return error;
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid)
        return cudaErrorInvalidValue;
    CUcontext before = NULL;
    cuCtxGetCurrent(&before);
    if (flags & cudaInitDeviceFlagsAreValid)
        error = bl_rt_error(cuDevicePrimaryCtxSetFlags(device, device_flags));
    if (error == cudaSuccess)
        error = attach(device);
    cuCtxSetCurrent(before);
    return error;
}

cudaError_t bl_rt_cudaGetDevice(int *device)
{
    if (!device)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_check_device(0);
    if (error != cudaSuccess)
        return error;
    *device = bl_rt_device();
    return cudaSuccess;
}

cudaError_t bl_rt_cudaDeviceReset(void)
{
    cudaError_t error = bl_rt_check_device(0);
    if (error != cudaSuccess)
        return error;
    int device = bl_rt_device();
    pthread_mutex_lock(&lock);
    CUresult result = cuDevicePrimaryCtxReset(device);
    if (primary[device])
        cuDevicePrimaryCtxRelease(device);
    primary[device] = NULL;
    atomic_fetch_add(&epoch, 1);
    pthread_mutex_unlock(&lock);
    cuCtxSetCurrent(NULL);
    bl_rt_last_error = cudaSuccess;
    return bl_rt_error(result);
}

cudaError_t bl_rt_cudaThreadExit(void)
{
    return bl_rt_cudaDeviceReset();
}

/* ---- errors ----------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaGetLastError(void)
{
    cudaError_t error = bl_rt_last_error;
    bl_rt_last_error = cudaSuccess;
    return error;
}

cudaError_t bl_rt_cudaPeekAtLastError(void)
{
    return bl_rt_last_error;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define ERROR(name, text) {name, #name, text},
#include "cuda/runtime/errors.def"
#undef ERROR
};

const char *bl_rt_cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < BL_LEN(errors); i++)
        if (errors[i].error == error)
            return errors[i].name;
    return "unrecognized error code";
}

const char *bl_rt_cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < BL_LEN(errors); i++) {
        const char *text = errors[i].text;
        if (errors[i].error == error && (text || cuGetErrorString((CUresult)error, &text) == CUDA_SUCCESS))
            return text;
    }
    return "unrecognized error code";
}

/* ---- versions and entry points ------------------------------------------------------------------ */

cudaError_t bl_rt_cudaDriverGetVersion(int *version)
{
    return version ? bl_rt_error(cuDriverGetVersion(version)) : cudaErrorInvalidValue;
}

cudaError_t bl_rt_cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return cudaErrorInvalidValue;
    *version = bl_rt_version;
    return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **function, int version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *status)
{
    if (!symbol || !function)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_init();
    if (error != cudaSuccess)
        return error;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress(symbol, function, version, flags, &found);
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    /* A name that isn't there is told by *status, with success, where the caller asks for it. */
    return result == CUDA_ERROR_NOT_FOUND && status ? cudaSuccess : bl_rt_error(result);
}

cudaError_t bl_rt_cudaGetDriverEntryPoint(CUstream default_stream, const char *symbol, void **function, unsigned long long flags,
                                          enum cudaDriverEntryPointQueryResult *status)
{
    if (default_stream && flags == cudaEnableDefault)
        flags = cudaEnablePerThreadDefaultStream;
    return entry_point(symbol, function, bl_rt_version, flags, status);
}

cudaError_t bl_rt_cudaGetDriverEntryPointByVersion(CUstream default_stream, const char *symbol, void **function,
                                                   unsigned int version, unsigned long long flags,
                                                   enum cudaDriverEntryPointQueryResult *status)
{
    if (default_stream && flags == cudaEnableDefault)
        flags = cudaEnablePerThreadDefaultStream;
    return entry_point(symbol, function, (int)version, flags, status);
}

cudaError_t bl_rt_cudaGetExportTable(const void **table, const cudaUUID_t *id)
{
    if (!table || !id)
        return cudaErrorInvalidValue;
    return bl_rt_error(cuGetExportTable(table, (const CUuuid *)id));
}

cudaError_t bl_rt_cudaProfilerStart(void)
{
    BL_RT_ENTER();
    return cudaSuccess;
}

cudaError_t bl_rt_cudaProfilerStop(void)
{
    BL_RT_ENTER();
    return cudaSuccess;
}

cudaError_t bl_rt_cudaProfilerInitialize(const char *config, const char *output, int mode)
{
    return cudaErrorNotSupported; /* as NVIDIA's 11.x answers on current devices */
}
