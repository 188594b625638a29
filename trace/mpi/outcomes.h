/* Received messages and completed requests. */
#ifndef INCPROF_TRACE_OUTCOMES_H
#define INCPROF_TRACE_OUTCOMES_H

#include "event.h"
#include "fields.h"
#include "used.h"

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

#endif
