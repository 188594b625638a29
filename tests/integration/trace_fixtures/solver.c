/* A solver whose loops are known: STEPS steps, each with a sum that is iterated 2 + step % 4 times; every tenth step writes.
 * usage: solver STEPS [OTHER]; with OTHER it does something else in between. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;

static void pause_us(unsigned us)
{
    usleep(us);
}

static void exchange(void)
{
    double out[8] = {0}, in[8];
    MPI_Request requests[2];
    MPI_Irecv(in, 8, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 8, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    double in = 1, out, all[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Bcast(&in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int step = 0; step < steps; step++) {
        pause_us(1000);
        exchange();
        for (int i = 0; i < 2 + step % 4; i++) {
            pause_us(500);
            MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        if (argc > 2)
            MPI_Scan(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (step % 10 == 9) {
            pause_us(3000);
            MPI_Gather(&in, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("%d steps\n", steps);
    return 0;
}
