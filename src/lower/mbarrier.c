/* mbarrier objects (PTX ISA, 9.7.13.15) by 64-bit atomics. The layout is ours, programs may not look into it:
 *
 *   bits  0..19  arrivals that the current phase still waits for      20..39  arrivals that a phase expects
 *   bit   40     the phase's parity                                   41..63  pending transactions (tx-count), signed
 *
 * The tx-count stands at the top so that its borrow goes nowhere. An arrival subtracts; the one that brings both counts to
 * zero starts the next phase by one addition. No thread may arrive between the two: the phase has no arrivals left. */
#include "lower/internal.h"

enum { EXPECTED = 20, PHASE = 40, TX = 41 };

static struct bl_kir_value *number(struct bl_lower *l, uint64_t bits)
{
    return bl_lower_const(l, BL_KIR_I64, bits);
}

static struct bl_kir_value *binary(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, struct bl_kir_value *b)
{
    return bl_lower_op(l, op, NULL, a->type, a, b, NULL);
}

static struct bl_kir_value *shift(struct bl_lower *l, enum bl_kir_op op, struct bl_kir_value *a, uint32_t count)
{
    return binary(l, op, a, bl_lower_const(l, BL_KIR_I32, count));
}

static struct bl_kir_attr word_attr(const struct bl_lower_address *address, enum bl_kir_order order)
{
    struct bl_kir_attr attr = {.type = BL_KIR_I64, .vec = 1, .space = (uint8_t)address->space, .align = 8};
    attr.imm = (uint64_t)address->offset;
    attr.order = (uint8_t)order;
    attr.scope = BL_KIR_SCOPE_CTA;
    return attr;
}

/* Adds to the word; the value before. */
static struct bl_kir_value *add_to(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *delta)
{
    struct bl_kir_attr attr = word_attr(address, BL_KIR_ACQ_REL);
    attr.atom = BL_KIR_ATOM_ADD;
    attr.vec = 0;
    return bl_lower_op(l, BL_KIR_OP_atomic, &attr, BL_KIR_I64, address->base, delta, NULL);
}

static void init(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *count)
{
    struct bl_kir_attr attr = word_attr(address, BL_KIR_WEAK);
    struct bl_kir_value *operands[2] = {address->base};

    attr.scope = 0;
    count = bl_lower_resize(l, count, BL_KIR_I64, false);
    operands[1] = binary(l, BL_KIR_OP_or, count, shift(l, BL_KIR_OP_shl, count, EXPECTED));
    bl_kir_emit(&l->b, BL_KIR_OP_store, &attr, 0, NULL, 2, operands);
}

/* Where `now`, the word after a change, has both counts at zero: the next phase. */
static void complete(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *now)
{
    const uint64_t counts = ((UINT64_C(1) << EXPECTED) - 1) | ~((UINT64_C(1) << TX) - 1);
    struct bl_kir_block *last = bl_kir_block_new(l->func, NULL), *after = bl_kir_block_new(l->func, NULL);
    struct bl_kir_value *left = binary(l, BL_KIR_OP_and, now, number(l, counts)), *odd, *expected, *flip, *up, *down;

    bl_kir_branch(&l->b, bl_lower_compare(l, BL_KIR_EQ, left, number(l, 0)), last, after);
    bl_lower_start_block(l, last);
    expected = shift(l, BL_KIR_OP_lshr, now, EXPECTED);
    expected = binary(l, BL_KIR_OP_and, expected, number(l, (1 << EXPECTED) - 1));
    up = number(l, UINT64_C(1) << PHASE);
    down = number(l, 0 - (UINT64_C(1) << PHASE));
    odd = binary(l, BL_KIR_OP_and, now, up);
    odd = bl_lower_compare(l, BL_KIR_NE, odd, number(l, 0));
    flip = bl_lower_select(l, odd, down, up);
    add_to(l, address, binary(l, BL_KIR_OP_add, expected, flip));
    bl_kir_jump(&l->b, after);
    bl_lower_start_block(l, after);
}

/* Subtracts arrivals (from the expected ones too, to drop), adds transactions; gives the state of the phase before. */
static struct bl_kir_value *change(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *arrivals,
                                   bool drop, struct bl_kir_value *transactions)
{
    struct bl_kir_value *delta = number(l, 0), *before;

    if (arrivals) {
        arrivals = bl_lower_resize(l, arrivals, BL_KIR_I64, false);
        delta = binary(l, BL_KIR_OP_sub, delta, arrivals);
        if (drop)
            delta = binary(l, BL_KIR_OP_sub, delta, shift(l, BL_KIR_OP_shl, arrivals, EXPECTED));
    }
    if (transactions)
        delta = binary(l, BL_KIR_OP_add, delta, shift(l, BL_KIR_OP_shl, bl_lower_resize(l, transactions, BL_KIR_I64, true), TX));
    before = add_to(l, address, delta);
    complete(l, address, binary(l, BL_KIR_OP_add, before, delta));
    return before;
}

