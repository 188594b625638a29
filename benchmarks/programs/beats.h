/* Batches, timed by the CPU clock of the thread that runs them. */
#ifndef BEATS_H
#define BEATS_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <appekg.h>

#define BATCH 50000 /* a millisecond or two: reading the clock is lost in it; a multiple of the rate factor */

/* A function that does a thing BATCH times, alone in its cache lines: its neighbours do not change its speed. */
#define BATCH_OF(name, statements)                                                                                     \
    static __attribute__((noinline, aligned(64))) void name(void)                                                      \
    {                                                                                                                  \
        for (int i = 0; i < BATCH; i++) {                                                                              \
            statements;                                                                                                \
        }                                                                                                              \
    }

/* The limit: no beat can be had for less. The time stamp is kept in a register, not stored. */
static inline void read_counter(void)
{
#if defined(__x86_64__)
    __asm__ volatile("" : : "r"(__builtin_ia32_rdtsc()));
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
#else
    struct timespec ticks;
    clock_gettime(CLOCK_MONOTONIC, &ticks);
#endif
}

static inline double clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* Nanoseconds of this thread's CPU time for one of a batch. */
static inline double time_batch(void (*batch)(void))
{
    double start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    batch();
    return (clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / BATCH;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return values[count / 2];
}

#endif
