/* The file of a rank: blocks behind each other (docs/formats.md). For the writing thread, but for blocks_forget. */
#ifndef TRACE_BLOCKS_H
#define TRACE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "launch.h"

struct about {
    const char *mpi;      /* in words */
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
    uint64_t interval_ns; /* between two writes */
    bool shares_lanes;    /* MPI_THREAD_MULTIPLE */
};

/* Writes what is new in all lanes. `last`: how the trace ends, in a word, or NULL. False after one line on stderr, when
 * nothing more can be written. */
bool blocks_write(const struct launch *launch, const struct about *about, const char *last);

/* In a forked child: the file is its parent's. */
void blocks_forget(void);

#endif
