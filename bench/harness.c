/* Runs one benchmark: all its sides, in turns, on the same memory, and compares their answers with those of the first peer.
 * Arguments: the source folder, the folder with the peers (NAME.SIDE.so), NAME, how many runs are timed, how many threads.
 * Prints, for bench/peers.py, one line a side, between tabs: side, answer (ok, or what is wrong), seconds of the first run with
 * its compilation, then the seconds of every timed run. Linked with NAME's CUDA side. */
#include "harness.h"
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RUNS = 101,
    ATTEMPTS = 6,
};
static const double DISTURBED = 0.03; /* of the processors' time in a run: time in which threads of ours waited for others' */

struct side {
    const char *name;
    void (*run)(void *const *p);
    struct bench_opencl *cl;
    void (*run_opencl)(struct bench_opencl *cl, void *const *p);
    double first, times[RUNS];
    double disturbed; /* the sum over the runs that were kept */
    char answer[160];
};

void *bench_allocate(size_t bytes);

static const size_t element_bytes[] = {[BENCH_U8] = 1, [BENCH_U16] = 2, [BENCH_U32] = 4, [BENCH_F32] = 4, [BENCH_F64] = 8};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t bytes_of(const struct bench_buffer *buffer)
{
    return buffer->count * element_bytes[buffer->type];
}

static void *copy_of(const void *data, size_t bytes)
{
    void *copy = malloc(bytes);
    if (!copy)
        exit(1);
    return memcpy(copy, data, bytes);
}

void *bench_buffer(struct bench *bench, enum bench_type type, size_t count, enum bench_role role)
{
    if (bench->count == BENCH_BUFFERS) {
        fprintf(stderr, "more than %d buffers\n", BENCH_BUFFERS);
        exit(1);
    }
    struct bench_buffer *buffer = &bench->buffers[bench->count++];
    *buffer = (struct bench_buffer){.count = count, .type = type, .role = role};
    buffer->data = bench->allocate(bytes_of(buffer));
    return memset(buffer->data, 0, bytes_of(buffer));
}

void bench_tolerance(struct bench *bench, double tolerance, double scale, double outliers)
{
    struct bench_buffer *buffer = &bench->buffers[bench->count - 1];
    buffer->tolerance = tolerance;
    buffer->scale = scale;
    buffer->outliers = outliers;
}

uint32_t bench_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

float bench_random_float(uint64_t *state)
{
    return (float)(bench_random(state) >> 8) * 0x1p-24f;
}

static double element(const void *data, enum bench_type type, size_t i)
{
    switch (type) {
    case BENCH_U8:
        return ((const uint8_t *)data)[i];
    case BENCH_U16:
        return ((const uint16_t *)data)[i];
    case BENCH_U32:
        return ((const uint32_t *)data)[i];
    case BENCH_F32:
        return (double)((const float *)data)[i];
    case BENCH_F64:
        return ((const double *)data)[i];
    }
    return 0;
}

/* Whether the answers in the buffers are those wanted; says in side->answer what is not. */
static void compare(const struct bench *bench, struct side *side)
{
    for (unsigned b = 0; b < bench->count; b++) {
        const struct bench_buffer *buffer = &bench->buffers[b];
        if (!buffer->want || memcmp(buffer->data, buffer->want, bytes_of(buffer)) == 0)
            continue;
        size_t wrong = 0, example = 0;
        for (size_t i = 0; i < buffer->count; i++) {
            double got = element(buffer->data, buffer->type, i), want = element(buffer->want, buffer->type, i);
            if (got == want || fabs(got - want) <= buffer->tolerance * fmax(fabs(want), buffer->scale))
                continue;
            if (wrong++ == 0)
                example = i;
        }
        if ((double)wrong > buffer->outliers * (double)buffer->count)
            snprintf(side->answer, sizeof side->answer, "WRONG: buffer %u: %zu of %zu differ, first [%zu]: %.9g, not %.9g", b,
                     wrong, buffer->count, example, element(buffer->data, buffer->type, example),
                     element(buffer->want, buffer->type, example));
    }
}

/* Before a run: what it changes is as set up, what it answers is not there yet. */
static void reset(struct bench *bench)
{
    for (unsigned b = 0; b < bench->count; b++) {
        struct bench_buffer *buffer = &bench->buffers[b];
        if (buffer->role == BENCH_IN_OUT)
            memcpy(buffer->data, buffer->first, bytes_of(buffer));
        else if (buffer->role == BENCH_OUT)
            memset(buffer->data, 0x5a, bytes_of(buffer));
    }
}

