/* The program's side of bailey-cc: starts helper processes, asks them, and gets rid of those that fail. Called by module.c, from
 * any thread.
 *
 * A helper must not be noticed by the program. It is started through a process in between that ends at once, so that it is no
 * child of the program's: wait() never sees it and no SIGCHLD comes. It has its own session, an environment without the
 * loader's variables, and no file of the program's but the socket that is its standard input and output; what it writes to
 * standard error goes to a file in memory and is quoted when it dies. It ends when the socket closes, so with the program.
 */
#include "target/cpu/load.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    HELPERS_MAX = 64,
    USUAL_TIMEOUT = 120, /* seconds for one compile; BAILEY_COMPILE_TIMEOUT */
    SPAWN_STACK = 256 << 10,
    HEADER_SIZE = 16,       /* of a frame, see compile.h */
    ANSWER_MAX = 256 << 20, /* bytes; no kernel's code is that large */
    LAST_WORDS = 400,       /* bytes of standard error to quote */
};

struct helper {
    int socket, words; /* words: its standard error */
    dev_t device;      /* of the socket: the program may close our file and open one of its own with the number */
    ino_t inode;
    pid_t pid;
    bool busy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static struct helper helpers[HELPERS_MAX];
static int helper_count;

/* ---- which program ---------------------------------------------------------------------------- */

/* libexec/bailey/bailey-cc beside the lib/bailey that this library stands in. */
static bool installed_path(char *path, size_t size)
{
    char own[PATH_MAX];
    Dl_info info;
    int written;

    if (!dladdr((void *)(uintptr_t)bl_cpu_client_path, &info) || !info.dli_fname || !realpath(info.dli_fname, own))
        return false;
    for (int up = 0; up < 3; up++) { /* the file, bailey, lib */
        char *slash = strrchr(own, '/');
        if (!slash)
            return false;
        *slash = 0;
    }
    written = snprintf(path, size, "%s/libexec/bailey/bailey-cc", own);
    return written > 0 && (size_t)written < size;
}

/* BAILEY_CC, else the installed one. */
bool bl_cpu_client_path(char *path, size_t size)
{
    const char *wanted = getenv("BAILEY_CC");
    int written;

    if (!wanted || !*wanted)
        return installed_path(path, size);
    written = snprintf(path, size, "%s", wanted);
    return written > 0 && (size_t)written < size;
}

bool bl_cpu_client_stat(struct stat *info)
{
    char path[PATH_MAX];

    if (bl_cpu_client_path(path, sizeof(path)) && stat(path, info) == 0)
        return true;
    return installed_path(path, sizeof(path)) && stat(path, info) == 0;
}

static int most_helpers(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return (int)BL_MIN(BL_MAX(processors, 2l), (long)HELPERS_MAX);
}

static int timeout_seconds(void)
{
    const char *text = getenv("BAILEY_COMPILE_TIMEOUT");
    char *end;
    long seconds = text ? strtol(text, &end, 10) : USUAL_TIMEOUT;

    if (text && (end == text || *end || seconds < 1 || seconds > 1000000)) {
        bl_error_log("BAILEY_COMPILE_TIMEOUT=%s: expected a number of seconds; %d is used", text, USUAL_TIMEOUT);
        return USUAL_TIMEOUT;
    }
    return (int)seconds;
}

/* ---- starting --------------------------------------------------------------------------------- */

/* The program's environment without what its loader was told, and without orders to fail. The list is on the heap, the texts are
 * the program's. */
static char **clean_environment(void)
{
    size_t count = 0, kept = 0;
    char **list;

    while (environ && environ[count])
        count++;
    list = bl_calloc(count + 1, sizeof(*list));
    for (size_t i = 0; list && i < count; i++)
        if (strncmp(environ[i], "LD_", 3) != 0 && strncmp(environ[i], "BAILEY_TEST_FAULT=", 18) != 0)
            list[kept++] = environ[i];
    return list;
}

/* Between the program and the process in between, which share their memory. */
struct launch {
    const char *path;
    char **environment;
    int socket, words; /* what the helper gets */
    pid_t pid;
    int failure; /* errno, 0 none */
};

static int prepare_files(posix_spawn_file_actions_t *actions, const struct launch *launch)
{
    int failure = posix_spawn_file_actions_adddup2(actions, launch->socket, 0);

    if (!failure)
        failure = posix_spawn_file_actions_adddup2(actions, launch->socket, 1);
    if (!failure)
        failure = posix_spawn_file_actions_adddup2(actions, launch->words, 2);
    if (!failure)
        failure = posix_spawn_file_actions_addclosefrom_np(actions, 3);
    if (!failure)
        failure = posix_spawn_file_actions_addchdir_np(actions, "/");
    return failure;
}

static int prepare_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    int failure;

