/* Room kir: every op goes through text and back, each rule of the validator is broken once, errors of the parser have their place,
 * every allocation may fail, and where shared variables stand. The passes have text tests in tests/kir. */
#include "kir/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

static enum bl_status parse(struct bl_arena *arena, const char *text, struct bl_kir_module **module, struct bl_error *error)
{
    return bl_kir_parse(arena, bl_sv(text), module, error);
}

static void assert_round_trip(const char *text)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer once = {0}, twice = {0};
    struct bl_kir_module *module;
    struct bl_arena arena;

    bl_arena_init(&arena);
    if (parse(&arena, text, &module, &error) != BL_OK)
        fail_msg("%s\n%s", error.message, text);
    bl_kir_print(&once, module);
    if (parse(&arena, once.data, &module, &error) != BL_OK)
        fail_msg("%s\n%s", error.message, once.data);
    bl_kir_print(&twice, module);
    assert_string_equal(once.data, twice.data);
    bl_buffer_cleanup(&once);
    bl_buffer_cleanup(&twice);
    bl_arena_cleanup(&arena);
}

/* ---- text ------------------------------------------------------------------------------------------- */

static void words_are_unique(void **unused)
{
    for (uint32_t f = 0; f < BL_KIR_FIELD_COUNT; f++)
        for (uint32_t w = 0; w < bl_kir_fields[f].count; w++)
            for (uint32_t g = 0; g < BL_KIR_FIELD_COUNT; g++)
                for (uint32_t x = 0; x < bl_kir_fields[g].count; x++)
                    if ((f != g || w != x) && strcmp(bl_kir_fields[f].words[w], bl_kir_fields[g].words[x]) == 0)
                        fail_msg("'%s' stands twice", bl_kir_fields[f].words[w]);
    (void)unused;
}

static enum bl_kir_type type_of_letter(char letter)
{
    switch (letter) {
    case 'p':
        return BL_KIR_PRED;
    case 'f':
        return BL_KIR_F32;
    case 'q':
    case 'a':
        return BL_KIR_I64;
    default:
        return BL_KIR_I32;
    }
}

static uint32_t values_of_signature(struct bl_kir_builder *b, const char *signature, enum bl_kir_type first,
                                    struct bl_kir_value **values, enum bl_kir_type *types)
{
    uint32_t count = 0;

    for (const char *s = signature; *s; s++) {
        if (*s == '?' || *s == '*')
            continue;
        types[count] = *s == 's' ? (count ? types[0] : first) : type_of_letter(*s);
        if (*s == 's' && first != BL_KIR_VOID)
            types[count] = first;
        if (values)
            values[count] = bl_kir_const(b, types[count], 1);
        count++;
    }
    return count;
}

/* An op with operands by its signature, and each of its attributes at its largest value. */
static void emit_any(struct bl_kir_builder *b, enum bl_kir_op op, struct bl_kir_symbol *symbol, struct bl_kir_func *callee,
                     struct bl_kir_proto *proto)
{
    struct bl_kir_value *operands[8];
    enum bl_kir_type types[8], results[8];
    uint32_t count = values_of_signature(b, bl_kir_ops[op].operands, BL_KIR_VOID, operands, types);
    uint32_t result_count = values_of_signature(b, bl_kir_ops[op].results, count ? types[0] : BL_KIR_VOID, NULL, results);
    uint32_t attrs = bl_kir_op_attrs(op);
    struct bl_kir_attr attr = {0};
    struct bl_kir_instr *instr;

