/* cuGetExportTable: the private tables that NVIDIA's own runtime library asks the driver for.
 *
 * Programs link that runtime statically, so it can't be replaced; without these tables it gives up. What the tables hold was
 * found by watching the runtime and is documented publicly by the ZLUDA project (crate dark_api). Slot 0 holds a table's size
 * in bytes, but for the context-local storage.
 */
#include "cuda/driver/driver.h"

#include <unistd.h>

typedef void (*slot)(void);
#define SIZE(slots) ((slot)(uintptr_t)((slots) * sizeof(slot)))

/* ---- 6BD5FB6C: modules and the primary context ------------------------------------------------ */

static CUresult module_from_wrapper(CUmodule *module, const void *wrapper)
{
    return cuModuleLoadData(module, wrapper);
}

static CUresult module_from_wrapper_more(CUmodule *module, const void *wrapper, void *unknown1, void *unknown2, uint32_t unknown3)
{
    if (unknown1 || unknown2 || unknown3)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuModuleLoadData(module, wrapper);
}

static CUresult module_from_header(const void *header, CUmodule *module, void *unknown1, void *unknown2, uint32_t unknown3)
{
    return module_from_wrapper_more(module, header, unknown1, unknown2, unknown3);
}

static CUresult primary_context(CUcontext *context, CUdevice ordinal)
{
    struct bl_cu_device *device = bl_cu_device(ordinal);
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    struct bl_cu_context *primary;
    CUresult result = bl_cu_primary_retain(device, &primary);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&device->lock); /* it is handed out without being counted */
    device->retained--;
    pthread_mutex_unlock(&device->lock);
    *context = BL_CU_HANDLE(CUcontext, primary);
    return CUDA_SUCCESS;
}

static void nothing(void)
{
}

static CUresult load_compilers(void)
{
    return CUDA_SUCCESS;
}

static slot runtime_table[13] = {SIZE(13),
                                 (slot)module_from_wrapper,
                                 (slot)primary_context,
                                 nothing,
                                 nothing,
                                 nothing,
                                 (slot)module_from_wrapper_more,
                                 nothing,
                                 (slot)module_from_header,
                                 nothing,
                                 nothing,
                                 nothing,
                                 (slot)load_compilers};

/* ---- C693336E: context-local storage ------------------------------------------------------------ */

static CUresult storage_put(CUcontext handle, void *key, void *value, void (*destructor)(CUcontext, void *, void *))
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(handle, &context);
    if (result != CUDA_SUCCESS)
        return result;
    struct bl_cu_storage *fresh = bl_malloc(sizeof(*fresh)), *entry;
    if (!fresh)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&context->lock);
    for (entry = context->storage; entry && entry->key != key; entry = entry->next)
        ;
    if (!entry) {
        entry = fresh;
        fresh = NULL;
        entry->key = key;
        entry->next = context->storage;
        context->storage = entry;
    }
    entry->value = value;
    entry->destructor = destructor;
    pthread_mutex_unlock(&context->lock);
    bl_free(fresh);
    return CUDA_SUCCESS;
}

static CUresult storage_delete(CUcontext handle, void *key)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(handle, &context);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&context->lock);
    struct bl_cu_storage **at = &context->storage, *found;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&context->lock);
    bl_free(found);
    return CUDA_SUCCESS;
}

static CUresult storage_get(void **value, CUcontext handle, void *key)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_context_of(handle, &context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    result = CUDA_ERROR_INVALID_HANDLE; /* what a missing key must give */
    pthread_mutex_lock(&context->lock);
    for (struct bl_cu_storage *entry = context->storage; entry; entry = entry->next)
        if (entry->key == key) {
            *value = entry->value;
            result = CUDA_SUCCESS;
            break;
        }
    pthread_mutex_unlock(&context->lock);
    return result;
}

static slot storage_table[4] = {(slot)storage_put, (slot)storage_delete, (slot)storage_get, nothing};

/* ---- tools -------------------------------------------------------------------------------------- */

static uint32_t tool_buffer1[1024], tool_buffer2[14];

static void get_tool_buffer1(void **buffer, size_t *size)
{
    *buffer = tool_buffer1;
    *size = BL_LEN(tool_buffer1);
}

static void get_tool_buffer2(void **buffer, size_t *size)
{
    *buffer = tool_buffer2;
    *size = BL_LEN(tool_buffer2);
}

static slot callback_table[7] = {SIZE(7), nothing, (slot)get_tool_buffer1, nothing, nothing, nothing, (slot)get_tool_buffer2};
static slot tool_storage_table[4] = {SIZE(4), nothing, nothing, nothing};

static CUresult check_context(CUcontext context, uint32_t *result, const void **more)
{
    if (result)
        *result = 0;
    return CUDA_SUCCESS;
}

static uint32_t check_nothing(void)
{
    return 0;
}

static slot check_table[4] = {SIZE(4), nothing, (slot)check_context, (slot)check_nothing};

/* ---- 0CA50B8C: older runtimes ---------------------------------------------------------------------- */

static CUresult create_context(CUcontext *context, unsigned flags, CUdevice device)
{
    return cuCtxCreate_v2(context, flags, device);
}

static slot create_table[2] = {SIZE(2), (slot)create_context};

/* ---- D4082055: the check value ------------------------------------------------------------------------ */

