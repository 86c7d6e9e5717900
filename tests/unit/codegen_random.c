/* Random control flow, compiled and interpreted: each kernel's blocks jump anywhere (loops in loops, irreducible ones, ways out of
 * the middle), by conditions that are the same in all lanes or differ. An interpreter that runs one thread at a time says what
 * each lane must write; the warp must write the same. Usage: codegen_random [COUNT [FIRST_SEED]];
 * one kernel alone is printed. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "kir/kir.h"
#include "target/cpu/compile.h"
#include "target/cpu/function.h"

enum { VARS = 5, OUTPUTS = VARS, FUEL = 40, STEPS = 100000 };

/* ---- making a kernel --------------------------------------------------------------------------------- */

struct maker {
    uint64_t state;
    struct bl_kir_builder b;
    struct bl_kir_func *func;
    struct bl_kir_var *vars[VARS], *fuel;
    struct bl_kir_block *blocks[40], *out;
    uint32_t block_count;
    bool waits;            /* reads volatile memory in its loops: they may wait for other threads */
    uint32_t uniform_vars; /* the first of vars that are only computed from uniform ones */
};

static uint32_t rnd(struct maker *m, uint32_t below)
{
    m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(m->state >> 33) % below;
}

static struct bl_kir_value *op2(struct maker *m, enum bl_kir_op op, struct bl_kir_value *x, struct bl_kir_value *y)
{
    return bl_kir_emit1(&m->b, op, NULL, BL_KIR_I32, x, y, NULL);
}

static struct bl_kir_value *number(struct maker *m, uint32_t n)
{
    return bl_kir_const(&m->b, BL_KIR_I32, n);
}

static struct bl_kir_value *some(struct maker *m, bool is_uniform)
{
    if (rnd(m, 4) == 0)
        return number(m, rnd(m, 100));
    return bl_kir_getvar(&m->b, m->vars[rnd(m, is_uniform ? m->uniform_vars : VARS)]);
}

/* A word that is zero, but the code can't know. */
static struct bl_kir_value *zero_in_memory(struct maker *m)
{
    struct bl_kir_attr param = {.type = BL_KIR_I64, .vec = 1};
    struct bl_kir_attr load = {.type = BL_KIR_I32, .vec = 1, .space = BL_KIR_GLOBAL, .align = 4, .order = BL_KIR_VOLATILE};
    struct bl_kir_value *base = bl_kir_emit1(&m->b, BL_KIR_OP_param, &param, BL_KIR_I64, NULL, NULL, NULL);
    load.imm = BL_WARP * OUTPUTS * 4;
    return bl_kir_emit1(&m->b, BL_KIR_OP_load, &load, BL_KIR_I32, base, NULL, NULL);
}

static void compute(struct maker *m)
{
    static const enum bl_kir_op ops[] = {BL_KIR_OP_add, BL_KIR_OP_sub, BL_KIR_OP_mul, BL_KIR_OP_xor, BL_KIR_OP_and};
    uint32_t to = rnd(m, VARS);
    bool is_uniform = to < m->uniform_vars;
    struct bl_kir_value *x = some(m, is_uniform), *y = m->waits && rnd(m, 3) == 0 ? zero_in_memory(m) : some(m, is_uniform);
    bl_kir_setvar(&m->b, m->vars[to], op2(m, ops[rnd(m, BL_LEN(ops))], x, y));
}

static struct bl_kir_value *condition(struct maker *m)
{
    struct bl_kir_attr attr = {.cmp = (uint8_t)(BL_KIR_EQ + rnd(m, 6))};
    bool is_uniform = rnd(m, 2);
    struct bl_kir_value *x = op2(m, BL_KIR_OP_and, some(m, is_uniform), number(m, 7));
    return bl_kir_emit1(&m->b, BL_KIR_OP_icmp, &attr, BL_KIR_PRED, x, number(m, rnd(m, 8)), NULL);
}

