/* Room lower: each case of lower.cases is a few PTX instructions and the kir that they become, after SSA construction; then
 * what a text can't show: fault injection, a tree lowered twice, initial bytes. With an argument --update, the file is written
 * to standard output with the kir that the instructions become now: read it before you keep it. */
#include "lower/lower.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

static const char *cases_path;

static const char header[] = ".version 9.0\n.target sm_100a\n.address_size 64\n";
/* What the instructions of a case can use, besides what the case declares itself. */
static const char params[] = ".reg .b32 a, .reg .b32 b, .reg .b32 c, .reg .b64 x, .reg .b64 y, .reg .b16 h, .reg .b16 i, "
                             ".reg .f32 f, .reg .f32 g, .reg .f32 k, .reg .f64 s, .reg .f64 t, .reg .pred p, .reg .pred q";

static enum bl_status lower_text(struct bl_arena *arena, const char *text, struct bl_kir_module **module, struct bl_error *error)
{
    struct bl_ptx_module *ptx;
    enum bl_status status = bl_ptx_parse(arena, bl_sv(text), "test", 0, &ptx, error);
    return status == BL_OK ? bl_lower(arena, ptx, module, error) : status;
}

/* A copy of text without the lines before the first block and without line numbers. */
static char *body_of(struct bl_arena *arena, const char *text)
{
    const char *at = strstr(text, "\n@");
    char *copy = bl_arena_printf(arena, "%s", at ? at + 1 : text), *out = copy;
    for (const char *c = copy; *c; c++) {
        if (c[0] == ' ' && c[1] == '!' && c[2] >= '0' && c[2] <= '9')
            for (c += 2; c[1] >= '0' && c[1] <= '9';)
                c++;
        else
            *out++ = *c;
    }
    *out = 0;
    if (out - copy >= 2 && strcmp(out - 2, "}\n") == 0)
        out[-2] = 0;
    return copy;
}

/* A case is: a line "# what", the result's declaration, instructions, a line "=>", kir, an empty line. A declaration "module"
 * means that the instructions are a whole module, and the kir is that of its last function. */
static char *lower_case(struct bl_arena *arena, const char *result, const char *instructions)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_kir_func *func;
    struct bl_buffer out = {0};
    char *text;

    if (strcmp(result, "module") == 0)
        text = bl_arena_printf(arena, "%s%s", header, instructions);
    else
        text = bl_arena_printf(arena, "%s.func (%s) test(%s)\n{\n%s\nret;\n}\n", header, result, params, instructions);
    if (lower_text(arena, text, &module, &error) != BL_OK)
        return bl_arena_printf(arena, "error: %s\n", error.message);
    func = module->funcs.items[module->funcs.count - 1];
    if (bl_kir_ssa(func, &error) != BL_OK)
        return bl_arena_printf(arena, "error: %s\n", error.message);
    bl_kir_dce(func);
    bl_kir_renumber(func);
    if (bl_kir_validate(module, &error) != BL_OK)
        return bl_arena_printf(arena, "error: %s\n", error.message);
    bl_kir_print_func(&out, func);
    text = body_of(arena, out.data);
    bl_buffer_cleanup(&out);
    return text;
}

static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');
    if (!*line)
        return NULL;
    *at = end ? end + 1 : line + strlen(line);
    if (end)
        *end = 0;
    return line;
}

/* Appends lines up to one that is `stop`. */
static char *lines_until(struct bl_arena *arena, char **at, const char *stop)
{
    char *text = bl_arena_printf(arena, "%s", ""), *line;
    while ((line = next_line(at)) && strcmp(line, stop) != 0)
        text = bl_arena_printf(arena, "%s%s\n", text, line);
    return text;
}

static int run_cases(bool update)
{
    struct bl_error error = BL_ERROR_INIT;
    char *data, *at, *line;
    size_t size;
    int failed = 0, count = 0;

    if (bl_file_read(cases_path, &data, &size, &error) != BL_OK) {
        print_error("%s: %s\n", cases_path, error.message);
        return 1;
    }
    at = data;
    while ((line = next_line(&at))) {
        struct bl_arena arena;
        char *result, *instructions, *expected, *got;
        if (line[0] != '#' || !(result = next_line(&at)))
            continue;
        bl_arena_init(&arena);
        instructions = lines_until(&arena, &at, "=>");
        expected = lines_until(&arena, &at, "");
        got = lower_case(&arena, result, instructions);
        count++;
        if (update)
            printf("%s\n%s\n%s=>\n%s\n", line, result, instructions, got);
        else if (strcmp(got, expected) != 0) {
            print_error("%s\n%sexpected\n%sgot\n%s", line, instructions, expected, got);
            failed++;
        }
        bl_arena_cleanup(&arena);
    }
    bl_free(data);
    return count ? failed : 1;
}

