/* Wrappers of the calls that transfer data by descriptors, and of those that open and close them. As thread-safe and
 * async-signal-safe as libc's, and cancellation points where libc's are. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wrap.h"

#undef open
#undef open64
#undef openat
#undef openat64
#undef creat
#undef creat64
#undef fcntl
#undef fcntl64

DECLARE_NEXT(read);
DECLARE_NEXT(write);
DECLARE_NEXT(pread);
DECLARE_NEXT(pwrite);
DECLARE_NEXT(readv);
DECLARE_NEXT(writev);
DECLARE_NEXT(preadv);
DECLARE_NEXT(pwritev);
DECLARE_NEXT(preadv2);
DECLARE_NEXT(pwritev2);
DECLARE_NEXT(recv);
DECLARE_NEXT(recvfrom);
DECLARE_NEXT(recvmsg);
DECLARE_NEXT(send);
DECLARE_NEXT(sendto);
DECLARE_NEXT(sendmsg);
DECLARE_NEXT(sendfile);
DECLARE_NEXT(copy_file_range);
DECLARE_NEXT(splice);
DECLARE_NEXT(lseek);
DECLARE_NEXT(fsync);
DECLARE_NEXT(fdatasync);
DECLARE_NEXT(sync_file_range);
DECLARE_NEXT(ftruncate);
DECLARE_NEXT(mmap);
DECLARE_NEXT(open);
DECLARE_NEXT(openat);
DECLARE_NEXT(creat);
DECLARE_NEXT(close);
DECLARE_NEXT(dup);
DECLARE_NEXT(dup2);
DECLARE_NEXT(dup3);
DECLARE_NEXT(fcntl);

/* Define the wrapper of a transfer by the descriptor `fd`. `next`: the definition that it calls. `size`: in bytes, 0
 * for pieces: their list may be invalid, which is for the kernel to find out. */
#define MOVE(operation, name, next, size, declared, arguments)                                                         \
    EXPORT ssize_t name declared                                                                                       \
    {                                                                                                                  \
        TRANSFER(ssize_t, operation, fd, size, NEXT(next) arguments);                                                  \
    }

MOVE(OP_READ, read, read, bytes, (int fd, void *to, size_t bytes), (fd, to, bytes))
MOVE(OP_WRITE, write, write, bytes, (int fd, const void *from, size_t bytes), (fd, from, bytes))
MOVE(OP_READ, pread, pread, bytes, (int fd, void *to, size_t bytes, off_t at), (fd, to, bytes, at))
MOVE(OP_READ, pread64, pread, bytes, (int fd, void *to, size_t bytes, off64_t at), (fd, to, bytes, at))
MOVE(OP_WRITE, pwrite, pwrite, bytes, (int fd, const void *from, size_t bytes, off_t at), (fd, from, bytes, at))
MOVE(OP_WRITE, pwrite64, pwrite, bytes, (int fd, const void *from, size_t bytes, off64_t at), (fd, from, bytes, at))
MOVE(OP_READ, readv, readv, 0, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
MOVE(OP_WRITE, writev, writev, 0, (int fd, const struct iovec *pieces, int count), (fd, pieces, count))
MOVE(OP_READ, preadv, preadv, 0, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at))
MOVE(OP_READ, preadv64, preadv, 0, (int fd, const struct iovec *pieces, int count, off64_t at), (fd, pieces, count, at))
MOVE(OP_WRITE, pwritev, pwritev, 0, (int fd, const struct iovec *pieces, int count, off_t at), (fd, pieces, count, at))
MOVE(OP_WRITE, pwritev64, pwritev, 0, (int fd, const struct iovec *pieces, int count, off64_t at),
     (fd, pieces, count, at))
MOVE(OP_READ, preadv2, preadv2, 0, (int fd, const struct iovec *pieces, int count, off_t at, int flags),
     (fd, pieces, count, at, flags))
MOVE(OP_READ, preadv64v2, preadv2, 0, (int fd, const struct iovec *pieces, int count, off64_t at, int flags),
     (fd, pieces, count, at, flags))
MOVE(OP_WRITE, pwritev2, pwritev2, 0, (int fd, const struct iovec *pieces, int count, off_t at, int flags),
     (fd, pieces, count, at, flags))
MOVE(OP_WRITE, pwritev64v2, pwritev2, 0, (int fd, const struct iovec *pieces, int count, off64_t at, int flags),
     (fd, pieces, count, at, flags))
MOVE(OP_RECEIVE, recv, recv, bytes, (int fd, void *to, size_t bytes, int flags), (fd, to, bytes, flags))
MOVE(OP_RECEIVE, recvfrom, recvfrom, bytes,
     (int fd, void *restrict to, size_t bytes, int flags, __SOCKADDR_ARG address, socklen_t *restrict length),
     (fd, to, bytes, flags, address, length))