/* Seconds that the threads of this process have waited for a processor so far. */
static double waited(void)
{
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
        char name[300];
        unsigned long long ran = 0, delay = 0;
        snprintf(name, sizeof name, "/proc/self/task/%s/schedstat", entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(name, "r");
        if (!file)
            continue;
        if (fscanf(file, "%llu %llu", &ran, &delay) == 2)
            sum += (double)delay * 1e-9;
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static double timed(struct bench *bench, struct side *side, void *const *p)
{
    reset(bench);
    double start = now();
    if (side->run)
        side->run(p);
    else
        side->run_opencl(side->cl, p);
    return now() - start;
}

/* One timed run. One in which other processes took the processors is repeated, and the least disturbed one is kept. */
static void turn(struct bench *bench, struct side *side, void *const *p, double *seconds, double threads)
{
    double least = INFINITY;
    for (unsigned attempt = 0; attempt < ATTEMPTS && least > DISTURBED; attempt++) {
        double before = waited();
        double took = timed(bench, side, p);
        double disturbed = (waited() - before) / took / threads;
        if (disturbed >= least)
            continue;
        least = disturbed;
        *seconds = took;
    }
    side->disturbed += least;
}

static void *open_peer(const char *folder, const char *name, const char *peer)
{
    char file[1024];
    snprintf(file, sizeof file, "%s/%s.%s.so", folder, name, peer);
    void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!handle && (strcmp(peer, "gcc") == 0 || strcmp(peer, "clang") == 0)) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return handle;
}

/* Fills in the sides that there are: the first is the one that all are compared with. */
static unsigned open_sides(struct side *sides, struct bench *bench, const char *source, const char *folder, const char *name)
{
    static const char *const peers[] = {"gcc", "clang", "vec"};
    unsigned count = 0;
    for (unsigned i = 0; i < 3; i++) {
        void *handle = open_peer(folder, name, peers[i]);
        if (!handle)
            continue;
        sides[count].name = peers[i];
        *(void **)&sides[count++].run = dlsym(handle, "bench_run");
        void (*setup)(struct bench *) = NULL;
        *(void **)&setup = dlsym(handle, "bench_setup");
        if (i == 0)
            setup(bench);
    }
    char file[1024], include[1024];
    snprintf(file, sizeof file, "%s/kernels/%s.cl", source, name);
    snprintf(include, sizeof include, "%s/kernels", source);
    void *handle = open_peer(folder, name, "cl");
    double start = now();
    struct bench_opencl *cl = handle ? bench_opencl_open(file, include, bench) : NULL;
    if (cl) {
        sides[count] = (struct side){.name = "pocl", .cl = cl, .first = now() - start};
        *(void **)&sides[count++].run_opencl = dlsym(handle, "bench_run_opencl");
    }
    sides[count++] = (struct side){.name = "bailey", .run = bench_run_cuda};
    return count;
}

static void keep_wanted(struct bench *bench)
{
    for (unsigned b = 0; b < bench->count; b++) {
        struct bench_buffer *buffer = &bench->buffers[b];
        if (buffer->role == BENCH_OUT || buffer->role == BENCH_IN_OUT)
            buffer->want = copy_of(buffer->data, bytes_of(buffer));
    }
}

int main(int argc, char **argv)
{
    unsigned long runs = argc == 6 ? strtoul(argv[4], NULL, 10) : 0;
    double threads = argc == 6 ? strtod(argv[5], NULL) : 0;
    if (runs < 1 || runs > RUNS || threads < 1) {
        fprintf(stderr, "usage: %s SOURCE FOLDER NAME RUNS THREADS\n", argv[0]);
        return 2;
    }
    static struct bench bench;
    static struct side sides[6];
    bench.allocate = bench_allocate;
    unsigned count = open_sides(sides, &bench, argv[1], argv[2], argv[3]);
    void *p[BENCH_BUFFERS];
    for (unsigned b = 0; b < bench.count; b++) {
        struct bench_buffer *buffer = &bench.buffers[b];
        p[b] = buffer->data;
        if (buffer->role == BENCH_IN_OUT)
            buffer->first = copy_of(buffer->data, bytes_of(buffer));
    }
    for (unsigned i = 0; i < count; i++) {
        sides[i].first += timed(&bench, &sides[i], p);
        if (i == 0)
            keep_wanted(&bench);
        compare(&bench, &sides[i]);
    }
    for (unsigned long run = 0; run < runs; run++)
        for (unsigned i = 0; i < count; i++) {
            struct side *side = &sides[(i + run) % count];
            turn(&bench, side, p, &side->times[run], threads);
            if (run == 0 || run + 1 == runs)
                compare(&bench, side);
        }
    printf("work\t%.9g\t%s\n", bench.work, bench.unit);
    for (unsigned i = 0; i < count; i++) {
        printf("%s\t%s\t%.3f\t%.9g", sides[i].name, sides[i].answer[0] ? sides[i].answer : "ok", sides[i].disturbed / (double)runs,
               sides[i].first);
        for (unsigned long run = 0; run < runs; run++)
            printf("\t%.9g", sides[i].times[run]);
        printf("\n");
    }
    /* OpenCL's threads are not joined at exit. */
    fflush(stdout);
    _Exit(0);
}