static void instructions_become_kir(void **state)
{
    assert_int_equal(run_cases(false), 0);
    (void)state;
}

static const char whole[] =
    ".version 9.0\n.target sm_90\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
    ".func (.param .align 8 .b8 r[16]) target (.param .align 8 .b8 v[16], .param .b32 n);\n"
    ".const .align 4 .b32 numbers[3] = {1, -2, 0x7fffffff};\n"
    ".global .align 8 .u64 table[2] = {target, generic(numbers)};\n"
    ".global .align 1 .b8 packed[9] = {7, 0xFF(numbers), 0xFF00(numbers), 0xFF0000(numbers), 0xFF000000(numbers), "
    "0xFF00000000(numbers), 0xFF0000000000(numbers), 0xFF000000000000(numbers), 0xFF00000000000000(numbers)};\n"
    ".func (.param .align 8 .b8 r[16]) target (.param .align 8 .b8 v[16], .param .b32 n)\n"
    "{ .reg .b64 %rd<3>; .reg .b32 %r<2>;\n"
    " ld.param.u64 %rd1, [v+8]; ld.param.u32 %r1, [n]; cvt.u64.u32 %rd2, %r1; st.param.b64 [r], %rd1; st.param.b64 [r+8], %rd2;\n"
    " ret; }\n"
    ".visible .entry kernel (.param .u64 p, .param .align 4 .b8 s[12], .param .u32 n) .maxntid 128, 2, 1\n"
    "{ .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<3>; .local .align 16 .b8 depot[32]; .shared .align 4 .b32 cell;\n"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.param.v2.u32 {%r2, %r3}, [s+4];\n"
    " mov.u64 %rd2, depot; cvta.local.u64 %rd3, %rd2; st.u32 [%rd3+4], %r2; st.shared.u32 [cell], %r3;\n"
    " setp.eq.s32 %p1, %r1, 0; @%p1 bra DONE; @!%p1 red.global.add.u32 [%rd1], 1;\n"
    " { .param .align 8 .b8 a[16]; .param .b32 m; .param .align 8 .b8 r[16];\n"
    "   st.param.b64 [a], %rd1; st.param.b64 [a+8], %rd3; st.param.b32 [m], %r1; call (r), target, (a, m);\n"
    "   ld.param.b64 %rd4, [r+8]; }\n"
    " { .param .b64 a; .param .b64 m; .param .b32 r; st.param.b64 [a], %rd1; st.param.b64 [m], %rd3;\n"
    "   call.uni (r), vprintf, (a, m); ld.param.b32 %r4, [r]; }\n"
    " st.global.u64 [%rd1], %rd4; st.global.u32 [%rd1+8], %r4;\n"
    "DONE: ret; }\n";

static void whole_module(void **state)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_kir_symbol *symbol;
    struct bl_kir_func *kernel, *target;

    bl_arena_init(&arena);
    if (lower_text(&arena, whole, &module, &error) != BL_OK)
        fail_msg("%s", error.message);
    symbol = bl_map_get(&module->symbol_names, bl_sv("table"));
    assert_int_equal(symbol->relocs.count, 2);
    assert_string_equal(symbol->relocs.items[0].func->name, "target");
    assert_string_equal(symbol->relocs.items[1].symbol->name, "numbers");
    assert_true(symbol->relocs.items[1].generic);
    assert_int_equal(symbol->relocs.items[1].offset, 8);
    symbol = bl_map_get(&module->symbol_names, bl_sv("numbers"));
    assert_memory_equal(symbol->init, ((const int32_t[]){1, -2, 0x7fffffff}), 12);
    symbol = bl_map_get(&module->symbol_names, bl_sv("packed"));
    assert_int_equal(symbol->relocs.count, 1);
    assert_int_equal(symbol->relocs.items[0].offset, 1);
    assert_int_equal(symbol->relocs.items[0].size, 8);
    assert_int_equal(symbol->init[0], 7);
    target = bl_map_get(&module->func_names, bl_sv("target"));
    assert_int_equal(target->proto.param_count, 3);
    assert_int_equal(target->proto.result_count, 0);
    assert_int_equal(target->number, 2);
    kernel = bl_map_get(&module->func_names, bl_sv("kernel"));
    assert_int_equal(kernel->kernel_params.count, 3);
    assert_int_equal(kernel->kernel_params.items[2].offset, 20);
    assert_int_equal(kernel->param_bytes, 24);
    assert_int_equal(kernel->max_threads[1], 2);
    assert_int_equal(kernel->frame_size, 64);
    assert_int_equal(kernel->frame_align, 16);
    if (bl_kir_prepare(module, &error) != BL_OK || bl_kir_validate(module, &error) != BL_OK)
        fail_msg("%s", error.message);
    bl_arena_cleanup(&arena);
    (void)state;
}

