/* Inside the running half of the CPU device only (queue.c, pool.c, transfer.c, launch.c, fiber.c, barrier.c, fault.c, print.c,
 * heap.c): queues of commands, the threads that run them, and what a thread needs to run CTAs.
 *
 * A command is cut into pieces (CTAs of a launch, blocks of a copy) that threads claim from a counter. Whoever has nothing
 * better to do joins the first command of a ready queue: worker threads, and threads of the program that wait. One lock
 * guards queues, commands and threads; it is never held while a piece runs.
 */
#ifndef BAILEY_CPU_RUN_H
#define BAILEY_CPU_RUN_H

#include <pthread.h>
#include <signal.h>
#include <sys/queue.h>

#include "kir/kir.h"
#include "target/cpu/runtime.h"

enum {
    BL_CPU_INLINE_PARAMS = 1024,    /* bytes; larger parameter buffers are on the heap */
    BL_CPU_MAX_PARAMS = 32764,      /* bytes, CUDA's limit since 12.1 */
    BL_CPU_QUEUE_DEPTH = 1024,      /* commands; who puts more into a queue helps first */
    BL_CPU_BARRIERS = 16,           /* a CTA, PTX ISA 9.7.13.1 */
    BL_CPU_MAX_WARPS = 32,          /* a CTA: 1024 threads */
    BL_CPU_MAX_SHARED = 227 * 1024, /* bytes a CTA */
};

struct bl_cpu_core;
struct bl_cpu_cta;
struct bl_cpu_fault_text;

/* ---- commands and queues (queue.c) ----------------------------------------------------------- */

enum bl_cpu_command_kind {
    BL_CPU_NOTHING, /* was dropped by a reset */
    BL_CPU_LAUNCH,
    BL_CPU_TRANSFER, /* copy or fill */
    BL_CPU_HOST_CALL,
    BL_CPU_RECORD,
    BL_CPU_WAIT,
    BL_CPU_VALUE,
};

struct bl_cpu_grid {
    const struct bl_cpu_code *code;
    struct bl_device_kernel *kernel; /* held */
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared, threads, nwarps;
    bool cooperative;
    bool clustered; /* pieces are clusters, which one core runs: their CTAs are resident together */
    uint64_t gridid;
    uint32_t workspace[2]; /* see bl_cpu_warp.grid_workspace */
    const uint8_t *params; /* the command's own, or on the heap */
};

/* A copy or fill as rows of bytes; a long line is cut into rows. */
struct bl_cpu_transfer {
    uint64_t to, from;    /* from 0: a fill */
    uint64_t width, last; /* bytes of each row, and of the last one */
    uint64_t rows, height;
    uint64_t to_pitch, from_pitch, to_slice_pitch, from_slice_pitch;
    uint64_t rows_a_piece;
    uint32_t value, value_size;
};

struct bl_cpu_command {
    struct bl_cpu_command *next; /* in its queue, or in the free list */
    enum bl_cpu_command_kind kind;
    uint32_t users; /* threads that run pieces (lock) */
    uint64_t total; /* pieces */
    _Atomic uint64_t next_piece;
    atomic_bool stop; /* a fault or reset: begin no further piece */
    uint64_t serial;  /* of all commands of the runner; a core knows by it what it prepared */
    uint64_t busy;    /* ns that threads spent on it (lock) */
    uint32_t worth;   /* how many workers it is worth waking for at once; 0: it can wait for the watcher */
    union {
        struct bl_cpu_grid launch;
        struct bl_cpu_transfer transfer;
        struct {
            void (*function)(void *);
            void *data;
        } host;
        struct bl_fence *record; /* a reference */
        struct {
            struct bl_queue *queue; /* a reference */
            uint64_t sequence;
        } wait;
        struct {
            struct bl_value_op op;
            bool counted; /* in runner->value_waits */
        } value;
    };
    uint8_t params[BL_CPU_INLINE_PARAMS] __attribute__((aligned(16)));
};

struct bl_queue {
    struct bl_cpu_runner *runner;
    TAILQ_ENTRY(bl_queue) all, ready;
    struct bl_cpu_command *first, **last;
    uint32_t count;    /* commands in it */
    uint32_t refs;     /* the owner, commands, fences, waits; freed at 0 (lock) */
    uint32_t watched;  /* waits of other queues for this one (lock) */
    uint32_t sleepers; /* threads in futex_wait on `passed` (lock) */
    int priority;      /* smaller runs first, as in CUDA */
    bool is_ready;
    uint64_t ready_since; /* ns */
    uint64_t submitted;   /* commands ever put in (lock) */
    _Atomic uint64_t completed;
    uint64_t wake_at;        /* the least sequence that a sleeper waits for (lock) */
    _Atomic uint32_t passed; /* futex: counts wake-ups */
};

