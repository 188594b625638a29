/* Recursion argv[1] deep with argv[2] million rounds of work at its end. */
#include <stdio.h>
#include <stdlib.h>

static double sum;

__attribute__((noinline)) static void work(long rounds)
{
    for (long i = 0; i < rounds; i++)
        sum += (double)i * 0.5;
}

__attribute__((noinline)) static int climb(int depth, long rounds)
{
    if (depth == 0)
        work(rounds);
    else
        climb(depth - 1, rounds);
    __asm__ volatile("" ::: "memory");
    return depth;
}

int main(int argc, char **argv)
{
    climb(argc > 1 ? atoi(argv[1]) : 50, (argc > 2 ? atol(argv[2]) : 500) * 1000000);
    printf("%g\n", sum);
    return 0;
}
