// An error handler that throws: a call that there is after it is traced like those before.
#include <mpi.h>

static void raise(MPI_Comm *, int *error, ...)
{
    throw *error;
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int data = 0, caught = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(raise, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int i = 0; i < 3; i++) {
        try {
            MPI_Send(&data, 1, MPI_INT, 99, i, MPI_COMM_SELF);
        } catch (int) {
            caught++;
        }
        MPI_Barrier(MPI_COMM_SELF);
    }
    MPI_Finalize();
    return caught == 3 ? 0 : 1;
}
