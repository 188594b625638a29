/* The functions of the OpenMP run-times that the program uses. */
#ifndef SELFANALYZE_OPENMP_H
#define SELFANALYZE_OPENMP_H

/* clang-format off */
#define OPENMP_FUNCTIONS(each)                                                                                         \
    each(GOMP_parallel) each(GOMP_parallel_sections) each(GOMP_parallel_reductions)                                    \
    each(GOMP_parallel_loop_static) each(GOMP_parallel_loop_dynamic) each(GOMP_parallel_loop_guided)                   \
    each(GOMP_parallel_loop_nonmonotonic_dynamic) each(GOMP_parallel_loop_nonmonotonic_guided)                         \
    each(GOMP_parallel_loop_runtime) each(GOMP_parallel_loop_nonmonotonic_runtime)                                     \
    each(GOMP_parallel_loop_maybe_nonmonotonic_runtime)                                                                \
    each(__kmpc_fork_call) each(__kmpc_fork_call_if) each(__kmpc_push_num_threads)                                     \
    each(omp_get_max_threads) each(omp_get_level) each(omp_set_num_threads)
/* clang-format on */

#define OPENMP_NUMBER(name) OPENMP_##name,
enum openmp_function { OPENMP_FUNCTIONS(OPENMP_NUMBER) OPENMP_COUNT };
#undef OPENMP_NUMBER

/* The run-time's own function, of which ours is called from `caller`: that of the run-time which the caller's library
 * is bound to. Found once for each library, then without a lock. A program for which there is none ends, with a line,
 * as the loader would have ended it. Not async-signal-safe; thread-safe. */
void *openmp_real(enum openmp_function function, const void *caller);

/* As the functions of the standard whose names these are, for the run-time of the caller; 0 where it is not known. */
int openmp_max_threads(const void *caller);
int openmp_level(const void *caller);

/* The number of threads of one run-time, which stays loaded from here on. */
struct openmp_threads {
    int (*get)(void);
    void (*set)(int);
};

/* Both are NULL where the run-time of the caller is not known. */
struct openmp_threads openmp_hold_threads(const void *caller);

#endif