    sigemptyset(&none);
    sigfillset(&all);
    failure = posix_spawnattr_setsigmask(attributes, &none);
    if (!failure)
        failure = posix_spawnattr_setsigdefault(attributes, &all);
    if (!failure)
        failure = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return failure;
}

/* In the process in between. It shares the memory of the program, whose calling thread waits: so no lock is taken here that the
 * program's other threads might hold, beyond those of posix_spawn itself, and nothing is left allocated. */
static int spawn_in_between(void *data)
{
    struct launch *launch = data;
    char *arguments[] = {(char *)(uintptr_t) "bailey-cc", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    launch->failure = posix_spawn_file_actions_init(&actions);
    if (launch->failure)
        return 1;
    launch->failure = posix_spawnattr_init(&attributes);
    if (!launch->failure) {
        launch->failure = prepare_files(&actions, launch);
        if (!launch->failure)
            launch->failure = prepare_attributes(&attributes);
        if (!launch->failure)
            launch->failure = posix_spawn(&launch->pid, launch->path, &actions, &attributes, arguments, launch->environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return launch->failure != 0;
}

/* The process in between has no exit signal, so that the program's wait() does not see it (it would after an exec, which resets
 * the signal: hence two processes). Signals stay blocked while two processes share a memory. */
static int spawn_detached(struct launch *launch)
{
    char *stack = mmap(NULL, SPAWN_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    sigset_t all, before;
    int failure = 0;
    pid_t between;

    if (stack == MAP_FAILED)
        return errno;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    between = clone(spawn_in_between, stack + SPAWN_STACK, CLONE_VM | CLONE_VFORK, launch);
    if (between < 0)
        failure = errno;
    else
        while (waitpid(between, NULL, __WCLONE) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    munmap(stack, SPAWN_STACK);
    return failure ? failure : launch->failure;
}

/* Moves a file out of the way of the three standard ones, which the program may have closed. */
static int above_standard(int fd)
{
    int moved;

    if (fd < 0 || fd > 2)
        return fd;
    moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return moved;
}

static int words_file(void)
{
    int fd = memfd_create("bailey-cc", MFD_CLOEXEC);

    return above_standard(fd >= 0 ? fd : open("/dev/null", O_RDWR | O_CLOEXEC));
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

static enum bl_status start_with(struct helper *helper, int ours, struct launch *launch, struct bl_error *error)
{
    struct stat info;

    launch->environment = clean_environment();
    launch->failure = launch->environment ? 0 : ENOMEM;
    if (ours < 0 || launch->socket < 0 || launch->words < 0 || fstat(ours, &info) != 0)
        launch->failure = errno;
    else if (bl_fault_due("spawn"))
        launch->failure = EAGAIN;
    else if (!launch->failure)
        launch->failure = spawn_detached(launch);
    bl_free(launch->environment);
    if (launch->failure)
        return bl_fail(error, BL_COMPILER, "%s: the kernel compiler can't be started: %s", launch->path, strerror(launch->failure));
    *helper = (struct helper){ours, launch->words, info.st_dev, info.st_ino, launch->pid, true};
    bl_debug("%s: started as process %d", launch->path, (int)launch->pid);
    return BL_OK;
}

static enum bl_status start(struct helper *helper, struct bl_error *error)
{
    char path[PATH_MAX], whole[PATH_MAX];
    struct launch launch = {.path = whole};
    int ends[2] = {-1, -1};
    enum bl_status status;

    if (!bl_cpu_client_path(path, sizeof(path)))
        return bl_fail(error, BL_COMPILER, "the kernel compiler bailey-cc is nowhere: set BAILEY_CC to its path");
    if (!realpath(path, whole))
        return bl_fail(error, BL_COMPILER, "%s: the kernel compiler can't be started: %s", path, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        ends[0] = above_standard(ends[0]);
        ends[1] = above_standard(ends[1]);
    }
    launch.socket = ends[1];
    launch.words = words_file();
    status = start_with(helper, ends[0], &launch, error);
    close_if_open(ends[1]);
    if (status != BL_OK) {
        close_if_open(ends[0]);
        close_if_open(launch.words);
    }
    return status;
}

/* ---- the pool --------------------------------------------------------------------------------- */

/* Whether the file is still our socket. */
static bool is_ours(const struct helper *helper)
{
    struct stat info;

    return fstat(helper->socket, &info) == 0 && info.st_dev == helper->device && info.st_ino == helper->inode;
}

/* Whether an idle helper is as it was left: it says nothing unasked. */
static bool is_alive(const struct helper *helper)
{
    struct pollfd poll_socket = {.fd = helper->socket, .events = POLLIN};

    return is_ours(helper) && poll(&poll_socket, 1, 0) == 0;
}

/* Takes a helper out of the list; the lock is held. */
static void forget(struct helper *helper)
{
    if (is_ours(helper)) {
        close(helper->socket);
        close(helper->words);
    }
    *helper = helpers[--helper_count];
}

/* In a child of the program's fork: the helpers are the parent's. */
static void forget_all(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&freed, NULL);
    while (helper_count > 0)
        forget(&helpers[0]);
}

static void watch_fork(void)
{
    pthread_atfork(NULL, NULL, forget_all);
}

/* An idle helper, alive, or NULL. The lock is held. */
static struct helper *idle_helper(void)
{
    for (int i = 0; i < helper_count; i++) {
        if (helpers[i].busy)
            continue;
        if (is_alive(&helpers[i]))
            return &helpers[i];
        forget(&helpers[i--]);
    }
    return NULL;
}

/* A copy of a helper, which is marked busy: the list moves while it works. */
static enum bl_status acquire(struct helper *mine, struct bl_error *error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    enum bl_status status = BL_OK;
    struct helper *found;

    pthread_once(&once, watch_fork);
    pthread_mutex_lock(&lock);
    while (!(found = idle_helper()) && helper_count >= most_helpers())
        pthread_cond_wait(&freed, &lock);
    if (!found) {
        status = start(&helpers[helper_count], error);
        if (status == BL_OK)
            found = &helpers[helper_count++];
    }
    if (found) {
        found->busy = true;
        *mine = *found;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static void release(const struct helper *mine, bool good)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < helper_count; i++) {
        if (helpers[i].inode != mine->inode || helpers[i].device != mine->device)
            continue;
        helpers[i].busy = false;
        if (!good)
            forget(&helpers[i]);
        break;
    }
    pthread_cond_signal(&freed);
    pthread_mutex_unlock(&lock);
}

/* ---- asking ----------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Waits until the socket can be read or written. BL_TIMEOUT, or BL_IO. */
static enum bl_status wait_for(const struct helper *helper, short events, int64_t deadline)
{
    struct pollfd poll_socket = {.fd = helper->socket, .events = events};

    for (;;) {
        int64_t left = deadline - now_ms();
        int ready = left <= 0 ? 0 : poll(&poll_socket, 1, (int)BL_MIN(left, (int64_t)INT_MAX));
        if (ready > 0)
            return BL_OK;
        if (ready == 0 && left <= 0)
            return BL_TIMEOUT;
        if (ready < 0 && errno != EINTR)
            return BL_IO;
    }
}

static enum bl_status send_all(const struct helper *helper, const char *bytes, size_t size, int64_t deadline)
{
    while (size > 0) {
        ssize_t put = send(helper->socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (put > 0) {
            bytes += put;
            size -= (size_t)put;
        } else if (put < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            enum bl_status status = wait_for(helper, POLLOUT, deadline);
            if (status != BL_OK)
                return status;
        } else if (put == 0 || errno != EINTR) {
            return BL_IO;
        }
    }
    return BL_OK;
}

static enum bl_status receive_all(const struct helper *helper, char *bytes, size_t size, int64_t deadline)
{
    while (size > 0) {
        enum bl_status status = wait_for(helper, POLLIN, deadline);
        ssize_t got;
        if (status != BL_OK)
            return status;
        got = bl_fault_due("read") ? (errno = EIO, -1) : recv(helper->socket, bytes, size, MSG_DONTWAIT);
        if (got == 0)
            return BL_IO;
        if (got < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
            return BL_IO;
        if (got > 0) {
            bytes += got;
            size -= (size_t)got;
        }
    }
    return BL_OK;
}

/* One frame, header included. BL_SYNTAX: its size is nonsense. */
static enum bl_status receive_frame(const struct helper *helper, char **bytes, size_t *size, int64_t deadline)
{
    char header[HEADER_SIZE], *frame;
    enum bl_status status = receive_all(helper, header, HEADER_SIZE, deadline);
    uint64_t rest;

    if (status != BL_OK)
        return status;
    memcpy(&rest, header + 8, 8);
    if (rest > ANSWER_MAX)
        return BL_SYNTAX;
    frame = bl_malloc(HEADER_SIZE + (size_t)rest);
    if (!frame)
        return BL_NO_MEMORY;
    memcpy(frame, header, HEADER_SIZE);
    status = receive_all(helper, frame + HEADER_SIZE, (size_t)rest, deadline);
    if (status != BL_OK) {
        bl_free(frame);
        return status;
    }
    *bytes = frame;
    *size = HEADER_SIZE + (size_t)rest;
    return BL_OK;
}

/* The end of what the helper wrote to standard error, on one line. */
static void last_words(const struct helper *helper, char *words)
{
    off_t end = lseek(helper->words, 0, SEEK_END);
    ssize_t got = end > 0 ? pread(helper->words, words, LAST_WORDS - 1, BL_MAX(end - (LAST_WORDS - 1), (off_t)0)) : 0;

    got = BL_MAX(got, (ssize_t)0);
    while (got > 0 && words[got - 1] == '\n')
        got--;
    words[got] = 0;
    for (char *at = words; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
}

static enum bl_status explain(const struct helper *helper, const char *kernel, enum bl_status status, struct bl_error *error)
{
    char words[LAST_WORDS];

    if (status == BL_NO_MEMORY)
        return bl_fail(error, BL_NO_MEMORY, "%s: out of memory for its machine code", kernel);
    if (status == BL_TIMEOUT) {
        kill(helper->pid, SIGKILL); /* it still holds its end of the socket, so the number is still its own */
        return bl_fail(error, BL_COMPILER,
                       "%s: the kernel compiler did not answer in %d seconds (BAILEY_COMPILE_TIMEOUT) and was ended", kernel,
                       timeout_seconds());
    }
    last_words(helper, words);
    return bl_fail(error, BL_COMPILER, "%s: the kernel compiler %s%s%s", kernel,
                   status == BL_SYNTAX ? "answered nonsense" : "ended before it answered", *words ? ": " : "", words);
}

/* Whether the frame is an answer; what it says is not looked at. */
static enum bl_status check_answer(const char *bytes, size_t size)
{
    struct bl_cpu_answer answer;
    struct bl_arena arena;
    enum bl_status status;

    bl_arena_init(&arena);
    status = bl_cpu_unpack_answer(&arena, (struct bl_sv){bytes, size}, &answer);
    bl_arena_cleanup(&arena);
    return status;
}

static enum bl_status ask(const struct bl_buffer *question, const char *kernel, char **bytes, size_t *size, struct bl_error *error)
{
    struct helper helper;
    enum bl_status status = acquire(&helper, error);
    int64_t deadline = now_ms() + (int64_t)timeout_seconds() * 1000;

    if (status != BL_OK)
        return status;
    status = send_all(&helper, question->data, question->size, deadline);
    if (status == BL_OK)
        status = receive_frame(&helper, bytes, size, deadline);
    if (status == BL_OK && (status = check_answer(*bytes, *size)) != BL_OK) {
        bl_free(*bytes);
        *bytes = NULL;
    }
    if (status != BL_OK)
        explain(&helper, kernel, status, error);
    release(&helper, status == BL_OK);
    return status == BL_OK || status == BL_NO_MEMORY ? status : BL_COMPILER;
}

enum bl_status bl_cpu_client_compile(const struct bl_cpu_request *request, char **bytes, size_t *size, struct bl_error *error)
{
    struct bl_buffer question = {0};
    enum bl_status status;

    if (bl_cpu_pack_request(&question, request))
        status = ask(&question, request->kernel, bytes, size, error);
    else
        status = bl_fail(error, BL_NO_MEMORY, "%s: out of memory for the compiler's request", request->kernel);
    bl_buffer_cleanup(&question);
    return status;
}

void bl_cpu_client_stop(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < helper_count; i++)
        if (!helpers[i].busy)
            forget(&helpers[i--]);
    pthread_mutex_unlock(&lock);
}
