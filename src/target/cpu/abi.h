/* What generated code and the CPU runtime agree on. The code generator (in bailey-cc) reads these offsets; the runtime
 * (in libcuda) fills them. A change here must raise BL_CPU_ABI, which is part of the cache key.
 *
 * An object defines one function, bl_kernel, called once for each warp of each CTA:
 *     void bl_kernel(struct bl_cpu_warp *warp);
 * and refers to nothing outside itself. It may return early only when all lanes of the warp have ended, or, in a kernel that is
 * a coroutine, where the warp waits at a barrier: warp->frame then holds what it goes on with at the next call, else NULL.
 *
 * It runs on a stack with room for its frames (bl_cpu_kernel_info.machine_stack) and for what it calls in the runtime. Below the
 * stack lie BL_CPU_GUARD bytes that can't be touched: no frame may pass them without touching them.
 */
#ifndef BAILEY_CPU_ABI_H
#define BAILEY_CPU_ABI_H

#include <stdbool.h>
#include <stdint.h>

#define BL_CPU_ABI 8
enum {
    BL_WARP = 32,
    BL_CPU_GUARD = 64 << 10,  /* bytes below a stack */
    BL_CPU_FRAME_ALIGN = 512, /* of a coroutine's frame: of the largest vector in it */
    BL_CPU_PROBED = 32 << 10, /* larger frames are touched every so many bytes, from above, before they are used */
};

struct bl_cpu_warp;

/* Runtime functions. `lanes` is a mask of the lanes that make the call; arrays have 32 entries, by lane. */
struct bl_cpu_helpers {
    /* bar.sync / barrier.sync id[, count]; count 0: all threads of the CTA. Returns when it is passed. */
    void (*barrier)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
    void (*barrier_arrive)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
    /* bar.red: preds has the lanes whose predicate is true; returns popc over all threads that take part.
     * all = (popc == count), any = popc != 0: the generated code gets *participants too. */
    uint32_t (*barrier_red)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds,
                            uint32_t *participants);
    /* Lets other warps run. Called in loops that wait for another thread, and by nanosleep (ns: the longest of the lanes, 0: none).
     */
    void (*yield)(struct bl_cpu_warp *warp, uint32_t ns);
    /* Ends the launch with a fault; does not return. code: enum bl_fault_kind; text: a static string of the object, or NULL. */
    void (*fault)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const char *text) __attribute__((noreturn));
    void (*vprintf)(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *format, const uint64_t *args, uint32_t *results);
    void (*malloc)(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *sizes, uint64_t *results);
    void (*free)(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *blocks);
    /* __assertfail(message, file, line, function, charsize); does not return */
    void (*assertfail)(struct bl_cpu_warp *warp, uint32_t lanes, const uint64_t *message, const uint64_t *file,
                       const uint32_t *line, const uint64_t *function);
    uint64_t (*clock)(struct bl_cpu_warp *warp);       /* cycles at the clock rate that the device reports */
    uint64_t (*globaltimer)(struct bl_cpu_warp *warp); /* ns since the epoch */
    /* In a kernel that is a coroutine: memory for its frame, aligned to BL_CPU_FRAME_ALIGN, kept while the warp runs. */
    void *(*frame)(struct bl_cpu_warp *warp, uint64_t bytes);
    /* The same as barrier, but returns at once: whether the warp has to return and be called again. */
    bool (*barrier_begin)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count);
    /* The same as barrier_red, in two parts: the second once the barrier is passed. */
    bool (*barrier_red_begin)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t id, uint32_t count, uint32_t preds);
    uint32_t (*barrier_red_end)(struct bl_cpu_warp *warp, uint32_t *participants);
    /* Any other external device function (cudaDeviceSynchronize, cnpGetParameterBufferV2, …): the generated code stores
     * nothing and faults with its name; room for later. */
    void *reserved[3];
    /* barrier.cluster. Lanes arrive once each before they wait; a wait returns when all threads of the cluster have arrived.
     * ending: lanes that will not arrive, beside those in warp->exited. */
    void (*cluster_arrive)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending);
    void (*cluster_wait)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t ending);
    /* A texture or surface op. code: BL_KIR_IMAGE of kir.h. words and results: one array of 32 after another. */
    void (*image)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *objects, const uint32_t *words,
                  uint32_t *results);
    /* A multiplication of matrices. code: BL_KIR_MATRIX of kir.h. in and results: one array of 32 words after another. */
    void (*matrix)(struct bl_cpu_warp *warp, uint64_t code, const uint32_t *in, uint32_t *results);
    /* A bulk op. code: BL_KIR_BULK of kir.h. operands: one array of 32 after another. */
    void (*bulk)(struct bl_cpu_warp *warp, uint32_t lanes, uint32_t code, const uint64_t *operands, uint32_t *results);
};

