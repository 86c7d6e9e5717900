/* Compiled to a relocatable object that the loader's test maps and calls: a jump table, constants, calls between functions,
 * variables that are written, pointers that need relocating, an access through the global offset table. */
#include <stdint.h>

struct bl_cpu_warp {
    uint32_t *out;
};

extern __attribute__((visibility("default"))) const volatile uint32_t shared_table[4];
const volatile uint32_t shared_table[4] = {3, 1, 4, 1};
static const volatile double scale[2] = {0.5, 2.0};
static const volatile uint64_t mixed[64] __attribute__((aligned(64))) = {1, 2, 3, [63] = 99};
static uint32_t counter = 7, zeroed[1000];
static const volatile uint32_t *const volatile pointers[2] = {&shared_table[2], &shared_table[0]};

__attribute__((noinline)) static uint32_t pick(uint32_t i)
{
    switch (i) {
    case 0:
        return 11;
    case 1:
        return shared_table[0];
    case 2:
        return (uint32_t)(scale[1] * 8);
    case 3:
        return ++counter;
    case 4:
        return zeroed[i]++;
    case 5:
        return *pointers[0];
    case 6:
        return *pointers[1];
    case 7:
        return (uint32_t)mixed[63];
    default:
        return 1000 + i;
    }
}

__attribute__((visibility("default"))) void bl_kernel(struct bl_cpu_warp *warp);
void bl_kernel(struct bl_cpu_warp *warp)
{
    for (uint32_t i = 0; i < 9; i++)
        warp->out[i] = pick(i) + (uint32_t)scale[0];
}
