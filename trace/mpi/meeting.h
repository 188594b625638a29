/* Agreement of all processes on whether they end together. For wrappers.c alone. Thread safety: for one thread at a
 * time, which stop_after.c ensures. */
#ifndef INCPROF_TRACE_MEETING_H
#define INCPROF_TRACE_MEETING_H

#include <time.h>

#include "event.h"
#include "used.h"

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

#endif