    for (uint32_t f = 0; f < BL_KIR_FIELD_COUNT; f++)
        if (attrs & (uint32_t)1 << f)
            ((uint8_t *)&attr)[bl_kir_fields[f].offset] = (uint8_t)(bl_kir_fields[f].first + bl_kir_fields[f].count - 1);
    attr.imm = attrs & BL_KIR_HAS_IMM ? 24 : 0;
    attr.vec = attrs & BL_KIR_HAS_VEC ? 4 : 0;
    attr.align = attrs & BL_KIR_HAS_ALIGN ? 16 : 0;
    attr.symbol = attrs & BL_KIR_HAS_SYMBOL ? symbol : NULL;
    attr.func = op == BL_KIR_OP_call || op == BL_KIR_OP_funcaddr ? callee : NULL;
    attr.proto = op == BL_KIR_OP_call_indirect ? proto : NULL;
    attr.text = op == BL_KIR_OP_unsupported ? "quoted \"text\" \\ and more" : NULL;
    attr.sreg = op == BL_KIR_OP_sreg ? BL_KIR_SREG_ENVREG : 0;
    attr.var = op == BL_KIR_OP_getvar || op == BL_KIR_OP_setvar ? b->func->vars.items[0] : NULL;
    b->line = op;
    instr = bl_kir_emit(b, op, &attr, result_count, results, count, operands);
    if (op == BL_KIR_OP_branch || op == BL_KIR_OP_switch || op == BL_KIR_OP_jump) {
        instr->target_count = op == BL_KIR_OP_jump ? 1 : 2;
        instr->targets = BL_NEW_ARRAY(b->func->module->arena, struct bl_kir_block *, 2);
        instr->targets[0] = instr->targets[1] = b->block;
    }
}

/* One block each, since an op may be a block end; these are shapes, not valid kir. */
static void every_op_goes_through_text(void **unused)
{
    struct bl_arena arena;
    struct bl_kir_module *module;
    struct bl_kir_func *func, *callee;
    struct bl_kir_symbol *symbol;
    struct bl_kir_proto proto = {.name = "a prototype"};
    struct bl_kir_builder b = {0};
    struct bl_buffer out = {0};

    bl_arena_init(&arena);
    module = bl_kir_module_new(&arena, "every \"op\"\n");
    symbol = bl_kir_symbol_new(module, "name with spaces", BL_KIR_SHARED, 64, 8);
    bl_kir_symbol_new(module, "twice", BL_KIR_GLOBAL, 4, 4);
    callee = bl_kir_func_new(module, "callee", false);
    callee->is_declaration = true;
    func = bl_kir_func_new(module, "f", false);
    proto.param_count = proto.result_count = 1;
    proto.params = proto.results = (enum bl_kir_type[1]){BL_KIR_F64};
    bl_kir_var_new(func, BL_KIR_I32, "variable");
    b.func = func;
    for (enum bl_kir_op op = 0; op < BL_KIR_OP_COUNT; op++) {
        b.block = bl_kir_block_new(func, bl_kir_ops[op].name);
        emit_any(&b, op, symbol, callee, &proto);
    }
    bl_kir_update_preds(func);
    bl_kir_print(&out, module);
    assert_round_trip(out.data);
    assert_non_null(strstr(out.data, "%"));
    bl_buffer_cleanup(&out);
    bl_arena_cleanup(&arena);
    (void)unused;
}

