// A program that behaves badly in the way that its first argument names. Run by the scripts beside it.
#include <cuda.h>
#include <cuda_runtime.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void twice(int *values, int count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        values[i] *= 2;
}

__global__ void spin(volatile int *flag)
{
    while (*flag == 0)
        ;
}

__global__ void endless()
{
    for (;;)
        ;
}

__device__ int deeper(volatile int *values, int depth)
{
    volatile int here[16];
    here[depth & 15] = depth;
    return deeper(values, depth + 1) + here[(depth + 1) & 15] + values[0];
}

__global__ void recurse(int *values)
{
    values[0] = deeper(values, 0);
}

__global__ void large_local(int *values, int n)
{
    volatile char room[200000];
    for (int i = 0; i < n; i++)
        room[i * 7 % sizeof(room)] = (char)i;
    values[0] = room[n % sizeof(room)];
}

__global__ void dynamic(int *values)
{
    extern __shared__ int room[];
    room[threadIdx.x] = (int)threadIdx.x;
    __syncthreads();
    values[0] = room[0];
}

__global__ void say(int n)
{
    for (int i = 0; i < n; i++)
        printf("thread %d says %d of %d\n", (int)(blockIdx.x * blockDim.x + threadIdx.x), i, n);
}

__global__ void take_all(unsigned long long *taken, int give)
{
    void *last = NULL;
    for (;;) {
        void **block = (void **)malloc(65536);
        if (!block)
            break;
        *block = last;
        last = block;
        atomicAdd(taken, 1ull);
    }
    while (give && last) {
        void *next = *(void **)last;
        free(last);
        last = next;
    }
}

#define NEED(condition)                                                                                                            \
    do {                                                                                                                           \
        if (!(condition)) {                                                                                                        \
            fprintf(stderr, "%s:%d: failed: %s (last error %s)\n", __FILE__, __LINE__, #condition,                                 \
                    cudaGetErrorName(cudaGetLastError()));                                                                         \
            exit(1);                                                                                                               \
        }                                                                                                                          \
    } while (0)

static int works(void)
{
    int values[100], *device = NULL;
    cudaError_t error;

    for (int i = 0; i < 100; i++)
        values[i] = i;
    error = cudaMalloc(&device, sizeof(values));
    if (!error)
        error = cudaMemcpy(device, values, sizeof(values), cudaMemcpyHostToDevice);
    if (!error) {
        twice<<<1, 128>>>(device, 100);
        error = cudaGetLastError();
    }
    if (!error)
        error = cudaMemcpy(values, device, sizeof(values), cudaMemcpyDeviceToHost);
    if (error) {
        fprintf(stderr, "works: %s\n", cudaGetErrorName(error));
        cudaFree(device);
        cudaGetLastError();
        return 0;
    }
    for (int i = 0; i < 100; i++)
        if (values[i] != 2 * i) {
            fprintf(stderr, "wrong: %d at %d\n", values[i], i);
            exit(3);
        }
    return cudaFree(device) == cudaSuccess;
}

