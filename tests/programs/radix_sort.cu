// Sorting as libraries do it: CUB's radix sort of pairs of many sizes; its blocks find their places by looking back at earlier
// ones, so that blocks and lanes wait for each other. CUB comes with nvcc.
#include <cub/device/device_radix_sort.cuh>

#include "check.h"

#include <algorithm>
#include <numeric>
#include <vector>

static void sort_pairs(unsigned *keys, unsigned *sorted, unsigned *values, unsigned *moved, int count, int rounds)
{
    std::vector<unsigned> order(count), want_keys(count), want_values(count);
    uint32_t state = 1u + count;
    size_t bytes = 0;
    void *space;

    for (int i = 0; i < count; i++) {
        keys[i] = next_random(&state) & 0x00ffffff; // some are equal: their order must be kept
        values[i] = ~i;
    }
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
    for (int i = 0; i < count; i++) {
        want_keys[i] = keys[order[i]];
        want_values[i] = values[order[i]];
    }
    CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, sorted, values, moved, count));
    CHECK(cudaMalloc(&space, bytes));
    for (int round = 0; round < rounds; round++) {
        CHECK(cub::DeviceRadixSort::SortPairs(space, bytes, keys, sorted, values, moved, count));
        CHECK(cudaDeviceSynchronize());
        same("keys", sorted, want_keys.data(), count);
        same("values", moved, want_values.data(), count);
        memset(sorted, 0, count * sizeof(unsigned));
        memset(moved, 0, count * sizeof(unsigned));
    }
    CHECK(cudaFree(space));
}

int main()
{
    const int most = 1 << 19;
    unsigned *keys = managed<unsigned>(most), *sorted = managed<unsigned>(most), *values = managed<unsigned>(most);
    unsigned *moved = managed<unsigned>(most);

    sort_pairs(keys, sorted, values, moved, 1, 1);
    sort_pairs(keys, sorted, values, moved, 1000, 1);
    sort_pairs(keys, sorted, values, moved, 100003, 5);
    sort_pairs(keys, sorted, values, moved, most, 20);
    return finish();
}
