/* Calls that a tracer may miss or see twice: of persistent and partitioned requests, of collectives with requests, of
 * delete callbacks, and behind error handlers that jump. What a callback calls within MPI, it calls as PMPI_*. */
#include <mpi.h>
#include <setjmp.h>
#include <stddef.h>

static jmp_buf back;

static void jump(MPI_Comm *comm, int *error, ...)
{
    (void)comm, (void)error;
    longjmp(back, 1);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    return PMPI_Comm_free(value);
}

static void persistent(void)
{
    MPI_Request requests[2];
    int in = 1, out = 0;
    MPI_Recv_init(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
    MPI_Send_init(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void collectives(void)
{
    MPI_Request requests[3];
    int in = 1, out = 0, both = 2;
    for (int i = 0; i < 4; i++) {
        MPI_Ibarrier(MPI_COMM_SELF, &requests[0]);
        MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[1]);
        MPI_Ibcast(&both, 1, MPI_INT, 0, MPI_COMM_SELF, &requests[2]);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    }
}

static void partitioned(void)
{
#if MPI_VERSION >= 4
    MPI_Request requests[3];
    int in[2] = {1, 2}, out[2], flag;
    MPI_Precv_init(out, 2, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_INFO_NULL, &requests[0]);
    MPI_Psend_init(in, 2, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(MPI_COMM_SELF, MPI_INFO_NULL, &requests[2]);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            MPI_Start(&requests[k]);
        MPI_Pready(1, requests[1]);
        MPI_Pready(0, requests[1]);
        MPI_Parrived(requests[0], 1, &flag);
        for (int k = 2; k >= 0; k--)
            MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
    }
    for (int k = 0; k < 3; k++)
        MPI_Request_free(&requests[k]);
#endif
}

static void attributes(int key)
{
    MPI_Comm user, own;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &user);
        MPI_Comm_dup(user, &own);
        MPI_Comm_set_attr(user, key, &own);
        MPI_Barrier(own);
        MPI_Comm_free(&user);
    }
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int key;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (volatile int i = 0; i < 3; i++) {
        MPI_Pcontrol(1, "solver", 0.5);
        if (setjmp(back) == 0)
            MPI_Send(&key, 1, MPI_INT, 99, 0, MPI_COMM_WORLD); /* there is no such rank */
        persistent();
        collectives();
        partitioned();
        attributes(key);
        MPI_Pcontrol(3, 1L, 2L, 3L, 4L, 5L, 6L, 7L);
    }
    MPI_Finalize();
    return 0;
}
