/* Copies and fills: every cuMemcpy and cuMemset, over the device's copy of a box and fill of a rectangle.
 *
 * What waits (CUDA driver API, "API synchronization behavior"): a call without Async waits where host memory takes part, not
 * between two places on the device. A call with Async must have taken what it needs of pageable host memory when it returns.
 */
#include "cuda/driver/driver.h"

enum { STAGE_MAX = 64 * 1024 }; /* bytes that an asynchronous copy from pageable memory may park */

enum place { PLACE_DEVICE, PLACE_PINNED, PLACE_PAGEABLE };

struct side {
    CUmemorytype type;
    uint64_t address, pitch, slice;
    enum place place;
    struct bl_cu_device *device; /* whose memory it is; NULL: the host's */
};

/* Where an address is, for a caller that may give any. */
static enum place place_of(uint64_t address)
{
    struct bl_cu_allocation found;
    if (!bl_cu_allocation_find(address, &found))
        return PLACE_PAGEABLE;
    return found.memory == BL_CU_HOST_MEMORY || found.memory == BL_CU_REGISTERED || found.memory == BL_CU_MANAGED ? PLACE_PINNED
                                                                                                                  : PLACE_DEVICE;
}

/* Last byte of a box + 1, relative to its first; false on overflow. */
static bool box_size(const struct bl_copy *copy, uint64_t pitch, uint64_t slice, uint64_t *size)
{
    uint64_t rows, slices;
    if (__builtin_mul_overflow(copy->height - 1, pitch, &rows) || __builtin_mul_overflow(copy->depth - 1, slice, &slices))
        return false;
    return !__builtin_add_overflow(rows, slices, size) && !__builtin_add_overflow(*size, copy->width, size);
}

