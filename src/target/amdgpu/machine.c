/* LLVM's machine for the chip, the passes, and the way from an LLVM module to a code object or text. Called by compile.c. */
#include <elf.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "target/amdgpu/codegen.h"

static const char triple[] = "amdgcn-amd-amdhsa";

#if BAILEY_LLVM_AMDGPU
static void initialize(void)
{
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
}
#else
static void initialize(void)
{
}
#endif

enum bl_status bl_amd_machine_open(struct bl_amd_object *object)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    struct bl_cg *cg = &object->cg;
    char *message = NULL;
    LLVMTargetRef target;
    LLVMTargetDataRef layout;
    LLVMValueRef version = LLVMConstInt(LLVMInt32TypeInContext(cg->context), object->chip->code_object, false);

    initialize();
    if (LLVMGetTargetFromTriple(triple, &target, &message)) {
        bl_fail(cg->error, BL_UNSUPPORTED, "this LLVM makes no code for AMD GPUs: %s", message);
        LLVMDisposeMessage(message);
        return cg->error->status;
    }
    object->machine = LLVMCreateTargetMachine(target, triple, object->chip->name, object->chip->features,
                                              levels[BL_MIN(object->request->optimize, 3u)], LLVMRelocPIC, LLVMCodeModelDefault);
    if (!object->machine)
        return bl_fail(cg->error, BL_COMPILER, "LLVM has no machine for %s", object->chip->name);
    layout = LLVMCreateTargetDataLayout(object->machine);
    LLVMSetModuleDataLayout(cg->module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(cg->module, triple);
    LLVMAddModuleFlag(cg->module, LLVMModuleFlagBehaviorError, "amdhsa_code_object_version", strlen("amdhsa_code_object_version"),
                      LLVMValueAsMetadata(version));
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

/* LLVM's own list: it calls the target where that has passes of its own. */
static enum bl_status run_passes(struct bl_amd_object *object)
{
    static const char *const lists[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef failed = LLVMRunPasses(object->cg.module, lists[BL_MIN(object->request->optimize, 3u)], object->machine, options);
    char *message;

    LLVMDisposePassBuilderOptions(options);
    if (!failed)
        return object->cg.error->status;
    message = LLVMGetErrorMessage(failed);
    bl_fail(object->cg.error, BL_COMPILER, "LLVM passes: %s", message);
    LLVMDisposeErrorMessage(message);
    return object->cg.error->status;
}

static void keep(struct bl_cg *cg, const char *data, size_t size, struct bl_amd_answer *answer)
{
    answer->data = bl_arena_copy(cg->arena, data, size);
    answer->size = size;
}

static enum bl_status emit_code(struct bl_amd_object *object, LLVMCodeGenFileType kind, struct bl_amd_answer *answer)
{
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;

    if (LLVMTargetMachineEmitToMemoryBuffer(object->machine, object->cg.module, kind, &message, &buffer)) {
        bl_fail(object->cg.error, BL_COMPILER, "LLVM: %s", message ? message : "no code");
        LLVMDisposeMessage(message);
        return object->cg.error->status;
    }
    keep(&object->cg, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), answer);
    LLVMDisposeMemoryBuffer(buffer);
    return object->cg.error->status;
}

/* An LLVM that does not know the chip makes code for another, with no more than a message. */
static enum bl_status check_machine(const struct bl_amd_object *object, const struct bl_amd_answer *answer)
{
    Elf64_Ehdr header;

    if (answer->size < sizeof(header))
        return bl_fail(object->cg.error, BL_COMPILER, "LLVM made no object");
    memcpy(&header, answer->data, sizeof(header));
    if ((header.e_flags & 0xff) == object->chip->machine)
        return BL_OK;
    return bl_fail(object->cg.error, BL_UNSUPPORTED, "LLVM " LLVM_VERSION_STRING " does not know the chip %s", object->chip->name);
}

static enum bl_status emit_object(struct bl_amd_object *object, struct bl_amd_answer *answer)
{
    enum bl_status status = emit_code(object, LLVMObjectFile, answer);
    return status == BL_OK ? check_machine(object, answer) : status;
}

enum bl_status bl_amd_emit(struct bl_amd_object *object, struct bl_amd_answer *answer)
{
    enum bl_status status = verify(&object->cg);
    char *text;

    if (status != BL_OK || (status = run_passes(object)) != BL_OK)
        return status;
    switch (object->request->emit) {
    case BL_AMD_EMIT_LLVM:
        text = LLVMPrintModuleToString(object->cg.module);
        keep(&object->cg, text, strlen(text), answer);
        LLVMDisposeMessage(text);
        return BL_OK;
    case BL_AMD_EMIT_ASSEMBLY:
        return emit_code(object, LLVMAssemblyFile, answer);
    case BL_AMD_EMIT_RELOCATABLE:
        return emit_object(object, answer);
    default:
        status = emit_object(object, answer);
        return status == BL_OK ? bl_amd_link(object->cg.arena, answer->data, answer->size, answer) : status;
    }
}
