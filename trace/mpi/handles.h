/* What the wrappers record of a call: its communicators, windows and files, and its messages. For wrappers.c alone. */
#ifndef INCPROF_TRACE_HANDLES_H
#define INCPROF_TRACE_HANDLES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "event.h"

/* MPI functions that the wrappers themselves call, invisible to other tools. */

#define BITS(handle) ((uint64_t)(uintptr_t)(handle))

/* clang-format off */
#define FOR_EACH_USED(DO)                                                                                              \
    DO(Comm_rank)                                                                                                      \
    DO(Comm_size) DO(Comm_group) DO(Comm_remote_size) DO(Comm_remote_group) DO(Comm_test_inter) DO(Group_size)         \
        DO(Group_rank) DO(Group_translate_ranks) DO(Group_free) DO(Type_size_x) DO(Error_class) DO(Get_elements_x) DO(Query_thread)      \
            DO(Win_get_group) DO(Comm_idup) DO(Iallreduce) DO(Test) DO(Abort) DO(Comm_create_keyval) DO(Comm_set_attr)                    \
                DO(Comm_free_keyval) DO(Win_create_keyval) DO(Win_set_attr) DO(Win_free_keyval)
/* clang-format on */
#define DECLARE_USED(name) static __typeof__(&PMPI_##name) use_##name;
FOR_EACH_USED(DECLARE_USED)

/* Look up the functions. False: this is not MPI 3.0 or later. */
static bool find(void *(*look_up)(const char *name))
{
#define FIND_USED(name)                                                                                                \
    use_##name = (__typeof__(use_##name))look_up("PMPI_" #name);                                                       \
    if (use_##name == NULL)                                                                                            \
        return false;
    FOR_EACH_USED(FIND_USED)
    return true;
}

/* Communicators, windows and files: described once each, with their members, when a call first uses them. */

#define MOST_MEMBERS 1000000 /* in words of a communicator's members; for larger ones, only rank and size are kept */

/* True between MPI_Init and MPI_Finalize; a program that uses only sessions has no world. Written by the thread that
 * makes these calls. */
static bool is_up;
static int comm_key = MPI_KEYVAL_INVALID, win_key = MPI_KEYVAL_INVALID;

/* Each described communicator and window has an attribute, and is forgotten when MPI deletes the attribute, wherever
 * the object is freed, also by an untraced function or within another call. */
static int comm_freed(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    incprof_mpi_drop_object(OBJECT_COMM, BITS(comm));
    return MPI_SUCCESS;
}

static int win_freed(MPI_Win win, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    incprof_mpi_drop_object(OBJECT_WIN, BITS(win));
    return MPI_SUCCESS;
}

static void describe_from_now(void)
{
    use_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_freed, &comm_key, NULL);
    use_Win_create_keyval(MPI_WIN_NULL_COPY_FN, win_freed, &win_key, NULL);
    is_up = true;
}

static void describe_no_more(void)
{
    if (!is_up)
        return;
    is_up = false;
    use_Comm_free_keyval(&comm_key);
    use_Win_free_keyval(&win_key);
}

/* Describe the members of a group by ranges of ranks in the world. Processes outside this world have rank -1. */
static int describe_group(MPI_Group group, int size, struct members **ranges)
{
    MPI_Group world;
    int *ranks = size > 0 && size <= MOST_MEMBERS ? malloc(2 * (size_t)size * sizeof *ranks) : NULL;
    int count = 0;
    *ranges = ranks != NULL ? malloc((size_t)size * sizeof **ranges) : NULL;
    if (*ranges != NULL && use_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        for (int i = 0; i < size; i++)
            ranks[i] = i;
        if (use_Group_translate_ranks(group, size, ranks, world, ranks + size) == MPI_SUCCESS)
            for (int i = 0; i < size; i++) {
                int rank = ranks[size + i] == MPI_UNDEFINED ? -1 : ranks[size + i];
                struct members *last = &(*ranges)[count > 0 ? count - 1 : 0];
                if (count > 0 && last->count == 1) {
                    last->stride = rank - last->first;
                    last->count = 2;
                } else if (count > 0 && rank - last->first == last->count * last->stride) {
                    last->count++;
                } else {
                    (*ranges)[count++] = (struct members){rank, 1, 1};
                }
            }
        use_Group_free(&world);
    }
    free(ranks);
    return count;
}

