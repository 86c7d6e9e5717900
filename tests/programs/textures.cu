// Texture and surface objects: addressing, filtering, reading as numbers or as 0 to 1, linear memory, layers, cube maps, surfaces.
#include "check.h"

enum { W = 8, H = 4 };

static cudaTextureObject_t texture(cudaArray_t array, cudaTextureAddressMode address, cudaTextureFilterMode filter,
                                   cudaTextureReadMode read, bool normalized)
{
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {};
    cudaTextureObject_t made;
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    for (int n = 0; n < 3; n++)
        description.addressMode[n] = address;
    description.filterMode = filter;
    description.readMode = read;
    description.normalizedCoords = normalized;
    CHECK(cudaCreateTextureObject(&made, &resource, &description, NULL));
    return made;
}

__global__ void sample(cudaTextureObject_t t, const float2 *at, float *out)
{
    out[threadIdx.x] = tex2D<float>(t, at[threadIdx.x].x, at[threadIdx.x].y);
}

// What tex2D gives at each place.
static void expect(const char *what, cudaTextureObject_t t, const float2 *at, const float *want, int count)
{
    float2 *places = managed<float2>(32);
    float *got = managed<float>(32);
    memcpy(places, at, count * sizeof(float2));
    sample<<<1, count>>>(t, places, got);
    CHECK(cudaDeviceSynchronize());
    same(what, got, want, count);
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFree(places));
    CHECK(cudaFree(got));
}

// Texel x, y holds 16 y + x.
static void test_addressing(void)
{
    float texels[H][W];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    for (int n = 0; n < W * H; n++)
        texels[n / W][n % W] = n / W * 16 + n % W;
    CHECK(cudaMallocArray(&array, &format, W, H));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels, sizeof(texels[0]), sizeof(texels[0]), H, cudaMemcpyHostToDevice));

    const float2 inside[] = {{0, 0}, {0.99f, 0.5f}, {1, 1}, {7.5f, 3.5f}, {3.25f, 2.75f}};
    const float nearest[] = {0, 0, 17, 55, 35};
    expect("nearest", texture(array, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false), inside, nearest,
           5);
    const float2 between[] = {{0.5f, 0.5f}, {1, 0.5f}, {1.25f, 0.5f}, {1, 1}, {3.75f, 2}, {0, 0}, {100, 100}};
    const float linear[] = {0, 0.5f, 0.75f, 8.5f, 27.25f, 0, 55};
    expect("linear", texture(array, cudaAddressModeClamp, cudaFilterModeLinear, cudaReadModeElementType, false), between, linear,
           7);
    const float2 outside[] = {{-1, 0.5f}, {8.5f, 1.5f}, {-100, -100}, {2.5f, 9}};
    const float clamped[] = {0, 23, 0, 50}, bordered[] = {0, 0, 0, 0};
    expect("clamp", texture(array, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false), outside, clamped, 4);
    expect("border", texture(array, cudaAddressModeBorder, cudaFilterModePoint, cudaReadModeElementType, false), outside, bordered,
           4);
    const float2 round[] = {{1.0625f, 0.125f}, {-0.0625f, 0.125f}, {0.5625f, 1.125f}, {2.5625f, -0.125f}};
    const float wrapped[] = {0, 7, 4, 52}, mirrored[] = {7, 0, 52, 4};
    expect("wrap", texture(array, cudaAddressModeWrap, cudaFilterModePoint, cudaReadModeElementType, true), round, wrapped, 4);
    expect("mirror", texture(array, cudaAddressModeMirror, cudaFilterModePoint, cudaReadModeElementType, true), round, mirrored, 4);
    CHECK(cudaFreeArray(array));
}

__global__ void fetch_linear(cudaTextureObject_t t, int4 *out)
{
    int x = (int)threadIdx.x - 2;
    uchar4 texel = tex1Dfetch<uchar4>(t, x);
    out[threadIdx.x] = make_int4(texel.x, texel.y, texel.z, texel.w);
}

__global__ void fetch_normalized(cudaTextureObject_t t, float4 *out)
{
    out[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x);
}

