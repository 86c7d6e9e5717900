/* What bailey-cc says a warp's stack must hold, against what the code then touches of a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <llvm-c/IRReader.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "target/cpu/function.h"

enum { STACK = 4 << 20, PAINT = 0xa5 };

/* ---- tools ------------------------------------------------------------------------------------------- */

/* Each thread reads so many words from its own place on, waits until a word is not zero, and stores their weighed sum. What it
 * keeps over the wait stands on the stack: 256 bytes a word. In a copy for full warps and one for others when small. */
static char *make_ptx(struct bl_arena *arena, uint32_t words)
{
    struct bl_buffer text = {0};
    char *kept;

    bl_buffer_printf(&text,
                     ".version 7.0\n.target sm_70\n.address_size 64\n"
                     ".visible .entry hoard(.param .u64 in, .param .u64 out, .param .u64 go)\n{\n"
                     ".reg .b64 %%v<%u>; .reg .b32 %%r<3>; .reg .b64 %%d<8>; .reg .pred %%p;\n"
                     "ld.param.u64 %%d1, [in]; ld.param.u64 %%d2, [out]; ld.param.u64 %%d3, [go];\n"
                     "mov.u32 %%r1, %%tid.x; mul.wide.u32 %%d4, %%r1, 8; add.u64 %%d5, %%d1, %%d4; add.u64 %%d6, %%d2, %%d4;\n",
                     words);
    for (uint32_t i = 0; i < words; i++)
        bl_buffer_printf(&text, "ld.global.u64 %%v%u, [%%d5+%u];\n", i, 8 * i);
    bl_buffer_printf(&text,
                     "wait: ld.volatile.global.u32 %%r2, [%%d3]; setp.eq.u32 %%p, %%r2, 0; @%%p bra wait; mov.u64 %%d7, 0;\n");
    for (uint32_t i = 0; i < words; i++)
        bl_buffer_printf(&text, "mad.lo.u64 %%d7, %%d7, 31, %%v%u;\n", i);
    bl_buffer_printf(&text, "st.global.u64 [%%d6], %%d7; ret;\n}\n");
    assert_false(text.failed);
    kept = bl_arena_printf(arena, "%s", text.data);
    bl_buffer_cleanup(&text);
    return kept;
}

static void *load_object(const struct bl_cpu_answer *answer, void **handle)
{
    char object[] = "/tmp/test_cpu_stack_XXXXXX", library[64], command[256];
    int fd = mkstemp(object);

    assert_true(fd >= 0);
    close(fd);
    snprintf(library, sizeof(library), "%s.so", object);
    snprintf(command, sizeof(command), "ld -shared -z noexecstack -o %s %s 2>/dev/null", library, object);
    assert_int_equal(bl_file_write(object, answer->object, answer->object_size, NULL), BL_OK);
    assert_int_equal(system(command), 0);
    *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unlink(object);
    unlink(library);
    assert_non_null(*handle);
    return dlsym(*handle, "bl_kernel");
}

static ucontext_t outside, inside;
static void (*kernel)(struct bl_cpu_warp *);
static struct bl_cpu_warp warp;

static void call_kernel(void)
{
    kernel(&warp);
}

