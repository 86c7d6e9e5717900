/* bailey-cc: the helper process that turns kernels into machine code. Without arguments it reads framed requests from standard
 * input and writes framed answers to standard output until the input ends. With a file it compiles once, for people:
 *     bailey-cc FILE.ptx|FILE.kir --kernel NAME [--emit object|asm|llvm|kir] [-o FILE] [--cpu NAME] [--general-cta] [--fast-math]
 * [-O0..-O3]
 *     bailey-cc FILE.ptx|FILE.kir --target gfxNUMBER [--kernel NAME] [--emit object|asm|llvm] [-o FILE] [--fast-math] [-O0..-O3]
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "target/amdgpu/compile.h"
#include "target/cpu/compile.h"

enum { FRAME_LIMIT = 1 << 30, HEADER_SIZE = 16 };

/* ---- serving ---------------------------------------------------------------------------------------- */

/* False at the end of the input. */
static bool read_all(void *to, size_t size)
{
    for (char *at = to; size > 0;) {
        ssize_t got = read(STDIN_FILENO, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t size)
{
    for (const char *at = from; size > 0;) {
        ssize_t put = write(fd, at, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += put;
        size -= (size_t)put;
    }
    return true;
}

static char *read_frame(size_t *size)
{
    uint8_t header[HEADER_SIZE];
    uint64_t body = 0;
    char *frame;

    if (!read_all(header, sizeof(header)))
        return NULL;
    for (uint32_t i = 0; i < 8; i++)
        body |= (uint64_t)header[8 + i] << (8 * i);
    if (body > FRAME_LIMIT || !(frame = bl_malloc(HEADER_SIZE + (size_t)body)))
        return NULL;
    memcpy(frame, header, HEADER_SIZE);
    if (!read_all(frame + HEADER_SIZE, (size_t)body)) {
        bl_free(frame);
        return NULL;
    }
    *size = HEADER_SIZE + (size_t)body;
    return frame;
}

static bool answer_frame(struct bl_sv frame)
{
    struct bl_arena arena;
    struct bl_cpu_request request;
    struct bl_cpu_answer answer = {0};
    struct bl_buffer out = {0};
    bool written;

    bl_arena_init(&arena);
    if (bl_cpu_unpack_request(&arena, frame, &request) != BL_OK || !request.kernel)
        answer.status = bl_fail(&answer.error, BL_SYNTAX, "a request that bailey-cc does not understand");
    else
        bl_cpu_compile(&arena, &request, &answer);
    written = bl_cpu_pack_answer(&out, &answer) && write_all(STDOUT_FILENO, out.data, out.size);
    bl_buffer_cleanup(&out);
    bl_arena_cleanup(&arena);
    return written;
}

static int serve(void)
{
    size_t size;
    char *frame;

    while ((frame = read_frame(&size))) {
        bool written = answer_frame((struct bl_sv){frame, size});
        bl_free(frame);
        if (!written)
            return 1;
    }
    return 0;
}

/* ---- the command line ----------------------------------------------------------------------------------- */

static const char usage[] =
    "usage: bailey-cc FILE.ptx|FILE.kir --kernel NAME [options]\n"
    "  --emit object|asm|llvm|kir   what to write (object)\n"
    "  -o FILE                      where to (standard output)\n"
    "  --cpu NAME, --features LIST  as LLVM names them (this machine's)\n"
    "  --general-cta                for CTAs whose rows are no multiple of a warp\n"
    "  --runs-16, --runs-8          for CTAs whose rows are a multiple of 16 or 8 threads\n"
    "  --fast-math                  approximate functions by polynomials, not the GPU's bits\n"
    "  -O0 to -O3                   how hard to try (-O2)\n"
    "  --target CHIP                for an AMD GPU, as gfx1100: all kernels, or that of --kernel; to a code object\n"
    "  --info                       also print what the runtime is told\n"
    "  --version, --help\n"
    "Without arguments: framed requests on standard input, answers on standard output.\n";

struct command {
    struct bl_cpu_request request;
    const char *file, *output, *chip;
    bool info;
};

static bool parse_emit(const char *word, uint32_t *emit)
{
    static const char *const words[] = {"object", "asm", "llvm", "kir"};
    for (uint32_t i = 0; i < BL_LEN(words); i++)
        if (word && !strcmp(word, words[i])) {
            *emit = i;
            return true;
        }
    return false;
}

/* Whether the argument was understood; value: the one after it, used if need be. */
static bool parse_argument(struct command *c, const char *word, const char *value, bool *used)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"--kernel", &c->request.kernel},
                 {"-o", &c->output},
                 {"--cpu", &c->request.cpu},
                 {"--features", &c->request.features},
                 {"--target", &c->chip}};

    *used = false;
    for (uint32_t i = 0; i < BL_LEN(texts); i++)
        if (!strcmp(word, texts[i].name)) {
            *used = true;
            *texts[i].to = value;
            return value != NULL;
        }
    if (!strcmp(word, "--emit")) {
        *used = true;
        return parse_emit(value, &c->request.emit);
    }
    if (!strcmp(word, "--general-cta"))
        c->request.cta_shape = BL_CPU_CTA_ANY;
    else if (!strcmp(word, "--runs-16"))
        c->request.cta_shape = BL_CPU_CTA_RUNS_16;
    else if (!strcmp(word, "--runs-8"))
        c->request.cta_shape = BL_CPU_CTA_RUNS_8;
    else if (!strcmp(word, "--fast-math"))
        c->request.fast_math = true;
    else if (!strcmp(word, "--info"))
        c->info = true;
    else if (word[0] == '-' && word[1] == 'O' && word[2] >= '0' && word[2] <= '3' && !word[3])
        c->request.optimize = (uint32_t)(word[2] - '0');
    else if (word[0] != '-' && !c->file)
        c->file = word;
    else
        return false;
    return true;
}

