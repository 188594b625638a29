/* What is asked of the OpenMP run-time that the program uses, and where its functions are. */
#ifndef SELFANALYZE_OPENMP_H
#define SELFANALYZE_OPENMP_H

/* The run-time's own function, of which ours is called from `caller`. Found once and kept in *slot: all users of a
 * name in a process see the same one, as they would without us. NULL if there is none. Not async-signal-safe. */
void *openmp_real(void **slot, const char *name, const void *caller);

/* As the functions of the standard whose names these are; 0 where the run-time is not found. */
int openmp_max_threads(const void *caller);
int openmp_level(const void *caller);
void openmp_set_num_threads(int threads, const void *caller);

#endif
