/* How fast a PTX text is parsed: makes one of about 10 MB from repeated kernels, of the mix of instructions that nvcc writes,
 * and parses it nine times, eagerly with checks, then lazily. Prints MB of text a second of processor time: the median, the least
 * and the most. bench_ptx_parse [FILE.ptx]    FILE: measured instead */
#include "ptx/ptx.h"

#include <stdio.h>
#include <time.h>

enum { TEXT_SIZE = 10 << 20, RUNS = 9 };

static const char header[] = ".version 8.7\n.target sm_80\n.address_size 64\n\n"
                             ".global .align 4 .b8 table[16] = {1, 2, 3, 4};\n";

static const char kernel_head[] =
    "\n\t// .globl\tkernel_%u\n.visible .entry kernel_%u(\n\t.param .u64 .ptr .align 1 kernel_%u_param_0,\n"
    "\t.param .u64 .ptr .align 1 kernel_%u_param_1,\n\t.param .u32 kernel_%u_param_2\n)\n"
    ".maxntid 256, 1, 1\n{\n\t.reg .pred \t%%p<40>;\n\t.reg .b32 \t%%r<400>;\n\t.reg .f32 \t%%f<200>;\n"
    "\t.reg .b64 \t%%rd<100>;\n\n\tld.param.u64 \t%%rd1, [kernel_%u_param_0];\n"
    "\tld.param.u64 \t%%rd2, [kernel_%u_param_1];\n\tld.param.u32 \t%%r1, [kernel_%u_param_2];\n"
    "\tcvta.to.global.u64 \t%%rd3, %%rd1;\n\tcvta.to.global.u64 \t%%rd4, %%rd2;\n"
    "\tmov.u32 \t%%r2, %%ctaid.x;\n\tmov.u32 \t%%r3, %%ntid.x;\n\tmov.u32 \t%%r4, %%tid.x;\n"
    "\tmad.lo.s32 \t%%r5, %%r2, %%r3, %%r4;\n";

static void add_block(struct bl_buffer *text, uint32_t n)
{
    uint32_t r = 6 + n * 9, f = 1 + n * 6, d = 5 + n * 3;
    bl_buffer_printf(text, "\tsetp.ge.s32 \t%%p%u, %%r%u, %%r1;\n\t@%%p%u bra \t$L__BB%u_2;\n", n + 1, r - 1, n + 1, n);
    bl_buffer_printf(text, "\tmul.wide.s32 \t%%rd%u, %%r%u, 4;\n\tadd.s64 \t%%rd%u, %%rd3, %%rd%u;\n", d, r - 1, d + 1, d);
    bl_buffer_printf(text, "\tld.global.nc.f32 \t%%f%u, [%%rd%u+%u];\n\tld.global.nc.v2.f32 \t{%%f%u, %%f%u}, [%%rd%u];\n", f,
                     d + 1, n * 4, f + 1, f + 2, d + 1);
    bl_buffer_printf(text, "\tfma.rn.f32 \t%%f%u, %%f%u, %%f%u, 0f3F800000;\n\tmul.ftz.f32 \t%%f%u, %%f%u, %%f%u;\n", f + 3, f,
                     f + 1, f + 4, f + 3, f + 2);
    bl_buffer_printf(text, "\tshl.b32 \t%%r%u, %%r%u, 2;\n\tand.b32  \t%%r%u, %%r%u, 31;\n", r, r - 1, r + 1, r);
    bl_buffer_printf(text, "\tadd.s32 \t%%r%u, %%r%u, -1;\n\tselp.b32 \t%%r%u, %%r%u, %%r%u, %%p%u;\n", r + 2, r + 1, r + 3, r + 2,
                     r, n + 1);
    bl_buffer_printf(text, "\tshfl.sync.bfly.b32 \t%%r%u|%%p%u, %%r%u, 16, 31, -1;\n", r + 4, n + 2, r + 3);
    bl_buffer_printf(text, "\tcvt.rn.f32.s32 \t%%f%u, %%r%u;\n\tadd.s64 \t%%rd%u, %%rd4, %%rd%u;\n", f + 5, r + 4, d + 2, d);
    bl_buffer_printf(text, "\tst.global.f32 \t[%%rd%u], %%f%u;\n\tmov.u32 \t%%r%u, table;\n", d + 2, f + 4, r + 8);
    bl_buffer_printf(text, "\tbar.sync \t0;\n\n$L__BB%u_2:\n", n);
}

static void make_text(struct bl_buffer *text)
{
    bl_buffer_add(text, header, sizeof(header) - 1);
    for (uint32_t k = 0; text->size < TEXT_SIZE && !text->failed; k++) {
        bl_buffer_printf(text, kernel_head, k, k, k, k, k, k, k, k);
        for (uint32_t n = 0; n < 30; n++)
            add_block(text, n);
        bl_buffer_printf(text, "\tret;\n\n}\n");
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(struct bl_sv text, const char *what, uint32_t flags)
{
    double speeds[RUNS];
    size_t memory = 0;

    for (int run = 0; run < RUNS; run++) {
        struct bl_error error = BL_ERROR_INIT;
        struct bl_ptx_module *module;
        struct bl_arena arena;
        double start = seconds();
        bl_arena_init(&arena);
        if (bl_ptx_parse(&arena, text, "bench", flags, &module, &error) != BL_OK) {
            printf("%s\n", error.message);
            return false;
        }
        memory = arena.total;
        bl_arena_cleanup(&arena);
        speeds[run] = (double)text.size / 1e6 / (seconds() - start);
    }
    qsort(speeds, RUNS, sizeof(speeds[0]), by_value);
    printf("%s: %.0f MB/s (%.0f to %.0f), %.1f MB of text, %.0f MB of tree\n", what, speeds[RUNS / 2], speeds[0], speeds[RUNS - 1],
           (double)text.size / 1e6, (double)memory / 1e6);
    return true;
}

int main(int argc, char **argv)
{
    struct bl_buffer text = {0};
    struct bl_error error = BL_ERROR_INIT;
    char *data = NULL;
    size_t size;
    bool good;

    if (argc > 1 && bl_file_read(argv[1], &data, &size, &error) == BL_OK)
        bl_buffer_add(&text, data, size);
    else
        make_text(&text);
    if (text.failed || error.status != BL_OK) {
        printf("%s\n", error.status != BL_OK ? error.message : "out of memory");
        return 1;
    }
    good = measure((struct bl_sv){text.data, text.size}, "eager", 0) &&
           measure((struct bl_sv){text.data, text.size}, "lazy", BL_PTX_LAZY);
    bl_free(data);
    bl_buffer_cleanup(&text);
    return !good;
}
