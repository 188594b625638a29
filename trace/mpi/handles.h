/* Communicators, windows and files: described once each, with their members, when a call first uses them. */
#ifndef INCPROF_TRACE_HANDLES_H
#define INCPROF_TRACE_HANDLES_H

#include <stdlib.h>

#include "event.h"
#include "used.h"

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
static int describe_group(MPI_Group group, int size, struct members **found)
{
    MPI_Group world;
    int *ranks = size > 0 && size <= MOST_MEMBERS ? malloc(2 * (size_t)size * sizeof *ranks) : NULL;
    int count = 0;
    *found = ranks != NULL ? malloc((size_t)size * sizeof **found) : NULL;
    if (*found != NULL && use_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS) {
        for (int i = 0; i < size; i++)
            ranks[i] = i;
        if (use_Group_translate_ranks(group, size, ranks, world, ranks + size) == MPI_SUCCESS)
            for (int i = 0; i < size; i++) {
                int rank = ranks[size + i] == MPI_UNDEFINED ? -1 : ranks[size + i];
                struct members *last = &(*found)[count > 0 ? count - 1 : 0];
                if (count > 0 && last->count == 1) {
                    last->stride = rank - last->first;
                    last->count = 2;
                } else if (count > 0 && rank - last->first == last->count * last->stride) {
                    last->count++;
                } else {
                    (*found)[count++] = (struct members){rank, 1, 1};
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

#endif
