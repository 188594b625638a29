/* The messages of a call: ranks, tags, bytes. */
#ifndef INCPROF_TRACE_FIELDS_H
#define INCPROF_TRACE_FIELDS_H

#include "event.h"
#include "handles.h"
#include "used.h"

static int rank_of(int rank)
{
    return rank == MPI_ANY_SOURCE ? ANY : rank == MPI_PROC_NULL ? NO_PROCESS : rank == MPI_ROOT ? ROOT_HERE : rank;
}

static int tag_of(int tag)
{
    return tag == MPI_ANY_TAG ? ANY : tag;
}

static uint64_t size_of(MPI_Datatype datatype)
{
    MPI_Count size = 0;
    if (datatype == MPI_DATATYPE_NULL || use_Type_size_x(datatype, &size) != MPI_SUCCESS || size < 0)
        return 0;
    return (uint64_t)size;
}

static void peer(struct event *e, int rank)
{
    e->message.peer = rank_of(rank);
    e->fields |= HAS_PEER;
}

static void value(struct event *e, int value)
{
    e->value = value;
    e->fields |= HAS_VALUE;
}

/* Set the bytes. The datatype of a count of 0 may be anything. */
static void bytes(struct event *e, int64_t count, MPI_Datatype datatype)
{
    e->message.bytes = count != 0 ? (uint64_t)count * size_of(datatype) : 0;
    e->fields |= HAS_BYTES;
}

static void message(struct event *e, int64_t count, MPI_Datatype datatype, int rank, int tag, MPI_Comm comm)
{
    on(e, comm);
    peer(e, rank);
    e->message.tag = tag_of(tag);
    e->fields |= HAS_TAG;
    bytes(e, count, datatype);
}

static void other_message(struct event *e, int64_t count, MPI_Datatype datatype, int rank, int tag)
{
    e->other = (struct message){rank_of(rank), tag_of(tag), (uint64_t)count * size_of(datatype)};
    e->fields |= HAS_OTHER;
}

static void probe(struct event *e, int source, int tag, MPI_Comm comm)
{
    on(e, comm);
    peer(e, source);
    e->message.tag = tag_of(tag);
    e->fields |= HAS_TAG;
}

static void collective(struct event *e, int64_t count, MPI_Datatype datatype, MPI_Comm comm)
{
    on(e, comm);
    bytes(e, count, datatype);
}

/* Functions for collectives read no argument that the standard calls insignificant, because it may be anything. */
static void rooted(struct event *e, int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    collective(e, count, datatype, comm);
    peer(e, root);
}

/* On an intercommunicator, the root is MPI_PROC_NULL for processes that take no part, and MPI_ROOT for the root
 * itself. */
static void from_root(struct event *e, int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    rooted(e, root != MPI_PROC_NULL ? count : 0, datatype, root, comm);
}

static void to_root(struct event *e, int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    rooted(e, root != MPI_PROC_NULL && root != MPI_ROOT ? count : 0, datatype, root, comm);
}

/* The following query MPI, because the program's arrays must never be read by cached properties of a handle. */
static bool is_between_groups(MPI_Comm comm)
{
    int is_inter = 0;
    return comm != MPI_COMM_NULL && use_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter;
}

/* Return the own rank; -1 if there is none. */
static int own_rank(MPI_Comm comm)
{
    int rank = -1;
    return comm != MPI_COMM_NULL && use_Comm_rank(comm, &rank) == MPI_SUCCESS ? rank : -1;
}

static int partners(MPI_Comm comm)
{
    int size = 0;
    if (comm == MPI_COMM_NULL)
        return 0;
    int error = is_between_groups(comm) ? use_Comm_remote_size(comm, &size) : use_Comm_size(comm, &size);
    return error == MPI_SUCCESS ? size : 0;
}

/* On an intercommunicator, a process of the other group may have the root's number. */
static bool is_root(int root, MPI_Comm comm)
{
    return root == MPI_ROOT || (root >= 0 && !is_between_groups(comm) && root == own_rank(comm));
}

/* Set the bytes: `count` for each process. */
static void for_each(struct event *e, int64_t count, MPI_Datatype datatype, MPI_Comm comm)
{
    bytes(e, count * partners(comm), datatype);
}

/* Macros, as counts are int or MPI_Count. */
#define SUM(counts, datatype, comm)                                                                                    \
    do {                                                                                                               \
        int64_t sum_ = 0;                                                                                              \
        for (int i_ = (counts) != NULL ? partners(comm) : 0; i_ > 0; i_--)                                             \
            sum_ += (counts)[i_ - 1];                                                                                  \
        bytes(e, sum_, datatype);                                                                                      \
    } while (0)
#define SUM_TYPES(counts, datatypes, comm)                                                                             \
    do {                                                                                                               \
        for (int i_ = (counts) != NULL && (datatypes) != NULL ? partners(comm) : 0; i_ > 0; i_--)                      \
            if ((counts)[i_ - 1] > 0)                                                                                  \
                e->message.bytes += (uint64_t)(counts)[i_ - 1] * size_of((datatypes)[i_ - 1]);                         \
    } while (0)
#define OWN(counts, datatype, comm)                                                                                    \
    do {                                                                                                               \
        int rank_ = (counts) != NULL ? own_rank(comm) : -1;                                                            \
        bytes(e, rank_ >= 0 ? (counts)[rank_] : 0, datatype);                                                          \
    } while (0)

static void at_target(struct event *e, int64_t count, MPI_Datatype datatype, int rank, MPI_Win win)
{
    in_window(e, win);
    peer(e, rank);
    bytes(e, count, datatype);
}

static void in_file(struct event *e, int64_t count, MPI_Datatype datatype, MPI_File file)
{
    with_file(e, file);
    bytes(e, count, datatype);
}

#endif
