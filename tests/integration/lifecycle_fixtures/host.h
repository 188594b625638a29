/* Shared by the host programs. tick() is called a known number of times by work(); burn() takes a known CPU time of the
 * calling thread and calls nothing that is counted but itself. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

__attribute__((noinline, unused)) void tick(void)
{
    sink++;
}

__attribute__((noinline, unused)) void work(int times)
{
    for (int i = 0; i < times; i++)
        tick();
}

__attribute__((no_instrument_function, unused)) static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((noinline, unused)) void burn(int milliseconds)
{
    double end = cpu_s() + milliseconds / 1e3;
    while (cpu_s() < end)
        for (int i = 0; i < 1000; i++)
            sink += (unsigned long)i;
}
