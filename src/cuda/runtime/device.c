/* Devices: counting, properties, attributes, limits, peers. Part of libcudart. */
#include "cuda/runtime/runtime.h"

cudaError_t bl_rt_cudaGetDeviceCount(int *count)
{
    if (!count)
        return cudaErrorInvalidValue;
    *count = 0;
    cudaError_t error = bl_rt_init();
    if (error != cudaSuccess)
        return error;
    CUresult result = cuDeviceGetCount(count);
    return result == CUDA_SUCCESS && *count == 0 ? cudaErrorNoDevice : bl_rt_error(result);
}

cudaError_t bl_rt_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    cudaError_t error = value ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device)) : error;
}

/* ---- properties ---------------------------------------------------------------------------------- */

static int attribute(int device, CUdevice_attribute which)
{
    int value = 0;
    return cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

#define NAMES(prop)                                                                                                                \
    do {                                                                                                                           \
        cuDeviceGetName((prop)->name, sizeof((prop)->name), device);                                                               \
        cuDeviceGetUuid((CUuuid *)&(prop)->uuid, device);                                                                          \
        cuDeviceGetLuid((prop)->luid, &(prop)->luidDeviceNodeMask, device);                                                        \
        cuDeviceTotalMem(&(prop)->totalGlobalMem, device);                                                                         \
    } while (0)

static void fill_11(struct bl_rt_prop_11 *prop, int device)
{
    NAMES(prop);
#define P(field, name) prop->field = (__typeof__(prop->field))attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#define P2(field, i, name) prop->field[i] = attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#define OLD(field, name) P(field, name)
#define NEW(field, name)
#include "cuda/runtime/props.def"
#undef P
#undef P2
#undef OLD
#undef NEW
}

cudaError_t bl_rt_cudaGetDeviceProperties_11(struct bl_rt_prop_11 *prop, int device)
{
    cudaError_t error = prop ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    memset(prop, 0, sizeof(*prop));
    fill_11(prop, device);
    return cudaSuccess;
}

cudaError_t bl_rt_cudaGetDeviceProperties_v2(struct bl_rt_prop_12 *prop, int device)
{
    cudaError_t error = prop ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    memset(prop, 0, sizeof(*prop));
    fill_11(&prop->base, device);
#define P(field, name)
#define P2(field, i, name)
#define OLD(field, name)
#define NEW(field, name) prop->field = (__typeof__(prop->field))attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#include "cuda/runtime/props.def"
#undef P
#undef P2
#undef OLD
#undef NEW
    return cudaSuccess;
}

cudaError_t bl_rt_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t error = prop ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    memset(prop, 0, sizeof(*prop));
    NAMES(prop);
#define P(field, name) prop->field = (__typeof__(prop->field))attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#define P2(field, i, name) prop->field[i] = attribute(device, CU_DEVICE_ATTRIBUTE_##name);
#define OLD(field, name)
#define NEW(field, name) P(field, name)
#include "cuda/runtime/props.def"
#undef P
#undef P2
#undef OLD
#undef NEW
    prop->deviceNumaId = prop->hostNumaId = -1;
    return cudaSuccess;
}

/* The device that fits best: the one that has at least what is asked for, else the first. */
static cudaError_t choose(int *device, int major, int minor, size_t memory)
{
    int count;
    cudaError_t error = device ? bl_rt_cudaGetDeviceCount(&count) : cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return error;
    *device = 0;
    for (int i = 0; i < count; i++) {
        size_t total = 0;
        cuDeviceTotalMem(&total, i);
        int has = attribute(i, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                  attribute(i, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        if (has >= major * 10 + minor && total >= memory) {
            *device = i;
            return cudaSuccess;
        }
    }
    return cudaSuccess;
}

cudaError_t bl_rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    return prop ? choose(device, prop->major, prop->minor, prop->totalGlobalMem) : cudaErrorInvalidValue;
}

cudaError_t bl_rt_cudaChooseDevice_11(int *device, const struct bl_rt_prop_11 *prop)
{
    return prop ? choose(device, prop->major, prop->minor, prop->totalGlobalMem) : cudaErrorInvalidValue;
}

cudaError_t bl_rt_cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    cudaError_t error = bl_rt_check_device(device);
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetPCIBusId(id, size, device)) : error;
}

cudaError_t bl_rt_cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetByPCIBusId(device, id)) : error;
}

cudaError_t bl_rt_cudaDeviceGetTexture1DLinearMaxWidth(size_t *width, const struct cudaChannelFormatDesc *desc, int device)
{
    cudaError_t error = width && desc ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *width = (size_t)attribute(device, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    return error;
}

/* ---- state of the current device -------------------------------------------------------------------- */

cudaError_t bl_rt_cudaDeviceSynchronize(void)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxSynchronize());
}

cudaError_t bl_rt_cudaThreadSynchronize(void)
{
    return bl_rt_cudaDeviceSynchronize();
}

cudaError_t bl_rt_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxSetLimit((CUlimit)limit, value));
}

