/* The ways into the library: every MPI function, as MPI_* and PMPI_*, and those into the Fortran bindings of what is
 * traced (entry_*.S). Where a call goes on to depends on the object that makes it: a plug-in may have brought an MPI
 * that nobody else sees, and another one another MPI. */
#ifndef TRACE_RESOLVE_H
#define TRACE_RESOLVE_H

#include <stddef.h>
#include <stdint.h>

#include "names.h"

/* Where calls go on to that come from `size` bytes at `low`. Known to entry_*.S. */
struct way {
    uint64_t low;
    uint64_t size; /* 0: it is shut; atomic */
    void *target;
    struct way *below; /* the next of the same name */
};

/* The ways of each name, as far as they are known. */
extern struct way *trace_ways[NAME_COUNT] __attribute__((visibility("hidden")));

/* Where a call goes on to that comes from here for the first time. Thread-safe; not async-signal-safe. */
void *trace_resolve(uint32_t name, const void *return_address) __attribute__((visibility("hidden")));

/* Shuts all ways, as libraries have gone that they may come from or lead to. Thread-safe. */
void resolve_forget(void);

#endif
