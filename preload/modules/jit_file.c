/* Thread safety: all state is the caller's. */
#define _GNU_SOURCE
#include "jit_names.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "fixed_text.h"
#include "sys.h"

/* Return whether the file is neither a link nor a pipe nor another user's. */
static bool is_usable(const struct stat *status, const struct jit_process *process)
{
    return S_ISREG(status->st_mode) && status->st_uid == process->owner;
}

static bool is_new(const struct jit_file *file, const struct stat *status)
{
    return status->st_ino != file->inode || (uint64_t)status->st_size < file->read;
}

/* Check the file's status first, because usually there is nothing new. */
static int open_at(const struct jit_file *file, const struct jit_process *process, const char *path,
                   struct stat *status)
{
    long error = SYS4(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW);
    if (error != 0)
        return (int)error;
    bool has_more = is_new(file, status) || ((uint64_t)status->st_size > file->read && !file->is_damaged);
    if (!is_usable(status, process) || !has_more)
        return -EAGAIN;
    int fd = sys_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0 || (SYS4(SYS_newfstatat, fd, "", status, AT_EMPTY_PATH) == 0 && is_usable(status, process)))
        return fd;
    sys_close(fd);
    return -EACCES;
}

/* Open another process's file, through its root directory while it lives. */
static int open_of(const struct jit_file *file, const struct jit_process *process, const char *path,
                   struct stat *status)
{
    char inside[PATH_MAX] = "/proc/";
    if (process->pid == 0)
        return open_at(file, process, path, status);
    text_append_number(inside, sizeof inside, (uint64_t)process->pid, 1);
    text_append(inside, sizeof inside, "/root");
    text_append(inside, sizeof inside, path);
    int fd = open_at(file, process, inside, status);
    return fd >= 0 || fd == -EAGAIN ? fd : open_at(file, process, path, status);
}

/* Return whether the file still begins with the data read so far. */
static bool has_same_prefix(const struct jit_file *file, int fd)
{
    uint8_t tail[JIT_FILE_TAIL];
    size_t size = file->read < sizeof tail ? (size_t)file->read : sizeof tail;
    return sys_pread_all(fd, tail, size, file->read - size) && memcmp(tail, file->tail, size) == 0;
}

int jit_file_open(struct jit_file *file, const struct jit_process *process, const char *path, uint64_t *size)
{
    struct stat status;
    int fd = open_of(file, process, path, &status);
    if (fd < 0)
        return fd;
    if (is_new(file, &status) || !has_same_prefix(file, fd))
        *file = (struct jit_file){.inode = status.st_ino};
    *size = (uint64_t)status.st_size;
    return fd;
}

void jit_file_advance(struct jit_file *file, int fd, uint64_t bytes)
{
    file->read += bytes;
    size_t size = file->read < sizeof file->tail ? (size_t)file->read : sizeof file->tail;
    if (!sys_pread_all(fd, file->tail, size, file->read - size))
        file->is_damaged = true;
}