static bool arrive(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_lower_address *address)
{
    struct bl_kir_value *count = bl_lower_const(l, BL_KIR_I32, 1), *before;

    if (HAS(expect_tx)) { /* the transactions are expected before the arrival counts: one addition does both */
        if (i->operand_count != 3)
            return false;
        before = change(l, address, count, HAS(arrive_drop), bl_lower_read32(l, &i->operands[2]));
    } else {
        if (i->operand_count > 2)
            count = bl_lower_read32(l, &i->operands[2]);
        before = change(l, address, count, HAS(arrive_drop), NULL);
    }
    bl_lower_write(l, &i->operands[0], before, false);
    return true;
}

/* test_wait, try_wait: whether the phase with that state, or parity, is over. */
static bool test(struct bl_lower *l, const struct bl_ptx_instr *i, const struct bl_lower_address *address)
{
    struct bl_kir_attr attr = word_attr(address, BL_KIR_ACQUIRE);
    struct bl_kir_value *now = bl_lower_op(l, BL_KIR_OP_load, &attr, BL_KIR_I64, address->base, NULL, NULL), *then, *done, *time;
    struct bl_kir_block *pause, *after;

    if (HAS(parity)) /* .parity: 0 or 1 */
        then = shift(l, BL_KIR_OP_shl, bl_lower_resize(l, bl_lower_read32(l, &i->operands[2]), BL_KIR_I64, false), PHASE);
    else
        then = bl_lower_read(l, &i->operands[2], BL_KIR_I64);
    done = binary(l, BL_KIR_OP_xor, now, then);
    done = binary(l, BL_KIR_OP_and, done, number(l, UINT64_C(1) << PHASE));
    done = bl_lower_compare(l, BL_KIR_NE, done, number(l, 0));
    bl_lower_write(l, &i->operands[0], done, false);
    if (!HAS(try_wait))
        return true;
    /* try_wait may suspend the thread: let those run that it waits for */
    pause = bl_kir_block_new(l->func, NULL);
    after = bl_kir_block_new(l->func, NULL);
    bl_kir_branch(&l->b, done, after, pause);
    bl_lower_start_block(l, pause);
    time = bl_lower_const(l, BL_KIR_I32, 0);
    bl_kir_emit(&l->b, BL_KIR_OP_nanosleep, NULL, 0, NULL, 1, &time);
    bl_kir_jump(&l->b, after);
    bl_lower_start_block(l, after);
    return true;
}

static bool is_test(const struct bl_ptx_instr *i)
{
    return HAS(test_wait) || HAS(try_wait);
}

bool bl_lower_mbarrier(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    bool arrives = HAS(arrive) || HAS(arrive_drop), first = !arrives && !is_test(i);
    struct bl_lower_address address;
    struct bl_kir_value *count;

    if (HAS(pending_count)) {
        count = bl_lower_resize(l, bl_lower_read(l, &i->operands[1], BL_KIR_I64), BL_KIR_I32, false);
        bl_lower_write(l, &i->operands[0], binary(l, BL_KIR_OP_and, count, bl_lower_const(l, BL_KIR_I32, (1 << EXPECTED) - 1)),
                       false);
        return true;
    }
    if (i->operand_count < (first ? 1 : 2) ||
        !bl_lower_address(l, &i->operands[first ? 0 : 1], bl_lower_space_of(i), false, &address) ||
        address.kind != BL_LOWER_NOWHERE)
        return false;
    if (HAS(inval))
        return true;
    if (arrives)
        return arrive(l, i, &address);
    if (i->operand_count < (first ? 2 : 3))
        return false;
    if (is_test(i))
        return test(l, i, &address);
    if (HAS(init)) {
        init(l, &address, bl_lower_read32(l, &i->operands[1]));
        return true;
    }
    if (!HAS(expect_tx) && !HAS(complete_tx))
        return false;
    count = bl_lower_read32(l, &i->operands[1]);
    if (HAS(complete_tx))
        count = bl_lower_op(l, BL_KIR_OP_neg, NULL, BL_KIR_I32, count, NULL, NULL);
    change(l, &address, NULL, false, count);
    return true;
}

void bl_lower_complete_tx(struct bl_lower *l, const struct bl_lower_address *address, struct bl_kir_value *bytes)
{
    change(l, address, NULL, false, bl_lower_op(l, BL_KIR_OP_neg, NULL, BL_KIR_I32, bytes, NULL, NULL));
}

/* cp.async.mbarrier.arrive: the copies before it are done. Without .noinc it takes back the arrival that it adds. */
bool bl_lower_copy_arrive(struct bl_lower *l, const struct bl_ptx_instr *i)
{
    struct bl_lower_address address;

    if (!HAS(noinc))
        return true;
    if (!bl_lower_address(l, &i->operands[0], bl_lower_space_of(i), false, &address) || address.kind != BL_LOWER_NOWHERE)
        return false;
    change(l, &address, bl_lower_const(l, BL_KIR_I32, 1), false, NULL);
    return true;
}
