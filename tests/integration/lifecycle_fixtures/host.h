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

/* Reads the clock seldom: beside other busy programs, the kernel ends the turn of who reads it there and then, so that it
 * would never run when the next timer tick comes, which is when expired timers are seen. A tenth of it, where nobody
 * records: what the program prints is the same. */
__attribute__((noinline, unused)) void burn(int milliseconds)
{
    double seconds = milliseconds / (getenv("ALONE") != NULL ? 1e4 : 1e3);
    double start = cpu_s(), now = start, end = start + seconds, done = 0;
    for (double rounds = 20; now < end; rounds = 1 + 0.9 * (end - now) * done / (now - start)) {
        for (double i = 0; i < 1000 * rounds; i++)
            sink += (unsigned long)i;
        done += rounds;
        now = cpu_s();
    }
}
