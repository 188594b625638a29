/* More MPI calls than there is room for while nothing is written: as long as the file grows, and then as many again. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int flag;
    MPI_Init(&count, &arguments);
    for (int i = 0; i < 100; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        usleep(10000);
    }
    for (int i = 0; i < 3000000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, i % 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Finalize();
    puts("done");
    return 0;
}