static CUresult check_side(struct bl_cu_context *context, const struct bl_copy *copy, struct side *side)
{
    uint64_t size;
    struct bl_cu_allocation found;
    if (bl_cu_allocation_find(side->address, &found) && found.memory != BL_CU_HOST_MEMORY && found.memory != BL_CU_REGISTERED)
        side->device = found.device;
    if (!box_size(copy, side->pitch, side->slice, &size))
        return CUDA_ERROR_INVALID_VALUE;
    if (!side->address)
        return CUDA_ERROR_INVALID_VALUE;
    if (side->type == CU_MEMORYTYPE_HOST || side->type == CU_MEMORYTYPE_UNIFIED)
        side->place = place_of(side->address);
    if (side->type == CU_MEMORYTYPE_HOST)
        return CUDA_SUCCESS;
    if (side->type == CU_MEMORYTYPE_UNIFIED && side->place == PLACE_PAGEABLE) {
        struct bl_device *device = context->device->device;
        uint64_t base, length;
        enum bl_alloc_kind kind;
        if (device->ops->range(device, side->address, &base, &length, &kind) == BL_OK)
            side->place = PLACE_DEVICE;
        return CUDA_SUCCESS;
    }
    side->place = place_of(side->address) == PLACE_PINNED ? PLACE_PINNED : PLACE_DEVICE;
    return bl_cu_range_valid(context, side->address, size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static void free_stage(void *stage)
{
    bl_free(stage);
}

/* An asynchronous line from pageable memory: parks the bytes if the stream is busy. True: done, with *status. */
static bool copy_staged(struct bl_cu_stream *stream, const struct bl_copy *copy, enum bl_status *status)
{
    const struct bl_device_ops *ops = stream->context->device->device->ops;
    if (copy->height != 1 || copy->depth != 1 || copy->width > STAGE_MAX || ops->queue_query(stream->queue) != BL_NOT_READY)
        return false;
    void *stage = bl_malloc(copy->width);
    if (!stage)
        return false;
    memcpy(stage, (const void *)(uintptr_t)copy->from, copy->width);
    struct bl_copy parked = *copy;
    parked.from = (uint64_t)(uintptr_t)stage;
    *status = ops->copy(stream->queue, &parked);
    if (*status != BL_OK || ops->host_call(stream->queue, free_stage, stage) != BL_OK) {
        ops->queue_wait(stream->queue);
        bl_free(stage);
    }
    return true;
}

/* Checks both sides of a copy that is not empty, and fills it in. */
static CUresult check_copy(struct bl_cu_context *context, struct side *to, struct side *from, struct bl_copy *copy)
{
    CUresult result = check_side(context, copy, to);
    if (result == CUDA_SUCCESS)
        result = check_side(context, copy, from);
    copy->to = to->address;
    copy->from = from->address;
    copy->to_pitch = to->pitch;
    copy->from_pitch = from->pitch;
    copy->to_slice_pitch = to->slice;
    copy->from_slice_pitch = from->slice;
    return result;
}

static void capture_side(const struct side *side, CUmemorytype *type, const void **host, CUdeviceptr *device)
{
    *type = side->type;
    if (side->type == CU_MEMORYTYPE_HOST)
        *host = (const void *)(uintptr_t)side->address;
    else
        *device = side->address;
}

static CUresult capture_copy(struct bl_cu_stream *stream, const struct side *to, const struct side *from,
                             const struct bl_copy *copy)
{
    CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    CUDA_MEMCPY3D *box = &params.memcpy.copyParams;
    const void *host = NULL;
    if (!copy->width || !copy->height || !copy->depth)
        return CUDA_SUCCESS;
    params.memcpy.copyCtx = BL_CU_HANDLE(CUcontext, stream->context);
    capture_side(to, &box->dstMemoryType, &host, &box->dstDevice);
    box->dstHost = (void *)(uintptr_t)host;
    capture_side(from, &box->srcMemoryType, &box->srcHost, &box->srcDevice);
    box->dstPitch = to->pitch;
    box->srcPitch = from->pitch;
    box->dstHeight = to->pitch ? to->slice / to->pitch : 0;
    box->srcHeight = from->pitch ? from->slice / from->pitch : 0;
    box->WidthInBytes = copy->width;
    box->Height = copy->height;
    box->Depth = copy->depth;
    return bl_cu_capture_add(stream, &params, NULL);
}

/* A copy that is not asynchronous comes after what the devices of both sides do. True: one of them is another than the stream's,
 * and what is done there later has to find the copy done. */
static bool wait_for_peers(const struct bl_cu_context *context, const struct side *to, const struct side *from,
                           enum bl_status *status)
{
    struct bl_cu_device *const devices[] = {to->device, from->device};
    bool other = false;
    for (size_t i = 0; i < BL_LEN(devices); i++) {
        if (!devices[i] || devices[i] == context->device)
            continue;
        other = true;
        if (*status == BL_OK)
            *status = devices[i]->device->ops->device_wait(devices[i]->device);
    }
    return other;
}

/* The one way to a copy. async: as the call's name says. */
static CUresult copy_box(CUstream handle, bool async, struct side *to, struct side *from, struct bl_copy *copy)
{
    struct bl_cu_stream *stream = bl_cu_capturing(handle);
    if (stream && async)
        return capture_copy(stream, to, from, copy);
    CUresult result = bl_cu_stream_enter(handle, &stream);
    if (result == CUDA_SUCCESS && !async)
        result = bl_cu_capture_unsafe();
    if (result != CUDA_SUCCESS)
        return result;
    if (!copy->width || !copy->height || !copy->depth)
        return CUDA_SUCCESS;
    result = check_copy(stream->context, to, from, copy);
    if (result != CUDA_SUCCESS)
        return result;
    const struct bl_device_ops *ops = stream->context->device->device->ops;
    enum bl_status status = BL_OK;
    bool wait = async ? to->place == PLACE_PAGEABLE || from->place == PLACE_PAGEABLE
                      : to->place != PLACE_DEVICE || from->place != PLACE_DEVICE;
    if (wait && bl_cu_may_wait() != CUDA_SUCCESS)
        return CUDA_ERROR_NOT_PERMITTED;
    if (!async && bl_cu_device_count > 1 && bl_cu_may_wait() == CUDA_SUCCESS)
        wait |= wait_for_peers(stream->context, to, from, &status);
    if (status != BL_OK)
        return bl_cu_result(stream->context, status);
    if (async && from->place == PLACE_PAGEABLE && to->place != PLACE_PAGEABLE && copy_staged(stream, copy, &status))
        wait = false;
    else
        status = ops->copy(stream->queue, copy);
    bl_cu_stream_touched(stream);
    if (status == BL_OK && wait)
        status = ops->queue_wait(stream->queue);
    return bl_cu_result(stream->context, status);
}

static CUresult copy_line(CUstream stream, bool async, CUmemorytype to_type, uint64_t to_address, CUmemorytype from_type,
                          uint64_t from_address, size_t size)
{
    struct side to = {.type = to_type, .address = to_address}, from = {.type = from_type, .address = from_address};
    struct bl_copy copy = {.width = size, .height = 1, .depth = 1};
    return copy_box(stream, async, &to, &from, &copy);
}

/* ---- lines ------------------------------------------------------------------------------------- */

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))

