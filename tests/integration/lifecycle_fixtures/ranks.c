/* An MPI program: rank r calls tick 100 + r times, and every rank burns 60 ms. */
#include <mpi.h>

#include "host.h"

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    work(100 + rank);
    burn(60);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("size %d\n", size);
    MPI_Finalize();
    return 0;
}
