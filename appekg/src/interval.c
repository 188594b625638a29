/* Thread safety: only the interval thread, except requesting_tid, which is atomic and written by the thread that ends
 * the heartbeats. interval_start and interval_forget run when there is no interval thread. Access to other threads'
 * slots follows quiescence.h; slots_lock is taken only within the calls of slots.c. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include "buffer.h"
#include "clock.h"
#include "log.h"
#include "quiescence.h"
#include "record.h"
#include "sys.h"
#include "thinning.h"
#include "worker.h"

static struct buffer rows;
static struct snapshot snapshot;
static uint64_t session_start_ns, own_ns_before, taken_before;
static uint64_t end_ticks, interval_ticks; /* of the last interval, by its clock */
static uint64_t await_until_ns;            /* common deadline for all owners that are inside */
static bool first_of_thread;
static pid_t requesting_tid;
static int intervals_left; /* number of further intervals until all ended beats are taken */

void interval_start(uint64_t start_ns)
{
    session_start_ns = start_ns;
    snapshot = (struct snapshot){.number = 0};
    own_ns_before = taken_before = end_ticks = 0;
    requesting_tid = 0;
    intervals_left = 0;
}

bool interval_has_more(void)
{
    return intervals_left > 0;
}

void interval_request_last(pid_t tid)
{
    __atomic_store_n(&requesting_tid, tid, __ATOMIC_RELAXED);
}

void interval_forget(void)
{
    buffer_free(&rows);
}

static void merge(struct bank *into, const struct bank *other)
{
    into->count += other->count;
    into->pulses += other->pulses;
    into->sum += other->sum;
    into->nested += other->nested;
    into->sumsq += other->sumsq;
    into->max = other->max > into->max ? other->max : into->max;
    if (into->count == other->count || (other->count > 0 && other->min < into->min))
        into->min = other->min;
}

static uint64_t to_ns(uint64_t ticks)
{
    return (uint64_t)((double)ticks * clock_ns_per_tick() + 0.5);
}

static bool is_current(const struct slot *slot)
{
    uint32_t generation = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED);
    return generation != 0 && __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) == generation;
}

/* Return the begin of the oldest beat open at `now`, and their number. One may have ended since: then the next bank
 * holds the oldest begin. */
static uint64_t open_since(const struct slot *slot, uint32_t bank, uint64_t now, uint64_t *open)
{
    uint32_t count = slot_open(slot);
    uint64_t start = count > 0 ? slot_oldest(slot) : 0;
    uint64_t ended = __atomic_load_n(&slot->was_open[bank ^ 1], __ATOMIC_RELAXED);
    *open = 0;
    if (!is_current(slot))
        return now;
    if (ended != 0 && ended < now && (start == 0 || ended < start)) {
        *open = 1;
        return ended;
    }
    if (start == 0 || start >= now)
        return now;
    *open = count;
    return start;
}

/* Return the number of executed beats and pulses: the recorded ones, plus an estimate for the turns skipped before each
 * recorded one. */
static uint64_t executions(const struct bank *bank, uint64_t skipped, uint64_t inner)
{
    const uint64_t recorded = bank->count + bank->pulses;
    if (skipped == 0 || recorded <= inner)
        return recorded;
    if (inner == 0)
        return recorded + skipped;
    return recorded + (uint64_t)((double)recorded * ((double)skipped / (double)(recorded - inner)) + 0.5);
}

static void put_row(const struct record *record, const struct slot *slot, const struct bank *bank, uint64_t open,
                    uint64_t open_ticks, uint64_t executed)
{
    double ns_per_tick = clock_ns_per_tick();
    const struct row row = {
        .thread = record->number,
        .id = slot->id,
        .tid = record->tid,
        .first = first_of_thread,
        .count = bank->count,
        .pulses = bank->pulses,
        .sum_ns = to_ns(bank->sum),
        .min_ns = to_ns(bank->min),
        .max_ns = to_ns(bank->max),
        .sumsq_ns2 = (double)bank->sumsq * ns_per_tick * ns_per_tick,
        .nested_ns = to_ns(bank->nested),
        .open = open,
        .open_ns = to_ns(open_ticks),
        .executions = executed,
    };
    buffer_bytes(&rows, &row, sizeof row);
    first_of_thread = false;
}

/* Return whether the thread has ended or waits, and so does not change its slots, even if it was interrupted there for
 * good. */
static bool is_quiescent(struct record *record, const struct slot *slot)
{
    return __atomic_load_n(&record->state, __ATOMIC_ACQUIRE) == RECORD_ENDED ||
           record->tid == __atomic_load_n(&requesting_tid, __ATOMIC_RELAXED) ||
           quiescence_await(record, slot, await_until_ns);
}

static void move_tally(struct tally *tally, uint32_t from, uint32_t to)
{
    if ((tally->skipped[from] | tally->inner[from]) == 0) /* most are untouched zero pages */
        return;
    tally->skipped[to] += tally->skipped[from];
    tally->inner[to] += tally->inner[from];
    tally->skipped[from] = tally->inner[from] = 0;
}