/* One running warp. Everything that is the same for a CTA is repeated here, so that code needs one pointer. */
struct bl_cpu_warp {
    const uint8_t *params; /* the kernel's parameter buffer */
    void *const *globals;  /* addresses of module variables, in the order of the object's list */
    const struct bl_cpu_helpers *helpers;
    uint8_t *shared;       /* the CTA's shared memory, 128-byte aligned; also the shared window's generic address */
    uint8_t *local;        /* local memory of lane 0; lane i's is at local + i * local_stride. A local address is an
                              offset from the lane's own start; its generic address is local + i * stride + offset */
    uint64_t local_stride; /* bytes of local memory a thread; a frame that doesn't fit faults with STACK_OVERFLOW */
    uint64_t shared_size;  /* static + dynamic bytes */
    uint64_t gridid;
    uint32_t dynamic_shared; /* bytes */
    uint32_t active;         /* lanes that exist: all ones but in a CTA's last warp */
    uint32_t warpid, nwarps;
    uint32_t ntid[3], nctaid[3], ctaid[3];
    uint32_t smid, nsmid;
    uint32_t tid[3][BL_WARP]; /* by lane; filled only for kernels compiled without cta_shape linear, except entry 0 (lane 0's
                                 tid), which is always filled */
    uint32_t cluster_nctaid[3], cluster_ctaid[3], clusterid[3], nclusterid[3], cluster_ctarank, cluster_nctarank;
    uint32_t current_line;   /* the generated code stores the PTX line before an op that may fault (cheap: only
                                before memory accesses of blocks, may be left stale; 0 unknown) */
    uint32_t exited;         /* lanes that have ended; kept in kernels with BL_CPU_CLUSTER only */
    void *frame;             /* of a coroutine that waits; NULL: it has not begun, or has ended */
    uint64_t grid_workspace; /* %envreg1 (high half) and %envreg2 (low half): address of two u32 of a cooperative launch, the size
                                of them and a zeroed barrier word, as CUDA's cooperative groups take them for grid.sync(); else 0 */
    void *runtime;           /* the runtime's own */
};

/* Kinds of fault, shared with device.h. */
enum bl_fault_kind {
    BL_FAULT_NONE,
    BL_FAULT_ILLEGAL_ADDRESS,
    BL_FAULT_MISALIGNED,
    BL_FAULT_TRAP, /* trap, brkpt */
    BL_FAULT_ASSERT,
    BL_FAULT_STACK_OVERFLOW,
    BL_FAULT_ILLEGAL_INSTRUCTION,
    BL_FAULT_UNSUPPORTED,  /* an op that the target can't run was reached */
    BL_FAULT_BAD_FUNCTION, /* indirect call of something that is no function */
    BL_FAULT_DEADLOCK,     /* all threads wait at barriers that can't fill */
};

/* What bailey-cc says of a kernel beside its object. */
enum bl_cpu_kernel_flags {
    BL_CPU_BARRIER = 1,     /* calls barrier*: warps must be fibers, if it is no coroutine */
    BL_CPU_YIELDS = 2,      /* has loops that wait for other threads: warps must be fibers */
    BL_CPU_GENERAL_CTA = 4, /* compiled without cta_shape linear */
    BL_CPU_RECURSION = 8,   /* recursive or indirect calls: needs a large machine stack */
    BL_CPU_USES_LOCAL = 16, /* touches warp->local */
    BL_CPU_COROUTINE = 32,  /* returns where a warp waits at a barrier, to be called again */
    BL_CPU_CLUSTER = 128,   /* waits for other CTAs of its cluster or reaches their memory: they are resident together */
    BL_CPU_ROUNDS = 64,     /* the same, at each barrier: all are for all threads; without a call of barrier_begin */
};

#endif
