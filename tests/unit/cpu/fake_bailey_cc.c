/* Stands in for bailey-cc in test_cpu_load.c: answers well or badly, as FAKE_MODE says. With FAKE_COUNT, adds a byte to that file
 * for each start and one for each request. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "target/cpu/compile.h"

extern char **environ;

static void count(char what)
{
    const char *path = getenv("FAKE_COUNT");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;

    if (fd >= 0 && write(fd, &what, 1) == 1)
        close(fd);
}

static bool read_exactly(void *to, size_t size)
{
    for (char *at = to; size > 0;) {
        ssize_t got = read(0, at, size);
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static void write_exactly(const void *from, size_t size)
{
    for (const char *at = from; size > 0;) {
        ssize_t put = write(1, at, size);
        if (put <= 0)
            _exit(3);
        at += put;
        size -= (size_t)put;
    }
}

/* What of the program's is left in this process: "clean" when nothing is. */
static void look_around(char *report, size_t size)
{
    sigset_t blocked;

    snprintf(report, size, "clean");
    for (int fd = 3; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            snprintf(report, size, "file %d is open", fd);
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "LD_", 3) == 0 || strncmp(*at, "BAILEY_TEST_FAULT", 17) == 0)
            snprintf(report, size, "%s", *at);
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    if (sigismember(&blocked, SIGUSR1))
        snprintf(report, size, "SIGUSR1 is blocked");
    if (signal(SIGUSR2, SIG_DFL) != SIG_DFL)
        snprintf(report, size, "SIGUSR2 is ignored");
    if (getsid(0) != getpid())
        snprintf(report, size, "no session of its own");
}

static void answer_well(struct bl_arena *arena, const struct bl_cpu_request *request, const char *mode)
{
    struct bl_cpu_answer answer = {.info = {.static_shared = 1024, .registers = 12, .local_bytes = 16}};
    const char *names[2] = {getenv("FAKE_GLOBAL"), NULL};
    struct bl_buffer out = {0};
    char *object = NULL;

    if (names[0]) {
        answer.info.globals = names;
        answer.info.global_count = 1;
    }
    if (strcmp(mode, "ok") == 0 && bl_file_read(getenv("FAKE_OBJECT"), &object, &answer.object_size, NULL) != BL_OK)
        _exit(4);
    answer.object = (const uint8_t *)object;
    if (strcmp(mode, "look") == 0) {
        answer.status = answer.error.status = BL_UNSUPPORTED;
        look_around(answer.error.message, sizeof(answer.error.message));
    } else if (strcmp(mode, "refuse") == 0) {
        answer.status = BL_UNSUPPORTED;
        bl_fail(&answer.error, BL_UNSUPPORTED, "%s: %zu bytes refused", request->kernel, request->ptx.size);
    } else if (strcmp(mode, "rubbish") == 0) {
        answer.object = (const uint8_t *)"this is no object";
        answer.object_size = 17;
    }
    if (bl_cpu_pack_answer(&out, &answer))
        write_exactly(out.data, out.size);
    bl_buffer_cleanup(&out);
    bl_free(object);
    (void)arena;
}

static void serve(const char *mode, struct bl_sv frame)
{
    struct bl_cpu_request request;
    struct bl_arena arena;
    static const char garbage[] = "It was a dark and stormy night; the rain fell in torrents";
    static const char huge[16] = "BLRa\1\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f";
    static const char half[20] = "BLRa\1\0\0\0\x64\0\0\0\0\0\0\0abcd";

    bl_arena_init(&arena);
    if (bl_cpu_unpack_request(&arena, frame, &request) != BL_OK)
        _exit(5);
    if (strcmp(mode, "die") == 0)
        _exit(0);
    if (strcmp(mode, "crash") == 0) {
        fprintf(stderr, "LLVM ERROR: cannot select\n\n");
        fflush(stderr);
        raise(SIGKILL);
    }
    while (strcmp(mode, "hang") == 0)
        pause();
    if (strcmp(mode, "garbage") == 0) {
        write_exactly(garbage, sizeof(garbage));
    } else if (strcmp(mode, "huge") == 0) {
        write_exactly(huge, sizeof(huge));
    } else if (strcmp(mode, "half") == 0) {
        write_exactly(half, sizeof(half));
        _exit(0);
    } else {
        if (getenv("FAKE_DELAY"))
            usleep((useconds_t)atoi(getenv("FAKE_DELAY")));
        answer_well(&arena, &request, mode);
    }
    bl_arena_cleanup(&arena);
}

int main(void)
{
    const char *mode = getenv("FAKE_MODE");
    char header[16];

    count('s');
    while (read_exactly(header, sizeof(header))) {
        uint64_t size;
        char *frame;
        memcpy(&size, header + 8, 8);
        frame = malloc(sizeof(header) + size);
        memcpy(frame, header, sizeof(header));
        if (!read_exactly(frame + sizeof(header), size))
            return 6;
        count('r');
        serve(mode ? mode : "ok", (struct bl_sv){frame, sizeof(header) + size});
        free(frame);
    }
    return 0;
}
