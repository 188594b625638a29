/* Half a second of CPU time in MPI calls, in turn with as much of its own. */
#include <mpi.h>
#include <time.h>

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile double sum;

__attribute__((noinline)) static void work(double until)
{
    while (cpu_s() < until)
        for (int i = 0; i < 20000; i++)
            sum += i;
}

__attribute__((noinline)) static void talk(double until)
{
    double one = 1, all;
    while (cpu_s() < until)
        for (int i = 0; i < 2000; i++)
            MPI_Allreduce(&one, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    work(cpu_s() + 0.5);
    talk(cpu_s() + 0.5);
    MPI_Finalize();
    return 0;
}
