#define _GNU_SOURCE
#include "clock.h"
#include "nvtx_ranges.h"
#include "quiescence.h"
#include "record.h"
#include "thinning.h"

#define MOST_VAIN_ENTRIES 1000u

/* Return the slot's record, the calling thread's. NULL in a child forked by a handler in the middle of a beat: the slot
 * is then in the parent's record, which is never read. */
static inline struct record *record_of_slot(const struct slot *slot)
{
    char *slots = (char *)ekg_slots_;
    return (uintptr_t)slot - (uintptr_t)slots < RECORD_SLOT_BYTES ? record_of(ekg_slots_) : NULL;
}

static void count_dropped(const struct slot *slot)
{
    struct record *record = record_of_slot(slot);
    if (record != NULL)
        record_count(&record->dropped);
}

/* Store a begin beyond the inline ones. Without room for it, the beat is counted as dropped at its end. */
static void push_deep(struct record *record, struct slot *slot, uint64_t now)
{
    uint32_t number = slot->untimed > 0 || record == NULL ? 0 : record_acquire_deep(record);
    if (number == 0) {
        slot->untimed++;
        return;
    }
    record_deep(record)[number - 1] = (struct deep_start){.ticks = now, .outer = slot->deep};
    slot->deep = number;
}

/* Take the innermost begin. False for a beat without one. */
static bool pop_deep(struct record *record, struct slot *slot, uint64_t *start)
{
    if (slot->untimed > 0) {
        slot->untimed--;
        return false;
    }
    uint32_t number = slot->deep;
    if (number == 0 || record == NULL)
        return false; /* 2^31 begins without an end, and the depth has wrapped around */
    const struct deep_start *deep = &record_deep(record)[number - 1];
    slot->deep = deep->outer;
    *start = deep->ticks;
    record_release_deep(record, number);
    return true;
}

static inline void add(struct slot *slot, uint32_t mode, uint64_t duration, uint64_t oldest_start)
{
    struct bank *bank = record_bank(slot, mode);
    if (__builtin_expect(bank->count++ == 0, 0)) {
        bank->min = duration;
        __atomic_store_n(&slot->was_open[(mode & MODE_BANK) != 0], oldest_start, __ATOMIC_RELAXED);
    }
    bank->sum += duration;
    bank->sumsq += (unsigned __int128)duration * duration;
    if (duration > bank->max)
        bank->max = duration;
    if (duration < bank->min)
        bank->min = duration;
}

static inline uint64_t duration_since(uint64_t start, uint64_t now)
{
    uint64_t duration = now - start;
    if (__builtin_expect((int64_t)duration >= 0, 1))
        return duration;
    clock_distrust();
    return 0;
}

static inline void write_depth(struct slot *slot, uint32_t depth)
{
    __atomic_store_n(&slot->depth, depth, __ATOMIC_RELEASE);
}

/* End a turn, an outermost recorded beat or pulse; the next ones may be skipped. `number`: of turns in this bank. The
 * owner is inside. */
static inline void end_turn(struct slot *slot, uint32_t mode, uint64_t number, uint64_t now)
{
    if (__builtin_expect(__atomic_load_n(&slot->skip, __ATOMIC_RELAXED) != 0 || number % THINNING_TURNS == 0, 0)) {
        struct record *record = record_of_slot(slot);
        if (record != NULL)
            thinning_turn(record, slot, mode, now);
    }
}

static inline void count_inner(struct slot *slot, uint32_t mode)
{
    struct record *record = record_of_slot(slot);
    if (record != NULL)
        record_tally(record, slot)->inner[(mode & MODE_BANK) != 0]++;
}

static inline uint32_t read_mode(void)
{
    return __atomic_load_n(&ekg_shared_.mode, __ATOMIC_ACQUIRE);
}

/* Return whether the slot is already being changed: a handler has interrupted its own thread there, and its beat is
 * lost; or a handler has jumped out of there for good, which is detected after some entries. */
static bool is_reentered(struct slot *slot, uint32_t *depth)
{
    if ((*depth & SLOT_INSIDE) == 0) {
        slot->vain_entries = 0;
        return false;
    }
    if (++slot->vain_entries < MOST_VAIN_ENTRIES)
        return true;
    *depth -= SLOT_INSIDE;
    return false;
}

/* WATCHED: entered, and the beat is a range of NVTX. */
enum entry { ENTERED, WATCHED, REENTERED, REVOKED };

static __attribute__((noinline)) enum entry enter_with_fence(struct slot *slot, uint32_t depth)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&slot->revoked, __ATOMIC_ACQUIRE))
        return nvtx_ranges_are_on() && slot->generation != 0 ? WATCHED : ENTERED;
    write_depth(slot, depth);
    return REVOKED;
}

/* Enter the slot at any depth, with a fence if necessary. Not inlined, it costs a nested beat a nanosecond. */
static inline __attribute__((always_inline)) enum entry enter(struct slot *slot, uint32_t *depth)
{
    *depth = __atomic_load_n(&slot->depth, __ATOMIC_RELAXED);
    if (is_reentered(slot, depth))
        return REENTERED;
    __atomic_store_n(&slot->depth, *depth | SLOT_INSIDE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&quiescence_needs_fence, __ATOMIC_RELAXED), 0))
        return enter_with_fence(slot, *depth);
    if (!__atomic_load_n(&slot->revoked, __ATOMIC_ACQUIRE))
        return ENTERED;
    write_depth(slot, *depth);
    return REVOKED;
}

