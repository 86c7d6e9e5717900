/* The OpenCL side of the benchmarks: one in-order queue on the first CPU device; buffers are the harness's own memory. */
#define CL_TARGET_OPENCL_VERSION 120
#include "harness.h"
#include <CL/cl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    KERNELS = 8,
};

struct bench_opencl {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    cl_mem buffers[BENCH_BUFFERS];
    struct {
        const char *name;
        cl_kernel kernel;
    } kernels[KERNELS];
    unsigned nkernels;
    cl_uint units;
};

static void check(cl_int error, const char *what)
{
    if (error == CL_SUCCESS)
        return;
    fprintf(stderr, "OpenCL: %s: error %d\n", what, error);
    exit(1);
}

static char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    if (!file) {
        perror(name);
        exit(1);
    }
    char *text = calloc(1, 1 << 20);
    if (!text || fread(text, 1, (1 << 20) - 1, file) == 0)
        exit(1);
    fclose(file);
    return text;
}

static void build(struct bench_opencl *cl, cl_device_id device, const char *file, const char *include)
{
    char *source = read_file(file), options[1024];
    cl_int error = CL_SUCCESS;
    cl->program = clCreateProgramWithSource(cl->context, 1, (const char **)&source, NULL, &error);
    check(error, "clCreateProgramWithSource");
    snprintf(options, sizeof options, "-I%s", include);
    if (clBuildProgram(cl->program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(cl->program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        fprintf(stderr, "%s:\n%s\n", file, log);
        exit(1);
    }
    free(source);
}

struct bench_opencl *bench_opencl_open(const char *file, const char *include, const struct bench *bench)
{
    cl_platform_id platform;
    cl_device_id device;
    cl_uint count = 0;
    if (clGetPlatformIDs(1, &platform, &count) != CL_SUCCESS || count == 0 ||
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, &count) != CL_SUCCESS || count == 0)
        return NULL;
    struct bench_opencl *cl = calloc(1, sizeof *cl);
    if (!cl)
        exit(1);
    cl_int error = CL_SUCCESS;
    cl->context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    check(error, "clCreateContext");
    cl->queue = clCreateCommandQueue(cl->context, device, 0, &error);
    check(error, "clCreateCommandQueue");
    clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof cl->units, &cl->units, NULL);
    build(cl, device, file, include);
    static const size_t sizes[] = {[BENCH_U8] = 1, [BENCH_U16] = 2, [BENCH_U32] = 4, [BENCH_F32] = 4, [BENCH_F64] = 8};
    for (unsigned i = 0; i < bench->count; i++) {
        const struct bench_buffer *buffer = &bench->buffers[i];
        cl->buffers[i] = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, buffer->count * sizes[buffer->type],
                                        buffer->data, &error);
        check(error, "clCreateBuffer");
    }
    return cl;
}

unsigned bench_opencl_units(const struct bench_opencl *cl)
{
    return cl->units;
}

static cl_kernel kernel_of(struct bench_opencl *cl, const char *name)
{
    for (unsigned i = 0; i < cl->nkernels; i++)
        if (strcmp(cl->kernels[i].name, name) == 0)
            return cl->kernels[i].kernel;
    if (cl->nkernels == KERNELS)
        exit(1);
    cl_int error = CL_SUCCESS;
    cl->kernels[cl->nkernels].name = name;
    cl->kernels[cl->nkernels].kernel = clCreateKernel(cl->program, name, &error);
    check(error, name);
    return cl->kernels[cl->nkernels++].kernel;
}

void bench_opencl_launch(struct bench_opencl *cl, const char *name, size_t x, size_t y, size_t width, size_t height,
                         const char *types, ...)
{
    cl_kernel kernel = kernel_of(cl, name);
    va_list list;
    va_start(list, types);
    for (cl_uint i = 0; types[i]; i++) {
        cl_int error = CL_INVALID_VALUE;
        if (types[i] == 'b') {
            error = clSetKernelArg(kernel, i, sizeof(cl_mem), &cl->buffers[va_arg(list, unsigned)]);
        } else if (types[i] == 'i') {
            cl_int value = va_arg(list, int);
            error = clSetKernelArg(kernel, i, sizeof value, &value);
        } else if (types[i] == 'u') {
            cl_uint value = va_arg(list, unsigned);
            error = clSetKernelArg(kernel, i, sizeof value, &value);
        } else if (types[i] == 'f') {
            cl_float value = (cl_float)va_arg(list, double);
            error = clSetKernelArg(kernel, i, sizeof value, &value);
        } else if (types[i] == 'l') {
            error = clSetKernelArg(kernel, i, va_arg(list, size_t), NULL);
        }
        check(error, name);
    }
    va_end(list);
    size_t global[2] = {x * width, y * height}, local[2] = {width, height};
    check(clEnqueueNDRangeKernel(cl->queue, kernel, 2, NULL, global, local, 0, NULL, NULL), name);
}

void bench_opencl_wait(struct bench_opencl *cl)
{
    check(clFinish(cl->queue), "clFinish");
}
