/* Cost of a call: N calls of an empty function by each of T threads, printed in nanoseconds per call. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long calls;

__attribute__((noinline)) static void leaf(void)
{
    __asm__ volatile("");
}

static void *work(void *unused)
{
    for (long i = 0; i < calls; i++)
        leaf();
    return unused;
}

int main(int argc, char **argv)
{
    struct timespec start, end;
    pthread_t threads[64];
    int count = argc > 2 ? atoi(argv[2]) : 1;
    calls = argc > 1 ? atol(argv[1]) : 100000000;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int i = 1; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    work(NULL);
    for (int i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("%.4f\n", 1e9 * seconds / (double)calls);
    return 0;
}
