/* Steps in which ranks meet only their neighbours: no collective call between the first and the last.
 * usage: neighbours halo|wave|persistent|sendrecv|tests|alone|workers STEPS [BYTES [FILE]] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, bytes = 8;
static char out[1 << 20], in[1 << 20];

static int after(void)
{
    return (rank + 1) % size;
}

static int before(void)
{
    return (rank + size - 1) % size;
}

static void post(MPI_Request *requests)
{
    MPI_Irecv(in, bytes, MPI_CHAR, before(), 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, bytes, MPI_CHAR, after(), 1, MPI_COMM_WORLD, &requests[1]);
}

static void halo(void)
{
    MPI_Request requests[2];
    post(requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* Asks until both have come: as often as it takes. */
static void tests(void)
{
    MPI_Request requests[2];
    int over = 0;
    post(requests);
    while (!over) {
        MPI_Testall(2, requests, &over, MPI_STATUSES_IGNORE);
        usleep(50);
    }
}

static void wave(void)
{
    if (rank > 0)
        MPI_Recv(in, bytes, MPI_CHAR, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(200);
    if (rank < size - 1)
        MPI_Send(out, bytes, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD);
}

static void persistent(int step)
{
    static MPI_Request requests[2];
    if (step == 0) {
        MPI_Recv_init(in, bytes, MPI_CHAR, before(), 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Send_init(out, bytes, MPI_CHAR, after(), 1, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void sendrecv(MPI_Comm comm, int to, int from)
{
    MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
}

/* Rank 0 gives work to any free rank; the last rank is ten times as fast. */
static void workers(int steps)
{
    MPI_Status status;
    for (int step = 0; rank == 0 && step < steps + size - 1; step++) {
        MPI_Recv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        out[0] = step < steps;
        MPI_Send(out, bytes, MPI_CHAR, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
    }
    for (in[0] = 1; rank > 0 && in[0];) {
        MPI_Send(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(rank == size - 1 ? 200 : 20000);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *mode = argc > 2 ? argv[1] : "";
    int steps = argc > 2 ? atoi(argv[2]) : 0;
    bytes = argc > 3 ? atoi(argv[3]) : bytes;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(mode, "workers") == 0)
        workers(steps);
    else
        for (int step = 0; step < steps; step++) {
            usleep(300);
            if (strcmp(mode, "halo") == 0)
                halo();
            else if (strcmp(mode, "tests") == 0)
                tests();
            else if (strcmp(mode, "wave") == 0)
                wave();
            else if (strcmp(mode, "persistent") == 0)
                persistent(step);
            else if (strcmp(mode, "sendrecv") == 0)
                sendrecv(MPI_COMM_WORLD, after(), before());
            else if (strcmp(mode, "alone") == 0)
                sendrecv(MPI_COMM_SELF, 0, 0);
        }
    MPI_Finalize();
    if (rank == 0)
        printf("%d steps\n", steps);
    return 0;
}
