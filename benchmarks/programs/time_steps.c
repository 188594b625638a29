/* Time steps of known length, of a SHAPE. Arguments: milliseconds of a step and seconds in all, of CPU time.
 * Says how many steps there were, and how many milliseconds one took. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ALONE __attribute__((noinline, noclone))
#define POINTS 2048

#define PARTS 1  /* of three calls */
#define UNEVEN 2 /* the same, 0.8 to 1.2 times as long */
#define FLAT 3   /* the three calls in the loop itself */
#define ONE 4    /* two loops of its own, and no call */

static double force[POINTS], place[POINTS], edge[POINTS];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

ALONE static void forces(long times)
{
    for (long k = 0; k < times; k++)
        for (int i = 1; i < POINTS; i++)
            force[i] = force[i - 1] * .5 + place[i] * .3;
}

ALONE static void move(long times)
{
    for (long k = 0; k < times; k++)
        for (int i = 1; i < POINTS; i++)
            place[i] = place[i - 1] * .2 + fabs(force[i]);
}

ALONE static void exchange(long times)
{
    for (long k = 0; k < times; k++)
        for (int i = 1; i < POINTS; i++)
            edge[i] = edge[i - 1] * .1 + place[i] + force[i];
}

ALONE static void step(long work)
{
#if SHAPE == ONE
    for (long k = 0; k < work / 2; k++)
        for (int i = 1; i < POINTS; i++)
            force[i] = force[i - 1] * .5 + place[i] * .3;
    for (long k = 0; k < work / 2; k++)
        for (int i = 1; i < POINTS; i++)
            place[i] = place[i - 1] * .2 + fabs(force[i]);
#else
    forces(work * 5 / 10);
    move(work * 3 / 10);
    exchange(work * 2 / 10);
#endif
}

static long work_of(long number, long work)
{
    return SHAPE == UNEVEN ? work * (80 + number * 7919 % 41) / 100 : work;
}

ALONE static long run(long work, double seconds)
{
    double end = now() + seconds;
    long steps = 0;
    while (now() < end) {
        long here = work_of(steps, work);
#if SHAPE == FLAT
        forces(here * 5 / 10);
        move(here * 3 / 10);
        exchange(here * 2 / 10);
#else
        step(here);
#endif
        steps++;
    }
    return steps;
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    const long trial = 400;
    double start = now();
    step(trial);
    long work = (long)(atof(words[1]) * 1e-3 / ((now() - start) / (double)trial));
    start = now();
    long steps = run(work, atof(words[2]));
    printf("%ld %.3f\n", steps, 1e3 * (now() - start) / (double)steps);
    return edge[7] > 1e300;
}
