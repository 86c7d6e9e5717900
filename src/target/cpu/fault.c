/* Faults of kernels. A bad access raises a signal in a thread that runs kernel code on a fiber: the handler writes down what
 * happened and goes on at the scheduler, as if the fiber had switched to it. The fiber is then started anew. Signals that
 * are not a kernel's go to the handler that the program had installed.
 */
#include "target/cpu/run.h"
#include "target/cpu/sanitize.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIGNAL_STACK = 64 << 10, STOP_NS = 50000 };

static const int signals[] = {
    SIGSEGV, SIGBUS, SIGFPE, SIGILL,
#if defined(__aarch64__)
    SIGTRAP, /* what a compiler's trap instruction raises there */
#endif
};
enum { SIGNALS = BL_LEN(signals) };

/* What stood before ours: at first, and what the program put over ours later. */
static struct sigaction first_action[SIGNALS], latest_action[SIGNALS];
static bool first_known;
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pthread_t chaining; /* the thread that is in a handler of the program's; 0 none */
static const char stop_mark;       /* its address marks the signals of bl_cpu_stop_cores */

/* ---- whose the thread is ----------------------------------------------------------------------------------- */

/* A handler can't use thread-local variables of a library that was opened at run time: the first use in a thread may
 * allocate memory. So it looks through all cores for its own.
 */
static _Atomic(struct bl_cpu_core *) known_cores;
static pthread_mutex_t known_lock = PTHREAD_MUTEX_INITIALIZER;

void bl_cpu_core_known(struct bl_cpu_core *core)
{
    pthread_mutex_lock(&known_lock);
    core->known = atomic_load(&known_cores);
    atomic_store(&known_cores, core);
    pthread_mutex_unlock(&known_lock);
}

void bl_cpu_core_forget(struct bl_cpu_core *core)
{
    pthread_mutex_lock(&known_lock);
    struct bl_cpu_core *at = atomic_load(&known_cores);
    if (at == core)
        atomic_store(&known_cores, core->known);
    for (; at; at = at->known)
        if (at->known == core)
            at->known = core->known;
    pthread_mutex_unlock(&known_lock);
}

/* The core on whose fiber this thread is; NULL: on none. */
static struct bl_cpu_core *core_here(void)
{
    struct bl_cpu_core *core = atomic_load(&known_cores);
    while (core && !(core->inside && pthread_equal(core->thread, pthread_self())))
        core = core->known;
    return core;
}

/* ---- the interrupted context --------------------------------------------------------------------------- */

static uintptr_t context_pc(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#else
    return (uintptr_t)context->uc_mcontext.pc;
#endif
}

/* Whether it is on the fiber that the core runs, and not in the scheduler on its way to or from it. */
static bool context_on_fiber(const ucontext_t *context, const struct bl_cpu_core *core)
{
    const struct bl_cpu_stack *stack = &core->fiber->stack;
#if defined(__x86_64__)
    uintptr_t sp = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
    uintptr_t sp = (uintptr_t)context->uc_mcontext.sp;
#endif
    return sp - (uintptr_t)stack->map < stack->size;
}

/* Where bl_cpu_switch would go on with this stack pointer. */
static void context_go_to(ucontext_t *context, void *sp)
{
    bl_cpu_leaving(NULL, NULL);
#if defined(__x86_64__)
    context->uc_mcontext.gregs[REG_RSP] = (greg_t)(uintptr_t)sp;
    context->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)bl_cpu_switch_resume;
    context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)0x400; /* direction flag */
#else
    context->uc_mcontext.sp = (uintptr_t)sp;
    context->uc_mcontext.pc = (uintptr_t)bl_cpu_switch_resume;
#endif
}

/* ---- the handler ------------------------------------------------------------------------------------------ */

void bl_cpu_trap_set(struct bl_cpu_core *core, enum bl_fault_kind kind, uint32_t warp, uint32_t lanes, const char *text)
{
    core->trap = (struct bl_cpu_trap){.set = true, .kind = kind, .warp = warp, .lanes = lanes, .text = text};
}

static bool in_code(const struct bl_cpu_core *core, uintptr_t pc)
{
    const struct bl_cpu_command *command = core->command;
    return command->kind == BL_CPU_LAUNCH && pc >= command->launch.code->begin && pc < command->launch.code->end;
}

static bool in_guard(const struct bl_cpu_core *core, uintptr_t address)
{
    uintptr_t guard = (uintptr_t)core->fiber->stack.map;
    return address >= guard && address < guard + BL_CPU_GUARD;
}