static const char everything[] =
    "module \"m\"\n"
    "symbol a global size 4 align 4\n"
    "  init \"0a0b0c0d\"\n"
    "symbol a global size 16 align 8 extern at 128\n"
    "  init \"00000000000000000000000000000000\"\n"
    "  reloc 0 size 8 symbol a#1 - 4 generic\n"
    "  reloc 8 size 8 func late + 12\n"
    "symbol $str global size 4 align 1\n"
    "\n"
    "declare func $dollar() -> () {\n}\n"
    "\n"
    "declare func print(i64, i64) -> (i32) {\n}\n"
    "\n"
    "kernel \"a b\" {\n"
    "  kernel_param x offset 0 size 8 align 8\n  number 3\n  line 7\n  param_bytes 8\n  max_threads 128 1 1\n  min_ctas 2\n"
    "  max_registers 40\n"
    "@entry:\n"
    "  %a:i64 = addrof a#1 - 8\n"
    "  %n:i8 = const -128\n"
    "  %big:i128 = const 0x123456789abcdef00000000000000001\n"
    "  %least:i64 = const -9223372036854775808\n"
    "  %p:pred = const true\n"
    "  %f:f32 = const 0x3f800000\n"
    "  branch %p, @loop, @end ; a comment\n"
    "@loop:\n"
    "  %i:i64 = phi @entry %a, @loop %next\n"
    "  %x:f32, %y:f32 = load.global.v2.f32 [%i - 8] align 8 !12\n"
    "  %r:i32 = call print, %i, %next2\n"
    "  %next2:i64 = add %i, %a\n"
    "  %next:i64 = add %next2, %a\n"
    "  %t:i64 = call_indirect %i, %a proto \"\"(i64) -> (i64)\n"
    "  %u:i64 = call_indirect %i, %a proto (i64) -> (i64)\n"
    "  branch %p, @loop, @end\n"
    "@end:\n"
    "  exit\n}\n"
    "\n"
    "func late(%q:i32, %w:f64) -> (i32) noreturn {\n"
    "  frame_size 32\n  frame_align 16\n  required_threads 32 1 1\n"
    "@0:\n"
    "  ret %q\n}\n"
    "\n"
    "func late() -> () {\n@0:\n  ret\n}\n"
    "\n"
    "func mention() -> () {\n@0:\n  %0:i64 = funcaddr late#4\n  ret\n}\n";

static void everything_goes_through_text(void **unused)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_kir_symbol *first, *second;
    struct bl_arena arena;

    assert_round_trip(everything);
    bl_arena_init(&arena);
    assert_int_equal(parse(&arena, everything, &module, &error), BL_OK);
    first = module->symbols.items[0];
    second = module->symbols.items[1];
    assert_memory_equal(first->init, "\x0a\x0b\x0c\x0d", 4);
    assert_ptr_equal(second->relocs.items[0].symbol, second);
    assert_int_equal(second->relocs.items[0].addend, -4);
    assert_true(second->relocs.items[0].generic && second->is_extern);
    assert_ptr_equal(second->relocs.items[1].func, module->funcs.items[3]);
    assert_ptr_equal(module->funcs.items[5]->blocks.items[0]->first->attr->func, module->funcs.items[4]);
    assert_int_equal(module->funcs.items[2]->blocks.items[0]->first->next->attr->imm, 0x80);
    assert_int_equal(module->funcs.items[2]->blocks.items[0]->first->next->next->attr->imm_hi, 0x123456789abcdef0);
    bl_arena_cleanup(&arena);
    (void)unused;
}

#define FUNC "module \"m\"\nfunc f(%x:i32) -> (i32) {\n@0:\n"
static void errors_have_a_place(void **unused)
{
    static const struct {
        const char *text;
        uint32_t line, column;
        const char *says;
    } cases[] = {
        {"", 1, 1, "'module'"},
        {"module m\n", 1, 8, "in quotes"},
        {"module \"m\n", 1, 8, "closing quote"},
        {"module \"m\"\nsymbol a nowhere size 4 align 4\n", 2, 10, "a state space"},
        {"module \"m\"\nsymbol a global size 4 align 4\n  init \"00\"\n", 2, 8, "4 bytes and 1 initial"},
        {"module \"m\"\nfunc f() -> () {\n", 3, 1, "a block or '}'"},
        {FUNC "  frobnicate\n}\n", 4, 3, "no operation is called 'frobnicate'"},
        {FUNC "  %y:i33 = const 1\n}\n", 4, 6, "a type"},
        {FUNC "  %y:i8 = const 300\n}\n", 4, 17, "does not fit i8"},
        {FUNC "  %y:i32 = add.loud %x, %x\n}\n", 4, 12, "'.loud'"},
        {FUNC "  ret %y\n}\n", 4, 7, "value %y is not defined"},
        {FUNC "  jump @b\n}\n", 4, 8, "block @b is not defined"},
        {FUNC "  %x:i32 = const 1\n}\n", 4, 3, "defined twice"},
        {FUNC "  %y:i32 = getvar $v\n}\n", 4, 19, "not declared"},
        {FUNC "  %99999999:i32 = const 1\n}\n", 4, 3, "must be below"},
        {FUNC "  call g, %x\n}\n", 4, 8, "no function of this module"},
        {FUNC "  jump @1\n@1:\n  %y:i32 = phi @1 %x\n  ret %y\n}\n", 6, 3, "predecessors in order"},
        {FUNC "  ret %x ret\n}\n", 4, 10, "end of the line"},
        {FUNC "  %y:i64 = load.global.i64 [%x + 99999999999999999999999]\n}\n", 4, 34, "expected a number from 0"},
    };
    for (uint32_t c = 0; c < BL_LEN(cases); c++) {
        struct bl_error error = BL_ERROR_INIT;
        struct bl_kir_module *module;
        struct bl_arena arena;
        bl_arena_init(&arena);
        assert_int_equal(parse(&arena, cases[c].text, &module, &error), BL_SYNTAX);
        if (error.line != cases[c].line || error.column != cases[c].column || !strstr(error.message, cases[c].says))
            fail_msg("case %u: %u:%u, expected %u:%u %s: %s", c, error.line, error.column, cases[c].line, cases[c].column,
                     cases[c].says, error.message);
        bl_arena_cleanup(&arena);
    }
    (void)unused;
}