cudaError_t bl_rt_cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxGetLimit(value, (CUlimit)limit));
}

cudaError_t bl_rt_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
    return bl_rt_cudaDeviceSetLimit(limit, value);
}

cudaError_t bl_rt_cudaThreadGetLimit(size_t *value, enum cudaLimit limit)
{
    return bl_rt_cudaDeviceGetLimit(value, limit);
}

cudaError_t bl_rt_cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxGetCacheConfig((CUfunc_cache *)config));
}

cudaError_t bl_rt_cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxSetCacheConfig((CUfunc_cache)config));
}

cudaError_t bl_rt_cudaThreadGetCacheConfig(enum cudaFuncCache *config)
{
    return bl_rt_cudaDeviceGetCacheConfig(config);
}

cudaError_t bl_rt_cudaThreadSetCacheConfig(enum cudaFuncCache config)
{
    return bl_rt_cudaDeviceSetCacheConfig(config);
}

cudaError_t bl_rt_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxGetSharedMemConfig((CUsharedconfig *)config));
}

cudaError_t bl_rt_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxSetSharedMemConfig((CUsharedconfig)config));
}

cudaError_t bl_rt_cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxGetStreamPriorityRange(least, greatest));
}

cudaError_t bl_rt_cudaCtxResetPersistingL2Cache(void)
{
    BL_RT_ENTER();
    return bl_rt_error(cuCtxResetPersistingL2Cache());
}

cudaError_t bl_rt_cudaSetDeviceFlags(unsigned int flags)
{
    if (flags & ~(unsigned)cudaDeviceMask)
        return cudaErrorInvalidValue;
    cudaError_t error = bl_rt_check_device(0);
    return error == cudaSuccess ? bl_rt_error(cuDevicePrimaryCtxSetFlags(bl_rt_device(), flags & cudaDeviceScheduleMask)) : error;
}

cudaError_t bl_rt_cudaGetDeviceFlags(unsigned int *flags)
{
    if (!flags)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = bl_rt_error(cuCtxGetFlags(flags));
    if (error == cudaSuccess)
        *flags |= cudaDeviceMapHost; /* always set on 64-bit systems */
    return error;
}

cudaError_t bl_rt_cudaSetValidDevices(int *devices, int count)
{
    int have;
    cudaError_t error = bl_rt_cudaGetDeviceCount(&have);
    if (error != cudaSuccess)
        return error;
    if (count < 0 || count > have || (count && !devices))
        return cudaErrorInvalidValue;
    for (int i = 0; i < count; i++)
        if (devices[i] < 0 || devices[i] >= have)
            return cudaErrorInvalidDevice;
    return cudaSuccess;
}

/* ---- peers ---------------------------------------------------------------------------------------------- */

cudaError_t bl_rt_cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    cudaError_t error = can ? bl_rt_check_device(device) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = bl_rt_check_device(peer);
    return error == cudaSuccess ? bl_rt_error(cuDeviceCanAccessPeer(can, device, peer)) : error;
}

cudaError_t bl_rt_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr which, int source, int destination)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetP2PAttribute(value, (CUdevice_P2PAttribute)which, source, destination))
                                : error;
}

/* The peer's primary context. */
static cudaError_t peer_call(int peer, CUresult (*call)(CUcontext))
{
    CUcontext context;
    BL_RT_ENTER();
    cudaError_t error = bl_rt_check_device(peer);
    if (error != cudaSuccess)
        return error;
    CUresult result = cuDevicePrimaryCtxRetain(&context, peer);
    if (result != CUDA_SUCCESS)
        return bl_rt_error(result);
    result = call(context);
    cuDevicePrimaryCtxRelease(peer);
    return bl_rt_error(result);
}

static CUresult enable(CUcontext context)
{
    return cuCtxEnablePeerAccess(context, 0);
}

cudaError_t bl_rt_cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    return flags ? cudaErrorInvalidValue : peer_call(peer, enable);
}

cudaError_t bl_rt_cudaDeviceDisablePeerAccess(int peer)
{
    return peer_call(peer, cuCtxDisablePeerAccess);
}

cudaError_t bl_rt_cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                                     enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    BL_RT_ENTER();
    return bl_rt_error(
        cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)target, (CUflushGPUDirectRDMAWritesScope)scope));
}

/* ---- atomic operations ------------------------------------------------------------------------------------ */

cudaError_t bl_rt_cudaDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
                                                      unsigned int count, int device)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess
               ? bl_rt_error(cuDeviceGetHostAtomicCapabilities(capabilities, (const CUatomicOperation *)operations, count, device))
               : error;
}

cudaError_t bl_rt_cudaDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const enum cudaAtomicOperation *operations,
                                                     unsigned int count, int src_device, int dst_device)
{
    cudaError_t error = bl_rt_init();
    return error == cudaSuccess ? bl_rt_error(cuDeviceGetP2PAtomicCapabilities(capabilities, (const CUatomicOperation *)operations,
                                                                               count, src_device, dst_device))
                                : error;
}
