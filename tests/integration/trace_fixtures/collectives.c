/* Every collective on an intracommunicator and, with the root in either group, on an intercommunicator. All that the
 * standard calls insignificant is garbage. Says how many calls there were, and a sum of all that was received. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static long garbage = 0x10; /* not a constant: compilers warn */
#define ROOM 64

struct side {
    MPI_Comm comm;
    int root, size, partners, unit; /* unit: what each gets of a Reduce_scatter */
    int is_root, is_member;
};

static MPI_Comm ring;
static int *in, *out, calls;
static unsigned long long sum = 0xcbf29ce484222325u;

static void *at_end(size_t bytes)
{
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + 4096, 4096, PROT_NONE);
    return pages + 4096 - bytes;
}

static void clear(void)
{
    for (int i = 0; i < ROOM; i++)
        out[i] = -1 - i;
}

static void check(void)
{
    calls++;
    for (int i = 0; i < ROOM; i++)
        sum = (sum ^ (unsigned int)out[i]) * 0x100000001b3u;
}

/* Open MPI 4.1 looks at the type of what is not sent in place; both MPIs look at the type and the operation of
 * a process that takes no part. */
#ifdef OPEN_MPI
#define IGNORED_TYPE MPI_INT
#else
#define IGNORED_TYPE (MPI_Datatype)garbage
#endif

#include "collectives.h"
#if MPI_VERSION >= 4
#define LARGE
#include "collectives.h"
#endif

static void call_all(struct side of, int is_inter)
{
    rooted(of);
    unrooted(of);
    if (!is_inter)
        within(of);
#if MPI_VERSION >= 4
    rooted_c(of);
    unrooted_c(of);
    if (!is_inter)
        within_c(of);
#endif
}

/* Root 0 of one group; the process with the same number in the other group is not a root. */
static void between(MPI_Comm inter, int is_here, int rank)
{
    struct side of = {.comm = inter};
    MPI_Comm_size(inter, &of.size);
    MPI_Comm_remote_size(inter, &of.partners);
    of.unit = 2 / of.size;
    of.root = !is_here ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    of.is_root = is_here && rank == 0;
    of.is_member = !is_here;
    call_all(of, 1);
}

int main(int argc, char **argv)
{
    int rank, local, one = 1;
    MPI_Comm group, inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    in = at_end(ROOM * sizeof *in), out = at_end(ROOM * sizeof *out);
    for (int i = 0; i < ROOM; i++)
        in[i] = 1000 * rank + i;
    struct side of = {MPI_COMM_WORLD, 1, 3, 3, 2, rank == 1, 1};
    int all = 3;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &all, &one, 0, &ring);
    call_all(of, 0);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &group);
    MPI_Comm_rank(group, &local);
    MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, rank == 1 ? 0 : 1, 7, &inter);
    between(inter, rank == 1, local);
    between(inter, rank != 1, local);
    printf("rank %d: %d calls, %016llx\n", rank, calls, sum);
    MPI_Finalize();
    return 0;
}