/* ---- rules ------------------------------------------------------------------------------------------------ */

static void assert_broken(const char *text, const char *rule)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_arena arena;

    bl_arena_init(&arena);
    if (parse(&arena, text, &module, &error) != BL_OK)
        fail_msg("%s\n%s", error.message, text);
    if (bl_kir_validate(module, &error) != BL_INVALID)
        fail_msg("taken for valid, but %s:\n%s", rule, text);
    if (!strstr(error.message, rule))
        fail_msg("expected '%s': %s", rule, error.message);
    bl_arena_cleanup(&arena);
}

/* A function body around lines; the values are there to be misused. */
static void assert_body_broken(const char *lines, const char *rule)
{
    char text[2000];
    snprintf(
        text, sizeof(text),
        "module \"m\"\nsymbol s shared size 8 align 8\n\ndeclare func g(i32, f32) -> (i32) {\n}\n\nkernel k {\n  param_bytes 8\n"
        "@0:\n  exit\n}\n\nfunc f(%%i:i32, %%q:i64, %%f:f32, %%p:pred, %%h:f16x2, %%b:i8) -> (i32) {\n  frame_size 16\n"
        "  var $v:i32\n@entry:\n%s\n}\n",
        lines);
    assert_broken(text, rule);
}

static void each_rule_of_ops(void **unused)
{
    static const struct {
        const char *lines, *rule;
    } cases[] = {
        {"  %x:i32 = add %i, %q\n  ret %x", "operand 1 does not fit"},
        {"  %x:i64 = add %i, %i\n  ret %i", "result 0 does not fit"},
        {"  %x:i32 = add %i\n  ret %x", "operand 1 does not fit"},
        {"  %x:i32 = add %i, %i, %i\n  ret %x", "operand 2 does not fit"},
        {"  %x:f32 = fadd.rn %f, %i\n  ret %i", "operand 1 does not fit"},
        {"  %x:i32 = const 0x100000000\n  ret %x", "bits past its type's width"},
        {"  %x:i32 = add.ftz %i, %i\n  ret %x", "no attribute of the kind of 'ftz'"},
        {"  %x:i32 = add %i, %i imm 0x5\n  ret %x", "this op has no number"},
        {"  %x:i32 = add %i, %i align 4\n  ret %x", "the alignment must be"},
        {"  %x:i32 = load.shared.i32 [%i] align 3\n  ret %x", "the alignment must be"},
        {"  %x:i32 = add.v2 %i, %i\n  ret %x", "this op has no elements"},
        {"  %x:i64 = add.sat %q, %q\n  ret %i", "only i32 saturates"},
        {"  %x:i32 = lop3 %i, %i, %i imm 0x100\n  ret %x", "the table has 8 bits"},
        {"  %x:f32 = and %f, %f\n  ret %i", "logic is for"},
        {"  %x:pred = icmp.equ %i, %i\n  ret %i", "not a comparison of integers"},
        {"  %x:pred = fcmp.lo %f, %f\n  ret %i", "not a comparison of floats"},
        {"  %x:pred = fcmp.eq %h, %h\n  ret %i", "fcmp2 compares packed"},
        {"  %x:i32 = select %p, %i, %q\n  ret %x", "both choices"},
        {"  %x:i64 = trunc %i\n  ret %i", "fewer bits"},
        {"  %x:i8 = zext %i\n  ret %i", "more bits"},
        {"  %x:i64 = bitcast %f\n  ret %i", "bitcast keeps"},
        {"  %x:i64 = pack %i, %i, %i\n  ret %i", "as many bits as the whole"},
        {"  %x:i32, %y:i16 = unpack %q\n  ret %i", "the parts have one type"},
        {"  %x:i32 = load.param.i32 [%q]\n  ret %x", "only a kernel has parameters"},
        {"  store.const.i32 [%q], %i\n  ret %i", "constant memory is only read"},
        {"  %x:i32 = load.global.i32 [%i]\n  ret %x", "has 64 bits"},
        {"  %x:i32, %y:i32, %z:i32 = load.global.v3.i32 [%q]\n  ret %x", "1, 2, 4 or 8 elements"},
        {"  %x:i32 = load.global.v2.i32 [%q]\n  ret %x", "1 values for 2 elements"},
        {"  %x:i32 = load.global.f32 [%q]\n  ret %x", "element 0 has not the type"},
        {"  %x:pred = load.global.pred [%q]\n  ret %i", "memory holds no preds"},
        {"  %x:i32 = load.global.release.gpu.i32 [%q]\n  ret %x", "a load has no release"},
        {"  store.global.acquire.gpu.i32 [%q], %i\n  ret %i", "a store no acquire"},
        {"  %x:i32 = param.i32 0\n  ret %x", "param is for kernels"},
        {"  %x:i32 = atomic.local.add.i32 [%q], %i\n  ret %x", "local memory has no atomics"},
        {"  %x:i32 = atomic.global.cas.i32 [%q], %i\n  ret %x", "this atomic has 3 operands"},
        {"  %x:i32 = atomic.global.add.i32 [%q], %f\n  ret %x", "operand 1 has not the type"},
        {"  %x:f32 = atomic.global.add.f32 [%q], %f\n  ret %i", "fadd, fmin and fmax"},
        {"  %x:i32 = vote.all %p, %i\n  ret %x", "ballot and popc give i32"},
        {"  %x:i32 = vote.popc %p, %i\n  ret %x", "not a vote of this op"},
        {"  %x:i32 = redux.cas %i, %i\n  ret %x", "redux reduces with"},
        {"  %x:i32 = call g, %i\n  ret %x", "1 arguments, the prototype says 2"},
        {"  %x:i32 = call g, %i, %i\n  ret %x", "arguments: number 1 has not the type"},
        {"  call g, %i, %f\n  ret %i", "0 results, the prototype says 1"},
        {"  call k\n  ret %i", "a kernel is not called"},
        {"  %x:i32 = call_indirect %q, %i\n  ret %x", "an indirect call has a prototype"},
        {"  %x:i32 = add %i, %i proto (i32) -> (i32)\n  ret %x", "only calls have a prototype"},
        {"  ret", "0 results, the prototype says 1"},
        {"  ret %q", "results: number 0 has not the type"},
        {"  %x:i64 = frame 17\n  ret %i", "past the frame"},
        {"  setvar $v, %q\n  ret %i", "the variable has another type"},
        {"  %x:i32 = add %y, %i\n  %y:i32 = add %i, %i\n  ret %x", "not defined on every way here"},
        {"  branch %p, @a, @b\n@a:\n  %x:i32 = add %i, %i\n  jump @b\n@b:\n  ret %x", "not defined on every way here"},
        {"  branch %p, @a, @b\n@a:\n  %x:i32 = add %i, %i\n  jump @b\n@b:\n  %y:i32 = phi @entry %x, @a %x\n  ret %y",
         "not defined on every way to its edge"},
        {"  jump @a\n@a:\n  %y:i32 = phi %i, %i\n  ret %y", "an operand for each predecessor"},
        {"  jump @a\n@a:\n  %y:i32 = phi %q\n  ret %y", "has not the type of the result"},
        {"  jump @a\n@a:\n  %x:i32 = add %i, %i\n  %y:i32 = phi %i\n  ret %y", "a phi stands after another op"},
        {"  %y:i32 = phi\n  ret %y", "a phi in the entry"},
        {"  jump @entry", "the entry is jumped to"},
        {"  ret %i\n  ret %i", "a block end stands inside"},
        {"  %x:i32 = add %i, %i", "a block has no end"},
        {"  jump @a\n@a:\n@b:\n  ret %i", "is empty"},
        {"  branch %p, @a\n@a:\n  ret %i", "the number of targets"},
        {"  ret %i, @a\n@a:\n  ret %i", "the number of targets"},
    };
    for (uint32_t c = 0; c < BL_LEN(cases); c++)
        assert_body_broken(cases[c].lines, cases[c].rule);
    (void)unused;
}

