/* A program with a million beats a second: each step of its work is a beat. With -DEKG_OFF it is the same program
 * without, with -DREADS two bare readings of the counter stand for the beat.
 *
 *     beats_work tally|relax SIZE STEPS
 *
 * Prints seconds of CPU time per step.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beats.h"

#define SLOTS 4096

static uint32_t table[SLOTS], state = 1;
static double rod[1 << 16];

/* Counts numbers in a table. */
static __attribute__((noinline, aligned(64))) void tally(int size)
{
    for (int i = 0; i < size; i++) {
        state = state * 1664525u + 1013904223u;
        table[state / (UINT32_MAX / SLOTS + 1)] += state;
    }
}

/* One sweep of Gauss and Seidel: each point waits for the one before it. The next sweep need not wait for the end of
 * this one, and processors overlap them, unless somebody looks at the clock in between. */
static __attribute__((noinline, aligned(64))) void relax(int size)
{
    for (int i = 1; i < size - 1; i++)
        rod[i] = 0.5 * (rod[i - 1] + rod[i + 1]);
}

static inline void edge(void)
{
#ifdef READS
    read_counter();
#endif
}

static __attribute__((noinline, aligned(64))) void work(void (*step)(int), int size, long steps)
{
    for (long i = 0; i < steps; i++) {
        edge();
        ekg_begin(1);
        step(size);
        ekg_end(1);
        edge();
    }
}

int main(int argc, char **argv)
{
    int size = argc == 4 ? atoi(argv[2]) : 0;
    if (size < 3 || size > 1 << 16)
        return 2;
    rod[0] = 1;
    long steps = atol(argv[3]);
    double start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    work(strcmp(argv[1], "tally") == 0 ? tally : relax, size, steps);
    printf("%.6e\n", 1e-9 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)steps);
    fprintf(stderr, "%u %g\n", table[0], rod[size / 2]);
    return 0;
}
