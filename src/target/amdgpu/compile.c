/* A request to an answer: the text becomes kir, the kir an LLVM module, that a code object. Everything lives in the caller's arena;
 * memory running out is an answer like any other. */
#include <time.h>

#include "lower/lower.h"
#include "target/amdgpu/codegen.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum bl_status bl_amd_unsupported(struct bl_amd_func *f, const struct bl_kir_instr *i, const char *why)
{
    const char *what = i->op == BL_KIR_OP_unsupported && i->attr->text ? i->attr->text : bl_kir_ops[i->op].name;

    if (f->cg->error->status == BL_OK)
        f->cg->error->line = i->line;
    return bl_fail(f->cg->error, BL_UNSUPPORTED, "%s: line %u: %s: %s", f->func->name, i->line, what,
                   why ? why : "not supported on AMD GPUs yet");
}

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
    struct bl_amd_object *object = context;
    char *text = LLVMGetDiagInfoDescription(info);

    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError)
        bl_fail(object->cg.error, BL_COMPILER, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

static void open_module(struct bl_amd_object *object)
{
    struct bl_cg *cg = &object->cg;

    cg->context = LLVMContextCreate();
    cg->module = LLVMModuleCreateWithNameInContext("kernels", cg->context);
    cg->builder = LLVMCreateBuilderInContext(cg->context);
    cg->features.amdgcn = true;
    cg->fast_math = object->request->fast_math;
    LLVMContextSetDiagnosticHandler(cg->context, take_diagnostic, object);
    object->invariant_kind = LLVMGetMDKindIDInContext(cg->context, "invariant.load", 14);
    object->nontemporal_kind = LLVMGetMDKindIDInContext(cg->context, "nontemporal", 11);
}

static void close_module(struct bl_amd_object *object)
{
    if (object->cg.builder)
        LLVMDisposeBuilder(object->cg.builder);
    if (object->cg.module)
        LLVMDisposeModule(object->cg.module);
    if (object->cg.context)
        LLVMContextDispose(object->cg.context);
    if (object->machine)
        LLVMDisposeTargetMachine(object->machine);
    bl_buffer_cleanup(&object->text);
}

static enum bl_status make_kernels(struct bl_amd_object *object)
{
    const char *wanted = object->request->kernel;
    uint32_t made = 0;

    for (uint32_t k = 0; k < object->module->funcs.count; k++) {
        struct bl_kir_func *func = object->module->funcs.items[k];
        enum bl_status status;
        if (!func->is_kernel || func->is_declaration || (wanted && strcmp(func->name, wanted)))
            continue;
        if ((status = bl_amd_kernel(object, func)) != BL_OK)
            return status;
        made++;
    }
    if (!made && wanted)
        return bl_fail(object->cg.error, BL_NOT_FOUND, "no kernel named %s", wanted);
    return made ? BL_OK : bl_fail(object->cg.error, BL_NOT_FOUND, "there is no kernel in it");
}

static enum bl_status run(struct bl_amd_object *object, struct bl_amd_answer *answer)
{
    const struct bl_amd_request *request = object->request;
    enum bl_status status;

    object->chip = bl_amd_find_chip(request->chip);
    if (!object->chip)
        return bl_fail(&answer->error, BL_NOT_FOUND, "%s: no chip that is known; bailey cc --targets lists them", request->chip);
    status = bl_lower_text(object->cg.arena, request->text, request->source_name, &object->module, &answer->error);
    if (status != BL_OK)
        return status;
    open_module(object);
    if ((status = bl_amd_machine_open(object)) != BL_OK || (status = bl_amd_variables(object)) != BL_OK ||
        (status = make_kernels(object)) != BL_OK || (status = bl_amd_link_text(object)) != BL_OK)
        return status;
    return bl_amd_emit(object, answer);
}

void bl_amd_compile(struct bl_arena *arena, const struct bl_amd_request *request, struct bl_amd_answer *answer)
{
    jmp_buf no_memory, *before = arena->no_memory;
    struct bl_amd_object *object = bl_calloc(1, sizeof(*object)); /* what setjmp may leave unknown lives there */
    double start = now();

    memset(answer, 0, sizeof(*answer));
    if (!object || setjmp(no_memory)) {
        answer->status = bl_fail(&answer->error, BL_NO_MEMORY, "no memory to compile for %s", request->chip);
    } else {
        arena->no_memory = &no_memory;
        object->cg.arena = arena;
        object->cg.error = &answer->error;
        object->request = request;
        answer->status = run(object, answer);
    }
    arena->no_memory = before;
    if (answer->status != BL_OK && answer->error.status == BL_OK)
        bl_fail(&answer->error, answer->status, "%s: %s", request->chip, bl_status_name(answer->status));
    if (answer->status != BL_OK)
        answer->size = 0;
    if (object)
        close_module(object);
    bl_free(object);
    answer->seconds = now() - start;
}
