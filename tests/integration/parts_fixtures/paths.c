/* Random walks up and down a deep stack; at each stop the call path is read within a budget, with the memory of the
 * walks before, and without either. Both must say the same wherever the first one came to the stack's end.
 * Arguments: seed, stops, depth. Prints how many of the paths were whole, and how many came from memory. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "modules.h"
#include "path.h"
#include "sys.h"

#define NOINLINE __attribute__((noipa))
#define KEEP_FRAME __asm__ volatile("" ::: "memory")

static struct path path, whole;
static struct path_memory memory, none;
static struct unwind_cache cache;
static uint8_t window[UNWIND_WINDOW];
static uint64_t low, high;
static unsigned long state;
static int stops, most, ended, remembered, wrong;

static unsigned int chance(unsigned int below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned int)(state >> 11) % below;
}

static int same(void)
{
    size_t outer = path_outer_count(&whole);
    if (path.frames != whole.frames || path_outer_count(&path) != outer)
        return 0;
    size_t inner = path.frames < INNER_FRAMES ? (size_t)path.frames : INNER_FRAMES;
    if (memcmp(path.inner, whole.inner, inner * sizeof path.inner[0]) != 0)
        return 0;
    for (size_t i = 0; i < outer; i++)
        if (path_outer(&path, &memory, i) != path_outer(&whole, &none, i))
            return 0;
    return 1;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct cursor cursor;
    (void)number, (void)info;
    /* From nothing to some microseconds: cut at once, in between, or not at all. */
    uint64_t budget = chance(4) == 0 ? 1000000000 : chance(20000);
    unwind_start(&cursor, modules_current(), context, low, high, window, &cache);
    path_walk(&path, &memory, &cursor, NULL, monotonic_ns() + budget);
    unwind_start(&cursor, modules_current(), context, low, high, window, &cache);
    none.count = 0;
    path_walk(&whole, &none, &cursor, NULL, UINT64_MAX);
    if (whole.result != UNWIND_END)
        wrong++;
    if (path.result != UNWIND_END)
        return;
    ended++;
    remembered += path.from_memory;
    wrong += !same();
}

static int stop_here(void)
{
    if (chance(40) == 0) {
        stops--;
        raise(SIGUSR1);
    }
    return stops > 0;
}

/* Frames of several sizes, and of two functions. */
static NOINLINE void narrow(int depth);

static NOINLINE void wide(int depth)
{
    volatile char room[200];
    room[depth % 200] = 1;
    while (stop_here() && depth < most && chance(5) != 0)
        narrow(depth + 1);
    KEEP_FRAME;
}

static NOINLINE void narrow(int depth)
{
    while (stop_here() && depth < most && chance(8) != 0) {
        if (chance(3) == 0)
            wide(depth + 1);
        else
            narrow(depth + 1);
    }
    KEEP_FRAME;
}

/* Far down first: little of the walk below happens near main. */
static NOINLINE void descend(int depth)
{
    if (depth > 0)
        descend(depth - 1);
    else
        while (stops > 0)
            narrow(0);
    KEEP_FRAME;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    char here;
    state = strtoul(argv[1], NULL, 10) * 2654435761u + 88172645463325252u;
    stops = atoi(argv[2]);
    most = atoi(argv[argc - 1]);
    sigaction(SIGUSR1, &action, NULL);
    modules_scan();
    path_begin(getauxval(AT_ENTRY));
    high = ((uint64_t)(uintptr_t)&here & ~(uint64_t)4095) + 8192;
    low = high - ((uint64_t)7 << 20);
    while (stops > 0)
        descend((int)chance((unsigned int)most));
    printf("wrong %d whole %d from memory %d\n", wrong, ended > 0, remembered > 0);
    return 0;
}
