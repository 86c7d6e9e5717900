/* Copies and fills. Long ones are cut into pieces that several threads take. They run on a core's fiber, so that a bad
 * address ends the copy and not the program.
 */
#include "target/cpu/run.h"

enum { PIECE_BYTES = 512 << 10, WAKE_BYTES = 1 << 20 };

/* ---- one row ------------------------------------------------------------------------------------------ */

static void fill_row(uint8_t *to, uint64_t bytes, uint32_t value, uint32_t size)
{
    if (size == 1) {
        memset(to, (int)value, bytes);
    } else if (size == 2) {
        uint16_t *items = (uint16_t *)(void *)to;
        for (uint64_t i = 0; i < bytes / 2; i++)
            items[i] = (uint16_t)value;
    } else {
        uint32_t *items = (uint32_t *)(void *)to;
        for (uint64_t i = 0; i < bytes / 4; i++)
            items[i] = value;
    }
}

static void one_row(const struct bl_cpu_transfer *transfer, uint64_t row)
{
    uint64_t y = row % transfer->height, z = row / transfer->height;
    uint64_t width = row == transfer->rows - 1 ? transfer->last : transfer->width;
    uint64_t to = transfer->to + y * transfer->to_pitch + z * transfer->to_slice_pitch;
    if (transfer->value_size)
        fill_row((uint8_t *)(uintptr_t)to, width, transfer->value, transfer->value_size);
    else
        memmove((void *)(uintptr_t)to,
                (const void *)(uintptr_t)(transfer->from + y * transfer->from_pitch + z * transfer->from_slice_pitch), width);
}

/* On the core's fiber: the pieces that it has claimed. */
void bl_cpu_transfer_rows(struct bl_cpu_core *core)
{
    const struct bl_cpu_transfer *transfer = &core->command->transfer;
    uint64_t end = BL_MIN(core->end * transfer->rows_a_piece, transfer->rows);
    for (uint64_t row = core->first * transfer->rows_a_piece; row < end; row++)
        one_row(transfer, row);
}

bool bl_cpu_run_transfer(struct bl_cpu_core *core)
{
    struct bl_cpu_command *command = core->command;
    while (!atomic_load_explicit(&command->stop, memory_order_relaxed) && bl_cpu_claim(core, 1)) {
        core->job = BL_CPU_JOB_ROWS;
        if (!bl_cpu_run_plain(core, false))
            return true;
        if (core->end == command->total)
            return true;
        if (bl_cpu_turn_over(core))
            return false;
    }
    return true;
}

/* ---- requests ------------------------------------------------------------------------------------------- */

/* A line as rows of PIECE_BYTES each. */
static void cut_line(struct bl_cpu_transfer *transfer)
{
    uint64_t bytes = transfer->width;
    if (transfer->rows != 1 || bytes <= 2 * PIECE_BYTES)
        return;
    transfer->rows = transfer->height = (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    transfer->width = transfer->to_pitch = transfer->from_pitch = PIECE_BYTES;
    transfer->last = bytes - (transfer->rows - 1) * PIECE_BYTES;
}

static enum bl_status submit(struct bl_queue *queue, struct bl_cpu_transfer *transfer)
{
    struct bl_cpu_command *command;
    uint64_t bytes = transfer->width * transfer->rows;
    cut_line(transfer);
    transfer->rows_a_piece = BL_MAX((uint64_t)1, PIECE_BYTES / transfer->width);
    enum bl_status status = bl_cpu_command_begin(queue, BL_CPU_TRANSFER, &command);
    if (status != BL_OK)
        return status;
    command->transfer = *transfer;
    command->total = (transfer->rows + transfer->rows_a_piece - 1) / transfer->rows_a_piece;
    if (bytes >= WAKE_BYTES)
        command->worth = (uint32_t)BL_MIN(command->total, (uint64_t)queue->runner->workers);
    bl_cpu_command_commit(queue, command);
    return BL_OK;
}

/* Whether rows and slices of a side follow each other without gaps. */
static bool dense(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice_pitch)
{
    return (height == 1 || pitch == width) && (depth == 1 || slice_pitch == width * height);
}

enum bl_status bl_cpu_put_copy(struct bl_queue *queue, const struct bl_copy *copy)
{
    uint64_t rows, bytes;
    if (!copy->width || !copy->height || !copy->depth || copy->to == copy->from)
        return BL_OK;
    if (__builtin_mul_overflow(copy->height, copy->depth, &rows) || __builtin_mul_overflow(rows, copy->width, &bytes))
        return BL_INVALID;
    struct bl_cpu_transfer transfer = {.to = copy->to,
                                       .from = copy->from,
                                       .width = copy->width,
                                       .last = copy->width,
                                       .rows = rows,
                                       .height = copy->height,
                                       .to_pitch = copy->to_pitch,
                                       .from_pitch = copy->from_pitch,
                                       .to_slice_pitch = copy->to_slice_pitch,
                                       .from_slice_pitch = copy->from_slice_pitch};
    if (dense(copy->width, copy->height, copy->depth, copy->to_pitch, copy->to_slice_pitch) &&
        dense(copy->width, copy->height, copy->depth, copy->from_pitch, copy->from_slice_pitch)) {
        transfer.width = transfer.last = bytes;
        transfer.rows = transfer.height = 1;
    }
    return submit(queue, &transfer);
}

enum bl_status bl_cpu_put_fill(struct bl_queue *queue, const struct bl_fill *fill)
{
    uint64_t width, bytes;
    if (fill->value_size != 1 && fill->value_size != 2 && fill->value_size != 4)
        return BL_INVALID;
    if (!fill->width || !fill->height)
        return BL_OK;
    if (__builtin_mul_overflow(fill->width, (uint64_t)fill->value_size, &width) ||
        __builtin_mul_overflow(width, fill->height, &bytes) || fill->to % fill->value_size ||
        (fill->height > 1 && fill->pitch % fill->value_size))
        return BL_INVALID;
    struct bl_cpu_transfer transfer = {.to = fill->to,
                                       .width = width,
                                       .last = width,
                                       .rows = fill->height,
                                       .height = fill->height,
                                       .to_pitch = fill->pitch,
                                       .value = fill->value,
                                       .value_size = fill->value_size};
    if (dense(width, fill->height, 1, fill->pitch, 0)) {
        transfer.width = transfer.last = bytes;
        transfer.rows = transfer.height = 1;
    }
    return submit(queue, &transfer);
}

enum bl_status bl_cpu_copy(struct bl_queue *queue, const struct bl_copy *copy)
{
    bl_cpu_signals_check();
    return bl_cpu_put_copy(queue, copy);
}

enum bl_status bl_cpu_fill(struct bl_queue *queue, const struct bl_fill *fill)
{
    bl_cpu_signals_check();
    return bl_cpu_put_fill(queue, fill);
}
