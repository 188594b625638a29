/* A program that uses an MPI if there is one: it is not linked with any. */
#include <stdio.h>

#pragma weak MPI_Init
#pragma weak MPI_Initialized
#pragma weak MPI_Comm_rank
#pragma weak MPI_Comm_size
#pragma weak MPI_Type_vector
#pragma weak MPI_Error_string
#pragma weak MPI_Wtime
int MPI_Init(int *, char ***);
int MPI_Initialized(int *);
int MPI_Comm_rank(void *, int *);
int MPI_Comm_size(void *, int *);
int MPI_Type_vector(int, int, int, void *, void *);
int MPI_Error_string(int, char *, int *);
double MPI_Wtime(void);

int main(int count, char **arguments)
{
    int rank = -1, size = -1, length, flag = -1;
    char text[1024];
    if (MPI_Init == NULL)
        return puts("serial") < 0;
    int error = MPI_Init(&count, &arguments);
    MPI_Initialized(&flag);
    MPI_Comm_rank(NULL, &rank);
    MPI_Comm_size(NULL, &size);
    int other = MPI_Type_vector(1, 1, 1, NULL, NULL);
    MPI_Error_string(error, text, &length);
    printf("%d %d %d of %d %d %.1f %s\n", error != 0, flag, rank, size, other != 0, MPI_Wtime(), text);
    return 0;
}
