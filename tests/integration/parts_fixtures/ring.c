/* What is in a ring may be anything: a handler of the application's may have run over it. Nothing is read beyond the
 * ring, and what is put in afterwards comes out again. */
#include <stdio.h>
#include <stdlib.h>

#include "interval.h"
#include "modules.h"
#include "sys.h"

static struct thread thread;
static struct interval interval;

int main(int argc, char **argv)
{
    const struct sample sample = {.time_ns = 7, .leaf_pc = 9, .weight = 3, .kind = KIND_UNKNOWN};
    unsigned long state = strtoul(argv[argc - 1], NULL, 10) * 2654435761u + 1;
    unsigned long good = 0;
    modules_scan();
    interval_begin(&interval, 0, false);
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < RING_WORDS; i++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            /* Small counts of frames and known kinds, too: they look right. */
            thread.ring[i] = state % 3 == 0 ? state : state & 0xffff00ff01ff03ff;
        }
        thread.head = thread.tail + 1 + state % RING_WORDS;
        interval_take_thread(&interval, &thread);
        interval_take_thread(&interval, &thread);
        if (thread.head != thread.tail)
            return 1;
        interval_begin(&interval, 0, false);
        thread.path.frames = 0;
        ring_put(&thread, &sample);
        interval_take_thread(&interval, &thread);
        good += interval.sample_count == 1 && interval.totals.ticks == 3;
        interval_begin(&interval, 0, false);
    }
    printf("%lu\n", good);
    return 0;
}