static void describe_comm(struct event *e, MPI_Comm comm)
{
    struct members *local = NULL, *remote = NULL;
    MPI_Group group;
    int rank = 0, size = 0, is_inter = 0, locals = 0, remotes = 0;
    if (use_Comm_rank(comm, &rank) != MPI_SUCCESS) /* not a communicator */
        return;
    use_Comm_size(comm, &size);
    if (use_Comm_group(comm, &group) == MPI_SUCCESS) {
        locals = describe_group(group, size, &local);
        use_Group_free(&group);
    }
    if (use_Comm_test_inter(comm, &is_inter) == MPI_SUCCESS && is_inter) {
        use_Comm_remote_size(comm, &size);
        if (use_Comm_remote_group(comm, &group) == MPI_SUCCESS) {
            remotes = describe_group(group, size, &remote);
            use_Group_free(&group);
        }
    }
    incprof_mpi_add_object(e, OBJECT_COMM, BITS(comm), rank, size, local, locals, remote, remotes, NULL);
    use_Comm_set_attr(comm, comm_key, NULL);
    free(local);
    free(remote);
}

static void on(struct event *e, MPI_Comm comm)
{
    if (is_up && comm != MPI_COMM_NULL && !incprof_mpi_object(e, OBJECT_COMM, BITS(comm)))
        describe_comm(e, comm);
}

/* Add a new communicator; the event keeps the one that it was called with. */
static void new_comm(struct event *e, const MPI_Comm *comm)
{
    struct event made = *e;
    if (!is_up || *comm == MPI_COMM_NULL)
        return;
    incprof_mpi_drop_object(OBJECT_COMM, BITS(*comm));
    describe_comm(&made, *comm);
    e->created_object = made.object;
    e->fields |= HAS_NEW;
}

static void describe_win(struct event *e, MPI_Win win)
{
    struct members *local = NULL;
    MPI_Group group;
    int rank = 0, size = 0, locals = 0;
    if (use_Win_get_group(win, &group) != MPI_SUCCESS) /* not a window */
        return;
    use_Group_rank(group, &rank);
    use_Group_size(group, &size);
    locals = describe_group(group, size, &local);
    use_Group_free(&group);
    incprof_mpi_add_object(e, OBJECT_WIN, BITS(win), rank, size, local, locals, NULL, 0, NULL);
    use_Win_set_attr(win, win_key, NULL);
    free(local);
}

static void in_window(struct event *e, MPI_Win win)
{
    if (is_up && win != MPI_WIN_NULL && !incprof_mpi_object(e, OBJECT_WIN, BITS(win)))
        describe_win(e, win);
}

static void new_win(struct event *e, const MPI_Win *win)
{
    struct event made = *e;
    if (!is_up)
        return;
    incprof_mpi_drop_object(OBJECT_WIN, BITS(*win));
    describe_win(&made, *win);
    e->created_object = made.object;
    e->fields |= HAS_NEW;
}

static void with_file(struct event *e, MPI_File file)
{
    if (file != MPI_FILE_NULL && !incprof_mpi_object(e, OBJECT_FILE, BITS(file)))
        incprof_mpi_add_object(e, OBJECT_FILE, BITS(file), 0, 1, NULL, 0, NULL, 0, NULL);
}

static void new_file(struct event *e, const MPI_File *file, const char *name)
{
    struct event made = *e;
    incprof_mpi_drop_object(OBJECT_FILE, BITS(*file));
    incprof_mpi_add_object(&made, OBJECT_FILE, BITS(*file), 0, 1, NULL, 0, NULL, 0, name);
    e->created_object = made.object;
    e->fields |= HAS_NEW;
}

static void drop_file(const MPI_File *file)
{
    incprof_mpi_drop_object(OBJECT_FILE, BITS(*file));
}

/* The messages of a call: ranks, tags, bytes. */

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
