/* Copies and fills of every kind, to and from variables and arrays too. Part of libcudart. */
#include "cuda/runtime/runtime.h"

static CUdeviceptr device_pointer(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* ---- lines ------------------------------------------------------------------------------------------ */

static CUresult copy_line(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    bool plain = wait && !stream; /* the driver's own synchronous call: it needs no stream */
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return plain ? cuMemcpyHtoD(device_pointer(to), from, size) : cuMemcpyHtoDAsync(device_pointer(to), from, size, stream);
    case cudaMemcpyDeviceToHost:
        return plain ? cuMemcpyDtoH(to, device_pointer(from), size) : cuMemcpyDtoHAsync(to, device_pointer(from), size, stream);
    case cudaMemcpyDeviceToDevice:
        return plain ? cuMemcpyDtoD(device_pointer(to), device_pointer(from), size)
                     : cuMemcpyDtoDAsync(device_pointer(to), device_pointer(from), size, stream);
    default:
        return plain ? cuMemcpy(device_pointer(to), device_pointer(from), size)
                     : cuMemcpyAsync(device_pointer(to), device_pointer(from), size, stream);
    }
}

static cudaError_t finish(CUresult result, CUstream stream, bool wait)
{
    if (result == CUDA_SUCCESS && wait)
        result = cuStreamSynchronize(stream);
    return bl_rt_error(result);
}

cudaError_t bl_rt_copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    BL_RT_ENTER();
    if (!size)
        return cudaSuccess;
    if (!to || !from)
        return cudaErrorInvalidValue;
    return finish(copy_line(to, from, size, kind, stream, wait), stream, wait && stream);
}

cudaError_t bl_rt_cudaMemcpy(CUstream default_stream, void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
    return bl_rt_copy(to, from, size, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return bl_rt_copy(to, from, size, kind, (CUstream)stream, false);
}

/* Between devices: one address space, so that the driver finds both. */
cudaError_t bl_rt_cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size, cudaStream_t stream)
{
    cudaError_t error = bl_rt_check_device(to_device);
    if (error == cudaSuccess)
        error = bl_rt_check_device(from_device);
    return error == cudaSuccess ? bl_rt_copy(to, from, size, cudaMemcpyDeviceToDevice, (CUstream)stream, false) : error;
}

cudaError_t bl_rt_cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t size)
{
    cudaError_t error = bl_rt_check_device(to_device);
    if (error == cudaSuccess)
        error = bl_rt_check_device(from_device);
    return error == cudaSuccess ? bl_rt_copy(to, from, size, cudaMemcpyDeviceToDevice, NULL, true) : error;
}

/* ---- variables ----------------------------------------------------------------------------------------- */

cudaError_t bl_rt_symbol_part(const void *symbol, size_t count, size_t offset, void **address)
{
    CUdeviceptr base = 0;
    size_t size = 0;
    cudaError_t error = bl_rt_symbol(symbol, &base, &size);
    if (error != cudaSuccess)
        return error;
    if (offset > size || count > size - offset)
        return cudaErrorInvalidValue;
    *address = (void *)(uintptr_t)(base + offset);
    return cudaSuccess;
}

static cudaError_t to_symbol(const void *symbol, const void *from, size_t count, size_t offset, enum cudaMemcpyKind kind,
                             CUstream stream, bool wait)
{
    void *address;
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = bl_rt_symbol_part(symbol, count, offset, &address);
    return error == cudaSuccess ? bl_rt_copy(address, from, count, kind, stream, wait) : error;
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind, CUstream stream,
                               bool wait)
{
    void *address;
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    cudaError_t error = bl_rt_symbol_part(symbol, count, offset, &address);
    return error == cudaSuccess ? bl_rt_copy(to, address, count, kind, stream, wait) : error;
}

