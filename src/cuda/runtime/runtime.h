/* What the files of libcudart share: the error state of a thread, the way into a context, the program's kernels and variables.
 * Only src/cuda/runtime includes it. Everything stands on the driver API's exported functions, as any program would. The exported
 * entry points are made from api.def by gen_api.py; they call the bl_rt_… functions declared in rt_api.h and record errors.
 */
#ifndef BAILEY_CUDA_RUNTIME_H
#define BAILEY_CUDA_RUNTIME_H

#include <pthread.h>
#include <stdatomic.h>

#include "toolkit/include/cuda.h"
#include "toolkit/include/cuda_runtime_api.h"
#include "toolkit/include/cuda_profiler_api.h"
#include "toolkit/include/crt/host_runtime.h"

#include "base/base.h"
#include "cuda/runtime/legacy.h"

/* Which libcudart this copy is, 11000, 12000 or 13000: set in each library by its own entries file. */
extern const int bl_rt_version;

/* ---- the calling thread --------------------------------------------------------------------- */

extern __thread cudaError_t bl_rt_last_error;
static inline cudaError_t bl_rt_record(cudaError_t error)
{
    if (__builtin_expect(error != cudaSuccess, 0))
        bl_rt_last_error = error;
    return error;
}
/* The runtime's code for a driver's: the same numbers (both headers; the runtime added its own between them). */
static inline cudaError_t bl_rt_error(CUresult result)
{
    return (cudaError_t)result;
}
/* Answers cudaErrorNotSupported and names the function in the log once. */
cudaError_t bl_rt_missing(const char *function, atomic_bool *said);
/* The answer of a function that api.def refuses, with its reason in the log once. */
cudaError_t bl_rt_refused(const char *function, cudaError_t code, const char *reason, atomic_bool *said);

/* Makes sure that the driver is initialised. */
cudaError_t bl_rt_init(void);
/* Makes sure that a context is current: the thread's own choice, else the primary one of the thread's device. */
cudaError_t bl_rt_enter(void);
#define BL_RT_ENTER()                                                                                                              \
    do {                                                                                                                           \
        cudaError_t entered = bl_rt_enter();                                                                                       \
        if (__builtin_expect(entered != cudaSuccess, 0))                                                                           \
            return entered;                                                                                                        \
    } while (0)
/* The device of the current context, else the thread's choice. */
int bl_rt_device(void);
/* Whether there is a device of this number; cudaErrorInvalidDevice otherwise. */
cudaError_t bl_rt_check_device(int device);

/* ---- the program's code (module.c) ---------------------------------------------------------- */

/* The kernel of a host function or a cudaKernel_t; loads its module. An error: neither. */
cudaError_t bl_rt_kernel(const void *function, CUkernel *kernel);
/* The host function of a kernel; NULL: it has none. */
const void *bl_rt_host_function(CUkernel kernel);
/* The same as a function of the current context. */
cudaError_t bl_rt_function(const void *function, CUfunction *made);
/* A device variable by the address of its host shadow; cudaErrorInvalidSymbol: none. */
cudaError_t bl_rt_symbol(const void *symbol, CUdeviceptr *address, size_t *size);

/* ---- copies (copy.c) ------------------------------------------------------------------------- */

/* Copies in the order of stream; waits for the end where `wait`. */
cudaError_t bl_rt_copy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, CUstream stream, bool wait);
/* The driver's form of a box that has something in it, and back. */
cudaError_t bl_rt_box(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *box);
cudaError_t bl_rt_box_params(const CUDA_MEMCPY3D *box, struct cudaMemcpy3DParms *params);
/* The address of a part of a device variable. */
cudaError_t bl_rt_symbol_part(const void *symbol, size_t count, size_t offset, void **address);

/* The driver's format of a channel description; false: there is none. */
bool bl_rt_array_format(const struct cudaChannelFormatDesc *desc, CUDA_ARRAY3D_DESCRIPTOR *made);
/* The description of a driver's format. */
struct cudaChannelFormatDesc bl_rt_channel_desc(CUarray_format format, unsigned channels);

#include "rt_api.h" /* made by gen_api.py */

#endif
