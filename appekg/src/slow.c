/* What a beat needs once in a while: a record for its thread, a slot for its id, somebody else's begin. */
#define _GNU_SOURCE
#include "beat.h"
#include "clock.h"
#include "lifecycle.h"
#include "slow.h"

#define LONGEST_SETTLE_NS 1000000000u /* an owner that waits for a processor, among many threads */
#define MOST_VAIN_SEARCHES 1000u      /* by one thread for one id; a program that never begins must not pay for it */

/* Guards what others than the owner may do to a slot, and the owner's way back to it. */
static struct lock slots_lock;
static uint32_t beats_without_record;

uint32_t slow_take_dropped(void)
{
    return __atomic_exchange_n(&beats_without_record, 0, __ATOMIC_RELAXED);
}

/* Removes the outermost open beat. For the owner. */
static void remove_outermost(struct record *record, struct slot *slot)
{
    for (uint32_t i = 1; i < INLINE_STARTS; i++)
        __atomic_store_n(&slot->starts[i - 1], slot->starts[i], __ATOMIC_RELAXED);
    if (slot->deep != 0) {
        struct deep_start *deep = record_deep(record);
        uint32_t *link = &slot->deep;
        while (deep[*link - 1].outer != 0)
            link = &deep[*link - 1].outer;
        uint32_t number = *link;
        *link = 0;
        __atomic_store_n(&slot->starts[INLINE_STARTS - 1], deep[number - 1].ticks, __ATOMIC_RELAXED);
        record_give_deep(record, number);
    } else if (slot->untimed > 0) {
        slot->untimed--; /* its place is inline now, and it still has no time: it counts from here */
        __atomic_store_n(&slot->starts[INLINE_STARTS - 1], clock_ticks(), __ATOMIC_RELAXED);
    }
    __atomic_store_n(&slot->depth, slot->depth - 1, __ATOMIC_RELEASE);
}

/* Makes the slot the current generation's, without the beats that others have ended. False when that is not the current
 * one any more: its slots are being taken for the last time. */
static bool set_up(struct record *record, struct slot *slot, uint32_t on)
{
    uint64_t mask = lock_take(&slots_lock);
    if (__atomic_load_n(&ekg_shared_.on, __ATOMIC_ACQUIRE) != on) {
        lock_give(&slots_lock, mask);
        return false;
    }
    if (slot->generation != on) {
        record_forget_open(record, slot);
        __atomic_store_n(&slot->generation, on, __ATOMIC_RELEASE);
    }
    slot->key = (uint64_t)on << 32 | slot->id;
    uint32_t taken = __atomic_exchange_n(&slot->taken, 0, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < taken && slot->depth > 0; i++)
        remove_outermost(record, slot);
    if (taken > 0 && slot->depth == 0) /* the beat that was taken was recorded */
        slot->skipping = __atomic_load_n(&slot->skip, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->revoked, 0, __ATOMIC_RELEASE);
    lock_give(&slots_lock, mask);
    return true;
}

bool slow_admit(struct record *record, struct slot *slot)
{
    return set_up(record, slot, slot->generation);
}

/* The calling thread's slot for an id, ready for a beat; NULL when there is none to be recorded. `ends`: a beat that
 * finds no room is lost here. (It is the end that is counted, not the begin as well.) */
static struct ekg_slot_ *ready_slot(uint32_t id, bool ends)
{
    if (!lifecycle_start(NULL))
        return NULL;
    uint32_t on = __atomic_load_n(&ekg_shared_.on, __ATOMIC_ACQUIRE); /* then the mode is no older */
    if (on == 0)
        return NULL;
    struct record *record = record_mine();
    if (record == NULL) {
        __atomic_fetch_add(&beats_without_record, ends, __ATOMIC_RELAXED);
        return NULL;
    }
    struct slot *slot = record_claim(record, id, on);
    if (slot == NULL) {
        if (ends)
            record_count(&record->dropped);
        return NULL;
    }
    bool ready = slot->key == ((uint64_t)on << 32 | id) && __atomic_load_n(&slot->revoked, __ATOMIC_RELAXED) == 0;
    return ready || set_up(record, slot, on) ? (struct ekg_slot_ *)slot : NULL;
}

void ekg_begin_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, false);
    if (slot != NULL)
        ekg_begin_found_(slot);
}

void ekg_end_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, true);
    if (slot != NULL)
        ekg_end_found_(slot);
}

void ekg_pulse_slow_(uint32_t id)
{
    struct ekg_slot_ *slot = ready_slot(id, true);
    if (slot != NULL)
        ekg_pulse_found_(slot);
}

struct search {
    const struct record *mine;
    uint32_t id, generation;
};

/* Another thread's slot of the id, with open beats that count; else NULL. */
static struct slot *open_slot(struct record *record, const struct search *search)
{
    if (record == search->mine || __atomic_load_n(&record->state, __ATOMIC_ACQUIRE) != RECORD_LIVE)
        return NULL;
    struct slot *slot = record_find(record, search->id);
    bool counts = slot != NULL && __atomic_load_n(&slot->generation, __ATOMIC_ACQUIRE) == search->generation;
    return counts && slot_open(slot) > 0 ? slot : NULL;
}

