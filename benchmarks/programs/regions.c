/* So many parallel regions a second, of which each computes for most of its share. argv: regions, regions a second.
 * What is computed is fixed by a first measurement, so that two runs do the same work: argv[3], rounds for a region. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink[64 * 16];

static double work(long rounds)
{
    double x = 1;
    for (long i = 0; i < rounds; i++)
        x = x * 1.0000001 + 1e-9;
    return x;
}

static void first(long rounds)
{
#pragma omp parallel
    sink[16 * (omp_get_thread_num() % 64)] = work(rounds);
}

static void second(long rounds)
{
#pragma omp parallel
    sink[16 * (omp_get_thread_num() % 64)] += work(rounds);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* An iteration: one region of the first kind and four of the second. */
static void iterations(long count, long rounds)
{
    for (long i = 0; i < count; i++) {
        first(rounds);
        for (int j = 0; j < 4; j++)
            second(rounds);
    }
}

int main(int count, char **words)
{
    long regions = atol(words[1]);
    double rate = atof(words[2]);
    long rounds = count > 3 ? atol(words[3]) : 0;
    if (rounds == 0) { /* the rounds that give that rate */
        long fitting = 1000;
        for (int attempt = 0; attempt < 8; attempt++) {
            double start = now();
            iterations(200, fitting);
            double each = (now() - start) / 1000;
            fitting = (long)((double)fitting / (each * rate));
            fitting = fitting < 1 ? 1 : fitting;
        }
        printf("%ld\n", fitting);
        return 0;
    }
    double start = now();
    iterations(regions / 5, rounds);
    printf("%.0f\n", (double)regions / (now() - start));
    return 0;
}
