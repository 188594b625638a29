/* A library whose regions are right only if one run-time makes the team and gives each thread its own part:
 * team_sum returns 1000 for each iteration. */
static long elements[1000];

long team_sum(int iterations)
{
    long sum = 0;
    for (int i = 0; i < 1000; i++)
        elements[i] = 0;
    for (int i = 0; i < iterations; i++)
#pragma omp parallel for schedule(static)
        for (int k = 0; k < 1000; k++)
            __atomic_fetch_add(&elements[k], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 1000; i++)
        sum += elements[i];
    return sum;
}