cudaError_t bl_rt_cudaMemcpyToSymbol(CUstream default_stream, const void *symbol, const void *from, size_t count, size_t offset,
                                     enum cudaMemcpyKind kind)
{
    return to_symbol(symbol, from, count, offset, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t count, size_t offset,
                                          enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_symbol(symbol, from, count, offset, kind, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemcpyFromSymbol(CUstream default_stream, void *to, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind)
{
    return from_symbol(to, symbol, count, offset, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    return from_symbol(to, symbol, count, offset, kind, (CUstream)stream, false);
}

/* ---- boxes ----------------------------------------------------------------------------------------------- */

/* One side of a copy: memory or an array. */
struct side {
    const void *pointer;
    cudaArray_const_t array;
    size_t pitch, height; /* bytes a row, rows a slice (memory) */
    size_t x, y, z;       /* offset: x in bytes */
};

static CUmemorytype memory_type(const struct side *side, enum cudaMemcpyKind kind, bool is_source)
{
    if (side->array)
        return CU_MEMORYTYPE_ARRAY;
    if (kind == cudaMemcpyDefault)
        return CU_MEMORYTYPE_UNIFIED;
    bool host = kind == cudaMemcpyHostToHost || kind == (is_source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost);
    return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static cudaError_t make_box(const struct side *to, const struct side *from, size_t width, size_t height, size_t depth,
                            enum cudaMemcpyKind kind, CUDA_MEMCPY3D *box)
{
    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if ((!to->array && to->pitch < width && height * depth > 1) || (!from->array && from->pitch < width && height * depth > 1))
        return cudaErrorInvalidPitchValue;
    *box = (CUDA_MEMCPY3D){.srcXInBytes = from->x,
                           .srcY = from->y,
                           .srcZ = from->z,
                           .srcMemoryType = memory_type(from, kind, true),
                           .srcHost = from->pointer,
                           .srcDevice = device_pointer(from->pointer),
                           .srcArray = (CUarray)from->array,
                           .srcPitch = from->pitch,
                           .srcHeight = from->height,
                           .dstXInBytes = to->x,
                           .dstY = to->y,
                           .dstZ = to->z,
                           .dstMemoryType = memory_type(to, kind, false),
                           .dstHost = (void *)(uintptr_t)to->pointer,
                           .dstDevice = device_pointer(to->pointer),
                           .dstArray = (CUarray)to->array,
                           .dstPitch = to->pitch,
                           .dstHeight = to->height,
                           .WidthInBytes = width,
                           .Height = height,
                           .Depth = depth};
    return cudaSuccess;
}

static cudaError_t do_box(const CUDA_MEMCPY3D *box, CUstream stream, bool wait)
{
    CUresult result = wait && !stream ? cuMemcpy3D(box) : cuMemcpy3DAsync(box, stream);
    return finish(result, stream, wait && stream);
}

static cudaError_t copy_box(const struct side *to, const struct side *from, size_t width, size_t height, size_t depth,
                            enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D box;
    if ((unsigned)kind <= cudaMemcpyDefault && (!width || !height || !depth))
        return cudaSuccess;
    cudaError_t error = make_box(to, from, width, height, depth, kind, &box);
    return error == cudaSuccess ? do_box(&box, stream, wait) : error;
}

static cudaError_t copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    BL_RT_ENTER();
    if (width > to_pitch || width > from_pitch)
        return cudaErrorInvalidPitchValue;
    struct side a = {.pointer = to, .pitch = to_pitch, .height = height};
    struct side b = {.pointer = from, .pitch = from_pitch, .height = height};
    return copy_box(&a, &b, width, height, 1, kind, stream, wait);
}

cudaError_t bl_rt_cudaMemcpy2D(CUstream default_stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
                               size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                                    enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, (CUstream)stream, false);
}

/* Bytes of an array's element; 0: not an array. */
static size_t element_size(cudaArray_const_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    if (cuArray3DGetDescriptor(&descriptor, (CUarray)array) != CUDA_SUCCESS)
        return 0;
    switch (descriptor.Format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return descriptor.NumChannels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2 * (size_t)descriptor.NumChannels;
    default:
        return 4 * (size_t)descriptor.NumChannels;
    }
}

/* With an array the extent and offsets count its elements, else bytes. 0: not an array. */
static size_t unit_of(cudaArray_const_t to, cudaArray_const_t from)
{
    return from || to ? element_size(from ? from : to) : 1;
}

cudaError_t bl_rt_box(const struct cudaMemcpy3DParms *p, CUDA_MEMCPY3D *box)
{
    /* Exactly one of array and pointer on each side. */
    if (!p || !p->srcArray == !p->srcPtr.ptr || !p->dstArray == !p->dstPtr.ptr)
        return cudaErrorInvalidValue;
    size_t unit = unit_of(p->dstArray, p->srcArray);
    if (!unit)
        return cudaErrorInvalidResourceHandle;
    struct side to = {p->dstPtr.ptr, p->dstArray, p->dstPtr.pitch, p->dstPtr.ysize, p->dstPos.x * (p->dstArray ? unit : 1),
                      p->dstPos.y,   p->dstPos.z};
    struct side from = {p->srcPtr.ptr, p->srcArray, p->srcPtr.pitch, p->srcPtr.ysize, p->srcPos.x * (p->srcArray ? unit : 1),
                        p->srcPos.y,   p->srcPos.z};
    return make_box(&to, &from, p->extent.width * unit, p->extent.height, p->extent.depth, p->kind, box);
}

static bool is_host(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_HOST;
}

cudaError_t bl_rt_box_params(const CUDA_MEMCPY3D *box, struct cudaMemcpy3DParms *p)
{
    cudaArray_t from = box->srcMemoryType == CU_MEMORYTYPE_ARRAY ? (cudaArray_t)box->srcArray : NULL;
    cudaArray_t to = box->dstMemoryType == CU_MEMORYTYPE_ARRAY ? (cudaArray_t)box->dstArray : NULL;
    size_t unit = unit_of(to, from);
    if (!unit)
        return cudaErrorInvalidResourceHandle;
    bool any = box->srcMemoryType == CU_MEMORYTYPE_UNIFIED || box->dstMemoryType == CU_MEMORYTYPE_UNIFIED;
    *p = (struct cudaMemcpy3DParms){.srcArray = from,
                                    .srcPos = {box->srcXInBytes / (from ? unit : 1), box->srcY, box->srcZ},
                                    .dstArray = to,
                                    .dstPos = {box->dstXInBytes / (to ? unit : 1), box->dstY, box->dstZ},
                                    .extent = {box->WidthInBytes / unit, box->Height, box->Depth},
                                    .kind = any ? cudaMemcpyDefault
                                            : is_host(box->srcMemoryType)
                                                ? is_host(box->dstMemoryType) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
                                            : is_host(box->dstMemoryType) ? cudaMemcpyDeviceToHost
                                                                          : cudaMemcpyDeviceToDevice};
    void *source = is_host(box->srcMemoryType) ? (void *)(uintptr_t)box->srcHost : (void *)(uintptr_t)box->srcDevice;
    void *target = is_host(box->dstMemoryType) ? box->dstHost : (void *)(uintptr_t)box->dstDevice;
    if (!from)
        p->srcPtr = (struct cudaPitchedPtr){.ptr = source, .pitch = box->srcPitch, .ysize = box->srcHeight};
    if (!to)
        p->dstPtr = (struct cudaPitchedPtr){.ptr = target, .pitch = box->dstPitch, .ysize = box->dstHeight};
    return cudaSuccess;
}

static cudaError_t copy_3d(const struct cudaMemcpy3DParms *p, CUstream stream, bool wait)
{
    CUDA_MEMCPY3D box;
    if (!p)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    if (!p->extent.width || !p->extent.height || !p->extent.depth)
        return cudaSuccess;
    cudaError_t error = bl_rt_box(p, &box);
    return error == cudaSuccess ? do_box(&box, stream, wait) : error;
}

cudaError_t bl_rt_cudaMemcpy3D(CUstream default_stream, const struct cudaMemcpy3DParms *p)
{
    return copy_3d(p, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return copy_3d(p, (CUstream)stream, false);
}

static cudaError_t copy_3d_peer(const struct cudaMemcpy3DPeerParms *p, CUstream stream, bool wait)
{
    if (!p)
        return cudaErrorInvalidValue;
    struct cudaMemcpy3DParms plain = {.srcArray = p->srcArray,
                                      .srcPos = p->srcPos,
                                      .srcPtr = p->srcPtr,
                                      .dstArray = p->dstArray,
                                      .dstPos = p->dstPos,
                                      .dstPtr = p->dstPtr,
                                      .extent = p->extent,
                                      .kind = cudaMemcpyDeviceToDevice};
    return copy_3d(&plain, stream, wait);
}

cudaError_t bl_rt_cudaMemcpy3DPeer(CUstream default_stream, const struct cudaMemcpy3DPeerParms *p)
{
    return copy_3d_peer(p, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
    return copy_3d_peer(p, (CUstream)stream, false);
}

static cudaError_t to_array(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width, size_t height,
                            enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    BL_RT_ENTER();
    struct side a = {.array = to, .x = x, .y = y};
    struct side b = {.pointer = from, .pitch = pitch, .height = height};
    return copy_box(&a, &b, width, height, 1, kind, stream, wait);
}

static cudaError_t from_array(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width, size_t height,
                              enum cudaMemcpyKind kind, CUstream stream, bool wait)
{
    BL_RT_ENTER();
    struct side a = {.pointer = to, .pitch = pitch, .height = height};
    struct side b = {.array = from, .x = x, .y = y};
    return copy_box(&a, &b, width, height, 1, kind, stream, wait);
}

cudaError_t bl_rt_cudaMemcpy2DToArray(CUstream default_stream, cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch,
                                      size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return to_array(to, x, y, from, pitch, width, height, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                                           size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(to, x, y, from, pitch, width, height, kind, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemcpy2DFromArray(CUstream default_stream, void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                        size_t width, size_t height, enum cudaMemcpyKind kind)
{
    return from_array(to, pitch, from, x, y, width, height, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
                                             size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(to, pitch, from, x, y, width, height, kind, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemcpyToArray(CUstream default_stream, cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                    enum cudaMemcpyKind kind)
{
    return to_array(to, x, y, from, count, count, 1, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void *from, size_t count,
                                         enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return to_array(to, x, y, from, count, count, 1, kind, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemcpyFromArray(CUstream default_stream, void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                      enum cudaMemcpyKind kind)
{
    return from_array(to, count, from, x, y, count, 1, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyFromArrayAsync(void *to, cudaArray_const_t from, size_t x, size_t y, size_t count,
                                           enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(to, count, from, x, y, count, 1, kind, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemcpy2DArrayToArray(CUstream default_stream, cudaArray_t to, size_t to_x, size_t to_y,
                                           cudaArray_const_t from, size_t from_x, size_t from_y, size_t width, size_t height,
                                           enum cudaMemcpyKind kind)
{
    BL_RT_ENTER();
    struct side a = {.array = to, .x = to_x, .y = to_y}, b = {.array = from, .x = from_x, .y = from_y};
    return copy_box(&a, &b, width, height, 1, kind, default_stream, true);
}

cudaError_t bl_rt_cudaMemcpyArrayToArray(CUstream default_stream, cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                         size_t from_x, size_t from_y, size_t count, enum cudaMemcpyKind kind)
{
    return bl_rt_cudaMemcpy2DArrayToArray(default_stream, to, to_x, to_y, from, from_x, from_y, count, 1, kind);
}

/* ---- fills ----------------------------------------------------------------------------------------------- */

static cudaError_t fill(void *to, size_t pitch, int value, size_t width, size_t height, CUstream stream, bool wait)
{
    BL_RT_ENTER();
    if (!width || !height)
        return cudaSuccess;
    CUresult result = height == 1 ? cuMemsetD8Async(device_pointer(to), (unsigned char)value, width, stream)
                                  : cuMemsetD2D8Async(device_pointer(to), pitch, (unsigned char)value, width, height, stream);
    return finish(result, stream, wait);
}

cudaError_t bl_rt_cudaMemset(CUstream default_stream, void *to, int value, size_t count)
{
    BL_RT_ENTER();
    if (!count)
        return cudaSuccess;
    if (!default_stream)
        return bl_rt_error(cuMemsetD8(device_pointer(to), (unsigned char)value, count));
    return fill(to, count, value, count, 1, default_stream, true);
}

cudaError_t bl_rt_cudaMemsetAsync(void *to, int value, size_t count, cudaStream_t stream)
{
    return fill(to, count, value, count, 1, (CUstream)stream, false);
}

cudaError_t bl_rt_cudaMemset2D(CUstream default_stream, void *to, size_t pitch, int value, size_t width, size_t height)
{
    return fill(to, pitch, value, width, height, default_stream, true);
}

cudaError_t bl_rt_cudaMemset2DAsync(void *to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    return fill(to, pitch, value, width, height, (CUstream)stream, false);
}

/* Slices follow each other by pitch * ysize; where the extent is as high as the memory they are one plane. */
static cudaError_t fill_3d(struct cudaPitchedPtr to, int value, struct cudaExtent extent, CUstream stream, bool wait)
{
    cudaError_t error = cudaSuccess;
    size_t slices = extent.depth, rows = extent.height;
    if (extent.height == to.ysize) {
        rows *= slices;
        slices = slices ? 1 : 0;
    }
    for (size_t z = 0; z < slices && error == cudaSuccess; z++)
        error = fill((char *)to.ptr + z * to.pitch * to.ysize, to.pitch, value, extent.width, rows, stream, false);
    return error == cudaSuccess && wait ? bl_rt_error(cuStreamSynchronize(stream)) : error;
}

cudaError_t bl_rt_cudaMemset3D(CUstream default_stream, struct cudaPitchedPtr to, int value, struct cudaExtent extent)
{
    BL_RT_ENTER();
    return fill_3d(to, value, extent, default_stream, true);
}

cudaError_t bl_rt_cudaMemset3DAsync(struct cudaPitchedPtr to, int value, struct cudaExtent extent, cudaStream_t stream)
{
    BL_RT_ENTER();
    return fill_3d(to, value, extent, (CUstream)stream, false);
}

/* ---- arrays ------------------------------------------------------------------------------------------------ */

struct cudaChannelFormatDesc bl_rt_cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind kind)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}

bool bl_rt_array_format(const struct cudaChannelFormatDesc *desc, CUDA_ARRAY3D_DESCRIPTOR *made)
{
    made->NumChannels = !!desc->x + !!desc->y + !!desc->z + !!desc->w;
    bool right = desc->x && (!desc->y || desc->y == desc->x) && (!desc->z || (desc->z == desc->x && desc->y)) &&
                 (!desc->w || (desc->w == desc->x && desc->z)) && made->NumChannels != 3;
    bool is_signed = desc->f == cudaChannelFormatKindSigned, is_float = desc->f == cudaChannelFormatKindFloat;
    if (!right || (!is_signed && !is_float && desc->f != cudaChannelFormatKindUnsigned))
        return false;
    switch (desc->x) {
    case 8:
        made->Format = is_signed ? CU_AD_FORMAT_SIGNED_INT8 : CU_AD_FORMAT_UNSIGNED_INT8;
        return !is_float;
    case 16:
        made->Format = is_float ? CU_AD_FORMAT_HALF : is_signed ? CU_AD_FORMAT_SIGNED_INT16 : CU_AD_FORMAT_UNSIGNED_INT16;
        return true;
    case 32:
        made->Format = is_float ? CU_AD_FORMAT_FLOAT : is_signed ? CU_AD_FORMAT_SIGNED_INT32 : CU_AD_FORMAT_UNSIGNED_INT32;
        return true;
    }
    return false;
}

cudaError_t bl_rt_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                    unsigned int flags)
{
    CUDA_ARRAY3D_DESCRIPTOR made = {.Width = extent.width, .Height = extent.height, .Depth = extent.depth, .Flags = flags};
    if (!array || !desc)
        return cudaErrorInvalidValue;
    if (!bl_rt_array_format(desc, &made))
        return cudaErrorInvalidChannelDescriptor;
    BL_RT_ENTER();
    return bl_rt_error(cuArray3DCreate((CUarray *)array, &made));
}

cudaError_t bl_rt_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                                  unsigned int flags)
{
    return bl_rt_cudaMalloc3DArray(array, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t bl_rt_cudaFreeArray(cudaArray_t array)
{
    BL_RT_ENTER();
    return array ? bl_rt_error(cuArrayDestroy((CUarray)array)) : cudaSuccess;
}

struct cudaChannelFormatDesc bl_rt_channel_desc(CUarray_format format, unsigned channels)
{
    bool is_float = format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_HALF;
    bool is_signed =
        format == CU_AD_FORMAT_SIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT32;
    int bits = format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8                                    ? 8
               : format == CU_AD_FORMAT_UNSIGNED_INT16 || format == CU_AD_FORMAT_SIGNED_INT16 || format == CU_AD_FORMAT_HALF ? 16
                                                                                                                             : 32;
    return (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0, channels > 3 ? bits : 0,
                                          is_float    ? cudaChannelFormatKindFloat
                                          : is_signed ? cudaChannelFormatKindSigned
                                                      : cudaChannelFormatKindUnsigned};
}

cudaError_t bl_rt_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent, unsigned int *flags,
                                   cudaArray_t array)
{
    CUDA_ARRAY3D_DESCRIPTOR found;
    BL_RT_ENTER();
    CUresult result = cuArray3DGetDescriptor(&found, (CUarray)array);
    if (result != CUDA_SUCCESS)
        return bl_rt_error(result);
    if (extent)
        *extent = (struct cudaExtent){found.Width, found.Height, found.Depth};
    if (flags)
        *flags = found.Flags;
    if (!desc)
        return cudaSuccess;
    *desc = bl_rt_channel_desc(found.Format, found.NumChannels);
    return cudaSuccess;
}

cudaError_t bl_rt_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    return desc ? bl_rt_cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array) : cudaErrorInvalidValue;
}
