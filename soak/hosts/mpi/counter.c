/* A second tool, behind the tracer: counts the calls of each MPI function, and writes them at the end to COUNTS.RANK.
 * Built with trace/include before its own folder. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION < 4
#define NO_LARGE_COUNTS
#define IF_FOUR(...)
#endif
#define IF_SEVEN(...)
/* Of its own, below: it takes as many arguments as it is given. */
#define MPI_Pcontrol unused_Pcontrol
#define MPI_Finalize unused_Finalize

static unsigned long Pcontrol_calls, Finalize_calls;
#define CALL_(name, lower, kind, parameters, arguments, before, after)                                                 \
    static unsigned long name##_count;                                                                                 \
    int MPI_##name parameters;                                                                                         \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        __atomic_fetch_add(&name##_count, 1, __ATOMIC_RELAXED);                                                        \
        return PMPI_##name arguments;                                                                                  \
    }
#include "every_call.h"
#undef MPI_Pcontrol
#undef MPI_Finalize

int MPI_Pcontrol(const int level, ...)
{
    Pcontrol_calls++;
    return PMPI_Pcontrol(level);
}

static void write_line(FILE *file, const char *name, unsigned long count)
{
    if (count > 0)
        fprintf(file, "%s %lu\n", name, count);
}

int MPI_Finalize(void)
{
    char path[4096];
    int rank = 0;
    Finalize_calls++;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s.%d", getenv("COUNTS"), rank);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        abort();
#define CALL_(name, ...) write_line(file, #name, name##_count);
#include "every_call.h"
    write_line(file, "Pcontrol", Pcontrol_calls);
    write_line(file, "Finalize", Finalize_calls);
    fclose(file);
    return PMPI_Finalize();
}
