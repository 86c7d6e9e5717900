/* The part of NVML's interface that this library implements: values and structs as NVIDIA documents them. Only src/cuda/nvml
 * includes it. */
#ifndef BAILEY_CUDA_NVML_H
#define BAILEY_CUDA_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bl_nvml_result {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_UNKNOWN = 999,
};

enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };
enum { NVML_BUS_TYPE_UNKNOWN = 0 };

struct bl_nvml_pci {
    char busIdLegacy[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
};
struct bl_nvml_pci_v2 {
    char busId[16];
    unsigned domain, bus, device, pciDeviceId, pciSubSystemId, reserved[4];
};
struct bl_nvml_pci_v1 {
    char busId[16];
    unsigned domain, bus, device, pciDeviceId;
};
struct bl_nvml_memory {
    unsigned long long total, free, used;
};
struct bl_nvml_memory_v2 {
    unsigned version; /* size of the struct, and 2 << 24 */
    unsigned long long total, reserved, free, used;
};
struct bl_nvml_utilization {
    unsigned gpu, memory; /* percent */
};
struct bl_nvml_process_v1 {
    unsigned pid;
    unsigned long long usedGpuMemory;
};
struct bl_nvml_process {
    unsigned pid;
    unsigned long long usedGpuMemory;
    unsigned gpuInstanceId, computeInstanceId;
};
struct bl_nvml_process_sample {
    unsigned pid;
    unsigned long long timeStamp; /* microseconds */
    unsigned smUtil, memUtil, encUtil, decUtil;
};

/* What every entry point asks first (nvml.c): NVML_ERROR_UNINITIALIZED before nvmlInit. */
enum bl_nvml_result bl_nvml_ready(void);

#endif
