/* The ways into the library: every MPI function of the tables, as MPI_* and PMPI_*, and the ways into their Fortran
 * bindings (entry_*.S). Each jumps where its slot says: at first, to where this is found out. */
#ifndef TRACE_RESOLVE_H
#define TRACE_RESOLVE_H

#include "functions.h"

/* As MPI_*, as PMPI_*, and as the Fortran symbols mpi_*_, mpi_*_f08_ and mpi_*_f08ts_. */
#define KINDS_OF_SLOTS 5

extern void *trace_slots[FUNCTION_COUNT][KINDS_OF_SLOTS] __attribute__((visibility("hidden")));

/* What a slot jumps to, from its first call on. */
void *trace_resolve(void **slot) __attribute__((visibility("hidden")));

#endif
