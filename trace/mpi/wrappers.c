/* The part of the tracer that knows an MPI: compiled against its mpi.h, by its mpicc, and loaded into programs that
 * use it. There are two wrappers for each function of the tables, as MPI_* and as PMPI_*: C programs call the one, the
 * Fortran bindings call either, and each goes on to the next of its own name, so that another tool between keeps its
 * place. For MPI 3.0 and later. */
#define _GNU_SOURCE
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>

#include "event.h"
#include "functions.h"

#define BITS(handle) ((uint64_t)(uintptr_t)(handle))
#define MOST_MEMBERS 1000000 /* in words of a communicator's members; of more, only rank and size are kept */

static void *next[2 * FUNCTION_COUNT];

/* What the wrappers themselves call: not seen by anybody. */
/* clang-format off */
#define FOR_EACH_USED(DO)                                                                                              \
    DO(Comm_rank)                                                                                                      \
    DO(Comm_size) DO(Comm_group) DO(Comm_remote_size) DO(Comm_remote_group) DO(Comm_test_inter) DO(Group_size)         \
        DO(Group_rank) DO(Group_translate_ranks) DO(Group_free) DO(Type_size) DO(Get_elements_x) DO(Query_thread)      \
            DO(Win_get_group)
/* clang-format on */
#define DECLARE_USED(name) static __typeof__(&PMPI_##name) use_##name;
FOR_EACH_USED(DECLARE_USED)

static bool find(void *(*look_up)(const char *name))
{
#define FIND_USED(name)                                                                                                \
    use_##name = (__typeof__(use_##name))look_up("PMPI_" #name);                                                       \
    if (use_##name == NULL)                                                                                            \
        return false;
    FOR_EACH_USED(FIND_USED)
    return true;
}

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

/* Members of a group in the world, in stretches. What is none of this world has rank -1. */
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
    use_Comm_rank(comm, &rank);
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
    free(local);
    free(remote);
}

static void on(struct event *e, MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && !incprof_mpi_object(e, OBJECT_COMM, BITS(comm)))
        describe_comm(e, comm);
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

/* The calls want to know what came: where the program does not, the status is ours. */
#define OWN_STATUS(status)                                                                                             \
    if ((status) == MPI_STATUS_IGNORE)                                                                                 \
    (status) = incprof_mpi_room(e, 1, sizeof(MPI_Status))
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

static void put_under_way(struct event *e, const MPI_Request *request, bool receives)
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