static inline __attribute__((always_inline)) uint64_t store_start(struct slot *slot, uint32_t depth)
{
    uint64_t now = clock_ticks();
    if (depth < INLINE_STARTS)
        __atomic_store_n(&slot->starts[depth], now, __ATOMIC_RELAXED);
    else
        push_deep(record_of_slot(slot), slot, now);
    return now;
}

static __attribute__((noinline)) void begin_watched(struct slot *slot, uint32_t depth)
{
    uint64_t start = store_start(slot, depth);
    bool has_range = slot->untimed == 0 && nvtx_ranges_expect(slot->id, slot->generation, start);
    write_depth(slot, depth + 1);
    if (has_range)
        nvtx_ranges_begin(slot->id, slot->generation, start);
}

void ekg_begin_carefully_(struct ekg_slot_ *public)
{
    struct slot *slot = (struct slot *)public;
    uint32_t depth;
    enum entry entry = enter(slot, &depth);
    if (__builtin_expect(entry == ENTERED, 1)) {
        store_start(slot, depth);
        write_depth(slot, depth + 1);
    } else if (entry == WATCHED)
        begin_watched(slot, depth);
    else if (entry == REVOKED)
        ekg_begin_slow_(slot->id);
}

/* Add a beat that began in another thread. */
static void add_of_other(struct slot *slot, uint64_t duration)
{
    struct record *record = record_of_slot(slot);
    uint32_t depth;
    enum entry entry;
    while ((entry = enter(slot, &depth)) == REVOKED && record != NULL && slots_set_up(record, slot, slot->generation))
        ;
    if (entry > WATCHED) {
        count_dropped(slot);
        return;
    }
    add(slot, read_mode(), duration, 0);
    write_depth(slot, depth);
}

/* Return when the beat began; 0: unknown, or there is none. */
static inline __attribute__((always_inline)) uint64_t end_entered(struct slot *slot, uint32_t depth, uint64_t now)
{
    uint64_t start;
    if (depth-- == 0) {
        write_depth(slot, 0);
        struct record *record = record_of_slot(slot);
        if (record == NULL || !cross_thread_end(record, slot, &start))
            return 0;
        add_of_other(slot, now > start ? now - start : 0);
        return start;
    }
    start = slot->starts[depth % INLINE_STARTS];
    uint32_t mode = read_mode();
    if (depth < INLINE_STARTS || pop_deep(record_of_slot(slot), slot, &start)) {
        uint64_t duration = duration_since(start, now);
        add(slot, mode, duration, slot->starts[0]);
        if (depth > 0) {
            record_bank(slot, mode)->nested += duration;
            count_inner(slot, mode);
        }
    } else {
        count_dropped(slot);
        start = 0;
    }
    if (depth == 0)
        end_turn(slot, mode, record_bank(slot, mode)->count, now);
    write_depth(slot, depth);
    return start;
}

static __attribute__((noinline)) void end_watched(struct slot *slot, uint32_t depth, uint64_t now)
{
    nvtx_ranges_end(slot->id, end_entered(slot, depth, now));
}

static __attribute__((noinline)) void end_carefully(struct slot *slot)
{
    uint64_t now = clock_ticks();
    uint32_t depth;
    enum entry entry = enter(slot, &depth);
    if (__builtin_expect(entry == ENTERED, 1))
        end_entered(slot, depth, now);
    else if (entry == WATCHED)
        end_watched(slot, depth, now);
    else if (entry == REVOKED)
        ekg_end_slow_(slot->id);
    else
        count_dropped(slot);
}

/* This and the inlined begin are the cost of a beat, so it uses few registers, and as few stores as possible. */
void ekg_end_timed_(struct ekg_slot_ *public)
{
    struct slot *slot = (struct slot *)public;
    if (__builtin_expect(__atomic_load_n(&slot->depth, __ATOMIC_RELAXED) != 1, 0)) {
        end_carefully(slot);
        return;
    }
    uint64_t now = clock_counter();
    __atomic_store_n(&slot->depth, 1 | SLOT_INSIDE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint32_t mode = read_mode();
    uint64_t start = slot->starts[0];
    uint64_t duration = now - start;
    if (__builtin_expect((mode & EKG_CAREFUL_) != 0 || __atomic_load_n(&slot->revoked, __ATOMIC_ACQUIRE) != 0 ||
                             (int64_t)duration < 0,
                         0)) {
        write_depth(slot, 1);
        end_carefully(slot);
        return;
    }
    add(slot, mode, duration, start);
    end_turn(slot, mode, record_bank(slot, mode)->count, now);
    write_depth(slot, 0);
}

static inline __attribute__((always_inline)) void pulse_entered(struct slot *slot, uint32_t depth)
{
    uint32_t mode = read_mode();
    uint64_t number = ++record_bank(slot, mode)->pulses;
    if (depth == 0)
        end_turn(slot, mode, number, 0);
    else
        count_inner(slot, mode);
    write_depth(slot, depth);
}

static __attribute__((noinline)) void pulse_watched(struct slot *slot, uint32_t depth)
{
    pulse_entered(slot, depth);
    nvtx_ranges_mark(slot->id);
}

void ekg_pulse_counted_(struct ekg_slot_ *public)
{
    struct slot *slot = (struct slot *)public;
    uint32_t depth;
    enum entry entry = enter(slot, &depth);
    if (__builtin_expect(entry == ENTERED, 1))
        pulse_entered(slot, depth);
    else if (entry == WATCHED)
        pulse_watched(slot, depth);
    else if (entry == REVOKED)
        ekg_pulse_slow_(slot->id);
    else
        count_dropped(slot);
}
