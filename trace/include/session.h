/* When MPI calls are traced: from the first one of a process to its end. */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

#include <stdbool.h>

struct meeting;

/* The first MPI call: events are kept from here on, and written when MPI says which rank this is. `mpi`: in words;
 * `meeting`: of its processes. Not async-signal-safe. */
void session_open(const char *mpi, const struct meeting *meeting);

/* Whether this thread has called MPI_Finalize, and so has left it. Thread-safe. */
bool session_is_over_here(void);

#endif
