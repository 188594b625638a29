/* Thread safety: everything belongs to the lane's thread, except `uncounted` and `shared`, which are atomic. */
#define _GNU_SOURCE
#include "coding.h"

#define EXACT_BITS 10      /* 1024 steps per doubling: accurate to 0.05 % */
#define NOT_COUNTED 0xffff /* larger than any count */

void counts_end_work(struct lane *lane)
{
    struct reading *work = &lane->work;
    if (lane->counters == NULL)
        return;
    struct reading now = counters_read(lane->counters);
    work->is_valid = now.is_valid && lane->work_begin.is_valid;
    work->idle_ns = now.idle_ns - lane->work_begin.idle_ns;
    for (uint32_t i = 0; i < MOST_COUNTERS; i++)
        work->value[i] = now.value[i] - lane->work_begin.value[i];
}

void counts_begin_work(struct lane *lane)
{
    if (lane->counters != NULL)
        lane->work_begin = counters_read(lane->counters);
}

/* Return the count as a 16-bit floating-point number: below 1024 the count itself. */
static uint16_t coded(uint64_t value)
{
    unsigned int bits = value > 0 ? 64 - (unsigned int)__builtin_clzll(value) : 0;
    unsigned int unwritten = bits > EXACT_BITS + 1 ? bits - EXACT_BITS - 1 : 0;
    uint64_t half = (uint64_t)1 << unwritten >> 1;
    uint64_t steps = (value > UINT64_MAX - half ? value : value + half) >> unwritten;
    return (uint16_t)(steps + ((uint64_t)unwritten << EXACT_BITS));
}

/* Return the correction factor for counters that were multiplexed to other events part of the time. */
static double multiplex_factor(const struct lane *lane)
{
    uint64_t idle_ns = lane->work.idle_ns, work_ns = lane->event.work_ns;
    return idle_ns < work_ns ? (double)work_ns / (double)(work_ns - idle_ns) : 0;
}

size_t counts_row_bytes(void)
{
    return counters_count() * sizeof(uint16_t);
}

bool counts_have_room(const struct lane *lane)
{
    return lane->counters == NULL || ring_has_room(&lane->counts, counts_row_bytes());
}

void counts_put(struct lane *lane)
{
    const struct reading *work = &lane->work;
    uint16_t row[MOST_COUNTERS];
    if (lane->counters == NULL)
        return;
    bool is_multiplexed = work->is_valid && work->idle_ns > 0;
    double factor = is_multiplexed ? multiplex_factor(lane) : 1;
    bool is_counted = work->is_valid && factor > 0;
    for (uint32_t i = 0; i < counters_count(); i++) {
        uint64_t value = is_multiplexed ? (uint64_t)((double)work->value[i] * factor) : work->value[i];
        row[i] = is_counted ? coded(value) : NOT_COUNTED;
    }
    __atomic_store_n(&lane->uncounted, lane->uncounted + !is_counted, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->shared, lane->shared + (is_counted && is_multiplexed), __ATOMIC_RELAXED);
    lane->work.is_valid = false;
    ring_put(&lane->counts, row, counts_row_bytes());
}