static void note(struct bl_cpu_core *core, int signal, const siginfo_t *info, uintptr_t pc)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    enum bl_fault_kind kind = BL_FAULT_ILLEGAL_ADDRESS;
    const char *text = NULL;

    if (signal == SIGILL || signal == SIGTRAP)
        kind = BL_FAULT_ILLEGAL_INSTRUCTION;
    else if (signal == SIGFPE)
        kind = BL_FAULT_ILLEGAL_INSTRUCTION, text = "illegal division";
    else if (signal == SIGBUS && info->si_code == BUS_ADRALN)
        kind = BL_FAULT_MISALIGNED;
    else if (in_guard(core, address))
        kind = BL_FAULT_STACK_OVERFLOW;
    else if (address == pc)
        kind = BL_FAULT_BAD_FUNCTION;
    bl_cpu_trap_set(core, kind, core->cta ? core->cta->current : 0, 0, text);
    core->trap.address = address;
    core->trap.has_address = (signal == SIGSEGV || signal == SIGBUS) && info->si_code != SI_KERNEL;
}

/* Whether the signal came from what the core runs. */
static bool is_kernels(const struct bl_cpu_core *core, int signal, const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t pc = context_pc(context);
    if (!core || info->si_code <= 0)
        return false;
    if (context_on_fiber(context, core) && (in_code(core, pc) || core->helping))
        return true;
    return signal == SIGSEGV && ((uintptr_t)info->si_addr == pc || in_guard(core, (uintptr_t)info->si_addr));
}

static void chain(int signal, siginfo_t *info, void *context)
{
    int i = 0;
    while (signals[i] != signal)
        i++;
    bool again = pthread_equal(atomic_load(&chaining), pthread_self()); /* the program's handler called ours */
    const struct sigaction *action = again ? &first_action[i] : &latest_action[i];
    atomic_store(&chaining, pthread_self());
    if (action->sa_flags & SA_SIGINFO) {
        action->sa_sigaction(signal, info, context);
    } else if (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN) {
        action->sa_handler(signal);
    } else if (action->sa_handler == SIG_DFL || info->si_code > 0) {
        struct sigaction fallback = {.sa_handler = SIG_DFL};
        sigaction(signal, &fallback, NULL);
        if (info->si_code <= 0) /* sent: it does not come again by itself */
            raise(signal);
    }
    atomic_store(&chaining, (pthread_t)0);
}

static void on_signal(int signal, siginfo_t *info, void *data)
{
    ucontext_t *context = data;
    struct bl_cpu_core *core = core_here();
    uintptr_t pc = context_pc(context);
    int saved = errno;

    if (info->si_code == SI_QUEUE && info->si_value.sival_ptr == (const void *)&stop_mark) {
        if (core && context_on_fiber(context, core) && atomic_load(&core->command->stop) && in_code(core, pc)) {
            bl_cpu_trap_set(core, BL_FAULT_NONE, 0, 0, NULL);
            context_go_to(context, core->scheduler);
        }
        return;
    }
    if (is_kernels(core, signal, info, context)) {
        note(core, signal, info, pc);
        context_go_to(context, core->scheduler);
    } else {
        chain(signal, info, data);
    }
    errno = saved;
}

void bl_cpu_stop_cores(struct bl_cpu_runner *runner)
{
    union sigval value = {.sival_ptr = (void *)(uintptr_t)&stop_mark};
    for (struct bl_cpu_core *core = runner->cores; core; core = core->all)
        if (core->taken && core->inside && !pthread_equal(core->thread, pthread_self()))
            pthread_sigqueue(core->thread, SIGSEGV, value);
}

/* ---- installing --------------------------------------------------------------------------------------------- */

static void install(void)
{
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    sigemptyset(&ours.sa_mask);
    for (int i = 0; i < SIGNALS; i++) {
        sigaction(signals[i], NULL, &before);
        if ((before.sa_flags & SA_SIGINFO) && before.sa_sigaction == on_signal)
            continue;
        if (!first_known)
            first_action[i] = before;
        latest_action[i] = before;
        sigaction(signals[i], &ours, NULL);
    }
    first_known = true;
}

void bl_cpu_signals_check(void)
{
    struct sigaction now;
    sigaction(SIGSEGV, NULL, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal)
        return;
    pthread_mutex_lock(&install_lock);
    install();
    pthread_mutex_unlock(&install_lock);
}

/* A worker takes no signal of the program's, and all that are a kernel's. */
void bl_cpu_worker_signals(sigset_t *blocked)
{
    sigfillset(blocked);
    for (int i = 0; i < SIGNALS; i++)
        sigdelset(blocked, signals[i]);
}

/* ---- a stack for the handler ---------------------------------------------------------------------------------- */

