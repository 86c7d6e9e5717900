// grid.sync() of cooperative groups, tiled partitions and their reductions, coalesced groups.
#include "check.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void run(int *data, int *out, int count, int rounds)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<16>(block);
    for (int round = 0; round < rounds; round++) {
        for (int i = grid.thread_rank(); i < count; i += grid.size())
            data[i] = i + round;
        grid.sync();
        int sum = 0;
        for (int i = grid.thread_rank(); i < count; i += grid.size())
            sum += data[count - 1 - i];
        sum = cg::reduce(tile, sum, cg::plus<int>());
        if (tile.thread_rank() == 0)
            atomicAdd(&out[round], sum);
        grid.sync();
    }
    if (threadIdx.x % 3 == 0) {
        auto together = cg::coalesced_threads();
        if (together.thread_rank() == 0)
            atomicAdd(&out[rounds], (int)together.size());
    }
}

int main()
{
    int count = 10000, rounds = 5, *data = managed<int>(count), *out = managed<int>(8);
    void *args[] = {&data, &out, &count, &rounds};
    CHECK(cudaLaunchCooperativeKernel((const void *)run, 4, 96, args, 0, 0));
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < rounds; round++)
        REQUIRE(out[round] == count * (count - 1) / 2 + count * round);
    REQUIRE(out[rounds] == 4 * 32);
    return finish();
}
