/* Runs the text tests of kir: each file holds cases of this form
 *     === what it shows | command, command ...
 *     kir text
 *     ---
 *     what the commands answer
 * A command is an analysis, whose answer is printed as comments, or a pass, after which the module is printed; `print` prints it
 * as it is. Fails where an answer differs.
 *     kir_test FILE ...                    runs the cases
 *     kir_test --update FILE               prints the file with the answers of now: read them before you keep them
 *     kir_test --run "COMMANDS" FILE ...   runs commands on files of plain kir text
 */
#include "kir/kir.h"

#include <stdio.h>

static void print_dominators(struct bl_buffer *out, struct bl_kir_func *func)
{
    struct bl_kir_dom *dom = bl_kir_dominators(func);
    for (uint32_t b = 0; b < func->blocks.count; b++) {
        bl_buffer_printf(out, ";   block %u: ", b);
        if (dom->idom[b] == UINT32_MAX) {
            bl_buffer_printf(out, "unreachable\n");
            continue;
        }
        bl_buffer_printf(out, "rpo %u, dominated by %u, followed by ", dom->rpo_index[b], dom->idom[b]);
        if (dom->ipdom[b] == UINT32_MAX)
            bl_buffer_printf(out, "the exit\n");
        else
            bl_buffer_printf(out, "%u\n", dom->ipdom[b]);
    }
}

static void print_loops(struct bl_buffer *out, struct bl_kir_func *func)
{
    struct bl_kir_loops *loops = bl_kir_find_loops(func, bl_kir_dominators(func));
    for (uint32_t l = 0; l < loops->loops.count; l++) {
        const struct bl_kir_loop *loop = loops->loops.items[l];
        bl_buffer_printf(out, ";   loop of %u, depth %u%s%s:", loop->header->id, loop->depth,
                         loop->irreducible ? ", irreducible" : "", loop->spins ? ", spins" : "");
        for (uint32_t b = 0; b < loop->blocks.count; b++)
            bl_buffer_printf(out, " %u", loop->blocks.items[b]->id);
        if (loop->parent)
            bl_buffer_printf(out, "; in the loop of %u", loop->parent->header->id);
        bl_buffer_printf(out, "\n");
    }
}

static void print_set(struct bl_buffer *out, const char *what, uint32_t count, const uint8_t *set)
{
    bool any = false;
    for (uint32_t n = 0; n < count; n++) {
        if (set[n] && !any)
            bl_buffer_printf(out, ";   %s:", what);
        if (set[n])
            bl_buffer_printf(out, " %u", n);
        any = any || set[n];
    }
    bl_buffer_printf(out, any ? "\n" : "");
}

static void print_shape(struct bl_buffer *out, const struct bl_kir_divergence *d, const struct bl_kir_value *value)
{
    bl_buffer_printf(out, " %%%s%s%u", value->name ? value->name : "", value->name ? "." : "", value->id);
    if (d->shape[value->id] == BL_KIR_SHAPE_AFFINE)
        bl_buffer_printf(out, " by %lld", (long long)d->stride[value->id]);
    if (d->guard[value->id])
        bl_buffer_printf(out, " if %%%u", d->guard[value->id]->id);
}

static void print_shapes(struct bl_buffer *out, const struct bl_kir_func *func, const struct bl_kir_divergence *d, uint8_t shape,
                         const char *what)
{
    bl_buffer_printf(out, ";   %s:", what);
    for (uint32_t p = 0; p < func->params.count; p++)
        if (d->shape[func->params.items[p]->id] == shape)
            print_shape(out, d, func->params.items[p]);
    for (uint32_t b = 0; b < func->blocks.count; b++)
        for (struct bl_kir_instr *i = func->blocks.items[b]->first; i; i = i->next)
            for (uint32_t r = 0; r < i->result_count; r++)
                if (d->shape[i->results[r]->id] == shape && i->op != BL_KIR_OP_const)
                    print_shape(out, d, i->results[r]);
    bl_buffer_printf(out, "\n");
}