/* A point in a queue: passed when queue->completed >= sequence. */
struct bl_fence {
    struct bl_cpu_runner *runner;
    uint32_t refs;          /* the owner and pending records (lock) */
    struct bl_queue *queue; /* of the latest record, a reference; NULL: never recorded */
    uint64_t sequence;
    uint64_t time; /* ns */
};

/* Gives a command to fill in, with the lock taken, or a status without the lock. Full queue: helps or waits first. */
enum bl_status bl_cpu_command_begin(struct bl_queue *queue, enum bl_cpu_command_kind kind, struct bl_cpu_command **command);
/* Puts it into its queue and gives the lock up. */
void bl_cpu_command_commit(struct bl_queue *queue, struct bl_cpu_command *command);
/* Gives it back unused, with the lock. */
void bl_cpu_command_cancel(struct bl_queue *queue, struct bl_cpu_command *command);
/* Joins the first command of a ready queue until its pieces are gone or others wait for their turn. Lock held before and
 * after, not meanwhile. */
void bl_cpu_run_some(struct bl_cpu_runner *runner, struct bl_queue *queue);

/* value.c; lock held. Whether the command is done: a write always, a wait once its word is so. A word that is not there any more
 * is a fault of the runner. */
bool bl_cpu_value_done(struct bl_cpu_runner *runner, struct bl_cpu_command *command);
/* queue.c; lock held. Lets queues go on whose value came. */
void bl_cpu_values_poll(struct bl_cpu_runner *runner);

/* The calls of runtime.h but for bl_cpu_signals_check, which their caller has made. */
enum bl_status bl_cpu_put_launch(struct bl_queue *queue, const struct bl_launch *launch, struct bl_error *error);
enum bl_status bl_cpu_put_copy(struct bl_queue *queue, const struct bl_copy *copy);
enum bl_status bl_cpu_put_fill(struct bl_queue *queue, const struct bl_fill *fill);

/* ---- threads (pool.c) ------------------------------------------------------------------------- */

struct bl_cpu_cost { /* what a kernel's CTA took, for the choice whom to wake */
    const struct bl_cpu_code *code;
    uint32_t ns;
};
enum { BL_CPU_COSTS = 256 };

TAILQ_HEAD(bl_cpu_queues, bl_queue);

struct bl_cpu_runner {
    struct bl_cpu_device *device;
    pthread_mutex_t lock;
    struct bl_cpu_queues queues, ready, dead;
    _Atomic uint32_t ready_count;
    bool recheck;         /* a queue that others wait for went on */
    uint32_t value_waits; /* queues whose first command waits for a value: somebody has to look again and again */
    struct bl_cpu_command *spare_commands;
    struct bl_cpu_core *spare_cores, *cores; /* cores: all of them */
    uint32_t core_count;
    uint64_t serial;
    struct bl_cpu_cost costs[BL_CPU_COSTS];

    uint32_t workers;        /* how many threads may run pieces at once */
    uint32_t running;        /* how many do, helpers included */
    uint32_t threads;        /* worker threads that exist; up to BL_CPU_EXTRA_THREADS more than workers */
    uint32_t idle, starting; /* of them */
    bool watching;           /* one of the idle looks for work every 200 us */
    bool quit;
    pthread_t *handles;
    _Atomic uint32_t bell; /* futex of the idle */
    uint32_t ring;         /* how many of the idle to wake once the lock is free */

    struct bl_fault fault; /* the first; kind NONE: none (lock) */
    atomic_bool faulted;

    uint64_t stack_limit, printf_limit, heap_limit; /* bytes */
    struct bl_cpu_heap *heap;                       /* NULL until the first device malloc (lock) */
    pthread_mutex_t print_lock;
    char *print_text; /* the FIFO (print_lock) */
    size_t print_capacity;
    _Atomic size_t print_size;
};
enum { BL_CPU_EXTRA_THREADS = 65 };

extern bool bl_cpu_forked;                                                   /* in a child of fork: there are no workers here */
uint64_t bl_cpu_now(void);                                                   /* ns, CLOCK_MONOTONIC */
void bl_cpu_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns); /* ns 0: for ever */
void bl_cpu_futex_wake(_Atomic uint32_t *word, int count);
void bl_cpu_pause(void); /* a spinning processor's hint */

