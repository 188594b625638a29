/* A library with parallel regions, which its program opens without making it global. */
#include <omp.h>

int plugin_run(int iterations)
{
    int sum = 0;
    for (int i = 0; i < iterations; i++)
#pragma omp parallel reduction(+ : sum) num_threads(2)
        sum += 1;
    return sum;
}
