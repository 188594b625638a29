/* What the wrappers of libc's calls are made of. Each calls the next definition, counts the call, and returns its
 * result with its errno. A cancelled call is not counted. */
#ifndef INCPROF_IO_WRAP_H
#define INCPROF_IO_WRAP_H

#include "counts.h"
#include "descriptors.h"
#include "next.h"

/* A transfer by a descriptor of at most `bytes`. `type`: of the result. */
#define TRANSFER(type, operation, fd, bytes, real)                                                                     \
    do {                                                                                                               \
        struct io_call call;                                                                                           \
        io_begin(&call, operation, bytes, false);                                                                      \
        type result = (real);                                                                                          \
        if (call.thread != NULL)                                                                                       \
            io_end(&call, operation, descriptor_file(fd), (int64_t)result);                                            \
        return result;                                                                                                 \
    } while (0)

/* A call that moves no data: `failed` is an expression of `result`. */
#define PLAIN(type, operation, is_rare, file, real, failed)                                                            \
    do {                                                                                                               \
        struct io_call call;                                                                                           \
        io_begin(&call, operation, 0, is_rare);                                                                        \
        type result = (real);                                                                                          \
        if (call.thread != NULL)                                                                                       \
            io_end(&call, operation, file, (failed) ? -1 : 0);                                                         \
        return result;                                                                                                 \
    } while (0)
#define RARE(type, operation, file, real, failed) PLAIN(type, operation, true, file, real, failed)

#endif