static void print_info(const struct bl_cpu_answer *answer)
{
    const struct bl_cpu_kernel_info *info = &answer->info;

    fprintf(stderr, "flags:%s%s%s%s%s%s%s\n", info->flags & BL_CPU_BARRIER ? " barrier" : "",
            info->flags & BL_CPU_YIELDS ? " yields" : "", info->flags & BL_CPU_GENERAL_CTA ? " general-cta" : "",
            info->flags & BL_CPU_RECURSION ? " recursion" : "", info->flags & BL_CPU_USES_LOCAL ? " local" : "",
            info->flags & BL_CPU_COROUTINE ? " coroutine" : "", info->flags & BL_CPU_ROUNDS ? " rounds" : "");
    fprintf(stderr, "shared %u, local %u, parameters %u, stack of a warp %u bytes, about %u registers, %.1f ms\n",
            info->static_shared, info->local_bytes, info->param_bytes, info->machine_stack, info->registers, answer->seconds * 1e3);
    for (uint32_t g = 0; g < info->global_count; g++)
        fprintf(stderr, "global %u: %s\n", g, info->globals[g]);
}

static int write_output(const char *path, const void *data, size_t size)
{
    struct bl_error error = BL_ERROR_INIT;

    if (!path)
        return write_all(STDOUT_FILENO, data, size) ? 0 : 1;
    if (bl_file_write(path, data, size, &error) == BL_OK)
        return 0;
    fprintf(stderr, "bailey-cc: %s\n", error.message);
    return 1;
}

static int write_answer(const struct command *c, const struct bl_cpu_answer *answer)
{
    if (answer->status != BL_OK) {
        fprintf(stderr, "bailey-cc: %s\n", answer->error.message);
        return 1;
    }
    if (c->info)
        print_info(answer);
    return write_output(c->output, answer->object, answer->object_size);
}

/* --emit's first word is the usual output of each target. */
static int compile_for_chip(const struct command *c, struct bl_arena *arena)
{
    static const uint32_t emits[] = {BL_AMD_EMIT_CODE_OBJECT, BL_AMD_EMIT_ASSEMBLY, BL_AMD_EMIT_LLVM, BL_AMD_EMIT_CODE_OBJECT};
    struct bl_amd_request request = {.text = c->request.ptx,
                                     .source_name = c->file,
                                     .kernel = c->request.kernel,
                                     .chip = c->chip,
                                     .optimize = c->request.optimize,
                                     .emit = emits[c->request.emit],
                                     .fast_math = c->request.fast_math};
    struct bl_amd_answer answer;

    bl_amd_compile(arena, &request, &answer);
    if (answer.status != BL_OK) {
        fprintf(stderr, "bailey-cc: %s\n", answer.error.message);
        return 1;
    }
    if (c->info)
        fprintf(stderr, "%zu bytes, %.1f ms\n", answer.size, answer.seconds * 1e3);
    return write_output(c->output, answer.data, answer.size);
}

static int compile_for_cpu(const struct command *c, struct bl_arena *arena)
{
    struct bl_cpu_answer answer;

    bl_cpu_compile(arena, &c->request, &answer);
    return write_answer(c, &answer);
}

static int compile_file(struct command *c)
{
    struct bl_arena arena;
    struct bl_error error = BL_ERROR_INIT;
    char *text;
    size_t size;
    int status;

    if (bl_file_read(c->file, &text, &size, &error) != BL_OK) {
        fprintf(stderr, "bailey-cc: %s\n", error.message);
        return 1;
    }
    bl_arena_init(&arena);
    c->request.ptx = (struct bl_sv){text, size};
    c->request.source_name = c->file;
    status = c->chip ? compile_for_chip(c, &arena) : compile_for_cpu(c, &arena);
    bl_arena_cleanup(&arena);
    bl_free(text);
    return status;
}

int main(int argc, char **argv)
{
    struct command c = {.request = {.cta_shape = BL_CPU_CTA_LINEAR, .optimize = 2}};
    bool used;

    if (argc == 1)
        return serve();
    for (int a = 1; a < argc; a += 1 + used) {
        used = false;
        if (!strcmp(argv[a], "--version"))
            return puts(bl_cpu_compiler_version()) < 0;
        if (!strcmp(argv[a], "--help"))
            return fputs(usage, stdout) < 0;
        if (!parse_argument(&c, argv[a], argv[a + 1], &used)) {
            fprintf(stderr, "bailey-cc: %s: not understood\n%s", argv[a], usage);
            return 2;
        }
    }
    if (!c.file || (!c.request.kernel && !c.chip && c.request.emit != BL_CPU_EMIT_KIR)) {
        fputs(usage, stderr);
        return 2;
    }
    if (!c.request.kernel && !c.chip)
        c.request.kernel = "";
    return compile_file(&c);
}
