#define _GNU_SOURCE
#include "output.h"

#include <string.h>

#include "sys.h"

#define MOST_NAMES 1000

long output_create(struct output *output, const char *path)
{
    int fd = sys_open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND, 0666);
    if (fd < 0)
        return fd;
    output->fd = fd;
    output->length = 0;
    output->is_torn = false;
    return 0;
}

static void put_number(char *path, uint64_t number, int digits)
{
    char text[24];
    int at = sizeof text;
    text[--at] = '\0';
    for (int digit = 0; digit < digits || number > 0; digit++, number /= 10)
        text[--at] = (char)('0' + number % 10);
    strcat(path, text + at);
}

long output_create_for_rank(struct output *output, const struct launch *launch, const char *suffix, bool another)
{
    char path[PATH_MAX + 64];
    long error = -EEXIST;
    if (strlen(launch->directory) > PATH_MAX - 64)
        return -ENAMETOOLONG;
    for (uint64_t attempt = another ? 1 : 0; attempt < MOST_NAMES && error == -EEXIST; attempt++) {
        strcpy(path, launch->directory);
        strcat(path, "/rank-");
        put_number(path, (uint64_t)launch->rank, 5);
        if (attempt > 0) {
            strcat(path, ".");
            put_number(path, (uint64_t)SYS0(SYS_getpid), 1);
        }
        if (attempt > 1) {
            strcat(path, "-");
            put_number(path, attempt, 1);
        }
        strcat(path, suffix);
        error = output_create(output, path);
    }
    return error;
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
    long error = output->is_torn ? output_cut(output, output->length) : 0;
    if (error != 0)
        return error;
    error = write_all(output->fd, data);
    if (error != 0)
        output->is_torn = output_cut(output, output->length) != 0;
    else
        output->length += data->length;
    return error;
}

long output_cut(struct output *output, uint64_t length)
{
    long error = SYS2(SYS_ftruncate, output->fd, length);
    if (error == 0) {
        output->length = length;
        output->is_torn = false;
    }
    return error;
}

long output_write_file(const char *path, const struct buffer *data, bool keep)
{
    char temporary[PATH_MAX];
    output_name(temporary, NULL, path, ".tmp");
    if (data->failed)
        return -ENOMEM;
    /* Whatever has that name already: nobody's file is written through a link, and nobody waits for a pipe's reader. */
    int fd = sys_open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0)
        return fd;
    long error = write_all(fd, data);
    sys_close(fd);
    if (error == 0)
        error = SYS5(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, keep ? 1 /* RENAME_NOREPLACE */ : 0);
    if (error != 0)
        sys_unlink(temporary);
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