/* The record whose open beat of the id began first, and that beat's slot. */
static struct record *oldest_open(const struct search *search, struct slot **slot)
{
    struct record *oldest = NULL;
    uint64_t first = UINT64_MAX;
    for (struct record *record = records_first(); record != NULL; record = record->next) {
        struct slot *found = open_slot(record, search);
        if (found == NULL || (record->in_doubt && !slot_settled(found, 0)))
            continue;
        uint64_t start = slot_oldest(found);
        if (start < first) {
            first = start;
            oldest = record;
            *slot = found;
        }
    }
    return oldest;
}

/* When the n-th oldest open beat began; 0 where that is not known. The owner is kept out. */
static uint64_t nth_oldest(struct record *record, const struct slot *slot, uint32_t n)
{
    if (n < INLINE_STARTS)
        return __atomic_load_n(&slot->starts[n], __ATOMIC_RELAXED);
    const struct deep_start *deep = record_deep(record);
    uint32_t count = 0;
    for (uint32_t number = slot->deep; number != 0; number = deep[number - 1].outer)
        count++;
    uint32_t number = slot->deep;
    for (; number != 0 && count > n - INLINE_STARTS + 1; count--)
        number = deep[number - 1].outer;
    return number != 0 && count == n - INLINE_STARTS + 1 ? deep[number - 1].ticks : 0;
}

/* Waits until the owner of a slot whose `revoked` others have seen is out of it: it ends no beat there until it has
 * come by the lock. */
static bool wait_for(struct record *record, const struct slot *slot)
{
    bool settled = slot_settled(slot, record->in_doubt ? 0 : monotonic_ns() + LONGEST_SETTLE_NS);
    record->in_doubt = !settled;
    return settled;
}

/* Takes the oldest open beat that can be seen; false if there is none, or if its owner was faster. */
static bool take_oldest(const struct search *search, uint64_t *start)
{
    struct slot *slot = NULL;
    struct record *record = oldest_open(search, &slot);
    if (record == NULL)
        return false;
    __atomic_store_n(&slot->revoked, 1, __ATOMIC_SEQ_CST);
    records_barrier();
    if (!wait_for(record, slot) || slot_open(slot) == 0)
        return false;
    *start = nth_oldest(record, slot, slot->taken);
    __atomic_store_n(&slot->taken, slot->taken + 1, __ATOMIC_RELEASE);
    return true;
}

/* Keeps all owners of the id from ending its beats. */
static void keep_all_out(const struct search *search)
{
    for (int turn = 0; turn < 2; turn++) {
        for (struct record *record = records_first(); record != NULL; record = record->next) {
            struct slot *slot = record != search->mine ? record_find(record, search->id) : NULL;
            if (slot != NULL && turn == 0)
                __atomic_store_n(&slot->revoked, 1, __ATOMIC_SEQ_CST);
            else if (slot != NULL)
                wait_for(record, slot);
        }
        if (turn == 0)
            records_barrier();
    }
}

/* During a first look beats come and go, and one may go where it has not looked yet, and another come where it has. For
 * the second one none goes: an end that has a begin finds one. */
static bool take_elsewhere(const struct search *search, uint64_t *start)
{
    uint64_t mask = lock_take(&slots_lock);
    bool taken = take_oldest(search, start);
    if (!taken) {
        keep_all_out(search);
        taken = take_oldest(search, start);
    }
    lock_give(&slots_lock, mask);
    return taken;
}

void slow_end_elsewhere(struct record *record, struct slot *slot, uint64_t now)
{
    const struct search search = {record, slot->id, slot->generation};
    uint64_t start = 0;
    if (slot->unmatched >= MOST_VAIN_SEARCHES || !take_elsewhere(&search, &start)) {
        slot->unmatched++;
        record_count(&record->unmatched);
        return;
    }
    slot->unmatched = 0;
    if (start != 0)
        beat_add(slot, now > start ? now - start : 0);
    else
        record_count(&record->dropped);
}

void slow_set_rate(uint32_t id, uint32_t skip)
{
    uint64_t mask = lock_take(&slots_lock);
    for (struct record *record = records_first(); record != NULL; record = record->next) {
        struct slot *slot = record_find(record, id);
        if (slot != NULL)
            __atomic_store_n(&slot->skip, skip, __ATOMIC_RELAXED);
    }
    lock_give(&slots_lock, mask);
}

void slow_recycle(struct record *record)
{
    uint64_t mask = lock_take(&slots_lock);
    record_recycle(record);
    lock_give(&slots_lock, mask);
}

void slow_revoke_all(void)
{
    uint64_t mask = lock_take(&slots_lock);
    for (struct record *record = records_first(); record != NULL; record = record->next)
        for (uint32_t i = 0; i < __atomic_load_n(&record->touched_count, __ATOMIC_ACQUIRE); i++)
            __atomic_store_n(&record_slots(record)[record->touched[i]].revoked, 1, __ATOMIC_SEQ_CST);
    lock_give(&slots_lock, mask);
}

uint64_t slow_before_fork(void)
{
    return lock_take(&slots_lock);
}

void slow_after_fork(uint64_t mask)
{
    lock_give(&slots_lock, mask);
}
