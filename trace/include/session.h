/* When MPI calls are traced: from the first one of a process to its end. */
#ifndef TRACE_SESSION_H
#define TRACE_SESSION_H

struct meeting;

/* The first MPI call: events are kept from here on, and written when MPI says which rank this is. `mpi`: in words;
 * `meeting`: of its processes. Not async-signal-safe. */
void session_open(const char *mpi, const struct meeting *meeting);

#endif
