/* For tools: the log of errors, attributes of core dumps, the state of processes. What is answered follows an H200
 * (tests/api/calls_memory.cu). */
#include "cuda/driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the log ---------------------------------------------------------------------------------------- */

enum { LINES = 100, LINE_SIZE = 512, CALLBACKS = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char text[LINE_SIZE];
} lines[LINES];
static unsigned next_line; /* counts all that were ever written; the last LINES of them are there */
static struct callback {
    CUlogsCallback function; /* NULL: a free place */
    void *data;
} callbacks[CALLBACKS];

/* base/log.c calls it for each line of error or warning; also when the level keeps it from being written. */
static void keep_line(enum bl_log_level level, const char *text)
{
    struct callback now[CALLBACKS];
    char copy[LINE_SIZE];
    snprintf(copy, sizeof(copy), "%s", text);
    pthread_mutex_lock(&lock);
    memcpy(lines[next_line++ % LINES].text, copy, sizeof(copy));
    memcpy(now, callbacks, sizeof(now));
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < CALLBACKS; i++)
        if (now[i].function)
            now[i].function(now[i].data, level == BL_LOG_ERROR ? CU_LOG_LEVEL_ERROR : CU_LOG_LEVEL_WARNING, copy, strlen(copy) + 1);
}

__attribute__((constructor)) static void watch_log(void)
{
    bl_log_watch(keep_line);
}

CUresult bl_cuLogsRegisterCallback(CUlogsCallback callback_func, void *data, CUlogsCallbackHandle *callback_out)
{
    if (!callback_func)
        return CUDA_ERROR_INVALID_VALUE;
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < CALLBACKS && callbacks[i].function)
        i++;
    if (i < CALLBACKS)
        callbacks[i] = (struct callback){callback_func, data};
    pthread_mutex_unlock(&lock);
    if (i == CALLBACKS)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (callback_out)
        *callback_out = (CUlogsCallbackHandle)(uintptr_t)&callbacks[i];
    return CUDA_SUCCESS;
}

CUresult bl_cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < CALLBACKS; i++)
        if ((void *)callback == &callbacks[i] && callbacks[i].function) {
            callbacks[i].function = NULL;
            result = CUDA_SUCCESS;
        }
    pthread_mutex_unlock(&lock);
    return result;
}

CUresult bl_cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
    if (!iterator_out)
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    *iterator_out = next_line;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* The lines from *iterator on (NULL: all that are kept), and *iterator behind them. */
static bool gather(CUlogIterator *iterator, struct bl_buffer *text)
{
    pthread_mutex_lock(&lock);
    unsigned first = iterator ? *iterator : 0, kept = BL_MIN(next_line, (unsigned)LINES);
    if (next_line - first > kept)
        first = next_line - kept;
    for (unsigned i = first; i != next_line; i++)
        bl_buffer_printf(text, "%s\n", lines[i % LINES].text);
    if (iterator)
        *iterator = next_line;
    pthread_mutex_unlock(&lock);
    return !text->failed;
}

CUresult bl_cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
    struct bl_buffer text = {0};
    if (!buffer || !size || !*size)
        return CUDA_ERROR_INVALID_VALUE;
    bool whole = gather(iterator, &text);
    /* Too long: its end, which is the newest. */
    size_t used = whole ? BL_MIN(text.size, *size - 1) : 0;
    if (used)
        memcpy(buffer, (const char *)text.data + (text.size - used), used);
    buffer[used] = 0;
    *size = used;
    bl_buffer_cleanup(&text);
    return whole ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult bl_cuLogsDumpToFile(CUlogIterator *iterator, const char *path_to_file, unsigned int flags)
{
    struct bl_buffer text = {0};
    FILE *file = path_to_file ? fopen(path_to_file, "ae") : NULL;
    if (!file)
        return CUDA_ERROR_INVALID_VALUE;
    bool whole = gather(iterator, &text) && fwrite(text.data, 1, text.size, file) == text.size;
    whole &= fclose(file) == 0;
    bl_buffer_cleanup(&text);
    return whole ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* ---- core dumps ------------------------------------------------------------------------------------- */

/* The settings that a program may read and set. No core dump of a kernel is written, so asking for one is refused. */
static struct {
    bool on_exception, trigger_host, lightweight, user_trigger;
    int flags;
    char file[1024], pipe[1024];
} dumps = {.trigger_host = true, .file = "core_%t_%h_%p.nvcudmp", .pipe = "corepipe.cuda.%h.%p"};

static bool *dump_switch(CUcoredumpSettings attribute)
{
    switch ((int)attribute) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
        return &dumps.on_exception;
    case CU_COREDUMP_TRIGGER_HOST:
        return &dumps.trigger_host;
    case CU_COREDUMP_LIGHTWEIGHT:
        return &dumps.lightweight;
    case CU_COREDUMP_ENABLE_USER_TRIGGER:
        return &dumps.user_trigger;
    default:
        return NULL;
    }
}

