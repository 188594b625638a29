/* Thread safety: constants only. */
#define _GNU_SOURCE
#include "resolve.h"

static const char *const names[NAME_COUNT] = {
#define CALL_(name, lower, ...)                                                                                        \
    "MPI_" #name, "PMPI_" #name, "mpi_" #lower "_", "mpi_" #lower "_f08_", "mpi_" #lower "_f08ts_",
#include "every_call.h"
#define OTHER(name) "MPI_" #name, "PMPI_" #name,
#include "other_calls.h"
};

const char *name_of(uint32_t number)
{
    return names[number];
}
