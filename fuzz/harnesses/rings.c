/* A ring of samples with anything in it, drained into an interval: nothing is read beyond it, what is counted is what
 * was there, and what is put in afterwards comes out again. */
#include "drawn.h"
#include "interval.h"
#include "modules.h"
#include "sys.h"

static struct thread thread;

static void drain(struct interval *interval)
{
    interval_take_thread(interval, &thread);
    DEMAND(thread.head == thread.tail);
    interval_sort(interval);
    for (size_t i = 1; i < interval->sample_count; i++)
        DEMAND(interval->samples[i - 1].time_ns <= interval->samples[i].time_ns);
    for (size_t i = 0; i < interval->sample_count; i++)
        DEMAND(interval->samples[i].node <= interval->paths.count && interval->samples[i].kind <= KIND_UNKNOWN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool scanned;
    struct drawn drawn = {data, size};
    struct interval interval = {0};
    watched_allow((size_t)1 << 30);
    scanned = scanned || modules_scan();
    interval_begin(&interval, 0, false);
    thread.head = thread.tail = draw(&drawn, 8);
    while (drawn.left > 0) {
        /* Heads as samples have them, and whatever else there is. */
        uint64_t frames = draw(&drawn, 1), kind = draw(&drawn, 1),
                 word = draw(&drawn, 4) << 32 | frames << 16 | kind << 8;
        thread.ring[thread.head++ % RING_WORDS] = kind < 8 ? word : draw(&drawn, 8);
        for (uint64_t i = 0; i < frames % 160 + 2 && drawn.left > 0; i++) {
            uint64_t place = draw(&drawn, 1);
            bool is_code = place < 200; /* of this program */
            thread.ring[thread.head++ % RING_WORDS] = is_code ? (uint64_t)(uintptr_t)&drain + place * 16 : place << 56;
        }
        if (thread.head - thread.tail > RING_WORDS / 2)
            drain(&interval);
    }
    drain(&interval);
    const struct sample sample = {.time_ns = 7, .leaf_pc = 9, .weight = 3, .kind = KIND_UNKNOWN};
    interval_begin(&interval, 0, false);
    thread.path.frames = 0;
    ring_put(&thread, &sample);
    drain(&interval);
    DEMAND(interval.sample_count == 1 && interval.totals.ticks == 3);
    interval_free(&interval);
    return 0;
}
