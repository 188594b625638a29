#define _GNU_SOURCE
#include "output.h"

#include <string.h>
#include <sys/stat.h>

#include "sys.h"

#define FIRST_DESCRIPTOR 512 /* beyond what programs close by number or use with select */

/* A descriptor out of the application's way, where its limit allows one. */
static int move_up(int fd)
{
    long high = fd >= 0 ? SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR) : -1;
    if (high < 0)
        return fd;
    sys_close(fd);
    return (int)high;
}

static bool identify(int fd, struct stat *status)
{
    return SYS2(SYS_fstat, fd, status) == 0;
}

long output_create(struct output *output, const char *path)
{
    int fd = move_up(sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666));
    struct stat status;
    if (fd < 0)
        return fd;
    if (!identify(fd, &status)) {
        sys_close(fd);
        return -EBADF;
    }
    memcpy(output->path, path, strlen(path) + 1);
    output->fd = fd;
    output->device = status.st_dev;
    output->inode = status.st_ino;
    output->length = 0;
    return 0;
}

/* The application may have closed our descriptor, and may have got its number for a file of its own. */
static long ensure_open(struct output *output)
{
    struct stat status;
    if (identify(output->fd, &status) && status.st_dev == output->device && status.st_ino == output->inode)
        return 0;
    int fd = move_up(sys_open(output->path, O_WRONLY | O_APPEND, 0));
    if (fd < 0)
        return fd;
    if (!identify(fd, &status) || status.st_dev != output->device || status.st_ino != output->inode) {
        sys_close(fd);
        return -ESTALE;
    }
    output->fd = fd;
    return 0;
}

static long write_all(int fd, const struct buffer *data)
{
    size_t at = 0;
    while (at < data->length) {
        long wrote = SYS3(SYS_write, fd, data->data + at, data->length - at);
        if (wrote == -EINTR)
            continue;
        if (wrote <= 0)
            return wrote < 0 ? wrote : -ENOSPC;
        at += (size_t)wrote;
    }
    return 0;
}

long output_append(struct output *output, const struct buffer *data)
{
    if (data->failed)
        return -ENOMEM;
    long error = ensure_open(output);
    if (error != 0)
        return error;
    error = write_all(output->fd, data);
    if (error != 0)
        SYS2(SYS_ftruncate, output->fd, output->length);
    else
        output->length += data->length;
    return error;
}

void output_close(struct output *output)
{
    if (output->fd > 0 && ensure_open(output) == 0)
        sys_close(output->fd);
    output->fd = 0;
}

long output_write_file(const char *path, const struct buffer *data, bool keep)
{
    char temporary[PATH_MAX];
    output_name(temporary, NULL, path, ".tmp");
    if (data->failed)
        return -ENOMEM;
    int fd = sys_open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return fd;
    long error = write_all(fd, data);
    sys_close(fd);
    if (error == 0)
        error = SYS5(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, keep ? 1 /* RENAME_NOREPLACE */ : 0);
    if (error != 0)
        SYS1(SYS_unlink, temporary);
    return error;
}

void output_name(char *path, const char *directory, const char *name, const char *suffix)
{
    const char *parts[] = {directory, "/", name, suffix};
    size_t length = 0;
    for (size_t i = directory != NULL ? 0 : 2; i < 4; i++) {
        size_t more = strnlen(parts[i], PATH_MAX - 1 - length);
        memcpy(path + length, parts[i], more);
        length += more;
    }
    path[length] = '\0';
}
