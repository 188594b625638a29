/* A day of samples of a recursion with two call sites, of which each has a path of its own, through a ring into the paths
 * that are kept. Arguments: samples. Prints nodes at half time and at the end, and whether every sample has arrived. */
#include <stdio.h>
#include <stdlib.h>

#include "interval.h"
#include "modules.h"
#include "path.h"
#include "sys.h"

static struct thread thread;
static struct interval interval;
static unsigned long state = 88172645463325252u;

static unsigned long chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Code to have addresses in. */
__attribute__((noinline, used)) static void text(void)
{
    __asm__ volatile(".skip 4096, 0x90");
}

static void put(uint64_t code)
{
    struct path *path = &thread.path;
    const struct sample sample = {.time_ns = 1, .leaf_pc = code, .weight = 1, .kind = KIND_OWN};
    path->frames = 1000;
    path->from_memory = false;
    for (int i = 0; i < INNER_FRAMES; i++)
        path->inner[i] = code + 16 + 8 * (chance() & 1);
    for (int i = 0; i < OUTER_FRAMES; i++)
        path->outer[i] = code + 16 + 8 * (chance() & 1);
    ring_put(&thread, &sample);
}

int main(int argc, char **argv)
{
    long samples = atol(argv[argc - 1]), taken = 0;
    unsigned long shortened = 0;
    size_t half = 0;
    modules_scan();
    interval_begin(&interval, 0, false);
    for (long i = 0; i < samples; i++) {
        put((uint64_t)(uintptr_t)text);
        interval_take_thread(&interval, &thread);
        if (i % 100 == 99) {
            taken += (long)interval.sample_count;
            shortened += interval.shortened;
            interval_begin(&interval, 0, false);
        }
        if (i == samples / 2)
            half = interval.paths.count;
    }
    printf("%zu %zu %ld %lu\n", half, interval.paths.count, taken + (long)interval.sample_count, shortened);
    return 0;
}