static CUresult check_value(uint32_t version, uint64_t seconds, uint64_t result[2]);
static slot value_table[3] = {SIZE(3), (slot)check_value, nothing};

/* What is hashed, in the order and layout that the runtime uses on its side. */
struct check_input {
    uint32_t driver_version, version, process, thread;
    const void *runtime_table, *value_table;
    slot function;
    uint64_t seconds;
};
struct check_device {
    uint8_t uuid[16];
    int32_t domain, bus, device;
};

static void add_input(struct bl_md2 *md2, uint32_t version, uint64_t seconds)
{
    struct check_input input = {.driver_version = BL_CU_VERSION,
                                .version = version,
                                .process = (uint32_t)getpid(),
                                .thread = (uint32_t)pthread_self(),
                                .runtime_table = runtime_table,
                                .value_table = value_table,
                                .function = value_table[1],
                                .seconds = seconds};
    bl_md2_add(md2, &input, sizeof(input));
    for (int i = 0; i < bl_cu_device_count; i++) {
        const struct bl_device_props *props = &bl_cu_devices[i].device->props;
        struct check_device device = {.domain = props->pci_domain, .bus = props->pci_bus, .device = props->pci_device};
        memcpy(device.uuid, props->uuid, sizeof(device.uuid));
        bl_md2_add(md2, &device, sizeof(device));
    }
}

/* HMAC with MD2 over the input; versions that end in 0 and 1 have fixed answers. */
static CUresult check_value(uint32_t version, uint64_t seconds, uint64_t result[2])
{
    static const uint8_t key[16] = {0x14, 0x6A, 0xDD, 0xAE, 0x53, 0xA9, 0xA7, 0x52, 0xAA, 0x08, 0x41, 0x36, 0x0B, 0xF5, 0x5A, 0x9F};
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    if (version % 10 < 2) {
        result[0] = version % 10 ? 0x1841181C03CB675C : 0x3341181C03CB675C;
        result[1] = 0x8ED383AA1F4CD1E8;
        return CUDA_SUCCESS;
    }
    uint8_t pad[16], digest[16];
    struct bl_md2 md2;
    bl_md2_start(&md2);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] = key[i] ^ 0x36;
    bl_md2_add(&md2, pad, sizeof(pad));
    add_input(&md2, version, seconds);
    bl_md2_finish(&md2, digest);
    bl_md2_start(&md2);
    for (size_t i = 0; i < sizeof(pad); i++)
        pad[i] = key[i] ^ 0x5c;
    bl_md2_add(&md2, pad, sizeof(pad));
    bl_md2_add(&md2, digest, sizeof(digest));
    bl_md2_finish(&md2, digest);
    memcpy(result, digest, sizeof(digest));
    return CUDA_SUCCESS;
}

/* ---- the list ------------------------------------------------------------------------------------------- */

static const struct {
    uint8_t id[16];
    const void *table;
} tables[] = {
    {{0x6B, 0xD5, 0xFB, 0x6C, 0x5B, 0xF4, 0xE7, 0x4A, 0x89, 0x87, 0xD9, 0x39, 0x12, 0xFD, 0x9D, 0xF9}, runtime_table},
    {{0xC6, 0x93, 0x33, 0x6E, 0x11, 0x21, 0xDF, 0x11, 0xA8, 0xC3, 0x68, 0xF3, 0x55, 0xD8, 0x95, 0x93}, storage_table},
    {{0xA0, 0x94, 0x79, 0x8C, 0x2E, 0x74, 0x2E, 0x74, 0x93, 0xF2, 0x08, 0x00, 0x20, 0x0C, 0x0A, 0x66}, callback_table},
    {{0x42, 0xD8, 0x5A, 0x81, 0x23, 0xF6, 0xCB, 0x47, 0x82, 0x98, 0xF6, 0xE7, 0x8A, 0x3A, 0xEC, 0xDC}, tool_storage_table},
    {{0x26, 0x3E, 0x88, 0x60, 0x7C, 0xD2, 0x61, 0x43, 0x92, 0xF6, 0xBB, 0xD5, 0x00, 0x6D, 0xFA, 0x7E}, check_table},
    {{0xD4, 0x08, 0x20, 0x55, 0xBD, 0xE6, 0x70, 0x4B, 0x8D, 0x34, 0xBA, 0x12, 0x3C, 0x66, 0xE1, 0xF2}, value_table},
    {{0x0C, 0xA5, 0x0B, 0x8C, 0x10, 0x04, 0x92, 0x9A, 0x89, 0xA7, 0xD0, 0xDF, 0x10, 0xE7, 0x72, 0x86}, create_table},
};

CUresult bl_cuGetExportTable(const void **pp_export_table, const CUuuid *export_table_id)
{
    if (!pp_export_table || !export_table_id)
        return CUDA_ERROR_INVALID_VALUE;
    *pp_export_table = NULL;
    for (size_t i = 0; i < BL_LEN(tables); i++)
        if (!memcmp(export_table_id->bytes, tables[i].id, sizeof(tables[i].id))) {
            *pp_export_table = tables[i].table;
            return CUDA_SUCCESS;
        }
    const uint8_t *id = (const uint8_t *)export_table_id->bytes;
    bl_info("cuGetExportTable: no table %02X%02X%02X%02X-%02X%02X-%02X%02X-…", id[0], id[1], id[2], id[3], id[4], id[5], id[6],
            id[7]);
    return CUDA_ERROR_NOT_FOUND;
}
