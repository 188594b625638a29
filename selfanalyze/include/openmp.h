/* Functions of the OpenMP run-times that the program uses. */
#ifndef SELFANALYZE_OPENMP_H
#define SELFANALYZE_OPENMP_H

#include <stdbool.h>

#include "functions.h"
#include "loaded.h"

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

/* Return the run-time's own function for a call of ours from `caller`: that of the run-time to which the caller's
 * library is bound. Looked up once per library, then without a lock. If there is none, the program ends with a line, as
 * the loader would have ended it. Not async-signal-safe; thread-safe. */
void *openmp_real(enum openmp_function function, const void *caller);

/* Like the standard's functions of these names, for the run-time of the caller; 0 if that is unknown. */
int openmp_max_threads(const void *caller);
int openmp_level(const void *caller);

/* Access to the number of threads of one run-time, which stays loaded from then on. */
struct openmp_threads {
    int (*get)(void);
    void (*set)(int);
};

/* Return it for the caller's run-time; both members are NULL if that is unknown. */
struct openmp_threads openmp_hold_threads(const void *caller);

/* The OpenMP run-time to which an object of the program is bound.
 *
 * A process may contain several: each Python wheel brings a copy, plug-ins have their own, and code of GCC and Clang
 * uses different ones. If one of them starts a region whose code queries another one for its thread number, results are
 * wrong. The object must get the function that the loader would have bound without this library. */

/* Return the function `name` for code in `object`: the one that the loader finds behind ours, or that of the object's
 * own scope; if both exist, that of the run-time to which other names of the object are bound. NULL if there is none. A
 * NULL `object` means code without a file. Takes the loader's locks; dlerror is clear afterwards. */
void *binding_find(const char *name, const struct object *object);

/* For code without a result of binding_find: return the function of the run-time to which its other names are bound, or
 * else of the only one in the process that has it. If there are several, the first, with a line once. */
void *binding_guess(const char *name, const struct object *object);

/* Keep the library that contains the function loaded. False on failure. */
bool binding_hold(const void *function);

/* Calls of parallel regions, in the thread that starts them. */

/* Enter a parallel region: `function` contains its code, `threads` is the requested number (0: none). `caller` is the
 * return address of the run-time's function. Each call is followed by calls_leave on the same thread, unless the
 * process ends meanwhile. errno is preserved. */
void calls_enter(const void *function, unsigned int threads, const void *caller);
void calls_leave(void);

/* Make the calling thread the watched one, if there is none. False: another one is watched, or the library is
 * disabled. */
bool calls_own(void);

/* Functions that fork_call_x86_64.S calls before and after the run-time's function. */

/* Return the run-time's function. */
void *kmpc_before(const void *function, const void *caller);
void kmpc_after(void);

#endif
