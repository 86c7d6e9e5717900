/* Room ptx: trees of small texts, constants, initialisers, scopes, slices, the places of faults, hostile texts, memory running
 * out. What whole files of real compilers give is tested by tests/ptx. */
#include "ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#define HEADER ".version 8.7\n.target sm_90a\n.address_size 64\n"

static struct bl_ptx_module *parse_flags(struct bl_arena *arena, const char *text, uint32_t flags)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module = NULL;
    if (bl_ptx_parse(arena, bl_sv(text), "test", flags, &module, &error) != BL_OK)
        fail_msg("%s", error.message);
    return module;
}

static struct bl_ptx_module *parse(struct bl_arena *arena, const char *text)
{
    return parse_flags(arena, bl_arena_printf(arena, "%s%s", HEADER, text), 0);
}

/* The instructions of a kernel that has these statements, and a few registers. */
static struct bl_ptx_func *parse_kernel(struct bl_arena *arena, const char *statements)
{
    struct bl_ptx_module *module = parse(
        arena, bl_arena_printf(arena,
                               ".global .align 8 .b64 glob[8]; .global .texref tx; .global .samplerref sm;\n"
                               ".extern .func (.param .b32 r) callee (.param .b64 a, .param .b32 b);\n"
                               ".entry k (.param .u64 ptr, .param .align 8 .b8 box[24])\n{ .reg .b32 %%r<20>; .reg .b64 %%rd<9>; "
                               ".reg .pred %%p<4>; .reg .f32 %%f<9>; .reg .v4 .f32 vec; .reg .b32 a, b; .reg .b16 h;\n%s\n}\n",
                               statements));
    return bl_ptx_find_func(module, bl_sv("k"));
}

static const struct bl_ptx_instr *instruction(const struct bl_ptx_func *func, uint32_t n)
{
    for (uint32_t s = 0; s < func->statements.count; s++)
        if (func->statements.items[s].kind == BL_PTX_INSTR && n-- == 0)
            return func->statements.items[s].instr;
    fail_msg("too few instructions");
    return NULL;
}

#define assert_sv(view, text) assert_true(bl_sv_is(view, text))

/* ---- trees ------------------------------------------------------------------------------------ */

static void header_and_functions(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_module *m;
    struct bl_ptx_func *f;

    bl_arena_init(&arena);
    m = parse_flags(
        &arena,
        "// a comment\n.version 8.3\n.target sm_100f, debug\n.address_size 64\n.file 1 \"a.cu\", 12, 34\n"
        ".file 2 \"b.cu\"\n.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
        ".weak .func (.param .align 16 .b8 r[32]) pair (.param .b64 x) .noreturn;\n"
        ".visible .entry k(.param .u64 .ptr .global .align 16 p, .param .u8 c, .param .align 8 .b8 s[12], .param .u64 d)\n"
        ".maxntid 128, 2\n.reqntid 64\n.minnctapersm 2 .maxnreg 80 .reqnctapercluster 2, 1, 1 .maxclusterrank 4\n"
        ".explicitcluster\n{ .loc 1 7 9, function_name $L__f, inlined_at 2 3 4\n ret; }\n"
        ".section .debug_str { $L__f: .b8 107, 0\n .b64 $L__f }\n",
        0);
    assert_int_equal(m->version, 83);
    assert_int_equal(m->sm, 100);
    assert_int_equal(m->sm_suffix, 'f');
    assert_sv(m->target, "sm_100f");
    assert_true(m->debug);
    assert_int_equal(m->files.count, 2);
    assert_sv(m->files.items[1].name, "b.cu");
    assert_int_equal(m->funcs.count, 3);
    f = bl_ptx_find_func(m, bl_sv("pair"));
    assert_true(f->noreturn && !f->has_body && !f->is_entry && f->linking == BL_PTX_WEAK && f->number == 2);
    assert_int_equal(f->returns.items[0]->size, 32);
    assert_int_equal(f->returns.items[0]->align, 16);
    f = bl_ptx_find_func(m, bl_sv("k"));
    assert_true(f->is_entry && f->has_body && f->body_parsed && f->linking == BL_PTX_VISIBLE && f->explicit_cluster);
    assert_int_equal(f->maxntid[0] * 1000 + f->maxntid[1] * 10 + f->maxntid[2], 128021);
    assert_int_equal(f->reqntid[0], 64);
    assert_int_equal(f->reqnctapercluster[0], 2);
    assert_int_equal(f->minnctapersm + f->maxnreg + f->maxclusterrank, 86);
    assert_int_equal(f->params.items[0]->ptr_align, 16);
    assert_int_equal(f->params.items[0]->ptr_space, BL_PTX_GLOBAL);
    assert_int_equal(bl_ptx_param_offset(f, 1), 8);
    assert_int_equal(bl_ptx_param_offset(f, 2), 16);
    assert_int_equal(bl_ptx_param_offset(f, 3), 32);
    assert_int_equal(bl_ptx_param_offset(f, 4), 40);
    assert_int_equal(f->statements.items[0].kind, BL_PTX_LOC);
    assert_int_equal(f->statements.items[0].line, 7);
    assert_int_equal(f->statements.items[1].loc.line, 15);
    assert_null(bl_ptx_find_func(m, bl_sv("none")));
    assert_null(bl_ptx_find_variable(m, bl_sv("k")));
    bl_arena_cleanup(&arena);
    (void)state;
}