static pthread_key_t stack_key;
static char stack_of_the_program; /* its address is the key's value where the program itself gave the thread one */

static void stack_drop(void *map)
{
    stack_t now;
    if (map == &stack_of_the_program)
        return;
    if (sigaltstack(NULL, &now) == 0 && now.ss_sp == map) {
        stack_t none = {.ss_flags = SS_DISABLE};
        sigaltstack(&none, NULL);
    }
    munmap(map, SIGNAL_STACK);
}

static void stack_key_make(void)
{
    pthread_key_create(&stack_key, stack_drop);
}

void bl_cpu_thread_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    stack_t now;

    pthread_once(&once, stack_key_make);
    if (pthread_getspecific(stack_key))
        return;
    if (sigaltstack(NULL, &now) == 0 && !(now.ss_flags & SS_DISABLE) && now.ss_size >= SIGNAL_STACK / 2) {
        pthread_setspecific(stack_key, &stack_of_the_program);
        return;
    }
    void *map = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    stack_t ours = {.ss_sp = map, .ss_size = SIGNAL_STACK};
    if (map == MAP_FAILED)
        return;
    if (sigaltstack(&ours, NULL)) {
        munmap(map, SIGNAL_STACK);
        return;
    }
    pthread_setspecific(stack_key, map);
}

/* ---- reports ------------------------------------------------------------------------------------------------- */

static const char *kind_words(enum bl_fault_kind kind)
{
    switch (kind) {
    case BL_FAULT_NONE:
        return "stopped";
    case BL_FAULT_ILLEGAL_ADDRESS:
        return "illegal address";
    case BL_FAULT_MISALIGNED:
        return "misaligned address";
    case BL_FAULT_TRAP:
        return "trap instruction";
    case BL_FAULT_ASSERT:
        return "assertion failed";
    case BL_FAULT_STACK_OVERFLOW:
        return "stack overflow (cudaLimitStackSize raises the limit)";
    case BL_FAULT_ILLEGAL_INSTRUCTION:
        return "illegal instruction";
    case BL_FAULT_UNSUPPORTED:
        return "unsupported instruction";
    case BL_FAULT_BAD_FUNCTION:
        return "call of something that is no function";
    case BL_FAULT_DEADLOCK:
        return "deadlock";
    }
    return "unknown fault";
}

static bool tells_address(const struct bl_cpu_trap *trap)
{
    return trap->has_address &&
           (trap->kind == BL_FAULT_ILLEGAL_ADDRESS || trap->kind == BL_FAULT_MISALIGNED || trap->kind == BL_FAULT_BAD_FUNCTION);
}

/* "what" or "what 0xaddress" or "what: text". */
static void describe_what(const struct bl_cpu_trap *trap, char *text, size_t size)
{
    const char *words = kind_words(trap->kind);
    if (trap->text)
        snprintf(text, size, "%s: %s", words, trap->text);
    else if (tells_address(trap))
        snprintf(text, size, "%s 0x%llx", words, (unsigned long long)trap->address);
    else
        snprintf(text, size, "%s", words);
}

static void describe_launch(const struct bl_cpu_core *core, struct bl_fault *fault)
{
    const struct bl_cpu_trap *trap = &core->trap;
    const struct bl_cpu_grid *launch = &core->command->launch;
    const struct bl_cpu_warp *warp = &core->cta->warps[trap->warp];
    char what[256], who[96], line[48] = "", stuck[160] = "";

    snprintf(fault->kernel, sizeof(fault->kernel), "%s", bl_cpu_kernel_name(launch->kernel));
    memcpy(fault->ctaid, warp->ctaid, sizeof(fault->ctaid));
    bl_cpu_thread_of(launch, trap->warp, trap->lanes ? (uint32_t)__builtin_ctz(trap->lanes) : 0, fault->tid);
    fault->line = bl_cpu_code_line(launch->code, warp->current_line);
    describe_what(trap, what, sizeof(what));
    snprintf(who, sizeof(who), trap->lanes ? "thread (%u,%u,%u)" : "the warp of thread (%u,%u,%u)", fault->tid[0], fault->tid[1],
             fault->tid[2]);
    if (fault->line)
        snprintf(line, sizeof(line), ", near line %u of its PTX", fault->line);
    if (trap->kind == BL_FAULT_DEADLOCK)
        bl_cpu_barriers_describe(core->cta, stuck, sizeof(stuck));
    snprintf(fault->message, sizeof(fault->message), "kernel %.160s: %.200s by %s of block (%u,%u,%u)%s%s%s", fault->kernel, what,
             who, fault->ctaid[0], fault->ctaid[1], fault->ctaid[2], line, *stuck ? ": " : "", stuck);
}

