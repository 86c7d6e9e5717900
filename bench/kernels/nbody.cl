/* Accelerations of bodies by all others: tiles of 256 bodies in local memory. */
#include "nbody.h"
#define SOFTENING 1e-3f
#ifdef __OPENCL_VERSION__
kernel void accelerations(global const float4 *bodies, global float4 *out, int count)
{
    local float4 tile[256];
    int i = get_global_id(0), item = get_local_id(0), size = get_local_size(0);
    float4 me = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < count; t += size) {
        tile[item] = bodies[t + item];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < size; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + SOFTENING);
            float force = other.w * inverse * inverse * inverse;
            x += dx * force;
            y += dy * force;
            z += dz * force;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = (float4)(x, y, z, 0);
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "accelerations", BODIES / 256, 1, 256, 1, "bbi", 0, 1, BODIES);
    bench_opencl_wait(cl);
}
#endif
