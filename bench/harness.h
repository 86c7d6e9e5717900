/* What the sides of one benchmark share. A benchmark NAME is, in bench/kernels:
 *     NAME.h      its sizes
 *     NAME.cu     the CUDA kernels, as people write them, and bench_run_cuda: the run that is timed
 *     NAME.c      bench_setup: buffers, their contents, what is compared; bench_run: the same in C with OpenMP
 *     NAME.cl     the same for OpenCL: to a C compiler it is bench_run_opencl, which launches; to OpenCL it is the kernels
 *     NAME.vec.c  (some) bench_run by hand, with vector extensions
 * All run in one process on the same memory, in turns (harness.c). Used by these files and by harness.c and opencl.c only. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

enum bench_type {
    BENCH_U8,
    BENCH_U16,
    BENCH_U32,
    BENCH_F32,
    BENCH_F64,
};

enum bench_role {
    BENCH_IN,     /* never written */
    BENCH_SPARE,  /* scratch: neither compared nor reset */
    BENCH_OUT,    /* compared */
    BENCH_IN_OUT, /* as it was set up before every run; compared */
};

enum {
    BENCH_BUFFERS = 12,
};

struct bench_buffer {
    void *data;
    void *first; /* a copy of what setup put there, for BENCH_IN_OUT */
    void *want;  /* what the first peer answered */
    size_t count;
    enum bench_type type;
    enum bench_role role;
    double tolerance; /* |got - want| <= tolerance * max(|want|, scale); 0: bit by bit */
    double scale;
    double outliers; /* fraction of elements that may differ more: where rounding decides how often a loop runs */
};

struct bench {
    struct bench_buffer buffers[BENCH_BUFFERS];
    unsigned count;
    double work; /* of one run, in 1e9 of unit */
    const char *unit;
    void *(*allocate)(size_t bytes);
};

/* Adds a buffer of count elements, of zeros; ends the process if there is no memory. */
void *bench_buffer(struct bench *bench, enum bench_type type, size_t count, enum bench_role role);

/* Says how near the buffer that was added last has to come. */
void bench_tolerance(struct bench *bench, double tolerance, double scale, double outliers);

/* 32 random bits; the same sequence everywhere. */
uint32_t bench_random(uint64_t *state);

/* A random number in [0, 1). */
float bench_random_float(uint64_t *state);

/* What a benchmark defines. p: the buffers' data, in the order they were added. */
void bench_setup(struct bench *bench);
void bench_run(void *const *p);
void bench_run_cuda(void *const *p);

struct bench_opencl;
void bench_run_opencl(struct bench_opencl *cl, void *const *p);

/* Launches one OpenCL kernel of x by y groups of width by height items. types: one letter for each argument that follows:
 * b: unsigned, the number of a buffer; i: int; u: unsigned; f: float; l: size_t, bytes of local memory. */
void bench_opencl_launch(struct bench_opencl *cl, const char *kernel, size_t x, size_t y, size_t width, size_t height,
                         const char *types, ...);

/* The device's processors. */
unsigned bench_opencl_units(const struct bench_opencl *cl);

/* Waits for what was launched. */
void bench_opencl_wait(struct bench_opencl *cl);

/* For harness.c: compiles source; NULL when there is no OpenCL device. */
struct bench_opencl *bench_opencl_open(const char *file, const char *include, const struct bench *bench);

#endif
