// Mipmapped arrays: levels that kernels fill as surfaces, a texture of all of them read at whole levels and between two, and a view
// of some of them.
#include "check.h"

enum { WIDTH = 32, HEIGHT = 16, LEVELS = 4 };

__global__ void fill(cudaSurfaceObject_t surface, int width, int height, float value)
{
    int x = threadIdx.x, y = threadIdx.y;
    if (x < width && y < height)
        surf2Dwrite(value + x, surface, x * 4, y);
}

__global__ void read(cudaTextureObject_t texture, float u, float v, float level, float *out)
{
    *out = tex2DLod<float>(texture, u, v, level);
}

static cudaMipmappedArray_t mipmap;
static float *out;

static float at(cudaTextureObject_t texture, float u, float v, float level)
{
    read<<<1, 1>>>(texture, u, v, level, out);
    CHECK(cudaDeviceSynchronize());
    return *out;
}

static cudaTextureObject_t texture_of(cudaTextureFilterMode between, const cudaResourceViewDesc *view)
{
    cudaTextureObject_t texture;
    cudaResourceDesc resource = {};
    cudaTextureDesc sampling = {};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmap;
    sampling.normalizedCoords = 1;
    sampling.filterMode = cudaFilterModePoint;
    sampling.mipmapFilterMode = between;
    sampling.addressMode[0] = sampling.addressMode[1] = cudaAddressModeClamp;
    sampling.maxMipmapLevelClamp = LEVELS - 1;
    CHECK(cudaCreateTextureObject(&texture, &resource, &sampling, view));
    return texture;
}

int main()
{
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocMipmappedArray(&mipmap, &format, make_cudaExtent(WIDTH, HEIGHT, 0), LEVELS, cudaArraySurfaceLoadStore));
    out = managed<float>(1);
    for (int i = 0; i < LEVELS; i++) {
        cudaResourceDesc resource = {};
        cudaSurfaceObject_t surface;
        cudaExtent extent;
        CHECK(cudaGetMipmappedArrayLevel(&resource.res.array.array, mipmap, i));
        CHECK(cudaArrayGetInfo(NULL, &extent, NULL, resource.res.array.array));
        REQUIRE(extent.width == WIDTH >> i && extent.height == HEIGHT >> i);
        CHECK(cudaCreateSurfaceObject(&surface, &resource));
        fill<<<1, dim3(WIDTH, HEIGHT)>>>(surface, WIDTH >> i, HEIGHT >> i, 100.0f * i);
        CHECK(cudaDestroySurfaceObject(surface));
    }
    cudaTextureObject_t nearest = texture_of(cudaFilterModePoint, NULL), linear = texture_of(cudaFilterModeLinear, NULL);
    for (int i = 0; i < LEVELS; i++)
        REQUIRE(at(nearest, 0.51f, 0.3f, i) == 100.0f * i + (WIDTH >> i) / 2);
    REQUIRE(at(nearest, 0.0f, 0.3f, 2.25f) == 200.0f);
    REQUIRE(at(linear, 0.0f, 0.3f, 1.5f) == 150.0f);
    REQUIRE(at(linear, 0.0f, 0.3f, 9.0f) == 300.0f); /* the last there is */
    cudaResourceViewDesc view = {}, found = {};
    view.width = WIDTH / 2;
    view.height = HEIGHT / 2;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    cudaTextureObject_t some = texture_of(cudaFilterModePoint, &view);
    REQUIRE(at(some, 0.0f, 0.3f, 0.0f) == 100.0f);
    REQUIRE(at(some, 0.0f, 0.3f, 3.0f) == 200.0f);
    CHECK(cudaGetTextureObjectResourceViewDesc(&found, some));
    REQUIRE(found.lastMipmapLevel == 2);
    CHECK(cudaDestroyTextureObject(some));
    CHECK(cudaDestroyTextureObject(nearest));
    CHECK(cudaDestroyTextureObject(linear));
    cudaArray_t level;
    EXPECT(cudaGetMipmappedArrayLevel(&level, mipmap, LEVELS), cudaErrorInvalidValue);
    cudaGetLastError();
    CHECK(cudaFreeMipmappedArray(mipmap));
    return finish();
}