static inline void bl_cpu_lock(struct bl_cpu_runner *runner)
{
    pthread_mutex_lock(&runner->lock);
}
void bl_cpu_unlock(struct bl_cpu_runner *runner);
/* Lock held. Sees to it that up to `count` workers come, or at least that one looks for work soon. */
void bl_cpu_call_workers(struct bl_cpu_runner *runner, uint32_t count);
/* Lock held. NULL: no memory. */
struct bl_cpu_core *bl_cpu_core_take(struct bl_cpu_runner *runner);
void bl_cpu_core_give(struct bl_cpu_core *core);
/* Lock held. Interrupts other cores whose command has to stop and that are in its code. One may be elsewhere just now: to be
 * done again until all have left. */
void bl_cpu_stop_cores(struct bl_cpu_runner *runner);
void bl_cpu_nap(uint64_t ns);

/* ---- cores: what one thread needs to run pieces (launch.c, fiber.c) ------------------------------ */

struct bl_cpu_stack {
    uint8_t *map; /* BL_CPU_GUARD bytes that can't be touched; the stack lies above them */
    size_t size;  /* with them */
};

struct bl_cpu_fiber {
    void *sp; /* where it goes on; NULL: to be started anew */
    struct bl_cpu_stack stack;
};

enum bl_cpu_job { BL_CPU_JOB_CTAS, BL_CPU_JOB_ROWS };

/* How a piece of work ended early. Written on a fiber or in a signal handler, read by the scheduler. */
struct bl_cpu_trap {
    bool set;
    bool by_signal;
    enum bl_fault_kind kind;
    uint32_t warp;  /* of the CTA */
    uint32_t lanes; /* 0: not known */
    uint64_t address;
    bool has_address;
    const char *text; /* static, or of the kernel's object; NULL: the kind's own words */
};

struct bl_cpu_core {
    struct bl_cpu_core *next;  /* spare ones */
    struct bl_cpu_core *all;   /* the next of all of its runner */
    struct bl_cpu_core *known; /* the next of all of the process, for the signal handler (fault.c) */
    struct bl_cpu_runner *runner;
    uint32_t index;
    bool taken;               /* (lock) */
    _Atomic pthread_t thread; /* that has taken it; other threads' signal handlers read it */
    struct bl_cpu_command *command;
    uint64_t begun;                  /* ns: this turn at it */
    uint64_t first, end;             /* pieces claimed */
    void *scheduler;                 /* stack pointer to go back to */
    atomic_bool inside;              /* on a fiber, on behalf of the command */
    uint32_t helping;                /* in a runtime function that touches the kernel's memory, or in a copy */
    struct bl_cpu_fiber *fiber;      /* that runs */
    struct bl_cpu_fiber plain, deep; /* for work without barriers; deep: for kernels with recursion */
    enum bl_cpu_job job;
    struct bl_cpu_trap trap;
    struct bl_cpu_cta *cta;   /* that runs */
    struct bl_cpu_cta *spare; /* CTAs that are not resident */
    uint32_t spare_count;
    struct bl_cpu_cluster *spare_clusters;
    uint32_t spare_cluster_count;
    bool moved;            /* a CTA of a cluster has arrived at its barrier */
    uint32_t spins;        /* yields since anything else happened */
    struct bl_buffer text; /* what one printf writes */
};

/* CTAs that run together on one core, and the memory that they share. */
struct bl_cpu_cluster {
    struct bl_cpu_cluster *next;                  /* of the core's spare ones */
    uint8_t *map;                                 /* BL_KIR_CLUSTER_CTAS places, a CTA's shared memory at the end of each */
    uint32_t open;                                /* places that can be touched */
    uint32_t size, running;                       /* CTAs; those that have not ended */
    uint32_t phase;                               /* of its barrier */
    struct bl_cpu_cta *ctas[BL_KIR_CLUSTER_CTAS]; /* owned; NULL: not needed yet */
};

struct bl_cpu_barrier {
    uint32_t arrived;  /* warps, by mask */
    uint32_t count;    /* arrivals in this round */
    uint32_t expected; /* warps; 0: all that have not ended */
    uint32_t waiting;  /* warps, by mask */
    uint32_t popc, participants;
};

