/* bl_cg_math: one op that only computes to LLVM IR. The files math_*.c do the work, a group of ops each. */
#include "target/cpu/math_build.h"

bool bl_cg_math(struct bl_cg *cg, const struct bl_kir_instr *instr, unsigned width, LLVMValueRef *operands, LLVMValueRef *results)
{
    struct bl_math m = {.cg = cg, .instr = instr, .attr = instr->attr, .width = width, .in = operands, .out = results};

    if (!instr->operand_count || !instr->result_count)
        return false;
    m.type = instr->operands[0]->type;
    m.to = instr->results[0]->type;
    m.bits = bl_kir_type_bits(m.type);
    return bl_math_integer(&m) || bl_math_float(&m) || bl_math_convert(&m);
}
