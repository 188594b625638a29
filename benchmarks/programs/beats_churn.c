/* What a thread's first beat costs: threads that are made, beat once and are joined, in turn with threads that do
 * nothing. Prints nanoseconds of the process's CPU time per thread, without and with a beat, for each round.
 *
 *     beats_churn ROUNDS THREADS_PER_ROUND
 */
#include <pthread.h>
#include <stdio.h>

#include "beats.h"

static void *do_nothing(void *unused)
{
    return unused;
}

static void *beat_once(void *unused)
{
    ekg_begin(1);
    ekg_end(1);
    return unused;
}

static double churn(void *(*function)(void *), int threads)
{
    double start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < threads; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, function, NULL);
        pthread_join(thread, NULL);
    }
    return (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / threads;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    beat_once(NULL);
    churn(do_nothing, 100);
    for (int round = 0; round < atoi(argv[1]); round++) {
        double without = churn(do_nothing, atoi(argv[2]));
        printf("%.1f %.1f\n", without, churn(beat_once, atoi(argv[2])));
    }
    return 0;
}