/* Each block burns fuel, so that every thread comes to the end. */
static void end_block(struct maker *m)
{
    struct bl_kir_attr attr = {.cmp = BL_KIR_EQ};
    struct bl_kir_value *fuel = op2(m, BL_KIR_OP_sub, bl_kir_getvar(&m->b, m->fuel), number(m, 1)), *empty;
    struct bl_kir_block *on = bl_kir_block_new(m->func, NULL), *targets[4];
    uint32_t kind = rnd(m, 8);

    if (rnd(m, 3)) {
        bl_kir_setvar(&m->b, m->fuel, fuel);
        empty = bl_kir_emit1(&m->b, BL_KIR_OP_icmp, &attr, BL_KIR_PRED, fuel, number(m, 0), NULL);
        bl_kir_branch(&m->b, empty, m->out, on);
    } else {
        bl_kir_setvar(&m->b, m->fuel, fuel);
        attr.cmp = BL_KIR_LE;
        empty = bl_kir_emit1(&m->b, BL_KIR_OP_icmp, &attr, BL_KIR_PRED, fuel, number(m, 0), NULL);
        bl_kir_branch(&m->b, empty, m->out, on);
    }
    m->b.block = on;
    for (uint32_t t = 0; t < 4; t++)
        targets[t] = m->blocks[rnd(m, m->block_count)];
    if (kind == 0)
        bl_kir_jump(&m->b, targets[0]);
    else if (kind == 1)
        bl_kir_switch(&m->b, op2(m, BL_KIR_OP_and, some(m, rnd(m, 2)), number(m, 3)), 4, targets);
    else
        bl_kir_branch(&m->b, condition(m), targets[0], targets[1]);
}

/* Mostly forward, so that loops nest as programs' do; sometimes anywhere. */
static void fill_blocks(struct maker *m)
{
    for (uint32_t k = 0; k < m->block_count; k++) {
        m->b.block = m->blocks[k];
        for (uint32_t n = rnd(m, 4); n > 0; n--)
            compute(m);
        end_block(m);
    }
}

static void write_results(struct maker *m)
{
    struct bl_kir_attr sreg = {.sreg = BL_KIR_SREG_TID_X}, param = {.type = BL_KIR_I64, .vec = 1};
    struct bl_kir_attr store = {.type = BL_KIR_I32, .vec = 1, .space = BL_KIR_GLOBAL, .align = 4};
    struct bl_kir_value *tid, *base, *place, *operands[2];
    enum bl_kir_type type = BL_KIR_I64;

    m->b.block = m->out;
    tid = bl_kir_emit1(&m->b, BL_KIR_OP_sreg, &sreg, BL_KIR_I32, NULL, NULL, NULL);
    base = bl_kir_emit(&m->b, BL_KIR_OP_param, &param, 1, &type, 0, NULL)->results[0];
    place = bl_kir_emit1(&m->b, BL_KIR_OP_zext, NULL, BL_KIR_I64, op2(m, BL_KIR_OP_mul, tid, number(m, OUTPUTS * 4)), NULL, NULL);
    place = bl_kir_emit1(&m->b, BL_KIR_OP_add, NULL, BL_KIR_I64, base, place, NULL);
    for (uint32_t v = 0; v < VARS; v++) {
        store.imm = v * 4;
        operands[0] = place;
        operands[1] = bl_kir_getvar(&m->b, m->vars[v]);
        bl_kir_emit(&m->b, BL_KIR_OP_store, &store, 0, NULL, 2, operands);
    }
    bl_kir_emit(&m->b, BL_KIR_OP_ret, NULL, 0, NULL, 0, NULL);
}

static struct bl_kir_module *make_module(struct bl_arena *arena, uint64_t seed)
{
    struct maker m = {.state = seed * 2 + 1};
    struct bl_kir_module *module = bl_kir_module_new(arena, "random");
    struct bl_kir_attr tid = {.sreg = BL_KIR_SREG_TID_X}, ctaid = {.sreg = BL_KIR_SREG_CTAID_X};
    struct bl_kir_block *entry;

    for (uint32_t n = 0; n < 5; n++)
        rnd(&m, 2);
    m.func = bl_kir_func_new(module, "k", true);
    m.func->param_bytes = 8;
    m.b = (struct bl_kir_builder){.func = m.func};
    m.block_count = 2 + rnd(&m, 9);
    m.uniform_vars = 1 + rnd(&m, 3);
    m.waits = seed % 4 == 3;
    for (uint32_t v = 0; v < VARS; v++)
        m.vars[v] = bl_kir_var_new(m.func, BL_KIR_I32, NULL);
    m.fuel = bl_kir_var_new(m.func, BL_KIR_I32, NULL);
    entry = bl_kir_block_new(m.func, "entry");
    for (uint32_t k = 0; k < m.block_count; k++)
        m.blocks[k] = bl_kir_block_new(m.func, NULL);
    m.out = bl_kir_block_new(m.func, "out");
    m.b.block = entry;
    for (uint32_t v = 0; v < VARS; v++) {
        struct bl_kir_attr *attr = v < m.uniform_vars ? &ctaid : &tid;
        struct bl_kir_value *x = bl_kir_emit1(&m.b, BL_KIR_OP_sreg, attr, BL_KIR_I32, NULL, NULL, NULL);
        bl_kir_setvar(&m.b, m.vars[v], v % 2 ? op2(&m, BL_KIR_OP_mul, x, number(&m, 1 + rnd(&m, 50))) : x);
    }
    bl_kir_setvar(&m.b, m.fuel, number(&m, FUEL));
    bl_kir_jump(&m.b, m.blocks[0]);
    fill_blocks(&m);
    write_results(&m);
    return module;
}

