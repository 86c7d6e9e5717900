/* Whole files: read, and replace by rename. What is no regular file is written into. */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static ssize_t read_all(int fd, char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = bl_fault_due("read") ? (errno = EIO, -1) : read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

enum bl_status bl_file_read(const char *path, char **data, size_t *size, struct bl_error *error)
{
    enum bl_status status = BL_OK;
    struct stat info;
    ssize_t got;
    char *block;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return bl_fail(error, errno == ENOENT ? BL_NOT_FOUND : BL_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return bl_fail(error, BL_IO, "%s: not a regular file", path);
    }
    block = bl_malloc((size_t)info.st_size + 1);
    got = block ? read_all(fd, block, (size_t)info.st_size) : 0;
    if (!block)
        status = bl_fail(error, BL_NO_MEMORY, "%s: out of memory", path);
    else if (got < 0)
        status = bl_fail(error, BL_IO, "%s: %s", path, strerror(errno));
    close(fd);
    if (status != BL_OK) {
        bl_free(block);
        return status;
    }
    block[got] = 0;
    *data = block;
    *size = (size_t)got;
    return BL_OK;
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

/* Into a file beside it, which then takes its place. */
static enum bl_status replace_file(const char *path, const void *data, size_t size, struct bl_error *error)
{
    struct bl_buffer name = {0};
    enum bl_status status = BL_OK;
    int fd;

    bl_buffer_printf(&name, "%s.XXXXXX", path);
    if (name.failed) {
        bl_buffer_cleanup(&name);
        return bl_fail(error, BL_NO_MEMORY, "%s: out of memory", path);
    }
    fd = mkostemp(name.data, O_CLOEXEC);
    if (fd < 0) {
        status = bl_fail(error, BL_IO, "%s: %s", path, strerror(errno));
        bl_buffer_cleanup(&name);
        return status;
    }
    if (!write_all(fd, data, size) || fchmod(fd, 0644) != 0)
        status = bl_fail(error, BL_IO, "%s: %s", path, strerror(errno));
    if (close(fd) != 0 && status == BL_OK)
        status = bl_fail(error, BL_IO, "%s: %s", path, strerror(errno));
    if (status == BL_OK && rename(name.data, path) != 0)
        status = bl_fail(error, BL_IO, "%s: %s", path, strerror(errno));
    if (status != BL_OK)
        unlink(name.data);
    bl_buffer_cleanup(&name);
    return status;
}

/* Into what stands at path already: a pipe, a terminal, /dev/null. */
static enum bl_status write_into(const char *path, const void *data, size_t size, struct bl_error *error)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool fine = fd >= 0 && write_all(fd, data, size);
    int why = errno;

    if (fd >= 0 && close(fd) != 0 && fine) {
        fine = false;
        why = errno;
    }
    return fine ? BL_OK : bl_fail(error, BL_IO, "%s: %s", path, strerror(why));
}

enum bl_status bl_file_write(const char *path, const void *data, size_t size, struct bl_error *error)
{
    struct stat info;

    /* A renamed file would take the place of a device: root must be able to say -o /dev/null. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return write_into(path, data, size, error);
    return replace_file(path, data, size, error);
}
