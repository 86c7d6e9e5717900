/* Devices: how many, what they are called, what they can do. */
#include "cuda/driver/driver.h"

#include <stdio.h>
#include <strings.h>

struct bl_cu_device *bl_cu_device(CUdevice ordinal)
{
    return ordinal >= 0 && ordinal < bl_cu_device_count ? &bl_cu_devices[ordinal] : NULL;
}

CUresult bl_cuDeviceGet(CUdevice *device, int ordinal)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_device(ordinal))
        return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetCount(int *count)
{
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = bl_cu_device_count;
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!name || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    snprintf(name, (size_t)len, "%s", device->device->props.name);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    memcpy(uuid->bytes, device->device->props.uuid, sizeof(uuid->bytes));
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return bl_cuDeviceGetUuid_v2(uuid, dev); /* they differ only where a device is split (MIG) */
}

CUresult bl_cuDeviceGetLuid(char *luid, unsigned int *device_node_mask, CUdevice dev)
{
    if (!bl_cu_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    return luid && device_node_mask ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE; /* Windows only */
}

CUresult bl_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *bytes = device->device->props.total_memory;
    return CUDA_SUCCESS;
}

/* Sizes of more than 2 GiB are reported as the largest int. */
static int clamp(int64_t value)
{
    return (int)BL_MIN(value, (int64_t)INT32_MAX);
}

int bl_cu_device_attribute(const struct bl_cu_device *device, CUdevice_attribute attribute, bool *known)
{
    const struct bl_device_props *props = &device->device->props;
    *known = true;
    switch (attribute) {
#define ATTRIBUTE(name, value)                                                                                                     \
    case CU_DEVICE_ATTRIBUTE_##name:                                                                                               \
        return clamp((int64_t)(value));
#include "cuda/driver/attributes.def"
#undef ATTRIBUTE
    default:
        *known = false;
        return 0;
    }
}

