/* threads_memory SECONDS [THREADS]: threads that call functions, each by paths of its own, for so long, and sleep for most of it. Prints
 * what the process holds in memory (KiB) after half of the time, and at the end. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 256
#define DEPTH 124 /* even: a path of so many frames is kept whole, and fills a ring soon */

static volatile int stop;
static volatile unsigned long sink[MOST_THREADS * 16];

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static long resident_kib(void)
{
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &all, &resident) != 2)
        exit(1);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE) / 1024;
}

static void even(long thread, int depth);

/* The deepest call is one of even(), which is where the time goes. */
static void odd(long thread, int depth)
{
    sink[thread * 16] += (unsigned long)thread;
    if (depth > 0)
        even(thread, depth - 1);
    sink[thread * 16]++;
}

/* Which of the two is called next is each thread's own. */
static void even(long thread, int depth)
{
    for (int i = 0; depth == 0 && i < 20000; i++)
        sink[thread * 16] += (unsigned long)i;
    if (depth > 0 && (depth == 1 || (thread >> depth % 2) % 2 == 0))
        even(thread, depth - 1);
    else if (depth > 0)
        odd(thread, depth - 1);
    sink[thread * 16]++;
}

static void *run(void *number)
{
    long thread = (long)number;
    while (!stop) {
        for (int i = 0; i < 12; i++)
            even(thread, DEPTH);
        usleep(10000);
    }
    return NULL;
}

int main(int count, char **words)
{
    double until = seconds() + atof(words[1]);
    long threads = count > 2 ? atol(words[2]) : 64, half = 0;
    pthread_t of[MOST_THREADS];
    for (long i = 0; i < threads; i++)
        if (pthread_create(&of[i], NULL, run, (void *)i) != 0)
            return 1;
    usleep((useconds_t)(atof(words[1]) * 5e5));
    half = resident_kib();
    while (seconds() < until)
        usleep(10000);
    printf("%ld %ld\n", half, resident_kib());
    stop = 1;
    for (long i = 0; i < threads; i++)
        pthread_join(of[i], NULL);
    return 0;
}
