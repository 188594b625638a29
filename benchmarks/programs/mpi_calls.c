/* What MPI calls take, in nanoseconds of CPU time of all threads, the tracer's own too: as the program calls them, and
 * as the library has them. argv: the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 200000
#define ROUNDS 11

static int (*iprobe)(int, int, MPI_Comm, int *, MPI_Status *);
static int (*test)(MPI_Request *, int *, MPI_Status *);
static int (*isend)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*irecv)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
static int (*waitall)(int, MPI_Request *, MPI_Status *);

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* By libc's own dlsym: a tracer that takes its place gives its own functions for the library's too. */
static void use(void *place)
{
    void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    void *(*find)(void *, const char *);
    *(void **)&find = dlvsym(libc, "dlsym", "GLIBC_2.34");
    *(void **)&iprobe = find(place, "MPI_Iprobe");
    *(void **)&test = find(place, "MPI_Test");
    *(void **)&isend = find(place, "MPI_Isend");
    *(void **)&irecv = find(place, "MPI_Irecv");
    *(void **)&waitall = find(place, "MPI_Waitall");
}

static double probes(void)
{
    int flag;
    double start = now();
    for (int i = 0; i < CALLS; i++)
        iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return (now() - start) / CALLS;
}

static double tests(void)
{
    int flag;
    MPI_Request request = MPI_REQUEST_NULL;
    double start = now();
    for (int i = 0; i < CALLS; i++)
        test(&request, &flag, MPI_STATUS_IGNORE);
    return (now() - start) / CALLS;
}

/* Three calls a round. */
static double messages(void)
{
    double a = 1, b;
    MPI_Request requests[2];
    double start = now();
    for (int i = 0; i < CALLS / 3; i++) {
        irecv(&b, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[0]);
        isend(&a, 1, MPI_DOUBLE, 0, 1, MPI_COMM_SELF, &requests[1]);
        waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return (now() - start) / (CALLS / 3 * 3);
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* The median of what a call takes more as the program calls it, in pairs; and of what it takes at all. */
static void compare(void *library, double (*measured)(void))
{
    double more[ROUNDS], bare[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        use(library);
        bare[i] = measured();
        use(RTLD_DEFAULT);
        more[i] = measured() - bare[i];
    }
    qsort(more, ROUNDS, sizeof *more, ascending);
    qsort(bare, ROUNDS, sizeof *bare, ascending);
    printf("%.1f %.1f\n", bare[ROUNDS / 2], more[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
    compare(library, probes);
    compare(library, tests);
    compare(library, messages);
    MPI_Finalize();
    return 0;
}
