/* Texture and surface objects: from CUDA's descriptions to the device's (struct bl_texture). The handle is the device's own number,
 * which kernels are given; what a program may ask back of an object is kept here in a list.
 */
#include "cuda/driver/driver.h"

struct object {
    struct object *next;
    uint64_t handle;
    struct bl_cu_context *context;
    struct bl_device *device;
    bool surface, has_view;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects;

/* ---- descriptions --------------------------------------------------------------------------------- */

static bool texel_of(CUarray_format format, unsigned channels, struct bl_texture *made)
{
    static const struct {
        CUarray_format format;
        enum bl_texel texel;
    } texels[] = {
        {CU_AD_FORMAT_UNSIGNED_INT8, BL_TEXEL_U8},   {CU_AD_FORMAT_SIGNED_INT8, BL_TEXEL_S8},
        {CU_AD_FORMAT_UNSIGNED_INT16, BL_TEXEL_U16}, {CU_AD_FORMAT_SIGNED_INT16, BL_TEXEL_S16},
        {CU_AD_FORMAT_UNSIGNED_INT32, BL_TEXEL_U32}, {CU_AD_FORMAT_SIGNED_INT32, BL_TEXEL_S32},
        {CU_AD_FORMAT_HALF, BL_TEXEL_F16},           {CU_AD_FORMAT_FLOAT, BL_TEXEL_F32},
    };
    if (channels != 1 && channels != 2 && channels != 4)
        return false;
    made->channels = channels;
    for (size_t n = 0; n < BL_LEN(texels); n++)
        if (texels[n].format == format) {
            made->format = texels[n].texel;
            return true;
        }
    return false;
}

static unsigned texel_bytes(const struct bl_texture *texture)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    return sizes[texture->format] * texture->channels;
}