/* Handles change when their requests end: they are kept before. */
static void hold(struct event *e, int count, const MPI_Request *requests)
{
    uint64_t *held = count > 0 ? incprof_mpi_room(e, 0, (uint64_t)count * sizeof *held) : NULL;
    for (int i = 0; held != NULL && i < count; i++)
        held[i] = requests[i] == MPI_REQUEST_NULL ? UINT64_MAX : BITS(requests[i]);
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
        end_one(e, held, i, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
}

static void some_ended(struct event *e, int count, const int *indices, const MPI_Status *statuses)
{
    const uint64_t *held = incprof_mpi_room(e, 0, 0);
    for (int i = 0; held != NULL && count != MPI_UNDEFINED && i < count; i++)
        end_one(e, held, indices[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
}

static void forget(const MPI_Request *request)
{
    incprof_mpi_forget(BITS(*request));
}

/* The event keeps the communicator that it was called with. */
static void new_comm(struct event *e, const MPI_Comm *comm)
{
    struct event made = *e;
    if (*comm == MPI_COMM_NULL)
        return;
    incprof_mpi_drop_object(OBJECT_COMM, BITS(*comm));
    describe_comm(&made, *comm);
    e->made_object = made.object;
    e->fields |= HAS_NEW;
}

static void drop_comm(const MPI_Comm *comm)
{
    incprof_mpi_drop_object(OBJECT_COMM, BITS(*comm));
}

static void describe_win(struct event *e, MPI_Win win)
{
    struct members *local = NULL;
    MPI_Group group;
    int rank = 0, size = 0, locals = 0;
    if (use_Win_get_group(win, &group) == MPI_SUCCESS) {
        use_Group_rank(group, &rank);
        use_Group_size(group, &size);
        locals = describe_group(group, size, &local);
        use_Group_free(&group);
    }
    incprof_mpi_add_object(e, OBJECT_WIN, BITS(win), rank, size, local, locals, NULL, 0, NULL);
    free(local);
}

static void in_window(struct event *e, MPI_Win win)
{
    if (win != MPI_WIN_NULL && !incprof_mpi_object(e, OBJECT_WIN, BITS(win)))
        describe_win(e, win);
}

static void new_win(struct event *e, const MPI_Win *win)
{
    struct event made = *e;
    incprof_mpi_drop_object(OBJECT_WIN, BITS(*win));
    describe_win(&made, *win);
    e->made_object = made.object;
    e->fields |= HAS_NEW;
}

static void drop_win(const MPI_Win *win)
{
    incprof_mpi_drop_object(OBJECT_WIN, BITS(*win));
}

static void at_target(struct event *e, int64_t count, MPI_Datatype datatype, int rank, MPI_Win win)
{
    in_window(e, win);
    peer(e, rank);
    bytes(e, count, datatype);
}

static void with_file(struct event *e, MPI_File file)
{
    if (file != MPI_FILE_NULL && !incprof_mpi_object(e, OBJECT_FILE, BITS(file)))
        incprof_mpi_add_object(e, OBJECT_FILE, BITS(file), 0, 1, NULL, 0, NULL, 0, NULL);
}

static void in_file(struct event *e, int64_t count, MPI_Datatype datatype, MPI_File file)
{
    with_file(e, file);
    bytes(e, count, datatype);
}

static void new_file(struct event *e, const MPI_File *file, const char *name)
{
    struct event made = *e;
    incprof_mpi_drop_object(OBJECT_FILE, BITS(*file));
    incprof_mpi_add_object(&made, OBJECT_FILE, BITS(*file), 0, 1, NULL, 0, NULL, 0, name);
    e->made_object = made.object;
    e->fields |= HAS_NEW;
}

static void drop_file(const MPI_File *file)
{
    incprof_mpi_drop_object(OBJECT_FILE, BITS(*file));
}

static void started(void)
{
    int rank = 0, size = 1, level = MPI_THREAD_SINGLE;
    use_Comm_rank(MPI_COMM_WORLD, &rank);
    use_Comm_size(MPI_COMM_WORLD, &size);
    use_Query_thread(&level);
    incprof_mpi_started(rank, size, level == MPI_THREAD_MULTIPLE);
}

/* The wrappers. */
#define WRAPPER(prefix, name, slot, parameters, arguments, before, after)                                              \
    static int prefix##name##_wrapper parameters                                                                       \
    {                                                                                                                  \
        __typeof__(&prefix##name) real = (__typeof__(&prefix##name))next[slot];                                        \
        struct event *e = incprof_mpi_enter(FUNCTION_##name, __builtin_return_address(0));                             \
        if (e == NULL)                                                                                                 \
            return real arguments;                                                                                     \
        before;                                                                                                        \
        incprof_mpi_begin(e);                                                                                          \
        int result = real arguments;                                                                                   \
        incprof_mpi_end(e, result);                                                                                    \
        if (result == MPI_SUCCESS) {                                                                                   \
            after;                                                                                                     \
        }                                                                                                              \
        incprof_mpi_leave(e);                                                                                          \
        return result;                                                                                                 \
    }
#if MPI_VERSION < 4
#define NO_LARGE_COUNTS
#undef IF_FOUR
#define IF_FOUR(...)
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

TRACE_API const struct wrappers incprof_mpi_wrappers = {TRACE_ABI, FUNCTION_COUNT, MPI_IN_WORDS, entry, next, find};
