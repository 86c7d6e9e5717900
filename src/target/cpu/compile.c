/* A request to an answer, in bailey-cc: PTX (or kir text) is parsed, lowered, prepared and made into code. Everything lives
 * in the caller's arena; memory running out is an answer like any other. */
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <time.h>

#include "lower/lower.h"
#include "target/cpu/function.h"

#define TEXT_OF(x) TEXT_OF_(x)
#define TEXT_OF_(x) #x

const char *bl_cpu_compiler_version(void)
{
    return "bailey-cc " BAILEY_VERSION " abi " TEXT_OF(BL_CPU_ABI) " codegen " TEXT_OF(BL_CPU_CODEGEN) " LLVM " LLVM_VERSION_STRING;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum bl_status print_kir(struct bl_arena *arena, const struct bl_kir_module *module, struct bl_cpu_answer *answer)
{
    struct bl_buffer text = {0};

    bl_kir_print(&text, module);
    if (!text.failed) {
        answer->object = bl_arena_copy(arena, text.data, text.size);
        answer->object_size = text.size;
    }
    bl_buffer_cleanup(&text);
    return BL_OK;
}

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    struct bl_cg *cg = context;
    char *text = LLVMGetDiagInfoDescription(info);
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        bl_fail(cg->error, BL_COMPILER, "LLVM: %s", text);
    else
        bl_cg_frame_told(&cg->frames, text);
    LLVMDisposeMessage(text);
}

void bl_cg_open(struct bl_cg *cg, const struct bl_cg_machine *machine)
{
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine->machine);
    char *triple = LLVMGetTargetMachineTriple(machine->machine);

    cg->features = machine->features;
    cg->context = LLVMContextCreate();
    cg->module = LLVMModuleCreateWithNameInContext("kernel", cg->context);
    cg->builder = LLVMCreateBuilderInContext(cg->context);
    LLVMContextSetDiagnosticHandler(cg->context, take_diagnostic, cg);
    LLVMSetModuleDataLayout(cg->module, layout);
    LLVMSetTarget(cg->module, triple);
    LLVMDisposeTargetData(layout);
    LLVMDisposeMessage(triple);
}

void bl_cg_close(struct bl_cg *cg)
{
    if (cg->builder)
        LLVMDisposeBuilder(cg->builder);
    if (cg->module)
        LLVMDisposeModule(cg->module);
    if (cg->context)
        LLVMContextDispose(cg->context);
}

static enum bl_status to_code(struct bl_cg *cg, struct bl_cg_machine *machine, struct bl_kir_module *module,
                              const struct bl_cpu_request *request, struct bl_cpu_answer *answer)
{
    enum bl_status status = bl_cg_machine_open(cg->arena, request, machine, cg->error);

    if (status != BL_OK)
        return status;
    bl_cg_open(cg, machine);
    cg->fast_math = request->fast_math;
    status = bl_cg_unit(cg, module, request->kernel, request, &answer->info);
    if (status == BL_OK)
        status = bl_cg_emit(cg, machine, request, answer);
    return status == BL_OK ? cg->error->status : status;
}

/* What setjmp may leave unknown lives here, not in registers. */
struct compile {
    struct bl_cg cg;
    struct bl_cg_machine machine;
    struct bl_kir_module *module;
    double start;
};

static enum bl_status run(struct compile *c, struct bl_arena *arena, const struct bl_cpu_request *request,
                          struct bl_cpu_answer *answer)
{
    enum bl_status status = bl_lower_text(arena, request->ptx, request->source_name, &c->module, &answer->error);

    if (status != BL_OK)
        return status;
    if (request->emit == BL_CPU_EMIT_KIR)
        return print_kir(arena, c->module, answer);
    return to_code(&c->cg, &c->machine, c->module, request, answer);
}

void bl_cpu_compile(struct bl_arena *arena, const struct bl_cpu_request *request, struct bl_cpu_answer *answer)
{
    jmp_buf no_memory, *before = arena->no_memory;
    struct compile *c = bl_calloc(1, sizeof(*c));

    memset(answer, 0, sizeof(*answer));
    if (c)
        c->start = now();
    if (!c || setjmp(no_memory)) {
        answer->status = bl_fail(&answer->error, BL_NO_MEMORY, "no memory to compile %s", request->kernel);
    } else {
        arena->no_memory = &no_memory;
        c->cg.arena = arena;
        c->cg.error = &answer->error;
        answer->status = run(c, arena, request, answer);
    }
    arena->no_memory = before;
    if (answer->status != BL_OK && answer->error.status == BL_OK)
        bl_fail(&answer->error, answer->status, "%s: %s", request->kernel, bl_status_name(answer->status));
    if (answer->status != BL_OK) {
        answer->object = NULL;
        answer->object_size = 0;
    }
    if (!c)
        return;
    bl_cg_close(&c->cg);
    bl_cg_machine_close(&c->machine);
    answer->seconds = now() - c->start;
    bl_free(c);
}
