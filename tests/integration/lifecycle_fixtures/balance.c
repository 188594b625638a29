/* Two stages that all ranks finish together; the last rank has twice as much to do in the first. */
#include <mpi.h>

#include "../fixtures/burn.h"

#define STEP 400000

NOINLINE void relax(void)
{
    BURN(STEP);
    KEEP_FRAME;
}

NOINLINE void transport(void)
{
    BURN(STEP);
    KEEP_FRAME;
}

NOINLINE void relax_all(int steps)
{
    for (int i = 0; i < steps; i++)
        relax();
    MPI_Barrier(MPI_COMM_WORLD);
}

NOINLINE void transport_all(int steps)
{
    for (int i = 0; i < steps; i++)
        transport();
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    relax_all(rank == size - 1 ? 240 : 120);
    transport_all(180);
    MPI_Finalize();
    return 0;
}