/* A CTA's place: its memory, warps and fibers, used for one CTA after the other. */
struct bl_cpu_cta {
    struct bl_cpu_cta *next; /* resident ones: a ring; spare ones: a list */
    struct bl_cpu_core *core;
    uint64_t serial;       /* of the command that it is prepared for; 0: none */
    uint32_t tid_block[3]; /* block that warps[].tid is filled for; 0: only entry 0 is */
    uint8_t *shared_map, *local_map, *frame_map;
    size_t shared_size, local_size, frame_size; /* of the maps, guard page not counted */
    uint64_t frame_stride;                      /* bytes a warp has of frame_map; 0: not known yet */
    bool fibered;                               /* its warps are fibers */
    uint32_t nwarps, all;                       /* all: mask of warps */
    uint32_t current, runnable, ended;
    struct bl_cpu_cluster *cluster;                                            /* that it belongs to for good, or NULL */
    uint32_t rank;                                                             /* there */
    uint32_t cluster_arrived, cluster_waiting;                                 /* warps, by mask */
    uint32_t cluster_lanes[BL_CPU_MAX_WARPS], cluster_phase[BL_CPU_MAX_WARPS]; /* arrived; when it did */
    uint32_t active_barriers;                                                  /* mask: somebody arrived */
    struct bl_cpu_barrier barriers[BL_CPU_BARRIERS];
    uint32_t red_popc[BL_CPU_MAX_WARPS], red_participants[BL_CPU_MAX_WARPS];
    struct bl_cpu_fiber fibers[BL_CPU_MAX_WARPS];
    struct bl_cpu_warp warps[BL_CPU_MAX_WARPS];
};

/* Claims pieces; false: none left. */
bool bl_cpu_claim(struct bl_cpu_core *core, uint64_t count);
/* launch.c: runs pieces of a launch; false: it stopped for others' sake, and there is more. */
bool bl_cpu_run_grid(struct bl_cpu_core *core);
/* Memory, warps and fibers of a CTA for the core's command. */
bool bl_cpu_cta_prepare(struct bl_cpu_cta *cta, bool fibers);
/* Memory of the warp for what a coroutine keeps; NULL: none to be had. */
void *bl_cpu_cta_frame(struct bl_cpu_cta *cta, uint32_t warp, uint64_t bytes);
void bl_cpu_run_ctas(struct bl_cpu_core *core);                 /* on a fiber */
void bl_cpu_cta_place(struct bl_cpu_cta *cta, uint64_t linear); /* sets ctaid; linear: of the cluster, if it is of one */
struct bl_cpu_cta *bl_cpu_cta_take(struct bl_cpu_core *core);   /* NULL: no memory */
void bl_cpu_cta_put(struct bl_cpu_core *core, struct bl_cpu_cta *cta);
void bl_cpu_cta_free(struct bl_cpu_cta *cta);
void bl_cpu_thread_of(const struct bl_cpu_grid *launch, uint32_t warp, uint32_t lane, uint32_t tid[3]);
/* Whether to let other commands have this thread. */
bool bl_cpu_turn_over(struct bl_cpu_core *core);
/* Gives up the core's command: no memory for it. */
void bl_cpu_out_of_memory(struct bl_cpu_core *core, const char *what);

/* cluster.c */
/* A cluster for the core's command, with a prepared CTA for each rank, but for stacks; NULL: no memory. */
struct bl_cpu_cluster *bl_cpu_cluster_take(struct bl_cpu_core *core);
void bl_cpu_cluster_put(struct bl_cpu_core *core, struct bl_cpu_cluster *cluster);
void bl_cpu_cluster_free(struct bl_cpu_cluster *cluster);
/* The end of the CTA's shared memory: a guard page follows. */
uint8_t *bl_cpu_cluster_shared_end(const struct bl_cpu_cta *cta);
void bl_cpu_cluster_begin(struct bl_cpu_cluster *cluster); /* nobody has arrived */
bool bl_cpu_cluster_is_stuck(const struct bl_cpu_cluster *cluster);
void bl_cpu_cluster_warp_ended(struct bl_cpu_cta *cta);

/* transfer.c */
bool bl_cpu_run_transfer(struct bl_cpu_core *core);
void bl_cpu_transfer_rows(struct bl_cpu_core *core); /* on a fiber */

