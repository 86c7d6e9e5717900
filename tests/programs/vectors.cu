// Vector types: float2, float4, int4, uchar4, double2, loaded and stored whole, aligned structs, and a transpose by them.
#include "check.h"

struct __align__(16) particle {
    float x, y, z;
    int id;
};

__global__ void scale(const float4 *in, float4 *out, int count, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    float4 v = in[i];
    out[i] = make_float4(v.w * factor, v.z * factor, v.y * factor, v.x * factor);
}

__global__ void mixed(const uchar4 *bytes, const int2 *pairs, double2 *out, short4 *shorts)
{
    int i = threadIdx.x;
    uchar4 b = bytes[i];
    int2 p = pairs[31 - i];
    out[i] = make_double2(b.x + b.y * 0.5 + p.x, b.z - b.w + p.y);
    shorts[i] = make_short4(b.x, -b.y, (short)p.x, (short)(p.y * b.w));
}

__global__ void move(particle *p, int count)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x) {
        particle q = p[i];
        q.x += q.y;
        q.z -= q.id;
        q.id = ~q.id;
        p[i] = q;
    }
}

int main()
{
    const int count = 1000;
    float4 *in = managed<float4>(count), *out = managed<float4>(count);
    for (int i = 0; i < count; i++)
        in[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f);
    scale<<<8, 128>>>(in, out, count, 3);
    uchar4 *bytes = managed<uchar4>(32);
    int2 *pairs = managed<int2>(32);
    double2 *doubles = managed<double2>(32);
    short4 *shorts = managed<short4>(32);
    for (int i = 0; i < 32; i++) {
        bytes[i] = make_uchar4(i, 255 - i, i * 3, i * 7);
        pairs[i] = make_int2(i * 1000, -i);
    }
    mixed<<<1, 32>>>(bytes, pairs, doubles, shorts);
    particle *p = managed<particle>(count);
    for (int i = 0; i < count; i++)
        p[i] = {i * 1.0f, i * 0.5f, i * 2.0f, i};
    move<<<3, 100>>>(p, count);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        REQUIRE(out[i].x == (i + 0.75f) * 3 && out[i].y == (i + 0.5f) * 3 && out[i].z == (i + 0.25f) * 3 && out[i].w == i * 3);
        REQUIRE(p[i].x == i * 1.5f && p[i].y == i * 0.5f && p[i].z == i && p[i].id == ~i);
    }
    for (int i = 0; i < 32; i++) {
        int px = (31 - i) * 1000, py = -(31 - i);
        unsigned char w = (unsigned char)(i * 7);
        REQUIRE(doubles[i].x == i + (255 - i) * 0.5 + px && doubles[i].y == i * 3 - w + py);
        REQUIRE(shorts[i].x == i && shorts[i].y == -(255 - i) && shorts[i].z == (short)px && shorts[i].w == (short)(py * w));
    }
    return finish();
}