/* ---- interpreting one thread ----------------------------------------------------------------------------- */

static bool holds(uint8_t cmp, uint32_t x, uint32_t y)
{
    int32_t a = (int32_t)x, b = (int32_t)y;
    switch (cmp) {
    case BL_KIR_EQ:
        return x == y;
    case BL_KIR_NE:
        return x != y;
    case BL_KIR_LT:
        return a < b;
    case BL_KIR_LE:
        return a <= b;
    case BL_KIR_GT:
        return a > b;
    default:
        return a >= b;
    }
}

struct thread {
    uint64_t *values, *next_values;
    uint32_t tid, ctaid, *out;
};

static void step(struct thread *t, const struct bl_kir_instr *i)
{
    uint64_t x = i->operand_count > 0 ? t->values[i->operands[0]->id] : 0,
             y = i->operand_count > 1 ? t->values[i->operands[1]->id] : 0, r = 0;

    switch (i->op) {
    case BL_KIR_OP_const:
        r = i->attr->imm;
        break;
    case BL_KIR_OP_sreg:
        r = i->attr->sreg == BL_KIR_SREG_TID_X ? t->tid : t->ctaid;
        break;
    case BL_KIR_OP_add:
        r = x + y;
        break;
    case BL_KIR_OP_sub:
        r = x - y;
        break;
    case BL_KIR_OP_mul:
        r = x * y;
        break;
    case BL_KIR_OP_xor:
        r = x ^ y;
        break;
    case BL_KIR_OP_and:
        r = x & y;
        break;
    case BL_KIR_OP_zext:
        r = x;
        break;
    case BL_KIR_OP_icmp:
        r = holds(i->attr->cmp, (uint32_t)x, (uint32_t)y);
        break;
    case BL_KIR_OP_store:
        t->out[i->attr->imm / 4] = (uint32_t)y;
        break;
    default: /* param, undef, load of zero */
        break;
    }
    if (i->result_count)
        t->values[i->results[0]->id] = bl_kir_type_bits(i->results[0]->type) == 64 ? r : (uint32_t)r;
}

static struct bl_kir_block *follow(struct thread *t, struct bl_kir_block *block)
{
    const struct bl_kir_instr *last = block->last;
    uint32_t way = 0, place = 0, same = 0;
    struct bl_kir_block *to;

    if (last->op == BL_KIR_OP_ret)
        return NULL;
    if (last->op == BL_KIR_OP_branch)
        way = t->values[last->operands[0]->id] ? 0 : 1;
    else if (last->op == BL_KIR_OP_switch)
        way = (uint32_t)t->values[last->operands[0]->id];
    to = last->targets[way];
    for (uint32_t k = 0; k < way; k++)
        same += last->targets[k] == to;
    for (; to->preds.items[place] != block || same > 0; place++)
        same -= to->preds.items[place] == block;
    for (const struct bl_kir_instr *i = to->first; i->op == BL_KIR_OP_phi; i = i->next)
        t->next_values[i->results[0]->id] = t->values[i->operands[place]->id];
    for (const struct bl_kir_instr *i = to->first; i->op == BL_KIR_OP_phi; i = i->next)
        t->values[i->results[0]->id] = t->next_values[i->results[0]->id];
    return to;
}

static void interpret(struct bl_arena *arena, const struct bl_kir_func *func, uint32_t tid, uint32_t ctaid, uint32_t *out)
{
    struct thread t = {.tid = tid, .ctaid = ctaid, .out = out};

    t.values = BL_NEW_ARRAY(arena, uint64_t, func->value_count);
    t.next_values = BL_NEW_ARRAY(arena, uint64_t, func->value_count);
    for (struct bl_kir_block *block = func->blocks.items[0]; block; block = follow(&t, block))
        for (const struct bl_kir_instr *i = block->first; i != block->last; i = i->next)
            if (i->op != BL_KIR_OP_phi)
                step(&t, i);
}

/* ---- running the code --------------------------------------------------------------------------------------- */

