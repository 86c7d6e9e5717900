/* What compiler-made host code calls to register its kernels and variables and to pass a launch's configuration. For front ends;
 * programs have no use for it. Included by cuda_runtime.h where a CUDA front end compiles. */
#ifndef BAILEY_CRT_HOST_RUNTIME_H
#define BAILEY_CRT_HOST_RUNTIME_H

#include "../cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

extern __host__ void **CUDARTAPI __cudaRegisterFatBinary(void *wrapper);
extern __host__ void CUDARTAPI __cudaRegisterFatBinaryEnd(void **handle);
extern __host__ void CUDARTAPI __cudaUnregisterFatBinary(void **handle);
extern __host__ char CUDARTAPI __cudaInitModule(void **handle);
extern __host__ void CUDARTAPI __cudaRegisterFunction(void **handle, const char *host_function, char *device_function,
                                                      const char *device_name, int thread_limit, uint3 *thread, uint3 *block,
                                                      dim3 *block_dim, dim3 *grid_dim, int *warp_size);
extern __host__ void CUDARTAPI __cudaRegisterVar(void **handle, char *host_variable, char *device_address, const char *device_name,
                                                 int external, size_t size, int constant, int global);
extern __host__ void CUDARTAPI __cudaRegisterManagedVar(void **handle, void **host_pointer, char *device_address,
                                                        const char *device_name, int external, size_t size, int constant,
                                                        int global);
extern __host__ unsigned CUDARTAPI __cudaPushCallConfiguration(dim3 grid_dim, dim3 block_dim, size_t shared BL_DEFAULT(0),
                                                               struct CUstream_st *stream BL_DEFAULT(0));
extern __host__ cudaError_t CUDARTAPI __cudaPopCallConfiguration(dim3 *grid_dim, dim3 *block_dim, size_t *shared, void *stream);
extern __host__ cudaError_t CUDARTAPI __cudaGetKernel(cudaKernel_t *kernel, const void *host_function);
extern __host__ cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid_dim, dim3 block_dim, void **args,
                                                         size_t shared, cudaStream_t stream);
extern __host__ cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid_dim, dim3 block_dim, void **args,
                                                              size_t shared, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
