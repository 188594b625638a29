/* Communicators that a library keeps as attributes of the program's, and frees when those are. MPI gives their handles
 * to smaller ones: prints how many of them came again. */
#include <mpi.h>
#include <stdio.h>

enum { KEPT = 40 };

static MPI_Comm freed[KEPT];
static int freed_count;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    MPI_Comm *kept = value;
    (void)comm, (void)key, (void)extra;
    freed[freed_count++] = *kept;
    return MPI_Comm_free(kept);
}

int main(int argc, char **argv)
{
    static MPI_Comm user[KEPT], kept[KEPT], comm;
    int key, again = 0, one = 1, zero = 0, in = 1, out = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
    for (int i = 0; i < KEPT; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &user[i]);
        MPI_Comm_dup(user[i], &kept[i]);
        MPI_Barrier(kept[i]);
        MPI_Comm_set_attr(user[i], key, &kept[i]);
    }
    for (int i = 0; i < KEPT; i++)
        MPI_Comm_free(&user[i]);
    for (int i = 0; i < 2 * KEPT; i++) {
        MPI_Request request;
        MPI_Comm_idup(MPI_COMM_SELF, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Alltoallv(&in, &one, &zero, MPI_INT, &out, &one, &zero, MPI_INT, comm);
        for (int k = 0; k < freed_count; k++)
            again += comm == freed[k];
    }
    printf("%d handles came again\n", again);
    MPI_Finalize();
    return 0;
}