CUresult bl_cuMemcpy(CUstream default_stream, CUdeviceptr dst, CUdeviceptr src, size_t byte_count)
{
    return copy_line(default_stream, false, CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count);
}

CUresult bl_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    return copy_line(stream, true, CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count);
}

CUresult bl_cuMemcpyHtoD_v2(CUstream default_stream, CUdeviceptr dst_device, const void *src_host, size_t byte_count)
{
    return copy_line(default_stream, false, CU_MEMORYTYPE_DEVICE, dst_device, CU_MEMORYTYPE_HOST, ADDRESS(src_host), byte_count);
}

CUresult bl_cuMemcpyHtoDAsync_v2(CUdeviceptr dst_device, const void *src_host, size_t byte_count, CUstream stream)
{
    return copy_line(stream, true, CU_MEMORYTYPE_DEVICE, dst_device, CU_MEMORYTYPE_HOST, ADDRESS(src_host), byte_count);
}

CUresult bl_cuMemcpyDtoH_v2(CUstream default_stream, void *dst_host, CUdeviceptr src_device, size_t byte_count)
{
    return copy_line(default_stream, false, CU_MEMORYTYPE_HOST, ADDRESS(dst_host), CU_MEMORYTYPE_DEVICE, src_device, byte_count);
}

CUresult bl_cuMemcpyDtoHAsync_v2(void *dst_host, CUdeviceptr src_device, size_t byte_count, CUstream stream)
{
    return copy_line(stream, true, CU_MEMORYTYPE_HOST, ADDRESS(dst_host), CU_MEMORYTYPE_DEVICE, src_device, byte_count);
}

CUresult bl_cuMemcpyDtoD_v2(CUstream default_stream, CUdeviceptr dst_device, CUdeviceptr src_device, size_t byte_count)
{
    return copy_line(default_stream, false, CU_MEMORYTYPE_DEVICE, dst_device, CU_MEMORYTYPE_DEVICE, src_device, byte_count);
}

CUresult bl_cuMemcpyDtoDAsync_v2(CUdeviceptr dst_device, CUdeviceptr src_device, size_t byte_count, CUstream stream)
{
    return copy_line(stream, true, CU_MEMORYTYPE_DEVICE, dst_device, CU_MEMORYTYPE_DEVICE, src_device, byte_count);
}

