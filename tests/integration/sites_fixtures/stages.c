/* Stages that the compiler moves about; every function says what it is. Arguments: rounds, letters of the stages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static volatile unsigned sink;

static NOINLINE void step(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * n;
}

/* Called once: becomes a part of main. Its loop is not main's. */
static void inlined_stage(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < 20000; k++)
            sink ^= k * 7;
    }
}

/* A constant argument: the compiler makes a clone of it. */
static NOINLINE unsigned cloned_stage(unsigned size, const unsigned *flag)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < size; i++)
        sum += (i ^ *flag) * 3 + sink;
    return sum;
}

/* Runs once, and calls in its loop: 500 times the rounds. */
static NOINLINE void counted_loop(int rounds)
{
    for (int i = 0; i < 2500 * rounds; i++)
        step(400);
}

/* Runs once; its loop does too little for a beat. */
static NOINLINE unsigned tight_loop(int rounds)
{
    unsigned sum = 0;
    for (long i = 0; i < 200000L * rounds; i++)
        sum += i ^ sink;
    return sum;
}

/* Tiny and called all the time. */
static NOINLINE void tiny(void)
{
    sink += 1;
}

static NOINLINE void swarm(int rounds)
{
    for (int i = 0; i < 50000 * rounds; i++)
        tiny();
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 100;
    const char *which = argc > 2 ? argv[2] : "icltw";
    unsigned flag = 5, sum = 0;
    if (strchr(which, 'i'))
        inlined_stage(24 * rounds);
    for (int i = 0; i < 10 * rounds && strchr(which, 'c'); i++)
        sum += cloned_stage(50000, &flag);
    if (strchr(which, 'l'))
        counted_loop(rounds);
    if (strchr(which, 't'))
        sum += tight_loop(rounds);
    if (strchr(which, 'w'))
        swarm(rounds);
    printf("iterations %d\nsum %u\n", 2500 * rounds, sum & 1);
    return 0;
}
