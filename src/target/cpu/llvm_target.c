/* The machine that code is made for, the passes, and the way from an LLVM module to an object. Called by compile.c. */
#include <elf.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "target/cpu/function.h"

/* ---- the machine ----------------------------------------------------------------------------------- */

static bool has(const char *features, const char *name)
{
    size_t size = strlen(name);
    bool found = false;

    for (const char *at = features; (at = strstr(at, name)); at += size) {
        bool begins = at > features && (at[-1] == '+' || at[-1] == '-') && (at - 1 == features || at[-2] == ',');
        if (begins && (at[size] == ',' || at[size] == 0))
            found = at[-1] == '+'; /* the last one counts */
    }
    return found;
}

/* What the levels of x86-64 mean for us; they stand for no list of features. x86-64 psABI, 3.1.1. */
static const char *level_features(const char *cpu)
{
    if (!strcmp(cpu, "x86-64-v2"))
        return "+sse4.1,+cx16";
    if (!strcmp(cpu, "x86-64-v3"))
        return "+sse4.1,+cx16,+avx2,+fma,+f16c";
    if (!strcmp(cpu, "x86-64-v4"))
        return "+sse4.1,+cx16,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl";
    return "";
}

static void find_features(struct bl_cg_machine *m, const char *triple)
{
    struct bl_cg_features *f = &m->features;
    const char *text = m->feature_text;

    f->x86 = !strncmp(triple, "x86_64", 6);
    f->aarch64 = !strncmp(triple, "aarch64", 7) || !strncmp(triple, "arm64", 5);
    f->sse41 = has(text, "sse4.1");
    f->avx2 = has(text, "avx2");
    f->fma = has(text, "fma");
    f->f16c = has(text, "f16c");
    f->cx16 = has(text, "cx16") || f->aarch64;
    f->avx512 = has(text, "avx512f") && has(text, "avx512bw") && has(text, "avx512dq") && has(text, "avx512vl");
    f->avx512_vnni = f->avx512 && has(text, "avx512vnni");
    f->avx512_vbmi = f->avx512 && has(text, "avx512vbmi");
    f->avx512_bf16 = f->avx512 && has(text, "avx512bf16");
}

static LLVMCodeGenOptLevel code_level(uint32_t optimize)
{
    return optimize == 0   ? LLVMCodeGenLevelNone
           : optimize == 1 ? LLVMCodeGenLevelLess
           : optimize == 2 ? LLVMCodeGenLevelDefault
                           : LLVMCodeGenLevelAggressive;
}

enum bl_status bl_cg_machine_open(struct bl_arena *arena, const struct bl_cpu_request *request, struct bl_cg_machine *machine,
                                  struct bl_error *error)
{
    char *triple = LLVMGetDefaultTargetTriple(), *host_cpu = LLVMGetHostCPUName(), *host_features = LLVMGetHostCPUFeatures();
    bool host = !request->cpu || !request->cpu[0];
    char *message = NULL;
    LLVMTargetRef target;
    enum bl_status status = BL_OK;

    *machine = (struct bl_cg_machine){0};
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    machine->cpu = bl_arena_printf(arena, "%s", host ? host_cpu : request->cpu);
    machine->feature_text = bl_arena_printf(arena, "%s",
                                            request->features && request->features[0] ? request->features
                                            : host                                    ? host_features
                                                                                      : level_features(request->cpu));
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        status = bl_fail(error, BL_COMPILER, "LLVM: %s", message);
        LLVMDisposeMessage(message);
    } else {
        machine->machine = LLVMCreateTargetMachine(target, triple, machine->cpu, machine->feature_text,
                                                   code_level(request->optimize), LLVMRelocPIC, LLVMCodeModelSmall);
        if (!machine->machine)
            status = bl_fail(error, BL_COMPILER, "LLVM has no machine for %s", triple);
    }
    find_features(machine, triple);
    LLVMDisposeMessage(triple);
    LLVMDisposeMessage(host_cpu);
    LLVMDisposeMessage(host_features);
    return status;
}

void bl_cg_machine_close(struct bl_cg_machine *machine)
{
    if (machine->machine)
        LLVMDisposeTargetMachine(machine->machine);
    machine->machine = NULL;
}

/* ---- passes ------------------------------------------------------------------------------------------ */

/* The front end's compiler has optimised the kernel already: what follows puts slots into registers, simplifies masks, and
 * moves what does not change out of loops. Vectors are there from the start. */
