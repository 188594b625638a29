/* The exit handlers of MPI's own library, for a process that ends without those of its program. */
#ifndef TRACE_MPI_EXIT_H
#define TRACE_MPI_EXIT_H

/* From here on it is seen which handle MPI's library registers its handlers under. */
void mpi_exit_watch(void);

/* Runs them, once. Not async-signal-safe. */
void mpi_exit_run(void);

#endif