static void describe_transfer(const struct bl_cpu_core *core, struct bl_fault *fault)
{
    const struct bl_cpu_transfer *transfer = &core->command->transfer;
    char what[256];
    describe_what(&core->trap, what, sizeof(what));
    if (transfer->value_size)
        snprintf(fault->message, sizeof(fault->message), "fill at 0x%llx: %s", (unsigned long long)transfer->to, what);
    else
        snprintf(fault->message, sizeof(fault->message), "copy from 0x%llx to 0x%llx: %s", (unsigned long long)transfer->from,
                 (unsigned long long)transfer->to, what);
}

/* Whether other cores are in the command's code. */
static bool others_inside(const struct bl_cpu_core *core)
{
    for (const struct bl_cpu_core *other = core->runner->cores; other; other = other->all)
        if (other != core && other->taken && other->inside && other->command == core->command)
            return true;
    return false;
}

/* Others may wait for what this core can't do any more. A signal that finds one of them elsewhere than in the kernel's code is
 * lost: it gets another.
 */
static void set_fault(struct bl_cpu_core *core, const struct bl_fault *fault)
{
    struct bl_cpu_runner *runner = core->runner;
    bl_cpu_lock(runner);
    if (!atomic_load(&runner->faulted)) {
        runner->fault = *fault;
        atomic_store(&runner->faulted, true);
    }
    atomic_store(&core->command->stop, true);
    while (others_inside(core)) {
        bl_cpu_stop_cores(runner);
        bl_cpu_unlock(runner);
        bl_cpu_nap(STOP_NS);
        bl_cpu_lock(runner);
    }
    bl_cpu_unlock(runner);
}

void bl_cpu_trap_report(struct bl_cpu_core *core)
{
    struct bl_fault fault = {.kind = core->trap.kind, .address = tells_address(&core->trap) ? core->trap.address : 0};
    bool stopped = core->trap.kind == BL_FAULT_NONE; /* by bl_cpu_stop_cores */
    if (!stopped && core->command->kind == BL_CPU_LAUNCH)
        describe_launch(core, &fault);
    else if (!stopped)
        describe_transfer(core, &fault);
    if (!stopped)
        set_fault(core, &fault);
    core->trap.set = false;
}

void bl_cpu_out_of_memory(struct bl_cpu_core *core, const char *what)
{
    struct bl_fault fault = {.kind = BL_FAULT_UNSUPPORTED};
    const struct bl_cpu_command *command = core->command;
    if (command->kind == BL_CPU_LAUNCH)
        snprintf(fault.kernel, sizeof(fault.kernel), "%s", bl_cpu_kernel_name(command->launch.kernel));
    snprintf(fault.message, sizeof(fault.message), "%s%s: no host memory for %s",
             command->kind == BL_CPU_LAUNCH ? "kernel " : "copy or fill", fault.kernel, what);
    set_fault(core, &fault);
}

/* ---- faults that kernels tell themselves ------------------------------------------------------------------------ */

void bl_cpu_help_fault(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const char *text)
{
    struct bl_cpu_cta *cta = warp->runtime;
    bl_cpu_trap_set(cta->core, (enum bl_fault_kind)code, warp->warpid, lanes, text);
    bl_cpu_escape(cta->core);
}

void bl_cpu_help_assert(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *message, const uint64_t *file,
                        const uint32_t *line, const uint64_t *function)
{
    struct bl_cpu_cta *cta = warp->runtime;
    struct bl_cpu_core *core = cta->core;
    struct bl_buffer *text = &core->text;
    uint32_t tid[3];

    core->helping++;
    for (uint32_t mask = lanes; mask; mask &= mask - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        bl_cpu_thread_of(&core->command->launch, warp->warpid, lane, tid);
        text->size = 0;
        bl_cpu_text_copy(text, file[lane], SIZE_MAX);
        bl_buffer_printf(text, ":%u: ", line[lane]);
        bl_cpu_text_copy(text, function[lane], SIZE_MAX);
        bl_buffer_printf(text, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", warp->ctaid[0], warp->ctaid[1],
                         warp->ctaid[2], tid[0], tid[1], tid[2]);
        bl_cpu_text_copy(text, message[lane], SIZE_MAX);
        bl_buffer_printf(text, "` failed.\n");
        if (text->data)
            fwrite(text->data, 1, text->size, stderr);
    }
    core->helping--;
    bl_cpu_trap_set(core, BL_FAULT_ASSERT, warp->warpid, lanes, NULL);
    bl_cpu_escape(core);
}