/* Between devices: where all of them use host memory an address means the same on each. */
static CUresult check_peers(CUcontext dst_context, CUcontext src_context)
{
    struct bl_cu_context *to = bl_cu_object(dst_context, BL_CU_CONTEXT), *from = bl_cu_object(src_context, BL_CU_CONTEXT);
    if (!to || !from)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (to->device != from->device &&
        !(to->device->device->props.host_memory_is_device_memory && from->device->device->props.host_memory_is_device_memory))
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult bl_cuMemcpyPeer(CUstream default_stream, CUdeviceptr dst_device, CUcontext dst_context, CUdeviceptr src_device,
                         CUcontext src_context, size_t byte_count)
{
    CUresult result = check_peers(dst_context, src_context);
    return result == CUDA_SUCCESS ? bl_cuMemcpyDtoD_v2(default_stream, dst_device, src_device, byte_count) : result;
}

CUresult bl_cuMemcpyPeerAsync(CUdeviceptr dst_device, CUcontext dst_context, CUdeviceptr src_device, CUcontext src_context,
                              size_t byte_count, CUstream stream)
{
    CUresult result = check_peers(dst_context, src_context);
    return result == CUDA_SUCCESS ? bl_cuMemcpyDtoDAsync_v2(dst_device, src_device, byte_count, stream) : result;
}

/* ---- lines of one-dimensional arrays -------------------------------------------------------------- */

/* The address of byte `offset` of an array's first row, or 0. */
static uint64_t array_line(CUarray handle, size_t offset, size_t size)
{
    struct bl_cu_array *array = bl_cu_object(handle, BL_CU_ARRAY);
    uint64_t row = array ? array->description.Width * array->element : 0;
    return array && offset <= row && size <= row - offset ? array->base + offset : 0;
}

CUresult bl_cuMemcpyDtoA_v2(CUstream default_stream, CUarray dst_array, size_t dst_offset, CUdeviceptr src_device,
                            size_t byte_count)
{
    uint64_t to = array_line(dst_array, dst_offset, byte_count);
    return to ? bl_cuMemcpyDtoD_v2(default_stream, to, src_device, byte_count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyAtoD_v2(CUstream default_stream, CUdeviceptr dst_device, CUarray src_array, size_t src_offset,
                            size_t byte_count)
{
    uint64_t from = array_line(src_array, src_offset, byte_count);
    return from ? bl_cuMemcpyDtoD_v2(default_stream, dst_device, from, byte_count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyHtoA_v2(CUstream default_stream, CUarray dst_array, size_t dst_offset, const void *src_host, size_t byte_count)
{
    uint64_t to = array_line(dst_array, dst_offset, byte_count);
    return to ? bl_cuMemcpyHtoD_v2(default_stream, to, src_host, byte_count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyAtoH_v2(CUstream default_stream, void *dst_host, CUarray src_array, size_t src_offset, size_t byte_count)
{
    uint64_t from = array_line(src_array, src_offset, byte_count);
    return from ? bl_cuMemcpyDtoH_v2(default_stream, dst_host, from, byte_count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyAtoA_v2(CUstream default_stream, CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset,
                            size_t byte_count)
{
    uint64_t to = array_line(dst_array, dst_offset, byte_count), from = array_line(src_array, src_offset, byte_count);
    return to && from ? bl_cuMemcpyDtoD_v2(default_stream, to, from, byte_count) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset, const void *src_host, size_t byte_count, CUstream stream)
{
    uint64_t to = array_line(dst_array, dst_offset, byte_count);
    return to ? bl_cuMemcpyHtoDAsync_v2(to, src_host, byte_count, stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult bl_cuMemcpyAtoHAsync_v2(void *dst_host, CUarray src_array, size_t src_offset, size_t byte_count, CUstream stream)
{
    uint64_t from = array_line(src_array, src_offset, byte_count);
    return from ? bl_cuMemcpyDtoHAsync_v2(dst_host, from, byte_count, stream) : CUDA_ERROR_INVALID_VALUE;
}

/* ---- rectangles and boxes ---------------------------------------------------------------------------- */

/* Fills in one side of a 2D or 3D copy; rows: of a slice, as the descriptor says. */
static CUresult make_side(struct side *side, CUmemorytype type, const void *host, CUdeviceptr device, CUarray array, size_t pitch,
                          size_t rows, size_t x, size_t y, size_t z, const struct bl_copy *copy)
{
    *side = (struct side){.type = type, .place = PLACE_DEVICE};
    side->pitch = pitch ? pitch : copy->width;
    side->slice = side->pitch * (rows ? rows : copy->height);
    if (type == CU_MEMORYTYPE_ARRAY) {
        struct bl_cu_array *object = bl_cu_object(array, BL_CU_ARRAY);
        if (!object)
            return CUDA_ERROR_INVALID_HANDLE;
        uint64_t height = BL_MAX(object->description.Height, 1), depth = BL_MAX(object->description.Depth, 1);
        uint64_t row = object->description.Width * object->element;
        if (x > row || copy->width > row - x || y > height || copy->height > height - y || z > depth || copy->depth > depth - z)
            return CUDA_ERROR_INVALID_VALUE;
        side->pitch = object->pitch;
        side->slice = object->slice;
        side->address = object->base;
        side->type = CU_MEMORYTYPE_DEVICE;
    } else if (type == CU_MEMORYTYPE_HOST) {
        side->address = ADDRESS(host);
    } else if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) {
        side->address = device;
    } else {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (side->pitch < copy->width && (copy->height > 1 || copy->depth > 1))
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEMORYTYPE_ARRAY && pitch && x + copy->width > pitch && copy->height > 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (side->address)
        side->address += x + y * side->pitch + z * side->slice;
    return CUDA_SUCCESS;
}

/* Both sides of a box and its size, looked up but not checked for their memory. */
static CUresult make_box(const CUDA_MEMCPY3D *box, struct side *to, struct side *from, struct bl_copy *copy)
{
    if (!box || box->srcLOD || box->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    *copy = (struct bl_copy){.width = box->WidthInBytes, .height = box->Height, .depth = box->Depth};
    CUresult result = make_side(to, box->dstMemoryType, box->dstHost, box->dstDevice, box->dstArray, box->dstPitch, box->dstHeight,
                                box->dstXInBytes, box->dstY, box->dstZ, copy);
    if (result == CUDA_SUCCESS)
        result = make_side(from, box->srcMemoryType, box->srcHost, box->srcDevice, box->srcArray, box->srcPitch, box->srcHeight,
                           box->srcXInBytes, box->srcY, box->srcZ, copy);
    return result;
}

static CUresult copy_3d(CUstream stream, bool async, const CUDA_MEMCPY3D *box)
{
    struct bl_copy copy;
    struct side to, from;
    CUresult result = make_box(box, &to, &from, &copy);
    return result == CUDA_SUCCESS ? copy_box(stream, async, &to, &from, &copy) : result;
}

CUresult bl_cu_copy_resolve(struct bl_cu_context *context, const CUDA_MEMCPY3D *box, struct bl_copy *copy)
{
    struct side to, from;
    CUresult result = make_box(box, &to, &from, copy);
    if (result != CUDA_SUCCESS || !copy->width || !copy->height || !copy->depth)
        return result;
    return check_copy(context, &to, &from, copy);
}

static CUresult copy_2d(CUstream stream, bool async, const CUDA_MEMCPY2D *box)
{
    if (!box)
        return CUDA_ERROR_INVALID_VALUE;
    struct bl_copy copy = {.width = box->WidthInBytes, .height = box->Height, .depth = 1};
    struct side to, from;
    to.place = from.place = PLACE_DEVICE;
    CUresult result = make_side(&to, box->dstMemoryType, box->dstHost, box->dstDevice, box->dstArray, box->dstPitch, 0,
                                box->dstXInBytes, box->dstY, 0, &copy);
    if (result == CUDA_SUCCESS)
        result = make_side(&from, box->srcMemoryType, box->srcHost, box->srcDevice, box->srcArray, box->srcPitch, 0,
                           box->srcXInBytes, box->srcY, 0, &copy);
    return result == CUDA_SUCCESS ? copy_box(stream, async, &to, &from, &copy) : result;
}

CUresult bl_cuMemcpy2D_v2(CUstream default_stream, const CUDA_MEMCPY2D *copy)
{
    return copy_2d(default_stream, false, copy);
}

CUresult bl_cuMemcpy2DUnaligned_v2(CUstream default_stream, const CUDA_MEMCPY2D *copy)
{
    return copy_2d(default_stream, false, copy);
}

CUresult bl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy_2d(stream, true, copy);
}

CUresult bl_cuMemcpy3D_v2(CUstream default_stream, const CUDA_MEMCPY3D *copy)
{
    return copy_3d(default_stream, false, copy);
}

CUresult bl_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy_3d(stream, true, copy);
}

static CUresult copy_3d_peer(CUstream stream, bool async, const CUDA_MEMCPY3D_PEER *copy)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_peers(copy->dstContext, copy->srcContext);
    if (result != CUDA_SUCCESS)
        return result;
    CUDA_MEMCPY3D box;
    _Static_assert(sizeof(box) == sizeof(*copy), "the two differ in the meaning of two fields only");
    memcpy(&box, copy, sizeof(box));
    box.reserved0 = box.reserved1 = NULL;
    return copy_3d(stream, async, &box);
}

CUresult bl_cuMemcpy3DPeer(CUstream default_stream, const CUDA_MEMCPY3D_PEER *copy)
{
    return copy_3d_peer(default_stream, false, copy);
}

CUresult bl_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return copy_3d_peer(stream, true, copy);
}

/* ---- fills -------------------------------------------------------------------------------------------------- */

CUresult bl_cu_fill_resolve(struct bl_cu_context *context, const CUDA_MEMSET_NODE_PARAMS_v2 *given, struct bl_fill *fill)
{
    uint64_t row, rest, size, width = given->width, height = given->height, pitch = given->pitch;
    unsigned each = given->elementSize;
    if (each != 1 && each != 2 && each != 4)
        return CUDA_ERROR_INVALID_VALUE;
    if (width && height &&
        (__builtin_mul_overflow(width, each, &row) || __builtin_mul_overflow(pitch, height - 1, &rest) ||
         __builtin_add_overflow(rest, row, &size) || (height > 1 && pitch < row) || given->dst % each ||
         (height > 1 && pitch % each) || !bl_cu_range_valid(context, given->dst, size)))
        return CUDA_ERROR_INVALID_VALUE;
    *fill = (struct bl_fill){
        .to = given->dst, .value = given->value, .value_size = each, .width = width, .height = height, .pitch = pitch};
    return CUDA_SUCCESS;
}

static CUresult fill(CUstream handle, CUdeviceptr address, size_t pitch, uint32_t value, uint32_t value_size, size_t width,
                     size_t height)
{
    struct bl_cu_stream *stream = bl_cu_capturing(handle);
    CUresult result = stream ? CUDA_SUCCESS : bl_cu_stream_enter(handle, &stream);
    if (result != CUDA_SUCCESS)
        return result;
    if (!width || !height)
        return CUDA_SUCCESS;
    CUDA_MEMSET_NODE_PARAMS_v2 given = {
        .dst = address, .pitch = pitch, .value = value, .elementSize = value_size, .width = width, .height = height};
    if (atomic_load_explicit(&stream->capture, memory_order_relaxed)) {
        CUgraphNodeParams params = {.type = CU_GRAPH_NODE_TYPE_MEMSET, .memset = given};
        params.memset.ctx = BL_CU_HANDLE(CUcontext, stream->context);
        return bl_cu_capture_add(stream, &params, NULL);
    }
    struct bl_fill request;
    result = bl_cu_fill_resolve(stream->context, &given, &request);
    if (result != CUDA_SUCCESS)
        return result;
    enum bl_status status = stream->context->device->device->ops->fill(stream->queue, &request);
    bl_cu_stream_touched(stream);
    return bl_cu_result(stream->context, status);
}

/* A fill of pinned host or managed memory without Async waits; of device memory it does not. */
static CUresult fill_now(CUstream handle, CUdeviceptr address, size_t pitch, uint32_t value, uint32_t value_size, size_t width,
                         size_t height)
{
    struct bl_cu_stream *stream;
    if (bl_cu_capturing(handle)) /* it may wait, and so is no part of a graph */
        return bl_cu_stream_enter(handle, &stream);
    CUresult result = fill(handle, address, pitch, value, value_size, width, height);
    if (result != CUDA_SUCCESS || place_of(address) == PLACE_DEVICE)
        return result;
    result = bl_cu_stream_find(handle, &stream);
    return result == CUDA_SUCCESS ? bl_cu_stream_wait(stream) : result;
}

CUresult bl_cuMemsetD8_v2(CUstream default_stream, CUdeviceptr dst_device, unsigned char uc, size_t n)
{
    return fill_now(default_stream, dst_device, 0, uc, 1, n, 1);
}

CUresult bl_cuMemsetD16_v2(CUstream default_stream, CUdeviceptr dst_device, unsigned short us, size_t n)
{
    return fill_now(default_stream, dst_device, 0, us, 2, n, 1);
}

CUresult bl_cuMemsetD32_v2(CUstream default_stream, CUdeviceptr dst_device, unsigned int ui, size_t n)
{
    return fill_now(default_stream, dst_device, 0, ui, 4, n, 1);
}

CUresult bl_cuMemsetD2D8_v2(CUstream default_stream, CUdeviceptr dst_device, size_t dst_pitch, unsigned char uc, size_t width,
                            size_t height)
{
    return fill_now(default_stream, dst_device, dst_pitch, uc, 1, width, height);
}

CUresult bl_cuMemsetD2D16_v2(CUstream default_stream, CUdeviceptr dst_device, size_t dst_pitch, unsigned short us, size_t width,
                             size_t height)
{
    return fill_now(default_stream, dst_device, dst_pitch, us, 2, width, height);
}

CUresult bl_cuMemsetD2D32_v2(CUstream default_stream, CUdeviceptr dst_device, size_t dst_pitch, unsigned int ui, size_t width,
                             size_t height)
{
    return fill_now(default_stream, dst_device, dst_pitch, ui, 4, width, height);
}

CUresult bl_cuMemsetD8Async(CUdeviceptr dst_device, unsigned char uc, size_t n, CUstream stream)
{
    return fill(stream, dst_device, 0, uc, 1, n, 1);
}

CUresult bl_cuMemsetD16Async(CUdeviceptr dst_device, unsigned short us, size_t n, CUstream stream)
{
    return fill(stream, dst_device, 0, us, 2, n, 1);
}

CUresult bl_cuMemsetD32Async(CUdeviceptr dst_device, unsigned int ui, size_t n, CUstream stream)
{
    return fill(stream, dst_device, 0, ui, 4, n, 1);
}

CUresult bl_cuMemsetD2D8Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned char uc, size_t width, size_t height,
                              CUstream stream)
{
    return fill(stream, dst_device, dst_pitch, uc, 1, width, height);
}

CUresult bl_cuMemsetD2D16Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned short us, size_t width, size_t height,
                               CUstream stream)
{
    return fill(stream, dst_device, dst_pitch, us, 2, width, height);
}

CUresult bl_cuMemsetD2D32Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned int ui, size_t width, size_t height,
                               CUstream stream)
{
    return fill(stream, dst_device, dst_pitch, ui, 4, width, height);
}