static void a_tree_can_be_lowered_twice(void **state)
{
    struct bl_arena tree, first, second;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *ptx;
    struct bl_kir_module *module;
    struct bl_buffer out[2] = {{0}};

    bl_arena_init(&tree);
    bl_arena_init(&first);
    assert_int_equal(bl_ptx_parse(&tree, bl_sv(whole), "test", 0, &ptx, &error), BL_OK);
    assert_int_equal(bl_lower(&first, ptx, &module, &error), BL_OK);
    bl_kir_print(&out[0], module);
    bl_arena_cleanup(&first);
    bl_arena_init(&second);
    assert_int_equal(bl_lower(&second, ptx, &module, &error), BL_OK);
    bl_kir_print(&out[1], module);
    assert_string_equal(out[0].data, out[1].data);
    bl_buffer_cleanup(&out[0]);
    bl_buffer_cleanup(&out[1]);
    bl_arena_cleanup(&second);
    bl_arena_cleanup(&tree);
    (void)state;
}

/* Every heap allocation of a lowering fails once: the answer is always BL_NO_MEMORY, and the next try works. */
static void memory_runs_out(void **state)
{
    struct bl_arena tree;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_ptx_module *ptx;
    struct bl_kir_module *module;
    enum bl_status status = BL_NO_MEMORY;
    uint64_t nth;

    bl_arena_init(&tree);
    assert_int_equal(bl_ptx_parse(&tree, bl_sv(whole), "test", 0, &ptx, &error), BL_OK);
    for (nth = 1; status != BL_OK && nth < 1000; nth++) {
        struct bl_arena arena;
        bl_arena_init(&arena);
        bl_fault_inject("alloc", nth);
        error.status = BL_OK;
        status = bl_lower(&arena, ptx, &module, &error);
        bl_fault_inject("alloc", 0);
        assert_true(status == BL_OK || (status == BL_NO_MEMORY && error.status == BL_NO_MEMORY && !module));
        assert_null(arena.no_memory);
        bl_arena_cleanup(&arena);
    }
    assert_int_equal(status, BL_OK);
    assert_true(nth > 2);
    bl_arena_cleanup(&tree);
    (void)state;
}

/* Sizes that no device has: refused where they are used, or out of memory; never a crash. */
static void hostile_sizes(void **state)
{
    static const char *const texts[] = {
        ".entry k() { .local .align 8 .b8 big[1099511627776]; .reg .b64 %rd1; mov.u64 %rd1, big; st.local.u64 [%rd1], %rd1; ret; }",
        (".entry k() { .local .align 8 .b8 a[400000000]; .local .align 8 .b8 b[400000000]; .reg .b64 %rd1; mov.u64 %rd1, b; "
         "st.local.u64 [%rd1], %rd1; ret; }"),
        ".global .align 4 .b8 big[1152921504606846976] = {1};\n.entry k() { ret; }",
    };
    for (size_t t = 0; t < BL_LEN(texts); t++) {
        struct bl_arena arena;
        struct bl_error error = BL_ERROR_INIT;
        struct bl_kir_module *module = NULL;
        enum bl_status status;
        bl_arena_init(&arena);
        arena.limit = 64 << 20;
        status = lower_text(&arena, bl_arena_printf(&arena, "%s%s", header, texts[t]), &module, &error);
        assert_true(status != BL_OK || module->funcs.items[0]->frame_size <= 512 << 20);
        bl_arena_cleanup(&arena);
    }
    (void)state;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_become_kir), cmocka_unit_test(whole_module),  cmocka_unit_test(a_tree_can_be_lowered_twice),
        cmocka_unit_test(memory_runs_out),         cmocka_unit_test(hostile_sizes),
    };
    cases_path = argc > 1 ? argv[1] : "lower.cases";
    if (argc > 2 && strcmp(argv[2], "--update") == 0)
        return run_cases(true);
    return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
