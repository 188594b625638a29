/* What a call says of its messages: ranks, tags, bytes. */
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
    int size = 0;
    if (datatype == MPI_DATATYPE_NULL || use_Type_size(datatype, &size) != MPI_SUCCESS || size < 0)
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

static void bytes(struct event *e, int64_t count, MPI_Datatype datatype)
{
    e->message.bytes = (uint64_t)count * size_of(datatype);
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

static void rooted(struct event *e, int64_t count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    collective(e, count, datatype, comm);
    peer(e, root);
}

static bool is_root(const struct event *e)
{
    return e->message.peer == e->rank || e->message.peer == ROOT_HERE;
}

/* So many for each member. */
static void times_size(struct event *e, int64_t count, MPI_Datatype datatype)
{
    bytes(e, count * e->size, datatype);
}

#define SUM(counts, datatype)                                                                                          \
    do {                                                                                                               \
        uint64_t sum_ = 0;                                                                                             \
        for (int i_ = 0; i_ < e->size; i_++)                                                                           \
            sum_ += (uint64_t)(counts)[i_];                                                                            \
        bytes(e, (int64_t)sum_, datatype);                                                                             \
    } while (0)
#define SUM_TYPES(counts, datatypes)                                                                                   \
    do {                                                                                                               \
        for (int i_ = 0; i_ < e->size; i_++)                                                                           \
            e->message.bytes += (uint64_t)(counts)[i_] * ((counts)[i_] > 0 ? size_of((datatypes)[i_]) : 0);            \
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