/* fiber.c */
bool bl_cpu_stack_map(struct bl_cpu_stack *stack, size_t size);
void bl_cpu_stack_unmap(struct bl_cpu_stack *stack);
/* Makes fiber start with function(argument) when it is switched to. */
void bl_cpu_fiber_reset(struct bl_cpu_fiber *fiber, void (*function)(void *), void *argument, uint32_t number);
/* Saves where it is in *save and goes on at load. */
void bl_cpu_switch(void **save, void *load);
/* The same, to a fiber of the core or to its scheduler (NULL). */
void bl_cpu_go(struct bl_cpu_core *core, void **save, struct bl_cpu_fiber *to);
extern const char bl_cpu_switch_resume[]; /* where a saved stack pointer goes on, for the signal handler */
/* Runs core->job on the core's own fiber until done or trapped. */
bool bl_cpu_run_plain(struct bl_cpu_core *core, bool deep);
bool bl_cpu_run_fibers(struct bl_cpu_core *core);
/* On a fiber: lets another warp of the CTA run, or the scheduler if there is none. */
void bl_cpu_cta_switch(struct bl_cpu_cta *cta);
/* On a fiber: leaves it for good, with the core's trap set. */
void bl_cpu_escape(struct bl_cpu_core *core) __attribute__((noreturn));

/* The work ends; kind NONE: because it was told to stop. text as in struct bl_cpu_trap. */
void bl_cpu_trap_set(struct bl_cpu_core *core, enum bl_fault_kind kind, uint32_t warp, uint32_t lanes, const char *text);

/* What every helper does first: a stop's signal may have come while a helper ran, and would be lost. */
static inline void bl_cpu_obey_stop(struct bl_cpu_core *core)
{
    if (__builtin_expect(atomic_load_explicit(&core->command->stop, memory_order_relaxed), false)) {
        bl_cpu_trap_set(core, BL_FAULT_NONE, 0, 0, NULL);
        bl_cpu_escape(core);
    }
}

/* barrier.c */
void bl_cpu_barriers_reset(struct bl_cpu_cta *cta);
void bl_cpu_barriers_warp_ended(struct bl_cpu_cta *cta);
/* Text of what the warps of a CTA wait for. */
void bl_cpu_barriers_describe(const struct bl_cpu_cta *cta, char *text, size_t size);

extern const struct bl_cpu_helpers bl_cpu_helpers;
void bl_cpu_help_barrier(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
void bl_cpu_help_arrive(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
uint32_t bl_cpu_help_red(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds,
                         uint32_t *participants);
bool bl_cpu_help_barrier_begin(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
bool bl_cpu_help_red_begin(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds);
uint32_t bl_cpu_help_red_end(struct bl_cpu_warp *warp, uint32_t *participants);
void bl_cpu_help_cluster_arrive(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending);
void bl_cpu_help_cluster_wait(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending);
void *bl_cpu_help_frame(struct bl_cpu_warp *warp, uint64_t bytes);
void bl_cpu_help_yield(struct bl_cpu_warp *warp, uint32_t ns);
void bl_cpu_help_fault(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const char *text) __attribute__((noreturn));
void bl_cpu_help_assert(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *message, const uint64_t *file,
                        const uint32_t *line, const uint64_t *function);
void bl_cpu_help_printf(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *format, const uint64_t *args, uint32_t *results);
void bl_cpu_help_malloc(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *sizes, uint64_t *results);
void bl_cpu_help_image(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *objects, const uint32_t *words,
                       uint32_t *results);
void bl_cpu_help_matrix(struct bl_cpu_warp *warp, uint64_t code, const uint32_t *in, uint32_t *results);
void bl_cpu_help_bulk(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *operands, uint32_t *results);
void bl_cpu_help_free(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *blocks);

/* fault.c */
void bl_cpu_signals_check(void); /* our handlers stand; called by every launch, copy, fill and batch: a system call */
void bl_cpu_thread_ready(void);  /* this thread has a stack for signal handlers */
void bl_cpu_worker_signals(sigset_t *blocked);
void bl_cpu_core_known(struct bl_cpu_core *core);
void bl_cpu_core_forget(struct bl_cpu_core *core);
/* Turns the core's trap into the runner's fault and stops the command. On the scheduler's stack, without the lock. */
void bl_cpu_trap_report(struct bl_cpu_core *core);

/* print.c */
void bl_cpu_text_copy(struct bl_buffer *text, uint64_t address, size_t most); /* a string of the kernel's; may fault */
void bl_cpu_print_add(struct bl_cpu_runner *runner, const char *text, size_t size);
void bl_cpu_print_flush(struct bl_cpu_runner *runner);

/* heap.c */
void bl_cpu_heap_free_all(struct bl_cpu_runner *runner);

#endif
