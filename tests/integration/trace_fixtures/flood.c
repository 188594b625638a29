/* More MPI calls than there is room for while nothing is written: calls now and then until robust_hold holds the thread that
 * writes, and then very many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    int flag;
    char held[4096], ready[4096];
    const char *prefix = getenv("HOLD_FILES");
    snprintf(held, sizeof held, "%s.held", prefix != NULL ? prefix : "none");
    snprintf(ready, sizeof ready, "%s.ready", prefix != NULL ? prefix : "none");
    MPI_Init(&count, &arguments);
    fclose(fopen(ready, "w"));
    for (int i = 0; i < 6000 && access(held, F_OK) != 0; i++) {
        MPI_Barrier(MPI_COMM_SELF);
        usleep(10000);
    }
    for (int i = 0; i < 3000000; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, i % 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Finalize();
    puts("done");
    return 0;
}