static const char *pass_list(uint32_t optimize)
{
    if (optimize == 0)
        return "function(sroa,early-cse)";
    if (optimize == 1)
        return "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";
    return "cgscc(inline),globaldce,"
           "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
           "loop-mssa(loop-rotate,licm),gvn,simplifycfg,instcombine<no-verify-fixpoint>,"
           "loop(indvars),loop-unroll<O2;no-runtime;no-upperbound>,"
           "early-cse<memssa>,loop-mssa(licm),instcombine<no-verify-fixpoint>,simplifycfg)";
}

/* Splits coroutines. What their loops give stands in the frame once the loop is over, not in each round: lcssa. */
static const char *split_list(uint32_t optimize)
{
    return optimize < 2 ? "cgscc(coro-split)" : "function(lcssa),cgscc(coro-split)";
}

/* After it: what is kept in the frame comes from there at each use. */
static const char *after_split_list(uint32_t optimize)
{
    if (optimize == 0)
        return "coro-cleanup,globaldce";
    if (optimize == 1)
        return "function(early-cse<memssa>,simplifycfg),coro-cleanup,globaldce";
    return "function(early-cse<memssa>,simplifycfg,loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,simplifycfg),"
           "coro-cleanup,globaldce";
}

static enum bl_status run_list(struct bl_cg *cg, const struct bl_cg_machine *machine, const char *list)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failed = LLVMRunPasses(cg->module, list, machine->machine, options);
    enum bl_status status = BL_OK;

    LLVMDisposePassBuilderOptions(options);
    if (failed) {
        char *message = LLVMGetErrorMessage(failed);
        status = bl_fail(cg->error, BL_COMPILER, "LLVM passes: %s", message);
        LLVMDisposeErrorMessage(message);
    }
    return status;
}

/* Nothing but the parts of a coroutine touches its frame while they run. */
static void mark_frames(struct bl_cg *cg)
{
    static const char suffix[] = ".resume";
    unsigned kind = LLVMGetEnumAttributeKindForName("noalias", 7);
    LLVMAttributeRef noalias = LLVMCreateEnumAttribute(cg->context, kind, 0);

    for (LLVMValueRef f = LLVMGetFirstFunction(cg->module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        const char *name = LLVMGetValueName2(f, &size);
        if (size >= strlen(suffix) && !strcmp(name + size - strlen(suffix), suffix))
            LLVMAddAttributeAtIndex(f, 1, noalias);
    }
}

static enum bl_status run_passes(struct bl_cg *cg, const struct bl_cg_machine *machine, const struct bl_cpu_request *request,
                                 const struct bl_cpu_kernel_info *info)
{
    bool coroutine = info->flags & BL_CPU_COROUTINE;
    enum bl_status status = coroutine ? run_list(cg, machine, "coro-early") : BL_OK;

    if (status == BL_OK)
        status = run_list(cg, machine, pass_list(request->optimize));
    if (status != BL_OK || !coroutine)
        return status;
    if ((status = run_list(cg, machine, split_list(request->optimize))) != BL_OK)
        return status;
    mark_frames(cg);
    return run_list(cg, machine, after_split_list(request->optimize));
}

/* ---- output ------------------------------------------------------------------------------------------- */

/* An object may refer to nothing outside itself: the loader has nothing to offer. */
static enum bl_status check_symbols(const char *bytes, size_t size, struct bl_error *error)
{
    Elf64_Ehdr header;
    Elf64_Shdr table, names;
    Elf64_Sym symbol;

    if (size < sizeof(header))
        return bl_fail(error, BL_COMPILER, "LLVM made no object");
    memcpy(&header, bytes, sizeof(header));
    for (uint32_t s = 0; s < header.e_shnum; s++) {
        memcpy(&table, bytes + header.e_shoff + s * sizeof(table), sizeof(table));
        if (table.sh_type != SHT_SYMTAB)
            continue;
        memcpy(&names, bytes + header.e_shoff + table.sh_link * sizeof(names), sizeof(names));
        for (uint64_t n = 1; n < table.sh_size / sizeof(symbol); n++) {
            memcpy(&symbol, bytes + table.sh_offset + n * sizeof(symbol), sizeof(symbol));
            if (symbol.st_shndx == SHN_UNDEF && symbol.st_name)
                return bl_fail(error, BL_COMPILER, "the code needs %s, which no kernel can have",
                               bytes + names.sh_offset + symbol.st_name);
        }
    }
    return BL_OK;
}

static enum bl_status keep(struct bl_cg *cg, const char *data, size_t size, struct bl_cpu_answer *answer)
{
    answer->object = bl_arena_copy(cg->arena, data, size);
    answer->object_size = size;
    return BL_OK;
}

static enum bl_status emit_text(struct bl_cg *cg, struct bl_cpu_answer *answer)
{
    char *text = LLVMPrintModuleToString(cg->module);
    enum bl_status status = keep(cg, text, strlen(text), answer);
    LLVMDisposeMessage(text);
    return status;
}

static enum bl_status emit_code(struct bl_cg *cg, const struct bl_cg_machine *machine, bool object, struct bl_cpu_answer *answer)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    enum bl_status status;

    if (LLVMTargetMachineEmitToMemoryBuffer(machine->machine, cg->module, object ? LLVMObjectFile : LLVMAssemblyFile, &message,
                                            &buffer)) {
        status = bl_fail(cg->error, BL_COMPILER, "LLVM: %s", message ? message : "no code");
        LLVMDisposeMessage(message);
        return status;
    }
    status = keep(cg, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), answer);
    LLVMDisposeMemoryBuffer(buffer);
    if (object && status == BL_OK)
        status = check_symbols((const char *)answer->object, answer->object_size, cg->error);
    return status;
}