static void operands(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_func *f;
    const struct bl_ptx_instr *i;

    bl_arena_init(&arena);
    f = parse_kernel(&arena, "@!%p1 add.sat.s32 %r1, %r2, -5;\n"
                             "ld.global.v4.f32 {%f1, _, %f3, %f4}, [%rd1+-16];\n"
                             "shfl.sync.idx.b32 %r3|%p2, %r1, 0, 31, -1;\n"
                             "setp.lt.and.s32 %p1|_, a, b, !%p2;\n"
                             "mov.f32 %f1, vec.y;\n"
                             "mov.u32 %r1, %tid.z;\n"
                             "mov.u64 %rd1, glob+8;\n"
                             "ld.u64 %rd2, [glob+16];\n"
                             "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tx, sm, {%r1, %r2}];\n"
                             "ld.param.u32 %r1, [box+12];\n"
                             "ld.global.u64 %rd2, glob[3];\n"
                             "mov.u32 %r1, WARP_SZ;\n"
                             "mov.f64 %rd2, 1.5;\n"
                             "mov.f32 %f1, -0f3F800000;\n"
                             "mov.f32 %f1, .5e-1;\n"
                             "ret;");
    i = instruction(f, 0);
    assert_int_equal(i->op, BL_PTX_OP_add);
    assert_true(i->guard && i->guard_negated && bl_sv_is(i->guard->name, "%p1"));
    assert_true(bl_ptx_has(i, BL_PTX_MOD_sat) && !bl_ptx_has(i, BL_PTX_MOD_ftz));
    assert_int_equal(i->types[0], BL_PTX_S32);
    assert_sv(i->text, "add.sat.s32 %r1, %r2, -5");
    assert_true(i->operands[2].kind == BL_PTX_INT && i->operands[2].bits == (uint64_t)-5 && !i->operands[2].is_unsigned);
    assert_int_equal(i->operands[2].loc.column, 29);
    i = instruction(f, 1);
    assert_int_equal(i->operands[0].kind, BL_PTX_VECTOR);
    assert_int_equal(i->operands[0].item_count, 4);
    assert_int_equal(i->operands[0].items[1].kind, BL_PTX_SINK);
    assert_true(i->operands[1].kind == BL_PTX_ADDRESS && i->operands[1].offset == -16);
    i = instruction(f, 2);
    assert_true(i->operand_count == 5 && i->operands[0].kind == BL_PTX_PAIR && i->operands[0].item_count == 2);
    i = instruction(f, 3);
    assert_int_equal(i->operands[0].items[1].kind, BL_PTX_SINK);
    assert_true(i->operands[3].negated);
    assert_int_equal(instruction(f, 4)->operands[1].component, 2);
    i = instruction(f, 5);
    assert_true(i->operands[1].symbol->kind == BL_PTX_SYM_SREG && i->operands[1].component == 3);
    i = instruction(f, 6);
    assert_true(i->operands[1].kind == BL_PTX_SYMBOL && i->operands[1].offset == 8);
    i = instruction(f, 7);
    assert_true(i->operands[1].kind == BL_PTX_ADDRESS && i->operands[1].offset == 16);
    i = instruction(f, 8);
    assert_true(i->operands[1].kind == BL_PTX_TEX_ADDRESS && i->operands[1].item_count == 3);
    assert_int_equal(i->operands[1].items[2].kind, BL_PTX_VECTOR);
    assert_int_equal(instruction(f, 9)->operands[1].symbol->kind, BL_PTX_SYM_PARAM);
    i = instruction(f, 10);
    assert_true(i->operands[1].kind == BL_PTX_ADDRESS && i->operands[1].offset == 24);
    assert_int_equal(instruction(f, 11)->operands[1].bits, 32);
    i = instruction(f, 12);
    assert_true(i->operands[1].float_type == BL_PTX_F64 && i->operands[1].bits == UINT64_C(0x3ff8000000000000));
    i = instruction(f, 13);
    assert_true(i->operands[1].float_type == BL_PTX_F32 && i->operands[1].bits == 0xbf800000);
    assert_true(instruction(f, 14)->operands[1].bits == UINT64_C(0x3fa999999999999a));
    /* only what is mentioned has an index */
    assert_true(f->reg_count < 30);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void calls_and_labels(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_func *f;
    const struct bl_ptx_instr *i;
    const struct bl_ptx_symbol *inner, *outer;

    bl_arena_init(&arena);
    f = parse_kernel(&arena, "{ .param .b64 x; .param .b32 y; .param .b32 z; call.uni (z), callee, (x, y); }\n"
                             "pr: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
                             "mov.u64 %rd1, callee; call (%r1), %rd1, (%rd2, 7), pr;\n"
                             "ts: .branchtargets L1, L2; brx.idx %r1, ts;\n"
                             "L1: { L2: bra L2; { bra L3; bra OUT; } L3: bra L1; }\n"
                             "L2: bra L2;\nOUT: ret;");
    i = instruction(f, 0);
    assert_true(i->operands[0].symbol->kind == BL_PTX_SYM_FUNC && i->return_count == 1 && i->arg_count == 2);
    assert_true(i->returns[0].symbol->kind == BL_PTX_SYM_VAR && i->returns[0].symbol->space == BL_PTX_PARAM);
    i = instruction(f, 2);
    assert_true(i->operands[0].symbol->kind == BL_PTX_SYM_REG && i->prototype->kind == BL_PTX_SYM_PROTO);
    assert_int_equal(i->prototype->proto->params.count, 2);
    assert_int_equal(i->args[1].bits, 7);
    assert_true(f->has_indirect_call);
    i = instruction(f, 3);
    assert_int_equal(i->operands[1].symbol->targets.count, 2);
    outer = i->operands[1].symbol->targets.items[1];
    inner = instruction(f, 4)->operands[0].symbol;
    assert_true(inner != outer && bl_sv_equal(inner->name, outer->name));
    assert_ptr_equal(instruction(f, 8)->operands[0].symbol, outer);
    assert_ptr_equal(instruction(f, 7)->operands[0].symbol, i->operands[1].symbol->targets.items[0]);
    assert_int_equal(instruction(f, 5)->operands[0].symbol->loc.line, instruction(f, 7)->loc.line);
    assert_int_equal(instruction(f, 6)->operands[0].symbol->loc.line, instruction(f, 9)->loc.line);
    assert_int_equal(f->label_count, 5);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void scopes_of_registers(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_func *f;

    bl_arena_init(&arena);
    f = parse_kernel(&arena, ".reg .b32 %q1<4>; mov.u32 %q12, %r1; { .reg .b32 %r<3>; mov.u32 %r1, %r19; { .reg .f32 %r1; "
                             "mov.f32 %r1, %f1; } mov.u32 %r1, 0; } mov.u32 %r1, 1;");
    assert_true(instruction(f, 1)->operands[0].symbol != instruction(f, 0)->operands[1].symbol);
    assert_int_equal(instruction(f, 2)->operands[0].symbol->type, BL_PTX_F32);
    assert_ptr_equal(instruction(f, 3)->operands[0].symbol, instruction(f, 1)->operands[0].symbol);
    assert_ptr_equal(instruction(f, 4)->operands[0].symbol, instruction(f, 0)->operands[1].symbol);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void constants(void **state)
{
    static const struct {
        const char *text;
        uint64_t bits;
        bool is_unsigned;
    } cases[] = {
        {"017", 15, false},
        {"0x1F", 31, false},
        {"0b101U", 5, true},
        {"0xFFFFFFFFFFFFFFFF", UINT64_MAX, true},
        {"-9223372036854775808", UINT64_C(1) << 63, false},
        {"1+2*3-4/2", 5, false},
        {"(1+2)*3", 9, false},
        {"-7/2", (uint64_t)-3, false},
        {"-7 % 3", (uint64_t)-1, false},
        {"-1>>1", UINT64_MAX, false},
        {"0xFFFFFFFFFFFFFFFF>>1", UINT64_MAX >> 1, true},
        {"-1 < 1", 1, false},
        {"-1 < 1U", 0, false},
        {"1 ? 2 : 3", 2, false},
        {"0 ? 2 : 0 ? 4 : 5", 5, false},
        {"~0 & 0xFF ^ 0x0F | 0x100", 0x1F0, false},
        {"!0 + !5", 1, false},
        {"1 << 2 == 4 && 3 >= 3 || 0", 1, false},
        {"1.5 < 2", 1, false},
        {"(.u64)-1 / 2", UINT64_MAX / 2, true},
        {"(.s64)0xFFFFFFFFFFFFFFFF / 1", UINT64_MAX, false},
        {"WARP_SZ-1", 31, false},
    };
    for (size_t c = 0; c < BL_LEN(cases); c++) {
        struct bl_arena arena;
        struct bl_ptx_func *f;
        const struct bl_ptx_operand *value;
        bl_arena_init(&arena);
        f = parse_kernel(&arena, bl_arena_printf(&arena, "mov.b64 %%rd1, %s;", cases[c].text));
        value = &instruction(f, 0)->operands[1];
        if (value->kind != BL_PTX_INT || value->bits != cases[c].bits || value->is_unsigned != cases[c].is_unsigned)
            fail_msg("%s gives %lld", cases[c].text, (long long)value->bits);
        bl_arena_cleanup(&arena);
    }
    (void)state;
}

static void variables(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_module *m;
    struct bl_ptx_symbol *v;

    bl_arena_init(&arena);
    m = parse(&arena,
              ".extern .shared .align 16 .b8 dynamic[];\n.visible .global .attribute(.managed) .align 4 .u32 managed;\n"
              ".const .f32 reals[3] = {1.5, 0f40000000, 3};\n.global .v4 .f32 four = {1.0, 2.0, 3.0, 4.0};\n"
              ".global .align 2 .u16 grid[2][3] = {{1, 2}, {4}}, flat[2][2] = {1, 2, 3};\n.global .s8 open[] = {-1, 2, 0xFFF};\n"
              ".global .u32 open2[][2] = {{1}, {2, 3}, {4}};\n.func callee() { ret; }\n"
              ".global .align 8 .u64 table[4] = {callee, generic(grid)+2, reals-4, -1};\n"
              ".global .b8 bytes[2] = {0xFF(table), 0xFF00(generic(table))};\n.global .u32 one = {7};\n"
              ".global .f64 real = -0.5;\n.extern .global .u32 late;\n.visible .global .u32 late = 5;\n");
    v = bl_ptx_find_variable(m, bl_sv("dynamic"));
    assert_true(v->size == 0 && v->is_array && v->elements == 0 && v->align == 16 && v->linking == BL_PTX_EXTERN);
    assert_true(bl_ptx_find_variable(m, bl_sv("managed"))->is_managed);
    v = bl_ptx_find_variable(m, bl_sv("reals"));
    assert_int_equal(v->inits.items[0].bits, 0x3fc00000);
    assert_int_equal(v->inits.items[1].bits, 0x40000000);
    assert_int_equal(v->inits.items[2].bits, 0x40400000);
    assert_int_equal(v->inits.items[2].offset, 8);
    v = bl_ptx_find_variable(m, bl_sv("four"));
    assert_true(v->align == 16 && v->size == 16 && v->inits.count == 4 && v->inits.items[3].offset == 12);
    v = bl_ptx_find_variable(m, bl_sv("grid"));
    assert_true(v->size == 12 && v->dims.count == 2 && v->inits.count == 3 && v->inits.items[2].offset == 6);
    v = bl_ptx_find_variable(m, bl_sv("flat"));
    assert_true(v->inits.count == 3 && v->inits.items[2].offset == 4);
    v = bl_ptx_find_variable(m, bl_sv("open"));
    assert_true(v->size == 3 && v->dims.items[0] == 3 && v->inits.items[0].bits == 0xff && v->inits.items[2].bits == 0xff);
    v = bl_ptx_find_variable(m, bl_sv("open2"));
    assert_true(v->size == 24 && v->dims.items[0] == 3 && v->inits.count == 4 && v->inits.items[3].offset == 16);
    v = bl_ptx_find_variable(m, bl_sv("table"));
    assert_int_equal(v->inits.items[0].symbol->kind, BL_PTX_SYM_FUNC);
    assert_true(v->inits.items[1].generic && v->inits.items[1].bits == 2);
    assert_true(!v->inits.items[2].generic && v->inits.items[2].bits == (uint64_t)-4);
    assert_true(!v->inits.items[3].symbol && v->inits.items[3].bits == UINT64_MAX);
    assert_true(bl_ptx_find_func(m, bl_sv("callee"))->address_taken);
    v = bl_ptx_find_variable(m, bl_sv("bytes"));
    assert_true(v->inits.items[0].mask == 0xff && v->inits.items[1].mask == 0xff00 && v->inits.items[1].generic);
    assert_int_equal(bl_ptx_find_variable(m, bl_sv("one"))->inits.items[0].bits, 7);
    assert_true(bl_ptx_find_variable(m, bl_sv("real"))->inits.items[0].bits == UINT64_C(0xbfe0000000000000));
    v = bl_ptx_find_variable(m, bl_sv("late"));
    assert_true(v->linking == BL_PTX_VISIBLE && v->has_init);
    bl_arena_cleanup(&arena);
    (void)state;
}

/* ---- slices ------------------------------------------------------------------------------------ */

static const char first_module[] = HEADER
    ".global .align 4 .u32 unused = 1;\n.global .align 4 .u32 counter[2] = {1, 2};\n.const .f32 scale = 2.0;\n"
    ".shared .align 8 .b8 room[64];\n.func other() { ret; }\n"
    ".func (.param .b32 r) leaf (.param .b32 a)\n{ .reg .b32 %r<3>; .shared .b32 add[4]; ld.param.b32 %r1, [a];\n"
    " st.param.b32 [r], %r1; ret; }\n"
    ".func (.param .b32 r) middle (.param .b32 a);\n"
    ".visible .entry second() { ret; }\n"
    "\n.visible .entry kernel(.param .u64 p)\n{ .reg .b64 %rd<9>; .reg .b32 %r<4>; mov.u64 %rd1, room; ld.const.f32 %r1, [scale];\n"
    " { .param .b32 x; .param .b32 y; call (y), middle, (x); }\n ret; }\n"
    ".func (.param .b32 r) middle (.param .b32 a)\n{ .reg .b64 %rd<2>; mov.u64 %rd1, counter;\n"
    " { .param .b32 x; .param .b32 y; call (y), leaf, (x); } ret; }\n";
/* the same kernel among other things */
static const char second_module[] = HEADER
    ".const .f32 scale = 3.0;\n.shared .align 8 .b8 room[64];\n.global .align 4 .u32 counter[2];\n"
    ".func (.param .b32 r) leaf (.param .b32 a)\n{ .reg .b32 %r<3>; .shared .b32 add[4]; ld.param.b32 %r1, [a];\n"
    " st.param.b32 [r], %r1; ret; }\n"
    ".func (.param .b32 r) middle (.param .b32 a);\n"
    ".visible .entry kernel(.param .u64 p)\n{ .reg .b64 %rd<9>; .reg .b32 %r<4>; mov.u64 %rd1, room; ld.const.f32 %r1, [scale];\n"
    " { .param .b32 x; .param .b32 y; call (y), middle, (x); }\n ret; }\n"
    ".func (.param .b32 r) middle (.param .b32 a)\n{ .reg .b64 %rd<2>; mov.u64 %rd1, counter;\n"
    " { .param .b32 x; .param .b32 y; call (y), leaf, (x); } ret; }\n";

static char *slice(struct bl_arena *arena, struct bl_ptx_module *module, const char *kernel)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer out = {0};
    char *text;
    if (bl_ptx_slice(module, bl_ptx_find_func(module, bl_sv(kernel)), &out, &error) != BL_OK)
        fail_msg("%s", error.message);
    text = bl_sv_copy(arena, (struct bl_sv){out.data, out.size});
    bl_buffer_cleanup(&out);
    return text;
}

/* The text without its "//bl." lines. */
static char *without_notes(struct bl_arena *arena, const char *text)
{
    char *copy = bl_arena_printf(arena, "%s", text), *out = copy;
    for (const char *at = text, *stop; *at; at = stop) {
        stop = strchr(at, '\n') ? strchr(at, '\n') + 1 : at + strlen(at);
        if (strncmp(at, "//bl.", 5) != 0) {
            memcpy(out, at, (size_t)(stop - at));
            out += stop - at;
        }
    }
    *out = 0;
    return copy;
}

static void slices(void **state)
{
    struct bl_arena arena;
    struct bl_ptx_module *first, *again, *lazy;
    struct bl_ptx_symbol *counter;
    char *text;

    bl_arena_init(&arena);
    first = parse_flags(&arena, first_module, 0);
    lazy = parse_flags(&arena, first_module, BL_PTX_LAZY);
    text = slice(&arena, first, "kernel");
    assert_string_equal(text, slice(&arena, lazy, "kernel"));
    assert_null(strstr(text, "unused"));
    assert_null(strstr(text, "other"));
    assert_null(strstr(text, "second"));
    assert_non_null(strstr(text, ".shared .align 8 .b8 room[64];"));
    assert_non_null(strstr(text, "//bl.func middle 3\n"));
    again = parse_flags(&arena, text, 0);
    assert_int_equal(again->funcs.count, 3);
    counter = bl_ptx_find_variable(again, bl_sv("counter"));
    assert_true(counter->linking == BL_PTX_EXTERN && !counter->has_init && counter->size == 8 && counter->align == 4);
    /* numbers and lines of the whole text */
    for (uint32_t f = 0; f < again->funcs.count; f++) {
        struct bl_ptx_func *a = again->funcs.items[f], *b = bl_ptx_find_func(first, a->name);
        assert_true(a->number == b->number && a->has_body && a->loc.line == b->loc.line);
        assert_true(a->statements.items[2].loc.line == b->statements.items[2].loc.line);
    }
    /* a slice of the slice is the slice; what else the module holds changes the notes only */
    assert_string_equal(text, slice(&arena, again, "kernel"));
    bl_arena_cleanup(&arena);
    (void)state;
}

static void slices_depend_on_the_kernel_alone(void **state)
{
    struct bl_arena arena;
    char *a, *b;

    bl_arena_init(&arena);
    a = slice(&arena, parse_flags(&arena, first_module, BL_PTX_LAZY), "kernel");
    b = slice(&arena, parse_flags(&arena, second_module, BL_PTX_LAZY), "kernel");
    assert_string_not_equal(a, b);
    assert_string_equal(without_notes(&arena, a), without_notes(&arena, b));
    bl_arena_cleanup(&arena);
    (void)state;
}

static void indirect_calls_take_all_functions_whose_address_is_taken(void **state)
{
    static const char text[] = HEADER
        ".func direct() { ret; }\n.func taken() { ret; }\n.func listed() { ret; }\n.func named();\n.func aliased() { ret; }\n"
        ".alias named, aliased;\n.global .u64 table[1] = {listed};\n"
        ".visible .entry uses() { .reg .b64 %rd<3>; mov.u64 %rd1, taken; mov.u64 %rd2, named; call direct; ret; }\n"
        ".visible .entry kernel() { .reg .b64 %rd<3>; .loc 1 2 3\n call %rd1, (), pr; ret; pr: .callprototype _ (); }\n";
    static const char good[] = HEADER
        ".func direct() { ret; }\n.func taken() { ret; }\n.func listed() { ret; }\n.func named();\n.func aliased() { ret; }\n"
        ".alias named, aliased;\n.global .u64 table[1] = {listed};\n"
        ".visible .entry uses() { .reg .b64 %rd<3>; mov.u64 %rd1, taken; mov.u64 %rd2, named; call direct; ret; }\n"
        ".visible .entry kernel() { .reg .b64 %rd<3>; pr: .callprototype _ (); .loc 1 2 3\n call %rd1, (), pr; ret; }\n";
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;
    struct bl_arena arena;
    char *of_eager, *of_lazy;

    bl_arena_init(&arena);
    assert_int_equal(bl_ptx_parse(&arena, bl_sv(text), "test", 0, &module, &error), BL_SYNTAX); /* used before it stands */
    of_eager = slice(&arena, parse_flags(&arena, good, 0), "kernel");
    of_lazy = slice(&arena, parse_flags(&arena, good, BL_PTX_LAZY), "kernel");
    assert_string_equal(of_eager, of_lazy);
    assert_null(strstr(of_lazy, "direct"));
    assert_non_null(strstr(of_lazy, "//bl.func taken"));
    assert_non_null(strstr(of_lazy, "//bl.func listed"));
    assert_non_null(strstr(of_lazy, ".alias named, aliased;"));
    module = parse_flags(&arena, of_lazy, 0);
    assert_int_equal(module->funcs.count, 5);
    assert_ptr_equal(bl_ptx_find_func(module, bl_sv("named"))->aliasee, bl_ptx_find_func(module, bl_sv("aliased")));
    bl_arena_cleanup(&arena);
    (void)state;
}

static void lazy_bodies(void **state)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *m;
    struct bl_ptx_func *f;
    uint32_t variables;

    bl_arena_init(&arena);
    m = parse_flags(&arena, first_module, BL_PTX_LAZY);
    variables = m->variables.count;
    f = bl_ptx_find_func(m, bl_sv("leaf"));
    assert_true(f->has_body && !f->body_parsed && f->statements.count == 0 && f->uses.count == 0);
    assert_int_equal(bl_ptx_parse_body(m, f, &error), BL_OK);
    assert_true(f->body_parsed && f->statements.count > 0);
    assert_int_equal(m->variables.count, variables + 1);
    assert_int_equal(bl_ptx_parse_body(m, f, &error), BL_OK);
    f = bl_ptx_find_func(m, bl_sv("kernel"));
    assert_int_equal(f->uses.count, 3);
    assert_sv(f->uses.items[2]->name, "middle");
    /* braces in comments and strings are none; a fault in a body is found when it is parsed */
    m = parse_flags(&arena, HEADER ".entry a() { /* } */ .pragma \"}\"; // }\n ret; }\n.entry b() { junk; }\n.entry c() { ret; }\n",
                    BL_PTX_LAZY);
    assert_int_equal(m->funcs.count, 3);
    f = bl_ptx_find_func(m, bl_sv("b"));
    assert_int_equal(bl_ptx_parse_body(m, f, &error), BL_SYNTAX);
    assert_true(!f->body_parsed && f->statements.count == 0);
    assert_true(error.line == 6 && error.column == 14);
    bl_arena_cleanup(&arena);
    (void)state;
}

/* ---- faults -------------------------------------------------------------------------------------- */

static const struct {
    const char *text; /* after the header, from line 4 */
    enum bl_status status;
    uint32_t line, column;
    const char *message;
} faults[] = {
    {".entry k() {\n  foo.s32 a;\n}", BL_SYNTAX, 5, 3, "expected an instruction of PTX, found 'foo'\n  foo.s32 a;\n  ^"},
    {".entry k() { add.bar.s32 a; }", BL_SYNTAX, 4, 17, "expected a modifier or type of PTX, found '.bar'"},
    {".entry k() { mov.u32 a, b; }", BL_SYNTAX, 4, 22, "expected a declared name, found 'a'"},
    {".entry k() { .reg .b32 a; mov.u32 a, ; }", BL_SYNTAX, 4, 38, "expected an operand, found ';'"},
    {".entry k() { .reg .b32 a; mov.u32 a 1; }", BL_SYNTAX, 4, 37, "expected ',' or ';', found '1'"},
    {".entry k() { .reg .b32 a; mov.u32 a, 1", BL_SYNTAX, 4, 39, "found the end of the text"},
    {".entry k() { bra L; }", BL_SYNTAX, 4, 18, "expected a label of this function, found 'L'"},
    {".entry k() { { L: } bra L; }", BL_SYNTAX, 4, 25, "expected a label of this function"},
    {".entry k() { L: L: ret; }", BL_SYNTAX, 4, 17, "stands twice, first in line 4"},
    {".entry k() { .reg .b32 a, a; }", BL_SYNTAX, 4, 27, "declared twice"},
    {".entry k() { .reg .b32 %r<4>; .reg .b64 %r3; }", BL_SYNTAX, 4, 41, "'%r3' is declared twice"},
    {".entry k(.reg .u32 a) { ret; }", BL_SYNTAX, 4, 20, "expected a parameter in .param"},
    {".shared .u32 a = 1;", BL_SYNTAX, 4, 16, "expected an initialiser in .global and .const only"},
    {".entry k() { .reg .b32 %r<4>; mov.u32 %r4, 1; }", BL_SYNTAX, 4, 39, "found '%r4'"},
    {".entry k() { .reg .b32 %r<4000000000>; }", BL_SYNTAX, 4, 27, "expected a number of registers from 1"},
    {".entry k() { .reg .b32 %r<0>; }", BL_SYNTAX, 4, 27, "expected a number of registers from 1"},
    {".entry k() { .reg .b32 a; @a ret; }", BL_SYNTAX, 4, 28, "expected a predicate register"},
    {".entry k() { /* open", BL_SYNTAX, 4, 21, "a comment without an end"},
    {".entry k() { .pragma \"open\n\"; }", BL_SYNTAX, 4, 22, "a string without an end"},
    {".entry k() { \x01 }", BL_SYNTAX, 4, 14, "found character 0x01"},
    {".entry k() { .reg .b32 a; mov.u32 a, 08; }", BL_SYNTAX, 4, 38, "expected a number, found '08'"},
    {".entry k() { .reg .b32 a; mov.u32 a, 0f123; }", BL_SYNTAX, 4, 38, "expected a number, found '0f123'"},
    {".entry k() { .reg .b32 a; mov.u32 a, 18446744073709551616; }", BL_SYNTAX, 4, 38, "expected a number"},
    {".entry k() { .reg .b32 a; mov.u32 a, 1/0; }", BL_SYNTAX, 4, 39, "expected a divisor, found zero"},
    {".entry k() { call nobody; }", BL_SYNTAX, 4, 19, "expected a declared name, found 'nobody'"},
    {".entry k(.param .u32 a) .maxntid { ret; }", BL_SYNTAX, 4, 34, "expected a number, found '{'"},
    {".entry k(.param .u32) { ret; }", BL_SYNTAX, 4, 21, "expected a parameter's name, found ')'"},
    {".entry k() { ret; }\n.entry k() { ret; }", BL_SYNTAX, 5, 8, "declared twice, first in line 4"},
    {".func k(.param .b32 a);\n.func k(.param .b64 a) { ret; }", BL_SYNTAX, 5, 7, "declared otherwise in line 4"},
    {".global .u32 a[2] = {1, 2, 3};", BL_SYNTAX, 4, 28, "expected at most 2 initialisers here"},
    {".global .u32 a = 1.5;", BL_SYNTAX, 4, 18, "expected a constant of type .u32, found a float"},
    {".global .u32 a = nothing;", BL_SYNTAX, 4, 18, "expected a declared name"},
    {".global .align 3 .u32 a;", BL_SYNTAX, 4, 16, "a power of two, found 3"},
    {".global .u32 a[4294967296][4294967296];", BL_SYNTAX, 4, 14, "expected a size below 2^47 bytes"},
    {".global .pred a;", BL_SYNTAX, 4, 15, "a type that memory can hold"},
    {".global a;", BL_SYNTAX, 4, 9, "expected a type, found 'a'"},
    {"junk", BL_SYNTAX, 4, 1, "expected a directive of module scope, found 'junk'"},
    {".alias a, b;", BL_SYNTAX, 4, 8, "expected a declared function without a body, found 'a'"},
};

static void places_of_faults(void **state)
{
    for (size_t n = 0; n < BL_LEN(faults); n++) {
        struct bl_arena arena;
        struct bl_error error = BL_ERROR_INIT;
        struct bl_ptx_module *module;
        enum bl_status status;
        char *text;

        bl_arena_init(&arena);
        text = bl_arena_printf(&arena, "%s%s\n", HEADER, faults[n].text);
        text[strlen(text) - 1] = 0; /* no newline at the end */
        status = bl_ptx_parse(&arena, bl_sv(text), "x.ptx", 0, &module, &error);
        if (status != faults[n].status || error.status != status || error.line != faults[n].line ||
            error.column != faults[n].column || !strstr(error.message, faults[n].message))
            fail_msg("%s\ngives %d:\n%s", faults[n].text, status, error.message);
        assert_null(module);
        bl_arena_cleanup(&arena);
    }
    (void)state;
}

/* .address_size came with PTX 2.3. */
static void old_headers_have_64_bits(void **state)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;

    bl_arena_init(&arena);
    assert_int_equal(bl_ptx_parse(&arena, bl_sv(".version 1.4\n.target sm_13\n.entry k { exit; }"), "x.ptx", 0, &module, &error),
                     BL_OK);
    assert_int_equal(module->address_size, 64);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void headers_that_are_refused(void **state)
{
    static const struct {
        const char *text;
        enum bl_status status;
        const char *message;
    } cases[] = {
        {"", BL_SYNTAX, "expected .version"},
        {".target sm_80", BL_SYNTAX, "1:1: expected .version"},
        {".version 8.0\n.entry k() { ret; }", BL_SYNTAX, "2:1: expected .target"},
        {".version 8.0\n.target sm_80\n.entry k() { ret; }", BL_UNSUPPORTED, "addresses have 32 bits"},
        {".version 8.0\n.target sm_80\n.address_size 32", BL_UNSUPPORTED, "3:15: 32-bit addresses are not supported"},
        {".version 10.0\n", BL_UNSUPPORTED, "PTX version 10.0 is not supported"},
        {".version 8\n", BL_SYNTAX, "expected a version"},
        {".version 9.0\n.target sm_999\n", BL_SYNTAX, "target sm_999 is not supported"},
        {".version 9.0\n.target compute_80\n", BL_SYNTAX, "expected a target"},
        {".version 9.0\n.target sm_80x\n", BL_SYNTAX, "expected a target"},
    };
    for (size_t n = 0; n < BL_LEN(cases); n++) {
        struct bl_arena arena;
        struct bl_error error = BL_ERROR_INIT;
        struct bl_ptx_module *module;
        bl_arena_init(&arena);
        if (bl_ptx_parse(&arena, bl_sv(cases[n].text), "x.ptx", 0, &module, &error) != cases[n].status ||
            !strstr(error.message, cases[n].message))
            fail_msg("%s gives: %s", cases[n].text, error.message);
        bl_arena_cleanup(&arena);
    }
    (void)state;
}

static void several_faults_are_listed(void **state)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *module;

    bl_arena_init(&arena);
    assert_int_equal(bl_ptx_parse(&arena,
                                  bl_sv(HEADER ".entry a() {\n bad1;\n ret;\n bad2;\n}\n.global wrong;\n.entry b() { bad3; }\n"),
                                  "x", 0, &module, &error),
                     BL_SYNTAX);
    assert_int_equal(error.line, 5);
    assert_non_null(strstr(error.message, "x:5:2:"));
    assert_non_null(strstr(error.message, "x:7:2:"));
    assert_non_null(strstr(error.message, "x:9:9:"));
    assert_non_null(strstr(error.message, "x:10:14:"));
    /* a first message that was there before stays */
    error = (struct bl_error){.status = BL_IO, .message = "before"};
    bl_ptx_parse(&arena, bl_sv("x"), "x", 0, &module, &error);
    assert_string_equal(error.message, "before");
    assert_int_equal(bl_ptx_parse(&arena, bl_sv("x"), "x", 0, &module, NULL), BL_SYNTAX);
    bl_arena_cleanup(&arena);
    (void)state;
}

