/* The names that this library defines, and their numbers: those of traced functions are five each, as MPI_*, as PMPI_*,
 * and as the Fortran symbols mpi_*_, mpi_*_f08_ and mpi_*_f08ts_; those of the others are two each. */
#ifndef TRACE_NAMES_H
#define TRACE_NAMES_H

#include <stdint.h>

#include "functions.h"

#define KINDS_OF_NAMES 5
#define TRACED_NAMES (KINDS_OF_NAMES * FUNCTION_COUNT)

enum name_number {
    LAST_TRACED = TRACED_NAMES - 1,
#define OTHER(name) NAME_MPI_##name, NAME_PMPI_##name,
#include "other_calls.h"
    NAME_COUNT
};

/* The code at each name (entry_*.S), and in its second half what the loader asks about it (visible.c). */
#define WAY_IN_BYTES 32u
extern char trace_ways_in[NAME_COUNT][WAY_IN_BYTES] __attribute__((visibility("hidden")));

/* Thread-safe and async-signal-safe. */
const char *name_of(uint32_t number);

#endif
