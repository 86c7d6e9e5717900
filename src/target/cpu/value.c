/* Words that queues write or wait for. A wait has no thread of its own: whoever looks for work (pool.c) and whoever waits for a
 * queue looks at the words too. Part of queue.c's machine; see run.h.
 */
#include "target/cpu/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether the word can be touched. Here no signal handler would help: the queues' lock is held. */
static bool there(uint64_t address)
{
    char byte;
    struct iovec local = {&byte, 1}, remote = {(void *)(uintptr_t)address, 1};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1 || errno != EFAULT; /* forbidden to ask: hope */
}

static void fault_at(struct bl_cpu_runner *runner, uint64_t address)
{
    if (atomic_exchange(&runner->faulted, true))
        return;
    runner->fault = (struct bl_fault){.kind = BL_FAULT_ILLEGAL_ADDRESS, .address = address};
    snprintf(runner->fault.message, sizeof(runner->fault.message),
             "a stream's memory operation: no memory at 0x%" PRIx64 " (any more)", address);
}

static void write_word(const struct bl_value_op *op)
{
    if (!op->wide) {
        atomic_store_explicit((_Atomic uint32_t *)(uintptr_t)op->address, (uint32_t)op->value, memory_order_release);
        return;
    }
    _Atomic uint64_t *word = (_Atomic uint64_t *)(uintptr_t)op->address;
    uint64_t old = atomic_load(word);
    if (op->kind == BL_VALUE_WRITE)
        atomic_store_explicit(word, op->value, memory_order_release);
    else
        while (old < op->value && !atomic_compare_exchange_weak(word, &old, op->value)) {
        }
}

static bool came(const struct bl_value_op *op)
{
    uint64_t word = op->wide ? atomic_load((_Atomic uint64_t *)(uintptr_t)op->address)
                             : atomic_load((_Atomic uint32_t *)(uintptr_t)op->address);
    uint64_t value = op->wide ? op->value : (uint32_t)op->value, all = op->wide ? UINT64_MAX : UINT32_MAX;
    switch (op->kind) {
    case BL_VALUE_WAIT_GEQ:
        return op->wide ? (int64_t)(word - value) >= 0 : (int32_t)(uint32_t)(word - value) >= 0;
    case BL_VALUE_WAIT_EQ:
        return word == value;
    case BL_VALUE_WAIT_AND:
        return (word & value) != 0;
    case BL_VALUE_WAIT_NOR:
        return (~(word | value) & all) != 0;
    case BL_VALUE_WRITE:
    case BL_VALUE_RAISE:
        break;
    }
    return true;
}

bool bl_cpu_value_done(struct bl_cpu_runner *runner, struct bl_cpu_command *command)
{
    const struct bl_value_op *op = &command->value.op;
    if (atomic_load_explicit(&runner->faulted, memory_order_relaxed))
        return true;
    if (!there(op->address)) {
        fault_at(runner, op->address);
        runner->recheck = true;
        return true;
    }
    if (op->kind != BL_VALUE_WRITE && op->kind != BL_VALUE_RAISE)
        return came(op);
    write_word(op);
    runner->recheck |= runner->value_waits > 0;
    return true;
}

enum bl_status bl_cpu_value(struct bl_queue *queue, const struct bl_value_op *op)
{
    struct bl_cpu_command *command;
    if (!op->address || op->address % (op->wide ? 8 : 4) || (unsigned)op->kind > BL_VALUE_WAIT_NOR)
        return BL_INVALID;
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_VALUE, &command);
    if (status != BL_OK)
        return status;
    command->value.op = *op;
    command->value.counted = false;
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}