/* ---- hostile texts --------------------------------------------------------------------------------- */

static char *repeated(const char *before, const char *what, uint32_t count, const char *after)
{
    struct bl_buffer out = {0};
    bl_buffer_printf(&out, "%s%s", HEADER, before);
    for (uint32_t n = 0; n < count; n++)
        bl_buffer_add(&out, what, strlen(what));
    bl_buffer_add(&out, after, strlen(after));
    assert_false(out.failed);
    return out.data;
}

static void deep_and_long_texts(void **state)
{
    static const struct {
        const char *before, *what, *after, *message;
    } cases[] = {
        {".entry k() ", "{", "", "blocks in each other"},
        {".global .u32 a = ", "(", "", "levels"},
        {".global .u32 a = ", "-", "1;", "levels"},
        {".global .u32 a = ", "1?", "", "levels"},
        {".global .u32 a", "[1]", ";", "dimensions"},
        {".global .u32 a[1] = ", "{", "", "expected a constant or a name"},
        {".global .u64 a = ", "generic(", "", "expected"},
        {".entry k() { .reg .b32 a; mov.b32 a", ", a", "; }", "at most 1024 operands"},
        {".entry k() { add", ".sat", "; }", "fewer modifiers"},
        {".entry k(", ".param .align 8 .b8 a[65536], ", "", "bytes of parameters"},
        {".entry k() { ", ".reg .b32 a<16000000>; { ", "", ""},
        {".global .u32 a = 1", ", a = {1}", ", 1;", "declared twice"},
        {".global .u32 a = 1", ", b = {1}", "", "declared twice"},
        {".global .u32 a[] = {", "1, {", "", "expected a constant"},
    };
    for (size_t n = 0; n < BL_LEN(cases); n++) {
        struct bl_arena arena;
        struct bl_error error = BL_ERROR_INIT;
        struct bl_ptx_module *module;
        char *text = repeated(cases[n].before, cases[n].what, 100000, cases[n].after);
        bl_arena_init(&arena);
        arena.limit = 256 << 20;
        if (bl_ptx_parse(&arena, bl_sv(text), "x", 0, &module, &error) != BL_SYNTAX || !strstr(error.message, cases[n].message))
            fail_msg("%s%s… gives: %s", cases[n].before, cases[n].what, error.message);
        bl_arena_cleanup(&arena);
        bl_free(text);
    }
    (void)state;
}

