/* The rows of table.def by opcode; and which instructions write their first operand. */
#include "lower/internal.h"

const struct bl_lower_row bl_lower_rows[BL_PTX_OPCODE_COUNT] = {
#define ROW(opcode, function, float_function, class, except)                                                                       \
    [BL_PTX_OP_##opcode] = {bl_lower_##function, bl_lower_##float_function, BL_LOWER_##class, except},
#define NOTHING(opcode) [BL_PTX_OP_##opcode] = {NULL, NULL, BL_LOWER_NOTHING, NULL},
#include "table.def"
#undef ROW
#undef NOTHING
};

/* Only needed where an instruction is refused: the table isa.def knows more, but not more about this. */
bool bl_lower_has_destination(const struct bl_ptx_instr *i)
{
    switch (i->op) {
    case BL_PTX_OP_st:
    case BL_PTX_OP_red:
    case BL_PTX_OP_call:
    case BL_PTX_OP_cp:
    case BL_PTX_OP_bra:
    case BL_PTX_OP_brx:
    case BL_PTX_OP_fence:
    case BL_PTX_OP_membar:
    case BL_PTX_OP_prefetch:
    case BL_PTX_OP_prefetchu:
    case BL_PTX_OP_stackrestore:
    case BL_PTX_OP_nanosleep:
    case BL_PTX_OP_stmatrix:
    case BL_PTX_OP_sust:
    case BL_PTX_OP_sured:
        return false;
    case BL_PTX_OP_bar:
    case BL_PTX_OP_barrier:
        return HAS(red);
    case BL_PTX_OP_wmma:
        return !HAS(store);
    default:
        return true;
    }
}

const char *bl_lower_advice(const struct bl_ptx_instr *i)
{
    switch (i->op) {
    case BL_PTX_OP_multimem:
        return "no memory is at one address for several devices here: take the program's path for devices without "
               "CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, or use ld, st and red for each device's own memory";
    case BL_PTX_OP_tensormap:
        return HAS(global_stride) ? "compile with CUDA 12.5 or later, or make this map on the host, by cuTensorMapEncodeTiled"
                                  : "make this map on the host, by cuTensorMapEncodeTiled";
    case BL_PTX_OP_clusterlaunchcontrol:
        return "blocks can't take over others' work here: compile for sm_90, and launch a grid that loops over its work";
    case BL_PTX_OP_cp:
        return HAS(tensor) ? "only tiles are copied by tensor maps: use .tile with a map by cuTensorMapEncodeTiled" : NULL;
    default:
        return NULL;
    }
}