static long resident_kb(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- modes ------------------------------------------------------------------------------------ */

static int plain(void)
{
    return works() ? 0 : 2;
}

/* What may fail must fail with an error; three tries, because an injected fault comes once. */
static int tries(void)
{
    for (int i = 0; i < 3; i++)
        if (works())
            return 0;
    return 2;
}

static int spin_forever(void)
{
    int *flag;
    NEED(cudaMalloc(&flag, 4) == cudaSuccess && cudaMemset(flag, 0, 4) == cudaSuccess);
    spin<<<4, 64>>>(flag);
    puts("spinning");
    fflush(stdout);
    cudaDeviceSynchronize();
    return 0;
}

static int loop_forever(void)
{
    endless<<<4, 64>>>();
    puts("spinning");
    fflush(stdout);
    cudaDeviceSynchronize();
    return 0;
}

static int exit_while_running(void)
{
    int *flag;
    NEED(cudaMalloc(&flag, 4) == cudaSuccess && cudaMemset(flag, 0, 4) == cudaSuccess);
    spin<<<4, 64>>>(flag);
    usleep(20000);
    exit(5);
}

static cudaError_t told;

static void CUDART_CB wait_inside(void *data)
{
    (void)data;
    told = cudaDeviceSynchronize();
    cudaGetLastError();
}

/* A host function must not wait for the stream that it is in. */
static int wait_in_host_function(void)
{
    NEED(cudaLaunchHostFunc(0, wait_inside, NULL) == cudaSuccess);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    NEED(told == cudaErrorNotPermitted);
    return works() ? 0 : 2;
}

static void CUDART_CB leave(void *data)
{
    (void)data;
    exit(6);
}

static int exit_from_host_function(void)
{
    NEED(cudaLaunchHostFunc(0, leave, NULL) == cudaSuccess);
    cudaDeviceSynchronize();
    sleep(5);
    return 1;
}

static int fork_before(void)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(works() ? 0 : 1);
    NEED(works());
    NEED(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

static int fork_after(void)
{
    int status;
    pid_t child;

    NEED(works());
    child = fork();
    if (child == 0) {
        alarm(8);
        works(); /* CUDA: an error or nothing defined, but never a hang */
        exit(0);
    }
    NEED(works());
    NEED(waitpid(child, &status, 0) == child);
    NEED(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}

static int no_children(void)
{
    NEED(works());
    NEED(wait(NULL) == -1);
    return 0;
}

static int ignore_children(void)
{
    signal(SIGCHLD, SIG_IGN);
    NEED(works());
    return 0;
}

static volatile sig_atomic_t segv_seen;
static void on_segv(int signal)
{
    (void)signal;
    segv_seen = 1;
    _exit(7);
}

static int own_handler(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_segv;
    sigaction(SIGSEGV, &action, NULL);
    NEED(works());
    twice<<<1, 32>>>((int *)16, 32);
    NEED(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
    sigaction(SIGSEGV, &action, NULL);
    *(volatile int *)8 = 1;
    return 1;
}

static void *work_in_thread(void *data)
{
    (void)data;
    return works() ? NULL : (void *)1;
}

static int tiny_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *result;
    pthread_attr_init(&attributes);
    NEED(pthread_attr_setstacksize(&attributes, 32768) == 0);
    NEED(pthread_create(&thread, &attributes, work_in_thread, NULL) == 0);
    NEED(pthread_join(thread, &result) == 0 && !result);
    return 0;
}

static void *leave_streams(void *data)
{
    cudaStream_t stream;
    int *values = (int *)data;
    NEED(cudaStreamCreate(&stream) == cudaSuccess);
    twice<<<1, 32, 0, stream>>>(values, 32);
    twice<<<1, 32, 0, cudaStreamPerThread>>>(values, 32);
    return NULL;
}

static int threads_end(void)
{
    int *values;
    NEED(cudaMalloc(&values, 4096) == cudaSuccess);
    for (int i = 0; i < 50; i++) {
        pthread_t threads[4];
        for (int k = 0; k < 4; k++)
            NEED(pthread_create(&threads[k], NULL, leave_streams, values) == 0);
        for (int k = 0; k < 4; k++)
            pthread_join(threads[k], NULL);
    }
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    return works() ? 0 : 2;
}

static void *launch_many(void *data)
{
    for (int i = 0; i < 2000; i++)
        twice<<<1, 32>>>((int *)data, 32);
    NEED(cudaGetLastError() == cudaSuccess);
    return NULL;
}

static int storm(void)
{
    int *values;
    pthread_t threads[16];
    NEED(cudaMalloc(&values, 4096) == cudaSuccess);
    for (int k = 0; k < 16; k++)
        NEED(pthread_create(&threads[k], NULL, launch_many, values) == 0);
    for (int k = 0; k < 16; k++)
        pthread_join(threads[k], NULL);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    return works() ? 0 : 2;
}

static int many_streams(void)
{
    enum { COUNT = 100000 };
    static cudaStream_t streams[COUNT];
    static cudaEvent_t events[COUNT];
    int made = 0;
    NEED(cudaFree(0) == cudaSuccess);
    for (int round = 0; round < 2; round++) {
        for (made = 0; made < COUNT; made++) {
            NEED(cudaStreamCreate(&streams[made]) == cudaSuccess);
            NEED(cudaEventCreate(&events[made]) == cudaSuccess);
        }
        NEED(cudaEventRecord(events[77777], streams[77777]) == cudaSuccess);
        NEED(cudaStreamWaitEvent(streams[5], events[77777], 0) == cudaSuccess);
        NEED(cudaDeviceSynchronize() == cudaSuccess);
        printf("%ld KB with all, ", resident_kb());
        for (int i = 0; i < made; i++)
            NEED(cudaStreamDestroy(streams[i]) == cudaSuccess && cudaEventDestroy(events[i]) == cudaSuccess);
        printf("%ld KB after\n", resident_kb());
    }
    return works() ? 0 : 2;
}

static int take_memory(void)
{
    void *blocks[100000];
    int count = 0;
    cudaError_t error;
    for (size_t size = (size_t)1 << 34; size >= 4096; size /= 2)
        while ((error = cudaMalloc(&blocks[count], size)) == cudaSuccess && count < 99999)
            count++;
    NEED(error == cudaErrorMemoryAllocation);
    NEED(cudaGetLastError() == cudaErrorMemoryAllocation);
    printf("%d blocks\n", count);
    while (count > 0)
        NEED(cudaFree(blocks[--count]) == cudaSuccess);
    return works() ? 0 : 2;
}

static int touch_memory(void)
{
    static void *blocks[100000];
    int count = 0;
    size_t size = (size_t)1 << 28, all = 0;
    while (cudaMalloc(&blocks[count], size) == cudaSuccess && count < 9999) {
        NEED(cudaMemset(blocks[count], 1, size) == cudaSuccess);
        all += size;
        count++;
    }
    printf("%zu MB\n", all >> 20);
    while (count > 0)
        NEED(cudaFree(blocks[--count]) == cudaSuccess);
    return works() ? 0 : 2;
}

static int exhaust_heap(void)
{
    unsigned long long *taken, count, before = 0;
    NEED(cudaMalloc(&taken, 8) == cudaSuccess);
    for (int round = 0; round < 3; round++) {
        NEED(cudaMemset(taken, 0, 8) == cudaSuccess);
        take_all<<<2, 64>>>(taken, 1);
        NEED(cudaMemcpy(&count, taken, 8, cudaMemcpyDeviceToHost) == cudaSuccess);
        printf("%llu blocks\n", count);
        NEED(count > 50);
        NEED(round == 0 || count * 2 > before);
        before = count;
    }
    take_all<<<2, 64>>>(taken, 0);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    return works() ? 0 : 2;
}

static int print_storm(void)
{
    say<<<100, 256>>>(20);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    return works() ? 0 : 2;
}

static int launch_limits(void)
{
    int *values;
    NEED(cudaMalloc(&values, 4096) == cudaSuccess);
    twice<<<0, 32>>>(values, 32);
    NEED(cudaGetLastError() != cudaSuccess);
    twice<<<1, 0>>>(values, 32);
    NEED(cudaGetLastError() != cudaSuccess);
    twice<<<1, 1025>>>(values, 32);
    NEED(cudaGetLastError() != cudaSuccess);
    twice<<<dim3(1, 65536), 1>>>(values, 32);
    NEED(cudaGetLastError() != cudaSuccess);
    twice<<<1, dim3(1, 1, 65)>>>(values, 32);
    NEED(cudaGetLastError() != cudaSuccess);
    dynamic<<<1, 32, 1 << 30>>>(values);
    NEED(cudaGetLastError() != cudaSuccess);
    dynamic<<<1, 32, 100 * 1024>>>(values);
    NEED(cudaGetLastError() != cudaSuccess);
    NEED(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024) == cudaSuccess);
    dynamic<<<1, 32, 100 * 1024>>>(values);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    large_local<<<2, 256>>>(values, 1000);
    NEED(cudaDeviceSynchronize() == cudaSuccess);
    NEED(works());
    recurse<<<2, 64>>>(values);
    cudaError_t error = cudaDeviceSynchronize();
    printf("recursion: %s\n", cudaGetErrorName(error));
    NEED(error != cudaSuccess);
    NEED(cudaMalloc(&values, 4096) != cudaSuccess); /* sticky */
    NEED(cudaDeviceReset() == cudaSuccess);
    return works() ? 0 : 2;
}

static int small_space(void)
{
    struct rlimit limit = {512 << 20, 512 << 20};
    setrlimit(RLIMIT_AS, &limit);
    return works() ? 0 : 2;
}

static int bad_pointers(void)
{
    int *values, local[4];
    cudaStream_t stream;
    cudaEvent_t event;
    NEED(cudaMalloc(&values, 4096) == cudaSuccess);
    NEED(cudaFree(values + 1) == cudaErrorInvalidValue);
    NEED(cudaFree((void *)0x1234567) == cudaErrorInvalidValue);
    NEED(cudaFree(local) == cudaErrorInvalidValue);
    NEED(cudaFree(values) == cudaSuccess);
    NEED(cudaFree(values) == cudaErrorInvalidValue);
    NEED(cudaFreeHost(local) == cudaErrorInvalidValue);
    NEED(cudaMemcpy(NULL, local, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    NEED(cudaMemcpy(values, NULL, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    NEED(cudaMemset(NULL, 0, 4) == cudaErrorInvalidValue);
    NEED(cudaMalloc(NULL, 4) == cudaErrorInvalidValue);
    NEED(cudaStreamCreate(NULL) == cudaErrorInvalidValue);
    NEED(cudaEventCreate(NULL) == cudaErrorInvalidValue);
    NEED(cudaStreamCreate(&stream) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
    NEED(cudaEventCreate(&event) == cudaSuccess && cudaEventDestroy(event) == cudaSuccess);
    cudaGetLastError();
    NEED(cudaStreamSynchronize((cudaStream_t)0x4242) != cudaSuccess);
    NEED(cudaStreamSynchronize(stream) != cudaSuccess);
    NEED(cudaStreamDestroy(stream) != cudaSuccess);
    NEED(cudaEventRecord(event, 0) != cudaSuccess);
    NEED(cudaEventDestroy(event) != cudaSuccess);
    NEED(cudaEventQuery((cudaEvent_t)local) != cudaSuccess);
    NEED(cudaStreamQuery((cudaStream_t)event) != cudaSuccess);
    NEED(cudaGetLastError() != cudaSuccess);
    NEED(cudaMemcpy(values, local, 1ull << 60, cudaMemcpyHostToDevice) != cudaSuccess);
    cudaGetLastError();
    return works() ? 0 : 2;
}

static const struct {
    const char *name;
    int (*run)(void);
} modes[] = {
    {"plain", plain},
    {"tries", tries},
    {"spin", spin_forever},
    {"endless", loop_forever},
    {"exit-running", exit_while_running},
    {"exit-host", exit_from_host_function},
    {"wait-host", wait_in_host_function},
    {"fork-before", fork_before},
    {"fork-after", fork_after},
    {"no-children", no_children},
    {"ignore-children", ignore_children},
    {"own-handler", own_handler},
    {"tiny-stack", tiny_stack},
    {"threads-end", threads_end},
    {"storm", storm},
    {"streams", many_streams},
    {"memory", take_memory},
    {"touch", touch_memory},
    {"heap", exhaust_heap},
    {"print", print_storm},
    {"limits", launch_limits},
    {"small-space", small_space},
    {"pointers", bad_pointers},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run();
    fprintf(stderr, "usage: hostile MODE\n");
    return 64;
}
