// Accelerations of bodies by all others: tiles of 256 bodies in shared memory.
#include "../cuda.h"
#include "nbody.h"

#define SOFTENING 1e-3f

__global__ void accelerations(const float4 *bodies, float4 *out, int count)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = bodies[i];
    float x = 0, y = 0, z = 0;
    for (int t = 0; t < count; t += blockDim.x) {
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + SOFTENING);
            float force = other.w * inverse * inverse * inverse;
            x += dx * force;
            y += dy * force;
            z += dz * force;
        }
        __syncthreads();
    }
    out[i] = make_float4(x, y, z, 0);
}

void bench_run_cuda(void *const *p)
{
    accelerations<<<BODIES / 256, 256>>>((const float4 *)p[0], (float4 *)p[1], BODIES);
    FINISH();
}