/* Every prefix of a text, and the text with each byte replaced: an answer, and never a read outside (with the sanitizers). */
static void damaged_texts(void **state)
{
    size_t size = sizeof(first_module) - 1;
    for (size_t n = 0; n < 2 * size; n++) {
        struct bl_arena arena;
        struct bl_error error = BL_ERROR_INIT;
        struct bl_ptx_module *module;
        size_t length = n < size ? n : size;
        char *text = bl_malloc(length + 1);
        memcpy(text, first_module, length);
        if (n >= size)
            text[n - size] = "{};\"\xff\0@"[n % 7];
        bl_arena_init(&arena);
        if (bl_ptx_parse(&arena, (struct bl_sv){text, length}, "x", n % 2 ? BL_PTX_LAZY : 0, &module, &error) != BL_OK)
            assert_true(error.status != BL_OK && error.message[0] && !module);
        bl_arena_cleanup(&arena);
        bl_free(text);
    }
    (void)state;
}

/* ---- memory runs out ---------------------------------------------------------------------------------- */

static enum bl_status parse_slice_and_body(const char *text, struct bl_error *error)
{
    struct bl_arena arena;
    struct bl_buffer out = {0};
    struct bl_ptx_module *module = NULL;
    struct bl_ptx_func *kernel;
    enum bl_status status;

