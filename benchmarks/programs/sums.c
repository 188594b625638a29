/* Works for a number of rounds: processor only, no system call. Without a number: prints the rounds of a second. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double work(long rounds)
{
    volatile double sum = 0;
    for (long i = 0; i < rounds; i++)
        for (int k = 1; k < 1000; k++)
            sum = sum + 1.0 / k;
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 1 ? atol(argv[1]) : 100000;
    double sum = work(rounds);
    if (argc > 1)
        return sum < 0;
    printf("%ld\n", (long)((double)rounds * CLOCKS_PER_SEC / (double)clock()));
    return 0;
}
