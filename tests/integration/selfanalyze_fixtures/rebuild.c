/* Time steps of two regions; before every tenth one, a region of its own. argv: time steps. */
#include <stdio.h>
#include <stdlib.h>

static double x[64], f[64];

static void neighbours(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        f[i] = x[i];
}

static void forces(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        f[i] += 0.5 * x[i];
}

static void integrate(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        x[i] += 0.1 * f[i];
}

int main(int count, char **words)
{
    int steps = count > 1 ? atoi(words[1]) : 100;
    for (int step = 0; step < steps; step++) {
        if (step % 10 == 0)
            neighbours();
        forces();
        integrate();
    }
    printf("steps %d\n", steps);
    return 0;
}