static void each_rule_of_modules(void **unused)
{
    assert_broken("module \"m\"\nsymbol a generic size 4 align 4\n", "no space for variables");
    assert_broken("module \"m\"\nsymbol a global size 4 align 3\n", "a power of two");
    assert_broken("module \"m\"\nsymbol a global size 8 align 8\n  reloc 0 size 8 symbol a\n", "no initial bytes");
    assert_broken("module \"m\"\nsymbol a global size 8 align 8\n  init \"0000000000000000\"\n  reloc 4 size 8 symbol a\n",
                  "outside");
    assert_broken("module \"m\"\nfunc f() -> () {\n}\n", "a definition has no block");
    assert_broken("module \"m\"\ndeclare func f() -> () {\n@0:\n  ret\n}\n", "a declaration has blocks");
    assert_broken("module \"m\"\nkernel f(%x:i32) -> () {\n@0:\n  ret\n}\n", "a kernel has no parameters");
    assert_broken("module \"m\"\nfunc f(i32) -> () {\n@0:\n  ret\n}\n", "those of its prototype");
    assert_broken("module \"m\"\nfunc f(void) -> () {\n@0:\n  ret\n}\n", "no type of a value");
    assert_broken("module \"m\"\nfunc f() -> () {\n  frame_align 3\n@0:\n  ret\n}\n", "frame_align must be");
    assert_broken("module \"m\"\nkernel k {\n  param_bytes 4\n@0:\n  %x:i64 = param.i64 0\n  ret\n}\n", "past the parameters");
    assert_broken("module \"m\"\nfunc f() -> () {\n@0:\n  %x:void = undef\n  ret\n}\n", "no type of a value");
    (void)unused;
}