/* divergence, with words for options: divergence+linear+guards+varying */
static void print_divergence(struct bl_buffer *out, struct bl_kir_func *func, const char *what)
{
    struct bl_kir_divergence_options options = {
        .linear_cta = strstr(what, "+linear"), .params_varying = strstr(what, "+varying"), .guards = strstr(what, "+guards")};
    struct bl_kir_dom *dom = bl_kir_dominators(func);
    struct bl_kir_loops *loops = bl_kir_find_loops(func, dom);
    struct bl_kir_divergence *d = bl_kir_find_divergence(func, dom, loops, &options);

    print_shapes(out, func, d, BL_KIR_SHAPE_UNIFORM, "uniform");
    print_shapes(out, func, d, BL_KIR_SHAPE_AFFINE, "affine");
    print_shapes(out, func, d, BL_KIR_SHAPE_VARYING, "varying");
    print_set(out, "divergent branches", func->blocks.count, d->divergent_branch);
    print_set(out, "divergent blocks", func->blocks.count, d->divergent_block);
    print_set(out, "divergent joins", func->blocks.count, d->divergent_join);
    print_set(out, "divergent loops", loops->loops.count, d->divergent_loop);
}

static enum bl_status analyse(struct bl_buffer *out, struct bl_kir_module *module, const char *what)
{
    for (uint32_t f = 0; f < module->funcs.count; f++) {
        struct bl_kir_func *func = module->funcs.items[f];
        if (func->blocks.count == 0)
            continue;
        if (strcmp(what, "dominators") == 0 || strcmp(what, "loops") == 0 || strncmp(what, "divergence", 10) == 0)
            bl_buffer_printf(out, "; %s\n", func->name);
        if (strcmp(what, "dominators") == 0)
            print_dominators(out, func);
        else if (strcmp(what, "loops") == 0)
            print_loops(out, func);
        else if (strncmp(what, "divergence", 10) == 0)
            print_divergence(out, func, what);
        else
            return BL_NOT_FOUND;
    }
    return BL_OK;
}

static enum bl_status run_pass(struct bl_kir_module *module, const char *what, struct bl_error *error)
{
    for (uint32_t f = 0; f < module->funcs.count; f++) {
        struct bl_kir_func *func = module->funcs.items[f];
        enum bl_status status = BL_OK;
        if (strcmp(what, "ssa") == 0)
            status = bl_kir_ssa(func, error);
        else if (strcmp(what, "dce") == 0)
            bl_kir_dce(func);
        else if (strcmp(what, "simplify") == 0)
            bl_kir_simplify(func);
        else if (strcmp(what, "thread_jumps") == 0)
            bl_kir_thread_jumps(func);
        else if (strcmp(what, "spaces") == 0)
            bl_kir_infer_spaces(func);
        else if (strcmp(what, "align") == 0)
            bl_kir_infer_align(func);
        else if (strcmp(what, "renumber") == 0)
            bl_kir_renumber(func);
        else
            return BL_NOT_FOUND;
        if (status != BL_OK)
            return status;
    }
    return BL_OK;
}

static enum bl_status run_command(struct bl_buffer *out, struct bl_kir_module *module, const char *what, struct bl_error *error)
{
    enum bl_status status;

    if (strcmp(what, "print") == 0) {
        bl_kir_print(out, module);
        return BL_OK;
    }
    if (strcmp(what, "validate") == 0)
        return bl_kir_validate(module, error);
    if (strcmp(what, "prepare") == 0)
        return bl_kir_prepare(module, error);
    if (strcmp(what, "inline") == 0) {
        bl_kir_inline(module);
        return BL_OK;
    }
    status = analyse(out, module, what);
    if (status == BL_NOT_FOUND)
        status = run_pass(module, what, error);
    if (status == BL_NOT_FOUND)
        bl_fail(error, status, "no command is called '%s'", what);
    return status;
}

