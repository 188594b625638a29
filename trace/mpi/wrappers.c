/* The MPI-specific part of the tracer: compiled against an MPI's mpi.h, by its mpicc, and loaded into programs that use
 * it. Each function of the tables has two wrappers, MPI_* and PMPI_*: C programs call the first, Fortran bindings
 * either. Each calls the next function of its own name, so that another tool in between keeps its place. For MPI 3.0
 * and later. */
#define _GNU_SOURCE
#include <mpi.h>

#include "event.h"
#include "fields.h"
#include "functions.h"
#include "handles.h"
#include "meeting.h"
#include "outcomes.h"
#include "used.h"

static void *next[2 * FUNCTION_COUNT];

static void started(void)
{
    int rank = 0, size = 1, level = MPI_THREAD_SINGLE;
    use_Comm_rank(MPI_COMM_WORLD, &rank);
    use_Comm_size(MPI_COMM_WORLD, &size);
    use_Query_thread(&level);
    describe_from_now();
    incprof_mpi_started(rank, size, level == MPI_THREAD_MULTIPLE);
}

/* Handle an exception that passes through the wrapper, which is compiled with -fexceptions. */
static inline void unwound(struct stay *stay)
{
    if (stay->event != NULL)
        incprof_mpi_left(stay);
}

/* The wrappers. */
#define WRAPPER(prefix, name, slot, parameters, arguments, before, after)                                              \
    static int prefix##name##_wrapper parameters                                                                       \
    {                                                                                                                  \
        __typeof__(&prefix##name) real = (__typeof__(&prefix##name))next[slot];                                        \
        struct stay stay __attribute__((cleanup(unwound)));                                                            \
        stay.event = NULL;                                                                                             \
        struct event *e = incprof_mpi_enter(&stay, FUNCTION_##name, __builtin_return_address(0));                      \
        if (e == NULL)                                                                                                 \
            return real arguments;                                                                                     \
        before;                                                                                                        \
        incprof_mpi_begin(e);                                                                                          \
        int result = real arguments;                                                                                   \
        incprof_mpi_end(e, result);                                                                                    \
        if (result == MPI_SUCCESS || has_statuses(e, result)) {                                                        \
            after;                                                                                                     \
        } else {                                                                                                       \
            completions_ended(e);                                                                                      \
        }                                                                                                              \
        incprof_mpi_leave(&stay);                                                                                      \
        return result;                                                                                                 \
    }
#if MPI_VERSION < 4
#define NO_LARGE_COUNTS
#undef IF_FOUR
#define IF_FOUR(...)
#endif

/* Integer arguments of MPI_Pcontrol in registers, after the first: 5, or 7. */
#ifdef __x86_64__
#define IF_SEVEN(...)
#else
#define IF_SEVEN(...) __VA_ARGS__
#endif

#define CALL_(name, lower, kind, parameters, arguments, before, after)                                                 \
    WRAPPER(MPI_, name, 2 * FUNCTION_##name, parameters, arguments, before, after)                                     \
    WRAPPER(PMPI_, name, 2 * FUNCTION_##name + 1, parameters, arguments, before, after)
#include "every_call.h"

static void *const entry[2 * FUNCTION_COUNT] = {
#define CALL_(name, ...)                                                                                               \
    [2 * FUNCTION_##name] = MPI_##name##_wrapper, [2 * FUNCTION_##name + 1] = PMPI_##name##_wrapper,
#include "every_call.h"
};

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#if defined(OMPI_MAJOR_VERSION)
#define MPI_IN_WORDS "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION)
#elif defined(I_MPI_VERSION)
#define MPI_IN_WORDS "Intel MPI " I_MPI_VERSION
#elif defined(MVAPICH2_VERSION)
#define MPI_IN_WORDS "MVAPICH2 " MVAPICH2_VERSION
#elif defined(MPICH_VERSION)
#define MPI_IN_WORDS "MPICH " MPICH_VERSION
#else
#define MPI_IN_WORDS "MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION)
#endif

TRACE_API const struct wrappers incprof_mpi_wrappers = {TRACE_ABI, FUNCTION_COUNT, MPI_IN_WORDS, entry,
                                                        next,      find,           &meeting};