/* What no text can say: forms that a faulty pass leaves behind. */
static void rules_of_links(void **unused)
{
    static const char text[] = "module \"m\"\nfunc f(%x:i32) -> () {\n@0:\n  %y:i32 = add %x, %x\n  jump @1\n@1:\n  ret\n}\n";
    static const char *const rules[] = {"predecessors of block 1 are not up to date",
                                        "does not know its instruction",
                                        "two values have number 0",
                                        "not below value_count",
                                        "no value of this function",
                                        "is no block of this function",
                                        "a symbol stands where none may",
                                        "only sreg reads",
                                        "is no attribute of the kind of 'seq_cst'",
                                        "not linked into its block"};
    for (uint32_t c = 0; c < BL_LEN(rules); c++) {
        struct bl_error error = BL_ERROR_INIT;
        struct bl_kir_value stranger = {.type = BL_KIR_I32};
        struct bl_kir_block elsewhere = {0};
        struct bl_kir_module *module;
        struct bl_kir_func *func;
        struct bl_kir_instr *add;
        struct bl_arena arena;
        bl_arena_init(&arena);
        assert_int_equal(parse(&arena, text, &module, &error), BL_OK);
        assert_int_equal(bl_kir_validate(module, &error), BL_OK);
        func = module->funcs.items[0];
        add = func->blocks.items[0]->first;
        switch (c) {
        case 0:
            func->blocks.items[1]->preds.count = 0;
            break;
        case 1:
            add->results[0]->def = add->next;
            break;
        case 2:
            add->results[0]->id = 0;
            break;
        case 3:
            add->results[0]->id = 99;
            break;
        case 4:
            add->operands[1] = &stranger;
            break;
        case 5:
            add->next->targets[0] = &elsewhere;
            break;
        case 6:
            add->attr->symbol = bl_kir_symbol_new(module, "s", BL_KIR_GLOBAL, 4, 4);
            break;
        case 7:
            add->attr->sreg = 1;
            break;
        case 8:
            add->op = BL_KIR_OP_fence;
            add->operand_count = add->result_count = 0;
            add->attr->order = 77;
            break;
        default:
            add->next->prev = NULL;
            break;
        }
        if (bl_kir_validate(module, &error) != BL_INVALID || !strstr(error.message, rules[c]))
            fail_msg("expected '%s': %s", rules[c], error.message);
        bl_arena_cleanup(&arena);
    }
    (void)unused;
}

