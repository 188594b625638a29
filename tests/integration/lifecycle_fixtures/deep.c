/* Recursion argv[1] deep, then argv[2] ms of work at its end; "over" overflows the stack. */
#include "host.h"

static int climb(int depth, int milliseconds)
{
    if (depth == 0)
        burn(milliseconds);
    else
        climb(depth - 1, milliseconds);
    __asm__ volatile("" ::: "memory");
    return depth;
}

static int fall(int depth)
{
    volatile char room[512];
    room[depth % 512] = 1;
    return fall(depth + 1) + room[0];
}

int main(int argc, char **argv)
{
    work(77);
    if (strcmp(argv[1], "over") == 0)
        return fall(0);
    climb(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 120);
    puts("done");
    return 0;
}
