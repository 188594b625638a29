/* Does what MPI programs do, in an order that a seed draws: draws SEED STEPS. All ranks draw the same. What each has
 * received becomes a number, and rank 0 prints all of them. Arguments that the standard calls insignificant are
 * garbage. Nothing here depends on which message comes first, so that every run makes the same calls. */
#include <mpi.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64 /* ranks */
#define WORDS 1024

static void *volatile const garbage = (void *)64; /* MPIs have uses for smaller ones */
#define GARBAGE garbage
static uint64_t dice, folded = 1;
static int rank, size, level, send[MOST * WORDS], receive[MOST * WORDS];
static int counts[MOST], places[MOST];

static uint64_t draw(uint64_t below)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (dice >> 11) % below;
}

static void fold(int count)
{
    for (int i = 0; i < count; i++)
        folded = folded * 1000003 + (uint64_t)(uint32_t)receive[i];
}

static void fill(int count)
{
    for (int i = 0; i < count; i++)
        send[i] = (int)(folded >> 7) + 31 * rank + i;
    memset(receive, 0, sizeof receive);
}

/* Comm may be a smaller one: its own ranks. */
static void look(MPI_Comm comm, int *own, int *all)
{
    MPI_Comm_rank(comm, own);
    MPI_Comm_size(comm, all);
}

static void ring(MPI_Comm comm)
{
    int own, all, count = 1 + (int)draw(WORDS);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    look(comm, &own, &all);
    fill(count);
    MPI_Irecv(receive, count, MPI_INT, (own + all - 1) % all, 3, comm, &requests[0]);
    MPI_Isend(send, count, MPI_INT, (own + 1) % all, 3, comm, &requests[1]);
    if (draw(2) == 0) {
        MPI_Waitall(2, requests, draw(2) == 0 ? MPI_STATUSES_IGNORE : statuses);
    } else {
        int index;
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        MPI_Waitany(2, requests, &index, &statuses[0]);
    }
    fold(count);
}

static void exchange(MPI_Comm comm)
{
    int own, all, count = 1 + (int)draw(WORDS);
    look(comm, &own, &all);
    fill(count);
    MPI_Sendrecv(send, count, MPI_INT, (own + 1) % all, 4, receive, count, MPI_INT, (own + all - 1) % all, 4, comm,
                 MPI_STATUS_IGNORE);
    fold(count);
    MPI_Sendrecv(send, count, MPI_INT, MPI_PROC_NULL, 4, receive, count, MPI_INT, MPI_PROC_NULL, 4, comm,
                 MPI_STATUS_IGNORE);
}