static void messages_name_rule_function_and_op(void **unused)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_arena arena;

    bl_arena_init(&arena);
    assert_int_equal(
        parse(&arena, "module \"m\"\nfunc name(%x:i32) -> () {\n@0:\n  %y:i32 = add.v2 %x, %x !17\n  ret\n}\n", &module, &error),
        BL_OK);
    assert_int_equal(bl_kir_validate(module, &error), BL_INVALID);
    assert_string_equal(error.message, "kir: name: this op has no elements: %y.1:i32 = add.v2 %x.0, %x.0 !17");
    assert_int_equal(error.line, 17);
    bl_arena_cleanup(&arena);
    (void)unused;
}

/* ---- memory, shared layout ---------------------------------------------------------------------------------- */

static const char loop_text[] =
    "module \"m\"\nsymbol s shared size 8 align 8\n  init \"0000000000000000\"\n  reloc 0 size 8 func f\n\n"
    "func f(%n:i32) -> (i32) {\n  var $i:i32\n@entry:\n  %zero:i32 = const 0\n  setvar $i, %zero\n  jump @loop\n@loop:\n"
    "  %i:i32 = getvar $i\n  %one:i32 = const 1\n  %next:i32 = add %i, %one\n  setvar $i, %next\n  %p:pred = icmp.lt %next, %n\n"
    "  branch %p, @loop, @out\n@out:\n  %r:i32 = getvar $i\n  ret %r\n}\n";

static enum bl_status whole_way(struct bl_error *error)
{
    struct bl_kir_divergence_options options = {.linear_cta = true};
    jmp_buf here;
    struct bl_kir_module *module;
    struct bl_arena arena;
    struct bl_kir_dom *dom;
    enum bl_status status;

    bl_arena_init(&arena);
    arena.limit = 0;
    status = parse(&arena, loop_text, &module, error);
    if (status == BL_OK)
        status = bl_kir_prepare(module, error);
    if (status == BL_OK)
        status = bl_kir_validate(module, error);
    arena.no_memory = &here;
    if (status == BL_OK && setjmp(here) == 0) {
        dom = bl_kir_dominators(module->funcs.items[0]);
        bl_kir_find_divergence(module->funcs.items[0], dom, bl_kir_find_loops(module->funcs.items[0], dom), &options);
    }
    bl_arena_cleanup(&arena);
    return status;
}

