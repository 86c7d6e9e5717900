/* See presence.h. */
#include "device/presence.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[8] = "baileyP1";

/* The folder, made if need be; only one that is ours alone is used. */
static bool folder(char *path, size_t size)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    struct stat facts;
    int length = run && *run == '/' ? snprintf(path, size, "%s/bailey", run)
                                    : snprintf(path, size, "/dev/shm/bailey-%u", (unsigned)geteuid());
    if (length < 0 || (size_t)length >= size)
        return false;
    mkdir(path, 0700);
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && !(facts.st_mode & 022);
}

/* Fields 14, 15 and 22 of /proc/PID/stat: processor time and start, in ticks. */
static bool process_times(int process, uint64_t *ticks, uint64_t *started)
{
    char path[64], text[1024];
    unsigned long long user, system, start;
    snprintf(path, sizeof(path), "/proc/%d/stat", process);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0)
        close(file);
    if (size <= 0)
        return false;
    text[size] = 0;
    const char *at = strrchr(text, ')'); /* the name before may hold anything */
    if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu", &user, &system,
                      &start) != 3)
        return false;
    *ticks = user + system;
    *started = start;
    return true;
}

/* ---- this process ----------------------------------------------------------------------------------- */

static char own_path[512];
static pid_t own_process;

static void leave(void)
{
    if (own_path[0] && getpid() == own_process)
        unlink(own_path);
}

static struct bl_presence *map_own(void)
{
    char path[400];
    uint64_t ticks, started;
    if (!folder(path, sizeof(path)) || !process_times(getpid(), &ticks, &started))
        return NULL;
    snprintf(own_path, sizeof(own_path), "%s/%d", path, getpid());
    unlink(own_path); /* of another process that had the number */
    int file = open(own_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    void *map = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof(struct bl_presence)) == 0)
        map = mmap(NULL, sizeof(struct bl_presence), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file >= 0)
        close(file);
    if (map == MAP_FAILED) {
        unlink(own_path);
        own_path[0] = 0;
        return NULL;
    }
    own_process = getpid();
    struct bl_presence *own = map;
    own->process = own_process;
    own->started = started;
    memcpy(own->magic, magic, sizeof(own->magic));
    atexit(leave);
    return own;
}

struct bl_presence *bl_presence_enter(uint32_t device_count)
{
    static struct bl_presence unseen, *own;
    if (!own) {
        own = map_own();
        bl_presence_list(NULL, 0); /* clears away what killed processes left */
    }
    if (!own)
        own = &unseen;
    own->device_count = BL_MIN(device_count, (uint32_t)BL_PRESENCE_DEVICES);
    return own;
}

/* ---- all processes ---------------------------------------------------------------------------------- */

static bool look_at(const char *path, struct bl_presence_seen *seen)
{
    struct bl_presence page;
    uint64_t started;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool whole = file >= 0 && read(file, &page, sizeof(page)) == sizeof(page) && memcmp(page.magic, magic, sizeof(magic)) == 0;
    if (file >= 0)
        close(file);
    if (!whole || page.device_count > BL_PRESENCE_DEVICES || !process_times(page.process, &seen->ticks, &started) ||
        started != page.started)
        return false;
    seen->process = page.process;
    seen->started = started;
    seen->device_count = page.device_count;
    for (uint32_t i = 0; i < BL_PRESENCE_DEVICES; i++)
        seen->bytes[i] = page.bytes[i];
    return true;
}

size_t bl_presence_list(struct bl_presence_seen *seen, size_t most)
{
    char path[400], one[800];
    size_t count = 0;
    struct bl_presence_seen more;
    DIR *all = folder(path, sizeof(path)) ? opendir(path) : NULL;
    struct dirent *entry;
    while (all && (entry = readdir(all))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
            continue;
        snprintf(one, sizeof(one), "%s/%s", path, entry->d_name);
        if (look_at(one, count < most ? &seen[count] : &more))
            count += count < most;
        else if (access(one, F_OK) == 0)
            unlink(one);
    }
    if (all)
        closedir(all);
    return count;
}
