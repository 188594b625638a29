/* What few programs do, for each name of a scenario. */
#include <mpi.h>
#include <setjmp.h>
#include <string.h>
#include <sys/resource.h>

static jmp_buf back;

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

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(back, 1);
}

/* What comes after an error handler's jump lies deeper in the stack than the call that it has left. */
static __attribute__((noinline)) void barriers(int depth)
{
    volatile char room[4096];
    room[0] = (char)depth;
    if (depth > 0)
        barriers(depth - 1);
    else
        MPI_Barrier(MPI_COMM_SELF);
}

static void jumps(void)
{
    MPI_Errhandler handler;
    int data = 0;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (volatile int i = 0; i < 3; i++) {
        if (setjmp(back) == 0)
            MPI_Send(&data, 1, MPI_INT, 99, i, MPI_COMM_SELF); /* there is no such rank */
        barriers(i);
    }
}

/* The first of two messages is longer than its buffer. */
static void truncated(MPI_Request requests[4])
{
    static int data[4], buffer[4];
    MPI_Irecv(&buffer[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Irecv(&buffer[2], 2, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[1]);
    MPI_Isend(data, 2, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[2]);
    MPI_Isend(data, 2, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[3]);
}

static void errors(void)
{
    MPI_Request requests[4];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        truncated(requests);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* MPICH has left all but one */
        truncated(requests);
        for (int k = 0; k < 4; k++)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    }
}

/* There is no memory for a status of the tracer's own. */
static void poor(void)
{
    struct rlimit limit, nothing;
    int in = 1, out = 0;
    MPI_Status status;
    MPI_Sendrecv(&in, 1, MPI_INT, 0, 1, &out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &status);
    getrlimit(RLIMIT_AS, &limit);
    nothing = limit;
    nothing.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &nothing);
    MPI_Sendrecv(&in, 1, MPI_INT, 0, 1, &out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    setrlimit(RLIMIT_AS, &limit);
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {{"large", large}, {"jumps", jumps}, {"errors", errors}, {"poor", poor}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(argv[argc - 1], scenarios[i].name) == 0)
            scenarios[i].run();
    MPI_Finalize();
    return 0;
}