static void any_allocation_may_fail(void **unused)
{
    uint32_t failed = 0;

    for (uint64_t nth = 1; nth < 200; nth++) {
        struct bl_error error = BL_ERROR_INIT;
        enum bl_status status;
        bl_fault_inject("alloc", nth);
        status = whole_way(&error);
        bl_fault_inject("alloc", 0);
        if (status == BL_OK)
            break;
        assert_int_equal(status, BL_NO_MEMORY);
        failed++;
    }
    assert_true(failed > 0 && failed < 199);
    (void)unused;
}

/* The arena takes memory in large chunks: a limit makes it run out at any allocation of the parser and the passes. */
static void memory_may_run_out_anywhere(void **unused)
{
    struct bl_error error = BL_ERROR_INIT;
    uint32_t failed = 0, done = 0;

    for (size_t spare = 0; spare < 40000; spare += 112) {
        struct bl_kir_module *module;
        struct bl_arena arena;
        enum bl_status status;
        char *filler;
        memset(&error, 0, sizeof(error));
        bl_arena_init(&arena);
        filler = bl_arena_alloc(&arena, 60000); /* then only `spare` bytes are left of the first chunk */
        assert_non_null(filler);
        while ((size_t)(arena.end - arena.next) > spare + 16)
            bl_arena_alloc(&arena, 1);
        arena.limit = 1;
        status = parse(&arena, loop_text, &module, &error);
        if (status == BL_OK)
            status = bl_kir_prepare(module, &error);
        if (status == BL_OK)
            done++;
        else
            failed++;
        assert_true(status == BL_OK || status == BL_NO_MEMORY);
        bl_arena_cleanup(&arena);
    }
    assert_true(failed > 10);
    (void)done;
    (void)unused;
}

static void shared_variables_have_places(void **unused)
{
    struct bl_kir_module *module;
    struct bl_arena arena;

    bl_arena_init(&arena);
    module = bl_kir_module_new(&arena, "m");
    bl_kir_symbol_new(module, "a", BL_KIR_SHARED, 5, 1);
    bl_kir_symbol_new(module, "g", BL_KIR_GLOBAL, 500, 4);
    bl_kir_symbol_new(module, "b", BL_KIR_SHARED, 8, 8);
    bl_kir_symbol_new(module, "c", BL_KIR_SHARED, 2, 2);
    assert_int_equal(bl_kir_layout_shared(module), 18);
    assert_int_equal(module->symbols.items[0]->offset, 0);
    assert_int_equal(module->symbols.items[2]->offset, 8);
    assert_int_equal(module->symbols.items[3]->offset, 16);
    bl_kir_symbol_new(module, "dynamic", BL_KIR_SHARED, 0, 4)->is_extern = true;
    bl_kir_symbol_new(module, "wide", BL_KIR_SHARED, 0, 64)->is_extern = true;
    assert_int_equal(bl_kir_layout_shared(module), 64);
    assert_int_equal(module->symbols.items[4]->offset, 64);
    assert_int_equal(module->symbols.items[5]->offset, 64);
    bl_kir_symbol_new(module, "huge", BL_KIR_SHARED, UINT64_MAX, 4);
    bl_kir_symbol_new(module, "more", BL_KIR_SHARED, 16, 4);
    assert_true(bl_kir_layout_shared(module) == UINT64_MAX);
    bl_arena_cleanup(&arena);
    (void)unused;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_unique),
        cmocka_unit_test(every_op_goes_through_text),
        cmocka_unit_test(everything_goes_through_text),
        cmocka_unit_test(errors_have_a_place),
        cmocka_unit_test(each_rule_of_ops),
        cmocka_unit_test(each_rule_of_modules),
        cmocka_unit_test(rules_of_links),
        cmocka_unit_test(messages_name_rule_function_and_op),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(memory_may_run_out_anywhere),
        cmocka_unit_test(shared_variables_have_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
