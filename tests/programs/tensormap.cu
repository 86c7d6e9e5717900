// arch: 90a
// A tensor map changed on the device, field by field, in shared memory; copied to global memory and used there.
#include "check.h"
#include <cuda.h>

enum { WIDTH = 32, HEIGHT = 20, ROW = 16, ROWS = 4, BYTES = ROW * ROWS * 4, MAP = 128 };

__device__ static __align__(128) unsigned char made[MAP];

__device__ static unsigned window(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

__device__ static void load(const void *map, void *tile, unsigned long long *object, int x, int y)
{
    unsigned done = 0;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(window(object)), "r"((unsigned)BYTES) : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
            window(tile)),
        "l"(map), "r"(x), "r"(y), "r"(window(object))
        : "memory");
    while (!done)
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                     : "=r"(done)
                     : "r"(window(object))
                     : "memory");
}

#define REPLACE(what, ...) asm volatile("tensormap.replace.tile." what ::__VA_ARGS__ : "memory")

// One warp. The map's tensor becomes `data`.
__global__ void change(const __grid_constant__ CUtensorMap map, const int *data, int *out)
{
    __shared__ __align__(128) unsigned char own[MAP], tile[BYTES];
    __shared__ __align__(8) unsigned long long object;
    unsigned lane = threadIdx.x;
    ((int *)own)[lane] = ((const int *)&map)[lane];
    __syncwarp();
    if (lane == 0) {
        unsigned at = window(own);
        unsigned long long stride = WIDTH * 4;
        REPLACE("global_address.shared::cta.b1024.b64 [%0], %1;", "r"(at), "l"(data));
        REPLACE("rank.shared::cta.b1024.b32 [%0], %1;", "r"(at), "r"(1)); // one less
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 0, %1;", "r"(at), "r"((int)ROW));
        REPLACE("box_dim.shared::cta.b1024.b32 [%0], 1, %1;", "r"(at), "r"(2 * ROWS));
        REPLACE("global_dim.shared::cta.b1024.b32 [%0], 0, %1;", "r"(at), "r"((int)WIDTH));
        REPLACE("global_dim.b1024.b32 [%0], 1, %1;", "l"((unsigned long long)own), "r"((int)HEIGHT));
        REPLACE("global_stride.shared::cta.b1024.b64 [%0], 0, %1;", "r"(at), "l"(stride));
        REPLACE("element_stride.shared::cta.b1024.b32 [%0], 1, %1;", "r"(at), "r"(2));
        REPLACE("elemtype.shared::cta.b1024.b32 [%0], 3;", "r"(at)); // s32
        REPLACE("interleave_layout.shared::cta.b1024.b32 [%0], 0;", "r"(at));
        REPLACE("swizzle_mode.shared::cta.b1024.b32 [%0], 2;", "r"(at)); // over 64 bytes
        REPLACE("fill_mode.shared::cta.b1024.b32 [%0], 0;", "r"(at));
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(window(&object)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(made),
        "r"(window(own))
        : "memory");
    __syncwarp();
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(made) : "memory");
    if (lane == 0)
        load(made, tile, &object, 20, 15);
    __syncwarp();
    for (unsigned i = lane; i < ROW * ROWS; i += 32) {
        unsigned place = i * 4;
        out[i] = *(int *)(tile + (place ^ (((window(tile) + place) >> 7 & 3) << 4)));
    }
}

int main()
{
    int *data = managed<int>(WIDTH * HEIGHT), *other = managed<int>(64 * 40), *out = managed<int>(ROW * ROWS);
    alignas(64) CUtensorMap map;
    cuuint64_t dims[] = {64, 40}, strides[] = {64 * 4};
    cuuint32_t box[] = {8, 16}, steps[] = {1, 1};
    for (int i = 0; i < WIDTH * HEIGHT; i++)
        data[i] = 1000 + i;
    REQUIRE(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, other, dims, strides, box, steps,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) == CUDA_SUCCESS);
    change<<<1, 32>>>(map, data, out);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < ROW * ROWS; i++) {
        int x = 20 + i % ROW, y = 15 + i / ROW * 2, want = x < WIDTH && y < HEIGHT ? 1000 + y * WIDTH + x : 0;
        if (out[i] != want) {
            printf("element %d is %d, expected %d\n", i, out[i], want);
            failures++;
            break;
        }
    }
    return finish();
}
