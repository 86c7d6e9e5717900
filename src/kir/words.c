/* Which attributes each op has and the words for them in the text form: the tables behind print.c, parse.c and validate.c. */
#include "kir/text.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__})
#define ENUM(field, ...)                                                                                                           \
    {                                                                                                                              \
        offsetof(struct bl_kir_attr, field), 0, BL_LEN(WORDS(__VA_ARGS__)), WORDS(__VA_ARGS__)                                     \
    }
#define FLAG(field, word)                                                                                                          \
    {                                                                                                                              \
        offsetof(struct bl_kir_attr, field), 1, 1, WORDS(word)                                                                     \
    }

_Static_assert(sizeof(bool) == 1 && offsetof(struct bl_kir_attr, aligned) < 256, "fields are bytes with a byte's offset");

const struct bl_kir_field bl_kir_fields[BL_KIR_FIELD_COUNT] = {
    [BL_KIR_FIELD_SPACE] = ENUM(space, "generic", "global", "shared", "local", "const", "param"),
    [BL_KIR_FIELD_ORDER] = ENUM(order, "weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "seq_cst"),
    [BL_KIR_FIELD_SCOPE] = ENUM(scope, "cta", "cluster", "gpu", "sys"),
    [BL_KIR_FIELD_CACHE] = ENUM(cache, "cached", "streaming"),
    [BL_KIR_FIELD_NC] = FLAG(nc, "nc"),
    [BL_KIR_FIELD_ATOM] = ENUM(atom, "exch", "cas", "add", "fadd", "inc", "dec", "min_s", "min_u", "max_s", "max_u", "and", "or",
                               "xor", "fmin", "fmax"),
    [BL_KIR_FIELD_SHFL] = ENUM(shfl, "up", "down", "bfly", "idx"),
    [BL_KIR_FIELD_VOTE] = ENUM(vote, "all", "any", "uni", "ballot", "popc"),
    [BL_KIR_FIELD_PRMT] = ENUM(prmt, "index", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"),
    [BL_KIR_FIELD_TESTP] = ENUM(testp, "finite", "infinite", "number", "notanumber", "normal", "subnormal"),
    [BL_KIR_FIELD_CMP] = ENUM(cmp, "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu",
                              "geu", "num", "nan"),
    [BL_KIR_FIELD_ROUND] = ENUM(round, "rn", "rz", "rm", "rp", "rna"),
    [BL_KIR_FIELD_APPROX] = FLAG(approx, "approx"),
    [BL_KIR_FIELD_FULL] = FLAG(full, "full"),
    [BL_KIR_FIELD_FTZ] = FLAG(ftz, "ftz"),
    [BL_KIR_FIELD_SAT] = FLAG(sat, "sat"),
    [BL_KIR_FIELD_NAN] = FLAG(nan, "NaN"),
    [BL_KIR_FIELD_RELU] = FLAG(relu, "relu"),
    [BL_KIR_FIELD_XORSIGN] = FLAG(xorsign, "xorsign"),
    [BL_KIR_FIELD_WRAP] = FLAG(wrap, "wrap"),
    [BL_KIR_FIELD_SHIFTAMT] = FLAG(shiftamt, "shiftamt"),
    [BL_KIR_FIELD_A_SIGNED] = FLAG(a_signed, "a_signed"),
    [BL_KIR_FIELD_B_SIGNED] = FLAG(b_signed, "b_signed"),
    [BL_KIR_FIELD_HI] = FLAG(hi, "upper"),
    [BL_KIR_FIELD_ARRIVE] = FLAG(arrive, "arrive"),
    [BL_KIR_FIELD_ALIGNED] = FLAG(aligned, "aligned"),
    [BL_KIR_FIELD_TYPE] =
        ENUM(type, "void", "pred", "i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32", "f64", "f16x2", "bf16x2"),
};

#define F(name) ((uint32_t)1 << BL_KIR_FIELD_##name)
/* Rounding and kin of float arithmetic. */
#define FLOAT (F(ROUND) | F(FTZ) | F(SAT) | F(RELU) | F(NAN))
#define ACCESS (F(SPACE) | F(ORDER) | F(SCOPE) | F(CACHE) | F(NC) | F(TYPE) | BL_KIR_HAS_IMM | BL_KIR_HAS_VEC | BL_KIR_HAS_ALIGN)

static const struct {
    uint32_t attrs, shown;
} table[BL_KIR_OP_COUNT] = {
    [BL_KIR_OP_const] = {BL_KIR_HAS_IMM, 0},
    [BL_KIR_OP_addrof] = {BL_KIR_HAS_IMM | BL_KIR_HAS_SYMBOL, 0},
    [BL_KIR_OP_frame] = {BL_KIR_HAS_IMM, 0},
    [BL_KIR_OP_sreg] = {BL_KIR_HAS_IMM, 0},
    [BL_KIR_OP_add] = {F(SAT), 0},
    [BL_KIR_OP_sub] = {F(SAT), 0},
    [BL_KIR_OP_funnel_l] = {F(WRAP), 0},
    [BL_KIR_OP_funnel_r] = {F(WRAP), 0},
    [BL_KIR_OP_bfind_s] = {F(SHIFTAMT), 0},
    [BL_KIR_OP_bfind_u] = {F(SHIFTAMT), 0},
    [BL_KIR_OP_bmsk] = {F(WRAP), 0},
    [BL_KIR_OP_szext_s] = {F(WRAP), 0},
    [BL_KIR_OP_szext_u] = {F(WRAP), 0},
    [BL_KIR_OP_prmt] = {F(PRMT), F(PRMT)},
    [BL_KIR_OP_lop3] = {BL_KIR_HAS_IMM, BL_KIR_HAS_IMM},
    [BL_KIR_OP_dp4a] = {F(A_SIGNED) | F(B_SIGNED), 0},
    [BL_KIR_OP_dp2a] = {F(A_SIGNED) | F(B_SIGNED) | F(HI), 0},
    [BL_KIR_OP_fadd] = {FLOAT, F(ROUND)},
    [BL_KIR_OP_fsub] = {FLOAT, F(ROUND)},
    [BL_KIR_OP_fmul] = {FLOAT, F(ROUND)},
    [BL_KIR_OP_ffma] = {FLOAT, F(ROUND)},
    [BL_KIR_OP_fdiv] = {FLOAT | F(APPROX) | F(FULL), F(ROUND)},
    [BL_KIR_OP_fmin] = {F(FTZ) | F(NAN) | F(XORSIGN) | F(RELU), 0},
    [BL_KIR_OP_fmax] = {F(FTZ) | F(NAN) | F(XORSIGN) | F(RELU), 0},
    [BL_KIR_OP_fneg] = {F(FTZ), 0},
    [BL_KIR_OP_fabs] = {F(FTZ), 0},
    [BL_KIR_OP_fsqrt] = {FLOAT | F(APPROX), F(ROUND)},
    [BL_KIR_OP_frcp] = {FLOAT | F(APPROX), F(ROUND)},
    [BL_KIR_OP_frsqrt] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_fsin] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_fcos] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_flg2] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_fex2] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_ftanh] = {FLOAT | F(APPROX), 0},
    [BL_KIR_OP_ftestp] = {F(TESTP), F(TESTP)},
    [BL_KIR_OP_icmp] = {F(CMP), F(CMP)},
    [BL_KIR_OP_fcmp] = {F(CMP) | F(FTZ), F(CMP)},
    [BL_KIR_OP_fcmp2] = {F(CMP) | F(FTZ), F(CMP)},
    [BL_KIR_OP_itof_s] = {F(ROUND) | F(SAT), F(ROUND)},
    [BL_KIR_OP_itof_u] = {F(ROUND) | F(SAT), F(ROUND)},
    [BL_KIR_OP_ftoi_s] = {F(ROUND) | F(FTZ) | F(SAT), F(ROUND)},
    [BL_KIR_OP_ftoi_u] = {F(ROUND) | F(FTZ) | F(SAT), F(ROUND)},
    [BL_KIR_OP_ftof] = {F(ROUND) | F(FTZ) | F(SAT) | F(RELU) | F(NAN), F(ROUND)},
    [BL_KIR_OP_frint] = {F(ROUND) | F(FTZ) | F(SAT), F(ROUND)},
    [BL_KIR_OP_isat_s] = {F(A_SIGNED), 0},
    [BL_KIR_OP_isat_u] = {F(A_SIGNED), 0},
    [BL_KIR_OP_to_generic] = {F(SPACE), F(SPACE)},
    [BL_KIR_OP_from_generic] = {F(SPACE), F(SPACE)},
    [BL_KIR_OP_isspacep] = {F(SPACE), F(SPACE)},
    [BL_KIR_OP_load] = {ACCESS, F(SPACE) | F(TYPE)},
    [BL_KIR_OP_store] = {ACCESS, F(SPACE) | F(TYPE)},
    [BL_KIR_OP_param] = {F(TYPE) | F(SPACE) | BL_KIR_HAS_IMM | BL_KIR_HAS_VEC | BL_KIR_HAS_ALIGN, F(TYPE)},
    [BL_KIR_OP_atomic] = {ACCESS | F(ATOM) | F(ROUND) | F(FTZ) | F(NAN), F(SPACE) | F(TYPE) | F(ATOM)},
    [BL_KIR_OP_reduce] = {ACCESS | F(ATOM) | F(ROUND) | F(FTZ) | F(NAN), F(SPACE) | F(TYPE) | F(ATOM)},
    [BL_KIR_OP_fence] = {F(ORDER) | F(SCOPE), F(ORDER) | F(SCOPE)},
    [BL_KIR_OP_prefetch] = {ACCESS, F(SPACE)},
    [BL_KIR_OP_texture] = {BL_KIR_HAS_IMM, BL_KIR_HAS_IMM},
    [BL_KIR_OP_surface] = {BL_KIR_HAS_IMM, BL_KIR_HAS_IMM},
    [BL_KIR_OP_matrix] = {BL_KIR_HAS_IMM, BL_KIR_HAS_IMM},
    [BL_KIR_OP_bulk] = {BL_KIR_HAS_IMM, BL_KIR_HAS_IMM},
    [BL_KIR_OP_shfl] = {F(SHFL), F(SHFL)},
    [BL_KIR_OP_vote] = {F(VOTE), F(VOTE)},
    [BL_KIR_OP_redux] = {F(ATOM) | F(TYPE) | F(NAN), F(ATOM)},
    [BL_KIR_OP_barrier] = {F(ARRIVE) | F(ALIGNED), 0},
    [BL_KIR_OP_cluster_barrier] = {F(ARRIVE) | F(ALIGNED), 0},
    [BL_KIR_OP_barrier_red] = {F(VOTE) | F(ALIGNED), F(VOTE)},
    [BL_KIR_OP_alloca] = {BL_KIR_HAS_ALIGN, 0},
};

uint32_t bl_kir_op_attrs(enum bl_kir_op op)
{
    return table[op].attrs;
}

uint32_t bl_kir_op_shown(enum bl_kir_op op)
{
    return table[op].shown;
}

bool bl_kir_op_has_vec(enum bl_kir_op op)
{
    return op == BL_KIR_OP_load || op == BL_KIR_OP_store || op == BL_KIR_OP_param;
}

bool bl_kir_op_has_address(enum bl_kir_op op)
{
    return op == BL_KIR_OP_load || op == BL_KIR_OP_store || op == BL_KIR_OP_atomic || op == BL_KIR_OP_reduce ||
           op == BL_KIR_OP_prefetch;
}

bool bl_kir_is_plain_name(const char *name)
{
    if (!name || !*name || (*name >= '0' && *name <= '9'))
        return false;
    for (; *name; name++)
        if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9') || *name == '_' ||
              *name == '$'))
            return false;
    return true;
}
