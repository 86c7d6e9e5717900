/* Words that CUDA C++ adds to C++ (__global__, __device__, ...), empty for host compilers. Included by every header of the runtime
 * API. */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

/* The program is CUDA C++: a CUDA front end compiles it. */
#if defined(__CUDACC__) || defined(__CUDA__)
#define BL_CUDA_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define BL_CUDA_ATTRIBUTE(...)
#endif

#define __no_return__ __attribute__((noreturn))
/* clang's __noinline__ is a word of its own in CUDA mode; the others know it as a macro of GNU C's attribute. */
#if !(defined(__clang__) && defined(__CUDA__))
#define __noinline__ __attribute__((noinline))
#endif
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#define __inline_hint__
#ifndef __align__
#define __align__(n) __attribute__((aligned(n)))
#endif
#define __builtin_align__(n) __align__(n)
#define __thread__ __thread
#define __import__
#define __export__
#define __cdecl
#define __annotate__(a)
#define __location__(a)
#define __specialization_static
#define CUDARTAPI
#define CUDARTAPI_CDECL

#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__

#define __host__ BL_CUDA_ATTRIBUTE(host)
#define __device__ BL_CUDA_ATTRIBUTE(device)
#define __global__ BL_CUDA_ATTRIBUTE(global)
#define __shared__ BL_CUDA_ATTRIBUTE(shared)
#define __constant__ BL_CUDA_ATTRIBUTE(constant)
#ifndef __managed__
#ifdef __CUDA__
/* clang has no managed variables in CUDA: without this it would make an ordinary one of the host. */
#define __managed__ a___managed___variable_is_not_supported_by_bailey_nvcc_yet__use_cudaMallocManaged
#else
#define __managed__
#endif
#endif
#define __nv_pure__ BL_CUDA_ATTRIBUTE(pure)
#define __launch_bounds__(...) BL_CUDA_ATTRIBUTE(launch_bounds(__VA_ARGS__))

#if defined(__has_attribute)
#if __has_attribute(grid_constant)
#define __grid_constant__ BL_CUDA_ATTRIBUTE(grid_constant)
#endif
#if __has_attribute(maxnreg)
#define __maxnreg__(n) BL_CUDA_ATTRIBUTE(maxnreg(n))
#endif
#if __has_attribute(cluster_dims)
#define __cluster_dims__(...) BL_CUDA_ATTRIBUTE(cluster_dims(__VA_ARGS__))
#endif
#if __has_attribute(block_size)
#define __block_size__(...) BL_CUDA_ATTRIBUTE(block_size(__VA_ARGS__))
#endif
#endif
#ifndef __grid_constant__
#define __grid_constant__
#endif
#ifndef __maxnreg__
#define __maxnreg__(n)
#endif
#ifndef __cluster_dims__
#define __cluster_dims__(...)
#endif
#ifndef __block_size__
#define __block_size__(...)
#endif
#define __local_maxnreg__(n)

#define __CUDA_ARCH_HAS_FEATURE__(feature) __CUDA_ARCH_FEAT_##feature

#endif
