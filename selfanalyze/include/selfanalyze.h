/* Mark the loops of a program for incprof selfanalyze, if its source is available.
 *
 *     sa_region_begin("time steps", steps);          // steps: 0 if unknown
 *     for (int i = 0; i < steps; i++) {
 *         sa_iteration("time steps");
 *         ...
 *     }
 *     sa_region_end("time steps");
 *
 * Without the library the calls have no effect. They are for the thread that starts the parallel regions; in others
 * they do nothing. Before glibc 2.34, link with -ldl.
 */
#ifndef SELFANALYZE_H
#define SELFANALYZE_H

#include <dlfcn.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Return the library's function of that name, or NULL. Looked up once per call site's file and name. */
#define SA_CALL_(name, type, arguments)                                                                                \
    do {                                                                                                               \
        static void *sa_found_;                                                                                        \
        static int sa_looked_;                                                                                         \
        if (!__atomic_load_n(&sa_looked_, __ATOMIC_ACQUIRE)) {                                                         \
            __atomic_store_n(&sa_found_, dlsym(NULL, name), __ATOMIC_RELAXED);                                         \
            __atomic_store_n(&sa_looked_, 1, __ATOMIC_RELEASE);                                                        \
        }                                                                                                              \
        void *sa_now_ = __atomic_load_n(&sa_found_, __ATOMIC_RELAXED);                                                 \
        if (sa_now_)                                                                                                   \
            ((type)sa_now_) arguments;                                                                                 \
    } while (0)

/* Begin a loop. `iterations`: their total number in the run, or 0. */
static inline void sa_region_begin(const char *name, long iterations)
{
    SA_CALL_("sa_region_begin", void (*)(const char *, long), (name, iterations));
}

/* Begin an iteration of the loop, and the loop itself if necessary. */
static inline void sa_iteration(const char *name)
{
    SA_CALL_("sa_iteration", void (*)(const char *), (name));
}

/* End the loop, and its last iteration. */
static inline void sa_region_end(const char *name)
{
    SA_CALL_("sa_region_end", void (*)(const char *), (name));
}

/* The paper's call, for programs that detect periods themselves: begin a period of `length` parallel regions, the first
 * of which has its function at `address`. */
static inline void sa_init_parallel_region(const void *address, int length)
{
    SA_CALL_("sa_init_parallel_region", void (*)(const void *, int), (address, length));
}

#ifdef __cplusplus
}
#endif
#endif
