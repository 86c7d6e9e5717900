// Lanes and CTAs together: shuffles, votes, matches, reductions, barriers, cooperative groups.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__global__ void lanes(int *out, float f, unsigned mask)
{
    int v = threadIdx.x, i = 0;
    out[i++] = __shfl_sync(mask, v, 3) + __shfl_up_sync(mask, v, 1, 8) + __shfl_down_sync(mask, v, 2) + __shfl_xor_sync(mask, v, 16);
    out[i++] = (int)__shfl_down_sync(~0u, f, 4) + (int)__shfl_sync(~0u, (double)f, 4) + (int)__shfl_xor_sync(~0u, 5ll, 1);
    out[i++] = __all_sync(mask, v > 1) + __any_sync(mask, v > 2) + __ballot_sync(mask, v & 1) + __uni_sync(mask, v & 2);
    out[i++] = __activemask() + __match_any_sync(mask, v) + __match_any_sync(mask, 5ull);
    int same;
    out[i++] = __match_all_sync(mask, v, &same) + same;
#if __CUDA_ARCH__ >= 800
    out[i++] = __reduce_add_sync(mask, v) + __reduce_min_sync(mask, v) + __reduce_max_sync(mask, (unsigned)v) + __reduce_xor_sync(mask, (unsigned)v);
#endif
    __syncwarp(mask);
    out[i++] = __syncthreads_count(v & 1) + __syncthreads_and(v & 2) + __syncthreads_or(v & 4);
    __nanosleep(100);
    unsigned lane, warp, lt, sm;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    out[i++] = lane + warp + lt + sm + (int)clock64() + clock() + warpSize;
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    out[i++] = (int)time + gridDim.z + blockIdx.y + blockDim.z;
    asm volatile("bar.sync 1, 64; bar.arrive 2, 128; barrier.sync 3; barrier.cta.sync.aligned 4, 32;");
}

__global__ void groups(int *out)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    auto some = cg::coalesced_threads();
    out[0] = cg::reduce(tile, (int)threadIdx.x, cg::plus<int>());
    out[1] = cg::exclusive_scan(tile, (int)threadIdx.x);
    out[2] = some.size() + some.thread_rank() + tile.meta_group_rank();
    auto labelled = cg::labeled_partition(some, threadIdx.x & 3);
    out[3] = labelled.size() + tile.shfl_down(out[1], 1) + tile.any(out[2]);
    if (threadIdx.x > 3)
        out[4] = cg::coalesced_threads().thread_rank();
    block.sync();
    tile.sync();
}

__global__ void whole(int *out)
{
    auto grid = cg::this_grid();
    out[grid.thread_rank()] = grid.size();
    grid.sync();
    out[0] = out[1] + grid.block_rank();
}
