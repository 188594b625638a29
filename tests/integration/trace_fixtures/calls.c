/* MPI calls whose order is known, for each name of a scenario. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;
static double a[64], b[64];

static int right(void)
{
    return (rank + 1) % size;
}

static int left(void)
{
    return (rank + size - 1) % size;
}

/* Three exchanges for each sum. */
static void weights(void)
{
    for (int i = 0; i < 12; i++) {
        MPI_Sendrecv(a, 10, MPI_DOUBLE, right(), 5, b, 10, MPI_DOUBLE, left(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i % 3 == 2)
            MPI_Allreduce(a, b, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

static void master(void)
{
    if (rank == 0) {
        MPI_Status status;
        for (int i = 1; i < size; i++) {
            MPI_Recv(b, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Send(a, 1, MPI_INT, status.MPI_SOURCE, 9, MPI_COMM_WORLD);
        }
    } else {
        MPI_Send(a, rank, MPI_DOUBLE, 0, 20 + rank, MPI_COMM_WORLD);
        MPI_Recv(b, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Loops in loops, on two communicators. */
static void nested(void)
{
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            MPI_Bcast(a, 4, MPI_INT, 0, half);
            for (int k = 0; k < 2; k++)
                MPI_Barrier(half);
        }
        MPI_Reduce(a, b, 1, MPI_DOUBLE, MPI_MAX, 1, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&half);
}

static void persistent(void)
{
    MPI_Request requests[2];
    MPI_Recv_init(b, 8, MPI_DOUBLE, left(), 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(a, 8, MPI_DOUBLE, right(), 3, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 4; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&requests[0]);
    MPI_Send(a, 8, MPI_DOUBLE, right(), 3, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* Requests that end in an order of their own. */
static void any(void)
{
    MPI_Request requests[3];
    int index, count, indices[3];
    MPI_Status statuses[3];
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(b + i, 1, MPI_DOUBLE, 1, 30 + i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 2; i >= 0; i--) {
            MPI_Send(a, 0, MPI_BYTE, 1, 40 + i, MPI_COMM_WORLD);
            MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < 3; i++)
            MPI_Irecv(b + i, 8, MPI_DOUBLE, MPI_ANY_SOURCE, 50 + i, MPI_COMM_WORLD, &requests[i]);
        for (int done = 0; done < 3; done += count)
            MPI_Testsome(3, requests, &count, indices, statuses);
    } else if (rank == 1) {
        for (int i = 2; i >= 0; i--) {
            MPI_Recv(b, 0, MPI_BYTE, 0, 40 + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(a, 1, MPI_DOUBLE, 0, 30 + i, MPI_COMM_WORLD);
        }
        for (int i = 0; i < 3; i++)
            MPI_Send(a, 1 + i, MPI_DOUBLE, 0, 50 + i, MPI_COMM_WORLD);
    }
}

static MPI_Comm comms[3];

static void *exchange(void *number)
{
    int own = (int)(long)number;
    for (int i = 0; i < 50; i++) {
        MPI_Request request;
        MPI_Irecv(b + 8 * own, 1 + own, MPI_DOUBLE, left(), own, comms[own], &request);
        MPI_Send(a, 1 + own, MPI_DOUBLE, right(), own, comms[own]);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t thread[3];
    for (long i = 0; i < 3; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, exchange, (void *)i);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
}

/* One-sided, a file, neighbours and two groups. */
static void others(void)
{
    MPI_Win win;
    MPI_File file;
    MPI_Comm ring, half, both;
    int dims[] = {0}, periods[] = {1};
    MPI_Win_create(b, sizeof b, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(a, 2, MPI_DOUBLE, right(), 0, 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_File_open(MPI_COMM_WORLD, "shared.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, rank * 32, a, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Neighbor_alltoall(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, ring);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &both);
    if (rank < 2)
        MPI_Sendrecv(a, 1, MPI_INT, 0, 8, b, 1, MPI_INT, 0, 8, both, MPI_STATUS_IGNORE);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Comm_free(&ring);
}

static void control(void)
{
    MPI_Request request;
    MPI_Irecv(b, 1, MPI_INT, left(), 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(a, 1, MPI_INT, right(), 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(b, 1, MPI_INT, left(), 2, MPI_COMM_WORLD, &request);
    MPI_Pcontrol(1);
    MPI_Send(a, 1, MPI_INT, right(), 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 ends in the middle, when some of its calls have been written; the others wait for it. */
static void ends(const char *how)
{
    struct stat file = {0};
    int is_traced = access("run", F_OK) == 0;
    for (int i = 0; i < 1000; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && is_traced && i < 6000 && file.st_size < 2500; i++) {
        usleep(10000);
        stat("run/rank-00001.mpi", &file);
    }
    if (rank == 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (rank == 1 && strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (rank == 1 && strcmp(how, "segv") == 0)
        *(volatile int *)NULL = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* More than a file may hold. */
static void many(void)
{
    struct rlimit limit = {40000, 40000};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 300000; i++) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, i % 100, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    const char *scenario = argv[argc - 1];
    int provided;
    if (strcmp(scenario, "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(scenario, "weights") == 0)
        weights();
    else if (strcmp(scenario, "master") == 0)
        master();
    else if (strcmp(scenario, "nested") == 0)
        nested();
    else if (strcmp(scenario, "persistent") == 0)
        persistent();
    else if (strcmp(scenario, "any") == 0)
        any();
    else if (strcmp(scenario, "threads") == 0)
        threads();
    else if (strcmp(scenario, "others") == 0)
        others();
    else if (strcmp(scenario, "control") == 0)
        control();
    else if (strcmp(scenario, "many") == 0)
        many();
    else
        ends(scenario);
    MPI_Finalize();
    if (rank == 0)
        printf("done\n");
    return argc > 2 ? atoi(argv[1]) : 0;
}