    bl_arena_init(&arena);
    status = bl_ptx_parse(&arena, bl_sv(text), "x", BL_PTX_LAZY, &module, error);
    kernel = status == BL_OK ? bl_ptx_find_func(module, bl_sv("k")) : NULL;
    if (kernel)
        status = bl_ptx_slice(module, kernel, &out, error);
    if (kernel && status == BL_OK)
        status = bl_ptx_parse_body(module, kernel, error);
    assert_null(arena.no_memory);
    bl_buffer_cleanup(&out);
    bl_arena_cleanup(&arena);
    return status;
}

static void memory_runs_out(void **state)
{
    char *text = repeated(".func f() { ret; }\n.global .u32 g[4];\n.entry k() { .reg .b32 %r<9>; .reg .b64 %rd<9>;\n",
                          "call f; { mov.u64 %rd1, g; bra L; } L: add.s32 %r1, %r2, 3; {\n", 50, "");
    struct bl_buffer whole = {0};
    enum bl_status status = BL_NO_MEMORY;
    uint64_t nth;

    bl_buffer_add(&whole, text, strlen(text));
    for (int n = 0; n < 50; n++)
        bl_buffer_add(&whole, "}", 1);
    bl_buffer_add(&whole, "}\n", 2);
    for (nth = 1; status != BL_OK && nth < 1000; nth++) {
        struct bl_error error = BL_ERROR_INIT;
        bl_fault_inject("alloc", nth);
        status = parse_slice_and_body(whole.data, &error);
        bl_fault_inject("alloc", 0);
        if (status != BL_OK && status != BL_NO_MEMORY)
            fail_msg("%s", error.message);
        assert_int_equal(error.status, status);
    }
    assert_int_equal(status, BL_OK);
    assert_true(nth > 6);
    bl_buffer_cleanup(&whole);
    bl_free(text);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_and_functions),
        cmocka_unit_test(operands),
        cmocka_unit_test(calls_and_labels),
        cmocka_unit_test(scopes_of_registers),
        cmocka_unit_test(constants),
        cmocka_unit_test(variables),
        cmocka_unit_test(slices),
        cmocka_unit_test(slices_depend_on_the_kernel_alone),
        cmocka_unit_test(indirect_calls_take_all_functions_whose_address_is_taken),
        cmocka_unit_test(lazy_bodies),
        cmocka_unit_test(places_of_faults),
        cmocka_unit_test(headers_that_are_refused),
        cmocka_unit_test(old_headers_have_64_bits),
        cmocka_unit_test(several_faults_are_listed),
        cmocka_unit_test(deep_and_long_texts),
        cmocka_unit_test(damaged_texts),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name("ptx", tests, NULL, NULL);
}