static char *dump_name(CUcoredumpSettings attribute)
{
    return attribute == CU_COREDUMP_FILE ? dumps.file : attribute == CU_COREDUMP_PIPE ? dumps.pipe : NULL;
}

/* %p, %h and %t in a name: process, host, time. */
static void expand(const char *name, char *to, size_t size)
{
    size_t used = 0;
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    while (*name && used + 1 < size) {
        int more = 1;
        if (name[0] == '%' && name[1] == 'p')
            more = snprintf(to + used, size - used, "%d", getpid());
        else if (name[0] == '%' && name[1] == 'h')
            more = snprintf(to + used, size - used, "%s", host);
        else if (name[0] == '%' && name[1] == 't')
            more = snprintf(to + used, size - used, "%lld", (long long)time(NULL));
        else
            to[used] = *name;
        name += name[0] == '%' && name[1] && strchr("pht", name[1]) ? 2 : 1;
        used = BL_MIN(used + (size_t)BL_MAX(more, 0), size - 1);
    }
    to[used] = 0;
}

CUresult bl_cuCoredumpGetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
    char text[2048];
    const void *from = dump_switch(attrib);
    size_t needed = sizeof(bool);
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    if (attrib == CU_COREDUMP_GENERATION_FLAGS) {
        from = &dumps.flags;
        needed = sizeof(dumps.flags);
    } else if (dump_name(attrib)) {
        pthread_mutex_lock(&lock);
        expand(dump_name(attrib), text, sizeof(text));
        pthread_mutex_unlock(&lock);
        from = text;
        needed = strlen(text) + 1;
    }
    if (!from || (value && *size < needed))
        return CUDA_ERROR_INVALID_VALUE;
    if (value)
        memcpy(value, from, needed);
    *size = needed;
    return CUDA_SUCCESS;
}

CUresult bl_cuCoredumpGetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    return result == CUDA_SUCCESS ? bl_cuCoredumpGetAttributeGlobal(attrib, value, size) : result;
}

static CUresult set_switch(CUcoredumpSettings attribute, bool *to, const void *value)
{
    if (value && *(const bool *)value && attribute != CU_COREDUMP_TRIGGER_HOST && attribute != CU_COREDUMP_LIGHTWEIGHT)
        return CUDA_ERROR_NOT_SUPPORTED; /* nothing would be written */
    if (value)
        *to = *(const bool *)value;
    return CUDA_SUCCESS;
}

CUresult bl_cuCoredumpSetAttributeGlobal(CUcoredumpSettings attrib, void *value, size_t *size)
{
    bool *to = dump_switch(attrib);
    char *name = dump_name(attrib);
    if (!size)
        return CUDA_ERROR_INVALID_VALUE;
    if (to)
        return set_switch(attrib, to, value);
    if (attrib == CU_COREDUMP_GENERATION_FLAGS && value && *size >= sizeof(dumps.flags)) {
        memcpy(&dumps.flags, value, sizeof(dumps.flags));
        return CUDA_SUCCESS;
    }
    if (!name || !value || !*size || *size >= sizeof(dumps.file))
        return CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    memcpy(name, value, *size);
    name[*size] = 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

/* Only what a context may have of its own. */
CUresult bl_cuCoredumpSetAttribute(CUcoredumpSettings attrib, void *value, size_t *size)
{
    struct bl_cu_context *context;
    CUresult result = bl_cu_current_quiet(&context);
    if (result != CUDA_SUCCESS)
        return result;
    if (attrib != CU_COREDUMP_ENABLE_ON_EXCEPTION && attrib != CU_COREDUMP_TRIGGER_HOST && attrib != CU_COREDUMP_LIGHTWEIGHT)
        return CUDA_ERROR_INVALID_VALUE; /* the user's trigger and the names are the process's: measured on an H200 */
    return bl_cuCoredumpSetAttributeGlobal(attrib, value, size);
}

/* ---- processes ---------------------------------------------------------------------------------------- */

/* A process that there is runs: none is ever taken off its device (the calls for that are refused). */
CUresult bl_cuCheckpointProcessGetState(int pid, CUprocessState *state)
{
    char path[32];
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    if (pid <= 0 || access(path, F_OK) != 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *state = CU_PROCESS_STATE_RUNNING;
    return CUDA_SUCCESS;
}