MOVE(OP_RECEIVE, recvmsg, recvmsg, 0, (int fd, struct msghdr *message, int flags), (fd, message, flags))
MOVE(OP_SEND, send, send, bytes, (int fd, const void *from, size_t bytes, int flags), (fd, from, bytes, flags))
MOVE(OP_SEND, sendto, sendto, bytes,
     (int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG address, socklen_t length),
     (fd, from, bytes, flags, address, length))
MOVE(OP_SEND, sendmsg, sendmsg, 0, (int fd, const struct msghdr *message, int flags), (fd, message, flags))

/* Fortified forms: libc's own checks the size, and ends the program. */
#define CHECKED(operation, name, declared, arguments)                                                                  \
    extern ssize_t name declared;                                                                                      \
    DECLARE_NEXT(name);                                                                                                \
    MOVE(operation, name, name, bytes, declared, arguments)

CHECKED(OP_READ, __read_chk, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room))
CHECKED(OP_READ, __pread_chk, (int fd, void *to, size_t bytes, off_t at, size_t room), (fd, to, bytes, at, room))
CHECKED(OP_READ, __pread64_chk, (int fd, void *to, size_t bytes, off64_t at, size_t room), (fd, to, bytes, at, room))
CHECKED(OP_RECEIVE, __recv_chk, (int fd, void *to, size_t bytes, size_t room, int flags), (fd, to, bytes, room, flags))
CHECKED(OP_RECEIVE, __recvfrom_chk,
        (int fd, void *to, size_t bytes, size_t room, int flags, void *address, socklen_t *length),
        (fd, to, bytes, room, flags, address, length))

/* Copies within the kernel, which counts them as a call of each kind. The time is the reading's. */
static void end_copy(const struct io_call *call, int from, int to, ssize_t result)
{
    if (call->thread == NULL)
        return;
    const struct io_call untimed = {.thread = call->thread, .weight = 1};
    io_end(call, OP_READ, descriptor_file(from), result);
    io_end(&untimed, OP_WRITE, descriptor_file(to), result);
}

#define COPY(name, next, declared, arguments)                                                                          \
    EXPORT ssize_t name declared                                                                                       \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_READ, bytes, false);                                                                        \
        ssize_t result = NEXT(next) arguments;                                                                         \
        end_copy(&call, from, to, result);                                                                             \
        return result;                                                                                                 \
    }

COPY(sendfile, sendfile, (int to, int from, off_t *at, size_t bytes), (to, from, at, bytes))
COPY(sendfile64, sendfile, (int to, int from, off64_t *at, size_t bytes), (to, from, at, bytes))
COPY(copy_file_range, copy_file_range,
     (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned int flags),
     (from, from_at, to, to_at, bytes, flags))
COPY(splice, splice, (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned int flags),
     (from, from_at, to, to_at, bytes, flags))

/* Seeking is as frequent as reading, and moves no data. */
static off_t seek(int fd, off_t offset, int whence)
{
    struct io_call call;
    io_begin(&call, OP_SEEK, 0, false);
    off_t result = NEXT(lseek)(fd, offset, whence);
    if (call.thread != NULL)
        io_end(&call, OP_SEEK, descriptor_file(fd), result < 0 ? -1 : 0);
    return result;
}

EXPORT off_t lseek(int fd, off_t offset, int whence)
{
    return seek(fd, offset, whence);
}

EXPORT off64_t lseek64(int fd, off64_t offset, int whence)
{
    return seek(fd, offset, whence);
}

#define ON_FILE(operation, name, next, declared, arguments)                                                            \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        RARE(int, operation, descriptor_file(fd), NEXT(next) arguments, result < 0);                                   \
    }

ON_FILE(OP_SYNC, fsync, fsync, (int fd), (fd))
ON_FILE(OP_SYNC, fdatasync, fdatasync, (int fd), (fd))
ON_FILE(OP_SYNC, sync_file_range, sync_file_range, (int fd, off64_t from, off64_t bytes, unsigned int flags),
        (fd, from, bytes, flags))
ON_FILE(OP_CHANGE, ftruncate, ftruncate, (int fd, off_t length), (fd, length))
ON_FILE(OP_CHANGE, ftruncate64, ftruncate, (int fd, off64_t length), (fd, length))

/* Anonymous memory is no file: allocators are not delayed. */
static void *map(void *address, size_t length, int protection, int flags, int fd, off_t at)
{
    if (fd < 0 || (flags & MAP_ANONYMOUS) != 0)
        return NEXT(mmap)(address, length, protection, flags, fd, at);
    struct io_call call;
    io_begin(&call, OP_MAP, 0, true);
    void *result = NEXT(mmap)(address, length, protection, flags, fd, at);
    if (call.thread != NULL)
        io_end(&call, OP_MAP, descriptor_file(fd), result == MAP_FAILED ? -1 : (int64_t)length);
    return result;
}

