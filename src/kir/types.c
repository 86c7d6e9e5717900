/* The tables of kir: ops, types, special registers. Anyone may call these; they hold no state. */
#include "kir/kir.h"

/* ops.def writes the flags without their prefix. */
enum {
    READ = BL_KIR_READ,
    WRITE = BL_KIR_WRITE,
    EFFECT = BL_KIR_EFFECT,
    CONVERGENT = BL_KIR_CONVERGENT,
    TERM = BL_KIR_TERM,
    COMMUTE = BL_KIR_COMMUTE,
    UNIFORM = BL_KIR_UNIFORM,
    VARYING = BL_KIR_VARYING,
    WARP_UNIFORM = BL_KIR_WARP_UNIFORM,
};

const struct bl_kir_op_info bl_kir_ops[BL_KIR_OP_COUNT] = {
#define OP(name, operands, results, flags) {#name, operands, results, flags},
#include "ops.def"
#undef OP
};

static const struct {
    const char *name;
    uint32_t bits;
} types[BL_KIR_TYPE_COUNT] = {
    [BL_KIR_VOID] = {"void", 0},      [BL_KIR_PRED] = {"pred", 1}, [BL_KIR_I8] = {"i8", 8},       [BL_KIR_I16] = {"i16", 16},
    [BL_KIR_I32] = {"i32", 32},       [BL_KIR_I64] = {"i64", 64},  [BL_KIR_I128] = {"i128", 128}, [BL_KIR_F16] = {"f16", 16},
    [BL_KIR_BF16] = {"bf16", 16},     [BL_KIR_F32] = {"f32", 32},  [BL_KIR_F64] = {"f64", 64},    [BL_KIR_F16X2] = {"f16x2", 32},
    [BL_KIR_BF16X2] = {"bf16x2", 32},
};

uint32_t bl_kir_type_bits(enum bl_kir_type type)
{
    return type < BL_KIR_TYPE_COUNT ? types[type].bits : 0;
}

const char *bl_kir_type_name(enum bl_kir_type type)
{
    return type < BL_KIR_TYPE_COUNT ? types[type].name : "?";
}

bool bl_kir_type_is_float(enum bl_kir_type type)
{
    return type >= BL_KIR_F16 && type <= BL_KIR_BF16X2;
}

bool bl_kir_type_is_int(enum bl_kir_type type)
{
    return type >= BL_KIR_I8 && type <= BL_KIR_I128;
}

enum bl_kir_type bl_kir_type_int(uint32_t bits)
{
    switch (bits) {
    case 1:
        return BL_KIR_PRED;
    case 8:
        return BL_KIR_I8;
    case 16:
        return BL_KIR_I16;
    case 32:
        return BL_KIR_I32;
    case 64:
        return BL_KIR_I64;
    case 128:
        return BL_KIR_I128;
    default:
        return BL_KIR_VOID;
    }
}

const char *bl_kir_sreg_name(enum bl_kir_sreg sreg)
{
    static const char *const names[BL_KIR_SREG_COUNT] = {
        [BL_KIR_SREG_TID_X] = "tid.x",
        [BL_KIR_SREG_TID_Y] = "tid.y",
        [BL_KIR_SREG_TID_Z] = "tid.z",
        [BL_KIR_SREG_NTID_X] = "ntid.x",
        [BL_KIR_SREG_NTID_Y] = "ntid.y",
        [BL_KIR_SREG_NTID_Z] = "ntid.z",
        [BL_KIR_SREG_CTAID_X] = "ctaid.x",
        [BL_KIR_SREG_CTAID_Y] = "ctaid.y",
        [BL_KIR_SREG_CTAID_Z] = "ctaid.z",
        [BL_KIR_SREG_NCTAID_X] = "nctaid.x",
        [BL_KIR_SREG_NCTAID_Y] = "nctaid.y",
        [BL_KIR_SREG_NCTAID_Z] = "nctaid.z",
        [BL_KIR_SREG_LANEID] = "laneid",
        [BL_KIR_SREG_WARPID] = "warpid",
        [BL_KIR_SREG_NWARPID] = "nwarpid",
        [BL_KIR_SREG_SMID] = "smid",
        [BL_KIR_SREG_NSMID] = "nsmid",
        [BL_KIR_SREG_GRIDID] = "gridid",
        [BL_KIR_SREG_LANEMASK_EQ] = "lanemask_eq",
        [BL_KIR_SREG_LANEMASK_LE] = "lanemask_le",
        [BL_KIR_SREG_LANEMASK_LT] = "lanemask_lt",
        [BL_KIR_SREG_LANEMASK_GE] = "lanemask_ge",
        [BL_KIR_SREG_LANEMASK_GT] = "lanemask_gt",
        [BL_KIR_SREG_CLOCK] = "clock",
        [BL_KIR_SREG_CLOCK_HI] = "clock_hi",
        [BL_KIR_SREG_CLOCK64] = "clock64",
        [BL_KIR_SREG_GLOBALTIMER] = "globaltimer",
        [BL_KIR_SREG_GLOBALTIMER_LO] = "globaltimer_lo",
        [BL_KIR_SREG_GLOBALTIMER_HI] = "globaltimer_hi",
        [BL_KIR_SREG_DYNAMIC_SMEM_SIZE] = "dynamic_smem_size",
        [BL_KIR_SREG_TOTAL_SMEM_SIZE] = "total_smem_size",
        [BL_KIR_SREG_AGGR_SMEM_SIZE] = "aggr_smem_size",
        [BL_KIR_SREG_CLUSTERID_X] = "clusterid.x",
        [BL_KIR_SREG_CLUSTERID_Y] = "clusterid.y",
        [BL_KIR_SREG_CLUSTERID_Z] = "clusterid.z",
        [BL_KIR_SREG_NCLUSTERID_X] = "nclusterid.x",
        [BL_KIR_SREG_NCLUSTERID_Y] = "nclusterid.y",
        [BL_KIR_SREG_NCLUSTERID_Z] = "nclusterid.z",
        [BL_KIR_SREG_CLUSTER_CTAID_X] = "cluster_ctaid.x",
        [BL_KIR_SREG_CLUSTER_CTAID_Y] = "cluster_ctaid.y",
        [BL_KIR_SREG_CLUSTER_CTAID_Z] = "cluster_ctaid.z",
        [BL_KIR_SREG_CLUSTER_NCTAID_X] = "cluster_nctaid.x",
        [BL_KIR_SREG_CLUSTER_NCTAID_Y] = "cluster_nctaid.y",
        [BL_KIR_SREG_CLUSTER_NCTAID_Z] = "cluster_nctaid.z",
        [BL_KIR_SREG_CLUSTER_CTARANK] = "cluster_ctarank",
        [BL_KIR_SREG_CLUSTER_NCTARANK] = "cluster_nctarank",
        [BL_KIR_SREG_IS_EXPLICIT_CLUSTER] = "is_explicit_cluster",
        [BL_KIR_SREG_PM] = "pm",
        [BL_KIR_SREG_ENVREG] = "envreg",
    };
    return sreg < BL_KIR_SREG_COUNT ? names[sreg] : "?";
}
