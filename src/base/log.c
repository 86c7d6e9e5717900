/* The log: one write(2) a message, so that lines of several threads and processes stay whole. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int log_level = -1; /* -1: the environment was not read yet */
static int log_fd = 2;

static void log_setup(void)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    const char *wanted = getenv("BAILEY_LOG");
    const char *file = getenv("BAILEY_LOG_FILE");
    int level = BL_LOG_ERROR, why = 0;
    bool known = !wanted || !*wanted;

    for (int i = 0; wanted && i < (int)BL_LEN(names); i++)
        if (strcmp(wanted, names[i]) == 0 || (wanted[0] == '0' + i && !wanted[1])) {
            level = i;
            known = true;
        }
    if (file && *file) {
        int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd >= 0)
            __atomic_store_n(&log_fd, fd, __ATOMIC_RELAXED);
        else
            why = errno;
    }
    __atomic_store_n(&log_level, level, __ATOMIC_RELEASE);
    if (why)
        bl_error_log("BAILEY_LOG_FILE=%s: %s; the log goes to standard error", file, strerror(why));
    if (!known)
        bl_error_log("BAILEY_LOG=%s: expected off, error, warn, info or debug; error is used", wanted);
}

enum bl_log_level bl_log_level(void)
{
    if (__atomic_load_n(&log_level, __ATOMIC_ACQUIRE) < 0)
        log_setup();
    return (enum bl_log_level)__atomic_load_n(&log_level, __ATOMIC_RELAXED);
}

void bl_log_set_level(enum bl_log_level level)
{
    bl_log_level();
    __atomic_store_n(&log_level, (int)level, __ATOMIC_RELEASE);
}

static void (*_Atomic watcher)(enum bl_log_level level, const char *line);

void bl_log_watch(void (*watch)(enum bl_log_level level, const char *line))
{
    watcher = watch;
}

void bl_log(enum bl_log_level level, const char *format, ...)
{
    static const char *const prefix[] = {"", "error: ", "warning: ", "", "debug: "};
    char line[4096];
    va_list args;
    int used, more;
    ssize_t put;

    void (*watch)(enum bl_log_level, const char *) = level <= BL_LOG_WARN ? watcher : NULL;
    bool written = level <= bl_log_level();
    if ((!written && !watch) || level == BL_LOG_OFF)
        return;
    used = snprintf(line, sizeof(line), "bailey: %s", prefix[level]);
    va_start(args, format);
    more = vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
    va_end(args);
    used += BL_MIN(BL_MAX(more, 0), (int)sizeof(line) - used - 2);
    if (watch)
        watch(level, line);
    if (!written)
        return;
    line[used++] = '\n';
    put = write(log_fd, line, (size_t)used);
    (void)put; /* nobody is left to tell */
}
