/* A device for tests of the driver: it does copies and fills at once, runs no kernels, and tells what it was asked to do.
 * It stands where src/device/registry.c stands in the product. */
#ifndef TESTS_API_FAKE_DEVICE_H
#define TESTS_API_FAKE_DEVICE_H

#include "device/device.h"

struct fake {
    unsigned launches, copies, fills, host_calls, queue_waits, fence_records, fence_waits, resets;
    long allocations, queues, fences, modules; /* alive */
    struct bl_launch last;
    uint8_t params[8192]; /* of the last launch */
    bool hold;            /* queues say that they are not ready */
    bool faulted;
    struct bl_fault fault;
    uint64_t memory; /* bytes that may be allocated at all */
};
extern struct fake fake;

/* Kernels by name: "fault_…" ends in that fault (illegal_address, misaligned, trap, assert, stack, instruction, function,
 * deadlock), "unsupported…" does not compile, anything else does nothing. */

#endif