static void probed(MPI_Comm comm)
{
    int own, all, count = 0;
    MPI_Request request;
    MPI_Status status;
    look(comm, &own, &all);
    fill(8);
    MPI_Isend(send, 1 + (int)draw(8), MPI_INT, (own + 1) % all, 5, comm, &request);
    MPI_Probe(MPI_ANY_SOURCE, 5, comm, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    MPI_Recv(receive, count, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    fold(count);
    MPI_Barrier(comm);
}

static void persistent(MPI_Comm comm)
{
    int own, all, count = 1 + (int)draw(64), turns = 1 + (int)draw(4);
    MPI_Request requests[2];
    look(comm, &own, &all);
    MPI_Recv_init(receive, count, MPI_INT, (own + all - 1) % all, 6, comm, &requests[0]);
    MPI_Send_init(send, count, MPI_INT, (own + 1) % all, 6, comm, &requests[1]);
    for (int i = 0; i < turns; i++) {
        fill(count);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        fold(count);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Counts of 0 to 15 for each rank, which all draw alike. */
static int shares(int all)
{
    int sum = 0;
    for (int i = 0; i < all; i++) {
        counts[i] = (int)draw(16);
        places[i] = sum;
        sum += counts[i];
    }
    return sum;
}

static void rooted(MPI_Comm comm)
{
    int own, all, sum;
    look(comm, &own, &all);
    int root = (int)draw((uint64_t)all);
    sum = shares(all);
    fill(sum + 16);
    if (own == root) {
        MPI_Gatherv(send, counts[own], MPI_INT, receive, counts, places, MPI_INT, root, comm);
        fold(sum);
        MPI_Scatterv(send, counts, places, MPI_INT, receive, counts[own], MPI_INT, root, comm);
        MPI_Reduce(send, receive, 8, MPI_INT, MPI_SUM, root, comm);
        fold(8);
        MPI_Gather(MPI_IN_PLACE, 0, MPI_INT, receive, 4, MPI_INT, root, comm);
        MPI_Scatter(send, 4, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, comm);
    } else {
        MPI_Gatherv(send, counts[own], MPI_INT, GARBAGE, GARBAGE, GARBAGE, MPI_INT, root, comm);
        MPI_Scatterv(GARBAGE, GARBAGE, GARBAGE, MPI_INT, receive, counts[own], MPI_INT, root, comm);
        fold(counts[own]);
        MPI_Reduce(send, GARBAGE, 8, MPI_INT, MPI_SUM, root, comm);
        MPI_Gather(send, 4, MPI_INT, GARBAGE, 0, MPI_INT, root, comm);
        MPI_Scatter(GARBAGE, 0, MPI_INT, receive, 4, MPI_INT, root, comm);
        fold(4);
    }
    MPI_Bcast(own == root ? send : receive, 16, MPI_INT, root, comm);
    fold(own == root ? 0 : 16);
}

static void all_alike(MPI_Comm comm)
{
    int own, all;
    look(comm, &own, &all);
    fill(4 * all);
    MPI_Allreduce(send, receive, 4, MPI_INT, MPI_MAX, comm);
    fold(4);
    MPI_Allgather(send, 2, MPI_INT, receive, 2, MPI_INT, comm);
    fold(2 * all);
    MPI_Alltoall(send, 4, MPI_INT, receive, 4, MPI_INT, comm);
    fold(4 * all);
    MPI_Scan(send, receive, 4, MPI_INT, MPI_SUM, comm);
    fold(4);
    MPI_Reduce_scatter_block(send, receive, 4, MPI_INT, MPI_SUM, comm);
    fold(4);
}

static void without_waiting(MPI_Comm comm)
{
    int own, all;
    MPI_Request requests[3];
    look(comm, &own, &all);
    fill(8);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(send, receive, 8, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Ibcast(own == 0 ? send + 8 : receive + 8, 8, MPI_INT, 0, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    fold(own == 0 ? 8 : 16);
}

/* The members of this group: one of them sends to, or gets from, all of the other group. */
static void between_groups(MPI_Comm comm)
{
    int own, all, far, half;
    MPI_Comm part, inter;
    look(comm, &own, &all);
    if (all < 2)
        return;
    half = 1 + (int)draw((uint64_t)all - 1);
    int low = own < half, leader = low ? half : 0;
    MPI_Comm_split(comm, low, 0, &part);
    MPI_Intercomm_create(part, 0, comm, leader, 7, &inter);
    MPI_Comm_remote_size(inter, &far);
    MPI_Comm_rank(part, &own);
    /* From rank 0 of the low group to the high one. */
    fill(4 * MOST);
    shares(MOST);
    if (!low) {
        MPI_Bcast(receive, 4, MPI_INT, 0, inter);
        fold(4);
        MPI_Scatter(GARBAGE, 0, MPI_INT, receive, 2, MPI_INT, 0, inter);
        MPI_Scatterv(GARBAGE, GARBAGE, GARBAGE, MPI_INT, receive, counts[own], MPI_INT, 0, inter);
        MPI_Gather(send, 2, MPI_INT, GARBAGE, 0, MPI_INT, 0, inter);
        MPI_Gatherv(send, counts[own], MPI_INT, GARBAGE, GARBAGE, GARBAGE, MPI_INT, 0, inter);
        MPI_Reduce(send, GARBAGE, 2, MPI_INT, MPI_SUM, 0, inter);
        fold(2);
    } else if (own == 0) {
        MPI_Bcast(send, 4, MPI_INT, MPI_ROOT, inter);
        MPI_Scatter(send, 2, MPI_INT, GARBAGE, 0, MPI_INT, MPI_ROOT, inter);
        MPI_Scatterv(send, counts, places, MPI_INT, GARBAGE, 0, MPI_INT, MPI_ROOT, inter);
        MPI_Gather(GARBAGE, 0, MPI_INT, receive, 2, MPI_INT, MPI_ROOT, inter);
        MPI_Gatherv(GARBAGE, 0, MPI_INT, receive, counts, places, MPI_INT, MPI_ROOT, inter);
        fold(4);
        MPI_Reduce(GARBAGE, receive, 2, MPI_INT, MPI_SUM, MPI_ROOT, inter);
        fold(2);
    } else {
        MPI_Bcast(GARBAGE, 0, MPI_INT, MPI_PROC_NULL, inter);
        MPI_Scatter(GARBAGE, 0, MPI_INT, GARBAGE, 0, MPI_INT, MPI_PROC_NULL, inter);
        MPI_Scatterv(GARBAGE, GARBAGE, GARBAGE, MPI_INT, GARBAGE, 0, MPI_INT, MPI_PROC_NULL, inter);
        MPI_Gather(GARBAGE, 0, MPI_INT, GARBAGE, 0, MPI_INT, MPI_PROC_NULL, inter);
        MPI_Gatherv(GARBAGE, 0, MPI_INT, GARBAGE, GARBAGE, GARBAGE, MPI_INT, MPI_PROC_NULL, inter);
    }
    MPI_Allreduce(send, receive, 2, MPI_INT, MPI_SUM, inter);
    fold(2);
    MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
}

static void types(MPI_Comm comm)
{
    int own, all, count = 1 + (int)draw(8);
    MPI_Datatype vector, large;
    look(comm, &own, &all);
    fill(64);
    MPI_Type_vector(count, 2, 4, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    MPI_Sendrecv(send, 1, vector, (own + 1) % all, 8, receive, 2 * count, MPI_INT, (own + all - 1) % all, 8, comm,
                 MPI_STATUS_IGNORE);
    fold(2 * count);
    /* 4 GiB and more: none of them is sent. */
    MPI_Type_contiguous(1 << 30, MPI_INT, &large);
    MPI_Type_commit(&large);
    MPI_Bcast(receive, 0, large, 0, comm);
    MPI_Type_free(&large);
    MPI_Type_free(&vector);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    return PMPI_Comm_free(value);
}

static void attributes(MPI_Comm comm)
{
    int key;
    MPI_Comm user, own;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_dup(comm, &user);
    MPI_Comm_dup(user, &own);
    MPI_Comm_set_attr(user, key, &own);
    ring(own);
    MPI_Comm_free(&user);
    MPI_Comm_free_keyval(&key);
}

static jmp_buf back;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(back, 1);
}

static void errors(MPI_Comm comm)
{
    MPI_Comm own;
    MPI_Errhandler handler;
    MPI_Comm_dup(comm, &own);
    /* With threads, who jumps out of MPICH leaves a lock of it behind. */
    if (draw(2) == 0 || level == MPI_THREAD_MULTIPLE) {
        MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
        folded += MPI_Send(send, 1, MPI_INT, 9999, 0, own) != MPI_SUCCESS;
    } else {
        MPI_Comm_create_errhandler(jump, &handler);
        MPI_Comm_set_errhandler(own, handler);
        if (setjmp(back) == 0)
            MPI_Send(send, 1, MPI_INT, 9999, 0, own);
        folded++;
        MPI_Errhandler_free(&handler);
    }
    MPI_Barrier(own);
    MPI_Comm_free(&own);
}

static void window(MPI_Comm comm)
{
    int own, all;
    MPI_Win win;
    look(comm, &own, &all);
    fill(8);
    MPI_Win_create(receive, 8 * sizeof *receive, sizeof *receive, MPI_INFO_NULL, comm, &win);
    MPI_Win_fence(0, win);
    MPI_Put(send, 4, MPI_INT, (own + 1) % all, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(send, 4, MPI_INT, (own + 1) % all, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    fold(4);
    folded += (uint64_t)(uint32_t)send[3];
    MPI_Win_free(&win);
}

static void communicators(MPI_Comm comm)
{
    int own, all, periodic = 1;
    MPI_Comm other;
    MPI_Request request;
    look(comm, &own, &all);
    MPI_Comm_idup(comm, &other, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    exchange(other);
    MPI_Comm_free(&other);
    MPI_Comm_split(comm, own % 2, -own, &other);
    all_alike(other);
    MPI_Comm_free(&other);
    MPI_Cart_create(comm, 1, &all, &periodic, 0, &other);
    fill(4);
    MPI_Neighbor_allgather(send, 2, MPI_INT, receive, 2, MPI_INT, other);
    fold(4);
    MPI_Comm_free(&other);
}

int main(int argc, char **argv)
{
    static void (*const all[])(MPI_Comm) = {ring,      exchange,        probed,       persistent, rooted,
                                            all_alike, without_waiting, types,        attributes, errors,
                                            window,    between_groups,  communicators};
    static unsigned long long numbers[MOST];
    int steps = argc > 2 ? atoi(argv[2]) : 0;
    dice = 0x9E3779B97F4A7C15u ^ (argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
    if (draw(2) == 0)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, (int)draw(2) == 0 ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &level);
    look(MPI_COMM_WORLD, &rank, &size);
    MPI_Comm kept = MPI_COMM_WORLD;
    for (int i = 0; i < steps; i++) {
        if (kept == MPI_COMM_WORLD && draw(4) == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &kept);
        } else if (kept != MPI_COMM_WORLD && draw(4) == 0) {
            MPI_Comm_free(&kept);
            kept = MPI_COMM_WORLD;
        }
        all[draw(sizeof all / sizeof *all)](kept);
        if (draw(8) == 0)
            MPI_Pcontrol(1, "step", i);
    }
    unsigned long long own = folded;
    MPI_Gather(&own, 1, MPI_UNSIGNED_LONG_LONG, numbers, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("%d: %llx\n", i, numbers[i]);
    MPI_Finalize();
    return 0;
}