/* Runs the kernel; bytes of the stack that it touched. */
static size_t touched(void)
{
    uint8_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t untouched = 0;

    assert_true(stack != MAP_FAILED);
    memset(stack, PAINT, STACK);
    assert_int_equal(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, call_kernel, 0);
    assert_int_equal(swapcontext(&outside, &inside), 0);
    while (untouched < STACK && stack[untouched] == PAINT)
        untouched++;
    munmap(stack, STACK);
    return STACK - untouched;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static void check_kernel(uint32_t words, uint32_t active)
{
    static uint64_t in[1000], out[BL_WARP];
    static const uint32_t go = 1;
    static const struct bl_cpu_helpers helpers = {0};
    const uint64_t params[] = {(uintptr_t)in, (uintptr_t)out, (uintptr_t)&go};
    struct bl_cpu_request request = {.kernel = "hoard", .source_name = "hoard", .cta_shape = BL_CPU_CTA_LINEAR, .optimize = 2};
    struct bl_cpu_answer answer;
    struct bl_arena arena;
    void *handle, *entry;
    size_t used;

    bl_arena_init(&arena);
    request.ptx = bl_sv(make_ptx(&arena, words));
    bl_cpu_compile(&arena, &request, &answer);
    assert_string_equal(answer.error.message, "");
    assert_int_equal(answer.status, BL_OK);
    entry = load_object(&answer, &handle);
    memcpy(&kernel, &entry, sizeof(kernel));
    for (uint32_t i = 0; i < BL_LEN(in); i++)
        in[i] = i * UINT64_C(0x9e3779b97f4a7c15);
    memset(out, 0, sizeof(out));
    warp = (struct bl_cpu_warp){.helpers = &helpers, .active = active, .params = (const uint8_t *)params, .ntid = {BL_WARP, 1, 1}};
    used = touched();
    print_message("    %u words, lanes %08x: %u bytes told, %zu touched\n", words, active, answer.info.machine_stack, used);
    assert_true(used <= answer.info.machine_stack + 256); /* what stands above the kernel's own */
    /* in the copy for warps that are not full each word is kept for each lane */
    assert_true(active == UINT32_MAX || answer.info.machine_stack <= used + 4096);
    for (uint32_t lane = 0; lane < BL_WARP; lane++) {
        uint64_t sum = 0;
        for (uint32_t i = 0; i < words; i++)
            sum = sum * 31 + in[lane + i];
        assert_int_equal(out[lane], active >> lane & 1 ? sum : 0);
    }
    dlclose(handle);
    bl_arena_cleanup(&arena);
}

static void what_is_told_is_what_is_touched(void **state)
{
    check_kernel(1, UINT32_MAX);
    check_kernel(40, UINT32_MAX);
    check_kernel(40, 0xffff);
    check_kernel(400, UINT32_MAX);
    check_kernel(400, 0x7fffffff);
}

static void in_llvms_words(void **state)
{
    struct bl_cg_frames frames = {0};

    bl_cg_frame_told(&frames, "loop not unrolled (2)");
    bl_cg_frame_told(&frames, "stack frame size in function 'f'");
    assert_int_equal(frames.known, 0);
    bl_cg_frame_told(&frames, "stack frame size (1000) exceeds limit (0) in function 'f'");
    bl_cg_frame_told(&frames, "<unknown>:0:0: stack frame size of 99999999999999999999 bytes in function 'g 5'");
    assert_int_equal(frames.known, 2);
    assert_true(frames.bytes >= (UINT64_C(1) << 32) + 1000);
}

/* Emits one function with that much on its stack. */
static enum bl_status emit(uint64_t bytes, struct bl_cpu_answer *answer)
{
    struct bl_arena arena;
    struct bl_cpu_request request = {.kernel = "hoard", .optimize = 2};
    struct bl_cg_machine machine;
    struct bl_cg cg = {.arena = &arena, .error = &answer->error};
    char text[512];
    enum bl_status status;

    bl_arena_init(&arena);
    snprintf(text, sizeof(text),
             "define void @bl_kernel(ptr %%warp) nounwind \"warn-stack-size\"=\"0\" \"probe-stack\"=\"inline-asm\" {\n"
             "  %%a = alloca [%llu x i8]\n  call void asm sideeffect \"\", \"r\"(ptr %%a)\n  ret void\n}\n",
             (unsigned long long)bytes);
    assert_int_equal(bl_cg_machine_open(&arena, &request, &machine, &answer->error), BL_OK);
    bl_cg_open(&cg, &machine);
    LLVMDisposeModule(cg.module);
    assert_false(
        LLVMParseIRInContext(cg.context, LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "f"), &cg.module, NULL));
    status = bl_cg_emit(&cg, &machine, &request, answer);
    bl_cg_close(&cg);
    bl_cg_machine_close(&machine);
    bl_arena_cleanup(&arena);
    return status;
}

static void absurd_frames_are_refused(void **state)
{
    struct bl_cpu_answer answer = {0};

    assert_int_equal(emit(60 << 20, &answer), BL_OK);
    assert_in_range(answer.info.machine_stack, 60 << 20, (60 << 20) + 4096);
    assert_int_equal(emit(70 << 20, &answer), BL_UNSUPPORTED);
    assert_non_null(strstr(answer.error.message, "kernel hoard: "));
    print_message("    %s\n", answer.error.message);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_told_is_what_is_touched),
        cmocka_unit_test(in_llvms_words),
        cmocka_unit_test(absurd_frames_are_refused),
    };
    return cmocka_run_group_tests_name("cpu_stack", tests, NULL, NULL);
}
