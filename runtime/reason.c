#include "log.h"

#include <errno.h>
#include <stddef.h>

#include "fixed_text.h"

#define REASON(number, words) {number, #number, words}
/* A table of our own: libc's can be read without allocation and locale only since glibc 2.32. */
static const struct {
    int number;
    const char *name, *words;
} reasons[] = {
    REASON(EPERM, "Operation not permitted"),
    REASON(ENOENT, "No such file or directory"),
    REASON(ESRCH, "No such process"),
    REASON(EINTR, "Interrupted system call"),
    REASON(EIO, "Input/output error"),
    REASON(ENXIO, "No such device or address"),
    REASON(E2BIG, "Argument list too long"),
    REASON(EBADF, "Bad file descriptor"),
    REASON(EAGAIN, "Resource temporarily unavailable"),
    REASON(ENOMEM, "Cannot allocate memory"),
    REASON(EACCES, "Permission denied"),
    REASON(EFAULT, "Bad address"),
    REASON(EBUSY, "Device or resource busy"),
    REASON(EEXIST, "File exists"),
    REASON(EXDEV, "Invalid cross-device link"),
    REASON(ENODEV, "No such device"),
    REASON(ENOTDIR, "Not a directory"),
    REASON(EISDIR, "Is a directory"),
    REASON(EINVAL, "Invalid argument"),
    REASON(ENFILE, "Too many open files in system"),
    REASON(EMFILE, "Too many open files"),
    REASON(ETXTBSY, "Text file busy"),
    REASON(EFBIG, "File too large"),
    REASON(ENOSPC, "No space left on device"),
    REASON(EROFS, "Read-only file system"),
    REASON(EMLINK, "Too many links"),
    REASON(EPIPE, "Broken pipe"),
    REASON(ENAMETOOLONG, "File name too long"),
    REASON(ENOSYS, "Function not implemented"),
    REASON(ELOOP, "Too many levels of symbolic links"),
    REASON(EOVERFLOW, "Value too large for defined data type"),
    REASON(EOPNOTSUPP, "Operation not supported"),
    REASON(ETIMEDOUT, "Connection timed out"),
    REASON(EHOSTDOWN, "Host is down"),
    REASON(ESTALE, "Stale file handle"),
    REASON(EREMOTEIO, "Remote I/O error"),
    REASON(EDQUOT, "Disk quota exceeded"),
};

const char *reason_of(long error, char number[32])
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].number == -error)
            return reasons[i].words;
    number[0] = '\0';
    text_append(number, 32, "error ");
    text_append_number(number, 32, (uint64_t)-error, 1);
    return number;
}

const char *reason_name(long error)
{
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].number == -error)
            return reasons[i].name;
    return "unknown error";
}
