/* A program that marks its loop itself. Two regions in an iteration, except in every third. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "selfanalyze.h"

static int data[64];

static void region(void)
{
#pragma omp parallel
    data[omp_get_thread_num()]++;
}

int main(int count, char **words)
{
    int steps = count > 1 ? atoi(words[1]) : 0;
    sa_region_begin("steps", steps);
    for (int i = 0; i < steps; i++) {
        sa_iteration("steps");
        region();
        if (i % 3 == 0)
            region();
    }
    sa_region_end("steps");
    for (int i = 0; i < steps; i++)
        sa_init_parallel_region((const void *)main, 5);
    printf("steps %d\n", steps);
    return 0;
}
