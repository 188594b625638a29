/* Wrappers of the calls on names, directories and states of files. As thread-safe and async-signal-safe as libc's. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wrap.h"

#undef stat
#undef lstat
#undef fstat
#undef fstatat
#undef stat64
#undef lstat64
#undef fstat64
#undef fstatat64

/* `file`: of the call. The declarations are repeated where libc's headers may have none, or a macro. */
#define CALL(type, name, operation, is_rare, file, declared, arguments, failed)                                        \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        PLAIN(type, operation, is_rare, file, NEXT(name) arguments, failed);                                           \
    }
#define ON_NAME(name, operation, declared, arguments)                                                                  \
    CALL(int, name, operation, (operation) == OP_CHANGE, FILE_NONE, declared, arguments, result < 0)

struct statx;

ON_NAME(stat, OP_STAT, (const char *restrict path, struct stat *restrict to), (path, to))
ON_NAME(lstat, OP_STAT, (const char *restrict path, struct stat *restrict to), (path, to))
ON_NAME(stat64, OP_STAT, (const char *restrict path, struct stat64 *restrict to), (path, to))
ON_NAME(lstat64, OP_STAT, (const char *restrict path, struct stat64 *restrict to), (path, to))
ON_NAME(fstat, OP_STAT, (int fd, struct stat *to), (fd, to))
ON_NAME(fstat64, OP_STAT, (int fd, struct stat64 *to), (fd, to))
ON_NAME(fstatat, OP_STAT, (int fd, const char *restrict path, struct stat *restrict to, int flags),
        (fd, path, to, flags))
ON_NAME(fstatat64, OP_STAT, (int fd, const char *restrict path, struct stat64 *restrict to, int flags),
        (fd, path, to, flags))
ON_NAME(statx, OP_STAT, (int fd, const char *restrict path, int flags, unsigned int mask, struct statx *restrict to),
        (fd, path, flags, mask, to))
/* Before glibc 2.33. */
ON_NAME(__xstat, OP_STAT, (int version, const char *path, struct stat *to), (version, path, to))
ON_NAME(__lxstat, OP_STAT, (int version, const char *path, struct stat *to), (version, path, to))
ON_NAME(__fxstat, OP_STAT, (int version, int fd, struct stat *to), (version, fd, to))
ON_NAME(__xstat64, OP_STAT, (int version, const char *path, struct stat64 *to), (version, path, to))
ON_NAME(__lxstat64, OP_STAT, (int version, const char *path, struct stat64 *to), (version, path, to))
ON_NAME(__fxstat64, OP_STAT, (int version, int fd, struct stat64 *to), (version, fd, to))
ON_NAME(access, OP_STAT, (const char *path, int mode), (path, mode))
ON_NAME(faccessat, OP_STAT, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags))
CALL(ssize_t, readlink, OP_STAT, false, FILE_NONE, (const char *restrict path, char *restrict to, size_t size),
     (path, to, size), result < 0)
CALL(ssize_t, readlinkat, OP_STAT, false, FILE_NONE,
     (int fd, const char *restrict path, char *restrict to, size_t size), (fd, path, to, size), result < 0)

ON_NAME(unlink, OP_CHANGE, (const char *path), (path))
ON_NAME(unlinkat, OP_CHANGE, (int fd, const char *path, int flags), (fd, path, flags))
ON_NAME(remove, OP_CHANGE, (const char *path), (path))
ON_NAME(rename, OP_CHANGE, (const char *from, const char *to), (from, to))
ON_NAME(renameat, OP_CHANGE, (int fd, const char *from, int to_fd, const char *to), (fd, from, to_fd, to))
ON_NAME(renameat2, OP_CHANGE, (int fd, const char *from, int to_fd, const char *to, unsigned int flags),
        (fd, from, to_fd, to, flags))
ON_NAME(link, OP_CHANGE, (const char *from, const char *to), (from, to))
ON_NAME(symlink, OP_CHANGE, (const char *from, const char *to), (from, to))
ON_NAME(truncate, OP_CHANGE, (const char *path, off_t length), (path, length))
ON_NAME(truncate64, OP_CHANGE, (const char *path, off64_t length), (path, length))
ON_NAME(chmod, OP_CHANGE, (const char *path, mode_t mode), (path, mode))
ON_NAME(mkdir, OP_CHANGE, (const char *path, mode_t mode), (path, mode))
ON_NAME(mkdirat, OP_CHANGE, (int fd, const char *path, mode_t mode), (fd, path, mode))
ON_NAME(rmdir, OP_CHANGE, (const char *path), (path))

static DIR *end_directory(const struct io_call *call, DIR *directory)
{
    if (call->thread != NULL) {
        if (directory != NULL)
            descriptor_forget(dirfd(directory));
        io_end(call, OP_DIRECTORY, FILE_NONE, directory == NULL ? -1 : 0);
    }
    return directory;
}

DECLARE_NEXT(opendir);
EXPORT DIR *opendir(const char *path)
{
    struct io_call call;
    io_begin(&call, OP_DIRECTORY, 0, false);
    return end_directory(&call, NEXT(opendir)(path));
}

DECLARE_NEXT(fdopendir);
EXPORT DIR *fdopendir(int fd)
{
    struct io_call call;
    io_begin(&call, OP_DIRECTORY, 0, false);
    return end_directory(&call, NEXT(fdopendir)(fd));
}

DECLARE_NEXT(closedir);
EXPORT int closedir(DIR *directory)
{
    struct io_call call;
    io_begin(&call, OP_CLOSE, 0, false);
    if (call.thread != NULL)
        descriptor_forget(dirfd(directory));
    int result = NEXT(closedir)(directory);
    io_end(&call, OP_CLOSE, FILE_NONE, result < 0 ? -1 : 0);
    return result;
}

/* The end of a directory is no failure. */
CALL(struct dirent *, readdir, OP_DIRECTORY, false, FILE_NONE, (DIR * directory), (directory), 0)
CALL(struct dirent64 *, readdir64, OP_DIRECTORY, false, FILE_NONE, (DIR * directory), (directory), 0)
