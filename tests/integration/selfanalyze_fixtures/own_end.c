/* A loop of two regions, the second of which also ends it, in a loop around it that has no region of its own. Prints how
 * often each went round. argv: iterations of the outer one, of the inner one, and how many more those may be. */
#include <stdio.h>
#include <stdlib.h>

static double x[64];

static void sweep(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        x[i] = 0.5 * x[i] + i;
}

static void halo(void)
{
#pragma omp parallel for
    for (int i = 0; i < 64; i++)
        x[i] -= 1;
}

int main(int count, char **words)
{
    int outer = atoi(words[1]), fewest = atoi(words[2]), more = count > 3 ? atoi(words[3]) : 0, inner = 0;
    for (int step = 0; step < outer; step++) {
        int trips = fewest + (more > 0 ? step * 7 % (more + 1) : 0);
        for (int i = 0; i < trips; i++, inner++) {
            sweep();
            halo();
        }
        halo();
    }
    printf("outer %d\ninner %d\n", outer, inner);
    return 0;
}
