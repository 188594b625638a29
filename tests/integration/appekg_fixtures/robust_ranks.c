/* An MPI program: rank r has 100 + r beats of id 1 in each of two threads, and names it. */
#include <appekg.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static void *beats(void *argument)
{
    const int *count = argument;
    for (int i = 0; i < *count; i++) {
        EKG_SCOPE(1);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    int rank, size;
    pthread_t thread;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int number = 100 + rank;
    ekg_name(1, "exchange");
    pthread_create(&thread, NULL, beats, &number);
    beats(&number);
    pthread_join(thread, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("size %d\n", size);
    MPI_Finalize();
    return 0;
}
