/* The profiler's part of the CUDA driver API: for programs to include. Text our own; see cuda.h. */
#ifndef __cuda_profiler_H__
#define __cuda_profiler_H__

#include "cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUoutput_mode_enum { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 } CUoutput_mode;

CUresult CUDAAPI cuProfilerInitialize(const char *config_file, const char *output_file, CUoutput_mode output_mode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#ifdef __cplusplus
}
#endif
#endif
