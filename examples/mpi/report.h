/* What the C programs here share: their arguments, and the last line of their output. */
#ifndef REPORT_H
#define REPORT_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* Return a positive integer argument, or end all ranks with status 2. */
static inline int positive(int argc, char **argv, int at, const char *usage)
{
    char *end = NULL;
    long value = at < argc ? strtol(argv[at], &end, 10) : 0;
    if (value < 1 || value > 1000000000 || *end != '\0') {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0)
            fprintf(stderr, "usage: %s %s\n", argv[0], usage);
        MPI_Finalize();
        exit(2);
    }
    return (int)value;
}

/* Print the checksum and the largest error on rank 0; return the exit status of the program on every rank. */
static inline int report(const char *name, double checksum, double error, double allowed)
{
    int rank, right = error <= allowed; /* NaN is wrong */
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%s: checksum %.10e, error %.1e: %s\n", name, checksum, error, right ? "verified" : "WRONG");
    return right ? 0 : 1;
}

#endif
