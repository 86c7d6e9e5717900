/* What each thread of the program has: its stack of contexts and its own default streams. Used by context.c and stream.c. */
#ifndef BAILEY_CUDA_DRIVER_THREAD_H
#define BAILEY_CUDA_DRIVER_THREAD_H

#include "cuda/driver/driver.h"

struct bl_cu_thread {
    CUcontext *stack; /* owned; the last one is current */
    uint32_t depth, capacity;
    struct {
        uint64_t context, stream; /* handles */
    } streams[BL_CU_MAX_DEVICES];
    uint32_t stream_count;
    CUstreamCaptureMode capture_mode;
};

/* NULL when memory is out. Freed when the thread ends. */
struct bl_cu_thread *bl_cu_thread(void);
extern __thread struct bl_cu_thread *bl_cu_thread_self __attribute__((tls_model("initial-exec")));

#endif
