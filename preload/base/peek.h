/* Reads of possibly unmapped memory, of this process or of another one. Async-signal-safe and thread-safe. */
#ifndef INCPROF_PEEK_H
#define INCPROF_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys.h"

/* The process whose memory is read: 0 in the collector, for this process. Set by single-threaded programs that observe
 * others. */
extern pid_t peek_process;

/* Return the number of bytes copied, or negative errno. */
static inline long peek_or_error(const struct iovec *here, size_t count, const struct iovec *there, size_t pieces)
{
    long pid = peek_process != 0 ? peek_process : SYS0(SYS_getpid);
    return SYS6(SYS_process_vm_readv, pid, here, count, there, pieces, 0);
}

/* Copy the pieces at `there` into those at `here`, in order, up to the first unreadable byte. Returns the bytes
 * copied. */
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
