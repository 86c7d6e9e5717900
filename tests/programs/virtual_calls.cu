// Virtual functions: objects made on the device by new, called from lanes with different classes, deleted in another kernel.
#include "check.h"

struct shape {
    __device__ virtual ~shape() {}
    __device__ virtual float area() const = 0;
    __device__ virtual int sides() const
    {
        return 0;
    }
};
struct circle : shape {
    float radius;
    __device__ circle(float r) : radius(r) {}
    __device__ float area() const override
    {
        return 3.0f * radius * radius;
    }
};
struct square : shape {
    float edge;
    __device__ square(float e) : edge(e) {}
    __device__ float area() const override
    {
        return edge * edge;
    }
    __device__ int sides() const override
    {
        return 4;
    }
};
struct cube : square {
    __device__ cube(float e) : square(e) {}
    __device__ float area() const override
    {
        return 6 * square::area();
    }
};

__global__ void make(shape **shapes)
{
    int i = threadIdx.x;
    shapes[i] = i % 3 == 0 ? (shape *)new circle(i) : i % 3 == 1 ? (shape *)new square(i) : (shape *)new cube(i);
}

__global__ void measure(shape **shapes, float *areas, int *sides)
{
    int i = threadIdx.x;
    areas[i] = shapes[i]->area();
    sides[i] = shapes[i]->sides();
}

__global__ void destroy(shape **shapes)
{
    delete shapes[threadIdx.x];
}

int main()
{
    const int count = 96;
    shape **shapes = managed<shape *>(count);
    float *areas = managed<float>(count);
    int *sides = managed<int>(count);
    make<<<1, count>>>(shapes);
    measure<<<1, count>>>(shapes, areas, sides);
    destroy<<<1, count>>>(shapes);
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; i++) {
        float want[] = {3.0f * i * i, (float)i * i, 6.0f * i * i};
        REQUIRE(areas[i] == want[i % 3]);
        REQUIRE(sides[i] == (i % 3 ? 4 : 0));
    }
    return finish();
}