static void *load_object(const struct bl_cpu_answer *answer, void **handle)
{
    char object[] = "/tmp/codegen_random_XXXXXX", library[64], command[256];
    struct bl_error error = BL_ERROR_INIT;
    int fd = mkstemp(object);

    if (fd < 0)
        return NULL;
    close(fd);
    snprintf(library, sizeof(library), "%s.so", object);
    snprintf(command, sizeof(command), "ld -shared -z noexecstack -o %s %s 2>/dev/null", library, object);
    if (bl_file_write(object, answer->object, answer->object_size, &error) != BL_OK || system(command) != 0)
        return NULL;
    *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unlink(object);
    unlink(library);
    return *handle ? dlsym(*handle, "bl_kernel") : NULL;
}

static void no_yield(struct bl_cpu_warp *warp, uint32_t ns)
{
}

static bool check_warp(struct bl_arena *arena, const struct bl_kir_func *func, void (*kernel)(struct bl_cpu_warp *),
                       uint32_t active, uint64_t seed)
{
    static uint32_t got[BL_WARP + 1][OUTPUTS], want[BL_WARP][OUTPUTS];
    static const struct bl_cpu_helpers helpers = {.yield = no_yield};
    struct bl_cpu_warp warp = {.helpers = &helpers, .active = active, .ctaid = {3}};
    uint64_t parameter = (uintptr_t)got;
    bool good = true;

    warp.params = (const uint8_t *)&parameter;
    memset(got, 0x55, sizeof(got));
    memset(want, 0x55, sizeof(want));
    memset(got[BL_WARP], 0, sizeof(got[BL_WARP]));
    for (uint32_t lane = 0; lane < BL_WARP; lane++)
        if (active >> lane & 1)
            interpret(arena, func, lane, 3, want[lane]);
    kernel(&warp);
    for (uint32_t lane = 0; lane < BL_WARP; lane++)
        for (uint32_t v = 0; v < OUTPUTS; v++)
            if (got[lane][v] != want[lane][v] && good) {
                printf("seed %llu, active %08x: lane %u variable %u is %u, must be %u\n", (unsigned long long)seed, active, lane, v,
                       got[lane][v], want[lane][v]);
                good = false;
            }
    return good;
}

static bool compile_module(struct bl_arena *arena, struct bl_kir_module *module, struct bl_cpu_answer *answer)
{
    struct bl_buffer text = {0};
    struct bl_cpu_request request = {.kernel = "k", .source_name = "random", .cta_shape = BL_CPU_CTA_LINEAR, .optimize = 2};

    bl_kir_print(&text, module);
    request.ptx = (struct bl_sv){bl_arena_copy(arena, text.data, text.size), text.size};
    bl_buffer_cleanup(&text);
    bl_cpu_compile(arena, &request, answer);
    if (answer->status != BL_OK)
        printf("%s\n", answer->error.message);
    return answer->status == BL_OK;
}

static void print_module(const struct bl_kir_module *module)
{
    struct bl_buffer text = {0};
    bl_kir_print(&text, module);
    fputs(text.data ? text.data : "", stdout);
    bl_buffer_cleanup(&text);
}

static bool check_seed(uint64_t seed, bool print)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    struct bl_cpu_answer answer;
    struct bl_kir_module *module;
    void *handle = NULL, *kernel = NULL;
    bool good = false;

    bl_arena_init(&arena);
    module = make_module(&arena, seed);
    error.status = bl_kir_prepare(module, &error);
    if (print)
        print_module(module);
    fflush(stdout);
    if (error.status != BL_OK) {
        printf("seed %llu: %s\n", (unsigned long long)seed, error.message);
    } else if (compile_module(&arena, module, &answer) && (kernel = load_object(&answer, &handle))) {
        void (*run)(struct bl_cpu_warp *);
        memcpy(&run, &kernel, sizeof(run));
        good = check_warp(&arena, module->funcs.items[0], run, UINT32_MAX, seed) &&
               check_warp(&arena, module->funcs.items[0], run, 0x000fffff, seed);
    }
    if (!good)
        printf("seed %llu failed\n", (unsigned long long)seed);
    if (handle)
        dlclose(handle);
    bl_arena_cleanup(&arena);
    return good;
}

int main(int argc, char **argv)
{
    uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 0) : 40, first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, bad = 0;

    for (uint64_t seed = first; seed < first + count; seed++)
        bad += !check_seed(seed, count == 1);
    printf("%llu of %llu kernels run as the interpreter says\n", (unsigned long long)(count - bad), (unsigned long long)count);
    return bad != 0;
}
