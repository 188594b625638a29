/* What few programs do, for each name of a scenario. */
#include <mpi.h>
#include <string.h>

/* A datatype of 3 GB. */
static void large(void)
{
    MPI_Datatype row, block;
    char byte = 0;
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &row);
    MPI_Type_contiguous(3000, row, &block);
    MPI_Type_commit(&block);
    MPI_Bcast(&byte, 1, block, 0, MPI_COMM_SELF);
    MPI_Type_free(&block);
    MPI_Type_free(&row);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {{"large", large}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[argc - 1], scenarios[i].name) == 0)
            scenarios[i].run();
    MPI_Finalize();
    return 0;
}
