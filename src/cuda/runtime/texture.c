/* Texture and surface objects, by the driver's. Views of a resource in another format are not there yet. */
#include "cuda/runtime/runtime.h"

static cudaError_t resource_of(const struct cudaResourceDesc *from, CUDA_RESOURCE_DESC *made)
{
    CUDA_ARRAY3D_DESCRIPTOR format;

    *made = (CUDA_RESOURCE_DESC){.flags = from->flags};
    switch (from->resType) {
    case cudaResourceTypeArray:
        made->resType = CU_RESOURCE_TYPE_ARRAY;
        made->res.array.hArray = (CUarray)from->res.array.array;
        return cudaSuccess;
    case cudaResourceTypeMipmappedArray:
        made->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
        made->res.mipmap.hMipmappedArray = (CUmipmappedArray)from->res.mipmap.mipmap;
        return cudaSuccess;
    case cudaResourceTypeLinear:
        if (!bl_rt_array_format(&from->res.linear.desc, &format))
            return cudaErrorInvalidChannelDescriptor;
        made->resType = CU_RESOURCE_TYPE_LINEAR;
        made->res.linear.devPtr = (CUdeviceptr)from->res.linear.devPtr;
        made->res.linear.format = format.Format;
        made->res.linear.numChannels = format.NumChannels;
        made->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
        return cudaSuccess;
    case cudaResourceTypePitch2D:
        if (!bl_rt_array_format(&from->res.pitch2D.desc, &format))
            return cudaErrorInvalidChannelDescriptor;
        made->resType = CU_RESOURCE_TYPE_PITCH2D;
        made->res.pitch2D.devPtr = (CUdeviceptr)from->res.pitch2D.devPtr;
        made->res.pitch2D.format = format.Format;
        made->res.pitch2D.numChannels = format.NumChannels;
        made->res.pitch2D.width = from->res.pitch2D.width;
        made->res.pitch2D.height = from->res.pitch2D.height;
        made->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
        return cudaSuccess;
    default:
        return cudaErrorNotSupported;
    }
}

static void resource_back(const CUDA_RESOURCE_DESC *from, struct cudaResourceDesc *made)
{
    *made = (struct cudaResourceDesc){.flags = from->flags};
    if (from->resType == CU_RESOURCE_TYPE_ARRAY) {
        made->resType = cudaResourceTypeArray;
        made->res.array.array = (cudaArray_t)from->res.array.hArray;
    } else if (from->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY) {
        made->resType = cudaResourceTypeMipmappedArray;
        made->res.mipmap.mipmap = (cudaMipmappedArray_t)from->res.mipmap.hMipmappedArray;
    } else if (from->resType == CU_RESOURCE_TYPE_LINEAR) {
        made->resType = cudaResourceTypeLinear;
        made->res.linear.devPtr = (void *)from->res.linear.devPtr;
        made->res.linear.desc = bl_rt_channel_desc(from->res.linear.format, from->res.linear.numChannels);
        made->res.linear.sizeInBytes = from->res.linear.sizeInBytes;
    } else {
        made->resType = cudaResourceTypePitch2D;
        made->res.pitch2D.devPtr = (void *)from->res.pitch2D.devPtr;
        made->res.pitch2D.desc = bl_rt_channel_desc(from->res.pitch2D.format, from->res.pitch2D.numChannels);
        made->res.pitch2D.width = from->res.pitch2D.width;
        made->res.pitch2D.height = from->res.pitch2D.height;
        made->res.pitch2D.pitchInBytes = from->res.pitch2D.pitchInBytes;
    }
}

/* The numbers of address modes and filters are the same in both. */
static void sampling_of(const struct cudaTextureDesc *from, CUDA_TEXTURE_DESC *made)
{
    *made = (CUDA_TEXTURE_DESC){.filterMode = (CUfilter_mode)from->filterMode,
                                .maxAnisotropy = from->maxAnisotropy,
                                .mipmapFilterMode = (CUfilter_mode)from->mipmapFilterMode,
                                .mipmapLevelBias = from->mipmapLevelBias,
                                .minMipmapLevelClamp = from->minMipmapLevelClamp,
                                .maxMipmapLevelClamp = from->maxMipmapLevelClamp};
    for (int n = 0; n < 3; n++)
        made->addressMode[n] = (CUaddress_mode)from->addressMode[n];
    memcpy(made->borderColor, from->borderColor, sizeof(made->borderColor));
    made->flags = (from->readMode == cudaReadModeElementType ? CU_TRSF_READ_AS_INTEGER : 0u) |
                  (from->normalizedCoords ? CU_TRSF_NORMALIZED_COORDINATES : 0u) | (from->sRGB ? CU_TRSF_SRGB : 0u);
}

