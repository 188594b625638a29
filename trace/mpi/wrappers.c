/* The MPI-specific part of the tracer: compiled against an MPI's mpi.h, by its mpicc, and loaded into programs that use
 * it. Each function of the tables has two wrappers, MPI_* and PMPI_*: C programs call the first, Fortran bindings
 * either. Each calls the next function of its own name, so that another tool in between keeps its place. For MPI 3.0
 * and later. */
#define _GNU_SOURCE
#include <mpi.h>
#include <time.h>

#include "event.h"
#include "handles.h"

/* Received messages and completed requests. */

/* The wrappers need the status: if the program passes none, they use their own. */
#define OWN_STATUS(status)                                                                                             \
    if ((status) == MPI_STATUS_IGNORE) {                                                                               \
        (status) = incprof_mpi_room(e, 1, sizeof(MPI_Status));                                                         \
        if ((status) == NULL)                                                                                          \
            (status) = MPI_STATUS_IGNORE;                                                                              \
    }
#define OWN_STATUSES(count, statuses)                                                                                  \
    if ((statuses) == MPI_STATUSES_IGNORE && (count) > 0) {                                                            \
        (statuses) = incprof_mpi_room(e, 1, (uint64_t)(count) * sizeof(MPI_Status));                                   \
        if ((statuses) == NULL)                                                                                        \
            (statuses) = MPI_STATUSES_IGNORE;                                                                          \
    }

static void read_status(struct message *into, const MPI_Status *status)
{
    MPI_Count count = 0;
    *into = (struct message){rank_of(status->MPI_SOURCE), tag_of(status->MPI_TAG), 0};
    if (use_Get_elements_x(status, MPI_BYTE, &count) == MPI_SUCCESS && count > 0)
        into->bytes = (uint64_t)count;
}

static void received(struct event *e, const MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    read_status(&e->actual, status);
    e->fields |= HAS_ACTUAL;
}

static void put_pending(struct event *e, const MPI_Request *request, bool receives)
{
    incprof_mpi_request(e, BITS(*request), receives);
}

static void make_template(struct event *e, const MPI_Request *request, bool receives)
{
    incprof_mpi_template(e, BITS(*request), receives);
}

static void start(struct event *e, int count, const MPI_Request *requests)
{
    for (int i = 0; i < count; i++)
        incprof_mpi_start(e, BITS(requests[i]));
}

/* Save the handles before the call, because they change when their requests complete. */
static void hold(struct event *e, int count, const MPI_Request *requests)
{
    uint64_t *held = count > 0 ? incprof_mpi_room(e, 0, (uint64_t)count * sizeof *held) : NULL;
    for (int i = 0; held != NULL && i < count; i++)
        held[i] = requests[i] == MPI_REQUEST_NULL ? UINT64_MAX : BITS(requests[i]);
    e->held_count = held != NULL ? count : 0;
    e->held = requests;
}

static void end_one(struct event *e, const uint64_t *held, int index, const MPI_Status *status)
{
    struct message *came = held[index] != UINT64_MAX ? incprof_mpi_complete(e, held[index]) : NULL;
    if (came != NULL && status != MPI_STATUS_IGNORE)
        read_status(came, status);
}

static void ended(struct event *e, int index, const MPI_Status *status)
{
    const uint64_t *held = incprof_mpi_room(e, 0, 0);
    if (held != NULL && index != MPI_UNDEFINED)
        end_one(e, held, index, status);
}

static void all_ended(struct event *e, int count, const MPI_Status *statuses)
{
    const uint64_t *held = incprof_mpi_room(e, 0, 0);
    for (int i = 0; held != NULL && i < count; i++)
        if (statuses == MPI_STATUSES_IGNORE)
            end_one(e, held, i, MPI_STATUS_IGNORE);
        else if (!(e->fields & HAS_FAILED) || statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            end_one(e, held, i, &statuses[i]);
}

static void put_some_completed(struct event *e, int count, const int *indices, const MPI_Status *statuses)
{
    const uint64_t *held = incprof_mpi_room(e, 0, 0);
    for (int i = 0; held != NULL && count != MPI_UNDEFINED && i < count; i++)
        end_one(e, held, indices[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
}

/* Return whether a failed call has set statuses, each with the error of its request. */
static bool has_statuses(const struct event *e, int error)
{
    int class = MPI_SUCCESS;
    return e->held_count > 0 && use_Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS;
}

/* After a call that has failed otherwise: requests whose handles are gone have completed. */
static void completions_ended(struct event *e)
{
    const uint64_t *held = incprof_mpi_room(e, 0, 0);
    const MPI_Request *requests = e->held;
    for (int i = 0; i < e->held_count; i++)
        if (requests[i] == MPI_REQUEST_NULL)
            end_one(e, held, i, MPI_STATUS_IGNORE);
}

static void forget(const MPI_Request *request)
{
    incprof_mpi_forget(BITS(*request));
}

/* Agreement of all processes on whether they end together. Thread safety: for one thread at a time, which stop_after.c
 * ensures. */

static MPI_Comm meeting_comm;
static MPI_Request meeting_request;
static int collective_ends, meeting_sum;

static bool meeting_is_over(void)
{
    int over = 0;
    return use_Test(&meeting_request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS && over;
}

/* Set up the meeting. A process that is not traced never joins, so the wait is limited. */
static bool meeting_make(unsigned patience_s)
{
    const struct timespec step = {.tv_nsec = 1000000};
    if (use_Comm_idup(MPI_COMM_WORLD, &meeting_comm, &meeting_request) != MPI_SUCCESS)
        return false;
    for (unsigned left = patience_s * 1000; !meeting_is_over(); left--) {
        if (left == 0)
            return false;
        nanosleep(&step, NULL);
    }
    return true;
}

static void meeting_join(bool ends)
{
    collective_ends = ends;
    if (use_Iallreduce(&collective_ends, &meeting_sum, 1, MPI_INT, MPI_MIN, meeting_comm, &meeting_request) !=
        MPI_SUCCESS)
        meeting_request = MPI_REQUEST_NULL;
}

static int meeting_result(void)
{
    return meeting_is_over() ? meeting_sum : -1;
}

static void meeting_abort(int status)
{
    use_Abort(MPI_COMM_WORLD, status);
}

static const struct meeting meeting = {meeting_make, meeting_join, meeting_result, meeting_abort};

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
static inline void unwound(struct unwind_guard *unwind_guard)
{
    if (unwind_guard->event != NULL)
        incprof_mpi_left(unwind_guard);
}

/* The wrappers. */
#define WRAPPER(prefix, name, slot, parameters, arguments, before, after)                                              \
    static int prefix##name##_wrapper parameters                                                                       \
    {                                                                                                                  \
        __typeof__(&prefix##name) real = (__typeof__(&prefix##name))next[slot];                                        \
        struct unwind_guard unwind_guard __attribute__((cleanup(unwound)));                                            \
        unwind_guard.event = NULL;                                                                                     \
        struct event *e = incprof_mpi_enter(&unwind_guard, FUNCTION_##name, __builtin_return_address(0));              \
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
        incprof_mpi_leave(&unwind_guard);                                                                              \
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
