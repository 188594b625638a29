/* Threads and children that work side by side; prints the CPU seconds of all of them. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void work(double seconds)
{
    struct timespec time;
    volatile long sum = 0;
    do {
        for (int k = 0; k < 10000; k++)
            sum += k;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while ((double)time.tv_sec + (double)time.tv_nsec * 1e-9 < seconds);
}

int main(void)
{
    struct rusage own, theirs;
#pragma omp parallel num_threads(3)
    work(0.2);
    for (int i = 0; i < 2; i++)
        if (fork() == 0) {
            work(0.2);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &theirs);
    printf("%.6f\n", (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + theirs.ru_utime.tv_sec + theirs.ru_stime.tv_sec) +
                         1e-6 * (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + theirs.ru_utime.tv_usec +
                                         theirs.ru_stime.tv_usec));
    return 0;
}