/* Appends what the commands answer to `out`. */
static void run_commands(struct bl_buffer *out, const char *commands, struct bl_sv text)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_kir_module *module;
    struct bl_arena arena;
    enum bl_status status;
    char copy[256], *rest = NULL;

    snprintf(copy, sizeof(copy), "%s", commands);
    bl_arena_init(&arena);
    status = bl_kir_parse(&arena, text, &module, &error);
    for (char *what = strtok_r(copy, ", ", &rest); what && status == BL_OK; what = strtok_r(NULL, ", ", &rest))
        status = run_command(out, module, what, &error);
    if (status != BL_OK)
        bl_buffer_printf(out, "%s: %s\n", bl_status_name(status), error.message);
    bl_arena_cleanup(&arena);
}

/* The text from *at up to a line that starts with `stop`, or the end; *at then stands there. */
static struct bl_sv text_until(const char **at, const char *stop)
{
    const char *start = *at;
    size_t size = strlen(stop);
    while (**at && strncmp(*at, stop, size) != 0) {
        const char *end = strchr(*at, '\n');
        *at = end ? end + 1 : *at + strlen(*at);
    }
    return (struct bl_sv){start, (size_t)(*at - start)};
}

static void take_line(const char **at, char *line, size_t size)
{
    size_t length = strcspn(*at, "\n");
    snprintf(line, size, "%.*s", (int)length, *at);
    *at += length + ((*at)[length] == '\n');
}

static int run_case(const char *path, const char *title, struct bl_sv text, struct bl_sv expected, bool update)
{
    const char *commands = strchr(title, '|');
    struct bl_buffer out = {0};
    int failed = 0;

    if (!commands) {
        printf("%s: '%s' names no command\n", path, title);
        return 1;
    }
    run_commands(&out, commands + 1, text);
    while (expected.size > 0 && expected.data[expected.size - 1] == '\n' && expected.size > 1 &&
           expected.data[expected.size - 2] == '\n')
        expected.size--;
    if (update) {
        printf("%s\n%.*s---\n%s\n", title, BL_SV(text), out.data ? out.data : "");
    } else if (!bl_sv_equal(expected, (struct bl_sv){out.data, out.size})) {
        printf("%s: %s\nexpected\n%.*sgot\n%s\n", path, title, BL_SV(expected), out.data ? out.data : "");
        failed = 1;
    }
    bl_buffer_cleanup(&out);
    return failed;
}

static int run_file(const char *path, const char *commands, bool update)
{
    struct bl_error error = BL_ERROR_INIT;
    struct bl_buffer out = {0};
    char *data, title[512];
    const char *at;
    size_t size;
    int failed = 0, cases = 0;

    if (bl_file_read(path, &data, &size, &error) != BL_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    at = data;
    if (commands) {
        run_commands(&out, commands, (struct bl_sv){data, size});
        printf("%s", out.data ? out.data : "");
        bl_buffer_cleanup(&out);
        bl_free(data);
        return 0;
    }
    for (text_until(&at, "==="); *at; cases++) {
        struct bl_sv text, expected;
        take_line(&at, title, sizeof(title));
        text = text_until(&at, "---");
        take_line(&at, (char[8]){0}, 8);
        expected = text_until(&at, "===");
        failed += run_case(path, title, text, expected, update);
    }
    bl_free(data);
    if (!update)
        printf("%s: %d cases, %d failed\n", path, cases, failed);
    return failed > 0 || cases == 0;
}

int main(int argc, char **argv)
{
    const char *commands = NULL;
    bool update = false;
    int bad = 0, first = 1;

    if (argc > 1 && strcmp(argv[1], "--update") == 0) {
        update = true;
        first = 2;
    } else if (argc > 2 && strcmp(argv[1], "--run") == 0) {
        commands = argv[2];
        first = 3;
    }
    for (int a = first; a < argc; a++)
        bad |= run_file(argv[a], commands, update);
    return bad;
}
