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

EXPORT ssize_t read(int fd, void *to, size_t bytes)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(read)(fd, to, bytes));
}

EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(write)(fd, from, bytes));
}

EXPORT ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(pread)(fd, to, bytes, at));
}

EXPORT ssize_t pread64(int fd, void *to, size_t bytes, off64_t at)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(pread)(fd, to, bytes, at));
}

EXPORT ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwrite)(fd, from, bytes, at));
}

EXPORT ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t at)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwrite)(fd, from, bytes, at));
}

EXPORT ssize_t readv(int fd, const struct iovec *pieces, int count)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(readv)(fd, pieces, count));
}

EXPORT ssize_t writev(int fd, const struct iovec *pieces, int count)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(writev)(fd, pieces, count));
}

EXPORT ssize_t preadv(int fd, const struct iovec *pieces, int count, off_t at)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(preadv)(fd, pieces, count, at));
}

EXPORT ssize_t preadv64(int fd, const struct iovec *pieces, int count, off64_t at)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(preadv)(fd, pieces, count, at));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t at)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwritev)(fd, pieces, count, at));
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *pieces, int count, off64_t at)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwritev)(fd, pieces, count, at));
}

EXPORT ssize_t preadv2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(preadv2)(fd, pieces, count, at, flags));
}

EXPORT ssize_t preadv64v2(int fd, const struct iovec *pieces, int count, off64_t at, int flags)
{
    TRANSFER(ssize_t, OP_READ, fd, NEXT(preadv2)(fd, pieces, count, at, flags));
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *pieces, int count, off_t at, int flags)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwritev2)(fd, pieces, count, at, flags));
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *pieces, int count, off64_t at, int flags)
{
    TRANSFER(ssize_t, OP_WRITE, fd, NEXT(pwritev2)(fd, pieces, count, at, flags));
}

/* Fortified forms: libc's own checks the size, and ends the program. */
#define CHECKED(name, type, operation, fd, declared, arguments)                                                        \
    extern type name declared;                                                                                         \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT type name declared                                                                                          \
    {                                                                                                                  \
        TRANSFER(type, operation, fd, NEXT(name) arguments);                                                           \
    }

CHECKED(__read_chk, ssize_t, OP_READ, fd, (int fd, void *to, size_t bytes, size_t room), (fd, to, bytes, room))
CHECKED(__pread_chk, ssize_t, OP_READ, fd, (int fd, void *to, size_t bytes, off_t at, size_t room),
        (fd, to, bytes, at, room))
CHECKED(__pread64_chk, ssize_t, OP_READ, fd, (int fd, void *to, size_t bytes, off64_t at, size_t room),
        (fd, to, bytes, at, room))
CHECKED(__recv_chk, ssize_t, OP_RECEIVE, fd, (int fd, void *to, size_t bytes, size_t room, int flags),
        (fd, to, bytes, room, flags))
CHECKED(__recvfrom_chk, ssize_t, OP_RECEIVE, fd,
        (int fd, void *to, size_t bytes, size_t room, int flags, void *address, socklen_t *length),
        (fd, to, bytes, room, flags, address, length))

EXPORT ssize_t recv(int fd, void *to, size_t bytes, int flags)
{
    TRANSFER(ssize_t, OP_RECEIVE, fd, NEXT(recv)(fd, to, bytes, flags));
}

EXPORT ssize_t recvfrom(int fd, void *restrict to, size_t bytes, int flags, __SOCKADDR_ARG address,
                        socklen_t *restrict length)
{
    TRANSFER(ssize_t, OP_RECEIVE, fd, NEXT(recvfrom)(fd, to, bytes, flags, address, length));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    TRANSFER(ssize_t, OP_RECEIVE, fd, NEXT(recvmsg)(fd, message, flags));
}

EXPORT ssize_t send(int fd, const void *from, size_t bytes, int flags)
{
    TRANSFER(ssize_t, OP_SEND, fd, NEXT(send)(fd, from, bytes, flags));
}

EXPORT ssize_t sendto(int fd, const void *from, size_t bytes, int flags, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    TRANSFER(ssize_t, OP_SEND, fd, NEXT(sendto)(fd, from, bytes, flags, address, length));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    TRANSFER(ssize_t, OP_SEND, fd, NEXT(sendmsg)(fd, message, flags));
}

