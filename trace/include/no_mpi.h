/* What a program gets that has found this library's names, but has no MPI: an error, and never a crash. */
#ifndef TRACE_NO_MPI_H
#define TRACE_NO_MPI_H

/* Where such a call goes to; the first is said on stderr. Thread-safe. */
void *no_mpi(const char *name);

#endif
