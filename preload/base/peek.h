/* Reading memory that may not be there, of this process or of another one. Async-signal-safe and thread-safe. */
#ifndef INCPROF_PEEK_H
#define INCPROF_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys.h"

/* Whose memory it is: 0 in the collector, for this process. Set by programs of one thread that look at others. */
extern pid_t peek_process;

/* Bytes that were copied, or negative errno. */
static inline long peek_or_error(const struct iovec *here, size_t count, const struct iovec *there, size_t pieces)
{
    long pid = peek_process != 0 ? peek_process : SYS0(SYS_getpid);
    return SYS6(SYS_process_vm_readv, pid, here, count, there, pieces, 0);
}

/* What the kernel could copy from the pieces at `there` into those at `here`, in order: it stops at what it cannot
 * read. */
static inline size_t peek_pieces(const struct iovec *here, size_t count, const struct iovec *there, size_t pieces)
{
    long got = peek_or_error(here, count, there, pieces);
    return got > 0 ? (size_t)got : 0;
}

static inline bool peek(void *into, uint64_t address, size_t bytes)
{
    const struct iovec here = {into, bytes};
    const struct iovec there = {(void *)address, bytes};
    return peek_pieces(&here, 1, &there, 1) == bytes;
}

#endif