/* Copies within the kernel, which counts them as a call of each kind. The time is the reading's. */
static void end_copy(const struct io_call *call, int from, int to, ssize_t result)
{
    if (call->thread == NULL)
        return;
    const struct io_call untimed = {call->thread, 0, 1};
    io_end(call, OP_READ, descriptor_file(from), result);
    io_end(&untimed, OP_WRITE, descriptor_file(to), result);
}

#define COPY(from, to, real)                                                                                           \
    do {                                                                                                               \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_READ, false);                                                                               \
        ssize_t result = (real);                                                                                       \
        end_copy(&call, from, to, result);                                                                             \
        return result;                                                                                                 \
    } while (0)

EXPORT ssize_t sendfile(int to, int from, off_t *at, size_t bytes)
{
    COPY(from, to, NEXT(sendfile)(to, from, at, bytes));
}

EXPORT ssize_t sendfile64(int to, int from, off64_t *at, size_t bytes)
{
    COPY(from, to, NEXT(sendfile)(to, from, at, bytes));
}

EXPORT ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned int flags)
{
    COPY(from, to, NEXT(copy_file_range)(from, from_at, to, to_at, bytes, flags));
}

EXPORT ssize_t splice(int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned int flags)
{
    COPY(from, to, NEXT(splice)(from, from_at, to, to_at, bytes, flags));
}

/* Seeking is as frequent as reading, and moves no data. */
static off_t seek(int fd, off_t offset, int whence)
{
    struct io_call call;
    io_begin(&call, OP_SEEK, false);
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

EXPORT int fsync(int fd)
{
    RARE(int, OP_SYNC, descriptor_file(fd), NEXT(fsync)(fd), result < 0);
}

EXPORT int fdatasync(int fd)
{
    RARE(int, OP_SYNC, descriptor_file(fd), NEXT(fdatasync)(fd), result < 0);
}

EXPORT int sync_file_range(int fd, off64_t from, off64_t bytes, unsigned int flags)
{
    RARE(int, OP_SYNC, descriptor_file(fd), NEXT(sync_file_range)(fd, from, bytes, flags), result < 0);
}

EXPORT int ftruncate(int fd, off_t length)
{
    RARE(int, OP_CHANGE, descriptor_file(fd), NEXT(ftruncate)(fd, length), result < 0);
}

EXPORT int ftruncate64(int fd, off64_t length)
{
    RARE(int, OP_CHANGE, descriptor_file(fd), NEXT(ftruncate)(fd, length), result < 0);
}

/* Anonymous memory is no file: allocators are not delayed. */
static void *map(void *address, size_t length, int protection, int flags, int fd, off_t at)
{
    if (fd < 0 || (flags & MAP_ANONYMOUS) != 0)
        return NEXT(mmap)(address, length, protection, flags, fd, at);
    struct io_call call;
    io_begin(&call, OP_MAP, true);
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
        io_begin(&call, OP_OPEN, false);                                                                               \
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

#define OPENED(name, path, declared, arguments)                                                                        \
    extern int name declared;                                                                                          \
    DECLARE_NEXT(name);                                                                                                \
    EXPORT int name declared                                                                                           \
    {                                                                                                                  \
        struct io_call call;                                                                                           \
        io_begin(&call, OP_OPEN, false);                                                                               \
        return end_open(&call, path, NEXT(name) arguments);                                                            \
    }

OPENED(__open_2, path, (const char *path, int flags), (path, flags))
OPENED(__open64_2, path, (const char *path, int flags), (path, flags))
OPENED(__openat_2, alone(directory, path), (int directory, const char *path, int flags), (directory, path, flags))
OPENED(__openat64_2, alone(directory, path), (int directory, const char *path, int flags), (directory, path, flags))

EXPORT int creat(const char *path, mode_t mode)
{
    struct io_call call;
    io_begin(&call, OP_OPEN, false);
    return end_open(&call, path, NEXT(creat)(path, mode));
}

EXPORT int creat64(const char *path, mode_t mode)
{
    struct io_call call;
    io_begin(&call, OP_OPEN, false);
    return end_open(&call, path, NEXT(creat)(path, mode));
}

/* The descriptor may be another thread's file as soon as it is closed, so it is forgotten before. */
EXPORT int close(int fd)
{
    struct io_call call;
    io_begin(&call, OP_CLOSE, false);
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