static CUresult from_array(CUarray handle, struct bl_texture *made)
{
    struct bl_cu_array *array = bl_cu_object(handle, BL_CU_ARRAY);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    const CUDA_ARRAY3D_DESCRIPTOR *d = &array->description;
    bool layered = d->Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    uint64_t depth = BL_MAX(d->Depth, 1);
    if (!texel_of(d->Format, d->NumChannels, made) || d->Width > UINT32_MAX || d->Height > UINT32_MAX || depth > UINT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    made->layers = layered ? (uint32_t)depth : 1;
    made->level_count = 1;
    made->levels[0] = (struct bl_texture_level){.base = array->base,
                                                .pitch = array->pitch,
                                                .slice = array->slice,
                                                .width = (uint32_t)d->Width,
                                                .height = (uint32_t)BL_MAX(d->Height, 1),
                                                .depth = layered ? 1 : (uint32_t)depth};
    return CUDA_SUCCESS;
}

/* view: NULL, or which levels of it. */
static CUresult from_mipmap(CUmipmappedArray handle, const CUDA_RESOURCE_VIEW_DESC *view, struct bl_texture *made)
{
    struct bl_cu_mipmap *mipmap = bl_cu_object(handle, BL_CU_MIPMAP);
    if (!mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    uint32_t first = 0, last = mipmap->count - 1;
    if (view && (view->firstMipmapLevel || view->lastMipmapLevel)) {
        first = view->firstMipmapLevel;
        last = view->lastMipmapLevel;
    }
    if (first > last || last >= mipmap->count)
        return CUDA_ERROR_INVALID_VALUE;
    for (uint32_t i = last + 1; i-- > first;) {
        CUresult result = from_array(mipmap->levels[i], made); /* as its level 0 */
        if (result != CUDA_SUCCESS)
            return result;
        made->levels[i - first] = made->levels[0];
    }
    made->level_count = last - first + 1;
    return CUDA_SUCCESS;
}

static CUresult from_memory(struct bl_cu_context *context, const CUDA_RESOURCE_DESC *r, struct bl_texture *made)
{
    bool pitched = r->resType == CU_RESOURCE_TYPE_PITCH2D;
    uint64_t base = pitched ? r->res.pitch2D.devPtr : r->res.linear.devPtr, width, height = 1, pitch = 0, bytes;

    if (!texel_of(pitched ? r->res.pitch2D.format : r->res.linear.format,
                  pitched ? r->res.pitch2D.numChannels : r->res.linear.numChannels, made))
        return CUDA_ERROR_INVALID_VALUE;
    unsigned size = texel_bytes(made);
    if (pitched) {
        width = r->res.pitch2D.width;
        height = r->res.pitch2D.height;
        pitch = r->res.pitch2D.pitchInBytes;
    } else {
        width = r->res.linear.sizeInBytes / size;
    }
    if (!base || base % size || !width || !height || width > UINT32_MAX || height > UINT32_MAX || (pitched && pitch < width * size))
        return CUDA_ERROR_INVALID_VALUE;
    if (__builtin_mul_overflow(height - 1, pitch, &bytes) || __builtin_add_overflow(bytes, width * size, &bytes) ||
        !bl_cu_range_valid(context, base, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    made->buffer = !pitched;
    made->layers = made->level_count = 1;
    made->levels[0] =
        (struct bl_texture_level){.base = base, .pitch = pitch, .width = (uint32_t)width, .height = (uint32_t)height, .depth = 1};
    return CUDA_SUCCESS;
}

static bool sampling(const CUDA_TEXTURE_DESC *d, struct bl_texture *made)
{
    for (int n = 0; n < 3; n++) {
        if (d->addressMode[n] > CU_TR_ADDRESS_MODE_BORDER)
            return false;
        made->address[n] = (enum bl_texture_address)d->addressMode[n]; /* the same numbers */
    }
    if (d->filterMode > CU_TR_FILTER_MODE_LINEAR || d->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return false;
    made->linear = d->filterMode == CU_TR_FILTER_MODE_LINEAR;
    made->level_linear = d->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR;
    made->normalized_coordinates = d->flags & CU_TRSF_NORMALIZED_COORDINATES;
    made->normalized_read = !(d->flags & CU_TRSF_READ_AS_INTEGER);
    made->srgb = d->flags & CU_TRSF_SRGB;
    memcpy(made->border, d->borderColor, sizeof(made->border));
    made->level_bias = d->mipmapLevelBias;
    made->level_min = d->minMipmapLevelClamp;
    made->level_max = d->maxMipmapLevelClamp;
    return true;
}

/* ---- objects ---------------------------------------------------------------------------------------- */

static CUresult create(struct bl_cu_context *context, const struct bl_texture *texture, const struct object *what,
                       unsigned long long *handle)
{
    struct bl_device *device = context->device->device;
    struct bl_error error = BL_ERROR_INIT;
    struct object *object;

    if (!device->ops->texture_create)
        return CUDA_ERROR_NOT_SUPPORTED;
    object = bl_calloc(1, sizeof(*object));
    if (!object)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *object = *what;
    object->context = context;
    object->device = device;
    enum bl_status status = device->ops->texture_create(device, texture, &object->handle, &error);
    if (status != BL_OK) {
        bl_free(object);
        return bl_cu_result(context, status);
    }
    pthread_mutex_lock(&lock);
    object->next = objects;
    objects = object;
    pthread_mutex_unlock(&lock);
    *handle = object->handle;
    return CUDA_SUCCESS;
}

/* Lock held. Where the object of a context hangs in the list; points to NULL: none. */
static struct object **find(const struct bl_cu_context *context, unsigned long long handle, bool surface)
{
    struct object **at = &objects;
    while (*at && ((*at)->handle != handle || (*at)->surface != surface || (*at)->device != context->device->device))
        at = &(*at)->next;
    return at;
}

static CUresult destroy(unsigned long long handle, bool surface)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    pthread_mutex_lock(&lock);
    struct object **at = find(context, handle, surface), *object = *at;
    if (object)
        *at = object->next;
    pthread_mutex_unlock(&lock);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    bl_cu_synchronize(context); /* kernels that were given it */
    object->device->ops->texture_destroy(object->device, handle);
    bl_free(object);
    return CUDA_SUCCESS;
}

/* A copy of what stands at `offset` in the object. */
static CUresult describe(unsigned long long handle, bool surface, size_t offset, size_t size, void *to)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!to)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct object *object = *find(context, handle, surface);
    if (object)
        memcpy(to, (const char *)object + offset, size);
    pthread_mutex_unlock(&lock);
    return object ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

void bl_cu_textures_drop(struct bl_cu_context *context)
{
    pthread_mutex_lock(&lock);
    for (struct object **at = &objects; *at;) {
        struct object *object = *at;
        if (object->context != context) {
            at = &object->next;
            continue;
        }
        *at = object->next;
        object->device->ops->texture_destroy(object->device, object->handle);
        bl_free(object);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- the API ------------------------------------------------------------------------------------------- */

CUresult bl_cuTexObjectCreate(CUtexObject *tex_object, const CUDA_RESOURCE_DESC *res_desc, const CUDA_TEXTURE_DESC *tex_desc,
                              const CUDA_RESOURCE_VIEW_DESC *res_view_desc)
{
    struct bl_cu_context *context;
    struct bl_texture texture = {.surface = false};
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!tex_object || !res_desc || !tex_desc)
        return CUDA_ERROR_INVALID_VALUE;
    if (res_view_desc && res_view_desc->format)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (res_desc->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY)
        result = from_mipmap(res_desc->res.mipmap.hMipmappedArray, res_view_desc, &texture);
    else if (res_desc->resType == CU_RESOURCE_TYPE_ARRAY)
        result = from_array(res_desc->res.array.hArray, &texture);
    else if (res_desc->resType == CU_RESOURCE_TYPE_LINEAR || res_desc->resType == CU_RESOURCE_TYPE_PITCH2D)
        result = from_memory(context, res_desc, &texture);
    else
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS || !sampling(tex_desc, &texture))
        return result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE;
    struct object what = {.resource = *res_desc, .texture = *tex_desc};
    if (res_view_desc) {
        what.view = *res_view_desc;
        what.has_view = true;
    }
    return create(context, &texture, &what, tex_object);
}

CUresult bl_cuTexObjectDestroy(CUtexObject tex_object)
{
    return destroy(tex_object, false);
}

CUresult bl_cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *res_desc, CUtexObject tex_object)
{
    return describe(tex_object, false, offsetof(struct object, resource), sizeof(*res_desc), res_desc);
}

CUresult bl_cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *tex_desc, CUtexObject tex_object)
{
    return describe(tex_object, false, offsetof(struct object, texture), sizeof(*tex_desc), tex_desc);
}

CUresult bl_cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *res_view_desc, CUtexObject tex_object)
{
    bool has = false;
    CUresult result = describe(tex_object, false, offsetof(struct object, has_view), sizeof(has), &has);
    if (result == CUDA_SUCCESS && !has)
        return CUDA_ERROR_INVALID_VALUE;
    return result != CUDA_SUCCESS
               ? result
               : describe(tex_object, false, offsetof(struct object, view), sizeof(*res_view_desc), res_view_desc);
}

CUresult bl_cuSurfObjectCreate(CUsurfObject *surf_object, const CUDA_RESOURCE_DESC *res_desc)
{
    struct bl_cu_context *context;
    struct bl_texture texture = {.surface = true};
    CUresult result = bl_cu_current(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (!surf_object || !res_desc || res_desc->resType != CU_RESOURCE_TYPE_ARRAY)
        return CUDA_ERROR_INVALID_VALUE;
    result = from_array(res_desc->res.array.hArray, &texture);
    struct object what = {.surface = true, .resource = *res_desc};
    return result != CUDA_SUCCESS ? result : create(context, &texture, &what, surf_object);
}

CUresult bl_cuSurfObjectDestroy(CUsurfObject surf_object)
{
    return destroy(surf_object, true);
}

CUresult bl_cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *res_desc, CUsurfObject surf_object)
{
    return describe(surf_object, true, offsetof(struct object, resource), sizeof(*res_desc), res_desc);
}