// Linear memory: out of it a fetch gives zeros.
static void test_linear_memory(void)
{
    uchar4 *texels = managed<uchar4>(8);
    int4 *got = managed<int4>(16), want[12];
    float4 *numbers = managed<float4>(8), unit[8];
    cudaResourceDesc resource = {};
    cudaTextureDesc description = {}, back;
    cudaTextureObject_t plain, normalized;
    for (int n = 0; n < 8; n++) {
        texels[n] = make_uchar4(n, 100 + n, 200 + n, 255);
        unit[n] = make_float4(n / 255.0f, (100 + n) / 255.0f, (200 + n) / 255.0f, 1);
    }
    for (int n = 0; n < 12; n++)
        want[n] = n >= 2 && n < 10 ? make_int4(n - 2, 98 + n, 198 + n, 255) : make_int4(0, 0, 0, 0);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = texels;
    resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.linear.sizeInBytes = 8 * sizeof(uchar4);
    CHECK(cudaCreateTextureObject(&plain, &resource, &description, NULL));
    description.readMode = cudaReadModeNormalizedFloat;
    CHECK(cudaCreateTextureObject(&normalized, &resource, &description, NULL));
    CHECK(cudaGetTextureObjectTextureDesc(&back, normalized));
    REQUIRE(back.readMode == cudaReadModeNormalizedFloat);
    fetch_linear<<<1, 12>>>(plain, got);
    fetch_normalized<<<1, 8>>>(normalized, numbers);
    CHECK(cudaDeviceSynchronize());
    REQUIRE(memcmp(got, want, sizeof(want)) == 0);
    for (int n = 0; n < 8; n++)
        REQUIRE(fabsf(numbers[n].x - unit[n].x) < 1e-6f && fabsf(numbers[n].y - unit[n].y) < 1e-6f && numbers[n].w == 1);
    CHECK(cudaDestroyTextureObject(plain));
    CHECK(cudaDestroyTextureObject(normalized));
}

__global__ void write_surface(cudaSurfaceObject_t s)
{
    surf2DLayeredwrite((int)(threadIdx.y * 100 + threadIdx.x * 10 + blockIdx.x), s, threadIdx.x * 4, threadIdx.y, blockIdx.x);
    surf2DLayeredwrite(-1, s, W * 4, 0, blockIdx.x, cudaBoundaryModeZero); // outside: nothing is written
}

__global__ void read_layers(cudaTextureObject_t t, cudaSurfaceObject_t s, int *by_texture, int *by_surface)
{
    int place = (blockIdx.x * H + threadIdx.y) * W + threadIdx.x;
    by_texture[place] = tex2DLayered<int>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f, blockIdx.x);
    by_surface[place] = surf2DLayeredread<int>(s, threadIdx.x * 4, threadIdx.y, blockIdx.x);
}

static void test_layers(void)
{
    enum { LAYERS = 3 };
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaResourceDesc resource = {};
    cudaArray_t array;
    cudaSurfaceObject_t surface;
    int *by_texture = managed<int>(W * H * LAYERS), *by_surface = managed<int>(W * H * LAYERS), want[W * H * LAYERS];
    for (int n = 0; n < W * H * LAYERS; n++)
        want[n] = n / W % H * 100 + n % W * 10 + n / (W * H);
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(W, H, LAYERS), cudaArrayLayered | cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    write_surface<<<LAYERS, dim3(W, H)>>>(surface);
    cudaTextureObject_t t = texture(array, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, false);
    read_layers<<<LAYERS, dim3(W, H)>>>(t, surface, by_texture, by_surface);
    CHECK(cudaDeviceSynchronize());
    same("layers by texture", by_texture, want, W * H * LAYERS);
    same("layers by surface", by_surface, want, W * H * LAYERS);
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(array));
}

__global__ void look(cudaTextureObject_t t, const float3 *to, float *out)
{
    out[threadIdx.x] = texCubemap<float>(t, to[threadIdx.x].x, to[threadIdx.x].y, to[threadIdx.x].z);
}

static void test_cube(void)
{
    enum { SIDE = 4 };
    const float3 directions[] = {{1, 0.1f, 0.1f}, {-1, 0.1f, 0.1f}, {0.1f, 1, 0.1f},   {0.1f, -1, 0.1f},
                                 {0.1f, 0.1f, 1}, {0.1f, 0.1f, -1}, {1, -0.9f, -0.9f}, {-0.9f, -0.9f, -1}};
    const float want[] = {5, 106, 210, 306, 406, 505, 15, 515};
    float texels[6 * SIDE * SIDE];
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMemcpy3DParms copy = {};
    cudaArray_t array;
    float3 *to = managed<float3>(8);
    float *got = managed<float>(8);
    for (int n = 0; n < 6 * SIDE * SIDE; n++)
        texels[n] = n / (SIDE * SIDE) * 100 + n % (SIDE * SIDE);
    memcpy(to, directions, sizeof(directions));
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(SIDE, SIDE, 6), cudaArrayCubemap));
    copy.srcPtr = make_cudaPitchedPtr(texels, SIDE * 4, SIDE, SIDE);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(SIDE, SIDE, 6);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    cudaTextureObject_t t = texture(array, cudaAddressModeClamp, cudaFilterModePoint, cudaReadModeElementType, true);
    look<<<1, 8>>>(t, to, got);
    CHECK(cudaDeviceSynchronize());
    same("cube", got, want, 8);
    CHECK(cudaDestroyTextureObject(t));
    EXPECT(cudaDestroyTextureObject(t), cudaErrorInvalidValue);
    CHECK(cudaFreeArray(array));
}

int main()
{
    test_addressing();
    test_linear_memory();
    test_layers();
    test_cube();
    return finish();
}
