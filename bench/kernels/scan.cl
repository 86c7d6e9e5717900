/* An inclusive scan in one pass: each group scans a tile and looks back at what the groups before it have published. */
#include "scan.h"
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define ITEMS (TILE / 256)
#define AGGREGATE 1
#define PREFIX 2

kernel void zero(global ulong *states)
{
    states[get_global_id(0)] = 0;
}

uint look_back(volatile global ulong *states, int tile)
{
    uint sum = 0;
    for (int before = tile - 1; before >= 0;) {
        ulong state = states[before];
        uint flag = state >> 32;
        if (flag == 0)
            continue;
        sum += (uint)state;
        if (flag == PREFIX)
            break;
        before--;
    }
    return sum;
}

kernel void scan(global const uint *in, global uint *out, volatile global ulong *states)
{
    local uint sums[256];
    local uint prefix, tile_local;
    int item = get_local_id(0);
    if (item == 0)
        tile_local = atomic_inc((volatile global uint *)(states + TILES));
    barrier(CLK_LOCAL_MEM_FENCE);
    int tile = tile_local;
    uint values[ITEMS], sum = 0;
    for (int i = 0; i < ITEMS; i++) {
        sum += in[tile * TILE + item * ITEMS + i];
        values[i] = sum;
    }
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int offset = 1; offset < 256; offset *= 2) {
        uint other = item >= offset ? sums[item - offset] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        sums[item] += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint before = sums[item] - sum;
    if (item == 0) {
        uint total = sums[255];
        states[tile] = ((ulong)(tile ? AGGREGATE : PREFIX) << 32) | total;
        prefix = look_back(states, tile);
        states[tile] = ((ulong)PREFIX << 32) | (prefix + total);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    before += prefix;
    for (int i = 0; i < ITEMS; i++)
        out[tile * TILE + item * ITEMS + i] = before + values[i];
}
#else
#include "../harness.h"

void bench_run_opencl(struct bench_opencl *cl, void *const *p)
{
    (void)p;
    bench_opencl_launch(cl, "zero", TILES / 256 + 1, 1, 256, 1, "b", 2);
    bench_opencl_launch(cl, "scan", TILES, 1, 256, 1, "bbb", 0, 1, 2);
    bench_opencl_wait(cl);
}
#endif