/* Take a slot. `both`: take both banks, because the slot has no writer any more, or all its data was measured by the
 * old clock. Data that cannot be taken now is taken when the bank is closed again. */
static void take_slot(struct record *record, struct slot *slot, uint32_t closed, bool both, uint64_t now)
{
    struct bank *bank = &slot->banks[closed];
    struct bank *next = &slot->banks[closed ^ 1];
    struct tally *tally = record_tally(record, slot);
    uint64_t open;
    if (!is_quiescent(record, slot) || !buffer_reserve(&rows, sizeof(struct row))) {
        intervals_left = 2; /* the other bank is closed next */
        return;
    }
    uint64_t since = open_since(slot, closed, now, &open);
    if (both) {
        merge(bank, next);
        *next = (struct bank){.count = 0};
        move_tally(tally, closed ^ 1, closed);
        open = 0;
    }
    const uint64_t executed = executions(bank, tally->skipped[closed], tally->inner[closed]);
    if (bank->count > 0 || bank->pulses > 0 || open > 0)
        put_row(record, slot, bank, open, open > 0 ? now - since : 0, executed);
    *bank = (struct bank){.count = 0};
    if ((tally->skipped[closed] | tally->inner[closed]) != 0)
        tally->skipped[closed] = tally->inner[closed] = 0;
    if (!both)
        thinning_relax(record, slot, executed, interval_ticks);
    __atomic_store_n(&slot->was_open[closed], 0, __ATOMIC_RELAXED);
}

static uint32_t newly(const uint32_t *counter, uint32_t *taken)
{
    uint32_t value = __atomic_load_n(counter, __ATOMIC_RELAXED);
    uint32_t more = value - *taken;
    *taken = value;
    return more;
}

static void take_record(struct record *record, uint32_t closed, bool both, uint64_t now)
{
    uint32_t state = __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
    if (state == RECORD_FREE)
        return;
    uint32_t count = __atomic_load_n(&record->touched_count, __ATOMIC_ACQUIRE);
    uint32_t open = 0;
    first_of_thread = !record->announced;
    for (uint32_t i = 0; i < count; i++) {
        struct slot *slot = &record_slots(record)[record->touched[i]];
        open += is_current(slot) ? slot_open(slot) : 0;
        take_slot(record, slot, closed, both || state == RECORD_ENDED, now);
    }
    record->announced = !first_of_thread;
    snapshot.threads++;
    snapshot.dropped += newly(&record->dropped, &record->dropped_taken);
    snapshot.unmatched += newly(&record->unmatched, &record->unmatched_taken);
    if (state != RECORD_ENDED || rows.failed)
        return;
    snapshot.abandoned += open;
    slots_recycle(record);
}

static uint64_t own_ns(void)
{
    uint64_t now = worker_cpu_ns();
    uint64_t more = now > own_ns_before ? now - own_ns_before : 0;
    own_ns_before = now;
    return more;
}

/* Stop using an unreliable counter: take its measurements, and forget the open beats. */
static void abandon_counter(void)
{
    uint32_t on = __atomic_exchange_n(&ekg_shared_.on, 0, __ATOMIC_SEQ_CST);
    slots_revoke_all();
    quiescence_barrier();
    if (on != 0)
        log_warn("the time-stamp counter is not steady, using CLOCK_MONOTONIC from here on", NULL);
}

const struct snapshot *interval_take(void)
{
    struct moment now = clock_moment();
    bool trusted = clock_check(now);
    uint64_t start_ns = snapshot.end_ns;
    bool enabled = __atomic_load_n(&ekg_shared_.on, __ATOMIC_RELAXED) != 0;

    uint32_t closed = quiescence_switch_banks();
    quiescence_barrier();
    interval_ticks = now.ticks > end_ticks && end_ticks != 0 ? now.ticks - end_ticks : 0;
    end_ticks = now.ticks;
    await_until_ns = monotonic_ns() + LONGEST_AWAIT_NS;
    if (!trusted)
        abandon_counter();
    snapshot = (struct snapshot){.number = taken_before++, .start_ns = start_ns, .enabled = enabled};
    snapshot.end_ns = now.ns - session_start_ns;
    snapshot.clock = clock_name();
    snapshot.dropped = slots_take_dropped();
    rows.length = 0;
    rows.failed = false;
    intervals_left -= intervals_left > 0;
    for (struct record *record = records_first(); record != NULL; record = record->next)
        take_record(record, closed, !trusted, now.ticks);
    if (!trusted) {
        clock_fall_back();
        thinning_price();
        quiescence_choose_path();
        switch_new_generation(); /* the program may have begun one in between */
        if (enabled)
            switch_turn(true);
    }
    snapshot.own_ns = own_ns();
    snapshot.rows = (const struct row *)rows.data;
    snapshot.count = rows.length / sizeof(struct row);
    return &snapshot;
}