/* ---- frames ------------------------------------------------------------------------------------------- */

enum {
    FRAME_EXTRA = 256,        /* what LLVM does not count: the return address, what aligning the stack may skip */
    FRAMES_UNKNOWN = 1 << 20, /* LLVM told of none: there may be none, or it has other words for it */
    FRAMES_MOST = 64 << 20,
};

static bool names(const char *text, LLVMValueRef function)
{
    size_t size;
    const char *name = LLVMGetValueName2(function, &size), *at = strchr(text, '\'');

    return at && strlen(at) >= size + 2 && !memcmp(at + 1, name, size) && at[size + 1] == '\'';
}

/* "stack frame size (SIZE) exceeds limit (0) in function 'NAME'" since LLVM 19, of functions that have a frame. */
void bl_cg_frame_told(struct bl_cg_frames *frames, const char *text)
{
    const char *words = strstr(text, "stack frame size"), *digits = words ? strpbrk(words, "0123456789") : NULL;
    uint64_t bytes;

    if (!digits)
        return;
    bytes = BL_MIN((uint64_t)strtoull(digits, NULL, 10), UINT64_C(1) << 32) + FRAME_EXTRA;
    frames->known++;
    if (frames->copies[0] && (names(text, frames->copies[0]) || names(text, frames->copies[1])))
        frames->copy_bytes = BL_MAX(frames->copy_bytes, bytes);
    else
        frames->bytes += bytes;
}

static enum bl_status find_machine_stack(struct bl_cg *cg, const char *kernel, struct bl_cpu_kernel_info *info)
{
    uint64_t bytes = cg->frames.known ? cg->frames.bytes + cg->frames.copy_bytes : FRAMES_UNKNOWN;

    if (bytes > FRAMES_MOST)
        return bl_fail(cg->error, BL_UNSUPPORTED,
                       "kernel %s: its code needs %llu MiB of stack for a warp, of at most %d: it keeps too many values at once",
                       kernel, (unsigned long long)(bytes >> 20), FRAMES_MOST >> 20);
    info->machine_stack = (uint32_t)bytes;
    return BL_OK;
}

static enum bl_status verify(struct bl_cg *cg)
{
    char *message = NULL;
    enum bl_status status = BL_OK;

    if (LLVMVerifyModule(cg->module, LLVMReturnStatusAction, &message))
        status = bl_fail(cg->error, BL_COMPILER, "the code generator made wrong LLVM IR: %.1500s", message);
    LLVMDisposeMessage(message);
    return status;
}

enum bl_status bl_cg_emit(struct bl_cg *cg, const struct bl_cg_machine *machine, const struct bl_cpu_request *request,
                          struct bl_cpu_answer *answer)
{
    enum bl_status status = verify(cg);

    if (status != BL_OK || (status = run_passes(cg, machine, request, &answer->info)) != BL_OK)
        return status;
    if (request->emit == BL_CPU_EMIT_LLVM)
        return emit_text(cg, answer);
    status = emit_code(cg, machine, request->emit == BL_CPU_EMIT_OBJECT, answer);
    return status == BL_OK ? find_machine_stack(cg, request->kernel, &answer->info) : status;
}
