/* Thread safety: `is_reported` is atomic. */
#define _GNU_SOURCE
#include "resolve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fixed_text.h"
#include "log.h"

#define MPI_SUCCESS 0
#define MPI_ERR_OTHER 15 /* approximate: there is no MPI to query */

/* All functions that are not in the list below. In entry_*.S, because some of them return floating-point numbers. */
extern int trace_no_mpi(void) __attribute__((visibility("hidden")));

/* Functions that may be called before MPI_Init return a valid result. */
static int never(int *flag)
{
    *flag = 0;
    return MPI_SUCCESS;
}

static int end_process(void *comm, int status)
{
    (void)comm;
    exit(status);
}

/* The others return an error, but a program that ignores it continues with this result. */
static int as_rank_0(void *comm, int *rank)
{
    (void)comm;
    *rank = 0;
    return MPI_ERR_OTHER;
}

static int as_one_process(void *comm, int *size)
{
    (void)comm;
    *size = 1;
    return MPI_ERR_OTHER;
}

static int without_threads(int *count, char ***arguments, int required, int *provided)
{
    (void)count, (void)arguments, (void)required;
    *provided = 0;
    return MPI_ERR_OTHER;
}

static int no_name(char *text, int *length)
{
    text[0] = '\0';
    *length = 0;
    return MPI_ERR_OTHER;
}

static int explain(int error, char *text, int *length)
{
    static const char message[] = "no MPI is loaded";
    (void)error;
    memcpy(text, message, sizeof message);
    *length = sizeof message - 1;
    return MPI_SUCCESS;
}

static int same_class(int error, int *class)
{
    *class = error;
    return MPI_SUCCESS;
}

static const struct {
    const char *name;
    void *function;
    bool is_an_answer;
} answers[] = {
    {"Initialized", __extension__(void *) never, true},
    {"Finalized", __extension__(void *) never, true},
    {"Error_string", __extension__(void *) explain, true},
    {"Error_class", __extension__(void *) same_class, true},
    {"Abort", __extension__(void *) end_process, false},
    {"Init_thread", __extension__(void *) without_threads, false},
    {"Comm_rank", __extension__(void *) as_rank_0, false},
    {"Comm_size", __extension__(void *) as_one_process, false},
    {"Get_processor_name", __extension__(void *) no_name, false},
    {"Get_library_version", __extension__(void *) no_name, false},
};

static void report(const char *name)
{
    static bool is_reported;
    char line[160] = "";
    if (__atomic_exchange_n(&is_reported, true, __ATOMIC_RELAXED))
        return;
    text_append(line, sizeof line, name);
    text_append(line, sizeof line,
                " fails, as no MPI is loaded: the program finds the name only because it is traced; run it without "
                "incprof trace");
    log_warn(line, NULL);
}

void *no_mpi(const char *name)
{
    const char *plain = strncmp(name, "MPI_", 4) == 0 ? name + 4 : strncmp(name, "PMPI_", 5) == 0 ? name + 5 : "";
    size_t i = 0;
    while (i < sizeof answers / sizeof *answers && strcmp(answers[i].name, plain) != 0)
        i++;
    if (i == sizeof answers / sizeof *answers || !answers[i].is_an_answer)
        report(name);
    return i < sizeof answers / sizeof *answers ? answers[i].function : __extension__(void *) trace_no_mpi;
}
