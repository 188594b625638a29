/* What the machine does to work of 2 us: as many pieces of it as argv[1] says, a millisecond apart; how long each took,
 * in nanoseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void spin_until(long end)
{
    while (now_ns() < end)
        ;
}

int main(int argc, char **argv)
{
    long pieces = argc > 1 ? atol(argv[1]) : 20000;
    long *took = calloc((size_t)pieces, sizeof *took);
    for (long i = 0; i < pieces; i++) {
        spin_until(now_ns() + 1000000);
        long start = now_ns();
        spin_until(start + 2000);
        took[i] = now_ns() - start;
    }
    for (long i = 0; i < pieces; i++)
        printf("%ld\n", took[i]);
    return 0;
}