EXPORT void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t at)
{
    return map(address, length, protection, flags, fd, at);
}

EXPORT void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t at)
{
    return map(address, length, protection, flags, fd, at);
}

/* The descriptor has no name yet: the first transfer looks it up. */
static int end_open(const struct io_call *call, const char *path, int fd)
{
    if (call->thread != NULL) {
        descriptor_opened(fd, path);
        io_end(call, OP_OPEN, FILE_NONE, fd < 0 ? -1 : 0);
    }
    return fd;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

/* Return a path that names a file without the directory of an openat. */
static const char *alone(int directory, const char *path)
{
    return directory == AT_FDCWD || *path == '/' ? path : NULL;
}

#define OPEN(path, flags, real)                                                                                        \
    do {                                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_of(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_OPEN, 0, false);                                                                            \
        return end_open(&call, path, (real));                                                                          \
    } while (0)

EXPORT int open(const char *path, int flags, ...)
{
    OPEN(path, flags, NEXT(open)(path, flags, mode));
}

EXPORT int open64(const char *path, int flags, ...)
{
    OPEN(path, flags, NEXT(open)(path, flags | O_LARGEFILE, mode));
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    OPEN(alone(directory, path), flags, NEXT(openat)(directory, path, flags, mode));
}

EXPORT int openat64(int directory, const char *path, int flags, ...)
{
    OPEN(alone(directory, path), flags, NEXT(openat)(directory, path, flags | O_LARGEFILE, mode));
}

#define CREATE(name, next, path, declared, arguments)                                                                  \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_OPEN, 0, false);                                                                            \
        return end_open(&call, path, NEXT(next) arguments);                                                            \
    }
#define OPENED(name, path, declared, arguments)                                                                        \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    CREATE(name, name, path, declared, arguments)

CREATE(creat, creat, path, (const char *path, mode_t mode), (path, mode))
CREATE(creat64, creat, path, (const char *path, mode_t mode), (path, mode))
OPENED(__open_2, path, (const char *path, int flags), (path, flags))
OPENED(__open64_2, path, (const char *path, int flags), (path, flags))
OPENED(__openat_2, alone(directory, path), (int directory, const char *path, int flags), (directory, path, flags))
OPENED(__openat64_2, alone(directory, path), (int directory, const char *path, int flags), (directory, path, flags))

/* The descriptor may be another thread's file as soon as it is closed, so it is forgotten before. */
EXPORT int close(int fd)
{
    struct io_call call;
    io_begin(&call, OP_CLOSE, 0, false);
    if (call.thread != NULL)
        descriptor_forget(fd);
    int result = NEXT(close)(fd);
    io_end(&call, OP_CLOSE, FILE_NONE, result < 0 ? -1 : 0);
    return result;
}

extern int close_range(unsigned int first, unsigned int last, int flags);
DECLARE_NEXT(close_range);
EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
    if (NEXT(close_range) == NULL) {
        errno = ENOSYS;
        return -1;
    }
    if (__atomic_load_n(&io_is_on, __ATOMIC_RELAXED))
        descriptor_forget_range(first, last);
    return NEXT(close_range)(first, last, flags);
}

extern void closefrom(int first);
DECLARE_NEXT(closefrom);
EXPORT void closefrom(int first)
{
    if (NEXT(closefrom) == NULL) /* before glibc 2.34 nothing calls it */
        return;
    if (__atomic_load_n(&io_is_on, __ATOMIC_RELAXED))
        descriptor_forget_range(first < 0 ? 0 : (unsigned int)first, UINT32_MAX);
    NEXT(closefrom)(first);
}

static int copied(int fd, int copy)
{
    if (copy >= 0 && __atomic_load_n(&io_is_on, __ATOMIC_RELAXED))
        descriptor_copy(fd, copy);
    return copy;
}

EXPORT int dup(int fd)
{
    return copied(fd, NEXT(dup)(fd));
}

EXPORT int dup2(int fd, int copy)
{
    return copied(fd, NEXT(dup2)(fd, copy));
}

EXPORT int dup3(int fd, int copy, int flags)
{
    return copied(fd, NEXT(dup3)(fd, copy, flags));
}

/* The argument is a pointer or a number; as in libc, it is passed on even if there is none. */
#define CONTROL(fd, command)                                                                                           \
    do {                                                                                                               \
        va_list arguments;                                                                                             \
        va_start(arguments, command);                                                                                  \
        void *argument = va_arg(arguments, void *);                                                                    \
        va_end(arguments);                                                                                             \
        int result = NEXT(fcntl)(fd, command, argument);                                                               \
        return (command) == F_DUPFD || (command) == F_DUPFD_CLOEXEC ? copied(fd, result) : result;                     \
    } while (0)

EXPORT int fcntl(int fd, int command, ...)
{
    CONTROL(fd, command);
}

EXPORT int fcntl64(int fd, int command, ...)
{
    CONTROL(fd, command);
}
