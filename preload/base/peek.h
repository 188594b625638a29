/* Reading memory that may not be there. Async-signal-safe and thread-safe. */
#ifndef INCPROF_PEEK_H
#define INCPROF_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys.h"

/* What the kernel could copy from the pieces at `there` into those at `here`, in order: it stops at what it cannot
 * read. */
static inline size_t peek_pieces(const struct iovec *here, size_t count, const struct iovec *there, size_t pieces)
{
    long got = SYS6(SYS_process_vm_readv, SYS0(SYS_getpid), here, count, there, pieces, 0);
    return got > 0 ? (size_t)got : 0;
}

static inline bool peek(void *into, uint64_t address, size_t bytes)
{
    const struct iovec here = {into, bytes};
    const struct iovec there = {(void *)address, bytes};
    return peek_pieces(&here, 1, &there, 1) == bytes;
}

#endif