CUresult bl_cuDeviceGetAttribute(int *value, CUdevice_attribute attrib, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    bool known;
    int found = bl_cu_device_attribute(device, attrib, &known);
    if (!known)
        return CUDA_ERROR_INVALID_VALUE;
    *value = found;
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    const struct bl_device_props *props = &device->device->props;
    *prop = (CUdevprop){.maxThreadsPerBlock = props->max_threads_per_block,
                        .sharedMemPerBlock = clamp((int64_t)props->shared_per_block),
                        .totalConstantMemory = 65536,
                        .SIMDWidth = BL_WARP,
                        .memPitch = INT32_MAX,
                        .regsPerBlock = props->registers_per_block,
                        .clockRate = props->clock_khz,
                        .textureAlign = 512};
    memcpy(prop->maxThreadsDim, props->max_block_dim, sizeof(prop->maxThreadsDim));
    memcpy(prop->maxGridSize, props->max_grid_dim, sizeof(prop->maxGridSize));
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!major || !minor)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    *major = device->device->props.compute_major;
    *minor = device->device->props.compute_minor;
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetPCIBusId(char *pci_bus_id, int len, CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!pci_bus_id || len <= 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    const struct bl_device_props *props = &device->device->props;
    char text[32];
    int length = snprintf(text, sizeof(text), "%08x:%02x:%02x.0", (unsigned)props->pci_domain, (unsigned)props->pci_bus & 0xff,
                          (unsigned)props->pci_device & 0xff);
    const char *start = len > length ? text : text + 4; /* programs give 13 bytes for the form with four digits of domain */
    snprintf(pci_bus_id, (size_t)len, "%s", start);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pci_bus_id)
{
    unsigned domain = 0, bus, slot, function = 0;
    if (!dev || !pci_bus_id)
        return CUDA_ERROR_INVALID_VALUE;
    if (sscanf(pci_bus_id, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
        domain = 0;
        if (sscanf(pci_bus_id, "%x:%x.%x", &bus, &slot, &function) < 2)
            return CUDA_ERROR_INVALID_VALUE;
    }
    for (int i = 0; i < bl_cu_device_count; i++) {
        const struct bl_device_props *props = &bl_cu_devices[i].device->props;
        if ((unsigned)props->pci_domain == domain && (unsigned)props->pci_bus == bus && (unsigned)props->pci_device == slot) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult bl_cuDeviceGetTexture1DLinearMaxWidth(size_t *max_width_in_elements, CUarray_format format, unsigned num_channels,
                                               CUdevice dev)
{
    if (!max_width_in_elements || !num_channels || num_channels > 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *max_width_in_elements = (size_t)1 << 28;
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice dev)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!bl_cu_device(dev))
        return CUDA_ERROR_INVALID_DEVICE;
    *value = 0;
    return CUDA_SUCCESS;
}

/* ---- pairs of devices ---------------------------------------------------------------------- */

bool bl_cu_can_access_peer(const struct bl_cu_device *device, const struct bl_cu_device *peer)
{
    return device != peer && device->device->props.host_memory_is_device_memory && peer->device->props.host_memory_is_device_memory;
}

CUresult bl_cuDeviceCanAccessPeer(int *can_access_peer, CUdevice dev, CUdevice peer_dev)
{
    struct bl_cu_device *device = bl_cu_device(dev), *peer = bl_cu_device(peer_dev);
    if (!can_access_peer)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device || !peer)
        return CUDA_ERROR_INVALID_DEVICE;
    *can_access_peer = bl_cu_can_access_peer(device, peer);
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice src_device, CUdevice dst_device)
{
    struct bl_cu_device *from = bl_cu_device(src_device), *to = bl_cu_device(dst_device);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (!from || !to || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    switch ((int)attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = bl_cu_can_access_peer(from, to);
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* Which atomic operations work, and in what sizes. */
static CUresult atomic_capabilities(unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count)
{
    enum {
        WORDS = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED | CU_ATOMIC_CAPABILITY_SCALAR_32 |
                CU_ATOMIC_CAPABILITY_SCALAR_64,
        LARGE = CU_ATOMIC_CAPABILITY_SCALAR_128,
        FLOATS = CU_ATOMIC_CAPABILITY_SCALAR_32 | CU_ATOMIC_CAPABILITY_SCALAR_64,
    };
    if (!capabilities || !operations || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)operations[i] >= CU_ATOMIC_OPERATION_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        bool floats = operations[i] >= CU_ATOMIC_OPERATION_FLOAT_ADD;
        bool exchange = operations[i] == CU_ATOMIC_OPERATION_EXCHANGE || operations[i] == CU_ATOMIC_OPERATION_CAS;
        capabilities[i] = floats ? FLOATS : exchange ? WORDS | LARGE : WORDS;
    }
    return CUDA_SUCCESS;
}

CUresult bl_cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count,
                                             CUdevice src_device, CUdevice dst_device)
{
    struct bl_cu_device *from = bl_cu_device(src_device), *to = bl_cu_device(dst_device);
    if (!from || !to || from == to)
        return CUDA_ERROR_INVALID_DEVICE;
    return bl_cu_can_access_peer(from, to) ? atomic_capabilities(capabilities, operations, count) : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult bl_cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities, const CUatomicOperation *operations, unsigned int count,
                                              CUdevice dev)
{
    struct bl_cu_device *device = bl_cu_device(dev);
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!device->device->props.host_memory_is_device_memory)
        return CUDA_ERROR_NOT_SUPPORTED;
    return atomic_capabilities(capabilities, operations, count);
}

/* ---- small things ---------------------------------------------------------------------------- */

CUresult bl_cuProfilerInitialize(const char *config_file, const char *output_file, CUoutput_mode output_mode)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult bl_cuProfilerStart(void)
{
    struct bl_cu_context *context;
    return bl_cu_current_quiet(&context);
}

CUresult bl_cuProfilerStop(void)
{
    struct bl_cu_context *context;
    return bl_cu_current_quiet(&context);
}

CUresult bl_cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target, CUflushGPUDirectRDMAWritesScope scope)
{
    struct bl_cu_context *context;
    return bl_cu_current_quiet(&context); /* nothing writes past the processor's caches */
}
