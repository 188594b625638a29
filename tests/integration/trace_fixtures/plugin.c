/* A library that uses an MPI: as a plug-in, the only one in the process that sees it. */
#include <mpi.h>
#include <stddef.h>

int idle(void)
{
    return 0;
}

int init(void)
{
    return MPI_Init(NULL, NULL);
}

int work(void)
{
    int rank = -1, one, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* A call at a function's end leaves its frame to it. */
int last(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

int finalize(void)
{
    return MPI_Finalize();
}