static void sampling_back(const CUDA_TEXTURE_DESC *from, struct cudaTextureDesc *made)
{
    memset(made, 0, offsetof(struct cudaTextureDesc, seamlessCubemap)); /* runtime 11's ends there */
    for (int n = 0; n < 3; n++)
        made->addressMode[n] = (enum cudaTextureAddressMode)from->addressMode[n];
    made->filterMode = (enum cudaTextureFilterMode)from->filterMode;
    made->readMode = from->flags & CU_TRSF_READ_AS_INTEGER ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
    made->sRGB = !!(from->flags & CU_TRSF_SRGB);
    memcpy(made->borderColor, from->borderColor, sizeof(made->borderColor));
    made->normalizedCoords = !!(from->flags & CU_TRSF_NORMALIZED_COORDINATES);
    made->maxAnisotropy = from->maxAnisotropy;
    made->mipmapFilterMode = (enum cudaTextureFilterMode)from->mipmapFilterMode;
    made->mipmapLevelBias = from->mipmapLevelBias;
    made->minMipmapLevelClamp = from->minMipmapLevelClamp;
    made->maxMipmapLevelClamp = from->maxMipmapLevelClamp;
}

cudaError_t bl_rt_cudaCreateTextureObject(cudaTextureObject_t *object, const struct cudaResourceDesc *resource,
                                          const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
    CUDA_RESOURCE_DESC from;
    CUDA_TEXTURE_DESC sampling;

    if (!object || !resource || !texture)
        return cudaErrorInvalidValue;
    if (view && view->format != cudaResViewFormatNone)
        return cudaErrorNotSupported;
    BL_RT_ENTER();
    cudaError_t error = resource_of(resource, &from);
    if (error != cudaSuccess)
        return error;
    sampling_of(texture, &sampling);
    return bl_rt_error(cuTexObjectCreate(object, &from, &sampling, (const CUDA_RESOURCE_VIEW_DESC *)view));
}

cudaError_t bl_rt_cudaDestroyTextureObject(cudaTextureObject_t object)
{
    BL_RT_ENTER();
    return bl_rt_error(cuTexObjectDestroy(object));
}

cudaError_t bl_rt_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *resource, cudaTextureObject_t object)
{
    CUDA_RESOURCE_DESC found;
    BL_RT_ENTER();
    CUresult result = resource ? cuTexObjectGetResourceDesc(&found, object) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        resource_back(&found, resource);
    return bl_rt_error(result);
}

cudaError_t bl_rt_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *texture, cudaTextureObject_t object)
{
    CUDA_TEXTURE_DESC found;
    BL_RT_ENTER();
    CUresult result = texture ? cuTexObjectGetTextureDesc(&found, object) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        sampling_back(&found, texture);
    return bl_rt_error(result);
}

cudaError_t bl_rt_cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const struct cudaResourceDesc *resource)
{
    CUDA_RESOURCE_DESC from;

    if (!object || !resource)
        return cudaErrorInvalidValue;
    BL_RT_ENTER();
    cudaError_t error = resource_of(resource, &from);
    return error != cudaSuccess ? error : bl_rt_error(cuSurfObjectCreate(object, &from));
}

cudaError_t bl_rt_cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    BL_RT_ENTER();
    return bl_rt_error(cuSurfObjectDestroy(object));
}

cudaError_t bl_rt_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *resource, cudaSurfaceObject_t object)
{
    CUDA_RESOURCE_DESC found;
    BL_RT_ENTER();
    CUresult result = resource ? cuSurfObjectGetResourceDesc(&found, object) : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        resource_back(&found, resource);
    return bl_rt_error(result);
}

cudaError_t bl_rt_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *view, cudaTextureObject_t object)
{
    _Static_assert(sizeof(*view) == sizeof(CUDA_RESOURCE_VIEW_DESC), "the same fields");
    BL_RT_ENTER();
    return bl_rt_error(cuTexObjectGetResourceViewDesc((CUDA_RESOURCE_VIEW_DESC *)view, object));
}
