#define _GNU_SOURCE
#include "extensions.h"
#include "interval.h"

#include "arcs.h"
#include "python.h"
#include "ring.h"

static uint64_t increase(const uint64_t *counter, uint64_t *taken)
{
    uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED), more = now - *taken;
    *taken = now;
    return more;
}

/* Samples and ticks are counted when they are taken out. */
void interval_take_thread(struct interval *interval, struct thread *thread)
{
    struct sample sample;
    uint64_t lost = interval->totals.lost;
    while (ring_take(thread, &sample, &interval->totals.lost)) {
        if (sample.kind == KIND_CODE)
            python_add_code(&thread->python, sample.frames, sample.frame_count);
        else if (sample.kind == KIND_EVENT)
            extensions_take(&sample, interval_node(interval, thread->python.functions, &sample));
        else
            interval_add_sample(interval, thread->python.functions, &sample);
    }
    if (interval->totals.lost != lost)
        python_forget(&thread->python);
    const struct thread_counters *now = &thread->counters;
    struct thread_counters *taken = &thread->taken;
    interval->totals.lost += increase(&now->lost, &taken->lost);
    interval->totals.broken += increase(&now->broken, &taken->broken);
    interval->totals.handler_ns += increase(&now->handler_ns, &taken->handler_ns);
    interval->totals.event_ns += increase(&now->event_ns, &taken->event_ns);
    interval->totals.skipped += increase(&now->skipped, &taken->skipped);
}

static void add_calls(void *interval, uint64_t from, uint64_t self, uint64_t calls)
{
    interval_add_calls(interval, from, self, calls);
}

void interval_take_calls(struct interval *interval, struct thread *thread)
{
    arcs_take(&thread->table, add_calls, interval);
}
