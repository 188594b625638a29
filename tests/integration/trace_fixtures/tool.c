/* Another tool, loaded behind: counts calls, and prints the count at the end. Of MPI_Pcontrol it takes
 * more than a level: a word, a number, and where the level is 3 so many whole numbers that two are on the stack. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

#define COUNTED(name, parameters, arguments)                                                                           \
    static int name##_calls;                                                                                           \
    int MPI_##name parameters                                                                                          \
    {                                                                                                                  \
        name##_calls++;                                                                                                \
        return PMPI_##name arguments;                                                                                  \
    }
#define FOR_EACH(DO)                                                                                                   \
    DO(Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c), (b, n, t, to, tag, c))               \
    DO(Send_init, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r),                 \
       (b, n, t, to, tag, c, r))                                                                                       \
    DO(Recv_init, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Request *r),                     \
       (b, n, t, from, tag, c, r))                                                                                     \
    DO(Start, (MPI_Request * r), (r))                                                                                  \
    DO(Startall, (int n, MPI_Request r[]), (n, r))                                                                     \
    DO(Wait, (MPI_Request * r, MPI_Status * s), (r, s))                                                                \
    DO(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))                                                   \
    DO(Request_free, (MPI_Request * r), (r))                                                                           \
    DO(Ibarrier, (MPI_Comm c, MPI_Request * r), (c, r))                                                                \
    DO(Iallreduce, (const void *in, void *out, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *r),           \
       (in, out, n, t, o, c, r))                                                                                       \
    DO(Ibcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm c, MPI_Request *r), (b, n, t, root, c, r))          \
    DO(Barrier, (MPI_Comm c), (c))                                                                                     \
    DO(Comm_dup, (MPI_Comm c, MPI_Comm * made), (c, made))                                                             \
    DO(Comm_free, (MPI_Comm * c), (c))
FOR_EACH(COUNTED)
#if MPI_VERSION >= 4
#define FOR_EACH_OF_FOUR(DO)                                                                                           \
    DO(Psend_init,                                                                                                     \
       (const void *b, int parts, MPI_Count n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Info i,                \
        MPI_Request *r),                                                                                               \
       (b, parts, n, t, to, tag, c, i, r))                                                                             \
    DO(Precv_init,                                                                                                     \
       (void *b, int parts, MPI_Count n, MPI_Datatype t, int from, int tag, MPI_Comm c, MPI_Info i, MPI_Request *r),   \
       (b, parts, n, t, from, tag, c, i, r))                                                                           \
    DO(Pready, (int part, MPI_Request r), (part, r))                                                                   \
    DO(Parrived, (MPI_Request r, int part, int *flag), (r, part, flag))                                                \
    DO(Barrier_init, (MPI_Comm c, MPI_Info i, MPI_Request *r), (c, i, r))
FOR_EACH_OF_FOUR(COUNTED)
#else
#define FOR_EACH_OF_FOUR(DO)
#endif

static int Pcontrol_calls;

int MPI_Pcontrol(const int level, ...)
{
    va_list rest;
    long sum = 0;
    Pcontrol_calls++;
    va_start(rest, level);
    if (level == 3) {
        for (int i = 0; i < 7; i++)
            sum = 10 * sum + va_arg(rest, long);
        printf("tool: %ld\n", sum);
    } else {
        const char *word = va_arg(rest, const char *);
        printf("tool: %s %g\n", word, va_arg(rest, double));
    }
    va_end(rest);
    return PMPI_Pcontrol(level);
}

int MPI_Finalize(void)
{
#define SAY(name, ...) printf("calls: %s %d\n", #name, name##_calls);
    FOR_EACH(SAY)
    FOR_EACH_OF_FOUR(SAY)
    SAY(Pcontrol)
    return PMPI_Finalize();
}
